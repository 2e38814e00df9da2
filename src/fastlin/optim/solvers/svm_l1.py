"""Sparse linear SVMs: ‖θ‖₁ + Σ C ξ², one against the rest, by proximal Newton on the squared hinge of rows in memory.

The loss is a quadratic between the kinks of ξ, so that a model is exact until a row crosses its margin. From zero, far
more rows would cross it on the way than in the end: where C is large it is raised to its value in ratios, and each fit
begins where the last one, of a loose tolerance, has ended. There the rows with ξ > 0 are almost the same, as ξ is about
as 1/C. (Without, 60 rows and C = 10⁵ take thousands of steps; so, tens.)

Labels are problems of their own over one layout of the rows, with the intercept's feature among the columns, and take a
step each in turn, or in threads.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fastlin.core.checkpoint_reader import CheckpointReader, State
from fastlin.engine.core.aligned import aligned_zeros
from fastlin.optim.design import Design
from fastlin.optim.log_linear_problem import LogLinearProblem, WeightPrior
from fastlin.optim.partitions import Partitions
from fastlin.optim.quadratic_model import Columns
from fastlin.optim.solvers.proximal_newton import MAX_CG_ITERATIONS, MIN_CG_ITERATIONS, ProximalSearch, take_step
from fastlin.optim.solvers.svm_problem import Floats, SegmentBlock, SvmProblem
from fastlin.optim.solvers.svm_steps import StepSolver
from fastlin.optim.squared_hinge import HingeCertificate, SquaredHinge, hinge_gap
from fastlin.optim.weight_layouts import DenseWeights
from fastlin.runtime import parallel
from fastlin.validation import CSRRows

START_SLOPE = 10.0  # times the strength of the L1 term: the largest gradient that the first C leaves
LEAST_SLOPE = 1e-300
C_RATIO = 4.0  # of one C to the next
LOOSE_TOLERANCE = 1e-2  # of all but the last
MAX_NO_IMPROVEMENT = 4  # steps in a row that gain nothing: rounding

NUMBERS = ("least", "objective", "gap")  # in checkpoints


class SparseLabel:
    """The problem of one label: its weights, its objective and its gap."""

    def __init__(
        self, svm: SvmProblem, design: Design, loss: SquaredHinge, tol: float, workers: parallel.WorkerPool
    ) -> None:
        prior = WeightPrior(np.zeros(design.n_features), np.empty(0), l1=1.0)
        layout, parts = DenseWeights(design.n_features, 1), Partitions.single(design, loss)
        self.problem, self.tol, self.design = svm, tol, design
        self.inner = LogLinearProblem(parts, layout, prior, False, workers)
        self.certificate = HingeCertificate(self.inner, tol)
        self.theta, self.limit = aligned_zeros((self.inner.size,)), MIN_CG_ITERATIONS
        self.costs, self.full_costs, self.share = loss.weights, loss.weights.copy(), 1.0  # of C
        self.objective, self.gap, self.value = np.inf, np.inf, 0.0
        self.least, self.idle = np.inf, 0  # of the objective with this share of C
        self.finished = self.stalled = False
        self.visits = 0

    def begin(self, saved: CheckpointReader | None = None) -> None:
        """Scores, gradient and gap where the weights are, or where a fit stood."""
        if saved is not None:
            self._set_share(saved.number("share"))
            self.limit = saved.integer("limit", MIN_CG_ITERATIONS, MAX_CG_ITERATIONS)
            self.stalled, self.idle = saved.boolean("stalled"), saved.integer("idle", 0)
            self.least, self.objective, self.gap = (saved.number(name) for name in NUMBERS)
            self.certificate.restore(saved.numbers("certificate"))
            self._compare()
        with np.errstate(over="ignore", invalid="ignore"):
            self.point = ProximalSearch(self.inner, self.theta, saved)
            if saved is None:
                self._measure()
                largest = float(np.abs(self.point.gradient).max(initial=0))
                self._change_share(min(1.0, START_SLOPE / max(largest, LEAST_SLOPE)))

    def state_dict(self) -> State:
        """What the steps have changed; all else follows from it."""
        own: State = {"limit": self.limit, "certificate": self.certificate.state(), "stalled": self.stalled}
        own |= {name: float(getattr(self, name)) for name in NUMBERS}
        return own | {"idle": self.idle, "share": self.share} | self.point.state()

    def step(self, columns: Columns) -> None:
        """A step of proximal Newton."""
        inner = self.inner
        with np.errstate(over="ignore", invalid="ignore"):
            with inner.partitions.open(0, inner.workers) as part:
                self.limit, moved = take_step(columns.of(part, inner), self.point, self.limit)
            gap = self.gap
            self._measure()
            self.idle = 0 if self.point.value < self.least or self.gap < gap else self.idle + 1
            self.least = min(self.least, self.point.value)
            ended = not moved or self.idle >= MAX_NO_IMPROVEMENT
            if self.share < 1 and (ended or self._is_near()):
                self._change_share(min(1.0, C_RATIO * self.share))
            else:
                self.stalled = ended

    def _set_share(self, share: float) -> None:
        self.share, self.least, self.idle = share, np.inf, 0
        np.multiply(self.full_costs, share, out=self.costs)

    def _change_share(self, share: float) -> None:
        """Go on with another share of C."""
        if share != self.share:
            self._set_share(share)
            self.point.refresh()

    def _is_near(self) -> bool:
        """Whether the gap of the problem with this share of C is small enough for the next."""
        point = self.point
        gap = hinge_gap(self.inner, point.loss, self.theta, point.gradient)
        return bool(gap <= LOOSE_TOLERANCE * point.value)

    def _measure(self) -> None:
        """Objective and gap with all of C."""
        point, share = self.point, self.share
        self.objective = float(point.value + point.loss * (1 / share - 1))
        self.gap = self.certificate.measure(self.objective, self.theta, point.gradient / share)
        if not np.isfinite([self.objective, self.gap]).all():
            raise ValueError("the objective overflows: scale the features, or lower C and the weights of the rows")
        self._compare()
        with self.inner.partitions.open(0) as part:
            self.visits = int(np.count_nonzero(part.map(self.inner.model.shares)))

    def _compare(self) -> None:
        self.value = self.objective - self.gap
        self.finished = self.gap <= self.tol * self.objective

    @property
    def _is_bias(self) -> NDArray[np.bool_]:
        """Which of the design's features is the intercept's, behind those of the rows."""
        return self.design.features == self.problem.corpus.shape[1]

    @property
    def weights(self) -> Floats:
        """θ of all features, [V, 1]."""
        weights, is_bias = aligned_zeros((self.problem.corpus.shape[1], 1)), self._is_bias
        weights[self.design.features[~is_bias], 0] = self.theta[~is_bias]
        return weights

    @property
    def bias(self) -> Floats:
        """The weight of the intercept's feature."""
        return np.array([self.theta[self._is_bias].sum()])

    def start_from(self, weights: Floats, bias: float) -> None:
        """Take the weights of another fit."""
        self.theta[:] = np.append(weights, bias)[self.design.features]


class SparseSvmSolver(StepSolver):
    """The labels of a problem by proximal Newton."""

    run = "proximal_newton"

    def __init__(self, problem: SvmProblem, tol: float, workers: parallel.WorkerPool) -> None:
        self.problem, labels = problem, []
        with problem.block(0) as block:
            self.design = Design.of(_with_constant(block.rows, problem.objective.scaling))
            for column in range(problem.objective.n_columns):
                own, costs = _sides(problem, block, column)
                loss = SquaredHinge(own.astype(np.int32), costs)
                inside = workers if problem.objective.n_columns == 1 else parallel.WorkerPool(1, workers.stop)
                labels.append(SparseLabel(problem, self.design, loss, tol, inside))
        self.blocks = self.labels = labels
        super().__init__(labels, workers)
        self.columns = self._columns()

    def _columns(self) -> Columns:
        """The columns in the narrowest type that the problems of all labels allow."""
        widest = max(self.labels, key=lambda label: np.dtype(label.inner.inner_type).itemsize).inner
        with widest.partitions.open(0, widest.workers) as part:
            return Columns(part, widest)

    def start_from(self, coef: Floats, intercept: Floats) -> None:
        """Begin with the weights of another fit."""
        scaling = self.problem.objective.scaling
        for label, weights, bias in zip(self.labels, coef, intercept, strict=True):
            label.start_from(weights, bias / scaling if scaling else 0.0)

    def take_step(self, problem: SparseLabel) -> None:
        problem.step(self.columns)


def _sides(problem: SvmProblem, block: SegmentBlock, column: int) -> tuple[NDArray[np.bool_], Floats]:
    """Which rows have the label of a column, and what their losses cost there."""
    objective = problem.objective
    if not len(objective.members):
        own = block.labels == (column if objective.n_columns > 1 else 1)
        return own, np.where(own, block.own_cost, block.C)
    own = objective.members[block.labels, column] > 0
    if not len(objective.side_factors):
        return own, block.C.copy()
    return own, block.C * objective.side_factors[own.astype(np.intp), column]


def _with_constant(rows: CSRRows, value: float) -> CSRRows:
    """A copy of the rows with one more column of this value; the rows themselves for 0."""
    if not value:
        return rows
    n, places = len(rows), rows.indptr[1:]
    indices = np.insert(rows.indices[: rows.nnz], places, rows.n_columns).astype(np.int32, copy=False)
    values = np.insert(rows.values[: rows.nnz].astype(np.float64), places, value)
    indptr = rows.indptr + np.arange(n + 1)
    return replace(rows, indptr=indptr, indices=indices, values=values, n_columns=rows.n_columns + 1)
