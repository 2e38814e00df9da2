"""Matrices and labels as hypothesis likes them: awkward."""

import itertools

import numpy as np
from hypothesis import strategies as st
from scipy import sparse

LABEL_KINDS = ("numbers", "negative numbers", "strings", "booleans")

seeds = st.integers(0, 2**32 - 1)


@st.composite
def sparse_matrices(draw, min_rows=2, max_rows=25, max_columns=9, values=("normal", "counts")):
    """A CSR matrix that may have empty rows, explicit zeros, and unsorted or duplicate indices.

    `values` names the kinds to draw from: "normal", "counts", "tiny" (down to denormals), "huge" (up to 1e60).
    Its numbers come from a seed, so that no two scores are equal by a coincidence of round numbers.
    """
    n_rows, n_columns = draw(st.integers(min_rows, max_rows)), draw(st.integers(1, max_columns))
    kind, rng = draw(st.sampled_from(values)), np.random.default_rng(draw(seeds))
    lengths = rng.integers(0, n_columns + 1, size=n_rows)
    lengths[rng.random(n_rows) < 0.15] = 0
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    if draw(st.booleans()):
        indices = rng.integers(0, n_columns, size=indptr[-1])  # unsorted, with duplicates
    else:
        rows = [np.sort(rng.permutation(n_columns)[:length]) for length in lengths]
        indices = np.concatenate([*rows, []]).astype(np.int64)
    data = numbers(rng, kind, indptr[-1])
    if draw(st.booleans()):
        data[rng.random(len(data)) < 0.2] = 0.0  # stays explicit
    X = sparse.csr_matrix((n_rows, n_columns), dtype=np.float64)
    X.data, X.indices, X.indptr = data, indices.astype(np.int32), indptr.astype(np.int32)
    return X


def numbers(rng, kind, size):
    if kind == "counts":
        return rng.poisson(1.5, size=size).astype(np.float64)
    normal = rng.normal(size=size)
    if kind == "normal":
        return normal
    exponents = {"tiny": (-320, -100), "huge": (20, 60)}[kind]
    with np.errstate(under="ignore"):
        return normal * 10.0 ** rng.uniform(*exponents, size=size)


@st.composite
def labelled(draw, max_labels=5, min_labels=2, **matrix):
    """A matrix, label numbers 0..K-1 for its rows (each label at least once), and K."""
    n_labels = draw(st.integers(min_labels, max_labels))
    X = draw(sparse_matrices(min_rows=max(n_labels, matrix.pop("min_rows", 2)), **matrix))
    rng = np.random.default_rng(draw(seeds))
    y = rng.integers(0, n_labels, size=X.shape[0])
    y[rng.permutation(X.shape[0])[:n_labels]] = np.arange(n_labels)
    return X, y, n_labels


@st.composite
def weighted(draw, n_rows):
    """Sample weights with zeros among them."""
    rng = np.random.default_rng(draw(seeds))
    weights = rng.uniform(0.1, 3.0, size=n_rows)
    weights[rng.random(n_rows) < 0.2] = 0.0
    return weights


@st.composite
def cuts(draw, n_rows):
    """The rows 0..n-1 as consecutive, non-empty slices: the calls of partial_fit."""
    borders = draw(st.sets(st.integers(1, max(1, n_rows - 1)), max_size=4))
    borders = sorted({0, n_rows} | {b for b in borders if b < n_rows})
    return [slice(a, b) for a, b in itertools.pairwise(borders)]


def named(y, kind):
    """Label numbers as labels of another kind, in the same sorted order."""
    if kind == "numbers":
        return y
    if kind == "negative numbers":
        return (y - 3) * 10
    if kind == "strings":
        return np.array([f"label {k:02d}" for k in y])
    if kind == "booleans":
        return y.astype(bool)
    raise KeyError(kind)
