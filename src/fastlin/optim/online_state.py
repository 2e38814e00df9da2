"""The state of an online run: weights, clock, the debts of lazy updates. Arrays only: labels live elsewhere."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.engine.core.aligned import aligned_zeros
from fastlin.optim.array_views import ArrayViews
from fastlin.optim.sharing import ARRAYS, SharedArrays
from fastlin.optim.update_rules import ADAGRAD, AROW, CLOCK, FTRL, GENERATION, MIN_FTRL_RATE, RULE, WEIGHT_BOUND
from fastlin.runtime.shared_lock import SharedLock
from fastlin.validation import MAX_ABS_VALUE, as_finite

_EXPORTED = ("rule", "clock", "past", "order", "bias", *(name for name in ARRAYS if name != "pending"))


def _bias(numbers: NDArray[np.float64], room: int) -> NDArray[np.float64]:
    """The intercepts, their Σg², their average's total, z and √Σg² of FTRL: as wide as the kernel likes, see `run`."""
    n_columns = numbers.shape[1]
    bias = np.zeros((5, room if room == 1 else -(-room // 8) * 8))
    bias[0, n_columns:] = -np.inf
    bias[:, :n_columns] = numbers
    return bias


class OnlineState(SharedArrays):
    """Everything one online run knows, in arrays that the kernel changes in place.

    Arrays that the rule does not need have length 0. The weights of label k are column order[k]: labels take columns as
    they come, and there may be room for more, in columns of zeros whose intercept is −∞.
    """

    def __init__(
        self, rule: NDArray[Any], n_features: int, n_columns: int, dtype: np.dtype[Any], room: int | None = None
    ) -> None:
        super().__init__()
        room = n_columns if room is None else room
        self.clock = np.zeros(1, CLOCK)
        self.clock["scale"] = 1.0
        self.past = np.zeros(64, GENERATION)
        self.order = np.arange(n_columns)
        self.bias = _bias(np.zeros((5, n_columns)), room)
        self.weights = aligned_zeros((n_features, room), dtype)
        for name, (shape, kind) in ARRAYS.items():
            if name != "weights":
                setattr(self, name, np.zeros((0,) * len(shape), kind))
        self.rule = rule
        self._longer: dict[str, NDArray[Any]] = {}  # with rows for features to come
        self._allocate()

    def set_rule(self, rule: NDArray[Any]) -> None:
        """Go on under another rule; debts made under the old one are paid by it."""
        if rule == self.rule:
            return
        with self.changing():
            self.settle()
            if rule["average_from"] != self.rule["average_from"]:
                self.clock["averaged"], self.bias[2] = 0, 0
                self.total = np.zeros((0, 0))
            rated = all(rule[name] == self.rule[name] for name in ("step", "eta0", "l1", "l2"))
            self.rule = rule
            self._measure_norm()
            self._allocate()
            if not rated:
                self._update_ftrl_z()

    def _allocate(self) -> None:
        """The arrays that the rule needs and the state does not have yet."""
        rule = self.rule[0]
        adagrad, ftrl, arow = (rule["step"] == step for step in (ADAGRAD, FTRL, AROW))
        scheduled, batches = not (adagrad or ftrl or arow), rule["batch_size"] > 1
        needed = {
            "total": rule["average_from"] > 0,
            "squares": adagrad or arow,
            "z": ftrl,
            "root": ftrl,
            "pending": not scheduled and batches,
            "debt": rule["l1"] > 0 and scheduled,
            "generation": (rule["l2"] > 0 or rule["project"]) and scheduled,
            "touched": adagrad or (ftrl and batches) or ((ftrl or arow) and rule["average_from"] > 0),
        }
        for name, wanted in needed.items():
            if wanted and not len(getattr(self, name)):
                shape, kind = ARRAYS[name]
                setattr(self, name, aligned_zeros(self.weights.shape[: len(shape)], kind))
                if name == "touched" and self.clock["steps"][0]:
                    self.touched[:] = self.clock["steps"]
                if name in ("squares", "z", "root"):
                    self.bias[{"squares": 1, "z": 3, "root": 4}[name]] = 0
            elif not wanted:
                setattr(self, name, np.zeros((0,) * len(ARRAYS[name][0]), ARRAYS[name][1]))

    def start_from(self, coef: NDArray[Any] | None, intercept: NDArray[Any] | None) -> None:
        """Begin at given weights (columns first, as coef_)."""
        if coef is not None:
            self.weights[:, self.order] = coef.T
            self._measure_norm()
        if intercept is not None:
            self.bias[0, self.order] = intercept
        if coef is not None or intercept is not None:
            self._update_ftrl_z()
        largest = max(np.abs(self.weights).max(initial=0), np.abs(self._intercepts[0]).max(initial=0))
        self.clock["reach"] = largest

    def _update_ftrl_z(self) -> None:
        """Let FTRL's z be such that the weights are what they are; where they are 0, as near what it was as λ₁ lets."""
        if self.rule["step"] != FTRL:
            return
        eta0, l1, l2 = (float(self.rule[name][0]) for name in ("eta0", "l1", "l2"))
        value, _, _, bias_z, bias_root = self.bias[:, : len(self.order)]
        every = (self.weights, self.z, self.root, l1, l2), (value, bias_z, bias_root, 0.0, 0.0)
        for weights, z, root, lasso, ridge in every:
            size = np.abs(weights, dtype=np.float64) * (1 + root + eta0 * ridge) / eta0 + lasso
            z[:] = np.where(weights == 0, np.clip(z, -lasso, lasso), -np.copysign(size, weights))

    def _measure_norm(self) -> None:
        """‖W‖², which the kernel keeps from here on while it projects."""
        if self.rule["project"]:
            self.clock["norm"] = np.sum(np.square(self.weights, dtype=np.float64))

    @property
    def _intercepts(self) -> NDArray[np.float64]:
        return self.bias[:, : len(self.order)]

    def penalty(self) -> float:
        """λ₂/2 ‖θ‖² + λ₁ ‖θ‖₁ of the present weights, not of their mean; FTRL's, which are of a whole run, are 0."""
        l1, l2 = float(self.rule["l1"][0]), float(self.rule["l2"][0])
        if self.rule["step"] == FTRL or (l1 == 0 and l2 == 0):
            return 0.0
        sizes = squares = 0.0
        for chunk in self.present_weights():
            sizes += float(np.abs(chunk, dtype=np.float64).sum()) if l1 else 0.0
            squares += float(np.square(chunk, dtype=np.float64).sum()) if l2 else 0.0
        return 0.5 * l2 * squares + l1 * sizes

    def penalties(self) -> NDArray[np.float64]:
        """The penalty of each column, as `penalty` has it of all together."""
        l1, l2 = float(self.rule["l1"][0]), float(self.rule["l2"][0])
        found = np.zeros(self.weights.shape[1])
        if self.rule["step"] == FTRL or (l1 == 0 and l2 == 0):
            return found
        for chunk in self.present_weights():
            if l1:
                found += l1 * np.abs(chunk, dtype=np.float64).sum(axis=0)
            if l2:
                found += 0.5 * l2 * np.einsum("jk,jk->k", chunk, chunk, dtype=np.float64)
        return found

    def prune(self, threshold: float) -> int:
        """Forget all of the weights that are smaller: they are 0 as if they had never moved; how many there were."""
        coef = self.column_weights()
        small = (np.abs(coef) < threshold) & (coef != 0)
        del coef
        with self.changing():
            for name, (shape, _) in ARRAYS.items():
                if shape == "VK" and len(getattr(self, name)):
                    getattr(self, name)[small] = 0
            self._measure_norm()
        return int(np.count_nonzero(small))

    def grow_history(self) -> None:
        """Room for twice as many generations."""
        self.past = np.concatenate([self.past, np.zeros_like(self.past)])

    def remap_labels(self, column_mapping: NDArray[np.int64], factors: NDArray[np.float64]) -> "OnlineState":
        """A state whose label k has factors[k] times the weights of label sources[k] here; −1: none.

        Σg² are copied, not scaled. Of this state and the new one, which share a lock, only one may go on.
        """
        if len(self.order) > 1:
            return self._remap_columns(column_mapping)
        self.settle()
        other = OnlineState(self.rule, len(self.weights), len(column_mapping), self.weights.dtype)
        other.lock = self.lock
        other.clock, other.past = self.clock.copy(), self.past.copy()
        known = column_mapping >= 0
        for name, (shape, _) in ARRAYS.items():
            if shape == "VK" and len(getattr(self, name)):
                scale = known if name in ("squares", "root") else factors
                np.multiply(getattr(self, name), scale, out=getattr(other, name), casting="same_kind")
        if len(self.touched):
            other.touched[:] = self.touched
        other.bias = _bias(self._intercepts * np.stack([factors, known, factors, factors, known]), len(column_mapping))
        other._update_ftrl_z()
        other._measure_norm()
        return other

    def _remap_columns(self, column_mapping: NDArray[np.int64]) -> "OnlineState":
        """New labels take the next columns; where there is none, room is made for a quarter more than needed."""
        other, n, room = self._shared(), len(column_mapping), self.weights.shape[1]
        other._views = self._views.copy()
        other.order = np.empty(n, np.int64)
        other.order[column_mapping >= 0] = self.order[column_mapping[column_mapping >= 0]]
        other.order[column_mapping < 0] = np.arange(len(self.order), n)
        if n > room:
            room = n + n // 4
            for name, (shape, _) in ARRAYS.items():
                array = getattr(self, name)
                if shape == "VK" and len(array):
                    wider = aligned_zeros((len(array), room), array.dtype)
                    wider[:, : array.shape[1]] = array
                    setattr(other, name, wider)
                    other._views.forget(name)
        other.bias = _bias(np.hstack([self._intercepts, np.zeros((5, n - len(self.order)))]), room)
        return other

    def with_features(self, n_features: int) -> "OnlineState":
        """A state of at least so many features, the new ones without weights; capacity doubles where there is none.

        Of this state and the new one only one may go on.
        """
        if n_features <= len(self.weights):
            return self
        other = self._shared()
        other._views = self._views.copy()
        for name in ARRAYS:
            array = getattr(self, name)
            if not len(array):
                continue
            longer = self._longer.get(name, array)
            if (
                len(longer) < n_features
                or longer.shape[1:] != array.shape[1:]
                or longer.ctypes.data != array.ctypes.data
            ):
                longer = aligned_zeros((max(n_features, 2 * len(array)), *array.shape[1:]), array.dtype)
                longer[: len(array)] = array
                other._views.forget(name)
            other._longer[name] = longer
            setattr(other, name, longer[:n_features])
        return other

    def _shared(self) -> "OnlineState":
        """Another state of the same large arrays, under the same lock."""
        other = OnlineState.__new__(OnlineState)
        other.__dict__.update(self.__dict__)
        for name in ("rule", "clock", "past", "bias"):
            setattr(other, name, getattr(self, name).copy())
        other._views, other._longer = ArrayViews(), dict(self._longer)
        other._settled, other._indebted, other._shown, other._spare, other._looked_up = None, None, False, [], 0
        return other

    def _replace(self, name: str) -> None:
        super()._replace(name)
        self._longer.pop(name, None)

    def reading_view(self) -> "OnlineState":
        """A state to read only, of views of the arrays: who goes on with this one copies what it changes."""
        with self.lock.reading():
            other = self._shared()
            other._longer, other.lock = {}, SharedLock()
            for name in ARRAYS:
                setattr(other, name, self._views.make(name, getattr(self, name)))
        return other

    def __copy__(self) -> "OnlineState":
        with self.lock.reading():
            other = self._shared()
            other._longer, other.lock = {}, SharedLock()
            other.detach(self)
        return other

    def export(self, copy: bool = True) -> dict[str, NDArray[Any]]:
        """The named arrays that bring this state back, bit for bit; large ones may be views instead of copies."""
        with self.lock.reading():
            arrays = {name: self._intercepts if name == "bias" else getattr(self, name) for name in _EXPORTED}
            return {
                name: array.copy() if copy or name not in ARRAYS else self._views.make(name, array)
                for name, array in arrays.items()
            }

    @staticmethod
    def check_shapes(arrays: dict[str, NDArray[Any]], shape: tuple[int, int], dtype: np.dtype[Any]) -> None:
        """Prove, without looking at more than their number, that arrays are of weights of this shape, labels first."""
        n_labels, n_features = shape
        _check_complete(arrays)
        weights, order = arrays["weights"], arrays["order"]
        if order.shape != (n_labels,) or weights.ndim != 2 or weights.dtype != dtype:
            raise ValueError("the learning state is not that of these labels and weights")
        room = weights.shape[1]
        fits = len(weights) == n_features and (room >= n_labels > 1 or room == n_labels == 1)
        fits &= arrays["bias"].shape == (5, n_labels)
        for name, (axes, _) in ARRAYS.items():
            possible = {(n_features, room)[: len(axes)], (0,) * len(axes)}
            fits &= name not in arrays or arrays[name].shape in possible
        if not fits:
            raise ValueError("the learning state is not that of these labels and weights")

    @classmethod
    def restore(cls, arrays: dict[str, NDArray[Any]]) -> "OnlineState":
        """The state that `export` described, after proving that the kernels may trust it."""
        _check_complete(arrays)
        for name, kind in (("rule", RULE), ("clock", CLOCK), ("past", GENERATION)):
            array = np.asarray(arrays[name])
            if array.dtype != kind or array.ndim != 1 or (name != "past" and len(array) != 1):
                found = f"{array.dtype}, shape {array.shape}"
                raise ValueError(f"state[{name!r}] must be a vector of dtype {kind}, got {found}")
            for field in kind.names or ():
                largest = 2**62 if kind[field] == np.int64 else np.inf if field == "C" else 1e300
                least = -largest if field == "norm" else 0
                if not ((array[field] >= least) & (array[field] <= largest)).all():  # NaN included
                    raise ValueError(f"state[{name!r}][{field!r}] holds an impossible value")
        weights = np.asarray(arrays["weights"])
        if weights.ndim != 2 or weights.dtype not in MAX_ABS_VALUE or 0 in weights.shape:
            raise ValueError(f"state['weights'] must be a float matrix, got {weights.dtype}, shape {weights.shape}")
        order = np.asarray(arrays["order"])
        if order.dtype != np.int64 or order.ndim != 1 or (np.sort(order) != np.arange(len(order))).any():
            raise ValueError("state['order'] must say which column each label has")
        if not (1 < len(order) <= weights.shape[1] or len(order) == weights.shape[1] == 1):
            raise ValueError(f"state['weights'] has {weights.shape[1]} columns, state['order'] {len(order)} labels")
        state = cls(np.array(arrays["rule"]), weights.shape[0], len(order), weights.dtype, weights.shape[1])
        state.order = order.copy()
        state.clock, state.past = np.array(arrays["clock"]), np.array(arrays["past"])
        for name in ("bias", *(name for name in _EXPORTED if name in ARRAYS)):
            held = state._intercepts if name == "bias" else getattr(state, name)
            given = np.asarray(arrays[name])
            if given.shape != held.shape or given.dtype != held.dtype:
                found = f"{given.dtype} of shape {given.shape}"
                raise ValueError(f"state[{name!r}] must be {held.dtype} of shape {held.shape}, got {found}")
            if held.dtype.kind == "f":
                as_finite(given, f"state[{name!r}]", held.ndim)
            held[:] = given
            if held.ndim == 2 and name != "bias" and held[:, len(order) :].any():
                raise ValueError(f"state[{name!r}] has weights in columns that no label has")
        clock, limit = state.clock[0], WEIGHT_BOUND[weights.dtype]
        if not clock["averaged"] <= clock["steps"] <= clock["t"] or (clock["averaged"] and not len(state.total)):
            raise ValueError("state['clock'] counts more steps than instances, or an average that is not there")
        masses = max(clock["mass"], state.past["mass"].max())
        if not 0 < clock["scale"] <= 1 or (state.past["scale"] > 1).any() or masses > clock["averaged"]:
            raise ValueError("scales and masses in state['clock'] and state['past'] do not belong to the same run")
        roots = np.concatenate([state.root.ravel(), state._intercepts[4]])
        if max(np.abs(state.weights).max(), np.abs(state._intercepts[0]).max()) > limit or (state.squares < 0).any():
            raise ValueError("state['weights'], state['bias'] or state['squares'] holds an impossible value")
        if (roots < 0).any() or (state.rule["step"][0] == FTRL and not MIN_FTRL_RATE <= state.rule["eta0"][0] <= 1e100):
            raise ValueError("state['root'], state['bias'] or state['rule'] holds an impossible value for FTRL")
        generation = int(clock["generation"])
        if len(state.past) < generation + 2 or (state.generation > generation).any() or (state.generation < 0).any():
            raise ValueError("state['generation'] does not fit state['past']")
        if ((state.touched > clock["steps"]) | (state.touched < 0)).any():
            raise ValueError("state['touched'] does not fit state['clock']")
        return state

    def __getstate__(self) -> dict[str, NDArray[Any]]:
        return self.export(copy=False)

    def __setstate__(self, arrays: dict[str, NDArray[Any]]) -> None:
        self.__dict__.update(OnlineState.restore(arrays).__dict__)


def _check_complete(arrays: dict[str, NDArray[Any]]) -> None:
    missing = [name for name in _EXPORTED if name not in arrays]
    if missing:
        raise ValueError(f"the state lacks {', '.join(missing)}")
