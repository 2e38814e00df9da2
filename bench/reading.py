"""How much sooner are files read than by scikit-learn, pandas and Python's csv, with the same numbers and texts?

svmlight: the tf-idf matrix of 20 Newsgroups, the corpus `zipf` and one of small counts, written once with as many
digits as it takes (`dump_svmlight`), read from the page cache into a CSR. Text: the posts of 20 Newsgroups and a file
of short lines as TSV, and the reviews of IMDB as CSV and as JSON Lines, read into lists of labels and texts. The time
of `HashingVectorizer` of the same texts stands beside: reading is to cost little of what follows. Everything runs on
one core; what is read is compared in a first run.
"""

from __future__ import annotations

from timing import arguments, interleave, save, show  # before numpy: it sets the threads

# isort: split
import csv
import json
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.datasets import load_svmlight_file

from corpora import cache_folder, documents, load
from fastlin import HashingVectorizer
from fastlin.data import dump_svmlight, load_svmlight, read

ASKED = {"tf-idf of 20 Newsgroups": (10, 30)}
SHORT_LINES = 300_000
Texts = tuple[list[str], list[str]]


def cached(name: str, write: Callable[[Path], object]) -> Path:
    path = cache_folder() / name
    if not path.exists():
        print(f"writing {name} ...", flush=True)
        part = path.with_name(f"part-{name}")
        write(part)
        part.replace(path)
    return path


def tfidf(path: Path) -> None:
    corpus = load("newsgroups")
    dump_svmlight(corpus.X, corpus.y, path, zero_based=False)


def zipf(path: Path) -> None:
    corpus = load("zipf")
    dump_svmlight(corpus.X[:40_000], corpus.y[:40_000], path, zero_based=False)


def counts(path: Path) -> None:
    corpus = load("newsgroups")
    X = sparse.csr_matrix((np.random.default_rng(0).geometric(0.6, corpus.X.nnz), corpus.X.indices, corpus.X.indptr))
    dump_svmlight(X.astype(float), corpus.y, path, zero_based=False)


def posts(path: Path) -> None:
    labels, texts = documents("20newsgroups", "train")
    path.write_text("".join(f"{label}\t{text}\n" for label, text in zip(labels, texts, strict=True)), newline="\n")


def short_lines(path: Path) -> None:
    _, texts = documents("20newsgroups", "train")
    words = " ".join(texts).split()
    lines = (f"label{i % 7}\t{' '.join(words[8 * i : 8 * i + 8])}\n" for i in range(SHORT_LINES))
    path.write_text("".join(lines), newline="\n")


def reviews_csv(path: Path) -> None:
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["label", "text"])
        writer.writerows(zip(*documents("imdb", "train"), strict=True))


def reviews_jsonl(path: Path) -> None:
    pairs = zip(*documents("imdb", "train"), strict=True)
    lines = (json.dumps({"label": label, "text": text}) + "\n" for label, text in pairs)
    path.write_text("".join(lines), newline="\n")


MATRICES = {"tf-idf of 20 Newsgroups": tfidf, "zipf": zipf, "counts": counts}
TEXTS = {"posts of 20 Newsgroups": posts, "short lines": short_lines}
CSV = {"reviews as CSV": reviews_csv}
JSONL = {"reviews as JSON Lines": reviews_jsonl}


# --- who reads -------------------------------------------------------------------------------------------------------


def ours_text(path: Path) -> Texts:
    labels, texts = [], []
    for found in read(path):
        labels += found.labels
        texts += found.texts
    return labels, texts


def plain_python(path: Path) -> Texts:
    with open(path, encoding="utf-8", newline="\n") as file:
        pairs = [line.rstrip("\n").split("\t", 1) for line in file]
    return [label for label, _ in pairs], [text for _, text in pairs]


def csv_module(path: Path) -> Texts:
    csv.field_size_limit(sys.maxsize)
    with open(path, encoding="utf-8", newline="") as file:
        pairs = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    return [label for label, _ in pairs], [text for _, text in pairs]


def pandas(path: Path) -> Texts:
    import pandas as pd

    table = pd.read_csv(path, sep="\t", quoting=csv.QUOTE_NONE, header=None, keep_default_na=False, dtype=str)
    return table[0].tolist(), table[1].tolist()


def quoted_csv(path: Path) -> Texts:
    csv.field_size_limit(sys.maxsize)
    with open(path, encoding="utf-8", newline="") as file:
        _, *pairs = csv.reader(file)
    return [label for label, _ in pairs], [text for _, text in pairs]


def arrow_csv(path: Path) -> Texts:
    from pyarrow import csv as arrow

    table = arrow.read_csv(
        path,
        read_options=arrow.ReadOptions(use_threads=False),
        parse_options=arrow.ParseOptions(newlines_in_values=True),
        convert_options=arrow.ConvertOptions(column_types={"label": "string", "text": "string"}),
    )
    return table["label"].to_pylist(), table["text"].to_pylist()


def objects(path: Path, loads: Callable[[bytes], dict[str, str]]) -> Texts:
    with open(path, "rb") as file:
        found = [loads(line) for line in file]
    return [each["label"] for each in found], [each["text"] for each in found]


def json_module(path: Path) -> Texts:
    return objects(path, json.loads)


def orjson(path: Path) -> Texts:
    import orjson as peer

    return objects(path, peer.loads)


def hashed(path: Path) -> Any:
    """What follows: not a reader, but what reading is measured by."""
    _, texts = KEPT.setdefault(path, ours_text(path))
    return HashingVectorizer().transform(texts)


KEPT: dict[Path, Texts] = {}
SPARSE = {"fastlin": load_svmlight, "scikit-learn": load_svmlight_file}
TEXTUAL = {"fastlin": ours_text, "Python": plain_python, "csv": csv_module, "pandas": pandas}
QUOTED = {"fastlin": ours_text, "csv": quoted_csv, "pyarrow": arrow_csv, "hashing": hashed}
OBJECTS = {"fastlin": ours_text, "json": json_module, "orjson": orjson, "hashing": hashed}


def same_rows(one: Any, other: Any) -> bool:
    (X, y), (Z, z) = one, other
    return bool(
        X.shape == Z.shape
        and np.array_equal(X.data.view(np.int64), Z.data.view(np.int64))
        and np.array_equal(X.indices, Z.indices)
        and np.array_equal(X.indptr, Z.indptr)
        and np.array_equal(y, z)
    )


def compare(
    title: str,
    questions: dict[str, Callable[[Path], None]],
    readers: dict[str, Any],
    same: Callable[[Any, Any], bool],
    suffix: str,
    repeat: int,
) -> list[dict[str, Any]]:
    """Print a table of MB/s and of ratios to ours; the same figures."""
    results, rows = [], []
    for name, write in questions.items():
        path = cached(f"reading-{name.replace(' ', '-')}{suffix}", write)
        ours = readers["fastlin"](path)
        agreement = all(
            same(ours, reader(path)) for side, reader in readers.items() if side not in ("fastlin", "hashing")
        )
        del ours
        contenders = {side: lambda reader=reader, path=path: lambda: reader(path) for side, reader in readers.items()}
        spent = {side: median(times) for side, times in interleave(contenders, repeat).items()}
        megabytes = path.stat().st_size / 1e6
        ratios = {side: seconds / spent["fastlin"] for side, seconds in spent.items() if side != "fastlin"}
        asked = ASKED.get(name, ("", ""))
        verdict = "same" if agreement else "DIFFERENT"
        rates = [megabytes / seconds for seconds in spent.values()]
        rows.append([name, megabytes, *rates, *ratios.values(), *asked, verdict])
        results.append({"question": name, "megabytes": megabytes, "seconds": spent, "asked": asked, "same": agreement})
    heads = [f"{side} MB/s" for side in readers] + [f"÷ {side}" for side in readers if side != "fastlin"]
    show(title, ["file", "MB", *heads, "at least", "aim", "answers"], rows)
    return results


def main() -> None:
    options = arguments(__doc__.splitlines()[0]).parse_args()
    only = options.only or ""
    results = {}
    for title, questions, readers, same, suffix in (
        ("svmlight into memory", MATRICES, SPARSE, same_rows, ".svm"),
        ("TSV into lists", TEXTS, TEXTUAL, lambda one, other: one == other, ".tsv"),
        ("CSV into lists", CSV, QUOTED, lambda one, other: one == other, ".csv"),
        ("JSON Lines into lists", JSONL, OBJECTS, lambda one, other: one == other, ".jsonl"),
    ):
        wanted = {name: write for name, write in questions.items() if only in name}
        if wanted:
            results[title] = compare(title, wanted, readers, same, suffix, options.repeat)
    save("reading", results)


if __name__ == "__main__":
    main()
