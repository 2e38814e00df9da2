"""The base of language models that are back-off models: they score by threads, and are written in ARPA's format."""

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from fastlin.core.estimator import reads
from fastlin.lm import arpa
from fastlin.lm.backoff import BackoffModel, StateNodes
from fastlin.lm.base import LanguageModel, State, sentence_sums
from fastlin.lm.sentences import BATCH
from fastlin.lm.word_model import WordModel
from fastlin.runtime.parallel import WorkerPool
from fastlin.validation.parameters import whole_number

R = TypeVar("R")
Scored = tuple[NDArray[np.int32], NDArray[np.float64]]
PARTS_OF_A_THREAD = 2  # so that one that was kept waiting has less to do


class BackoffLanguageModel(LanguageModel, ABC):
    """A language model that is a back-off model."""

    @property
    @abstractmethod
    def _backoff_model(self) -> BackoffModel:
        """The model as it was learnt; NotFittedError: there is none."""

    @property
    def _ngrams(self) -> BackoffModel:
        """The n-grams that the model holds."""
        return self._backoff_model

    @property
    def _word_model(self) -> WordModel:
        return self._backoff_model

    def _scored(self, X: Any) -> Iterator[Scored]:
        """Score by threads: each has parts of a block, and the blocks, so all sums, are those of one thread."""
        for parts in self._in_parts(X, lambda tokens, log_prob: (tokens, log_prob)):
            if len(parts) == 1:
                yield parts[0]
            else:
                yield np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])

    def _sentence_sums(self, X: Any) -> Iterator[NDArray[np.float64]]:
        return itertools.chain.from_iterable(self._in_parts(X, sentence_sums))

    def _in_parts(self, X: Any, work: Callable[[NDArray[np.int32], NDArray[np.float64]], R]) -> Iterator[list[R]]:
        """work(tokens, ln p of each) of all parts of one block after the other; threads share the parts of a list."""
        model, reader = self._word_model, self._reader()
        table = model.vocabulary.table

        def scored(start: int, stop: int) -> list[R]:
            blocks = reader.blocks(X[start:stop], table, False, start)
            return [work(tokens, _log_prob(model, tokens)) for tokens in blocks]

        with WorkerPool(getattr(self, "n_jobs", None)) as workers:
            if workers.threads == 1 or not isinstance(X, list | tuple) or not isinstance(model, BackoffModel):
                for tokens in self._blocks(X):
                    yield [work(tokens, _log_prob(model, tokens))]
                return
            for first in range(0, len(X), BATCH):
                size, n_parts = min(BATCH, len(X) - first), PARTS_OF_A_THREAD * workers.threads
                cuts = [first + size * part // n_parts for part in range(n_parts + 1)]
                parts = list(itertools.chain.from_iterable(workers.map(scored, itertools.pairwise(cuts))))
                if parts:
                    yield parts

    def _next_word(self, model: WordModel, state: StateNodes) -> NDArray[np.float32]:
        return model.next_probabilities(state) if isinstance(model, BackoffModel) else super()._next_word(model, state)

    def _advance_many(self, states: list[State], words: NDArray[np.int32]) -> tuple[NDArray[np.float64], list[State]]:
        model = self._word_model
        if not isinstance(model, BackoffModel):
            return super()._advance_many(states, words)
        return model.advance_many(states, self._mark(), State, words)

    @property
    @reads
    def n_grams_(self) -> list[int]:
        """How many n-grams of each order the model holds."""
        return self._ngrams.n_grams

    @reads
    def ngrams(self, n: int, places: Any = None) -> list[tuple[str, ...]]:
        """The n-grams of an order, in the order in which the model has them; of unigrams those of `words_`.

        Parameters
        ----------
        n : int
            The order.
        places : array of int, optional
            Which of them; all when not given.

        Returns
        -------
        list of tuple of str
            Each of n words, the first one first.

        Raises
        ------
        ValueError
            If n is above the model's order.
        """
        model, n = self._ngrams, whole_number("n", n, 1)
        if n > model.order:
            raise ValueError(f"n must be at most the model's order, {model.order}, got {n}")
        rows = model.rows(n - 1)[n == 1 :]
        names = model.vocabulary.names
        return [tuple(names[word] for word in row) for row in (rows if places is None else rows[places]).tolist()]

    @reads
    def to_arpa(self, path: Any) -> None:
        """Write the model in ARPA's format, which KenLM, SRILM and others read.

        Parameters
        ----------
        path : str, path, or file open for writing bytes
            Names that end in .gz, .bz2, .xz or .zst are compressed.
        """
        arpa.write(self._backoff_model, path, characters=self._reader().unit == "character")


def _log_prob(model: WordModel, tokens: NDArray[np.int32]) -> NDArray[np.float64]:
    """ln p of every token."""
    return model.token_log_prob(tokens) if isinstance(model, BackoffModel) else model.score(tokens)[0]
