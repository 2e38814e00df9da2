"""How many bits is a character of English?

Shannon (1951) let people guess the next character until they were right, and bounded the entropy by how often each
guess was the right one, q_i:  Σ i (q_i − q_{i+1}) log₂ i ≤ H ≤ −Σ q_i log₂ q_i.  Here a character model guesses, in
the 27 letters of his game. Its own cross-entropy is an upper bound, too; the three are of the model, as Shannon's were
of his readers, so that only the upper ones bound what English has.
"""

from __future__ import annotations

from common import save, show  # before numpy: it sets the threads

# isort: split
import argparse
import re
from typing import Any

import numpy as np

from corpora import documents
from fastlin.lm import NgramModel

PUBLISHED = "0.6 to 1.3 bits after 100 characters (Shannon 1951)"
OTHERS = re.compile(r"[^a-z]+")


def letters(texts: list[str]) -> list[str]:
    """The 26 letters and the space."""
    return [text for text in (OTHERS.sub(" ", text.lower()).strip() for text in texts) if text]


def bounds(model: NgramModel, texts: list[str]) -> dict[str, Any]:
    """Shannon's bounds by the ranks of the right characters, and the model's cross-entropy."""
    places = {character: place for place, character in enumerate(model.words_)}
    counts = np.zeros(len(places))
    bits, n = 0.0, 0
    for text in texts:
        state = model.start()
        for character in text:
            p = model.next_word(state)
            own = p[places[character]]
            counts[np.count_nonzero(p > own)] += 1
            bits -= float(np.log2(own))
            state = model.advance(state, character)[1]
            n += 1
    q = counts / n
    rank = np.arange(1, len(q) + 1)
    lower = float((rank * (q - np.append(q[1:], 0)) * np.log2(rank)).sum())
    upper = float(-(q[q > 0] * np.log2(q[q > 0])).sum())
    return {"characters": n, "first_guess": float(q[0]), "lower": lower, "upper": upper, "cross_entropy": bits / n}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=60, help="of the test part")
    parser.add_argument("--quick", action="store_true", help="a tenth of the text, up to five characters")
    options = parser.parse_args()
    train, test = letters(documents("imdb", "train")[1]), letters(documents("imdb", "test")[1])[: options.documents]
    orders = (1, 2, 3, 4, 6, 8, 10)
    if options.quick:
        train, orders = train[: len(train) // 10], orders[:4]
    found = []
    for order in orders:
        model = NgramModel(order, unit="character", smoothing="witten_bell").fit(train)
        found.append({"order": order, **bounds(model, test)})
    show(
        "bits a character, 27 letters, reviews of films",
        ["order", "right at once", "Shannon's lower", "upper", "cross-entropy"],
        [
            [
                each["order"],
                f"{each['first_guess']:.1%}",
                f"{each['lower']:.3f}",
                f"{each['upper']:.3f}",
                f"{each['cross_entropy']:.3f}",
            ]
            for each in found
        ],
    )
    print(f"published: {PUBLISHED}")
    save("shannon", found)


if __name__ == "__main__":
    main()
