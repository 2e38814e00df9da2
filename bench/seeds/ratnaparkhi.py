"""How far do taggers of parts of speech come, from Ratnaparkhi's of 1996 on?

UD English EWT, its tags of the Penn Treebank (XPOS) and universal ones (UPOS), with its own parts to choose on and to
judge; and the Penn sample without its traces, of which the last tenth of the trees is judged and the tenth before it is
for choosing. Nothing outside of the training parts is used.

* HMM: orders 1 and 2, unknown words by their suffixes.
* "Ratnaparkhi 1996": a MEMM of order 2 with his features (the preset ``ratnaparkhi96``: words seen fewer than five
  times by affixes and flags), only pairs of feature and tag that ten tokens have, a dictionary of the tags that a word
  was seen with, and a beam of five. His weights had no prior; here its variance is chosen. "tuned": without a cut-off,
  and the best path is found exactly.
* Perceptron, MIRA, CRF: the preset ``pos``.
* "committee": the mean of five models of order 2 by MIRA that differ by the order of the sentences, one linear model.
  Its templates, `richer`, were chosen on the development part of EWT, among some twenty sets.

Every choice is made on the development part; then the model learns from the training part alone, and the test part is
read once.
"""

from __future__ import annotations

from common import save  # before numpy: it sets the threads

# isort: split
import argparse
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from fastlin.sequence import CRF, HMM, MEMM, StructuredPerceptron
from fastlin.text.templates import Column, Templates, pos, ratnaparkhi96
from tagging import Committee, Contender, Measure, Part, best_of, column, judge, report, sentences
from tagging import accuracy as all_words
from treebank import trees

ENOUGH = 150  # iterations
MIRA_EPOCHS = 8
MEMBERS = 5
WORDS = "w[0]="  # the features that are words, of which there is a dictionary
GOALS = {"upos": "≥ 94.0", "xpos": "≥ 94.0", "penn": ""}


def richer() -> Templates:
    """The preset and more."""
    W = Column(0, "w")
    low = {d: W[d].lower for d in range(-3, 4)}
    shape = {d: W[d].short_shape for d in (-1, 0, 1)}
    return Templates(
        [
            *pos().templates,
            *(low[d] for d in (-3, -2, 2, 3)),
            shape[-1] & shape[0],
            shape[0] & shape[1],
            shape[-1] & shape[0] & shape[1],
            *(low[0].suffix(n) & shape[0] for n in (2, 3)),
        ],
        padding="_B",
    )


def ewt(field: int) -> dict[str, Part]:
    """The parts of UD English EWT, with the tags of one column."""
    parts = {part: sentences("ud_english_ewt", f"{part}.tsv.gz") for part in ("train", "dev", "test")}
    return {part: Part(column(tokens, 0), column(tokens, field)) for part, tokens in parts.items()}


def penn() -> dict[str, Part]:
    found = trees()
    words = [[leaf.word for leaf in tree] for tree in found]
    rest, test = Part(words, [[leaf.tag for leaf in tree] for tree in found]).without(0.1)
    train, dev = rest.without(1 / 9)
    return {"train": train, "dev": dev, "test": test}


CORPORA: dict[str, Callable[[], dict[str, Part]]] = {"upos": partial(ewt, 1), "xpos": partial(ewt, 2), "penn": penn}


def of_unknown(train: Part, test: Part) -> Measure:
    """Accuracy of the words of the test part that training does not have, per cent."""
    known = {word for sentence in train.X for word in sentence}
    strange = [[word not in known for word in sentence] for sentence in test.X]
    return lambda right, predicted: all_words(picked(right, strange), picked(predicted, strange))


def picked(labels: Any, which: list[list[bool]]) -> list[list[Any]]:
    return [[a for a, wanted in zip(*pair, strict=True) if wanted] for pair in zip(labels, which, strict=True)]


def models() -> Iterator[list[Contender]]:
    """What is chosen among, model by model."""
    yield [Contender("HMM, order 1", HMM)]
    yield [Contender("HMM, order 2", partial(HMM, order=2))]
    his = partial(MEMM, order=2, features=ratnaparkhi96(), tag_dictionary=WORDS, max_iter=ENOUGH)
    beam = partial(his, cutoff=10, decoder="beam", beam_width=5)
    yield [Contender("Ratnaparkhi 1996", partial(beam, C=C), {"C": C}) for C in (1.0, 10.0)]
    yield [Contender("tuned", partial(his, C=C), {"C": C}) for C in (0.3, 1.0, 3.0)]
    for order in (1, 2):
        online = partial(StructuredPerceptron, order=order, features=pos(), random_state=0)
        mira = partial(online, loss="mira", max_iter=MIRA_EPOCHS)
        yield [Contender(f"perceptron, order {order}", partial(online, max_iter=n), {"epochs": n}) for n in (5, 10, 20)]
        yield [Contender(f"MIRA, order {order}", partial(mira, C=C), {"C": C}) for C in (0.005, 0.02, 0.1)]
    batch = partial(CRF, features=pos(), max_iter=ENOUGH, tol=2e-3, random_state=0)
    yield [Contender("CRF", partial(batch, c2=c2), {"c2": c2}) for c2 in (0.1, 0.3, 1.0)]
    yield [Contender("committee", partial(committee, C), {"C": C}) for C in (0.005, 0.02)]


def committee(C: float) -> Committee:
    def member(seed: int) -> StructuredPerceptron:
        return StructuredPerceptron(order=2, loss="mira", C=C, max_iter=MIRA_EPOCHS, random_state=seed)

    return Committee(richer(), member, MEMBERS)


def experiment(name: str, only: str) -> dict[str, Any]:
    """Print the table; the same figures."""
    parts = CORPORA[name]()
    train, dev, test = (parts[part] for part in ("train", "dev", "test"))
    measures = {"all words": all_words, "unknown words": of_unknown(train, test)}
    chosen = [each for each in models() if only in each[0].name]
    found = [judge(best_of(each, train, dev), train, test, measures) for each in chosen]
    best = max(found, key=lambda outcome: outcome.dev).contender.name
    return {
        "tokens": {part: sum(map(len, each.y)) for part, each in parts.items()},
        "models": report(f"{name}: accuracy, per cent", found, {best: GOALS[name]}),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", choices=CORPORA, help="one of them only")
    parser.add_argument("--only", default="", help="only the models whose name contains this")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # models that would take more iterations are judged like the others
    names = [options.corpus] if options.corpus else list(CORPORA)
    results = {name: experiment(name, options.only) for name in names}
    save("ratnaparkhi" + "".join(f"-{part}" for part in (options.corpus, options.only) if part), results)


if __name__ == "__main__":
    main()
