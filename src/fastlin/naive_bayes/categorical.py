"""Naive Bayes for tuples of attributes: a distribution over categories for each position."""

import warnings
from collections.abc import Callable
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from fastlin import validation
from fastlin.core.class_counts import SmoothingPrior
from fastlin.core.dataset import Dataset, InMemoryDataset, refuse_corpus
from fastlin.core.estimator import learns, reads
from fastlin.core.generative_model import GenerativeClassifier
from fastlin.core.label_sets import label_positions, union_of_labels
from fastlin.core.sparse_estimator import Scorer, dense_scorer
from fastlin.naive_bayes.category_encoder import (
    CategoryCounts,
    CategoryEncoder,
    CategoryEstimates,
    ones,
    split_by_position,
)
from fastlin.runtime import thread_calls
from fastlin.validation import MAX_COLUMNS, CategoricalColumn, real_number
from fastlin.validation.parameter_kinds import (
    ABSENT,
    JOBS,
    LABEL_PRIOR,
    NUMBERS,
    TRUTH,
    OneOf,
    ParameterTable,
    check_parameters,
)


class CategoricalNB(GenerativeClassifier):
    """Naive Bayes for tuples of attributes.

    p(k | x) ∝ μ_k Π_j φ_kj(x_j) with φ_kj(v) = (α + c_kjv)/(αn_j + Σ_v c_kjv), where c_kjv counts the tuples of label k
    that have category v in position j, and n_j is the number of categories there.

    The categories of a position are strings, or whole numbers from 0 on, for which n_j is the largest + 1. An attribute
    that is None or NaN is not known: it is left out, which is the same as the sum over all that it may be. A tuple that
    no label can produce gets the class prior; a label without counts in a position has the uniform distribution there.

    Parameters
    ----------
    alpha : float
        Pseudo-counts of each category; 0 is the maximum-likelihood estimate.
    force_alpha : bool
        False raises alpha to 1e-10 at least, as in scikit-learn.
    fit_prior : bool
        μ by counts, or uniform.
    class_prior : array of shape (n_labels,), optional
        μ itself.
    min_categories : int or array of shape (n_features,), optional
        n_j is at least so large. A string that was not seen is one of the categories that this leaves over.
    handle_unknown : {"ignore", "error"}
        What becomes of an attribute that was not seen when something is predicted: it is left out like one that is not
        known, or it is an error.
    n_jobs : int or None
        Threads; they never change a bit of the model.

    Attributes
    ----------
    classes_ : array of shape (n_labels,)
        The labels, sorted.
    class_count_ : array of shape (n_labels,)
        Tuples of each label, weighted.
    class_log_prior_ : array of shape (n_labels,)
        log μ.
    categories_ : list of arrays
        The categories of each position: strings in the order in which they were first seen, or the numbers from 0 on.
    category_count_ : list of arrays of shape (n_labels, n_categories)
        c, of each position.
    feature_log_prob_ : list of arrays of shape (n_labels, n_categories)
        log φ, of each position.
    n_categories_ : array of shape (n_features,)
        How many categories each position has.
    n_features_in_ : int
        Positions.
    feature_names_in_ : array of shape (n_features_in_,)
        Where X has names for its columns.

    Examples
    --------
    >>> from fastlin import CategoricalNB
    >>> X = [("ate", "pizza", "with", "fork"), ("ate", "pizza", "with", "anchovies"), ("saw", "man", "with", "hat")]
    >>> model = CategoricalNB().fit(X, ["verb", "noun", "noun"])
    >>> model.predict([("ate", "salad", "with", "fork"), ("met", "man", "with", None)]).tolist()
    ['verb', 'noun']
    """

    _parameters: ClassVar[ParameterTable] = LABEL_PRIOR | {
        "alpha": NUMBERS, "force_alpha": TRUTH, "min_categories": NUMBERS | ABSENT,
        "handle_unknown": OneOf("ignore", "error"), "n_jobs": JOBS,
    }  # fmt: skip

    n_features_in_: int
    _counts: CategoryCounts

    def __init__(
        self,
        *,
        alpha: float = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: Any = None,
        min_categories: Any = None,
        handle_unknown: Literal["ignore", "error"] = "ignore",
        n_jobs: int | None = None,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.min_categories = min_categories
        self.handle_unknown = handle_unknown
        self.n_jobs = n_jobs

    # Learning

    @learns
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Count the categories of each position under the labels.

        Parameters
        ----------
        X : list of tuples, array or data frame of shape (n_samples, n_features)
            Strings, or whole numbers from 0 on (a fraction counts as the number below it, with a warning): a position
            has one kind. None and NaN: not known.
        y : array of shape (n_samples,)
            Labels: strings or integers.
        sample_weight : array of shape (n_samples,), optional

        Returns
        -------
        self
            The fitted classifier.
        """
        weights = None if sample_weight is None else np.asarray(sample_weight)
        if weights is not None and weights.dtype.kind in "biuf" and not weights.any():
            raise ValueError("sample_weight is zero for every row: there is nothing to count")
        self._prepared(X, y, None, sample_weight, first=True)()
        return self

    @learns
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add tuples to the counts, all or, if Ctrl-C comes before they are counted, none.

        Categories and labels may appear in any call; `classes` may announce labels, but need not.

        Parameters
        ----------
        X : list of tuples, array or data frame of shape (n_samples, n_features)
            As for `fit`.
        y : array of shape (n_samples,)
            Labels: strings or integers.
        classes : array, optional
            Labels that later calls will bring, or all.
        sample_weight : array of shape (n_samples,), optional
            How many tuples each stands for.

        Returns
        -------
        self
            The classifier, with these tuples counted, too.
        """
        thread_calls.run_uninterrupted(
            self._prepared(X, y, classes, sample_weight, first=not hasattr(self, "classes_"))
        )
        return self

    # What was learnt

    @property
    @reads
    def categories_(self) -> list[NDArray[Any]]:
        """The categories of each position."""
        self._check_fitted()
        found = []
        for alphabet, n in zip(self._counts.alphabets, self._counts.sizes.tolist(), strict=True):
            known = alphabet.names()
            names = np.empty(len(known), object)
            names[:] = known
            found.append(np.arange(n) if alphabet.kind == "numbers" else names)
        return found

    @property
    @reads
    def category_count_(self) -> list[NDArray[np.float64]]:
        """c, of each position, shape (n_labels, n_categories)."""
        self._check_fitted()
        counts = self._counts.snapshot()
        return split_by_position(counts.features, counts.starts, counts.sizes)

    @property
    @reads
    def feature_log_prob_(self) -> list[NDArray[np.float64]]:
        """log φ, of each position, shape (n_labels, n_categories)."""
        found = self._estimates()
        return split_by_position(found.logs, found.starts, found.sizes)

    @property
    @reads
    def n_categories_(self) -> NDArray[np.int64]:
        """How many categories each position has."""
        self._check_fitted()
        return self._counts.sizes

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        tags.input_tags.categorical = tags.input_tags.string = tags.input_tags.allow_nan = True
        tags.input_tags.positive_only = True
        return tags

    # Parts

    def _prepared(self, X: Any, y: Any, classes: Any, sample_weight: Any, first: bool) -> Callable[[], None]:
        """Check everything; what is returned counts, and lets this model have what a copy has learnt."""
        model = self._working_copy()
        positions = model._positions(X, reset=first)
        n_rows, n_positions = len(positions[0].codes), len(positions)
        seen, codes = validation.as_labels(y, n_rows, estimator=type(self).__name__)
        weights = validation.as_weights(sample_weight, n_rows)
        known = seen if first else union_of_labels(self.classes_, seen)
        if classes is not None:
            known = union_of_labels(known, validation.as_classes(classes))
        alphabets = [CategoryEncoder() for _ in positions] if first else self._counts.alphabets
        placed = [alphabet.encode(positions[place], place) for place, alphabet in enumerate(alphabets)]
        needed = [alphabet.needed(column) for alphabet, (column, _) in zip(alphabets, placed, strict=True)]
        sizes = np.maximum(needed, self._least(n_positions))
        prior = self._prior(len(known))
        if first:
            counts = CategoryCounts.of(sizes, sizes, len(known), prior, alphabets)
        else:
            counts = self._counts.grown(sizes, label_positions(known, self.classes_), len(known), prior)
        rows = ones([column for column, _ in placed], counts.starts, len(counts.features))
        codes = label_positions(known, seen)[codes]

        def learnt() -> list[CategoryEncoder]:
            return [
                alphabet.learn(position.kind, column, new)
                for alphabet, position, (column, new) in zip(alphabets, positions, placed, strict=True)
            ]

        def count() -> None:
            counts.count(rows, codes, np.empty(0) if weights is None else weights, self.n_jobs, learnt)
            self._take_fitted(model._install(known, counts))

        return count

    def _positions(self, X: Any, reset: bool) -> list[CategoricalColumn]:
        """What X holds, after a look at the parameters that reading it needs."""
        check_parameters(self)
        refuse_corpus(X, "whose rows are sparse vectors; tuples of attributes come as a list or array")
        positions = validation.as_tuples(X)
        shape = len(positions[0].codes), len(positions)
        validate_data(
            self, X if hasattr(X, "columns") else np.broadcast_to(0, shape), reset=reset, skip_check_array=True
        )
        return positions

    def _checked_rows(self, X: Any) -> Dataset:
        found, columns = self._estimates(), []
        for place, position in enumerate(self._positions(X, reset=False)):
            alphabet, n = found.alphabets[place], int(found.sizes[place])
            codes, _ = alphabet.encode(position, place)
            if alphabet.kind != "numbers":  # what has no name yet is one of those left over, if there are any
                codes = np.minimum(codes, alphabet.size)
            unknown = codes >= n
            if unknown.any():
                if self.handle_unknown == "error":
                    row = int(np.argmax(unknown))
                    which = repr(position.names[position.codes[row]]) if position.names else "a category"
                    raise ValueError(f"X holds {which} at row {row}, column {place}, which was not seen when fitted")
                codes = np.where(unknown, -1, codes)
            columns.append(codes)
        return InMemoryDataset(ones(columns, found.starts, len(found.logs)))

    def _estimates(self) -> CategoryEstimates:
        self._check_fitted()
        found = self._counts.estimates()
        assert isinstance(found, CategoryEstimates)
        return found

    def _width(self) -> int:
        return len(self._counts.sizes)

    def _scorer(self) -> Scorer:
        found = self._estimates()
        return dense_scorer(found.logs, found.log_prior, self.n_jobs)

    def _install(self, classes: NDArray[Any], counts: CategoryCounts) -> Self:
        self.classes_, self._counts, self.n_features_in_ = classes, counts, len(counts.sizes)
        return self

    def _prior(self, n_labels: int) -> SmoothingPrior:
        """What the parameters say, checked."""
        alpha = real_number("alpha", self.alpha, at_least=0, at_most=1e100)
        if not self.force_alpha and alpha < 1e-10:
            warnings.warn("alpha too small will result in numeric errors, setting alpha = 1.0e-10", stacklevel=4)
            alpha = 1e-10
        return SmoothingPrior(np.full(1, alpha), np.ones(1), self._label_prior(n_labels))

    def _least(self, n_positions: int) -> NDArray[np.int64]:
        """How many categories each position has at least."""
        if self.min_categories is None:
            return np.zeros(n_positions, np.int64)
        least = np.asarray(self.min_categories)
        if least.dtype.kind not in "iu":
            raise ValueError(f"'min_categories' should have integral type. Got {least.dtype} instead.")
        if least.shape not in ((), (n_positions,)):
            raise ValueError(
                f"'min_categories' should have shape ({n_positions},) when an array-like is provided. "
                f"Got {least.shape} instead."
            )
        if (least < 1).any():
            raise ValueError(f"min_categories must be at least 1, got {least.min()}")
        return np.broadcast_to(np.minimum(least, MAX_COLUMNS + 1).astype(np.int64), n_positions)
