"""LinearSVC: the optimum and its certificate, against the naive twin and LIBLINEAR; what it refuses; how it ends."""

import os
import pickle
import signal
import threading
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.svm import LinearSVC as Theirs

from fastlin import LinearSVC, load, save
from fastlin.optim.solvers import svm_dual as driver
from oracles import svm as naive
from support.estimators import random_sparse, text_like
from support.strategies import seeds, sparse_matrices

KINDS = [(loss, way) for loss in ("hinge", "squared_hinge") for way in ("ovr", "crammer_singer")]
every_kind = pytest.mark.parametrize("loss, way", KINDS)
every_count = pytest.mark.parametrize("n_labels", [2, 3, 5, 9, 20])


def make(loss="squared_hinge", way="ovr", **options):
    """By dual ascent, unless `dual` says otherwise."""
    return LinearSVC(
        loss=loss, multi_class=way, **{"dual": True, "random_state": 0, "tol": 1e-8, "max_iter": 3000, **options}
    )


def problem_of(model, X, y, weights=None):
    """The twin's arguments (dense rows with the intercept's column, codes, C of each row …), and the share reported."""
    scaling = model.intercept_scaling if model.fit_intercept else 0
    codes = np.searchsorted(model.classes_, y)
    joint = model.multi_class == "crammer_singer"
    share = 0.5 if joint and len(model.classes_) == 2 else 1.0
    C = model.C / share * (np.ones(len(codes)) if weights is None else np.asarray(weights, float))
    X = X.toarray() if sparse.issparse(X) else X
    return (naive.with_intercept(X, scaling), codes, C, model.loss == "squared_hinge", joint and share == 1), share


def theta_of(model):
    scaling = model.intercept_scaling if model.fit_intercept else 0
    return np.column_stack([model.coef_, model.intercept_ / scaling]) if scaling else model.coef_


def read(held):
    with held.map() as array:
        return array.copy()


def assert_certified(model, X, y, weights=None):
    """Objective, dual objective and gap are what they claim to be, computed anew from the weights and the duals."""
    arguments, share = problem_of(model, X, y, weights)
    used = arguments[2] > 0
    arguments = (arguments[0][used], arguments[1][used], arguments[2][used], *arguments[3:])
    theta, certificate = theta_of(model), model.certificate_
    objective = share * naive.primal(theta, *arguments)
    np.testing.assert_allclose(model.objective_, objective, rtol=1e-9)
    assert certificate["objective"] == model.objective_
    assert certificate["duality_gap"] >= 0
    np.testing.assert_allclose(
        certificate["objective"] - certificate["dual_objective"], certificate["duality_gap"], atol=1e-9 * objective
    )
    if model.converged_:
        assert certificate["duality_gap"] <= model.tol * model.objective_ * (1 + 1e-9)
    if model.warm_start:
        dual = np.concatenate([read(held) for held in model._dual[1]])
        alpha = dual[used]
        followed = alpha.T @ arguments[0]  # the intercept has a gap of its own to its dual variables
        n = model.n_features_in_
        np.testing.assert_allclose(theta[:, :n], followed[:, :n], rtol=1e-7, atol=1e-9 * np.abs(theta).max(initial=1))
        value = share * naive.dual(alpha, *arguments)
        np.testing.assert_allclose(certificate["dual_objective"], value, rtol=1e-7, atol=1e-9 * objective)
        assert (dual[~used] == 0).all()


def assert_near(model, theta, share, left):
    """½‖θ − θ*‖² is at most what an objective is above the optimum (¼‖w − w*‖² where two labels share a column)."""
    distance = np.linalg.norm(theta_of(model) - theta)
    assert distance * np.sqrt(share / 2) <= np.sqrt(max(left, 0)) + np.sqrt(model.certificate_["duality_gap"]) + 1e-7


# --- the optimum -----------------------------------------------------------------------------------------------------


@every_kind
@every_count
def test_it_reaches_the_optimum_of_the_naive_twin(loss, way, n_labels):
    X, y = text_like(n_rows=30, n_features=12, n_labels=n_labels, seed=n_labels)
    model = make(loss, way, C=0.3, warm_start=True).fit(X, y)
    assert model.converged_
    assert_certified(model, X, y)
    arguments, share = problem_of(model, X, y)
    theta, left = naive.solve(*arguments[:2], len(model.coef_), *arguments[2:])
    best = share * naive.primal(theta, *arguments)
    left *= share
    assert left <= 1e-3 * best
    assert best - left - 1e-9 * best <= model.objective_ <= best * (1 + 1.1e-8)
    assert_near(model, theta, share, left)


@pytest.mark.parametrize("C", [1e-3, 0.1, 1.0])
@pytest.mark.parametrize("fit_intercept, scaling", [(False, 1.0), (True, 1.0), (True, 2.5)])
@pytest.mark.filterwarnings("ignore:Liblinear failed to converge")  # 1.6 tells of iterations that nobody counted
@pytest.mark.parametrize("loss, way", [kind for kind in KINDS if kind != ("squared_hinge", "crammer_singer")])
@pytest.mark.parametrize("n_labels", [2, 4])
def test_it_reaches_liblinears_optimum(loss, way, n_labels, fit_intercept, scaling, C):
    X, y = text_like(n_rows=80, n_features=25, n_labels=n_labels, seed=1)
    shared = {"C": C, "fit_intercept": fit_intercept, "intercept_scaling": scaling}
    ours = make(loss, way, **shared).fit(X, y)
    theirs = Theirs(loss=loss, multi_class=way, dual=True, tol=1e-7, max_iter=200_000, random_state=0, **shared)
    theirs.fit(X, y)
    arguments, share = problem_of(ours, X, y)
    theta = theta_of(theirs) if fit_intercept else theirs.coef_
    objective = share * naive.primal(theta, *arguments)
    assert ours.certificate_["dual_objective"] <= objective * (1 + 1e-9)
    assert ours.objective_ <= objective * (1 + 1e-8)
    assert_near(ours, theta, share, objective - ours.certificate_["dual_objective"])


@given(
    X=sparse_matrices(values=("normal", "counts", "tiny")),
    seed=seeds,
    kind=st.sampled_from(KINDS),
    n_labels=st.integers(2, 11),
    C=st.sampled_from([1e-25, 1e-6, 0.1, 1.0, 100.0]),
    fit_intercept=st.booleans(),
    weighted=st.booleans(),
)
def test_the_certificate_is_true_of_any_matrix(X, seed, kind, n_labels, C, fit_intercept, weighted):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_labels, X.shape[0])
    y[:2] = 0, 1
    weights = rng.choice([0.0, 0.5, 1.0, 7.0], X.shape[0]) if weighted else None
    if weighted and not weights.any():
        weights[0] = 1.0
    model = make(*kind, C=C, fit_intercept=fit_intercept, warm_start=True, tol=1e-6, max_iter=5000)
    model.fit(X, y, sample_weight=weights)
    assert model.converged_
    assert_certified(model, X, y, weights)
    scores = model.decision_function(X)
    best = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
    np.testing.assert_array_equal(model.predict(X), model.classes_[best])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@given(X=sparse_matrices(values=("huge", "tiny", "normal")), seed=seeds, kind=st.sampled_from(KINDS))
def test_huge_values_leave_finite_weights_or_a_clear_error(X, seed, kind):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, X.shape[0])
    y[:2] = 0, 1
    model = make(*kind, C=float(10.0 ** rng.integers(-60, 60)), max_iter=20)
    try:
        model.fit(X, y)
    except ValueError as error:
        assert "overflow" in str(error)  # noqa: PT017
        assert not hasattr(model, "coef_")
    else:
        assert np.isfinite(model.coef_).all()
        assert np.isfinite([*model.certificate_.values()]).all()


@every_kind
def test_rows_without_features_bear_their_loss(loss, way):
    X = sparse.csr_matrix((6, 3))
    model = make(loss, way, fit_intercept=False, C=2.0).fit(X, [0, 1, 2, 0, 1, 2])
    assert not model.coef_.any()
    assert model.objective_ == pytest.approx(2.0 * 6 * (1 if way == "crammer_singer" else 3))
    assert model.converged_


@every_kind
@pytest.mark.parametrize("n_labels", [2, 4])
def test_a_weight_is_so_many_rows_and_none_is_no_row(loss, way, n_labels):
    X, y = text_like(n_rows=50, n_labels=n_labels)
    weights = np.random.default_rng(0).integers(0, 4, len(y))
    weighted = make(loss, way).fit(X, y, sample_weight=weights)
    several = make(loss, way).fit(X[np.arange(len(y)).repeat(weights)], y.repeat(weights))
    assert weighted.objective_ == pytest.approx(several.objective_, rel=2e-8)
    np.testing.assert_allclose(weighted.coef_, several.coef_, atol=1e-3 * np.abs(several.coef_).max())


@every_kind
@pytest.mark.parametrize("n_labels", [2, 3])
def test_class_weights_of_rows_against_each_other_multiply_sample_weights(loss, way, n_labels):
    """Of two labels, and of Crammer and Singer's problem: a row has one loss."""
    if way == "ovr":
        n_labels = 2
    X, y = text_like(n_labels=n_labels)
    weights = np.random.default_rng(0).random(len(y))
    model = make(loss, way, class_weight={0: 2.0, 1: 0.5}).fit(X, y, sample_weight=weights)
    same = make(loss, way).fit(X, y, sample_weight=weights * np.array([2.0, 0.5, 1.0])[y])
    np.testing.assert_array_equal(model.coef_, same.coef_)
    balanced = make(loss, way, class_weight="balanced").fit(X[:50], y[:50])
    factors = 50 / (n_labels * np.bincount(y[:50]))
    np.testing.assert_array_equal(balanced.coef_, make(loss, way).fit(X[:50], y[:50], factors[y[:50]]).coef_)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("class_weight", [{0: 3.0, 2: 0.25, 5: 0.0}, {4: 1e3}, "balanced"])
def test_class_weights_of_one_against_the_rest_are_those_of_the_one(loss, class_weight):
    X, y = text_like(n_rows=90, n_features=20, n_labels=10)
    weights = np.random.default_rng(1).choice([0.0, 0.5, 2.0], len(y))
    model = make(loss, class_weight=class_weight, max_iter=20_000, warm_start=True).fit(X, y, sample_weight=weights)
    if class_weight == "balanced":
        factors = weights.sum() / (10 * np.bincount(y, weights))
    else:
        factors = np.array([class_weight.get(label, 1.0) for label in range(10)])
    for label, factor in enumerate(factors):
        own = y == label
        alone = make(loss, max_iter=20_000).fit(X, own, sample_weight=weights * np.where(own, factor, 1.0))
        np.testing.assert_allclose(model.coef_[label], alone.coef_[0], atol=2e-3 * np.abs(alone.coef_).max())
    assert model.fit(X, y, sample_weight=weights).n_iter_ == 1  # what is kept are duals of this problem


def test_class_weights_are_liblinears():
    X, y = text_like(n_rows=90, n_features=20, n_labels=4)
    shared = {"class_weight": {0: 5.0, 3: 0.2}, "C": 0.5}
    theirs = Theirs(dual=True, tol=1e-9, max_iter=200_000, random_state=0, **shared).fit(X, y)
    np.testing.assert_allclose(make(**shared).fit(X, y).coef_, theirs.coef_, atol=1e-3)


def test_the_intercept_is_a_feature():
    X, y = text_like(n_labels=4)
    model = make(intercept_scaling=3.0).fit(X, y)
    column = make(fit_intercept=False).fit(sparse.hstack([X, np.full((len(y), 1), 3.0)]).tocsr(), y)
    np.testing.assert_allclose(model.coef_, column.coef_[:, :-1], atol=1e-4)
    np.testing.assert_allclose(model.intercept_, 3 * column.coef_[:, -1], atol=1e-4)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_crammer_and_singers_two_labels_are_one_column(loss):
    X, y = text_like(n_labels=2)
    joint, binary = make(loss, "crammer_singer", C=0.5).fit(X, y), make(loss, C=1.0).fit(X, y)
    np.testing.assert_array_equal(joint.coef_, binary.coef_)
    assert joint.objective_ == pytest.approx(binary.objective_ / 2)
    assert joint.history_[-1]["objective"] == pytest.approx(joint.objective_)


# --- the way there ---------------------------------------------------------------------------------------------------


@every_kind
def test_the_dual_bounds_the_objective(loss, way):
    X, y = text_like(n_rows=200, n_labels=11)
    model = make(loss, way).fit(X, y)
    values = [record["dual"] for record in model.history_]
    assert values[-1] > values[len(values) // 2] > values[0]
    assert all(value <= model.objective_ * (1 + 1e-9) for value in values)
    assert [record["epoch"] for record in model.history_] == list(range(1, model.n_iter_ + 1))
    assert set(model.history_[0]) == {"epoch", "seconds", "dual", "gap", "active"}
    last = model.history_[-1]
    assert last["objective"] == model.objective_
    assert last["gap"] == model.certificate_["duality_gap"]
    assert model.history_[0]["active"] == len(y) * (1 if way == "crammer_singer" else 2)  # groups of labels
    assert min(record["active"] for record in model.history_) < model.history_[0]["active"]


@every_kind
def test_threads_do_not_change_a_bit(loss, way):
    X, y = text_like(n_rows=150, n_labels=20, n_features=60)
    one, two = (make(loss, way, tol=1e-6, n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 3))
    np.testing.assert_array_equal(one.coef_, two.coef_)
    np.testing.assert_array_equal(one.intercept_, two.intercept_)
    np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))
    assert [r["dual"] for r in one.history_] == [r["dual"] for r in two.history_]


def test_small_pieces_of_an_epoch_make_no_difference(monkeypatch):
    X, y = text_like(n_labels=3)
    whole = make().fit(X, y)
    monkeypatch.setattr(driver, "BUDGET", 1)
    np.testing.assert_array_equal(make().fit(X, y).coef_, whole.coef_)


@every_kind
@pytest.mark.parametrize("n_labels", [2, 10])
def test_a_warm_start_begins_where_the_last_fit_ended(loss, way, n_labels):
    X, y = text_like(n_rows=100, n_labels=n_labels)
    model = make(loss, way, warm_start=True, tol=1e-6).fit(X, y)
    first, objective = model.n_iter_, model.objective_
    assert model.fit(X, y).n_iter_ == 1 < first
    assert model.objective_ == pytest.approx(objective, rel=2e-6)
    for C, other in ((2.0, y), (0.1, y), (0.1, y[::-1].copy())):  # still exact when the problem is another
        model.set_params(C=C).fit(X, other)
        assert_certified(model, X, other)
        assert model.objective_ == pytest.approx(make(loss, way, C=C, tol=1e-6).fit(X, other).objective_, rel=2e-6)
    model.fit(X[:50], y[:50])  # nothing to begin from
    np.testing.assert_array_equal(model.coef_, make(loss, way, C=0.1, tol=1e-6).fit(X[:50], y[:50]).coef_)


def test_max_iter_ends_a_fit_with_a_warning_and_an_exact_certificate():
    X, y = text_like(n_labels=3)
    model = make("hinge", C=100.0, max_iter=2)
    with pytest.warns(ConvergenceWarning, match=r"max_iter=2 .* Raise max_iter"):
        model.fit(X, y)
    assert not model.converged_
    assert model.n_iter_ == 2
    assert_certified(model, X, y)


def test_a_callback_sees_a_model_that_predicts_and_may_end_the_fit():
    X, y = text_like(n_labels=12)
    seen = []

    def callback(model, record):
        seen.append((record["epoch"], model.score(X, y)))
        return record["epoch"] == 2

    model = make(callback=callback).fit(X, y)
    assert [epoch for epoch, _ in seen] == [1, 2]
    assert model.converged_
    assert model.score(X, y) == seen[-1][1]
    assert_certified(model.set_params(tol=np.inf), X, y)


def test_verbose_prints_a_line_an_epoch(capsys):
    X, y = text_like()
    model = make(verbose=1).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == model.n_iter_
    assert lines[0].startswith("LinearSVC  epoch 1 ")


def test_types_labels_and_pickles():
    X, y = text_like(n_labels=3)
    names = np.array(["c", "a", "b"])[y]
    model = make().fit(X, names)
    assert model.classes_.tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(make().fit(X.astype(np.float32), names).coef_, model.coef_)
    np.testing.assert_array_equal(make().fit(X.toarray(), names).coef_, model.coef_)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert model._dual is None
    assert clone(model).get_params() == model.get_params()
    ours = LinearSVC().get_params()
    for name, value in Theirs().get_params().items():
        assert ours[name] == value


# --- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "parameters, match",
    [
        ({"penalty": "l1", "loss": "hinge", "dual": "auto"}, "penalty='l1' and loss='hinge'"),
        ({"penalty": "l1", "multi_class": "crammer_singer", "dual": False}, "multi_class='crammer_singer'"),
        ({"penalty": "l1", "dual": True}, "dual=True"),
        ({"penalty": "l3"}, "penalty must be one of 'l2'"),
        ({"loss": "hinges"}, "did you mean 'hinge'"),
        ({"multi_class": "crammer"}, "did you mean 'crammer_singer'"),
        ({"dual": "maybe"}, "dual must be one of 'auto'"),
        ({"C": 0}, "C must be > 0"),
        ({"C": np.nan}, "C must be"),
        ({"C": np.inf}, "C must be"),
        ({"C": "1"}, "C must be a number"),
        ({"tol": -1e-3}, "tol must be >= 0"),
        ({"max_iter": 0}, "max_iter must be at least 1"),
        ({"intercept_scaling": 0}, "intercept_scaling must be > 0"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"verbose": -1}, "verbose"),
        ({"callback": 3}, "callback must be callable"),
        ({"random_state": -3}, "random_state"),
        ({"class_weight": {7: 1.0}}, "are not labels of y"),
        ({"class_weight": "balance"}, "did you mean 'balanced'"),
    ],
)
def test_bad_parameters_are_refused_and_change_nothing(parameters, match):
    X, y = text_like()
    model = make().fit(X, y)
    before = dict(vars(model))
    model.set_params(**parameters)
    with pytest.raises((ValueError, TypeError), match=match):
        model.fit(X, y)
    assert {**vars(model), **{name: before[name] for name in parameters}} == before


@pytest.mark.parametrize(
    "change, match",
    [
        (lambda X, y, w: (X[:-1], y, w), "inconsistent numbers of samples"),
        (lambda X, y, w: (X * np.nan, y, w), "NaN"),
        (lambda X, y, w: (X * 1e200, y, w), "larger than 1e\\+100"),
        (lambda X, y, w: (X, np.zeros(len(y)), w), "number of classes has to be greater than one"),
        (lambda X, y, w: (X, y + 0.5, w), "Unknown label type"),
        (lambda X, y, w: (X, None, w), "requires y"),
        (lambda X, y, w: (X, y, 0 * w), "weight of every row is zero"),
        (lambda X, y, w: (X, y, -w), "must not be negative"),
        (lambda X, y, w: (X, y, w[1:]), "sample_weight has 59 entries"),
        (lambda X, y, w: (X, y, w * 1e-310), "no positive number"),
    ],
)
def test_bad_data_is_refused_and_changes_nothing(change, match):
    X, y = text_like()
    X, y, weights = change(X, y, np.ones(len(y)))
    model = make(C=1e-20)
    with pytest.raises((ValueError, TypeError), match=match):
        model.fit(X, y, sample_weight=weights)
    assert not hasattr(model, "classes_")
    with pytest.raises(NotFittedError):
        model.predict(text_like()[0])


def test_predictions_check_their_rows_and_weights():
    X, y = text_like()
    model = make().fit(X, y)
    with pytest.raises(ValueError, match="30 features"):
        model.predict(X[:, :-1])
    model.coef_ = model.coef_[:, :-1]
    with pytest.raises(ValueError, match="does not fit"):
        model.predict(X)


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_in_the_callback_leaves_the_estimator_as_it_was(error):
    X, y = text_like()

    def fails(model, record):
        raise error("no more")

    model = make().fit(X, y)
    coef = model.coef_.copy()
    model.set_params(callback=fails, C=50.0)
    with pytest.raises(error, match="no more"):
        model.fit(X[:40], y[:40])
    np.testing.assert_array_equal(model.coef_, coef)


@pytest.mark.timing
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("delay", [0.3, 1.0])
@every_kind
def test_ctrl_c_ends_a_fit_within_half_a_second(loss, way, delay, n_jobs):
    X, y = random_sparse(n_rows=100_000, n_features=100_000, row_length=100, n_labels=20)
    model = make(loss, way, C=1e6, tol=0, max_iter=10**6, n_jobs=n_jobs)
    timer = threading.Timer(delay, lambda: (sent.append(time.perf_counter()), os.kill(os.getpid(), signal.SIGINT)))
    sent = []
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert time.perf_counter() - sent[0] < 0.5
    assert not hasattr(model, "classes_")


@pytest.mark.parametrize("n_labels", [2, 4])
@pytest.mark.parametrize("multi_class", ["ovr", "crammer_singer"])
def test_sparse_weights_answer_as_dense_ones(n_labels, multi_class, tmp_path):
    rng = np.random.default_rng(n_labels)
    X = sparse.random(80, 30, 0.2, format="csr", random_state=0)
    model = LinearSVC(multi_class=multi_class).fit(X, rng.permutation(np.arange(80) % n_labels))
    dense, scores = model.coef_.copy(), model.decision_function(X)
    assert sparse.issparse(model.sparsify().coef_)
    np.testing.assert_allclose(model.decision_function(X), scores, atol=1e-12)
    save(model, tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict(X), model.predict(X))
    np.testing.assert_array_equal(model.densify().coef_, dense)
    np.testing.assert_array_equal(model.decision_function(X), scores)
