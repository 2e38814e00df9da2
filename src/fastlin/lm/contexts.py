"""Contexts of models whose states are the last words: as tuples, as rows of a matrix, as keys."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fastlin.lm.backoff import StateNodes
from fastlin.lm.vocabulary import BEGIN, UNKNOWN

Integers = NDArray[np.int64]


def last_words(words: Sequence[int], begin: bool, most: int) -> StateNodes:
    """The last words, at most so many, at the beginning of a sentence or within one; the unknown word, if none."""
    state = (BEGIN, *words) if begin else tuple(words)
    return state[-most:] or (UNKNOWN,)


def contexts_before(tokens: NDArray[np.int32], places: Integers, n: int) -> Integers:
    """The n words before each place, the last one last; −1 before a sentence begins."""
    contexts = np.full((len(places), n), -1, np.int64)
    known = np.ones(len(places), bool)
    for back in range(1, n + 1):
        contexts[known, -back] = tokens[places[known] - back]
        known &= contexts[:, -back] != BEGIN
    return contexts


def find(keys: Integers, wanted: Integers) -> Integers:
    """The places of numbers among sorted keys; −1: there is none."""
    if not len(keys):
        return np.full(len(wanted), -1)
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[place] == wanted, place, -1)
