"""What the readers of text formats make of records."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from fastlin.data.blocks import Documents

TEXT_SEPARATOR = "\n"  # the texts of several columns


class NumberedLabels(Sequence[str]):
    """Labels by their places among names, of which more may come behind these."""

    def __init__(self, numbers: NDArray[np.int32], names: list[str]) -> None:
        self.numbers, self.names = numbers, names

    def __len__(self) -> int:
        return len(self.numbers)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> "NumberedLabels": ...
    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return NumberedLabels(self.numbers[place], self.names)
        return self.names[self.numbers[place]]

    def distinct(self) -> set[str]:
        """Each label once."""
        return {self.names[number] for number in np.flatnonzero(np.bincount(self.numbers))}


class ParsedRecords(NamedTuple):
    """The texts, labels and weights of some records."""

    texts: list[Any]  # or what is read in place: slices, and labels that are numbered
    labels: list[Any] | None  # strings, or numbers where these are wanted
    weights: list[float] | None
    kept: dict[Any, list[Any]] | None = None

    def with_targets(self) -> "ParsedRecords":
        """The same, its labels as numbers. ValueError: one is none."""
        return self if self.labels is None else self._replace(labels=[as_target(label) for label in self.labels])

    def documents(self, path: str, line: int) -> Documents:
        weights = None if self.weights is None else np.array(self.weights, dtype=np.float64)
        return Documents(self.texts, self.labels, weights, path, line, self.kept)


def as_target(label: Any) -> float:
    """A finite number."""
    try:
        target = float(label)
    except ValueError:
        raise ValueError(f"the label {label!r:.60} is no number") from None
    if not math.isfinite(target):
        raise ValueError(f"the label {label!r:.60} is not finite")
    return target


def as_weight(text: str) -> float:
    """A finite number from 0 on."""
    try:
        weight = float(text)
    except ValueError:
        raise ValueError(f"the weight {text!r:.60} is no number") from None
    if not 0 <= weight < math.inf:
        raise ValueError(f"the weight {text!r:.60} is not a finite number from 0 on")
    return weight
