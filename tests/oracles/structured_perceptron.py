"""The naive twin of online learners of sequences: every path, every weight, every average."""

import itertools

import numpy as np


class Perceptron:
    """One eager step after the other, on dense [T, V] matrices and codes; `theta` is one vector of all weights.

    `closest` is the smallest distance between the two best paths that were compared, or from a decision not to take a
    step: a test whose data come closer than rounding may take another turn than the engine, and proves nothing.
    """

    def __init__(
        self, n_features, n_labels, *, order=1, loss="perceptron", C=1.0, n_best=1, beam_width=None, kept=None
    ):  # fmt: skip
        self.shapes = [(n_labels, n_features), (n_labels,) * 2] + [(n_labels,) * 3] * (order == 2)
        self.ends = np.cumsum([np.prod(shape) for shape in self.shapes])
        self.K, self.order, self.loss, self.C, self.n_best = n_labels, order, loss, C, n_best
        self.beam_width = None if beam_width is None or beam_width >= n_labels**order else beam_width
        self.theta = np.zeros(self.ends[-1])
        self.kept = np.ones(self.ends[-1], bool) if kept is None else kept
        self.sum, self.t, self.closest = np.zeros(self.ends[-1]), 0, np.inf
        self.updates = self.wrong = 0

    def features(self, x, path):
        """f(x, y) of the weights that there are."""
        parts = [np.zeros(shape) for shape in self.shapes]
        for t, label in enumerate(path):
            parts[0][label] += x[t]
            if t > 0:
                parts[1][path[t - 1], label] += 1
            if t > 1 and self.order == 2:
                parts[2][path[t - 2], path[t - 1], label] += 1
        return np.concatenate([part.ravel() for part in parts]) * self.kept

    def ranked(self, x):
        """All paths, the best first; among equals the one whose last label is the lowest, then the last but one."""
        paths = list(itertools.product(range(self.K), repeat=len(x)))
        values = [float(self.features(x, path) @ self.theta) for path in paths]
        order = sorted(range(len(paths)), key=lambda place: (-values[place], paths[place][::-1]))
        return [paths[place] for place in order], [values[place] for place in order]

    def searched(self, x, y):
        """The best path that a beam finds, as far as the right one stays in it."""
        beam = [()]
        for t in range(len(x)):
            best = {}  # of the paths to the same state the best, and the one that came first
            for path in beam:
                for label in range(self.K):
                    longer = (*path, label)
                    value, state = float(self.features(x, longer) @ self.theta), longer[-self.order :]
                    if state in best:
                        self.note([value - best[state][0]])
                    if state not in best or value > best[state][0] + 1e-12:
                        best[state] = value, longer
            self.note(np.diff(sorted(value for value, _ in best.values())))
            ranked = sorted(best, key=lambda state: (-round(best[state][0], 9), state))
            beam = [best[state][1] for state in sorted(ranked[: self.beam_width])]
            if y[: t + 1] not in beam:
                break
        return max(beam, key=lambda path: (round(float(self.features(x, path) @ self.theta), 9), -path[-1]))

    def note(self, gaps):
        """How far apart are scores that are compared."""
        exact = self.loss == "perceptron" or not self.theta.any()  # sums of whole numbers: there ties are ties
        self.closest = min([self.closest, *(abs(gap) for gap in gaps if gap != 0 or not exact)])

    def learn(self, x, y, weight=1.0):
        """One sequence."""
        if not len(x):
            return
        y = tuple(int(code) for code in y)
        if self.beam_width is not None:
            best = self.searched(x, y)
            x, y = x[: len(best)], y[: len(best)]
            paths, values = [best], [0.0]
        else:
            paths, values = self.ranked(x)
        self.note(np.diff(values[: self.n_best + 1]))
        best, own = paths[0], self.features(x, y)
        distances = [sum(one != other for one, other in zip(path, y, strict=True)) for path in paths]
        self.wrong += distances[0]
        if self.loss == "mira":
            rivals = [place for place in range(min(self.n_best, len(paths))) if distances[place]]
            step = self.mira(own, x, rivals, paths, distances, weight * self.C)
        elif best != y:
            delta = own - self.features(x, best)
            tau = weight
            if self.loss == "pa":
                norm = delta @ delta
                tau = min(weight * self.C, (np.sqrt(distances[0]) - self.theta @ delta) / norm) if norm else 0.0
            step = tau * delta
        else:
            step = None
        if step is not None:
            self.updates += 1
            self.theta = self.theta + step
        self.t += 1
        self.sum = self.sum + self.theta

    def mira(self, own, x, rivals, paths, distances, C):
        """The minimum of ½‖θ′ − θ‖² + C Σ max(0, d_i − θ′·Δ_i), by its dual."""
        if not rivals:
            return None
        deltas = np.array([own - self.features(x, paths[place]) for place in rivals])
        losses = np.array([distances[place] for place in rivals]) - deltas @ self.theta
        self.closest = min(self.closest, np.abs(losses).min())
        if (losses <= 0).all():
            return None
        G, alpha = deltas @ deltas.T, np.zeros(len(losses))
        for _ in range(100_000):
            before = alpha.copy()
            for i in np.flatnonzero(np.diag(G)):
                alpha[i] = min(max(alpha[i] + (losses[i] - G[i] @ alpha) / G[i, i], 0.0), C)
            if np.abs(alpha - before).max() < 1e-13:
                break
        slopes = losses - G @ alpha  # proof: none is left but at a bound
        assert (slopes[(alpha < C) & (np.diag(G) > 0)] < 1e-6).all()
        assert (slopes[alpha > 0] > -1e-6).all()
        return alpha @ deltas

    def epoch(self, X, y, weights=None):
        self.updates = self.wrong = 0
        for x, codes, weight in zip(X, y, [1.0] * len(X) if weights is None else weights, strict=True):
            self.learn(x, codes, weight)
        return self

    def parts(self, theta):
        pieces = np.split(theta, self.ends[:-1])
        return [piece.reshape(shape) for piece, shape in zip(pieces, self.shapes, strict=True)]

    @property
    def average(self):
        return self.sum / self.t


def observed(X, y, n_labels, order):
    """Which weights are those of features and transitions that were seen."""
    twin = Perceptron(X[0].shape[1], n_labels, order=order)
    return sum(twin.features(x != 0, codes) for x, codes in zip(X, y, strict=True)) > 0
