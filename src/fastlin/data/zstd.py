"""Zstandard: Python's own, which it has from 3.14 on, its back-port, or the package zstandard."""

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
    for name in ("compression.zstd", "backports.zstd"):
        try:
            own = importlib.import_module(name)
        except ImportError:
            continue
        return Zstd(own.ZstdDecompressor, own.ZstdError, own.open)
    try:
        package = importlib.import_module("zstandard")
    except ImportError as error:
        raise ImportError(".zst files need the package backports.zstd: pip install 'fastlin[zstd]'") from error
    return Zstd(lambda: package.ZstdDecompressor().decompressobj(), package.ZstdError, package.open)
