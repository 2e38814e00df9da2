"""Logistic regression on corpora: one segment has the bits of rows in memory, several have the same optimum."""

import tracemalloc
import warnings
from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp

from fastlin import LogisticRegression, LogisticRegressionCV
from fastlin.data import Corpus
from fastlin.data import corpus as corpora
from fastlin.optim.solvers.dispatch import SOLVERS

EXACT = ("auto", "gd", "cg", "newton", "lbfgs")
VARIANCE = np.random.default_rng(5).uniform(0.3, 3, 40)
CONFIGURATIONS = {
    "plain": {},
    "observed": {"weights": "observed", "cutoff": 2},
    "prior": {"prior_variance": VARIANCE, "prior_mean": 0.3, "class_weight": "balanced"},
    "l1": {"l1_ratio": 0.5},
    "free": {"fit_intercept": False},
}


def data(n_labels, seed=0, n=240, V=40):
    """X, y and weights, of which some are zero."""
    rng = np.random.default_rng(seed)
    X = sp.random_array((n, V), density=0.15, rng=rng, format="csr")
    y = np.argmax(X @ rng.normal(size=(V, n_labels), scale=3) + rng.gumbel(size=(n, n_labels)), axis=1)
    return X, np.array(["a", "b", "c", "d"])[y], rng.integers(0, 3, n).astype(float)


def fitted(*args, **parameters):
    """A model, which need not have converged."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return LogisticRegression(**{"C": 2.0, **parameters}).fit(*args)


def same_bits(a, b):
    np.testing.assert_array_equal(a.coef_, b.coef_)
    np.testing.assert_array_equal(a.intercept_, b.intercept_)
    assert (a.objective_, a.certificate_, a.n_iter_) == (b.objective_, b.certificate_, b.n_iter_)
    for of_a, of_b in zip(a.history_, b.history_, strict=True):
        assert {**of_a, "seconds": 0} == {**of_b, "seconds": 0}


@pytest.fixture
def cut(monkeypatch):
    """Corpora have segments of about 40 rows."""
    monkeypatch.setattr(corpora, "SEGMENT", 300)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("n_labels", [2, 4])
def test_one_segment_is_memory(solver, n_labels):
    X, y, weights = data(n_labels)
    corpus = Corpus(X, y, sample_weight=weights)
    assert corpus.n_segments == 1
    same_bits(fitted(X, y, weights, solver=solver, max_iter=8), fitted(corpus, solver=solver, max_iter=8))


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("n_labels", [2, 4])
def test_disk_is_memory_for_any_number_of_threads(solver, n_labels, cut, tmp_path):
    X, y, weights = data(n_labels)
    corpus = Corpus(X, y, sample_weight=weights)
    stored = corpus.write(tmp_path / "corpus")
    assert corpus.n_segments == stored.n_segments > 3
    same_bits(fitted(corpus, solver=solver, max_iter=8, n_jobs=1), fitted(stored, solver=solver, max_iter=8, n_jobs=3))


@pytest.mark.parametrize(
    "name, solver", [pair for pair in product(CONFIGURATIONS, EXACT) if pair not in (("l1", "gd"), ("l1", "cg"))]
)
@pytest.mark.parametrize("weigh", [False, True])
def test_several_segments_have_the_same_optimum(name, solver, weigh, cut):
    for n_labels in (2, 4):
        X, y, weights = data(n_labels)
        weights = weights if weigh else None
        parameters = {"solver": solver, "tol": 1e-18, "max_iter": 2000, **CONFIGURATIONS[name]}
        one, several = fitted(X, y, weights, **parameters), fitted(Corpus(X, y, sample_weight=weights), **parameters)
        assert several.classes_.tolist() == one.classes_.tolist()
        np.testing.assert_allclose(several.coef_, one.coef_, rtol=1e-9, atol=1e-9 * np.abs(one.coef_).max())
        np.testing.assert_allclose(several.intercept_, one.intercept_, atol=1e-8)
        np.testing.assert_allclose(several.objective_, one.objective_, rtol=1e-12)
        assert several.certificate_["gradient_norm"] <= 1e-10 * len(y)
        if name != "l1":
            assert 0 <= several.certificate_["duality_gap"] <= 1e-8 * several.objective_


@pytest.mark.parametrize("solver", ["gis", "iis"])
@pytest.mark.parametrize("name", ["plain", "observed", "prior", "free"])
def test_scaling_takes_the_same_steps(solver, name, cut):
    """Every iterate, not only the optimum, is that of rows in memory."""
    for n_labels in (2, 4):
        X, y, weights = data(n_labels)
        parameters = {"solver": solver, "max_iter": 15, **CONFIGURATIONS[name]}
        one, several = fitted(X, y, weights, **parameters), fitted(Corpus(X, y, sample_weight=weights), **parameters)
        np.testing.assert_allclose(several.coef_, one.coef_, rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose([each["objective"] for each in several.history_], [
            each["objective"] for each in one.history_
        ], rtol=1e-12)  # fmt: skip


def test_scaling_without_a_prior_names_what_is_missing(cut):
    X, y, _ = data(4)
    y[X[:, [3]].toarray()[:, 0] > 0] = "b"
    with pytest.raises(ValueError, match="column 3 of X never occurs with label 0"):
        LogisticRegression(solver="iis", C=np.inf).fit(Corpus(X, y))
    parameters = {"solver": "iis", "C": np.inf, "weights": "observed", "max_iter": 10}
    one, several = fitted(X, y, **parameters), fitted(Corpus(X, y), **parameters)
    np.testing.assert_allclose(several.coef_, one.coef_, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("solver", ["sgd", "adagrad"])
def test_stochastic_gradients_approach_the_optimum(solver, cut):
    X, y, _ = data(4)
    best, model = fitted(X, y, tol=1e-18), fitted(Corpus(X, y), solver=solver, max_iter=100)
    assert 0 <= model.objective_ / best.objective_ - 1 < 2e-3


def test_labels_of_weight_zero_are_none(cut, tmp_path):
    X, y, _ = data(4)
    weights = (y != "b").astype(float)
    one = fitted(X, y, weights, tol=1e-18)
    several = fitted(Corpus(X, y, sample_weight=weights).write(tmp_path / "corpus"), tol=1e-18)
    assert one.classes_.tolist() == several.classes_.tolist() == ["a", "c", "d"]
    np.testing.assert_allclose(several.coef_, one.coef_, atol=1e-8)
    order = np.argsort(y != "c")  # whole segments of weight 0
    sorted_weights = (y[order] != "c").astype(float)
    several = fitted(Corpus(X[order], y[order], sample_weight=sorted_weights), tol=1e-18)
    np.testing.assert_allclose(several.coef_, fitted(X, y, (y != "c") * 1.0, tol=1e-18).coef_, atol=1e-8)
    with pytest.raises(ValueError, match="the weight of every row is zero"):
        LogisticRegression().fit(Corpus(X, y, sample_weight=np.zeros(len(y))))


def test_features_of_some_segments_only(cut):
    """Segments that lack features, and rows without any."""
    X, y, _ = data(4)
    X = X.tolil()
    X[:120, :20] = 0
    X[120:, 20:] = 0
    X[5] = 0
    X = X.tocsr()
    for weights in ("dense", "observed"):
        one, several = (fitted(*given, tol=1e-17, weights=weights) for given in ((X, y), (Corpus(X, y),)))
        np.testing.assert_allclose(several.coef_, one.coef_, atol=1e-8)


def test_running(cut, tmp_path):
    """Warm starts, callbacks, validation on a corpus, and an error that changes nothing."""
    X, y, _ = data(4)
    corpus = Corpus(X, y).write(tmp_path / "corpus")
    model = fitted(corpus, tol=1e-10)
    before = model.n_iter_
    again = model.set_params(warm_start=True).fit(corpus)
    assert again.n_iter_ < before
    held = LogisticRegression(solver="lbfgs").fit(corpus, X_val=corpus)
    arrays = LogisticRegression(solver="lbfgs").fit(corpus, X_val=X, y_val=y)
    scores = [record["validation_score"] for record in held.history_]
    assert scores == [record["validation_score"] for record in arrays.history_]
    assert scores[-1] == held.score(corpus) == held.score(X, y)
    stopped = LogisticRegression(solver="lbfgs", callback=lambda _, record: record["iteration"] == 2).fit(corpus)
    assert stopped.n_iter_ == 2
    coef = held.coef_
    held.set_params(callback=lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        held.fit(corpus)
    assert held.coef_ is coef
    with pytest.raises(ValueError, match="y must be None"):
        held.fit(corpus, y)


def test_memory_holds_one_segment(monkeypatch, tmp_path):
    """No [n, K] of all rows, nor the non-zeros of all: a quarter more rows take no more memory."""
    monkeypatch.setattr(corpora, "SEGMENT", 4000)
    rng, peaks = np.random.default_rng(3), []
    for n in (4000, 16000):
        X, y = sp.random_array((n, 50), density=0.1, rng=rng, format="csr"), rng.integers(0, 6, n)
        stored = Corpus(X, y).write(tmp_path / str(n))
        for solver in ("lbfgs", "auto"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tracemalloc.start()
                LogisticRegression(solver=solver, max_iter=5).fit(stored)
                peaks.append(tracemalloc.get_traced_memory()[1])
                tracemalloc.stop()
    of_rows = 12000 * 6 * 8  # one [n, K] more
    assert peaks[2] - peaks[0] < of_rows / 2
    assert peaks[3] - peaks[1] < of_rows / 2


@pytest.mark.parametrize("scoring", [None, "neg_log_loss"])
def test_cross_validation_by_subsets(scoring, cut, tmp_path):
    X, y, weights = data(4)
    parameters = {"Cs": [0.1, 1.0], "cv": 2, "scoring": scoring, "tol": 1e-8, "solver": "newton"}
    one = LogisticRegressionCV(**parameters).fit(X, y, weights)
    stored = Corpus(X, y, sample_weight=weights).write(tmp_path / "corpus")
    several = LogisticRegressionCV(**parameters).fit(stored)
    np.testing.assert_allclose(several.scores_, one.scores_, rtol=1e-5)
    np.testing.assert_allclose(several.coef_, one.coef_, atol=1e-5)
    held = LogisticRegressionCV(**parameters).fit(stored, X_val=stored)
    assert held.scores_.shape == (1, 1, 2)


def test_folds_know_which_labels_have_weight(tmp_path):
    X, y, _ = data(3)
    parameters = {"Cs": [0.01, 1.0], "cv": 3, "class_weight": {"a": 0, "b": 2, "c": 30}}
    memory = LogisticRegressionCV(**parameters).fit(X, y)
    for corpus in (Corpus(X, y), Corpus(X, y).write(tmp_path / "corpus")):
        np.testing.assert_array_equal(LogisticRegressionCV(**parameters).fit(corpus).scores_, memory.scores_)
