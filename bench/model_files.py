"""How long until a model in a file gives its first answer, and what do smaller files cost?

A model of a gigabyte (weights at random: only their number counts) is loaded and asked for one row: by fastlin with and
without its digests, and, of scikit-learn's twin with the same weights, by joblib and pickle. Then 20 Newsgroups: the
bytes and the accuracy of files of every type, measured on a fifth of the training documents; on the test documents for
what is printed last.
"""

from __future__ import annotations

from timing import arguments, interleave, save, show  # before numpy: it sets the threads

# isort: split
import pickle
import tempfile
import zlib
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import joblib
import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression as Twin
from sklearn.pipeline import make_pipeline

import fastlin
from corpora import DEV_SHARE, documents

LABELS = 20
ASKED = {"load, every digest and bound": 0.5, "load, verify=False": 0.05}
FILES: dict[str, dict[str, Any]] = {
    "as it is": {},
    "float32": {"dtype": "float32"},
    "float16": {"dtype": "float16"},
    "int8": {"dtype": "int8"},
    "int8, prune 0.02": {"dtype": "int8", "prune": 0.02},
    "int8, prune 0.1": {"dtype": "int8", "prune": 0.1},
}


def large(kind: type, size: int) -> Any:
    """A model of so many bytes of weights."""
    model, n_features = kind(), size // (8 * LABELS)
    model.coef_ = np.random.default_rng(0).standard_normal((n_features, LABELS)).T
    model.intercept_, model.classes_, model.n_features_in_ = np.zeros(LABELS), np.arange(LABELS), n_features
    return model


def row(n_features: int) -> sp.csr_array:
    """One document of 100 words."""
    columns = np.arange(100) * (n_features // 100)
    return sp.csr_array((np.ones(100), columns, [0, 100]), shape=(1, n_features))


def first_answers(folder: Path, gigabytes: float, repeat: int) -> dict[str, float]:
    """Seconds from the file, in the page cache, to the first label."""
    size = int(gigabytes * 1e9)
    model, twin = large(fastlin.LogisticRegression, size), large(Twin, size)
    document = row(model.n_features_in_)
    fastlin.save(model, folder / "model.fastlin")
    joblib.dump(twin, folder / "twin.joblib")
    with open(folder / "twin.pickle", "wb") as file:
        pickle.dump(twin, file, protocol=5)
    expected = model.predict(document)
    del model, twin

    def unpickled() -> Any:
        with open(folder / "twin.pickle", "rb") as file:
            return pickle.load(file)

    ways: dict[str, Callable[[], Any]] = {
        "load, every digest and bound": lambda: fastlin.load(folder / "model.fastlin"),
        "load, verify=False": lambda: fastlin.load(folder / "model.fastlin", verify=False),
        "load, mmap=False": lambda: fastlin.load(folder / "model.fastlin", mmap=False),
        "joblib, scikit-learn": lambda: joblib.load(folder / "twin.joblib"),
        "joblib, mapped": lambda: joblib.load(folder / "twin.joblib", mmap_mode="r"),
        "pickle, scikit-learn": unpickled,
    }

    def answer(way: Callable[[], Any]) -> None:
        if (way().predict(document) != expected).any():
            raise AssertionError("another label")

    spent = interleave({name: lambda way=way: lambda: answer(way) for name, way in ways.items()}, repeat)
    seconds = {name: median(times) for name, times in spent.items()}
    title = f"A model of {gigabytes:g} GB, {LABELS} labels: seconds to the first label"
    show(title, ["way", "s", "at most"], [[name, seconds[name], ASKED.get(name, "")] for name in ways])
    return seconds


def sizes(folder: Path) -> list[dict[str, Any]]:
    """Bytes and accuracies of the files of a pipeline."""
    labels, texts = documents("20newsgroups", "train")
    held = np.array([zlib.crc32(text.encode()) % DEV_SHARE == 0 for text in texts])
    parts = {"dev": _chosen(texts, labels, held), "test": documents("20newsgroups", "test")[::-1]}
    learnt = {"dev": _chosen(texts, labels, ~held), "test": (texts, labels)}
    found: dict[str, dict[str, Any]] = {name: {"file": name} for name in FILES}
    for part, (X, y) in parts.items():
        steps = fastlin.TfidfVectorizer(sublinear_tf=True), fastlin.LinearSVC(C=1.0, tol=0.1, random_state=0)
        model = make_pipeline(*steps).fit(*learnt[part])
        for name, options in FILES.items():
            report = fastlin.save(model, folder / "pipeline.fastlin", X=X, y=y, **options)
            found[name] |= {"bytes": report["bytes"], "weights": report["weights"]}
            found[name][part] = report["accuracy_saved"]
    rows = [[name, one["bytes"] / 1e6, one["weights"], f"{one['dev']:.2%}"] for name, one in found.items()]
    show("20 Newsgroups, words", ["file", "MB", "weights", "right on dev"], rows)
    show("20 Newsgroups, words", ["file", "right on test"], [[n, f"{one['test']:.2%}"] for n, one in found.items()])
    return list(found.values())


def _chosen(texts: list[str], labels: list[str], held: np.ndarray) -> tuple[list[str], list[str]]:
    places = np.flatnonzero(held).tolist()
    return [texts[place] for place in places], [labels[place] for place in places]


def main() -> None:
    parser = arguments(__doc__.splitlines()[0])
    parser.add_argument("--gigabytes", type=float, default=1.0, help="of the large model's weights")
    options = parser.parse_args()
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name:
        if options.only in (None, "load"):
            results["load"] = first_answers(Path(name), options.gigabytes, options.repeat)
        if options.only in (None, "sizes"):
            results["sizes"] = sizes(Path(name))
    if options.only is None:
        save("model_files", results)


if __name__ == "__main__":
    main()
