"""The naive twins of `fastlin.select`: a feature at a time, an optimiser a gain, every model from nothing."""

import numpy as np
from scipy.optimize import minimize, minimize_scalar
from scipy.special import log_softmax


def log_likelihoods(scores, y):
    """log p(y | row); one column of scores is the second label's, against 0."""
    if scores.shape[1] == 1:
        scores = np.concatenate([np.zeros_like(scores), scores], axis=1)
    return log_softmax(scores, axis=1)[np.arange(len(y)), y]


def gain(scores, x, y, weights, k, C):
    """(gain, α): what the best weight of x[:, j] under column k adds to Σ w log p − α²/2C, all other weights held."""
    before = weights @ log_likelihoods(scores, y)

    def loss(alpha):
        moved = scores.copy()
        moved[:, k] += alpha * x
        return before - weights @ log_likelihoods(moved, y) + alpha**2 / (2 * C)

    found = minimize_scalar(loss, bracket=(-1.0, 1.0), tol=1e-12)
    return max(0.0, -found.fun), found.x


def fit(X, y, weights, n_columns, C, fit_intercept):
    """The scores of the optimum, and the objective there."""
    V = X.shape[1]

    def unpack(theta):
        return theta[: V * n_columns].reshape(V, n_columns), theta[V * n_columns :] if fit_intercept else 0.0

    def loss(theta):
        W, b = unpack(theta)
        scores = X @ W + b
        both = np.concatenate([np.zeros_like(scores), scores], axis=1) if n_columns == 1 else scores
        p = np.exp(log_softmax(both, axis=1))
        p[np.arange(len(y)), y] -= 1
        residual = (p[:, 1:] if n_columns == 1 else p) * weights[:, None]
        gradient = [(X.T @ residual + W / C).ravel(), residual.sum(axis=0) if fit_intercept else []]
        return -weights @ log_likelihoods(scores, y) + np.sum(W**2) / (2 * C), np.concatenate(gradient)

    start = np.zeros((V + fit_intercept) * n_columns)
    if not len(start):
        scores = np.zeros((len(y), n_columns))
        return scores, -weights @ log_likelihoods(scores, y)
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"gtol": 1e-11, "ftol": 0, "maxiter": 5000})
    W, b = unpack(found.x)
    return X @ W + b, found.fun


def greedy(X, y, n_features, C, weights=None, fit_intercept=True):
    """(order, gains, objectives): in each round the feature of the highest gain, the first of equals."""
    weights = np.ones(len(y)) if weights is None else weights
    n_labels = y.max() + 1
    n_columns = 1 if n_labels == 2 else n_labels
    order, gains, objectives = [], [], []
    scores, _ = fit(X[:, []], y, weights, n_columns, C, fit_intercept)
    for _ in range(n_features):
        found = {
            j: max(gain(scores, X[:, j], y, weights, k, C)[0] for k in range(n_columns))
            for j in range(X.shape[1])
            if j not in order
        }
        best = max(found, key=found.get)
        order.append(best)
        gains.append(found[best])
        scores, objective = fit(X[:, order], y, weights, n_columns, C, fit_intercept)
        objectives.append(objective)
    return order, gains, objectives


def information_gain(X, y, weights=None):
    """H(Y) − H(Y | present), feature by feature."""
    weights = np.ones(len(y)) if weights is None else weights

    def entropy(rows):
        shares = np.array([weights[rows & (y == k)].sum() for k in np.unique(y)]) / max(weights[rows].sum(), 1e-300)
        return -sum(p * np.log(p) for p in shares if p > 0)

    everything = np.ones(len(y), bool)
    result = []
    for x in X.T:
        there = x > 0
        share = weights[there].sum() / weights.sum()
        result.append(entropy(everything) - share * entropy(there) - (1 - share) * entropy(~there))
    return np.array(result)
