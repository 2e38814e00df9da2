"""Laws of the group penalty: a feature is chosen for all labels or for none, at a certified optimum for every C."""

import functools
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from fastlin import Corpus, LogisticRegression, LogisticRegressionCV
from fastlin.data import corpus as corpora
from oracles import group_penalty as twin
from support.logistic_problems import KINDS, rows

STRENGTHS = (1e-3, 1e-1, 1.0, 1e1, 1e3, 1e5)
PROBLEMS = [(C, n_labels) for C in STRENGTHS for n_labels in (3, 5)] + [(C, 50) for C in (1e-3, 1.0)]


def fit(X, y, sample_weight=None, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a fit that does not converge says so
        return LogisticRegression(**{"penalty": "group", "max_iter": 500} | options).fit(X, y, sample_weight)


def check_subgradients(model, X, y, weights, strengths, observed=True):
    """‖g_j‖ ≤ λ_j where θ_j is zero, else g_j + λ_j θ_j / ‖θ_j‖ = 0; of the weights that there are."""
    residual = weights[:, np.newaxis] * (model.predict_proba(X) - (y[:, np.newaxis] == model.classes_))
    theta, gradient = model.coef_.T, (X.T @ residual) * observed
    norms, lengths = np.linalg.norm(theta, axis=1), np.linalg.norm(gradient, axis=1)
    pull = theta * (strengths / np.where(norms > 0, norms, np.inf))[:, np.newaxis]
    distance = np.where(norms == 0, np.maximum(lengths - strengths, 0), np.linalg.norm(gradient + pull, axis=1))
    scale = strengths + np.linalg.norm(np.abs(X).T @ np.abs(residual), axis=1)  # of the sums that cancel
    assert (distance <= 1e-3 * scale + 1e-9).all()
    if model.fit_intercept:
        assert np.abs(residual.sum(axis=0)).max() <= 2e-4 * np.abs(residual).sum() + 1e-9


@functools.cache
def least(kind, n_labels, C):
    """The objective of a long fit."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rounding may leave more than that
        model = LogisticRegression(penalty="group", C=C, tol=1e-9, max_iter=500)
        return model.fit(*rows(kind, n_labels)).objective_


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("C, n_labels", PROBLEMS)
def test_no_subgradient_is_left_and_the_gap_is_certified(C, n_labels, kind):
    X, y = rows(kind, n_labels)
    for intercept in (True, False)[: 1 + (n_labels < 50)]:
        weights = np.random.default_rng(1).uniform(0.5, 2, len(y)) if intercept else np.ones(len(y))
        model = fit(X, y, weights, C=C, tol=1e-7, fit_intercept=intercept)
        assert model.converged_
        assert model.certificate_["duality_gap"] <= 1e-7 * model.objective_
        check_subgradients(model, X, y, weights, 1 / C)
        chosen = (model.coef_ != 0).any(axis=0)
        assert (model.coef_[:, chosen] != 0).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("C, n_labels", PROBLEMS)
def test_the_certified_gap_bounds_the_true_one_and_decides(C, n_labels, kind):
    X, y = rows(kind, n_labels)
    for max_iter in (2, 5, 500):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            model = LogisticRegression(penalty="group", C=C, max_iter=max_iter).fit(X, y)
        gap, objective = model.certificate_["duality_gap"], model.objective_
        assert objective - least(kind, n_labels, C) <= gap + 1e-9 * objective
        assert model.converged_ == (gap <= 1e-4 * objective)
        assert len(told) == (not model.converged_)
    assert model.converged_


@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("intercept", [True, False])
def test_plain_proximal_gradient_steps_end_there(C, intercept):
    X, y = rows("counts", 4)
    X, weights = X[:, :8].toarray(), np.random.default_rng(3).uniform(0.5, 2, len(y))
    variance = np.random.default_rng(4).uniform(0.5, 2, X.shape[1])
    strengths = 1 / (C * variance)
    theta, bias = twin.minimise(X, y, 4, strengths, weights, intercept, steps=3000)
    model = fit(X, y, weights, prior_variance=C * variance, fit_intercept=intercept, tol=1e-10)
    value = twin.objective(X, y, theta, bias, strengths, weights)
    ours = twin.objective(X, y, model.coef_.T, model.intercept_, strengths, weights)
    assert model.objective_ == pytest.approx(ours, rel=1e-12)
    assert ours <= value * (1 + 1e-12)
    assert ours == pytest.approx(value, rel=1e-6)
    np.testing.assert_allclose(model.coef_.T, theta, atol=1e-2)
    np.testing.assert_array_equal((model.coef_ != 0).any(axis=0), (np.abs(theta) > 1e-6).any(axis=1))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("C", STRENGTHS)
def test_one_column_of_weights_has_the_l1_norm(C, kind):
    X, y = rows(kind, 2)
    group, single = fit(X, y, C=C), fit(X, y, C=C, penalty="l1")
    np.testing.assert_array_equal(group.coef_, single.coef_)
    assert group.objective_ == single.objective_
    # With groups of one weight each, blocks are weights: every label has a feature of its own.
    X, y = sparse.csr_array(np.eye(4)[np.arange(40) % 4]), np.arange(40) % 4
    options = {"C": C, "weights": "observed", "tol": 1e-9}
    group, single = fit(X, y, **options), fit(X, y, penalty="l1", **options)
    assert group.objective_ == pytest.approx(single.objective_, rel=1e-8)
    np.testing.assert_allclose(group.coef_, single.coef_, rtol=1e-2, atol=1e-6)


@pytest.mark.parametrize("n_labels", [2, 5])
@pytest.mark.parametrize("C", [0.3, 1.0, 100.0])
def test_observed_weights_make_groups_of_those_that_there_are(C, n_labels):
    X, y = rows("counts", n_labels)
    model = fit(X, y, C=C, weights="observed", tol=1e-8)
    own = (y == np.arange(n_labels)[:, np.newaxis]).astype(float)
    observed = (own @ (X != 0)).T > 0
    assert not model.coef_.T[~observed].any()
    check_subgradients(model, X, y, np.ones(len(y)), 1 / C, observed)
    sparser = fit(X, y, C=C, weights="observed", cutoff=4)
    assert not sparser.coef_.T[(own @ (X != 0)).T < 4].any()


@pytest.mark.parametrize("C", [0.1, 10.0, 1e4])
def test_every_feature_may_have_a_strength_of_its_own(C):
    """Columns times σ² under one strength are columns under the strengths 1/σ²; `inf` leaves one free."""
    X, y = rows("counts", 4)
    variance = np.random.default_rng(2).uniform(0.3, 5, X.shape[1])
    model = fit(X, y, prior_variance=C * variance, tol=1e-8)
    check_subgradients(model, X, y, np.ones(len(y)), 1 / (C * variance))
    scaled = fit(X * variance, y, C=C, tol=1e-8)
    assert scaled.objective_ == pytest.approx(model.objective_, rel=1e-6)
    np.testing.assert_allclose(scaled.coef_ * variance, model.coef_, atol=1e-2 * np.abs(model.coef_).max() + 1e-9)
    variance[0] = np.inf
    free = fit(X, y, prior_variance=0.05 * variance, tol=1e-7)
    assert "duality_gap" not in free.certificate_
    assert free.coef_[:, 0].all()
    assert not free.coef_.all()


@pytest.mark.parametrize("C", STRENGTHS)
def test_columns_of_every_degenerate_kind(C):
    """A constant column, zeros, one twice, one negated, one of a single row; one column alone; separable labels."""
    X, y = rows("dense unscaled", 5)
    y, X, once = y % 3, X.toarray(), np.zeros(len(y))
    once[3] = 2.0
    columns = np.column_stack([X[:, :4], np.ones(len(y)), np.zeros(len(y)), X[:, 0], -X[:, 1], once])
    model = fit(columns, y, C=C, tol=1e-9)
    check_subgradients(model, columns, y, np.ones(len(y)), 1 / C)
    assert not model.coef_[:, 5].any()
    plain = fit(np.column_stack([X[:, :4], once]), y, C=C, tol=1e-9)
    assert model.objective_ == pytest.approx(plain.objective_, rel=1e-6)
    assert fit(X[:, :1], y, C=C).converged_
    apart = np.arange(30) % 3
    model = fit(100.0 * np.eye(3)[apart], apart, C=C, tol=1e-6)
    assert model.objective_ <= 30 * np.log(3) * (1 + 1e-9)


def test_the_order_and_columns_that_cannot_enter_do_not_matter():
    X, y = rows("tfidf", 5)
    rng = np.random.default_rng(0)
    options = {"C": 3.0, "tol": 1e-9}
    model, order, columns = fit(X, y, **options), rng.permutation(len(y)), rng.permutation(X.shape[1])
    kept = np.flatnonzero((model.coef_ != 0).any(axis=0))
    assert 0 < len(kept) < X.shape[1]
    again = fit(X[order][:, columns], y[order], **options)
    doubled = fit(sparse.vstack([X, X], format="csr"), np.tile(y, 2), np.full(2 * len(y), 0.5), **options)
    for other in (again, fit(X[:, kept], y, **options), doubled, fit(X, y, n_jobs=2, **options)):
        assert other.objective_ == pytest.approx(model.objective_, rel=1e-8)
    np.testing.assert_array_equal(other.coef_, model.coef_)
    strongest = np.linalg.norm(X.T @ (np.eye(5)[y] - np.bincount(y) / len(y)), axis=1).max()
    assert not fit(X, y, C=0.999 / strongest).coef_.any()
    assert fit(X, y, C=1.05 / strongest).coef_.any()


def test_other_solvers_and_rows_on_disk_are_refused_and_the_way_out_is_named(tmp_path, monkeypatch):
    X, y = rows("counts", 5)
    for solver in ("newton", "lbfgs", "sgd"):
        with pytest.raises(ValueError, match="'auto'"):
            LogisticRegression(penalty="group", solver=solver).fit(X, y)
    with pytest.raises(ValueError, match="prior_mean"):
        LogisticRegression(penalty="group", prior_mean=1.0).fit(X, y)
    monkeypatch.setattr(corpora, "SEGMENT", 300)
    corpus = Corpus(X, y).write(tmp_path / "rows")
    with pytest.raises(ValueError, match="to_memory"):
        LogisticRegression(penalty="group").fit(corpus)
    np.testing.assert_array_equal(fit(*corpus.to_memory()).coef_, fit(X, y).coef_)


def test_paths_have_the_penalty_as_well():
    X, y = rows("counts", 5)
    model = LogisticRegressionCV(Cs=[0.1, 1.0, 10.0], cv=2, penalty="group").fit(X, y)
    again = fit(X, y, C=model.C_)
    assert model.objective_ == pytest.approx(again.objective_, rel=1e-4)
    np.testing.assert_array_equal((model.coef_ != 0).any(axis=0), (model.coef_ != 0).all(axis=0))


@pytest.mark.parametrize("scale", [0.0, 1e-150, 1e-30, 1e30, 3e99])
@pytest.mark.parametrize("C", [1e-100, 1.0, 1e100])
def test_extreme_values_end_in_numbers_and_at_most_one_warning(C, scale):
    X, y = np.eye(6) * scale * np.array([1.0, 1, 2, 3, 1e-20, 0]), np.arange(6) % 3
    for weights in (None, np.array([1e-9, 1e9, 1, 1, 1, 1])):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            model = LogisticRegression(penalty="group", C=C).fit(X, y, weights)
        assert [type(each.message) for each in told] == [ConvergenceWarning] * (not model.converged_)
        assert np.isfinite(model.coef_).all()
        assert np.isfinite(model.objective_)
