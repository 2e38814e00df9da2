"""Tokens: what a naive reader makes of the same objects, matrices with lengths, and a clear error for anything else."""

import collections
import copy
import decimal
import enum
import fractions
import pickle
import threading
import types
import weakref

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from fastlin.sequence.tokens import Attributes, Tokens, as_tokens
from support.estimators import interrupted_after
from support.strategies import sparse_matrices

# --- the twin ---------------------------------------------------------------------------------------------------------


def features(token):
    """(name, value) of each feature, as python-crfsuite documents them."""
    if isinstance(token, str):
        yield token, 1.0
    elif isinstance(token, dict):
        for name, value in token.items():
            yield from valued(name, value)
    else:
        for name in in_order(token):
            yield name, 1.0


def in_order(names):
    return sorted(names) if isinstance(names, set | frozenset) else names


def valued(name, value):
    if isinstance(value, str):
        yield f"{name}:{value}", 1.0
    elif isinstance(value, dict):
        for inner, held in value.items():
            yield from valued(f"{name}:{inner}", held)
    elif isinstance(value, list | tuple | set | frozenset):
        for held in in_order(value):
            yield f"{name}:{held}", 1.0
    elif value:
        yield name, float(value)


def read(X, columns, learn):
    """For each token a dict from column to value; `columns` grows, if told to learn."""
    rows = []
    for token in [token for sequence in X for token in sequence]:
        row = collections.defaultdict(float)
        for name, value in features(token):
            if learn or name in columns:
                row[columns.setdefault(name, len(columns))] += value
        rows.append(dict(row))
    return rows


def rows_of(tokens):
    rows = tokens.rows
    return [
        dict(zip(rows.indices[start:stop].tolist(), rows.values[start:stop].tolist(), strict=True))
        for start, stop in zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
    ]


def assert_proved(tokens):
    """Every promise of Tokens and Rows."""
    rows, starts = tokens.rows, tokens.starts
    assert rows.indptr.dtype == starts.dtype == np.int64
    assert rows.indices.dtype == np.int32
    assert rows.values.dtype == np.float64 or (rows.values.dtype == np.float32 and tokens.binary)
    assert rows.indptr[0] == starts[0] == 0
    assert (np.diff(rows.indptr) >= 0).all()
    assert (np.diff(starts) >= 0).all()
    assert len(rows.indices) == len(rows.values) == rows.nnz
    assert starts[-1] == tokens.n_tokens == len(rows)
    assert len(tokens) == len(tokens.lengths) == len(starts) - 1
    assert ((rows.indices >= 0) & (rows.indices < rows.n_columns)).all()
    for start, stop in zip(rows.indptr[:-1], rows.indptr[1:], strict=True):
        assert (np.diff(rows.indices[start:stop]) > 0).all()
    assert rows.negative == bool((rows.values < 0).any())
    assert rows.zeros == bool((rows.values == 0).any())
    assert rows.largest == (np.abs(rows.values).max() if rows.nnz else 0)
    assert tokens.binary == bool((rows.values == 1).all())


short = st.text("abé字😀:\ud800", max_size=3)
names = st.one_of(short, st.text("ab:é", min_size=15, max_size=25), st.text(max_size=8))
floats = st.floats(-1e100, 1e100)
numbers = st.one_of(
    floats,
    st.integers(-(10**30), 10**30),
    st.booleans(),
    st.floats(-8, 8, width=32).map(np.float32),
    st.integers(-5, 5).map(np.int16),
).filter(lambda value: abs(float(value)) <= 1e100)
several = st.one_of(st.lists(names, max_size=4), st.lists(names, max_size=3).map(tuple), st.sets(names, max_size=3))
values = st.recursive(
    st.one_of(numbers, names, several), lambda inner: st.dictionaries(names, inner, max_size=3), max_leaves=5
)
dicts = st.dictionaries(names, values, max_size=6)
tokens_of_names = st.one_of(names, several, st.frozensets(short), st.lists(short, min_size=60, max_size=150))
sequences = st.lists(st.lists(st.one_of(tokens_of_names, dicts), max_size=5), max_size=6)


@given(sequences, sequences, sequences)
def test_it_is_the_naive_twin(first, second, other):
    attributes, columns = Attributes(), {}
    for X in (first, second):
        tokens, expected = attributes.learn(X), read(X, columns, True)
        assert_proved(tokens)
        assert rows_of(tokens) == expected
        assert attributes.names == list(columns)
        assert tokens.lengths.tolist() == [len(sequence) for sequence in X]
        assert tokens.rows.n_columns == len(attributes) == len(columns)
    tokens = attributes.read(other)
    assert_proved(tokens)
    assert rows_of(tokens) == read(other, columns, False)
    assert attributes.names == list(columns)
    for name, column in columns.items():
        assert attributes.column(name) == column
        assert name in attributes


@given(sequences)
def test_it_does_not_matter_in_what_sequences_come(X):
    expected = Attributes().learn(X)

    def objects(sequence):
        array = np.empty(len(sequence), object)
        array[:] = sequence
        return array

    ways = [
        (sequence for sequence in X),
        tuple(tuple(sequence) for sequence in X),
        [iter(sequence) for sequence in X],
        [objects(sequence) for sequence in X],
        pd.Series([collections.deque(sequence) for sequence in X], dtype=object),
        collections.deque(collections.UserList(sequence) for sequence in X),
    ]
    for way in ways:
        found = Attributes().learn(way)
        assert rows_of(found) == rows_of(expected)
        np.testing.assert_array_equal(found.starts, expected.starts)


@given(sequences)
def test_a_token_may_be_any_mapping_or_iterable_of_its_kind(X):
    expected = Attributes().learn(X)
    as_others = [
        [
            types.MappingProxyType(token)
            if isinstance(token, dict)
            else (name for name in token)
            if isinstance(token, list)
            else token
            for token in sequence
        ]
        for sequence in X
    ]
    assert rows_of(Attributes().learn(as_others)) == rows_of(expected)


def test_python_crfsuites_documented_forms():
    token = {
        "key1": 1.5,
        "key2": "string_value",
        "key3": True,
        "key4": {"key5": ["x", "y"], "key6": 2},
        "no": False,
        "zero": 0.0,
        "set": {"one"},
        "empty": [],
        "nothing": "",
    }
    attributes = Attributes()
    tokens = attributes.learn([[token, ["key1", "key1"]]])
    names = ["key1", "key2:string_value", "key3", "key4:key5:x", "key4:key5:y", "key4:key6", "set:one", "nothing:"]
    assert attributes.names == names
    assert rows_of(tokens) == [dict(enumerate([1.5, 1, 1, 1, 1, 2, 1, 1])), {0: 2}]


def test_values_are_all_numbers_of_python_and_numpy():
    token = {
        "fraction": fractions.Fraction(1, 4),
        "decimal": decimal.Decimal("0.5"),
        "float32": np.float32(0.1),
        "true": np.bool_(True),
        "false": np.bool_(False),
        "int64": np.int64(-3),
        "large": 2**70,
        "minus": -0.0,
    }
    attributes = Attributes()
    found = rows_of(attributes.learn([[token]]))[0]
    assert dict(zip(attributes.names, found.values(), strict=True)) == {
        "fraction": 0.25,
        "decimal": 0.5,
        "float32": float(np.float32(0.1)),
        "true": 1.0,
        "int64": -3.0,
        "large": 2.0**70,
    }


def test_strings_of_other_types_are_strings():
    class Tag(enum.StrEnum):
        NOUN = "noun"

    token = {Tag.NOUN: Tag.NOUN, "numpy": np.str_("é"), "nested": {Tag.NOUN: 2}}
    attributes = Attributes()
    attributes.learn([[token, Tag.NOUN, [Tag.NOUN, np.str_("word")], np.array(["a", "b"])]])
    assert attributes.names == ["noun:noun", "numpy:é", "nested:noun", "noun", "word", "a", "b"]


def test_long_rows_are_sorted_and_added_up():
    rng = np.random.default_rng(0)
    names = [f"feature {k}" for k in rng.integers(0, 400, 1000)]
    attributes, columns = Attributes(sorted(set(names))), {}
    for token in (names, [*names, *names], {name: float(k) for k, name in enumerate(names)}):
        columns = {name: column for column, name in enumerate(attributes.names)}
        tokens = attributes.read([[token, ["feature 1"]]])
        assert_proved(tokens)
        assert rows_of(tokens) == read([[token, ["feature 1"]]], columns, False)


def test_many_names():
    """More than the table had room for, of all lengths."""
    names = [f"{k}" * (k % 7 + 1) for k in range(1, 30_000)]
    names = list(dict.fromkeys(names))
    attributes = Attributes()
    tokens = attributes.learn([[[name] for name in names]])
    assert attributes.names == names
    np.testing.assert_array_equal(tokens.rows.indices, np.arange(len(names)))
    assert tokens.binary
    assert [attributes.column(name) for name in names] == list(range(len(names)))
    assert attributes.column("none of these") == -1
    assert "none of these" not in attributes
    assert 3 not in attributes


def test_unknown_names_do_not_spoil_ones():
    attributes = Attributes(["a"])
    assert attributes.read([[{"a": 1, "b": 2.5}]]).binary


def test_nothing_at_all():
    for X in ([], [[]], [[], []], [[[]]], [[{}, []], []]):
        attributes = Attributes()
        assert_proved(attributes.learn(X))
        assert_proved(attributes.read(X))
        assert attributes.names == []
    with pytest.raises(ValueError, match="X is empty"):
        as_tokens([], None, Attributes(), learn=True)
    assert len(as_tokens([], None, Attributes(), learn=False)) == 0


# --- the names --------------------------------------------------------------------------------------------------------


@given(sequences, sequences)
def test_names_survive_copies_and_go_on_learning(X, more):
    attributes = Attributes()
    attributes.learn(X)
    copies = [copy.deepcopy(attributes), pickle.loads(pickle.dumps(attributes)), Attributes(attributes.names)]
    expected = attributes.learn(more)
    for other in copies:
        assert rows_of(other.learn(more)) == rows_of(expected)
        assert other == attributes
        assert len(other) == len(attributes)


@given(sequences, sequences, sequences)
def test_what_a_copy_has_learnt_is_unknown_to_others(X, more, other):
    attributes, twin = Attributes(), Attributes()
    attributes.learn(X)
    twin.learn(X)
    further = copy.copy(attributes)
    further.learn(more)
    assert attributes == twin
    assert rows_of(attributes.read(more)) == rows_of(twin.read(more))
    assert rows_of(attributes.learn(other)) == rows_of(twin.learn(other))
    assert attributes == twin
    expected = Attributes()
    expected.learn(X)
    expected.learn(more)
    assert further == expected


@given(sequences, sequences, st.sampled_from([[[{"a": None}]], [[{"x" * 30: 1.0}], 3], ["ab"], [[["new", 1]]]]))
def test_after_an_error_nothing_was_learnt(X, more, bad):
    attributes, twin = Attributes(), Attributes()
    attributes.learn(X)
    twin.learn(X)
    with pytest.raises(TypeError):
        attributes.learn([*more, *bad])
    assert attributes == twin
    assert rows_of(attributes.learn(more)) == rows_of(twin.learn(more))


def test_known_names_are_found_while_others_are_learnt():
    """The table grows many times, and shrinks after errors, under those who read it."""
    attributes, done, wrong = Attributes(), threading.Event(), []
    X = [[{f"{'a long name, number ' * (i % 2)}{i} {j}": 1.0 for j in range(8)} for i in range(9)], ["unknown"]]
    answers = attributes.learn(X[:1]), attributes.read(X), attributes.names

    def read(reader):
        while not done.is_set() and not wrong:
            found = reader.read(X), reader.names, reader.column("0 7"), copy.copy(reader).names
            if rows_of(found[0]) != rows_of(answers[1]) or found[1:] != (answers[2], 7, answers[2]):
                wrong.append(found)

    threads = [threading.Thread(target=read, args=(copy.copy(attributes),), daemon=True) for _ in range(3)]
    try:
        for thread in threads:
            thread.start()
        for turn in range(40):
            more = [[[f"new {'and long ' * (i % 2)}{turn} {i}" for i in range(300)]]]
            if turn % 4 == 3:
                with pytest.raises(TypeError):
                    attributes.learn([*more, [3]])
            attributes.learn(more)
    finally:
        done.set()
        for thread in threads:
            thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    assert not wrong
    assert len(attributes) == 72 + 40 * 300
    assert attributes.names[:72] == answers[2]


def test_given_names_are_different_strings():
    with pytest.raises(ValueError, match="the name 'a' is there twice"):
        Attributes(["a", "b", "a"])
    with pytest.raises(TypeError, match="names of features are strings, got 3"):
        Attributes(["a", 3])
    assert Attributes(["b", "a"]).names == ["b", "a"]
    assert Attributes() != ["a"]
    assert repr(Attributes(["a"])) == "<1 attributes>"


def test_no_object_of_the_user_is_kept():
    class Word(str):
        pass

    words = [Word("one"), Word("two")]
    kept = [weakref.ref(word) for word in words]
    attributes = Attributes()
    attributes.learn([[words, {words[0]: words[1]}, {words[1]: {words[0]: [words[1]]}}], words])
    words.clear()
    assert [word() for word in kept] == [None, None]
    assert attributes.names == ["one", "two", "one:two", "two:one:two"]


def test_names_whose_strings_die_at_once():
    """A mapping or a generator that makes its strings as it is read."""

    class Fresh(collections.abc.Mapping):
        def __getitem__(self, key):
            return 1.0

        def __iter__(self):
            return (f"key {k} with more than twenty bytes" for k in range(100))

        def __len__(self):
            return 100

    attributes = Attributes()
    attributes.learn([[Fresh(), (f"name {k} with more than twenty bytes" for k in range(100)), {"a": Fresh()}]])
    keys = [f"key {k} with more than twenty bytes" for k in range(100)]
    assert attributes.names == [*keys, *(key.replace("key", "name") for key in keys), *(f"a:{key}" for key in keys)]


def test_a_dict_that_changes_while_it_is_read():
    class Adding:
        def __iter__(self):
            token[f"new {len(token)}"] = 1.0
            return iter(["x"])

    token = {"a": Adding(), "b": 1.0}
    with pytest.raises(RuntimeError, match="sequence 0, token 0: the dict changed while it was read"):
        Attributes().learn([[token]])


# --- errors -----------------------------------------------------------------------------------------------------------

NOT_SEQUENCES = {
    "one text": ("the dog", "X is one text"),
    "bytes": (b"the dog", "X is one text"),
    "a dict": ({"w": "dog"}, "X is a dict, which is one token"),
    "nothing": (None, r"X must be a list of sequences, each a list of tokens, got None \(NoneType\)"),
    "a number": (3, r"X must be a list of sequences, each a list of tokens, got 3 \(int\)"),
    "texts": (["a", "b"], r"sequence 0 is 'a' \(str\): that is a text, or one token; for one sequence give \[X\]"),
    "an array of texts": (np.array(["a", "b"]), "sequence 0 is .*that is a text, or one token"),
    "a later text": ([["a"], "b"], "sequence 1 is 'b'"),
    "dicts": ([{"w": "a"}], r"sequence 0 is \{'w': 'a'\} \(dict\): that is one token; for one sequence give \[X\]"),
    "sets": ([{"a"}], "a set has no order"),
    "numbers": ([[["a"]], 3], r"sequence 1 is 3 \(int\): that has no tokens"),
    "Nones": ([None], "sequence 0 is None"),
    "a vector": (np.zeros(3), "that has no tokens"),
    "matrices": ([sparse.eye_array(2).tocsr()], "stack the matrices into one, and give lengths="),
    "tables": ([pd.DataFrame({"a": [1.0]})], "a table is no sequence"),
    "a dense tensor": (np.zeros((2, 3, 4)), "a feature is .*features in a list are strings"),
    "a number as a token": ([["a", 3]], r"sequence 0, token 1: got 3 \(int\); a token is a string, a list of strings"),
    "None as a token": ([[], ["a", None]], r"sequence 1, token 1: got None \(NoneType\)"),
    "bytes as a token": ([[b"a"]], r"sequence 0, token 0: got b'a' \(bytes\)"),
    "a number as a feature": ([[["a", 3]]], r"sequence 0, token 0: a feature is 3 \(int\)"),
    "bytes as a feature": ([[["a", b"b"]]], r"a feature is b'b' \(bytes\)"),
    "a dict in a list": ([[[{"a": 1}]]], r"a feature is \{'a': 1\} \(dict\)"),
    "a number as a name": ([["a"], [{3: 1.0}]], r"sequence 1, token 0: the name of a feature is 3 \(int\)"),
    "a nested number as a name": ([[{"a": {3: 1.0}}]], r"token 0: the name of a feature is 3 \(int\)"),
    "None as a value": ([[{"a": None}]], r"sequence 0, token 0: feature 'a' has the value None \(NoneType\)"),
    "bytes as a value": ([[{"a": b"x"}]], r"feature 'a' has the value b'x' \(bytes\)"),
    "numbers as values": ([[{"a": ["x", 3]}]], r"feature 'a' has several values, of which one is 3 \(int\), no string"),
    "a complex value": ([[{"a": 1j}]], "sequence 0, token 0: feature 'a', value 1j"),
    "a nested None": ([[{"a": {"b": None}}]], "feature 'a:b' has the value None"),
}


@pytest.mark.parametrize("case", NOT_SEQUENCES)
def test_what_is_no_sequence_is_refused(case):
    X, match = NOT_SEQUENCES[case]
    for learn in (False, True):
        with pytest.raises(TypeError, match=match):
            as_tokens(X, None, Attributes(["a"]), learn=learn)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e101, -1e200, 10**200, np.float32("nan"), 10**400])
@pytest.mark.parametrize("nested", [False, True])
def test_values_are_finite(value, nested):
    token = {"x": {"y": value}} if nested else {"x:y": value}
    kind = OverflowError if isinstance(value, int) and value == 10**400 else ValueError
    with pytest.raises(kind, match="sequence 1, token 2: feature 'x:y'"):
        Attributes().learn([["a"], ["b", "c", token]])


def test_dicts_within_dicts_without_end():
    token = {"a": 1.0}
    token["b"] = token
    with pytest.raises(ValueError, match="sequence 0, token 0: dicts are nested deeper than 100"):
        Attributes().learn([[token]])


def test_an_error_of_the_users_own_comes_through():
    def broken():
        yield ["a"]
        raise KeyError("mine")

    attributes = Attributes()
    for X in ([broken()], broken(), [["a", broken()]]):
        with pytest.raises((KeyError, TypeError)):
            attributes.learn(X)
    assert attributes.names == []


# --- matrices ---------------------------------------------------------------------------------------------------------


@st.composite
def with_lengths(draw):
    X = draw(sparse_matrices(min_rows=1))
    cuts = sorted(draw(st.lists(st.integers(0, X.shape[0]), max_size=6)))
    return X, np.diff([0, *cuts, X.shape[0]])


@given(with_lengths(), st.sampled_from(["csr", "csc", "coo", "dense", "float32", "int64 indices", "table"]))
def test_a_matrix_with_lengths(data, kind):
    X, lengths = data
    dense = X.toarray()
    as_kind = {
        "csr": lambda: X,
        "csc": X.tocsc,
        "coo": X.tocoo,
        "dense": X.toarray,
        "float32": lambda: X.astype(np.float32),
        "int64 indices": lambda: sparse.csr_array(
            (X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64)), X.shape
        ),
        "table": lambda: pd.DataFrame(dense),
    }
    tokens = as_tokens(as_kind[kind](), lengths, None, learn=True)
    np.testing.assert_allclose(tokens.rows.matrix().toarray(), dense, rtol=1e-6)
    assert tokens.lengths.tolist() == lengths.tolist()
    assert tokens.binary == bool((tokens.rows.values == 1).all())
    assert [tokens.place(t) for t in range(tokens.n_tokens)] == [
        (s, k) for s, n in enumerate(lengths) for k in range(n)
    ]


def test_arrays_that_cannot_be_written_to(tmp_path):
    X = sparse.random_array((6, 4), density=0.5, rng=0, format="csr")
    parts = []
    for name in ("data", "indices", "indptr"):
        np.save(tmp_path / name, getattr(X, name))
        parts.append(np.load(tmp_path / f"{name}.npy", mmap_mode="r"))
    mapped = sparse.csr_array(tuple(parts), X.shape)
    lengths = np.array([2, 4])
    lengths.flags.writeable = False
    tokens = as_tokens(mapped, lengths, None, learn=False, n_columns=4)
    np.testing.assert_array_equal(tokens.rows.matrix().toarray(), X.toarray())


def test_ones_are_recognised():
    ones = sparse.csr_array([[1.0, 0, 1], [0, 1, 0]])
    assert as_tokens(ones, [2], None, learn=True).binary
    for value in (0.5, -1.0, 2.0, 0.0):
        others = ones.copy()
        others.data[1] = value
        assert not as_tokens(others, [2], None, learn=True).binary


def test_no_rows():
    for lengths, n in (([], 0), ([0, 0], 2)):
        tokens = as_tokens(sparse.csr_array((0, 3)), lengths, None, learn=False)
        assert_proved(tokens)
        assert (len(tokens), tokens.rows.n_columns) == (n, 3)


@pytest.mark.parametrize(
    ("lengths", "kind", "match"),
    [
        ([2, 1], ValueError, "the 2 lengths add up to 3, but X has 4 rows"),
        ([2, 3], ValueError, "the 2 lengths add up to 5, but X has 4 rows"),
        ([5, -1], ValueError, "lengths holds 5 for sequence 0; X has 4 rows"),
        ([4, -1, 1], ValueError, "lengths holds -1 for sequence 1; no length is negative"),
        ([2.0, 2.0], TypeError, "lengths must hold whole numbers, got float64 2.0"),
        ([True, 3.5], TypeError, "lengths must hold whole numbers"),
        ([np.nan], TypeError, "lengths must hold whole numbers"),
        (["4"], TypeError, "lengths must hold whole numbers"),
        ([[4]], ValueError, r"lengths must be a vector of whole numbers, got shape \(1, 1\)"),
        ([[1], [1, 2]], ValueError, "lengths must be a vector of whole numbers"),
        (4, ValueError, "lengths must be a vector of whole numbers, got 4"),
        ("4", ValueError, "lengths must be a vector of whole numbers, got '4'"),
        ([], ValueError, "the 0 lengths add up to 0, but X has 4 rows"),
        ([2**62, 2**62, 2**62, 2**62 + 4], ValueError, "X has 4 rows"),
        (None, TypeError, r"X is a matrix of shape \(4, 4\); give lengths= too.*\[4\] for one sequence"),
    ],
)
def test_lengths_that_do_not_fit(lengths, kind, match):
    with pytest.raises(kind, match=match):
        as_tokens(sparse.eye_array(4).tocsr(), lengths, None, learn=True)


def test_matrices_and_names_do_not_mix():
    eye = sparse.eye_array(4).tocsr()
    with pytest.raises(TypeError, match="lengths belong to a matrix of tokens, but X is a list"):
        as_tokens([["a"]], [1], Attributes(), learn=True)
    with pytest.raises(TypeError, match=r"fitted on a matrix of 4 columns, which have no names.* but is a list"):
        as_tokens([["a"]], None, None, learn=False, n_columns=4)
    with pytest.raises(ValueError, match="X has 4 features, but the model was fitted with 3"):
        as_tokens(eye, [4], None, learn=False, n_columns=3)
    attributes = Attributes("abcd")
    assert as_tokens(eye, [4], attributes, learn=False, n_columns=4).rows.n_columns == 4
    assert len(attributes) == 4


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e101])
def test_numbers_of_a_matrix_are_finite(value):
    with pytest.raises(ValueError, match="row 2, column 1"):
        as_tokens(sparse.csr_array(([value], ([2], [1])), (4, 4)), [4], None, learn=True)


# --- Ctrl-C -----------------------------------------------------------------------------------------------------------


@pytest.mark.timing
@pytest.mark.parametrize("one", [False, True])
def test_ctrl_c_ends_the_reading_and_nothing_was_learnt(one):
    token = [f"feature {k}" for k in range(20)]
    X = [[token] * 2_000_000] if one else [[token] * 20] * 100_000
    attributes = Attributes(["a"])
    assert interrupted_after(0.1, lambda: copy.copy(attributes).learn(X)) < 0.3
    assert attributes.names[0] == "a"
    assert interrupted_after(0.1, lambda: attributes.read(X)) < 0.3


def test_tokens_are_frozen():
    tokens = Attributes().learn([["a"]])
    assert isinstance(tokens, Tokens)
    with pytest.raises(AttributeError):
        tokens.binary = False


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_what_fails_behind_the_reading_leaves_no_names_either(monkeypatch, error):
    """Ctrl-C is noticed as soon as the reading has returned."""
    attributes = Attributes(["old"])

    def fail(*_):
        raise error

    monkeypatch.setattr("fastlin.sequence.tokens.CSRRows", fail)
    with pytest.raises(error):
        attributes.learn([["new", "old"]])
    monkeypatch.undo()
    assert attributes.names == ["old"]
    assert attributes.learn([["newer", "old"]]).rows.indices.tolist() == [1, 0]


def test_an_empty_name_in_an_empty_reader():
    """What is written first is nothing: the checked build has it that memory is there, nevertheless."""
    attributes = Attributes()
    assert attributes.learn([[{"": ""}, "", [""]]]).rows.indices.tolist() == [0, 1, 1]
    assert attributes.names == [":", ""]
    assert Attributes().learn([[type("Name", (str,), {})("")]]).rows.n_columns == 1
