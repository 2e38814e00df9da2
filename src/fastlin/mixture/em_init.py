"""Where EM begins: responsibilities of the components for every row, from which the first M-step is made.

"k-means++" draws seeds among a sample of the rows, as log(1 + x)·idf of norm 1, and gives every row to the seed it is
most like; "kmeans" first moves the seeds to the middle of their rows of the sample, a few times over. Means of ten
random states on the bodies of 20 Newsgroups, 20 components (bench/starts.py):

               alpha 0.01                   alpha 0.1                    alpha 1
               bound    steps   purity      bound    steps   purity      bound    steps   purity
    random     −1282.4  42      0.23        −1355.1  48      0.28        −2070.2  33      0.20
    k-means++  −1279.9  41      0.29        −1353.6  42      0.34        −2067.4  24      0.20
    kmeans     −1274.5  23      0.36        −1353.0  31      0.38        −2070.8  39      0.27

where the bound is that of a document. Seeds among plain counts, whose distances frequent words decide, are worse than
random responsibilities: −1287.6 at alpha 0.01.
"""

from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fastlin import validation
from fastlin.cluster.kmeans_data import lay_out as points_of
from fastlin.cluster.kmeans_data import normalize_rows
from fastlin.cluster.kmeans_steps import LloydStep
from fastlin.cluster.seeding import kmeans_plus_plus
from fastlin.core.class_counts import SmoothingPrior, log_phi
from fastlin.engine.core import passes
from fastlin.engine.core import row_scores as row_kernels
from fastlin.mixture.merged_columns import MergedPartitions
from fastlin.mixture.multinomial_em import Fill, RandomFill
from fastlin.optim.partitions import Partition, row_blocks
from fastlin.runtime import parallel
from fastlin.validation import CSRRows, one_of

Floats = NDArray[np.float64]

INIT_METHODS = ("kmeans", "k-means++", "random")
SEED_SAMPLE_ROWS = 1 << 13  # rows among which seeds are drawn, or 16 for each seed if that is more
KMEANS_ROUNDS = 10  # of k-means among them


class EMInitializer:
    """Makes starts for rows that are laid out in parts."""

    def __init__(
        self, parts: MergedPartitions, n_components: int, generator: np.random.Generator, workers: parallel.WorkerPool
    ) -> None:
        self.parts, self.n_components, self.generator, self.workers = parts, n_components, generator, workers
        self.data = workers.passes(parts)
        self._first = np.concatenate([[0], np.cumsum(parts.sizes)])  # the number of the first row of each part

    def initialize(self, way: str, init: NDArray[Any], prior: SmoothingPrior, kept: NDArray[np.bool_]) -> Fill:
        """One of the `WAYS`, or of what `checked` calls a given start; of that one's rows only some may be `kept`."""
        if way == "random":
            return RandomFill(self.generator)
        if way in INIT_METHODS:
            return self._by_seeds(KMEANS_ROUNDS if way == "kmeans" else 0)
        if way == "words":
            return self._by_words(init, prior)
        return self._given(init if kept.all() else init[kept])

    def _by_seeds(self, rounds: int) -> Fill:
        """Each row belongs to the seed it is most like; those that several are equally like share it."""
        if not self.parts.n_features:  # all that rows without a word allow
            return partial(_fill_equally)
        idf = self._idf()
        columns = np.ascontiguousarray(idf[:, np.newaxis] * self._seeds(*self._sample(idf), rounds, self.n_components))
        return partial(_fill_nearest, columns=columns, times=self.parts.times)

    def _by_words(self, given: Floats, prior: SmoothingPrior) -> Fill:
        """p(component | row) under p(word | component), with equally likely components."""
        if _is_one(given.sum(axis=1)).all():
            prior = SmoothingPrior(np.zeros(1), prior.measure, None)  # probabilities as they stand, not counts
        logs, _, impossible = log_phi(np.ascontiguousarray(given.T), prior.pseudo, prior.measure)
        return partial(_fill_likely, columns=self.parts.averages(logs), impossible=impossible)

    def _given(self, init: NDArray[Any]) -> Fill:
        """Responsibilities, or a component for each row."""
        return partial(_fill_given, init=init, first=self._first)

    def _seeds(self, rows: CSRRows, weights: Floats, rounds: int, n_seeds: int) -> Floats:
        """Seeds of norm 1, [V, seeds]; after some rounds of spherical k-means."""
        chosen = kmeans_plus_plus(rows, n_seeds, self.generator, weights=weights, normalise=True)
        units = normalize_rows(rows)
        seeds = units.matrix()[chosen].toarray()
        if not rounds:
            return seeds.T
        points, _ = points_of(lambda: [(0, units)], rows.n_columns, weights, True, None, tol=0.0)
        step = LloydStep(points, n_seeds, True, self.workers)
        step.begin(seeds)
        for _ in range(rounds):
            step.expect()
            step.maximise()
        return step.centres().T

    def _sample(self, idf: Floats) -> tuple[CSRRows, Floats]:
        """Some of the rows, log(1 + x)·idf, and their weights."""
        n, some = self.parts.n_rows, max(SEED_SAMPLE_ROWS, 16 * self.n_components)
        numbers = np.arange(n) if n <= some else np.sort(self.generator.choice(n, some, replace=False))
        return self._taken(numbers, idf)

    def _taken(self, numbers: NDArray[np.int64], idf: Floats) -> tuple[CSRRows, Floats]:
        """The rows of these numbers, which rise, log(1 + x)·idf, and their weights."""
        found = self.data.each(_take_rows, numbers, self._first)
        taken, weights = zip(*found, strict=True)
        rows = sp.vstack(taken, format="csr")
        rows.data = damped(rows.data, rows.indices, self.parts.times) * idf[rows.indices]
        return validation.as_rows(rows), np.concatenate(weights)

    def _idf(self) -> Floats:
        """1 + log (1 + n)/(1 + rows that have the feature)."""
        rows_with = self.data.sum(_count_rows_with)
        return 1 + np.log((1 + self.parts.n_rows) / (1 + rows_with))


def damped(values: Floats, columns: NDArray[np.int32], times: Floats) -> Floats:
    """log(1 + x), where a column that stands for several features counts as the norm of theirs."""
    its_times = times[columns]
    return np.log1p(values / its_times) * np.sqrt(its_times)


# The work on a partition


def score(part: Partition, columns: Floats, times: Floats | None, scores: Floats) -> None:
    """x times columns for every row; `damped` by `times`, if they are given."""
    width, design = columns.shape[1], part.design

    def forward(start: int, stop: int) -> None:
        indptr, indices, values = design.rows(start, stop)
        bias, spare, values = np.zeros(width), np.empty(width), values.astype(np.float64)
        values = values if times is None else damped(values, indices, times)
        passes.forward(indptr, indices, values, start, stop, columns, bias, spare, scores[start:stop])

    part.map_blocks(forward, row_blocks, width)


def _fill_equally(part: Partition, shares: Floats) -> None:  # noqa: ARG001 - of whatever rows
    shares.fill(1 / shares.shape[1])


def _fill_nearest(part: Partition, shares: Floats, columns: Floats, times: Floats) -> None:
    """Each row to the seed it is most like."""
    score(part, columns, times, shares)
    nearest(shares)


def _fill_likely(part: Partition, shares: Floats, columns: Floats, impossible: bool) -> None:
    """p(component | row) under log p(word | component)."""
    score(part, columns, None, shares)
    if impossible:
        shares[np.isneginf(shares.max(axis=1))] = 0
    row_kernels.softmax(shares, False)


def _fill_given(part: Partition, shares: Floats, init: NDArray[Any], first: NDArray[np.int64]) -> None:
    """Responsibilities, or a component for each row, of all rows."""
    of_part = init[first[part.index] : first[part.index + 1]]
    if init.ndim == 2:
        np.divide(of_part, of_part.sum(axis=1, keepdims=True), out=shares)
    else:
        shares[:] = 0
        shares[np.arange(len(shares)), of_part] = 1


def _take_rows(part: Partition, numbers: NDArray[np.int64], first: NDArray[np.int64]) -> tuple[sp.csr_array, Floats]:
    """The rows of these numbers among all, and their weights."""
    low, high = np.searchsorted(numbers, first[part.index : part.index + 2])
    here, design = numbers[low:high] - first[part.index], part.design
    matrix = sp.csr_array((design.values, design.indices, design.indptr), (design.n_rows, design.n_features))
    return matrix[here].astype(np.float64), part.labels.row_weights()[here, 0]


def _count_rows_with(part: Partition) -> NDArray[np.int64]:
    """How many rows have each feature."""
    return np.diff(part.design.column_indptr)


def nearest(scores: Floats) -> None:
    """Scores as responsibilities: the best take a row whole, in equal shares; in place."""
    best = scores == scores.max(axis=1, keepdims=True)
    np.divide(best, best.sum(axis=1, keepdims=True), out=scores)


def checked(init: Any, n_rows: int, n_components: int, n_features: int) -> tuple[str, NDArray[Any]]:
    """One of the `WAYS`; or "components", "responsibilities" or "words", and the array that gives them, proved."""
    if init is None or isinstance(init, str):
        return one_of("init", init, INIT_METHODS), np.empty(0)
    try:
        array = validation.as_finite(init, "init", 2) if sp.issparse(init) else np.asarray(init)
    except ValueError as error:
        raise ValueError(f"init must be one of {', '.join(map(repr, INIT_METHODS))} or an array: {error}") from error
    if array.shape == (n_rows,) and array.dtype.kind in "iu":
        wrong = (array < 0) | (array >= n_components)
        if wrong.any():
            row = int(np.argmax(wrong))
            raise ValueError(f"init holds component {array[row]} for row {row}; there are 0 to {n_components - 1}")
        return "components", array.astype(np.int64)
    if array.shape not in ((n_rows, n_components), (n_components, n_features)):
        raise ValueError(
            f"init must be one of {', '.join(map(repr, INIT_METHODS))}, responsibilities of shape "
            f"(n_samples, n_components) = ({n_rows}, {n_components}), whole numbers of shape ({n_rows},), or "
            f"probabilities or counts of words of shape (n_components, n_features) = ({n_components}, {n_features}); "
            f"got {array.dtype} of shape {array.shape}"
        )
    numbers = validation.as_finite(array, "init", ndim=2)
    if (numbers < 0).any():
        row, column = np.argwhere(numbers < 0)[0].tolist()
        raise ValueError(f"init must not be negative, got {numbers[row, column]:g} at {row}, {column}")
    if array.shape != (n_rows, n_components):
        return "words", numbers
    sums = numbers.sum(axis=1)
    if not _is_one(sums).all():
        row = int(np.argmin(_is_one(sums)))
        raise ValueError(f"responsibilities sum to 1 in every row; those of init sum to {sums[row]:g} in row {row}")
    return "responsibilities", numbers


def _is_one(sums: Floats) -> NDArray[np.bool_]:
    return np.abs(sums - 1) <= 1e-6
