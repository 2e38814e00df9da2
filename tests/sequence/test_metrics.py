"""Spans and their figures are conlleval's; listings show what went wrong."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score

from fastlin.sequence.metrics import SpanTally, errors, span_f1_score, span_report, spans, tag_report
from oracles import conlleval as reference

PREFIXES = {"IOB": "BI", "IOE": "EI", "IOBES": "BIES", "BILOU": "BILU", "brackets": "[]", "mixed": "BIESLU"}


def tags(scheme):
    typed = [f"{prefix}-{kind}" for prefix in PREFIXES[scheme] for kind in ("X", "Y", "X-Y")]
    return ["O", *typed, *{"IOB": "BI", "brackets": "."}.get(scheme, "")]


@st.composite
def tagged(draw):
    """Right and guessed tags of some sentences; guesses are often right, and tags often malformed."""
    known = st.sampled_from(tags(draw(st.sampled_from(sorted(PREFIXES)))))
    true = draw(st.lists(st.lists(known, max_size=8), min_size=1, max_size=4))
    guessed = [[draw(known) if draw(st.booleans()) else tag for tag in sentence] for sentence in true]
    return true, guessed


@given(tagged())
@example(([["I-X"]], [["B-X"]]))
@example(([["B-X", "I-Y", "I-X"]], [["B-X", "B-Y", "B-X"]]))
def test_the_figures_are_those_of_conlleval(sentences):
    true, guessed = sentences
    tokens, right_tokens, chunks, found, right = reference.evaluate(true, guessed)
    report = span_report(true, guessed)
    assert (report.tokens, report.right_tokens) == (tokens, right_tokens)
    assert {one.type: one.spans for one in report.types if one.spans} == chunks
    assert {one.type: one.found for one in report.types if one.found} == found
    assert {one.type: one.right for one in report.types if one.right} == right
    for one in report.types:
        counts = right[one.type], chunks[one.type], found[one.type]
        assert (one.precision, one.recall, one.f1) == pytest.approx(reference.f1(*counts))
    whole = reference.f1(right.total(), chunks.total(), found.total())
    assert (report.precision, report.recall, report.f1) == pytest.approx(whole)
    assert span_f1_score(true, guessed) == report.f1


@given(tagged())
def test_spans_lie_side_by_side_and_cover_what_has_a_tag(sentences):
    for sentence in sentences[0]:
        covered = []
        for kind, start, stop in spans(sentence):
            assert start < stop
            assert {reference.parts(tag)[1] for tag in sentence[start:stop]} == {kind}
            covered += range(start, stop)
        assert covered == [place for place, tag in enumerate(sentence) if tag not in "O."]


WELL_FORMED = {
    "iob1": "I-X I-X O I-X B-X I-Y O",
    "iob2": "B-X I-X O B-X B-X B-Y O",
    "ioe1": "I-X I-X O E-X I-X I-Y O",
    "ioe2": "I-X E-X O E-X E-X E-Y O",
    "iobes": "B-X E-X O S-X S-X S-Y O",
    "bilou": "B-X L-X O U-X U-X U-Y O",
}


@pytest.mark.parametrize("scheme", WELL_FORMED)
def test_every_scheme_says_the_same(scheme):
    expected = [("X", 0, 2), ("X", 3, 4), ("X", 4, 5), ("Y", 5, 6)]
    assert spans(WELL_FORMED[scheme].split()) == expected


def test_spans_that_follow_one_another_in_iobes():
    assert spans(["B-X", "I-X", "E-X", "B-X", "E-X", "S-X", "I-X"]) == [
        ("X", 0, 3),
        ("X", 3, 5),
        ("X", 5, 6),
        ("X", 6, 7),
    ]


def test_tags_without_types_and_those_that_are_no_spans():
    assert spans(["B", "I", "O", "I", "B"]) == [("", 0, 2), ("", 3, 4), ("", 4, 5)]
    assert spans(["DET", "NOUN", "VERB"]) == []
    assert spans(["B", "M", "E", "S", "B", "E"]) == [("", 0, 3), ("", 3, 4), ("", 4, 6)]
    assert spans([]) == spans(["O"]) == spans([1, 2]) == []


def test_a_bracket_is_a_span():
    assert spans(["[-X", ".", "O", "[-X", "]-X", "]-Y", "."]) == [("X", 0, 1), ("X", 3, 4), ("X", 4, 5), ("Y", 5, 6)]


def test_a_span_that_nothing_ends_ends_with_its_sentence():
    assert spans(["B", "."]) == [("", 0, 2)]


def test_the_table_is_conllevals():
    true = [["B-NP", "I-NP", "B-VP", "O", "B-PP"], ["B-NP"]]
    guessed = [["B-NP", "I-NP", "B-NP", "O", "B-PP"], ["O"]]
    assert str(span_report(true, guessed)).splitlines() == [
        "processed 6 tokens with 4 phrases; found: 3 phrases; correct: 2.",
        "accuracy:  66.67%; precision:  66.67%; recall:  50.00%; FB1:  57.14",
        "               NP: precision:  50.00%; recall:  50.00%; FB1:  50.00  2",
        "               PP: precision: 100.00%; recall: 100.00%; FB1: 100.00  1",
        "               VP: precision:   0.00%; recall:   0.00%; FB1:   0.00  0",
    ]


def test_figures_as_plain_types():
    found = json.loads(json.dumps(span_report([["B-X", "B-Y"]], [["B-X", "O"]]).as_dict()))
    assert (found["tokens"], found["accuracy"], found["precision"], found["recall"]) == (2, 0.5, 1.0, 0.5)
    assert found["types"]["Y"] == {"spans": 1, "found": 0, "right": 0, "precision": 0.0, "recall": 0.0, "f1": 0.0}


@given(tagged())
def test_blocks_add_up_to_the_whole(sentences):
    true, guessed = sentences
    tally = SpanTally()
    for own, other in zip(true, guessed, strict=True):
        tally.add([own], [other])
    assert tally.report() == span_report(true, guessed)


def test_the_mean_over_types():
    true, guessed = [["B-X", "B-Y", "B-Y"]], [["B-X", "B-Y", "O"]]
    assert span_f1_score(true, guessed, average="macro") == pytest.approx((1 + 2 / 3) / 2)
    assert span_f1_score([["O"]], [["O"]], average="macro") == 0.0
    with pytest.raises(ValueError, match="average must be one of 'micro', 'macro', got 'mikro'; did you mean 'micro'"):
        span_f1_score(true, guessed, average="mikro")


@given(tagged())
def test_the_report_of_tags_is_that_of_their_tokens(sentences):
    flat = [[tag for sentence in part for tag in sentence] for part in sentences]
    if flat[0]:
        assert tag_report(*sentences).accuracy == pytest.approx(accuracy_score(*flat))
        assert "documents" not in str(tag_report(*sentences))


# --- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", [span_report, span_f1_score, tag_report, lambda a, b: errors(a, a, b)])
def test_tags_that_do_not_fit_are_refused(function):
    with pytest.raises(ValueError, match="y_true has 1 sequences, y_pred 2"):
        function([["O"]], [["O"], ["O"]])
    with pytest.raises(ValueError, match="sequence 1 has 2 labels in y_true and 1 in y_pred"):
        function([["O"], ["O", "O"]], [["O"], ["O"]])
    with pytest.raises(TypeError, match="y_pred must be a list of sequences of labels; entry 0 is 'B-X'"):
        function([["O"]], ["B-X"])


def test_nothing_is_no_report():
    with pytest.raises(ValueError, match="no sentence"):
        span_report([], [])
    with pytest.raises(ValueError, match="no tokens"):
        tag_report([[]], [[]])


# --- listings --------------------------------------------------------------------------------------------------------

WORDS = [["He", "reckons", "so"], ["the", "end"], ["a", "b"], ["x"]]
RIGHT = [["B-NP", "B-VP", "O"], ["B-NP", "I-NP"], ["B-NP", "I-NP"], ["O"]]
GIVEN = [["B-NP", "B-NP", "O"], ["B-NP", "O"], ["O", "O"], ["O"]]


def test_sentences_stand_under_their_most_frequent_mistake():
    found = errors(WORDS, RIGHT, GIVEN)
    assert (found.sentences, found.wrong) == (4, 3)
    assert [(one.true, one.predicted, one.tokens) for one in found.confusions] == [
        ("I-NP", "O", 2),
        ("B-VP", "B-NP", 1),
    ]
    assert [[one.place for one in group.examples] for group in found.confusions] == [[1, 2], [0]]
    lines = str(found).splitlines()
    assert lines[0] == "3 of 4 sentences have mistakes"
    assert lines[-4:] == [
        "sentence 0",
        "  words  He    reckons  so",
        "  right  B-NP  B-VP     O",
        "  wrong        B-NP",
    ]
    assert str(errors(WORDS, RIGHT, GIVEN, 1)).startswith("3 of 4 sentences have mistakes; 1 of them follow\n")
    assert errors(WORDS, RIGHT, RIGHT).wrong == 0


def test_other_tags_for_the_same_spans_are_no_mistake():
    assert errors([["a", "b"]], [["B-X", "I-X"]], [["I-X", "I-X"]]).wrong == 0
    assert errors([["a", "b"]], [["DET", "NOUN"]], [["DET", "VERB"]]).wrong == 1


def test_tokens_of_every_kind_have_a_word():
    X = [[("Time", "NN"), {"w": "flies", "pos": "VB"}, ["like", "IN"], "an", (), {}]]
    (group,) = errors(X, [["O", "O", "O", "O", "O", "B-X"]], [["O"] * 6]).confusions
    assert group.examples[0].words == ("Time", "flies", "like", "an", "", "")
    (group,) = errors([[{"bias": 1.0, "w": "flies"}, {"bias": 1.0}]], [["O", "B-X"]], [["O", "O"]]).confusions
    assert group.examples[0].words == ("flies", "1.0")


def test_long_sentences_are_broken_into_lines():
    n = 60
    X, y = [[f"word{place}" for place in range(n)]], [["O"] * n]
    text = str(errors(X, y, [["O"] * (n - 1) + ["B-X"]]))
    assert max(map(len, text.splitlines())) <= 100
    assert text.split().count("O") == n + 1  # one in the name of the mistake
    assert text.count("  wrong") == 1


def test_words_that_do_not_fit_the_tags_are_refused():
    with pytest.raises(ValueError, match="X has 1 sequences, y_true 2"):
        errors([["a"]], [["O"], ["O"]], [["O"], ["O"]])
    with pytest.raises(ValueError, match="sequence 0 has 2 tokens in X and 1 labels"):
        errors([["a", "b"]], [["O"]], [["O"]])
