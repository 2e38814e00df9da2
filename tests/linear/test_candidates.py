"""CandidateClassifier: its naive twin, the classifiers it contains, its optima, and what it refuses."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import minimize
from sklearn.svm import LinearSVC

from fastlin import CandidateClassifier, LogisticRegression, PassiveAggressiveClassifier, Perceptron
from oracles.candidates import Online, blocks, loss_of, made, probabilities, split
from support.strategies import sparse_matrices

LOSSES = ("log_loss", "perceptron", "hinge", "pa")
EXACT = {"tol": 1e-15, "max_iter": 10_000}
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
    best = int(np.argmin([record["objective"] for record in model.history_]))  # the epoch that is kept
    for _ in range(best):
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
    model = CandidateClassifier(solver=solver, tol=1e-13, max_iter=100_000).fit(X, y, sizes, sample_weight=w)
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


@pytest.mark.filterwarnings("ignore:Liblinear failed to converge")  # 1.6 tells of iterations that nobody counted
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
