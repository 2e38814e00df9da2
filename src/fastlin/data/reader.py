"""`read`: any file, block by block."""

import codecs
from collections.abc import Iterator
from typing import Any, Generic, Literal, TypedDict, TypeVar, Unpack, overload

import numpy as np

from fastlin.data.blocks import Block, Documents
from fastlin.data.errors import MalformedLines
from fastlin.data.readers import sources
from fastlin.data.readers.line_formats import ReadRequest
from fastlin.data.readers.sources import InputFile
from fastlin.registry import FILE_FORMATS
from fastlin.validation import MAX_COLUMNS, one_of, whole_number
from fastlin.validation.choices import FileFormatName, TextFormatName

ASCII = bytes(set(range(128)) - {ord("\\")}) + rb"\n\u000a"  # these escapes stand for themselves, not for line ends
FORMATS = {name: FILE_FORMATS[name].suffixes for name in sorted(FILE_FORMATS)}
BY_SUFFIX: dict[str, Any] = {suffix: form for form, suffixes in FORMATS.items() for suffix in suffixes}
USUAL_COLUMNS: dict[str, tuple[Any, ...]] = {"label": (None, ...), "text": (...,), "weight": (None,), "keep": (None,)}


Content = TypeVar("Content", Block, Documents)  # what a reader yields


class ReadOptions(TypedDict, total=False):
    """The arguments of `read` that say nothing of what is read: blocks of rows, or of documents."""

    label: Any
    numeric: bool
    text: Any
    weight: Any
    keep: Any
    delimiter: str | None
    header: bool | None
    encoding: str
    errors: str
    n_features: int | None
    zero_based: bool
    dtype: Any
    on_error: Literal["raise", "skip"]
    block: int


@overload
def read(source: Any, format: Literal["svmlight"], **options: Unpack[ReadOptions]) -> "Reader[Block]": ...
@overload
def read(
    source: Any, format: TextFormatName, *, vectorizer: None = None, **options: Unpack[ReadOptions]
) -> "Reader[Documents]": ...
@overload
def read(
    source: Any, format: FileFormatName | None = None, *, vectorizer: Any = None, **options: Unpack[ReadOptions]
) -> "Reader[Any]": ...
def read(
    source: Any,
    format: FileFormatName | None = None,  # noqa: A002 - the word for it
    *,
    label: Any = ...,
    numeric: bool = False,
    text: Any = ...,
    weight: Any = None,
    keep: Any = None,
    delimiter: str | None = None,
    header: bool | None = None,
    encoding: str = "utf-8",
    errors: str = "strict",
    n_features: int | None = None,
    zero_based: bool = True,
    dtype: Any = np.float64,
    vectorizer: Any = None,
    on_error: Literal["raise", "skip"] = "raise",
    block: int = sources.BLOCK_BYTES,
) -> "Reader[Any]":
    """Read files block by block, in memory for a block and the longest line.

    Parameters
    ----------
    source : path, list of paths, folder, glob, "-" or open binary file
        What to read, in this order; of folders and globs sorted by name. "-" is standard input. Compressed with gzip,
        bzip2, xz or zstd, or plain.
    format : {"arrow", "csv", "fasttext", "jsonl", "lines", "parquet", "svmlight", "tsv", "vw"} or None
        None: what the suffix of the name says, as in "train.tsv.gz".
    label, text : int, str, list of these, or None
        The columns (from 0 on) or fields that hold the label and the text. `...`: those named "label" and "text"; of
        two columns of which one was given, the other. In TSV without a header, the label is before the first tab, and
        the text is all behind it; of other files whose header has other names (or that have none, which
        `header=False` says) it must be said which is which. `label=None`: there are no labels, and in TSV the whole
        line is the text. Several columns of text become one, with line ends between.
    numeric : bool
        Whether labels are numbers, the targets of a regression: a line whose label is none is malformed. In svmlight
        they always are.
    weight : int, str, bool or None
        The column or field that holds the weight of a row; in svmlight, True says that a label may be "label:weight".
    keep : int, str, list of these, or None
        Columns or fields to hand on as they are, as `columns` of `Documents`.
    delimiter : str or None
        What stands between columns; None: a comma in CSV, a tab in TSV.
    header : bool or None
        Whether the first line holds the names of the columns; None: if a column is named here, or the line names both
        "label" and "text" (with `label=None`, the latter).
    encoding, errors : str
        How text is decoded, as in `bytes.decode`.
    n_features : int or None
        Of sparse rows: how many columns there are; None: as many as the largest index so far asks for.
    zero_based : bool
        Of svmlight: whether the first column has index 0; else it has 1.
    dtype : type
        Of sparse rows' values.
    vectorizer : object with `transform`, or None
        Makes rows of documents: a fitted or hashing vectoriser; for features by name `FeatureHasher` or
        `DictVectorizer`.
    on_error : {"raise", "skip"}
        What happens at a malformed line.
    block : int
        Bytes of text to a block; more where a line is longer.

    Returns
    -------
    Reader
        To iterate over: `Block` of sparse rows, or without a vectoriser `Documents` of texts.

    Examples
    --------
    >>> import io
    >>> from fastlin.data import read
    >>> file = io.BytesIO(b"spam\\tbuy now\\nham\\tsee you at noon\\n")
    >>> for documents in read(file, "tsv"):
    ...     print(documents.labels, documents.texts)
    ['spam', 'ham'] ['buy now', 'see you at noon']
    """
    given = dict(locals())
    for name in ("source", "format", "dtype", "on_error", "block"):
        del given[name]
    return Reader(source, format, given, dtype, on_error, whole_number("block", block, 1))


class Reader(Generic[Content]):
    """What `read` returns: an iterable of blocks, and `skipped`, the malformed lines that the last time left out.

    Parameters
    ----------
    source : path, open file, or list of these
        As for `read`.
    form : str or None
        The format; None: by the file's suffix.
    options : dict
        The other arguments of `read`.
    dtype : dtype
        Of the values.
    on_error : {"raise", "skip"}
        What a malformed line does.
    size : int
        Bytes of text to a block.
    """

    def __init__(
        self, source: Any, form: str | None, options: dict[str, Any], dtype: Any, on_error: str, size: int
    ) -> None:
        self._files = sources.files(source)
        self._format = format_of(self._files, form)
        _check(self._format, options)
        self._options, self._size = options, size
        self._dtype = np.dtype(dtype)
        self._strict = one_of("on_error", on_error, ["raise", "skip"]) == "raise"
        self.in_place = False  # whether texts may be `StringSlices` of the engine, which it reads where they lie
        self.skipped = MalformedLines(self._strict)

    def __iter__(self) -> Iterator[Content]:
        self.skipped = MalformedLines(self._strict)
        request = ReadRequest(self._options, self._dtype, self._size, self.skipped, self.in_place)
        blocks: Iterator[Content] = FILE_FORMATS[self._format].open(self._files, request)
        vectorizer = self._options["vectorizer"]
        return blocks if vectorizer is None else (_vectorized(found, vectorizer) for found in blocks)


def format_of(files: list[InputFile], form: str | None) -> str:
    """How files are read: in the format that is named, or the one that their suffixes say."""
    return one_of("format", form, FORMATS) if form is not None else _guess(files)


def _guess(files: list[InputFile]) -> str:
    """The format that the suffixes say, one for all."""
    found = {}
    for file in files:
        form = BY_SUFFIX.get(file.suffix)
        if form is None:
            one_of(f"format of {file.name!r} is not known by its suffix; format", file.suffix.lstrip("."), FORMATS)
        found[form] = file.name
    if len(found) > 1:
        each = ", ".join(f"{name!r} is {form}" for form, name in found.items())
        raise ValueError(f"the files are of several formats: {each}; read them one after the other, or say the format")
    return next(iter(found))


def _check(form: str, options: dict[str, Any]) -> None:
    """Options that the format does not have, and values that no format has."""
    defaults: dict[str, Any] = read.__kwdefaults__ or {}
    for name, value in options.items():
        if value is not defaults[name] and value != defaults[name] and name not in FILE_FORMATS[form].options:
            formats = ", ".join(other for other in FORMATS if name in FILE_FORMATS[other].options)
            raise ValueError(f"{name}={value!r} means nothing for {form}; {formats} have it")
    _check_columns(form, options)
    if not isinstance(options["numeric"], bool | np.bool_):
        raise TypeError(f"numeric must be True or False, got {options['numeric']!r:.100}")
    if options["n_features"] is not None and whole_number("n_features", options["n_features"], 1) > MAX_COLUMNS:
        raise ValueError(f"n_features must be at most {MAX_COLUMNS}, got {options['n_features']}")
    if not isinstance(options["zero_based"], bool | np.bool_):
        what = "load_svmlight and Corpus, which see the whole file, take 'auto'"
        raise ValueError(f"zero_based must be True or False, got {options['zero_based']!r}; {what}")
    delimiter = options["delimiter"]
    if delimiter is not None and (not isinstance(delimiter, str) or len(delimiter) != 1 or delimiter in '"\r\n'):
        raise ValueError(f"delimiter must be one character, neither a quote nor a line end, got {delimiter!r}")
    codecs.lookup_error(options["errors"])
    try:
        same = ASCII.decode(options["encoding"]) == ASCII.decode("ascii")
    except UnicodeDecodeError:
        same = False
    if not same:
        raise ValueError(f"encoding {options['encoding']!r} is not read: ASCII must be a part of it; convert to UTF-8")


def _check_columns(form: str, options: dict[str, Any]) -> None:
    """Whether columns are numbers or names, and distinct."""
    for name, in_place in USUAL_COLUMNS.items():
        several = isinstance(options[name], list | tuple) and name in ("text", "keep")
        values = list(options[name]) if several else [options[name]]
        if several and len(set(map(str, values))) < len(values):
            raise ValueError(f"{name} names a column twice: {options[name]!r:.100}")
        usual = () if several else in_place
        if not values or not all(value in usual or isinstance(value, int | str) for value in values):
            raise TypeError(f"{name} must be the number or the name of a column, got {options[name]!r:.100}")
    if form in ("fasttext", "vw") and options["label"] not in (None, ...):
        raise ValueError(
            f"label={options['label']!r} means nothing for {form}, which has no columns; None leaves it out"
        )


def _vectorized(found: Any, vectorizer: Any) -> Any:
    """Documents as rows."""
    if isinstance(found, Block):
        return found
    y = None if found.labels is None else np.array(found.labels)
    return Block(vectorizer.transform(found.texts), y, found.weights, None, found.path, found.line)
