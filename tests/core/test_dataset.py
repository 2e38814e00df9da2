"""Datasets: rows in memory and those of a corpus answer the same, and views of them show the rows that count."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from fastlin import Corpus
from fastlin.core import dataset
from fastlin.core.dataset import DatasetView, read_dataset, read_rows, read_validation, training_view

COUNTS = {"dtype": np.dtype(np.float64), "nonnegative": True}
N = 90
RNG = np.random.default_rng(3)
X = csr_array(RNG.poisson(0.3, size=(N, 12)).astype(float))
Y = RNG.choice(["a", "b", "c"], N).astype("U4")
Y[:2] = "rare"
PARTLY = np.where(RNG.random(N) < 0.4, "", Y)
WEIGHTS = RNG.integers(0, 3, N).astype(float)
WEIGHTS[:2] = 0  # no row of the label "rare" counts
SIZES = np.full(N // 3, 3)
RIGHT = RNG.integers(0, 3, N // 3)


@pytest.fixture(params=["one segment", "segments", "on disk"])
def corpus_of(request, tmp_path, monkeypatch):
    """Makes a corpus of rows and what belongs to them."""
    if request.param != "one segment":
        monkeypatch.setattr("fastlin.data.corpus.SEGMENT", 60)

    def make(*args, **given):
        corpus = Corpus(*args, **given)
        return corpus if request.param != "on disk" else corpus.write(tmp_path / "corpus")

    return make


def joined(blocks):
    """Rows as an array, codes and weights of all blocks; without weights, ones."""
    parts = [(rows.matrix().toarray(), codes, weights if len(weights) else np.ones(len(codes)))
             for rows, codes, weights in blocks]  # fmt: skip
    return tuple(np.concatenate(arrays) for arrays in zip(*parts, strict=True))


def assert_same_blocks(one, other):
    for mine, yours in zip(joined(one.blocks()), joined(other.blocks()), strict=True):
        np.testing.assert_array_equal(mine, yours)


def test_a_corpus_answers_as_the_same_rows_in_memory_do(corpus_of):
    memory = read_dataset(X, Y, WEIGHTS, estimator="Test", **COUNTS)
    corpus = read_dataset(corpus_of(X, Y, sample_weight=WEIGHTS), None, estimator="Test", **COUNTS)
    assert len(memory) == len(corpus) == N
    assert memory.shape == corpus.shape == X.shape
    assert (memory.dtype, memory.weighted) == (corpus.dtype, corpus.weighted) == (np.float64, True)
    for name in ("codes", "weights", "has_weight"):
        np.testing.assert_array_equal(getattr(memory, name)(), getattr(corpus, name)())
    np.testing.assert_array_equal(memory.classes, corpus.classes)
    assert [start for start, _ in corpus.numbered_rows()] == corpus.bounds[:-1].tolist()
    whole = np.concatenate([rows.matrix().toarray() for _, rows in corpus.numbered_rows()])
    np.testing.assert_array_equal(whole, X.toarray())
    assert [len(segment.rows) for segment in memory.segments()] == np.diff(memory.bounds).tolist() == [N]
    assert [len(segment.rows) for segment in corpus.segments()] == np.diff(corpus.bounds).tolist()
    assert (memory.rows is None, corpus.rows is None) == (False, True)
    rows = np.flatnonzero(RNG.random(N) < 0.5)
    for data in (memory, corpus):
        some = data.take(rows)
        np.testing.assert_array_equal(some.classes[some.codes()], Y[rows])
        np.testing.assert_array_equal(some.weights(), WEIGHTS[rows])
    matrix, given = memory.as_input(), corpus.as_input()
    np.testing.assert_array_equal(matrix.toarray(), given.to_memory()[0].toarray())


def test_partly_labelled_and_unlabelled_rows_are_the_same_in_memory_and_of_a_corpus(corpus_of):
    corpus = read_rows(corpus_of(X, PARTLY, sample_weight=WEIGHTS), COUNTS)
    memory = read_rows(X, COUNTS)
    mine = memory.partly_labelled(PARTLY, WEIGHTS, estimator="Test")
    other = corpus.partly_labelled(None, None, estimator="Test")
    assert_same_blocks(mine, other)
    for view in (mine, other):
        np.testing.assert_array_equal(view.has_label(), PARTLY != "")
        np.testing.assert_array_equal(view.classes[view.codes()][view.has_label()], PARTLY[PARTLY != ""])
    for view in (memory.unlabelled(WEIGHTS), corpus.unlabelled()):
        _, codes, weights = joined(view.blocks())
        np.testing.assert_array_equal(codes, np.full(N, -1))
        np.testing.assert_array_equal(weights, WEIGHTS)


def test_groups_are_the_same_in_memory_and_of_a_corpus(corpus_of):
    right = np.zeros(N, int)
    right[3 * np.arange(len(SIZES)) + RIGHT] = 1
    of_groups = RNG.integers(1, 4, len(SIZES)).astype(float)
    of_rows = np.where(right, np.repeat(of_groups, 3), 7.0)  # of a group, the weight of its right row counts
    corpus = read_rows(corpus_of(X, right, group_sizes=SIZES, sample_weight=of_rows), {})
    for groups in (read_rows(X, {}).grouped(RIGHT, SIZES, of_groups), corpus.grouped(None, None, None)):
        np.testing.assert_array_equal(groups.starts, np.arange(0, N + 1, 3))
        np.testing.assert_array_equal(groups.right, RIGHT)
        np.testing.assert_array_equal(groups.weights, of_groups)
    assert np.isin(corpus.bounds, groups.starts).all()


@pytest.mark.parametrize("class_weight", [None, {"a": 0.5, "b": 0.0, "c": 2.0, "rare": 1.0}, "balanced"])
def test_what_is_learnt_from_has_a_weight_and_only_labels_that_rows_have(corpus_of, class_weight):
    memory = read_dataset(X, Y, WEIGHTS, estimator="Test")
    corpus = read_dataset(corpus_of(X, Y, sample_weight=WEIGHTS), None, estimator="Test")
    mine, other = training_view(memory, class_weight), training_view(corpus, class_weight)
    assert_same_blocks(mine, other)
    masses = {label: WEIGHTS[label == Y].sum() for label in set(Y)}
    there = [label for label in masses if masses[label]]
    factors = dict.fromkeys(masses, 1.0)
    if class_weight == "balanced":
        factors |= {label: sum(masses.values()) / (len(there) * masses[label]) for label in there}
    elif class_weight is not None:
        factors = class_weight
    weights = WEIGHTS * [factors[label] for label in Y]
    kept = np.flatnonzero(weights > 0)
    for view in (mine, other):
        rows, codes, found = joined(view.blocks())
        np.testing.assert_array_equal(rows, X.toarray()[kept])
        np.testing.assert_array_equal(view.classes, np.unique(Y[kept]))
        np.testing.assert_array_equal(view.classes[codes], Y[kept])
        np.testing.assert_allclose(found, weights[kept], rtol=1e-15)
        np.testing.assert_array_equal(view.row_numbers(), kept)
        np.testing.assert_array_equal(view.has_label()[kept], True)


def test_a_view_of_some_rows_keeps_labels_weights_and_columns(corpus_of):
    """A corpus of some rows knows only the labels that they have; the view knows all."""
    factors, columns = {"a": 0.5, "b": 3.0, "c": 2.0, "rare": 1.0}, np.array([1, 4, 11])
    weights = WEIGHTS + 1
    rows = np.flatnonzero(Y == "c")
    for data in (
        read_dataset(X, Y, weights, estimator="Test"),
        read_dataset(corpus_of(X, Y, sample_weight=weights), None, estimator="Test"),
    ):
        view = training_view(data, factors).restricted(columns)
        some = view.take(rows)
        assert some.n_features == len(columns)
        matrix, codes, found = joined(some.blocks())
        np.testing.assert_array_equal(matrix, X.toarray()[rows][:, columns])
        np.testing.assert_array_equal(some.classes[codes], Y[rows])
        np.testing.assert_array_equal(found, 2.0 * weights[rows])
        rest = view.without(rows)
        np.testing.assert_array_equal(rest.row_numbers(), np.flatnonzero(Y != "c"))
        np.testing.assert_array_equal(joined(rest.blocks())[0], X.toarray()[Y != "c"][:, columns])


def test_a_view_among_more_labels_gives_each_its_place():
    view = read_rows(X, COUNTS).partly_labelled(PARTLY, None, estimator="Test")
    more = np.array(["0", *view.classes.tolist(), "z"])
    there = PARTLY != ""
    for moved in (view, view.take(np.arange(N))):
        moved = moved.among(more, np.arange(1, len(view.classes) + 1, dtype=np.int32))
        np.testing.assert_array_equal(more[moved.codes()][there], PARTLY[there])
        np.testing.assert_array_equal(moved.codes()[~there], -1)


def test_labels_of_validation_data_that_are_not_learnt_have_no_code(corpus_of):
    learnt = read_dataset(X, np.where(Y == "c", "a", Y), estimator="Test")
    known = np.flatnonzero(Y != "c")
    for held in (
        read_validation(X, Y, learnt.classes, learnt, estimator="Test"),
        read_validation(corpus_of(X, Y), None, learnt.classes, learnt, estimator="Test"),
    ):
        np.testing.assert_array_equal(held.codes() < 0, Y == "c")
        np.testing.assert_array_equal(held.classes[held.codes()[known]], Y[known])


@pytest.mark.parametrize(
    ("ask", "named"),
    [
        (lambda data: data.labelled(Y, estimator="Test"), "y must be None"),
        (lambda data: data.labelled(None, WEIGHTS, estimator="Test"), "sample_weight must be None"),
        (lambda data: data.partly_labelled(Y, None, estimator="Test"), "y must be None"),
        (lambda data: data.unlabelled(WEIGHTS), "sample_weight must be None"),
        (lambda data: data.sample_weights(WEIGHTS), "sample_weight must be None"),
        (lambda data: data.group_starts(SIZES), "group_sizes must be None"),
        (lambda data: data.grouped(RIGHT, None, None), "y must be None"),
    ],
)
def test_what_a_corpus_brings_is_refused_beside_it(ask, named):
    data = read_rows(Corpus(X, Y, group_sizes=SIZES), {}, "X_some")
    with pytest.raises(ValueError, match=f"X_some is a Corpus, .*: {named.replace('y ', 'y(_some)? ')}"):
        ask(data)


def test_the_values_of_a_corpus_are_checked_when_they_are_read(corpus_of):
    negative = X.toarray()
    negative[N - 1, 5] = -2
    data = read_rows(corpus_of(negative, Y), COUNTS, "X_val")
    for read in (lambda: list(data.segments()), lambda: list(data.numbered_rows()), lambda: joined_of(data)):
        with pytest.raises(ValueError, match=rf"Negative values in data.*: X_val holds -2 at row {N - 1}, column 5"):
            read()


def joined_of(data):
    return joined(DatasetView(data, data.classes).blocks())


def test_rows_to_predict_for_come_without_arrays_of_their_own():
    """Predicting one row pays for its proof alone."""
    data = read_rows(X, {})
    assert data.classes is dataset.NO_CLASSES
    assert data.codes() is dataset.NO_CODES
    assert data.weights() is dataset.NO_WEIGHTS
