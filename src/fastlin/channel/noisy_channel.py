"""`NoisyChannel`: the source that an observed text most probably comes from, by Bayes' rule."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from fastlin.channel import backoff_search
from fastlin.channel.base import Candidates, as_channel, find_candidates
from fastlin.channel.beam_search import BeamSearch, BestWays, ObservedWords, SumOfWays
from fastlin.channel.decoding import Decoding
from fastlin.channel.edit_channel import EditChannel
from fastlin.channel.edit_costs import EditCosts
from fastlin.channel.source import ModelSource, Source, as_source, listed
from fastlin.channel.string_search import StringSearch
from fastlin.core.estimator import Estimator, learns, reads
from fastlin.runtime.parallel import WorkerPool
from fastlin.validation import whole_number
from fastlin.validation.parameter_kinds import (
    ABSENT,
    BOOL,
    JOBS,
    PLAIN,
    Code,
    Integer,
    ParameterTable,
    Real,
    check_parameters,
    estimator,
)

Search = Callable[[Source, ObservedWords], list[Any]]
BATCH = 256  # sentences that are decoded together
LARGEST_WEIGHT = 1e6


class NoisyChannel(Estimator):
    """Decoding by Bayes' rule: argmax over sources of p(source) · p(observed | source).

    The source is a language model, the channel says of each observed word which source words it may stand for, and how
    probable they make it. The words of a sentence pass the channel one by one, each independently of the others.

    Parameters
    ----------
    source : LanguageModel
        p(source): any language model, or an object with `start()` and `advance(state, word)`, which returns ln p and
        the state after it, as language models do; `advance_many(states, words)` is asked instead where there is one.
        Of an object with `score_samples(messages)` alone, the sources are whole messages, and the channel is asked for
        candidates of whole sentences.
    channel : dict, callable or estimator
        p(observed | source): a table {source: {observed: p}}, a function f(observed) that returns pairs (source,
        ln p(observed | source)), or an object with such a method, `candidates`. An `EditChannel` has the source's words
        as candidates; if the source is of characters, it edits whole strings, in which at most `max_edits` characters
        in a row leave no trace.
    beam : int or None
        How many states of the source are kept after each word, the most probable; None: all, and what is found is the
        best there is; where strings are edited, that is refused of sources that are too many to keep.
    source_weight : float
        The power of p(source), which makes up for channels that are too sure of themselves.
    keep_unknown : bool
        Whether a word without candidates stands for itself; else it is an error.
    n_jobs : int or None
        Threads; they change no answer.

    Attributes
    ----------
    source_ : LanguageModel
        The copy that `fit` has fitted; only `fit` makes it.
    channel_ : estimator
        Likewise.

    Examples
    --------
    >>> from fastlin.channel import NoisyChannel
    >>> from fastlin.lm import NgramModel
    >>> lm = NgramModel(order=2, smoothing="witten_bell").fit(["I see the sea", "the sea is blue", "I see it"])
    >>> heard = {"see": {"C": 1.0}, "sea": {"C": 1.0}, "I": {"I": 1.0}, "the": {"the": 1.0}}
    >>> NoisyChannel(lm, heard).decode(["I C the C"])[0].words
    ['I', 'see', 'the', 'sea']
    """

    _parameters: ClassVar[ParameterTable] = {
        "source": estimator("start") | estimator("score_samples"),
        "channel": estimator("candidates") | estimator("bound_to") | PLAIN | Code(),
        "beam": Integer(at_least=1) | ABSENT, "source_weight": Real(at_least=0, at_most=LARGEST_WEIGHT),
        "keep_unknown": BOOL, "n_jobs": JOBS,
    }  # fmt: skip

    def __init__(
        self,
        source: Any,
        channel: Any,
        beam: int | None = 8,
        *,
        source_weight: float = 1.0,
        keep_unknown: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        self.source = source
        self.channel = channel
        self.beam = beam
        self.source_weight = source_weight
        self.keep_unknown = keep_unknown
        self.n_jobs = n_jobs

    @learns
    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit a copy of the source to a text, and of the channel to pairs; without it, both are taken as they are.

        Parameters
        ----------
        X : list of sentences, path or open file
            What the source's `fit` takes.
        y : list of (source, observed), optional
            What the channel's `fit` takes; without it, the channel is taken as it is.

        Returns
        -------
        self
            The fitted decoder; source and channel are in `source_` and `channel_`.
        """
        check_parameters(self)
        model = self._working_copy()
        model.source_ = clone(self.source).fit(X)
        if y is not None:
            model.channel_ = clone(self.channel).fit(y)
        return self._take_fitted(model)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    # --- decoding ----------------------------------------------------------------------------------------------------

    @reads
    def decode(self, X: Iterable[Any], n_best: int = 1) -> list[Any]:
        """The most probable sources of observed sentences.

        Parameters
        ----------
        X : list of sentences
            A sentence is a string, split as the source splits its own, or a list of words.
        n_best : int
            How many sources of each.

        Returns
        -------
        list of Decoding
            `words` and `log_prob`, source_weight · ln p(source) + ln p(observed | source), for each sentence; a list of
            at most n_best of them, best first, if n_best is more than 1. A sentence that no source can have become is
            as it was observed, with −∞.
        """
        n_best = whole_number("n_best", n_best, 1)
        found = [best or [Decoding(words, -np.inf)] for words, best in self._ranked(X, n_best)]
        return [best[0] for best in found] if n_best == 1 else found

    def _ranked(self, X: Any, n_best: int) -> Iterator[tuple[list[str], list[Decoding]]]:
        """Every observed sentence, and its sources, best first."""
        strings = self._strings()
        if strings is not None:
            for observed, sources in strings.search(X, self.n_jobs):
                yield list(observed), [Decoding(list(text), log_prob) for log_prob, text in sources[:n_best]]
            return
        turn = -1 if as_source(self._source).backward else 1
        for sentences, found in self._searched(X, self._best_of(n_best)):
            for words, sources in zip(sentences, found, strict=True):
                yield words, [Decoding(source[::turn], log_prob) for log_prob, source in sources]

    def _best_of(self, n_best: int) -> Search:
        """The search for the best sources of sentences."""

        def search(source: Source, tokens: ObservedWords) -> list[list[tuple[float, list[str]]]]:
            beam, weight = self.beam, float(self.source_weight)
            if n_best == 1 and backoff_search.is_for(source, beam, weight):
                paths = backoff_search.best_paths(source, tokens, beam, weight)
                return [[path] if path[0] > -np.inf else [] for path in paths]
            found = BeamSearch(source, BestWays(n_best), beam, weight).run(tokens)
            return [[(one.log_prob, one.words()) for one in hypotheses] for hypotheses in found]

        return search

    @reads
    def score_samples(self, X: Iterable[Any]) -> NDArray[np.float64]:
        """ln Σ p(source)^source_weight · p(observed | source) of each sentence, over all sources within the beam.

        Parameters
        ----------
        X : iterable of sentences
            Observed sentences, each a string or a list of words.

        Returns
        -------
        array of shape (n_sentences,)
            Nats; −∞ where no source within the beam explains the sentence.
        """
        strings = self._strings()
        if strings is not None:
            sources = [found for _, found in strings.search(X, self.n_jobs)]
            return np.array([np.logaddexp.reduce([p for p, _ in found], initial=-np.inf) for found in sources], float)

        def summed(source: Source, tokens: ObservedWords) -> list[float]:
            return BeamSearch(source, SumOfWays(), self.beam, float(self.source_weight)).run(tokens)

        found = [sums for _, sums in self._searched(X, summed)]
        return np.array([one for sums in found for one in sums], np.float64)

    @property
    def _source(self) -> Any:
        return self.__dict__.get("source_", self.source)

    @property
    def _channel(self) -> Any:
        return self.__dict__.get("channel_", self.channel)

    def _strings(self) -> StringSearch | None:
        """The search for strings, where both the source and the channel are of characters."""
        check_parameters(self)
        source, channel = as_source(self._source), self._channel
        if not (isinstance(channel, EditChannel) and isinstance(source, ModelSource) and source.by_character):
            return None
        if source.backward:
            raise ValueError("source must read characters forward, as the channel edits them")
        edits = EditCosts(channel._snapshot()._learnt, source.words())
        return StringSearch(source, edits, int(channel.max_edits), self.beam, float(self.source_weight))

    def _searched(self, X: Any, search: Search) -> Iterator[tuple[list[list[str]], list[Any]]]:
        """Batches of sentences, and what a search has found of each sentence."""
        source = as_source(self._source)
        channel = as_channel(self._channel, source.words)

        def searched(sentences: list[list[str]]) -> tuple[list[list[str]], list[Any]]:
            return sentences, search(source, self._tokens(channel, sentences, source.backward))

        sentences = [source.tokens(place, sentence) for place, sentence in enumerate(listed(X))]
        jobs = [(sentences[start : start + BATCH],) for start in range(0, len(sentences), BATCH)]
        with WorkerPool(self.n_jobs) as workers:
            yield from workers.map(searched, jobs)

    def _tokens(self, channel: Any, sentences: list[list[str]], backward: bool) -> ObservedWords:
        """The words of sentences as numbers, and the candidates of each number."""
        numbers: dict[str, int] = {}
        rows = [[numbers.setdefault(word, len(numbers)) for word in words] for words in sentences]
        words = list(numbers)
        candidates = find_candidates(channel, words)
        alone = np.flatnonzero(np.diff(candidates.starts) == 0)
        if len(alone):
            candidates = self._standing_for_themselves(words, candidates, alone)
        return ObservedWords([row[::-1] for row in rows] if backward else rows, candidates)

    def _standing_for_themselves(
        self, words: list[str], candidates: Candidates, alone: NDArray[np.int64]
    ) -> Candidates:
        if not self.keep_unknown:
            raise ValueError(
                f"channel has no candidates for {words[alone[0]]!r:.60}; keep_unknown=True lets such words stand for "
                "themselves"
            )
        found = [candidates.of_word(i) or [(word, 0.0)] for i, word in enumerate(words)]
        return Candidates.of(found)
