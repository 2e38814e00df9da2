"""Features by name to the columns where Vowpal Wabbit has their weights.

    hash(namespace^name) = murmur(name, seed = murmur(namespace, seed = hash_seed)), mod n_features

with MurmurHash3 of 32 bits. What has no namespace has the seed `hash_seed` itself. Where only strings are hashed, a
name (or namespace) of digits is its number plus the seed.
"""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Literal, Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils import metadata_routing, murmurhash3_32

from fastlin.core.estimator import learns
from fastlin.core.transformer import Transformer
from fastlin.validation import MAX_ABS_VALUE
from fastlin.validation.parameter_kinds import Integer, OneOf, ParameterTable, check_parameters

_MOST_BITS = 30


class VWHasher(Transformer):
    """A column for every name in dicts, where Vowpal Wabbit's hash of it leads: nothing to fit.

    Dicts are what `fastlin.data.read` makes of files of Vowpal Wabbit's format: "namespace^name", or the name alone, to
    value. A string value becomes part of the name, "name=value", with the value 1. Values in one column are added up.

    Parameters
    ----------
    n_features : int
        The number of columns, a power of two: 2 to the power of `-b`; of a model of several labels, divided by how
        many weights each feature has there.
    hash_seed : int
        As `--hash_seed`.
    hash : {"strings", "all"}
        As `--hash`: whether a name of digits is its number, or is hashed like others.

    Examples
    --------
    >>> from fastlin.interchange import VWHasher
    >>> VWHasher(2**18).transform([{"t^good": 1.0, "t^film": 0.5}]).indices.tolist()
    [153317, 157012]
    """

    _parameters: ClassVar[ParameterTable] = {
        "n_features": Integer(at_least=1, at_most=2**_MOST_BITS),
        "hash_seed": Integer(at_least=0, at_most=2**32 - 1),
        "hash": OneOf("strings", "all"),
    }

    __metadata_request__transform: ClassVar[dict[str, Any]] = {"raw_X": metadata_routing.UNUSED}

    def __init__(
        self,
        n_features: int = 2**18,
        *,
        hash_seed: int = 0,
        hash: Literal["strings", "all"] = "strings",  # noqa: A002 - as the option is called there
    ) -> None:
        self.n_features = n_features
        self.hash_seed = hash_seed
        self.hash = hash

    @learns
    def fit(self, X: Any = None, y: Any = None) -> Self:  # noqa: ARG002
        """Check the parameters; there is nothing to learn.

        Parameters
        ----------
        X, y : ignored

        Returns
        -------
        self
            The hasher, unchanged.
        """
        self._check_parameters()
        return self

    def transform(self, raw_X: Any) -> Any:
        """Hash the samples.

        Parameters
        ----------
        raw_X : iterable of dict
            From names to numbers or strings.

        Returns
        -------
        csr_array of shape (n_samples, n_features)
        """
        self._check_parameters()
        places = _Places(self.n_features - 1, self.hash_seed, self.hash == "all")
        indices: list[int] = []
        values: list[float] = []
        indptr = [0]
        for row, sample in enumerate(self._samples(raw_X)):
            if not isinstance(sample, Mapping):
                raise TypeError(f"sample {row} must be a dict from names to numbers, got a {type(sample).__name__}")
            for name, value in sample.items():
                if isinstance(value, str):
                    name, value = f"{name}={value}", 1.0
                indices.append(places[name])
                values.append(_number(value, name, row))
            indptr.append(len(indices))
        narrow = np.int32 if len(indices) < 2**31 else np.int64
        arrays = np.array(values, np.float64), np.array(indices, narrow), np.array(indptr, narrow)
        matrix = sp.csr_array(arrays, shape=(len(indptr) - 1, self.n_features))
        matrix.sum_duplicates()
        return matrix

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:  # noqa: ARG002
        """Hash the samples, as `transform`.

        Parameters
        ----------
        X : iterable of dict
            From names to numbers or strings.
        y, fit_params : ignored

        Returns
        -------
        csr_array of shape (n_samples, n_features)
        """
        return self.transform(X)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.dict = True
        tags.input_tags.two_d_array = False
        tags.requires_fit = False
        return tags

    # Parts

    def _check_parameters(self) -> None:
        check_parameters(self)
        if self.n_features & (self.n_features - 1):
            raise ValueError(f"n_features must be a power of two, got {self.n_features}")

    @staticmethod
    def _samples(raw_X: Any) -> Iterable[Any]:
        if isinstance(raw_X, str | Mapping) or not isinstance(raw_X, Iterable):
            raise TypeError(f"X must be an iterable of dicts, got a {type(raw_X).__name__}")
        return raw_X


class _Places(dict[str, int]):
    """Columns by name, each hashed when it is first looked up."""

    def __init__(self, mask: int, seed: int, hash_all: bool) -> None:
        super().__init__()
        self._mask, self._seed, self._hash_all = mask, seed, hash_all
        self._seeds: dict[str, int] = {"": murmurhash3_32(b"", seed, positive=True) if seed else 0}

    def __missing__(self, name: Any) -> int:
        if not isinstance(name, str):
            raise TypeError(f"names of features must be strings, got {name!r:.60}")
        space, caret, rest = name.partition("^")
        if not caret:
            space, rest = "", name
        if space not in self._seeds:
            self._seeds[space] = self._hashed(space, self._seed)
        self[name] = place = self._hashed(rest, self._seeds[space]) & self._mask
        return place

    def _hashed(self, text: str, seed: int) -> int:
        if text.isascii() and text.isdigit() and not self._hash_all:
            return int(text) + seed
        return int(murmurhash3_32(text.encode("utf-8", "surrogatepass"), seed, positive=True))


def _number(value: Any, name: str, row: int) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = np.nan
    if not abs(number) <= MAX_ABS_VALUE[np.dtype(np.float64)]:
        raise ValueError(f"sample {row}: the value of {name!r:.60} must be a finite number, got {value!r:.60}")
    return number
