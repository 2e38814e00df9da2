"""Whatever is done to a file, reading it gives rows or a ReadError: no crash, no hang, nothing else."""

import bz2
import gzip
import io
import lzma
import time

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from fastlin.data import Block, ReadError, dump_svmlight, read
from fastlin.validation import as_rows
from support import zstd

TEXTS = [f'text {i} the quick ‘brown’ fox, said "so" 😀' for i in range(40)]
JSON = "".join(f'{{"label": "l{i % 3}", "text": "some \\"text\\" \\u00e9 {i}", "w": {i / 7}}}\n' for i in range(40))
INTERESTING = [
    b"\n",
    b"\r",
    b"\t",
    b'"',
    b",",
    b":",
    b"|",
    b"#",
    b"\0",
    b"\xff",
    b"-",
    b"1e999",
    b"nan",
    b"9" * 25,
    b"{",
    b"\\u",
]


def svmlight():
    rng = np.random.default_rng(0)
    X = rng.poisson(0.2, (40, 30)) * rng.normal(size=(40, 30))
    file = io.BytesIO()
    dump_svmlight(X, rng.integers(0, 3, 40), file, query_id=np.arange(40))
    return file.getvalue()


def arrow(write):
    labels = [f"l{i % 3}" for i in range(40)]
    file = io.BytesIO()
    write(pa.table({"label": labels, "text": TEXTS}), file)
    return file.getvalue()


def rows(write):
    lists = pa.array([[i, i + 3] for i in range(40)], pa.list_(pa.uint32()))
    values = pa.array([[0.5, i] for i in range(40)], pa.list_(pa.float32()))
    file = io.BytesIO()
    write(pa.table({"label": list(range(40)), "indices": lists, "values": values}), file)
    return file.getvalue()


TSV = "".join(f"l{i % 3}\t{text}\n" for i, text in enumerate(TEXTS)).encode()
FILES = {
    "x.tsv": TSV,
    "x.csv": "".join(
        '{},"{}"\r\n'.format(f"l{i % 3}" if i else "label", text.replace('"', '""') if i else "text")
        for i, text in enumerate(["", *TEXTS])
    ).encode(),
    "x.jsonl": JSON.encode(),
    "x.txt": "\n".join(TEXTS).encode(),
    "x.vw": "".join(f"{i % 3} {i / 5} 't{i}|a x:{i} y |b:2 z:-1e-3 z\n" for i in range(40)).encode(),
    "x.ft": "".join(f"__label__l{i % 3} {text}\n" for i, text in enumerate(TEXTS)).encode(),
    "x.svm": svmlight(),
    "x.tsv.gz": gzip.compress(TSV),
    "x.tsv.bz2": bz2.compress(TSV),
    "x.tsv.xz": lzma.compress(TSV),
    "x.tsv.zst": zstd.compress(TSV),
    "x.parquet": arrow(pyarrow.parquet.write_table),
    "rows.parquet": rows(pyarrow.parquet.write_table),
    "x.feather": arrow(lambda table, file: pyarrow.feather.write_feather(table, file, compression="uncompressed")),
    "rows.feather": rows(lambda table, file: pyarrow.feather.write_feather(table, file, compression="uncompressed")),
}


def mutated(data, rng):
    """A few bytes flipped, cut out, doubled, or exchanged for interesting ones."""
    data = bytearray(data)
    for _ in range(rng.integers(1, 5)):
        place, end = sorted(rng.integers(0, len(data) + 1, 2).tolist())
        kind = rng.integers(6)
        if kind == 0 and place < len(data):
            data[place] ^= 1 << rng.integers(8)
        elif kind == 1:
            del data[place : place + rng.integers(1, 20)]
        elif kind == 2:
            data[place:place] = INTERESTING[rng.integers(len(INTERESTING))]
        elif kind == 3:
            data[place : place + 1] = INTERESTING[rng.integers(len(INTERESTING))]
        elif kind == 4:
            data[place:place] = data[place : min(end, place + 200)]
        elif rng.integers(4) == 0:
            del data[place:]
        if not data:
            return b""
    return bytes(data)


def outcome(path, **options):
    """What reading gives: the number of rows, or the error. Rows are proved as every learner would."""
    count = 0
    try:
        for found in read(path, **options):
            if isinstance(found, Block):
                as_rows(found.X)
                assert len(found.y) == found.X.shape[0] > 0
                count += found.X.shape[0]
            else:
                assert len(found.labels if found.labels is not None else found.texts) == len(found.texts) > 0
                assert all(isinstance(text, str | dict) for text in found.texts)
                count += len(found.texts)
    except ReadError as error:
        return str(error)
    return count


def attack(name, folder, n):
    rng = np.random.default_rng(len(name))
    path = folder / name
    refused = 0
    for _ in range(n):
        path.write_bytes(mutated(FILES[name], rng))
        start = time.monotonic()
        strict = outcome(path, block=int(rng.integers(1, 3000)))
        lax = outcome(path, on_error="skip")
        if isinstance(strict, int):
            assert lax == strict  # nothing was malformed, so nothing is left out
        refused += isinstance(strict, str) and strict.startswith(str(path))
        assert time.monotonic() - start < 10
    return refused


@pytest.mark.parametrize("name", FILES)
def test_mutations_give_rows_or_a_read_error(name, tmp_path):
    refused = attack(name, tmp_path, 300)
    assert refused > 20 or name == "x.txt" or (name == "x.ft" and refused)


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_many_mutations_give_rows_or_a_read_error(name, tmp_path):
    assert attack(name, tmp_path, 10_000) > (20 if name == "x.ft" else 500) or name == "x.txt"


@pytest.mark.parametrize("name", FILES)
def test_the_files_are_good_before(name, tmp_path):
    (tmp_path / name).write_bytes(FILES[name])
    assert outcome(tmp_path / name) == 40


@pytest.mark.parametrize(
    "suffix", [".tsv", ".csv", ".jsonl", ".txt", ".vw", ".ft", ".svm", ".tsv.gz", ".tsv.zst", ".parquet", ".arrow"]
)
def test_random_bytes(suffix, tmp_path):
    rng = np.random.default_rng(3)
    path = tmp_path / f"x{suffix}"
    for size in (1, 2, 7, 63, 64, 65, 1000, 5000):
        for high in (256, 128, 4):
            path.write_bytes((rng.integers(0, high, size) + (48 if high == 4 else 0)).astype(np.uint8).tobytes())
            outcome(path)
            outcome(path, on_error="skip")
