"""Words and n-grams hashed into a fixed number of columns: no vocabulary, no state."""

from collections.abc import Iterator
from itertools import chain
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import TransformerMixin

from fastlin.core.containers import csr
from fastlin.core.estimator import Estimator, learns, reads
from fastlin.core.sparse_output import SparseOutput
from fastlin.features.dict_vectorizer import FeatureHasher
from fastlin.text.hashed_rows import HashingParameters
from fastlin.text.vocabulary import DictVocabulary, NativeVocabulary


class KeptNames(NamedTuple):
    """The names of features, and how many documents had each."""

    terms: NativeVocabulary | DictVocabulary
    rows: NDArray[np.int64] = np.empty(0, np.int64)


class HashingVectorizer(HashingParameters, SparseOutput, TransformerMixin, Estimator, auto_wrap_output_keys=None):  # type: ignore[call-arg]
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
            data, indices, indptr = self._hashed(spec, self._blocks(X, "X"))
            matrix = csr(data, indices, indptr, (len(indptr) - 1, self.n_features))
            if self._in_order:
                matrix.sum_duplicates()
        matrix.data = self._finish(matrix.data, matrix.indices, matrix.indptr)
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

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags
