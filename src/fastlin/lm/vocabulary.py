"""The words of a language model and their numbers."""

import collections
import itertools
import secrets
import zlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fastlin.engine.lm.ngram_words import WordTable
from fastlin.runtime.made_once import made_once
from fastlin.text import token_strings

BEGIN, END, UNKNOWN, MARKS = 0, 1, 2, 3
BEGIN_NAME, END_NAME, UNKNOWN_NAME = "<s>", "</s>", "<unk>"


class WordVocabulary:
    """Strings, numbered: first the marks that begin and end a sentence and stand for unknown words. Never changed.

    Parameters
    ----------
    arena : ndarray of uint8
        The strings in UTF-8, one behind the other, and 64 bytes behind the last.
    offsets : ndarray of int64, shape (n_words + 1,)
        Where each begins.
    """

    def __init__(self, arena: NDArray[np.uint8], offsets: NDArray[np.int64]) -> None:
        self.arena, self.offsets = arena, offsets

    @classmethod
    def of(cls, names: Sequence[str]) -> "WordVocabulary":
        """Of names, the marks among them; ValueError: one is there twice."""
        vocabulary = cls(*_strings(names))
        if len(vocabulary.table) != len(names):
            word = collections.Counter(names).most_common(1)[0][0]
            raise ValueError(f"a word must be there once, and be none of the marks of sentences, got {word!r} twice")
        return vocabulary

    @classmethod
    def of_table(cls, table: WordTable) -> "WordVocabulary":
        """Of a table that learns no more."""
        vocabulary = cls(*table.strings())
        vocabulary.__dict__["table"] = table
        return vocabulary

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getstate__(self) -> dict[str, NDArray[np.uint8] | NDArray[np.int64]]:
        return {"arena": self.arena, "offsets": self.offsets}

    def new_table(self) -> WordTable:
        """A table of these words that may learn more."""
        table = WordTable(secrets.randbits(64))
        table.look_up(self.arena, self.offsets, True, np.empty(len(self), np.int32))
        return table

    @made_once
    def table(self) -> WordTable:
        """The table that words are looked up in; it learns none."""
        return self.new_table()

    @made_once
    def names(self) -> list[str]:
        """All words, by their numbers."""
        data, offsets = self.arena.tobytes(), self.offsets.tolist()
        pairs = itertools.pairwise(offsets)
        return [data[start:stop].decode("utf-8", "surrogatepass") for start, stop in pairs]

    @made_once
    def numbers(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.names)}

    @made_once
    def checksum(self) -> int:
        """A number that tells vocabularies apart."""
        return zlib.crc32(self.arena[: self.offsets[-1]].tobytes(), zlib.crc32(self.offsets.tobytes()))

    def taking(self, numbers: NDArray[np.int32]) -> "WordVocabulary":
        """Only some of these words, in this order."""
        names = self.names
        return WordVocabulary(*_strings([names[number] for number in numbers.tolist()]))


def _strings(names: Sequence[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    arena, offsets = token_strings.read([list(names)], [0])[1][0]
    return arena, offsets


def marks(unk: str | None) -> list[str]:
    """The strings that every vocabulary begins with."""
    return [BEGIN_NAME, END_NAME, UNKNOWN_NAME if unk is None else unk]


def look_up(table: WordTable, words: Sequence[str], learn: bool) -> NDArray[np.int32]:
    """Numbers of words; −1: unknown."""
    numbers = np.empty(len(words), np.int32)
    table.look_up(*_strings(words), learn, numbers)
    return numbers
