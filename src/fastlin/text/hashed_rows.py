"""Documents as rows of hashed words and n-grams: the parameters of `HashingVectorizer`, without scikit-learn."""

import functools
from collections.abc import Callable, Iterable
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fastlin.engine.text import vectorizer
from fastlin.text.analyzer import WORDS, TokenizerSpec
from fastlin.text.count_rows import assemble
from fastlin.text.document_blocks import reject_string
from fastlin.text.negation import TOKEN_PATTERN
from fastlin.text.token_strings import encoded
from fastlin.text.vectorizer_base import VectorizerBase
from fastlin.text.vocabulary import CountChunk, new_seed, read_rows
from fastlin.text.weighting import weigh
from fastlin.validation import CSRRows
from fastlin.validation.choices import Analyzer, DecodeErrors, RowNorm
from fastlin.validation.parameter_kinds import HASHED_TEXTS, Integer, ParameterTable

MAX_COUNTED_BUCKETS = 1 << 22  # buckets that every thread has a cell for; more are sorted row by row


class HashingParameters(VectorizerBase):
    """The parameters of `HashingVectorizer`, which says what they are, and the rows that they make of documents."""

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

    def _check_parameters(self, X: Any) -> None:
        reject_string(X, "X")
        self._check_analysis()

    @property
    def _in_order(self) -> bool:
        """Whether buckets are noted as they come, and added up later."""
        return self.n_features > MAX_COUNTED_BUCKETS

    def _hash_reader(self) -> Callable[[Any, Any], None]:
        """What a `DocumentReader` does with a block of documents."""
        stop_words, in_order = vocabulary_of(self._stop_list()), self._in_order

        def read(mine: Any, block: Any) -> None:
            mine.hash(block, self.n_features, bool(self.alternate_sign), in_order, stop_words)

        return read

    def _hashed(self, spec: TokenizerSpec, blocks: Iterable[Any]) -> tuple[Any, Any, Any]:
        """data, indices and indptr of blocks of documents; buckets of a row are not added up if they are in order."""
        if spec.token.member != vectorizer.WORD:
            blocks = map(without_surrogates, blocks)
        return assemble(read_rows([], spec, self._hash_reader(), blocks, self.n_jobs), None, self.dtype)

    def _finish(self, data: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any]) -> NDArray[Any]:
        """The values of rows, of which `data` are the counts: 1 if they are binary, then divided by the norm."""
        if self.binary:
            data.fill(1)
        if self.norm is None:
            return data
        data = data if data.dtype in (np.float32, np.float64) else data.astype(np.float64)
        indptr, indices = indptr.astype(np.int64, copy=False), indices.astype(np.int32, copy=False)
        weigh(indptr, indices, data, data, self.norm, n_jobs=self.n_jobs)
        return data


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


class TextHasher:
    """Rows of texts, block by block, with the memory of one thread: those of `HashingVectorizer.transform`.

    Parameters
    ----------
    parameters : HashingParameters
        Of an analysis that the engine does by itself, and without names that are kept.
    """

    def __init__(self, parameters: HashingParameters) -> None:
        parameters._check_parameters([])
        spec = parameters._tokenizer_spec()
        if spec is None:
            raise ValueError(f"token_pattern={parameters.token_pattern!r:.60} takes Python's re: not in a stream")
        self._parameters, self._spec, self._reader = parameters, spec, spec.reader()
        self._text_of, self._hash = parameters._text_of(spec), parameters._hash_reader()
        self._ascii = parameters._reads_ascii_as_it_is(spec)

    def rows(self, texts: list[str] | vectorizer.StringSlices) -> CSRRows:
        """The rows of some texts.

        Parameters
        ----------
        texts : list of str, or StringSlices

        Returns
        -------
        CSRRows
        """
        parameters, text_of = self._parameters, self._text_of
        if isinstance(texts, vectorizer.StringSlices):
            texts = texts.mapped(text_of) if self._ascii else [text_of(text) for text in texts]
        elif self._ascii:
            try:
                texts = [text if text.isascii() else text_of(text) for text in texts]
            except AttributeError:
                raise TypeError("a document holds features by name, where a text is wanted") from None
        else:
            texts = [text_of(text) for text in texts]
        if self._spec.token.member != vectorizer.WORD:
            without_surrogates(texts)
        self._hash(self._reader, texts)
        data, indices, indptr = assemble([CountChunk(*self._reader.take())], None, parameters.dtype)
        if parameters._in_order:
            matrix = sp.csr_array((data, indices, indptr), shape=(len(texts), parameters.n_features))
            matrix.sum_duplicates()
            data, indices, indptr = matrix.data, matrix.indices, matrix.indptr
        values = parameters._finish(data, indices, indptr)
        largest = float(max(values.max(initial=0), -values.min(initial=0)))
        # proved as they were made
        return CSRRows(indptr, indices, values, parameters.n_features, negative=True, zeros=True, largest=largest)
