"""The form that trees have for a parser: what of them is left out, and what their symbols know."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from fastlin.grammar.binarize import Binarizer, Symbol, normalize_tree
from fastlin.grammar.treebank import as_trees
from fastlin.grammar.trees import Tree


class TreeForm(NamedTuple):
    """What a fit makes of trees; what was learnt reads others the same way, whatever parameters are set later."""

    horizontal: int | None
    vertical: int
    split_tags: bool
    remove_functions: bool
    remove_traces: bool

    @classmethod
    def of(cls, parser: Any, split_tags: bool) -> "TreeForm":
        """The form that the parameters of a parser say."""
        horizontal = None if parser.horizontal is None else int(parser.horizontal)
        removed = bool(parser.remove_functions), bool(parser.remove_traces)
        return cls(horizontal, int(parser.vertical), bool(split_tags), *removed)

    def binarizer(self, symbols: Iterable[Symbol] = ()) -> Binarizer:
        """A maker of derivations."""
        return Binarizer(self.vertical, self.horizontal, self.split_tags, symbols)

    def cleaned(self, trees: Any) -> Iterator[Tree | None]:
        """Trees without what is left out; None where nothing is left."""
        for tree in as_trees(trees):
            yield normalize_tree(tree, self.remove_functions, self.remove_traces)
