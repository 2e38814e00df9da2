"""A corpus: labelled sparse rows that need not fit into memory, in segments that do."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fastlin import validation
from fastlin.data.arrow_shards import storage_of, write_arrow
from fastlin.data.atomic_folder import AtomicFolder, temporary_corpus_folder
from fastlin.data.conversion import COUNTED_FROM_1, fill, is_readable, is_stored
from fastlin.data.in_memory import InMemoryStore
from fastlin.data.on_disk import OnDiskStore
from fastlin.data.scratch import ScratchSpace, TemporaryFolder
from fastlin.data.segments import Segment, group_starts
from fastlin.data.shard_writer import ShardWriter, retyped
from fastlin.data.shards import Store
from fastlin.validation.choices import FileFormatName, ShardKind

SEGMENT = 1 << 23  # non-zeros

__all__ = ["Corpus", "Segment", "convert"]


class Corpus:
    """Labelled sparse rows in segments of bounded work, in memory or on disk.

    The learners of sparse rows take a corpus where they take X and y. On disk the rows lie in shards that are mapped, a
    segment at a time, so that a fit needs memory for the model and a few segments however many rows there are. A corpus
    on disk gives the model of the same corpus in memory, in every bit; and one of a single segment, that is of at most
    2²³ non-zeros, the model of `fit(X, y)`. Of several segments, sums are added in another order, and learners that
    step from row to row take another random order.

    Parameters
    ----------
    source : matrix of shape (n_samples, n_features), path, list of paths or open binary file
        Rows in memory; the folder of a stored corpus; or whatever `fastlin.data.read` reads, "-" for standard input
        included. Files are converted, as they stream by, to a stored corpus in temporary files.
    y : array of shape (n_samples,), optional
        Labels of rows in memory.
    sample_weight : array of shape (n_samples,), optional
        Weights of rows in memory.
    group_sizes : array, optional
        How many consecutive rows in memory belong together, for each group. Segments keep groups whole.
    dtype : {"float32", "float64"}, optional
        The type of the values, in converted shards, too, which are then read without a copy. float32 rounds. None: that
        of the source, float64 where it has none; shards hold float32 wherever that is exact.
    format : str, optional
        How files are read: the name of a format that `fastlin.data.read` knows. None: by their names.
    vectorizer : transformer, optional
        Makes rows of documents. One that is not fitted is fitted to all of them first: they are read twice then.
    cache : path, optional
        A folder for the converted rows. They stay there, to be opened by `Corpus(cache)`.
    verify : bool
        Compare the CRC-32 of every stored file with the corpus's, once, when it is first used. Sizes, bounds and
        numbers are proved in any case.
    **options
        Of `fastlin.data.read`. In svmlight's files the first column has index 1 if index 0 does not occur, as for
        `load_svmlight`, for which they are read once more, unless `zero_based` says True or False.

    Attributes
    ----------
    classes : array
        The sorted labels; of length 0 if the rows have none.
    bounds : array of shape (n_segments + 1,)
        Where each segment starts, and the number of rows.
    vectorizer : transformer or None
        The one that made the rows.
    skipped : MalformedLines or None
        The malformed lines of files that were left out, with `on_error="skip"`.

    Examples
    --------
    >>> from fastlin import Corpus
    >>> corpus = Corpus([[1, 0], [0, 2], [3, 0]], ["a", "b", "a"])
    >>> corpus
    Corpus(3 rows, 2 features, 2 labels, 1 segment of float64 in memory)
    >>> for start, rows, codes, weights in corpus:
    ...     print(start, rows.indices, rows.values, corpus.classes[codes])
    0 [0 1 0] [1. 2. 3.] ['a' 'b' 'a']
    """

    def __init__(
        self,
        source: Any,
        y: Any = None,
        *,
        sample_weight: Any = None,
        group_sizes: Any = None,
        dtype: Any = None,
        format: FileFormatName | None = None,  # noqa: A002
        vectorizer: Any = None,
        cache: Any = None,
        verify: bool = True,
        **options: Any,
    ) -> None:
        kind = validation.as_dtype(dtype)
        reading = options | {"format": format, "vectorizer": vectorizer, "cache": cache}
        in_memory = {"y": y, "sample_weight": sample_weight, "group_sizes": group_sizes}
        self._temporary: TemporaryFolder | None = None
        self._store: Store
        self.vectorizer, self.skipped = vectorizer, None
        if not is_readable(source):
            _refuse(reading, "rows in memory are not read from files")
            self._store = _in_memory(source, y, sample_weight, group_sizes, kind)
        elif is_stored(source):
            _refuse(reading | in_memory, "a stored corpus has all that already")
            self._store = OnDiskStore(Path(source), verify, kind)
        else:
            _refuse(in_memory, "files have labels, weights and groups of their own")
            with temporary_corpus_folder() if cache is None else AtomicFolder(Path(cache)) as target:
                self.skipped = fill(ShardWriter(target, SEGMENT, kind), source, format, vectorizer, options)
            self._temporary = target.temporary
            self._store = OnDiskStore(target.folder, verify=False, dtype=None)
        self.bounds = self._store.bounds(SEGMENT)

    @classmethod
    def _of(cls, store: Store, temporary: TemporaryFolder | None = None) -> Self:
        corpus = cls.__new__(cls)
        corpus._store, corpus._temporary = store, temporary
        corpus.bounds = store.bounds(SEGMENT)
        return corpus

    def _made_like(self, other: "Corpus") -> Self:
        self.vectorizer, self.skipped = other.vectorizer, other.skipped
        return self

    def __len__(self) -> int:
        """The number of rows."""
        return self._store.shape[0]

    def __iter__(self) -> Iterator[Segment]:
        return self.segments()

    def __repr__(self) -> str:
        sizes = [(len(self), "row"), (self.shape[1], "feature"), (len(self.classes), "label")]
        counts = ", ".join(f"{n} {what}{'s' * (n != 1)}" for n, what in sizes)
        where = "memory" if self.path is None else repr(str(self.path))
        return f"Corpus({counts}, {self.n_segments} segment{'s' * (self.n_segments != 1)} of {self.dtype} in {where})"

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_temporary": None}  # a copy in another process uses the folder, but does not own it

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""
        return self._store.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the values of every segment's rows."""
        return self._store.dtype

    @property
    def classes(self) -> NDArray[Any]:
        """The sorted labels; of length 0 if the rows have none."""
        return self._store.classes

    @property
    def weighted(self) -> bool:
        """Whether the rows have weights."""
        return self._store.weighted

    @property
    def path(self) -> Path | None:
        """The folder of a stored corpus; None in memory."""
        return self._store.path

    @property
    def groups(self) -> NDArray[np.int64] | None:
        """How many consecutive rows belong together, for each group; None without groups."""
        return np.diff(group_starts(self._store.groups())) if self._store.grouped else None

    @property
    def feature_names(self) -> NDArray[np.object_] | None:
        """The names of the features; None where they have none."""
        return self._store.names()

    @property
    def first_index(self) -> int:
        """The index that the first column has in svmlight's files: 1 of rows read with `zero_based=False`, else 0."""
        return int(self._store.hashed == COUNTED_FROM_1)

    @property
    def n_segments(self) -> int:
        return len(self.bounds) - 1

    def segment(self, index: int) -> Segment:
        """One segment; it occupies memory for as long as it is held.

        Parameters
        ----------
        index : int
            From 0 to `n_segments` − 1.

        Returns
        -------
        Segment
            Its rows, the codes of their labels, and their weights.
        """
        return self._store.read(int(self.bounds[index]), int(self.bounds[index + 1]))

    def segments(self) -> Iterator[Segment]:
        """All of them in order.

        Returns
        -------
        iterator of Segment
            Each is read when it is asked for.
        """
        return (self.segment(index) for index in range(self.n_segments))

    def codes(self) -> NDArray[np.int32]:
        """The place of every row's label among the classes: four bytes a row, held in memory.

        Returns
        -------
        array of int32 of shape (n_rows,)
            Places in `classes`.
        """
        return self._store.codes()

    def weights(self) -> NDArray[np.float64]:
        """The weight of every row, held in memory; of length 0 for all ones.

        Returns
        -------
        array of shape (n_rows,), or (0,)
            Weights as they were given.
        """
        return self._store.weights()

    def scratch(self) -> ScratchSpace:
        """A place for arrays that a fit keeps a row: in memory if the rows are, else in a file.

        Returns
        -------
        ScratchSpace
            What allocates arrays; a file of it goes when nobody holds the array.
        """
        return ScratchSpace(None if self.path is None else tempfile.gettempdir())

    def to_memory(self) -> tuple[sp.csr_array, NDArray[Any] | None]:
        """The rows as one matrix, and their labels.

        Returns
        -------
        X : CSR of shape (n_samples, n_features)
        y : array of shape (n_samples,), or None without labels
        """
        narrow = self._store.nnz <= np.iinfo(np.int32).max  # with int64 bounds, scipy would widen the indices, too
        indptr = np.zeros(len(self) + 1, np.int32 if narrow else np.int64)
        indices, values = np.empty(self._store.nnz, np.int32), np.empty(self._store.nnz, self.dtype)
        for start, rows, *_ in self.segments():
            first = indptr[start]
            indptr[start + 1 : start + len(rows) + 1] = rows.indptr[1:] + first
            indices[first : first + rows.nnz] = rows.indices[: rows.nnz]
            values[first : first + rows.nnz] = rows.values[: rows.nnz]
        X = sp.csr_array((values, indices, indptr), shape=self.shape)
        return X, self.classes[self.codes()] if len(self.classes) else None

    def subset(self, rows: Any) -> "Corpus":
        """Some of the rows as a corpus of their own; of a stored one in temporary files.

        Parameters
        ----------
        rows : array
            True for each row that is wanted, or the numbers of the rows, which rise.

        Returns
        -------
        Corpus
            Rows in their order, with their labels and weights, and the same columns.
        """
        chosen = _chosen(rows, len(self))
        if isinstance(self._store, InMemoryStore):
            return Corpus._of(self._store.take(chosen))._made_like(self)
        with temporary_corpus_folder() as target:
            builder = ShardWriter(target, SEGMENT)
            self._copy(builder, chosen)
            builder.finish(self.shape[1], self.feature_names, self._store.hashed)
        return Corpus._of(OnDiskStore(target.folder, verify=False, dtype=None), target.temporary)._made_like(self)

    def write(self, path: Any, format: ShardKind | None = None, *, dtype: Any = None) -> "Corpus":  # noqa: A002
        """Store the corpus in a folder, a segment a shard.

        Parameters
        ----------
        path : str or path
            A new folder, an empty one, or that of a stored corpus, which is replaced once all is written.
        format : {"arrow", "npy"}, optional
            Arrow IPC files, or arrays of numpy's; None: Arrow, if pyarrow is installed.
        dtype : {"float32", "float64"}, optional
            The type of the values, on disk, too; None: what they are, on disk float32 wherever that is exact.

        Returns
        -------
        Corpus
            The stored one.
        """
        storage, kind = storage_of(format), validation.as_dtype(dtype)
        with AtomicFolder(Path(path)) as target:
            if storage == "arrow":
                write_arrow(target, self._store, SEGMENT, kind)
            else:
                builder = ShardWriter(target, SEGMENT, kind)
                self._copy(builder, None)
                builder.finish(self.shape[1], self.feature_names, self._store.hashed)
        return Corpus(path)._made_like(self)

    def _copy(self, builder: ShardWriter, chosen: NDArray[np.int64] | None) -> None:
        """Give all rows to a builder, or those that are chosen."""
        groups = self._store.groups()
        for start, rows, codes, weights in self.segments():
            size, here = len(rows), np.arange(len(rows))
            if chosen is not None:
                first, last = np.searchsorted(chosen, [start, start + size])
                if first == last:
                    continue
                here = chosen[first:last] - start
                rows = rows.take(here).measured()
            builder.add(
                rows,
                (self.classes, codes[here]) if len(codes) else None,
                weights[here] if len(weights) else None,
                groups[start : start + size][here] if len(groups) else None,
            )


def convert(source: Any, target: Any, *, to: ShardKind | None = None, dtype: Any = None, **options: Any) -> Corpus:
    """Convert files, or a stored corpus, to a stored corpus.

    Parameters
    ----------
    source : path, list of paths or open binary file
        As in `Corpus`.
    target : path
        A new folder, an empty one, or that of a stored corpus, which is replaced once all is written.
    to : {"arrow", "npy"}, optional
        As `format` in `Corpus.write`.
    dtype : {"float32", "float64"}, optional
        As in `Corpus.write`.
    **options
        Further ones of `Corpus`.

    Returns
    -------
    Corpus
        The stored one.
    """
    if storage_of(to) == "npy" and not is_stored(source):
        return Corpus(source, cache=target, dtype=dtype, **options)
    return Corpus(source, **options).write(target, to, dtype=dtype)


def _in_memory(X: Any, y: Any, sample_weight: Any, group_sizes: Any, dtype: np.dtype[Any] | None) -> InMemoryStore:
    rows = validation.as_rows(X)
    if dtype is not None:
        rows = retyped(rows, dtype)
    classes, codes = np.empty(0), np.empty(0, np.int32)
    if y is not None:
        classes, codes = validation.as_labels(y, len(rows), estimator="Corpus")
    weights = validation.as_weights(sample_weight, len(rows))
    groups = np.empty(0, np.int64)
    if group_sizes is not None:
        sizes = np.diff(validation.as_groups(group_sizes, len(rows)))
        groups = np.repeat(np.arange(len(sizes)), sizes)
    return InMemoryStore(rows, classes, codes, np.empty(0) if weights is None else weights, groups)


def _refuse(arguments: dict[str, Any], why: str) -> None:
    given = [name for name, value in arguments.items() if value is not None]
    if given:
        raise ValueError(f"{' and '.join(given)} cannot be given: {why}")


def _chosen(rows: Any, n_rows: int) -> NDArray[np.int64]:
    """Row numbers that rise."""
    array = np.asarray(rows)
    if array.dtype == bool and array.shape == (n_rows,):
        array = np.flatnonzero(array)
    if array.ndim != 1 or array.dtype.kind not in "iu" or not len(array):
        raise ValueError(f"rows must be a mask of {n_rows} rows or some row numbers, got {rows!r:.60}")
    numbers = array.astype(np.int64)
    if numbers[0] < 0 or numbers[-1] >= n_rows or (numbers[1:] <= numbers[:-1]).any():
        raise ValueError(f"row numbers must rise from 0 or more to less than {n_rows}")
    return numbers
