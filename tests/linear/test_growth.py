"""Streams: features and labels that come with time."""

import pickle
import sysconfig

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import sparse

from fastlin import Corpus
from fastlin.optim import online_state as states
from support.estimators import (
    ONLINE,
    ONLINE_OPTIONS,
    assert_same_bits,
    assert_same_model,
    frozen_state,
    make,
    make_option,
    refused,
    text_like,
    twin_of,
)
from support.strategies import seeds

every_option = pytest.mark.parametrize("name", ONLINE_OPTIONS)
online = pytest.mark.parametrize("name", ONLINE)
WIDTHS = (7, 5, 12, 12, 13, 30, 21)


def stream(X, y, widths=WIDTHS):
    """Pieces of X with so many of its columns, and the same pieces at full width."""
    for number, width in enumerate(widths):
        rows = slice(number * 8, number * 8 + 8)
        narrow = X[rows, :width]
        yield narrow, sparse.csr_matrix((narrow.data, narrow.indices, narrow.indptr), (8, X.shape[1])), y[rows]


# --- features --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reads", [False, True])
@every_option
def test_a_growing_vocabulary_gives_the_model_that_knew_it_from_the_start(name, reads):
    X, y = text_like()
    grown, knowing = make_option(name, grow_features=True), make_option(name)
    most = 0
    for narrow, whole, labels in stream(X, y):
        grown.partial_fit(narrow, labels)
        knowing.partial_fit(whole, labels)
        most = max(most, narrow.shape[1])
        assert grown.n_features_in_ == most
        if reads:
            np.testing.assert_array_equal(grown.coef_, knowing.coef_[:, :most])
    np.testing.assert_array_equal(grown.coef_, knowing.coef_)
    np.testing.assert_array_equal(grown.intercept_, knowing.intercept_)
    np.testing.assert_array_equal(grown.predict(X), knowing.predict(X))


@every_option
def test_a_corpus_may_grow_like_a_matrix(name):
    X, y = text_like()
    one, other = make_option(name, grow_features=True), make_option(name, grow_features=True)
    for narrow, _, labels in stream(X, y):
        one.partial_fit(narrow, labels)
        other.partial_fit(Corpus(narrow, labels))
    assert_same_bits(one, other)


@online
def test_predictions_leave_unknown_features_out(name):
    X, y = text_like()
    model = make(name, grow_features=True).fit(X[:, :20], y)
    expected = model.decision_function(X[:, :20])
    np.testing.assert_array_equal(model.decision_function(X), expected)
    np.testing.assert_array_equal(model.decision_function(Corpus(X, y)), expected)
    assert model.score(Corpus(X, y)) == model.score(X[:, :20], y)
    few = sparse.hstack([X[:, :9], sparse.csr_matrix((60, 11))]).tocsr()
    np.testing.assert_array_equal(model.decision_function(X[:, :9]), model.decision_function(few))
    assert model.n_features_in_ == 20
    np.testing.assert_array_equal(model.sparsify().predict(X), model.densify().predict(X[:, :20]))


@online
def test_without_grow_features_another_width_is_an_error(name):
    X, y = text_like()
    model = make(name).fit(X[:, :20], y)
    for method in ("predict", "partial_fit"):
        with refused(model, match="features"):
            getattr(model, method)(X, *([y] if method == "partial_fit" else []))


@online
def test_a_fit_begins_with_the_features_it_is_given(name):
    X, y = text_like()
    model = make(name, grow_features=True).fit(X, y).fit(X[:, :20], y)
    assert model.n_features_in_ == 20
    assert_same_bits(model, make(name).fit(X[:, :20], y))


@online
def test_names_of_new_features_follow_those_that_are_known(name):
    X, y = text_like()
    frame = pd.DataFrame(X.toarray(), columns=[f"word {j}" for j in range(30)])
    model = make(name, grow_features=True).partial_fit(frame.iloc[:, :20], y).partial_fit(frame, y)
    assert model.feature_names_in_.tolist() == frame.columns.tolist()
    model.partial_fit(frame.iloc[:, :4], y)
    assert len(model.feature_names_in_) == model.n_features_in_ == 30
    for method in ("predict", "partial_fit"):
        with refused(model, match="feature 0 of X is 'word 1', but was 'word 0'"):
            getattr(model, method)(frame.iloc[:, 1:], *([y] if method == "partial_fit" else []))


# --- labels ----------------------------------------------------------------------------------------------------------

UNSHRUNK = {
    "perceptron": {},
    "averaged perceptron": {},
    "PA-I": {},
    "averaged PA-II": {},
    "MIRA": {},
    "AROW": {},
    "averaged AROW": {},
    "log loss": {"penalty": None},
    "averaged log loss": {"penalty": None},
}


@pytest.mark.parametrize("name", UNSHRUNK)
@given(seed=seeds, reads=st.booleans())
def test_labels_in_any_order_one_by_one_are_those_of_the_twin(name, seed, reads):
    """However their columns lie: weights, ties and predictions are those of columns in the labels' order."""
    rng, n_labels = np.random.default_rng(seed), 9
    X, y = text_like(n_labels=n_labels, seed=seed % 100, density=0.4)
    labels, model, twin, before = rng.permutation(n_labels), make_option(name, **UNSHRUNK[name]), None, None
    for count in range(2, n_labels + 1):
        known = np.sort(labels[:count])
        rows = np.flatnonzero(np.isin(y, known))[:20]
        codes = np.searchsorted(known, y[rows])
        if twin is None:
            twin = twin_of(model, count, X.shape[1])
        else:
            twin.grow(np.searchsorted(known, before), count)
        twin.epoch(X[rows], codes, range(len(rows)))
        model.partial_fit(X[rows], y[rows], classes=known)
        assume(twin.closest > 1e-8 or "perceptron" in name)  # whose numbers are exact: ties are ties in both
        if twin.narrowest > 1e-8 or "perceptron" in name:
            np.testing.assert_allclose(model.history_[0]["progressive_accuracy"], twin.accuracies[-1], rtol=1e-12)
        before = known
        if reads:
            np.testing.assert_allclose(model.decision_function(X).shape, (60, count) if count > 2 else (60,))
    assert_same_model(model, twin)
    np.testing.assert_allclose(model.decision_function(X), twin.scores(X), rtol=1e-7, atol=1e-9)


def test_among_equals_the_first_of_the_labels_is_predicted_wherever_its_column_lies():
    model = make("perceptron", fit_intercept=False, max_iter=1)
    model.partial_fit([[1.0, 0]], ["m"], classes=["m", "x", "z"])
    model.partial_fit([[1.0, 0]], ["a"]).partial_fit([[1.0, 0]], ["c"])
    assert model.predict([[0.0, 1], [0.0, 0]]).tolist() == ["a", "a"]
    assert model.partial_fit([[0.0, 1]], ["a"]).history_[0]["progressive_accuracy"] == 1
    assert model.partial_fit([[0.0, 0]], ["c"]).history_[0]["progressive_accuracy"] == 0


@every_option
def test_a_state_with_room_to_grow_comes_back_equal(name):
    X, y = text_like(n_labels=6)
    y = np.array(["m", "n", "o", "a", "z", "b"])[y]
    model = make_option(name, grow_features=True)
    for number, width in enumerate((5, 9, 14)):
        model.partial_fit(X[y >= "n", :width], y[y >= "n"]).partial_fit(X[: 3 + number, :width], y[: 3 + number])
    model.partial_fit(X, y).partial_fit([[1.0]], ["k"])
    copies = make_option(name, grow_features=True).set_state(model.get_state()), pickle.loads(pickle.dumps(model))
    before = frozen_state(model)
    for copy in copies:
        assert frozen_state(copy) == before
        assert_same_bits(copy, model)
    for rows, labels in ((X, y), ([[2.0] * 40], ["l"]), (X[:9], y[:9])):
        model.partial_fit(rows, labels)
        for copy in copies:
            assert_same_bits(copy.partial_fit(rows, labels), model)


@online
def test_a_state_whose_columns_cannot_be_is_refused(name):
    X, y = text_like(n_labels=4)
    model = make(name).partial_fit(X[y < 3], y[y < 3]).partial_fit(X, y).partial_fit(X[:5], y[:5] + 4)
    state = model.get_state()
    columns, room = len(state["order"]), state["weights"].shape[1]
    assert columns < room
    hidden = state["weights"].copy()
    hidden[0, -1] = 1
    for wrong in (
        {"order": state["order"][::-1][:-1]},
        {"order": np.zeros(columns, np.int64)},
        {"order": np.arange(room + 1)},
        {"order": np.arange(columns, dtype=np.int32)},
        {"weights": hidden},
    ):
        with refused(model, match="order|columns"):
            model.set_state({**state, **wrong})


# --- what growth costs -----------------------------------------------------------------------------------------------


@pytest.fixture
def allocated(monkeypatch):
    """The number of weights that have been allocated."""
    sizes, zeros = [], states.aligned_zeros

    def counted(shape, dtype):
        sizes.append(np.prod(shape))
        return zeros(shape, dtype)

    monkeypatch.setattr(states, "aligned_zeros", counted)
    return sizes


def test_a_thousand_labels_one_by_one_are_copied_a_few_times(allocated):
    names = [f"label {number}" for number in np.random.default_rng(0).permutation(1000)]
    model = make("perceptron").partial_fit(np.eye(3, 20), names[:3])
    for name in names[3:]:
        model.partial_fit([[1.0] * 20], [name])
    assert len(model.classes_) == 1000
    assert model.coef_.shape == (1000, 20)
    assert sum(allocated) < 8 * 1000 * 20


def test_features_one_by_one_are_copied_a_few_times(allocated):
    model = make("perceptron", grow_features=True).partial_fit(np.eye(3, 3), ["a", "b", "c"])
    for width in range(4, 2000):
        row = sparse.csr_array(([1.0], ([0], [width - 1])), shape=(1, width))
        model.partial_fit(row, ["a"])
    assert model.n_features_in_ == 1999
    if not sysconfig.get_config_var("Py_GIL_DISABLED"):  # without the GIL what a model was lives on for a moment
        assert sum(allocated) < 6 * 2000 * 3


# --- pruning ---------------------------------------------------------------------------------------------------------


@every_option
def test_pruned_weights_are_zero_and_the_others_what_they_were(name):
    X, y = text_like()
    model = make_option(name).partial_fit(X, y)
    before, intercept = model.coef_.copy(), model.intercept_
    threshold = (np.abs(before[before != 0]).min() + np.abs(before).max()) / 2
    kept = np.abs(before) >= threshold
    assert 0 < model.prune(threshold) == np.count_nonzero(before[~kept]) < before.size
    np.testing.assert_array_equal(model.coef_, np.where(kept, before, 0))
    np.testing.assert_array_equal(model.intercept_, intercept)
    assert model.prune(threshold) == 0
    assert model.prune(0) == 0
    copy = make_option(name).set_state(model.get_state())
    assert_same_bits(model.partial_fit(X, y), copy.partial_fit(X, y))
    assert np.count_nonzero(model.coef_) >= np.count_nonzero(kept)


@pytest.mark.parametrize("learning_rate", ["adagrad", "ftrl"])
def test_what_was_summed_up_is_forgotten_with_the_weights(learning_rate):
    X, y = text_like()
    options = {"learning_rate": learning_rate, "eta0": 0.5, "penalty": None, "fit_intercept": False}
    pruned, fresh = make("sgd", **options).partial_fit(X, y), make("sgd", **options)
    pruned.prune(np.inf)
    assert not pruned.coef_.any()
    np.testing.assert_array_equal(pruned.partial_fit(X, y).coef_, fresh.partial_fit(X, y).coef_)


def test_a_callback_may_prune_after_every_epoch():
    X, y = text_like()
    sizes = []

    def prune(model, record):
        model.prune(0.3)
        sizes.append(np.count_nonzero(model.coef_))

    model = make("perceptron", average=True, callback=prune).fit(X, y)
    assert len(sizes) == model.n_iter_ == 3
    assert sizes[-1] == np.count_nonzero(model.coef_)
    assert np.abs(model.coef_[model.coef_ != 0]).min() >= 0.3


@online
def test_a_threshold_that_is_none_is_refused(name):
    X, y = text_like()
    model = make(name).fit(X, y)
    for threshold in (-1, np.nan, "0.1", None, True):
        with refused(model, match="threshold"):
            model.prune(threshold)
    with pytest.raises(ValueError, match="densify"):
        model.sparsify().prune(0.1)
