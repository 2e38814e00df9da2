"""The naive twins of chains and CRFs: every path, one by one, and the sums over them.

A path's score is s(y) = Σ_t S[t, y_t] + start[y_0] + Σ_{t≥1} A[history, y_t] + end[history], with a history of one
label or two, of which the last but one may be K: there was none. −inf forbids.
"""

import itertools

import numpy as np
from scipy import optimize


def log_sum(terms):
    """log Σ exp of some logarithms, of which all may be −inf."""
    terms = np.asarray(terms, float)
    top = terms.max(initial=-np.inf)
    return top if top == -np.inf else top + np.log(np.exp(terms - top).sum())


class Paths:
    """All paths of one sequence under a chain, and their scores."""

    def __init__(self, chain, scores, edges=None, offsets=None):
        self.start, self.transitions, self.end = chain.start, chain.transitions, chain.end
        self.scores, self.edges, self.offsets = scores, edges, offsets
        (self.T, self.K), self.order = scores.shape, chain.transitions.ndim - 1
        self.paths = list(itertools.product(range(self.K), repeat=self.T))
        self.values = np.array([self.value(path) for path in self.paths])

    def history(self, path, t):
        """The labels that the label t of a path follows, as indices of a table."""
        if self.order == 1:
            return (path[t - 1],)
        return (path[t - 2] if t > 1 else self.K, path[t - 1])

    def value(self, path):
        """s(y), term by term; −inf if any of them is."""
        terms = [self.scores[t, label] for t, label in enumerate(path)]
        if self.T:
            terms += [self.start[path[0]], self.end[self.history(path, self.T)]]
        for t in range(1, self.T):
            terms.append(self.transitions[(*self.history(path, t), path[t])])
            if self.edges is not None:
                terms.append(self.edges[t, path[t - 1], path[t]])
            if self.offsets is not None:
                terms.append(self.offsets[(t, *self.history(path, t))])
        return sum(terms, 0.0)

    @property
    def log_z(self):
        return log_sum(self.values)

    @property
    def proba(self):
        """p(y) of every path."""
        return np.exp(self.values - self.log_z)

    def expected(self):
        """p(y_t = k) [T, K], and the expected counts of starts, transitions and ends."""
        tokens, start = np.zeros((self.T, self.K)), np.zeros(self.start.shape)
        transitions, end = np.zeros(self.transitions.shape), np.zeros(self.end.shape)
        for path, p in zip(self.paths, self.proba, strict=True):
            for t, label in enumerate(path):
                tokens[t, label] += p
                if t == 0:
                    start[label] += p
                else:
                    transitions[(*self.history(path, t), label)] += p
            if self.T:
                end[self.history(path, self.T)] += p
        return tokens, start, transitions, end

    def best(self, n=1):
        """The values of the n best possible paths, best first."""
        values = np.sort(self.values)[::-1][:n]
        return values[values > -np.inf]


def forward_backward(chain, scores):
    """Marginals and log Z of a long sequence by the recurrences of order 1, in logarithms."""
    T = len(scores)
    alpha, beta = np.empty(scores.shape), np.empty(scores.shape)
    alpha[0], beta[-1] = chain.start + scores[0], chain.end
    for t in range(1, T):
        alpha[t] = scores[t] + _columns(alpha[t - 1][:, None] + chain.transitions)
    for t in reversed(range(T - 1)):
        beta[t] = _columns((beta[t + 1] + scores[t + 1])[:, None] + chain.transitions.T)
    log_z = log_sum(alpha[-1] + beta[-1])
    p = np.exp(alpha + beta - log_z)
    return p / p.sum(axis=1, keepdims=True), log_z  # α and β of a long chain have lost digits


def _columns(terms):
    """log Σ exp of each column, one of whose terms is finite."""
    top = terms.max(axis=0)
    return top + np.log(np.exp(terms - top).sum(axis=0))


def viterbi(chain, scores):
    """The score of the best path of a long sequence, by the recurrence of order 1."""
    best = chain.start + scores[0]
    for row in scores[1:]:
        best = row + (best[:, None] + chain.transitions).max(axis=0)
    return (best + chain.end).max()


class CRF:
    """Σ −log p(y|x) + c2 Σ θ² + c1 Σ |θ|, with a row of features for every path of every sequence.

    Parameters are the (feature, label) pairs, (label, label) transitions, for order 2 also the label triples, and for
    the columns `edges` of X also (label, label, feature) triples; all that were observed, or all that could be.
    X holds one dense matrix [T, V] a sequence, y one array of labels 0..K−1.
    """

    def __init__(self, X, y, n_labels, order=1, weights="observed", cutoff=1, edges=(), c1=0.0, c2=1.0):
        self.X, self.y, self.K, self.order, self.edges = X, y, n_labels, order, tuple(edges)
        self.V, self.c1, self.c2 = X[0].shape[1], c1, c2
        shapes = [(n_labels, self.V), (n_labels,) * 2]
        shapes += [(n_labels,) * 3] * (order == 2) + [(n_labels, n_labels, self.V)] * bool(self.edges)
        self.shapes, self.ends = shapes, np.cumsum([0, *map(np.prod, shapes)])
        self.n_parameters = self.ends[-1]
        self.observed = sum((self.features(x, path) for x, path in zip(X, y, strict=True)), np.zeros(self.n_parameters))
        seen = sum((self.features(x != 0, path) for x, path in zip(X, y, strict=True)), np.zeros(self.n_parameters))
        self.kept = seen >= cutoff  # tokens, whatever their values
        if weights == "dense":
            self.kept[:] = True
            self.kept[: self.ends[1]] = np.tile((np.vstack(X) != 0).sum(axis=0) >= cutoff, n_labels)
        if self.edges:
            self.kept[self.ends[-2] :].reshape(shapes[-1])[..., np.setdiff1d(np.arange(self.V), self.edges)] = False
        self.designs = [self.design(x) for x in X]

    def features(self, x, path):
        """How often each parameter counts in a path."""
        parts = [np.zeros(shape) for shape in self.shapes]
        for t, label in enumerate(path):
            parts[0][label] += x[t]
            if t > 0:
                parts[1][path[t - 1], label] += 1
            if self.order == 2 and t > 1:
                parts[2][path[t - 2], path[t - 1], label] += 1
            if self.edges and t > 0:
                parts[-1][path[t - 1], label, list(self.edges)] += x[t, list(self.edges)]
        return np.concatenate([part.ravel() for part in parts])

    def design(self, x):
        return np.array([self.features(x, path) for path in itertools.product(range(self.K), repeat=len(x))])

    def parts(self, theta):
        """The parameters as tables: of features [K, V], of transitions [K, K], and what else there is."""
        pieces = np.split(theta, self.ends[1:-1])
        return [piece.reshape(shape) for piece, shape in zip(pieces, self.shapes, strict=True)]

    def loss(self, theta):
        """Σ −log p(y|x)."""
        return sum(log_sum(design @ theta) for design in self.designs) - self.observed @ theta

    def objective(self, theta):
        return self.loss(theta) + self.c2 * (theta @ theta) + self.c1 * np.abs(theta).sum()

    def expected(self, theta):
        """Expected counts of the features, where `observed` are those that were seen."""
        return sum(self.slope(theta, s) for s in range(len(self.X))) + self.observed

    def slope(self, theta, s):
        """Expected less observed counts of one sequence."""
        scores = self.designs[s] @ theta
        return np.exp(scores - log_sum(scores)) @ self.designs[s] - self.features(self.X[s], self.y[s])

    def gradient(self, theta):
        """Of the part without c1, for the parameters that there are."""
        return np.where(self.kept, self.expected(theta) - self.observed + 2 * self.c2 * theta, 0.0)

    def optimum(self):
        """θ = u − v with u, v ≥ 0, so that c1 has a gradient; zero for the pairs that have no parameter."""
        n, kept = self.kept.sum(), self.kept

        def theta_of(uv):
            theta = np.zeros(self.n_parameters)
            theta[kept] = uv[:n] - uv[n:]
            return theta

        def both(uv):
            theta = theta_of(uv)
            value = self.loss(theta) + self.c2 * (theta @ theta) + self.c1 * uv.sum()
            slope = self.gradient(theta)[kept]
            return value, np.concatenate([slope + self.c1, self.c1 - slope])

        options = {"maxiter": 20_000, "maxfun": 50_000, "maxcor": 30, "ftol": 1e-15, "gtol": 1e-9}
        bounds = [(0, None)] * (2 * n)
        found = optimize.minimize(both, np.zeros(2 * n), jac=True, method="L-BFGS-B", bounds=bounds, options=options)
        return theta_of(found.x)


def descend(twin, orders, batch_size, solver, eta0):
    """A CRF's weights after stochastic steps over its sequences in these orders; a step is one of every weight."""
    n = len(twin.X)
    l1, l2, t = twin.c1 / n, 2 * twin.c2 / n, 0
    theta, squares = np.zeros(twin.n_parameters), np.zeros(twin.n_parameters)
    for order in orders:
        for start in range(0, n, batch_size):
            batch = order[start : start + batch_size]
            g = sum(twin.slope(theta, s) for s in batch) / len(batch) * twin.kept
            if solver == "sgd":
                eta = eta0 / (1 + eta0 * l2 * t)
                theta = (1 - eta * l2) * theta - eta * g
            else:
                squares += g * g
                h = 1e-10 + np.sqrt(squares)
                theta = h * theta - eta0 * g
                theta = np.sign(theta) * np.maximum(0, np.abs(theta) - eta0 * l1) / (h + eta0 * l2)
            t += 1
    return theta
