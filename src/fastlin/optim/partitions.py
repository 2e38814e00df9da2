"""The rows of a batch learner, laid out, in parts: one for rows in memory, one for each segment of a corpus.

An evaluation is one pass over the parts. What is summed over rows adds up part by part, in their order, so that the
bits are the same wherever the parts lie. What lies in files is mapped for as long as a loop is at its part: one at a
time.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import fields
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from fastlin.data.scratch import ScratchArray, ScratchSpace
from fastlin.engine.core.aligned import aligned_zeros
from fastlin.optim.design import Design, count_rows, order_by_frequency
from fastlin.optim.likelihoods import (
    ConditionalLogitLikelihood,
    Likelihood,
    MultinomialLikelihood,
    OneVsRestLikelihood,
    RowLoss,
)
from fastlin.runtime import parallel
from fastlin.runtime.made_once import made_once
from fastlin.runtime.passes import PartitionSet
from fastlin.validation import CSRRows

Segments = Callable[[], Iterable[tuple[CSRRows, Likelihood]]]
Blocks = list[tuple[int, int]]
DESIGN_ARRAYS = [field.name for field in fields(Design)[2:]]


class PerRowArrays(list[ScratchArray]):
    """For each partition, numbers of its rows, under a name that finds them again in another process."""

    def __init__(self, name: str, arrays: Iterable[ScratchArray] = ()) -> None:
        super().__init__(arrays)
        self.name = name

    def __reduce__(self) -> Any:
        return PerRowArrays, (self.name,)


class Partition:
    """Some rows, and what they mean, open for work that threads share."""

    starts_sums = True  # whether the arrays that a work adds to hold nothing yet
    completes_sums = True  # whether they hold the sums of all partitions once the work is done

    def __init__(
        self,
        place: tuple[int, int],
        design: Design,
        inference: Likelihood,
        workers: Any,
        held: ExitStack,
        blocks: dict[Any, Blocks],
    ) -> None:
        self.index, n_partitions = place
        self.is_last = self.index == n_partitions - 1
        self.design, self.likelihood, self.workers, self._held, self._blocks = design, inference, workers, held, blocks

    def blocks(self, divide: Callable[..., Blocks], *arguments: Any) -> Blocks:
        """divide(partition, *arguments): blocks of its rows or columns, made once."""
        found = self._blocks.get((divide, arguments))
        if found is None:
            found = self._blocks[divide, arguments] = divide(self, *arguments)
        return found

    def map_blocks(self, work: Callable[[int, int], Any], divide: Callable[..., Blocks], *arguments: Any) -> list[Any]:
        """work(start, stop) of each of these blocks, in their order."""
        found: list[Any] = self.workers.map(work, self.blocks(divide, *arguments))
        return found

    @property
    def labels(self) -> MultinomialLikelihood:
        """What the rows mean, where it is known to be labels."""
        assert isinstance(self.likelihood, MultinomialLikelihood)
        return self.likelihood

    @property
    def any_labels(self) -> MultinomialLikelihood | OneVsRestLikelihood:
        """What the rows mean, where it is known to be labels, one a row or several."""
        assert not isinstance(self.likelihood, ConditionalLogitLikelihood)
        return self.likelihood

    @property
    def one_right(self) -> MultinomialLikelihood | ConditionalLogitLikelihood:
        """What the rows mean, where one label of each, or one row of a group, is known to be right."""
        assert not isinstance(self.likelihood, OneVsRestLikelihood)
        return self.likelihood

    def map(self, of_rows: list[ScratchArray]) -> NDArray[Any]:
        """The numbers of these rows, to be read and written."""
        return of_rows[self.index].map_while(self._held)


def instance_blocks(part: Partition) -> Blocks:
    """Blocks of bounded work of its rows; groups of rows stay whole."""
    return part.likelihood.row_blocks(part.design)


def row_blocks(part: Partition, width: int) -> Blocks:
    """The same of rows of which each has a label, or none."""
    return list(parallel.split_by_work(part.design.indptr, width))


def column_blocks(part: Partition, width: int) -> Blocks:
    """Blocks of bounded work of its columns."""
    return list(parallel.split_by_work(part.design.column_indptr, width))


class MappedDesign(Design):
    """A design that maps an array when it is first asked for: passes over rows need no columns, nor the other way."""

    def __init__(self, features: NDArray[np.int64], n_rows: int, matrix: list[ScratchArray], held: ExitStack) -> None:
        kept = dict(zip(DESIGN_ARRAYS, matrix, strict=True))
        self.__dict__.update(features=features, n_rows=n_rows, _held=held, _kept=kept)

    def __getattr__(self, name: str) -> Any:
        """One of the arrays, which is an attribute from then on."""
        if name not in self.__dict__.get("_kept", ()):
            raise AttributeError(name)
        array = self.__dict__[name] = self._kept[name].map_while(self._held)
        return array


class RowRange:
    """Some rows of a part in a row: as they lie, without their columns."""

    def __init__(self, stored: "PartitionFiles", place: int, start: int, stop: int, held: ExitStack) -> None:
        self._place, self._rows, self._held = place, (start, stop), held
        indptr, indices, values = stored.design_arrays[:3]
        bounds = held.enter_context(indptr.map(start, stop + 1))
        self._non_zeros = int(bounds[0]), int(bounds[-1])
        self.indptr = bounds - bounds[0] if bounds[0] else bounds
        self.indices, self.values = (held.enter_context(each.map(*self._non_zeros)) for each in (indices, values))
        of_rows, tables = stored.likelihood_arrays[:2], stored.likelihood_arrays[2:]
        meaning = [held.enter_context(each.map(start, stop)) for each in of_rows]
        meaning += [held.enter_context(each.map()) for each in tables]
        self.labels = stored.kind(*meaning, stored.width)

    def map(self, of_rows: list[ScratchArray]) -> NDArray[Any]:
        """The numbers of these rows, to be read and written."""
        return self._held.enter_context(of_rows[self._place].map(*self._rows))

    def map_non_zeros(self, of_parts: list[ScratchArray]) -> NDArray[Any]:
        """The numbers of these rows' non-zeros."""
        return self._held.enter_context(of_parts[self._place].map(*self._non_zeros))


class PartitionFiles(NamedTuple):
    """Where the arrays of a part's design and inference lie."""

    n_rows: int
    nnz: int
    design_arrays: list[ScratchArray]
    likelihood_arrays: list[ScratchArray]
    kind: Any
    width: int
    blocks: dict[Any, Blocks]  # of the work on it, as they were made

    @classmethod
    def of(
        cls, design: Design, inference: RowLoss, matrix: Iterable[ScratchArray], meaning: Iterable[ScratchArray]
    ) -> Self:
        """Those of a design and an inference whose arrays are held so."""
        kind, width = type(inference), inference.width
        return cls(design.n_rows, design.nnz, list(matrix), list(meaning), kind, width, {})


class Partitions(PartitionSet):
    """All rows; `features` are the columns of X that any of them has, most frequent first: those of every part."""

    def __init__(self, features: NDArray[np.int64], scratch: ScratchSpace) -> None:
        self.features, self.scratch = features, scratch
        self._files: list[PartitionFiles] = []
        self._opened: Partition | None = None  # the only one, in memory, as it was last opened
        self._allocated = itertools.count()
        self.largest_left_out = 0.0  # what |∂ loss| of a feature that an L1 term leaves out is at most

    @classmethod
    def single(cls, design: Design, inference: RowLoss) -> Self:
        """One part, in memory."""
        parts = cls(design.features, ScratchSpace())
        matrix, meaning = (
            [ScratchArray(array) for array in design.arrays],
            [ScratchArray(array) for array in inference.arrays],
        )
        parts._files.append(
            PartitionFiles(design.n_rows, design.nnz, matrix, meaning, type(inference), inference.width, {})
        )
        return parts

    @classmethod
    def from_segments(cls, segments: Segments, n_columns: int, scratch: ScratchSpace) -> Self:
        """Lay segments of proved rows out and write them down; they are read twice."""
        counts = np.zeros(n_columns, np.int64)
        for rows, _ in segments():
            count_rows(rows, counts)
        features = order_by_frequency(counts)
        return cls.from_designs(
            ((Design.of(rows, features), inference) for rows, inference in segments()), features, scratch
        )

    @classmethod
    def from_designs(
        cls, designs: Iterable[tuple[Design, Likelihood]], features: NDArray[np.int64], scratch: ScratchSpace
    ) -> Self:
        """One part after the other, written down."""
        parts = cls(features, scratch)
        for design, inference in designs:
            matrix, meaning = parts.store_arrays(design.arrays), parts.store_arrays(inference.arrays)
            parts._files.append(
                PartitionFiles(design.n_rows, design.nnz, matrix, meaning, type(inference), inference.width, {})
            )
        return parts

    def store_arrays(self, arrays: Iterable[NDArray[Any]]) -> list[ScratchArray]:
        """Arrays written down."""
        kept = []
        for array in arrays:
            kept.append(self.scratch.zeros(array.shape, array.dtype))
            with kept[-1].map() as copy:
                copy[:] = array
        return kept

    def __len__(self) -> int:
        return len(self._files)

    def __iter__(self) -> Iterator[Partition]:
        """Each in turn; what it has mapped is let go when the next is asked for."""
        for index in range(len(self)):
            with self.open(index) as part:
                yield part

    def open(self, index: int, workers: Any = None) -> AbstractContextManager[Partition]:
        """One of them, with the threads that share its work; the only one, in memory, stays open for the next pass."""
        if len(self._files) > 1 or not self.scratch.is_memory:
            return self._map(index, workers)
        part = self._opened
        if part is None or part.workers is not workers:
            with self._map(index, workers) as part:
                self._opened = part
        return nullcontext(part)

    @contextmanager
    def _map(self, index: int, workers: Any) -> Iterator[Partition]:
        stored = self._files[index]
        with ExitStack() as held:
            meaning = [each.map_while(held) for each in stored.likelihood_arrays]
            design = MappedDesign(self.features, stored.n_rows, stored.design_arrays, held)
            inference = stored.kind(*meaning, stored.width)
            yield Partition((index, len(self)), design, inference, workers, held, stored.blocks)

    @contextmanager
    def row_range(self, index: int, start: int, stop: int) -> Iterator[RowRange]:
        """The rows of one of them from `start` to `stop`, which have labels."""
        with ExitStack() as held:
            yield RowRange(self._files[index], index, start, stop, held)

    def allocate(
        self, name: str, width: int, dtype: Any = np.float64, transient: bool = False, per: str = "row"
    ) -> PerRowArrays:
        """So many numbers for each row or non-zero; `transient` ones are those of one partition at a time, in memory.

        The name is made one that no others have.
        """
        name, sizes = f"{name}-{next(self._allocated)}", self.sizes if per == "row" else self.n_non_zeros
        if transient:
            room = aligned_zeros((max(sizes), width), dtype)
            return PerRowArrays(name, (ScratchArray(room[:size]) for size in sizes))
        return PerRowArrays(name, (self.scratch.zeros((size, width), dtype) for size in sizes))

    @property
    def n_non_zeros(self) -> list[int]:
        """The number of non-zeros of each part."""
        return [stored.nnz for stored in self._files]

    @property
    def sizes(self) -> list[int]:
        """The number of rows of each part."""
        return [stored.n_rows for stored in self._files]

    @property
    def n_features(self) -> int:
        return len(self.features)

    @property
    def n_rows(self) -> int:
        return sum(self.sizes)

    @made_once
    def has_labels(self) -> bool:
        """Whether each row has one label of its own, and rows do not compete in groups."""
        return all(isinstance(part.likelihood, MultinomialLikelihood) for part in self)

    @made_once
    def has_label_sets(self) -> bool:
        """Whether a row may have several labels."""
        return all(isinstance(part.likelihood, OneVsRestLikelihood) for part in self)

    @made_once
    def n_instances(self) -> int:
        """Rows, or groups of rows."""
        return sum(part.likelihood.n_instances for part in self)

    @made_once
    def total_weight(self) -> float:
        """Σ w."""
        return sum(part.likelihood.total_weight for part in self)

    @made_once
    def max_abs_value(self) -> float:
        """max |x|."""
        return max(part.design.largest for part in self)

    @made_once
    def weight_range(self) -> tuple[float, float]:
        """The least and the largest w, and 1."""
        ranges = [part.likelihood.weight_range for part in self]
        return min(least for least, _ in ranges), max(largest for _, largest in ranges)
