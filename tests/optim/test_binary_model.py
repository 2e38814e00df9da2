"""The optimum of a quadratic model of two labels against its conditions, with dense matrices."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from fastlin import LogisticRegression
from fastlin.engine.core.csr_view import CSRView
from fastlin.engine.solvers.binary_model import BinarySolver
from fastlin.optim.design import Design, largest_slopes
from fastlin.validation import as_rows

ROWS, FEATURES = 60, 30


def allocate(name, size, dtype):
    return np.full(size, 7, dtype)


def make_model(X, chosen, h, r, intercept, ridge=0.0, single=False):
    view = CSRView(X.indptr.astype(np.int64), X.indices.astype(np.int32), X.data)
    return BinarySolver(view, chosen, h, r, intercept, ridge, single, allocate)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 10_000), st.sampled_from([np.float32, np.float64]), st.booleans(), st.sampled_from([0.01, 0.3, 3.0]),
    st.sampled_from([0.0, 0.1]), st.booleans(), st.booleans(),
)  # fmt: skip
def test_models_get_better_and_end_where_no_subgradient_is_left(
    seed, dtype, intercept, strength, ridge, duplicated, single
):
    rng = np.random.default_rng(seed)
    dense = rng.normal(size=(ROWS, FEATURES)) * (rng.random((ROWS, FEATURES)) < rng.random(FEATURES) ** 2)
    if duplicated:
        dense[:, 1:4] = dense[:, :1]
    dense[5] = 0
    X = sparse.csc_array(dense.astype(dtype))
    chosen = np.flatnonzero(rng.random(FEATURES) < 0.8).astype(np.int32)
    n = len(chosen)
    h, r = rng.random(ROWS) * (rng.random(ROWS) < 0.9), rng.normal(size=ROWS)
    r[h == 0] = 0  # as of rows beyond the margin of a squared hinge
    A = X.toarray().astype(np.float64)[:, chosen]
    origin = rng.normal(size=n) * (rng.random(n) < 0.5)
    z, l1, added, shift = (
        origin.copy(),
        strength * (0.5 + rng.random(n)),
        np.full(n, ridge + 1e-9),
        rng.uniform(-0.3, 0.3, n),
    )
    shift *= l1  # alone it moves nothing, which nothing might stop
    model = make_model(X, chosen, h, r, intercept, single=single)
    squares, cross, slopes, largest = model.prepare()
    tolerance = 1e-6 if single else 1e-12
    np.testing.assert_array_equal(largest, np.abs(A).max(axis=0, initial=0))
    np.testing.assert_allclose(squares, (A**2).T @ h, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(cross, A.T @ h, atol=30 * tolerance)
    np.testing.assert_allclose(slopes, A.T @ r, atol=30 * tolerance)
    alone = squares + added - (cross**2 / h.sum() if intercept else 0)
    bias = -r.sum() / h.sum() if intercept else 0.0
    model.set_penalties(z, l1, added, shift, np.maximum(alone, 1e-9), bias)

    def value():
        u = A @ (z - origin) + model.bias
        return r @ u + 0.5 * h @ u**2 + l1 @ np.abs(z) + 0.5 * added @ z**2 + shift @ z

    limit, before = 20, value()
    for _ in range(60):
        limit = model.solve(limit, 320)
        after = value()
        assert after <= before + 1e-5 * abs(before)
        before = after
    residual = r + h * (A @ (z - origin) + model.bias)
    gradient = A.T @ residual + added * z + shift
    violation = np.where(z != 0, np.abs(gradient + l1 * np.sign(z)), np.maximum(np.abs(gradient) - l1, 0))
    assert violation.max(initial=0) < (2e-4 if single else 1e-5)
    assert not intercept or abs(residual.sum()) < 1e-4
    assert limit in (20, 40, 80, 160, 320)


def test_of_no_weights_the_intercept_alone_moves():
    X = sparse.csc_array(np.eye(4))
    h, r, none = np.array([1.0, 2, 3, 4]), np.ones(4), np.empty(0)
    model = make_model(X, np.empty(0, np.int32), h, r, True, 10.0)
    model.prepare()
    model.set_penalties(none, none, none, none, none, -4 / model.total)
    assert (model.solve(20, 320), model.total, model.bias) == (20, 20.0, -0.2)


def test_kernels_take_nothing_that_does_not_fit():
    X, features, two, four = sparse.csc_array(np.eye(4)), np.arange(2, dtype=np.int32), np.ones(2), np.ones(4)
    model = make_model(X, features, four, four, False)
    for call in (
        lambda: make_model(X, features + 3, four, four, False),
        lambda: make_model(X, features - 1, four, four, False),
        lambda: make_model(X, features, four, two, False),
        lambda: model.solve(20, 320),
        lambda: model.set_penalties(two, two, two, two, four, 0.0),
        lambda: model.set_penalties(four, two, two, two, two, 0.0),
    ):
        with pytest.raises(ValueError, match=r"fit|column|penalties"):
            call()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_layout_of_some_features_is_that_of_the_matrix_without_the_others(dtype):
    rng = np.random.default_rng(0)
    X = sparse.random_array((30, 40), density=0.2, rng=rng, format="csr").astype(dtype)
    wanted = rng.random(40) < 0.5
    some, whole = Design.of_some(as_rows(X), wanted), Design.of(as_rows(sparse.csr_array(X * wanted)))
    np.testing.assert_array_equal(some.features, whole.features)
    for own, other in zip(some.arrays, whole.arrays, strict=True):
        np.testing.assert_array_equal(own, other)


@pytest.mark.parametrize("n_labels", [2, 3])
@pytest.mark.parametrize("C", [1e-3, 0.1, 0.5, 10])
def test_features_that_are_left_out_cannot_enter_and_the_certificate_knows_their_moments(n_labels, C):
    rng = np.random.default_rng(n_labels)
    X, weights = rng.poisson(0.3, (80, 15)) * rng.normal(size=(80, 15)), rng.random(80) + 0.1
    y = np.append(np.arange(n_labels), rng.integers(0, n_labels, 80 - n_labels)).astype(np.int32)
    bounds = largest_slopes(as_rows(X), y, weights, n_labels)
    for a in rng.dirichlet(np.full(n_labels, 0.1), (20, 80)):
        slopes = np.abs(X.T @ (weights[:, np.newaxis] * (a - np.eye(n_labels)[y]))).max(axis=1)
        assert (slopes <= bounds * (1 + 1e-12)).all()
    model = LogisticRegression(C=C, l1_ratio=1, tol=1e-8).fit(X, y, weights)
    residual = weights[:, np.newaxis] * (model.predict_proba(X) - np.eye(n_labels)[y])
    counts = max(np.abs(X.T @ residual).max(), np.abs(residual.sum(axis=0)).max())
    assert model.certificate_["moment_gap"] == pytest.approx(counts, rel=1e-6)
    assert not model.coef_[:, bounds <= 1 / C].any()


@pytest.mark.parametrize(("n_labels", "n_features"), [(2, 60), (2, 10), (3, 60)])
def test_an_l1_fit_takes_as_many_iterations_whatever_the_unit_of_the_values(n_labels, n_features):
    rng = np.random.default_rng(0)
    X = rng.random((300, n_features)) * (rng.random((300, n_features)) < 0.6)
    score = X @ rng.normal(size=n_features) + 0.5 * rng.normal(size=300)
    y = np.searchsorted(np.quantile(score, [0.6, 0.8][: n_labels - 1]), score)
    own = LogisticRegression(l1_ratio=1, tol=1e-8).fit(X, y)
    for unit in (1e-6, 1e6, 1e10):
        model = LogisticRegression(l1_ratio=1, tol=1e-8, C=1 / unit).fit(unit * X, y)
        assert (np.abs(model.n_iter_ - own.n_iter_) <= 2).all()
        np.testing.assert_allclose(unit * model.coef_, own.coef_, atol=1e-5)
        np.testing.assert_allclose(model.intercept_, own.intercept_, atol=1e-5)


def test_the_unit_of_weights_of_rows_says_nothing():
    rng = np.random.default_rng(0)
    X = (rng.random((200, 50)) * (rng.random((200, 50)) < 0.6)).astype(np.float32)
    y = (X @ rng.normal(size=50) + 0.5 * rng.normal(size=200) > 0).astype(int)
    own = LogisticRegression(l1_ratio=1, tol=1e-6).fit(X, y)
    for unit in (1e-60, 1e-40, 1e20):
        model = LogisticRegression(l1_ratio=1, tol=1e-6, C=1 / unit).fit(X, y, np.full(200, unit))
        assert model.converged_
        np.testing.assert_allclose(model.coef_, own.coef_, atol=1e-4)
