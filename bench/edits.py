"""How fast are edits learnt, scored and decoded?

Pairs of a right and a wrong spelling: CPU seconds of EM on 90 % of them, ln p of the rest a pair, by the strength of
the prior, and pairs scored a second. Then words decoded a second in held-out sentences of the Penn Treebank, of which
three in ten have a random edit, by the width of the beam: the source is a trigram model, the candidates are the words
of its vocabulary within one or two edits, and the channel has learnt from right words, too, seven in ten; and how many
words are wrong before and after.
"""

from __future__ import annotations

from timing import arguments, save, show  # before numpy: it sets the threads

# isort: split
import gzip
import os
import string
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

import numpy as np

from fastlin.channel import EditChannel, NoisyChannel
from fastlin.lm import NgramModel

ALPHAS = 1.0, 10.0, 40.0
SCORED = 200_000  # pairs
SENTENCES = 300
BEAMS = 2, 8, 32
EDITED = 0.3  # of the words
Pairs = list[tuple[str, str]]


def lines_of(*names: str) -> list[str]:
    path = Path(os.environ["FASTLIN_DATA"], *names)
    return gzip.decompress(path.read_bytes()).decode().splitlines()


def timed(run: Callable[[], Any], repeat: int) -> tuple[float, Any]:
    """Median CPU seconds, and what comes of it; a first round does not count."""
    times, found = [], run()
    for _ in range(repeat):
        start = process_time()
        found = run()
        times.append(process_time() - start)
    return median(times), found


def learning(train: Pairs, held_out: Pairs, repeat: int) -> list[dict[str, float]]:
    rows = []
    for alpha in ALPHAS:
        seconds, channel = timed(lambda alpha=alpha: EditChannel(alpha=alpha).fit(train), repeat)  # type: ignore[misc]
        log_prob = float(channel.score_samples(held_out).mean())
        rows.append({"alpha": alpha, "seconds": seconds, "iterations": channel.n_iter_, "held out": log_prob})
    return rows


def pairs_a_second(channel: EditChannel, pairs: Pairs, repeat: int) -> float:
    """Of words that are encoded."""
    x, y = (channel.encode([pair[side] for pair in pairs]) for side in (0, 1))
    places = np.arange(SCORED, dtype=np.int32) % len(pairs)
    return SCORED / timed(lambda: channel.score_pairs(x, places, y, places), repeat)[0]


def edited(word: str, rng: np.random.Generator) -> str:
    """A word with a random edit, if it is to have one."""
    if rng.random() >= EDITED:
        return word
    at, letter = int(rng.integers(len(word))), string.ascii_lowercase[int(rng.integers(26))]
    before, here, behind = word[:at], word[at], word[at + 1 :]
    ways = (
        before + letter + here + behind,
        (before + behind) or word,
        before + letter + behind,
        before + behind[:1] + here + behind[1:],
    )
    return ways[int(rng.integers(len(ways)))]


def decoding(pairs: Pairs, repeat: int) -> list[dict[str, float]]:
    lm = NgramModel(3, unk="<oov>").fit(lines_of("ptb_lm", "train.txt.gz"))
    meant = [line.split() for line in lines_of("ptb_lm", "valid.txt.gz")[:SENTENCES]]
    rng = np.random.default_rng(0)
    observed = [[edited(word, rng) for word in words] for words in meant]
    n_words = sum(map(len, meant))
    rows = []
    for max_edits in (1, 2):
        right = [(word, word) for word, _ in pairs]
        weights = np.repeat([1.0, (1 - EDITED) / EDITED], len(pairs))
        channel = EditChannel(max_edits).fit(pairs + right, sample_weight=weights)
        for beam in BEAMS:
            noisy = NoisyChannel(lm, channel, beam, keep_unknown=True)
            seconds, found = timed(lambda noisy=noisy: noisy.decode(observed), repeat)  # type: ignore[misc]
            rows.append({
                "edits": max_edits, "beam": beam, "words a second": n_words / seconds,
                "wrong before": wrong(meant, observed), "wrong after": wrong(meant, [one.words for one in found]),
            })  # fmt: skip
    return rows


def wrong(meant: list[list[str]], found: list[list[str]]) -> int:
    return sum(a != b for one, other in zip(meant, found, strict=True) for a, b in zip(one, other, strict=True))


def table(title: str, rows: list[dict[str, float]]) -> None:
    show(title, list(rows[0]), [list(row.values()) for row in rows])


def main() -> None:
    options = arguments(__doc__ or "").parse_args()
    spelt = [line.split("\t") for line in lines_of("spelling", "pairs.tsv.gz")]
    pairs = [(right, written) for right, written, *_ in spelt]
    order = np.random.default_rng(0).permutation(len(pairs)).tolist()
    train = [pairs[place] for place in order[len(pairs) // 10 :]]
    held_out = [pairs[place] for place in order[: len(pairs) // 10]]
    results: dict[str, Any] = {"learning": learning(train, held_out, options.repeat)}
    table(f"{len(train)} pairs: CPU seconds, and ln p of {len(held_out)} others", results["learning"])
    results["pairs a second"] = pairs_a_second(EditChannel().fit(train), train, options.repeat)
    print(f"\npairs scored a second: {results['pairs a second']:,.0f}")
    results["decoding"] = decoding(pairs, options.repeat)
    table(f"{SENTENCES} sentences, three words in ten edited", results["decoding"])
    save("edits", results)


if __name__ == "__main__":
    main()
