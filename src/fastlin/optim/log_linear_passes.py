"""What a conditional log-linear model asks of each partition: the work of its passes.

Forward gathers over the rows of the design, backward over its columns; the residuals lie between them, [n, K]. Every
function takes an open partition, and then what does not depend on the rows: whoever holds the partition can do the
work. Sums over columns go on from one partition to the next; one that completes them adds the prior while they are in
cache, and where nobody does, it is added to the sums when they are there.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.engine.core import vector_ops
from fastlin.engine.core.csr_view import CSRView
from fastlin.engine.core.gram import solve_gram
from fastlin.optim.design import Design
from fastlin.optim.gram import GramRows, mirror
from fastlin.optim.partitions import Blocks, Partition, PerRowArrays, column_blocks, instance_blocks
from fastlin.optim.weight_layouts import WeightLayout

Vector = NDArray[Any]
Fill = Callable[..., float]  # fill(partition, residual, *arguments) writes residuals; what it returns is added up


@dataclass(frozen=True)
class LogLinearModel:
    """A model without its weights, and the names of what its passes leave with the rows."""

    layout: WeightLayout
    precision: Vector  # 1/σ², one for each entry of the prior
    mean: Vector  # empty for zeros
    n_weights: int
    size: int  # with the intercepts
    residual: PerRowArrays
    shares: PerRowArrays

    def prior_of(self, span: slice) -> tuple[Vector, Vector, int]:
        """Means, precisions and how many weights share one, for a span of the weights."""
        step = self.layout.weights_per_feature
        mean = self.mean[span] if len(self.mean) else self.mean
        return mean, self.precision[span.start // step : span.stop // step], step

    def scores(self, design: Design, theta: Vector, start: int, stop: int) -> NDArray[np.float64]:
        """X θ of a block of rows."""
        bias, n = np.zeros(self.layout.width), self.n_weights
        bias[: self.size - n] = theta[n:]
        return self.layout.forward(design, theta[:n], bias, start, stop)

    def sum_rows(self, of_rows: NDArray[Any]) -> NDArray[np.float64]:
        """Sums over some rows of each column that has an intercept."""
        if self.size == self.n_weights:
            return np.empty(0)
        if of_rows.shape[1] == 1:
            return of_rows.sum(axis=0, dtype=np.float64)
        sums = np.empty(of_rows.shape[1])
        vector_ops.sum_rows(of_rows, sums)  # numpy takes ten times as long over short rows
        return sums

    def sum_over_rows(self, part: Partition, of_rows: NDArray[Any]) -> Any:
        """The same over the rows of a partition."""
        return sum(over_rows(part, lambda start, stop: self.sum_rows(of_rows[start:stop])))


def over_rows(part: Partition, work: Callable[[int, int], Any]) -> list[Any]:
    """work(start, stop) of blocks of rows."""
    return part.map_blocks(work, instance_blocks)


def over_columns(part: Partition, model: LogLinearModel, work: Callable[[int, int], Any]) -> list[Any]:
    """work(low, high) of blocks of features."""
    return part.map_blocks(work, column_blocks, model.layout.width)


def feature_blocks(part: Partition, width: int) -> Blocks:
    """The blocks of features that threads share, for sums over the weights alone, too."""
    return part.blocks(column_blocks, width)


# Forward


def fill_loss(part: Partition, residual: Vector, model: LogLinearModel, theta: Vector) -> float:
    """−Σ w log p, which leaves residuals and shares behind."""
    shares = part.map(model.shares)

    def forward(start: int, stop: int) -> float:
        scores, block = model.scores(part.design, theta, start, stop), slice(start, stop)
        return part.likelihood.loss(scores, start, stop, residual[block], shares[block])

    return sum(over_rows(part, forward))


def loss(part: Partition, model: LogLinearModel, theta: Vector) -> float:
    """−Σ w log p."""
    return fill_loss(part, part.map(model.residual), model, theta)


def fill_step(
    part: Partition,
    residual: Vector,
    model: LogLinearModel,
    scores: PerRowArrays,
    direction_scores: PerRowArrays,
    step: float,
) -> float:
    """−Σ w log p where the scores are S + αU, which S becomes."""
    shares, its_scores, direction = part.map(model.shares), part.map(scores), part.map(direction_scores)

    def work(start: int, stop: int) -> float:
        block = slice(start, stop)
        if step:
            its_scores[block] += step * direction[block]
        return part.likelihood.loss(its_scores[block].copy(), start, stop, residual[block], shares[block])

    return sum(over_rows(part, work))


def store_scores(part: Partition, model: LogLinearModel, theta: Vector, out: PerRowArrays) -> None:
    """X θ, which stays with the rows."""
    write_scores(part, model, theta, part.map(out))


def write_scores(part: Partition, model: LogLinearModel, theta: Vector, scores: Vector) -> None:
    """X θ."""

    def forward(start: int, stop: int) -> None:
        scores[start:stop] = model.scores(part.design, theta, start, stop)

    over_rows(part, forward)


def line_derivatives(
    part: Partition, model: LogLinearModel, scores: PerRowArrays, direction_scores: PerRowArrays, step: float
) -> tuple[float, float, float]:
    """The loss where the scores are S + αU, and its first two derivatives in α."""
    shares, residual = part.map(model.shares), part.map(model.residual)
    its_scores, directions = part.map(scores), part.map(direction_scores)

    def work(start: int, stop: int) -> tuple[float, float, float]:
        block, direction = slice(start, stop), directions[start:stop]
        own = residual[block]
        value = part.likelihood.loss(its_scores[block] + step * direction, start, stop, own, shares[block])
        curvature = np.empty_like(direction)
        part.likelihood.curvature(direction, start, stop, shares[block], curvature)
        slope = vector_ops.dot(own.reshape(-1), direction.reshape(-1))
        return value, slope, vector_ops.dot(curvature.reshape(-1), direction.reshape(-1))

    found = over_rows(part, work)
    return sum(each[0] for each in found), sum(each[1] for each in found), sum(each[2] for each in found)


def span_derivatives(
    part: Partition, model: LogLinearModel, scores: Sequence[PerRowArrays], share: Vector
) -> tuple[float, Vector, Vector]:
    """The loss where the scores are Σ_m c_m S_m, and its derivatives by c: the gradient and the Hessian."""
    residual, shares, its_scores = part.map(model.residual), part.map(model.shares), [part.map(each) for each in scores]

    def work(start: int, stop: int) -> tuple[float, Vector, Vector]:
        block, own = slice(start, stop), residual[start:stop]
        blocks = [each[block] for each in its_scores]
        mixed = share[0] * blocks[0]
        for each, more in zip(share[1:], blocks[1:], strict=True):
            mixed += each * more
        value = part.likelihood.loss(mixed, start, stop, own, shares[block])
        curvature, hessian = np.empty_like(own), np.empty((len(blocks), len(blocks)))
        for row, each in zip(hessian, blocks, strict=True):
            part.likelihood.curvature(each, start, stop, shares[block], curvature)
            row[:] = [vector_ops.dot(curvature.reshape(-1), other.reshape(-1)) for other in blocks]
        return value, np.array([vector_ops.dot(own.reshape(-1), each.reshape(-1)) for each in blocks]), hessian

    found = over_rows(part, work)
    return sum(each[0] for each in found), sum(each[1] for each in found), sum(each[2] for each in found)


# Backward


def gradient(
    part: Partition,
    model: LogLinearModel,
    residuals: PerRowArrays,
    fill: Fill,
    arguments: tuple[Any, ...],
    theta: Vector,
    sums: Vector,
) -> tuple[float, float]:
    """The gradient from the residuals that `fill` writes; what that returns, and the prior's part of f at θ."""
    residual = part.map(residuals)
    found = fill(part, residual, *arguments)
    values, n = part.design.column_values, model.n_weights

    def backward(low: int, high: int) -> float:
        span = model.layout.slice_of(low, high)
        model.layout.backward(part.design, values, residual, low, high, sums[span], more=not part.starts_sums)
        return vector_ops.prior_penalty(theta[span], *model.prior_of(span), sums[span]) if part.completes_sums else 0.0

    penalty = sum(over_columns(part, model, backward))
    if part.starts_sums:
        sums[n:] = 0
    sums[n:] += model.sum_over_rows(part, residual)
    return found, penalty


def product(
    part: Partition, model: LogLinearModel, curvatures: PerRowArrays, p: Vector, Hp: Vector, sums: Vector
) -> tuple[NDArray[np.float64], float]:
    """Hp from the sums of all partitions, of length 0 where there is one; the intercepts' part of it, and pᵀHp."""
    shares, curvature = part.map(model.shares), part.map(curvatures)

    def forward(start: int, stop: int) -> NDArray[np.float64]:
        scores, block = model.scores(part.design, p, start, stop), slice(start, stop)
        part.likelihood.curvature(scores, start, stop, shares[block], curvature[block])
        return model.sum_rows(curvature[block])

    of_intercepts = sum(over_rows(part, forward), np.zeros(model.size - model.n_weights))
    values = part.design.column_values

    def backward(low: int, high: int) -> float:
        span = model.layout.slice_of(low, high)
        found = sums[span] if len(sums) else np.empty(span.stop - span.start)
        model.layout.backward(part.design, values, curvature, low, high, found, more=not part.starts_sums)
        _, precision, step = model.prior_of(span)
        return vector_ops.cg_curvature(found, p[span], precision, step, Hp[span]) if part.completes_sums else 0.0

    return of_intercepts, sum(over_columns(part, model, backward))


def diagonal(part: Partition, model: LogLinearModel, theta: Vector, sums: Vector) -> None:
    """The diagonal of ∇² of the loss at θ or, of length 0, where the value was last taken."""
    if len(theta):
        loss(part, model, theta)
    design, n = part.design, model.n_weights
    variances = part.likelihood.variances(part.map(model.shares))
    squares = np.empty(design.nnz)

    def backward(low: int, high: int) -> None:
        block, span = slice(*design.column_indptr[[low, high]]), model.layout.slice_of(low, high)
        np.square(design.column_values[block], out=squares[block], dtype=np.float64)
        model.layout.backward(design, squares, variances, low, high, sums[span], more=not part.starts_sums)

    over_columns(part, model, backward)
    if part.starts_sums:
        sums[n:] = 0
    sums[n:] += model.sum_over_rows(part, variances)


def hessian(part: Partition, model: LogLinearModel, H: Vector) -> None:
    """∇²f of one column where the value was last taken: each pair of weights in one of its two places."""
    design, n = part.design, model.n_weights
    variances = part.likelihood.variances(part.map(model.shares))
    inner = H[:n, :n] if model.size == n else np.zeros((n, n))
    GramRows(design.indptr, design.indices, design.values, n).add(variances[:, 0], inner)
    if model.size > n:
        H[:n, :n] += inner
        cross = np.empty(n)

        def backward(low: int, high: int) -> None:
            model.layout.backward(design, design.column_values, variances, low, high, cross[low:high])

        over_columns(part, model, backward)
        H[n, :n] += cross
        H[n, n] += float(variances.sum())
    if part.is_last:
        mirror(H)
        H[np.arange(n), np.arange(n)] += model.precision


def newton_step(
    part: Partition,
    model: LogLinearModel,
    ridge: Vector,
    diagonal: Vector,
    gradient: Vector,
    tolerance: float,
    limit: int,
    direction_scores: PerRowArrays,
    step: Vector,
) -> int:
    """Solve (∇² of the loss where the value was last taken + diag(ridge)) s = −gradient, of one column of scores.

    Leaves the scores of s with the rows; returns the number of products. `diagonal` preconditions.
    """
    design, scores = part.design, part.map(direction_scores)[:, 0]
    variances = part.likelihood.variances(part.map(model.shares))[:, 0]
    rows, n = CSRView(design.indptr, design.indices, design.values), model.n_weights
    return solve_gram(rows, variances, ridge, diagonal, gradient, n, tolerance, limit, step, scores)


def largest_values(part: Partition, of_columns: Vector) -> None:
    """max |x| of each column, of this partition and those before."""
    starts = part.design.column_indptr
    filled = np.flatnonzero(np.diff(starts) > 0)
    if len(filled):
        values, first = part.design.column_values[: starts[-1]], starts[:-1][filled]
        found = np.maximum(np.maximum.reduceat(values, first), -np.minimum.reduceat(values, first))
        of_columns[filled] = np.maximum(of_columns[filled], found)
