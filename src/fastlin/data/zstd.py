"""Zstandard: from the package zstandard, or from Python, which has it from 3.14 on."""

import importlib
from collections.abc import Callable
from typing import Any, NamedTuple


class Zstd(NamedTuple):
    """Zstandard, as far as reading and writing need it."""

    new: Callable[[], Any]  # a decompressor of one frame: decompress, eof, unused_data
    error: type[Exception]
    open: Callable[[Any, str], Any]  # of an open file


def zstd() -> Zstd:
    """Whichever there is."""
    try:
        package = importlib.import_module("zstandard")
    except ImportError:
        pass
    else:
        return Zstd(lambda: package.ZstdDecompressor().decompressobj(), package.ZstdError, package.open)
    try:
        own = importlib.import_module("compression.zstd")
    except ImportError as error:
        raise ImportError(".zst files need the package zstandard: pip install 'fastlin[zstd]'") from error
    return Zstd(own.ZstdDecompressor, own.ZstdError, own.open)
