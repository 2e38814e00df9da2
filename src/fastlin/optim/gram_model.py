"""The quadratic model of a loss in one column of scores whose curvature is a matrix: of few weights."""

import numpy as np
from numpy.typing import NDArray

from fastlin.engine.solvers import proximal_newton as kernels
from fastlin.optim.gram import GramRows, factoring_cost, factorise, mirror
from fastlin.optim.model_rows import select_features
from fastlin.optim.quadratic_model import Columns, Coordinates
from fastlin.optim.quadratic_rows import missing_curvature

Vector = NDArray[np.float64]
MAX_WEIGHTS = 600  # a visit reads as many numbers for each of them
# Products of two numbers for each non-zero, in which visits of the columns are as long: of the curvature …
CHEAP_PAIRS = 8
MAX_PAIRS = 32  # where columns depend on one another, so that the other ways to a model's optimum are long
MAX_LENGTH = 16  # on average, of rows that have to be copied without the other features
# … and of a decomposition, of which a model may need dozens.
DENSE_FACTORING = 0.4  # full columns are visited by vectors
CHEAP_FACTORING, MAX_FACTORING = 2.0, 4.0
MAX_VISITS = 12
TOLERANCE = 0.1  # of the way of the first visit: the model is solved
STEADY_SHARE = 0.1  # of the weights that are not zero: so few come or go where a decomposition pays
MAX_CUT_STEPS = 5  # in a row
RIDGE = 1e-9  # of the diagonal: columns that add up to others' leave directions without a curvature, to be cut short


class GramModel:
    """The model at θ of the weights that are not zero or want to leave it: ½ dᵀAd + gᵀd + Σ λ₁|θ + d|.

    The intercept is where the model is least for each d, so that A is without its part, and g as well.
    """

    overshoot = 0.1  # of the slope at θ: a step at whose end f rises more steeply is shortened

    def __init__(
        self,
        columns: Columns,
        chosen: tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]],
        theta: Vector,
        gradient: Vector,
        steepest: Vector,
    ) -> None:
        problem, part = columns.problem, columns.part
        self.columns, self._has_intercept = columns, problem.size > problem.n_weights
        self.chosen, self.features, _ = chosen
        variances = part.likelihood.variances(part.map(problem.model.shares))[:, 0]
        self.origin = theta[self.chosen]
        self.z, self.l1 = self.origin.copy(), np.empty(len(self.chosen))
        self.l1[:] = problem.prior.l1_of(self.chosen)
        self.A = weighted_gram(columns, self.features, variances)
        curvature = self.A.diagonal().copy()
        lightest, _ = problem.partitions.weight_range
        flat = missing_curvature(curvature, steepest[self.chosen], self.l1, columns.largest[self.features], lightest)
        self.slopes = gradient[self.chosen]
        if self._has_intercept:
            slope, total = gradient[problem.n_weights :], variances.sum(keepdims=True)
            total += missing_curvature(total, slope, columns.intercept_l1, 1.0, lightest)
            self.slope, self.total = float(slope[0]), float(total[0])
            none = np.zeros(len(self.chosen), np.int32)
            self.cross = Coordinates(columns, self.features, none).dots(variances[np.newaxis])
            self.A -= np.outer(self.cross, self.cross / self.total)
            self.slopes -= self.cross * (self.slope / self.total)
        ridge = problem.prior.precision[self.features] + flat
        self.alone = np.maximum(self.A.diagonal(), 0) + ridge
        self.A[np.diag_indices(len(self.A))] += ridge

    def solve(self) -> None:
        """Take z to the optimum: visits find out which weights are zero, Newton's steps go to the others' own."""
        none, first = np.zeros(len(self.z)), 0.0
        penalties = kernels.Penalties(self.l1, none, none, self.alone)
        for _ in range(MAX_VISITS):
            changed, way = kernels.descend_gram(penalties, self.A, self.slopes, self.z)
            first = max(first, way)
            if way <= TOLERANCE * first:
                break
            if changed <= max(1, STEADY_SHARE * np.count_nonzero(self.z)):
                for _ in range(MAX_CUT_STEPS):
                    if not self._step():
                        break

    def _step(self) -> bool:
        """Newton's step of the weights that are not zero; whether another one may follow.

        Weights that would change their sign stop at zero. The step ends where all of them have, half, a quarter, …, or
        the first; where that makes the model no better, as rounding may, there is none.
        """
        free = np.flatnonzero(self.z)
        if not len(free):
            return False
        among = self.A.take(free, 0).take(free, 1)
        among[np.diag_indices(len(free))] *= 1 + RIDGE
        factor, start, l1 = factorise(among), self.z[free], self.l1[free]
        step = None if factor is None else factor.solve(-(self.slopes[free] + l1 * np.sign(start)))
        if step is None:
            return False
        borders = np.full(len(free), np.inf)  # where along the step each becomes zero
        crossing = np.flatnonzero((start + step) * start < 0)
        borders[crossing] = -start[crossing] / step[crossing]
        ahead = np.sort(borders[crossing])
        best, d = 0.0, np.zeros(len(free))
        for share in (1.0, *(ahead[len(ahead) >> halvings] for halvings in range(1, len(ahead).bit_length() + 1))):
            tried = np.where(borders <= share, -start, share * step)
            change = float(tried @ (self.slopes[free] + 0.5 * among @ tried))
            change += float(l1 @ (np.abs(start + tried) - np.abs(start)))
            if change < best:
                best, d = change, tried
            elif best < 0:
                break
        self.z[free] = start + d
        whole = np.zeros(len(self.z))
        whole[free] = d
        self.slopes += whole @ self.A
        return len(ahead) > 0 and best < 0

    def intercept_steps(self) -> Vector:
        """What the optimum changes the intercept by, if there is one."""
        if not self._has_intercept:
            return np.empty(0)
        return np.array([-(self.slope + float(self.cross @ (self.z - self.origin))) / self.total])

    def step_scores(self) -> Vector:
        """The change of the scores, [n, 1]."""
        moved = np.flatnonzero(self.z != self.origin)
        places = Coordinates(self.columns, self.features[moved], np.zeros(len(moved), np.int32), exact=True)
        return places.scores((self.z - self.origin)[moved], self.intercept_steps()).T


def weighted_gram(columns: Columns, features: NDArray[np.int32], weights: Vector) -> Vector:
    """XᵀWX of some features."""
    if is_narrow(columns):  # rows as they are: cheaper than a copy without the others
        rows, among = columns.gram_rows, features
    else:
        selected = select_features(columns.part.design, features, columns.narrow_type)
        rows, among = GramRows(*selected, len(features)), np.arange(len(features), dtype=np.int32)
    A = np.zeros((rows.n_columns, rows.n_columns))
    rows.add(weights, A)
    mirror(A)
    return A.take(among, 0).take(among, 1)


def is_narrow(columns: Columns) -> bool:
    return columns.part.design.n_features <= MAX_WEIGHTS


def is_cheap(columns: Columns, features: NDArray[np.int32], is_hard: bool) -> bool:
    """Whether a model of these weights has few enough, and short enough rows, for its curvature and decompositions.

    `is_hard`: conjugate gradients have not been enough for a model before.
    """
    if not 0 < len(features) <= MAX_WEIGHTS:
        return False
    among, narrow = columns.sizes[features].sum(), is_narrow(columns)
    factoring = MAX_FACTORING if is_hard else CHEAP_FACTORING
    if narrow and columns.gram_rows.write_out:
        factoring = DENSE_FACTORING
    if factoring_cost(len(features)) > factoring * among:
        return False
    if narrow:
        return bool(columns.gram_rows.cost <= (MAX_PAIRS if is_hard else CHEAP_PAIRS) * columns.part.design.nnz)
    return bool(among <= MAX_LENGTH * columns.shape[1])
