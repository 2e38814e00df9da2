"""The naive twin of KMeans: dense, every distance by its definition, every centre by its mean."""

import numpy as np


def unit(X):
    norms = np.linalg.norm(X, axis=1, keepdims=True)
    return np.divide(X, norms, where=norms > 0, out=np.zeros_like(X))


def distances(X, centres, spherical=False):
    """‖x − c‖², or 1 − cos, [n, K]."""
    if spherical:
        return 1 - unit(X) @ centres.T
    return np.array([[np.sum((x - c) ** 2) for c in centres] for x in X])


def soft_cost(d, width):
    """−t' log (1/K) Σ exp(−d/t') of every row."""
    low = d.min(axis=1)
    return low - width * np.log(np.mean(np.exp((low[:, None] - d) / width), axis=1))


class Means:
    """So many iterations from these centres, with `objectives` before each and after the last."""

    def __init__(self, centres, max_iter, spherical=False, temperature=None):
        self.centres, self.spherical = np.array(centres, float), spherical
        self.centres = unit(self.centres) if spherical else self.centres
        self.width = None if temperature is None else temperature * (1 if spherical else 2)
        self.max_iter, self.objectives, self.relocated, self.surplus = max_iter, [], [], 0

    def fit(self, X, weights=None):
        weights = np.ones(len(X)) if weights is None else weights
        labels, self.n_iter = None, 0
        while self.n_iter < self.max_iter:
            self.n_iter += 1
            before = labels
            shares, labels = self.expect(X, weights), self.labels
            self.maximise(X, shares, weights)
            if self.width is None and before is not None and (before == labels).all():
                break
        self.expect(X, weights)
        return self

    def expect(self, X, weights):
        """The share of each centre in each row."""
        d = distances(X, self.centres, self.spherical)
        self.labels, self.nearest = d.argmin(axis=1), d.min(axis=1)
        if self.width is None:
            self.objectives.append(weights @ self.nearest)
            return np.eye(len(self.centres))[self.labels]
        self.objectives.append(weights @ soft_cost(d, self.width))
        kernel = np.exp((self.nearest[:, None] - d) / self.width)
        return kernel / kernel.sum(axis=1, keepdims=True)

    def maximise(self, X, shares, weights):
        """The means of the shares; those who have none are put on the farthest rows, which leave their own."""
        empty = np.flatnonzero(weights @ shares == 0)
        far = self.nearest * (np.abs(X).sum(axis=1) > 0 if self.spherical else 1)
        rows = np.argsort(-far, kind="stable")[: len(empty)] if far.max() > 1e-13 else []
        self.relocated.append(len(rows))
        rows_of = unit(X) if self.spherical else X
        if self.width is None:
            for row, k in zip(rows, empty, strict=False):
                shares[row] = np.eye(len(self.centres))[k]
        sums, mass = (shares * weights[:, None]).T @ rows_of, weights @ shares
        there = mass > 0
        if self.spherical:
            new, there = unit(sums), np.linalg.norm(sums, axis=1) > 0
        else:
            new = np.divide(sums, mass[:, None], where=there[:, None], out=np.zeros_like(sums))
        self.surplus += np.count_nonzero(~there)
        new[~there] = new[np.argmax(np.where(there, mass, -1))]
        if self.width is not None:
            for row, k in zip(rows, empty, strict=False):
                new[k] = rows_of[row]
        self.centres = new
