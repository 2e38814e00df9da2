"""Links of words: Pharaoh's format, and two directions as one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastlin.channel import read_links, symmetrize, write_links

LINKS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=9)


@given(LINKS)
def test_what_is_written_is_read(links):
    assert read_links(write_links(links)) == links


@pytest.mark.parametrize("text", ["1", "1-", "-1", "a-b", "1-2-3", "0-0 1_1"])
def test_what_is_no_link_is_named(text):
    with pytest.raises(ValueError, match="a link must be i-j"):
        read_links(text)


@given(LINKS, LINKS)
def test_methods_lie_between_intersection_and_union(forward, backward):
    least, most = set(forward) & set(backward), set(forward) | set(backward)
    found = {method: symmetrize(forward, backward, method) for method in METHODS}
    assert found["intersection"] == sorted(least)
    assert found["union"] == sorted(most)
    previous = least
    for method in ("grow-diag", "grow-diag-final-and", "grow-diag-final"):
        assert previous <= set(found[method]) <= most
        assert found[method] == sorted(set(found[method]))
    for links in (found["grow-diag"], found["grow-diag-final-and"]):
        assert set(found["grow-diag"]) <= set(links)


METHODS = "intersection", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and"


def test_the_example_of_the_definition():
    forward, backward = [(0, 0), (1, 1), (3, 3), (5, 4)], [(0, 0), (1, 2), (3, 3), (2, 5)]
    assert symmetrize(forward, backward, "intersection") == [(0, 0), (3, 3)]
    assert symmetrize(forward, backward, "grow-diag") == [(0, 0), (1, 1), (1, 2), (3, 3)]
    both = symmetrize(forward, backward, "grow-diag-final-and")
    assert both == [(0, 0), (1, 1), (1, 2), (2, 5), (3, 3), (5, 4)]
    # a link of which one word is free: "final" takes it, "final-and" does not
    one, other = [(0, 0), (0, 3)], [(0, 0)]
    assert symmetrize(one, other, "grow-diag-final-and") == [(0, 0)]
    assert symmetrize(one, other, "grow-diag-final") == [(0, 0), (0, 3)]


def test_an_unknown_method_is_named():
    with pytest.raises(ValueError, match="method"):
        symmetrize([], [], "magic")


PAIR_OF_NUMBERS_WANTED = [
    [[(0, 0)]], [[(0, 0), (1, 1)]], [(0, 0), (1,)], [(0, 1, 2)], [(0.5, 1)], ["00"], "0-0", 3, [0], [None]
]  # fmt: skip


@pytest.mark.parametrize("links", PAIR_OF_NUMBERS_WANTED, ids=repr)
def test_links_of_several_pairs_and_what_is_none_are_named(links):
    for name, call in (
        ("forward", lambda: symmetrize(links, [])),
        ("backward", lambda: symmetrize([], links)),
        ("links", lambda: write_links(links)),
    ):
        with pytest.raises(TypeError, match=rf"{name} must be the links \(i, j\) of one pair of sentences, got"):
            call()


def test_lines_of_several_pairs_are_no_line():
    with pytest.raises(TypeError, match="text must be a string"):
        read_links(["0-0", "1-1"])


def test_links_may_be_lists_and_numbers_of_numpy():
    links = [[np.int64(1), np.int32(2)], (0, 0)]
    assert symmetrize(links, iter([(1, 2)]), "union") == [(0, 0), (1, 2)]
    assert write_links(links) == "1-2 0-0"
