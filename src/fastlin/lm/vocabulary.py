"""The words of a language model and their numbers."""

import collections
import secrets
import zlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fastlin.engine.text.string_numbering import StringNumbering
from fastlin.runtime.made_once import made_once
from fastlin.text.token_strings import decoded, encoded

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
        vocabulary = cls(*encoded(names))
        if len(vocabulary.table) != len(names):
            word = collections.Counter(names).most_common(1)[0][0]
            raise ValueError(f"a word must be there once, and be none of the marks of sentences, got {word!r} twice")
        return vocabulary

    @classmethod
    def of_table(cls, table: StringNumbering) -> "WordVocabulary":
        """Of a table that learns no more."""
        vocabulary = cls(*table.strings())
        vocabulary.__dict__["table"] = table
        return vocabulary

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getstate__(self) -> dict[str, NDArray[np.uint8] | NDArray[np.int64]]:
        return {"arena": self.arena, "offsets": self.offsets}

    def new_table(self) -> StringNumbering:
        """A table of these words that may learn more."""
        table = StringNumbering(secrets.randbits(64))
        table.number(self.arena, self.offsets, True)
        return table

    @made_once
    def table(self) -> StringNumbering:
        """The table that words are looked up in; it learns none."""
        return self.new_table()

    @made_once
    def names(self) -> list[str]:
        """All words, by their numbers."""
        return decoded(self.arena, self.offsets)

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
        return WordVocabulary(*encoded([names[number] for number in numbers.tolist()]))


def marks(unk: str | None) -> list[str]:
    """The strings that every vocabulary begins with."""
    return [BEGIN_NAME, END_NAME, UNKNOWN_NAME if unk is None else unk]


def look_up(table: StringNumbering, words: Sequence[str], learn: bool) -> NDArray[np.int32]:
    """Numbers of words; −1: unknown."""
    return table.number(*encoded(words), learn)
