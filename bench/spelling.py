"""How fast is spelling corrected, and what does its index of words cost?

The dictionary is the words of IMDB's training reviews that are seen five times. For one to three edits: CPU seconds to
make the index of deletes, its megabytes, and words looked up a second. Then misspelt words corrected a second, alone,
with plain edits and with rules learnt from pairs, in turns with Norvig's rule in Python (the most frequent word within
one edit, or else within two), on few of them; words of running text corrected a second, one of thirty with an edit; and
the model file: megabytes, seconds to save and to load it up to the first correction.
"""

from __future__ import annotations

from timing import arguments, save, show  # before numpy: it sets the threads

# isort: split
import gzip
import string
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

import numpy as np

import fastlin
from corpora import data_folder
from fastlin.channel import SpellingCorrector
from fastlin.channel.letters import as_letters
from fastlin.engine.channel.deletes_index import MOST_EDITS, DeletesIndex

MIN_COUNT = 5
PREFIX_LENGTH = 7
N_PAIRS = 4000  # that are corrected; the others are learnt from
N_NORVIG = 40  # words
N_REVIEWS = 1000
EDITED = 1 / 30  # of the words


def reviews(part: str) -> list[str]:
    with gzip.open(data_folder() / "imdb" / f"{part}.tsv.gz", "rt", encoding="utf-8", newline="\n") as lines:
        return [line.rstrip("\n").split("\t", 1)[1] for line in lines]


def misspellings() -> list[tuple[str, str]]:
    with gzip.open(data_folder() / "spelling/pairs.tsv.gz", "rt", encoding="utf-8") as lines:
        pairs = [tuple(line.lower().split("\t")[:2]) for line in lines]
    return [(right, wrong) for right, wrong in pairs if right != wrong and "_" not in right + wrong]


def timed(run: Callable[[], Any], repeat: int) -> float:
    """Median CPU seconds; a first round does not count."""
    times = []
    for _ in range(repeat + 1):
        start = process_time()
        run()
        times.append(process_time() - start)
    return median(times[1:])


def edits_of(word: str) -> set[str]:
    """All that one edit makes of a word."""
    splits = [(word[:i], word[i:]) for i in range(len(word) + 1)]
    letters = string.ascii_lowercase
    gone = {left + right[1:] for left, right in splits if right}
    changed = {left + letter + right[1:] for left, right in splits if right for letter in letters}
    turned = {left + right[1] + right[0] + right[2:] for left, right in splits if len(right) > 1}
    return gone | changed | turned | {left + letter + right for left, right in splits for letter in letters}


def norvig(word: str, counts: dict[str, int]) -> str:
    def known(words: Iterable[str]) -> set[str]:
        return {one for one in words if one in counts}

    near = known([word]) or known(edits_of(word)) or known(two for one in edits_of(word) for two in edits_of(one))
    return max(near, key=lambda one: counts[one], default=word)


def index_rows(words: list[str], wrong: list[str], repeat: int) -> list[list[object]]:
    letters, queries, rows = as_letters(words), as_letters(wrong), []
    for max_edits in range(1, MOST_EDITS + 1):
        index = DeletesIndex(*letters, max_edits, PREFIX_LENGTH, 1)

        def make(max_edits: int = max_edits) -> DeletesIndex:
            return DeletesIndex(*letters, max_edits, PREFIX_LENGTH, 1)

        def look_up(index: DeletesIndex = index, max_edits: int = max_edits) -> Any:
            return index.neighbours(*queries, max_edits)

        found = len(look_up()[1]) / len(wrong)
        rows.append([max_edits, timed(make, repeat), index.nbytes / 1e6, len(wrong) / timed(look_up, repeat), found])
    return rows


def words_alone(
    counts: dict[str, int], learnt: list[tuple[str, str]], wrong: list[str], repeat: int
) -> list[list[object]]:
    rows: list[list[object]] = []
    for name, pairs in (("plain edits", None), ("rules of pairs", learnt)):
        model = SpellingCorrector(source=counts, error_rate=0.5).fit(pairs=pairs)
        rows.append([name, len(wrong) / timed(lambda model=model: model.correct_words(wrong), repeat)])  # type: ignore[misc]
    some = wrong[:: len(wrong) // N_NORVIG]
    rows.append(["Norvig's rule", len(some) / timed(lambda: [norvig(word, counts) for word in some], 1)])
    return rows


def with_edits(texts: list[str], seed: int) -> list[str]:
    """Texts in which some words have lost a letter."""
    generator, found = np.random.default_rng(seed), []
    for text in texts:
        words = text.split(" ")
        for place in np.flatnonzero(generator.random(len(words)) < EDITED).tolist():
            at = int(generator.integers(len(words[place]) + 1))
            words[place] = words[place][:at] + words[place][at + 1 :]
        found.append(" ".join(words))
    return found


def model_file(model: SpellingCorrector) -> list[object]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model")
        start = process_time()
        fastlin.save(model, path)
        saved = process_time()
        fastlin.load(path).correct_word("cofee")
        return [path.stat().st_size / 1e6, saved - start, process_time() - saved]


def main() -> None:
    parser = arguments(__doc__)
    options = parser.parse_args()
    train, test = reviews("train"), reviews("test")[:N_REVIEWS]
    start = process_time()
    model = SpellingCorrector(min_count=MIN_COUNT).fit(train)
    fit_seconds = process_time() - start
    prior = model.source_.counts_.counts[0]
    names = model.source_.words_
    known = set(model.words_)
    counts = {name: int(n) for name, n in zip(names, prior[1:].tolist(), strict=True) if name in known}
    pairs = misspellings()
    wrong = [one for _, one in pairs[:: len(pairs) // N_PAIRS]][:N_PAIRS]
    tables: dict[str, tuple[list[str], list[list[object]]]] = {}
    columns = ["edits", "seconds to make", "MB", "words/s", "found a word"]
    tables[f"Index of {len(model.words_):,} words"] = columns, index_rows(model.words_, wrong, options.repeat)
    learnt = [pair for pair in pairs if pair[1] not in set(wrong)]
    tables["Words alone"] = ["channel", "words/s"], words_alone(counts, learnt, wrong, options.repeat)
    edited = with_edits(test, 0)
    n_words = sum(len(text.split()) for text in edited)
    rate = n_words / timed(lambda: model.predict(edited), options.repeat)
    tables["In context"] = ["fit, s", "words/s"], [[fit_seconds, rate]]
    tables["Model file"] = ["MB", "save, s", "load and correct a word, s"], [model_file(model)]
    for title, (heads, rows) in tables.items():
        show(title, heads, rows)
    save(
        "spelling",
        {title: [dict(zip(heads, row, strict=True)) for row in rows] for title, (heads, rows) in tables.items()},
    )


if __name__ == "__main__":
    main()
