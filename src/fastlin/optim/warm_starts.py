"""Where a fit begins that has others before it: at the least value of f in the span of their weights.

Along a path of strengths the weights of weak models grow almost in proportion, and turn slowly: a multiple of the last
ones, and how they have turned since those before, are most of the way. Scores are linear in the weights,

    min_c  loss(Σ_m c_m S_m) + ½ Σ_q λ_q (Σ_m c_m θ_mq − m_q)²,    S_m = X θ_m,

so that Newton's method on c reads no X after the S_m. An L1 norm has no derivative in c where weights are zero, and
sums of models have all of their weights: there the last weights are the start.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fastlin.optim.log_linear_problem import LogLinearProblem

Vector = NDArray[np.float64]
MAX_STEPS = 20
MAX_HALVINGS = 30
NEGLIGIBLE = 1e-6  # of f: a fall that is not worth another step
NEAR = 1e-3  # of f: so near its least value a whole step needs no proof, and no other follows
NO_PIVOT = 1e-12  # of the largest diagonal element of H


def start_in_span(problem: LogLinearProblem, before: Sequence[Vector]) -> Vector:
    """The best start in the span of flat weights of earlier fits, the last one first."""
    if problem.prior.l1 > 0:
        return before[0]
    span = ModelSpan(problem, before)
    share = np.eye(len(before))[0]
    value, gradient, hessian = span.derivatives(share)
    for _ in range(MAX_STEPS):
        step = newton_step(hessian, gradient)
        fall = -float(gradient @ step)
        if not fall > NEGLIGIBLE * value:
            break
        if fall < NEAR * value:
            share = share + step
            break
        for _ in range(MAX_HALVINGS):
            found = span.derivatives(share + step)
            if found[0] < value:
                break
            step = step / 2
        else:
            break
        share = share + step
        value, gradient, hessian = found
    start = share[0] * before[0]
    for each, weights in zip(share[1:], before[1:], strict=True):
        start += each * weights
    return start


def newton_step(hessian: Vector, gradient: Vector) -> Vector:
    """−H⁻¹g by elimination, in Python: of two or three shares a call of LAPACK's takes ten times as long.

    A share whose models the ones before it span already has a pivot that is nothing but rounding, and stays.
    """
    H, rest, n = hessian.tolist(), (-gradient).tolist(), len(gradient)
    least = NO_PIVOT * max(row[place] for place, row in enumerate(H))
    pivots = []
    for place in range(n):
        if not H[place][place] > least:
            continue
        pivots.append(place)
        for below in range(place + 1, n):
            factor = H[below][place] / H[place][place]
            rest[below] -= factor * rest[place]
            for column in range(place, n):
                H[below][column] -= factor * H[place][column]
    step = np.zeros(n)
    for place in reversed(pivots):
        step[place] = (rest[place] - sum(H[place][k] * step[k] for k in range(place + 1, n))) / H[place][place]
    return step


class ModelSpan:
    """f on the span of some weights, by their shares c."""

    def __init__(self, problem: LogLinearProblem, before: Sequence[Vector]) -> None:
        n, dot = problem.n_weights, problem.pieces.dot
        self.problem, self.scores = problem, [problem.scores(weights) for weights in before]
        precision = np.zeros(problem.size)
        precision[:n] = problem.repeat_per_weight(problem.precision)
        pulls = [precision * weights for weights in before]
        self.square = np.array([[dot(pull, weights) for weights in before] for pull in pulls])
        self.linear, self.constant = np.zeros(len(before)), 0.0
        if len(problem.prior.mean):
            mean = np.zeros(problem.size)
            mean[:n] = problem.prior.mean
            self.linear[:] = [dot(pull, mean) for pull in pulls]
            self.constant = 0.5 * dot(precision * mean, mean)

    def derivatives(self, share: Vector) -> tuple[float, Vector, Vector]:
        """f, its gradient and its Hessian by c."""
        loss, slopes, bends = self.problem.span_derivatives(self.scores, share)
        pull = self.square @ share
        penalty = 0.5 * float(share @ pull) - float(self.linear @ share) + self.constant
        return loss + penalty, slopes + pull - self.linear, bends + self.square
