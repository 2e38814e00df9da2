"""Laws of sparse optima: what an L1 term and an elastic net leave, for every C, whatever the rows look like."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression as Peer

from fastlin import LogisticRegression
from fastlin.optim import gram_model
from support.logistic_problems import KINDS, rows

STRENGTHS = (1e-3, 1e-1, 1.0, 1e1, 1e3, 1e5)


def fit(X, y, sample_weight=None, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a fit that does not converge says so
        return LogisticRegression(**{"penalty": "l1", "max_iter": 500} | options).fit(X, y, sample_weight)


def proba(model, X):
    return model.predict_proba(X)


def check_subgradients(model, X, y, weights, C, ratio):
    """0 lies in the subdifferential at every weight, and at every intercept."""
    p, labels = proba(model, X), model.classes_
    residual = weights[:, np.newaxis] * (p - (y[:, np.newaxis] == labels))
    if len(labels) == 2:
        residual = residual[:, 1:]
    theta, l1, l2 = model.coef_.T, ratio / C, (1 - ratio) / C
    gradient = X.T @ residual + l2 * theta
    scale = l1 + np.abs(X).T @ np.abs(residual)  # of the sums that cancel
    distance = np.where(theta == 0, np.maximum(np.abs(gradient) - l1, 0), np.abs(gradient + l1 * np.sign(theta)))
    assert (distance <= 1e-3 * scale + 1e-9).all()
    if model.fit_intercept:
        assert np.abs(residual.sum(axis=0)).max() <= 2e-4 * np.abs(residual).sum() + 1e-9


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_labels", [2, 5, 50])
@pytest.mark.parametrize("C", STRENGTHS)
@pytest.mark.parametrize("ratio, intercept", [(1.0, True), (1.0, False), (0.7, True)])
def test_no_subgradient_is_left(ratio, intercept, C, n_labels, kind):
    X, y = rows(kind, n_labels)
    weights = np.random.default_rng(1).uniform(0.5, 2, len(y))
    options = {"penalty": "elasticnet", "l1_ratio": ratio, "fit_intercept": intercept}
    model = fit(X, y, weights, C=C, tol=1e-7, **options)
    assert model.certificate_["duality_gap"] <= 1e-7 * model.objective_
    check_subgradients(model, X, y, weights, C, ratio)


@pytest.mark.parametrize("solver", ["auto", "newton", "lbfgs"])
@pytest.mark.parametrize("n_labels", [2, 3])
@pytest.mark.parametrize("ratio", [1.0, 0.6])
def test_every_feature_may_have_a_strength_of_its_own(ratio, n_labels, solver):
    """Columns times σ under one strength are, with an L1 norm alone, columns under the strengths 1/σ."""
    X, y = rows("counts", n_labels)
    variance = np.random.default_rng(2).uniform(0.3, 5, X.shape[1])
    options = {"penalty": "elasticnet", "l1_ratio": ratio, "solver": solver, "tol": 1e-7, "max_iter": 2000}
    model = fit(X, y, prior_variance=variance, **options)
    strength = (1 / variance)[:, np.newaxis]
    theta, p = model.coef_.T, model.predict_proba(X)
    residual = (p - (y[:, np.newaxis] == model.classes_))[:, -theta.shape[1] :]
    gradient = X.T @ residual + (1 - ratio) * strength * theta
    steepest = np.where(theta == 0, np.maximum(np.abs(gradient) - ratio * strength, 0), 0)
    steepest += np.where(theta == 0, 0, np.abs(gradient + ratio * strength * np.sign(theta)))
    assert steepest.max() <= 1e-2
    loss = -np.log(p[np.arange(len(y)), np.searchsorted(model.classes_, y)]).sum()
    penalty = (strength * (ratio * np.abs(theta) + 0.5 * (1 - ratio) * theta**2)).sum()
    assert model.objective_ == pytest.approx(loss + penalty, rel=1e-9)
    if ratio == 1:
        scaled = fit(X * variance, y, C=1.0, **options)
        assert scaled.objective_ == pytest.approx(model.objective_, rel=1e-6)
        np.testing.assert_allclose(scaled.coef_ * variance, model.coef_, atol=1e-2)
    equal = fit(X, y, prior_variance=3.0, **options)
    assert equal.objective_ == pytest.approx(fit(X, y, C=3.0, **options).objective_, rel=1e-6)


@pytest.mark.parametrize("ratio", [1.0, 0.6])
@pytest.mark.parametrize("n_labels", [2, 3])
def test_a_feature_that_nothing_holds_back(n_labels, ratio):
    """There is no duality gap then: the gradient decides."""
    X, y = rows("counts", n_labels)
    variance = np.full(X.shape[1], 0.05)
    variance[0] = np.inf
    for C in (1.0, np.inf):  # the variances are in the place of C
        model = fit(X, y, penalty="elasticnet", l1_ratio=ratio, prior_variance=variance, C=C, tol=1e-7)
        assert "duality_gap" not in model.certificate_
        residual = model.predict_proba(X) - (y[:, np.newaxis] == model.classes_)
        assert np.abs(X[:, [0]].T @ residual).max() <= 1e-4
        assert model.coef_[:, 0].all()
        assert not model.coef_.all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("C", STRENGTHS)
def test_the_support_is_liblinears(C, kind):
    X, y = rows(kind, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer = Peer(
            C=C, l1_ratio=1.0, solver="liblinear", fit_intercept=False, tol=1e-12, max_iter=1_000_000, random_state=0
        )
        theirs = peer.fit(X, y).coef_[0]
    model = fit(X, y, C=C, fit_intercept=False, tol=1e-9)
    ours = model.coef_[0]
    value = np.logaddexp(0, -(2 * y - 1) * (X @ theirs)).sum() + np.abs(theirs).sum() / C
    assert model.objective_ - model.certificate_["duality_gap"] <= value * (1 + 1e-12)
    assert model.objective_ <= value * (1 + 1e-8)
    if value - model.objective_ <= 1e-8 * value:  # LIBLINEAR's are the optimum's as well
        unsure = np.maximum(np.abs(ours), np.abs(theirs)) < 1e-4 * np.abs(ours).max(initial=1e-9)
        np.testing.assert_array_equal((ours != 0)[~unsure], (theirs != 0)[~unsure])


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 1000), st.sampled_from([2, 4]), st.sampled_from([0.05, 1.0, 30.0, 1e4]), st.booleans())
def test_the_order_of_rows_and_columns_and_columns_that_cannot_enter_do_not_matter(seed, n_labels, C, intercept):
    rng = np.random.default_rng(seed)
    X, y = rows("counts", n_labels)
    options = {"C": C, "fit_intercept": intercept, "tol": 1e-9}
    model = fit(X, y, **options)
    order, columns = rng.permutation(len(y)), rng.permutation(X.shape[1])
    again = fit(X[order][:, columns], y[order], **options)
    kept = np.flatnonzero((model.coef_ != 0).any(axis=0))
    fewer = fit(X[:, kept], y, **options) if len(kept) else model
    for other in (again, fewer):
        assert other.objective_ == pytest.approx(model.objective_, rel=1e-8)
    doubled = fit(sparse.vstack([X, X], format="csr"), np.tile(y, 2), np.full(2 * len(y), 0.5), **options)
    assert doubled.objective_ == pytest.approx(model.objective_, rel=1e-8)


@pytest.mark.parametrize("C", STRENGTHS)
@pytest.mark.parametrize("n_labels", [2, 3])
def test_columns_of_every_degenerate_kind(n_labels, C):
    """A constant column, zeros, one twice, one negated, one of a single row; one column alone; a label in one row."""
    X, y = rows("dense unscaled", 5)
    y = y % n_labels
    X = X.toarray()
    once = np.zeros(len(y))
    once[3] = 2.0
    columns = np.column_stack([X[:, :4], np.ones(len(y)), np.zeros(len(y)), X[:, 0], -X[:, 1], once])
    model = fit(columns, y, C=C, tol=1e-9)
    check_subgradients(model, columns, y, np.ones(len(y)), C, 1.0)
    assert not model.coef_[:, 5].any()
    plain = fit(np.column_stack([X[:, :4], once]), y, C=C, tol=1e-9)
    assert model.objective_ == pytest.approx(plain.objective_, rel=1e-6)
    single = fit(X[:, :1], y, C=C)
    assert single.coef_.shape == (1 if n_labels == 2 else n_labels, 1)
    lonely = fit(X, np.where(np.arange(len(y)) == 7, n_labels, y), C=C)
    assert lonely.converged_


@pytest.mark.parametrize("C", STRENGTHS)
@pytest.mark.parametrize("n_labels", [2, 3])
def test_separable_labels_have_an_optimum_under_a_prior(n_labels, C):
    y = np.arange(30) % n_labels
    X = sparse.csr_array(np.eye(n_labels)[y] * 100.0)
    model = fit(X, y, C=C, tol=1e-6)
    assert model.certificate_["duality_gap"] <= 1e-6 * model.objective_
    assert model.objective_ <= 30 * np.log(n_labels) * (1 + 1e-9)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("n_labels", [2, 4])
def test_a_prior_too_strong_leaves_no_weight(n_labels, intercept):
    X, y = rows("counts", n_labels)
    residual = np.eye(n_labels)[y] - (np.bincount(y) / len(y) if intercept else 1 / n_labels)
    strongest = np.abs(X.T @ residual[:, -1:] if n_labels == 2 else X.T @ residual).max()
    assert not fit(X, y, C=0.999 / strongest, fit_intercept=intercept, tol=1e-9).coef_.any()
    assert fit(X, y, C=1.05 / strongest, fit_intercept=intercept, tol=1e-9).coef_.any()


def test_two_labels_in_two_observed_columns_and_float32_rows_have_their_optima():
    X, y = rows("counts", 2)
    for matrix, more in ((X, {"weights": "observed"}), (X.astype(np.float32), {}), (1e-3 * X, {})):
        model, other = (fit(matrix, y, C=3.0, tol=1e-7, solver=solver, **more) for solver in ("auto", "lbfgs"))
        assert model.objective_ == pytest.approx(other.objective_, rel=1e-6)


@pytest.mark.parametrize("scale", [0.0, 1e-150, 1e-30, 1e30, 3e99])
@pytest.mark.parametrize("C", [1e-100, 1.0, 1e100])
def test_extreme_values_end_in_numbers_and_at_most_one_warning(C, scale):
    X = np.eye(6) * scale * np.array([1.0, 1, 2, 3, 1e-20, 0])
    for y in (np.arange(6) % 2, np.arange(6) % 3):
        for weights in (None, np.array([1e-9, 1e9, 1, 1, 1, 1])):
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                model = LogisticRegression(penalty="l1", C=C).fit(X, y, weights)
            assert [type(each.message) for each in told] == [ConvergenceWarning] * (not model.converged_)
            assert np.isfinite(model.coef_).all()
            assert np.isfinite(model.objective_)


@pytest.mark.parametrize("seed", range(6))
def test_powers_of_a_number_are_fitted(seed):
    """Columns that all but depend on one another, whose decompositions are all but rounding."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 10, 100)
    y = (np.sin(x) + 0.3 * rng.normal(size=100) > 0).astype(int)
    model = LogisticRegression(l1_ratio=1.0, max_iter=1000).fit(
        np.stack([x**power for power in range(1, 7)], axis=1), y
    )
    assert model.converged_
    assert model.certificate_["duality_gap"] <= 1e-4 * model.objective_


@pytest.mark.parametrize("n_rows, taken", [(20_000, True), (500, False)])
def test_a_matrix_is_decomposed_only_where_rows_are_many(n_rows, taken, monkeypatch):
    """Of 300 weights and few rows the decompositions alone would take ten times as long as the fit."""
    solved, own = [], gram_model.GramModel.solve
    monkeypatch.setattr(gram_model.GramModel, "solve", lambda self: solved.append(len(self.z)) or own(self))
    rng = np.random.default_rng(0)
    indices = rng.integers(0, 20, (n_rows, 15)) + 20 * np.arange(15)
    X = sparse.csr_array((np.ones(indices.size), indices.ravel(), np.arange(0, indices.size + 1, 15)))
    y = X @ rng.normal(size=300) + rng.logistic(size=n_rows) > 0
    LogisticRegression(l1_ratio=1.0, C=100.0).fit(X, y)
    assert (max(solved, default=0) > 200) == taken
