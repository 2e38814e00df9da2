"""What the test modules share: every estimator, its naive twin, and ways to say that two models are one."""

import contextlib
import inspect
import os
import signal
import threading
import time

import numpy as np
import pytest
from scipy import sparse

from fastlin import (
    AROWClassifier,
    MIRAClassifier,
    MultinomialNB,
    PassiveAggressiveClassifier,
    Perceptron,
    SGDClassifier,
)
from oracles.online import Online

PER_ESTIMATOR = {
    "perceptron": lambda **o: Perceptron(**plain(o)),
    "passive aggressive": lambda **o: PassiveAggressiveClassifier(**plain(o)),
    "mira": lambda **o: MIRAClassifier(**plain(o)),
    "arow": lambda **o: AROWClassifier(**plain(o)),
    "sgd": lambda **o: SGDClassifier(**plain({"loss": "log_loss", **o})),
    "naive bayes": lambda **o: MultinomialNB(**o),
}
ONLINE = [name for name in PER_ESTIMATOR if name != "naive bayes"]
EVERY = list(PER_ESTIMATOR)
# every kind of step and of lazy debt, for laws that must hold of all of them
ONLINE_OPTIONS = {
    "perceptron": ("perceptron", {}),
    "averaged perceptron": ("perceptron", {"average": True}),
    "PA-I": ("passive aggressive", {"C": 0.3}),
    "averaged PA-II": ("passive aggressive", {"loss": "squared_hinge", "average": True}),
    "MIRA": ("mira", {"C": 0.5}),
    "AROW": ("arow", {"r": 0.5}),
    "averaged AROW": ("arow", {"average": True}),
    "log loss": ("sgd", {}),
    "averaged log loss": ("sgd", {"average": True, "alpha": 0.01}),
    "squared hinge, elastic net": (
        "sgd",
        {"loss": "squared_hinge", "penalty": "elasticnet", "alpha": 0.01, "learning_rate": "constant"},
    ),
    "pegasos": ("sgd", {"loss": "hinge", "learning_rate": "pegasos", "alpha": 0.1, "project": True}),
    "adagrad": ("sgd", {"learning_rate": "adagrad", "eta0": 0.5, "alpha": 0.01}),
    "adagrad, L1": ("sgd", {"learning_rate": "adagrad", "eta0": 0.5, "penalty": "l1", "alpha": 0.01}),
    "FTRL": ("sgd", {"learning_rate": "ftrl", "eta0": 0.5, "penalty": "elasticnet", "alpha": 0.1}),
    "averaged FTRL, hinge": (
        "sgd",
        {"loss": "hinge", "learning_rate": "ftrl", "eta0": 0.5, "penalty": "l1", "alpha": 0.1, "average": True},
    ),
    "mini-batches": ("sgd", {"batch_size": 4, "learning_rate": "inverse", "eta0": 0.5}),
}


PREDICTIONS = ("predict", "decision_function", "predict_proba", "predict_log_proba", "predict_joint_log_proba")


def spread_rows(n_rows, n_columns, size, seed=0):
    """A CSR of rows of one size, whose columns lie as far apart as they can."""
    rng, stratum = np.random.default_rng(seed), n_columns // size
    indices = rng.integers(stratum, size=(n_rows, size)) + stratum * np.arange(size)
    indptr = np.arange(0, indices.size + 1, size)
    return sparse.csr_matrix((rng.normal(size=indices.size), indices.ravel(), indptr), shape=(n_rows, n_columns))


def plain(options):
    """Three epochs in the order given, unless said: no stopping, no warning, no chance."""
    return {"max_iter": 3, "tol": None, "shuffle": False, **options}


def make(name, **options):
    return PER_ESTIMATOR[name](**options)


def make_option(name, **options):
    estimator, chosen = ONLINE_OPTIONS[name]
    return make(estimator, **{**chosen, **options})


def twin_of(estimator, n_labels, n_features, **options):
    """The naive twin with the estimator's parameters."""
    params, name = estimator.get_params(), type(estimator).__name__
    if name == "PassiveAggressiveClassifier":
        if params["loss"] == "squared_hinge":
            params["rule"] = "pa2"
        else:
            params["rule"] = "pa" if np.isinf(params["C"]) else "pa1"
    elif params.get("learning_rate") in ("pa1", "pa2"):
        params |= {"rule": params["learning_rate"], "C": params["eta0"]}
    else:
        params["rule"] = {"Perceptron": "perceptron", "MIRAClassifier": "mira", "AROWClassifier": "arow"}.get(
            name
        ) or params["loss"]
    params["targets"] = name == "SGDRegressor"
    known = inspect.signature(Online).parameters
    return Online(n_labels, n_features, **{k: v for k, v in {**params, **options}.items() if k in known})


def assert_same_model(estimator, twin, rtol=1e-9, atol=1e-11):
    """Equal to rounding: `rtol` of a weight, or `atol` of the largest weight that training went through.

    A lazily kept weight is a sum or product of as many terms as the eager one, in another order: its error is a few
    units of 2.2e-16 a step, over at most some thousand steps.
    """
    atol = atol * max(twin.largest, np.abs(twin.model).max())
    np.testing.assert_allclose(np.reshape(estimator.coef_, twin.coef.shape), twin.coef, rtol=rtol, atol=atol)
    np.testing.assert_allclose(np.ravel(estimator.intercept_), twin.intercept, rtol=rtol, atol=atol)
    assert estimator.t_ == twin.t + 1


def assert_same_bits(one, other):
    """The same weights, bit for bit."""
    for name in ("coef_", "intercept_", "feature_log_prob_", "class_log_prior_", "classes_"):
        assert hasattr(one, name) == hasattr(other, name)
        if hasattr(one, name):
            np.testing.assert_array_equal(
                getattr(one, name), getattr(other, name), err_msg=name, strict=name != "classes_"
            )


def frozen_state(estimator):
    """The exported state, for comparison."""
    return {name: (array.dtype.str, array.shape, array.tobytes()) for name, array in estimator.get_state().items()}


def snapshot(estimator):
    """All that training can change, frozen for comparison; read first, so that what is postponed is settled."""
    if hasattr(estimator, "classes_"):
        _ = getattr(estimator, "coef_", None)
    public = {name: repr(value) for name, value in vars(estimator).items() if name[0] != "_" and name[-1] == "_"}
    return {**public, **frozen_state(estimator)} if hasattr(estimator, "classes_") else public


@contextlib.contextmanager
def refused(estimator, *errors, match=None):
    """The call raises, and leaves the estimator as it was."""
    before = snapshot(estimator)
    with pytest.raises(errors or (ValueError, TypeError), match=match):
        yield
    assert snapshot(estimator) == before


def refuse_everywhere(name, bad, X, y, match):
    """Refused by a new estimator and by a fitted one, by whatever looks at X; and good X still works."""
    for method in ("fit", "partial_fit"):
        for model in (make(name), make(name).fit(X, y)):
            with refused(model, match=match):
                getattr(model, method)(bad, y)
    model = make(name).fit(X, y)
    for method in PREDICTIONS:
        if hasattr(model, method):
            with refused(model, match=match):
                getattr(model, method)(bad)
    untouched = make(name).fit(X, y)
    snapshot(untouched)  # what was postponed is settled in both
    assert_same_bits(model.partial_fit(X, y), untouched.partial_fit(X, y))


def text_like(n_rows=60, n_features=30, n_labels=3, seed=0, dtype=np.float64, density=0.2):
    """Counts that say something about their labels; each label occurs."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_rows) % n_labels
    topics = rng.gamma(0.3, size=(n_labels, n_features)) + 0.02
    topics /= topics.sum(axis=1, keepdims=True)
    X = np.array([rng.multinomial(int(density * n_features) + 1, topics[k]) for k in y])
    return sparse.csr_matrix(X, dtype=dtype), y


def random_sparse(n_rows, n_features, row_length, n_labels, seed=0, dtype=np.float64):
    """Large, quick to make, canonical: row_length features a row, no duplicates."""
    rng = np.random.default_rng(seed)
    gap = n_features // row_length
    indices = np.arange(row_length) * gap + rng.integers(0, gap, size=(n_rows, row_length))
    X = sparse.csr_matrix((n_rows, n_features), dtype=dtype)
    X.data = rng.normal(size=n_rows * row_length).astype(dtype)
    X.indices = indices.ravel().astype(np.int32)
    X.indptr = (np.arange(n_rows + 1) * row_length).astype(np.int32)
    y = rng.integers(0, n_labels, size=n_rows)
    y[:n_labels] = np.arange(n_labels)
    return X, y


def for_ever(call):
    """A call shorter than the delay is made again."""
    while True:
        call()


def interrupted_after(delay, call):
    """Send SIGINT to this process while `call` runs; the seconds from the signal to its return."""
    sent = []

    def press():
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(delay, press)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            for_ever(call)
        return time.perf_counter() - sent[0]
    finally:
        timer.cancel()
        timer.join()
