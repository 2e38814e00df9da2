"""A learnt channel of characters: which edits were seen, how probable they are, and what the kernel says of words."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastlin.engine.channel.edit_lattice import EditLattice, EncodedWords
from fastlin.runtime.made_once import FieldsOnly, made_once

Floats = NDArray[np.float64]
N_CODE_POINTS = 0x110000
INSERT, CONSUME, ALONE, TRANSPOSE = range(4)  # kinds of contexts, as the kernel has them
WRITE, SWAP, DROP, ADD = range(4)  # steps of alignments


class EditRates(NamedTuple):
    """Probabilities of edits, whatever the characters."""

    insertion: float  # in each gap, again and again
    deletion: float  # of each character
    substitution: float
    transposition: float  # of each two characters


@dataclass(frozen=True)
class EditModel(FieldsOnly):
    """p(observed word | source word), as `engine/channel/edit_lattice.pyx` has it.

    `alphabet` are the code points that were seen, sorted, `keys` the events, sorted, `p` their probabilities.
    """

    alphabet: NDArray[np.int32]
    keys: NDArray[np.int64]
    p: Floats
    rates: EditRates

    @made_once
    def lattice(self) -> EditLattice:
        """The events, bound."""
        return EditLattice(self.keys, self.p, np.array(self.rates), len(self.alphabet))

    def encode(self, words: Sequence[str]) -> EncodedWords:
        """Words as numbers of characters."""
        points, starts = code_points(words)
        return EncodedWords(numbered(points, self.alphabet), starts, self.alphabet)

    def has_encoded(self, words: EncodedWords) -> bool:
        """Whether the numbers of words mean the characters that they mean here."""
        return words.alphabet is self.alphabet or np.array_equal(words.alphabet, self.alphabet)

    def score(
        self, sources: EncodedWords, which: NDArray[np.int32], observed: EncodedWords, observed_which: NDArray[np.int32]
    ) -> Floats:
        """ln p(observed | source) of pairs of words, which are places among encoded ones."""
        log_prob = np.empty(len(which))
        self.lattice.score(sources, which, observed, observed_which, log_prob)
        return log_prob

    def align(self, source: str, observed: str) -> tuple[float, NDArray[np.int8]]:
        """(ln p of the best way, its steps)."""
        steps = np.empty(len(source) + len(observed), np.int8)
        log_prob, n = self.lattice.align(self.encode([source]), self.encode([observed]), steps)
        return log_prob, steps[:n][::-1]


def code_points(words: Sequence[str]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Characters of words, one behind the other, and where each begins."""
    lengths = np.fromiter(map(len, words), np.int64, len(words))
    points = np.frombuffer("".join(words).encode("utf-32-le", "surrogatepass"), np.int32)
    return points, np.concatenate([[0], np.cumsum(lengths)])


def numbered(points: NDArray[np.int32], alphabet: NDArray[np.int32]) -> NDArray[np.int32]:
    """Characters as their places in an alphabet, from 1 on; others get a number of their own behind these."""
    places = np.searchsorted(alphabet, points)
    if not len(alphabet):
        return points + 1
    known = alphabet[np.minimum(places, len(alphabet) - 1)] == points
    return np.where(known, places + 1, points + (len(alphabet) + 1)).astype(np.int32)
