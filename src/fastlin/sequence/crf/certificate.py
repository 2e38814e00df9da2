"""The duality gap of a CRF: a proof of how far its objective is at most above the minimum, for one pass over θ.

With a distribution a_i over the label sequences of each x_i, g its expected less the observed counts, and the prior
h(θ) = c1 |θ| + c2 θ², every a gives (Fenchel & Young)

    f(θ) − min f ≤ Σ_i KL(a_i ‖ p_i) + Σ_j [h(θ_j) + h*(−g_j) + g_j θ_j].

At the model's own p the first sum is 0; with c2 alone the second is then ‖∇f‖² / 4 c2. Where c2 = 0 the dual wants
|g| ≤ c1, for which a = t p + (1 − t) e_y lies between p and the right sequence, and, KL being convex,
KL(a ‖ p) ≤ −(1 − t) log p(y).
"""

import numpy as np
from numpy.typing import NDArray

from fastlin.engine.core.vector_ops import fenchel_young_gap
from fastlin.sequence.crf.objective import CRFObjective

Floats = NDArray[np.float64]


def duality_gap(problem: CRFObjective, theta: Floats, smooth: float, gradient: Floats) -> float:
    """f(θ) less the better of the dual values at p and at its nearest mixture that the L1 term allows.

    `smooth` is f without c1's part, and `gradient` that of it.
    """
    c1, c2, pieces = problem.prior.l1, problem.c2, problem.pieces
    if c1 == 0:
        return pieces.dot(gradient, gradient) / (4 * c2)
    counts = gradient - 2 * c2 * theta
    largest = pieces.largest(counts)
    least = min(1.0, c1 / largest) if largest > 0 else 1.0
    strengths = np.array([c1]), np.array([2 * c2])
    loss = max(0.0, smooth - c2 * pieces.dot(theta, theta))

    def at(share: float) -> float:
        terms = pieces.map(lambda piece: fenchel_young_gap(theta[piece], counts[piece], share, *strengths))
        return (1 - share) * loss + sum(terms)

    return min(at(share) for share in ({least, 1.0} if c2 else {least}))
