"""A stored corpus whose segments workers read: the driver sees its manifest, and no row."""

import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fastlin import validation
from fastlin.core.dataset import CorpusDataset, DatasetView
from fastlin.dask.cluster import Cluster
from fastlin.dask.partitions import (
    CorpusSegments,
    LabelledSegments,
    PartitionFacts,
    SegmentDesigns,
    count_features,
    partition_facts,
    segment_facts,
    weigh_labels,
)
from fastlin.dask.passes import DaskPasses
from fastlin.data import Corpus
from fastlin.optim.design import order_by_frequency
from fastlin.runtime.made_once import made_once
from fastlin.runtime.passes import PartitionSet


class ClusterDataset(CorpusDataset):
    """The rows of a stored corpus, which workers open by its path."""

    def __init__(self, corpus: Corpus, name: str, constraints: dict[str, Any], cluster: Cluster) -> None:
        super().__init__(corpus, name, constraints)
        self.cluster = cluster
        self.remote = CorpusSegments.of(corpus, constraints)
        self.data = DaskPasses(cluster, self.remote, self.remote.path)

    def passes(self, segments: PartitionSet, workers: Any) -> Any:  # noqa: ARG002 - threads are the workers'
        return self.data

    def rows_of_weight(self) -> LabelledSegments:
        """The rows that weigh something, without labels."""
        facts = self.data.each(segment_facts, len(self.classes))
        numbers = np.flatnonzero([each.n_rows for each in facts])
        places = np.full(len(self.classes) + 1, -1, np.int32)
        return LabelledSegments(self.remote, numbers, places, None, not all(each.all_weigh for each in facts))

    def training(self, class_weight: Any) -> "ClusterView":
        n_labels = len(self.classes)
        masses = np.zeros(n_labels)
        if class_weight == "balanced":
            masses = self.data.sum(weigh_labels, n_labels)
        factors = validation.class_factors(
            class_weight, self.classes, np.arange(n_labels, dtype=np.int32), True, masses
        )
        facts = self.data.each(segment_facts, n_labels)
        counts = sum(each.counts for each in facts)
        if factors is not None:
            counts = np.where(factors > 0, counts, 0)
        self._check_present(counts > 0)
        n_of_segments = np.array([each.counts[counts > 0].sum() for each in facts])
        drops = not all(each.all_weigh for each in facts) or (factors is not None and not factors.all())
        present = counts > 0
        places = None if present.all() else np.append(np.cumsum(present) - 1, -1).astype(np.int32)
        rows = LabelledSegments(self.remote, np.flatnonzero(n_of_segments), places, factors, drops)
        return ClusterView(self, self.classes[present], places, factors=factors, remote=rows)


@dataclass(frozen=True)
class ClusterView(DatasetView):
    """The rows of a corpus to learn from, as workers read them."""

    remote: LabelledSegments | None = None

    def designs(self, width: int, tables: Any) -> "ClusterPartitions":
        """The rows laid out by workers, for so many columns of weights."""
        data = self.dataset
        assert isinstance(data, ClusterDataset)
        assert self.remote is not None
        counts = np.zeros(self.n_features, np.int64)
        DaskPasses(data.cluster, self.remote, data.remote.path).sum(count_features, into=(counts,))
        designs = SegmentDesigns(uuid.uuid4().hex, self.remote, order_by_frequency(counts), width, tables)
        return ClusterPartitions(designs, data.cluster)


class ClusterPartitions:
    """Partitions that workers lay out, as solvers see them."""

    largest_left_out = 0.0  # all features are laid out

    def __init__(self, designs: SegmentDesigns, cluster: Cluster) -> None:
        self.features, self._designs = designs.features, designs
        self._data = DaskPasses(cluster, designs, designs.rows.segments.path)
        self.has_labels, self.has_label_sets = designs.tables is None, designs.tables is not None

    def __len__(self) -> int:
        return len(self._designs)

    def passes(self, workers: Any) -> DaskPasses:  # noqa: ARG002 - threads are the workers'
        return self._data

    @made_once
    def _facts(self) -> list[PartitionFacts]:
        return self._data.each(partition_facts)

    @property
    def sizes(self) -> list[int]:
        """The number of rows of each."""
        return [each.n_rows for each in self._facts]

    @property
    def n_non_zeros(self) -> list[int]:
        """Of each."""
        return [each.n_non_zeros for each in self._facts]

    @property
    def n_features(self) -> int:
        return len(self.features)

    @property
    def n_rows(self) -> int:
        return sum(self.sizes)

    n_instances = n_rows

    @property
    def total_weight(self) -> float:
        """Σ w."""
        return sum(each.total_weight for each in self._facts)

    @property
    def max_abs_value(self) -> float:
        """max |x|."""
        return max(each.largest for each in self._facts)

    @property
    def weight_range(self) -> tuple[float, float]:
        """The least and the largest w, and 1."""
        ranges = [each.weight_range for each in self._facts]
        return min(least for least, _ in ranges), max(largest for _, largest in ranges)


def open_corpus(X: Any) -> Corpus:
    """The stored corpus at a path, or the one that is given; what is in memory does not travel."""
    corpus = X if hasattr(X, "n_segments") else Corpus(_as_path(X))
    if corpus.path is None:
        raise ValueError("X is a Corpus in memory, whose rows do not travel: X.write(path) where all workers see it")
    return corpus


def _as_path(X: Any) -> Path:
    if not isinstance(X, str | Path):
        raise TypeError(
            f"X must be a stored Corpus or its path, which all workers see, got {type(X).__name__}: rows do not "
            "travel, Corpus(X, y).write(path) stores them"
        )
    return Path(X)
