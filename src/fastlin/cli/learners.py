"""From the names of the command line to estimators and vectorisers, every parameter checked by its name."""

import argparse
import ast
import inspect
from typing import Any, NamedTuple

import numpy as np

import fastlin
from fastlin.cli.clusters import check_cluster
from fastlin.cli.errors import UserError, did_you_mean


class LearnerChoice(NamedTuple):
    """A class, and the parameters in which the command line departs from its defaults."""

    estimator: str
    parameters: dict[str, Any]
    path: tuple[str, tuple[float, ...]] | None = None  # what `tune` tries, from the strongest prior to the weakest
    warm: bool = False  # whether a fit along the path starts from the last one


ONLINE = {"max_iter": 10, "tol": None}
AVERAGED = {**ONLINE, "average": True}
ADAGRAD = {"loss": "log_loss", "learning_rate": "adagrad", "eta0": 1.0, "alpha": 1e-6}
RESIDUALS = {"learning_rate": "adagrad", "eta0": 1.0, "alpha": 1e-6}
FTRL = {"loss": "log_loss", "learning_rate": "ftrl", "eta0": 1.0, "penalty": "l1", "alpha": 0.3}
MARGINS = (0.001, 0.01, 0.1, 1.0, 10.0)
PENALTIES = (1e-4, 1e-5, 1e-6, 1e-7, 1e-8)
WHOLE = (3.0, 1.0, 0.3, 0.1, 0.03)  # FTRL's are for the whole run, not for an instance

LEARNERS = {
    "logistic": LearnerChoice("LogisticRegression", {"C": 10.0}, ("C", (0.1, 1.0, 10.0, 100.0, 1000.0)), warm=True),
    "svm": LearnerChoice("LinearSVC", {"tol": 1e-3}, ("C", (0.01, 0.1, 1.0, 10.0)), warm=True),
    "nb": LearnerChoice("MultinomialNB", {"alpha": 0.1}, ("alpha", (1.0, 0.3, 0.1, 0.03, 0.01, 0.003))),
    "complement-nb": LearnerChoice("ComplementNB", {"alpha": 0.1}, ("alpha", (3.0, 1.0, 0.3, 0.1, 0.03, 0.01))),
    "bernoulli-nb": LearnerChoice("BernoulliNB", {"alpha": 0.1}, ("alpha", (1.0, 0.3, 0.1, 0.03, 0.01, 0.003))),
    "semi-nb": LearnerChoice("SemiSupervisedNB", {"alpha": 0.01}, ("alpha", (1.0, 0.3, 0.1, 0.03, 0.01, 0.003))),
    "centroid": LearnerChoice("NearestCentroid", {}),
    "perceptron": LearnerChoice("Perceptron", AVERAGED),
    "pa": LearnerChoice("PassiveAggressiveClassifier", {**AVERAGED, "C": 0.1}, ("C", MARGINS)),
    "mira": LearnerChoice("MIRAClassifier", {**AVERAGED, "C": 0.1}, ("C", MARGINS)),
    "arow": LearnerChoice("AROWClassifier", ONLINE, ("r", (100.0, 10.0, 1.0, 0.1))),
    "sgd": LearnerChoice("SGDClassifier", {**ONLINE, **ADAGRAD}, ("alpha", PENALTIES)),
    "ftrl": LearnerChoice("SGDClassifier", {**ONLINE, **FTRL}, ("alpha", WHOLE)),
    "ridge": LearnerChoice("Ridge", {}, ("alpha", (100.0, 10.0, 1.0, 0.1, 0.01))),
    "svr": LearnerChoice("LinearSVR", {"tol": 1e-3}, ("C", (0.01, 0.1, 1.0, 10.0)), warm=True),
    "sgd-regressor": LearnerChoice("SGDRegressor", {**ONLINE, **RESIDUALS}, ("alpha", PENALTIES)),
}
REGRESSORS = ("ridge", "svr", "sgd-regressor")  # learners of numbers
COUNTED = ("nb", "complement-nb", "bernoulli-nb", "semi-nb")  # learners of counts
TEXT_OPTIONS = {
    "ngrams": (1, 1), "analyzer": "word", "token_pattern": None, "hash": None, "keep_names": None, "min_df": None,
    "max_df": None, "max_features": None, "lowercase": True, "stop_words": None, "weighing": None, "sublinear": None,
    "negation": False,
}  # fmt: skip
OPTIONS = {"max_iter": "--epochs", "n_symbols": "--symbols"}  # that are not called as the parameters
WORDS = {"none": None, "true": True, "false": False, "inf": float("inf")}


def learner(options: argparse.Namespace) -> Any:
    """The estimator that the options describe."""
    chosen, named = LEARNERS[options.learner], named_parameters(options)
    if getattr(options, "cluster", None) is None:
        return build(options, getattr(fastlin, chosen.estimator), chosen.parameters, named)
    check_cluster(options, chosen.estimator)
    from fastlin import dask

    return build(options, getattr(dask, chosen.estimator), chosen.parameters, named)


def named_parameters(options: argparse.Namespace) -> dict[str, Any]:
    """The parameters of a learner that have options of their own."""
    named = {"C": options.C, "alpha": options.alpha, "max_iter": options.epochs, "loss": options.loss}
    return named | {"average": options.average}


def build(
    options: argparse.Namespace,
    estimator: Any,
    defaults: dict[str, Any],
    named: dict[str, Any],
    class_name: str | None = None,
) -> Any:
    """An estimator with the parameters that have options of their own, and those that --set names.

    What it has not is told with `class_name`; its own name if not given.
    """
    known = inspect.signature(estimator).parameters
    class_name = class_name or estimator.__name__
    parameters = dict(defaults)
    for name, value in named.items():
        if value is not None:
            if name not in known:
                option = OPTIONS.get(name, f"--{name.replace('_', '-')}")
                raise UserError(f"{option}: {options.learner} ({class_name}) has no parameter {name}")
            parameters[name] = value
    fitting = {"random_state": options.seed, "n_jobs": options.jobs}
    fitting |= {"dtype": options.dtype} if "dtype" in options else {}
    parameters |= {name: value for name, value in fitting.items() if name in known}
    for name, text in options.set:
        if name not in known:
            raise UserError(
                f"--set {name}: {class_name} has no such parameter{did_you_mean(name, known)}; it has "
                + ", ".join(known)
            )
        parameters[name] = literal(text)
    return estimator(**parameters)


def literal(text: str) -> Any:
    """What Python would read, or else the text itself."""
    if text.lower() in WORDS:
        return WORDS[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def vectoriser(options: argparse.Namespace) -> list[tuple[str, Any]]:
    """The steps from text to the learner's matrix."""
    counted = _counts(options)
    weighing = options.weighing or ("counts" if counted else "tfidf")
    words = words_of(options)
    limits = {"min_df": options.min_df, "max_df": options.max_df, "max_features": options.max_features}
    limits = {name: value for name, value in limits.items() if value is not None}
    if options.sublinear is not None and (weighing != "tfidf" or (options.hash is not None and not options.weighing)):
        raise UserError("--sublinear is a part of --tfidf, which is not what was asked for")
    if options.hash is not None:
        return _hashing(options, words, limits, counted)
    if options.keep_names is not None:
        raise UserError("--keep-names belongs to --hash: a vocabulary has the names of all features")
    if weighing == "tfidf":
        sublinear = options.sublinear is not False
        return [("tfidf", fastlin.TfidfVectorizer(**words, **limits, sublinear_tf=sublinear))]
    return [("counts", fastlin.CountVectorizer(**words, **limits, binary=weighing == "binary"))]


def words_of(options: argparse.Namespace) -> dict[str, Any]:
    """The parameters of a vectoriser that say what its features are."""
    words: dict[str, Any] = {
        "ngram_range": options.ngrams,
        "analyzer": options.analyzer,
        "lowercase": options.lowercase,
        "stop_words": options.stop_words,
        "negation": options.negation,
        "n_jobs": options.jobs,
        "dtype": np.dtype(options.dtype).type,
    }
    if options.token_pattern is not None:
        if options.analyzer != "word":
            raise UserError(f"--token-pattern says what a word is, and --analyzer {options.analyzer} knows none")
        words["token_pattern"] = options.token_pattern
    return words


def _hashing(
    options: argparse.Namespace, words: dict[str, Any], limits: dict[str, Any], counted: bool
) -> list[tuple[str, Any]]:
    """Hashed features: counts in rows of length 1 if nothing is said of their weights."""
    if limits:
        name = next(iter(limits)).replace("_", "-")
        raise UserError(f"--{name} needs a vocabulary, and --hash has none")
    hashing = fastlin.HashingVectorizer(**hashing_parameters(options, words, counted))
    if options.weighing != "tfidf":
        return [("hashing", hashing)]
    return [("hashing", hashing), ("tfidf", fastlin.TfidfTransformer(sublinear_tf=options.sublinear is not False))]


def hashing_parameters(options: argparse.Namespace, words: dict[str, Any], counted: bool = False) -> dict[str, Any]:
    """The parameters of what hashes texts."""
    if not 1 <= options.hash <= 30:
        raise UserError(f"--hash takes from 1 to 30 bits, got {options.hash}")
    return {
        **words,
        "n_features": 2**options.hash,
        "binary": options.weighing == "binary",
        "alternate_sign": not counted and options.weighing != "tfidf",
        "norm": "l2" if options.weighing is None and not counted else None,
        "keep_names": options.keep_names or 0,
    }


def _counts(options: argparse.Namespace) -> bool:
    """Whether the learner is one of counts."""
    return "learner" in options and options.learner in COUNTED


def suited(steps: list[tuple[str, Any]], document: Any, options: argparse.Namespace) -> list[tuple[str, Any]]:
    """The steps for documents like this one: features that have names already are not taken apart as texts are."""
    if not isinstance(document, dict):
        return steps
    refuse_features(options, but=("hash",))
    dtype = np.dtype(options.dtype).type
    if options.hash is None:
        return [("features", fastlin.DictVectorizer(dtype=dtype))]
    counted = _counts(options)
    return [("features", fastlin.FeatureHasher(2**options.hash, dtype=dtype, alternate_sign=not counted))]


def refuse_features(options: argparse.Namespace, but: tuple[str, ...] = ()) -> None:
    """Options that say what to make of texts, where there are no texts."""
    for name, default in TEXT_OPTIONS.items():
        if name not in but and getattr(options, name) != default:
            option = {"weighing": options.weighing}.get(name, name).replace("_", "-")
            raise UserError(f"--{option} is for texts: these documents are features already")
