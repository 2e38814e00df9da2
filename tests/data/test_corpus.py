"""A corpus is the same rows, bit for bit, wherever they lie and however they are cut into shards."""

import os
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from fastlin import Corpus
from fastlin.data import corpus as module
from support.corpora import assert_same_corpus, corpora, small_corpus


@pytest.fixture(autouse=True)
def _short_segments(monkeypatch):
    monkeypatch.setattr(module, "SEGMENT", 200)
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)  # a loss of power would not be noticed here


@given(problem=corpora(), written=st.sampled_from([3, 20, 10**6]), opened=st.sampled_from([3, 20, 10**6]))
def test_a_stored_corpus_is_the_one_in_memory(tmp_path_factory, problem, written, opened):
    X, given = problem
    folder = tmp_path_factory.mktemp("stored") / "corpus"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "SEGMENT", written)
        Corpus(X, **given).write(folder)
        patch.setattr(module, "SEGMENT", opened)
        memory, stored = Corpus(X, **given), Corpus(folder)
        assert_same_corpus(stored, memory)
        assert_same_corpus(pickle.loads(pickle.dumps(stored)), memory)
        X_back, y_back = stored.to_memory()
        assert_same_corpus(Corpus(X_back, **{**given, **({} if y_back is None else {"y": y_back})}), memory)


@given(problem=corpora(), seed=st.integers(0, 99))
def test_a_subset_is_the_corpus_of_those_rows(tmp_path_factory, problem, seed):
    X, given = problem
    wanted = np.random.default_rng(seed).random(X.shape[0]) < 0.6
    wanted[0] = True
    given.pop("group_sizes", None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "SEGMENT", 20)
        memory = Corpus(X, **given)
        stored = memory.write(tmp_path_factory.mktemp("stored") / "corpus")
        expected = Corpus(X[np.flatnonzero(wanted)], **{name: array[wanted] for name, array in given.items()})
        for corpus in (memory, stored):
            assert_same_corpus(corpus.subset(wanted), expected)
            assert_same_corpus(corpus.subset(np.flatnonzero(wanted)), expected)


def test_groups_stay_whole(tmp_path):
    sizes = [1, 2, 30, 1, 1, 50, 5, *[10] * 21]
    corpus = small_corpus(group_sizes=sizes)
    assert set(corpus.bounds) <= set(np.cumsum([0, *sizes]))
    assert corpus.n_segments > 5
    assert corpus.groups.tolist() == sizes
    stored = corpus.write(tmp_path / "corpus")
    assert stored.groups.tolist() == sizes
    assert_same_corpus(stored, corpus)


@pytest.mark.parametrize("storage", ["npy", "arrow"])
def test_rows_that_lie_in_one_shard_are_not_copied(tmp_path, storage):
    stored = small_corpus(dtype=np.float32).write(tmp_path / "corpus", storage)
    for _, rows, codes, _ in stored:
        for array in (rows.indices, rows.values, codes):
            assert not array.flags.writeable  # the file's
    stored = small_corpus().write(tmp_path / "corpus", storage)
    assert {shard.dtype for shard in stored._store.manifest.shards} == {"float32"}
    assert stored.segment(0).rows.values.dtype == np.float64
    stored = small_corpus().write(tmp_path / "corpus", storage, dtype="float64")  # asked for, so it is stored so
    assert not stored.segment(0).rows.values.flags.writeable
    assert_same_corpus(stored, small_corpus())


def test_segments_that_are_held_keep_their_values(tmp_path):
    memory = small_corpus()
    stored = memory.write(tmp_path / "corpus")
    for _ in range(2):  # the second time in buffers that are used again
        held = [segment.rows.values[1:] for segment in stored]
        for values, segment in zip(held, memory, strict=True):
            np.testing.assert_array_equal(values, segment.rows.values[1:], strict=True)
    buffers = stored._store._buffers
    del held, values
    assert len(buffers._idle) == 2
    first = stored.segment(0).rows.values
    assert len(buffers._idle) == 1
    assert not np.shares_memory(first, stored.segment(1).rows.values)


@pytest.mark.parametrize("storage", ["npy", "arrow"])
def test_float32_rounds_where_it_is_asked_for(tmp_path, storage):
    X = sparse.csr_array(np.array([[0.1, 1e-50, 3.0], [0.0, 2.0, 1e9 + 1]]))
    memory = Corpus(X, dtype="float32")
    assert memory.segment(0).rows.zeros  # 1e-50 became one
    stored = Corpus(X).write(tmp_path / "rounded", storage, dtype="float32")
    assert_same_corpus(stored, memory)
    exact = Corpus(X).write(tmp_path / "exact", storage)
    assert_same_corpus(exact, Corpus(X))
    with pytest.raises(ValueError, match="float32 does not hold the values"):
        Corpus(exact.path, dtype="float32")
    assert_same_corpus(Corpus(stored.path, dtype="float64"), Corpus(X.astype(np.float32).astype(float)))
    counts = small_corpus()
    assert_same_corpus(
        Corpus(counts.write(tmp_path / "counts", storage).path, dtype="float32"), small_corpus(dtype=np.float32)
    )
    with pytest.raises(ValueError, match="1e\\+50"):
        Corpus([[1e50]]).write(tmp_path / "too large", storage, dtype="float32")
    assert not (tmp_path / "too large").exists()


@pytest.mark.parametrize("storage", ["npy", "arrow"])
@pytest.mark.parametrize(
    "labels",
    [
        ["b", "a", "ä\0", "日本"],
        [b"b", b"a", b"", b"c"],
        np.array([3, -1, 2**40, 0]),
        np.array([3, 200, 0, 1], np.uint8),
        [True, False, True, True],
        [1.0, -1.0, 1.0, 3.0],
        np.array(["x", "", "y", "z"], object),
    ],
    ids=["text", "bytes", "numbers", "small numbers", "truths", "whole floats", "objects"],
)
def test_labels_of_every_kind_come_back(tmp_path, storage, labels):
    memory = Corpus(np.eye(4), labels)
    stored = memory.write(tmp_path / "corpus", storage)
    assert_same_corpus(stored, memory)
    assert stored.classes.tolist() == memory.classes.tolist()
    assert {type(label) for label in stored.classes.tolist()} == {type(label) for label in memory.classes.tolist()}


def test_labels_that_have_no_file_format_are_refused(tmp_path):
    with pytest.raises(TypeError, match="labels of type datetime64"):
        Corpus(np.eye(2), np.array(["2020-01-01", "2021-01-01"], "M8[D]")).write(tmp_path / "corpus")
    assert not (tmp_path / "corpus").exists()


def test_a_million_labels(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "SEGMENT", 1 << 19)
    n = 1_000_000
    X = sparse.csr_array((np.ones(n, np.float32), np.zeros(n, np.int32), np.arange(n + 1)), shape=(n, 1))
    memory = Corpus(X, np.arange(n)[::-1] * 3)
    stored = memory.write(tmp_path / "corpus", "npy")
    np.testing.assert_array_equal(stored.classes, memory.classes)
    np.testing.assert_array_equal(stored.codes(), memory.codes())


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"y": [1, 2]}, "y cannot be given: a stored corpus has all that already"),
        ({"sample_weight": [1, 2], "format": "tsv"}, "format and sample_weight cannot be given"),
        ({"delimiter": ","}, "delimiter cannot be given: a stored corpus"),
    ],
)
def test_what_a_stored_corpus_has_already_is_refused(tmp_path, arguments, message):
    stored = small_corpus().write(tmp_path / "corpus")
    with pytest.raises(ValueError, match=message):
        Corpus(stored.path, **arguments)


def test_a_matrix_that_liblinear_takes(tmp_path):
    X = sparse.csr_array([[1.0, 0.0], [0.0, 2.0]])
    corpus = Corpus(X, ["a", "b"])
    for found in (corpus.to_memory()[0], corpus.write(tmp_path / "corpus").to_memory()[0]):
        assert found.indices.dtype == found.indptr.dtype == np.int32


def test_rows_in_memory_are_not_read():
    with pytest.raises(ValueError, match="vectorizer cannot be given: rows in memory"):
        Corpus(np.eye(2), [0, 1], vectorizer=object())
    with pytest.raises(ValueError, match="dtype must be None, 'float32' or 'float64'"):
        Corpus(np.eye(2), dtype="int8")


@pytest.mark.parametrize("rows", [[], [1, 0], [0, 0], [-1], [300], [0.5], [True], np.ones(299, bool), [[0]], "all"])
def test_rows_of_a_subset_rise(rows):
    with pytest.raises(ValueError, match="row"):
        small_corpus().subset(rows)


def test_a_subset_of_a_stored_corpus_lies_in_files_that_go_with_it(tmp_path):
    part = small_corpus().write(tmp_path / "corpus").subset(np.arange(200))
    path, copy = part.path, pickle.loads(pickle.dumps(part))
    assert_same_corpus(copy, part)
    del copy
    assert path.exists()  # the copy does not own them
    del part
    assert not path.exists()


def test_it_says_what_it_is(tmp_path):
    assert repr(small_corpus()) == "Corpus(300 rows, 40 features, 4 labels, 13 segments of float64 in memory)"
    stored = small_corpus().write(tmp_path / "corpus")
    assert repr(stored).endswith(f"13 segments of float64 in {str(stored.path)!r})")


def test_a_lone_surrogate_is_a_label_of_numpys_files_only(tmp_path):
    memory = Corpus(np.eye(2), ["\ud800", "a"])
    assert_same_corpus(memory.write(tmp_path / "corpus", "npy"), memory)
    with pytest.raises(ValueError, match="surrogates not allowed"):
        memory.write(tmp_path / "corpus", "arrow")
    assert_same_corpus(Corpus(tmp_path / "corpus"), memory)
