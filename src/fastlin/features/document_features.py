"""Features of a document's looks, whatever it says: its length, capitals, punctuation, cries."""

import functools
import unicodedata
from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fastlin import validation
from fastlin.core.estimator import learns, reads
from fastlin.core.sparse_output import FRAMES, frame_of
from fastlin.core.transformer import Transformer, container, output_of
from fastlin.engine.text import document_stats as kernel
from fastlin.validation import one_of
from fastlin.validation.choices import DecodeErrors
from fastlin.validation.parameter_kinds import ABSENT, DECODE_ERRORS, DTYPE, STRINGS, TRUTH, WORD, ParameterTable

BATCH = 1 << 20  # characters
# the last code points of ASCII, of the basic plane, of Unicode: a table for each, made when it is needed
PLANES = (0x7F, 0xFFFF, 0x10FFFF)
CATEGORIES = {
    **dict.fromkeys(("Lu", "Lt"), kernel.UPPER),
    "Ll": kernel.LOWER,
    **dict.fromkeys(("Lo", "Lm"), kernel.LETTER),
    **dict.fromkeys(("Nd", "Nl", "No"), kernel.DIGIT),
    **dict.fromkeys(("Mn", "Mc", "Me", "Cf"), kernel.MARK),  # Cf: what joins, parts and hyphenates softly
    **dict.fromkeys(("Pi", "Pf"), kernel.QUOTE),
    **dict.fromkeys(("Ps", "Pe"), kernel.BRACKET),
    "Pd": kernel.DASH,
    **dict.fromkeys(("Po", "Pc"), kernel.PUNCTUATION),
    **dict.fromkeys(("Sm", "Sc", "Sk", "So"), kernel.SYMBOL),
}
CHARACTERS = {
    kernel.APOSTROPHE: "'’＇",
    kernel.EXCLAMATION: "!¡！",
    kernel.QUESTION: "?¿？؟",
    kernel.STOP: ".。．｡।",
    kernel.ELLIPSIS: "…",
    kernel.COMMA: ",，、､،",
    kernel.COLON: ":;：；؛",
    kernel.QUOTE: '"＂„‚「」『』｢｣〝〞〟',
}
# features that are counts, and their columns among the kernel's counts
COUNTED = {
    "characters": kernel.CHARACTERS,
    "words": kernel.WORDS,
    "all_caps": kernel.ALL_CAPS,
    "capitalised": kernel.CAPITALISED,
    "elongated": kernel.ELONGATED,
    "digits": kernel.DIGIT,
    "exclamations": kernel.EXCLAMATION,
    "questions": kernel.QUESTION,
    "repeated": kernel.REPEATED,
    "ellipses": kernel.ELLIPSIS,
    "stops": kernel.STOP,
    "commas": kernel.COMMA,
    "colons": kernel.COLON,
    "quotes": kernel.QUOTE,
    "brackets": kernel.BRACKET,
    "dashes": kernel.DASH,
    "symbols": kernel.SYMBOL,
    "other_punctuation": kernel.PUNCTUATION,
}
# features that are quotients, of sums of such columns
QUOTIENTS = {
    "capitals": ((kernel.UPPER,), (kernel.UPPER, kernel.LOWER, kernel.LETTER)),
    "word_length": ((kernel.IN_WORDS,), (kernel.WORDS,)),
}
FEATURES = (*COUNTED, *QUOTIENTS)


class DocumentFeatures(Transformer):
    """Describe the looks of raw documents in a few columns: to stand beside the words in a FeatureUnion.

    A word is a run of letters, digits and marks (Unicode's categories L, N, M), apostrophes inside included. Capitals
    are the letters of the categories Lu and Lt.

    ===================  =============================================================================
    characters, words    how long the document is
    all_caps             words of two letters or more, all of them capitals
    capitalised          other words that begin with a capital
    elongated            words with a letter three times in a row, or more: “soooo”
    digits               characters of the category N
    exclamations         !, and its kin in other scripts; so with the marks below
    questions            ?
    repeated             two or more of ! and ? in a row
    ellipses             …, or two or more full stops in a row
    stops                a full stop by itself
    commas, colons       a comma; a colon or a semicolon
    quotes               quotation marks, apostrophes outside of words among them
    brackets, dashes     brackets of all kinds; hyphens and dashes
    symbols              what else is no letter and no punctuation: $ + © and emoji
    other_punctuation    / % & * # @ and the rest
    capitals             the share of capitals among the letters
    word_length          the mean length of the words, in characters
    ===================  =============================================================================

    The columns are of the size of counts, or of their logarithms. Beside tf-idf, whose values are far smaller, a batch
    solver takes 20 to 30 times as many iterations, and the penalty all but spares them: scale them there, by
    `make_pipeline(DocumentFeatures(), MaxAbsScaler())` in the union.

    Parameters
    ----------
    features : sequence of str, optional
        The columns, in order; all of the above when not given.
    log : bool
        log(1 + n) in the place of each count n; not of the two quotients.
    dtype : {"float64", "float32"}
        Of what comes out.
    encoding, decode_error : str
        How documents are decoded that are bytes.
    sparse_output : bool
        False makes a dense array.

    Examples
    --------
    >>> from fastlin import DocumentFeatures
    >>> looks = DocumentFeatures(["words", "all_caps", "elongated", "repeated"], log=False, sparse_output=False)
    >>> looks.fit_transform(["It was okay.", "SOOOO good!!! Don't MISS it"]).tolist()
    [[3.0, 0.0, 0.0, 0.0], [5.0, 2.0, 1.0, 1.0]]
    >>> looks.get_feature_names_out().tolist()
    ['words', 'all_caps', 'elongated', 'repeated']
    """

    _parameters: ClassVar[ParameterTable] = {
        "features": STRINGS | ABSENT, "log": TRUTH, "dtype": DTYPE, "encoding": WORD, "decode_error": DECODE_ERRORS,
        "sparse_output": TRUTH,
    }  # fmt: skip

    def __init__(
        self,
        features: Any = None,
        *,
        log: bool = True,
        dtype: Any = "float64",
        encoding: str = "utf-8",
        decode_error: DecodeErrors = "strict",
        sparse_output: bool = True,
    ) -> None:
        self.features = features
        self.log = log
        self.dtype = dtype
        self.encoding = encoding
        self.decode_error = decode_error
        self.sparse_output = sparse_output

    @learns
    def fit(self, raw_documents: Any = None, y: Any = None) -> Self:  # noqa: ARG002 - there is nothing to learn
        """Check the parameters; there is nothing to learn.

        Parameters
        ----------
        raw_documents : iterable of str, optional
            Ignored.
        y : None
            Ignored.

        Returns
        -------
        self
            The transformer.
        """
        self._names()
        validation.as_dtype(self.dtype)
        return self

    def transform(self, raw_documents: Any) -> Any:
        """The features of each document.

        Parameters
        ----------
        raw_documents : iterable of str or bytes

        Returns
        -------
        csr_matrix of shape (n_documents, number of features)
        """
        names, dtype = self._names(), validation.as_dtype(self.dtype)
        texts = validation.as_texts(raw_documents, self.encoding, self.decode_error)
        counts = np.vstack([np.empty((0, kernel.COUNTS), np.int64), *_counts(texts)])
        columns = np.empty((len(counts), len(names)), dtype)
        for place, name in enumerate(names):
            if name in COUNTED:
                column = counts[:, COUNTED[name]]
                columns[:, place] = np.log1p(column) if self.log else column
            else:
                above, below = (counts[:, part].sum(axis=1) for part in QUOTIENTS[name])
                columns[:, place] = above / np.maximum(below, 1)
        if not self.sparse_output:
            return columns
        matrix = sp.csr_array(columns)
        if (kind := output_of(self)) in FRAMES:
            return frame_of(matrix, raw_documents, np.array(names, dtype=object), kind)
        return container(matrix, sparse_output=True)

    @reads
    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:  # noqa: ARG002 - there are none
        """The names of the columns.

        Parameters
        ----------
        input_features : None
            Ignored: the names do not depend on those of the documents.

        Returns
        -------
        array of str of shape (n_features_out,)
            In the order of the columns that `transform` returns.
        """
        return np.array(self._names(), dtype=object)

    def _names(self) -> list[str]:
        if self.features is None:
            return list(FEATURES)
        if isinstance(self.features, str) or not isinstance(self.features, list | tuple | np.ndarray):
            raise ValueError(
                f"features must be a sequence of names such as ('words', 'capitals'), got {self.features!r}"
            )
        names = [one_of("features", name, FEATURES) for name in self.features]
        if not names or len(set(names)) < len(names):
            raise ValueError(f"features must name at least one feature, and none twice, got {self.features!r}")
        return names

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.requires_fit = False
        return tags


def _counts(texts: Iterator[str]) -> Iterator[NDArray[np.int64]]:
    """The kernel's counts of documents, some after the other."""
    batch: list[str] = []
    size = 0
    for text in texts:
        batch.append(text)
        size += len(text) + 1
        if size >= BATCH:
            yield _count(batch)
            batch, size = [], 0
    yield _count(batch)


def _count(texts: list[str]) -> NDArray[np.int64]:
    codes = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), np.dtype("<u4")).astype("u4", copy=False)
    bounds = np.zeros(len(texts) + 1, np.int64)
    np.cumsum([len(text) for text in texts], out=bounds[1:])
    counts = np.zeros((len(texts), kernel.COUNTS), np.int64)
    largest = int(codes.max(initial=0))
    kernel.describe_documents(codes, bounds, _kinds(next(last for last in PLANES if largest <= last)), counts)
    return counts


@functools.lru_cache(maxsize=len(PLANES))
def _kinds(last: int) -> NDArray[np.uint8]:
    """The kind of every code point up to the last."""
    categories = map(unicodedata.category, map(chr, range(last + 1)))
    kinds = np.fromiter((CATEGORIES.get(category, kernel.OTHER) for category in categories), np.uint8, last + 1)
    for kind, characters in CHARACTERS.items():
        for character in characters:
            if ord(character) <= last:
                kinds[ord(character)] = kind
    kinds.setflags(write=False)
    return kinds
