"""Any model in one file of safetensors, a format that many languages read: its arrays by name, the rest as JSON."""

import json
import os
from typing import Any

from fastlin.model_files.classes import best_of
from fastlin.model_files.save_load import describe_model, restore_model
from fastlin.storage.load_context import LoadContext, ModelFileError
from fastlin.storage.safetensors import read_tensors, write_tensors
from fastlin.storage.weight_packing import Packing

MODEL = "fastlin.model"  # of the metadata: what `fastlin.save` writes beside the arrays


def write_safetensors(model: Any, path: Any, *, dtype: Any = None, prune: float = 0.0) -> dict[str, Any]:
    """Write a model to a file of safetensors, from which `read_safetensors` brings it back.

    Every array is a tensor with the name that it has in a model file, as "LogisticRegression.coef.values", [V, K]; the
    rest is JSON in the metadata. What the format has no type for (strings, records) is a tensor of bytes.

    Parameters
    ----------
    model : estimator
        Whatever `fastlin.save` takes.
    path : str or path
    dtype : {None, "float16", "float32", "float64", "int8"}
        As of `fastlin.save`: not None is for predictions only, with weights of this type.
    prune : float
        Weights up to this size are left out.

    Returns
    -------
    dict
        bytes of the file; weights, how many of them are not zero; pruned, how many were left out.

    Examples
    --------
    >>> import fastlin, os, tempfile
    >>> from fastlin.interchange import read_safetensors, write_safetensors
    >>> model = fastlin.Perceptron().fit([[1, 0], [0, 1]], ["a", "b"])
    >>> path = os.path.join(tempfile.mkdtemp(), "model.safetensors")
    >>> report = write_safetensors(model, path)
    >>> read_safetensors(path).predict([[1, 0]]).tolist()
    ['a']
    """
    packing = Packing(dtype, prune)
    header, arrays = describe_model(best_of(model), packing)
    n_bytes = write_tensors(path, arrays, {"format": "fastlin", MODEL: json.dumps(header, allow_nan=False)})
    return {"bytes": n_bytes, "weights": packing.weights, "pruned": packing.pruned}


def read_safetensors(path: Any, *, max_bytes: int | None = None) -> Any:
    """The model that `write_safetensors` wrote, once all of it is proved.

    Parameters
    ----------
    path : str or path
    max_bytes : int, optional
        Memory that the file may take, as of `fastlin.load`.

    Returns
    -------
    estimator

    Raises
    ------
    ModelFileError
        The file is damaged, or holds no model of fastlin's.
    OSError
        It cannot be read.
    """
    context = LoadContext(True, max_bytes)
    arrays, metadata = read_tensors(path, context)
    try:
        if MODEL not in metadata:
            raise ModelFileError(f"tensors without {MODEL!r} in their metadata are no model of fastlin's")
        context.take_json(metadata[MODEL].encode("utf-8", "surrogatepass"))
        try:
            header = json.loads(metadata[MODEL])
        except (ValueError, RecursionError) as error:
            raise ModelFileError(f"{MODEL} is no JSON: {error!s:.200}") from None
        if not isinstance(header, dict):
            raise ModelFileError(f"{MODEL} must be an object")
        return restore_model(header, arrays, context)
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)}: {error}") from None
