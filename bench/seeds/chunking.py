"""How well are the phrases of CoNLL-2000 found: by its standard template, and by more features?

The standard template is that of CRF++ and CRFsuite (the preset ``chunking``): words and parts of speech from two before
to two behind, and neighbours of them. `richer` adds words in lower case, their prefixes and suffixes, shapes, pairs of
words and parts of speech, and longer runs of these. Parts of speech are those of the files, by the Brill tagger;
nothing outside of the training part is used. A committee is the mean of ten models by MIRA that differ by the
order of the sentences: one linear model.

Settings are chosen on the last tenth of the training sentences; then the model learns from all, and the test part is
read once. The templates of `richer` were chosen on the same tenth, among some thirty sets.
"""

from __future__ import annotations

from common import save  # before numpy: it sets the threads

# isort: split
import argparse
import warnings
from functools import partial
from typing import Any

from fastlin.sequence import CRF, HMM, MEMM, StructuredPerceptron
from fastlin.sequence.metrics import span_f1_score, span_report
from fastlin.text.templates import Column, Templates, chunking
from tagging import Committee, Contender, Part, accuracy, best_of, column, judge, report, sentences

ENOUGH = 200  # iterations
MIRA_EPOCHS = 8
MEMBERS = 10
GOALS = {
    "CRF": "≥ 93.7; published 93.5–94.0",
    "CRF, richer": "≥ 94.3",
    "perceptron, richer": "≥ 94.3",
    "MIRA, richer": "≥ 94.3",
    "committee, richer": "≥ 94.3",
}


def richer() -> Templates:
    """The standard template and more."""
    W, P = Column(0, "w"), Column(1, "pos")
    low = {d: W[d].lower for d in range(-2, 3)}
    return Templates(
        [
            *chunking().templates,
            *low.values(),
            *(low[a] & low[b] for a, b in ((-2, -1), (-1, 0), (0, 1), (1, 2), (-1, 1))),
            low[-1] & low[0] & low[1],
            *(low[a] & P[b] for a, b in ((0, 0), (-1, 0), (0, 1), (0, -1), (1, 0), (-1, -1), (1, 1))),
            low[0] & P[-1] & P[0] & P[1],
            low[-1] & P[0] & P[1],
            low[1] & P[-1] & P[0],
            *low[0].suffixes(4),
            *low[0].prefixes(3),
            *(W[d].short_shape for d in (-1, 0, 1)),
            *(part[d] for part in (W, P) for d in (-3, 3)),
            P[-1] & P[1],
            P[-1] & P[0] & P[1] & P[2],
            P[-2] & P[-1] & P[0] & P[1],
            P[-2] & P[-1] & P[0] & P[1] & P[2],
        ]
    )


def load(part: str) -> Part:
    tokens = sentences("conll2000", f"{part}.tsv.gz")
    return Part([[(word, tag) for word, tag, _ in sentence] for sentence in tokens], column(tokens, 2))


def f1(right: Any, predicted: Any) -> float:
    return 100.0 * span_f1_score(right, predicted)


MEASURES = {"F1": f1, "tokens": accuracy}


def models() -> list[list[Contender]]:
    """What is chosen among, model by model."""
    found: list[list[Contender]] = [
        [
            Contender("HMM", partial(HMM, features=chunking(), alpha=alpha), {"alpha": alpha})
            for alpha in (0.01, 0.1, 1.0)
        ],
        [
            Contender("MEMM", partial(MEMM, C=C, features=chunking(), max_iter=ENOUGH), {"C": C})
            for C in (0.3, 1.0, 3.0)
        ],
    ]
    for name, templates in (("", chunking), (", richer", richer)):
        online = partial(StructuredPerceptron, features=templates(), random_state=0)
        mira = partial(online, loss="mira", max_iter=MIRA_EPOCHS)
        batch = partial(CRF, features=templates(), max_iter=ENOUGH, tol=1e-3, random_state=0)
        found += [
            [Contender(f"perceptron{name}", partial(online, max_iter=n), {"epochs": n}) for n in (5, 10, 20)],
            [Contender(f"MIRA{name}", partial(mira, C=C), {"C": C}) for C in (0.005, 0.02, 0.1)],
            [Contender(f"CRF{name}", partial(batch, c2=c2), {"c2": c2}) for c2 in (1.0, 0.5, 0.25)],
        ]
    found.append([Contender("committee, richer", partial(committee, C), {"C": C}) for C in (0.005, 0.02)])
    return found


def committee(C: float) -> Committee:
    def member(seed: int) -> StructuredPerceptron:
        return StructuredPerceptron(loss="mira", C=C, max_iter=MIRA_EPOCHS, random_state=seed)

    return Committee(richer(), member, MEMBERS)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", help="only the models whose name contains this")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # models that would take more iterations are judged like the others
    train, test = load("train"), load("test")
    rest, dev = train.without(0.1)
    chosen = [each for each in models() if not options.only or options.only in each[0].name]
    found = [judge(best_of(each, rest, dev, f1), train, test, MEASURES) for each in chosen]
    results = report("CoNLL-2000: F1 of phrases on dev; on test also the accuracy of words, per cent", found, GOALS)
    best = max(found, key=lambda outcome: outcome.dev)
    model, _ = best.contender.learn(train)
    figures = span_report(test.y, model.predict(test.X))
    print(f"\nthe best on dev, {best.contender.name}, on test:\n{figures}", flush=True)
    save("chunking", {"models": results, "best": figures.as_dict()})


if __name__ == "__main__":
    main()
