"""CandidateClassifier: its naive twin, the classifiers it contains, its optima, and what it refuses."""

import pickle

import numpy as np
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.svm import LinearSVC

from fastlin import CandidateClassifier, LogisticRegression, PassiveAggressiveClassifier, Perceptron
from fastlin.optim import candidates, epochs
from reference_candidates import Online, blocks, loss_of, probabilities, split
from strategies import sparse_matrices
from support import text_like

LOSSES = ("log_loss", "perceptron", "hinge", "pa")
EXACT = {"tol": 1e-9, "max_iter": 10_000}
WEIGHTS = (None, "some are zero")


@st.composite
def grouped(draw, **options):
    """Candidates, their groups, the right ones, weights of which some are zero."""
    X = draw(sparse_matrices(**options))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    cuts = np.flatnonzero(rng.random(X.shape[0] - 1) < 0.4) + 1
    sizes = np.diff(np.concatenate([[0], cuts, [X.shape[0]]]))
    weights = np.round(rng.gamma(1.0, size=len(sizes)), 2) * (rng.random(len(sizes)) < 0.8)
    weights[0] = 1.0
    return X, rng.integers(0, sizes), sizes, weights


def made(n_groups=120, n_features=25, seed=0, dtype=np.float64):
    """Groups of 1 to 6 candidates, of which the right one tends to score best."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 7, size=n_groups)
    X = sparse.random_array((sizes.sum(), n_features), density=0.3, rng=rng, data_sampler=rng.normal, format="csr")
    scores = X @ rng.normal(size=n_features) + 0.5 * rng.normal(size=len(X.indptr) - 1)
    y = np.array([np.argmax(part) for part in np.split(scores, np.cumsum(sizes)[:-1])])
    return X.astype(dtype), y, sizes


def labelled(rounded=False):
    """Rows of four labels, and the same as candidates."""
    rng = np.random.default_rng(3)
    X = sparse.random_array((150, 20), density=0.3, rng=rng, data_sampler=rng.normal, format="csr")
    if rounded:
        X.data[:] = np.round(3 * X.data)
    y = rng.integers(0, 4, size=150)
    y[:4] = np.arange(4)
    return X, y, sparse.csr_array(blocks(X, 4)), np.full(150, 4)


def weights_of(kind, n):
    return None if kind is None else np.arange(n) % 3 / 2


def quiet(**options):
    """Three epochs in the order given."""
    return CandidateClassifier(**{"max_iter": 3, "tol": None, "shuffle": False, **options})


# --- the twin --------------------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(
    grouped(values=("normal",)),
    st.sampled_from(["perceptron", "pa"]),
    st.sampled_from([0, 1, 4]),
    st.sampled_from([0.1, 2.0, np.inf]),
)
def test_online_learning_equals_the_twin(data, loss, average, C):
    X, y, sizes, weights = data
    model = quiet(loss=loss, average=average, C=C).fit(X, y, sizes, sample_weight=weights)
    kept = np.flatnonzero(weights)
    twin = Online(loss, X.shape[1], C=C, average_from=average)
    for _ in range(3):
        twin.epoch(split(X, sizes), y, weights, kept)
    np.testing.assert_allclose(model.coef_[0], twin.coef, rtol=1e-9, atol=1e-11 * max(1, np.abs(twin.coef).max()))
    np.testing.assert_allclose(model.objective_, twin.loss, rtol=1e-9, atol=1e-10)


@pytest.mark.filterwarnings("ignore:The fit did not converge")
@settings(max_examples=60, deadline=None)
@given(grouped(values=("normal",)), st.sampled_from(["sgd", "adagrad"]), st.sampled_from([1e-3, 0.1, 10.0, np.inf]))
def test_descent_on_the_log_loss_equals_the_twin(data, solver, C):
    """No counts: where those of equal candidates cancel, Adagrad would make 1e-17 of rounding a step of 1e-7."""
    X, y, sizes, weights = data
    weights[weights == 0] = 1
    model = CandidateClassifier(solver=solver, C=C, max_iter=6, tol=0.0, random_state=5)
    model.fit(X, y, sizes, sample_weight=weights)
    n = len(sizes)
    size = np.square(X.toarray()).sum() / X.shape[0] * weights.sum() / n
    rate = {"eta0": 2 / size if size > 0 else 1.0, "average_from": 3 * n + 1} if solver == "sgd" else {}
    twin, generator = Online(solver, X.shape[1], decay=1 / C / n, **rate), np.random.default_rng(5)
    for _ in range(model.n_iter_):
        twin.epoch(split(X, sizes), y, weights, generator.permutation(n))
    np.testing.assert_allclose(model.coef_[0], twin.coef, rtol=1e-8, atol=1e-9 * max(1, np.abs(twin.theta).max()))


@settings(max_examples=30, deadline=None)
@given(grouped(values=("normal",)), st.sampled_from([0.1, 1.0, 30.0]))
def test_the_log_loss_reaches_the_optimum_of_a_general_solver(data, C):
    X, y, sizes, weights = data
    model = CandidateClassifier(C=C, **EXACT).fit(X, y, sizes, sample_weight=weights)
    groups = split(X, sizes)

    def objective(theta):
        value, gradient = loss_of("log_loss", theta, groups, y, weights)
        return value + theta @ theta / 2 / C, gradient + theta / C

    peer = minimize(objective, np.zeros(X.shape[1]), jac=True, method="L-BFGS-B", options={"ftol": 0, "gtol": 1e-9})
    np.testing.assert_allclose(model.objective_, peer.fun, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(model.coef_[0], peer.x, atol=1e-5)
    np.testing.assert_allclose(objective(model.coef_[0])[0], model.objective_, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(model.predict_proba(X, sizes), probabilities(model.coef_[0], groups), atol=1e-12)


@settings(max_examples=30, deadline=None)
@given(grouped(values=("normal", "counts")), st.sampled_from([0.01, 1.0, 5.0]))
def test_the_duality_gap_bounds_the_hinge_loss(data, C):
    X, y, sizes, weights = data
    model = CandidateClassifier(loss="hinge", C=C, tol=1e-5, max_iter=100_000, random_state=0)
    model.fit(X, y, sizes, sample_weight=weights)
    groups, theta = split(X, sizes), model.coef_[0]

    def objective(theta):
        return loss_of("hinge", theta, groups, y, weights)[0] + theta @ theta / 2 / C

    np.testing.assert_allclose(objective(theta), model.objective_, rtol=1e-10)
    gap, best = model.certificate_["duality_gap"], model.objective_
    assert -1e-9 * best <= gap <= 1e-5 * weights.sum()
    rng = np.random.default_rng(0)
    for size in (1e-3, 1e-2, 0.1):
        assert objective(theta + size * rng.normal(size=len(theta))) >= best - gap - 1e-9 * best


# --- blocks x ⊗ e_y: the classifiers of rows and labels --------------------------------------------------------------


@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
@pytest.mark.parametrize("weights", WEIGHTS)
def test_candidates_in_blocks_are_logistic_regression(C, weights):
    X, y, B, sizes = labelled()
    w = weights_of(weights, len(y))
    model = CandidateClassifier(C=C, **EXACT).fit(B, y, sizes, sample_weight=w)
    peer = LogisticRegression(C=C, fit_intercept=False, **EXACT).fit(X, y, sample_weight=w)
    np.testing.assert_allclose(model.coef_.reshape(4, -1), peer.coef_, atol=1e-6)
    np.testing.assert_allclose(model.objective_, peer.objective_, rtol=1e-12)
    np.testing.assert_allclose(model.predict_proba(B, sizes).reshape(-1, 4), peer.predict_proba(X), atol=1e-7)
    np.testing.assert_array_equal(model.predict(B, sizes), peer.predict(X))
    assert model.score(B, y, sizes, sample_weight=w) == pytest.approx(peer.score(X, y, sample_weight=w))
    for name in ("moment_gap", "entropy"):
        assert model.certificate_[name] == pytest.approx(peer.certificate_[name], rel=1e-6, abs=1e-6)


SOLVERS = ["newton", "lbfgs", "cg", "gd", "gis", "iis"]


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("weights", WEIGHTS)
def test_every_solver_reaches_the_optimum(solver, weights):
    X, y, sizes = made()
    X, w = abs(X), weights_of(weights, len(y))
    best = CandidateClassifier(**EXACT).fit(X, y, sizes, sample_weight=w)
    model = CandidateClassifier(solver=solver, tol=1e-7, max_iter=100_000).fit(X, y, sizes, sample_weight=w)
    assert model.converged_
    np.testing.assert_allclose(model.objective_, best.objective_, rtol=1e-9)
    np.testing.assert_allclose(model.coef_, best.coef_, atol=1e-4)
    objectives = [record["objective"] for record in model.history_]
    assert (np.diff(objectives) <= 1e-12 * objectives[0]).all()


@pytest.mark.parametrize("solver", ["gis", "iis"])
def test_scaling_takes_the_steps_of_logistic_regression(solver):
    X, y, B, sizes = labelled(rounded=True)
    options = {"solver": solver, "tol": 1e-3, "max_iter": 1000, "C": 2.0}
    model = CandidateClassifier(**options).fit(abs(B), y, sizes)
    peer = LogisticRegression(fit_intercept=False, **options).fit(abs(X), y)
    ours, theirs = ([record["objective"] for record in m.history_[:5]] for m in (model, peer))
    np.testing.assert_allclose(ours, theirs, rtol=1e-3)
    assert model.objective_ == pytest.approx(peer.objective_, rel=1e-4)
    with pytest.raises(ValueError, match="Negative values"):
        CandidateClassifier(**options).fit(B, y, sizes)


def test_an_l1_norm():
    X, y, B, sizes = labelled()
    options = {"l1_ratio": 0.7, "C": 0.5, **EXACT}
    model = CandidateClassifier(**options).fit(B, y, sizes)
    peer = LogisticRegression(fit_intercept=False, **options).fit(X, y)
    assert model.objective_ == pytest.approx(peer.objective_, rel=1e-9)
    np.testing.assert_allclose(model.coef_.reshape(4, -1), peer.coef_, atol=1e-5)
    assert 0.1 < np.mean(model.coef_ == 0) < 0.9


def test_an_indicator_for_each_label_without_a_prior_is_the_intercept():
    X, y, B, sizes = labelled()
    indicators = sparse.csr_array(np.tile(np.eye(4), (len(y), 1)))
    variance = np.concatenate([np.full(B.shape[1], 2.0), np.full(4, np.inf)])
    model = CandidateClassifier(prior_variance=variance, **EXACT).fit(sparse.hstack([B, indicators]), y, sizes)
    peer = LogisticRegression(C=2.0, **EXACT).fit(X, y)
    np.testing.assert_allclose(model.coef_[0, :-4].reshape(4, -1), peer.coef_, atol=1e-6)
    intercept = model.coef_[0, -4:]
    np.testing.assert_allclose(intercept - intercept.mean(), peer.intercept_, atol=1e-6)


@pytest.mark.parametrize("average", [False, True, 200])
@pytest.mark.parametrize("weights", WEIGHTS)
def test_candidates_in_blocks_are_the_perceptron(average, weights):
    X, y, B, sizes = labelled(rounded=True)
    w = weights_of(weights, len(y))
    model = quiet(loss="perceptron", average=average).fit(B, y, sizes, sample_weight=w)
    peer = Perceptron(fit_intercept=False, average=average, max_iter=3, tol=None, shuffle=False)
    peer.fit(X, y, sample_weight=w)
    np.testing.assert_allclose(model.coef_.reshape(4, -1), peer.coef_, atol=1e-12)
    assert model.objective_ == pytest.approx(peer.objective_)
    assert [h["updates"] for h in model.history_] == [h["updates"] for h in peer.history_]


@pytest.mark.parametrize("C", [0.05, 1.0, np.inf])
@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("weights", WEIGHTS)
def test_candidates_in_blocks_are_passive_aggressive(C, average, weights):
    X, y, B, sizes = labelled()
    w = weights_of(weights, len(y))
    model = quiet(loss="pa", C=C, average=average).fit(B, y, sizes, sample_weight=w)
    peer = PassiveAggressiveClassifier(C=C, fit_intercept=False, average=average, max_iter=3, tol=None, shuffle=False)
    peer.fit(X, y, sample_weight=w)
    np.testing.assert_allclose(model.coef_.reshape(4, -1), peer.coef_, atol=1e-11)


@pytest.mark.parametrize("C", [0.1, 1.0])
def test_candidates_in_blocks_are_the_svm_of_crammer_and_singer(C):
    X, y, B, sizes = labelled()
    model = CandidateClassifier(loss="hinge", C=C, tol=1e-8, max_iter=100_000, random_state=0).fit(B, y, sizes)
    peer = LinearSVC(multi_class="crammer_singer", C=C, fit_intercept=False, tol=1e-9, max_iter=100_000).fit(X, y)
    np.testing.assert_allclose(model.coef_.reshape(4, -1), peer.coef_, atol=1e-4)


# --- what a model says -----------------------------------------------------------------------------------------------


def test_ranks_predictions_and_probabilities_agree():
    X, y, sizes = made()
    model = CandidateClassifier().fit(X, y, sizes)
    starts = np.cumsum(sizes) - sizes
    scores, ranks, chosen = model.decision_function(X), model.rank(X, sizes), model.predict(X, sizes)
    p, log_p = model.predict_proba(X, sizes), model.predict_log_proba(X, sizes)
    for start, size, best in zip(starts, sizes, chosen, strict=True):
        group = slice(start, start + size)
        assert sorted(ranks[group]) == list(range(size))
        assert best == np.argmax(scores[group]) == np.argmin(ranks[group])
        assert (np.diff(scores[group][np.argsort(ranks[group])]) <= 0).all()
        assert p[group].sum() == pytest.approx(1)
    np.testing.assert_allclose(np.log(p), log_p)
    assert model.score(X, y, sizes) == np.mean(chosen == y)
    np.testing.assert_array_equal(model.decision_function(X, sizes), scores)


def test_the_first_of_equals_is_chosen():
    X = [[1.0], [1.0], [0.0], [0.0], [2.0], [2.0]]
    model = CandidateClassifier().fit(X, [0, 1], [3, 3])
    assert model.coef_[0, 0] > 0
    assert model.predict(X, [3, 3]).tolist() == [0, 1]
    assert model.rank(X, [3, 3]).tolist() == [0, 1, 2, 2, 0, 1]


def test_probabilities_of_large_scores():
    model = CandidateClassifier().fit([[1.0], [0.0]], [0], [2])
    model.coef_ = np.array([[1.0]])
    log_p = model.predict_log_proba([[700.0], [-700.0], [0.0], [700.0], [700.0]], [3, 2])
    np.testing.assert_allclose(log_p, [0, -1400, -700, -np.log(2), -np.log(2)])
    p = model.predict_proba([[700.0], [-700.0], [-1e4]], [1, 2])
    np.testing.assert_array_equal(p, [1, 1, 0])


@pytest.mark.filterwarnings("ignore:The fit did not converge")
@pytest.mark.parametrize("solver", ["auto", "sgd", "adagrad"])
def test_scores_of_seven_hundred_are_learnt_from(solver):
    X = [[700.0, 0], [-700.0, 0], [0, 700.0], [0, -700.0], [350.0, 1]]
    model = CandidateClassifier(solver=solver, random_state=0).fit(X, [0, 2], [2, 3])
    assert np.isfinite(model.coef_).all()
    assert model.score(X, [0, 2], [2, 3]) == 1
    model.set_params(warm_start=True)
    model.coef_ = np.array([[-1.0, 700.0]])
    assert np.isfinite(model.fit(X, [0, 2], [2, 3]).coef_).all()
    assert solver != "auto" or model.score(X, [0, 2], [2, 3]) == 1


@pytest.mark.parametrize("loss", LOSSES)
def test_groups_of_one_and_equal_candidates_teach_nothing(loss):
    X = [[1.0, 2], [3, 4], [3, 4], [5, 6]]
    model = CandidateClassifier(loss=loss).fit(X, [0, 1, 0], [1, 2, 1])
    np.testing.assert_array_equal(model.coef_, [[0, 0]])
    assert model.converged_
    empty = CandidateClassifier(loss=loss).fit(sparse.csr_array((4, 2)), [0, 1, 0], [1, 2, 1])
    np.testing.assert_array_equal(empty.coef_, [[0, 0]])
    assert empty.converged_
    if loss == "log_loss":
        np.testing.assert_array_equal(model.predict_proba(X, [1, 2, 1]), [1, 0.5, 0.5, 1])


@pytest.mark.parametrize("loss", LOSSES)
def test_a_group_of_thousands(loss):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 3))
    sizes, theta = [4000, 10, 990], [1.0, -2.0, 0.5]
    y = [np.argmax(part @ theta) for part in np.split(X, [4000, 4010])]
    model = CandidateClassifier(loss=loss, C=1e4, max_iter=2000, tol=1e-3, random_state=0).fit(X, y, sizes)
    assert model.score(X, y, sizes) == 1


def test_what_is_common_to_a_group_cancels():
    X, y, sizes = made()
    common = sparse.csr_array(np.repeat(np.arange(len(sizes)) % 5 + 1.0, sizes)[:, np.newaxis])
    for loss in LOSSES:
        options = {"loss": loss, "tol": 1e-4, "max_iter": 1000, "shuffle": False, "random_state": 0}
        alone = CandidateClassifier(**options).fit(X, y, sizes)
        wider = CandidateClassifier(**options).fit(sparse.hstack([X, common]).tocsr(), y, sizes)
        np.testing.assert_allclose(wider.coef_[0, -1], 0, atol=1e-6)
        np.testing.assert_allclose(wider.coef_[:, :-1], alone.coef_, atol=1e-6)


# --- running ---------------------------------------------------------------------------------------------------------

EVERY = [
    {},
    {"solver": "lbfgs"},
    {"solver": "sgd", "max_iter": 5, "tol": 10.0},
    {"solver": "adagrad", "max_iter": 5, "tol": 10.0},
    {"loss": "perceptron", "average": True, "tol": None, "max_iter": 4},
    {"loss": "pa", "tol": None, "max_iter": 4},
    {"loss": "hinge", "tol": 0.01},
]


def names(options):
    return " ".join(map(str, options.values())) or "auto"


@pytest.mark.parametrize("options", EVERY, ids=names)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_threads_change_no_bit(monkeypatch, options, dtype):
    X, y, sizes = made(dtype=dtype)
    monkeypatch.setattr("fastlin.run.WORK", 100)
    one, two = (CandidateClassifier(random_state=0, n_jobs=n, **options).fit(X, y, sizes) for n in (1, 2))
    assert one.coef_.dtype == dtype
    np.testing.assert_array_equal(one.coef_, two.coef_)
    assert one.objective_ == two.objective_
    np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))


@pytest.mark.parametrize("options", EVERY, ids=names)
def test_a_model_survives_cloning_and_pickling(options):
    X, y, sizes = made()
    model = clone(CandidateClassifier(random_state=0, **options)).fit(X, y, sizes)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.coef_, model.coef_)
    np.testing.assert_array_equal(copy.predict(X, sizes), model.predict(X, sizes))
    again = pickle.loads(pickle.dumps(copy)).fit(X, y, sizes)
    np.testing.assert_array_equal(again.coef_, model.coef_)


@pytest.mark.parametrize("options", EVERY, ids=names)
def test_small_budgets_change_no_bit(monkeypatch, options):
    X, y, sizes = made()
    expected = CandidateClassifier(random_state=0, **options).fit(X, y, sizes)
    monkeypatch.setattr(epochs, "BUDGET", 1)
    monkeypatch.setattr(candidates, "BUDGET", 1)
    model = CandidateClassifier(random_state=0, **options).fit(X, y, sizes)
    np.testing.assert_array_equal(model.coef_, expected.coef_)


@pytest.mark.parametrize("options", EVERY, ids=names)
def test_a_callback_sees_every_record_and_can_end_the_fit(options):
    X, y, sizes = made()
    seen = []

    def look(model, record):
        seen.append((record, model.coef_.copy(), model.predict(X, sizes)))
        return len(seen) == 2

    model = CandidateClassifier(**{**options, "random_state": 0, "tol": 0.0, "max_iter": 50}, callback=look)
    model.fit(X, y, sizes)
    assert len(seen) == 2
    assert [record for record, *_ in seen] == model.history_
    np.testing.assert_array_equal(seen[-1][1], model.coef_)
    assert model.history_[-1]["objective"] == pytest.approx(model.objective_)
    assert "callback" in model.get_params()


@pytest.mark.parametrize("options", EVERY, ids=names)
@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
def test_a_fit_that_is_ended_by_an_error_changes_nothing(options, error):
    X, y, sizes = made()
    model = CandidateClassifier(random_state=0, **options).fit(X, y, sizes)

    def fail(model, record):
        raise error

    model.set_params(callback=fail)
    before = pickle.dumps({k: v for k, v in vars(model).items() if k != "callback"})
    with pytest.raises(error):
        model.fit(X[:, :4], y, sizes)
    assert pickle.dumps({k: v for k, v in vars(model).items() if k != "callback"}) == before


def test_verbose_prints_a_line_a_record(capsys):
    X, y, sizes = made()
    for options in EVERY:
        model = CandidateClassifier(random_state=0, verbose=1, **options).fit(X, y, sizes)
        lines = capsys.readouterr().out.splitlines()
        assert len(lines) == len(model.history_)
        assert all(line.startswith("CandidateClassifier") and "objective" in line for line in lines)


def test_a_warm_start_goes_on():
    X, y, sizes = made()
    model = CandidateClassifier(warm_start=True).fit(X, y, sizes)
    assert model.n_iter_ > 0
    assert model.fit(X, y, sizes).n_iter_ == 0
    for loss in ("perceptron", "pa"):
        whole = quiet(loss=loss, max_iter=6).fit(X, y, sizes)
        parts = quiet(loss=loss, warm_start=True).fit(X, y, sizes).fit(X, y, sizes)
        np.testing.assert_array_equal(parts.coef_, whole.coef_)
    with pytest.raises(ValueError, match="warm_start goes on with the same features"):
        model.fit(X[:, :5], y, sizes)
    assert model.n_features_in_ == X.shape[1]


def test_a_prior_mean_and_variances():
    X, y, sizes = made()
    mean, variance = np.linspace(-1, 1, X.shape[1]), np.linspace(0.1, 2, X.shape[1])
    model = CandidateClassifier(prior_mean=mean, prior_variance=variance, **EXACT).fit(X, y, sizes)
    _, gradient = loss_of("log_loss", model.coef_[0], split(X, sizes), y, np.ones(len(y)))
    np.testing.assert_allclose(gradient + (model.coef_[0] - mean) / variance, 0, atol=1e-6)
    known = CandidateClassifier(prior_mean=model.coef_).fit(X, y, sizes, sample_weight=1e-12)
    np.testing.assert_allclose(known.coef_, model.coef_, atol=1e-6)


def test_without_a_prior_observed_equals_expected():
    X, y, sizes = made(n_features=6)
    model = CandidateClassifier(C=np.inf, **EXACT).fit(X, y, sizes)
    assert model.certificate_["moment_gap"] < 1e-5
    p = model.predict_proba(X, sizes)
    right = np.cumsum(sizes) - sizes + y
    np.testing.assert_allclose(X.T @ p, X[right].sum(axis=0), atol=1e-5)
    assert model.certificate_["entropy"] == pytest.approx(-np.sum(p * np.log(p)), rel=1e-5)


@pytest.mark.parametrize("solver", ["sgd", "adagrad"])
def test_descent_approaches_the_optimum(solver):
    X, y, sizes = made()
    best = CandidateClassifier(**EXACT).fit(X, y, sizes).objective_
    with pytest.warns(ConvergenceWarning, match="did not converge"):
        model = CandidateClassifier(solver=solver, max_iter=30, tol=1e-9, random_state=0).fit(X, y, sizes)
    assert best <= model.objective_ <= 1.01 * best
    assert not model.converged_
    assert model.n_iter_ == 30


@pytest.mark.parametrize("loss", ["hinge", "pa"])
def test_too_few_epochs_are_told(loss):
    X, y, sizes = made()
    with pytest.warns(ConvergenceWarning, match="max_iter=2 epochs"):
        model = CandidateClassifier(loss=loss, max_iter=2).fit(X, y, sizes)
    assert not model.converged_
    assert model.n_iter_ == 2


def test_group_sizes_are_routed():
    X, y, sizes = made()
    X = abs(X)
    with sklearn.config_context(enable_metadata_routing=True):
        model = CandidateClassifier().set_fit_request(group_sizes=True).set_predict_request(group_sizes=True)
        pipeline = make_pipeline(MaxAbsScaler(), model).fit(X, y, group_sizes=sizes)
        assert len(pipeline.predict(X, group_sizes=sizes)) == len(y)


# --- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "sizes, y, match",
    [
        ([2, 0, 4], [0, 0, 0], "group_sizes holds 0 for group 1; a group has at least one row"),
        ([8, -2], [0, 0], "group_sizes holds 8 for group 0; X has 6 rows"),
        ([2, -2], [0, 0], "group_sizes holds -2 for group 1"),
        ([2, 3], [0, 0], "the 2 group_sizes add up to 5, but X has 6 rows"),
        ([2, 2**62, 2**62], [0, 0, 0], "group_sizes holds 4611686018427387904 for group 1; X has 6 rows"),
        (np.array([2**63, 2**63], np.uint64), [0, 0], "group_sizes holds 9223372036854775808 for group 0"),
        ([10**30, 6], [0, 0], "group_sizes must hold whole numbers"),
        ([2.0, 4.0], [0, 0], "group_sizes must hold whole numbers, got float64 2.0"),
        ([True, True], [0, 0], "group_sizes must hold whole numbers, got bool"),
        (None, [0, 0], "group_sizes must be a vector of whole numbers, got None"),
        (6, [0], "group_sizes must be a vector"),
        ([[2, 4]], [0, 0], "group_sizes must be a vector"),
        ([2, [4]], [0, 0], "group_sizes must be a vector"),
        ([], [], "the 0 group_sizes add up to 0"),
        ([2, 4], [0], "y has 1 entries, group_sizes has 2"),
        ([2, 4], [0, 4], "y holds 4 for group 1, which has the positions 0 to 3"),
        ([2, 4], [-1, 0], "y holds -1 for group 0"),
        ([2, 4], [0.5, 0], "y must hold whole numbers"),
        ([2, 4], ["a", "b"], "y must hold whole numbers"),
        ([2, 4], None, "y must be a vector of whole numbers, got None"),
        (sparse.csr_array([[2, 4]]), [0, 0], "group_sizes must be a vector .* sparse"),
    ],
)
def test_groups_that_are_none_are_refused_before_anything_changes(sizes, y, match):
    X = np.arange(12.0).reshape(6, 2)
    for loss in LOSSES:
        model = CandidateClassifier(loss=loss)
        with pytest.raises((ValueError, TypeError), match=match):
            model.fit(X, y, sizes)
        assert vars(model) == vars(CandidateClassifier(loss=loss))
    model = CandidateClassifier().fit(X, [0, 1], [2, 4])
    if "group_sizes" in match and "y has" not in match:
        for method in (model.predict, model.rank, model.predict_proba, model.predict_log_proba):
            with pytest.raises((ValueError, TypeError), match=match):
                method(X, sizes)
    with pytest.raises((ValueError, TypeError), match=match):
        model.score(X, y, sizes)


@pytest.mark.parametrize(
    "options, match",
    [
        ({"loss": "logloss"}, "did you mean 'log_loss'"),
        ({"solver": "newtom"}, "did you mean 'newton'"),
        ({"C": 0.0}, "C must be > 0"),
        ({"tol": None}, "tol must be a number"),
        ({"max_iter": 0}, "max_iter must be at least 1"),
        ({"average": -1}, "average must be at least 0"),
        ({"average": 0.5}, "average must be a whole number"),
        ({"dtype": "int8"}, "dtype must be"),
        ({"callback": 3}, "callback must be callable"),
        ({"solver": "sgd", "l1_ratio": 0.5}, "has no L1 term"),
        ({"solver": "sgd", "prior_variance": [1.0, 2.0]}, "one variance"),
        ({"solver": "adagrad", "prior_mean": 1.0}, "no prior_mean"),
        ({"loss": "pa", "solver": "newton"}, "belongs to loss='log_loss'"),
        ({"loss": "hinge", "prior_mean": 1.0}, "belong to loss='log_loss'"),
        ({"loss": "perceptron", "penalty": "l1"}, "belong to loss='log_loss'"),
        ({"loss": "hinge", "C": np.inf}, "needs a finite C"),
        ({"loss": "hinge", "penalty": None}, "needs a finite C"),
    ],
)
def test_parameters_that_are_none_are_refused(options, match):
    model = CandidateClassifier(**options)
    with pytest.raises((ValueError, TypeError), match=match):
        model.fit(np.eye(2), [0], [2])
    assert vars(model) == vars(CandidateClassifier(**options))


@pytest.mark.parametrize(
    "weights, match",
    [([1.0], "sample_weight has 1 entries, X has 2 groups"), ([1, -1], "at group 1"), ([0, 0], "zero for every group")],
)
def test_weights_that_are_none_are_refused(weights, match):
    with pytest.raises(ValueError, match=match):
        CandidateClassifier().fit(np.eye(4), [0, 0], [2, 2], sample_weight=weights)


def test_other_matrices_are_refused():
    model = CandidateClassifier()
    with pytest.raises(NotFittedError):
        model.predict(np.eye(2), [2])
    model.fit(np.eye(2), [0], [2])
    with pytest.raises(ValueError, match="3 features"):
        model.predict(np.eye(3), [3])
    with pytest.raises(ValueError, match="NaN at row 1"):
        model.fit([[1.0, 0], [np.nan, 0]], [0], [2])
    with pytest.raises(ValueError, match="would overflow the weights"):
        CandidateClassifier(loss="perceptron", max_iter=10**6, tol=None).fit(
            np.array([[1e100], [0.0], [0.0], [1e100]]), [0, 0], [2, 2]
        )
    assert not hasattr(CandidateClassifier(loss="pa"), "predict_proba")


def test_groups_of_a_data_frame_keep_the_names_of_its_columns():
    pandas = pytest.importorskip("pandas")
    X, y = text_like(n_rows=6, n_features=3)
    frame = pandas.DataFrame(X.toarray(), columns=["a", "b", "c"])
    model = CandidateClassifier().fit(frame, y[:2] % 2, pandas.Series([2, 4]))
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    assert len(model.predict(frame, pandas.Series([2, 4]))) == 2
