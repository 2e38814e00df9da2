"""Trees, their brackets and their binary derivations."""

import copy
import io
import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastlin.data import ReadError
from fastlin.grammar import PCFG, Tree, read_trees, write_trees
from fastlin.grammar.binarize import Binarizer, base_label, normalize_tree, restore_tree
from fastlin.grammar.brackets import BracketError

names = st.text("ABN-=^@|P1", min_size=1, max_size=4)
words = st.text("abcß.,-'", min_size=1, max_size=4)


def grown(children: st.SearchStrategy[Tree | str]) -> st.SearchStrategy[Tree]:
    return st.builds(Tree, names, st.lists(children | words, min_size=1, max_size=5))


trees = st.recursive(st.builds(lambda tag, word: Tree(tag, [word]), names, words), grown, max_leaves=12)


@given(trees)
def test_brackets_are_read_as_they_were_written(tree: Tree) -> None:
    assert Tree.from_string(str(tree)) == tree
    assert Tree.from_string(tree.to_lines(20)) == tree
    assert pickle.loads(pickle.dumps(tree)) == copy.deepcopy(tree) == tree
    assert hash(copy.copy(tree)) == hash(tree)
    assert [word for word, _ in tree.tagged_words()] == tree.leaves()


@given(trees, st.integers(1, 4), st.none() | st.integers(0, 3), st.booleans())
def test_a_derivation_is_undone_exactly(tree: Tree, vertical: int, horizontal: int | None, split: bool) -> None:
    binarizer = Binarizer(vertical, horizontal, split)
    steps = binarizer.derive(tree)
    assert steps.words == tree.leaves()
    assert restore_tree(steps, binarizer.symbols) == tree


@given(st.lists(trees, max_size=5))
def test_files_of_trees(found: list[Tree]) -> None:
    text = io.BytesIO("\n".join(tree.to_lines(12) for tree in found).encode())
    assert list(read_trees(text)) == found


def test_files_are_compressed_or_not_and_trees_may_be_tuples(tmp_path: Path) -> None:
    wanted = Tree.from_string("(S (NP (PRP He)) (VP (VBZ sleeps)))")
    nested = ("S", ("NP", ("PRP", "He")), ["VP", ("VBZ", "sleeps")])
    assert write_trees([nested, str(wanted), wanted], tmp_path / "trees.mrg") == 3
    assert list(read_trees(tmp_path / "trees.mrg")) == [wanted] * 3


def test_spans_depth_and_drawings() -> None:
    tree = Tree.from_string("(S (NP (DT the) (NN <cat>)) (VP (VBZ sleeps)))")
    assert tree.spans() == [
        ("DT", 0, 1), ("NN", 1, 2), ("NP", 0, 2), ("VBZ", 2, 3), ("VP", 2, 3), ("S", 0, 3),
    ]  # fmt: skip
    assert tree.depth() == 3
    assert "&lt;cat&gt;" in tree.to_svg()
    assert tree.to_svg().count("<line") == 8
    assert tree._repr_html_().startswith("<div")


def test_a_tree_may_be_as_deep_as_it_likes() -> None:
    tree = Tree("X", ["word"])
    for depth in range(100_000):
        tree = Tree(f"X{depth % 3}", [tree])
    again = Tree.from_string(str(tree))
    assert again == tree
    assert tree.depth() == 100_001
    binarizer = Binarizer(2, 1, True)
    assert restore_tree(binarizer.derive(tree), binarizer.symbols) == tree
    assert len(tree.to_svg()) > 100_000
    assert pickle.loads(pickle.dumps(tree)).leaves() == ["word"]
    lines = tree.to_lines(40)
    assert len(lines) < 5_000_000
    assert max(len(line) - len(line.lstrip()) for line in lines.split("\n")) == 40
    assert Tree.from_string(lines) == tree


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("(S (NP a)", r"text:1:1: this bracket is never closed; 1 are open"),
        ("(S a))", r"text:1:6: this bracket closes nothing"),
        ("(S\n  (NP ))", r"text:2:7: the constituent 'NP' is empty"),
        ("(())", r"text:1:3: the constituent '' is empty"),
        ("S (NP a)", r"text:1:1: 'S' is in no brackets"),
        ("(" * 1_000_000, r"text:1:1000000: this bracket is never closed; 1000000 are open"),
    ],
)
def test_what_is_wrong_in_brackets_is_said_with_its_place(text: str, place: str) -> None:
    with pytest.raises(BracketError, match=place):
        Tree.from_string(text)


def test_what_no_tree_is_made_of_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"tree 1: a Tree, a string of brackets, a tuple .* got 3"):
        PCFG().fit(["(S (A a))", 3])
    with pytest.raises(ValueError, match=r"tree 0: the constituent 'S' is empty"):
        PCFG().fit([("S",)])
    for child in (None, 3):
        with pytest.raises(TypeError, match=rf"tree 0: a Tree, a string of brackets, a tuple .* got {child}"):
            PCFG().fit([("S", "a", child, "b")])
        with pytest.raises(TypeError, match=rf"tree 1: a child must be a Tree or a word, got {child}"):
            PCFG().fit(["(S (A a))", ("S", Tree("A", ["a", child]))])  # type: ignore[list-item]
    with pytest.raises(TypeError, match=r"tree 0: a label must be a string, got 3"):
        PCFG().fit([Tree("S", [Tree(3, ["a"])])])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="one string of brackets: put it in a list"):
        PCFG().fit("(S (A a))")
    with pytest.raises(ValueError, match=r"tree 0: the word 'a b' cannot stand between brackets"):
        write_trees([Tree("S", ["a b"])], tmp_path / "trees")
    with pytest.raises(ReadError, match="this is not UTF-8"):
        list(read_trees(io.BytesIO(b"(S \xff)")))


def test_functions_and_traces_are_removed() -> None:
    tree = Tree.from_string(
        "(S (NP-SBJ-1 (NP (NNP Ann))) (VP (VBZ sleeps) (S (NP (-NONE- *-1))) (-LRB- -LRB-) (NP=2 (NN bed))))"
    )
    cleaned = normalize_tree(tree, True, True)
    assert str(cleaned) == "(S (NP (NNP Ann)) (VP (VBZ sleeps) (-LRB- -LRB-) (NP (NN bed))))"
    assert normalize_tree(tree, False, False) is tree
    assert normalize_tree(Tree.from_string("(S (NP (-NONE- *)))"), True, True) is None
    assert [base_label(label) for label in ("NP-SBJ", "-LRB-", "NP=1", "ADVP|PRT", "-")] == [
        "NP", "-LRB-", "NP", "ADVP|PRT", "-",
    ]  # fmt: skip


@pytest.mark.parametrize("tree", [("S", ("A", "")), Tree("S", [Tree("A", [""])]), ("S", Tree("A", ["x", ""]))], ids=str)
def test_words_that_are_empty_are_refused(tree: object) -> None:
    with pytest.raises(ValueError, match="tree 1: the word '' cannot stand between brackets"):
        PCFG().fit(["(S (A x))", tree])
