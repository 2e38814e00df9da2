"""tf-idf of counts."""

from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from fastlin import validation
from fastlin.core.containers import as_configured, csr
from fastlin.core.estimator import Estimator, learns, reads
from fastlin.core.sparse_output import SparseOutput
from fastlin.core.transformer import check_columns, names_of_columns
from fastlin.engine.text import tfidf
from fastlin.runtime import parallel
from fastlin.text.weighting import NO_IDF, WORK_PER_WEIGHT, weigh
from fastlin.validation import CSRRows
from fastlin.validation.choices import RowNorm
from fastlin.validation.parameter_kinds import IDF, JOBS, ParameterTable, check_parameters


class DocumentFrequencies:
    """Document frequencies of columns, and the inverse ones that they come to, made once."""

    def __init__(self, documents: NDArray[np.int64], n_documents: int, dtype: np.dtype[Any]) -> None:
        self.documents, self.n_documents, self.dtype = documents, n_documents, dtype
        self.made: NDArray[Any] | None = None

    def idf(self, smooth: bool) -> NDArray[Any]:
        """1 + log((n + s)/(df + s)), for the s of whoever asks first."""
        if (idf := self.made) is None:
            idf = (np.log((self.n_documents + float(smooth)) / (self.documents + float(smooth))) + 1.0).astype(
                self.dtype
            )
            self.made = idf
        return idf


class TfidfTransformer(SparseOutput, TransformerMixin, Estimator, auto_wrap_output_keys=None):  # type: ignore[call-arg]
    """Weighs counts by how rare their columns are: scikit-learn's tf-idf, in one pass.

    v_ij = tf(x_ij) · idf_j with idf_j = 1 + log((n + s)/(df_j + s)), divided by the norm of the row: n rows were seen,
    df_j of them with an entry in column j (an explicit zero is one: a hashed feature that another cancelled did occur),
    s = 1 if smoothed, else 0. tf(x) = x or, sublinear, 1 + log x for x > 0 and 0 for x = 0.

    Parameters
    ----------
    norm : {"l1", "l2"} or None
        Every row is divided by its sum of |v|, by its Euclidean length, or left as it is.
    use_idf : bool
        False: idf = 1.
    smooth_idf : bool
        Count as if one more document had every column: no idf is infinite.
    sublinear_tf : bool
        Take 1 + log x for x.
    n_jobs : int or None
        Threads; they never change a bit.

    Attributes
    ----------
    idf_ : array of shape (n_features_in_,)
        May be set, too, even where nothing is fitted; `partial_fit` then computes it anew from the counts.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)
        Where X has names for its columns.

    Examples
    --------
    >>> from fastlin import TfidfTransformer
    >>> tfidf = TfidfTransformer(norm="l1").fit([[1, 1, 0], [2, 0, 0], [1, 0, 3]])
    >>> tfidf.idf_.round(3).tolist()
    [1.0, 1.693, 1.693]
    >>> tfidf.transform([[1, 1, 0]]).toarray().round(3).tolist()
    [[0.371, 0.629, 0.0]]
    >>> tfidf.partial_fit([[0, 1, 0, 4]]).idf_.round(3).tolist()  # one more document, with a new column
    [1.223, 1.511, 1.916, 1.916]
    """

    _parameters: ClassVar[ParameterTable] = IDF | {"n_jobs": JOBS}

    n_features_in_: int
    feature_names_in_: NDArray[Any]

    def __init__(
        self,
        *,
        norm: RowNorm | None = "l2",
        use_idf: bool = True,
        smooth_idf: bool = True,
        sublinear_tf: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        self.norm = norm
        self.use_idf = use_idf
        self.smooth_idf = smooth_idf
        self.sublinear_tf = sublinear_tf
        self.n_jobs = n_jobs

    @learns
    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002 - scikit-learn passes labels to every step
        """Count in how many rows each column occurs.

        Parameters
        ----------
        X : matrix of shape (n_samples, n_features)
            Counts, dense or sparse.
        y : ignored

        Returns
        -------
        self
            The transformer, with its `idf_`.
        """
        model = self._working_copy()
        check_parameters(model)
        model._learn(X, model._rows(X))
        return self._take_fitted(model)

    @learns
    def fit_transform(self, X: Any, y: Any = None) -> Any:  # noqa: ARG002
        """`fit(X).transform(X)`, for one proof of X.

        Parameters
        ----------
        X : matrix of shape (n_samples, n_features)
            Counts, dense or sparse.
        y : ignored

        Returns
        -------
        CSR of shape (n_samples, n_features)
        """
        model = self._working_copy()
        check_parameters(model)
        rows = model._rows(X)
        model._learn(X, rows)
        output = model._output(model._transformed(X, rows, copy=True), X)
        self._take_fitted(model)
        return output

    @learns
    def partial_fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Add the rows to those counted. X may have more columns than before: they stand behind the known ones.

        Parameters
        ----------
        X : matrix of shape (n_samples, n_features)
            Counts, dense or sparse.
        y : ignored

        Returns
        -------
        self
            The transformer, with these rows counted, too.
        """
        model = self._working_copy()
        check_parameters(model)
        model._grow(X, model._rows(X), first=not hasattr(self, "_n_columns"))
        return self._take_fitted(model)

    @reads
    def transform(self, X: Any, copy: bool = True) -> Any:
        """Weigh the rows of X.

        Parameters
        ----------
        X : matrix of shape (n_samples, n_features)
            Counts, dense or sparse.
        copy : bool
            False: a CSR of float32 or float64 gets the weights in the place of its counts.

        Returns
        -------
        CSR of shape (n_samples, n_features)
            float32 if X is, otherwise float64; the entries of a CSR keep their order.
        """
        check_is_fitted(self)
        check_parameters(self)
        rows = self._rows(X)
        self._check_width(X, rows)
        return self._output(self._transformed(X, rows, copy), X)

    @reads
    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """The names of the columns, which are those of X.

        Parameters
        ----------
        input_features : array of str, optional
            Names for columns that came without.

        Returns
        -------
        array of str
        """
        check_is_fitted(self, "_n_columns")
        return names_of_columns(self, input_features, self._n_columns)

    @property
    @reads
    def idf_(self) -> NDArray[Any]:
        """The inverse document frequencies."""
        idf = self._weights()
        if idf is None:
            raise AttributeError(f"this {type(self).__name__} has no idf_: nothing was fitted with use_idf=True")
        return idf

    @idf_.setter
    @learns
    def idf_(self, value: Any) -> None:
        array = np.asarray(value)
        array = np.require(array, validation.as_real(array), ["C", "A"])
        if array.ndim != 1:
            raise ValueError(f"idf_ must be a vector, got shape {array.shape}")
        wrong = ~((np.abs(array) <= 1e20) | np.isinf(array))
        if wrong.any():
            place = int(np.argmax(wrong))
            raise ValueError(f"idf_ holds {array[place]} at {place}; at most 1e20 is supported")
        self._idf = array

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_n_columns") or getattr(self, "_idf", None) is not None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = bool(self.sublinear_tf)
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    # Parts

    _idf: NDArray[Any] | None  # what was set; None: to be computed from
    _frequencies: DocumentFrequencies | None  # None without use_idf
    _n_columns: int

    def _weights(self) -> NDArray[Any] | None:
        """The inverse document frequencies, if there are any."""
        idf, frequencies = getattr(self, "_idf", None), getattr(self, "_frequencies", None)
        return frequencies.idf(bool(self.smooth_idf)) if idf is None and frequencies is not None else idf

    def _rows(self, X: Any) -> CSRRows:
        return validation.as_rows(X, nonnegative=bool(self.sublinear_tf), in_order=False)

    def _check_width(self, X: Any, rows: CSRRows) -> None:
        if hasattr(self, "_n_columns"):
            validate_data(self, X, reset=False, skip_check_array=True)
            check_columns(self, self._n_columns)
        idf = self._weights()
        expected = self._n_columns if idf is None else len(idf)
        if rows.n_columns != expected:
            raise ValueError(
                f"X has {rows.n_columns} features, but {type(self).__name__} expects {expected}"
                + ("" if idf is None else ", as many as idf_ has values")
            )

    def _transformed(self, X: Any, rows: CSRRows, copy: bool) -> Any:
        """The weights of X, whose proved rows these are."""
        lent = rows.dense or (sp.issparse(X) and X.format == "csr" and np.may_share_memory(rows.values, X.data))
        dtype = np.dtype(np.float32 if getattr(X, "dtype", rows.values.dtype) == np.float32 else np.float64)
        if lent and not rows.dense and not copy and rows.values is X.data and X.data.flags.writeable:
            self._weigh(rows.indptr, rows.indices, rows.values, rows.values)
            return as_configured(X)
        counts = rows.values[: rows.nnz]
        out = counts if not lent and counts.dtype == dtype else np.empty(rows.nnz, dtype)
        self._weigh(rows.indptr, rows.indices, counts, out)
        indices = rows.indices[: rows.nnz]
        return csr(out, indices.copy() if lent else indices, rows.indptr, (len(rows), rows.n_columns))

    def _learn(self, X: Any, rows: CSRRows) -> None:
        """Count the rows of X, and nothing else."""
        self._grow(X, rows, first=True)
        _ = self._weights()  # warns of columns without a document now, if at all

    def _grow(self, X: Any, rows: CSRRows, first: bool) -> None:
        """Count the rows of X, too."""
        known = self._snapshot()
        validate_data(self, X, reset=True, skip_check_array=True)
        if not first:
            known._check_growth(self)
        dtype = np.dtype(np.float32 if getattr(X, "dtype", rows.values.dtype) == np.float32 else np.float64)
        before = None if first else getattr(known, "_frequencies", None)
        self._idf, self._n_columns = None, rows.n_columns
        self._frequencies = _counted(rows, before, dtype) if self.use_idf else None

    def _check_growth(self, grown: Self) -> None:
        known = self._n_columns
        check_columns(self, known)
        if grown.n_features_in_ < known:
            raise ValueError(
                f"X has {grown.n_features_in_} features, but {type(self).__name__} is expecting {known} features as "
                f"input, or more: columns may be added, not left out"
            )
        names = getattr(self, "feature_names_in_", None)
        given = getattr(grown, "feature_names_in_", None)
        if (names is None) != (given is None):
            had, has = ("names", "none") if given is None else ("no names", "some")
            raise ValueError(f"the columns of X had {had} before and have {has} now")
        if names is not None and given is not None and (names != given[:known]).any():
            place = int(np.argmax(names != given[:known]))
            raise ValueError(f"column {place} of X was {names[place]!r} and is {given[place]!r} now")

    def _take_frequencies(self, documents: NDArray[np.int64], n_documents: int, dtype: np.dtype[Any]) -> None:
        """Take over how many of the documents have each column, in the place of what was counted."""
        self._idf, self._n_columns = None, len(documents)
        self._frequencies = DocumentFrequencies(documents, n_documents, dtype) if self.use_idf else None
        _ = self._weights()  # for the parameters as they are now

    def _weigh(
        self, indptr: NDArray[np.int64], indices: NDArray[np.int32], counts: NDArray[Any], out: NDArray[Any]
    ) -> None:
        """out = the weights of a proved CSR of counts."""
        idf = self._weights()
        if idf is not None:
            idf = idf.astype(np.float64, copy=False)
            _check_finite(idf, indptr, indices)
        weigh(indptr, indices, counts, out, self.norm, NO_IDF if idf is None else idf, self.sublinear_tf, self.n_jobs)


def _counted(rows: CSRRows, before: DocumentFrequencies | None, dtype: np.dtype[Any]) -> DocumentFrequencies:
    """The frequencies after some more rows; `dtype` is that of idf_, if these are the first."""
    documents = np.zeros(rows.n_columns, np.int64)
    n_documents = len(rows)
    if before is not None:
        documents[: len(before.documents)] = before.documents
        n_documents, dtype = n_documents + before.n_documents, before.dtype
    for start, stop in parallel.split_by_work(rows.indptr, WORK_PER_WEIGHT):
        tfidf.document_frequencies(rows.indices[rows.indptr[start] : rows.indptr[stop]], documents)
    return DocumentFrequencies(documents, n_documents, dtype)


def _check_finite(idf: NDArray[np.float64], indptr: NDArray[np.int64], indices: NDArray[np.int32]) -> None:
    """Refuse rows with a column whose idf is infinite."""
    if np.isfinite(idf).all():
        return
    endless = ~np.isfinite(idf[indices[: indptr[-1]]])
    if endless.any():
        position = int(np.argmax(endless))
        row = int(np.searchsorted(indptr, position, side="right")) - 1
        raise ValueError(
            f"row {row} has column {indices[position]}, which no document had: its idf is infinite. Smooth it, by "
            f"smooth_idf=True"
        )
