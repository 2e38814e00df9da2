"""Columns of weights: two labels may have one or two, and what all labels share is taken out."""

import numpy as np
from numpy.typing import NDArray

from fastlin.optim.log_linear_problem import LogLinearProblem
from fastlin.optim.weight_layouts import DenseWeights


def as_wide(weights: NDArray[np.float64], width: int) -> NDArray[np.float64]:
    """The weights of two labels in one column or in two, w = θ₁ − θ₀; other labels' as they are."""
    if weights.shape[1] == width:
        return weights
    return weights @ (np.array([[-0.5, 0.5]]) if width == 2 else np.array([[-1.0], [1.0]]))


def centre_labels(problem: LogLinearProblem, theta: NDArray[np.float64]) -> None:
    """Take out the shifts that all labels share, which move no probability and which the prior would have at zero."""
    n, K = problem.n_weights, problem.width
    if K == 1 or problem.partitions.has_label_sets:
        return
    theta[n:] -= theta[n:].mean() if problem.size > n else 0.0
    if isinstance(problem.layout, DenseWeights) and problem.prior.l1 == 0 and not len(problem.prior.mean):
        weights = theta[:n].reshape(-1, K)
        weights -= weights.mean(axis=1, keepdims=True)
