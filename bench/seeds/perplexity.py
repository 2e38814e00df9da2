"""How does perplexity depend on the smoothing, the order and the size of the text?

Penn Treebank, in Mikolov's form: `<unk>` is an ordinary word, ends of sentences are predicted. For each smoothing and
order the perplexity of the text that was counted and of the test part; for the first smoothing also by size, a picture
of bias (too low an order: both are high) and variance (too high a one: they part). Characters: bits of one.
"""

from __future__ import annotations

from common import picture, save, show  # before numpy: it sets the threads

# isort: split
import argparse
import gzip
import math
import warnings
from typing import Any

from corpora import data_folder
from fastlin.lm import NgramModel

UNKNOWN = "<oov>"
PUBLISHED = {  # Mikolov et al. 2011; SRILM's figures on the same files
    ("modified_kneser_ney", 3): "148.3",
    ("modified_kneser_ney", 5): "141.2",
    ("katz", 3): "165.2 (Good-Turing)",
    ("katz", 5): "162.3 (Good-Turing)",
}
WALL_STREET = {1: 962, 2: 170, 3: 109}  # 38 million words of the Journal (Jurafsky & Martin, after Chen & Goodman)
SMOOTHINGS = (
    "modified_kneser_ney",
    "kneser_ney",
    "absolute_discounting",
    "witten_bell",
    "katz",
    "dirichlet",
    "lidstone",
)
SHARES = (1 / 64, 1 / 16, 1 / 4, 1)


def lines_of(part: str) -> list[str]:
    with gzip.open(data_folder() / "ptb_lm" / f"{part}.txt.gz", "rt", encoding="utf-8") as lines:
        return [line.strip() for line in lines]


def measured(train: list[str], test: list[str], order: int, **options: Any) -> tuple[float, float]:
    """Perplexity of the text that was counted, and of the test part."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of sizes that are too small for discounts
        model = NgramModel(order, unk=UNKNOWN, **options).fit(train)
    return model.perplexity(train), model.perplexity(test)


def words(train: list[str], test: list[str], orders: tuple[int, ...]) -> list[dict[str, Any]]:
    found = []
    for smoothing in SMOOTHINGS:
        for order in orders:
            own, other = measured(train, test, order, smoothing=smoothing)
            published = PUBLISHED.get((smoothing, order), "")
            found.append({"smoothing": smoothing, "order": order, "train": own, "test": other, "published": published})
    return found


def sizes(train: list[str], test: list[str], orders: tuple[int, ...]) -> list[dict[str, Any]]:
    found = []
    for share in SHARES:
        some = train[: int(len(train) * share)]
        for order in orders:
            own, other = measured(some, test, order)
            found.append({"sentences": len(some), "order": order, "train": own, "test": other})
    return found


def characters(train: list[str], test: list[str], orders: tuple[int, ...]) -> list[dict[str, Any]]:
    found = []
    for order in orders:
        own, other = measured(train, test, order, unit="character", smoothing="witten_bell")
        found.append({"order": order, "train_bits": math.log2(own), "test_bits": math.log2(other)})
    return found


def draw(by_size: list[dict[str, Any]]) -> None:
    with picture("perplexity") as axes:
        if axes is None:
            return
        for sentences in dict.fromkeys(each["sentences"] for each in by_size):
            some = [each for each in by_size if each["sentences"] == sentences]
            orders = [each["order"] for each in some]
            (line,) = axes.plot(orders, [each["test"] for each in some], marker="o", label=f"{sentences:,} sentences")
            axes.plot(orders, [each["train"] for each in some], linestyle=":", color=line.get_color())
        axes.set(yscale="log", xlabel="order", ylabel="perplexity", title="test part, and dotted the text counted")
        axes.set_yticks([10, 20, 50, 100, 200, 500], labels=["10", "20", "50", "100", "200", "500"])
        axes.grid(visible=True, axis="y", linewidth=0.3)
        axes.set_xticks(sorted({each["order"] for each in by_size}))
        axes.legend()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="orders 1 to 3, an eighth of the text")
    options = parser.parse_args()
    train, test = lines_of("train"), lines_of("test")
    orders, lengths = (1, 2, 3, 4, 5, 6), (1, 2, 3, 4, 5, 6, 8, 10)
    if options.quick:
        train, orders, lengths = train[: len(train) // 8], orders[:3], lengths[:3]
    by_smoothing, by_size = words(train, test, orders), sizes(train, test, orders)
    by_length = characters(train, test, lengths)
    show(
        "Penn Treebank, perplexity",
        ["smoothing", "order", "train", "test", "published"],
        [
            [each["smoothing"], each["order"], f"{each['train']:.2f}", f"{each['test']:.2f}", each["published"]]
            for each in by_smoothing
        ],
    )
    print(f"the Wall Street Journal, 38 million words, published: {WALL_STREET}; that text is not in the data folder")
    show(
        "modified Kneser-Ney by size",
        ["sentences", "order", "train", "test"],
        [[f"{each['sentences']:,}", each["order"], f"{each['train']:.2f}", f"{each['test']:.2f}"] for each in by_size],
    )
    show(
        "characters, Witten-Bell: bits of one",
        ["order", "train", "test"],
        [[each["order"], f"{each['train_bits']:.3f}", f"{each['test_bits']:.3f}"] for each in by_length],
    )
    draw(by_size)
    save("perplexity", {"smoothings": by_smoothing, "sizes": by_size, "characters": by_length})


if __name__ == "__main__":
    main()
