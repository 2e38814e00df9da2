"""The table of the classes that a model file may hold, each with the codec of what it learns: nothing else is."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fastlin.storage.load_context import LoadContext, ModelFileError
from fastlin.storage.parameters import ParameterTable
from fastlin.storage.weight_packing import Packing

State = dict[str, Any]


@dataclass(frozen=True)
class ModelCodec:
    """Conversion of what the models of a class have learnt to a state, and back.

    `to_state` returns it as plain values, arrays and other models. `from_state` proves such a state and lets a new
    model of the same parameters have it; ValueError, TypeError, KeyError: there is no such model.
    """

    to_state: Callable[[Any, Packing], State]
    from_state: Callable[[Any, State, LoadContext], None]


# where codecs and tables of parameters are, a module's CODECS and PARAMETERS, and where the classes they keep
_CODEC_MODULES: dict[str, dict[str, tuple[str, ...]]] = {
    "fastlin.linear._codec": {
        "fastlin": (
            "CandidateClassifier", "LexiconClassifier", "LinearSVC", "LogisticRegression", "LogisticRegressionCV",
            "MIRAClassifier", "PassiveAggressiveClassifier", "Perceptron", "SGDClassifier",
        ),
    },
    "fastlin.naive_bayes._codec": {
        "fastlin": ("CategoricalNB", "MultinomialNB", "SemiSupervisedNB", "SemiSupervisedNBCV"),
    },
    "fastlin.mixture._codec": {"fastlin": ("MultinomialMixture",)},
    "fastlin.cluster._codec": {"fastlin": ("KMeans",)},
    "fastlin.text._codec": {
        "fastlin": (
            "Conjunctions", "CountVectorizer", "DictVectorizer", "DocumentFeatures", "Elementwise", "FeatureHasher",
            "HashingVectorizer", "LogCountRatio", "TfidfTransformer", "TfidfVectorizer",
        ),
        "fastlin.text.templates": ("Templates",),
    },
    "fastlin.select._codec": {"fastlin.select": ("CountCutoff", "SelectFeatures")},
    "fastlin.sequence._codec": {"fastlin.sequence": ("CRF", "HMM", "MEMM", "StructuredPerceptron")},
    "fastlin.lm.files": {"fastlin.lm": ("NgramModel",)},
    "fastlin.lm.estimate_files": {
        "fastlin.lm": (
            "Cache", "ClassBigramModel", "Interpolation", "LanguageModelClassifier", "MaxentLM", "WordClasses",
        ),
    },
    "fastlin.storage.sklearn_codecs": {
        "sklearn.decomposition": ("TruncatedSVD",),
        "sklearn.feature_extraction": ("DictVectorizer", "FeatureHasher"),
        "sklearn.feature_extraction.text": (
            "CountVectorizer", "HashingVectorizer", "TfidfTransformer", "TfidfVectorizer",
        ),
        "sklearn.feature_selection": ("SelectKBest", "SelectPercentile", "VarianceThreshold"),
        "sklearn.pipeline": ("FeatureUnion", "Pipeline"),
        "sklearn.preprocessing": ("Binarizer", "LabelEncoder", "MaxAbsScaler", "Normalizer", "StandardScaler"),
    },
}  # fmt: skip
_MODULES = {
    f"{module}.{name}": (module, name, room)
    for room, modules in _CODEC_MODULES.items()
    for module, names in modules.items()
    for name in names
}
# parameters that earlier versions wrote under another name: {class: {old name: new name}}
_RENAMED_PARAMETERS = {"fastlin.HashingVectorizer": {"names": "keep_names"}}
# functions that may be parameters
_FUNCTIONS = {
    f"{module}.{name}": (module, name)
    for module, names in {
        "fastlin.select": ("chi2", "information_gain"),
        "sklearn.feature_selection": ("chi2", "f_classif", "mutual_info_classif"),
    }.items()
    for name in names
}


def name_of(model: Any) -> str | None:
    """What the class of a model is called in a file; None: it does not go into one."""
    kind = type(model)
    for key, (module, name, _) in _MODULES.items():
        if name == kind.__name__ and _found(module, name) is kind:
            return key
    return None


def class_of(name: Any) -> tuple[Any, ModelCodec]:
    """The class that a file calls so, and its codec."""
    if not isinstance(name, str) or name not in _MODULES:
        raise ModelFileError(f"holds a {str(name)[:60]!r}, which this version does not know")
    module, kind, room = _MODULES[name]
    return _found(module, kind), importlib.import_module(room).CODECS[name]


def parameters_of(name: str) -> ParameterTable:
    """What a file may say of the parameters of a class that `class_of` knows."""
    table: ParameterTable = importlib.import_module(_MODULES[name][2]).PARAMETERS[name]
    return table


def current_parameters(name: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Parameters of a file, those of earlier versions under their present names."""
    renamed = _RENAMED_PARAMETERS.get(name, {})
    current = {renamed.get(key, key): value for key, value in parameters.items()}
    if len(current) < len(parameters):
        raise ModelFileError(f"a parameter of {name} under its old name and its new one")
    return current


def name_of_function(value: Any) -> str | None:
    """What a function is called in a file; None: it does not go into one."""
    name = getattr(value, "__name__", None)
    return next(
        (key for key, (module, kind) in _FUNCTIONS.items() if kind == name and _found(module, kind) is value), None
    )


def function_of(name: Any) -> Any:
    if not isinstance(name, str) or name not in _FUNCTIONS:
        raise ModelFileError(f"names a function that this version does not know: {str(name)[:60]!r}")
    return _found(*_FUNCTIONS[name])


def _found(module: str, name: str) -> Any:
    return getattr(importlib.import_module(module), name)


def attributes(*names: str) -> ModelCodec:
    """The codec that keeps attributes as they are: for what no kernel reads without looking."""

    def to_state(model: Any, _: Packing) -> State:
        return {name: vars(model)[name] for name in names if name in vars(model)}

    def from_state(model: Any, state: State, _: LoadContext) -> None:
        reject_unknown(state, *names)
        for name, value in state.items():
            setattr(model, name, value)

    return ModelCodec(to_state, from_state)


def or_unfitted(codec: ModelCodec) -> ModelCodec:
    """The codec of models that may be parameters of others: one that is not fitted is its parameters."""

    def to_state(model: Any, packing: Packing) -> State:
        return codec.to_state(model, packing) if model.__sklearn_is_fitted__() else {}

    def from_state(model: Any, state: State, context: LoadContext) -> None:
        if state:
            codec.from_state(model, state, context)

    return ModelCodec(to_state, from_state)


def reject_unknown(state: State, *names: str) -> None:
    """Refuse what a model of the class does not have."""
    unknown = set(state) - set(names)
    if unknown:
        raise ValueError(f"no model of its class has {min(unknown)!r:.60}")
