"""Corpora larger than memory, and larger than 32-bit numbers count."""

import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from fastlin import Corpus
from fastlin.data import corpus as module
from fastlin.data.manifest import MANIFEST_NAME, read_manifest

LEARN = """
import resource, sys
from pathlib import Path
import numpy as np
from fastlin import Corpus, HashingVectorizer, Perceptron, data
from fastlin.data import corpus as module

def size():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmSize:"))

task, source, segment, allowed = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
Perceptron().fit(np.eye(2), [0, 1])  # what is imported once
list(data.read(__import__("io").BytesIO(b"1 1:1\\n"), "svmlight"))
module.SEGMENT = segment
resource.setrlimit(resource.RLIMIT_AS, (size() + allowed,) * 2)
try:
    if task == "whole":
        Corpus(source).to_memory()
    elif task == "convert":
        print(Corpus(source, format="svmlight").shape[0])
    else:
        corpus = Corpus(source)
        model = Perceptron(max_iter=2, tol=None, average=True).fit(corpus)
        print(corpus.shape[0], model.score(corpus) > 0.9)
except (MemoryError, OSError):
    print("no memory")
"""


def repeated(folder, n_shards, n_rows, length, segment):
    """A corpus of so many equal shards, whose files are links to one: the room of one on disk."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n_rows)
    indices = np.sort(rng.integers(0, 500, size=(n_rows, length)) * length + np.arange(length), axis=1)
    indices[:, 0] = y
    starts = np.arange(n_rows + 1) * length
    X = sparse.csr_array((np.ones(indices.size), indices.ravel(), starts), shape=(n_rows, 500 * length))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "SEGMENT", segment)
        stored = Corpus(X, y).write(folder, "npy")
    manifest = read_manifest(folder / MANIFEST_NAME)
    assert len(manifest.shards) == 1
    for path in (folder / manifest.folder).glob("000000.*"):
        for number in range(1, n_shards):
            os.link(path, path.with_name(path.name.replace("000000", f"{number:06d}")))
    replace(manifest, rows=n_rows * n_shards, shards=manifest.shards * n_shards).write(folder)
    return stored


def learn(task, source, segment, allowed):
    command = [sys.executable, "-c", LEARN, task, str(source), str(segment), str(allowed)]
    environment = os.environ | dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.timing
def test_memory_is_that_of_a_few_segments(tmp_path):
    """Of 24 segments, 12 MiB each in memory; the process may have 60 MiB more than it has."""
    segment, allowed = 1 << 20, 60 << 20
    repeated(tmp_path / "corpus", 24, segment // 65, 64, segment)
    rows = str(segment // 65 * 24)
    assert learn("learn", tmp_path / "corpus", segment, allowed) == [rows, "True"]
    assert learn("whole", tmp_path / "corpus", segment, allowed) == ["no", "memory"]


@pytest.mark.timing
def test_files_are_converted_in_the_memory_of_a_few_blocks(tmp_path):
    line = b"1 " + b" ".join(b"%d:1.5" % index for index in range(1, 200)) + b"\n"
    path = tmp_path / "rows.svmlight"
    path.write_bytes(line * (64_000_000 // len(line)))
    n_rows = path.stat().st_size // len(line)
    assert learn("convert", path, 1 << 18, 40 << 20) == [str(n_rows)]


def test_more_non_zeros_than_32_bits_count(tmp_path, monkeypatch):
    n_shards, n_rows, length = 260, 8, 1 << 20
    segment = n_rows * (length + 1)
    monkeypatch.setattr(module, "SEGMENT", segment)
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    repeated(tmp_path / "corpus", n_shards, n_rows, length, segment)
    corpus = Corpus(tmp_path / "corpus", verify=False)
    assert sum(shard.nonzeros for shard in corpus._store.manifest.shards) > 2**31
    first, last = corpus.segment(0), corpus.segment(n_shards - 1)
    assert last.start == n_rows * (n_shards - 1)
    np.testing.assert_array_equal(last.rows.indices, first.rows.indices)
    monkeypatch.setattr(module, "SEGMENT", segment + length + 1)  # other segments: a row more
    other = Corpus(tmp_path / "corpus", verify=False)
    assert other.bounds[:2].tolist() == [0, n_rows + 1]
    start, rows, codes, _ = other.segment(other.n_segments - 1)
    assert (start + len(rows), rows.nnz) == (n_rows * n_shards, length * len(rows))
    np.testing.assert_array_equal(codes, corpus.codes()[start:])
