"""Dicts, pairs and strings to matrices: by a vocabulary of names, or by their hashes."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import check_array, metadata_routing
from sklearn.utils.validation import check_is_fitted

from fastlin.core.containers import csr
from fastlin.core.estimator import learns, reads
from fastlin.core.sparse_output import FRAMES, frame_of
from fastlin.core.transformer import Transformer, output_of, proved
from fastlin.features import dict_rows
from fastlin.validation.parameter_kinds import DICTS, DTYPE, HASHED, OneOf, ParameterTable, check_parameters

KINDS = {"dict": dict_rows.DICTS, "pair": dict_rows.PAIRS, "string": dict_rows.STRINGS}


class DictVectorizer(Transformer):
    """A column for every name in dicts, and for every value that a name has if values are strings.

    The entry `"age": 3` puts 3 into the column "age"; `"tag": "noun"` puts 1 into "tag=noun"; `"tag": ["noun", "verb"]`
    does so for each of the strings. The output is scikit-learn's.

    Parameters
    ----------
    dtype : type
        Of the values; what is no float is made one by `dtype(value)`.
    separator : str
        Stands between a name and its string value.
    sparse : bool
        Return a CSR; else a dense array.
    sort : bool
        The columns are in the order of their names; else in that of their first appearance.

    Attributes
    ----------
    vocabulary_ : dict
        From name to column.
    feature_names_ : list
        The name of each column.

    Examples
    --------
    >>> from fastlin import DictVectorizer
    >>> vectorizer = DictVectorizer(sparse=False)
    >>> vectorizer.fit_transform([{"word": "time", "length": 4}, {"word": "flies", "length": 5}])
    array([[4., 0., 1.],
           [5., 1., 0.]])
    >>> vectorizer.feature_names_
    ['length', 'word=flies', 'word=time']
    """

    _parameters: ClassVar[ParameterTable] = DICTS

    __metadata_request__inverse_transform: ClassVar[dict[str, Any]] = {"dict_type": metadata_routing.UNUSED}

    vocabulary_: dict[Any, int]
    feature_names_: list[Any]

    def __init__(
        self, *, dtype: Any = np.float64, separator: str = "=", sparse: bool = True, sort: bool = True
    ) -> None:
        self.dtype = dtype
        self.separator = separator
        self.sparse = sparse
        self.sort = sort

    @learns
    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002 - scikit-learn passes labels to every step
        """Learn the names.

        Parameters
        ----------
        X : iterable of dicts, or a dict
            The values are numbers, None (NaN), strings or iterables of strings.
        y : ignored

        Returns
        -------
        self
            The vectoriser, with its columns in `feature_names_`.
        """
        model = self._working_copy()
        model._check_parameters()
        names, _, _ = model._look_up(X, None, 0, filling=False)
        if model.sort:
            names = [names[column] for column in _order(names)]
        model.feature_names_, model.vocabulary_ = names, {name: column for column, name in enumerate(names)}
        return self._take_fitted(model)

    @learns
    def fit_transform(self, X: Any, y: Any = None) -> Any:  # type: ignore[override]  # noqa: ARG002
        """Learn the names and return the matrix, in one pass over X.

        Parameters
        ----------
        X : iterable of dicts, or a dict
            The values are numbers, None (NaN), strings or iterables of strings.
        y : ignored

        Returns
        -------
        matrix of shape (n_samples, n_features)
        """
        model = self._working_copy()
        model._check_parameters()
        names, _, (values, indices, indptr, ordered) = model._look_up(X, None, 0, filling=True)
        columns = np.arange(len(names), dtype=np.int32)
        vocabulary = names
        if model.sort:
            order = _order(names)
            columns[order] = np.arange(len(names))
            floats = values if isinstance(values, np.ndarray) else NOTHING
            ordered = dict_rows.renumber(indptr, indices, floats, columns, model.sparse and floats is values)
            names = [names[column] for column in order]
        model.feature_names_ = names
        model.vocabulary_ = dict(zip(vocabulary, columns.tolist(), strict=True))
        matrix = model._matrix(values, indices, indptr, ordered, len(names), X)
        self._take_fitted(model)
        return matrix

    def transform(self, X: Any) -> Any:
        """The matrix of X; names that are not in the vocabulary are left out.

        Parameters
        ----------
        X : iterable of dicts, or a dict
            The values are numbers, None (NaN), strings or iterables of strings.

        Returns
        -------
        matrix of shape (n_samples, n_features)
        """
        check_is_fitted(self, ["feature_names_", "vocabulary_"])
        self._check_parameters()
        width = self._width()  # whatever a user does to the vocabulary meanwhile
        _, _, (values, indices, indptr, ordered) = self._look_up(X, self.vocabulary_, width, filling=True)
        return self._matrix(values, indices, indptr, ordered, width, X)

    @reads
    def inverse_transform(self, X: Any, dict_type: Any = dict) -> list[Any]:
        """The dicts that the rows stand for; a string value is part of its name, as in `feature_names_`.

        Parameters
        ----------
        X : matrix of shape (n_samples, n_features)
        dict_type : type
            What is made for each row.

        Returns
        -------
        list of dict_type
        """
        check_is_fitted(self, "feature_names_")
        X = check_array(proved(X), accept_sparse=["csr", "csc"])
        names = self.feature_names_
        if X.shape[1] > len(names):
            raise ValueError(f"X has {X.shape[1]} columns, but the vocabulary has {len(names)} names")
        if not sp.issparse(X):
            X = sp.csr_array(X)
        elif not (X.format == "csr" and X.has_canonical_format):
            X = X.tocsr(copy=True)
            X.sum_duplicates()
        dicts = [dict_type() for _ in range(X.shape[0])]
        for row, made in enumerate(dicts):
            start, stop = X.indptr[row], X.indptr[row + 1]
            for column, value in zip(X.indices[start:stop].tolist(), X.data[start:stop], strict=True):
                if value != 0:
                    made[names[column]] = value
        return dicts

    @reads
    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:  # noqa: ARG002
        """The names of the columns, as strings.

        Parameters
        ----------
        input_features : ignored

        Returns
        -------
        array of str objects
        """
        check_is_fitted(self, "feature_names_")
        names = [name if isinstance(name, str) else str(name) for name in self.feature_names_]
        return np.asarray(names, dtype=object)

    @learns
    def restrict(self, support: Any, indices: bool = False) -> Self:
        """Keep some of the columns, such as a selector's.

        Parameters
        ----------
        support : array
            A mask, or with `indices` the numbers of the columns in their new order.
        indices : bool

        Returns
        -------
        self
            The vectoriser, which leaves out the other names from now on.
        """
        check_is_fitted(self, "feature_names_")
        model = self._working_copy()
        kept, n = np.asarray(support) if indices else np.flatnonzero(support), len(self.feature_names_)
        if ((kept < 0) | (kept >= n)).any():
            raise ValueError(f"support must name columns from 0 to {n - 1}, got {support!r:.60}")
        model.vocabulary_ = {}
        for column in kept.tolist():
            model.vocabulary_[self.feature_names_[column]] = len(model.vocabulary_)
        model.feature_names_ = list(model.vocabulary_)
        return self._take_fitted(model)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.dict = True
        tags.input_tags.two_d_array = False
        return tags

    # Parts

    def _check_parameters(self) -> None:
        if not isinstance(self.separator, str):
            raise TypeError(f"separator must be a string, got {self.separator!r}")
        check_parameters(self)

    def _width(self) -> int:
        """The number of columns: both attributes may have been set, or changed."""
        if not isinstance(self.vocabulary_, dict):
            raise TypeError(f"vocabulary_ must be a dict from names to columns, got {type(self.vocabulary_).__name__}")
        n_names, n_columns = len(self.feature_names_), len(self.vocabulary_)
        if n_names != n_columns:
            raise ValueError(f"vocabulary_ has {n_columns} names and feature_names_ {n_names}: they belong together")
        return n_columns

    def _look_up(
        self, X: Any, vocabulary: dict[Any, int] | None, width: int, *, filling: bool
    ) -> tuple[list[Any], int, Any]:
        samples = [X] if isinstance(X, Mapping) else X
        kind = self.dtype if callable(self.dtype) else np.dtype(self.dtype).type
        floating = np.dtype(self.dtype).kind == "f"
        sort = self.sparse and not (vocabulary is None and self.sort)
        found = dict_rows.look_up(samples, self.separator, vocabulary, width, filling, kind, floating, sort)
        if filling and not found[1]:
            raise ValueError("X is empty: there is no sample to make a row of")
        return found

    def _matrix(
        self, values: Any, indices: NDArray[np.int32], indptr: NDArray[np.int64], ordered: bool, width: int, X: Any
    ) -> Any:
        """The matrix made of X, as its user wants it."""
        matrix = csr(np.asarray(values, dtype=self.dtype), indices, indptr, (len(indptr) - 1, width))
        if not self.sparse:
            return matrix.toarray()
        if not ordered:
            matrix.sort_indices()
        if (kind := output_of(self)) in FRAMES:
            return frame_of(matrix, X, self.get_feature_names_out(), kind)
        return matrix


class FeatureHasher(Transformer):
    """A column for every name in dicts, pairs or strings, found by its hash: no vocabulary, nothing to fit.

    A name goes to column |h| mod n_features with the sign of h, its MurmurHash3 (of its UTF-8, seed 0). A string value
    becomes part of the name, "name=value", with the value 1. The output is scikit-learn's: names that share a column
    are added up, and where they cancel a 0 is stored.

    Parameters
    ----------
    n_features : int
        The number of columns.
    input_type : {"dict", "pair", "string"}
        What a sample is: a dict from names to values, an iterable of pairs (name, value), or one of names (value 1).
    dtype : type
        Of the values.
    alternate_sign : bool
        Multiply a value by the sign of its name's hash, so that collisions cancel in the mean.

    Examples
    --------
    >>> from fastlin import FeatureHasher
    >>> hasher = FeatureHasher(n_features=8)
    >>> hasher.transform([{"word": "time", "length": 4}, {"word": "flies", "length": 5}]).toarray()
    array([[ 0.,  4.,  0.,  0.,  0.,  0.,  0., -1.],
           [ 0.,  5.,  0.,  0.,  0.,  0.,  0., -1.]])
    """

    _parameters: ClassVar[ParameterTable] = HASHED | {"input_type": OneOf(*KINDS), "dtype": DTYPE}

    __metadata_request__transform: ClassVar[dict[str, Any]] = {"raw_X": metadata_routing.UNUSED}

    def __init__(
        self,
        n_features: int = 2**20,
        *,
        input_type: Literal["dict", "pair", "string"] = "dict",
        dtype: Any = np.float64,
        alternate_sign: bool = True,
    ) -> None:
        self.n_features = n_features
        self.input_type = input_type
        self.dtype = dtype
        self.alternate_sign = alternate_sign

    @learns
    def fit(self, X: Any = None, y: Any = None) -> Self:  # noqa: ARG002
        """Check the parameters; there is nothing to learn.

        Parameters
        ----------
        X, y : ignored

        Returns
        -------
        self
            The hasher, unchanged.
        """
        self._check_parameters()
        return self

    def transform(self, raw_X: Any) -> Any:
        """Hash the samples.

        Parameters
        ----------
        raw_X : iterable of samples
            Each of the kind that `input_type` says. Values are numbers, or strings, which become part of the name;
            names are str or bytes.

        Returns
        -------
        CSR of shape (n_samples, n_features)
        """
        dtype, n_features = self._check_parameters()
        exact = dtype == np.float64
        kind = KINDS[self.input_type]
        found = dict_rows.hashed(raw_X, kind, n_features, bool(self.alternate_sign), exact)
        values, indices, indptr, ordered = found
        if len(indptr) == 1:
            raise ValueError("raw_X is empty: there is no sample to make a row of")
        if not exact:
            values = _converted(values, dtype)
        matrix = csr(values, indices, indptr, (len(indptr) - 1, n_features))
        if not (exact and ordered):
            matrix.sum_duplicates()
        return matrix

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        if self.input_type == "string":
            tags.input_tags.string = True
        elif self.input_type == "dict":
            tags.input_tags.dict = True
        tags.requires_fit = False
        return tags

    def _check_parameters(self) -> tuple[np.dtype[Any], int]:
        """Returns `dtype` and `n_features`."""
        check_parameters(self)
        return np.dtype(self.dtype), int(self.n_features)


NOTHING = np.empty(0)


def _order(names: list[Any]) -> list[int]:
    """The columns in the order of their names."""
    try:
        return sorted(range(len(names)), key=names.__getitem__)
    except TypeError as error:
        kinds = ", ".join(sorted({type(name).__name__ for name in names}))
        raise TypeError(f"names of several types ({kinds}) have no order; sort=False keeps theirs") from error


def _converted(values: NDArray[np.float64], dtype: np.dtype[Any]) -> NDArray[Any]:
    """The values in another type; integers are truncated, and refused where they do not fit."""
    if dtype.kind in "iu" and len(values):
        if np.isnan(values).any():
            raise ValueError(f"a value is NaN, which {dtype} cannot hold")
        limits = np.iinfo(dtype)
        wrong = (np.trunc(values) < limits.min) | (np.trunc(values) >= float(limits.max) + 1)
        if wrong.any():
            raise OverflowError(f"{dtype} cannot hold the value {values[wrong][0]:g}")
    return values.astype(dtype)
