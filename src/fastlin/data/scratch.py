"""Arrays that a fit keeps besides its model: in memory, or in a file of which only what is in use is mapped."""

import contextlib
import math
import mmap
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.engine.core.aligned import aligned_zeros

POPULATE_READ = 22  # Linux's MADV_POPULATE_READ: pages that are in memory are mapped at once, not one by one
ZEROS = 1 << 22  # bytes written together where room cannot be reserved


class ScratchSpace:
    """A place for arrays, such as one for every segment of a corpus.

    Without a folder they are plain arrays. With one they lie in a file there that has no name: it is gone with this
    object and its arrays, and with the process, however that ends. Its room is reserved before it is used, so that a
    full disk is an OSError of `zeros`.
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        self._file, self._size = None, 0
        if folder is not None:
            self._file = tempfile.TemporaryFile(prefix="fastlin-", dir=folder, buffering=0)  # noqa: SIM115
            weakref.finalize(self, self._file.close)

    @property
    def is_memory(self) -> bool:
        """Whether its arrays are plain ones."""
        return self._file is None

    def zeros(self, shape: int | tuple[int, ...], dtype: Any = np.float64) -> "ScratchArray":
        """An array of zeros, which is there while its `map()` is."""
        shape, dtype = (shape,) if isinstance(shape, int) else shape, np.dtype(dtype)
        size = math.prod(shape) * dtype.itemsize
        if self._file is None or not size:
            return ScratchArray(aligned_zeros(shape, dtype))
        start = self._size
        _reserve(self._file, start, size)
        self._size += -(-size // mmap.ALLOCATIONGRANULARITY) * mmap.ALLOCATIONGRANULARITY
        return MappedScratchArray(self, start, shape, dtype)

    def room(self, start: int, size: int) -> mmap.mmap:
        """A part of the file, mapped for as long as it is held."""
        assert self._file is not None
        room = mmap.mmap(self._file.fileno(), size, offset=start)
        with contextlib.suppress(OSError, AttributeError):  # an older kernel, or another system
            room.madvise(POPULATE_READ)
        return room


def _reserve(file: Any, start: int, size: int) -> None:
    """Have zeros in a file's next bytes: a full disk is an OSError here, and not the end of the process later."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), start, size)
        return
    file.seek(start)  # macOS and Windows: the zeros are written
    zeros = memoryview(bytes(min(size, ZEROS)))
    while size > 0:
        size -= file.write(zeros[:size])


class ScratchArray:
    """An array in memory."""

    def __init__(self, array: NDArray[Any]) -> None:
        self._array = array

    def map(self, start: int = 0, stop: int | None = None) -> contextlib.AbstractContextManager[NDArray[Any]]:
        """The array, or its rows from `start` to `stop`, to be read and written while the `with` lasts."""
        return contextlib.nullcontext(self._array[start:stop])

    def map_while(self, held: contextlib.ExitStack) -> NDArray[Any]:  # noqa: ARG002 - memory needs no map
        """The array, mapped for as long as what is held."""
        return self._array


class MappedScratchArray(ScratchArray):
    """An array in a part of a scratch's file."""

    def __init__(self, scratch: ScratchSpace, start: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self._scratch, self._start, self._shape, self._dtype = scratch, start, shape, dtype

    @contextlib.contextmanager
    def map(self, start: int = 0, stop: int | None = None) -> Iterator[NDArray[Any]]:
        """The array, or its rows from `start` to `stop`, to be read and written while the `with` lasts."""
        start, stop, _ = slice(start, stop).indices(self._shape[0])
        shape = max(0, stop - start), *self._shape[1:]
        of_row, n = math.prod(self._shape[1:]), math.prod(shape)
        begin = self._start + start * of_row * self._dtype.itemsize
        offset = begin % mmap.ALLOCATIONGRANULARITY
        if n:
            room = self._scratch.room(begin - offset, offset + n * self._dtype.itemsize)
            yield np.frombuffer(room, self._dtype, n, offset).reshape(shape)
        else:
            yield np.empty(shape, self._dtype)

    def map_while(self, held: contextlib.ExitStack) -> NDArray[Any]:
        """The array, mapped for as long as what is held."""
        return held.enter_context(self.map())


class TemporaryFolder:
    """A folder that is gone with this object, at the end of the process that made it, or with `remove()`."""

    def __init__(self) -> None:
        self.path = tempfile.mkdtemp(prefix="fastlin-")
        self.remove = weakref.finalize(self, _remove, self.path, os.getpid())


def _remove(path: str, maker: int) -> None:
    if os.getpid() == maker:  # a child that was forked only uses it
        shutil.rmtree(path, ignore_errors=True)
