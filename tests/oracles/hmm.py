"""The naive twin of hidden Markov models: counts token by token, probabilities from dicts, all paths one by one."""

import itertools
import math
from collections import Counter

STOP = "</s>"


def log_sum(terms):
    top = max(terms, default=-math.inf)
    return top if top == -math.inf else top + math.log(sum(math.exp(term - top) for term in terms))


def log(p):
    return math.log(p) if p > 0 else -math.inf


class Counted:
    """p(y₁) Π p(y_t | history) Π p(x_t | y_t) p(stop | history), counted from sequences of words and their labels."""

    def __init__(self, order=1, alpha=0.0, transition_alpha=0.0, start_alpha=0.0, interpolation=None, stop=True):
        self.order, self.alpha, self.beta, self.gamma = order, alpha, transition_alpha, start_alpha
        self.interpolation, self.stop = interpolation, stop
        self.emitted, self.tokens = Counter(), Counter()
        self.first, self.followed, self.histories = Counter(), Counter(), Counter()
        self.labels, self.words = set(), set()

    def count(self, X, y):
        for words, labels in zip(X, y, strict=True):
            for word, label in zip(words, labels, strict=True):
                self.emitted[label, word] += 1
                self.tokens[label] += 1
                self.labels.add(label)
                self.words.add(word)
            if labels:
                self.first[labels[0]] += 1
            for t in range(1, len(labels) + self.stop * bool(labels)):
                history = self.history(labels, t)
                outcome = labels[t] if t < len(labels) else STOP
                self.followed[history, outcome] += 1
                self.histories[history] += 1
        return self

    def history(self, labels, t):
        if self.order == 1:
            return (labels[t - 1],)
        return (labels[t - 2] if t > 1 else None, labels[t - 1])

    @property
    def outcomes(self):
        return [*sorted(self.labels), *([STOP] if self.stop else [])]

    # how often an outcome followed the last m labels

    def seen(self, last, outcome):
        found = sum(
            n
            for (history, next_), n in self.followed.items()
            if next_ == outcome and history[len(history) - len(last) :] == last
        )
        return found + (self.first[outcome] if not last else 0)

    def seen_history(self, last):
        return sum(self.seen(last, outcome) for outcome in self.outcomes)

    def lambdas(self):
        """Brants (2000), figure 1; votes for equals are shared."""
        if self.interpolation != "deleted":
            return self.interpolation
        votes = [0.0] * (self.order + 1)
        for (history, outcome), n in self.followed.items():
            says = []
            for m in range(self.order + 1):
                last = history[len(history) - m :]
                total = self.seen_history(last)
                says.append((self.seen(last, outcome) - 1) / (total - 1) if total > 1 else 0.0)
            best = [m for m, said in enumerate(says) if said == max(says)]
            for m in best:
                votes[m] += n / len(best)
        return [vote / sum(votes) for vote in votes] if sum(votes) else [1.0] + [0.0] * self.order

    def p_start(self, label):
        K, total = len(self.labels), sum(self.first.values())
        if self.interpolation is None:
            mass = total + K * self.gamma
            return (self.first[label] + self.gamma) / mass if mass else 1 / K
        unigram = (self.seen((), label) + self.gamma) / (sum(self.seen((), k) for k in self.labels) + K * self.gamma)
        lowest = self.lambdas()[0]
        return lowest * unigram + (1 - lowest) * self.first[label] / total

    def p_next(self, history, outcome):
        M = len(self.outcomes)
        if self.interpolation is None:
            mass = self.histories[history] + M * self.beta
            return (self.followed[history, outcome] + self.beta) / mass if mass else 1 / M
        lambdas = self.lambdas()
        lowest = (self.seen((), outcome) + self.beta) / (self.seen_history(()) + M * self.beta)
        p, mass = lambdas[0] * lowest, lambdas[0]
        for m in range(1, self.order + 1):
            last = history[len(history) - m :]
            if total := self.seen_history(last):
                p += lambdas[m] * self.seen(last, outcome) / total
                mass += lambdas[m]
        return p / mass if mass else lowest

    def p_word(self, label, word):
        """With one more word, that was never seen, in the vocabulary."""
        mass = self.tokens[label] + self.alpha * (len(self.words) + 1)
        return (self.emitted[label, word] + self.alpha) / mass if mass else 1 / len(self.words)

    # paths

    def log_joint(self, words, labels):
        if not words:
            return 0.0
        terms = [log(self.p_start(labels[0]))]
        terms += [log(self.p_word(label, word)) for word, label in zip(words, labels, strict=True)]
        for t in range(1, len(words) + self.stop):
            terms.append(log(self.p_next(self.history(labels, t), labels[t] if t < len(labels) else STOP)))
        return sum(terms)

    def paths(self, words):
        """log p(x, y) of every y."""
        return {y: self.log_joint(words, y) for y in itertools.product(sorted(self.labels), repeat=len(words))}


class Suffixes:
    """Brants (2000), equations 7–10: p(label | the end of a word), from words that are rare, capitals apart."""

    def __init__(self, X, y, rare=10, longest=10):
        times = Counter(word for words in X for word in words)
        self.pairs = [
            (word, label)
            for words, labels in zip(X, y, strict=True)
            for word, label in zip(words, labels, strict=True)
            if times[word] <= rare
        ]
        prior = Counter(label for labels in y for label in labels)
        total = sum(prior.values())
        self.prior = {label: n / total for label, n in sorted(prior.items())}
        mean = 1 / len(self.prior)
        spread = sum((p - mean) ** 2 for p in self.prior.values())
        self.theta = math.sqrt(spread / (len(self.prior) - 1)) if len(self.prior) > 1 else 0.0
        self.once = max(1, sum(n == 1 for n in times.values()))
        self.tokens = prior
        self.longest = longest

    def mix(self, pairs, below):
        if not pairs:
            return below
        shares = Counter(label for _, label in pairs)
        return {k: (shares[k] / len(pairs) + self.theta * below[k]) / (1 + self.theta) for k in below}

    def guess(self, word):
        alike = [(w, k) for w, k in self.pairs if w[:1].isupper() == word[:1].isupper()]
        found = self.mix(alike, self.prior)
        for length in range(1, min(len(word), self.longest) + 1):
            found = self.mix([(w, k) for w, k in alike if len(w) >= length and w[-length:] == word[-length:]], found)
        return found

    def p_word(self, label, word):
        """Of a word that was never seen."""
        return self.once * self.guess(word)[label] / self.mass(label)

    def mass(self, label):
        return self.tokens[label] + self.once * self.mix(self.pairs, self.prior)[label]


class BaumWelch:
    """EM over all paths of sequences, from tables of probabilities: one iteration at a time.

    `start` [K], `steps` [K, K], `ends` [K] or None and `emit` [K][word] are lists; a known label of a token clamps it.
    """

    def __init__(self, X, start, steps, ends, emit, alpha=0.0, transition_alpha=0.0, start_alpha=0.0, y=None):
        self.X, self.start, self.steps, self.ends, self.emit = X, start, steps, ends, emit
        self.alpha, self.beta, self.gamma = alpha, transition_alpha, start_alpha
        self.y = y or [[None] * len(words) for words in X]
        self.K, self.V = len(start), len(emit[0])

    def iterate(self):
        """Returns Σ log p(x) and the log prior of the parameters as they were."""
        K, V, likelihood = self.K, self.V, 0.0
        first, moves, stops = [self.gamma] * K, [[self.beta] * K for _ in range(K)], [self.beta] * K
        emitted = [[self.alpha] * V for _ in range(K)]
        prior = self.gamma * sum(map(log, self.start)) if self.gamma else 0.0
        if self.beta:
            prior += self.beta * sum(log(p) for row in self.steps for p in row)
            prior += self.beta * sum(map(log, self.ends or []))
        if self.alpha:
            prior += self.alpha * sum(log(p) for row in self.emit for p in row)
        for words, known in zip(self.X, self.y, strict=True):
            if not words:
                continue
            paths = {}
            for path in itertools.product(range(K), repeat=len(words)):
                if any(k is not None and k != own for k, own in zip(known, path, strict=True)):
                    continue
                p = self.start[path[0]] * (self.ends[path[-1]] if self.ends else 1)
                p *= math.prod(self.steps[a][b] for a, b in itertools.pairwise(path))
                paths[path] = p * math.prod(self.emit[k][w] for k, w in zip(path, words, strict=True))
            total = sum(paths.values())
            likelihood += log(total)
            for path, p in paths.items():
                first[path[0]] += p / total
                stops[path[-1]] += p / total
                for a, b in itertools.pairwise(path):
                    moves[a][b] += p / total
                for k, w in zip(path, words, strict=True):
                    emitted[k][w] += p / total
        self.start = [n / sum(first) for n in first]
        masses = [sum(row) + (stop if self.ends else 0) for row, stop in zip(moves, stops, strict=True)]
        self.steps = [[n / mass for n in row] for row, mass in zip(moves, masses, strict=True)]
        self.ends = [stop / mass for stop, mass in zip(stops, masses, strict=True)] if self.ends else None
        self.emit = [[n / sum(row) for n in row] for row in emitted]
        return likelihood + prior
