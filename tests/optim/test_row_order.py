"""Orders of epochs are numpy's permutations, and leave the generator where numpy leaves it."""

import numpy as np
import pytest

from fastlin.engine.online import row_order

SIZES = [*range(70), 127, 128, 129, 1000, 2**16 - 1, 2**16, 2**16 + 1, 100_003]


@pytest.mark.parametrize("kind", [np.random.PCG64, np.random.MT19937, np.random.Philox, np.random.SFC64])
def test_an_order_is_numpys_permutation(kind):
    mine, theirs = (np.random.Generator(kind(7)) for _ in range(2))
    for n in SIZES:
        mine.random(dtype=np.float32), theirs.random(dtype=np.float32)  # half of a number may be left over
        np.testing.assert_array_equal(row_order.permutation(mine, n), theirs.permutation(n), strict=True)
    assert mine.integers(2**62) == theirs.integers(2**62)
