"""Components of labels: how many each has, and what that makes of counts and scores."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.core.class_counts import ClassCounts, Estimates, log_prior
from fastlin.core.dataset import Mask
from fastlin.validation import MAX_COLUMNS, number_of_parts

Floats = NDArray[np.float64]
Families = NDArray[np.int64]  # the first component of each label and, last, the number of all


def families_of(components: Any, classes: NDArray[Any], n_rows: int, strict: bool) -> Families:
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
    sizes = [number_of_parts(name, number, n_rows) for name, number in given]
    if sum(sizes) > MAX_COLUMNS:
        raise ValueError(f"components has {sum(sizes)} components in all; at most {MAX_COLUMNS} are supported")
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def several(families: Families, unlabelled: bool = False) -> Mask:
    """The labels that have several components."""
    return np.append(np.diff(families) > 1, unlabelled)


def single(families: Families) -> Mask:
    """The labels that have one component."""
    return np.append(np.diff(families) == 1, False)


def log_priors(counts: ClassCounts | Estimates, families: Families) -> tuple[Floats, Floats]:
    """log μ of the labels and log π = log μ + log ψ of their components; ψ are equal in a label without documents."""
    sizes = np.diff(families)
    masses = np.add.reduceat(counts.labels, families[:-1])
    of_labels = log_prior(masses, counts.prior)
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
