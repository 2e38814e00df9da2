"""Conjunctions: products of columns, so that a linear model can say that two things count together."""

import numbers
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from fastlin.core.estimator import learns, reads
from fastlin.core.transformer import SparseTransformer, assemble, check_columns, names_of_columns
from fastlin.features.conjunction_tree import NO_GROUPS, ConjunctionHashing, ConjunctionTree, compact
from fastlin.validation import MAX_COLUMNS, CSRRows
from fastlin.validation.parameter_kinds import ABSENT, PLAIN, SHARE, TRUTH, Integer, ParameterTable, check_parameters

MOST_GROUPS = 64


class Conjunctions(SparseTransformer):
    """Adds products of columns: x_i·x_j of pairs, and x_i·x_j·x_k of triples.

    A linear model of x and of its conjunctions is a polynomial one: it can learn “both”, “one without the other” and
    exclusive or. The products that training data has (other than zero) become columns, pairs before triples, each
    sorted; what was not seen in training is nothing later. A row costs what its own non-zeros come to, however many
    columns there are.

    Parameters
    ----------
    degree : {2, 3}
        Pairs, or pairs and triples.
    groups : sequence, optional
        Only products between groups of columns: each factor is of another group. A group is a slice, an array of
        column numbers, a mask, or, where X has names for its columns, a list of these. Groups may overlap; a column of
        no group is in no product.
    interaction_only : bool
        False: powers too, x_i², x_i²·x_j, x_i³ (with `groups`: of a column of several groups).
    include_original : bool
        Whether the columns of X come first.
    min_df : int or float
        How many rows must have a product for it to be learnt: a number, or a share of the rows.
    n_features : int, optional
        Learn nothing: add each product to one of so many columns, by a hash of the column numbers it is made of.
    alternate_sign : bool
        With `n_features`: half of the products are subtracted, so that those that collide cancel rather than add up.
    sparse_output : bool
        False makes a dense array.

    Attributes
    ----------
    conjunctions_ : array of shape (n_conjunctions, degree)
        The column numbers of each product learnt, in the order of the output; −1: one factor less.
    n_output_features_ : int
        How many columns come out.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)
        Where X has names for its columns.

    Examples
    --------
    >>> from fastlin import Conjunctions
    >>> X = [[1, 1, 0], [0, 2, 3], [1, 0, 0]]
    >>> pairs = Conjunctions(include_original=True, sparse_output=False).fit(X)
    >>> pairs.get_feature_names_out(["a", "b", "c"]).tolist()
    ['a', 'b', 'c', 'a & b', 'b & c']
    >>> pairs.transform(X).tolist()
    [[1.0, 1.0, 0.0, 1.0, 0.0], [0.0, 2.0, 3.0, 0.0, 6.0], [1.0, 0.0, 0.0, 0.0, 0.0]]
    """

    _parameters: ClassVar[ParameterTable] = {
        "degree": Integer(at_least=2, at_most=3, excess="degree must be 2 or 3, got {value!r}"), "groups": PLAIN,
        "interaction_only": TRUTH, "include_original": TRUTH, "min_df": SHARE,
        "n_features": Integer(at_least=1, at_most=MAX_COLUMNS) | ABSENT, "alternate_sign": TRUTH,
        "sparse_output": TRUTH,
    }  # fmt: skip

    def __init__(
        self,
        degree: int = 2,
        *,
        groups: Any = None,
        interaction_only: bool = True,
        include_original: bool = False,
        min_df: float = 1,
        n_features: int | None = None,
        alternate_sign: bool = True,
        sparse_output: bool = True,
    ) -> None:
        self.degree = degree
        self.groups = groups
        self.interaction_only = interaction_only
        self.include_original = include_original
        self.min_df = min_df
        self.n_features = n_features
        self.alternate_sign = alternate_sign
        self.sparse_output = sparse_output

    n_output_features_: int
    _rank: NDArray[np.int32]
    _finder: ConjunctionTree | ConjunctionHashing

    @learns
    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002 - scikit-learn passes labels to every step
        """Learn which products there are.

        Parameters
        ----------
        X : matrix of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        self
            The transformer, with its products in `conjunctions_`.
        """
        model = self._working_copy()
        model._check_parameters()
        rows = model._rows_to_learn(X)
        groups = model._group_bits()
        if model.n_features is not None:
            model._rank = np.arange(rows.n_columns, dtype=np.int32)
            if len(groups):
                model._rank[groups == 0] = -1
            model._finder = ConjunctionHashing(
                model.degree, not model.interaction_only, groups, int(model.n_features), bool(model.alternate_sign)
            )
            width = int(model.n_features)
        else:
            width = model._learn(rows, groups)
        model.n_output_features_ = width + (rows.n_columns if model.include_original else 0)
        return self._take_fitted(model)

    def transform(self, X: Any) -> Any:
        """The products that the rows of X have.

        Parameters
        ----------
        X : matrix of shape (n_samples, n_features)

        Returns
        -------
        csr_matrix of shape (n_samples, n_output_features_)
            float32 where X is, float64 otherwise.
        """
        rows = self._rows(X)
        check_columns(self, len(self._rank))
        most = float(np.finfo(rows.values.dtype).max)
        if rows.largest > 1 and rows.largest > most ** (1 / self._depth):
            raise ValueError(
                f"X holds values up to {rows.largest:g}: products of {self._depth} would overflow {rows.values.dtype}"
            )
        finder = self._finder
        if isinstance(finder, ConjunctionHashing):
            blocks = [finder.find(compact(rows, self._rank, rows.n_columns))]
        else:
            blocks = finder.find(compact(rows, self._rank, len(finder.starts[0]) - 1))
        if self.include_original:
            blocks.insert(0, assemble(rows.values[: rows.nnz], rows.indices[: rows.nnz], rows.indptr, rows.n_columns))
        return self._given(blocks[0] if len(blocks) == 1 else sp.hstack(blocks, format="csr"), X)

    @reads
    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """“a & b”, “a² & b”; with `n_features`, “bucket 7”: what is in it is not kept.

        Parameters
        ----------
        input_features : array of str of shape (n_features,), optional
            Names of the columns of X; None: those of the data frame it was fitted to, or x0, x1, …

        Returns
        -------
        array of str of shape (n_features_out,)
            In the order of the columns that `transform` returns.
        """
        check_is_fitted(self)
        names = names_of_columns(self, input_features, len(self._rank)).tolist()
        made = list(names) if self.include_original else []
        if isinstance(self._finder, ConjunctionHashing):
            made += [f"bucket {bucket}" for bucket in range(self._finder.n_buckets)]
        else:
            made += [_name(columns, names) for columns in self.conjunctions_.tolist()]
        return np.array(made, dtype=object)

    @property
    @reads
    def conjunctions_(self) -> NDArray[np.int64]:
        """The column numbers of each product, in the order of the output; −1: one factor less."""
        check_is_fitted(self)
        if isinstance(self._finder, ConjunctionHashing):
            raise AttributeError("with n_features, conjunctions are hashed, not learnt: there is no conjunctions_")
        learnt = np.flatnonzero(self._rank >= 0)
        pairs = learnt[self._finder.members(2)]
        if self._depth == 2:
            return pairs
        triples = learnt[self._finder.members(3)]
        return np.vstack([np.column_stack([pairs, np.full(len(pairs), -1)]), triples])

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_finder")

    # Parts

    @property
    def _depth(self) -> int:
        return self._finder.depth if isinstance(self._finder, ConjunctionHashing) else len(self._finder.starts) + 1

    def _check_parameters(self) -> None:
        check_parameters(self)
        if self.n_features is not None and self.min_df != 1:
            raise ValueError("min_df needs to know the products, and with n_features they are hashed: leave it 1")

    def _learn(self, rows: CSRRows, groups: NDArray[np.uint64]) -> int:
        """Only columns that are frequent enough can be in products that are."""
        if len(rows) > MAX_COLUMNS:
            raise ValueError(f"X has {len(rows)} rows; conjunctions are learnt from at most {MAX_COLUMNS}")
        least = int(self.min_df) if isinstance(self.min_df, numbers.Integral) else int(np.ceil(self.min_df * len(rows)))
        cutoff = min(max(1, least), MAX_COLUMNS)
        indices = rows.indices[: rows.nnz]
        indices = indices[rows.values[: rows.nnz] != 0] if rows.zeros else indices
        kept = np.bincount(indices, minlength=rows.n_columns) >= cutoff
        if len(groups):
            kept &= groups != 0
            groups = groups[kept]
        self._rank = np.where(kept, np.cumsum(kept) - 1, -1).astype(np.int32)
        rows = compact(rows, self._rank, int(kept.sum()))
        self._finder = ConjunctionTree.learn(rows, self.degree, not self.interaction_only, cutoff, groups)
        return sum(len(columns) for columns in self._finder.columns)

    def _group_bits(self) -> NDArray[np.uint64]:
        """For each column the groups that it is of, as bits; empty without groups."""
        if self.groups is None:
            return NO_GROUPS
        if isinstance(self.groups, str) or not hasattr(self.groups, "__len__"):
            raise TypeError(f"groups must be a sequence of groups of columns, got {self.groups!r}")
        if not self.degree <= len(self.groups) <= MOST_GROUPS:
            raise ValueError(
                f"groups must hold between degree={self.degree} and {MOST_GROUPS} groups of columns, "
                f"got {len(self.groups)}"
            )
        bits = np.zeros(self.n_features_in_, np.uint64)
        for number, group in enumerate(self.groups):
            bits[self._columns(group, f"groups[{number}]")] |= np.uint64(1 << number)
        return bits

    def _columns(self, group: Any, name: str) -> Any:
        """A group as column numbers, or as a slice."""
        width = self.n_features_in_
        if isinstance(group, slice):
            try:
                group.indices(width)
            except TypeError as error:
                raise TypeError(f"{name} must be a slice of column numbers, got {group!r}") from error
            return group
        if isinstance(group, str) or np.ndim(group) != 1:
            raise TypeError(f"{name} must be a slice or a list of columns, got {group!r}")
        columns = np.asarray(group)
        if columns.dtype.kind == "b":
            if len(columns) != width:
                raise ValueError(f"{name} is a mask of {len(columns)} columns, X has {width}")
            return np.flatnonzero(columns)
        if columns.dtype.kind in "OUT" and len(columns):
            names = getattr(self, "feature_names_in_", None)
            if names is None:
                raise ValueError(f"{name} names columns, and the columns of X have no names: give numbers")
            place = {column: number for number, column in enumerate(names.tolist())}
            unknown = [column for column in columns.tolist() if column not in place]
            if unknown:
                raise ValueError(f"{name} names {unknown[0]!r}, which is no column of X")
            return np.array([place[column] for column in columns.tolist()])
        if columns.dtype.kind not in "iu" and len(columns):
            raise TypeError(f"{name} must hold column numbers or names, got {columns.dtype}")
        wrong = (columns < -width) | (columns >= width)
        if wrong.any():
            raise ValueError(f"{name} holds column {columns[wrong][0]}, and X has {width} columns")
        return columns.astype(np.int64)


def _name(columns: list[int], names: list[str]) -> str:
    """The names of the factors, those of a power once; −1 is none."""
    powers: dict[int, int] = {}
    for column in columns:
        if column >= 0:
            powers[column] = powers.get(column, 0) + 1
    return " & ".join(names[column] + ("", "²", "³")[power - 1] for column, power in powers.items())
