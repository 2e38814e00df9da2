"""The oracle on trial: derivatives are numerical ones, optima are scikit-learn's, iterative scaling gets to them."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression as Peer

from oracles.log_linear import Logistic, candidates, observed_pairs, same_moments, two_columns
from support.derivatives import derivative

VARIANCE = np.array([0.3, 1.0, 5.0, 100.0])


def problem(n_labels, n_rows=40, n_features=4, seed=0, values="normal"):
    rng = np.random.default_rng(seed)
    y = np.arange(n_rows) % n_labels
    X = rng.poisson(1.0, size=(n_rows, n_features)) if values == "counts" else rng.normal(size=(n_rows, n_features))
    X = X + 0.5 * (np.arange(n_features) == y[:, None])
    return X * (rng.random(X.shape) < 0.8), y, rng.uniform(0.2, 2.0, size=n_rows)


def binary(values="normal", **options):
    X, y, weights = problem(2, values=values)
    return Logistic(X, y, 2, sample_weight=weights, **options)


def binary_in_two(values="normal", **options):
    X, y, weights = problem(2, values=values)
    return two_columns(X, y, sample_weight=weights, **options)


def multinomial(values="normal", **options):
    X, y, weights = problem(3, values=values)
    return Logistic(X, y, 3, sample_weight=weights, **options)


def observed(values="normal", **options):
    X, y, weights = problem(3, values=values)
    pairs = observed_pairs(X, y, 3, [9, 10, 11, 12])
    assert 0 < pairs.sum() < pairs.size
    return Logistic(X, y, 3, pairs=pairs, sample_weight=weights, **options)


def of_candidates(values="normal", **options):
    X, _, weights = problem(3, n_rows=33, values=values)
    return candidates(X, np.array([1, 0, 2, 0, 0] * 3), [3, 1, 4, 2, 1] * 3, sample_weight=weights[:15], **options)


MODELS = [binary, binary_in_two, multinomial, observed, of_candidates]


@pytest.mark.parametrize("make", MODELS)
@pytest.mark.parametrize("options", [{"prior_variance": VARIANCE, "prior_mean": [1.0, 0.0, -2.0, 0.3]}, {"C": np.inf}])
def test_derivatives_are_numerical_derivatives(make, options):
    model = make(**options)
    theta = np.random.default_rng(3).normal(size=model.F.shape[2])
    np.testing.assert_allclose(model.gradient(theta), derivative(model.smooth, theta), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(model.hessian(theta), derivative(model.gradient, theta), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("make", MODELS)
@pytest.mark.parametrize("l1_ratio", [0.0, 0.3, 1.0])
def test_the_minimum_satisfies_its_conditions_and_no_neighbour_is_lower(make, l1_ratio):
    model = make(prior_variance=0.1 * VARIANCE, l1_ratio=l1_ratio)
    theta = model.minimum()
    assert model.violation(theta) < 1e-10 * model.size()
    rng = np.random.default_rng(4)
    for scale in (1e-4, 1e-2, 1.0):
        for _ in range(20):
            other = theta + scale * rng.normal(size=len(theta))
            assert model.objective(other) >= model.objective(theta) - 1e-12 * model.size()
    assert l1_ratio == 0 or (theta == 0).any()


@pytest.mark.parametrize("n_labels", [2, 3])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_the_optimum_is_scikit_learns(n_labels, fit_intercept, C):
    X, y, weights = problem(n_labels)
    peer = Peer(C=C, fit_intercept=fit_intercept, tol=1e-10, max_iter=10_000).fit(X, y, weights)
    model = Logistic(X, y, n_labels, C=C, fit_intercept=fit_intercept, sample_weight=weights)
    theta = model.minimum()
    np.testing.assert_allclose(model.coef(theta), peer.coef_, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(model.proba(theta), peer.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("n_labels", [2, 3])
@pytest.mark.parametrize("l1_ratio", [0.5, 1.0])
def test_the_sparse_optimum_is_scikit_learns(n_labels, l1_ratio):
    X, y, weights = problem(n_labels)
    peer = Peer(C=0.1, l1_ratio=l1_ratio, solver="saga", tol=1e-10, max_iter=50_000, random_state=0).fit(X, y, weights)
    model = Logistic(X, y, n_labels, C=0.1, l1_ratio=l1_ratio, sample_weight=weights)
    theta = model.minimum()
    np.testing.assert_allclose(model.coef(theta), peer.coef_, atol=1e-6)
    assert model.objective(theta) <= model.objective(model.theta(peer.coef_, peer.intercept_)) + 1e-10


def test_two_columns_of_half_the_variance_are_the_binary_model():
    options = {"prior_variance": VARIANCE, "prior_mean": [1.0, 0.0, -2.0, 0.3]}
    one, two = binary(**options), binary_in_two(**options)
    whole = two.whole(two.minimum())
    np.testing.assert_allclose(whole[1:] - whole[:1], one.whole(one.minimum()), atol=1e-10)
    assert two.objective(two.minimum()) == pytest.approx(one.objective(one.minimum()), rel=1e-12)


def test_candidates_built_as_blocks_are_the_multinomial_model():
    X, y, weights = problem(3)
    blocks = np.vstack([np.kron(np.eye(3), x) for x in X])
    one = Logistic(X, y, 3, C=2.0, fit_intercept=False, sample_weight=weights)
    other = candidates(blocks, y, [3] * len(X), C=2.0, sample_weight=weights)
    np.testing.assert_allclose(other.minimum(), one.minimum(), atol=1e-10)


def test_pairs_are_seen_in_rows_not_in_counts():
    X = np.array([[2.0, 0.0, 1.0], [1.0, 3.0, 0.0], [0.0, -4.0, 1.0]])
    y = np.array([0, 0, 1])
    assert observed_pairs(X, y, 2, 1).tolist() == [[True, False], [True, True], [True, True]]
    assert observed_pairs(X, y, 2, 2).tolist() == [[True, False], [False, False], [False, False]]
    assert observed_pairs(X, y, 2, [3, 1, 1]).tolist() == [[False, False], [True, True], [True, True]]
    assert observed_pairs(X, y, 2, 1, [1, 0, 1]).tolist() == [[True, False], [False, True], [True, True]]


@pytest.mark.parametrize("make", MODELS)
@pytest.mark.parametrize("options", [{"C": 2.0}, {"C": np.inf}, {"prior_variance": VARIANCE, "prior_mean": 0.5}])
@pytest.mark.parametrize("method", ["gis", "iis"])
def test_scaling_never_worsens_the_objective_and_reaches_the_optimum(make, options, method):
    model = make(values="counts", **options)
    best = model.objective(model.minimum())
    theta, value = np.zeros(model.F.shape[2]), np.inf
    for _ in range(400):
        new = model.objective(theta)
        assert new <= value + 1e-12 * model.size()
        theta, value = getattr(model, method)(theta), new
    assert best - 1e-9 <= value <= best * (1 + (1e-2 if method == "gis" else 1e-3))


def test_centring_lowers_the_prior_and_moves_no_probability():
    model = multinomial(prior_variance=VARIANCE, prior_mean=0.5)
    theta = np.random.default_rng(5).normal(size=model.F.shape[2])
    np.testing.assert_allclose(model.proba(model.centred(theta)), model.proba(theta), atol=1e-14)
    assert model.objective(model.centred(theta)) < model.objective(theta)
    theta = model.minimum()
    np.testing.assert_allclose(model.centred(theta), theta, atol=1e-9)


@pytest.mark.parametrize("make", [multinomial, of_candidates, observed])
def test_without_a_prior_the_optimum_has_the_largest_entropy_of_all_that_meet_the_counts(make):
    model = make(values="counts", C=np.inf)
    theta = model.minimum()
    p, entropy = model.proba(theta), model.entropy(theta)
    assert model.moment_gap(theta) < 1e-9
    assert entropy == pytest.approx(-model.log_likelihood(theta), rel=1e-9)
    for direction in same_moments(model, limit=20):
        for sign in (-0.1, 0.1):
            q = p + sign * direction * (p[model.present].min() / np.abs(direction).max())
            terms = np.where(model.present, q * np.log(np.where(model.present, q, 1)), 0)
            assert -model.weights @ terms.sum(axis=1) < entropy


@pytest.mark.parametrize("make", MODELS)
def test_the_dual_is_a_lower_bound_that_the_optimum_reaches(make):
    model = make(prior_variance=VARIANCE, prior_mean=0.3, **({} if make is of_candidates else {"fit_intercept": False}))
    best = model.minimum()
    assert model.dual(best) == pytest.approx(model.objective(best), rel=1e-10)
    other = best + 0.1 * np.random.default_rng(6).normal(size=len(best))
    assert model.dual(other) < model.objective(best) < model.objective(other)
