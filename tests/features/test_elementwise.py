"""Elementwise: functions of columns, side by side."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from fastlin.text import Elementwise
from oracles import features as reference
from support.strategies import sparse_matrices

FUNCTIONS = tuple(reference.ELEMENTWISE)


@given(X=sparse_matrices(values=("normal", "counts", "tiny", "huge")), data=st.data())
def test_equals_its_naive_twin(X, data):
    functions = data.draw(st.lists(st.sampled_from(FUNCTIONS), min_size=1, unique=True))
    made = Elementwise(functions).fit_transform(X)
    with np.errstate(under="ignore"):
        expected = reference.elementwise(X.toarray(), functions)
    np.testing.assert_allclose(made.toarray(), expected, rtol=1e-14)


def test_zeros_stay_what_they_are():
    X = sparse.csr_matrix((np.array([0.0, 2.0]), np.array([0, 2]), np.array([0, 2, 2])), shape=(2, 3))
    made = Elementwise(FUNCTIONS).fit_transform(X)
    assert made.nnz == 2 * len(FUNCTIONS)
    assert made.data.tolist() == [0, 2, 0, 4, 0, 2, 0, np.log1p(2), 0, np.sqrt(2), 0, 1]


def test_the_names():
    model = Elementwise(FUNCTIONS).fit([[1.0]])
    assert model.get_feature_names_out(["a"]).tolist() == ["a", "a²", "|a|", "log(1+|a|)", "√|a|", "a≠0"]
    assert Elementwise().fit([[1.0, 2.0]]).get_feature_names_out().tolist() == ["x0", "x1", "x0²", "x1²"]


@pytest.mark.parametrize(
    "functions, match",
    [
        (("sqare",), "did you mean 'square'"),
        ("square", "sequence"),
        ((), "sequence"),
        (("abs", "abs"), "twice"),
        ((abs,), "functions must be one of"),
        (None, "sequence"),
    ],
)
def test_functions_that_cannot_be_are_refused(functions, match):
    with pytest.raises(ValueError, match=match):
        Elementwise(functions).fit([[1.0]])


def test_a_matrix_wider_than_int32_counts():
    X = sparse.csr_matrix((np.array([2.0]), np.array([2**31 - 2]), np.array([0, 1])), shape=(1, 2**31 - 1))
    made = Elementwise().fit(X).transform(X)
    assert made.shape == (1, 2 * (2**31 - 1))
    assert made.indices.tolist() == [2**31 - 2, 2 * (2**31 - 1) - 1]
