"""Mixtures of multinomials on a cluster: every E-step is a round, the M-step is the driver's."""

import uuid
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.core.class_counts import ClassCounts, SmoothingPrior
from fastlin.core.dataset import Mask
from fastlin.core.dataset_passes import SegmentPartition
from fastlin.dask.datasets import ClusterDataset, ClusterPartitions
from fastlin.dask.estimators import ClusterEstimator
from fastlin.dask.partitions import SegmentDesigns, count_features
from fastlin.dask.passes import DaskPasses
from fastlin.mixture import multinomial
from fastlin.mixture.merged_columns import MergedColumns, merge_columns, sum_columns, with_own_values
from fastlin.mixture.partial_labels import PartlyLabelledDocuments
from fastlin.optim.design import Design, order_by_frequency
from fastlin.optim.likelihoods import Likelihood, MultinomialLikelihood


@dataclass(frozen=True)
class MergedDesigns(SegmentDesigns):
    """Segments laid out for EM, with columns that stand for several features."""

    stands: NDArray[np.int64]
    times: NDArray[np.float64]

    def lay_out(self, index: int) -> tuple[Design, Likelihood]:
        rows, codes, weights = self.rows.block(index)
        design = Design.of(sum_columns(rows.without_zeros(), self.stands, self.times), self.features)
        return with_own_values(design, self.times[self.features]), MultinomialLikelihood(codes, weights, self.width)


class MergedClusterPartitions(MergedColumns, ClusterPartitions):
    """Partitions of such columns, which workers lay out."""


class ClusterDocuments(PartlyLabelledDocuments):
    """Documents without labels that workers lay out."""

    def lay_out(
        self, of_labels: Mask, unlabeled_weight: float, width: int, known: ClassCounts | None, prior: SmoothingPrior
    ) -> Any:
        data = self.views[0].dataset
        if not isinstance(data, ClusterDataset):
            return super().lay_out(of_labels, unlabeled_weight, width, known, prior)
        rows, V = data.rows_of_weight(), self.n_columns
        passes = DaskPasses(data.cluster, rows, data.remote.path)
        seen, stands, times = np.zeros(V, np.int64), np.zeros(V, np.int64), np.zeros(V)
        passes.sum(count_features, into=(seen,))
        if len(prior.pseudo) == 1:  # else features differ before they are counted
            passes.sum(_add_merged, seen == 1, into=(stands, times))
        stands += np.arange(V)
        times += 1
        features = order_by_frequency(np.where(stands == np.arange(V), seen, 0))
        designs = MergedDesigns(uuid.uuid4().hex, rows, features, width, None, stands, times)
        parts = MergedClusterPartitions(designs, data.cluster)
        parts.set_members(seen, stands, times)
        return parts


class MultinomialMixture(ClusterEstimator, multinomial.MultinomialMixture):
    """`fastlin.MultinomialMixture` of a stored corpus on the workers of a Dask cluster, in the same bits."""

    def _documents(self, X: Any, sample_weight: Any, reset: bool) -> PartlyLabelledDocuments:
        found = super()._documents(X, sample_weight, reset)
        return ClusterDocuments(found.classes, found.views)


def _add_merged(
    part: SegmentPartition, once: NDArray[np.bool_], stands: NDArray[np.int64], times: NDArray[np.float64]
) -> None:
    """Which features stand for others less their own number, and for how many less one: zeros where nothing merges."""
    n = len(once)
    own, for_many = np.arange(n), np.ones(n)
    merge_columns(part.rows.without_zeros(), once, own, for_many)
    stands += own - np.arange(n)
    times += for_many - 1
