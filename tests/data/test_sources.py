"""Where bytes come from: files of every compression, folders, globs, pipes; and how they are cut into lines."""

import bz2
import gzip
import io
import lzma
import subprocess
import sys
import tracemalloc
import types

import pyarrow
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastlin.data import ReadError, read
from fastlin.data.readers.sources import InputFile, line_blocks, whole_lines
from fastlin.data.zstd import zstd as found_zstd
from support import zstd

COMPRESS = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstd.compress,
}
TEXT = "".join(f"label{i % 3}\ttext number {i} ü\n" for i in range(3000)).encode()


def texts(source, form=None, **options):
    return [text for found in read(source, form, **options) for text in found.texts]


def lines(source, **options):
    return texts(source, "lines", **options)


EXPECTED = texts(io.BytesIO(TEXT), "tsv")


class Pipe:
    """Bytes that can be read once, in parts of any size."""

    def __init__(self, data, part=1000):
        self.data, self.part = io.BytesIO(data), part

    def read(self, size=-1):
        return self.data.read(min(size, self.part))


# --- compression -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", COMPRESS)
@pytest.mark.parametrize("members", [1, 3])
def test_every_compression_by_name_and_by_its_first_bytes(suffix, members, tmp_path):
    part = len(TEXT) // members + 1
    data = b"".join(COMPRESS[suffix](TEXT[start : start + part]) for start in range(0, len(TEXT), part))
    path = tmp_path / f"x.tsv{suffix}"
    path.write_bytes(data)
    assert texts(path) == EXPECTED
    for source in (io.BytesIO(data), Pipe(data), Pipe(data, 70_000)):
        assert texts(source, "tsv", block=5000) == EXPECTED


@pytest.mark.parametrize("suffix", COMPRESS)
def test_a_damaged_file_is_named(suffix, tmp_path):
    data = COMPRESS[suffix](TEXT)
    path = tmp_path / f"x.tsv{suffix}"
    damaged = bytearray(data)
    damaged[len(data) // 2] ^= 0x55
    for wrong in (
        b"",
        data[:3],
        data[: len(data) // 2],
        data[:-1],
        bytes(damaged),
        b"no such thing",
        data + b"garbage",
    ):
        path.write_bytes(wrong)
        with pytest.raises(ReadError, match=r"x\.tsv.*is damaged or not whole"):
            texts(path)
    path.write_bytes(COMPRESS[suffix](b""))
    assert texts(path) == []


def test_a_little_zstd_does_not_become_a_large_block():
    data = zstd.compress(b"\n" * 100_000)
    sizes = [len(found.texts) for found in read(io.BytesIO(data), "lines", block=1000)]
    assert sum(sizes) == 100_000
    assert max(sizes) == 1000


def test_gzip_may_be_padded_with_zeros():
    assert texts(io.BytesIO(gzip.compress(TEXT) + bytes(1000)), "tsv") == EXPECTED


def test_a_text_that_begins_like_bzip2_is_a_text():
    assert lines(io.BytesIO(b"BZh is not the sign of a file\n")) == ["BZh is not the sign of a file"]


ZSTD = ("compression.zstd", "backports.zstd", "zstandard")


def test_without_the_package_for_zstd_the_error_says_what_to_install(tmp_path, monkeypatch):
    (tmp_path / "x.tsv.zst").write_bytes(COMPRESS[".zst"](TEXT))
    for name in ZSTD:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=r"fastlin\[zstd\]"):
        texts(tmp_path / "x.tsv.zst")


@pytest.mark.parametrize("name", ZSTD)
def test_every_module_of_zstd_does_as_well(name, tmp_path, monkeypatch):
    new, error, opened = found_zstd()
    made = {"zstandard": lambda: types.SimpleNamespace(decompressobj=new)}.get(name, new)
    only = types.SimpleNamespace(ZstdDecompressor=made, ZstdError=error, open=opened)
    for other in ZSTD:
        monkeypatch.setitem(sys.modules, other, only if other == name else None)
    for package in ("compression", "backports"):
        monkeypatch.setitem(sys.modules, package, types.ModuleType(package))
    (tmp_path / "x.tsv.zst").write_bytes(COMPRESS[".zst"](TEXT))
    assert texts(tmp_path / "x.tsv.zst") == EXPECTED


# --- which files -----------------------------------------------------------------------------------------------------


def test_a_list_a_folder_and_a_glob_in_order(tmp_path):
    for name in ("b", "a", "c"):
        (tmp_path / f"{name}.txt").write_text(f"{name}1\n{name}2")
    (tmp_path / ".hidden").write_text("no")
    (tmp_path / "_SUCCESS").write_text("no")
    (tmp_path / "sub.txt").mkdir()
    expected = ["a1", "a2", "b1", "b2", "c1", "c2"]
    assert lines(tmp_path) == texts(str(tmp_path)) == expected
    assert texts(str(tmp_path / "*.txt")) == texts(f"{tmp_path}/[abc].t?t") == expected
    assert texts([tmp_path / "c.txt", str(tmp_path / "a*")]) == ["c1", "c2", "a1", "a2"]
    found = list(read(tmp_path))
    assert [(each.path[-5:], each.line) for each in found if each.line == 1] == [
        ("a.txt", 1), ("b.txt", 1), ("c.txt", 1)
    ]  # fmt: skip


def test_a_file_whose_name_looks_like_a_glob(tmp_path):
    (tmp_path / "a[1].txt").write_text("x")
    assert texts(str(tmp_path / "a[1].txt")) == ["x"]


def test_standard_input(tmp_path):
    code = "from fastlin.data import read; print([found.texts for found in read('-', 'tsv')])"
    done = subprocess.run([sys.executable, "-c", code], input=gzip.compress(TEXT), capture_output=True, check=False)
    assert done.stdout.decode().startswith("[['text number 0 ü'"), done.stderr


def test_an_open_file_stays_open(tmp_path):
    (tmp_path / "x.tsv").write_bytes(TEXT)
    with open(tmp_path / "x.tsv", "rb") as file:
        assert texts(file) == EXPECTED
        assert not file.closed


@pytest.mark.parametrize(
    "source, error, message",
    [
        ("missing.tsv", FileNotFoundError, "there is no file 'missing.tsv'"),
        ("missing*.tsv", FileNotFoundError, r"no file matches 'missing\*.tsv'"),
        ([], ValueError, "empty list"),
        (b"x.tsv", TypeError, "source must be a path"),
        (3, TypeError, "source must be a path"),
        (io.StringIO("a\tb"), TypeError, "open it with mode 'rb'"),
    ],
)
def test_what_is_no_source_is_refused(source, error, message):
    with pytest.raises(error, match=message):
        list(read(source, "tsv"))


def test_an_empty_folder_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="holds no file"):
        read(tmp_path, "tsv")


# --- lines -----------------------------------------------------------------------------------------------------------

SOUP = st.lists(st.sampled_from([b"a", b"bc", b"\n", b"\r", b"\r\n", b""]), max_size=30)


@given(SOUP, st.integers(1, 5))
def test_lines_end_as_in_python_however_the_parts_are_cut(bits, size):
    text = b"".join(bits)
    parts = [text[start : start + size] for start in range(0, len(text), size)]
    cut = list(whole_lines(parts))
    assert [line for part in cut for line in part.splitlines()] == text.splitlines()
    assert all(part.endswith((b"\n", b"\r")) for part in cut)


@given(SOUP, st.integers(1, 7))
def test_pieces_know_the_number_of_their_first_line(bits, size):
    text = b"".join(bits)
    expected = text.splitlines()
    for piece in line_blocks(InputFile("x", io.BytesIO(text)), size):
        own = piece.text.splitlines()
        assert expected[piece.line - 1 : piece.line - 1 + len(own)] == own


def test_a_line_of_100_megabytes():
    size = 100_000_000
    found = list(read(io.BytesIO(b"a\tb\nlong\t" + b"x" * size + b"\nc\td"), "tsv"))
    assert [text[:1] for each in found for text in each.texts] == ["b", "x", "d"]
    assert max(len(text) for each in found for text in each.texts) == size


class Lines:
    """One line again and again, made as it is read."""

    def __init__(self, line, n):
        self.line, self.left = line, n

    def read(self, size=-1):
        n = min(size // len(self.line) + 1, self.left)
        self.left -= n
        return self.line * n


@pytest.mark.parametrize(
    "form, line",
    [
        ("tsv", b"label\tsome text that is not long\n"),
        ("csv", b'label,"some ""text"" that is not long"\n'),
        ("jsonl", b'{"label": "a", "text": "some text that is not long, but the line is"}\n'),
        ("svmlight", b"1 3:0.123456789 17:1e-5 1000:77 # comment\n"),
        ("vw", b"1 |some text:1e-3 that is:2 |but the line\n"),
    ],
)
def test_a_file_takes_the_memory_of_a_block(form, line):
    n, rows = 20_000, 0
    tracemalloc.start()
    try:
        for found in read(Lines(line, n), form, block=1 << 13, **({"header": False} if form == "csv" else {})):
            rows += len(found.y if form == "svmlight" else found.texts)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert rows == n
    assert peak < n * len(line)  # the lines alone would take more


def test_byte_order_marks(tmp_path):
    assert lines(io.BytesIO(b"\xef\xbb\xbfa\n\xef\xbb\xbfb")) == ["a", "\ufeffb"]
    for mark in (b"\xff\xfe", b"\xfe\xff"):
        with pytest.raises(ReadError, match="UTF-16"):
            lines(io.BytesIO(mark + b"a\0"))


def test_nul_bytes_and_other_separators_are_text():
    assert lines(io.BytesIO("a\0b\x0bc\x0cd\x1ce\x85f\u2028g\n".encode())) == ["a\0b\x0bc\x0cd\x1ce\x85f\u2028g"]


def test_empty_files_hold_nothing():
    for form in ("tsv", "csv", "fasttext", "jsonl", "lines", "svmlight", "vw"):
        assert list(read(io.BytesIO(b""), form)) == []


def test_a_reader_can_be_read_again(tmp_path):
    (tmp_path / "x.tsv").write_bytes(TEXT + b"malformed")
    reader = read(tmp_path / "x.tsv", on_error="skip", block=1000)
    for _ in range(2):
        assert [text for found in reader for text in found.texts] == EXPECTED
        assert reader.skipped.count == 1


class Dribble:
    """A pipe that gives a byte at a time."""

    def __init__(self, data):
        self._file = io.BytesIO(data)

    def read(self, size=-1):
        return self._file.read(min(size, 1))


@pytest.mark.parametrize(
    "data",
    [b"\xef\xbb\xbfa\nb\n", b"a\nb\n", gzip.compress(b"a\nb\n"), bz2.compress(b"a\nb\n")],
    ids=["mark", "plain", "gzip", "bzip2"],
)
def test_what_a_file_begins_with_may_come_byte_by_byte(data):
    assert lines(Dribble(data)) == ["a", "b"]


@pytest.mark.parametrize("data", [b"\xef", b"\xef\xbb\xbf", b"\xff", b"BZh", b"BZh91", b"\x1f", b""])
def test_files_that_end_within_a_mark(data):
    expected = [data.decode("latin-1")] if data and not data.startswith(b"\xef\xbb\xbf") else []
    found = list(read(Dribble(data), "lines", encoding="latin-1"))
    assert [text for each in found for text in each.texts] == expected
    with pytest.raises(ReadError, match="UTF-16"):
        lines(Dribble(b"\xff\xfea\0"))


def tables(form, folder):
    table = pyarrow.table(
        {"label": ["a", "b"] * 5000, "text": [f"text {i}" for i in range(10_000)], "id": range(10_000)}
    )
    path = folder / f"x.{form}"
    if form == "parquet":
        pyarrow.parquet.write_table(table, path)
    elif form == "arrow":
        pyarrow.feather.write_feather(table, path, compression="uncompressed")
    else:
        with pyarrow.OSFile(str(path), "wb") as sink, pyarrow.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table, 1000)
    return path


@pytest.mark.parametrize("form", ["parquet", "arrow", "arrows"])
def test_tables_come_out_of_pipes(form, tmp_path):
    path = tables(form, tmp_path)
    name = form.removesuffix("s")
    expected = [f"text {i}" for i in range(10_000)]
    with path.open("rb") as file:
        for source in (path, Dribble(path.read_bytes()), io.BytesIO(path.read_bytes()), file):
            found = list(read(source, name, keep="id"))
            assert [text for each in found for text in each.texts] == expected
            assert [one for each in found for one in each.columns["id"]] == list(range(10_000))
        assert not file.closed
    found = list(read(path, name, text=["label", "text"], label=None))
    assert found[0].texts[:2] == ["a\ntext 0", "b\ntext 1"]
    with pytest.raises(ReadError, match="damaged or not whole"):
        list(read(Dribble(path.read_bytes()[:-500]), name))
