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


class MiniBatches:
    """Mini-batch k-means with dense centres, each of which is moved by its definition; all rows count alike."""

    def __init__(self, init, batch_size, max_iter, ratio, generator, patience=10):
        self.centres, self.counts = np.array(init, float), np.zeros(len(init))
        self.batch_size, self.max_iter, self.ratio, self.patience = batch_size, max_iter, ratio, patience
        self.generator, self.inertias, self.unassigned = generator, [], 0

    def fit(self, X, weights=None):
        n, size = len(X), min(self.batch_size, len(X))
        self.generator.integers(0, n, min(max(3 * size, 3), n))  # rows to judge starts by
        if min(max(3 * size, 3), n) < n:
            self.generator.integers(0, n, min(max(3 * size, 3), n))  # rows to find a start among
        smoothed, best, waited, self.n_steps = None, np.inf, 0, 0
        share = min(1.0, 2 * size / (n + 1))
        while self.n_steps < self.max_iter * n // size:
            inertia = self.learn(X[np.sort(self.draw(n, size, weights))])
            self.n_steps += 1
            if self.n_steps == 1:
                continue
            smoothed = inertia if smoothed is None else (1 - share) * smoothed + share * inertia
            waited, best = (0, smoothed) if smoothed < best else (waited + 1, best)
            if waited >= self.patience:
                break
        return self

    def draw(self, n, size, weights):
        if weights is None:
            weights = np.ones(n)
        reach = np.cumsum(weights / weights.max())
        return np.searchsorted(reach, self.generator.random(size) * reach[-1], side="right")

    def learn(self, batch):
        self.unassigned += min(self.batch_size, len(batch))
        anew = (self.counts == 0).any() or self.unassigned >= 10 * len(self.counts)
        d = distances(batch, self.centres)
        labels = d.argmin(axis=1)
        for k in range(len(self.centres)):
            own = batch[labels == k]
            if len(own):
                self.centres[k] = (self.counts[k] * self.centres[k] + own.sum(axis=0)) / (self.counts[k] + len(own))
                self.counts[k] += len(own)
        if anew:
            self.unassigned = 0
            self.begin_anew(batch)
        self.inertias.append(d.min(axis=1).mean())
        return self.inertias[-1]

    def begin_anew(self, batch):
        few = self.counts < self.ratio * self.counts.max()
        if few.sum() > 0.5 * len(batch):
            few[np.argsort(self.counts, kind="stable")[len(batch) // 2 :]] = False
        if few.any():
            self.centres[few] = batch[self.generator.choice(len(batch), few.sum(), replace=False)]
            self.counts[few] = self.counts[~few].min()
