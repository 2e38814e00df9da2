"""The naive twins of learning without labels: EM as the equations have it, in loops one can read.

Every matrix is dense and every row is inferred in every iteration, also those whose component is known.
"""

import numpy as np


def log_sum(terms):
    """log Σ exp of some logarithms, of which all may be −inf."""
    top = max(terms)
    return top if top == -np.inf else top + np.log(sum(np.exp(term - top) for term in terms))


class EM:
    """Naive Bayes whose label k has the components families[k] … families[k + 1] − 1.

    A row's code is its label, whose components it is restricted to, or −1; its weight may hold a λ already.
    """

    def __init__(self, families, n_features, alpha=1.0, base_measure=None, class_prior=None):
        self.families, self.M, self.V = list(families), families[-1], n_features
        rho = np.full(self.V, 1 / self.V) if base_measure is None else np.asarray(base_measure) / np.sum(base_measure)
        self.rho, self.class_prior = rho, class_prior
        self.pseudo = alpha * self.V * rho if np.ndim(alpha) == 0 else np.asarray(alpha, float)

    def possible(self, code):
        """The components of a row."""
        return range(self.M) if code < 0 else range(self.families[code], self.families[code + 1])

    def maximise(self, X, weights, shares):
        """The most likely parameters, from the responsibilities [n, M]."""
        self.counts, self.masses = np.zeros((self.M, self.V)), np.zeros(self.M)
        for x, w, q in zip(X, weights, shares, strict=True):
            for c in range(self.M):
                self.counts[c] += w * q[c] * x
                self.masses[c] += w * q[c]
        self.phi = np.array([self._phi(c) for c in self.counts])
        self.pi = self.masses / self.masses.sum()
        if self.class_prior is not None:
            for k, mu in enumerate(self.class_prior):
                own = slice(self.families[k], self.families[k + 1])
                mass, size = self.masses[own].sum(), self.families[k + 1] - self.families[k]
                self.pi[own] = mu * (self.masses[own] / mass if mass > 0 else 1 / size)

    def _phi(self, counts):
        total = (counts + self.pseudo).sum()
        return (counts + self.pseudo) / total if total > 0 else self.rho

    def joint(self, x):
        """log p(x, c) of every component."""
        scores = []
        for c in range(self.M):
            score = np.log(self.pi[c]) if self.pi[c] > 0 else -np.inf
            for j in np.flatnonzero(x):
                score += x[j] * np.log(self.phi[c, j]) if self.phi[c, j] > 0 else -np.inf
            scores.append(score)
        return scores

    def proba(self, x, code=-1):
        """p(c | x), among the components of the row's label; π for what none can produce."""
        scores, own = self.joint(x), self.possible(code)
        if all(scores[c] == -np.inf for c in own):
            scores = [np.log(p) if p > 0 else -np.inf for p in self.pi]
        total = log_sum([scores[c] for c in own])
        return np.array([np.exp(scores[c] - total) if c in own else 0.0 for c in range(self.M)])

    def expect(self, X, codes, weights):
        """Responsibilities under the parameters as they are, and the bound of these."""
        bound = 0.0
        for x, code, w in zip(X, codes, weights, strict=True):
            scores = self.joint(x)
            bound += w * log_sum([scores[c] for c in self.possible(code)])
        for c in range(self.M):
            for j in range(self.V):
                if self.pseudo[j] > 0:
                    bound += self.pseudo[j] * np.log(self.phi[c, j])
        return np.array([self.proba(x, code) for x, code in zip(X, codes, strict=True)]), bound

    def climb(self, X, codes, weights, shares, n_iter):
        """The bounds of the start and of so many iterations; the parameters are then those of the last."""
        bounds = []
        for _ in range(n_iter + 1):
            self.maximise(X, weights, shares)
            shares, bound = self.expect(X, codes, weights)
            bounds.append(bound)
        return bounds


def online(twin, batches):
    """Online EM: each batch is inferred once, and its expected counts are added to those so far."""
    counts, masses = np.zeros((twin.M, twin.V)), np.zeros(twin.M)
    for X, weights in batches:
        for x, w in zip(X, weights, strict=True):
            q = twin.proba(x)
            counts += w * np.outer(q, x)
            masses += w * q
        twin.phi = np.array([twin._phi(c) for c in counts])
        twin.pi = masses / masses.sum()
    return twin
