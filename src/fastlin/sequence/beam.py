"""Decoding with a beam."""

import numpy as np
from numpy.typing import NDArray

from fastlin.engine import beam as kernels
from fastlin.sequence.base import Block
from fastlin.sequence.chain import NOTHING


def beam_paths(block: Block, width: int) -> NDArray[np.int32]:
    """The labels of the paths that a beam finds; a sequence for which it finds none is decoded exactly."""
    chain, (scores, edges, offsets), starts = block.chain, block.potentials, block.starts
    K = chain.n_labels
    codes, values = np.empty(len(scores), np.int32), np.empty(len(starts) - 1)
    if edges is not None and chain.order > 1:
        raise ValueError("edges belong to chains of order 1")
    of_histories = NOTHING if offsets is None else offsets.reshape(len(scores), -1, K)
    kernels.paths(
        chain.start, chain.transitions.reshape(-1, K), chain.end.reshape(-1), scores,
        NOTHING if edges is None else edges, of_histories, starts, width, codes, values,
    )  # fmt: skip
    for place in np.flatnonzero(values == -np.inf):
        codes[starts[place] : starts[place + 1]] = block.only(int(place)).infer("viterbi")[0]
    return codes
