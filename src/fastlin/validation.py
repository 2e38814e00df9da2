"""The only module that checks what a user passes in.

Whatever comes back from here is proved: the kernels run without bounds checks on it. Errors name the argument, the row
and the value, and are raised before anything is changed.
"""

import difflib
import numbers
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import check_array
from sklearn.utils.validation import column_or_1d

from fastlin.engine import check

LIMITS = {np.dtype(np.float64): 1e100, np.dtype(np.float32): 1e15}
WIDEST = 2**31 - 1


@dataclass(frozen=True)
class Rows:
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

    def __len__(self) -> int:
        return len(self.indptr) - 1

    @property
    def nnz(self) -> int:
        return int(self.indptr[-1])

    def matrix(self) -> sp.csr_array:
        """The rows as scipy knows them, sharing the arrays."""
        return sp.csr_array((self.values, self.indices, self.indptr), shape=(len(self), self.n_columns))

    def take(self, rows: NDArray[np.int64]) -> "Rows":
        """A copy of some of the rows."""
        return self._like(self.matrix()[rows])

    def first(self, n_columns: int) -> "Rows":
        """A copy without the columns after the first so many."""
        return replace(self._like(self.matrix()[:, :n_columns]), n_columns=n_columns)

    def columns(self, columns: NDArray[np.int64]) -> "Rows":
        """A copy of some of the columns, in the order given, which rises."""
        matrix = sp.csr_array(
            (self.values[: self.nnz], self.indices[: self.nnz], self.indptr), (len(self), self.n_columns)
        )
        return replace(self._like(matrix[:, columns]), n_columns=len(columns))

    def without_zeros(self) -> "Rows":
        """A copy without explicit zeros."""
        matrix = sp.csr_array(
            (self.values.copy(), self.indices.copy(), self.indptr.copy()), shape=(len(self), self.n_columns)
        )
        matrix.eliminate_zeros()
        return self._like(matrix)

    def _like(self, matrix: Any) -> "Rows":
        indptr, indices = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32)
        return replace(self, indptr=indptr, indices=indices, values=matrix.data)

    def astype(self, dtype: np.dtype[Any]) -> "Rows":
        """The same rows with values of another type; the index arrays are shared."""
        if self.values.dtype == dtype:
            return self
        return replace(self, values=self.values.astype(dtype))


def as_rows(
    X: Any,
    *,
    dtype: np.dtype[Any] | None = None,
    name: str = "X",
    nonnegative: bool = False,
    in_order: bool = True,
) -> Rows:
    """Prove X, any matrix scikit-learn accepts, and return it as rows; a canonical CSR is not copied.

    `dtype` is the type of the weights that will meet the rows; it sets the largest |x| allowed. None: the rows' own.
    `in_order=False`: indices of a CSR may be in any order, and then are left in it unless some occur twice in a row.
    """
    if not sp.issparse(X):
        if getattr(getattr(X, "dtype", None), "kind", None) in ("m", "M"):
            raise ValueError(f"{name} has dtype {X.dtype}, which is not a number")
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
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(f"{name}: {error}") from error
    if X.ndim != 2:
        raise ValueError(f"Expected a 2-dimensional {name}, got {X.ndim} dimension(s)")
    n_rows, n_columns = X.shape
    if n_rows < 1:
        raise ValueError(f"Found {name} with 0 sample(s) (shape={X.shape}) while a minimum of 1 is required.")
    if n_columns < 1:
        raise ValueError(f"Found {name} with 0 feature(s) (shape={X.shape}) while a minimum of 1 is required.")
    if n_columns > WIDEST:
        raise ValueError(f"{name} has {n_columns} columns; at most {WIDEST} are supported")
    return check_values(_prove(_to_csr(X, name), name, in_order), dtype=dtype, name=name, nonnegative=nonnegative)


def check_values(
    rows: Rows,
    *,
    dtype: np.dtype[Any] | None = None,
    name: str = "X",
    nonnegative: bool = False,
    start: int = 0,
) -> Rows:
    """Proved rows, if their values suit weights of a type and, should they be counts, none is negative.

    `start` is the number of the first, for messages.
    """
    limit = LIMITS[rows.values.dtype if dtype is None else np.dtype(dtype)]
    if rows.largest > limit and (found := np.flatnonzero(np.abs(rows.values[: rows.nnz]) > limit)).size:
        advice = f"larger than {limit:g}, the limit of these weights' type"
        place = _where(rows.indptr, rows.indices, int(found[0]), start)
        raise ValueError(f"{name} holds {rows.values[found[0]]:g} {place}: {advice}")
    if nonnegative and rows.negative and (found := np.flatnonzero(rows.values[: rows.nnz] < 0)).size:
        place = _where(rows.indptr, rows.indices, int(found[0]), start)
        value = f"{rows.values[found[0]]:g}"
        raise ValueError(f"Negative values in data: {name} holds {value} {place}; counts cannot be negative")
    return rows


def _to_csr(X: Any, name: str) -> Any:
    """X as a CSR. scipy converts without checking indices, so they are checked before."""
    if not sp.issparse(X):
        return sp.csr_array(X)
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
        _prove_compressed(X.indptr, X.indices, np.zeros(len(X.data)), X.shape[1], X.shape[0], name, "column")
    elif X.format == "bsr":
        if X.data.ndim != 3 or 0 in X.data.shape[1:]:
            raise ValueError(f"{name}.data must hold blocks of at least 1 × 1, got shape {X.data.shape}")
        height, width = X.blocksize
        _same_length(name, indices=X.indices, data=X.data)
        rows, columns = X.shape[0] // height, X.shape[1] // width
        _prove_compressed(X.indptr, X.indices, np.zeros(len(X.data)), rows, columns, name, "block row")
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


def _prove(X: Any, name: str, in_order: bool = True) -> Rows:
    _same_length(name, indices=X.indices, data=X.data)
    n_rows, n_columns = X.shape
    indptr, indices, values, facts = _prove_compressed(X.indptr, X.indices, X.data, n_rows, n_columns, name, "row")
    canonical, negative, zeros, largest = facts
    if canonical or not (in_order or _repeated(indptr, indices, n_columns)):
        return Rows(indptr, indices, values, n_columns, negative, zeros, largest)
    nnz = int(indptr[-1])
    copy = sp.csr_array((values[:nnz].copy(), indices[:nnz].copy(), indptr.copy()), shape=X.shape)
    copy.sum_duplicates()
    return _prove(copy, name)


def _prove_compressed(
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
    fault, line, position, canonical, negative, zeros, largest = check.prove(pointers, columns, reals, width)
    if fault == check.INDPTR_START:
        raise ValueError(f"{name}.indptr must start at 0, not at {pointers[0]}")
    if fault == check.INDPTR_ORDER:
        raise ValueError(f"{name}.indptr falls from {pointers[line]} to {pointers[line + 1]} at {axis} {line}")
    if fault == check.INDPTR_END:
        end = pointers[line + 1]
        raise ValueError(f"{name}.indptr points to {end} at {axis} {line}, but there are {len(columns)} values")
    if fault == check.INDEX_RANGE:
        raise ValueError(f"{name} holds index {columns[position]} in {axis} {line}, outside [0, {width})")
    if fault == check.NOT_FINITE:
        kind = "NaN" if np.isnan(reals[position]) else "infinity"
        raise ValueError(f"Input {name} contains {kind} {_where(pointers, columns, position)}")
    return pointers, columns, reals, (canonical, negative, zeros, largest)


def _repeated(indptr: NDArray[np.int64], indices: NDArray[np.int32], n_columns: int) -> bool:
    return check.repeats(indptr, indices, np.zeros(n_columns // 64 + 1, np.uint64)) >= 0


def _where(indptr: NDArray[np.int64], indices: NDArray[np.int32], position: int, start: int = 0) -> str:
    row = start + int(np.searchsorted(indptr, position, side="right")) - 1
    return f"at row {row}, column {indices[position]}"


def _same_length(name: str, **arrays: Any) -> None:
    lengths = {what: len(array) for what, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"{name}: lengths differ: " + ", ".join(f"{what} {n}" for what, n in lengths.items()))


def as_labels(y: Any, n_rows: int, *, estimator: str, name: str = "y") -> tuple[NDArray[Any], NDArray[np.int32]]:
    """(classes, codes): the sorted distinct labels, and each row's place among them."""
    if y is None:
        raise ValueError(f"{estimator} requires {name} to be passed, but the target {name} is None")
    if sp.issparse(y):
        raise TypeError(f"{name} must be a vector of labels, got a sparse matrix")
    if getattr(getattr(y, "dtype", None), "kind", None) == "c":
        raise ValueError(f"Complex data not supported: {name} has dtype {y.dtype}")
    y = column_or_1d(y, warn=True)
    if len(y) != n_rows:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: {name.replace('y', 'X')} has {n_rows}, "
            f"{name} has {len(y)}"
        )
    if y.dtype.kind == "f":
        finite = np.isfinite(y)
        if not finite.all():
            row = int(np.argmin(finite))
            raise ValueError(f"Input {name} contains {'NaN' if np.isnan(y[row]) else 'infinity'} at row {row}")
        fraction = y != np.floor(y)
        if fraction.any():
            row = int(np.argmax(fraction))
            raise ValueError(f"Unknown label type: continuous. {name} holds {y[row]} at row {row}; labels are discrete")
    if y.dtype.kind in "iub":
        classes, codes = _encode_integers(y)
    elif y.dtype.kind in "OUST":
        classes, codes = _encode_objects(y, name)
    else:
        if y.dtype.kind in "mM" and np.isnat(y).any():
            raise ValueError(f"{name} holds NaT at row {int(np.argmax(np.isnat(y)))}")
        classes, codes = np.unique(y, return_inverse=True)
    return classes, codes.astype(np.int32, copy=False)


def as_texts(documents: Any, encoding: str = "utf-8", errors: str = "strict") -> Iterator[str]:
    """Documents one after the other, proved to be strings; bytes are decoded."""
    if isinstance(documents, str | bytes):
        raise ValueError("Iterable over raw text documents expected, string object received.")
    if sp.issparse(documents) or getattr(documents, "ndim", 1) != 1 or not isinstance(documents, Iterable):
        shape = f" of shape {documents.shape}" if hasattr(documents, "shape") else ""
        raise ValueError(f"raw_documents must be a sequence of strings, got {type(documents).__name__}{shape}")
    return _texts(documents, encoding, errors)


def _texts(documents: Iterable[Any], encoding: str, errors: str) -> Iterator[str]:
    for place, document in enumerate(documents):
        if isinstance(document, bytes):
            yield document.decode(encoding, errors)
        elif isinstance(document, str):
            yield document
        elif isinstance(document, float) and document != document:  # NaN is not itself
            raise ValueError(f"raw_documents holds NaN at position {place}; documents are strings")
        else:
            raise TypeError(f"raw_documents holds {document!r:.60} at position {place}; documents are strings")


def as_classes(classes: Any) -> NDArray[Any]:
    """Announced labels, sorted and distinct."""
    if not np.size(classes):
        raise ValueError("classes must hold at least one label")
    return as_labels(classes, len(classes), estimator="partial_fit", name="classes")[0]


def _encode_integers(y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """A table over the range of the labels, where that is short; no sorting of the rows."""
    low, high = int(y.min()), int(y.max())
    if y.dtype.kind == "b" or high - low > 4 * len(y) + 1000 or high > np.iinfo(np.int64).max:
        return np.unique(y, return_inverse=True)
    offsets = np.subtract(y, low, dtype=np.int64, casting="unsafe")
    present = np.bincount(offsets, minlength=1) > 0
    places = np.cumsum(present) - 1
    return (np.flatnonzero(present) + low).astype(y.dtype), places[offsets]


def _encode_objects(y: NDArray[Any], name: str) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Hash the labels, sort only the distinct ones."""
    values = y.tolist()
    try:
        ordered = sorted(set(values))
    except TypeError as error:
        kinds = ", ".join(sorted({type(value).__name__ for value in values}))
        raise TypeError(f"{name} must hold labels of one kind that can be sorted, got {kinds}") from error
    if not any(all(isinstance(label, kind) for label in ordered) for kind in (str, bytes, bool, numbers.Integral)):
        odd = next((label for label in ordered if not isinstance(label, str | numbers.Integral)), ordered[0])
        raise ValueError(f"Unknown label type: {name} holds {odd!r}; give labels as strings or as integers")
    place = {label: code for code, label in enumerate(ordered)}
    return np.array(ordered, dtype=y.dtype), np.fromiter((place[value] for value in values), np.int64, len(values))


def as_groups(group_sizes: Any, n_rows: int) -> NDArray[np.int64]:
    """Where the group of each instance starts among n rows, and n: from the number of rows of each group."""
    sizes = _whole_vector(group_sizes, "group_sizes")
    wrong = (sizes < 1) | (sizes > n_rows)
    if wrong.any():
        group = int(np.argmax(wrong))
        needed = "a group has at least one row" if sizes[group] < 1 else f"X has {n_rows} rows"
        raise ValueError(f"group_sizes holds {sizes[group]} for group {group}; {needed}")
    starts = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes.astype(np.int64), out=starts[1:])
    if starts[-1] != n_rows:
        raise ValueError(f"the {len(sizes)} group_sizes add up to {starts[-1]}, but X has {n_rows} rows")
    return starts


def as_positions(y: Any, starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The place of the right row within each group."""
    places, sizes = _whole_vector(y, "y"), np.diff(starts)
    if len(places) != len(sizes):
        raise ValueError(f"y has {len(places)} entries, group_sizes has {len(sizes)}: one position for each group")
    wrong = (places < 0) | (places >= sizes)
    if wrong.any():
        group = int(np.argmax(wrong))
        raise ValueError(f"y holds {places[group]} for group {group}, which has the positions 0 to {sizes[group] - 1}")
    return places.astype(np.int64)


def _whole_vector(values: Any, name: str) -> NDArray[Any]:
    """A vector of integers of any width."""
    if sp.issparse(values):
        raise TypeError(f"{name} must be a vector of whole numbers, got a sparse matrix")
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise ValueError(f"{name} must be a vector of whole numbers: {error}") from error
    if array.ndim != 1:
        found = f"shape {array.shape}" if array.ndim else repr(values)
        raise ValueError(f"{name} must be a vector of whole numbers, got {found}")
    if len(array) and array.dtype.kind not in "iu":
        raise TypeError(f"{name} must hold whole numbers, got {array.dtype} {array.tolist()[0]!r}, …")
    return array


def as_weights(
    sample_weight: Any, n_rows: int, name: str = "sample_weight", unit: str = "row"
) -> NDArray[np.float64] | None:
    """Non-negative finite weights, one a row; None stands for ones."""
    if sample_weight is None:
        return None
    if isinstance(sample_weight, numbers.Number):
        sample_weight = np.full(n_rows, sample_weight)
    weights = as_vector(sample_weight, name)
    if len(weights) != n_rows:
        raise ValueError(f"{name} has {len(weights)} entries, X has {n_rows} {unit}s")
    if (weights < 0).any():
        row = int(np.argmax(weights < 0))
        raise ValueError(f"{name} must not be negative: {weights[row]:g} at {unit} {row}")
    if (weights > 1e100).any():
        row = int(np.argmax(weights > 1e100))
        raise ValueError(f"{name} holds {weights[row]:g} at {unit} {row}; at most 1e100 is supported")
    return weights


def as_vector(values: Any, name: str) -> NDArray[np.float64]:
    """A contiguous finite float64 vector."""
    return as_finite(values, name, ndim=1)


def as_finite(values: Any, name: str, ndim: int) -> NDArray[np.float64]:
    """A contiguous finite float64 array of so many dimensions."""
    try:
        array = np.asarray(values)
        if array.dtype.kind == "c":
            raise TypeError("complex")
        array = np.require(array, np.float64, ["C", "A"])
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold real numbers") from error
    if array.ndim != ndim:
        raise ValueError(f"{name} must have {ndim} dimension(s), got shape {array.shape}")
    finite = np.isfinite(array)
    if not finite.all():
        place = np.unravel_index(int(np.argmin(finite)), array.shape)
        kind = "NaN" if np.isnan(array[place]) else "infinity"
        raise ValueError(f"{name} contains {kind} at {', '.join(str(int(index)) for index in place)}")
    return array


def as_positive(values: Any, name: str, n: int) -> NDArray[np.float64]:
    """A variance for each of n features, from one for all or one each."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold real numbers") from error
    if array.shape not in ((), (n,)):
        raise ValueError(f"{name} must be a number or an array of shape ({n},), got shape {array.shape}")
    wrong = ~((array >= 1e-100) & ((array <= 1e100) | (array == np.inf)))
    if wrong.any():
        place = f" at {int(np.argmax(wrong))}" if array.ndim else ""
        raise ValueError(f"{name} must lie between 1e-100 and 1e100 or be inf, got {array[wrong].flat[0]:g}{place}")
    return np.ascontiguousarray(np.broadcast_to(array, n))


def as_cutoff(values: Any, n: int) -> NDArray[np.int64]:
    """How many rows must have a pair: a whole number for each of n features, from one for all or one each."""
    array = np.asarray(values)
    if array.dtype.kind not in "iu":
        raise TypeError(f"cutoff must be a whole number, or one for each feature, got {values!r}")
    if array.shape not in ((), (n,)):
        raise ValueError(f"cutoff must be a whole number or an array of shape ({n},), got shape {array.shape}")
    if (array < 1).any():
        place = f" at {int(np.argmax(array < 1))}" if array.ndim else ""
        raise ValueError(f"cutoff must be at least 1, got {array.min()}{place}")
    return np.ascontiguousarray(np.broadcast_to(array.astype(np.int64), n))


def one_of(name: str, value: Any, options: Iterable[Any]) -> Any:
    """`value`, if it is one of the options."""
    options = list(options)
    if any(value is option or (isinstance(value, str) and value == option) for option in options):
        return value
    close = difflib.get_close_matches(str(value), [option for option in options if isinstance(option, str)], n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    raise ValueError(f"{name} must be one of {', '.join(map(repr, options))}, got {value!r}{hint}")


def real_number(
    name: str,
    value: Any,
    *,
    above: float = -np.inf,
    at_least: float = -np.inf,
    at_most: float = np.inf,
    below: float | None = None,
) -> float:
    """`value` as a float, inside its bounds; NaN is outside of all."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be a number, got {value!r}")
    number = float(value)
    if not max(above, at_least) <= number <= at_most or number == above or (below is not None and number >= below):
        bounds = [f"> {above:g}"] if above > -np.inf else []
        bounds += [f">= {at_least:g}"] if at_least > -np.inf else []
        bounds += [f"<= {at_most:g}"] if at_most < np.inf else []
        bounds += [f"< {below:g}"] if below is not None else []
        raise ValueError(f"{name} must be {' and '.join(bounds)}, got {value!r}")
    return number


def whole_number(name: str, value: Any, at_least: int) -> int:
    """`value` as an int, at least so large."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} must be a whole number, got {value!r}")
    if not at_least <= int(value) < 2**62:
        raise ValueError(f"{name} must be at least {at_least} and below 2**62, got {value!r}")
    return int(value)


def as_dtype(dtype: Any) -> np.dtype[Any] | None:
    """float32 or float64, or None for the type of X."""
    if dtype is None:
        return None
    try:
        kind = np.dtype(dtype)
    except TypeError as error:
        raise ValueError(f"dtype must be None, 'float32' or 'float64', got {dtype!r}") from error
    if kind not in LIMITS:
        raise ValueError(f"dtype must be None, 'float32' or 'float64', got {dtype!r}")
    return kind


def as_real(array: Any) -> np.dtype[Any]:
    """The type in which the kernels take weights of a user's: float32 stays, all else is float64."""
    return np.dtype(np.float32 if getattr(array, "dtype", None) == np.float32 else np.float64)


def as_generator(random_state: Any) -> np.random.Generator:
    """A PCG64 generator from a seed, a RandomState, a Generator or None."""
    if isinstance(random_state, np.random.Generator):
        random_state = int(random_state.integers(2**63))
    elif isinstance(random_state, np.random.RandomState):
        random_state = int(random_state.randint(2**31))
    elif random_state is not None:
        whole_number("random_state", random_state, 0)
    return np.random.Generator(np.random.PCG64(random_state))


def as_jobs(n_jobs: Any) -> None:
    if n_jobs is not None and (isinstance(n_jobs, bool) or not isinstance(n_jobs, numbers.Integral) or n_jobs == 0):
        raise ValueError(f"n_jobs must be None, a number of threads, or -1 for one each processor; got {n_jobs!r}")


def as_callback(callback: Any) -> Callable[[Any, dict[str, Any]], Any] | None:
    if callback is not None and not callable(callback):
        raise TypeError(f"callback must be callable or None, got {callback!r}")
    return callback


def class_factors(
    class_weight: Any, classes: NDArray[Any], codes: NDArray[np.int32], strict: bool
) -> NDArray[np.float64] | None:
    """What the weights of the rows of each class are multiplied by; `strict`: one for a label that y lacks is an error.

    None stands for ones.
    """
    if class_weight is None:
        return None
    factors = np.ones(len(classes))
    if isinstance(class_weight, str):
        one_of("class_weight", class_weight, ["balanced"])
        return len(codes) / (len(classes) * np.maximum(np.bincount(codes, minlength=len(classes)), 1))
    if not isinstance(class_weight, dict):
        raise TypeError(f"class_weight must be None, 'balanced' or a dict, got {class_weight!r}")
    for place, label in enumerate(classes.tolist()):
        weight = class_weight.get(label, 1.0)
        factors[place] = real_number(f"class_weight[{label!r}]", weight, at_least=0, at_most=1e100)
    unknown = set(class_weight) - set(classes.tolist())
    if strict and unknown:
        raise ValueError(f"The classes {sorted(unknown, key=repr)} of class_weight are not labels of y")
    return factors


def class_weights(
    class_weight: Any,
    classes: NDArray[Any],
    codes: NDArray[np.int32],
    weights: NDArray[np.float64] | None,
    strict: bool,
) -> NDArray[np.float64] | None:
    """The sample weights times their classes' weights."""
    factors = class_factors(class_weight, classes, codes, strict)
    if factors is None:
        return weights
    return factors[codes] if weights is None else factors[codes] * weights
