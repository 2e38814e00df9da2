"""How fast is naive Bayes of tuples, beside scikit-learn's CategoricalNB and, for strings, its OrdinalEncoder?

Tuples of four attributes with two labels, their categories drawn by Zipf's law as words are; as codes, as an array of
strings, an array of objects, a list of tuples, a data frame. Whole fits, and predictions of the same tuples.
"""

from __future__ import annotations

from timing import arguments, interleave, save, show  # before numpy: it sets the threads

# isort: split
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any

import numpy as np
import pandas as pd
from sklearn.naive_bayes import CategoricalNB as TheirCategoricalNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

from fastlin import CategoricalNB

CATEGORIES = (5000, 8000, 60, 8000)


def tuples(n: int) -> tuple[dict[str, Any], np.ndarray]:
    """The same tuples in every form, and labels."""
    rng = np.random.default_rng(0)
    draws = [(3 * rng.pareto(1.0, size=n)).astype(np.int64) for _ in CATEGORIES]
    codes = np.column_stack([np.minimum(draw, most - 1) for draw, most in zip(draws, CATEGORIES, strict=True)])
    words = np.array([f"word-{code:x}" for code in range(max(CATEGORIES))])[codes]
    forms = {
        "codes": codes,
        "array of strings": words,
        "array of objects": words.astype(object),
        "list of tuples": list(map(tuple, words.tolist())),
        "data frame": pd.DataFrame(words),
        "data frame of categories": pd.DataFrame(words).astype("category"),
    }
    return forms, rng.integers(0, 2, size=n)


def theirs(form: str) -> Any:
    return TheirCategoricalNB() if form == "codes" else make_pipeline(OrdinalEncoder(), TheirCategoricalNB())


def main() -> None:
    parser = arguments("Naive Bayes of tuples, against scikit-learn's")
    parser.add_argument("--tuples", type=int, default=1_000_000)
    chosen = parser.parse_args()
    forms, y = tuples(chosen.tuples)
    results = []
    for form, X in forms.items():
        if chosen.only and chosen.only not in form:
            continue
        ours, rival = CategoricalNB().fit(X, y), theirs(form).fit(X, y)
        same = bool(np.allclose(ours.predict_proba(X), rival.predict_proba(X), rtol=1e-9))
        asked: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
            "fit": (lambda X=X: CategoricalNB().fit(X, y), lambda form=form, X=X: theirs(form).fit(X, y)),
            "predict": (partial(ours.predict, X), partial(rival.predict, X)),
        }
        for question, (one, other) in asked.items():
            times = interleave({"fastlin": lambda one=one: one, "sklearn": lambda other=other: other}, chosen.repeat)
            seconds = {name: median(rounds) for name, rounds in times.items()}
            ratio = seconds["sklearn"] / seconds["fastlin"]
            results.append({"form": form, "question": question, **seconds, "ratio": ratio, "same": same})
    rows = [list(result.values()) for result in results]
    columns = ["form", "question", "fastlin s", "scikit-learn s", "ratio", "same probabilities"]
    show(f"{chosen.tuples:,} tuples of {len(CATEGORIES)} attributes", columns, rows)
    save("categories", results)


if __name__ == "__main__":
    main()
