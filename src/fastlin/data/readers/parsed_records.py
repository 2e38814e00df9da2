"""What the readers of text formats make of records."""

import math
from typing import Any, NamedTuple

import numpy as np

from fastlin.data.blocks import Documents

TEXT_SEPARATOR = "\n"  # the texts of several columns


class ParsedRecords(NamedTuple):
    """The texts, labels and weights of some records."""

    texts: list[Any]
    labels: list[str] | None
    weights: list[float] | None
    kept: dict[Any, list[Any]] | None = None

    def documents(self, path: str, line: int) -> Documents:
        weights = None if self.weights is None else np.array(self.weights, dtype=np.float64)
        return Documents(self.texts, self.labels, weights, path, line, self.kept)


def as_weight(text: str) -> float:
    """A finite number from 0 on."""
    try:
        weight = float(text)
    except ValueError:
        raise ValueError(f"the weight {text!r:.60} is no number") from None
    if not 0 <= weight < math.inf:
        raise ValueError(f"the weight {text!r:.60} is not a finite number from 0 on")
    return weight
