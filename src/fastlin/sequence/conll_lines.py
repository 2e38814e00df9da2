"""Sentences of lines: what the lines of a file in columns are like, and the sentence that they make up."""

import itertools
import operator
import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from fastlin.data.errors import MalformedLines
from fastlin.validation import one_of

CONLLU = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
NO_WORD = re.compile(r"\d+(?:-\d+|\.\d+)")  # the ids of several tokens that are one word, and of empty nodes
FIELD = re.compile(r"[^ \t]+")
NEWLINE = re.compile(r"\r\n|\r|\n")
IS_ID = re.compile(r"\d+(?:[-.]\d+)?")
GLOBAL = re.compile(r"#\s*global\.columns\s*=\s*(.*\S)")  # the names of columns, in CoNLL-U Plus
DOCSTART = "-DOCSTART-"


class ColumnForm(NamedTuple):
    """The form of a file's lines, found out from its first token."""

    split: Callable[[str], list[str]]
    between: str  # columns that are written
    width: int
    numbered: bool  # whether the first column holds ids of CoNLL-U
    names: tuple[str, ...]  # of the columns, lower-cased; () if they have none
    label: int | None  # the column of the labels, if there is one


class Sentence(list[tuple[str, ...]]):
    """A list of tokens, each a tuple of its columns, and what else there was.

    Attributes
    ----------
    labels : list of str or None
        Those of the tokens, if a column of labels was asked for; None for one that is not known.
    lines : list of str
        The sentence as it stood in the file, with comments, lines that are no tokens, and all that stands between it
        and the sentence before: -DOCSTART- lines, and further empty lines.
    ends : list of str
        What ended each of the lines, and the empty one behind them with its end.
    start : int
        Which of the lines is its first one.
    places : list of int
        Which of the lines are the tokens.
    form : ColumnForm or None
        How the lines are split into columns.
    path, line
        The file, and the number of its first line.
    """

    def __init__(self, tokens: Iterable[tuple[str, ...]] = (), path: str = "", line: int = 0) -> None:
        super().__init__(tokens)
        self.labels: list[str | None] | None = None
        self.lines: list[str] = []
        self.ends: list[str] = []
        self.start = 0
        self.places: list[int] = []
        self.form: ColumnForm | None = None
        self.path = path
        self.line = line

    @property
    def comments(self) -> tuple[str, ...]:
        """The lines that are comments."""
        tokens, own = set(self.places), range(self.start, len(self.lines))
        return tuple(self.lines[place] for place in own if self.lines[place][0] == "#" and place not in tokens)

    def tagged(self, *columns: Sequence[str], inside: bool = False, comment: str | None = None) -> str:
        """The lines with more columns behind the others, and an empty line at the end; all else as it stood.

        `inside`: the first goes where the labels are, in place of them; `comment`: a line in front of the sentence.
        """
        form, lines = self.form, self.lines.copy()
        assert form is not None  # there are tokens
        for place, *added in zip(self.places, *columns, strict=True):
            line = lines[place]
            if inside and form.label is not None:
                start, stop = _span(line, form)
                line = f"{line[:start]}{added.pop(0)}{line[stop:]}"
            lines[place] = form.between.join([line, *added])
        if comment is not None:
            lines[self.start] = f"{comment}{NEWLINE.search(self.ends[self.start])[0]}{lines[self.start]}"  # type: ignore[index]
        return "".join(itertools.chain.from_iterable(itertools.zip_longest(lines, self.ends, fillvalue="")))


class ColumnChoice(NamedTuple):
    """The options of `read_conll`."""

    columns: list[int | str] | None
    label: int | str | None
    separator: str | None
    comments: bool | None
    unknown_label: str | None


class SentencesOfLines:
    """The sentences of the lines of one file, as they come."""

    def __init__(self, path: str, chosen: ColumnChoice, malformed: MalformedLines, before: Sentence) -> None:
        """`before`: the lines that no sentence of the file before has."""
        self._path, self._chosen, self._malformed = path, chosen, malformed
        self._form: ColumnForm | None = None
        self._names: tuple[str, ...] = ()
        self._pick: Callable[[list[str]], tuple[str, ...]] = tuple
        self._held: list[tuple[int, str, str]] = []  # lines before the first of which it is known what it is
        self._begin(before)

    def _begin(self, before: Sentence) -> None:
        self.sentence, self._good = Sentence(path=self._path), True
        self.sentence.lines, self.sentence.ends = before.lines, before.ends
        self.sentence.start = len(before.lines)

    def add(self, number: int, line: str | None, end: str) -> list[Sentence]:
        """Take the next line; the sentences that are whole then, if there are any."""
        if line is None:
            self._good = False
            return []
        if self._form is None and (self._held or _is_one_word(line)) and self._chosen.comments is None:
            self._held.append((number, line, end))
            if line[:1] == "#" or _is_boundary(line):
                return []
            self._learn(line)
            return self._release()
        found = self._add(number, line, end)
        return [] if found is None else [found]

    def finish(self) -> list[Sentence]:
        """The last sentences, now that there are no more lines."""
        if self._held:  # words, where nothing else is a token
            self._learn(next((line for _, line, _ in self._held if _is_one_word(line))))
        found = self._release()
        last = self._end("\n") if self.sentence or not self._good else None
        return found if last is None else [*found, last]

    def _release(self) -> list[Sentence]:
        held, self._held = self._held, []
        found = [self._add(*one) for one in held]
        return [sentence for sentence in found if sentence is not None]

    def _add(self, number: int, line: str, end: str) -> Sentence | None:
        sentence = self.sentence
        if not line.strip(" \t"):
            return self._end(f"{line}{end}")
        if _is_boundary(line):
            found = self._end("")
            sentence = self.sentence
            sentence.lines.append(line)
            sentence.ends.append(end)
            sentence.start = len(sentence.lines)
            return found
        if len(sentence.lines) == sentence.start:
            sentence.line = number
        if line[0] != "#" or not self._is_comment(line):
            self._token(line, number)
        elif named := GLOBAL.match(line):
            self._names = tuple(named[1].lower().split())
        sentence.lines.append(line)
        sentence.ends.append(end)
        return None

    def _end(self, boundary: str) -> Sentence | None:
        """The sentence so far, if it has tokens and they are all well; what is none goes to the next one."""
        sentence, good = self.sentence, self._good
        if sentence and good:
            sentence.ends.append(boundary)
            self._begin(Sentence())
            return sentence
        if not sentence and good:
            if boundary:
                text = NEWLINE.split(boundary)[0]
                sentence.lines.append(text)
                sentence.ends.append(boundary[len(text) :])
            self._begin(sentence)
            return None
        before = Sentence()
        before.lines, before.ends = sentence.lines[: sentence.start], sentence.ends[: sentence.start]
        self._begin(before)
        return None

    def _token(self, line: str, number: int) -> None:
        sentence, form = self.sentence, self._form or self._learn(line)
        fields = form.split(line)
        if len(fields) != form.width:
            many = f"{len(fields)} column{'s' * (len(fields) != 1)}"
            self._refuse(number, f"the line has {many}, and the first token {form.width}")
            return
        if form.numbered and NO_WORD.fullmatch(fields[0]):
            return
        token = self._pick(fields)
        label = None if form.label is None else fields[form.label]
        if "" in token or label == "":
            self._refuse(number, "a column is empty")
            return
        if sentence.form is None:
            sentence.form, sentence.labels = form, None if label is None else []
        if label is not None and sentence.labels is not None:
            sentence.labels.append(None if label == self._chosen.unknown_label else label)
        sentence.append(token)
        sentence.places.append(len(sentence.lines))

    def _refuse(self, number: int, what: str) -> None:
        self._good = False
        self._malformed.add(self._path, number, what)

    def _learn(self, line: str) -> ColumnForm:
        """Find the form of all tokens from the first one."""
        chosen = self._chosen
        by_tab = chosen.separator == "tab" or (chosen.separator is None and "\t" in line)
        split = _by_tab if by_tab else _by_blanks
        fields = split(line)
        width = len(fields)
        names = self._names or (CONLLU if width == len(CONLLU) else ())
        numbered = by_tab and names[:1] == ("id",) and IS_ID.fullmatch(fields[0]) is not None
        form = ColumnForm(split, "\t" if by_tab or width == 1 else " ", width, numbered, names, None)
        if chosen.label is not None:
            form = form._replace(label=self._place(chosen.label, form))
        if chosen.columns is not None:
            self._pick = _picking([self._place(column, form) for column in chosen.columns])
        elif chosen.label is not None:
            self._pick = _picking([column for column in range(width) if column != form.label])
        self._form = form
        return form

    def _place(self, column: int | str, form: ColumnForm) -> int:
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
        if self._chosen.comments is not None:
            return self._chosen.comments
        if self._form is None:  # nothing is known of tokens yet, but that a tab stands between columns, if there is one
            return "\t" not in line or line.startswith("# ")
        return self._form.numbered or len(self._form.split(line)) != self._form.width


def _picking(places: list[int]) -> Callable[[list[str]], tuple[str, ...]]:
    """Make a function that takes some of a line's columns."""
    if len(places) > 1:
        return operator.itemgetter(*places)
    return lambda fields: tuple([fields[place] for place in places])


def _span(line: str, form: ColumnForm) -> tuple[int, int]:
    """The place of a token's label in its line."""
    assert form.label is not None
    if form.split is _by_blanks:
        return next(itertools.islice(FIELD.finditer(line), form.label, None)).span()
    start = sum(len(field) + 1 for field in line.split("\t")[: form.label])
    stop = line.find("\t", start)
    return start, len(line) if stop < 0 else stop


def _is_one_word(line: str) -> bool:
    """Whether it begins with #, and is a token where tokens have one column."""
    return line[:1] == "#" and not ("\t" in line or " " in line)


def _is_boundary(line: str) -> bool:
    """An empty line, or one that begins a document."""
    return not line.strip(" \t") or (line.startswith(DOCSTART) and line[len(DOCSTART) :][:1] in ("", " ", "\t"))


def _by_tab(line: str) -> list[str]:
    return line.split("\t")


def _by_blanks(line: str) -> list[str]:
    """Not `str.split`, for which a no-break space within a word is blank, too."""
    return [field for field in line.replace("\t", " ").split(" ") if field]
