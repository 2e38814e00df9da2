"""A client's cluster as a place where rounds of tasks run, whichever workers come and go.

A round sends what its tasks need from worker to worker, by tasks that hold it; asks each worker for its share, where it
would rather have it done but need not; and joins the answers by twos, on the workers. Nothing is scattered: what is
given to a task that holds it, the scheduler keeps, and gives again to whoever takes a dead worker's place. A round that
is not done in time, or whose workers are gone, is sent anew.
"""

import itertools
import time
import uuid
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from importlib import metadata
from typing import Any, Self

import distributed
from distributed import Client, Future, KilledWorker
from distributed.comm.core import CommClosedError

import dask
from fastlin.dask.tasks import Hold, engine_build
from fastlin.engine import ISA
from fastlin.version import __version__

LOST = CancelledError, CommClosedError, KilledWorker, TimeoutError  # a round that may be sent anew
MAX_RETRIES = 3
WAIT_FOR_WORKERS = 60.0  # seconds
LOOK_INTERVAL = 0.5  # seconds: a worker that comes waits so long at most, the tasks of one that goes run elsewhere
PATIENCE, LEAST_TIMEOUT = 5.0, 30.0  # times the slowest round of its kind, and seconds
SECONDS_OF_PARTITION = 20.0  # of 2²³ non-zeros that are read and laid out, where no round was seen yet
PACKAGES = "fastlin", "numpy", "scipy", "scikit-learn"  # that a worker has to have, the first in this version

Share = tuple[int, int]


class ClusterError(RuntimeError):
    """A cluster did not do its work, or cannot."""


class Cluster:
    """The workers of a client that can work for fastlin, and rounds of tasks on them.

    Parameters
    ----------
    client : distributed.Client
        It is never sent anywhere, and two fits may use it at a time: their tasks have names of their own.
    """

    def __init__(self, client: Client) -> None:
        self.client = client
        self.n_retries = 0
        self.held: list[dict[str, Future]] = []  # what outlasts a round, by worker
        self._proved: set[str] = set()
        self._known: tuple[float, list[str]] = -LOOK_INTERVAL, []  # when we last looked, and who was there
        self._slowest: dict[str, float] = {}

    @contextmanager
    def releasing(self) -> Iterator[Self]:
        """Let go of what workers hold when the `with` ends."""
        try:
            yield self
        finally:
            for each in self.held:
                release(each)

    def workers(self, patience: float = WAIT_FOR_WORKERS) -> list[str]:
        """The addresses of the workers that are there, in a fixed order, proved when first seen."""
        when, known = self._known
        if known and time.monotonic() - when < LOOK_INTERVAL:
            return known
        deadline = time.monotonic() + patience
        while True:
            found = self._look()
            if found:
                break
            if time.monotonic() > deadline:
                raise ClusterError(f"{self._scheduler} has had no worker for {patience:.0f} seconds")
            time.sleep(0.1)
        fresh = [address for address in found if address not in self._proved]
        if fresh:
            self._prove(fresh)
            self._proved.update(fresh)
        self._known = time.monotonic(), sorted(found)
        return self._known[1]

    def run(self, what: str, n_partitions: int, send: "Callable[[Round], Future]", where: str) -> Any:
        """The result of the future that `send` makes of a round, sent anew where its workers are lost.

        `what` names the kind of round, `where` what its partitions are of, for errors.
        """
        errors: list[str] = []
        while len(errors) <= MAX_RETRIES:
            workers: list[str] = []
            try:
                workers = self.workers()
                return self._run_once(what, n_partitions, send, Round(self.client, workers, bool(errors)))
            except Exception as error:
                if self.client.status in ("closed", "closing"):
                    raise ClusterError(f"{self._scheduler} is lost, or the client was closed: {error}") from error
                if not isinstance(error, LOST):
                    raise
                errors.append(f"{type(error).__name__} of {', '.join(workers) or 'no worker'}")
                self.n_retries += 1
                self._known = -LOOK_INTERVAL, []
        raise ClusterError(
            f"{n_partitions} segments of {where} were not worked on ({what}), after {MAX_RETRIES} retries: "
            + "; ".join(errors)
        )

    def _run_once(self, what: str, n_partitions: int, send: "Callable[[Round], Future]", a_round: "Round") -> Any:
        started = time.monotonic()
        estimate = SECONDS_OF_PARTITION * -(-n_partitions // len(a_round.workers))
        timeout = PATIENCE * self._slowest.get(what, estimate) + LEAST_TIMEOUT
        try:
            result = send(a_round).result(timeout=timeout)
        except BaseException:
            with _quietly():
                self.client.cancel(a_round.futures, force=True)
            raise
        finally:
            for future in a_round.futures:
                future.release()
        self._slowest[what] = max(self._slowest.get(what, 0.0), time.monotonic() - started)
        return result

    @property
    def _scheduler(self) -> str:
        return f"the scheduler {getattr(self.client.scheduler, 'address', '')}".rstrip()

    def _look(self) -> list[str]:
        """The addresses of the workers that take tasks now."""
        try:
            known = self.client.scheduler_info(n_workers=-1)["workers"]
        except (OSError, AttributeError, TimeoutError, KeyError) as error:
            raise ClusterError(f"{self._scheduler} does not answer: {error}") from error
        if self.client.status != "running":
            raise ClusterError(f"{self._scheduler} is lost: the client is {self.client.status}")
        return [address for address, facts in known.items() if facts.get("status", "running") == "running"]

    def _prove(self, workers: list[str]) -> None:
        """Whether workers have what fastlin needs, in the versions of this process, before anything starts."""
        for package in PACKAGES:
            mine = __version__ if package == "fastlin" else metadata.version(package)
            for worker, theirs in self._ask(workers, metadata.version, package):
                if isinstance(theirs, Exception):
                    raise ClusterError(f"the worker {worker} has no {package}: pip install {package}=={mine} there")
                if package == "fastlin" and theirs != mine:
                    raise ClusterError(f"the worker {worker} has {package} {theirs}, and this process {mine}")
        for worker, build in self._ask(workers, engine_build):
            if isinstance(build, Exception):
                raise ClusterError(f"the worker {worker} cannot import fastlin.dask: {build}")
            if build != ISA:
                warnings.warn(
                    f"the worker {worker} runs fastlin's build for {build}, and this process that for {ISA}: results "
                    f"agree to rounding only; FASTLIN_ISA says which build all of them take",
                    stacklevel=2,
                )

    def _ask(self, workers: list[str], function: Callable[..., Any], *arguments: Any) -> list[tuple[str, Any]]:
        """What a function says on each worker, or the error it raises there; those that are gone say nothing."""
        answers = self.client.run(function, *arguments, workers=workers, on_error="return")
        lost = CommClosedError, OSError
        return [(worker, answer) for worker, answer in sorted(answers.items()) if not isinstance(answer, lost)]


class Round:
    """The tasks of one round; of one that is sent anew, nothing that workers held before is relied upon."""

    def __init__(self, client: Client, workers: list[str], is_retry: bool) -> None:
        self.client, self.workers, self.is_retry = client, workers, is_retry
        self.futures: list[Future] = []

    def submit(self, worker: str, task: Any, *arguments: Any) -> Future:
        """A task of this round, on this worker if it is there, else anywhere."""
        future = self._submit(worker, task, *arguments)
        self.futures.append(future)
        return future

    def send(self, value: Any) -> dict[str, Future]:
        """Hold what the tasks of this round need on every worker."""
        held = self.relay(value, {})
        self.futures += held.values()
        return held

    def relay(self, value: Any, held: dict[str, Future]) -> dict[str, Future]:
        """Hold a value on every worker that does not yet: each but the first gets it from another."""
        sources = list(held.values())
        for worker in self.workers:
            if worker not in held:
                source = sources[(len(sources) - 1) // 2] if sources else value
                with _large_graphs():
                    held[worker] = self._submit(worker, Hold(), source)
                sources.append(held[worker])
        return held

    def _submit(self, worker: str, task: Any, *arguments: Any) -> Future:
        return self.client.submit(
            task, *arguments, workers=[worker], allow_other_workers=True, pure=False, key=_key_of(task)
        )

    def join(self, parts: list[tuple[str, Future]], task: Any) -> Future:
        """The answers of neighbouring shares, joined by twos where the left one is."""
        while len(parts) > 1:
            pairs = [parts[place : place + 2] for place in range(0, len(parts), 2)]
            parts = [
                (pair[0][0], self.submit(pair[0][0], task, pair[0][1], pair[1][1])) if len(pair) > 1 else pair[0]
                for pair in pairs
            ]
        return parts[0][1]


def client_of(client: Any) -> Client:
    """The client given, or the one that was made last."""
    if client is None:
        try:
            return distributed.default_client()
        except ValueError:
            raise ClusterError("there is no Dask client: make one, distributed.Client(…), or give client=…") from None
    if not isinstance(client, Client):
        raise TypeError(f"client must be a distributed.Client or None, got {client!r}")
    if client.asynchronous:
        raise ValueError(
            "client is asynchronous; fastlin.dask waits for its rounds: use Client(…) without asynchronous"
        )
    return client


def divide(n_partitions: int, n_shares: int, chunk: int) -> list[Share]:
    """Ranges of partitions in a row, about equal; where there are many, chunks stay whole."""
    step = chunk if n_partitions >= 2 * chunk * n_shares else 1
    n_steps = -(-n_partitions // step)
    bounds = [min(step * (n_steps * place // n_shares), n_partitions) for place in range(n_shares + 1)]
    return [(start, stop) for start, stop in itertools.pairwise(bounds) if start < stop]


def release(held: dict[str, Future]) -> None:
    """Let go of what workers hold."""
    for future in held.values():
        future.release()
    held.clear()


def _key_of(task: Any) -> str:
    """A name of its own for a task: two fits on a client do not mix."""
    return f"fastlin-{type(task).__name__}-{uuid.uuid4().hex}"


@contextmanager
def _large_graphs() -> Iterator[None]:
    """Without Dask's warning of large graphs: weights are sent so on purpose, once a round."""
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"}):
        yield


@contextmanager
def _quietly() -> Iterator[None]:
    """Whatever is raised is of no interest: another error is on its way."""
    try:
        yield
    except Exception:
        return
