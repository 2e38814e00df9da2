"""Stored corpora that are damaged, hostile, half written or in the way: an error, or the same data; never a crash."""

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import zlib

import numpy as np
import pyarrow as pa
import pytest

from fastlin import Corpus
from fastlin.data import CorpusError, manifest
from fastlin.data import corpus as module
from fastlin.data.atomic_folder import AtomicFolder
from support.corpora import assert_same_corpus, small_corpus

FORMATS = ["npy", "arrow"]
EDGES = (0, 1, 2, 127, 128, 255, 2**31 - 1, 2**31, 2**32 - 1, 2**62, 2**63 - 1, 2**63, 2**64 - 1)


@pytest.fixture(autouse=True)
def _short_segments(monkeypatch):
    monkeypatch.setattr(module, "SEGMENT", 800)
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


@pytest.fixture(scope="module")
def memory():
    rng = np.random.default_rng(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "SEGMENT", 800)
        return small_corpus(150, sample_weight=rng.random(150), group_sizes=[2] * 75)


@pytest.fixture(scope="module", params=FORMATS)
def stored(request, memory, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "SEGMENT", 800)
        return memory.write(tmp_path_factory.mktemp("stored") / "corpus", request.param).path


def files_of(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file())


def read_whole(folder, verify):
    """All that a learner reads of a corpus."""
    corpus = Corpus(folder, verify=verify)
    segments = list(corpus.segments())
    for _, rows, codes, weights in segments:
        assert rows.indptr[0] == 0
        assert len(rows.indices) == len(rows.values) == rows.indptr[-1]
        assert (np.diff(rows.indptr) >= 0).all()
        if rows.nnz:
            assert 0 <= rows.indices.min() <= rows.indices.max() < corpus.shape[1]
        assert np.isfinite(rows.values).all()
        assert (np.abs(rows.values) <= rows.largest).all()
        assert len(codes) == len(rows) * (len(corpus.classes) > 0)
        assert len(weights) == len(rows) * corpus.weighted
        assert set(codes.tolist()) <= set(range(len(corpus.classes)))
        assert (weights >= 0).all()
    assert sum(len(segment.rows) for segment in segments) == len(corpus)
    assert len(corpus.codes()) == len(corpus) * (len(corpus.classes) > 0)
    assert corpus.groups is None or corpus.groups.sum() == len(corpus)
    return corpus


def damaged(data, rng):
    """Some bytes of a file, changed in one of many ways."""
    data = bytearray(data)
    place = int(rng.integers(len(data)))
    kind = rng.integers(6)
    if kind == 0:
        data[place] ^= 1 << rng.integers(8)
    elif kind == 1:
        del data[place:]
    elif kind == 2:
        data[place : place + rng.integers(1, 40)] = b""
    elif kind == 3:
        data[place:place] = rng.bytes(int(rng.integers(1, 40)))
    elif kind == 4:
        width = int(rng.choice([4, 8]))
        place -= place % width
        data[place : place + width] = (int(rng.choice(EDGES)) % 256**width).to_bytes(width, "little")
    else:
        data[place : place + 64] = rng.bytes(64)
    return bytes(data)


def mutate(folder, rng):
    """Change one of the files, or swap two."""
    inside = files_of(folder)
    if rng.random() < 0.1:
        one, other = (inside[place] for place in rng.permutation(len(inside))[:2])
        one.rename(folder / "aside")
        other.rename(one)
        (folder / "aside").rename(other)
        return
    path = inside[rng.integers(len(inside))]
    path.write_bytes(damaged(path.read_bytes(), rng))


def mutate_entry(folder, rng):
    """Change an entry of the manifest, whose CRC-32 is right again."""
    path = folder / manifest.MANIFEST_NAME
    content = json.loads(path.read_text())
    content.pop("crc32")
    holder = content
    while True:
        keys = list(holder) if isinstance(holder, dict) else range(len(holder))
        key = keys[rng.integers(len(keys))]
        if not isinstance(holder[key], dict | list) or not holder[key] or rng.random() < 0.1:
            break
        holder = holder[key]
    odd = [None, True, "x", "../x", -1, 0, 1, 2**31, 2**70, 0.5, float("nan"), [], {}, [1], {"a": 1}, "npy", "float32"]
    holder[key] = odd[rng.integers(len(odd))]
    path.write_text(json.dumps(content | {"crc32": manifest._digest(content)}))


def try_mutations(stored, tmp_path, count, change, *, verify=True, memory=None):
    """How many of so many changed corpora are refused; the others are well formed, and the one in memory if given."""
    rng, errors = np.random.default_rng(7), 0
    for number in range(count):
        folder = tmp_path / str(number)
        shutil.copytree(stored, folder)
        change(folder, rng)
        try:
            corpus = read_whole(folder, verify)
            if memory is not None:
                assert_same_corpus(corpus, memory)
        except (CorpusError, OSError):
            errors += 1
        shutil.rmtree(folder)
    return errors


def test_damage_is_an_error_or_changes_nothing(stored, memory, tmp_path):
    assert try_mutations(stored, tmp_path, 300, mutate, memory=memory) > 270


def test_what_is_hostile_or_not_verified_is_an_error_or_a_corpus(stored, tmp_path):
    assert 50 < try_mutations(stored, tmp_path, 150, mutate, verify=False) < 145
    assert try_mutations(stored, tmp_path, 150, mutate_entry) > 75


@pytest.mark.slow
def test_much_damage_is_an_error_or_changes_nothing(stored, memory, tmp_path):
    assert try_mutations(stored, tmp_path, 10_000, mutate, memory=memory) > 9_000


@pytest.mark.slow
def test_much_that_is_hostile_or_not_verified_is_an_error_or_a_corpus(stored, tmp_path):
    assert try_mutations(stored, tmp_path, 10_000, mutate, verify=False) > 3_000
    assert try_mutations(stored, tmp_path, 10_000, mutate_entry) > 5_000


def test_a_file_that_changes_between_two_epochs_is_noticed(stored, memory, tmp_path):
    folder = tmp_path / "corpus"
    shutil.copytree(stored, folder)
    corpus = read_whole(folder, verify=True)
    path = next(path for path in files_of(folder) if path.name in ("000001.indices.npy", "000001.arrow"))
    whole = path.read_bytes()
    path.write_bytes(whole[:-400] + bytes(400))
    corpus.segment(0)
    with pytest.raises(CorpusError, match=r"000001.* is damaged: its CRC-32"):
        corpus.segment(1)
    path.write_bytes(whole[:-100])
    with pytest.raises(CorpusError, match="000001"):
        corpus.segment(1)
    path.unlink()
    with pytest.raises(CorpusError, match=r"000001.* is missing"):
        corpus.segment(1)
    path.write_bytes(whole)
    assert_same_corpus(corpus, memory)


def test_every_file_is_verified_once(stored, monkeypatch):
    seen = []
    for room in ("fastlin.data.shards", "fastlin.data.arrow_shards", "fastlin.data.string_files"):
        monkeypatch.setattr(f"{room}.crc32", lambda data: seen.append(len(data)) or zlib.crc32(data))
    corpus = Corpus(stored)
    for _ in range(3):
        list(corpus.segments())
        corpus.codes(), corpus.groups, corpus.weights()
    names = [path for path in files_of(stored) if path.name != manifest.MANIFEST_NAME]
    assert sorted(seen) == sorted(path.stat().st_size for path in names)
    seen.clear()
    read_whole(stored, verify=False)
    assert not seen


# --- writing ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("storage", FORMATS)
def test_a_failed_write_leaves_the_old_corpus_or_nothing(tmp_path, monkeypatch, memory, storage):
    old = small_corpus(60, seed=5)
    old.write(tmp_path / "old", storage)
    before = [(path, path.read_bytes()) for path in files_of(tmp_path)]
    reads = iter([True, False])

    def failing(start, stop, read=memory._store.read):
        if not next(reads, False):
            raise OSError(errno.ENOSPC, "No space left on device")
        return read(start, stop)

    monkeypatch.setattr(memory._store, "read", failing)
    for target in ("old", "new"):
        with pytest.raises(OSError, match="No space left"):
            memory.write(tmp_path / target, storage)
        assert [(path, path.read_bytes()) for path in files_of(tmp_path)] == before
    assert not (tmp_path / "new").exists()
    assert_same_corpus(Corpus(tmp_path / "old"), old)


@pytest.mark.parametrize("storage", FORMATS)
def test_a_full_disk_is_an_os_error(tmp_path, memory, storage):
    """A limit on the size of files stands for the full disk."""
    code = """
import resource, signal, sys
import numpy as np
from fastlin import Corpus
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
corpus = Corpus(np.random.default_rng(0).random((300, 100)))
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    corpus.write(sys.argv[1], sys.argv[2])
except OSError:
    print("refused")
"""
    old = small_corpus(60, seed=5)
    old.write(tmp_path / "corpus", storage)
    command = [sys.executable, "-c", code, str(tmp_path / "corpus"), storage]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout == "refused\n", done.stderr
    assert_same_corpus(Corpus(tmp_path / "corpus"), old)
    assert len([path for path in (tmp_path / "corpus").iterdir() if path.is_dir()]) == 1


def test_a_corpus_is_replaced_at_once_and_what_it_was_is_removed(tmp_path, memory):
    folder = tmp_path / "corpus"
    for storage in ("npy", "arrow", "npy"):
        small_corpus(60, seed=5).write(folder, "npy")
        assert_same_corpus(memory.write(folder, storage), memory)
        assert sorted(path.name.split("-")[0] for path in folder.iterdir()) == ["corpus.json", "shards"]
    assert_same_corpus(Corpus(folder).write(folder), memory)  # onto itself


def test_a_killed_writer_leaves_the_old_corpus_or_the_new_one(tmp_path, memory):
    folder, other = tmp_path / "corpus", small_corpus(60, seed=5)
    other.write(folder, "npy")
    rng, found = np.random.default_rng(0), set()
    for number in range(40):
        child = os.fork()
        if not child:
            while True:
                (memory, other)[number % 2].write(folder, "npy")
        time.sleep(rng.uniform(0.001, 0.02))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        corpus = Corpus(folder)
        assert_same_corpus(corpus, memory if len(corpus) == len(memory) else other)
        found.add(len(corpus))
    assert found == {len(memory), len(other)}
    memory.write(folder, "npy")
    assert len(list(folder.iterdir())) == 2  # what the killed ones left is gone


def test_other_files_are_not_touched(tmp_path, memory):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(FileExistsError, match="holds other files"):
        memory.write(tmp_path)
    assert files_of(tmp_path) == [tmp_path / "thesis.tex"]
    with pytest.raises(NotADirectoryError):
        memory.write(tmp_path / "thesis.tex")


def test_no_manifest_is_no_corpus(tmp_path):
    with pytest.raises(OSError, match="nothing"):
        Corpus(tmp_path / "nothing")
    (tmp_path / "corpus.json").write_text("{}")
    with pytest.raises(CorpusError, match="is not the manifest of a corpus"):
        Corpus(tmp_path)
    (tmp_path / "corpus.json").write_text('{"format": "fastlin corpus", "version": 2}')
    with pytest.raises(CorpusError, match="has version 2; this fastlin reads 1"):
        Corpus(tmp_path)


# --- what others see -------------------------------------------------------------------------------------------------


def test_numpy_reads_the_shards(tmp_path, memory):
    memory.write(tmp_path / "corpus", "npy")
    (place,) = (path for path in (tmp_path / "corpus").iterdir() if path.is_dir())
    first = memory.segment(0)
    for name, expected in zip(("indptr", "indices", "values"), first.rows.__dict__.values(), strict=False):
        np.testing.assert_array_equal(np.load(place / f"000000.{name}.npy"), expected)
    np.testing.assert_array_equal(np.load(place / "000000.label.npy"), first.codes, strict=True)


def test_pyarrow_reads_the_shards(tmp_path, memory):
    memory.write(tmp_path / "corpus", "arrow")
    (place,) = (path for path in (tmp_path / "corpus").iterdir() if path.is_dir())
    batches = []
    for path in sorted(place.glob("*.arrow")):
        with pa.memory_map(str(path)) as source, pa.ipc.open_file(source) as reader:
            batches.append(reader.get_batch(0))
    schema = batches[0].schema
    assert schema.metadata[b"n_features"] == b"40"
    assert schema.field("indices").type == pa.list_(pa.uint32())
    assert schema.field("values").type == pa.list_(pa.float32())
    X, y = memory.to_memory()
    table = pa.Table.from_batches(batches)
    assert table["label"].to_pylist() == y.tolist()
    assert table["indices"].to_pylist() == [
        X.indices[a:b].tolist() for a, b in zip(X.indptr, X.indptr[1:], strict=False)
    ]
    np.testing.assert_array_equal(table["weight"].to_numpy(), memory.weights())


def test_one_writer_at_a_time(tmp_path):
    """The second would remove the first one's shards, and the first, if it failed, what the second had written."""
    corpus, folder = Corpus([[1.0, 2.0]], ["a"]), tmp_path / "corpus"
    with AtomicFolder(folder), pytest.raises(FileExistsError, match="is being written by another"):
        corpus.write(folder)
    assert not folder.exists()
    before = corpus.write(folder)
    with AtomicFolder(folder):
        pass  # not a commit: a failure
    assert before.segment(0).rows.nnz == 2
    assert corpus.write(folder).shape == (1, 2)
