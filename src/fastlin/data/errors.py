"""Errors of files: what is wrong, and where."""

from dataclasses import dataclass, field
from typing import Any

MAX_SHOWN_LINES = 5
LABEL_AND_TEXT = "label", "text"  # the columns that are looked for


class ReadError(ValueError):
    """A file that cannot be read: `path`, `line` (0 where no line is to blame), `what`.

    Parameters
    ----------
    path : str
        The file.
    line : int
        Its line, from 1 on, or 0.
    what : str
        What is wrong.
    unit : str
        What is counted: "line", or "row" of a table.

    Examples
    --------
    >>> from fastlin.data import ReadError
    >>> print(ReadError("train.tsv", 17, "there is no tab"))
    train.tsv, line 17: there is no tab
    """

    def __init__(self, path: str, line: int, what: str, unit: str = "line") -> None:
        super().__init__(path, line, what, unit)
        self.path = path
        self.line = line
        self.what = what
        self.unit = unit

    def __str__(self) -> str:
        place = f", {self.unit} {self.line}" if self.line else ""
        return f"{self.path}{place}: {self.what}"


class UnknownColumnsError(ReadError):
    """A header, or a first line, that does not say which columns hold the label and the text: `columns` are its fields.

    Examples
    --------
    >>> from fastlin.data.errors import UnknownColumnsError
    >>> print(UnknownColumnsError("reviews.csv", 1, ["review", "sentiment"]).columns)
    ['review', 'sentiment']
    """

    def __init__(self, path: str, line: int, columns: list[str]) -> None:
        self.columns = columns
        self.listed = ", ".join(f"{place}: {name!r:.20}" for place, name in enumerate(columns))[:200]
        what = f"say which columns are the label and the text: {self.listed}; label= and text= take numbers or names"
        if len(columns) == len(LABEL_AND_TEXT):
            what += "; header=False says that this line is a document, its label first"
        super().__init__(path, line, what)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.path, self.line, self.columns)


@dataclass
class MalformedLines:
    """The malformed lines that were left out: how many, and the first few.

    Attributes
    ----------
    strict : bool
        Whether the first one is raised.
    count : int
        How many there were.
    first : list of ReadError
        The first few.
    """

    strict: bool = True
    count: int = 0
    first: list[ReadError] = field(default_factory=list)

    def add(self, path: str, line: int, what: str, cause: Exception | None = None) -> None:
        """Count a malformed line, or raise what is wrong with it.

        Parameters
        ----------
        path : str
            The file.
        line : int
            The number of the line, from 1 on.
        what : str
            What is wrong with it, for the message.
        cause : Exception, optional
            What was caught, if something was.

        Raises
        ------
        ReadError
            If malformed lines are errors.
        """
        error = ReadError(path, line, what)
        if self.strict:
            raise error from cause
        self.count += 1
        if len(self.first) < MAX_SHOWN_LINES:
            self.first.append(error)

    def __str__(self) -> str:
        more = [f"… and {self.count - len(self.first)} more"] if self.count > len(self.first) else []
        return "\n".join([*map(str, self.first), *more])
