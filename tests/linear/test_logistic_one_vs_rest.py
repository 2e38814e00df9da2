"""LogisticRegression(multi_class="ovr") is a binary model for each label against the rest, all fitted at once."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit
from sklearn.linear_model import LogisticRegression as Peer
from sklearn.multiclass import OneVsRestClassifier

import fastlin
from fastlin import LogisticRegression, LogisticRegressionCV
from fastlin.data import Corpus
from fastlin.data import corpus as corpora
from fastlin.inspection import explain
from support.estimators import refused, text_like
from support.resuming import check_other_fits, stop_after_each_record
from support.strategies import sparse_matrices

SOLVERS = {
    "auto": {},
    "newton": {"solver": "newton"},
    "lbfgs": {"solver": "lbfgs"},
    "elastic net": {"l1_ratio": 0.4},
    "mean": {"prior_mean": 0.1, "fit_intercept": False},
}
EXACT = {"tol": 1e-9, "max_iter": 3000}
LABELS = np.array(["a", "b", "c", "d", "e", "f", "g"])


def rows(n_labels=5, n_rows=120, seed=0, dtype=np.float64):
    """Rows, one of which is empty, their labels, and weights of which some are 0."""
    X, codes = text_like(n_labels=n_labels, n_rows=n_rows, seed=seed, dtype=dtype)
    X = sp.vstack([X[:3], sp.csr_matrix((1, X.shape[1]), dtype=dtype), X[4:]], format="csr")
    weights = np.random.default_rng(seed).uniform(0, 2, n_rows)
    weights[5:9] = 0
    return X, LABELS[codes], weights


def model_of(**more):
    return LogisticRegression(**{"multi_class": "ovr", **EXACT, **more})


def fit_quietly(model, *data, **given):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*data, **given)


# The model


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("C", [1e-3, 1.0, 100.0])
@pytest.mark.parametrize("class_weight", [None, {"a": 3.0, "c": 0.2}, "balanced"])
def test_the_optimum_is_that_of_each_label_against_the_rest(name, C, class_weight):
    X, y, weights = rows()
    if name == "lbfgs" and C > 1:
        C = 10.0  # it takes thousands of iterations else
    model = model_of(C=C, class_weight=class_weight, **SOLVERS[name]).fit(X, y, sample_weight=weights)
    assert model.converged_
    assert model.certificate_["duality_gap"] <= 1e-9 * model.objective_
    assert model.coef_.shape == (5, X.shape[1])
    factors = np.ones(5)
    if class_weight == "balanced":
        masses = np.array([weights[y == label].sum() for label in LABELS[:5]])
        factors = weights.sum() / (5 * masses)
    elif class_weight:
        factors[[0, 2]] = 3.0, 0.2
    own = weights * factors[np.searchsorted(LABELS, y)]
    total = 0.0
    for k, label in enumerate(LABELS[:5]):
        binary = LogisticRegression(C=C, **EXACT, **SOLVERS[name]).fit(X, y == label, sample_weight=own)
        total += binary.objective_
        scale = np.abs(binary.coef_).max()
        np.testing.assert_allclose(model.coef_[k], binary.coef_[0], atol=2e-3 * scale)
    np.testing.assert_allclose(model.objective_, total, rtol=3e-9)


@pytest.mark.parametrize("C", [1e-3, 1.0, 100.0])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_probabilities_are_those_of_scikit_learns_wrapper(C, dtype):
    X, y, _ = rows(7, dtype=dtype)
    model = model_of(C=C, tol=1e-12, dtype="float64").fit(X, y)
    peer = OneVsRestClassifier(Peer(C=C, tol=1e-9, max_iter=10_000)).fit(X.astype(float), y)
    np.testing.assert_allclose(model.predict_proba(X), peer.predict_proba(X.astype(float)), atol=2e-5)
    np.testing.assert_allclose(model.decision_function(X), peer.decision_function(X.astype(float)), atol=2e-4)
    np.testing.assert_array_equal(model.predict(X), peer.predict(X.astype(float)))


def test_probabilities_are_sigmoids_made_to_sum_to_one():
    X, y, _ = rows()
    model = model_of(tol=1e-4).fit(X, y)
    scores = model.decision_function(X)
    assert scores.shape == (X.shape[0], 5)
    shares = expit(scores)
    np.testing.assert_allclose(model.predict_proba(X), shares / shares.sum(axis=1, keepdims=True), rtol=1e-12)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X), rtol=1e-12)
    np.testing.assert_array_equal(model.predict(X), model.classes_[scores.argmax(axis=1)])
    model.intercept_ = np.array([-2000.0, -2001.0, -2000.0, -5000.0, -9000.0])  # whose sigmoids are all 0
    empty = sp.csr_array((1, X.shape[1]))
    p = np.exp([0.0, -1.0, 0.0, -np.inf, -np.inf])
    np.testing.assert_allclose(model.predict_proba(empty)[0], p / p.sum(), rtol=1e-9)
    assert model.predict(empty) == ["a"]  # the first among equals


@pytest.mark.parametrize("options", [{}, {"weights": "observed"}, {"penalty": "l1", "weights": "sparse"}])
def test_of_two_labels_it_is_the_only_model(options):
    X, y, weights = rows(2)
    one, other = (LogisticRegression(multi_class=kind, **options) for kind in ("ovr", "deprecated"))
    one.fit(X, y, sample_weight=weights)
    other.fit(X, y, sample_weight=weights)
    assert (one.coef_ != other.coef_).sum() == 0
    np.testing.assert_array_equal(one.intercept_, other.intercept_)
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))


@pytest.mark.parametrize("kind", ["auto", "multinomial"])
def test_the_other_words_are_of_one_model(kind):
    X, y, _ = rows()
    one, other = LogisticRegression(multi_class=kind).fit(X, y), LogisticRegression().fit(X, y)
    np.testing.assert_array_equal(one.coef_, other.coef_)
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))
    apart = LogisticRegression(multi_class="ovr").fit(X, y)
    assert np.abs(apart.predict_proba(X) - other.predict_proba(X)).max() > 0.01


@given(data=st.data())
def test_whatever_rows_and_labels_there_are_the_weights_are_those_of_each_label(data):
    X = data.draw(sparse_matrices(min_rows=4, values=("counts",)))
    n = X.shape[0]
    y = np.array([*data.draw(st.lists(st.integers(0, 8), min_size=n - 3, max_size=n - 3)), 0, 1, 2])
    options = {"fit_intercept": False, "C": 0.1}
    model = fit_quietly(model_of(**options), X, y)
    for k, label in enumerate(model.classes_):
        binary = fit_quietly(LogisticRegression(**EXACT, **options), X, y == label)
        np.testing.assert_allclose(model.coef_[k], binary.coef_[0], atol=1e-4)


def test_an_indicator_is_learnt_as_it_is_else():
    X, y, _ = rows()
    Y = (y[:, np.newaxis] == LABELS[:5]).astype(int)
    one, other = LogisticRegression(multi_class="ovr").fit(X, Y), LogisticRegression().fit(X, Y)
    single = LogisticRegression(multi_class="ovr").fit(X, y)
    for model in (one, single):
        np.testing.assert_array_equal(model.coef_, other.coef_)
    np.testing.assert_array_equal(one.predict_proba(X), expit(single.decision_function(X)))


# What is given, and kept


@pytest.mark.parametrize("n_segments", [1, 5])
@pytest.mark.parametrize("name", SOLVERS)
def test_a_corpus_has_the_same_optimum(name, n_segments, monkeypatch):
    monkeypatch.setattr(corpora, "SEGMENT", 10**6 if n_segments == 1 else 600)
    X, y, weights = rows()
    corpus = Corpus(X, y, sample_weight=weights)
    assert (corpus.n_segments == 1) == (n_segments == 1)
    more = {"tol": 1e-8, "class_weight": "balanced", **SOLVERS[name]}
    model, here = model_of(**more).fit(corpus), model_of(**more).fit(X, y, sample_weight=weights)
    assert model.converged_
    np.testing.assert_allclose(model.objective_, here.objective_, rtol=1e-7)
    np.testing.assert_allclose(model.predict_proba(corpus), here.predict_proba(X), atol=1e-3)


def test_read_only_rows_and_wide_indices_are_learnt_from():
    X, y, _ = rows(dtype=np.float32)
    wide = X.copy()
    wide.indptr, wide.indices = wide.indptr.astype(np.int64), wide.indices.astype(np.int64)
    for array in (X.data, X.indices, X.indptr):
        array.flags.writeable = False
    one, other = (LogisticRegression(multi_class="ovr", tol=1e-6).fit(each, y) for each in (X, wide))
    assert one.coef_.dtype == np.float32
    np.testing.assert_array_equal(one.coef_, other.coef_)


def test_threads_change_no_bit():
    X, y, _ = rows(7)
    one, two = model_of(n_jobs=1).fit(X, y), model_of(n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(one.coef_, two.coef_)
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))


def test_files_and_copies_bring_the_model_back(tmp_path):
    X, y, _ = rows()
    model = model_of(tol=1e-4).fit(X, y)
    fastlin.save(model, tmp_path / "model")
    for other in (fastlin.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        assert other.multi_class == "ovr"
        np.testing.assert_array_equal(other.predict_proba(X), model.predict_proba(X))
        np.testing.assert_array_equal(other.predict(X), model.predict(X))
    sparse = pickle.loads(pickle.dumps(model)).sparsify()
    np.testing.assert_allclose(sparse.predict_proba(X), model.predict_proba(X), rtol=1e-12)


def test_a_warm_start_ends_at_once():
    X, y, _ = rows()
    model = model_of(tol=1e-6, warm_start=True).fit(X, y)
    coef, iterations = model.coef_.copy(), model.n_iter_[0]
    model.fit(X, y)
    assert model.n_iter_[0] <= max(2, iterations // 2)
    np.testing.assert_allclose(model.coef_, coef, atol=1e-2 * np.abs(coef).max())


@pytest.mark.parametrize("solver", ["auto", "newton", "lbfgs"])
def test_a_fit_that_stopped_goes_on_with_the_same_bits(solver, tmp_path):
    X, y, _ = rows()

    def make(**more):
        slow = {"tol": 1e-9, "C": 30.0} if solver == "auto" else {"tol": 1e-7}
        return LogisticRegression(**{"multi_class": "ovr", "solver": solver, **slow, **more})

    stop_after_each_record(make, ("coef_", "intercept_"), (X, y), tmp_path / "checkpoint")
    check_other_fits(make, (X, y), tmp_path / "other", [("of another fit", {"multi_class": "auto"}, None, {})])


def test_validation_rows_are_scored():
    X, y, _ = rows()
    model = LogisticRegression(multi_class="ovr").fit(X[30:], y[30:], X_val=X[:30], y_val=y[:30])
    assert model.history_[-1]["validation_score"] == pytest.approx(model.score(X[:30], y[:30]))


def test_an_explanation_is_of_the_label_and_its_rival():
    X, y, _ = rows()
    model = model_of(tol=1e-4).fit(X, y)
    scores = model.decision_function(X[:1])[0]
    found = explain(model, X[:1])
    assert found.label == model.predict(X[:1])[0]
    first, second = np.sort(scores)[::-1][:2]
    np.testing.assert_allclose(found.margin, first - second)


def test_the_search_has_the_models_of_its_folds():
    X, y, weights = rows()
    options = {"multi_class": "ovr", "tol": 1e-9, "max_iter": 1000}
    search = LogisticRegressionCV(Cs=[0.01, 1.0, 30.0], cv=3, scoring="neg_log_loss", **options)
    search.fit(X, y, sample_weight=weights)
    model = LogisticRegression(C=search.C_, **options).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(search.objective_, model.objective_, rtol=1e-8)
    np.testing.assert_allclose(search.predict_proba(X), model.predict_proba(X), atol=1e-4)
    np.testing.assert_array_equal(search.predict(X), search.classes_[search.decision_function(X).argmax(axis=1)])
    one = LogisticRegressionCV(Cs=[search.C_], cv=3, scoring="neg_log_loss", **options).fit(X, y, weights)
    place = search.Cs_.tolist().index(search.C_)
    np.testing.assert_allclose(one.scores_[:, 0, 0], search.scores_[:, 0, place], atol=1e-4)


@pytest.mark.parametrize("make", [LogisticRegression, LogisticRegressionCV])
def test_what_is_of_one_model_of_all_labels_is_refused(make):
    X, y, _ = rows()
    for options, words in [
        ({"weights": "observed"}, "weights='observed' is of one model of all labels, and multi_class='ovr' makes 5"),
        ({"penalty": "group"}, "penalty='group' is of one model.*use 'l1'"),
        ({"solver": "gis"}, "solver='gis' is of one model.*use 'auto'"),
        ({"solver": "iis"}, "solver='iis'"),
        ({"solver": "sgd"}, "solver='sgd'"),
        ({"solver": "adagrad"}, "solver='adagrad'"),
    ]:
        model = make(multi_class="ovr", **options)
        with refused(model, ValueError, match=words):
            model.fit(abs(X), y)
    model = make(multi_class="over")
    with refused(model, ValueError, match="multi_class.*did you mean 'ovr'"):
        model.fit(X, y)
    if make is LogisticRegression:
        model = make(multi_class="ovr", weights="sparse", penalty="l1")
        with refused(model, ValueError, match="weights='sparse'"):
            model.fit(X, y)
