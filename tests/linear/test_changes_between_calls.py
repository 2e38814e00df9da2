"""Parameters, labels and states that change between calls: nothing that was learnt gets lost or bent."""

import copy
import pickle

import numpy as np
import pytest
from scipy import sparse

from fastlin import MultinomialNB, PassiveAggressiveClassifier, Perceptron, SGDClassifier
from support.estimators import text_like


def test_a_projection_switched_on_later_projects():
    X, y = text_like(n_rows=60, n_labels=3)
    model = SGDClassifier(loss="log_loss", learning_rate="constant", eta0=50.0, penalty=None, shuffle=False)
    model.partial_fit(X, y)
    assert np.linalg.norm(model.coef_) > 10
    model.set_params(learning_rate="pegasos", alpha=0.1, penalty="l2", project=True).partial_fit(X[:1], y[:1])
    assert np.linalg.norm(model.coef_) <= 1 / np.sqrt(0.1) * (1 + 1e-12)


@pytest.mark.parametrize("then", ["optimal", "adagrad", "pegasos"])
@pytest.mark.parametrize("first", ["optimal", "adagrad", "pegasos"])
@pytest.mark.parametrize("average", [(False, True), (True, False), (True, True)])
def test_a_model_whose_rule_changed_is_saved_and_goes_on(first, then, average):
    X, y = text_like(n_labels=3)
    model = SGDClassifier(
        loss="log_loss", learning_rate=first, eta0=0.5, alpha=1e-3, random_state=0, average=average[0]
    )
    model.partial_fit(X, y)
    model.set_params(learning_rate=then, average=average[1]).partial_fit(X, y)
    for twin in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        np.testing.assert_array_equal(twin.partial_fit(X, y).coef_, copy.deepcopy(model).partial_fit(X, y).coef_)


@pytest.mark.parametrize("make", [Perceptron, MultinomialNB])
@pytest.mark.parametrize(
    "before, after, match",
    [
        ([0, 1, 2], ["a", "b"], "mix"),
        ([False, True], [0, 1], "mix"),
        (["a", "b"], [b"a", b"b"], "mix"),
        (["a", "b"], [0, 1], "mix"),
    ],
)
def test_kinds_of_labels_do_not_mix(make, before, after, match):
    X = sparse.csr_array(np.eye(3))
    model = make().partial_fit(X[: len(before)], np.array(before))
    with pytest.raises(ValueError, match=match):
        model.partial_fit(X[: len(after)], np.array(after))
    assert model.classes_.tolist() == sorted(before)


def test_large_labels_stay_apart():
    X = sparse.csr_array(np.eye(4))
    model = Perceptron().partial_fit(X[:3], np.array([2**53 + 1, 2**53 + 2, 2**53 + 3]))
    model.partial_fit(X[3:], np.array([2**53 + 4], np.uint64))
    assert model.classes_.tolist() == [2**53 + n for n in (1, 2, 3, 4)]
    model.partial_fit(X[:2], np.array([1.0, 2.0]))
    assert model.classes_.tolist() == [1, 2, *(2**53 + n for n in (1, 2, 3, 4))]
    highest = np.array([2**63 + 1, 2**63 + 2], np.uint64)
    assert Perceptron(tol=None, max_iter=2).fit(X[:2], highest).classes_.tolist() == highest.tolist()


@pytest.mark.parametrize("make", [Perceptron, MultinomialNB])
@pytest.mark.parametrize("odd", [[1, 2, np.nan], [1, 2, None], [(1,), (2,), (3,)], [{1}, {2}, {3}], [0.5, 1.5, 2.5]])
def test_objects_that_are_no_labels_are_refused(make, odd):
    y = np.empty(3, dtype=object)
    y[:] = odd
    X = sparse.csr_array(np.eye(3))
    with pytest.raises((TypeError, ValueError), match=r"label|Input"):
        make().fit(X, y)
    with pytest.raises((TypeError, ValueError), match=r"label|Input"):
        make().partial_fit(X, y)


def test_a_step_that_would_overflow_keeps_the_whole_steps_before_it():
    X, y = text_like(n_rows=60)
    wild = X.tolil()
    wild[40, 3] = wild[41, 3] = 9e99
    y[40], y[41] = 0, 1
    wild = wild.tocsr()
    model = Perceptron(shuffle=False, tol=None, max_iter=2).fit(X, y)
    counted = model.t_

    def go_on():
        for _ in range(3):
            model.partial_fit(wild, y)

    with pytest.raises(ValueError, match=r"row 4[01] would overflow"):
        go_on()
    assert (model.t_ - counted) % 60 in (40, 41)
    assert model.history_ == []
    assert np.isfinite(model.coef_).all()


def test_rows_without_weight_do_not_hide_a_rate_that_turns_the_weights_round():
    X, y = text_like(n_rows=10, n_labels=2)
    weights = np.zeros(10)
    weights[3] = 1.0
    model = SGDClassifier(loss="log_loss", learning_rate="invscaling", eta0=1.0, alpha=2.0, batch_size=10)
    with pytest.raises(ValueError, match="below 1"):
        model.partial_fit(X, y, sample_weight=weights)


def test_warm_start_refuses_other_labels():
    X, y = text_like(n_labels=3)
    model = Perceptron(warm_start=True, tol=None, max_iter=2).fit(X, y)
    with pytest.raises(ValueError, match="warm_start"):
        model.fit(X, np.array(["a", "b", "c"])[y])


@pytest.mark.parametrize("n_columns", [2, 8])
def test_a_row_has_the_same_score_alone_and_in_company(n_columns):
    generator = np.random.default_rng(0)
    X = sparse.random_array((80, 2000), density=0.05, rng=generator, format="csr")
    X = sparse.vstack([X, X[:40, :] * (np.arange(2000) % 7 == 0)]).tocsr()  # short rows among the long
    y = generator.integers(0, n_columns, X.shape[0])
    model = PassiveAggressiveClassifier(max_iter=2, tol=None, random_state=0).fit(X, y)
    together = model.decision_function(X)
    for row in range(X.shape[0]):
        np.testing.assert_array_equal(model.decision_function(X[row : row + 1])[0], together[row])


def test_initial_weights_out_of_range_are_refused():
    X, y = text_like(n_labels=3)
    model = Perceptron(dtype="float32", tol=None, max_iter=2).fit(X, y)
    before = model.coef_.copy()
    with pytest.raises(ValueError, match="limit"):
        model.coef_ = np.full(before.shape, 1e30)
    with pytest.raises(ValueError, match="limit"):
        model.fit(X, y, coef_init=np.full(before.shape, 1e300))
    np.testing.assert_array_equal(model.coef_, before)


@pytest.mark.parametrize(
    "name, field, value",
    [
        ("clock", "averaged", 5),
        ("clock", "scale", np.inf),
        ("clock", "scale", 0.0),
        ("clock", "mass", np.inf),
        ("clock", "mass", 1e250),
        ("clock", "t", 2**63 - 1),
        ("clock", "t", -1),
        ("past", "scale", 1e300),
        ("rule", "eta0", np.inf),
        ("rule", "l2", np.nan),
        ("weights", None, 1e308),
        ("weights", None, np.nan),
        ("squares", None, -1.0),
        ("touched", None, 10**9),
    ],
)
def test_a_state_that_cannot_be_is_refused(name, field, value):
    X, y = text_like(n_labels=3)
    model = SGDClassifier(loss="log_loss", learning_rate="adagrad", eta0=1.0, tol=None, max_iter=2).fit(X, y)
    state = model.get_state()
    (state[name] if field is None else state[name][field])[...] = value
    before = model.coef_.copy()
    with pytest.raises(ValueError, match="state"):
        model.set_state(state)
    np.testing.assert_array_equal(model.coef_, before)


def test_leaving_one_out_takes_no_notice_of_explicit_zeros():
    X, y = text_like(n_rows=40, n_features=15)
    padded = X.copy().toarray()
    rows, columns = np.nonzero(np.ones_like(padded))
    full = sparse.csr_array((padded[rows, columns], (rows, columns)), shape=X.shape)
    assert full.nnz > X.nnz
    alphas = [0.0, 0.1, 1.0]
    np.testing.assert_array_equal(MultinomialNB().loo_score(full, y, alphas), MultinomialNB().loo_score(X, y, alphas))
    with pytest.raises(ValueError, match="concentration"):
        MultinomialNB(concentration=2.0).loo_score(X, y, alphas)


def test_counts_in_small_types_do_not_wrap():
    X = sparse.coo_array((np.array([100, 100], np.int8), ([0, 0], [0, 0])), shape=(2, 2))
    assert MultinomialNB().fit(X, [0, 1]).feature_count_.max() == 200
