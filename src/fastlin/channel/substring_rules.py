"""Rules of a channel, strings of letters for others, learnt from pairs of words (Brill and Moore 2000).

The letters of a pair are aligned with the fewest edits, exchanges of neighbours among them. Every edit is a rule, and
with the letters around it, another one: what is written depends on what stands beside it.
p(β | α) = c(α → β) / (c(α) + a), where c(α) counts α wherever it stands in a source, a = 5 takes what is rare for less.
"""

import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fastlin.channel.letters import Letters, as_letters
from fastlin.engine.channel.edit_rules import FIRST_MARK, LAST_MARK, EditRules

Word = tuple[int, ...]
Operation = tuple[Word, Word]
NO_RULES = as_letters([])
WIDTH = 3  # letters on each side of a rule
FAREST = 3  # edits of a pair that is learnt from; of others, which letter became which is a guess


@dataclass(frozen=True)
class SubstringRules:
    """Rules sources[i] → observed[i]; `log_keep` and `log_edit` of letters that stay, and of edits, without a rule."""

    sources: Letters
    observed: Letters
    log_prob: NDArray[np.float32]
    log_keep: float
    log_edit: float

    def __len__(self) -> int:
        return len(self.log_prob)

    def kernel(self, seed: int) -> EditRules:
        """The rules in a table."""
        return EditRules(*self.sources, *self.observed, self.log_prob, self.log_keep, self.log_edit, seed)


def uniform_rules(log_edit: float) -> SubstringRules:
    """A channel in which each edit is as probable as every other."""
    return SubstringRules(NO_RULES, NO_RULES, np.empty(0, np.float32), 0.0, log_edit)


def learn_rules(
    pairs: Iterable[tuple[str, str, float]], log_edit: float, width: int = WIDTH, shrink: float = 5.0
) -> SubstringRules:
    """The rules of pairs (source, observed, weight) that are no more than three edits apart."""
    rules: dict[Operation, float] = defaultdict(float)
    seen: dict[Word, float] = defaultdict(float)
    for source, observed, weight in pairs:
        marked = (FIRST_MARK, *map(ord, source), LAST_MARK)
        operations = align(marked, (FIRST_MARK, *map(ord, observed), LAST_MARK), FAREST)
        if operations is None:
            continue
        for size in range(width + 1):
            for first in range(len(marked) - size + 1):
                seen[marked[first : first + size]] += weight
        for rule in rules_of(operations, width):
            rules[rule] += weight
    found = sorted(rule for rule, count in rules.items() if count > 0)
    times = [max(seen[rule[0]], rules[rule]) for rule in found]  # more may come to be where nothing stood than places
    log_prob = np.array([math.log(rules[r] / (n + shrink)) for r, n in zip(found, times, strict=True)], np.float32)
    sides = [as_strings([rule[side] for rule in found]) for side in (0, 1)]
    log_keep = math.log1p(-math.exp(log_edit))
    return SubstringRules(sides[0], sides[1], log_prob, log_keep, log_edit)


def as_strings(strings: Sequence[Word]) -> Letters:
    """(letters, offsets) of tuples of numbers."""
    letters = np.fromiter(itertools.chain.from_iterable(strings), np.uint32)
    return letters, np.concatenate([[0], np.cumsum([len(string) for string in strings], dtype=np.int64)])


def align(source: Word, observed: Word, most: int) -> list[Operation] | None:
    """The operations of an alignment with the fewest edits, substitutions before others; None: they are more."""
    n, m = len(source), len(observed)
    if abs(n - m) > most:
        return None
    far = most + 1
    d: list[list[int]] = []  # of row i the cells |i − j| <= most, beside them nothing is near: j is at j − i + most + 1
    for i in range(n + 1):
        row = [far] * (2 * most + 3)
        d.append(row)
        for j in range(max(0, i - most), min(m, i + most) + 1):
            at = j - i + most + 1
            best = far if i or j else 0
            if i:
                best = min(best, d[i - 1][at + 1] + 1)
            if j:
                best = min(best, row[at - 1] + 1)
            if i and j:
                best = min(best, d[i - 1][at] + (source[i - 1] != observed[j - 1]))
            if _exchanged(source, observed, i, j):
                best = min(best, d[i - 2][at] + 1)
            row[at] = best
        if min(row) == far and min(d[i - 1]) == far:  # an exchange goes past one row
            return None
    return None if d[n][m - n + most + 1] > most else _traced(d, source, observed, most)


def _exchanged(source: Word, observed: Word, i: int, j: int) -> bool:
    """Whether two letters that end there are exchanged."""
    return i > 1 and j > 1 and source[i - 1] == observed[j - 2] and source[i - 2] == observed[j - 1]


def _traced(d: list[list[int]], source: Word, observed: Word, most: int) -> list[Operation]:
    found = []
    i, j = len(source), len(observed)
    while i or j:
        at = j - i + most + 1
        here = d[i][at]
        same = i > 0 and j > 0 and source[i - 1] == observed[j - 1]
        if same and here == d[i - 1][at]:
            back = 1, 1
        elif _exchanged(source, observed, i, j) and here == d[i - 2][at] + 1:
            back = 2, 2
        elif i and j and here == d[i - 1][at] + 1:
            back = 1, 1
        elif i and here == d[i - 1][at + 1] + 1:
            back = 1, 0
        else:
            back = 0, 1
        found.append((source[i - back[0] : i], observed[j - back[1] : j]))
        i, j = i - back[0], j - back[1]
    return found[::-1]


def rules_of(operations: Sequence[Operation], width: int) -> Iterator[Operation]:
    """Letters that stay, and each edit with what stands around it, as far as the width goes."""
    for at, (old, new) in enumerate(operations):
        if old == new:
            yield old, new
            continue
        for first in range(at, max(-1, at - width), -1):
            for stop in range(at + 1, min(len(operations), at + width) + 1):
                source = sum((operation[0] for operation in operations[first:stop]), ())
                written = sum((operation[1] for operation in operations[first:stop]), ())
                if len(source) <= width and len(written) <= width:
                    yield source, written
