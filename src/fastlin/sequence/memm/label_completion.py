"""Labels of a MEMM's training that are known in part, completed by the best paths that are allowed.

    θ₀ = argmin over the tokens whose labels, own and before, are known
    y_r = argmax p(y | x; θ_{r−1}) over the labels allowed        θ_r = argmin Σ −log p(y_r | x; θ) + prior

Neither step raises Σ −log p(y | x) + prior where all weights are there; the rounds end when no label changes.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from fastlin.core.checkpoint_reader import CheckpointReader, State
from fastlin.core.fit_monitor import FitMonitor
from fastlin.sequence.partial_labels import LabelCodes
from fastlin.sequence.tokens import Tokens

MAX_ROUNDS = 25
Codes = NDArray[np.int32]
Rows = NDArray[np.bool_]


class LabelCompletion:
    """The rounds so far, and the labels that are learnt in the present one; −1 where there is none yet."""

    def __init__(self, tokens: Tokens, labels: LabelCodes, order: int) -> None:
        self._labels, self._order, self._starts = labels, order, tokens.starts
        self.round, self.codes = 0, np.maximum(labels.codes, -1).astype(np.int32)

    def state_dict(self) -> State:
        return {"round": self.round, "codes": self.codes}

    def load_state_dict(self, saved: CheckpointReader) -> None:
        self.round = saved.integer("round", 0, MAX_ROUNDS)
        self.codes = saved.array("codes", self.codes)
        kept = self._labels.codes >= 0
        least = -1 if self.round == 0 else 0
        if ((self.codes < least) | (self.codes >= self._labels.n_labels)).any() or (
            self.codes[kept] != self._labels.codes[kept]
        ).any():
            saved.reject("codes")

    @property
    def learnable(self) -> Rows | None:
        """The tokens whose label and labels before are there; None: all."""
        if self.round:
            return None
        within = np.arange(len(self.codes)) - np.repeat(self._starts[:-1], np.diff(self._starts))
        there = self.codes >= 0
        found = there.copy()
        for back in range(1, self._order + 1):
            found[back:] &= there[:-back] | (within[back:] < back)
        return found

    def run(
        self, monitor: FitMonitor, learn: Callable[[Codes, Rows | None], bool], decode: Callable[[], Codes]
    ) -> bool:
        """Learn and decode in turns; whether the labels stand still at the end.

        `learn` says whether to go on; `decode` returns the best paths by what was learnt last.
        """
        monitor.register("completion", self)
        while learn(self.codes, self.learnable):
            found = decode()
            if (found == self.codes).all():
                return True
            if self.round == MAX_ROUNDS:
                return False
            self.round, self.codes = self.round + 1, found
        return True
