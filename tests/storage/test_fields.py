"""Fields of a learnt state: nothing of another type, shape or law comes through; what is proved comes back whole."""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastlin.storage.fields import FINITE, RISING, Field, between, of_fields, proved, rising_to, sorted_below
from fastlin.storage.load_context import LoadContext
from fastlin.storage.weight_packing import Packing

VECTORS = st.lists(st.integers(-3, 6), max_size=6).map(lambda values: np.array(values, np.int64))


@given(VECTORS, st.integers(0, 6))
def test_laws_say_what_loops_say(array, n):
    values = array.tolist()
    rises = all(a < b for a, b in pairwise(values))
    never_falls = all(a <= b for a, b in pairwise(values))
    assert RISING.holds(array) == rises
    assert sorted_below(n).holds(array) == (rises and all(0 <= value < n for value in values))
    assert rising_to(n).holds(array) == (values[:1] == [0] and values[-1:] == [n] and never_falls)
    assert between(0, n).holds(array) == all(0 <= value <= n for value in values)


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_numbers_are_finite(wrong):
    assert FINITE.holds(np.array([[1.0, -1e308]]))
    assert not FINITE.holds(np.array([[1.0, wrong]]))
    assert not between(-1, 1).holds(np.array([0.0, wrong]))


@pytest.mark.parametrize(
    "array, match",
    [
        ([1.0, 2.0], r"it must be float64 of shape \(2,\), got \[1\.0, 2\.0\]"),
        (None, "got None"),
        (np.zeros(2, np.float32), "got float32"),
        (np.zeros(2, ">f8"), "got >f8"),
        (np.zeros(3), r"got float64 of shape \(3,\)"),
        (np.zeros((2, 1)), r"got float64 of shape \(2, 1\)"),
        (np.zeros(()), r"got float64 of shape \(\)"),
        (np.array([0, np.nan]), "it must hold finite numbers"),
        (np.array([0, 2.0]), "it must hold values from 0 to 1"),
    ],
)
def test_an_array_of_another_form_is_refused(array, match):
    assert proved(np.array([0, 1.0]), "it", np.float64, (2,), FINITE, between(0, 1)) is not None
    assert proved(np.zeros((0, 4)), "it", np.float64, (None, 4)).shape == (0, 4)
    with pytest.raises(ValueError, match=match):
        proved(array, "it", np.float64, (2,), FINITE, between(0, 1))


def prove(model, state):
    if state["told_"] != "well":
        raise ValueError("told_ must be 'well'")
    model.n = len(state["a_"])


CODEC = of_fields(
    Field("a_", np.int64), Field("b_", np.float64, ("n", "k", "k"), (FINITE,)), more=("told_",), prove=prove
)
STATE = {"a_": np.arange(3), "b_": np.ones((3, 2, 2)), "told_": "well"}


def loaded(state):
    model = SimpleNamespace()
    CODEC.from_state(model, dict(state), LoadContext())
    return model


def test_what_was_learnt_comes_back():
    model = loaded(STATE)
    assert vars(model) == {**STATE, "n": 3}
    state = CODEC.to_state(model, Packing())
    assert state.keys() == STATE.keys()
    assert all(state[name] is STATE[name] for name in STATE)
    assert CODEC.to_state(SimpleNamespace(), Packing()) == {}
    assert vars(loaded({})) == {}


@pytest.mark.parametrize(
    "change, match",
    [
        ({"a_": np.arange(2)}, r"b_ must be float64 of shape \(2, n, n\)"),
        ({"b_": np.ones((3, 2, 1))}, "b_ must be square"),
        ({"b_": np.full((3, 2, 2), np.nan)}, "finite"),
        ({"a_": np.ones(3)}, "a_ must be int64"),
        ({"told_": "ill"}, "told_ must be 'well'"),
        ({"other": 1}, "'other'"),
    ],
)
def test_what_no_model_has_learnt_is_refused_and_sets_nothing(change, match):
    model = SimpleNamespace()
    with pytest.raises(ValueError, match=match):
        CODEC.from_state(model, STATE | change, LoadContext())
    assert vars(model) == {}


@pytest.mark.parametrize("name", ["a_", "b_"])
def test_a_field_that_is_missing_is_refused(name):
    with pytest.raises(KeyError, match=name):
        loaded({key: value for key, value in STATE.items() if key != name})
