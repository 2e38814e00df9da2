"""Where a solver stands, and how it moves along a direction.

Scores are linear along a direction, S(θ + αd) = S + αU with U = X d, so that a line search reads no X; and
φ(α) = f(θ + αd) is convex, so that its minimum is where φ′, which increases, is zero: Newton's method in a bracket.

An L1 term is linear only within an orthant: with one, a step that would cross zero stops there, and f is taken anew.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.core.checkpoint_reader import CheckpointReader, State
from fastlin.engine.core import vector_ops
from fastlin.optim.log_linear_problem import LogLinearProblem, Objective
from fastlin.optim.solvers import owlqn

SUFFICIENT = 1e-4  # Armijo's constant
EXACT_SLOPE = 1e-3  # of a slope: what is left where f is least
MAX_TRIALS = 40  # trials
ROUNDING = 1e-14  # of f
LARGEST_GROWTH = 100.0  # of the gradient by a step whose f differs by rounding: where f is flat, directions are noise


class ExactLineSearch:
    """θ with its scores, value and gradient."""

    def __init__(
        self, problem: LogLinearProblem, theta: NDArray[np.float64], saved: CheckpointReader | None = None
    ) -> None:
        self.problem, self.theta = problem, theta
        self.gradient = np.empty(problem.size)
        if saved is not None:
            saved.read_into("theta", theta)
        at_zero = not theta.any()  # where scores are zero as they are allocated
        self.scores = problem.data.allocate("scores", problem.width) if at_zero else problem.scores(theta)
        self.direction_scores = problem.data.allocate("direction_scores", problem.width)
        if saved is not None:  # they were added up along the way
            saved.read_per_row("scores", self.scores)
        self._step_along(0.0)

    def state(self) -> State:
        return {"theta": self.theta, "scores": self.scores}

    @property
    def gradient_norm(self) -> float:
        return self.problem.distance(self.theta, self.steepest)

    @property
    def steepest(self) -> NDArray[np.float64]:
        """What to go against."""
        return self.gradient

    def move(self, direction: NDArray[np.float64], first: float, accuracy: float, scored: bool = False) -> bool:
        """θ += αd with |φ′(α)| ≤ accuracy·|φ′(0)| and less f; False where rounding leaves no such α.

        `first` is the step to try first; 0 asks for that of the quadratic at θ. `scored`: `direction_scores` are those
        of d.
        """
        pieces = self.problem.pieces
        slope = pieces.dot(self.gradient, direction)
        if not slope < 0:
            return False
        if not scored:
            self.problem.scores(direction, self.direction_scores)
        linear, square = self.problem.prior_line_derivatives(self.theta, direction)
        penalty = self.value - self.loss

        def trial(step: float) -> tuple[float, float, float]:
            """φ, φ′, φ″ at α."""
            loss, derivative, bend = self.problem.line_derivatives(self.scores, self.direction_scores, step)
            prior = penalty + step * (linear + 0.5 * step * square)
            return loss + prior, derivative + linear + step * square, bend + square

        low, high, step = 0.0, np.inf, first
        if not first:
            bend = trial(0.0)[2]
            step = -slope / bend if bend > 0 else 1.0
        for _ in range(MAX_TRIALS):
            at = step
            value, derivative, bend = trial(at)
            far = not np.isfinite(value) or derivative > 0
            low, high = (low, at) if far else (at, high)
            falls = value <= self.value + SUFFICIENT * at * slope + ROUNDING * abs(self.value)
            if falls and abs(derivative) <= accuracy * -slope:
                break
            newton = at - derivative / bend if np.isfinite(value) and bend > 0 else np.nan
            limit = 10 * at if high == np.inf else high
            step = newton if low < newton < limit else (limit if high == np.inf else 0.5 * (low + high))
        if not value < self.value + ROUNDING * abs(self.value):
            self._step_along(0.0)
            return False
        unseen = value >= self.value - ROUNDING * abs(self.value)
        norm = pieces.largest(self.gradient) if unseen else 0.0
        self._go(direction, at)
        if unseen and pieces.largest(self.gradient) > LARGEST_GROWTH * norm:
            self._go(direction, -at)
            return False
        return True

    def _go(self, direction: NDArray[np.float64], step: float) -> None:
        """θ += αd, and what belongs to θ."""
        self.problem.pieces.map(lambda part: np.add(self.theta[part], step * direction[part], out=self.theta[part]))
        self._step_along(step)

    def refresh(self) -> None:
        """Take value and gradient anew, where the problem has changed."""
        self._step_along(0.0)

    def _step_along(self, step: float) -> None:
        """The scores move along the direction; value and gradient at θ, which has moved."""
        self.loss, penalty = self.problem.step_along(
            self.scores, self.direction_scores, step, self.theta, self.gradient
        )
        self.value = self.loss + penalty


class OrthantSearch:
    """θ with the value of f + λ₁‖θ‖₁, the gradient of f, and the steepest subgradient of both."""

    def __init__(self, problem: Objective, theta: NDArray[np.float64], saved: CheckpointReader | None = None) -> None:
        self.problem, self.theta = problem, theta
        self.gradient = np.empty(problem.size)
        if saved is not None:
            saved.read_into("theta", theta)
        self._evaluate()

    def state(self) -> State:
        return {"theta": self.theta}

    @property
    def gradient_norm(self) -> float:
        return self.problem.distance(self.theta, self.steepest)

    def move(self, direction: NDArray[np.float64], first: float, accuracy: float) -> bool:  # noqa: ARG002
        """θ to the first of θ + d, θ + d/2, …, cut off at the borders of the orthant, that has enough less f."""
        base, value = self.theta.copy(), self.value
        orthants = owlqn.choose_orthant(self.problem, base, self.steepest)
        steepest, step = self.steepest, first
        for _ in range(MAX_TRIALS):
            np.multiply(direction, step, out=self.theta)
            self.theta += base
            owlqn.project_to_orthant(self.problem, self.theta, orthants)
            self._evaluate()
            fall = vector_ops.dot(steepest, self.theta - base)
            if fall < 0 and self.value <= value + SUFFICIENT * fall + ROUNDING * abs(value):
                return True
            step /= 2
        self.theta[:] = base
        self._evaluate()
        return False

    def _evaluate(self) -> None:
        smooth = self.problem.value(self.theta, self.gradient)
        self.value = smooth + owlqn.l1_penalty(self.problem, self.theta)
        self.steepest = owlqn.pseudo_gradient(self.problem, self.theta, self.gradient)


class SecantSearch:
    """θ with its value and gradient, where every trial is an evaluation.

    f is convex, so the slope φ′ along a direction increases, and its zero is found by secants in a bracket.
    """

    def __init__(self, problem: Objective, theta: NDArray[np.float64], saved: CheckpointReader | None = None) -> None:
        self.problem, self.theta = problem, theta
        self.gradient = np.empty(problem.size)
        if saved is not None:
            saved.read_into("theta", theta)
        self.value = problem.value(theta, self.gradient)

    def state(self) -> State:
        return {"theta": self.theta}

    @property
    def gradient_norm(self) -> float:
        return self.problem.distance(self.theta, self.gradient)

    @property
    def steepest(self) -> NDArray[np.float64]:
        return self.gradient

    def move(self, direction: NDArray[np.float64], first: float, accuracy: float) -> bool:
        """θ += αd with |φ′(α)| ≤ accuracy·|φ′(0)| and less f; False where rounding leaves no such α.

        `first` is the step to try first; 0 asks for that of a direction in the metric of the curvature, 1.
        """
        pieces, base, value = self.problem.pieces, self.theta.copy(), self.value
        slope = pieces.dot(self.gradient, direction)
        if not slope < 0:
            return False
        low, of_low, high, of_high, step = 0.0, slope, np.inf, 0.0, first or 1.0
        for _ in range(MAX_TRIALS):
            at = step
            pieces.map(lambda part: np.add(base[part], at * direction[part], out=self.theta[part]))  # noqa: B023
            self.value = self.problem.value(self.theta, self.gradient)
            found = pieces.dot(self.gradient, direction)
            falls = self.value <= value + SUFFICIENT * at * slope + ROUNDING * abs(value)
            if falls and abs(found) <= accuracy * -slope:
                return True
            if self.value < value and abs(found) <= EXACT_SLOPE * -slope:  # the least on the line, of a kink in f
                return True
            if np.isfinite(self.value) and found <= 0:
                low, of_low = at, found
            else:
                high, of_high = at, found if np.isfinite(self.value) else np.inf
            if high == np.inf:
                step = 4 * at
            else:
                share = of_low / (of_low - of_high) if np.isfinite(of_high) else 0.5
                step = low + min(max(share, 0.1), 0.9) * (high - low)
        self.theta[:] = base
        self.value = self.problem.value(self.theta, self.gradient)
        return False


def make_line_search(
    problem: Objective, theta: NDArray[np.float64], saved: CheckpointReader | None, keeps_scores: bool = True
) -> Any:
    """The kind of point that the problem needs: θ, or where a fit stood.

    Scores of several partitions are kept only where `keeps_scores` says so.
    """
    if problem.prior.l1:
        return OrthantSearch(problem, theta, saved)
    if isinstance(problem, LogLinearProblem) and (keeps_scores or len(problem.partitions) == 1):
        return ExactLineSearch(problem, theta, saved)
    return SecantSearch(problem, theta, saved)
