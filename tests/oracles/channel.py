"""The noisy channel by enumeration: every source of an observed sentence."""

import itertools
import math


def sources(score, candidates, observed, weight=1.0):
    """(log p, words) of all sources of observed words, the most probable first.

    `score(words)` is ln p(source), `candidates(word)` are pairs (source word, ln p(observed word | source word)).
    """
    found = []
    for chosen in itertools.product(*(candidates(word) for word in observed)):
        words = [word for word, _ in chosen]
        log_prob = weight * score(words) + math.fsum(log_prob for _, log_prob in chosen)
        if log_prob > -math.inf:
            found.append((log_prob, words))
    return sorted(found, key=lambda one: -one[0])


def log_sum(values):
    """ln Σ exp of logarithms."""
    values = list(values)
    highest = max(values, default=-math.inf)
    if highest == -math.inf:
        return highest
    return highest + math.log(math.fsum(math.exp(value - highest) for value in values))


KINDS = "insert", "consume", "alone", "transpose"


class Edits:
    """The probabilities of a channel of characters, by its definition: `p` by (kind, first, second, outcome).

    Characters are strings, the one before a word "", which also stands for a stop and a deletion; the outcomes of a
    transposition are 0 and 1; the outcome None is the factor of what is not in `p`.
    """

    def __init__(self, p, rates, alphabet):
        self.p, self.rates, self.alphabet = p, rates, alphabet

    @classmethod
    def of(cls, model):
        """Those of an `EditModel`."""
        letters = ["", *(chr(point) for point in model.alphabet.tolist()), None]
        N, p = len(letters), {}
        for key, value in zip(model.keys.tolist(), model.p.tolist(), strict=True):
            rest, outcome = divmod(key, N)
            rest, second = divmod(rest, N)
            kind, first = divmod(rest, N)
            name = KINDS[kind]
            came = outcome if name == "transpose" else letters[outcome]
            p[name, letters[first], letters[second], came] = value
        return cls(p, model.rates, set(letters[1:-1]))

    def spread(self, b):
        """The share of a character among all; those that were never seen are together as one that was."""
        V = len(self.alphabet)
        return 1 / (V + 1) if b in self.alphabet else 1 / (V + 1) / (0x110000 - V)

    def insert(self, c, b):
        """p(b | c), p(stop | c)."""
        rates = self.rates
        base = rates.insertion * self.spread(b) if b else 1 - rates.insertion
        return self.p.get(("insert", "", c, b), self.p.get(("insert", "", c, None), 1.0) * base)

    def consume(self, c, a, b):
        """p(b | c, a), p(delete | c, a)."""
        rates = self.rates
        if b == a:
            base = 1 - rates.deletion - rates.substitution
        else:
            base = rates.substitution * self.spread(b) / (1 - self.spread(a)) if b else rates.deletion
        alone = self.p.get(("alone", "", a, b), self.p.get(("alone", "", a, None), 1.0) * base)
        return self.p.get(("consume", c, a, b), self.p.get(("consume", c, a, None), 1.0) * alone)

    def transpose(self, x, i):
        """p(transpose) of the characters i and i + 1 of a word."""
        if i + 1 >= len(x) or x[i] == x[i + 1]:
            return 0.0
        return self.p.get(("transpose", x[i], x[i + 1], 1), self.rates.transposition)

    def alignments(self, x, y, i=0, j=0):
        """(p, parts, events) of every way from a source word to an observed one."""
        c = x[i - 1] if i else ""
        stop = self.insert(c, "")
        if j < len(y):
            yield from self._with(self.insert(c, y[j]), ("", y[j]), [("insert", "", c, y[j])], x, y, i, j + 1)
        if i == len(x):
            if j == len(y):
                yield stop, [], [("insert", "", c, "")]
            return
        swap = self.transpose(x, i)
        stopped = [("insert", "", c, "")]
        kept = [*stopped, ("transpose", x[i], x[i + 1], 0)] if swap else stopped
        taken = stop * (1 - swap)
        if j < len(y):
            p = taken * self.consume(c, x[i], y[j])
            yield from self._with(p, (x[i], y[j]), [*kept, ("consume", c, x[i], y[j])], x, y, i + 1, j + 1)
        p = taken * self.consume(c, x[i], "")
        yield from self._with(p, (x[i], ""), [*kept, ("consume", c, x[i], "")], x, y, i + 1, j)
        if swap and y[j : j + 2] == x[i + 1] + x[i]:
            events = [*stopped, ("transpose", x[i], x[i + 1], 1)]
            yield from self._with(stop * swap, (x[i : i + 2], y[j : j + 2]), events, x, y, i + 2, j + 2)

    def _with(self, p, part, events, x, y, i, j):
        for rest, parts, more in self.alignments(x, y, i, j):
            yield p * rest, [part, *parts], [*events, *more]

    def log_proba(self, x, y):
        """ln of the sum over all alignments, cell by cell, for words of any length."""
        ln, before = math.log, {}
        for i, j in itertools.product(range(len(x) + 1), range(len(y) + 1)):
            ways = [0.0] if i == j == 0 else []
            if j:
                ways.append(before[i, j - 1] + ln(self.insert(x[i - 1] if i else "", y[j - 1])))
            if i:
                ways.append(before[i - 1, j] + self._ln_taken(x, i - 1) + ln(self._came(x, i - 1, "")))
            if i and j:
                ways.append(before[i - 1, j - 1] + self._ln_taken(x, i - 1) + ln(self._came(x, i - 1, y[j - 1])))
            if i > 1 and y[max(j - 2, 0) : j] == x[i - 1] + x[i - 2] and self.transpose(x, i - 2):
                swap = ln(self.insert(x[i - 3] if i > 2 else "", "")) + ln(self.transpose(x, i - 2))
                ways.append(before[i - 2, j - 2] + swap)
            before[i, j] = log_sum(ways)
        return before[len(x), len(y)] + ln(self.insert(x[-1:], ""))

    def _ln_taken(self, x, i):
        return math.log(self.insert(x[i - 1] if i else "", "")) + math.log1p(-self.transpose(x, i))

    def _came(self, x, i, b):
        return self.consume(x[i - 1] if i else "", x[i], b)
