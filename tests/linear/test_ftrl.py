"""FTRL-Proximal: sparse at any moment, and sound under any change on the way. That it is its twin: test_online_laws."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from fastlin import SGDClassifier
from support.estimators import assert_same_bits, assert_same_model, plain, refused, text_like, twin_of
from support.strategies import labelled

SILENT = sparse.csr_array((1, 30))  # a row without features
OPTIONS = {"loss": "log_loss", "learning_rate": "ftrl", "eta0": 0.5, "penalty": "l1", "alpha": 0.5}


def ftrl(**options):
    return SGDClassifier(**plain({**OPTIONS, **options}))


def weight(z, root, model, l1=None):
    """The formula of the paper."""
    l1 = model.alpha if l1 is None else l1
    size = np.maximum(0, np.abs(z) - l1)
    return -np.sign(z) * size / ((1 + root) / model.eta0)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("batch_size", [1, 3])
@given(data=st.data(), loss=st.sampled_from(["log_loss", "hinge", "squared_hinge", "perceptron"]))
def test_weights_are_zero_exactly_where_z_is_within_l1(dtype, batch_size, data, loss):
    X, y, _ = data.draw(labelled())
    model = ftrl(loss=loss, dtype=dtype, batch_size=batch_size).fit(X, y)
    state = model.get_state()
    np.testing.assert_array_equal(model.coef_.T == 0, np.abs(state["z"]) <= 0.5)
    rtol = 1e-6 if dtype == "float32" else 1e-12
    np.testing.assert_allclose(model.coef_.T, weight(state["z"], state["root"], model), rtol=rtol)


def test_a_larger_l1_leaves_fewer_weights_and_the_intercept_alone():
    X, y = text_like(n_rows=200, n_features=300)
    sizes = [np.count_nonzero(ftrl(alpha=alpha).fit(X, y).coef_) for alpha in (0, 0.1, 0.5, 2, 1e6)]
    assert sizes == sorted(sizes, reverse=True)
    assert len(set(sizes)) == 5
    assert sizes[-1] == 0
    assert np.abs(ftrl(alpha=1e6).fit(X, y).intercept_).max() > 0


@pytest.mark.parametrize("batch_size", [1, 4])
@pytest.mark.parametrize("penalty", [None, "l1", "elasticnet"])
def test_averages_go_with_l1(batch_size, penalty):
    X, y = text_like()
    model = ftrl(average=11, batch_size=batch_size, penalty=penalty, alpha=0.07)
    twin = twin_of(model, 3, X.shape[1])
    twin.fit(X, y, [range(60)] * 3)
    assert_same_model(model.fit(X, y), twin)


@pytest.mark.parametrize("change", [{"eta0": 0.1}, {"alpha": 2.0}, {"penalty": "l2"}, {"penalty": "elasticnet"}])
def test_weights_do_not_jump_when_a_parameter_changes(change):
    X, y = text_like()
    model = ftrl(loss="hinge").partial_fit(X, y)
    before = model.coef_.copy()
    model.set_params(fit_intercept=False, **change).partial_fit(SILENT, y[:1])
    np.testing.assert_array_equal(model.coef_, before)
    model.partial_fit(X[:1], 2 - y[:1])  # a step from there
    untouched = np.flatnonzero(X[0].toarray()[0] == 0)
    np.testing.assert_array_equal(model.coef_[:, untouched], before[:, untouched])
    if "eta0" in change:
        assert 0 < np.abs(model.coef_ - before).max() <= 0.1 * X[0].max()


def test_another_rate_goes_on_from_the_weights_of_ftrl_and_back():
    X, y = text_like()
    model = ftrl().partial_fit(X, y)
    before = model.coef_.copy()
    assert len(model.get_state()["z"])
    model.set_params(learning_rate="constant", penalty=None).partial_fit(X[:0:-1], y[:0:-1])
    assert not len(model.get_state()["z"])
    assert (model.coef_ != before).any()
    before = model.coef_.copy()
    model.set_params(learning_rate="ftrl", fit_intercept=False).partial_fit(SILENT, y[:1])
    np.testing.assert_array_equal(model.coef_, before)


def test_the_third_label_splits_the_weights_of_two():
    X, y = text_like(n_labels=2)
    model = ftrl(fit_intercept=False).partial_fit(X, y)
    w = model.coef_[0].copy()
    model.partial_fit(SILENT, [2])
    np.testing.assert_array_equal(model.coef_, [-w / 2, w / 2, 0 * w])
    assert_same_bits(model.partial_fit(X, y), ftrl(fit_intercept=False).set_state(model.get_state()))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("value", [1e-100, 1e-30, 1e10, 1e14])
def test_values_of_any_size_end_in_numbers(dtype, value):
    X, y = text_like()
    for eta0 in (1e-50, 1e-3, 1e3, 1e30):
        model = ftrl(dtype=dtype, eta0=eta0)
        try:
            model.fit(X * value, y)
        except ValueError as error:
            if "overflow" not in str(error):
                raise
        else:
            assert np.isfinite(model.coef_).all()
            assert np.isfinite(model.get_state()["z"]).all()


def test_a_rate_too_small_to_divide_by_is_refused():
    X, y = text_like()
    with refused(model := ftrl(eta0=1e-60), match="eta0 must be > 0 and >= 1e-50"):
        model.fit(X, y)


def test_states_that_would_leave_the_numbers_are_refused():
    X, y = text_like()
    model = ftrl().fit(X, y)
    state = model.get_state()
    for name, value in (("root", -1.0), ("z", np.nan), ("root", np.inf)):
        wrong = state[name].copy()
        wrong[2, 1] = value
        with refused(model, match=name):
            model.set_state({**state, name: wrong})
    rule = state["rule"].copy()
    rule["eta0"] = 0
    with refused(model, match="FTRL"):
        model.set_state({**state, "rule": rule})
