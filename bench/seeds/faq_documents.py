"""How are documents of questions and answers made, and what do their lines say of themselves?

A group of documents has a vocabulary, of words made of syllables that fall off as Zipf's law has it, and a `Manner`. A
document is a head (fields, a paragraph, sometimes a table of contents, whose lines look like questions), questions with
their answers, and a tail. An empty line belongs to what stands before it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import product

import numpy as np

Document = tuple[list[str], list[str]]  # lines and their labels

WIDTH = 64  # characters of a line of prose
GRAMMAR = (
    "the",
    "of",
    "and",
    "to",
    "a",
    "in",
    "is",
    "that",
    "it",
    "for",
    "on",
    "with",
    "as",
    "you",
    "are",
    "be",
    "this",
)
ASKING = ("what", "how", "why", "where", "when", "who", "which", "is", "are", "can", "do", "does")
SYLLABLES = ["".join(parts) for parts in product("bdfgklmnprstvz", "aeiou", ("", "n", "r", "s"))]
MARKS = ("{n}. ", "{n}) ", "[{s}.{n}] ", "{s}.{n} ", "Q{n}: ", "Q: ", "Subject: {n}. ", "* ", "")
FIELDS = ("Archive-name", "Posting-Frequency", "Last-modified", "Version", "URL", "Maintainer", "Summary", "Subject")
RULES = ("-" * 30, "=" * 60, "* * *", "")


@dataclass(frozen=True)
class Manner:
    """How the documents of a group are written."""

    words: np.ndarray
    mark: str  # before a question
    answer_mark: str
    indent: int  # of answers
    question_indent: int
    rule: str  # between an answer and the next question
    blank: float  # how likely an empty line is where one may be
    contents: float  # how likely a table of contents is
    lists: float  # how likely a paragraph of an answer is a list, a quotation or a table
    asking: float  # how likely a sentence of an answer is a question
    certain: float  # how likely a question ends with a question mark


class Writer:
    """What a generator of random numbers makes of a manner."""

    def __init__(self, manner: Manner, generator: np.random.Generator) -> None:
        self.manner, self.generator = manner, generator
        ranks = np.arange(1, len(manner.words) + 1)
        self.p = (1 / ranks) / (1 / ranks).sum()

    def likely(self, p: float) -> bool:
        return bool(self.generator.random() < p)

    def number(self, low: int, high: int) -> int:
        return int(self.generator.integers(low, high + 1))

    def some_words(self, n: int) -> list[str]:
        own = self.generator.choice(self.manner.words, n, p=self.p)
        common = self.generator.choice(GRAMMAR, n)
        return [str(b if self.likely(0.45) else a) for a, b in zip(own, common, strict=True)]

    def sentence(self, asks: bool) -> str:
        found = self.some_words(self.number(4, 14))
        if asks and self.likely(0.8):
            found.insert(0, str(self.generator.choice(ASKING)))
        return " ".join(found).capitalize() + ("?" if asks else self.generator.choice([".", ".", ".", ":", "!"]))

    def paragraph(self, indent: int) -> list[str]:
        text = " ".join(self.sentence(self.likely(self.manner.asking)) for _ in range(self.number(1, 5)))
        return wrapped(text, indent)

    def listing(self, indent: int) -> list[str]:
        """A list, a quotation or a table, which may begin as questions do."""
        kind, n = self.number(0, 3), self.number(2, 6)
        pad = " " * indent
        if kind == 0:
            return [f"{pad}{i}. {' '.join(self.some_words(self.number(2, 7)))}" for i in range(1, n + 1)]
        if kind == 1:
            return [f"> {line}" for line in wrapped(self.sentence(self.likely(0.3)), 0)]
        if kind == 2:
            return [f"{pad}{' | '.join(self.some_words(3))}" for _ in range(n)]
        return [f"{pad}http://www.{self.some_words(1)[0]}.org/{self.some_words(1)[0]}"]

    def blank(self) -> list[str]:
        return [""] if self.likely(self.manner.blank) else []

    def question(self, section: int, number: int) -> list[str]:
        asks = self.likely(self.manner.certain)
        text = self.sentence(True)[: None if asks else -1]
        return wrapped(self.manner.mark.format(s=section, n=number) + text, self.manner.question_indent)

    def head(self, questions: list[list[str]]) -> list[str]:
        fields = self.generator.permutation(FIELDS)[: self.number(2, len(FIELDS))]
        lines = [f"{name}: {' '.join(self.some_words(self.number(1, 5)))}" for name in fields]
        lines.append("")
        for _ in range(self.number(1, 3)):
            lines += [*self.paragraph(0), *self.blank()]
        if self.likely(self.manner.contents):
            lines += ["Contents", *self.blank()]
            lines += [f"  {line}" for question in questions for line in question]
            lines.append("")
        return lines

    def answer(self) -> list[str]:
        lines = self.blank()
        for place in range(self.number(1, 4)):
            listed = place > 0 and self.likely(self.manner.lists)
            made = self.listing(self.manner.indent) if listed else self.paragraph(self.manner.indent)
            if not place:
                made[0] = self.manner.answer_mark + made[0].lstrip() if self.manner.answer_mark else made[0]
            lines += [*made, *self.blank()]
        return lines

    def tail(self) -> list[str]:
        lines = [self.manner.rule] if self.likely(0.5) else []
        for _ in range(self.number(1, 2)):
            lines += [*self.paragraph(0), *self.blank()]
        endings = ["-- ", f"Copyright {self.number(1990, 2000)} {' '.join(self.some_words(2))}", "End of FAQ"]
        endings.append(f"{self.some_words(1)[0]}@{self.some_words(1)[0]}.org")
        return lines + [line for line in endings if self.likely(0.5)] + ["End"]

    def document(self) -> Document:
        sections = [self.number(2, 8) for _ in range(self.number(1, 4))]
        questions = [self.question(s, n) for s, size in enumerate(sections, 1) for n in range(1, size + 1)]
        parts = [("head", self.head(questions))]
        for question in questions:
            parts += [("question", question), ("answer", self.answer())]
            if self.manner.rule and self.likely(0.7):
                parts[-1][1].append(self.manner.rule)
        parts.append(("tail", self.tail()))
        return [line for _, lines in parts for line in lines], [label for label, lines in parts for _ in lines]


def wrapped(text: str, indent: int) -> list[str]:
    lines = [""]
    for word in text.split(" "):
        if lines[-1] and len(lines[-1]) + len(word) > WIDTH - indent:
            lines.append("")
        lines[-1] += (" " if lines[-1] else "") + word
    return [" " * indent + line for line in lines]


def make_group(n: int, generator: np.random.Generator) -> list[Document]:
    """Documents of one manner, which is drawn first."""
    words = np.unique(["".join(generator.choice(SYLLABLES, size)) for size in generator.integers(1, 4, 600)])
    manner = Manner(
        words=generator.permutation(words),
        mark=str(generator.choice(MARKS)),
        answer_mark=str(generator.choice(["A: ", "", "", ""])),
        indent=int(generator.choice([0, 0, 2, 4, 8])),
        question_indent=int(generator.choice([0, 0, 0, 2])),
        rule=str(generator.choice(RULES)),
        blank=float(generator.uniform(0.4, 1)),
        contents=float(generator.uniform(0, 0.8)),
        lists=float(generator.uniform(0, 0.6)),
        asking=float(generator.uniform(0, 0.2)),
        certain=float(generator.uniform(0.6, 1)),
    )
    return [Writer(manner, generator).document() for _ in range(n)]


TESTS: dict[str, str] = {  # the features of the paper that a pattern tells
    "begins-with-number": r"\s*\d",
    "begins-with-ordinal": r"\s*(?:first|second|third|\d+(?:st|nd|rd|th))\b",
    "begins-with-punctuation": r"\s*[^\w\s]",
    "begins-with-question-word": rf"\s*(?:{'|'.join(ASKING)})\b",
    "begins-with-subject": r"\s*subject",
    "contains-alphanum": r".*\w",
    "contains-bracketed-number": r".*[(\[]\d+(?:\.\d+)*[)\]]",
    "contains-http": r".*http",
    "contains-non-space": r".*\S",
    "contains-number": r".*\d",
    "contains-pipe": r".*\|",
    "contains-question-mark": r".*\?",
    "contains-question-word": rf".*\b(?:{'|'.join(ASKING)})\b",
    "ends-with-question-mark": r".*\?\s*$",
    "indented": r"\s+\S",
    "indented-1-to-4": r"\s{1,4}\S",
    "indented-5-to-10": r"\s{5,10}\S",
    "only-punctuation": r"[^\w]*[^\w\s][^\w]*$",
}
PATTERNS = {name: re.compile(pattern, re.IGNORECASE) for name, pattern in TESTS.items()}


def line_features(lines: list[str]) -> list[list[str]]:
    """Which of the 24 features of the paper each line has; one more that all have, for bare transitions."""
    found = []
    for place, line in enumerate(lines):
        before = lines[place - 1] if place else ""
        names = [name for name, pattern in PATTERNS.items() if pattern.match(line)]
        others = {
            "blank": not line.strip(),
            "first-alpha-is-capitalised": next(filter(str.isalpha, line), "a").isupper(),
            "more-than-one-third-space": line.count(" ") * 3 > len(line),
            "prev-is-blank": not before.strip(),
            "prev-begins-with-ordinal": bool(PATTERNS["begins-with-ordinal"].match(before)),
            "shorter-than-30": len(line) < 30,
        }
        found.append(["line", *names, *(name for name, there in others.items() if there)])
    return found


def line_words(lines: list[str]) -> list[list[str]]:
    """The words of each line, or that it has none."""
    return [re.findall(r"\w+|[^\w\s]", line.lower()) or ["(none)"] for line in lines]
