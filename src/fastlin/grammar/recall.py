"""Trees of the constituents that are expected most (Goodman 1996): right ones as many as can be, wrong ones as few."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fastlin.grammar.trees import Child, Tree

Floats = NDArray[np.float64]


class RecallParser:
    """Maker of trees out of expected constituents.

    A tree gains p − t by a constituent of probability p, and the tree that gains most is found over all ways to divide
    the sentence, in any number of parts: a division that no constituent above t says anything about is not shown.

    Parameters
    ----------
    labels : sequence of str
        The columns of what is expected.
    is_tag : array of bool
        Which of them stand over words.
    above : array [labels, labels]
        How often each stands right above each, which orders the labels of a span.
    threshold : float
        t. At 1/2 right and wrong constituents count the same, and the fewer are wrong the higher it is.
    """

    def __init__(self, labels: Sequence[str], is_tag: NDArray[np.bool_], above: Floats, threshold: float) -> None:
        self._labels, self._is_tag, self._above, self._threshold = labels, is_tag, above, threshold

    def tree(self, words: Sequence[str], expected: Floats, root: str) -> Tree:
        """The tree that gains most under a root."""
        splits = self._divide(len(words), np.maximum(expected[:, ~self._is_tag] - self._threshold, 0).sum(axis=1))
        made: list[list[Child]] = []  # children of what comes later, from the left
        order = []  # spans, each after all that it is in
        todo = [(0, len(words))]
        while todo:
            i, j = todo.pop()
            order.append((i, j))
            if j > i + 1:
                middle = int(splits[i, j])
                todo += [(i, middle), (middle, j)]
        for i, j in reversed(order):
            row = expected[j * (j - 1) // 2 + i]
            if j == i + 1:
                tag = int(np.argmax(np.where(self._is_tag, row, -1)))
                children: list[Child] = [Tree(self._labels[tag], [words[i]])]
            else:
                right = made.pop()
                children = made.pop() + right
            for label in self._chain(row, root if (i, j) == (0, len(words)) else None):
                children = [Tree(label, children)]
            made.append(children)
        ((tree,),) = made
        assert isinstance(tree, Tree)
        return tree

    def _divide(self, n_words: int, gains: Floats) -> NDArray[np.int64]:
        """The split of each span that gains most."""
        best = np.zeros((n_words + 1, n_words + 1))
        splits = np.zeros(best.shape, np.int64)
        for length in range(1, n_words + 1):
            for i in range(n_words - length + 1):
                j = i + length
                best[i, j] = gains[j * (j - 1) // 2 + i]
                if length > 1:
                    within = best[i, i + 1 : j] + best[i + 1 : j, j]
                    place = int(np.argmax(within))
                    best[i, j] += within[place]
                    splits[i, j] = i + 1 + place
        return splits

    def _chain(self, expected: Floats, root: str | None) -> list[str]:
        """The labels of a span, from below."""
        found = np.flatnonzero(~self._is_tag & (expected > self._threshold)).tolist()
        ordered: list[int] = []
        while found:  # who has most below, and least above, is next
            scores = [sum(self._above[a, b] - self._above[b, a] for b in found) for a in found]
            ordered.append(found.pop(int(np.argmin(scores))))
        names = [self._labels[place] for place in ordered]
        if root is None:
            return names
        return [name for name in names if name != root] + [root]
