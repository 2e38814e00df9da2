"""What all estimators share: to scikit-learn they are estimators of sparse rows: classifiers, most of them."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import validate_data

from fastlin import storage, validation
from fastlin.core.dataset import (
    CSRDataset,
    Dataset,
    DatasetView,
    TargetedRows,
    accuracy,
    read_rows,
    read_targets,
    read_validation,
)
from fastlin.core.estimator import Estimator, reads
from fastlin.engine.core import row_scores as row_kernels
from fastlin.engine.core.csr_scores import LinearScorer
from fastlin.runtime import parallel
from fastlin.validation import CSRRows

Floats = NDArray[np.float64]  # named, for the annotation of a function within another is made anew at every call
Labels = NDArray[np.int64]
UNNAMED_KINDS = (np.ndarray, sp.sparray, sp.spmatrix)  # kinds of matrices whose columns have no names
Infer = Callable[[Floats, int, int], None]  # takes the scores of the rows start to stop


NO_SCORES, NO_LABELS = np.empty((0, 0)), np.empty(0, np.int64)

# Fills the scores of all rows of a CSR as it lies, or their labels; False: not of this one, and nothing is said.
Direct = Callable[[CSRDataset, Floats, Labels], bool]


class Scorer(NamedTuple):
    """Scores rows with weights of so many columns, in blocks that go to an `Infer`; maybe a whole CSR as it lies."""

    width: int
    forward: Callable[[CSRRows, Infer], None]
    direct: Direct | None = None


class SparseEstimator(Estimator, ABC):
    """An estimator of sparse rows.

    It reads rows for its predictions all at once or, of a corpus, a segment at a time: `_iter_segments` hands them out,
    and what `_scorer` returns scores them.
    """

    n_features_in_: int

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "n_features_in_")

    def _check_width(self, X: Any, rows: Dataset, reset: bool) -> None:
        """Set, or compare, the number of features and their names.

        Arrays have no names, which scikit-learn takes a third of the time of predicting a row to find out.
        """
        width, named = rows.n_features, "feature_names_in_" in self.__dict__
        if named or not isinstance(X, UNNAMED_KINDS):
            validate_data(self, X, reset=reset, skip_check_array=True)
        elif reset:
            self.n_features_in_ = width
        if width != self.n_features_in_:  # X may show scikit-learn another shape than its rows have
            name = type(self).__name__
            raise ValueError(f"X has {width} features, but {name} is expecting {self.n_features_in_} features as input")

    # Reading

    def _row_constraints(self) -> dict[str, Any]:
        """What `validation.as_rows` has to see to before rows meet the weights."""
        return {"dtype": np.dtype(np.float64)}

    def _read_rows(self, X: Any, reset: bool, **constraints: Any) -> Dataset:
        """Rows without labels, as wide as is known or, to `reset` it, as is known from now on."""
        rows = read_rows(X, constraints)
        self._check_width(X, rows, reset)
        return rows

    def _checked_rows(self, X: Any) -> Dataset:
        """Rows to predict for; those of a corpus are looked at when they are read."""
        self._check_fitted()
        rows = read_rows(X, self._row_constraints(), lazily=True)
        self._check_width(X, rows, False)
        return rows

    def _iter_segments(self, rows: Dataset) -> Iterable[tuple[int, CSRRows]]:
        """The rows in one piece, or in segments, each with the number of its first row."""
        return rows.numbered_rows()

    def _scores_as_it_lies(self) -> bool:
        """Whether `_iter_segments` hands out rows as they are, so that a CSR may be scored as it lies."""
        return type(self)._iter_segments is SparseEstimator._iter_segments

    def _score_directly(
        self,
        rows: Dataset,
        scorer: Scorer,
        scores: Floats = NO_SCORES,
        labels: Labels = NO_LABELS,
    ) -> bool:
        """Fill the scores or the labels of a CSR as it lies; False: `_forward` has to."""
        if scorer.direct is None or not isinstance(rows, CSRDataset) or not self._scores_as_it_lies():
            return False
        return scorer.direct(rows, scores, labels)

    @abstractmethod
    def _scorer(self) -> Scorer:
        """What scores rows with the weights as they are now."""

    def _forward(self, rows: Dataset, scorer: Scorer, infer: Infer) -> None:
        """Score rows in blocks, each of which goes to `infer`."""
        for start, part in self._iter_segments(rows):
            scorer.forward(part, _from(start, infer))

    def _scores(self, rows: Dataset) -> Floats:
        """The scores of all rows, [n, columns]."""
        scorer = self._scorer()
        whole = np.empty((len(rows), scorer.width))
        if not self._score_directly(rows, scorer, scores=whole):
            self._forward(rows, scorer, lambda scores, start, stop: np.copyto(whole[start:stop], scores))
        return whole

    def _check_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            ways = "fit or partial_fit" if hasattr(self, "partial_fit") else "fit"
            raise NotFittedError(f"This {type(self).__name__} is not fitted yet: call {ways} first")


class SparseClassifier(ClassifierMixin, SparseEstimator):
    """A classifier that is fitted once it knows its labels."""

    classes_: NDArray[Any]
    coef_: Any

    @reads
    def predict(self, X: Any) -> NDArray[Any]:
        """The label of each row of X, a matrix or a `Corpus`; the first of `classes_` among equals.

        Parameters
        ----------
        X : matrix of shape (n_samples, n_features), or Corpus
            Dense or sparse.

        Returns
        -------
        array of shape (n_samples,)
            Labels as they were learnt, of the type of `classes_`.
        """
        codes = self._codes(self._checked_rows(X))
        return self.classes_.take(codes)

    @reads
    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The accuracy on the rows of X, a matrix with labels `y` or a `Corpus`, which has labels and weights itself.

        Parameters
        ----------
        X : matrix of shape (n_samples, n_features), or Corpus
        y : array of shape (n_samples,)
            Labels; None with a Corpus.
        sample_weight : array of shape (n_samples,), optional
            None with a Corpus.

        Returns
        -------
        float
            The share of the rows, by their weights, whose label is predicted.
        """
        self._check_fitted()
        return accuracy(self.predict, self.classes_, X, y, sample_weight)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "classes_")

    # Reading

    def _read_labelled(self, X: Any, y: Any, sample_weight: Any, reset: bool, **constraints: Any) -> Dataset:
        """What to learn from: a corpus, or X, y and weights as one."""
        return self._read_rows(X, reset, **constraints).labelled(y, sample_weight, estimator=type(self).__name__)

    def _read_validation(
        self, X: Any, y: Any, classes: NDArray[Any], learnt: Dataset, **constraints: Any
    ) -> DatasetView:
        """Validation data; a label that is not learnt has the code −1."""
        held = read_validation(X, y, classes, learnt, estimator=type(self).__name__, **constraints)
        validate_data(self, X, reset=False, skip_check_array=True)
        return held

    def _codes(self, rows: Dataset) -> Labels:
        """Which label each row gets."""
        codes, scorer = np.empty(len(rows), np.int64), self._scorer()
        if not self._score_directly(rows, scorer, labels=codes):
            self._forward(rows, scorer, lambda scores, start, stop: row_kernels.argmax(scores, codes[start:stop]))
        return codes

    def _accuracy(self, held: DatasetView) -> float:
        weights = held.dataset.weights()
        return float(np.average(self._codes(held.dataset) == held.codes(), weights=weights if weights.any() else None))

    def _dense_weights(self, n_features: int, width: int, dtype: Any) -> NDArray[Any]:
        """`coef_` as the engine takes it, [V, K], after proving that it and `intercept_`, which users may set, fit."""
        weights = np.require(np.asarray(self.coef_).T, dtype, ["C", "A"])
        intercept_fits = not hasattr(self, "intercept_") or np.shape(self.intercept_) == (width,)
        if weights.shape != (n_features, width) or not intercept_fits:
            shapes = f"coef_ of shape {weights.T.shape}"
            if not intercept_fits:
                shapes += f", intercept_ of shape {np.shape(self.intercept_)}"
            raise ValueError(f"{shapes} does not fit {width} column(s) of weights and {n_features} features")
        return weights


class SparseRegressor(RegressorMixin, SparseEstimator):
    """A regressor of one target; its `score`, scikit-learn's, is R²."""

    @reads
    def predict(self, X: Any) -> Floats:
        """The target of each row of X, a matrix or a `Corpus`: a real number.

        Parameters
        ----------
        X : matrix of shape (n_samples, n_features), or Corpus
            Dense or sparse.

        Returns
        -------
        array of shape (n_samples,)
            Predicted targets.
        """
        return self._scores(self._checked_rows(X))[:, 0]

    def _read_held_out(self, X: Any, y: Any, learnt: Dataset, **constraints: Any) -> TargetedRows:
        """Validation data, as wide as the rows that are learnt."""
        held = read_targets(X, y, learnt, estimator=type(self).__name__, **constraints)
        validate_data(self, X, reset=False, skip_check_array=True)
        return held


def checkpoint_of(
    model: Estimator, source: Any, path: Any, checkpoint_interval: Any, resume: Any, given: dict[str, Any]
) -> storage.Checkpoint:
    """The file of a fit of these rows; `given` are the other arguments of `fit`."""
    identity = {} if path is None else storage.identity(model, source, **given)
    return storage.Checkpoint(path, checkpoint_interval, resume, identity)


def _from(first: int, infer: Infer) -> Infer:
    """`infer` for a part that begins at the row `first`."""
    return (lambda scores, start, stop: infer(scores, first + start, first + stop)) if first else infer


def dense_scorer(weights: NDArray[Any], bias: Floats, n_jobs: int | None) -> Scorer:
    """For weights [V, K]."""
    bound: dict[bool, LinearScorer] = {}

    def forward(rows: CSRRows, infer: Infer) -> None:
        parallel.forward(rows, weights, bias, infer, n_jobs)

    def direct(rows: CSRDataset, scores: Floats, labels: Labels) -> bool:
        return score_csr(rows, weights, bias, n_jobs, scores, labels, bound)

    return Scorer(weights.shape[1], forward, direct)


def score_csr(
    rows: CSRDataset,
    weights: NDArray[Any],
    bias: Floats,
    n_jobs: int | None,
    scores: Floats,
    labels: Labels,
    bound: dict[bool, LinearScorer] | None = None,
) -> bool:
    """Fill the scores, or the labels, of a CSR as it lies by weights [V, K]; False: something about it is wrong.

    `bound` keeps what scores these weights, by whether rows are to be counts: to bind it takes as long as a short row.
    """
    wanted, bound = rows.constraints, {} if bound is None else bound
    if rows.n_features != len(weights) or "highest" in wanted:
        return False
    counts = bool(wanted.get("nonnegative"))
    if counts not in bound:
        bound[counts] = LinearScorer(weights, bias, validation.MAX_ABS_VALUE[weights.dtype], counts)
    return parallel.score_matrix(rows.matrix, bound[counts], weights.shape[1], n_jobs, scores, labels)


def sparse_scorer(coef: Any, intercept: Floats) -> Scorer:
    """For weights that are a CSR in scikit-learn's shape."""
    columns = validation.as_sparse(coef, "coef_").T.tocsr()

    def forward(rows: CSRRows, infer: Infer) -> None:
        for start, stop in parallel.row_blocks(rows, len(intercept)):
            indices, values = parallel.block_arrays(rows, start, stop, np.float64)
            indptr = rows.indptr[start : stop + 1] - rows.indptr[start]
            block = sp.csr_array((values, indices, indptr), shape=(stop - start, rows.n_columns))
            infer((block @ columns).toarray() + intercept, start, stop)

    return Scorer(len(intercept), forward)


def probabilities(scores: Floats, n_labels: int, logarithmic: bool) -> Floats:
    """The (log-)probabilities of the labels, from scores [n, columns] that it may overwrite."""
    if n_labels == 1:
        return np.full((len(scores), 1), 0.0 if logarithmic else 1.0)
    if scores.shape[1] > 1:
        row_kernels.softmax(scores, logarithmic)
        return scores
    both = np.empty((len(scores), 2))
    row_kernels.sigmoid_proba(np.ascontiguousarray(scores[:, 0]), both, logarithmic)
    return both
