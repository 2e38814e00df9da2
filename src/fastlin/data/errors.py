"""What is wrong with a file, and where."""

from dataclasses import dataclass, field

SHOWN = 5


class ReadError(ValueError):
    """A file that cannot be read: `path`, `line` (0 where no line is to blame), `what`.

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


@dataclass
class Problems:
    """Malformed lines that were left out: how many, and the first few."""

    strict: bool = True
    count: int = 0
    first: list[ReadError] = field(default_factory=list)

    def add(self, path: str, line: int, what: str, cause: Exception | None = None) -> None:
        """Count a malformed line, or raise what is wrong with it."""
        error = ReadError(path, line, what)
        if self.strict:
            raise error from cause
        self.count += 1
        if len(self.first) < SHOWN:
            self.first.append(error)

    def __str__(self) -> str:
        more = [f"… and {self.count - len(self.first)} more"] if self.count > len(self.first) else []
        return "\n".join([*map(str, self.first), *more])
