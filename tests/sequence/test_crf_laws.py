"""The CRF's optimum: that of the naive twin over all paths, where expected counts are the observed and the prior's."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from fastlin import LogisticRegression
from fastlin.runtime import parallel
from fastlin.sequence import CRF
from fastlin.sequence.crf.training import make_problem
from oracles import chain as naive
from oracles.chain import log_sum
from support.sequences import fit, items, problem, stacked

LAYOUTS = {
    "observed": {},
    "dense": {"weights": "dense"},
    "cutoff": {"cutoff": 4},
    "dense, cutoff": {"weights": "dense", "cutoff": 12},
    "L1": {"c1": 0.4, "c2": 0.1},
    "L1, dense": {"c1": 0.4, "c2": 0.1, "weights": "dense"},
    "order 2": {"order": 2},
    "order 2, dense": {"order": 2, "weights": "dense"},
    "order 2, L1": {"order": 2, "c1": 0.3, "c2": 0.2},
    "edges": {"edges": [1, 2]},
    "edges, dense": {"edges": [0, 3], "weights": "dense"},
    "edges, L1": {"edges": [1, 2], "c1": 0.3, "c2": 0.2},
    "edges, cutoff": {"edges": [1, 2], "cutoff": 3},
    "weak prior": {"c2": 1e-2},
    "strong prior": {"c2": 30.0},
}
EXACT = {"tol": 1e-7, "max_iter": 5000}  # less would be rounding's


def table(weights):
    return weights.toarray() if sparse.issparse(weights) else weights


def theta_of(model):
    """The weights as the twin has them in line."""
    parts = [table(model.coef_), model.transitions_]
    if model.second_order_ is not None:
        parts.append(model.second_order_)
    if model.edge_coef_ is not None:
        K = len(model.classes_)
        parts.append(model.edge_coef_.toarray().T.reshape(K, K, -1))
    return np.concatenate([part.ravel() for part in parts])


@pytest.fixture(scope="module", params=LAYOUTS)
def solved(request):
    """(model, twin, the twin's optimum) of a layout of weights."""
    X, y = problem()
    twin = naive.CRF(X, y, 3, **LAYOUTS[request.param])
    return fit(CRF(**EXACT, **LAYOUTS[request.param]), X, y), twin, twin.optimum()


# --- the objective ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [0.0, 1.0, 30.0, 700.0])
@pytest.mark.parametrize("name", LAYOUTS)
def test_the_objective_and_its_gradient_are_sums_over_all_paths(name, scale):
    """Of weights so large that any path may be out of reach, too; the twin's gradient is a numerical derivative."""
    X, y = problem()
    X[5] = X[5] - 1.0  # numbers of both signs
    twin, model, (rows, lengths) = naive.CRF(X, y, 3, **LAYOUTS[name]), CRF(**LAYOUTS[name]), stacked(X)
    tokens, codes = model._learn(rows, np.concatenate(y), lengths)
    with parallel.WorkerPool(2) as workers:
        posed = make_problem(model, tokens, codes, workers)
        theta = np.random.default_rng(0).normal(size=posed.size) * scale
        gradient = np.empty(posed.size)
        value = posed.value(theta, gradient)
    point, slope = theta_of(model._install(posed, theta)), theta_of(model._install(posed, gradient))
    assert (posed.size if scale == 0 else np.count_nonzero(point)) == twin.kept.sum()
    np.testing.assert_allclose(value, twin.loss(point) + twin.c2 * point @ point, rtol=1e-11)
    np.testing.assert_allclose(slope, twin.gradient(point), rtol=1e-9, atol=1e-9 * max(1, scale))


def test_scores_of_edges_are_in_memory_for_some_sequences_at_a_time(monkeypatch):
    X, y = problem(n_labels=5, longest=9)
    whole = fit(CRF(edges=[0, 1, 2], c1=0.1, **EXACT), X, y)
    monkeypatch.setattr("fastlin.sequence.crf.edge_weights.MAX_EDGE_SCORES", 100)
    pieces = fit(CRF(edges=[0, 1, 2], c1=0.1, **EXACT), X, y)
    np.testing.assert_allclose(pieces.objective_, whole.objective_, rtol=1e-10)
    np.testing.assert_allclose(theta_of(pieces), theta_of(whole), atol=1e-4)


# --- the optimum -----------------------------------------------------------------------------------------------------


def test_the_optimum_is_that_of_the_naive_twin(solved):
    model, twin, best = solved
    assert model.converged_
    np.testing.assert_allclose(model.objective_, twin.objective(best), rtol=1e-9)
    np.testing.assert_allclose(theta_of(model), best, atol=1e-3)


def test_the_objective_is_the_twins(solved):
    model, twin, _ = solved
    np.testing.assert_allclose(model.objective_, twin.objective(theta_of(model)), rtol=1e-12)


def test_expected_counts_are_the_observed_and_the_priors(solved):
    """With c1, the weights that are zero may be off by c1."""
    model, twin, _ = solved
    theta = theta_of(model)
    slope = twin.gradient(theta)
    assert (theta[~twin.kept] == 0).all()
    zero = (theta == 0) & twin.kept
    np.testing.assert_allclose((slope + twin.c1 * np.sign(theta))[~zero], 0, atol=1e-5)
    assert np.abs(slope[zero]).max(initial=0.0) <= twin.c1 + 1e-5
    assert zero.any() == (twin.c1 > 0)


def test_log_probabilities_and_marginals_are_sums_over_all_paths(solved):
    model, twin, _ = solved
    theta, (rows, lengths) = theta_of(model), stacked(twin.X)
    totals = np.array([log_sum(design @ theta) for design in twin.designs])
    values = [twin.features(x, codes) @ theta for x, codes in zip(twin.X, twin.y, strict=True)]
    np.testing.assert_allclose(
        model.log_proba(rows, np.concatenate(twin.y), lengths=lengths), values - totals, atol=1e-9
    )
    for x, design, p in zip(twin.X, twin.designs, model.predict_marginals(rows, lengths=lengths), strict=True):
        shares = np.exp(design @ theta - log_sum(design @ theta)).reshape((twin.K,) * len(x))
        others = [tuple(np.delete(np.arange(len(x)), t)) for t in range(len(x))]
        np.testing.assert_allclose(p, [shares.sum(axis=axes) for axes in others], atol=1e-9)
    for x, design, codes in zip(twin.X, twin.designs, model.predict(rows, lengths=lengths), strict=True):
        np.testing.assert_allclose(twin.features(x, codes) @ theta, (design @ theta).max(), atol=1e-9)


# --- logistic regression ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("c2", [0.01, 1.0])
@pytest.mark.parametrize("weights", ["dense", "observed"])
def test_of_sequences_of_length_one_it_is_logistic_regression(weights, c2):
    X, y = problem(60, longest=1)
    model = fit(CRF(**EXACT, c2=c2, weights=weights), X, y)
    peer = LogisticRegression(fit_intercept=False, C=1 / (2 * c2), weights=weights, tol=1e-9, max_iter=2000)
    peer.fit(np.vstack(X), np.concatenate(y))
    np.testing.assert_allclose(table(model.coef_), table(peer.coef_), atol=1e-4)
    np.testing.assert_allclose(model.objective_, peer.objective_, rtol=1e-8)
    assert not model.transitions_.any()
    p = model.predict_marginals(sparse.csr_array(np.vstack(X)), lengths=[1] * 60)
    np.testing.assert_allclose(np.vstack(p), peer.predict_proba(np.vstack(X)), atol=1e-5)


def test_of_two_labels_each_has_its_weights():
    """θ₁ = −θ₀ = w/2 costs c2 ‖w‖²/2: C = 1/c2 in one column."""
    X, y = problem(60, longest=1, n_labels=2)
    model = fit(CRF(**EXACT, c2=0.5, weights="dense"), X, y)
    peer = LogisticRegression(fit_intercept=False, C=2, tol=1e-12, max_iter=2000).fit(np.vstack(X), np.concatenate(y))
    np.testing.assert_allclose(model.coef_[1] - model.coef_[0], peer.coef_[0], atol=1e-5)
    np.testing.assert_allclose(model.coef_[1], -model.coef_[0], atol=1e-5)


# --- solvers, threads, forms -----------------------------------------------------------------------------------------


def larger(seed=0, **options):
    return problem(**{"n_sequences": 80, "n_features": 25, "n_labels": 5, "longest": 12, "seed": seed, **options})


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("options", [{}, {"weights": "dense"}, {"c1": 0.5}, {"cutoff": 3}])
def test_threads_change_no_bit(order, options):
    X, y = larger()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        one, two = (fit(CRF(order=order, n_jobs=n_jobs, max_iter=30, tol=0.0, **options), X, y) for n_jobs in (1, 2))
    np.testing.assert_array_equal(theta_of(one), theta_of(two))
    assert one.objective_ == two.objective_
    rows, lengths = stacked(X)
    for p, q in zip(
        one.predict_marginals(rows, lengths=lengths), two.predict_marginals(rows, lengths=lengths), strict=True
    ):
        np.testing.assert_array_equal(p, q)


@pytest.mark.filterwarnings("ignore:The fit did not converge")
@pytest.mark.parametrize("solver, c1", [("sgd", 0.0), ("adagrad", 0.0), ("adagrad", 1.0)])
@pytest.mark.parametrize("options", [{}, {"weights": "dense"}, {"cutoff": 4}, {"order": 2}])
@pytest.mark.parametrize("batch_size", [1, 5, 12])
def test_lazy_steps_are_eager_steps(solver, c1, options, batch_size):
    """What is owed to a weight whose feature is not seen is paid in the end."""
    X, y = problem()
    options = {"c1": c1, "c2": 0.3, **options}
    steps = {"batch_size": batch_size, "eta0": 0.4, "max_iter": 3, "tol": 0.0, "random_state": 0}
    model = fit(CRF(solver=solver, **steps, **options), X, y)
    rng = np.random.default_rng(0)
    orders = [rng.permutation(len(X)) for _ in range(3)]
    expected = naive.descend(naive.CRF(X, y, 3, **options), orders, batch_size, solver, 0.4)
    np.testing.assert_allclose(theta_of(model), expected, rtol=1e-9, atol=1e-11)
    np.testing.assert_array_equal(theta_of(model) == 0, expected == 0)


@pytest.mark.filterwarnings("ignore:The fit did not converge")
@pytest.mark.parametrize("solver, c1", [("sgd", 0.0), ("adagrad", 0.0), ("adagrad", 1.0)])
@pytest.mark.parametrize("options", [{}, {"weights": "dense", "batch_size": 4}, {"order": 2}])
def test_stochastic_steps_come_near_the_optimum(solver, c1, options):
    X, y = larger()
    best = fit(CRF(**EXACT, c1=c1, **{**options, "batch_size": 1}), X, y).objective_
    model, again = (
        fit(CRF(solver=solver, c1=c1, max_iter=60, random_state=0, n_jobs=n_jobs, **options), X, y) for n_jobs in (1, 2)
    )
    assert best * (1 - 1e-9) <= model.objective_ <= best * 1.05
    np.testing.assert_array_equal(theta_of(model), theta_of(again))


@pytest.mark.parametrize("solver", ["lbfgs", "sgd", "adagrad"])
def test_empty_sequences_change_nothing(solver):
    """They take no steps, of which the prior would have its share."""
    X, y = problem(20)
    empty = [np.zeros((0, 4)), np.zeros(0, int)]
    model = CRF(solver=solver, tol=1e-3, max_iter=500, random_state=0)
    one = fit(model, X, y)
    other = fit(clone(model), X + 60 * empty[:1], y + 60 * empty[1:])
    np.testing.assert_allclose(theta_of(one), theta_of(other), atol=0.05)
    np.testing.assert_allclose(one.objective_, other.objective_, rtol=5e-3)


@pytest.mark.parametrize("c2, eta0", [(6.0, 1.0), (60.0, 0.1), (1.0, 1e300), (0.0, 1e300)])
@pytest.mark.parametrize("max_iter", [1, 5])
def test_a_rate_that_loses_the_weights_is_refused(c2, eta0, max_iter):
    """2 c2 η₀ / n = 1 leaves nothing of a weight."""
    X, y = problem()
    model = CRF(solver="sgd", c2=c2, eta0=eta0, max_iter=max_iter, random_state=0)
    with pytest.raises(ValueError, match=f"eta0={eta0:g}".replace("+", r"\+")):
        fit(model, X, y)
    assert not hasattr(model, "classes_")


@pytest.mark.parametrize("scale, order, weights", [(1, 1, "observed"), (1, 2, "dense"), (1e3, 1, "observed")])
def test_epochs_before_the_exact_solver_lead_to_the_same_optimum(scale, order, weights):
    """Also where features are so large that they lead away from it."""
    X, y = problem(600, n_features=6)
    X = [scale * x for x in X]
    options = {"order": order, "weights": weights, "c2": scale**2, "tol": 1e-6, "max_iter": 500}
    one, other = (fit(CRF(solver=solver, **options), X, y) for solver in ("auto", "lbfgs"))
    assert one.n_iter_ != other.n_iter_
    np.testing.assert_allclose(one.objective_, other.objective_, rtol=1e-7)


@pytest.mark.filterwarnings("ignore:The fit did not converge")
@pytest.mark.parametrize("solver", ["auto", "lbfgs"])
@pytest.mark.parametrize("scale", [1e3, 1e10, 1e90])
def test_large_features_never_make_more_than_no_weights(solver, scale):
    X, y = problem(600)
    model = fit(CRF(solver=solver, max_iter=30), [scale * x for x in X], y)
    assert model.objective_ <= sum(map(len, X)) * np.log(3) * (1 + 1e-9)


@pytest.mark.filterwarnings("ignore:The fit did not converge")
@pytest.mark.parametrize("solver", ["lbfgs", "sgd", "adagrad"])
@pytest.mark.parametrize("c2", [1e3, 1e30, 1e100])
def test_a_prior_that_leaves_no_weights(solver, c2):
    X, y = problem()
    model = fit(CRF(solver=solver, c2=c2, max_iter=3, random_state=0), X, y)
    np.testing.assert_allclose(model.objective_, sum(map(len, X)) * np.log(3), rtol=0.02)


def test_lists_of_dictionaries_are_the_matrix_they_say():
    X, y = larger()
    plain = fit(CRF(**EXACT), X, y)
    model = CRF(**EXACT).fit([items(x) for x in X], [[f"label {k}" for k in codes] for codes in y])
    assert model.classes_.tolist() == [f"label {k}" for k in range(5)]
    columns = [int(name[1:]) for name in model.attributes_]
    np.testing.assert_allclose(model.coef_.toarray(), plain.coef_.toarray()[:, columns], atol=1e-5)
    np.testing.assert_allclose(model.objective_, plain.objective_, rtol=1e-9)
    rows, lengths = stacked(X)
    expected = [[f"label {k}" for k in codes] for codes in plain.predict(rows, lengths=lengths)]
    assert model.predict([items(x) for x in X]) == expected


def test_the_order_of_sequences_does_not_matter():
    X, y = larger()
    one, other = fit(CRF(**EXACT), X, y), fit(CRF(**EXACT), X[::-1], y[::-1])
    np.testing.assert_allclose(theta_of(one), theta_of(other), atol=1e-5)


def test_a_sequence_twice_counts_twice():
    """Doubled data are halved priors, on twice the scale."""
    X, y = problem(30)
    one, two = fit(CRF(**EXACT, c2=0.5), X, y), fit(CRF(**EXACT, c2=1.0), X + X, y + y)
    np.testing.assert_allclose(theta_of(one), theta_of(two), atol=1e-5)
    np.testing.assert_allclose(2 * one.objective_, two.objective_, rtol=1e-9)


def test_long_sequences_with_large_scores():
    """No prior to speak of, and labels that follow from the features: scores grow, and nothing overflows."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, 20_000)
    X, y = [100.0 * (np.arange(3) == codes[:, None])], [codes]
    model = fit(CRF(c2=1e-9, max_iter=200), X, y)
    assert np.isfinite(theta_of(model)).all()
    assert 0 <= model.objective_ < 1
    rows, lengths = stacked(X)
    assert model.predict(rows, lengths=lengths) == [codes.tolist()]
    p = model.predict_marginals(rows, lengths=lengths)[0]
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-12)


def test_edges_of_no_feature_are_refused():
    X, y = [["w=a", "w=b"]], [["x", "y"]]
    with pytest.raises(ValueError, match="edges='W': no feature has a name that begins so: they are like 'w=a'"):
        CRF(edges="W").fit(X, y)
    assert CRF(edges=["W", "w"]).fit(X, y).edge_coef_ is not None
    assert CRF(edges=[]).fit(X, y).edge_coef_ is None


# --- features of other sizes ------------------------------------------------------------------------------------------


def sized(size):
    """Tokens whose label is the sign of a number of this size."""
    rng = np.random.default_rng(0)
    X = [[{"v": size * float(rng.normal()), "w": str(rng.choice(list("abc")))} for _ in range(4)] for _ in range(600)]
    return X, [["P" if token["v"] > 0 else "Q" for token in sentence] for sentence in X]


@pytest.mark.parametrize("solver", ["auto", "lbfgs"])
@pytest.mark.parametrize("size", [1.0, 1e3, 1e6, 1e9])
def test_a_feature_of_any_size_is_learnt_from(solver, size):
    X, y = sized(size)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = CRF(c2=0.1, solver=solver, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.98
    assert model.objective_ <= min(record["objective"] for record in model.history_ if "objective" in record)


def test_steps_that_lead_away_are_no_convergence():
    X, y = sized(1e6)
    with pytest.warns(ConvergenceWarning, match=r"scale the features, whose values are up to 3\.\d+e\+06"):
        model = CRF(c2=0.1, solver="sgd", random_state=0).fit(X, y)
    assert not model.converged_


# --- the certificate -------------------------------------------------------------------------------------------------

PRIORS = [(c1, c2) for c1 in (0.0, 1e-2, 1.0, 30.0) for c2 in (0.0, 1e-2, 1.0, 30.0) if c1 or c2]


@pytest.mark.parametrize("c1, c2", PRIORS)
@pytest.mark.parametrize("options", [{}, {"weights": "dense", "order": 2}, {"edges": [1, 2]}])
def test_the_certified_gap_bounds_the_true_one(options, c1, c2):
    X, y = problem()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        best = fit(CRF(c1=c1, c2=c2, solver="lbfgs", tol=1e-9, max_iter=3000, **options), X, y)
        for max_iter in (1, 5, 30):
            model = fit(CRF(c1=c1, c2=c2, solver="lbfgs", max_iter=max_iter, tol=1e-9, **options), X, y)
            assert model.objective_ - best.objective_ <= model.certificate_["duality_gap"] + 1e-9 * model.objective_
    assert 0 <= best.certificate_["duality_gap"] <= 1e-3 * best.objective_


def test_the_warning_names_the_gap_and_without_a_prior_there_is_none():
    X, y = problem()
    with pytest.warns(ConvergenceWarning, match=r"the objective is at most \d\.\de.\d+ of it above its minimum"):
        fit(CRF(c1=1.0, max_iter=2), X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert "duality_gap" not in fit(CRF(c1=0.0, c2=0.0, max_iter=20), X, y).certificate_
