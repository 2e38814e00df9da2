"""Weights in a file: as they are or, for serving, quantised, pruned, and without what is zero.

int8 is w ≈ s·q with |q| ≤ 127 and one scale s a label, or a feature where that loses less; float16 is w ≈ s·h with s a
power of two for each label that lets the largest weight just fit, so that none overflows.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fastlin.engine.core.aligned import aligned_zeros
from fastlin.storage.crc32 import largest
from fastlin.storage.json_values import sparse
from fastlin.storage.load_context import LoadContext, ModelFileError
from fastlin.validation import MAX_ABS_VALUE, one_of, real_number

State = dict[str, Any]

DTYPES = ("float16", "float32", "float64", "int8")
ROOM = 1 << 25  # bytes that what is zero may come back as,
GROWTH = 80  # and so many times what the file holds: within what `load` lets a file take
IN_FLOAT64 = 3  # copies of 32 bits a weight: as they come, and in 64 bits
_FEW = 8  # labels: with fewer, a scale for each feature would cost more than half a byte a weight
_MOST = 1e30  # where float32 has room for more
_BLOCK = 1 << 18  # weights that are worked on at a time


class Packing:
    """How the weights of a model go into a file, and how many there were.

    Parameters
    ----------
    dtype : {None, "float16", "float32", "float64", "int8"}
        None keeps everything, so that learning can go on.
    prune : float
        Weights up to this size are left out.
    """

    def __init__(self, dtype: Any = None, prune: float = 0.0) -> None:
        if dtype is not None:
            name = dtype if isinstance(dtype, str) else getattr(dtype, "__name__", str(dtype))
            dtype = one_of("dtype", name, DTYPES)
        self.dtype: str | None = dtype
        self.prune = real_number("prune", prune, at_least=0)
        self.weights = self.pruned = self.packed = 0
        self.left_out: list[str] = []  # parameters that do not go into a file

    @property
    def serving(self) -> bool:
        """Whether the file is for predictions only."""
        return self.dtype is not None or self.prune > 0

    def pack(self, weights: Any, copies: int = 1) -> State:
        """Weights [V, K], or a CSR of them in scikit-learn's shape [K, V], as arrays for a file.

        `copies` says how many times as much memory as 32 bits a weight takes whoever unpacks them.
        """
        self.packed += 1
        if sp.issparse(weights):
            return self._pack_sparse(weights.tocsr())
        self.weights += int(np.count_nonzero(weights))
        if not self.serving:
            return {"form": "dense", "values": weights}
        weights = self._pruned(weights)
        form, places, values = _shortest(weights, copies)
        state = {"form": form, "shape": list(weights.shape), **self._quantised(values, weights.shape[1])}
        return state if places is None else state | {"places": places}

    def _pruned(self, weights: NDArray[Any]) -> NDArray[Any]:
        """The weights, those that are small set to 0."""
        if not self.prune:
            return weights
        small = np.abs(weights) <= self.prune
        self._count_pruned(weights, small)
        return np.where(small, weights.dtype.type(0), weights)

    def _count_pruned(self, weights: NDArray[Any], small: NDArray[np.bool_]) -> None:
        n = int(np.count_nonzero(weights[small]))
        self.pruned += n
        self.weights -= n

    def _quantised(self, values: NDArray[Any], n_labels: int) -> State:
        """The values in the type wanted, with scales where it needs them; [n, K] or, of single weights, [n]."""
        dtype = self.dtype or values.dtype.name
        if dtype != "float64" and not (most := largest(values)) <= _MOST:
            raise ValueError(f"dtype={dtype!r} holds weights up to {_MOST:g}, and the model has {most:g}")
        if dtype in ("float32", "float64"):
            return {"values": values.astype(dtype, copy=False)}
        if dtype == "float16":
            scale = _float16_scale(values)
            return {"values": (values / scale).astype(np.float16), "scales": scale}
        by_label = _int8_scale(np.abs(values).max(axis=0, initial=0))
        if values.ndim == 2 and n_labels >= _FEW:
            by_feature = _int8_scale(np.abs(values).max(axis=1, initial=0))[:, np.newaxis]
            if _loss(values, by_feature) < _loss(values, by_label):
                by_label = by_feature
        return {"values": _rounded(values, by_label), "scales": by_label}

    def _pack_sparse(self, weights: Any) -> State:
        """Pack a CSR; it has one scale."""
        self.weights += int(np.count_nonzero(weights.data))
        if self.prune:
            small = np.abs(weights.data) <= self.prune
            self._count_pruned(weights.data, small)
            weights = weights.copy()
            weights.data[small] = 0
            weights.eliminate_zeros()
        state = {"form": "csr", "shape": list(weights.shape), "indices": weights.indices, "indptr": weights.indptr}
        return state | (self._quantised(weights.data, 1) if self.serving else {"values": weights.data})


def unpack(state: Any, context: LoadContext, copies: int = 1) -> Any:
    """The weights that `pack` was given, or what quantisation has left of them, as float32.

    Arrays that were kept as they are come back as they lie in the file. `copies` is that of `pack`.
    """
    form, values = state["form"], state["values"]
    if values.dtype.name not in DTYPES or values.ndim not in (1, 2):
        raise ModelFileError(f"weights of {values.dtype}")
    context.take(4 * copies * values.size, "its weights")
    values = _dequantised(values, state.get("scales"), context.verify)
    if form == "csr":
        return sparse(sp.csr_array, state["shape"], values, state["indices"], state["indptr"])
    if form == "dense":
        if values.ndim != 2:
            raise ModelFileError(f"weights must be a matrix, got {values.ndim} dimension(s)")
        return values
    n_features, n_labels = state["shape"]
    if form not in ("rows", "places") or type(n_features) is not int or type(n_labels) is not int:
        raise ModelFileError(
            f"form must be dense, csr, rows or places, shape two ints; got {form!r:.20}, {state['shape']!r:.40}"
        )
    if min(n_features, n_labels) < 1:
        raise ModelFileError(f"weights of shape {state['shape']}")
    context.take(n_features * n_labels * values.itemsize * copies, "weights that are zero")
    dense = aligned_zeros((n_features, n_labels), values.dtype)
    target = dense if form == "rows" else dense.reshape(-1)
    target[_proved_places(state["places"], len(target), len(values))] = values
    return dense


def _shortest(weights: NDArray[Any], copies: int) -> tuple[str, NDArray[Any] | None, NDArray[Any]]:
    """The form with the fewest bytes: all weights, the features that have one, or single ones, with their places."""
    kept, n, (n_features, n_labels) = weights.any(axis=1), int(np.count_nonzero(weights)), weights.shape
    # with weights of one byte, which tell the most between them
    bytes_ = {"dense": weights.size, "rows": (4 + n_labels) * np.count_nonzero(kept), "places": 9 * n}
    form = min(bytes_, key=bytes_.__getitem__)
    if form == "rows":
        places, values = np.flatnonzero(kept), weights[kept]
    else:
        places = np.flatnonzero(weights) if form == "places" else np.empty(0, np.int64)
        values = weights.reshape(-1)[places]
    if form == "dense" or 4 * n_features * n_labels * copies > ROOM + GROWTH * bytes_[form]:
        return "dense", None, weights
    return form, places.astype(np.uint32 if n_features * n_labels < 2**32 else np.uint64), values


def _proved_places(places: Any, n: int, n_values: int) -> NDArray[np.int64]:
    if places.dtype not in (np.uint32, np.uint64) or places.shape != (n_values,):
        raise ModelFileError(
            f"places must be {n_values} of uint32 or uint64, one for each weight; got {places.dtype}, {places.shape}"
        )
    if len(places) and (int(places[-1]) >= n or (places[1:] <= places[:-1]).any()):
        raise ModelFileError(f"places must rise, and be below {n}")
    return places.astype(np.int64)


def _blocks(values: NDArray[Any]) -> Iterator[tuple[int, int]]:
    step = max(1, _BLOCK * len(values) // max(1, values.size))
    return ((start, min(start + step, len(values))) for start in range(0, len(values), step))


def _float16_scale(values: NDArray[Any]) -> NDArray[np.float32]:
    most = np.abs(values).max(axis=0, initial=0).astype(np.float64)
    return np.asarray(np.exp2(np.clip(np.frexp(most)[1] - 15, -126, 126)), np.float32)  # one scale, too, is an array


def _int8_scale(most: NDArray[Any]) -> NDArray[np.float32]:
    return np.where(most > 0, np.maximum(most / 127, 1e-37), 1).astype(np.float32)


def _rounded(values: NDArray[Any], scales: NDArray[np.float32]) -> NDArray[np.int8]:
    rounded = np.empty(values.shape, np.int8)
    for start, stop in _blocks(values):
        part = scales[start:stop] if scales.ndim == 2 else scales
        rounded[start:stop] = np.clip(np.rint(values[start:stop] / part), -127, 127)
    return rounded


def _loss(values: NDArray[Any], scales: NDArray[np.float32]) -> float:
    """Σ (w − s·q)²."""
    total = 0.0
    for start, stop in _blocks(values):
        part = scales[start:stop] if scales.ndim == 2 else scales
        scaled = values[start:stop] / part
        total += float(np.square((np.rint(scaled) - scaled) * part).sum())
    return total


def _dequantised(values: NDArray[Any], scales: Any, verify: bool) -> NDArray[Any]:
    """Finite weights of float32 or float64."""
    if values.dtype.kind == "f" and verify and not largest(values) <= float(np.finfo(values.dtype).max):
        raise ModelFileError("weights must be finite numbers, and hold NaN or infinity")
    if values.dtype in MAX_ABS_VALUE:
        if scales is not None:
            raise ModelFileError(f"scales must be left out for weights of {values.dtype}")
        return values
    shapes = ((), values.shape[1:], (len(values), 1))
    if not isinstance(scales, np.ndarray) or scales.dtype != np.float32 or scales.shape not in shapes:
        raise ModelFileError(f"scales must be float32, of a shape among {shapes}")
    if not ((scales > 0) & (scales <= _MOST)).all():
        raise ModelFileError(f"scales must be above 0 and at most {_MOST:g}")
    weights = aligned_zeros(values.shape, np.float32)
    return np.multiply(values, scales, out=weights, casting="unsafe")
