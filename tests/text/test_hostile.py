"""Bad input gets scikit-learn's exception, with words that say where; and the vectoriser stays as it was."""

import contextlib
import decimal
import gc
import sysconfig
import threading
import warnings

import numpy as np
import pytest

from fastlin import text
from support.vectorizers import (
    COUNTING,
    VECTORIZERS,
    assert_same_bits,
    assert_same_matrix,
    fitted_state,
    pair,
    result_of,
)

every = pytest.mark.parametrize("name", VECTORIZERS)
counting = pytest.mark.parametrize("name", COUNTING)
CORPUS = ["the cat sat on the mat", "a dog", "", "the dog sat", "Le café 中文"]
ROW = 3


def make(name, **options):
    return getattr(text, name)(**options)


def calls_of(vectorizer, name):
    """What looks at documents."""
    methods = ["fit_transform", "transform"] if name == "HashingVectorizer" else ["fit", "fit_transform", "partial_fit"]
    return [getattr(vectorizer, method) for method in methods]


@contextlib.contextmanager
def refused(vectorizer, *errors, match=None):
    """The call raises, and leaves the vectoriser as it was."""
    before = fitted_state(vectorizer)
    with pytest.raises(errors or (ValueError, TypeError), match=match):
        yield
    assert fitted_state(vectorizer) == before


def refuse_everywhere(name, documents, match, *errors, **options):
    """By a new vectoriser and by a fitted one, in one thread and in two, by each of its methods."""
    for n_jobs in (1, 2):
        new = make(name, n_jobs=n_jobs, **options)
        for call in calls_of(new, name):
            with refused(new, *errors, match=match):
                call(documents())
        fitted = make(name, n_jobs=n_jobs, **options).fit(CORPUS)
        for call in (*calls_of(fitted, name), fitted.transform):
            with refused(fitted, *errors, match=match):
                call(documents())
        assert_same_bits(fitted.transform(CORPUS), make(name, **options).fit(CORPUS).transform(CORPUS))


# --- documents that are none -----------------------------------------------------------------------------------------


NO_DOCUMENTS = {
    "None": (None, "None"),
    "a number": (5, "int|5"),
    "NaN, another": (float("nan"), "nan|float"),
    "a list": (["aa", "bb"], "list"),
    "a dict": ({"aa": 1}, "dict"),
    "an object": (object(), "object"),
    "a decimal": (decimal.Decimal("1.5"), "Decimal"),
    "an array": (np.array(["aa", "bb"]), "ndarray|array"),
    "a boolean": (True, "bool"),
}


@pytest.mark.parametrize("analyzer", ["word", "char", "char_wb"])
@pytest.mark.parametrize("case", NO_DOCUMENTS)
@every
def test_what_is_no_document_is_refused_by_its_number(name, case, analyzer):
    """Without hooks: scikit-learn fails somewhere in its own, mostly for want of an attribute `lower`."""
    value, match = NO_DOCUMENTS[case]
    documents = [*CORPUS[:ROW], value, *CORPUS[ROW:]]
    _, two = pair(name, analyzer=analyzer)
    expected, _ = result_of(lambda: two.fit_transform(documents))
    assert isinstance(expected, Exception)
    kinds = (type(expected), ValueError, TypeError)
    refuse_everywhere(name, lambda: iter(documents), f"(?s)(?=.*({match}))(?=.*{ROW})", *kinds, analyzer=analyzer)


@pytest.mark.parametrize("kind", [bytearray, memoryview])
@every
def test_other_buffers_of_bytes_are_decoded_or_refused(name, kind):
    got, _ = result_of(lambda: make(name).fit_transform([*CORPUS[:ROW], kind("aa é bb".encode()), *CORPUS[ROW:]]))
    if isinstance(got, Exception):
        assert isinstance(got, TypeError | ValueError)
        assert str(ROW) in "".join([str(got), *getattr(got, "__notes__", [])])
    else:
        assert_same_bits(got, make(name).fit_transform([*CORPUS[:ROW], "aa é bb", *CORPUS[ROW:]]))


@every
def test_nan_is_scikit_learns_error(name):
    """What pandas makes of a missing text; lower-cased or not, by any analyser."""
    for options in ({}, {"lowercase": False}, {"analyzer": "char"}, {"analyzer": str.split}, {"tokenizer": str.split}):
        for documents in (["aa bb", np.nan], [np.nan]):
            vectorizer = make(name, **options)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                with refused(vectorizer, ValueError, match="np.nan is an invalid document"):
                    vectorizer.fit_transform(documents)


@every
def test_a_vectorizer_takes_no_single_document_and_no_nothing(name):
    vectorizer = make(name)
    for call in calls_of(vectorizer, name):
        with refused(vectorizer, ValueError, match="Iterable over raw text documents expected"):
            call("one document")
        for nothing in (None, 5, 1.5, object()):
            with refused(vectorizer, TypeError, match="iterable|raw_documents|X"):
                call(nothing)


NOTHING = {"list": list, "tuple": tuple, "iterator": lambda: iter(()), "array": lambda: np.array([], dtype=str)}


@pytest.mark.parametrize("documents", NOTHING.values(), ids=NOTHING)
@counting
def test_no_documents_are_nothing_to_learn_from(name, documents):
    for vectorizer in (make(name), make(name).fit(CORPUS)):
        for method in ("fit", "fit_transform"):
            with refused(vectorizer, ValueError, match="empty"):
                getattr(vectorizer, method)(documents())


@pytest.mark.parametrize("documents", NOTHING.values(), ids=NOTHING)
@every
def test_no_documents_are_a_matrix_without_rows_or_a_value_error(name, documents):
    """scikit-learn counts them, refuses to weigh them, and lets a StopIteration out of hashing them."""
    vectorizer = make(name).fit(CORPUS)
    got, _ = result_of(lambda: vectorizer.transform(documents()))
    if name == "CountVectorizer":
        assert_same_matrix(got, pair(name)[1].fit(CORPUS).transform(documents()))
    elif isinstance(got, Exception):
        assert isinstance(got, ValueError)
    else:
        assert got.shape == (0, vectorizer.transform(CORPUS).shape[1])


@counting
def test_a_partial_fit_that_fails_leaves_no_trace(name):
    """Not even in the document frequencies: words that were read before the failure were not seen."""

    def fails():
        yield "new words"
        yield "dog new"
        raise LookupError("lost")

    for n_jobs in (1, 2):
        vectorizer = make(name, min_df=2, n_jobs=n_jobs).partial_fit([*CORPUS, "once"])
        for documents in (fails, lambda: iter(["new words", "once", None])):
            with refused(vectorizer, LookupError, TypeError, ValueError, AttributeError):
                vectorizer.partial_fit(documents())
        expected = make(name, min_df=2).partial_fit([*CORPUS, "once"])
        for documents in (["new once"], ["other words"]):
            vectorizer.partial_fit(documents)
            expected.partial_fit(documents)
            assert fitted_state(vectorizer) == fitted_state(expected)
        assert vectorizer.get_feature_names_out().tolist() == ["dog", "sat", "the", "once"]


@counting
@pytest.mark.parametrize(
    "documents", [[""], ["", ""], ["!"], ["\0"], [" \n\t"], ["the", "and the"], ["a b c"], ["\ud800"]], ids=repr
)
def test_only_stop_words_and_nothing_else_is_an_empty_vocabulary(name, documents):
    vectorizer = make(name, stop_words="english")
    for call in calls_of(vectorizer, name):
        with refused(vectorizer, ValueError, match="empty vocabulary"):
            call(documents)


@pytest.mark.parametrize("analyzer", ["word", "char", "char_wb"])
def test_a_lone_surrogate_has_no_hash(analyzer):
    """UTF-8 has no place for it: scikit-learn's error, but for words, which never hold one."""
    documents = [*CORPUS[:ROW], "aa\udcffbb", *CORPUS[ROW:]]
    one, two = pair("HashingVectorizer", analyzer=analyzer)
    expected, _ = result_of(lambda: two.transform(documents))
    got, _ = result_of(lambda: one.transform(documents))
    assert type(got) is type(expected)
    if analyzer == "word":
        assert_same_bits(got, make("HashingVectorizer").transform([*CORPUS[:ROW], "aa bb", *CORPUS[ROW:]]))
    else:
        assert isinstance(got, UnicodeEncodeError)


@every
def test_nul_is_a_character(name):
    documents = ["aa\0bb cc\0", "\0", "\0\0aa", "bb\0"]
    assert_same_bits(
        make(name).fit_transform(documents), make(name).fit_transform([d.replace("\0", " ") for d in documents])
    )
    if name in COUNTING:
        vectorizer = make(name, analyzer="char").fit(documents)
        assert list(vectorizer.get_feature_names_out()) == ["\0", " ", "a", "b", "c"]


# --- documents that will not keep still ------------------------------------------------------------------------------


@every
@pytest.mark.parametrize(
    "error", [LookupError("lost"), KeyboardInterrupt(), StopIteration("early"), MemoryError()], ids=repr
)
@pytest.mark.parametrize("where", [0, 1, 4])
def test_a_generator_that_raises_leaves_the_vectorizer_as_it_was(name, error, where):
    class Documents:
        """An iterator by hand, for generators may not raise StopIteration."""

        def __iter__(self):
            self.at = -1
            return self

        def __next__(self):
            self.at += 1
            if self.at == where:
                raise error
            return CORPUS[self.at]

    for n_jobs in (1, 2):
        vectorizer = make(name, n_jobs=n_jobs).fit(CORPUS)
        if isinstance(error, StopIteration):
            if where:
                assert_same_bits(vectorizer.transform(Documents()), vectorizer.transform(CORPUS[:where]))
            continue
        for call in (*calls_of(vectorizer, name), vectorizer.transform):
            with refused(vectorizer, type(error)):
                call(Documents())


@every
def test_a_list_may_change_while_it_is_read(name):
    class Shrinking(list):
        """A list that loses its last document whenever it gives one away."""

        def __iter__(self):
            for document in list.__iter__(self):
                yield document
                if len(self) > 2:
                    self.pop()

    got = make(name).fit_transform(Shrinking(CORPUS * 2))
    seen = list(Shrinking(CORPUS * 2))
    assert_same_bits(got, make(name).fit_transform(seen))


@every
def test_a_lying_length_is_not_believed(name):
    for length in (0, 1, 10**9):

        class Lying(list):
            def __len__(self, length=length):
                return length

        assert_same_bits(make(name).fit_transform(Lying(CORPUS)), make(name).fit_transform(CORPUS))

    class Word(str):
        def __len__(self):
            return 10**9

        def __getitem__(self, index):
            raise LookupError

    assert_same_bits(make(name).fit_transform([Word(d) for d in CORPUS]), make(name).fit_transform(CORPUS))


@every
def test_documents_may_end_as_soon_as_they_are_read(name):
    """Strings that nobody else keeps: what is read while the GIL is free must be kept alive."""
    rng = np.random.default_rng(0)
    seeds = rng.integers(0, 50, size=(3000, 40)).tolist()

    # without the GIL there are no generations, and each collection looks at all that is alive
    turns = 300 if sysconfig.get_config_var("Py_GIL_DISABLED") else 1

    def made():
        for number, row in enumerate(seeds):
            yield " ".join(f"word{k}" for k in row)
            if number % turns == 0:
                gc.collect(0)

    expected = make(name).fit_transform(list(made()))
    for n_jobs in (1, 2, 3):
        vectorizer = make(name, n_jobs=n_jobs)
        assert_same_bits(vectorizer.fit_transform(made()), expected)
        assert_same_bits(vectorizer.transform(made()), make(name).fit(list(made())).transform(list(made())))


@every
def test_many_threads_may_use_one_fitted_vectorizer(name):
    """Names, vocabulary and matrices, all asked for at once and made but once."""
    documents = [f"w{k} w{k % 97} café{k % 31}" for k in range(4000)]
    for n_jobs in (1, 2):
        vectorizer = make(name, ngram_range=(1, 2), n_jobs=n_jobs).fit(documents)
        expected = make(name, ngram_range=(1, 2)).fit(documents).transform(documents)
        found, barrier = [None] * 6, threading.Barrier(6)

        def work(k, vectorizer=vectorizer, found=found, barrier=barrier):
            barrier.wait()
            try:
                names = None if name == "HashingVectorizer" else vectorizer.get_feature_names_out().tolist()
                found[k] = (vectorizer.transform(documents), names)
            except BaseException as error:
                found[k] = error

        threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for answer in found:
            assert isinstance(answer, tuple), answer
            assert_same_bits(answer[0], expected)
            assert answer[1] == found[0][1]
