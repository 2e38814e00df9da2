"""Does a language model know the order of words?

The chapter's example: a translation word by word, "the coffee black me pleases much", against "I like black coffee a
lot". And a measure: of each test sentence of five to twenty words, is it more probable than the same words shuffled?
A unigram model cannot tell; every order more tells better.
"""

from __future__ import annotations

from common import save, show  # before numpy: it sets the threads

# isort: split
import argparse
from typing import Any

import numpy as np

from colorless import sentences
from fastlin.lm import ClassBigramModel, LanguageModel, MaxentLM, NgramModel

GOOD, WORD_BY_WORD = "i like black coffee a lot", "the coffee black me pleases much"
SEED = 0


def right(model: LanguageModel, kept: list[list[str]], shuffled: list[list[str]]) -> float:
    """How often the sentence is more probable than its words shuffled; a tie is half right."""
    ours, theirs = model.score_samples(kept), model.score_samples(shuffled)
    tied = np.isclose(ours, theirs, rtol=1e-9)
    return float(np.mean(np.where(tied, 0.5, ours > theirs)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sentences", type=int, default=5000, help="to measure on")
    parser.add_argument("--quick", action="store_true", help="a twentieth of the text")
    options = parser.parse_args()
    text = sentences("words")
    generator = np.random.default_rng(SEED)
    generator.shuffle(text)  # type: ignore[arg-type]
    text = text[: len(text) // 20] if options.quick else text
    held = [each for each in text[: 4 * options.sentences] if 5 <= len(each) <= 20][: options.sentences]
    train = text[4 * options.sentences :]
    shuffled = [list(generator.permutation(each)) for each in held]
    shuffled = [[str(word) for word in each] for each in shuffled]
    models: dict[str, LanguageModel] = {
        f"Kneser-Ney, order {order}": NgramModel(order, min_count=2) for order in (1, 2, 3, 4)
    }
    models["soft classes of bigrams"] = ClassBigramModel(32, min_count=2, random_state=SEED)
    if options.quick:
        models["maximum entropy, order 3"] = MaxentLM(3, min_count=2)
    found: list[dict[str, Any]] = []
    for name, model in models.items():
        model.fit(train)
        good, bad = model.score_samples([GOOD, WORD_BY_WORD]).tolist()
        found.append({"model": name, "right": right(model, held, shuffled), "good": good, "word_by_word": bad})
    show(
        f"{len(held):,} sentences against their words shuffled; ln p({GOOD}) and of {WORD_BY_WORD}",
        ["model", "right", "good English", "word by word"],
        [
            [each["model"], f"{each['right']:.1%}", f"{each['good']:.1f}", f"{each['word_by_word']:.1f}"]
            for each in found
        ],
    )
    save("word_order", found)


if __name__ == "__main__":
    main()
