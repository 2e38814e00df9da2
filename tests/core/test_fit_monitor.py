"""The fit monitor: what it logs, when it stops, and that a fit goes on from its checkpoint as if nothing had been."""

import numpy as np
import pytest

from fastlin import storage
from fastlin.core.checkpoint_reader import CheckpointReader
from fastlin.core.fit_monitor import FitMonitor
from fastlin.storage import ModelFileError, read_archive, write_archive
from fastlin.storage.json_values import decode, encode


class Walk:
    """A sum of random steps: what an iteration adds depends on all before."""

    def __init__(self, seed):
        self.generator, self.total = np.random.default_rng(seed), np.zeros(3)

    def advance(self):
        self.total += self.generator.normal(size=3) * (1 + self.total**2) ** -1
        return float(self.total.sum())

    def state_dict(self):
        return {"total": self.total, "generator": self.generator}

    def load_state_dict(self, saved):
        saved.read_into("total", self.total)
        saved.restore_generator("generator", self.generator)


def checkpoint(path, resume=True):
    return storage.Checkpoint(path, 0, resume, {"fit": "walk"})


def walk(path, max_iter, report=None, resume=True):
    """A fit of iterations that are registered by name."""
    monitor, steps = FitMonitor(max_iter, report, checkpoint(path, resume)), Walk(3)
    monitor.register_run("steps", steps)
    while not monitor.should_stop:
        monitor.maybe_save()
        monitor.iterations += 1
        monitor.log(total=steps.advance())
    return monitor


def walks(path, max_iter, n, report=None):
    """A fit of several walks, each of which has a monitor of its own, and a seed from the outer one's generator."""
    outer = FitMonitor(n, None, checkpoint(path))
    generator, ends = outer.register_generator(np.random.default_rng(8)), []
    first = generator.generator.integers(100)  # before the iterations
    done = Ends(ends)
    outer.register_run("ends", done)
    generator.catch_up()
    while not outer.should_stop:
        outer.maybe_save()
        inner, steps = FitMonitor(max_iter, report, outer.nested("walk")), Walk(1)
        if not inner.register_run("steps", steps):
            steps.total += generator.generator.normal()
        while not inner.should_stop:
            inner.maybe_save()
            inner.iterations += 1
            inner.log(total=steps.advance())
        ends.append(inner.history[-1]["total"])
        outer.iterations += 1
        outer.log(total=ends[-1])
    return [int(first), *ends], [record["total"] for record in outer.history]


class Ends:
    def __init__(self, ends):
        self.ends = ends

    def state_dict(self):
        return {"ends": self.ends}

    def load_state_dict(self, saved):
        self.ends[:] = saved.numbers("ends")


class Killed(Exception):
    pass


def killer(after):
    left = [after]

    def report(_):
        left[0] -= 1
        if left[0] < 0:
            raise Killed

    return report


def without_seconds(history):
    return [{**record, "seconds": 0} for record in history]


def test_it_logs_and_stops():
    monitor = FitMonitor(3)
    assert [monitor.log(loss=1.0), monitor.history] == [False, [{"iteration": 0, "loss": 1.0} | monitor.history[0]]]
    monitor.iterations += 3
    assert monitor.log_record({"epoch": 4})
    assert monitor.history[1] == {"epoch": 4}
    stopping = FitMonitor(3, lambda record: record["loss"] < 1)
    assert not stopping.log(loss=1.0)
    assert stopping.log(loss=0.5)
    assert (stopping.stopped, stopping.converged, stopping.iterations) == (True, False, 0)
    history = stopping.history
    stopping.begin_run()
    assert (stopping.stopped, stopping.history, len(history)) == (False, [], 2)


@pytest.mark.parametrize("after", range(7))
def test_a_fit_goes_on_where_it_was(after, tmp_path):
    expected = walk(tmp_path / "other", 7)
    with pytest.raises(Killed):
        walk(tmp_path / "c", 7, killer(after))
    found = walk(tmp_path / "c", 7)
    assert without_seconds(found.history) == without_seconds(expected.history)
    assert found.iterations == 7


@pytest.mark.parametrize("after", [0, 1, 3, 4, 5, 11])
def test_a_fit_inside_another_goes_on_where_it_was(after, tmp_path):
    expected = walks(tmp_path / "other", 4, 3)
    with pytest.raises(Killed):
        walks(tmp_path / "c", 4, 3, killer(after))
    assert walks(tmp_path / "c", 4, 3) == expected
    assert len(set(expected[1])) == 3


def test_the_clock_goes_on(tmp_path, monkeypatch):
    clock = [10.0]
    monkeypatch.setattr("time.perf_counter", lambda: clock[0])

    def later(_):
        clock[0] += 5

    walk(tmp_path / "c", 3, later)
    clock[0] = 1000.0  # the next day
    resumed = walk(tmp_path / "c", 3, later)
    assert [record["seconds"] for record in resumed.history] == [0.0, 5.0, 10.0]


def test_without_a_file_or_without_resume_it_begins(tmp_path):
    walk(tmp_path / "c", 5)
    again = walk(tmp_path / "c", 5, resume=False)
    assert len(again.history) == 5
    monitor = FitMonitor(1)
    monitor.maybe_save()
    assert not monitor.register("steps", Walk(0))


def test_what_the_checkpoint_says_is_proved(tmp_path):
    path = tmp_path / "c"
    walk(path, 5)
    header, arrays = read_archive(path, "checkpoint", mmap=False)
    state = decode(header["state"])
    assert set(state) == {"history", "iterations", "seconds", "parts"}

    def refuse(state, arrays):
        write_archive(path, "checkpoint", header | {"state": encode(state, "state")}, arrays)
        with pytest.raises(ModelFileError, match="not a checkpoint of this fit"):
            walk(path, 5)

    refuse([], arrays)
    for key in state:
        refuse({other: value for other, value in state.items() if other != key}, arrays)
        refuse(state | {key: "nothing"}, arrays)
    for key, array in arrays.items():
        refuse(state, {other: value for other, value in arrays.items() if other != key})
        refuse(state, arrays | {key: array[1:]})


def test_the_reader_knows_parts():
    reader = CheckpointReader("file", {"a": 1, "b.a": 2, "b.c.a": 3}, {"b.w": np.ones(2)})
    assert (reader.integer("a", 0), reader.part("b").integer("a", 0)) == (1, 2)
    assert reader.part("b").part("c").integer("a", 0) == 3
    assert reader.part("b").array("w", np.zeros(2)).tolist() == [1, 1]
    with pytest.raises(ModelFileError, match="'a'"):
        reader.part("d").integer("a", 0)
