"""Ridge regression with no weight below 0: Newton's method on the free weights, projected (Bertsekas 1982).

Weights at 0 that the gradient g = ½∇P holds there are bound, the others free. The direction solves H_FF d = −g_F by
conjugate gradients, and the step goes along max(0, w + td), t halved until P has fallen by its share. At the optimum
g ≥ 0, and g = 0 where w > 0. The gap to the dual is, with c = Aᵀ(t − Aw) = αw − g,

    Σ_j  g_j²/α where c_j > 0,  w_j (2g_j − αw_j) elsewhere
"""

import numpy as np

from fastlin.core.checkpoint_reader import CheckpointReader, State
from fastlin.core.fit_monitor import FitMonitor
from fastlin.optim.ridge_problem import Floats, RidgePoint, column_dots, objectives_of
from fastlin.optim.solvers.ridge import PROGRESS, diagonal, log, restore_point

CG_ACCURACY = 0.01  # what conjugate gradients leave of the free gradient
MAX_CG_STEPS = 500
SUFFICIENT = 1e-4  # share of the fall that the gradient promises
ROUNDING = 1e-14  # of P: beyond it only the gradient tells whether a step is any good
MAX_HALVINGS = 40
MAX_NO_PROGRESS = 3  # steps in a row that gain nothing: rounding


class PositivePoint(RidgePoint):
    """Weights that are not negative: the gradient's norm is that of what may move, and so is the gap."""

    def _measure(self) -> None:
        super()._measure()
        self.free = (self.theta > 0) | (self.gradient < 0)
        moves = np.where(self.free, self.gradient, 0.0)
        self.norms = np.sqrt(column_dots(moves, moves))

    @property
    def gaps(self) -> Floats:
        alphas, g, w = self.problem.alphas, self.gradient, self.theta
        inside = alphas * w - g > 0
        squares = np.divide(g**2, alphas, out=np.where(g != 0, np.inf, 0.0), where=(alphas > 0) & inside)
        found: Floats = np.where(inside, squares, w * (2 * g - alphas * w)).sum(axis=0)
        return found


def _direction(point: PositivePoint, inverse: Floats, tol: float) -> Floats:
    """−H_FF⁻¹ g_F of the free weights, by conjugate gradients; 0 for targets that are at their optimum."""
    problem, alphas = point.problem, point.problem.alphas
    free = point.free & ~point.finished(tol)
    r = np.where(free, -point.gradient, 0.0)
    p, found = inverse * r, np.zeros(r.shape)
    size, wanted = column_dots(r, p), CG_ACCURACY**2 * column_dots(r, r)
    moves = free.any(axis=0)
    for _ in range(MAX_CG_STEPS):
        Hp = np.where(free, alphas * p + problem.normal_product(p)[1], 0.0)
        bend = column_dots(p, Hp)
        share = np.divide(size, bend, out=np.zeros(len(bend)), where=moves & (bend > 0))
        found += share * p
        r -= share * Hp
        moves &= (share > 0) & (column_dots(r, r) > wanted)
        if not moves.any():
            break
        y = inverse * r
        before, size = size, column_dots(r, y)
        p = y + np.divide(size, before, out=np.zeros(len(size)), where=moves) * p
    return found


def _projected_step(point: PositivePoint, direction: Floats) -> Floats:
    """max(0, w + td), with the t of each target halved until its objective has fallen."""
    problem, theta = point.problem, point.theta
    steps, settled = np.ones(theta.shape[1]), ~direction.any(axis=0)
    for _ in range(MAX_HALVINGS):
        moved = np.maximum(0.0, theta + steps * direction)
        change = moved - theta
        values = objectives_of(problem, moved, point.residual - problem.scores(change))
        promised = 2 * column_dots(point.gradient, change)
        settled |= values <= point.objectives * (1 + ROUNDING) + SUFFICIENT * promised
        if settled.all():
            return moved
        steps = np.where(settled, steps, 0.5 * steps)
    return np.where(settled, moved, theta)


class ProjectedNewton:
    """Steps of projected Newton from a point."""

    def __init__(self, point: PositivePoint, tol: float) -> None:
        self.point, self.tol, self.idle = point, tol, 0
        self.inverse = 1 / diagonal(point.problem)

    def state_dict(self) -> State:
        """What the steps have changed."""
        return {"theta": self.point.theta, "idle": self.idle}

    def load_state_dict(self, saved: CheckpointReader) -> None:
        """Become what `state_dict` said."""
        restore_point(self.point, saved)
        self.idle = saved.integer("idle", 0)

    def step(self) -> None:
        """A step of every target that is not at its optimum."""
        point, before, norms = self.point, self.point.objectives, self.point.norms
        point.move_to(_projected_step(point, _direction(point, self.inverse, self.tol)))
        gains = (point.objectives < before * (1 - ROUNDING)) | (point.norms < PROGRESS * norms)
        self.idle = 0 if gains.any() else self.idle + 1


def train_positive(point: PositivePoint, tol: float, monitor: FitMonitor) -> str:
    """Go to the optimum of all targets; returns how."""
    newton = ProjectedNewton(point, tol)
    monitor.register_run("projected", newton)
    while not monitor.should_stop and newton.idle < MAX_NO_PROGRESS:
        monitor.maybe_save()
        newton.step()
        monitor.iterations += 1
        log(monitor, point.objectives, point.gaps)
        monitor.converged = bool(point.finished(tol).all())
    return "lbfgs"
