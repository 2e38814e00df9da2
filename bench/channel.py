"""How long does an iteration of EM take on pairs of sentences, and is it NLTK's?

Pairs of ~20 words, drawn: a source word becomes one of a few words of its own, or of NULL's, and words near each other
change places. CPU seconds of an iteration of Models 1 and 2, and of all that is done once before the first; then whole
fits of Model 1 of the same pairs and iterations by NLTK, in turns, and the greatest difference of t(f | e). There no
word is observed twice in a sentence: NLTK divides by the sum over both, and so counts the two of them as one.
With --threads, what two threads gain, by the clock.
"""

from __future__ import annotations

from timing import arguments, save, show  # before numpy: it sets the threads

# isort: split
import warnings
from statistics import median
from time import perf_counter, process_time
from typing import Any

import numpy as np

from fastlin.channel import LexicalChannel

N_PAIRS, N_WORDS, LENGTH = 50_000, 20_000, 20
NLTK_PAIRS, ITERATIONS = 1_000, 5
MODELS: dict[str, dict[str, Any]] = {
    "Model 1": {},
    "Model 2": {"model": 2},
    "Model 2, diagonal": {"model": 2, "alignment": "diagonal"},
}
Pairs = list[tuple[list[str], list[str]]]


def drawn(n_pairs: int, n_words: int, seed: int = 0) -> Pairs:
    """Pairs of sentences: Zipf's words, up to four translations of each, places that differ by one or two."""
    rng = np.random.default_rng(seed)
    p = 1 / (np.arange(n_words) + 2.7)
    translations = rng.integers(0, n_words, (n_words, 4))
    pairs = []
    for length in rng.poisson(LENGTH, n_pairs) + 1:
        source = rng.choice(n_words, length, p=p / p.sum())
        observed = translations[source, rng.choice(4, length, p=[0.7, 0.2, 0.07, 0.03])]
        observed = np.where(rng.random(length) < 0.1, rng.integers(0, 50, length), observed)
        order = np.argsort(np.arange(length) + rng.normal(0, 1.5, length))
        pairs.append(([f"e{word}" for word in source], [f"f{word}" for word in observed[order]]))
    return pairs


def fitted(pairs: Pairs, n_iterations: int, **options: Any) -> LexicalChannel:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of fits that are not at their end
        return LexicalChannel(max_iter=n_iterations, tol=0.0, alpha=0.0, **options).fit(pairs)


def iterations(pairs: Pairs, repeat: int) -> list[dict[str, Any]]:
    """CPU seconds of an iteration, what it adds to a fit, and of all that comes before the first."""
    found = []
    for name, options in MODELS.items():
        every, once = [], []
        for _ in range(repeat):
            moments: list[float] = []

            def look(_: LexicalChannel, __: Any, moments: list[float] = moments) -> None:
                moments.append(process_time())

            start = process_time()
            fitted(pairs, ITERATIONS, callback=look, start_iter=0, **options)
            every.append((moments[-1] - moments[0]) / ITERATIONS)
            once.append(moments[0] - start)
        found.append({"model": name, "iteration": median(every), "once": median(once)})
    return found


def beside_nltk(pairs: Pairs, repeat: int) -> dict[str, float]:
    """CPU seconds of Model 1's fits, in turns, and how far t is from NLTK's."""
    from nltk.translate import AlignedSent, IBMModel1

    times: dict[str, list[float]] = {"ours": [], "NLTK": []}
    for _ in range(repeat):
        start = process_time()
        ours = fitted(pairs, ITERATIONS)
        times["ours"].append(process_time() - start)
        start = process_time()
        theirs = IBMModel1([AlignedSent(observed, source) for source, observed in pairs], ITERATIONS)
        times["NLTK"].append(process_time() - start)
    difference = max(
        abs(p - theirs.translation_table[observed][source])
        for source in [None, *ours.source_words_]
        for observed, p in ours.translations(source, len(ours.observed_words_))
    )
    return {name: median(each) for name, each in times.items()} | {"difference": difference}


def threads(pairs: Pairs, repeat: int) -> float:
    """What two threads gain in an iteration."""
    times: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(repeat):
        for n_jobs, each in times.items():
            moments: list[float] = []
            fitted(pairs, ITERATIONS, n_jobs=n_jobs, callback=lambda *_, m=moments: m.append(perf_counter()))
            each.append(moments[-1] - moments[0])
    return median(times[1]) / median(times[2])


def main() -> None:
    options = arguments(__doc__ or "").parse_args()
    pairs = drawn(N_PAIRS, N_WORDS)
    results: dict[str, Any] = {"iterations": iterations(pairs, options.repeat)}
    title = f"{N_PAIRS} pairs of {LENGTH} words: CPU seconds"
    show(title, ["model", "an iteration", "before the first"], [list(row.values()) for row in results["iterations"]])
    few = [(source, list(dict.fromkeys(observed))) for source, observed in drawn(NLTK_PAIRS, N_WORDS)]
    results["NLTK"] = found = beside_nltk(few, options.repeat)
    show(
        f"{NLTK_PAIRS} pairs, {ITERATIONS} iterations of Model 1: CPU seconds",
        ["", "ours", "NLTK", "ratio", "difference of t"],
        [["fit", found["ours"], found["NLTK"], found["NLTK"] / found["ours"], found["difference"]]],
    )
    if options.threads:
        results["threads"] = threads(pairs, options.repeat)
        print(f"\ntwo threads: {results['threads']:.2f} times as fast")
    save("channel", results)


if __name__ == "__main__":
    main()
