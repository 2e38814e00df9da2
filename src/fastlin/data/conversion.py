"""Files become shards: read once, or twice where a vectoriser has to learn from the documents first."""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fastlin import validation
from fastlin.data.errors import ReadError
from fastlin.data.manifest import MANIFEST_NAME
from fastlin.data.reader import format_of, read
from fastlin.data.readers import sources
from fastlin.data.readers.svmlight import first_index
from fastlin.data.shard_writer import ShardWriter
from fastlin.validation.choices import FileFormatName

COUNTED_FROM_1 = {"class": "svmlight", "parameters": {"zero_based": False}}  # what the columns are
SIMPLE = (str, int, float, bool, type(None))


def is_stored(source: Any) -> bool:
    """Whether this is the path of a stored corpus."""
    if not isinstance(source, str | os.PathLike):
        return False
    path = Path(source)
    return path.name == MANIFEST_NAME or (path / MANIFEST_NAME).exists()


def is_readable(source: Any) -> bool:
    """Whether this is a path, several, or an open file."""
    if isinstance(source, list | tuple):
        return len(source) > 0 and all(map(is_readable, source))
    return isinstance(source, str | os.PathLike) or hasattr(source, "read")


def fill(
    builder: ShardWriter,
    source: Any,
    format: FileFormatName | None,  # noqa: A002
    vectorizer: Any,
    options: dict[str, Any],
) -> Any:
    """Give all rows of files to a builder, and finish it; the malformed lines that were left out."""
    with Spools() as spools:
        if vectorizer is not None and not _fitted(vectorizer):
            source = spools.rereadable(source)
            documents = _documents(read(source, format, **options))
            vectorizer.fit(text for block in documents for text in block.texts)
            spools.rewind()
        elif options.get("zero_based", "auto") == "auto" and format_of(sources.files(source), format) == "svmlight":
            source = spools.rereadable(source)
            options = options | {"zero_based": not _first_index(source, options)}
            spools.rewind()
        reader = read(source, format, **options)
        _add(builder, reader, vectorizer)
    names = feature_names(vectorizer)
    made = hashed_by(vectorizer) if names is None else None
    if vectorizer is None and options.get("zero_based") is False:
        made = COUNTED_FROM_1
    builder.finish(options.get("n_features"), names, made)
    return reader.skipped


def _first_index(source: Any, options: dict[str, Any]) -> int:
    """The index of the first column of svmlight's files, as `load_svmlight` has it."""
    weighted, on_error = bool(options.get("weight")), options.get("on_error", "raise")
    return first_index(sources.files(source), on_error, weighted=weighted)


def _add(builder: ShardWriter, blocks: Iterable[Any], vectorizer: Any) -> None:
    for block in blocks if vectorizer is None else _documents(blocks):
        if hasattr(block, "texts"):
            if vectorizer is None:
                raise ValueError(f"{block.path} holds documents: vectorizer= is needed, which makes rows of them")
            X, y, groups = vectorizer.transform(block.texts), block.labels, None
        else:
            X, y, groups = block.X, block.y, block.groups
        if not X.shape[0]:
            continue
        try:
            rows = validation.as_rows(X)
            labels = None if y is None else validation.as_labels(y, len(rows), estimator="Corpus")
            builder.add(rows, labels, validation.as_weights(block.weights, len(rows)), groups)
        except ValueError as error:
            raise ReadError(block.path, block.line, f"in the block that begins here, {error}") from error


def _documents(blocks: Iterable[Any]) -> Iterator[Any]:
    for block in blocks:
        if not hasattr(block, "texts"):
            raise ValueError(f"{block.path} holds rows of numbers, of which vectorizer= has nothing to make")
        yield block


def _fitted(vectorizer: Any) -> bool:
    if not hasattr(vectorizer, "fit"):
        return True
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(vectorizer)
    except NotFittedError:
        return False
    return True


def feature_names(vectorizer: Any) -> NDArray[Any] | None:
    """The names of a vectoriser's columns, if it knows them."""
    try:
        return np.asarray(vectorizer.get_feature_names_out(), object)
    except AttributeError:
        return None


def hashed_by(vectorizer: Any) -> dict[str, Any]:
    """Class and parameters of a vectoriser that hashes: with the same, documents have the same columns."""
    if vectorizer is None or not hasattr(vectorizer, "get_params"):
        return {}
    parameters = {name: value for name, value in vectorizer.get_params().items() if isinstance(value, SIMPLE)}
    return {"class": type(vectorizer).__name__, "parameters": parameters}


class Spools:
    """Copies of what can be read only once, in files without names."""

    def __init__(self) -> None:
        self._files: list[Any] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for file in self._files:
            file.close()

    def rereadable(self, source: Any) -> Any:
        """Copy open files and standard input of a source, so that it can be read again."""
        if isinstance(source, list | tuple):
            return [self.rereadable(one) for one in source]
        if source != "-" and not hasattr(source, "read"):
            return source
        stream = sys.stdin.buffer if source == "-" else source
        copy = tempfile.TemporaryFile(prefix="fastlin-")  # noqa: SIM115
        self._files.append(copy)
        shutil.copyfileobj(stream, copy, 1 << 20)
        copy.seek(0)
        return Spool(copy, "<stdin>" if source == "-" else str(getattr(source, "name", "<stream>")))

    def rewind(self) -> None:
        """The copies are read from their beginning again."""
        for file in self._files:
            file.seek(0)


class Spool:
    """A copy that is called what its original was."""

    def __init__(self, file: Any, name: str) -> None:
        self._file, self.name = file, name

    def read(self, size: int = -1) -> bytes:
        return self._file.read(size)
