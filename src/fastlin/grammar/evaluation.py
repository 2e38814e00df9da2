"""What is judged of a parser: trees as it knows them, beside those that it makes of their words."""

from typing import Any

from fastlin.grammar.trees import Tree

ROOT = "TOP"  # what EVALB calls the label of whole sentences, which the Penn Treebank's files leave empty


def pairs_to_judge(parser: Any, trees: Any) -> tuple[list[Tree | None], list[Tree | None]]:
    """The right trees, without functions and traces if the parser has learnt none, and those that it predicts."""
    gold = [tree for tree in parser._learnt.form.cleaned(trees) if tree is not None]
    predicted = parser.predict([tree.leaves() for tree in gold])
    return list(map(with_root, gold)), list(map(with_root, predicted))


def with_root(tree: Tree | None) -> Tree | None:
    """A tree whose outermost label is not empty: EVALB deletes TOP, and would count what has no name."""
    return Tree(ROOT, tree.children) if tree is not None and tree.label == "" else tree
