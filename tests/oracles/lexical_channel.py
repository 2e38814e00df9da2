"""IBM's Models 1 and 2 written out: sums over all alignments, and EM with dictionaries."""

import itertools
import math

NULL = None


def positions(source, null):
    return [NULL, *source] if null else list(source)


def joint(source, observed, alignment, t, a):
    """p(f, alignment | e, m): t(f | e) and a(i, j, n, m) are functions."""
    n, m = len(source), len(observed)
    return math.prod(a(i, j, n, m) * t(f, source[i]) for j, (f, i) in enumerate(zip(observed, alignment, strict=True)))


def alignments(source, observed):
    return itertools.product(range(len(source)), repeat=len(observed))


def proba(source, observed, t, a):
    """p(f | e, m), over all alignments."""
    return math.fsum(joint(source, observed, each, t, a) for each in alignments(source, observed))


def posteriors(source, observed, t, a):
    """p(a_j = i | e, f), [i][j]."""
    total = proba(source, observed, t, a)
    found = [[0.0] * len(observed) for _ in source]
    for each in alignments(source, observed):
        p = joint(source, observed, each, t, a)
        for j, i in enumerate(each):
            found[i][j] += p / total
    return found


def best(source, observed, t, a):
    """The highest p(f, alignment | e, m)."""
    return max(joint(source, observed, each, t, a) for each in alignments(source, observed))


class TwinEM:
    """EM with dictionaries: t[e][f] over all observed words and one more, a[n, m][j][i] or None for Model 1."""

    def __init__(self, pairs, null, alpha):
        self.pairs = [(positions(source, null), list(observed)) for source, observed in pairs]
        self.words = {word for _, observed in pairs for word in observed}
        self.alpha, self.n_words = alpha, len(self.words) + 1
        self.t = {e: dict.fromkeys(self.words, 1 / self.n_words) for source, _ in self.pairs for e in source}
        self.a = None

    def begin_model_2(self):
        shapes = {(len(source), len(observed)) for source, observed in self.pairs}
        self.a = {(n, m): [[1 / n] * n for _ in range(m)] for n, m in shapes if n}

    def position(self, i, j, n, m):
        return 1 / n if self.a is None else self.a[n, m][j][i]

    def bound(self):
        """Σ log p(f | e, m) + α Σ log t."""
        total = 0.0
        for source, observed in self.pairs:
            n, m = len(source), len(observed)
            for j, f in enumerate(observed):
                total += math.log(sum(self.position(i, j, n, m) * self.t[e][f] for i, e in enumerate(source)))
        if self.alpha:
            for row in self.t.values():
                unknown = max(1 - sum(row.values()), 1e-300)
                total += self.alpha * (sum(map(math.log, row.values())) + math.log(unknown))
        return total

    def iterate(self):
        counts = {e: dict.fromkeys(self.words, 0.0) for e in self.t}
        places = {}
        for source, observed in self.pairs:
            n, m = len(source), len(observed)
            for j, f in enumerate(observed):
                shares = [self.position(i, j, n, m) * self.t[e][f] for i, e in enumerate(source)]
                for i, (e, share) in enumerate(zip(source, shares, strict=True)):
                    counts[e][f] += share / sum(shares)
                    places[n, m, j, i] = places.get((n, m, j, i), 0.0) + share / sum(shares)
        for e, row in counts.items():
            total = sum(row.values())
            if total:
                self.t[e] = {f: (c + self.alpha) / (total + self.alpha * self.n_words) for f, c in row.items()}
        if self.a is not None:
            for (n, m), table in self.a.items():
                for j in range(m):
                    total = sum(places[n, m, j, i] for i in range(n))
                    table[j] = [places[n, m, j, i] / total for i in range(n)]
