"""Kernels prove a CSR as its definition does, and score it as it lies with the bits of the general pass."""

import numpy as np
import pytest
from scipy import sparse

from fastlin.engine.core import csr_check
from fastlin.engine.core.csr_scores import LinearScorer, validate_csr
from fastlin.runtime import parallel
from fastlin.validation.rows import as_rows


def definition(indptr, indices, values, n_columns):
    """(canonical, negative, zeros, largest) of a CSR, None of what is none."""
    if indptr[0] != 0 or (np.diff(indptr) < 0).any() or indptr[-1] > len(indices):
        return None
    indices, values = indices[: indptr[-1]], values[: indptr[-1]]
    if ((indices < 0) | (indices >= n_columns)).any() or not np.isfinite(values).all():
        return None
    canonical = all((np.diff(row) > 0).all() for row in np.split(indices, indptr[1:-1]))
    return canonical, bool((values < 0).any()), bool((values == 0).any()), float(np.abs(values).max(initial=0))


def damage(rng, indptr, indices, values, n_columns):
    """Change an entry, into what is unusual or wrong."""
    place, kind = rng.integers(len(values)), rng.integers(6)
    if kind == 0:
        values[place] = rng.choice([-values[place], 0.0, -0.0])
    elif kind == 1:
        values[place] = rng.choice([np.nan, -np.nan, np.inf, -np.inf])
    elif kind == 2:
        indices[place] = rng.choice([-1, n_columns, 2**31 - 1, -(2**31)])
    elif kind == 3:
        indptr[rng.integers(len(indptr))] += rng.integers(-3, 4)
    else:
        indices[place] = rng.integers(n_columns)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("seed", range(60))
def test_a_csr_is_valid_if_it_is_by_definition(seed, dtype):
    rng = np.random.default_rng(seed)
    n_rows, n_columns = rng.integers(1, 300, 2)
    X = sparse.random(n_rows, n_columns, density=rng.random() / 2, format="csr", dtype=dtype, random_state=seed)
    X.sort_indices()
    matrix = X.indptr.astype(np.int64), X.indices, X.data
    for _ in range(4):
        expected = definition(*matrix, n_columns)
        assert validate_csr(*matrix, n_columns) == expected
        assert (csr_check.find_fault(*matrix, n_columns)[0] == csr_check.VALID) == (expected is not None)
        if X.nnz:
            damage(rng, *matrix, n_columns)


@pytest.mark.parametrize("n_labels", [1, 2, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("of_weights", [np.float32, np.float64])
def test_rows_as_they_lie_have_the_scores_of_the_general_pass(n_labels, dtype, of_weights):
    rng = np.random.default_rng(n_labels)
    for density in (0.0, 0.01, 0.2, 0.7):
        X = sparse.random(200, 150, density=density, format="csr", dtype=dtype, random_state=1)
        X.sort_indices()
        W, bias = rng.standard_normal((150, n_labels)).astype(of_weights), rng.standard_normal(n_labels)
        scores = np.empty((200, n_labels))
        scorer = LinearScorer(W, bias, 1e30, False)
        assert scorer.score(X.indptr, X.indices, X.data, 0, 200, scores, np.empty(0, np.int64))
        np.testing.assert_array_equal(scores, parallel.scores(as_rows(X), W, bias, 1))


@pytest.mark.parametrize("n_labels", [1, 2, 5])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("nonnegative", [False, True])
def test_rows_are_scored_if_they_are_well_formed_and_only_then(n_labels, dtype, nonnegative):
    """Whatever is wrong, wherever it is, and though the weights that it meets are 0."""
    rng = np.random.default_rng(n_labels)
    good = sparse.random(150, 90, density=0.2, format="csr", dtype=dtype, random_state=2)
    good.sort_indices()
    scorer = LinearScorer(np.zeros((90, n_labels)), np.zeros(n_labels), 1e15, nonnegative)
    scores, none = np.empty((150, n_labels)), np.empty(0, np.int64)
    assert scorer.score(good.indptr, good.indices, good.data, 0, 150, scores, none)
    wrong = [np.nan, np.inf, -np.inf, 2e15, -2e15, *([-1.0] if nonnegative else [])]
    right = [0.0, -0.0, 1e15, *([] if nonnegative else [-1e15])]
    for place in [0, good.nnz - 1, *rng.integers(good.nnz, size=40)]:
        for value in wrong + right:
            values = good.data.copy()
            values[place] = value
            valid = scorer.score(good.indptr, good.indices, values, 0, 150, scores, none)
            assert valid == any(value is one for one in right), (place, value)
        for column in (-1, 90, 2**31 - 1, -(2**31)):
            indices = good.indices.copy()
            indices[place] = column
            assert not scorer.score(good.indptr, indices, good.data, 0, 150, scores, none)
        indices = good.indices.copy()
        if place + 1 < good.nnz and place + 1 not in good.indptr:
            indices[place] = indices[place + 1]
            assert not scorer.score(good.indptr, indices, good.data, 0, 150, scores, none)
