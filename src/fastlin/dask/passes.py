"""Passes over partitions that workers of a Dask cluster open: a round for each."""

from typing import Any

import numpy as np
from distributed import Future
from numpy.typing import NDArray

from fastlin.dask.cluster import Cluster, Round, divide, release
from fastlin.dask.partitions import RowNumbers
from fastlin.dask.tasks import AskPartitions, JoinAnswers, JoinSums, PassRequest, SumPartitions, extract, work_into
from fastlin.runtime.partition_sums import CHUNK_PARTITIONS
from fastlin.runtime.passes import PartitionSet, Work


class DaskPasses:
    """Passes over a set of partitions that any process can open.

    Numbers of rows do not outlast the work that wrote them; what does not change in a fit (`is_constant_of_fit`) is
    sent once, and again to workers that come later.
    """

    completes_sums, keeps_rows = False, False

    def __init__(self, cluster: Cluster, partitions: PartitionSet, where: str) -> None:
        self._cluster, self._n, self._where = cluster, len(partitions), where
        self._constants: list[Any] = [partitions]
        self._held: list[dict[str, Future]] = []  # of each constant, the task of each worker that holds it

    def sum(self, work: Work, *arguments: Any, into: tuple[NDArray[Any], ...] = ()) -> Any:
        shapes = tuple((array.shape, array.dtype.str) for array in into)
        request = PassRequest(work, self._extract(arguments), shapes)
        (total,) = self._run(SumPartitions, JoinSums(self._n), request)
        for mine, theirs in zip(into, total.arrays, strict=True):
            np.copyto(mine, theirs)
        return total.found

    def each(self, work: Work, *arguments: Any) -> list[Any]:
        found: list[Any] = self._run(AskPartitions, JoinAnswers(), PassRequest(work, self._extract(arguments), ()))
        return found

    def at(self, index: int, work: Work, *arguments: Any, into: tuple[Any, ...] = ()) -> Any:
        request = PassRequest(work_into, self._extract((work, arguments, into)), ())
        ((found, changed),) = self._run(AskPartitions, JoinAnswers(), request, (index, index + 1))
        for mine, theirs in zip(into, changed, strict=True):
            if isinstance(mine, np.random.Generator):
                mine.bit_generator.state = theirs.bit_generator.state
            else:
                np.copyto(mine, theirs)
        return found

    def allocate(
        self,
        name: str,
        width: int,
        dtype: Any = np.float64,
        transient: bool = False,  # noqa: ARG002 - all are
        per: str = "row",
    ) -> RowNumbers:
        return RowNumbers(name, width, np.dtype(dtype).str, per)

    def derive(self, name: str, width: int, work: Work, *arguments: Any) -> RowNumbers:
        return RowNumbers(name, width, "<f8", "row", work, arguments)

    def _extract(self, arguments: tuple[Any, ...]) -> Any:
        return extract(arguments, self._constants)

    def _run(self, kind: Any, join: Any, request: PassRequest, only: tuple[int, int] | None = None) -> Any:
        def send(a_round: Round) -> Future:
            if a_round.is_retry:
                for each in self._held:
                    release(each)
            shares = [only] if only else divide(self._n, len(a_round.workers), CHUNK_PARTITIONS)
            a_round.workers = a_round.workers[: len(shares)]
            fresh: list[dict[str, Future]] = [{} for _ in self._constants[len(self._held) :]]
            self._held += fresh
            self._cluster.held += fresh
            sent = a_round.send(request)
            held = [a_round.relay(each, where) for each, where in zip(self._constants, self._held, strict=True)]
            parts = [
                (worker, a_round.submit(worker, kind(*share), sent[worker], *(each[worker] for each in held)))
                for worker, share in zip(a_round.workers, shares, strict=True)
            ]
            return a_round.join(parts, join)

        return self._cluster.run(request.work.__name__, self._n, send, self._where)
