"""State of a model besides its arrays of numbers, as arrays that need no pickle."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

_HALF = 2**64 - 1


def export_generator(generator: np.random.Generator) -> dict[str, NDArray[np.uint64]]:
    """The state of a PCG64 as one array.

    Parameters
    ----------
    generator : Generator
        numpy's, with a PCG64.

    Returns
    -------
    dict of str to array
        `random`, six numbers.
    """
    held = generator.bit_generator.state
    state, increment = held["state"]["state"], held["state"]["inc"]
    words = [state >> 64, state & _HALF, increment >> 64, increment & _HALF]
    return {"random": np.array([*words, held["has_uint32"], held["uinteger"]], np.uint64)}


def restore_generator(arrays: dict[str, Any]) -> np.random.Generator:
    """The generator that `export_generator` described.

    Parameters
    ----------
    arrays : dict of str to array
        What `export_generator` returned, and whatever else.

    Returns
    -------
    Generator
        A new one.

    Raises
    ------
    ValueError
        If the numbers are no state.
    """
    words = np.asarray(arrays.get("random", ()))
    if words.dtype != np.uint64 or words.shape != (6,):
        raise ValueError("state['random'] must hold six uint64")
    high, low, inc_high, inc_low, has_uint32, uinteger = words.tolist()
    generator = np.random.Generator(np.random.PCG64(0))
    generator.bit_generator.state = {
        "bit_generator": "PCG64",
        "state": {"state": high << 64 | low, "inc": inc_high << 64 | inc_low},
        "has_uint32": int(has_uint32 > 0),
        "uinteger": uinteger & 0xFFFFFFFF,
    }
    return generator


def export_labels(classes: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Labels as an array that needs no pickle: objects are strings, or refuse.

    Parameters
    ----------
    classes : array of shape (n_labels,)
        Labels: strings, numbers, or strings as objects.

    Returns
    -------
    dict of str to array
        `classes`, and `objects`, whether they were objects.

    Raises
    ------
    TypeError
        If they are objects of another kind.
    """
    if classes.dtype != object:
        return {"classes": classes.copy(), "objects": np.array(False)}
    if not all(isinstance(label, str) for label in classes):
        kind = type(classes[0]).__name__
        raise TypeError(f"labels of type {kind} do not export to an array; use strings or integers")
    return {"classes": classes.astype(str), "objects": np.array(True)}


def restore_labels(arrays: dict[str, Any]) -> NDArray[Any]:
    """The labels that `export_labels` described.

    Parameters
    ----------
    arrays : dict of str to array
        What `export_labels` returned, and whatever else.

    Returns
    -------
    array of shape (n_labels,)
        The labels, as they were.

    Raises
    ------
    ValueError
        If they are no labels: objects, or not sorted, or some twice.
    """
    classes = np.asarray(arrays.get("classes", ()))
    if classes.dtype == object:
        raise ValueError("state['classes'] must not hold objects")
    classes = proved_labels(classes)
    return classes.astype(object) if bool(np.asarray(arrays.get("objects", False))) else classes.copy()


def proved_labels(classes: Any) -> NDArray[Any]:
    """Labels as a learner has them, or a ValueError."""
    if not isinstance(classes, np.ndarray) or classes.ndim != 1 or not len(classes):
        raise ValueError("state['classes'] must be a sorted vector of distinct labels")
    if not (classes[1:] > classes[:-1]).all() or (classes != classes).any():
        raise ValueError("state['classes'] must be a sorted vector of distinct labels")
    return classes
