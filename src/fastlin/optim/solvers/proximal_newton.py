"""Proximal Newton for L1 terms and elastic nets, of rows in memory: coordinate descent, then conjugate gradients.

An iteration makes the quadratic model of the loss at θ, over the weights that are not zero or want to leave it.
Coordinate descent finds out which weights are zero at the model's optimum; as soon as hardly any comes or goes,
conjugate gradients on those that are not zero finish the model, for which descent alone would take hundreds of visits.
A line search along the step needs no more than its scores. A pass over all columns is paid once an iteration.
"""

import numpy as np
from numpy.typing import NDArray

from fastlin.optim import gram_model
from fastlin.optim.binary_model import BinaryModel
from fastlin.optim.convergence_monitor import ConvergenceMonitor
from fastlin.optim.gram_model import GramModel
from fastlin.optim.group_model import GroupModel, GroupStepPenalty
from fastlin.optim.likelihoods import MultinomialLikelihood
from fastlin.optim.log_linear_problem import LogLinearProblem
from fastlin.optim.partitions import Partition, PerRowArrays
from fastlin.optim.quadratic_model import Columns, QuadraticModel, choose_weights
from fastlin.optim.solvers import owlqn
from fastlin.optim.solvers.line_search import MAX_TRIALS, ExactLineSearch

Vector = NDArray[np.float64]
Model = BinaryModel | GramModel | QuadraticModel
NAME = "proximal newton"  # in checkpoints
MAX_VISITS = 8  # of coordinate descent in one model
MAX_BISECTIONS = 4
MODEL_TOLERANCE = 0.25  # of the way of the first visit: the model is solved
MIN_CG_ITERATIONS, MAX_CG_ITERATIONS = 20, 320
SUFFICIENT = 0.01  # Armijo's constant
ROUNDING = 1e-15  # of f, and of the logarithms that it sums
MAX_GROWTH_TRIALS, LARGEST_GROWTH = 5, 0.5  # of all weights by one factor, less 1, at once
GROWTH_ACCURACY = 0.1  # of the slope


def has_proximal_newton(problem: LogLinearProblem) -> bool:
    """Whether there is an L1 term, and rows in one partition in memory that have labels."""
    return problem.prior.l1 > 0 and problem.partitions.has_labels and len(problem.partitions) == 1


class ProximalSearch(ExactLineSearch):
    """θ with its scores, the value of f + λ₁‖θ‖₁, the gradient of f, and the steepest subgradient of both."""

    @property
    def steepest(self) -> Vector:
        return self._steepest

    def follow(self, columns: Columns, model: Model | GroupModel) -> bool:
        """Take θ towards the model's optimum, as far as f falls enough; False where rounding leaves nothing.

        Where a fall is lost in rounding, the derivatives along the step decide (Hager & Zhang 2005).
        """
        problem, n, bias = self.problem, self.problem.n_weights, model.intercept_steps()
        penalty = GroupStepPenalty(model) if isinstance(model, GroupModel) else StepPenalty(problem, model)
        slope = float(self.gradient[model.chosen] @ penalty.d + self.gradient[n:] @ bias) + penalty.l1_change(1.0)
        if not slope < 0:
            return False
        columns.part.map(self.direction_scores)[:] = model.step_scores()
        rounding = ROUNDING * (abs(self.value) + problem.partitions.total_weight)
        step = 1.0
        for _ in range(MAX_TRIALS):
            loss, derivative, _ = problem.line_derivatives(self.scores, self.direction_scores, step)
            change, derivative = loss - self.loss + penalty.change(step), derivative + penalty.derivative(step)
            flat = change <= rounding and derivative <= (2 * SUFFICIENT - 1) * slope
            if change <= SUFFICIENT * step * slope or flat:
                if derivative > -model.overshoot * slope:
                    step = self._shorten(penalty, step, change, -model.overshoot * slope)
                self.theta[model.chosen] = penalty.weights(step)
                self.theta[n:] += step * bias
                self._go_along(step)
                return True
            step /= 2
        self._step_along(0.0)
        return False

    def _shorten(self, penalty: "StepPenalty | GroupStepPenalty", high: float, least: float, slope: float) -> float:
        """The best of some bisections of a step that goes too far, until the slope there is small."""
        low, best = 0.0, high
        for _ in range(MAX_BISECTIONS):
            step = 0.5 * (low + high)
            loss, derivative, _ = self.problem.line_derivatives(self.scores, self.direction_scores, step)
            change, derivative = loss - self.loss + penalty.change(step), derivative + penalty.derivative(step)
            if change < least:
                least, best = change, step
            if abs(derivative) <= slope:
                break
            low, high = (low, step) if derivative > 0 else (step, high)
        return best

    def _go_along(self, step: float) -> None:
        """Scores, value and gradient at a θ that has moved, times what makes f least.

        Far from the optimum the weights of rows that are told apart have to grow, each by its share of a factor that
        no quadratic model knows: its own loss falls by e an iteration.
        """
        self.problem.data.each(_advance, self.scores, self.direction_scores, step)
        more = self._growth()
        self.theta *= 1 + more
        self._step_along(more)

    def _growth(self) -> float:
        """The α of those tried for which f at (1 + α)θ is least, by Newton's method; the scores are S + αS."""
        problem = self.problem
        l1, (_, square) = owlqn.l1_penalty(problem, self.theta), problem.prior_line_derivatives(self.theta, self.theta)
        at = best = first = 0.0
        least = np.inf
        for _ in range(MAX_GROWTH_TRIALS):
            loss, slope, bend = problem.line_derivatives(self.scores, self.direction_scores, at)
            value, slope = loss + (1 + at) * (l1 + 0.5 * (1 + at) * square), slope + l1 + (1 + at) * square
            bend += square
            if value < least:
                best, least = at, value
            first = first or abs(slope)
            if abs(slope) <= GROWTH_ACCURACY * first or not bend > 0:
                break
            at = min(max(at - slope / bend, -LARGEST_GROWTH), at + LARGEST_GROWTH)
        return best

    def _step_along(self, step: float) -> None:
        super()._step_along(step)
        self.value += owlqn.l1_penalty(self.problem, self.theta)
        self._steepest = owlqn.pseudo_gradient(self.problem, self.theta, self.gradient)


class StepPenalty:
    """The penalties along a step of a model: ½ λ₂ (θ + αd)² + λ₁ |θ + αd|, less those at θ."""

    def __init__(self, problem: LogLinearProblem, model: Model) -> None:
        self.start, self.end, self.l1 = model.origin, model.z, model.l1
        self.d = self.end - self.start
        precision = problem.prior.precision[model.features]
        self.linear, self.square = float(precision @ (self.start * self.d)), float(precision @ self.d**2)

    def weights(self, step: float) -> Vector:
        """θ + αd, whose zeros at α = 1 are zeros."""
        return self.end if step == 1 else self.start + step * self.d

    def l1_change(self, step: float) -> float:
        return float(self.l1 @ (np.abs(self.weights(step)) - np.abs(self.start)))

    def change(self, step: float) -> float:
        return step * (self.linear + 0.5 * step * self.square) + self.l1_change(step)

    def derivative(self, step: float) -> float:
        """By α, from below where a weight becomes zero."""
        weights = self.weights(step)
        signs = np.where(weights == 0, -np.sign(self.d), np.sign(weights))
        return self.linear + step * self.square + float(self.l1 @ (signs * self.d))


def minimise(
    problem: LogLinearProblem,
    theta: Vector,
    monitor: ConvergenceMonitor,
    generator: np.random.Generator,  # noqa: ARG001 - every solver is called alike
) -> None:
    """Move θ to the minimum of f + λ₁‖θ‖₁, or of f + Σ_j λ_j ‖θ_j‖₂."""
    descend(ProximalSearch(problem, theta, monitor.resume(NAME)), monitor)


def descend(point: ProximalSearch, monitor: ConvergenceMonitor) -> None:
    """Take steps from a point, or from where a fit stood, to the minimum."""
    problem, saved, limit = point.problem, monitor.resume(NAME), MIN_CG_ITERATIONS
    if saved is not None:
        limit = saved.integer("limit", MIN_CG_ITERATIONS, MAX_CG_ITERATIONS)
    monitor.register_state(NAME, problem, lambda: point.state() | {"limit": limit})
    # A model that overflows has no descent: the line search ends the fit, which says how far it is from the optimum.
    with problem.partitions.open(0, problem.workers) as part, np.errstate(over="ignore", invalid="ignore"):
        columns = Columns(part, problem)
        while not monitor.log_iteration(
            point.value, point.gradient_norm, point.theta, point.gradient, passes=problem.passes
        ):
            monitor.maybe_save()
            monitor.iterations += 1
            limit, moved = take_step(columns, point, limit)
            if not moved:
                break


def take_step(columns: Columns, point: ProximalSearch, limit: int) -> tuple[int, bool]:
    """Go to a model's optimum; returns the limit of the next one's conjugate gradients, and whether f fell."""
    problem, at = point.problem, (point.theta, point.gradient, point.steepest)
    if problem.width == 1 and problem.prior.groups is None:
        chosen = choose_weights(problem, point.theta, point.steepest)
        if gram_model.is_cheap(columns, chosen[1], limit > MIN_CG_ITERATIONS):
            gram = GramModel(columns, chosen, *at)
            gram.solve()
            if point.follow(columns, gram):
                return limit, True
        if isinstance(columns.part.likelihood, MultinomialLikelihood):
            binary = BinaryModel(columns, chosen, *at)
            return binary.solve(limit, MAX_CG_ITERATIONS), point.follow(columns, binary)
    model = QuadraticModel(columns, *at) if problem.prior.groups is None else GroupModel(columns, *at)
    return solve(model, limit), point.follow(columns, model)


def _advance(part: Partition, scores: PerRowArrays, direction_scores: PerRowArrays, step: float) -> None:
    """S += αU, and U = S."""
    its_scores, direction = part.map(scores), part.map(direction_scores)
    its_scores += step * direction
    direction[:] = its_scores


def solve(model: QuadraticModel | GroupModel, limit: int) -> int:
    """Move z towards the model's optimum; returns the limit of the next model's conjugate gradients."""
    first, finished = 0.0, False
    for _ in range(MAX_VISITS):
        changed, way = model.descend()
        first = max(first, way)
        if way <= MODEL_TOLERANCE * first or (finished and not changed):
            break
        steady = changed <= max(1, model.rows.steady_share * np.count_nonzero(model.z))
        finished = steady and model.solve_free(limit)
        if steady and not finished:
            limit = min(2 * limit, MAX_CG_ITERATIONS)
    return limit
