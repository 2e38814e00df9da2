"""Files of fastText's supervised format whose documents may have several labels, as texts and an indicator."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fastlin.data import read
from fastlin.data.errors import ReadError
from fastlin.data.readers.fasttext import BLANKS, LABEL, PREFIX


class LabelledTexts(NamedTuple):
    """Texts, which labels each has, and what these are called.

    Parameters
    ----------
    texts : list of str
        The documents without their labels.
    indicator : csr_array of shape (n_texts, n_labels)
        1 where a document has a label: what learners take as target.
    labels : array of shape (n_labels,)
        The names of its columns, sorted.
    """

    texts: list[str]
    indicator: sp.csr_array
    labels: NDArray[Any]


def read_fasttext(source: Any, **options: Any) -> LabelledTexts:
    """Read documents of fastText's supervised format, each with any number of labels.

    `fastlin.data.read` reads files of one label a document, block by block; this reads all of a file at once. Words
    that begin with "__label__" are labels, wherever they stand; lines that are empty or blank are left out.

    Parameters
    ----------
    source : str, path, file or list of these
        As of `fastlin.data.read`; compressed files are read as they are.
    **options
        `encoding` and `errors`, as of `fastlin.data.read`.

    Returns
    -------
    LabelledTexts
        (texts, indicator, labels).

    Raises
    ------
    ReadError
        A label has no name, or bytes are no text.

    Examples
    --------
    >>> import io
    >>> from fastlin import LogisticRegression, TfidfVectorizer
    >>> from fastlin.interchange import read_fasttext
    >>> file = io.BytesIO(b"__label__a __label__b one two\\n__label__b two\\n__label__a one\\nthree\\n")
    >>> texts, indicator, labels = read_fasttext(file)
    >>> texts, indicator.toarray().tolist(), labels.tolist()
    (['one two', 'two', 'one', 'three'], [[1, 1], [0, 1], [1, 0], [0, 0]], ['a', 'b'])
    >>> model = LogisticRegression(C=100).fit(TfidfVectorizer().fit_transform(texts), indicator)
    """
    texts: list[str] = []
    columns: dict[str, int] = {}
    indices, indptr = [], [0]
    for block in read(source, "lines", **options):
        for line in block.texts:
            if not line.strip():
                continue
            found = sorted({*LABEL.findall(line)})
            if "" in found:
                what = f"there is no name behind {PREFIX} in {line!r:.60}"
                raise ReadError(str(source), len(texts) + 1, what, "document")
            indices += [columns.setdefault(name, len(columns)) for name in found]
            indptr.append(len(indices))
            texts.append(LABEL.sub("", line).rstrip(BLANKS))
    labels = np.array(sorted(columns)) if columns else np.empty(0, "<U1")
    place = np.empty(len(columns), np.int32)
    place[[columns[name] for name in labels.tolist()]] = np.arange(len(columns))
    arrays = np.ones(len(indices), np.int64), place[np.array(indices, np.intp)], np.array(indptr, np.int32)
    indicator = sp.csr_array(arrays, shape=(len(texts), len(labels)))
    indicator.sort_indices()
    return LabelledTexts(texts, indicator, labels)
