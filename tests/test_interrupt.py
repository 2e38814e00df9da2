"""Ctrl-C: a fit on ten million non-zeros ends within half a second, and leaves the estimator as it was."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from fastlin import LogisticRegression
from fastlin.optim import epochs
from fastlin.runtime import parallel
from fastlin.validation import as_rows
from support.estimators import assert_same_bits, interrupted_after, make, random_sparse, refused, snapshot, text_like
from support.logistic_problems import frozen

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


@pytest.mark.timing
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


@pytest.mark.timing
@pytest.mark.parametrize("name", ["averaged perceptron", "log loss", "naive bayes"])
def test_ctrl_c_in_partial_fit_leaves_a_model_that_learns_on(ten_million, name):
    X, y = ten_million
    kind, options = LEARNERS[name]
    model = make(kind, **options).partial_fit(X[:1000], y[:1000])
    assert interrupted_after(0.3, lambda: model.partial_fit(X, y)) < LIMIT
    assert np.isfinite(model.partial_fit(X[:1000], y[:1000]).score(X[:1000], y[:1000]))


@pytest.mark.timing
@pytest.mark.parametrize("delay", [0.05, 1.5])
@pytest.mark.parametrize("solver", ["auto", "gd", "cg", "newton", "lbfgs", "gis", "iis", "sgd", "adagrad"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_ctrl_c_ends_a_batch_fit_and_leaves_the_estimator_as_it_was(ten_million, solver, delay):
    X, y = ten_million
    small_X, small_y = text_like()
    model = LogisticRegression(max_iter=1000).fit(small_X, small_y)
    before = frozen(model)
    model.set_params(solver=solver, tol=0.0, max_iter=10**6, random_state=0)
    assert interrupted_after(delay, lambda: model.fit(X, y)) < LIMIT
    assert frozen(model) == before


def interrupted_in_the_second_block(monkeypatch, module, name, model, X, y):
    """Ctrl-C where it acts: between the first and the second piece of work that the kernels are given."""
    kernel, calls = getattr(module, name), []

    def once(*arguments):
        if calls:
            raise KeyboardInterrupt
        calls.append(arguments)
        return kernel(*arguments)

    monkeypatch.setattr(module, name, once)
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X, y)
    monkeypatch.undo()


@pytest.mark.parametrize("fitted", [False, True])
@pytest.mark.parametrize("new_label", [False, True])
@pytest.mark.parametrize("name", ["perceptron", "averaged perceptron", "log loss", "adagrad"])
def test_ctrl_c_in_partial_fit_keeps_the_last_whole_block(monkeypatch, name, fitted, new_label):
    kind, options = LEARNERS[name]
    X, y = text_like()
    later_X, later_y = text_like(seed=1, n_labels=4 if new_label else 3)
    options = {**options, "shuffle": False}
    model, expected = make(kind, **options), make(kind, **options)
    if fitted:
        model.partial_fit(X, y)
        expected.partial_fit(X, y)
    monkeypatch.setattr(epochs, "BUDGET", 1)
    interrupted_in_the_second_block(monkeypatch, epochs.online, "run", model, later_X, later_y)
    learnt = model.t_ - (expected.t_ if fitted else 1)
    assert 1 <= learnt < 60
    expected.partial_fit(later_X[:learnt], later_y[:learnt], classes=np.unique(later_y))
    assert model.classes_.tolist() == expected.classes_.tolist()
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(model.intercept_, expected.intercept_, rtol=1e-12, atol=1e-15)
    assert not model.converged_
    assert np.isfinite(model.partial_fit(X, y).coef_).all()


@pytest.mark.parametrize("fitted", [False, True])
def test_ctrl_c_in_counting_keeps_whole_blocks(monkeypatch, fitted):
    X, y = text_like()
    model, expected = make("naive bayes"), make("naive bayes")
    if fitted:
        model.partial_fit(X, y)
        model.predict(X)
        expected.partial_fit(X, y)
    monkeypatch.setattr(parallel, "BLOCK_WORK", 50)
    _, learnt = next(parallel.row_blocks(as_rows(X), 1))
    interrupted_in_the_second_block(monkeypatch, parallel.passes, "class_counts", model, X, y)
    expected.partial_fit(X[:learnt], y[:learnt], classes=np.unique(y))
    assert_same_bits(model, expected)
    np.testing.assert_array_equal(model.class_count_, expected.class_count_)
    np.testing.assert_array_equal(model.feature_count_, expected.feature_count_)


@pytest.mark.parametrize("name", [name for name in LEARNERS if name != "naive bayes"])
def test_an_error_in_the_first_partial_fit_leaves_the_estimator_unfitted(name):
    X, y = text_like()
    kind, options = LEARNERS[name]

    def fails(model, record):
        raise ValueError("no more")

    model = make(kind, **options, callback=fails)
    with refused(model, ValueError, match="no more"):
        model.partial_fit(X, y)
    assert not hasattr(model, "classes_")
    assert not hasattr(model, "coef_")
    with pytest.raises(NotFittedError):
        model.predict(X)


@pytest.mark.timing
@pytest.mark.parametrize("name", ["perceptron", "log loss", "naive bayes"])
def test_ctrl_c_ends_a_prediction(ten_million, name):
    X, y = ten_million
    kind, _ = LEARNERS[name]
    model = make(kind, **({} if kind == "naive bayes" else {"max_iter": 1})).fit(X[:1000], y[:1000])
    assert interrupted_after(0.2, lambda: model.predict(X)) < LIMIT
