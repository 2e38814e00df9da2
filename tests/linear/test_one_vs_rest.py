"""multi_class="ovr" is a model of two labels for each label against the rest, all learnt in one pass."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import SGDClassifier as Peer

from fastlin import AROWClassifier, PassiveAggressiveClassifier, Perceptron, SGDClassifier
from fastlin.losses import LOSS_FUNCTIONS, OF_RESIDUALS
from support.estimators import plain, text_like
from support.peer_features import STEPS_OF_MARGINS, VERSION
from support.strategies import cuts, labelled, weighted

DECAY = "intercept_decay"  # which AROW has not
LEARNERS = {
    "perceptron": lambda **more: Perceptron(average=True, **more),
    "pa1": lambda **more: PassiveAggressiveClassifier(C=0.3, **more),
    "AROW": lambda **more: AROWClassifier(r=0.7, average=True, **{k: v for k, v in more.items() if k != DECAY}),
    "pa2": lambda **more: PassiveAggressiveClassifier(loss="squared_hinge", **more),
    "hinge": lambda **more: SGDClassifier(alpha=0.047, average=7, **more),
    "squared hinge": lambda **more: SGDClassifier("squared_hinge", learning_rate="constant", eta0=0.021, **more),
    "log": lambda **more: SGDClassifier("log_loss", alpha=0.047, batch_size=3, **more),
    "log, L1": lambda **more: SGDClassifier("log_loss", penalty="l1", alpha=0.0047, **more),
    "modified Huber": lambda **more: SGDClassifier("modified_huber", alpha=0.047, **more),
    "Huber": lambda **more: SGDClassifier("huber", alpha=0.047, epsilon=0.31, average=True, **more),
    "PA-I of SGD": lambda **more: SGDClassifier(learning_rate="pa1", alpha=0.047, eta0=0.31, **more),
    "adagrad": lambda **more: SGDClassifier("log_loss", learning_rate="adagrad", eta0=0.3, **more),
    "ftrl": lambda **more: SGDClassifier("hinge", learning_rate="ftrl", eta0=0.31, penalty="l2", **more),
}
learners = pytest.mark.parametrize("name", LEARNERS)


def assert_same_rows(model, binary):
    for row, other in enumerate(binary):
        np.testing.assert_allclose(model.coef_[row], other.coef_[0], rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(model.intercept_[row], other.intercept_[0], rtol=1e-8, atol=1e-10)


@learners
@pytest.mark.parametrize("n_labels", [3, 9])
@pytest.mark.parametrize("dense", [False, True])
def test_each_row_of_weights_is_the_fit_of_two_labels(name, n_labels, dense):
    X, y = text_like(n_labels=n_labels, n_rows=90, seed=3)
    X = X.multiply(np.linspace(0.71, 1.33, X.shape[1])).tocsr()  # so that no score meets a margin exactly
    X, weights = X.toarray() if dense else X, np.random.default_rng(0).uniform(0, 2, len(y))
    make = LEARNERS[name]
    options = plain({"intercept_decay": None, "max_iter": 3})
    model = make(multi_class="ovr", **options).fit(X, y, sample_weight=weights)
    assert_same_rows(model, [make(**options).fit(X, y == k, sample_weight=weights) for k in range(n_labels)])
    np.testing.assert_array_equal(model.predict(X), np.argmax(model.decision_function(X), axis=1))
    losses = [[record["loss"] for record in make(**options).fit(X, y == k).history_] for k in range(n_labels)]
    found = [record["loss"] for record in make(multi_class="ovr", **options).fit(X, y).history_]
    np.testing.assert_allclose(found, np.sum(losses, axis=0), rtol=1e-8)


@learners
@given(data=st.data())
def test_so_it_is_however_partial_fit_is_cut(name, data):
    X, y, n_labels = data.draw(labelled(max_labels=6, values=("tiny",)))
    weights = data.draw(weighted(X.shape[0]))
    options, make = plain({}), LEARNERS[name]
    model, binary = make(multi_class="ovr", **options), [make(**options) for _ in range(n_labels)]
    for rows in data.draw(cuts(X.shape[0])):
        model.partial_fit(X[rows], y[rows], classes=np.arange(n_labels), sample_weight=weights[rows])
        for k, other in enumerate(binary):
            other.partial_fit(X[rows], y[rows] == k, classes=[False, True], sample_weight=weights[rows])
    if n_labels > 2:
        assert_same_rows(model, binary)


@learners
def test_a_third_label_goes_on_from_both_sides_of_the_first_two(name):
    X, y = text_like(n_labels=3)
    X = X.multiply(np.linspace(0.71, 1.33, X.shape[1])).tocsr()
    make, options, two = LEARNERS[name], plain({}), y < 2
    model = make(multi_class="ovr", **options).partial_fit(X[two], y[two]).partial_fit(X, y)
    binary = [make(**options).partial_fit(X[two], y[two] == k).partial_fit(X, y == k) for k in range(2)]
    if name in ("AROW", "pa1", "pa2", "hinge", "squared hinge", "log", "perceptron"):
        assert_same_rows(model, binary)
    assert model.coef_.shape[0] == 3


def test_two_labels_know_no_difference():
    X, y = text_like(n_labels=2)
    one, other = (SGDClassifier(**plain({"multi_class": kind})).fit(X, y) for kind in ("ovr", "multinomial"))
    np.testing.assert_array_equal(one.coef_, other.coef_)


@pytest.mark.parametrize("n_labels", [2, 4])
@pytest.mark.parametrize(
    "options",
    [
        *({"loss": loss, "alpha": 0.01} for loss in ("log_loss", "hinge", "modified_huber")),
        *(
            {"loss": loss, "learning_rate": "constant", "eta0": 0.01, "epsilon": 0.3}
            for loss in ("squared_hinge", *OF_RESIDUALS)
        ),
        {"loss": "hinge", "learning_rate": "adaptive", "eta0": 0.01, "l1_ratio": 0.15 if VERSION < (1, 7) else None},
        {"learning_rate": "pa1", "eta0": 0.3 if STEPS_OF_MARGINS else 1.0, "alpha": 0.03, "fit_intercept": False},
        {"learning_rate": "pa2", "eta0": 2.0 if STEPS_OF_MARGINS else 1.0, "penalty": None, "fit_intercept": False},
    ],
    ids=str,
)
def test_it_is_scikit_learns_model(options, n_labels):
    X, y = text_like(n_labels=n_labels, n_rows=80)
    X = X.multiply(np.linspace(0.71, 1.33, X.shape[1])).tocsr()
    options = {"max_iter": 3, "tol": None, "shuffle": False, **options}
    ours, theirs = SGDClassifier(multi_class="ovr", **options).fit(X, y), Peer(**options).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-6)
    if hasattr(theirs, "predict_proba"):
        np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-6, atol=1e-12)
        with np.errstate(divide="ignore"):
            expected = np.log(theirs.predict_proba(X))
        np.testing.assert_allclose(ours.predict_log_proba(X), expected, rtol=1e-6, atol=1e-12)
    assert hasattr(ours, "predict_proba") == hasattr(theirs, "predict_proba")


@pytest.mark.parametrize("loss", LOSS_FUNCTIONS)
def test_auto_takes_one_model_of_all_labels_where_the_loss_has_one(loss):
    X, y = text_like(n_labels=3, n_rows=60)
    known = {kind: SGDClassifier(loss, multi_class=kind, max_iter=2, tol=None, random_state=0)
             for kind in ("auto", "ovr", "multinomial")}  # fmt: skip
    together = loss in ("hinge", "log_loss", "squared_hinge", "perceptron")
    same = known["multinomial" if together else "ovr"].fit(X, y)
    np.testing.assert_array_equal(known["auto"].fit(X, y).coef_, same.coef_)


def test_modified_huber_has_no_favourite_far_from_all_labels():
    X, y = text_like(n_labels=3)
    model = SGDClassifier("modified_huber", multi_class="ovr").fit(X, y)
    model.coef_ = -np.ones_like(model.coef_)
    np.testing.assert_allclose(model.predict_proba(10 * X), 1 / 3)


def test_probabilities_far_from_all_labels_keep_their_order():
    X, y = text_like(n_labels=3)
    model = SGDClassifier("log_loss", multi_class="ovr").fit(X, y)
    model.coef_ = -np.abs(model.coef_) - 0.1  # each sigmoid is 0 in floating point
    found = model.predict_proba(1e6 * X)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    np.testing.assert_array_equal(found.argmax(axis=1), model.decision_function(1e6 * X).argmax(axis=1))


def test_what_has_no_meaning_for_each_label_alone_is_refused():
    X, y = text_like()
    with pytest.raises(ValueError, match="project=True bounds the weights of all labels together"):
        SGDClassifier(learning_rate="pegasos", project=True, multi_class="ovr").fit(X, y)
    with pytest.raises(ValueError, match=r"squared_error.*3 labels do not have together: take multi_class='ovr'"):
        SGDClassifier("squared_error", multi_class="multinomial").fit(X, y)
    with pytest.raises(ValueError, match="'modified_huber' has probabilities with multi_class='ovr' only"):
        SGDClassifier("modified_huber", multi_class="multinomial").fit(X, y).predict_proba(X)
    for more in ({"loss": "log_loss"}, {"batch_size": 2}):
        with pytest.raises(ValueError, match="learning_rate='pa1' is a step for one row of loss='hinge'"):
            SGDClassifier(learning_rate="pa1", **more).fit(X, y)
    with pytest.raises(ValueError, match="multi_class"):
        Perceptron(multi_class="one").fit(X, y)


STOPPED = {name: make for name, make in LEARNERS.items() if name not in ("perceptron", "AROW", "hinge", "Huber")} | {
    "perceptron": lambda **more: Perceptron(**more),
    "AROW": lambda **more: AROWClassifier(r=0.7, **{k: v for k, v in more.items() if k != DECAY}),
    "hinge": lambda **more: SGDClassifier(alpha=0.047, **more),
    "PA-I of SGD": lambda **more: SGDClassifier(learning_rate="pa1", penalty=None, eta0=0.02, **more),
}  # without an average, with which all labels stop together


@pytest.mark.parametrize("name", STOPPED)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_each_label_stops_where_its_fit_of_two_labels_does(name, dtype):
    X, y = text_like(n_labels=6, n_rows=90, seed=3)
    X = X.multiply(np.linspace(0.71, 1.33, X.shape[1])).tocsr().astype(dtype)
    make = STOPPED[name]
    options = plain({"intercept_decay": None, "max_iter": 60}) | {"tol": 0.003, "n_iter_no_change": 2}
    model = make(multi_class="ovr", **options).fit(X, y)
    binary = [make(**options).fit(X, y == k) for k in range(6)]
    epochs = [other.n_iter_ for other in binary]
    assert model.n_iter_ == max(epochs)
    assert model.converged_ == all(other.converged_ for other in binary)
    assert len(set(epochs)) > 1
    if dtype == np.float64:
        assert_same_rows(model, binary)
    np.testing.assert_allclose(model.coef_, np.vstack([other.coef_ for other in binary]), rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(model.objective_, sum(other.objective_ for other in binary), rtol=1e-4)
