"""Partitions in a folder: any process that sees the folder opens one of them from its address.

What a fit keeps beside them, numbers of rows or of non-zeros, lies there under its name, too, so that whoever works on
a partition next finds it.
"""

import contextlib
import json
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.data.scratch import ScratchArray
from fastlin.optim.design import Design
from fastlin.optim.likelihoods import ConditionalLogitLikelihood, MultinomialLikelihood, OneVsRestLikelihood
from fastlin.optim.partitions import Partition, Partitions, PerRowArrays
from fastlin.runtime.passes import PartitionAddress

LIKELIHOODS: dict[str, Any] = {
    kind.__name__: kind for kind in (MultinomialLikelihood, ConditionalLogitLikelihood, OneVsRestLikelihood)
}


class FileArray(ScratchArray):
    """An array in a file of its own, `.npy`."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @contextlib.contextmanager
    def map(self, start: int = 0, stop: int | None = None) -> Iterator[NDArray[Any]]:
        """The array, or its rows from `start` to `stop`, to be read and written while the `with` lasts."""
        yield self._open()[start:stop]

    def map_while(self, held: ExitStack) -> NDArray[Any]:  # noqa: ARG002 - it is unmapped with its last view
        """The array, mapped for as long as what is held."""
        return self._open()

    def _open(self) -> NDArray[Any]:
        array: NDArray[Any] = np.load(self._path, mmap_mode="r+")
        return array.view(np.ndarray)


class FolderPartition(Partition):
    """A partition that was opened from its address."""

    folder: Path

    def map(self, of_rows: list[ScratchArray]) -> NDArray[Any]:
        """The numbers of these rows, to be read and written: those that have the name in the folder."""
        assert isinstance(of_rows, PerRowArrays)
        return FileArray(_file_of(self.folder, of_rows.name, self.index)).map_while(self._held)


def write_partitions(partitions: Partitions, folder: Path) -> list[PartitionAddress]:
    """Write all of them into a folder; returns where each is."""
    np.save(folder / "features.npy", partitions.features)
    addresses = []
    for part in partitions:
        arrays = [*part.design.arrays, *part.likelihood.arrays]
        for place, array in enumerate(arrays):
            np.save(_file_of(folder, f"array-{place}", part.index), array)
        header = {
            "n_partitions": len(partitions), "n_rows": part.design.n_rows, "n_arrays": len(arrays),
            "likelihood": type(part.likelihood).__name__, "width": part.likelihood.width,
        }  # fmt: skip
        (folder / f"{part.index}.json").write_text(json.dumps(header))
        addresses.append(PartitionAddress(str(folder), _fingerprint([partitions.features, *arrays]), part.index))
    return addresses


@contextlib.contextmanager
def open_partition(address: PartitionAddress, workers: Any) -> Iterator[Partition]:
    """The partition at an address, with the threads that may share its work."""
    folder, number = Path(address.path), address.number
    header, features = json.loads((folder / f"{number}.json").read_text()), np.load(folder / "features.npy")
    arrays = [np.load(_file_of(folder, f"array-{place}", number)) for place in range(header["n_arrays"])]
    if _fingerprint([features, *arrays]) != address.fingerprint:
        raise ValueError(f"{folder}: partition {number} is not the one that was written, its fingerprint differs")
    design = Design(features, header["n_rows"], *arrays[:6])
    likelihood = LIKELIHOODS[header["likelihood"]](*arrays[6:], header["width"])
    with ExitStack() as held:
        part = FolderPartition((number, header["n_partitions"]), design, likelihood, workers, held, {})
        part.folder = folder
        yield part


def allocate(folder: Path, name: str, shapes: list[tuple[int, ...]], dtype: Any) -> PerRowArrays:
    """Zeros under a name, of a shape for each partition."""
    paths = [_file_of(folder, name, number) for number in range(len(shapes))]
    for path, shape in zip(paths, shapes, strict=True):
        np.save(path, np.zeros(shape, dtype))
    return PerRowArrays(name, map(FileArray, paths))


def _file_of(folder: Path, name: str, number: int) -> Path:
    return folder / f"{name}.{number}.npy"


def _fingerprint(arrays: list[NDArray[Any]]) -> int:
    found = 0
    for array in arrays:
        found = zlib.crc32(np.ascontiguousarray(array).data, found)
    return found
