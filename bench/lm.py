"""Are our n-gram models KenLM's and SRILM's, and how long do they take beside KenLM?

Perplexities of the Penn Treebank's test part: every event counts, ends of sentences included, and <unk>, as it stands
in that corpus, is an ordinary word. Then CPU seconds, in turns, of text to fitted model, ARPA files, scoring, the next
word, and of maximum-entropy models by solver. Of KenLM its Python module takes part (`pip install kenlm`); lmplz and
build_binary are C++ programs of its source, which this script runs where LMPLZ and BUILD_BINARY name them. NLTK counts
the first sentences of the corpus.
With --threads, what two threads gain, by the clock.
"""

from __future__ import annotations

from timing import arguments  # before numpy: it sets the threads

# isort: split
import gzip
import os
import resource
import subprocess
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

import numpy as np

from fastlin.lm import MaxentLM, NgramModel, State
from fastlin.runtime.parallel import WorkerPool

OOV = "<oov>"  # the name of unknown words, so that <unk> is one like others
KENLM = {3: 148.2815, 5: 141.1862}  # perplexities of lmplz's models
# test perplexity of orders 1, 2, 3 and 5, by SRILM
SRILM = {
    "modified Kneser-Ney": (639.30, 185.70, 148.28, 141.19),
    "modified Kneser-Ney, back-off": (639.30, 192.21, 161.99, 171.48),
    "Kneser-Ney": (639.30, 186.80, 150.60, 143.51),
    "absolute 3/4": (639.30, 194.79, 169.88, 176.54),
    "Witten-Bell": (639.79, 199.84, 186.31, 209.22),
    "Witten-Bell, back-off": (639.79, 199.26, 176.87, 184.40),
    "Katz": (639.30, 194.50, 166.58, 173.67),
}
OPTIONS = {
    "modified Kneser-Ney": {},
    "modified Kneser-Ney, back-off": {"interpolate": False},
    "Kneser-Ney": {"smoothing": "kneser_ney"},
    "absolute 3/4": {"smoothing": "absolute_discounting", "discount": 0.75},
    "Witten-Bell": {"smoothing": "witten_bell"},
    "Witten-Bell, back-off": {"smoothing": "witten_bell", "interpolate": False},
    "Katz": {"smoothing": "katz"},
}
LOG_LINEAR: list[dict[str, object]] = [
    {"order": 3},
    {"order": 5},
    *({"order": 3, "solver": solver} for solver in ("newton", "cg", "gd")),
    *({"order": 3, "solver": solver, "max_iter": 10} for solver in ("sgd", "adagrad")),
    {"order": 3, "skip_grams": 1},
    *({"order": order, "classes": 100} for order in (3, 4, 5)),
]
NLTK_SENTENCES = 5000
DECODED = 300  # sentences whose words a decoder asks for
EVENTS = 82430  # of the test part, ends of sentences among them


def lines_of(part: str) -> list[str]:
    path = Path(os.environ["FASTLIN_DATA"], "ptb_lm", f"{part}.txt.gz")
    return gzip.decompress(path.read_bytes()).decode().splitlines()


def fitted(lines: list[str], order: int, **options: object) -> NgramModel:
    return NgramModel(order, unk=OOV, **options).fit(lines)  # type: ignore[arg-type]


def perplexities(train: list[str], test: list[str]) -> None:
    print(f"{'test perplexity':32}" + "".join(f"{order:>22}" for order in (1, 2, 3, 5)))
    for name, options in OPTIONS.items():
        found = [fitted(train, order, **options).perplexity(test) for order in (1, 2, 3, 5)]
        row = (f"{ours:10.4f} ({theirs:7.2f})" for ours, theirs in zip(found, SRILM[name], strict=True))
        print(f"{name:32}" + "  ".join(f"{each:>20}" for each in row))
        if not options:
            for order, ours in ((3, found[2]), (5, found[3])):
                print(f"    order {order} against KenLM's {KENLM[order]}: {ours / KENLM[order] - 1:+.1e}")


def interleaved(contenders: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Median CPU seconds of each, in turns, after a round that does not count."""
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for turn in range(rounds + 1):
        for name, run in contenders.items():
            start = process_time()
            run()
            if turn:
                times[name].append(process_time() - start)
    return {name: median(each) for name, each in times.items()}


def seconds_of(command: list[str], **options: Any) -> float:
    """User and system seconds of a program."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True, **options)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def lmplz_seconds(lines: list[str], order: int, folder: Path) -> float:
    """Seconds of lmplz, its ARPA file included."""
    text = folder / "text"
    text.write_text("\n".join(lines).replace("<unk>", "UNK_"))
    options = ["-o", str(order), "--discount_fallback", "-S", "1G", "--arpa", str(folder / "theirs")]
    with text.open("rb") as stream:
        return seconds_of([os.environ["LMPLZ"], *options], stdin=stream)


def programs(train: list[str], order: int, rounds: int, folder: Path, ours: dict[str, float]) -> None:
    """lmplz and build_binary, where they are, beside our text to model and to ARPA file, and that file back."""
    if "LMPLZ" in os.environ:
        theirs = median(lmplz_seconds(train, order, folder) for _ in range(rounds))
        whole = ours["fit"] + ours["out"]
        print(f"    lmplz {theirs:.3f} s: {theirs / ours['fit']:.1f} times; ", end="")
        print(f"{theirs / whole:.1f} times text to ARPA file, {whole:.3f} s")
    if "BUILD_BINARY" in os.environ:
        for path in (folder / "ours.arpa", folder / "theirs"):
            if path.exists():
                beside_build_binary(path, rounds)


def beside_build_binary(path: Path, rounds: int) -> None:
    """An ARPA file in, ours or of lmplz."""
    ours = interleaved({"in": lambda: NgramModel.from_arpa(path, unk=OOV)}, rounds)["in"]
    for kind in ("probing", "trie"):
        command = [os.environ["BUILD_BINARY"], kind, str(path), str(path.with_suffix(f".{kind}"))]
        theirs = median(seconds_of(command) for _ in range(rounds))
        print(f"    {path.name} in {ours:.3f} s, build_binary {kind} {theirs:.3f} s: {theirs / ours:.1f} times")


def nltk_seconds(lines: list[str], order: int) -> float:
    """CPU seconds of NLTK from text to a fitted model of Kneser and Ney."""
    from nltk.lm import KneserNeyInterpolated
    from nltk.lm.preprocessing import padded_everygram_pipeline

    start = process_time()
    n_grams, words = padded_everygram_pipeline(order, [line.split() for line in lines])
    KneserNeyInterpolated(order).fit(n_grams, words)
    return process_time() - start


def beside_nltk(train: list[str], rounds: int) -> None:
    """Text to fitted model of the first sentences."""
    lines = train[:NLTK_SENTENCES]
    for order in (3, 5):
        theirs = nltk_seconds(lines, order)
        ours = interleaved({"fit": lambda n=order: fitted(lines, n, smoothing="kneser_ney")}, rounds)["fit"]
        print(f"{len(lines)} sentences, order {order}: NLTK {theirs:.2f} s, {theirs / ours:.0f} times")


def times(train: list[str], test: list[str], order: int, rounds: int, folder: Path) -> None:
    """One order: every question, ours and KenLM's where it can answer."""
    path = folder / "ours.arpa"
    model = fitted(train, order)
    model.to_arpa(path)
    megabytes = path.stat().st_size / 1e6
    start = process_time()
    model.score_samples(train)  # so much that tables are made: what a model that serves has
    first = process_time() - start
    words = " ".join(test).split()
    hypotheses = hypotheses_of(model, test)
    contexts = [words[first : first + order - 1] for first in range(0, 75000, 75)]
    contenders: dict[str, Callable[[], object]] = {
        "fit": lambda: fitted(train, order),
        "out": lambda: model.to_arpa(path),
        "in": lambda: NgramModel.from_arpa(path, unk=OOV),
        "score": lambda: model.score_samples(test),
        "next word × 1000": lambda: [model.next_word(context) for context in contexts],
        "states": lambda: model.advance_many(*hypotheses),
    }
    try:
        import kenlm
    except ImportError:
        print("KenLM's Python module is not installed")
    else:
        theirs = kenlm.Model(str(path))
        contenders["kenlm score"] = lambda: [theirs.score(line) for line in test]
        contenders["kenlm in"] = lambda: kenlm.Model(str(path))
        contenders["kenlm states"] = kenlm_states(kenlm, theirs, test)
        agreement(model, theirs, test)
    found = interleaved(contenders, rounds)
    print(f"order {order}: text to model {found['fit']:.3f} s")
    programs(train, order, rounds, folder, found)
    print(f"    scoring the training text, tables included: {first:.3f} s")
    out, back = megabytes / found["out"], megabytes / found["in"]
    print(f"    ARPA, {megabytes:.0f} MB: out {out:.0f} MB/s, in {back:.0f} MB/s")
    print(f"    scoring strings: {EVENTS / found['score'] / 1e6:.1f} M words/s", end="")
    if "kenlm score" in found:
        ratio = found["kenlm score"] / found["score"]
        print(f"; KenLM {EVENTS / found['kenlm score'] / 1e6:.1f}, {ratio:.2f} times", end="")
        print(f"; KenLM's ARPA in {megabytes / found['kenlm in']:.0f} MB/s", end="")
    print(f"\n    next word, {len(model.words_)} words: {found['next word × 1000'] * 1e3:.1f} µs")
    print(f"    a decoder's state on: {found['states'] / len(hypotheses[0]) * 1e6:.2f} µs", end="")
    print(
        f"; KenLM's BaseScore {found['kenlm states'] / len(hypotheses[0]) * 1e6:.2f}" if "kenlm states" in found else ""
    )


def hypotheses_of(model: NgramModel, test: list[str]) -> tuple[list[State], list[str]]:
    """Every word of some sentences, and the state before it."""
    states, words = [], []
    for line in test[:DECODED]:
        state = model.start()
        for word in line.split():
            states.append(state)
            words.append(word)
            state = model.advance(state, word)[1]
    return states, words


def kenlm_states(kenlm: Any, theirs: Any, test: list[str]) -> Callable[[], object]:
    """The same words of KenLM, one after the other: it has no batches."""
    asked = []
    for line in test[:DECODED]:
        state = kenlm.State()
        theirs.BeginSentenceWrite(state)
        for word in line.split():
            asked.append((state, word))
            theirs.BaseScore(state, word, state := kenlm.State())

    return lambda: [theirs.BaseScore(state, word, kenlm.State()) for state, word in asked]


def best_of_two(work: Callable[[int], object], rounds: int) -> str:
    """Wall-clock seconds with one thread and with two, in turns: the least of each, for others may use the cores."""
    seconds: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(rounds):
        for n_jobs, found in seconds.items():
            start = perf_counter()
            work(n_jobs)
            found.append(perf_counter() - start)
    one, two = min(seconds[1]), min(seconds[2])
    return f"{one:.4f} s, two threads {two:.4f} s: {one / two:.2f} times"


def two_threads(train: list[str], order: int, rounds: int) -> None:
    """Text to model, scoring, and one value and gradient of a maximum-entropy model; with --threads only."""
    model = fitted(train, order)
    model.score_samples(train)
    print(f"order {order}, text to model: {best_of_two(lambda n: fitted(train, order, n_jobs=n), rounds)}")
    score = best_of_two(lambda n: model.set_params(n_jobs=n).score_samples(train), rounds)
    print(f"    scoring strings: {score}")
    evaluations = {}
    for n_jobs in (1, 2):
        workers = WorkerPool(n_jobs).__enter__()
        lm = MaxentLM(order, unk=OOV)
        fit = lm._begin(train, lm._variances(), workers)
        evaluations[n_jobs] = fit, fit.theta.copy(), np.empty_like(fit.theta)

    def evaluate(n_jobs: int) -> None:
        fit, theta, gradient = evaluations[n_jobs]
        fit.objective.value(theta, gradient)

    print(f"    value and gradient: {best_of_two(evaluate, rounds)}")


def agreement(model: NgramModel, theirs: object, test: list[str]) -> None:
    """How far apart log₁₀ p of a word is, ours and KenLM's from our ARPA file."""
    found = [p for line in test for p, *_ in theirs.full_scores(line)]  # type: ignore[attr-defined]
    ours = -model.surprisal(test).bits * np.log10(2)
    print(f"    log10 p of {len(ours)} words, ours and KenLM's: at most {np.abs(ours - found).max():.1e} apart")


def log_linear(train: list[str], test: list[str]) -> None:
    """Maximum-entropy models: CPU seconds from text to fitted model, passes, objective, and test perplexity."""
    print(f"{'maximum entropy':44}{'CPU s':>8}{'iterations':>12}{'passes':>8}{'objective':>12}{'perplexity':>12}")
    for options in LOG_LINEAR:
        start = process_time()
        model = MaxentLM(unk=OOV, random_state=0, **options).fit(train)  # type: ignore[arg-type]
        seconds = process_time() - start
        name = ", ".join(f"{key} {value}" for key, value in options.items())
        figures = f"{seconds:8.2f}{model.n_iter_:12}{model.history_[-1]['passes']:8}{model.objective_:12.0f}"
        print(f"{name:44}{figures}{model.perplexity(test):12.3f}")


def main() -> None:
    options = arguments(__doc__ or "").parse_args()
    warnings.simplefilter("ignore")
    train, test = lines_of("train"), lines_of("test")
    if not options.only or "perplexity" in options.only:
        perplexities(train, test)
    if not options.only or "times" in options.only:
        with tempfile.TemporaryDirectory() as folder:
            for order in (3, 5):
                times(train, test, order, options.repeat, Path(folder))
    if options.threads:
        for order in (3, 5):
            two_threads(train, order, 5 * options.repeat)
    if not options.only or "maxent" in options.only:
        log_linear(train, test)
    if not options.only or "nltk" in options.only:
        beside_nltk(train, options.repeat)


if __name__ == "__main__":
    main()
