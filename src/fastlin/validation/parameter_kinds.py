"""Kinds of parameters: what a fit takes of each parameter of each class, and what a model file may say of it.

A class has a table, `_parameters`, from the names of its parameters to kinds. `check_parameters` holds a model against
it before a fit; what depends on other parameters or on the data is checked where these are known. A file is data of an
unknown author: what the table does not allow is neither saved nor loaded, and a parameter never holds code, a path, or
an object that opens one. `LEFT_OUT` is for those that only make learning faster, `Code` for functions of a user's own.
"""

import functools
import math
import re
from collections.abc import Callable
from numbers import Integral
from numbers import Real as RealNumber
from typing import Any

import numpy as np

from fastlin.validation.parameters import (
    check_matrix_dtype,
    check_n_jobs,
    check_truth,
    check_verbose,
    one_of,
    real_number,
    whole_number,
)
from fastlin.validation.rows import MAX_COLUMNS

ParameterTable = dict[str, "Kind"]

_WORD = re.compile(r"[A-Za-z0-9_+.-]{1,60}", re.ASCII)
_SCALARS = (type(None), bool, int, float, str, bytes, np.bool_, np.integer, np.floating, np.str_)
_DEEPEST = 20  # lists inside of lists
_MOST = 2**62 - 1  # whole numbers


class Kind:
    """Values that a parameter may have in a file, and how a message puts it; a fit takes any.

    The base of those that a fit refuses, too: these have a `check`.
    """

    checked = False

    def __init__(self, allows: Callable[[Any], bool], wording: str) -> None:
        self.allows, self.wording = allows, wording

    def check(self, name: str, value: Any) -> None:
        """Refuse, by a TypeError or ValueError, what no fit takes."""

    def concerns(self, value: Any) -> bool:  # noqa: ARG002
        """Whether a message about this value, by its type, is that of this kind, where several kinds are taken."""
        return True

    def __or__(self, other: "Kind") -> "Kind":
        return Either(self, other)


class Either(Kind):
    """Values of one kind or another."""

    def __init__(self, *kinds: Kind) -> None:
        self.kinds: tuple[Kind, ...] = tuple(
            part for kind in kinds for part in (kind.kinds if isinstance(kind, Either) else (kind,))
        )
        *self._others, self._last = sorted(self.kinds, key=lambda kind: not isinstance(kind, Absent))
        self._of_types: dict[type, Kind] = {}
        self.checked = all(kind.checked for kind in self.kinds)
        super().__init__(self._allowed, ", or ".join(kind.wording for kind in self.kinds))

    def _allowed(self, value: Any) -> bool:
        return self._of(value).allows(value) if self.checked else any(kind.allows(value) for kind in self.kinds)

    def check(self, name: str, value: Any) -> None:
        self._of(value).check(name, value)

    def _of(self, value: Any) -> Kind:
        """The kind that a value's type belongs to: `concerns` looks at nothing else."""
        kind = self._of_types.get(type(value))
        if kind is None:
            kind = next((kind for kind in self._others if kind.concerns(value)), self._last)
            self._of_types[type(value)] = kind
        return kind


class Absent(Kind):
    """None."""

    checked = True

    def __init__(self) -> None:
        super().__init__(self.concerns, "None")

    def concerns(self, value: Any) -> bool:
        return value is None


class Real(Kind):
    """A number inside of bounds; infinity is one, NaN is none."""

    checked = True

    def __init__(
        self, *, above: float = -math.inf, at_least: float = -math.inf, at_most: float = math.inf,
        below: float | None = None,
    ) -> None:  # fmt: skip
        self.above, self.at_least, self.at_most, self.below = above, at_least, at_most, below
        bounds = [f"above {above:g}"] if above > -math.inf else [f"from {at_least:g}"] if at_least > -math.inf else []
        bounds += [f"below {below:g}"] if below is not None else [f"to {at_most:g}"] if at_most < math.inf else []
        self.bounds = " ".join(bounds)
        super().__init__(self._allowed, " ".join(["a number", *bounds]))

    def _allowed(self, value: Any) -> bool:
        if isinstance(value, bool | np.bool_) or not isinstance(value, RealNumber):
            return False
        try:
            return self._is_inside(float(value))
        except OverflowError:  # of a whole number
            return False

    def _is_inside(self, value: Any) -> bool:
        inside = max(self.above, self.at_least) <= value <= self.at_most and value != self.above
        return bool(inside and (self.below is None or value < self.below))

    def check(self, name: str, value: Any) -> None:
        if type(value) is not float or not self._is_inside(value):
            real_number(
                name, value, above=self.above, at_least=self.at_least, at_most=self.at_most, below=self.below
            )  # fmt: skip

    def concerns(self, value: Any) -> bool:
        return isinstance(value, float | np.floating)


class Integer(Kind):
    """A whole number inside of bounds; `excess` is what a message says of one above."""

    checked = True

    def __init__(
        self, *, at_least: int, at_most: int = _MOST, excess: str = "{name} must be at most {most}, got {value!r}"
    ) -> None:
        self.at_least, self.at_most, self.excess = at_least, at_most, excess
        self.bounds = f"from {at_least}" + (f" to {at_most}" if at_most < _MOST else "")
        super().__init__(self._allowed, f"a whole number {self.bounds}")

    def _allowed(self, value: Any) -> bool:
        return self.concerns(value) and self.at_least <= value <= self.at_most

    def check(self, name: str, value: Any) -> None:
        if type(value) is not int or not self.at_least <= value <= self.at_most:
            whole_number(name, value, self.at_least)
            if int(value) > self.at_most:
                raise ValueError(self.excess.format(name=name, most=self.at_most, value=value))

    def concerns(self, value: Any) -> bool:
        return _is_whole(value)


class OneOf(Kind):
    """One of some values, strings for the most part."""

    checked = True

    def __init__(self, *options: Any) -> None:
        self.options = options
        super().__init__(self._allowed, " or ".join(map(repr, options)))

    def _allowed(self, value: Any) -> bool:
        return any(value is option or (isinstance(value, str) and value == option) for option in self.options)

    def check(self, name: str, value: Any) -> None:
        if not isinstance(value, str) or value not in self.options:
            one_of(name, value, self.options)

    def concerns(self, value: Any) -> bool:
        return isinstance(value, str) or not all(isinstance(option, str) for option in self.options)


class Flag(Kind):
    """True or False; 0 and 1 are taken for them unless it is `strict`."""

    checked = True

    def __init__(self, *, strict: bool = False) -> None:
        self.strict = strict
        super().__init__(self.concerns if strict else _is_flag, "True or False")

    def check(self, name: str, value: Any) -> None:
        if not self.concerns(value) and (self.strict or not isinstance(value, int) or value not in (0, 1)):
            raise TypeError(f"{name} must be True or False, got {value!r}")

    def concerns(self, value: Any) -> bool:
        return isinstance(value, bool | np.bool_)


class Code(Kind):
    """A function of a user's own, or None, or what another kind has: model files hold no code."""

    checked = True

    def __init__(self, kind: Kind | None = None) -> None:
        self.kind = kind
        super().__init__(*(_NO_CODE if kind is None else (kind.allows, kind.wording)))

    def check(self, name: str, value: Any) -> None:
        if callable(value):
            return
        if self.kind is not None:
            self.kind.check(name, value)
        elif value is not None:
            raise TypeError(f"{name} must be callable or None, got {value!r}")


_NO_CODE = (lambda value: value is None, "None: model files hold no code")


class Checked(Kind):
    """What a file may say as one kind has it, and a fit takes as a function or another kind does."""

    checked = True

    def __init__(self, in_files: Kind, check: Callable[[str, Any], Any]) -> None:
        super().__init__(in_files.allows, in_files.wording)
        self._check = check

    def check(self, name: str, value: Any) -> None:
        self._check(name, value)


def check_parameters(model: Any) -> None:
    """Refuse, by a TypeError or ValueError that names it, a parameter that no fit takes."""
    kind: Any = type(model)
    for name, check in _checks_of(kind):
        check(name, getattr(model, name))


@functools.cache
def _checks_of(kind: Any) -> tuple[tuple[str, Callable[[str, Any], None]], ...]:
    return tuple((name, found.check) for name, found in kind._parameters.items() if found.checked)


def check_parameter_of_file(table: ParameterTable, owner: str, name: str, value: Any) -> None:
    """Refuse, by a ValueError, what the table of the class `owner` does not allow in a file."""
    if name not in table:
        raise ValueError(f"{owner}.{name} is a parameter that model files do not know")
    if not table[name].allows(value):
        raise ValueError(f"{owner}.{name} is {value!r:.60}, and a model file may hold {table[name].wording}")


def pair_of(kind: Kind) -> Kind:
    """Two values of a kind."""
    return Kind(
        lambda value: isinstance(value, tuple | list) and len(value) == 2 and all(map(kind.allows, value)),
        f"two of: {kind.wording}",
    )


def sequence_of(kind: Kind, wording: str) -> Kind:
    """A list or tuple of values of a kind."""
    return Kind(lambda value: isinstance(value, tuple | list) and all(map(kind.allows, value)), wording)


def estimator(*methods: str) -> Kind:
    """A model with these methods, which comes from the table of classes as every model in a file does."""

    def allows(value: Any) -> bool:
        known = hasattr(value, "get_params") and not isinstance(value, type)
        return known and all(callable(getattr(value, method, None)) for method in methods)

    return Kind(allows, f"a model with {' and '.join(methods)}")


def _is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool | np.bool_)


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool | np.bool_) or (_is_whole(value) and value in (0, 1))


def _is_array(value: Any, kinds: str) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind in kinds


def _are_numbers(value: Any, deepest: int = 2) -> bool:
    if isinstance(value, list | tuple):
        return deepest > 0 and all(_are_numbers(item, deepest - 1) for item in value)
    return _is_array(value, "biuf") or (isinstance(value, RealNumber) and not isinstance(value, bool))


def _are_strings(value: Any) -> bool:
    if _is_array(value, "O"):
        value = value.reshape(-1).tolist()
    if isinstance(value, list | tuple | set | frozenset):
        return all(isinstance(item, str) for item in value)
    return _is_array(value, "U")


def _is_plain(value: Any, deepest: int = _DEEPEST) -> bool:
    """Whether numbers, strings and collections of them are all that there is."""
    if isinstance(value, _SCALARS):
        return True
    if deepest == 0:
        return False
    if _is_array(value, "O"):
        value = value.reshape(-1).tolist()
    if isinstance(value, dict):
        value = [*value.keys(), *value.values()]
    if isinstance(value, slice):
        value = [value.start, value.stop, value.step]
    if isinstance(value, list | tuple | set | frozenset):
        return all(_is_plain(item, deepest - 1) for item in value)
    return _is_array(value, "biufUS")


def _is_dtype(value: Any) -> bool:
    if not isinstance(value, str | np.dtype | type):
        return False
    try:
        return np.dtype(value).kind in "biuf"
    except TypeError:
        return False


def _are_folds(value: Any) -> bool:
    rows = (list | tuple) if isinstance(value, list | tuple) else ()
    return isinstance(value, rows) and all(
        isinstance(fold, list | tuple) and len(fold) == 2 and all(_are_numbers(part) for part in fold) for fold in value
    )


def _are_steps(value: Any, replaced: tuple[Any, ...]) -> bool:
    return isinstance(value, list) and bool(value) and all(
        isinstance(step, tuple | list)
        and len(step) == 2
        and isinstance(step[0], str)
        and (_MODEL.allows(step[1]) or step[1] is None or (isinstance(step[1], str) and step[1] in replaced))
        for step in value
    )  # fmt: skip


ABSENT = Absent()
LEFT_OUT = Kind(lambda value: value is None, "None: loaded models read and write no files by themselves")
TRUTH = Checked(Kind(_is_flag, "True or False"), check_truth)  # whatever has a truth value, in a fit
FLAG = Flag()
BOOL = Flag(strict=True)
WORD = Kind(lambda value: isinstance(value, str) and _WORD.fullmatch(value) is not None, "a word")
TEXT = Kind(lambda value: isinstance(value, str), "a string")
NUMBERS = Kind(_are_numbers, "numbers")
STRINGS = Kind(_are_strings, "strings")
PLAIN = Kind(_is_plain, "collections of numbers and strings")
DTYPE = Kind(_is_dtype, "a type of real numbers")
FOLDS = Kind(_are_folds, "pairs of rows to train on and to test on")
LABEL_WEIGHTS = Kind(lambda value: isinstance(value, dict) and _is_plain(value), "a dict from labels to numbers")
SEED = Kind(
    lambda value: value is None or isinstance(value, np.random.Generator) or (_is_whole(value) and 0 <= value <= _MOST),
    "a whole number from 0, or a generator, or None",
)
JOBS = Checked(
    Kind(
        lambda value: value is None or (_is_whole(value) and -1024 <= value <= 1024 and value != 0),
        "threads, up to 1024, or None",
    ),
    lambda _, value: check_n_jobs(value),
)
VERBOSE = Checked(Flag() | Integer(at_least=0), lambda _, value: check_verbose(value))
CLASS_WEIGHT = OneOf("balanced") | LABEL_WEIGHTS | ABSENT
RUN: ParameterTable = {"n_jobs": JOBS, "verbose": VERBOSE, "random_state": SEED, "callback": Code()}
LABEL_PRIOR: ParameterTable = {"fit_prior": TRUTH, "class_prior": NUMBERS | ABSENT}
SEARCHED: ParameterTable = {"cv": Integer(at_least=2) | FOLDS | ABSENT, "scoring": WORD | ABSENT}
_MODEL = estimator("fit")
STEPS = Kind(lambda value: _are_steps(value, ("passthrough",)), "steps of a pipeline")
TRANSFORMERS = Kind(lambda value: _are_steps(value, ("passthrough", "drop")), "transformers of a union")
# of vectorisers, fastlin's and scikit-learn's
DECODE_ERRORS = OneOf("strict", "ignore", "replace")
SHARE = Integer(at_least=1) | Real(at_least=0, at_most=1)  # of the documents, or so many
ANALYSIS: ParameterTable = {
    "input": Checked(
        Kind(
            OneOf("content", "file").allows, "'content' or 'file': 'filename' would open whatever files the data name"
        ),
        OneOf("content", "file", "filename").check,
    ),
    "encoding": WORD, "decode_error": DECODE_ERRORS,
    "strip_accents": Kind((OneOf("ascii", "unicode") | ABSENT).allows, "'ascii' or 'unicode', or None"),
    "lowercase": FLAG, "preprocessor": Code(), "tokenizer": Code(), "stop_words": STRINGS | OneOf("english") | ABSENT,
    "token_pattern": TEXT | ABSENT, "ngram_range": pair_of(Integer(at_least=1)),
    "analyzer": Code(OneOf("word", "char", "char_wb")), "binary": FLAG,
    "dtype": Checked(DTYPE, lambda _, value: check_matrix_dtype(value)),
}  # fmt: skip
COUNTING: ParameterTable = ANALYSIS | {
    "max_df": SHARE, "min_df": SHARE, "max_features": Integer(at_least=1) | ABSENT,
    "vocabulary": STRINGS | LABEL_WEIGHTS | ABSENT,
}  # fmt: skip
IDF: ParameterTable = {"norm": OneOf(None, "l1", "l2"), "use_idf": BOOL, "smooth_idf": BOOL, "sublinear_tf": BOOL}
DICTS: ParameterTable = {"dtype": DTYPE, "separator": TEXT, "sparse": BOOL, "sort": BOOL}
HASHED: ParameterTable = {"n_features": Integer(at_least=1, at_most=MAX_COLUMNS), "alternate_sign": BOOL}
HASHED_TEXTS: ParameterTable = ANALYSIS | {
    "n_features": Integer(at_least=1, at_most=MAX_COLUMNS, excess="{name} must be below 2**31, got {value!r}"),
    "alternate_sign": FLAG, "norm": OneOf(None, "l1", "l2"),
}  # fmt: skip
