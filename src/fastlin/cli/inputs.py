"""Files, folders, globs and pipes as blocks of documents or rows, to be read as often as is needed."""

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp

from fastlin.cli import reading
from fastlin.cli.errors import UserError
from fastlin.data import Block, Corpus, Documents, MalformedLines, conversion, read
from fastlin.data.errors import LABEL_AND_TEXT, ReadError, UnknownColumnsError
from fastlin.data.reader import BY_SUFFIX
from fastlin.data.readers import sources, svmlight
from fastlin.registry import FILE_FORMATS
from fastlin.runtime.progress import Stage

PYARROW_FORMATS = "arrow", "parquet"  # which pyarrow opens by itself
UNPACKED_PER_BYTE = 4  # a compressed file holds about so many times its size
MAX_SPOOLED_BYTES = 1 << 26  # bytes of a pipe that are kept in memory
PIPE_READ_BYTES = 1 << 20


class LoadedDocuments(NamedTuple):
    """The documents of some files, all of them in memory."""

    documents: Any  # a list of texts or dicts, or a matrix
    labels: Any
    weights: Any  # or None


class CountedStream:
    """A file that is opened when it is first read, and tells how much of it has been read."""

    def __init__(self, name: str, file: Any, tell: Callable[[int], None]) -> None:
        self.name, self._file, self._tell, self._own = name, file, tell, file is None
        self._ended = False

    def read(self, size: int = -1) -> bytes:
        """What there is, at most so much: nobody who writes into a pipe has to fill a block first."""
        if self._ended:
            return b""
        if self._file is None:
            self._file = open(self.name, "rb")  # noqa: SIM115 - closed at its end
        part: bytes = self._file.read1(size)
        self._tell(len(part))
        if not part:
            self._ended = True
            self.close()
        return part

    def close(self) -> None:
        if self._own and self._file is not None:
            self._file.close()


class CountedFiles:
    """Files whose reading moves a stage; closed when the command is done with them."""

    def __init__(self, names: list[str]) -> None:
        self._files = sources.files(names)
        self._streams: list[CountedStream] = []
        self.name = ", ".join("standard input" if name == "-" else name for name in names)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for stream in self._streams:
            stream.close()

    @property
    def bytes(self) -> int | None:
        """As they lie on disk; None if nobody knows."""
        if any(file.stream is not None for file in self._files):
            return None
        return sum(os.path.getsize(file.name) for file in self._files)

    def open(self, stage: Stage) -> list[CountedStream]:
        """The files, from their beginnings."""
        done = 0

        def tell(size: int) -> None:
            nonlocal done
            done += size
            stage.update(done)

        self._streams = [CountedStream(file.name, file.stream, tell) for file in self._files]
        return self._streams


class InputSource:
    """The input of a command; standard input can be read once, or is kept if it is wanted `again`."""

    def __init__(
        self,
        names: list[str],
        options: argparse.Namespace,
        *,
        labelled: bool = True,
        again: bool = False,
        first_index: int | None = None,
        numeric: bool = False,
    ) -> None:
        self.stored = names[0] if is_stored(names) else None
        self._files = [] if self.stored else sources.files(names)
        piped = any(file.stream is not None for file in self._files)
        self.name = ", ".join("standard input" if name == "-" else name for name in names)
        self._assumed = piped and labelled and not options.format
        self.format: Any = options.format or (("tsv" if labelled else "lines") if piped else None)
        found = {self.format or BY_SUFFIX.get(file.suffix) for file in self._files}
        self._form = found.pop() if len(found) == 1 else None  # None: the reader says what is wrong with it
        self.reading = reading.options_of(options, self._form, labelled)
        if numeric and self._form in FILE_FORMATS and "numeric" in FILE_FORMATS[self._form].options:
            self.reading["numeric"] = True
        self.in_place = False  # whether texts may lie where they were read, for the engine
        self._labelled = labelled
        self._streams: list[CountedStream] = []
        self._spool = _spooled() if piped and again else None
        self.first_index = 0
        if self.stored:
            self.first_index = Corpus(self.stored).first_index
        elif self._form == "svmlight":
            wanted = first_index if options.first_index is None else options.first_index
            self.first_index = self._lowest_index() if wanted is None else wanted
            self.reading["zero_based"] = not self.first_index

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for stream in self._streams:
            stream.close()
        if self._spool is not None:
            self._spool.close()

    @property
    def bytes(self) -> int | None:
        """As they lie on disk; None if nobody knows."""
        known = [size for file in self._files if (size := self._size(file)) is not None]
        return sum(known) if len(known) == len(self._files) else None

    @property
    def unpacked(self) -> int:
        """The bytes of text, of what is compressed by a guess."""
        packed = [
            UNPACKED_PER_BYTE if os.path.splitext(file.name)[1] in sources.COMPRESSIONS else 1 for file in self._files
        ]
        return sum(times * (self._size(file) or 0) for times, file in zip(packed, self._files, strict=True))

    def open(self, stage: Stage) -> list[Any]:
        """The files, from their beginnings, as `fastlin.data.read` takes them; a stage that moves as they are read."""
        if self._spool is not None:
            self._spool.seek(0)
        done = 0

        def tell(size: int) -> None:
            nonlocal done
            done += size
            stage.update(done)

        opened: list[Any] = []
        for file in self._files:
            table = self._form in PYARROW_FORMATS
            if table and (file.stream is None or self._spool is not None):
                opened.append(self._spool if file.stream else file.name)
            else:
                opened.append(CountedStream(file.name, file.stream and (self._spool or file.stream), tell))
        self._streams += [stream for stream in opened if isinstance(stream, CountedStream)]
        return opened

    def blocks(self, stage: Stage) -> Iterator[Block | Documents]:
        """Read from the beginning, block by block; a stored corpus, segment by segment."""
        if self.stored:
            corpus = Corpus(self.stored)
            for start, rows, codes, weights in corpus.segments():
                y = corpus.classes[codes] if len(corpus.classes) else None
                yield Block(rows.matrix(), y, weights if len(weights) else None, None, self.stored, start)
            return
        reader = read(self.open(stage), self.format, **self.reading)
        reader.in_place = self.in_place
        seen = 0
        try:
            for block in reader:
                seen += size_of(block)
                stage.note = f"{seen:,} documents"
                yield block
        except UnknownColumnsError as error:
            raise UserError(_which_columns(error, self._labelled)) from error
        except ReadError as error:
            if seen or not self._assumed:
                raise
            raise UserError(f"{error}; standard input is read as tsv, --format names another") from error
        report_skipped(reader.skipped)
        if not seen and self._labelled:  # nothing is nothing to learn from, but has all of its labels predicted
            raise UserError(f"{self.name}: there are no documents")

    def collect(self, stage: Stage) -> LoadedDocuments:
        """All of it in memory."""
        blocks = list(self.blocks(stage))
        weights = None if blocks[0].weights is None else np.concatenate([block.weights for block in blocks])
        labels = [labels_of(block, self.name) for block in blocks]
        if isinstance(blocks[0], Documents):
            texts = [text for block in blocks for text in texts_of(block)]
            return LoadedDocuments(texts, [label for part in labels for label in part], weights)
        rows = [rows_of(block) for block in blocks]
        X = sp.vstack([as_wide(part, rows[-1].shape[1]) for part in rows], format="csr")  # the last is the widest
        return LoadedDocuments(X, np.concatenate(labels), weights)

    def _lowest_index(self) -> int:
        """The index of the first column of svmlight's files, which are read once to know it."""
        if any(file.stream is not None for file in self._files) and self._spool is None:
            return 0
        try:
            opened = sources.files(self.open(Stage("", None, "")))
            return svmlight.first_index(opened, self.reading["on_error"], weighted="weight" in self.reading)
        finally:
            for stream in self._streams:
                stream.close()

    def _size(self, file: sources.InputFile) -> int | None:
        if file.stream is None:
            return os.path.getsize(file.name)
        return None if self._spool is None else self._spool.seek(0, os.SEEK_END)


def is_stored(names: list[str]) -> bool:
    """Whether this is the folder of a stored corpus."""
    return len(names) == 1 and conversion.is_stored(names[0])


def report_skipped(malformed: MalformedLines | None) -> None:
    """Say on stderr which malformed lines were left out."""
    if malformed is not None and malformed.count:
        print(f"{malformed.count:,} malformed lines left out\n{malformed}", file=sys.stderr)


def size_of(block: Block | Documents) -> int:
    """How many documents a block has."""
    return len(block.texts) if isinstance(block, Documents) else int(block.X.shape[0])


def labels_of(block: Block | Documents, name: str) -> Any:
    """The labels of a block, which has to have some."""
    labels = block.labels if isinstance(block, Documents) else block.y
    if labels is None:
        raise UserError(f"{name}: the documents have no labels")
    return labels


def texts_of(block: Block | Documents) -> list[Any]:
    """The documents of a block that holds such."""
    if not isinstance(block, Documents):
        raise UserError(f"{block.path} holds rows of numbers, where texts are wanted")
    return block.texts


def rows_of(block: Block | Documents) -> Any:
    """The rows of a block that holds such."""
    if isinstance(block, Documents):
        raise UserError(f"{block.path} holds texts, where rows of numbers are wanted: there is no vectoriser")
    return block.X


def as_wide(X: Any, width: int) -> Any:
    """Rows with so many columns: empty ones are added, and those beyond fall off."""
    if X.shape[1] != width:
        X = X.copy()
        X.resize((X.shape[0], width))
    return X


def documents_of(block: Block | Documents, model: Any) -> Any:
    """What a model is given of a block. As words that it never met, columns that it never met are nothing to it."""
    return texts_of(block) if hasattr(model, "steps") else as_wide(rows_of(block), model.n_features_in_)


def _which_columns(error: UnknownColumnsError, labelled: bool) -> str:
    """What to do about a header that does not say it."""
    wanted = "columns are the label and the text" if labelled else "column is the text"
    said = "--label and --text take numbers or names" if labelled else "--text takes a number or a name"
    if len(error.columns) == len(LABEL_AND_TEXT):
        said += "; --no-header says that this line is a document, its label first"
    return f"{error.path}, line {error.line}: say which {wanted}: {error.listed}; {said}"


def _spooled() -> Any:
    """Standard input, in memory or, if it is long, in a file without a name."""
    spool = tempfile.SpooledTemporaryFile(MAX_SPOOLED_BYTES, prefix="fastlin-")  # noqa: SIM115 - closed with its source
    while part := sys.stdin.buffer.read(PIPE_READ_BYTES):
        spool.write(part)
    return spool
