"""Functions of single columns, side by side: what a linear model of x lacks may be linear in x²."""

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from fastlin.core.estimator import learns, reads
from fastlin.core.transformer import SparseTransformer, assemble, check_columns, names_of_columns
from fastlin.validation import one_of
from fastlin.validation.parameter_kinds import STRINGS, TRUTH, ParameterTable

Values = NDArray[Any]

# the function, and the name of its column; all are 0 at 0
FUNCTIONS: dict[str, tuple[Callable[[Values], Values], str]] = {
    "identity": (lambda x: x, "{}"),
    "square": (np.square, "{}²"),
    "abs": (np.abs, "|{}|"),
    "log": (lambda x: np.copysign(np.log1p(np.abs(x)), x), "log(1+|{}|)"),
    "sqrt": (lambda x: np.copysign(np.sqrt(np.abs(x)), x), "√|{}|"),
    "binary": (lambda x: (x != 0).astype(x.dtype), "{}≠0"),
}


class Elementwise(SparseTransformer):
    """Puts functions of every column side by side.

    X becomes [f(X) | g(X) | …], one block of n_features_in_ columns a function. Every function is 0 at 0, so that
    sparse rows stay as sparse; explicit zeros stay explicit.

    Parameters
    ----------
    functions : sequence of {"identity", "square", "abs", "log", "sqrt", "binary"}
        The blocks, in order: x; x²; |x|; sgn(x) log(1 + |x|), the usual scale of counts; sgn(x) √|x|; 1 where x ≠ 0.
    sparse_output : bool
        False makes a dense array.

    Attributes
    ----------
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)
        Where X has names for its columns.

    Examples
    --------
    >>> from fastlin import Elementwise
    >>> stacked = Elementwise(functions=("identity", "square", "abs"), sparse_output=False)
    >>> stacked.fit_transform([[0, -2.0], [3.0, 0]]).tolist()
    [[0.0, -2.0, 0.0, 4.0, 0.0, 2.0], [3.0, 0.0, 9.0, 0.0, 3.0, 0.0]]
    >>> stacked.get_feature_names_out(["a", "b"]).tolist()
    ['a', 'b', 'a²', 'b²', '|a|', '|b|']
    """

    _parameters: ClassVar[ParameterTable] = {"functions": STRINGS, "sparse_output": TRUTH}

    def __init__(self, functions: Any = ("identity", "square"), *, sparse_output: bool = True) -> None:
        self.functions = functions
        self.sparse_output = sparse_output

    _n_columns: int

    @learns
    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002 - scikit-learn passes labels to every step
        """Check the parameters, and take note of the columns of X.

        Parameters
        ----------
        X : matrix of shape (n_samples, n_features)
            Dense or sparse.
        y : None
            Ignored.

        Returns
        -------
        self
            The transformer, with `n_features_in_`.
        """
        model = self._working_copy()
        model._names()
        model._n_columns = model._rows_to_learn(X).n_columns
        return self._take_fitted(model)

    def transform(self, X: Any) -> Any:
        """The functions of X, side by side.

        Parameters
        ----------
        X : matrix of shape (n_samples, n_features)

        Returns
        -------
        csr_matrix of shape (n_samples, n_features · number of functions)
            float32 where X is, float64 otherwise.
        """
        rows = self._rows(X)
        check_columns(self, self._n_columns)
        values, width = rows.values[: rows.nnz], rows.n_columns
        blocks = []
        for name in self._names():
            with np.errstate(under="ignore"):
                made = FUNCTIONS[name][0](values)
            blocks.append(assemble(made, rows.indices[: rows.nnz], rows.indptr, width))
        return self._given(sp.hstack(blocks, format="csr"), X)

    @reads
    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the columns: x, x², \\|x\\|, log(1+\\|x\\|), √\\|x\\|, x≠0, with the name of the column for x.

        Parameters
        ----------
        input_features : array of str of shape (n_features,), optional
            Names of the columns of X; None: those of the data frame it was fitted to, or x0, x1, …

        Returns
        -------
        array of str of shape (n_features_out,)
            All columns of the first function, then all of the second, and so on.
        """
        check_is_fitted(self)
        names = names_of_columns(self, input_features, self._n_columns)
        return np.array([FUNCTIONS[function][1].format(name) for function in self._names() for name in names], object)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_n_columns")

    def _names(self) -> list[str]:
        functions = self.functions
        if isinstance(functions, str) or not isinstance(functions, list | tuple | np.ndarray) or not len(functions):
            raise ValueError(f"functions must be a sequence of names such as ('identity', 'square'), got {functions!r}")
        names = [one_of("functions", name, FUNCTIONS) for name in functions]
        if len(set(names)) < len(names):
            raise ValueError(f"functions names a function twice: {functions!r}")
        return names
