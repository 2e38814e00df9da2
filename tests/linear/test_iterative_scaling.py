"""GIS and IIS: each sweep solves the equations that define it, lowers the objective and ends at the optimum."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from fastlin import LogisticRegression
from oracles.log_linear import two_columns
from support.logistic_problems import (
    PROBLEMS,
    SCALING,
    assert_optimal,
    counts,
    excess,
    posed,
    solve,
    twin_of,
)
from support.strategies import labelled, weighted

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def twin_sweeps(solver, model, X, y, weights, sweeps):
    """[columns, V + 1] after some sweeps of the twin from the prior's mean; two dense labels are swept as θ₀ and θ₁.

    After a sweep of dense weights whose prior has no means, what all labels have in common is taken out.
    """
    twin = twin_of(model, X, y, weights)
    binary = twin.columns == 1
    if binary:
        names = ("C", "prior_variance", "prior_mean", "fit_intercept")
        twin = two_columns(X, y, sample_weight=twin.weights, **{name: model.get_params()[name] for name in names})
    theta = twin.mean
    for _ in range(sweeps):
        theta = getattr(twin, solver)(theta)
        theta = twin.centred(theta) if binary or (twin.dense and model.prior_mean is None) else theta
    full = twin.whole(theta)
    return full[1:] - full[:1] if binary else full


def swept(solver, model, X, y, weights, sweeps):
    """[columns, V + 1] after some sweeps of the engine, without its stopping rule."""
    model.set_params(solver=solver, max_iter=sweeps, tol=0.0).fit(X, y, sample_weight=weights)
    assert model.n_iter_ == sweeps or model.certificate_["gradient_norm"] == 0
    return np.hstack([model.coef_, np.reshape(model.intercept_, (-1, 1))])


def assert_same_sweeps(solver, model, X, y, weights, sweeps=1):
    found = swept(solver, model, X, y, weights, sweeps)
    wanted = twin_sweeps(solver, model, X, y, weights, sweeps)
    if len(found) > 1 and model.weights == "dense" and np.isinf(model.C):  # a shift of all labels is nothing
        found, wanted = (theta - theta.mean(axis=0) for theta in (found, wanted))
    if len(found) > 1:
        found[:, -1], wanted[:, -1] = (theta[:, -1] - theta[:, -1].mean() for theta in (found, wanted))
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("solver", SCALING)
@pytest.mark.parametrize("sweeps", [1, 2, 5])
def test_sweeps_are_the_twins(name, solver, sweeps):
    X, y, weights, parameters, _, _ = posed(name)
    assert_same_sweeps(solver, LogisticRegression(**parameters), X, y, weights, sweeps)


@pytest.mark.parametrize("solver", SCALING)
@given(
    data=st.data(),
    C=st.sampled_from([0.1, 1.0, 50.0]),
    fit_intercept=st.booleans(),
    observed=st.booleans(),
    real=st.booleans(),
)
def test_a_sweep_is_the_twins_on_awkward_matrices(solver, data, C, fit_intercept, observed, real):
    X, y, n_labels = data.draw(labelled(values=("normal",) if real else ("counts",)))
    X.data = np.abs(X.data)
    weights = data.draw(st.none() | weighted(len(y)))
    assume(weights is None or np.bincount(y, weights, n_labels).min() > 0)
    model = LogisticRegression(C=C, fit_intercept=fit_intercept, weights="observed" if observed else "dense")
    assume(X.nnz == 0 or X.data.max() > 0 or fit_intercept)
    assert_same_sweeps(solver, model, X, y, weights)


@pytest.mark.parametrize("solver", SCALING)
@given(data=st.data(), C=st.sampled_from([0.1, 1.0, np.inf]), observed=st.booleans())
def test_the_objective_never_rises_on_awkward_matrices(solver, data, C, observed):
    X, y, _ = data.draw(labelled(values=("counts", "normal")))
    X.data = np.abs(X.data)
    assume(observed or np.isfinite(C))  # H = 0 has no weight without a prior
    model = LogisticRegression(C=C, solver=solver, max_iter=30, tol=0.0, weights="observed" if observed else "dense")
    model.fit(X, y)
    found = np.array([record["objective"] for record in model.history_])
    assert np.isfinite(found).all()
    assert (np.diff(found) <= 1e-11 * (1 + len(y))).all()


@pytest.mark.parametrize("name", PROBLEMS)
def test_iis_reaches_the_optimum(name):
    model, twin, best = solve(name, "iis", tol=1e-6)
    assert model.converged_
    assert_optimal(model, twin, best, rtol=1e-5, atol=1e-2)


@pytest.mark.parametrize("name", PROBLEMS)
def test_gis_comes_near_the_optimum(name):
    X, y, weights, parameters, twin, best = posed(name)
    model = LogisticRegression(**parameters, solver="gis", tol=1e-5, max_iter=20_000).fit(X, y, sample_weight=weights)
    assert excess(model, twin, best) <= 1e-3


@pytest.mark.parametrize("n_labels", [2, 3])
def test_iis_needs_fewer_sweeps_than_gis_where_rows_differ_in_length(n_labels):
    """C is the longest row's: one long row slows every step of GIS, and IIS not."""
    X, y, _ = counts(n_labels)
    X = X.tolil()
    X[0] = 20
    X = X.tocsr()
    sweeps = {s: LogisticRegression(solver=s, tol=1e-3, max_iter=20_000).fit(X, y).n_iter_ for s in SCALING}
    assert sweeps["iis"] < sweeps["gis"] / 2


@pytest.mark.parametrize("solver", SCALING)
def test_rows_of_equal_sum_make_gis_and_iis_one(solver):
    """f# is then C everywhere, and the two equations are the same."""
    rng = np.random.default_rng(0)
    X, y = sparse.csr_matrix(rng.multinomial(6, np.ones(5) / 5, size=40)).astype(float), np.arange(40) % 3
    one, other = (swept(s, LogisticRegression(), X, y, None, 3) for s in SCALING)
    np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("solver", SCALING)
@pytest.mark.parametrize("n_labels", [2, 3])
def test_negative_features_are_refused_by_the_column(solver, n_labels):
    X, y, _ = counts(n_labels)
    X = X.tolil()
    X[17, 5] = -0.5
    with pytest.raises(ValueError, match=r"Negative values in data.*column 5"):
        LogisticRegression(solver=solver).fit(X.tocsr(), y)


@pytest.mark.parametrize("solver", SCALING)
def test_a_pair_never_seen_has_no_weight_without_a_prior(solver):
    X, y, _ = counts(3)
    X = X.tolil()
    X[y == 2, 4] = 0
    X = X.tocsr()
    with pytest.raises(ValueError, match="observed"):
        LogisticRegression(solver=solver, C=np.inf).fit(X, y)
    model = LogisticRegression(solver=solver, C=np.inf, weights="observed", max_iter=50).fit(X, y)
    assert np.isfinite(model.predict_log_proba(X)).all()
    assert np.isfinite(LogisticRegression(solver=solver, max_iter=50).fit(X, y).coef_).all()


@pytest.mark.parametrize("solver", SCALING)
@pytest.mark.parametrize("C", [1.0, np.inf])
def test_a_column_of_explicit_zeros_is_none(solver, C):
    X, y, _ = counts(3)
    X.data[X.indices == 4] = 0.0
    clean = X.copy()
    clean.eliminate_zeros()
    assert X.nnz > clean.nnz
    model, plain = (LogisticRegression(solver=solver, C=C, max_iter=20).fit(Z, y) for Z in (X, clean))
    np.testing.assert_allclose(model.coef_, plain.coef_, atol=1e-12)


@pytest.mark.parametrize("solver", SCALING)
def test_a_label_of_weight_zero_breaks_no_number(solver):
    X, y, _ = counts(3)
    model = LogisticRegression(solver=solver, max_iter=20).fit(X, y, sample_weight=(y != 1).astype(float))
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.parametrize("solver", SCALING)
@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_sweeps_work_at_any_scale(solver, scale):
    X, y, _ = counts(3)
    X = X * scale
    model = LogisticRegression(solver=solver, C=1 / scale**2, fit_intercept=False)
    assert_same_scaled(swept(solver, model, X, y, None, 3), twin_sweeps(solver, model, X, y, None, 3), scale)


def assert_same_scaled(found, wanted, scale):
    found, wanted = (scale * (theta - theta.mean(axis=0)) for theta in (found, wanted))
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("solver", SCALING)
def test_separable_data_without_a_prior_break_no_number(solver):
    y = np.arange(30) % 3
    X = sparse.csr_matrix(np.eye(3)[y])
    with pytest.warns(ConvergenceWarning):
        model = LogisticRegression(C=np.inf, solver=solver, weights="observed", max_iter=200, tol=1e-12).fit(X, y)
    assert np.isfinite(model.predict_log_proba(X)).all()
    np.testing.assert_array_equal(model.predict(X), y)


@pytest.mark.parametrize("solver", SCALING)
def test_the_first_sweep_by_hand(solver):
    """Two rows of one feature, one label each, no intercept: E f = (1, 2), E_p f = (1.5, 1.5) at θ = 0.

    With f# = 1 in the first row and 2 in the second: GIS has C = 2 and e^{2δ} = E f / E_p f; IIS solves
    0.5 e^δ + e^{2δ} = E f, whose root is e^δ = (−0.5 + √(0.25 + 4 E f)) / 2.
    """
    X, y = sparse.csr_matrix([[1.0], [2.0]]), np.array([0, 1])
    model = LogisticRegression(C=np.inf, fit_intercept=False)
    found = swept(solver, model, X, y, None, 1)
    observed = np.array([1.0, 2.0])
    delta = np.log(observed / 1.5) / 2 if solver == "gis" else np.log((-0.5 + np.sqrt(0.25 + 4 * observed)) / 2)
    assert found[0, 0] == pytest.approx(delta[1] - delta[0], rel=1e-10)
