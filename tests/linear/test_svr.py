"""LinearSVR: the optimum and its certificate by every method, against the naive twin and LIBLINEAR; its refusals."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.svm import LinearSVR as Theirs

from fastlin import Corpus, LinearSVR, load, save
from fastlin.optim.solvers import svm_dispatch, svm_dual, svm_newton
from oracles import regression as naive
from oracles.svm import with_intercept
from support.resuming import stop_after_each_record
from support.strategies import seeds, sparse_matrices
from support.unusual_matrices import UNUSUAL

LOSSES = ("epsilon_insensitive", "squared_epsilon_insensitive")
KINDS = [(loss, dual) for loss in LOSSES for dual in (True, False)]
every_kind = pytest.mark.parametrize("loss, dual", KINDS)
SOLVED = ("coef_", "intercept_", "certificate_", "n_iter_", "converged_")


def make(loss=LOSSES[0], dual=True, **options):
    return LinearSVR(loss=loss, dual=dual, **{"random_state": 0, "tol": 1e-8, "max_iter": 20_000, **options})


def problem(n_rows=60, n_columns=20, seed=0):
    generator = np.random.default_rng(seed)
    X = sparse.random(n_rows, n_columns, 0.3, format="csr", random_state=seed)
    X.data = generator.normal(size=X.nnz)
    y = 1 + X @ generator.normal(size=n_columns) + generator.normal(size=n_rows)
    return X, y, generator.choice([0.0, 0.5, 1.0, 2.0], n_rows)


def arguments(model, X, y, weights):
    """The twin's: rows with the intercept's column, targets, the C of each row, ε, whether the loss is squared."""
    X = X.toarray() if sparse.issparse(X) else X
    rows = with_intercept(X, model.intercept_scaling if model.fit_intercept else 0)
    return rows, y, model.C * np.asarray(weights, float), model.epsilon, model.loss == LOSSES[1]


def theta_of(model):
    b = [float(np.ravel(model.intercept_)[0]) / model.intercept_scaling] if model.fit_intercept else []
    return np.append(model.coef_, b)


def assert_certified(model, X, y, weights):
    """Objective, dual objective and gap are those of the weights and duals, computed anew."""
    known, certificate = arguments(model, X, y, weights), model.certificate_
    objective = naive.svr_objective(theta_of(model), *known)
    np.testing.assert_allclose(model.objective_, objective, rtol=1e-9)
    assert certificate["objective"] == model.objective_
    assert certificate["duality_gap"] >= 0
    if model.converged_:
        assert certificate["duality_gap"] <= model.tol * model.objective_ * (1 + 1e-9)
    if model.warm_start:
        with model._dual[1][0].map() as beta:
            value = naive.svr_dual(beta[:, 0].copy(), *known)
        np.testing.assert_allclose(certificate["dual_objective"], value, rtol=1e-7, atol=1e-9 * objective)


# --- the optimum -----------------------------------------------------------------------------------------------------


@every_kind
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("fit_intercept, scaling", [(False, 1.0), (True, 1.0), (True, 2.5)])
def test_it_reaches_the_optimum_of_the_naive_twin(loss, dual, epsilon, fit_intercept, scaling):
    X, y, weights = problem()
    options = {"epsilon": epsilon, "fit_intercept": fit_intercept, "intercept_scaling": scaling, "C": 0.1}
    model = make(loss, dual, warm_start=True, **options).fit(X, y, sample_weight=weights)
    assert model.converged_
    assert_certified(model, X, y, weights)
    known = arguments(model, X, y, weights)
    theta, beta = naive.svr(*known)
    best, bound = naive.svr_objective(theta, *known), naive.svr_dual(beta, *known)
    assert best - bound <= 1e-6 * best
    assert bound * (1 - 1e-9) <= model.objective_ <= best * (1 + 1.1e-8)
    distance = np.linalg.norm(theta_of(model) - theta)
    assert distance / np.sqrt(2) <= np.sqrt(max(best - bound, 0)) + np.sqrt(model.certificate_["duality_gap"]) + 1e-7


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e2, 1e5])
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("shape", [(80, 25), (60, 200)])
@pytest.mark.filterwarnings("ignore:Liblinear failed")  # theirs, where C is large
def test_it_is_liblinears_optimum_or_a_better_answer(loss, C, epsilon, shape):
    """By what chooses itself. LIBLINEAR's answer has no objective below our dual one; where it arrived, ours is its."""
    X, y, weights = problem(*shape)
    shared = {"C": C, "epsilon": epsilon, "loss": loss}
    ours = make(dual="auto", **shared).fit(X, y, sample_weight=weights)
    theirs = Theirs(dual=True, tol=1e-10, max_iter=20_000, random_state=0, **shared).fit(X, y, sample_weight=weights)
    assert ours.converged_
    objective = naive.svr_objective(theta_of(theirs), *arguments(ours, X, y, weights))
    assert ours.certificate_["dual_objective"] <= objective * (1 + 1e-9)
    assert ours.objective_ <= objective * (1 + 1.1e-8)
    left = max(objective - ours.certificate_["dual_objective"], 0)
    distance = np.linalg.norm(theta_of(ours) - theta_of(theirs))
    assert distance / np.sqrt(2) <= np.sqrt(left) + np.sqrt(ours.certificate_["duality_gap"]) + 1e-7
    if theirs.n_iter_ < 20_000 and C <= 1:
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=2e-4 * np.sqrt(objective))


@given(
    X=sparse_matrices(values=("normal", "counts", "tiny")),
    seed=seeds,
    kind=st.sampled_from(KINDS),
    C=st.sampled_from([1e-25, 1e-3, 0.1, 1.0, 1e3]),
    epsilon=st.sampled_from([0.0, 0.1, 1.0]),
    fit_intercept=st.booleans(),
)
def test_the_certificate_is_true_of_any_matrix(X, seed, kind, C, epsilon, fit_intercept):
    generator = np.random.default_rng(seed)
    y, weights = generator.normal(size=X.shape[0]), generator.choice([0.0, 0.5, 1.0, 7.0], X.shape[0])
    weights[0] = 1.0
    options = {"C": C, "epsilon": epsilon, "fit_intercept": fit_intercept, "tol": 1e-6}
    model = make(*kind, warm_start=True, **options)
    model.fit(X, y, sample_weight=weights)
    assert model.converged_
    assert_certified(model, X, y, weights)


@every_kind
def test_residuals_inside_the_tube_leave_no_weights(loss, dual):
    X, y, _ = problem()
    model = make(loss, dual, epsilon=2 * np.abs(y).max(), C=1e5).fit(X, y)
    assert (model.coef_ == 0).all()
    assert model.objective_ == 0
    assert model.converged_


@every_kind
def test_a_weight_is_so_many_rows_and_none_is_no_row(loss, dual):
    X, y, _ = problem()
    weights = np.random.default_rng(0).integers(0, 4, len(y))
    weighted = make(loss, dual, epsilon=0.1).fit(X, y, sample_weight=weights)
    several = make(loss, dual, epsilon=0.1).fit(X[np.arange(len(y)).repeat(weights)], y.repeat(weights))
    assert weighted.objective_ == pytest.approx(several.objective_, rel=2e-8)
    np.testing.assert_allclose(weighted.coef_, several.coef_, atol=1e-3 * np.abs(several.coef_).max())


# --- the way there ---------------------------------------------------------------------------------------------------


@every_kind
def test_threads_types_and_layouts_do_not_change_a_bit(loss, dual):
    X, y, _ = problem()
    X = sparse.csr_array(np.round(4 * X.toarray()))  # of which float32 loses nothing
    one = make(loss, dual, n_jobs=1).fit(X, y)
    for rows in (X, X.astype(np.float32), *(change(X) for change in UNUSUAL.values())):
        other = make(loss, dual, n_jobs=3).fit(rows, y)
        np.testing.assert_array_equal(one.coef_, other.coef_)
        np.testing.assert_array_equal(one.intercept_, other.intercept_)
        np.testing.assert_array_equal(one.predict(X), other.predict(rows))


def test_small_pieces_of_an_epoch_make_no_difference(monkeypatch):
    X, y, _ = problem()
    whole = make().fit(X, y)
    monkeypatch.setattr(svm_dual, "BUDGET", 1)
    np.testing.assert_array_equal(make().fit(X, y).coef_, whole.coef_)


def test_the_choice_is_by_cost_and_by_progress(monkeypatch):
    used, train_dual, take_steps = [], svm_dispatch.train_dual, svm_dispatch.take_steps

    def dual_ascent(*given):
        used.append("ascent")
        train_dual(*given)

    def steps(solver, monitor):
        used.append(solver.run)
        take_steps(solver, monitor)

    monkeypatch.setattr(svm_dispatch, "train_dual", dual_ascent)
    monkeypatch.setattr(svm_dispatch, "take_steps", steps)

    def methods(X, y, loss, **options):
        used.clear()
        make(loss, **{"dual": "auto", **options}).fit(X, y)
        return used.copy()

    few, wide = problem()[:2], problem(60, 2000)[:2]
    absolute, squared = LOSSES
    assert methods(*few, squared) == methods(*few, squared, dual=False) == ["newton"]
    assert methods(*few, absolute, C=1e-6) == ["ascent"]
    assert methods(*few, absolute, C=1e5) == ["ascent", "interior"]
    assert methods(*few, absolute, dual=False) == ["interior"]
    assert methods(*few, absolute, dual=True) == methods(*few, squared, dual=True) == ["ascent"]
    assert methods(*wide, absolute) == methods(*wide, absolute, dual=False) == ["ascent"]  # no Hessian so wide
    monkeypatch.setattr(svm_newton, "MAX_DENSE_WEIGHTS", 0)
    assert methods(*few, squared, C=10.0) == ["ascent", "newton"]


@every_kind
def test_the_dual_bounds_the_objective(loss, dual):
    X, y, _ = problem()
    model = make(loss, dual, epsilon=0.1).fit(X, y)
    assert all(record["dual"] <= model.objective_ * (1 + 1e-9) for record in model.history_)
    assert [record["epoch"] for record in model.history_] == list(range(1, model.n_iter_ + 1))
    assert model.history_[-1]["objective"] == model.objective_
    assert model.history_[-1]["gap"] == model.certificate_["duality_gap"]


@every_kind
def test_a_warm_start_begins_where_the_last_fit_ended(loss, dual):
    X, y, _ = problem()
    model = make(loss, True, warm_start=True, tol=1e-6).fit(X, y)
    first, objective = model.n_iter_, model.objective_
    assert model.fit(X, y).n_iter_ == 1 < first
    assert model.objective_ == pytest.approx(objective, rel=2e-6)
    for C, other in ((2.0, y), (0.1, y), (0.1, y[::-1].copy())):  # still exact when the problem is another
        model.set_params(C=C, dual=dual).fit(X, other)
        assert_certified(model, X, other, np.ones(len(y)))
        assert model.objective_ == pytest.approx(make(loss, C=C, tol=1e-6).fit(X, other).objective_, rel=2e-6)
    model.set_params(dual=True).fit(X[:50], y[:50])  # nothing to begin from
    np.testing.assert_array_equal(model.coef_, make(loss, C=0.1, tol=1e-6).fit(X[:50], y[:50]).coef_)


@every_kind
def test_a_fit_goes_on_from_its_checkpoint(loss, dual, tmp_path):
    X, y, _ = problem()
    stop_after_each_record(
        lambda **more: make(loss, dual, C=0.1 if dual else 100.0, epsilon=0.5, tol=1e-5, **more),
        SOLVED,
        (X, y),
        tmp_path / "checkpoint",
    )


def test_a_fit_that_changes_its_method_goes_on_from_its_checkpoint(tmp_path):
    X, y, _ = problem()
    stop_after_each_record(
        lambda **more: make(dual="auto", C=1e4, tol=1e-6, **more), SOLVED, (X, y), tmp_path / "checkpoint"
    )


def test_max_iter_ends_a_fit_with_a_warning_and_an_exact_certificate():
    X, y, weights = problem()
    for loss, dual in KINDS[:2]:
        model = make(loss, dual, C=100.0, max_iter=2)
        with pytest.warns(ConvergenceWarning, match=r"max_iter=2 .* Raise max_iter"):
            model.fit(X, y, sample_weight=weights)
        assert not model.converged_
        assert model.n_iter_ == 2
        assert_certified(model, X, y, weights)
    with pytest.warns(ConvergenceWarning, match="Rounding ended the fit"):
        make(dual=False, tol=0.0).fit(X, y)


def test_a_callback_sees_a_model_that_predicts_and_may_end_the_fit():
    X, y, _ = problem()
    seen = []

    def callback(model, record):
        seen.append((record["epoch"], model.score(X, y)))
        return record["epoch"] == 2

    model = make(callback=callback).fit(X, y)
    assert [epoch for epoch, _ in seen] == [1, 2]
    assert model.converged_
    assert model.n_iter_ == 2


# --- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "parameters, match",
    [
        ({"loss": "epsilon_insensitiv"}, "did you mean 'epsilon_insensitive'"),
        ({"dual": "maybe"}, "dual must be one of 'auto'"),
        ({"C": 0}, "C must be > 0"),
        ({"C": np.inf}, "C must be"),
        ({"epsilon": -0.1}, "epsilon must be >= 0"),
        ({"tol": -1e-3}, "tol must be >= 0"),
        ({"max_iter": 0}, "max_iter must be at least 1"),
        ({"intercept_scaling": 0}, "intercept_scaling must be > 0"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"verbose": -1}, "verbose"),
        ({"callback": 3}, "callback must be callable"),
        ({"random_state": -3}, "random_state"),
    ],
)
def test_bad_parameters_are_refused_and_change_nothing(parameters, match):
    X, y, _ = problem()
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
        (lambda X, y, w: (X, y * np.inf, w), "y contains infinity"),
        (lambda X, y, w: (X, np.column_stack([y, y]), w), "1d array"),
        (lambda X, y, w: (X, None, w), "requires y"),
        (lambda X, y, w: (X, y, 0 * w), "weight of every row is zero"),
        (lambda X, y, w: (X, y, -w), "must not be negative"),
        (lambda X, y, w: (X, y, w * 1e-310), "no positive number"),
        (lambda X, y, w: (Corpus(X, np.arange(len(y)) % 2), None, None), "no real targets: LinearSVR learns from a m"),
    ],
)
def test_bad_data_is_refused_and_changes_nothing(change, match):
    X, y, _ = problem()
    X, y, weights = change(X, y, np.ones(len(y)))
    model = make(C=1e-20)
    with pytest.raises((ValueError, TypeError), match=match):
        model.fit(X, y, sample_weight=weights)
    assert not hasattr(model, "coef_")
    with pytest.raises(NotFittedError):
        model.predict(problem()[0])


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_in_the_callback_leaves_the_estimator_as_it_was(error):
    def fails(model, record):
        raise error("no more")

    X, y, _ = problem()
    model = make().fit(X, y)
    coef = model.coef_.copy()
    model.set_params(callback=fails, C=50.0)
    with pytest.raises(error, match="no more"):
        model.fit(X[:40], y[:40])
    np.testing.assert_array_equal(model.coef_, coef)


@pytest.mark.parametrize("loss", LOSSES)
def test_files_and_pickles_answer_the_same_and_start_warm(loss, tmp_path):
    X, y, _ = problem()
    model = make(loss, warm_start=True).fit(X, y)
    save(model, tmp_path / "model")
    for other in (load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other.predict(X), model.predict(X))
        np.testing.assert_array_equal(other.predict(Corpus(X)), model.predict(X))
        assert other.certificate_ == model.certificate_
        assert other.intercept_.shape == (1,)
        np.testing.assert_array_equal(other.fit(X, y).coef_, pickle.loads(pickle.dumps(model)).fit(X, y).coef_)
        assert other.n_iter_ == 1
