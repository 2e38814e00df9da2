"""SGDRegressor: its steps are scikit-learn's, and those of the naive twin, however its rows come."""

import itertools

import numpy as np
import pytest
import sklearn.linear_model
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone, is_regressor
from sklearn.metrics import r2_score

import fastlin
from fastlin import Corpus, SGDRegressor
from fastlin.losses import OF_RESIDUALS
from support.estimators import assert_same_model, frozen_state, plain, twin_of
from support.peer_features import STEPS_OF_MARGINS
from support.strategies import cuts, seeds, sparse_matrices, weighted

LOSSES = tuple(OF_RESIDUALS)
SCHEDULES = {
    "optimal": {"alpha": 0.47},
    "constant": {"eta0": 0.02, "alpha": 0.47},
    "adaptive": {"eta0": 0.02, "alpha": 0.31},
    "invscaling": {"eta0": 0.05, "alpha": 0.31},
    "inverse": {"eta0": 0.05, "alpha": 0.47},
    "pegasos": {"alpha": 0.47},
    "adagrad": {"eta0": 0.3, "alpha": 0.05},
    "ftrl": {"eta0": 0.3, "alpha": 0.07},
    "pa1": {"eta0": 0.3, "alpha": 0.07},
    "pa2": {"eta0": 0.7, "alpha": 0.07},
}
BY_MARGIN = ("pa1", "pa2")


def problem(n_rows=80, n_features=20, seed=0, dtype=np.float64):
    """Sparse rows, targets that they explain for the most part, and weights of which some are 0."""
    rng = np.random.default_rng(seed)
    X = sparse.random(n_rows, n_features, 0.25, format="csr", random_state=rng, dtype=np.float64).astype(dtype)
    y = X @ rng.normal(size=n_features) + 0.4 + 0.1 * rng.normal(size=n_rows)
    return X, y, rng.uniform(0.2, 2.0, n_rows) * (rng.random(n_rows) < 0.8)


X, Y, WEIGHTS = problem()


def assert_same_weights(ours, theirs, rtol=1e-9, atol=1e-11):
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=rtol, atol=atol)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=rtol, atol=atol)


def assert_same_bits(one, other):
    np.testing.assert_array_equal(one.coef_, other.coef_, strict=True)
    np.testing.assert_array_equal(one.intercept_, other.intercept_, strict=True)


def both(options, weights=None):
    """Ours and scikit-learn's of the same rows in the same order."""
    options = plain(options)
    return [
        kind(**options).fit(X, Y, sample_weight=weights) for kind in (SGDRegressor, sklearn.linear_model.SGDRegressor)
    ]


# --- scikit-learn's --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rate", ["optimal", "constant", "invscaling", "adaptive"])
@pytest.mark.parametrize("loss", LOSSES)
def test_gradient_steps_are_scikit_learns(loss, rate):
    for penalty, average, weights, fit_intercept in itertools.product(
        (None, "l2"), (False, True, 100), (None, WEIGHTS + 0.1), (True, False)
    ):
        options = {"loss": loss, "penalty": penalty, "average": average, "learning_rate": rate, "alpha": 0.02}
        options |= {"eta0": 0.05, "fit_intercept": fit_intercept, "epsilon": 0.3}
        ours, theirs = both(options, weights)
        assert_same_weights(ours, theirs, rtol=1e-8, atol=1e-10 * max(1, np.abs(theirs.coef_).max()))


@pytest.mark.parametrize("rate", BY_MARGIN)
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0] if STEPS_OF_MARGINS else [1.0])
def test_passive_aggressive_steps_are_scikit_learns(rate, C):
    options = {"loss": "epsilon_insensitive", "penalty": None, "learning_rate": rate, "eta0": C}
    for fit_intercept in (True, False):
        assert_same_weights(*both({**options, "fit_intercept": fit_intercept}))


@pytest.mark.parametrize("rate", ["invscaling", "adaptive"])
def test_it_stops_when_scikit_learns_does(rate):
    ours, theirs = both({"tol": 1e-3, "max_iter": 500, "learning_rate": rate, "eta0": 0.05})
    assert ours.converged_
    assert ours.n_iter_ == theirs.n_iter_ < 500
    assert_same_weights(ours, theirs)


def test_defaults_are_scikit_learns():
    theirs = sklearn.linear_model.SGDRegressor().get_params()
    ours = SGDRegressor().get_params()
    assert {name: ours[name] for name in theirs} == theirs


def test_parts_are_learnt_as_scikit_learn_learns_them():
    ours, theirs = SGDRegressor(shuffle=False), sklearn.linear_model.SGDRegressor(shuffle=False)
    for part in (slice(0, 30), slice(30, 31), slice(31, 80)):
        for model in (ours, theirs):
            model.partial_fit(X[part], Y[part])
        assert_same_weights(ours, theirs)
        assert ours.t_ == theirs.t_


# --- the naive twin --------------------------------------------------------------------------------------------------


@st.composite
def regressions(draw, rate):
    """An SGDRegressor with this rate, rows and targets."""
    X = draw(sparse_matrices())
    y = np.random.default_rng(draw(seeds)).normal(size=X.shape[0])
    penalty = draw(st.sampled_from([None, "l2", "l1", "elasticnet"]))
    options = {**SCHEDULES[rate], "learning_rate": rate, "penalty": penalty, "epsilon": draw(st.sampled_from([0, 0.2]))}
    if penalty in (None, "l2") or rate == "ftrl":
        options["average"] = draw(st.sampled_from([False, True, 7]))
    options["loss"] = "epsilon_insensitive" if rate in BY_MARGIN else draw(st.sampled_from(LOSSES))
    options["batch_size"] = 1 if rate in BY_MARGIN else draw(st.sampled_from([1, 1, 2, 5]))
    options |= {"fit_intercept": draw(st.booleans()), "intercept_decay": draw(st.sampled_from([None, 1.0, 0.37]))}
    return SGDRegressor(**plain(options)), X, y


def decided(twin):
    """The run stayed clear of decisions that rounding could turn, and did not diverge."""
    assume(twin.closest > 1e-8 and twin.largest < 1e4)
    return twin


@pytest.mark.parametrize("rate", SCHEDULES)
@given(data=st.data())
def test_it_is_eager_over_several_epochs(rate, data):
    model, X, y = data.draw(regressions(rate))
    twin = twin_of(model, 2, X.shape[1])
    twin.fit(X, y, [range(X.shape[0])] * model.max_iter)
    assert_same_model(model.fit(X, y), decided(twin))
    np.testing.assert_allclose([record["loss"] for record in model.history_], twin.losses, rtol=1e-8, atol=1e-9)
    assert "progressive_accuracy" not in model.history_[0]  # nothing is mistaken


@pytest.mark.parametrize("rate", SCHEDULES)
@given(data=st.data())
def test_it_is_eager_however_partial_fit_is_cut(rate, data):
    model, X, y = data.draw(regressions(rate))
    weights, reads = data.draw(st.none() | weighted(X.shape[0])), data.draw(st.booleans())
    twin = twin_of(model, 2, X.shape[1])
    for rows in data.draw(cuts(X.shape[0])) * 2:
        twin.epoch(X, y, range(X.shape[0])[rows], weights)
        model.partial_fit(X[rows], y[rows], sample_weight=None if weights is None else weights[rows])
        assert not reads or np.isfinite(model.predict(X)).all()
    assert_same_model(model, decided(twin))


# --- rows and weights ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("average", [False, True])
def test_forms_of_rows_and_threads_change_no_bit(average, dtype):
    X, y, weights = problem(dtype=dtype)
    wide = sparse.csr_array(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    options = {"average": average, "random_state": 0, "intercept_decay": 1.0, "max_iter": 4, "tol": None}
    model = SGDRegressor(**options).fit(X, y, sample_weight=weights)
    assert model.coef_.dtype == dtype
    assert model.coef_.shape == (20,)
    assert model.intercept_.shape == (1,)
    for other in (sparse.csr_array(X), X.tocsc(), X.tocoo(), wide, X.toarray()):
        for n_jobs in (1, 2):
            again = SGDRegressor(n_jobs=n_jobs, **options).fit(other, y.tolist(), sample_weight=weights)
            assert_same_bits(again, model)
            np.testing.assert_array_equal(again.predict(other), model.predict(X))


def test_rows_of_weight_0_are_skipped():
    for options in ({}, {"average": True}, {"learning_rate": "adagrad"}, {"batch_size": 3}, {"penalty": "l1"}):
        model = SGDRegressor(**plain(options)).fit(X, Y, sample_weight=WEIGHTS)
        there = WEIGHTS > 0
        without = SGDRegressor(**plain(options)).fit(X[there], Y[there], sample_weight=WEIGHTS[there])
        assert_same_bits(model, without)
        assert model.t_ == without.t_


def test_score_is_r2_and_predictions_are_of_a_corpus_too():
    model = SGDRegressor(random_state=0).fit(X, Y)
    assert is_regressor(model)
    assert model.score(X, Y) == r2_score(Y, model.predict(X)) > 0.3
    np.testing.assert_allclose(model.predict(X), X @ model.coef_ + model.intercept_, rtol=1e-12, atol=1e-14)
    np.testing.assert_array_equal(model.predict(Corpus(X, Y > 0)), model.predict(X))


# --- what cannot be --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "bad, match",
    [
        (None, "requires y"),
        (np.where(np.arange(80) == 7, np.nan, Y), "NaN at 7"),
        (np.where(np.arange(80) == 7, -np.inf, Y), "infinity at 7"),
        (np.where(np.arange(80) == 7, 1e200, Y), "at most 1e"),
        (Y[:-1], "inconsistent numbers of samples"),
        (np.column_stack([Y, Y]), "1d array"),
        (Y + 1j, "Complex"),
        (["a"] * 80, "real numbers"),
        (sparse.csr_array(Y[:, None]), "vector"),
    ],
)
def test_targets_that_cannot_be_are_refused_and_nothing_changes(bad, match):
    for model in (SGDRegressor(**plain({})), SGDRegressor(**plain({})).fit(X, Y)):
        known = vars(model).keys(), "_state" in vars(model) and frozen_state(model)
        for learn in (model.fit, model.partial_fit):
            with pytest.raises((ValueError, TypeError), match=match):
                learn(X, bad)
        assert (vars(model).keys() - {"_learner_lock"}, "_state" in vars(model) and frozen_state(model)) == (
            known[0] - {"_learner_lock"},
            known[1],
        )


def test_what_does_not_fit_together_is_refused():
    corpus = Corpus(X, Y > 0)
    for refused, call in {
        "Corpus, which has labels and no real targets": lambda: SGDRegressor().fit(corpus, None),
        "part by part": lambda: SGDRegressor().partial_fit(corpus, Y),
        "pa1": lambda: SGDRegressor(learning_rate="pa1").fit(X, Y),
        "loss": lambda: SGDRegressor("hinge").fit(X, Y),
        "weight of every row is zero": lambda: SGDRegressor().fit(X, Y, sample_weight=np.zeros(80)),
        "R² is of two at least": lambda: SGDRegressor(early_stopping=True).fit(X[:8], Y[:8]),
        "given together": lambda: SGDRegressor().fit(X, Y, X_val=X),
        "X_val has 3 features": lambda: SGDRegressor().fit(X, Y, X_val=X[:, :3], y_val=Y),
        "warm_start": lambda: SGDRegressor(warm_start=True).fit(X, Y).fit(X[:, :3], Y),
        "would overflow": lambda: SGDRegressor(eta0=1e6, max_iter=900, tol=None, penalty=None).fit(100 * X, Y),
    }.items():
        with pytest.raises(ValueError, match=refused):
            call()


# --- a fit -----------------------------------------------------------------------------------------------------------


def test_early_stopping_is_by_r2():
    options = {"early_stopping": True, "random_state": 0, "eta0": 0.05, "max_iter": 300}
    model = SGDRegressor(**options).fit(X, Y)
    scores = [record["validation_score"] for record in model.history_]
    assert 5 < model.n_iter_ < 300
    gains = [scores[place] - max(scores[:place]) for place in range(model.n_iter_ - 6, model.n_iter_)]
    assert gains[0] >= 1e-3 > max(gains[1:])
    given = SGDRegressor(**options).fit(X, Y, X_val=X[:30], y_val=Y[:30])
    assert given.history_[-1]["validation_score"] == pytest.approx(given.score(X[:30], Y[:30]), rel=1e-12)


@pytest.mark.parametrize("options", [{}, {"average": True}, {"learning_rate": "adagrad", "penalty": "l1"}])
def test_a_fit_that_is_resumed_is_the_fit_that_never_stopped(options, tmp_path):
    options, place = {**options, "random_state": 0, "tol": None}, tmp_path / "fit"
    watched = SGDRegressor(max_iter=7, callback=lambda *_: None, **options)  # who looks on settles the average
    whole = watched.fit(X, Y, sample_weight=WEIGHTS)
    given = {"sample_weight": WEIGHTS, "checkpoint": place, "checkpoint_interval": 0}

    def stop(_, record):
        if record["epoch"] == 4:
            raise RuntimeError

    with pytest.raises(RuntimeError):
        SGDRegressor(max_iter=7, callback=stop, **options).fit(X, Y, **given)
    other = clone(watched)
    with pytest.raises(ValueError, match="targets"):
        clone(other).fit(X, Y + 1, resume=True, **given)
    assert_same_bits(other.fit(X, Y, resume=True, **given), whole)


def test_a_fit_goes_on_from_weights():
    options = {"tol": None, "learning_rate": "constant", "shuffle": False}
    whole = SGDRegressor(max_iter=5, **options).fit(X, Y)
    warm = SGDRegressor(max_iter=2, warm_start=True, **options).fit(X, Y).set_params(max_iter=3).fit(X, Y)
    assert_same_weights(warm, whole)
    start = SGDRegressor(max_iter=2, **options).fit(X, Y)
    given = SGDRegressor(max_iter=3, **options).fit(X, Y, coef_init=start.coef_, intercept_init=start.intercept_)
    assert_same_bits(given, warm)


@pytest.mark.parametrize("options", [{}, {"average": True}, {"learning_rate": "adagrad"}])
def test_features_that_come_later_are_as_if_they_had_been_there(options):
    growing, wide = (SGDRegressor(grow_features=grow, **plain(options)) for grow in (True, False))
    padded = X[:30, :12].copy()
    padded.resize((30, 20))
    growing.partial_fit(X[:30, :12], Y[:30]).partial_fit(X[30:], Y[30:])
    wide.partial_fit(padded, Y[:30]).partial_fit(X[30:], Y[30:])
    assert_same_bits(growing, wide)
    np.testing.assert_allclose(growing.predict(X[:, :9]), X[:, :9] @ wide.coef_[:9] + wide.intercept_, rtol=1e-9)


@pytest.mark.parametrize("dtype", [None, "float32"])
@pytest.mark.parametrize("sparsified", [False, True])
def test_a_model_comes_back_and_goes_on_with_the_same_bits(sparsified, dtype, tmp_path):
    model, place = SGDRegressor(average=True, learning_rate="adagrad", **plain({})).fit(X, Y), tmp_path / "model"
    fastlin.save(model.sparsify() if sparsified else model, place, dtype=dtype)
    loaded = fastlin.load(place)
    np.testing.assert_allclose(loaded.predict(X), model.predict(X), rtol=1e-5 if dtype else 0)
    if not (dtype or sparsified):
        assert_same_bits(loaded.partial_fit(X, Y), model.partial_fit(X, Y))


def test_inspection_says_that_there_are_no_labels():
    model = SGDRegressor(**plain({})).fit(X, Y)
    for held in (model, clone(model).fit(X, Y).sparsify()):
        with pytest.raises(TypeError, match=r"inspection\.regressor describes it"):
            fastlin.inspection.top_features(held)


def test_weights_are_sparse_set_pruned_and_restored():
    model = SGDRegressor(penalty="l1", alpha=0.05, **plain({})).fit(X, Y)
    expected, state = model.predict(X), model.get_state()
    assert model.sparsify().coef_.shape == (1, 20)
    np.testing.assert_allclose(model.predict(X), expected, rtol=1e-12, atol=1e-13)
    np.testing.assert_array_equal(model.densify().predict(X), expected)
    other = SGDRegressor(penalty="l1", alpha=0.05, **plain({})).set_state(state)
    assert_same_bits(other.partial_fit(X, Y), model.set_state(state).partial_fit(X, Y))
    with pytest.raises(ValueError, match="one"):
        model.set_state(fastlin.SGDClassifier(**plain({})).fit(X, np.arange(80) % 3).get_state())
    model.coef_, model.intercept_ = np.arange(20.0), [2.0]
    np.testing.assert_allclose(model.predict(X), X @ np.arange(20.0) + 2)
    assert model.prune(5) == 4
    assert np.count_nonzero(model.coef_) == 15
