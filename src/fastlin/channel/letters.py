"""Words as the numbers of their letters, one word behind the other."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Letters = tuple[NDArray[np.uint32], NDArray[np.int64]]


def as_letters(words: Sequence[str]) -> Letters:
    """(letters, offsets): of word i the letters offsets[i] to offsets[i + 1], as Unicode numbers them."""
    lengths = np.fromiter(map(len, words), np.int64, len(words))
    letters = np.frombuffer("".join(words).encode("utf-32-le", "surrogatepass"), np.uint32)
    return letters, np.concatenate([[0], np.cumsum(lengths)])
