"""Files that take the place of others whole, or not at all."""

import contextlib
import errno
import os
import secrets
from collections.abc import Iterator
from typing import Any, BinaryIO

UNFINISHED = r"\.[0-9a-f]{16}\.fastlin"  # what the file of a writer that was killed is called


@contextlib.contextmanager
def atomic_write(path: Any) -> Iterator[BinaryIO]:
    """A file that has this path once the `with` is over and all of it is on disk; an error leaves what was there."""
    target = os.path.realpath(os.fspath(path))
    if os.path.exists(target) and not os.path.isfile(target):
        number = errno.EISDIR if os.path.isdir(target) else errno.EINVAL
        raise OSError(number, "not a regular file", os.fspath(path))
    folder = os.path.dirname(target)
    temporary = os.path.join(folder, f".{secrets.token_hex(8)}.fastlin")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with open(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(descriptor)
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    sync_folder(folder)


def sync_folder(folder: str | os.PathLike[str]) -> None:
    """A new name is safe once its folder has reached the disk; Windows opens no folders, and sees to it itself."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
