"""Files, folders, globs and standard input, decompressed and cut into blocks of whole lines."""

import bz2
import glob
import lzma
import os
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from fastlin.data.errors import ReadError
from fastlin.data.zstd import zstd
from fastlin.engine.text import svmlight as engine

BLOCK_BYTES = 1 << 20
COMPRESSED_BYTES = 1 << 18  # read at a time
ZSTD_COMPRESSED_BYTES = 1 << 12  # zstd's output per input cannot be limited: 128 MiB for these at worst
COMPRESSIONS = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "zstd"}
MAGIC = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ\0": "xz", b"\x28\xb5\x2f\xfd": "zstd"}
BZIP2_BLOCK = b"1AY&SY"  # a text may begin with "BZh"
UTF8_MARK = b"\xef\xbb\xbf"
UTF16_MARKS = b"\xff\xfe", b"\xfe\xff"


class InputFile(NamedTuple):
    """A file by its path, or an open one."""

    name: str  # in errors
    stream: Any = None

    @property
    def suffix(self) -> str:
        """The last suffix that says what the file holds: ".tsv" of "train.tsv.gz"."""
        base, last = os.path.splitext(self.name.lower())
        return os.path.splitext(base)[1] if last in COMPRESSIONS else last


class LineBlock(NamedTuple):
    """Whole lines of a file, each with its end."""

    text: bytes
    path: str
    line: int  # the number of the first


def files(source: Any) -> list[InputFile]:
    """The files that a path, a folder, a glob, "-", an open binary file or a list of these stands for, in order."""
    if hasattr(source, "read"):
        return [InputFile(str(getattr(source, "name", "<stream>")), source)]
    if not isinstance(source, str | os.PathLike):
        if isinstance(source, bytes) or not isinstance(source, Iterable):
            raise TypeError(f"source must be a path, a list of paths or an open file, got {source!r:.60}")
        found = [file for one in source for file in files(one)]
        if not found:
            raise ValueError("source is an empty list: there is nothing to read")
        return found
    name = os.fspath(source)
    if name == "-":
        return [InputFile("<stdin>", sys.stdin.buffer)]
    if os.path.isdir(name):
        inside = sorted(path for path in Path(name).iterdir() if path.name[0] not in "._" and path.is_file())
        if not inside:
            raise FileNotFoundError(f"the folder {name!r} holds no file to read")
        return [InputFile(str(path)) for path in inside]
    if not os.path.exists(name) and glob.has_magic(name):
        matches = sorted(path for path in glob.glob(name, recursive=True) if os.path.isfile(path))
        if not matches:
            raise FileNotFoundError(f"no file matches {name!r}")
        return [InputFile(path) for path in matches]
    if not os.path.exists(name):
        raise FileNotFoundError(f"there is no file {name!r}")
    return [InputFile(name)]


def line_blocks(file: InputFile, size: int = BLOCK_BYTES) -> Iterator[LineBlock]:
    """Blocks of whole lines of about `size` bytes, more where a line is longer; the last line is given an end."""
    line = 1
    for text in whole_lines(content_chunks(file, size)):
        yield LineBlock(text, file.name, line)
        line += engine.count_lines(text)


def whole_lines(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Cut bytes behind line ends. A \\r at the end of a part may be half of one."""
    held: list[bytes] = []  # the start of a line
    for part in parts:
        if held and held[-1].endswith(b"\r"):
            half = part.startswith(b"\n")
            yield b"".join([*held, part[:half]])
            held, part = [], part[half:]
        cut = part.rfind(b"\n") + 1 or part.rfind(b"\r", 0, len(part) - 1) + 1
        if cut:
            yield b"".join([*held, part[:cut]]) if held else part[:cut]
            held = []
        if cut < len(part):
            held.append(part[cut:])
    if held:
        rest = b"".join(held)
        yield rest if rest.endswith(b"\r") else rest + b"\n"


def content_chunks(file: InputFile, size: int) -> Iterator[bytes]:
    """Content of the file, decompressed, without a byte order mark, in parts of about `size` bytes."""
    first, held = True, b""
    for part in _decompressed(file, size):
        if first:
            held += part
            if _may_become(held, (UTF8_MARK, *UTF16_MARKS)):
                continue
            if held.startswith(UTF16_MARKS):
                raise ReadError(file.name, 1, "the file is in UTF-16; convert it to UTF-8")
            part, first = held.removeprefix(UTF8_MARK), False
        if part:
            yield part
    if first and held:
        yield held


def _may_become(begun: bytes, marks: Iterable[bytes]) -> bool:
    """Whether more bytes could make one of these marks of what a file begins with: pipes give as few as they have."""
    return any(len(begun) < len(mark) and mark.startswith(begun) for mark in marks)


def _may_become_bzip2(begun: bytes) -> bool:
    return begun.startswith(b"BZh") and len(begun) < 10 and BZIP2_BLOCK.startswith(begun[4:])


def _decompressed(file: InputFile, size: int) -> Iterator[bytes]:
    if file.stream is None:
        with open(file.name, "rb", buffering=0) as stream:
            yield from _from_stream(file, stream, size)
    else:
        yield from _from_stream(file, file.stream, size)


def _from_stream(file: InputFile, stream: Any, size: int) -> Iterator[bytes]:
    """By the suffix the compression, or without such a suffix by what the first bytes say."""
    source = _PeekableStream(stream)
    kind = COMPRESSIONS.get(os.path.splitext(file.name.lower())[1]) or source.kind(file.name)
    if kind is None:
        while part := source.read(size):
            yield part
        return
    try:
        yield from INFLATE[kind](source, size)
    except (EOFError, OSError, ValueError, zlib.error, lzma.LZMAError) as error:
        raise ReadError(file.name, 0, f"the {kind} file is damaged or not whole: {error}") from error


class _PeekableStream:
    """An open file whose first bytes can be looked at."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._seen = b""

    def kind(self, name: str) -> str | None:
        """The compression that the first bytes are the sign of."""
        while not self._seen or _may_become(self._seen, MAGIC) or _may_become_bzip2(self._seen):
            part = self._stream.read(COMPRESSED_BYTES)
            if isinstance(part, str):
                raise TypeError(f"{name} is open as text; open it with mode 'rb'")
            if not part:
                break
            self._seen += part
        for magic, kind in MAGIC.items():
            if self._seen.startswith(magic) and (kind != "bzip2" or self._seen[4:10] == BZIP2_BLOCK):
                return kind
        return None

    def read(self, size: int = -1) -> bytes:
        if not self._seen:
            return self._stream.read(size) or b""
        size = len(self._seen) if size < 0 else size
        part, self._seen = self._seen[:size], self._seen[size:]
        return part


def _gunzip(source: _PeekableStream, size: int) -> Iterator[bytes]:
    """Members one behind the other; zeros may follow. Faster than `gzip`, whose buffers are small."""
    data = source.read(COMPRESSED_BYTES)
    while True:
        member = zlib.decompressobj(zlib.MAX_WBITS | 16)
        while not member.eof:
            if not data and not (data := source.read(COMPRESSED_BYTES)):
                raise EOFError("its end is missing")
            if part := member.decompress(data, size):
                yield part
            data = member.unconsumed_tail
        data = member.unused_data.lstrip(b"\0")
        while not data:
            if not (more := source.read(COMPRESSED_BYTES)):
                return
            data = more.lstrip(b"\0")


def _bunzip2(source: _PeekableStream, size: int) -> Iterator[bytes]:
    return _members(source, size, bz2.BZ2Decompressor)


def _unxz(source: _PeekableStream, size: int) -> Iterator[bytes]:
    return _members(source, size, lzma.LZMADecompressor)


def _members(source: _PeekableStream, size: int, new: Callable[[], Any]) -> Iterator[bytes]:
    """Members one behind the other; zeros may follow. Python's own files drop a member whose beginning is damaged."""
    data = source.read(COMPRESSED_BYTES)
    while True:
        member = new()
        while not member.eof:
            if member.needs_input and not data and not (data := source.read(COMPRESSED_BYTES)):
                raise EOFError("its end is missing")
            part, data = member.decompress(data, size), b""
            if part:
                yield part
        data = member.unused_data.lstrip(b"\0")
        while not data:
            if not (more := source.read(COMPRESSED_BYTES)):
                return
            data = more.lstrip(b"\0")


def _unzstd(source: _PeekableStream, size: int) -> Iterator[bytes]:
    """Frames one behind the other. The package's own reader takes a file that was cut off for a whole one."""
    new, failure, _ = zstd()
    data = source.read(ZSTD_COMPRESSED_BYTES)
    while True:
        frame = new()
        while not frame.eof:
            if not data and not (data := source.read(ZSTD_COMPRESSED_BYTES)):
                raise EOFError("its end is missing")
            try:
                part = frame.decompress(data)
            except failure as error:
                raise EOFError(str(error)) from error
            yield from (part[start : start + size] for start in range(0, len(part), size))
            data = b""
        data = frame.unused_data or source.read(ZSTD_COMPRESSED_BYTES)
        if not data:
            return


INFLATE: dict[str, Callable[[_PeekableStream, int], Iterator[bytes]]] = {
    "gzip": _gunzip,
    "bzip2": _bunzip2,
    "xz": _unxz,
    "zstd": _unzstd,
}
