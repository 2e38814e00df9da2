"""How long do grammars parse, beside NLTK's, and do they find the same?

The grammar is counted from eight trees in ten of the Penn sample (v = 2, h = 1: about a thousand symbols, five thousand
binary rules), and sentences are those of another tenth, of 38 to 42 words and shorter ones. Nothing is pruned. NLTK's
ViterbiParser has the same rules, and those words of the lexicon that a sentence has; without max_time=None it gives up
after five seconds. CPU seconds, in turns.

    python bench/parsing.py
    python bench/parsing.py --only nltk       # or: viterbi, inside, short, files, threads
"""

from __future__ import annotations

from timing import all_cores, arguments, save, show  # before numpy: it sets the threads

# isort: split
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

import nltk
import numpy as np

import fastlin
from corpora import data_folder
from fastlin.grammar import PCFG, Tree, read_trees

OPTIONS = {"vertical": 2, "horizontal": 1, "decoding": "viterbi"}
LONG = range(38, 43)  # words
NLTK_LENGTHS = (12, 20)
SHORT = range(3, 11)
Words = list[list[str]]


def trees() -> tuple[list[Tree], list[Tree]]:
    """Those to learn from, and those whose words are parsed."""
    found: tuple[list[Tree], list[Tree]] = [], []
    for number, tree in enumerate(read_trees(data_folder() / "treebank" / "trees.mrg.gz"), 1):
        assert tree is not None
        if number % 10:
            found[number % 10 == 9].append(tree)
    return found


def seconds_of(run: Callable[[], object], repeat: int) -> float:
    """Median CPU seconds, after a run that does not count."""
    times = []
    for _ in range(repeat + 1):
        start = process_time()
        run()
        times.append(process_time() - start)
    return median(times[1:])


def words_of(grammar: PCFG, judged: list[Tree], lengths: range | tuple[int, ...]) -> Words:
    """The words of trees that have so many."""
    kept = (tree.leaves() for tree in grammar._learnt.form.cleaned(judged) if tree is not None)
    return [words for words in kept if len(words) in lengths]


def viterbi(grammars: dict[str, PCFG], judged: list[Tree], repeat: int) -> list[list[object]]:
    """Milliseconds of the best tree of a long sentence, and of the tree of the most expected constituents."""
    rows: list[list[object]] = []
    for name, grammar in grammars.items():
        sentences = words_of(grammar, judged, LONG)
        for decoding in ("viterbi", "recall"):
            spent = seconds_of(lambda: grammar.set_params(decoding=decoding).predict(sentences), repeat)  # noqa: B023
            rows.append([f"{name}, {decoding}", 1e3 * spent / len(sentences), len(sentences)])
        grammar.set_params(decoding="viterbi")
    return rows


def inside(grammars: dict[str, PCFG], judged: list[Tree], repeat: int) -> list[list[object]]:
    """Milliseconds of the sum over all trees of a long sentence, and with the counts of every rule."""
    rows: list[list[object]] = []
    for name, grammar in grammars.items():
        state = grammar._learnt
        sentences = [state.lexicon(words) for words in words_of(grammar, judged, LONG)]
        charts, parser = state.charts, state.charts.summing_parser()
        rules, chains = np.zeros(len(state.rules.binary)), np.zeros(len(charts.chain_sums.parent))

        def count() -> None:
            for tags in sentences:  # noqa: B023
                n = len(tags.start) - 1
                spans = np.zeros((n * (n + 1) // 2, len(charts.labels)))  # noqa: B023
                charts.log_sum(parser, tags)  # noqa: B023
                parser.outside(1.0, rules, chains, np.zeros(len(tags.symbol)), spans)  # noqa: B023

        alone = seconds_of(lambda: [charts.log_sum(parser, tags) for tags in sentences], repeat)  # noqa: B023
        both = seconds_of(count, repeat)
        rows.append([name, 1e3 * alone / len(sentences), 1e3 * both / len(sentences), len(sentences)])
    return rows


def nltk_parser(grammar: PCFG, words: list[str]) -> nltk.ViterbiParser:
    """The same rules, with the words of a sentence; what other words have of a tag is one that it does not have."""
    state = grammar._learnt
    rules, weights = state.rules, state.log_weights
    symbols = [nltk.Nonterminal(place) for place in range(len(rules.symbols))]
    productions = [
        nltk.ProbabilisticProduction(
            symbols[parent], [symbols[child] for child in children], prob=float(np.exp(weight))
        )
        for table, column in ((rules.binary, weights.binary), (rules.unary, weights.unary))
        for (parent, *children), weight in zip(table.tolist(), column, strict=True)
    ]
    tag_weight = dict(zip(rules.tags.tolist(), np.exp(weights.tags).tolist(), strict=True))
    rest = dict(tag_weight)
    for word in sorted(set(words)):
        tags = state.lexicon([word])
        for tag, score in zip(tags.symbol.tolist(), np.exp(tags.score).tolist(), strict=True):
            productions.append(nltk.ProbabilisticProduction(symbols[tag], [word], prob=tag_weight[tag] * score))
            rest[tag] -= tag_weight[tag] * score
    productions += [
        nltk.ProbabilisticProduction(symbols[tag], ["<other>"], prob=left) for tag, left in rest.items() if left > 1e-12
    ]
    (root,) = rules.roots.tolist()
    return nltk.ViterbiParser(nltk.PCFG(symbols[root], productions), max_time=None)


def beside_nltk(train: list[Tree], judged: list[Tree], repeat: int) -> list[list[object]]:
    """Seconds of a sentence, of words that were all seen, and whether its best tree is as probable."""
    grammar = PCFG(**OPTIONS, split_tags=False, unknown=None, tag_alpha=0.0).fit(train)
    known, rows = set(grammar.words_), list[list[object]]()
    for length in NLTK_LENGTHS:
        sentences = [words for words in words_of(grammar, judged, (length,)) if known.issuperset(words)]
        found = grammar.predict(sentences)
        words, log_joint = next(
            (words, value) for words, value in zip(sentences, found.log_joint.tolist(), strict=True) if value > -np.inf
        )
        parser = nltk_parser(grammar, words)
        start = process_time()
        (theirs,) = parser.parse(words)
        spent = process_time() - start
        ours = seconds_of(lambda words=words: grammar.predict([words]), max(repeat, 20))  # type: ignore[misc]
        rows.append([f"{length} words", spent, 1e3 * ours, spent / ours, abs(theirs.logprob() * np.log(2) - log_joint)])
    return rows


def short(grammar: PCFG, judged: list[Tree], repeat: int) -> list[list[object]]:
    """Milliseconds a sentence of a few words, one call each and all in one."""
    sentences = words_of(grammar, judged, SHORT)
    alone = seconds_of(lambda: [grammar.predict([words]) for words in sentences], repeat)
    together = seconds_of(lambda: grammar.predict(sentences), repeat)
    return [[f"{len(sentences)} sentences", 1e3 * alone / len(sentences), 1e3 * together / len(sentences)]]


def files(grammar: PCFG, repeat: int) -> list[list[object]]:
    """Milliseconds to write and to read a grammar, and its bytes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "grammar.fastlin")
        written = seconds_of(lambda: fastlin.save(grammar, path), repeat)
        read = seconds_of(lambda: fastlin.load(path), repeat)
        return [["a grammar", 1e3 * written, 1e3 * read, path.stat().st_size]]


def threads(grammar: PCFG, judged: list[Tree], repeat: int) -> list[list[object]]:
    """Seconds by the clock of one thread and of two, in turns, and whether the bits are the same."""
    sentences = words_of(grammar, judged, range(1, 50))
    times: dict[int, list[float]] = {1: [], 2: []}
    found: dict[int, Any] = {}
    with all_cores():
        for turn in range(repeat + 1):
            for n_jobs in (1, 2):
                start = perf_counter()
                found[n_jobs] = grammar.set_params(n_jobs=n_jobs).predict(sentences)
                if turn:
                    times[n_jobs].append(perf_counter() - start)
    grammar.set_params(n_jobs=None)
    same = list(found[1]) == list(found[2]) and found[1].log_joint.tobytes() == found[2].log_joint.tobytes()
    one, two = median(times[1]), median(times[2])
    return [[f"{len(sentences)} sentences", one, two, one / two, "yes" if same else "NO"]]


def main() -> None:
    options = arguments(__doc__.partition("\n")[0] if __doc__ else "").parse_args()
    train, judged = trees()
    grammars = {
        f"v = 2, h = 1{', tags split' * split}": PCFG(**OPTIONS, split_tags=split).fit(train) for split in (False, True)
    }
    whole = next(iter(grammars.values()))
    questions: dict[str, tuple[str, list[str], Callable[[], list[list[object]]]]] = {
        "viterbi": (
            "a tree of 38 to 42 words, from words to tree", ["grammar", "ms", "sentences"],
            lambda: viterbi(grammars, judged, options.repeat),
        ),
        "inside": (
            "sums over all trees of 38 to 42 words", ["grammar", "ms", "ms with counts", "sentences"],
            lambda: inside(grammars, judged, options.repeat),
        ),
        "short": (
            "sentences of 3 to 10 words", ["", "ms, one a call", "ms, all at once"],
            lambda: short(whole, judged, options.repeat),
        ),
        "files": ("model files", ["", "ms to write", "ms to read", "bytes"], lambda: files(whole, options.repeat)),
        "threads": (
            "two threads over sentences, by the clock", ["", "s", "s with two", "ratio", "same bits"],
            lambda: threads(whole, judged, options.repeat),
        ),
        "nltk": (
            "NLTK's ViterbiParser(max_time=None)", ["", "s, NLTK", "ms, ours", "ratio", "|Δ ln p|"],
            lambda: beside_nltk(train, judged, options.repeat),
        ),
    }  # fmt: skip
    results: dict[str, Any] = {"processors": os.cpu_count()}
    for name, (title, columns, ask) in questions.items():
        if options.only is None or options.only in name:
            results[name] = ask()
            show(title, columns, results[name])
    save("parsing", results)


if __name__ == "__main__":
    main()
