"""The naive twins of Ridge and LinearSVR: objectives and duals written out, dense."""

import numpy as np


def ridge_objective(theta, intercept, X, y, weights, alpha):
    """Σ w (y − θ·x − b)² + α‖θ‖²."""
    return float(weights @ (y - X @ theta - intercept) ** 2 + alpha * theta @ theta)


def ridge(X, y, weights, alpha, fit_intercept):
    """(θ, b) by least squares with a row √α e_j for each weight, after rows are centred by their weighted means."""
    mean, middle = (weights @ X / weights.sum(), weights @ y / weights.sum()) if fit_intercept else (0 * X[0], 0.0)
    roots = np.sqrt(weights)
    A = np.vstack([roots[:, None] * (X - mean), np.sqrt(alpha) * np.eye(X.shape[1])])
    theta = np.linalg.lstsq(A, np.append(roots * (y - middle), np.zeros(X.shape[1])), rcond=None)[0]
    return theta, middle - mean @ theta


def svr_objective(theta, X, y, C, epsilon, squared):
    """½‖θ‖² + Σ C max(0, |y − θ·x| − ε), or of its square; X has the intercept's column."""
    left = np.maximum(0, np.abs(y - X @ theta) - epsilon)
    return float(0.5 * theta @ theta + C @ (left**2 if squared else left))


def svr_dual(beta, X, y, C, epsilon, squared):
    """The dual objective of θ = Xᵀβ; −∞ where β is not feasible."""
    if not squared and (np.abs(beta) > C * (1 + 1e-12)).any():
        return -np.inf
    theta, used = X.T @ beta, C > 0
    value = y @ beta - epsilon * np.abs(beta).sum() - 0.5 * theta @ theta
    return float(value - (np.sum(beta[used] ** 2 / (4 * C[used])) if squared else 0.0))


def svr(X, y, C, epsilon, squared, epochs=400):
    """θ by dual coordinate ascent, every row in turn."""
    beta, theta = np.zeros(len(y)), np.zeros(X.shape[1])
    for _ in range(epochs):
        for i, x in enumerate(X):
            if C[i] == 0:
                continue
            D, limit = (0.5 / C[i], np.inf) if squared else (0.0, C[i])
            curvature = x @ x + D
            if curvature == 0:
                continue
            point = beta[i] - (theta @ x - y[i] + D * beta[i]) / curvature
            best = np.sign(point) * min(max(abs(point) - epsilon / curvature, 0.0), limit)
            theta += (best - beta[i]) * x
            beta[i] = best
    return theta, beta
