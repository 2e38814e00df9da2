"""How much memory does a vectoriser take at its peak?

Every run is in a process of its own, which reads the texts first. What counts is the peak of its resident set until
the answer is there, names included where they are wanted, less what was resident just before.
"""

from __future__ import annotations

from timing import show  # before numpy: it sets the threads

# isort: split
import argparse
import ctypes
import gc
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from memory import resident
from vectorisers import CORPORA, QUESTIONS, SIDES, Parts

ASKED = 2, 4  # scikit-learn's peak ÷ ours
MEASURED = ("words, names", "words 1-2", "words 1-2, names", "char_wb 2-5, names", "hashed words 1-2", "tf-idf")
FEW = 100  # documents that bring in what is imported once


def alone(side: str, name: str, corpus: str) -> int:
    """Bytes that one run takes in this process."""
    question = next(question for question in QUESTIONS if question.name == name)
    parts = Parts.of(corpus)
    question.prepare(side, Parts(parts.train[:FEW], parts.test[:FEW]))()
    run = question.prepare(side, parts)
    gc.collect()
    give_back()
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    before = resident("VmRSS")
    answer = run()
    peak = resident("VmHWM")
    del answer
    return peak - before


def give_back() -> None:
    """Free heap goes to the system, where the C library can do that: else a run could fill it unseen."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim:
        trim(0)


def compare(corpus: str) -> list[dict[str, Any]]:
    """Print the table of one corpus; the same figures."""
    results, rows = [], []
    for name in MEASURED:
        peak = {}
        for side in SIDES:
            arguments = [sys.executable, __file__, side, name, corpus]
            run = subprocess.run(arguments, check=True, stdout=subprocess.PIPE, text=True)
            peak[side] = json.loads(run.stdout.splitlines()[-1])
        rows.append([name, *(peak[side] / 2**20 for side in SIDES), peak["scikit-learn"] / peak["ours"], *ASKED])
        results.append({"question": name, "bytes": peak})
    heads = ["a process each", "ours MiB", "theirs MiB", "ratio", "at least", "aim"]
    show(f"{corpus}: memory at the peak, the texts left out", heads, rows)
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("side", choices=SIDES)
    parser.add_argument("question", choices=[question.name for question in QUESTIONS])
    parser.add_argument("corpus", choices=CORPORA)
    options = parser.parse_args()
    print(json.dumps(alone(options.side, options.question, options.corpus)))


if __name__ == "__main__":
    main()
