"""Conjugate gradients on the weights of a quadratic model that are not zero: within an orthant it is quadratic."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from fastlin.optim.quadratic_model import QuadraticModel

Vector = NDArray[np.float64]
CG_TOLERANCE = 0.25  # of the residual
CROSSING_SHARE = 0.004  # of the weights, beside one: where more would change their sign, descent has to go on


class FreeWeights:
    """The weights of a model that are not zero, with the intercepts behind them, of which there is no L1 term."""

    def __init__(self, model: "QuadraticModel") -> None:
        self.model, self.rows, self.free = model, model.rows, np.flatnonzero(model.z)
        self.n, bias, none = len(self.free), model.rows.bias, np.zeros(len(model.rows.bias))
        self.places = np.append(self.free, len(model.z) + np.arange(len(bias)))
        self.start = np.append(model.z[self.free], bias)
        self.l1, self.shift = np.append(model.l1[self.free], none), np.append(model.shift[self.free], none)
        self.ridge = np.append(model.ridge[self.free], self.rows.intercept_ridge)
        self.diagonal = np.append(model.curvature[self.free], self.rows.intercept_curvature)

    def spread(self, t: Vector) -> Vector:
        """Steps of these as steps of all weights of the model, and of the intercepts."""
        whole = np.zeros(len(self.model.z) + len(self.rows.bias))
        whole[self.places] = t
        return whole

    def scores(self, t: Vector) -> Vector:
        """The change of the scores."""
        return self.model.by_row.scores(self.spread(t))

    def product(self, t: Vector) -> Vector:
        """The model's curvature times steps of these."""
        return self.rows.curve(self.model.by_row, self.spread(t))[self.places] + self.ridge * t

    def gradient(self) -> Vector:
        """That of the model in this orthant."""
        slopes = self.rows.slopes()
        found = np.append(self.model.coordinates.some(self.free).dots(slopes), self.rows.sum_intercepts(slopes))
        return found + self.l1 * np.sign(self.start) + self.ridge * self.start + self.shift

    def solve(self, limit: int) -> bool:
        """Conjugate gradients, preconditioned by the diagonal, and a step along what they find."""
        r = -self.gradient()
        t, p = np.zeros(len(r)), r / self.diagonal
        first = size = float(r @ p)
        for _ in range(limit):
            if not size > CG_TOLERANCE**2 * first:
                break
            Hp = self.product(p)
            bend = float(p @ Hp)
            if not bend > 0:
                break
            t += (size / bend) * p
            r -= (size / bend) * Hp
            if np.count_nonzero(self.crosses(self.start + t)) > 1 + CROSSING_SHARE * self.n:
                break
            y = r / self.diagonal
            before, size = size, float(r @ y)
            p = y + (size / before) * p
        self.move(t)
        return size <= CG_TOLERANCE**2 * first

    def crosses(self, end: Vector) -> NDArray[np.bool_]:
        """Which weights have changed their sign."""
        return end[: self.n] * self.start[: self.n] < 0

    def move(self, t: Vector) -> None:
        """Go along a step of descent, weights that would change their sign to zero; less far if the model gets worse.

        At least as far as the first sign that changes: within the orthant the model gets better all the way. Then the
        step has been cut.
        """
        crossing = np.flatnonzero(self.crosses(self.start + t))
        borders = self.start[crossing] / -t[crossing]
        share, first, worse = 2.0, borders.min(initial=1.0), True
        while worse:
            share = max(0.5 * share, first)
            end = self.start + share * t
            end[crossing[borders <= share]] = 0.0
            u = self.scores(end - self.start)
            worse = share > first and self.change(end - self.start, u) > 0
        self.cut = share < 1
        self.model.z[self.free] = end[: self.n]
        self.rows.advance(u)
        self.rows.bias[:] = end[self.n :]

    def change(self, d: Vector, u: Vector) -> float:
        """What the model changes by with a step, which changes the scores by u."""
        loss = float((u * self.rows.slopes()).sum() + 0.5 * (u * self.rows.product(u)).sum())
        ridge = float(d @ (self.ridge * (self.start + 0.5 * d) + self.shift))
        return loss + ridge + float(self.l1 @ (np.abs(self.start + d) - np.abs(self.start)))
