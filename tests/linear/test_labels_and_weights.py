"""What labels and weights of instances mean: two labels and K, new ones, repeated rows, classes that weigh more."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import sparse

from fastlin import SGDClassifier
from support.estimators import (
    EVERY,
    ONLINE,
    ONLINE_OPTIONS,
    assert_same_bits,
    assert_same_model,
    make,
    make_option,
    plain,
    text_like,
    twin_of,
)
from support.strategies import LABEL_KINDS, labelled, named, weighted

UNSHRUNK = {
    "perceptron": {},
    "averaged": {"average": True},
    "passive aggressive": {},
    "mira": {},
    "arow": {},
    "sgd": {"penalty": None},
    "averaged sgd": {"penalty": None, "average": True},
}


def unshrunk(name):
    """A learner without a penalty: a row that is all zero changes none of its weights."""
    kind = name.removeprefix("averaged ").replace("averaged", "perceptron")
    return make(kind, fit_intercept=False, **UNSHRUNK[name])


# --- two labels ------------------------------------------------------------------------------------------------------


@given(
    data=labelled(max_labels=2),
    name=st.sampled_from(["perceptron", "passive aggressive"]),
    average=st.booleans(),
    fit_intercept=st.booleans(),
)
def test_one_column_is_the_rule_of_k_labels(data, name, average, fit_intercept):
    """Perceptron: w = (theta_1 - theta_0) / 2, as w moves by x where both thetas do. PA: w = theta_1 - theta_0."""
    X, y, _ = data
    options = {"C": np.inf} if name == "passive aggressive" else {}
    estimator = make(name, average=average, fit_intercept=fit_intercept, **options)
    twin = twin_of(estimator, 2, X.shape[1], columns=2)
    twin.fit(X, y, [range(X.shape[0])] * 3)
    assume(twin.closest > 1e-8)
    difference = (twin.model[1] - twin.model[0]) / (2 if name == "perceptron" else 1)
    estimator.fit(X, y)
    found = np.append(estimator.coef_[0], estimator.intercept_)
    np.testing.assert_allclose(found, difference, rtol=1e-9, atol=1e-11 * max(twin.largest, 1e-300))


@pytest.mark.parametrize("name", ONLINE)
def test_two_labels_take_one_column(name):
    X, y = text_like(n_labels=2)
    model = make(name).fit(X, y)
    assert model.coef_.shape == (1, X.shape[1])
    assert np.shape(model.intercept_) == (1,)
    np.testing.assert_array_equal(model.predict(X), (model.decision_function(X) > 0).astype(int))


@given(data=st.data(), name=st.sampled_from(EVERY), kind=st.sampled_from(LABEL_KINDS))
def test_the_kind_of_a_label_changes_nothing_but_its_name(data, name, kind):
    X, y, _ = data.draw(labelled(max_labels=2 if kind == "booleans" else 4, values=("counts",)))
    plain_model, model = make(name).fit(X, y), make(name).fit(X, named(y, kind))
    np.testing.assert_array_equal(model.classes_, np.unique(named(y, kind)))
    np.testing.assert_array_equal(model.predict(X), named(plain_model.predict(X), kind))
    if name != "naive bayes":
        np.testing.assert_array_equal(model.coef_, plain_model.coef_)


def test_a_tie_goes_to_the_lowest_label():
    X = sparse.csr_matrix((6, 4))
    for name in ("perceptron", "sgd"):
        model = make(name, fit_intercept=False).fit(X, ["b", "a", "c"] * 2)
        assert model.predict(X).tolist() == ["a"] * 6
        model = make(name, fit_intercept=False).fit(X, ["b", "a"] * 3)
        assert model.predict(X).tolist() == ["a"] * 6


# --- new labels ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name, options in UNSHRUNK.items() if "average" not in options])
@pytest.mark.parametrize("new, places", [("z", [0, 1]), ("n", [0, 2]), ("a", [1, 2])])
def test_a_third_label_turns_w_into_minus_half_and_half(name, new, places):
    X, y = text_like(n_labels=2)
    model = unshrunk(name).partial_fit(X, np.array(["m", "q"])[y])
    w = model.coef_[0].copy()
    nothing = sparse.csr_matrix((1, X.shape[1]))
    model.partial_fit(nothing, [new])
    assert model.classes_.tolist() == sorted(["m", "q", new])
    expected = np.zeros((3, len(w)))
    expected[places] = -w / 2, w / 2
    np.testing.assert_array_equal(model.coef_, expected)


@pytest.mark.parametrize("name", UNSHRUNK)
@pytest.mark.parametrize(
    "known, new", [("mq", "z"), ("mq", "n"), ("mq", "a"), ("mqs", "z"), ("mqs", "p"), ("mqs", "ab"), ("mq", "abc")]
)
def test_learning_with_labels_that_come_later_is_the_twins(name, known, new):
    """The averages and t go on; a label that comes late has weighed 0 until then."""
    labels = sorted(known + new)
    X, y = text_like(n_labels=len(known))
    later_X, later_y = text_like(n_labels=len(labels), seed=1)
    model = unshrunk(name)
    twin = twin_of(model, len(known), X.shape[1]).epoch(X, y, range(X.shape[0]))
    twin.grow([labels.index(k) for k in known], len(labels)).epoch(later_X, later_y, range(later_X.shape[0]))
    model.partial_fit(X, np.array(list(known))[y])
    model.partial_fit(later_X, np.array(labels)[later_y])
    assert model.classes_.tolist() == labels
    assert_same_model(model, twin)


@pytest.mark.parametrize("name", EVERY)
def test_one_label_at_first_is_no_obstacle_to_partial_fit(name):
    X, y = text_like(n_labels=3)
    model = make(name)
    model.partial_fit(X[y == 1], y[y == 1])
    assert set(model.predict(X)) == {1}
    for k in (0, 2):
        model.partial_fit(X[y == k], y[y == k])
        model.partial_fit(X, y * (y <= k))
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.score(X, y) > 0.4


@pytest.mark.parametrize("name", EVERY)
def test_classes_may_announce_labels_that_come_later_or_never(name):
    X, y = text_like(n_labels=3)
    announced = make(name).partial_fit(X, y, classes=[0, 1, 2, 7])
    assert announced.classes_.tolist() == [0, 1, 2, 7]
    assert announced.score(X, y) > 0.4
    np.testing.assert_array_equal(announced.partial_fit(X, y).classes_, [0, 1, 2, 7])


# --- weights of instances --------------------------------------------------------------------------------------------


@given(data=st.data(), name=st.sampled_from(list(ONLINE_OPTIONS)))
def test_weight_zero_is_a_row_left_out(data, name):
    X, y, n_labels = data.draw(labelled(values=("counts",)))
    weights = data.draw(weighted(X.shape[0]))
    kept = weights > 0
    assume(len(set(y[kept])) == n_labels)
    whole = make_option(name).fit(X, y, sample_weight=weights)
    rest = make_option(name).fit(X[kept], y[kept], sample_weight=weights[kept])
    np.testing.assert_allclose(whole.coef_, rest.coef_, rtol=1e-9, atol=1e-12)
    assert whole.t_ == rest.t_


LINEAR_REGIONS = {
    # A whole weight repeats a row where every repetition would take the same step again. The hinge's gradient is
    # constant while the margin stays violated, here by steps too short to mend any margin; PA-I and binary MIRA take
    # steps of length C while C is the smaller; a perceptron's second look at a row is often no error, so its law fails,
    # as does any with a curved loss, a penalty (one shrinkage a step) or an average (one term a step).
    "hinge": lambda: make("sgd", loss="hinge", penalty=None, learning_rate="constant", eta0=1e-6),
    "PA-I": lambda: make("passive aggressive", C=1e-6),
    "MIRA": lambda: make("mira", C=1e-6),
}


@pytest.mark.parametrize("name", LINEAR_REGIONS)
@pytest.mark.parametrize("seed", range(3))
def test_whole_weights_in_order_are_repeated_rows_where_the_step_is_linear(name, seed):
    X, y = text_like(n_labels=2, seed=seed)
    times = np.random.default_rng(seed).integers(0, 4, size=len(y))
    repeated = np.repeat(np.arange(len(y)), times)
    by_weight = LINEAR_REGIONS[name]().fit(X, y, sample_weight=times)
    by_row = LINEAR_REGIONS[name]().fit(X[repeated], y[repeated])
    np.testing.assert_allclose(by_weight.coef_, by_row.coef_, rtol=1e-9, atol=1e-18)


@given(data=labelled(values=("counts",)), seed=st.integers(0, 9))
def test_whole_weights_are_repeated_rows_for_naive_bayes(data, seed):
    X, y, n_labels = data
    times = np.random.default_rng(seed).integers(0, 4, size=len(y))
    assume(len(set(y[times > 0])) == n_labels)
    repeated = np.repeat(np.arange(len(y)), times)
    by_weight = make("naive bayes").fit(X, y, sample_weight=times)
    by_row = make("naive bayes").fit(X[repeated], y[repeated])
    assert_same_bits(by_weight, by_row)


@pytest.mark.parametrize("loss", ["perceptron", "hinge", "squared_hinge", "log_loss"])
def test_one_weight_for_all_is_a_longer_step(loss):
    X, y = text_like()
    options = {"loss": loss, "penalty": None, "learning_rate": "constant"}
    heavy = make("sgd", eta0=0.01, **options).fit(X, y, sample_weight=np.full(len(y), 4.0))
    fast = make("sgd", eta0=0.04, **options).fit(X, y)
    np.testing.assert_allclose(heavy.coef_, fast.coef_, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["passive aggressive", "mira"])
def test_a_weight_scales_the_aggressiveness(name):
    X, y = text_like()
    heavy = make(name, C=0.02).fit(X, y, sample_weight=np.full(len(y), 4.0))
    np.testing.assert_allclose(heavy.coef_, make(name, C=0.08).fit(X, y).coef_, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ONLINE)
def test_class_weights_multiply_sample_weights(name):
    X, y = text_like(n_labels=3)
    y[:20] = 0
    weights = np.random.default_rng(0).uniform(0.5, 2, size=len(y))
    by_class = make(name, class_weight={0: 0.3, 1: 2.0}).fit(X, y, sample_weight=weights)
    by_row = make(name).fit(X, y, sample_weight=weights * np.array([0.3, 2.0, 1.0])[y])
    np.testing.assert_allclose(by_class.coef_, by_row.coef_, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ONLINE)
def test_balanced_classes_weigh_the_same_in_total(name):
    X, y = text_like(n_labels=3)
    y[:20] = 0
    by_class = make(name, class_weight="balanced").fit(X, y)
    by_row = make(name).fit(X, y, sample_weight=(len(y) / (3 * np.bincount(y)))[y])
    np.testing.assert_allclose(by_class.coef_, by_row.coef_, rtol=1e-9, atol=1e-12)


# --- perceptron ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("margin", [0.02, 0.1, 0.5])
@pytest.mark.parametrize("seed", range(4))
def test_perceptron_errs_at_most_r_over_gamma_squared_times(margin, seed):
    rng = np.random.default_rng(seed)
    X, u = rng.normal(size=(300, 10)), rng.normal(size=10)
    u /= np.linalg.norm(u)
    X, y = X[abs(X @ u) > margin], (X @ u > 0).astype(int)[abs(X @ u) > margin]
    model = make(
        "perceptron", fit_intercept=False, max_iter=2000, callback=lambda model, record: record["updates"] == 0
    ).fit(X, y)
    assert model.score(X, y) == 1.0
    gamma, radius = abs(X @ u).min(), np.linalg.norm(X, axis=1).max()
    assert sum(record["updates"] for record in model.history_) <= (radius / gamma) ** 2


def test_labels_of_mini_batches_share_one_step():
    """The scores of a batch are those of the weights before it."""
    X, y = text_like(n_rows=40)
    model = SGDClassifier(
        **plain(
            {
                "loss": "log_loss",
                "penalty": None,
                "learning_rate": "constant",
                "eta0": 0.5,
                "batch_size": 40,
                "max_iter": 1,
            }
        )
    ).fit(X, y)
    twin = twin_of(model, 3, X.shape[1])
    residual = np.full((40, 3), 1 / 3) - np.eye(3)[y]
    np.testing.assert_allclose(model.coef_, -0.5 * residual.T @ X.toarray() / 40, rtol=1e-12, atol=1e-15)
    assert_same_model(model, twin.epoch(X, y, range(40)))
