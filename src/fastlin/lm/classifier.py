"""`LanguageModelClassifier`: a language model for each label, and Bayes' rule."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, clone

from fastlin.core.estimator import StatefulEstimator, learns, reads
from fastlin.engine.core import row_scores as row_kernels
from fastlin.lm.base import LanguageModel
from fastlin.lm.ngram import NgramModel
from fastlin.lm.sentences import ReadsSentences
from fastlin.validation import as_labels, as_vector
from fastlin.validation.parameter_kinds import ABSENT, NUMBERS, ParameterTable, estimator


@dataclass(frozen=True)
class BayesState:
    """The learnt state."""

    classes: NDArray[Any]
    models: list[LanguageModel]
    log_prior: NDArray[np.float64]


class LanguageModelClassifier(ReadsSentences, ClassifierMixin, StatefulEstimator[BayesState]):
    """A classifier of texts by p(label) p(text | label), where each label has a language model of its own.

    With models of characters it tells languages apart; with unigrams of words it is multinomial naive Bayes.

    Parameters
    ----------
    model : LanguageModel or None
        What is fitted to the texts of each label, a copy for each; None: NgramModel(order=4, unit="character",
        smoothing="witten_bell").
    class_prior : array of shape (n_labels,) or None
        p(label); None: by counts.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        The labels, sorted.
    models_ : list of LanguageModel
        One for each label.
    class_log_prior_ : ndarray of shape (n_labels,)

    Examples
    --------
    >>> from fastlin.lm import LanguageModelClassifier
    >>> texts = ["the cat sat on the mat", "the dogs ran", "die Katze sitzt", "der Hund bellt laut"]
    >>> model = LanguageModelClassifier().fit(texts, ["en", "en", "de", "de"])
    >>> model.predict(["the cat ran", "der Katze"]).tolist()
    ['en', 'de']
    """

    _parameters: ClassVar[ParameterTable] = {"model": estimator("fit") | ABSENT, "class_prior": NUMBERS | ABSENT}

    def __init__(self, model: Any = None, *, class_prior: Any = None) -> None:
        self.model = model
        self.class_prior = class_prior

    @learns
    def fit(self, X: Any, y: Any) -> Self:
        """Fit a language model to the texts of each label.

        Parameters
        ----------
        X : list of str, or of lists of words
        y : array of shape (n_samples,)
            Labels.

        Returns
        -------
        self
            The fitted classifier, with a model for each label.
        """
        texts = _listed(X)
        classes, codes = as_labels(y, len(texts), estimator=type(self).__name__)
        if len(classes) < 2:
            raise ValueError(f"y must hold at least two labels, got {len(classes)}")
        base = NgramModel(order=4, unit="character", smoothing="witten_bell") if self.model is None else self.model
        if not isinstance(base, LanguageModel):
            raise TypeError(f"model must be a language model, got {base!r:.60}")
        models = [clone(base) for _ in classes]
        for code, model in enumerate(models):
            model.fit([texts[place] for place in np.flatnonzero(codes == code).tolist()])
        fitted = self._working_copy()
        fitted._state_of_fit = BayesState(classes, models, self._log_prior(codes, len(classes)))
        return self._take_fitted(fitted)

    def _log_prior(self, codes: NDArray[np.int32], n_labels: int) -> NDArray[np.float64]:
        if self.class_prior is None:
            prior = np.bincount(codes, minlength=n_labels) / len(codes)
        else:
            prior = as_vector(self.class_prior, "class_prior")
            if len(prior) != n_labels or (prior < 0).any() or abs(prior.sum() - 1) > 1e-6:
                raise ValueError(f"class_prior must be {n_labels} numbers of at least 0 that sum to 1")
        with np.errstate(divide="ignore"):
            return np.log(prior)

    @property
    @reads
    def classes_(self) -> NDArray[Any]:
        """The labels, sorted."""
        return self._learnt.classes

    @property
    @reads
    def models_(self) -> list[LanguageModel]:
        """A language model for each label."""
        return self._learnt.models

    @property
    @reads
    def class_log_prior_(self) -> NDArray[np.float64]:
        """ln p(label)."""
        return self._learnt.log_prior

    @reads
    def predict_joint_log_proba(self, X: Any) -> NDArray[np.float64]:
        """ln p(text, label), columns as `classes_`.

        Parameters
        ----------
        X : list of str, or of lists of words
            Texts, each a sentence.

        Returns
        -------
        array of shape (n_samples, n_labels)
            Natural logarithms; −∞ where a label cannot have the text.
        """
        texts, learnt = _listed(X), self._learnt
        columns = [model.score_samples(texts) for model in learnt.models]
        return np.column_stack(columns) + learnt.log_prior if texts else np.empty((0, len(learnt.classes)))

    @reads
    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """ln p(label | text), columns as `classes_`; the prior, where no label can have the text.

        Parameters
        ----------
        X : list of str, or of lists of words
            Texts, each a sentence.

        Returns
        -------
        array of shape (n_samples, n_labels)
            Natural logarithms.
        """
        scores = np.ascontiguousarray(self.predict_joint_log_proba(X))
        scores[np.isneginf(scores).all(axis=1)] = self._learnt.log_prior
        row_kernels.softmax(scores, True)
        return scores

    @reads
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """p(label | text), columns as `classes_`.

        Parameters
        ----------
        X : list of str, or of lists of words
            Texts, each a sentence.

        Returns
        -------
        array of shape (n_samples, n_labels)
            Each row sums to 1.
        """
        return np.exp(self.predict_log_proba(X))

    @reads
    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable label of each text; the first of `classes_` among equals.

        Parameters
        ----------
        X : list of str, or of lists of words
            Texts, each a sentence.

        Returns
        -------
        array of shape (n_samples,)
            Labels as they were learnt.
        """
        scores = self.predict_joint_log_proba(X)
        scores[np.isneginf(scores).all(axis=1)] = self._learnt.log_prior
        return self._learnt.classes[np.argmax(scores, axis=1)]

    @reads
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The accuracy.

        Parameters
        ----------
        X : list of str, or of lists of words
            Texts, each a sentence.
        y : array of shape (n_samples,)
            Their labels.
        sample_weight : array of shape (n_samples,), optional
            Weights of the texts.

        Returns
        -------
        float
            The share of the texts, by their weights, whose label is predicted.
        """
        return float(super().score(X, y, sample_weight))


def _listed(X: Any) -> list[Any]:
    """Texts as a list."""
    if isinstance(X, str | bytes):
        raise TypeError("X must be a list of texts, not one string")
    if isinstance(X, Mapping) or not isinstance(X, Iterable):
        raise TypeError(f"X must be a list of texts, got {type(X).__name__}")
    return list(X)
