"""Sentences in columns, a token a line and an empty line behind each sentence: read as they come, and written."""

import itertools
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

from fastlin.data.errors import MalformedLines
from fastlin.data.readers import sources
from fastlin.data.readers.line_formats import message_of
from fastlin.data.readers.sources import LineBlock
from fastlin.data.svmlight_writer import created
from fastlin.sequence.conll_lines import NEWLINE, ColumnChoice, Sentence, SentencesOfLines
from fastlin.validation import one_of


def read_conll(
    source: Any,
    columns: Sequence[int | str] | None = None,
    *,
    label: int | str | None = None,
    unknown_label: str | None = None,
    separator: Literal["tab", "blanks"] | None = None,
    comments: bool | None = None,
    encoding: str = "utf-8",
    errors: str = "strict",
    on_error: Literal["raise", "skip"] = "raise",
) -> "ConllReader":
    """Read sentences of a token a line, as they come.

    The lines of CoNLL-U that are no words of their own (1-2, 1.1) and the lines -DOCSTART- of CoNLL-2003 are no tokens.
    All tokens of a file have as many columns as its first; a line that has not is malformed, and so is one with nothing
    in a column that is asked for.

    Parameters
    ----------
    source : path, list of paths, folder, glob, "-" or open binary file
        As for `fastlin.data.read`: plain or compressed.
    columns : sequence of int or str, optional
        Which columns a token is made of: numbers from 0 on, from −1 on back from the last; or names, as in CoNLL-U:
        id, form, lemma, upos, xpos, feats, head, deprel, deps, misc, or those of a line "# global.columns = …". All
        columns if not given.
    label : int or str, optional
        The column of the labels, which is no part of tokens unless `columns` say so.
    unknown_label : str, optional
        What stands for a label that is not known, such as "?": it is read as None.
    separator : {"tab", "blanks"}, optional
        What stands between columns: one tab, or any number of blanks and tabs. If not given, tabs if the first token
        has one.
    comments : bool, optional
        Whether a line that begins with # is a comment. If not given, it is if it has another number of columns than
        tokens have, if tokens are numbered as those of CoNLL-U are, or before the first token if a blank follows: else
        # is a token, too.
    encoding, errors : str
        How bytes become text, as in `bytes.decode`.
    on_error : {"raise", "skip"}
        "skip" leaves out the sentences that have malformed lines.

    Returns
    -------
    ConllReader
        To iterate over: for each sentence a `Sentence`, a list of tuples. `blocks()` gives lists of sentences, those
        that are whole with each block of a file.

    Examples
    --------
    >>> import io
    >>> from fastlin.sequence import read_conll
    >>> file = io.BytesIO(b"He PRP B-NP\\nsays VBZ B-VP\\n\\nYes UH O\\n")
    >>> for sentence in read_conll(file, label=-1):
    ...     print(sentence, sentence.labels)
    [('He', 'PRP'), ('says', 'VBZ')] ['B-NP', 'B-VP']
    [('Yes', 'UH')] ['O']
    """
    chosen = ColumnChoice(
        None if columns is None else _checked(columns),
        None if label is None else _checked([label])[0],
        None if separator is None else one_of("separator", separator, ["tab", "blanks"]),
        comments,
        unknown_label,
    )
    return ConllReader(source, chosen, (encoding, errors), on_error)


class ConllReader:
    """An iterable of sentences, which `read_conll` returns.

    Of the last time, `skipped` are the malformed lines, and `rest` is what stood behind the last sentence.
    """

    def __init__(self, source: Any, chosen: ColumnChoice, decoding: tuple[str, str], on_error: str) -> None:
        self._files = sources.files(source)
        self._chosen, self._decoding = chosen, decoding
        self._strict = one_of("on_error", on_error, ["raise", "skip"]) == "raise"
        self.skipped, self.rest = MalformedLines(self._strict), ""

    def __iter__(self) -> Iterator[Sentence]:
        return itertools.chain.from_iterable(self.blocks())

    def blocks(self, size: int = sources.BLOCK_BYTES) -> Iterator[list[Sentence]]:
        """The sentences that are whole with each block of about so many bytes."""
        self.skipped, self.rest = MalformedLines(self._strict), ""
        before = Sentence()
        for file in self._files:
            reading = SentencesOfLines(file.name, self._chosen, self.skipped, before)
            for piece in sources.line_blocks(file, size):
                whole: list[Sentence] = []
                for number, (line, end) in enumerate(self._lines(piece), piece.line):
                    whole += reading.add(number, line, end)
                if whole:
                    yield whole
            if last := reading.finish():
                yield last
            before = reading.sentence
        self.rest = "".join(itertools.chain.from_iterable(zip(before.lines, before.ends, strict=True)))

    def _lines(self, piece: LineBlock) -> Iterable[tuple[str | None, str]]:
        """The lines of a piece as text, and how each ends; None for one that is none."""
        try:
            text = piece.text.decode(*self._decoding)
        except UnicodeDecodeError:
            return self._decoded(piece)
        if "\r" in text:
            parts = NEWLINE.split(text)
            return zip(parts[: -1 if parts[-1] == "" else None], [*NEWLINE.findall(text), "\n"], strict=False)
        return zip(text.removesuffix("\n").split("\n"), itertools.repeat("\n"), strict=False)

    def _decoded(self, piece: LineBlock) -> Iterator[tuple[str | None, str]]:
        for number, line in enumerate(piece.text.splitlines(), piece.line):
            try:
                yield line.decode(*self._decoding), "\n"
            except UnicodeDecodeError as error:
                self.skipped.add(piece.path, number, message_of(error), error)
                yield None, "\n"


def _checked(columns: Any) -> list[int | str]:
    """Columns that are numbers or names."""
    if isinstance(columns, str | int) or not isinstance(columns, Iterable):
        raise TypeError(f"columns must be a list of numbers or names, got {columns!r:.60}")
    chosen = list(columns)
    for column in chosen:
        if isinstance(column, bool) or not isinstance(column, int | str):
            raise TypeError(f"columns must be numbers or names, got {column!r:.60}")
    if not chosen:
        raise ValueError("columns is empty: a token has one at least")
    return chosen


def write_conll(
    sentences: Iterable[Any], target: Any, labels: Iterable[Any] | None = None, *, separator: str = "\t"
) -> int:
    """Write sentences, a token a line and an empty line behind each.

    The file appears when it is whole: until then, and if something fails, what was there stays.

    Parameters
    ----------
    sentences : iterable of sequences of tokens
        Tokens are tuples of columns, or strings. The comments of a sentence that was read are written, too.
    target : path or binary file
        Names that end in .gz, .bz2, .xz or .zst are compressed.
    labels : iterable of sequences of labels, optional
        What `predict` returns: another column, the last.
    separator : str
        What stands between columns.

    Returns
    -------
    int
        How many sentences there were.

    Examples
    --------
    >>> import io
    >>> from fastlin.sequence.conll import write_conll
    >>> file = io.BytesIO()
    >>> write_conll([[("He", "PRP"), ("says", "VBZ")]], file, [["B-NP", "B-VP"]])
    1
    >>> file.getvalue()
    b'He\\tPRP\\tB-NP\\nsays\\tVBZ\\tB-VP\\n\\n'
    """
    if hasattr(target, "write"):
        return _write(sentences, target, labels, separator)
    with created(os.fspath(target)) as file:
        return _write(sentences, file, labels, separator)


def _write(sentences: Iterable[Any], file: Any, labels: Iterable[Any] | None, separator: str) -> int:
    count = 0
    every = itertools.repeat(None) if labels is None else labels
    for sentence, tags in zip(sentences, every, strict=labels is not None):
        file.write(as_lines(sentence, tags, separator, count).encode())
        count += 1
    return count


def as_lines(sentence: Any, labels: Any = None, separator: str = "\t", place: int = 0) -> str:
    """The lines of a sentence, the empty one behind it included; `place` is its number in errors."""
    rows = [(token,) if isinstance(token, str) else tuple(token) for token in sentence]
    if labels is not None:
        if len(labels) != len(rows):
            raise ValueError(f"sequence {place} has {len(rows)} tokens and {len(labels)} labels")
        rows = [(*row, str(label)) for row, label in zip(rows, labels, strict=True)]
    lines = [*getattr(sentence, "comments", ())]
    for token, row in enumerate(rows):
        for field in row:
            if not field or separator in field or "\n" in field or "\r" in field:
                raise ValueError(f"sequence {place}, token {token}: {field!r:.60} is nothing that a column can hold")
        lines.append(separator.join(row))
    return "".join(f"{line}\n" for line in [*lines, ""])
