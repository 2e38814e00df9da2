"""The naive twins of naive Bayes: counts, row by row, and every fold that is left out a model fitted again."""

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
