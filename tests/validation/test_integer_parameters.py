"""Every whole number that a parameter may be: fitted, or refused with a clear error; never the memory of the world."""

import inspect
import resource
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

import fastlin

LARGE = (2**31 - 1, 2**31, 2**32, 2**61)
MEMORY = 1 << 31  # bytes besides what a process has
X = np.random.default_rng(0).poisson(1.0, (24, 6)).astype(float)
Y = np.array(["a", "b", "c"] * 8)
TARGETS = X @ np.arange(6.0)
TUPLES = X[:, :2].astype(int)
SIZES = np.full(8, 3)

# An estimator that ends early whatever its other parameters say, its data, and its parameters that are whole numbers.
# A callback ends iterations that a large number of them would go on with for ever.
ENDS = {"callback": lambda *_: True}
CASES = {
    "MultinomialNB": (fastlin.MultinomialNB(), (X, Y), ["n_jobs"]),
    "CategoricalNB": (fastlin.CategoricalNB(), (TUPLES, Y), ["min_categories", "n_jobs"]),
    "SemiSupervisedNB": (
        fastlin.SemiSupervisedNB(**ENDS), (X, np.where(np.arange(24) % 4, Y, "")),
        ["components", "max_iter", "n_init", "n_iter_no_change", "n_jobs", "verbose", "random_state"],
    ),
    "SemiSupervisedNBCV": (
        fastlin.SemiSupervisedNBCV(cv=2, alphas=[1.0], components=[1], max_iter=2, **ENDS), (X, Y),
        ["components", "cv", "max_iter", "n_init", "n_jobs", "verbose", "random_state"],
    ),
    "MultinomialMixture": (
        fastlin.MultinomialMixture(2, **ENDS), (X,),
        ["n_components", "max_iter", "n_init", "n_jobs", "verbose", "random_state"],
    ),
    "KMeans": (
        fastlin.KMeans(2, init=X[:2], **ENDS), (X,),
        ["n_clusters", "max_iter", "n_init", "n_jobs", "verbose", "random_state"],
    ),
    "LogisticRegression": (
        fastlin.LogisticRegression(), (X, Y), ["max_iter", "cutoff", "n_jobs", "verbose", "random_state"]
    ),
    "LogisticRegressionCV": (
        fastlin.LogisticRegressionCV(Cs=2, cv=2, **ENDS), (X, Y),
        ["Cs", "cv", "max_iter", "cutoff", "n_jobs", "verbose", "random_state"],
    ),
    "LinearSVC": (fastlin.LinearSVC(), (X, Y), ["max_iter", "n_jobs", "verbose", "random_state"]),
    "LinearSVR": (fastlin.LinearSVR(), (X, TARGETS), ["max_iter", "n_jobs", "verbose", "random_state"]),
    "Ridge": (fastlin.Ridge(), (X, TARGETS), ["max_iter", "n_jobs", "verbose", "random_state"]),
    "CandidateClassifier": (
        fastlin.CandidateClassifier(), (X, np.zeros(8, int), SIZES), ["max_iter", "n_jobs", "verbose", "random_state"]
    ),
    "CandidateClassifier, online": (
        fastlin.CandidateClassifier(loss="perceptron", max_iter=3), (X, np.zeros(8, int), SIZES), ["average"]
    ),
    "LexiconClassifier": (fastlin.LexiconClassifier({"a": ["x"], "b": ["y"]}, vocabulary=["x", "y"]), (), ["n_jobs"]),
}  # fmt: skip
ROWS = [(name, parameter, value) for name, (_, _, parameters) in CASES.items() for parameter in parameters
        for value in LARGE]  # fmt: skip


@pytest.fixture(autouse=True)
def _bounded_memory():
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MEMORY, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


@pytest.mark.parametrize(("name", "parameter", "value"), ROWS)
def test_large_numbers_are_fitted_or_refused(name, parameter, value):
    model, data, _ = CASES[name]
    given = [value] if parameter == "components" and name.endswith("CV") else value
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            clone(model).set_params(**{parameter: given}).fit(*data)
        except (ValueError, TypeError) as error:
            assert parameter.split("_")[-1] in str(error) or str(value) in str(error)  # noqa: PT017


@pytest.mark.parametrize("name", CASES)
def test_every_parameter_that_is_a_whole_number_is_looked_at(name):
    model, _, _ = CASES[name]
    hints = {key: str(value.annotation) for key, value in inspect.signature(type(model)).parameters.items()}
    numbers = {key for key, hint in hints.items() if "int" in hint.replace("hint", "")}
    cases = {key for other, (same, _, keys) in CASES.items() if type(same) is type(model) for key in keys}
    assert numbers <= cases
    assert cases <= set(model.get_params())
