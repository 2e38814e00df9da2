"""Exact Newton steps of few columns reach the optimum that conjugate gradients reach, with the proof of it."""

from functools import partial

import numpy as np
import pytest
from scipy import sparse

from fastlin import LogisticRegression
from fastlin.optim.solvers import newton

ROWS, COLUMNS, ATTRIBUTES = 12_000, 60, 10


def attributes(seed=0):
    """One-hot attributes, whose columns add up to the intercept ten times over, and noisy labels."""
    rng = np.random.default_rng(seed)
    size = COLUMNS // ATTRIBUTES
    indices = np.minimum(rng.geometric(0.4, size=(ROWS, ATTRIBUTES)) - 1, size - 1) + size * np.arange(ATTRIBUTES)
    indptr = np.arange(0, indices.size + 1, ATTRIBUTES)
    X = sparse.csr_matrix((np.ones(indices.size), indices.ravel(), indptr), shape=(ROWS, COLUMNS))
    y = X @ rng.normal(size=COLUMNS) + rng.logistic(size=ROWS) > 1
    return X, y.astype(int)


@pytest.fixture
def hessians(monkeypatch):
    """How often a Hessian was written out."""
    written, own = [], newton.decompose_hessian
    monkeypatch.setattr(newton, "decompose_hessian", lambda *args: written.append(1) or own(*args))
    return written


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("C", [1e-3, 0.05, 1.0, 100.0, 1e5])
def test_exact_steps_reach_the_optimum(C, fit_intercept, dtype, hessians):
    X, y = attributes()
    X = X.astype(dtype)
    weights = np.random.default_rng(1).uniform(0, 3, ROWS) * (np.arange(ROWS) % 7 > 0)
    options = {"C": C, "fit_intercept": fit_intercept, "tol": 1e-9, "dtype": np.float64}
    model = LogisticRegression(**options).fit(X, y, sample_weight=weights)
    assert 0 < len(hessians) <= 10
    assert model.converged_
    assert model.certificate_["duality_gap"] <= 1e-9 * model.objective_
    other = LogisticRegression(**options, solver="newton").fit(X, y, sample_weight=weights)
    assert model.objective_ == pytest.approx(other.objective_, rel=3e-9)
    np.testing.assert_allclose(model.coef_, other.coef_, atol=2e-3 * np.abs(other.coef_).max())


def test_each_feature_has_its_own_prior(hessians):
    X, y = attributes()
    variance = np.random.default_rng(2).uniform(0.01, 10, COLUMNS)
    mean = np.random.default_rng(3).normal(size=(1, COLUMNS))
    options = {"prior_variance": variance, "prior_mean": mean, "tol": 1e-9}
    model = LogisticRegression(**options).fit(X, y)
    assert hessians
    other = LogisticRegression(**options, solver="newton").fit(X, y)
    assert model.objective_ == pytest.approx(other.objective_, rel=3e-9)


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_columns_that_nobody_scaled_are_fitted(scale, hessians):
    X, y = attributes()
    X = sparse.csr_matrix(X @ sparse.diags(np.geomspace(1, scale, COLUMNS)))
    model = LogisticRegression().fit(X, y)
    assert hessians
    assert model.converged_


def test_a_hessian_serves_again_near_the_optimum(hessians):
    X, y = attributes()
    model = LogisticRegression(tol=1e-9).fit(X, y)
    assert model.converged_
    assert len(hessians) < model.n_iter_[0]


class Stop(Exception):
    pass


def test_a_fit_resumed_after_any_step_is_the_fit_that_never_stopped(tmp_path, hessians):
    X, y = attributes()
    fit = partial(LogisticRegression, tol=1e-9)
    whole = fit(callback=lambda *_: False).fit(X, y)
    written = len(hessians)
    for after in range(1, whole.n_iter_[0] + 1):

        def stop(model, record, after=after):
            if record["iteration"] == after:
                raise Stop

        hessians.clear()
        with pytest.raises(Stop):
            fit(callback=stop).fit(X, y, checkpoint=tmp_path / str(after), checkpoint_interval=0)
        options = {"checkpoint": tmp_path / str(after), "checkpoint_interval": 0, "resume": True}
        resumed = fit(callback=lambda *_: False).fit(X, y, **options)
        np.testing.assert_array_equal(resumed.coef_, whole.coef_)
        np.testing.assert_array_equal(resumed.intercept_, whole.intercept_)
        assert resumed.n_iter_ == whole.n_iter_
        assert written <= len(hessians) <= written + 1  # a step may be taken again, which was not yet saved


def test_other_problems_are_left_to_dual_ascent(hessians):
    X, y = attributes()
    LogisticRegression().fit(X[:600], y[:600])  # too few rows to pay
    LogisticRegression().fit(X, y + (X[:, [0]].toarray()[:, 0] > 0))  # three labels
    LogisticRegression(penalty="l1").fit(X, y)
    LogisticRegression(solver="newton").fit(X, y)
    assert not hessians
