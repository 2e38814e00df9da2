"""The oracle on trial: the naive twin of the text vectorisers does what scikit-learn's classes do."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.utils import murmurhash3_32

from oracles.vectorizers import Counts, bucket, hashed, murmur3, tfidf
from support.text_strategies import UTF8, corpora
from support.vectorizers import rows_of

ANALYSES = {
    "words": {},
    "words as they are written": {"lowercase": False},
    "words without accents": {"strip_accents": "unicode"},
    "words in ASCII": {"strip_accents": "ascii"},
    "words but some": {"stop_words": ["ab", "aa", "xx"]},
    "words 1-2": {"ngram_range": (1, 2)},
    "words 2-3 but some": {"ngram_range": (2, 3), "stop_words": ["ab", "aa", "xx"]},
    "every word": {"token_pattern": r"(?u)\b\w+\b"},
    "what stands in a group": {"token_pattern": r"(?u)\w(\w*)"},
    "what may stand in a group": {"token_pattern": r"(?u)\w(\w)?"},
    "matches of nothing": {"token_pattern": r"(?u)\w*"},
    "characters": {"analyzer": "char"},
    "characters 2-4": {"analyzer": "char", "ngram_range": (2, 4)},
    "characters in words": {"analyzer": "char_wb", "ngram_range": (1, 2)},
    "characters in words 3-5": {"analyzer": "char_wb", "ngram_range": (3, 5)},
}
LIMITS = ({}, {"min_df": 2}, {"max_df": 0.5}, {"min_df": 0.3, "max_df": 2}, {"max_features": 3}, {"binary": True})
pytestmark = pytest.mark.filterwarnings("ignore:Your stop_words:UserWarning", "ignore:The parameter:UserWarning")


@pytest.mark.parametrize("limits", LIMITS, ids=str)
@pytest.mark.parametrize("analysis", ANALYSES)
@settings(max_examples=15)
@given(documents=corpora())
def test_counts_are_scikit_learns(documents, analysis, limits):
    options = {**ANALYSES[analysis], **limits}
    peer = CountVectorizer(**options)
    try:
        X = peer.fit_transform(documents)
    except ValueError:
        assume(False)
    twin = Counts(**options)
    assert rows_of(X) == twin.fit_transform(documents)
    assert list(peer.vocabulary_.items()) == list(twin.vocabulary.items())
    assert peer.get_feature_names_out().tolist() == twin.names()
    assert rows_of(peer.transform(documents[::-1])) == twin.transform(documents[::-1])


@given(documents=corpora(), vocabulary=st.sampled_from([["ab", "zz", "aa"], {"aa", "ab", "b"}, {"ab": 1, "x": 0}]))
def test_a_fixed_vocabulary_is_scikit_learns(documents, vocabulary):
    peer = CountVectorizer(vocabulary=vocabulary)
    X = peer.fit_transform(documents)
    twin = Counts(vocabulary=vocabulary)
    assert rows_of(X) == twin.fit_transform(documents) == twin.transform(documents)
    assert list(peer.vocabulary_.items()) == list(twin.vocabulary.items())


@given(documents=corpora(alphabets=UTF8), encoding=st.sampled_from(["utf-8", "utf-16", "utf-32"]))
def test_bytes_are_decoded(documents, encoding):
    assume(any(len(word) for word in documents))
    twin = Counts(analyzer="char", encoding=encoding, decode_error="ignore")
    data = [document.encode(encoding) + b"\xff" for document in documents]
    peer = CountVectorizer(analyzer="char", encoding=encoding, decode_error="ignore")
    assert rows_of(peer.fit_transform(data)) == twin.fit_transform(data)


@given(data=st.binary(max_size=40), seed=st.integers(0, 2**32 - 1))
def test_the_hash_is_murmur3(data, seed):
    assert murmur3(data) == murmurhash3_32(data, 0)
    assert murmur3(data, seed) == murmurhash3_32(data, seed)


def test_the_hash_of_the_smallest_number_has_a_column():
    """−2³¹ is the one number whose size an int32 cannot hold."""
    word = "22pcs efuture"
    peer = HashingVectorizer(analyzer=lambda document: [document], norm=None)
    for n_features in (1, 3, 1000, 2**20):
        row = peer.set_params(n_features=n_features).transform([word])
        assert (row.indices[0], row.data[0]) == bucket(word, n_features)


@pytest.mark.parametrize("n_features", [1, 7, 2**20])
@pytest.mark.parametrize(
    "options", [{}, {"norm": None}, {"norm": "l1"}, {"binary": True}, {"alternate_sign": False}], ids=str
)
@pytest.mark.parametrize("analysis", ["words", "words 1-2", "characters in words"])
@given(documents=corpora(alphabets=UTF8))
def test_hashing_is_scikit_learns(documents, analysis, options, n_features):
    options = {**ANALYSES[analysis], **options, "n_features": n_features}
    X, rows = HashingVectorizer(**options).transform(documents), hashed(documents, **options)
    assert X.indices.tolist() == [column for row in rows for column, _ in row]
    assert np.diff(X.indptr).tolist() == [len(row) for row in rows]
    np.testing.assert_allclose(X.data, [value for row in rows for _, value in row], rtol=1e-12)


@pytest.mark.parametrize(
    "options",
    [{}, {"norm": None}, {"norm": "l1"}, {"use_idf": False}, {"smooth_idf": False}, {"sublinear_tf": True}],
    ids=str,
)
@given(documents=corpora())
def test_tfidf_is_scikit_learns(documents, options):
    peer, twin = TfidfVectorizer(**options), Counts()
    try:
        X = peer.fit_transform(documents)
    except ValueError:
        assume(False)
    rows = tfidf(twin.fit_transform(documents), twin.document_frequency(), twin.n_documents, **options)
    assert X.indices.tolist() == [column for row in rows for column, _ in row]
    np.testing.assert_allclose(X.data, [value for row in rows for _, value in row], rtol=1e-12)


@given(documents=corpora(min_documents=3, max_documents=12), cut=st.integers(1, 3))
def test_pieces_know_the_words_of_the_whole(documents, cut):
    """Without limits: the same words and frequencies, and the columns of the first piece as fit gives them."""
    whole, pieces = Counts().partial_fit(documents), Counts().partial_fit(documents[:cut])
    first = dict(pieces.columns)
    pieces.partial_fit(documents[cut:])
    assert pieces.frequency == whole.frequency
    assert set(pieces.columns) == set(whole.columns)
    assert first.items() <= pieces.columns.items()
    assert sorted(pieces.columns.values()) == list(range(len(pieces.columns)))
    new = [word for word in pieces.names() if word not in first]
    assert new == sorted(new)
    assert pieces.names()[len(first) :] == new


def test_a_word_gets_its_column_when_it_is_frequent_enough_and_keeps_it():
    twin = Counts(min_df=2, max_df=0.9)
    twin.partial_fit(["aa bb", "aa cc", "dd"])
    assert twin.names() == ["aa"]
    twin.partial_fit(["dd bb", "dd cc zz"])
    assert twin.names() == ["aa", "bb", "cc", "dd"]
    twin.partial_fit(["aa zz", "aa", "aa", "aa", "aa", "aa", "aa"] * 3)
    assert twin.names() == ["aa", "bb", "cc", "dd", "zz"]
