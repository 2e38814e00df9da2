"""The oracle on trial: the naive twins agree with scikit-learn where both mean the same, and with a general solver."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn import naive_bayes
from sklearn.linear_model import SGDClassifier

from oracles.naive_bayes import NaiveBayes
from oracles.online import Online, exact_log_loss, label_loss, mira_taus

EPOCHS = 3


@pytest.fixture(scope="module")
def binary():
    rng = np.random.default_rng(0)
    X = 0.15 * rng.normal(size=(40, 6))  # small enough for squared hinge not to diverge at eta = alpha^(-1/4)
    return X, (X[:, 0] + 0.7 * rng.normal(size=40) > 0).astype(int)


def both(binary, theirs, **ours):
    """scikit-learn's binary SGD and the twin, over the same rows in the same order."""
    X, y = binary
    peer = SGDClassifier(max_iter=EPOCHS, tol=None, shuffle=False, **theirs).fit(X, y)
    twin = Online(2, X.shape[1], **ours)
    twin.fit(X, y, [range(len(X))] * EPOCHS)
    np.testing.assert_allclose(twin.coef, peer.coef_, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(twin.intercept, peer.intercept_, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "log_loss", "perceptron"])
@pytest.mark.parametrize(
    "schedule",
    [
        {"learning_rate": "optimal", "alpha": 1e-3, "fit_intercept": False},  # a squared hinge on it would diverge
        {"learning_rate": "constant", "eta0": 0.1, "alpha": 0.01},
        {"learning_rate": "invscaling", "eta0": 0.2, "power_t": 0.3, "alpha": 0.01},
    ],
)
@pytest.mark.parametrize("penalty", [None, "l2"])
@pytest.mark.parametrize("average", [False, True, 17])
def test_gradient_steps_are_scikit_learns(binary, loss, schedule, penalty, average):
    both(
        binary,
        {"loss": loss, "penalty": penalty, "average": average, **schedule},
        rule=loss,
        penalty=penalty,
        average=average,
        **schedule,
    )


@pytest.mark.parametrize("theirs, ours", [("pa1", "pa1"), ("pa2", "pa2")])
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_passive_aggressive_steps_are_scikit_learns(binary, theirs, ours, C):
    both(
        binary,
        {"loss": "hinge", "penalty": None, "learning_rate": theirs, "eta0": C, "fit_intercept": False},
        rule=ours,
        C=C,
        fit_intercept=False,
    )


def test_adaptive_rate_falls_when_scikit_learns_falls(binary):
    X, y = binary
    peer = SGDClassifier(
        loss="log_loss",
        penalty=None,
        learning_rate="adaptive",
        eta0=0.5,
        max_iter=200,
        tol=1e-3,
        n_iter_no_change=2,
        shuffle=False,
    ).fit(X, y)
    twin = Online(2, X.shape[1], rule="log_loss", learning_rate="adaptive", eta0=0.5)
    assert twin.fit(X, y, [range(len(X))] * 200, tol=1e-3, n_iter_no_change=2) == peer.n_iter_
    np.testing.assert_allclose(twin.coef, peer.coef_, rtol=1e-10)


@pytest.mark.parametrize("C", [0.01, 0.1, 1.0, 100.0])
@pytest.mark.parametrize("seed", range(5))
def test_bisection_solves_the_quadratic_programme_of_mira(C, seed):
    rng = np.random.default_rng(seed)
    K, y, x = 5, int(rng.integers(5)), rng.normal(size=3)
    theta = rng.normal(size=(K, 3))
    rivals = [k for k in range(K) if k != y]

    def violation(theta):
        return max(0.0, 1 - theta[y] @ x + (theta[rivals] @ x).max())

    def margin(v, k):
        changed = v[:-1].reshape(K, 3)
        return (changed[y] - changed[k]) @ x - 1 + v[-1]

    programme = minimize(
        lambda v: 0.5 * ((v[:-1] - theta.ravel()) ** 2).sum() + C * v[-1],
        np.append(theta.ravel(), violation(theta)),
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
        bounds=[(None, None)] * theta.size + [(0, None)],
        constraints=[{"type": "ineq", "fun": margin, "args": (k,)} for k in rivals],
    )
    taus = mira_taus(theta @ x, y, x @ x, C)
    solved = theta - np.outer(taus, x)
    solved[y] += taus.sum() * x
    np.testing.assert_allclose(solved.ravel(), programme.x[:-1], atol=1e-5)
    assert 0.5 * ((solved - theta) ** 2).sum() + C * violation(solved) <= programme.fun + 1e-7


def test_log_loss_twin_agrees_with_sixty_digits():
    rng = np.random.default_rng(1)
    for _ in range(50):
        scores = rng.normal(scale=30, size=4)
        value, gradient = label_loss("log_loss", scores, 2)
        exact, exact_gradient = exact_log_loss(scores, 2)
        np.testing.assert_allclose(value, exact, rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(gradient, exact_gradient, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize(
    "options",
    [
        {"alpha": 1.0},
        {"alpha": 0.01},
        {"alpha": 2.0, "fit_prior": False},
        {"class_prior": [0.2, 0.3, 0.5]},
    ],
)
def test_naive_bayes_twin_is_scikit_learns(options):
    rng = np.random.default_rng(2)
    X, y, weights = rng.poisson(0.7, size=(30, 7)), rng.integers(3, size=30), rng.uniform(size=30)
    peer = naive_bayes.MultinomialNB(**options).fit(X, y, weights)
    twin = NaiveBayes(3, **options).fit(X, y, weights)
    np.testing.assert_allclose(np.log(twin.phi), peer.feature_log_prob_, rtol=1e-12)
    np.testing.assert_allclose([twin.proba(x) for x in X], peer.predict_proba(X), rtol=1e-9)
