"""Rows made ready for k-means, and the centres to begin from."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin import validation
from fastlin.cluster.kmeans_steps import MIN_WEIGHT_SHARE, KMeansData, reciprocal
from fastlin.cluster.seeding import choose_seeds, owned, squared_norms, take
from fastlin.data.scratch import ScratchSpace
from fastlin.engine.core.csr_view import CSRView
from fastlin.engine.solvers import kmeans
from fastlin.optim.design import Design
from fastlin.optim.likelihoods import MultinomialLikelihood
from fastlin.optim.partitions import Partitions
from fastlin.runtime import parallel
from fastlin.runtime.passes import Passes
from fastlin.validation import CSRRows

Pieces = Callable[[], Iterable[tuple[int, CSRRows]]]  # rows in pieces, each with the number of its first
MAX_ABS_CENTRE = 1e100


def feature_variance(pieces: Pieces, n_columns: int) -> tuple[float, NDArray[np.float64]]:
    """The mean variance of the features, and ‖x‖² of every row."""
    sums, squares = np.zeros(n_columns), []
    for _, rows in pieces():
        for start, stop in parallel.row_blocks(rows, 1):
            block = slice(rows.indptr[start], rows.indptr[stop])
            kmeans.add_columns_up(CSRView(rows.indptr, rows.indices[block], rows.values[block], start, stop), sums)
        squares.append(squared_norms(rows))
    norms = np.concatenate(squares)
    shift = float(np.sum((sums / len(norms)) ** 2))
    return max(float(norms.mean()) - shift, 0.0) / n_columns, norms


def lay_out(
    pieces: Pieces,
    n_columns: int,
    weights: NDArray[np.float64],
    spherical: bool,
    scratch: ScratchSpace | None,
    tol: float,
    few: bool = False,
) -> tuple[KMeansData, float]:
    """The rows in parts, in `scratch` if they come in several, and `tol` times the mean variance of the features.

    For `few` clusters the rows of one part are not laid out by columns, unless most columns have none.
    """
    by_rows, threshold = False, 0.0
    if tol:
        variance, norms = feature_variance(pieces, n_columns)
        threshold = tol * variance
    else:
        norms = np.concatenate([squared_norms(rows) for _, rows in pieces()])
    costs = np.ones(len(norms)) if spherical else norms

    def weighted(start: int, n: int) -> MultinomialLikelihood:
        return MultinomialLikelihood(np.empty(0, np.int32), weights[start : start + n], 1)

    if scratch is None:
        ((start, rows),) = pieces()
        by_rows = few and rows.n_columns <= rows.nnz
        parts = Partitions.single(Design.of_rows(rows) if by_rows else Design.of(rows), weighted(start, len(rows)))
    else:

        def segments() -> Iterator[tuple[CSRRows, MultinomialLikelihood]]:
            return ((rows, weighted(start, len(rows))) for start, rows in pieces())

        parts = Partitions.from_segments(segments, n_columns, scratch)
    cost = float(np.sum(costs * weights if len(weights) else costs))
    return KMeansData(parts, weights, norms > 0, cost, n_columns, by_rows), threshold


def first_centres(
    init: str,
    data: Passes,
    points: KMeansData,
    n_clusters: int,
    generator: np.random.Generator,
    spherical: bool,
) -> NDArray[np.float64]:
    """Some of the rows: far apart, or just random ones."""
    if init == "k-means++":
        weights = points.weights if len(points.weights) else None
        chosen = choose_seeds(data, (len(points), points.n_columns), n_clusters, generator, weights, spherical)
    else:
        chosen = _scattered(points, n_clusters, generator)
    return take(data, chosen, points.n_columns)


def _scattered(points: KMeansData, n_clusters: int, generator: np.random.Generator) -> NDArray[np.int64]:
    """Rows without repetition for as long as there are any of positive weight."""
    mass = points.weights if len(points.weights) else np.ones(len(points))
    share = mass / mass.sum()
    n = min(n_clusters, int(np.count_nonzero(share)))
    chosen = generator.choice(len(points), n, replace=False, p=share)
    return np.concatenate([chosen, generator.choice(len(points), n_clusters - n, p=share)])


def as_centres(init: Any, n_clusters: int, n_columns: int) -> NDArray[np.float64]:
    """Centres [K, V] of a user's."""
    centres = validation.as_finite(init, "init", 2)
    if len(centres) != n_clusters:
        message = f"The shape of the initial centers {centres.shape} does not match the number of clusters {n_clusters}"
        raise ValueError(f"init: {message}.")
    if centres.shape[1] != n_columns:
        message = f"The shape of the initial centers {centres.shape} does not match the number of features of the data"
        raise ValueError(f"init: {message} {n_columns}.")
    if np.abs(centres).max() > MAX_ABS_CENTRE:
        raise ValueError(f"init holds {np.abs(centres).max():g}; at most {MAX_ABS_CENTRE:g} is supported")
    return centres


def normalize_rows(rows: CSRRows) -> CSRRows:
    """The rows scaled to norm 1; empty ones stay empty, and those of denormal numbers are as good as empty."""
    values = rows.values[: rows.nnz].astype(np.float64)
    for start, stop, own, owners in owned(rows):
        block, peaks = values[own], np.zeros(stop - start)
        np.maximum.at(peaks, owners, np.abs(block))  # or squares of small numbers would vanish
        block /= np.where(peaks > 0, peaks, 1.0)[owners]  # 1 / peak may be too large a number
        norms = np.sqrt(np.bincount(owners, np.square(block), minlength=stop - start))
        block *= reciprocal(norms, norms > 0)[owners]
    return replace(rows, values=values, largest=1.0)


def normalize_centres(centres: NDArray[np.float64]) -> NDArray[np.float64]:
    """The centres scaled to norm 1; a centre of zeros stays one."""
    peaks = np.abs(centres).max(axis=1)
    scaled = centres / np.where(peaks > 0, peaks, 1.0)[:, np.newaxis]
    norms = np.sqrt(np.einsum("kj,kj->k", scaled, scaled))
    return scaled * reciprocal(norms, norms > 0)[:, np.newaxis]


def scaled(weights: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Weights of at most 1, so that no sum of squares overflows, and their factor: a power of two loses no digit.

    Those below `LEAST` are zero: the mean of a cluster of such rows would have none left.
    """
    if not len(weights):
        return weights, 1.0
    if not weights.any():
        raise ValueError("sample_weight: the weight of every row is zero, there is nothing to cluster")
    factor = 2.0 ** np.frexp(weights.max())[1]
    shares = weights / factor
    return np.where(shares < MIN_WEIGHT_SHARE, 0.0, shares), float(factor)
