"""What an SVM minimises over the segments of a corpus: costs, curvatures, and how fast its intercept may move."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from fastlin import validation
from fastlin.data import Segment
from fastlin.data.scratch import ScratchArray, ScratchSpace
from fastlin.engine.core.csr_view import CSRView
from fastlin.engine.solvers import svm_dual
from fastlin.validation import CSRRows

INTERCEPT_SPEED = 0.02  # of the mean curvature of a row: how fast the intercept follows the dual variables in a round;
FEW_ROWS_SPEED = 10.0  # times that of few rows, divided by their number;
MIN_INTERCEPT_DAMPING = 1e-6  # and the least share of its own speed
LEAST_OWN_C = 1e-200  # of a row that others' problems have, where its label's class weight is 0

Floats = NDArray[np.float64]
NO_TARGETS: Floats = np.empty(0)


@dataclass(frozen=True)
class SvmObjective:
    """What is to be minimised: ½‖θ‖² + Σ_i C_i ℓ_i.

    Where a row may have several labels, `members` says which of the columns' labels each set has, and `side_factors`
    what multiplies the costs of rows without a label, and with it.
    """

    C: float
    factors: Floats | None  # of the labels
    n_columns: int  # one for two labels
    squared: bool
    joint: bool  # Crammer and Singer's problem, or one against the rest
    scaling: float  # the value of the intercept's feature; 0 for none
    share: float  # what is reported of the objective
    epsilon: float | None = None  # of regression: the residual that costs nothing; None: rows have labels
    members: NDArray[np.uint8] = field(default_factory=lambda: np.empty((0, 0), np.uint8))  # [sets, columns]
    side_factors: Floats = field(default_factory=lambda: np.empty((0, 0)))  # [2, columns]; of length 0 for ones

    @property
    def weighs_positive(self) -> bool:
        """Whether the factors weigh the rows of the one alone, and not of the rest."""
        return self.factors is not None and self.n_columns > 1 and not self.joint


class BlockOfLabels(Protocol):
    """Neighbouring labels in training, as records and the model tell of them."""

    problem: "SvmProblem"
    objective: float
    value: float  # the dual objective
    gap: float
    finished: bool

    @property
    def weights(self) -> Floats:
        """θ, [V, K]."""

    @property
    def bias(self) -> Floats:
        """The weights of the intercept's feature."""


class SegmentBlock(NamedTuple):
    """A segment, as the ascent sees it."""

    number: int
    rows: CSRRows
    labels: NDArray[np.int32]
    targets: Floats  # in the place of labels, in regression
    C: Floats  # a row's own; 0 leaves it out
    own_cost: Floats  # the same in the problem of its own label
    norms: Floats
    bound: svm_dual.SvmRows


class SvmProblem:
    """The costs of the rows of a corpus."""

    def __init__(self, corpus: Any, costs: SvmObjective, scratch: ScratchSpace, targets: Floats = NO_TARGETS) -> None:
        self.corpus, self.objective, self.scratch, self.targets = corpus, costs, scratch, targets
        self.sizes = np.diff(corpus.bounds).tolist()
        self._bound: SegmentBlock | None = None
        self.C, self.norms = [scratch.zeros(size) for size in self.sizes], [scratch.zeros(size) for size in self.sizes]
        self.own_C = [scratch.zeros(size) for size in self.sizes] if costs.weighs_positive else self.C
        weight, squares = np.sum([self._prepare(corpus.segment(b.number), b) for b in self.blocks()], axis=0).tolist()
        if not weight > 0:
            raise ValueError("the weight of every row is zero (sample_weight × class_weight): nothing to learn from")
        n = len(corpus)
        rate = max(INTERCEPT_SPEED, FEW_ROWS_SPEED / n) * (
            squares / n + 0.5 * n / weight
        )  # of the squared hinge, the mean curvature
        self.intercept_damping = max(MIN_INTERCEPT_DAMPING, 1 / (1 + costs.scaling**2 / rate)) if rate > 0 else 1.0
        for C, norms in zip(self.C, self.norms, strict=True):
            with C.map() as its_C, norms.map() as its_norms:
                self._add_intercept_curvature(its_C, its_norms)

    @property
    def stays(self) -> bool:
        """Whether there is one segment, whose arrays stay in memory: what is bound to them may stay bound."""
        return len(self.sizes) == 1 and type(self.C[0]) is ScratchArray

    @contextmanager
    def block(self, index: int) -> Iterator[SegmentBlock]:
        """A segment and what belongs to it."""
        if self._bound is not None:
            yield self._bound
            return
        with self._open(index) as block:
            self._bound = block if self.stays else None
            yield block

    @contextmanager
    def _open(self, index: int) -> Iterator[SegmentBlock]:
        segment = self.corpus.segment(index)
        with self.C[index].map() as C, self.own_C[index].map() as own_C, self.norms[index].map() as norms:
            rows = segment.rows
            targets = self.targets[segment.start : segment.start + len(rows)]
            view = CSRView(rows.indptr, rows.indices, rows.values)
            bound = svm_dual.SvmRows(view, segment.codes, C, own_C, norms, targets)
            yield SegmentBlock(index, rows, segment.codes, targets, C, own_C, norms, bound)

    def blocks(self) -> Iterator[SegmentBlock]:
        """All of them in order."""
        for index in range(len(self.sizes)):
            with self.block(index) as block:
                yield block

    def _prepare(self, segment: Segment, block: SegmentBlock) -> tuple[float, float]:
        """Check the rows, note their C and squared norms; returns the sums of both."""
        costs, weights = self.objective, segment.weights
        validation.check_values(block.rows, dtype=np.dtype(np.float64), start=segment.start)
        of_rows = weights if len(weights) else 1.0
        if costs.factors is not None and not costs.weighs_positive:
            weights = of_rows = costs.factors[block.labels] * of_rows
        block.C[:] = costs.C / costs.share * of_rows
        if (block.C[weights > 0 if len(weights) else ...] <= 0).any():
            raise ValueError(f"C = {costs.C:g} times the smallest weight of a row is no positive number")
        if costs.factors is not None and costs.weighs_positive:
            own = np.maximum(costs.factors[block.labels] * block.C, LEAST_OWN_C)
            block.own_cost[:] = np.where(block.C > 0, own, 0.0)
        svm_dual.squared_norms(block.rows.indptr, block.rows.values, block.norms)
        return float(block.C.sum()), float(block.norms.sum())

    def _add_intercept_curvature(self, C: Floats, norms: Floats) -> None:
        """Squared norms to curvatures, with the intercept; a number above the true one only makes steps shorter."""
        norms += self.intercept_damping * self.objective.scaling**2
        least = np.ones(len(C))
        np.divide(1e-200, C, where=C > 0, out=least)
        np.maximum(norms, np.maximum(1e-290, least), out=norms)


def sum_over_blocks(blocks: Sequence[BlockOfLabels], name: str) -> float:
    """A value, gap or objective of the whole problem."""
    return blocks[0].problem.objective.share * float(sum(getattr(block, name) for block in blocks))
