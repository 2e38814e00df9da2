"""How good are the trees of grammars that learn from a twentieth of the Wall Street Journal?

Trees 10, 20, … of the Penn sample are the test part (391), trees 9, 19, … the development part (391), the others are
learnt from (3,132). Words come without tags; functions, traces and what is empty without them are removed; figures are
EVALB's with COLLINS's settings, of all lengths, every sentence parsed. Every choice is made on the development part,
which is what is judged if nobody says otherwise; --test reads the test part.

    python bench/seeds/parsing.py                    # each model on the development part
    python bench/seeds/parsing.py --only "v = 2"     # some of them
    python bench/seeds/parsing.py --grid             # orders, horizontal and vertical, of the most probable trees
    python bench/seeds/parsing.py --test
"""

from __future__ import annotations

from common import show  # before numpy: it sets the threads

# isort: split
import argparse
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from common import save
from corpora import data_folder
from fastlin.grammar import PCFG, SpanCRF, Tree, evalb, read_trees
from fastlin.grammar.evaluation import pairs_to_judge

PLAIN = {"vertical": 1, "horizontal": None, "split_tags": False}
MARKOVISED = {"vertical": 2, "horizontal": 1, "split_tags": False}
PUBLISHED = "WSJ 02–21, 39,832 trees"  # what the published models have learnt from
HORIZONTAL, VERTICAL = (0, 1, 2, None), (1, 2, 3)


@dataclass(frozen=True)
class Contender:
    """A model, and what was published of one like it."""

    name: str
    make: Callable[[], Any]
    published: str = ""


CONTENDERS = (
    Contender("plain grammar: v = 1, all children before", lambda: PCFG(decoding="viterbi", **PLAIN)),
    Contender("the same, most expected constituents", lambda: PCFG(**PLAIN)),
    Contender(
        "Markovised: v = 2, h = 1", lambda: PCFG(decoding="viterbi", **MARKOVISED),
        "77.8 (Klein & Manning 2003, v and h up to 2)",
    ),
    Contender("the same, most expected constituents", lambda: PCFG(**MARKOVISED)),
    Contender(
        "v = 2, h = 1, tags split by parents", lambda: PCFG(decoding="viterbi"),
        "85.7, up to 40 words 86.3 (Klein & Manning 2003, with all that they split by hand)",
    ),
    Contender("the same, most expected constituents", PCFG),
    Contender("log-linear rules", lambda: PCFG(rules="loglinear")),
    Contender("SpanCRF, h = 0", lambda: SpanCRF(horizontal=0, random_state=0)),
    Contender("SpanCRF, h = 1", lambda: SpanCRF(horizontal=1, random_state=0)),
)  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    """EVALB's figures of a model, per cent, and its seconds."""

    contender: Contender
    figures: dict[str, float]
    seconds: dict[str, float]


def parts() -> dict[str, list[Tree]]:
    """The trees to learn from, of development, and of the test."""
    found: dict[str, list[Tree]] = {"train": [], "dev": [], "test": []}
    for number, tree in enumerate(read_trees(data_folder() / "treebank" / "trees.mrg.gz"), 1):
        assert tree is not None
        found[{0: "test", 9: "dev"}.get(number % 10, "train")].append(tree)
    return found


def attempt(contender: Contender, train: list[Tree], judged: list[Tree]) -> Outcome:
    start = perf_counter()
    model = contender.make().fit(train)
    learnt = perf_counter()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        gold, predicted = pairs_to_judge(model, judged)
    parsed = perf_counter()
    report = evalb(gold, predicted)
    figures = {
        "F1": report.overall.f1, "precision": report.overall.precision, "recall": report.overall.recall,
        "F1 ≤ 40": report.up_to_cutoff.f1, "complete": report.overall.complete_match,
        "tags": report.overall.tag_accuracy,
    }  # fmt: skip
    found = {name: 100.0 * value for name, value in figures.items()}
    n_unparsed = sum(int(str(each.message).split()[0]) for each in told if "have no tree" in str(each.message))
    n_left_out = report.overall.n_sentences - report.overall.n_valid
    found |= {"without a tree": float(n_unparsed), "not judged": float(n_left_out)}
    print(f"{contender.name}: F1 {found['F1']:.2f}, {parsed - start:.0f} s", flush=True)
    return Outcome(contender, found, {"learning": learnt - start, "a sentence": (parsed - learnt) / len(gold)})


def table(part: str, found: list[Outcome]) -> None:
    columns = ["model", "F1", "≤ 40", "precision", "recall", "complete", "tags", "no tree", "s", "ms", "published"]
    shown = ("F1", "F1 ≤ 40", "precision", "recall", "complete", "tags")
    rows = [
        [
            each.contender.name,
            *(f"{each.figures[name]:.2f}" for name in shown),
            f"{each.figures['without a tree']:.0f}",
            f"{each.seconds['learning']:.1f}",
            f"{1e3 * each.seconds['a sentence']:.1f}",
            each.contender.published,
        ]
        for each in found
    ]
    show(f"labelled F1 on the {part} part; published models learn from {PUBLISHED}", columns, rows)


def grid() -> Iterator[Contender]:
    """Klein and Manning's orders, with tags as they are."""
    for vertical in VERTICAL:
        for horizontal in HORIZONTAL:
            options = {"vertical": vertical, "horizontal": horizontal, "split_tags": False, "decoding": "viterbi"}
            yield Contender(
                f"v = {vertical}, h = {'all' if horizontal is None else horizontal}",
                lambda options=options: PCFG(**options),  # type: ignore[misc]
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    part = parser.add_mutually_exclusive_group()
    part.add_argument("--dev", action="store_true", help="judge the development part, which is the default")
    part.add_argument("--test", action="store_true", help="judge the test part: once, when all is chosen")
    parser.add_argument("--only", help="only the models whose name contains this")
    parser.add_argument("--grid", action="store_true", help="orders of Markovisation, on the development part")
    options = parser.parse_args()
    if options.grid and options.test:
        parser.error("the grid is there to choose from, which the test part is not")
    trees, name = parts(), "test" if options.test else "dev"
    contenders = list(grid()) if options.grid else CONTENDERS
    chosen = [one for one in contenders if options.only is None or options.only in one.name]
    found = [attempt(one, trees["train"], trees[name]) for one in chosen]
    table(name, found)
    results = [{"model": one.contender.name, "figures": one.figures, "seconds": one.seconds} for one in found]
    save(f"parsing_{'grid' if options.grid else name}", results)


if __name__ == "__main__":
    main()
