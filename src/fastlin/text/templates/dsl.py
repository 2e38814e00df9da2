"""The language of templates: what a token, and what stands beside it, is looked at for."""

import re
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

FLAGS = (
    "has_capital",
    "initial_capital",
    "all_capitals",
    "has_digit",
    "all_digits",
    "has_hyphen",
    "punctuation",
    "rare",
    "first",
    "last",
)
WHOLE = ("word", "shape", "short_shape")  # what every word has, and a marker stands for beyond the ends
VALUES = (*WHOLE, "prefix", "suffix", "within")
ENDS = ("first", "last")  # looked for at no word
FOLDED = ("word", "prefix", "suffix", "within")  # may be of the word in lower case
NUMBERED = ("prefix", "suffix", "rare")
MAX_OFFSET = 100  # tokens
MAX_AFFIX_LENGTH = 100  # characters of an affix


class Part(NamedTuple):
    """Something of the token `offset` places further on: a string, or a flag, which it has or has not.

    Parts come from a `Column`. The attributes below make others of them: `W[0].lower`, `W[-1].lower.suffix(3)`.

    Attributes
    ----------
    name : str
        The column's, in the feature's text.
    column : int
        Which column of the tokens it is of.
    offset : int
        0 is the token itself.
    function : str
        What is made of the column's string: "word", "suffix", "has_digit", …
    argument : int, str or None
        Its argument: a number of characters, a gazetteer.
    folded : bool
        Whether the string is in lower case.
    """

    name: str
    column: int
    offset: int
    function: str = "word"
    argument: int | str | None = None
    folded: bool = False

    # strings

    @property
    def lower(self) -> "Part":
        """The word in lower case."""
        self._of_a_word("lower")
        return self._replace(folded=True)

    @property
    def shape(self) -> "Part":
        """Capitals as X, small letters as x, letters that are neither as o, digits as d, all else as it is."""
        return self._made("shape")

    @property
    def short_shape(self) -> "Part":
        """The shape with runs of one character cut to one."""
        return self._made("short_shape")

    def prefix(self, n: int) -> "Part":
        """The first n characters of words that have as many.

        Parameters
        ----------
        n : int
            Characters, at least 1.

        Returns
        -------
        Part
            A part that is left out of shorter words.
        """
        return self._made("prefix", n)

    def suffix(self, n: int) -> "Part":
        """The last n characters of words that have as many.

        Parameters
        ----------
        n : int
            Characters, at least 1.

        Returns
        -------
        Part
            A part that is left out of shorter words.
        """
        return self._made("suffix", n)

    def prefixes(self, n: int) -> "list[Part]":
        """Those of 1, ..., n characters.

        Parameters
        ----------
        n : int
            Characters of the longest.

        Returns
        -------
        list of Part
            n parts, the shortest first.
        """
        return [self.prefix(k) for k in range(1, n + 1)]

    def suffixes(self, n: int) -> "list[Part]":
        """Those of 1, ..., n characters.

        Parameters
        ----------
        n : int
            Characters of the longest.

        Returns
        -------
        list of Part
            n parts, the shortest first.
        """
        return [self.suffix(k) for k in range(1, n + 1)]

    def within(self, gazetteer: str) -> "Part":
        """B where an entry of a gazetteer begins, I inside of one; of two that begin at one token the longer counts.

        Parameters
        ----------
        gazetteer : str
            Its name among the `gazetteers` of `Templates`.

        Returns
        -------
        Part
            A part that is left out of words outside of any entry.
        """
        return self._made("within", gazetteer)

    # flags

    @property
    def has_capital(self) -> "Part":
        """One of its characters is a capital."""
        return self._made("has_capital")

    @property
    def initial_capital(self) -> "Part":
        """Its first character is a capital."""
        return self._made("initial_capital")

    @property
    def all_capitals(self) -> "Part":
        """It has capitals and no small letters."""
        return self._made("all_capitals")

    @property
    def has_digit(self) -> "Part":
        """One of its characters is a digit."""
        return self._made("has_digit")

    @property
    def all_digits(self) -> "Part":
        """It is made of digits."""
        return self._made("all_digits")

    @property
    def has_hyphen(self) -> "Part":
        """One of its characters is a hyphen: - or U+2010 or U+2011."""
        return self._made("has_hyphen")

    @property
    def punctuation(self) -> "Part":
        """It is made of characters that are no letters, digits or blanks."""
        return self._made("punctuation")

    def rare(self, n: int) -> "Part":
        """It occurs fewer than n times in what was learnt from.

        Parameters
        ----------
        n : int
            A count, at least 1.

        Returns
        -------
        Part
            A flag.
        """
        return self._made("rare", n)

    # templates

    def __and__(self, other: "Part | Template") -> "Template":
        return Template((self,)) & other

    def when(self, flag: "Part") -> "Template":
        """The same, for tokens that have a flag; the flag is not part of the feature's text.

        Parameters
        ----------
        flag : Part
            Such as `W[0].has_digit`.

        Returns
        -------
        Template
            A template of this part with a condition.
        """
        return Template((self,)).when(flag)

    def unless(self, flag: "Part") -> "Template":
        """The same, for tokens that have not.

        Parameters
        ----------
        flag : Part
            Such as `W[0].has_digit`.

        Returns
        -------
        Template
            A template of this part with a condition.
        """
        return Template((self,)).unless(flag)

    def __repr__(self) -> str:
        return self.label

    @property
    def is_flag(self) -> bool:
        """Whether it has no string."""
        return self.function in FLAGS

    @property
    def label(self) -> str:
        """Name that features have for it."""
        if self.function in ENDS:
            return self.name
        call = "" if self.function == "word" else f".{self.function}"
        call += "" if self.argument is None else f"({self.argument})"
        return f"{self.name}[{self.offset}]{'.lower' if self.folded else ''}{call}"

    def _of_a_word(self, function: str) -> None:
        if self.function != "word" or (self.folded and function not in FOLDED):
            raise TypeError(f"there is no {function} of {self.label}: take it of {self.name}[{self.offset}]")

    def _made(self, function: str, argument: int | str | None = None) -> "Part":
        self._of_a_word(function)
        return _checked_part(self._replace(function=function, argument=argument))


class Template(NamedTuple):
    """A conjunction of parts, for the tokens that have all of them and meet the conditions: (flag, yes or no).

    Attributes
    ----------
    parts : tuple of Part
        Whose strings make the feature.
    conditions : tuple of (Part, bool)
        Flags that a token must have, or must not have.
    text : tuple of str, or None
        What stands before, between and behind the parts' strings, if it is not as usual.
    """

    parts: tuple[Part, ...]
    conditions: tuple[tuple[Part, bool], ...] = ()
    text: tuple[str, ...] | None = None

    def __and__(self, other: "Part | Template") -> "Template":
        if isinstance(other, Part):
            other = Template((other,))
        if not isinstance(other, Template):
            return NotImplemented
        if self.text is not None or other.text is not None:
            raise TypeError("& needs templates without a text of their own, and one of these has one")
        return Template(self.parts + other.parts, self.conditions + other.conditions)

    def when(self, flag: Part) -> "Template":
        """The same, for tokens that have a flag; the flag is not part of the feature's text.

        Parameters
        ----------
        flag : Part
            Such as `W[0].has_digit`.

        Returns
        -------
        Template
            A template with this condition besides its own.
        """
        return self._replace(conditions=(*self.conditions, (_checked_flag(flag), True)))

    def unless(self, flag: Part) -> "Template":
        """The same, for tokens that have not.

        Parameters
        ----------
        flag : Part
            Such as `W[0].has_digit`.

        Returns
        -------
        Template
            A template with this condition besides its own.
        """
        return self._replace(conditions=(*self.conditions, (_checked_flag(flag), False)))

    def __repr__(self) -> str:
        if self.text is not None:
            macros = [f"%{'X' if part.folded else 'x'}[{part.offset},{part.column}]" for part in self.parts]
            made = self.text[0] + "".join(map("".join, zip(macros, self.text[1:], strict=True)))
        else:
            made = " & ".join(part.label for part in self.parts)
        made = f"({made})" if self.conditions and len(self.parts) > 1 else made
        return made + "".join(f".{'when' if wanted else 'unless'}({flag})" for flag, wanted in self.conditions)

    @property
    def strings(self) -> list[Part]:
        """The parts that are strings."""
        return [part for part in self.parts if not part.is_flag]

    @property
    def pieces(self) -> tuple[str, ...]:
        """Text before, between and behind the strings of a feature."""
        if self.text is not None:
            return self.text
        label, n = "|".join(part.label for part in self.parts), len(self.strings)
        return (f"{label}=", *["|"] * (n - 1), "") if n else (label,)


BOS = Part("__BOS__", -1, 0, "first")  # the first token of a sequence
EOS = Part("__EOS__", -1, 0, "last")


@dataclass(frozen=True)
class Column:
    """A column of tokens that are tuples; the first, 0, is also what tokens have that are strings.

    Parameters
    ----------
    number : int
    name : str, optional
        What features call it, "x" and its number by default.

    Examples
    --------
    >>> from fastlin.text.templates import Column
    >>> W, POS = Column(0, "w"), Column(1, "pos")
    >>> W[-1] & POS[0], W[0].lower.suffix(3), W.window(-1, 1)
    (w[-1] & pos[0], w[0].lower.suffix(3), [w[-1], w[0], w[1]])
    """

    number: int
    name: str = ""

    def __getitem__(self, offset: int) -> Part:
        return _checked_part(Part(self.name or f"x{self.number}", self.number, offset))

    def __iter__(self) -> Any:
        raise TypeError("a column cannot be iterated over: take a window of it, column.window(first, last)")

    def window(self, first: int, last: int) -> list[Part]:
        """The words from `first` to `last`, both included: −1 is that before.

        Parameters
        ----------
        first : int
            The offset of the first word.
        last : int
            The offset of the last one.

        Returns
        -------
        list of Part
            One for each offset.
        """
        return [self[offset] for offset in range(first, last + 1)]


def crfpp(text: str, *, of: Literal["U", "B"] = "U") -> list[Template]:
    """The templates of a template file of CRF++ or Wapiti: "U02:%x[-1,0]/%x[0,0]".

    %x[offset,column] is a string, and %X[offset,column] the same in lower case. Lines that begin with U (or u) make
    features of tokens, with B (or b) of two labels, with * of both; a B alone, every transition by itself, is not a
    template.

    Parameters
    ----------
    text : str
        What is in the file.
    of : {"U", "B"}
        Which of them are wanted.

    Returns
    -------
    list of templates

    Examples
    --------
    >>> from fastlin.text.templates import Templates, crfpp
    >>> Templates(crfpp("U00:%x[-1,0]/%x[0,0]\\nB"), padding="_B").strings([["time", "flies"]])
    [[['U00:_B-1/time'], ['U00:time/flies']]]
    """
    if of not in ("U", "B"):
        raise ValueError(f"of must be 'U' or 'B', got {of!r}")
    made = []
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        kind = line[0].upper()
        if kind not in "UB*":
            raise ValueError(f"line {number} begins neither with U nor with B: {line!r}")
        if kind in (of, "*") and line not in ("B", "b", "*"):
            made.append(_crfpp_line(line, number))
    return made


_MACRO = re.compile(r"%([xX])\[\s*(-?\d+)\s*,\s*(\d+)\s*\]")


def _crfpp_line(line: str, number: int) -> Template:
    pieces, parts, end = [], [], 0
    for macro in _MACRO.finditer(line):
        pieces.append(line[end : macro.start()])
        part = Part(f"x{int(macro[3])}", int(macro[3]), int(macro[2]), folded=macro[1] == "X")
        parts.append(_checked_part(part))
        end = macro.end()
    pieces.append(line[end:])
    if any("%" in piece for piece in pieces):
        raise ValueError(f"line {number} has something other than %x[offset,column] behind a %: {line!r}")
    return Template(tuple(parts), (), tuple(pieces))


def as_template(value: Any, name: str) -> Template:
    """Convert what a user, or a model file, gives as a template: also tuples that are like one."""
    try:
        if len(value) == len(Part._fields) and isinstance(value[0], str):
            return Template((_checked_part(Part(*value)),))
        parts, conditions, text = value
        parts = tuple(_checked_part(Part(*part)) for part in parts)
        conditions = tuple((_checked_flag(Part(*flag)), bool(wanted)) for flag, wanted in conditions)
        template = Template(parts, conditions, None if text is None else tuple(text))
        fits = len(parts) > 0 if text is None else len(template.strings) == len(parts) == len(text) - 1
        fits = fits and set(map(type, text or ())) <= {str}
    except (TypeError, ValueError) as error:
        said = f": {error}" if isinstance(value, tuple) else ""
        raise TypeError(f"{name} must be a template such as W[-1] & W[0], got {value!r:.80}{said}") from error
    if not fits:
        raise ValueError(f"{name} has a text that does not fit its strings: {tuple(value)!r:.200}")
    return template


def _checked_flag(flag: Part) -> Part:
    if not isinstance(flag, Part) or not flag.is_flag:
        raise TypeError(f"a condition must be a flag, such as W[0].has_digit or W[0].rare(5), got {flag!r:.80}")
    return _checked_part(flag)


def _checked_part(part: Part) -> Part:
    """The part, once it is one."""
    name, column, offset, function, argument, folded = part
    if function not in (*VALUES, *FLAGS) or type(name) is not str or type(folded) is not bool:
        raise ValueError(f"{tuple(part)!r:.80} is no part of a template")
    if type(offset) is not int or type(column) is not int:
        raise TypeError(f"columns and offsets are whole numbers, got {column!r:.40} and {offset!r:.40}")
    if abs(offset) > MAX_OFFSET:
        raise ValueError(f"an offset is at most {MAX_OFFSET} tokens, got {offset}")
    if (column != -1 or offset) if function in ENDS else not 0 <= column < 2**31:
        raise ValueError(f"there is no column {column}")
    if folded and function not in FOLDED:
        raise ValueError(f"there is no {function} in lower case")
    if function in NUMBERED:
        most = 2**62 if function == "rare" else MAX_AFFIX_LENGTH
        if type(argument) is not int or not 1 <= argument <= most:
            raise ValueError(f"{function} needs a whole number from 1 to {most}, got {argument!r:.40}")
    elif type(argument) is not (str if function == "within" else type(None)):
        raise TypeError(f"{function} does not take {argument!r:.40}")
    return part
