"""Files for serving: smaller, as right as their type allows, and honest about it."""

import numpy as np
import pytest
import scipy.sparse as sp

import fastlin
from fastlin.storage.load_context import LoadContext
from fastlin.storage.weight_packing import DTYPES, Packing, unpack
from support.model_files import ANSWERS, BATCH, CODES, LEARNERS, ONLINE, TEXTS, X, fitted, of_texts

ERRORS = {"float64": 0, "float32": 2.0**-24, "float16": 2.0**-11, "int8": 1 / 253}  # of the largest weight
rng = np.random.default_rng(1)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.fastlin"


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", [*ONLINE, *BATCH])
def test_weights_come_back_as_exactly_as_their_type_allows(path, name, dtype):
    model = fitted(LEARNERS[name], X, CODES)
    report = fastlin.save(model, path, dtype=dtype, X=X, y=CODES)
    loaded = fastlin.load(path)
    coef = model.coef_.toarray() if sp.issparse(model.coef_) else model.coef_
    assert loaded.coef_.dtype == ("float64" if dtype == "float64" else "float32")
    np.testing.assert_allclose(loaded.coef_, coef, rtol=0, atol=1.001 * ERRORS[dtype] * np.abs(coef).max())
    assert report["bytes"] == path.stat().st_size
    assert report["weights"] == np.count_nonzero(coef)
    assert report["accuracy"] == model.score(X, CODES)
    assert report["accuracy_saved"] == loaded.score(X, CODES)
    assert not hasattr(loaded, "history_")


@pytest.mark.parametrize("name", ["averaged", "adagrad", "l1"])
def test_a_model_for_serving_may_learn_from_where_it_is(path, name):
    model = fitted(ONLINE[name], X, CODES)
    fastlin.save(model, path, dtype="float32")
    loaded = fastlin.load(path)
    assert loaded.t_ == model.t_
    before = loaded.coef_.copy()
    loaded.partial_fit(X, CODES)
    assert (loaded.coef_ != before).any()


@pytest.mark.parametrize("prune", [0.0, 0.5, 1.5, 100.0])
@pytest.mark.parametrize("labels", [1, 3, 20])
@pytest.mark.parametrize("dtype", [None, *DTYPES])
def test_pruned_weights_are_zero_and_the_others_as_they_were(dtype, labels, prune):
    weights = rng.normal(size=(400, labels))
    packing = Packing(dtype, prune)
    state = packing.pack(weights)
    expected = np.where(np.abs(weights) <= prune, 0, weights)
    found = unpack(state, LoadContext())
    tolerance = ERRORS[dtype or "float64"] * max(1, np.abs(expected).max())
    np.testing.assert_allclose(found, expected, rtol=0, atol=1.001 * tolerance)
    assert packing.weights == np.count_nonzero(expected)
    assert packing.pruned == weights.size - packing.weights
    if prune == 100:
        assert sum(np.asarray(part).nbytes for part in state.values()) < 400


def test_accuracy_is_measured_on_a_corpus_too(path):
    model, corpus = fitted(fastlin.LogisticRegression(tol=1e-2), X, CODES), fastlin.Corpus(X, CODES)
    assert fastlin.save(model, path, dtype="int8", X=corpus) == fastlin.save(model, path, dtype="int8", X=X, y=CODES)
    with pytest.raises(ValueError, match="which brings its labels"):
        fastlin.save(model, path, X=corpus, y=CODES)


def test_features_without_weights_take_no_room(path):
    wide = sp.csr_array((np.ones(90), (np.arange(90), 1000 * np.arange(90))), shape=(90, 100_000))
    model = fitted(fastlin.Perceptron(max_iter=2, tol=None), wide, CODES)
    assert fastlin.save(model, path, dtype="int8")["bytes"] < 6500
    np.testing.assert_allclose(fastlin.load(path).coef_, model.coef_, atol=0.01 * np.abs(model.coef_).max())


def test_int8_takes_the_scale_that_loses_less():
    signs = rng.choice([-1.0, 1.0], size=(50, 8))
    by_label, by_feature = signs * np.arange(1, 9), signs * np.arange(1, 51)[:, np.newaxis]
    assert Packing("int8").pack(by_label)["scales"].shape == (8,)
    assert Packing("int8").pack(by_feature)["scales"].shape == (50, 1)
    assert Packing("int8").pack(by_feature[:, :7])["scales"].shape == (7,)  # scales would cost more than they save


def test_float16_neither_overflows_nor_loses_small_weights():
    weights = np.array([[1e25, 1e-25], [-3e24, 3e-25]])
    np.testing.assert_allclose(unpack(Packing("float16").pack(weights), LoadContext()), weights, rtol=2.0**-10)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8"])
def test_the_weights_of_a_csr_have_one_scale(path, dtype):
    model = fitted(LEARNERS["observed"], X, CODES).sparsify()
    fastlin.save(model, path, dtype=dtype)
    coef = fastlin.load(path).coef_
    np.testing.assert_array_equal(coef.indices, model.coef_.indices)
    largest = abs(model.coef_).max()
    np.testing.assert_allclose(coef.data, model.coef_.data, atol=ERRORS[dtype] * largest * 1.01)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8"])
def test_weights_too_large_for_a_type_are_refused(dtype):
    with pytest.raises(ValueError, match=r"holds weights up to 1e\+30"):
        Packing(dtype).pack(np.array([[1e31]]))


def test_a_pipeline_is_quantised_where_it_has_weights(path):
    model = of_texts()
    whole = fastlin.save(model, path)["bytes"]
    report = fastlin.save(model, path, dtype="int8", prune=1e-3, X=TEXTS, y=ANSWERS)
    assert report["bytes"] < whole
    assert (report["accuracy"], report["accuracy_saved"]) == (1, 1)
    assert fastlin.load(path).predict(TEXTS).tolist() == ANSWERS


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"dtype": "int4"}, "dtype must be one of"),
        ({"dtype": 8}, "dtype must be one of"),
        ({"prune": -1}, "prune must be >= 0"),
        ({"prune": float("nan")}, "prune must be >= 0"),
        ({"X": TEXTS}, "X and y must be given together"),
    ],
)
def test_options_are_checked_before_anything_is_written(path, arguments, message):
    with pytest.raises(ValueError, match=message):
        fastlin.save(of_texts(), path, **arguments)
    assert not path.exists()


def test_what_predicts_no_labels_has_no_accuracy(path):
    with pytest.raises(TypeError, match="CountVectorizer predicts no labels"):
        fastlin.save(fastlin.CountVectorizer().fit(TEXTS), path, X=TEXTS, y=ANSWERS)
    assert not path.exists()


def test_what_has_no_weights_is_not_quantised(path):
    with pytest.raises(ValueError, match="of which this CountVectorizer has none"):
        fastlin.save(fastlin.CountVectorizer().fit(TEXTS), path, dtype="int8")
    with pytest.raises(ValueError, match="MultinomialNB is saved as counts"):
        fastlin.save(fastlin.MultinomialNB().fit(X, CODES), path, dtype="int8")
    assert not path.exists()
