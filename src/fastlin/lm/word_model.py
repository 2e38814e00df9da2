"""The interface of the learnt probabilities of words."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fastlin.lm.backoff import StateNodes
from fastlin.lm.vocabulary import WordVocabulary


def prove_state(state: Any, least: int, most: int, n_words: int) -> None:
    """ValueError unless a state holds the numbers of so many words."""
    known = isinstance(state, tuple) and least <= len(state) <= most
    if not known or not all(type(word) is int and 0 <= word < n_words for word in state):
        raise ValueError("a state that the model does not have")


class WordModel(Protocol):
    """Probabilities of words, which are numbers of a vocabulary, after other words.

    A state is what the model needs to know of the words so far, a tuple of numbers.
    """

    @property
    def vocabulary(self) -> WordVocabulary: ...
    @property
    def order(self) -> int:
        """One more than the words that a state depends on."""

    def start(self) -> StateNodes:
        """The state where a sentence begins."""

    def state_after(self, words: Sequence[int], begin: bool) -> StateNodes:
        """The state after some words, at the beginning of a sentence or somewhere within one."""

    def advance(self, state: StateNodes, word: int) -> tuple[float, StateNodes]:
        """(ln p of a word after a state, the state after it)."""

    def score(self, tokens: NDArray[np.int32]) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        """ln p of every token, and the length of the n-gram it was found in; 0 where a sentence begins."""

    def next_word(self, state: StateNodes) -> NDArray[np.float32]:
        """ln p of every word but begin, in the order of their numbers."""
