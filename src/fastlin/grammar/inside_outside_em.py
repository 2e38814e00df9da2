"""EM for grammars whose trees are hidden, all or in part (Baker 1979; Lari & Young 1990; Pereira & Schabes 1992).

    E         how often each rule and each tag of a word is expected in the trees of a sentence that brackets allow
    M         the probabilities that these counts, those of known trees and the pseudo-counts say
    bound     Σ log p(sentence, brackets) + Σ log p(sentence, tree) of known trees + what the prior says of the rules

No step lowers the bound. Words have the tags that the start gives them, and no prior: how unknown words are guessed is
learnt from the counts of the end.
"""

from typing import NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from fastlin.core.checkpoint_reader import CheckpointReader, State, as_part
from fastlin.engine.chart.inside_outside import InsideOutside
from fastlin.grammar.charts import NO_SPANS, ChartGrammar, labels_of
from fastlin.grammar.constraints import SpanStates
from fastlin.grammar.em_sentences import TaggedWords, TrainingSentences
from fastlin.grammar.lexicon import TagScores
from fastlin.grammar.rules import RuleCounts, RuleTable, log_probabilities
from fastlin.runtime import parallel

Floats = NDArray[np.float64]
RULE_TABLES = RuleCounts._fields
JOB_WORK = 200_000  # words³ of the sentences that are one job
MAX_JOBS = 64  # each has counts of its own
NEGLIGIBLE = 1e-200  # of a count: no sentence needs a rule that is expected less, and charts scale by its inverse


class GrammarCounts(NamedTuple):
    """How often each rule was used, and each tag of a word."""

    rules: RuleCounts
    words: Floats  # [E]

    @classmethod
    def zeros(cls, rules: RuleTable, words: TaggedWords) -> Self:
        return cls(
            RuleCounts(*(np.zeros(len(table)) for table in (rules.binary, rules.unary, rules.tags, rules.roots))),
            np.zeros(len(words.tag)),
        )

    def __add__(self, other: "GrammarCounts") -> "GrammarCounts":  # type: ignore[override]
        rules = (mine + theirs for mine, theirs in zip(self.rules, other.rules, strict=True))
        return GrammarCounts(RuleCounts(*rules), self.words + other.words)


class GrammarParameters(NamedTuple):
    """log p of rules, and log φ of the tags of words."""

    rules: RuleCounts
    words: Floats


class RuleEstimator(Protocol):
    """The M-step of rules."""

    def begin(self, log_weights: RuleCounts, /) -> RuleCounts:
        """log p of the rules to start from, for which these are wanted."""

    def estimate(self, counts: RuleCounts, /) -> RuleCounts:
        """log p of the rules that raise Σ counts · log p + log prior, if they can be raised."""

    def log_prior(self, log_weights: RuleCounts, /) -> float:
        """What the prior says of such rules, but for a constant."""

    def state_dict(self) -> State:
        """What the next estimate begins with."""

    def load_state_dict(self, saved: CheckpointReader, /) -> None: ...


class LearntGrammar(NamedTuple):
    """Counts, and log p of the rules that were made of them."""

    counts: GrammarCounts
    log_weights: RuleCounts


class KnownCounts(Protocol):
    """The rules, the tags that words may have, and counts of known trees."""

    @property
    def rules(self) -> RuleTable: ...
    @property
    def words(self) -> TaggedWords: ...
    @property
    def known(self) -> GrammarCounts: ...


class RelativeFrequencies:
    """Counts and pseudo-counts, divided by those of their left sides."""

    def __init__(self, rules: RuleTable, pseudo_counts: Floats) -> None:
        self._rules, self._pseudo_counts = rules, pseudo_counts

    def begin(self, log_weights: RuleCounts) -> RuleCounts:
        return log_weights

    def estimate(self, counts: RuleCounts) -> RuleCounts:
        return log_probabilities(self._rules, counts, self._pseudo_counts)

    def log_prior(self, log_weights: RuleCounts) -> float:
        return weighted_sum(self._pseudo_counts, np.concatenate(log_weights[:3]))

    def state_dict(self) -> State:
        return {}

    def load_state_dict(self, saved: CheckpointReader) -> None:
        """Nothing: counts are all there is."""


class InsideOutsideEM:
    """The parameters as they are, and the steps that better them, for an `EMRun`.

    `known` are the counts of trees. Sentences without a derivation are left out, or, `strict`, an error.
    """

    width = 0  # components that may die: none

    def __init__(
        self,
        sentences: TrainingSentences,
        known: KnownCounts,
        estimator: RuleEstimator,
        strict: bool,
        n_jobs: int | None,
    ) -> None:
        rules, words = known.rules, known.words
        self._sentences, self._rules, self._words, self._known = sentences, rules, words, known.known
        self._estimator, self._strict, self._n_jobs = estimator, strict, n_jobs
        sentences.check_labels(labels_of(rules))
        self.underived = list[int]()  # sentences that the E-step found no derivation of
        self.total_weight = float(sentences.lengths.sum() + known.known.words.sum())
        self.factors = 4 * self.total_weight + len(sentences)
        work = np.concatenate([[0], np.cumsum(1 + sentences.lengths**3)])
        self._blocks = list(parallel.split_by_length(work, max(JOB_WORK, int(work[-1]) // MAX_JOBS)))

    def begin(self, parameters: GrammarParameters) -> None:
        """Start anew, from parameters like these."""
        self.start(parameters._replace(rules=self._estimator.begin(parameters.rules)))

    def start(self, parameters: GrammarParameters) -> None:
        self._now = parameters
        self._kept: GrammarCounts | None = None

    def expect(self) -> float:
        """The E-step. Returns the bound of the parameters."""
        charts = ChartGrammar(self._rules, self._now.rules)
        with parallel.WorkerPool(self._n_jobs) as workers:
            found = workers.map(lambda *block: self._expect_block(charts, workers.stop, *block), self._blocks)
        bound, total = 0.0, ExpectedCounts.zeros(charts, self._words)
        self.underived = []
        for of_block in found:
            bound += of_block.log_sum
            self.underived += of_block.underived
            total.merge(of_block)
        self._check_derived()
        self._expected = total.counts(charts, self._words)
        now, known = self._now, self._known
        bound += sum(map(weighted_sum, known.rules, now.rules)) + weighted_sum(known.words, now.words)
        return bound + self._estimator.log_prior(now.rules)

    def _expect_block(self, charts: ChartGrammar, stop: NDArray[np.int32], first: int, last: int) -> "ExpectedCounts":
        parser = charts.summing_parser()
        found = ExpectedCounts.zeros(charts, self._words)
        for number in range(first, last):
            if stop[0]:
                raise InterruptedError
            start, entries = self._words.entries(self._sentences.ids[number])
            tags = TagScores(start, self._words.tag[entries], self._now.words[entries])
            spans = self._sentences.spans(number, charts.labels)
            log_sum = -np.inf
            if len(start) > 1:
                log_sum = charts.log_sum(parser, tags, NO_SPANS, charts.summed_constraints(spans))
            if log_sum == -np.inf:
                found.underived.append(number)
            else:
                found.log_sum += log_sum
                found.add(parser, entries, charts, spans)
        return found

    def _check_derived(self) -> None:
        """Refuse sentences without derivations, if none may be, or if nothing else is there."""
        nothing = len(self.underived) == len(self._sentences) and not self._known.words.any()
        if self.underived and (self._strict or nothing):
            raise ValueError(self.describe_underived())
        if nothing:
            raise ValueError("there is nothing to learn from: no sentence and no tree")

    def describe_underived(self) -> str:
        first = self.underived[0]
        return (
            f"{len(self.underived)} of {len(self._sentences)} sentences have no derivation, the first is {first}: "
            f"{self._sentences.text(first)[:60]!r}"
        )

    def maximise(self, keep: bool = False) -> None:  # noqa: ARG002 - counts are always kept
        """The M-step: better parameters for what was expected."""
        rules, words = self._expected + self._known
        rules = RuleCounts(*(np.where(counts > NEGLIGIBLE, counts, 0.0) for counts in rules))
        kept = self._kept = GrammarCounts(rules, words)
        totals = np.bincount(self._words.tag, kept.words, len(self._rules.symbols))
        with np.errstate(divide="ignore", invalid="ignore"):
            words = np.where(kept.words > 0, np.log(kept.words / totals[self._words.tag]), -np.inf)
        self._now = GrammarParameters(self._estimator.estimate(kept.rules), words)

    def counts(self) -> LearntGrammar:
        """What was learnt; counts that the start expects, before the first M-step."""
        return LearntGrammar(self._expected + self._known if self._kept is None else self._kept, self._now.rules)

    # No symbol is seeded again: what it was expected to do, others do.

    def dead(self) -> list[int]:
        return []

    def reseed_components(self, components: list[int]) -> None:
        """Nothing: none is dead."""

    def restore(self, before: None) -> None:
        """Nothing: none was seeded."""

    # Checkpoints

    def state_dict(self) -> State:
        """The parameters."""
        own = {**_named(self._now.rules), "words": self._now.words}
        return own | as_part("estimator", self._estimator.state_dict())

    def load_state_dict(self, saved: CheckpointReader) -> None:
        """Become what `state_dict` said."""
        words = saved.array("words", self._known.words, finite=False)
        self.start(GrammarParameters(self._read_rules(saved, finite=False), words))
        self._estimator.load_state_dict(saved.part("estimator"))

    def export_counts(self, counts: LearntGrammar) -> State:
        """What `counts` returned, for a checkpoint."""
        (rules, words), log_weights = counts
        return {**_named(rules), "words": words, **as_part("log_weights", _named(log_weights))}

    def restore_counts(self, saved: CheckpointReader) -> LearntGrammar:
        """The counts that `export_counts` described."""
        counts = GrammarCounts(self._read_rules(saved), saved.array("words", self._known.words))
        return LearntGrammar(counts, self._read_rules(saved.part("log_weights"), finite=False))

    def _read_rules(self, saved: CheckpointReader, finite: bool = True) -> RuleCounts:
        like = _named(self._known.rules)
        return RuleCounts(*(saved.array(name, table, finite) for name, table in like.items()))


class ExpectedCounts:
    """What charts add up over sentences: Σ log p, and how often rules, chains, roots and tags of words are expected."""

    def __init__(self, rules: Floats, chains: Floats, roots: Floats, words: Floats) -> None:
        self._rules, self._chains, self._roots, self._words = rules, chains, roots, words
        self._labelled = dict[frozenset[int], Floats]()  # of chains with some labels in them
        self.log_sum = 0.0
        self.underived = list[int]()

    @classmethod
    def zeros(cls, charts: ChartGrammar, words: TaggedWords) -> "ExpectedCounts":
        sizes = len(charts.rules.binary), len(charts.chain_sums.parent), len(charts.rules.symbols), len(words.tag)
        return cls(*map(np.zeros, sizes))

    def merge(self, other: "ExpectedCounts") -> None:
        """Add the counts of other sentences."""
        self._rules += other._rules
        self._chains += other._chains
        self._roots += other._roots
        self._words += other._words
        for labels, counts in other._labelled.items():
            self._add_labelled(labels, counts)

    def add(
        self, parser: InsideOutside, entries: NDArray[np.int64], charts: ChartGrammar, spans: SpanStates | None
    ) -> None:
        """Add what is expected of the sentence that the parser has last summed over, of tags with these places."""
        of_tags, wanted = np.zeros(len(entries)), [] if spans is None else list(spans.labelled.values())
        sizes = [len(self._chains), *(charts.labelled(labels).n_sums for labels in wanted)]
        chains = np.zeros(sum(sizes))
        parser.count_roots(1.0, self._roots)
        parser.outside(1.0, self._rules, chains, of_tags, NO_SPANS)
        np.add.at(self._words, entries, of_tags)
        own, *of_labels = np.split(chains, np.cumsum(sizes)[:-1])
        self._chains += own
        for labels, counts in zip(wanted, of_labels, strict=True):
            self._add_labelled(labels, counts)

    def _add_labelled(self, labels: frozenset[int], counts: Floats) -> None:
        self._labelled[labels] = self._labelled[labels] + counts if labels in self._labelled else counts

    def counts(self, charts: ChartGrammar, words: TaggedWords) -> GrammarCounts:
        rules = charts.rules
        of_tags: Floats = np.bincount(words.tag, self._words, len(rules.symbols)).astype(np.float64)[rules.tags]
        unary = charts.unary.expected_rules(charts.chain_sums, self._chains)
        for labels, counts in self._labelled.items():
            unary += charts.labelled(labels).expected_rules(counts, len(unary))
        return GrammarCounts(RuleCounts(self._rules, unary, of_tags, self._roots[rules.roots]), self._words)


def weighted_sum(counts: Floats, logs: Floats) -> float:
    """Σ c log p; 0 · log 0 = 0."""
    there = counts > 0
    return float(counts[there] @ logs[there])


def _named(tables: RuleCounts) -> State:
    return dict(zip(RULE_TABLES, tables, strict=True))
