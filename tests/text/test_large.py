"""What is large: a document, a token, a number of documents, a vocabulary; and what it leaves behind."""

import os
import subprocess
import sys
import textwrap
import warnings

import numpy as np
import pytest
from sklearn.utils import murmurhash3_32

from fastlin.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from support.vectorizers import VECTORIZERS, assert_same, assert_same_bits

MB = 2**20


def text_of(n_bytes, n_words=5000, seed=0):
    """So many bytes of words of which some are frequent, and how often each occurs."""
    rng = np.random.default_rng(seed)
    numbers = rng.zipf(1.2, size=20_000) % n_words
    piece = " ".join(f"Word{k}é" if k % 7 == 0 else f"Word{k}" for k in numbers) + " "
    repeats = max(1, n_bytes // len(piece.encode()))
    counts = np.bincount(numbers, minlength=n_words) * repeats
    names = [f"word{k}é" if k % 7 == 0 else f"word{k}" for k in range(n_words)]
    return piece * repeats, {names[k]: int(counts[k]) for k in np.flatnonzero(counts)}


@pytest.mark.parametrize("name", VECTORIZERS)
def test_a_document_of_three_megabytes(name):
    document, _ = text_of(3 * MB)
    assert_same(name, {}, ["Word1 word2", document, ""], [document[:MB]])


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_document_of_ten_megabytes(n_jobs):
    document, counts = text_of(10 * MB)
    vectorizer = CountVectorizer(n_jobs=n_jobs)
    X = vectorizer.fit_transform(["", document, "zz"])
    assert X.indptr.tolist() == [0, 0, len(counts), len(counts) + 1]
    assert dict(zip(vectorizer.get_feature_names_out()[X.indices], X.data.tolist(), strict=True)) == {**counts, "zz": 1}


@pytest.mark.timing
@pytest.mark.parametrize("analyzer", ["word", "char"])
def test_a_document_of_a_hundred_megabytes(analyzer):
    document, counts = text_of(100 * MB)
    vectorizer = CountVectorizer(analyzer=analyzer)
    X = vectorizer.fit_transform([document])
    if analyzer == "word":
        assert dict(zip(vectorizer.get_feature_names_out()[X.indices], X.data.tolist(), strict=True)) == counts
    else:
        assert X.sum() == len(document)
        lower = document.lower()
        assert all(X[0, column] == lower.count(letter) for letter, column in vectorizer.vocabulary_.items())


@pytest.mark.parametrize("n_bytes", [MB, pytest.param(50 * MB, marks=pytest.mark.timing)])
@pytest.mark.parametrize("last", ["", "é", "中", "😀"], ids=ascii)
def test_one_token_of_many_megabytes(n_bytes, last):
    token = "abcdefg1" * (n_bytes // 8) + last
    for document in (token, f"aa {token} bb {token} cc", f"{token}\ud800"):
        vectorizer = CountVectorizer(token_pattern=r"\S+") if last == "😀" else CountVectorizer()
        if last == "😀" and "\ud800" in document:
            continue
        X = vectorizer.fit_transform([document, "zz"])
        words = document.replace("\ud800", " ").split()
        assert list(vectorizer.vocabulary_) == [*dict.fromkeys(words), "zz"]
        assert X.data.tolist() == [words.count(word) for word in dict.fromkeys(words)] + [1]
    if last != "😀":
        row = HashingVectorizer(norm=None).transform([token])
        expected = murmurhash3_32(token.encode(), 0)
        assert (row.indices.tolist(), row.data.tolist()) == ([abs(expected) % 2**20], [1.0 if expected >= 0 else -1.0])


@pytest.mark.parametrize("n_documents", [10**5, pytest.param(10**6, marks=pytest.mark.timing)])
def test_very_many_documents_of_one_character(n_documents):
    rng = np.random.default_rng(0)
    letters = "abcé中😀 \0"
    documents = [letters[k] for k in rng.integers(0, len(letters), size=n_documents).tolist()]
    order = list(dict.fromkeys(documents))
    for n_jobs in (1, 2):
        vectorizer = CountVectorizer(analyzer="char", n_jobs=n_jobs)
        X = vectorizer.fit_transform(documents)
        assert list(vectorizer.vocabulary_) == order
        assert X.indptr.tolist() == list(range(n_documents + 1))
        assert vectorizer.get_feature_names_out()[X.indices].tolist() == documents
        assert_same_bits(vectorizer.transform(documents), X)
        assert TfidfVectorizer(token_pattern=r"\w", n_jobs=n_jobs).fit(documents).vocabulary_.keys() == set("abcé中")
        assert HashingVectorizer(n_jobs=n_jobs).transform(documents).nnz == 0


@pytest.mark.parametrize("n_documents", [10**5, pytest.param(10**6, marks=pytest.mark.timing)])
def test_very_many_documents_of_nothing(n_documents):
    vectorizer = CountVectorizer().fit(["aa"])
    assert vectorizer.transform([""] * n_documents).shape == (n_documents, 1)
    with pytest.raises(ValueError, match="empty vocabulary"):
        CountVectorizer(n_jobs=2).fit([""] * n_documents)


def test_very_many_words():
    """A table that grows, and columns in the order of code points."""
    words = [f"{chr(97 + k % 26)}{k}{'é' * (k % 3)}{'long' * (k % 20)}" for k in range(300_000)]
    documents = [" ".join(words[k : k + 100]) for k in range(0, len(words), 100)]
    for n_jobs in (1, 2):
        vectorizer = CountVectorizer(n_jobs=n_jobs)
        X = vectorizer.fit_transform(documents)
        assert list(vectorizer.vocabulary_) == words
        assert vectorizer.get_feature_names_out().tolist() == sorted(words)
        assert X.nnz == len(words)
        assert X.indptr.tolist() == list(range(0, len(words) + 1, 100))


def resident():
    """Bytes of memory that this process has, by Linux's account."""
    with open("/proc/self/statm") as status:
        return int(status.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.timing
@pytest.mark.parametrize("name", VECTORIZERS)
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_calls_leave_nothing_behind(name, n_jobs):
    """Not when they succeed, and not when a document among the last is none."""
    make = {
        "CountVectorizer": CountVectorizer,
        "HashingVectorizer": HashingVectorizer,
        "TfidfVectorizer": TfidfVectorizer,
    }
    document, _ = text_of(MB)
    documents = [document[k : k + 5000] for k in range(0, len(document), 5000)]

    def use():
        for options in ({}, {"ngram_range": (1, 2)}, {"analyzer": "char_wb", "ngram_range": (2, 4)}):
            vectorizer = make[name](n_jobs=n_jobs, **options)
            vectorizer.fit_transform(documents)
            vectorizer.transform(documents[:50])
            with pytest.raises((TypeError, ValueError, AttributeError)):
                vectorizer.fit_transform([*documents, None])

    for _ in range(5):
        use()
    before = resident()
    for _ in range(20):
        use()
    assert resident() - before < 12 * MB


@pytest.mark.timing
@pytest.mark.parametrize("options", [{}, {"max_features": 500, "binary": True}, {"vocabulary": ["w1", "w2"]}], ids=str)
def test_fit_on_a_stream_keeps_no_rows(options):
    code = f"""
    import numpy as np
    from fastlin.text import TfidfVectorizer

    def peak():
        return int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0]) / 1024

    def stream():
        rng = np.random.default_rng(0)
        words = [f"w{{i}}" for i in range(1000)]
        documents = [" ".join(words[i] for i in rng.permutation(1000)[:200]) for _ in range(100)]
        for _ in range(1000):
            yield from documents

    TfidfVectorizer(**{options!r}).fit(documents for documents, _ in zip(stream(), range(2000)))
    before = peak()
    vectorizer = TfidfVectorizer(**{options!r}).fit(stream())
    assert vectorizer._terms.n_documents == 100_000
    assert vectorizer._terms.names().size == len(vectorizer.idf_)
    print(peak() - before)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True)
    assert float(done.stdout) < 60  # megabytes; the rows have 20 million entries


@pytest.mark.parametrize(
    "options", [{}, {"max_features": 7, "binary": True}, {"vocabulary": ["a b", "c", "d"]}], ids=str
)
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("analyzer", ["word", str.split], ids=["engine", "python"])
def test_fit_learns_what_fit_transform_learns(options, n_jobs, analyzer):
    rng = np.random.default_rng(0)
    documents = [" ".join(rng.choice([*"abcdefghij"], rng.integers(0, 9))) for _ in range(300)]
    options = {"ngram_range": (1, 2) if analyzer == "word" else (1, 1), "token_pattern": r"\w+", **options}
    one, other = (TfidfVectorizer(n_jobs=n_jobs, analyzer=analyzer, **options) for _ in range(2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of parameters that an analyzer leaves unused
        one.fit_transform(documents)
        other.fit(iter(documents))
    assert one.vocabulary_ == other.vocabulary_
    assert list(one.vocabulary_) == list(other.vocabulary_)
    assert one.idf_.tolist() == other.idf_.tolist()
