"""mark_negation: the rule by example, its naive twin, texts and tokens."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer

from fastlin.text import NEGATORS, mark_negation
from fastlin.text import CountVectorizer as Fast
from oracles import features as reference

WORDS = [
    "not",
    "No",
    "never",
    "don't",
    "DON’T",
    "don",
    "cannot",
    "isnt",
    "n't",
    "good",
    "film",
    "a",
    "t",
    "3",
    "é",
    "knot",
]
MARKS = [" ", "  ", ". ", ", ", "!", "?", "…", "—", "-", "(", ")", "\n", '"', "'", "’", ":", "; ", "3.5", "<br />"]
texts = st.lists(st.sampled_from(WORDS + MARKS + [" "] * 10), max_size=25).map("".join)


@pytest.mark.parametrize(
    "text, expected",
    [
        ("It is not a good film.", "It is not a NOT_good NOT_film."),
        ("I don't like it, but you do", "I don't NOT_like NOT_it, but you do"),
        ("I DON’T LIKE it", "I DON’T NOT_LIKE NOT_it"),
        ("no one never liked it", "no NOT_one NOT_never NOT_liked NOT_it"),
        ("Not good; not bad", "Not NOT_good; not NOT_bad"),
        ("you cannot (really) say", "you cannot (really) say"),
        ("not well-known", "not NOT_well-NOT_known"),
        ("not\ngood", "not\nNOT_good"),
        ("not 3.50 stars", "not 3.50 stars"),
        ("a knot in it", "a knot in it"),
        ("don'tcha know", "don'tcha know"),
        ("didnt work", "didnt NOT_work"),
        ("not they don't know", "not NOT_they NOT_don't NOT_know"),
        ("nothing", "nothing"),
        ("", ""),
        (" .not", " .not"),
        ("not été \ud800 中文", "not NOT_été \ud800 NOT_中文"),
    ],
)
def test_the_rule(text, expected):
    assert mark_negation(text) == expected


@given(text=texts)
def test_equals_its_naive_twin(text):
    words, marks = reference.marked(text, NEGATORS)
    made = mark_negation(text)
    assert made.replace("NOT_", "") == text
    expected = [("NOT_" if mark else "") + word for word, mark in zip(words, marks, strict=True)]
    assert re.findall(r"(?u)\b\w\w+\b", made) == expected


@given(text=texts)
def test_the_pattern_says_what_words_are(text):
    words, marks = reference.marked(text, NEGATORS, r"\w+")
    expected = [("NOT_" if mark else "") + word for word, mark in zip(words, marks, strict=True)]
    assert re.findall(r"\w+", mark_negation(text, token_pattern=r"\w+")) == expected


@pytest.mark.parametrize(
    "tokens, expected",
    [
        (["it", "is", "not", "a", "film"], ["it", "is", "not", "NOT_a", "NOT_film"]),
        (["did", "n't", "work", ".", "Good"], ["did", "n't", "NOT_work", ".", "Good"]),
        (["never", "good.", "fine"], ["never", "NOT_good.", "fine"]),
        (["not", "...", "fine"], ["not", "...", "fine"]),
        (["not", "-", "fine", "?!", "x"], ["not", "NOT_-", "NOT_fine", "?!", "x"]),
        (["don't.", "x"], ["don't.", "x"]),
        (("no", "", "x"), ["no", "", "NOT_x"]),
        ([], []),
    ],
)
def test_tokens(tokens, expected):
    before = list(tokens)
    assert mark_negation(tokens) == expected
    assert list(tokens) == before


@given(text=texts)
def test_tokens_and_their_text_agree(text):
    """Where every token is a word or punctuation."""
    text = re.sub("['’\"<>/-]", " ", text)
    tokens = re.findall(r"\w+|[^\w\s]", text)
    expected = re.findall(r"\w+|[^\w\s]", mark_negation(text, token_pattern=r"\w+"))
    assert mark_negation(tokens) == expected


def test_as_a_preprocessor():
    vectorizer = CountVectorizer(preprocessor=mark_negation).fit(["not a good film. good"])
    assert vectorizer.get_feature_names_out().tolist() == ["NOT_film", "NOT_good", "good", "not"]


@pytest.mark.parametrize("bad", [None, 3, b"not good", {"not": 1}, ["not", None], ["not", b"x"]], ids=str)
def test_what_is_no_text_is_refused(bad):
    with pytest.raises(TypeError, match=r"string|token 1"):
        mark_negation(bad)


@given(documents=st.lists(texts, min_size=1, max_size=4), lowercase=st.booleans(), pair=st.booleans())
def test_the_vectorisers_option_agrees(documents, lowercase, pair):
    """negation=True is mark_negation before scikit-learn's vectoriser."""
    options = {"lowercase": lowercase, "ngram_range": (1, 2 if pair else 1)}
    documents = [*documents, "one word"]

    def preprocess(text):
        return mark_negation(text.lower() if lowercase else text)

    expected = CountVectorizer(preprocessor=preprocess, ngram_range=options["ngram_range"])
    theirs = expected.fit_transform(documents)
    ours = Fast(negation=True, **options)
    made = ours.fit_transform(documents)
    assert ours.get_feature_names_out().tolist() == expected.get_feature_names_out().tolist()
    np.testing.assert_array_equal(made.toarray(), theirs.toarray())
