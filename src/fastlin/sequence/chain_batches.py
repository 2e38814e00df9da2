"""Blocks of sequences, whose potentials are made and inferred together."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastlin.runtime import parallel
from fastlin.sequence.chain import Chain, NoPathError
from fastlin.sequence.constraints import Mask
from fastlin.sequence.tokens import Tokens


class Potentials(NamedTuple):
    """Potentials of some tokens: their scores [n, K] and, where a model has them, what depends on the history.

    `edges` and `offsets` are those of `Chain`.
    """

    scores: NDArray[np.float64]
    edges: NDArray[np.float64] | None = None
    offsets: NDArray[np.float64] | None = None


Potential = Callable[[Tokens, int, int], Potentials]  # of the tokens start to stop


class ChainBatch(NamedTuple):
    """Sequences to infer together: the potentials of their tokens, and where among these each sequence starts."""

    first: int
    start: int
    chain: Chain
    potentials: Potentials
    starts: NDArray[np.int64]

    @property
    def tokens(self) -> slice:
        """The places of the tokens among all."""
        return slice(self.start, self.start + int(self.starts[-1]))

    @property
    def sequences(self) -> slice:
        """The places of the sequences among all."""
        return slice(self.first, self.first + len(self.starts) - 1)

    def only(self, place: int) -> "ChainBatch":
        """One of the sequences, alone."""
        start, stop = int(self.starts[place]), int(self.starts[place + 1])
        own = Potentials(*(None if array is None else array[start:stop] for array in self.potentials))  # type: ignore[arg-type]
        return ChainBatch(self.first + place, self.start + start, self.chain, own, np.array([0, stop - start]))

    def infer(self, method: str, **more: Any) -> Any:
        """Call a method of the chain for the sequences."""
        scores, edges, offsets = self.potentials
        ask = getattr(self.chain, method)
        try:
            return ask(scores=scores, starts=self.starts, edges=edges, offsets=offsets, n_jobs=1, **more)
        except NoPathError as error:
            raise NoPathError(self.first + error.sequence) from None


@dataclass(frozen=True)
class ChainBatches:
    """Tokens as a model sees them: the potentials are made a block at a time."""

    tokens: Tokens
    chain: Chain
    potential: Potential
    masks: Mask | None = None  # which labels each token may have

    def cuts(self) -> Iterator[tuple[int, int]]:
        """The sequences, cut where the work of their tokens reaches a fixed amount, whatever the number of threads."""
        K, starts = self.chain.n_labels, self.tokens.starts
        return parallel.split_by_work(K * self.tokens.rows.indptr[starts] + K ** (self.chain.order + 1) * starts, 1)

    def block(self, first: int, last: int) -> ChainBatch:
        """The sequences first to last."""
        starts = self.tokens.starts[first : last + 1]
        start, stop = int(starts[0]), int(starts[-1])
        found = self.potential(self.tokens, start, stop)
        if self.masks is not None:
            found.scores[~self.masks[start:stop]] = -np.inf
        return ChainBatch(first, start, self.chain, found, starts - start)
