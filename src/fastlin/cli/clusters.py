"""The cluster of a command line: a scheduler's address, or workers of this machine."""

import argparse
import contextlib
import re
from collections.abc import Iterator
from typing import Any

from fastlin.cli.errors import UserError
from fastlin.cli.inputs import is_stored

LOCAL = re.compile(r"local:([1-9]\d{0,3})")
CONNECT_SECONDS = 20


def check_cluster(options: argparse.Namespace, estimator: str) -> None:
    """Refuse what no cluster can learn, before one is asked for."""
    from fastlin import dask

    names = dask.__all__
    if estimator not in names:
        known = ", ".join(name for name in names if name != "ClusterError")
        raise UserError(f"--cluster: {options.learner} ({estimator}) is learnt on one machine; clusters learn {known}")
    if not is_stored(options.files):
        raise UserError(
            "--cluster: FILE is the folder of a stored corpus, which all workers see; fastlin convert makes one"
        )
    if not LOCAL.fullmatch(options.cluster) and "://" not in options.cluster:
        raise UserError(f"--cluster takes an address, tcp://HOST:PORT, or local:N, got {options.cluster!r}")


@contextlib.contextmanager
def open_client(address: str) -> Iterator[Any]:
    """A client of the scheduler at an address, or of so many workers on this machine, each of one thread."""
    from distributed import Client, LocalCluster

    with contextlib.ExitStack() as held:
        local: Any = LOCAL.fullmatch(address)
        if local:
            address = held.enter_context(
                LocalCluster(n_workers=int(local[1]), threads_per_worker=1, dashboard_address=":0", silence_logs=50)
            )
        yield held.enter_context(Client(address, timeout=CONNECT_SECONDS))
