"""Greedy k-means++: where it draws from, what it chooses, and what it does where there is nothing to choose."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from fastlin.cluster import seeding
from fastlin.cluster.seeding import RowPartitions, choose_seeds, kmeans_plus_plus, squared_norms, take
from fastlin.runtime import parallel
from fastlin.validation import as_rows
from oracles.kmeans import distances, unit
from support.strategies import seeds, sparse_matrices, weighted


def check_greedy(X, chosen, generator, mass):
    """By the definition: draw by distance, keep what leaves the least; distances below rounding are none.

    Each place is judged by those before it: two rows that leave as much, to rounding, are both right, and what is
    drawn afterwards depends on which was taken.
    """
    assert chosen[0] == generator.choice(len(X), p=mass / mass.sum())
    for place in range(1, len(chosen)):
        nearest = distances(X, X[chosen[:place]]).min(axis=1)
        nearest[nearest < 1e-12] = 0
        if not (nearest * mass).any():
            assert (mass[chosen[place:]] > 0).all()  # rounding is all that is left: every row with a weight will do
            return
        reach = np.cumsum(nearest * mass)
        drawn = np.searchsorted(reach, generator.random(2 + int(np.log(len(chosen)))) * reach[-1], side="right")
        left = np.array([mass @ np.minimum(nearest, distances(X, X[[row]])[:, 0]) for row in drawn])
        assert chosen[place] in drawn[left <= left.min() + 1e-9 * reach[-1]]


@settings(max_examples=60)
@given(X=sparse_matrices(max_rows=30), n=st.integers(1, 8), seed=seeds, normalise=st.booleans(), data=st.data())
def test_the_seeds_are_those_of_the_definition(X, n, seed, normalise, data):
    weights = data.draw(weighted(X.shape[0])) if data.draw(st.booleans()) else None
    if weights is not None:
        weights[0] += 1.0
    mass = np.ones(X.shape[0]) if weights is None else weights / weights.max()
    dense = unit(X.toarray()) if normalise else X.toarray()
    filled = np.abs(dense).sum(axis=1) > 0
    if normalise and (mass[filled] > 0).any():
        mass = mass * filled
    found = kmeans_plus_plus(as_rows(X), n, np.random.default_rng(seed), weights=weights, normalise=normalise)
    assert found.dtype == np.int64
    check_greedy(dense, found.tolist(), np.random.default_rng(seed), mass)


def test_rows_that_differ_are_found_before_any_comes_twice():
    X = as_rows(np.repeat(np.random.default_rng(0).normal(size=(4, 300)), 5, axis=0))
    for seed in range(40):
        found = kmeans_plus_plus(X, 9, np.random.default_rng(seed), normalise=seed % 2 == 1)
        assert len(found) == 9
        assert len(set(found[:4] // 5)) == 4


@pytest.mark.parametrize("normalise", [False, True])
def test_rows_without_weight_and_rows_without_direction_are_never_drawn(normalise):
    X = as_rows(sparse.csr_array([[1.0, 2], [0, 0], [5, 1], [0, 3], [9, 9]]))
    weights = np.array([1.0, 1, 1, 1, 0])
    drawn = [
        kmeans_plus_plus(X, 6, np.random.default_rng(seed), weights=weights, normalise=normalise) for seed in range(20)
    ]
    assert set(np.concatenate(drawn)) == ({0, 2, 3} if normalise else {0, 1, 2, 3})


def test_empty_rows_serve_where_there_are_no_others():
    assert set(kmeans_plus_plus(as_rows(np.zeros((3, 2))), 5, np.random.default_rng(0), normalise=True)) <= {0, 1, 2}


def test_distances_that_vanish_are_none():
    X = as_rows(np.array([[0.0], [1e-162], [2e-162]]))
    for seed in range(50):
        assert set(kmeans_plus_plus(X, 3, np.random.default_rng(seed))) <= {0, 1, 2}


def test_far_rows_are_preferred():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(centre, 0.01, size=(20, 2)) for centre in ([0, 0], [10, 0], [0, 10], [10, 10])])
    for seed in range(20):
        assert set(kmeans_plus_plus(as_rows(X), 4, np.random.default_rng(seed)) // 20) == {0, 1, 2, 3}


def test_pieces_and_threads_choose_the_same_rows(monkeypatch):
    monkeypatch.setattr(parallel, "BLOCK_WORK", 64)
    X = sparse.random_array((60, 20), density=0.3, rng=np.random.default_rng(0), format="csr")
    pieces = RowPartitions(lambda index: (20 * index, as_rows(X[20 * index :][:20])), 3)
    alone = kmeans_plus_plus(as_rows(X), 7, np.random.default_rng(1))
    for n_jobs in (1, 3):
        data = parallel.WorkerPool(n_jobs).passes(pieces)
        found = choose_seeds(data, (60, 20), 7, np.random.default_rng(1), None, False)
        np.testing.assert_array_equal(found, alone)
    np.testing.assert_array_equal(take(data, np.array([50, 3, 3]), 20), X[[50, 3, 3]].toarray())


def test_a_pass_serves_all_rows_that_compete_for_a_place(monkeypatch):
    calls, forward = [], parallel.forward
    monkeypatch.setattr(seeding.parallel, "forward", lambda *given: calls.append(given) or forward(*given))
    kmeans_plus_plus(as_rows(np.random.default_rng(0).normal(size=(30, 4))), 6, np.random.default_rng(0))
    assert len(calls) == 6


def test_norms_are_of_rows_even_of_none():
    assert squared_norms(as_rows(np.array([[3.0, 4], [0, 0]]))).tolist() == [25, 0]
    assert squared_norms(as_rows(np.zeros((2, 2)))).dtype == np.float64
