"""What a grammar has learnt: rules and their log p, words and their tags."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fastlin.grammar.charts import ChartGrammar, DerivationScorer
from fastlin.grammar.lexicon import TagScorer
from fastlin.grammar.rules import RuleCounts, RuleTable
from fastlin.runtime.made_once import made_once

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class GrammarState:
    """What a fit has learnt."""

    rules: RuleTable
    counts: RuleCounts
    log_weights: RuleCounts
    lexicon: TagScorer
    flat: tuple[str, ...]  # labels above the tags of a sentence that has no tree, from above

    @made_once
    def charts(self) -> ChartGrammar:
        return ChartGrammar(self.rules, self.log_weights)

    @made_once
    def scorer(self) -> DerivationScorer:
        return DerivationScorer(self.rules, self.log_weights)

    @made_once
    def tag_labels(self) -> NDArray[np.bool_]:
        """Which labels stand over words."""
        names = {self.rules.symbols[tag].label for tag in self.rules.tags}
        return np.array([label in names for label in self.charts.labels], bool)

    @made_once
    def above(self) -> Floats:
        """How often each label stood right above each other one, [labels, labels]."""
        labels = self.charts.labels
        column = {label: place for place, label in enumerate(labels)}
        found = np.zeros((len(labels), len(labels)))
        for (a, b), count in zip(self.rules.unary.tolist(), self.counts.unary, strict=True):
            top, bottom = self.rules.symbols[a], self.rules.symbols[b]
            if top.label is not None and bottom.label is not None and bottom.before is None:
                found[column[top.label], column[bottom.label]] += count
        return found
