"""What naive Bayes is once labels have components: what it reads, what it has learnt, what it predicts."""

from abc import ABC
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from fastlin import validation
from fastlin.core.class_counts import ClassCounts, mask_impossible
from fastlin.core.estimator import reads
from fastlin.core.generative_model import GenerativeClassifier, MultinomialModel
from fastlin.core.sparse_estimator import (
    Infer,
    InMemoryDataset,
    RowsOrCorpus,
    Scorer,
    dense_scorer,
    reject_with_corpus,
    width_of,
)
from fastlin.data import Corpus
from fastlin.engine.core import row_scores as row_kernels
from fastlin.mixture.class_components import Families, log_priors, summed
from fastlin.mixture.partial_labels import Codes, LabelledSource, PartlyLabelledDocuments
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
        """p(c | x), columns as `component_classes_`."""
        rows, scorer = self._checked_rows(X), self._components()
        scores = np.empty((len(rows), scorer.width))
        self._forward(rows, scorer, lambda some, start, stop: np.copyto(scores[start:stop], some))
        row_kernels.softmax(mask_impossible(scores, log_priors(self._estimates(), self._families)[1]), False)
        return scores

    @reads
    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The accuracy on the rows of X, a matrix with labels `y` or a `Corpus`; all of them have one."""
        validation.refuse_missing(X.classes if isinstance(X, Corpus) else y, "X")
        return super().score(X, y, sample_weight)

    # Reading

    def _documents(self, X: Any, y: Any, X_unlabeled: Any, sample_weight: Any, reset: bool) -> PartlyLabelledDocuments:
        """What to learn from, checked; the values of a corpus are when they are read."""
        name = type(self).__name__
        if isinstance(X, Corpus):
            reject_with_corpus(y=y, sample_weight=sample_weight)
            self._check_width(X, X, reset)
            place = validation.places_of_labels(X.classes)
            classes = X.classes[place >= 0]
            codes = place[X.codes()] if len(place) else np.full(len(X), -1, np.int32)
            source = LabelledSource("X", X, codes)
        else:
            rows = validation.as_rows(X, **self._row_constraints())
            self._check_width(X, rows, reset)
            classes, codes = validation.as_partly_labels(y, len(rows), estimator=name)
            source = LabelledSource(
                "X", self._whole(rows, classes, codes, validation.as_weights(sample_weight, len(rows))), codes
            )
        sources = [source] if X_unlabeled is None else [source, self._unlabelled(X_unlabeled)]
        return PartlyLabelledDocuments(classes, sources)

    def _unlabelled(self, X: Any) -> LabelledSource:
        """The rows of X_unlabeled."""
        name = "X_unlabeled"
        if isinstance(X, Corpus):
            if (validation.places_of_labels(X.classes) >= 0).any():
                raise ValueError(f"{name} is a Corpus with labels; those that have some belong into X")
            rows: RowsOrCorpus = X
        else:
            rows = validation.as_rows(X, name=name, **self._row_constraints())
        if width_of(rows) != self.n_features_in_:
            raise ValueError(f"{name} has {width_of(rows)} features, X has {self.n_features_in_}")
        validate_data(self, X, reset=False, skip_check_array=True)
        codes = np.full(len(rows), -1, np.int32)
        return LabelledSource(
            name, rows if isinstance(rows, Corpus) else self._whole(rows, np.empty(0), codes, None), codes
        )

    @staticmethod
    def _whole(rows: CSRRows, classes: NDArray[Any], codes: Codes, weights: Floats | None) -> InMemoryDataset:
        return InMemoryDataset(rows, classes, codes, np.empty(0) if weights is None else weights)

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
        source = documents.sources[0]
        if not source.labelled.any():
            raise ValueError("every row that has a label is held out: there is nothing to begin with")
        if not source.of_weight()[source.labelled].any():
            held_out = "" if source.kept is None else " and is not held out"
            raise ValueError(
                f"sample_weight is zero for every row that has a label{held_out}: there is nothing to begin with"
            )
        return documents

    def _checked_validation(
        self, X: Any, y: Any, classes: NDArray[Any], learnt: RowsOrCorpus
    ) -> tuple[RowsOrCorpus, NDArray[np.int32]]:
        rows, codes = super()._checked_validation(X, y, classes, learnt)
        validation.refuse_missing(X.classes if isinstance(X, Corpus) else y, "X_val")
        if isinstance(rows, CSRRows):
            rows = validation.check_values(rows, name="X_val", **self._row_constraints())
        return rows, codes

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
