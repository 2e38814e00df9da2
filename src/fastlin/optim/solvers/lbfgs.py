"""L-BFGS (Nocedal 1980) in the metric of the diagonal of the first Hessian, whose entry for an unpenalised intercept is
thousands of times that of a rare feature.

The direction is a combination of the last pairs (s, y) and the gradient. Its coefficients follow from their inner
products alone (Chen, Wang & Zhou 2014), so an iteration reads each pair twice, where the two-loop recursion reads
and writes the direction as often again. Pairs are float32 where the data allow: their rounding is a slightly
different metric.
With an L1 term the steps stay in the orthant of the steepest descent (Andrew & Gao 2007), and the direction is that of
the pairs' parts of the weights that are free to move: not zero, or about to leave it. A block of an inverse is not the
inverse of a block: without the other weights' parts the pairs say what the curvature among the free ones is, exactly
where the others rested. A CRF of CoNLL-2000 takes half of the iterations to 1e-4 of its optimum. Only weights at zero
may not go against the steepest descent; leaving that out of all weights takes half as many iterations again.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.core.checkpoint_reader import CheckpointReader, State
from fastlin.engine.core import vector_ops
from fastlin.engine.core.aligned import aligned_zeros
from fastlin.optim.chunked_vectors import ChunkedVectors
from fastlin.optim.convergence_monitor import ConvergenceMonitor
from fastlin.optim.log_linear_problem import Objective
from fastlin.optim.solvers import owlqn
from fastlin.optim.solvers.line_search import ExactLineSearch, make_line_search

ACCURACY = 0.9  # Wolfe's second constant
NEAR_ACCURACY = 0.1  # where trials read no X: a sixth of the iterations less, and the last ones nearer to the optimum

Vector = NDArray[Any]


class LBFGSHistory:
    """The last steps s and changes of gradient y, and the gradient, scaled to z = M^½ θ, with their inner products."""

    def __init__(self, scale: NDArray[np.float64], dtype: Any, pieces: ChunkedVectors, length: int) -> None:
        self.scale, self.pieces, self.length = scale, pieces, length  # M^−½
        self.rows = aligned_zeros(
            (2 * length + 3, len(scale)), dtype
        )  # s in row 2i, y in row 2i + 1, the gradient last
        self.products = np.zeros((len(self.rows), len(self.rows)))
        self.held: list[int] = []  # i, oldest first
        self.free = list(range(length + 1))

    def state(self) -> State:
        names = ("scale", "rows", "products", "held", "free")
        return {name: getattr(self, name) for name in names}

    def restore(self, saved: CheckpointReader) -> None:
        """Become what `state` said."""
        for name in ("scale", "rows", "products"):
            saved.read_into(name, getattr(self, name))
        self.held, self.free = (
            saved.distinct_integers("held", self.length + 1),
            saved.distinct_integers("free", self.length + 1),
        )
        if sorted(self.held + self.free) != list(range(self.length + 1)) or not self.free:
            saved.reject("held")

    def add(self, theta: Vector, gradient: Vector, before: Vector, slopes: Vector) -> None:
        """Take a pair in, for the oldest if need be: what θ and its gradient are, and what they were."""
        place = self.free.pop()
        s, y = self.rows[2 * place], self.rows[2 * place + 1]

        def work(part: slice) -> None:
            np.divide(theta[part] - before[part], self.scale[part], out=s[part], casting="same_kind")
            np.multiply(gradient[part] - slopes[part], self.scale[part], out=y[part], casting="same_kind")

        self.pieces.map(work)
        self.held.append(place)
        if not self.free:
            self.free.append(self.held.pop(0))

    def clear(self) -> None:
        self.free += self.held
        self.held = []

    def direction(self, gradient: Vector) -> NDArray[np.float64]:
        """−H · gradient."""
        self._multiply(gradient)
        if self.held:  # a pair without curvature is none
            s, y = 2 * self.held[-1], 2 * self.held[-1] + 1
            if not self.products[s, y] > np.finfo(self.rows.dtype).eps * self.products[y, y]:
                self.free.append(self.held.pop())
        c, direction = two_loops(self.products, [2 * place for place in self.held]), np.empty(len(gradient))

        self.pieces.map(
            lambda part: vector_ops.lbfgs_combine(self.rows, part.start, part.stop, c, self.scale, direction)
        )
        return direction

    def direction_among(self, free: NDArray[np.int64], gradient: Vector) -> NDArray[np.float64]:
        """−H · gradient, zero but for some coordinates, from the pairs' parts that belong to these."""
        pieces, n = ChunkedVectors(len(free), self.pieces.workers), 2 * len(self.held) + 1
        rows, scale = aligned_zeros((n, len(free)), self.rows.dtype), self.scale[free]
        sources = [row for place in self.held for row in (2 * place, 2 * place + 1)]
        every = np.arange(n)

        def work(part: slice) -> NDArray[np.float64]:
            for row, source in zip(rows, sources, strict=False):
                np.take(self.rows[source], free[part], out=row[part])
            np.multiply(gradient[free[part]], scale[part], out=rows[-1][part], casting="same_kind")
            products = np.empty((n, n))
            vector_ops.lbfgs_products(rows, part.start, part.stop, every, every, products)
            return products

        products: Any = sum(pieces.map(work), np.zeros((n, n)))
        least = np.finfo(self.rows.dtype).eps
        curved = [s for s in range(0, n - 1, 2) if products[s, s + 1] > least * products[s + 1, s + 1]]
        c, found = two_loops(products, curved), np.empty(len(free))
        pieces.map(lambda part: vector_ops.lbfgs_combine(rows, part.start, part.stop, c, scale, found))
        direction = np.zeros(len(gradient))
        direction[free] = found
        return direction

    def _multiply(self, gradient: Vector) -> None:
        """The inner products of the newest pair and of the gradient with every row, in one pass over the rows."""
        rows = np.array([row for place in self.held for row in (2 * place, 2 * place + 1)] + [len(self.rows) - 1])
        some = rows[-3:]

        def work(part: slice) -> NDArray[np.float64]:
            np.multiply(gradient[part], self.scale[part], out=self.rows[-1][part], casting="same_kind")
            products = np.empty((len(rows), len(some)))
            vector_ops.lbfgs_products(self.rows, part.start, part.stop, rows, some, products)
            return products

        products = sum(self.pieces.map(work))
        self.products[np.ix_(rows, some)] = products
        self.products[np.ix_(some, rows)] = products.T


def two_loops(products: NDArray[np.float64], pairs: list[int]) -> NDArray[np.float64]:
    """−H · gradient by the two-loop recursion, as coefficients of rows with these inner products, the gradient last.

    `pairs` are the rows s, oldest first, each before its y.
    """
    c, alphas = np.zeros(len(products)), {}
    c[-1] = -1.0
    for s in reversed(pairs):
        alphas[s] = products[s] @ c / products[s, s + 1]
        c[s + 1] -= alphas[s]
    if pairs:
        s = pairs[-1]
        c *= products[s, s + 1] / products[s + 1, s + 1]
    for s in pairs:
        c[s] += alphas[s] - products[s + 1] @ c / products[s, s + 1]
    return c


def minimise(
    problem: Objective,
    theta: NDArray[np.float64],
    monitor: ConvergenceMonitor,
    generator: np.random.Generator,  # noqa: ARG001 - every solver is called alike
) -> None:
    """Move θ to the minimum, of an elastic net too."""
    saved = monitor.resume("lbfgs")
    point = make_line_search(problem, theta, saved, keeps_scores=False)
    diagonal = problem.diagonal()
    diagonal[~(diagonal > 0)] = 1.0
    pairs = LBFGSHistory(1 / np.sqrt(diagonal), problem.inner_type, problem.pieces, problem.pairs)
    if saved is not None:
        pairs.restore(saved)
    monitor.register_state("lbfgs", problem, lambda: point.state() | pairs.state())
    accuracy = NEAR_ACCURACY if isinstance(point, ExactLineSearch) else ACCURACY
    before, slopes = np.empty(problem.size), np.empty(problem.size)
    while not monitor.log_iteration(point.value, point.gradient_norm, theta, point.gradient, passes=problem.passes):
        monitor.maybe_save()
        monitor.iterations += 1
        problem.pieces.copy(theta, before)
        problem.pieces.copy(point.gradient, slopes)
        if problem.prior.l1:
            free = np.flatnonzero(~owlqn.stays_at_zero(problem, theta, point.steepest))
            direction = pairs.direction_among(free, point.steepest)
            owlqn.align_direction(problem, direction, theta, point.steepest)
        else:
            direction = pairs.direction(point.steepest)
        first = 1.0
        if not pairs.held and not problem.has_curvature:  # trials are dear
            first /= np.sqrt(problem.pieces.dot(direction, direction))
        if point.move(direction, first, accuracy):
            pairs.add(theta, point.gradient, before, slopes)
        elif pairs.held:
            pairs.clear()
        else:
            break
