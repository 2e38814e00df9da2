"""The estimator of templates: features of tokens from raw tokens."""

from collections.abc import Iterable
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from fastlin.core.containers import csr
from fastlin.core.estimator import Estimator, learns, reads
from fastlin.engine.text import templates as kernel
from fastlin.text.templates.compiler import Program
from fastlin.text.templates.dsl import as_template
from fastlin.text.templates.seen_features import TemplateIndex, TokenFeatures
from fastlin.text.templates.template_reader import TemplateReader
from fastlin.text.templates.word_forms import as_gazetteers
from fastlin.validation import CSRRows
from fastlin.validation.parameter_kinds import ABSENT, LABEL_WEIGHTS, PLAIN, TEXT, ParameterTable


class Templates(Estimator):
    """A column for every feature that templates make of tokens.

    A sequence is a list of tokens, and a token a string, its word, or a tuple or list of strings, such as word and part
    of speech. A template is something of the token, or of one beside it, or a conjunction of such, written with the
    columns of the tokens: with `W = Column(0, "w")`, `W[0]` is the word, `W[-1] & W[0]` the last word and this,
    `W[0].suffix(3)`, `W[1].shape`, `W[0].has_digit`, ... (see `Part`); `W[0].suffixes(4)` and `W.window(-2, 2)` are
    lists of templates. `.when(flag)` and `.unless(flag)` restrict one to tokens that have a flag or have not:
    `W[0].unless(W[0].rare(5))`.

    Models of sequences take raw tokens with `features=Templates(...)`.

    Parameters
    ----------
    templates : list of templates
        What to look at; see also `chunking`, `ner`, `pos`, `ratnaparkhi96` and, for files of CRF++, `crfpp`.
    padding : str, optional
        "_B": words, shapes and words in lower case before a sequence are "_B-1", "_B-2", ..., and behind it "_B+1",
        ... None: there are none. Of other things there are none in either case, and a template that asks for one that
        there is not has no feature.
    gazetteers : dict, optional
        From names to collections of entries of one word or several: for `W[0].within(name)`.

    Attributes
    ----------
    n_features_ : int
        How many features were learnt.

    Examples
    --------
    >>> from fastlin.text.templates import Column, Templates
    >>> W = Column(0, "w")
    >>> templates = Templates([W[0].lower, W[-1] & W[0], W[0].suffix(2).when(W[0].initial_capital)])
    >>> templates.strings([["Time", "flies"]])
    [[['w[0].lower=time', 'w[0].suffix(2)=me'], ['w[0].lower=flies', 'w[-1]|w[0]=Time|flies']]]
    >>> X, lengths = templates.fit_transform([["Time", "flies"], ["Time"]])
    >>> X.toarray().astype(int).tolist(), lengths.tolist()
    ([[1, 1, 0, 0], [0, 0, 1, 1], [1, 1, 0, 0]], [2, 1])
    >>> templates.get_feature_names_out().tolist()
    ['w[0].lower=time', 'w[0].suffix(2)=me', 'w[0].lower=flies', 'w[-1]|w[0]=Time|flies']
    """

    _parameters: ClassVar[ParameterTable] = {
        "templates": PLAIN, "padding": TEXT | ABSENT, "gazetteers": LABEL_WEIGHTS | ABSENT,
    }  # fmt: skip

    _index: TemplateIndex

    def __init__(self, templates: Any, *, padding: str | None = None, gazetteers: Any = None) -> None:
        self.templates = templates
        self.padding = padding
        self.gazetteers = gazetteers

    @learns
    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002 - scikit-learn passes labels to every step
        """Learn the features, and how often words occur.

        Parameters
        ----------
        X : list of sequences of tokens
        y : ignored

        Returns
        -------
        self
            The transformer, which knows these features.
        """
        self._fit(X)
        return self

    @learns
    def partial_fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Learn more features; those that there are keep their columns.

        The parameters are those of `fit`.

        Parameters
        ----------
        X : list of sequences of tokens
            As for `fit`.
        y : None
            Ignored.

        Returns
        -------
        self
            The transformer, which knows these features, too.
        """
        self.tokens(X, learn=True)
        return self

    @learns
    def fit_transform(self, X: Any, y: Any = None) -> tuple[Any, NDArray[np.int64]]:  # noqa: ARG002
        """Learn the features and return the matrix, in one pass over X.

        Parameters
        ----------
        X : list of sequences of tokens
        y : ignored

        Returns
        -------
        CSR of shape (n_tokens, n_features)
        array of shape (n_sequences,)
            The lengths of the sequences: what models take as `lengths` beside the matrix.
        """
        return _matrix(self._fit(X), self._index)

    @reads
    def transform(self, X: Any) -> tuple[Any, NDArray[np.int64]]:
        """The matrix of the tokens of X, and the lengths of the sequences; features that are unknown are left out.

        Parameters
        ----------
        X : list of sequences of tokens

        Returns
        -------
        CSR of shape (n_tokens, n_features)
        array of shape (n_sequences,)
        """
        check_is_fitted(self)
        return _matrix(self._index.read(X), self._index)

    def tokens(self, X: Any, *, learn: bool = False) -> tuple[CSRRows, NDArray[np.int64], bool]:
        """Rows for models of sequences: a CSR, where each sequence starts, and whether all values are 1.

        Parameters
        ----------
        X : list of sequences of tokens
        learn : bool
            Features that are new get new columns, behind those that there are; else they are left out. Words are
            counted, too, and what is rare is so by all the counts. After an error nothing has been learnt.

        Returns
        -------
        (rows, array of shape (n_sequences + 1,), bool)
            A CSR of shape (n_tokens, n_features), the first row of each sequence, and whether all values are 1.
        """
        return self._learn(X) if learn else self._read(X)

    @reads
    def _read(self, X: Any) -> tuple[CSRRows, NDArray[np.int64], bool]:
        check_is_fitted(self)
        return _rows(self._index.read(X), self._index)

    @learns
    def _learn(self, X: Any) -> tuple[CSRRows, NDArray[np.int64], bool]:
        if not self.__sklearn_is_fitted__():
            return _rows(self._fit(X), self._index)
        features, index = self._index.learn(X)
        _check_not_empty(features)
        self._index = index
        return _rows(features, index)

    def sentence_reader(self) -> TemplateReader | None:
        """What reads one sentence at a time with what is known now; None: there is no such way.

        Returns
        -------
        TemplateReader, or None
            A reader for one thread at a time, of what is known now.
        """
        index = self.__dict__.get("_index")
        return TemplateReader(index) if index is not None and TemplateReader.reads(index) else None

    @reads
    def strings(self, X: Any) -> list[list[list[str]]]:
        """The features of each token of X as strings, in the order of the templates, known or not.

        What is rare is so by the words that were learnt from; before that, by those of X.

        Parameters
        ----------
        X : list of sequences of tokens

        Returns
        -------
        list of lists of lists of str
            For each sequence, for each token, the names of its features.
        """
        fitted = self._index if self.__sklearn_is_fitted__() else None
        program = self._program() if fitted is None else fitted.program
        features, index = TemplateIndex(program).learn(X, kernel.AS_GIVEN, fitted)
        names = np.array(index.names(), object)[features.indices].tolist()
        ends = features.indptr.tolist()
        rows = [names[start:stop] for start, stop in pairwise(ends)]
        return [rows[start:stop] for start, stop in pairwise(features.starts.tolist())]

    @reads
    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:  # noqa: ARG002
        """The texts of the features, in the order of their columns: that in which tokens brought them.

        Two features are two even if their texts are one: "w[-1]|w[0]=a|b|c" is "a|b" and "c", or "a" and "b|c".

        Parameters
        ----------
        input_features : ignored

        Returns
        -------
        array of str objects
        """
        check_is_fitted(self)
        return np.array(self._index.names(), object)

    @property
    @reads
    def n_features_(self) -> int:
        """How many features were learnt."""
        check_is_fitted(self)
        return len(self._index)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_index")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.no_validation = True
        return tags

    # Parts

    def _program(self) -> Program:
        if isinstance(self.templates, str) or not isinstance(self.templates, Iterable):
            raise TypeError(f"templates must be a list of templates, got {self.templates!r:.80}")
        templates = [as_template(value, f"templates[{place}]") for place, value in enumerate(self.templates)]
        if not templates:
            raise ValueError("templates must hold at least one template")
        if self.padding is not None and not isinstance(self.padding, str):
            raise TypeError(f"padding must be a string or None, got {self.padding!r:.80}")
        return Program(templates, self.padding, as_gazetteers(self.gazetteers))

    def _fit(self, X: Any) -> TokenFeatures:
        features, index = TemplateIndex(self._program()).learn(X)
        _check_not_empty(features)
        self._index = index
        return features


def _matrix(features: TokenFeatures, index: TemplateIndex) -> tuple[Any, NDArray[np.int64]]:
    values = np.ones(len(features.indices)) if features.values is None else features.values
    shape = len(features.indptr) - 1, len(index)
    return csr(values, features.indices, features.indptr, shape), np.diff(features.starts)


def _rows(features: TokenFeatures, index: TemplateIndex) -> tuple[CSRRows, NDArray[np.int64], bool]:
    """The rows, where each sequence starts, and whether all values are 1."""
    values, binary = features.values, features.values is None
    if values is None:
        values = np.ones(len(features.indices), np.float32)
    largest = float(values.max(initial=0))
    rows = CSRRows(features.indptr, features.indices, values, len(index), False, False, largest)
    return rows, features.starts, binary or largest <= 1


def _check_not_empty(features: TokenFeatures) -> None:
    if len(features.starts) == 1:
        raise ValueError("X is empty: there is no sequence to learn from")
