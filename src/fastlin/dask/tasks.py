"""What travels to workers: importable frozen dataclasses of less than a kilobyte, whose results depend on no worker.

A task gets what it needs from tasks that hold it: the work of a pass with its arguments, which are of one round, and
the constants of a fit. A task may be done twice, and changes nothing that another one was given.
"""

import copy
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from distributed import get_worker
from numpy.typing import NDArray

from fastlin.engine import ISA
from fastlin.runtime.parallel import WorkerPool
from fastlin.runtime.partition_sums import PartialSum, add_sums, join_sums
from fastlin.runtime.passes import ThreadPasses, Work


@dataclass(frozen=True)
class ConstantRef:
    """The place of a constant of the fit among those that a worker holds."""

    number: int


class PassRequest(NamedTuple):
    """The work of a pass and its arguments; shapes and types of the arrays that it adds to."""

    work: Work
    arguments: tuple[Any, ...]
    into: tuple[tuple[tuple[int, ...], str], ...]


@dataclass(frozen=True)
class Hold:
    """Hold what a round sends, for the tasks of a worker and for the next workers of the relay."""

    def __call__(self, sent: Any) -> Any:
        return sent


@dataclass(frozen=True)
class SumPartitions:
    """The sums of some partitions in a row, as far as they can be added."""

    start: int
    stop: int

    def __call__(self, request: PassRequest, *constants: Any) -> list[PartialSum]:
        arrays: tuple[NDArray[Any], ...] = tuple(np.zeros(shape, dtype) for shape, dtype in request.into)
        with WorkerPool(_n_threads()) as workers:
            passes, arguments = _passes_of(constants, workers), resolve(request.arguments, constants)
            return passes.partial_sums(self.start, self.stop, request.work, *arguments, into=arrays)


@dataclass(frozen=True)
class AskPartitions:
    """What some partitions in a row say."""

    start: int
    stop: int

    def __call__(self, request: PassRequest, *constants: Any) -> list[Any]:
        with WorkerPool(_n_threads()) as workers:
            passes, arguments = _passes_of(constants, workers), resolve(request.arguments, constants)
            return [passes.at(index, request.work, *arguments) for index in range(self.start, self.stop)]


@dataclass(frozen=True)
class JoinSums:
    """The sums of two neighbouring ranges, added as far as the rule allows."""

    n_partitions: int

    def __call__(self, left: list[PartialSum], right: list[PartialSum]) -> list[PartialSum]:
        return join_sums(left, right, self.n_partitions, add_sums)


@dataclass(frozen=True)
class JoinAnswers:
    """What two neighbouring ranges of partitions said."""

    def __call__(self, left: list[Any], right: list[Any]) -> list[Any]:
        return left + right


def work_into(part: Any, work: Work, arguments: tuple[Any, ...], into: tuple[Any, ...]) -> tuple[Any, Any]:
    """What a work returns, and copies of arrays, or generators, as it leaves them."""
    changed = tuple(copy.deepcopy(each) for each in into)
    return work(part, *arguments, *changed), changed


def extract(value: Any, constants: list[Any]) -> Any:
    """The value with references in the place of constants, which are added to those that there are."""
    if getattr(type(value), "is_constant_of_fit", False):
        for number, known in enumerate(constants):
            if known is value:
                return ConstantRef(number)
        constants.append(value)
        return ConstantRef(len(constants) - 1)
    return _rebuild(value, [extract(item, constants) for item in value]) if isinstance(value, tuple) else value


def resolve(value: Any, constants: tuple[Any, ...]) -> Any:
    """The value with the constants in the place of their references."""
    if isinstance(value, ConstantRef):
        return constants[value.number]
    return _rebuild(value, [resolve(item, constants) for item in value]) if isinstance(value, tuple) else value


def _rebuild(like: tuple[Any, ...], items: list[Any]) -> Any:
    return type(like)(*items) if hasattr(like, "_fields") else tuple(items)


def _passes_of(constants: tuple[Any, ...], workers: WorkerPool) -> ThreadPasses:
    """Passes over the first of the constants, a set of partitions."""
    return ThreadPasses(constants[0], workers)


def engine_build() -> str:
    """The build of the engine that this process runs."""
    return ISA


def _n_threads() -> int:
    """As many threads as the worker has: it is given one task of a round."""
    return int(get_worker().state.nthreads)
