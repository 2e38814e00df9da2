"""Problems for LogisticRegression, the twin of an estimator, and ways to say that it is at the optimum."""

import functools

import numpy as np
from scipy import sparse

from fastlin import LogisticRegression
from oracles.log_linear import Logistic, observed_pairs

BATCH = ("auto", "gd", "cg", "newton", "lbfgs")
SCALING = ("gis", "iis")
KINDS = ("counts", "tfidf", "dense unscaled")
MONOTONE = ("gd", "cg", "newton", "lbfgs", "gis", "iis")


def counts(n_labels, n_rows=60, n_features=8, seed=0, dtype=np.float64):
    """Small counts and row weights; every feature occurs with every label, so that no optimum is at infinity."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_rows) % n_labels
    means = rng.gamma(2.0, 0.5, size=(n_labels, n_features))
    X = rng.poisson(means[y]) * (rng.random((n_rows, n_features)) < 0.7)
    X[:n_labels, :] = np.maximum(X[:n_labels], 1)
    return sparse.csr_matrix(X, dtype=dtype), y, rng.uniform(0.3, 2.0, size=n_rows)


def two_sided(n_labels, **options):
    """Values of both signs where there are counts."""
    X, y, weights = counts(n_labels, **options)
    rng = np.random.default_rng(9)
    means = rng.normal(size=(n_labels, X.shape[1]))
    X.data = (rng.normal(size=X.nnz) + 0.7 * means[np.repeat(y, np.diff(X.indptr)), X.indices]).astype(X.dtype)
    return X, y, weights


@functools.cache
def rows(kind, n_labels, n=60, n_features=25):
    """Labels that the features tell of, the last ones rare: with many labels a few rows each, which saturate."""
    rng = np.random.default_rng(n_labels)
    y = np.append(np.arange(n_labels), np.minimum(rng.geometric(0.2, n - n_labels) - 1, n_labels - 1))
    means = rng.gamma(0.3, 1.0, (n_labels, n_features))
    X = rng.poisson(means[y]).astype(np.float64)
    if kind == "tfidf":
        X *= np.log(n / (1 + (X > 0).sum(axis=0)))
        X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-9)
    elif kind == "dense unscaled":
        X = (X + rng.normal(size=X.shape)) * 10.0 ** rng.uniform(-2, 2, n_features)
    return sparse.csr_array(X), y


VARIANCE = np.array([0.1, 1.0, 10.0, 0.5, 2.0, 0.3, 3.0, 1.0])
MEAN = np.array([0.5, 0.0, -1.0, 0.2, 0.0, 0.0, -0.3, 1.0])
MEANS = np.random.default_rng(8).normal(size=(3, 8))
CUTOFF = np.array([1, 8, 10, 12, 9, 11, 10, 13])
# name: (number of labels, parameters of the estimator, are rows weighted?)
PROBLEMS = {
    "binary": (2, {}, False),
    "binary, weights": (2, {"C": 3.0, "class_weight": "balanced"}, True),
    "binary, no intercept": (2, {"C": 10.0, "fit_intercept": False}, False),
    "binary, priors": (2, {"prior_variance": VARIANCE, "prior_mean": MEAN}, True),
    "binary, no prior": (2, {"C": np.inf}, True),
    "binary, observed": (2, {"weights": "observed", "cutoff": CUTOFF}, False),
    "multinomial": (3, {}, False),
    "multinomial, weights": (3, {"C": 0.3, "class_weight": {0: 2.0, 2: 0.5}}, True),
    "multinomial, no intercept": (3, {"fit_intercept": False}, True),
    "multinomial, priors": (3, {"prior_variance": VARIANCE, "prior_mean": MEAN}, False),
    "multinomial, a mean for each weight": (3, {"prior_mean": MEANS}, True),
    "multinomial, no prior": (3, {"C": np.inf}, False),
    "multinomial, observed": (3, {"weights": "observed", "cutoff": CUTOFF}, True),
    "multinomial, observed, priors": (
        3,
        {"weights": "observed", "cutoff": CUTOFF, "prior_variance": VARIANCE, "prior_mean": MEAN},
        False,
    ),
    "multinomial, observed, no prior": (4, {"weights": "observed", "cutoff": 3, "C": np.inf}, False),
}
SPARSE = {
    "binary, L1": (2, {"C": 0.4, "l1_ratio": 1.0}, False),
    "binary, elastic net": (2, {"C": 0.2, "l1_ratio": 0.5}, True),
    "multinomial, L1": (3, {"C": 0.3, "l1_ratio": 1.0}, True),
    "multinomial, elastic net": (3, {"C": 0.2, "l1_ratio": 0.4, "fit_intercept": False}, False),
    "multinomial, observed, L1": (3, {"C": 0.3, "l1_ratio": 1.0, "weights": "observed", "cutoff": 9}, False),
}


@functools.cache
def posed(name):
    """(X, y, sample_weight, parameters, twin, optimal θ) of a problem."""
    n_labels, parameters, weighted = {**PROBLEMS, **SPARSE}[name]
    X, y, weights = counts(n_labels)
    weights = weights if weighted else None
    twin = twin_of(LogisticRegression(**parameters), X, y, weights)
    return X, y, weights, parameters, twin, twin.minimum()


def solve(name, solver, **options):
    """(fitted estimator, twin, optimal θ)."""
    X, y, weights, parameters, twin, best = posed(name)
    return tight(solver, **{**parameters, **options}).fit(X, y, sample_weight=weights), twin, best


def tight(solver="auto", **options):
    """To the optimum, as far as rounding lets one see it: by the gap or, without a prior, by the gradient."""
    without = np.isinf(options.get("C", 1.0)) or np.isinf(options.get("prior_variance", 1.0)).any()
    tol = 1e-8 if without else 1e-13
    return LogisticRegression(**{"solver": solver, "tol": tol, "max_iter": 20_000, **options})


def twin_of(model, X, y, sample_weight=None):
    """The naive twin with the estimator's parameters, for label numbers 0..K−1."""
    n_labels, params = int(np.max(y)) + 1, model.get_params()
    weights = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    pairs = None
    if params["weights"] == "observed":
        pairs = observed_pairs(X, y, n_labels, params["cutoff"], weights)
    if params["class_weight"] == "balanced":
        weights = weights * (weights.sum() / (n_labels * np.bincount(y, weights)))[y]
    elif params["class_weight"] is not None:
        weights = weights * np.array([params["class_weight"].get(k, 1.0) for k in range(n_labels)])[y]
    passed = {name: params[name] for name in ("C", "prior_variance", "prior_mean", "l1_ratio", "fit_intercept")}
    return Logistic(X, y, n_labels, sample_weight=weights, pairs=pairs, **passed)


def theta_of(model, twin):
    """The twin's parameters from `coef_` and `intercept_`."""
    return twin.theta(model.coef_, model.intercept_)


def excess(model, twin, best):
    """How far above the optimum the model is, relative to it; never more than rounding below."""
    optimum, reached = twin.objective(best), twin.objective(theta_of(model, twin))
    assert reached >= optimum - 1e-10 * twin.size()
    return (reached - optimum) / optimum


def assert_optimal(model, twin, best, rtol=1e-6, atol=1e-3):
    """The objective to `rtol`, the weights and probabilities to `atol`."""
    assert excess(model, twin, best) <= rtol
    theta = theta_of(model, twin)
    np.testing.assert_allclose(twin.proba(theta), twin.proba(best), atol=atol)
    if unique(twin):
        np.testing.assert_allclose(canonical(twin, theta), canonical(twin, best), rtol=atol, atol=atol)


def unique(twin):
    """Are there no other weights of the same objective, but for what `canonical` takes out?

    |θ₀ + c| + |θ₁ + c| is the same for many c: a pure L1 term needs one column, or an odd number of weights a feature.
    """
    penalised = twin.features < twin.n_features
    if np.isfinite(twin.variance[penalised]).all() or twin.columns == 1:
        return True
    return twin.dense and (twin.columns % 2 == 1 or not twin.l1.any())


def canonical(twin, theta):
    """One of all the weights with the same probabilities and prior: what can be added to all labels is taken out."""
    if twin.columns == 1:
        return twin.whole(theta)
    if twin.dense and not twin.l1.any():
        return twin.whole(twin.centred(theta))
    full = twin.whole(theta)
    full[:, -1] -= full[:, -1].mean()
    return full


def frozen(model):
    """All that a fit has left, for comparison."""
    fitted = {name: getattr(model, name) for name in dir(model) if name[-1] == "_" and name[0] != "_"}
    return {name: value.tobytes() if hasattr(value, "tobytes") else repr(value) for name, value in fitted.items()}
