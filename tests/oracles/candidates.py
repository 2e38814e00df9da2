"""The naive twin of CandidateClassifier: dense candidates, eager steps, averages as sums of all the weights so far."""

import numpy as np
from scipy import sparse

from oracles.online import label_loss


def made(n_groups=120, n_features=25, seed=0, dtype=np.float64):
    """Groups of 1 to 6 candidates, of which the right one tends to score best."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 7, size=n_groups)
    X = sparse.random_array((sizes.sum(), n_features), density=0.3, rng=rng, data_sampler=rng.normal, format="csr")
    scores = X @ rng.normal(size=n_features) + 0.5 * rng.normal(size=len(X.indptr) - 1)
    y = np.array([np.argmax(part) for part in np.split(scores, np.cumsum(sizes)[:-1])])
    return X.astype(dtype), y, sizes


def split(X, sizes):
    """The dense candidates of each instance."""
    X = X.toarray() if hasattr(X, "toarray") else np.asarray(X, np.float64)
    return np.split(X, np.cumsum(sizes)[:-1])


def blocks(X, n_labels):
    """x ⊗ e_k for every row x and label k: the candidates of a classifier of n_labels."""
    X = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
    return (
        np.kron(X, np.eye(n_labels))
        .reshape(len(X) * n_labels, -1, n_labels)
        .swapaxes(1, 2)
        .reshape(len(X) * n_labels, -1)
    )


def loss_of(name, theta, groups, gold, weights):
    """Σ w ℓ and its (sub)gradient."""
    total, gradient = 0.0, np.zeros_like(theta)
    for F, y, w in zip(groups, gold, weights, strict=True):
        if len(F) > 1:
            value, g = label_loss(name, F @ theta, y)
            total, gradient = total + w * value, gradient + w * F.T @ g
    return total, gradient


def probabilities(theta, groups):
    """p of every candidate."""
    odds = [np.exp(F @ theta - (F @ theta).max()) for F in groups]
    return np.concatenate([odd / odd.sum() for odd in odds])


class Online:
    """Perceptron, PA-I and, for the log loss, SGD with η₀/(1 + η₀λt) and Adagrad."""

    def __init__(self, rule, n_features, *, C=1.0, decay=0.0, eta0=1.0, average_from=0):
        self.rule, self.C, self.decay, self.eta0, self.average_from = rule, C, decay, eta0, average_from
        self.theta, self.total, self.squares = np.zeros(n_features), np.zeros(n_features), np.zeros(n_features)
        self.t = self.averaged = 0
        self.loss = 0.0

    @property
    def coef(self):
        return self.total / self.averaged if self.averaged else self.theta

    def epoch(self, groups, gold, weights, order):
        self.loss = 0.0
        for g in order:
            self.t += 1
            self.step(groups[g], gold[g], weights[g])
            if self.average_from and self.t >= self.average_from:
                self.averaged += 1
                self.total += self.theta

    def step(self, F, y, w):
        loss = {"perceptron": "perceptron", "pa": "hinge"}.get(self.rule, "log_loss")
        value, g = label_loss(loss, F @ self.theta, y) if len(F) > 1 else (0.0, np.zeros(1))
        self.loss += w * value
        gradient = F.T @ g
        if self.rule == "perceptron":
            self.theta = self.theta - w * gradient
        elif self.rule == "pa":
            if value > 0 and gradient.any():
                self.theta = self.theta - min(w * self.C, value / (gradient @ gradient)) * gradient
        elif self.rule == "sgd":
            eta = self.eta0 / (1 + self.eta0 * self.decay * self.t)
            self.theta = (1 - eta * self.decay) * self.theta - eta * w * gradient
        elif self.rule == "adagrad":
            self.squares = self.squares + np.square(w * gradient)
            h = 1e-10 + np.sqrt(self.squares)
            self.theta = (h * self.theta - self.eta0 * w * gradient) / (h + self.eta0 * self.decay)
