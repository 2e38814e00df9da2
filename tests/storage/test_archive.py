"""The container: what goes in comes out, every byte is proved, and a failed write leaves the old file."""

import os
import resource
import zipfile

import numpy as np
import pytest

from fastlin import storage
from fastlin.storage.load_context import LoadContext
from support.model_files import beside

RECORD = np.dtype([("n", np.int64), ("x", np.float64)])
ARRAYS = {
    "weights": np.arange(12.0).reshape(3, 4),
    "transposed": np.arange(12, dtype=np.float32).reshape(3, 4).T,
    "labels": np.array(["a", "ß", "\U0001f600"]),
    "bytes": np.array([b"a", b"bc"]),
    "empty": np.zeros((0, 5), np.int32),
    "flag": np.array(True),
    "half": np.array([1.5, -2], np.float16),
    "records": np.zeros(2, RECORD),
    "model.0/part-1": np.array([], np.uint8),
}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a.fastlin"


def read(path, **options):
    return storage.read_archive(path, "model", **options)


@pytest.mark.parametrize("mmap", [True, False])
@pytest.mark.parametrize("verify", [True, False])
def test_what_goes_in_comes_out(path, mmap, verify):
    size = storage.write_archive(path, "model", {"x": [1, None, "é"]}, ARRAYS)
    assert size == path.stat().st_size
    header, arrays = read(path, mmap=mmap, context=LoadContext(verify))
    assert header == {"x": [1, None, "é"]}
    assert list(arrays) == list(ARRAYS)
    for name, expected in ARRAYS.items():
        np.testing.assert_array_equal(arrays[name], expected, strict=True)
        assert arrays[name].flags.writeable is not mmap
        assert arrays[name].ctypes.data % 64 == 0 or not arrays[name].size


def test_big_arrays_of_any_order_are_written_in_pieces(path):
    rng = np.random.default_rng(0)
    big = {"wide": np.asfortranarray(rng.random((3, 700_000))), "tall": rng.random((3, 700_000)).T, "last": np.ones(3)}
    storage.write_archive(path, "model", {}, big)
    for name, array in read(path)[1].items():
        np.testing.assert_array_equal(array, big[name])


def test_equal_models_make_equal_files(path, tmp_path):
    storage.write_archive(path, "model", {"x": 1}, ARRAYS)
    storage.write_archive(tmp_path / "b", "model", {"x": 1}, ARRAYS)
    assert path.read_bytes() == (tmp_path / "b").read_bytes()


def test_zip_tools_and_numpy_read_it(path):
    storage.write_archive(path, "model", {"x": 1}, ARRAYS)
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        assert archive.namelist() == [*(f"{name}.npy" for name in ARRAYS), "model.json"]
    with np.load(path) as arrays:
        for name, expected in ARRAYS.items():
            np.testing.assert_array_equal(arrays[name], expected, strict=True)


@pytest.mark.parametrize("name", ["", "../x", "/x", "a/../b", "a b", "é", "x" * 201, "a//b", "a."])
def test_names_that_are_refused(path, name):
    with pytest.raises(ValueError, match="is no name"):
        storage.write_archive(path, "model", {}, {name: np.ones(1)})
    assert not path.exists()


@pytest.mark.parametrize(
    "array",
    [np.array([object()]), np.array(["a"], object), np.zeros(1, "M8[s]"), np.zeros(1, complex), np.zeros(1, "V3")],
)
def test_types_that_are_refused(path, array):
    with pytest.raises(TypeError, match="does not go into a file"):
        storage.write_archive(path, "model", {}, {"x": array})
    assert not path.exists()


def test_another_kind_is_an_error_that_says_which(path):
    storage.write_archive(path, "checkpoint", {}, {})
    with pytest.raises(storage.ModelFileError, match=rf"{path}: holds 'checkpoint', not 'model'"):
        read(path)


# Damage


def test_every_single_bit_counts(path, tmp_path):
    storage.write_archive(path, "model", {"x": 1}, {"w": np.arange(3.0), "s": np.array(["é"])})
    data, damaged = path.read_bytes(), tmp_path / "damaged"
    for place in range(len(data)):
        flipped = bytearray(data)
        flipped[place] ^= 1 << place % 8
        damaged.write_bytes(flipped)
        with pytest.raises(storage.ModelFileError):
            read(damaged)


def test_every_truncation_and_every_addition_is_an_error(path, tmp_path):
    storage.write_archive(path, "model", {"x": 1}, {"w": np.arange(3.0)})
    data, damaged = path.read_bytes(), tmp_path / "damaged"
    changed = [data[:stop] for stop in range(len(data))] + [b"x" + data, data + b"x", data + data, bytes(len(data))]
    for content in changed:
        damaged.write_bytes(content)
        with pytest.raises(storage.ModelFileError):
            read(damaged)


# Writing


def test_what_is_no_file_is_an_oserror(tmp_path):
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "none")
    descriptors = len(os.listdir("/proc/self/fd"))
    with pytest.raises(IsADirectoryError) as caught:
        read(tmp_path)
    assert caught.value.filename == str(tmp_path)
    assert len(os.listdir("/proc/self/fd")) == descriptors
    with pytest.raises(IsADirectoryError):
        storage.write_archive(tmp_path, "model", {}, {})
    with pytest.raises(OSError, match="not a regular file"):
        storage.write_archive("/dev/null", "model", {}, {})
    with pytest.raises(FileNotFoundError):
        storage.write_archive(tmp_path / "none" / "x", "model", {}, {})
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(storage.ModelFileError, match="not a regular file"):
        read(tmp_path / "pipe")


def test_a_full_disk_leaves_the_old_file_and_nothing_else(path):
    storage.write_archive(path, "model", {"x": 1}, {"w": np.zeros(10)})
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            storage.write_archive(path, "model", {"x": 2}, {"w": np.zeros(100_000)})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert read(path)[0] == {"x": 1}
    assert os.listdir(path.parent) == [path.name]


def test_a_folder_that_may_not_be_written_is_an_oserror():
    with pytest.raises(OSError, match="/proc"):
        storage.write_archive("/proc/fastlin", "model", {}, {})


def test_a_link_is_written_through(path, tmp_path):
    (tmp_path / "link").symlink_to(path)
    storage.write_archive(tmp_path / "link", "model", {"x": 1}, {})
    assert (tmp_path / "link").is_symlink()
    assert read(path)[0] == {"x": 1}


@pytest.mark.slow
def test_more_than_four_gigabytes(path):
    """Sizes and offsets beyond 32 bits; the array itself takes no memory."""
    wide = np.broadcast_to(np.arange(5.0), (110_000_000, 5))
    size = storage.write_archive(path, "model", {}, {"wide": wide, "last": np.arange(7)})
    assert size == path.stat().st_size > 2**32
    arrays = read(path)[1]
    assert arrays["wide"].shape == wide.shape
    assert arrays["wide"][-1].tolist() == [0, 1, 2, 3, 4]
    assert arrays["last"].tolist() == list(range(7))
    with zipfile.ZipFile(path) as archive:
        assert archive.getinfo("wide.npy").file_size > 2**32
        assert np.load(archive.open("last.npy")).tolist() == list(range(7))
    path.unlink()


def test_an_array_that_changes_while_it_is_written_leaves_a_whole_file(tmp_path):
    path, array = tmp_path / "a.fastlin", np.zeros(1 << 18)
    transposed = np.zeros((1 << 8, 1 << 10)).T

    def change():
        array[:] += 1
        transposed[:] += 1

    with beside(change):
        for _ in range(40):
            storage.write_archive(path, "model", {}, {"x": array, "y": transposed})
            storage.read_archive(path, "model")
