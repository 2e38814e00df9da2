"""What does an epoch cost whose rows come from disk, and how much memory does it need?

The same corpus in memory and stored, in numpy's and in Arrow's files that the page cache holds: the further epochs of
one fit are compared, since the first one verifies the files. Then a corpus four times as large as the memory that a
process is given (``RLIMIT_AS``, which counts what is mapped, too) is learnt from in that process.
"""

from __future__ import annotations

from timing import Prepare, arguments, epochs, save, seconds, show  # before numpy: it sets the threads

# isort: split
import gc
import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from fastlin import Corpus, Perceptron, SGDClassifier
from fastlin.data import corpus as corpora
from fastlin.data.atomic_folder import AtomicFolder
from fastlin.data.shard_writer import ShardWriter
from fastlin.validation import as_rows

ROWS, LENGTH, FEATURES = 400_000, 100, 1_000_000
LARGE = 24  # segments of the corpus that does not fit
STORED = ("npy", "arrow", "as wide")  # counts on disk as float32; the last in the type of memory
LEARNERS: dict[str, Callable[..., Any]] = {
    "SGD, log loss": lambda **options: SGDClassifier(loss="log_loss", **options),
    "averaged perceptron": lambda **options: Perceptron(average=True, **options),
}


def rows(n_rows: int, dtype: Any, seed: int = 0) -> tuple[sp.csr_array, np.ndarray]:
    """Counts of features, some of which are in most rows, as of words in documents; and labels that they tell."""
    rng = np.random.default_rng(seed)
    gap = FEATURES // LENGTH
    indices = np.arange(LENGTH) * gap + rng.zipf(1.3, size=(n_rows, LENGTH)) % gap
    counts = rng.integers(1, 4, size=(n_rows, LENGTH))
    scores = np.where(indices % 3 == 0, counts, -0.5 * counts).sum(axis=1)
    labels = (scores + rng.normal(scale=3.0, size=n_rows) > np.median(scores)).astype(int)
    starts = np.arange(n_rows + 1, dtype=np.int64) * LENGTH
    return sp.csr_array((counts.ravel().astype(dtype), indices.ravel().astype(np.int32), starts)), labels


def epoch_times(folder: Path, dtype: str, repeat: int) -> dict[str, dict[str, Any]]:
    """Seconds of a further epoch, of every learner on every kind of corpus."""
    X, y = rows(ROWS, dtype)
    sides = {"memory": Corpus(X, y)}
    sides |= {kind: sides["memory"].write(folder / f"{kind}-{dtype}", kind) for kind in ("npy", "arrow")}
    sides["as wide"] = sides["memory"].write(folder / f"wide-{dtype}", "npy", dtype=dtype)
    found = {}
    for name, make in LEARNERS.items():

        def fit(corpus: Corpus, make: Callable[..., Any] = make) -> Callable[[int], Prepare]:
            def prepare(count: int) -> Any:
                model = make(max_iter=count, tol=None, random_state=0)
                return lambda: lambda: model.fit(corpus)

            return prepare

        found[name] = epochs({side: fit(corpus) for side, corpus in sides.items()}, 1, 4, repeat)
    return found


def compare_epochs(folder: Path, repeat: int) -> dict[str, Any]:
    results = {}
    for dtype in ("float32", "float64"):
        found = results[dtype] = epoch_times(folder, dtype, repeat)
        table = []
        for name, times in found.items():
            further = {side: times[side]["further"] for side in times}
            ratios = [further[side] / further["memory"] for side in STORED]
            table.append([name, *further.values(), *ratios])
        heads = ["seconds a further epoch", "memory", *STORED, *(f"{side} ÷ memory" for side in STORED)]
        show(f"{ROWS * LENGTH:,} non-zeros, {dtype}", heads, table)
    return results


def store_large(folder: Path) -> int:
    """Store many different segments, one in memory at a time; the bytes of all."""
    with AtomicFolder(folder, durable=False) as target:
        builder = ShardWriter(target, corpora.SEGMENT)
        for seed in range(LARGE):
            X, y = rows(corpora.SEGMENT // (LENGTH + 1), np.float32, seed)
            X.resize(X.shape[0], FEATURES)
            builder.add(as_rows(X), (np.arange(2), y.astype(np.int32)))
        builder.finish(FEATURES)
    return sum(path.stat().st_size for path in folder.rglob("*"))


def status(which: str) -> int:
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(f"{which}:"):
            return int(line.split()[1]) << 10
    raise SystemExit(f"/proc/self/status has no {which}")


def limited(folder: str, allowed: int, name: str) -> dict[str, float]:
    """Learn two epochs in this process, which may take so many bytes more than it has."""
    LEARNERS[name](max_iter=1, tol=None).fit(np.eye(2), [0, 1])  # what is imported once is not the fit's
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    before = status("VmRSS")
    resource.setrlimit(resource.RLIMIT_AS, (status("VmSize") + allowed,) * 2)
    corpus = Corpus(folder)
    model = LEARNERS[name](max_iter=2, tol=None, random_state=0)
    spent = seconds(lambda: model.fit(corpus))
    return {"bytes": status("VmHWM") - before, "seconds": spent, "accuracy": model.score(corpus)}


def compare_memory(folder: Path) -> dict[str, Any]:
    results: dict[str, Any] = {}
    size = store_large(folder / "large")
    table = []
    for name in LEARNERS:
        command = [sys.executable, __file__, "--limited", str(folder / "large"), str(size // 4), name]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        found = results[name] = json.loads(done.stdout.splitlines()[-1])
        table.append([name, size / 2**20, size / 4 / 2**20, found["bytes"] / 2**20, found["accuracy"]])
    show("two epochs in a process with a limit", ["", "corpus MiB", "limit MiB", "peak MiB", "accuracy"], table)
    return results


def main() -> None:
    parser = arguments(__doc__.splitlines()[0])
    parser.add_argument("--limited", nargs=3, metavar=("FOLDER", "BYTES", "LEARNER"), help="used by the script itself")
    options = parser.parse_args()
    if options.limited:
        folder, allowed, name = options.limited
        print(json.dumps(limited(folder, int(allowed), name)))
        return
    with tempfile.TemporaryDirectory(prefix="fastlin-") as folder:
        results: dict[str, Any] = {}
        for question, ask in (("epochs", lambda at: compare_epochs(at, options.repeat)), ("memory", compare_memory)):
            if not options.only or options.only in question:
                results[question] = ask(Path(folder))
    save("out_of_core", results)


if __name__ == "__main__":
    main()
