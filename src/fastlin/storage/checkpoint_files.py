"""Checkpoints: where a long fit stands, written now and then, and taken up again."""

import math
import os
import time
from typing import Any

import numpy as np
import scipy.sparse as sp

from fastlin.storage.archive import Arrays, read_archive, write_archive
from fastlin.storage.crc32 import crc32
from fastlin.storage.json_values import decode, encode
from fastlin.storage.load_context import ModelFileError
from fastlin.validation import real_number

VERSION = 1  # of what fits write; raised when a fit resumed from an older checkpoint would take other steps
_SHOWN = 20  # values of a list that a message may name; of longer ones there is a digest
MAY_DIFFER = ("max_iter", "tol", "verbose", "callback", "n_jobs", "client")


class Checkpoint:
    """The file of one fit; without a path, none: nothing is ever due.

    Parameters
    ----------
    path : str, path or None
    checkpoint_interval : float
        Seconds between two checkpoints; 0 writes one whenever `due` is asked.
    resume : bool
        Take up what the file holds, should it be there.
    identity : dict
        What must be the same for a fit to go on: see `identity`.
    """

    def __init__(self, path: Any, checkpoint_interval: Any, resume: Any, identity: dict[str, Any]) -> None:
        if not isinstance(resume, bool | np.bool_):
            raise TypeError(f"resume must be True or False, got {resume!r}")
        try:
            self.path = None if path is None else os.fspath(path)
        except TypeError:
            raise TypeError(f"checkpoint must be a path or None, got {path!r}") from None
        if self.path is None and resume:
            raise ValueError("resume=True needs checkpoint=, the path to resume from")
        self.interval = real_number("checkpoint_interval", checkpoint_interval, at_least=0)
        if self.path is not None:
            _check_place(self.path, written=self.interval < math.inf)
        self.resume = bool(resume)
        self.identity = identity
        self._last = time.monotonic()

    def load(self) -> tuple[dict[str, Any], Arrays] | None:
        """Load what `save` was last given; None to begin from the beginning.

        A damaged file is a ModelFileError, one of another fit a ValueError that says what differs.

        Returns
        -------
        (dict, dict of str to array), or None
            Header and arrays.

        Raises
        ------
        ModelFileError
            If the file is damaged.
        ValueError
            If another fit has written it.
        """
        if not self.resume or self.path is None or not os.path.exists(self.path):
            return None
        header, arrays = read_archive(self.path, "checkpoint", mmap=False)
        try:
            if set(header) != {"identity", "state"}:
                raise ModelFileError("no checkpoint")
            found, state = decode(header["identity"]), decode(header["state"])
        except ModelFileError as error:
            raise ModelFileError(f"{self.path}: {error}") from None
        if header["identity"] != encode(self.identity, "identity"):  # as JSON: there, NaN equals NaN
            differences = "; ".join(_differences(found, self.identity))
            raise ValueError(f"{self.path}: the checkpoint is of another fit: {differences}")
        return state, arrays

    def due(self) -> bool:
        """Whether so many seconds have passed since the last.

        Returns
        -------
        bool
            False without a file.
        """
        return self.path is not None and time.monotonic() - self._last >= self.interval

    def save(self, header: dict[str, Any], arrays: Arrays) -> None:
        """Write one now: numbers, strings, lists, tuples and dicts in the header, all else as arrays.

        Parameters
        ----------
        header : dict
            What the fit has besides arrays.
        arrays : dict of str to array
            Of numbers or strings.
        """
        if self.path is not None:
            whole = {"identity": encode(self.identity, "identity"), "state": encode(header, "header")}
            write_archive(self.path, "checkpoint", whole, arrays)
            self._last = time.monotonic()


def _check_place(path: str, written: bool) -> None:
    """Refuse, before the fit rather than when the first checkpoint is due, a path that can be no file of it."""
    target = os.path.realpath(path)
    folder = os.path.dirname(target)
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"checkpoint={path!r}: there is no folder {folder!r}")
    if os.path.isdir(target):
        raise IsADirectoryError(f"checkpoint={path!r} is a folder; a file is wanted")
    if written and not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(f"checkpoint={path!r}: no file can be written in the folder {folder!r}")


def identity(estimator: Any, corpus: Any, **more: Any) -> dict[str, Any]:
    """Identity of a fit: the class, its parameters, the data, and `more` that its `fit` was given.

    `corpus` may be a dictionary that describes the data. Arrays count by their digest. `max_iter`, `tol`, `verbose`,
    `callback`, `n_jobs` and `client` may differ.

    Parameters
    ----------
    estimator : estimator
        What is fitted.
    corpus : Corpus, dataset or dict
        The data, or what describes them.
    **more
        Arguments of `fit` that the result depends on.

    Returns
    -------
    dict
        Numbers and strings, equal for equal fits.
    """
    parameters = {name: value for name, value in estimator.get_params(deep=False).items() if name not in MAY_DIFFER}
    return {
        "version": VERSION,
        "estimator": type(estimator).__name__,
        "parameters": {name: _digest(value) for name, value in sorted(parameters.items())},
        "data": _digest(corpus) if isinstance(corpus, dict) else fingerprint(corpus),
        "arguments": {name: _digest(value) for name, value in sorted(more.items())},
    }


def fingerprint(corpus: Any) -> dict[str, Any]:
    """Fingerprint of a corpus, without a pass over it."""
    found = {"shape": tuple(corpus.shape), "dtype": str(corpus.dtype), "weighted": bool(corpus.weighted)}
    found |= {"segments": _digest(corpus.bounds), "classes": _digest(corpus.classes), "labels": _digest(corpus.codes())}
    sets = getattr(corpus, "label_sets", None)  # of rows that may have several labels
    if sets is not None:
        found["label sets"] = _digest([sets.indptr, sets.labels])
    for name, index in (("first segment", 0), ("last segment", corpus.n_segments - 1))[: corpus.n_segments]:
        segment = corpus.segment(index)
        arrays = segment.rows.indptr, segment.rows.indices, segment.rows.values, segment.weights
        found[name] = (segment.rows.nnz, *(crc32(np.ascontiguousarray(array)) for array in arrays))
    return found


def _digest(value: Any) -> Any:
    """A value by which two of them are told apart."""
    if isinstance(value, np.ndarray) and value.dtype != object:
        return value.dtype.str, value.shape, crc32(np.ascontiguousarray(value))
    if isinstance(value, np.ndarray | list | tuple):
        items = [_digest(item) for item in (value.tolist() if isinstance(value, np.ndarray) else value)]
        return items if len(items) <= _SHOWN else (len(items), crc32(repr(items).encode("utf-8", "surrogatepass")))
    if sp.issparse(value):
        matrix = value.tocsr()
        return matrix.shape, _digest(matrix.indptr), _digest(matrix.indices), _digest(matrix.data)
    if isinstance(value, dict):
        return sorted(([_digest(key), _digest(item)] for key, item in value.items()), key=repr)
    if hasattr(value, "n_segments"):  # rows to validate on
        return _digest(fingerprint(value))
    if isinstance(value, np.generic):
        return _digest(value.item())
    if value is None or isinstance(value, bool | int | float | str | bytes):
        return value
    return f"{type(value).__module__}.{type(value).__qualname__}"


def _differences(found: Any, wanted: dict[str, Any], name: str = "") -> list[str]:
    if not isinstance(found, dict):
        return ["the file holds no identity"]
    lines = []
    for key in sorted({*found, *wanted}, key=repr):
        before, now = found.get(key), wanted.get(key)
        if key == "estimator" and before != now:  # then all else differs, too
            return [f"estimator was {str(before)[:60]}, now {now}"]
        if isinstance(before, dict) and isinstance(now, dict):
            lines += _differences(before, now, f"{key} ")
        elif before != now:
            lines.append(f"{name}{key} was {str(before)[:60]}, now {str(now)[:60]}")
    return lines
