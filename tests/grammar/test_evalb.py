"""The figures of predicted trees are EVALB's, the odd ones included; reports say what is wrong and where."""

import gzip
import html
import io
import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastlin.data import ReadError
from fastlin.grammar import evalb
from fastlin.grammar.evalb_parameters import EvalbParameters
from fastlin.grammar.treebank import as_parses, write_trees
from fastlin.grammar.trees import Tree

LONG = "(S (NP " + "(NN tea) " * 39 + ") (VP (VBZ cools)){})"
PAIRS = {
    "the same": (
        "(TOP (S (NP (DT The) (NN cat)) (VP (VBZ sleeps) (PP (IN on) (NP (NNS books)))) (. .)))",
        "(TOP (S (NP (DT The) (NN cat)) (VP (VBZ sleeps) (PP (IN on) (NP (NNS books)))) (. .)))",
    ),
    "another label, another tag": (
        "(S (NP (PRP She)) (VP (VBZ walks) (ADVP (RB home))))",
        "(S (NP (PRP She)) (VP (VBZ walks) (NP (NN home))))",
    ),
    "a missing bracket": (
        "(S (NP (NP (DT the) (NN man)) (PP (IN in) (NP (NN grey)))) (VP (VBD left)))",
        "(S (NP (DT the) (NN man) (PP (IN in) (NP (NN grey)))) (VP (VBD left)))",
    ),
    "a spurious one over the same words": (
        "(S (NP (NNS Birds)) (VP (VBP sing)))",
        "(S (NP (NNS Birds)) (VP (VP (VBP sing))))",
    ),
    "two spurious ones": ("(S (NN rain) (NN falls))", "(S (X (NP (NN rain)) (NN falls)))"),
    "one that crosses": (
        "(NP (NP (JJ old) (NNS men)) (CC and) (NP (NNS women)))",
        "(NP (JJ old) (NP (NNS men) (CC and) (NP (NNS women))))",
    ),
    "three that cross": (
        "(A (B (C (D (N v) (N w)) (N x)) (N y)) (N z))",
        "(A (N v) (B (N w) (C (N x) (D (N y) (N z)))))",
    ),
    "one that crosses at its end": (
        "(S (NN rain) (NP (NP (NN or)) (NP (NN snow) (NN fall))))",
        "(S (NP (NN rain) (NP (NN or) (NN snow))) (NN fall))",
    ),
    "an adverb as a particle": (
        "(S (NP (PRP They)) (VP (VBD gave) (PRT (RP in)) (ADVP (RB soon))))",
        "(S (NP (PRP They)) (VP (VBD gave) (ADVP (RP in)) (PRT (RB soon))))",
    ),
    "equal labels as tags": ("(S (ADVP here) (PRT up) (NN x))", "(S (PRT here) (NN up) (NN x))"),
    "functions": (
        "(S (NP-SBJ-1 (PRP I)) (VP (VBP owe) (NP=2 (PRP you)) (NP|NN (CD one))) (TOP-2 (NN x)))",
        "(S=3 (NP (PRP I)) (VP-X (VBP owe) (NP-OBJ=1 (PRP you)) (NP (CD one))) (NP (NN x)))",
    ),
    "functions of tags": ("(S (NN-X rain) (VB=1 fell))", "(S (NN rain) (VB=1 fell))"),
    "labels of a hyphen": ("(S (-LRB- -LRB-) (-X- (NN a)) (-RRB- -RRB-))", "(S (-LRB- -LRB-) (=1 (NN a)) (SYM -RRB-))"),
    "two of a label, three predicted": (
        "(S (NP (NP (NN snow))) (VP (VBZ melts)))",
        "(S (NP (NP (NP (NN snow)))) (VP (VBZ melts)))",
    ),
    "three of a label, one predicted": (
        "(S (NP (NP (NP (NN snow)))) (VP (VBZ melts)))",
        "(S (NP (NN snow)) (VP (VBZ melts)))",
    ),
    "the order of equal words": ("(S (NP (VP (NN x))) (NN y))", "(S (VP (NP (NN x))) (NN y))"),
    "a comma as a noun": ("(S (NP (NN Rain)) (, ,) (NP (NN sun)))", "(S (NP (NN Rain)) (NN ,) (NP (NN sun)))"),
    "other punctuation, as many words": (
        "(S (, ,) (NN one) (NN ,) (NN two))",
        "(S (NN ,) (NN one) (, ,) (NN two))",
    ),
    "the same punctuation, both deleted": ("(S (NN one) (, ,) (NN two))", "(S (NN one) (: ,) (NN two))"),
    "another word": ("(S (NP (NN Tea)) (VP (VBZ cools)))", "(S (NP (NN tea)) (VP (VBZ cools)))"),
    "no parse": ("(S (NP (NN Tea)) (VP (VBZ cools)) (. .))", "(())"),
    "no parse of none": ("(())", "(())"),
    "a parse of none": ("(())", "(S (NN x))"),
    "punctuation alone": ("(S (NP (NN Tea)))", "(S (. Tea))"),
    "punctuation for words": ("(S (. Tea))", "(S (NP (NN Tea)))"),
    "traces": (
        "(S (NP-SBJ (-NONE- *T*)) (VP (TO to) (VP (VB win) (NP (-NONE- *)))))",
        "(S (VP (TO to) (VP (VB win))))",
    ),
    "a deleted label in the middle": (
        "(S (NP (NN a)) (TOP (VP (VB b) (NN c))))",
        "(TOP (S (S1 (NP (NN a)) (TOP (VB b) (VP (NN c))))))",
    ),
    "no label": ("( (S (NP (NN a)) (VP (VB b))))", "( (S (NN a) (VP (VB b))))"),
    "a tag alone": ("(NN yes)", "(NN yes)"),
    "a bracket around it": ("(NN yes)", "(X (UH yes))"),
    "forty words": (LONG.format(""), LONG.format("")),
    "a stop more": (LONG.format(" (. .)"), LONG.format(" (. .)").replace("VP", "NP")),
    "a quotation mark as a possessive": (
        "(S (NP (DT the) (`` ') (NN red) ('' ') (NN one)) (VP (VBZ wins)))",
        "(S (NP (DT the) (POS ') (NN red) (POS ') (NN one)) (VP (VBZ wins)))",
    ),
    "one deleted by the prediction": (
        "(S (NP (NP (NNS boys) (POS ')) (NNS toys)) (VP (VBP break)))",
        "(S (NP (NP (NNS boys)) ('' ') (NNS toys)) (VP (VBP break)))",
    ),
    "at a bracket's beginning": (
        '(S (NP (`` ") (NN a) (NN b)) (VP (VB c)))',
        '(S (NP (NN ") (NN a) (NN b)) (VP (VB c)))',
    ),
    "before a bracket": ('(S (`` ") (NP (NN a) (NN b)) (VP (VB c)))', '(S (NN ") (NP (NN a) (NN b)) (VP (VB c)))'),
    "one each way": (
        "(S (NP (POS ') (NN a)) ('' ') (NN b))",
        "(S (`` ') (NP (NN a) (POS ')) (NN b))",
    ),
    "one each way, and one more": (
        "(S (NP (POS ') (NN a)) ('' ') (NN b) ('' \"))",
        "(S (`` ') (NP (NN a) (POS ')) (NN b) (NN \"))",
    ),
    "two in a row": (
        "(S (NP (`` ')) ('' ') (NN x))",
        "(S (NP (POS ')) (POS ') (NN x))",
    ),
    "one that both delete before one that one does": (
        "(S (NP ('' ')) (POS ') (NN x))",
        "(S (NP ('' ') ('' ')) (NN x))",
    ),
    "no quotation mark": ("(S (NP (`` x)) (NN y))", "(S (NP (POS x)) (NN y))"),
    "equal words": ("(S (NP (NN colour)) (VP (VBZ fades)))", "(S (NP (NN color)) (VP (VBZ fades)))"),
    "equal to one, not to the other": ("(S (NN colour))", "(S (NN couleur))"),
    "equal labels in a chain": ("(S (A (C (NN x))) (NN y))", "(S (B (A (NN x))) (NN y))"),
    "equal labels in another": ("(S (C (A (NN x))) (NN y))", "(S (B (A (NN x))) (NN y))"),
    "the first of equal labels is taken": ("(S (A (C (C (NN x)))) (NN y))", "(S (B (A (B (NN x)))) (NN y))"),
    "a label equal to a deleted one": ("(S (E (NN x) (NN y)) (NN z))", "(S (NN x) (E (NN y) (NN z)))"),
}
SETTINGS = {
    "COLLINS": {},
    "quotes": {
        "quote_labels": ("``", "''", "POS", "NN"),
        "delete_labels": ("TOP", "S1", "-NONE-", ",", ":", "``", "''", ".", "?", "!"),
    },
    "unlabeled": {"labeled": False, "cutoff_length": 5},
    "equal": {
        "cutoff_length": 2,
        "delete_labels": ("D", ","),
        "delete_labels_for_length": ("NN",),
        "equal_labels": (("A", "B"), ("B", "C"), ("E", "D"), ("NN", "DT")),
        "equal_words": (("colour", "color"), ("couleur", "color")),
    },
}
# EVALB's own figures (version of July 2008) of the pairs under each of the settings: of each sentence the length, the
# status (1: error, 2: skipped), the matched, gold, predicted and crossing brackets, the words and the right tags
RECORDS = {
    "the same": (
        (6, 0, 5, 5, 5, 0, 5, 5),
        (6, 0, 5, 5, 5, 0, 5, 5),
        (6, 0, 5, 5, 5, 0, 5, 5),
        (5, 0, 6, 6, 6, 0, 6, 6),
    ),
    "another label, another tag": (
        (3, 0, 3, 4, 4, 0, 3, 2),
        (3, 0, 3, 4, 4, 0, 3, 2),
        (3, 0, 4, 4, 4, 0, 3, 2),
        (3, 0, 3, 4, 4, 0, 3, 2),
    ),
    "a missing bracket": (
        (5, 0, 5, 6, 5, 0, 5, 5),
        (5, 0, 5, 6, 5, 0, 5, 5),
        (5, 0, 5, 6, 5, 0, 5, 5),
        (3, 0, 5, 6, 5, 0, 5, 5),
    ),
    "a spurious one over the same words": (
        (2, 0, 3, 3, 4, 0, 2, 2),
        (2, 0, 3, 3, 4, 0, 2, 2),
        (2, 0, 3, 3, 4, 0, 2, 2),
        (2, 0, 3, 3, 4, 0, 2, 2),
    ),
    "two spurious ones": (
        (2, 0, 1, 1, 3, 0, 2, 2),
        (2, 0, 1, 1, 3, 0, 2, 2),
        (2, 0, 1, 1, 3, 0, 2, 2),
        (0, 0, 1, 1, 3, 0, 2, 2),
    ),
    "one that crosses": (
        (4, 0, 2, 3, 3, 1, 4, 4),
        (4, 0, 2, 3, 3, 1, 4, 4),
        (4, 0, 2, 3, 3, 1, 4, 4),
        (4, 0, 2, 3, 3, 1, 4, 4),
    ),
    "three that cross": (
        (5, 0, 1, 4, 4, 3, 5, 5),
        (5, 0, 1, 4, 4, 3, 5, 5),
        (5, 0, 1, 4, 4, 3, 5, 5),
        (5, 0, 1, 3, 3, 2, 5, 5),
    ),
    "one that crosses at its end": (
        (4, 0, 1, 4, 3, 2, 4, 4),
        (4, 0, 1, 4, 3, 2, 4, 4),
        (4, 0, 1, 4, 3, 2, 4, 4),
        (0, 0, 1, 4, 3, 2, 4, 4),
    ),
    "an adverb as a particle": (
        (4, 0, 5, 5, 5, 0, 4, 4),
        (4, 0, 5, 5, 5, 0, 4, 4),
        (4, 0, 5, 5, 5, 0, 4, 4),
        (4, 0, 3, 5, 5, 0, 4, 4),
    ),
    "equal labels as tags": (
        (3, 0, 1, 1, 1, 0, 3, 2),
        (3, 0, 1, 1, 1, 0, 3, 2),
        (3, 0, 1, 1, 1, 0, 3, 2),
        (2, 0, 1, 1, 1, 0, 3, 1),
    ),
    "functions": (
        (5, 0, 4, 5, 6, 0, 5, 5),
        (5, 0, 4, 5, 6, 0, 5, 5),
        (5, 0, 5, 5, 6, 0, 5, 5),
        (4, 0, 4, 6, 6, 0, 5, 5),
    ),
    "functions of tags": (
        (2, 0, 1, 1, 1, 0, 2, 1),
        (2, 0, 1, 1, 1, 0, 2, 1),
        (2, 0, 1, 1, 1, 0, 2, 1),
        (2, 0, 1, 1, 1, 0, 2, 1),
    ),
    "labels of a hyphen": (
        (3, 0, 2, 2, 2, 0, 3, 2),
        (3, 0, 2, 2, 2, 0, 3, 2),
        (3, 0, 2, 2, 2, 0, 3, 2),
        (2, 0, 2, 2, 2, 0, 3, 2),
    ),
    "two of a label, three predicted": (
        (2, 0, 4, 4, 5, 0, 2, 2),
        (2, 0, 4, 4, 5, 0, 2, 2),
        (2, 0, 4, 4, 5, 0, 2, 2),
        (1, 0, 4, 4, 5, 0, 2, 2),
    ),
    "three of a label, one predicted": (
        (2, 0, 3, 5, 3, 0, 2, 2),
        (2, 0, 3, 5, 3, 0, 2, 2),
        (2, 0, 3, 5, 3, 0, 2, 2),
        (1, 0, 3, 5, 3, 0, 2, 2),
    ),
    "the order of equal words": (
        (2, 0, 3, 3, 3, 0, 2, 2),
        (2, 0, 3, 3, 3, 0, 2, 2),
        (2, 0, 3, 3, 3, 0, 2, 2),
        (0, 0, 3, 3, 3, 0, 2, 2),
    ),
    "a comma as a noun": (
        (3, 1, 0, 0, 0, 0, 0, 0),
        (3, 1, 0, 0, 0, 0, 0, 0),
        (3, 1, 0, 0, 0, 0, 0, 0),
        (1, 1, 0, 0, 0, 0, 0, 0),
    ),
    "other punctuation, as many words": (
        (4, 1, 0, 0, 0, 0, 0, 0),
        (4, 1, 0, 0, 0, 0, 0, 0),
        (4, 1, 0, 0, 0, 0, 0, 0),
        (1, 1, 0, 0, 0, 0, 0, 0),
    ),
    "the same punctuation, both deleted": (
        (3, 0, 1, 1, 1, 0, 2, 2),
        (3, 0, 1, 1, 1, 0, 2, 2),
        (3, 0, 1, 1, 1, 0, 2, 2),
        (1, 1, 0, 0, 0, 0, 0, 0),
    ),
    "another word": (
        (2, 1, 0, 0, 0, 0, 0, 0),
        (2, 1, 0, 0, 0, 0, 0, 0),
        (2, 1, 0, 0, 0, 0, 0, 0),
        (1, 1, 0, 0, 0, 0, 0, 0),
    ),
    "no parse": (
        (3, 2, 0, 0, 0, 0, 0, 0),
        (3, 2, 0, 0, 0, 0, 0, 0),
        (3, 2, 0, 0, 0, 0, 0, 0),
        (2, 2, 0, 0, 0, 0, 0, 0),
    ),
    "no parse of none": (
        (0, 2, 0, 0, 0, 0, 0, 0),
        (0, 2, 0, 0, 0, 0, 0, 0),
        (0, 2, 0, 0, 0, 0, 0, 0),
        (0, 2, 0, 0, 0, 0, 0, 0),
    ),
    "a parse of none": (
        (0, 1, 0, 0, 0, 0, 0, 0),
        (0, 1, 0, 0, 0, 0, 0, 0),
        (0, 1, 0, 0, 0, 0, 0, 0),
        (0, 1, 0, 0, 0, 0, 0, 0),
    ),
    "punctuation alone": (
        (1, 2, 0, 0, 0, 0, 0, 0),
        (1, 2, 0, 0, 0, 0, 0, 0),
        (1, 2, 0, 0, 0, 0, 0, 0),
        (0, 0, 1, 2, 1, 0, 1, 0),
    ),
    "punctuation for words": (
        (1, 1, 0, 0, 0, 0, 0, 0),
        (1, 1, 0, 0, 0, 0, 0, 0),
        (1, 1, 0, 0, 0, 0, 0, 0),
        (1, 0, 1, 1, 2, 0, 1, 0),
    ),
    "traces": ((2, 0, 3, 3, 3, 0, 2, 2), (2, 0, 3, 3, 3, 0, 2, 2), (2, 0, 3, 3, 3, 0, 2, 2), (4, 1, 0, 0, 0, 0, 0, 0)),
    "a deleted label in the middle": (
        (3, 0, 2, 3, 4, 0, 3, 3),
        (3, 0, 2, 3, 3, 0, 3, 3),
        (3, 0, 2, 3, 4, 0, 3, 3),
        (1, 0, 3, 4, 6, 0, 3, 3),
    ),
    "no label": (
        (2, 0, 3, 4, 3, 0, 2, 2),
        (2, 0, 3, 4, 3, 0, 2, 2),
        (2, 0, 3, 4, 3, 0, 2, 2),
        (1, 0, 3, 4, 3, 0, 2, 2),
    ),
    "a tag alone": (
        (1, 0, 0, 0, 0, 0, 1, 1),
        (1, 0, 0, 0, 0, 0, 1, 1),
        (1, 0, 0, 0, 0, 0, 1, 1),
        (0, 0, 0, 0, 0, 0, 1, 1),
    ),
    "a bracket around it": (
        (1, 0, 0, 0, 1, 0, 1, 0),
        (1, 0, 0, 0, 1, 0, 1, 0),
        (1, 0, 0, 0, 1, 0, 1, 0),
        (0, 0, 0, 0, 1, 0, 1, 0),
    ),
    "forty words": (
        (40, 0, 3, 3, 3, 0, 40, 40),
        (40, 0, 3, 3, 3, 0, 40, 40),
        (40, 0, 3, 3, 3, 0, 40, 40),
        (1, 0, 3, 3, 3, 0, 40, 40),
    ),
    "a stop more": (
        (41, 0, 2, 3, 3, 0, 40, 40),
        (41, 0, 2, 3, 3, 0, 40, 40),
        (41, 0, 3, 3, 3, 0, 40, 40),
        (2, 0, 2, 3, 3, 0, 41, 41),
    ),
    "a quotation mark as a possessive": (
        (6, 1, 0, 0, 0, 0, 0, 0),
        (6, 0, 3, 3, 3, 0, 6, 4),
        (6, 1, 0, 0, 0, 0, 0, 0),
        (4, 0, 3, 3, 3, 0, 6, 4),
    ),
    "one deleted by the prediction": (
        (4, 1, 0, 0, 0, 0, 0, 0),
        (4, 0, 3, 4, 4, 0, 4, 3),
        (4, 1, 0, 0, 0, 0, 0, 0),
        (4, 0, 3, 4, 4, 0, 4, 3),
    ),
    "at a bracket's beginning": (
        (4, 1, 0, 0, 0, 0, 0, 0),
        (4, 0, 3, 3, 3, 0, 4, 3),
        (4, 1, 0, 0, 0, 0, 0, 0),
        (2, 0, 3, 3, 3, 0, 4, 3),
    ),
    "before a bracket": (
        (4, 1, 0, 0, 0, 0, 0, 0),
        (4, 0, 3, 3, 3, 0, 4, 3),
        (4, 1, 0, 0, 0, 0, 0, 0),
        (2, 0, 3, 3, 3, 0, 4, 3),
    ),
    "one each way": (
        (4, 1, 0, 0, 0, 0, 0, 0),
        (4, 1, 0, 0, 0, 0, 0, 0),
        (4, 1, 0, 0, 0, 0, 0, 0),
        (2, 0, 1, 2, 2, 1, 4, 2),
    ),
    "one each way, and one more": (
        (5, 1, 0, 0, 0, 0, 0, 0),
        (5, 0, 1, 2, 2, 1, 5, 2),
        (5, 1, 0, 0, 0, 0, 0, 0),
        (3, 0, 1, 2, 2, 1, 5, 2),
    ),
    "two in a row": (
        (3, 1, 0, 0, 0, 0, 0, 0),
        (3, 0, 1, 2, 2, 0, 3, 1),
        (3, 1, 0, 0, 0, 0, 0, 0),
        (2, 0, 2, 2, 2, 0, 3, 1),
    ),
    "one that both delete before one that one does": (
        (3, 1, 0, 0, 0, 0, 0, 0),
        (3, 0, 1, 1, 2, 0, 2, 1),
        (3, 1, 0, 0, 0, 0, 0, 0),
        (2, 0, 1, 2, 2, 0, 3, 2),
    ),
    "no quotation mark": (
        (2, 1, 0, 0, 0, 0, 0, 0),
        (2, 1, 0, 0, 0, 0, 0, 0),
        (2, 1, 0, 0, 0, 0, 0, 0),
        (1, 0, 2, 2, 2, 0, 2, 1),
    ),
    "equal words": (
        (2, 1, 0, 0, 0, 0, 0, 0),
        (2, 1, 0, 0, 0, 0, 0, 0),
        (2, 1, 0, 0, 0, 0, 0, 0),
        (1, 0, 3, 3, 3, 0, 2, 2),
    ),
    "equal to one, not to the other": (
        (1, 1, 0, 0, 0, 0, 0, 0),
        (1, 1, 0, 0, 0, 0, 0, 0),
        (1, 1, 0, 0, 0, 0, 0, 0),
        (0, 1, 0, 0, 0, 0, 0, 0),
    ),
    "equal labels in a chain": (
        (2, 0, 2, 3, 3, 0, 2, 2),
        (2, 0, 2, 3, 3, 0, 2, 2),
        (2, 0, 3, 3, 3, 0, 2, 2),
        (0, 0, 2, 3, 3, 0, 2, 2),
    ),
    "equal labels in another": (
        (2, 0, 2, 3, 3, 0, 2, 2),
        (2, 0, 2, 3, 3, 0, 2, 2),
        (2, 0, 3, 3, 3, 0, 2, 2),
        (0, 0, 3, 3, 3, 0, 2, 2),
    ),
    "the first of equal labels is taken": (
        (2, 0, 2, 4, 4, 0, 2, 2),
        (2, 0, 2, 4, 4, 0, 2, 2),
        (2, 0, 4, 4, 4, 0, 2, 2),
        (0, 0, 3, 4, 4, 0, 2, 2),
    ),
    "a label equal to a deleted one": (
        (3, 0, 1, 2, 2, 1, 3, 3),
        (3, 0, 1, 2, 2, 1, 3, 3),
        (3, 0, 1, 2, 2, 1, 3, 3),
        (0, 0, 1, 1, 1, 0, 3, 3),
    ),
}
# of all sentences and of those up to the cut-off length, as it prints them: how many, error, skipped, valid, recall,
# precision, F-measure, complete match, average crossing, no and two or less crossing, tagging accuracy
SUMMARIES = {
    "COLLINS": (
        "47 16 3 28 76.47 74.71 75.58 35.71 0.25 85.71 96.43 96.73",
        "46 16 3 27 76.83 75.00 75.90 37.04 0.26 85.19 96.30 95.58",
    ),
    "quotes": (
        "47 9 3 35 77.67 76.19 76.92 37.14 0.23 85.71 97.14 91.16",
        "46 9 3 34 78.00 76.47 77.23 38.24 0.24 85.29 97.06 88.65",
    ),
    "unlabeled": (
        "47 16 3 28 84.71 82.76 83.72 53.57 0.25 85.71 96.43 96.73",
        "43 15 3 25 82.43 80.26 81.33 48.00 0.28 84.00 96.00 92.65",
    ),
    "equal": (
        "47 7 2 38 78.38 76.99 77.68 39.47 0.18 86.84 100.00 88.42",
        "36 6 2 28 81.16 77.78 79.43 46.43 0.11 92.86 100.00 89.51",
    ),
}


STATUS = ["valid", "error", "skipped"]
GOLD, PREDICTED = ([pair[side] for pair in PAIRS.values()] for side in (0, 1))


def record(sentence):
    """A sentence's figures in the order of RECORDS."""
    counts = sentence.n_matched, sentence.n_gold, sentence.n_predicted, sentence.n_crossing
    return sentence.length, STATUS.index(sentence.status), *counts, sentence.n_words, sentence.n_correct_tags


def one(gold, predicted, **settings):
    """The figures of one sentence."""
    (sentence,) = evalb([gold], [predicted], EvalbParameters(**settings)).sentences
    return sentence


# --- EVALB's figures --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("name", PAIRS)
def test_a_sentence_has_the_figures_of_evalb(name, setting):
    place = list(SETTINGS).index(setting)
    assert record(one(*PAIRS[name], **SETTINGS[setting])) == RECORDS[name][place]


@pytest.mark.parametrize("setting", SETTINGS)
def test_the_summary_is_that_of_evalb(setting):
    report = evalb(GOLD, PREDICTED, EvalbParameters(**SETTINGS[setting]))
    for figures, expected in zip((report.overall, report.up_to_cutoff), SUMMARIES[setting], strict=True):
        assert [value for _, value in figures.rows()] == expected.split()
    assert [sentence.number for sentence in report.sentences] == list(range(1, len(PAIRS) + 1))
    assert [record(sentence) for sentence in report.sentences] == [
        records[list(SETTINGS).index(setting)] for records in RECORDS.values()
    ]


def test_shares_are_those_of_the_counts():
    found = evalb(GOLD, PREDICTED).overall
    shares = found.recall, found.precision, found.f1, found.complete_match, found.no_crossing, found.tag_accuracy
    assert [f"{100 * share:.2f}" for share in shares] == ["76.47", "74.71", "75.58", "35.71", "85.71", "96.73"]
    assert (found.n_crossing, found.n_valid, found.average_crossing) == (7, 28, 0.25)
    assert found.two_or_less_crossing == 27 / 28
    assert not one("(S (NN x))", "(S (NN y))").is_complete
    sentence = one("(S (A (NN x)) (NN y))", "(S (A (B (NN x))) (NP y))")
    assert (sentence.recall, sentence.precision, sentence.tag_accuracy) == (1, 2 / 3, 1 / 2)


def test_what_is_not_there_counts_as_nothing():
    found = evalb(["(S (NN x))"], [None])
    assert found.overall.as_dict()["f1"] == found.overall.recall == found.up_to_cutoff.tag_accuracy == 0.0
    assert found.overall.n_valid == 0


# --- laws -------------------------------------------------------------------------------------------------------------

LABELS = st.sampled_from(["NP", "VP", "ADVP", "PRT", "NP-SBJ", "TOP", ""])
TAGS = st.sampled_from(["NN", "VB", ",", "ADVP", "PRT", "-NONE-"])


@st.composite
def sentences(draw):
    """Two trees over the same words, whose tags are deleted in both or in none."""
    tags = draw(st.lists(TAGS, min_size=1, max_size=8))
    others = [draw(st.sampled_from(["NN", "VB", "PRT"])) if tag not in (",", "-NONE-") else tag for tag in tags]
    rng = draw(st.randoms(use_true_random=False))
    return tuple(bracketed(labels, rng, draw(st.lists(LABELS, max_size=8))) for labels in (tags, others))


def bracketed(tags, rng, labels):
    """A random tree over words with these tags."""
    parts = [Tree(tag, [f"w{place}"]) for place, tag in enumerate(tags)]
    for label in labels:
        first = rng.randrange(len(parts))
        end = rng.randint(first + 1, min(len(parts), first + 3))
        parts[first:end] = [Tree(label, parts[first:end])]
    return Tree("S", parts)


def brackets(tree):
    """What counts of a tree under the default settings, straight from the definition."""
    kept = [tag not in EvalbParameters().delete_labels for _, tag in tree.tagged_words()]
    found, todo, n_words = [], [("open", tree)], 0
    while todo:
        event, node = todo.pop()
        if event == "close":
            found.append((node[1], sum(kept[:n_words]), node[0]))
        elif node.is_tag:
            n_words += 1
        else:
            label = {"PRT": "ADVP"}.get(node.label.split("-")[0], node.label.split("-")[0])
            todo.append(("close", (label, sum(kept[:n_words]))))
            todo.extend(("open", child) for child in reversed(node.children))
    return [(start, end, label) for start, end, label in found if start < end and label != "TOP"]


@given(sentences())
def test_the_counts_are_those_of_the_definition(pair):
    check_counts(pair)


def test_the_counts_of_many_brackets_are_those_of_the_definition():
    rng = random.Random(0)
    labels = ["NP", "VP", "ADVP", "PRT", "NP-SBJ"]
    n_crossing = 0
    for _ in range(400):
        tags = rng.choices(["NN", "VB", ",", "PRT"], k=rng.randint(1, 12))
        pair = tuple(bracketed(tags, rng, rng.choices(labels, k=rng.randint(0, 12))) for _ in range(2))
        check_counts(pair)
        n_crossing += one(*pair).n_crossing
    assert n_crossing > 200


def check_counts(pair):
    """Compare a sentence's figures with the definition's."""
    gold, predicted = map(brackets, pair)
    found = one(*pair)
    tags = [[{"PRT": "ADVP"}.get(tag, tag) for _, tag in tree.tagged_words() if tag not in ",-NONE-"] for tree in pair]
    if not tags[0]:
        assert found.status == "skipped"
        return
    crossing = sum(any(a < s < b < e or s < a < e < b for a, b, _ in gold) for s, e, _ in predicted)
    assert found.n_matched == (Counter(gold) & Counter(predicted)).total()
    assert (found.n_gold, found.n_predicted, found.n_crossing) == (len(gold), len(predicted), crossing)
    assert (found.n_words, found.n_correct_tags) == (len(tags[0]), sum(a == b for a, b in zip(*tags, strict=True)))
    assert found.length == sum(tag != "-NONE-" for _, tag in pair[0].tagged_words())
    assert found.is_complete == (Counter(gold) == Counter(predicted))


@given(st.lists(sentences(), min_size=1, max_size=5))
def test_the_same_trees_are_all_right(pairs):
    gold = [Tree("S", [tree, Tree("NN", ["end"])]) for tree, _ in pairs]
    found = evalb(gold, gold)
    shares = found.overall.recall, found.overall.precision, found.overall.f1, found.overall.complete_match
    assert (*shares, found.overall.tag_accuracy, found.overall.no_crossing, found.overall.n_crossing) == (1,) * 6 + (0,)
    assert not found.errors().mistakes
    assert found.errors().n_wrong == 0


@given(st.lists(sentences(), min_size=1, max_size=5))
def test_gold_and_predicted_swap_recall_and_precision(pairs):
    gold, predicted = zip(*pairs, strict=True)
    there, back = evalb(gold, predicted).overall, evalb(predicted, gold).overall
    assert (there.recall, there.precision, there.f1) == (back.precision, back.recall, back.f1)
    assert (there.n_skipped, there.n_complete, there.tag_accuracy) == (
        back.n_skipped,
        back.n_complete,
        back.tag_accuracy,
    )


@pytest.mark.parametrize("setting", SETTINGS)
def test_figures_are_sums_over_sentences(setting):
    parameters = EvalbParameters(**SETTINGS[setting])
    whole = evalb(GOLD, PREDICTED, parameters).overall
    parts = [evalb([gold], [guess], parameters).overall for gold, guess in zip(GOLD, PREDICTED, strict=True)]
    for name in whole.__dataclass_fields__:
        assert getattr(whole, name) == sum(getattr(part, name) for part in parts), name


@pytest.mark.parametrize("setting", SETTINGS)
def test_mistakes_add_up(setting):
    report = evalb(GOLD, PREDICTED, EvalbParameters(**SETTINGS[setting]))
    counts = Counter(place.kind for place in report.places)
    both = counts["missing"] - counts["spurious"]
    assert counts["missing"] + counts["confused"] == report.overall.n_gold - report.overall.n_matched
    assert both == report.overall.n_gold - report.overall.n_predicted
    assert counts["tag"] == report.overall.n_words - report.overall.n_correct_tags


# --- no limits --------------------------------------------------------------------------------------------------------


def chain(label, n):
    tree = Tree("NN", ["x"])
    for _ in range(n):
        tree = Tree(label, [tree])
    return tree


def branching(label, n, side):
    tree = Tree("NN", ["x"])
    for _ in range(n):
        tree = Tree(label, [tree, Tree("NN", ["x"])] if side == "left" else [Tree("NN", ["x"]), tree])
    return tree


@pytest.mark.parametrize(
    "gold, predicted, matched, crossing",
    [
        (chain("NP", 100_000), chain("NP", 100_000), 100_000, 0),
        (chain("ADVP", 100_000), chain("PRT", 99_999), 99_999, 0),
        (chain("NP", 100_000), chain("VP", 100_000), 0, 0),
        (branching("NP", 100_000, "left"), branching("NP", 100_000, "right"), 1, 99_999),
        (branching("NP", 100_000, "right"), branching("VP", 100_000, "right"), 0, 0),
    ],
    ids=["chain", "equal chain", "other chain", "crossing", "right"],
)
def test_no_tree_is_too_deep_or_too_long(gold, predicted, matched, crossing):
    report = evalb([gold], [predicted])
    assert (report.overall.n_matched, report.overall.n_crossing) == (matched, crossing)
    assert len(str(report.errors())) + len(repr(report)) + len(repr(report.errors())) < 3000
    assert all(len(repr(place)) < 200 for place in report.places[:100])


def test_no_run_of_quotation_marks_is_too_long():
    gold = Tree("S", [*(Tree("''", ["'"]) for _ in range(100_000)), Tree("NN", ["end"])])
    predicted = Tree("S", [*(Tree("''", ["'"]) for _ in range(99_999)), Tree("POS", ["'"]), Tree("NN", ["end"])])
    found = one(gold, predicted, quote_labels=("''", "POS"))
    assert (found.status, found.n_words, found.n_correct_tags) == ("valid", 2, 1)


def test_errors_are_counted_to_the_end():
    found = evalb(["(S (NN a))"] * 50, ["(S (NN b))"] * 49 + ["(S (NN a))"], EvalbParameters(max_errors=3)).overall
    assert (found.n_sentences, found.n_errors, found.n_valid) == (50, 49, 1)


def test_a_word_without_a_tag_has_an_empty_one():
    found = one("(S (NP the cat) sleeps)", "(S (NP the cat) (VBZ sleeps))")
    assert record(found) == (3, 0, 2, 2, 2, 0, 3, 2)


# --- input ------------------------------------------------------------------------------------------------------------


def test_trees_come_in_all_forms(tmp_path):
    text = "(S (NP (NN tea)) (VP (VBZ cools)))"
    tree = Tree.from_string(text)
    write_trees([tree, tree, tree], tmp_path / "gold.mrg")
    (tmp_path / "predicted.mrg.gz").write_bytes(gzip.compress(f"{text}\n( ())\n{text}\n".encode()))
    forms = [
        [text, None, ("S", ("NP", ("NN", "tea")), ("VP", ("VBZ", "cools")))],
        (one for one in [tree, "( ( ) )\n", tree]),
        tmp_path / "predicted.mrg.gz",
        str(tmp_path / "predicted.mrg.gz"),
        io.BytesIO(f"{text} (()) {text}".encode()),
    ]
    for predicted in forms:
        report = evalb(tmp_path / "gold.mrg", predicted)
        assert [sentence.status for sentence in report.sentences] == ["valid", "skipped", "valid"]
        assert report.overall.f1 == 1


def test_parses_may_have_failed():
    assert list(as_parses(["(S (NN x))", None, "(())"])) == [Tree("S", [Tree("NN", ["x"])]), None, None]


@pytest.mark.parametrize(
    "gold, predicted, error, message",
    [
        (
            ["(S (NN a))"] * 3,
            ["(S (NN a))"] * 2,
            ValueError,
            "gold has 3 trees, predicted 2; the same number is wanted",
        ),
        (["(S (NN a))"], ["(S (NN a))"] * 2, ValueError, r"gold has 1 trees, predicted 2; .* \(\(\)\) stands for"),
        ([], [], ValueError, "nothing to judge"),
        ("(S (NN a))", [], TypeError, "gold: trees must be a list of trees or a path"),
        (["(S (NN a))"], Tree("S", ["a"]), TypeError, "predicted: trees must be a list of trees, got Tree"),
        (["(S (NN a))"], [7], TypeError, "predicted: tree 0: .* is wanted, got 7"),
        (["(S (NN a)"], ["(S (NN a))"], ValueError, "gold: tree 0: text:1:1: this bracket is never closed"),
        (["(S ())"], ["(S (NN a))"], ValueError, "gold: tree 0: .* is empty"),
        (7, ["(S (NN a))"], TypeError, "gold: trees must be a list of trees, got int"),
    ],
)
def test_what_are_no_trees_is_said(gold, predicted, error, message):
    with pytest.raises(error, match=message):
        evalb(gold, predicted)


# --- parameters -------------------------------------------------------------------------------------------------------

FILE = """# settings
DEBUG 0
MAX_ERROR 10
CUTOFF_LEN 40

LABELED 1
DELETE_LABEL TOP
DELETE_LABEL -NONE-
DELETE_LABEL\t,
DELETE_LABEL :  \r
DELETE_LABEL ``
DELETE_LABEL ''
DELETE_LABEL .
DELETE_LABEL_FOR_LENGTH -NONE-
EQ_LABEL ADVP PRT
"""


def test_a_parameter_file_is_read(tmp_path):
    path = tmp_path / "settings.prm"
    path.write_bytes(FILE.encode())
    assert EvalbParameters.from_file(path) == EvalbParameters()
    rest = "LABELED 0\nQUOTE_LABEL POS\nQUOTE_TERM CD\nEQ_WORD Tee tea\nDISC_ONLY 0\nDEBUG 2\nMAX_ERROR -1\n"
    path.write_text(rest + "CUTOFF_LEN 7")
    assert EvalbParameters.from_file(path) == EvalbParameters(
        labeled=False,
        cutoff_length=7,
        delete_labels=(),
        delete_labels_for_length=(),
        quote_labels=("POS", "CD"),
        equal_labels=(),
        equal_words=(("Tee", "tea"),),
        max_errors=-1,
        debug=2,
    )
    for given_path in (path, str(path)):
        assert evalb(["(S (NN Tee))"], ["(X (NN tea))"], given_path).overall.f1 == 1


@pytest.mark.parametrize(
    "line, message",
    [
        ("DELETE_LABELS X", "the keyword 'DELETE_LABELS' is unknown; known are DEBUG, MAX_ERROR"),
        (" DELETE_LABEL X", "a keyword must stand at the line's beginning, got 'DELETE_LABEL X' after a space"),
        ("DELETE_LABEL", "DELETE_LABEL must be followed by one label, got ''"),
        ("DELETE_LABEL X # no", "DELETE_LABEL must be followed by one label, got 'X # no'"),
        ("EQ_LABEL X", "EQ_LABEL must be followed by two values, got 'X'"),
        ("EQ_WORD X Y Z", "EQ_WORD must be followed by two values, got 'X Y Z'"),
        ("LABELED yes", "LABELED must be followed by one whole number, got 'yes'"),
        ("CUTOFF_LEN 4 5", "CUTOFF_LEN must be followed by one whole number, got '4 5'"),
        ("CUTOFF_LEN -4", "CUTOFF_LEN must be at least 0, got -4"),
        ("DISC_ONLY 1", "DISC_ONLY must be 0"),
    ],
)
def test_the_line_of_a_bad_parameter_is_named(tmp_path, line, message):
    (tmp_path / "bad.prm").write_text(f"# first\n{line}\n")
    with pytest.raises(ReadError, match=f"bad.prm, line 2: {message}"):
        evalb(["(S (NN a))"], ["(S (NN a))"], tmp_path / "bad.prm")


@pytest.mark.parametrize(
    "options, error, message",
    [
        ({"labeled": 1}, TypeError, "labeled must be True or False, got 1"),
        ({"cutoff_length": -1}, ValueError, "cutoff_length must be at least 0"),
        ({"cutoff_length": 4.0}, TypeError, "cutoff_length must be a whole number"),
        ({"delete_labels": "TOP"}, TypeError, "delete_labels must be a sequence of strings, got 'TOP'"),
        ({"quote_labels": [1]}, TypeError, "quote_labels must be a sequence of strings; one of them is 1"),
        ({"equal_labels": ["AB"]}, ValueError, "equal_labels must be a sequence of pairs of strings; one .* 'AB'"),
        ({"equal_words": [("a",)]}, ValueError, "equal_words must be a sequence of pairs"),
        ({"equal_words": 7}, TypeError, "equal_words must be a sequence of pairs of strings, got 7"),
    ],
)
def test_bad_parameters_are_named(options, error, message):
    with pytest.raises(error, match=message):
        EvalbParameters(**options)


def test_parameters_are_an_object_or_a_path():
    with pytest.raises(TypeError, match="parameters must be an EvalbParameters or the path"):
        evalb([], [], {"labeled": True})
    with pytest.raises(FileNotFoundError):
        evalb([], [], "no/such.prm")
    assert EvalbParameters(delete_labels=["X"], equal_labels=[["A", "B"]]) == EvalbParameters(
        delete_labels=("X",), equal_labels=(("A", "B"),)
    )


# --- reports ----------------------------------------------------------------------------------------------------------


def test_errors_say_what_and_where():
    gold = [
        "(S (NP-SBJ (DT the) (, ,) (NN cat)) (VP (VBZ sleeps) (PP (IN on) (NP (NNS books)))))",
        "(S (NP (NN tea)) (VP (VBZ cools)))",
        "(S (NP (NN tea)) (VP (VBZ cools)))",
        "(S (NN tea))",
    ]
    predicted = [
        "(S (X (DT the) (, ,) (NN cat)) (VP (VP (VBZ sleeps)) (PP (IN on) (NNS books))))",
        "(S (NP (NN tea)) (NP (VBZ cools)))",
        "(S (X (NN tea)) (VP (NNS cools)))",
        None,
    ]
    report = evalb(gold, predicted)
    errors = report.errors()
    assert (errors.n_sentences, errors.n_wrong) == (4, 3)
    found = {
        (one.kind, one.gold, one.predicted): [(at.sentence, at.words) for at in one.places] for one in errors.mistakes
    }
    assert found == {
        ("confused", "NP", "X"): [(1, ["the", ",", "cat"]), (3, ["tea"])],
        ("missing", "NP", None): [(1, ["books"])],
        ("spurious", None, "VP"): [(1, ["sleeps"])],
        ("confused", "VP", "NP"): [(2, ["cools"])],
        ("tag", "VBZ", "NNS"): [(3, ["cools"])],
    }
    assert errors.mistakes[0].gold == "NP"
    assert str(errors).split("\n\n") == [
        "3 of 4 sentences have mistakes",
        "not judged: 1\n  sentence 4: skipped: predicted has no parse",
        "NP taken for X: 2\n  sentence 1: the , cat\n  sentence 3: tea",
        "NP missing: 1\n  sentence 1: books",
        "VP spurious: 1\n  sentence 1: sleeps",
        "VP taken for NP: 1\n  sentence 2: cools",
        "tag VBZ taken for NNS: 1\n  sentence 3: cools",
    ]
    assert [one.kind for one in report.errors(2).mistakes] == ["confused", "missing"]
    with pytest.raises(ValueError, match="n must be at least 0"):
        report.errors(-1)


def test_sentences_that_are_not_judged_say_why():
    found = evalb(
        ["(S (NN a) (NN b))", "(S (NN a))", "(S (NN a))", "(S (NN a))"],
        ["(S (NN a))", "(S (NN b))", "(S (. a))", "(())"],
    )
    assert [(one.status, one.reason) for one in found.errors().not_judged] == [
        ("error", "gold has 2 words that are not deleted, predicted 1"),
        ("error", "gold has the word 'a', predicted 'b'"),
        ("skipped", "predicted has no words"),
        ("skipped", "predicted has no parse"),
    ]


def test_long_listings_are_cut():
    words = " ".join(f"(NN word{place})" for place in range(90))
    report = evalb([f"(S (A {words}) (NN x))"] * 8, [f"(S {words} (NN x))"] * 8)
    head, *places, last = str(report.errors().mistakes[0]).split("\n")
    assert (head, len(places), last) == ("A missing: 8", 5, "  and 3 more")
    assert places[0].startswith("  sentence 1: word0 word1 ")
    assert places[0].endswith("…")
    assert len(places[0]) < 100
    assert 'B taken for ""' in str(evalb(["( (B (NN x)) (NN y))"], ["( ( (NN x)) (NN y))"]).errors())


def test_a_report_is_a_table():
    report = evalb(GOLD, PREDICTED)
    lines = str(report).split("\n")
    assert lines[0].split("  ")[-1] == "length ≤ 40"
    values = [line.rsplit(maxsplit=2)[1:] for line in lines[1:]]
    assert [" ".join(column) for column in zip(*values, strict=True)] == [*SUMMARIES["COLLINS"]]
    assert [line.split("  ")[0] for line in lines[5:8]] == ["recall", "precision", "F1"]
    assert len({len(line) for line in lines}) == 1
    shown = report._repr_html_()
    assert "<tr><th>recall</th><td>76.47</td><td>76.83</td></tr>" in shown
    assert html.escape("length ≤ 40") in shown
    plain = report.as_dict()
    assert plain["overall"]["recall"] == report.overall.recall
    assert plain["sentences"][0]["n_matched"] == 5
