"""What things cost: an update never depends on the number of features, and fitting copies nothing."""

import time  # of the processor: what else runs on the machine is no cost of ours
import tracemalloc

import numpy as np
import pytest

from fastlin.validation import as_rows
from support.estimators import make, random_sparse

pytestmark = pytest.mark.timing
V = 10**7
SPARSE_UPDATES = {
    "perceptron": ("perceptron", {}),
    "averaged perceptron": ("perceptron", {"average": True}),
    "passive aggressive": ("passive aggressive", {}),
    "averaged passive aggressive": ("passive aggressive", {"average": True}),
    "mira": ("mira", {}),
    "log loss, L2": ("sgd", {}),
    "log loss, L2, averaged": ("sgd", {"average": True}),
    "L1": ("sgd", {"penalty": "l1"}),
    "elastic net": ("sgd", {"penalty": "elasticnet"}),
    "adagrad": ("sgd", {"learning_rate": "adagrad"}),
    "adagrad, averaged": ("sgd", {"learning_rate": "adagrad", "average": True}),
    "pegasos": ("sgd", {"loss": "hinge", "learning_rate": "pegasos"}),
    "pegasos, projected": ("sgd", {"loss": "hinge", "learning_rate": "pegasos", "project": True}),
    "mini-batches": ("sgd", {"batch_size": 10}),
    # ninety decades of shrinkage a call: what no single scale can hold must be mended without a pass over the weights
    "constant rate, strong L2": ("sgd", {"learning_rate": "constant", "eta0": 0.1, "alpha": 9.0}),
    "constant rate, strong L2, averaged": (
        "sgd",
        {"learning_rate": "constant", "eta0": 0.1, "alpha": 9.0, "average": True},
    ),
    "constant rate, strong elastic net": (
        "sgd",
        {"learning_rate": "constant", "eta0": 0.1, "alpha": 9.0, "penalty": "elasticnet", "l1_ratio": 0.001},
    ),
}


@pytest.mark.parametrize("name", SPARSE_UPDATES)
def test_a_hundred_rows_on_ten_million_features_take_less_than_two_milliseconds(name):
    """The median, so that a pass over the weights every second call would show as well."""
    kind, options = SPARSE_UPDATES[name]
    model = make(kind, **options)
    X, y = random_sparse(n_rows=100, n_features=V, row_length=30, n_labels=2)
    model.partial_fit(X, y)
    seconds = []
    for _ in range(25):
        start = time.process_time()
        model.partial_fit(X, y)
        seconds.append(time.process_time() - start)
    assert np.median(seconds) < 0.002
    assert np.isfinite(model.coef_[0, X.indices]).all()


def peak_of(call):
    tracemalloc.start()
    try:
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        call()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "name, options, tables",
    [
        ("perceptron", {}, 1),
        ("perceptron", {"average": True}, 3),
        ("passive aggressive", {}, 1),
        ("mira", {}, 1),
        ("sgd", {}, 1),
        ("sgd", {"learning_rate": "adagrad"}, 3),
        ("sgd", {"shuffle": True, "random_state": 0}, 1),
        ("naive bayes", {}, 2),
    ],
)
def test_fit_makes_no_copy_of_the_matrix(name, options, tables, dtype):
    """Peak memory: the weights and the step's state, and less than either array of the matrix beside them.

    The state: float64 tables as large as the weights and, under an average, a number for each row and label.
    """
    n_labels, n_features = 20, 5_000
    X, y = random_sparse(n_rows=10_000, n_features=n_features, row_length=200, n_labels=n_labels, dtype=dtype)
    np.abs(X.data, out=X.data)
    model, state = make(name, **options), tables * 1.5 * n_labels * n_features * 8
    state += X.shape[0] * n_labels * 8 if options.get("average") else 0
    assert peak_of(lambda: model.fit(X, y)) <= state + 2_000_000 < state + X.indices.nbytes


@pytest.mark.parametrize("name", ["perceptron", "sgd", "naive bayes"])
def test_prediction_makes_no_copy_of_the_matrix(name):
    X, y = random_sparse(n_rows=10_000, n_features=5_000, row_length=200, n_labels=2)
    np.abs(X.data, out=X.data)
    model = make(name).fit(X, y)
    model.predict(X[:10])
    assert peak_of(lambda: model.predict(X)) <= 10_000 * 2 * 8 * 2 + 1_000_000


def test_the_proof_that_a_matrix_is_well_formed_costs_a_nanosecond_a_non_zero():
    """The last index of all is looked at, and nothing is copied."""
    X, _ = random_sparse(n_rows=50_000, n_features=1_000, row_length=100, n_labels=2)
    seconds = []
    for _ in range(7):
        start = time.process_time()
        rows = as_rows(X)
        seconds.append(time.process_time() - start)
    assert min(seconds) < 1e-9 * X.nnz + 2e-3
    assert np.shares_memory(rows.values, X.data)
    X.indices[-1] = 1_000
    with pytest.raises(ValueError, match="1000"):
        as_rows(X)
