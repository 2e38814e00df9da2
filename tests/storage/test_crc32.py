"""Digests of pieces add up, and the largest number is found, in however many threads."""

import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastlin.storage import crc32


@given(st.binary(max_size=70), st.integers(1, 9))
def test_digests_of_pieces_add_up(data, size):
    crc = 0
    for start in range(0, len(data), size):
        piece = data[start : start + size]
        crc = crc32._product(crc32._power(len(piece)), crc) ^ zlib.crc32(piece)
    assert crc == zlib.crc32(data)


@pytest.mark.parametrize("size", [0, 1, (1 << 22) - 1, 1 << 22, (5 << 22) + 17, 1 << 25])
def test_many_bytes_have_the_digest_of_zip(size):
    raw = np.random.default_rng(0).integers(0, 256, size, np.uint8)
    assert crc32.crc32_in_threads(raw) == zlib.crc32(raw) == crc32.crc32(raw[7:], zlib.crc32(raw[:7]))


@pytest.mark.parametrize("n", [0, 1, 70_000, 3_000_000])
def test_the_largest_number_is_found_wherever_it_is(n):
    numbers = np.random.default_rng(0).normal(size=n)
    assert crc32.largest(numbers) == (np.abs(numbers).max() if n else 0)
    for place in {0, n // 2, n - 1} if n else ():
        for odd in (-np.inf, np.nan):
            changed = numbers.copy()
            changed[place] = odd
            np.testing.assert_equal(crc32.largest(changed), abs(odd))
