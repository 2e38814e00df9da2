"""Partitions of a stored corpus that any process opens from the corpus's path: what is sent of them is no row.

A worker reads a segment when it first works on it. The designs that solvers want it lays out once and keeps in a file
without a name, of which it maps one at a time: mapped pages count as a worker's memory, and too many would pause it.
"""

import tempfile
import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastlin.core.dataset import LabelledBlock
from fastlin.core.dataset_passes import SegmentPartition
from fastlin.data import Corpus, Segment
from fastlin.data.manifest import MANIFEST_NAME
from fastlin.data.npy_files import CorpusError
from fastlin.data.scratch import ScratchArray, ScratchSpace
from fastlin.optim.design import Design, count_rows
from fastlin.optim.likelihoods import Likelihood, MultinomialLikelihood, OneVsRestLikelihood
from fastlin.optim.partitions import MappedDesign, Partition, PartitionFiles
from fastlin.runtime.made_once import made_once
from fastlin.runtime.passes import PartitionSet, Work
from fastlin.storage.crc32 import crc32
from fastlin.validation import check_values

MAX_KEPT_LAYOUTS = 2  # fits whose designs a worker keeps


class RowNumbers(NamedTuple):
    """The name of numbers of rows, or of non-zeros, and the work that writes them when they are wanted, if there is."""

    name: str
    width: int
    dtype: str
    per: str
    work: Work | None = None
    arguments: tuple[Any, ...] = ()


@dataclass(frozen=True)
class CorpusSegments(PartitionSet):
    """The segments of a stored corpus, and what their values have to be."""

    is_constant_of_fit: ClassVar[bool] = True
    path: str
    digest: int  # of the manifest
    dtype: str
    bounds: NDArray[np.int64]  # of the segments, and the number of rows
    constraints: tuple[tuple[str, Any], ...] = ()

    @classmethod
    def of(cls, corpus: Corpus, constraints: dict[str, Any]) -> "CorpusSegments":
        path = str(corpus.path)
        return cls(path, manifest_digest(path), corpus.dtype.str, corpus.bounds, tuple(constraints.items()))

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def read(self, index: int) -> Segment:
        """One of them, its values checked."""
        try:
            segment = _corpus_at(self).segment(index)
        except (CorpusError, OSError):
            self._check_digest()  # it may have been replaced
            raise
        check_values(segment.rows, name="X", start=segment.start, **dict(self.constraints))
        return segment

    @contextmanager
    def open(self, index: int, workers: Any = None) -> Iterator[SegmentPartition]:
        yield SegmentPartition(index, self.read(index), workers)

    def _check_digest(self) -> None:
        """Refuse a corpus that has taken the place of the one of the fit."""
        if manifest_digest(self.path) != self.digest:
            raise CorpusError(f"{self.path} is another corpus than when the fit began: its manifest has changed")


@dataclass(frozen=True)
class LabelledSegments(PartitionSet):
    """The segments that have rows to learn from, under labels that may be fewer than the corpus's, weighted by them."""

    is_constant_of_fit: ClassVar[bool] = True
    segments: CorpusSegments
    numbers: NDArray[np.int64]  # of the segments
    places: NDArray[np.int32] | None  # of the corpus's labels among those of the fit; last, that of none
    factors: NDArray[np.float64] | None  # of the weights of each label's rows
    drops_weightless: bool

    def __len__(self) -> int:
        return len(self.numbers)

    def block(self, index: int) -> LabelledBlock:
        """The rows of one of them."""
        _, rows, codes, weights = self.segments.read(int(self.numbers[index]))
        if self.factors is not None:
            factors = self.factors[codes]
            weights = factors * weights if len(weights) else factors
        if self.places is not None:
            codes = self.places[codes] if len(codes) else np.full(len(rows), self.places[-1])
        block = LabelledBlock(rows, codes, weights)
        return block.take(weights > 0) if self.drops_weightless and len(weights) else block

    @contextmanager
    def open(self, index: int, workers: Any = None) -> Iterator[SegmentPartition]:
        yield SegmentPartition(index, Segment(0, *self.block(index)), workers)


@dataclass(frozen=True)
class SegmentDesigns(PartitionSet):
    """The same, laid out for a solver."""

    is_constant_of_fit: ClassVar[bool] = True
    key: str  # of the fit
    rows: LabelledSegments
    features: NDArray[np.int64]
    width: int
    tables: tuple[NDArray[np.uint8], NDArray[np.float64]] | None  # of several labels, each against the rest

    def __len__(self) -> int:
        return len(self.rows)

    @contextmanager
    def open(self, index: int, workers: Any = None) -> Iterator[Partition]:
        stored = _layout_of(self).stored(index)
        with ExitStack() as held:
            meaning = [each.map_while(held) for each in stored.likelihood_arrays]
            design = MappedDesign(self.features, stored.n_rows, stored.design_arrays, held)
            likelihood = stored.kind(*meaning, stored.width)
            yield OpenedPartition((index, len(self)), design, likelihood, workers, held, stored.blocks)

    def lay_out(self, index: int) -> tuple[Design, Likelihood]:
        """One of them, from its rows."""
        rows, codes, weights = self.rows.block(index)
        if self.tables is None:
            return Design.of(rows, self.features), MultinomialLikelihood(codes, weights, self.width)
        return Design.of(rows, self.features), OneVsRestLikelihood(codes, weights, *self.tables, self.width)


class OpenedPartition(Partition):
    """A partition whose numbers of rows are there while it is open."""

    @made_once
    def _numbers(self) -> dict[str, NDArray[Any]]:
        return {}

    def map(self, of_rows: Any) -> NDArray[Any]:
        """The numbers of these rows: zeros, or what their work writes, when they are first asked for."""
        assert isinstance(of_rows, RowNumbers)
        found = self._numbers.get(of_rows.name)
        if found is None:
            size = self.design.n_rows if of_rows.per == "row" else self.design.nnz
            found = self._numbers[of_rows.name] = np.zeros((size, of_rows.width), of_rows.dtype)
            if of_rows.work is not None:
                of_rows.work(self, *of_rows.arguments, found)
        return found


class StoredLayout:
    """The designs of one fit that this process has laid out, in a file without a name."""

    def __init__(self, designs: SegmentDesigns) -> None:
        self._designs, self._stored = designs, dict[int, PartitionFiles]()
        self._scratch, self._lock = ScratchSpace(tempfile.gettempdir()), threading.Lock()

    def stored(self, index: int) -> PartitionFiles:
        """Where the arrays of one of them lie, once it is laid out."""
        with self._lock:
            found = self._stored.get(index)
            if found is None:
                design, likelihood = self._designs.lay_out(index)
                matrix, meaning = self._write(design.arrays), self._write(likelihood.arrays)
                found = self._stored[index] = PartitionFiles.of(design, likelihood, matrix, meaning)
            return found

    def _write(self, arrays: Any) -> list[ScratchArray]:
        written = []
        for array in arrays:
            written.append(self._scratch.zeros(array.shape, array.dtype))
            with written[-1].map() as copy:
                copy[:] = array
        return written


_layouts: "OrderedDict[str, StoredLayout]" = OrderedDict()
_layouts_lock = threading.Lock()
_of_thread = threading.local()  # the corpora that a thread has open


def manifest_digest(path: str) -> int:
    """The CRC-32 of the manifest of a stored corpus, which says those of all its files."""
    return crc32((Path(path) / MANIFEST_NAME).read_bytes())


def _corpus_at(segments: CorpusSegments) -> Corpus:
    """The corpus, opened once by each thread, if it is still the one of the fit."""
    wanted = segments.path, segments.digest, segments.dtype
    if getattr(_of_thread, "wanted", None) != wanted:
        segments._check_digest()
        _of_thread.corpus = Corpus(segments.path, dtype=np.dtype(segments.dtype))
        _of_thread.corpus.bounds = segments.bounds
        _of_thread.wanted = wanted
    found: Corpus = _of_thread.corpus
    return found


def _layout_of(designs: SegmentDesigns) -> StoredLayout:
    """What this process has laid out of a fit; of the fits before, only the latest is kept."""
    with _layouts_lock:
        found = _layouts.get(designs.key)
        if found is None:
            found = _layouts[designs.key] = StoredLayout(designs)
        _layouts.move_to_end(designs.key)
        while len(_layouts) > MAX_KEPT_LAYOUTS:
            _layouts.popitem(last=False)
        return found


# The work that says what there is to learn from


class SegmentFacts(NamedTuple):
    """What a segment's rows are, under the labels of a corpus."""

    n_rows: int  # that weigh something
    counts: NDArray[np.int64]  # of these, under each label
    all_weigh: bool


def segment_facts(part: SegmentPartition, n_labels: int) -> SegmentFacts:
    """How many rows of a segment weigh something, under each label."""
    weighs = part.weights > 0 if len(part.weights) else np.ones(len(part.rows), bool)
    codes = part.codes[weighs] if len(part.codes) else part.codes
    return SegmentFacts(int(weighs.sum()), np.bincount(codes, minlength=n_labels), bool(weighs.all()))


def weigh_labels(part: SegmentPartition, n_labels: int) -> NDArray[np.float64]:
    """The weight of the rows of each label."""
    weights = part.weights if len(part.weights) else None
    return np.bincount(part.codes, weights, minlength=n_labels).astype(np.float64)


def count_features(part: SegmentPartition, counts: NDArray[np.int64]) -> None:
    """How many rows have each feature."""
    count_rows(part.rows, counts)


class PartitionFacts(NamedTuple):
    """What solvers ask of a partition's rows, once."""

    n_rows: int
    n_non_zeros: int
    total_weight: float
    weight_range: tuple[float, float]
    largest: float


def partition_facts(part: Partition) -> PartitionFacts:
    likelihood: Any = part.likelihood
    design = part.design
    return PartitionFacts(design.n_rows, design.nnz, likelihood.total_weight, likelihood.weight_range, design.largest)
