"""Parameters of estimators."""

import difflib
import numbers
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from fastlin.validation.rows import MAX_ABS_VALUE

CHEAP = 1 << 16  # clusters, components or values of a grid


def one_of(name: str, value: Any, options: Iterable[Any]) -> Any:
    """`value`, if it is one of the options."""
    options = list(options)
    if any(value is option or (isinstance(value, str) and value == option) for option in options):
        return value
    lower = {option.lower(): option for option in options if isinstance(option, str)}
    close = difflib.get_close_matches(str(value).lower(), lower, n=1)
    hint = f"; did you mean {lower[close[0]]!r}?" if close else ""
    raise ValueError(f"{name} must be one of {', '.join(map(repr, options))}, got {value!r}{hint}")


def real_number(
    name: str,
    value: Any,
    *,
    above: float = -np.inf,
    at_least: float = -np.inf,
    at_most: float = np.inf,
    below: float | None = None,
) -> float:
    """`value` as a float, inside its bounds; NaN is outside of all."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be a number, got {value!r}")
    try:
        number = float(value)
    except OverflowError:
        raise ValueError(f"{name} must be a number that a float can hold, got {value!r:.60}") from None
    if not max(above, at_least) <= number <= at_most or number == above or (below is not None and number >= below):
        bounds = [f"> {above:g}"] if above > -np.inf else []
        bounds += [f">= {at_least:g}"] if at_least > -np.inf else []
        bounds += [f"<= {at_most:g}"] if at_most < np.inf else []
        bounds += [f"< {below:g}"] if below is not None else []
        raise ValueError(f"{name} must be {' and '.join(bounds) or 'a number above -inf'}, got {value!r}")
    return number


def whole_number(name: str, value: Any, at_least: int) -> int:
    """`value` as an int, at least so large."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} must be a whole number, got {value!r}")
    if not at_least <= int(value) < 2**62:
        raise ValueError(f"{name} must be at least {at_least} and below 2**62, got {value!r}")
    return int(value)


def as_dtype(dtype: Any) -> np.dtype[Any] | None:
    """float32 or float64, or None for the type of X."""
    if dtype is None:
        return None
    try:
        kind = np.dtype(dtype)
    except TypeError as error:
        raise ValueError(f"dtype must be None, 'float32' or 'float64', got {dtype!r}") from error
    if kind not in MAX_ABS_VALUE:
        raise ValueError(f"dtype must be None, 'float32' or 'float64', got {dtype!r}")
    return kind


def check_matrix_dtype(dtype: Any) -> None:
    try:
        known = np.dtype(dtype).kind in "biufc" and np.dtype(dtype) != np.float16
    except TypeError:
        known = False
    if not known:
        raise ValueError(f"dtype must be a type of numbers that sparse matrices can hold, got {dtype!r:.50}")


def as_generator(random_state: Any) -> np.random.Generator:
    """A PCG64 generator from a seed, a RandomState, a Generator or None: numpy's global state, as in scikit-learn."""
    if random_state is None:
        from sklearn.utils import check_random_state

        random_state = check_random_state(None)
    if isinstance(random_state, np.random.Generator):
        random_state = int(random_state.integers(2**63))
    elif isinstance(random_state, np.random.RandomState):
        random_state = int(random_state.randint(2**31))
    elif random_state is not None:
        whole_number("random_state", random_state, 0)
    return np.random.Generator(np.random.PCG64(random_state))


def check_n_jobs(n_jobs: Any) -> None:
    if n_jobs is not None and (isinstance(n_jobs, bool) or not isinstance(n_jobs, numbers.Integral) or n_jobs == 0):
        raise ValueError(f"n_jobs must be None, a number of threads, or -1 for one each processor; got {n_jobs!r}")


def check_verbose(verbose: Any) -> None:
    if not isinstance(verbose, bool | np.bool_):
        whole_number("verbose", verbose, 0)


def check_truth(name: str, value: Any) -> None:
    try:
        bool(value)
    except ValueError:  # of an array
        raise TypeError(f"{name} must be True or False, got {value!r:.60}") from None


def as_callback(callback: Any) -> Callable[[Any, dict[str, Any]], Any] | None:
    if callback is not None and not callable(callback):
        raise TypeError(f"callback must be callable or None, got {callback!r}")
    return callback


def number_of_parts(name: str, value: Any, n_rows: int) -> int:
    """A number of clusters or components: no more than there are rows, or few enough to be cheap."""
    number, most = whole_number(name, value, 1), max(n_rows, CHEAP)
    if number > most:
        raise ValueError(f"{name} is {number}, but X has {n_rows} rows; at most {most} are supported")
    return number
