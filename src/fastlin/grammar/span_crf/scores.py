"""Weights of a SpanCRF, what they say of a sentence, and how often each is expected in its derivations.

    s(x, d) = Σ θ of the rules, the chains and the root of d + Σ_words θ_tag·f(word) + Σ_spans θ_label·f(span)

A flat θ holds weights of binary rules, of chains, of roots, of (feature, tag) and of (feature, label) pairs.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastlin.engine.chart import span_features
from fastlin.engine.chart.chart_rules import ChainTable, ChartRules
from fastlin.engine.chart.inside_outside import InsideOutside
from fastlin.grammar.rules import RuleTable, children_index
from fastlin.grammar.span_crf.sentences import Places, SentenceFeatures

Floats = NDArray[np.float64]
LARGEST = 150.0  # of a score in a sum: a cell multiplies four


class Weights(NamedTuple):
    """The weights of each kind, or counts of these."""

    binary: Floats
    unary: Floats
    roots: Floats
    tags: Floats  # [columns, tags], perhaps of some columns
    spans: Floats  # [columns, labels]


class WeightShapes(NamedTuple):
    """The shape of the weights of each kind."""

    binary: tuple[int, ...]
    unary: tuple[int, ...]
    roots: tuple[int, ...]
    tags: tuple[int, ...]
    spans: tuple[int, ...]

    @property
    def size(self) -> int:
        return sum(int(np.prod(shape)) for shape in self)

    def split(self, theta: Floats) -> Weights:
        """Views of a flat θ."""
        ends = np.cumsum([int(np.prod(shape)) for shape in self])[:-1]
        return Weights(*(part.reshape(shape) for part, shape in zip(np.split(theta, ends), self, strict=True)))


class SpanScores(NamedTuple):
    """What words are worth to tags, [n, tags], and spans to labels, [n(n + 1) / 2, labels]."""

    tags: Floats
    spans: Floats


def score(sentence: SentenceFeatures, tags: Floats, spans: Floats) -> SpanScores:
    """The scores of a sentence by the weights of its own columns."""
    features, n_words = sentence.features, sentence.n_words
    of_tags = np.zeros((n_words, tags.shape[1]))
    of_spans = np.zeros((n_words * (n_words + 1) // 2, spans.shape[1]))
    left, right = np.zeros((n_words, spans.shape[1])), np.zeros((n_words, spans.shape[1]))
    span_features.score_rows(features.tags, tags, of_tags)
    for columns, found in ((features.left, left), (features.right, right), (features.joint, of_spans)):
        span_features.score_rows(columns, spans, found)
    span_features.spread_ends(left, right, of_spans)
    return SpanScores(of_tags, of_spans)


def gather(sentence: SentenceFeatures, counts: SpanScores) -> tuple[Floats, Floats]:
    """The way back: counts of the sentence's own columns, from counts of tags of words and of labels of spans."""
    features, (of_tags, of_spans), n_words = sentence.features, counts, sentence.n_words
    tags = np.zeros((len(sentence.tag_columns), of_tags.shape[1]))
    spans = np.zeros((len(sentence.span_columns), of_spans.shape[1]))
    left, right = np.zeros((n_words, of_spans.shape[1])), np.zeros((n_words, of_spans.shape[1]))
    span_features.gather_ends(of_spans, left, right)
    span_features.add_rows(features.tags, of_tags, tags)
    for columns, found in ((features.left, left), (features.right, right), (features.joint, of_spans)):
        span_features.add_rows(columns, found, spans)
    return tags, spans


def count_derivation(counts: Weights, places: Places, times: float) -> None:
    """Add what a derivation has to counts of rules, of tags of words and of labels of spans."""
    for part, found in zip(counts, places, strict=True):
        np.add.at(part, found, times)


def score_derivation(places: Places, weights: Weights, scores: SpanScores) -> float:
    """s of a derivation."""
    parts = weights.binary, weights.unary, weights.roots, *scores
    return float(sum(part[found].sum() for part, found in zip(parts, places, strict=True)))


class SumParser:
    """Sums over all derivations, by weights that may change between two sentences; one thread's own."""

    def __init__(self, rules: RuleTable, label: NDArray[np.int32]) -> None:
        self._rules, n_symbols = rules, len(rules.symbols)
        self._binary, self._unary = np.ones(len(rules.binary)), np.ones(len(rules.unary))
        self._start = np.zeros(n_symbols)
        self._parser = InsideOutside(chart_rules(rules, label, self._binary, self._unary), False)

    def bind(self, weights: Weights) -> None:
        """Take the weights of rules."""
        for part, found in ((weights.binary, self._binary), (weights.unary, self._unary)):
            np.exp(np.clip(part, -LARGEST, LARGEST), out=found)
        self._start[self._rules.roots] = np.exp(np.clip(weights.roots, -LARGEST, LARGEST))

    def log_sum(self, sentence: SentenceFeatures, scores: SpanScores) -> float:
        """log Σ e^s over the derivations of a sentence; −∞: it has none."""
        tags = scores.tags[sentence.tag_words, sentence.tag_place]
        spans = np.clip(scores.spans, -LARGEST, LARGEST)
        symbols = self._rules.tags[sentence.tag_place]
        return float(self._parser.inside(sentence.tag_start, symbols, tags, spans, self._start))

    def expect(self, sentence: SentenceFeatures, scores: SpanScores) -> Weights:
        """How often each rule, each tag of a word and each label of a span is expected, of the last sum."""
        roots, of_tags = np.zeros(len(self._start)), np.zeros(len(sentence.tag_place))
        counts = Weights(
            np.zeros(len(self._binary)), np.zeros(len(self._unary)), np.empty(0), *map(np.zeros_like, scores)
        )
        self._parser.outside(1.0, counts.binary, counts.unary, of_tags, counts.spans)
        np.multiply(counts.unary, self._unary, out=counts.unary)
        self._parser.count_roots(1.0, roots)
        counts.tags[sentence.tag_words, sentence.tag_place] = of_tags
        return counts._replace(roots=roots[self._rules.roots])


def chart_rules(rules: RuleTable, label: NDArray[np.int32], binary: Floats, unary: Floats) -> ChartRules:
    """Rules with these weights, whose chains are one step."""
    above, below = rules.unary.T
    start = np.searchsorted(below, np.arange(len(rules.symbols) + 1)).astype(np.int64)
    chains = ChainTable(start, np.ascontiguousarray(above), unary)
    return ChartRules(*children_index(rules), binary, chains, label)
