"""CRC-32, as zip has it."""

import zlib
from typing import Any


def crc32(data: Any, before: int = 0) -> int:
    """The digest of contiguous bytes or of a contiguous array, after `before`."""
    return zlib.crc32(data, before)
