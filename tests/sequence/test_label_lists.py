"""Sequences and their labels as other libraries hold them."""

import os
import subprocess
import sys

import numpy as np
import pyarrow as arrow
import pytest
from sklearn.model_selection import KFold, cross_val_predict

from fastlin.sequence import CRF, HMM, MEMM, StructuredPerceptron
from support.sequences import problem

MODELS = [CRF, HMM, MEMM, lambda: StructuredPerceptron(random_state=0)]


def sentences():
    X, y = problem(30, n_features=6, longest=7)
    return [[f"w{int(row.argmax())}" for row in x] for x in X], [[f"L{code}" for code in own] for own in y]


@pytest.mark.parametrize("make", MODELS)
def test_cross_val_predict_joins_sequences_of_any_length(make):
    X, y = sentences()
    folds = KFold(3)
    found = cross_val_predict(make(), X, y, cv=folds)
    assert found.shape == (30,)
    for train, test in folds.split(X):
        model = make().fit([X[s] for s in train], [y[s] for s in train])
        assert found[test].tolist() == model.predict([X[s] for s in test])


def test_what_is_predicted_is_a_list_and_an_array_of_lists():
    X, y = [["a", "b"], ["a", "b"]], [["X", "Y"], ["X", "Y"]]
    for found in (CRF().fit(X, y).predict(X), CRF().fit(X, y).predict(X[:1])):
        assert isinstance(found, list)
        assert found == y[: len(found)]
        array = np.asarray(found)
        assert (array.dtype, array.shape) == (object, (len(found),))
        assert array.tolist() == y[: len(found)]
    with pytest.raises(ValueError, match="lists"):
        np.asarray(found, dtype=float)


@pytest.mark.parametrize("make", MODELS)
def test_columns_of_lists_are_sequences(make):
    X, y = sentences()
    model = make().fit(X, y)
    chunks = arrow.chunked_array([arrow.array(X[:7]), arrow.array(X[7:])])
    for given, labels in ((arrow.array(X), arrow.array(y)), (chunks, arrow.chunked_array([y])), (Series(X), Series(y))):
        other = make().fit(given, labels)
        assert other.predict(X) == model.predict(X)
        assert model.predict(given) == model.predict(X)
        assert model.score(given, labels) == model.score(X, y)
    hidden = arrow.array([None, *y[1:]])
    assert make().fit(arrow.array(X), hidden).predict(X) == make().fit(X, [None, *y[1:]]).predict(X)


class Series:
    """A column as Polars has it: `to_list`, and no `iloc`."""

    dtype = "List(String)"

    def __init__(self, values):
        self._values = values

    def to_list(self):
        return [list(value) for value in self._values]


PROGRAM = """
import hashlib
from fastlin.sequence import CRF, StructuredPerceptron
X = [[{a + b for a, b in zip("abcdefgh", "stuvwxyz")}, {"one", "two"}], [{"x": {"u", "v", "w"}}, {"b"}]]
for model in (CRF(), StructuredPerceptron(random_state=0)):
    model.fit(X, [["A", "B"], ["B", "A"]])
    print(model.attributes_, hashlib.sha256(model.coef_.tobytes() if hasattr(model.coef_, "tobytes")
                                            else model.coef_.data.tobytes()).hexdigest())
"""


def test_sets_of_features_do_not_hang_on_hashes():
    told = set()
    for seed in ("0", "1", "12345"):
        environment = os.environ | {"PYTHONHASHSEED": seed}
        run = subprocess.run(
            [sys.executable, "-c", PROGRAM], env=environment, check=True, capture_output=True, text=True
        )
        told.add(run.stdout)
    assert len(told) == 1
