"""The state of an online run: weights, clock, the debts of lazy updates. Arrays only: labels live elsewhere."""

import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.engine import online
from fastlin.engine.memory import zeros
from fastlin.validation import LIMITS, as_finite

# The structs of engine/steps.pxd, field by field.
RULE = np.dtype(
    [(name, np.int64) for name in ("loss", "step", "schedule", "fit_intercept", "project", "batch_size")]
    + [("average_from", np.int64)]
    + [(name, np.float64) for name in ("eta0", "power", "offset", "alpha", "l1", "l2", "C", "cancellation", "reach")]
)
CLOCK = np.dtype(
    [(name, np.int64) for name in ("t", "steps", "averaged", "generation", "updates", "mistakes")]
    + [(name, np.float64) for name in ("loss", "scale", "mass", "debt", "norm", "reach")]
)
GENERATION = np.dtype([(name, np.float64) for name in ("scale", "mass", "debt")])

GRADIENT, PASSIVE_AGGRESSIVE, PASSIVE_AGGRESSIVE_SQUARED, MIRA, ADAGRAD, FTRL = range(6)
CONSTANT, OPTIMAL, INVSCALING, INVERSE, PEGASOS = range(5)
SCHEDULES = {
    "constant": CONSTANT,
    "adaptive": CONSTANT,
    "adagrad": CONSTANT,
    "ftrl": CONSTANT,
    "optimal": OPTIMAL,
    "invscaling": INVSCALING,
    "inverse": INVERSE,
    "pegasos": PEGASOS,
}

# Schedules like 1/t stay below for ever, as the ratio grows with log t; a constant rate starts a generation every
# 5/(ηλ) steps.
CANCELLATION = 32.0
REACH = {np.dtype(np.float64): 1e290, np.dtype(np.float32): 1e37}
FTRL_REACH, FTRL_RATE = 1e120, 1e-50  # the largest weight and the least η₀: θ√Σg²/η₀ stays a number

# Every array of a state: its shape in (features V, columns K), and its type; None is the type of the weights.
_ARRAYS: dict[str, tuple[str, Any]] = {
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
_EXPORTED = ("rule", "clock", "past", "order", "bias", *(name for name in _ARRAYS if name != "pending"))


def rule_of(dtype: np.dtype[Any], **fields: Any) -> NDArray[Any]:
    """A Rule with these fields; the others are 0, or what every run of weights of this type has."""
    rule = np.zeros(1, RULE)
    reach = min(REACH[dtype], FTRL_REACH) if fields.get("step") == FTRL else REACH[dtype]
    common = {"batch_size": 1, "cancellation": CANCELLATION, "reach": reach}
    for field, value in (common | fields).items():
        rule[field] = value
    return rule


def _bias(numbers: NDArray[np.float64], room: int) -> NDArray[np.float64]:
    """The intercepts, their Σg², their average's total, z and √Σg² of FTRL: as wide as the kernel likes, see `run`."""
    n_columns = numbers.shape[1]
    bias = np.zeros((5, room if room == 1 else -(-room // 8) * 8))
    bias[0, n_columns:] = -np.inf
    bias[:, :n_columns] = numbers
    return bias


class OnlineState:
    """Everything one online run knows, in arrays that the kernel changes in place.

    Arrays that the rule does not need have length 0. The weights of label k are column order[k]: labels take columns as
    they come, and there may be room for more, in columns of zeros whose intercept is −∞.
    """

    weights: NDArray[Any]  # [V, K]
    total: NDArray[np.float64]  # [V, K], of the average
    squares: NDArray[np.float64]  # [V, K], Adagrad's Σg²
    z: NDArray[np.float64]  # [V, K], FTRL's
    root: NDArray[np.float64]  # [V, K], FTRL's √Σg²
    pending: NDArray[np.float64]  # [V, K], the gradient of a mini-batch; all 0 between calls
    debt: NDArray[np.float64]  # [V], L1
    generation: NDArray[np.int32]  # [V], of the scale
    touched: NDArray[np.int64]  # [V], the last step of a feature under Adagrad, or FTRL

    def __init__(
        self, rule: NDArray[Any], n_features: int, n_columns: int, dtype: np.dtype[Any], room: int | None = None
    ) -> None:
        room = n_columns if room is None else room
        self.clock = np.zeros(1, CLOCK)
        self.clock["scale"] = 1.0
        self.past = np.zeros(64, GENERATION)
        self.order = np.arange(n_columns)
        self.bias = _bias(np.zeros((5, n_columns)), room)
        self.weights = zeros((n_features, room), dtype)
        for name, (shape, kind) in _ARRAYS.items():
            if name != "weights":
                setattr(self, name, np.zeros((0,) * len(shape), kind))
        self.rule = rule
        self._lock = threading.Lock()
        self._coef: NDArray[Any] | None = None
        self._longer: dict[str, NDArray[Any]] = {}  # with rows for features to come
        self._allocate()

    def adopt(self, rule: NDArray[Any]) -> None:
        """Go on under another rule; debts made under the old one are paid by it."""
        if rule != self.rule:
            self.settle()
            if rule["average_from"] != self.rule["average_from"]:
                self.clock["averaged"], self.bias[2] = 0, 0
                self.total = np.zeros((0, 0))
            rated = all(rule[name] == self.rule[name] for name in ("step", "eta0", "l1", "l2"))
            self.rule = rule
            self._measure_norm()
            self._allocate()
            if not rated:
                self._follow()

    def _allocate(self) -> None:
        """The arrays that the rule needs and the state does not have yet."""
        rule, adagrad, ftrl = self.rule[0], self.rule[0]["step"] == ADAGRAD, self.rule[0]["step"] == FTRL
        scheduled, batches = not (adagrad or ftrl), rule["batch_size"] > 1
        needed = {
            "total": rule["average_from"] > 0,
            "squares": adagrad,
            "z": ftrl,
            "root": ftrl,
            "pending": not scheduled and batches,
            "debt": rule["l1"] > 0 and scheduled,
            "generation": (rule["l2"] > 0 or rule["project"]) and scheduled,
            "touched": adagrad or (ftrl and (batches or rule["average_from"] > 0)),
        }
        for name, wanted in needed.items():
            if wanted and not len(getattr(self, name)):
                shape, kind = _ARRAYS[name]
                setattr(self, name, zeros(self.weights.shape[: len(shape)], kind))
                if name == "touched" and self.clock["steps"][0]:
                    self.touched[:] = self.clock["steps"]
                if name in ("squares", "z", "root"):
                    self.bias[{"squares": 1, "z": 3, "root": 4}[name]] = 0
            elif not wanted:
                setattr(self, name, np.zeros((0,) * len(_ARRAYS[name][0]), _ARRAYS[name][1]))

    def start_from(self, coef: NDArray[Any] | None, intercept: NDArray[Any] | None) -> None:
        """Begin at given weights (columns first, as coef_)."""
        if coef is not None:
            self.weights[:, self.order] = coef.T
            self._measure_norm()
        if intercept is not None:
            self.bias[0, self.order] = intercept
        if coef is not None or intercept is not None:
            self._follow()
        largest = max(np.abs(self.weights).max(initial=0), np.abs(self._intercepts[0]).max(initial=0))
        self.clock["reach"] = largest

    def _follow(self) -> None:
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

    def restart(self, coef: NDArray[Any], intercept: NDArray[Any]) -> None:
        """Go on from other weights; an average starts anew."""
        self.settle()
        self.clock["averaged"], self.bias[2], self.total[:] = 0, 0, 0
        self.start_from(coef, intercept)
        self.changed()

    def settle(self) -> None:
        """Pay all debts of all features, once; O(VK) the first time, nothing when called again."""
        with self._lock:
            self._settle()

    def _settle(self) -> None:
        clock = self.clock
        scaled = clock["generation"] > 0 or clock["scale"] != 1 or clock["mass"] > 0 or clock["debt"] > 0
        if scaled or (self.touched < clock["steps"]).any():
            lazy = self.debt, self.generation, self.touched
            online.settle_all(self.rule, clock, self.past, self.weights, self.total, self.squares, *lazy)
            clock["norm"] *= clock["scale"] ** 2
            clock["scale"], clock["mass"], clock["debt"], clock["generation"] = 1, 0, 0, 0

    def columns(self) -> NDArray[Any]:
        """The weights of every column: the average, where there is one; else the settled weights themselves."""
        with self._lock:
            if self._coef is None:
                self._settle()
                n = int(self.clock["averaged"][0])
                self._coef = (self.total / n).astype(self.weights.dtype, copy=False) if n else self.weights
            return self._coef

    def coef(self) -> NDArray[Any]:
        """The weights as [V, K], one column a label: a view where they lie so."""
        columns = self.columns()
        return columns[:, self.order] if len(self.rank()) else columns[:, : len(self.order)]

    def lanes(self) -> NDArray[np.float64]:
        """The intercept of every column."""
        averaged, room = int(self.clock["averaged"][0]), self.weights.shape[1]
        return self.bias[2, :room] / averaged if averaged else self.bias[0, :room].copy()

    def intercept(self) -> NDArray[np.float64]:
        return self.lanes()[self.order]

    def rank(self) -> NDArray[np.int32]:
        """Which label each column has; of length 0 where label k has column k."""
        if (self.order == np.arange(len(self.order))).all():
            return np.empty(0, np.int32)
        return np.argsort(self.order).astype(np.int32)

    @property
    def _intercepts(self) -> NDArray[np.float64]:
        return self.bias[:, : len(self.order)]

    def prune(self, threshold: float) -> int:
        """Forget all of the weights that are smaller: they are 0 as if they had never moved; how many there were."""
        coef = self.columns()
        small = (np.abs(coef) < threshold) & (coef != 0)
        for name, (shape, _) in _ARRAYS.items():
            if shape == "VK" and len(getattr(self, name)):
                getattr(self, name)[small] = 0
        self._measure_norm()
        self.changed()
        return int(np.count_nonzero(small))

    def changed(self) -> None:
        """Say that the kernel has run: what was computed from the weights is out of date."""
        self._coef = None

    def more_room(self) -> None:
        """Room for twice as many generations."""
        self.past = np.concatenate([self.past, np.zeros_like(self.past)])

    def with_columns(self, sources: NDArray[np.int64], factors: NDArray[np.float64]) -> "OnlineState":
        """A state whose label k has factors[k] times the weights of label sources[k] here; −1: none.

        Σg² are copied, not scaled. Of this state and the new one only one may go on.
        """
        if len(self.order) > 1:
            return self._with_labels(sources)
        self.settle()
        other = OnlineState(self.rule, len(self.weights), len(sources), self.weights.dtype)
        other.clock, other.past = self.clock.copy(), self.past.copy()
        known = sources >= 0
        for name, (shape, _) in _ARRAYS.items():
            if shape == "VK" and len(getattr(self, name)):
                scale = known if name in ("squares", "root") else factors
                np.multiply(getattr(self, name), scale, out=getattr(other, name), casting="same_kind")
        if len(self.touched):
            other.touched[:] = self.touched
        other.bias = _bias(self._intercepts * np.stack([factors, known, factors, factors, known]), len(sources))
        other._follow()
        other._measure_norm()
        return other

    def _with_labels(self, sources: NDArray[np.int64]) -> "OnlineState":
        """New labels take the next columns; where there is none, room is made for a quarter more than needed."""
        other, n, room = self._shared(), len(sources), self.weights.shape[1]
        other.order = np.empty(n, np.int64)
        other.order[sources >= 0] = self.order[sources[sources >= 0]]
        other.order[sources < 0] = np.arange(len(self.order), n)
        if n > room:
            room = n + n // 4
            for name, (shape, _) in _ARRAYS.items():
                array = getattr(self, name)
                if shape == "VK" and len(array):
                    wider = zeros((len(array), room), array.dtype)
                    wider[:, : array.shape[1]] = array
                    setattr(other, name, wider)
        other.bias = _bias(np.hstack([self._intercepts, np.zeros((5, n - len(self.order)))]), room)
        return other

    def with_features(self, n_features: int) -> "OnlineState":
        """A state of at least so many features, the new ones without weights; capacity doubles where there is none.

        Of this state and the new one only one may go on.
        """
        if n_features <= len(self.weights):
            return self
        other = self._shared()
        for name in _ARRAYS:
            array = getattr(self, name)
            if not len(array):
                continue
            longer = self._longer.get(name, array)
            if (
                len(longer) < n_features
                or longer.shape[1:] != array.shape[1:]
                or longer.ctypes.data != array.ctypes.data
            ):
                longer = zeros((max(n_features, 2 * len(array)), *array.shape[1:]), array.dtype)
                longer[: len(array)] = array
            other._longer[name] = longer
            setattr(other, name, longer[:n_features])
        return other

    def _shared(self) -> "OnlineState":
        """Another state of the same arrays."""
        other = OnlineState.__new__(OnlineState)
        other.__dict__.update(self.__dict__)
        other._lock, other._coef, other._longer = threading.Lock(), None, dict(self._longer)
        return other

    def export(self, copy: bool = True) -> dict[str, NDArray[Any]]:
        """The named arrays that bring this state back, bit for bit."""
        arrays = {name: self._intercepts if name == "bias" else getattr(self, name) for name in _EXPORTED}
        return {name: array.copy() for name, array in arrays.items()} if copy else arrays

    @classmethod
    def restore(cls, arrays: dict[str, NDArray[Any]]) -> "OnlineState":
        """The state that `export` described, after proving that the kernels may trust it."""
        missing = [name for name in _EXPORTED if name not in arrays]
        if missing:
            raise ValueError(f"the state lacks {', '.join(missing)}")
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
        if weights.ndim != 2 or weights.dtype not in LIMITS or 0 in weights.shape:
            raise ValueError(f"state['weights'] must be a float matrix, got {weights.dtype}, shape {weights.shape}")
        order = np.asarray(arrays["order"])
        if order.dtype != np.int64 or order.ndim != 1 or (np.sort(order) != np.arange(len(order))).any():
            raise ValueError("state['order'] must say which column each label has")
        if not (1 < len(order) <= weights.shape[1] or len(order) == weights.shape[1] == 1):
            raise ValueError(f"state['weights'] has {weights.shape[1]} columns, state['order'] {len(order)} labels")
        state = cls(np.array(arrays["rule"]), weights.shape[0], len(order), weights.dtype, weights.shape[1])
        state.order = order.copy()
        state.clock, state.past = np.array(arrays["clock"]), np.array(arrays["past"])
        for name in ("bias", *(name for name in _EXPORTED if name in _ARRAYS)):
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
        clock, limit = state.clock[0], REACH[weights.dtype]
        if not clock["averaged"] <= clock["steps"] <= clock["t"] or (clock["averaged"] and not len(state.total)):
            raise ValueError("state['clock'] counts more steps than instances, or an average that is not there")
        masses = max(clock["mass"], state.past["mass"].max())
        if not 0 < clock["scale"] <= 1 or (state.past["scale"] > 1).any() or masses > clock["averaged"]:
            raise ValueError("scales and masses in state['clock'] and state['past'] do not belong to the same run")
        roots = np.concatenate([state.root.ravel(), state._intercepts[4]])
        if max(np.abs(state.weights).max(), np.abs(state._intercepts[0]).max()) > limit or (state.squares < 0).any():
            raise ValueError("state['weights'], state['bias'] or state['squares'] holds an impossible value")
        if (roots < 0).any() or (state.rule["step"][0] == FTRL and not FTRL_RATE <= state.rule["eta0"][0] <= 1e100):
            raise ValueError("state['root'], state['bias'] or state['rule'] holds an impossible value for FTRL")
        generation = int(clock["generation"])
        if len(state.past) < generation + 2 or (state.generation > generation).any() or (state.generation < 0).any():
            raise ValueError("state['generation'] does not fit state['past']")
        if ((state.touched > clock["steps"]) | (state.touched < 0)).any():
            raise ValueError("state['touched'] does not fit state['clock']")
        return state

    def __getstate__(self) -> dict[str, NDArray[Any]]:
        return self.export()

    def __setstate__(self, arrays: dict[str, NDArray[Any]]) -> None:
        self.__dict__.update(OnlineState.restore(arrays).__dict__)
