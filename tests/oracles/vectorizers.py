"""The naive twin of the text vectorisers: plain Python, a document and a feature at a time.

    features = analyse(document, analyzer="char_wb", ngram_range=(2, 3))
    twin = Counts(**options); rows = twin.fit_transform(documents); twin.columns

A row is a list of (column, count). In `fit_transform` it has the order in which its words first appeared in the
documents, in `transform` that of the columns. `hashed` and `tfidf` finish rows as their classes do.
"""

import math
import re
import unicodedata

import numpy as np

from fastlin.text import NEGATORS
from oracles.features import marked

WORDS = r"(?u)\b\w\w+\b"


# --- a document's features -------------------------------------------------------------------------------------------


def without_accents(text, kind):
    if kind is None:
        return text
    decomposed = unicodedata.normalize("NFKD", text)
    if kind == "unicode":
        return "".join(character for character in decomposed if not unicodedata.combining(character))
    return "".join(character for character in decomposed if ord(character) < 128)


def tokens(text, pattern=WORDS):
    """What the pattern matches, from left to right; of a pattern with a group, what the group holds."""
    pattern = re.compile(pattern)
    return [(match.group(pattern.groups) or "") for match in pattern.finditer(text)]


def with_marks(text, pattern):
    """The words, those under a negation as NOT_word."""
    _, negated = marked(text, NEGATORS, pattern)
    return [f"NOT_{word}" if mark else word for word, mark in zip(tokens(text, pattern), negated, strict=True)]


def affixes(words, prefixes, suffixes):
    """The first letters of each word that is longer, as un-, and the last, as -ing."""
    first, last = ({lengths} if isinstance(lengths, int) else set(lengths or ()) for lengths in (prefixes, suffixes))
    return [
        part
        for word in words
        for part in [word[:n] + "-" for n in first if n < len(word)] + ["-" + word[-n:] for n in last if n < len(word)]
    ]


def word_ngrams(words, low, high):
    """All n-grams of the lowest n, then all of the next."""
    return [" ".join(words[i : i + n]) for n in range(low, high + 1) for i in range(len(words) - n + 1)]


def char_ngrams(text, low, high):
    """Two or more white spaces count as one blank; a single one stays what it is."""
    text = re.sub(r"\s\s+", " ", text)
    return [text[i : i + n] for n in range(low, high + 1) for i in range(len(text) - n + 1)]


def char_wb_ngrams(text, low, high):
    """Within words that have a blank on either side; a word too short for n gives itself, once."""
    found = []
    for word in text.split():
        padded = f" {word} "
        for n in range(low, high + 1):
            if n >= len(padded):
                found.append(padded)
                break
            found += [padded[i : i + n] for i in range(len(padded) - n + 1)]
    return found


def analyse(
    document,
    *,
    encoding="utf-8",
    decode_error="strict",
    lowercase=True,
    strip_accents=None,
    token_pattern=WORDS,
    stop_words=None,
    analyzer="word",
    ngram_range=(1, 1),
    negation=False,
    prefixes=None,
    suffixes=None,
):
    """The features of a document, as often as they occur."""
    text = document.decode(encoding, decode_error) if isinstance(document, bytes) else document
    text = without_accents(text.lower() if lowercase else text, strip_accents)
    if analyzer == "char":
        return char_ngrams(text, *ngram_range)
    if analyzer == "char_wb":
        return char_wb_ngrams(text, *ngram_range)
    words = with_marks(text, token_pattern) if negation else tokens(text, token_pattern)
    words = [word for word in words if word not in (stop_words or ())]
    bare = [word[4:] if negation and word.startswith("NOT_") and len(word) > 4 else word for word in words]
    return word_ngrams(words, *ngram_range) + affixes(bare, prefixes, suffixes)


# --- counts ----------------------------------------------------------------------------------------------------------


class Counts:
    """Columns for words, by the frequency of documents; `partial_fit` adds columns and never moves one.

    A word gets its column in the first call after which min_df ≤ documents that have it ≤ max_df, counted over all
    calls; the new columns of a call stand behind the old ones, sorted among themselves.
    """

    def __init__(self, *, min_df=1, max_df=1.0, max_features=None, vocabulary=None, binary=False, **analysis):
        self.min_df, self.max_df, self.max_features, self.binary = min_df, max_df, max_features, binary
        self.analysis, self.fixed = analysis, vocabulary is not None
        self.n_documents, self.columns = 0, {}
        self.frequency, self.total = {}, {}  # of each word, in the order of their first appearance
        if self.fixed:
            vocabulary = sorted(vocabulary) if isinstance(vocabulary, set) else vocabulary
            self.columns = (
                dict(vocabulary) if isinstance(vocabulary, dict) else {w: j for j, w in enumerate(vocabulary)}
            )

    def counted(self, document):
        """{word: count} in the order of first appearance in the document."""
        counts = {}
        for word in analyse(document, **self.analysis):
            counts[word] = 1 if self.binary else counts.get(word, 0) + 1
        return counts

    def partial_fit(self, documents):
        for document in documents:
            self.n_documents += 1
            for word, count in self.counted(document).items():
                self.frequency[word] = self.frequency.get(word, 0) + 1
                self.total[word] = self.total.get(word, 0) + count
        if self.fixed:
            return self
        low, high = (
            share if isinstance(share, int) else share * self.n_documents for share in (self.min_df, self.max_df)
        )
        new = sorted(w for w, n in self.frequency.items() if low <= n <= high and w not in self.columns)
        if self.max_features is not None and len(new) > self.max_features:
            order = np.argsort([-self.total[word] for word in new])  # which of equals come first is numpy's choice
            new = [new[k] for k in sorted(order[: self.max_features])]
        self.columns |= {word: len(self.columns) + k for k, word in enumerate(new)}
        return self

    @property
    def vocabulary(self):
        """{word: column}; after one `fit`, in the order of first appearance."""
        return (
            self.columns
            if self.fixed
            else {word: self.columns[word] for word in self.frequency if word in self.columns}
        )

    def fit_transform(self, documents):
        rows = self.partial_fit(documents).transform(documents)
        if self.fixed:
            return rows
        names, rank = self.names(), {word: k for k, word in enumerate(self.frequency)}
        return [sorted(row, key=lambda entry: rank[names[entry[0]]]) for row in rows]

    def transform(self, documents):
        known = self.columns
        return [
            sorted((known[word], count) for word, count in self.counted(document).items() if word in known)
            for document in documents
        ]

    def names(self):
        return sorted(self.columns, key=self.columns.get)

    def document_frequency(self):
        """Of each column: the documents of all calls that have its word."""
        return [self.frequency.get(word, 0) for word in self.names()]


# --- weights ---------------------------------------------------------------------------------------------------------


def tfidf(rows, frequency, n_documents, *, norm="l2", use_idf=True, smooth_idf=True, sublinear_tf=False):
    """tf · (1 + log n/df), where smoothing adds a document that has every word."""
    extra, weighted = int(smooth_idf), []
    for row in rows:
        values = []
        for column, count in row:
            value = 1 + math.log(count) if sublinear_tf else float(count)
            if use_idf:
                value *= 1 + math.log((n_documents + extra) / (frequency[column] + extra))
            values.append((column, value))
        weighted.append(normalised(values, norm))
    return weighted


def normalised(row, norm):
    if norm is None:
        return row
    size = math.fsum(abs(v) for _, v in row) if norm == "l1" else math.sqrt(math.fsum(v * v for _, v in row))
    return [(column, value / size if size else value) for column, value in row]


# --- hashing ---------------------------------------------------------------------------------------------------------


def murmur3(data, seed=0):
    """MurmurHash3, the variant of 32 bits, signed: four bytes a round, then the rest, then the avalanche."""

    def rotated(x, bits):
        return (x << bits | x >> (32 - bits)) & 0xFFFFFFFF

    def mixed(k):
        return rotated(k * 0xCC9E2D51 & 0xFFFFFFFF, 15) * 0x1B873593 & 0xFFFFFFFF

    h, whole = seed, len(data) // 4 * 4
    for i in range(0, whole, 4):
        h = (rotated(h ^ mixed(int.from_bytes(data[i : i + 4], "little")), 13) * 5 + 0xE6546B64) & 0xFFFFFFFF
    h ^= mixed(int.from_bytes(data[whole:], "little")) ^ len(data)
    h = (h ^ h >> 16) * 0x85EBCA6B & 0xFFFFFFFF
    h = (h ^ h >> 13) * 0xC2B2AE35 & 0xFFFFFFFF
    h ^= h >> 16
    return h - 2**32 if h >= 2**31 else h


def bucket(word, n_features):
    """(column, sign) of a word."""
    h = murmur3(word.encode())
    return abs(h) % n_features, 1 if h >= 0 else -1


def hashed(documents, *, n_features=2**20, alternate_sign=True, binary=False, norm="l2", **analysis):
    """A row a document, sorted by column; words that cancel each other leave a zero there."""
    rows = []
    for document in documents:
        row = {}
        for word in analyse(document, **analysis):
            column, sign = bucket(word, n_features)
            row[column] = row.get(column, 0) + (sign if alternate_sign else 1)
        values = sorted((column, 1 if binary else value) for column, value in row.items())
        rows.append(normalised(values, norm))
    return rows
