"""How long does a wide model take, and how much memory?

Every fit runs in a process of its own, which loads the matrices from the cache first. Its memory is the
peak of its resident set while it fits, less what was resident just before: the kernel's own figures
(``VmHWM``, set back before the fit, and ``VmRSS``). The models are compared at one objective, which has
to be within `GAP` of the optimum, and at everybody's own tolerance.
"""

from __future__ import annotations

from timing import seconds, show  # before numpy: it sets the threads

# isort: split
import argparse
import gc
import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from contenders import GAP, Contender, Objective, ours, quietly, scikit_learn
from corpora import load

CORPUS, C = "zipf", 1.0
SIDES: dict[str, Callable[[Objective], Contender]] = {
    "ours": ours,
    "ours float32": lambda objective: ours(narrow(objective)),
    "ours observed pairs": lambda objective: ours(objective, weights="observed"),
    "scikit-learn lbfgs": lambda objective: scikit_learn(objective, "lbfgs"),
    "scikit-learn lbfgs float32": lambda objective: scikit_learn(narrow(objective), "lbfgs"),
}
OTHER_MODEL = "ours observed pairs"  # fewer weights, so another optimum
TOLERANCES = {"ours": (1e-3, 3e-4, 1e-4, 3e-5, 1e-5), "scikit-learn": (1e-5, 3e-6, 1e-6, 3e-7)}


def narrow(objective: Objective) -> Objective:
    return replace(objective, X=objective.X.astype(np.float32))


def resident(which: str) -> int:
    """Bytes that this process has in memory (VmRSS), or had at most (VmHWM)."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(f"{which}:"):
            return int(line.split()[1]) << 10
    raise SystemExit(f"/proc/self/status has no {which}")


def alone(side: str, tol: float | None) -> dict[str, float]:
    """What one fit takes and reaches, in this process."""
    corpus = load(CORPUS)
    objective = Objective(corpus.X, corpus.y, C)
    del corpus
    contender, models = SIDES[side](objective), []
    small = replace(objective, X=objective.X[:200, :200], y=objective.y[:200])
    quietly(lambda: SIDES[side](small).fit(None))  # what is imported once is not the fit's
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    before = resident("VmRSS")
    spent = quietly(lambda: seconds(lambda: models.append(contender.fit(tol))))
    return {
        "seconds": spent,
        "bytes": resident("VmHWM") - before,
        "objective": objective.value(contender.weights(models[0])),
        "iterations": int(np.max(models[0].n_iter_)),
    }


def elsewhere(side: str, tol: float | None) -> dict[str, float]:
    """`alone` in a process of its own."""
    arguments = [sys.executable, __file__, side, *([] if tol is None else [str(tol)])]
    return json.loads(subprocess.run(arguments, check=True, capture_output=True, text=True).stdout.splitlines()[-1])


def compare() -> dict[str, Any]:
    """Print the tables; the same figures. A fit is long here: each is measured once, the sides one after another."""
    corpus = load(CORPUS)
    best, bound = Objective(corpus.X, corpus.y, C).optimum(tol=1e-9)
    del corpus
    results: dict[str, Any] = {"optimum": best, "known_within": bound}
    for title in (f"to a gap of {GAP:g}", "everybody's own tolerance"):
        strict = title.startswith("to")
        found = {side: first_within(side, tolerances(side) if strict else (None,), best) for side in SIDES}
        rows = []
        for side, run in found.items():
            gap = "another model" if side == OTHER_MODEL else f"{run['objective'] / best - 1.0:.1e}"
            ratios = [run[what] / found["ours"][what] for what in ("seconds", "bytes")]
            tol = "default" if run["tol"] is None else f"{run['tol']:g}"
            rows.append([side, tol, run["iterations"], gap, run["seconds"], run["bytes"] / 2**20, *ratios])
        heads = [f"{CORPUS}, C = {C:g}: {title}", "tol", "iterations", "gap", "s", "MiB", "s ÷ ours", "MiB ÷ ours"]
        show("seconds and peak memory, each in a process of its own", heads, rows)
        results[title] = found
    return results


def tolerances(side: str) -> Sequence[float]:
    return next(given for start, given in TOLERANCES.items() if side.startswith(start))


def first_within(side: str, tried: Sequence[float | None], best: float) -> dict[str, Any]:
    """The run with the first tolerance that brings it within `GAP`; the last run, if none does."""
    for tol in tried:
        run = elsewhere(side, tol) | {"tol": tol}
        if side == OTHER_MODEL or run["objective"] <= best * (1.0 + GAP):
            break
    return run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("side", choices=SIDES)
    parser.add_argument("tol", type=float, nargs="?")
    options = parser.parse_args()
    print(json.dumps(alone(options.side, options.tol)))


if __name__ == "__main__":
    main()
