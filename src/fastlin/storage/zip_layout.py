"""Where each byte of a model file lies: a stored zip of `.npy` members, every array at a multiple of 64 bytes.

All but the members' contents follows from their names, sizes and CRC-32s. So a reader need not parse: it writes down
what must be there, and compares. Sizes and offsets are always zip64's, so that a file of a kilobyte and one of a
terabyte have the same form.
"""

import struct
from typing import Any, NamedTuple

ALIGNMENT = 64
_VERSION = 45  # zip64
_DATE = 0x21  # 1980-01-01: equal models make equal files
_READABLE = 0o100644 << 16  # the rights of an unpacked file
_OVER = 0xFFFFFFFF  # see the zip64 field
_ZIP64, _PADDING = 1, 0xD935  # ids of extra fields; the second is zipalign's

_LOCAL = struct.Struct("<4s5H3L2H")
_ENTRY = struct.Struct("<4s6H3L5H2L")
_END64 = struct.Struct("<4sQ2H2L4Q")
_LOCATOR = struct.Struct("<4sLQL")
_END = struct.Struct("<4s4H2LH")
_LOCAL_SIZES = struct.Struct("<2H2Q")
_ENTRY_SIZES = struct.Struct("<2H3Q")
_PADDING_HEAD = struct.Struct("<3H")

END_SIZE = _END64.size + _LOCATOR.size + _END.size


class Member(NamedTuple):
    """One file of the zip."""

    name: str
    offset: int  # of its local header
    size: int
    crc: int

    @property
    def start(self) -> int:
        """Where its content begins."""
        return self.offset + header_size(self.name, self.offset)

    @property
    def stop(self) -> int:
        return self.start + self.size


def header_size(name: str, offset: int) -> int:
    """Bytes of a local header at this offset, padded so that the content behind it is aligned."""
    least = _LOCAL.size + len(name) + _LOCAL_SIZES.size + _PADDING_HEAD.size
    return least + -(offset + least) % ALIGNMENT


def local_header(member: Member) -> bytes:
    """Header of a member, which stands before its content."""
    size = header_size(member.name, member.offset)
    padding = size - (_LOCAL.size + len(member.name) + _LOCAL_SIZES.size + _PADDING_HEAD.size)
    extra = _LOCAL_SIZES.pack(_ZIP64, 16, member.size, member.size)
    extra += _PADDING_HEAD.pack(_PADDING, 2 + padding, ALIGNMENT) + bytes(padding)
    fixed = _LOCAL.pack(
        b"PK\3\4", _VERSION, 0, 0, 0, _DATE, member.crc, _OVER, _OVER, len(member.name), len(extra)
    )  # fmt: skip
    return fixed + member.name.encode("ascii") + extra


def ending(members: list[Member]) -> bytes:
    """The central directory and all that follows it."""
    start = members[-1].stop
    directory = b"".join(_entry(member) for member in members)
    n, end = len(members), start + len(directory)
    return (
        directory
        + _END64.pack(b"PK\6\6", _END64.size - 12, _VERSION, _VERSION, 0, 0, n, n, len(directory), start)
        + _LOCATOR.pack(b"PK\6\7", 0, end, 1)
        + _END.pack(b"PK\5\6", 0, 0, 0xFFFF, 0xFFFF, _OVER, _OVER, 0)
    )


def _entry(member: Member) -> bytes:
    sizes = _ENTRY_SIZES.pack(_ZIP64, 24, member.size, member.size, member.offset)
    fixed = _ENTRY.pack(
        b"PK\1\2", 3 << 8 | _VERSION, _VERSION, 0, 0, 0, _DATE, member.crc, _OVER, _OVER,
        len(member.name), len(sizes), 0, 0, 0, _READABLE, _OVER,
    )  # fmt: skip
    return fixed + member.name.encode("ascii") + sizes


def directory_start(tail: bytes) -> int:
    """Where the last `END_SIZE` bytes of a file say that its directory begins."""
    signature, *_, start = _END64.unpack_from(tail)
    return int(start) if signature == b"PK\6\6" else -1


def last_member(directory: bytes, name: str) -> Member | None:
    """Read the last entry of a directory, should it be that of `name`."""
    size = _ENTRY.size + len(name) + _ENTRY_SIZES.size
    if len(directory) < size:
        return None
    entry = directory[len(directory) - size :]
    crc = _ENTRY.unpack_from(entry)[7]
    length, _, offset = _ENTRY_SIZES.unpack_from(entry, size - _ENTRY_SIZES.size)[2:]
    member = Member(name, offset, length, crc)
    return member if entry == _entry(member) else None


def npy_header(described: Any, shape: tuple[int, ...]) -> bytes:
    """The head of a `.npy` file of a type ("<f8", or names and types of fields): version 1, or 2 where it is long."""
    descr = described if isinstance(described, str) else [tuple(field) for field in described]
    text = f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': {shape!r}, }}"
    version, width = (1, 2) if len(text) < 1 << 15 else (2, 4)
    size = 8 + width + len(text) + 1
    size += -size % ALIGNMENT
    text = text.ljust(size - 9 - width) + "\n"
    return b"\x93NUMPY" + bytes([version, 0]) + len(text).to_bytes(width, "little") + text.encode("ascii")
