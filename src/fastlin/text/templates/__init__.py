"""Features of tokens from raw tokens, by templates that are compiled once; and templates that are known to do well."""

from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from fastlin.core.containers import csr
from fastlin.core.estimator import Estimator, learns, reads
from fastlin.engine.text import templates as kernel
from fastlin.text.templates.compiler import Program
from fastlin.text.templates.dsl import BOS, EOS, Column, Part, Template, as_template, crfpp
from fastlin.text.templates.index import Known, Reading
from fastlin.text.templates.word_forms import as_gazetteers
from fastlin.validation import CSRRows

__all__ = [
    "BOS",
    "EOS",
    "PRESETS",
    "Column",
    "Part",
    "Template",
    "Templates",
    "chunking",
    "crfpp",
    "ner",
    "pos",
    "ratnaparkhi96",
]


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

    _known: Known

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
        """
        self._fit(X)
        return self

    @learns
    def partial_fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Learn more features; those that there are keep their columns.

        The parameters are those of `fit`.
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
        return _matrix(self._fit(X), self._known)

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
        return _matrix(self._known.read(X), self._known)

    def tokens(self, X: Any, *, learn: bool = False) -> tuple[CSRRows, NDArray[np.int64], bool]:
        """What models of sequences ask for: the rows, where each sequence starts, and whether all values are 1.

        Parameters
        ----------
        X : list of sequences of tokens
        learn : bool
            Features that are new get new columns, behind those that there are; else they are left out. Words are
            counted, too, and what is rare is so by all the counts. After an error nothing has been learnt.
        """
        return self._learn(X) if learn else self._read(X)

    @reads
    def _read(self, X: Any) -> tuple[CSRRows, NDArray[np.int64], bool]:
        check_is_fitted(self)
        return _rows(self._known.read(X), self._known)

    @learns
    def _learn(self, X: Any) -> tuple[CSRRows, NDArray[np.int64], bool]:
        if not self.__sklearn_is_fitted__():
            return _rows(self._fit(X), self._known)
        reading, known = self._known.learn(X)
        _not_empty(reading)
        self._known = known
        return _rows(reading, known)

    @reads
    def strings(self, X: Any) -> list[list[list[str]]]:
        """The features of each token of X as strings, in the order of the templates, known or not.

        What is rare is so by the words that were learnt from; before that, by those of X.

        Parameters
        ----------
        X : list of sequences of tokens
        """
        fitted = self._known if self.__sklearn_is_fitted__() else None
        program = self._program() if fitted is None else fitted.program
        reading, known = Known(program).learn(X, kernel.AS_THEY_COME, fitted)
        names = np.array(known.names(), object)[reading.indices].tolist()
        ends = reading.indptr.tolist()
        rows = [names[start:stop] for start, stop in pairwise(ends)]
        return [rows[start:stop] for start, stop in pairwise(reading.starts.tolist())]

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
        return np.array(self._known.names(), object)

    @property
    @reads
    def n_features_(self) -> int:
        """How many features were learnt."""
        check_is_fitted(self)
        return len(self._known)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_known")

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

    def _fit(self, X: Any) -> Reading:
        reading, known = Known(self._program()).learn(X)
        _not_empty(reading)
        self._known = known
        return reading


def _matrix(reading: Reading, known: Known) -> tuple[Any, NDArray[np.int64]]:
    values = np.ones(len(reading.indices)) if reading.values is None else reading.values
    shape = len(reading.indptr) - 1, len(known)
    return csr(values, reading.indices, reading.indptr, shape), np.diff(reading.starts)


def _rows(reading: Reading, known: Known) -> tuple[CSRRows, NDArray[np.int64], bool]:
    """The rows, where each sequence starts, and whether all values are 1."""
    values, binary = reading.values, reading.values is None
    if values is None:
        values = np.ones(len(reading.indices), np.float32)
    largest = float(values.max(initial=0))
    rows = CSRRows(reading.indptr, reading.indices, values, len(known), False, False, largest)
    return rows, reading.starts, binary or largest <= 1


def _not_empty(reading: Reading) -> Reading:
    if len(reading.starts) == 1:
        raise ValueError("X is empty: there is no sequence to learn from")
    return reading


# Presets


def chunking(*, word: int = 0, pos: int = 1) -> Templates:
    """The template of CRFsuite for the chunks of CoNLL-2000; that of CRF++ but for names and markers beyond the ends.

    Words and parts of speech from two before to two behind, pairs of neighbouring words about the token, pairs and
    triples of neighbouring parts of speech, and the ends of the sentence: up to 19 features for a token, named as in
    CRFsuite's chunking.py.

    Parameters
    ----------
    word, pos : int
        Which columns of the tokens hold them.
    """
    W, P = Column(word, "w"), Column(pos, "pos")
    return Templates(
        [
            *W.window(-2, 2),
            *(W[d] & W[d + 1] for d in (-1, 0)),
            *P.window(-2, 2),
            *(P[d] & P[d + 1] for d in (-2, -1, 0, 1)),
            *(P[d] & P[d + 1] & P[d + 2] for d in (-2, -1, 0)),
            BOS,
            EOS,
        ]
    )


def ratnaparkhi96(*, rare: int = 5, word: int = 0) -> Templates:
    """The features of Ratnaparkhi's tagger (1996, Table 1) but for the tags before, which are those of a model.

    The word, if it is not rare, else its prefixes and suffixes of up to four characters and whether it has a digit, a
    capital or a hyphen; the two words before and the two behind.

    Parameters
    ----------
    rare : int
        A word is rare if it occurs fewer than so many times in what was learnt from.
    word : int
        Which column of the tokens holds it.
    """
    W = Column(word, "w")
    spelling = [*W[0].prefixes(4), *W[0].suffixes(4), W[0].has_digit, W[0].has_capital, W[0].has_hyphen]
    return Templates(
        [
            W[0].unless(W[0].rare(rare)),
            *(part.when(W[0].rare(rare)) for part in spelling),
            *(W[d] for d in (-1, -2, 1, 2)),
        ],
        padding="_B",
    )


def pos(*, word: int = 0) -> Templates:
    """Templates that make good taggers of parts of speech.

    Words from two before to two behind, pairs of them about the token, prefixes and suffixes of up to five characters,
    suffixes of the neighbours, shapes and flags.

    Parameters
    ----------
    word : int
        Which column of the tokens holds it.
    """
    W = Column(word, "w")
    return Templates(
        [
            *W.window(-2, 2),
            *(W[d].lower for d in (-1, 0, 1)),
            *(W[a].lower & W[b].lower for a, b in ((-2, -1), (-1, 0), (0, 1), (1, 2), (-1, 1))),
            *W[0].lower.prefixes(5),
            *W[0].lower.suffixes(5),
            *(W[d].lower.suffix(n) for d in (-1, 1) for n in (2, 3)),
            W[-1].lower.suffix(3) & W[0].lower.suffix(3),
            *(W[d].short_shape for d in (-1, 0, 1)),
            W[0].shape,
            W[0].initial_capital & BOS,
            W[0].initial_capital.unless(BOS),
            W[0].all_capitals,
            W[0].has_digit,
            W[0].has_hyphen,
            W[0].punctuation,
        ],
        padding="_B",
    )


def ner(*, gazetteers: Any = None, word: int = 0, pos: int | None = None) -> Templates:
    """Templates that make good recognisers of named entities.

    Words, in lower case and as they are, shapes and flags from two before to two behind, prefixes and suffixes of up to
    five characters, pairs about the token, and what gazetteers say of the token and its neighbours.

    Parameters
    ----------
    gazetteers : dict, optional
        From names to collections of entries; each is looked for as it is and in lower case.
    word, pos : int
        Which columns of the tokens hold the word and, if there is one, the part of speech.
    """
    W = Column(word, "w")
    templates = [
        *W.window(-2, 2),
        *(part.lower for part in W.window(-2, 2)),
        *(W[a].lower & W[b].lower for a, b in ((-1, 0), (0, 1))),
        *(part.short_shape for part in W.window(-2, 2)),
        *(W[a].short_shape & W[b].short_shape for a, b in ((-1, 0), (0, 1), (-1, 1))),
        W[-1].short_shape & W[0].short_shape & W[1].short_shape,
        W[-1].lower & W[0].short_shape,
        W[0].short_shape & W[1].lower,
        W[0].shape,
        *W[0].prefixes(5),
        *W[0].suffixes(5),
        *(flag for part in W.window(-1, 1) for flag in (part.initial_capital, part.all_capitals, part.has_digit)),
        W[0].initial_capital & BOS,
        W[0].has_hyphen,
        W[0].all_digits,
        W[0].punctuation,
        BOS,
        EOS,
    ]
    for name in gazetteers or ():
        templates += [part.within(name) for d in (-1, 0, 1) for part in (W[d], W[d].lower)]
    if pos is not None:
        P = Column(pos, "pos")
        templates += [*P.window(-2, 2), P[-1] & P[0], P[0] & P[1], W[0].lower & P[0]]
    return Templates(templates, padding="_B", gazetteers=gazetteers)


PRESETS: dict[str, Callable[[], Templates]] = {
    "chunking": chunking,
    "ner": ner,
    "pos": pos,
    "ratnaparkhi96": ratnaparkhi96,
}
