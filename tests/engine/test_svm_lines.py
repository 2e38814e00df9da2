"""Exact line searches on the squared losses of SVMs, beside slopes that numpy adds up."""

import numpy as np
import pytest

from fastlin.engine.solvers import svm_newton

NO_SETS, NO_FACTORS = np.empty((0, 3), np.uint8), np.empty((0, 3))
NEAR = 1e-9


def slopes(steps, scores, along, lines, costs, z):
    """φ′ of each column at its step."""
    linear, square, shares, _ = lines
    ahead = scores + steps * along
    return linear + steps * square - shares * (2 * costs * z * along * np.maximum(0, 1 - z * ahead)).sum(axis=0)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4])
@pytest.mark.parametrize("sets", [False, True])
def test_the_step_is_where_the_slope_is_zero(scale, sets):
    draw = np.random.default_rng(int(sets))
    scores, along = 3 * draw.standard_normal((40, 3)), draw.standard_normal((40, 3)) / scale
    labels, ones, C = draw.integers(0, 5, 40).astype(np.int32), np.array([0, 2, 4]), 10 ** draw.uniform(-3, 3, 40)
    own_C = C if sets else 2 * C
    members = draw.integers(0, 2, (5, 3), np.uint8) if sets else NO_SETS
    factors = draw.uniform(0.5, 2, (2, 3)) if sets else NO_FACTORS
    own = members[labels] == 1 if sets else labels[:, None] == ones
    costs = np.where(own, own_C[:, None], C[:, None]) * (np.where(own, factors[1], factors[0]) if sets else 1.0)
    z, square = np.where(own, 1.0, -1.0), draw.random(3) / scale**2
    shares = np.array([1.0, 0.01, 0.3])
    downhill = (2 * costs * z * along * np.maximum(0, 1 - z * scores)).sum(axis=0)
    linear = shares * downhill - np.abs(shares * downhill) - 0.1 / scale  # so that φ′(0) < 0
    first = np.abs(slopes(np.zeros(3), scores, along, [linear, square, shares, 0], costs, z))
    lines, steps = np.stack([linear, square, shares, NEAR * first]), np.empty(3)
    sides = svm_newton.Sides(labels, ones, C, own_C, members, factors)
    svm_newton.search_lines(scores, along, sides, lines, 200, steps)
    assert (steps > 0).all()
    assert (np.abs(slopes(steps, scores, along, lines, costs, z)) <= 1.01 * NEAR * first).all()
    svm_newton.search_lines(scores, along, sides, lines, 0, steps)
    np.testing.assert_array_equal(steps, 1.0)
    for wrong in (lines[:3], lines[:, :2]):
        with pytest.raises(ValueError, match="do not fit"):
            svm_newton.search_lines(scores, along, sides, np.ascontiguousarray(wrong), 9, steps)
    with pytest.raises(ValueError, match="do not fit"):
        svm_newton.search_lines(scores, along[:-1], sides, lines, 9, steps)


@pytest.mark.parametrize("epsilon", [0.0, 0.5])
def test_the_step_of_a_target(epsilon):
    draw = np.random.default_rng(7)
    scores, targets, C = draw.standard_normal((40, 1)), draw.standard_normal(40), 10 ** draw.uniform(-3, 3, 40)
    along = 0.3 * (targets[:, None] - scores) + 0.1 * draw.standard_normal((40, 1))

    def slope(step):
        r = targets - scores[:, 0] - step * along[:, 0]
        beyond = np.sign(r) * np.maximum(0, np.abs(r) - epsilon)
        return -0.2 + step * 0.4 - 0.7 * (2 * C * along[:, 0] * beyond).sum()

    lines, steps = np.array([[-0.2], [0.4], [0.7], [-NEAR * slope(0.0)]]), np.empty(1)
    svm_newton.search_insensitive_line(scores, along, targets, epsilon, C, lines, 200, steps)
    assert steps[0] > 0
    assert abs(slope(steps[0])) <= -1.01 * NEAR * slope(0.0)
    with pytest.raises(ValueError, match="do not fit"):
        svm_newton.search_insensitive_line(scores, along, targets[:-1], epsilon, C, lines, 9, steps)
