"""Trees of the constituents that are expected most (Goodman 1996): right ones as many as can be, wrong ones as few."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from fastlin.grammar.constraints import NOTHING_GIVEN, Given, span_place
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
    above : dict
        How often each column's label stands right above each, which orders the labels of a span; 0 where it is none.
    roots : sequence of str
        The labels that whole sentences have.
    threshold : float
        t. At 1/2 right and wrong constituents count the same, and the fewer are wrong the higher it is.
    """

    def __init__(
        self,
        labels: Sequence[str],
        is_tag: NDArray[np.bool_],
        above: Mapping[tuple[int, int], float],
        roots: Sequence[str],
        threshold: float,
    ) -> None:
        self._labels, self._is_tag, self._above, self._threshold = labels, is_tag, above, threshold
        self._roots = np.array(sorted({labels.index(root) for root in roots}))

    def tree(self, words: Sequence[str], expected: Floats, given: Given = NOTHING_GIVEN) -> Tree:
        """The tree that gains most under the root that is expected most, of those that have what is given.

        A given bracket without a label has the one that is expected most.
        """
        brackets = given.labels()
        gains = np.maximum(expected[:, ~self._is_tag] - self._threshold, 0).sum(axis=1)
        gains[[span_place(*span) for span in brackets]] += gains.sum() + 1  # more than all there is to lose
        splits = self._divide(len(words), gains)
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
                tag = self._tag(row, None if given.tags is None else given.tags[i])
                children: list[Child] = [words[i] if tag is None else Tree(tag, [words[i]])]
                wanted = brackets.get((i, j), set()).difference([tag])
            else:
                right = made.pop()
                children = made.pop() + right
                wanted = brackets.get((i, j), set())
                if (i, j) in brackets and not wanted:
                    wanted = {self._labels[int(np.argmax(row))]}
            root = self._root(row, children) if (i, j) == (0, len(words)) else None
            for label in self._chain(row, root, wanted):
                children = [Tree(label, children)]
            made.append(children)
        ((tree,),) = made
        assert isinstance(tree, Tree)
        return tree

    def _divide(self, n_words: int, gains: Floats) -> NDArray[np.int64]:
        """The split of each span that gains most, all spans of a length at once."""
        from_first = np.zeros((n_words + 1, n_words + 1))  # the gain of a span, by its first word and how many it has
        from_stop = np.zeros(from_first.shape)  # the same, by the word after it
        splits = np.zeros(from_first.shape, np.int64)
        for length in range(1, n_words + 1):
            first = np.arange(n_words - length + 1)
            stop = first + length
            best = gains[span_place(first, stop)]
            if length > 1:
                within = from_first[: len(first), 1:length] + from_stop[length:, length - 1 : 0 : -1]
                place = within.argmax(axis=1)
                best = best + within[first, place]
                splits[first, stop] = first + 1 + place
            from_first[first, length] = from_stop[stop, length] = best
        return splits

    def _tag(self, expected: Floats, given: str | None) -> str | None:
        """The tag of a word; None: it stands among constituents."""
        tags = np.where(self._is_tag, expected, 0)
        tag = int(np.argmax(tags))
        if given is None and 1 - tags.sum() > tags[tag]:
            return None
        return self._labels[tag] if given is None else given

    def _root(self, expected: Floats, children: list[Child]) -> str | None:
        """The label that whole sentences have and that is expected most; None: the tag of the only word has it."""
        place = self._roots[int(np.argmax(expected[self._roots]))]
        label, below = self._labels[place], children[0]
        alone = len(children) == 1 and isinstance(below, Tree) and below.is_tag and below.label == label
        return None if alone and expected[place] < 1.5 else label

    def _chain(self, expected: Floats, root: str | None, wanted: set[str]) -> list[str]:
        """The labels of a span, from below."""
        found = np.flatnonzero(~self._is_tag & (expected > self._threshold)).tolist()
        found += sorted({self._labels.index(label) for label in wanted}.difference(found))
        ordered: list[int] = []
        above = self._above.get
        while found:  # who has most below, and least above, is next
            scores = [sum(above((a, b), 0.0) - above((b, a), 0.0) for b in found) for a in found]
            ordered.append(found.pop(int(np.argmin(scores))))
        names = [self._labels[place] for place in ordered]
        if root is None:
            return names
        return [name for name in names if name != root] + [root]
