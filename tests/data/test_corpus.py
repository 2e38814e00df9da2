"""A corpus is the same rows, bit for bit, wherever they lie and however they are cut into shards."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus_support import assert_same_corpus, corpora, small_corpus
from fastlin import Corpus
from fastlin.data import corpus as module


@pytest.fixture(autouse=True)
def _short_segments(monkeypatch):
    monkeypatch.setattr(module, "SEGMENT", 200)


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


def test_rows_that_lie_in_one_shard_are_not_copied(tmp_path):
    stored = small_corpus(dtype=np.float32).write(tmp_path / "corpus")
    for _, rows, codes, _ in stored:
        for array in (rows.indptr, rows.indices, rows.values, codes):
            assert not array.flags.writeable  # the file's
    stored = small_corpus().write(tmp_path / "corpus")
    assert {str(shard.dtype) for shard in stored._store.manifest.shards} == {"float32"}
    assert stored.segment(0).rows.values.dtype == np.float64
