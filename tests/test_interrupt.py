"""Ctrl-C: a fit on ten million non-zeros ends within half a second, and leaves the estimator as it was."""

import os
import signal
import threading
import time

import numpy as np
import pytest

from support import make, random_sparse, snapshot, text_like

pytestmark = pytest.mark.timing
LIMIT = 0.5
LONG = {"max_iter": 10**6, "tol": None, "shuffle": True, "random_state": 0}
LEARNERS = {
    "perceptron": ("perceptron", LONG),
    "averaged perceptron": ("perceptron", {**LONG, "average": True}),
    "passive aggressive": ("passive aggressive", LONG),
    "mira": ("mira", LONG),
    "log loss": ("sgd", LONG),
    "adagrad": ("sgd", {**LONG, "learning_rate": "adagrad", "penalty": "l1"}),
    "mini-batches": ("sgd", {**LONG, "batch_size": 32}),
    "naive bayes": ("naive bayes", {}),
}


@pytest.fixture(scope="module")
def ten_million():
    X, y = random_sparse(n_rows=100_000, n_features=100_000, row_length=100, n_labels=20, dtype=np.float32)
    np.abs(X.data, out=X.data)
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


@pytest.mark.parametrize("delay", [0.05, 0.6])
@pytest.mark.parametrize("name", LEARNERS)
def test_ctrl_c_ends_a_fit_and_leaves_the_estimator_as_it_was(ten_million, name, delay):
    X, y = ten_million
    kind, options = LEARNERS[name]
    small_X, small_y = text_like()
    model = make(kind).fit(small_X, small_y)
    model.set_params(**options)
    if kind == "naive bayes":  # a whole fit may be shorter than the delay: fit others until the signal, and this one
        assert interrupted_after(delay, lambda: make(kind).fit(X, y)) < LIMIT
        return
    before = snapshot(model)
    assert interrupted_after(delay, lambda: model.fit(X, y)) < LIMIT
    assert snapshot(model) == before
    np.testing.assert_array_equal(model.predict(small_X), make(kind).fit(small_X, small_y).predict(small_X))


@pytest.mark.parametrize("name", ["averaged perceptron", "log loss", "naive bayes"])
def test_ctrl_c_in_partial_fit_leaves_a_model_that_learns_on(ten_million, name):
    X, y = ten_million
    kind, options = LEARNERS[name]
    model = make(kind, **options).partial_fit(X[:1000], y[:1000])
    assert interrupted_after(0.3, lambda: model.partial_fit(X, y)) < LIMIT
    assert np.isfinite(model.partial_fit(X[:1000], y[:1000]).score(X[:1000], y[:1000]))


@pytest.mark.parametrize("name", ["perceptron", "log loss", "naive bayes"])
def test_ctrl_c_ends_a_prediction(ten_million, name):
    X, y = ten_million
    kind, _ = LEARNERS[name]
    model = make(kind, **({} if kind == "naive bayes" else {"max_iter": 1})).fit(X[:1000], y[:1000])
    assert interrupted_after(0.2, lambda: model.predict(X)) < LIMIT
