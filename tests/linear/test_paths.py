"""Paths of LogisticRegressionCV: each point is a fit of its own, and what is known of it has scikit-learn's shapes."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import config_context, linear_model
from sklearn.metrics import make_scorer
from sklearn.model_selection import StratifiedKFold

import fastlin
from fastlin import Corpus, LogisticRegression, LogisticRegressionCV
from fastlin.optim import warm_starts
from support.estimators import text_like
from support.logistic_problems import rows, two_sided
from support.peer_features import with_shapes

CS = [1e-3, 0.1, 1e5, 3.0, 100.0]  # in no order
PENALTIES = {"l2": {"penalty": "l2"}, "l1": {"penalty": "l1"}, "elastic net": {"l1_ratios": [0.5]}}
BOTH = pytest.mark.parametrize("legacy", [False, True])


def objective(weights, X, y, sample_weight, C, ratio):
    """Σ w (log Z − s_y) + (1/C)(r ‖θ‖₁ + ½ (1 − r) ‖θ‖²), from weights with the intercept last."""
    theta, scores = weights[:, :-1], X @ weights[:, :-1].T + weights[:, -1]
    if len(weights) == 1:
        scores = np.hstack([np.zeros((len(y), 1)), scores])
    largest = scores.max(axis=1)
    losses = largest + np.log(np.exp(scores - largest[:, np.newaxis]).sum(axis=1)) - scores[np.arange(len(y)), y]
    return sample_weight @ losses + (ratio * np.abs(theta).sum() + 0.5 * (1 - ratio) * (theta**2).sum()) / C


@pytest.mark.parametrize("n_labels", [2, 5])
@pytest.mark.parametrize("kind", ["counts", "tfidf"])
@pytest.mark.parametrize("penalty", PENALTIES)
def test_each_point_of_a_path_is_as_near_its_optimum_as_it_says(penalty, kind, n_labels):
    X, y = rows(kind, n_labels)
    sample_weight = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    folds = [(np.arange(len(y)), np.arange(10))]
    path = LogisticRegressionCV(Cs=CS, cv=folds, tol=1e-4, max_iter=1000, **PENALTIES[penalty])
    path.fit(X, y, sample_weight=sample_weight)
    by_strength = {record["C"]: record for record in path.path_}
    assert list(by_strength) == sorted(CS)
    for C, weights, n_nonzero in zip(CS, path.coefs_paths_[0, 0], path.n_nonzero_[0, 0], strict=True):
        record, ratio = by_strength[C], float(path.l1_ratio_)
        reached = objective(weights, X, y, sample_weight, C, ratio)
        cold = LogisticRegression(C=C, l1_ratio=ratio, tol=1e-8, max_iter=5000).fit(X, y, sample_weight=sample_weight)
        rounding = 1e-8 * reached + 1e-9 * sample_weight.sum()  # of the losses of rows, most of which are nearly 0
        assert reached == pytest.approx(record["objective"], abs=rounding)
        assert record["converged"]
        assert record["duality_gap"] <= 1e-4
        assert -rounding <= reached - cold.objective_ <= record["duality_gap"] * reached + rounding
        assert n_nonzero == record["n_nonzero"] == np.count_nonzero(weights[:, :-1])


@with_shapes
@pytest.mark.parametrize("n_labels", [2, 3])
@pytest.mark.parametrize("l1_ratios", [None, (0.0,), (0.2, 0.7)])
@BOTH
def test_what_is_known_of_a_search_has_scikit_learns_shapes_and_values(legacy, l1_ratios, n_labels):
    X, y, _ = two_sided(n_labels, n_rows=90)
    y = np.array(["a", "b", "c"])[y]
    solver = "saga" if l1_ratios and any(l1_ratios) else "lbfgs"
    options = {"Cs": [1.0, 0.01], "cv": StratifiedKFold(2), "l1_ratios": l1_ratios, "use_legacy_attributes": legacy}
    ours = LogisticRegressionCV(**options, tol=1e-12, max_iter=1000).fit(X, y)
    theirs = linear_model.LogisticRegressionCV(**options, scoring=None, solver=solver, tol=1e-9, max_iter=5000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of values that scikit-learn 1.10 will refuse
        theirs.fit(X, y)
    for name in ("C_", "l1_ratio_", "Cs_", "scores_", "coefs_paths_", "n_iter_", "coef_"):
        mine, other = getattr(ours, name), getattr(theirs, name)
        mine, other = (each if isinstance(each, dict) else np.asarray(each) for each in (mine, other))
        assert isinstance(mine, dict) == isinstance(other, dict)
        for one, two in zip(mine.values(), other.values(), strict=True) if isinstance(mine, dict) else [(mine, other)]:
            assert np.shape(one) == np.shape(two), name
            if name != "n_iter_" and (solver == "lbfgs" or name == "coef_") and two.dtype != object:
                np.testing.assert_allclose(one, two, atol=3e-4)  # SAGA leaves intercepts far from their optimum
        assert not isinstance(mine, dict) or list(mine) == list(other)


@BOTH
def test_a_model_file_has_the_search_but_not_its_weights(legacy, tmp_path):
    X, y, _ = two_sided(3, n_rows=60)
    model = LogisticRegressionCV(Cs=[0.1, 1.0], cv=2, use_legacy_attributes=legacy).fit(X, y)
    fastlin.save(model, tmp_path / "model.fastlin")
    loaded = fastlin.load(tmp_path / "model.fastlin")
    for name in ("C_", "l1_ratio_", "Cs_", "n_iter_", "n_nonzero_"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(model, name))
    assert str(loaded.scores_) == str(model.scores_)
    assert not hasattr(loaded, "coefs_paths_")


def test_paths_that_are_not_kept_change_no_fit():
    X, y, _ = two_sided(3, n_rows=60)
    kept, not_kept = (LogisticRegressionCV(Cs=[0.1, 1.0], cv=2, keep_paths=keep).fit(X, y) for keep in (True, False))
    assert not hasattr(not_kept, "coefs_paths_")
    assert kept.path_ == not_kept.path_


@with_shapes
@pytest.mark.parametrize("scoring", ["accuracy", "neg_log_loss", None])
def test_score_is_what_scoring_asks_for(scoring, tmp_path):
    X, y, weights = two_sided(2, n_rows=60)
    options = {"Cs": [0.1, 1.0], "cv": 2, "scoring": scoring}
    ours = LogisticRegressionCV(**options, tol=1e-10).fit(X, y)
    theirs = linear_model.LogisticRegressionCV(**options, l1_ratios=(0,), use_legacy_attributes=False, tol=1e-9)
    theirs.fit(X, y)
    for told in ({}, {"sample_weight": weights}):
        assert ours.score(X, y, **told) == pytest.approx(theirs.score(X, y, **told), abs=1e-5)
    corpus = Corpus(X, y, sample_weight=weights).write(tmp_path / "corpus")
    assert ours.score(corpus) == pytest.approx(ours.score(X, y, sample_weight=weights))


def test_scorers_may_take_more():
    X, y, _ = two_sided(2, n_rows=60)
    with config_context(enable_metadata_routing=True):
        scorer = make_scorer(lambda y, found, times=1: times * np.mean(y == found)).set_score_request(times=True)
        model = LogisticRegressionCV(Cs=[0.1, 1.0], cv=2, scoring=scorer).fit(X, y)
        assert model.score(X, y, times=3) == pytest.approx(3 * model.score(X, y))
    with pytest.raises(ValueError, match="only supported if enable_metadata_routing=True"):
        model.score(X, y, times=3)


@with_shapes
def test_without_a_refit_each_fold_gives_its_own_best():
    X, y, _ = two_sided(2, n_rows=90)
    options = {"Cs": [1e-3, 0.1, 10], "cv": StratifiedKFold(3), "refit": False}
    ours = LogisticRegressionCV(**options, tol=1e-12, max_iter=1000, keep_paths=False).fit(X, y)
    theirs = linear_model.LogisticRegressionCV(
        **options, l1_ratios=(0,), use_legacy_attributes=False, scoring=None, tol=1e-9, max_iter=5000
    ).fit(X, y)
    assert len(set(np.argmax(theirs.scores_[:, 0], axis=1))) > 1  # the folds differ
    np.testing.assert_allclose(ours.C_, theirs.C_)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=2e-4)


@pytest.mark.parametrize("n_labels", [2, 4])
@pytest.mark.parametrize("options", [{}, {"prior_mean": 0.3}, {"weights": "observed"}], ids=str)
def test_a_start_is_the_least_of_the_span(monkeypatch, options, n_labels):
    """No multiple of what came before, and no sum of multiples, has a lower objective than the start."""
    starts = []

    def watched(problem, before, start_in_span=warm_starts.start_in_span):
        start, gradient = start_in_span(problem, before), np.empty(problem.size)
        value = problem.value(start, gradient)
        starts.append(
            (value, gradient @ np.array(before).T / value, [problem.value(each, gradient) for each in before])
        )
        return start

    monkeypatch.setattr("fastlin.linear.logistic.start_in_span", watched)
    X, y = text_like(80, 40, n_labels, seed=3)
    LogisticRegressionCV(Cs=np.geomspace(1e-2, 1e4, 6), cv=2, refit=False, **options).fit(X, y)
    assert len(starts) == 2 * 5
    for value, slopes, others in starts:
        assert value <= min(others)
        assert np.abs(slopes).max() < 5e-3


@given(st.integers(1, 3), st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_a_step_in_the_span_is_newtons_even_where_models_repeat_each_other(n, rank, seed):
    draw = np.random.default_rng(seed)
    root = draw.standard_normal((n, min(rank, n))) * 10.0 ** draw.uniform(-8, 8)
    hessian = root @ root.T
    gradient = hessian @ draw.standard_normal(n)
    step = warm_starts.newton_step(hessian, gradient)
    np.testing.assert_allclose(hessian @ step, -gradient, atol=1e-6 * np.abs(gradient).max())


def test_a_model_that_the_ones_before_it_span_but_for_rounding_takes_no_part():
    hessian = np.array([[1.0, 1.0], [1.0, 1.0 + 1e-13]])
    np.testing.assert_array_equal(warm_starts.newton_step(hessian, np.array([1.0, 1.0 + 1e-7])), [-1.0, 0.0])
