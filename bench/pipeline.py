"""How long is the way from raw texts to predictions, and how good are these?

Texts and labels of two corpora lie in memory; what is timed is everything up to the predicted label of every test
document: 20 Newsgroups with words, IMDB with words and pairs of words. On 20 Newsgroups the settings of all sides were
chosen on a fifth of the training documents, on IMDB those of Vowpal Wabbit; the others there are usual ones. Vowpal
Wabbit (10 passes over its cache, 22 bits) and fastText (25 epochs, one thread) read files: their seconds include the
writing of these, lower-cased words of two letters and more, on which both predict better than on the bare text.
"""

from __future__ import annotations

from timing import arguments, interleave, save, show  # before numpy: it sets the threads

# isort: split
import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from corpora import documents

WORD = re.compile(r"\w\w+")


@dataclass(frozen=True)
class Task:
    """Texts, labels as numbers, and what each side is set to."""

    name: str
    train: list[str]
    y: np.ndarray
    test: list[str]
    y_test: np.ndarray
    vectorizer: dict[str, Any]
    C: float
    alpha: float
    wabbit: str
    fast_text: dict[str, Any]
    asked: dict[str, tuple[float, float]]  # side: at least, aim


def newsgroups() -> Task:
    return Task(
        "20 Newsgroups, words",
        *_parts("20newsgroups"),
        vectorizer={"sublinear_tf": True},
        C=1.0,
        alpha=1e-4,
        wabbit="--loss_function hinge -l 0.2",
        fast_text={"lr": 0.5, "dim": 30},
        asked={"scikit-learn": (5, 9), "Vowpal Wabbit": (10, 18), "fastText": (12, 24)},
    )


def imdb() -> Task:
    return Task(
        "IMDB, words 1-2",
        *_parts("imdb"),
        vectorizer={"sublinear_tf": True, "ngram_range": (1, 2)},
        C=1.0,
        alpha=1e-5,
        wabbit="--ngram 2 --loss_function logistic",
        fast_text={"lr": 0.5, "dim": 10, "wordNgrams": 2},
        asked={"scikit-learn": (5, 10)},
    )


TASKS = {"20newsgroups": newsgroups, "imdb": imdb}


def _parts(folder: str) -> tuple[list[str], np.ndarray, list[str], np.ndarray]:
    labels, train = documents(folder, "train")
    test_labels, test = documents(folder, "test")
    classes, codes = np.unique(labels, return_inverse=True)
    return train, codes, test, np.searchsorted(classes, test_labels)


def ours(task: Task) -> np.ndarray:
    from fastlin import LinearSVC, TfidfVectorizer

    vectorizer = TfidfVectorizer(**task.vectorizer)
    model = LinearSVC(C=task.C, tol=0.1, random_state=0).fit(vectorizer.fit_transform(task.train), task.y)
    return model.predict(vectorizer.transform(task.test))


def scikit_learn(task: Task) -> np.ndarray:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import SGDClassifier

    vectorizer = TfidfVectorizer(**task.vectorizer)
    model = SGDClassifier(loss="hinge", alpha=task.alpha, max_iter=5, tol=None, random_state=0)
    model.fit(vectorizer.fit_transform(task.train), task.y)
    return model.predict(vectorizer.transform(task.test))


def words(text: str) -> str:
    return " ".join(WORD.findall(text.lower()))


def vowpal_wabbit(task: Task) -> np.ndarray:
    from vowpalwabbit import Workspace

    with tempfile.TemporaryDirectory() as name:
        folder, n_labels = Path(name), int(task.y.max()) + 1
        examples = (f"{code + 1} |t {words(text)}\n" for code, text in zip(task.y, task.train, strict=True))
        (folder / "train").write_text("".join(examples))
        (folder / "test").write_text("".join(f"|t {words(text)}\n" for text in task.test))
        learning = f"--oaa {n_labels} -b 22 --passes 10 -c -k --holdout_off {task.wabbit}"
        Workspace(f"{learning} -d {folder / 'train'} -f {folder / 'model'} --quiet").finish()
        Workspace(f"-t -i {folder / 'model'} -d {folder / 'test'} -p {folder / 'answers'} --quiet").finish()
        return np.loadtxt(folder / "answers", usecols=0).astype(int) - 1


def fast_text(task: Task) -> np.ndarray:
    import fasttext

    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "train"
        examples = (f"__label__{code} {words(text)}\n" for code, text in zip(task.y, task.train, strict=True))
        path.write_text("".join(examples))
        model = fasttext.train_supervised(str(path), epoch=25, thread=1, verbose=0, **task.fast_text)
    answers = model.predict([words(text) for text in task.test])[0]
    return np.array([int(labels[0].removeprefix("__label__")) if len(labels) else -1 for labels in answers])


SIDES: dict[str, Callable[[Task], np.ndarray]] = {
    "ours": ours,
    "scikit-learn": scikit_learn,
    "Vowpal Wabbit": vowpal_wabbit,
    "fastText": fast_text,
}


def compare(task: Task, repeat: int) -> dict[str, Any]:
    """Print the table of one corpus; the same figures."""
    right: dict[str, float] = {}

    def run(side: str) -> None:
        answers = SIDES[side](task)
        right[side] = float(np.mean(answers == task.y_test))

    spent = interleave({side: lambda side=side: lambda: run(side) for side in SIDES}, repeat)
    seconds = {side: median(times) for side, times in spent.items()}
    rows = [
        [side, seconds[side], seconds[side] / seconds["ours"], *task.asked.get(side, ("", "")), f"{right[side]:.2%}"]
        for side in SIDES
    ]
    show(task.name, ["from texts to predictions", "s", "÷ ours", "at least", "aim", "right on test"], rows)
    return {"task": task.name, "seconds": seconds, "accuracy": right}


def main() -> None:
    options = arguments(__doc__.splitlines()[0]).parse_args()
    chosen = [make for name, make in TASKS.items() if options.only in (None, name)]
    save("pipeline", [compare(make(), options.repeat) for make in chosen])


if __name__ == "__main__":
    main()
