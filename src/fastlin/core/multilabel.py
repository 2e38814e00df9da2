"""Classifiers of rows that may have several labels: each label against the rest, by one model of all of them.

The target is an indicator, [n, L]. Rows share the sets of labels that occur (`validation.LabelSets`): where each row
has one label its code is that of its label, and here it is that of its set.
"""

from abc import ABC
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import scipy
import scipy.sparse as sp
from numpy.typing import NDArray

from fastlin import validation
from fastlin.core.dataset import Dataset, DatasetView
from fastlin.core.estimator import reads
from fastlin.core.label_sets import n_weight_columns
from fastlin.core.sparse_estimator import SparseClassifier
from fastlin.validation import LabelSets

Floats = NDArray[np.float64]
CERTAIN_SCORE = 1000.0  # of a label that all rows have, whose log odds have no bound: the probability rounds to 1


class LabelColumns(NamedTuple):
    """The labels that some rows have and others do not, which are learnt; the others' scores do not depend on a row."""

    varying: NDArray[np.int64]
    scores: Floats  # of all labels: 0 of those that vary

    @classmethod
    def varying_of(cls, sets: LabelSets, codes: NDArray[np.int32], weights: Floats) -> Self:
        """Those of rows that have these sets of labels, and a weight."""
        without, having = sets.masses(codes, weights) > 0
        if not (without | having).any():
            raise ValueError("the weight of every row is zero (sample_weight): nothing to learn from")
        scores = np.where(having & without, 0.0, np.where(having, CERTAIN_SCORE, -CERTAIN_SCORE))
        varying = np.flatnonzero(without & having)
        if not len(varying):
            raise ValueError(
                "no column of y has both zeros and ones in rows of a weight above 0: there is nothing to tell apart"
            )
        return cls(varying, scores)

    def weights(self, learnt: NDArray[Any]) -> NDArray[Any]:
        """Columns of the labels that vary as those of all labels, [V, L]."""
        if len(self.varying) == len(self.scores):
            return learnt
        whole = np.zeros((len(learnt), len(self.scores)), learnt.dtype)
        whole[:, self.varying] = learnt
        return whole

    def intercepts(self, learnt: Floats) -> Floats:
        """The intercepts of all labels."""
        whole = self.scores.copy()
        whole[self.varying] = learnt
        return whole


class MultilabelClassifier(SparseClassifier, ABC):
    """A classifier that may learn from an indicator of several labels a row."""

    _takes_indicators: ClassVar[bool] = False
    _container: str | None = None  # of the indicator that was learnt from; None: each row has one label

    @property
    @reads
    def multilabel_(self) -> bool:
        """Whether it learnt from an indicator of several labels a row."""
        if not self._takes_indicators:
            raise AttributeError(f"{type(self).__name__} learns labels of which each row has one")
        self._check_fitted()
        return self._container is not None

    @reads
    def predict(self, X: Any) -> Any:
        """The label of each row of X, a matrix or a `Corpus`; the first of `classes_` among equals.

        Of a model of several labels a row, the indicator of those with a score above 0: an array, or a CSR if the
        indicator that was learnt from is sparse.

        Parameters
        ----------
        X : matrix of shape (n_samples, n_features), or Corpus
            Dense or sparse.

        Returns
        -------
        array of shape (n_samples,), or indicator of shape (n_samples, n_labels)
            Labels as they were learnt.
        """
        if self._container is None:
            return super().predict(X)
        return self._indicator(self._checked_rows(X))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = self._takes_indicators and self._may_be_multilabel()
        return tags

    def _may_be_multilabel(self) -> bool:
        """Whether the parameters are not of labels of which each row has one."""
        return True

    # Parts

    def _read_labelled(self, X: Any, y: Any, sample_weight: Any, reset: bool, **constraints: Any) -> Dataset:
        rows, name = self._read_rows(X, reset, **constraints), type(self).__name__
        data = rows.labelled(y, sample_weight, estimator=name, several=self._takes_indicators)
        sets = data.label_sets
        container = None if sets is None else sets.container
        if not reset and hasattr(self, "classes_"):
            if (container is None) != (self._container is None):
                known = "one label" if self._container is None else f"an indicator of {len(self.classes_)} labels"
                raise ValueError(f"this {name} has learnt from {known} a row, and y is of another kind")
            if container is not None and len(data.classes) != len(self.classes_):
                raise ValueError(f"y has {len(data.classes)} columns, but {name} knows {len(self.classes_)} labels")
            return data
        self._container = container
        return data

    def _n_columns(self, n_labels: int) -> int:
        """How many columns of weights so many labels have."""
        return n_weight_columns(n_labels) if self._container is None else n_labels

    def _export_container(self) -> dict[str, NDArray[Any]]:
        """What the target came in, as a named array of a state; nothing where each row has one label."""
        return {} if self._container is None else {"container": np.array(validation.CONTAINERS.index(self._container))}

    def _restore_container(self, arrays: dict[str, NDArray[Any]]) -> None:
        number = int(arrays["container"]) if "container" in arrays else None
        if number is not None and not (self._takes_indicators and 0 <= number < len(validation.CONTAINERS)):
            raise ValueError(f"state['container'] must be the number of a container, got {number}")
        self._container = None if number is None else validation.CONTAINERS[number]

    def _indicator(self, rows: Dataset) -> Any:
        """Which labels each row has, in the container of the indicator that was learnt from."""
        shape, scorer = (len(rows), len(self.classes_)), self._scorer()
        if self._container == "array":
            found = np.zeros(shape, np.int64)
            self._forward(rows, scorer, lambda scores, start, stop: np.copyto(found[start:stop], scores > 0))
            return found
        blocks: dict[int, sp.csr_array] = {}

        def infer(scores: Floats, start: int, stop: int) -> None:  # noqa: ARG001 - the scores say how many rows
            blocks[start] = sp.csr_array((scores > 0).astype(np.int64))

        self._forward(rows, scorer, infer)
        kind = sp.csr_array if self._container == "csr_array" else sp.csr_matrix
        return kind(sp.vstack([blocks[start] for start in sorted(blocks)], format="csr"))

    def _accuracy(self, held: DatasetView) -> float:
        """The share of the rows whose label, or whose whole set of labels, is predicted."""
        if held.dataset.label_sets is None:
            return super()._accuracy(held)
        members, codes = held.dataset.label_sets.members().astype(bool), held.codes()
        right = np.empty(len(codes), bool)

        def infer(scores: Floats, start: int, stop: int) -> None:
            right[start:stop] = ((scores > 0) == members[codes[start:stop]]).all(axis=1)

        self._forward(held.dataset, self._scorer(), infer)
        weights = held.dataset.weights()
        return float(np.average(right, weights=weights if len(weights) else None))


def independent_probabilities(scores: Floats, logarithmic: bool) -> Floats:
    """The (log-)probability that a row has each label, from log odds."""
    return np.asarray(scipy.special.log_expit(scores) if logarithmic else scipy.special.expit(scores))


def side_factors(class_weight: Any, sets: LabelSets | None, codes: NDArray[np.int32], weights: Floats) -> Floats | None:
    """Factors of the weights of the rows without a label, and of those with it, [2, labels]; None stands for ones.

    A dict has the keys 0 and 1, as each label against the rest is a binary problem; "balanced" is of each such problem.
    """
    if class_weight is None or sets is None:
        return None
    masses, sides = sets.masses(codes, weights), np.arange(2, dtype=np.int32)
    factors = np.ones(masses.shape)
    for label, mass in enumerate(masses.T):
        found = validation.class_factors(class_weight, sides, sides, True, mass)
        factors[:, label] = 1.0 if found is None else found
    return factors
