"""scikit-learn's learners and its estimators of estimators come back from files, with the same bits."""

import warnings

import numpy as np
import pandas
import pytest
import sklearn.base
import sklearn.svm
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

import fastlin
from fastlin import storage
from support.model_files import (
    ANSWERS,
    CODES,
    COLUMNS,
    FEW,
    LABELS,
    SK_AVERAGED,
    SK_ENSEMBLES,
    SK_LEARNERS,
    SK_REGRESSORS,
    TARGETS,
    TEMPERATURE,
    TEXTS,
    VotingClassifier,
    X,
    fitted,
)

LEARNERS = SK_LEARNERS | SK_AVERAGED
METHODS = "predict", "decision_function", "predict_proba", "predict_joint_log_proba", "transform"
FRAME = pandas.DataFrame(
    {"text": TEXTS, "more": [f"long {len(text)}" for text in TEXTS], "n": np.arange(40.0), "m": np.arange(40) % 7}
)
WIDE = np.hstack([X, -X, np.sqrt(X)])  # dense products of several columns, whose bits depend on the order of memory


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.fastlin"


def again(model, path):
    fastlin.save(model, path)
    return fastlin.load(path)


def assert_same(one, other, rows):
    assert type(one) is type(other)
    assert repr(sklearn.base.clone(one).get_params()) == repr(other.get_params())
    asked = 0
    for method in METHODS:
        if hasattr(one, method):
            found, told = getattr(other, method)(rows), getattr(one, method)(rows)
            if hasattr(told, "toarray"):
                found, told = found.toarray(), told.toarray()
            assert found.dtype == told.dtype
            np.testing.assert_array_equal(found, told)
            asked += 1
    assert asked


@pytest.mark.parametrize("name", LEARNERS | SK_ENSEMBLES)
def test_a_classifier_comes_back_whatever_its_labels(path, name):
    for kind, y in LABELS.items():
        if kind == "bytes":
            continue  # scikit-learn's own classifiers refuse them
        model = fitted((LEARNERS | SK_ENSEMBLES)[name], X, y)
        loaded = again(model, path)
        assert_same(model, loaded, X)
        assert loaded.classes_.dtype == model.classes_.dtype
        assert loaded.n_features_in_ == model.n_features_in_
        assert_same(model, again(loaded, path), X)
        assert_same(fitted(loaded, X, y), fitted(model, X, y), X)


@pytest.mark.parametrize("name", ["sk logistic", "sk perceptron", "sk ridge", "sk svm", "sk sgd, averaged"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_products_with_dense_rows_have_the_same_bits(path, name, dtype):
    rows = WIDE.astype(dtype)
    model = fitted(LEARNERS[name], rows, CODES)
    assert_same(model, again(model, path), rows)
    if hasattr(model, "sparsify"):
        assert_same(model.sparsify(), again(model, path), rows)


@pytest.mark.parametrize("name", SK_REGRESSORS)
def test_a_regressor_comes_back(path, name):
    for targets in (TARGETS, X[:, :2]) if name == "sk regression" else (TARGETS,):
        model = fitted(SK_REGRESSORS[name], X, targets)
        assert_same(model, again(model, path), X)


@pytest.mark.parametrize("name", ["sk sgd", "sk perceptron", "sk bayes", "sk bernoulli", "sk complement"])
def test_learning_goes_on_with_the_same_bits(path, name):
    model = fitted(LEARNERS[name], X, CODES)
    loaded = again(model, path)
    for one in (model, loaded):
        one.partial_fit(X, CODES)
    assert_same(model, loaded, X)


@pytest.mark.parametrize("name", COLUMNS)
def test_transformed_columns_come_back(path, name):
    model = fitted(COLUMNS[name], X)
    loaded = again(model, path)
    assert_same(model, loaded, X)
    assert loaded.get_feature_names_out().tolist() == model.get_feature_names_out().tolist()
    assert repr(loaded.transformers_) == repr(model.transformers_)
    assert loaded.output_indices_ == model.output_indices_
    assert_same(model.fit(X[:, ::-1]), loaded.fit(X[:, ::-1]), X)


def of_frames():
    """A pipeline of columns of texts and numbers, of classes of both libraries."""
    columns = ColumnTransformer(
        [
            ("ours", fastlin.TfidfVectorizer(), "text"),
            ("theirs", TfidfVectorizer(), "more"),
            ("numbers", StandardScaler(), ["n", "m"]),
        ]
    )
    votes = VotingClassifier([("a", LogisticRegression()), ("b", fastlin.LogisticRegression())], voting="soft")
    return make_pipeline(columns, votes)


def test_a_pipeline_of_both_libraries_reads_frames(path):
    model = fitted(of_frames(), FRAME, ANSWERS)
    loaded = again(model, path)
    assert_same(model, loaded, FRAME)
    assert_same(model, loaded, FRAME[["m", "text", "n", "more"]])
    assert loaded[0].feature_names_in_.tolist() == FRAME.columns.tolist()
    with pytest.raises(ValueError, match="columns are missing"):
        loaded.predict(FRAME[["text", "n"]])
    assert_same(fitted(loaded, FRAME, ANSWERS), model, FRAME)


def test_the_names_of_columns_of_votes_come_back(path):
    frame = FRAME[["n", "m"]]
    model = fitted(VotingClassifier([("a", make_pipeline(StandardScaler(), LogisticRegression()))]), frame, ANSWERS)
    loaded = again(model, path)
    assert_same(model, loaded, frame)
    assert loaded.feature_names_in_.tolist() == ["n", "m"]


def test_a_container_that_was_asked_for_comes_back(path):
    columns = ColumnTransformer([("n", StandardScaler(), ["n"]), ("m", MaxAbsScaler(), ["m"])])
    inner = ColumnTransformer([("again", MaxAbsScaler(), ["n__n"])], remainder="passthrough")
    model = fitted(make_pipeline(columns, inner).set_output(transform="pandas"), FRAME)
    pandas.testing.assert_frame_equal(again(model, path).transform(FRAME), model.transform(FRAME))
    words = fitted(fastlin.TfidfVectorizer().set_output(transform="pandas"), TEXTS)
    pandas.testing.assert_frame_equal(again(words, path).transform(TEXTS), words.transform(TEXTS))


@pytest.mark.parametrize("labels", [2, 3, 5])
def test_indicators_come_back(path, labels):
    """Columns that are all ones or all zeros, too, for which scikit-learn keeps a number."""
    indicators = (X[:, :labels] > 1).astype(int)
    indicators[:, 1], indicators[:, -1] = 1, 0
    for base in (fastlin.LogisticRegression(tol=1e-2), sklearn.svm.LinearSVC(random_state=0)):
        model = fitted(OneVsRestClassifier(base), X, indicators)
        assert_same(model, again(model, path), X)
    model = fitted(RidgeClassifier(), X, indicators)
    assert_same(model, again(model, path), X)


@pytest.mark.parametrize("method", ["sigmoid", "isotonic", *["temperature"] * TEMPERATURE])
@pytest.mark.parametrize("ensemble", [True, False])
def test_calibrated_models_come_back(path, method, ensemble):
    for kind in ("two", "strings"):
        for base in (fastlin.LinearSVC(random_state=0), fastlin.MultinomialNB(), SGDClassifier(**FEW)):
            model = CalibratedClassifierCV(base, method=method, cv=2, ensemble=ensemble)
            model = fitted(model, X, LABELS[kind])
            assert_same(model, again(model, path), X)
        frozen = FrozenEstimator(fitted(fastlin.Perceptron(**FEW), X, LABELS[kind]))
        model = fitted(CalibratedClassifierCV(frozen, method=method, cv=2), X, LABELS[kind])
        loaded = again(model, path)
        assert_same(model, loaded, X)
        assert_same(fitted(loaded, X, LABELS[kind]), model, X)


@pytest.mark.parametrize("search", [GridSearchCV, RandomizedSearchCV])
def test_a_search_is_saved_as_its_best_estimator(path, search):
    options = {"n_iter": 2, "random_state": 0} if search is RandomizedSearchCV else {}
    base = make_pipeline(MaxAbsScaler(), fastlin.LogisticRegression(tol=1e-2))
    model = fitted(search(base, {"logisticregression__C": [0.1, 1.0, 10.0]}, cv=2, **options), X, CODES)
    report = fastlin.save(model, path, X=X, y=CODES)
    assert_same(model.best_estimator_, fastlin.load(path), X)
    assert report["accuracy"] == report["accuracy_saved"] == model.score(X, CODES)
    step = fitted(make_pipeline(MaxAbsScaler(), search(fastlin.Perceptron(**FEW), {"alpha": [1, 2]}, cv=2)), X, CODES)
    np.testing.assert_array_equal(again(step, path).predict(X), step.predict(X))
    for unfitted in (
        search(base, {}),
        fitted(search(base, {"maxabsscaler__copy": [True]}, cv=2, refit=False), X, CODES),
    ):
        with pytest.raises(TypeError, match="goes into a file as its best estimator: fit it, with refit=True"):
            fastlin.save(unfitted, path)


def test_what_is_fitted_as_a_copy_is_not_saved_as_fitted(path):
    given = fitted(fastlin.Perceptron(**FEW), X, CODES)
    loaded = again(fitted(OneVsRestClassifier(given), X, CODES), path)
    with pytest.raises(NotFittedError):
        loaded.estimator.predict(X)
    assert loaded.estimator.get_params() == given.get_params()


@pytest.mark.parametrize("name", LEARNERS | SK_ENSEMBLES | COLUMNS)
def test_an_unfitted_model_is_not_saved(path, name):
    with pytest.raises(NotFittedError):
        fastlin.save((LEARNERS | SK_ENSEMBLES | COLUMNS)[name], path)
    assert not path.exists()


def test_what_holds_code_or_is_unknown_is_named(path):
    chosen = ColumnTransformer([("a", MaxAbsScaler(), make_column_selector())])
    with pytest.raises(TypeError, match=r"ColumnTransformer\.transformers.*function|make_column_selector"):
        fastlin.save(fitted(chosen, FRAME[["n"]]), path)
    with pytest.raises(TypeError, match="DummyClassifier, a class that model files do not know"):
        fastlin.save(fitted(OneVsRestClassifier(DummyClassifier()), X, CODES), path)
    assert not path.exists()


def test_linear_models_are_packed_for_serving(path):
    model = fitted(LEARNERS["sk logistic"], X, CODES)
    report = fastlin.save(model, path, dtype="int8", prune=1e-3, X=X, y=CODES)
    assert report["weights"] + report["pruned"] == model.coef_.size
    assert abs(report["accuracy"] - report["accuracy_saved"]) < 0.05
    np.testing.assert_allclose(fastlin.load(path).coef_, model.coef_, atol=0.02)
    with pytest.raises(ValueError, match="MultinomialNB is saved as counts"):
        fastlin.save(fitted(LEARNERS["sk bayes"], X, CODES), path, dtype="int8")


def tampered(path, name, change):
    models = LEARNERS | SK_ENSEMBLES | COLUMNS | SK_REGRESSORS
    fastlin.save(fitted(models[name], X, TARGETS if name in SK_REGRESSORS else CODES), path)
    header, arrays = storage.read_archive(path, "model", mmap=False)
    change(header["model"]["learnt"], arrays)
    storage.write_archive(path, "model", header, arrays)
    return fastlin.load(path)


@pytest.mark.parametrize(
    "name, change, message",
    [
        ("sk svm", lambda learnt, _: learnt.update(intercept=[1.0, 2.0]), "intercept must be finite numbers"),
        ("sk sgd", lambda learnt, _: learnt.update(intercept=1.0), "intercept must be finite numbers"),
        ("sk svm", lambda learnt, _: learnt.update(n_iter_={"type": "float"}), "no report of a fit"),
        ("sk svm", lambda learnt, _: learnt.update(vector=True), "a vector of weights"),
        ("sk svm", lambda learnt, _: learnt.update(n_features_in_=13), "columns that are not those"),
        ("sk bayes", lambda learnt, arrays: learnt.update(class_count_=[1.0]), "class_count_ must be float64"),
        ("rest", lambda learnt, _: learnt["estimators"].pop(), "3 models for 4 labels"),
        ("rest", lambda learnt, _: learnt.update(binarizer=None), "no labels"),
        ("calibrated", lambda learnt, _: learnt["members"][0].pop(), "3 curves for 4 labels"),
        ("calibrated", lambda learnt, _: learnt["members"][0].append({"dict": []}), "5 curves for 4 labels"),
        ("calibrated", lambda learnt, _: learnt.update(members=[]), "no members"),
        ("votes", lambda learnt, _: learnt["estimators"].pop(), "1 models for 2 votes"),
        ("columns", lambda learnt, _: learnt["transformers"].pop(), "transformers must be those of"),
        ("columns", lambda learnt, _: learnt.update(output={"dict": [["scaled", 3]]}), "the columns of each"),
        ("columns", lambda learnt, _: learnt.update(n_features_in_=2**30), "asks for"),
        ("columns", lambda learnt, _: learnt.update(set_output="exec"), "set_output must be one of"),
    ],
)
def test_a_file_that_says_what_no_fit_leaves_is_refused(path, name, change, message):
    with pytest.raises(storage.ModelFileError, match=message):
        tampered(path, name, change)


def test_a_model_of_no_other_kind_takes_the_place_of_a_member(path):
    other = {"model": {"class": "fastlin.Elementwise", "parameters": {}, "learnt": {}}}
    for name, change in {
        "rest": lambda learnt, _: learnt["estimators"].__setitem__(0, other),
        "votes": lambda learnt, _: learnt["estimators"].__setitem__(0, other),
        "calibrated": lambda learnt, _: learnt["members"][0].__setitem__(0, other),
        "columns": lambda learnt, _: learnt["transformers"][0].__setitem__(
            1, {"model": {"class": "fastlin.Perceptron", "parameters": {}, "learnt": {}}}
        ),
    }.items():
        with pytest.raises(storage.ModelFileError):
            tampered(path, name, change)


def test_a_parameter_that_another_version_had_is_left_out_unless_it_was_set(path):
    fastlin.save(fitted(LEARNERS["sk logistic"], X, CODES), path)
    header, arrays = storage.read_archive(path, "model", mmap=False)
    parameters = header["model"]["parameters"]
    for name, value, known in (
        ("use_legacy_attributes", "warn", True),
        ("clip", False, True),
        ("clip", True, False),
        ("force_int_remainder_cols", {"tuple": []}, False),
        ("another", "deprecated", False),
    ):
        header["model"]["parameters"] = {**parameters, name: value}
        storage.write_archive(path, "model", header, arrays)
        if known:
            fastlin.load(path).predict(X)
        else:
            with pytest.raises(storage.ModelFileError, match="parameters that LogisticRegression does not have"):
                fastlin.load(path)


def test_the_models_of_a_set_of_votes_warn_of_nothing(path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = again(fitted(SK_ENSEMBLES["votes"], X, CODES), path)
        model.predict(X)
