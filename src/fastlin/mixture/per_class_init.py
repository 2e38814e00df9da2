"""Where EM begins when labels have components: with the rows of each label shared out among its own."""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from fastlin.mixture.class_components import Families
from fastlin.mixture.em_init import KMEANS_ROUNDS, SEED_SAMPLE_ROWS, EMInitializer, Floats, nearest, score
from fastlin.mixture.merged_columns import MergedPartitions
from fastlin.mixture.multinomial_em import Fill
from fastlin.optim.partitions import Partition
from fastlin.runtime import parallel

MIN_ROWS_PER_COMPONENT = 1 << 8  # rows of a label, for each of its components, that k-means may look at


class PerClassInitializer(EMInitializer):
    """Makes starts of rows that are laid out, of which those with a label are of labels with several components.

    k-means finds seeds among some of the rows of each label. Rows without a label help to say which words are rare,
    and have no share in the start.
    """

    def __init__(
        self, parts: MergedPartitions, families: Families, generator: np.random.Generator, workers: parallel.WorkerPool
    ) -> None:
        super().__init__(parts, int(families[-1]), generator, workers)
        self._families = families
        self._owners = np.repeat(np.arange(len(families) - 1), np.diff(families))  # the label of each component
        codes = np.concatenate(self.data.each(_codes))
        there = np.flatnonzero(codes >= 0)
        there = there[np.argsort(codes[there], kind="stable")]
        labels, sizes = np.unique(codes[there], return_counts=True)
        ends = np.cumsum(sizes)
        self._rows = {
            label: there[end - size : end]
            for label, size, end in zip(labels.tolist(), sizes.tolist(), ends.tolist(), strict=True)
        }

    def __len__(self) -> int:
        """How many labels have rows that are to be shared out."""
        return len(self._rows)

    def within_labels(self) -> Fill:
        """Each row belongs to that seed of its label which it is most like, or several that are alike share it."""
        return partial(_fill_nearest_own, columns=self._columns(), times=self.parts.times, owners=self._owners)

    def _columns(self) -> Floats:
        """The seeds of all components, [V, M]; none of them where there are no words."""
        idf, columns = self._idf(), np.zeros((self.parts.n_features, self.n_components))
        if not len(columns):
            return columns
        some = {label: self._some(label) for label in self._rows}
        numbers = np.sort(np.concatenate(list(some.values())))
        rows, weights = self._taken(numbers, idf)
        for label, own in some.items():
            here, (first, last) = np.searchsorted(numbers, own), self._families[label : label + 2]
            columns[:, first:last] = self._seeds(rows.take(here), weights[here], KMEANS_ROUNDS, int(last - first))
        return np.ascontiguousarray(idf[:, np.newaxis] * columns)

    def _some(self, label: int) -> NDArray[np.int64]:
        """Rows of a label: all, or a sample."""
        own, size = self._rows[label], self._families[label + 1] - self._families[label]
        some = max(SEED_SAMPLE_ROWS // len(self._rows), MIN_ROWS_PER_COMPONENT * size)
        return own if len(own) <= some else np.sort(self.generator.choice(own, some, replace=False))


def _codes(part: Partition) -> NDArray[np.int32]:
    """The label of each row, −1 for none."""
    return part.labels.codes


def _fill_nearest_own(
    part: Partition, shares: Floats, columns: Floats, times: Floats, owners: NDArray[np.int64]
) -> None:
    """Each row to the seed of its label that it is most like."""
    codes = part.labels.codes
    score(part, columns, times, shares)
    shares[codes[:, np.newaxis] != owners] = -np.inf
    nearest(shares)
    shares[codes < 0] = 0
