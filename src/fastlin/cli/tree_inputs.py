"""Files and pipes of trees, and of sentences to parse."""

import argparse
from collections.abc import Iterator
from typing import Any, NamedTuple

from fastlin.cli.errors import UserError
from fastlin.cli.inputs import CountedFiles, report_skipped
from fastlin.data import read
from fastlin.grammar import Tree, read_trees
from fastlin.runtime.progress import Stage

AT_ONCE = 64  # sentences that are parsed before their trees are printed
BRACKETS = str.maketrans({"(": "-LRB-", ")": "-RRB-"})  # as words of the Penn Treebank


class RawSentences(NamedTuple):
    """The words of sentences, one a line."""

    words: list[list[str]]
    path: str
    line: int  # the number of the first

    def place(self, number: int) -> str:
        """Where one of them stands."""
        return f"{self.path}, line {self.line + number}"


class TextFiles(CountedFiles):
    """Files of trees, or of sentences."""

    def trees(self, stage: Stage) -> Iterator[Tree]:
        """Trees, of which there must be some."""
        seen = 0
        for tree in read_trees(self.open(stage)):
            assert tree is not None, "a failed parse is an error"
            seen += 1
            stage.note = f"{seen:,} trees"
            yield tree
        if not seen:
            raise UserError(f"{self.name}: there are no trees")

    def sentences(self, stage: Stage, options: argparse.Namespace) -> Iterator[RawSentences]:
        """Sentences of a line each, as many as are there, but not too many at once; brackets as the Treebank has."""
        chosen = {name: getattr(options, name) for name in ("encoding", "errors", "on_error")}
        reader: Any = read(self.open(stage), "lines", **{name: value for name, value in chosen.items() if value})
        seen = 0
        for block in reader:
            for start in range(0, len(block.texts), AT_ONCE):
                texts = block.texts[start : start + AT_ONCE]
                seen += len(texts)
                stage.note = f"{seen:,} sentences"
                yield RawSentences([text.translate(BRACKETS).split() for text in texts], block.path, block.line + start)
        report_skipped(reader.skipped)
