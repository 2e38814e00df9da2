"""How much sooner than scikit-learn's are our vectorisers done, with the same matrices, and in how much memory?

Both sides get the same texts and parameters. The first run of each is compared: container, dtype, every array in its
order, names. A rival that takes long runs once, in that first run: the table's ``rounds`` says so. MB/s are of UTF-8.
Two threads against one follow, and the memory at the peak (``text_memory.py``).
"""

from __future__ import annotations

from timing import all_cores, arguments, interleave, save, seconds, show  # before numpy: it sets the threads

# isort: split
from statistics import median
from time import process_time
from typing import Any

import text_memory
from vectorisers import CORPORA, QUESTIONS, SIDES, Answer, Parts, Question, difference

BUDGET = 20.0  # seconds for a rival's rounds of one question
THREADED = (
    "words, names",
    "words 1-2",
    "words 1-2, names",
    "char_wb 2-5",
    "hashed words",
    "hashed words 1-2",
    "tf-idf",
)
THREADS_ASKED = 1.6, 1.8
FEW = 2_000  # documents, with --quick


def compare(question: Question, parts: Parts, repeat: int) -> dict[str, Any]:
    """CPU seconds of both sides, one thread each, and whether they agree."""
    runs = {side: question.prepare(side, parts) for side in SIDES}
    answers: dict[str, Answer] = {}
    first = {side: seconds(lambda side=side: answers.update({side: runs[side]()}), process_time) for side in SIDES}
    verdict = difference(answers["ours"], answers["scikit-learn"])
    shape = answers["ours"][0].shape
    answers.clear()
    rounds = min(repeat, int(BUDGET / first["scikit-learn"]))
    if rounds > 1:
        times = interleave({side: lambda side=side: runs[side] for side in SIDES}, rounds, process_time)
    else:
        times = interleave({"ours": lambda: runs["ours"]}, repeat, process_time) | {
            "scikit-learn": [first["scikit-learn"]]
        }
    spent = {side: median(each) for side, each in times.items()}
    return {
        "question": question.name,
        "shape": shape,
        "seconds": spent,
        "rounds": {side: len(each) for side, each in times.items()},
        "megabytes": question.megabytes(parts),
        "ratio": spent["scikit-learn"] / spent["ours"],
        "asked": question.asked,
        "agreement": verdict,
    }


def against_scikit_learn(corpus: str, parts: Parts, questions: list[Question], repeat: int) -> list[dict[str, Any]]:
    """Print the table of one corpus; the same figures."""
    results = [compare(question, parts, repeat) for question in questions]
    rows = []
    for found in results:
        rates = [found["megabytes"] / found["seconds"][side] for side in SIDES]
        spent = [found["seconds"][side] * 1e3 for side in SIDES]
        rounds = "/".join(str(found["rounds"][side]) for side in SIDES)
        asked = found["asked"] or ("", "")
        columns = f"{found['shape'][1]:,}"
        rows.append([found["question"], columns, *spent, *rates, rounds, found["ratio"], *asked, found["agreement"]])
    heads = ["columns", "ours ms", "theirs ms", "ours MB/s", "theirs", "rounds", "ratio", "at least", "aim", "answers"]
    title = f"{corpus}: {len(parts.train):,} documents to fit, {len(parts.test):,} to transform"
    show(title, ["against scikit-learn", *heads], rows)
    return results


def two_threads(corpus: str, parts: Parts, questions: list[Question], repeat: int) -> list[dict[str, Any]]:
    """Print what a second thread is worth, and whether it changes a bit; the same figures."""
    results, rows = [], []
    with all_cores():
        for question in questions:
            runs = {jobs: question.prepare("ours", parts, n_jobs=jobs) for jobs in (1, 2)}
            verdict = difference(runs[1](), runs[2]())
            times = interleave({str(jobs): lambda run=run: run for jobs, run in runs.items()}, repeat)
            one, two = (median(times[jobs]) for jobs in ("1", "2"))
            rows.append([question.name, one * 1e3, two * 1e3, one / two, *THREADS_ASKED, verdict])
            results.append({"question": question.name, "seconds": {"1": one, "2": two}, "agreement": verdict})
    show(f"{corpus}: one thread and two", ["ours", "1: ms", "2: ms", "ratio", "at least", "aim", "answers"], rows)
    return results


def main() -> None:
    parser = arguments(__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help=f"three rounds, {FEW:,} documents, no memory")
    parser.add_argument("--corpus", choices=CORPORA, help="only this corpus")
    options = parser.parse_args()
    repeat = 3 if options.quick else options.repeat
    only = options.only or ""
    parts_of_names = only.split("|")
    results: dict[str, Any] = {}
    for corpus in [options.corpus] if options.corpus else CORPORA:
        parts = Parts.of(corpus, FEW if options.quick else None)
        part = results.setdefault(corpus, {})
        asked = [question for question in QUESTIONS if any(part in question.name for part in parts_of_names)]
        if asked:
            part["others"] = against_scikit_learn(corpus, parts, asked, repeat)
        threaded = [question for question in QUESTIONS if question.name in THREADED and only in ("", "threads")]
        if threaded:
            part["threads"] = two_threads(corpus, parts, threaded, repeat)
        if only in "memory" and not options.quick:
            part["memory"] = text_memory.compare(corpus)
    save("text", results)


if __name__ == "__main__":
    main()
