"""scikit-learn's own objects with the weights of fastlin's: what predicts where fastlin is not installed.

A twin is an estimator of scikit-learn of the kind that reads such weights: LogisticRegression where probabilities are
the softmax of scores, OneVsRestClassifier where each label has its own, LinearSVC where there are scores alone.
"""

import copy
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
import sklearn.feature_extraction as sklearn_features
import sklearn.feature_extraction.text as sklearn_text
from sklearn import feature_selection, linear_model, naive_bayes, neighbors, preprocessing, svm
from sklearn.compose import ColumnTransformer
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.utils.validation import check_is_fitted

from fastlin.model_files.classes import best_of
from fastlin.model_files.sklearn_learners import set_classes

_WITHOUT_EFFECT = {"n_jobs", "keep_names"}  # on what a vectoriser makes
_COLUMNS = "n_features_in_", "feature_names_in_"
_COUNTED = "classes_", "class_log_prior_", "feature_log_prob_", "class_count_", "feature_count_"


def to_sklearn(model: Any) -> Any:
    """A fitted model, or a pipeline of some, as objects of scikit-learn alone that predict the same.

    Labels are the same, scores and probabilities to rounding: twins compute in float64, where a model with float32
    weights rounds. An indicator of several labels is an array, or of a model that has learnt from a sparse one a CSR.
    A twin's parameters are defaults but for those of vectorisers, and say nothing of how it was learnt.

    Parameters
    ----------
    model : estimator
        A linear classifier or regressor, naive Bayes or NearestCentroid; a vectoriser, DictVectorizer, FeatureHasher,
        TfidfTransformer, LogCountRatio or selector of columns; a Pipeline, FeatureUnion or ColumnTransformer of these
        and of scikit-learn's; a search, as its best estimator.

    Returns
    -------
    estimator
        Of scikit-learn's classes, sharing no array that the model may change.

    Raises
    ------
    TypeError
        scikit-learn has nothing that predicts like the model, or it has a parameter without a counterpart.

    Examples
    --------
    >>> import fastlin
    >>> from fastlin.interchange import to_sklearn
    >>> from sklearn.pipeline import make_pipeline
    >>> texts, labels = ["a good film", "a bad film", "good", "bad, bad"], ["up", "down", "up", "down"]
    >>> model = make_pipeline(fastlin.TfidfVectorizer(), fastlin.LogisticRegression()).fit(texts, labels)
    >>> twin = to_sklearn(model)
    >>> [type(step).__module__.split(".")[0] for step in twin]
    ['sklearn', 'sklearn']
    >>> twin.predict(["a good cast"]).tolist() == model.predict(["a good cast"]).tolist()
    True
    """
    model = best_of(model)
    if isinstance(model, Pipeline):
        return Pipeline([(name, _step(step)) for name, step in model.steps], memory=model.memory)
    if isinstance(model, FeatureUnion):
        parts = [(name, _step(part)) for name, part in model.transformer_list]
        return FeatureUnion(parts, transformer_weights=model.transformer_weights)
    if isinstance(model, ColumnTransformer):
        return _column_transformer(model)
    if not _is_own(model):
        if any(map(_is_own, model.get_params(deep=True).values())):
            raise TypeError(f"a {type(model).__name__} of fastlin's models has no counterpart: give its parts")
        return copy.deepcopy(model)
    name = type(model).__name__
    if name not in _MAKERS:
        raise TypeError(f"scikit-learn has nothing that does what {name} does; there are {', '.join(sorted(_MAKERS))}")
    check_is_fitted(model)
    twin = _MAKERS[name](model)
    for attribute in _COLUMNS:
        if attribute in vars(model) and not isinstance(twin, Pipeline):
            setattr(twin, attribute, copy.copy(vars(model)[attribute]))
    return twin


def _is_own(value: Any) -> bool:
    return type(value).__module__.startswith("fastlin.")


def _step(step: Any) -> Any:
    return step if step is None or isinstance(step, str) else to_sklearn(step)


def _column_transformer(model: ColumnTransformer) -> ColumnTransformer:
    check_is_fitted(model)
    made = ColumnTransformer.__new__(ColumnTransformer)
    others = {name: value for name, value in vars(model).items() if not name.startswith("transformers")}
    vars(made).update(copy.deepcopy(others))
    made.transformers_ = [(name, _step(part), columns) for name, part, columns in model.transformers_]
    fitted = {name: part for name, part, _ in made.transformers_}
    made.transformers = [(name, fitted.get(name, part), columns) for name, part, columns in model.transformers]
    return made


# Learners


def _weights(model: Any) -> tuple[Any, Any]:
    """Weights [K, V] and intercepts, copied."""
    coef = model.coef_
    dense = np.atleast_2d(np.array(coef.toarray() if sp.issparse(coef) else coef, np.float64))
    intercept = np.atleast_1d(np.array(model.intercept_, np.float64))
    return dense, intercept


def _with_weights(twin: Any, coef: Any, intercept: Any, classes: Any) -> Any:
    """A linear classifier that has these, two labels in one row."""
    if len(classes) == 2 and len(coef) == 2:
        coef, intercept = coef[1:] - coef[:1], intercept[1:] - intercept[:1]
    twin.coef_, twin.intercept_, twin.classes_ = coef, intercept, np.array(classes)
    twin.n_features_in_, twin.n_iter_ = coef.shape[1], np.array([1], np.int32)
    return twin


def _classifier(model: Any) -> Any:
    """Softmax of the scores, one probability a label, or scores alone."""
    coef, intercept = _weights(model)
    kind = type(model).__name__
    logistic = kind.startswith("LogisticRegression") or getattr(model, "loss", None) == "log_loss"
    multilabel = getattr(model, "_container", None)
    make: Callable[[], Any] = linear_model.LogisticRegression if logistic else svm.LinearSVC
    if getattr(model, "loss", None) == "modified_huber":
        make = _huber
    if multilabel is not None:
        return _one_vs_rest(make, coef, intercept, model.classes_, multilabel)
    if logistic and len(model.classes_) > 2 and getattr(model, "multi_class", None) == "ovr":
        return _one_vs_rest(make, coef, intercept, model.classes_, None)
    return _with_weights(make(), coef, intercept, model.classes_)


def _huber() -> Any:
    return linear_model.SGDClassifier("modified_huber")


def _one_vs_rest(
    make: Callable[[], Any], coef: Any, intercept: Any, classes: Any, container: str | None
) -> OneVsRestClassifier:
    """A model of each label against the rest; of several labels a row, in the container of their indicator."""
    twin = OneVsRestClassifier(make())
    sides = np.array([0, 1])
    twin.estimators_ = [
        _with_weights(make(), weights[np.newaxis].copy(), np.array([bias]), sides)
        for weights, bias in zip(coef, intercept, strict=True)
    ]
    target: Any = np.array(classes)
    if container is not None:
        # every label with and without: otherwise a binarizer takes an indicator for one label a row
        target = np.vstack([np.eye(len(classes), dtype=np.int64), np.ones((1, len(classes)), np.int64)])
        target = target if container == "array" else sp.csr_matrix(target)
    twin.label_binarizer_ = preprocessing.LabelBinarizer(sparse_output=True).fit(target)
    set_classes(twin, twin.label_binarizer_.classes_)
    twin.n_features_in_ = coef.shape[1]
    return twin


def _regressor(model: Any) -> Any:
    make = {"Ridge": linear_model.Ridge, "LinearSVR": svm.LinearSVR, "SGDRegressor": linear_model.SGDRegressor}
    twin = make[type(model).__name__]()
    coef, intercept = model.coef_, model.intercept_
    twin.coef_ = np.array(coef.toarray() if sp.issparse(coef) else coef, np.float64)
    if type(model).__name__ != "Ridge":
        twin.coef_ = twin.coef_.reshape(-1)
    twin.intercept_ = np.array(intercept, np.float64) if np.ndim(intercept) else float(intercept)
    twin.n_iter_ = 1
    return twin


def _counts(model: Any) -> Any:
    """Naive Bayes. Of several labels a row it is linear in each label's log odds, so these are the weights."""
    kind = type(model).__name__
    if getattr(model, "_container", None) is not None:
        found = model._estimates()
        if found.impossible or not np.isfinite(found.bias).all():
            raise TypeError(f"{kind} with probabilities of 0 (alpha=0) has no counterpart for several labels a row")
        weights, odds = np.array(found.weights, np.float64).T, np.array(found.bias, np.float64)
        twin = _one_vs_rest(linear_model.LogisticRegression, weights, odds, model.classes_, model._container)
        binarize = model.binarize if kind == "BernoulliNB" else None
        return twin if binarize is None else make_pipeline(preprocessing.Binarizer(threshold=binarize), twin)
    if kind == "SemiSupervisedNB":
        kind = "MultinomialNB"
        if len(model.component_classes_) > len(model.classes_):
            raise TypeError("SemiSupervisedNB with several components a label is not linear, and has no counterpart")
    options = {"binarize": model.binarize} if kind == "BernoulliNB" else {}
    twin = getattr(naive_bayes, kind)(**options)
    vars(twin).update({name: np.array(getattr(model, name)) for name in _COUNTED})
    if not np.isfinite(twin.feature_log_prob_).all():
        raise TypeError(f"{kind} with probabilities of 0 (alpha=0): scikit-learn's has no answer for such rows")
    return twin


def _centroids(model: Any) -> Any:
    if model.metric != "euclidean" and not np.allclose(model.class_prior_, 1 / len(model.classes_)):
        raise TypeError(f"NearestCentroid(metric={model.metric!r}) with priors has no counterpart")
    twin = neighbors.NearestCentroid(metric=model.metric, priors=np.array(model.class_prior_))
    for name in ("centroids_", "classes_", "class_prior_", "within_class_std_dev_", "deviations_"):
        setattr(twin, name, np.array(getattr(model, name)))
    return twin


# Transformers


def vectoriser_twin(model: Any) -> Any:
    """scikit-learn's vectoriser of the same parameters and terms.

    Parameters
    ----------
    model : CountVectorizer, TfidfVectorizer or HashingVectorizer
        Fitted.

    Returns
    -------
    estimator
        Of the same name.

    Raises
    ------
    TypeError
        A parameter has no counterpart.
    """
    kind = type(model).__name__
    twin = _same_parameters(model, getattr(sklearn_text, kind))
    if kind == "HashingVectorizer":
        return twin
    twin.vocabulary_ = dict(model.vocabulary_)
    twin.fixed_vocabulary_ = model.vocabulary is not None
    if kind == "TfidfVectorizer":
        weighting = ("norm", "use_idf", "smooth_idf", "sublinear_tf")
        twin._tfidf = sklearn_text.TfidfTransformer(**{name: getattr(model, name) for name in weighting})
        twin._tfidf.n_features_in_ = len(twin.vocabulary_)
        if model.use_idf:
            twin.idf_ = np.array(model.idf_, np.float64)
    return twin


def _same_parameters(model: Any, theirs: Any) -> Any:
    """An estimator of theirs with the parameters of a model; those that they lack must be at their defaults."""
    known = inspect.signature(theirs).parameters
    given, defaults = model.get_params(deep=False), type(model)().get_params(deep=False)
    for name in sorted(set(given) - set(known) - _WITHOUT_EFFECT):
        if given[name] != defaults[name]:
            raise TypeError(f"{type(model).__name__}.{name}={given[name]!r} has no counterpart in scikit-learn")
    return theirs(**copy.deepcopy({name: value for name, value in given.items() if name in known}))


def _weighting(model: Any) -> Any:
    twin = _same_parameters(model, sklearn_text.TfidfTransformer)
    if model.use_idf:
        twin.idf_ = np.array(model.idf_, np.float64)
    return twin


def _dicts(model: Any) -> Any:
    twin = _same_parameters(model, getattr(sklearn_features, type(model).__name__))
    for name in ("feature_names_", "vocabulary_"):
        if hasattr(model, name):
            setattr(twin, name, copy.copy(getattr(model, name)))
    return twin


def _ratios(model: Any) -> Any:
    """Columns times numbers, as a scaler divides them; a column times 0 is divided by ∞."""
    if len(model.log_ratio_) > 1:
        raise TypeError("LogCountRatio of more than two labels makes a block of columns for each: no counterpart")
    if not model.sparse_output:
        raise TypeError("LogCountRatio(sparse_output=False) has no counterpart")
    twin = preprocessing.StandardScaler(with_mean=False)
    with np.errstate(divide="ignore"):
        twin.scale_ = 1.0 / np.array(model.log_ratio_[0], np.float64)
    twin.mean_, twin.var_, twin.n_features_in_ = None, np.square(twin.scale_), len(twin.scale_)
    if not model.binary:
        return twin
    binarizer = preprocessing.Binarizer()
    binarizer.n_features_in_ = twin.n_features_in_
    return make_pipeline(binarizer, twin)


def _selector(model: Any) -> Any:
    """The same columns: those whose score is 1, the others have 0."""
    support = np.asarray(model.get_support())
    twin = feature_selection.SelectKBest(k=int(support.sum()))
    twin.scores_ = support.astype(np.float64)
    twin.pvalues_ = None
    return twin


_MAKERS: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(
        (
            "AROWClassifier", "LinearSVC", "LogisticRegression", "LogisticRegressionCV", "MIRAClassifier",
            "PassiveAggressiveClassifier", "Perceptron", "SGDClassifier",
        ),
        _classifier,
    ),
    **dict.fromkeys(("LinearSVR", "Ridge", "SGDRegressor"), _regressor),
    **dict.fromkeys(("BernoulliNB", "ComplementNB", "MultinomialNB", "SemiSupervisedNB"), _counts),
    **dict.fromkeys(("CountVectorizer", "HashingVectorizer", "TfidfVectorizer"), vectoriser_twin),
    **dict.fromkeys(("CountCutoff", "SelectFeatures"), _selector),
    **dict.fromkeys(("DictVectorizer", "FeatureHasher"), _dicts),
    "LogCountRatio": _ratios,
    "NearestCentroid": _centroids,
    "TfidfTransformer": _weighting,
}  # fmt: skip
