"""Components of labels: how many each has, and where EM begins with those of a label that has several."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin import run
from fastlin.cluster.partly import Mask, PartlyLabelled
from fastlin.cluster.starts import Starts
from fastlin.linear.counts import Counts, Prior
from fastlin.optim.parts import Part
from fastlin.validation import whole_number

Floats = NDArray[np.float64]
Families = NDArray[np.int64]  # the first component of each label and, last, the number of all


def families_of(components: Any, classes: NDArray[Any], strict: bool) -> Families:
    """From what a user says of the sorted labels; `strict`: of a label that there is not is an error."""
    labels = classes.tolist()
    if isinstance(components, dict):
        unknown = set(components) - set(labels)
        if strict and unknown:
            raise ValueError(f"The labels {sorted(unknown, key=repr)} of components are not labels of y")
        given = [(f"components[{label!r}]", components.get(label, 1)) for label in labels]
    elif np.ndim(components) == 0:
        given = [("components", components)] * len(labels)
    else:
        given = [("components", number) for number in np.asarray(components).tolist()]
        if len(given) != len(labels):
            raise ValueError(f"components has {len(given)} entries, y has {len(labels)} labels")
    sizes = [whole_number(name, number, 1) for name, number in given]
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def several(families: Families, unlabelled: bool = False) -> Mask:
    """The labels that have several components."""
    return np.append(np.diff(families) > 1, unlabelled)


def single(families: Families) -> Mask:
    """The labels that have one component."""
    return np.append(np.diff(families) == 1, False)


def only(label: int, n_labels: int) -> Mask:
    """One label."""
    return np.arange(n_labels + 1) == label


def log_priors(counts: Counts, families: Families) -> tuple[Floats, Floats]:
    """log μ of the labels and log π = log μ + log ψ of their components; ψ are equal in a label without documents."""
    sizes = np.diff(families)
    masses = np.add.reduceat(counts.labels, families[:-1])
    of_labels = Counts(np.empty((0, len(sizes))), masses, counts.prior).log_prior()
    whole = np.repeat(masses, sizes)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.where(whole > 0, np.log(counts.labels) - np.log(whole), -np.log(np.repeat(sizes, sizes)))
    return of_labels, np.repeat(of_labels, sizes) + shares


def summed(scores: Floats, families: Families) -> Floats:
    """log Σ exp over the components of each label, [n, labels]."""
    of_labels = np.ascontiguousarray(scores[:, families[:-1]])
    for label in np.flatnonzero(np.diff(families) > 1):
        first, last = families[label : label + 2]
        of_labels[:, label] = np.logaddexp.reduce(scores[:, first:last], axis=1)
    return of_labels


def possible(scores: Floats, prior: Floats) -> Floats:
    """The scores, with the prior where none is possible; in place."""
    scores[np.isneginf(scores.max(axis=1))] = prior
    return scores


class Beginnings:
    """Makes starts: the documents of each label that has several components are shared out among these, by k-means.

    Documents without a label have no say in it.
    """

    def __init__(
        self,
        documents: PartlyLabelled,
        of_labels: Mask,
        families: Families,
        prior: Prior,
        generator: np.random.Generator,
        workers: run.Workers,
    ) -> None:
        self._families, self._prior = families, prior
        self._starts: dict[int, Starts] = {}
        for label in np.flatnonzero(of_labels & several(families)).tolist():
            size = int(families[label + 1] - families[label])
            parts = documents.lay_out(only(label, len(families) - 1), 1.0, size, None, prior)
            if parts.n_rows:
                self._starts[label] = Starts(parts, size, generator, workers)

    def __len__(self) -> int:
        """How many labels there are whose documents have to be shared out."""
        return len(self._starts)

    def make(self) -> Callable[[Part, Floats], None]:
        """What writes the responsibilities of the rows of a part, part after part."""
        waiting = {label: self._shares(starts) for label, starts in self._starts.items()}

        def fill(part: Part, shares: Floats) -> None:
            shares[:] = 0
            for label, of_label in waiting.items():
                own = np.flatnonzero(part.labels.codes == label)
                first, last = self._families[label : label + 2]
                shares[own, first:last], waiting[label] = of_label[: len(own)], of_label[len(own) :]

        return fill

    def _shares(self, starts: Starts) -> Floats:
        """The responsibilities of all rows of a label."""
        fill, found = starts.make("kmeans", np.empty(0), self._prior, None), []
        for part in starts.parts:
            found.append(np.empty((part.design.n_rows, starts.n_components)))
            fill(part, found[-1])
        return np.concatenate(found)
