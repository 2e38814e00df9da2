"""Log-count ratios: naive Bayes as a scale for the columns of another learner."""

from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from fastlin import validation
from fastlin.core.estimator import learns, reads
from fastlin.core.transformer import SparseTransformer, assemble, check_columns, names_of_columns
from fastlin.runtime import parallel
from fastlin.runtime.user_warnings import warn_user
from fastlin.validation import CSRRows
from fastlin.validation.parameter_kinds import JOBS, TRUTH, ParameterTable, Real, check_parameters

BLOCKS = (
    "LogCountRatio makes {n} blocks of columns, one for each label, and what learns from them all is slow and less "
    "accurate: OneVsRestClassifier(make_pipeline(LogCountRatio(), ...)) gives the model of each label its own"
)


class LogCountRatio(SparseTransformer):
    """Multiplies every column by how much more often one label has it than the other.

    With f_i the counts of row i (1 where there is any, if `binary`), and k the second label,

        p = α + Σ_{i: y_i = k} f_i,  q = α + Σ_{i: y_i ≠ k} f_i,  r = log(p/‖p‖₁) − log(q/‖q‖₁),

    and f becomes f ∘ r: the features of Wang & Manning (2012), on which a linear model starts from naive Bayes. With
    more than two labels there is a block of columns for each label against the rest, in the order of `classes_`; a
    warning says that `OneVsRestClassifier(make_pipeline(LogCountRatio(), …))`, whose model of a label sees the columns
    of that label alone, is the better model and the faster one.

    Parameters
    ----------
    alpha : float
        α, what is added to every count; above 0.
    binary : bool
        Whether a row has a column or has not, instead of how often, in fit and in transform.
    n_jobs : int or None
        Threads that count; they never change a bit.
    sparse_output : bool
        False makes a dense array.

    Attributes
    ----------
    classes_ : array of shape (n_labels,)
        The labels, sorted.
    log_ratio_ : array of shape (1 or n_labels, n_features_in_)
        r, of the second label where there are two.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)
        Where X has names for its columns.

    Examples
    --------
    >>> from fastlin import LogCountRatio
    >>> X = [[2, 1, 0], [1, 1, 0], [0, 1, 1], [0, 1, 3]]
    >>> ratio = LogCountRatio(sparse_output=False).fit(X, ["bad", "bad", "good", "good"])
    >>> ratio.log_ratio_.round(2).tolist()
    [[-1.1, 0.0, 1.1]]
    >>> ratio.transform([[0, 0, 2]]).round(2).tolist()
    [[0.0, 0.0, 1.1]]
    """

    _parameters: ClassVar[ParameterTable] = {
        "alpha": Real(above=0, at_most=1e100), "binary": TRUTH, "n_jobs": JOBS, "sparse_output": TRUTH,
    }  # fmt: skip

    def __init__(
        self, alpha: float = 1.0, binary: bool = True, *, n_jobs: int | None = None, sparse_output: bool = True
    ) -> None:
        self.alpha = alpha
        self.binary = binary
        self.n_jobs = n_jobs
        self.sparse_output = sparse_output

    classes_: NDArray[Any]
    log_ratio_: NDArray[np.float64]

    @learns
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Count the columns under the labels.

        Parameters
        ----------
        X : matrix of shape (n_samples, n_features)
            Counts, dense or sparse: not negative.
        y : array of shape (n_samples,)
            Labels: strings or integers, at least two kinds.
        sample_weight : array of shape (n_samples,), optional
            How often each row counts.

        Returns
        -------
        self
            The transformer, with its ratios in `log_ratio_`.
        """
        model = self._working_copy()
        check_parameters(self)
        alpha = float(self.alpha)
        rows = self._counts(model._rows_to_learn(X, nonnegative=True))
        classes, codes = validation.as_labels(y, len(rows), estimator=type(self).__name__)
        weights = validation.as_weights(sample_weight, len(rows))
        if weights is not None and not weights.any():
            raise ValueError("sample_weight is zero for every row: there is nothing to count")
        if len(classes) < 2:
            raise ValueError(f"The number of classes has to be greater than one; got {len(classes)} class")
        if len(classes) > 2:
            warn_user(BLOCKS.format(n=len(classes)))
        counts = np.zeros((rows.n_columns, len(classes)))
        shares = np.empty(0) if weights is None else weights
        with parallel.WorkerPool(self.n_jobs) as workers:
            for start, stop in parallel.row_blocks(rows, 1):
                parallel.count_features(rows, start, stop, codes, shares, counts, workers)
        model.classes_, model.log_ratio_ = classes, _log_ratio(counts, alpha)
        return self._take_fitted(model)

    def transform(self, X: Any) -> Any:
        """The columns of X times their ratios.

        Parameters
        ----------
        X : matrix of shape (n_samples, n_features)
            Counts, dense or sparse: not negative.

        Returns
        -------
        csr_matrix of shape (n_samples, n_features) or, of more than two labels, (n_samples, n_labels · n_features)
            float32 where X is, float64 otherwise.
        """
        rows = self._counts(self._rows(X, nonnegative=True))
        indices, values = rows.indices[: rows.nnz], rows.values[: rows.nnz]
        blocks = [
            assemble(values * ratio.astype(values.dtype)[indices], indices, rows.indptr, rows.n_columns)
            for ratio in self._proved_ratio()
        ]
        return self._given(blocks[0] if len(blocks) == 1 else sp.hstack(blocks, format="csr"), X)

    @reads
    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """The names of the columns; with more than two labels, “label: column”.

        Parameters
        ----------
        input_features : array of str of shape (n_features,), optional
            Names of the columns of X; None: those of the data frame it was fitted to, or x0, x1, …

        Returns
        -------
        array of str of shape (n_features_out,)
            In the order of the columns that `transform` returns.
        """
        check_is_fitted(self)
        ratio = self._proved_ratio()
        names = names_of_columns(self, input_features, ratio.shape[1])
        if len(ratio) == 1:
            return np.array(names, dtype=object)
        return np.array([f"{label}: {name}" for label in self.classes_ for name in names], dtype=object)

    def _proved_ratio(self) -> NDArray[np.float64]:
        """The ratios: they, the labels and the number of columns may have been set."""
        ratio, n = np.asarray(self.log_ratio_), len(self.classes_)
        n_rows = 1 if n == 2 else n
        if ratio.dtype.kind != "f" or ratio.ndim != 2 or len(ratio) != n_rows:
            raise ValueError(
                f"log_ratio_ must be an array of floats, {n_rows} row(s) for the {n} labels of classes_; it has dtype "
                f"{ratio.dtype} and shape {ratio.shape}"
            )
        check_columns(self, ratio.shape[1])
        return ratio

    def _counts(self, rows: CSRRows) -> CSRRows:
        return replace(rows, values=(rows.values != 0).astype(rows.values.dtype)) if self.binary else rows

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.target_tags.required = True
        return tags


def _log_ratio(counts: NDArray[np.float64], alpha: float) -> NDArray[np.float64]:
    """r of the second of two labels, or of each of several, from counts [V, K]."""
    ratios = []
    for k in [1] if counts.shape[1] == 2 else range(counts.shape[1]):
        p = alpha + counts[:, k]
        q = alpha + np.delete(counts, k, axis=1).sum(axis=1)  # no difference from the total: it would cancel
        ratios.append(np.log(p / p.sum()) - np.log(q / q.sum()))
    return np.array(ratios)
