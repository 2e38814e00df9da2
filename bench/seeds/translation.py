"""Does a better model of the source alone make a better translation?

Argmax p(e) · p(f | e): the channel, IBM's Model 1 or 2 of a thousand pairs of sentences, knows which words mean what,
and nothing of order; the source, n-grams of English alone, knows what is said, and nothing of the other language. The
channel stays, and the source goes from none (all words alike) over orders and sizes of the text that it is counted in.
Both languages come from a grammar (`two_languages.py`), so that nothing need be downloaded; sentences of the test are
none that were seen.
"""

from __future__ import annotations

from common import picture, save, show  # before numpy: it sets the threads

# isort: split
import argparse
import math
import warnings
from typing import Any

from fastlin.channel import LexicalChannel, NoisyChannel
from fastlin.lm import NgramModel
from two_languages import Pair, TwoLanguages

N_PAIRS, N_TEST = 1_000, 200
SIZES = (100, 1_000, 10_000, 100_000)
ORDERS = (1, 2, 3)
CHANNELS: dict[str, dict[str, Any]] = {
    "Model 1": {},
    "Model 2": {"model": 2},
    "Model 2, diagonal": {"model": 2, "alignment": "diagonal"},
}
BEAM, CANDIDATES = 64, 8
EXAMPLE = "me gusta mucho el café negro"
RIGHT, WORD_BY_WORD = "I like black coffee a lot", "the coffee black me pleases much"


class NoSource:
    """All words alike, and the end of a sentence like a word."""

    def __init__(self, words: list[str]) -> None:
        self.words_ = words

    def start(self) -> None:
        """There are no states."""

    def advance(self, state: None, word: str) -> tuple[float, None]:
        """1/V."""
        del state, word
        return -math.log(len(self.words_) + 1), None


def edits(one: list[str], other: list[str]) -> int:
    """Words to insert, delete or replace."""
    row = list(range(len(other) + 1))
    for i, word in enumerate(one, 1):
        before, row[0] = row[0], i
        for j, wanted in enumerate(other, 1):
            before, row[j] = row[j], min(before + (word != wanted), row[j] + 1, row[j - 1] + 1)
    return row[-1]


def figures(found: list[list[str]], wanted: list[list[str]]) -> dict[str, float]:
    """Percent of sentences that are right, of words by edits, and of words whatever their order."""
    n_words = sum(map(len, wanted))
    shared = sum(
        sum(min(one.count(word), right.count(word)) for word in set(right))
        for one, right in zip(found, wanted, strict=True)
    )
    return {
        "exact": 100 * sum(one == right for one, right in zip(found, wanted, strict=True)) / len(wanted),
        "word accuracy": 100 * (1 - sum(map(edits, found, wanted)) / n_words),
        "right words": 100 * 2 * shared / (n_words + sum(map(len, found))),
    }


def counted(text: list[list[str]], order: int) -> NgramModel:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of sizes that are too small for discounts
        return NgramModel(order).fit(text)


def translated(channel: LexicalChannel, source: Any, test: list[Pair]) -> dict[str, float]:
    found = channel.decode([f for _, f in test], source, beam=BEAM, n_candidates=CANDIDATES)
    result = figures([one.words for one in found], [e for e, _ in test])
    if isinstance(source, NgramModel):
        wanted = source.score_samples([e for e, _ in test]) + channel.log_proba(test)
        result["search errors"] = (
            100 * sum(one.log_prob < p - 1e-6 for one, p in zip(found, wanted, strict=True)) / len(test)
        )
    return result


def word_by_word(channel: LexicalChannel, source: NgramModel, test: list[Pair]) -> dict[str, float]:
    """Each observed word one word, in its place."""
    found = NoisyChannel(source, channel, beam=BEAM, keep_unknown=True).decode([f for _, f in test])
    return figures([one.words for one in found], [e for e, _ in test])


def unseen(pairs: list[Pair], test: list[Pair]) -> list[Pair]:
    """Sentences that are none of the training's, each once."""
    seen = {tuple(e) for e, _ in pairs}
    return list({tuple(e): (e, f) for e, f in test if tuple(e) not in seen}.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="50 sentences, Model 1 and two sizes")
    quick = parser.parse_args().quick
    sizes = SIZES[1:3] if quick else SIZES
    pairs = TwoLanguages(1).pairs(N_PAIRS)
    text = [e for e, _ in TwoLanguages(2).pairs(max(sizes))]
    test = unseen([*pairs, *((e, []) for e in text)], TwoLanguages(3).pairs(20 * N_TEST))[: 50 if quick else N_TEST]
    channels = {
        name: LexicalChannel(**options).fit(pairs) for name, options in CHANNELS.items() if not quick or not options
    }
    vocabulary = sorted({word for e in text for word in e})
    rows = []
    for name, channel in channels.items():
        rows.append({"channel": name, "source": "none", "size": 0} | translated(channel, NoSource(vocabulary), test))
        for size in sizes if name == "Model 1" else sizes[-1:]:  # Model 2 searches each length by itself
            for order in ORDERS:
                source = counted(text[:size], order)
                row = {"channel": name, "source": f"{order}-grams", "size": size}
                rows.append(row | translated(channel, source, test))
        rows.append(
            {"channel": name, "source": "3-grams, word by word", "size": max(sizes)}
            | word_by_word(channel, source, test)
        )
    columns = ["channel", "source", "size", "exact", "word accuracy", "right words", "search errors"]
    show(f"{len(test)} sentences, percent", columns, [[row.get(column, "") for column in columns] for row in rows])
    channel, source = channels["Model 1"], counted(text, 3)
    for sentence in (RIGHT, WORD_BY_WORD):
        fluent, adequate = source.score_samples([sentence])[0], channel.log_proba([(sentence, EXAMPLE)])[0]
        print(f"{sentence!r}: ln p(e) {fluent:.1f}, ln p(f | e) {adequate:.1f}, together {fluent + adequate:.1f}")
    best = channel.decode([EXAMPLE], source, beam=BEAM, n_candidates=CANDIDATES)[0]
    print(f"found: {' '.join(best.words)!r}, {best.log_prob:.1f}")
    save("translation", rows)
    if not quick:
        draw(rows)


def draw(rows: list[dict[str, Any]]) -> None:
    with picture("translation", "sentences of source text", "right words in the right place, percent") as axes:
        for order in ORDERS:
            line = [row for row in rows if row["channel"] == "Model 1" and row["source"] == f"{order}-grams"]
            axes.plot(
                [row["size"] for row in line], [row["word accuracy"] for row in line], "o-", label=f"{order}-grams"
            )
        axes.set_xscale("log")
        axes.legend()


if __name__ == "__main__":
    main()
