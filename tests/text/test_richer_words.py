"""negation, prefixes and suffixes: the engine's way, Python's way and the naive twin agree."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from fastlin import text
from oracles.vectorizers import Counts, hashed, tfidf
from support.strategies import seeds
from support.text_strategies import ALPHABETS, LIMITS, NGRAMS, UTF8, corpora
from support.vectorizers import COUNTING, VECTORIZERS, assert_same_bits, result_of, rows_of

SAME_PATTERN = r"(?u)\b(\w\w+)\b"  # the default, in a form that goes the way of Python
WORDS = (
    "not", "Not", "never", "isn't", "Didn’t", "cannot", "dont", "n't", "can", "t", "NOT_", "NOT_ab", "not_ab", "ab",
    "abc", "abcd", "good", "walking", "Éclair", "中文字", "😀𐐀𐐨𐐨", "a", "1999", "naïve", "straße", "abcdefghijklmnop",
)  # fmt: skip
BETWEEN = (" ", " ", " ", ". ", ", ", "; ", "! ", "…", "—", "'", "’", "-", "\n", "(", "] ", "  ")


@st.composite
def sentences(draw):
    """Documents of words among which some negate, and of what stands between them."""
    rng = np.random.default_rng(draw(seeds))
    words, between = rng.choice(WORDS, size=8), rng.choice(BETWEEN, size=4)
    sizes = rng.integers(0, 40, size=draw(st.integers(1, 6)))
    return ["".join(rng.choice(words) + rng.choice(between) for _ in range(size)) for size in sizes]


def documents_of(name):
    return st.one_of(sentences(), corpora(alphabets=UTF8 if name == "HashingVectorizer" else tuple(ALPHABETS)))


lengths = st.sampled_from([None, 1, 2, 3, 7, 8, (1, 2), [3, 2, 3], (2, 100)])
options = st.fixed_dictionaries(
    {},
    optional={
        "negation": st.booleans(),
        "prefixes": lengths,
        "suffixes": lengths,
        "lowercase": st.booleans(),
        "strip_accents": st.sampled_from([None, "unicode"]),
        "stop_words": st.sampled_from([None, ["not", "ab", "the"]]),
        "ngram_range": st.sampled_from(NGRAMS),
    },
)


def assert_same_columns(one, other, documents):
    """Names, columns and document frequencies; the terms may have appeared in another order."""
    assert one.get_feature_names_out().tolist() == other.get_feature_names_out().tolist()
    np.testing.assert_allclose(one.transform(documents).toarray(), other.transform(documents).toarray(), rtol=1e-12)
    if hasattr(one, "idf_"):
        np.testing.assert_array_equal(one.idf_, other.idf_)


@pytest.mark.parametrize("name", VECTORIZERS)
@settings(max_examples=150)
@given(data=st.data())
def test_the_engines_way_is_pythons(name, data):
    chosen, documents = data.draw(options), data.draw(documents_of(name))
    fast = getattr(text, name)(**chosen)
    ways = {"a pattern that only re knows": getattr(text, name)(**chosen, token_pattern=SAME_PATTERN)}
    if not chosen.get("negation"):  # tokens have no punctuation between them to end a clause
        tokenizer = fast.build_tokenizer()
        ways["a tokenizer"] = getattr(text, name)(**chosen, token_pattern=None, tokenizer=tokenizer)
    X, _ = result_of(lambda: fast.fit_transform(documents))
    for slow in ways.values():
        Z, _ = result_of(lambda slow=slow: slow.fit_transform(documents))
        if isinstance(Z, Exception):
            assert type(X) is type(Z)
        elif name == "HashingVectorizer":
            assert_same_bits(X, Z)
        else:
            np.testing.assert_allclose(X.toarray(), Z.toarray(), rtol=1e-12)
            assert_same_columns(fast, slow, documents)


@pytest.mark.parametrize("name", COUNTING)
@settings(max_examples=150)
@given(data=st.data())
def test_the_engines_way_is_the_twins(name, data):
    chosen, limits = data.draw(options), data.draw(st.sampled_from(LIMITS))
    assume("max_features" not in limits)
    documents, others = data.draw(documents_of(name)), data.draw(documents_of(name))
    vectorizer, twin = getattr(text, name)(**chosen, **limits), Counts(**chosen, **limits)
    twin.fit_transform(documents)
    X, _ = result_of(lambda: vectorizer.fit_transform(documents))
    if isinstance(X, Exception):
        assert not twin.columns
        return
    assert vectorizer.get_feature_names_out().tolist() == twin.names()
    for batch in (documents, others):
        rows, found = twin.transform(batch), rows_of(vectorizer.transform(batch))
        if name == "CountVectorizer":
            assert found == rows
            continue
        rows = tfidf(rows, twin.document_frequency(), twin.n_documents)
        assert [[column for column, _ in row] for row in found] == [[column for column, _ in row] for row in rows]
        np.testing.assert_allclose(
            [v for row in found for _, v in row], [v for row in rows for _, v in row], rtol=1e-12
        )


@settings(max_examples=150)
@given(chosen=options, documents=documents_of("HashingVectorizer"), n_features=st.sampled_from([7, 2**20]))
def test_hashing_is_the_twins(chosen, documents, n_features):
    X = text.HashingVectorizer(**chosen, n_features=n_features).transform(documents)
    rows = hashed(documents, **chosen, n_features=n_features)
    assert X.indices.tolist() == [column for row in rows for column, _ in row]
    np.testing.assert_allclose(X.data, [value for row in rows for _, value in row], rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("name", VECTORIZERS)
@settings(max_examples=40)
@given(data=st.data())
def test_threads_change_no_bit(name, data):
    chosen, documents = data.draw(options), data.draw(documents_of(name))
    one, two = (getattr(text, name)(**chosen, n_jobs=n_jobs) for n_jobs in (1, 2))
    X, _ = result_of(lambda: one.fit_transform(documents))
    Z, _ = result_of(lambda: two.fit_transform(documents))
    if isinstance(X, Exception):
        assert type(Z) is type(X)
        return
    assert_same_bits(X, Z)
    if name in COUNTING:
        assert list(one.vocabulary_.items()) == list(two.vocabulary_.items())


def test_affixes_are_of_words_that_are_longer():
    features = text.CountVectorizer(prefixes=(3, 2), suffixes=2).build_analyzer()("ab abc 中文字")
    assert features == ["ab", "abc", "中文字", "ab-", "中文-", "-bc", "-文字"]


def test_a_mark_is_no_part_of_the_word_that_affixes_are_of():
    options = {"lowercase": False, "prefixes": 2}
    assert sorted(text.CountVectorizer(**options, negation=True).fit(["not walking"]).vocabulary_) == [
        "NOT_walking",
        "no-",
        "not",
        "wa-",
    ]
    for pattern in (r"(?u)\b\w\w+\b", SAME_PATTERN):  # where nothing marks, NOT_ is of the word itself
        vectorizer = text.CountVectorizer(**options, token_pattern=pattern)
        assert sorted(vectorizer.fit(["NOT_walking"]).vocabulary_) == ["NO-", "NOT_walking"]
