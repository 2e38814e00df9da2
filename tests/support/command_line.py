"""What the tests of the command line share: documents, and a way to run a command within the test's process."""

import io
import sys
from types import SimpleNamespace

import numpy as np

from fastlin.cli import main

WORDS = {
    "film": "film cast actor scene director plot camera screen",
    "sport": "ball goal match player team league coach score",
    "food": "bread salt oven butter recipe taste kitchen soup",
}
COMMON = "a the of and in with good bad very long was is"


def documents(n, seed=0, labels=tuple(WORDS)):
    """(label, text) of made-up documents that can be told apart, most of the time."""
    rng = np.random.default_rng(seed)
    pairs = []
    for _ in range(n):
        label = labels[rng.integers(len(labels))]
        own = rng.choice(WORDS[label].split(), size=3)
        other = rng.choice(" ".join(WORDS.values()).split(), size=2)
        words = [*own, *other, *rng.choice(COMMON.split(), size=5)]
        pairs.append((label, " ".join(rng.permutation(words))))
    return pairs


def write(path, pairs):
    path.write_text("".join(f"{label}\t{text}\n" for label, text in pairs), encoding="utf-8")
    return path


class Shell:
    """Runs commands as `main` gets them, with what they read and print."""

    def __init__(self, capsys, monkeypatch):
        self._capsys, self._monkeypatch = capsys, monkeypatch

    def __call__(self, *words, stdin=None):
        if stdin is not None:
            data = stdin if isinstance(stdin, bytes) else stdin.encode()
            self._monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), encoding="utf-8"))
        self._capsys.readouterr()
        code = main([str(word) for word in words])
        out, err = self._capsys.readouterr()
        return SimpleNamespace(code=code, out=out, err=err, lines=out.splitlines())

    def right(self, *words, stdin=None):
        """What a command prints that has nothing to complain of."""
        done = self(*words, stdin=stdin)
        assert (done.code, done.err) == (0, "")
        return done

    def wrong(self, *words, stdin=None):
        """What a command says when it was asked for something wrong: one line, no traceback."""
        done = self(*words, stdin=stdin)
        assert done.code == 2, done
        assert done.out == ""
        assert "Traceback" not in done.err
        assert len(done.err.splitlines()) == 1, done.err
        assert done.err.startswith("fastlin")
        return done.err
