"""The naive twin of LinearSVC: its problems written out, and a solver one can read. Dense, one number at a time."""

import numpy as np


def with_intercept(X, scaling):
    """The intercept is one more feature; 0 leaves it out."""
    X = np.asarray(X, dtype=np.float64)
    return np.column_stack([X, np.full(len(X), scaling)]) if scaling else X


def row_losses(scores, y, squared, joint):
    """ℓ_i, [n, 1] or [n, K]: a column of scores for label 1, a column a label, or Crammer and Singer's."""
    if joint:
        handicap = np.ones_like(scores)
        handicap[np.arange(len(y)), y] = 0
        losses = (scores + handicap).max(axis=1, keepdims=True) - scores[np.arange(len(y)), y][:, None]
    else:
        losses = np.maximum(0, 1 - signs(y, scores.shape[1]) * scores)
    return losses**2 if squared else losses


def signs(y, n_columns):
    """±1: whether a row has the label of a column; a single column is that of label 1."""
    labels = np.arange(n_columns) if n_columns > 1 else np.array([1])
    return np.where(np.asarray(y)[:, None] == labels, 1.0, -1.0)


def primal(theta, X, y, C, squared, joint):
    """½‖θ‖² + Σ C_i ℓ_i for θ [K, V]."""
    return 0.5 * np.sum(theta**2) + np.sum(C[:, None] * row_losses(X @ theta.T, y, squared, joint))


def dual(alpha, X, y, C, squared, joint):
    """The dual objective of θ = αᵀX, where α holds z_i α_i in one against the rest; −∞ where α is not feasible."""
    own = signs(y, alpha.shape[1]) > 0
    D = 0.5 / C[:, None] if squared else np.zeros((len(C), 1))
    limit = np.full((len(C), 1), np.inf) if squared else C[:, None]
    theta = alpha.T @ X
    slack = 1e-12 * np.abs(alpha).max(initial=1e-300)
    if joint:
        feasible = (alpha <= np.where(own, limit, 0) + slack).all() and np.abs(alpha.sum(axis=1)).max() <= slack
        value = -alpha[~own].sum() - 0.5 * np.sum(D * np.where(own, alpha, 0) ** 2)
    else:
        plain = alpha * np.where(own, 1, -1)
        feasible = (plain >= 0).all() and (plain <= limit).all()
        value = plain.sum() - 0.5 * np.sum(D * plain**2)
    return value - 0.5 * np.sum(theta**2) if feasible else -np.inf


def solve(X, y, n_columns, C, squared, joint, epochs=150, gap=1e-8):
    """(θ, its duality gap) by dual ascent, every row in turn, until the gap is small or the epochs are over."""
    alpha, theta = np.zeros((len(X), n_columns)), np.zeros((n_columns, X.shape[1]))
    z = signs(y, n_columns)
    for epoch in range(epochs):
        for i, x in enumerate(X):
            if joint:
                new = best_row(theta @ x, y[i], x @ x, C[i], alpha[i], squared)
            else:
                new = [
                    z[i, k] * best_single(z[i, k] * (theta[k] @ x), x @ x, C[i], z[i, k] * alpha[i, k], squared)
                    for k in range(n_columns)
                ]
            theta += np.outer(new - alpha[i], x)
            alpha[i] = new
        if epoch % 10 == 9:
            value = primal(theta, X, y, C, squared, joint)
            left = value - dual(alpha, X, y, C, squared, joint)
            if left <= gap * value:
                break
    return theta, left


def best_single(margin, norm, C, alpha, squared):
    """The best α of one row and label, the others fixed."""
    D, limit = (0.5 / C, np.inf) if squared else (0.0, C)
    slope = margin - 1 + D * alpha
    if norm + D == 0:
        return limit if slope < 0 else alpha
    return min(max(alpha - slope / (norm + D), 0.0), limit)


def best_row(scores, y, norm, C, alpha, squared):
    """The best α of all labels of one row, the others fixed, by bisection on the threshold β."""
    if norm == 0:  # the row moves no weight
        new = np.zeros(len(scores))
        rival = 1 if y == 0 else 0
        new[y] = C if not squared else 2 * C
        new[rival] = -new[y]
        return new
    D, limit = (0.5 / C, np.inf) if squared else (0.0, C)
    B = scores + (np.arange(len(scores)) != y) - norm * alpha

    def at(beta):
        new = np.minimum(0, (beta - B) / norm)
        new[y] = min(limit, (beta - B[y]) / (norm + D))
        return new

    low, high = B.min() - norm * C - 1, max(B.max(), B[y] + (norm + D) * min(C, 1e6)) + 1
    while at(high).sum() < 0:
        high += high - low
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if at(middle).sum() < 0 else (low, middle)
    new = at(high)
    new[y] -= new.sum()
    return new
