"""How long does one sentence take, of 4 tokens and of 25?

CPU microseconds of a call. ``crf``: `predict` of a list of one sentence, beside CRFsuite's `tag` with its own model of
the same features and the same number of iterations; a hundred of the sentence in a call, for each. ``words``: words
alone, their features made by templates, and hidden Markov models; words that are known, and two in each sentence that
were never seen before. That the labels of one are those of many is asserted.
"""

from __future__ import annotations

from timing import arguments, interleave, save, show  # before numpy: it sets the threads

# isort: split
import itertools
from collections.abc import Callable, Iterator
from statistics import median
from time import thread_time
from typing import Any

import crfsuite
from chunks import Part, load
from fastlin.sequence import CRF, HMM, MEMM, StructuredPerceptron
from fastlin.text.templates import ner, pos

CALLS = 200  # of a round
SENTENCES = 1_000  # to learn from
ITERATIONS = 20
LENGTHS = (4, 25)
NEVER = itertools.count()

Rows = Iterator[list[object]]


def microseconds(calls: dict[str, Callable[[], Any]], repeat: int) -> dict[str, float]:
    """CPU time of one call of each, in turns."""

    def many(call: Callable[[], Any]) -> Callable[[], None]:
        def run() -> None:
            for _ in range(CALLS):
                call()

        return run

    times = interleave({name: lambda call=call: many(call) for name, call in calls.items()}, repeat, thread_time)
    return {name: median(found) / CALLS * 1e6 for name, found in times.items()}


def unknown(words: list[str]) -> list[str]:
    """The sentence with two words that are new in every call."""
    n = next(NEVER)
    return [words[0], f"Zorgul{n}ing", *words[2:-1], f"blort{n}s"]


def against_crfsuite(part: Any, sentences: dict[int, list[str]], repeat: int) -> Rows:
    X, y = pos().strings(part), LABELS
    ours = CRF(c2=1, tol=0, max_iter=ITERATIONS, random_state=0).fit(X, y)
    online = StructuredPerceptron(max_iter=2, random_state=0).fit(X, y)
    local = MEMM(max_iter=5).fit(X, y)
    with crfsuite.place() as path:
        crfsuite.crf(Part(part, X, y), 1.0, ITERATIONS).train(path)
        with crfsuite.tagger(path) as theirs:
            for n, words in sentences.items():
                (x,) = pos().strings([words])
                for model in (ours, online, local):
                    model.predict([x])
                    assert model.predict([x]) == model.predict([x, x])[:1]
                calls = {
                    "CRFsuite": lambda x=x: theirs.tag(x),
                    "CRF": lambda x=x: ours.predict([x]),
                    "StructuredPerceptron": lambda x=x: online.predict([x]),
                    "MEMM": lambda x=x: local.predict([x]),
                    "CRF, 100 in a call": lambda xs=[x] * 100: ours.predict(xs),
                }
                found = microseconds(calls, repeat)
                found["CRF, 100 in a call"] /= 100
                for name, time in found.items():
                    yield [name, n, time, found["CRFsuite"] / time]


def of_words(part: Any, sentences: dict[int, list[str]], repeat: int) -> Rows:
    models = {
        "CRF, pos()": CRF(features=pos(), max_iter=ITERATIONS, tol=1).fit(part, LABELS),
        "CRF, ner()": CRF(features=ner(), max_iter=ITERATIONS, tol=1).fit(part, LABELS),
        "HMM": HMM().fit(part, LABELS),
        "HMM of order 2": HMM(order=2).fit(part, LABELS),
    }
    for n, words in sentences.items():
        calls: dict[str, Callable[[], Any]] = {}
        for name, model in models.items():
            model.predict([words])
            strange = unknown(words)
            assert model.predict_one(strange) == model.predict([strange, words])[0]
            calls[name] = lambda words=words, model=model: model.predict_one(words)
            calls[f"{name}, two new words"] = lambda words=words, model=model: model.predict_one(unknown(words))
        for name, time in microseconds(calls, repeat).items():
            yield [name, n, time, ""]


QUESTIONS = {"crf": against_crfsuite, "words": of_words}
LABELS: list[list[str]] = []


def main() -> None:
    options = arguments(__doc__).parse_args()
    train = load("train", SENTENCES)
    part = [[word for word, _ in sentence] for sentence in train.sentences]
    LABELS[:] = [[tag for _, tag in sentence] for sentence in train.sentences]
    running = [word for sentence in part for word in sentence]
    sentences = {n: running[:n] for n in LENGTHS}
    results = {}
    for name, ask in QUESTIONS.items():
        if options.only and options.only not in name:
            continue
        rows = list(ask(part, sentences, options.repeat))
        show(name, ["one sentence", "tokens", "µs", "CRFsuite's time ÷ ours"], rows)
        results[name] = rows
    save("one_sentence", results)


if __name__ == "__main__":
    main()
