"""The seam where passes over partitions run: who does the work, a learner does not know.

A partition is some rows of a fit, laid out for a solver. A pass is one piece of work done on each of them: a function
of a module, which is called with the open partition and with arguments that may have come from another process. What
belongs to the rows (scores, responsibilities, dual variables) stays with their partition under a name; what is asked
about all rows comes back and is put together in the order of the partitions. So the bits are those of one thread,
whoever did the work.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from fastlin.runtime.partition_sums import PartialSum, add_results, chunks, is_one_chunk, join_sums, sum_chunk

Work = Callable[..., Any]  # work(partition, *arguments): found at the top level of a module, so that it can be imported


class PartitionAddress(NamedTuple):
    """Where a partition lies, for whoever opens it: in a folder or file of which the CRC-32 is known."""

    path: str
    fingerprint: int
    number: int


class PartitionSet(Protocol):
    """Partitions that this process can open.

    Those with which numbers of rows can stay `allocate` them, as `Passes` do.
    """

    def __len__(self) -> int: ...

    def open(self, index: int, workers: Any) -> AbstractContextManager[Any]:
        """One of them, for as long as the `with` lasts, with the threads that may share its work."""

    def passes(self, workers: Any) -> "Passes":
        """Passes over them, by whoever works on them: here, unless they know better."""
        return ThreadPasses(self, workers)


class Passes(Protocol):
    """Passes over a set of partitions."""

    @property
    def completes_sums(self) -> bool:
        """Whether the work of the last partition finds the sums of all others in the arrays of `sum`."""

    @property
    def keeps_rows(self) -> bool:
        """Whether numbers of rows outlast the work that wrote them."""

    def sum(self, work: Work, *arguments: Any, into: tuple[NDArray[Any], ...] = ()) -> Any:
        """The sum of work(partition, *arguments, *into), of numbers or tuples of them, in the order of the rule.

        The rule is that of `partition_sums`. The arrays `into` become sums, too. They are given as zeros, or as
        anything where the work overwrites them if the partition `starts_sums`; else it adds one sum to each.
        """

    def fold(self, work: Work, *arguments: Any, into: tuple[Any, ...] = ()) -> Any:
        """The sum of work(partition, *arguments, *into), of numbers or tuples of them, in the order of the partitions.

        `into` are arrays, or generators of random numbers, that the work of each partition changes and that of the next
        one finds so.
        """

    def each(self, work: Work, *arguments: Any) -> list[Any]:
        """work(partition, *arguments) of every partition, in their order."""

    def at(self, index: int, work: Work, *arguments: Any, into: tuple[Any, ...] = ()) -> Any:
        """work(partition, *arguments, *into) of one partition."""

    def allocate(
        self, name: str, width: int, dtype: Any = np.float64, transient: bool = False, per: str = "row"
    ) -> Any:
        """Zeros for each row or, `per` "non-zero", of them, which stay with the partitions under a name.

        `transient` ones do so until the work goes on to another partition.
        """

    def derive(self, name: str, width: int, work: Work, *arguments: Any) -> Any:
        """Numbers of rows under a name, which work(partition, *arguments, numbers) writes when they are wanted."""

    def gather(self, of_rows: Any) -> NDArray[Any]:
        """The numbers of all rows, in their order; those of a single partition in memory are no copy."""

    def scatter(self, of_rows: Any, values: NDArray[Any]) -> None:
        """Give every partition the numbers of its rows."""


class ThreadPasses:
    """Passes in this process: one partition after the other, whose work the threads of a pool share."""

    keeps_rows = True

    def __init__(self, partitions: PartitionSet, workers: Any) -> None:
        self._partitions: Any = partitions
        self._workers = workers

    @property
    def completes_sums(self) -> bool:
        return is_one_chunk(len(self._partitions))

    def sum(self, work: Work, *arguments: Any, into: tuple[NDArray[Any], ...] = ()) -> Any:
        if len(self._partitions) == 1:
            return self.at(0, work, *arguments, into=into)
        (total,) = self.partial_sums(0, len(self._partitions), work, *arguments, into=into)
        return total.found

    def partial_sums(
        self, start: int, stop: int, work: Work, *arguments: Any, into: tuple[NDArray[Any], ...]
    ) -> list[PartialSum]:
        """The sums of some partitions in a row, as far as they can be added; `into` are the arrays of the first."""
        sums: list[PartialSum] = []
        for first, end in chunks(start, stop):
            arrays = into if first == start else tuple(map(np.zeros_like, into))

            def add(index: int, is_first: bool, is_complete: bool, arrays: Any = arrays) -> Any:
                with self._partitions.open(index, self._workers) as part:
                    part.starts_sums, part.completes_sums = is_first, is_complete
                    return work(part, *arguments, *arrays)

            found = sum_chunk(first, end, len(self._partitions), add, arrays)
            sums = join_sums(sums, [found], len(self._partitions))
        return sums

    def fold(self, work: Work, *arguments: Any, into: tuple[Any, ...] = ()) -> Any:
        total = None
        for found in self._run(work, *arguments, *into):
            total = add_results(total, found)
        return total

    def each(self, work: Work, *arguments: Any) -> list[Any]:
        return list(self._run(work, *arguments))

    def at(self, index: int, work: Work, *arguments: Any, into: tuple[Any, ...] = ()) -> Any:
        with self._partitions.open(index, self._workers) as part:
            return work(part, *arguments, *into)

    def allocate(
        self, name: str, width: int, dtype: Any = np.float64, transient: bool = False, per: str = "row"
    ) -> Any:
        return self._partitions.allocate(name, width, dtype, transient, per)

    def derive(self, name: str, width: int, work: Work, *arguments: Any) -> Any:
        of_rows = self.allocate(name, width)
        self.each(_write_derived, of_rows, work, *arguments)
        return of_rows

    def gather(self, of_rows: Any) -> NDArray[Any]:
        with ExitStack() as held:
            found = [array.map_while(held) for array in of_rows]
            return found[0] if len(found) == 1 else np.concatenate(found)

    def scatter(self, of_rows: Any, values: NDArray[Any]) -> None:
        start = 0
        for array in of_rows:
            with ExitStack() as held:
                numbers = array.map_while(held)
                numbers[:] = values[start : start + len(numbers)]
                start += len(numbers)

    def _run(self, work: Work, *arguments: Any) -> Iterator[Any]:
        for index in range(len(self._partitions)):
            yield self.at(index, work, *arguments)


def _write_derived(part: Any, of_rows: Any, work: Work, *arguments: Any) -> None:
    work(part, *arguments, part.map(of_rows))
