"""Why a token has its label: the contributions are the differences between paths."""

import numpy as np
import pytest

from fastlin import Perceptron
from fastlin.inspection import explain_token
from fastlin.sequence import CRF, HMM, MEMM, StructuredPerceptron
from fastlin.text.templates import pos
from support.sequences import items, problem

MODELS = {
    "crf": lambda: CRF(c2=0.1),
    "dense crf": lambda: CRF(c2=0.1, weights="dense"),
    "crf of order 2": lambda: CRF(c2=0.1, order=2),
    "crf of edges": lambda: CRF(c2=0.1, edges="all"),
    "perceptron": lambda: StructuredPerceptron(random_state=0),
    "perceptron of order 2": lambda: StructuredPerceptron(random_state=0, order=2),
    "memm": lambda: MEMM(C=10),
    "memm of order 2": lambda: MEMM(C=10, order=2),
    "memm of edges": lambda: MEMM(C=10, edges="all"),
    "hmm": lambda: HMM(alpha=0.1),
    "hmm of order 2": lambda: HMM(alpha=0.1, order=2),
    "hmm of words": lambda: HMM(alpha=0.1, unknown="shape"),
    "templates": lambda: CRF(c2=0.1, features=pos()),
}


def data_of(name):
    X, y = problem(40, n_features=6, longest=6)
    if name in ("hmm of words", "templates"):
        tokens = [[f"w{int(row.argmax())}" for row in x] for x in X]
        return tokens, [[f"L{code}" for code in own] for own in y], [*tokens[:5], ["new", tokens[0][0], "Other"]]
    tokens = [items(x) for x in X]
    return tokens, [[f"L{code}" for code in own] for own in y], tokens[:6]


@pytest.mark.parametrize("name", MODELS)
def test_scores_apart_are_those_of_the_paths(name):
    X, y, asked = data_of(name)
    model = MODELS[name]().fit(X, y)
    labels = model.classes_.tolist()
    for x in asked:
        best = model.predict_one(x)
        for place in range(len(x)):
            found = explain_token(model, x, place)
            assert found.label == best[place]
            paths = [[*best[:place], label, *best[place + 1 :]] for label in labels]
            values = model.log_proba([x] * len(paths), paths)
            np.testing.assert_allclose(found.scores - found.scores[0], values - values[0], rtol=1e-9, atol=1e-9)
            for label in labels:
                other = explain_token(model, x, place, label)
                rival = max((k for k in labels if k != label), key=lambda k: values[labels.index(k)])
                assert other.margin == pytest.approx(
                    values[labels.index(label)] - values[labels.index(rival)], abs=1e-9
                )


def test_what_is_asked_must_be_there():
    X, y, _ = data_of("crf")
    model = CRF().fit(X, y)
    for place in (-1, len(X[0]), "0", True, 0.0):
        with pytest.raises(ValueError, match="place must be the number of one of the"):
            explain_token(model, X[0], place)
    with pytest.raises(ValueError, match="no label 'Z'"):
        explain_token(model, X[0], 0, "Z")
    with pytest.raises(TypeError, match="no model of sequences"):
        explain_token(Perceptron(), X[0], 0)
