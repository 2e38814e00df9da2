"""Every model comes back from its file: the same predictions and the same learning, bit for bit."""

import copy
import os
import pickle
import re
import resource
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas
import pytest
import scipy.sparse as sp
import sklearn.base
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

import fastlin
from fastlin import select, storage
from fastlin.model_files import classes
from fastlin.registry import CLASSES
from fastlin.storage.model_codec import ModelCodec
from fastlin.text.templates import Templates
from support.model_files import (
    ANSWERS,
    BATCH,
    CLUSTERS,
    CODES,
    COUNTED,
    DICTS,
    FEW,
    LABELS,
    LEARNERS,
    OF_DICTS,
    ONLINE,
    SEMI_SUPERVISED,
    SOME,
    TEXTS,
    TRANSFORMERS,
    VECTORISERS,
    X,
    fitted,
    of_texts,
)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.fastlin"


def again(model, path, **options):
    fastlin.save(model, path)
    return fastlin.load(path, **options)


def same(one, two):
    """Equal matrices of the same kind."""
    assert type(one) is type(two)
    assert one.dtype == two.dtype
    if sp.issparse(one):
        assert one.shape == two.shape
        one, two = one.tocsr(), two.tocsr()
        one, two = (one.indptr, one.indices, one.data), (two.indptr, two.indices, two.data)
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a, b)


def same_model(one, two, *, history=False):
    assert sklearn.base.clone(one).get_params().keys() == two.get_params().keys()
    for name in ("classes_", "coef_", "intercept_", "feature_count_", "class_count_", "n_features_in_"):
        if hasattr(one, name):
            a, b = getattr(one, name), getattr(two, name)
            if sp.issparse(a):
                a, b = a.toarray(), b.toarray()
            np.testing.assert_array_equal(a, b)
    assert one.classes_.dtype == two.classes_.dtype
    assert not history or getattr(one, "history_", None) == getattr(two, "history_", None)
    for method in ("predict", "decision_function", "predict_proba"):
        if hasattr(one, method):
            np.testing.assert_array_equal(getattr(one, method)(X), getattr(two, method)(X))


# Round trips


@pytest.mark.parametrize("mmap", [True, False])
@pytest.mark.parametrize("name", LEARNERS)
def test_a_learner_comes_back_whatever_its_labels(path, name, mmap):
    for kind, y in LABELS.items():
        if name == "pegasos" and kind not in ("integers", "two"):
            continue  # its class_weight names an integer
        model = fitted(LEARNERS[name], X, y)
        same_model(model, again(model, path, mmap=mmap), history=True)


@pytest.mark.parametrize("name", [*ONLINE, *COUNTED])
def test_learning_goes_on_with_the_same_bits(path, name):
    model = fitted(LEARNERS[name], X, CODES)
    loaded = again(model, path)
    before = path.read_bytes()
    for labels in (CODES, CODES, (CODES + 2) % 6):  # new labels, too
        model.partial_fit(X, labels)
        loaded.partial_fit(X, labels)
        same_model(model, loaded)
    assert path.read_bytes() == before
    assert again(loaded, path).predict(X).tolist() == model.predict(X).tolist()


def test_a_model_of_another_class_is_refused(path):
    fastlin.save(fastlin.Perceptron().fit([[0.0], [1.0]], [0, 1]), path)
    assert isinstance(fastlin.load(path, fastlin.Perceptron), fastlin.Perceptron)
    with pytest.raises(TypeError, match=f"{re.escape(str(path))} holds a Perceptron, and kind asks for a LinearSVC"):
        fastlin.load(path, fastlin.LinearSVC)


def test_categories_of_tuples_come_back_and_go_on_growing(path):
    tuples = [("ate", 3, b"x", None), ("saw", 0, None, None), (None, 1, b"y", None)] * 3
    many = [(f"Straße {i}", i % 5, b"z", None) for i in range(100)]
    model = fastlin.CategoricalNB(min_categories=3, alpha=0.1).fit(tuples, ["a", "b", "c"] * 3)
    model.partial_fit(many, ["a"] * 100)  # in arrays with room for more
    loaded = again(model, path)
    for rows in (tuples, many, [("new", 1, b"", None)]):
        np.testing.assert_array_equal(loaded.predict_joint_log_proba(rows), model.predict_joint_log_proba(rows))
    for one, other in zip(loaded.categories_, model.categories_, strict=True):
        assert one.tolist() == other.tolist()
    new = [("new", 1, b"x", "a kind"), ("ate", 3, b"w", None)]
    for one in (loaded, model):
        one.partial_fit(new, ["d", "a"])
    for one, other in zip(loaded.feature_log_prob_, model.feature_log_prob_, strict=True):
        np.testing.assert_array_equal(one, other)
    assert again(loaded, path).n_categories_.tolist() == model.n_categories_.tolist()
    unknown = fastlin.CategoricalNB().fit([(None,)] * 2, [0, 1])
    assert again(unknown, path).predict([("x",)]).tolist() == unknown.predict([("x",)]).tolist()


@pytest.mark.parametrize("name", CLUSTERS)
def test_clusters_come_back_and_go_on_with_the_same_bits(path, name):
    model = fitted(CLUSTERS[name], X)
    loaded = again(model, path)
    told = [name for name in vars(model) if name[0] != "_" and name[-1] == "_"]
    objective = "inertia_" if name == "k-means, batches" else "objective_"
    assert {"history_", objective, "n_iter_", "n_features_in_"} <= set(told)
    assert repr([getattr(loaded, name) for name in told]) == repr([getattr(model, name) for name in told])
    for learn in (lambda one: None, lambda one: hasattr(one, "partial_fit") and one.partial_fit(X[:40])):
        learn(model)
        learn(loaded)
        for method in ("predict", "predict_proba", "score_samples", "transform"):
            if hasattr(model, method):
                np.testing.assert_array_equal(getattr(loaded, method)(X), getattr(model, method)(X))
    np.testing.assert_array_equal(again(loaded, path).predict(X), model.predict(X))


@pytest.mark.parametrize("name", SEMI_SUPERVISED)
def test_what_was_learnt_from_some_labels_comes_back_and_goes_on_with_the_same_bits(path, name):
    for labels in (SOME, np.where(SOME < 0, "", np.array(["a", "b", "ß", "c"])[SOME])):
        model = fitted(SEMI_SUPERVISED[name], X, labels)
        loaded = again(model, path)
        same_model(model, loaded, history=True)
        for told in ("bound_", "scores_", "alpha_", "components_", "unlabeled_weight_", "component_classes_"):
            assert repr(getattr(loaded, told, None)) == repr(getattr(model, told, None))
        if hasattr(model, "partial_fit"):
            for one in (model, loaded):
                one.partial_fit(X[:50], labels[:50])
            same_model(model, loaded)
        same_model(model, again(loaded, path))


def test_centres_are_quantised_for_serving(path):
    model = fitted(CLUSTERS["k-means"], X)
    report = fastlin.save(model, path, dtype="int8")
    assert report["weights"] == np.count_nonzero(model.cluster_centers_)
    loaded = fastlin.load(path)
    assert loaded.cluster_centers_.dtype == np.float64
    np.testing.assert_allclose(loaded.cluster_centers_, model.cluster_centers_, atol=0.02)
    assert (loaded.predict(X) == model.predict(X)).mean() > 0.95
    assert not hasattr(loaded, "labels_")
    for counts in (CLUSTERS["mixture"], SEMI_SUPERVISED["semi"], COUNTED["categories"]):
        with pytest.raises(ValueError, match=f"{type(counts).__name__} is saved as counts"):
            fastlin.save(fitted(counts, X, CODES), path, dtype="int8")


def test_features_go_on_growing(path):
    model = fitted(ONLINE["growing"], X, CODES)
    loaded, wider = again(model, path), np.hstack([X, X[::-1]])
    for rows, labels in ((wider, CODES), (X[:, :5], CODES + 3), (wider, CODES)):
        np.testing.assert_array_equal(loaded.decision_function(rows), model.decision_function(rows))
        model.partial_fit(rows, labels)
        loaded.partial_fit(rows, labels)
        np.testing.assert_array_equal(loaded.coef_, model.coef_)
        loaded = again(loaded, path)


@pytest.mark.parametrize("name", ["svm, warm", "logistic"])
def test_a_warm_start_goes_on_with_the_same_bits(path, name):
    model = fitted(BATCH[name].set_params(warm_start=True, tol=1e-2), X, CODES)
    loaded = again(model, path)
    for one in (model, loaded):
        one.set_params(max_iter=20, tol=0.99).fit(X, CODES)
    np.testing.assert_array_equal(model.coef_, loaded.coef_)


@pytest.mark.parametrize("name", ["logistic", "perceptron"])
def test_sparse_weights_stay_sparse(path, name):
    model = fitted(LEARNERS[name], X, CODES).sparsify()
    loaded = again(model, path)
    assert sp.issparse(loaded.coef_)
    same_model(model, loaded)
    if name == "perceptron":
        with pytest.raises(ValueError, match="densify"):
            loaded.partial_fit(X, CODES)
        np.testing.assert_array_equal(
            loaded.densify().partial_fit(X, CODES).coef_, model.densify().partial_fit(X, CODES).coef_
        )


def test_one_label_of_a_stream(path):
    model = fastlin.Perceptron().partial_fit(X, np.zeros(len(X), int))
    loaded = again(model, path)
    assert loaded.predict(X).tolist() == [0] * len(X)
    np.testing.assert_array_equal(loaded.partial_fit(X, CODES).coef_, model.partial_fit(X, CODES).coef_)


@pytest.mark.parametrize("name", VECTORISERS)
def test_a_vectoriser_comes_back(path, name):
    model = fitted(VECTORISERS[name], TEXTS)
    loaded = again(model, path)
    same(loaded.transform([*TEXTS, "unseen words", ""]), model.transform([*TEXTS, "unseen words", ""]))
    if not name.endswith("hashing") and name != "hashing, names":
        same(loaded.get_feature_names_out(), model.get_feature_names_out())
    if hasattr(model, "vocabulary_"):
        assert list(loaded.vocabulary_.items()) == list(model.vocabulary_.items())
    if name == "hashing, names":
        assert loaded.names_ == model.names_
    if hasattr(model, "partial_fit") and "sk" not in name and "many" not in name:
        for one in (model, loaded):
            one.partial_fit(["new words in a new dog text", "and new ones"])
        same(loaded.transform(TEXTS), model.transform(TEXTS))


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_a_transformer_comes_back(path, name):
    model = fitted(TRANSFORMERS[name], X, CODES)
    loaded = again(model, path)
    same(loaded.transform(X), model.transform(X))
    assert loaded.n_features_in_ == model.n_features_in_
    if hasattr(model, "partial_fit") and name in ("tf-idf", "max", "standard"):
        same(loaded.partial_fit(X).transform(X), model.partial_fit(X).transform(X))


@pytest.mark.parametrize("name", OF_DICTS)
def test_a_vectoriser_of_dicts_comes_back(path, name):
    model = fitted(OF_DICTS[name], DICTS)
    loaded = again(model, path)
    same(loaded.transform(DICTS), model.transform(DICTS))
    if hasattr(model, "vocabulary_"):
        assert (loaded.vocabulary_, loaded.feature_names_) == (model.vocabulary_, model.feature_names_)


def test_candidates_lexicon_and_labels_come_back(path):
    model = fastlin.CandidateClassifier(tol=1e-2).fit(X, [0] * 30, [3] * 30)
    np.testing.assert_array_equal(again(model, path).predict_proba(X, [3] * 30), model.predict_proba(X, [3] * 30))
    lexicon = {"up": ["good", "fine"], "down": {"bad": 2.0}}
    for options in ({"vectorizer": fastlin.CountVectorizer()}, {"vocabulary": {"good": 0, "fine": 3, "bad": 2}}):
        model = fastlin.LexiconClassifier(lexicon, prior={"up": 2, "down": 1}, **options).fit()
        rows = TEXTS if "vectorizer" in options else X[:, :4]
        loaded = again(model, path)
        assert loaded.predict(rows).tolist() == model.predict(rows).tolist()
        assert loaded.unknown_words_ == model.unknown_words_
    encoder = sklearn.preprocessing.LabelEncoder().fit(ANSWERS)
    assert again(encoder, path).transform(ANSWERS).tolist() == encoder.transform(ANSWERS).tolist()


def test_text_in_label_out(path):
    model = of_texts()
    loaded = again(model, path)
    assert loaded.predict(TEXTS).tolist() == ANSWERS
    np.testing.assert_array_equal(loaded.decision_function(TEXTS), model.decision_function(TEXTS))
    assert fastlin.load(path, verify=False).predict(TEXTS).tolist() == ANSWERS


def test_what_was_set_and_what_warned_comes_back_in_silence(path):
    model = fastlin.TfidfVectorizer(vocabulary=["Dog", "cat"], stop_words=["can't"])
    with pytest.warns(UserWarning, match=r"Upper case|stop_words"):
        model.fit(TEXTS)
    same(again(model, path).transform(TEXTS), model.transform(TEXTS))
    model = fastlin.CountVectorizer()
    model.vocabulary_ = {"dog": 1, "cat": 0}
    same(again(model, path).transform(TEXTS), model.transform(TEXTS))
    model = fastlin.TfidfTransformer(smooth_idf=False)
    model.idf_ = [1.0, np.inf, 2.0]
    same(again(model, path).transform([[1.0, 0, 3]]), model.transform([[1.0, 0, 3]]))
    assert again(fastlin.TfidfVectorizer(), path).fit(TEXTS).transform(TEXTS).shape[0] == len(TEXTS)


def test_names_of_columns_come_back(path):
    frame = pandas.DataFrame(X, columns=[f"column {i}" for i in range(X.shape[1])])
    for model in (fastlin.LogisticRegression(tol=1e-2), fastlin.Perceptron(), fastlin.LogCountRatio()):
        loaded = again(fitted(model, frame, CODES), path)
        assert loaded.feature_names_in_.tolist() == frame.columns.tolist()
        with pytest.raises(ValueError, match="feature names"):
            getattr(loaded, "predict", getattr(loaded, "transform", None))(frame.rename(columns={"column 0": "other"}))


def test_parameters_of_all_kinds_come_back(path):
    generator = np.random.Generator(np.random.PCG64(3))
    weight = {0: 1.0, 1: float("inf"), (2, "x"): None, "s": np.float32(0.1), b"\xff": [True, np.int64(3)]}
    model = select.SelectFeatures(random_state=generator, tol=float("inf"), C=np.float32(0.5))
    words = [f"w{i}" for i in range(100)]
    for many in (words, dict(zip(words, range(100), strict=True)), {"a": 2**70, **dict.fromkeys(words, 1)}):
        assert many == again(Templates(many), path).templates
    loaded = again(fastlin.HashingVectorizer(stop_words={"a", "b"}, dtype=np.dtype("int64")), path)
    assert (loaded.stop_words, loaded.dtype) == ({"a", "b"}, np.dtype("int64"))
    wrapped = make_pipeline(fastlin.Elementwise(), fastlin.Conjunctions(groups=[slice(0, 3), [1, 2]]), model)
    back = again(wrapped, path).steps[2][1]
    assert repr(again(Templates([], gazetteers=weight), path).gazetteers) == repr(weight)
    assert (back.tol, back.C) == (float("inf"), 0.5)
    assert again(fastlin.CountVectorizer(dtype=np.float32), path).dtype is np.float32
    assert back.random_state.integers(2**60) == generator.integers(2**60)


# A loaded model


def test_a_mapped_model_is_read_only_and_predicts_from_many_threads(path):
    loaded = again(of_texts(), path)
    assert not loaded[-1].coef_.flags.writeable
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: loaded.predict(TEXTS).tolist(), range(32)))
    assert all(labels == ANSWERS for labels in found)


@pytest.mark.parametrize("name", ["averaged", "logistic", "svm", "bayes", "categories"])
def test_a_loaded_model_is_copied_pickled_and_cloned(path, name):
    loaded = again(fitted(LEARNERS[name], X, CODES), path)
    for other in (copy.copy(loaded), copy.deepcopy(loaded), pickle.loads(pickle.dumps(loaded))):
        same_model(loaded, other)
    assert fitted(loaded, X, CODES).predict(X).shape == (len(X),)
    if hasattr(loaded, "set_state"):
        same_model(loaded, type(loaded)(**loaded.get_params()).set_state(loaded.get_state()))


def test_a_model_may_be_saved_over_the_file_it_lies_in(path):
    loaded = again(of_texts(), path)
    fastlin.save(loaded, path)
    assert loaded.predict(TEXTS).tolist() == ANSWERS
    assert fastlin.load(path).predict(TEXTS).tolist() == ANSWERS


# What does not go into a file


@pytest.mark.parametrize(
    "model, message",
    [
        (fastlin.LogisticRegression(callback=print), "LogisticRegression.callback is a function"),
        (make_pipeline(fastlin.CountVectorizer(tokenizer=str.split)), "tokenizer is a function"),
        (fastlin.SGDClassifier(random_state=np.random.RandomState(0)), "SGDClassifier.random_state is a RandomState"),
        (fastlin.SGDClassifier(random_state=np.random.Generator(np.random.MT19937(0))), "generator of MT19937"),
        (sklearn.preprocessing.PolynomialFeatures(), "a class that model files do not know"),
        (3, "int is a int"),
        (print, "a function"),
        (select.chi2, "a function by itself"),
    ],
)
def test_what_holds_code_or_is_unknown_is_named(path, model, message):
    with pytest.raises(TypeError, match=re.escape(message)):
        fastlin.save(model, path)
    assert not path.exists()


class Mine(fastlin.Perceptron):
    """A class that no other machine has."""


def test_classes_of_a_users_own_do_not_go_into_a_file(path):
    with pytest.raises(TypeError, match="Mine, a class that model files do not know"):
        fastlin.save(Mine(**FEW).fit(X, CODES), path)


@pytest.mark.parametrize(
    "model",
    [
        fastlin.Perceptron(),
        fastlin.LogisticRegression(),
        *COUNTED.values(),
        *CLUSTERS.values(),
        *SEMI_SUPERVISED.values(),
    ],
)
def test_a_learner_must_have_learnt(path, model):
    with pytest.raises(NotFittedError):
        fastlin.save(model, path)


def test_a_full_disk_leaves_the_old_model(path):
    fastlin.save(of_texts(), path)
    wide = fitted(fastlin.Perceptron(**FEW), sp.csr_array((X[:, 0], (np.arange(90), np.arange(90) * 999))), CODES)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            fastlin.save(wide, path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert fastlin.load(path).predict(TEXTS).tolist() == ANSWERS
    assert os.listdir(path.parent) == [path.name]


def test_every_class_of_the_table_is_there_and_has_a_codec():
    for name in CLASSES:
        kind, codec = classes.class_of(name)
        assert classes.name_of(kind.__new__(kind)) == name
        assert isinstance(codec, ModelCodec)
    with pytest.raises(storage.ModelFileError, match=r"os\.system"):
        classes.class_of("os.system")
    public = {name for name in fastlin.__all__ if hasattr(getattr(fastlin, name), "get_params")} - {"MaxEnt"}
    assert public <= {name.removeprefix("fastlin.") for name in CLASSES}
