"""Automata of patterns find what `re` finds, or there is none."""

import re
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastlin import CountVectorizer, HashingVectorizer
from fastlin.text.analyzer import token_of
from fastlin.text.token_automaton import automaton_of

ATOMS = (
    "a",
    "b",
    "A",
    r"\.",
    "-",
    "'",
    ".",
    "é",
    r"\w",
    r"\W",
    r"\d",
    r"\S",
    "[a-c]",
    "[^ab ]",
    r"[\w']",
    r"[^\W\d]",
    "[é-ü]",
)
ATOMS += (r"\b", r"\B", "\U0001f642", r"\xe9", r"[\-.,]")
QUANTIFIERS = ("", "", "", "+", "*", "?", "{2}", "{1,}", "{,2}", "{1,3}", "+?", "??", "{1,2}?")
TEXTS = st.lists(st.text("abcABé' -_19.,\n\U0001f642İΣſ", max_size=40), min_size=1, max_size=4)


def wrapped(children):
    return st.one_of(
        st.tuples(children, st.sampled_from(QUANTIFIERS)).map(lambda p: f"(?:{p[0]}){p[1]}"),
        st.tuples(children, children).map("".join),
        st.tuples(children, children).map("|".join),
    )


SIMPLE = st.tuples(st.sampled_from(ATOMS), st.sampled_from(QUANTIFIERS)).map("".join)
EXPRESSIONS = st.tuples(st.sampled_from(["", "", "(?u)", "(?i)", "(?a)"]), st.recursive(SIMPLE, wrapped, max_leaves=6))


def counted(vectorizer, texts):
    """The features of each text, and how often it has them."""
    X = vectorizer.fit_transform(texts)
    names = vectorizer.get_feature_names_out()
    return [sorted((str(names[j]), int(n)) for j, n in zip(row.indices, row.data, strict=True)) for row in X]


@given(EXPRESSIONS.map("".join), TEXTS, st.booleans())
def test_an_automaton_finds_what_re_finds(pattern, texts, lowercase):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            compiled = re.compile(pattern)
        except (re.error, FutureWarning):
            return
    if automaton_of(pattern) is None:
        return
    words = [compiled.findall(text.lower() if lowercase else text) for text in texts]
    if not any(words):
        return
    expected = [sorted((word, found.count(word)) for word in set(found)) for found in words]
    assert counted(CountVectorizer(token_pattern=pattern, lowercase=lowercase), texts) == expected


KNOWN = (
    r"[a-z]+",
    r"[a-zA-Z]+",
    r"[\w']+",
    r"\w+|[^\w\s]",
    r"[^\s]+",
    r"(?i)[a-z]+(?:'[a-z]+)?",
    r"\b[^\W\d_]{2,}\b|\d+(?:[.,]\d+)*",
)


@pytest.mark.parametrize("pattern", KNOWN)
def test_usual_patterns_run_in_the_engine(pattern):
    assert token_of(pattern) is not None


@pytest.mark.parametrize(
    "pattern",
    [
        r"a*",
        r"\b",
        r"(a)",
        r"(?=a)b",
        r"a|",
        r"^a",
        r"a$",
        r"[a b]+",
        r".+",
        r"(?P<x>a)",
        r"(?:a*)+b",
        r"a++b",
        r"\Ab",
        r"\1",
        "[a-c--b]+",
        "(?:" * 60 + "a" + ")" * 60,
        "a{3000}",
        "(?:a{20}){20}{20}",
        "|".join(map(chr, range(97, 240))),
        "(",
    ],
)
def test_other_patterns_have_no_automaton(pattern):
    assert automaton_of(pattern) is None


def test_tokens_are_as_long_as_they_are():
    long = "a" * 100_000
    text = f"{long}é {long}, b1"
    assert counted(CountVectorizer(token_pattern=r"[a-z]+|\d"), [text]) == [[("1", 1), (long, 2), ("b", 1)]]


def test_n_grams_and_hashes_are_those_of_the_way_of_python():
    texts = ["Don't go, it's 3.5 km", "a1b2 c3", "", "...", "éa'b \U0001f642x"]
    for pattern in (r"[\w']+", r"\w+|[^\w\s]"):
        ours = CountVectorizer(token_pattern=pattern, ngram_range=(1, 3))
        slow = CountVectorizer(tokenizer=re.compile(pattern).findall, token_pattern=None, ngram_range=(1, 3))
        assert counted(ours, texts) == counted(slow, texts)
        one, two = (
            HashingVectorizer(n_features=2**12, ngram_range=(1, 2), **options).transform(texts)
            for options in (
                {"token_pattern": pattern},
                {"tokenizer": re.compile(pattern).findall, "token_pattern": None},
            )
        )
        assert (one != two).nnz == 0
