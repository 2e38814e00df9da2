"""What users pass as sequences, to tokens that kernels may trust."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fastlin.sequence.attributes import AttributeNames
from fastlin.validation import CSRRows, as_lengths, as_rows

DOUBLE = np.dtype(np.float64)


@dataclass(frozen=True)
class Tokens:
    """Tokens of sequences: a proved CSR of their features, and where each sequence starts.

    Sequence s has the tokens starts[s] … starts[s + 1] − 1. `binary`: every value is 1.
    """

    rows: CSRRows
    starts: NDArray[np.int64]
    binary: bool

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def n_tokens(self) -> int:
        return int(self.starts[-1])

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The number of tokens of each sequence."""
        return np.diff(self.starts)

    def sequence_of(self, tokens: Any) -> Any:
        """The sequence of each of some of all tokens, or of one."""
        return np.searchsorted(self.starts, tokens, side="right") - 1

    def place(self, token: int) -> tuple[int, int]:
        """(sequence, token within it) of one of all tokens."""
        sequence = int(self.sequence_of(token))
        return sequence, token - int(self.starts[sequence])


class Attributes:
    """The names of the features of tokens, numbered in the order of their first appearance.

    A feature of a token is a name with a value. A token that is a string has that one name, a list, tuple or set of
    strings has each of them, and a dict has, for an entry `name: value`,

    * a number, True or False: `name` with that value; a 0 is left out,
    * a string: `name:string`; several strings: each of these,
    * a dict: its own features, each named `name:` and its name.

    Values that are not said are 1; a feature that a token has twice has the sum.

    Parameters
    ----------
    names : iterable of str
        The first ones, all different.

    Examples
    --------
    >>> from fastlin.sequence.tokens import Attributes
    >>> attributes = Attributes()
    >>> tokens = attributes.learn([[{"w": "time", "length": 4}, {"w": "flies", "length": 5}], [["w:time", "first"]]])
    >>> attributes.names
    ['w:time', 'length', 'w:flies', 'first']
    >>> tokens.starts.tolist(), tokens.rows.matrix().toarray().tolist()
    ([0, 2, 3], [[1.0, 4.0, 0.0, 0.0], [0.0, 5.0, 1.0, 0.0], [1.0, 0.0, 0.0, 1.0]])
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._table = AttributeNames(names)
        self._n = len(self._table)

    def __len__(self) -> int:
        return self._n

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.column(name) >= 0

    def __repr__(self) -> str:
        return f"<{len(self)} attributes>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Attributes) and self.names == other.names

    __hash__ = None  # type: ignore[assignment] # they grow

    def __reduce__(self) -> tuple[type[Self], tuple[list[str]]]:
        return type(self), (self.names,)

    def __copy__(self) -> Self:
        """A copy of the names at no cost: what one of the two learns from then on is unknown to the other."""
        other = object.__new__(type(self))
        other._table, other._n = self.table
        return other

    @property
    def table(self) -> tuple[AttributeNames, int]:
        """The table of names, and how many of them are known here."""
        known = self._n  # before the table, which has as many names while others are learnt
        return self._table, known

    @property
    def names(self) -> list[str]:
        """All names in the order of their columns; a new list each time."""
        table, known = self.table
        return table.names(known)

    def column(self, name: str) -> int:
        """The column of a name; −1 if it is unknown.

        Parameters
        ----------
        name : str
            The name of a feature.

        Returns
        -------
        int
            Its number, from 0 on.
        """
        table, known = self.table
        return table.column(name, known)

    def learn(self, X: Any) -> Tokens:
        """The tokens of sequences; names that are new get new columns. After an error, none has.

        Parameters
        ----------
        X : list of sequences
            Of tokens as the models take them: dicts, lists of strings, or strings.

        Returns
        -------
        Tokens
            The tokens as rows of a CSR, and where each sequence starts.
        """
        arrays, table = self._table.learn(X, self._n)
        n_columns = len(table)
        tokens = _tokens(*arrays, n_columns)
        self._table = table
        self._n = n_columns  # behind the table, which has as many names for whoever reads meanwhile
        return tokens

    def read(self, X: Any) -> Tokens:
        """The tokens of sequences, without the features whose names are unknown.

        Parameters
        ----------
        X : list of sequences
            Of tokens as the models take them: dicts, lists of strings, or strings.

        Returns
        -------
        Tokens
            The tokens as rows of a CSR, and where each sequence starts.
        """
        table, known = self.table
        return _tokens(*table.read(X, known), known)


def _tokens(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    values: NDArray[np.float64] | None,
    starts: NDArray[np.int64],
    n_columns: int,
) -> Tokens:
    """Tokens of arrays that were proved as they were made; no values stand for ones."""
    if values is None:
        ones = np.ones(len(indices), np.float32)
        return Tokens(CSRRows(indptr, indices, ones, n_columns, False, False, float(len(ones) > 0)), starts, True)
    negative, zeros, largest = bool((values < 0).any()), bool((values == 0).any()), float(np.abs(values).max())
    rows = CSRRows(indptr, indices, values, n_columns, negative, zeros, largest)
    return Tokens(rows, starts, _binary(rows))


def is_matrix(X: Any) -> bool:
    """Whether X is one matrix, which has no names, and not a list of sequences."""
    if isinstance(X, np.ndarray):
        return X.ndim == 2 and X.dtype.kind in "fiub"
    return sp.issparse(X) or (hasattr(X, "iloc") and X.ndim == 2)


def as_tokens(
    X: Any, lengths: Any, attributes: Attributes | None, learn: bool, *, n_columns: int | None = None
) -> Tokens:
    """The tokens of X: a list of sequences by their names, or, with `lengths`, a matrix, which leaves names alone.

    `attributes` are None for a model that was fitted on a matrix, and `n_columns` is the number of columns that a
    matrix must have; None: any.
    """
    if not is_matrix(X):
        if lengths is not None:
            raise TypeError(
                f"lengths belong to a matrix of tokens, but X is a {type(X).__name__}; sequences that are lists of "
                "tokens have lengths of their own"
            )
        if attributes is None:
            raise TypeError(
                f"the model was fitted on a matrix of {n_columns} columns, which have no names: X must be a matrix, "
                f"too, with lengths, but is a {type(X).__name__}"
            )
        if not learn:
            return attributes.read(X)
        tokens = attributes.learn(X)
        if not len(tokens):
            raise ValueError("X is empty: there is no sequence to learn from")
        return tokens
    if lengths is None:
        raise TypeError(
            f"X is a matrix of shape {X.shape}; give lengths= too, the number of rows of each sequence: [{X.shape[0]}] "
            "for one sequence"
        )
    rows = as_rows(X, dtype=DOUBLE) if X.shape[0] else no_rows(X.shape[1])
    starts = as_lengths(lengths, len(rows))  # as many as were read, whatever X says
    if n_columns is not None and rows.n_columns != n_columns:
        raise ValueError(f"X has {rows.n_columns} features, but the model was fitted with {n_columns}")
    return Tokens(rows, starts, _binary(rows))


def no_rows(n_columns: int) -> CSRRows:
    """What `as_rows` does not make: it refuses what is empty."""
    return CSRRows(np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0, np.float32), n_columns, False, False, 0.0)


def _binary(rows: CSRRows) -> bool:
    return rows.largest <= 1 and not (rows.negative or rows.zeros) and bool((rows.values[: rows.nnz] == 1).all())
