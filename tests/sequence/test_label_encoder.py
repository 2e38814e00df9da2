"""Labels of tokens: codes and back, and a clear error for what is no label of a token."""

import collections
import copy
import datetime
import decimal
import enum
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from fastlin.sequence.label_encoder import LabelEncoder
from fastlin.sequence.tokens import Attributes


def tokens_of(y):
    """Tokens of sequences as long as these."""
    return Attributes().learn([["a"] * len(labels) for labels in y])


strings = st.text("aBé字\0 ", max_size=3)
integers = st.integers(-(2**63), 2**63 - 1)
few = st.sampled_from([strings, integers, st.integers(-2, 2)])
ys = few.flatmap(lambda labels: st.lists(st.lists(labels, max_size=6), min_size=1, max_size=6)).filter(any)


@given(ys)
def test_codes_are_places_among_the_sorted_labels(y):
    labels, tokens = LabelEncoder(), tokens_of(y)
    codes = labels.learn(y, tokens)
    ordered = sorted({label for part in y for label in part})
    assert labels.classes_.tolist() == ordered
    assert labels.classes_.dtype == (object if isinstance(ordered[0], str) else np.int64)
    assert codes.dtype == np.int32
    assert codes.tolist() == [ordered.index(label) for part in y for label in part]
    assert len(labels) == len(ordered)
    found = labels.lists(codes, tokens.starts)
    assert found == y
    assert {type(label) for part in found for label in part} <= {str, int}
    for other in (
        pickle.loads(pickle.dumps(labels)),
        copy.deepcopy(labels),
        LabelEncoder(labels.classes_),
        LabelEncoder(ordered),
    ):
        np.testing.assert_array_equal(other.codes(y, tokens), codes)
        assert other.lists(codes, tokens.starts) == y
        assert other.classes_.tolist() == ordered


@given(ys)
def test_it_does_not_matter_in_what_labels_come(y):
    tokens = tokens_of(y)
    labels = LabelEncoder()
    codes = labels.learn(y, tokens)
    flat = [label for part in y for label in part]

    def objects(values):
        array = np.empty(len(values), object)
        array[:] = values
        return array

    ways = [
        tuple(tuple(part) for part in y),
        [iter(part) for part in y],
        (part for part in y),
        [objects(part) for part in y],
        pd.Series([collections.deque(part) for part in y], dtype=object),
        [np.array(part, dtype=np.int64) if isinstance(flat[0], int) else part for part in y],
        flat,
        tuple(flat),
        iter(flat),
        objects(flat),
        pd.Series(flat, dtype=object),
    ]
    for way in ways:
        other = LabelEncoder()
        np.testing.assert_array_equal(other.learn(way, tokens), codes)
        assert other.classes_.tolist() == labels.classes_.tolist()
        assert {type(label) for label in other.classes_.tolist()} <= {str, int}


def test_labels_of_numpy_and_of_enums_are_plain():
    class Tag(enum.StrEnum):
        NOUN = "noun"
        VERB = "verb"

    class Code(enum.IntEnum):
        TWO = 2
        ONE = 1

    cases = [
        ([[Tag.VERB, "noun"], [np.str_("verb")]], [["verb", "noun"], ["verb"]]),
        ([[Code.TWO, 1], [np.int8(2)]], [[2, 1], [2]]),
        (np.array([["b", "a"], ["a", "c"]]), [["b", "a"], ["a", "c"]]),
        (np.array([[3, 1], [1, 2]], dtype=np.uint8), [[3, 1], [1, 2]]),
        ([np.array(["b", "a"]), np.array([], dtype=str)], [["b", "a"], []]),
    ]
    for y, expected in cases:
        labels, tokens = LabelEncoder(), tokens_of(expected)
        found = labels.lists(labels.learn(y, tokens), tokens.starts)
        assert found == expected
        assert {type(label) for part in found for label in part} <= {str, int}


def test_unseen_labels():
    labels = LabelEncoder(["I", "O", "B"])
    y = [["B", "I"], [], ["O", "X", "Y"]]
    tokens = tokens_of(y)
    assert labels.codes(y, tokens, unseen=-1).tolist() == [0, 1, 2, -1, -1]
    with pytest.raises(ValueError, match="y holds the label 'X' at sequence 2, token 1, which the model has not seen"):
        labels.codes(y, tokens)
    with pytest.raises(ValueError, match="y holds the label 3 at sequence 0, token 0"):
        labels.codes([[3]], tokens_of([[3]]))
    assert labels.codes([[], []], tokens_of([[], []])).tolist() == []


def test_learning_again_forgets():
    labels = LabelEncoder(["a", "b"])
    assert labels.learn([["c"]], tokens_of([["c"]])).tolist() == [0]
    assert labels.classes_.tolist() == ["c"]


TOKENS = [["a", "b"], [], ["c"]]
NOT_LABELS = {
    "nothing": (None, ValueError, "y is None; give a list of labels for each sequence"),
    "a text": ("NVN", TypeError, r"y must hold a list of labels for each sequence, got 'NVN' \(str\)"),
    "a dict": ({"a": 1}, TypeError, "y must hold a list of labels"),
    "a set": ({"a"}, TypeError, "y must hold a list of labels"),
    "a number": (3, TypeError, r"got 3 \(int\)"),
    "a number of numpy": (np.array(3), TypeError, "y must hold a list of labels"),
    "a table": (pd.DataFrame({"a": [1]}), TypeError, "y must hold a list of labels"),
    "a sparse matrix": (sparse.eye_array(3).tocsr(), TypeError, "y must hold a list of labels"),
    "too few sequences": ([["N", "V"], []], ValueError, "X has 3 sequences, y has 2"),
    "too many sequences": ([["N", "V"], [], ["N"], []], ValueError, "X has 3 sequences, y has 4"),
    "none": ([], ValueError, "X has 3 sequences, y has 0"),
    "too few labels": ([["N"], [], ["N"]], ValueError, "sequence 0 has 2 tokens in X, but 1 labels in y"),
    "too many labels": ([["N", "V"], [], ["N", "V"]], ValueError, "sequence 2 has 1 tokens in X, but 2 labels in y"),
    "flat and short": (["N", "V"], ValueError, "y is flat and has 2 labels, but the 3 sequences of X have 3 tokens"),
    "flat and long": (np.arange(4), ValueError, "y is flat and has 4 labels"),
    "a text for a sequence": ([["N", "V"], [], "N"], TypeError, r"that of sequence 2 is 'N' \(str\)"),
    "None for a sequence": ([["N", "V"], None, ["N"]], TypeError, r"that of sequence 1 is None \(NoneType\)"),
    "a number for a sequence": ([["N", "V"], 3, ["N"]], TypeError, r"that of sequence 1 is 3 \(int\)"),
    "a set for a sequence": ([{"N", "V"}, [], ["N"]], TypeError, "that of sequence 0 is {'N', 'V'}"),
    "None": (
        [["N", "V"], [], [None]],
        TypeError,
        r"y holds None \(NoneType\) at sequence 2, token 0; labels are strings",
    ),
    "NaN": ([["N", float("nan")], [], ["N"]], TypeError, r"y holds nan \(float\) at sequence 0, token 1"),
    "floats": ([[1.0, 2.0], [], [1.0]], TypeError, r"y holds 1.0 \(float\) at sequence 0, token 0"),
    "flat floats": (np.array([1.0, 2.0, np.nan]), TypeError, "y holds .*float64.* at sequence 0, token 0"),
    "booleans": ([[True, False], [], [True]], TypeError, r"y holds True \(bool\) at sequence 0, token 0"),
    "flat booleans": (np.array([True, False, True]), TypeError, "y holds .*True.* at sequence 0, token 0"),
    "a boolean": ([[1, 0], [], [True]], TypeError, r"y holds True \(bool\) at sequence 2, token 0"),
    "bytes": ([[b"N", b"V"], [], [b"N"]], TypeError, r"y holds b'N' \(bytes\)"),
    "dates": (np.array(["2020-01-01"] * 3, "datetime64[ns]"), TypeError, "y holds .*datetime64.*; labels are strings"),
    "days": ([[datetime.date(2020, 1, 1)] * 2, [], ["N"]], TypeError, r"y holds .* \(date\) at sequence 0, token 0"),
    "decimals": ([[decimal.Decimal(1)] * 2, [], [1]], TypeError, r"y holds .* \(Decimal\)"),
    "lists": ([[["N"], ["V"]], [], [["N"]]], TypeError, r"y holds \['N'\] \(list\) at sequence 0, token 0"),
    "two kinds": (
        [["N", "V"], [], [3]],
        TypeError,
        r"y holds 'N' \(str\) at sequence 0, token 0 and 3 \(int\) at sequence 2, token 0; labels are all",
    ),
}


@pytest.mark.parametrize("case", NOT_LABELS)
def test_what_is_no_label_is_refused(case):
    y, kind, match = NOT_LABELS[case]
    tokens = tokens_of(TOKENS)
    with pytest.raises(kind, match=match):
        LabelEncoder().learn(y, tokens)
    for unseen in ("error", -1):
        with pytest.raises(kind, match=match):
            LabelEncoder(["N", "V"]).codes(y, tokens, unseen=unseen)


def test_sentences_that_were_read_without_their_labels():
    with pytest.raises(ValueError, match=r"y holds no labels, but None for each sequence.* label= "):
        LabelEncoder().learn([None, None], tokens_of([[1, 2], [3]]))


def test_labels_to_learn_from_are_some_and_fit_into_64_bits():
    with pytest.raises(ValueError, match="y holds no label: there is no token to learn from"):
        LabelEncoder().learn([[], []], tokens_of([[], []]))
    with pytest.raises(ValueError, match=f"the label {2**63} is too large: integer labels have at most 64 bits"):
        LabelEncoder().learn([[1, 2**63]], tokens_of([[1, 2]]))


@pytest.mark.parametrize(
    ("classes", "kind", "match"),
    [
        ("NV", TypeError, "classes must be a list of labels, got 'NV'"),
        (3, TypeError, "classes must be a list of labels, got 3"),
        ([], ValueError, "classes must hold at least one label"),
        (["N", None], TypeError, r"classes holds None \(NoneType\) at place 1"),
        (["N", 3], TypeError, r"classes holds 'N' \(str\) at place 0 and 3 \(int\) at place 1"),
        ([True, False], TypeError, r"classes holds True \(bool\) at place 0"),
        ([2**64], ValueError, "at most 64 bits"),
    ],
)
def test_classes_that_are_given_are_labels(classes, kind, match):
    with pytest.raises(kind, match=match):
        LabelEncoder(classes)
