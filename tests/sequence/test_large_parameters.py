"""Whole numbers that are as large as they may be: fitted, or a clear error, and memory for what there is alone."""

import warnings

import numpy as np
import pytest

from fastlin.sequence import CRF, HMM, MEMM, StructuredPerceptron

X = [["the", "dog", "barks", "."], ["a", "cat", "sleeps", "."], ["dogs", "bark"]]
Y = [["D", "N", "V", "P"], ["D", "N", "V", "P"], ["N", "V"]]
LARGE = (10**6, 2**31 - 1, 2**31, 2**32, 4_801_919_416, 2**61, 2**62 - 1)
MODELS = {
    "crf": lambda **options: CRF(**{"max_iter": 3, **options}),
    "crf by sgd": lambda **options: CRF(**{"max_iter": 3, "solver": "sgd", **options}),
    "crf by adagrad": lambda **options: CRF(**{"max_iter": 3, "solver": "adagrad", "order": 2, **options}),
    "memm": lambda **options: MEMM(**{"max_iter": 3, **options}),
    "memm with a beam": lambda **options: MEMM(**{"max_iter": 3, "decoder": "beam", "order": 2, **options}),
    "perceptron": lambda **options: StructuredPerceptron(**{"max_iter": 2, **options}),
    "perceptron of order 2": lambda **options: StructuredPerceptron(**{"max_iter": 2, "order": 2, **options}),
    "mira": lambda **options: StructuredPerceptron(**{"max_iter": 2, "loss": "mira", **options}),
    "hmm": lambda **options: HMM(**options),
    "hmm by EM": lambda **options: HMM(**{"max_iter": 2, "n_components": 2, "random_state": 0, **options}),
}
CASES = [
    (name, parameter, value)
    for name, make in MODELS.items()
    for parameter, default in make().get_params().items()
    if type(default) is int and parameter not in ("verbose", "order", "max_iter", "n_init")  # which take their time
    for value in LARGE
]
CASES += [(name, "beam_width", value) for name in ("perceptron", "perceptron of order 2") for value in LARGE]


@pytest.mark.parametrize(("name", "parameter", "value"), CASES)
def test_a_large_number_is_fitted_or_refused_by_its_name(name, parameter, value):
    y = None if name == "hmm by EM" else Y
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = MODELS[name](**{parameter: value}).fit(X, y)
            assert list(map(len, model.predict(X))) == list(map(len, X))
        except ValueError as error:
            assert parameter in str(error)  # noqa: PT017 - or none


def test_more_paths_than_there_are_change_nothing():
    few, many = (StructuredPerceptron(loss="mira", n_best=n, shuffle=False).fit(X, Y) for n in (256, 2**61))
    np.testing.assert_array_equal(few.coef_, many.coef_)
    np.testing.assert_array_equal(few.transitions_, many.transitions_)
    assert len(many.predict_nbest(X, 2**61)[2]) == 16
    assert many.predict_nbest(X, 2**61) == many.predict_nbest(X, 256)


def test_as_many_iterations_as_there_may_be():
    for make in MODELS.values():
        if "max_iter" in make().get_params():
            model = make(max_iter=2**62 - 1, callback=lambda model, record: True)
            model.fit(X, Y if model.get_params().get("n_components") is None else None)


def test_paths_that_nobody_can_count_are_refused():
    model = HMM().fit([["a"] * 3], [["X", "Y", "Z"]])
    with pytest.raises(ValueError, match="n="):
        model.predict_nbest([["a"] * 70], 2**61)
