"""What a grammar has learnt: rules and their log p, words and their tags."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fastlin.grammar.charts import ChartGrammar, DerivationScorer
from fastlin.grammar.constraints import Given, SpanStates, restrict_tags, span_states
from fastlin.grammar.lexicon import TagScorer, TagScores
from fastlin.grammar.rules import RuleCounts, RuleTable
from fastlin.grammar.tree_form import TreeForm
from fastlin.runtime.made_once import FieldsOnly, made_once

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class GrammarState(FieldsOnly):
    """What a fit has learnt."""

    rules: RuleTable
    counts: RuleCounts
    log_weights: RuleCounts
    lexicon: TagScorer
    flat: tuple[str, ...]  # labels above the tags of a sentence that has no tree, from above
    form: TreeForm

    @property
    def rule_weights(self) -> tuple[Floats, Floats]:
        return self.log_weights.binary, self.log_weights.unary

    @property
    def words(self) -> list[str]:
        return self.lexicon.words

    @property
    def n_chart_symbols(self) -> int:
        return len(self.rules.symbols)

    @made_once
    def charts(self) -> ChartGrammar:
        return ChartGrammar(self.rules, self.log_weights)

    @made_once
    def merit(self) -> Floats:
        """log of how often each symbol was used, by which those over a span are compared."""
        left_sides = np.concatenate([self.rules.binary[:, 0], self.rules.unary[:, 0], self.rules.tags])
        used = np.bincount(left_sides, np.concatenate(self.counts[:3]), len(self.rules.symbols))
        with np.errstate(divide="ignore"):
            found: Floats = np.log(used)
        return found

    @made_once
    def scorer(self) -> DerivationScorer:
        return DerivationScorer(self.rules, self.log_weights)

    def read(self, words: Sequence[str], given: Given | None) -> tuple[TagScores, SpanStates | None]:
        """The tags of a sentence and what may stand over its spans, as charts read them."""
        tags = self.lexicon(words)
        if given is None:
            return tags, None
        if given.tags is not None:
            tags = restrict_tags(tags, given.tags, self.rules.symbols)
        return tags, span_states(len(words), given, self.charts.labels) if given.brackets else None

    @made_once
    def tag_labels(self) -> NDArray[np.bool_]:
        """Which labels stand over words."""
        names = {self.rules.symbols[tag].label for tag in self.rules.tags}
        return np.array([label in names for label in self.charts.labels], bool)

    @made_once
    def root_labels(self) -> list[str]:
        """The labels of whole sentences."""
        return [self.rules.symbols[root].label or "" for root in self.rules.roots.tolist()]

    @made_once
    def above(self) -> dict[tuple[int, int], float]:
        """How often each label stood right above each other one."""
        column = {label: place for place, label in enumerate(self.charts.labels)}
        found: dict[tuple[int, int], float] = {}
        for (a, b), count in zip(self.rules.unary.tolist(), self.counts.unary, strict=True):
            top, bottom = self.rules.symbols[a], self.rules.symbols[b]
            if top.label is not None and bottom.label is not None and bottom.before is None:
                pair = column[top.label], column[bottom.label]
                found[pair] = found.get(pair, 0.0) + float(count)
        return found
