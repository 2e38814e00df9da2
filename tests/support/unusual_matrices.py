"""Matrices that are right and seldom: read-only, strided, unaligned, of other widths, unsorted."""

import itertools

import numpy as np
from scipy import sparse


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
