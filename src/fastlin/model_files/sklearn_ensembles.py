"""What a model file holds of scikit-learn's estimators of estimators: those that were fitted, and how they are joined.

Objects that scikit-learn keeps private are made by itself, from a fit to nothing or a few rows: what the file says of
them are models of the table, numbers and words.
"""

import functools
import warnings
from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.dummy import DummyClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.multiclass import OneVsRestClassifier
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from fastlin.model_files.classes import name_of
from fastlin.model_files.sklearn_learners import set_classes
from fastlin.storage.fields import FINITE, RISING, proved
from fastlin.storage.load_context import LoadContext
from fastlin.storage.model_codec import ModelCodec, State, reject_unknown
from fastlin.storage.state_arrays import proved_labels
from fastlin.storage.weight_packing import Packing
from fastlin.validation.parameter_kinds import (
    ABSENT,
    FLAG,
    JOBS,
    LABEL_WEIGHTS,
    NUMBERS,
    SEARCHED,
    Integer,
    Kind,
    OneOf,
    ParameterTable,
    Real,
    estimator,
)

_BYTES_PER_COLUMN = 200  # of a fit of a ColumnTransformer to one row
_FEW_ROWS = np.array([[0.0], [1.0], [2.0], [3.0]])  # from which scikit-learn makes its private objects
_THRESHOLDS = ("X_thresholds_", "y_thresholds_")


def _proved_model(value: Any, *methods: str) -> Any:
    """A model of the table with these methods."""
    if name_of(value) is None or not all(callable(getattr(value, method, None)) for method in methods):
        raise ValueError(f"a {type(value).__name__} where a model with {' and '.join(methods)} is wanted")
    return value


def _of_labels(value: Any, n_labels: int) -> Any:
    """A model that predicts labels below this number, or anything else that is no label."""
    classes = np.asarray(getattr(_proved_model(value, "predict"), "classes_", ()))
    if classes.size and (classes.dtype.kind not in "biu" or not 0 <= classes.min() <= classes.max() < n_labels):
        raise ValueError(f"a member of other labels than the {n_labels} there are")
    return value


# Columns, each with a transformer of its own


def _columns_to_state(model: Any, _: Packing) -> State:
    check_is_fitted(model)
    given = {name: transformer for name, transformer, _ in model.transformers} | {"remainder": model.remainder}
    kept = []
    for name, transformer, _ in model.transformers_:
        passes = given[name] == "passthrough" and transformer != "drop"
        as_given = transformer is given[name] or isinstance(transformer, str)
        kept.append([name, "passthrough" if passes else None if as_given else transformer])
    return {"transformers": kept, "sparse": bool(model.sparse_output_), "output": dict(model.output_indices_)}


def _columns_from_state(model: Any, state: State, context: LoadContext) -> None:
    """What scikit-learn notes of the columns is noted by a fit to one row, with nothing to be learnt."""
    kept, sparse, output = state.pop("transformers"), state.pop("sparse"), state.pop("output")
    reject_unknown(state)
    context.take(_BYTES_PER_COLUMN * model.n_features_in_, "the columns of a ColumnTransformer")
    passing = {name for name, transformer in kept if isinstance(transformer, str)}
    shell = ColumnTransformer(
        [(name, "passthrough" if name in passing else "drop", columns) for name, _, columns in model.transformers],
        remainder="passthrough" if "remainder" in passing else "drop",
    )
    shell.fit(_row_of(model))
    names = [name for name, _, _ in shell.transformers_]
    if [name for name, _ in kept] != names:
        raise ValueError(f"transformers must be those of {names}")
    if type(sparse) is not bool or not _are_slices(output, set(names) | {"remainder"}):
        raise ValueError("sparse must be True or False, and output the columns of each transformer")
    given = {name: transformer for name, transformer, _ in model.transformers} | {"remainder": model.remainder}
    found = []
    for (name, learnt), (_, made, columns) in zip(kept, shell.transformers_, strict=True):
        if isinstance(learnt, str) or learnt is None:
            transformer = made if learnt == "passthrough" else given[name]
        else:
            transformer = _proved_model(learnt, "transform")
        found.append((name, transformer, columns))
    shell._remainder = ("remainder", model.remainder, shell._remainder[2])
    vars(model).update({name: value for name, value in vars(shell).items() if name not in shell.get_params(deep=False)})
    model.transformers_, model.sparse_output_, model.output_indices_ = found, sparse, output


def _row_of(model: Any) -> Any:
    row, names = np.zeros((1, model.n_features_in_)), getattr(model, "feature_names_in_", None)
    if names is None:
        return row
    import pandas

    return pandas.DataFrame(row, columns=names)


def _are_slices(output: Any, names: set[str]) -> bool:
    return isinstance(output, dict) and set(output) <= names and all(
        isinstance(columns, slice) and {type(columns.start), type(columns.stop)} == {int} and columns.step is None
        for columns in output.values()
    )  # fmt: skip


# One against the rest


def _rest_to_state(model: Any, _: Packing) -> State:
    """A label that all rows have, or none, has a number in the place of a model."""
    check_is_fitted(model)
    constant = _constant_kind()
    kept = [bool(one.y_[0] > 0) if isinstance(one, constant) else one for one in model.estimators_]
    return {"estimators": kept, "binarizer": model.label_binarizer_}


def _rest_from_state(model: Any, state: State, _: LoadContext) -> None:
    kept, binarizer = state.pop("estimators"), state.pop("binarizer")
    reject_unknown(state)
    if name_of(binarizer) != "sklearn.preprocessing.LabelBinarizer" or not hasattr(binarizer, "classes_"):
        raise ValueError("no labels")
    n_labels = len(binarizer.classes_)
    if len(kept) != (1 if n_labels == 2 and binarizer.y_type_ == "binary" else n_labels):
        raise ValueError(f"{len(kept)} models for {n_labels} labels")
    found = [_constant(one) if isinstance(one, bool) else _of_labels(one, 2) for one in kept]
    model.estimators_, model.label_binarizer_ = found, binarizer
    set_classes(model, binarizer.classes_)
    n_features = getattr(found[0], "n_features_in_", None)
    if n_features is not None:
        model.n_features_in_ = n_features


def _constant(holds: bool) -> Any:
    """What scikit-learn has for a label that all rows have, or none."""
    made = _constant_kind()()
    made.y_ = np.array([int(holds)])
    return made


@functools.cache
def _constant_kind() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the label that all rows have
        shell = OneVsRestClassifier(DummyClassifier()).fit(_FEW_ROWS, np.array([[0, 1]] * len(_FEW_ROWS)))
    return type(shell.estimators_[0])


# Calibration


def _calibrated_to_state(model: Any, _: Packing) -> State:
    check_is_fitted(model)
    members = [
        [member.estimator, *map(_described_curve, member.calibrators)] for member in model.calibrated_classifiers_
    ]
    return {"members": members, "classes": model.classes_}


def _described_curve(curve: Any) -> Any:
    """A model of the table, which IsotonicRegression is, or the numbers of a private one."""
    return _numbers_of(curve) if name_of(curve) is None else curve


def _numbers_of(curve: Any) -> dict[str, float]:
    """What a sigmoid has learnt, or a temperature."""
    return {name: float(value) for name, value in vars(curve).items() if name in ("a_", "b_", "beta_")}


def _calibrated_from_state(model: Any, state: State, _: LoadContext) -> None:
    members, classes = state.pop("members"), proved_labels(state.pop("classes"))
    reject_unknown(state)
    kind, curve_kind = _calibrated_kinds(model.method)
    found = []
    for base, *curves in members:
        labels = np.asarray(getattr(_proved_model(base, "predict"), "classes_", ()))
        alone = len(classes) == 2 or model.method == "temperature"  # one curve for all labels
        if len(curves) != (1 if alone else len(labels)) or (alone and len(labels) != len(classes)):
            raise ValueError(f"{len(curves)} curves for {len(labels)} labels")
        if model.method != "temperature" and not set(labels.tolist()) <= set(classes.tolist()):
            raise ValueError("a member that knows other labels")
        made = [_restored_curve(curve, curve_kind) for curve in curves]
        found.append(kind(base, made, classes=classes, method=model.method))
    if not found:
        raise ValueError("no members")
    model.calibrated_classifiers_, model.classes_ = found, classes
    n_features = getattr(found[0].estimator, "n_features_in_", None)
    if n_features is not None:
        model.n_features_in_ = n_features


def _restored_curve(curve: Any, kind: Any) -> Any:
    if not isinstance(curve, dict):
        if type(curve) is not kind or not hasattr(curve, "X_thresholds_"):
            raise ValueError(f"a {type(curve).__name__} in the place of a curve")
        return curve
    made = kind()
    wanted = _numbers_of(kind().fit(_FEW_ROWS[:, 0], np.array([0, 0, 1, 1])))
    if set(curve) != set(wanted) or not all(type(value) is float and np.isfinite(value) for value in curve.values()):
        raise ValueError(f"a curve of {sorted(curve)}")
    vars(made).update({name: np.float64(value) for name, value in curve.items()})
    return made


@functools.cache
def _calibrated_kinds(method: str) -> Any:
    """The classes of a calibrated member and of its curves."""
    labels = np.array([0, 0, 1, 1])
    shell = CalibratedClassifierCV(FrozenEstimator(DummyClassifier().fit(_FEW_ROWS, labels)), method=method, cv=2)
    member = shell.fit(_FEW_ROWS, labels).calibrated_classifiers_[0]
    return type(member), type(member.calibrators[0])


def _isotonic_to_state(model: Any, _: Packing) -> State:
    check_is_fitted(model)
    names = ("X_min_", "X_max_", "increasing_", *_THRESHOLDS)
    return {name: vars(model)[name] for name in names}


def _isotonic_from_state(model: Any, state: State, _: LoadContext) -> None:
    """The function between the thresholds is made by scikit-learn, as when a pickle is read."""
    n = len(state["X_thresholds_"])
    dtype = state["X_thresholds_"].dtype
    proved(state["X_thresholds_"], "X_thresholds_", dtype, (n,), FINITE, RISING)
    proved(state["y_thresholds_"], "y_thresholds_", dtype, (n,), FINITE)
    bounds = state["X_min_"], state["X_max_"]
    if dtype.kind != "f" or not n or not all(isinstance(bound, float | np.floating) for bound in bounds):
        raise ValueError("thresholds and bounds must be numbers")
    if not FLAG.allows(state["increasing_"]):
        raise ValueError("increasing_ must be True or False")
    reject_unknown(state, "X_min_", "X_max_", "increasing_", *_THRESHOLDS)
    model.__setstate__(model.__getstate__() | state)


# Votes


def _votes_to_state(model: Any, _: Packing) -> State:
    check_is_fitted(model)
    return {"estimators": list(model.estimators_), "encoder": model.le_}


def _votes_from_state(model: Any, state: State, _: LoadContext) -> None:
    kept, encoder = state.pop("estimators"), state.pop("encoder")
    reject_unknown(state)
    if name_of(encoder) != "sklearn.preprocessing.LabelEncoder" or not hasattr(encoder, "classes_"):
        raise ValueError("no labels")
    voting = [name for name, given in model.estimators if given != "drop"]
    if len(kept) != len(voting) or not kept:
        raise ValueError(f"{len(kept)} models for {len(voting)} votes")
    model.estimators_ = [_of_labels(one, len(encoder.classes_)) for one in kept]
    by_name = dict(zip(voting, kept, strict=True))
    model.named_estimators_ = Bunch(**{name: by_name.get(name, "drop") for name, _ in model.estimators})
    model.le_, model.classes_ = encoder, encoder.classes_


# Labels, and what is not fitted again


def _binarizer_to_state(model: Any, _: Packing) -> State:
    return {name: vars(model)[name] for name in ("classes_", "y_type_", "sparse_input_") if name in vars(model)}


def _binarizer_from_state(model: Any, state: State, _: LoadContext) -> None:
    if not state:
        return
    classes, kind, sparse = proved_labels(state.pop("classes_")), state.pop("y_type_"), state.pop("sparse_input_")
    reject_unknown(state)
    if kind not in ("binary", "multiclass", "multilabel-indicator") or type(sparse) is not bool:
        raise ValueError("y_type_ must be a kind of labels, and sparse_input_ True or False")
    if (kind == "binary" and len(classes) > 2) or (kind == "multiclass" and len(classes) < 3):
        raise ValueError(f"{len(classes)} labels are not {kind}")
    model.classes_, model.y_type_, model.sparse_input_ = classes, kind, sparse


def _nothing_from_state(_: Any, state: State, __: LoadContext) -> None:
    reject_unknown(state)


# Parameters


def _is_column(value: Any) -> bool:
    return isinstance(value, str | np.str_ | int | np.integer) and not isinstance(value, bool)


def _are_columns(value: Any) -> bool:
    if isinstance(value, slice):
        return all(part is None or _is_column(part) for part in (value.start, value.stop, value.step))
    if isinstance(value, np.ndarray):
        return value.ndim == 1 and _are_columns(value.tolist())
    if isinstance(value, list | tuple):
        return all(_is_column(item) or isinstance(item, bool | np.bool_) for item in value)
    return _is_column(value)


_TRANSFORMER = OneOf("drop", "passthrough") | estimator("fit", "transform")
_BY_COLUMNS = Kind(
    lambda value: isinstance(value, list) and all(
        isinstance(entry, tuple | list) and len(entry) == 3 and isinstance(entry[0], str)
        and _TRANSFORMER.allows(entry[1]) and _are_columns(entry[2])
        for entry in value
    ),
    "triples of a name, a transformer and its columns, named or numbered: no function that chooses them",
)  # fmt: skip
_VOTERS = Kind(
    lambda value: isinstance(value, list) and all(
        isinstance(entry, tuple | list) and len(entry) == 2 and isinstance(entry[0], str)
        and (OneOf("drop") | estimator("fit", "predict")).allows(entry[1])
        for entry in value
    ),
    "pairs of a name and a classifier",
)  # fmt: skip
_LEARNER = estimator("fit")
PARAMETERS: dict[str, ParameterTable] = {
    "sklearn.calibration.CalibratedClassifierCV": {
        "estimator": _LEARNER | ABSENT, "method": OneOf("sigmoid", "isotonic", "temperature"),
        "cv": SEARCHED["cv"] | OneOf("prefit"), "n_jobs": JOBS, "ensemble": FLAG | OneOf("auto"),
    },
    "sklearn.compose.ColumnTransformer": {
        "transformers": _BY_COLUMNS, "remainder": _TRANSFORMER, "sparse_threshold": Real(), "n_jobs": JOBS,
        "transformer_weights": LABEL_WEIGHTS | ABSENT, "verbose": FLAG, "verbose_feature_names_out": FLAG,
        "force_int_remainder_cols": FLAG | OneOf("deprecated"),
    },
    "sklearn.ensemble.VotingClassifier": {
        "estimators": _VOTERS, "voting": OneOf("hard", "soft"), "weights": NUMBERS | ABSENT, "n_jobs": JOBS,
        "flatten_transform": FLAG, "verbose": FLAG,
    },
    "sklearn.frozen.FrozenEstimator": {"estimator": _LEARNER},
    "sklearn.isotonic.IsotonicRegression": {
        "y_min": Real() | ABSENT, "y_max": Real() | ABSENT, "increasing": FLAG | OneOf("auto"),
        "out_of_bounds": OneOf("nan", "clip", "raise"),
    },
    "sklearn.multiclass.OneVsRestClassifier": {
        "estimator": _LEARNER, "n_jobs": JOBS, "verbose": FLAG | Integer(at_least=0),
    },
    "sklearn.preprocessing.LabelBinarizer": {
        "neg_label": Integer(at_least=-(2**31)), "pos_label": Integer(at_least=-(2**31)), "sparse_output": FLAG,
    },
}  # fmt: skip

CODECS = {
    "sklearn.calibration.CalibratedClassifierCV": ModelCodec(_calibrated_to_state, _calibrated_from_state),
    "sklearn.compose.ColumnTransformer": ModelCodec(_columns_to_state, _columns_from_state),
    "sklearn.ensemble.VotingClassifier": ModelCodec(_votes_to_state, _votes_from_state),
    "sklearn.frozen.FrozenEstimator": ModelCodec(lambda _, __: {}, _nothing_from_state),
    "sklearn.isotonic.IsotonicRegression": ModelCodec(_isotonic_to_state, _isotonic_from_state),
    "sklearn.multiclass.OneVsRestClassifier": ModelCodec(_rest_to_state, _rest_from_state),
    "sklearn.preprocessing.LabelBinarizer": ModelCodec(_binarizer_to_state, _binarizer_from_state),
}
