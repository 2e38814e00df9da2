"""The life of an online estimator: stopping, callbacks, records, warm starts, state, copies, and forms of input."""

import io
import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import SGDClassifier as Peer

from fastlin import MIRAClassifier, PassiveAggressiveClassifier, Perceptron, SGDClassifier
from support.estimators import (
    EVERY,
    ONLINE,
    ONLINE_OPTIONS,
    assert_same_bits,
    assert_same_model,
    frozen_state,
    make,
    make_option,
    refused,
    text_like,
    twin_of,
)

every_option = pytest.mark.parametrize("name", ONLINE_OPTIONS)
online = pytest.mark.parametrize("name", ONLINE)
every = pytest.mark.parametrize("name", EVERY)


# --- forms of input --------------------------------------------------------------------------------------------------


FORMS = {
    "csr_matrix": sparse.csr_matrix,
    "csr_array": sparse.csr_array,
    "csc_matrix": sparse.csc_matrix,
    "csc_array": sparse.csc_array,
    "coo_matrix": sparse.coo_matrix,
    "coo_array": sparse.coo_array,
    "lil": sparse.lil_matrix,
    "dok": sparse.dok_matrix,
    "bsr": sparse.bsr_matrix,
    "dia": sparse.dia_matrix,
    "dense": lambda X: X.toarray(),
    "dense by columns": lambda X: np.asfortranarray(X.toarray()),
    "dense, reversed strides": lambda X: X.toarray()[:, ::-1].copy()[:, ::-1],
    "lists": lambda X: X.toarray().tolist(),
    "integers": lambda X: X.astype(np.int64),
    "unsigned bytes": lambda X: X.astype(np.uint8),
    "booleans": lambda X: X.astype(bool),
    "dense integers": lambda X: X.toarray().astype(np.int32),
    "pandas": lambda X: pd.DataFrame(X.toarray(), columns=names(X)),
    "pandas, sparse": lambda X: pd.DataFrame.sparse.from_spmatrix(X, columns=names(X)),
}


def names(X):
    return [f"word {j}" for j in range(X.shape[1])]


@pytest.mark.parametrize("form", FORMS)
@every
def test_one_matrix_in_any_form_is_one_model(name, form):
    X, y = text_like()
    X.data[:] = 1.0  # so that booleans say the same
    decayed = name in ("sgd", "perceptron", "passive aggressive")  # whose default tells dense rows from sparse ones
    options = {"intercept_decay": 0.3} if decayed else {}
    model, converted = make(name, **options).fit(X, y), FORMS[form](X)
    other = make(name, **options).fit(converted, y)
    assert_same_bits(other, model)
    np.testing.assert_array_equal(other.predict(converted), model.predict(X))
    assert_same_bits(make(name, **options).partial_fit(converted, y), make(name, **options).partial_fit(X, y))
    if form.startswith("pandas"):
        np.testing.assert_array_equal(other.feature_names_in_, names(X))


@online
def test_weights_have_the_type_of_the_data_or_the_one_asked_for(name):
    for given, asked, found in [
        (np.float32, None, np.float32),
        (np.float64, None, np.float64),
        (np.int32, None, np.float64),
        (np.float64, "float32", np.float32),
        (np.float32, np.float64, np.float64),
    ]:
        X, y = text_like(dtype=given)
        assert make(name, dtype=asked).fit(X, y).coef_.dtype == found


@every_option
def test_float32_learns_what_float64_learns(name):
    X, y = text_like(n_rows=90)
    single, double = make_option(name).fit(X.astype(np.float32), y), make_option(name).fit(X, y)
    atol = 2e-4 * np.abs(double.coef_).max()
    np.testing.assert_allclose(single.coef_, double.coef_, rtol=2e-3, atol=atol)


# --- when to stop ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_iter_no_change", [1, 2, 5])
@pytest.mark.parametrize("learning_rate", ["invscaling", "adaptive"])
def test_a_fit_stops_when_the_loss_no_longer_falls_by_tol(n_iter_no_change, learning_rate):
    X, y = text_like()
    model = make(
        "sgd",
        penalty=None,
        learning_rate=learning_rate,
        eta0=0.5,
        tol=1e-3,
        max_iter=500,
        n_iter_no_change=n_iter_no_change,
    )
    twin = twin_of(model, 3, X.shape[1])
    n_epochs = twin.fit(X, y, [range(len(y))] * 500, tol=1e-3, n_iter_no_change=n_iter_no_change)
    assert model.fit(X, y).n_iter_ == n_epochs < 500
    assert model.converged_
    assert_same_model(model, twin)


@online
def test_reaching_max_iter_warns_and_is_no_convergence(name):
    X, y = text_like()
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model = make(name, tol=1e-9, max_iter=2).fit(X, y)
    assert model.n_iter_ == 2
    assert not model.converged_


@online
def test_early_stopping_heeds_the_given_validation_set(name):
    X, y = text_like(n_rows=90)
    X, X_val, y, y_val = X[:60], X[60:], y[:60], y[60:]
    model = make(name, early_stopping=True, tol=0.02, n_iter_no_change=2, max_iter=200).fit(
        X, y, X_val=X_val, y_val=y_val
    )
    twin, scores, best, unimproved = twin_of(model, 3, X.shape[1]), [], -np.inf, 0
    while unimproved < 2:
        twin.epoch(X, y, range(60))
        scores.append(np.mean(twin.predict(X_val) == y_val))
        unimproved = unimproved + 1 if scores[-1] < best + 0.02 else 0
        best = max(best, scores[-1])
    assert [record["validation_score"] for record in model.history_] == pytest.approx(scores)
    assert_same_model(model, twin)


@online
def test_a_validation_set_without_early_stopping_is_only_reported(name):
    X, y = text_like()
    with_set, without = make(name).fit(X, y, X_val=X[:20], y_val=y[:20]), make(name).fit(X, y)
    np.testing.assert_allclose(with_set.coef_, without.coef_, rtol=1e-9, atol=1e-12)
    assert with_set.history_[-1]["validation_score"] == pytest.approx(with_set.score(X[:20], y[:20]))
    assert "validation_score" not in without.history_[-1]


@online
def test_early_stopping_on_a_fraction_learns_from_the_rest_only(name):
    X, y = text_like(n_rows=200, n_labels=4)
    models = [
        make(
            name,
            early_stopping=True,
            validation_fraction=0.25,
            tol=1e-3,
            n_iter_no_change=2,
            max_iter=100,
            random_state=seed,
            shuffle=True,
        ).fit(X, y)
        for seed in (0, 0, 1)
    ]
    assert models[0].n_iter_ < 100
    assert models[0].t_ == 1 + 150 * models[0].n_iter_
    assert_same_bits(models[0], models[1])
    assert not np.array_equal(models[0].coef_, models[2].coef_)
    assert all(0 <= record["validation_score"] <= 1 for record in models[0].history_)


# --- records and callbacks -------------------------------------------------------------------------------------------


@every_option
def test_history_has_one_record_an_epoch(name):
    X, y = text_like()
    model = make_option(name, max_iter=4).fit(X, y)
    assert [record["epoch"] for record in model.history_] == [1, 2, 3, 4]
    for record in model.history_:
        assert record["seconds"] >= 0
        assert 0 <= record["updates"] <= len(y)
        assert record["objective"] == pytest.approx(record["loss"] * len(y))
    assert model.n_iter_ == 4
    assert model.t_ == 1 + 4 * len(y)
    assert model.objective_ == model.history_[-1]["objective"]


def test_the_loss_of_an_epoch_is_weighted_and_divided_by_the_number_of_rows():
    """With steps that move nothing, every row's loss is log 3."""
    X, y = text_like(n_labels=3)
    weights = np.random.default_rng(0).uniform(0, 2, size=len(y))
    weights[:5] = 0
    model = make("sgd", penalty=None, learning_rate="constant", eta0=1e-15).fit(X, y, sample_weight=weights)
    for record in model.history_:
        assert record["objective"] == pytest.approx(np.log(3) * weights.sum(), rel=1e-9)
        assert record["loss"] == pytest.approx(np.log(3) * weights.sum() / len(y), rel=1e-9)
        assert record["updates"] == len(y) - 5


@every_option
def test_a_callback_sees_a_model_that_predicts_and_may_stop_it(name):
    X, y = text_like()
    seen = []

    def callback(model, record):
        seen.append((record["epoch"], model.predict(X), model.score(X, y), model.coef_.copy()))
        return len(seen) == 2

    model = make_option(name, max_iter=9, callback=callback).fit(X, y)
    assert [epoch for epoch, *_ in seen] == [1, 2]
    assert model.n_iter_ == 2
    without = make_option(name, max_iter=2).fit(X, y)
    np.testing.assert_allclose(model.coef_, without.coef_, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(seen[-1][3], model.coef_)


@online
def test_a_callback_that_fails_leaves_the_estimator_as_it_was(name):
    X, y = text_like()

    def fails(model, record):
        raise RuntimeError("no more")

    for model in (make(name, callback=fails), make(name).fit(X, y).set_params(callback=fails)):
        with refused(model, RuntimeError, match="no more"):
            model.fit(X[:, :10], y)


@online
def test_verbose_prints_a_line_an_epoch(name, capsys):
    X, y = text_like()
    make(name, verbose=0).fit(X, y)
    assert capsys.readouterr().out == ""
    make(name, verbose=1, max_iter=3).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    for epoch, line in enumerate(lines, start=1):
        assert str(epoch) in line
        assert "update" in line
        assert "loss" in line


# --- starting from weights -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_labels", [2, 4])
@every_option
def test_a_fit_starts_from_the_given_weights(name, n_labels):
    X, y = text_like(n_labels=n_labels)
    rng = np.random.default_rng(0)
    columns = 1 if n_labels == 2 else n_labels
    coef, intercept = rng.normal(size=(columns, X.shape[1])), rng.normal(size=columns)
    model = make_option(name, max_iter=1)
    twin = twin_of(model, n_labels, X.shape[1])
    twin.start(np.column_stack([coef, intercept]))
    model.fit(X, y, coef_init=coef, intercept_init=intercept)
    assert_same_model(model, twin.epoch(X, y, range(len(y))), rtol=1e-8)


@pytest.mark.parametrize("name", ["perceptron", "passive aggressive", "mira"])
def test_a_warm_start_goes_on_where_the_last_fit_ended(name):
    X, y = text_like()
    warm = make(name, warm_start=True, max_iter=2)
    warm.fit(X, y)
    warm.fit(X, y)
    np.testing.assert_allclose(warm.coef_, make(name, max_iter=4).fit(X, y).coef_, rtol=1e-12, atol=1e-14)
    cold = make(name, max_iter=2).fit(X, y)
    assert_same_bits(cold.fit(X, y), make(name, max_iter=2).fit(X, y))


# --- state and copies ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["numbers", "strings"])
@pytest.mark.parametrize("name", [*ONLINE_OPTIONS, "naive bayes"])
def test_state_comes_back_equal_and_learns_on_with_the_same_bits(name, kind):
    X, y = text_like()
    y = y if kind == "numbers" else np.array(["ham", "spam", "eggs"])[y]
    options = {} if name == "naive bayes" else {"shuffle": True, "random_state": 4}
    fresh = make(name) if name == "naive bayes" else make_option(name, **options)
    model = clone(fresh).partial_fit(X, y).partial_fit(X[:13], y[:13])
    file = io.BytesIO()
    np.savez(file, allow_pickle=False, **model.get_state())
    file.seek(0)
    with np.load(file, allow_pickle=False) as arrays:
        copy = clone(fresh)
        copy.set_state(dict(arrays))
    assert_same_bits(copy, model)
    assert frozen_state(copy) == frozen_state(model)
    np.testing.assert_array_equal(copy.predict(X), model.predict(X))
    for rows in (slice(20, 50), slice(0, 60)):
        assert_same_bits(copy.partial_fit(X[rows], y[rows]), model.partial_fit(X[rows], y[rows]))


@pytest.mark.parametrize("name", [*ONLINE_OPTIONS, "naive bayes"])
def test_state_is_a_copy(name):
    X, y = text_like()
    model = (make(name) if name == "naive bayes" else make_option(name)).partial_fit(X, y)
    before, state = frozen_state(model), model.get_state()
    assert all(isinstance(array, np.ndarray) for array in state.values())
    model.set_state(state)
    for array in state.values():
        array.fill(0)
    assert frozen_state(model) == before


@every
def test_a_state_that_cannot_be_is_refused(name):
    X, y = text_like()
    model = make(name).partial_fit(X, y)
    state = model.get_state()
    largest = max(state, key=lambda key: state[key].size)
    for wrong in (
        {},
        {key: state[key] for key in state if key != largest},
        {**state, largest: state[largest].ravel()[:-1]},
    ):
        with refused(model):
            model.set_state(wrong)


@pytest.mark.parametrize("name", [*ONLINE_OPTIONS, "naive bayes"])
def test_a_pickled_model_is_the_same_and_learns_on(name, tmp_path):
    X, y = text_like()
    model = (make(name) if name == "naive bayes" else make_option(name)).partial_fit(X, y)
    joblib.dump(model, tmp_path / "model")
    for copy in (pickle.loads(pickle.dumps(model)), joblib.load(tmp_path / "model")):
        assert_same_bits(copy, model)
        assert_same_bits(copy.partial_fit(X, y), pickle.loads(pickle.dumps(model)).partial_fit(X, y))
    mapped = joblib.load(tmp_path / "model", mmap_mode="r")
    np.testing.assert_array_equal(mapped.predict(X), model.predict(X))


@every
def test_a_clone_has_the_parameters_and_nothing_else(name):
    X, y = text_like()
    model = make(name).fit(X, y)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    check_unfitted(copy, X)
    check_unfitted(make(name), X)


def check_unfitted(model, X):
    """NotFittedError from whatever needs a fit; and, as it is an AttributeError, nothing that a fit would have left."""
    for method in ("predict", "decision_function", "predict_proba", "predict_log_proba", "predict_joint_log_proba"):
        if hasattr(model, method):
            with pytest.raises(NotFittedError, match="not fitted"):
                getattr(model, method)(X)
    for method in ("get_state", "sparsify", "densify"):
        if hasattr(model, method):
            with pytest.raises(NotFittedError, match="not fitted"):
                getattr(model, method)()
    for attribute in (
        "coef_",
        "intercept_",
        "t_",
        "classes_",
        "feature_count_",
        "feature_log_prob_",
        "class_log_prior_",
    ):
        assert not hasattr(model, attribute)


@online
def test_sparsified_weights_predict_the_same(name):
    X, y = text_like()
    model = make(name).fit(X, y)
    predicted, weights = model.predict(X), model.coef_.copy()
    model.sparsify()
    assert sparse.issparse(model.coef_)
    np.testing.assert_array_equal(model.predict(X), predicted)
    model.densify()
    np.testing.assert_array_equal(model.coef_, weights)
    model.sparsify()
    with pytest.raises(ValueError, match="densify"):
        model.partial_fit(X, y)
    model.densify().partial_fit(X, y)


def test_probabilities_belong_to_the_log_loss():
    X, y = text_like()
    assert not hasattr(SGDClassifier(loss="hinge"), "predict_proba")
    assert not hasattr(make("perceptron"), "predict_proba")
    for n_labels in (2, 3):
        model = make("sgd").fit(X, y % n_labels)
        proba = model.predict_proba(X)
        assert proba.shape == (len(y), n_labels)
        np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=1e-12)
        np.testing.assert_array_equal(model.predict(X), proba.argmax(axis=1))
        np.testing.assert_allclose(model.predict_log_proba(X), np.log(proba), rtol=1e-9, atol=1e-12)


# --- the intercept's share of a step ---------------------------------------------------------------------------------


@pytest.mark.parametrize("learner", [SGDClassifier, Perceptron, PassiveAggressiveClassifier, MIRAClassifier])
def test_without_a_decay_given_sparse_rows_damp_the_intercept_and_dense_ones_do_not(learner):
    X, y = text_like()
    options = {"max_iter": 2, "tol": None, "shuffle": False}
    dense, sparse = (learner(intercept_decay=None, **options).fit(rows, y) for rows in (X.toarray(), X))
    assert_same_bits(dense, learner(intercept_decay=1.0, **options).fit(X, y))
    assert_same_bits(sparse, learner(intercept_decay=0.01, **options).fit(X.toarray(), y))
    assert np.abs(sparse.intercept_).max() < np.abs(dense.intercept_).max()


def test_the_intercept_of_two_labels_is_scikit_learns():
    X, y = text_like(n_labels=2)
    for rows in (X, X.toarray()):
        options = {"max_iter": 3, "tol": None, "shuffle": False, "learning_rate": "constant", "eta0": 0.1}
        ours, theirs = SGDClassifier(**options).fit(rows, y), Peer(**options).fit(rows, y)
        np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-7)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-6, atol=1e-9)
