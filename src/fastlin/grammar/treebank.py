"""Treebanks: trees read from files, strings, tuples and NLTK's trees, and written to files."""

import os
from collections.abc import Iterable, Iterator
from typing import Any

from fastlin.data.errors import ReadError
from fastlin.data.readers.sources import files, line_blocks
from fastlin.grammar.brackets import NO_PARSE, BracketError, read_brackets
from fastlin.grammar.trees import Tree, tree_of_events
from fastlin.runtime.atomic_write import atomic_write

_END = object()  # of the children of a constituent


def read_trees(source: Any, with_failures: bool = False) -> Iterator[Tree | None]:
    """Read the trees of files in the Penn Treebank's brackets, one after the other.

    Parameters
    ----------
    source : path, open binary file, or list of these
        Compressed by gzip, bzip2, xz or zstd, or not; "-" is standard input. A tree may have a line or many.
    with_failures : bool
        Whether "(())", by which parsers say that they found none, is None; otherwise it is an error.

    Returns
    -------
    iterator of Tree or None
        Each tree is read when it is asked for.

    Raises
    ------
    ReadError
        Where the brackets are malformed, with file and line.

    Examples
    --------
    >>> import io
    >>> for tree in read_trees(io.BytesIO(b"( (S (NP (PRP He)) (VP (VBZ sleeps))) )")):
    ...     print(tree)
    ( (S (NP (PRP He)) (VP (VBZ sleeps))))
    """
    for file in files(source):
        try:
            for events in read_brackets(_lines(file), file.name, with_failures):
                yield None if events == NO_PARSE else tree_of_events(events)
        except UnicodeDecodeError as error:
            raise ReadError(file.name, 0, f"this is not UTF-8: {error.reason}") from None


def _lines(file: Any) -> Iterator[str]:
    for block in line_blocks(file):
        yield from block.text.decode("utf-8").split("\n")[:-1]


def write_trees(trees: Iterable[Any], path: Any) -> int:
    """Write trees to a file, one a line; returns how many. The file appears when all are written.

    Parameters
    ----------
    trees : iterable of trees
        In whatever form `PCFG.fit` takes them.
    path : path
        A file that is there is replaced when all trees are written.

    Returns
    -------
    int
        The number of trees.
    """
    n_trees = 0
    with atomic_write(os.fspath(path)) as file:
        for n_trees, tree in enumerate(as_trees(trees), 1):
            check_writable(tree, n_trees - 1)
            file.write(f"{tree}\n".encode())
    return n_trees


def check_writable(tree: Tree, place: int) -> None:
    """Check that brackets can hold the labels and words of a tree."""
    for event, value in tree.events():
        if event != "close" and (
            any(sign in "()" or sign.isspace() for sign in value) or (event == "word" and not value)
        ):
            kind = "word" if event == "word" else "label"
            advice = "brackets are written -LRB- and -RRB-" if "(" in value or ")" in value else "one word is wanted"
            raise ValueError(f"tree {place}: the {kind} {value[:40]!r} cannot stand between brackets: {advice}")


def as_trees(trees: Any) -> Iterator[Tree]:
    """Trees of whatever stands for them: `Tree`, strings of brackets, nested tuples or NLTK's trees."""
    if _is_source(trees):
        yield from (tree for tree in read_trees(trees) if tree is not None)
        return
    for place, tree in enumerate(trees):
        yield as_tree(tree, place)


def as_parses(trees: Any) -> Iterator[Tree | None]:
    """Trees as `as_trees` takes them, and None where a parser has none: of None, and of "(())" in lists and files."""
    if _is_source(trees):
        yield from read_trees(trees, with_failures=True)
        return
    for place, tree in enumerate(trees):
        failed = tree is None or (isinstance(tree, str) and "".join(tree.split()) == "(())")
        yield None if failed else as_tree(tree, place)


def _is_source(trees: Any) -> bool:
    """Whether these are files of trees; otherwise they are a list."""
    if isinstance(trees, str) and trees.lstrip().startswith("("):
        raise TypeError("trees must be a list of trees or a path; this is one string of brackets: put it in a list")
    if isinstance(trees, str | os.PathLike) or hasattr(trees, "read"):
        return True
    if isinstance(trees, Tree) or not isinstance(trees, Iterable):
        raise TypeError(f"trees must be a list of trees, got {type(trees).__name__}")
    return False


def as_tree(value: Any, place: int) -> Tree:
    """The tree that a value stands for; `place` names it in errors."""
    if isinstance(value, Tree):
        _check_parts(value, place)
        return value
    if isinstance(value, str):
        try:
            return Tree.from_string(value)
        except BracketError as error:
            raise BracketError(f"tree {place}: {error}") from None
        except ValueError as error:
            raise ValueError(f"tree {place}: {error}") from None
    stack: list[tuple[str, list[Any], Iterator[Any]]] = []
    label, children = _parts(value, place)
    stack.append((label, [], iter(children)))
    while True:
        label, made, rest = stack[-1]
        child = next(rest, _END)
        if child is _END:
            stack.pop()
            if not made:
                raise ValueError(f"tree {place}: the constituent {label!r} is empty")
            tree = Tree(label, made)
            if not stack:
                return tree
            stack[-1][1].append(tree)
        elif isinstance(child, str):
            _check_word(child, place)
            made.append(child)
        elif isinstance(child, Tree):
            _check_parts(child, place)
            made.append(child)
        else:
            label, children = _parts(child, place)
            stack.append((label, [], iter(children)))


def _check_parts(tree: Tree, place: int) -> None:
    """Check that labels are strings, and children constituents and words."""
    todo: list[Any] = [tree]
    while todo:
        node = todo.pop()
        if isinstance(node, Tree):
            if not isinstance(node.label, str):
                raise TypeError(f"tree {place}: a label must be a string, got {node.label!r:.60}")
            todo.extend(node.children)
        elif not isinstance(node, str):
            raise TypeError(f"tree {place}: a child must be a Tree or a word, got {node!r:.60}")
        else:
            _check_word(node, place)


def _check_word(word: str, place: int) -> None:
    if not word:
        raise ValueError(f"tree {place}: the word '' cannot stand between brackets: one word is wanted")


def _parts(value: Any, place: int) -> tuple[str, Any]:
    """Label and children of a nested tuple or of NLTK's tree."""
    label_of = getattr(value, "label", None)
    label: str
    children: Any
    if isinstance(value, list | tuple) and callable(label_of):
        label, children = str(label_of()), value
    elif isinstance(value, list | tuple) and value and isinstance(value[0], str):
        label, children = value[0], value[1:]
    else:
        wanted = "a Tree, a string of brackets, a tuple (label, child, …) or a tree of NLTK"
        raise TypeError(f"tree {place}: {wanted} is wanted, got {value!r:.60}")
    return label, children
