"""Sentences in columns, a token a line and an empty line behind each sentence: read as they come, and written."""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from fastlin.data import sources
from fastlin.data.dump import created
from fastlin.data.errors import Problems
from fastlin.data.sources import File, Piece
from fastlin.validation import one_of

CONLLU = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
NO_WORD = re.compile(r"\d+(?:-\d+|\.\d+)")  # the ids of several tokens that are one word, and of empty nodes
IS_ID = re.compile(r"\d+(?:[-.]\d+)?")
GLOBAL = re.compile(r"#\s*global\.columns\s*=\s*(.*\S)")  # the names of columns, in CoNLL-U Plus
DOCSTART = "-DOCSTART-"
SEPARATORS = {"tab": "\t", "blanks": None}


class Sentence(list[tuple[str, ...]]):
    """A list of tokens, each a tuple of its columns; and the comments before it, and where it begins."""

    def __init__(self, tokens: Iterable[tuple[str, ...]], comments: Sequence[str], path: str, line: int) -> None:
        super().__init__(tokens)
        self.comments = tuple(comments)
        self.path = path
        self.line = line


class Form(NamedTuple):
    """What the lines of a file are like: found out from its first token."""

    split: Callable[[str], list[str]]
    width: int
    numbered: bool  # whether the first column holds ids of CoNLL-U
    names: tuple[str, ...]  # of the columns, lower-cased; () if they have none


def read_conll(
    source: Any,
    columns: Sequence[int | str] | None = None,
    *,
    separator: str | None = None,
    comments: bool | None = None,
    encoding: str = "utf-8",
    errors: str = "strict",
    on_error: str = "raise",
) -> "ConllReader":
    """Read sentences of a token a line, as they come.

    The tokens of CoNLL-U that are no words of their own (1-2, 1.1) and the lines -DOCSTART- of CoNLL-2003 are left out.
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
    separator : {"tab", "blanks"}, optional
        What stands between columns: one tab, or any number of blanks and tabs. If not given, tabs if the first token
        has one.
    comments : bool, optional
        Whether a line that begins with # is a comment. If not given, it is if it has another number of columns than
        tokens have, or if tokens are numbered as those of CoNLL-U are: elsewhere # is a token, too.
    encoding, errors : str
        How bytes become text, as in `bytes.decode`.
    on_error : {"raise", "skip"}
        "skip" leaves out the sentences that have malformed lines.

    Returns
    -------
    ConllReader
        To iterate over: a list of tuples for each sentence.

    Examples
    --------
    >>> import io
    >>> from fastlin.sequence.conll import read_conll
    >>> file = io.BytesIO(b"He PRP B-NP\\nsays VBZ B-VP\\n\\nYes UH O\\n")
    >>> for sentence in read_conll(file, [0, -1]):
    ...     print(sentence)
    [('He', 'B-NP'), ('says', 'B-VP')]
    [('Yes', 'O')]
    """
    return ConllReader(source, columns, separator, comments, (encoding, errors), on_error)


class ConllReader:
    """What `read_conll` returns: an iterable of sentences, and `skipped`, the malformed lines the last time."""

    def __init__(
        self,
        source: Any,
        columns: Any,
        separator: str | None,
        comments: bool | None,
        decoding: tuple[str, str],
        on_error: str,
    ) -> None:
        self._files = sources.files(source)
        self._columns = None if columns is None else _checked(columns)
        self._separator = None if separator is None else one_of("separator", separator, SEPARATORS)
        self._comments = comments
        self._decoding = decoding
        self._strict = one_of("on_error", on_error, ["raise", "skip"]) == "raise"
        self.skipped = Problems(self._strict)

    def __iter__(self) -> Iterator[Sentence]:
        self.skipped = Problems(self._strict)
        for file in self._files:
            yield from self._sentences(file, self.skipped)

    def _sentences(self, file: File, problems: Problems) -> Iterator[Sentence]:
        """The sentences of a file, each as soon as its last line has been read."""
        reading = _File(self._columns, self._separator, self._comments, problems)
        number = 0
        for piece in sources.pieces(file):
            number = piece.line
            for line in self._lines(piece, problems):
                found = reading.add(piece.path, number, line)
                if found is not None:
                    yield found
                number += 1
        found = reading.end()
        if found is not None:
            yield found

    def _lines(self, piece: Piece, problems: Problems) -> Iterator[str | None]:
        """The lines of a piece as text; None for one that is none."""
        encoding, errors = self._decoding
        lines = piece.text.splitlines()
        try:
            text = piece.text.decode(encoding, errors)
        except UnicodeDecodeError:
            for number, line in enumerate(lines, piece.line):
                try:
                    yield line.decode(encoding, errors)
                except UnicodeDecodeError as error:
                    what = f"the byte {line[error.start]:#04x} is not {error.encoding}"
                    problems.add(piece.path, number, f"{what}; errors='replace' reads it nonetheless", error)
                    yield None
            return
        if "\r" in text:
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        yield from text.removesuffix("\n").split("\n")


class _File:
    """The lines of one file, and the sentence that they are making up."""

    def __init__(self, columns: Any, separator: str | None, comments: bool | None, problems: Problems) -> None:
        self._columns, self._separator, self._are_comments = columns, separator, comments
        self._problems = problems
        self._form: Form | None = None
        self._names: tuple[str, ...] = ()
        self._choose: Callable[[list[str]], tuple[str, ...]] = tuple
        self._begin("", 0)

    def _begin(self, path: str, line: int) -> None:
        self._tokens: list[tuple[str, ...]] = []
        self._comments: list[str] = []
        self._good = True
        self._path, self._line = path, line

    def add(self, path: str, number: int, line: str | None) -> Sentence | None:
        """Take the next line; the sentence that it ends, if it does and there is one."""
        if not (self._tokens or self._comments):
            self._path, self._line = path, number
        if line is None:
            self._good = False
        elif _is_boundary(line):
            return self.end()
        elif line[0] == "#" and self._is_comment(line):
            self._comments.append(line)
            if named := GLOBAL.match(line):
                self._names = tuple(named[1].lower().split())
        else:
            self._token(line, number)
        return None

    def end(self) -> Sentence | None:
        """The sentence so far, if it has tokens and they are all well."""
        found = None
        if self._tokens and self._good:
            found = Sentence(self._tokens, self._comments, self._path, self._line)
        self._begin(self._path, self._line)
        return found

    def _token(self, line: str, number: int) -> None:
        form = self._form
        if form is None:
            form = self._learn(line)
        fields = form.split(line)
        if len(fields) != form.width:
            many = f"{len(fields)} column{'s' * (len(fields) != 1)}"
            self._refuse(number, f"the line has {many}, and the first token {form.width}")
            return
        if form.numbered and NO_WORD.fullmatch(fields[0]):
            return
        token = self._choose(fields)
        if "" in token:
            self._refuse(number, "a column is empty")
            return
        self._tokens.append(token)

    def _refuse(self, number: int, what: str) -> None:
        self._good = False
        self._problems.add(self._path, number, what)

    def _learn(self, line: str) -> Form:
        """What the first token says of all others."""
        by_tab = self._separator == "tab" or (self._separator is None and "\t" in line)
        split = _by_tab if by_tab else _by_blanks
        fields = split(line)
        numbered = by_tab and len(fields) == len(CONLLU) and IS_ID.fullmatch(fields[0]) is not None
        names = self._names or (CONLLU if len(fields) == len(CONLLU) else ())
        numbered = numbered or (bool(self._names) and names[0] == "id")
        self._form = Form(split, len(fields), numbered, names)
        if self._columns is not None:
            places = [self._place(column, self._form) for column in self._columns]
            self._choose = lambda fields: tuple([fields[place] for place in places])
        return self._form

    def _place(self, column: int | str, form: Form) -> int:
        """The number of a column."""
        if isinstance(column, str):
            if form.names:
                return form.names.index(one_of(f"{self._path}: a column", column.lower(), form.names))
            raise ValueError(
                f"{self._path}: the {form.width} columns have no names, as they do in CoNLL-U; "
                f"say the number of {column!r}, from 0 on"
            )
        if not -form.width <= column < form.width:
            raise ValueError(f"{self._path}: there is no column {column}: there are {form.width}, from 0 on")
        return column % form.width

    def _is_comment(self, line: str) -> bool:
        if self._are_comments is not None:
            return self._are_comments
        if self._form is None:  # nothing is known of tokens yet, but that a tab stands between columns, if there is one
            return "\t" not in line or line.startswith("# ")
        return self._form.numbered or len(self._form.split(line)) != self._form.width


def _is_boundary(line: str) -> bool:
    """An empty line, or one that begins a document."""
    return not line.strip(" \t") or (line.startswith(DOCSTART) and line[len(DOCSTART) :][:1] in ("", " ", "\t"))


def _by_tab(line: str) -> list[str]:
    return line.split("\t")


def _by_blanks(line: str) -> list[str]:
    """Not `str.split`, for which a no-break space within a word is blank, too."""
    return [field for field in line.replace("\t", " ").split(" ") if field]


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
    if labels is None:
        for sentence in sentences:
            file.write(as_lines(sentence, None, separator, count).encode())
            count += 1
        return count
    for sentence, tags in zip(sentences, labels, strict=True):
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
