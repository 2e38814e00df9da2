"""How much sooner than CRFsuite do CRF and StructuredPerceptron learn and tag, from the same features of CoNLL-2000?

``iteration``: what each of thirty more iterations of L-BFGS adds to a fit, so that reading and set-up cancel; c2 = 1,
the same observed weights; the sides' own logs beside it. ``fit``: from feature lists in memory to a model within 1e-4
of the optimum, as a share of it; both with as few iterations as that takes, found beforehand, CRFsuite with each of
four memories. ``perceptron``: the same difference, of epochs of the averaged perceptron. ``tagging``: from feature
lists, and from words and parts of speech, by templates and by a Python function. ``templates``: that step alone, beside
three ways to write the function. ``memory``: the peak of a training, in a process of its own. ``threads``: two against
one. ``hmm``: an iteration of EM beside hmmlearn's.
"""

from __future__ import annotations

from timing import all_cores, arguments, epochs, interleave, save, show  # before numpy: it sets the threads

# isort: split
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from logging import ERROR, getLogger
from statistics import median
from typing import Any

import numpy as np

import crfsuite
from chunks import Part, applied, load, tight, usual
from fastlin.sequence import CRF, HMM, Attributes, StructuredPerceptron
from fastlin.text.templates import chunking
from sequence_lines import Line, Parts, agreement, first_within, same_weights, until
from sequence_memory import elsewhere

C2 = 1.0
FEW, MORE = 20, 30  # iterations
FEW_EPOCHS, MORE_EPOCHS = 3, 7
GAP = 1e-4  # of a fit, as a share of the optimum
ENOUGH = 1_000  # iterations that end by themselves
SOLVERS = "auto", "lbfgs"  # that reach the optimum; the first is the default
STATES, FEW_ASCENTS, MORE_ASCENTS = 20, 2, 4  # of hidden Markov models, without labels


Question = Callable[[Parts, int], Iterator[Line]]


def learn(train: Part, iterations: int, **more: Any) -> CRF:
    """A whole fit of CRFs, which is cut short."""
    return CRF(c2=C2, tol=0, max_iter=iterations, random_state=0, **more).fit(train.X, train.y)


def of_iteration(parts: Parts, repeat: int) -> Iterator[Line]:
    logs: dict[str, list[float]] = {"ours": [], "CRFsuite": []}

    def ours(count: int) -> None:
        found = [record["seconds"] for record in learn(parts.train, count, solver="lbfgs").history_]  # since the start
        logs["ours"].append((found[-1] - found[FEW - 1]) / MORE if count > FEW else np.nan)

    def theirs(trainer: crfsuite.Trainer) -> None:
        found = [record["time"] for record in trainer.train(parts.path)]
        logs["CRFsuite"].append(float(np.mean(found[FEW:])) if len(found) > FEW else np.nan)

    fits = {
        "ours": lambda count: lambda: partial(ours, count),
        "CRFsuite": lambda count: lambda: partial(theirs, crfsuite.crf(parts.train, C2, count)),
    }
    found = epochs(fits, FEW, MORE, repeat)
    own = {side: float(np.nanmedian(log)) for side, log in logs.items()}
    yield Line("iteration", found["ours"]["further"], found["CRFsuite"]["further"], 3, 6)
    yield Line("iteration, by the sides' own logs", own["ours"], own["CRFsuite"])


def of_fit(parts: Parts, repeat: int) -> Iterator[Line]:
    train = parts.train
    best = CRF(c2=C2, tol=1e-7, max_iter=ENOUGH).fit(train.X, train.y).objective_
    enough = best * (1 + GAP)
    mine = {solver: iterations_of(train, solver, enough) for solver in SOLVERS}
    counts = {}
    for memories in crfsuite.MEMORIES:
        log = crfsuite.crf(train, C2, 6 * mine["lbfgs"], memories).train(parts.path)
        losses = [record["loss"] for record in log]
        if min(losses) <= enough:
            counts[memories] = first_within(losses, enough)
    print(f"optimum {best:.6f}; iterations to {GAP:g}: ours {mine}, CRFsuite by memory {counts}", flush=True)
    objectives: dict[str, float] = {}

    def ours(solver: str) -> None:
        objectives[f"ours, {solver}"] = learn(train, mine[solver], solver=solver).objective_

    def theirs(memories: int) -> None:
        log = crfsuite.crf(train, C2, counts[memories], memories).train(parts.path)
        objectives[f"CRFsuite, memory {memories}"] = log[-1]["loss"]

    sides = {f"ours, {solver}": lambda solver=solver: partial(ours, solver) for solver in SOLVERS}
    rivals = {
        f"CRFsuite, memory {memories}": lambda memories=memories: partial(theirs, memories) for memories in counts
    }
    times = {side: median(each) for side, each in interleave({**sides, **rivals}, repeat).items()}
    print("gaps: " + ", ".join(f"{side} {value / best - 1:.2e}" for side, value in objectives.items()), flush=True)
    quickest = min(rivals, key=times.__getitem__)
    for side in sides:
        for rival in rivals:
            asked = (2.5, 5) if rival == quickest else ()
            yield Line(f"fit to {GAP:g}: {side}; {rival}", times[side], times[rival], *asked)


def iterations_of(train: Part, solver: str, enough: float) -> int:
    """How many iterations it takes us to get as low; epochs of SGD, whose records are not exact, count."""
    history = learn(train, ENOUGH, solver=solver, callback=until(enough)).history_
    return next(record["iteration"] for record in history if "eta0" not in record and record["objective"] <= enough)


def of_perceptron(parts: Parts, repeat: int) -> Iterator[Line]:
    models: dict[str, Any] = {}

    def ours(count: int) -> None:
        model = StructuredPerceptron(max_iter=count, weights="observed", random_state=0)
        models["ours"] = model.fit(parts.train.X, parts.train.y)

    fits = {
        "ours": lambda count: lambda: partial(ours, count),
        "CRFsuite": lambda count: lambda: partial(crfsuite.perceptron(parts.train, count).train, parts.path),
    }
    found = epochs(fits, FEW_EPOCHS, MORE_EPOCHS, repeat)
    crfsuite.perceptron(parts.train, FEW_EPOCHS + MORE_EPOCHS).train(parts.path)
    ours(FEW_EPOCHS + MORE_EPOCHS)
    with crfsuite.tagger(parts.path) as theirs:
        sides = models["ours"].predict(parts.test.X), crfsuite.tag(theirs, parts.test.X)
    mine, other = (100 * agreement(side, parts.test.y) for side in sides)
    epochs_learnt = FEW_EPOCHS + MORE_EPOCHS
    print(f"test accuracy after {epochs_learnt} epochs: ours {mine:.2f}, CRFsuite {other:.2f}", flush=True)
    yield Line("perceptron: an epoch", found["ours"]["further"], found["CRFsuite"]["further"], 2, 4)


def of_tagging(parts: Parts, repeat: int) -> Iterator[Line]:
    train, test = parts.train, parts.test
    crfsuite.crf(train, C2, FEW + MORE).train(parts.path)
    given = learn(train, FEW + MORE)
    templated = CRF(c2=C2, tol=0, max_iter=FEW + MORE, features=chunking()).fit(train.sentences, train.y)
    with crfsuite.tagger(parts.path) as theirs:
        taggers: dict[str, Callable[[], list[list[str]]]] = {
            "ours, features": lambda: given.predict(test.X),
            "CRFsuite, features": lambda: crfsuite.tag(theirs, test.X),
            "ours, raw": lambda: templated.predict(test.sentences),
            "CRFsuite, raw": lambda: [theirs.tag(tight(sentence)) for sentence in test.sentences],
        }
        tags = {name: tagger() for name, tagger in taggers.items()}
        times = interleave({name: lambda tagger=tagger: tagger for name, tagger in taggers.items()}, 4 * repeat)
    same = agreement(tags["ours, features"], tags["CRFsuite, features"])
    assert tags["ours, features"] == tags["ours, raw"]
    print(f"after {FEW + MORE} iterations each, {100 * same:.2f} % of the tags are the same", flush=True)
    rate = {name: 1e-3 * test.n_tokens / median(each) for name, each in times.items()}
    for kind, what in (("features", "features given"), ("raw", "from raw tokens")):
        sides = rate[f"ours, {kind}"], rate[f"CRFsuite, {kind}"]
        yield Line(f"tagging, {what}", *sides, 2, 5, unit="1,000 tokens/s", more_is_better=True)


def of_templates(parts: Parts, repeat: int) -> Iterator[Line]:
    sentences = parts.train.sentences
    fitted = chunking().fit(sentences)
    runs: dict[str, Callable[[], object]] = {
        "learnt": lambda: chunking().fit_transform(sentences),
        "known": lambda: fitted.transform(sentences),
        "strings": lambda: fitted.strings(sentences),
        "tight": lambda: [tight(sentence) for sentence in sentences],
        "usual": lambda: [usual(sentence) for sentence in sentences],
        "CRFsuite's": lambda: [applied(sentence) for sentence in sentences],
        "tight, columns": lambda: Attributes().learn([tight(sentence) for sentence in sentences]),
    }
    times = interleave({name: lambda run=run: run for name, run in runs.items()}, repeat)
    found = {name: median(each) for name, each in times.items()}
    for way in ("usual", "tight", "CRFsuite's", "tight, columns"):
        asked = (20, 50) if way == "usual" else ()
        yield Line(f"templates: columns, learnt; {way}", found["learnt"], found[way], *asked)
        yield Line(f"templates: columns, known; {way}", found["known"], found[way], *asked)
    yield Line("templates: strings; tight", found["strings"], found["tight"])


def of_memory(parts: Parts, repeat: int) -> Iterator[Line]:  # noqa: ARG001 - a process each, which does not vary
    sentences = len(parts.train.X)
    for what in ("crf", "perceptron"):
        ours, theirs = (elsewhere(side, what, sentences) / 2**20 for side in ("ours", "CRFsuite"))
        yield Line(f"memory: {what}", ours, theirs, 1, 2, unit="MiB")


def of_threads(parts: Parts, repeat: int) -> Iterator[Line]:
    models: dict[str, Any] = {}

    def fit(jobs: int, count: int) -> None:
        models[str(jobs)] = learn(parts.train, count, solver="lbfgs", n_jobs=jobs)

    with all_cores():
        fits = {str(jobs): lambda count, jobs=jobs: lambda: partial(fit, jobs, count) for jobs in (1, 2)}
        found = epochs(fits, FEW, MORE, repeat)
        for jobs in (1, 2):
            fit(jobs, FEW + MORE)
    same = same_weights(models["1"], models["2"])
    print(f"weights of one thread and of two are the same, bit for bit: {same}", flush=True)
    yield Line("threads: an iteration, two against one", found["2"]["further"], found["1"]["further"], 1.7, 1.9)
    yield Line("threads: a fit of 20", found["2"]["whole"] * FEW, found["1"]["whole"] * FEW)


def of_hmm(parts: Parts, repeat: int) -> Iterator[Line]:
    """EM of words without labels, from the same start."""
    from hmmlearn.hmm import CategoricalHMM

    getLogger("hmmlearn").setLevel(ERROR)  # it warns of so many parameters
    words = [[word for word, _ in sentence] for sentence in parts.train.sentences]
    numbers = {word: number for number, word in enumerate(dict.fromkeys(chain(*words)))}
    codes = np.array([[numbers[word]] for word in chain(*words)])
    lengths = list(map(len, words))
    generator = np.random.default_rng(0)
    shapes = {"startprob": (STATES,), "transmat": (STATES, STATES), "emissionprob": (STATES, len(numbers))}
    start = {name: generator.dirichlet(np.ones(shape[-1]), shape[:-1]) for name, shape in shapes.items()}
    bounds: dict[str, float] = {}
    settings: dict[str, Any] = {"alpha": 0.0, "transition_alpha": 0.0, "stop": False, "unknown": "uniform"}

    def ours(count: int) -> None:
        model = HMM(n_components=STATES, init=start, tol=0, max_iter=count, **settings)
        bounds["ours"] = model.fit(words).bound_[count - 1]

    def theirs(count: int) -> None:
        model = CategoricalHMM(STATES, init_params="", tol=-np.inf, n_iter=count, implementation="scaling")
        for name, table in start.items():
            setattr(model, f"{name}_", table.copy())
        bounds["hmmlearn"] = model.fit(codes, lengths).monitor_.history[-1]

    fits = {name: lambda count, run=run: lambda: partial(run, count) for name, run in (("o", ours), ("h", theirs))}
    found = epochs(fits, FEW_ASCENTS, MORE_ASCENTS, max(1, repeat // 2))
    print("log-likelihoods: " + ", ".join(f"{side} {bound:.6f}" for side, bound in bounds.items()), flush=True)
    yield Line("HMM: an iteration of EM (hmmlearn)", found["o"]["further"], found["h"]["further"])


QUESTIONS: dict[str, Question] = {
    "iteration": of_iteration,
    "fit": of_fit,
    "perceptron": of_perceptron,
    "tagging": of_tagging,
    "templates": of_templates,
    "memory": of_memory,
    "threads": of_threads,
    "hmm": of_hmm,
}


def main() -> None:
    parser = arguments(__doc__.splitlines()[0])
    parser.add_argument("--sentences", type=int, help="learn from the first so many only: to try the script")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # that fits are cut short
    lines: list[Line] = []
    with crfsuite.place() as path:
        parts = Parts(load("train", options.sentences), load("test", options.sentences), path)
        for name, question in QUESTIONS.items():
            if not options.only or options.only in name:
                lines += question(parts, options.repeat)
    heads = ["CoNLL-2000", "", "ours", "theirs", "ratio", "at least", "aim"]
    show("against CRFsuite", heads, [line.cells() for line in lines])
    answers = [{**vars(line), "ratio": line.ratio} for line in lines]
    save("sequences" + (f"-{options.only}" if options.only else ""), answers)


if __name__ == "__main__":
    main()
