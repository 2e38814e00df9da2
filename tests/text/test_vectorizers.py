"""The same matrix as scikit-learn's, array by array, whatever the text and the options are."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.text_strategies import ALPHABETS, NGRAMS, PATTERNS, UTF8, corpora, document, options_of
from support.vectorizers import COUNTING, VECTORIZERS, assert_same, assert_same_matrix, pair, result_of

pytestmark = pytest.mark.filterwarnings("ignore:Your stop_words:UserWarning")


def texts(name):
    """Hashing takes UTF-8, where lone surrogates have no place."""
    return corpora(alphabets=UTF8 if name == "HashingVectorizer" else tuple(ALPHABETS))


@pytest.mark.parametrize("name", VECTORIZERS)
@pytest.mark.parametrize("ngram_range", NGRAMS, ids=str)
@pytest.mark.parametrize("analyzer", ["word", "char", "char_wb"])
@settings(max_examples=12)
@given(data=st.data())
def test_the_matrix_is_scikit_learns(name, analyzer, ngram_range, data):
    options = data.draw(options_of(name, analyzer=analyzer, ngram_range=ngram_range))
    assert_same(name, options, data.draw(texts(name)), data.draw(texts(name)))


@pytest.mark.parametrize("name", VECTORIZERS)
@pytest.mark.parametrize("pattern", PATTERNS)
@settings(max_examples=12)
@given(data=st.data())
def test_every_pattern_of_tokens_is_scikit_learns(name, pattern, data):
    options = data.draw(options_of(name, token_pattern=pattern, ngram_range=data.draw(st.sampled_from(NGRAMS))))
    assert_same(name, options, data.draw(texts(name)), data.draw(texts(name)))


@pytest.mark.parametrize("alphabet", ALPHABETS)
@pytest.mark.parametrize("analyzer", ["word", "char", "char_wb"])
def test_many_words_of_each_alphabet(alphabet, analyzer):
    """As many as make a table grow, three times over."""
    rng = np.random.default_rng(0)
    letters = [c for c in ALPHABETS[alphabet] if not c.isspace()]
    words = ["".join(rng.choice(letters, size=rng.integers(1, 12))) for _ in range(3000)]
    corpus = [document(rng, words, [" ", "\n", "  ", ", "]) for _ in range(800)]
    corpus[7] = " ".join(words)
    for options in ({}, {"ngram_range": (1, 2)}, {"ngram_range": (2, 3), "min_df": 2}, {"max_features": 100}):
        assert_same("CountVectorizer", {"analyzer": analyzer, **options}, corpus, corpus[::-3])
    if alphabet != "surrogates":
        assert_same(
            "HashingVectorizer", {"analyzer": analyzer, "norm": None, "ngram_range": (1, 2)}, corpus, corpus[::5]
        )


@given(data=st.data())
def test_a_long_document_of_few_words_is_counted_whole(data):
    """Counts beyond 255 and 65,535, n-grams of one word repeated."""
    word = data.draw(st.sampled_from(["ab", "abcdefgh", "abcdefghi", "éa", "中文", "😀a𐐀𐐨"]))
    corpus = [f"{word} " * data.draw(st.integers(0, 700)), word * 40, "other words"]
    for name in VECTORIZERS:
        options = {} if name == "CountVectorizer" else {"norm": None}
        assert_same(name, {"ngram_range": (1, 3), "token_pattern": r"(?u)\b\w+\b", **options}, corpus)


@pytest.mark.parametrize("name", COUNTING)
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, bool, np.float32, "int64", "f8"], ids=str)
def test_counts_come_in_any_type(name, dtype):
    corpus = ["aa " * 300 + "bb", "bb cc cc", "cc " * 70000]
    assert_same(name, {"dtype": dtype}, corpus)


# --- vocabularies ----------------------------------------------------------------------------------------------------


KINDS = {
    "list": list,
    "tuple": tuple,
    "set": set,
    "array": np.array,
    "dict": lambda words: {word: k for k, word in enumerate(words)},
    "dict, backwards": lambda words: {word: k for k, word in reversed(list(enumerate(words)))},
    "dict of numpy's": lambda words: {word: np.int32(k) for k, word in enumerate(words)},
    "keys": lambda words: dict.fromkeys(words).keys(),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", COUNTING)
@settings(max_examples=20)
@given(data=st.data())
def test_a_fixed_vocabulary_gives_scikit_learns_matrix(name, kind, data):
    corpus, others = data.draw(corpora()), data.draw(corpora())
    options = data.draw(options_of(name, ngram_range=data.draw(st.sampled_from(NGRAMS))))
    options |= {"min_df": 1, "max_df": 1.0, "max_features": None}
    learner, _ = pair("CountVectorizer", ngram_range=options["ngram_range"], token_pattern=r"(?u)\b\w+\b")
    learnt, _ = result_of(lambda: learner.fit(corpus).get_feature_names_out().tolist())
    words = ["never", "ab"] if isinstance(learnt, Exception) else [w for w in learnt if "\0" not in w]
    rng = np.random.default_rng(len(words))
    words = ["ab", *(w for w in rng.permutation(words).tolist()[: data.draw(st.integers(1, 30))] if w != "ab")]
    assert_same(name, {**options, "vocabulary": KINDS[kind](words)}, corpus, others)


@pytest.mark.parametrize("name", COUNTING)
def test_a_fixed_vocabulary_needs_no_fit_to_count(name):
    options = {"use_idf": False} if name == "TfidfVectorizer" else {}
    for vocabulary in (["bb", "aa"], {"aa": 1, "bb": 0}):
        one, two = pair(name, vocabulary=vocabulary, **options)
        if name == "CountVectorizer":
            assert_same_matrix(one.transform(["aa bb aa", ""]), two.transform(["aa bb aa", ""]))
        assert one.get_feature_names_out().tolist() == two.get_feature_names_out().tolist()
        assert one.fixed_vocabulary_
        assert list(one.vocabulary_.items()) == list(two.vocabulary_.items())


def test_a_vocabulary_that_is_an_iterator_is_read_once():
    one, _ = pair("CountVectorizer", vocabulary=iter(["bb", "aa", "cc"]), lowercase=False)
    assert one.fit(["aa bb"]).vocabulary_ == {"bb": 0, "aa": 1, "cc": 2}


@pytest.mark.parametrize("name", COUNTING)
def test_upper_case_in_a_vocabulary_is_warned_of_where_text_is_lower_cased(name):
    for lowercase in (True, False):
        assert_same(name, {"vocabulary": ["aa", "bB"], "lowercase": lowercase}, ["aa bB bb"], ["bB"])
