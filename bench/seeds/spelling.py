"""How well are misspelt words corrected, with a context and alone?

In context: held-out reviews, posts and news, one word of each of 3,000 sentences with a random edit. The dictionary and
the language model come from the training texts; the channel is the same whatever the order of the model and the size
of its text, so that what changes is the source alone. Alone: the two sets of `spelling/`, with rules learnt from
`pairs` without every right word of these sets. All that is chosen is chosen on other sentences, and on a tenth of the
right words of `pairs`; the sets are asked once.
"""

from __future__ import annotations

from common import picture, save, show  # before numpy: it sets the threads

# isort: split
import argparse
import gzip
import re
import string
import warnings
import zlib
from collections import Counter
from collections.abc import Iterator
from time import process_time
from typing import Any, NamedTuple

import numpy as np

from corpora import data_folder
from fastlin.channel import SpellingCorrector

TRAIN = [
    "imdb/train", "20newsgroups_body/train", "reuters21578/train", "reuters21578/unlabeled", "movie_reviews/train",
]  # fmt: skip
MORE = ["senseval/hard", "senseval/interest", "senseval/line", "senseval/serve"]
HELD_OUT = ["imdb/test", "20newsgroups_body/test", "reuters21578/test", "movie_reviews/test"]
N_EDITED = 3000  # words
MIN_COUNT = 5
SHARES = (1 / 64, 1 / 16, 1 / 4, 1)
ERROR_RATES = (0.5, 0.8, 0.9, 0.95, 0.98)
SOURCE_WEIGHTS = (0.5, 0.7, 0.85, 1.0)
WORD = re.compile(r"[\w'’]+")
SENTENCE = re.compile(r"[^.!?]{40,300}[.!?]")
SETS = "test1", "test2"
PUBLISHED = [  # with dictionaries of their own, but for the last
    ("symspellpy", 74.4, 73.5, "18,000-27,000"),
    ("pyspellchecker", 76.3, 71.5, "20"),
    ("Norvig's rule, words of these texts", 64.1, 66.2, ""),
]


class Edited(NamedTuple):
    """Sentences in which one word is misspelt."""

    right: list[str]
    wrong: list[str]
    spans: list[tuple[int, int]]  # of the word in the wrong sentence


def texts_of(name: str) -> Iterator[str]:
    with gzip.open(data_folder() / f"{name}.tsv.gz", "rt", encoding="utf-8", newline="\n") as lines:
        for line in lines:
            yield line.rstrip("\n").split("\t", 1)[1]


def training_texts() -> list[str]:
    """In an order in which every part is like the whole."""
    texts = [text for name in TRAIN for text in texts_of(name)]
    return [texts[i] for i in np.random.default_rng(0).permutation(len(texts)).tolist()]


def all_texts() -> Iterator[str]:
    """Those for words alone."""
    for name in TRAIN + MORE:
        yield from texts_of(name)
    with gzip.open(data_folder() / "ptb_lm/train.txt.gz", "rt", encoding="utf-8") as lines:
        yield from (line.replace("<unk>", "") for line in lines)
    for name in "ud_english_ewt", "conll2000":
        with gzip.open(data_folder() / name / "train.tsv.gz", "rt", encoding="utf-8") as lines:
            for sentence in lines.read().split("\n\n"):
                yield " ".join(line.split("\t")[0] for line in sentence.splitlines())


def edited_word(word: str, generator: np.random.Generator) -> str:
    """A word after one random edit that changes it."""
    letters = string.ascii_lowercase
    while True:
        at, letter = int(generator.integers(len(word) + 1)), letters[generator.integers(26)]
        rest = word[at:]
        made = (rest[1:], letter + rest[1:], letter + rest, rest[:2][::-1] + rest[2:])[generator.integers(4)]
        if word[:at] + made not in (word, ""):
            return word[:at] + made


def edited_sentences(known: set[str], part: int, n: int) -> Edited:
    """Sentences of held-out texts, of two parts that share none, with an edit in a word that is known."""
    generator, found = np.random.default_rng(part), Edited([], [], [])
    texts = [text for name in HELD_OUT for text in texts_of(name)][part::2]
    for place in generator.permutation(len(texts)).tolist():
        sentences = SENTENCE.findall(texts[place])
        if not sentences:
            continue
        sentence = sentences[generator.integers(len(sentences))].strip()
        words = [one for one in re.finditer(r"(?<![\w'@/.])[a-z]{2,}(?![\w'@/.])", sentence) if one.group() in known]
        if not words:
            continue
        one = words[generator.integers(len(words))]
        wrong = edited_word(one.group(), generator)
        found.right.append(sentence)
        found.wrong.append(sentence[: one.start()] + wrong + sentence[one.end() :])
        found.spans.append((one.start(), one.start() + len(wrong)))
        if len(found.right) == n:
            return found
    raise ValueError(f"only {len(found.right)} sentences")


def errors_left(model: SpellingCorrector, edited: Edited) -> dict[str, float]:
    """Per cent of the misspelt words that are not as they were, of others that are not; words a second."""
    start = process_time()
    corrected = model.predict(edited.wrong)
    seconds = process_time() - start
    n_left = n_changed = n_words = 0
    for right, wrong, (begin, _), text in zip(*edited, corrected, strict=True):
        wanted, given, got = (WORD.findall(one) for one in (right, wrong, text))
        place = len(WORD.findall(wrong[:begin]))
        n_words += len(wanted)
        n_left += wanted[place] != got[place]
        n_changed += sum(a != b for i, (a, b) in enumerate(zip(given, got, strict=True)) if i != place)
    n = len(edited.right)
    return {"left": 100 * n_left / n, "changed": 100 * n_changed / (n_words - n), "speed": n_words / seconds}


def fitted(texts: list[str], order: int) -> SpellingCorrector:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of texts too small for discounts
        return SpellingCorrector(order, min_count=MIN_COUNT).fit(texts)


def in_context(texts: list[str], orders: tuple[int, ...], shares: tuple[float, ...], n: int) -> dict[str, Any]:
    """Errors left by order of the source and size of its text; the channel is chosen on other sentences."""
    whole = fitted(texts, max(orders))
    known = set(whole.words_)
    dev, test = edited_sentences(known, 0, n // 2), edited_sentences(known, 1, n)
    channel = chosen_channel(whole, dev)
    rows = []
    for share in shares:
        for order in orders:
            at_hand = share == 1 and order == max(orders)
            model = whole if at_hand else fitted(texts[: round(share * len(texts))], order)
            rows.append({"order": order, "share": share, **errors_left(model.set_params(**channel), test)})
    return {"channel": channel, "rows": rows}


def chosen_channel(model: SpellingCorrector, dev: Edited) -> dict[str, float]:
    """The error rate that leaves the fewest errors while at most a hundredth of the other words is changed."""
    tried = []
    for error_rate in (0.02, 0.05, 0.1, 0.2, 0.3, 0.5):
        found = errors_left(model.set_params(error_rate=error_rate), dev)
        tried.append((found["changed"] > 1, found["left"], error_rate))
    return {"error_rate": min(tried)[2]}


def word_counts() -> Counter[str]:
    """How often each word of the training texts was seen, in lower case."""
    words = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")
    counts: Counter[str] = Counter()
    for text in all_texts():
        counts.update(words.findall(text.replace("’", "'").lower()))
    return counts


def misspelt(name: str) -> list[tuple[str, str]]:
    with open(data_folder() / "spelling" / f"{name}.tsv", encoding="utf-8") as lines:
        right_and_wrong = [line.rstrip("\n").split("\t") for line in lines]
    return [(right, wrong) for right, wrong in right_and_wrong]


def pairs_without(rights: set[str]) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Pairs to learn from, and those of a tenth of the right words to choose by; none has one of some right words."""
    parts: tuple[list[tuple[str, str]], list[tuple[str, str]]] = ([], [])
    with gzip.open(data_folder() / "spelling/pairs.tsv.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            right, wrong = line.rstrip("\n").replace("_", " ").split("\t")[:2]
            if right.lower() not in rights and right.lower() != wrong.lower():
                parts[zlib.crc32(right.lower().encode()) % 10 == 0].append((right.lower(), wrong.lower()))
    return parts


def share_right(model: SpellingCorrector, pairs: list[tuple[str, str]]) -> float:
    """Per cent of the wrong words that become the right ones."""
    words = [wrong for _, wrong in pairs if len(wrong.split()) == 1]
    corrected = dict(zip(words, model.correct_words(words), strict=True))  # several words are left as they are
    return 100 * sum(corrected.get(wrong, wrong) == right for right, wrong in pairs) / len(pairs)


def alone(min_counts: tuple[int, ...], ask_the_sets: bool) -> list[dict[str, Any]]:
    """Words without a context: those that may be right, and those that are known to be wrong."""
    sets = {name: misspelt(name) for name in SETS}
    learnt, dev = pairs_without({right.lower() for pairs in sets.values() for right, _ in pairs})
    kept = [(word, word) for word in sorted({right for right, _ in dev})]
    counts, models, tried = word_counts(), {}, []
    for least in min_counts:
        models[least] = SpellingCorrector(source={word: n for word, n in counts.items() if n >= least}).fit(
            pairs=learnt
        )
        for weight in SOURCE_WEIGHTS:
            for rate in ERROR_RATES:
                model = models[least].set_params(source_weight=weight, error_rate=rate)
                tried.append((share_right(model, dev), share_right(model, kept), least, weight, rate))
    rows = []
    for name, merit in (("may be right", lambda t: t[0] + t[1]), ("known to be wrong", lambda t: t[0])):
        corrected, left_alone, least, weight, rate = max(tried, key=merit)
        model = models[least].set_params(source_weight=weight, error_rate=rate)
        found = {}
        if ask_the_sets:
            found = {f"{one} %": share_right(model, pairs) for one, pairs in sets.items()}
            rights = [(right, right) for pairs in sets.values() for right, _ in pairs]
            found["right kept %"] = share_right(model, rights)
        start = process_time()
        model.correct_words([wrong for _, wrong in dev if len(wrong.split()) == 1])
        speed = len(dev) / (process_time() - start)
        rows.append(
            {
                "words": name, "min_count": least, "weight": weight, "error rate": rate, "dev %": corrected,
                "dev right kept %": left_alone, **found, "words/s": speed,
            }
        )  # fmt: skip
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few sentences, one size of text")
    parser.add_argument("--part", choices=["context", "alone"], help="one of the two questions")
    asked = parser.parse_args()
    found: dict[str, Any] = {}
    if asked.part != "alone":
        texts = training_texts()
        options = ((1, 3), (1.0,), 300) if asked.quick else ((1, 2, 3, 4), SHARES, N_EDITED)
        found["context"] = in_context(texts[: len(texts) // 16] if asked.quick else texts, *options)
        show_context(found["context"])
    if asked.part != "context":
        found["alone"] = alone((10,) if asked.quick else (3, 5, 10, 20), not asked.quick)
        show_rows("Words alone", found["alone"])
        show("Published", ["what", "test1 %", "test2 %", "words/s"], PUBLISHED)
    if not asked.quick:
        save("spelling" if asked.part is None else f"spelling_{asked.part}", found)


def show_rows(title: str, rows: list[dict[str, Any]]) -> None:
    show(title, list(rows[0]), [list(row.values()) for row in rows])


def show_context(found: dict[str, Any]) -> None:
    rows = found["rows"]
    print(f"channel, chosen on other sentences: {found['channel']}")
    show_rows("In context: per cent of errors left, of other words changed; words a second", rows)
    whole = {row["order"]: row["left"] for row in rows if row["share"] == 1}
    print(f"errors left, trigram / unigram: {whole[3] / whole[1]:.3f}")
    with picture("spelling") as axes:
        if axes is None:
            return
        for order in sorted(whole):
            line = [(row["share"], row["left"]) for row in rows if row["order"] == order]
            axes.plot(*zip(*line, strict=True), marker="o", label=f"order {order}")
        axes.set(xscale="log", xlabel="share of the text", ylabel="errors left, %")
        axes.legend()


if __name__ == "__main__":
    main()
