"""Arrays that one thread changes in place while others read them.

Learning happens under the lock, and says so before (`changing`). Reading changes nothing, not by a rounding: where
debts are pending it takes a copy in which they are paid (`columns`, `of_features`). Who looks at an array for long, or
keeps it, borrows it: the next learner leaves it to him, and goes on with a copy.
"""

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.engine.core.aligned import aligned_zeros
from fastlin.engine.online.lazy_weights import LazyWeights
from fastlin.optim.array_views import ArrayViews
from fastlin.runtime.shared_lock import SharedLock

# Every array of a state: its shape in (features V, columns K), and its type; None is the type of the weights.
ARRAYS: dict[str, tuple[str, Any]] = {
    "weights": ("VK", None),
    "total": ("VK", np.float64),
    "squares": ("VK", np.float64),
    "z": ("VK", np.float64),
    "root": ("VK", np.float64),
    "pending": ("VK", np.float64),
    "debt": ("V", np.float64),
    "generation": ("V", np.int32),
    "touched": ("V", np.int64),
}
CHUNK_WEIGHTS = 1 << 22  # weights whose debts are paid at once: a few milliseconds
LOOKUP_COST = 20_000  # weights settled in the time that it takes to look some features up


class SharedArrays(ABC):
    """The arrays of an online run, which learners change and readers borrow."""

    rule: NDArray[Any]
    clock: NDArray[Any]
    past: NDArray[Any]
    order: NDArray[np.int64]  # the column of each label
    bias: NDArray[np.float64]
    weights: NDArray[Any]  # [V, K]
    total: NDArray[np.float64]  # [V, K], of the average
    squares: NDArray[np.float64]  # [V, K], Adagrad's Σg²
    z: NDArray[np.float64]  # [V, K], FTRL's
    root: NDArray[np.float64]  # [V, K], FTRL's √Σg²
    pending: NDArray[np.float64]  # [V, K], the gradient of a mini-batch; all 0 between calls
    debt: NDArray[np.float64]  # [V], L1
    generation: NDArray[np.int32]  # [V], of the scale
    touched: NDArray[np.int64]  # [V], the last step of a feature under Adagrad, or FTRL

    def __init__(self) -> None:
        self.lock = SharedLock()
        self._views = ArrayViews()
        self._changes = 0  # that are under way
        self._indebted: bool | None = None  # whether some weights are not what they stand for; None: not known
        self._settled: NDArray[Any] | None = None  # the weights to predict with, where they are not the weights
        self._shown = False  # to somebody who may write into them
        self._spare: list[NDArray[Any]] = []  # room for another such copy
        self._looked_up = 0  # weights that were settled for few features since the last change

    # Changing

    @contextlib.contextmanager
    def changing(self) -> Iterator[None]:
        """Change the arrays: those of which somebody holds a view are replaced, what was computed is out of date.

        A signal handler that reads meanwhile, in the middle of its thread's own change, gets copies.
        """
        self._changes += 1
        try:
            if self._shown:
                self._take_over_written()
            for name in self._views.names():
                if name != "settled":
                    self._replace(name)
            if self._settled is not None and not self._views.held("settled"):
                self._spare = [self._settled]
            self._views.clear()
            self._settled, self._indebted, self._looked_up = None, None, 0
            yield
        finally:
            self._changes -= 1

    def _replace(self, name: str) -> None:
        """Put a copy of an array in its place."""
        array = getattr(self, name)
        own = aligned_zeros(array.shape, array.dtype)
        own[...] = array
        setattr(self, name, own)
        self._views.forget(name)

    def detach(self, other: "SharedArrays") -> None:
        """Leave the arrays that are shared with another to it."""
        for name in ARRAYS:
            if len(getattr(self, name)) and np.may_share_memory(getattr(self, name), getattr(other, name)):
                self._replace(name)

    def _take_over_written(self) -> None:
        """Take over what was written into the copy of the weights that `coef` handed out."""
        shown, self._shown = self._settled, False
        if shown is None:
            return
        room = np.empty((min(len(shown), _features_per_chunk(shown)), shown.shape[1]), shown.dtype)
        for start in range(0, len(shown), len(room)):
            block = room[: len(shown) - start]
            self._settle_into(block, start=start)
            if not np.array_equal(block, shown[start : start + len(block)], equal_nan=True):
                self.restart(shown[:, : len(self.order)].T, self.intercept())
                return

    def restart(self, coef: NDArray[Any], intercept: NDArray[Any]) -> None:
        """Go on from other weights; an average starts anew."""
        with self.changing():
            self.settle()
            self.clock["averaged"], self.bias[2], self.total[:] = 0, 0, 0
            self.start_from(coef, intercept)

    @abstractmethod
    def start_from(self, coef: NDArray[Any] | None, intercept: NDArray[Any] | None) -> None:
        """Begin at given weights (columns first, as coef_)."""

    def settle(self) -> None:
        """Pay all debts of all features, once; O(VK) the first time, nothing when called again."""
        if self._has_debts():
            with self.changing():
                self.bound(learn=True).catch_up_all()

    # Reading

    def _has_debts(self) -> bool:
        """Whether some weights are not what they stand for."""
        clock = self.clock[0]
        scaled = clock["generation"] > 0 or clock["scale"] != 1 or clock["mass"] > 0 or clock["debt"] > 0
        return bool(scaled or (self.touched < clock["steps"]).any())

    def _settle_into(self, out: NDArray[Any], features: NDArray[np.int64] | None = None, start: int = 0) -> None:
        """The weights to predict with of some features, or of those from `start` on."""
        self.bound(learn=False).current(np.empty(0, np.int64) if features is None else features, start, out)

    def present_weights(self) -> Iterator[NDArray[Any]]:
        """The weights that learn, with all debts paid, a chunk of features at a time: each is gone with the next."""
        room = np.empty((min(len(self.weights), _features_per_chunk(self.weights)), self.weights.shape[1]),
                        self.weights.dtype)  # fmt: skip
        every = np.empty(0, np.int64)
        for start in range(0, len(self.weights), max(1, len(room))):
            chunk = room[: len(self.weights) - start]
            self.bound(learn=False, averages=False).current(every, start, chunk)
            yield chunk

    def bound(self, learn: bool, averages: bool = True) -> LazyWeights:
        """The arrays as kernels take them, for one call: whoever `learn`s next may replace them."""
        return LazyWeights(
            self.rule, self.clock, self.past, self.weights, self.bias,
            (self.total if averages else self.total[:0], self.squares, self.z, self.root, self.pending),
            (self.debt, self.generation, self.touched), learn,
        )  # fmt: skip

    def settled_or_none(self) -> NDArray[Any] | None:
        """The weights of every column to predict with, while the lock is held; None where a copy has to be made.

        They are the average, where there is one.
        """
        if self._changes:
            return None
        if self._indebted is None:
            self._indebted = bool(self.clock["averaged"][0] > 0) or self._has_debts()
        return self._settled if self._indebted else self.weights

    def column_weights(self) -> NDArray[Any]:
        """A view of the weights of every column to predict with."""
        with self.lock.reading():
            weights = self.settled_or_none()
            if weights is None:
                weights = self._settled_copy()
                if self._changes:
                    return weights
                self._settled = weights
            return self._views.make("settled" if self._indebted else "weights", weights)

    def _settled_copy(self) -> NDArray[Any]:
        """The weights of every column to predict with."""
        shape, dtype = self.weights.shape, self.weights.dtype
        try:
            copy = self._spare.pop()
        except IndexError:
            copy = aligned_zeros(shape, dtype)
        if (copy.shape, copy.dtype) != (shape, dtype):
            copy = aligned_zeros(shape, dtype)
        step = _features_per_chunk(copy)
        for start in range(0, len(copy), step):
            self._settle_into(copy[start : start + step], start=start)
        return copy

    def should_look_up(self, n_features: int) -> bool:
        """Whether to settle so many features alone; all are cheaper for who reads again and again."""
        return self._looked_up + LOOKUP_COST + n_features * self.weights.shape[1] < self.weights.size

    def feature_weights(self, features: NDArray[np.int64]) -> NDArray[Any]:
        """The weights of some features to predict with, [n, K]."""
        out = np.zeros((max(1, len(features)), self.weights.shape[1]), self.weights.dtype)
        self._settle_into(out[: len(features)], features)
        self._looked_up += LOOKUP_COST + out.size
        return out

    def label_weights(self) -> NDArray[Any]:
        """The weights to predict with as [V, K], one column a label; a view where they lie so."""
        with self.lock.reading():
            columns = self.column_weights()
            return columns[:, self.order] if len(self.rank()) else columns[:, : len(self.order)]

    def coef(self) -> NDArray[Any]:
        """The weights to predict with for somebody who may write into them: what is written is learnt on from."""
        with self.lock.reading():
            weights = self.label_weights()
            self._shown = self._shown or (self._settled is not None and not len(self.rank()))
            return weights

    def column_intercepts(self) -> NDArray[np.float64]:
        """The intercept of every column."""
        averaged, room = int(self.clock["averaged"][0]), self.weights.shape[1]
        return self.bias[2, :room] / averaged if averaged else self.bias[0, :room].copy()

    def intercept(self) -> NDArray[np.float64]:
        """The intercept of every label."""
        with self.lock.reading():
            return self.column_intercepts()[self.order]

    def rank(self) -> NDArray[np.int32]:
        """Which label each column has; of length 0 where label k has column k."""
        if len(self.order) == 1 or (self.order == np.arange(len(self.order))).all():
            return np.empty(0, np.int32)
        return np.argsort(self.order).astype(np.int32)


def _features_per_chunk(weights: NDArray[Any]) -> int:
    """The number of features that are settled at once."""
    return max(1, CHUNK_WEIGHTS // weights.shape[1])
