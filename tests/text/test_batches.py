"""In threads, in pieces, from generators: the same bits; and a vocabulary that grows without moving a column."""

import contextlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastlin import text
from fastlin.text import CountVectorizer, HashingVectorizer, TfidfTransformer, TfidfVectorizer
from oracles.vectorizers import Counts, bucket, tfidf
from support.strategies import cuts
from support.text_strategies import LIMITS, NGRAMS, UTF8, corpora, options_of
from support.vectorizers import COUNTING, VECTORIZERS, assert_same_bits, result_of, rows_of

GROWING = tuple(limits for limits in LIMITS if "max_features" not in limits)


@contextlib.contextmanager
def blocks_of(characters):
    """Documents are cut into blocks of so many characters: the work of one thread at a time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text.document_blocks, "CHARACTERS_PER_BLOCK", characters)
        yield


def texts(name):
    return corpora(max_documents=14, **({"alphabets": UTF8} if name == "HashingVectorizer" else {}))


def assert_same_answers(name, options, corpus, others, **changed):
    """The same bits, errors and warnings with other options that change nothing."""
    one, two = getattr(text, name)(**options, **changed), getattr(text, name)(**options)
    got, warned = result_of(lambda: one.fit_transform(corpus() if callable(corpus) else corpus))
    with blocks_of(10**9):
        expected, should_warn = result_of(lambda: two.fit_transform(corpus() if callable(corpus) else corpus))
    assert warned == should_warn
    if isinstance(expected, Exception):
        assert type(got) is type(expected)
        assert str(got) == str(expected)
        return
    assert_same_bits(got, expected)
    if name in COUNTING:
        assert list(one.vocabulary_.items()) == list(two.vocabulary_.items())
        assert one.get_feature_names_out().tolist() == two.get_feature_names_out().tolist()
    if hasattr(two, "idf_"):
        np.testing.assert_array_equal(one.idf_, two.idf_, strict=True)
    assert_same_bits(one.transform(others), two.transform(others))


# --- threads and blocks ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", VECTORIZERS)
@pytest.mark.parametrize("n_jobs", [1, 2, 3, -1])
@pytest.mark.parametrize("analyzer", ["word", "char", "char_wb"])
@settings(max_examples=25)
@given(data=st.data())
def test_any_number_of_threads_and_blocks_gives_the_same_bits(name, n_jobs, analyzer, data):
    ngram_range = data.draw(st.sampled_from(NGRAMS))
    options = data.draw(options_of(name, analyzer=analyzer, ngram_range=ngram_range))
    corpus, others = data.draw(texts(name)), data.draw(texts(name))
    with blocks_of(data.draw(st.sampled_from([1, 10, 64, 100, 1000]))):
        assert_same_answers(name, options, corpus, others, n_jobs=n_jobs)


@pytest.mark.parametrize("name", VECTORIZERS)
@pytest.mark.parametrize(
    "options", [{}, {"ngram_range": (1, 2)}, {"analyzer": "char_wb", "ngram_range": (2, 4)}], ids=str
)
def test_many_blocks_in_many_threads(name, options):
    """Words that are new in every block, and words that are in all of them."""
    rng = np.random.default_rng(1)
    words = [f"w{k}é" if k % 5 == 0 else f"w{k}" for k in range(4000)]
    corpus = [" ".join(words[k] for k in rng.zipf(1.3, size=rng.integers(0, 60)) % 4000) for _ in range(1500)]
    for n_jobs in (2, 3, 8):
        with blocks_of(500):
            assert_same_answers(name, options, corpus, corpus[::7], n_jobs=n_jobs)


@pytest.mark.parametrize("name", VECTORIZERS)
def test_a_thread_whose_rows_begin_with_none(name):
    """Nothing is copied from memory that is not there yet, as the checked build sees."""
    with blocks_of(1):
        assert_same_answers(name, {}, ["one two", "!", "?", "two three"], ["?", "three"], n_jobs=2)


@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("name", VECTORIZERS)
@settings(max_examples=25)
@given(data=st.data())
def test_a_generator_gives_what_the_list_gives(name, n_jobs, data):
    """Whose documents live only until the next is asked for."""
    corpus, others = data.draw(texts(name)), data.draw(texts(name))
    with blocks_of(data.draw(st.sampled_from([1, 50, 10**6]))):
        vectorizer = getattr(text, name)(token_pattern=r"(?u)\b\w+\b", n_jobs=n_jobs)
        expected = getattr(text, name)(token_pattern=r"(?u)\b\w+\b")
        got, _ = result_of(lambda: vectorizer.fit_transform("".join(list(document)) for document in corpus))
        should, _ = result_of(lambda: expected.fit_transform(corpus))
        if isinstance(should, Exception):
            assert type(got) is type(should)
            return
        assert_same_bits(got, should)
        assert_same_bits(vectorizer.transform("".join(list(d)) for d in others), expected.transform(others))


@pytest.mark.parametrize("n_jobs", [0, 1.5, "two"])
@pytest.mark.parametrize("name", VECTORIZERS)
def test_a_number_of_threads_that_cannot_be_is_refused(name, n_jobs):
    with pytest.raises((ValueError, TypeError), match="n_jobs"):
        getattr(text, name)(n_jobs=n_jobs).fit_transform(["aa bb"])


# --- a vocabulary that grows -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", COUNTING)
@settings(max_examples=60)
@given(data=st.data())
def test_the_first_partial_fit_is_fit(name, data):
    options = data.draw(options_of(name, ngram_range=data.draw(st.sampled_from(NGRAMS))))
    options.pop("max_features", None)
    corpus, others = data.draw(texts(name)), data.draw(texts(name))
    one, two = getattr(text, name)(**options), getattr(text, name)(**options)
    got, _ = result_of(lambda: one.partial_fit(corpus))
    expected, _ = result_of(lambda: two.fit(corpus))
    if isinstance(expected, Exception):
        assert type(got) is type(expected)
        assert not hasattr(one, "vocabulary_")
        return
    assert got is one
    assert list(one.vocabulary_.items()) == list(two.vocabulary_.items())
    if hasattr(two, "idf_"):
        np.testing.assert_array_equal(one.idf_, two.idf_, strict=True)
    assert_same_bits(one.transform(others), two.transform(others))


def is_refused(twin):
    """Nothing to learn, as in fit: no word has a column, or no frequency is between the limits."""
    low, high = (share if isinstance(share, int) else share * twin.n_documents for share in (twin.min_df, twin.max_df))
    return not twin.columns or high < low


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("name", COUNTING)
@settings(max_examples=80)
@given(data=st.data())
def test_partial_fit_is_the_twins(name, n_jobs, data):
    """Columns, frequencies and weights after every call, whatever the pieces are."""
    limits = data.draw(st.sampled_from(GROWING))
    analysis = {"ngram_range": data.draw(st.sampled_from(NGRAMS)), "token_pattern": r"(?u)\b\w+\b"}
    corpus, others = data.draw(texts(name)), data.draw(texts(name))
    vectorizer, twin = getattr(text, name)(**limits, **analysis, n_jobs=n_jobs), Counts(**limits, **analysis)
    with blocks_of(data.draw(st.sampled_from([1, 50, 10**6]))):
        for piece in data.draw(cuts(len(corpus))):
            twin.partial_fit(corpus[piece])
            try:
                vectorizer.partial_fit(corpus[piece])
            except ValueError:
                assert is_refused(twin)
                return
            assert not is_refused(twin)
            assert dict(vectorizer.vocabulary_) == twin.columns
            assert vectorizer.get_feature_names_out().tolist() == twin.names()
            rows = twin.transform(others)
            if name == "CountVectorizer":
                assert rows_of(vectorizer.transform(others)) == rows
                continue
            weighted = tfidf(rows, twin.document_frequency(), twin.n_documents)
            X = vectorizer.transform(others)
            assert X.indices.tolist() == [column for row in weighted for column, _ in row]
            np.testing.assert_allclose(X.data, [value for row in weighted for _, value in row], rtol=1e-12)


@pytest.mark.parametrize("name", COUNTING)
def test_columns_never_move_and_new_ones_are_sorted(name):
    vectorizer = getattr(text, name)().partial_fit(["mm zz", "mm cc"])
    assert vectorizer.get_feature_names_out().tolist() == ["cc", "mm", "zz"]
    vectorizer.partial_fit(["yy mm aa", "bb"])
    assert vectorizer.get_feature_names_out().tolist() == ["cc", "mm", "zz", "aa", "bb", "yy"]
    vectorizer.partial_fit([])
    vectorizer.partial_fit(["", "!"])
    assert vectorizer.get_feature_names_out().tolist() == ["cc", "mm", "zz", "aa", "bb", "yy"]
    assert vectorizer.transform(["aa zz unknown"]).indices.tolist() == [2, 3]
    assert vectorizer.fit(["yy mm"]).get_feature_names_out().tolist() == ["mm", "yy"]  # fit starts anew
    assert vectorizer.partial_fit(["aa"]).get_feature_names_out().tolist() == ["mm", "yy", "aa"]  # and is learnt on


@pytest.mark.parametrize("name", COUNTING)
def test_a_word_gets_its_column_when_it_is_frequent_enough_and_keeps_it(name):
    vectorizer = getattr(text, name)(min_df=2, max_df=0.9).partial_fit(["aa bb", "aa cc", "dd"])
    assert vectorizer.get_feature_names_out().tolist() == ["aa"]
    vectorizer.partial_fit(["dd bb", "dd cc zz"])
    assert vectorizer.get_feature_names_out().tolist() == ["aa", "bb", "cc", "dd"]
    vectorizer.partial_fit(["aa zz", "aa", "aa", "aa", "aa", "aa", "aa"] * 3)
    assert vectorizer.get_feature_names_out().tolist() == ["aa", "bb", "cc", "dd", "zz"]


@pytest.mark.parametrize("name", COUNTING)
def test_documents_that_are_refused_count_for_nothing(name):
    """Twelve documents, of which half are more than three."""
    vectorizer, twin = getattr(text, name)(min_df=0.5, max_df=3), getattr(text, name)(min_df=0.5, max_df=3)
    for one in (vectorizer, twin):
        one.partial_fit(["aa bb", "aa cc"])
    with pytest.raises(ValueError, match="max_df"):
        vectorizer.partial_fit(["aa bb dd"] * 10)
    with pytest.raises(TypeError, match="expected a string"):
        vectorizer.partial_fit(["bb cc", 3])
    for one in (vectorizer, twin):
        one.partial_fit(["dd ee", "dd"])
    assert vectorizer.get_feature_names_out().tolist() == ["aa", "bb", "cc", "dd"]
    assert list(vectorizer.vocabulary_.items()) == list(twin.vocabulary_.items())
    assert_same_bits(vectorizer.transform(["aa bb cc dd"]), twin.transform(["aa bb cc dd"]))


@pytest.mark.parametrize("name", COUNTING)
def test_a_word_that_fit_gave_no_column_begins_anew(name):
    """fit keeps what it gave a column; partial_fit remembers how many documents had the rest, too."""
    pieces = getattr(text, name)(min_df=2).partial_fit(["aa bb", "aa"])
    assert pieces.partial_fit(["bb"]).get_feature_names_out().tolist() == ["aa", "bb"]
    whole = getattr(text, name)(min_df=2).fit(["aa bb", "aa"])
    assert whole.partial_fit(["bb"]).get_feature_names_out().tolist() == ["aa"]
    assert whole.partial_fit(["bb"]).get_feature_names_out().tolist() == ["aa", "bb"]


@pytest.mark.parametrize("name", COUNTING)
def test_partial_fit_after_fit_counts_all_documents(name):
    """Of what has a column: the frequencies are those of partial_fit throughout."""
    documents = ["aa bb", "bb cc bb", "dd aa", "ee dd dd", "zz"]
    after, pieces = getattr(text, name)().fit(documents[:2]), getattr(text, name)().partial_fit(documents[:2])
    for piece in (documents[2:4], documents[4:]):
        assert list(after.partial_fit(piece).vocabulary_.items()) == list(pieces.partial_fit(piece).vocabulary_.items())
        assert_same_bits(after.transform(documents), pieces.transform(documents))
    if name == "TfidfVectorizer":
        np.testing.assert_array_equal(after.idf_, pieces.idf_)


@pytest.mark.parametrize("name", COUNTING)
def test_partial_fit_refuses_max_features(name):
    vectorizer = getattr(text, name)(max_features=3)
    with pytest.raises(ValueError, match="max_features"):
        vectorizer.partial_fit(["aa bb"])
    assert not hasattr(vectorizer, "vocabulary_")


@pytest.mark.parametrize("name", COUNTING)
def test_a_fixed_vocabulary_does_not_grow(name):
    vectorizer = getattr(text, name)(vocabulary=["bb", "aa"]).partial_fit(["aa cc"]).partial_fit(["dd bb"])
    assert vectorizer.get_feature_names_out().tolist() == ["bb", "aa"]
    if name == "TfidfVectorizer":
        whole = TfidfVectorizer(vocabulary=["bb", "aa"]).fit(["aa cc", "dd bb"])
        np.testing.assert_allclose(vectorizer.idf_, whole.idf_, rtol=1e-15)


@settings(max_examples=30)
@given(data=st.data())
def test_pieces_without_limits_weigh_words_as_the_whole_does(data):
    """The same idf and counts, but for the order of the columns."""
    corpus = data.draw(corpora(min_documents=2, max_documents=14))
    corpus[0] += " word"
    whole, pieces = TfidfVectorizer().fit(corpus), TfidfVectorizer()
    for piece in data.draw(cuts(len(corpus))):
        pieces.partial_fit(corpus[piece])
    order = [pieces.vocabulary_[name] for name in whole.get_feature_names_out()]
    np.testing.assert_allclose(pieces.idf_[order], whole.idf_, rtol=1e-15)
    X, Y = whole.transform(corpus), pieces.transform(corpus)
    np.testing.assert_allclose(Y.toarray()[:, order], X.toarray(), rtol=1e-12)


def test_counts_in_pieces_train_a_transformer_in_pieces():
    """TfidfTransformer.partial_fit takes the wider matrices of a vocabulary that grows."""
    corpus = ["aa bb", "bb cc bb", "dd aa", "ee dd dd", "zz"]
    counts, transformer, both = CountVectorizer(), TfidfTransformer(), TfidfVectorizer()
    for piece in (corpus[:2], corpus[2:3], corpus[3:]):
        transformer.partial_fit(counts.partial_fit(piece).transform(piece))
        both.partial_fit(piece)
    np.testing.assert_allclose(transformer.idf_, both.idf_, rtol=1e-15)
    X, Y = transformer.transform(counts.transform(corpus)), both.transform(corpus)
    np.testing.assert_allclose(X.toarray(), Y.toarray(), rtol=1e-12)


# --- names of hash buckets -------------------------------------------------------------------------------------------


@settings(max_examples=30)
@given(documents=corpora(alphabets=UTF8), n_features=st.sampled_from([3, 50, 2**20]))
def test_hashing_keeps_the_names_of_its_buckets(documents, n_features):
    """names_ tells of every word where it went."""
    plain = HashingVectorizer(n_features=n_features)
    vectorizer = HashingVectorizer(n_features=n_features, keep_names=10**6)
    assert_same_bits(vectorizer.fit_transform(documents), plain.transform(documents))
    words = {word for document in documents for word in plain.build_analyzer()(document)}
    assert sorted(word for names in vectorizer.names_.values() for word in names) == sorted(words)
    for column, names in vectorizer.names_.items():
        assert {bucket(word, n_features)[0] for word in names} == {column}
    assert (vectorizer.collisions_ > 0) == any(len(names) > 1 for names in vectorizer.names_.values())


@pytest.mark.parametrize("analyzer", ["word", "char", str.split], ids=["words", "characters", "Python"])
def test_names_are_those_first_met_and_collisions_are_counted(analyzer):
    documents = ["bb aa bb", "aa cc dd"]
    vectorizer = HashingVectorizer(analyzer=analyzer, n_features=2, keep_names=3)
    for seen in (documents[:1], documents):  # all three are found at last
        vectorizer.partial_fit(seen)
        features = [feature for document in seen for feature in vectorizer.build_analyzer()(document)]
        expected = {}
        for word in list(dict.fromkeys(features))[:3]:
            expected.setdefault(bucket(word, 2)[0], []).append(word)
        assert vectorizer.names_ == {column: tuple(names) for column, names in expected.items()}
        assert vectorizer.collisions_ == sum(map(len, expected.values())) - len(expected)
    assert vectorizer.collisions_ > 0
    vectorizer.fit(["bb"])  # forgets
    assert {name for names in vectorizer.names_.values() for name in names} == {"b" if analyzer == "char" else "bb"}


def test_where_there_are_no_words_there_are_no_names():
    vectorizer = HashingVectorizer(keep_names=5)
    with pytest.raises(AttributeError, match="names="):
        vectorizer.names_  # noqa: B018
    assert (vectorizer.fit(["!", ""]).names_, vectorizer.collisions_) == ({}, 0)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_hashing_keeps_no_more_names_than_asked_for(n_jobs):
    documents = [" ".join(f"word{k}" for k in range(start, start + 30)) for start in range(0, 900, 25)]
    for names in (0, 1, 100):
        with blocks_of(64):
            vectorizer = HashingVectorizer(keep_names=names, n_jobs=n_jobs).fit(documents)
            vectorizer.transform(documents)
        assert sum(map(len, getattr(vectorizer, "names_", {}).values())) == names
