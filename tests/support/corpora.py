"""What the tests of corpora share: small ones of every kind, and what it means that two are one."""

import numpy as np
from hypothesis import strategies as st

from fastlin import Corpus
from support.strategies import labelled, named, weighted


@st.composite
def corpora(draw, **options):
    """A matrix with labels, and maybe weights and groups, as the arguments of a Corpus."""
    X, y, _ = draw(labelled(values=("normal", "counts", "tiny"), **options))
    kind = draw(st.sampled_from(("numbers", "negative numbers", "strings", "booleans", "objects", "none")))
    if kind == "objects":
        y = np.array([f"λ{code}" for code in y], object)
    elif kind != "none":
        y = named(y, kind)
    given = {} if kind == "none" else {"y": y}
    if draw(st.booleans()):
        given["sample_weight"] = draw(weighted(X.shape[0]))
    if draw(st.booleans()):
        given["group_sizes"] = sizes_of_groups(X.shape[0], draw(st.integers(1, 5)))
    return (X if draw(st.booleans()) else X.astype(np.float32)), given


def sizes_of_groups(n_rows, size):
    return np.diff([*range(0, n_rows, size), n_rows])


def assert_same_corpus(one, other):
    """The same segments, bit for bit, and the same of everything else."""
    assert (len(one), one.shape, one.weighted) == (len(other), other.shape, other.weighted)
    np.testing.assert_array_equal(one.bounds, other.bounds)
    np.testing.assert_array_equal(one.classes, other.classes)
    assert one.classes.dtype.kind == other.classes.dtype.kind
    assert one.dtype == other.dtype
    np.testing.assert_array_equal(one.codes(), other.codes())
    np.testing.assert_array_equal(one.weights(), other.weights())
    np.testing.assert_array_equal(one.groups, other.groups)
    for mine, yours in zip(one.segments(), other.segments(), strict=True):
        assert mine.start == yours.start
        for name in ("indptr", "indices", "values"):
            array, like = getattr(mine.rows, name), getattr(yours.rows, name)
            np.testing.assert_array_equal(array, like, strict=True)
        for name in ("n_columns", "negative", "zeros", "largest"):
            assert getattr(mine.rows, name) == getattr(yours.rows, name), name
        np.testing.assert_array_equal(mine.codes, yours.codes, strict=True)
        np.testing.assert_array_equal(mine.weights, yours.weights, strict=True)


def small_corpus(n_rows=300, seed=0, dtype=np.float64, **given):
    """Counts with labels, a few segments of 200 non-zeros."""
    rng = np.random.default_rng(seed)
    X = rng.poisson(0.2, size=(n_rows, 40)).astype(dtype)
    return Corpus(X, rng.integers(0, 4, n_rows).astype(str), **given)
