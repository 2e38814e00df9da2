"""svmlight's (LIBSVM's) format: `label qid:group index:value index:value … # comment`."""

import functools
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fastlin.data.blocks import Block
from fastlin.data.errors import MalformedLines, ReadError
from fastlin.data.readers import sources
from fastlin.data.readers.line_formats import ReadRequest
from fastlin.data.readers.sources import BLOCK_BYTES, LineBlock
from fastlin.engine.text import svmlight as engine
from fastlin.validation import MAX_COLUMNS, one_of, whole_number

IN_CACHE = 1 << 18  # bytes of text at a time, where nobody waits for a block
TOKEN = re.compile(rb"[^ \t\r\n#]{0,40}")
LINE_END = re.compile(rb"[\r\n]")
FAULTS = {
    engine.LABEL: "{token!r} is no label: labels are finite numbers",
    engine.LABELS: "the line begins with several labels, {token!r}; load_svmlight(…, multilabel=True) reads these",
    engine.WEIGHT: "{token!r} is no weight: weights are finite numbers from 0 on",
    engine.GROUP: "{token!r} is no group: after 'qid:' comes a whole number",
    engine.GROUPLESS: "some lines have a 'qid:' behind the label, and some have none",
    engine.INDEX: "{token!r} is not index:value",
    engine.RANGE: "{token!r} has an index outside of {lowest} … {highest}",
    engine.ORDER: "{token!r} does not have a larger index than the one before",
    engine.VALUE: "{token!r} has a value that is no number",
    engine.FINITE: "{token!r} is not finite",
}


@functools.cache
def _powers() -> NDArray[np.uint64]:
    return engine.powers_of_ten()


class _SvmlightRows:
    """Rows out of pieces of text; malformed lines are reported and left out."""

    def __init__(
        self, malformed: MalformedLines, lowest: int, highest: int, *, grouping: int, weighted: bool, multilabel: bool
    ) -> None:
        self.malformed = malformed
        self.bounds = {"lowest": lowest, "highest": highest}
        self.parser = engine.SvmlightParser(_powers(), lowest, highest, grouping, weighted, multilabel)

    def read(self, piece: LineBlock) -> None:
        start, line, counted = 0, piece.line, 0
        while start < len(piece.text):
            fault, place = self.parser.read(piece.text, start)
            if fault == engine.VALID:
                return
            line += engine.count_lines(piece.text[counted:place])
            what = FAULTS[fault].format(token=_token(piece.text, place), **self.bounds)
            self.malformed.add(piece.path, line, what)
            end = LINE_END.search(piece.text, place)
            assert end is not None  # every piece ends with one
            start = counted = end.end()
            line += 1
            if piece.text[end.start() : start + 1] == b"\r\n":
                start = counted = start + 1


def _token(text: bytes, place: int) -> str:
    match = TOKEN.match(text, place)
    return match[0].decode("utf-8", "backslashreplace") if match else ""


def read_svmlight(files: list[sources.InputFile], request: ReadRequest) -> Iterator[Block]:
    """Files of sparse rows, whose width is the largest so far."""
    given = request.options
    return blocks(
        files, request.malformed, size=request.block_bytes, n_features=given["n_features"],
        zero_based=given["zero_based"], weighted=bool(given["weight"]), dtype=request.dtype,
    )  # fmt: skip


def blocks(
    files: list[sources.InputFile],
    malformed: MalformedLines,
    *,
    size: int = BLOCK_BYTES,
    n_features: int | None = None,
    zero_based: bool = True,
    weighted: bool = False,
    dtype: Any = np.float64,
) -> Iterator[Block]:
    """The rows of files, a block for each piece of text."""
    first = 0 if zero_based else 1
    highest = (MAX_COLUMNS if n_features is None else n_features) - 1 + first
    rows = _SvmlightRows(malformed, first, highest, grouping=engine.UNKNOWN, weighted=weighted, multilabel=False)
    width = 1 if n_features is None else n_features
    for file in files:
        for piece in sources.line_blocks(file, size):
            rows.read(piece)
            labels, weights, groups, indptr, indices, values, _ = rows.parser.take()
            if not len(labels):
                continue
            indices = indices if zero_based else indices - 1
            width = max(width, int(indices.max(initial=0)) + 1)
            X = _csr(values.astype(dtype, copy=False), indices, indptr, width)
            grouped = groups if rows.parser.grouping == engine.ALL else None
            yield Block(X, labels, weights if weighted else None, grouped, piece.path, piece.line)


def first_index(files: list[sources.InputFile], on_error: str = "raise", *, weighted: bool = False) -> int:
    """The index of the first column, by the rule of `load_svmlight`: 0 if it occurs, and else 1; 0 of no columns."""
    rows = _SvmlightRows(
        MalformedLines(on_error == "raise"),
        0,
        MAX_COLUMNS - 1,
        grouping=engine.UNKNOWN,
        weighted=weighted,
        multilabel=False,
    )
    some = False
    for file in files:
        for piece in sources.line_blocks(file, IN_CACHE):
            rows.read(piece)
            indices = rows.parser.take()[4]
            some = some or len(indices) > 0
            if len(indices) and not indices.min():
                return 0
    return int(some)


def load_svmlight(
    source: Any,
    *,
    n_features: int | None = None,
    dtype: Any = np.float64,
    multilabel: bool = False,
    zero_based: bool | str = "auto",
    query_id: bool = False,
) -> tuple[Any, ...]:
    """Read svmlight's (LIBSVM's) format into memory: scikit-learn's `load_svmlight_file`, an order of magnitude sooner.

    What both can read becomes the same numbers, bit for bit. What is malformed is an error with file, line and text:
    indices that do not rise, are negative or above 2³¹ − 2, values that are no finite numbers.

    Parameters
    ----------
    source : path, list of paths, folder, glob, "-" or open binary file
        Compressed with gzip, bzip2, xz or zstd, or plain.
    n_features : int or None
        The number of columns; None: as many as the largest index asks for.
    dtype : type
        Of the values.
    multilabel : bool
        A line has any number of labels, with commas between.
    zero_based : bool or "auto"
        Whether the first column has index 0; "auto": if index 0 occurs.
    query_id : bool
        Return the groups ("qid:"), too. Then all lines must have one, or none.

    Returns
    -------
    X : csr_array of shape (n_rows, n_features)
    y : array of float64, or list of tuples of float
    groups : array of int64
        With `query_id`; empty without a "qid:" in the file.

    Examples
    --------
    >>> import io
    >>> from fastlin.data import load_svmlight
    >>> X, y = load_svmlight(io.BytesIO(b"1 1:0.5 3:2\\n-1 2:1e-3 # a comment\\n"))
    >>> X.toarray().tolist(), y.tolist()
    ([[0.5, 0.0, 2.0], [0.0, 0.001, 0.0]], [1.0, -1.0])
    """
    one_of("zero_based", zero_based, [True, False, "auto"])
    if n_features is not None and whole_number("n_features", n_features, 1) > MAX_COLUMNS:
        raise ValueError(f"n_features must be at most {MAX_COLUMNS}, got {n_features}")
    lowest = 1 if zero_based is False else 0
    from_zero = zero_based is True or n_features is None
    highest = (MAX_COLUMNS if n_features is None else n_features) - (1 if from_zero else 0)
    grouping = engine.UNKNOWN if query_id else engine.ANY
    rows = _SvmlightRows(MalformedLines(), lowest, highest, grouping=grouping, weighted=False, multilabel=multilabel)
    for file in sources.files(source):
        for piece in sources.line_blocks(file, IN_CACHE):
            rows.read(piece)
    labels, _, groups, indptr, indices, values, label_ends = rows.parser.take()
    if zero_based is False or (zero_based == "auto" and len(indices) and indices.min() > 0):
        indices -= 1
    width = int(indices.max(initial=0)) + 1
    if n_features is None:
        n_features = width
    elif n_features < width:
        raise ReadError(str(source), 0, f"n_features is {n_features}, but there is an index {width - 1}")
    X = _csr(values.astype(dtype, copy=False), indices, indptr, n_features)
    y: Any = labels
    if multilabel:
        y = [tuple(sorted(labels[start:stop].tolist())) for start, stop in pairwise(label_ends)]
    return (X, y, groups) if query_id else (X, y)


def _csr(values: NDArray[Any], indices: NDArray[np.int32], indptr: NDArray[np.int64], width: int) -> sp.csr_array:
    """A matrix with int32 bounds where they fit: otherwise scipy widens the indices, which LIBLINEAR refuses."""
    bounds = indptr.astype(np.int32) if len(indices) <= np.iinfo(np.int32).max else indptr
    return sp.csr_array((values, indices, bounds), shape=(len(indptr) - 1, width))
