"""Converters of fastlin's linear models and vectorisers for skl2onnx: a pipeline of them becomes an ONNX graph.

A converter makes the estimator of scikit-learn that has the same weights, and hands it to skl2onnx's own converter.
ONNX computes in float32: labels are the same but for ties, scores and probabilities to rounding.
"""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
import sklearn.feature_extraction.text as sklearn_text
from sklearn import linear_model, naive_bayes, svm
from sklearn.utils.validation import check_is_fitted

import fastlin

# words of two letters or more as the regular expressions of ONNX put them; skl2onnx's own has ASCII's letters only
_WORDS = r"[\pL\pN_][\pL\pN_]+"
_PYTHON_WORDS = r"(?u)\b\w\w+\b"
_SOFTMAX, _SCORES, _LINE = "SklearnLinearClassifier", "SklearnLinearSVC", "SklearnLinearRegressor"
_TEXT = ("SklearnCountVectorizer", "SklearnTfidfVectorizer")
_LOCALE = "C.UTF-8"  # by whose rules onnxruntime makes small letters of capitals
_OPTIONS = {"zipmap": [True, False, "columns"], "nocl": [True, False], "output_class_labels": [False, True]}


def register_converters() -> None:
    """Let skl2onnx convert fastlin's estimators, alone and in pipelines.

    Classifiers with probabilities give these, the others their scores; of the losses of SGDClassifier, `log_loss` has
    probabilities. What the graph would do otherwise than the model is refused when it is converted.
    """
    from skl2onnx import update_registered_converter
    from skl2onnx.common.shape_calculator import (
        calculate_linear_classifier_output_shapes,
        calculate_linear_regressor_output_shapes,
    )

    kinds = (
        (_CLASSIFIERS, calculate_linear_classifier_output_shapes, _OPTIONS),
        (_REGRESSORS, calculate_linear_regressor_output_shapes, None),
        (_VECTORISERS, _columns_of_terms, {"locale": None}),
    )
    for makers, shape, options in kinds:
        for name, make in makers.items():
            update_registered_converter(
                getattr(fastlin, name), f"Fastlin{name}", shape, _converter(make), options=options
            )


def _columns_of_terms(operator: Any) -> None:
    operator.outputs[0].type.shape = [None, len(operator.raw_operator.vocabulary_)]


def _converter(make: Callable[[Any], tuple[str, Any]]) -> Callable[..., None]:
    """A converter that leaves the twin which `make` returns to the converter of its kind."""

    def convert(scope: Any, operator: Any, container: Any) -> None:
        check_is_fitted(operator.raw_operator)
        kind, twin = make(operator.raw_operator)
        if kind in _TEXT:
            locale = container.get_options(operator.raw_operator, {"locale": None})["locale"] or _LOCALE
            container.options = {**(container.options or {}), id(twin): {"locale": locale}}
        inner = scope.declare_local_operator(kind, twin)
        inner.inputs = operator.inputs
        for output in operator.outputs:
            found = scope.declare_local_variable(f"inner_{output.raw_name}", type(output.type)(output.type.shape))
            inner.outputs.append(found)
            name = scope.get_unique_operator_name("Identity")
            container.add_node("Identity", found.full_name, output.full_name, name=name)

    return convert


# Learners


def _with_weights(twin: Any, model: Any) -> Any:
    coef = model.coef_
    twin.coef_ = np.asarray(coef.toarray() if sp.issparse(coef) else coef, np.float64)
    twin.intercept_ = np.asarray(model.intercept_, np.float64)
    return twin


def _classifier(model: Any) -> tuple[str, Any]:
    """Logistic regression where there are probabilities, otherwise a linear machine."""
    loss = getattr(model, "loss", None)
    logistic = isinstance(model, fastlin.LogisticRegression | fastlin.LogisticRegressionCV) or loss == "log_loss"
    twin = _with_weights(linear_model.LogisticRegression() if logistic else svm.LinearSVC(), model)
    twin.classes_ = model.classes_
    if logistic and getattr(model, "multi_class", None) == "ovr" and len(model.classes_) > 2:
        twin.multi_class = "ovr"  # sigmoids made to sum to 1
    return _SOFTMAX if logistic else _SCORES, twin


def _regressor(model: Any) -> tuple[str, Any]:
    return _LINE, _with_weights(linear_model.LinearRegression(), model)


def _counts(model: Any) -> tuple[str, Any]:
    """Naive Bayes: the logarithms of its probabilities are weights."""
    kind = type(model).__name__
    options = {"binarize": model.binarize} if kind == "BernoulliNB" else {}
    twin = getattr(naive_bayes, kind)(**options)
    names = ("classes_", "class_log_prior_", "feature_log_prob_", "class_count_", "feature_count_")
    vars(twin).update({name: np.asarray(getattr(model, name)) for name in names})
    twin.n_features_in_ = model.n_features_in_
    return f"Sklearn{kind}", twin


# Vectorisers


def _vectoriser(model: Any) -> tuple[str, Any]:
    """scikit-learn's vectoriser of the same terms, if it does what the model does."""
    kind = type(model).__name__
    theirs = getattr(sklearn_text, kind)
    known = inspect.signature(theirs).parameters
    given, defaults = model.get_params(deep=False), type(model)().get_params(deep=False)
    for name in sorted(set(given) - set(known) - {"n_jobs"}):
        if given[name] != defaults[name]:
            raise NotImplementedError(f"{kind}.{name}={given[name]!r} has no counterpart in ONNX")
    if given["stop_words"] is not None and tuple(given["ngram_range"]) != (1, 1):
        raise NotImplementedError(f"{kind}: n-grams over stop_words have no counterpart in ONNX")
    if given["analyzer"] != "word":
        raise NotImplementedError(f"{kind}.analyzer={given['analyzer']!r}: skl2onnx converts 'word' alone")
    twin = theirs(**{name: value for name, value in given.items() if name in known} | {"stop_words": None})
    tokenize = twin.build_tokenizer()
    if twin.token_pattern == _PYTHON_WORDS:
        twin.token_pattern, twin.build_tokenizer = _WORDS, lambda: tokenize  # which splits known n-grams into words
    twin.vocabulary_ = dict(model.vocabulary_)
    twin.fixed_vocabulary_ = False
    if kind == "TfidfVectorizer" and model.use_idf:
        twin.idf_ = model.idf_
    return f"Sklearn{kind}", twin


_CLASSIFIERS: dict[str, Callable[[Any], tuple[str, Any]]] = {
    **dict.fromkeys(
        (
            "AROWClassifier", "LinearSVC", "LogisticRegression", "LogisticRegressionCV", "MIRAClassifier",
            "PassiveAggressiveClassifier", "Perceptron", "SGDClassifier",
        ),
        _classifier,
    ),
    **dict.fromkeys(("BernoulliNB", "ComplementNB", "MultinomialNB"), _counts),
}  # fmt: skip
_REGRESSORS: dict[str, Callable[[Any], tuple[str, Any]]] = {"SGDRegressor": _regressor}
_VECTORISERS: dict[str, Callable[[Any], tuple[str, Any]]] = dict.fromkeys(
    ("CountVectorizer", "TfidfVectorizer"), _vectoriser
)
