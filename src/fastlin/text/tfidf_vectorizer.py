"""Words and n-grams, counted and weighed by how rare they are."""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from fastlin.core.estimator import learns, reads
from fastlin.runtime.user_warnings import warn_user
from fastlin.text.count_rows import assemble
from fastlin.text.count_vectorizer import CountVectorizer
from fastlin.text.negation import TOKEN_PATTERN
from fastlin.text.tfidf_transformer import TfidfTransformer
from fastlin.text.vocabulary import CountChunk
from fastlin.validation.choices import Analyzer, DecodeErrors, RowNorm
from fastlin.validation.parameter_kinds import IDF, ParameterTable

FLOATS = (np.float64, np.float32, np.float16)


class TfidfVectorizer(CountVectorizer):
    """Counts words or n-grams and weighs them by how rare they are: `CountVectorizer`, then `TfidfTransformer`, in one.

    v_ij = tf(x_ij) · idf_j, divided by the norm of the row, where x_ij is how often term j is in document i and
    idf_j = 1 + log((n + s)/(df_j + s)): df_j of the n documents have the term; s = 1 if smoothed, else 0.

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
    analyzer : {"word", "char", "char_wb"} or callable
        Words; characters, white space included; characters of each word with a blank on either side; or a function from
        document to features.
    stop_words : "english", list or None
        Words that are not there: their neighbours stand side by side. "english" is scikit-learn's list.
    token_pattern : str or None
        The regular expression of a word; with a group in it, what the group holds. The engine knows patterns of sets of
        characters without the blank, alternatives, bounds and word boundaries (the default is two word characters and
        more); others, with groups or anchors, are matched by `re`, at its speed.
    ngram_range : (int, int)
        The fewest and the most words or characters of an n-gram.
    max_df, min_df : float or int
        Terms that more documents have, or fewer, get no column: a number of documents, or as a float a share of them.
    max_features : int, optional
        Of the terms that remain, keep those with the largest counts.
    vocabulary : mapping or iterable, optional
        The terms, with their columns or in the order of these: nothing is learnt then but document frequencies.
    binary : bool
        tf is 1 for every term that is there, however often.
    dtype : {float64, float32}
        Of the weights.
    norm : {"l2", "l1"} or None
        Every row is divided by its Euclidean length, by its sum of |v|, or left as it is.
    use_idf : bool
        False: idf = 1.
    smooth_idf : bool
        Count as if one more document had every term: no idf is infinite.
    sublinear_tf : bool
        tf(x) = 1 + log x, rather than x.
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
    idf_ : array of shape (n_columns,)
        Where `use_idf` is set; may be set, too.

    Examples
    --------
    >>> from fastlin import TfidfVectorizer
    >>> vectorizer = TfidfVectorizer()
    >>> X = vectorizer.fit_transform(["a good dog", "not a good cat", "Good dog!"])
    >>> dict(zip(vectorizer.get_feature_names_out().tolist(), vectorizer.idf_.round(2).tolist()))
    {'cat': 1.69, 'dog': 1.29, 'good': 1.0, 'not': 1.69}
    >>> X.toarray().round(2).tolist()
    [[0.0, 0.79, 0.61, 0.0], [0.65, 0.0, 0.39, 0.65], [0.0, 0.79, 0.61, 0.0]]
    >>> vectorizer.partial_fit(["bad cat"]).idf_.round(2).tolist()  # four documents, and a column for "bad"
    [1.51, 1.51, 1.22, 1.92, 1.92]
    """

    _parameters: ClassVar[ParameterTable] = CountVectorizer._parameters | IDF

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
        analyzer: Analyzer | Callable[..., Any] = "word",
        stop_words: Any = None,
        token_pattern: str | None = TOKEN_PATTERN,
        ngram_range: tuple[int, int] = (1, 1),
        max_df: float = 1.0,
        min_df: float = 1,
        max_features: int | None = None,
        vocabulary: Any = None,
        binary: bool = False,
        dtype: Any = np.float64,
        norm: RowNorm | None = "l2",
        use_idf: bool = True,
        smooth_idf: bool = True,
        sublinear_tf: bool = False,
        negation: bool = False,
        prefixes: Any = None,
        suffixes: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            input=input,
            encoding=encoding,
            decode_error=decode_error,
            strip_accents=strip_accents,
            lowercase=lowercase,
            preprocessor=preprocessor,
            tokenizer=tokenizer,
            analyzer=analyzer,
            stop_words=stop_words,
            token_pattern=token_pattern,
            ngram_range=ngram_range,
            max_df=max_df,
            min_df=min_df,
            max_features=max_features,
            vocabulary=vocabulary,
            binary=binary,
            dtype=dtype,
            negation=negation,
            prefixes=prefixes,
            suffixes=suffixes,
            n_jobs=n_jobs,
        )
        self.norm = norm
        self.use_idf = use_idf
        self.smooth_idf = smooth_idf
        self.sublinear_tf = sublinear_tf

    @property
    @reads
    def idf_(self) -> NDArray[Any]:
        """The inverse document frequencies, if `use_idf`; may be set, too."""
        if not hasattr(self, "_tfidf"):
            raise NotFittedError(f"{type(self).__name__} is not fitted: idf_ is there after fit")
        return self._tfidf.idf_

    @idf_.setter
    @learns
    def idf_(self, value: Any) -> None:
        if not self.use_idf:  # in scikit-learn's words
            raise ValueError("`idf_` cannot be set when `user_idf=False`.")
        if self.vocabulary is not None or hasattr(self, "_terms"):
            size = self._ready()._terms.n_columns
            if size != len(value):
                raise ValueError(f"idf length = {len(value)} must be equal to vocabulary size = {size}")
        tfidf = self._weighting()
        tfidf.idf_ = value
        self._tfidf = tfidf

    def transform(self, raw_documents: Any) -> Any:
        """Count the terms of the vocabulary, and weigh them.

        Parameters
        ----------
        raw_documents : iterable of str, bytes, files or file names

        Returns
        -------
        CSR of shape (n_documents, n_columns)
            Rows are sorted.
        """
        check_is_fitted(self, "_tfidf", msg="The TF-IDF vectorizer is not fitted")
        return super().transform(raw_documents)

    # Parts

    _tfidf: TfidfTransformer

    def _weighting(self) -> TfidfTransformer:
        """Transformer that weighs, for the parameters as they are now, with what it has learnt."""
        tfidf = self._tfidf._working_copy() if hasattr(self, "_tfidf") else TfidfTransformer()
        for name in ("norm", "use_idf", "smooth_idf", "sublinear_tf", "n_jobs"):
            setattr(tfidf, name, getattr(self, name))
        return tfidf

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.dtype not in FLOATS:
            warn_user(f"Only float 'dtype' should be used. {self.dtype} 'dtype' will be converted to np.float64.")

    def _learn(
        self, raw_documents: Any, grow: bool, keep: bool
    ) -> tuple[list[CountChunk], NDArray[np.int32] | None, int]:
        chunks, columns, n_columns = super()._learn(raw_documents, grow, keep)
        tfidf = self._weighting()
        tfidf._take_frequencies(self._terms.documents(), self._terms.n_documents, self._float())
        self._tfidf = tfidf
        return chunks, columns, n_columns

    def _float(self) -> np.dtype[Any]:
        return np.dtype(np.float32 if self.dtype == np.float32 else np.float64)

    def _row_arrays(
        self, chunks: list[CountChunk], columns: NDArray[np.int32] | None, n_columns: int
    ) -> tuple[NDArray[Any], NDArray[np.int32], NDArray[np.int64]]:
        data, indices, indptr = assemble(chunks, columns, self.dtype if self.dtype not in FLOATS else self._float())
        data = data.astype(self._float(), copy=False)
        tfidf = self._weighting()
        idf = tfidf._weights()
        if idf is not None and len(idf) != n_columns:
            raise ValueError(f"idf_ has {len(idf)} values and vocabulary_ {n_columns} terms: fit them together")
        tfidf._weigh(indptr, indices, data, data)
        return data, indices, indptr

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_tfidf")
