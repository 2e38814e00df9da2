"""The naive twins of naive Bayes: counts, row by row, and every fold that is left out a model fitted again."""

import math
from fractions import Fraction

import numpy as np


class NaiveBayes:
    """Multinomial naive Bayes with a prior: `mu` are the class priors, `phi` [K, V] the word probabilities."""

    def __init__(self, n_labels, alpha=1.0, base_measure=None, concentration=None, class_prior=None, fit_prior=True):
        self.n_labels, self.alpha, self.concentration = n_labels, alpha, concentration
        self.base_measure, self.class_prior, self.fit_prior = base_measure, class_prior, fit_prior

    def fit(self, X, y, weights=None):
        X, V = np.asarray(X, dtype=np.float64), X.shape[1]
        weights = np.ones(len(X)) if weights is None else weights
        rho = np.full(V, 1 / V) if self.base_measure is None else self.base_measure / np.sum(self.base_measure)
        pseudo = V * self.alpha * rho if self.concentration is None else self.concentration * rho - 1
        self.mu, self.phi = np.zeros(self.n_labels), np.zeros((self.n_labels, V))
        for k in range(self.n_labels):
            counts = sum((weights[i] * X[i] for i in range(len(X)) if y[i] == k), np.zeros(V))
            mass = np.maximum(0.0, counts + pseudo)
            self.phi[k] = mass / mass.sum() if mass.sum() > 0 else rho
            self.mu[k] = sum(weights[i] for i in range(len(X)) if y[i] == k)
        if self.class_prior is not None:
            self.mu = np.asarray(self.class_prior, dtype=np.float64)
        elif not self.fit_prior:
            self.mu[:] = 1
        self.mu = self.mu / self.mu.sum()
        return self

    def joint(self, x):
        """log p(x, k) for every label, but for the multinomial coefficient."""
        with np.errstate(divide="ignore"):
            present = [j for j in range(len(x)) if x[j] != 0]
            return np.array(
                [np.log(self.mu[k]) + sum(x[j] * np.log(self.phi[k, j]) for j in present) for k in range(self.n_labels)]
            )

    def proba(self, x):
        joint = self.joint(x)
        if np.all(joint == -np.inf):
            return self.mu
        odds = np.exp(joint - joint.max())
        return odds / odds.sum()

    def predict(self, x):
        joint = self.joint(x)
        return int(np.argmax(self.mu if np.all(joint == -np.inf) else joint))

    def leave_one_out(self, X, y, weights=None):
        """The share of rows that a model fitted on all the other rows gets right."""
        right = []
        for i in range(len(X)):
            rest = [j for j in range(len(X)) if j != i]
            self.fit(X[rest], y[rest], None if weights is None else weights[rest])
            right.append(self.predict(X[i]) == y[i])
        return np.average(right, weights=weights)


class CategoricalNaiveBayes:
    """Naive Bayes of tuples: `phi[j][k]` maps each category of position j to its probability under label k."""

    def __init__(self, n_labels, alpha=1.0):
        self.n_labels, self.alpha = n_labels, alpha

    def fit(self, X, y, weights=None):
        weights = np.ones(len(X)) if weights is None else weights
        self.mu = np.array([weights[y == k].sum() for k in range(self.n_labels)]) / weights.sum()
        self.phi = [[self.distribution(X, y, weights, j, k) for k in range(self.n_labels)] for j in range(len(X[0]))]
        return self

    def distribution(self, X, y, weights, j, k):
        mass = {row[j]: self.alpha for row in X if row[j] is not None}
        for row, label, weight in zip(X, y, weights, strict=True):
            if label == k and row[j] is not None:
                mass[row[j]] += weight
        total = sum(mass.values())
        return {category: share / total if total else 1 / len(mass) for category, share in mass.items()}

    def proba(self, x):
        """p(k | x), summed over all that a position may be of which nothing is known."""
        odds = self.mu.copy()
        for j, attribute in enumerate(x):
            for k in range(self.n_labels):
                phi = self.phi[j][k]
                odds[k] *= phi[attribute] if attribute in phi else sum(phi.values()) if phi else 1.0
        return odds / odds.sum() if odds.sum() else self.mu


def log_of(share):
    """log of an exact fraction to the last digits."""
    if share == 0:
        return -np.inf
    if share > Fraction(1, 2):
        return math.log1p(float(share - 1))
    return math.log(share.numerator) - math.log(share.denominator)


def exact_sums(X, y, weights, n_labels):
    """Exact sums of features, and of rows, under each label."""
    weights = [Fraction(1)] * len(X) if weights is None else [Fraction(float(weight)) for weight in weights]
    features, rows = [[Fraction(0)] * X.shape[1] for _ in range(n_labels)], [Fraction(0)] * n_labels
    for x, label, weight in zip(X.tolist(), y, weights, strict=True):
        rows[label] += weight
        features[label] = [total + weight * Fraction(value) for total, value in zip(features[label], x, strict=True)]
    return features, rows


class ComplementNaiveBayes:
    """Complement naive Bayes in exact fractions: `weights` [K, V] are −log θ, or shares of its sum."""

    def __init__(self, n_labels, alpha=1.0, norm=False):
        self.n_labels, self.alpha, self.norm = n_labels, Fraction(alpha), norm

    def fit(self, X, y, weights=None):
        features, _ = exact_sums(np.asarray(X, dtype=np.float64), y, weights, self.n_labels)
        self.weights = np.empty((self.n_labels, X.shape[1]))
        for k in range(self.n_labels):
            others = [features[other] for other in range(self.n_labels) if other != k]
            mass = [self.alpha + sum((other[j] for other in others), Fraction(0)) for j in range(X.shape[1])]
            logs = np.array([log_of(each / sum(mass)) for each in mass])
            self.weights[k] = -logs if not self.norm else logs / logs.sum() if logs.any() else 1.0
        return self


class BernoulliNaiveBayes:
    """Bernoulli naive Bayes in exact fractions: `present` and `absent` [K][V] are p and 1 − p."""

    def __init__(self, n_labels, alpha=1.0, fit_prior=True):
        self.n_labels, self.alpha, self.fit_prior = n_labels, Fraction(alpha), fit_prior

    def fit(self, occurs, y, weights=None):
        features, rows = exact_sums(np.asarray(occurs, dtype=np.float64), y, weights, self.n_labels)
        self.shares = [
            [(count + self.alpha) / (total + 2 * self.alpha) for count in own]
            for own, total in zip(features, rows, strict=True)
        ]
        self.absent = np.array([[float(1 - share) for share in own] for own in self.shares])
        total = sum(rows)
        self.mu = [each / total if self.fit_prior else Fraction(1, self.n_labels) for each in rows]
        return self

    def joint(self, occurs):
        """log p(x, k) for every label."""
        return [
            log_of(mu) + sum(log_of(share if there else 1 - share) for share, there in zip(own, occurs, strict=True))
            for mu, own in zip(self.mu, self.shares, strict=True)
        ]
