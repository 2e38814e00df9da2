"""Templates: the features of the naive twin, string by string and column by column, whatever the tokens are."""

import collections
import copy
import os
import pickle
import signal
import threading
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import fastlin
from fastlin.sequence.tokens import Attributes
from fastlin.text.templates import (
    BOS,
    EOS,
    PRESETS,
    Column,
    Part,
    Template,
    Templates,
    chunking,
    crfpp,
    ner,
    pos,
    ratnaparkhi96,
    seen_features,
)
from fastlin.text.templates.dsl import FLAGS
from oracles.templates import Naive, word_of

W, P = Column(0, "w"), Column(1, "pos")
UNUSUAL = ["", "İI", "Σας", "ǅ", "日本", "\ud800x", "\U00010400\U00010428", "x²½", "_B-1", "a\0", "-", "A-1", "…", " "]
WORDS = st.sampled_from(["a", "A", "ab", "Ab", "aB1", "12", "of", "New", "new", *UNUSUAL]) | st.text(max_size=9)
SENTENCES = st.lists(st.lists(st.tuples(WORDS, WORDS), max_size=6), min_size=1, max_size=5)
GAZETTEERS = {"city": ["New", "a of", "a of New", "12", "日本 a"], "name": {"ab", "Ab Ab", "İI"}}


@st.composite
def parts(draw, functions=("word", "shape", "short_shape", "prefix", "suffix", "within", *FLAGS)):
    function = draw(st.sampled_from(functions))
    if function in ("first", "last"):
        return BOS if function == "first" else EOS
    part = draw(st.sampled_from([W, P]))[draw(st.integers(-3, 3))]
    if function in ("word", "prefix", "suffix", "within") and draw(st.booleans()):
        part = part.lower
    if function == "word":
        return part
    if function in ("prefix", "suffix", "rare"):
        return getattr(part, function)(draw(st.integers(1, 4)))
    return part.within(draw(st.sampled_from(sorted(GAZETTEERS)))) if function == "within" else getattr(part, function)


@st.composite
def templates(draw):
    made = Template(tuple(draw(st.lists(parts(), min_size=1, max_size=4))))
    for flag in draw(st.lists(parts(functions=FLAGS), max_size=2)):
        made = made.when(flag) if draw(st.booleans()) else made.unless(flag)
    return made


LISTS = st.lists(templates(), min_size=1, max_size=6)
PADDINGS = st.sampled_from([None, "_B", ""])


def counts_of(*samples):
    """How often each word occurs in each column."""
    tokens = [token for X in samples for sequence in X for token in sequence]
    return {column: collections.Counter(word_of(token, column) for token in tokens) for column in (0, 1)}


def rows_of(model, X):
    """(rows as {column: value}, lengths) of what models of sequences ask for."""
    rows, starts, binary = model.tokens(X)
    assert rows.indptr[-1] == len(rows.indices) == len(rows.values)
    assert len(rows) == starts[-1]
    assert binary == bool((rows.values == 1).all())
    assert rows.largest == rows.values.max(initial=0)
    made = []
    for start, stop in zip(rows.indptr[:-1], rows.indptr[1:], strict=True):
        columns = rows.indices[start:stop]
        assert (np.diff(columns) > 0).all()
        made.append(dict(zip(columns.tolist(), rows.values[start:stop].tolist(), strict=True)))
    return made, np.diff(starts).tolist()


def tokens_of(strings):
    return [token for sequence in strings for token in sequence]


# --- the twin --------------------------------------------------------------------------------------------------------


@given(LISTS, PADDINGS, SENTENCES)
def test_every_string_is_the_twins(chosen, padding, X):
    naive = Naive(chosen, padding, GAZETTEERS, counts_of(X))
    assert Templates(chosen, padding=padding, gazetteers=GAZETTEERS).strings(X) == naive.strings(X)


@given(LISTS, PADDINGS, SENTENCES, SENTENCES)
def test_rows_have_a_column_for_each_string_in_order_of_appearance(chosen, padding, X, Y):
    model = Templates(chosen, padding=padding, gazetteers=GAZETTEERS).fit(X)
    naive = Naive(chosen, padding, GAZETTEERS, counts_of(X))
    names = model.get_feature_names_out().tolist()
    assert len(names) == model.n_features_
    found, lengths = rows_of(model, X)
    assert lengths == list(map(len, X))
    seen = -1
    for row, strings in zip(found, tokens_of(naive.strings(X)), strict=True):
        expected = collections.Counter(strings)
        values = collections.Counter()
        for column, value in row.items():
            values[names[column]] += value
        assert values == expected
        new = sorted(column for column in row if column > seen)
        assert new == list(range(seen + 1, seen + 1 + len(new)))
        seen = max(seen, *new) if new else seen
    assert seen == len(names) - 1
    known = set(names)
    if len(known) == len(names):  # else some differ, but not in their texts
        for row, strings in zip(rows_of(model, Y)[0], tokens_of(naive.strings(Y)), strict=True):
            expected = collections.Counter(string for string in strings if string in known)
            assert {names[column]: value for column, value in row.items()} == expected


@given(LISTS, PADDINGS, SENTENCES)
def test_columns_are_those_of_a_reader_of_the_strings(chosen, padding, X):
    model = Templates(chosen, padding=padding, gazetteers=GAZETTEERS)
    rows, starts, _ = model.tokens(X, learn=True)
    attributes = Attributes()
    expected = attributes.learn(model.strings(X))
    if len(attributes) == model.n_features_:
        assert model.get_feature_names_out().tolist() == attributes.names
        np.testing.assert_array_equal(rows.indptr, expected.rows.indptr)
        np.testing.assert_array_equal(rows.indices, expected.rows.indices)
        np.testing.assert_array_equal(rows.values, expected.rows.values)
        np.testing.assert_array_equal(starts, expected.starts)


@given(LISTS, PADDINGS, SENTENCES, SENTENCES)
def test_what_is_learnt_later_comes_behind_and_counts_words_on(chosen, padding, X, Y):
    model = Templates(chosen, padding=padding, gazetteers=GAZETTEERS).fit(X)
    before = model.get_feature_names_out().tolist()
    model.partial_fit(Y)
    names = model.get_feature_names_out().tolist()
    assert names[: len(before)] == before
    naive = Naive(chosen, padding, GAZETTEERS, counts_of(X, Y))
    assert model.strings(Y) == naive.strings(Y)
    for row, strings in zip(rows_of(model, Y)[0], tokens_of(naive.strings(Y)), strict=True):
        assert sum(row.values()) == len(strings)
        assert {names[column] for column in row} == set(strings)
    model.fit(Y)
    fresh = Templates(chosen, padding=padding, gazetteers=GAZETTEERS).fit(Y)
    assert model.get_feature_names_out().tolist() == fresh.get_feature_names_out().tolist()


@given(LISTS, PADDINGS, SENTENCES, SENTENCES)
def test_copies_know_the_same_and_go_on_alike(chosen, padding, X, Y):
    model = Templates(chosen, padding=padding, gazetteers=GAZETTEERS).fit(X)
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert rows_of(other, Y) == rows_of(model, Y)
        assert other.strings(Y) == model.strings(Y)
    other.partial_fit(Y)
    assert rows_of(other, X)[1] == rows_of(model, X)[1]
    model.partial_fit(Y)
    assert other.get_feature_names_out().tolist() == model.get_feature_names_out().tolist()
    assert rows_of(other, Y) == rows_of(model, Y)


@given(SENTENCES)
def test_blocks_do_not_show(X):
    chosen = ner(gazetteers=GAZETTEERS, pos=1)
    expected = Templates(**chosen.get_params()).fit(X)
    found = Templates(**chosen.get_params())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(seen_features, "PLACES_PER_BLOCK", 1)
        found.fit(X)
    assert rows_of(found, X) == rows_of(expected, X)
    assert found.get_feature_names_out().tolist() == expected.get_feature_names_out().tolist()


# --- presets ---------------------------------------------------------------------------------------------------------


def test_chunking_is_crfsuites_template():
    X = [[("Confidence", "NN"), ("in", "IN"), ("the", "DT"), ("pound", "NN"), ("falls", "VBZ")], [("Yes", "UH")]]
    found = chunking().strings(X)
    assert found[0][2] == [
        "w[-2]=Confidence", "w[-1]=in", "w[0]=the", "w[1]=pound", "w[2]=falls",
        "w[-1]|w[0]=in|the", "w[0]|w[1]=the|pound",
        "pos[-2]=NN", "pos[-1]=IN", "pos[0]=DT", "pos[1]=NN", "pos[2]=VBZ",
        "pos[-2]|pos[-1]=NN|IN", "pos[-1]|pos[0]=IN|DT", "pos[0]|pos[1]=DT|NN", "pos[1]|pos[2]=NN|VBZ",
        "pos[-2]|pos[-1]|pos[0]=NN|IN|DT", "pos[-1]|pos[0]|pos[1]=IN|DT|NN", "pos[0]|pos[1]|pos[2]=DT|NN|VBZ",
    ]  # fmt: skip
    assert found[0][0] == [
        "w[0]=Confidence", "w[1]=in", "w[2]=the", "w[0]|w[1]=Confidence|in",
        "pos[0]=NN", "pos[1]=IN", "pos[2]=DT", "pos[0]|pos[1]=NN|IN", "pos[1]|pos[2]=IN|DT",
        "pos[0]|pos[1]|pos[2]=NN|IN|DT", "__BOS__",
    ]  # fmt: skip
    assert found[1] == [["w[0]=Yes", "pos[0]=UH", "__BOS__", "__EOS__"]]


def test_ratnaparkhis_rare_words_are_spelt_and_common_ones_are_not():
    X = [["the", "U.N.-led", "the"], ["the", "the", "the"]]
    model = ratnaparkhi96().fit(X)
    around = ["w[-1]=the", "w[-2]=_B-1", "w[1]=the", "w[2]=_B+1"]
    spelling = [
        *(f"w[0].prefix({n})={'U.N.-led'[:n]}" for n in (1, 2, 3, 4)),
        *(f"w[0].suffix({n})={'U.N.-led'[-n:]}" for n in (1, 2, 3, 4)),
        "w[0].has_capital",
        "w[0].has_hyphen",
    ]
    assert model.strings(X)[0][1] == [*spelling, *around]
    assert model.strings(X)[0][0] == ["w[0]=the", "w[-1]=_B-1", "w[-2]=_B-2", "w[1]=U.N.-led", "w[2]=the"]
    assert model.strings([["in42"]])[0][0][-5:] == ["w[0].has_digit", *(f"w[{d}]=_B{d:+d}" for d in (-1, -2, 1, 2))]
    assert ratnaparkhi96(rare=2).fit([["a", "a", "b"]]).strings([["a"]])[0][0][0] == "w[0]=a"


@pytest.mark.parametrize("make", [*PRESETS.values(), lambda: ner(gazetteers=GAZETTEERS, pos=1)])
def test_presets_are_the_twins(make):
    model = make()
    X = [[("New", "NNP"), ("a", "DT"), ("of", "IN"), ("New", "NNP"), ("1-Ab", "X")], [], [("é", "Y")]]
    naive = Naive(list(map(whole, model.templates)), model.padding, model.gazetteers, counts_of(X))
    assert model.strings(X) == naive.strings(X)
    assert not any(len(set(strings)) < len(strings) for strings in tokens_of(model.strings(X)))
    assert len(rows_of(model.fit(X), X)[0]) == 6


def whole(template):
    return Template((template,)) if isinstance(template, Part) else template


def test_words_alone_are_enough_where_templates_read_nothing_else():
    X = [["a", "b"], ["c"]]
    assert pos().strings(X) == pos().strings([[("a",), ["b", "NN"]], (("c",),)])


# --- the language ----------------------------------------------------------------------------------------------------


def test_crfpps_templates():
    text = """
    # Unigram
    U00:%x[-2,0]
    U01:%x[-1,0]/%x[0,0]
    *02:%X[0,0]/%x[ 1, 1 ]/end
    U

    # Bigram
    B
    B03:%x[0,1]
    """
    X = [[("He", "PRP"), ("reckons", "VBZ")]]
    assert Templates(crfpp(text), padding="_B").strings(X) == [
        [
            ["U00:_B-2", "U01:_B-1/He", "*02:he/VBZ/end", "U"],
            ["U00:_B-1", "U01:He/reckons", "*02:reckons/_B+1/end", "U"],
        ]
    ]


def test_crfpps_features_of_two_labels_are_chosen_by_themselves():
    text = "U00:%x[0,0]\nB\nB01:%x[0,0]\n*02:%x[1,0]"
    assert Templates(crfpp(text, of="B")).strings([["a", "b"]]) == [[["B01:a", "*02:b"], ["B01:b"]]]


def test_crfpps_templates_show_their_lines():
    lines = ["U00:%x[-1,0]", "U01:%X[0,1]/%x[2,0]/end", "U"]
    assert list(map(repr, crfpp("\n".join(lines)))) == lines


@pytest.mark.parametrize("line", ["X00:%x[0,0]", "U00:%y[0,0]", "U00:%x[0]", "U:100%", 'U:%t[0,0,"x"]', "U:%x[0,-1]"])
def test_what_crfpp_does_not_know_is_refused_with_its_line(line):
    with pytest.raises(ValueError, match="line 2"):
        crfpp(f"U00:%x[0,0]\n{line}")
    with pytest.raises(ValueError, match="of must be"):
        crfpp("", of="X")


def test_templates_of_one_text_are_one_bag():
    model = Templates(crfpp("U:%x[-1,0]\nU:%x[0,0]\nU:%x[0,1]\nU:%x[0,0]"))
    X, lengths = model.fit_transform([[("a", "b"), ("b", "c")]])
    assert model.get_feature_names_out().tolist() == ["U:a", "U:b", "U:c"]
    assert X.toarray().tolist() == [[2, 1, 0], [1, 2, 1]]
    assert lengths.tolist() == [2]
    rows, _, binary = model.tokens([[("a", "b"), ("b", "c")]])
    assert not binary
    assert rows.largest == 2
    model = Templates(crfpp("U:%x[-1,0]/%x[0,1]\nU:%x[0,1]/%x[0,0]"))
    model.fit([[("a", "b"), ("b", "a")]])
    assert model.get_feature_names_out().tolist() == ["U:b/a", "U:a/a", "U:a/b"]


def test_features_whose_texts_are_alike_by_chance_are_two():
    model = Templates([W[0] & P[0]])
    X, _ = model.fit_transform([[("a|b", "c"), ("a", "b|c")]])
    assert X.toarray().tolist() == [[1, 0], [0, 1]]
    assert len(set(model.get_feature_names_out())) == 1


def test_entries_of_gazetteers_are_found_longest_first_and_do_not_overlap():
    model = Templates(
        [W[0].within("city")], gazetteers={"city": {"New York", "York Times", "New York City Hall", "York"}}
    )
    found = model.strings([["New", "York", "Times", "New", "York", "City", "York"], ["York"]])
    marks = [[strings[0][-1] if strings else "" for strings in sequence] for sequence in found]
    assert marks == [["B", "I", "", "B", "I", "", "B"], ["B"]]
    model.fit([["nothing"]])
    assert model.strings([["York"]]) == [[["w[0].within(city)=B"]]]


def test_templates_read_as_they_are_written():
    made = [W[0], (W[-1] & P[0].lower).when(W[0].rare(5)), W[0].lower.suffix(3).unless(BOS), *crfpp("U1:%x[0,0]!")]
    assert (
        repr(made)
        == "[w[0], (w[-1] & pos[0].lower).when(w[0].rare(5)), w[0].lower.suffix(3).unless(__BOS__), U1:%x[0,0]!]"
    )
    assert repr(Column(2)[1]) == "x2[1]"
    assert (W[0] & W[1]).when(BOS) & P[0] == Template((W[0], W[1], P[0]), ((BOS, True),))


def test_plain_tuples_are_templates_too():
    made = [W[0].lower, (W[-1] & P[0]).when(W[0].rare(2)), *crfpp("U1:%x[0,0]!")]
    plain = [as_tuples(template) for template in made]
    X = [[("a", "b"), ("a", "c"), ("d", "e")]]
    assert Templates(plain).strings(X) == Templates(made).strings(X)


def as_tuples(value):
    return tuple(map(as_tuples, value)) if isinstance(value, tuple) else value


@pytest.mark.parametrize(
    ("make", "error", "said"),
    [
        (lambda: W[0].lower.shape, TypeError, "no shape of w.0..lower"),
        (lambda: W[0].suffix(2).prefix(1), TypeError, "no prefix of"),
        (lambda: W[0].lower.rare(2), TypeError, "no rare"),
        (lambda: W[0].suffix(0), ValueError, "suffix needs a whole number from 1"),
        (lambda: W[0].prefix(101), ValueError, "prefix needs a whole number from 1 to 100"),
        (lambda: W[0].rare(2.5), ValueError, "rare needs"),
        (lambda: W[0].within(3), TypeError, "within does not take 3"),
        (lambda: W[101], ValueError, "at most 100 tokens"),
        (lambda: W["a"], TypeError, "whole numbers"),
        (lambda: Column(-1)[0], ValueError, "no column -1"),
        (lambda: W[0].when(W[0].lower), TypeError, "a condition must be a flag"),
        (lambda: W[0].when("rare"), TypeError, "a condition must be a flag"),
        (lambda: W[0] & "a", TypeError, "unsupported operand"),
        (lambda: crfpp("U:%x[0,0]")[0] & W[0], TypeError, "without a text of their own"),
        (lambda: list(W), TypeError, "cannot be iterated"),
    ],
)
def test_what_is_no_template_is_refused_where_it_is_written(make, error, said):
    with pytest.raises(error, match=said):
        make()


@pytest.mark.parametrize(
    ("parameters", "error", "said"),
    [
        ({"templates": "chunking"}, TypeError, "templates must be a list"),
        ({"templates": 3}, TypeError, "templates must be a list"),
        ({"templates": []}, ValueError, "at least one"),
        ({"templates": [W[0], "w"]}, TypeError, "templates.1. must be a template"),
        ({"templates": [Template(())]}, ValueError, "templates.0."),
        ({"templates": [Template((W[0],), (), ("a",))]}, ValueError, "text that does not fit"),
        ({"templates": [Template((W[0],), (), ("a", 3))]}, ValueError, "text that does not fit"),
        ({"templates": [Template((W[0],), ((W[0], True),))]}, TypeError, "condition must be a flag"),
        ({"templates": [Part("w", 0, 0, "sound")]}, TypeError, "no part of a template"),
        ({"templates": [Part("w", 0, 0, "rare", 3, True)]}, TypeError, "no rare in lower case"),
        ({"templates": [W[0]], "padding": 1}, TypeError, "padding must be a string"),
        ({"templates": [W[0].within("x")]}, ValueError, "names no gazetteer"),
        ({"templates": [W[0]], "gazetteers": ["a"]}, TypeError, "gazetteers must be a dict"),
        ({"templates": [W[0]], "gazetteers": {"a": "b"}}, TypeError, "gazetteers must be a dict"),
        ({"templates": [W[0].within("a")], "gazetteers": {"a": ["b", 3]}}, TypeError, "'a' holds 3"),
        ({"templates": [W[0].within("a")], "gazetteers": {"a": ["b", " "]}}, ValueError, "without a word"),
    ],
)
def test_impossible_parameters_are_refused(parameters, error, said):
    with pytest.raises(error, match=said):
        Templates(**parameters).fit([["a"]])


# --- tokens ----------------------------------------------------------------------------------------------------------


class Name(str):
    __slots__ = ()


class Pair(NamedTuple):
    word: str
    pos: object


@pytest.mark.parametrize(
    ("X", "error", "said"),
    [
        ("text", TypeError, "X must be a list of sequences"),
        ({"a": 1}, TypeError, "X must be a list of sequences"),
        (3, TypeError, "X must be a list of sequences"),
        ([["a"], "text"], TypeError, "sequence 1 is str 'text'"),
        ([["a"], {"a": 1}], TypeError, "sequence 1 is dict"),
        ([["a"], None], TypeError, "sequence 1 is NoneType"),
        ([["a"], ["b", b"c"]], TypeError, "sequence 1, token 1: bytes b'c' is no token"),
        ([["a"], ["b", None]], TypeError, "sequence 1, token 1: NoneType None"),
        ([["a"], ["b", {"w": "c"}]], TypeError, "sequence 1, token 1: dict"),
        ([["a"], ["b", 2.5]], TypeError, "sequence 1, token 1: float 2.5"),
        ([["a"], ["b", (3,)]], TypeError, "sequence 1, token 1: column 0 holds int 3"),
        ([["a"], ["b", [None, "x"]]], TypeError, "sequence 1, token 1: column 0 holds NoneType"),
        ([["a"], ["b", ()]], ValueError, r"sequence 1, token 1: \(\) has 0 columns"),
    ],
)
def test_errors_name_sequence_and_token_and_leave_everything_as_it_was(X, error, said):
    model = Templates([W[0], W[-1] & W[0]]).fit([["a", "b"]])
    for attempt in (model.fit, model.partial_fit, model.transform, model.strings):
        with pytest.raises(error, match=said):
            attempt(X)
    assert model.get_feature_names_out().tolist() == ["w[0]=a", "w[0]=b", "w[-1]|w[0]=a|b"]


def test_missing_columns_are_named():
    with pytest.raises(ValueError, match="sequence 0, token 1: 'b' is a word alone, and the templates read column 1"):
        chunking().fit([[("a", "X"), "b"]])
    with pytest.raises(ValueError, match=r"sequence 0, token 0: .* has 1 columns, and the templates read column 1"):
        chunking().fit([[("a",)]])


def test_any_strings_and_iterables_will_do():
    plain = [["ab", "Ä", "日", "\ud83d", "𐐀"], []]
    expected = pos().strings(plain)
    assert pos().strings([[Name(word) for word in sequence] for sequence in plain]) == expected
    assert pos().strings([np.array(plain[0], object), ()]) == expected
    assert pos().strings(iter([(word for word in plain[0]), ()])) == expected
    assert pos().strings([[Pair(word, 3) for word in plain[0]], []]) == expected


def test_nothing_to_learn_from_and_nothing_to_read():
    model = Templates([W[0], BOS])
    for attempt in (model.fit, model.partial_fit, model.fit_transform, lambda X: model.tokens(X, learn=True)):
        with pytest.raises(ValueError, match="X is empty"):
            attempt([])
    assert not model.__sklearn_is_fitted__()
    assert model.strings([]) == []
    model.fit([[], []])
    assert model.n_features_ == 0
    X, lengths = model.transform([["a"], []])
    assert X.shape == (1, 0)
    assert lengths.tolist() == [1, 0]
    model.partial_fit([["a"]])
    with pytest.raises(ValueError, match="X is empty"):
        model.partial_fit([])
    assert model.transform([])[0].shape == (0, 2)
    for method in ("transform", "tokens", "get_feature_names_out"):
        with pytest.raises(NotFittedError):
            getattr(clone(model), method)([["a"]])


def test_long_sequences_words_and_windows():
    n = 5_000
    words = [f"w{i % 97}" for i in range(n)]
    words[17] = "x" * 10_000 + "é"
    chosen = [W[-100] & W[100], W[0].suffix(3), W[99], *(W[d] for d in range(-40, 41))]
    X = [words, words[:3]]
    model, expected = Templates(chosen), Naive(list(map(whole, chosen))).strings(X)
    assert model.strings(X) == expected
    found, lengths = rows_of(model.fit(X), X)
    assert lengths == [n, 3]
    assert list(map(len, found)) == list(map(len, tokens_of(expected)))


def test_one_template_and_two_hundred_have_rows_in_order():
    chosen = [W[d] & P[e] for d in range(-10, 10) for e in range(-5, 5)]
    X = [[(str(i * 7 % 11), str(i * 3 % 5)) for i in range(40)]]
    model = Templates(chosen).fit(X)
    names = model.get_feature_names_out()
    for row, strings in zip(rows_of(model, X)[0], Naive(chosen).strings(X)[0], strict=True):
        assert {names[column] for column in row} == set(strings)


# --- files -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [*PRESETS.values(), lambda: ner(gazetteers=GAZETTEERS, pos=1), lambda: bags()])
@pytest.mark.parametrize("mmap", [True, False])
def test_files_hold_all_that_was_learnt(make, mmap, tmp_path):
    X = [[(f"W{i * j % 90}é", f"P{i * j % 7}") for i in range(1, 12)] for j in range(20)]
    model = make().fit(X)
    fastlin.save(model, tmp_path / "model.fastlin")
    loaded = fastlin.load(tmp_path / "model.fastlin", mmap=mmap)
    assert loaded.get_feature_names_out().tolist() == model.get_feature_names_out().tolist()
    Y = [[("W1é", "P1"), ("new", "P9")], *X]
    assert rows_of(loaded, Y) == rows_of(model, Y)
    assert loaded.strings(Y) == model.strings(Y)
    assert rows_of(loaded.partial_fit(Y), Y) == rows_of(model.partial_fit(Y), Y)
    fastlin.save(loaded, tmp_path / "again.fastlin")
    assert rows_of(fastlin.load(tmp_path / "again.fastlin"), Y) == rows_of(model, Y)


def bags():
    return Templates(crfpp("U:%x[-1,0]/%x[0,1]\nU:%x[0,1]/%x[0,0]\n*:%x[0,0]"), padding="_B")


def test_files_hold_what_has_not_been_fitted_and_nothing_that_does_not_fit(tmp_path):
    path = tmp_path / "model.fastlin"
    fastlin.save(chunking(), path)
    assert fastlin.load(path).fit([[("a", "X")]]).n_features_ == 4
    model = chunking().fit([[("a", "X")]])
    model.set_params(padding="_B")
    with pytest.raises(ValueError, match="changed since it was fitted"):
        fastlin.save(model, path)


def state_of():
    model = Templates([W[0], W[-1] & W[0].suffix(1), W[0].unless(W[0].rare(2))], padding="_B")
    return model, model.fit([["a", "b", "a", "cb"]])._index.state()


def without_markers(state):
    state["words"][0] = [word for word in state["words"][0] if not word.startswith("_B")]


WRONG = {
    "words twice": lambda state: state["words"][0].__setitem__(-1, "a"),
    "no words": lambda state: state["words"].clear(),
    "numbers": lambda state: state["words"][0].__setitem__(-1, 3),
    "no markers": without_markers,
    "strings that no word has": lambda state: state["strings"][1].pop(),
    "strings twice": lambda state: state["strings"][1].__setitem__(-1, state["strings"][1][0]),
    "pairs of what there is not": lambda state: state["pairs"][0].__setitem__(0, state["pairs"][0][0] + 90),
    "negative pairs": lambda state: state["pairs"][0].__setitem__(1, -state["pairs"][0][1] - 1),
    "pairs twice": lambda state: state["pairs"].__setitem__(0, [side[[0, 0, 1]] for side in state["pairs"][0]]),
    "pairs of two lengths": lambda state: state["pairs"][0].__setitem__(0, state["pairs"][0][0][:-1]),
    "wide pairs": lambda state: state["pairs"].__setitem__(0, [side.astype(np.int64) for side in state["pairs"][0]]),
    "families there are not": lambda state: state["columns"].__setitem__(0, state["columns"][0] + 3),
    "numbers there are not": lambda state: state["columns"].__setitem__(1, state["columns"][1] + 90),
    "negative numbers": lambda state: state["columns"].__setitem__(1, -1 - state["columns"][1]),
    "columns twice": lambda state: state.__setitem__("columns", [part[[0, 0]] for part in state["columns"]]),
    "columns of two lengths": lambda state: state["columns"].__setitem__(1, state["columns"][1][1:]),
    "wide columns": lambda state: state["columns"].__setitem__(1, state["columns"][1].astype(np.int64)),
    "counts below zero": lambda state: state["counts"].__setitem__(0, -1 - state["counts"][0]),
    "counts of other words": lambda state: state["counts"].__setitem__(0, state["counts"][0][1:]),
    "counts that are none": lambda state: state["counts"].__setitem__(0, state["counts"][0] / 2),
}


@pytest.mark.parametrize("name", WRONG)
def test_states_that_no_templates_have_are_refused(name):
    model, state = state_of()
    seen_features.TemplateIndex.restored(model._program(), copy.deepcopy(state))
    WRONG[name](state)
    with pytest.raises((ValueError, TypeError)):
        seen_features.TemplateIndex.restored(model._program(), state)


# --- as an estimator -------------------------------------------------------------------------------------------------


def test_the_matrix_is_a_csr_of_doubles_with_the_lengths():
    X, lengths = chunking().fit_transform([[("a", "X"), ("b", "Y")], [("a", "X")]])
    assert X.format == "csr"
    assert X.dtype == np.float64
    assert X.has_sorted_indices
    assert lengths.tolist() == [2, 1]
    assert lengths.dtype == np.int64


def test_clones_are_not_fitted_and_parameters_come_back():
    model = ner(gazetteers=GAZETTEERS).fit([["a"]])
    other = clone(model)
    assert not other.__sklearn_is_fitted__()
    assert other.get_params()["templates"] == model.templates
    assert other.fit([["a"]]).get_feature_names_out().tolist() == model.get_feature_names_out().tolist()
    assert "w[-2]" in repr(model)


def test_parameters_that_change_after_a_fit_wait_for_the_next():
    model = Templates([W[0]]).fit([["a"]])
    model.set_params(templates=[W[0].lower])
    assert model.strings([["A"]]) == [[["w[0]=A"]]]
    assert model.fit([["A"]]).strings([["A"]]) == [[["w[0].lower=a"]]]


def test_an_interrupt_leaves_what_was_learnt(monkeypatch):
    X = [[("a", "X"), ("b", "Y")], [("c", "Z")]]
    model = chunking().fit(X)
    before, names = rows_of(model, X), model.get_feature_names_out().tolist()
    run = seen_features.TemplateIndex._number_pairs

    def interrupted(self, pair, *arguments):
        run(self, pair, *arguments)
        if pair == self.program.pairs[-1]:
            raise KeyboardInterrupt

    monkeypatch.setattr(seen_features.TemplateIndex, "_number_pairs", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit([[("d", "X"), ("e", "V"), ("b", "Y")]])
    monkeypatch.undo()
    assert model.get_feature_names_out().tolist() == names
    assert rows_of(model, X) == before
    model.partial_fit([[("d", "X"), ("e", "V"), ("b", "Y")]])
    fresh = chunking().fit(X).partial_fit([[("d", "X"), ("e", "V"), ("b", "Y")]])
    assert model.get_feature_names_out().tolist() == fresh.get_feature_names_out().tolist()


def test_threads_read_while_one_learns():
    X = [[(f"w{i * j % 501}", f"p{i % 7}") for i in range(50)] for j in range(1, 40)]
    model, expected = chunking().fit(X[:2]), chunking().fit(X[:2])
    names = expected.get_feature_names_out().tolist()
    found = []

    def read():
        found.extend(model.tokens(X[:2])[0].indices for _ in range(20))

    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    for sequence in X[2:]:
        model.partial_fit([sequence])
    for thread in threads:
        thread.join()
    assert model.get_feature_names_out().tolist()[: len(names)] == names
    indices = expected.tokens(X[:2])[0].indices
    assert len(found) == 40
    assert all(np.array_equal(np.intersect1d(one, indices), np.unique(indices)) for one in found)


def test_ctrl_c_ends_a_walk_without_end():
    def endless():
        while True:
            yield ["a", "b"] * 10

    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    old = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            Templates([W[0]]).fit(endless())
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, old)


CLASSES = {
    "has_capital": lambda c: c.isupper() or c.istitle(),
    "initial_capital": lambda c: c.isupper() or c.istitle(),
    "all_capitals": lambda c: c.isupper() or c.istitle(),
    "has_digit": str.isdigit,
    "all_digits": str.isdigit,
    "punctuation": lambda c: not (c.isalnum() or c.isspace()),
}


@pytest.mark.parametrize("flag", CLASSES)
def test_classes_of_characters_are_pythons(flag):
    characters = [chr(code) for code in range(0x20000)]
    found = Templates([getattr(W[0], flag)]).strings([characters])[0]
    wrong = [c for c, features in zip(characters, found, strict=True) if bool(features) != CLASSES[flag](c)]
    assert wrong == []
