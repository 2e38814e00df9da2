"""Rows to svmlight's format."""

import bz2
import contextlib
import gzip
import lzma
import os
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from fastlin import validation
from fastlin.data.readers.sources import COMPRESSIONS
from fastlin.data.zstd import zstd
from fastlin.runtime.atomic_write import atomic_write
from fastlin.validation import CSRRows

ROWS_PER_BLOCK = 1024  # written at a time


def dump_svmlight(
    X: Any, y: Any, path: Any, *, zero_based: bool = True, query_id: Any = None, sample_weight: Any = None
) -> None:
    """Write rows in svmlight's (LIBSVM's) format, with as many digits as it takes to read the same numbers.

    The file appears when it is whole: until then, and if something fails, what was there stays.

    Parameters
    ----------
    X : sparse matrix or array
    y : array of numbers
        Labels or targets.
    path : path or binary file
        Names that end in .gz, .bz2, .xz or .zst are compressed.
    zero_based : bool
        Give the first column the index 0; else 1.
    query_id : array of int or None
        The groups, written as "qid:".
    sample_weight : array or None
        Written as "label:weight", which `read(…, weight=True)` reads.

    Examples
    --------
    >>> import io
    >>> from fastlin.data import dump_svmlight
    >>> file = io.BytesIO()
    >>> dump_svmlight([[0.1, 0.0, 2.0]], [1], file)
    >>> file.getvalue()
    b'1 0:0.1 2:2\\n'
    """
    rows = validation.as_rows(X)
    n = len(rows)
    labels = _column("y", y, n)
    parts = [labels]
    if sample_weight is not None:
        parts.append([f":{weight}" for weight in _column("sample_weight", sample_weight, n)])
    if query_id is not None:
        groups = np.asarray(query_id)
        if groups.shape != (n,) or groups.dtype.kind not in "iu":
            raise ValueError(f"query_id must be {n} whole numbers, got {groups.dtype} of shape {groups.shape}")
        parts.append([f" qid:{group}" for group in groups.tolist()])
    heads = ["".join(row) for row in zip(*parts, strict=True)]
    lines = _lines(rows, heads, 0 if zero_based else 1)
    if hasattr(path, "write"):
        for part in lines:
            path.write(part)
        return
    with created(path) as file:
        for part in lines:
            file.write(part)


def _column(name: str, values: Any, n: int) -> list[str]:
    vector = validation.as_vector(values, name)
    if len(vector) != n:
        raise ValueError(f"{name} has {len(vector)} entries, X has {n} rows")
    return _decimals(vector)


def _decimals(values: NDArray[Any]) -> list[str]:
    """The shortest decimals that are read as the same numbers."""
    return [repr(value).removesuffix(".0") for value in values.tolist()]


def _lines(rows: CSRRows, heads: list[str], base: int) -> Iterator[bytes]:
    for start in range(0, len(heads), ROWS_PER_BLOCK):
        stop = min(start + ROWS_PER_BLOCK, len(heads))
        low, high = rows.indptr[start], rows.indptr[stop]
        indices = (rows.indices[low:high].astype(np.int64) + base).tolist()
        values = _decimals(rows.values[low:high].astype(np.float64))
        entries = [f" {index}:{value}" for index, value in zip(indices, values, strict=True)]
        ends = (rows.indptr[start : stop + 1] - low).tolist()
        bodies = ("".join(entries[first:last]) for first, last in pairwise(ends))
        yield "".join([f"{head}{body}\n" for head, body in zip(heads[start:stop], bodies, strict=True)]).encode()


@contextlib.contextmanager
def created(path: Any) -> Iterator[BinaryIO]:
    """A file that takes its place when it is whole, compressed as its name says; devices and pipes stay as they are."""
    kind = COMPRESSIONS.get(os.path.splitext(os.fspath(path).lower())[1])
    device = os.path.exists(path) and not os.path.isfile(path)
    with open(path, "wb") if device else atomic_write(path) as file:
        if kind is None:
            yield file
        else:
            openers: dict[str, Any] = {"gzip": gzip.open, "bzip2": bz2.open, "xz": lzma.open}
            with (zstd().open if kind == "zstd" else openers[kind])(file, "wb") as packed:
                yield packed
