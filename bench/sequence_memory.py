"""How much memory does a training take at its peak, ours and CRFsuite's?

Every training is in a process of its own, which reads the feature lists first. What counts is the peak of its resident
set until there is a model, less what was resident just before; CRFsuite's copy of the features is part of it, as is our
matrix of them.
"""

from __future__ import annotations

import timing  # noqa: F401  before numpy: it sets the threads

# isort: split
import argparse
import gc
import json
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import crfsuite
from chunks import Part, load
from fastlin.sequence import CRF, StructuredPerceptron
from memory import resident
from text_memory import give_back

ITERATIONS = {"crf": 30, "perceptron": 5}
FEW = 20  # sentences that bring in what is imported once
C2 = 1.0


def ours(what: str, part: Part) -> object:
    if what == "crf":
        return CRF(c2=C2, tol=0, max_iter=ITERATIONS[what]).fit(part.X, part.y)
    return StructuredPerceptron(max_iter=ITERATIONS[what], weights="observed", random_state=0).fit(part.X, part.y)


def theirs(what: str, part: Part) -> object:
    with crfsuite.place() as path:
        if what == "crf":
            return crfsuite.crf(part, C2, ITERATIONS[what]).train(path)
        return crfsuite.perceptron(part, ITERATIONS[what]).train(path)


SIDES: dict[str, Callable[[str, Part], object]] = {"ours": ours, "CRFsuite": theirs}


def alone(side: str, what: str, sentences: int) -> int:
    """Bytes that one training takes in this process."""
    part = load("train", sentences)
    SIDES[side](what, part.first(FEW))
    gc.collect()
    give_back()
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    before = resident("VmRSS")
    SIDES[side](what, part)
    return resident("VmHWM") - before


def elsewhere(side: str, what: str, sentences: int) -> int:
    """`alone` in a process of its own."""
    arguments = [sys.executable, __file__, side, what, str(sentences)]
    run = subprocess.run(arguments, check=True, stdout=subprocess.PIPE, text=True)
    return int(json.loads(run.stdout.splitlines()[-1]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("side", choices=SIDES)
    parser.add_argument("what", choices=ITERATIONS)
    parser.add_argument("sentences", type=int)
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # that fits are cut short
    print(json.dumps(alone(options.side, options.what, options.sentences)))


if __name__ == "__main__":
    main()
