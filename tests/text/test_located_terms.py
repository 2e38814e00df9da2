"""The terms of spans are those of the analyzer, and each is made of the characters that its span names."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastlin.text import CountVectorizer, HashingVectorizer, TermSpan, TfidfVectorizer, term_spans

ANALYSES = {
    "words": {},
    "pairs": {"ngram_range": (1, 3)},
    "triples alone": {"ngram_range": (3, 3)},
    "group": {"token_pattern": r"#?(\w+)", "ngram_range": (1, 2)},
    "accents": {"strip_accents": "unicode", "ngram_range": (1, 2)},
    "ascii": {"strip_accents": "ascii"},
    "case": {"lowercase": False},
    "stop words": {"stop_words": ["the", "not"], "ngram_range": (1, 2)},
    "negation": {"negation": True, "ngram_range": (1, 2), "prefixes": 2, "suffixes": (1, 3)},
    "tokenizer": {"tokenizer": str.split, "token_pattern": None, "ngram_range": (1, 2)},
    "tokenizer with negation": {"tokenizer": str.split, "token_pattern": None, "negation": True},
    "affixes": {"prefixes": (1, 3), "suffixes": 2},
    "characters": {"analyzer": "char", "ngram_range": (1, 4)},
    "in words": {"analyzer": "char_wb", "ngram_range": (1, 5)},
}
WORDS = st.sampled_from(
    [
        "the",
        "Good",
        "film",
        "not",
        "isn't",
        "#tag",
        "naïve",
        "İstanbul",
        "ΟΔΟΣ",
        "ﬁne",
        "e\u0301te\u0301",
        "x",
        ",",
        ".",
        "\u2028",
    ]
)
GAPS = st.sampled_from([" ", "  ", "\t\n ", ", ", "-", "", "\u00a0 "])
TEXTS = st.lists(st.tuples(WORDS, GAPS), max_size=8).map(lambda found: "".join(word + gap for word, gap in found))


@pytest.mark.parametrize("analysis", ANALYSES)
@given(text=TEXTS | st.text(max_size=12))
def test_terms_are_those_of_the_analyzer(analysis, text):
    vectorizer = CountVectorizer(**ANALYSES[analysis])
    found = term_spans(vectorizer, text)
    assert [term for term, _, _ in found] == list(vectorizer.build_analyzer()(text))
    assert all(0 <= start < end <= len(text) for _, start, end in found)


@pytest.mark.parametrize("analysis", ["words", "case", "stop words", "tokenizer"])
@given(text=TEXTS)
def test_a_term_is_made_of_its_characters(analysis, text):
    vectorizer = CountVectorizer(**ANALYSES[analysis])
    for term, start, end in term_spans(vectorizer, text):
        if " " not in term:
            assert vectorizer.build_preprocessor()(text[start:end]).replace("ς", "σ") == term.replace("ς", "σ")


@given(text=TEXTS)
def test_ngrams_in_words_are_made_of_the_word(text):
    for term, start, end in term_spans(CountVectorizer(analyzer="char_wb", ngram_range=(1, 4), lowercase=False), text):
        bare = term.strip()
        assert text[start:end] == bare if bare else end - start == 1
        assert not re.search(r"\s", text[start:end])


def test_negated_words_and_affixes_are_where_they_stand():
    vectorizer = TfidfVectorizer(negation=True, prefixes=2, suffixes=3)
    found = {term: (start, end) for term, start, end in term_spans(vectorizer, "It is not great fun")}
    assert found["NOT_great"] == (10, 15)
    assert found["gr-"] == (10, 12)
    assert found["-eat"] == (12, 15)


def test_tokens_that_are_not_in_the_text_have_no_span():
    vectorizer = CountVectorizer(tokenizer=lambda text: ["<s>", *text.split()], token_pattern=None, ngram_range=(1, 2))
    assert term_spans(vectorizer, "a b") == [TermSpan("a", 0, 1), TermSpan("b", 2, 3), TermSpan("a b", 0, 3)]


def test_bytes_are_decoded_and_hashed_terms_have_spans():
    assert term_spans(HashingVectorizer(), "naïve fun".encode()) == [TermSpan("naïve", 0, 5), TermSpan("fun", 6, 9)]


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"analyzer": str.split}, "analyzer is a function"),
        ({"preprocessor": lambda text: f"<{text}>"}, "preprocessor changes the length"),
    ],
)
def test_what_is_not_known_is_refused(options, match):
    with pytest.raises(ValueError, match=match):
        term_spans(CountVectorizer(**options), "a text")


def test_other_documents_and_vectorisers_are_refused():
    with pytest.raises(TypeError, match="expected a string or bytes, got NoneType"):
        term_spans(CountVectorizer(), None)
    with pytest.raises(TypeError, match=r"vectorizer must be one of fastlin\.text, got int"):
        term_spans(3, "a text")
