"""The naive twin of fastlin.lm: dictionaries of tuples, and the formulas as the papers have them."""

import math
from collections import Counter, defaultdict

BEGIN, END, UNK = "<s>", "</s>", "<unk>"


def n_grams(sentences, order):
    """Counters of the n-grams of each order, one begin a sentence and no further padding."""
    counts = [Counter() for _ in range(order)]
    for sentence in sentences:
        words = [BEGIN, *sentence, END]
        for n in range(1, order + 1):
            counts[n - 1].update(tuple(words[i : i + n]) for i in range(len(words) - n + 1))
    return counts


def continuation_counts(counts):
    """Different words before an n-gram; of the highest order, and where a sentence begins, how often it was seen."""
    found = []
    for n, order in enumerate(counts[:-1]):
        before = Counter(longer[1:] for longer in counts[n + 1])
        found.append(Counter({gram: c if gram[0] == BEGIN else before[gram] for gram, c in order.items()}))
    return [*found, counts[-1]]


def one_discount(n):
    y = n[1] / (n[1] + 2 * n[2]) if n[1] + n[2] else 0.0
    return y if 0 < y < 1 else 0.5


def three_discounts(n, interpolate):
    y = n[1] / (n[1] + 2 * n[2]) if n[1] + n[2] else 0.0
    if n[1] and n[2] and n[3]:
        d = [j - (j + 1) * y * n[j + 1] / n[j] for j in (1, 2, 3)]
        if all(0 <= d[j - 1] <= j and (interpolate or d[j - 1] < j) for j in (1, 2, 3)):
            return d
    return [y] * 3 if 0 < y < 1 else [0.5, 1.0, 1.5]


def good_turing(n):
    """How much is taken from counts 1 … 7; none of larger ones."""
    k, taken = 7, []
    for c in range(1, k + 1):
        ratio = 0.0
        if n[c] and n[1] and (k + 1) * n[k + 1] != n[1]:
            most = (k + 1) * n[k + 1] / n[1]
            ratio = ((c + 1) * n[c + 1] / (c * n[c]) - most) / (1 - most)
        taken.append((1 - ratio) * c if 0 < ratio <= 1 else 0.0)
    return [*taken, 0.0]


class Twin:
    """p(word | history) straight from the formulas, of every smoothing but those of a base measure."""

    def __init__(self, sentences, order, smoothing, interpolate=True, discount=None, alpha=1.0):
        raw = n_grams(sentences, order)
        self.order, self.smoothing, self.alpha = order, smoothing, alpha
        self.interpolate = interpolate and smoothing != "katz"
        self.words = sorted({word for (word,) in raw[0]} - {BEGIN} | {END, UNK})
        self.counts = continuation_counts(raw) if "kneser_ney" in smoothing else raw
        self.followers = [defaultdict(dict) for _ in range(order)]
        self.taken = []
        for n, counts in enumerate(self.counts):
            if n == 0:
                counts = Counter({gram: c for gram, c in counts.items() if gram != (BEGIN,)})
            for gram, c in counts.items():
                self.followers[n][gram[:-1]][gram[-1]] = c
            n_of = Counter(counts.values())
            if smoothing == "katz":
                self.taken.append(good_turing(n_of))
            elif smoothing == "modified_kneser_ney" and discount is None:
                self.taken.append(three_discounts(n_of, interpolate))
            elif "kneser_ney" in smoothing or smoothing == "absolute_discounting":
                self.taken.append([one_discount(n_of) if discount is None else discount])
            else:
                self.taken.append([0.0])

    def p(self, word, history):
        """history: a tuple of words, the last order − 1 of which count."""
        history = tuple(history)[len(history) - min(len(history), self.order - 1) :]
        return self._p(word, history)

    def _shorter(self, word, history):
        return self._p(word, history[1:]) if history else 1 / len(self.words)

    def _p(self, word, history):
        after = self.followers[len(history)].get(history, {})
        after = {w: c for w, c in after.items() if c}
        if not after:
            return self._shorter(word, history)
        q, left = self._shares(after, len(history))
        if self.interpolate or not history:
            return q.get(word, 0.0) + left * self._shorter(word, history)
        rest = 1 - sum(self._shorter(w, history) for w in after)
        if rest <= 1e-9:
            return q.get(word, 0.0) / sum(q.values()) if word in q else self._shorter(word, history)
        return q[word] if word in q else left / rest * self._shorter(word, history)

    def _shares(self, after, n):
        taken = self.taken[n]
        d = {w: min(c, taken[min(c, len(taken)) - 1]) for w, c in after.items()}
        extra = {"witten_bell": len(after), "dirichlet": self.alpha}.get(self.smoothing, 0.0)
        total, lost = sum(after.values()), sum(d.values())
        if lost + extra < 1e-9 * (total + extra):
            extra += 1
        total += extra
        return {w: (c - d[w]) / total for w, c in after.items()}, (lost + extra) / total


def log_prob(twin, sentence):
    """ln p of a sentence."""
    words = [w if w in twin.words else UNK for w in sentence]
    words = [BEGIN, *words, END]
    return sum(math.log(twin.p(words[i], words[:i])) for i in range(1, len(words)))
