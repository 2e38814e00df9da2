from collections.abc import Callable, Iterator
from typing import Self

import numpy as np
from numpy.typing import NDArray

WORDS: int
CHARACTERS: int
IN_WORDS: int
WORD: int
VISIBLE: int

def character_tables(fold: bool, clause_ends: str) -> tuple[NDArray[np.uint8], NDArray[np.uint16]]: ...

class NgramVocabulary:
    def __new__(cls, seed: int) -> Self: ...
    def __len__(self) -> int: ...
    def copy(self) -> NgramVocabulary: ...
    def arrays(self) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.uint8], NDArray[np.int64]]: ...
    def add_strings(self, arena: NDArray[np.uint8], offsets: NDArray[np.int64]) -> NDArray[np.int32]: ...
    def add_terms(
        self, arena: NDArray[np.uint8], offsets: NDArray[np.int64], shortest: int, longest: int
    ) -> NDArray[np.int32]: ...
    def names(self, nodes: NDArray[np.int32]) -> NDArray[np.object_]: ...
    def absorb(
        self, other: NgramVocabulary, low: int, high: int, nodes: NDArray[np.int32], wanted: NDArray[np.uint8] | None
    ) -> None: ...
    def restore(
        self,
        prefix: NDArray[np.int32],
        last: NDArray[np.int32],
        arena: NDArray[np.uint8],
        offsets: NDArray[np.int64],
    ) -> None: ...

class OwnedBuffer:
    def __buffer__(self, flags: int, /) -> memoryview: ...

class StringSlices:
    def __new__(cls, data: NDArray[np.uint8], places: NDArray[np.int64], others: dict[int, str]) -> Self: ...
    def __len__(self) -> int: ...
    def __getitem__(self, i: int) -> str: ...
    def __iter__(self) -> Iterator[str]: ...
    def mapped(self, function: Callable[[str], str]) -> StringSlices: ...

class DocumentReader:
    def __new__(
        cls,
        unit: int,
        shortest: int,
        longest: int,
        tables: tuple[NDArray[np.uint8], NDArray[np.uint16]],
        fold: bool,
        member: int,
        least: int,
        letter_first: bool,
        negators: NgramVocabulary | None,
        prefixes: NDArray[np.int32],
        suffixes: NDArray[np.int32],
    ) -> Self: ...
    def use_automaton(
        self,
        classes: NDArray[np.uint8],
        all_classes: NDArray[np.uint8],
        transitions: NDArray[np.int32],
        starts: NDArray[np.int32],
        words: NDArray[np.uint8],
        runs: bool,
    ) -> None: ...
    def watch_stop_flag(self, stop: NDArray[np.int32]) -> None: ...
    def count(
        self,
        documents: list[str] | StringSlices,
        vocabulary: NgramVocabulary,
        learn: bool,
        ignored: int,
        columns: NDArray[np.int32] | None,
    ) -> None: ...
    def hash(
        self,
        documents: list[str] | StringSlices,
        n_buckets: int,
        signs: bool,
        in_order: bool,
        stop_words: NgramVocabulary,
    ) -> None: ...
    def take(self) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]: ...
    def renumber(
        self,
        lengths: NDArray[np.int64],
        numbers: NDArray[np.int32],
        counts: NDArray[np.int32],
        nodes: NDArray[np.int32],
        n: int,
    ) -> None: ...
    def rows(self, n: int) -> NDArray[np.int32]: ...
