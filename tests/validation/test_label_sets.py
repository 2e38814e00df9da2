"""An indicator as the sets of labels that occur: each is kept once, and every row knows its own."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from fastlin.validation import as_label_sets, is_indicator

indicators = st.integers(2, 9).flatmap(
    lambda width: st.lists(st.lists(st.booleans(), min_size=width, max_size=width), min_size=1, max_size=20)
)


@given(rows=indicators, sparse=st.booleans())
def test_the_sets_of_the_rows_are_the_indicator(rows, sparse):
    Y = np.array(rows).astype(int)
    sets, codes = as_label_sets(sp.csr_array(Y) if sparse else Y, len(Y))
    np.testing.assert_array_equal(sets.members()[codes], Y)
    assert len(sets) == len(np.unique(Y, axis=0))
    assert sets.n_labels == Y.shape[1]
    which, labels = sets.pairs(codes)
    np.testing.assert_array_equal(np.stack([which, labels]), np.stack(np.nonzero(Y)))
    weights = np.random.default_rng(0).integers(0, 4, len(Y)).astype(float)
    np.testing.assert_array_equal(sets.masses(codes, weights), [weights @ (1 - Y), weights @ Y])
    np.testing.assert_array_equal(sets.masses(codes, np.empty(0)), [(1 - Y).sum(axis=0), Y.sum(axis=0)])


def test_what_has_several_columns_may_be_an_indicator():
    Y = np.eye(3)
    for yes in (Y, Y.tolist(), tuple(map(tuple, Y.tolist())), sp.csr_array(Y), sp.coo_matrix(Y)):
        assert is_indicator(yes)
    for no in (Y[0], Y[:, :1], [1, 2], [], [[1], [2, 3]], ["ab", "cd"], sp.csr_array(Y[:, :1]), None, "ab"):
        assert not is_indicator(no)


def test_explicit_zeros_and_repeated_entries_are_read_as_scipy_reads_them():
    Y = sp.csr_array((np.array([0, 1, 1]), np.array([0, 1, 1]), np.array([0, 1, 3])), shape=(2, 2))
    with pytest.raises(ValueError, match="y holds 2 at row 1, column 1"):
        as_label_sets(Y, 2)
    Y.data[:] = [0, 1, 0]
    sets, codes = as_label_sets(Y, 2)
    np.testing.assert_array_equal(sets.members()[codes], [[0, 0], [0, 1]])


def test_malformed_matrices_are_refused():
    Y = sp.csr_array(np.eye(3))
    Y.indices[1] = 7
    with pytest.raises(ValueError, match=r"^y"):
        as_label_sets(Y, 3)
