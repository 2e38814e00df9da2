"""The segments of a dataset as partitions, for passes that read rows as they lie."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from fastlin.core.dataset import Dataset
from fastlin.data import Segment
from fastlin.runtime.passes import PartitionSet, Passes


class SegmentPartition:
    """A segment, open for work that threads share."""

    starts_sums = True

    def __init__(self, index: int, segment: Segment, workers: Any) -> None:
        self.index, self.workers = index, workers
        self.start, self.rows, self.codes, self.weights = segment


class DatasetPartitions(PartitionSet):
    """The segments of a dataset; nothing is kept with their rows."""

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset

    def __len__(self) -> int:
        return self._dataset.n_segments

    def passes(self, workers: Any) -> Passes:
        """Passes over them, by whoever can read the dataset."""
        return self._dataset.passes(self, workers)

    @contextmanager
    def open(self, index: int, workers: Any = None) -> Iterator[SegmentPartition]:
        """One of them, its values checked."""
        yield SegmentPartition(index, self._dataset.segment(index), workers)
