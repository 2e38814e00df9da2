"""Where EM for grammars begins: a grammar that there is, counts of trees, or a random grammar of so many symbols."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastlin.grammar.binarize import Symbol
from fastlin.grammar.em_sentences import TaggedWords, TrainingSentences
from fastlin.grammar.inside_outside_em import GrammarCounts, GrammarParameters, LearntGrammar
from fastlin.grammar.lexicon import Lexicon, LexiconOptions
from fastlin.grammar.rules import RuleCounts, RuleTable, log_probabilities
from fastlin.grammar.state import GrammarState
from fastlin.grammar.tree_form import TreeForm

Floats = NDArray[np.float64]
RULE_BYTES = 100  # of a rule in charts, counts and parameters
ROOT = "S"


class CountedTrees(NamedTuple):
    """A grammar by the counts of trees, and how often words had their tags."""

    state: GrammarState
    words: dict[str, dict[int, float]]


@dataclass(frozen=True)
class EMStart:
    """Rules, the tags that words may have, what is known of both, and the first parameters."""

    rules: RuleTable
    words: TaggedWords
    known: GrammarCounts
    flat: tuple[str, ...]
    form: TreeForm
    draw: Callable[[np.random.Generator], GrammarParameters]
    is_random: bool = False

    def state(self, learnt: LearntGrammar, options: LexiconOptions) -> GrammarState:
        """The grammar that EM has made of this."""
        counts, log_weights = learnt
        lexicon = Lexicon(self.words.counts(counts.words), self.rules.symbols, self.rules.tags, options)
        return GrammarState(self.rules, counts.rules, log_weights, lexicon, self.flat, self.form)

    def identity(self) -> dict[str, Any]:
        """What tells this start from others, but for what is drawn."""
        rules, words = self.rules, self.words
        own: dict[str, Any] = {"symbols": list(map(str, rules.symbols)), "word starts": words.start, "tags": words.tag}
        own |= {"binary": rules.binary, "unary": rules.unary, "roots": rules.roots}
        tables = dict(zip(RuleCounts._fields, self.known.rules, strict=True)) | {"words": self.known.words}
        own["form"] = list(self.form)
        own |= {f"known {name}": table for name, table in tables.items()}
        if not self.is_random:
            rules_of_start, log_phi = self.draw(np.random.default_rng(0))
            tables = dict(zip(RuleCounts._fields, rules_of_start, strict=True)) | {"words": log_phi}
            own |= {f"start {name}": table for name, table in tables.items()}
        return own


def start_from(
    state: GrammarState, known_words: dict[str, dict[int, float]] | None, sentences: TrainingSentences
) -> EMStart:
    """Begin with a grammar. Its counts are known, if those of its words are given."""
    words, log_phi = TaggedWords.of(sentences.words, state.lexicon)
    known = GrammarCounts.zeros(state.rules, words)
    if known_words is not None:
        known = GrammarCounts(state.counts, words.places(known_words))
    start = GrammarParameters(_normalized(state.rules, state.log_weights), _at_most_one(words, log_phi))
    return EMStart(state.rules, words, known, state.flat, state.form, lambda _: start)


def _normalized(rules: RuleTable, log_weights: RuleCounts) -> RuleCounts:
    """Probabilities that sum to 1 for each left side: what is written may miss it, and HMMs without a stop do."""
    return log_probabilities(rules, RuleCounts(*map(np.exp, log_weights)), 0.0)


def _at_most_one(words: TaggedWords, log_phi: Floats) -> Floats:
    """log φ of which no tag has more than 1: each word that was never seen may have all that unknown ones have."""
    totals = np.bincount(words.tag, np.exp(log_phi))
    found: Floats = log_phi - np.log(np.maximum(totals, 1.0))[words.tag]
    return found


def random_start(sentences: TrainingSentences, n_symbols: int, max_bytes: int, form: TreeForm) -> EMStart:
    """Begin with random probabilities of all rules A → B C and all words: of rules uniform on the simplex, of words as
    often as they are there, times exponential variates. A symbol is as often expected to be a tag as not.
    """
    wanted = n_symbols**2 * (n_symbols + 1) * RULE_BYTES
    if wanted > max_bytes:
        raise MemoryError(f"n_symbols={n_symbols} have rules that take {wanted} bytes: max_memory allows {max_bytes}")
    rules = complete_rules(n_symbols)
    n_words = len(sentences.words)
    tags = np.arange(n_symbols, dtype=np.int32)
    words = TaggedWords(sentences.words, np.arange(n_words + 1, dtype=np.int64) * n_symbols, np.tile(tags, n_words))
    often = np.bincount(np.concatenate([*sentences.ids, np.empty(0, np.int64)]), minlength=n_words).astype(np.float64)

    def draw(generator: np.random.Generator) -> GrammarParameters:
        shares = generator.standard_exponential((n_symbols, n_symbols**2))
        as_tags = generator.standard_exponential(n_symbols) * shares.mean(axis=1)
        of_words = often[:, np.newaxis] * generator.standard_exponential((n_words, n_symbols))
        with np.errstate(divide="ignore"):
            totals = np.log(shares.mean(axis=1) + as_tags)
            binary = np.log(shares) - np.log(n_symbols**2) - totals[:, np.newaxis]
            weights = RuleCounts(binary.T.ravel(), np.empty(0), np.log(as_tags) - totals, np.zeros(1))
            return GrammarParameters(weights, (np.log(of_words) - np.log(of_words.sum(axis=0))).ravel())

    return EMStart(rules, words, GrammarCounts.zeros(rules, words), (ROOT,), form, draw, True)


def complete_rules(n_symbols: int) -> RuleTable:
    """All rules A → B C of so many symbols, each of which is a tag, too; the first is that of sentences."""
    left, right, parent = np.indices((n_symbols, n_symbols, n_symbols), np.int32).reshape(3, -1)
    symbols = tuple(Symbol(ROOT if place == 0 else f"X{place}") for place in range(n_symbols))
    return RuleTable(
        symbols,
        np.column_stack([parent, left, right]),
        np.empty((0, 2), np.int32),
        np.arange(n_symbols, dtype=np.int32),
        np.zeros(1, np.int32),
    )
