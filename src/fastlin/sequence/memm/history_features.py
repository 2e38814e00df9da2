"""What a local model of labels sees of a token: its features, the labels before it, and products of both."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fastlin.sequence.tokens import Tokens


class Unfolded(NamedTuple):
    """Weights by what they are of."""

    coef: NDArray[Any]  # [K, V]
    start: NDArray[np.float64]  # [K]
    transitions: NDArray[np.float64]  # as those of a Chain
    edges: Any  # CSR [V, K · K], or None


class Histories:
    """The columns of tokens that know the labels before: V features; the label before, or K for none; in order 2, the
    pair of labels before, with K for the missing one; and those of features × the label before that occur.

    A code of −1 stands for a label that is not known.
    """

    def __init__(
        self, tokens: Tokens, codes: NDArray[np.int32], n_labels: int, order: int, conjoined: NDArray[np.int64] | None
    ) -> None:
        self.n_labels, self.order, self._tokens = n_labels, order, tokens
        n, K = tokens.n_tokens, n_labels
        self._first = np.zeros(n, bool)
        self._first[tokens.starts[:-1][tokens.lengths > 0]] = True
        self._before = np.full(n, K)
        self._before[1:] = np.where(self._first[1:], K, codes[:-1])
        self.n_features = tokens.rows.n_columns
        self._parts: list[Any] = [tokens.rows.matrix(), self._indicators(self._before, K + 1)]
        self._known = self._before >= 0  # rows of which nothing is known before are not learnt from
        if order == 2:
            two_before = np.full(n, K)
            two_before[1:] = self._before[:-1]
            pairs = np.where(self._first | ~self._known | (two_before < 0), -1, two_before * K + self._before)
            self._parts.append(self._indicators(pairs, (K + 1) * K))
        self._keys = np.empty(0, np.int64)  # feature · K + label before, of the products that occur
        self._conjoined = conjoined is not None
        if conjoined is not None:
            self._parts.append(self._products(conjoined))
        self.n_columns = sum(part.shape[1] for part in self._parts)

    def matrix(self) -> sp.csr_array:
        """The rows of all tokens."""
        return sp.hstack(self._parts, format="csr")

    def unfold(self, weights: NDArray[Any]) -> Unfolded:
        """Weights [K, columns] by what they are of."""
        V, K = self.n_features, self.n_labels
        coef, rest = weights[:, :V], np.asarray(weights[:, V:].T, np.float64)
        start, transitions, used = rest[K].copy(), rest[:K].copy(), K + 1
        if self.order == 2:
            transitions = transitions + rest[used : used + (K + 1) * K].reshape(K + 1, K, K)
            used += (K + 1) * K
        if not self._conjoined:
            return Unfolded(coef, start, transitions, None)
        features, before = np.divmod(self._keys, K)
        places = before[:, np.newaxis] * K + np.arange(K)
        edges = sp.csr_array((rest[used:].reshape(-1), (np.repeat(features, K), places.reshape(-1))), shape=(V, K * K))
        edges.eliminate_zeros()
        edges.sort_indices()
        return Unfolded(coef, start, transitions, edges)

    def _indicators(self, places: NDArray[np.int64], width: int) -> sp.csr_array:
        """A one in the column of each token; none below 0."""
        has = places >= 0
        indptr = np.concatenate([[0], np.cumsum(has)])
        ones = np.ones(int(indptr[-1]), self._tokens.rows.values.dtype)
        return sp.csr_array((ones, places[has], indptr), shape=(len(places), width))

    def _products(self, conjoined: NDArray[np.int64]) -> sp.csr_array:
        """Values of features in the columns of (feature, label before), those that occur."""
        rows, wanted = self._tokens.rows, np.zeros(self.n_features, bool)
        wanted[conjoined] = True
        of_token = np.repeat(np.arange(len(rows)), np.diff(rows.indptr))
        indices, values = rows.indices[: rows.nnz], rows.values[: rows.nnz]
        kept = wanted[indices] & (~self._first & self._known)[of_token]
        keys = indices[kept].astype(np.int64) * self.n_labels + self._before[of_token[kept]]
        self._keys, places = np.unique(keys, return_inverse=True)
        indptr = np.concatenate([[0], np.cumsum(kept)])[rows.indptr]
        return sp.csr_array((values[kept], places, indptr), shape=(len(rows), len(self._keys)))
