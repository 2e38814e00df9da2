"""Trees as binary derivations: Markovised symbols, binarised constituents, and the exact way back.

    vertical    a symbol knows its label and the labels of vertical − 1 constituents above:  NP^S
    horizontal  a constituent of more than two children is made from left to right, and what is still to come knows the
                labels of the last `horizontal` children before:  NP → DT @NP[DT],  @NP[DT] → JJ NN

(Johnson 1998; Klein & Manning 2003). A symbol is a tuple, so that no label can be mistaken for such a mark.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from fastlin.grammar.trees import Child, Tree

TRACE = "-NONE-"  # the tag of what is not there
LEXICAL, UNARY, BINARY = range(3)  # kinds of derivation steps: the number of symbols below


class Symbol(NamedTuple):
    """A symbol of a grammar.

    `label` is None over a word that stands among constituents; the word is then what is above. `before` are the labels
    of the children that an unfinished constituent has, None of a whole one.
    """

    label: str | None
    above: tuple[str, ...] = ()
    before: tuple[str | None, ...] | None = None

    def __str__(self) -> str:
        name = "^".join(("·" if self.label is None else self.label, *self.above))
        return name if self.before is None else f"@{name}[{' '.join(label or '·' for label in self.before)}]"


class Derivation(NamedTuple):
    """A binary tree in preorder: the symbol of each step, its kind, and the words of the lexical ones."""

    symbols: list[int]
    kinds: list[int]
    words: list[str]


class Binarizer:
    """Maker of derivations of trees, and of trees of derivations.

    Parameters
    ----------
    vertical, horizontal : int
        See above; `horizontal` None: all children before.
    split_tags : bool
        Whether tags know what is above, too.
    symbols : iterable of Symbol
        Known ones, in their order; `derive` adds others.
    """

    def __init__(self, vertical: int, horizontal: int | None, split_tags: bool, symbols: Iterable[Symbol] = ()) -> None:
        self.vertical, self.horizontal, self.split_tags = vertical, horizontal, split_tags
        self.places = {symbol: place for place, symbol in enumerate(symbols)}

    @property
    def symbols(self) -> list[Symbol]:
        return list(self.places)

    def derive(self, tree: Tree) -> Derivation:
        """The derivation of a tree; symbols that are new get the next numbers."""
        steps, places = Derivation([], [], []), self.places
        todo = [(*self._enter(tree, ()), 0)]  # symbol, children, and how many of these are made
        while todo:
            symbol, children, done = todo.pop()
            steps.symbols.append(places.setdefault(symbol, len(places)))
            first, n_left = children[done], len(children) - done
            if isinstance(first, str) and n_left == len(children) == 1:
                steps.kinds.append(LEXICAL)
                steps.words.append(first)
                continue
            below = (symbol.label or "", *symbol.above)[: self.vertical - 1]
            if n_left == 2:
                todo.append((*self._enter(children[done + 1], below), 0))
            elif n_left > 2:
                todo.append((symbol._replace(before=self._remembered(children[: done + 1])), children, done + 1))
            todo.append((*self._enter(first, below), 0))
            steps.kinds.append(UNARY if n_left == 1 else BINARY)
        return steps

    def _enter(self, node: Child, above: tuple[str, ...]) -> tuple[Symbol, tuple[Child, ...]]:
        """The symbol of a child, and what it is made of."""
        if isinstance(node, str):
            return Symbol(None, (node,)), (node,)
        return Symbol(node.label, above if self.split_tags or not node.is_tag else ()), node.children

    def _remembered(self, done: Sequence[Child]) -> tuple[str | None, ...]:
        kept = done if self.horizontal is None else done[max(0, len(done) - self.horizontal) :]
        return tuple(None if isinstance(child, str) else child.label for child in kept)


def restore_tree(steps: Derivation, symbols: Sequence[Symbol]) -> Tree:
    """The tree of a derivation."""
    stack: list[list[Child]] = []  # for each step done, from the right: its children, the last first
    words = iter(reversed(steps.words))
    for place, kind in zip(reversed(steps.symbols), reversed(steps.kinds), strict=True):
        symbol = symbols[place]
        children: list[Child]
        if kind == LEXICAL:
            children = [next(words)]
        elif kind == UNARY:
            children = stack.pop()
        else:
            (first,), children = stack.pop(), stack.pop()
            children.append(first)
        if symbol.before is None and symbol.label is not None:
            children = [Tree(symbol.label, reversed(children))]
        stack.append(children)
    ((tree,),) = stack
    if isinstance(tree, str):
        raise ValueError("the derivation is of a word alone")
    return tree


def normalize_tree(tree: Tree, remove_functions: bool, remove_traces: bool) -> Tree | None:
    """A tree without traces, without what is empty without them, and without functions of labels; None: all was.

    If anything is removed, a constituent of nothing but one of the same label is one with it.
    """
    if not (remove_functions or remove_traces):
        return tree

    def make(label: str, children: list[Child | None]) -> Tree | None:
        if remove_traces and label == TRACE:
            return None
        label = base_label(label) if remove_functions else label
        found = [child for child in children if child is not None]
        if len(found) == 1 and isinstance(only := found[0], Tree) and only.label == label and not only.is_tag:
            return only
        return Tree(label, found) if found else None

    made: Tree | None = tree.rebuild(make)
    return made


def base_label(label: str) -> str:
    """A label without functions and indices: NP of NP-SBJ-1 and NP=2; -LRB- as it is."""
    ends = [place for place in (label.find("-", 1), label.find("=", 1)) if place > 0]
    return label if label.startswith("-") or not ends else label[: min(ends)]
