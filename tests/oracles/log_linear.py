"""The naive twin of every log-linear model: f(x, y) is written out, and nothing is clever.

A model is the tensor `F` [n, K, P]: F[i, k] are the P features of label (or candidate) k in row i, so that

    s = F θ,    p(k | i) = exp s_ik / Σ_l exp s_il,
    objective = Σ_i w_i (−log p(y_i | i)) + Σ_p (θ_p − m_p)² / 2σ_p² + Σ_p λ_p |θ_p|.

Dense weights, one column for two labels, observed pairs and candidates differ in `F` alone. An intercept is a feature
that is always 1 and has σ² = ∞, λ = 0.
"""

import numpy as np
from scipy.linalg import pinvh
from scipy.optimize import brentq

from oracles.online import soft_threshold

EXACT = 1e-12  # of the largest sum of absolute feature values: where a gradient is rounding error


class Maxent:
    """Everything one can say of the model of `F` and the right labels `y`, in float64."""

    def __init__(self, F, y, *, weights=None, variance=np.inf, mean=0.0, l1=0.0, present=None):
        self.F, self.y = np.asarray(F, dtype=np.float64), np.asarray(y)
        n, K, P = self.F.shape
        self.weights = np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64)
        self.variance, self.mean, self.l1 = (np.broadcast_to(a, P).astype(float) for a in (variance, mean, l1))
        self.present = np.ones((n, K), dtype=bool) if present is None else present
        self.observed = np.einsum("i,ip->p", self.weights, self.F[np.arange(n), self.y])
        self.sums = self.F.sum(axis=2)  # f#(x, y)

    # the model

    def log_proba(self, theta):
        scores = np.where(self.present, self.F @ theta, -np.inf)
        shifted = scores - scores.max(axis=1, keepdims=True)
        return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))

    def proba(self, theta):
        return np.exp(self.log_proba(theta))

    def log_likelihood(self, theta):
        return self.weights @ self.log_proba(theta)[np.arange(len(self.y)), self.y]

    def expected(self, theta):
        """E_p f, the counts that the model expects."""
        return np.einsum("i,ik,ikp->p", self.weights, self.proba(theta), self.F)

    def entropy(self, theta):
        """Σ_i w_i H(p(· | i))."""
        p, log_p = self.proba(theta), self.log_proba(theta)
        return -self.weights @ np.where(p > 0, p * np.where(p > 0, log_p, 0), 0).sum(axis=1)

    def moment_gap(self, theta):
        return np.abs(self.observed - self.expected(theta)).max(initial=0)

    # the objective

    def smooth(self, theta):
        return -self.log_likelihood(theta) + ((theta - self.mean) ** 2 / (2 * self.variance)).sum()

    def objective(self, theta):
        return self.smooth(theta) + self.l1 @ np.abs(theta)

    def gradient(self, theta):
        """Of the smooth part."""
        return self.expected(theta) - self.observed + (theta - self.mean) / self.variance

    def hessian(self, theta):
        """Σ_i w_i Cov_p(f) + 1/σ²."""
        p = self.proba(theta)
        means = np.einsum("ik,ikp->ip", p, self.F)
        second = np.einsum("i,ik,ikp,ikq->pq", self.weights, p, self.F, self.F, optimize=True)
        return second - means.T @ (self.weights[:, None] * means) + np.diag(1 / self.variance)

    def violation(self, theta):
        """The smallest subgradient, largest part: 0 at the optimum and nowhere else (Karush, Kuhn and Tucker)."""
        gradient = self.gradient(theta)
        at_zero = np.maximum(0.0, np.abs(gradient) - self.l1)
        return np.abs(np.where(theta == 0, at_zero, gradient + self.l1 * np.sign(theta))).max(initial=0)

    def dual(self, theta):
        """The dual objective at q = p_θ: a lower bound of the optimum; −∞ unless unpenalised counts are met.

        min_θ max_q Σ w H(q) + θ·(E_q f − E f) + Σ (θ − m)²/2σ², whose inner minimum is at θ = m + σ²(E f − E_q f).
        """
        gap = self.observed - self.expected(theta)
        free = np.isinf(self.variance)
        if np.abs(gap[free]).max(initial=0) > 1e-9 * self.size():
            return -np.inf
        held = ~free
        return self.entropy(theta) - self.mean @ gap - 0.5 * (self.variance[held] * gap[held] ** 2).sum()

    # the optimum

    def minimum(self, tolerance=EXACT):
        """Newton's method with the full Hessian and a line search; with L1, its proximal form."""
        theta = np.zeros(self.F.shape[2])
        for _ in range(300):
            if self.violation(theta) <= tolerance * self.size():
                break
            step = self.proximal_step(theta) if self.l1.any() else -pinvh(self.hessian(theta)) @ self.gradient(theta)
            slope = self.gradient(theta) @ step + self.l1 @ (np.abs(theta + step) - np.abs(theta))
            value, length = self.objective(theta), 1.0
            rounding = 1e-15 * max(1.0, abs(value))
            while length > 1e-9 and self.objective(theta + length * step) > value + 1e-4 * length * slope + rounding:
                length /= 2
            theta = theta + length * step
        return theta

    def proximal_step(self, theta):
        """argmin_d g·d + d·Hd/2 + Σ λ|θ + d|, one coordinate after the other."""
        gradient, hessian, new = self.gradient(theta), self.hessian(theta), theta.copy()
        slope = gradient.copy()  # g + H(new − θ)
        for _ in range(2000):
            largest = 0.0
            for p in np.flatnonzero(np.diag(hessian) > 0):
                wanted = soft_threshold(new[p] - slope[p] / hessian[p, p], self.l1[p] / hessian[p, p])
                change = wanted - new[p]
                if change:
                    slope += change * hessian[p]
                    new[p] = wanted
                    largest = max(largest, abs(change) * hessian[p, p])
            if largest <= 0.01 * EXACT * self.size():
                break
        return new - theta

    def size(self):
        """What the counts are made of: rounding is measured against it."""
        return max(1.0, (self.weights @ np.abs(self.F).sum(axis=2).max(axis=1)))

    # one sweep of iterative scaling

    def gis(self, theta):
        """θ + δ with E f = E_p f · e^{Cδ} + (θ + δ − m)/σ², C = max f#."""
        largest = self.longest()
        expected = self.expected(theta)
        return self.sweep(theta, lambda p, delta: expected[p] * np.exp(largest * delta), expected, largest)

    def longest(self):
        """The largest f#, of rows that count."""
        return self.sums[self.present & (self.weights > 0)[:, None]].max()

    def iis(self, theta):
        """θ + δ with E f = Σ_i w_i Σ_k p(k|i) f e^{f#(i,k) δ} + (θ + δ − m)/σ²."""
        p_weighted = self.weights[:, None] * self.proba(theta)

        def scaled(p, delta):
            return (p_weighted * self.F[:, :, p] * np.exp(self.sums * delta)).sum()

        return self.sweep(theta, scaled, self.expected(theta), self.longest())

    def sweep(self, theta, scaled, expected, largest):
        """Each weight's own increasing equation, by bracketing."""
        new = theta.copy()
        for p in range(len(theta)):
            if expected[p] == 0:  # the feature occurs nowhere: its prior alone decides, or nothing does
                new[p] = theta[p] if np.isinf(self.variance[p]) else self.mean[p]
                continue

            def excess(delta, p=p):
                return scaled(p, delta) + (theta[p] + delta - self.mean[p]) / self.variance[p] - self.observed[p]

            low = high = 0.0
            step = 0.5 / largest
            while excess(low) > 0:
                low, step = low - step, 2 * step
            step = 0.5 / largest
            while excess(high) < 0:
                high, step = high + step, min(2 * step, 50 / largest)
            new[p] += brentq(excess, low, high, xtol=1e-15, rtol=1e-14, maxiter=500) if high > low else 0.0
        return new


class Logistic(Maxent):
    """Rows and labels 0..K−1: parameter p is the weight of (features[p], labels[p]); feature V is the intercept.

    `columns=1`, the default for two labels, is the binary model: label 1 has the weights, label 0 has none. `pairs`
    [V, K] says which pairs have a weight.
    """

    def __init__(
        self,
        X,
        y,
        n_labels,
        *,
        C=1.0,
        prior_variance=None,
        prior_mean=None,
        l1_ratio=0.0,
        fit_intercept=True,
        sample_weight=None,
        pairs=None,
        columns=None,
    ):
        X = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
        n, V = X.shape
        self.columns = columns or (1 if n_labels == 2 and pairs is None else n_labels)
        self.n_features, self.n_labels, self.dense = V, n_labels, pairs is None
        has_weight = np.ones((V, self.columns), dtype=bool) if pairs is None else pairs
        has_weight = np.vstack([has_weight, np.full(self.columns, fit_intercept)])
        self.labels, self.features = np.nonzero(has_weight.T)
        shown = self.labels + 1 if self.columns == 1 else self.labels  # the label whose score the weight enters
        rows = np.hstack([X, np.ones((n, 1))])
        F = np.zeros((n, n_labels, len(self.labels)))
        F[:, shown, np.arange(len(shown))] = rows[:, self.features]
        penalised = self.features < V
        variance = C if prior_variance is None else prior_variance
        variance = np.append(np.broadcast_to(variance, V), np.inf)[self.features]
        mean = np.zeros((self.columns, V + 1))
        mean[:, :V] = 0.0 if prior_mean is None else prior_mean
        mean = mean[self.labels, self.features]
        l1 = np.where(penalised, l1_ratio / variance, 0.0)
        with np.errstate(divide="ignore"):
            variance = np.where(penalised, variance / np.float64(1 - l1_ratio), np.inf)
        super().__init__(F, y, weights=sample_weight, variance=variance, mean=mean, l1=l1)

    def theta(self, coef, intercept):
        """The parameters of `coef_` and `intercept_`."""
        coef = coef.toarray() if hasattr(coef, "toarray") else np.asarray(coef)
        whole = np.hstack([coef, np.broadcast_to(np.reshape(intercept, (-1, 1)), (len(coef), 1))]).astype(np.float64)
        return whole[self.labels, self.features]

    def whole(self, theta):
        """[columns, V + 1], 0 where a pair has no weight."""
        full = np.zeros((self.columns, self.n_features + 1))
        full[self.labels, self.features] = theta
        return full

    def coef(self, theta):
        return self.whole(theta)[:, :-1]

    def intercept(self, theta):
        return self.whole(theta)[:, -1]

    def centred(self, theta):
        """The same probabilities, the lowest Gaussian prior: over labels, θ_j· has the mean of its prior means."""
        full, means = self.whole(theta), self.whole(self.mean)
        return (full - full.mean(axis=0) + means.mean(axis=0))[self.labels, self.features]


def two_columns(X, y, *, C=1.0, prior_variance=None, prior_mean=None, **options):
    """The binary model as θ₁ and θ₀ with w = θ₁ − θ₀: w of mean m and variance σ² is ±m/2 and σ²/2 of each."""
    variance = C if prior_variance is None else np.asarray(prior_variance)
    model = Logistic(X, y, 2, prior_variance=variance / 2, prior_mean=prior_mean, columns=2, **options)
    model.mean = model.mean * np.where(model.labels == 1, 0.5, -0.5)
    return model


def observed_pairs(X, y, n_labels, cutoff=1, sample_weight=None):
    """[V, K]: is feature j seen (not 0) with label k in at least `cutoff` rows of positive weight?"""
    X = np.asarray(X.toarray() if hasattr(X, "toarray") else X)
    counts = np.zeros((X.shape[1], n_labels), dtype=int)
    for i in range(len(X)):
        if sample_weight is None or sample_weight[i] > 0:
            counts[X[i] != 0, y[i]] += 1
    return counts >= np.reshape(cutoff, (-1, 1))


def candidates(X, y, group_sizes, *, C=1.0, prior_variance=None, prior_mean=None, l1_ratio=0.0, sample_weight=None):
    """Rows are (instance, candidate) pairs; `y` is the position of the right one in its group; no intercept."""
    X = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
    group_sizes = np.asarray(group_sizes)
    present = np.arange(group_sizes.max()) < group_sizes[:, None]
    F = np.zeros((*present.shape, X.shape[1]))
    F[present] = X
    variance = np.broadcast_to(C if prior_variance is None else prior_variance, X.shape[1])
    with np.errstate(divide="ignore"):
        smooth = variance / np.float64(1 - l1_ratio)
    return Maxent(
        F,
        y,
        weights=sample_weight,
        variance=smooth,
        mean=0.0 if prior_mean is None else prior_mean,
        l1=l1_ratio / variance,
        present=present,
    )


def same_moments(model, limit=None):
    """Directions in which all p(k | i) can move and leave E_p f and Σ_k p(k | i) as they are: [directions, n, K]."""
    n, K, P = model.F.shape
    constraints = [(model.weights[:, None] * model.F[:, :, p]).ravel() for p in range(P)]
    constraints += [np.kron(np.eye(n)[i], np.ones(K)) for i in range(n)]
    constraints += list(np.eye(n * K)[~model.present.ravel()])
    _, sizes, basis = np.linalg.svd(np.array(constraints))
    rank = (sizes > 1e-10 * sizes[0]).sum()
    return basis[rank:][:limit].reshape(-1, n, K)
