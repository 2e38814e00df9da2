"""The naive twin of the group penalty: plain proximal gradient steps, in dense matrices, run long."""

import numpy as np


def log_proba(X, theta, bias):
    scores = X @ theta + bias
    scores = scores - scores.max(axis=1, keepdims=True)
    return scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))


def objective(X, y, theta, bias, strengths, weights):
    """−Σ w log p + Σ_j λ_j ‖θ_j‖."""
    own = log_proba(X, theta, bias)[np.arange(len(y)), y]
    return -weights @ own + strengths @ np.linalg.norm(theta, axis=1)


def shrink(target, amounts):
    """argmin ½‖θ_j − target_j‖² + amount_j ‖θ_j‖ of each row: shorter by the amount, or zero."""
    lengths = np.linalg.norm(target, axis=1)
    return target * np.maximum(1 - amounts / np.maximum(lengths, 1e-300), 0)[:, np.newaxis]


def minimise(X, y, n_labels, strengths, weights, fit_intercept=True, steps=20_000):
    """θ [V, K] and the intercepts, by proximal gradient steps of 1/L with Nesterov's momentum, begun anew on a rise."""
    theta, bias = np.zeros((X.shape[1], n_labels)), np.zeros(n_labels)
    with_one = np.column_stack([X, np.ones(len(X))]) if fit_intercept else X
    step = 2 / np.linalg.norm(with_one.T @ (weights[:, np.newaxis] * with_one), 2)  # the softmax bends by ½ at most
    observed = np.eye(n_labels)[y]
    ahead, ahead_bias, momentum, before = theta, bias, 1.0, np.inf
    for _ in range(steps):
        residual = weights[:, np.newaxis] * (np.exp(log_proba(X, ahead, ahead_bias)) - observed)
        moved = shrink(ahead - step * (X.T @ residual), step * strengths)
        moved_bias = ahead_bias - step * fit_intercept * residual.sum(axis=0)
        value = objective(X, y, moved, moved_bias, strengths, weights)
        if value > before:
            ahead, ahead_bias, momentum, before = theta, bias, 1.0, np.inf
            continue
        after = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        share = (momentum - 1) / after
        ahead, ahead_bias = moved + share * (moved - theta), moved_bias + share * (moved_bias - bias)
        theta, bias, momentum, before = moved, moved_bias, after, value
    return theta, bias
