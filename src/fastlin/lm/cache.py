"""`Cache`: the words that were used lately come again."""

import math
from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from fastlin.engine.lm import word_cache
from fastlin.lm.vocabulary import BEGIN
from fastlin.validation.parameter_kinds import Integer, ParameterTable, Real, check_parameters

HIGHEST = 8  # order


class Cache(BaseEstimator):
    """The relative frequencies of the last n-grams of the text so far, across sentences (Kuhn & De Mori 1990).

    p(w | h) is the share that w has of the words that followed h among the last `size` words, where one that is i words
    old weighs e^{−decay · i/size}. A part of an `Interpolation`: where the history was not seen, it has no opinion.
    Ends of sentences are words.

    Parameters
    ----------
    size : int
        How many words it remembers.
    order : int
        The n of its n-grams: 1 counts words, 2 words after the word before, from 1 to 8.
    decay : float
        How much faster it forgets; 0: all words weigh the same.
    """

    _parameters: ClassVar[ParameterTable] = {
        "size": Integer(at_least=1), "order": Integer(at_least=1, at_most=HIGHEST),
        "decay": Real(at_least=0, at_most=1e3),
    }  # fmt: skip

    def __init__(self, size: int = 500, *, order: int = 1, decay: float = 5.0) -> None:
        self.size = size
        self.order = order
        self.decay = decay

    def checked(self) -> tuple[int, int, float]:
        """Size, order and the rate of forgetting.

        Returns
        -------
        (int, int, float)
            `size`, `order`, and `decay` divided by `size`.
        """
        check_parameters(self)
        return int(self.size), int(self.order), float(self.decay) / int(self.size)

    @property
    def window(self) -> int:
        """The words that it depends on."""
        size, order, _ = self.checked()
        return size + order - 1

    def score(self, tokens: NDArray[np.int32]) -> NDArray[np.float64]:
        """p of every token after those before it; NaN where there is none, and where a sentence begins.

        Parameters
        ----------
        tokens : array of int32 of shape (n,)
            Numbers of words, sentences behind each other, each with the number of its beginning.

        Returns
        -------
        array of shape (n,)
            Probabilities, or NaN.
        """
        size, order, rate = self.checked()
        inside = np.flatnonzero(tokens != BEGIN)
        p, words = np.full(len(tokens), np.nan), tokens[inside].astype(np.int64)
        if len(words) < order:
            return p
        histories = np.zeros(len(words) - order + 1, np.int64)
        for back in range(order - 1, 0, -1):
            histories = histories * (words.max() + 1) + words[order - 1 - back : len(words) - back]
            histories = np.unique(histories, return_inverse=True)[1]
        grams = np.unique(histories * (words.max() + 1) + words[order - 1 :], return_inverse=True)[1]
        n, found = len(grams), np.empty(len(grams))
        word_cache.relative_frequencies(
            grams.astype(np.int32), histories.astype(np.int32), rate, min(size, n), np.zeros((2, n)),
            np.zeros((2, n), np.int64), np.zeros(n, np.int32), found,
        )  # fmt: skip
        p[inside[order - 1 :]] = found
        return p

    def word_probabilities(self, past: Sequence[int], n_words: int) -> NDArray[np.float64] | None:
        """p of every word but begin after the words so far; None where their last ones were not seen.

        Parameters
        ----------
        past : sequence of int
            Numbers of the words so far.
        n_words : int
            Numbers that there are, with that of the beginning.

        Returns
        -------
        array of shape (n_words - 1,), or None
            Probabilities that sum to 1.
        """
        p = np.zeros(n_words)
        for word, weight in self._followers(past):
            p[word] += weight
        total = p.sum()
        return p[BEGIN + 1 :] / total if total else None

    def advance(self, past: tuple[int, ...], word: int) -> tuple[float | None, tuple[int, ...]]:
        """(p of a word after the words so far, these and the word); no p where their last ones were not seen.

        Parameters
        ----------
        past : tuple of int
            Numbers of the words so far.
        word : int
            The number of the next one.

        Returns
        -------
        (float or None, tuple of int)
            p(word | past), and the past of the word that comes next, no longer than it is needed.
        """
        own = total = 0.0
        for other, weight in self._followers(past):
            total += weight
            own += weight if other == word else 0.0
        return (own / total if total else None), (*past, word)[-self.window :]

    def _followers(self, past: Sequence[int]) -> Iterator[tuple[int, float]]:
        """The words that followed the last ones, and their weights."""
        size, order, rate = self.checked()
        history, n = tuple(past[len(past) - order + 1 :]), len(past)
        if n < order - 1:
            return
        for place in range(max(order - 1, n - size), n):
            if tuple(past[place - order + 1 : place]) == history:
                yield past[place], math.exp(-rate * (n - place))
