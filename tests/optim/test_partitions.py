"""Problems in parts: sums over several parts are those over one, and memory holds one part at a time."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from fastlin.data.scratch import ScratchSpace
from fastlin.optim.design import Design
from fastlin.optim.likelihoods import ConditionalLogitLikelihood, MultinomialLikelihood
from fastlin.optim.log_linear_problem import LogLinearProblem, WeightPrior
from fastlin.optim.partitions import Partitions
from fastlin.optim.solvers import logistic_dual
from fastlin.optim.weight_layouts import DenseWeights, ObservedWeights
from fastlin.runtime import parallel
from fastlin.validation import as_rows
from support.strategies import labelled, seeds, weighted

KINDS = ("dense", "observed", "candidates")


def segments(rows, inference, cuts):
    """The rows between the cuts, each with its own part of the labels or groups."""
    for start, stop in itertools.pairwise(cuts):
        part = rows.take(np.arange(start, stop))
        if isinstance(inference, MultinomialLikelihood):
            weights = inference.weights[start:stop]
            yield part, MultinomialLikelihood(inference.codes[start:stop], weights, inference.width)
        else:
            first, last = np.searchsorted(inference.starts, [start, stop])
            weights = inference.weights[first:last]
            yield (
                part,
                ConditionalLogitLikelihood(
                    inference.starts[first : last + 1] - start, inference.gold[first:last], weights
                ),
            )


@st.composite
def divided(draw, kind):
    """(one part, several parts), the same rows; and a source of numbers."""
    X, y, n_labels = draw(labelled(values=("normal", "counts")))
    rows, rng = as_rows(X), np.random.default_rng(draw(seeds))
    n = len(rows)
    if kind == "candidates":
        n_groups = int(rng.integers(1, n + 1))
        starts = np.concatenate([[0], np.cumsum(rng.multinomial(n - n_groups, np.ones(n_groups) / n_groups) + 1)])
        weights = draw(st.none() | weighted(n_groups))
        gold = np.array([rng.integers(size) for size in np.diff(starts)])
        inference = ConditionalLogitLikelihood(starts, gold, np.empty(0) if weights is None else weights)
        cuts = starts[np.unique([0, *rng.integers(0, n_groups + 1, 3), n_groups])]
    else:
        weights = draw(st.none() | weighted(n))
        width = 1 if n_labels == 2 and kind == "dense" else n_labels
        inference = MultinomialLikelihood(y.astype(np.int32), np.empty(0) if weights is None else weights, width)
        cuts = np.unique([0, *rng.integers(0, n + 1, 3), n])
    one = Partitions.single(Design.of(rows), inference)
    return (
        one,
        Partitions.from_segments(lambda: segments(rows, inference, cuts), rows.n_columns, ScratchSpace()),
        n_labels,
        rng,
    )


def problems(parts, kind, n_labels, prior, fit_intercept, workers):
    width = {"dense": 1 if n_labels == 2 else n_labels, "observed": n_labels, "candidates": 1}[kind]
    layout = DenseWeights(parts.n_features, width)
    if kind == "observed":
        layout = ObservedWeights.observed(parts, n_labels, np.full(parts.n_features, 2))
    mean = np.full(layout.n_weights, 0.25)
    return LogLinearProblem(parts, layout, WeightPrior(prior[: parts.n_features], mean), fit_intercept, workers)


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_several_parts_are_one_problem(kind, data):
    one, several, n_labels, rng = data.draw(divided(kind))
    np.testing.assert_array_equal(one.features, several.features)
    assert (one.n_rows, one.n_instances, one.max_abs_value) == (
        several.n_rows,
        several.n_instances,
        several.max_abs_value,
    )
    assert one.weight_range == several.weight_range
    np.testing.assert_allclose(one.total_weight, several.total_weight)
    prior, fit_intercept = (
        10 ** rng.uniform(-1, 1, size=one.n_features),
        kind != "candidates" and data.draw(st.booleans()),
    )
    with parallel.WorkerPool(1) as workers:
        a, b = (problems(parts, kind, n_labels, prior, fit_intercept, workers) for parts in (one, several))
        assert a.size == b.size
        if kind == "observed":
            np.testing.assert_array_equal(a.layout.starts, b.layout.starts)
            np.testing.assert_array_equal(a.layout.labels, b.layout.labels)
        theta, d = rng.normal(size=(2, a.size))
        answers = []
        for problem in (a, b):
            gradient, Hd = np.empty((2, problem.size))
            value = problem.value(theta, gradient)
            bend = problem.product(d, Hd)
            scores, direction_scores = problem.scores(theta), problem.scores(d)
            line = problem.line_derivatives(scores, direction_scores, 0.5)
            moved = np.empty(problem.size)
            arrived = sum(problem.step_along(scores, direction_scores, 0.5, theta + 0.5 * d, moved))
            again = problem.value(theta + 0.5 * d, np.empty(problem.size))
            np.testing.assert_allclose(arrived, again, rtol=1e-12)
            stacked = np.concatenate([part.map(scores) for part in problem.partitions])
            answers.append([value, gradient, bend, Hd, line, moved, problem.diagonal(), stacked, problem.loss(theta)])
    for of_one, of_several in zip(*answers, strict=True):
        size = np.abs(np.asarray(of_one)).max(initial=1)
        np.testing.assert_allclose(of_several, of_one, rtol=1e-9, atol=1e-10 * size)


def test_stretches_cover_every_row_once():
    assert logistic_dual.row_ranges([7]) == [(0, 0, 7)]
    for sizes in ([3, 5], [1, 1, 1], [100, 1, 640]):
        rows = [(part, row) for part, start, stop in logistic_dual.row_ranges(sizes) for row in range(start, stop)]
        assert rows == [(part, row) for part, size in enumerate(sizes) for row in range(size)]


def test_a_prior_mean_is_counted_once_by_the_dual():
    """W follows from a: θ = m + σ² Σ w x (e_y − a); at the optimum, a = p."""
    rng = np.random.default_rng(0)
    X, y = sp.random_array((80, 12), density=0.4, rng=rng, format="csr"), rng.integers(0, 3, 80).astype(np.int32)
    parts = Partitions.single(Design.of(as_rows(X)), MultinomialLikelihood(y, np.empty(0), 3))
    with parallel.WorkerPool(1) as workers:
        layout = DenseWeights(parts.n_features, 3)
        mean, precision = rng.normal(size=layout.n_weights), rng.uniform(0.5, 2, parts.n_features)
        problem = LogLinearProblem(parts, layout, WeightPrior(precision, mean), False, workers)
        dual, theta = logistic_dual.LogisticDual(problem, np.zeros(problem.size)), np.empty(problem.size)
        dual.copy_to(theta)
        (part,) = parts
        a, dense = part.map(dual.rows.state)[:, 3:], X.toarray()[:, parts.features]
        wanted = mean.reshape(-1, 3) + dense.T @ (np.eye(3)[y] - a) / precision[:, np.newaxis]
        np.testing.assert_allclose(theta.reshape(-1, 3), wanted)


def test_files_hold_what_belongs_to_rows(tmp_path):
    """Only what a loop is at is mapped; the numbers written in one pass are there in the next."""
    rng = np.random.default_rng(1)
    rows = as_rows(sp.random_array((60, 9), density=0.4, rng=rng, format="csr"))
    labels = MultinomialLikelihood(rng.integers(0, 2, 60).astype(np.int32), np.empty(0), 1)
    parts = Partitions.from_segments(lambda: segments(rows, labels, [0, 20, 25, 60]), 9, ScratchSpace(tmp_path))
    numbers = parts.allocate("numbers", 2)
    for part in parts:
        part.map(numbers)[:] = part.index
        assert not part.design.values.flags.owndata
    assert [part.map(numbers).tolist() for part in parts] == [[[i, i]] * n for i, n in enumerate((20, 5, 35))]


@pytest.mark.parametrize("on_disk", [False, True])
def test_a_stretch_is_those_rows_of_its_part(on_disk, tmp_path):
    rng = np.random.default_rng(2)
    rows = as_rows(sp.random_array((60, 9), density=0.2, rng=rng, format="csr"))
    labels = MultinomialLikelihood(rng.integers(0, 2, 60).astype(np.int32), rng.random(60), 1)
    parts = Partitions.from_segments(
        lambda: segments(rows, labels, [0, 20, 60]), 9, ScratchSpace(tmp_path if on_disk else None)
    )
    numbers = parts.allocate("numbers", 3, np.int8)
    with parts.open(1) as part:
        part.map(numbers)[:] = np.arange(120).reshape(40, 3)
        design, own, whole = part.design, part.labels, part.map(numbers).copy()
        for start, stop in ((0, 40), (5, 33), (39, 40), (7, 8)):
            with parts.row_range(1, start, stop) as stretch:
                shape = stop - start, parts.n_features
                X = sp.csr_array((stretch.values, stretch.indices, stretch.indptr), shape=shape).toarray()
                wanted = sp.csr_array((design.values, design.indices, design.indptr), shape=(40, shape[1]))
                np.testing.assert_array_equal(X, wanted[start:stop].toarray())
                np.testing.assert_array_equal(stretch.labels.codes, own.codes[start:stop])
                np.testing.assert_array_equal(stretch.labels.weights, own.weights[start:stop])
                np.testing.assert_array_equal(stretch.map(numbers), whole[start:stop])
    with parts.row_range(1, 5, 33) as stretch:
        stretch.map(numbers)[:] = -1
    with parts.open(1) as part:
        np.testing.assert_array_equal(np.flatnonzero(part.map(numbers)[:, 0] == -1), np.arange(5, 33))
