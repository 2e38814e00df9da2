"""Ridge: the optimum of the naive twin and of scikit-learn by every solver, certified; what it refuses; how it ends."""

import pickle

import numpy as np
import pytest
import sklearn.linear_model
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from fastlin import Corpus, LinearSVR, Ridge, load, save
from fastlin.engine.core import passes
from fastlin.engine.core.csr_view import CSRView
from fastlin.linear.ridge import SOLVERS
from fastlin.optim import ridge_problem
from fastlin.optim.solvers import ridge as solvers
from oracles import regression as naive
from support.estimators import interrupted_after, random_sparse
from support.resuming import stop_after_each_record
from support.strategies import seeds, sparse_matrices
from support.unusual_matrices import UNUSUAL

rng = np.random.default_rng(7)
TALL = sparse.random(120, 30, 0.2, format="csr", random_state=0)
WIDE = sparse.random(40, 300, 0.1, format="csr", random_state=1)
SHAPES = {"tall": TALL, "wide": WIDE}


def targets_of(X, n_targets=None, seed=0):
    generator = np.random.default_rng(seed)
    shape = (X.shape[0],) if n_targets is None else (X.shape[0], n_targets)
    return 5 + generator.normal(size=shape) + X @ generator.normal(size=(X.shape[1], *shape[1:]))


def weights_of(X, seed=0):
    return np.random.default_rng(seed).choice([0.0, 0.5, 1.0, 3.0], X.shape[0])


def assert_certified(model, X, Y, weights, alphas):
    """Objective, gap and gradient are those of the weights, computed anew."""
    X, coef = X.toarray() if sparse.issparse(X) else X, np.atleast_2d(model.coef_)
    Y, intercepts = Y.reshape(len(Y), -1), np.broadcast_to(model.intercept_, len(coef))
    columns = list(zip(coef, intercepts, Y.T, np.broadcast_to(alphas, len(coef)), strict=True))
    total = sum(naive.ridge_objective(theta, b, X, y, weights, alpha) for theta, b, y, alpha in columns)
    np.testing.assert_allclose(model.objective_, total, rtol=1e-9, atol=1e-300)
    assert model.certificate_["objective"] == model.objective_
    mean = weights @ X / weights.sum() if model.fit_intercept else 0 * X[0]
    gradients = [a * theta - (X - mean).T @ (weights * (y - X @ theta - b)) for theta, b, y, a in columns]
    scale = np.abs(X).max(initial=1) ** 2 * weights.sum() * (1 + np.abs(coef).max(initial=0) + np.abs(Y).max())
    norm = max(np.linalg.norm(gradient) for gradient in gradients)
    assert model.certificate_["gradient_norm"] == pytest.approx(norm, abs=1e-11 * scale)
    gap = sum(gradient @ gradient / a for gradient, (*_, a) in zip(gradients, columns, strict=True))
    assert model.certificate_["duality_gap"] == pytest.approx(
        gap, rel=0.1, abs=1e-22 * scale**2 / min(np.ravel(alphas))
    )
    assert model.certificate_["dual_objective"] == model.objective_ - model.certificate_["duality_gap"]


# --- the optimum -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("alpha", [1e-3, 0.1, 1.0, 1e2, 1e5])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("n_targets", [None, 1, 3])
def test_every_solver_reaches_scikit_learns_optimum(solver, shape, alpha, fit_intercept, n_targets):
    X = SHAPES[shape]
    Y, weights = targets_of(X, n_targets), weights_of(X)
    theirs = sklearn.linear_model.Ridge(alpha=alpha, fit_intercept=fit_intercept, solver="svd")
    theirs.fit(X.toarray(), Y, sample_weight=weights)
    for rows in (X, X.toarray()):
        model = Ridge(alpha, fit_intercept=fit_intercept, solver=solver, tol=1e-13).fit(rows, Y, sample_weight=weights)
        assert model.solver_ == solver if solver != "auto" else model.solver_ in SOLVERS
        np.testing.assert_allclose(model.coef_, theirs.coef_, rtol=1e-5, atol=1e-6 * np.abs(theirs.coef_).max())
        np.testing.assert_allclose(model.intercept_, theirs.intercept_, atol=1e-6)
        assert model.coef_.shape == theirs.coef_.shape
        assert np.shape(model.intercept_) == np.shape(theirs.intercept_)
        np.testing.assert_allclose(model.predict(X), theirs.predict(X.toarray()), rtol=1e-6, atol=1e-6)
        assert model.predict(X).shape == theirs.predict(X.toarray()).shape
        assert_certified(model, X, Y, weights, alpha)


@given(
    X=sparse_matrices(values=("normal", "counts", "tiny")),
    seed=seeds,
    alpha=st.sampled_from([1e-3, 1.0, 1e5]),
    solver=st.sampled_from(["auto", "cholesky", "sparse_cg", "svd"]),
    fit_intercept=st.booleans(),
)
def test_the_certificate_is_true_of_any_matrix(X, seed, alpha, solver, fit_intercept):
    generator = np.random.default_rng(seed)
    y, weights = generator.normal(size=X.shape[0]), generator.choice([0.0, 0.5, 2.0], X.shape[0])
    weights[0] = 1.0
    model = Ridge(alpha, fit_intercept=fit_intercept, solver=solver, tol=1e-8).fit(X, y, sample_weight=weights)
    dense = X.toarray().astype(float)
    assert model.converged_
    assert_certified(model, dense, y, weights, alpha)
    best = naive.ridge_objective(*naive.ridge(dense, y, weights, alpha, fit_intercept), dense, y, weights, alpha)
    assert model.certificate_["dual_objective"] <= best * (1 + 1e-9)
    assert best * (1 - 1e-9) <= model.objective_ <= best * (1 + 1.1e-8) + 1e-300


@pytest.mark.parametrize("solver", ["auto", "cholesky", "sparse_cg", "svd"])
def test_each_target_has_a_penalty_and_a_fit_of_its_own(solver):
    Y, alphas = targets_of(TALL, 4), np.array([1e-3, 1.0, 1.0, 1e4])
    together = Ridge(alphas, solver=solver, tol=1e-12).fit(TALL, Y)
    for k, alpha in enumerate(alphas):
        alone = Ridge(alpha, solver=solver, tol=1e-12).fit(TALL, Y[:, k])
        np.testing.assert_allclose(together.coef_[k], alone.coef_, rtol=1e-5, atol=1e-8)
        assert together.intercept_[k] == pytest.approx(alone.intercept_)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("shape", SHAPES)
def test_without_a_penalty_it_is_the_least_squares_answer_of_least_norm(solver, shape):
    X = SHAPES[shape].toarray()
    X = np.column_stack([X, X[:, :3]])  # columns of which only the sum is known
    y = targets_of(X)
    model = Ridge(0.0, solver=solver, tol=1e-12).fit(sparse.csr_array(X), y)
    expected = np.linalg.lstsq(X - X.mean(axis=0), y - y.mean(), rcond=1e-10)[0]
    np.testing.assert_allclose(model.coef_, expected, atol=1e-6 * np.abs(expected).max())
    assert "duality_gap" not in model.certificate_


@pytest.mark.parametrize("solver", ["cholesky", "sparse_cg", "svd"])
@pytest.mark.parametrize("offset", [1e2, 1e4])
def test_means_far_from_zero_cost_no_digits(solver, offset):
    X = np.random.default_rng(0).normal(size=(200, 8)) + offset
    y = targets_of(X - offset)
    model = Ridge(0.1, solver=solver, tol=1e-12).fit(X, y)
    expected = Ridge(0.1, solver="svd", tol=1e-12).fit(X - offset, y)
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-6)


@pytest.mark.parametrize("solver", ["auto", "sparse_cg"])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_weight_is_so_many_rows_and_none_is_no_row(solver, shape):
    X = SHAPES[shape]
    y, weights = targets_of(X), np.random.default_rng(0).integers(0, 4, X.shape[0])
    weighted = Ridge(solver=solver, tol=1e-14).fit(X, y, sample_weight=weights)
    several = Ridge(solver=solver, tol=1e-14).fit(X[np.arange(len(y)).repeat(weights)], y.repeat(weights))
    np.testing.assert_allclose(weighted.coef_, several.coef_, rtol=1e-5, atol=1e-8)
    assert weighted.objective_ == pytest.approx(several.objective_)


# --- weights that are not negative -----------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_weights_that_are_not_negative_are_scikit_learns(alpha, shape, fit_intercept):
    X, weights = SHAPES[shape], weights_of(SHAPES[shape])
    Y = targets_of(X, 2)
    model = Ridge(alpha, positive=True, fit_intercept=fit_intercept, tol=1e-13).fit(X, Y, sample_weight=weights)
    assert model.converged_
    assert (model.coef_ >= 0).all()
    assert (model.coef_ == 0).any() or not fit_intercept  # without one, all pull the same way
    theirs = sklearn.linear_model.Ridge(
        alpha=alpha, positive=True, fit_intercept=fit_intercept, tol=1e-10, max_iter=100_000
    ).fit(X.toarray(), Y, sample_weight=weights)
    dense = X.toarray()

    def total(fitted):
        b = np.broadcast_to(fitted.intercept_, 2)
        return sum(naive.ridge_objective(fitted.coef_[k], b[k], dense, Y[:, k], weights, alpha) for k in range(2))

    assert model.objective_ == pytest.approx(total(model))
    assert model.certificate_["duality_gap"] <= 1e-12 * model.objective_
    assert model.certificate_["dual_objective"] <= total(theirs) * (1 + 1e-9)
    assert total(model) <= total(theirs) * (1 + 1e-9)


# --- the way there ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"solver": "sparse_cg"}, {"positive": True}])
@pytest.mark.parametrize("n_targets", [None, 3])
def test_threads_types_and_layouts_do_not_change_a_bit(options, n_targets, monkeypatch):
    monkeypatch.setattr(ridge_problem, "PARTITION_NNZ", 100)
    X = sparse.csr_array(np.round(4 * WIDE.toarray()))  # of which float32 loses nothing
    Y = targets_of(X, n_targets)
    one = Ridge(n_jobs=1, **options).fit(X, Y)
    for rows in (X, X.astype(np.float32), *(change(X) for change in UNUSUAL.values())):
        other = Ridge(n_jobs=3, **options).fit(rows, Y)
        np.testing.assert_array_equal(one.coef_, other.coef_)
        np.testing.assert_array_equal(one.intercept_, other.intercept_)
        np.testing.assert_array_equal(one.predict(X), other.predict(rows))


@given(X=sparse_matrices(values=("normal", "counts")), seed=seeds, far=st.booleans())
def test_one_pass_makes_both_products(X, seed, far):
    generator, (n, size) = np.random.default_rng(seed), X.shape
    X = X.tocsr().astype(float)
    X.sum_duplicates()
    view = CSRView(X.indptr.astype(np.int64), X.indices.astype(np.int32), X.data)
    p, weights, scores = generator.normal(size=size), generator.random(n), np.empty(n)
    pairs = np.column_stack([p, np.zeros(size)])
    passes.normal_product(view, 0, n, weights, 0.5, pairs, scores)
    np.testing.assert_allclose(scores, X @ p - 0.5, atol=1e-9 * max(1, abs(X).max()))
    np.testing.assert_allclose(pairs[:, 1], X.T @ (weights * scores), rtol=1e-9, atol=1e-9 * max(1, abs(X).max()) ** 2)
    np.testing.assert_array_equal(pairs[:, 0], p)


def test_the_choice_is_by_cost():
    def names(X, solver="auto", alphas=1):
        data = ridge_problem.RidgeProblem(*_proved(X, alphas), True, 1)
        return [kind.name for kind in solvers.choose(data, solver)]

    assert names(TALL) == names(WIDE) == ["cholesky", "svd"]
    assert names(TALL, "svd") == ["svd"]
    assert names(TALL, "sparse_cg") == names(TALL, "lsqr") == names(WIDE, "saga") == []
    long = sparse.random(20_000, 2_000, 0.001, format="csr", random_state=0)
    assert names(long) == []
    assert names(long, "cholesky") == ["cholesky"]
    assert names(sparse.random(50, 100_000, 0.001, format="csr", random_state=0), "cholesky") == ["cholesky"]


def _proved(X, n_targets):
    from fastlin import validation

    return validation.as_rows(X), np.zeros((X.shape[0], n_targets)), np.empty(0), np.ones(n_targets)


@pytest.mark.parametrize(
    "options",
    [
        {"solver": "sparse_cg", "alpha": 0.1}, {"solver": "sparse_cg", "alpha": [0.1, 10.0], "tol": 1e-14},
        {"positive": True, "tol": 1e-12}, {"positive": True, "alpha": 1e-3},
    ],
)  # fmt: skip
def test_a_fit_goes_on_from_its_checkpoint(options, tmp_path):
    Y = targets_of(TALL, 2 if np.ndim(options.get("alpha", 1)) else None)
    names = ("coef_", "intercept_", "certificate_", "n_iter_", "converged_", "solver_")
    stop_after_each_record(lambda **more: Ridge(**options, **more), names, (TALL, Y), tmp_path / "checkpoint")


@pytest.mark.parametrize("solver", ["cholesky", "svd", "sparse_cg"])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_step_by_a_decomposition_goes_on_from_its_checkpoint(solver, shape, tmp_path):
    X, path = SHAPES[shape], tmp_path / "checkpoint"
    y, options = targets_of(X), {"solver": solver, "tol": 1e-13, "alpha": 1e-3}
    whole = Ridge(**options).fit(X, y)
    started = Ridge(**options, callback=lambda *_: True)
    started.fit(X, y, checkpoint=path, checkpoint_interval=0)
    again = Ridge(**options).fit(X, y, checkpoint=path, resume=True)
    np.testing.assert_array_equal(again.coef_, whole.coef_)
    assert again.n_iter_ == whole.n_iter_
    assert len(again.history_) == len(whole.history_)


def test_history_tells_every_step_and_a_callback_may_end_it():
    y, seen = targets_of(TALL), []

    def callback(model, record):
        seen.append((record["iteration"], model.score(TALL, y)))
        return record["iteration"] == 2

    model = Ridge(solver="sparse_cg", tol=1e-10, callback=callback).fit(TALL, y)
    assert [step for step, _ in seen] == [1, 2]
    assert seen[1][1] > seen[0][1] > 0
    assert model.converged_
    assert model.n_iter_.tolist() == [2]
    whole = Ridge(solver="sparse_cg", tol=1e-10).fit(TALL, y)
    values = [record["objective"] for record in whole.history_]
    assert len(values) == whole.n_iter_[0]
    assert (np.diff(values) <= 1e-12 * values[0]).all()
    assert values[-1] == pytest.approx(whole.objective_)


def test_a_fit_that_ends_early_says_how_far_it_is():
    y = targets_of(TALL)
    for options, reason in (({"solver": "sparse_cg", "max_iter": 2}, "max_iter=2"), ({"tol": 0.0}, "rounding ended")):
        with pytest.warns(ConvergenceWarning, match=f"did not converge: {reason}.* a relative duality gap of"):
            model = Ridge(**options).fit(TALL, y)
        assert not model.converged_
        assert_certified(model, TALL, y, np.ones(len(y)), 1.0)


# --- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options, match",
    [
        ({"alpha": -1.0}, "alpha must be >= 0"),
        ({"alpha": np.nan}, "alpha contains NaN"),
        ({"alpha": "1"}, "alpha must be a number"),
        ({"alpha": [1.0, 2.0, 3.0]}, "do not correspond: 3 != 1"),
        ({"solver": "cholesk"}, "did you mean 'cholesky'"),
        ({"solver": "svd", "positive": True}, "does not support positive"),
        ({"tol": -1.0}, "tol must be >= 0"),
        ({"max_iter": 0}, "max_iter must be at least 1"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"random_state": -3}, "random_state"),
        ({"callback": 3}, "callback must be callable"),
    ],
)
def test_bad_parameters_are_refused_and_change_nothing(options, match):
    y = targets_of(TALL)
    model = Ridge().fit(TALL, y)
    before = dict(vars(model))
    model.set_params(**options)
    with pytest.raises((ValueError, TypeError), match=match):
        model.fit(TALL, y)
    assert {**vars(model), **{name: before[name] for name in options}} == before


@pytest.mark.parametrize(
    "change, match",
    [
        (lambda X, y, w: (X[:-1], y, w), "inconsistent numbers of samples"),
        (lambda X, y, w: (X * np.nan, y, w), "NaN"),
        (lambda X, y, w: (X, y * np.inf, w), "y contains infinity"),
        (lambda X, y, w: (X, y[:, None, None], w), "dimension"),
        (lambda X, y, w: (X, np.empty((len(y), 0)), w), "y has no column"),
        (lambda X, y, w: (X, None, w), "requires y"),
        (lambda X, y, w: (X, 1e101 * np.ones(len(y)), w), "at most 1e\\+100"),
        (lambda X, y, w: (X, y, 0 * w), "weight of every row is zero"),
        (lambda X, y, w: (X, y, -w), "must not be negative"),
        (lambda X, y, w: (Corpus(X, np.arange(len(y)) % 2), None, None), "no real targets: Ridge learns from a matrix"),
        (lambda X, y, w: (X * 1e90, y * 1e99, w), "overflows"),
    ],
)
def test_bad_data_is_refused_and_changes_nothing(change, match):
    y = targets_of(TALL)
    X, y, weights = change(TALL, y, np.ones(len(y)))
    model = Ridge()
    with pytest.raises((ValueError, TypeError), match=match):
        model.fit(X, y, sample_weight=weights)
    assert not hasattr(model, "coef_")
    with pytest.raises(NotFittedError):
        model.predict(TALL)


@pytest.mark.parametrize("kind", [Ridge, LinearSVR])
@pytest.mark.parametrize(
    "name, value",
    [
        *(("coef_", value) for value in (None, "x", 5.0, np.zeros(29), np.zeros((3, 30)), np.zeros((1, 1, 30)))),
        *(("intercept_", value) for value in (None, "x", np.nan, np.zeros(2), np.zeros((1, 1)))),
        *(("n_features_in_", value) for value in (None, 0, 29, 2**62)),
    ],
)
def test_what_users_set_by_hand_is_refused_by_name(kind, name, value, tmp_path):
    model = kind().fit(TALL, targets_of(TALL))
    setattr(model, name, value)
    with pytest.raises(ValueError, match=name):
        model.predict(TALL)
    with pytest.raises(ValueError, match=name):
        save(model, tmp_path / "model")


def test_predictions_check_their_rows_and_weights():
    model = Ridge().fit(TALL, targets_of(TALL, 2))
    with pytest.raises(ValueError, match="30 features"):
        model.predict(TALL[:, :-1])
    model.intercept_ = np.zeros(3)
    with pytest.raises(ValueError, match="intercept_ of shape"):
        model.predict(TALL)


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_in_the_callback_leaves_the_estimator_as_it_was(error):
    def fails(model, record):
        raise error("no more")

    y = targets_of(TALL)
    model = Ridge().fit(TALL, y)
    coef = model.coef_.copy()
    model.set_params(callback=fails, alpha=50.0)
    with pytest.raises(error, match="no more"):
        model.fit(TALL, y)
    np.testing.assert_array_equal(model.coef_, coef)


@pytest.mark.parametrize("n_targets", [None, 1, 3])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_files_and_pickles_answer_the_same(n_targets, fit_intercept, tmp_path):
    model = Ridge(0.3, fit_intercept=fit_intercept).fit(TALL, targets_of(TALL, n_targets))
    save(model, tmp_path / "model")
    corpus = Corpus(TALL)
    for other in (load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other.predict(TALL), model.predict(TALL))
        np.testing.assert_array_equal(other.predict(corpus), model.predict(TALL))
        assert other.solver_ == model.solver_
        assert np.shape(other.intercept_) == np.shape(model.intercept_)
        assert other.coef_.shape == model.coef_.shape
        assert other.certificate_ == model.certificate_
    save(model, tmp_path / "small", dtype="float16", prune=0.0)
    np.testing.assert_allclose(load(tmp_path / "small").predict(TALL), model.predict(TALL), atol=0.05)


@pytest.mark.timing
@pytest.mark.parametrize("delay", [0.05, 0.6])
@pytest.mark.parametrize(
    "model",
    [
        Ridge(1e-9, solver="sparse_cg", tol=0.0), Ridge(1e-9, positive=True, tol=0.0),
        LinearSVR(C=1e4, tol=0.0, max_iter=10**6),
        LinearSVR(C=1e4, tol=0.0, max_iter=10**6, loss="squared_epsilon_insensitive", dual=False),
    ],
)  # fmt: skip
def test_ctrl_c_ends_a_fit_within_half_a_second(model, delay):
    X, _ = random_sparse(n_rows=100_000, n_features=100_000, row_length=100, n_labels=2)
    y = np.random.default_rng(0).normal(size=X.shape[0])
    model = clone(model)
    assert interrupted_after(delay, lambda: model.fit(X, y)) < 0.5
    assert not hasattr(model, "coef_")
