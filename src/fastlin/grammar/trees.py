"""Trees of constituents, and files of them in the Penn Treebank's brackets; no depth is too deep."""

import html
from collections.abc import Callable, Iterable, Iterator
from itertools import zip_longest
from typing import Any, Union

from fastlin.grammar.brackets import Event, read_brackets
from fastlin.grammar.drawing import svg

Child = Union["Tree", str]
_END = object()  # in a stack: a constituent ends


class Tree:
    """A constituent: its label, and its children, which are constituents or words.

    Parameters
    ----------
    label : str
    children : sequence of Tree and str

    Examples
    --------
    >>> tree = Tree.from_string("(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)))")
    >>> tree.label, tree.leaves()
    ('S', ['the', 'cat', 'sleeps'])
    >>> print(tree.children[0])
    (NP (DT the) (NN cat))
    """

    __slots__ = ("children", "label")

    label: str
    children: tuple[Child, ...]

    def __init__(self, label: str, children: Iterable[Child]) -> None:
        self.label, self.children = label, tuple(children)

    @classmethod
    def from_string(cls, text: str) -> "Tree":
        """The one tree that a text holds.

        Parameters
        ----------
        text : str
            Brackets, such as "(S (NP he) (VP sleeps))", on one line or many.

        Returns
        -------
        Tree
            The tree.

        Raises
        ------
        ValueError
            If the text holds no tree, or more than one.
        """
        trees = [tree_of_events(events) for events in read_brackets(text.splitlines(), "text")]
        if len(trees) != 1:
            raise ValueError(f"text must hold one tree, and holds {len(trees)}")
        return trees[0]

    @property
    def is_tag(self) -> bool:
        """Whether it is a preterminal: a tag over one word."""
        return len(self.children) == 1 and isinstance(self.children[0], str)

    def subtrees(self) -> Iterator["Tree"]:
        """All constituents, each before those in it, from left to right.

        Returns
        -------
        iterator of Tree
            This tree first.
        """
        stack: list[Child] = [self]
        while stack:
            node = stack.pop()
            if isinstance(node, Tree):
                yield node
                stack.extend(reversed(node.children))

    def leaves(self) -> list[str]:
        """The words.

        Returns
        -------
        list of str
            From left to right.
        """
        return [value for event, value in self.events() if event == "word"]

    def tagged_words(self) -> list[tuple[str, str]]:
        """Each word with the label right above it.

        Returns
        -------
        list of (str, str)
            Word and label, from left to right.
        """
        found, todo = list[tuple[str, str]](), list[tuple[str, Child]]([("", self)])
        while todo:
            above, node = todo.pop()
            if isinstance(node, str):
                found.append((node, above))
            else:
                todo.extend((node.label, child) for child in reversed(node.children))
        return found

    def spans(self) -> list[tuple[str, int, int]]:
        """Label, first word and the one after the last of all constituents, each after those in it.

        Returns
        -------
        list of (str, int, int)
            Words are counted from 0 on.
        """
        found, starts, n_words = list[tuple[str, int, int]](), list[int](), 0
        for event, value in self.events():
            if event == "open":
                starts.append(n_words)
            elif event == "word":
                n_words += 1
            else:
                found.append((value, starts.pop(), n_words))
        return found

    def top_labels(self) -> tuple[str, ...]:
        """The labels down to the first constituent of more than one child, or above a tag.

        Returns
        -------
        tuple of str
            This tree's own label first.
        """
        node, labels = self, [self.label]
        while len(node.children) == 1 and isinstance(child := node.children[0], Tree) and not child.is_tag:
            node = child
            labels.append(node.label)
        return tuple(labels)

    def depth(self) -> int:
        """The most constituents that are in one another.

        Returns
        -------
        int
            1 for a tag above a word.
        """
        deepest = now = 0
        for event, _ in self.events():
            now += {"open": 1, "word": 0, "close": -1}[event]
            deepest = max(deepest, now)
        return deepest

    def rebuild(self, make: Callable[[str, list[Any]], Any]) -> Any:
        """What `make(label, children)` makes of each constituent, of what it made of those in it; words stay.

        Parameters
        ----------
        make : callable(label, children)
            `children` is a list: of a word the string itself, of a constituent what `make` returned.

        Returns
        -------
        object
            What `make` returned of the whole tree.
        """
        return fold_events(self.events(), make)

    def events(self) -> Iterator[Event]:
        """What a reader from left to right meets: ("open", label), ("word", word), ("close", label).

        Returns
        -------
        iterator of (str, str)
            One pair for each bracket and each word.
        """
        todo: list[tuple[Any, Any]] = [(None, self)]
        while todo:
            end, node = todo.pop()
            if end is _END:
                yield "close", node.label
            elif isinstance(node, str):
                yield "word", node
            else:
                yield "open", node.label
                todo.append((_END, node))
                todo.extend((None, child) for child in reversed(node.children))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tree):
            return NotImplemented
        return all(mine == theirs for mine, theirs in zip_longest(self.events(), other.events()))

    def __hash__(self) -> int:
        return hash(tuple(self.events()))

    def __reduce__(self) -> tuple[Any, ...]:
        return tree_of_events, (list(self.events()),)

    def __repr__(self) -> str:
        return f"Tree.from_string({str(self)!r})"

    def __str__(self) -> str:
        parts = []
        for event, value in self.events():
            parts.append({"open": f" ({value}", "word": f" {value}", "close": ")"}[event])
        return "".join(parts)[1:]

    def to_lines(self, width: int = 80) -> str:
        """The brackets on several lines: a constituent that is longer than a line has each child on its own.

        No line is indented by more than the width: of a tree that is very deep, blanks would fill the memory.

        Parameters
        ----------
        width : int
            Characters a line should have at most.

        Returns
        -------
        str
            Lines, without an end behind the last.
        """
        lines: list[str] = []
        todo: list[tuple[int, Child, str]] = [(0, self, "")]
        while todo:
            indent, node, closing = todo.pop()
            margin = " " * min(2 * indent, width)
            text = f"{margin}{_short(node, width)}"
            if isinstance(node, str) or len(text) + len(closing) <= width:
                lines.append(text + closing)
                continue
            lines.append(f"{margin}({node.label}")
            last = len(node.children) - 1
            todo.extend(
                (indent + 1, child, ")" + closing if place == last else "")
                for place, child in reversed(list(enumerate(node.children)))
            )
        return "\n".join(lines)

    def to_svg(self) -> str:
        """A drawing of the tree.

        Returns
        -------
        str
            An SVG document, of labels and words that are escaped.
        """
        return svg(list(self.events()))

    def _repr_html_(self) -> str:
        return f'<div title="{html.escape(str(self)[:200])}">{self.to_svg()}</div>'


def tree_of_events(events: Iterable[Event]) -> Tree:
    """The tree whose events these are."""
    return fold_events(events, Tree)


def fold_events(events: Iterable[Event], make: Callable[[str, list[Any]], Any]) -> Any:
    """What `make(label, children)` makes of each constituent, of what it made of those in it; words stay."""
    stack: list[list[Any]] = [[]]
    for event, value in events:
        if event == "open":
            stack.append([])
        elif event == "word":
            stack[-1].append(value)
        else:
            children = stack.pop()
            stack[-1].append(make(value, children))
    return stack[0][0]


def _short(node: Child, width: int) -> str:
    """The brackets, or as much of them as shows that they are longer than a line."""
    if isinstance(node, str):
        return node
    parts, length = [], 0
    for event, value in node.events():
        parts.append({"open": f" ({value}", "word": f" {value}", "close": ")"}[event])
        length += len(parts[-1])
        if length > width + 1:
            break
    return "".join(parts)[1:]
