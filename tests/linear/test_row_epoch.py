"""The loop that goes row by row learns what the general loop learns, bit for bit, of one column and of several.

An average that has not begun changes nothing but the loop.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastlin import MIRAClassifier, PassiveAggressiveClassifier, Perceptron, SGDClassifier, SGDRegressor
from support.estimators import plain, spread_rows
from support.strategies import cuts, labelled, weighted

NOT_YET = 10**9
SCHEDULES = {
    "optimal": {"alpha": 0.03},
    "constant": {"eta0": 0.05, "alpha": 0.3},
    "constant, new scale epochs": {"learning_rate": "constant", "eta0": 0.9, "alpha": 0.9},
    "invscaling": {"eta0": 0.05, "power_t": 0.4, "alpha": 0.31},
    "inverse": {"eta0": 0.5, "alpha": 0.47},
    "pegasos": {"alpha": 0.47},
    "pa1": {"eta0": 0.3},
    "pa2": {"eta0": 0.7},
}
LOSSES = ("perceptron", "hinge", "squared_hinge", "modified_huber", "log_loss")
REGRESSION = ("squared_error", "huber", "epsilon_insensitive", "squared_epsilon_insensitive")


def sgd(data, kind, losses):
    schedule = data.draw(st.sampled_from(list(SCHEDULES)))
    penalty = data.draw(st.sampled_from([None, "l2"])) if schedule != "constant, new scale epochs" else "l2"
    loss = data.draw(st.sampled_from(losses))
    if schedule in ("pa1", "pa2"):
        loss = "epsilon_insensitive" if losses is REGRESSION else "hinge"
    options = {"learning_rate": schedule.split(",")[0], "penalty": penalty, "loss": loss, **SCHEDULES[schedule]}
    options |= {"fit_intercept": data.draw(st.booleans()), "intercept_decay": data.draw(st.sampled_from([None, 0.37]))}
    if losses is LOSSES:
        options["multi_class"] = data.draw(st.sampled_from(["multinomial", "ovr"]))
    return kind, options


def margin_learner(data):
    kind = data.draw(st.sampled_from([Perceptron, PassiveAggressiveClassifier, MIRAClassifier]))
    options = {"fit_intercept": data.draw(st.booleans())}
    if kind is Perceptron:
        options |= {"penalty": data.draw(st.sampled_from([None, "l2"])), "eta0": 0.3, "alpha": 0.01}
    else:
        options["C"] = data.draw(st.sampled_from([0.01, 1.0, np.inf]))
    if kind is PassiveAggressiveClassifier:
        options["loss"] = data.draw(st.sampled_from(["hinge", "squared_hinge"]))
    return kind, options


def assert_same_run(one, other):
    mine, theirs = one.get_state(), other.get_state()
    for name in ("weights", "order", "clock", "past", "generation"):
        np.testing.assert_array_equal(mine[name], theirs[name], err_msg=name)
    np.testing.assert_array_equal(mine["bias"][0], theirs["bias"][0])
    for own, others in zip(one.history_, other.history_, strict=True):
        assert {**own, "seconds": 0} == {**others, "seconds": 0}


def both(kind, options, **more):
    return [kind(**plain({**options, **more, "average": average})) for average in (False, NOT_YET)]


@pytest.mark.parametrize("learner", ["sgd", "margins", "regression"])
@given(data=st.data(), dtype=st.sampled_from([np.float32, np.float64]))
def test_it_learns_as_the_general_loop(learner, data, dtype):
    X, y, _ = data.draw(labelled(max_labels=2 if learner == "regression" else 12, max_rows=40))
    X = X.astype(dtype)
    if learner == "regression":
        kind, options = sgd(data, SGDRegressor, REGRESSION)
        y = np.where(y == 1, 1.3, -0.4)
    else:
        kind, options = margin_learner(data) if learner == "margins" else sgd(data, SGDClassifier, LOSSES)
    weights = data.draw(st.none() | weighted(X.shape[0]))
    if weights is not None and not weights.any():
        weights[0] = 1.0
    one, other = both(kind, options, shuffle=data.draw(st.booleans()), random_state=3)
    try:
        other.fit(X, y, sample_weight=weights)
    except ValueError as error:  # a step that overflows
        with pytest.raises(ValueError, match=str(error)[:20]):
            one.fit(X, y, sample_weight=weights)
        return
    assert_same_run(one.fit(X, y, sample_weight=weights), other)


@given(data=st.data())
def test_it_learns_as_the_general_loop_however_partial_fit_is_cut(data):
    X, y, _ = data.draw(labelled(max_labels=12, max_rows=40))
    one, other = both(*sgd(data, SGDClassifier, LOSSES))
    reads = data.draw(st.booleans())
    for rows in data.draw(cuts(X.shape[0])) * 3:
        for model in (one, other):
            model.partial_fit(X[rows], y[rows], classes=np.unique(y))
            if reads:
                model.predict(X)
        assert_same_run(one, other)


@pytest.mark.parametrize(("columns", "labels"), [(2_000, 2), (300_000, 2), (2_000, 6), (50_000, 6), (2_000, 9)])
def test_weights_that_are_fetched_are_learnt_as_others(columns, labels):
    """Beyond the nearer cache they are prefetched."""
    X = spread_rows(5_000, columns, 40)
    y = np.random.default_rng(0).integers(0, labels, X.shape[0])
    one, other = both(SGDClassifier, {"loss": "log_loss"}, shuffle=True, random_state=0)
    assert_same_run(one.fit(X, y), other.fit(X, y))
