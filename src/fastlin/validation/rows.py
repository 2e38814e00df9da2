"""Matrices of any kind as rows that kernels may trust."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fastlin.engine.core import csr_check, csr_scores

MAX_ABS_VALUE = {np.dtype(np.float64): 1e100, np.dtype(np.float32): 1e15}
MAX_COLUMNS = 2**31 - 1
MAX_SCIPY_NNZ = 2**31 - 1  # non-zeros: of more, scipy would widen all indices to int64
NNZ_PER_STRETCH = 1 << 23  # non-zeros that are looked at together where there are more
MAX_MARKED_COLUMNS = 1 << 22  # columns: how wide rows are sorted by marking columns, not by comparing them


@dataclass(frozen=True)
class CSRRows:
    """A proved CSR: int64 `indptr`, int32 `indices`, float32 or float64 `values`, no index twice in a row.

    The rows are sorted, unless they came as they are by `as_rows(X, in_order=False)`.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[Any]
    n_columns: int
    negative: bool
    zeros: bool
    largest: float
    dense: bool = False  # whether they came as a dense matrix

    def __len__(self) -> int:
        return len(self.indptr) - 1

    @property
    def nnz(self) -> int:
        return int(self.indptr[-1])

    def matrix(self) -> sp.csr_array:
        """The rows as scipy knows them, sharing indices and values where it can: it has one type for both indices."""
        narrow = self.indptr[-1] <= np.iinfo(np.int32).max
        indptr = self.indptr.astype(np.int32) if narrow else self.indptr
        return sp.csr_array((self.values, self.indices, indptr), shape=(len(self), self.n_columns))

    def between(self, start: int, stop: int) -> "CSRRows":
        """The rows start to stop, sharing the arrays."""
        indptr = self.indptr[start : stop + 1]
        own = slice(int(indptr[0]), int(indptr[-1]))
        return replace(self, indptr=indptr - own.start, indices=self.indices[own], values=self.values[own])

    def take(self, rows: NDArray[np.int64]) -> "CSRRows":
        """A copy of some of the rows."""
        indptr = np.zeros(len(rows) + 1, np.int64)
        np.cumsum(self.indptr[rows + 1] - self.indptr[rows], out=indptr[1:])
        indices, values = np.empty(indptr[-1], np.int32), np.empty(indptr[-1], self.values.dtype)
        csr_check.copy_rows(self.indptr, self.indices, self.values, rows, indptr, indices, values)
        return replace(self, indptr=indptr, indices=indices, values=values)

    def first(self, n_columns: int) -> "CSRRows":
        """A copy without the columns after the first so many."""
        if self.nnz > MAX_SCIPY_NNZ:
            return self._by_stretches(lambda rows: rows.first(n_columns))
        return replace(self._like(self.matrix()[:, :n_columns]), n_columns=n_columns)

    def columns(self, columns: NDArray[np.int64]) -> "CSRRows":
        """A copy of some of the columns, in the order given, which rises."""
        if self.nnz > MAX_SCIPY_NNZ:
            return self._by_stretches(lambda rows: rows.columns(columns))
        matrix = sp.csr_array(
            (self.values[: self.nnz], self.indices[: self.nnz], self.indptr), (len(self), self.n_columns)
        )
        return replace(self._like(matrix[:, columns]), n_columns=len(columns))

    def without_zeros(self) -> "CSRRows":
        """The rows without explicit zeros: a copy, if they have any."""
        if not self.zeros:
            return self
        if self.nnz > MAX_SCIPY_NNZ:
            return self._by_stretches(lambda rows: rows.without_zeros())
        matrix = sp.csr_array(
            (self.values.copy(), self.indices.copy(), self.indptr.copy()), shape=(len(self), self.n_columns)
        )
        matrix.eliminate_zeros()
        return replace(self._like(matrix), zeros=False)

    def binarized(self, threshold: float | None) -> "CSRRows":
        """The rows with 1 for values above a threshold, which is not negative, and 0 for others; None: as they are."""
        if threshold is None:
            return self
        values = (self.values > threshold).astype(self.values.dtype)
        return replace(self, values=values, negative=False, zeros=True, largest=1.0)

    def _by_stretches(self, change: Callable[["CSRRows"], "CSRRows"]) -> "CSRRows":
        """Convert the rows, some at a time: scipy would widen the indices of all."""
        found = [change(self.between(start, stop)) for start, stop in _stretches(self.indptr)]
        first = np.cumsum([0, *(rows.nnz for rows in found)])
        indptr = [rows.indptr[1:] + offset for rows, offset in zip(found, first[:-1], strict=True)]
        return replace(
            found[0],
            indptr=np.concatenate([[0], *indptr]).astype(np.int64),
            indices=np.concatenate([rows.indices[: rows.nnz] for rows in found]),
            values=np.concatenate([rows.values[: rows.nnz] for rows in found]),
        )

    def _like(self, matrix: Any) -> "CSRRows":
        indptr, indices = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32)
        return replace(self, indptr=indptr, indices=indices, values=matrix.data)

    def measured(self) -> "CSRRows":
        """These rows, their values measured anew."""
        facts = csr_scores.validate_csr(self.indptr, self.indices, self.values, self.n_columns)
        assert facts is not None
        _, negative, zeros, largest = facts
        return replace(self, negative=negative, zeros=zeros, largest=largest)

    def astype(self, dtype: np.dtype[Any]) -> "CSRRows":
        """Convert the values of rows to another type; the index arrays are shared."""
        if self.values.dtype == dtype:
            return self
        return replace(self, values=self.values.astype(dtype))


def _stretches(indptr: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Rows of so many non-zeros that index arrays of them are small; a longer row is alone."""
    start, n = 0, len(indptr) - 1
    while start < n:
        stop = int(np.searchsorted(indptr, indptr[start] + NNZ_PER_STRETCH, side="right")) - 1
        stop = min(max(stop, start + 1), n)
        yield start, stop
        start = stop


def as_rows(
    X: Any,
    *,
    dtype: np.dtype[Any] | None = None,
    name: str = "X",
    nonnegative: bool | str = False,
    highest: float | None = None,
    in_order: bool = True,
) -> CSRRows:
    """Prove X, any matrix scikit-learn accepts, and return it as rows; a canonical CSR is not copied.

    `dtype` is the type of the weights that will meet the rows; it sets the largest |x| allowed. None: the rows' own.
    `nonnegative` wants counts; it may be the name of the model of them, for the message.
    `in_order=False`: indices of a CSR may be in any order, and then are left in it unless some occur twice in a row.
    """
    if not sp.issparse(X):
        if getattr(getattr(X, "dtype", None), "kind", None) in ("m", "M"):
            raise ValueError(f"{name} has dtype {X.dtype}, which is not a number")
        from sklearn.utils import check_array

        try:
            X = check_array(
                X,
                accept_sparse=True,
                dtype=(np.float64, np.float32),
                ensure_all_finite=False,
                ensure_min_samples=0,
                ensure_min_features=0,
                input_name=name,
            )
        except (TypeError, ValueError) as error:
            kind, said = TypeError if isinstance(error, TypeError) else ValueError, str(error)
            if "could not convert string" in said:  # which sklearn cites whole: it may be a book
                said = f"{said:.100}; CountVectorizer and TfidfVectorizer make a matrix of texts"
            raise kind(f"{name}: {said}") from error
    if X.ndim != 2:
        raise ValueError(f"Expected a 2-dimensional {name}, got {X.ndim} dimension(s)")
    n_rows, n_columns = X.shape
    if n_rows < 1:
        raise ValueError(f"Found {name} with 0 sample(s) (shape={X.shape}) while a minimum of 1 is required.")
    if n_columns < 1:
        raise ValueError(f"Found {name} with 0 feature(s) (shape={X.shape}) while a minimum of 1 is required.")
    if n_columns > MAX_COLUMNS:
        raise ValueError(f"{name} has {n_columns} columns; at most {MAX_COLUMNS} are supported")
    rows = None if sp.issparse(X) else _full_rows(X)
    if rows is None:
        rows = replace(_validate(_to_csr(X, name), name, in_order), dense=not sp.issparse(X))
    return check_values(rows, dtype=dtype, name=name, nonnegative=nonnegative, highest=highest)


def is_plain_csr(X: Any) -> bool:
    """Whether X is a CSR whose arrays a kernel can read as they lie, whatever they hold; counts have to be copied."""
    if not (sp.issparse(X) and X.format == "csr" and X.ndim == 2):
        return False
    indptr, indices, values = X.indptr, X.indices, X.data
    for array in (indptr, indices, values):
        kind, flags = array.dtype, array.flags
        if array.ndim != 1 or not (flags.c_contiguous and flags.aligned and kind.isnative):
            return False
    n_rows, n_columns = X.shape
    return bool(
        n_rows >= 1
        and 1 <= n_columns <= MAX_COLUMNS
        and indptr.dtype.kind == indices.dtype.kind == "i"
        and indptr.itemsize in (4, 8)
        and indices.itemsize == 4
        and (values.dtype.kind == "i" or (values.dtype.kind == "f" and values.itemsize in (4, 8)))
        and len(indptr) == n_rows + 1
        and len(indices) == len(values)
    )


def check_structure(X: Any, name: str = "X") -> None:
    """Prove that a sparse matrix is well formed, however large its values are."""
    if X.ndim != 2 or X.shape[1] > MAX_COLUMNS:
        raise ValueError(f"{name} must be a matrix of at most {MAX_COLUMNS} columns, got shape {X.shape}")
    _validate(_to_csr(X, name), name, False)


def as_sparse(weights: Any, name: str) -> sp.csr_array:
    """Sparse weights in any format as a CSR, proved, for scipy and kernels go where indices lead."""
    if 0 in weights.shape:
        return sp.csr_array(weights.shape)
    return as_rows(weights, dtype=np.dtype(np.float64), name=name).matrix()


def check_values(
    rows: CSRRows,
    *,
    dtype: np.dtype[Any] | None = None,
    name: str = "X",
    nonnegative: bool | str = False,
    highest: float | None = None,
    start: int = 0,
) -> CSRRows:
    """Proved rows, if their values suit weights of a type and, should they be counts, none is negative or too high.

    `start` is the number of the first, and `nonnegative` may be the name of the model of counts, for messages.
    """
    limit = MAX_ABS_VALUE[rows.values.dtype if dtype is None else np.dtype(dtype)]
    if rows.largest > limit and (found := np.flatnonzero(np.abs(rows.values[: rows.nnz]) > limit)).size:
        advice = f"larger than {limit:g}, the limit of these weights' type"
        place = _where(rows.indptr, rows.indices, int(found[0]), start)
        raise ValueError(f"{name} holds {rows.values[found[0]]:g} {place}: {advice}")
    if nonnegative and rows.negative and (found := np.flatnonzero(rows.values[: rows.nnz] < 0)).size:
        place = _where(rows.indptr, rows.indices, int(found[0]), start)
        value = f"{rows.values[found[0]]:g}"
        model = nonnegative if isinstance(nonnegative, str) else "a model of counts"
        raise ValueError(f"Negative values in data passed to {model} (input {name}): {name} holds {value} {place}")
    if highest is not None and rows.largest > highest and (found := np.flatnonzero(rows.values > highest)).size:
        place = _where(rows.indptr, rows.indices, int(found[0]), start)
        raise ValueError(f"{name} holds {rows.values[found[0]]:g} {place}; at most {highest:g} is wanted")
    return rows


def _to_csr(X: Any, name: str) -> Any:
    """X as a CSR. scipy converts without checking indices, so they are checked before."""
    if not sp.issparse(X):
        return _written_out_to_csr(X)
    if X.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {name} has dtype {X.dtype}")
    if X.dtype.kind in "mM":
        raise ValueError(f"{name} has dtype {X.dtype}, which is not a number")
    if X.dtype.kind not in "fiub":
        try:
            X = X.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{name} has dtype {X.dtype}, which does not convert to numbers") from error
    if X.format == "dok":
        for row, column in X.keys():  # noqa: SIM118 - a dok is no dict
            if not (0 <= row < X.shape[0] and 0 <= column < X.shape[1]):
                raise ValueError(f"{name} holds an entry at row {row}, column {column}, outside its shape {X.shape}")
    elif X.format == "coo":
        for axis, (what, index) in enumerate((("row", X.row), ("column", X.col))):
            _same_length(name, **{f"{what} indices": index, "values": X.data})
            wrong = (index < 0) | (index >= X.shape[axis])
            if wrong.any():
                entry = int(np.argmax(wrong))
                raise ValueError(f"{name}: entry {entry} has {what} index {index[entry]}, outside [0, {X.shape[axis]})")
    elif X.format == "csc":
        _same_length(name, indices=X.indices, data=X.data)
        _validate_compressed(X.indptr, X.indices, np.zeros(len(X.data)), X.shape[1], X.shape[0], name, "column")
    elif X.format == "bsr":
        if X.data.ndim != 3 or 0 in X.data.shape[1:]:
            raise ValueError(f"{name}.data must hold blocks of at least 1 × 1, got shape {X.data.shape}")
        height, width = X.blocksize
        _same_length(name, indices=X.indices, data=X.data)
        rows, columns = X.shape[0] // height, X.shape[1] // width
        _validate_compressed(X.indptr, X.indices, np.zeros(len(X.data)), rows, columns, name, "block row")
    elif X.format == "lil":
        _same_length(name, rows=X.rows, data=X.data, shape=range(X.shape[0]))
        for row, (indices, values) in enumerate(zip(X.rows, X.data, strict=True)):
            if len(indices) != len(values):
                raise ValueError(f"{name}: lengths differ in row {row}: indices {len(indices)}, values {len(values)}")
    elif X.format == "dia":
        _same_length(name, offsets=X.offsets, diagonals=X.data)
        if X.data.ndim != 2 or (np.abs(X.offsets.astype(float)) > max(X.shape)).any():
            raise ValueError(f"{name} holds diagonals outside its shape {X.shape}")
    if X.format == "csr":
        return X
    try:
        wide = X if X.dtype.kind == "f" else X.astype(np.float64)  # scipy adds duplicates up in the type they have
        return wide.tocsr()
    except (TypeError, ValueError, OverflowError, IndexError) as error:
        raise ValueError(f"{name} is a malformed {X.format} matrix: {error}") from error


def _full_rows(X: NDArray[Any]) -> CSRRows | None:
    """A dense matrix that has no zeros as rows, in its own memory if that is in order; None of others.

    What is made of counted ranges needs no proof.
    """
    n, width = X.shape
    if X.dtype not in MAX_ABS_VALUE or not X.dtype.isnative or X.size > np.iinfo(np.int32).max:
        return None
    least, most = float(X.min()), float(X.max())  # NaN, if there is one
    if not (least > -math.inf and most < math.inf) or (least <= 0 <= most and not X.all()):
        return None
    indptr, indices = np.arange(0, X.size + 1, width, dtype=np.int64), np.tile(np.arange(width, dtype=np.int32), n)
    values = np.require(X, None, ["C", "A"]).reshape(-1)
    return CSRRows(indptr, indices, values, width, least < 0, False, max(-least, most), dense=True)


def _written_out_to_csr(X: Any) -> Any:
    """A dense matrix as a CSR in memory of its own, without scipy's detour by a list of all entries."""
    n, width = X.shape
    if X.dtype.kind != "f" or X.size > np.iinfo(np.int32).max:
        return sp.csr_array(X)
    there = X != 0
    counts = np.count_nonzero(there, axis=1) if width else np.zeros(n, np.int64)
    indptr = np.zeros(n + 1, np.int32)
    np.cumsum(counts, out=indptr[1:])
    return sp.csr_array((X[there], np.nonzero(there)[1].astype(np.int32), indptr), shape=X.shape)


def _validate(X: Any, name: str, in_order: bool = True) -> CSRRows:
    if len(X.indices) != len(X.data):
        _same_length(name, indices=X.indices, data=X.data)
    n_rows, n_columns = X.shape
    indptr, indices, values, facts = _validate_compressed(X.indptr, X.indices, X.data, n_rows, n_columns, name, "row")
    canonical, negative, zeros, largest = facts
    if canonical or not (in_order or _repeated(indptr, indices, n_columns)):
        return CSRRows(indptr, indices, values, n_columns, negative, zeros, largest)
    nnz = int(indptr[-1])
    if n_columns <= MAX_MARKED_COLUMNS:
        in_rows = np.empty(nnz, np.int32), np.empty(nnz, values.dtype)
        if csr_check.sort_rows(indptr, indices, values, n_columns, *in_rows):
            return CSRRows(indptr, *in_rows, n_columns, negative, zeros, largest)
    copy = sp.csr_array((values[:nnz].copy(), indices[:nnz].copy(), indptr.copy()), shape=X.shape)
    copy.sum_duplicates()
    return _validate(copy, name)


def _validate_compressed(
    indptr: Any, indices: Any, values: Any, n_lines: int, width: int, name: str, axis: str
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[Any], tuple[bool, bool, bool, float]]:
    """The three arrays of a compressed matrix in the engine's types, and what `check.prove` learnt of them."""
    indptr, indices, values = np.asarray(indptr), np.asarray(indices), np.asarray(values)
    for what, array in (("indptr", indptr), ("indices", indices)):
        if array.dtype.kind not in "iu" or array.ndim != 1:
            raise ValueError(
                f"{name}.{what} must be a vector of integers, got dtype {array.dtype}, shape {array.shape}"
            )
    if values.ndim != 1:
        raise ValueError(f"{name}.data must be a vector, got shape {values.shape}")
    if len(indptr) != n_lines + 1:
        raise ValueError(f"{name}.indptr has {len(indptr)} entries; {n_lines} {axis}s need {n_lines + 1}")
    used = indices[: max(0, int(indptr[-1]))]
    if indices.dtype != np.int32 and len(used) and (used.min() < 0 or used.max() >= width):  # before they wrap
        position = int(np.flatnonzero((used < 0) | (used >= width))[0])
        line = int(np.searchsorted(indptr, position, side="right")) - 1
        raise ValueError(f"{name} holds index {used[position]} in {axis} {line}, outside [0, {width})")
    half = values.dtype.kind == "f" and values.dtype.itemsize <= 4
    pointers = np.require(indptr, np.int64, ["C", "A"])
    columns = np.require(indices, np.int32, ["C", "A"])
    reals = np.require(values, np.float32 if half else np.float64, ["C", "A"])
    facts = csr_scores.validate_csr(pointers, columns, reals, width)
    if facts is None:
        raise ValueError(_fault_message(pointers, columns, reals, width, name, axis))
    return pointers, columns, reals, facts


def _fault_message(
    pointers: NDArray[np.int64], columns: NDArray[np.int32], reals: NDArray[Any], width: int, name: str, axis: str
) -> str:
    """What is wrong with a compressed matrix, and where."""
    fault, line, position = csr_check.find_fault(pointers, columns, reals, width)
    if fault == csr_check.INDPTR_START:
        return f"{name}.indptr must start at 0, not at {pointers[0]}"
    if fault == csr_check.INDPTR_ORDER:
        return f"{name}.indptr falls from {pointers[line]} to {pointers[line + 1]} at {axis} {line}"
    if fault == csr_check.INDPTR_END:
        end = pointers[line + 1]
        return f"{name}.indptr points to {end} at {axis} {line}, but there are {len(columns)} values"
    if fault == csr_check.INDEX_RANGE:
        return f"{name} holds index {columns[position]} in {axis} {line}, outside [0, {width})"
    kind = "NaN" if np.isnan(reals[position]) else "infinity"
    return f"Input {name} contains {kind} {_where(pointers, columns, position)}"


def _repeated(indptr: NDArray[np.int64], indices: NDArray[np.int32], n_columns: int) -> bool:
    return csr_check.find_repeated_index(indptr, indices, np.zeros(n_columns // 64 + 1, np.uint64)) >= 0


def _where(indptr: NDArray[np.int64], indices: NDArray[np.int32], position: int, start: int = 0) -> str:
    row = start + int(np.searchsorted(indptr, position, side="right")) - 1
    return f"at row {row}, column {indices[position]}"


def _same_length(name: str, **arrays: Any) -> None:
    lengths = {what: len(array) for what, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"{name}: lengths differ: " + ", ".join(f"{what} {n}" for what, n in lengths.items()))
