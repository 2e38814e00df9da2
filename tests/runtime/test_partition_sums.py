"""The order of sums over partitions: whoever adds which of them, it is that of one process."""

import itertools
import types

import numpy as np
import pytest

from fastlin.runtime.partition_sums import PartialSum, add_sums, chunks, join_sums, sum_chunk
from fastlin.runtime.passes import PartitionSet, ThreadPasses


class Expression:
    """A sum that says how it was added."""

    def __init__(self, text):
        self.text = text

    def __add__(self, other):
        return Expression(f"({self.text}+{other.text})")

    def __radd__(self, zero):
        assert zero == 0
        return self


def of_range(start, stop, n):
    """The sums that one worker makes of a range."""
    sums = []
    for first, end in chunks(start, stop):
        found = sum_chunk(first, end, n, lambda index, *_: Expression(str(index)), ())
        sums = join_sums(sums, [found], n)
    return sums


def expected(start, stop):
    """The rule, said again: chains of eight, in a tree whose left side is the largest power of two."""
    if stop - start <= 8:
        text = str(start)
        for index in range(start + 1, stop):
            text = f"({text}+{index})"
        return text
    left = 8
    while start + 2 * left < stop:
        left *= 2
    return f"({expected(start, start + left)}+{expected(start + left, stop)})"


@pytest.mark.parametrize("n", [*range(1, 20), 24, 25, 32, 33, 63, 64, 65, 100])
def test_the_sum_of_any_division_is_that_of_one_process(n):
    (whole,) = of_range(0, n, n)
    assert whole.found.text == expected(0, n)
    rng = np.random.default_rng(n)
    for n_cuts in (1, 2, 3, 7, n - 1):
        cuts = [0, *sorted(rng.choice(np.arange(1, n), min(n_cuts, n - 1), replace=False).tolist()), n]
        parts = [of_range(start, stop, n) for start, stop in itertools.pairwise(cuts)]
        while len(parts) > 1:  # neighbours meet in any order
            place = int(rng.integers(len(parts) - 1))
            parts[place : place + 2] = [join_sums(*parts[place : place + 2], n, add_sums)]
        assert [each.found.text for each in parts[0]] == [whole.found.text]


def test_sums_that_are_joined_elsewhere_change_nothing_that_was_given():
    """A task that is done twice must find what it found the first time."""
    left, right = (PartialSum(at, at + 1, 1, (np.full(3, 1.0 + at),)) for at in (0, 1))
    for _ in range(2):
        (joined,) = join_sums([left], [right], 2, add_sums)
        assert (joined.start, joined.stop, joined.found) == (0, 2, 2)
        np.testing.assert_array_equal(joined.arrays[0], 3.0)
    np.testing.assert_array_equal(left.arrays[0], 1.0)


class Numbers(PartitionSet):
    """Partitions of numbers of different sizes, whose sum depends on the order."""

    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def open(self, index, workers=None):
        import contextlib

        return contextlib.nullcontext(types.SimpleNamespace(number=0.1 * 3.0**index, starts_sums=True))


def add_number(part, overwrites, total):
    if overwrites and part.starts_sums:
        total[:] = 0
    total += part.number
    return part.number


@pytest.mark.parametrize("n", [1, 3, 8, 9, 23])
def test_arrays_are_added_as_what_works_return_is(n):
    for overwrites in (False, True):
        total = np.full(2, 7.0 if overwrites else 0.0)
        found = ThreadPasses(Numbers(n), None).sum(add_number, overwrites, into=(total,))
        np.testing.assert_array_equal(total, found)
