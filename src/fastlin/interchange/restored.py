"""What importers share: lines with their numbers, weights that become a fitted model by its codec."""

import itertools
import math
import os
from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp

from fastlin.model_files.classes import class_of, name_of
from fastlin.storage.load_context import LoadContext, ModelFileError
from fastlin.storage.weight_packing import Packing
from fastlin.validation import MAX_ABS_VALUE

_MAX_WEIGHT = MAX_ABS_VALUE[np.dtype(np.float64)]


class ModelFileLines:
    """Lines of a text file, each read once; what is wrong is a ModelFileError that names file and line."""

    def __init__(self, path: Any) -> None:
        self._path, self._number = os.fspath(path), 0
        with open(path, "rb") as file:
            content = file.read().split(b"\n")
        self._lines: Iterator[bytes] = iter(content if content[-1] else content[:-1])
        self._again: list[str] = []

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        """The next line without its end."""
        if self._again:
            line = self._again.pop()
        else:
            raw = next(self._lines)
            line = ""
            try:
                line = raw.decode("utf-8").removesuffix("\r")
            except UnicodeDecodeError as error:
                self._number += 1
                self.refuse(f"no UTF-8: {error.reason}")
        self._number += 1
        return line

    def next_line(self, wanted: str) -> str:
        """The next line, which there must be."""
        line = next(self, None)
        if line is None:
            self.refuse(f"the file ends where {wanted} must be")
        return line

    def put_back(self, line: str) -> None:
        """Let a line be the next one again."""
        self._again.append(line)
        self._number -= 1

    def is_over(self) -> bool:
        """Whether only empty lines follow; they are read."""
        for line in self:
            if line.strip():
                self.put_back(line)
                return False
        return True

    def whole(self, text: str, name: str, at_least: int, at_most: int) -> int:
        """A whole number of decimal digits, within bounds."""
        digits = text.removeprefix("-").removeprefix("+")
        if not (digits.isascii() and digits.isdigit() and len(digits) <= 20 and at_least <= int(text) <= at_most):
            self.refuse(f"{name} must be a whole number from {at_least} to {at_most}, got {text!r:.60}")
        return int(text)

    def real(self, text: str, name: str) -> float:
        """A finite number, no larger than weights may be."""
        try:
            number = math.nan if "_" in text else float(text)
        except ValueError:
            number = math.nan
        if not abs(number) <= _MAX_WEIGHT:
            self.refuse(f"{name} must be a finite number up to {_MAX_WEIGHT:g}, got {text!r:.60}")
        return number

    def refuse(self, reason: str) -> NoReturn:
        """What is wrong with the line that was read last."""
        raise ModelFileError(f"{self._path}, line {max(1, self._number)}: {reason}")

    def refuse_file(self, reason: str) -> NoReturn:
        """What is wrong with the file as a whole."""
        raise ModelFileError(f"{self._path}: {reason}")


def fitted(model: Any, lines: ModelFileLines, weights: Any, **state: Any) -> Any:
    """A model that has these weights, an array [V, K] or a CSR [K, V], and what else its codec asks for."""
    for values in (weights, state.get("intercept", np.empty(0))):  # products of what the file holds
        largest = abs(values).max(initial=0.0) if isinstance(values, np.ndarray) else abs(values).max()
        if not largest <= _MAX_WEIGHT:
            lines.refuse_file(f"a weight becomes {largest:g}: the limit is {_MAX_WEIGHT:g}")
    packed = Packing().pack(weights)
    codec = class_of(name_of(model))[1]
    try:
        codec.from_state(model, {"coef": packed, **state}, LoadContext())
    except (ValueError, TypeError, KeyError, OverflowError) as error:
        lines.refuse_file(f"no {type(model).__name__} is like this: {error!s:.300}")
    return model


def sparse_rows(columns: list[Any], values: list[Any], n_columns: int) -> sp.csr_array:
    """A CSR of rows whose columns rise and whose values are given."""
    indptr = np.fromiter(itertools.accumulate(map(len, columns), initial=0), np.int64, len(columns) + 1)
    indices = np.concatenate([np.asarray(each, np.int64) for each in columns])
    data = np.concatenate([np.asarray(each, np.float64) for each in values])
    return sp.csr_array((data, indices.astype(np.int32), indptr.astype(np.int32)), shape=(len(columns), n_columns))
