"""Right tags and predicted ones, sentence by sentence."""

from collections.abc import Iterable
from typing import Any


def paired_sentences(y_true: Any, y_pred: Any, first: int = 0) -> Iterable[tuple[list[Any], list[Any]]]:
    """Right and predicted tags, sentence by sentence, of the same lengths."""
    true, predicted = list(y_true), list(y_pred)
    if len(true) != len(predicted):
        raise ValueError(f"y_true has {len(true)} sequences, y_pred {len(predicted)}")
    for place, (own, other) in enumerate(zip(true, predicted, strict=True), first):
        for name, tags in (("y_true", own), ("y_pred", other)):
            if isinstance(tags, str) or not hasattr(tags, "__len__"):
                raise TypeError(f"{name} must be a list of sequences of labels; entry {place} is {tags!r:.60}")
        if len(own) != len(other):
            raise ValueError(f"sequence {place} has {len(own)} labels in y_true and {len(other)} in y_pred")
        yield list(own), list(other)
