"""The base of language models that are back-off models: they score by threads, and are written in ARPA's format."""

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.core.estimator import reads
from fastlin.lm import arpa
from fastlin.lm.backoff import BackoffModel, StateNodes
from fastlin.lm.base import LanguageModel
from fastlin.lm.sentences import BATCH
from fastlin.lm.word_model import WordModel
from fastlin.run import Workers
from fastlin.validation.parameters import whole_number


class BackoffLanguageModel(LanguageModel):
    """A language model that is a back-off model."""

    @property
    def _backoff_model(self) -> BackoffModel:
        raise NotImplementedError

    @property
    def _word_model(self) -> WordModel:
        return self._backoff_model

    def _scored(self, X: Any) -> Iterator[tuple[NDArray[np.int32], NDArray[np.float64]]]:
        """Score by threads: each has a part of a block, and the blocks, so all sums, are those of one thread."""
        with Workers(getattr(self, "n_jobs", None)) as workers:
            if workers.threads == 1 or not isinstance(X, list | tuple):
                yield from super()._scored(X)
                return
            model, reader = self._backoff_model, self._reader()
            table = model.vocabulary.table

            def work(start: int, stop: int) -> list[tuple[NDArray[np.int32], NDArray[np.float64]]]:
                blocks = reader.blocks(X[start:stop], table, False, start)
                return [(tokens, model.score(tokens)[0]) for tokens in blocks]

            for first in range(0, len(X), BATCH):
                size = min(BATCH, len(X) - first)
                cuts = [first + size * part // workers.threads for part in range(workers.threads + 1)]
                parts = list(itertools.chain.from_iterable(workers.map(work, itertools.pairwise(cuts))))
                if parts:
                    yield np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])

    def _next_word(self, model: WordModel, state: StateNodes) -> NDArray[np.float32]:
        return model.next_probabilities(state) if isinstance(model, BackoffModel) else super()._next_word(model, state)

    @property
    @reads
    def n_grams_(self) -> list[int]:
        """How many n-grams of each order the model holds."""
        return self._backoff_model.n_grams

    @reads
    def ngrams(self, n: int, places: Any = None) -> list[tuple[str, ...]]:
        """The n-grams of an order, in the order in which the model has them; of unigrams those of `words_`.

        Parameters
        ----------
        n : int
            The order.
        places : array of int, optional
            Which of them; all when not given.
        """
        model, n = self._backoff_model, whole_number("n", n, 1)
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
