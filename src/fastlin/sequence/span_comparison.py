"""Whether one tagger finds spans, or tags tokens, better than another, or only by chance."""

from operator import eq
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.inspection.comparison import SAMPLES, Comparison, compare_counts, f1_of
from fastlin.sequence.metrics import spans
from fastlin.sequence.paired_sentences import paired_sentences


def compare_spans(
    y_true: Any,
    first: Any,
    second: Any,
    *,
    n_samples: int = SAMPLES,
    confidence: float = 0.95,
    random_state: int = 0,
) -> Comparison:
    """Compare two taggers by the F1 of spans: is one better, or is it chance? Sentences are drawn and exchanged whole.

    Parameters
    ----------
    y_true : list of sequences of labels
        The right ones.
    first, second : list of sequences of labels
        Those predicted.
    n_samples : int
        Of the bootstrap, and of the randomisation.
    confidence : float
        The share of the bootstrap's samples inside of the interval.
    random_state : int
        The seed of the draws.

    Returns
    -------
    fastlin.inspection.Comparison

    Examples
    --------
    >>> from fastlin.sequence import compare_spans
    >>> y = [["B-NP", "O"], ["O", "B-VP"]] * 20
    >>> print(compare_spans(y, [["B-NP", "B-NP"], ["O", "O"]] * 20, y).p_value < 0.001)
    True
    """
    pairs = zip(paired_sentences(y_true, first), paired_sentences(y_true, second), strict=True)
    found = (map(spans, (own, one, two)) for (own, one), (_, two) in pairs)
    facts = [[len({*own} & {*one}), len(one), len({*own} & {*two}), len(two), len(own)] for own, one, two in found]

    def counts(kinds: NDArray[np.int64], model: int) -> NDArray[np.float64]:
        right, said = kinds[:, 2 * model - 2], kinds[:, 2 * model - 1]
        return np.column_stack([right, said + kinds[:, 4]]).astype(float)

    return compare_counts(
        np.array(facts, np.int64).reshape(-1, 5), counts, lambda sums, _: f1_of(sums[:, 0], sums[:, 1]),
        name="F1 of spans", unit="sentences", n_samples=n_samples, confidence=confidence, random_state=random_state,
    )  # fmt: skip


def compare_tags(y_true: Any, first: Any, second: Any) -> Comparison:
    """The same by the share of tokens that get their tag, for tags that are no spans."""
    pairs = zip(paired_sentences(y_true, first), paired_sentences(y_true, second), strict=True)
    facts = [[sum(map(eq, own, one)), sum(map(eq, own, two)), len(own)] for (own, one), (_, two) in pairs]
    return compare_counts(
        np.array(facts, np.int64).reshape(-1, 3), lambda kinds, model: kinds[:, [model - 1, 2]].astype(float),
        lambda sums, _: sums[:, 0] / np.maximum(sums[:, 1], 1), name="accuracy", unit="sentences",
    )  # fmt: skip
