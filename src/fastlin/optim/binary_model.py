"""The quadratic model of a loss of rows in one column of scores, with its penalties, over some of the weights."""

import numpy as np
from numpy.typing import NDArray

from fastlin.engine.solvers import binary_model as kernels
from fastlin.optim.quadratic_model import Columns, Coordinates
from fastlin.optim.quadratic_rows import missing_curvature

Vector = NDArray[np.float64]


class BinaryModel:
    """The model at θ of the weights that are not zero or want to leave it, whose optimum is found in one kernel."""

    overshoot = float("inf")  # of the slope at θ: no step that makes f fall enough is shortened

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
        h = part.likelihood.variances(part.map(problem.model.shares)).reshape(-1)
        r = part.map(problem.residual).reshape(-1)
        slope, total = r.sum(keepdims=True), h.sum(keepdims=True)
        lightest, _ = problem.partitions.weight_range
        intercept_ridge = float(missing_curvature(total, slope, columns.intercept_l1, 1.0, lightest)[0])
        self._model = kernels.BinarySolver(
            columns.exact, self.features, h, r, self._has_intercept, intercept_ridge,
            columns.inner_type == np.float32, columns.allocate,
        )  # fmt: skip
        self.origin = theta[self.chosen]
        self.z, self.l1 = self.origin.copy(), np.empty(len(self.chosen))
        self.l1[:] = problem.prior.l1_of(self.chosen)
        squares, cross, slopes, largest = self._model.prepare()
        flat = missing_curvature(squares, steepest[self.chosen], self.l1, largest, lightest)
        precision = problem.prior.precision[self.features]
        ridge = precision + flat
        # The columns here may be narrower than those that the gradient is of: at θ the model's is the exact one.
        shift = gradient[self.chosen] - precision * self.origin - slopes - flat * self.origin
        total = self._model.total
        alone = np.maximum(squares - cross**2 / total, 0) if total > 0 else squares
        bias = -float(slope[0]) / total if total > 0 else 0.0
        self._model.set_penalties(self.z, self.l1, ridge, shift, alone + ridge, bias)

    def solve(self, limit: int, max_limit: int) -> int:
        """Move z towards the optimum; returns the limit of the next model's conjugate gradients."""
        return self._model.solve(limit, max_limit)

    def intercept_steps(self) -> Vector:
        """What the optimum changes the intercept by, if there is one."""
        return np.full(int(self._has_intercept), self._model.bias)

    def step_scores(self) -> Vector:
        """The change of the scores, [n, 1]."""
        moved = np.flatnonzero(self.z != self.origin)
        labels = np.zeros(len(moved), np.int32)
        places = Coordinates(self.columns, self.features[moved], labels, exact=True)
        return places.scores((self.z - self.origin)[moved], self.intercept_steps()).T
