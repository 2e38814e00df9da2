"""What scikit-learn's estimators say of their parameters, fastlin's take: a twin is set up like its peer, and fits."""

import importlib
import inspect
import re
from pathlib import Path

import numpy as np
import pytest

import fastlin
from support.peer_modules import HOMES, twins

SOURCE = Path(fastlin.__file__).parent
X, Y = np.random.default_rng(0).poisson(1.0, (40, 5)), np.arange(40) % 2
TEXTS, DICTS = ["good fine great", "bad awful poor"] * 9, [{"a": 1.0, "b": 2.0}, {"b": 1.0}]
OF_TEXTS, OF_DICTS = ("CountVectorizer", "HashingVectorizer", "TfidfVectorizer"), ("DictVectorizer", "FeatureHasher")
TWINS = sorted(name for name, twin in twins().items() if inspect.isclass(twin))


def peer(name):
    return next(getattr(module, name) for module in map(importlib.import_module, HOMES) if name in module.__all__)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning", "ignore::FutureWarning")
@pytest.mark.parametrize("name", TWINS)
def test_a_twin_takes_the_parameters_of_its_peer(name):
    parameters = peer(name)().get_params()
    twin = twins()[name]().set_params(**parameters)
    assert {key: twin.get_params()[key] for key in parameters} == parameters
    twin.fit(*([TEXTS] if name in OF_TEXTS else [DICTS] if name in OF_DICTS else [X, Y]))


def test_nothing_private_of_scikit_learn_is_imported():
    private = re.compile(r"^\s*from sklearn(\.\w+)*(\._\w+| import .*\b_\w+)|\bsklearn(\.\w+)*\._[a-z]", re.MULTILINE)
    found = [path.name for path in SOURCE.rglob("*.py") if private.search(path.read_text(encoding="utf-8"))]
    assert found == []
