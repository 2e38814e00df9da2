"""Every code point there is, inside a word, at its end and by itself: as `re` and `str.lower` see it."""

import re
import sys

import numpy as np
import pytest

from fastlin.text import CountVectorizer, HashingVectorizer
from oracles.vectorizers import analyse, bucket
from support.vectorizers import assert_same

PLANE = 0x10000
PLANES = range(0, sys.maxunicode + 1, PLANE)
LETTERS = [0, PLANE, 2 * PLANE, 3 * PLANE, 14 * PLANE]  # the planes that have letters, digits, marks
COMMON = [0, PLANE]  # of them, those of more than one kind
SPARSE = 16  # of the others one in so many is tried, and all in the slow part
ANALYSES = {
    "words": {},
    "words as written": {"lowercase": False},
    "words of one letter": {"token_pattern": r"(?u)\b\w+\b"},
    "words of three": {"token_pattern": r"\w{3,}"},
    "what is not white": {"token_pattern": r"\S+"},
    "words without digits": {"token_pattern": r"(?u)\b[^\W\d]\w+\b"},
    "no accents": {"strip_accents": "unicode"},
    "ASCII": {"strip_accents": "ascii"},
    "characters": {"analyzer": "char", "ngram_range": (1, 2)},
    "characters as written": {"analyzer": "char", "lowercase": False},
    "characters in words": {"analyzer": "char_wb", "ngram_range": (2, 3)},
}


def counted(X, vocabulary):
    """The matrix in words: of each document, (word, count) in the order of the row."""
    names = np.empty(len(vocabulary), dtype=object)
    names[list(vocabulary.values())] = list(vocabulary)
    words, values = names[X.indices].tolist(), X.data.tolist()
    return list(zip(words, values, strict=True)), X.indptr.tolist()


def expected_of(corpus, **analysis):
    entries, borders, order = [], [0], {}
    for document in corpus:
        row = {}
        for word in analyse(document, **analysis):
            row[word] = row.get(word, 0) + 1
            order.setdefault(word, len(order))
        entries += sorted(row.items(), key=lambda entry: order[entry[0]])
        borders.append(len(entries))
    return entries, borders, list(order)


def stepped(cases, full):
    """Cases by (plane, …) with a step: 1 of planes to be tried in full, SPARSE of others, with 1 in the slow part."""
    for plane, *more in cases:
        if plane not in full:
            yield pytest.param(plane, *more, SPARSE)
        yield pytest.param(plane, *more, 1, marks=[] if plane in full else pytest.mark.slow)


def shown(value):
    return hex(value) if isinstance(value, int) else value


@pytest.mark.parametrize("plane, step", stepped([(plane,) for plane in PLANES], LETTERS), ids=shown)
def test_every_code_point_in_a_document_of_its_own(plane, step):
    """The string is of one, two or four bytes a character by that one code point."""
    corpus = [f"ab{chr(c)}cd {chr(c)}" for c in range(plane, plane + PLANE, step)]
    vectorizer = CountVectorizer()
    X = vectorizer.fit_transform(corpus)
    *rows, order = expected_of(corpus)
    assert counted(X, vectorizer.vocabulary_) == tuple(rows)
    assert list(vectorizer.vocabulary_) == order
    assert vectorizer.get_feature_names_out().tolist() == sorted(order)


@pytest.mark.parametrize(
    "plane, analysis, step",
    stepped(
        [
            (plane, name)
            for name in ANALYSES
            for plane in PLANES
            if plane in LETTERS or name in ("words", "words of three")
        ],
        COMMON,
    ),
    ids=shown,
)
def test_every_code_point_among_its_neighbours(plane, analysis, step):
    points = map(chr, range(plane, plane + PLANE, step))
    pieces = [f"ab{c}cd {c} {c}{c} Xab{c}" for c in points]
    corpus = [",".join(pieces[k : k + 61]) for k in range(0, len(pieces), 61)]
    vectorizer = CountVectorizer(**ANALYSES[analysis])
    X = vectorizer.fit_transform(corpus)
    *rows, order = expected_of(corpus, **ANALYSES[analysis])
    assert counted(X, vectorizer.vocabulary_) == tuple(rows)
    assert list(vectorizer.vocabulary_) == order


@pytest.mark.parametrize("plane", LETTERS, ids=hex)
def test_every_code_point_is_hashed_as_utf_8(plane):
    points = [chr(c) for c in range(plane, plane + PLANE) if not 0xD800 <= c < 0xE000]
    corpus = [f"ab{c}cd" for c in points]
    X = HashingVectorizer(norm=None, lowercase=False, token_pattern=r"(?s).+").transform(corpus)
    found = [bucket(document, 2**20) for document in corpus[::97]]
    assert np.diff(X.indptr).tolist() == [1] * len(corpus)
    assert list(zip(X.indices[::97].tolist(), X.data[::97].tolist(), strict=True)) == found


# --- the characters whose lower case depends on others, or is longer -------------------------------------------------


SIGMA = [
    "ΑΣ",
    "ΑΣΑ",
    "Σ",
    "ΣΣ",
    "ΑΣ ΣΑ",
    "ΑΣ.",
    "ΑΣ.Α",
    "Α\u0301Σ",
    "ΑΣ\u0301Α",
    "ΑΣ\u0301",
    "1Σ",
    "Α1Σ",
    "aΣ\u00adb",
    "ΑΣ'Α",
    "😀Σ",
]
LONGER = [
    "İ",
    "İİ",
    "aİb",
    "İstanbul DİYARBAKIR",
    "I\u0307",
    "ẞ",
    "straẞe",
    "\u212a\u212b",
    "Å",
    "ǅ",
    "Ĳ",
    "ﬀ",
    "ŉ",
    "ᾈ",
]


@pytest.mark.parametrize("padding", ["", "x", " ", "é", "中", "😀", "aa bb cc " * 7])
@pytest.mark.parametrize("word", SIGMA + LONGER, ids=ascii)
def test_lower_case_that_depends_on_its_neighbours(word, padding):
    """Across what would be a border of 64 characters, too."""
    corpus = [
        "x" + padding + word,
        word + padding,
        padding * (64 // max(len(padding), 1)) + word,
        f"{word} {padding} {word}",
    ]
    corpus += ["a" * n + word + "b" for n in range(60, 66)] + [" " * n + word + " b" for n in range(60, 66)]
    for options in ({}, {"analyzer": "char_wb", "ngram_range": (1, 3)}, {"analyzer": "char", "ngram_range": (2, 2)}):
        for strip_accents in (None, "unicode", "ascii"):
            assert_same("CountVectorizer", {"strip_accents": strip_accents, **options}, corpus, corpus[::-1])
            assert_same("HashingVectorizer", {"strip_accents": strip_accents, **options}, corpus)


@pytest.mark.parametrize("length", range(1, 140))
def test_words_and_white_spaces_of_every_length(length):
    """At the borders of the blocks of 64 characters that an engine may look at."""
    corpus = [
        "a" * length,
        "a" * length + " b",
        " " * length + "ab",
        "ab" + " " * length + "cd",
        "ab\u3000" * length,
        "é" * length + " ab",
        "中" * length + ".ab",
        "😀" * length + "ab",
        "a" * length + "é",
        "a" * length + "😀b",
        " a" * length,
        "x. " * length + "\x1c\x1d",
        "aa" + "\t" * length + "\xa0" * length,
    ]
    for options in ({}, {"ngram_range": (1, 2)}, {"analyzer": "char", "ngram_range": (3, 3)}, {"analyzer": "char_wb"}):
        assert_same("CountVectorizer", options, corpus, corpus[::-1])


def test_what_lower_makes_of_all_of_it():
    """One document with every character that is no surrogate."""
    document = "".join(chr(c) + " " * (c % 7 == 0) for c in range(sys.maxunicode + 1) if not 0xD800 <= c < 0xE000)
    vectorizer = CountVectorizer(token_pattern=r"(?u)\b\w+\b").fit([document])
    assert list(vectorizer.vocabulary_) == list(dict.fromkeys(re.findall(r"(?u)\b\w+\b", document.lower())))
