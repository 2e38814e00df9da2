"""A model that learns while it is saved: every file is whole, and holds what was known at one moment."""

import copy
import warnings

import numpy as np
import pytest

import fastlin
from support.golden_files import answers, cases
from support.model_files import CODES, FEW, X, beside, fitted

ROUNDS = 25


def grows(model):
    """Whether a model learns on; the most frequent terms are known only at the end.

    scikit-learn's own models change their arrays in place, and no lock keeps `save` from reading them meanwhile.
    """
    own = type(model).__module__.startswith("fastlin")
    return own and hasattr(model, "partial_fit") and getattr(model, "max_features", None) is None


LEARNERS = {name: (model, data) for name, model, data in cases() if grows(model)}


def bits(model, data):
    """All that a model says, without what it would learn next."""
    told = {name: value for name, value in answers(copy.deepcopy(model), data).items() if "later" not in name}
    return repr(told)


@pytest.mark.parametrize("name", LEARNERS)
def test_a_file_of_a_learning_model_is_that_of_one_moment(tmp_path, name):
    model, data = LEARNERS[name]
    path = tmp_path / "model.fastlin"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one, other = fitted(model, *data), fitted(model, *data)
        known, found = {bits(one, data)}, []
        for _ in range(ROUNDS):
            known.add(bits(one.partial_fit(*data), data))
        left = iter(range(ROUNDS))

        def learn():
            if next(left, None) is not None:
                other.partial_fit(*data)

        with beside(learn):
            for _ in range(ROUNDS):
                fastlin.save(other, path)
                found.append(bits(fastlin.load(path), data))
    assert set(found) <= known


def test_a_model_that_learns_beside_its_file_learns_the_same(tmp_path):
    """Saving changes no bit of what is learnt."""
    one, other = (fastlin.SGDClassifier(average=True, **FEW).fit(X, CODES) for _ in range(2))
    with beside(lambda: fastlin.save(other, tmp_path / "model.fastlin")):
        for _ in range(100):
            other.partial_fit(X, CODES)
    for _ in range(100):
        one.partial_fit(X, CODES)
    np.testing.assert_array_equal(one.coef_, other.coef_)
