"""What do the comparisons of sequence models share? Their lines, their data, and when two answers are the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from chunks import Part


@dataclass(frozen=True)
class Line:
    """What two sides took for one thing, and the factors asked for and hoped for."""

    question: str
    ours: float
    theirs: float
    least: float | str = ""
    aim: float | str = ""
    unit: str = "s"
    more_is_better: bool = False

    @property
    def ratio(self) -> float:
        return self.ours / self.theirs if self.more_is_better else self.theirs / self.ours

    def cells(self) -> list[object]:
        return [self.question, self.unit, self.ours, self.theirs, self.ratio, self.least, self.aim]


@dataclass(frozen=True)
class Parts:
    """The training part, the test part, and a file for CRFsuite's models."""

    train: Part
    test: Part
    path: Path


def until(value: float) -> Callable[[Any, dict[str, Any]], bool]:
    """A callback that ends a fit whose objective is as low; that of an epoch of SGD is not exact."""
    return lambda _, record: "eta0" not in record and record["objective"] <= value


def first_within(values: Sequence[float], enough: float) -> int:
    """How many iterations there are up to the first value that is low enough."""
    return 1 + int(np.argmax(np.array(values) <= enough))


def agreement(one: list[list[str]], other: list[list[str]]) -> float:
    return float(np.mean([a == b for a, b in zip(chain(*one), chain(*other), strict=True)]))


def same_weights(one: Any, other: Any) -> bool:
    """Whether two models are the same, bit for bit."""
    pairs = ((getattr(one, name), getattr(other, name)) for name in ("coef_", "transitions_"))
    return all(np.array_equal(*map(values, pair)) for pair in pairs)


def values(weights: Any) -> np.ndarray:
    """Those of an array or a CSR."""
    return weights.data if sparse.issparse(weights) else weights
