"""Models in one file: weights, vectoriser and labels, so that raw text comes in and a label out."""

import inspect
import os
import warnings
from dataclasses import dataclass
from typing import Any, TypeVar, overload

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator

from fastlin.core.sparse_output import FRAMES
from fastlin.model_files.classes import (
    best_of,
    class_of,
    current_parameters,
    function_of,
    is_copied,
    name_of,
    name_of_function,
    parameters_of,
)
from fastlin.runtime.collection_pause import paused_collection
from fastlin.storage.archive import Arrays, read_archive, write_archive
from fastlin.storage.json_values import JsonDecoder, JsonEncoder
from fastlin.storage.load_context import LoadContext, ModelFileError
from fastlin.storage.model_codec import ModelCodec
from fastlin.storage.weight_packing import Packing
from fastlin.validation import MAX_COLUMNS, one_of
from fastlin.validation.parameter_kinds import LEFT_OUT, check_parameter_of_file
from fastlin.version import __version__

KIND = "model"
Model = TypeVar("Model")
OUTPUT = "set_output"  # the container that a transformer was told to make
COLUMNS = "n_features_in_", "feature_names_in_", "svmlight_first_index_"  # what any class may know of them


def save(
    model: Any, path: Any, *, dtype: Any = None, prune: float = 0.0, X: Any = None, y: Any = None
) -> dict[str, Any]:
    """Write a model to one file, from which `load` brings it back.

    The file appears whole, in the place of an old one, or not at all. It holds numbers, strings and names of classes,
    and no code. By default it holds everything, so that a loaded model goes on learning with the same bits.

    Parameters
    ----------
    model : estimator
        Any learner, vectoriser or transformer of fastlin; scikit-learn's linear learners, simple transformers, and
        Pipeline, FeatureUnion, ColumnTransformer, OneVsRestClassifier, CalibratedClassifierCV and VotingClassifier of
        all these. A GridSearchCV or RandomizedSearchCV goes into a file as its best estimator.
    path : str or path
    dtype : {None, "float16", "float32", "float64", "int8"}
        Not None: a file for serving, its weights in this type and without what only learning needs. Quantised weights
        come back as float32.
    prune : float
        Weights up to this size are left out; above 0, a file for serving.
    X, y : optional
        Rows or texts, and their labels, or a `Corpus` as X: to measure what the file costs in accuracy.

    Returns
    -------
    dict
        bytes; weights, how many of them are not zero; pruned, how many were left out; left_out, the names of
        parameters that no file holds (the memory of a pipeline), where there are any: a warning tells, too; with X and
        y, accuracy (of a regressor R²) and accuracy_saved, that of the model as it is loaded from the file.

    Examples
    --------
    >>> import fastlin, os, tempfile
    >>> model = fastlin.Perceptron().fit([[1, 0], [0, 1]], ["a", "b"])
    >>> path = os.path.join(tempfile.mkdtemp(), "model.fastlin")
    >>> report = fastlin.save(model, path)
    >>> fastlin.load(path).predict([[1, 0]]).tolist()
    ['a']
    """
    if (y is None) != (X is None or hasattr(X, "segments")):
        raise ValueError("X and y must be given together, or a Corpus, which brings its labels, as X")
    model = best_of(model)
    if X is not None and not hasattr(model, "score"):
        raise TypeError(f"X and y measure accuracy, and {type(model).__name__} predicts no labels")
    packing = Packing(dtype, prune)
    header, arrays = describe_model(model, packing)
    report: dict[str, Any] = {"bytes": write_archive(path, KIND, header, arrays)}
    report |= {"weights": packing.weights, "pruned": packing.pruned}
    if packing.left_out:
        report["left_out"] = packing.left_out
        warnings.warn(f"{', '.join(packing.left_out)}: left out of the file, which names no folder", stacklevel=2)
    if X is not None:
        report |= {"accuracy": float(model.score(X, y)), "accuracy_saved": float(load(path).score(X, y))}
    return report


@overload
def load(
    path: Any, kind: type[Model], *, mmap: bool = True, verify: bool = True, max_bytes: int | None = None
) -> Model: ...
@overload
def load(
    path: Any, kind: None = None, *, mmap: bool = True, verify: bool = True, max_bytes: int | None = None
) -> Any: ...
def load(
    path: Any, kind: type | None = None, *, mmap: bool = True, verify: bool = True, max_bytes: int | None = None
) -> Any:
    """The model that a file holds, once every byte of it is proved.

    Parameters
    ----------
    path : str or path
    kind : class, optional
        What the model must be, as `Pipeline`: type checkers know then what is returned.
    mmap : bool
        Large arrays stay in the file, mapped read-only, and are shared by all processes that load it; False reads them
        into memory. A mapped file must not be changed in place; `save` never does.
    verify : bool
        False leaves out the digests and the look at every weight, for a file that was verified before; never the
        shapes.
    max_bytes : int, optional
        Memory that the file may take, besides what stays mapped; more is refused before it is taken. None: 64 MB and
        100 times the size of the file, of which its JSON may take 576 MB.

    Returns
    -------
    estimator

    Raises
    ------
    ModelFileError
        The file is damaged, not one that `save` wrote, or asks for more memory than it may take.
    OSError
        It cannot be read.
    TypeError
        It holds a model of another class than `kind`.
    """
    context = LoadContext(verify, max_bytes)
    with paused_collection():
        header, arrays = read_archive(path, KIND, mmap=mmap, context=context)
        try:
            model = restore_model(header, arrays, context)
        except ModelFileError as error:
            raise ModelFileError(f"{os.fspath(path)}: {error}") from None
    if kind is not None and not isinstance(model, kind):
        raise TypeError(f"{os.fspath(path)} holds a {type(model).__name__}, and kind asks for a {kind.__name__}")
    return model


def describe_model(model: Any, packing: Packing) -> tuple[dict[str, Any], Arrays]:
    """What a file holds of a model: a header of JSON's types, and arrays.

    Parameters
    ----------
    model : estimator
        Of a class that files know.
    packing : Packing
        How weights are kept; it counts them.

    Returns
    -------
    (dict, dict of str to array)
    """
    encoder = JsonEncoder(lambda value, name: _described(value, name, encoder, packing))
    described = _described(model, type(model).__name__, encoder, packing)
    if "model" not in described:
        raise TypeError(f"a function by itself is no model: {model.__name__}")
    if packing.serving and not packing.packed:
        raise ValueError(f"dtype and prune are for weights, of which this {type(model).__name__} has none")
    return {"model": described["model"], "fastlin": __version__}, encoder.arrays


def restore_model(header: dict[str, Any], arrays: Arrays, context: LoadContext) -> Any:
    """The model that `describe_model` described, once all of it is proved.

    Parameters
    ----------
    header : dict
    arrays : dict of str to array
    context : LoadContext
        How it is read.

    Returns
    -------
    estimator
    """
    decode = JsonDecoder(arrays, lambda kind, content: _restored(kind, content, decode, context), context)
    return _restored("model", header.get("model"), decode, context)


@dataclass(frozen=True)
class _Template:
    """A model that is fitted as a copy: what it is set to, and nothing that it may have learnt."""

    model: Any


def _as_templates(value: Any) -> Any:
    """A parameter with templates for its models, but for those that are copied with what they have learnt."""
    if isinstance(value, list | tuple):
        return type(value)(map(_as_templates, value))
    copied = hasattr(value, "get_params") and not isinstance(value, type | FrozenEstimator)
    return _Template(value) if copied else value


def _described(value: Any, name: str, encoder: JsonEncoder, packing: Packing) -> Any:
    """A model, or a function that one may have, as JSON."""
    if (function := name_of_function(value)) is not None:
        return {"function": function}
    template = isinstance(value, _Template)
    value = best_of(value.model if template else value)
    if (kind := name_of(value)) is None:
        what = f"{name} is a {type(value).__name__}"
        if isinstance(value, BaseEstimator):
            raise TypeError(f"{what}, a class that model files do not know")
        if callable(value):
            raise TypeError(f"{name} is a function: model files hold no code; set it to None before saving")
        raise TypeError(f"{what}, which does not go into a model file: {value!r:.80}")
    if template:
        parameters = _described_parameters(value, kind, name, encoder, packing, copied=True)
        return {"unfitted": {"class": kind, "parameters": parameters}}
    codec = class_of(kind)[1]
    if hasattr(type(value), "_lasting"):
        value = value._lasting()  # of one moment
    parameters = _described_parameters(value, kind, name, encoder, packing)
    learnt = codec.to_state(value, packing)
    learnt |= {key: vars(value)[key] for key in COLUMNS if key in vars(value)}
    if (chosen := vars(value).get("_sklearn_output_config", {}).get("transform")) is not None:
        learnt[OUTPUT] = chosen
    state = {key: encoder(item, f"{name}.{key.strip('_')}") for key, item in learnt.items()}
    return {"model": {"class": kind, "parameters": parameters, "learnt": state}}


def _described_parameters(
    model: Any, kind: str, name: str, encoder: JsonEncoder, packing: Packing, copied: bool = False
) -> dict[str, Any]:
    """The parameters of a model as JSON, each of a kind that may be loaded again."""
    table, described = parameters_of(kind), {}
    for key, item in model.get_params(deep=False).items():
        if table.get(key) is LEFT_OUT and item is not None:
            packing.left_out.append(f"{name}.{key}")
        elif key in table or not _is_default(model, key, item):  # of a later version of a peer, perhaps
            item_ = _as_templates(item) if copied or is_copied(kind, key) else item
            described[key] = encoder(item_, f"{name}.{key}")
            check_parameter_of_file(table, name, key, item)
    return described


def _is_default(model: Any, name: str, value: Any) -> bool:
    """Whether a new model has this value of a parameter."""
    default = inspect.signature(type(model)).parameters[name].default
    return default is value or (isinstance(value, bool | int | float | str) and default == value)


def _restored(kind: str, content: Any, decode: JsonDecoder, context: LoadContext) -> Any:
    """What `_described` said."""
    if kind == "function":
        return function_of(content)
    if kind not in ("model", "unfitted"):
        raise ModelFileError(f"a value of the unknown kind {kind[:40]!r}")
    wanted = {"class", "parameters"} | ({"learnt"} if kind == "model" else set())
    if not isinstance(content, dict) or set(content) != wanted:
        raise ModelFileError("no model")
    found, codec = class_of(content["class"])
    parameters, learnt = content["parameters"], content.get("learnt", {})
    if not isinstance(parameters, dict) or not isinstance(learnt, dict):
        raise ModelFileError("no model")
    parameters = current_parameters(content["class"], parameters)
    if not set(parameters) <= set(found._get_param_names()):
        raise ModelFileError(f"parameters that {found.__name__} does not have")
    try:
        decoded = {name: decode(value) for name, value in parameters.items()}
        for name, value in decoded.items():
            check_parameter_of_file(parameters_of(content["class"]), found.__name__, name, value)
        model = found(**decoded)
        if kind == "model":
            _restore_learnt(model, {name: decode(value) for name, value in learnt.items()}, codec, context)
    except (ModelFileError, OSError):
        raise
    except Exception as error:  # whatever a class makes of arrays and parameters that it did not write itself
        raise ModelFileError(f"no {found.__name__} is like this: {error!r:.300}") from None
    return model


def _restore_learnt(model: Any, state: dict[str, Any], codec: ModelCodec, context: LoadContext) -> None:
    columns = {name: state.pop(name) for name in COLUMNS if name in state}
    output = state.pop(OUTPUT, None)
    _set_columns(model, **columns)
    codec.from_state(model, state, context)
    if output is not None:
        model.set_output(transform=one_of(OUTPUT, output, ("default", *FRAMES)))
    if "n_features_in_" in columns and model.n_features_in_ != columns["n_features_in_"]:
        raise ValueError("columns that are not those of what was learnt")
    if "feature_names_in_" in columns and np.shape(model.feature_names_in_) != (model.n_features_in_,):
        raise ValueError(f"names of {np.shape(model.feature_names_in_)} columns of {model.n_features_in_}")


def _set_columns(
    model: Any, n_features_in_: Any = None, feature_names_in_: Any = None, svmlight_first_index_: Any = None
) -> None:
    """How many columns there are, their names, and the index of the first in svmlight's files."""
    if svmlight_first_index_ is not None:
        if type(svmlight_first_index_) is not int or svmlight_first_index_ not in (0, 1):
            raise ValueError(f"{svmlight_first_index_!r} is the index of no first column")
        model.svmlight_first_index_ = svmlight_first_index_
    if n_features_in_ is not None:
        if type(n_features_in_) is not int or not 0 <= n_features_in_ <= MAX_COLUMNS:
            raise ValueError(f"{n_features_in_!r} columns")
        model.n_features_in_ = n_features_in_
    if feature_names_in_ is not None:
        if n_features_in_ is not None and np.shape(feature_names_in_) != (n_features_in_,):
            raise ValueError(f"names of {np.shape(feature_names_in_)} columns, of which there are {n_features_in_}")
        model.feature_names_in_ = feature_names_in_
