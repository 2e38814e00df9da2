"""Grammars: trees, probabilistic context-free grammars, and how good their trees are."""

from fastlin.grammar.evalb import evalb as evalb
from fastlin.grammar.pcfg import PCFG as PCFG
from fastlin.grammar.treebank import read_trees as read_trees
from fastlin.grammar.treebank import write_trees as write_trees
from fastlin.grammar.trees import Tree as Tree
