"""What a model file holds of scikit-learn's linear learners: the weights and labels that their `predict` reads."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.preprocessing import LabelBinarizer
from sklearn.utils.validation import check_is_fitted

from fastlin.core.label_sets import n_weight_columns
from fastlin.storage.fields import FINITE, Law, proved
from fastlin.storage.load_context import LoadContext
from fastlin.storage.model_codec import ModelCodec, State, reject_unknown
from fastlin.storage.state_arrays import proved_labels
from fastlin.storage.weight_packing import Packing, unpack
from fastlin.validation.parameter_kinds import (
    ABSENT,
    CLASS_WEIGHT,
    FLAG,
    JOBS,
    NUMBERS,
    PLAIN,
    SEARCHED,
    SEED,
    WORD,
    Integer,
    Kind,
    OneOf,
    ParameterTable,
    Real,
)

_TOLD = ("n_iter_", "t_", "C_", "l1_ratio_", "Cs_", "l1_ratios_", "solver_")  # of a fit: words and numbers
_LOG_PROBABILITIES = Law(lambda array: bool((array == array).all()), "numbers")  # -inf: what was never counted


def set_classes(model: Any, classes: NDArray[Any]) -> None:
    """Let a model have labels, which in some versions it takes from what it has learnt."""
    if not isinstance(getattr(type(model), "classes_", None), property):
        model.classes_ = classes


# Linear models


def _codec_of_weights(fitted_labels: Callable[[Any], State], restore_labels: Callable[[Any, State], set[int]]) -> Any:
    """The codec of learners with `coef_`; `restore_labels` says how many rows that may have."""

    def to_state(model: Any, packing: Packing) -> State:
        check_is_fitted(model)
        coef = model.coef_
        matrix = coef if sp.issparse(coef) else coef.reshape(-1, coef.shape[-1])
        state = {"coef": packing.pack(matrix if sp.issparse(coef) else matrix.T), "vector": coef.ndim == 1}
        state |= {"by_label": not sp.issparse(coef) and matrix.flags.c_contiguous, "intercept": model.intercept_}
        return state | fitted_labels(model) | {name: vars(model)[name] for name in _TOLD if name in vars(model)}

    def from_state(model: Any, state: State, context: LoadContext) -> None:
        weights, rows = unpack(state.pop("coef"), context), restore_labels(model, state)
        coef = weights if sp.issparse(weights) else weights.T
        if coef.dtype.kind != "f" or not coef.shape[1] or (rows and coef.shape[0] not in rows):
            raise ValueError(f"weights of {coef.dtype}, shape {coef.shape}")
        # products with dense rows have the bits of the order of the weights; learners that go on write into them
        coef = np.array(coef, order="C") if state.pop("by_label") else coef
        vector = state.pop("vector")
        if vector and (sp.issparse(coef) or coef.shape[0] > 1):
            raise ValueError("a vector of weights must be dense, and have one row")
        model.coef_, model.n_features_in_ = coef[0] if vector else coef, coef.shape[1]
        shapes: list[tuple[int, ...]] = [(coef.shape[0],)] if hasattr(model, "partial_fit") else [(), (coef.shape[0],)]
        model.intercept_ = _proved_intercept(state.pop("intercept"), shapes)
        for name in _TOLD:
            if name in state:
                setattr(model, name, _proved_report(state.pop(name), name))
        reject_unknown(state)

    return ModelCodec(to_state, from_state)


def _proved_intercept(intercept: Any, shapes: list[tuple[int, ...]]) -> Any:
    """One for all, as where none was fitted and nothing goes on, or one for each row of the weights."""
    array = np.asarray(intercept)
    if array.dtype.kind != "f" or array.shape not in shapes or not np.isfinite(array).all():
        raise ValueError(f"intercept must be finite numbers, of a shape among {shapes}")
    return array.copy() if array.ndim else intercept


def _proved_report(value: Any, name: str) -> Any:
    if not PLAIN.allows(value):
        raise ValueError(f"{name} that is no report of a fit")
    return value


def _classes_from_state(model: Any, state: State) -> set[int]:
    model.classes_ = proved_labels(state.pop("classes"))
    return {n_weight_columns(len(model.classes_))}


def _ridge_labels(model: Any) -> State:
    return {"classes": model.classes_, "multilabel": model._label_binarizer.y_type_.startswith("multilabel")}


def _ridge_labels_from_state(model: Any, state: State) -> set[int]:
    """Labels, and what makes -1 and 1 of them; of several labels a row, they are columns."""
    classes, multilabel = proved_labels(state.pop("classes")), state.pop("multilabel")
    if multilabel and classes.tolist() != list(range(len(classes))):
        raise ValueError("the labels of columns must be 0, 1, …")
    binarizer = LabelBinarizer(pos_label=1, neg_label=-1)
    model._label_binarizer = binarizer.fit(np.eye(2, len(classes), dtype=int) if multilabel else classes)
    set_classes(model, model._label_binarizer.classes_)
    return {len(classes) if multilabel else n_weight_columns(len(classes))}


_LINEAR = _codec_of_weights(lambda model: {"classes": model.classes_}, _classes_from_state)
_RIDGE = _codec_of_weights(_ridge_labels, _ridge_labels_from_state)
_REGRESSOR = _codec_of_weights(lambda _: {}, lambda _, __: set())


# Naive Bayes


def _counts_codec(*more: str) -> ModelCodec:
    """The codec of counts and what follows from them."""
    tables, of_labels = ("feature_count_", "feature_log_prob_"), ("class_count_", "class_log_prior_")

    def to_state(model: Any, packing: Packing) -> State:
        check_is_fitted(model)
        if packing.serving:
            name = type(model).__name__
            raise ValueError(f"{name} is saved as counts, which dtype and prune would falsify: leave them out")
        return {name: vars(model)[name] for name in ("classes_", *tables, *of_labels, *more)}

    def from_state(model: Any, state: State, _: LoadContext) -> None:
        classes = proved_labels(state.pop("classes_"))
        n_features = np.shape(state["feature_count_"])[-1]
        shapes: dict[str, tuple[int, ...]] = dict.fromkeys(tables, (len(classes), n_features))
        shapes |= dict.fromkeys(of_labels, (len(classes),)) | dict.fromkeys(more, (n_features,))
        for name, shape in shapes.items():
            law = _LOG_PROBABILITIES if "log" in name else FINITE
            setattr(model, name, _copied(proved(state.pop(name), name, np.float64, shape, law)))
        reject_unknown(state)
        model.classes_, model.n_features_in_ = classes, n_features

    return ModelCodec(to_state, from_state)


def _copied(array: NDArray[Any]) -> NDArray[Any]:
    """Counts that `partial_fit` may add to."""
    return array.copy()


# Parameters

_GONE = OneOf("deprecated", "warn")  # what some versions have for a parameter that others lack
_COUNT = Integer(at_least=0, at_most=2**31 - 1)  # scikit-learn's kernels hold no more
_ALPHA = Real(at_least=0) | NUMBERS
_KINDS: ParameterTable = {
    "C": Real(above=0), "Cs": NUMBERS, "alpha": _ALPHA, "average": FLAG | _COUNT,
    "binarize": Real() | ABSENT, "class_prior": NUMBERS | ABSENT, "class_weight": CLASS_WEIGHT, "copy_X": FLAG,
    "dual": FLAG | OneOf("auto"), "early_stopping": FLAG, "epsilon": Real(at_least=0), "eta0": Real(at_least=0),
    "fit_intercept": FLAG, "fit_prior": FLAG, "force_alpha": FLAG, "intercept_scaling": Real(),
    "l1_ratio": Real(at_least=0, at_most=1) | ABSENT, "l1_ratios": NUMBERS | ABSENT | _GONE,
    "learning_rate": WORD, "loss": WORD, "max_iter": _COUNT | ABSENT,
    "multi_class": WORD, "n_iter_no_change": _COUNT, "n_jobs": JOBS, "norm": FLAG,
    "penalty": OneOf("l1", "l2", "elasticnet", "deprecated") | ABSENT, "positive": FLAG, "power_t": Real(),
    "random_state": SEED, "refit": FLAG, "shuffle": FLAG, "solver": WORD, "tol": Real() | ABSENT,
    "use_legacy_attributes": FLAG | _GONE, "validation_fraction": Real(above=0, below=1),
    "verbose": FLAG | _COUNT, "warm_start": FLAG,
} | SEARCHED  # fmt: skip


def _of(names: str) -> dict[str, Kind]:
    return {name: _KINDS[name] for name in names.split()}


_SGD = (
    "penalty alpha l1_ratio fit_intercept max_iter tol shuffle verbose eta0 random_state early_stopping"
    " validation_fraction n_iter_no_change warm_start"
)
_SVM = "tol C loss fit_intercept intercept_scaling dual verbose random_state max_iter"
_LOGISTIC = (
    "penalty fit_intercept dual tol solver max_iter class_weight n_jobs verbose intercept_scaling random_state"
    " multi_class"
)
_RIDGES = "alpha fit_intercept copy_X max_iter tol solver positive random_state"
_COUNTING = "alpha force_alpha fit_prior class_prior"
PARAMETERS: dict[str, ParameterTable] = {
    "sklearn.linear_model.LogisticRegression": _of(f"{_LOGISTIC} C l1_ratio warm_start"),
    "sklearn.linear_model.LogisticRegressionCV": _of(
        f"{_LOGISTIC} Cs l1_ratios cv scoring refit use_legacy_attributes"
    ),
    "sklearn.linear_model.Perceptron": _of(f"{_SGD} n_jobs class_weight"),
    "sklearn.linear_model.Ridge": _of(_RIDGES),
    "sklearn.linear_model.RidgeClassifier": _of(f"{_RIDGES} class_weight"),
    "sklearn.linear_model.SGDClassifier": _of(f"{_SGD} loss epsilon n_jobs learning_rate power_t class_weight average"),
    "sklearn.linear_model.SGDRegressor": _of(f"{_SGD} loss epsilon learning_rate power_t average"),
    "sklearn.naive_bayes.BernoulliNB": _of(f"{_COUNTING} binarize"),
    "sklearn.naive_bayes.ComplementNB": _of(f"{_COUNTING} norm"),
    "sklearn.naive_bayes.MultinomialNB": _of(_COUNTING),
    "sklearn.svm.LinearSVC": _of(f"{_SVM} penalty multi_class class_weight"),
    "sklearn.svm.LinearSVR": _of(f"{_SVM} epsilon"),
}

CODECS = {
    "sklearn.linear_model.LogisticRegression": _LINEAR,
    "sklearn.linear_model.LogisticRegressionCV": _LINEAR,
    "sklearn.linear_model.Perceptron": _LINEAR,
    "sklearn.linear_model.Ridge": _REGRESSOR,
    "sklearn.linear_model.RidgeClassifier": _RIDGE,
    "sklearn.linear_model.SGDClassifier": _LINEAR,
    "sklearn.linear_model.SGDRegressor": _REGRESSOR,
    "sklearn.naive_bayes.BernoulliNB": _counts_codec(),
    "sklearn.naive_bayes.ComplementNB": _counts_codec("feature_all_"),
    "sklearn.naive_bayes.MultinomialNB": _counts_codec(),
    "sklearn.svm.LinearSVC": _LINEAR,
    "sklearn.svm.LinearSVR": _REGRESSOR,
}
