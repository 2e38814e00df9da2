"""What scikit-learn's tests find around them, and what becomes of each: see `expected_failures`."""

import functools
import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
import sklearn

from support.peer_modules import mentioned_names, mentioned_twins

HERE = Path(__file__).parent
LISTED = "1.9."  # the lists are of its tests; those of other versions differ
OWN = "test_expected_failures", "test_parameters"  # ours
OF_EVERY_VERSION = {"test_parameters.py"}
MARKS = "thread_unsafe", "no_check_spmatrix", "parallel_threads", "iterations"  # of scikit-learn's configuration
collect_ignore = []
if not sklearn.__version__.startswith(LISTED):
    collect_ignore += sorted({path.name for path in HERE.glob("test_*.py")} - OF_EVERY_VERSION)


def pytest_report_header(config):
    """Say what is left out."""
    if collect_ignore:
        return f"tests/peers: scikit-learn's own tests are listed for {LISTED}x, and left out of {sklearn.__version__}"
    return None


def _load_lists():
    specification = importlib.util.spec_from_file_location("expected_failures", HERE / "expected_failures.py")
    module = importlib.util.module_from_spec(specification)
    sys.modules["expected_failures"] = module
    specification.loader.exec_module(module)
    return module


lists = _load_lists()
USED, COUNTED = pytest.StashKey[set](), pytest.StashKey[dict]()


@pytest.fixture(autouse=True)
def _seeded():
    """Begin with numpy's global state as scikit-learn's runs do, from a seed: random_state=None draws from it."""
    np.random.seed(0)  # noqa: NPY002 - what scikit-learn draws from


@pytest.fixture
def global_random_seed():
    return 42


@pytest.fixture
def global_dtype():
    return np.float64


def pytest_configure(config):
    for name in MARKS:
        config.addinivalue_line("markers", f"{name}: of scikit-learn's tests")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Leave out what tests nothing of fastlin's, mark what is expected to fail, and count."""
    config.stash[USED], config.stash[COUNTED] = set(), {}
    kept, left_out = [], []
    for item in items:
        stays = item.path.parent != HERE or item.path.stem in OWN or _prepare(config, item)
        (kept if stays else left_out).append(item)
    items[:] = kept
    config.hook.pytest_deselected(items=left_out)


def _prepare(config, item):
    """Whether a test of scikit-learn's stays; if so, marked."""
    module, used = item.path.stem, config.stash[USED]
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    foreign = parameters.get("array_namespace", "numpy") != "numpy"  # arrays that are not known here
    if foreign or not mentioned_twins(item.function, parameters):
        return False
    item.add_marker(pytest.mark.filterwarnings("ignore"))  # as in scikit-learn's runs: they catch what they are about
    private = _entry(lists.PRIVATE.get(module, {}), item.name)
    if private is not None:
        used.add((module, private))
        name = lists.PRIVATE[module][private]
        assert name in mentioned_names(item.function, parameters), f"{item.name} does not look for {name}"
        return False
    announced = _entry(lists.ANNOUNCED.get(module, ()), item.name)
    if announced is not None:
        used.add((module, announced))
        assert "FutureWarning" in mentioned_names(item.function, parameters), f"{item.name} announces nothing"
        return False
    chance = _entry(lists.OF_CHANCE.get(module, ()), item.name)
    if chance is not None:
        used.add((module, chance))
        item.obj = _in_many_orders(item.obj)
    counts = config.stash[COUNTED].setdefault(module, {"tests": 0, "different": 0})
    counts["tests"] += 1
    different = _entry(lists.DIFFERENT.get(module, {}), item.name)
    if different is not None:
        used.add((module, different))
        counts["different"] += 1
        reason = lists.DIFFERENT[module][different]
        item.add_marker(pytest.mark.xfail(reason=reason, strict=True))
    return True


def _in_many_orders(test):
    """A test of one random order as one of many, of which so many pass as do with scikit-learn's or a few less."""
    module = test.__globals__

    @functools.wraps(test)
    def run(*args, **kwargs):
        set_defaults, passed = module["_update_kwargs"], 0

        for seed in range(lists.SEEDS):
            module["_update_kwargs"] = lambda given, seed=seed: set_defaults(_seed(given, seed))
            try:
                test(*args, **kwargs)
                passed += 1
            except AssertionError:
                pass
            finally:
                module["_update_kwargs"] = set_defaults
        assert passed >= lists.FEWEST_PASSES, f"{passed} of {lists.SEEDS} orders"

    return run


def _seed(given, seed):
    given.setdefault("random_state", seed)
    return given


def _entry(entries, name):
    """The entry that names a test: all of it, the test of all its parametrisations, or how it begins."""
    for entry in entries:
        open_ended = "[" in entry or entry.endswith("_")
        if name == entry or name.startswith(entry if open_ended else entry + "["):
            return entry
    return None


@pytest.fixture
def peer_counts(request):
    """How many tests of each module there are, and how many of them do not pass."""
    return request.config.stash[COUNTED]


@pytest.fixture
def used_entries(request):
    """The entries of the lists that name a test."""
    return request.config.stash[USED]
