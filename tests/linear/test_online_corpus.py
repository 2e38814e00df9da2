"""Online learners on a corpus: the model is that of the same rows in memory, in the same order."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastlin import Corpus
from fastlin.data import corpus as corpora
from fastlin.optim import epochs
from support.estimators import (
    ONLINE,
    ONLINE_OPTIONS,
    assert_same_bits,
    assert_same_model,
    make,
    make_option,
    refused,
    text_like,
    twin_of,
)
from support.strategies import weighted

every_option = pytest.mark.parametrize("name", ONLINE_OPTIONS)
online = pytest.mark.parametrize("name", ONLINE)


@pytest.fixture
def small_segments(monkeypatch):
    """Corpora of about eight segments."""
    monkeypatch.setattr(corpora, "SEGMENT", 50)


def assert_same_run(one, other):
    """The same bits, and the same epochs on the way there."""
    assert_same_bits(one, other)
    for name in ("n_iter_", "converged_", "t_"):
        assert getattr(one, name) == getattr(other, name)
    for a, b in zip(one.history_, other.history_, strict=True):
        assert {**a, "seconds": 0} == {**b, "seconds": 0}


def named_text(**options):
    X, y = text_like(**options)
    return X, np.array(["ham", "spam", "eggs", "none"])[y]


@every_option
def test_a_corpus_of_one_segment_is_its_rows_in_memory(name):
    X, y = named_text()
    corpus = Corpus(X, y)
    assert corpus.n_segments == 1
    options = {"shuffle": True, "random_state": 3}
    assert_same_run(make_option(name, **options).fit(corpus), make_option(name, **options).fit(X, y))


@pytest.mark.usefixtures("small_segments")
@every_option
def test_a_stored_corpus_is_one_in_memory(name, tmp_path):
    X, y = named_text()
    held = Corpus(X, y, sample_weight=np.arange(len(y)) % 3)
    stored = held.write(tmp_path / "corpus")
    options = {"shuffle": True, "random_state": 3}
    assert_same_run(make_option(name, **options).fit(stored), make_option(name, **options).fit(held))


@pytest.mark.usefixtures("small_segments")
@every_option
def test_in_the_order_of_the_rows_segments_leave_no_trace(name):
    X, y = named_text()
    corpus = Corpus(X, y)
    assert corpus.n_segments > 5
    model = make_option(name).fit(corpus)
    assert_same_run(model, make_option(name).fit(X, y))
    np.testing.assert_array_equal(model.predict(corpus), model.predict(X))


@pytest.mark.usefixtures("small_segments")
@pytest.mark.parametrize(
    "name, sampling",
    [(name, "shuffle") for name in ONLINE_OPTIONS]
    + [(name, "replace") for name, (kind, *_) in ONLINE_OPTIONS.items() if kind == "sgd"],
)
def test_segments_come_in_random_order_and_so_do_their_rows(name, sampling):
    X, y = text_like()
    corpus, rng = Corpus(X, y), np.random.Generator(np.random.PCG64(5))

    def draw(start, stop):
        n = stop - start
        return start + (rng.permutation(n) if sampling == "shuffle" else rng.integers(0, n, n))

    def epoch():
        order = rng.permutation(corpus.n_segments)
        return np.concatenate([draw(corpus.bounds[index], corpus.bounds[index + 1]) for index in order])

    chosen = {"shuffle": True} if sampling == "shuffle" else {"sampling": sampling}
    model = make_option(name, random_state=5, max_iter=4, **chosen).fit(corpus)
    twin = twin_of(model, 3, X.shape[1])
    twin.fit(X, y, [epoch() for _ in range(4)])
    assert_same_model(model, twin)


@pytest.mark.parametrize("segment", [1, 12, 50])
@pytest.mark.parametrize("batch_size", [2, 7, 64])
@pytest.mark.parametrize("learning_rate", ["inverse", "adagrad"])
@given(data=st.data())
def test_mini_batches_go_on_where_a_segment_ends(segment, batch_size, learning_rate, data):
    X, y = text_like(n_rows=25)
    weights = data.draw(st.none() | weighted(25))
    options = {
        "learning_rate": learning_rate,
        "eta0": 0.5,
        "batch_size": batch_size,
        "average": data.draw(st.booleans()),
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(corpora, "SEGMENT", segment)
        corpus = Corpus(X, y, sample_weight=weights)
        model = make("sgd", **options).fit(corpus)
    assert_same_run(model, make("sgd", **options).fit(X, y, sample_weight=weights))


@pytest.mark.usefixtures("small_segments")
@pytest.mark.parametrize("class_weight", [None, "balanced", {"ham": 0.5, "eggs": 0}])
@pytest.mark.parametrize("name", ["averaged perceptron", "averaged log loss", "mini-batches", "MIRA"])
def test_weights_of_rows_and_labels(name, class_weight):
    X, y = named_text()
    weights = np.random.default_rng(0).choice([0, 0.3, 2], size=len(y))
    model = make_option(name, class_weight=class_weight).fit(Corpus(X, y, sample_weight=weights))
    assert_same_run(model, make_option(name, class_weight=class_weight).fit(X, y, sample_weight=weights))
    nothing = Corpus(X, y, sample_weight=np.zeros(len(y)))
    with refused(make_option(name), match="weight of every row is zero"):
        make_option(name, class_weight=class_weight).fit(nothing)


@pytest.mark.usefixtures("small_segments")
@every_option
def test_partial_fit_is_an_epoch(name):
    X, y = named_text()
    later_X, later_y = named_text(n_labels=4, seed=2)
    one, other = make_option(name), make_option(name)
    for rows, labels in ((X, y), (later_X, later_y), (X, y)):
        one.partial_fit(Corpus(rows, labels), classes=["ham", "zebra"])
        other.partial_fit(rows, labels, classes=["ham", "zebra"])
        assert_same_run(one, other)
    assert_same_bits(one.partial_fit(X[:0:-1], y[:0:-1]), other.partial_fit(X[:0:-1], y[:0:-1]))


@pytest.mark.usefixtures("small_segments")
@pytest.mark.parametrize("name", ["averaged perceptron", "averaged PA-II", "averaged log loss", "adagrad"])
def test_any_number_of_threads_gives_the_same_bits(name):
    X, y = named_text()
    corpus = Corpus(X, y)
    models = [make_option(name, n_jobs=n_jobs).fit(corpus, X_val=corpus) for n_jobs in (None, 2, 3)]
    for model in models[1:]:
        assert_same_run(model, models[0])


@pytest.mark.usefixtures("small_segments")
@pytest.mark.parametrize("name", ["averaged perceptron", "log loss"])
def test_a_corpus_to_validate_on(name):
    X, y = named_text(n_rows=90)
    options = {"early_stopping": True, "tol": 0.02, "n_iter_no_change": 2, "max_iter": 200}
    expected = make_option(name, **options).fit(X[:60], y[:60], X_val=X[60:], y_val=y[60:])
    learnt, held = Corpus(X[:60], y[:60]), Corpus(X[60:], y[60:])
    assert_same_run(make_option(name, **options).fit(learnt, X_val=held), expected)
    assert_same_run(make_option(name, **options).fit(learnt, X_val=X[60:], y_val=y[60:]), expected)
    assert_same_run(make_option(name, **options).fit(X[:60], y[:60], X_val=held), expected)
    with pytest.raises(ValueError, match="y_val must be None"):
        make_option(name).fit(learnt, X_val=held, y_val=y[60:])


@pytest.mark.usefixtures("small_segments")
@every_option
def test_a_fraction_of_a_corpus_to_validate_on(name):
    X, y = named_text(n_rows=90)
    options = {"early_stopping": True, "validation_fraction": 0.3, "max_iter": 200, "tol": 0.01, "random_state": 2}
    model = make_option(name, **options).fit(Corpus(X, y))
    assert_same_run(model, make_option(name, **options).fit(X, y))
    assert model.t_ - 1 == 63 * model.n_iter_


@pytest.mark.usefixtures("small_segments")
@pytest.mark.parametrize("dtype", [None, "float32", "float64"])
@pytest.mark.parametrize("given", [np.float32, np.float64])
@online
def test_weights_have_the_type_of_the_corpus_or_the_one_asked_for(name, given, dtype):
    X, y = named_text(dtype=given)
    model = make(name, dtype=dtype).fit(Corpus(X, y))
    assert model.coef_.dtype == (dtype or given)
    assert_same_run(model, make(name, dtype=dtype).fit(X, y))


@pytest.mark.usefixtures("small_segments")
@online
def test_what_a_corpus_brings_itself_is_not_given_too(name):
    X, y = named_text()
    for method in ("fit", "partial_fit"):
        for options in ({"y": y}, {"sample_weight": np.ones(len(y))}):
            model = make(name).fit(X, y)
            with refused(model, match="must be None"):
                getattr(model, method)(Corpus(X, y), **options)
        with refused(make(name), match="without labels"):
            getattr(make(name), method)(Corpus(X))
        with refused(make(name), match="y"):
            getattr(make(name), method)(X)


@pytest.mark.usefixtures("small_segments")
def test_a_value_too_large_for_the_weights_is_found_in_its_segment():
    X, y = text_like()
    X = X.tolil()
    X[57, 3] = 1e20
    X = X.tocsr()
    model = make("perceptron", dtype="float32").fit(X[:50], y[:50])
    with refused(model, match="1e\\+20 at row 57, column 3"):
        model.fit(Corpus(X, y))


@pytest.mark.usefixtures("small_segments")
@pytest.mark.parametrize("name", ["perceptron", "averaged perceptron", "log loss", "averaged log loss", "adagrad"])
def test_ctrl_c_in_partial_fit_keeps_the_steps_taken(name, monkeypatch):
    X, y = text_like()
    model, expected = make_option(name).partial_fit(X, y), make_option(name).partial_fit(X, y)
    monkeypatch.setattr(epochs, "BUDGET", 1)
    kernel, calls = epochs.online.run, []

    def interrupted(*arguments):
        if len(calls) == 40:
            raise KeyboardInterrupt
        calls.append(arguments)
        return kernel(*arguments)

    monkeypatch.setattr(epochs.online, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(Corpus(X, y))
    with refused(fresh := make_option(name).set_params(max_iter=5), KeyboardInterrupt):
        fresh.fit(Corpus(X, y))
    monkeypatch.undo()
    expected.partial_fit(X[:40], y[:40])
    assert model.t_ == expected.t_ == 101
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-12, atol=1e-15)
