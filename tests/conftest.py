"""The tests need no data but what they make, and nothing in them is left to chance."""

import importlib.util
import os
import shutil
import signal

import pytest
from hypothesis import HealthCheck, settings

os.environ.setdefault("SCIPY_ARRAY_API", "1")  # or scikit-learn skips its checks of array inputs
if "PYTEST_XDIST_WORKER" in os.environ:  # there are as many as cores: threads of BLAS and OpenMP would wait spinning
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("OMP_NUM_THREADS", "1")

settings.register_profile(
    "ci",
    deadline=None,
    max_examples=25,
    derandomize=True,
    database=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.register_profile("search", settings.get_profile("ci"), max_examples=1000, derandomize=False)
settings.load_profile("ci")


def pytest_addoption(parser):
    parser.addoption("--slow", action="store_true", help="run the tests marked slow, too")


def pytest_collection_modifyitems(config, items):
    """Slow tests are left out unless asked for, those of peers and programs where these are not installed.

    They are deselected, as by -m, so that no run reports them as skipped.
    """

    def left_out(item):
        slow, peers = item.get_closest_marker("slow"), item.iter_markers("peer")
        missing = any(importlib.util.find_spec(peer.args[0]) is None for peer in peers)
        missing = missing or any(shutil.which(one.args[0]) is None for one in item.iter_markers("program"))
        return missing or (slow is not None and not config.getoption("--slow"))

    deselected = [item for item in items if left_out(item)]
    items[:] = [item for item in items if not left_out(item)]
    config.hook.pytest_deselected(items=deselected)


@pytest.fixture(scope="session", autouse=True)
def ctrl_c():
    """SIGINT raises KeyboardInterrupt, as in a terminal: a shell's background jobs, and theirs, ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
