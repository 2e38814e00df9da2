"""How much sooner than scikit-learn's Lloyd does KMeans make its iterations, from the same start?

Both begin at the same random rows, have one thread, and go through the same iterations. An iteration is what each of
so many adds to a fit that is cut short; a whole fit ends by the same tol, and the two objectives are shown. "threads"
is one thread against two, whose models are compared bit for bit.
"""

from __future__ import annotations

from timing import all_cores, arguments, epochs, interleave, save, show  # before numpy: it sets the threads

# isort: split
import warnings
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.cluster import KMeans as Rival

from corpora import load
from fastlin import KMeans

FEW, MORE = 2, 6  # iterations
WHOLE = 1  # rounds of whole fits, of which a rival's takes a minute
SIDES = {"ours": KMeans, "scikit-learn": Rival}


@dataclass(frozen=True)
class Question:
    """A corpus, how many clusters, and the factors asked for and hoped for."""

    corpus: str
    n_clusters: int
    least: float = 1.5
    aim: float = 4

    @property
    def name(self) -> str:
        return f"{self.corpus}, k = {self.n_clusters}"

    def start(self, X: sparse.csr_matrix) -> np.ndarray:
        rows = np.random.default_rng(0).choice(X.shape[0], self.n_clusters, replace=False)
        return X[rows].toarray()


QUESTIONS = (Question("newsgroups", 20), Question("newsgroups", 100), Question("imdb", 20))


def cut_short(side: str, X: sparse.csr_matrix, start: np.ndarray, iterations: int) -> Any:
    model = SIDES[side](len(start), init=start, n_init=1, max_iter=iterations, tol=0)
    return lambda: partial(model.fit, X)


def compare(question: Question, repeat: int) -> dict[str, Any]:
    X = load(question.corpus).X
    start = question.start(X)
    models = {side: make(len(start), init=start, n_init=1) for side, make in SIDES.items()}
    wholes = interleave({side: lambda model=model: partial(model.fit, X) for side, model in models.items()}, WHOLE)
    single = epochs({side: partial(cut_short, side, X, start) for side in SIDES}, FEW, MORE, repeat)
    ours, theirs = models["ours"], models["scikit-learn"]
    return {
        "question": question.name,
        "iteration": {side: single[side]["further"] for side in SIDES},
        "fit": {side: median(times) for side, times in wholes.items()},
        "iterations": {side: model.n_iter_ for side, model in models.items()},
        "objective": {side: model.inertia_ for side, model in models.items()},
        "same_labels": bool((ours.labels_ == theirs.labels_).all()),
    }


def two_threads(question: Question, repeat: int) -> dict[str, Any]:
    X = load(question.corpus).X
    start = question.start(X)
    models = {jobs: KMeans(len(start), init=start, n_jobs=jobs) for jobs in (1, 2)}
    with all_cores():
        times = interleave(
            {str(jobs): lambda model=model: partial(model.fit, X) for jobs, model in models.items()}, repeat
        )
    of_iterations = [models[jobs].history_[-1]["seconds"] for jobs in (1, 2)]
    same = np.array_equal(models[1].cluster_centers_, models[2].cluster_centers_)
    return {
        "question": question.name,
        "seconds": {jobs: median(each) for jobs, each in times.items()},
        "iterations": of_iterations,
        "same": same,
    }


def main() -> None:
    options = arguments(__doc__.splitlines()[0]).parse_args()
    warnings.simplefilter("ignore")
    answers, rows = [], []
    for question in (each for each in QUESTIONS if not options.only or options.only in each.name):
        answer = compare(question, options.repeat)
        answers.append(answer)
        for what, asked in (("iteration", (question.least, question.aim)), ("fit", ("", ""))):
            ours, theirs = answer[what]["ours"], answer[what]["scikit-learn"]
            rows.append([f"{question.name}: {what}", ours * 1e3, theirs * 1e3, theirs / ours, *asked])
        print(
            f"{question.name}: iterations {answer['iterations']}, objectives "
            + " and ".join(f"{value:.8f}" for value in answer["objective"].values())
            + f", same labels: {answer['same_labels']}",
            flush=True,
        )
    if rows:
        show("against scikit-learn", ["", "ours ms", "scikit-learn ms", "ratio", "at least", "aim"], rows)
    if not options.only or options.only == "threads":
        lines = []
        for question in QUESTIONS:
            answer = two_threads(question, options.repeat)
            answers.append(answer)
            one, two = answer["seconds"]["1"], answer["seconds"]["2"]
            first, second = answer["iterations"]
            lines.append([question.name, one * 1e3, two * 1e3, one / two, first / second, str(answer["same"])])
        heads = ["two threads", "one ms", "two ms", "fit", "iterations", "same bits"]
        show("two threads against one", heads, lines)
    save("kmeans", answers)


if __name__ == "__main__":
    main()
