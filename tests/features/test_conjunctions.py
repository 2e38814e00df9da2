"""Conjunctions: the naive twin, PolynomialFeatures, groups, buckets, pieces, names, what is refused."""

import os
import signal
import threading
import time

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.linear_model import Perceptron
from sklearn.preprocessing import PolynomialFeatures

from fastlin import LogisticRegression
from fastlin.runtime import parallel
from fastlin.text import Conjunctions
from oracles import features as reference
from support.estimators import random_sparse, text_like
from support.strategies import seeds, sparse_matrices

degrees = pytest.mark.parametrize("degree", [2, 3])
powers = pytest.mark.parametrize("powers", [False, True])


def columns_of(model):
    return [tuple(column for column in row if column >= 0) for row in model.conjunctions_.tolist()]


# --- what comes out --------------------------------------------------------------------------------------------------


@given(
    X=sparse_matrices(values=("normal", "counts"), max_columns=7),
    degree=st.integers(2, 3),
    powers=st.booleans(),
    min_df=st.integers(1, 4),
    groups=st.none() | st.lists(st.sets(st.integers(0, 6)), min_size=3, max_size=4),
)
def test_equals_its_naive_twin(X, degree, powers, min_df, groups):
    if groups is not None:
        groups = [sorted(column for column in group if column < X.shape[1]) for group in groups]
    found, products = reference.conjunctions(X.toarray(), degree, powers, min_df, groups)
    model = Conjunctions(degree, groups=groups, interaction_only=not powers, min_df=min_df)
    made = model.fit_transform(X)
    assert columns_of(model) == found
    np.testing.assert_allclose(made.toarray(), products, rtol=1e-15)
    assert made.has_sorted_indices
    assert (made.data != 0).all()


@degrees
@powers
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_equals_polynomial_features_in_the_columns_both_have(degree, powers, dtype):
    X = sparse.random(60, 12, density=0.3, format="csr", dtype=dtype, rng=np.random.default_rng(0))
    ours = Conjunctions(degree, interaction_only=not powers, include_original=True).fit(X)
    theirs = PolynomialFeatures(degree, interaction_only=not powers, include_bias=False).fit(X)
    place = {tuple(np.repeat(np.arange(12), row)): column for column, row in enumerate(theirs.powers_)}
    shared = [place[columns] for columns in [*((j,) for j in range(12)), *columns_of(ours)]]
    expected = theirs.transform(X)
    made = ours.transform(X)
    assert made.dtype == expected.dtype == dtype
    np.testing.assert_array_equal(made.toarray(), expected.toarray()[:, shared])
    assert shared == sorted(shared)
    left = np.setdiff1d(np.arange(expected.shape[1]), shared)
    assert expected[:, left].count_nonzero() == 0  # what the data does not have is no column


@degrees
@powers
def test_what_was_not_seen_in_training_is_nothing_later(degree, powers):
    rng = np.random.default_rng(1)
    train, later = (sparse.csr_matrix(rng.poisson(0.4, size=(n, 15)).astype(float)) for n in (12, 200))
    model = Conjunctions(degree, interaction_only=not powers).fit(train)
    both, products = reference.conjunctions(np.vstack([train.toarray(), later.toarray()]), degree, powers)
    known = [both.index(columns) for columns in columns_of(model)]
    np.testing.assert_allclose(model.transform(later).toarray(), products[12:, known])


def test_min_df_counts_rows():
    X = np.array([[1, 2, 0], [3, 1, 0], [1, 0, 1], [0, 0, 1.0]])
    assert columns_of(Conjunctions(min_df=2).fit(X)) == [(0, 1)]
    assert columns_of(Conjunctions(min_df=0.5).fit(X)) == [(0, 1)]
    assert columns_of(Conjunctions(min_df=0.25).fit(X)) == [(0, 1), (0, 2)]
    assert columns_of(Conjunctions(min_df=3).fit(X)) == []
    assert Conjunctions(min_df=3).fit_transform(X).shape == (4, 0)
    assert Conjunctions(3, min_df=4, include_original=True).fit_transform(X).shape == (4, 3)


def test_explicit_zeros_occur_nowhere():
    X = sparse.csr_matrix((np.array([1.0, 0, 2, 1, 1]), np.array([0, 1, 2, 0, 1]), np.array([0, 3, 5])), shape=(2, 3))
    model = Conjunctions().fit(X)
    assert columns_of(model) == [(0, 1), (0, 2)]
    assert model.transform(X).toarray().tolist() == [[0, 2], [1, 0]]


def test_the_names():
    frame = pd.DataFrame([[1.0, 1, 1]], columns=["a", "b", "c"])
    model = Conjunctions(3, interaction_only=False, include_original=True).fit(frame)
    names = "a b c a² a&b a&c b² b&c c² a³ a²&b a²&c a&b² a&b&c a&c² b³ b²&c b&c² c³"
    assert [name.replace(" & ", "&") for name in model.get_feature_names_out()] == names.split()
    assert model.n_output_features_ == 19
    assert Conjunctions(n_features=2).fit(frame).get_feature_names_out().tolist() == ["bucket 0", "bucket 1"]
    doubled = Conjunctions().fit([[1.0, 1.0]])
    assert doubled.get_feature_names_out(["a", "a"]).tolist() == ["a & a"]  # two columns of one name are no power


def test_a_linear_model_learns_exclusive_or():
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1.0]] * 5)
    y = X[:, 0] != X[:, 1]
    assert Perceptron(tol=None).fit(X, y).score(X, y) < 1
    both = Conjunctions(include_original=True).fit_transform(X)
    assert LogisticRegression(C=100).fit(both, y).score(both, y) == 1


# --- groups ----------------------------------------------------------------------------------------------------------


def test_groups_of_every_kind_are_the_same():
    X = np.ones((2, 4))
    frame = pd.DataFrame(X, columns=["v", "n", "p", "m"])
    first, second = [0, 1], [2, 3]
    for groups in (
        [slice(0, 2), slice(2, None)],
        (first, second),
        [np.array(first), np.array(second, np.uint8)],
        [[True, True, False, False], np.array([False, False, True, True])],
        [["v", "n"], np.array(["p", "m"])],
        [[-4, -3], slice(-2, None)],
        [first, second, []],
    ):
        model = Conjunctions(groups=groups).fit(frame)
        assert columns_of(model) == [(0, 2), (0, 3), (1, 2), (1, 3)]


def test_a_column_of_two_groups_meets_both():
    every, few = slice(None), [1]
    assert columns_of(Conjunctions(groups=[every, few]).fit(np.ones((1, 3)))) == [(0, 1), (1, 2)]
    squares = Conjunctions(groups=[every, few], interaction_only=False).fit(np.ones((1, 3)))
    assert columns_of(squares) == [(0, 1), (1, 1), (1, 2)]


@pytest.mark.parametrize(
    "groups, error, match",
    [
        ([[0]], ValueError, "between degree=2 and 64 groups"),
        ([[0]] * 65, ValueError, "got 65"),
        (3, TypeError, "sequence of groups"),
        ("ab", TypeError, "sequence of groups"),
        ([[0], 1], TypeError, r"groups\[1\]"),
        ([[0], "b"], TypeError, r"groups\[1\]"),
        ([[0], [3]], ValueError, r"groups\[1\] holds column 3"),
        ([[-4], [0]], ValueError, r"groups\[0\] holds column -4"),
        ([[0], [1.5]], TypeError, "numbers or names"),
        ([[0], ["b"]], ValueError, "no names"),
        ([[0], [True, False]], ValueError, "mask of 2"),
        ([slice("a", "b"), [0]], TypeError, "slice of column numbers"),
    ],
    ids=str,
)
def test_groups_that_cannot_be_are_refused(groups, error, match):
    with pytest.raises(error, match=match):
        Conjunctions(groups=groups).fit(np.ones((2, 3)))


def test_a_name_that_is_no_column_is_refused():
    with pytest.raises(ValueError, match=r"'c'.*no column"):
        Conjunctions(groups=[["a"], ["c"]]).fit(pd.DataFrame({"a": [1.0], "b": [1.0]}))


# --- buckets ---------------------------------------------------------------------------------------------------------


@degrees
@powers
@pytest.mark.parametrize("groups", [None, [[0, 1, 2], [3, 4], [5, 6]]])
def test_buckets_hold_the_products(degree, powers, groups):
    X = sparse.random(40, 8, density=0.5, format="csr", rng=np.random.default_rng(2))
    learnt = Conjunctions(degree, interaction_only=not powers, groups=groups).fit_transform(X)
    options = {"interaction_only": not powers, "groups": groups, "n_features": 2**30}
    for signs in (False, True):
        made = Conjunctions(degree, alternate_sign=signs, **options).fit_transform(X)
        assert made.nnz == learnt.nnz
        for ours, theirs in zip(made, learnt, strict=True):
            np.testing.assert_allclose(np.sort(np.abs(ours.data)), np.sort(np.abs(theirs.data)))
        assert signs == (made.data < 0).any()


@degrees
def test_products_that_collide_add_up(degree):
    X = sparse.csr_matrix(np.random.default_rng(3).poisson(1.0, size=(30, 9)).astype(float))
    total = Conjunctions(degree).fit_transform(X).sum(axis=1)
    one = Conjunctions(degree, n_features=1, alternate_sign=False).fit_transform(X)
    np.testing.assert_allclose(one.toarray(), total)
    some = Conjunctions(degree, n_features=7, alternate_sign=False).fit_transform(X)
    np.testing.assert_allclose(some.sum(axis=1), total)


def test_a_product_has_one_bucket_and_buckets_are_used_evenly():
    n = 300
    X = sparse.csr_matrix(np.ones((1, n)))
    model = Conjunctions(n_features=64, alternate_sign=False).fit(X)
    made = model.transform(X).toarray()[0]
    expected = n * (n - 1) / 2 / 64
    assert np.abs(made - expected).max() < 5 * np.sqrt(expected)
    balance = Conjunctions(n_features=1).fit_transform(X).toarray()[0, 0]
    assert abs(balance) < 5 * np.sqrt(n * (n - 1) / 2)
    pair = sparse.csr_matrix((np.ones(2), np.array([3, 250]), np.array([0, 2])), shape=(1, n))
    other = sparse.csr_matrix((np.ones(3), np.array([3, 7, 250]), np.array([0, 3])), shape=(1, n))
    bucket = model.transform(pair).indices
    assert bucket in model.transform(other).indices


def test_buckets_need_no_training_data():
    X = np.random.default_rng(4).poisson(1.0, size=(20, 6)).astype(float)
    a, b = (Conjunctions(n_features=50).fit(part).transform(X) for part in (X[:1], X[5:]))
    np.testing.assert_array_equal(a.toarray(), b.toarray())
    with pytest.raises(AttributeError, match="hashed, not learnt"):
        Conjunctions(n_features=50).fit(X).conjunctions_  # noqa: B018


# --- pieces ----------------------------------------------------------------------------------------------------------


@degrees
@powers
@pytest.mark.parametrize("work", [1, 7, 100])
@pytest.mark.parametrize("groups", [None, [slice(0, 9), slice(5, 15), slice(12, 20)]])
def test_the_size_of_the_pieces_changes_nothing(monkeypatch, degree, powers, work, groups):
    X = sparse.random(25, 20, density=0.3, format="csr", rng=np.random.default_rng(5))
    options = {"interaction_only": not powers, "groups": groups}
    whole = Conjunctions(degree, min_df=2, **options).fit(X)
    made, hashed = whole.transform(X), Conjunctions(degree, n_features=40, **options).fit_transform(X)
    monkeypatch.setattr(parallel, "BLOCK_WORK", work)
    pieces = Conjunctions(degree, min_df=2, **options).fit(X)
    np.testing.assert_array_equal(pieces.conjunctions_, whole.conjunctions_)
    np.testing.assert_array_equal(pieces.transform(X).toarray(), made.toarray())
    again = Conjunctions(degree, n_features=40, **options).fit_transform(X)
    np.testing.assert_array_equal(again.toarray(), hashed.toarray())


@given(seed=seeds)
def test_tables_and_searches_find_the_same(seed):
    """Many children and few rows are searched, few children and many rows go through a table."""
    rng = np.random.default_rng(seed)
    X = sparse.csr_matrix((rng.random((60, 90)) < rng.uniform(0.02, 0.5)).astype(float))
    model = Conjunctions().fit(X)
    found, products = reference.conjunctions(X.toarray(), 2)
    rows = rng.integers(0, 60, size=3)
    for row in rows:
        np.testing.assert_array_equal(model.transform(X[[row]]).toarray(), products[[row]])
    assert columns_of(model) == found


def test_pairs_of_more_columns_than_int32_counts():
    """V² is 10¹⁴: only what occurs has a number."""
    width = 10**7
    X = sparse.csr_matrix(
        (np.arange(1.0, 7), np.array([0, 5, width - 1, 5, width - 2, width - 1]), np.array([0, 3, 6])), shape=(2, width)
    )
    model = Conjunctions().fit(X)
    last = width - 1
    assert columns_of(model) == [(0, 5), (0, last), (5, last - 1), (5, last), (last - 1, last)]
    assert model.transform(X).toarray().tolist() == [[2, 3, 0, 6, 0], [0, 0, 20, 24, 30]]


def test_products_that_would_overflow_are_refused():
    X = np.array([[1e14, 1e14, 1e14]], np.float32)
    model = Conjunctions(3).fit(X)
    with pytest.raises(ValueError, match="overflow float32"):
        model.transform(X)
    assert np.isfinite(Conjunctions(2).fit_transform(X).toarray()).all()
    assert np.isfinite(Conjunctions(3).fit_transform(X.astype(float)).toarray()).all()


@pytest.mark.parametrize(
    "options, error, match",
    [
        ({"degree": 1}, ValueError, "degree"),
        ({"degree": 4}, ValueError, "degree must be 2 or 3"),
        ({"degree": 2.0}, TypeError, "degree"),
        ({"min_df": 0}, ValueError, "min_df"),
        ({"min_df": 1.5}, ValueError, "min_df"),
        ({"min_df": "few"}, TypeError, "min_df"),
        ({"n_features": 0}, ValueError, "n_features"),
        ({"n_features": 2**31}, ValueError, "n_features"),
        ({"n_features": 2.5}, TypeError, "n_features"),
        ({"n_features": 10, "min_df": 2}, ValueError, "min_df"),
    ],
    ids=str,
)
def test_parameters_that_cannot_be_are_refused(options, error, match):
    with pytest.raises(error, match=match):
        Conjunctions(**options).fit(np.ones((3, 3)))


@pytest.mark.timing
@pytest.mark.parametrize("call", ["fit", "transform", "hashed"])
def test_ctrl_c_ends_it_soon(call):
    X, _ = random_sparse(n_rows=6000, n_features=20_000, row_length=400, n_labels=2, dtype=np.float32)
    model = (Conjunctions(n_features=2**18) if call == "hashed" else Conjunctions(min_df=3)).fit(X[:50])
    before, sent = dict(vars(model)), []

    def press():
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    def for_ever():
        while True:
            model.fit(X) if call == "fit" else model.transform(X)

    timer = threading.Timer(0.2, press)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            for_ever()
        assert time.perf_counter() - sent[0] < 0.5
    finally:
        timer.join()
    assert vars(model) == before


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("groups", [None, [slice(0, 12), slice(8, 30), slice(3, 20)]], ids=["", "groups"])
@pytest.mark.parametrize("work", [1 << 21, 7], ids=["", "rows in pieces"])
@pytest.mark.parametrize("interaction_only", [True, False])
@pytest.mark.parametrize("degree", [2, 3])
def test_buckets_that_are_listed_and_sorted_are_those_of_a_table(
    degree, interaction_only, work, groups, dtype, monkeypatch
):
    """More buckets than there is room for sums are met one by one, and added up afterwards."""
    X, _ = text_like(dtype=dtype)
    model = Conjunctions(degree, n_features=97, interaction_only=interaction_only, groups=groups).fit(X)
    expected = model.transform(X)
    monkeypatch.setattr("fastlin.runtime.parallel.BLOCK_WORK", work)
    monkeypatch.setattr("fastlin.features.conjunction_tree.MAX_SUMMED_BUCKETS", 0)
    found = model.transform(X)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_array_equal(found.indptr, expected.indptr)
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_array_equal(found.data, expected.data)  # counts: sums are exact


def test_a_few_documents_need_no_memory_for_two_thousand_million_buckets():
    X, _ = text_like()
    found = Conjunctions(3, n_features=2**31 - 1).fit_transform(X)
    assert found.shape[1] == 2**31 - 1
    assert found.nnz == Conjunctions(3).fit_transform(X).nnz
