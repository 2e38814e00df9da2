"""What a fitted model says of the segments of a corpus: a map over them."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fastlin.core.dataset_passes import SegmentPartition


@dataclass(frozen=True)
class HeldModel:
    """A model as workers hold it."""

    is_constant_of_fit: ClassVar[bool] = True
    model: Any


def predict_segment(part: SegmentPartition, fitted: HeldModel, method: str) -> NDArray[Any]:
    """The answers of one of the model's methods for a segment's rows."""
    found: NDArray[Any] = getattr(fitted.model, method)(part.rows.matrix())
    return found


def score_segment(part: SegmentPartition, fitted: HeldModel, classes: NDArray[Any]) -> tuple[float, float]:
    """The weight of a segment's rows, and of those whose label is predicted."""
    right = fitted.model.predict(part.rows.matrix()) == classes[part.codes]
    if not len(part.weights):
        return float(len(right)), float(np.count_nonzero(right))
    return float(part.weights.sum()), float(part.weights @ right)
