"""Whether one model is better than another on the same data, or only by chance.

Two answers, both of pairs: the bootstrap (Efron & Tibshirani 1993; Koehn 2004) draws as many documents anew and looks
how the difference of the figures scatters; approximate randomisation (Noreen 1989; Yeh 2000) exchanges the two models'
answers, document by document, by the toss of a coin, and looks how often a difference as large as the one found comes
about. Documents on which the models have the same counts are alike to both, so that a multinomial draw of how many of
each kind there are, and a binomial one of how many are exchanged, are the same in distribution as a draw of each.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from itertools import chain
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fastlin.inspection import html
from fastlin.validation import one_of, whole_number

Sums = NDArray[np.float64]  # [n_samples, d]
BLOCK = 1 << 22  # numbers that are drawn at a time
ROUNDING = 1e-12  # by which differences that are equal may differ
SAMPLES = 10_000


@dataclass(frozen=True)
class Comparison:
    """A figure of two models on the same data, and how sure their difference is.

    Attributes
    ----------
    figure : str
        What was compared: "accuracy", "macro F1", "F1 of spans".
    n : int
        Documents, or sentences.
    unit : str
        What they are called.
    first, second : float
        The figures of the two models.
    low, high : float
        The interval of the difference, second − first, that the bootstrap finds.
    confidence : float
        The share of the bootstrap's samples inside of the interval.
    share_better : float
        The share of the bootstrap's samples in which the second is better; ties count for a half.
    p_value : float
        How probable a difference at least as large, of either sign, is if the answers are exchanged by chance.
    n_samples : int
        Of the bootstrap, and of the randomisation.
    """

    figure: str
    n: int
    unit: str
    first: float
    second: float
    low: float
    high: float
    confidence: float
    share_better: float
    p_value: float
    n_samples: int

    @property
    def difference(self) -> float:
        """Second − first."""
        return self.second - self.first

    def as_dict(self) -> dict[str, Any]:
        """All of it in plain types.

        Returns
        -------
        dict
            The attributes, and `difference`.
        """
        return asdict(self) | {"difference": self.difference}

    def __str__(self) -> str:
        return f"{self._headline()}\n{self._verdict()}"

    def _headline(self) -> str:
        return (
            f"{self.figure} {self.first:.4f} and {self.second:.4f}: {self.difference:+.4f}, "
            f"{self.confidence:.0%} interval {self.low:+.4f} to {self.high:+.4f} ({self.n:,} {self.unit})"
        )

    def _verdict(self) -> str:
        if self.p_value > 1 - self.confidence:
            found = "no difference that chance would not make"
        else:
            found = f"the {'second' if self.difference > 0 else 'first'} is better"
        return f"{found}: p = {self.p_value:.2g}; the second is better in {self.share_better:.1%} of the samples"

    def _repr_html_(self) -> str:
        return html.block(html.paragraph(self._headline()), html.paragraph(self._verdict()))


def compare(
    y: Any,
    first: Any,
    second: Any,
    *,
    figure: Literal["accuracy", "macro_f1"] = "accuracy",
    n_samples: int = SAMPLES,
    confidence: float = 0.95,
    random_state: int = 0,
) -> Comparison:
    """Compare the labels that two models predict for the same documents.

    Parameters
    ----------
    y : sequence of labels
        The right ones.
    first, second : sequence of labels
        Those predicted.
    figure : {"accuracy", "macro_f1"}
    n_samples : int
        Of the bootstrap, and of the randomisation.
    confidence : float
        The share of the bootstrap's samples inside of the interval.
    random_state : int
        The seed of the draws.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> from fastlin.inspection import compare
    >>> y = ["up", "down", "up", "down"] * 50
    >>> print(compare(y, ["up", "up", "up", "down"] * 50, ["up", "down", "up", "up"] * 40 + ["up", "down"] * 20))
    accuracy 0.7500 and 0.8000: +0.0500, 95% interval -0.0450 to +0.1450 (200 documents)
    no difference that chance would not make: p = 0.35; the second is better in 85.2% of the samples
    """
    one_of("figure", figure, ("accuracy", "macro_f1"))
    answers = {"y": list(y), "first": list(first), "second": list(second)}
    if len({len(labels) for labels in answers.values()}) > 1:
        sizes = ", ".join(f"{name} has {len(labels)}" for name, labels in answers.items())
        raise ValueError(f"y, first and second must be labels of the same documents: {sizes}")
    try:
        names = {label: code for code, label in enumerate(dict.fromkeys(chain(*answers.values())))}
    except TypeError as error:
        raise TypeError(f"y, first and second must hold one label for each document: {error}") from None
    codes = np.array([[names[label] for label in labels] for labels in answers.values()], np.int64).T

    def counts(kinds: NDArray[np.int64], model: int) -> Sums:
        """Of each kind of document whether it is right; or of each label what is right, and what is there or said."""
        right = kinds[:, 0] == kinds[:, model]
        if figure == "accuracy":
            return right[:, np.newaxis].astype(float)
        own, said = np.eye(len(names))[kinds[:, 0]], np.eye(len(names))[kinds[:, model]]
        return np.hstack([own * right[:, np.newaxis], own + said])

    name, of_sums = ("accuracy", _share) if figure == "accuracy" else ("macro F1", _macro_f1)
    return compare_counts(
        codes, counts, of_sums, name=name, unit="documents", n_samples=n_samples, confidence=confidence,
        random_state=random_state,
    )  # fmt: skip


def compare_counts(
    facts: NDArray[np.int64],
    counts: Callable[[NDArray[np.int64], int], Sums],
    figure: Callable[[Sums, int], NDArray[np.float64]],
    *,
    name: str,
    unit: str,
    n_samples: int = SAMPLES,
    confidence: float = 0.95,
    random_state: int = 0,
) -> Comparison:
    """Compare two models by a figure of counts that are added up over documents.

    Parameters
    ----------
    facts : array of shape (n, m)
        Of each document what the counts are made of; equal rows are documents that are alike.
    counts : callable
        `counts(kinds, model)` are the counts, a row for each row of facts, of model 1 or 2.
    figure : callable
        `figure(sums, n)` is the figure of each row of sums of counts over n documents.
    name, unit : str
        Of the figure and of the documents.
    n_samples : int
        Of the bootstrap, and of the randomisation.
    confidence : float
        The share of the bootstrap's samples inside of the interval.
    random_state : int
        The seed of the draws.

    Returns
    -------
    Comparison
    """
    n_samples = whole_number("n_samples", n_samples, 1)
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, got {confidence!r}")
    n = len(facts)
    if not n:
        raise ValueError(f"there is nothing to compare: there are no {unit}")
    generator = np.random.default_rng(random_state)
    kinds, times = np.unique(facts, axis=0, return_counts=True)
    one, other = counts(kinds, 1), counts(kinds, 2)
    totals = times @ one, times @ other
    first, second = (float(figure(total[np.newaxis], n)[0]) for total in totals)
    drawn, exchanged = [], []
    block = max(1, BLOCK // (len(kinds) + one.shape[1]))
    for start in range(0, n_samples, block):
        size = min(block, n_samples - start)
        sample = generator.multinomial(n, times / n, size).astype(float)
        drawn.append(figure(sample @ other, n) - figure(sample @ one, n))
        moved = generator.binomial(times, 0.5, (size, len(kinds))) @ (one - other)
        exchanged.append(figure(totals[1] + moved, n) - figure(totals[0] - moved, n))
    differences = np.concatenate(drawn)
    low, high = np.quantile(differences, [(1 - confidence) / 2, (1 + confidence) / 2])
    as_large = np.count_nonzero(np.abs(np.concatenate(exchanged)) >= abs(second - first) - ROUNDING)
    better = np.count_nonzero(differences > ROUNDING) + 0.5 * np.count_nonzero(np.abs(differences) <= ROUNDING)
    return Comparison(
        name, n, unit, first, second, float(low), float(high), float(confidence), float(better / n_samples),
        float((1 + as_large) / (1 + n_samples)), n_samples,
    )  # fmt: skip


def f1_of(right: NDArray[np.float64], all_of_both: NDArray[np.float64]) -> NDArray[np.float64]:
    """2 · right / (there are + said), and 0 where there are none and none are said."""
    found: NDArray[np.float64] = np.divide(2 * right, all_of_both, out=np.zeros_like(right), where=all_of_both > 0)
    return found


def _share(sums: Sums, n: int) -> NDArray[np.float64]:
    return sums[:, 0] / n


def _macro_f1(sums: Sums, n: int) -> NDArray[np.float64]:
    """The mean over the labels that are there or are said, as in a `Report`."""
    del n
    right, both = np.split(sums, 2, axis=1)
    means: NDArray[np.float64] = f1_of(right, both).sum(axis=1) / np.maximum((both > 0).sum(axis=1), 1)
    return means
