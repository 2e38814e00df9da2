"""Numbers at the ends of what the tables of parameters take: an online learner names them, or stays finite."""

import math

import numpy as np
import pytest

import fastlin
from fastlin.validation.parameter_kinds import Either, Integer, Real
from support.estimators import text_like

X, Y = text_like()
LEARNERS = [
    fastlin.AROWClassifier,
    fastlin.Perceptron,
    fastlin.PassiveAggressiveClassifier,
    fastlin.MIRAClassifier,
    fastlin.SGDClassifier,
]


def ends(kind):
    """The least and the largest values that a fit takes, of each of the kinds."""
    for part in kind.kinds if isinstance(kind, Either) else (kind,):
        if isinstance(part, Integer):
            yield from (part.at_least, part.at_most)
        if isinstance(part, Real):
            low = math.nextafter(part.above, math.inf) if part.above > -math.inf else part.at_least
            high = math.nextafter(part.below, -math.inf) if part.below is not None else part.at_most
            yield from (value for value in (low, high) if math.isfinite(value))
            yield from (1e-300, 1e300) if math.isinf(part.at_most) else ()


CASES = [
    (learner, name, value)
    for learner in LEARNERS
    for name, kind in learner._parameters.items()
    if kind.checked
    for value in ends(kind)
]


def outside(kind):
    """Whole numbers and numbers just outside of what is taken."""
    for part in kind.kinds if isinstance(kind, Either) else (kind,):
        if isinstance(part, Integer):
            yield from (part.at_least - 1, part.at_most + 1)
        if isinstance(part, Real):
            yield from (bound for bound in (part.above, part.below) if bound is not None and math.isfinite(bound))
            yield from (math.nextafter(part.at_least, -math.inf), math.nextafter(part.at_most, math.inf))
            yield math.nan


OUTSIDE = [
    (learner, name, value)
    for learner in LEARNERS
    for name, kind in learner._parameters.items()
    if kind.checked
    for value in outside(kind)
    if not kind.allows(value)
]


@pytest.mark.parametrize("learner, name, value", CASES)
def test_what_is_taken_is_refused_by_name_or_leaves_finite_weights(learner, name, value):
    model = learner(random_state=0).set_params(**{name: value})
    try:
        for _ in range(3):
            model.partial_fit(X, Y)
    except ValueError as error:
        told = str(error)
        assert name in told or "overflow" in told or "too large" in told or "larger" in told, told
    if hasattr(model, "coef_"):
        assert np.isfinite(model.coef_).all()
        assert np.isfinite(model.decision_function(X)).all()


@pytest.mark.parametrize("learner, name, value", OUTSIDE)
def test_what_is_just_outside_is_refused_by_name_and_changes_nothing(learner, name, value):
    model = learner(random_state=0).partial_fit(X, Y)
    before = model.coef_.tobytes()
    model.set_params(**{name: value})
    for learn in (model.fit, model.partial_fit):
        with pytest.raises((ValueError, TypeError), match=f"^{name} must be"):
            learn(X, Y)
    assert model.coef_.tobytes() == before


def test_the_tables_have_ends():
    assert len(CASES) > 60
    assert len(OUTSIDE) > 40
