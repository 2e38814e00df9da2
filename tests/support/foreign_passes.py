"""A second implementation of the seam of passes: all that reaches a work is pickled, and its partition opened anew.

In this process or, through a pipe, in another: nothing but the work's name, the address of the partition and the
arguments goes there, and nothing but what it returns and what it wrote into comes back.
"""

import contextlib
import itertools
import os
import pickle
import subprocess
import sys
import types
import zlib
from pathlib import Path

import numpy as np

from fastlin.optim.partition_folder import allocate, open_partition, write_partitions
from fastlin.optim.partitions import Partitions
from fastlin.runtime import parallel
from fastlin.runtime.partition_sums import PartialSum, add_results, join_sums
from fastlin.runtime.passes import PartitionAddress


def work_on(task):
    """Do what a task says; returns its result and what it wrote into, pickled."""
    work, address, arguments, into = pickle.loads(task)
    with parallel.WorkerPool(1) as workers, opened(address, workers) as part:
        part.starts_sums, part.completes_sums = True, False
        return pickle.dumps((work(part, *arguments, *into), into))


@contextlib.contextmanager
def opened(address, workers):
    """The partition at an address: one that was laid out for a solver, or whatever else was pickled there."""
    pickled = Path(address.path) / f"{address.number}.pickle"
    if not pickled.exists():
        with open_partition(address, workers) as part:
            yield part
        return
    written = pickled.read_bytes()
    assert zlib.crc32(written) == address.fingerprint
    yield types.SimpleNamespace(**pickle.loads(written), workers=workers)


def pickle_partitions(partitions, folder):
    """Write the attributes of partitions that keep nothing with their rows; returns where each is."""
    addresses = []
    for number in range(len(partitions)):
        with partitions.open(number) as part:
            own = part._asdict() if hasattr(part, "_asdict") else vars(part)
            written = pickle.dumps({name: value for name, value in own.items() if name != "workers"})
        (folder / f"{number}.pickle").write_bytes(written)
        addresses.append(PartitionAddress(str(folder), zlib.crc32(written), number))
    return addresses


class OtherProcess:
    """A process that works on one task after the other."""

    def __init__(self):
        command = [sys.executable, "-c", "from support.foreign_passes import serve; serve()"]
        paths = [str(Path(__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)

    def __call__(self, task):
        send(self._process.stdin, task)
        return receive(self._process.stdout)

    def close(self):
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()


def serve():
    while (task := receive(sys.stdin.buffer)) is not None:
        send(sys.stdout.buffer, work_on(task))


def send(stream, message):
    stream.write(len(message).to_bytes(8, "little") + message)
    stream.flush()


def receive(stream):
    size = stream.read(8)
    return stream.read(int.from_bytes(size, "little")) if size else None


class ForeignPasses:
    """Passes over partitions that are written into a folder, by whoever `run` is."""

    completes_sums, keeps_rows = False, True

    def __init__(self, partitions, run, folder, seen):
        folder.mkdir()
        self._partitions, self._run, self._folder, self._seen = partitions, run, folder, seen
        write = write_partitions if isinstance(partitions, Partitions) else pickle_partitions
        self._addresses = write(partitions, folder)
        self._names = itertools.count()

    def at(self, index, work, *arguments, into=()):
        self._seen.append(getattr(work, "__name__", str(work)))
        answer = self._run(pickle.dumps((work, self._addresses[index], arguments, into)))
        found, changed = pickle.loads(answer)
        for mine, theirs in zip(into, changed, strict=True):
            if isinstance(mine, np.random.Generator):
                mine.bit_generator.state = theirs.bit_generator.state
            else:
                np.copyto(mine, theirs)
        return found

    def each(self, work, *arguments):
        return [self.at(index, work, *arguments) for index in range(len(self._addresses))]

    def sum(self, work, *arguments, into=()):
        """Each partition's sums from zero, added by the rule where all have come together."""
        n, sums = len(self._addresses), []
        for index in range(n):
            arrays = tuple(map(np.zeros_like, into))
            found = self.at(index, work, *arguments, into=arrays)
            sums = join_sums(sums, [PartialSum(index, index + 1, add_results(None, found), arrays)], n)
        (total,) = sums
        for mine, theirs in zip(into, total.arrays, strict=True):
            np.copyto(mine, theirs)
        return total.found

    def derive(self, name, width, work, *arguments):
        of_rows = self.allocate(name, width)
        self.each(write_derived, of_rows, work, *arguments)
        return of_rows

    def fold(self, work, *arguments, into=()):
        total = None
        for index in range(len(self._addresses)):
            total = add_results(total, self.at(index, work, *arguments, into=into))
        return total

    def allocate(self, name, width, dtype=np.float64, transient=False, per="row"):
        sizes = self._partitions.sizes if per == "row" else self._partitions.n_non_zeros
        shapes = [(size, width) for size in sizes]
        return allocate(self._folder, f"{name}-{next(self._names)}", shapes, dtype)

    def gather(self, of_rows):
        return np.concatenate(self.each(read, of_rows))

    def scatter(self, of_rows, values):
        bounds = np.cumsum([0, *self._partitions.sizes])
        for index, (start, stop) in enumerate(itertools.pairwise(bounds)):
            self.at(index, write, of_rows, values[start:stop])


def write_derived(part, of_rows, work, *arguments):
    work(part, *arguments, part.map(of_rows))


def read(part, of_rows):
    return part.map(of_rows)


def write(part, of_rows, values):
    part.map(of_rows)[:] = values


@contextlib.contextmanager
def foreign_passes(monkeypatch, run, folder):
    """All passes by `run`, over partitions in folders of this one; gives the names of the works that were done."""
    seen, folders = [], (folder / f"partitions {number}" for number in itertools.count())

    def passes(_, partitions):
        return ForeignPasses(partitions, run, next(folders), seen)

    with monkeypatch.context() as patch:
        patch.setattr(parallel.WorkerPool, "passes", passes)
        yield seen
