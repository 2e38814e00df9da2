"""Is "colorless green ideas sleep furiously" more probable than the same words the other way round?

Chomsky (1957) said that any statistical model must hold both for equally remote. Pereira (2000) answered with an
aggregate Markov model of newspaper text, in which the sentence is 200,000 times as probable as its reverse. Here the
text is that of films, newsgroups and news, 21 million words in lower case; ten random starts, of which the median
counts, since the ratio of one differs by a factor of a hundred from that of the next.

Numbers and signs of punctuation are words, as they are in models of newspaper text, and no word is left out. Without
the signs (`--tokens words`) sentences begin and end with other words, and the ratio is smaller by a factor of thirty.
"""

from __future__ import annotations

from common import save, show  # before numpy: it sets the threads

# isort: split
import argparse
import math
import re
from statistics import median
from time import process_time

from corpora import documents
from fastlin.lm import ClassBigramModel

SENTENCE = "colorless green ideas sleep furiously"
CORPORA = ("imdb", "20newsgroups_body", "reuters21578")
PUBLISHED = 5.3  # log10 of the ratio
SENTENCES = re.compile(r"(?<=[.!?])\s+")
TOKENS = {
    "all": re.compile(r"[a-z]+(?:'[a-z]+)?|[0-9]+|[^\sa-z0-9]"),
    "words": re.compile(r"[a-z]+(?:'[a-z]+)?"),
}


def sentences(tokens: str) -> list[list[str]]:
    found = []
    for name in CORPORA:
        for part in ("train", "test"):
            for text in documents(name, part)[1]:
                words = (TOKENS[tokens].findall(piece) for piece in SENTENCES.split(text.lower()))
                found += [each for each in words if each]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--classes", type=int, default=16)
    parser.add_argument("--iterations", type=int, default=60)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--alpha", type=float, default=0.01)
    parser.add_argument("--min-count", type=int, default=1)
    parser.add_argument("--tokens", choices=TOKENS, default="all")
    options = parser.parse_args()
    text = sentences(options.tokens)
    words = SENTENCE.split()
    print(f"{sum(map(len, text)):,} words; " + ", ".join(f"{w}: {sum(s.count(w) for s in text):,}" for w in words))
    found = []
    for seed in range(options.seeds):
        start = process_time()
        model = ClassBigramModel(
            options.classes, alpha=options.alpha, max_iter=options.iterations, tol=0, random_state=seed,
            min_count=options.min_count,
        )  # fmt: skip
        model.fit(text)
        forward, backward = model.score_samples([words, words[::-1]])
        ratio = float(forward - backward) / math.log(10)
        found.append({"seed": seed, "log10_ratio": ratio, "seconds": process_time() - start})
    ratios = [each["log10_ratio"] for each in found]
    show(
        f"log10 p({SENTENCE}) / p(its reverse)",
        ["seed", "log10 of the ratio", "CPU s"],
        [[each["seed"], f"{each['log10_ratio']:.2f}", f"{each['seconds']:.1f}"] for each in found],
    )
    positive = sum(each > 0 for each in ratios)
    print(f"positive: {positive} of {len(ratios)}; median {median(ratios):.2f}; published {PUBLISHED}")
    save("colorless", found)


if __name__ == "__main__":
    main()
