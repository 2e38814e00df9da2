"""Decoding with a beam."""

import numpy as np
from numpy.typing import NDArray

from fastlin.engine.chain import beam as kernels
from fastlin.sequence.chain_batches import ChainBatch


def beam_paths(block: ChainBatch, width: int) -> NDArray[np.int32]:
    """The labels of the paths that a beam finds; a sequence for which it finds none is decoded exactly."""
    chain, starts = block.chain, block.starts
    given = chain.given(*block.potentials)
    codes, values = np.empty(len(given[0]), np.int32), np.empty(len(starts) - 1)
    transitions, ends = chain.transitions.reshape(-1, chain.n_labels), chain.end.reshape(-1)
    kernels.best_paths(chain.start, transitions, ends, *given, starts, width, codes, values)
    for place in np.flatnonzero(values == -np.inf):
        codes[starts[place] : starts[place + 1]] = block.only(int(place)).infer("viterbi")[0]
    return codes
