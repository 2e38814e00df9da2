"""Which labels like to follow one another in a model of sequences."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastlin.inspection import html
from fastlin.inspection.weights import advice, learner_of

MATRIX = 12  # labels; of more of them, or with two before, only a list is shown
MAX_HEAT_MAP = 60  # labels that a page has room for
SHOWN = 15


class Transition(NamedTuple):
    """Weights of a label behind one or two others; None: there was none yet.

    Attributes
    ----------
    before : tuple of labels
        The one before, or the two before, the last one last.
    label : label
        The one that follows.
    weight : float
        Its weight.
    """

    before: tuple[Any, ...]
    label: Any
    weight: float

    def __str__(self) -> str:
        path = " → ".join("(start)" if label is None else str(label) for label in (*self.before, self.label))
        return f"  {self.weight:>10.4f}  {path}"


@dataclass(frozen=True, eq=False)
class TransitionWeights:
    """The weights of transitions: of a hidden Markov model, their probabilities.

    Attributes
    ----------
    labels : tuple of labels
        K of them.
    weights : array of shape (K, K), or (K + 1, K, K)
        From and to; or last but one, last, to, where K stands for none.
    """

    labels: tuple[Any, ...]
    weights: NDArray[np.float64]

    @property
    def order(self) -> int:
        """How many labels before a label matter."""
        return self.weights.ndim - 1

    def strongest(self, n: int = SHOWN, labels: Iterable[Any] | None = None) -> list[Transition]:
        """The n transitions that weigh most, with one of the `labels` if these are given; none that weigh 0.

        Parameters
        ----------
        n : int
            Transitions at most.
        labels : iterable of labels, optional
            Only transitions from or to one of these.

        Returns
        -------
        list of Transition
            By falling weight.
        """
        return self._first(n, labels, -1.0)

    def weakest(self, n: int = SHOWN, labels: Iterable[Any] | None = None) -> list[Transition]:
        """The n that weigh least, the least first; none that weigh 0, of which nothing is known, or that cannot be.

        Parameters
        ----------
        n : int
            Transitions at most.
        labels : iterable of labels, optional
            Only transitions from or to one of these.

        Returns
        -------
        list of Transition
            By rising weight.
        """
        return self._first(n, labels, 1.0)

    def as_dict(self) -> dict[str, Any]:
        """All of it in plain types; −∞ is None.

        Returns
        -------
        dict
            `labels`, and `weights` as nested lists.
        """
        held: list[Any] = [None if weight == -np.inf else weight for weight in self.weights.ravel().tolist()]
        for size in self.weights.shape[:0:-1]:
            held = [held[start : start + size] for start in range(0, len(held), size)]
        return {"labels": list(self.labels), "weights": held}

    def __str__(self) -> str:
        return self.shown()

    def _repr_html_(self) -> str:
        """A heat map of the label before and the label; of order 2, of the paths that weigh most and least."""
        if self.order == 1 and len(self.labels) <= MAX_HEAT_MAP:
            return html.heat_map(self.labels, self.weights.tolist(), corner="from \\ to")
        return html.lines(self)

    def shown(self, n: int = SHOWN, labels: Iterable[Any] | None = None) -> str:
        """The matrix, if it is small, and the n strongest and weakest transitions with one of some labels.

        Parameters
        ----------
        n : int
            Transitions at most, of the strongest and of the weakest.
        labels : iterable of labels, optional
            Only transitions from or to one of these.

        Returns
        -------
        str
            Lines, without an end behind the last.
        """
        labels = None if labels is None else list(labels)
        strong, weak = self.strongest(n, labels), self.weakest(n, labels)
        weak = [one for one in weak if one not in strong]
        lines = [*self._matrix(), ""] if self.order == 1 and len(self.labels) <= MATRIX else []
        lines += ["strongest transitions", *map(str, strong)]
        if weak:
            lines += ["", "weakest transitions", *map(str, weak)]
        return "\n".join(lines)

    def _first(self, n: int, labels: Iterable[Any] | None, sign: float) -> list[Transition]:
        flat = self.weights.ravel()
        names = (*self.labels, None)
        wanted = np.isfinite(flat) & (flat != 0)
        if labels is not None:
            places = [self._place(label) for label in labels]
            wanted &= np.isin(np.indices(self.weights.shape), places).any(axis=0).ravel()
        order = np.flatnonzero(wanted)
        order = order[np.argsort(sign * flat[order], kind="stable")][: max(0, n)]
        paths = zip(*np.unravel_index(order, self.weights.shape), strict=True)
        return [
            Transition(tuple(names[place] for place in before), names[to], float(flat[at]))
            for at, (*before, to) in zip(order.tolist(), paths, strict=True)
        ]

    def _place(self, label: Any) -> int:
        if label not in self.labels:
            raise ValueError(f"the model has no label {label!r}; it has {', '.join(map(str, self.labels[:20]))}")
        return self.labels.index(label)

    def _matrix(self) -> list[str]:
        cells = [[f"{weight:.2f}" for weight in row] for row in self.weights.tolist()]
        names = list(map(str, self.labels))
        widths = [max(map(len, column)) for column in zip(names, *cells, strict=True)]
        left = max(4, *map(len, names))
        head = "  ".join(f"{name:>{width}}" for name, width in zip(names, widths, strict=True))
        rows = ("  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True)) for row in cells)
        return [
            f"{'from':<{left}}  to",
            f"{'':<{left}}  {head}",
            *(f"{name:<{left}}  {row}" for name, row in zip(names, rows, strict=True)),
        ]


def transitions(model: Any) -> TransitionWeights:
    """The weights of the transitions between labels of a model of sequences.

    Parameters
    ----------
    model : fitted CRF, MEMM, StructuredPerceptron or HMM
        The weights are `transitions_`; those of an HMM are the probabilities `transmat_`.

    Returns
    -------
    TransitionWeights

    Examples
    --------
    >>> from fastlin.inspection import transitions
    >>> from fastlin.sequence import MEMM
    >>> X = [["the", "dog", "barks"], ["a", "dog", "ran"], ["the", "cat", "ran"]]
    >>> model = MEMM(C=10).fit(X, [["D", "N", "V"]] * 3)
    >>> [(one.before, one.label) for one in transitions(model).strongest(2)]
    [(('D',), 'N'), (('N',), 'V')]
    """
    learner = learner_of(model)
    weights = getattr(learner, "transitions_", None)
    weights = getattr(learner, "transmat_", None) if weights is None else weights
    if weights is None:
        name = type(learner).__name__
        raise TypeError(f"{name} is not a fitted model of sequences: it has no transitions{advice(learner)}")
    return TransitionWeights(tuple(learner.classes_.tolist()), np.asarray(weights, dtype=float))
