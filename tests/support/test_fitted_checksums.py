"""The checksums that guard equal bits cover every estimator, and are the same each time."""

import warnings

import numpy as np
import scipy.sparse as sp

import fastlin
from fastlin.registry import CLASSES
from support import fitted_checksums


def test_every_estimator_has_a_case():
    classes = {type(model).__name__ for _, model, _ in fitted_checksums.cases()}
    kept = {name.rsplit(".", 1)[1] for name in CLASSES if name.startswith("fastlin.")}
    assert kept - {"Cache"} <= classes  # a cache learns nothing: it is a part of a mixture


def test_equal_fits_have_equal_checksums_and_others_have_not():
    X, y = fitted_checksums.ROWS, fitted_checksums.THREE
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [
            list(
                fitted_checksums.lines("a case", fastlin.SGDClassifier(max_iter=3, tol=None, random_state=seed), (X, y))
            )
            for seed in (0, 0, 1)
        ]
    assert found[0] == found[1]
    assert sum(one != other for one, other in zip(found[0], found[2], strict=True)) > 5
    assert any("later | coef_" in line for line in found[0])


def test_a_checksum_counts_every_bit_and_no_representation():
    checksum, matrix = fitted_checksums.checksum, sp.csr_array([[0.0, 1.0], [2.0, 0.0]])
    assert checksum(matrix) == checksum(matrix.tocsc())
    assert checksum(np.array([0.0])) != checksum(np.array([-0.0]))
    assert checksum(np.zeros(1)) != checksum(np.zeros(1, np.float32))
    assert checksum({"loss": 1.0, "seconds": 3}) == checksum({"loss": 1.0, "seconds": 4})
    assert checksum([1.0]) != checksum([np.nextafter(1.0, 2)])
