"""Which estimator is compared with which, and with what settings?

A pair is fastlin's learner and the one of scikit-learn that its user would come from. Both sides get
the same settings; scikit-learn's classifiers of one column make one-vs-rest models of many labels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import sklearn

Make = Callable[..., Any]  # settings as keyword arguments -> estimator


def _maker(module: str, name: str, **fixed: Any) -> Make:
    """The estimator ``module.name``, imported when it is made, with some settings given already."""
    return lambda **settings: getattr(import_module(module), name)(**fixed, **settings)


def _ours(name: str, **fixed: Any) -> Make:
    return _maker("fastlin", name, **fixed)


def _sgd(**fixed: Any) -> Make:
    return _maker("sklearn.linear_model", "SGDClassifier", n_jobs=1, **fixed)


def _passive_aggressive(average: bool = False) -> Make:
    """PA-I: since 1.8 a learning rate of scikit-learn's SGDClassifier, where eta0 is the C."""
    if tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 8):
        return _maker("sklearn.linear_model", "PassiveAggressiveClassifier", n_jobs=1, average=average)
    make = _sgd(loss="hinge", penalty=None, learning_rate="pa1", average=average)
    return lambda C=1.0, **settings: make(eta0=C, **settings)


@dataclass(frozen=True)
class Pair:
    ours: Make
    rival: Make
    tuned: tuple[str, ...] = field(default=())  # parameters with a grid, beside the epochs


_CONSTANT = {"loss": "perceptron", "learning_rate": "constant", "eta0": 1.0, "penalty": None}

PAIRS = {
    "perceptron": Pair(_ours("Perceptron"), _maker("sklearn.linear_model", "Perceptron", n_jobs=1)),
    "perceptron averaged": Pair(_ours("Perceptron", average=True), _sgd(average=True, **_CONSTANT)),
    "SGD log loss": Pair(_ours("SGDClassifier", loss="log_loss"), _sgd(loss="log_loss"), ("alpha",)),
    "SGD log loss averaged": Pair(
        _ours("SGDClassifier", loss="log_loss", average=True), _sgd(loss="log_loss", average=True), ("alpha",)
    ),
    "SGD log loss, Adagrad": Pair(
        _ours("SGDClassifier", loss="log_loss", learning_rate="adagrad", eta0=1.0), _sgd(loss="log_loss"), ("alpha",)
    ),
    "SGD hinge": Pair(_ours("SGDClassifier", loss="hinge"), _sgd(loss="hinge"), ("alpha",)),
    "PA-I": Pair(_ours("PassiveAggressiveClassifier"), _passive_aggressive(), ("C",)),
    "PA-I averaged": Pair(
        _ours("PassiveAggressiveClassifier", average=True), _passive_aggressive(average=True), ("C",)
    ),
    "MIRA": Pair(_ours("MIRAClassifier"), _passive_aggressive(), ("C",)),
}
NAIVE_BAYES = Pair(_ours("MultinomialNB"), _maker("sklearn.naive_bayes", "MultinomialNB"), ("alpha",))

# Penalties of a sensible size for the values of each corpus (rows of norm 1, or raw counts); with far
# smaller ones the rates of the default schedule are so large that most gradients vanish.
ALPHA = {"newsgroups": 1e-5, "zipf": 1e-6, "imdb": 1e-2}


def fixed_settings(name: str, corpus: str) -> dict[str, Any]:
    """Settings for timing: every epoch is run, and penalties suit the corpus."""
    settings: dict[str, Any] = {"tol": None, "random_state": 0}
    if "alpha" in PAIRS[name].tuned:
        settings["alpha"] = ALPHA[corpus]
    return settings
