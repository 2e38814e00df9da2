"""Where do names start and go on, and of which kind are they?

There is no corpus of named entities in the data folder, so names are taken from what treebanks say.

* "names": UD English EWT. A name is a maximal run of tokens whose UPOS is PROPN; no types.
* "typed": the Penn sample. A name is a run of NNP and NNPS in one phrase, of the type that function tags tell: time,
  place, or name (see treebank.py). The last tenth of the trees is judged, the tenth before it is for choosing.

The models see words alone, no parts of speech, and say of each word whether a name starts there, goes on or neither, as
Ratnaparkhi (1998) had it; a name cannot go on that has not started. All read the features of the preset ``ner``. Beside
them stand the runs of words with a capital that do not begin a sentence, and the names of the training part, wherever
they occur again, the longest first.
"""

from __future__ import annotations

from common import save  # before numpy: it sets the threads

# isort: split
import argparse
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from fastlin.sequence import CRF, HMM, MEMM, StructuredPerceptron
from fastlin.sequence.metrics import span_f1_score, span_report, spans
from fastlin.text.templates import ner
from tagging import Contender, Part, accuracy, best_of, column, judge, report, sentences
from treebank import name_labels, trees

LONGEST = 8  # words of a name that is looked up
ENOUGH = 200  # iterations


class Capitals:
    """Runs of words with a capital; at the beginning of a sentence only words that never stood small in training."""

    def __init__(self, type_: str) -> None:
        self.type = type_

    def fit(self, X: Sequence[Sequence[str]], y: Any) -> Capitals:  # noqa: ARG002 - as models have it
        self.small = {word for sentence in X for word in sentence if word.islower()}
        return self

    def predict(self, X: Sequence[Sequence[str]]) -> list[list[str]]:
        return [runs([self.is_name(word, place) for place, word in enumerate(sentence)], self.type) for sentence in X]

    def is_name(self, word: str, place: int) -> bool:
        return word[0].isupper() and len(word) > 1 and (place > 0 or word.lower() not in self.small)


class Known:
    """The names of training, where they occur, with the commonest type of each."""

    def fit(self, X: Sequence[Sequence[str]], y: Sequence[Sequence[str]]) -> Known:
        found: dict[tuple[str, ...], Counter[str]] = {}
        for words, labels in zip(X, y, strict=True):
            for span in spans(labels):
                found.setdefault(tuple(words[span.start : span.stop]), Counter())[span.type] += 1
        self.types = {name: counts.most_common(1)[0][0] for name, counts in found.items()}
        return self

    def predict(self, X: Sequence[Sequence[str]]) -> list[list[str]]:
        return [list(self.labels(tuple(sentence))) for sentence in X]

    def labels(self, words: tuple[str, ...]) -> Iterator[str]:
        start = 0
        while start < len(words):
            ends = range(min(start + LONGEST, len(words)), start, -1)
            stop = next((stop for stop in ends if words[start:stop] in self.types), 0)
            if stop:
                kind = self.types[words[start:stop]]
                yield from (f"{'I' if place else 'B'}-{kind}" for place in range(stop - start))
            else:
                yield "O"
            start = max(stop, start + 1)


def runs(inside: Sequence[bool], kind: str) -> list[str]:
    """Labels of the runs of tokens that are inside."""
    before = [False, *inside[:-1]]
    return ["O" if not here else f"{'I' if last else 'B'}-{kind}" for here, last in zip(inside, before, strict=True)]


def ewt() -> dict[str, Part]:
    """Words, and the runs of PROPN."""
    found = {}
    for part in ("train", "dev", "test"):
        tokens = sentences("ud_english_ewt", f"{part}.tsv.gz")
        labels = [runs([tag == "PROPN" for tag in tags], "name") for tags in column(tokens, 1)]
        found[part] = Part(column(tokens, 0), labels)
    return found


def penn() -> dict[str, Part]:
    """Words, and the names that have types."""
    found = trees()
    rest, test = Part([[leaf.word for leaf in tree] for tree in found], list(map(name_labels, found))).without(0.1)
    train, dev = rest.without(1 / 9)
    return {"train": train, "dev": dev, "test": test}


def f1(right: Any, predicted: Any) -> float:
    return 100.0 * span_f1_score(right, predicted)


MEASURES = {"F1": f1, "tokens": accuracy}


def models() -> list[list[Contender]]:
    """What is chosen among, model by model."""
    shared: dict[str, Any] = {"features": ner(), "constraints": "bio", "max_iter": ENOUGH}
    online = {**shared, "random_state": 0}
    return [
        [Contender("runs of capitals", partial(Capitals, "name"))],
        [Contender("names of training", Known)],
        [Contender("HMM", partial(HMM, order=order, constraints="bio"), {"order": order}) for order in (1, 2)],
        [Contender("MEMM", partial(MEMM, C=C, **shared), {"C": C}) for C in (0.3, 1.0, 3.0, 10.0)],
        [
            Contender("perceptron", partial(StructuredPerceptron, **{**online, "max_iter": epochs}), {"epochs": epochs})
            for epochs in (5, 10, 20)
        ],
        [Contender("CRF", partial(CRF, c2=c2, **online), {"c2": c2}) for c2 in (0.03, 0.1, 0.3, 1.0)],
    ]


CORPORA = {"names": ewt, "typed": penn}


def experiment(name: str) -> dict[str, Any]:
    """Print the tables; the same figures."""
    parts = CORPORA[name]()
    train, dev, test = (parts[part] for part in ("train", "dev", "test"))
    sizes = {part: sum(len(spans(labels)) for labels in each.y) for part, each in parts.items()}
    print(f"\n{name}: names " + ", ".join(f"{part} {size:,}" for part, size in sizes.items()), flush=True)
    found = [judge(best_of(each, train, dev, f1), train, test, MEASURES) for each in models()]
    results = report(f"{name}: F1 of names on dev; on test also the accuracy of words, per cent", found, {})
    best = max(found, key=lambda outcome: outcome.dev)
    model, _ = best.contender.learn(train)
    figures = span_report(test.y, model.predict(test.X))
    print(f"\nthe best on dev, {best.contender.name}, on test:\n{figures}", flush=True)
    return {"sizes": sizes, "models": results, "best": figures.as_dict()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", choices=CORPORA, help="one of them only")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # models that would take more iterations are judged like the others
    names = [options.corpus] if options.corpus else list(CORPORA)
    save("entities" + (f"-{options.corpus}" if options.corpus else ""), {name: experiment(name) for name in names})


if __name__ == "__main__":
    main()
