"""Arrays that a fit keeps: in memory or in a file, zeros at first, and nothing remains of them."""

import errno
import os

import numpy as np
import pytest

from fastlin.data.scratch import ScratchSpace, TemporaryFolder


@pytest.mark.parametrize("on_disk", [False, True])
def test_what_is_written_is_there_when_it_is_mapped_again(tmp_path, on_disk):
    scratch = ScratchSpace(tmp_path if on_disk else None)
    held = [scratch.zeros((3, size), dtype) for size, dtype in ((5, np.float32), (1, np.int64), (0, np.int8))]
    held.append(scratch.zeros(70_000, bool))
    for number, one in enumerate(held):
        with one.map() as array:
            assert not array.any()
            array += np.array(number + 1, array.dtype)
    del scratch
    for number, one in enumerate(held):
        with one.map() as array:
            np.testing.assert_array_equal(array, np.full_like(array, number + 1))
    assert [array.shape for one in held for array in [one.map().__enter__()]] == [(3, 5), (3, 1), (3, 0), (70_000,)]


def test_a_file_has_no_name_and_its_descriptor_is_closed(tmp_path):
    before = len(os.listdir("/proc/self/fd"))
    scratch = ScratchSpace(tmp_path)
    held = scratch.zeros(10)
    assert not list(tmp_path.iterdir())
    assert len(os.listdir("/proc/self/fd")) == before + 1
    del scratch, held
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_full_disk_is_an_error_before_anything_is_written(tmp_path, monkeypatch):
    def full(descriptor, start, size):
        raise OSError(errno.ENOSPC, "No space left on device")

    scratch = ScratchSpace(tmp_path)
    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(OSError, match="No space left"):
        scratch.zeros(10)


def test_a_temporary_folder_is_removed_by_its_maker_only():
    folder = TemporaryFolder()
    child = os.fork()
    if not child:
        del folder
        os._exit(0)
    os.waitpid(child, 0)
    path = folder.path
    assert os.path.isdir(path)
    del folder
    assert not os.path.exists(path)
