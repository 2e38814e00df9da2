"""What does a round on a Dask cluster cost, and what does a second worker gain?

The scheduler is in this process, and each worker a process of one thread on this machine. A round that does nothing
asks each worker for a number; then the same beside weights that go out and sums that come back. A round with a killed
worker is one of slow work, whose worker is killed within it. The last question is an evaluation of LogisticRegression
on four shards: seconds of two workers against one process, where the driver is idle, so that two cores are enough.
"""

from __future__ import annotations

from timing import arguments, save, show  # before numpy: it sets the threads

# isort: split
import contextlib
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import scipy.sparse as sp
from distributed import Client, LocalCluster

from fastlin import Corpus
from fastlin.dask import cluster as clusters
from fastlin.dask.cluster import Cluster
from fastlin.dask.datasets import ClusterDataset
from fastlin.dask.partitions import CorpusSegments
from fastlin.dask.passes import DaskPasses
from fastlin.dask.tasks import JoinSums, SumPartitions
from fastlin.data import corpus as corpora
from fastlin.optim.likelihoods import MultinomialLikelihood
from fastlin.optim.log_linear_problem import LogLinearProblem, WeightPrior
from fastlin.optim.partitions import Partitions
from fastlin.optim.weight_layouts import DenseWeights
from fastlin.runtime.parallel import WorkerPool

ROWS, LENGTH, FEATURES, SHARDS = 320_000, 100, 1_000_000, 4


def nothing(part: Any) -> int:
    return int(part.index)


def send_and_return(part: Any, weights: np.ndarray, sums: np.ndarray) -> None:
    sums[part.index] = weights[part.index]


def sleep(part: Any, seconds: float, sums: np.ndarray) -> None:
    time.sleep(seconds)
    sums += part.index >= 0


@contextlib.contextmanager
def workers(n: int) -> Iterator[tuple[Client, list[subprocess.Popen[bytes]]]]:
    """A client, and so many processes of one thread each that nobody starts again."""
    place = {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])}
    with (
        LocalCluster(
            n_workers=0, processes=False, protocol="tcp://", dashboard_address=":0", silence_logs=50
        ) as cluster,
        Client(cluster) as client,
    ):
        command = [sys.executable, "-m", "distributed.cli.dask_worker", cluster.scheduler_address, "--no-nanny"]
        command += ["--nthreads", "1", "--no-dashboard"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        processes = [subprocess.Popen(command, env={**os.environ, **place}, **quiet) for _ in range(n)]
        try:
            client.wait_for_workers(n, timeout=60)
            yield client, processes
        finally:
            for process in processes:
                process.kill()
                process.wait()


def rounds(client: Client, corpus: Corpus, repeat: int) -> dict[str, float]:
    """Milliseconds of rounds on two workers."""
    segments, found = CorpusSegments.of(corpus, {}), {}
    with Cluster(client).releasing() as cluster:
        passes = DaskPasses(cluster, segments, segments.path)

        def measure(run: Any) -> float:
            run()
            times = []
            for _ in range(repeat):
                started = time.perf_counter()
                run()
                times.append(1000 * (time.perf_counter() - started))
            return median(times)

        found["no-op round"] = measure(lambda: passes.each(nothing))
        for n in (10**6, 10**7):
            weights, sums = np.ones(n), np.empty(n)
            found[f"with 10^{len(str(n)) - 1} weights"] = measure(
                lambda weights=weights, sums=sums: passes.sum(send_and_return, weights, into=(sums,))
            )
    return found


def killed(corpus: Corpus) -> dict[str, float]:
    """Seconds of a round of slow work, undisturbed and with a worker that is killed within it."""
    segments, found = CorpusSegments.of(corpus, {}), {}
    with workers(2) as (client, processes), Cluster(client).releasing() as cluster:
        passes, sums = DaskPasses(cluster, segments, segments.path), np.empty(1)
        passes.each(nothing)
        for name in ("round of slow work", "the same with a killed worker"):
            if name.endswith("worker"):
                threading.Timer(0.7, lambda: processes[1].send_signal(signal.SIGKILL)).start()
            started = time.perf_counter()
            passes.sum(sleep, 0.1, into=(sums,))
            assert sums[0] == len(segments)
            found[name] = time.perf_counter() - started
        found["its bound: the time of two such rounds and the timeout"] = (
            clusters.LEAST_TIMEOUT + (clusters.PATIENCE + 2) * found["round of slow work"]
        )
    return found


def evaluations(corpus: Corpus, repeat: int) -> dict[str, float]:
    """Seconds of an evaluation of two labels' model by one process and by two workers, in turns; and whether equal."""

    def segments() -> Iterator[Any]:
        return ((part.rows, MultinomialLikelihood(part.codes, part.weights, 1)) for part in corpus.segments())

    local = Partitions.from_segments(segments, corpus.shape[1], corpus.scratch())
    with workers(2) as (client, _), WorkerPool(1) as pool, Cluster(client).releasing() as cluster:
        data = ClusterDataset(corpus, "X", {"dtype": corpus.dtype}, cluster)
        started = time.perf_counter()
        remote = data.training(None).designs(1, None)
        times: dict[str, list[float]] = {"one process": [], "two workers": []}
        problems = {}
        for name, parts in (("one process", local), ("two workers", remote)):
            layout = DenseWeights(parts.n_features, 1)
            prior = WeightPrior(np.ones(parts.n_features), np.empty(0))
            problems[name] = LogLinearProblem(parts, layout, prior, True, pool)
        theta = np.random.default_rng(0).normal(size=problems["one process"].size)
        gradients = {name: np.empty_like(theta) for name in problems}
        values = {name: problem.value(theta, gradients[name]) for name, problem in problems.items()}
        laid_out = time.perf_counter() - started
        for _ in range(repeat):
            for name, problem in problems.items():
                started = time.perf_counter()
                problem.value(theta, gradients[name])
                times[name].append(time.perf_counter() - started)
        assert len(set(values.values())) == 1
        assert gradients["one process"].tobytes() == gradients["two workers"].tobytes()
    found = {name: median(each) for name, each in times.items()}
    return found | {"speed-up": found["one process"] / found["two workers"], "laying out, on workers": laid_out}


def main() -> None:
    options = arguments(__doc__.splitlines()[0]).parse_args()
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        rng = np.random.default_rng(0)
        small = Corpus(sp.random_array((400, 30), density=0.2, format="csr", rng=rng), rng.integers(0, 2, 400))
        corpora.SEGMENT = 80
        small = small.write(Path(folder) / "small", "npy")
        if not options.only or "rounds" in options.only:
            with workers(2) as (client, _):
                results["rounds, ms"] = rounds(client, small, options.repeat)
            show(
                "rounds on two workers", ["", "ms"], [[name, f"{ms:.0f}"] for name, ms in results["rounds, ms"].items()]
            )
            sizes = {
                "SumPartitions": len(pickle.dumps(SumPartitions(10**6, 10**6 + 9))),
                "JoinSums": len(pickle.dumps(JoinSums(10**6))),
            }
            results["bytes of a task"] = sizes
            show("tasks as pickled", ["", "bytes"], [[name, str(size)] for name, size in sizes.items()])
        if not options.only or "killed" in options.only:
            results["killed, s"] = killed(small)
            show("a killed worker", ["", "s"], [[name, f"{s:.1f}"] for name, s in results["killed, s"].items()])
        if not options.only or "evaluations" in options.only:
            gap = FEATURES // LENGTH
            indices = (np.arange(LENGTH) * gap + rng.zipf(1.3, size=(ROWS, LENGTH)) % gap).astype(np.int32)
            X = sp.csr_array((np.ones(indices.size, np.float32), indices.ravel(), np.arange(ROWS + 1) * LENGTH))
            corpora.SEGMENT = X.nnz // SHARDS + ROWS
            large = Corpus(X, rng.integers(0, 2, ROWS)).write(Path(folder) / "large", "npy")
            results["evaluations, s"] = evaluations(large, options.repeat)
            rows = [[name, f"{value:.3f}"] for name, value in results["evaluations, s"].items()]
            show(f"an evaluation of {large.n_segments} shards, {X.nnz / 1e6:.0f} million non-zeros", ["", "s"], rows)
    save("cluster", results)


if __name__ == "__main__":
    main()
