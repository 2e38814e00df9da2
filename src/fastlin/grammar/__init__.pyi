from fastlin.grammar.evalb_scorer import evalb as evalb
from fastlin.grammar.pcfg import PCFG as PCFG
from fastlin.grammar.span_crf.model import SpanCRF as SpanCRF
from fastlin.grammar.treebank import read_trees as read_trees
from fastlin.grammar.treebank import write_trees as write_trees
from fastlin.grammar.trees import Tree as Tree
