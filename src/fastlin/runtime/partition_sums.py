"""The order in which sums over partitions are added: a rule of their numbers alone, whoever adds them.

The sum of each partition starts at zero. Those of a chunk of eight are added one after the other; the chunks are leaves
of a binary tree, and each node of it adds its right sum to its left. So a sum of neighbouring partitions can be made
wherever they are worked on, as far as the rule allows, and the rest is added when the neighbours' sums come together:
the bits are those of one process.
"""

import itertools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

CHUNK_PARTITIONS = 8  # a segment each: 2²⁶ non-zeros

Arrays = tuple[NDArray[Any], ...]


class PartialSum(NamedTuple):
    """The sum of the partitions from `start` to `stop`: what their work returned, and the arrays that it added to."""

    start: int
    stop: int
    found: Any
    arrays: Arrays


def chunks(start: int, stop: int) -> Iterator[tuple[int, int]]:
    """The ranges of partitions of which each is a sum: chunks, and single ones where the range begins within one."""
    while start < stop:
        whole = start % CHUNK_PARTITIONS == 0
        end = min(start + CHUNK_PARTITIONS, stop) if whole else start + 1
        yield start, end
        start = end


def add_in_place(left: PartialSum, right: PartialSum) -> PartialSum:
    """The sum of two neighbours, in the arrays of the left."""
    for mine, theirs in zip(left.arrays, right.arrays, strict=True):
        np.add(mine, theirs, out=mine)
    return left._replace(stop=right.stop, found=add_results(left.found, right.found))


def add_sums(left: PartialSum, right: PartialSum) -> PartialSum:
    """The sum of two neighbours, in new arrays."""
    arrays = tuple(itertools.starmap(np.add, zip(left.arrays, right.arrays, strict=True)))
    return left._replace(stop=right.stop, found=add_results(left.found, right.found), arrays=arrays)


def join_sums(
    left: list[PartialSum],
    right: list[PartialSum],
    n_partitions: int,
    add: Callable[[PartialSum, PartialSum], PartialSum] = add_in_place,
) -> list[PartialSum]:
    """The sums of two neighbouring ranges of partitions, added as far as the rule allows."""
    joined = list(left)
    for node in right:
        joined.append(node)
        while len(joined) > 1 and _may_add(joined[-2], joined[-1], n_partitions):
            joined[-2:] = [add(joined[-2], joined[-1])]
    return joined


def add_results(total: Any, found: Any) -> Any:
    """The sum so far and what one more partition gives; nothing stands for zeros."""
    if isinstance(found, tuple):
        return tuple(map(add_results, (None,) * len(found) if total is None else total, found))
    return found if found is None else (0 if total is None else total) + found


def sum_chunk(start: int, stop: int, n_partitions: int, work: Callable[..., Any], arrays: Arrays) -> PartialSum:
    """The sum of the partitions of a chunk: work(index, is_first, is_complete) of each adds to the arrays.

    `is_complete` says that all partitions are in the arrays then.
    """
    found = None
    for index in range(start, stop):
        is_complete = index + 1 == n_partitions and start == 0
        found = add_results(found, work(index, index == start, is_complete))
    return PartialSum(start, stop, found, arrays)


def is_one_chunk(n_partitions: int) -> bool:
    """Whether the partitions are added one after the other, so that the last one finds the sums of the others."""
    return n_partitions <= CHUNK_PARTITIONS


def _may_add(left: PartialSum, right: PartialSum, n_partitions: int) -> bool:
    """Whether two neighbours are a partition and those before it in its chunk, or the two sides of a node."""
    chunk, place = divmod(left.start, CHUNK_PARTITIONS)
    if place == 0 and right.stop - right.start == 1 and right.start // CHUNK_PARTITIONS == chunk:
        return True
    size = left.stop - left.start
    is_node = size % CHUNK_PARTITIONS == 0 and (size & (size - 1)) == 0 and left.start % (2 * size) == 0
    return is_node and right.stop == min(left.start + 2 * size, n_partitions)
