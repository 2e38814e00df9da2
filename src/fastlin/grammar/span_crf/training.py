"""What a SpanCRF learns from: sentences with their derivations, and what weights do wrong on each of them."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fastlin.engine.chart.cky import ViterbiParser
from fastlin.grammar.binarize import Derivation
from fastlin.grammar.rules import RuleTable
from fastlin.grammar.span_crf.scores import (
    SpanScores,
    SumParser,
    Weights,
    WeightShapes,
    chart_rules,
    count_derivation,
    gather,
    score,
    score_derivation,
)
from fastlin.grammar.span_crf.sentences import DerivationPlaces, Places, SentenceFeatures
from fastlin.runtime.parallel import WorkerPool

Floats = NDArray[np.float64]
LookUp = Callable[[SentenceFeatures], Weights]  # the weights of a sentence's own columns


@dataclass(frozen=True)
class Residual:
    """The loss of a sentence, and its derivatives by the weights of its own columns."""

    loss: float
    slopes: Weights
    wrong: bool = True


@dataclass(frozen=True)
class TrainingTrees:
    """Sentences and the weights that their trees have."""

    rules: RuleTable
    label: NDArray[np.int32]
    shapes: WeightShapes
    sentences: list[SentenceFeatures]
    gold: list[Places]
    _idle: deque[SumParser] = field(default_factory=deque)

    def __len__(self) -> int:
        return len(self.sentences)

    def observed(self) -> Floats:
        """How often the trees have what each weight belongs to."""
        found = np.zeros(self.shapes.size)
        counts = self.shapes.split(found)
        for sentence, places in zip(self.sentences, self.gold, strict=True):
            n_words = sentence.n_words
            of_spans = n_words * (n_words + 1) // 2, self.shapes.spans[1]
            sizes = (*self.shapes[:3], (n_words, self.shapes.tags[1]), of_spans)
            own = Weights(*(np.zeros(size) for size in sizes))
            count_derivation(own, places, 1.0)
            add_slopes(counts, sentence, _of_columns(sentence, own), 1.0)
        return found

    def residuals(
        self, chosen: Sequence[int], work: Callable[[int, LookUp], Residual], look_up: LookUp, workers: WorkerPool
    ) -> Iterator[tuple[SentenceFeatures, Residual]]:
        """What the same weights do on each of some sentences, in their order."""
        found = workers.map(lambda number: work(number, look_up), [(number,) for number in chosen])
        return zip((self.sentences[number] for number in chosen), found, strict=True)

    def log_loss(self, number: int, look_up: LookUp) -> Residual:
        """−log p(tree | words), and expected less observed counts."""
        sentence, places = self.sentences[number], self.gold[number]
        weights = look_up(sentence)
        scores = score(sentence, weights.tags, weights.spans)
        parser = self._parser()
        parser.bind(weights)
        loss = parser.log_sum(sentence, scores) - score_derivation(places, weights, scores)
        if not np.isfinite(loss):
            return Residual(np.inf, weights)
        counts = parser.expect(sentence, scores)
        self._idle.append(parser)
        count_derivation(counts, places, -1.0)
        return Residual(loss, _of_columns(sentence, counts))

    def _parser(self) -> SumParser:
        """A parser that nobody uses."""
        try:
            return self._idle.pop()
        except IndexError:
            return SumParser(self.rules, self.label)

    def perceptron_loss(self, number: int, look_up: LookUp) -> Residual:
        """How much better the best tree is than the right one, and the counts of the one less those of the other."""
        sentence, places = self.sentences[number], self.gold[number]
        weights = look_up(sentence)
        scores = score(sentence, weights.tags, weights.spans)
        steps = best_derivation(self.rules, self.label, weights, sentence, scores)
        found = None if steps is None else DerivationPlaces(self.rules, self.label).of(steps)
        assert found is not None, "the right tree is one of those there are"
        loss = score_derivation(found, weights, scores) - score_derivation(places, weights, scores)
        counts = Weights(*(np.zeros_like(part) for part in (*weights[:3], *scores)))
        count_derivation(counts, found, 1.0)
        count_derivation(counts, places, -1.0)
        return Residual(loss, _of_columns(sentence, counts), any(part.any() for part in counts))


def _of_columns(sentence: SentenceFeatures, counts: Weights) -> Weights:
    """Counts of words and spans as counts of columns."""
    tags, spans = gather(sentence, SpanScores(counts.tags, counts.spans))
    return counts._replace(tags=tags, spans=spans)


def add_slopes(weights: Weights, sentence: SentenceFeatures, slopes: Weights, times: float) -> None:
    """Add to all weights what there is of a sentence's."""
    for part, slope in zip(weights[:3], slopes[:3], strict=True):
        part += times * slope
    weights.tags[sentence.tag_columns] += times * slopes.tags
    weights.spans[sentence.span_columns] += times * slopes.spans


def own_weights(weights: Weights, sentence: SentenceFeatures) -> Weights:
    """The weights of a sentence's own columns."""
    return weights._replace(tags=weights.tags[sentence.tag_columns], spans=weights.spans[sentence.span_columns])


def best_derivation(
    rules: RuleTable, label: NDArray[np.int32], weights: Weights, sentence: SentenceFeatures, scores: SpanScores
) -> Derivation | None:
    """The derivation of a sentence whose score is highest, without its words; None: there is none."""
    parser = ViterbiParser(chart_rules(rules, label, weights.binary, weights.unary))
    tags = scores.tags[sentence.tag_words, sentence.tag_place]
    parser.fill(sentence.tag_start, rules.tags[sentence.tag_place], tags, scores.spans)
    return best_of(parser, rules, weights.roots, sentence.n_words)


def best_of(parser: ViterbiParser, rules: RuleTable, roots: Floats, n_words: int) -> Derivation | None:
    """The best derivation in a chart that is filled, without its words; None: there is none."""
    of_roots = [parser.score(root, 0, n_words) for root in rules.roots.tolist()] + roots
    best = int(np.argmax(of_roots))
    if of_roots[best] == -np.inf:
        return None
    return Derivation(*parser.best(int(rules.roots[best])), [""] * n_words)
