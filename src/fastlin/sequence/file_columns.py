"""Which columns of files a tagger has learnt from, and how these were written."""

from typing import Any, NamedTuple, Self

from fastlin.sequence.conll_lines import Sentence


class FileColumns(NamedTuple):
    """The columns of tokens, None for all but that of the labels; that column; and how many a file had.

    `separator` and `comments` are what somebody said of the files; None: nothing.
    """

    columns: list[int | str] | None
    label: int | str
    width: int
    separator: str | None = None
    comments: bool | None = None

    @classmethod
    def proved(cls, kept: Any) -> Self:
        """The columns that a file of a model names; ValueError: it names none."""
        columns, label, width, *form = kept
        separator, comments = form or (None, None)
        if columns is not None and (type(columns) is not list or not columns or not all(map(_names_one, columns))):
            raise ValueError("columns must be a list of numbers or names, or None")
        if not _names_one(label) or type(width) is not int or not 0 < width < 1 << 31:
            raise ValueError("label must be the number or the name of a column, width how many columns there are")
        if separator not in (None, "tab", "blanks") or not (comments is None or type(comments) is bool):
            raise ValueError("separator must be tab, blanks or None, comments True, False or None")
        return cls(columns, label, width, separator, comments)

    def picked(self, sentence: Sentence) -> Sentence:
        """A sentence with the tokens as they were learnt; ValueError, if its file has other columns.

        Where all but the labels were learnt, files may be without these; if they were the last column, files may have
        more columns or fewer, of which templates look at the first.
        """
        form = sentence.form
        if self.columns is not None or form is None or isinstance(self.label, str):
            return sentence
        own, label = self.width - 1, self.label % self.width
        has = len(sentence[0])
        if has > own and label < own and sentence.labels is None:
            if has != self.width:
                raise ValueError(self._others(sentence, form.width))
            sentence[:] = [token[:label] + token[label + 1 :] for token in sentence]
        elif has < own and label < own:
            raise ValueError(self._others(sentence, form.width))
        return sentence

    def _others(self, sentence: Sentence, width: int) -> str:
        return (
            f"{sentence.path}: there are {width} columns, and the model has learnt from {self.width}, of which column "
            f"{self.label} held the tags: say which --columns it is to see"
        )


def _names_one(column: Any) -> bool:
    return type(column) is str or (type(column) is int and -(1 << 31) < column < 1 << 31)
