"""From counts to tf-idf and rows of unit norm, in threads."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.engine.text import tfidf
from fastlin.runtime import parallel

NORMS = {None: tfidf.NONE, "l1": tfidf.L1, "l2": tfidf.L2}
SUBLINEAR_LEVELS = np.concatenate([[0.0], 1.0 + np.log(np.arange(1.0, 256.0))])  # the sublinear tf of 0, 1, 2, …
NO_IDF = np.empty(0)
WORK_PER_WEIGHT = 4  # multiply–adds


def weigh(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    counts: NDArray[Any],
    out: NDArray[Any],
    norm: str | None,
    idf: NDArray[np.float64] = NO_IDF,
    sublinear_tf: bool = False,
    n_jobs: int | None = None,
) -> None:
    """out = the weights of a proved CSR of counts (int32, int64, float32 or float64), which `out` may be.

    Without `idf`, all are 1.
    """
    levels = SUBLINEAR_LEVELS if sublinear_tf else NO_IDF

    def work(start: int, stop: int) -> None:
        tfidf.tfidf_weights(indptr, indices, counts, start, stop, idf, levels, NORMS[norm], out)

    parallel.run_jobs(work, parallel.split_by_work(indptr, WORK_PER_WEIGHT), n_jobs)
