"""Of more non-zeros than int32 counts, no index is widened: rows are looked at some at a time."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from fastlin import KMeans, validation
from fastlin.cluster.kmeans_data import lay_out, normalize_rows
from fastlin.cluster.seeding import squared_norms
from fastlin.validation import rows as of_rows

ROWS, WIDTH = 1 << 17, 64  # 8 million non-zeros


@pytest.fixture(scope="module")
def many():
    values = np.random.default_rng(0).exponential(size=ROWS * WIDTH).astype(np.float32)
    indices = np.tile(np.arange(WIDTH, dtype=np.int32), ROWS)
    return validation.as_rows(sp.csr_array((values, indices, np.arange(ROWS + 1) * WIDTH), (ROWS, WIDTH)))


def peak(work):
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_norms_take_less_than_an_index_for_each_non_zero(many):
    assert peak(lambda: squared_norms(many)) < 8 * many.nnz
    np.testing.assert_allclose(squared_norms(many), (many.matrix() ** 2).sum(axis=1), rtol=1e-5)


def test_unit_rows_take_their_values_and_less_than_an_index_for_each_non_zero(many):
    assert peak(lambda: normalize_rows(many)) < 8 * many.nnz + 12 * many.nnz
    np.testing.assert_allclose(squared_norms(normalize_rows(many)), 1, rtol=1e-12)


def test_laying_out_takes_less_than_an_index_for_each_non_zero_beside_what_is_kept(many):
    kept = []
    used = peak(lambda: kept.append(lay_out(lambda: [(0, many)], WIDTH, np.empty(0), False, None, tol=1.0)))
    design = next(iter(kept[0][0].parts)).design
    assert used < sum(array.nbytes for array in design.arrays) + 8 * many.nnz
    assert kept[0][1] == pytest.approx(many.matrix().toarray().astype(np.float64).var(axis=0).mean(), rel=1e-5)


@pytest.fixture
def narrow(monkeypatch):
    """As if int32 counted no more than a hundred non-zeros."""
    monkeypatch.setattr(of_rows, "MAX_SCIPY_NNZ", 100)
    monkeypatch.setattr(of_rows, "NNZ_PER_STRETCH", 70)


def test_rows_are_copied_some_at_a_time(narrow):
    X = sp.random_array((60, 40), density=0.2, rng=np.random.default_rng(0), format="csr")
    X.data[::3] = 0
    rows, members = validation.as_rows(X), np.random.default_rng(1).permutation(60)[:45]
    for found, wanted in [
        (rows.take(members), X[members]),
        (rows.take(np.arange(0)), X[:0]),
        (rows.first(25), X[:, :25]),
        (rows.columns(np.arange(3, 40, 2)), X[:, 3::2]),
    ]:
        assert found.indices.dtype == np.int32
        np.testing.assert_array_equal(found.matrix().toarray(), wanted.toarray())
    full = rows.without_zeros()
    assert (full.values[: full.nnz] != 0).all()
    assert not full.zeros
    np.testing.assert_array_equal(full.matrix().toarray(), X.toarray())


def test_kmeans_makes_no_matrix_of_scipys_but_for_a_function_that_begins(monkeypatch):
    X = sp.random_array((200, 40), density=0.2, rng=np.random.default_rng(0), format="csr")
    X.data[::3] = 0
    options = {"n_clusters": 3, "random_state": 0, "max_iter": 3}
    alone = [KMeans(**options, metric=metric).fit(X) for metric in ("euclidean", "spherical")]
    monkeypatch.setattr(of_rows, "MAX_SCIPY_NNZ", 100)
    monkeypatch.setattr(of_rows, "NNZ_PER_STRETCH", 70)
    made = []
    before = of_rows.CSRRows.matrix
    monkeypatch.setattr(of_rows.CSRRows, "matrix", lambda rows: made.append(rows.nnz) or before(rows))
    for model, metric in zip(alone, ("euclidean", "spherical"), strict=True):
        again = KMeans(**options, metric=metric).fit(X)
        np.testing.assert_array_equal(again.cluster_centers_, model.cluster_centers_)
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        assert max(made, default=0) <= 100
