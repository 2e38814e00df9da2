"""The quadratic model of K labels' loss with a group penalty, of some features: block descent, conjugate gradients."""

import numpy as np
from numpy.typing import NDArray

from fastlin.engine.solvers import group_descent as kernels
from fastlin.optim.free_weights import CG_TOLERANCE, CROSSING_SHARE
from fastlin.optim.log_linear_problem import LogLinearProblem
from fastlin.optim.partitions import Partition
from fastlin.optim.quadratic_model import Columns
from fastlin.optim.quadratic_rows import LARGEST_STEP, LEAST_CURVATURE
from fastlin.optim.weight_groups import WeightGroups
from fastlin.runtime import parallel

Vector = NDArray[np.float64]
MAX_JOINT_INTERCEPTS = 64  # whose Hessian, [K, K], is inverted; of more its diagonal alone
LEAST_EIGENVALUE = 1e-12  # of that, beside the largest
MAX_HALVINGS = 30


class BlockCoordinates:
    """The weights of some features, bound for the kernels in pieces of bounded work."""

    def __init__(
        self,
        columns: Columns,
        features: NDArray[np.int32],
        groups: WeightGroups,
        labels: NDArray[np.int32],
        exact: bool = False,
    ) -> None:
        n_labels, n_rows = columns.shape
        self.columns, self.features, self.groups, self.labels = columns, features, groups, labels
        starts = np.append(groups.starts, len(labels))
        view = columns.exact if exact else columns.view
        self.bound = kernels.WeightBlocks(view, features, starts, labels, n_rows, n_labels)
        work = np.concatenate([[0], np.cumsum(columns.sizes[features] * groups.sizes)])
        self.pieces = list(parallel.split_by_work(work, 1))

    def some(self, chosen: NDArray[np.bool_], exact: bool = False) -> "BlockCoordinates":
        """Those of some of the features."""
        kept = np.repeat(chosen, self.groups.sizes)
        return BlockCoordinates(
            self.columns, self.features[chosen], self.groups.some(chosen), self.labels[kept], exact
        )  # fmt: skip

    def dots(self, of_rows: Vector, squared: bool = False) -> Vector:
        """Σ_i x_ij R[i, k] of each weight, or Σ_i x_ij² R[i, k]."""
        out = np.empty(len(self.labels))
        for piece in self.pieces:
            kernels.dots(self.bound, *piece, squared, of_rows, out)
        return out

    def scores(self, steps: Vector, of_intercepts: Vector) -> Vector:
        """What steps of the weights and of the intercepts, if there are any, change the scores by, [n, K]."""
        n_labels, n_rows = self.columns.shape
        u = np.zeros((n_rows, n_labels))
        for piece in self.pieces:
            kernels.add(self.bound, *piece, steps, u)
        if len(of_intercepts):
            u += of_intercepts
        return u


class GroupRows:
    """Rows of K labels, [n, K]: v = r/w + pu and s = Σ_k p_k u_k; `bounds` is w D of diagonals D ≥ diag(p) − ppᵀ.

    Such are diag(p), and twice the diagonal p (1 − p): the rows of the matrix add up to zero, so that twice its
    diagonal less the matrix is the sum of (a_k + a_l)² p_k p_l over pairs. Either is the lesser where no p is above ½,
    or one is.
    """

    steady_share = 0.003  # of the weights that are not zero: so few blocks come or go once it is known which are

    def __init__(self, part: Partition, problem: LogLinearProblem) -> None:
        labels, residual = part.labels, part.map(problem.residual)
        self.weights, self.w = labels.weights, labels.row_weights()
        self.v = residual / self.w
        self.p = np.ascontiguousarray(np.maximum(labels.probabilities(residual), 0))
        self.s = np.zeros(len(self.v))
        variances = 2 * self.p * np.maximum(1 - self.p, 0)
        self.bounds = self.w * np.where(self.p.max(axis=1, keepdims=True) > 0.5, variances, self.p)
        self.bias = np.zeros(problem.size - problem.n_weights)
        if len(self.bias):
            self._bind_intercepts()

    def _bind_intercepts(self) -> None:
        """The intercepts' curvature, raised where it is too flat to say how far to go, and its inverse."""
        gradient, wp = np.abs(self.slopes().sum(axis=0)), self.w * self.p
        diagonal = (wp * (1 - self.p)).sum(axis=0)
        least = np.maximum(gradient / LARGEST_STEP, LEAST_CURVATURE)
        self.bias_ridge = np.maximum(least - diagonal, 0)
        self.intercept_curvature = np.maximum(self.bounds.sum(axis=0), least)
        self.inverse = np.diag(1 / self.intercept_curvature)
        if len(gradient) <= MAX_JOINT_INTERCEPTS:
            hessian = np.diag(wp.sum(axis=0) + self.bias_ridge) - self.p.T @ wp
            if np.isfinite(hessian).all():
                self.inverse = np.linalg.pinv(hessian, rcond=LEAST_EIGENVALUE, hermitian=True)

    def descend(self, blocks: BlockCoordinates, of: kernels.BlockPenalties, z: Vector) -> list[tuple[int, float]]:
        """Visit the intercepts together, and every block."""
        if len(self.bias):
            step = -self.inverse @ (self.slopes().sum(axis=0) + self.bias_ridge * self.bias)
            self.bias += step
            self.advance(step)
        rows = self.weights, self.p, self.v, self.s, z
        return [kernels.descend(blocks.bound, *piece, of, *rows) for piece in blocks.pieces]

    def intercept_steps(self) -> Vector:
        """What the model's optimum changes the intercepts by, zero on average: a shift of all changes nothing."""
        return self.bias - self.bias.mean() if len(self.bias) else self.bias

    def slopes(self) -> Vector:
        """The derivatives of the model's loss by the scores."""
        return self.w * (self.v - self.p * self.s[:, np.newaxis])

    def product(self, u: Vector) -> Vector:
        """The model's curvature times a change of the scores."""
        pu = self.p * u
        return self.w * (pu - self.p * pu.sum(axis=1, keepdims=True))

    def advance(self, u: Vector) -> None:
        """Take in a change of the scores."""
        pu = self.p * u
        self.v += pu
        self.s += pu.sum(axis=1)


class GroupModel:
    """The quadratic model of the loss at θ with the group penalty as it is, over some of the features' weights."""

    overshoot = 0.1  # of the slope at θ: a step at whose end f rises more steeply is shortened

    def __init__(self, columns: Columns, theta: Vector, gradient: Vector, steepest: Vector) -> None:
        problem, part = columns.problem, columns.part
        groups, n = problem.prior.groups, problem.n_weights
        assert groups is not None
        moving = groups.sums(((theta[:n] != 0) | (steepest[:n] != 0)).astype(np.float64)) > 0
        self.chosen, self.groups = np.flatnonzero(groups.expand(moving)), groups.some(moving)
        features, labels = problem.layout.locate(self.chosen)
        self.blocks = BlockCoordinates(columns, features[self.groups.starts], self.groups, labels)
        self.rows = GroupRows(part, problem)
        self.origin = theta[self.chosen]
        self.z = self.origin.copy()
        curvature, slopes = self.blocks.dots(self.rows.bounds, True), self.blocks.dots(self.rows.slopes())
        least = np.abs(steepest[self.chosen]) * columns.largest[features] / LARGEST_STEP
        self.ridge = np.maximum(LEAST_CURVATURE, least - curvature)
        # The columns here may be narrower than those that the gradient is of: at θ the model's is the exact one.
        self.shift = gradient[self.chosen] - slopes - self.ridge * self.origin
        self.curvature = curvature + self.ridge
        self.penalties = kernels.BlockPenalties(self.groups.strengths, self.ridge, self.shift, self.curvature)

    def intercept_steps(self) -> Vector:
        """What the model's optimum changes the intercepts by."""
        return self.rows.intercept_steps()

    def descend(self) -> tuple[int, float]:
        """Visit every block; returns how many became zero or left it, and how far their weights moved."""
        found = self.rows.descend(self.blocks, self.penalties, self.z)
        return sum(each[0] for each in found), sum(each[1] for each in found)

    def solve_free(self, limit: int) -> bool:
        """Newton's step on the blocks that are not zero and the intercepts; returns whether it was found."""
        return FreeBlocks(self).solve(limit)

    def step_scores(self) -> Vector:
        """The change of the scores, [n, K]."""
        moved = self.groups.sums(np.abs(self.z - self.origin)) > 0
        blocks, kept = self.blocks.some(moved, exact=True), np.repeat(moved, self.groups.sizes)
        return blocks.scores((self.z - self.origin)[kept], self.rows.intercept_steps())


class FreeBlocks:
    """The blocks of a model that are not zero, and the intercepts: there the norms are smooth."""

    def __init__(self, model: GroupModel) -> None:
        free = model.groups.norms(model.z) > 0
        self.model, self.rows, self.kept = model, model.rows, np.repeat(free, model.groups.sizes)
        self.blocks, self.groups = model.blocks.some(free), model.groups.some(free)
        self.start, self.ridge, self.shift = model.z[self.kept], model.ridge[self.kept], model.shift[self.kept]
        self.directions, self.norms = self.groups.directions(self.start)
        self.tension = self.groups.expand(self.groups.strengths / self.norms)

    def scores(self, t: Vector) -> Vector:
        n = len(self.start)
        return self.blocks.scores(t[:n], t[n:])

    def sums(self, of_rows: Vector, of_weights: Vector, of_intercepts: Vector) -> Vector:
        """The columns' products with numbers of the rows, and the sums of the intercepts, more of each one's.

        The rows' numbers add up to zero over the labels. What rounding leaves of that would lead the intercepts far
        along the direction in which nothing bends.
        """
        found = self.blocks.dots(of_rows) + of_weights
        if not len(of_intercepts):
            return found
        sums = of_rows.sum(axis=0)
        return np.concatenate([found, sums - sums.mean() + of_intercepts])

    def product(self, t: Vector) -> Vector:
        """The model's Hessian with that of the norms, λ/‖z‖ (I − zzᵀ/‖z‖²), times a step."""
        n, along = len(self.start), self.directions
        d = t[:n]
        bent = self.ridge * d + self.tension * (d - along * self.groups.expand(self.groups.sums(along * d)))
        return self.sums(self.rows.product(self.scores(t)), bent, self._intercept_pull(t[n:]))

    def _intercept_pull(self, bias: Vector) -> Vector:
        return self.rows.bias_ridge * bias if len(bias) else bias

    def solve(self, limit: int) -> bool:
        """Conjugate gradients, preconditioned by the diagonal, and a step along what they find."""
        n, rows = len(self.start), self.rows
        diagonal = self.model.curvature[self.kept] + self.tension * (1 - self.directions**2)
        inverse = 1 / (np.concatenate([diagonal, rows.intercept_curvature]) if len(rows.bias) else diagonal)
        pull = self.groups.expand(self.groups.strengths) * self.directions + self.ridge * self.start + self.shift
        r = -self.sums(rows.slopes(), pull, self._intercept_pull(rows.bias))
        t, p = np.zeros(len(r)), inverse * r
        first = size = float(r @ p)
        for _ in range(limit):
            if not size > CG_TOLERANCE**2 * first or self._n_crossing(t[:n]) > 1 + CROSSING_SHARE * len(self.norms):
                break
            Hp = self.product(p)
            bend = float(p @ Hp)
            if not bend > 0:
                break
            t += (size / bend) * p
            r -= (size / bend) * Hp
            y = inverse * r
            before, size = size, float(r @ y)
            p = y + (size / before) * p
        self.move(t)
        return size <= CG_TOLERANCE**2 * first

    def _crosses(self, d: Vector) -> NDArray[np.bool_]:
        """Which blocks would turn back beyond zero."""
        return self.groups.sums(self.directions * d) < -self.norms

    def _n_crossing(self, d: Vector) -> int:
        return int(np.count_nonzero(self._crosses(d)))

    def move(self, t: Vector) -> None:
        """Go along a step of descent, blocks that would turn back to zero; half as far while the model gets worse."""
        n, share = len(self.start), 1.0
        for _ in range(MAX_HALVINGS):
            end = self.start + share * t[:n]
            end[np.repeat(self._crosses(share * t[:n]), self.groups.sizes)] = 0.0
            step = np.concatenate([end - self.start, share * t[n:]])
            u = self.scores(step)
            if self.change(step, u) <= 0:
                self.model.z[self.kept] = end
                self.rows.advance(u)
                self.rows.bias += step[n:]
                break
            share /= 2

    def change(self, step: Vector, u: Vector) -> float:
        """What the model changes by with a step, which changes the scores by u."""
        n, bias = len(self.start), self.rows.bias
        d, lengthened = step[:n], self.groups.norm_changes(self.start, step[:n])
        loss = float((u * self.rows.slopes()).sum() + 0.5 * (u * self.rows.product(u)).sum())
        ridge = float(d @ (self.ridge * (self.start + 0.5 * d) + self.shift))
        ridge += float(self._intercept_pull(step[n:]) @ (bias + 0.5 * step[n:]))
        return loss + ridge + float(self.groups.strengths @ lengthened)


class GroupStepPenalty:
    """The penalty along a step of a model: Σ λ ‖θ_j + αd_j‖, less that at θ."""

    def __init__(self, model: GroupModel) -> None:
        self.groups, self.start, self.end = model.groups, model.origin, model.z
        self.d = self.end - self.start

    def weights(self, step: float) -> Vector:
        """θ + αd, whose zeros at α = 1 are zeros."""
        return self.end if step == 1 else self.start + step * self.d

    def l1_change(self, step: float) -> float:
        return float(self.groups.strengths @ self.groups.norm_changes(self.start, step * self.d))

    def change(self, step: float) -> float:
        return self.l1_change(step)

    def derivative(self, step: float) -> float:
        """By α, from below where a block becomes zero."""
        directions, norms = self.groups.directions(self.weights(step))
        along = self.groups.sums(directions * self.d)
        return float(self.groups.strengths @ np.where(norms > 0, along, -self.groups.norms(self.d)))
