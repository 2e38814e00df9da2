"""How does CRFsuite run at its best from Python?

Through python-crfsuite, whose trainer takes lists of strings. It is told to hold nothing out and to print nothing, and
its own stopping rules are put out of its way, so that ``max_iterations`` decides. Its losses and seconds are those of
its log. Training ends with the model in a file, as it always does.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from chunks import Features, Part

NEVER = {"epsilon": 1e-15, "delta": 1e-15}  # what would end a training by itself
MEMORIES = (6, 3, 10, 20)  # of L-BFGS; the first is the default


class Trainer:
    """A training set that CRFsuite has taken in, and where its model goes."""

    def __init__(self, part: Part, algorithm: str, **parameters: Any) -> None:
        from pycrfsuite import Trainer as Theirs

        self._trainer = Theirs(algorithm=algorithm, params=parameters, verbose=False)
        for tokens, labels in zip(part.X, part.y, strict=True):
            self._trainer.append(tokens, labels)

    def train(self, path: Path | str) -> list[dict[str, Any]]:
        """Learn; the records of its log, an iteration each."""
        self._trainer.train(str(path), -1)
        return self._trainer.logparser.iterations


def crf(part: Part, c2: float, iterations: int, memories: int = MEMORIES[0]) -> Trainer:
    """L-BFGS, observed weights."""
    return Trainer(part, "lbfgs", c2=c2, max_iterations=iterations, num_memories=memories, period=10, **NEVER)


def perceptron(part: Part, epochs: int) -> Trainer:
    """The averaged perceptron."""
    return Trainer(part, "ap", max_iterations=epochs, epsilon=0.0)


@contextmanager
def tagger(path: Path | str) -> Iterator[Any]:
    from pycrfsuite import Tagger

    theirs = Tagger()
    theirs.open(str(path))
    try:
        yield theirs
    finally:
        theirs.close()


def tag(theirs: Any, X: list[Features]) -> list[list[str]]:
    return [theirs.tag(tokens) for tokens in X]


@contextmanager
def place() -> Iterator[Path]:
    """A path for models, in memory where the system has a folder there."""
    shared = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shared if shared.is_dir() else None) as folder:
        yield Path(folder) / "model"
