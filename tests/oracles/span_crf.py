"""A SpanCRF by enumeration: every derivation of a sentence with its score, and learners that look at every weight."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from fastlin.grammar.binarize import BINARY, LEXICAL, UNARY, Derivation


class Scored(NamedTuple):
    """A derivation, of chains, in preorder; its score, and the (symbol, first word, the one after the last) in it."""

    score: float
    symbols: tuple[int, ...]
    kinds: tuple[int, ...]
    spans: tuple[tuple[int, int, int], ...]


def derivations(grammar, weights, sentence, scores, words) -> Iterator[Scored]:
    """All derivations: a tag or two children make a symbol, and at most one unary step is above it."""
    rules = grammar.rules

    def span_score(symbol, i, j):
        column = grammar.columns[symbol]
        return scores.spans[j * (j - 1) // 2 + i, column] if column >= 0 else 0.0

    def lowest(i, j):
        if j == i + 1:
            for place in sentence.tag_place[sentence.tag_start[i] : sentence.tag_start[j]]:
                tag = int(rules.tags[place])
                yield Scored(scores.tags[i, place] + span_score(tag, i, j), (tag,), (LEXICAL,), ((tag, i, j),))
        for k in range(i + 1, j):
            lefts, rights = list(whole(i, k)), list(whole(k, j))
            for (parent, left, right), weight in zip(rules.binary.tolist(), weights.binary, strict=True):
                for one in lefts:
                    for other in rights:
                        if (one.symbols[0], other.symbols[0]) == (left, right):
                            yield Scored(
                                weight + one.score + other.score + span_score(parent, i, j),
                                (parent, *one.symbols, *other.symbols),
                                (BINARY, *one.kinds, *other.kinds),
                                ((parent, i, j), *one.spans, *other.spans),
                            )

    def whole(i, j):
        for below in lowest(i, j):
            yield below
            for (parent, child), weight in zip(rules.unary.tolist(), weights.unary, strict=True):
                if child == below.symbols[0]:
                    yield Scored(
                        weight + below.score + span_score(parent, i, j),
                        (parent, *below.symbols),
                        (UNARY, *below.kinds),
                        ((parent, i, j), *below.spans),
                    )

    of_roots = dict(zip(rules.roots.tolist(), weights.roots, strict=True))
    for found in whole(0, len(words)):
        if found.symbols[0] in of_roots:
            yield found._replace(score=found.score + of_roots[found.symbols[0]])


def as_steps(found: Scored, words) -> Derivation:
    return Derivation(list(found.symbols), list(found.kinds), list(words))


def adagrad(slope_of, n_weights, orders, eta0, c2):
    """Dual averages, every weight made anew before each sentence; `slope_of(number, θ)` is the gradient of its loss."""
    n_sentences, t = len(orders[0]), 0
    sums, squares = np.zeros(n_weights), np.zeros(n_weights)

    def theta():
        return -eta0 * sums / (np.sqrt(squares) + eta0 * 2 * c2 / n_sentences * t + 1e-10)

    for order in orders:
        for number in order:
            slope = slope_of(number, theta())
            sums += slope
            squares += slope**2
            t += 1
    return theta()


def averaged_perceptron(slope_of, n_weights, orders):
    """The mean of θ after each sentence, all of them kept."""
    theta, passed = np.zeros(n_weights), []
    for order in orders:
        for number in order:
            theta = theta - slope_of(number, theta)
            passed.append(theta)
    return np.mean(passed, axis=0)
