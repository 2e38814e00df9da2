"""TfidfTransformer: scikit-learn's weights, document frequencies that grow, input of every kind."""

import doctest
import itertools
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction import text as theirs
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from fastlin import validation
from fastlin.engine.text import tfidf as weighting
from fastlin.runtime import parallel
from fastlin.text import TfidfTransformer, tfidf_transformer
from support.estimators import text_like
from support.strategies import cuts, sparse_matrices

OPTIONS = [
    {},
    {"sublinear_tf": True},
    {"norm": "l1"},
    {"norm": None},
    {"norm": None, "sublinear_tf": True, "use_idf": False},
    {"smooth_idf": False},
]
every = pytest.mark.parametrize("options", OPTIONS, ids=str)
CONTAINERS = ["csr", "csc", "coo", "lil", "dok", "dia", "bsr"]
COUNTS = [[1, 0, 2, 0], [0, 0, 3, 300], [1, 1, 0, 0]]


@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning")
@parametrize_with_checks([TfidfTransformer(), TfidfTransformer(sublinear_tf=True, norm="l1", n_jobs=2)])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


# --- the weights -----------------------------------------------------------------------------------------------------


def assert_same(ours, ref, rtol):
    """The same container, structure and type; the same numbers to rounding."""
    assert type(ours) is type(ref)
    assert ours.dtype == ref.dtype
    for name in ("indices", "indptr"):
        np.testing.assert_array_equal(getattr(ours, name), getattr(ref, name), err_msg=name)
    np.testing.assert_allclose(ours.data, ref.data, rtol=rtol)


@every
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.int32, np.uint8, np.int16, bool])
def test_the_weights_are_scikit_learns(options, dtype):
    X, _ = text_like(n_rows=200, n_features=80, density=2.0)
    X = sparse.csr_matrix(X, dtype=dtype)
    X.sort_indices()
    X = X[:, np.flatnonzero(X.getnnz(axis=0))]
    ours, ref = TfidfTransformer(**options), theirs.TfidfTransformer(**options)
    rtol = 1e-14 if dtype != np.float32 else 1e-6
    assert_same(ours.fit_transform(X), ref.fit_transform(X), rtol)
    assert hasattr(ours, "idf_") == hasattr(ref, "idf_")
    if hasattr(ref, "idf_"):
        assert ours.idf_.dtype == ref.idf_.dtype
        np.testing.assert_allclose(ours.idf_, ref.idf_, rtol=rtol)


@given(
    sparse_matrices(values=("counts",)), st.sampled_from([o for o in OPTIONS if o.keys() < {"norm", "sublinear_tf"}])
)
def test_rows_in_any_order_with_explicit_zeros_and_duplicates(X, options):
    ours, ref = TfidfTransformer(**options), theirs.TfidfTransformer(**options)
    before, clean = X.copy(), X.copy()
    rows = [X.indices[a:b].tolist() for a, b in itertools.pairwise(X.indptr)]
    if any(len(set(row)) < len(row) for row in rows):  # scikit-learn would weigh each part of a sum by itself
        clean.sum_duplicates()
    found = ours.fit_transform(X)
    ref.fit(clean)
    if ours.use_idf:
        np.testing.assert_allclose(ours.idf_, ref.idf_, rtol=1e-14)
    if not ours.sublinear_tf:
        assert_same(found, ref.transform(clean), 1e-14)
    else:  # no occurrence weighs 0, as it does in a dense matrix
        clean.eliminate_zeros()
        np.testing.assert_allclose(found.toarray(), ref.transform(clean).toarray(), rtol=1e-14)
    for name in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(X, name), getattr(before, name))


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_every_container(container, index):
    X = sparse.csr_array(np.array(COUNTS, dtype=float)).asformat(container)
    if container in ("csr", "csc"):
        X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    expected = theirs.TfidfTransformer().fit_transform(np.array(COUNTS))
    for copy in (True, False):
        assert_same(TfidfTransformer().fit(X).transform(X, copy=copy or container == "csr"), expected, 1e-14)
        assert X.toarray().tolist() == COUNTS
    assert_same(TfidfTransformer().fit_transform(COUNTS), expected, 1e-14)
    with sklearn.config_context(sparse_interface="sparray"):
        assert isinstance(TfidfTransformer().fit_transform(X), sparse.csr_array)


def test_unsorted_rows_keep_their_order():
    X = sparse.csr_matrix((np.array([1.0, 2, 3, 4]), np.array([3, 0, 2, 1]), np.array([0, 2, 4])), shape=(2, 4))
    found = TfidfTransformer().fit_transform(X)
    assert found.indices.tolist() == [3, 0, 2, 1]
    assert not np.may_share_memory(found.indices, X.indices)
    assert_same(found, theirs.TfidfTransformer().fit_transform(X), 1e-14)


def test_buffers_that_are_read_only_or_longer_than_needed():
    X = sparse.csr_matrix(np.array(COUNTS, dtype=float))
    expected = TfidfTransformer().fit_transform(X)
    for array in (X.data, X.indices, X.indptr):
        array.setflags(write=False)
    for copy in (True, False):
        assert_same(TfidfTransformer().fit(X).transform(X, copy=copy), expected, 0)
    long = sparse.csr_matrix(X.shape)
    long.data, long.indices, long.indptr = np.append(X.data, 9.0), np.append(X.indices, 1), X.indptr
    assert_same(TfidfTransformer().fit(long).transform(long), expected, 0)


def test_copy_false_puts_the_weights_in_the_place_of_the_counts():
    for dtype in (np.float32, np.float64):
        X = sparse.csr_matrix(np.array(COUNTS, dtype=dtype))
        model = TfidfTransformer().fit(X)
        expected = model.transform(X)
        assert model.transform(X, copy=False) is X
        assert_same(X, expected, 0)
    X = sparse.csr_matrix(np.array(COUNTS))
    assert model.transform(X, copy=False) is not X
    assert X.toarray().tolist() == COUNTS


@every
def test_threads_change_no_bit(options):
    X = sparse.random_array((3000, 500), density=0.2, rng=np.random.default_rng(0), format="csr")
    X.data = np.ceil(X.data * 400)
    work, parallel.BLOCK_WORK = parallel.BLOCK_WORK, 1 << 12
    try:
        one, two = (TfidfTransformer(**options, n_jobs=n).fit_transform(X) for n in (1, 2))
    finally:
        parallel.BLOCK_WORK = work
    np.testing.assert_array_equal(one.data, two.data)
    whole = TfidfTransformer(**options).fit_transform(X)
    np.testing.assert_array_equal(one.data, whole.data)


def test_the_tf_of_any_number():
    values = np.array([[0.25, 1, 2, 2.5, 254, 255, 255.5, 256, 257, 1e6, 1e99]])
    found = TfidfTransformer(norm=None, use_idf=False, sublinear_tf=True).fit_transform(values).toarray()
    np.testing.assert_allclose(found, 1 + np.log(values), rtol=1e-15)


@pytest.mark.parametrize("counts", [np.int32, np.int64, np.float32, np.float64])
@pytest.mark.parametrize("out", [np.float32, np.float64])
def test_the_kernel_takes_counts_as_they_are(counts, out):
    rows = validation.as_rows(np.array(COUNTS))
    found = np.empty(rows.nnz, out)
    idf = np.array([1.0, 2, 3, 4])
    values = rows.values.astype(counts)
    weighting.tfidf_weights(rows.indptr, rows.indices, values, 0, 3, idf, np.empty(0), weighting.L2, found)
    expected = np.array(COUNTS) * idf
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(found, expected[expected > 0], rtol=1e-6 if out is np.float32 else 1e-15)


# --- growing ---------------------------------------------------------------------------------------------------------


@given(st.data(), st.sampled_from(OPTIONS[:-1]))
def test_partial_fit_in_parts_is_fit_of_all(data, options):
    X = data.draw(sparse_matrices(values=("counts",)))
    whole, parts = TfidfTransformer(**options).fit(X), TfidfTransformer(**options)
    widths = np.sort(data.draw(st.lists(st.integers(1, X.shape[1]), min_size=5, max_size=5)))
    pieces, rows = data.draw(cuts(X.shape[0])), X.toarray()
    for piece, width in zip(pieces, [*widths[: len(pieces) - 1], X.shape[1]], strict=True):
        cut = sparse.csr_matrix(X[piece])
        narrow = width if not cut[:, width:].nnz else X.shape[1]
        if hasattr(parts, "n_features_in_"):
            narrow = max(narrow, parts.n_features_in_)
        parts.partial_fit(cut[:, :narrow])
    assert parts.n_features_in_ == X.shape[1]
    if whole.use_idf:
        np.testing.assert_array_equal(parts.idf_, whole.idf_)
    np.testing.assert_array_equal(parts.transform(rows).toarray(), whole.transform(rows).toarray())


def test_new_columns_and_their_names():
    first = pd.DataFrame([[1.0, 0]], columns=["a", "b"])
    wider = pd.DataFrame([[1.0, 0, 2]], columns=["a", "b", "c"])
    model = TfidfTransformer().partial_fit(first).partial_fit(wider)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    assert model.get_feature_names_out().tolist() == ["a", "b", "c"]
    np.testing.assert_allclose(model.idf_, 1 + np.log(3 / (1 + np.array([2, 0, 1]))))
    before = model.idf_.copy()
    for bad, words in (
        (first, "X has 2 features, but TfidfTransformer is expecting 3"),
        (wider.rename(columns={"b": "x"}), "column 1 of X was 'b' and is 'x' now"),
        (wider.to_numpy(), "had names before and have none now"),
    ):
        with pytest.raises(ValueError, match=words):
            model.partial_fit(bad)
        np.testing.assert_array_equal(model.idf_, before)
        assert model.n_features_in_ == 3


def test_the_type_of_idf_is_that_of_the_first_counts():
    X = np.array(COUNTS)
    model = TfidfTransformer().partial_fit(X.astype(np.float32)).partial_fit(X)
    assert model.idf_.dtype == np.float32
    assert model.transform(X).dtype == np.float64
    assert model.transform(X.astype(np.float32)).dtype == np.float32


def test_idf_may_be_set():
    X = np.array(COUNTS)
    fitted, model = TfidfTransformer().fit(X), TfidfTransformer()
    with pytest.raises(NotFittedError):
        model.transform(X)
    assert not hasattr(model, "idf_")
    model.idf_ = fitted.idf_
    np.testing.assert_array_equal(model.transform(X).toarray(), fitted.transform(X).toarray())
    model.idf_ = [1, 2, 3]
    with pytest.raises(ValueError, match="X has 4 features, but TfidfTransformer expects 3"):
        model.transform(X)
    for bad in ([[1.0]], [1.0, np.nan], [1e30], ["x"]):
        with pytest.raises(ValueError, match=r"idf_|convert"):
            model.idf_ = bad
    assert model.idf_.tolist() == [1, 2, 3]
    fitted.idf_ = np.ones(4)
    assert fitted.partial_fit(X).idf_.tolist() == TfidfTransformer().fit(np.vstack([X, X])).idf_.tolist()


def test_without_idf_nothing_is_counted():
    model = TfidfTransformer(use_idf=False).fit(COUNTS)
    assert not hasattr(model, "idf_")
    model.set_params(use_idf=True)
    assert not hasattr(model, "idf_")
    assert model.fit(COUNTS).set_params(use_idf=False).transform(COUNTS).nnz == 6
    np.testing.assert_array_equal(
        model.transform(COUNTS).toarray(), TfidfTransformer().fit_transform(COUNTS).toarray()
    )  # idf_ stays until the next fit, as in scikit-learn


# --- bad input -------------------------------------------------------------------------------------------------------


def test_a_column_without_documents_needs_smoothing():
    model = TfidfTransformer(smooth_idf=False)
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        model.fit([[1, 0], [1, 0]])
    assert model.transform([[2, 0]]).toarray().tolist() == [[1.0, 0.0]]
    X = sparse.csr_matrix([[1.0, 0], [0, 1]])
    for copy in (True, False):
        with pytest.raises(ValueError, match="row 1 has column 1, which no document had: its idf is infinite"):
            model.transform(X, copy=copy)
    assert X.toarray().tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize(
    "bad, words",
    [
        ([[1, np.nan]], "NaN at row 0, column 1"),
        ([[np.inf, 1]], "infinity at row 0, column 0"),
        ([[1, -1]], "Negative values in data.*: X holds -1 at row 0, column 1"),
        ([["a", "b"]], "could not convert"),
        (np.empty((0, 2)), "0 sample"),
        ([[1, 2, 3]], "features"),
    ],
)
def test_bad_counts_are_refused(bad, words):
    model = TfidfTransformer(sublinear_tf=True).fit([[1, 2]])
    before = model.idf_.copy()
    methods = [model.transform] if "features" in words else [model.fit, model.partial_fit, model.transform]
    for method in methods:
        with pytest.raises(ValueError, match=words):
            method(bad)
    np.testing.assert_array_equal(model.idf_, before)


def test_signed_counts_have_weights_unless_they_are_to_have_logarithms():
    X = np.array([[1.0, -2], [0, 1]])
    expected = theirs.TfidfTransformer().fit_transform(X)
    np.testing.assert_allclose(TfidfTransformer().fit_transform(X).toarray(), expected.toarray(), rtol=1e-14)


@pytest.mark.parametrize("options", [{"norm": "l3"}, {"norm": 2}, {"use_idf": 1}, {"smooth_idf": "x"}, {"n_jobs": 0}])
def test_bad_parameters(options):
    with pytest.raises((ValueError, TypeError)):
        TfidfTransformer(**options).fit(COUNTS)


def test_clones_pickles_and_pipelines():
    model = TfidfTransformer(norm="l1", n_jobs=2).fit(COUNTS)
    assert clone(model).get_params() == model.get_params()
    again = pickle.loads(pickle.dumps(model)).partial_fit(COUNTS)
    np.testing.assert_array_equal(again.idf_, model.partial_fit(COUNTS).idf_)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        texts = ["good fine", "bad awful", "fine good good"]
        ours = make_pipeline(theirs.CountVectorizer(), TfidfTransformer()).fit_transform(texts)
    assert_same(ours, theirs.TfidfVectorizer().fit_transform(texts), 1e-14)


def test_the_examples_run():
    assert doctest.testmod(tfidf_transformer, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE).failed == 0
