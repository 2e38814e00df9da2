"""Files become corpora: the rows that reading and vectorising them in memory give."""

import io
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from sklearn.base import clone

from fastlin import Corpus, CountVectorizer, DictVectorizer, FeatureHasher, HashingVectorizer, TfidfVectorizer
from fastlin.data import ReadError, convert, dump_svmlight, load_svmlight
from fastlin.data import corpus as module
from support.corpora import assert_same_corpus, small_corpus

VECTORIZERS = {
    "hashed": HashingVectorizer(n_features=2**10),
    "counts": CountVectorizer(ngram_range=(1, 2), min_df=2, max_features=150),
    "tf-idf": TfidfVectorizer(max_df=0.8),
    "tf-idf float32": TfidfVectorizer(sublinear_tf=True, dtype=np.float32),
    "given": CountVectorizer(vocabulary=["good", "bad", "dog"]),
}


@pytest.fixture(autouse=True)
def _short_segments(monkeypatch):
    monkeypatch.setattr(module, "SEGMENT", 500)


@pytest.fixture(scope="module")
def documents():
    rng = np.random.default_rng(0)
    words = ["good", "bad", "dog", *(f"word{number}" for number in range(60))]
    return [" ".join(rng.choice(words, size=rng.integers(0, 25))) for _ in range(300)]


@pytest.fixture(scope="module")
def table(documents, tmp_path_factory):
    path = tmp_path_factory.mktemp("documents") / "documents.tsv"
    labels = ["first", "second", "aside"]
    lines = (f"{labels[number % 3]}\t{document}\n" for number, document in enumerate(documents))
    path.write_text("".join(lines), encoding="utf-8")
    return path


@pytest.mark.parametrize("name", VECTORIZERS)
def test_documents_become_the_rows_they_become_in_memory(documents, table, name):
    alone, vectorizer = clone(VECTORIZERS[name]), clone(VECTORIZERS[name])
    corpus = Corpus(table, vectorizer=vectorizer, block=700)
    labels = [("first", "second", "aside")[number % 3] for number in range(len(documents))]
    assert_same_corpus(corpus, Corpus(alone.fit(documents).transform(documents), labels))
    assert corpus.n_segments > 2 or name == "given"
    assert corpus.vectorizer is vectorizer
    if name != "hashed":
        assert vectorizer.vocabulary_ == alone.vocabulary_
        assert corpus.feature_names.tolist() == alone.get_feature_names_out().tolist()


def test_a_fitted_vectorizer_is_left_as_it_is(table):
    vectorizer = CountVectorizer().fit(["good dog"])
    corpus = Corpus(table, vectorizer=vectorizer)
    assert corpus.feature_names.tolist() == ["dog", "good"]
    assert len(vectorizer.vocabulary_) == 2


def test_features_by_name_become_rows(tmp_path):
    path = tmp_path / "features.vw"
    path.write_text("1 | a:2 b\n2 | b:3\n1 |\n")
    corpus = Corpus(path, vectorizer=DictVectorizer())
    np.testing.assert_array_equal(corpus.to_memory()[0].toarray(), [[2, 1], [0, 3], [0, 0]])
    hashed = Corpus(path, vectorizer=FeatureHasher(64))
    assert hashed.shape == (3, 64)
    assert hashed.feature_names is None


def test_what_can_be_read_only_once_is_read_twice(table, monkeypatch):
    expected = Corpus(table, vectorizer=TfidfVectorizer())
    pipe = io.BytesIO(table.read_bytes())
    pipe.seekable = lambda: False
    assert_same_corpus(Corpus(pipe, format="tsv", vectorizer=TfidfVectorizer()), expected)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(table.read_bytes())))
    assert_same_corpus(Corpus(["-"], format="tsv", vectorizer=TfidfVectorizer()), expected)


@pytest.fixture
def rows():
    X, y = small_corpus().to_memory()
    X = X[:, np.argsort(np.arange(40) % 7)]
    X.sort_indices()
    return X, y.astype(float)


def test_svmlight_grows_as_wide_as_its_largest_index(tmp_path, rows):
    X, y = rows
    path = tmp_path / "rows.svmlight"
    dump_svmlight(X, y, path)
    expected = Corpus(*load_svmlight(path))
    assert_same_corpus(Corpus(path, block=300), expected)
    wider = Corpus(path, n_features=1000, block=300)
    assert wider.shape == (300, 1000)
    np.testing.assert_array_equal(wider.to_memory()[0].toarray()[:, :40], X.toarray())


def test_parts_of_a_folder_are_one_corpus(tmp_path, rows):
    X, y = rows
    (tmp_path / "parts").mkdir()
    for number in range(3):
        dump_svmlight(X[number::3], y[number::3], tmp_path / "parts" / f"{number}.svmlight")
    order = np.concatenate([np.arange(300)[number::3] for number in range(3)])
    expected = Corpus(X[order], y[order])
    assert_same_corpus(Corpus(tmp_path / "parts"), expected)
    assert_same_corpus(Corpus(str(tmp_path / "parts" / "*.svmlight")), expected)
    assert_same_corpus(Corpus(sorted((tmp_path / "parts").iterdir())), expected)


@pytest.mark.parametrize("storage", ["npy", "arrow"])
def test_converted_files_stay(tmp_path, table, storage):
    corpus = convert(table, tmp_path / "corpus", to=storage, vectorizer=HashingVectorizer(n_features=64))
    expected = Corpus(table, vectorizer=HashingVectorizer(n_features=64))
    assert corpus.path == tmp_path / "corpus"
    assert isinstance(corpus.vectorizer, HashingVectorizer)
    assert_same_corpus(Corpus(tmp_path / "corpus"), expected)
    hashed = corpus._store.hashed
    assert (hashed["class"], hashed["parameters"]["n_features"]) == ("HashingVectorizer", 64)
    assert_same_corpus(convert(tmp_path / "corpus", tmp_path / "copy", to=storage), expected)
    narrow = convert(
        table, tmp_path / "narrow", to=storage, dtype="float32", vectorizer=HashingVectorizer(n_features=64)
    )
    assert narrow.dtype == np.float32


def test_arrow_files_of_others_are_read(tmp_path):
    """Lists of other types, several batches, slices, dictionaries, unsorted and repeated indices: all is converted."""
    indices, values = [[3, 1], [], [2, 2], [0]], [[1, 2], [], [1, 4], [-1]]
    expected = Corpus(np.array([[0, 2, 0, 1], [0, 0, 0, 0], [0, 0, 5, 0], [-1, 0, 0, 0]], float), ["b", "a", "b", "c"])
    for index_type in (pa.uint32(), pa.int64()):
        for list_type in (pa.list_, pa.large_list):
            batch = pa.record_batch(
                {
                    "label": pa.array(["x", "b", "a", "b", "c"]).dictionary_encode(),
                    "indices": pa.array([[9], *indices], list_type(index_type)),
                    "values": pa.array([[9], *values], list_type(pa.float32())),
                }
            )
            path = tmp_path / "theirs.arrow"
            with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, batch.schema) as writer:
                writer.write_batch(batch.slice(1, 2))
                writer.write_batch(batch.slice(3))
            corpus = Corpus(path)
            X, y = corpus.to_memory()
            np.testing.assert_array_equal(X.toarray(), expected.to_memory()[0].toarray())
            assert y.tolist() == ["b", "a", "b", "c"]


# --- what is refused -------------------------------------------------------------------------------------------------


def test_documents_need_a_vectorizer_and_rows_need_none(table, tmp_path, rows):
    with pytest.raises(ValueError, match="holds documents: vectorizer= is needed"):
        Corpus(table)
    dump_svmlight(*rows, tmp_path / "rows.svmlight")
    for vectorizer in (CountVectorizer(), HashingVectorizer()):
        with pytest.raises(ValueError, match="holds rows of numbers"):
            Corpus(tmp_path / "rows.svmlight", vectorizer=vectorizer)


def test_a_failed_conversion_leaves_nothing(tmp_path, table, monkeypatch):
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    bad = tmp_path / "bad.tsv"
    bad.write_bytes(table.read_bytes() + b"no tab\n")
    for given in ({}, {"cache": tmp_path / "cache"}):
        with pytest.raises(ReadError, match=r"bad\.tsv, line 301: there is no"):
            Corpus(bad, vectorizer=HashingVectorizer(n_features=64), block=500, **given)
        assert not (tmp_path / "cache").exists()
        assert not list((tmp_path / "temporary").iterdir())
    corpus = Corpus(bad, vectorizer=CountVectorizer(), on_error="skip")
    assert len(corpus) == 300
    assert corpus.skipped.count == 1
    del corpus
    assert not list((tmp_path / "temporary").iterdir())


def test_an_interrupted_conversion_leaves_nothing(tmp_path, table, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def interrupt(texts):
        raise KeyboardInterrupt

    vectorizer = HashingVectorizer(n_features=64)
    vectorizer.transform = interrupt
    with pytest.raises(KeyboardInterrupt):
        Corpus(table, vectorizer=vectorizer)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "no rows"),
        ("1 1:1e200\n", "line 1: .*larger than 1e\\+100"),
        ("1 qid:1 1:1\n1 1:1\n", "qid"),
    ],
)
def test_files_without_a_corpus_in_them(tmp_path, text, message):
    path = tmp_path / "rows.svmlight"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        Corpus(path, block=1)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nothing\.tsv"):
        Corpus(tmp_path / "nothing.tsv")
    assert not list(Path(tmp_path).iterdir())
