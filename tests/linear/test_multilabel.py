"""An indicator of several labels a row is a binary problem for each label against the rest, learnt in one pass."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.metrics import accuracy_score
from sklearn.multiclass import OneVsRestClassifier

import fastlin
from fastlin import (
    AROWClassifier,
    LinearSVC,
    LogisticRegression,
    LogisticRegressionCV,
    MIRAClassifier,
    PassiveAggressiveClassifier,
    Perceptron,
    SGDClassifier,
)
from support.estimators import plain, refused, text_like
from support.resuming import assert_same_fit, stop_after_each_record
from support.strategies import sparse_matrices

ONLINE = {
    "perceptron": lambda **more: Perceptron(average=True, **more),
    "pa1": lambda **more: PassiveAggressiveClassifier(C=0.3, **more),
    "pa2": lambda **more: PassiveAggressiveClassifier(loss="squared_hinge", **more),
    "pa": lambda **more: PassiveAggressiveClassifier(C=np.inf, **more),
    "hinge": lambda **more: SGDClassifier(alpha=0.047, average=7, **more),
    "squared hinge": lambda **more: SGDClassifier("squared_hinge", learning_rate="constant", eta0=0.021, **more),
    "log": lambda **more: SGDClassifier("log_loss", alpha=0.047, batch_size=3, **more),
    "log, L1": lambda **more: SGDClassifier("log_loss", penalty="l1", alpha=0.0047, **more),
    "modified Huber": lambda **more: SGDClassifier("modified_huber", alpha=0.047, **more),
    "squared error": lambda **more: SGDClassifier("squared_error", alpha=0.047, **more),
    "adagrad": lambda **more: SGDClassifier("log_loss", learning_rate="adagrad", eta0=0.3, **more),
    "ftrl": lambda **more: SGDClassifier("hinge", learning_rate="ftrl", eta0=0.31, penalty="l2", **more),
}
SVM = {"random_state": 0, "tol": 1e-9, "max_iter": 100_000}
BATCH = {
    "auto": lambda **more: LogisticRegression(**{"tol": 1e-9, "max_iter": 3000, **more}),
    "newton": lambda **more: LogisticRegression(solver="newton", **{"tol": 1e-9, "max_iter": 3000, **more}),
    "lbfgs": lambda **more: LogisticRegression(solver="lbfgs", **{"tol": 1e-9, "max_iter": 3000, **more}),
    "elastic net": lambda **more: LogisticRegression(l1_ratio=0.4, **{"tol": 1e-9, "max_iter": 3000, **more}),
    "dual SVM": lambda **more: LinearSVC(dual=True, **{**SVM, **more}),
    "hinge SVM": lambda **more: LinearSVC(
        loss="hinge", **{"random_state": 0, "tol": 1e-5, "max_iter": 100_000, **more}
    ),
    "primal SVM": lambda **more: LinearSVC(dual=False, **{**SVM, **more}),
}
every_learner = pytest.mark.parametrize("name", ONLINE | BATCH)
PLAIN = {"intercept_decay": None, "max_iter": 3}


def rows(n_labels=11, n_rows=90, seed=0, dtype=np.float64):
    """Rows, and an indicator of labels that some rows have and others do not; one row has none, one is empty."""
    X, _ = text_like(n_rows=n_rows, seed=seed, dtype=dtype)
    X = X.multiply(np.linspace(0.71, 1.33, X.shape[1])).tocsr().astype(dtype)  # no score meets a margin exactly
    X = sp.vstack([X[:3], sp.csr_matrix((1, X.shape[1]), dtype=dtype), X[4:]], format="csr")
    rng = np.random.default_rng(seed)
    scores = X @ rng.normal(size=(X.shape[1], n_labels)) + rng.normal(size=(X.shape[0], n_labels))
    Y = (scores > np.quantile(scores, rng.uniform(0.4, 0.95, n_labels), axis=0).diagonal()).astype(int)
    Y[0], Y[1], Y[2] = 0, 1, 0
    return X, Y


def made(name, **more):
    return ONLINE[name](**plain(PLAIN | more)) if name in ONLINE else BATCH[name](**more)


def fit_quietly(model, *data, **given):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*data, **given)


# Each label against the rest


@pytest.mark.parametrize("name", ONLINE)
@pytest.mark.parametrize("n_labels", [2, 9, 17])
@pytest.mark.parametrize("class_weight", [None, {1: 2.5, 0: 0.7}, {0: 0.0}, "balanced"])
def test_each_row_of_online_weights_is_the_fit_of_its_label(name, n_labels, class_weight):
    X, Y = rows(n_labels)
    weights = np.random.default_rng(1).uniform(0, 2, len(Y))
    model = made(name, class_weight=class_weight).fit(X, Y, sample_weight=weights)
    assert model.coef_.shape == (n_labels, X.shape[1])
    losses = []
    for k in range(n_labels):
        binary = made(name, class_weight=class_weight)
        if class_weight == {0: 0.0}:  # a binary fit would not count rows without weight as steps
            break
        binary.fit(X, Y[:, k], sample_weight=weights)
        np.testing.assert_allclose(model.coef_[k], binary.coef_[0], rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(model.intercept_[k], binary.intercept_[0], rtol=1e-8, atol=1e-10)
        losses.append([record["loss"] for record in binary.history_])
        if hasattr(model, "predict_proba"):
            np.testing.assert_allclose(model.predict_proba(X)[:, k], binary.predict_proba(X)[:, 1], rtol=1e-7)
    else:
        np.testing.assert_allclose([record["loss"] for record in model.history_], np.sum(losses, axis=0), rtol=1e-8)
    np.testing.assert_array_equal(model.predict(X), model.decision_function(X) > 0)


def test_without_an_average_the_steps_are_those_of_the_label_bit_for_bit():
    X, Y = rows()
    model = SGDClassifier(random_state=0, max_iter=4, tol=None).fit(X, Y)
    for k in range(Y.shape[1]):
        binary = SGDClassifier(random_state=0, max_iter=4, tol=None).fit(X, Y[:, k])
        np.testing.assert_array_equal(model.coef_[k], binary.coef_[0])


@pytest.mark.parametrize("name", BATCH)
@pytest.mark.parametrize("C", [1e-3, 0.3, 1e2])
@pytest.mark.parametrize("class_weight", [None, {1: 2.5, 0: 0.7}, "balanced"])
def test_the_optimum_is_that_of_each_label(name, C, class_weight):
    if name in ("hinge SVM", "dual SVM", "lbfgs") and C > 1:
        C = 0.1  # these take thousands of epochs else
    tol = 1e-5 if name == "hinge SVM" else 1e-9
    X, Y = rows()
    weights = np.random.default_rng(1).uniform(0, 2, len(Y))
    weights[:7] = 0
    model = made(name, C=C, class_weight=class_weight).fit(X, Y, sample_weight=weights)
    assert model.converged_
    assert model.certificate_["duality_gap"] <= tol * model.objective_
    total = 0.0
    for k in range(Y.shape[1]):
        binary = made(name, C=C, class_weight=class_weight).fit(X, Y[:, k], sample_weight=weights)
        total += binary.objective_
        scale = np.abs(binary.coef_).max()
        np.testing.assert_allclose(model.coef_[k], binary.coef_[0], atol=70 * np.sqrt(tol) * scale)
    np.testing.assert_allclose(model.objective_, total, rtol=3 * tol)


@pytest.mark.parametrize("solver", ["auto", "newton", "lbfgs"])
@pytest.mark.parametrize("more", [{}, {"fit_intercept": False}, {"prior_mean": 0.1}, {"prior_variance": 0.4}])
def test_the_gap_is_not_less_than_what_is_left(solver, more):
    X, Y = rows(7)
    best = LogisticRegression(tol=1e-12, max_iter=3000, solver="newton", **more)
    best = fit_quietly(best, X, Y).objective_
    for iterations in (1, 3, 8):
        model = fit_quietly(LogisticRegression(tol=1e-12, max_iter=iterations, solver=solver, **more), X, Y)
        left = model.objective_ - best
        assert model.certificate_["duality_gap"] >= left - 1e-9 * best
    assert model.certificate_["duality_gap"] < 0.5 * best


def test_the_gradient_is_that_of_independent_labels():
    X, Y = rows(6)
    model = fit_quietly(LogisticRegression(C=2.0, max_iter=2, solver="gd"), X, Y)
    p = 1 / (1 + np.exp(-model.decision_function(X)))
    np.testing.assert_allclose(model.predict_proba(X), p, rtol=1e-12)
    gradient = X.T @ (p - Y) + model.coef_.T / 2.0
    steepest = max(np.abs(gradient).max(), np.abs((p - Y).sum(axis=0)).max())
    np.testing.assert_allclose(model.certificate_["gradient_norm"], steepest, rtol=1e-9)
    losses = -(Y * np.log(p) + (1 - Y) * np.log1p(-p)).sum() + 0.25 * np.square(model.coef_).sum()
    np.testing.assert_allclose(model.objective_, losses, rtol=1e-12)


@given(data=st.data())
def test_whatever_rows_and_labels_there_are_the_weights_are_those_of_each_label(data):
    X = data.draw(sparse_matrices(min_rows=4, values=("counts",)))
    n, L = X.shape[0], data.draw(st.integers(2, 10))
    Y = np.array(data.draw(st.lists(st.lists(st.integers(0, 1), min_size=L, max_size=L), min_size=n, max_size=n)))
    varying = np.flatnonzero((Y.any(axis=0)) & ~(Y.all(axis=0)))
    if not len(varying):
        for model in (LogisticRegression(), LinearSVC()):
            with refused(model, ValueError, match="no column of y has both zeros and ones"):
                model.fit(X, Y)
        return
    options = {"fit_intercept": False, "C": 0.1}
    for make in (BATCH["newton"], BATCH["auto"], BATCH["primal SVM"]):
        model = fit_quietly(make(**options), X, Y)
        for k in varying:
            binary = fit_quietly(make(**options), X, Y[:, k])
            np.testing.assert_allclose(model.coef_[k], binary.coef_[0], atol=1e-4)


# What is given, and returned


@every_learner
def test_every_form_of_an_indicator_is_the_same_target(name):
    X, Y = rows()
    model = made(name).fit(X, Y)
    assert model.multilabel_
    np.testing.assert_array_equal(model.classes_, np.arange(Y.shape[1]))
    expected = model.predict(X)
    assert expected.shape == Y.shape
    assert expected.dtype == np.int64
    forms = [Y.astype(bool), Y.astype(float), Y.astype(np.uint8), Y.tolist(), pd.DataFrame(Y), np.asfortranarray(Y)]
    for form in forms:
        other = made(name).fit(X, form)
        np.testing.assert_array_equal(other.coef_, model.coef_)
        assert isinstance(other.predict(X), np.ndarray)
    unsorted = sp.csr_array(Y)
    unsorted.indices[:2] = unsorted.indices[:2][::-1]
    wide = sp.csr_matrix(Y)
    wide.indptr, wide.indices = wide.indptr.astype(np.int64), wide.indices.astype(np.int64)
    for form in (sp.csr_matrix(Y), sp.csr_array(Y.astype(bool)), sp.csc_matrix(Y), sp.coo_array(Y), unsorted, wide):
        other = made(name).fit(X, form)
        np.testing.assert_array_equal(other.coef_, model.coef_)
        found = other.predict(X)
        assert found.format == "csr"
        assert isinstance(found, sp.sparray) == isinstance(form, sp.sparray)
        np.testing.assert_array_equal(found.toarray(), expected)
        assert other.score(X, form) == model.score(X, Y)
    assert model.score(X, Y) == accuracy_score(Y, expected) == (expected == Y).all(axis=1).mean()


@every_learner
def test_read_only_arrays_and_float32_rows_are_learnt_from(name):
    X, Y = rows(dtype=np.float32)
    for array in (X.data, X.indices, X.indptr, Y):
        array.flags.writeable = False
    model = made(name, **({} if name in ONLINE else {"tol": 1e-6})).fit(X, Y)
    assert model.predict(X).shape == Y.shape


@every_learner
def test_a_fit_of_one_label_a_row_follows_one_of_several(name):
    X, Y = rows()
    y = Y.sum(axis=1) % (2 if name == "squared error" else 3)
    model, fresh = made(name).fit(X, Y).fit(X, y), made(name).fit(X, y)
    assert not model.multilabel_
    assert model.predict(X).shape == y.shape
    np.testing.assert_array_equal(model.coef_, fresh.coef_)


@every_learner
@pytest.mark.parametrize("container", ["array", "csr_array", "csr_matrix"])
def test_files_and_copies_bring_the_model_back(name, container, tmp_path):
    X, Y = rows()
    target = Y if container == "array" else getattr(sp, container)(Y)
    model = made(name).fit(X, target)
    fastlin.save(model, tmp_path / "model")
    for other in (fastlin.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        assert other.multilabel_
        np.testing.assert_array_equal(other.decision_function(X), model.decision_function(X))
        found, expected = other.predict(X), model.predict(X)
        assert type(found) is type(expected)
        assert (found != expected).sum() == 0
    assert not hasattr(clone(model), "classes_")


@pytest.mark.parametrize("name", ONLINE)
def test_a_model_from_a_file_or_a_state_learns_on_with_the_same_bits(name, tmp_path):
    X, Y = rows()
    model = made(name).fit(X, Y)
    fastlin.save(model, tmp_path / "model")
    loaded, stated = fastlin.load(tmp_path / "model"), made(name).set_state(model.get_state())
    for other in (model, loaded, stated):
        other.partial_fit(X[:30], Y[:30])
    for other in (loaded, stated):
        np.testing.assert_array_equal(other.coef_, model.coef_)
        np.testing.assert_array_equal(other.predict(X), model.predict(X))


@pytest.mark.parametrize("name", ONLINE)
def test_epochs_of_partial_fit_are_those_of_a_fit(name):
    X, Y = rows()
    options = {"shuffle": False}
    model = made(name, **options).fit(X, sp.csr_array(Y))
    parts = made(name, **options)
    for _ in range(3):
        parts.partial_fit(X, sp.csr_array(Y), classes=np.arange(Y.shape[1]))
    np.testing.assert_allclose(parts.coef_, model.coef_, rtol=1e-12, atol=1e-14)
    assert parts.t_ == model.t_


@every_learner
def test_threads_change_no_bit(name):
    X, Y = rows(19)
    one, two = made(name, n_jobs=1).fit(X, Y), made(name, n_jobs=2).fit(X, Y)
    np.testing.assert_array_equal(one.coef_, two.coef_)
    np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))


@pytest.mark.parametrize("name", BATCH)
def test_a_warm_start_ends_at_once(name):
    X, Y = rows()
    Y[:, 2] = 0
    model = fit_quietly(made(name, warm_start=True, tol=1e-6), X, Y)
    coef, iterations = model.coef_.copy(), int(np.ravel(model.n_iter_)[0])
    fit_quietly(model, X, Y)
    assert int(np.ravel(model.n_iter_)[0]) <= max(2, iterations // 2)
    np.testing.assert_allclose(model.coef_, coef, atol=1e-2 * np.abs(coef).max())
    Y[:9, 2] = 1  # a label that was never seen is learnt, too
    fit_quietly(model, X, Y)
    fresh = fit_quietly(made(name, tol=1e-6), X, Y)
    np.testing.assert_allclose(model.coef_[2], fresh.coef_[2], atol=3e-2 * np.abs(fresh.coef_[2]).max())


def test_validation_rows_are_right_where_all_of_their_labels_are():
    X, Y = rows()
    for make in (lambda: SGDClassifier(random_state=0, max_iter=3, tol=None), lambda: LogisticRegression(tol=1e-3)):
        model = make().fit(X[20:], Y[20:], X_val=X[:20], y_val=sp.csr_array(Y[:20]))
        assert model.history_[-1]["validation_score"] == pytest.approx(model.score(X[:20], Y[:20]))
    model = SGDClassifier(random_state=0, early_stopping=True, max_iter=5, tol=None).fit(X, Y)
    assert 0 <= model.history_[-1]["validation_score"] <= 1


def test_an_online_row_is_mistaken_where_one_of_its_labels_is():
    X, Y = rows()
    model = SGDClassifier(random_state=0, max_iter=1, tol=None, shuffle=False).fit(X, Y)
    parts, right = SGDClassifier(random_state=0, shuffle=False), [not Y[0].any()]
    parts.partial_fit(X[:1], Y[:1])
    for row in range(1, len(Y)):
        right.append((parts.predict(X[row]) == Y[row]).all())
        parts.partial_fit(X[row], Y[row : row + 1])
    assert model.history_[0]["progressive_accuracy"] == pytest.approx(np.mean(right))


# Labels that all rows have, or none


@pytest.mark.parametrize(
    "make",
    [
        lambda: LogisticRegression(tol=1e-9),
        lambda: LinearSVC(tol=1e-9, dual=False),
        lambda: SGDClassifier(random_state=0, max_iter=5, tol=None),
    ],
)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_it_answers_as_one_vs_rest_classifiers_of_itself(make, form):
    X, Y = rows()
    if not isinstance(make(), SGDClassifier):
        Y[:, 4] = 0
    target = form(Y)
    ours = make().fit(X, target)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = OneVsRestClassifier(make()).fit(X, target)
    assert (ours.predict(X) != theirs.predict(X)).sum() == 0
    assert type(ours.predict(X)) is type(theirs.predict(X))
    assert ours.predict(X).dtype == theirs.predict(X).dtype
    assert ours.multilabel_ == theirs.multilabel_
    np.testing.assert_array_equal(ours.classes_, theirs.classes_)
    if hasattr(ours, "predict_proba"):
        np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-3)
    assert ours.score(X, Y) == theirs.score(X, Y)


# Checkpoints


@pytest.mark.parametrize("name", ["auto", "newton", "lbfgs", "dual SVM", "primal SVM", "hinge", "adagrad"])
def test_a_fit_that_was_stopped_goes_on_from_its_checkpoint(name, tmp_path):
    X, Y = rows(6)
    Y[:, 3] = 1
    options = {"max_iter": 8} if name in ONLINE else {"tol": 1e-9, "C": 30.0} if name == "auto" else {"tol": 1e-7}
    data, path = (X, sp.csr_array(Y)), tmp_path / "checkpoint"
    stop_after_each_record(lambda **more: made(name, **options, **more), ("coef_", "intercept_"), data, path)
    whole = fit_quietly(made(name, **options), *data)
    again = fit_quietly(made(name, **options), *data, checkpoint=path, checkpoint_interval=0)
    assert_same_fit(whole, again, ("coef_", "intercept_"))
    other = Y.copy()
    other[5, 0] = 1 - other[5, 0]
    with pytest.raises(ValueError, match="of another fit"):
        made(name, **options).fit(X, other, checkpoint=path, resume=True)


# Refusals


def test_what_is_of_one_label_a_row_is_refused():
    X, Y = rows()
    cases = [
        (LogisticRegression(weights="observed"), "weights='observed'"),
        (LogisticRegression(penalty="group"), "penalty='group'"),
        (LogisticRegression(solver="gis"), "solver='gis'"),
        (LogisticRegression(solver="sgd"), "solver='sgd'"),
        (LinearSVC(multi_class="crammer_singer"), "'crammer_singer'"),
        (SGDClassifier(learning_rate="pegasos", project=True), "project=True"),
        (LogisticRegressionCV(), "1d array"),
        (MIRAClassifier(), "1d array"),
        (AROWClassifier(), "1d array"),
    ]
    for model, words in cases:
        with refused(model, ValueError, match=words):
            model.fit(abs(X), Y)
        assert not model.__sklearn_tags__().classifier_tags.multi_label or "project" in words


@pytest.mark.parametrize("make", [LogisticRegression, LinearSVC, SGDClassifier, Perceptron])
def test_what_is_no_indicator_is_refused(make):
    X, Y = rows()
    for bad, words in [
        (2 * Y, "y holds 2 at row 1, column 0; a target of several columns is an indicator"),
        (np.where(Y, 1, -1), "y holds -1 at row 0, column 0"),
        (np.where(Y, 1.0, np.nan), "y"),
        (np.where(Y, 0.5, 0), "y holds 0.5 at row 1"),
        (Y[:-1], "inconsistent numbers of samples"),
        (sp.csr_array(3 * Y), "y holds 3"),
        (Y + 1j, "[Cc]omplex"),
        (np.where(Y, "a", "b"), "y"),
    ]:
        model = make()
        with refused(model, ValueError, TypeError, match=words):
            model.fit(X, bad)
    for bad in ({2: 3.0}, {1: -1.0}, [1.0]):
        model = make(class_weight=bad)
        with refused(model, ValueError, TypeError, match="class_weight"):
            model.fit(X, Y)


def test_later_targets_are_of_the_kind_of_the_first():
    X, Y = rows()
    model = SGDClassifier(random_state=0).partial_fit(X, Y)
    with refused(model, ValueError, match="has learnt from an indicator of 11 labels a row"):
        model.partial_fit(X, Y[:, 0])
    with refused(model, ValueError, match="y has 4 columns"):
        model.partial_fit(X, Y[:, :4])
    with refused(model, ValueError, match="classes must be the columns of y"):
        model.partial_fit(X, Y, classes=[11, 12])
    single = SGDClassifier(random_state=0).partial_fit(X, Y[:, 0])
    with refused(single, ValueError, match="has learnt from one label a row"):
        single.partial_fit(X, Y)
    with refused(single, ValueError, match="y_val must be an indicator of 11 labels"):
        single.fit(X, Y, X_val=X, y_val=Y[:, :3])


def test_one_column_is_no_indicator():
    X, Y = rows()
    with pytest.warns(UserWarning, match="column-vector"):
        model = LogisticRegression().fit(X, Y[:, :1])
    assert not model.multilabel_
    assert model.coef_.shape == (1, X.shape[1])


@pytest.mark.parametrize("class_weight", [None, {1: 2.5, 0: 0.7}])
def test_an_l1_norm_has_the_optimum_of_each_label(class_weight):
    X, Y = rows()
    model = LinearSVC(penalty="l1", tol=1e-9, max_iter=1000, class_weight=class_weight).fit(X, Y)
    assert model.converged_
    parts = [
        LinearSVC(penalty="l1", tol=1e-9, max_iter=1000, class_weight=class_weight).fit(X, labels) for labels in Y.T
    ]
    np.testing.assert_allclose(model.objective_, sum(part.objective_ for part in parts), rtol=1e-8)
    np.testing.assert_allclose(model.coef_, np.vstack([part.coef_ for part in parts]), atol=1e-4)


@pytest.mark.parametrize("C", [1e4, 1e5])
def test_many_separable_labels_reach_the_certified_gap_at_weak_priors(C):
    """Dual ascent is slow there, and what it leaves is a bad point for Newton's method to begin with."""
    rng = np.random.default_rng(0)
    X = sp.csr_array(rng.normal(size=(300, 400)) * (rng.random((300, 400)) < 0.3))
    Y = (rng.random((300, 90)) < 0.05).astype(int)
    model = LogisticRegression(C=C).fit(X, Y)
    assert model.converged_
    assert model.certificate_["duality_gap"] <= 1e-4 * model.objective_
