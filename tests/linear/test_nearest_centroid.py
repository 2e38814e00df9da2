"""Nearest centroids: scikit-learn's, whose rows may be sparse; weights are repetitions, and pieces are the whole."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn import neighbors

from fastlin import Corpus, NearestCentroid
from support.estimators import text_like
from support.strategies import cuts, labelled

ATTRIBUTES = ("centroids_", "deviations_", "within_class_std_dev_", "class_prior_")
problems = labelled(values=("counts", "normal"), min_rows=8, max_labels=4)
metrics = st.sampled_from(["euclidean", "manhattan"])


def scikit_learns(X, y, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of features without spread, of 0/0
        return neighbors.NearestCentroid(**options).fit(X, y)


def check_same(ours, theirs, X):
    """What was learnt, and the scores relative to the largest."""
    for name in ATTRIBUTES:
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-9, atol=1e-12, err_msg=name)
    if ours.metric == "euclidean":
        scale = 1e-9 * max(1.0, np.abs(theirs.decision_function(X)).max())
        np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), rtol=1e-9, atol=scale)
        np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-7, atol=scale)
        np.testing.assert_allclose(np.exp(ours.predict_log_proba(X)), ours.predict_proba(X), rtol=1e-12)


def clear(model, X):
    """Whether each row is nearer to one centroid than to any other."""
    order = 2 if model.metric == "euclidean" else 1
    distances = np.linalg.norm(X.toarray()[:, None] - model.centroids_, ord=order, axis=2)
    two = np.sort(distances, axis=1)[:, :2]
    return two[:, 1] - two[:, 0] > 1e-9 * (1 + two[:, 1])


@given(data=problems, metric=metrics, shrink=st.sampled_from([None, 1e-3, 0.5, 1e5]), form=st.integers(0, 2))
def test_the_centroids_are_scikit_learns(data, metric, shrink, form):
    X, y, n_labels = data
    X.sum_duplicates()
    X.data = np.round(8 * X.data) / 8  # sums are exact, so that a spread of nothing is 0 on both sides
    X.data[X.data > 64] = 64.0
    if (X.toarray() == X.toarray()[0]).all():
        with pytest.raises(ValueError, match="zero variance"):
            NearestCentroid(metric, shrink_threshold=shrink).fit(X, y)
        return
    given_form = [X, sparse.csr_array(X), X.toarray()][form]
    for priors in ("uniform", "empirical", list(np.arange(1, n_labels + 1) / (n_labels * (n_labels + 1) / 2))):
        options = {"metric": metric, "shrink_threshold": shrink, "priors": priors}
        theirs, ours = scikit_learns(X, y, **options), NearestCentroid(**options).fit(given_form, y)
        spread = theirs.within_class_std_dev_ + np.median(theirs.within_class_std_dev_)
        told = np.flatnonzero(np.isfinite(spread) & (spread > 1e-9))  # what scikit-learn divides by
        if len(told) < X.shape[1] or len(y) == n_labels:
            if shrink is None:
                np.testing.assert_allclose(ours.centroids_, theirs.centroids_, rtol=1e-12, atol=1e-14)
            continue
        check_same(ours, theirs, X)
        if priors == "uniform":
            sure = clear(ours, X)
            np.testing.assert_array_equal(ours.predict(X)[sure], theirs.predict(X)[sure])


@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
@pytest.mark.parametrize("priors", ["uniform", "empirical", [0.5, 0.2, 0.1, 0.1, 0.1]])
def test_on_texts_the_answers_are_scikit_learns(metric, priors):
    X, y = text_like(n_rows=250, n_features=80, n_labels=5)
    X = sparse.csr_array(X)
    X.data *= np.random.default_rng(0).uniform(0.5, 1, X.nnz)
    ours, theirs = NearestCentroid(metric, priors=priors).fit(X, y), scikit_learns(X, y, metric=metric, priors=priors)
    check_same(ours, theirs, X)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


@given(data=problems, metric=metrics, weights=st.integers(0, 2**32 - 1))
def test_a_weight_is_so_many_rows(data, metric, weights):
    X, y, _ = data
    X.sum_duplicates()
    times = np.random.default_rng(weights).integers(0, 4, len(y))
    times[[np.argmax(y == 0), np.argmax(y == 1)]] = 1, 2
    rows = np.repeat(np.arange(len(y)), times)
    if len(np.unique(X.toarray()[rows], axis=0)) == 1:
        return
    model, repeated = NearestCentroid(metric).fit(X, y, times), NearestCentroid(metric).fit(X[rows], y[rows])
    np.testing.assert_array_equal(model.classes_, repeated.classes_)
    for name in ("centroids_", "within_class_std_dev_", "class_prior_"):
        np.testing.assert_allclose(getattr(model, name), getattr(repeated, name), rtol=1e-9, atol=1e-11)


@given(data=st.data(), metric=st.sampled_from(["euclidean", "cosine"]), shrink=st.sampled_from([None, 0.3]))
def test_partial_fit_cut_anywhere_is_fit(data, metric, shrink):
    """Labels appear as they come; the means and the spread about them merge to rounding."""
    X, y, _ = data.draw(problems)
    X.sum_duplicates()
    parts = NearestCentroid(metric, shrink_threshold=shrink)
    for rows in data.draw(cuts(X.shape[0])):
        parts.partial_fit(X[rows], y[rows])
        assert set(parts.predict(X)) <= set(y[: rows.stop])
    if (X.toarray() == X.toarray()[0]).all():
        return
    whole = NearestCentroid(metric, shrink_threshold=shrink).fit(X, y)
    np.testing.assert_array_equal(parts.classes_, whole.classes_)
    np.testing.assert_allclose(parts._fitted.moments.centroids, whole._fitted.moments.centroids, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(parts._fitted.moments.scatter, whole._fitted.moments.scatter, rtol=1e-9, atol=1e-11)


def test_a_small_spread_keeps_its_digits():
    """σ = 1 about a mean of 1e8: nothing would be left of it in Σx² − n c²."""
    rng = np.random.default_rng(0)
    X = 1e8 + rng.integers(-2, 3, (400, 3)).astype(float)
    y = np.arange(400) % 2
    expected = np.sqrt(sum(np.square(X[y == k] - X[y == k].mean(axis=0)).sum(axis=0) for k in (0, 1)) / 398)
    np.testing.assert_allclose(NearestCentroid().fit(X, y).within_class_std_dev_, expected, rtol=1e-7)
    parts = NearestCentroid()
    for start in range(0, 400, 50):
        parts.partial_fit(X[start : start + 50], y[start : start + 50])
    np.testing.assert_allclose(parts.within_class_std_dev_, expected, rtol=1e-7)


def test_cosines_are_those_of_the_means():
    X, y = text_like(n_rows=80)
    model, dense = NearestCentroid("cosine").fit(X, y), X.toarray()
    means = np.array([dense[y == k].mean(axis=0) for k in model.classes_])
    cosines = dense @ (means / np.linalg.norm(means, axis=1, keepdims=True)).T
    np.testing.assert_array_equal(model.predict(X), model.classes_[cosines.argmax(axis=1)])
    assert not hasattr(model, "predict_proba")
    assert not hasattr(NearestCentroid("manhattan"), "decision_function")


@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_threads_and_files_change_no_bit(metric, tmp_path):
    X, y = text_like(n_rows=200, n_features=50)
    weights = np.random.default_rng(0).uniform(0, 2, 200)
    expected = NearestCentroid(metric, priors="empirical").fit(X, y, weights)
    stored = Corpus(X, y, sample_weight=weights).write(tmp_path / "corpus")
    for data in ((X, y, weights), (stored,)):
        model = NearestCentroid(metric, priors="empirical", n_jobs=2).fit(*data)
        for name in ATTRIBUTES:
            np.testing.assert_array_equal(getattr(model, name), getattr(expected, name))
        np.testing.assert_array_equal(model.predict(stored), expected.predict(X))


def test_an_announced_label_without_rows_is_never_the_answer():
    X, y = text_like(n_rows=60, n_labels=3)
    model = NearestCentroid().partial_fit(X, y, classes=[0, 1, 2, 9])
    assert model.classes_.tolist() == [0, 1, 2, 9]
    assert 9 not in model.predict(sparse.csr_array((5, X.shape[1])))
    np.testing.assert_array_equal(model.predict_proba(X)[:, 3], 0.0)
    alone = NearestCentroid().partial_fit(X[y == 0], y[y == 0])
    assert set(alone.predict(X)) == {0}


def test_what_cannot_be_is_refused():
    X, y = text_like(n_rows=60)
    for options, match in (
        ({"metric": "chebyshev"}, "metric"),
        ({"shrink_threshold": 0}, "shrink_threshold"),
        ({"priors": [0.5, 0.5]}, "priors has 2 entries"),
        ({"priors": [1.5, -0.5, 0]}, "non-negative"),
    ):
        with pytest.raises(ValueError, match=match):
            NearestCentroid(**options).fit(X, y)
    with pytest.warns(UserWarning, match="do not sum to 1"):
        assert NearestCentroid(priors=[1, 1, 2]).fit(X, y).class_prior_.tolist() == [0.25, 0.25, 0.5]
    assert not hasattr(NearestCentroid("manhattan"), "partial_fit")
    with pytest.raises(ValueError, match="greater than one"):
        NearestCentroid().fit(X, np.zeros(60, int))
