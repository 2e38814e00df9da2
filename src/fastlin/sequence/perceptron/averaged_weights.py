"""The weights of an online learner of sequences, and the sums of which their average is made. Arrays only."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fastlin.core.checkpoint_reader import CheckpointReader, State
from fastlin.engine.chain import tagger_online
from fastlin.engine.chain.token_labels import TokenLabels
from fastlin.engine.core.aligned import aligned_zeros
from fastlin.engine.core.csr_view import CSRView
from fastlin.runtime.shared_lock import SharedLock
from fastlin.sequence.transition_weights import TransitionWeights
from fastlin.sequence.weight_layout import HybridLayout

Floats = NDArray[np.float64]
Bytes = NDArray[np.uint8]
Changes = tuple[tuple[object, str, Any], ...]  # objects, names of their attributes, and values

# The struct of engine/chain/tagger_online.pyx, field by field.
COUNTERS = np.dtype(
    [(name, np.int64) for name in ("t", "updates", "wrong")] + [("loss", np.float64), ("reach", np.float64)]
)
BUDGET = 1 << 24  # multiply–adds between two looks at Ctrl-C: tens of milliseconds


class WeightTables(NamedTuple):
    """Numbers for all weights: of features with a row, of those with few labels, of pairs and triples of labels."""

    table: Floats  # [D, K]
    few: Floats
    two: Floats  # [K, K]
    three: Floats  # [K, K, K], or of length 0

    @classmethod
    def zeros(cls, n_rows: int, n_few: int, n_labels: int, order: int) -> "WeightTables":
        three = (n_labels,) * 3 if order == 2 else (0,) * 3
        return cls(aligned_zeros((n_rows, n_labels)), np.zeros(n_few), np.zeros((n_labels, n_labels)), np.zeros(three))

    @classmethod
    def none(cls) -> "WeightTables":
        return cls.zeros(0, 0, 0, 1)

    def copied(self, n_rows: int) -> "WeightTables":
        """A copy in memory of its own, of so many rows at most."""
        own = WeightTables(aligned_zeros((min(n_rows, len(self.table)), self.table.shape[1])), *map(np.copy, self[1:]))
        own.table[:] = self.table[: len(own.table)]
        return own


@dataclass
class AveragedWeights:
    """θ, and U, of which θ̄ = θ − U / T is made.

    With a `layout`, the weights are those of pairs and links that were observed. Without, every feature has a row, in
    the order of the columns, and there may be rows for more.

    Weights change in place, while the `lock` is held for writing.
    """

    weights: WeightTables
    sums: WeightTables  # of length 0: there is no average
    layout: HybridLayout | None = None
    transition_weights: TransitionWeights | None = None
    features: NDArray[np.int64] | None = None  # the columns of a layout's features
    counters: NDArray[Any] = field(default_factory=lambda: np.zeros(1, COUNTERS))
    lock: SharedLock = field(default_factory=SharedLock, repr=False, compare=False)
    _cached: tuple[Any, Floats, Floats | None] | None = field(default=None, repr=False, compare=False)

    @classmethod
    def dense(cls, n_features: int, n_labels: int, order: int, average: bool) -> "AveragedWeights":
        """Zeros for all features and labels."""
        shape = n_features, 0, n_labels, order
        return cls(WeightTables.zeros(*shape), WeightTables.zeros(*shape) if average else WeightTables.none())

    @classmethod
    def observed(
        cls, layout: HybridLayout, transition_weights: TransitionWeights, features: NDArray[np.int64], average: bool
    ) -> "AveragedWeights":
        """Zeros for what was observed."""
        n_few = layout.n_weights - len(layout.places)
        shape = layout.n_tabled, n_few, layout.n_labels, transition_weights.order
        return cls(
            WeightTables.zeros(*shape),
            WeightTables.zeros(*shape) if average else WeightTables.none(),
            layout,
            transition_weights,
            features,
        )

    @property
    def n_labels(self) -> int:
        return len(self.weights.two)

    @property
    def order(self) -> int:
        return 2 if len(self.weights.three) else 1

    @property
    def averages(self) -> bool:
        return len(self.sums.two) > 0

    def grown(self, n_features: int, places: NDArray[np.int32], n_labels: int) -> "AveragedWeights":
        """These weights with more features, for which there may be room, and more labels, at other places."""
        room = len(self.weights.table)
        if n_labels == self.n_labels and n_features <= room:
            return self
        if n_features > room:
            room = max(n_features, room + room // 2)

        def wider(old: WeightTables) -> WeightTables:
            new = WeightTables.zeros(room, 0, n_labels, self.order)
            new.table[: len(old.table), places] = old.table
            new.two[np.ix_(places, places)] = old.two
            if self.order == 2:
                new.three[np.ix_(places, places, places)] = old.three
            return new

        sums = wider(self.sums) if self.averages else self.sums
        return AveragedWeights(wider(self.weights), sums, counters=self.counters.copy())

    def copied(self, n_features: int) -> "AveragedWeights":
        """A copy in memory of its own, with rows for so many features. The lock is held."""
        sums = self.sums.copied(n_features) if self.averages else self.sums
        weights = self.weights.copied(n_features)
        return AveragedWeights(weights, sums, self.layout, self.transition_weights, self.features, self.counters.copy())

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("lock", "_cached")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, lock=SharedLock(), _cached=None)

    def tagger(self, rule: dict[str, Any]) -> tagger_online.OnlineTagger:
        """The kernel's tagger, which learns these weights in place."""
        K, nothing = self.n_labels, np.zeros((0, 0), np.uint8)
        if self.layout is None or self.transition_weights is None:
            n = len(self.weights.table)
            every = nothing, nothing, np.zeros((0, 0, 0), np.uint8)
            starts, labels = np.zeros(n + 1, np.int64), np.empty(0, np.int32)
            return tagger_online.OnlineTagger(rule, self.counters, starts, n, labels, self.weights, self.sums, every)
        seen = (
            _marks((len(self.weights.table), K), self.layout.places),
            _marks((K, K), self.transition_weights.two),
            _marks(self.weights.three.shape, self.transition_weights.three),
        )
        return tagger_online.OnlineTagger(rule, self.counters, *self.layout.few, self.weights, self.sums, seen)

    def current_weights(self, n_features: int) -> tuple[Any, Floats, Floats | None]:
        """θ̄, or without an average θ: [V, K], transitions, and what order 2 adds; made once. The lock is held."""
        made = self.cached_weights(n_features)
        if made is None:
            made = self._cached = self._current(n_features)
        return made

    def cached_weights(self, n_features: int) -> tuple[Any, Floats, Floats | None] | None:
        """The current weights, if they were made for so many features since the last step; no lock is needed."""
        made = self._cached
        return made if made is not None and made[0].shape[0] == n_features else None

    def change(self, step: Callable[[], Any]) -> Any:
        """Take a step that changes the weights, while nobody looks at them; returns what it returns."""
        with self.lock.writing():
            try:
                return step()
            finally:
                self._cached = None

    def _current(self, n_features: int) -> tuple[Any, Floats, Floats | None]:
        table, few, two, three = self.weights
        if self.averages and self.counters["t"][0]:
            table, few, two, three = (
                weights - sums / self.counters["t"][0] for weights, sums in zip(self.weights, self.sums, strict=True)
            )
        else:
            table, few, two, three = table.copy(), few.copy(), two.copy(), three.copy()
        of_triples = three if self.order == 2 else None
        if self.layout is None:
            return table[:n_features], two, of_triples
        weights = np.concatenate([table.reshape(-1)[self.layout.places], few])
        rows = np.repeat(self.features, np.diff(self.layout.starts))  # type: ignore[arg-type]
        return sp.csr_array((weights, (rows, self.layout.labels)), (n_features, self.n_labels)), two, of_triples


class TaggerEpochState(NamedTuple):
    """The state of a fit between two epochs: weights, and what the orders of the next ones are drawn from."""

    learnt: AveragedWeights
    generator: np.random.Generator

    def state_dict(self) -> State:
        counters = self.learnt.counters[0]
        counted = {"t": int(counters["t"]), "reach": float(counters["reach"]), "random": self.generator}
        return counted | dict(self._named_tables())

    def load_state_dict(self, saved: CheckpointReader) -> None:
        for name, table in self._named_tables():
            saved.read_into(name, table)
        self.learnt.counters["t"], reach = saved.integer("t", 0), saved.number("reach")
        self.learnt.counters["reach"] = reach if 0 <= reach < np.inf else saved.reject("reach")
        saved.restore_generator("random", self.generator)

    def _named_tables(self) -> Iterator[tuple[str, Floats]]:
        for prefix, tables in (("", self.learnt.weights), ("sum_", self.learnt.sums)):
            yield from ((prefix + name, table) for name, table in tables._asdict().items())


@dataclass(frozen=True)
class SavedWeights:
    """Weights for all features and labels, and their sums, as they lie in a file."""

    learning: dict[str, Any]

    @classmethod
    def of(cls, state: AveragedWeights, n_features: int) -> "SavedWeights":
        """What is to be written of weights that learn."""
        t, reach = int(state.counters["t"][0]), float(state.counters["reach"][0])
        learning: dict[str, Any] = {"t": t, "reach": reach}
        for prefix, tables in (("", state.weights), ("sum_", state.sums)):
            if len(tables.two):
                learning |= {f"{prefix}table": tables.table[:n_features], f"{prefix}two": tables.two}
                learning |= {f"{prefix}three": tables.three} if state.order == 2 else {}
        return cls(learning)

    @classmethod
    def validated(cls, learning: Any, n_features: int, n_labels: int, order: int) -> "SavedWeights":
        """Validate what a file holds: ValueError, KeyError, where it does not fit."""
        K, shapes = n_labels, {"table": (n_features, n_labels), "two": (n_labels, n_labels)}
        shapes |= {"three": (K, K, K)} if order == 2 else {}  # type: ignore[dict-item]
        prefixes = ["", "sum_"] if "sum_table" in learning else [""]
        if set(learning) != {"t", "reach", *(prefix + name for prefix in prefixes for name in shapes)}:
            raise ValueError(f"learning must hold t, reach and the tables of weights, got {sorted(learning)}")
        for prefix in prefixes:
            for name, shape in shapes.items():
                array = learning[prefix + name]
                if not isinstance(array, np.ndarray) or array.dtype != np.float64 or array.shape != shape:
                    raise ValueError(f"{prefix}{name} must be float64 of shape {shape}")
        t, reach = learning["t"], learning["reach"]
        if type(t) is not int or type(reach) is not float or not (0 <= t < 1 << 62 and 0 <= reach < np.inf):
            raise ValueError(
                f"t must be an int below 2**62 and reach a finite float, both from 0 on; got {t!r:.30}, {reach!r:.30}"
            )
        return cls(learning)

    def load(self) -> AveragedWeights:
        """Weights that learn, in memory of their own."""
        learning, average = self.learning, "sum_table" in self.learning
        (n, K), order = learning["table"].shape, 2 if "three" in learning else 1
        state = AveragedWeights.dense(n, K, order, average)
        for prefix, tables in (("", state.weights), ("sum_", state.sums)):
            for name in ("table", "two", "three"):
                if prefix + name in learning:
                    if not np.isfinite(learning[prefix + name]).all():
                        raise ValueError("the model's file holds weights that are no numbers")
                    getattr(tables, name)[:] = learning[prefix + name]
        state.counters["t"], state.counters["reach"] = learning["t"], learning["reach"]
        return state


def _marks(shape: tuple[int, ...], places: NDArray[np.int64]) -> Bytes:
    marks = np.zeros(shape, np.uint8)
    marks.reshape(-1)[places] = 1
    return marks


class TrainingSequences(NamedTuple):
    """Sequences to learn from: features numbered as the weights are, labels as codes or sets of these."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[Any]
    starts: NDArray[np.int64]
    labels: TokenLabels
    n_tokens: int
    largest: float  # no value is beyond ±
    n_features: int  # among which all are
    n_labels: int

    def __len__(self) -> int:
        return len(self.starts) - 1

    def check(self, n_features: int, n_labels: int) -> None:
        """Check that features and labels are among so many, and that all arrays belong together."""
        n, nnz = self.n_tokens, int(self.indptr[-1])
        if not (
            len(self.indptr) == n + 1 and self.starts[0] == 0 and self.starts[-1] == n and len(self.indices) >= nnz
        ):
            raise ValueError(f"{len(self.indptr) - 1} tokens and {n} labels do not fit the sequences")
        if self.n_features > n_features or self.n_labels > n_labels:
            raise ValueError(f"the weights are of {n_features} features and {n_labels} labels, the tokens of more")

    def run_epoch(
        self, state: AveragedWeights, tagger: tagger_online.OnlineTagger,
        choose: Callable[[], tuple[NDArray[np.int64], Changes]], overflow_message: Callable[[int], str],
    ) -> None:  # fmt: skip
        """Learn from the sequences in the order chosen; ValueError, with that message, before a step would overflow.

        What changes with the first steps, as `choose` says, nobody sees without them.
        """
        position, overflow, order = 0, False, np.empty(0, np.int64)
        tokens = CSRView(self.indptr, self.indices, self.values)

        def step() -> tuple[int, bool]:
            nonlocal order
            changes: Changes = ()
            if not position:
                order, changes = choose()
            data = tokens, self.starts, self.labels, self.largest
            return tagger_online.run(tagger, *data, order, position, BUDGET, (*changes, (state, "_cached", None)))

        while position < len(self) and not overflow:
            position, overflow = state.change(step)
        if overflow:
            raise ValueError(overflow_message(int(order[position])))
