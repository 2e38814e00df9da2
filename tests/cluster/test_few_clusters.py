"""A few clusters are summed up over the rows: what is found is what the columns give."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastlin import KMeans
from fastlin.cluster import kmeans
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
