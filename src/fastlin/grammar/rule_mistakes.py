"""Which rules wrong constituents were made by, and which those have that were missed."""

from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

from fastlin.grammar.trees import Tree

Bracket = tuple[str, int, int]
Rule = tuple[str, tuple[str, ...]]


class RuleMistakes(NamedTuple):
    """A rule, how many constituents predicted trees made by it and how many of these are wrong, and of gold trees how
    many have it and how many of these are missing."""

    left: str
    right: tuple[str, ...]
    n_predicted: int
    n_wrong: int
    n_gold: int
    n_missing: int

    @property
    def n_mistakes(self) -> int:
        return self.n_wrong + self.n_missing

    def as_dict(self) -> dict[str, Any]:
        """All of it in plain types."""
        return self._asdict()

    def __str__(self) -> str:
        wrong = f"wrong {self.n_wrong:,} of {self.n_predicted:,}, missing {self.n_missing:,} of {self.n_gold:,}"
        return f"{wrong}: {self.left} → {' '.join(self.right)}"


def rule_mistakes(pairs: Iterable[tuple[Tree | None, Tree | None]]) -> list[RuleMistakes]:
    """Rules with the mistakes that they are part of, those with the most first.

    A constituent is wrong if the gold tree has none of its label over its words, and missing if the predicted tree has
    none; of several alike, as many are right as both trees have. Its rule is its label and those of its children.

    Parameters
    ----------
    pairs : iterable of (gold tree, predicted tree)
        Pairs of different words, or without one of the trees, are left out.
    """
    n_predicted, n_wrong, n_gold, n_missing = (Counter[Rule]() for _ in range(4))
    for gold, predicted in pairs:
        if gold is None or predicted is None or gold.leaves() != predicted.leaves():
            continue
        right, found = _constituents(gold), _constituents(predicted)
        for mine, theirs, n_all, n_alone in ((right, found, n_gold, n_missing), (found, right, n_predicted, n_wrong)):
            left_over = Counter(bracket for bracket, _ in theirs)
            for bracket, rule in mine:
                n_all[rule] += 1
                if left_over[bracket] > 0:
                    left_over[bracket] -= 1
                else:
                    n_alone[rule] += 1
    rules = [
        RuleMistakes(*rule, n_predicted[rule], n_wrong[rule], n_gold[rule], n_missing[rule])
        for rule in {**n_wrong, **n_missing}
    ]
    return sorted(rules, key=lambda rule: (-rule.n_mistakes, rule.left, rule.right))


def _constituents(tree: Tree) -> list[tuple[Bracket, Rule]]:
    """The constituents but tags, and their rules."""
    found, open_at, n_words = list[tuple[Bracket, Rule]](), list[tuple[int, list[str], bool]](), 0
    for event, value in tree.events():
        if event == "open":
            if open_at:
                open_at[-1][1].append(value)
            open_at.append((n_words, [], False))
        elif event == "word":
            open_at[-1][1].append(value)
            n_words += 1
            open_at[-1] = (*open_at[-1][:2], True)
        else:
            start, children, has_words = open_at.pop()
            if not (has_words and len(children) == 1):
                found.append(((value, start, n_words), (value, tuple(children))))
    return found
