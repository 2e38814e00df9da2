"""A lock of a folder, which ends with the process that holds it: by flock, or on Windows by a file in the folder."""

import contextlib
import importlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

LOCK_FILE = ".lock.fastlin"  # where folders themselves cannot be locked


def _module(name: str) -> Any:
    """A module that some systems have; None elsewhere."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


fcntl, msvcrt = _module("fcntl"), _module("msvcrt")


@contextlib.contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """A context in which nobody else holds the lock; BlockingIOError if another process or thread does.

    A file system, or a system, without locks is taken as one where nobody else writes.
    """
    if fcntl is None and msvcrt is None:
        yield
        return
    path = folder if fcntl else folder / LOCK_FILE
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY if fcntl else os.O_RDWR | os.O_CREAT)
    held = False
    try:
        _lock(descriptor)
        held = True
        yield
    finally:
        if held and fcntl:
            with contextlib.suppress(OSError):  # a file system without locks
                fcntl.flock(descriptor, fcntl.LOCK_UN)  # a process forked meanwhile holds the descriptor, too
        os.close(descriptor)
        if held and not fcntl:
            with contextlib.suppress(OSError):  # it is gone with the folder, or another holds it by now
                path.unlink()


def _lock(descriptor: int) -> None:
    try:
        if fcntl:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        else:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    except BlockingIOError:
        raise
    except PermissionError as error:  # what msvcrt says of a lock that another holds
        if not fcntl:
            raise BlockingIOError(*error.args) from None
    except OSError:  # a file system without locks
        pass
