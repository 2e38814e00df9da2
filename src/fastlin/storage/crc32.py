"""Sweeps over what a file holds: CRC-32, as zip has it, and bounds, by as many threads as there are processors.

The digest of two pieces follows from those of each: crc(a ‖ b) = crc(a) · x^(8|b|) + crc(b) in GF(2)[x] modulo the
polynomial of CRC-32, whose bits are kept in reverse.
"""

import functools
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.runtime.parallel import WorkerPool

_PIECE = 1 << 22  # bytes: a job of a thread
_BLOCK = 1 << 16  # numbers: what is computed of them stays in cache
_POLYNOMIAL = 0xEDB88320
_ONE = 1 << 31


def crc32(data: Any, before: int = 0) -> int:
    """The digest of contiguous bytes or of a contiguous array, after `before`; Ctrl-C is heard between pieces."""
    raw = np.frombuffer(data, np.uint8).data
    for start in range(0, len(raw), _PIECE):
        before = zlib.crc32(raw[start : start + _PIECE], before)
    return before


def crc32_in_threads(raw: NDArray[np.uint8]) -> int:
    """Compute the checksum of many bytes by threads."""
    crc = 0
    for length, piece in _in_threads(raw, lambda piece: (len(piece), zlib.crc32(piece))):
        crc = _product(_power(length), crc) ^ piece
    return crc


def largest(array: NDArray[Any]) -> float:
    """The largest |x| of numbers; NaN where there is one."""
    return float(np.max(_in_threads(array.reshape(-1), _largest), initial=0.0))


def _largest(piece: NDArray[Any]) -> Any:
    blocks = [np.abs(piece[start : start + _BLOCK]).max() for start in range(0, len(piece), _BLOCK)]
    return np.max(blocks)


def _in_threads(vector: NDArray[Any], work: Any) -> list[Any]:
    """Map `work` over pieces of a vector."""
    step = _PIECE // vector.itemsize
    jobs = [(start, min(start + step, len(vector))) for start in range(0, len(vector), step)]
    with WorkerPool(-1 if len(jobs) > 4 else 1) as workers:
        return workers.map(lambda start, stop: work(vector[start:stop]), jobs)


def _product(a: int, b: int) -> int:
    """a · b of two polynomials."""
    product, bit = 0, _ONE
    while a:
        if a & bit:
            product ^= b
            a ^= bit
        bit >>= 1
        b = (b >> 1) ^ (_POLYNOMIAL if b & 1 else 0)
    return product


@functools.lru_cache(64)
def _power(length: int) -> int:
    """x^(8 · length)."""
    power, square = _ONE, 1 << 23  # 1 and x⁸
    while length:
        if length & 1:
            power = _product(power, square)
        square = _product(square, square)
        length >>= 1
    return power
