"""Documents are str, bytes, files or their names, in lists, arrays, series and generators; hooks are the user's."""

import collections
import io
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastlin import text
from support.text_strategies import UTF8, corpora, options_of
from support.vectorizers import (
    COUNTING,
    VECTORIZERS,
    assert_same,
    assert_same_bits,
    assert_same_matrix,
    opened,
    pair,
    result_of,
)

every = pytest.mark.parametrize("name", VECTORIZERS)
CORPUS = [
    "The Cat sat on the mat.",
    "",
    "Ein Café für die Straße — naïve façade",
    "the the the 中文 cat",
    "İ ΑΣ 1234 _x_",
]
ENCODINGS = ("utf-8", "latin-1", "ascii", "utf-16", "utf-16-be", "cp1252", "koi8-r", "shift_jis", "utf-8-sig", "utf-7")


# --- bytes and files -------------------------------------------------------------------------------------------------


@every
@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("decode_error", ["strict", "ignore", "replace"])
@settings(max_examples=10)
@given(data=st.data())
def test_bytes_are_decoded_as_scikit_learn_does(name, encoding, decode_error, data):
    options = data.draw(options_of(name, analyzer=data.draw(st.sampled_from(["word", "char", "char_wb"]))))
    corpus = [document.encode(encoding, "ignore") for document in data.draw(corpora(alphabets=UTF8))]
    if data.draw(st.booleans()):
        corpus += [b"aa \xff\xfe\x80 bb", b"\xe2\x82", b"\xed\xa0\x80 \xc0\xaf", b"aa bb\xf4\x90\x80\x80"]
    assert_same(name, {"encoding": encoding, "decode_error": decode_error, **options}, corpus, corpus[::-1])


@every
@pytest.mark.parametrize("length", [0, 1, 15, 16, 31, 32, 33, 63, 64, 65, 127, 128, 129])
def test_a_broken_byte_is_found_wherever_it_is(name, length):
    for bad in (b"\x80", b"\xff", b"\xe4\xb8", b"\xc3", b"\xf0\x9f\x98", b"\xed\xb0\x80"):
        for after in (b"", b" cc dd"):
            data = b"ab " * 50
            data = data[:length] + bad + after
            for decode_error in ("strict", "ignore", "replace"):
                assert_same(name, {"decode_error": decode_error, "analyzer": "char"}, [b"aa bb", data])


@every
def test_str_and_bytes_stand_side_by_side(name):
    corpus = [document.encode() if k % 2 else document for k, document in enumerate(CORPUS * 3)]
    assert_same(name, {}, corpus, corpus[1:])
    assert_same_bits(getattr(text, name)().fit_transform(corpus), getattr(text, name)().fit_transform(CORPUS * 3))


@every
@pytest.mark.parametrize("form", [str, Path, lambda path: str(path).encode()], ids=["str", "Path", "bytes"])
def test_documents_are_read_from_files_by_name(name, form, tmp_path):
    paths = []
    for k, document in enumerate(CORPUS):
        (tmp_path / f"{k}.txt").write_bytes(document.encode())
        paths.append(form(tmp_path / f"{k}.txt"))
    assert_same(name, {"input": "filename"}, paths, paths[:2])
    assert_same_bits(
        getattr(text, name)(input="filename").fit_transform(iter(paths)), getattr(text, name)().fit_transform(CORPUS)
    )


@every
@pytest.mark.parametrize("as_bytes", [True, False])
def test_documents_are_read_from_open_files(name, as_bytes):
    corpus = [document.encode() for document in CORPUS] if as_bytes else CORPUS
    one, two = pair(name, input="file")
    assert_same_matrix(one.fit_transform(opened(corpus)), two.fit_transform(opened(corpus)), 1e-12)
    assert_same_matrix(one.transform(opened(corpus[::-1])), two.transform(opened(corpus[::-1])), 1e-12)


@every
def test_what_cannot_be_read_is_scikit_learns_error(name, tmp_path):
    (tmp_path / "broken").write_bytes(b"aa \xff")
    for options, documents in (
        ({"input": "filename"}, lambda: [tmp_path / "none"]),
        ({"input": "filename"}, lambda: [tmp_path]),
        ({"input": "filename"}, lambda: [tmp_path / "broken"]),
        ({"input": "filename"}, lambda: ["a\0b"]),
        ({"input": "file"}, lambda: ["aa bb"]),
        ({"input": "file"}, lambda: [io.BytesIO(b"aa \xff")]),
        ({"encoding": "no such encoding"}, lambda: [b"aa bb"]),
    ):
        one, two = pair(name, **options)
        got, _ = result_of(lambda one=one, documents=documents: one.fit_transform(documents()))
        expected, _ = result_of(lambda two=two, documents=documents: two.fit_transform(documents()))
        assert type(got) is type(expected), (got, expected)


# --- containers ------------------------------------------------------------------------------------------------------


CONTAINERS = {
    "tuple": tuple,
    "generator": lambda documents: (document for document in documents),
    "iterator": iter,
    "map": lambda documents: map(str, documents),
    "array of objects": lambda documents: np.array(documents, dtype=object),
    "array of strings": np.array,
    "deque": collections.deque,
    "series": pd.Series,
    "series with another index": lambda documents: pd.Series(documents, index=range(10, 10 + len(documents))),
    "series of pandas's strings": lambda documents: pd.Series(documents, dtype="string"),
    "keys": lambda documents: dict.fromkeys(documents).keys(),
}


@pytest.mark.parametrize("kind", CONTAINERS)
@every
def test_documents_come_in_any_container(name, kind):
    expected = getattr(text, name)(ngram_range=(1, 2))
    vectorizer = getattr(text, name)(ngram_range=(1, 2))
    assert_same_bits(vectorizer.fit_transform(CONTAINERS[kind](CORPUS)), expected.fit_transform(CORPUS))
    assert_same_bits(vectorizer.transform(CONTAINERS[kind](CORPUS)), expected.transform(CORPUS))
    assert vectorizer.fit(CONTAINERS[kind](CORPUS)) is vectorizer


class Quoted(str):
    """A str that shows itself differently, and has attributes of its own."""

    def __repr__(self):
        return "a document"

    __str__ = __repr__


@every
def test_a_subclass_of_str_is_a_document(name):
    assert_same(name, {}, [Quoted(document) for document in CORPUS], [np.str_(document) for document in CORPUS])


@every
def test_one_string_is_no_corpus(name):
    vectorizer = getattr(text, name)()
    for method in ("fit", "fit_transform", "partial_fit"):
        if name != "HashingVectorizer" or method != "partial_fit":
            with pytest.raises(ValueError, match=r"Iterable over raw text documents expected"):
                getattr(vectorizer, method)("one two")
    with pytest.raises(ValueError, match=r"Iterable over raw text documents expected"):
        vectorizer.fit(["one two"]).transform("one two")


# --- the user's functions --------------------------------------------------------------------------------------------


def shout(document):
    return document.upper().replace("THE", "a")


def by_character_pairs(document):
    return (document[i : i + 2] for i in range(0, len(document), 2))


def without_vowels(document):
    return re.sub("[aeiou]", "", document)


HOOKS = {
    "tokenizer": {"tokenizer": str.split, "token_pattern": None},
    "tokenizer beside the pattern": {"tokenizer": str.split},
    "tokenizer, 1-2": {"tokenizer": str.split, "token_pattern": None, "ngram_range": (1, 2)},
    "tokenizer, stop words": {"tokenizer": str.split, "token_pattern": None, "stop_words": ["the", "Cat"]},
    "preprocessor": {"preprocessor": shout},
    "preprocessor, char_wb": {"preprocessor": shout, "analyzer": "char_wb", "ngram_range": (2, 3)},
    "preprocessor, char": {"preprocessor": shout, "analyzer": "char", "ngram_range": (1, 3)},
    "analyzer": {"analyzer": str.split},
    "analyzer that yields": {"analyzer": by_character_pairs},
    "analyzer of a set": {"analyzer": lambda document: sorted(set(document))},
    "strip_accents": {"strip_accents": without_vowels},
    "strip_accents, char_wb": {"strip_accents": without_vowels, "analyzer": "char_wb", "ngram_range": (1, 4)},
    "all at once": {"preprocessor": shout, "tokenizer": list, "token_pattern": None, "ngram_range": (2, 3)},
    "ignored": {"analyzer": str.split, "preprocessor": shout, "stop_words": ["x"], "ngram_range": (1, 2)},
}


@pytest.mark.parametrize("hook", HOOKS)
@every
def test_the_users_functions_are_called(name, hook):
    """Results and warnings are scikit-learn's."""
    assert_same(name, HOOKS[hook], CORPUS, CORPUS[::-1])
    assert_same(name, {**HOOKS[hook], "lowercase": False, "binary": True}, CORPUS, CORPUS[::-1])


@pytest.mark.parametrize("name", COUNTING)
@pytest.mark.parametrize(
    "analyzer",
    [
        lambda document: list(map(len, document.split())),
        lambda document: [(word, len(word)) for word in document.split()],
        lambda document: [word.encode() for word in document.split()],
        lambda document: [0.5 * len(word) for word in document.split()],
    ],
    ids=["numbers", "pairs", "bytes", "fractions"],
)
def test_what_an_analyzer_finds_need_not_be_strings(name, analyzer):
    one, two = pair(name, analyzer=analyzer)
    assert_same_matrix(one.fit_transform(CORPUS), two.fit_transform(CORPUS), 1e-12)
    assert list(one.vocabulary_.items()) == list(two.vocabulary_.items())
    assert [type(key) for key in one.vocabulary_] == [type(key) for key in two.vocabulary_]


@every
@pytest.mark.parametrize("hook", ["analyzer", "tokenizer", "preprocessor", "strip_accents"])
def test_what_the_users_function_raises_comes_through(name, hook):
    def fails(document):
        if "naïve" in document:
            raise LookupError("such a document")
        return document if hook in ("preprocessor", "strip_accents") else document.split()

    options = {hook: fails, "token_pattern": None} if hook == "tokenizer" else {hook: fails}
    vectorizer = getattr(text, name)(**options)
    with pytest.raises(LookupError, match="such a document"):
        vectorizer.fit_transform(CORPUS)
    assert not hasattr(vectorizer, "vocabulary_")


@pytest.mark.parametrize("answer", [None, 3, 1.5, b"aa bb", ["aa", "bb"]], ids=repr)
@pytest.mark.parametrize("hook", ["preprocessor", "strip_accents"])
@every
def test_a_preprocessor_that_gives_no_string_is_an_error(name, hook, answer):
    one, two = pair(name, **{hook: lambda document: answer})
    got, _ = result_of(lambda: one.fit_transform(CORPUS))
    expected, _ = result_of(lambda: two.fit_transform(CORPUS))
    assert isinstance(expected, Exception)
    assert isinstance(got, type(expected)), (got, expected)


class Overridden:
    """What users override in subclasses of scikit-learn's vectorisers."""

    def build_analyzer(self):
        analyze = super().build_analyzer()
        return lambda document: [f"<{word}>" for word in analyze(document)]


class Split:
    def build_tokenizer(self):
        return str.split


class Upper:
    def build_preprocessor(self):
        return shout


class Decoded:
    def decode(self, document):
        return super().decode(document).replace("cat", "dog")


class Stopped:
    def get_stop_words(self):
        return frozenset({"the", "cat"})


@pytest.mark.parametrize("mixin", [Overridden, Split, Upper, Decoded, Stopped], ids=lambda mixin: mixin.__name__)
@every
def test_a_subclass_may_override_what_scikit_learns_may(name, mixin):
    one, two = (
        type("Own", (mixin, type(vectorizer)), {"__init__": type(vectorizer).__init__}) for vectorizer in pair(name)
    )
    one, two = one(ngram_range=(1, 2)), two(ngram_range=(1, 2))
    assert_same_matrix(one.fit_transform(CORPUS), two.fit_transform(CORPUS), 1e-12)
    assert_same_matrix(one.transform(CORPUS[::-1]), two.transform(CORPUS[::-1]), 1e-12)
    if name in COUNTING:
        assert list(one.vocabulary_.items()) == list(two.vocabulary_.items())


@every
@pytest.mark.parametrize("analyzer", ["word", "char", "char_wb"])
@settings(max_examples=20)
@given(data=st.data())
def test_the_functions_that_are_built_do_what_the_matrix_does(name, analyzer, data):
    """build_analyzer and its parts are scikit-learn's, feature by feature."""
    options = data.draw(options_of(name, analyzer=analyzer, ngram_range=data.draw(st.sampled_from([(1, 1), (1, 3)]))))
    one, two = pair(name, **options)
    functions = [result_of(vectorizer.build_analyzer)[0] for vectorizer in (one, two)]
    for document in data.draw(corpora()):
        assert functions[0](document) == functions[1](document)
        assert one.build_preprocessor()(document) == two.build_preprocessor()(document)
        assert one.build_tokenizer()(document) == two.build_tokenizer()(document)
        assert one.decode(document) == two.decode(document) == document
    assert one.get_stop_words() == two.get_stop_words()


@pytest.mark.parametrize("name", VECTORIZERS)
@pytest.mark.parametrize("missing, shown", [(None, "None"), (7, "7"), (float("nan"), "nan")], ids=repr)
@pytest.mark.parametrize(
    "options", [{}, {"tokenizer": str.split, "token_pattern": None, "lowercase": False}], ids=["", "own"]
)
def test_what_is_no_text_is_named_with_its_place_and_its_argument(name, missing, shown, options):
    argument = "X" if name == "HashingVectorizer" else "raw_documents"
    with pytest.raises((TypeError, ValueError, AttributeError)) as caught:
        getattr(text, name)(**options).fit_transform(["a word"] * 500 + [missing])
    told = f"{caught.value}\n" + "\n".join(getattr(caught.value, "__notes__", []))
    assert f"document 500 of {argument}" in told
    assert options or shown in told
