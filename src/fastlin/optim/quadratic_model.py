"""The quadratic model of a log-linear loss with its penalties, of some of the weights: descent, conjugate gradients."""

from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.engine.core.csr_view import CSRView
from fastlin.engine.solvers import proximal_newton as kernels
from fastlin.optim.free_weights import FreeWeights
from fastlin.optim.gram import GramRows
from fastlin.optim.label_rows import LabelRows
from fastlin.optim.log_linear_problem import LogLinearProblem
from fastlin.optim.model_rows import ModelRows
from fastlin.optim.partitions import Partition
from fastlin.optim.quadratic_rows import BinaryRows, SoftmaxRows, missing_curvature
from fastlin.runtime import parallel
from fastlin.runtime.made_once import made_once

Vector = NDArray[np.float64]
MAX_CUT_STEPS = 5  # of conjugate gradients in a row


class Columns:
    """The columns of the rows' matrix for models of some of its weights, and as they are for the steps that are made.

    In models they are float32 where the data allow it, which is less to read.
    """

    def __init__(self, part: Partition, problem: LogLinearProblem) -> None:
        design = part.design
        self.problem, self.part, self.inner_type = problem, part, np.dtype(problem.inner_type)
        self.narrow_type = np.dtype(np.float32) if design.column_values.itemsize <= 4 else self.inner_type
        self.exact = CSRView(design.column_indptr, design.column_rows, design.column_values)
        self.sizes, self.shape = np.diff(design.column_indptr), (problem.width, design.n_rows)
        self._kept: dict[str, NDArray[Any]] = {}

    @made_once
    def view(self) -> CSRView:
        """The columns with narrow values."""
        design = self.part.design
        narrow = design.column_values.astype(self.narrow_type, copy=False)
        return CSRView(design.column_indptr, design.column_rows, narrow)

    @made_once
    def largest(self) -> Vector:
        """max |x| of each column."""
        return self.problem.largest_of_features()

    @made_once
    def gram_rows(self) -> GramRows:
        """The rows, with all of their features, for Gram matrices."""
        design = self.part.design
        return GramRows(design.indptr, design.indices, design.values, design.n_features)

    def of(self, part: Partition, problem: LogLinearProblem) -> "Columns":
        """The same columns for another problem of the same rows."""
        columns = copy(self)
        columns.view, columns.largest = self.view, self.largest  # made once for all problems
        columns.part, columns.problem, columns._kept = part, problem, {}
        return columns

    @property
    def intercept_l1(self) -> float:
        """λ₁ for a column of ones, as intercepts have: the same for the same data in any unit of values above one."""
        return float(self.problem.prior.l1 / max(1.0, self.problem.max_abs_value))

    def allocate(self, name: str, size: int, dtype: Any) -> NDArray[Any]:
        """Memory for one model at a time: fresh pages would cost as much as a visit of all weights."""
        held = self._kept.get(name)
        if held is None or held.dtype != dtype or len(held) < size:
            self._kept[name] = held = np.empty(size, dtype)
        return held[:size]


class Coordinates:
    """Some of the weights, of these features and labels, bound for the kernels in blocks of bounded work."""

    def __init__(
        self, columns: Columns, features: NDArray[np.int32], labels: NDArray[np.int32], exact: bool = False
    ) -> None:
        n_labels, n_rows = columns.shape
        self.columns, self.features, self.labels, self.shape = columns, features, labels, columns.shape
        self.workers = columns.problem.workers
        view = columns.exact if exact else columns.view
        self.bound = kernels.WeightPlaces(view, features, labels, n_rows, n_labels)
        work = np.concatenate([[0], np.cumsum(columns.sizes[features])])
        self.blocks = list(parallel.split_by_work(work, 1))

    def some(self, chosen: NDArray[np.int64], exact: bool = False) -> "Coordinates":
        """Some of them."""
        return Coordinates(self.columns, self.features[chosen], self.labels[chosen], exact)

    def dots(self, of_rows: Vector) -> Vector:
        """Σ_i x_ij R[k, i] of each."""
        out = np.empty(len(self.features))
        self.workers.map(lambda start, stop: kernels.dots(self.bound, start, stop, of_rows, out), self.blocks)
        return out

    def moments(self, variances: Vector, residual: Vector) -> tuple[Vector, Vector, Vector]:
        """Σ x² h, Σ x h and Σ x r of each."""
        found = np.empty((3, len(self.features)))
        arrays = variances, residual, *found
        self.workers.map(lambda start, stop: kernels.moments(self.bound, start, stop, *arrays), self.blocks)
        return found[0], found[1], found[2]

    def scores(self, steps: Vector, of_intercepts: Vector) -> Vector:
        """What steps of the weights and of the intercepts, if there are any, change the scores by, [K, n]."""
        u = np.zeros(self.shape)
        for block in self.blocks:
            kernels.add(self.bound, *block, steps, u)
        if len(of_intercepts):
            u += of_intercepts[:, np.newaxis]
        return u


class QuadraticModel:
    """The quadratic model of the loss at θ with the penalties as they are, over some of the weights."""

    overshoot = 0.1  # of the slope at θ: a step at whose end f rises more steeply is shortened

    def __init__(self, columns: Columns, theta: Vector, gradient: Vector, steepest: Vector) -> None:
        problem, part = columns.problem, columns.part
        self.chosen, self.features, labels = choose_weights(problem, theta, steepest)
        features = self.features
        self.coordinates = Coordinates(columns, features, labels)
        self.rows = (BinaryRows if problem.width == 1 else SoftmaxRows)(part, problem, columns.intercept_l1)
        self.origin = theta[self.chosen]
        self.z, self.l1 = self.origin.copy(), np.empty(len(self.chosen))
        self.l1[:] = problem.prior.l1_of(self.chosen)
        curvature, cross, slopes = self.coordinates.moments(self.rows.variances, self.rows.slopes())
        flat = missing_curvature(curvature, steepest[self.chosen], self.l1, columns.largest[features])
        precision = problem.prior.precision[features]
        self.ridge = precision + flat
        # The columns here may be narrower than those that the gradient is of: at θ the model's is the exact one.
        self.shift = gradient[self.chosen] - precision * self.origin - slopes - flat * self.origin
        self.curvature = curvature + self.ridge
        alone = self.rows.eliminate(curvature, cross) + self.ridge
        self.penalties = kernels.Penalties(self.l1, self.ridge, self.shift, alone)

    def descend(self) -> tuple[int, float]:
        """Visit every weight; returns how many became zero or left it, and how far they moved."""
        found = self.rows.descend(self.coordinates.bound, self.coordinates.blocks, self.penalties, self.z)
        return sum(each[0] for each in found), sum(each[1] for each in found)

    @made_once
    def by_row(self) -> Any:
        """The rows of its features: `ModelRows` of two labels, `LabelRows` of more."""
        at = self.coordinates
        design, problem, narrow = at.columns.part.design, at.columns.problem, at.columns.narrow_type
        n_intercepts, workers = len(self.rows.bias), problem.workers
        if isinstance(self.rows, BinaryRows):
            return ModelRows(design, narrow, at.features, n_intercepts, workers)
        return LabelRows(design, narrow, at.features, at.labels, at.shape[0], n_intercepts, workers)

    def solve_free(self, limit: int) -> bool:
        """Conjugate gradients on the weights that are not zero and the intercepts; returns whether they converged.

        A visit of descent might bring back at once what a step that was cut has set to zero: the others go on first.
        """
        for _ in range(MAX_CUT_STEPS):
            free = FreeWeights(self)
            converged = free.solve(limit)
            if not free.cut:
                break
        return converged

    def intercept_steps(self) -> Vector:
        """What the model's optimum changes the intercepts by."""
        return self.rows.intercept_steps()

    def step_scores(self) -> Vector:
        """The change of the scores, [n, K]."""
        moved = np.flatnonzero(self.z != self.origin)
        return (
            self.coordinates.some(moved, exact=True)
            .scores((self.z - self.origin)[moved], self.rows.intercept_steps())
            .T
        )


def choose_weights(
    problem: LogLinearProblem, theta: Vector, steepest: Vector
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
    """The weights that are not zero or want to leave it, label by label, with their features and labels."""
    n = problem.n_weights
    chosen = np.flatnonzero((theta[:n] != 0) | (steepest[:n] != 0))
    features, labels = problem.layout.locate(chosen)
    order = np.argsort(labels, kind="stable")
    return chosen[order], features[order], labels[order]
