"""Words and n-grams hashed into a fixed number of columns: no vocabulary, no state."""

import functools
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import TransformerMixin

from fastlin.core.containers import csr
from fastlin.core.estimator import Estimator, learns, reads
from fastlin.core.sparse_output import SparseOutput
from fastlin.engine.text import vectorizer
from fastlin.features.dict_vectorizer import FeatureHasher
from fastlin.text.analyzer import WORDS, TokenizerSpec
from fastlin.text.count_rows import assemble
from fastlin.text.document_blocks import reject_string
from fastlin.text.negation import TOKEN_PATTERN
from fastlin.text.tfidf_transformer import weigh
from fastlin.text.token_strings import encoded
from fastlin.text.vectorizer_base import VectorizerBase
from fastlin.text.vocabulary import DictVocabulary, NativeVocabulary, new_seed, read_rows
from fastlin.validation.choices import Analyzer, DecodeErrors, RowNorm
from fastlin.validation.parameter_kinds import HASHED_TEXTS, Integer, ParameterTable

MAX_COUNTED_BUCKETS = 1 << 22  # buckets that every thread has a cell for; more are sorted row by row


class KeptNames(NamedTuple):
    """The names of features, and how many documents had each."""

    terms: NativeVocabulary | DictVocabulary
    rows: NDArray[np.int64] = np.empty(0, np.int64)


class HashingVectorizer(VectorizerBase, SparseOutput, TransformerMixin, Estimator, auto_wrap_output_keys=None):  # type: ignore[call-arg]
    """Counts hashed words or n-grams: a feature's column is its hash, so nothing is learnt and nothing kept.

    x_ij = Σ ± 1 over the features of document i whose MurmurHash3 of 32 bits, h, has |h| mod n_features = j, with the
    sign of h; then each row is divided by its norm. Buckets and signs are scikit-learn's. On request the names of the
    first features are kept, to explain weights and to count collisions.

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
    n_features : int
        The number of columns.
    binary : bool
        1 in every bucket that some feature of the document came into.
    norm : {"l2", "l1"} or None
        Every row is divided by its Euclidean length, by its sum of |x|, or left as it is.
    alternate_sign : bool
        False: no signs, what collides adds up.
    dtype : type
        Of the values.
    negation : bool
        Words after a negator become NOT_word until the clause ends; the rule is that of `mark_negation`.
    prefixes, suffixes : int, sequence of int or None
        A word that is longer than n characters gives its first n, too, as "un-", or its last n, as "-ing", for each n
        named here; they are no part of n-grams.
    keep_names : int
        How many names of features `fit` and `partial_fit` keep, at most and in all: the first that they meet.
    n_jobs : int or None
        Threads that read; they never change a bit.

    Attributes
    ----------
    names_ : dict
        {column: names} of the features that were kept; where `keep_names` is not 0.
    collisions_ : int
        How many of these came into a column that another had already.

    Examples
    --------
    >>> from fastlin import HashingVectorizer
    >>> vectorizer = HashingVectorizer(n_features=16, norm=None, keep_names=100)
    >>> X = vectorizer.fit_transform(["a good dog", "not a good cat", "Good dog!"])
    >>> X.nnz, vectorizer.names_, vectorizer.collisions_
    (7, {1: ('good',), 5: ('dog',), 4: ('not',), 7: ('cat',)}, 0)
    """

    _parameters: ClassVar[ParameterTable] = HASHED_TEXTS | WORDS | {"keep_names": Integer(at_least=0)}

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
        n_features: int = 2**20,
        binary: bool = False,
        norm: RowNorm | None = "l2",
        alternate_sign: bool = True,
        dtype: Any = np.float64,
        negation: bool = False,
        prefixes: Any = None,
        suffixes: Any = None,
        keep_names: int = 0,
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
        self.n_features = n_features
        self.binary = binary
        self.norm = norm
        self.alternate_sign = alternate_sign
        self.dtype = dtype
        self.negation = negation
        self.prefixes = prefixes
        self.suffixes = suffixes
        self.keep_names = keep_names
        self.n_jobs = n_jobs

    @learns
    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002 - scikit-learn passes labels to every step
        """Check the parameters; with `names`, forget the names that were kept and keep those of these documents.

        Parameters
        ----------
        X : iterable of str, bytes, files or file names
            Read only if there are names to keep.
        y : ignored

        Returns
        -------
        self
            The vectoriser.
        """
        model = self._working_copy()
        model._keep(X, None)
        return self._take_fitted(model)

    @learns
    def partial_fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Check the parameters; with `names`, keep those of these documents, too, while there is room.

        Parameters
        ----------
        X : iterable of str, bytes, files or file names
            Read only if there are names to keep.
        y : ignored

        Returns
        -------
        self
            The vectoriser.
        """
        model = self._working_copy()
        model._keep(X, getattr(model, "_kept", None))
        return self._take_fitted(model)

    def transform(self, X: Any) -> Any:
        """Count the documents' hashed features.

        Parameters
        ----------
        X : iterable of str, bytes, files or file names

        Returns
        -------
        CSR of shape (n_documents, n_features)
            Rows are sorted. Features that meet in a bucket with different signs may leave an explicit zero.
        """
        self._note_stop_words()
        return self._transform(X)

    @reads
    def _transform(self, X: Any) -> Any:
        self._check_parameters(X)
        spec = self._tokenizer_spec()
        if spec is None:
            hasher = FeatureHasher(
                self.n_features, input_type="string", dtype=self.dtype, alternate_sign=self.alternate_sign
            )
            matrix = hasher.transform(chain.from_iterable(self._blocks(X, "X")))
        else:
            matrix = self._hashed(spec, X)
        if self.binary:
            matrix.data.fill(1)
        if self.norm is not None:
            matrix.data = self._normalised(matrix)
        return self._output(matrix, X)

    @learns
    def fit_transform(self, X: Any, y: Any = None) -> Any:  # noqa: ARG002
        """`fit`, which reads the documents only if there are names to keep, and `transform`.

        Parameters
        ----------
        X : iterable of str, bytes, files or file names
        y : ignored

        Returns
        -------
        CSR of shape (n_documents, n_features)
        """
        if self.keep_names and isinstance(X, Iterator):
            X = list(X)
        return self.fit(X).transform(X)

    @property
    @reads
    def names_(self) -> dict[int, tuple[str, ...]]:
        """{bucket: names}, of the first `keep_names` features of the documents that were fitted."""
        if getattr(self, "_kept", None) is None:
            raise AttributeError(
                f"this {type(self).__name__} keeps no names: fit it with keep_names=, how many at most"
            )
        numbers = np.flatnonzero(self._kept.rows)[: self.keep_names].astype(np.int32)
        names = self._kept.terms.names(numbers).tolist()
        if not names:
            return {}
        hasher = FeatureHasher(self.n_features, input_type="string", alternate_sign=False)
        found: dict[int, tuple[str, ...]] = {}
        for name, bucket in zip(names, hasher.transform([name] for name in names).indices.tolist(), strict=True):
            found[bucket] = (*found.get(bucket, ()), name)
        return found

    @property
    @reads
    def collisions_(self) -> int:
        """How many of the names came into a bucket that another had already."""
        return sum(len(names) - 1 for names in self.names_.values())

    # Parts

    _kept: KeptNames

    def _check_parameters(self, X: Any) -> None:
        reject_string(X, "X")
        self._check_analysis()

    def _keep(self, X: Any, kept: KeptNames | None) -> None:
        """Add names to those that are kept, while there is room."""
        self._check_parameters(X)
        self._warn_of_unused()
        if not self.keep_names:
            return
        kept = KeptNames(kept.terms.copy(), kept.rows) if kept else KeptNames(self._new_terms())
        for block in self._blocks(X, "X"):
            if np.count_nonzero(kept.rows) >= self.keep_names:
                break
            _, rows = kept.terms.learn([block], None, None)
            rows[: len(kept.rows)] += kept.rows
            kept = KeptNames(kept.terms, rows)
        self._kept = kept

    def _hashed(self, spec: TokenizerSpec, X: Any) -> Any:
        stop_words = vocabulary_of(self._stop_list())
        in_order = self.n_features > MAX_COUNTED_BUCKETS

        def read(mine: Any, block: list[str]) -> None:
            mine.hash(block, self.n_features, bool(self.alternate_sign), in_order, stop_words)

        blocks = self._blocks(X, "X")
        if spec.token.member != vectorizer.WORD:
            blocks = map(without_surrogates, blocks)
        chunks = read_rows([], spec, read, blocks, self.n_jobs)
        data, indices, indptr = assemble(chunks, None, self.dtype)
        matrix = csr(data, indices, indptr, (len(indptr) - 1, self.n_features))
        if in_order:
            matrix.sum_duplicates()
        return matrix

    def _normalised(self, matrix: Any) -> NDArray[Any]:
        data = matrix.data if matrix.dtype in (np.float32, np.float64) else matrix.data.astype(np.float64)
        indptr, indices = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32, copy=False)
        weigh(indptr, indices, data, data, self.norm, n_jobs=self.n_jobs)
        return data

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags


def without_surrogates(texts: Any) -> Any:
    """Return texts without lone surrogates, or raise: these have no UTF-8 to be hashed, and words do not hold them."""
    for text in [] if isinstance(texts, vectorizer.StringSlices) else texts:  # slices are of UTF-8
        if not text.isascii():
            text.encode("utf-8")
    return texts


@functools.lru_cache(8)
def vocabulary_of(words: frozenset[str]) -> Any:
    """A vocabulary of the engine that only reads."""
    vocabulary = vectorizer.NgramVocabulary(new_seed())
    vocabulary.add_strings(*encoded(sorted(words)))
    return vocabulary
