"""What constraints allow is what their schemes say, path by path; what does not fit is refused by name."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from fastlin.sequence.chain import Chain
from fastlin.sequence.constraints import AllBut, Constraints, as_allowed
from fastlin.sequence.metrics import spans
from fastlin.sequence.tokens import as_tokens

LABELS = np.array(["B-X", "B-Y", "I-X", "I-Y", "O"], dtype=object)
IOBES = np.array([f"{prefix}-{kind}" for prefix in "BIES" for kind in "XY"] + ["O"], dtype=object)


def is_allowed(rules, path):
    """Whether a path of codes has no step that is forbidden."""
    steps = all(rules.transitions[a, b] for a, b in itertools.pairwise(path))
    return bool(rules.start[path[0]] and steps and rules.end[path[-1]])


def in_scheme(scheme, kinds):
    """The tags that the scheme gives to a sentence whose tokens belong to spans (type, first?) or to none."""
    found = []
    for place, (kind, first) in enumerate(kinds):
        if kind is None:
            found.append("O")
            continue
        last = place + 1 == len(kinds) or kinds[place + 1][0] != kind or kinds[place + 1][1]
        before = kinds[place - 1][0] if place else None
        prefix = {
            "bio": "B" if first else "I",
            "iob1": "B" if first and before == kind else "I",
            "iobes": {(True, True): "S", (True, False): "B", (False, True): "E", (False, False): "I"}[first, last],
        }[scheme]
        found.append(f"{prefix}-{kind}")
    return tuple(found)


def sentences(n):
    """Every way to have spans of two types among n tokens, as (type, whether it is the first of its span)."""
    kinds = [(None, True), ("X", True), ("X", False), ("Y", True), ("Y", False)]
    for tokens in itertools.product(kinds, repeat=n):
        before = [None, *(kind for kind, _ in tokens)]
        if all(first or kind == last for (kind, first), last in zip(tokens, before, strict=False)):
            yield tokens


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("scheme, labels", [("bio", LABELS), ("iob1", LABELS), ("iobes", IOBES)])
def test_a_scheme_allows_exactly_its_taggings(scheme, labels, n):
    rules = Constraints.of_scheme(scheme, labels.tolist())
    paths = itertools.product(range(len(labels)), repeat=n)
    allowed = {tuple(labels[list(path)]) for path in paths if is_allowed(rules, path)}
    assert allowed == {in_scheme(scheme, tokens) for tokens in sentences(n)}


def test_a_scheme_in_which_no_span_could_end_is_refused():
    for scheme, named in (("iobes", "E or S"), ("bilou", "L or U")):
        with pytest.raises(ValueError, match=f"constraints='{scheme}': no label begins with {named}.*'bio'"):
            Constraints.of_scheme(scheme, ["O", "B-X", "I-X"])
        assert Constraints.of_scheme(scheme, ["O"]).transitions.tolist() == [[True]]


def test_other_names_of_schemes():
    bio, iob2 = (Constraints.of_scheme(name, LABELS.tolist()) for name in ("bio", "iob2"))
    bilou = [label.replace("E-", "L-").replace("S-", "U-") for label in IOBES]
    one, other = Constraints.of_scheme("iobes", IOBES.tolist()), Constraints.of_scheme("bilou", bilou)
    for own, same in ((bio, iob2), (one, other)):
        for name in ("start", "transitions", "end"):
            np.testing.assert_array_equal(getattr(own, name), getattr(same, name))
    untyped = Constraints.of_scheme("bio", ["B", "I", "O"])
    assert untyped.start.tolist() == [True, False, True]
    assert untyped.transitions.tolist() == [[True] * 3, [True] * 3, [True, False, True]]


@given(st.data())
def test_tags_within_bio_have_the_spans_that_their_bs_say(data):
    rules = Constraints.of_scheme("bio", LABELS.tolist())
    path = data.draw(st.lists(st.integers(0, 4), min_size=1, max_size=6).filter(lambda path: is_allowed(rules, path)))
    tags = LABELS[path].tolist()
    assert len(spans(tags)) == sum(tag[0] == "B" for tag in tags)


def test_pairs_allow_or_forbid():
    rules = Constraints.resolve({("a", "b"), ("b", "a")}, np.array(["a", "b", "c"]))
    assert rules.transitions.tolist() == [[False, True, False], [True, False, False], [False] * 3]
    assert rules.start.all()
    assert rules.end.all()
    rules = Constraints.resolve([(None, "a"), ["a", "b"], ("b", None)], np.array(["a", "b"]))
    assert (rules.start.tolist(), rules.end.tolist()) == ([True, False], [False, True])
    assert rules.transitions.tolist() == [[False, True], [False, False]]
    rules = Constraints.forbidding([(None, "a"), ("a", "b")], ["a", "b"])
    assert (rules.start.tolist(), rules.end.tolist()) == ([False, True], [True, True])
    assert rules.transitions.tolist() == [[True, False], [True, True]]
    numbers = Constraints.resolve([(1, 2)], np.array([1, 2]))
    assert numbers.transitions.tolist() == [[False, True], [False, False]]


def test_arrays_are_as_the_labels_of_the_model_and_constraints_have_labels_of_their_own():
    matrix = np.array([[True, False], [True, True]])
    np.testing.assert_array_equal(Constraints.resolve(matrix, np.array(["a", "b"])).transitions, matrix)
    rules = Constraints(["c", "b", "a"], np.arange(9).reshape(3, 3) % 2 == 0, [True, False, True], np.array([True] * 3))
    found = Constraints.resolve(rules, np.array(["a", "c"]))
    assert found.labels == ("a", "c")
    assert found.transitions.tolist() == [[True, True], [True, True]]
    assert Constraints.resolve(rules, np.array(["b", "c"])).transitions.tolist() == [[True, False], [False, True]]
    assert Constraints.resolve(rules, np.array(["b", "c"])).start.tolist() == [False, True]
    assert Constraints.resolve(None, LABELS) is None
    assert "3 labels, 5 of 9" in repr(rules)


@given(st.integers(1, 2), st.integers(1, 3), st.integers(0, 2**32 - 1))
def test_in_a_restricted_chain_exactly_the_allowed_paths_are_finite(order, n, seed):
    rng, K = np.random.default_rng(seed), 3
    histories = (K,) if order == 1 else (K + 1, K)
    chain = Chain(rng.normal(size=K), rng.normal(size=(*histories, K)), rng.normal(size=histories))
    start, end = rng.random(K) < 0.7, rng.random(K) < 0.7
    start[rng.integers(K)] = end[rng.integers(K)] = True
    rules = Constraints(range(K), rng.random((K, K)) < 0.6, start, end)
    paths = list(itertools.product(range(K), repeat=n))
    given = np.zeros((len(paths) * n, K)), np.arange(len(paths) + 1, dtype=np.int64) * n
    codes = np.array(paths, np.int32).ravel()
    before, after = chain.values(*given, codes), rules.restrict(chain).values(*given, codes)
    allowed = np.array([is_allowed(rules, path) for path in paths])
    np.testing.assert_array_equal(after[allowed], before[allowed])
    assert (after[~allowed] == -np.inf).all()


# --- labels of tokens ------------------------------------------------------------------------------------------------


def tokens_of(*lengths):
    return as_tokens(sparse.csr_array((sum(lengths), 1)), list(lengths), None, learn=False)


def test_what_tokens_may_have():
    tokens, classes = tokens_of(2, 0, 3, 1), np.array(["a", "b", "c"], dtype=object)
    masks = as_allowed([None, [], ["b", {"a", "c"}, None], [AllBut("a")]], tokens, classes)
    assert masks.astype(int).tolist() == [[1, 1, 1], [1, 1, 1], [0, 1, 0], [1, 0, 1], [1, 1, 1], [0, 1, 1]]
    assert as_allowed(None, tokens, classes) is None
    array = np.array([[True, False, False]])
    assert as_allowed([None, None, None, array], tokens, classes)[-1].tolist() == [True, False, False]
    numbers = as_allowed([[2, None]], tokens_of(2), np.array([1, 2]))
    assert numbers.tolist() == [[False, True], [True, True]]


@pytest.mark.parametrize(
    "allowed, message",
    [
        ([None], "allowed has 1 sequences, X has 2"),
        ([None, ["B-X"]], "allowed: sequence 1 has 1 entries, and the sequence 2 tokens"),
        ([None, ["B-X", "B_X"]], r"allowed: sequence 1, token 1, the label 'B_X' is unknown; did you mean 'B-X'\?"),
        ([None, [None, {"I-X", "NN"}]], "token 1, the label 'NN' is unknown; there are B-X, B-Y, I-X, I-Y, O"),
        ([None, [AllBut("Z"), None]], "token 0, the label 'Z' is unknown"),
        ([None, [[["O"]], None]], r"the label \['O'\] is unknown"),
        ([None, [None, set()]], "allowed: sequence 1, token 1 may have no label"),
        ([None, [AllBut(*LABELS), None]], "allowed: sequence 1, token 0 may have no label"),
        ([None, np.ones((2, 4), bool)], r"allowed: sequence 1 must have the shape \(2, 5\), got \(2, 4\)"),
    ],
)
def test_labels_of_tokens_that_make_no_sense(allowed, message):
    with pytest.raises(ValueError, match=message):
        as_allowed(allowed, tokens_of(1, 2), LABELS)


@pytest.mark.parametrize("allowed", ["O", 3, [None, "O"], [None, 7], [None, np.ones((2, 5))]])
def test_labels_of_tokens_that_are_none(allowed):
    with pytest.raises(TypeError, match="allowed"):
        as_allowed(allowed, tokens_of(1, 2), LABELS)


# --- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "constraints, error, message",
    [
        ("boi", ValueError, "constraints must be one of 'bio', .*did you mean 'bio'"),
        ("IOBES", ValueError, "got 'IOBES'; did you mean 'iobes'"),
        ("iobes", ValueError, "constraints='iobes': the label 'NN' is neither O nor begins with B nor I nor E nor S"),
        ([("B-X", "I_X")], ValueError, r"in \('B-X', 'I_X'\), the label 'I_X' is unknown; did you mean 'I-X'"),
        (["B-X"], TypeError, r"constraints must hold pairs \(label, label\), got 'B-X'"),
        ([(None, None)], TypeError, "must hold pairs"),
        (np.ones((2, 2), bool), ValueError, r"transitions must have the shape \(3, 3\), got \(2, 2\)"),
        (np.ones((3, 3)), TypeError, "transitions must be booleans, got float64"),
        (7, TypeError, "constraints must be None, the name of a scheme, .* got 7"),
        (
            Constraints(["B-X"], np.ones((1, 1), bool)),
            ValueError,
            "constraints say nothing of 'I-X', which is a label of the model",
        ),
    ],
)
def test_constraints_that_make_no_sense(constraints, error, message):
    with pytest.raises(error, match=message):
        Constraints.resolve(constraints, np.array(["B-X", "I-X", "NN"]))


def test_constraints_under_which_nothing_can_begin_or_end():
    with pytest.raises(ValueError, match="no label may be the first"):
        Constraints.of_scheme("bio", ["I-X"])
    with pytest.raises(ValueError, match="no label may be the last"):
        Constraints(["a"], [[True]], [True], [False])
    with pytest.raises(ValueError, match="the label 'a' is there twice"):
        Constraints(["a", "a"], np.ones((2, 2), bool))
    with pytest.raises(ValueError, match="the label 3 is neither"):
        Constraints.of_scheme("bio", [3])
