"""Every solver reaches the same optimum, never rises where it must not, and tells the truth about its end."""

import itertools
import re
import warnings

import numpy as np
import pytest
import sklearn.linear_model
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning

from fastlin import LogisticRegression
from fastlin.optim.solvers import logistic_dual
from support.estimators import random_sparse
from support.logistic_problems import (
    BATCH,
    MONOTONE,
    PROBLEMS,
    SPARSE,
    assert_optimal,
    counts,
    excess,
    frozen,
    posed,
    solve,
    theta_of,
    tight,
    twin_of,
    two_sided,
)

ALIASES = {
    "newton-cg": "newton",
    "newton-cholesky": "newton",
    "liblinear": "auto",
    "sag": "auto",
    "saga": "auto",
}


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("solver", BATCH)
def test_every_batch_solver_reaches_the_optimum(name, solver):
    model, twin, best = solve(name, solver)
    assert model.converged_
    assert_optimal(model, twin, best)


@pytest.mark.parametrize("name", SPARSE)
@pytest.mark.parametrize("solver", ["auto", "newton", "lbfgs"])
def test_sparse_optima_are_reached(name, solver):
    model, twin, best = solve(name, solver)
    assert model.converged_
    assert_optimal(model, twin, best)
    assert twin.violation(theta_of(model, twin)) <= 1e-5 * twin.size()
    np.testing.assert_array_equal(theta_of(model, twin) == 0, best == 0)


@pytest.mark.parametrize("solver", ["gd", "cg", "gis", "iis", "sgd", "adagrad"])
def test_a_solver_works_with_l1_or_says_that_it_cannot(solver):
    X, y, weights, parameters, twin, best = posed("multinomial, L1")
    model = LogisticRegression(**parameters, solver=solver, tol=1e-6, max_iter=2000, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            model.fit(X, y, sample_weight=weights)
        except ValueError as error:
            refusal = str(error)
    if not hasattr(model, "classes_"):
        assert re.search("L1.*(lbfgs|auto)", refusal)  # what to use instead
        return
    assert excess(model, twin, best) <= 1e-3


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", ["csr", "csc", "dense"])
@pytest.mark.parametrize("solver", BATCH)
def test_the_optimum_is_reached_from_any_matrix(solver, form, dtype):
    X, y, weights = two_sided(3, dtype=dtype)
    given = X.toarray() if form == "dense" else X.asformat(form)
    model = tight(solver, tol=1e-6, C=3.0).fit(given, y, sample_weight=weights)
    twin = twin_of(model, X, y, weights)
    assert_optimal(model, twin, twin.minimum())


@pytest.mark.parametrize("solver", ["sgd", "adagrad"])
@pytest.mark.parametrize("n_labels", [2, 3])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_online_solvers_approach_the_optimum_of_a_well_behaved_problem(solver, n_labels):
    X, y = random_sparse(n_rows=300, n_features=20, row_length=5, n_labels=n_labels)
    model = LogisticRegression(solver=solver, C=0.1, max_iter=300, tol=1e-9, random_state=0).fit(X, y)
    twin = twin_of(model, X, y)
    assert excess(model, twin, twin.minimum()) <= (1e-4 if solver == "sgd" else 1e-2)


@pytest.mark.parametrize("alias", ALIASES)
@pytest.mark.parametrize("tol", [1e-2, 1e-4, 1e-7])
def test_scikit_learns_solvers_are_aliases_that_heed_its_tolerance_too(alias, tol):
    X, y, weights = two_sided(3)
    weights = np.ones(len(y)) if weights is None else weights
    one, other = (
        LogisticRegression(solver=name, tol=tol, max_iter=1000).fit(X, y, weights) for name in (alias, ALIASES[alias])
    )
    ways = [[record["objective"] for record in model.history_] for model in (one, other)]
    assert ways[0][: len(ways[1])] == ways[1]
    assert one.history_[-1]["gradient_norm"] <= tol * weights.sum()
    assert one.get_params()["solver"] == alias


@pytest.mark.parametrize("tol", [1e-2, 1e-4, 1e-7])
def test_lbfgs_ends_where_scikit_learn_would(tol):
    X, y, _ = two_sided(3)
    model = LogisticRegression(solver="lbfgs", tol=tol, max_iter=1000).fit(X, y)
    assert model.history_[-1]["gradient_norm"] <= 0.5 * tol * len(y)


def test_lbfgs_is_as_near_to_the_optimum_as_scikit_learns():
    distances = np.empty((2, 30))
    for seed in range(30):
        X, y = make_classification(200, 10, n_informative=5, random_state=seed)
        options = {"C": 0.1, "fit_intercept": False}
        best = LogisticRegression(**options, tol=1e-12).fit(X, y).coef_
        for place, kind in enumerate((LogisticRegression, sklearn.linear_model.LogisticRegression)):
            distances[place, seed] = np.abs(kind(**options, solver="lbfgs").fit(X, y).coef_ - best).max()
    ours, theirs = np.median(distances, axis=1)
    assert ours <= theirs


@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
def test_who_wants_the_dual_gets_its_ascent_where_newton_would_be_faster(C):
    X, y = make_classification(60, 12, random_state=1)
    model = LogisticRegression(C=C, dual=True, tol=1e-6, max_iter=1000).fit(X, y)
    assert "epochs" in model.history_[1]
    assert model.converged_
    best = LogisticRegression(C=C, tol=1e-10).fit(X, y)
    assert not any("epochs" in record for record in best.history_)
    assert best.objective_ - 1e-9 * best.objective_ <= model.objective_ <= (1 + 1e-6) * best.objective_


# --- on the way ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [n for n in PROBLEMS if "weights" in n or "observed" in n or n == "multinomial"])
@pytest.mark.parametrize("solver", MONOTONE)
def test_the_objective_never_rises(name, solver):
    model, twin, _ = solve(name, solver, tol=1e-5, max_iter=20_000)
    found = np.array([record["objective"] for record in model.history_])
    assert len(found) == model.n_iter_ or len(found) == model.n_iter_ + 1
    assert len(found) > 3
    assert (np.diff(found) <= 1e-12 * twin.size()).all()
    assert model.objective_ <= found[-1] * (1 + 1e-9)  # shifts that all labels share are taken out at the end
    assert model.objective_ == pytest.approx(found[-1], rel=1e-9 if model.coef_.shape[0] == 1 else 1e-6)


@pytest.mark.parametrize("name", ["binary, weights", "binary, priors", "multinomial, priors", "multinomial, observed"])
@pytest.mark.parametrize("solver", [*BATCH, "gis", "iis"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_every_record_is_true(name, solver):
    """Objective and gradient norm in history_ are those of the model that the callback sees."""
    X, y, weights, parameters, twin, _ = posed(name)
    seen = []

    def look(model, record):
        theta = theta_of(model, twin)
        seen.append((twin.objective(theta), np.abs(twin.gradient(theta)).max()))

    model = LogisticRegression(**parameters, solver=solver, tol=1e-4, max_iter=500, callback=look)
    model.fit(X, y, sample_weight=weights)
    assert len(seen) == len(model.history_)
    np.testing.assert_allclose([r["objective"] for r in model.history_], [s[0] for s in seen], rtol=1e-6)
    norms = [r["gradient_norm"] for r in model.history_]
    np.testing.assert_allclose(norms, [s[1] for s in seen], rtol=1e-3, atol=1e-6 * twin.size())
    for count in ("iteration", "seconds", "passes"):
        values = [record[count] for record in model.history_]
        assert values == sorted(values)
        assert values[0] >= 0
    assert model.history_[-1]["iteration"] == model.n_iter_


@pytest.mark.parametrize("name", ["binary, no prior", "multinomial, no prior"])
@pytest.mark.parametrize("solver", BATCH)
@pytest.mark.parametrize("tol", [1e-2, 1e-5])
def test_without_a_prior_converged_means_that_the_gradient_is_below_tol(name, solver, tol):
    model, twin, _ = solve(name, solver, tol=tol)
    total = twin.weights.sum()
    assert model.converged_
    assert np.abs(twin.gradient(theta_of(model, twin))).max() <= tol * total * (1 + 1e-6)
    assert "duality_gap" not in model.certificate_


@pytest.mark.parametrize(
    "name, solver",
    [
        *itertools.product(["binary", "multinomial, weights", "multinomial, observed"], [*BATCH, "gis", "iis"]),
        *itertools.product(SPARSE, ["auto", "newton", "lbfgs"]),  # those that have an L1 term
    ],
)
@pytest.mark.parametrize("tol", [1e-2, 1e-5])
def test_converged_means_that_the_duality_gap_is_below_tol(name, solver, tol):
    model, twin, best = solve(name, solver, tol=tol)
    gap = model.certificate_["duality_gap"]
    assert model.converged_
    assert gap <= tol * model.objective_
    assert model.objective_ - twin.objective(best) <= gap + 1e-12 * twin.size()


@pytest.mark.parametrize("solver", [*BATCH, "gis", "iis", "sgd", "adagrad"])
def test_an_unfinished_fit_says_so_and_what_to_do(solver):
    X, y, _ = counts(3)
    model = LogisticRegression(solver=solver, max_iter=1, tol=1e-12, random_state=0)
    with pytest.warns(ConvergenceWarning, match="max_iter") as caught:
        model.fit(X, y)
    assert "tol" in str(caught[0].message)
    assert len(caught) == 1
    assert model.converged_ is False
    assert model.n_iter_ == 1
    assert np.isfinite(model.coef_).all()


@pytest.mark.parametrize("solver", [*BATCH, "iis"])
def test_a_warm_start_goes_on_where_it_was(solver):
    X, y, weights, _, twin, best = posed("multinomial, weights")
    options = {**posed("multinomial, weights")[3], "solver": solver, "tol": 1e-5, "max_iter": 5000}
    model = LogisticRegression(**options, warm_start=True).fit(X, y, sample_weight=weights)
    cold, before = model.n_iter_, model.objective_
    model.fit(X, y, sample_weight=weights)
    assert model.n_iter_ < cold
    assert model.objective_ <= before + 1e-9
    assert excess(model, twin, best) <= 1e-4
    model.set_params(C=0.31).fit(X, y, sample_weight=weights)
    near = LogisticRegression(**{**options, "C": 0.31}).fit(X, y, sample_weight=weights)
    assert model.n_iter_ <= near.n_iter_
    assert model.objective_ == pytest.approx(near.objective_, rel=1e-4)


@pytest.mark.parametrize("change", ["features", "labels", "names"])
def test_a_warm_start_with_other_labels_or_features_is_refused(change):
    X, y, _ = counts(3)
    model = LogisticRegression(warm_start=True, max_iter=1000).fit(X, y)
    before = frozen(model)
    other = {
        "features": (X[:, :5], y),
        "labels": (X, y % 2),
        "names": (X, y + 1),
    }[change]
    with pytest.raises(ValueError, match="warm_start"):
        model.fit(*other)
    assert frozen(model) == before
    model.set_params(warm_start=False).fit(*other)


@pytest.mark.parametrize("n_labels", [2, 3])
@pytest.mark.parametrize("before, after", [("dense", "observed"), ("observed", "dense")])
def test_a_warm_start_across_kinds_of_weights_finds_the_optimum_or_is_refused(n_labels, before, after):
    X, y, _ = counts(n_labels)
    model = tight(weights=before, warm_start=True).fit(X, y)
    fitted = frozen(model)
    model.set_params(weights=after)
    try:
        model.fit(X, y)
    except ValueError as error:
        refusal = str(error)
    else:
        twin = twin_of(model, X, y)
        assert excess(model, twin, twin.minimum()) <= 1e-6
        return
    assert "warm_start" in refusal
    assert frozen(model) == fitted


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_a_warm_start_may_gain_or_lose_the_intercept(fit_intercept):
    X, y, _ = counts(3)
    model = tight(fit_intercept=not fit_intercept, warm_start=True).fit(X, y)
    model.set_params(fit_intercept=fit_intercept).fit(X, y)
    twin = twin_of(model, X, y)
    assert_optimal(model, twin, twin.minimum())


@pytest.mark.parametrize("solver", [*BATCH, "gis", "iis"])
@pytest.mark.parametrize("n_labels", [2, 3])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_objective_never_rises_where_columns_differ_by_orders_of_magnitude(n_labels, solver):
    X, y, weights = counts(n_labels)
    X = (X @ sparse.diags(10.0 ** np.arange(-4, 4))).tocsr()
    model = LogisticRegression(C=100.0, solver=solver, max_iter=200, tol=1e-10, random_state=0)
    model.fit(X, y, sample_weight=weights)
    found = np.array([record["objective"] for record in model.history_])
    assert (np.diff(found) <= 1e-12 * found[:-1]).all()
    twin = twin_of(model, X, y, weights)
    assert model.objective_ == pytest.approx(twin.objective(theta_of(model, twin)), rel=1e-9)
    if solver in ("auto", "newton"):
        assert excess(model, twin, twin.minimum()) <= 1e-6


# --- callbacks -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", [*BATCH, "gis", "iis", "sgd", "adagrad"])
def test_a_callback_sees_every_iteration_and_can_end_the_fit(solver):
    X, y, _ = counts(3)
    seen = []

    def stop(model, record):
        assert model.predict_proba(X).shape == (len(y), 3)
        seen.append(record["objective"])
        return len(seen) == 2

    model = LogisticRegression(solver=solver, callback=stop, tol=1e-12, max_iter=100, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # the user ended it: nothing to warn of
        model.fit(X, y)
    assert len(seen) == 2
    assert len(model.history_) == 2
    assert model.converged_ is False


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
@pytest.mark.parametrize("solver", [*BATCH, "gis", "iis", "sgd", "adagrad"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_what_a_callback_raises_leaves_the_estimator_as_it_was(solver, error):
    X, y, _ = counts(3)

    def interrupt(model, record):
        raise error

    fresh = LogisticRegression(solver=solver, callback=interrupt, random_state=0)
    with pytest.raises(error):
        fresh.fit(X, y)
    assert not hasattr(fresh, "classes_")
    model = LogisticRegression(solver=solver, random_state=0, max_iter=20).fit(X, y)
    before, prediction = frozen(model), model.predict_proba(X)
    model.set_params(callback=interrupt, C=5.0)
    with pytest.raises(error):
        model.fit(X[:30, :4], y[:30] % 2)
    assert frozen(model) == before
    np.testing.assert_array_equal(model.predict_proba(X), prediction)


def test_verbose_prints_a_line_an_iteration(capsys):
    X, y, _ = counts(2)
    model = LogisticRegression(verbose=1, solver="lbfgs").fit(X, y)
    printed = capsys.readouterr().out.strip().splitlines()
    assert len(printed) == len(model.history_)
    assert all("LogisticRegression" in line for line in printed)


@pytest.mark.parametrize("solver", ["auto", "lbfgs", "iis"])
def test_validation_data_are_scored_on_the_way(solver):
    X, y, _ = counts(3)
    model = LogisticRegression(solver=solver, max_iter=1000).fit(X[:40], y[:40], X_val=X[40:], y_val=y[40:])
    assert model.history_[-1]["validation_score"] == pytest.approx(model.score(X[40:], y[40:]))


@pytest.mark.parametrize(
    "solver, penalty, advice",
    [("gd", "l2", "use solver='auto', or"), ("auto", "l1", "tol, or scale"), ("lbfgs", "l1", "use solver='auto', or")],
)
def test_a_fit_that_does_not_converge_says_what_else_to_try(solver, penalty, advice):
    X, y = random_sparse(60, 40, 5, 3, seed=1)
    with pytest.warns(ConvergenceWarning, match=advice):
        LogisticRegression(solver=solver, penalty=penalty, max_iter=1, tol=1e-12).fit(X, y)


@pytest.mark.parametrize(
    ("share", "patience"),
    [(14.0, logistic_dual.RATE_EPOCHS), (0.2, logistic_dual.WANDERING_EPOCHS), (1e-3, logistic_dual.RATE_EPOCHS)],
)
def test_a_gap_that_stands_still_is_given_longer_between_the_first_and_a_hundredth_of_it(share, patience):
    history = [1e5] + [share * 1e5 * (1 + 1e-6 * epoch) for epoch in range(40)]
    judged = [logistic_dual._epochs_left(history[:n], 1.0) > 0 for n in range(1, len(history) + 1)]
    assert judged == [n >= patience for n in range(len(history))]
