"""What do columns of Arrow's strings cost a vectoriser, a list of the same strings being 1?

The containers of one set of documents take turns on one core; a column that becomes a list first, with `to_pylist` or
`tolist`, is what there was to do without reading in place.
"""

from __future__ import annotations

from timing import arguments, interleave, save, show  # before numpy: it sets the threads

# isort: split
from statistics import median
from time import process_time
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

from corpora import documents
from fastlin import HashingVectorizer

LEAST = 1.1  # what the time of a column may be, a list's being 1
FIRST = 60  # characters of short documents
CONTAINERS = {
    "list": list,
    "numpy, objects": lambda texts: np.array(texts, object),
    "pandas, objects": lambda texts: pd.Series(texts, dtype=object),
    "pandas, default": pd.Series,
    "pandas, Arrow": lambda texts: pd.Series(texts, dtype=pd.ArrowDtype(pa.string())),
    "Polars": pl.Series,
    "pyarrow": pa.array,
    "pyarrow, chunks": lambda texts: pa.chunked_array([texts[: len(texts) // 2], texts[len(texts) // 2 :]]),
}


def compare(name: str, texts: list[str], repeat: int) -> list[dict[str, Any]]:
    """CPU seconds of each container; the matrices must be equal."""
    held = {kind: make(texts) for kind, make in CONTAINERS.items()}
    expected = HashingVectorizer().transform(texts)
    for column in held.values():
        assert (HashingVectorizer().transform(column) != expected).nnz == 0
    runs = {kind: lambda column=column: lambda: HashingVectorizer().transform(column) for kind, column in held.items()}
    runs["pyarrow.to_pylist()"] = lambda: lambda: HashingVectorizer().transform(held["pyarrow"].to_pylist())
    times = {kind: median(each) for kind, each in interleave(runs, repeat, process_time).items()}
    return [
        {"documents": name, "container": kind, "seconds": spent, "÷ list": spent / times["list"], "at most": LEAST}
        for kind, spent in times.items()
    ]


def main() -> None:
    options = arguments(__doc__).parse_args()
    _, texts = documents("imdb", "train")
    texts = list(texts)[:4_000]
    rows = compare("reviews", texts, options.repeat)
    rows += compare("their beginnings", [text[:FIRST] for text in texts] * 5, options.repeat)
    columns = ["documents", "container", "÷ list", "at most"]
    show("HashingVectorizer", columns, [[row[name] for name in columns] for row in rows])
    save("arrow_strings", rows)


if __name__ == "__main__":
    main()
