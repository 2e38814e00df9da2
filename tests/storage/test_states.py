"""A state that no model has is refused, entry by entry, even if its file is whole."""

import numpy as np
import pytest

import fastlin
from fastlin.model_files.classes import class_of, name_of
from fastlin.storage.load_context import LoadContext
from fastlin.storage.weight_packing import Packing
from support.model_files import CODES, SOME, X, fitted

TUPLES = [(word, int(row[0]), None) for word, row in zip("abcdefghi" * 10, X, strict=True)]
MODELS = {
    "categories": fitted(fastlin.CategoricalNB(min_categories=10), TUPLES, CODES),
    "mixture": fitted(fastlin.MultinomialMixture(3, random_state=0), X),
    "semi": fitted(fastlin.SemiSupervisedNB(components=2, random_state=0), X, SOME),
    "k-means": fitted(fastlin.KMeans(3, random_state=0), X),
}


def first(value):
    """Another first entry of an array."""

    def change(array):
        array = array.copy()
        array.flat[0] = value
        return array

    return change


def packed(change):
    return lambda state: state | {"values": change(state["values"])}


COUNTS = {
    "features": [
        packed(first(-1.0)),
        packed(lambda c: c[:, 1:]),
        packed(lambda c: c.astype(np.float32)),
        packed(np.ravel),
    ],
    "labels": [first(-1.0), first(np.nan), first(np.inf), lambda c: c[1:], lambda c: c.astype(int), lambda c: c[:0]],
}
WRONG = {
    "mixture": COUNTS,
    "semi": COUNTS
    | {
        "families": [
            first(1),
            lambda f: f[1:],
            lambda f: f[:-1],
            lambda f: f[[0, 1, 1, 3, 4]],
            lambda f: f * 2,
            lambda f: f[::2],
        ],
        "classes": [lambda classes: classes[1:]],
    },
    "k-means": {
        "centres": [packed(lambda c: c[:, :0]), packed(lambda c: c[:0]), packed(first(np.nan)), packed(np.ravel)],
        "labels_": [first(-1), first(3), lambda labels: labels.astype(np.int64), lambda labels: labels[:, None]],
    },
    "categories": COUNTS
    | {
        "sizes": [
            first(-1),
            first(11),
            first(2**40),
            lambda n: n[1:],
            lambda n: n.astype(np.int32),
            lambda n: n[:, None],
        ],
        "known": [
            first(8),
            lambda n: n + np.array([0, 99, 0]),
            lambda n: n - np.array([0, 99, 0]),
            lambda n: n[1:],
            lambda n: n.astype(float),
        ],
        "kinds": [lambda kinds: ["other", *kinds[1:]], lambda kinds: [kinds[0], "", ""], lambda kinds: kinds[:-1]],
        "names": [
            lambda names: [["a", *names[0][:-1]], *names[1:]],
            lambda names: [[b"a", *names[0][1:]], *names[1:]],
            lambda names: [names[0][1:], *names[1:]],
            lambda names: [names[0], ["zero"], names[2]],
            lambda names: names[:-1],
        ],
        "classes": [lambda classes: classes[1:], lambda classes: classes[::-1]],
    },
}
CASES = [
    (model, entry, number)
    for model, entries in WRONG.items()
    for entry in entries
    for number in range(len(entries[entry]))
]


@pytest.mark.parametrize("name, entry, number", CASES)
def test_an_entry_that_no_model_has_is_refused(name, entry, number):
    model = MODELS[name]
    codec = class_of(name_of(model))[1]
    state = codec.to_state(model, Packing())
    other = type(model)(**model.get_params())
    codec.from_state(other, dict(state), LoadContext())
    assert other.predict(X[:3] if name != "categories" else TUPLES[:3]).shape == (3,)
    wrong = WRONG[name][entry][number](state[entry])
    with pytest.raises((ValueError, TypeError)):
        codec.from_state(type(model)(**model.get_params()), state | {entry: wrong}, LoadContext())
    with pytest.raises(ValueError, match="'more'"):
        codec.from_state(type(model)(**model.get_params()), state | {"more": 1}, LoadContext())
