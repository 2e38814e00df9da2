"""Labels of sequences, as `predict` returns them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


class LabelLists(list[list[Any]]):
    """A list with the labels of each sequence, which NumPy takes for a vector of lists, whatever their lengths.

    So scikit-learn's `cross_val_predict` can join those of folds.
    """

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if dtype is not None and np.dtype(dtype) != object:
            raise ValueError(f"labels of sequences are lists, and cannot be {np.dtype(dtype)}")
        if copy is False:
            raise ValueError("an array of the labels of sequences is a copy")
        array = np.empty(len(self), object)
        for place, labels in enumerate(self):
            array[place] = labels
        return array


def as_lists(X: Any) -> Any:
    """Columns of lists of Arrow and Polars as lists of lists; all else as it is."""
    if hasattr(X, "to_pylist"):
        return X.to_pylist()
    if hasattr(X, "to_list") and hasattr(X, "dtype") and not hasattr(X, "iloc"):
        return X.to_list()
    return X
