"""macOS and Windows as far as they can be had on Linux: without what they lack, everything is imported and learns."""

import errno
import fcntl
import importlib
import os
import subprocess
import sys
import types

import pytest

from fastlin.data import scratch
from fastlin.runtime import atomic_write, folder_lock

MISSING = {  # system: (modules, names of os, names of mmap)
    "darwin": ((), ("posix_fallocate", "posix_fadvise", "sched_getaffinity"), ("MAP_POPULATE",)),
    "win32": (
        ("fcntl", "resource", "pwd", "grp", "termios", "readline"),
        (
            *("posix_fallocate", "posix_fadvise", "sched_getaffinity", "register_at_fork", "fork", "sysconf"),
            *("O_NONBLOCK", "O_DIRECTORY", "O_CLOEXEC", "O_NOFOLLOW", "pread", "pwrite", "getuid", "geteuid"),
        ),
        ("MAP_POPULATE", "MAP_SHARED", "MAP_PRIVATE", "PROT_READ", "PROT_WRITE"),
    ),
}
SCRIPT = """
import contextlib, mmap, os, pkgutil, shutil, sys, tempfile
import joblib, pandas, pyarrow, rich.progress, scipy.sparse.linalg, sklearn.linear_model, sklearn.pipeline  # not ours
with contextlib.suppress(ImportError):
    import distributed  # nor ours, and not everywhere

modules, of_os, of_mmap = {missing!r}
for name in modules:
    sys.modules[name] = None
for name in of_os:
    if hasattr(os, name):
        delattr(os, name)
for name in of_mmap:
    if hasattr(mmap, name):
        delattr(mmap, name)

class Map(mmap.mmap):
    def __new__(cls, fileno, length, access=mmap.ACCESS_DEFAULT, offset=0):
        return super().__new__(cls, fileno, length, access=access, offset=offset)

    @property
    def madvise(self):
        raise AttributeError("madvise")

if "fcntl" in modules:
    mmap.mmap = Map
    shutil._use_fd_functions = False  # which it found out when it was imported: it opens folders with O_NONBLOCK
    shutil._rmtree_impl = shutil._rmtree_unsafe  # so does Python 3.14, which chose by it

import importlib
import numpy as np
import fastlin
for module in pkgutil.walk_packages(fastlin.__path__, "fastlin."):
    if "__main__" not in module.name:
        importlib.import_module(module.name)

from fastlin.cli import available_memory
available_memory.available()
X = np.random.default_rng(0).poisson(0.5, (200, 30)).astype(float)
y = (X[:, 0] > X[:, 1]).astype(int)
with tempfile.TemporaryDirectory() as folder:
    for _ in range(2):  # the second time in the place of the first
        corpus = fastlin.Corpus(X, y).write(os.path.join(folder, "rows"))
    for name in ("LinearSVC", "LogisticRegression", "Perceptron"):
        model = getattr(fastlin, name)()
        stored, plain = model.fit(corpus).coef_.copy(), model.fit(fastlin.Corpus(X, y)).coef_
        np.testing.assert_array_equal(stored, plain)
    path = os.path.join(folder, "model.fastlin")
    for mapped in (True, False):
        fastlin.save(model, path)
        assert (fastlin.load(path, mmap=mapped).predict(X) == model.predict(X)).all()
    assert sorted(os.listdir(folder)) == ["model.fastlin", "rows"]
    assert not [name for name in os.listdir(os.path.join(folder, "rows")) if "lock" in name]
    with open(os.path.join(folder, "x.tsv"), "w", encoding="utf-8") as file:
        file.write("".join(f"{{'ab'[i % 2]}}\\tword{{i % 7}} wörd\\n" for i in range(50)))
    fastlin.cli.main(["train", file.name, "-m", path, "-q"])
    del corpus, stored
"""


@pytest.mark.parametrize("system", MISSING)
def test_without_what_another_system_lacks_every_module_is_imported_and_learns(system):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(missing=MISSING[system])], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_room_is_reserved_by_zeros_where_there_is_no_fallocate(tmp_path, monkeypatch):
    monkeypatch.delattr(os, "posix_fallocate")
    monkeypatch.setattr(scratch, "ZEROS", 1000)
    space = scratch.ScratchSpace(tmp_path)
    arrays = [space.zeros(n, "u1") for n in (1, 3500, 100_000)]
    assert os.fstat(space._file.fileno()).st_blocks * 512 >= 103_501  # written, and not a hole in the file
    for number, array in enumerate(arrays, 1):
        with array.map() as mapped:
            assert not mapped.any()
            mapped[:] = number
    for number, array in enumerate(arrays, 1):
        with array.map() as mapped:
            assert (mapped == number).all()


def test_a_full_disk_is_an_error_where_zeros_are_written(monkeypatch):
    monkeypatch.delattr(os, "posix_fallocate")
    with open("/dev/full", "wb", buffering=0) as full, pytest.raises(OSError, match="No space left"):
        scratch._reserve(full, 0, 10)


@pytest.fixture
def windows(monkeypatch):
    """Locks as msvcrt has them, which are gone when the file is closed, and whose error is another."""

    def locking(descriptor, mode, size):
        assert (mode, size) == (2, 1)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise PermissionError(errno.EACCES, "Permission denied") from None

    monkeypatch.setattr(folder_lock, "fcntl", None)
    monkeypatch.setattr(folder_lock, "msvcrt", types.SimpleNamespace(locking=locking, LK_NBLCK=2))


@pytest.mark.parametrize("system", ["posix", "nt"])
def test_a_folder_is_locked_by_one_at_a_time(tmp_path, request, system):
    if system == "nt":
        request.getfixturevalue("windows")
    with folder_lock.lock_folder(tmp_path):
        with pytest.raises(BlockingIOError), folder_lock.lock_folder(tmp_path):
            pass
        assert [path.name for path in tmp_path.iterdir()] == ([folder_lock.LOCK_FILE] if system == "nt" else [])
    assert not list(tmp_path.iterdir())
    with folder_lock.lock_folder(tmp_path):
        pass


@pytest.mark.skipif(folder_lock.fcntl is None, reason="a descriptor that has a copy in a forked process")
def test_a_process_that_was_forked_meanwhile_does_not_keep_the_lock(tmp_path, monkeypatch):
    opened, open_file = [], os.open
    monkeypatch.setattr(os, "open", lambda *arguments: opened.append(open_file(*arguments)) or opened[-1])
    with folder_lock.lock_folder(tmp_path):
        copy = os.dup(opened[0])
    try:
        with folder_lock.lock_folder(tmp_path):
            pass
    finally:
        os.close(copy)


def test_where_there_are_no_locks_nothing_is_locked(tmp_path, monkeypatch):
    monkeypatch.setattr(folder_lock, "fcntl", None)
    monkeypatch.setattr(folder_lock, "msvcrt", None)
    with folder_lock.lock_folder(tmp_path), folder_lock.lock_folder(tmp_path):
        assert not list(tmp_path.iterdir())


def test_folders_that_cannot_be_opened_are_not_synchronised(tmp_path, monkeypatch):
    monkeypatch.delattr(os, "O_DIRECTORY")
    monkeypatch.setattr(os, "open", lambda *_: pytest.fail("a folder was opened"))
    atomic_write.sync_folder(tmp_path)


def test_modules_that_a_system_lacks_are_none():
    assert folder_lock._module("fastlin_no_such_module") is None
    assert folder_lock._module("os") is importlib.import_module("os")
