"""A classifier whose weights are a lexicon: words that speak for labels, written down rather than learnt."""

import warnings
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from fastlin import validation
from fastlin.core.dataset import Dataset, as_matrix, read_rows
from fastlin.core.estimator import learns, reads
from fastlin.core.label_sets import label_positions, n_weight_columns
from fastlin.core.sparse_estimator import Scorer, SparseClassifier, dense_scorer
from fastlin.text.negation import NEGATION_PREFIX
from fastlin.validation import real_number
from fastlin.validation.parameter_kinds import (
    ABSENT,
    JOBS,
    LABEL_WEIGHTS,
    NUMBERS,
    PLAIN,
    STRINGS,
    ParameterTable,
    check_parameters,
    estimator,
)

SHOWN = 5  # words in a warning
EQUAL = 1e-12  # scores closer than this, relative to the best, are a tie: 0.1 + 0.2 is 0.3


class LexiconClassifier(SparseClassifier):
    """Counts the words that speak for each label.

    s_k = Σ_j x_j θ_jk with weights θ given by hand; the answer is argmax_k s_k. Among labels that tie, the most
    probable one by the prior, and among equals of these the first in `classes_`.

    Parameters
    ----------
    lexicon : dict
        {label: words}, where every word weighs 1, or {label: {word: weight}}. A label may have no words: it is the
        answer when the words for all others weigh less than nothing, or nothing and the prior prefers it.
    vectorizer : object, optional
        What makes the matrix of raw texts: a vectoriser with scikit-learn's interface; then fit, predict and score take
        texts. One that is not fitted, and has no vocabulary of its own, gets the words of the lexicon for a vocabulary.
    vocabulary : object, optional
        What the columns of X are, where X is a matrix: a list of names, a dict {name: column}, or something fitted that
        has get_feature_names_out. Without either, the names of the columns of a data frame.
    prior : dict or array of shape (n_labels,), optional
        The probabilities of the labels, which break ties. Not given: those of y in fit, or all the same.
    n_jobs : int or None
        Threads; they never change a bit.

    Attributes
    ----------
    classes_ : array of shape (n_labels,)
        The labels of the lexicon, sorted.
    coef_ : array of shape (1 or n_labels, n_features_in_)
        The weights; of two labels, those for the second less those for the first.
    class_prior_ : array of shape (n_labels,)
        The prior.
    unknown_words_ : list of str
        The words of the lexicon that are no columns.
    vectorizer_ : object
        What makes matrices, where there is a `vectorizer`.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)
        What the columns are.

    Examples
    --------
    >>> from fastlin import LexiconClassifier
    >>> from fastlin.text import CountVectorizer
    >>> lexicon = {"up": ["good", "fine"], "down": {"bad": 1, "awful": 2}}
    >>> model = LexiconClassifier(lexicon, vectorizer=CountVectorizer()).fit()
    >>> model.predict(["Good, but awful", "bad, but good, fine"]).tolist()
    ['down', 'up']
    """

    _parameters: ClassVar[ParameterTable] = {
        "lexicon": PLAIN, "vectorizer": estimator("transform") | ABSENT, "prior": LABEL_WEIGHTS | NUMBERS | ABSENT,
        "vocabulary": STRINGS | LABEL_WEIGHTS | estimator("get_feature_names_out") | ABSENT, "n_jobs": JOBS,
    }  # fmt: skip

    class_prior_: NDArray[np.float64]
    unknown_words_: list[str]
    _weights: NDArray[np.float64]

    def __init__(
        self,
        lexicon: Any,
        *,
        vectorizer: Any = None,
        vocabulary: Any = None,
        prior: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.lexicon = lexicon
        self.vectorizer = vectorizer
        self.vocabulary = vocabulary
        self.prior = prior
        self.n_jobs = n_jobs

    @learns
    def fit(self, X: Any = None, y: Any = None) -> Self:
        """Take the lexicon up; learn the prior from y, if it is given.

        Parameters
        ----------
        X : list of str, or matrix of shape (n_samples, n_features), optional
            Needed if the vectoriser must be fitted, or if the names of the columns come with it.
        y : array of shape (n_samples,), optional
            Labels of the lexicon.

        Returns
        -------
        self
            The classifier, ready to predict.
        """
        model = self._working_copy()
        check_parameters(self)
        entries = _entries(self.lexicon)
        labels = np.fromiter(self.lexicon, dtype=object, count=len(self.lexicon))
        validation.as_classes(labels)  # of one kind, before numpy would make them so
        model.classes_ = validation.as_classes(labels.tolist())
        if len(model.classes_) < 2:
            raise ValueError("lexicon must have two labels at least")
        words = list(dict.fromkeys(word for _, word, _ in entries))
        place = model._columns(X, words)
        model.unknown_words_ = [word for word in words if word not in place]
        model._weights = np.zeros((model.n_features_in_, len(model.classes_)))
        codes = label_positions(model.classes_, np.array([label for label, _, _ in entries], dtype=object))
        for code, (_, word, weight) in zip(codes, entries, strict=True):
            if word in place:
                model._weights[place[word], code] += weight
        model.class_prior_ = model._prior(X, y)
        if model.unknown_words_:
            shown = ", ".join(map(repr, model.unknown_words_[:SHOWN]))
            more = ", …" if len(model.unknown_words_) > SHOWN else ""
            warnings.warn(
                f"{len(model.unknown_words_)} of the {len(words)} words of the lexicon are no columns, "
                f"and will never count: {shown}{more}",
                stacklevel=3,
            )
        return self._take_fitted(model)

    @reads
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """The scores [n, n_labels]; of two labels, those of the second less those of the first.

        Parameters
        ----------
        X : list of str, or matrix of shape (n_samples, n_features)
            Texts if there is a vectoriser, else counts whose columns the lexicon knows.

        Returns
        -------
        array of shape (n_samples, n_labels), or (n_samples,)
            Of two labels one number a row, above 0 for `classes_[1]`.
        """
        scores = self._scores(self._checked_rows(X))
        if n_weight_columns(len(self.classes_)) > 1:
            return scores
        return np.where(_ties(scores).all(axis=1), 0.0, scores[:, 1] - scores[:, 0])

    @property
    @reads
    def coef_(self) -> NDArray[np.float64]:
        """The weights, in scikit-learn's shape."""
        self._check_fitted()
        if n_weight_columns(len(self.classes_)) == 1:
            return self._weights[:, 1:].T - self._weights[:, :1].T
        return self._weights.T

    def _check_fitted(self) -> None:
        super()._check_fitted()
        n_features, n_labels = self._weights.shape
        if len(self.classes_) != n_labels:  # users may set them
            raise ValueError(f"classes_ has {len(self.classes_)} labels, but there are weights of {n_labels}")
        if np.shape(self.class_prior_) != (n_labels,):
            raise ValueError(f"class_prior_ has shape {np.shape(self.class_prior_)}, but there are {n_labels} labels")
        if self.n_features_in_ != n_features:
            raise ValueError(f"n_features_in_ is {self.n_features_in_!r:.60}, but there are weights of {n_features}")

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_weights")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        tags.input_tags.string = self.vectorizer is not None
        tags.input_tags.two_d_array = self.vectorizer is None
        return tags

    # Parts

    def _checked_rows(self, X: Any) -> Dataset:
        self._check_fitted()
        check_parameters(self)
        if self.vectorizer is not None:
            X = as_matrix(X, self.vectorizer_)
        rows = read_rows(X, self._row_constraints())
        if rows.n_features != self.n_features_in_:
            raise ValueError(
                f"X has {rows.n_features} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input"
            )
        if self.vectorizer is None and self.vocabulary is None:
            self._check_width(X, rows, reset=False)
        return rows

    def _scorer(self) -> Scorer:
        return dense_scorer(self._weights, np.zeros(len(self.classes_)), self.n_jobs)

    def _codes(self, rows: Dataset) -> NDArray[np.int64]:
        preferred = np.where(_ties(self._scores(rows)), self.class_prior_, -1.0)
        return np.argmax(preferred, axis=1)

    def _columns(self, X: Any, words: list[str]) -> dict[Any, int]:
        """Which column each name is; sets how many there are, and their names."""
        if self.vectorizer is not None and self.vocabulary is not None:
            raise ValueError("give a vectorizer, for raw texts, or a vocabulary, for a matrix, but not both")
        if self.vectorizer is not None:
            self.vectorizer_ = _ready(self.vectorizer, X, words)
            names = self.vectorizer_.get_feature_names_out()
        elif self.vocabulary is not None:
            names = _names(self.vocabulary)
        elif hasattr(X, "columns"):
            names = np.asarray(X.columns, dtype=object)
            self._read_rows(X, reset=True)
        else:
            raise ValueError("the columns of X have no names: give a vectorizer, for raw texts, or a vocabulary")
        place = {name: column for column, name in enumerate(names.tolist()) if name is not None}
        if not place:
            raise ValueError("the vocabulary is empty: no word of the lexicon can be found in anything")
        self.n_features_in_ = len(names)
        self.feature_names_in_ = names
        return place

    def _prior(self, X: Any, y: Any) -> NDArray[np.float64]:
        if self.prior is not None:
            return self._given_prior()
        if y is None:
            return np.full(len(self.classes_), 1 / len(self.classes_))
        given = y if X is None else X
        n = given.shape[0] if hasattr(given, "shape") else len(given)
        seen, codes = validation.as_labels(y, n, estimator=type(self).__name__)
        known = label_positions(self.classes_, seen)
        if (known < 0).any():
            label = seen.tolist()[int(np.argmin(known))]
            raise ValueError(f"y holds the label {label!r}, which the lexicon lacks; give it words, or none: []")
        return np.bincount(known[codes], minlength=len(self.classes_)) / len(codes)

    def _given_prior(self) -> NDArray[np.float64]:
        if isinstance(self.prior, Mapping):
            unknown = [label for label in self.prior if label not in self.classes_.tolist()]
            if unknown:
                raise ValueError(f"prior names the label {unknown[0]!r}, which the lexicon lacks")
            prior = [self.prior.get(label, 0.0) for label in self.classes_.tolist()]
        else:
            prior = self.prior
        vector = validation.as_vector(prior, "prior")
        if len(vector) != len(self.classes_) or (vector < 0).any() or not vector.any():
            raise ValueError(f"prior must hold {len(self.classes_)} numbers, none below 0 and not all 0")
        return vector / vector.sum()


def _entries(lexicon: Any) -> list[tuple[Any, str, float]]:
    """(label, word, weight) of all words."""
    if not isinstance(lexicon, Mapping):
        raise TypeError(f"lexicon must be a dict from labels to words, got {type(lexicon).__name__}")
    entries = []
    for label, words in lexicon.items():
        if isinstance(words, str | bytes) or not hasattr(words, "__iter__"):
            raise TypeError(
                f"lexicon[{label!r}] must be a list of words, or a dict of their weights, got {words!r:.60}"
            )
        weighted = words.items() if isinstance(words, Mapping) else ((word, 1.0) for word in words)
        for word, weight in weighted:
            if not isinstance(word, str):
                raise TypeError(f"lexicon[{label!r}] holds {word!r}; words are strings")
            name = f"lexicon[{label!r}][{word!r}]"
            entries.append((label, word, real_number(name, weight, at_least=-1e100, at_most=1e100)))
    return entries


def _names(vocabulary: Any) -> NDArray[Any]:
    """The names of the columns, None where a column has none."""
    if hasattr(vocabulary, "get_feature_names_out"):
        return np.asarray(vocabulary.get_feature_names_out(), dtype=object)
    if isinstance(vocabulary, Mapping):
        numbers = np.array(list(vocabulary.values()))
        if numbers.dtype.kind not in "iu" or (numbers < 0).any() or len(np.unique(numbers)) < len(numbers):
            raise ValueError("vocabulary must be a dict from names to column numbers, each of them once")
        names = np.full(int(numbers.max()) + 1, None, dtype=object)
        names[numbers] = list(vocabulary)
        return names
    if isinstance(vocabulary, str) or np.ndim(vocabulary) != 1:
        raise TypeError(f"vocabulary must be a list or a dict of names, or have get_feature_names_out: {vocabulary!r}")
    names = np.asarray(vocabulary, dtype=object)
    if len(set(names.tolist())) < len(names):
        raise ValueError("vocabulary holds a name twice")
    return names


def _ready(vectorizer: Any, X: Any, words: list[str]) -> Any:
    """A vectoriser that transforms: the one given, or a copy that looks for the words it can make."""
    if not hasattr(vectorizer, "get_feature_names_out"):
        raise TypeError(f"vectorizer must have transform and get_feature_names_out; {vectorizer!r} does not tell words")
    if _transforms(vectorizer):
        return vectorizer
    vectorizer = clone(vectorizer)
    if "vocabulary" in vectorizer.get_params() and vectorizer.vocabulary is None:
        analyze: Callable[[str], Any] = vectorizer.build_analyzer()
        made = [word for word in words if any(word in analyze(text) for text in _texts(word))]
        if not made:
            raise ValueError("the vectorizer makes none of the words of the lexicon")
        vectorizer.set_params(vocabulary=made)
    if not _transforms(vectorizer):
        if X is None:
            raise ValueError("the vectorizer has to be fitted: give raw texts as X, or a fitted vectorizer")
        vectorizer.fit(X)
    return vectorizer


def _texts(word: str) -> list[str]:
    """Texts of which a vectoriser should make the word: itself or, of a word that is marked, its negation."""
    return [word, f"not {word.removeprefix(NEGATION_PREFIX)}"] if word.startswith(NEGATION_PREFIX) else [word]


def _transforms(vectorizer: Any) -> bool:
    try:
        vectorizer.transform([])
        vectorizer.get_feature_names_out()
    except (NotFittedError, AttributeError):  # what is half fitted lacks attributes
        return False
    except ValueError:  # no documents are too few for some
        return True
    return True


def _ties(scores: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which labels score highest."""
    best = scores.max(axis=1, keepdims=True)
    return scores >= best - EQUAL * np.abs(best)
