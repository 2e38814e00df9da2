"""Groups of weights, those of a feature: a group penalty Σ_j λ_j ‖θ_j‖₂ keeps all of a group, or none."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class WeightGroups:
    """The weights that begin at `starts`, so many each, with λ of each group; together they are a whole vector."""

    starts: NDArray[np.int64]
    sizes: NDArray[np.int64]
    strengths: Vector

    @classmethod
    def of(cls, starts: NDArray[np.int64], strengths: Vector) -> "WeightGroups":
        """The groups starts[j] … starts[j + 1] − 1 that are not empty, with λ of every weight, or of all."""
        sizes = np.diff(starts)
        first, sizes = starts[:-1][sizes > 0], sizes[sizes > 0]
        return cls(first, sizes, np.broadcast_to(strengths, (starts[-1],))[first])

    def some(self, chosen: NDArray[np.bool_]) -> "WeightGroups":
        """Some of the groups, of a vector that has no others."""
        sizes = self.sizes[chosen]
        return WeightGroups(np.cumsum(sizes) - sizes, sizes, self.strengths[chosen])

    def sums(self, of_weights: NDArray[np.float64]) -> Vector:
        """The sum over each group."""
        return np.add.reduceat(of_weights, self.starts) if len(self.starts) else np.empty(0)

    def norms(self, weights: Vector) -> Vector:
        """‖θ_j‖ of each group."""
        return np.sqrt(self.sums(np.square(weights)))

    def expand(self, of_groups: NDArray[Any]) -> Any:
        """A number of each group, as one of each weight."""
        return np.repeat(of_groups, self.sizes)

    def penalty(self, weights: Vector) -> float:
        """Σ λ ‖θ_j‖."""
        return float(self.strengths @ self.norms(weights))

    def directions(self, weights: Vector) -> tuple[Vector, Vector]:
        """θ_j / ‖θ_j‖, zero where θ_j is, and the norms."""
        norms = self.norms(weights)
        return weights * self.expand(1 / np.where(norms > 0, norms, np.inf)), norms

    def norm_changes(self, weights: Vector, step: Vector) -> Vector:
        """‖θ_j + d_j‖ − ‖θ_j‖ = (2θ + d)·d / (‖θ + d‖ + ‖θ‖), as precise as the step is small."""
        both = self.norms(weights) + self.norms(weights + step)
        return self.sums((2 * weights + step) * step) / np.where(both > 0, both, 1.0)

    def steepest(self, weights: Vector, slopes: Vector) -> Vector:
        """The least subgradient of f + Σ λ ‖θ_j‖, from the gradient of f."""
        directions, norms = self.directions(weights)
        lengths = self.norms(slopes)
        left = np.maximum(lengths - self.strengths, 0) / np.where(lengths > 0, lengths, 1)
        at_zero = self.expand(norms == 0)
        return np.where(at_zero, slopes * self.expand(left), slopes + self.expand(self.strengths) * directions)

    def dual_share(self, slopes: Vector) -> float:
        """The largest share of some slopes, at most 1, at which no group's are longer than its λ."""
        lengths = self.norms(slopes)
        longer = lengths > self.strengths
        return float((self.strengths[longer] / lengths[longer]).min(initial=1.0))

    def gap(self, weights: Vector, slopes: Vector) -> float:
        """Σ λ ‖θ_j‖ + g_j·θ_j, where no g_j is longer than λ."""
        terms = self.strengths * self.norms(weights) + self.sums(slopes * weights)
        return float(np.maximum(terms, 0).sum())  # below zero by rounding alone
