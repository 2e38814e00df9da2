"""The container of a sparse result: a CSR, or a data frame."""

from typing import Any, Literal, Self

from fastlin.core.estimator import Estimator, learns
from fastlin.validation import one_of

FRAMES = "pandas", "polars"


class SparseOutput(Estimator):
    """`set_output` of transformers whose output is sparse: a CSR, or a data frame."""

    @learns
    def set_output(self, *, transform: Literal["default", "pandas", "polars"] | None = None) -> Self:
        """Choose what `transform` and `fit_transform` return.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"} or None
            A CSR, a pandas data frame whose columns are sparse and named, or a polars data frame, whose columns are
            dense; None changes nothing.

        Returns
        -------
        self
            The transformer, which returns that from now on.
        """
        if transform is not None:
            chosen = one_of("transform", transform, ("default", *FRAMES))
            self._sklearn_output_config = {"transform": chosen}  # which scikit-learn's clone copies
        return self

    def _output(self, matrix: Any, documents: Any) -> Any:
        kind = getattr(self, "_sklearn_output_config", {}).get("transform", "default")
        return matrix if kind == "default" else frame_of(matrix, documents, self.get_feature_names_out(), kind)


def frame_of(matrix: Any, X: Any, names: Any, kind: str) -> Any:
    """A frame: of pandas, of sparse columns, with the rows' names of X, if it has any; of polars, of dense columns."""
    if kind == "polars":
        import polars

        return polars.DataFrame(matrix.toarray(), schema=[str(name) for name in names], orient="row")
    import pandas as pd

    index = X.index if isinstance(X, pd.Series | pd.DataFrame) else None
    return pd.DataFrame.sparse.from_spmatrix(matrix, index=index, columns=names)
