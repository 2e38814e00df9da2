"""What the tests of `fastlin.text` share: scikit-learn's class of each name, and what it means to do the same."""

import io
import itertools
import warnings

import numpy as np
import sklearn.feature_extraction.text as theirs
from scipy import sparse

from fastlin import text as ours

VECTORIZERS = ("CountVectorizer", "HashingVectorizer", "TfidfVectorizer")
COUNTING = ("CountVectorizer", "TfidfVectorizer")


def pair(name, **options):
    """fastlin's vectoriser and scikit-learn's, with the same options."""
    return getattr(ours, name)(**options), getattr(theirs, name)(**options)


def result_of(call):
    """(what the call returned or raised, the categories of its warnings)."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            answer = call()
        except Exception as error:
            answer = error
    return answer, [warning.category for warning in caught]


def assert_same_matrix(got, expected, tolerance=0.0):
    """The same container, types and arrays, as they stand."""
    assert type(got) is type(expected)
    assert got.shape == expected.shape
    assert got.dtype == expected.dtype
    for part in ("indptr", "indices"):
        np.testing.assert_array_equal(getattr(got, part), getattr(expected, part), err_msg=part, strict=True)
    if tolerance:
        np.testing.assert_allclose(got.data, expected.data, rtol=tolerance, err_msg="data", strict=True)
    else:
        np.testing.assert_array_equal(got.data, expected.data, err_msg="data", strict=True)
    assert_tells_the_truth(got)


def assert_tells_the_truth(X):
    """What a matrix says of its own order is so."""
    fresh = sparse.csr_array((X.data, X.indices, X.indptr), shape=X.shape)
    assert bool(X.has_sorted_indices) == bool(fresh.has_sorted_indices)
    assert bool(X.has_canonical_format) == bool(fresh.has_canonical_format)


def tolerance_of(name, options):
    """Counts are the same numbers; weights are sums in some order, rounded to their type."""
    weighted = name == "TfidfVectorizer" or (name == "HashingVectorizer" and options.get("norm", "l2") is not None)
    if not weighted:
        return 0.0
    return 1e-5 if options.get("dtype") is np.float32 else 1e-12


def assert_same(name, options, documents, others=()):
    """fit_transform, the vocabulary and transform do what scikit-learn's do: results, errors and warnings."""
    one, two = pair(name, **options)
    got, warned = result_of(lambda: one.fit_transform(documents))
    expected, should_warn = result_of(lambda: two.fit_transform(documents))
    assert warned == should_warn, (warned, should_warn)
    if isinstance(expected, Exception):
        assert type(got) is type(expected), (got, expected)
        return None
    if isinstance(got, Exception):
        raise got
    tolerance = tolerance_of(name, options)
    assert_same_matrix(got, expected, tolerance)
    if name != "HashingVectorizer":
        assert_same_vocabulary(one, two)
    if name == "TfidfVectorizer" and options.get("use_idf", True):
        np.testing.assert_allclose(one.idf_, two.idf_, rtol=tolerance, strict=True)
    for batch in (documents, others) if len(others) else (documents,):
        got, _ = result_of(lambda batch=batch: one.transform(batch))
        expected, _ = result_of(lambda batch=batch: two.transform(batch))
        if isinstance(expected, Exception):
            assert type(got) is type(expected), (got, expected)
        else:
            assert_same_matrix(got, expected, tolerance)
    return one


def assert_same_vocabulary(one, two):
    assert list(one.vocabulary_.items()) == list(two.vocabulary_.items())
    assert type(one.vocabulary_) is type(two.vocabulary_)
    names = one.get_feature_names_out()
    np.testing.assert_array_equal(names, two.get_feature_names_out(), strict=True)
    assert all(type(name) is type(other) for name, other in zip(names, two.get_feature_names_out(), strict=True))
    assert one.fixed_vocabulary_ == two.fixed_vocabulary_


def assert_same_bits(one, other):
    """Two matrices of fastlin's are one."""
    assert type(one) is type(other)
    assert one.shape == other.shape
    for part in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(getattr(one, part), getattr(other, part), err_msg=part, strict=True)


def rows_of(X):
    """The rows as the naive twin writes them."""
    columns, values, borders = X.indices.tolist(), X.data.tolist(), X.indptr.tolist()
    return [list(zip(columns[a:b], values[a:b], strict=True)) for a, b in itertools.pairwise(borders)]


def fitted_state(vectorizer):
    """All that fitting can change, to compare; `fixed_vocabulary_` is no news, for it follows from the parameters."""
    state = {name: repr(value) for name, value in vars(vectorizer).items() if name.endswith("_") and name[0] != "_"}
    for name in ("vocabulary_", "idf_"):
        try:
            value = getattr(vectorizer, name)
        except AttributeError:
            continue
        state[name] = list(value.items()) if isinstance(value, dict) else value.tobytes()
    return {name: value for name, value in state.items() if name != "fixed_vocabulary_"}


def opened(documents):
    """The documents as files that are open for reading."""
    return [io.BytesIO(d) if isinstance(d, bytes) else io.StringIO(d) for d in documents]
