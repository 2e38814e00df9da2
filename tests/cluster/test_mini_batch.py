"""Mini-batch k-means: scikit-learn's where nothing is drawn, the naive twin's where batches are."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn import cluster

import fastlin
from fastlin import Corpus, MiniBatchKMeans
from fastlin.cluster.batch_rows import BatchRows
from fastlin.core.dataset import read_rows
from oracles.kmeans import MiniBatches
from support.estimators import text_like
from support.strategies import cuts, seeds, sparse_matrices, weighted

matrices = sparse_matrices(min_rows=6, max_rows=40, values=("normal", "counts"))


@given(data=st.data(), n_clusters=st.integers(1, 5), form=st.integers(0, 2))
@pytest.mark.filterwarnings("ignore")
def test_partial_fit_from_centres_is_scikit_learns(data, n_clusters, form):
    X = data.draw(matrices)
    X.sum_duplicates()
    X.data += np.random.default_rng(0).uniform(-1e-3, 1e-3, len(X.data))  # no row is as near to two centres
    init = np.random.default_rng(data.draw(seeds)).normal(size=(n_clusters, X.shape[1]))
    options = {"init": init, "n_clusters": n_clusters, "reassignment_ratio": 0.0}
    theirs, ours = cluster.MiniBatchKMeans(**options, n_init=1), MiniBatchKMeans(**options)
    weights = data.draw(st.none() | weighted(X.shape[0]))
    given_form = [X, sparse.csr_array(X), X.toarray()][form]
    for rows in data.draw(cuts(X.shape[0])):
        if rows.stop - rows.start < n_clusters:
            return
        some = None if weights is None else weights[rows] + 1e-3
        theirs.partial_fit(X[rows], sample_weight=some)
        ours.partial_fit(given_form[rows], sample_weight=some)
        np.testing.assert_allclose(ours.cluster_centers_, theirs.cluster_centers_, rtol=1e-9, atol=1e-11)
        np.testing.assert_array_equal(ours.labels_, theirs.labels_)
        np.testing.assert_allclose(ours.inertia_, theirs.inertia_, rtol=1e-9, atol=1e-10)
        np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
        np.testing.assert_allclose(ours.transform(X), theirs.transform(X), rtol=1e-6, atol=1e-6)
    assert ours.n_steps_ == theirs.n_steps_


@given(data=st.data(), ratio=st.sampled_from([0.0, 0.01, 0.5]), weighing=st.booleans(), seed=seeds)
@pytest.mark.parametrize("batch_size", [3, 16])
def test_fit_is_the_naive_twins(data, batch_size, ratio, weighing, seed):
    """Batches, new beginnings and the end: everything that is drawn is drawn by the same generator."""
    X = data.draw(matrices)
    X.sum_duplicates()
    X.data += np.random.default_rng(1).uniform(-1e-3, 1e-3, len(X.data))
    rng = np.random.default_rng(seed)
    init, weights = rng.normal(size=(3, X.shape[1])), rng.uniform(0.1, 2, X.shape[0]) if weighing else None
    model = MiniBatchKMeans(
        3, init=init, batch_size=batch_size, max_iter=6, reassignment_ratio=ratio, random_state=seed, n_init=1
    ).fit(X, sample_weight=weights)
    twin = MiniBatches(init, batch_size, 6, ratio, np.random.default_rng(np.random.PCG64(seed))).fit(
        X.toarray(), weights
    )
    assert model.n_steps_ == twin.n_steps
    np.testing.assert_allclose(model.cluster_centers_, twin.centres, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose([record["inertia"] for record in model.history_], twin.inertias, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_threads_files_and_segments_change_no_bit(init, tmp_path, monkeypatch):
    X, _ = text_like(n_rows=400, n_features=60)
    X = sparse.csr_array(X)
    weights = np.random.default_rng(0).uniform(0, 2, 400)
    options = {"init": init, "batch_size": 64, "random_state": 0, "tol": 1e-9, "max_iter": 5}
    expected = MiniBatchKMeans(4, **options).fit(X, sample_weight=weights)
    stored = Corpus(X, sample_weight=weights).write(tmp_path / "corpus")
    models = [
        MiniBatchKMeans(4, n_jobs=2, **options).fit(X, sample_weight=weights),
        MiniBatchKMeans(4, **options).fit(stored),
    ]
    for model in models:
        np.testing.assert_array_equal(model.cluster_centers_, expected.cluster_centers_)
        np.testing.assert_array_equal(model.labels_, expected.labels_)
        assert model.inertia_ == expected.inertia_
    numbers = np.sort(np.random.default_rng(0).integers(0, 400, 90))
    whole = BatchRows(read_rows(X, {})).take(numbers)
    pieces = BatchRows(read_rows(X, {}))
    cut = pieces._segments[0]
    pieces._bounds, pieces._segments = (
        np.array([0, 7, 200, 200, 400]), [cut.between(*each) for each in ((0, 7), (7, 200), (200, 200), (200, 400))]
    )  # fmt: skip
    assert (pieces.take(numbers).matrix() != whole.matrix()).nnz == 0


def test_it_is_as_good_as_scikit_learns():
    """The inertia of what is found in clear clusters of words, for several seeds."""
    X, _ = text_like(n_rows=600, n_features=120, n_labels=6, seed=3)
    options = {"n_clusters": 6, "batch_size": 100, "n_init": 3}
    ours = [MiniBatchKMeans(**options, random_state=seed).fit(X).inertia_ for seed in range(24)]
    theirs = [cluster.MiniBatchKMeans(**options, random_state=seed).fit(X).inertia_ for seed in range(24)]
    assert np.mean(ours) < 1.02 * np.mean(theirs)


def test_learning_goes_on_after_fit_and_from_a_file(tmp_path):
    X, _ = text_like(n_rows=200)
    model = MiniBatchKMeans(3, batch_size=32, random_state=0).fit(X[:150])
    fastlin.save(model, tmp_path / "m")
    loaded, before = fastlin.load(tmp_path / "m"), model.cluster_centers_.copy()
    for _ in range(3):
        model.partial_fit(X[150:])
        loaded.partial_fit(X[150:])
    np.testing.assert_array_equal(model.cluster_centers_, loaded.cluster_centers_)
    assert (model.cluster_centers_ != before).any()
    assert model.n_steps_ == loaded.n_steps_


def test_labels_need_not_be_computed_and_callbacks_end_a_fit():
    X, _ = text_like(n_rows=200)
    seen = []

    def watch(_, record):
        seen.append(record)
        return len(seen) == 4

    model = MiniBatchKMeans(3, batch_size=20, compute_labels=False, random_state=0, callback=watch).fit(X)
    assert not hasattr(model, "labels_")
    assert model.n_steps_ == 4
    np.testing.assert_allclose(model.inertia_, 200 * seen[-1]["smoothed_inertia"])
    np.testing.assert_array_equal(
        MiniBatchKMeans(2, random_state=0).fit_predict(X), MiniBatchKMeans(2, random_state=0).fit(X).predict(X)
    )


def test_a_failed_call_leaves_the_model_as_it_was():
    X, _ = text_like(n_rows=100)
    model = MiniBatchKMeans(3, random_state=0).fit(X)
    centres = model.cluster_centers_.copy()
    for wrong, weights, match in ((X[:, :5], None, "features"), (X, np.zeros(100), "sample_weight")):
        with pytest.raises(ValueError, match=match):
            model.partial_fit(wrong, sample_weight=weights)
    np.testing.assert_array_equal(model.cluster_centers_, centres)
    for options, match in (({"batch_size": 0}, "batch_size"), ({"init": "other"}, "init"), ({"tol": -1}, "tol")):
        with pytest.raises(ValueError, match=match):
            MiniBatchKMeans(3, **options).fit(X)
    with pytest.warns(RuntimeWarning, match="init_size=2"):
        MiniBatchKMeans(3, init_size=2, random_state=0).fit(X)
