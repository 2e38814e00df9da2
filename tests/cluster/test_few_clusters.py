"""A few clusters are summed up over the rows: what is found is what the columns give, and no move leaves a trace."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from fastlin import KMeans
from fastlin.cluster import kmeans
from fastlin.engine.core.csr_view import CSRView
from fastlin.engine.solvers import few_clusters
from support.strategies import sparse_matrices, weighted

pytestmark = pytest.mark.filterwarnings("ignore:Number of distinct clusters")


def found(model, X, weights):
    model.fit(X, sample_weight=weights)
    history = [{name: value for name, value in record.items() if name != "seconds"} for record in model.history_]
    return model, history


@pytest.mark.parametrize("metric", ["euclidean", "spherical"])
@given(data=st.data(), n_clusters=st.integers(2, 4), dtype=st.sampled_from([np.float32, np.float64]))
def test_sums_over_rows_are_those_over_columns(metric, data, n_clusters, dtype):
    X = data.draw(sparse_matrices(min_rows=8, max_rows=40, values=("normal",))).astype(dtype)
    weights = data.draw(st.none() | weighted(X.shape[0]))
    if weights is not None and not weights.any():
        weights[0] = 1.0
    options = {"n_clusters": n_clusters, "init": "random", "n_init": 2, "random_state": 0, "metric": metric}
    one, own = found(KMeans(**options), X, weights)
    with pytest.MonkeyPatch.context() as patch, np.errstate(all="ignore"):
        patch.setattr(kmeans, "FEW_CLUSTERS", 0)
        other, theirs = found(KMeans(**options), X, weights)
    np.testing.assert_array_equal(one.labels_, other.labels_)
    np.testing.assert_allclose(one.cluster_centers_, other.cluster_centers_, rtol=1e-12, atol=1e-13)
    assert one.inertia_ == pytest.approx(other.inertia_, rel=1e-9, abs=1e-10)
    assert len(own) == len(theirs)
    for mine, record in zip(own, theirs, strict=True):
        assert mine == pytest.approx(record, rel=1e-7, abs=1e-9)


@given(data=st.data(), n_clusters=st.integers(2, 4))
def test_labels_are_those_that_are_predicted(data, n_clusters):
    X = data.draw(sparse_matrices(min_rows=8, max_rows=40))
    model = KMeans(n_clusters, init="random", random_state=0).fit(X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_threads_change_no_bit():
    rng = np.random.default_rng(0)
    X = rng.poisson(0.3, size=(3_000, 60)) * rng.random((3_000, 60))
    one, two = (KMeans(3, random_state=0, n_jobs=n_jobs).fit(X) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one.cluster_centers_, two.cluster_centers_)
    assert one.inertia_ == two.inertia_


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_that_come_and_go_leave_the_nearest_sums(dtype):
    rng = np.random.default_rng(0)
    X = sparse.random_array((40, 6), density=0.5, rng=rng, format="csr", dtype=np.float64)
    X.data *= 10.0 ** rng.integers(-6, 7, X.nnz)
    X = X.astype(dtype)
    rows = CSRView(X.indptr.astype(np.int64), X.indices.astype(np.int32), X.data)
    weights, S, rest = rng.random(40), np.zeros((6, 4)), np.zeros((6, 4))
    owners = np.full(40, -1, np.int32)
    for _ in range(200):
        labels = rng.integers(0, 3, 40).astype(np.int32)
        expected = int((labels != owners).sum())
        assert few_clusters.move_rows(rows, labels, weights, owners, S, rest) == expected
        np.testing.assert_array_equal(owners, labels)
    products = X.toarray().astype(np.float64) * weights[:, np.newaxis]
    sums = [[math.fsum(column[labels == k]) for k in range(4)] for column in products.T]
    np.testing.assert_allclose(S, sums, rtol=2e-16, atol=0)


@pytest.mark.parametrize("n_clusters", [1, 2, 3, 4])
def test_labels_are_the_first_of_the_highest_scores(n_clusters):
    rng = np.random.default_rng(n_clusters)
    X = sparse.random_array((200, 9), density=0.4, rng=rng, format="csr")
    X.data = rng.integers(1, 3, X.nnz).astype(np.float64)  # small counts: many ties
    rows = CSRView(X.indptr.astype(np.int64), X.indices.astype(np.int32), X.data)
    S = np.zeros((9, 4))
    S[:, :n_clusters] = rng.integers(0, 3, (9, n_clusters))
    scale, shift, weights = np.ones(n_clusters), rng.integers(0, 2, n_clusters) * 0.5, rng.random(200)
    labels, best = rng.integers(0, n_clusters, 200).astype(np.int32), np.empty(200)
    scores, before = X @ S[:, :n_clusters] - shift, labels.copy()
    gain, changed, *mass = few_clusters.assign_few(rows, S, scale, shift, weights, labels, best)
    np.testing.assert_array_equal(labels, scores.argmax(axis=1))
    np.testing.assert_array_equal(best, scores.max(axis=1))
    assert changed == (labels != before).sum()
    assert gain == pytest.approx(weights @ best, rel=1e-12)
    np.testing.assert_allclose(mass, np.bincount(labels, weights, n_clusters), rtol=1e-12)
