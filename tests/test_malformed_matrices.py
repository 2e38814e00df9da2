"""Matrices broken after their construction, so that scipy does not see it, never reach a kernel, nor scipy's own."""

import numpy as np
import pytest
from scipy import sparse

from support import EVERY, refuse_everywhere, text_like

ROW = 7  # where the fault is


def names(row, value):
    """A message with the row and the value in it."""
    return rf"(?s)(?=.*row {row}\b)(?=.*{value}\b)"


def with_index(value, dtype=np.int32):
    def break_it(X):
        X.indices = X.indices.astype(dtype)
        X.indices[X.indptr[ROW]] = value

    return break_it


def with_indptr(row, value):
    def break_it(X):
        X.indptr[row] = value

    return break_it


def with_parts(**parts):
    def break_it(X):
        for name, change in parts.items():
            setattr(X, name, change(getattr(X, name)))

    return break_it


MALFORMED = {
    "an index one too large": (with_index(30), names(ROW, 30)),
    "an index far out of range": (with_index(2**31 - 1), names(ROW, 2147483647)),
    "a negative index": (with_index(-1), names(ROW, -1)),
    "an index far below zero": (with_index(-(2**31)), names(ROW, -2147483648)),
    "a 64-bit index far out of range": (with_index(2**40, np.int64), names(ROW, 2**40)),
    "a 64-bit index that wraps to a good one": (with_index(2**32 + 1, np.int64), names(ROW, 2**32 + 1)),
    "indptr falling": (with_indptr(ROW + 1, 0), "indptr"),
    "indptr falling below zero": (with_indptr(ROW, -5), "indptr"),
    "indptr beyond the data": (with_indptr(60, 10**6), "indptr"),
    "indptr beyond the data and back": (with_indptr(ROW, 10**9), "indptr"),
    "indptr not starting at 0": (with_indptr(0, 1), "indptr.*0"),
    "indptr too short": (with_parts(indptr=lambda indptr: indptr[:-1].copy()), "indptr"),
    "indptr too long": (with_parts(indptr=lambda indptr: np.append(indptr, indptr[-1])), "indptr"),
    "indptr empty": (with_parts(indptr=lambda indptr: indptr[:0].copy()), "indptr"),
    "indptr of floats": (with_parts(indptr=lambda indptr: indptr + 0.5), "indptr"),
    "indices too short": (with_parts(indices=lambda indices: indices[:-1].copy()), "indices|length"),
    "indices of floats": (with_parts(indices=lambda indices: indices + 0.5), "indices"),
    "data too short": (with_parts(data=lambda data: data[:-1].copy()), "data|values|length"),
    "data empty": (with_parts(data=lambda data: data[:0].copy()), "data|values|length"),
    "data in two dimensions": (with_parts(data=lambda data: np.outer(data, [1.0, 1.0])), "data|values|dimension"),
}


@pytest.mark.parametrize("container", ["csr_matrix", "csr_array"])
@pytest.mark.parametrize("case", MALFORMED)
@pytest.mark.parametrize("name", EVERY)
def test_malformed_csr_is_refused_at_fit_partial_fit_and_predict(name, case, container):
    (break_it, match), (X, y) = MALFORMED[case], text_like()
    bad = getattr(sparse, container)(X, copy=True)
    break_it(bad)
    refuse_everywhere(name, bad, X, y, match)


@pytest.mark.parametrize("kind", ["csc_matrix", "csc_array"])
@pytest.mark.parametrize(
    "case",
    [
        "an index one too large",
        "an index far out of range",
        "a negative index",
        "indptr falling",
        "indptr beyond the data",
        "indptr beyond the data and back",
        "indptr not starting at 0",
        "indptr too short",
        "indices too short",
        "data too short",
    ],
)
@pytest.mark.parametrize("name", EVERY)
def test_malformed_csc_is_refused_before_scipy_converts_it(name, case, kind):
    X, y = text_like()
    bad = getattr(sparse, kind)(X, copy=True)
    if case == "indptr beyond the data":
        bad.indptr[-1] = 10**6
    elif case == "an index one too large":
        bad.indices[bad.indptr[ROW]] = 60
    else:
        MALFORMED[case][0](bad)
    refuse_everywhere(name, bad, X, y, None)


def coo_row(bad):
    bad.coords = (np.where(np.arange(bad.nnz) == 5, 10**6, bad.row), bad.col)


def coo_column(bad):
    bad.coords = (bad.row, np.where(np.arange(bad.nnz) == 5, -3, bad.col))


def coo_lengths(bad):
    bad.data = bad.data[:-1].copy()


def bsr_index(bad):
    bad.indices[5] = 10**6


def bsr_indptr(bad):
    bad.indptr[-1] = 10**6


def lil_index(bad):
    bad.rows[ROW][0] = 10**6


def lil_lengths(bad):
    bad.data[ROW] = bad.data[ROW] + [1.0] * 1000


def dia_offsets(bad):
    bad.data = bad.data[:-1].copy()


@pytest.mark.parametrize("kind", ["matrix", "array"])
@pytest.mark.parametrize(
    "break_it",
    [coo_row, coo_column, coo_lengths, bsr_index, bsr_indptr, lil_index, lil_lengths, dia_offsets],
    ids=lambda break_it: break_it.__name__,
)
@pytest.mark.parametrize("name", EVERY)
def test_malformed_matrices_of_other_forms_are_refused_before_scipy_converts_them(name, break_it, kind):
    X, y = text_like()
    form = break_it.__name__.partition("_")[0]
    bad = getattr(sparse, f"{form}_{kind}")(X)
    break_it(bad)
    refuse_everywhere(name, bad, X, y, None)
