"""The losses: gradients are derivatives, extremes are exact, and one column agrees with K."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fastlin import losses
from oracles.online import RESIDUAL_LOSSES, best_rival, column_loss, exact_log_loss, label_loss, residual_loss
from support.strategies import seeds

NAMES = ("zero_one", "perceptron", "hinge", "squared_hinge", "modified_huber", "log_loss")
EXTREMES = [0.0, 1e-300, 1e-12, 1.0, 30.0, 40.0, 700.0, 745.0, 746.0, 1e3, 1e15]
every_loss = pytest.mark.parametrize("name", NAMES)


@st.composite
def scored(draw, max_labels=7, max_rows=6):
    """Scores [n, K] and label numbers."""
    rng = np.random.default_rng(draw(seeds))
    n, K = draw(st.integers(1, max_rows)), draw(st.integers(2, max_labels))
    return rng.normal(scale=draw(st.sampled_from([0.1, 1.0, 5.0])), size=(n, K)), rng.integers(0, K, size=n)


def numerical_gradient(value, scores, step=1e-6):
    """Central differences: exact to about step^2 and 1e-16 / step."""
    gradient = np.empty_like(scores)
    for place in np.ndindex(scores.shape):
        up, down = scores.copy(), scores.copy()
        up[place] += step
        down[place] -= step
        gradient[place] = (np.sum(value(up)) - np.sum(value(down))) / (2 * step)
    return gradient


def away_from_kinks(scores, y):
    """No decision within the step of the differences."""
    for s, label in zip(scores, y, strict=True):
        rival = best_rival(s, label)
        others = np.delete(s, [rival, label])
        gap = s[label] - s[rival]
        assume(
            min(abs(gap), abs(gap - 1), abs(gap + 1)) > 1e-4 and (others.size == 0 or s[rival] - others.max() > 1e-4)
        )


@every_loss
@given(data=scored())
def test_gradients_are_numerical_derivatives_for_k_labels(name, data):
    scores, y = data
    away_from_kinks(scores, y)
    loss = getattr(losses, name)
    expected = numerical_gradient(lambda s: loss(s, y)[0], scores)
    np.testing.assert_allclose(loss(scores, y)[1], expected, rtol=1e-6, atol=1e-7)


@every_loss
@given(data=scored(max_labels=2))
def test_gradients_are_numerical_derivatives_for_one_column(name, data):
    scores, y = data[0][:, 0], data[1]
    assume(np.min(np.abs(scores)) > 1e-4 and np.min(np.abs(np.abs(scores) - 1)) > 1e-4)
    loss = getattr(losses, name)
    expected = numerical_gradient(lambda s: loss(s, y)[0], scores)
    np.testing.assert_allclose(loss(scores, y)[1], expected, rtol=1e-6, atol=1e-7)


@every_loss
@given(data=scored())
def test_values_and_gradients_are_the_twins(name, data):
    scores, y = data
    values, gradients = getattr(losses, name)(scores, y)
    assert values.shape == y.shape
    assert gradients.shape == scores.shape
    for i in range(len(y)):
        value, gradient = label_loss(name, scores[i], y[i])
        np.testing.assert_allclose(values[i], value, rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(gradients[i], gradient, rtol=1e-12, atol=1e-15)
    column = scores[:, 0]
    values, gradients = getattr(losses, name)(column, y % 2)
    assert values.shape == gradients.shape == column.shape
    for i in range(len(y)):
        expected = column_loss(name, column[i], 2 * (y[i] % 2) - 1)
        np.testing.assert_allclose((values[i], gradients[i]), expected, rtol=1e-12, atol=1e-15)


@every_loss
def test_ties_are_the_twins(name):
    for scores in ([0.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [2.0, 1.0, 1.0], [0.0, -1.0, -1.0]):
        for y in range(3):
            value, gradient = getattr(losses, name)(np.array(scores), y)
            expected_value, expected_gradient = label_loss(name, scores, y)
            assert value == pytest.approx(expected_value, rel=1e-15)
            np.testing.assert_allclose(gradient, expected_gradient, rtol=1e-15, atol=1e-16)
    for score in (0.0, 1.0, -1.0):
        for y in (0, 1):
            value, gradient = getattr(losses, name)(score, y)
            assert (value, gradient) == pytest.approx(column_loss(name, score, 2 * y - 1), rel=1e-15)


@pytest.mark.parametrize("size", EXTREMES)
@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("y", [0, 1])
def test_log_loss_of_one_column_is_exact_at_the_extremes(size, sign, y):
    """-log sigmoid: below 1e-308 nothing is left of a double, above that every digit counts."""
    value, gradient = losses.log_loss(sign * size, y)
    exact, exact_gradient = exact_log_loss([0.0, sign * size], y)
    np.testing.assert_allclose(value, exact, rtol=1e-13, atol=1e-300)
    np.testing.assert_allclose(gradient, exact_gradient[1], rtol=1e-13, atol=1e-300)


@pytest.mark.parametrize("size", EXTREMES)
@pytest.mark.parametrize("y", [0, 1, 2])
def test_log_loss_of_k_labels_is_exact_at_the_extremes(size, y):
    for scores in ([size, 0.0, -size], [-size, -size, size], [size, size, size], [size, size + 1, 0.0]):
        value, gradient = losses.log_loss(np.array(scores), y)
        exact, exact_gradient = exact_log_loss(scores, y)
        np.testing.assert_allclose(value, exact, rtol=1e-12, atol=2e-15)  # log(1 + rest): units of rounding of the 1
        np.testing.assert_allclose(gradient, exact_gradient, rtol=1e-12, atol=4e-16)


@every_loss
@pytest.mark.parametrize("size", EXTREMES)
def test_no_loss_is_ever_nan(name, size):
    scores = np.array([[size, -size, 0.0], [-size, size, size], [size, size, size]])
    for y in range(3):
        for part in getattr(losses, name)(scores, np.full(3, y)):
            assert np.isfinite(part).all()
    for part in getattr(losses, name)(scores[:, 0], np.array([0, 1, 0])):
        assert np.isfinite(part).all()


@every_loss
@given(data=scored(max_labels=2))
def test_one_column_is_the_difference_of_two_scores(name, data):
    scores, y = data
    scores = np.column_stack([np.zeros(len(y)), scores[:, 0]])
    values, gradients = getattr(losses, name)(scores, y)
    column_values, column_gradients = getattr(losses, name)(scores[:, 1].copy(), y)
    np.testing.assert_allclose(column_values, values, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(column_gradients, gradients[:, 1], rtol=1e-12, atol=1e-15)


@every_loss
def test_labels_of_one_column_are_zero_and_one_or_minus_one_and_one(name):
    scores = np.array([-2.0, -0.5, 0.0, 0.5, 2.0])
    for y in (np.array([0, 1, 0, 1, 1]), np.array([1, 1, 1, 0, 0])):
        loss = getattr(losses, name)
        for ours, theirs in zip(loss(scores, y), loss(scores, 2 * y - 1), strict=True):
            np.testing.assert_array_equal(ours, theirs)


@every_loss
def test_the_arguments_are_not_changed_and_one_instance_is_a_number(name):
    scores, y = np.array([[1.0, 2.0, 0.5]]), np.array([0])
    value, _ = getattr(losses, name)(scores[0], 0)
    assert isinstance(value, float)
    getattr(losses, name)(scores, y)
    np.testing.assert_array_equal(scores, [[1.0, 2.0, 0.5]])


@every_loss
@pytest.mark.parametrize(
    "scores, y, match",
    [
        (np.zeros((2, 3)), np.array([0, 3]), "3"),
        (np.zeros((2, 3)), np.array([0, -1]), "-1"),
        (np.zeros((2, 3)), np.array([0, 1, 2]), "shape|length"),
        (np.zeros(2), np.array([0, 2]), "2"),
        (np.array([0.0, np.nan]), np.array([0, 1]), "NaN|nan|finite"),
        (np.zeros((2, 3)), np.array([0.5, 1]), "y"),
        (np.zeros((2, 3), dtype=complex), np.array([0, 1]), "complex|dtype"),
    ],
)
def test_arguments_that_cannot_be_are_refused(name, scores, y, match):
    with pytest.raises((ValueError, TypeError), match=match):
        getattr(losses, name)(scores, y)


@pytest.mark.parametrize("name", RESIDUAL_LOSSES)
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 2.5])
@given(seed=seeds)
def test_losses_of_residuals_are_the_twins_and_their_gradients_derivatives(name, epsilon, seed):
    rng = np.random.default_rng(seed)
    scores, y = rng.normal(scale=3, size=(2, 5, 3))
    residuals = np.abs(y - scores)
    assume(np.min(residuals) > 1e-4 and np.min(np.abs(residuals - epsilon)) > 1e-4)
    more = {} if name == "squared_error" else {"epsilon": epsilon}
    values, gradients = getattr(losses, name)(scores, y, **more)
    for place in np.ndindex(y.shape):
        expected = residual_loss(name, y[place], scores[place], epsilon)
        np.testing.assert_allclose((values[place], gradients[place]), expected, rtol=1e-12, atol=1e-15)
    expected = numerical_gradient(lambda s: getattr(losses, name)(s, y, **more)[0], scores)
    np.testing.assert_allclose(gradients, expected, rtol=1e-6, atol=1e-7)


def test_residuals_that_cannot_be_are_refused():
    with pytest.raises(ValueError, match="finite"):
        losses.squared_error([1.0, np.inf], [0.0, 1.0])
    with pytest.raises(ValueError, match="epsilon must be a finite number of at least 0, got -1"):
        losses.huber(1.0, 2.0, epsilon=-1)
