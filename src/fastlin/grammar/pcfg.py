"""Probabilistic context-free grammars: counted where trees are known."""

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from fastlin.core.estimator import StatefulEstimator, learns, reads
from fastlin.grammar.binarize import Binarizer, Symbol, normalize_tree
from fastlin.grammar.charts import check_size
from fastlin.grammar.decoding import (
    Constituent,
    Decoded,
    Decoder,
    NBestDecoder,
    RecallDecoder,
    ViterbiDecoder,
    expected_constituents,
)
from fastlin.grammar.from_hmm import hmm_rules
from fastlin.grammar.lexicon import Lexicon, LexiconOptions, TagScorer
from fastlin.grammar.notation import binary_grammar, read_rules
from fastlin.grammar.rules import RuleCounter, RuleCounts, RuleTable, log_probabilities
from fastlin.grammar.state import GrammarState
from fastlin.grammar.treebank import as_trees
from fastlin.grammar.trees import Tree
from fastlin.runtime import parallel
from fastlin.sequence.hmm.model import HMM
from fastlin.validation import check_n_jobs, one_of, real_number, whole_number

Floats = NDArray[np.float64]
R = TypeVar("R")
JOB_WORK = 30_000  # words³ of the sentences that are one job


class Parses(list[Tree | None]):
    """Trees of sentences, and what is to be known of them.

    Attributes
    ----------
    log_joint : array
        log p(sentence, tree); −∞ where the tree is none of the grammar's.
    unparsed : list of int
        The places of sentences that have no tree, but a flat one; or None, without words.
    """

    def __init__(self, found: Sequence[Decoded]) -> None:
        super().__init__(one.tree for one in found)
        self.log_joint = np.array([one.log_joint for one in found], np.float64)
        self.unparsed = [place for place, one in enumerate(found) if not one.found]


class PCFG(StatefulEstimator[GrammarState]):
    """A probabilistic context-free grammar.

    p(words, tree) = Π p(rule | its left side), over the rules by which the tree derives the words. Trees are cleaned of
    functions and traces, their symbols are told what is above and before them, and constituents of many children are
    made from left to right; predicted trees have none of this.

    Parameters
    ----------
    horizontal : int or None
        How many children before the next one a rule knows; None: all.
    vertical : int
        How many labels a symbol knows: 1 its own, 2 its parent's, too.
    split_tags : bool
        Whether this holds for tags.
    remove_functions, remove_traces : bool
        Whether NP-SBJ-1 is NP, and whether -NONE- and what is empty without it are left out.
    alpha : float
        Pseudo-counts of each rule that was seen; 0 is the maximum-likelihood estimate.
    unknown : {"signature", "suffix", "shape"} or None
        Words that were never seen, or no more than `rare_count` times, have the tags of the rare words that are like
        them; None: no tag.
    rare_count : int
    word_alpha : float
        Pseudo-counts of every known word, for the tags it would be guessed to have.
    tag_alpha : float
        Pseudo-counts of a tag that was split, for the words of the whole one.
    decoding : {"recall", "viterbi"}
        Which tree `predict` finds: of the constituents that are expected most, or the most probable one.
    recall_threshold : float
        How probable a constituent must be to be worth predicting, between 0 and 1: see `RecallParser`.
    unparsed : {"flat", "error"}
        A sentence without a tree has a flat one, with a warning; or is an error.
    max_memory : int
        Bytes that the chart of one sentence may take.
    n_jobs : int or None
        Threads, over sentences; they never change a bit.

    Attributes
    ----------
    symbols_ : list of str
    rules_ : list of (str, tuple of str, float)
        Left side, right side and log p of each rule but those of words, by left side and falling p.
    n_rules_ : int
    words_ : list of str
        The words seen.

    Examples
    --------
    >>> from fastlin.grammar import PCFG
    >>> trees = ["(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)))", "(S (NP (DT a) (NN dog)) (VP (VBZ barks)))"]
    >>> grammar = PCFG(rare_count=0).fit(trees)
    >>> print(grammar.predict(["the dog sleeps"])[0])
    (S (NP (DT the) (NN dog)) (VP (VBZ sleeps)))
    """

    def __init__(
        self,
        *,
        horizontal: int | None = 1,
        vertical: int = 2,
        split_tags: bool = True,
        remove_functions: bool = True,
        remove_traces: bool = True,
        alpha: float = 0.0,
        unknown: str | None = "signature",
        rare_count: int = 1,
        word_alpha: float = 0.1,
        tag_alpha: float = 0.1,
        decoding: str = "recall",
        recall_threshold: float = 0.4,
        unparsed: str = "flat",
        max_memory: int = 4 << 30,
        n_jobs: int | None = None,
    ) -> None:
        self.horizontal = horizontal
        self.vertical = vertical
        self.split_tags = split_tags
        self.remove_functions = remove_functions
        self.remove_traces = remove_traces
        self.alpha = alpha
        self.unknown = unknown
        self.rare_count = rare_count
        self.word_alpha = word_alpha
        self.tag_alpha = tag_alpha
        self.decoding = decoding
        self.recall_threshold = recall_threshold
        self.unparsed = unparsed
        self.max_memory = max_memory
        self.n_jobs = n_jobs

    # Learning

    @learns
    def fit(self, trees: Any, y: Any = None) -> Self:  # noqa: ARG002 - scikit-learn's signature
        """Count the rules of trees.

        Parameters
        ----------
        trees : list of trees, path or open file
            A tree is a `Tree`, a string of brackets, a nested tuple (label, child, …) or a tree of NLTK.
        y : ignored
        """
        self._check_parameters()
        model = self._working_copy()
        binarizer = self._binarizer()
        counter, n_trees = RuleCounter(), 0
        flat: dict[tuple[str, ...], int] = {}
        for tree in self._cleaned(trees):
            n_trees += 1
            if tree is not None:
                counter.add(binarizer.derive(tree))
                top = _top(tree)
                flat[top] = flat.get(top, 0) + 1
        if not flat:
            raise ValueError(f"there is nothing to learn from: {n_trees} trees, none of which has a word")
        rules, counts, words = counter.result(binarizer.symbols)
        lexicon = Lexicon(words, rules.symbols, rules.tags, self._lexicon_options())
        most = max(flat, key=flat.__getitem__)
        model._state_of_fit = GrammarState(rules, counts, log_probabilities(rules, counts, self.alpha), lexicon, most)
        return self._take_fitted(model)

    @classmethod
    def from_rules(cls, text: str, **parameters: Any) -> Self:
        """The grammar that rules in NLTK's notation say.

        Parameters
        ----------
        text : str
            Lines such as ``NP -> Det N [0.75] | 'John' [0.25]``; words stand in quotes. The first left side is the
            start symbol, or the one that ``%start S`` names.
        parameters
            Those of the class; trees keep their labels as they are.

        Examples
        --------
        >>> from fastlin.grammar import PCFG
        >>> grammar = PCFG.from_rules("S -> 'a' S [0.5] | 'b' [0.5]")
        >>> grammar.score_samples(["a a b"]).round(4)
        array([-2.0794])
        """
        start, written = read_rules(text)
        grammar = binary_grammar(start, written)
        lexicon = Lexicon(grammar.words, grammar.rules.symbols, grammar.rules.tags, LexiconOptions(None, 0, 0.0, 0.0))
        return cls._of(grammar.rules, grammar.log_weights, lexicon, (start,), parameters)

    @classmethod
    def from_hmm(cls, hmm: HMM, **parameters: Any) -> Self:
        """The grammar of a hidden Markov model of words: sentences and paths of states have the same probabilities.

        The tree of a path is (i→ (i word) (j→ (j word) …)): `Tree.tagged_words` are its words and states.
        """
        rules, log_weights, lexicon = hmm_rules(hmm)
        most = rules.symbols[rules.roots[int(np.argmax(log_weights.roots))]].label or ""
        return cls._of(rules, log_weights, lexicon, (most,), parameters)

    @classmethod
    def _of(
        cls,
        rules: RuleTable,
        log_weights: RuleCounts,
        lexicon: TagScorer,
        flat: tuple[str, ...],
        parameters: dict[str, Any],
    ) -> Self:
        """A grammar that was not counted: its rules are the trees' as they are."""
        as_written = {
            "horizontal": None, "vertical": 1, "split_tags": False, "remove_functions": False, "remove_traces": False,
            "unknown": None, "decoding": "viterbi",
        }  # fmt: skip
        grammar = cls(**(as_written | parameters))
        grammar._check_parameters()
        counts = RuleCounts(*map(np.exp, log_weights))
        grammar._state_of_fit = GrammarState(rules, counts, log_weights, lexicon, flat)
        return grammar

    def _check_parameters(self) -> None:
        whole_number("vertical", self.vertical, 1)
        if self.horizontal is not None:
            whole_number("horizontal", self.horizontal, 0)
        for name in ("alpha", "word_alpha", "tag_alpha"):
            real_number(name, getattr(self, name), at_least=0)
        whole_number("rare_count", self.rare_count, 0)
        one_of("unknown", self.unknown, ("signature", "suffix", "shape", None))
        one_of("decoding", self.decoding, ("recall", "viterbi"))
        one_of("unparsed", self.unparsed, ("flat", "error"))
        real_number("recall_threshold", self.recall_threshold, above=0)
        whole_number("max_memory", self.max_memory, 1)
        check_n_jobs(self.n_jobs)

    def _binarizer(self, symbols: Sequence[Symbol] = ()) -> Binarizer:
        return Binarizer(self.vertical, self.horizontal, self.split_tags, symbols)

    def _lexicon_options(self) -> LexiconOptions:
        return LexiconOptions(self.unknown, self.rare_count, self.word_alpha, self.tag_alpha)

    def _cleaned(self, trees: Any) -> Iterator[Tree | None]:
        for tree in as_trees(trees):
            yield normalize_tree(tree, self.remove_functions, self.remove_traces)

    # What there is

    @property
    @reads
    def symbols_(self) -> list[str]:
        return [str(symbol) for symbol in self._learnt.rules.symbols]

    @property
    @reads
    def n_rules_(self) -> int:
        rules = self._learnt.rules
        return len(rules.binary) + len(rules.unary)

    @property
    @reads
    def words_(self) -> list[str]:
        return self._learnt.lexicon.words

    @property
    @reads
    def rules_(self) -> list[tuple[str, tuple[str, ...], float]]:
        rules, weights, names = self._learnt.rules, self._learnt.log_weights, self.symbols_
        found = [
            (names[a], tuple(names[child] for child in children), float(weight))
            for table, column in ((rules.binary, weights.binary), (rules.unary, weights.unary))
            for (a, *children), weight in zip(table.tolist(), column, strict=True)
        ]
        return sorted(found, key=lambda rule: (rule[0], -rule[2], rule[1]))

    # Reading

    @reads
    def predict(self, X: Any) -> Parses:
        """The tree of each sentence.

        Parameters
        ----------
        X : list of sentences
            A sentence is a list of words, or a string that is split at white space.

        Returns
        -------
        Parses
            A list of trees, with `log_joint` and `unparsed`.
        """
        state, sentences = self._learnt, as_sentences(X)

        def decoder() -> Decoder:
            if self.decoding == "viterbi":
                return ViterbiDecoder(state)
            return RecallDecoder(state, self._binarizer(state.rules.symbols), self.recall_threshold)

        parses = Parses(self._each(sentences, decoder))
        if parses.unparsed:
            self._report_unparsed(parses.unparsed, sentences)
        return parses

    @reads
    def predict_nbest(self, X: Any, n: int = 10) -> list[Parses]:
        """The n most probable trees of each sentence, the best first; all that it has, if these are fewer."""
        whole_number("n", n, 1)
        state = self._learnt
        return [Parses(found) for found in self._each(as_sentences(X), lambda: NBestDecoder(state, n))]

    @reads
    def predict_marginals(self, X: Any, min_probability: float = 1e-6) -> list[list[Constituent]]:
        """How often each constituent is expected in the tree of each sentence, by first word, last word and falling p.

        Constituents that are expected less than `min_probability` times are left out; tags are constituents, too.
        """
        real_number("min_probability", min_probability, at_least=0)
        state = self._learnt

        def expecting() -> Callable[[list[str]], list[Constituent]]:
            parser = state.charts.summing_parser()
            return lambda words: expected_constituents(state, parser, words, min_probability)

        return self._each(as_sentences(X), expecting)

    @reads
    def perplexity(self, X: Any) -> float:
        """e to −(Σ log p of the sentences) / (Σ their words): how many words there might have been at each place."""
        sentences = as_sentences(X)
        n_words = sum(map(len, sentences))
        if n_words == 0:
            raise ValueError("X has no words: there is no perplexity of nothing")
        return float(np.exp(-self.score_samples(sentences).sum() / n_words))

    @reads
    def log_proba(self, X: Any, trees: Any) -> Floats:
        """log p(tree | words) of each sentence and its tree; −∞ where the tree is of other words."""
        sentences, trees = as_sentences(X), list(as_trees(trees))
        if len(sentences) != len(trees):
            raise ValueError(f"X has {len(sentences)} sentences and there are {len(trees)} trees")
        joint = self.log_joint(trees)
        same = np.array([tree.leaves() == words for tree, words in zip(trees, sentences, strict=True)], bool)
        with np.errstate(invalid="ignore"):
            found = joint - self.score_samples(sentences)
        return np.where(same & (joint > -np.inf), found, -np.inf)

    @reads
    def score_samples(self, X: Any) -> Floats:
        """log p of each sentence: the sum over all its trees; −∞ where it has none."""
        state = self._learnt

        def summing() -> Callable[[list[str]], float]:
            parser = state.charts.summing_parser()
            return lambda words: state.charts.log_sum(parser, state.lexicon(words)) if words else -np.inf

        return np.array(self._each(as_sentences(X), summing, halves=1), np.float64)

    @reads
    def log_joint(self, trees: Any) -> Floats:
        """log p(words, tree) of each tree; −∞ where it has a rule that the grammar has not."""
        state, found = self._learnt, []
        binarizer = self._binarizer(state.rules.symbols)
        for tree in self._cleaned(trees):
            if tree is None:
                raise ValueError("a tree without words has no probability")
            found.append(state.scorer.score(binarizer.derive(tree), state.lexicon(tree.leaves())))
        return np.array(found, np.float64)

    def _each(
        self, sentences: list[list[str]], make: Callable[[], Callable[[list[str]], R]], halves: int = 2
    ) -> list[R]:
        """What a function of one thread's own makes of each sentence."""
        n_symbols = len(self._learnt.rules.symbols)
        for words in sentences:
            check_size(len(words), n_symbols, self.max_memory, halves)
        work = np.cumsum([0] + [1 + len(words) ** 3 for words in sentences])
        results: list[list[R]] = []

        def parse(start: int, stop: int) -> list[R]:
            decode = make()
            return [decode(words) for words in sentences[start:stop]]

        with parallel.WorkerPool(self.n_jobs) as workers:
            results = workers.map(parse, parallel.split_by_length(work, JOB_WORK))
        return [result for block in results for result in block]

    def _report_unparsed(self, places: list[int], sentences: list[list[str]]) -> None:
        first = " ".join(sentences[places[0]])
        message = f"{len(places)} of {len(sentences)} sentences have no tree, the first is {places[0]}: {first[:60]!r}"
        if self.unparsed == "error":
            raise ValueError(message)
        warnings.warn(f"{message}; each has a flat one", UserWarning, stacklevel=4)


def _top(tree: Tree) -> tuple[str, ...]:
    """The labels of a tree above its first constituent of more than one child."""
    labels = [tree.label]
    while len(tree.children) == 1 and isinstance(tree.children[0], Tree) and not tree.children[0].is_tag:
        tree = tree.children[0]
        labels.append(tree.label)
    return tuple(labels)


def as_sentences(X: Any) -> list[list[str]]:
    """Sentences as lists of words."""
    if isinstance(X, str | bytes) or not isinstance(X, Iterable):
        raise TypeError(f"X must be a list of sentences, got {X!r:.60}")
    sentences = []
    for place, sentence in enumerate(X):
        words = sentence.split() if isinstance(sentence, str) else list(sentence)
        if not all(isinstance(word, str) and word for word in words):
            wrong = next(word for word in words if not (isinstance(word, str) and word))
            raise TypeError(f"sentence {place} must be a string or a list of words, and holds {wrong!r:.40}")
        sentences.append(words)
    return sentences
