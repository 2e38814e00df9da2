"""What a model file holds of each learner."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from fastlin import validation
from fastlin.core._codec import COUNTS, container_from_state, container_to_state, report_from_state, report_to_state
from fastlin.data.scratch import ScratchArray
from fastlin.linear.class_moments import ClassMoments
from fastlin.linear.online_weights import SparseWeights
from fastlin.linear.path_results import as_legacy, given, without_legacy
from fastlin.linear.ridge import SOLVERS
from fastlin.optim.online_state import OnlineState
from fastlin.optim.update_rules import CLOCK, GENERATION, RULE
from fastlin.storage.fields import FINITE, proved
from fastlin.storage.load_context import LoadContext
from fastlin.storage.model_codec import ModelCodec, State, reject_unknown
from fastlin.storage.state_arrays import proved_labels
from fastlin.storage.weight_packing import IN_FLOAT64, Packing, unpack
from fastlin.validation import MAX_ABS_VALUE

MOST_INSTANCES = 2**62  # so many may follow as there were
RECORDS = {"rule": RULE, "clock": CLOCK, "past": GENERATION}
SEARCH = ("C_", "l1_ratio_", "Cs_", "l1_ratios_", "scores_", "path_", "n_nonzero_")


def _weights(state: State, context: LoadContext, widths: set[int], types: Any = tuple(MAX_ABS_VALUE)) -> Any:
    """The weights in scikit-learn's shape, with as many rows as there may be."""
    weights = unpack(state.pop("coef"), context)
    coef = weights if sp.issparse(weights) else weights.T
    if coef.dtype not in types or coef.shape[0] not in widths or not coef.shape[1]:
        raise ValueError(f"weights of {coef.dtype}, shape {coef.shape}")
    return coef


def _intercept(state: State, width: int) -> Any:
    return proved(state.pop("intercept"), "intercept", np.float64, (width,), FINITE).copy()


def _packed(coef: Any, packing: Packing) -> State:
    return packing.pack(validation.as_sparse(coef, "coef_") if sp.issparse(coef) else np.asarray(coef).T)


# Online learners


def _online_to_state(model: Any, packing: Packing) -> State:
    model._check_learnt()
    served: Any = model._sparse
    state: Any = model._state if served is None else served
    coef = state.label_weights().T if served is None else served.coef
    rule, clock = state.rule.copy(), state.clock.copy()
    taken = report_to_state(model, packing) | {"coef": _packed(coef, packing), "intercept": model.intercept_}
    taken |= ({"classes": model.classes_} if hasattr(model, "classes_") else {}) | {"rule": rule, "clock": clock}
    taken |= container_to_state(model)
    if not packing.serving:
        taken["random"] = model._generator
        taken["learning"] = state.export(copy=False) if served is None else served.learning
    return taken


def _online_from_state(model: Any, state: State, context: LoadContext) -> None:
    """Weights to predict with, and labels."""
    model.classes_ = proved_labels(state.pop("classes"))
    container_from_state(model, state, model.classes_)
    _online_weights_from_state(model, state, context, model._n_columns(len(model.classes_)))


def _regressor_from_state(model: Any, state: State, context: LoadContext) -> None:
    _online_weights_from_state(model, state, context, 1)


def _online_weights_from_state(model: Any, state: State, context: LoadContext, width: int) -> None:
    """Weights to predict with; what learning needs is looked at when learning goes on."""
    report_from_state(model, state)
    coef = _weights(state, context, {width})
    intercept = _intercept(state, coef.shape[0])
    rule, clock, learning = _record(state.pop("rule"), RULE), _record(state.pop("clock"), CLOCK), None
    if not 0 <= clock["steps"][0] <= clock["t"][0] <= MOST_INSTANCES:
        raise ValueError("clock must count instances, and no more steps than these")
    if state.get("learning") is not None:
        learning = {name: _record(array, RECORDS.get(name)) for name, array in state["learning"].items()}
        OnlineState.check_shapes(learning, coef.shape, coef.dtype)
    state.pop("learning", None)
    generator = state.pop("random") if "random" in state else validation.as_generator(model.random_state)
    if not isinstance(generator, np.random.Generator):
        raise ValueError(f"random must be a numpy Generator, got {type(generator).__name__}")
    reject_unknown(state)
    model._sparse = SparseWeights(coef, intercept, clock, rule, learning)
    model.n_features_in_, model._generator = coef.shape[1], generator


def _record(array: Any, kind: Any) -> Any:
    """An array of records, field by field: those that it lacks, of an earlier version, are 0."""
    if kind is None:
        return array
    names = array.dtype.names or ()
    if not names or not set(names) <= set(kind.names) or array.ndim != 1 or not len(array):
        raise ValueError(f"records of {array.dtype}")
    record = np.zeros(len(array), kind)
    for name in names:
        record[name] = array[name]
    return record


# Batch learners


def _maxent_to_state(model: Any, packing: Packing) -> State:
    model._check_fitted()
    state = report_to_state(model, packing) | {"coef": _packed(model.coef_, packing)}
    state |= {"intercept": np.asarray(model.intercept_, np.float64), "classes": model.classes_}
    return state | container_to_state(model)


def _maxent_from_state(model: Any, state: State, context: LoadContext) -> None:
    report_from_state(model, state)
    classes = proved_labels(state.pop("classes"))
    container_from_state(model, state, classes)
    coef = _weights(state, context, {model._n_columns(len(classes)), len(classes)})
    intercept = _intercept(state, coef.shape[0])
    reject_unknown(state)
    model.coef_, model.intercept_, model.classes_, model.n_features_in_ = coef, intercept, classes, coef.shape[1]


def _logistic_from_state(model: Any, state: State, context: LoadContext) -> None:
    _maxent_from_state(model, state, context)
    if np.ndim(getattr(model, "n_iter_", ())) == 0:  # a number in files of earlier versions
        model.n_iter_ = np.array([model.n_iter_], np.int32)


def _search_to_state(model: Any, packing: Packing) -> State:
    """Without the weights of the fits on the way, of which there are as many times the model's as fits."""
    return _maxent_to_state(model, packing) | report_to_state(model, packing, *SEARCH) | without_legacy(model)


def _search_from_state(model: Any, state: State, context: LoadContext) -> None:
    report_from_state(model, state, *SEARCH)
    _maxent_from_state(model, state, context)
    if given(model.use_legacy_attributes, False):
        as_legacy(model)


def _svm_to_state(model: Any, packing: Packing) -> State:
    model._check_fitted()
    state = report_to_state(model, packing) | {"coef": _packed(model.coef_, packing)}
    state |= {"intercept": np.asarray(model.intercept_, np.float64), "classes": model.classes_}
    state |= container_to_state(model)
    if not packing.serving and getattr(model, "_dual", None) is not None:
        state["dual"] = [_copied(held) for held in model._dual[1]]
    return state


def _copied(held: ScratchArray) -> Any:
    with held.map() as array:
        return array.copy()


def _svm_from_state(model: Any, state: State, context: LoadContext) -> None:
    dual = state.pop("dual", None)
    _maxent_from_state(model, state, context)
    model._dual = _proved_dual(dual, model.coef_.shape[0])


def _proved_dual(dual: Any, width: int) -> tuple[list[int], list[ScratchArray]] | None:
    """The dual variables of each segment, for a warm start."""
    for alpha in dual or ():
        proved(alpha, "dual", np.float64, (None, width), FINITE)
    return None if dual is None else ([len(alpha) for alpha in dual], [ScratchArray(alpha) for alpha in dual])


def _batch_regressor_to_state(model: Any, packing: Packing) -> State:
    model._check_fitted()
    coef = model.coef_ if sp.issparse(model.coef_) else np.atleast_2d(model.coef_)
    state = report_to_state(model, packing) | {"coef": _packed(coef, packing), "n_targets": coef.shape[0]}
    intercept = np.asarray(model.intercept_, np.float64)
    return state | {"intercept": np.atleast_1d(intercept), "one_intercept": intercept.ndim == 0}


def _batch_regressor_from_state(model: Any, state: State, context: LoadContext) -> None:
    report_from_state(model, state)
    n_targets, one = state.pop("n_targets"), state.pop("one_intercept")
    if not isinstance(n_targets, int) or n_targets < 1 or not isinstance(one, bool):
        raise ValueError("n_targets must be a number from 1, one_intercept True or False")
    coef = _weights(state, context, {n_targets})
    intercept = _intercept(state, 1 if one else n_targets)
    reject_unknown(state)
    model.coef_ = coef if sp.issparse(coef) or n_targets > 1 else coef[0]
    model.intercept_, model.n_features_in_ = float(intercept[0]) if one else intercept, coef.shape[1]


def _ridge_to_state(model: Any, packing: Packing) -> State:
    return _batch_regressor_to_state(model, packing) | {"solver": model.solver_}


def _ridge_from_state(model: Any, state: State, context: LoadContext) -> None:
    solver = state.pop("solver")
    if solver not in SOLVERS:
        raise ValueError(f"solver {solver!r:.60}, which Ridge does not have")
    _batch_regressor_from_state(model, state, context)
    model.solver_ = solver


def _svr_to_state(model: Any, packing: Packing) -> State:
    state = _batch_regressor_to_state(model, packing)
    if not packing.serving and getattr(model, "_dual", None) is not None:
        state["dual"] = [_copied(held) for held in model._dual[1]]
    return state


def _svr_from_state(model: Any, state: State, context: LoadContext) -> None:
    dual = state.pop("dual", None)
    _batch_regressor_from_state(model, state, context)
    model._dual = _proved_dual(dual, 1)


def _candidates_to_state(model: Any, packing: Packing) -> State:
    model._check_fitted()
    return report_to_state(model, packing) | {"coef": _packed(model.coef_, packing)}


def _candidates_from_state(model: Any, state: State, context: LoadContext) -> None:
    report_from_state(model, state)
    coef = _weights(state, context, {1})
    reject_unknown(state)
    model.coef_, model.n_features_in_ = coef, coef.shape[1]


# A lexicon


def _lexicon_to_state(model: Any, packing: Packing) -> State:
    model._check_fitted()
    state = {
        "coef": packing.pack(model._weights, copies=IN_FLOAT64),
        "classes": model.classes_,
        "prior": model.class_prior_,
    }
    state["unknown_words_"] = model.unknown_words_
    if model.vectorizer is not None and model.vectorizer_ is not model.vectorizer:
        state["vectorizer_"] = model.vectorizer_
    return state


def _lexicon_from_state(model: Any, state: State, context: LoadContext) -> None:
    classes, prior = proved_labels(state.pop("classes")), state.pop("prior")
    weights = unpack(state.pop("coef"), context, copies=IN_FLOAT64)
    vectorizer, words = state.pop("vectorizer_", model.vectorizer), state.pop("unknown_words_")
    reject_unknown(state)
    if sp.issparse(weights) or weights.shape[1] != len(classes) or prior.shape != (len(classes),):
        raise ValueError(f"coef and prior must be of the {len(classes)} labels, and coef dense")
    if (vectorizer is None) != (model.vectorizer is None) or not hasattr(vectorizer or model, "get_params"):
        raise ValueError("vectorizer_ must be an estimator where there is a vectorizer, and None otherwise")
    model._weights, model.classes_, model.class_prior_ = np.asarray(weights, np.float64), classes, prior
    model.unknown_words_, model.n_features_in_ = words, len(weights)
    if vectorizer is not None:
        model.vectorizer_ = vectorizer


def _centroids_to_state(model: Any, packing: Packing) -> State:
    model._check_fitted()
    moments = model._fitted.moments
    centroids = packing.pack(moments.centroids, copies=IN_FLOAT64)
    state = {"classes": model.classes_, "rows": moments.rows, "scatter": moments.scatter, "mean": moments.mean}
    return state | {"centroids": centroids}


def _centroids_from_state(model: Any, state: State, context: LoadContext) -> None:
    classes = proved_labels(state.pop("classes"))
    centroids = unpack(state.pop("centroids"), context, copies=IN_FLOAT64)
    rows = proved(state.pop("rows"), "rows", np.float64, (len(classes),), COUNTS).copy()
    scatter = proved(state.pop("scatter"), "scatter", np.float64, (None,), COUNTS).copy()
    mean = proved(state.pop("mean"), "mean", np.float64, scatter.shape, FINITE).copy()
    reject_unknown(state)
    if sp.issparse(centroids) or centroids.dtype.kind != "f" or centroids.shape != (len(mean), len(classes)):
        raise ValueError(f"centroids must be dense floats of {len(mean)} features and {len(classes)} labels")
    centroids = np.ascontiguousarray(centroids, np.float64)
    model._install(classes, ClassMoments(rows, centroids, scatter, mean))


ONLINE = ModelCodec(_online_to_state, _online_from_state)
LOGISTIC = ModelCodec(_maxent_to_state, _logistic_from_state)
CODECS = {
    "fastlin.AROWClassifier": ONLINE,
    "fastlin.CandidateClassifier": ModelCodec(_candidates_to_state, _candidates_from_state),
    "fastlin.LexiconClassifier": ModelCodec(_lexicon_to_state, _lexicon_from_state),
    "fastlin.LinearSVC": ModelCodec(_svm_to_state, _svm_from_state),
    "fastlin.LinearSVR": ModelCodec(_svr_to_state, _svr_from_state),
    "fastlin.LogisticRegression": LOGISTIC,
    "fastlin.LogisticRegressionCV": ModelCodec(_search_to_state, _search_from_state),
    "fastlin.MIRAClassifier": ONLINE,
    "fastlin.PassiveAggressiveClassifier": ONLINE,
    "fastlin.NearestCentroid": ModelCodec(_centroids_to_state, _centroids_from_state),
    "fastlin.Perceptron": ONLINE,
    "fastlin.Ridge": ModelCodec(_ridge_to_state, _ridge_from_state),
    "fastlin.SGDClassifier": ONLINE,
    "fastlin.SGDRegressor": ModelCodec(_online_to_state, _regressor_from_state),
}
