"""Unusual but right input gives the very model of the usual one."""

import numpy as np
import pytest
from scipy import sparse

from fastlin import validation
from support.estimators import EVERY, assert_same_bits, make, text_like
from support.unusual_matrices import UNUSUAL, read_only, rebuilt, strided, swapped, unaligned


def check_equal_to_plain(name, X, other, y):
    model, unusual = make(name).fit(X, y), make(name).fit(other, y)
    assert_same_bits(unusual, model)
    np.testing.assert_array_equal(unusual.predict(other), model.predict(X))
    assert_same_bits(unusual.partial_fit(other, y), model.partial_fit(X, y))


@pytest.mark.parametrize("case", UNUSUAL)
@pytest.mark.parametrize("name", EVERY)
def test_unusual_buffers_give_the_same_model(name, case):
    X, y = text_like()
    other = UNUSUAL[case](X)
    before = [np.array(getattr(other, part)) for part in ("data", "indices", "indptr")]
    check_equal_to_plain(name, X, other, y)
    for part, old in zip(("data", "indices", "indptr"), before, strict=True):
        np.testing.assert_array_equal(getattr(other, part), old, err_msg="the caller's arrays changed")


@pytest.mark.parametrize("name", EVERY)
def test_memory_mapped_buffers_give_the_same_model(name, tmp_path):
    X, y = text_like()

    def mapped(array):
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.npy"
        np.save(path, array)
        return np.load(path, mmap_mode="r")

    check_equal_to_plain(name, X, rebuilt(X, mapped, mapped, mapped), y)


@pytest.mark.parametrize("name", EVERY)
def test_labels_and_weights_come_in_any_buffer(name):
    X, y = text_like()
    weights = np.random.default_rng(0).uniform(0.5, 1, size=60)
    model = make(name).fit(X, y, sample_weight=weights)
    for change in (strided, swapped, read_only, unaligned, list):
        assert_same_bits(make(name).fit(X, change(y), sample_weight=change(weights)), model)


@pytest.mark.parametrize(
    "width",
    [1, 64, 65, 4096, 4097, 300_000, validation.rows.MAX_MARKED_COLUMNS, validation.rows.MAX_MARKED_COLUMNS + 1],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_in_any_order_are_sorted(width, dtype):
    rng = np.random.default_rng(width)
    sizes = rng.integers(0, min(width, 90) + 1, 40)
    indices = [rng.choice(width, size, replace=False) for size in sizes]
    indices += [np.array([width - 1]), np.array([], int), np.unique([width - 1, 0])[::-1]]
    indptr = np.concatenate([[0], np.cumsum([len(one) for one in indices])])
    values = rng.normal(size=indptr[-1]).astype(dtype)
    X = sparse.csr_array((values, np.concatenate(indices), indptr), (len(indices), width))
    rows = validation.as_rows(X)
    X.sort_indices()
    assert rows.values.dtype == dtype
    for mine, theirs in ((rows.indptr, X.indptr), (rows.indices, X.indices), (rows.values, X.data)):
        np.testing.assert_array_equal(mine, theirs)


def test_rows_lose_their_explicit_zeros_once():
    rows = validation.as_rows(sparse.csr_array(([0.0, 2, 0], [0, 1, 2], [0, 2, 3]), (2, 3)))
    without = rows.without_zeros()
    assert rows.zeros
    assert (without.zeros, without.nnz, without.indices.tolist(), without.indptr.tolist()) == (False, 1, [1], [0, 1, 1])
    assert without.without_zeros() is without


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_full_dense_rows_are_those_of_a_sparse_matrix(dtype, order):
    full = np.random.default_rng(0).normal(size=(30, 7))
    for X in (full, abs(full) + 1, -abs(full), full[::2, ::-1]):
        X = np.asarray(X, dtype, order=order)
        X.flags.writeable = False
        found, plain = validation.as_rows(X), validation.as_rows(sparse.csr_array(X))
        for name in ("indptr", "indices", "values"):
            np.testing.assert_array_equal(getattr(found, name), getattr(plain, name))
            assert getattr(found, name).dtype == getattr(plain, name).dtype
        for name in ("n_columns", "negative", "zeros", "largest"):
            assert getattr(found, name) == getattr(plain, name)
        assert found.dense


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e101])
def test_what_full_dense_rows_may_not_hold_is_named(value):
    X = np.full((4, 3), 2.0)
    X[2, 1] = value
    with pytest.raises(ValueError, match=r"NaN|infinity|1e\+101") as caught:
        validation.as_rows(X)
    assert "row 2, column 1" in str(caught.value)
