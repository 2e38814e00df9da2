import numpy as np
from numpy.typing import NDArray

def permutation(generator: np.random.Generator, n: int) -> NDArray[np.int64]: ...
