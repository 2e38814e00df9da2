"""Clusters for tests: in this process, or workers of their own processes that tests kill."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from distributed import Client, LocalCluster

import dask

QUIET = {
    "distributed.comm.timeouts.connect": "5s", "distributed.scheduler.allowed-failures": 3,
    "distributed.logging": {"distributed": "critical"},
}  # fmt: skip


@contextlib.contextmanager
def here(n_workers):
    """A client whose workers are threads of this process."""
    with (
        dask.config.set(QUIET),
        LocalCluster(
            n_workers=n_workers, threads_per_worker=1, processes=False, dashboard_address=":0", silence_logs=50
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


class WorkerProcesses:
    """A scheduler in this process, and workers in others, which nobody starts again."""

    def __init__(self, n_workers):
        self.held = contextlib.ExitStack()
        self.held.enter_context(dask.config.set(QUIET))
        self.cluster = self.held.enter_context(
            LocalCluster(
                n_workers=0, processes=False, protocol="tcp://", host="127.0.0.1", dashboard_address=":0",
                silence_logs=50,
            )
        )  # fmt: skip
        self.client = self.held.enter_context(Client(self.cluster))
        self.processes = {}
        for _ in range(n_workers):
            self.start()
        self.wait(n_workers)

    def start(self):
        """One more worker; returns its name."""
        name = f"worker-{len(self.processes)}"
        paths = [str(Path(__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {
            **os.environ, "PYTHONPATH": os.pathsep.join(paths), "DASK_LOGGING__DISTRIBUTED": "critical",
        }  # fmt: skip
        command = [
            sys.executable, "-m", "distributed.cli.dask_worker", self.cluster.scheduler_address, "--no-nanny",
            "--nthreads", "1", "--name", name, "--no-dashboard", "--death-timeout", "60",
        ]  # fmt: skip
        self.processes[name] = subprocess.Popen(
            command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        return name

    def wait(self, n_workers):
        self.client.wait_for_workers(n_workers, timeout=60)

    def kill(self, name):
        """SIGKILL; the worker is seen dead when this returns."""
        process = self.processes[name]
        process.send_signal(signal.SIGKILL)
        assert process.wait(timeout=20) == -signal.SIGKILL

    def alive(self):
        return [name for name, process in self.processes.items() if process.poll() is None]

    def close(self):
        for process in self.processes.values():
            process.kill()
            process.wait()
        self.held.close()


def until(condition, seconds=30):
    """Wait for something to become true."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.01)


# Works that tests send to workers


def count_slowly(part, folder, seconds, counts):
    """Add a partition's rows to counts, and say in a file of the partition who did it: at the beginning, at the end."""
    path = Path(folder) / f"{part.index}-{os.getpid()}"
    path.with_suffix(".begun").touch()
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        time.sleep(0.01)
    counts += [len(part.rows), part.rows.nnz, float(part.rows.values.sum())]
    path.with_suffix(".done").touch()


def process_id(part):
    return os.getpid()
