"""What a SpanCRF has learnt, and how it is learnt from trees but for the weights."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.grammar.binarize import Binarizer, Symbol
from fastlin.grammar.charts import check_size
from fastlin.grammar.rules import RuleCounter, RuleTable
from fastlin.grammar.span_crf.chains import CollapsedChains
from fastlin.grammar.span_crf.features import Numbering, names_of
from fastlin.grammar.span_crf.scores import Weights, WeightShapes
from fastlin.grammar.span_crf.sentences import DerivationPlaces, FeatureReader, Places
from fastlin.grammar.span_crf.training import TrainingTrees
from fastlin.grammar.span_crf.words import TreebankWords
from fastlin.grammar.tree_form import TreeForm
from fastlin.grammar.trees import Tree
from fastlin.runtime.made_once import FieldsOnly, made_once

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class SpanGrammar(FieldsOnly):
    """Rules, whose symbols are chains, and the features that have weights.

    `rules.symbols` are the uppermost symbols of the chains; those of one symbol come first.
    """

    rules: RuleTable
    chains: CollapsedChains
    unary_counts: Floats  # how often the trees had each unary step
    reader: FeatureReader
    flat: tuple[str, ...]  # labels above the tags of a sentence that has no tree, from above

    @property
    def symbols(self) -> tuple[Symbol, ...]:
        """Those of chains of one symbol."""
        return self.rules.symbols[: self.chains.n_symbols]

    @made_once
    def columns(self) -> NDArray[np.int32]:
        """The column of what a span is worth to each symbol: one for all that have the same labels, −1 for none.

        Labels of the left sides of rules have one; constituents and what is still to come of them differ.
        """
        found = np.full(len(self.rules.symbols), -1, np.int32)
        places: dict[tuple[tuple[str | None, bool], ...], int] = {}
        for symbol in sorted({*self.rules.binary[:, 0].tolist(), *self.rules.unary[:, 0].tolist()}):
            parts = (self.rules.symbols[part] for part in self.chains.symbols(symbol))
            name = tuple((part.label, part.before is not None) for part in parts)
            found[symbol] = places.setdefault(name, len(places))
        return found

    @made_once
    def shapes(self) -> WeightShapes:
        """The shapes of the weights."""
        rules, reader = self.rules, self.reader
        return WeightShapes(
            (len(rules.binary),), (len(rules.unary),), (len(rules.roots),),
            (len(reader.tag_features), len(rules.tags)),
            (len(reader.span_features), int(self.columns.max(initial=-1)) + 1),
        )  # fmt: skip

    @made_once
    def places(self) -> DerivationPlaces:
        return DerivationPlaces(self.rules, self.columns)

    @made_once
    def labels(self) -> list[str]:
        """The labels of constituents and tags."""
        return sorted({symbol.label for symbol in self.symbols if symbol.label is not None})

    @made_once
    def label_places(self) -> dict[str, int]:
        return {label: place for place, label in enumerate(self.labels)}

    @made_once
    def labels_of_columns(self) -> Floats:
        """How often each label is in the symbols of each column, [columns, labels]."""
        found = np.zeros((self.shapes.spans[1], len(self.labels)))
        for symbol in np.flatnonzero(self.columns >= 0).tolist():
            row = found[self.columns[symbol]]
            row[:] = 0
            for part in self.chains.symbols(symbol):
                if self.symbols[part].before is None:
                    row[self.label_places[self.symbols[part].label or ""]] += 1
        return found

    @made_once
    def labels_of_tags(self) -> NDArray[np.int64]:
        """The label of each tag that is nothing but a tag; −1: a column has it, or it is a word among constituents."""
        return np.array(
            [
                self.label_places.get(self.symbols[tag].label or "", -1) if self.columns[tag] < 0 else -1
                for tag in self.rules.tags.tolist()
            ],
            np.int64,
        )

    @made_once
    def tag_labels(self) -> NDArray[np.bool_]:
        """Which labels stand over words."""
        names = {self.symbols[tag].label for tag in self.rules.tags}
        return np.array([label in names for label in self.labels], bool)

    @made_once
    def root_labels(self) -> list[str]:
        """The labels of whole sentences."""
        return [self.rules.symbols[root].label or "" for root in self.rules.roots.tolist()]

    @made_once
    def above(self) -> dict[tuple[int, int], float]:
        """How often each label stood right above each other one."""
        found: dict[tuple[int, int], float] = {}
        for rule, count in zip(self.rules.unary.tolist(), self.unary_counts.tolist(), strict=True):
            parts = [self.symbols[part] for number in rule for part in self.chains.symbols(number)]
            names = [self.label_places[part.label] for part in parts if part.label is not None]
            for pair in pairwise(names):
                found[pair] = found.get(pair, 0.0) + count
        return found


@dataclass(frozen=True)
class SpanState:
    """A grammar and its weights."""

    grammar: SpanGrammar
    theta: Floats
    form: TreeForm

    @property
    def weights(self) -> Weights:
        return self.grammar.shapes.split(self.theta)

    @property
    def rules(self) -> RuleTable:
        return self.grammar.rules

    @property
    def rule_weights(self) -> tuple[Floats, Floats]:
        return self.weights.binary, self.weights.unary

    @property
    def words(self) -> list[str]:
        return list(self.grammar.reader.words.counts)

    @property
    def n_chart_symbols(self) -> int:
        return n_chart_symbols(self.rules)


def learn_grammar(
    trees: Sequence[Tree], binarizer: Binarizer, min_count: int, rare_count: int, known_count: int, max_bytes: int
) -> tuple[SpanGrammar, TrainingTrees]:
    """The grammar of trees, and these as it reads them, if their charts take no more than so many bytes."""
    plain = [binarizer.derive(tree) for tree in trees]
    chains = CollapsedChains.of(plain, len(binarizer.places))
    derivations = [chains.collapse(steps) for steps in plain]
    counter = RuleCounter()
    for steps in derivations:
        counter.add(steps)
    symbols = binarizer.symbols
    rules, counts, seen = counter.result([symbols[chains.symbols(number)[0]] for number in range(len(chains))])
    sentences = [steps.words for steps in derivations]
    for words in sentences:
        check_size(len(words), n_chart_symbols(rules), max_bytes, 2)
    place = {tag: number for number, tag in enumerate(rules.tags.tolist())}
    of_words = {word: {place[tag]: count for tag, count in tags.items()} for word, tags in seen.items()}
    known = TreebankWords(of_words, [rules.symbols[tag].label for tag in rules.tags], rare_count, known_count)
    nothing = FeatureReader(known, Numbering(np.empty(0, np.uint64)), Numbering(np.empty(0, np.uint64)))
    flat = _most_common(map(Tree.top_labels, trees))
    draft = SpanGrammar(rules, chains, counts.unary, nothing, flat)
    gold = [found for found in map(draft.places.of, derivations) if found is not None]
    reader = FeatureReader(known, *number_features(known, sentences, gold, min_count))
    grammar = SpanGrammar(rules, chains, counts.unary, reader, flat)
    return grammar, TrainingTrees(rules, grammar.columns, grammar.shapes, [reader(words) for words in sentences], gold)


def n_chart_symbols(rules: RuleTable) -> int:
    """The symbols of a chart as large as a SpanCRF's: spans have scores besides."""
    return 2 * len(rules.symbols)


def number_features(
    words: TreebankWords, sentences: Sequence[Sequence[str]], gold: Sequence[Places], min_count: int
) -> tuple[Numbering, Numbering]:
    """Features of words, and those of spans, that the trees have often enough."""
    of_tags, of_spans = list[NDArray[Any]](), list[NDArray[Any]]()
    for sentence, places in zip(sentences, gold, strict=True):
        names = names_of(words.columns(sentence))
        spans = places.spans[0]
        last = ((np.sqrt(8 * spans + 1) - 1) // 2).astype(np.int64)
        of_tags.append(names.tags.reshape(-1))
        of_spans += [
            names.left[spans - last * (last + 1) // 2].reshape(-1), names.right[last].reshape(-1),
            names.joint[spans].reshape(-1),
        ]  # fmt: skip
    numberings = []
    for names_seen in (of_tags, of_spans):
        known, counts = np.unique(np.concatenate(names_seen), return_counts=True)
        numberings.append(Numbering(known[counts >= min_count]))
    return numberings[0], numberings[1]


def _most_common(tops: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    counts: dict[tuple[str, ...], int] = {}
    for top in tops:
        counts[top] = counts.get(top, 0) + 1
    return max(counts, key=counts.__getitem__)
