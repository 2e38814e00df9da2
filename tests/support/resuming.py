"""Fits that are stopped after some records and go on from their checkpoints."""

import contextlib
import warnings

import numpy as np
import pytest

from fastlin.storage import ModelFileError, read_archive, write_archive
from fastlin.storage.json_values import decode, encode
from support.estimators import refused

FEW = 6  # records after which a fit is stopped


class Interrupted(Exception):
    pass


class Interruption:
    """A callback that raises after so many records."""

    def __init__(self, after):
        self.left = after

    def __call__(self, model, record):
        self.left -= 1
        if self.left < 0:
            raise Interrupted


class Counter:
    """A callback that counts records, those of runs that are not kept, too."""

    def __init__(self):
        self.n = 0

    def __call__(self, model, record):
        self.n += 1


def quiet(model, *data, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*data, **options)


def without_seconds(records):
    return [{name: value for name, value in record.items() if name != "seconds"} for record in records]


def assert_same_fit(one, other, names):
    """Every number that was learnt, bit for bit, and the histories but for the clock."""
    for name in names:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name, strict=True)
    assert without_seconds(one.history_) == without_seconds(other.history_)


def stop_after_each_record(make, names, data, path, **more):
    """Stop after some of the records, and go on from the checkpoint to the end; stop after every second in one fit."""
    counter = Counter()
    expected = quiet(make(callback=counter), *data, **more)
    assert counter.n > 2
    for after in sorted({1, 2, *np.linspace(1, counter.n - 1, FEW, dtype=int).tolist()}):
        path.unlink(missing_ok=True)
        with pytest.raises(Interrupted):
            quiet(make(callback=Interruption(after)), *data, checkpoint=path, checkpoint_interval=0, **more)
        options = {"checkpoint": path, "checkpoint_interval": 0, "resume": path.exists(), **more}
        assert_same_fit(quiet(make(callback=Counter()), *data, **options), expected, names)
    path.unlink(missing_ok=True)
    for _ in range(2 * counter.n):
        model = make(callback=Interruption(2))
        with contextlib.suppress(Interrupted):
            quiet(model, *data, checkpoint=path, checkpoint_interval=0, resume=True, **more)
            break
    assert_same_fit(model, expected, names)
    assert path.exists()
    return expected


def check_other_fits(make, data, path, changes):
    """The checkpoint of a fit is refused by one that differs; `changes`: (match, parameters, data, options)."""
    quiet(make(), *data, checkpoint=path, checkpoint_interval=0)
    for match, parameters, other, options in changes:
        with refused(model := make(**parameters), ValueError, match=match):
            quiet(model, *(data if other is None else other), checkpoint=path, resume=True, **options)


def check_what_is_said_is_proved(make, data, path, harmless=()):
    """Whatever is missing or of another kind is an error; other numbers are an error or other numbers of the model."""
    quiet(make(), *data, checkpoint=path, checkpoint_interval=0)
    header, arrays = read_archive(path, "checkpoint", mmap=False)
    state = decode(header["state"])

    def use(state, arrays):
        write_archive(path, "checkpoint", header | {"state": encode(state, "state")}, arrays)
        return quiet(make(), *data, checkpoint=path, resume=True)

    def refuse(state, arrays):
        write_archive(path, "checkpoint", header | {"state": encode(state, "state")}, arrays)
        with refused(model := make(), ModelFileError):
            quiet(model, *data, checkpoint=path, resume=True)

    use(state, arrays)
    for key, array in arrays.items():
        refuse(state, {other: value for other, value in arrays.items() if other != key})
        if array.size:
            refuse(state, arrays | {key: array.reshape(-1)[1:]})
            refuse(state, arrays | {key: np.zeros(array.shape, np.float16)})
        if array.dtype.kind == "f" and array.size:
            refuse(state, arrays | {key: np.full_like(array, np.nan)})
        for value in (-1, 0, 1, 2**31 - 1):
            with contextlib.suppress(ValueError), np.errstate(all="ignore"):
                use(state, arrays | {key: np.full(array.shape, value).astype(array.dtype)})
    for key in set(state) - set(harmless):
        refuse({other: value for other, value in state.items() if other != key}, arrays)
        refuse(state | {key: "nothing"}, arrays)
        for value in (-1, 10**9, [], [10**9], [-1], {}, 0.5):
            with contextlib.suppress(ValueError):
                use(state | {key: value}, arrays)


def check_damage(make, names, data, path, n=30, seed=0):
    """Of a checkpoint in which some bytes differ, either nothing is taken or what was meant."""
    expected = quiet(make(), *data, checkpoint=path, checkpoint_interval=0)
    whole, rng = path.read_bytes(), np.random.default_rng(seed)
    for _ in range(n):
        place, content = int(rng.integers(len(whole))), bytearray(whole)
        match rng.integers(3):
            case 0:
                del content[place:]
            case 1:
                content[place] ^= 1 << int(rng.integers(8))
            case _:
                content[place:place] = rng.bytes(int(rng.integers(1, 40)))
        path.write_bytes(content)
        try:
            model = quiet(make(), *data, checkpoint=path, resume=True)
        except ValueError:
            continue
        assert_same_fit(model, expected, names)
