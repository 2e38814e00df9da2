"""Unusual but right input gives the very model of the usual one."""

import itertools

import numpy as np
import pytest
from scipy import sparse

from fastlin import validation
from support import EVERY, assert_same_bits, make, text_like


def unaligned(array):
    """The same numbers, one byte off."""
    raw = np.empty(array.nbytes + 1, dtype=np.uint8)
    view = raw[1:].view(array.dtype)
    view[:] = array
    assert not view.flags.aligned
    return view


def strided(array):
    wide = np.empty((len(array), 3), dtype=array.dtype)
    wide[:, 1] = array
    return wide[:, 1]


def read_only(array):
    array = array.copy()
    array.flags.writeable = False
    return array


def swapped(array):
    return array.astype(array.dtype.newbyteorder())


def rebuilt(X, data=lambda a: a, indices=lambda a: a, indptr=lambda a: a):
    other = sparse.csr_matrix(X.shape)
    other.data, other.indices, other.indptr = data(X.data), indices(X.indices), indptr(X.indptr)
    return other


def unsorted_and_doubled(X):
    """Every non-zero as two halves, rows backwards."""
    data = np.repeat(X.data / 2, 2)
    indices, indptr = np.repeat(X.indices, 2), 2 * X.indptr
    for a, b in itertools.pairwise(indptr):
        data[a:b], indices[a:b] = data[a:b][::-1].copy(), indices[a:b][::-1].copy()
    return rebuilt(X, lambda _: data, lambda _: indices, lambda _: indptr)


def backwards(X):
    """Rows backwards, no index twice."""
    order = np.concatenate([np.arange(a, b)[::-1] for a, b in itertools.pairwise(X.indptr)])
    return rebuilt(X, lambda a: a[order], lambda a: a[order])


UNUSUAL = {
    "int64 indices": lambda X: rebuilt(X, indices=lambda a: a.astype(np.int64), indptr=lambda a: a.astype(np.int64)),
    "int64 indptr": lambda X: rebuilt(X, indptr=lambda a: a.astype(np.int64)),
    "int16 indices": lambda X: rebuilt(X, indices=lambda a: a.astype(np.int16)),
    "unsigned indices": lambda X: rebuilt(X, indices=lambda a: a.astype(np.uint32)),
    "strided": lambda X: rebuilt(X, strided, strided, strided),
    "big-endian": lambda X: rebuilt(X, swapped, swapped, swapped),
    "read-only": lambda X: rebuilt(X, read_only, read_only, read_only),
    "unaligned": lambda X: rebuilt(X, unaligned, unaligned, unaligned),
    "integers": lambda X: rebuilt(X, data=lambda a: a.astype(np.int8)),
    "long double": lambda X: rebuilt(X, data=lambda a: a.astype(np.longdouble)),
    "unsorted and duplicate indices": unsorted_and_doubled,
    "unsorted indices": backwards,
    "data beyond the last row": lambda X: rebuilt(
        X, lambda a: np.append(a, [np.nan] * 3), lambda a: np.append(a, [10**6] * 3).astype(np.int32)
    ),
}


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


@pytest.mark.parametrize("width", [1, 64, 65, 4096, 4097, 300_000, validation.rows.NARROW, validation.rows.NARROW + 1])
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
