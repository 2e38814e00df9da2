"""The container of a sparse result."""

from typing import Any, Self

from fastlin.core.estimator import Estimator, learns
from fastlin.validation import one_of


class SparseOutput(Estimator):
    """`set_output` of transformers whose output is sparse: a CSR, or a data frame of sparse columns."""

    @learns
    def set_output(self, *, transform: str | None = None) -> Self:
        """Choose what `transform` and `fit_transform` return.

        Parameters
        ----------
        transform : {"default", "pandas"} or None
            A CSR, or a pandas data frame whose columns are sparse and named; None changes nothing.
        """
        if transform is not None:
            self._container = one_of("transform", transform, ("default", "pandas"))
        return self

    def _output(self, matrix: Any, documents: Any) -> Any:
        if getattr(self, "_container", "default") == "default":
            return matrix
        return sparse_frame(matrix, documents, self.get_feature_names_out())


def sparse_frame(matrix: Any, X: Any, names: Any) -> Any:
    """A data frame of sparse columns, with the rows' names of X, if it has any."""
    import pandas as pd

    index = X.index if isinstance(X, pd.Series | pd.DataFrame) else None
    return pd.DataFrame.sparse.from_spmatrix(matrix, index=index, columns=names)
