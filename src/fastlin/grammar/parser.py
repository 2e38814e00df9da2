"""What a grammar is asked, however it was learnt: trees of sentences, their probabilities, expected constituents."""

from abc import ABC
from collections.abc import Callable, Iterable
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.core.estimator import reads
from fastlin.grammar.charts import EVERYTHING, ChartBeam
from fastlin.grammar.constraints import Given, read_given
from fastlin.grammar.decoding import (
    Constituent,
    Decoder,
    LogSum,
    NBestDecoder,
    RecallDecoder,
    ViterbiDecoder,
    expected_constituents,
)
from fastlin.grammar.sampling import TreeSampler
from fastlin.grammar.state import GrammarState
from fastlin.grammar.tree_parser import Parses, TreeParser, as_sentences
from fastlin.grammar.trees import Tree
from fastlin.validation import as_generator, real_number, whole_number

Floats = NDArray[np.float64]


class GrammarParser(TreeParser[GrammarState], ABC):
    """A parser by a grammar that it has learnt."""

    decoding: str
    recall_threshold: float
    pruning: str | None
    pruning_threshold: float
    random_state: Any

    # What there is

    @property
    @reads
    def symbols_(self) -> list[str]:
        return [str(symbol) for symbol in self._learnt.rules.symbols]

    # Reading

    @reads
    def predict(self, X: Any, *, tags: Any = None, brackets: Any = None) -> Parses:
        """The tree of each sentence.

        Parameters
        ----------
        X : list of sentences
            A sentence is a list of words, or a string that is split at white space.
        tags : list or None
            What is given of each sentence: None, or for each word a tag or None. A tree has these tags.
        brackets : list or None
            What is given of each sentence: None, or constituents (start, stop) and (start, stop, label), from a word to
            before another. A tree has all of them, each with its label, if it has one, somewhere over these words.

        Returns
        -------
        Parses
            A list of trees, with `log_joint`, `unparsed` and `exact`.
        """
        state, sentences = self._learnt, as_sentences(X)

        def decoder() -> Decoder:
            beam = EVERYTHING if self.pruning is None else ChartBeam(state.merit, float(self.pruning_threshold))
            if self.decoding == "viterbi":
                return ViterbiDecoder(state, beam)
            return RecallDecoder(state, state.form.binarizer(state.rules.symbols), self.recall_threshold, beam)

        parses = Parses(self._each(sentences, self._given(sentences, tags, brackets), decoder))
        if parses.unparsed:
            self._report_unparsed(parses.unparsed, sentences)
        return parses

    @reads
    def predict_nbest(self, X: Any, n: int = 10, *, tags: Any = None, brackets: Any = None) -> list[Parses]:
        """The n most probable trees of each sentence, the best first; all that it has, if these are fewer.

        `tags` and `brackets` are given as to `predict`.

        Parameters
        ----------
        X : list of sentences
            Each a string or a list of words.
        n : int
            Trees a sentence, at most.
        tags : list of lists of str, optional
            The tag of each word, as for `predict`.
        brackets : list of lists, optional
            Constituents that a tree must have, as for `predict`.

        Returns
        -------
        list of Parses
            For each sentence its trees, with `log_joint` of each; empty for a sentence that has none.
        """
        whole_number("n", n, 1)
        state, sentences = self._learnt, as_sentences(X)
        given = self._given(sentences, tags, brackets)
        return [Parses(found) for found in self._each(sentences, given, lambda: NBestDecoder(state, n))]

    @reads
    def predict_marginals(
        self, X: Any, min_probability: float = 1e-6, *, tags: Any = None, brackets: Any = None
    ) -> list[list[Constituent]]:
        """How often each constituent is expected in the tree of each sentence, by first word, last word and falling p.

        Constituents that are expected less than `min_probability` times are left out; tags are constituents, too.
        `tags` and `brackets` are given as to `predict`: expected is what is in trees that have them.

        Parameters
        ----------
        X : list of sentences
            Each a string or a list of words.
        min_probability : float
            The least expected number that is reported.
        tags : list of lists of str, optional
            The tag of each word, as for `predict`.
        brackets : list of lists, optional
            Constituents that a tree must have, as for `predict`.

        Returns
        -------
        list of lists of Constituent
            For each sentence (label, first word, the one after the last, expected number).
        """
        real_number("min_probability", min_probability, at_least=0)
        state, sentences = self._learnt, as_sentences(X)

        def expecting() -> Callable[[list[str], Given | None], list[Constituent]]:
            parser = state.charts.summing_parser()
            return lambda words, given: expected_constituents(state, parser, words, given, min_probability)

        return self._each(sentences, self._given(sentences, tags, brackets), expecting)

    @reads
    def sample(self, n_samples: int = 1, random_state: Any = None, max_length: int | None = None) -> list[Tree]:
        """Trees as the grammar makes them, of the words that it has seen.

        Parameters
        ----------
        n_samples : int
        random_state : int, RandomState, Generator or None
            None: the estimator's own.
        max_length : int, optional
            Trees of more words are drawn anew: the others have the probabilities that they have among themselves. None:
            trees of any size, of a grammar whose trees have an expected one.

        Returns
        -------
        list of Tree
            `n_samples` trees, independent of each other.

        Raises
        ------
        ValueError
            If trees have no expected size and `max_length` is None.
        """
        whole_number("n_samples", n_samples, 1)
        if max_length is not None:
            whole_number("max_length", max_length, 1)
        sampler = TreeSampler(self._learnt, max_length)
        generator = as_generator(self.random_state if random_state is None else random_state)
        return [sampler.draw(generator) for _ in range(int(n_samples))]

    @reads
    def perplexity(self, X: Any) -> float:
        """e to −(Σ log p of the sentences) / (Σ their words): how many words there might have been at each place.

        Parameters
        ----------
        X : list of sentences
            Each a string or a list of words.

        Returns
        -------
        float
            Infinite if one of the sentences has no tree.

        Raises
        ------
        ValueError
            If there are no words.
        """
        sentences = as_sentences(X)
        n_words = sum(map(len, sentences))
        if n_words == 0:
            raise ValueError("X has no words: there is no perplexity of nothing")
        return float(np.exp(-self.score_samples(sentences).sum() / n_words))

    @reads
    def log_proba(self, X: Any, trees: Any) -> Floats:
        """log p(tree | words) of each sentence and its tree; −∞ where the tree is of other words.

        Parameters
        ----------
        X : list of sentences
            Each a string or a list of words.
        trees : list of trees
            One for each sentence, in whatever form `fit` takes them.

        Returns
        -------
        array of shape (n_sentences,)
            Natural logarithms, at most 0.
        """
        sentences = as_sentences(X)
        cleaned = self._cleaned_with(sentences, trees)
        joint = self._log_joint(cleaned)
        same = np.array(
            [tree is not None and tree.leaves() == words for tree, words in zip(cleaned, sentences, strict=True)], bool
        )
        with np.errstate(invalid="ignore"):
            found = joint - self.score_samples(sentences)
        return np.where(same & (joint > -np.inf), found, -np.inf)

    @reads
    def score_samples(self, X: Any, *, tags: Any = None, brackets: Any = None) -> Floats:
        """log p of each sentence: the sum over all its trees; −∞ where it has none.

        `tags` and `brackets` are given as to `predict`: the sum is over trees that have them.

        Parameters
        ----------
        X : list of sentences
            Each a string or a list of words.
        tags : list of lists of str, optional
            The tag of each word, as for `predict`.
        brackets : list of lists, optional
            Constituents that a tree must have, as for `predict`.

        Returns
        -------
        array of shape (n_sentences,)
            Natural logarithms.
        """
        state, sentences = self._learnt, as_sentences(X)

        found = self._each(sentences, self._given(sentences, tags, brackets), lambda: LogSum(state), halves=1)
        return np.array(found, np.float64)

    @reads
    def log_joint(self, trees: Any) -> Floats:
        """log p(words, tree) of each tree; −∞ where it has a rule that the grammar has not.

        Parameters
        ----------
        trees : list of trees
            In whatever form `fit` takes them.

        Returns
        -------
        array of shape (n_trees,)
            Sums of the logarithms of the rules' probabilities.
        """
        return self._log_joint(self._learnt.form.cleaned(trees))

    def _log_joint(self, cleaned: Iterable[Tree | None]) -> Floats:
        """log p of trees without what the grammar leaves out."""
        state, found = self._learnt, []
        binarizer = state.form.binarizer(state.rules.symbols)
        for tree in cleaned:
            if tree is None:
                raise ValueError("a tree without words has no probability")
            found.append(state.scorer.score(binarizer.derive(tree), state.lexicon(tree.leaves())))
        return np.array(found, np.float64)

    def _given(self, sentences: list[list[str]], tags: Any, brackets: Any) -> list[Given | None]:
        """What is given of each sentence, proved."""
        if tags is None and brackets is None:
            return [None] * len(sentences)
        labels, is_tag = self._learnt.charts.labels, self._learnt.tag_labels
        return read_given(sentences, tags, brackets, compress(labels, is_tag), labels)
