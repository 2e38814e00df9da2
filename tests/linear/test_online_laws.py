"""Lazy = eager: whatever the engine postpones, its weights are those of the naive twin."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fastlin import AROWClassifier, MIRAClassifier, PassiveAggressiveClassifier, Perceptron, SGDClassifier
from support.estimators import (
    ONLINE_OPTIONS,
    assert_same_bits,
    assert_same_model,
    make_option,
    plain,
    text_like,
    twin_of,
)
from support.strategies import cuts, labelled, seeds, weighted

LOSSES = ("perceptron", "hinge", "squared_hinge", "modified_huber", "log_loss")
SCHEDULES = {  # no round penalties: on counts, whole steps would end at a threshold and rounding decide what is 0
    "optimal": {"alpha": 0.47},
    "constant": {"eta0": 0.02, "alpha": 0.47},
    "invscaling": {"eta0": 0.05, "power_t": 0.4, "alpha": 0.31},
    "inverse": {"eta0": 0.05, "alpha": 0.47},
    "pegasos": {"alpha": 0.47},
    "adagrad": {"eta0": 0.3, "alpha": 0.05},
    "ftrl": {"eta0": 0.3, "alpha": 0.07},
    "pa1": {"eta0": 0.3, "alpha": 0.07},
    "pa2": {"eta0": 0.7, "alpha": 0.07},
}
averages = st.sampled_from([False, True, 7])
batches = st.sampled_from([1, 1, 2, 5])
decays = st.sampled_from([None, 1.0, 0.37])


def decided(twin):
    """The run stayed clear of decisions that rounding could turn, and did not diverge."""
    assume(twin.closest > 1e-8 and twin.largest < 1e4)
    return twin


def check_epochs(estimator, X, y, n_labels, weights=None):
    """fit = the twin's epochs; history_ has its progressive accuracies and, where rows weigh the same, its losses."""
    order = range(X.shape[0])
    assume(weights is None or weights.any())
    twin = twin_of(estimator, n_labels, X.shape[1])
    twin.fit(X, y, [order] * estimator.max_iter, weights=weights)
    decided(twin)
    estimator.fit(X, y, sample_weight=weights)
    assert_same_model(estimator, twin)
    if weights is None:
        found = [record["loss"] for record in estimator.history_]
        np.testing.assert_allclose(found, twin.losses, rtol=1e-8, atol=1e-9)
    if twin.narrowest > 1e-8:
        found = [record["progressive_accuracy"] for record in estimator.history_]
        np.testing.assert_allclose(found, twin.accuracies, rtol=1e-12)


def check_cuts(estimator, X, y, n_labels, slices, reads, weights=None):
    """partial_fit cut anywhere = the twin, with predictions and coef_ read on the way or not."""
    twin = twin_of(estimator, n_labels, X.shape[1])
    for number, rows in enumerate(slices * 2):
        twin.epoch(X, y, range(X.shape[0])[rows], weights)
        estimator.partial_fit(
            X[rows], y[rows], classes=np.arange(n_labels), sample_weight=None if weights is None else weights[rows]
        )
        if reads and number % 2 == 0:
            estimator.predict(X)
            assert np.isfinite(estimator.coef_).all()
    decided(twin)
    assert_same_model(estimator, twin)


@st.composite
def sgd(draw, schedule, penalty):
    options = {**SCHEDULES[schedule], "learning_rate": schedule, "penalty": penalty}
    if penalty in (None, "l2") or schedule == "ftrl":
        options["average"] = draw(averages)
    if schedule == "pegasos" and penalty == "l2":
        options["project"] = draw(st.booleans())
    steps_by_margin = schedule in ("pa1", "pa2")
    return SGDClassifier(
        **plain(
            {
                "loss": "hinge" if steps_by_margin else draw(st.sampled_from(LOSSES)),
                "batch_size": 1 if steps_by_margin else draw(batches),
                "fit_intercept": draw(st.booleans()),
                "intercept_decay": draw(decays),
                "multi_class": "multinomial",
                **options,
            }
        )
    )


@pytest.mark.parametrize("penalty", [None, "l2", "l1", "elasticnet"])
@pytest.mark.parametrize("schedule", SCHEDULES)
@given(data=st.data())
def test_sgd_is_eager_sgd_over_several_epochs(schedule, penalty, data):
    X, y, n_labels = data.draw(labelled())
    check_epochs(data.draw(sgd(schedule, penalty)), X, y, n_labels)


@pytest.mark.parametrize("penalty", [None, "l2", "l1", "elasticnet"])
@pytest.mark.parametrize("schedule", SCHEDULES)
@given(data=st.data())
def test_sgd_is_eager_sgd_however_partial_fit_is_cut(schedule, penalty, data):
    X, y, n_labels = data.draw(labelled())
    check_cuts(
        data.draw(sgd(schedule, penalty)),
        X,
        y,
        n_labels,
        data.draw(cuts(X.shape[0])),
        data.draw(st.booleans()),
        data.draw(st.none() | weighted(X.shape[0])),
    )


@given(
    data=st.data(),
    average=averages,
    eta0=st.sampled_from([1.0, 0.1]),
    fit_intercept=st.booleans(),
    intercept_decay=decays,
    penalty=st.sampled_from([None, "l2"]),
)
def test_perceptron_is_the_eager_perceptron(data, **options):
    X, y, n_labels = data.draw(labelled())
    options = plain(options)
    check_epochs(Perceptron(**options), X, y, n_labels)
    check_cuts(Perceptron(**options), X, y, n_labels, data.draw(cuts(X.shape[0])), data.draw(st.booleans()))


@given(data=st.data(), values=st.sampled_from(["tiny", "huge"]))
def test_perceptron_is_the_eager_perceptron_at_any_scale(data, values):
    X, y, n_labels = data.draw(labelled(values=(values,)))
    estimator = Perceptron(**plain({"average": True, "intercept_decay": 1.0}))  # damped steps do not cancel exactly
    twin = twin_of(estimator, n_labels, X.shape[1])
    twin.fit(X, y, [range(X.shape[0])] * 3)
    assume(twin.closest > 1e-8)
    assert_same_model(estimator.fit(X, y), twin)


@given(data=st.data(), seed=seeds)
def test_perceptron_on_counts_is_exact(data, seed):
    X, y, n_labels = data.draw(labelled(values=("counts",)))
    estimator = Perceptron(**plain({}))
    twin = twin_of(estimator, n_labels, X.shape[1])
    twin.fit(X, y, [range(X.shape[0])] * 3)
    np.testing.assert_array_equal(estimator.fit(X, y).coef_, twin.coef)
    assert sum(record["updates"] for record in estimator.history_) == twin.updates


@given(
    data=st.data(),
    loss=st.sampled_from(["hinge", "squared_hinge"]),
    average=averages,
    C=st.sampled_from([0.01, 1.0, np.inf]),
    fit_intercept=st.booleans(),
    intercept_decay=decays,
)
def test_passive_aggressive_is_the_eager_passive_aggressive(data, loss, C, **options):
    X, y, n_labels = data.draw(labelled())
    assume(loss == "hinge" or np.isfinite(C))
    options = plain({**options, "loss": loss, "C": C})
    weights = data.draw(st.none() | weighted(X.shape[0]))
    check_epochs(PassiveAggressiveClassifier(**options), X, y, n_labels, weights)
    check_cuts(
        PassiveAggressiveClassifier(**options),
        X,
        y,
        n_labels,
        data.draw(cuts(X.shape[0])),
        data.draw(st.booleans()),
        weights,
    )


@given(
    data=st.data(),
    average=averages,
    C=st.sampled_from([0.01, 0.2, 1.0, np.inf]),
    fit_intercept=st.booleans(),
    intercept_decay=decays,
)
def test_mira_is_the_quadratic_programme_solved_naively(data, **options):
    X, y, n_labels = data.draw(labelled(max_labels=8))
    options = plain(options)
    weights = data.draw(st.none() | weighted(X.shape[0]))
    check_epochs(MIRAClassifier(**options), X, y, n_labels, weights)
    check_cuts(
        MIRAClassifier(**options), X, y, n_labels, data.draw(cuts(X.shape[0])), data.draw(st.booleans()), weights
    )


@given(
    data=st.data(),
    average=averages,
    r=st.sampled_from([0.01, 1.0, 31.0]),
    fit_intercept=st.booleans(),
)
def test_arow_is_the_eager_arow(data, **options):
    X, y, n_labels = data.draw(labelled())
    options = plain(options)
    weights = data.draw(st.none() | weighted(X.shape[0]))
    check_epochs(AROWClassifier(**options), X, y, n_labels, weights)
    check_cuts(
        AROWClassifier(**options), X, y, n_labels, data.draw(cuts(X.shape[0])), data.draw(st.booleans()), weights
    )


@given(seed=seeds, r=st.sampled_from([0.03, 1.0, 20.0]), weight=st.sampled_from([0.4, 1.0, 3.0]))
def test_a_step_of_arow_is_the_minimum_of_its_objective(seed, r, weight):
    """KL(N(w, s) | N(w_t, s_t)) + weight (l^2 + x's x)/2r, by its derivatives in w and s."""
    X, y = text_like(n_labels=2, n_rows=20, seed=seed % 1000)
    model = AROWClassifier(**plain({"r": r})).partial_fit(X[:-1], y[:-1])
    before, x = model.get_state(), np.append(X[-1].toarray()[0], 1)
    sign = 1 if model.decision_function(X[-1])[0] < 0 else -1  # which the model has wrong
    after = model.partial_fit(X[-1], [(sign + 1) // 2], sample_weight=[weight]).get_state()
    (w_before, s_before), (w, s) = (
        (np.append(state["weights"], state["bias"][0]), 1 / (1 + np.append(state["squares"], state["bias"][1]) / r))
        for state in (before, after)
    )
    loss = max(0.0, 1 - sign * w @ x)
    np.testing.assert_allclose((w - w_before) / s_before, weight / r * loss * sign * x, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(1 / s_before - 1 / s + weight / r * x**2, 0, atol=1e-9 / s.min())


@pytest.mark.parametrize("shrink", [0.002, 0.05, 0.5, 0.9])
@pytest.mark.parametrize("penalty, average", [("l2", False), ("l2", True), ("l2", 1000), ("elasticnet", False)])
@pytest.mark.parametrize("n_labels", [2, 3])
@pytest.mark.parametrize("read_every", [None, 1])
def test_l2_over_many_decades_is_exact(shrink, penalty, average, n_labels, read_every):
    X, y = text_like(n_rows=100, n_labels=n_labels)
    options = {"loss": "log_loss", "learning_rate": "constant", "eta0": 0.4, "penalty": penalty, "l1_ratio": 0.001}
    alpha = shrink / 0.4 / (0.999 if penalty == "elasticnet" else 1.0)
    estimator = SGDClassifier(**plain({**options, "alpha": alpha, "average": average, "max_iter": 30}))
    twin = twin_of(estimator, n_labels, X.shape[1])
    twin.fit(X, y, [range(X.shape[0])] * 30)
    if read_every is None:
        estimator.fit(X, y)
    else:
        for _ in range(30):
            estimator.partial_fit(X, y)
            assert np.isfinite(estimator.coef_).all()
    assert_same_model(estimator, twin)


@pytest.mark.parametrize(
    "learning_rate, options",
    [
        ("constant", {"eta0": 0.5, "alpha": 1.0}),
        ("adagrad", {"eta0": 1.0, "alpha": 0.5}),
        ("pegasos", {"alpha": 0.5}),
    ],
)
@pytest.mark.parametrize("penalty", ["l2", "elasticnet", "l1"])
def test_a_feature_unseen_for_thousands_of_steps_pays_every_one_of_them(learning_rate, options, penalty):
    X, y = text_like(n_rows=50)
    X = X.tolil()
    X[:, 3] = 0
    X[0, 3] = 100.0
    X = X.tocsr()
    order = [0] + list(range(1, 50)) * 60 + [0]
    options = {"loss": "log_loss", "learning_rate": learning_rate, "penalty": penalty, **options}
    estimator = SGDClassifier(**plain(options))
    twin = twin_of(estimator, 3, X.shape[1]).epoch(X, y, order)
    assert_same_model(estimator.partial_fit(X[order], y[order]), twin)


@pytest.mark.parametrize("name", ONLINE_OPTIONS)
def test_reading_a_model_is_idempotent(name):
    X, y = text_like()
    estimator = make_option(name).partial_fit(X, y)
    first = estimator.coef_.copy()
    estimator._state.settle()  # as learners do: the next reading starts from the settled weights
    np.testing.assert_array_equal(estimator.coef_, first)
    np.testing.assert_array_equal(estimator.decision_function(X), estimator.decision_function(X))


@pytest.mark.parametrize(
    "name, sampling",
    [(name, "shuffle") for name in ONLINE_OPTIONS]
    + [(name, "replace") for name, (estimator, _) in ONLINE_OPTIONS.items() if estimator == "sgd"],
)
def test_orders_are_those_of_pcg64(name, sampling):
    X, y = text_like()
    n, rng = X.shape[0], np.random.Generator(np.random.PCG64(3))
    draw = {"shuffle": lambda: rng.permutation(n), "replace": lambda: rng.integers(0, n, n)}[sampling]
    chosen = {"shuffle": True} if sampling == "shuffle" else {"sampling": sampling}
    estimator = make_option(name, random_state=3, max_iter=4, **chosen)
    twin = twin_of(estimator, 3, X.shape[1])
    twin.fit(X, y, [draw() for _ in range(4)])
    assert_same_model(estimator.fit(X, y), twin)


@pytest.mark.parametrize("name", ONLINE_OPTIONS)
def test_epochs_of_partial_fit_are_epochs_of_fit(name):
    X, y = text_like()
    whole = make_option(name, shuffle=True, random_state=1).fit(X, y)
    parts = make_option(name, shuffle=True, random_state=1)
    for _ in range(3):
        parts.partial_fit(X, y)
    np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=1e-9, atol=1e-12)
    assert parts.t_ == whole.t_


@pytest.mark.parametrize("name", ONLINE_OPTIONS)
def test_a_fixed_order_gives_the_same_bits(name):
    X, y = text_like()
    runs = [make_option(name, shuffle=True, random_state=5).fit(X, y) for _ in range(2)]
    assert_same_bits(*runs)
