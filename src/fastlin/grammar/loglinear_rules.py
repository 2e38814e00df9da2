"""Rules as log-linear steps: p(rule | left side) ∝ e^(θ·f), so that left sides that are alike share what they say.

    f(θ) = Σ_A n_A log Z_A − Σ_r c_r θ·f_r + ½ Σ_j θ_j²/σ²,      Z_A = Σ_r of A e^(θ·f_r),  n_A = Σ_r of A c_r

With counts c that are expected ones this is the M-step of EM (Berg-Kirkpatrick, Bouchard-Côté, DeNero & Klein 2010).
"""

from collections.abc import Callable, Hashable, Iterable, Iterator

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fastlin.core.checkpoint_reader import CheckpointReader, State
from fastlin.grammar.binarize import Symbol
from fastlin.grammar.rules import RuleCounts, RuleTable
from fastlin.optim.chunked_vectors import ChunkedVectors
from fastlin.optim.convergence_monitor import ConvergenceMonitor
from fastlin.optim.log_linear_problem import WeightPrior
from fastlin.optim.solvers import lbfgs
from fastlin.runtime import parallel

Floats = NDArray[np.float64]
RuleFeatures = Callable[[Symbol, tuple[Symbol, ...]], Iterable[Hashable]]
TOL = 1e-6  # max |∂f| of the optimum, of all counts
MAX_ITERATIONS = 1500
MAX_EM_ITERATIONS = 30  # of one M-step, from the weights of the last
START_COUNTS = 100.0  # of each left side, by which weights are found for probabilities that were not counted


def rule_features(left: Symbol, right: tuple[Symbol, ...]) -> Iterator[Hashable]:
    """The features of a rule: its labels, all together, alone and in pairs, with what its left side knows and without.

    A tag has nothing on the right.
    """
    base, children = (left.label, left.before), tuple((child.label, child.before) for child in right)
    yield "rule", left, children
    yield "rule", base, children
    yield "rule", left.label, children
    yield "right", children
    if children:
        for place in (0, -1):
            child = place, children[place]
            yield "child", left, child
            yield "child", base, child
            yield "child", left.label, child
            yield "child", left.above, child
    shape = len(children), not children or children[-1][1] is None  # whether the constituent ends here
    yield "shape", left, shape
    yield "shape", base, shape
    yield "shape", left.label, left.above, shape


class LogLinearRules:
    """The features of the rules of a grammar, and the weights as they are: a `RuleEstimator`.

    Rules are taken by left side: binary ones, unary ones and tags in `order`, the first of each left side at `starts`.
    """

    def __init__(self, rules: RuleTable, variance: float, features: RuleFeatures = rule_features) -> None:
        left_sides = np.concatenate([rules.binary[:, 0], rules.unary[:, 0], rules.tags])
        self.order = np.argsort(left_sides, kind="stable")
        _, self.starts = np.unique(left_sides[self.order], return_index=True)
        self.features = _matrix(rules, features)[self.order]
        self.transposed = sp.csr_array(self.features.T)
        self.precision = 1 / variance
        self.theta = np.zeros(self.features.shape[1])
        self._sizes = len(rules.binary), len(rules.unary)

    # The M-step

    def begin(self, log_weights: RuleCounts) -> RuleCounts:
        """log p of the rules at the optimum for `START_COUNTS` of each left side, as often as these say."""
        counts = RuleCounts(*(START_COUNTS * np.exp(table) for table in log_weights))
        self.theta[:] = 0.0
        return self.estimate(counts, ConvergenceMonitor(TOL, MAX_ITERATIONS, total_of(counts)))

    def estimate(self, counts: RuleCounts, monitor: ConvergenceMonitor | None = None) -> RuleCounts:
        """log p of the rules, with weights that counts have bettered."""
        if monitor is None:
            monitor = ConvergenceMonitor(TOL, MAX_EM_ITERATIONS, total_of(counts))
        with parallel.WorkerPool(1) as workers:
            problem = RuleObjective(self, np.concatenate(counts[:3])[self.order], workers)
            lbfgs.minimise(problem, self.theta, monitor, np.random.default_rng(0))
        return self.log_weights(counts.roots)

    def log_weights(self, roots: Floats) -> RuleCounts:
        """log p of the rules by the present weights, those of roots by their counts."""
        found = np.empty(len(self.order))
        found[self.order] = self.log_proba(self.theta)
        binary, unary, tags = np.split(found, np.cumsum(self._sizes))
        with np.errstate(divide="ignore"):
            return RuleCounts(binary, unary, tags, np.log(roots / roots.sum()))

    def log_proba(self, theta: Floats) -> Floats:
        """log p of each rule, in `order`."""
        scores, sizes = self.features @ theta, np.diff(self.starts, append=len(self.order))
        scores -= np.repeat(np.maximum.reduceat(scores, self.starts), sizes)
        log_p: Floats = scores - np.repeat(np.log(np.add.reduceat(np.exp(scores), self.starts)), sizes)
        return log_p

    def log_prior(self, log_weights: RuleCounts) -> float:  # noqa: ARG002 - the weights say it
        return -0.5 * self.precision * float(self.theta @ self.theta)

    def state_dict(self) -> State:
        return {"theta": self.theta}

    def load_state_dict(self, saved: CheckpointReader) -> None:
        saved.read_into("theta", self.theta)


class RuleObjective:
    """f of some counts, for the solvers of `optim`."""

    pairs = 10
    has_curvature = True
    inner_type = np.float64

    def __init__(self, rules: LogLinearRules, counts: Floats, workers: parallel.WorkerPool) -> None:
        self._rules, self._counts = rules, counts
        sizes = np.diff(rules.starts, append=len(counts))
        self._totals = np.repeat(np.add.reduceat(counts, rules.starts), sizes)  # n_A, for each rule
        self._observed = rules.transposed @ counts
        self._expected = self._observed
        self.size = self.n_weights = len(rules.theta)
        self.prior = WeightPrior(np.full(self.size, rules.precision), np.empty(0))
        self.pieces = ChunkedVectors(self.size, workers)
        self.passes = 0

    def distance(self, theta: Floats, steepest: Floats) -> float:  # noqa: ARG002 - other objectives scale by it
        return self.pieces.largest(steepest)

    def value(self, theta: Floats, gradient: Floats) -> float:
        """f(θ), and its gradient."""
        self.passes += 1
        log_p = self._rules.log_proba(theta)
        self._expected = self._rules.transposed @ (self._totals * np.exp(log_p))
        gradient[:] = self._expected - self._observed + self._rules.precision * theta
        seen = self._counts > 0
        loss = -float(self._counts[seen] @ log_p[seen])
        return loss + 0.5 * self._rules.precision * float(theta @ theta)

    def diagonal(self) -> Floats:
        """1/σ² and the larger of observed and expected counts."""
        found: Floats = self._rules.precision + np.maximum(self._observed, self._expected)
        return found


def _matrix(rules: RuleTable, features: RuleFeatures) -> sp.csr_array:
    """The features of binary rules, unary ones and tags: a column each, in the order in which they come."""
    columns: dict[Hashable, int] = {}
    indices, starts = list[int](), [0]
    symbols = rules.symbols
    for table in (rules.binary.tolist(), rules.unary.tolist(), rules.tags.reshape(-1, 1).tolist()):
        for left, *right in table:
            found = features(symbols[left], tuple(symbols[child] for child in right))
            try:
                indices += sorted({columns.setdefault(feature, len(columns)) for feature in found})
            except TypeError as error:
                raise TypeError(
                    f"rule_features must yield names that are hashable, of {symbols[left]}: {error}"
                ) from None
            starts.append(len(indices))
    shape = len(starts) - 1, len(columns)
    return sp.csr_array((np.ones(len(indices)), np.array(indices, np.int64), np.array(starts, np.int64)), shape=shape)


def total_of(counts: RuleCounts) -> float:
    """How often rules were used."""
    return float(sum(table.sum() for table in counts[:3]))
