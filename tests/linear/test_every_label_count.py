"""Kernels are built for a constant number of labels: every count is a program of its own, and every one is tried."""

import numpy as np
import pytest

from support.estimators import assert_same_bits, assert_same_model, make, random_sparse, text_like, twin_of

LABEL_COUNTS = [*range(2, 41), 48, 63, 64, 65, 100, 130]
every_count = pytest.mark.parametrize("n_labels", LABEL_COUNTS)
both_types = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def tolerances(dtype):
    """A float32 weight carries 6e-8 of rounding a step, over a few hundred steps."""
    return {"rtol": 1e-3, "atol": 1e-4} if dtype == np.float32 else {}


def data(n_labels, dtype):
    return text_like(n_rows=2 * n_labels + 17, n_features=23, n_labels=n_labels, seed=n_labels, dtype=dtype)


def check(estimator, n_labels, dtype, exact=False):
    X, y = data(n_labels, dtype)
    twin = twin_of(estimator, n_labels, X.shape[1])
    twin.fit(X, y, [range(X.shape[0])] * estimator.max_iter)
    estimator.fit(X, y)
    assert estimator.coef_.dtype == dtype
    assert estimator.coef_.shape == (1 if n_labels == 2 else n_labels, X.shape[1])
    if exact:
        np.testing.assert_array_equal(estimator.coef_, twin.coef)
    assert_same_model(estimator, twin, **tolerances(dtype))


@every_count
@both_types
@pytest.mark.parametrize("average", [False, True])
def test_perceptron_at_every_label_count(n_labels, dtype, average):
    check(make("perceptron", average=average, intercept_decay=1.0), n_labels, dtype, exact=not average)


@every_count
@both_types
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"average": True},
        {"learning_rate": "adagrad", "eta0": 0.1},
        {"batch_size": 5},
        {"penalty": "elasticnet", "alpha": 1e-2, "learning_rate": "constant"},
    ],
    ids=str,
)
def test_log_loss_at_every_label_count(n_labels, dtype, options):
    check(make("sgd", **{"alpha": 0.1, **options}), n_labels, dtype)


@every_count
@both_types
def test_mira_at_every_label_count(n_labels, dtype):
    check(make("mira", C=0.02), n_labels, dtype)


@every_count
@both_types
def test_scores_are_x_times_coef_at_every_label_count(n_labels, dtype):
    X, y = data(n_labels, dtype)
    for model in (make("perceptron").fit(X, y), make("sgd").fit(X, y)):
        scores = X.toarray().astype(np.float64) @ model.coef_.T.astype(np.float64) + model.intercept_
        found = model.decision_function(X)
        scores = scores[:, 0] if n_labels == 2 else scores
        np.testing.assert_allclose(found, scores, **(tolerances(dtype) or {"rtol": 1e-11, "atol": 1e-11}))
        best = found > 0 if n_labels == 2 else found.argmax(axis=1)
        np.testing.assert_array_equal(model.predict(X), best.astype(int))


@every_count
def test_probabilities_sum_to_one_at_every_label_count(n_labels):
    X, y = data(n_labels, np.float64)
    model = make("sgd").fit(X, y)
    scores = model.decision_function(X)
    scores = np.column_stack([np.zeros(len(scores)), scores]) if n_labels == 2 else scores
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    expected = odds / odds.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(X), expected, rtol=1e-10, atol=1e-15)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), expected, rtol=1e-10, atol=1e-15)


@every_count
@both_types
def test_naive_bayes_counts_at_every_label_count(n_labels, dtype):
    X, y = data(n_labels, dtype)
    model = make("naive bayes").fit(X, y)
    counts = np.zeros((n_labels, X.shape[1]))
    np.add.at(counts, y, X.toarray())
    np.testing.assert_array_equal(model.feature_count_, counts)
    np.testing.assert_array_equal(model.class_count_, np.bincount(y))
    joint = X.toarray() @ model.feature_log_prob_.T + model.class_log_prior_
    np.testing.assert_allclose(model.predict_joint_log_proba(X), joint, rtol=1e-9)


@pytest.mark.parametrize("name", ["perceptron", "sgd", "naive bayes"])
@pytest.mark.parametrize("n_labels", [2, 3, 20, 41])
def test_n_jobs_never_changes_a_bit(name, n_labels):
    X, y = random_sparse(n_rows=30_000, n_features=2_000, row_length=20, n_labels=n_labels)
    X.data = np.abs(X.data)
    options = {} if name == "naive bayes" else {"max_iter": 1, "average": True}
    models = [make(name, n_jobs=n_jobs, **options).fit(X, y) for n_jobs in (None, 1, 2, 3, -1)]
    methods = [
        m for m in ("predict", "decision_function", "predict_proba", "predict_joint_log_proba") if hasattr(models[0], m)
    ]
    for model in models[1:]:
        assert_same_bits(model, models[0])
        for method in methods:
            np.testing.assert_array_equal(getattr(model, method)(X), getattr(models[0], method)(X), err_msg=method)
