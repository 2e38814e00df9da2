"""Comparisons of two models: the figures of reports, and draws that are those of documents drawn one by one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastlin.inspection import compare, report
from fastlin.sequence import compare_spans
from fastlin.sequence.metrics import span_f1_score

LABELS = st.sampled_from(["a", "b", "c", "d"])


def answers(n, right, seed):
    """Labels of n documents, and those of two models of which so many are right."""
    draw = np.random.default_rng(seed)
    y = draw.integers(0, 3, n)
    return y, *(np.where(draw.random(n) < share, y, draw.integers(0, 3, n)) for share in right)


@given(st.lists(st.tuples(LABELS, LABELS, LABELS), min_size=1, max_size=20))
def test_figures_are_those_of_reports(rows):
    y, first, second = zip(*rows, strict=True)
    for figure, attribute in (("accuracy", "accuracy"), ("macro_f1", "macro_f1")):
        found = compare(y, first, second, figure=figure, n_samples=10)
        assert found.first == pytest.approx(getattr(report(y, first), attribute))
        assert found.second == pytest.approx(getattr(report(y, second), attribute))


@pytest.mark.parametrize("figure", ["accuracy", "macro_f1"])
def test_draws_of_kinds_are_draws_of_documents(figure):
    """Quantiles and p agree with those of documents drawn, and exchanged, one by one."""
    y, first, second = answers(120, (0.6, 0.7), 3)
    found = compare(y, first, second, figure=figure, n_samples=4000)
    draw, drawn, exchanged = np.random.default_rng(1), [], []

    def difference(rows, one, other):
        figures = [getattr(report(y[rows], model[rows]), figure) for model in (one, other)]
        return figures[1] - figures[0]

    everything = np.arange(len(y))
    for _ in range(1000):
        drawn.append(difference(draw.integers(0, len(y), len(y)), first, second))
        heads = draw.random(len(y)) < 0.5
        exchanged.append(difference(everything, np.where(heads, second, first), np.where(heads, first, second)))
    spread = np.std(drawn)
    assert found.low == pytest.approx(np.quantile(drawn, 0.025), abs=0.25 * spread)
    assert found.high == pytest.approx(np.quantile(drawn, 0.975), abs=0.25 * spread)
    p = np.mean(np.abs(exchanged) >= abs(found.difference) - 1e-12)
    assert found.p_value == pytest.approx(p, abs=5 * np.sqrt(p * (1 - p) / 1000) + 0.002)
    assert found.share_better == pytest.approx(
        np.mean(np.array(drawn) > 0) + np.mean(np.array(drawn) == 0) / 2, abs=0.06
    )


def test_the_other_way_round_is_the_other_way_round():
    y, first, second = answers(400, (0.5, 0.9), 0)
    there, back = compare(y, first, second), compare(y, second, first)
    assert there.difference == -back.difference
    assert there.p_value == back.p_value == pytest.approx(1 / 10_001)
    assert there.low > 0 > back.high
    assert "the second is better" in str(there)
    assert "the first is better" in str(back)


def test_a_model_is_no_better_than_itself():
    y, first, _ = answers(50, (0.5, 0.9), 0)
    found = compare(y, first, first)
    assert (found.difference, found.low, found.high, found.p_value, found.share_better) == (0, 0, 0, 1, 0.5)


def test_chance_is_found_to_be_chance_as_often_as_it_says():
    """Of 200 pairs of models that are equally good, about one in twenty has p < 0.05."""
    least = [compare(*answers(100, (0.6, 0.6), seed), n_samples=400).p_value for seed in range(200)]
    assert np.mean(np.array(least) < 0.05) < 0.1


TAGS = st.sampled_from(["O", "B-X", "I-X", "B-Y", "I-Y"])


@given(st.lists(st.lists(st.tuples(TAGS, TAGS, TAGS), min_size=1, max_size=6), min_size=1, max_size=6))
def test_spans_are_those_of_the_f1_score(sentences):
    y, first, second = ([[row[place] for row in sentence] for sentence in sentences] for place in range(3))
    found = compare_spans(y, first, second, n_samples=5)
    assert (found.n, found.unit) == (len(sentences), "sentences")
    assert found.first == pytest.approx(span_f1_score(y, first))
    assert found.second == pytest.approx(span_f1_score(y, second))


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: compare(["a"], ["a", "b"], ["a"]), "y has 1, first has 2, second has 1"),
        (lambda: compare([], [], []), "there are no documents"),
        (lambda: compare(["a"], ["a"], ["a"], figure="f1"), "figure must be one of"),
        (lambda: compare(["a"], ["a"], ["a"], n_samples=0), "n_samples"),
        (lambda: compare(["a"], ["a"], ["a"], confidence=1.0), "confidence must lie between 0 and 1"),
        (lambda: compare_spans([["O"]], [["O", "O"]], [["O"]]), "sequence 0 has 1 labels"),
    ],
)
def test_what_cannot_be_compared_is_refused(call, match):
    with pytest.raises(ValueError, match=match):
        call()


def test_labels_of_several_names_are_refused():
    with pytest.raises(TypeError, match="y, first and second must hold one label for each document"):
        compare([["a"]], [["a"]], [["a"]])
