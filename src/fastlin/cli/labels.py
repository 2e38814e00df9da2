"""Labels as the command line shows them, and as it is told of them."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np


def shown(label: Any) -> Any:
    """A label as it stood in its file: those of svmlight are floats, and 3.0 was 3."""
    return int(label) if isinstance(label, float) and label.is_integer() else label


def all_shown(labels: Any) -> list[Any]:
    """Labels in their shown form, as Python's own objects."""
    return [shown(label) for label in (labels.tolist() if isinstance(labels, np.ndarray) else labels)]


def known(text: str, labels: Sequence[Any]) -> Any:
    """The label that a word stands for: one that is shown so, or the number that it writes; else the word itself."""
    for label in labels:
        if text in (label, str(label), str(shown(label))):
            return label
    try:
        number = float(text)
    except ValueError:
        return text
    return next((label for label in labels if isinstance(label, int | float) and label == number), text)


def all_known(words: Iterable[Any], labels: Sequence[Any]) -> list[Any]:
    """The labels that words of a file stand for, where a model's labels are numbers."""
    words = list(words)
    if all(isinstance(label, str) for label in labels):
        return words
    meant = {word: known(word, labels) for word in {word for word in words if isinstance(word, str)}}
    return [meant.get(word, word) if isinstance(word, str) else word for word in words]
