"""The classes that a model file may hold, each with its codec, and the functions that may be parameters.

Nothing else is loaded. Codecs are found by the names of the registry. This room is above all that have some, so that
whatever is imported here lies below.
"""

import importlib
from typing import Any

from fastlin.registry import CLASSES, FUNCTIONS
from fastlin.runtime.sklearn_import import import_sklearn
from fastlin.storage.load_context import ModelFileError
from fastlin.storage.model_codec import ModelCodec
from fastlin.validation.parameter_kinds import ParameterTable

# parameters that earlier versions wrote under another name: {class: {old name: new name}}
_RENAMED_PARAMETERS = {"fastlin.HashingVectorizer": {"names": "keep_names"}}

# parameters of scikit-learn's classes that some versions lack, and the values that change nothing there
_NEEDLESS: dict[str, tuple[Any, ...]] = {
    "clip": (False,),
    "force_int_remainder_cols": (True, False, "deprecated"),
    "multi_class": ("auto", "deprecated"),
    "use_legacy_attributes": (True, False, "warn"),
}
# parameters whose models are fitted as copies: a file has what they are set to, not what they may have learnt
_COPIED_PARAMETERS = {
    "sklearn.calibration.CalibratedClassifierCV": ("estimator",),
    "sklearn.compose.ColumnTransformer": ("transformers", "remainder"),
    "sklearn.ensemble.VotingClassifier": ("estimators",),
    "sklearn.multiclass.OneVsRestClassifier": ("estimator",),
}
_SEARCHES = "GridSearchCV", "RandomizedSearchCV", "HalvingGridSearchCV", "HalvingRandomSearchCV"


def name_of(model: Any) -> str | None:
    """What the class of a model is called in a file; None: it does not go into one."""
    kind = type(model)
    for key, (name, entry) in CLASSES.items():
        if name == kind.__name__ and _found(entry.module, name) is kind:
            return key
    return None


def is_copied(name: str, parameter: str) -> bool:
    """Whether a class fits copies of the models that a parameter holds."""
    return parameter in _COPIED_PARAMETERS.get(name, ())


def best_of(model: Any) -> Any:
    """The best estimator of a search, and any other model itself: what goes into a file."""
    kind = type(model)
    if kind.__name__ not in _SEARCHES or not kind.__module__.startswith("sklearn.model_selection."):
        return model
    if not hasattr(model, "best_estimator_"):
        raise TypeError(f"a {kind.__name__} goes into a file as its best estimator: fit it, with refit=True")
    return best_of(model.best_estimator_)


def class_of(name: Any) -> tuple[Any, ModelCodec]:
    """The class that a file calls so, and its codec."""
    if not isinstance(name, str) or name not in CLASSES:
        raise ModelFileError(f"holds a {str(name)[:60]!r}, which this version does not know")
    kind, entry = CLASSES[name]
    return _found(entry.module, kind), _found(entry.codec, "CODECS")[name]


def parameters_of(name: str) -> ParameterTable:
    """What a file may say of the parameters of a class that `class_of` knows."""
    kind, entry = CLASSES[name]
    if name.startswith("fastlin."):
        table: ParameterTable = _found(entry.module, kind)._parameters
    else:
        table = _found(entry.codec, "PARAMETERS")[name]
    return table


def current_parameters(name: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Parameters of a file as the installed versions know them."""
    renamed = _RENAMED_PARAMETERS.get(name, {})
    current = {renamed.get(key, key): value for key, value in parameters.items()}
    if len(current) < len(parameters):
        raise ModelFileError(f"a parameter of {name} under its old name and its new one")
    if name.startswith("fastlin."):
        return current
    known = set(class_of(name)[0]._get_param_names())
    return {key: value for key, value in current.items() if key in known or not _is_needless(key, value)}


def _is_needless(parameter: str, value: Any) -> bool:
    """Whether a class that lacks a parameter does what this value of it says."""
    return any(value is other or (isinstance(value, str) and value == other) for other in _NEEDLESS.get(parameter, ()))


def name_of_function(value: Any) -> str | None:
    """What a function is called in a file; None: it does not go into one."""
    name = getattr(value, "__name__", None)
    modules = (module for module, names in FUNCTIONS.items() if name in names)
    return next((f"{module}.{name}" for module in modules if _found(module, name) is value), None)


def function_of(name: Any) -> Any:
    module, _, kind = name.rpartition(".") if isinstance(name, str) else ("", "", "")
    if kind not in FUNCTIONS.get(module, ()):
        raise ModelFileError(f"names a function that this version does not know: {str(name)[:60]!r}")
    return _found(module, kind)


def _found(module: str | None, name: Any) -> Any:
    found = import_sklearn if str(module).startswith("sklearn.") else importlib.import_module
    return getattr(found(str(module)), name)
