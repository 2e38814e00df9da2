"""What naive Bayes is once labels have components: what it reads, what it has learnt, what it predicts."""

from abc import ABC
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from fastlin import validation
from fastlin.core.class_counts import ClassCounts, mask_impossible
from fastlin.core.dataset import Dataset, DatasetView, read_rows, true_labels
from fastlin.core.estimator import reads
from fastlin.core.generative_model import GenerativeClassifier, MultinomialModel
from fastlin.core.sparse_estimator import Infer, Scorer, checkpoint_of, dense_scorer
from fastlin.engine.core import row_scores as row_kernels
from fastlin.mixture.class_components import Families, log_priors, summed
from fastlin.mixture.partial_labels import PartlyLabelledDocuments
from fastlin.storage import Checkpoint
from fastlin.validation import CSRRows

Floats = NDArray[np.float64]


class ComponentClassifier(MultinomialModel, GenerativeClassifier, ABC):
    """A classifier by expected counts: p(x | y) = Σ_c ψ_c Π_j φ_cj^{x_j} over the components of a label."""

    _families: Families

    # What was learnt

    @property
    @reads
    def component_classes_(self) -> NDArray[Any]:
        """The label of each component."""
        self._check_fitted()
        return np.repeat(self.classes_, np.diff(self._families))

    @property
    @reads
    def component_count_(self) -> Floats:
        """Documents of each component, weighted and expected."""
        self._check_fitted()
        return self._counts.labels

    @property
    @reads
    def class_count_(self) -> Floats:
        """Documents of each label, weighted and expected."""
        self._check_fitted()
        return np.add.reduceat(self._counts.labels, self._families[:-1])

    @property
    @reads
    def class_log_prior_(self) -> Floats:
        """log μ."""
        self._check_fitted()
        return log_priors(self._counts, self._families)[0]

    @reads
    def predict_component_proba(self, X: Any) -> Floats:
        """p(c | x), columns as `component_classes_`.

        Parameters
        ----------
        X : matrix of shape (n_samples, n_features), or Corpus
            Counts, dense or sparse: not negative.

        Returns
        -------
        array of shape (n_samples, n_components)
            Each row sums to 1; the components of a label sum to the label's probability.
        """
        rows, scorer = self._checked_rows(X), self._components()
        scores = np.empty((len(rows), scorer.width))
        self._forward(rows, scorer, lambda some, start, stop: np.copyto(scores[start:stop], some))
        row_kernels.softmax(mask_impossible(scores, log_priors(self._estimates(), self._families)[1]), False)
        return scores

    @reads
    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The accuracy on the rows of X, a matrix with labels `y` or a `Corpus`; all of them have one.

        Parameters
        ----------
        X : matrix of shape (n_samples, n_features), or Corpus
            Counts, dense or sparse: not negative.
        y : array of shape (n_samples,)
            Labels, none of them missing; None with a Corpus.
        sample_weight : array of shape (n_samples,), optional
            Weights of the rows; None with a Corpus.

        Returns
        -------
        float
            The share of the rows, by their weights, whose label is predicted.

        Raises
        ------
        ValueError
            If a row has no label.
        """
        validation.refuse_missing(true_labels(X, y), "X")
        return super().score(X, y, sample_weight)

    # Reading

    def _documents(self, X: Any, y: Any, X_unlabeled: Any, sample_weight: Any, reset: bool) -> PartlyLabelledDocuments:
        """What to learn from, checked; the values of a corpus are when they are read."""
        rows = self._read_rows(X, reset, **self._row_constraints())
        views = [rows.partly_labelled(y, sample_weight, estimator=type(self).__name__)]
        if X_unlabeled is not None:
            views.append(self._unlabelled(X_unlabeled))
        return PartlyLabelledDocuments(views[0].classes, views)

    def _checkpoint_of(
        self, documents: PartlyLabelledDocuments, path: Any, checkpoint_interval: Any, resume: Any, **given: Any
    ) -> Checkpoint:
        """The file of a fit of these documents; `given` are the other arguments of `fit`."""
        first, *others = documents.views
        if path is not None:
            given |= {"y": documents.codes, "labels": documents.classes}
            given |= {view.dataset.name: view.dataset for view in others}
        return checkpoint_of(self, first.dataset, path, checkpoint_interval, resume, given)

    def _unlabelled(self, X: Any) -> DatasetView:
        """The rows of X_unlabeled."""
        rows = read_rows(X, self._row_constraints(), "X_unlabeled")
        if (validation.places_of_labels(rows.classes) >= 0).any():
            raise ValueError(f"{rows.name} is a Corpus with labels; those that have some belong into X")
        if rows.n_features != self.n_features_in_:
            raise ValueError(f"{rows.name} has {rows.n_features} features, X has {self.n_features_in_}")
        validate_data(self, X, reset=False, skip_check_array=True)
        return rows.unlabelled()

    def _check_labels(self, documents: PartlyLabelledDocuments, known: NDArray[Any]) -> None:
        """There are labels, and the one that says that there is none was not meant to be one."""
        if not len(known):
            raise ValueError("no row has a label: use MultinomialMixture, which finds clusters without any")
        if len(known) == 1 and (documents.codes < 0).any():
            raise ValueError(
                f"{known.tolist()[0]!r} is the only label: -1, '-1', '', None and NaN mean that a row has none. If -1 "
                "is a label, give the labels other names, such as 0 and 1"
            )
        if (documents.codes >= 0).any():
            self._check_beginning(documents)

    @staticmethod
    def _check_beginning(documents: PartlyLabelledDocuments) -> PartlyLabelledDocuments:
        """Some row that has a label counts."""
        view = documents.views[0]
        there = view.has_label()
        if not there.any():
            raise ValueError("every row that has a label is held out: there is nothing to begin with")
        if not view.dataset.has_weight()[there].any():
            held_out = "" if view.kept is None else " and is not held out"
            raise ValueError(
                f"sample_weight is zero for every row that has a label{held_out}: there is nothing to begin with"
            )
        return documents

    def _read_validation(
        self, X: Any, y: Any, classes: NDArray[Any], learnt: Dataset, **constraints: Any
    ) -> DatasetView:
        held = super()._read_validation(X, y, classes, learnt, **(constraints | self._row_constraints()))
        validation.refuse_missing(held.dataset.classes, "X_val")
        return held

    def _components(self) -> Scorer:
        """log p(x, c)."""
        found = self._estimates()
        return dense_scorer(found.logs, log_priors(found, self._families)[1], self.n_jobs)

    def _scorer(self) -> Scorer:
        """log p(x, y)."""
        components, families = self._components(), self._families
        if components.width == len(self.classes_):
            return components

        def forward(rows: CSRRows, infer: Infer) -> None:
            components.forward(rows, lambda scores, start, stop: infer(summed(scores, families), start, stop))

        return Scorer(len(self.classes_), forward)

    def _possible(self, scores: Floats) -> Floats:
        return mask_impossible(scores, log_priors(self._estimates(), self._families)[0])

    def _n_labels(self) -> int:
        return len(self._families) - 1

    def _install(self, classes: NDArray[Any], families: Families, counts: ClassCounts) -> Self:
        self.classes_, self._families, self._counts = classes, families, counts
        self.n_features_in_ = len(counts.features)
        return self
