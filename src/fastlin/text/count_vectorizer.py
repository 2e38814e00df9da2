"""Counts of words and n-grams, in columns that a vocabulary learns."""

from collections.abc import Callable, Iterable, Mapping
from itertools import islice, pairwise
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_array
from sklearn.utils.metadata_routing import UNUSED

from fastlin.core.containers import csr
from fastlin.core.estimator import Estimator, learns, reads
from fastlin.core.sparse_output import SparseOutput
from fastlin.core.transformer import proved
from fastlin.runtime.user_warnings import warn_user
from fastlin.text.analyzer import WORDS
from fastlin.text.count_rows import assemble
from fastlin.text.document_blocks import reject_string
from fastlin.text.fitted_vocabulary import FittedVocabulary, checked_vocabulary, has_capitals
from fastlin.text.negation import NEGATION_PREFIX, TOKEN_PATTERN
from fastlin.text.vectorizer_base import VectorizerBase
from fastlin.text.vocabulary import CountChunk, DictVocabulary, GrowingCounts, NativeVocabulary, TermVocabulary, add_up
from fastlin.validation.choices import Analyzer, DecodeErrors
from fastlin.validation.parameter_kinds import COUNTING, ParameterTable

BLOCKS_READ_TOGETHER = 64  # blocks that are read together where their rows are not kept


class CountVectorizer(VectorizerBase, SparseOutput, Estimator):
    """Counts words or n-grams in documents: x_ij is how often term j is in document i.

    A document is decoded, made lower case and split into words; a term is a word, an n-gram of words, or one of
    characters. `fit` gives a column to every term that is neither too rare nor too frequent, in the order of their
    names; `partial_fit` gives further columns to the terms of further documents. The matrix, the vocabulary and their
    orders are scikit-learn's.

    Parameters
    ----------
    input : {"content", "file", "filename"}
        Whether a document is the text itself, an open file, or the name of a file.
    encoding, decode_error : str
        How documents are decoded that are bytes, and what becomes of those that cannot be: "strict", "ignore" or
        "replace", as in `bytes.decode`.
    strip_accents : {"ascii", "unicode"}, callable or None
        "unicode" takes the accents off the letters, "ascii" everything that is not ASCII then, too.
    lowercase : bool
        Read the text in lower case.
    preprocessor : callable, optional
        From text to text, in the place of accents and lower case.
    tokenizer : callable, optional
        From text to a list of tokens, in the place of `token_pattern`; for words.
    stop_words : "english", list or None
        Words that are not there: their neighbours stand side by side. "english" is scikit-learn's list.
    token_pattern : str or None
        The regular expression of a word; with a group in it, what the group holds. The engine knows patterns of sets of
        characters without the blank, alternatives, bounds and word boundaries (the default is two word characters and
        more); others, with groups or anchors, are matched by `re`, at its speed.
    ngram_range : (int, int)
        The fewest and the most words or characters of an n-gram.
    analyzer : {"word", "char", "char_wb"} or callable
        Words; characters, white space included; characters of each word with a blank on either side; or a function from
        document to features.
    max_df, min_df : float or int
        Terms that more documents have, or fewer, get no column: a number of documents, or as a float a share of them.
    max_features : int, optional
        Of the terms that remain, keep those with the largest counts.
    vocabulary : mapping or iterable, optional
        The terms, with their columns or in the order of these: nothing is learnt then but document frequencies.
    binary : bool
        1 for every term that is there, however often.
    dtype : type
        Of the counts.
    negation : bool
        Words after a negator become NOT_word until the clause ends; the rule is that of `mark_negation`.
    prefixes, suffixes : int, sequence of int or None
        A word that is longer than n characters gives its first n, too, as "un-", or its last n, as "-ing", for each n
        named here; they are no part of n-grams.
    n_jobs : int or None
        Threads that read; they never change a bit.

    Attributes
    ----------
    vocabulary_ : dict
        {term: column}, in the order in which the terms first appeared. Made when it is asked for; may be set, too.
    fixed_vocabulary_ : bool
        Whether the vocabulary was given.

    Examples
    --------
    >>> from fastlin import CountVectorizer
    >>> vectorizer = CountVectorizer(ngram_range=(1, 2), min_df=2)
    >>> X = vectorizer.fit_transform(["a good dog", "not a good cat", "Good dog!"])
    >>> vectorizer.get_feature_names_out().tolist()
    ['dog', 'good', 'good dog']
    >>> X.toarray().tolist()
    [[1, 1, 1], [0, 1, 0], [1, 1, 1]]
    >>> vectorizer.partial_fit(["bad cat", "bad dog"]).get_feature_names_out().tolist()  # what is new stands behind
    ['dog', 'good', 'good dog', 'bad']
    >>> CountVectorizer(negation=True, suffixes=3).fit(["not barking"]).get_feature_names_out().tolist()
    ['-ing', 'NOT_barking', 'not']
    """

    _parameters: ClassVar[ParameterTable] = COUNTING | WORDS

    fixed_vocabulary_: bool

    # documents are no metadata that a pipeline routes
    __metadata_request__fit = {"raw_documents": UNUSED}  # noqa: RUF012 - scikit-learn's protocol
    __metadata_request__partial_fit = {"raw_documents": UNUSED}  # noqa: RUF012
    __metadata_request__transform = {"raw_documents": UNUSED}  # noqa: RUF012

    def __init__(
        self,
        *,
        input: str = "content",  # noqa: A002 - scikit-learn's name
        encoding: str = "utf-8",
        decode_error: DecodeErrors = "strict",
        strip_accents: Any = None,
        lowercase: bool = True,
        preprocessor: Any = None,
        tokenizer: Any = None,
        stop_words: Any = None,
        token_pattern: str | None = TOKEN_PATTERN,
        ngram_range: tuple[int, int] = (1, 1),
        analyzer: Analyzer | Callable[..., Any] = "word",
        max_df: float = 1.0,
        min_df: float = 1,
        max_features: int | None = None,
        vocabulary: Any = None,
        binary: bool = False,
        dtype: Any = np.int64,
        negation: bool = False,
        prefixes: Any = None,
        suffixes: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.input = input
        self.encoding = encoding
        self.decode_error = decode_error
        self.strip_accents = strip_accents
        self.lowercase = lowercase
        self.preprocessor = preprocessor
        self.tokenizer = tokenizer
        self.stop_words = stop_words
        self.token_pattern = token_pattern
        self.ngram_range = ngram_range
        self.analyzer = analyzer
        self.max_df = max_df
        self.min_df = min_df
        self.max_features = max_features
        self.vocabulary = vocabulary
        self.binary = binary
        self.dtype = dtype
        self.negation = negation
        self.prefixes = prefixes
        self.suffixes = suffixes
        self.n_jobs = n_jobs

    @learns
    def fit(self, raw_documents: Any, y: Any = None) -> Self:  # noqa: ARG002 - scikit-learn passes labels to every step
        """Learn the vocabulary of the documents, and how many of them have each term.

        Parameters
        ----------
        raw_documents : iterable of str, bytes, files or file names
            As `input` says.
        y : ignored

        Returns
        -------
        self
            The vectoriser, with its `vocabulary_`.
        """
        model = self._working_copy()
        model._learn(raw_documents, grow=False, keep=False)
        return self._take_fitted(model)

    @learns
    def fit_transform(self, raw_documents: Any, y: Any = None) -> Any:  # noqa: ARG002
        """Do what `fit` and `transform` do, in one pass over the documents.

        Parameters
        ----------
        raw_documents : iterable of str, bytes, files or file names
        y : ignored

        Returns
        -------
        CSR of shape (n_documents, n_columns)
            The entries of a row are in the order in which their terms first appeared.
        """
        model = self._working_copy()
        output = model._output(model._matrix(*model._learn(raw_documents, grow=False, keep=True)), raw_documents)
        self._take_fitted(model)
        return output

    @learns
    def partial_fit(self, raw_documents: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Learn more documents: new terms get columns behind the known ones, which stay what they are.

        Document frequencies are those of all documents so far. A term gets its column in the first call that leaves it
        with at least `min_df` and at most `max_df`; the new columns of a call are sorted among themselves.

        Parameters
        ----------
        raw_documents : iterable of str, bytes, files or file names
        y : ignored

        Returns
        -------
        self
            The vectoriser, which knows the terms of these documents, too.
        """
        model = self._working_copy()
        model._check_growth()
        model._learn(raw_documents, grow=True, keep=False)
        return self._take_fitted(model)

    def transform(self, raw_documents: Any) -> Any:
        """Count, or weigh, the terms of the vocabulary.

        Parameters
        ----------
        raw_documents : iterable of str, bytes, files or file names

        Returns
        -------
        CSR of shape (n_documents, n_columns)
            Rows are sorted.
        """
        model = self._ready()
        return model._output(model._transform(raw_documents), raw_documents)

    def inverse_transform(self, X: Any) -> list[NDArray[Any]]:
        """The terms of each row's entries other than zero.

        Parameters
        ----------
        X : matrix of shape (n_documents, n_columns)

        Returns
        -------
        list of arrays
        """
        names = np.array(self._ready()._terms.names().tolist())
        X = check_array(proved(X), accept_sparse="csr")
        if X.shape[1] != len(names):
            raise ValueError(f"X has {X.shape[1]} columns, the vocabulary {len(names)} terms")
        if not sp.issparse(X):
            return [names[np.flatnonzero(row)] for row in X]
        parts = [slice(start, stop) for start, stop in pairwise(X.indptr.tolist())]
        return [names[X.indices[part][X.data[part] != 0]] for part in parts]

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:  # noqa: ARG002
        """The terms in the order of their columns.

        Parameters
        ----------
        input_features : ignored

        Returns
        -------
        array of str
        """
        return self._ready()._terms.names()

    @property
    @reads
    def vocabulary_(self) -> dict[Any, int]:
        """{term: column}; may be set, too."""
        learned = getattr(self, "_terms", None)
        if learned is None:
            raise AttributeError(f"this {type(self).__name__} has no vocabulary_: it was not fitted")
        return learned.vocabulary

    @vocabulary_.setter
    @learns
    def vocabulary_(self, vocabulary: Mapping[Any, int]) -> None:
        self._terms = self._given(vocabulary)

    @vocabulary_.deleter
    @learns
    def vocabulary_(self) -> None:
        del self._terms

    # Parts

    _terms: FittedVocabulary

    def _check_parameters(self) -> None:
        self._check_analysis()

    def _check_growth(self) -> None:
        if self.max_features is not None:
            raise ValueError("max_features cannot grow: which terms are the most frequent is known at the end only")

    def _learn(
        self, raw_documents: Any, grow: bool, keep: bool
    ) -> tuple[list[CountChunk], NDArray[np.int32] | None, int]:
        """Read the documents: their rows, and the columns of the terms in them (None: they are columns already).

        Rows that nobody will `keep` are counted and forgotten: memory then depends on the vocabulary only.
        """
        reject_string(raw_documents)
        self._check_parameters()
        self._warn_of_unused()
        before = self._terms if grow and hasattr(self, "_terms") else None
        if self.vocabulary is not None:
            return self._learn_frequencies(raw_documents, before, keep)
        if before is not None and before.given is not None:
            raise ValueError("vocabulary_ was set: a vocabulary that was given does not grow")
        if before is not None and self._matching(before) is not before:
            raise ValueError("the analysis was changed: a vocabulary grows with the parameters it was begun with")
        terms = self._new_terms() if before is None else before.terms.copy()
        known = before or FittedVocabulary(terms)
        learned, totals = FittedVocabulary(terms, n_documents=known.n_documents), GrowingCounts()

        def take(chunk: CountChunk) -> None:
            learned.n_documents += len(chunk.lengths)
            if self.binary:
                chunk.counts.fill(1)
            if self.max_features is not None:
                totals.add(chunk.numbers, chunk.counts)

        chunks, rows = terms.learn(self._blocks(raw_documents), self.n_jobs, None if keep else take)
        for chunk in chunks:
            take(chunk)
        rows[: len(known.rows)] += known.rows
        if not rows.any():
            raise ValueError("empty vocabulary; perhaps the documents only contain stop words")
        columns = np.full(len(terms), -1, np.int32)
        columns[: len(known.columns)] = known.columns
        wanted = self._frequent(rows, learned.n_documents) & (columns < 0)
        if self.max_features is not None and wanted.sum() > self.max_features:
            wanted = self._most_frequent(terms, wanted, totals.of(len(terms)))
        learned.n_columns = known.n_columns + int(wanted.sum())
        if not learned.n_columns:
            raise ValueError("After pruning, no terms remain. Try a lower min_df or a higher max_df.")
        columns = np.where(wanted, terms.order(wanted, known.n_columns), columns)
        learned.columns, learned.rows = columns, rows
        if not grow and wanted.sum() < np.count_nonzero(rows):
            learned.terms, sources = terms.subset(wanted)
            learned.columns, learned.rows = columns[sources], np.where(wanted, rows, 0)[sources]
        self._terms, self.fixed_vocabulary_ = learned, False
        return chunks, columns, learned.n_columns

    def _learn_frequencies(
        self, raw_documents: Any, known: FittedVocabulary | None, keep: bool
    ) -> tuple[list[CountChunk], NDArray[np.int32] | None, int]:
        """Learn with a vocabulary that was given: all there is to learn is how many documents have each term."""
        learned = self._given(self.vocabulary)
        learned.frequencies = frequencies = np.zeros(learned.n_columns, np.int64)
        if known is not None and known.frequencies is not None and known.given == learned.given:
            learned.n_documents += known.n_documents
            frequencies += known.frequencies

        def learn(blocks: Iterable[list[Any]]) -> list[CountChunk]:
            chunks = self._read(learned, blocks)
            for chunk in chunks:
                learned.n_documents += len(chunk.lengths)
                add_up(frequencies, chunk.numbers)
            return chunks

        blocks, chunks = iter(self._blocks(raw_documents)), []
        if keep:
            chunks = learn(blocks)
        else:
            while some := list(islice(blocks, BLOCKS_READ_TOGETHER)):
                learn(some)
        self._terms, self.fixed_vocabulary_ = learned, True
        return chunks, None, learned.n_columns

    def _frequent(self, rows: NDArray[np.int64], n_documents: int) -> NDArray[np.bool_]:
        """Which terms neither too few documents have nor too many."""
        low, high = (
            value if isinstance(value, Integral) else value * n_documents for value in (self.min_df, self.max_df)
        )
        if high < low:
            raise ValueError(
                f"max_df corresponds to < documents than min_df: of {n_documents} documents at most {high:g} and at "
                f"least {low:g}"
            )
        return (rows > 0) & (rows >= low) & (rows <= high)

    def _most_frequent(
        self, terms: TermVocabulary, wanted: NDArray[np.bool_], totals: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """The max_features terms with the largest counts; numpy decides between equals, as in scikit-learn."""
        numbers = np.flatnonzero(wanted)
        by_name = numbers[np.argsort(terms.order(wanted, 0)[numbers])]
        dtype = np.dtype(self.dtype)
        sums = totals[by_name].astype({"u": np.uint64, "f": dtype}.get(dtype.kind, np.int64))
        chosen = np.zeros_like(wanted)
        chosen[by_name[(-sums).argsort()[: self.max_features]]] = True
        return chosen

    def _matrix(self, chunks: list[CountChunk], columns: NDArray[np.int32] | None, n_columns: int) -> Any:
        data, indices, indptr = self._row_arrays(chunks, columns, n_columns)
        return csr(data, indices, indptr, (len(indptr) - 1, n_columns))

    def _row_arrays(
        self,
        chunks: list[CountChunk],
        columns: NDArray[np.int32] | None,
        n_columns: int,  # noqa: ARG002
    ) -> tuple[NDArray[Any], NDArray[np.int32], NDArray[np.int64]]:
        """Values, indices and indptr of all rows."""
        return assemble(chunks, columns, self.dtype)

    def _read(self, learned: FittedVocabulary, blocks: Iterable[list[Any]]) -> list[CountChunk]:
        """Count the known terms of the documents."""
        chunks = learned.terms.count(blocks, learned.columns, self.n_jobs)
        if self.binary:
            for chunk in chunks:
                chunk.counts.fill(1)
        return chunks

    def _transform(self, raw_documents: Any) -> Any:
        reject_string(raw_documents)
        self._check_analysis()
        self._terms.check_terms()
        learned = self._matching(self._terms)
        return self._matrix(self._read(learned, self._blocks(raw_documents)), None, learned.n_columns)

    def _ready(self) -> Self:
        """A view of what was learnt, or of the vocabulary that was given."""
        if not hasattr(self, "_terms"):
            if self.vocabulary is None:
                self.fixed_vocabulary_ = False  # as scikit-learn's
                raise NotFittedError("Vocabulary not fitted or provided: call fit first")
            self._adopt_vocabulary()
        self._note_stop_words()
        return self._snapshot()

    @learns
    def _adopt_vocabulary(self) -> None:
        """Take over the vocabulary that was given, unless another thread has just learnt one."""
        if not hasattr(self, "_terms"):
            model = self._working_copy()
            model._check_parameters()
            model._terms, model.fixed_vocabulary_ = model._given(model.vocabulary), True
            self._take_fitted(model)

    def _matching(self, learned: FittedVocabulary) -> FittedVocabulary:
        """Vocabulary for the parameters as they are now, where these were changed."""
        spec = self._tokenizer_spec()
        terms = learned.terms
        if spec is None and isinstance(terms, DictVocabulary):
            return learned
        if isinstance(terms, NativeVocabulary) and (terms.spec, terms.stop_words) == (spec, self._stop_list()):
            return learned
        return self._given(learned.given or learned.vocabulary)

    def _given(self, vocabulary: Any) -> FittedVocabulary:
        """A vocabulary of the user's, once it is found to be one."""
        given = checked_vocabulary(vocabulary)
        if self.lowercase and has_capitals(given, NEGATION_PREFIX if self.negation else ""):
            warn_user(
                "Upper case characters found in vocabulary while 'lowercase' is True. "
                "These entries will not be matched with any documents"
            )
        return FittedVocabulary.of(self._new_terms(), given)
