"""DictVectorizer and FeatureHasher: scikit-learn's output, entry by entry, and errors that say where."""

import collections
import decimal
import doctest
import fractions
import os
import pickle
import signal
import threading

import numpy as np
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from sklearn import feature_extraction as theirs
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.murmurhash import murmurhash3_32

from fastlin.features import dict_rows, dict_vectorizer
from fastlin.text import DictVectorizer, FeatureHasher

NAMES = st.text(max_size=4) | st.sampled_from(["a", "a=b", "=", "ä", "日本", "a name of more than twenty bytes"])
NUMBERS = st.integers(-5, 5) | st.floats(allow_nan=False, width=32) | st.booleans()
STRINGS = st.text(max_size=3) | st.sampled_from(["b", "c=d", "x" * 30])
VALUES = NUMBERS | STRINGS | st.none() | st.lists(STRINGS, max_size=3) | st.sets(STRINGS, max_size=3)
SAMPLES = st.lists(st.dictionaries(NAMES, VALUES, max_size=6), min_size=1, max_size=8)
LONG = [{f"n{i * 7 % 101}": float(i) for i in range(100)}, {"b": 1}, {f"n{i}": "v" for i in range(80)}]


def assert_same(ours, ref, index=True):
    """The same arrays, bit for bit; scikit-learn's DictVectorizer has wider indices than it needs."""
    assert type(ours) is type(ref)
    assert ours.shape == ref.shape
    assert ours.dtype == ref.dtype
    if not hasattr(ours, "indptr"):
        np.testing.assert_array_equal(ours, ref)
        return
    for name in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(ours, name), getattr(ref, name), err_msg=name)
        assert not index or getattr(ours, name).dtype == getattr(ref, name).dtype


# --- DictVectorizer --------------------------------------------------------------------------------------------------


@given(SAMPLES, SAMPLES, st.booleans(), st.booleans(), st.sampled_from(["=", "", " → "]))
def test_the_matrix_and_the_vocabulary_are_scikit_learns(samples, others, sparse, sort, separator):
    options = {"sparse": sparse, "sort": sort, "separator": separator}
    ours, ref = DictVectorizer(**options), theirs.DictVectorizer(**options)
    assert_same(ours.fit_transform(samples), ref.fit_transform(samples), index=False)
    assert list(ours.vocabulary_.items()) == list(ref.vocabulary_.items())
    assert ours.feature_names_ == ref.feature_names_
    assert_same(ours.transform(others), ref.transform(others), index=False)
    ours.fit(others), ref.fit(others)
    assert list(ours.vocabulary_.items()) == list(ref.vocabulary_.items())
    assert ours.feature_names_ == ref.feature_names_
    if ours.feature_names_:
        X = ours.transform(samples)
        X = np.nan_to_num(X) if not sparse else X
        if sparse:
            X.data = np.nan_to_num(X.data)
        assert ours.inverse_transform(X) == ref.inverse_transform(X)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, float, int, np.int16, np.uint8, bool, np.complex128])
@pytest.mark.parametrize("sparse", [True, False])
def test_every_type_of_value_is_made_as_in_scikit_learn(dtype, sparse):
    samples = [
        {"int": 3, "float": 2.75, "bool": True, "numpy": np.float32(1.5), "string": "x", "several": ("x", "y", "x")},
        {"fraction": fractions.Fraction(7, 2), "decimal": decimal.Decimal("1.5"), "int": np.int64(7), "zero": 0},
        {},
    ]
    ours, ref = DictVectorizer(dtype=dtype, sparse=sparse), theirs.DictVectorizer(dtype=dtype, sparse=sparse)
    if dtype is np.complex128:  # which takes no Fraction
        samples[1].pop("fraction"), samples[1].pop("decimal")
    assert_same(ours.fit_transform(samples), ref.fit_transform(samples), index=False)
    assert_same(ours.transform(samples), ref.transform(samples), index=False)


def test_a_type_may_be_given_by_name():
    X = DictVectorizer(dtype="float32").fit_transform([{"a": 0.1}])
    assert X.dtype == np.float32


@pytest.mark.parametrize(
    "sample",
    [
        collections.OrderedDict(b=1, a="c"),
        collections.Counter("abca"),
        collections.defaultdict(int, a=2),
        collections.ChainMap({"a": 1}, {"b": "x"}),
        {1: 2, 3: "x"},
        {("a", 1): 2.0, ("b", 2): 1},
        {np.str_("a"): np.str_("b"), "c": np.str_("d")},
        {"a": {"x": 1}.keys(), "b": frozenset(["z"]), "c": np.array(["x", "y"])},
        {"\ud800": 1, "a": "\udfff", "b": "\U0001f600"},
        {"": "", "=": "="},
        {"x" * 19: 1, "x" * 20: 2, "x" * 21: 3, "x" * 1000: "y" * 1000},
    ],
    ids=lambda sample: type(sample).__name__,
)
def test_any_mapping_with_any_names(sample):
    ours, ref = DictVectorizer(sort=False), theirs.DictVectorizer(sort=False)
    assert_same(ours.fit_transform([sample]), ref.fit_transform([sample]), index=False)
    assert list(ours.vocabulary_.items()) == list(ref.vocabulary_.items())
    assert_same(ours.transform(sample), ref.transform(sample), index=False)
    assert ours.fit(sample).vocabulary_ == ref.vocabulary_


def test_names_that_are_equal_share_a_column():
    samples = [{"a": "b", "a=b": 2}, {1: 3}, {1.0: 4}, {True: 5}, {np.str_("a=b"): 7}]
    ours, ref = DictVectorizer(sort=False), theirs.DictVectorizer(sort=False)
    assert_same(ours.fit_transform(samples), ref.fit_transform(samples), index=False)
    assert ours.feature_names_ == ref.feature_names_ == ["a=b", 1]


@pytest.mark.parametrize("sort", [True, False])
def test_rows_of_any_length_and_many_names(sort):
    rng = np.random.default_rng(0)
    samples = [
        {f"name {j}{'long' * (j % 9)}": float(j) for j in rng.integers(0, 5000, size=n)}
        for n in rng.integers(0, 150, 300)
    ]
    ours, ref = DictVectorizer(sort=sort), theirs.DictVectorizer(sort=sort)
    assert_same(ours.fit_transform(samples), ref.fit_transform(samples), index=False)
    assert ours.vocabulary_ == ref.vocabulary_
    assert_same(ours.transform(samples[::-1]), ref.transform(samples[::-1]), index=False)
    assert ours.transform(samples).indices.dtype == np.int32


def test_a_vocabulary_that_was_changed_is_not_believed():
    vectorizer = DictVectorizer().fit([{"a": 1, "b": 2}])
    vectorizer.vocabulary_["b"] = 7
    with pytest.raises(ValueError, match=r"'b' the column 7, but has 2 names"):
        vectorizer.transform([{"b": 1}])
    vectorizer.vocabulary_["b"] = "x"
    with pytest.raises(TypeError):
        vectorizer.transform([{"b": 1}])


@pytest.mark.parametrize(
    "bad, kind, words",
    [
        ({"a": [1]}, TypeError, "Unsupported type <class 'int'> in iterable value"),
        ({"a": b"bytes"}, TypeError, "Unsupported type <class 'int'> in iterable value"),
        ({"a": {"b": 1}}, TypeError, "Mapping objects are not supported"),
        ({"a": object()}, TypeError, "Unsupported value Type"),
        ({"a": 1j}, TypeError, "complex"),
        ({"a": 10**400}, OverflowError, "too large"),
        (["a"], AttributeError, "sample 1 is no dict or other mapping"),
        (None, AttributeError, "sample 1 is no dict or other mapping"),
        ("text", AttributeError, "sample 1 is no dict or other mapping"),
    ],
)
def test_errors_say_which_sample_and_leave_the_vectorizer_as_it_was(bad, kind, words):
    vectorizer = DictVectorizer().fit([{"a": 1}])
    for method in (vectorizer.fit_transform, vectorizer.transform):
        with pytest.raises(kind, match=words) as caught:
            method([{"a": 1, "b": 2}, bad])
        assert caught.value.__notes__[0].startswith("sample 1, feature")
        assert vectorizer.vocabulary_ == {"a": 0}


def test_names_without_an_order_ask_for_sort_false():
    with pytest.raises(TypeError, match=r"\(int, str\) have no order; sort=False"):
        DictVectorizer().fit([{"a": 1, 2: 3}])


def test_an_error_in_a_users_iterable_comes_through():
    def broken():
        yield {"a": 1}
        raise OSError("disk")

    for samples in (broken, lambda: [{"a": broken()}]):
        with pytest.raises((OSError, TypeError)):
            DictVectorizer().fit(samples())


def test_a_dict_that_changes_meanwhile_is_an_error():
    sample = {"a": None, "b": 1}

    class Grows:
        def __iter__(self):
            sample["c" * len(sample)] = 1
            return iter(["x"])

    sample["a"] = Grows()
    with pytest.raises(RuntimeError, match="changed size"):
        DictVectorizer().fit_transform([sample])
    with pytest.raises(RuntimeError, match="changed size"):
        DictVectorizer().fit([sample])


@pytest.mark.parametrize("options", [{"separator": 1}, {"sort": "yes"}, {"sparse": None}, {"dtype": "no type"}])
def test_bad_parameters(options):
    with pytest.raises(TypeError):
        DictVectorizer(**options).fit([{"a": 1}])


def test_empty_input():
    for method in (DictVectorizer().fit_transform, DictVectorizer().fit([{"a": 1}]).transform):
        with pytest.raises(ValueError, match="X is empty"):
            method([])
    assert DictVectorizer().fit([]).vocabulary_ == {}
    assert DictVectorizer().fit_transform([{}, {}]).shape == (2, 0)
    for method in ("transform", "inverse_transform", "restrict", "get_feature_names_out"):
        with pytest.raises(NotFittedError):
            getattr(DictVectorizer(), method)([{}])


def test_containers_names_clones_and_pickles():
    samples = [{"a": 1, "b": "c"}, {"a": 2}]
    with sklearn.config_context(sparse_interface="sparray"):
        assert_same(
            DictVectorizer().fit_transform(samples), theirs.DictVectorizer().fit_transform(samples), index=False
        )
    frame = DictVectorizer(sparse=False).set_output(transform="pandas").fit_transform(samples)
    assert frame.columns.tolist() == ["a", "b=c"]
    vectorizer = DictVectorizer(sort=False, separator=":").fit(samples)
    assert clone(vectorizer).get_params() == vectorizer.get_params()
    again = pickle.loads(pickle.dumps(vectorizer))
    assert_same(again.transform(samples), vectorizer.transform(samples))
    assert vectorizer.get_feature_names_out().tolist() == ["a", "b:c"]
    vectorizer.restrict([1], indices=True)
    assert vectorizer.vocabulary_ == {"b:c": 0}
    assert vectorizer.transform(samples).toarray().tolist() == [[1.0], [0.0]]


def test_inverse_transform_refuses_what_has_more_columns():
    vectorizer = DictVectorizer().fit([{"a": 1}])
    with pytest.raises(ValueError, match="X has 3 columns, but the vocabulary has 1 names"):
        vectorizer.inverse_transform([[1, 2, 3]])
    assert vectorizer.inverse_transform([[2.0], [0.0]], dict_type=collections.OrderedDict) == [{"a": 2.0}, {}]


# --- FeatureHasher ---------------------------------------------------------------------------------------------------


HASHED = st.dictionaries(NAMES.filter(lambda s: s.isprintable()), NUMBERS | STRINGS.filter(str.isprintable), max_size=6)


@given(st.lists(HASHED, min_size=1, max_size=6), st.sampled_from([1, 2, 7, 64, 2**20, 2**31 - 1]), st.booleans())
def test_buckets_and_signs_are_scikit_learns(samples, n_features, alternate):
    for kind, raw in (
        ("dict", samples),
        ("pair", [list(sample.items()) for sample in samples]),
        ("string", [list(sample) for sample in samples]),
        ("string", [[name.encode() for name in sample] for sample in samples]),
    ):
        for dtype in (np.float64, np.float32):
            options = {"input_type": kind, "alternate_sign": alternate, "dtype": dtype}
            with np.errstate(over="ignore"):
                ours = FeatureHasher(n_features, **options).transform(raw)
                assert_same(ours, theirs.FeatureHasher(n_features, **options).transform(raw))


def test_the_hash_of_every_length_and_seed():
    rng = np.random.default_rng(0)
    for n in range(65):
        for seed in (0, 1, 2**31, 2**32 - 1, *rng.integers(0, 2**32, size=16).tolist()):
            text = rng.bytes(n)
            assert dict_rows.hash_of(text, seed) == murmurhash3_32(text, seed, positive=True)


def text_of_hash(h):
    """The only text of four bytes whose hash with seed 0 is h: each step of the hash undone."""
    mask = 2**32 - 1

    def unrotated(x, bits):
        return (x >> bits | x << (32 - bits)) & mask

    h ^= h >> 16
    h = h * pow(0xC2B2AE35, -1, 2**32) & mask
    h ^= h >> 13 ^ h >> 26
    h = h * pow(0x85EBCA6B, -1, 2**32) & mask
    h ^= h >> 16
    h = ((h ^ 4) - 0xE6546B64) * pow(5, -1, 2**32) & mask
    h = unrotated(h, 13) * pow(0x1B873593, -1, 2**32) & mask
    return (unrotated(h, 15) * pow(0xCC9E2D51, -1, 2**32) & mask).to_bytes(4, "little")


@pytest.mark.parametrize("n_features", [1, 2, 3, 7, 1000, 2**20, 2**30, 2**31 - 1])
def test_the_bucket_of_extreme_hashes(n_features):
    hashes = [-(2**31), -(2**31) + 1, -1, 0, 1, 2**31 - 1]
    names = [[text_of_hash(h % 2**32)] for h in hashes]
    assert [murmurhash3_32(name) for (name,) in names] == hashes
    X = FeatureHasher(n_features, input_type="string").transform(names)
    assert_same(X, theirs.FeatureHasher(n_features, input_type="string").transform(names))
    assert X.indices.tolist() == [abs(h) % n_features for h in hashes]
    assert X.data.tolist() == [-1.0, -1.0, -1.0, 1.0, 1.0, 1.0]


@pytest.mark.parametrize("dtype", [np.float64, np.float32, int, np.int8])
@pytest.mark.parametrize("n_features", [5, 1000])
def test_long_rows_collisions_and_zeros(dtype, n_features):
    options = {"n_features": n_features, "dtype": dtype, "input_type": "string"}
    raw = [[f"w{i * i % 97}" for i in range(m)] for m in (0, 1, 2, 30, 63, 64, 65, 100, 126)]
    ours = FeatureHasher(**options).transform(raw)
    assert_same(ours, theirs.FeatureHasher(**options).transform(raw))
    pairs = [[(f"w{i}", i / 4) for i in range(m)] for m in (3, 80)]
    options["input_type"] = "pair"
    assert_same(FeatureHasher(**options).transform(pairs), theirs.FeatureHasher(**options).transform(pairs))


def test_a_sum_of_0_is_stored():
    signs = {name: murmurhash3_32(name) >= 0 for name in "abcdefgh"}
    plus, minus = (next(name for name, sign in signs.items() if sign is wanted) for wanted in (True, False))
    assert FeatureHasher(1, input_type="string").transform([[plus, minus]]).data.tolist() == [0.0]


@pytest.mark.parametrize(
    "kind, raw",
    [
        ("dict", [{"a": "ä", "日": 2, 1: "x", b"y": 3, b"z": "s"}, collections.OrderedDict(a=1)]),
        ("dict", [{np.str_("a"): np.str_("b"), "c": np.int32(3), "d": decimal.Decimal(2), 7: 0}]),
        ("pair", [{"a": 1}.items(), (("b", True), ["c", 2.5])]),
        ("string", [("a", b"b"), np.array(["ü"]), {"k": 1}, []]),
    ],
)
def test_whatever_scikit_learn_takes(kind, raw):
    ours = FeatureHasher(50, input_type=kind).transform(iter(raw))
    assert_same(ours, theirs.FeatureHasher(50, input_type=kind).transform(raw))


@pytest.mark.parametrize(
    "kind, bad, error, words",
    [
        ("string", "text", ValueError, "Samples can not be a single string"),
        ("string", [1], TypeError, "feature names must be strings"),
        ("string", 5, TypeError, "not iterable"),
        ("string", ["\ud800"], UnicodeEncodeError, "surrogates"),
        ("pair", [("a", 1, 2)], ValueError, "to unpack"),
        ("pair", ["a"], ValueError, "to unpack"),
        ("pair", [("a", None)], TypeError, "real number"),
        ("dict", {"a": b"b"}, TypeError, "real number"),
        ("dict", {("a",): 1}, TypeError, "feature names must be strings"),
        ("dict", {"a": [1]}, TypeError, "real number"),
        ("dict", ["a"], AttributeError, "sample 1 is no dict"),
    ],
)
def test_hashing_errors_say_which_sample(kind, bad, error, words):
    good = {"string": ["a"], "pair": [("a", 1)], "dict": {"a": 1}}[kind]
    with pytest.raises(error, match=words) as caught:
        FeatureHasher(input_type=kind).transform([good, bad])
    assert caught.value.__notes__[0].startswith("sample 1, feature")


@pytest.mark.parametrize(
    "value, dtype, error",
    [(float("nan"), int, ValueError), (300, np.int8, OverflowError), (1e30, np.int64, OverflowError)],
)
def test_values_that_the_type_cannot_hold(value, dtype, error):
    for hasher in (FeatureHasher(dtype=dtype), theirs.FeatureHasher(dtype=dtype)):
        with pytest.raises(error):
            hasher.transform([{"a": value}])


@pytest.mark.parametrize(
    "options",
    [
        {"n_features": 0},
        {"n_features": -1},
        {"n_features": 2**31},
        {"n_features": 2.5},
        {"input_type": "pairs"},
        {"alternate_sign": 1},
        {"dtype": "no type"},
    ],
)
def test_bad_parameters_of_the_hasher(options):
    for method in (FeatureHasher(**options).fit, FeatureHasher(**options).transform):
        with pytest.raises((ValueError, TypeError)):
            method([{"a": 1}])


def test_the_hasher_is_stateless():
    hasher = FeatureHasher(10, input_type="string", alternate_sign=False)
    assert clone(hasher).get_params() == hasher.get_params()
    raw = [["a", "b"], ["c"]]
    assert_same(hasher.fit(raw).transform(raw), pickle.loads(pickle.dumps(hasher)).transform(raw))
    with sklearn.config_context(sparse_interface="sparray"):
        assert_same(hasher.transform(raw), theirs.FeatureHasher(**hasher.get_params()).transform(raw))
    assert not hasattr(hasher, "set_output")
    for kind in ("dict", "pair", "string"):
        ours, ref = (cls(input_type=kind).__sklearn_tags__() for cls in (FeatureHasher, theirs.FeatureHasher))
        assert ours == ref
    with pytest.raises(ValueError, match="raw_X is empty"):
        hasher.transform([])


@pytest.mark.parametrize("estimator", [DictVectorizer(), FeatureHasher()], ids=lambda e: type(e).__name__)
def test_ctrl_c_ends_an_endless_input(estimator, ctrl_c):
    def endless():
        while True:
            yield {"a": 1, "b": "c"}

    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        estimator.fit_transform(endless())


def test_sorting_and_renumbering_keep_entries_of_one_column_in_order():
    indptr, indices = np.array([0, 3, 5]), np.array([2, 0, 2, 1, 0], np.int32)
    values, places = np.arange(5.0), np.array([2, 1, 0], np.int32)
    assert dict_rows.renumber(indptr, indices, values, places, True)
    assert indices.tolist() == [0, 0, 2, 1, 2]
    assert values.tolist() == [0, 2, 1, 3, 4]


def test_the_examples_run():
    assert doctest.testmod(dict_vectorizer, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE).failed == 0
