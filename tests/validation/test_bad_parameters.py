"""A parameter that cannot be is refused by its name, before anything is learnt."""

import numpy as np
import pytest

from support.estimators import ONLINE, make, refused, text_like

PARAMETERS = [
    ("sgd", {"loss": "log_los"}, "(?i)did you mean.*log_loss"),
    ("sgd", {"loss": "hinje"}, "(?i)did you mean.*hinge"),
    ("sgd", {"penalty": "l3"}, "penalty"),
    ("sgd", {"penalty": "elastic_net"}, "(?i)did you mean.*elasticnet"),
    ("sgd", {"learning_rate": "adagrade"}, "(?i)did you mean.*adagrad"),
    ("sgd", {"sampling": "shufle"}, "(?i)did you mean.*shuffle"),
    ("sgd", {"alpha": -1.0}, "alpha"),
    ("sgd", {"alpha": 0.0}, "alpha"),
    ("sgd", {"l1_ratio": 1.5}, "l1_ratio"),
    ("sgd", {"eta0": 0.0, "learning_rate": "constant"}, "eta0"),
    ("sgd", {"batch_size": 0}, "batch_size"),
    ("sgd", {"batch_size": 2.5}, "batch_size"),
    ("sgd", {"penalty": "l1", "average": True}, "average"),
    ("sgd", {"penalty": "elasticnet", "average": 3}, "average"),
    ("sgd", {"penalty": "l1", "learning_rate": "pegasos", "project": True}, "project"),
    ("sgd", {"learning_rate": "constant", "eta0": 1.0, "alpha": 1.0}, "eta|alpha"),
    ("sgd", {"learning_rate": "constant", "eta0": 2.0, "alpha": 1.0}, "eta|alpha"),
    *[
        (name, options, match)
        for name in ONLINE
        for options, match in [
            ({"max_iter": 0}, "max_iter"),
            ({"tol": "small"}, "tol"),
            ({"dtype": "float16"}, "dtype"),
            ({"dtype": "flaot32"}, "dtype"),
            ({"n_jobs": "many"}, "n_jobs"),
            ({"random_state": "seed"}, "random_state"),
            ({"average": -1}, "average"),
            ({"class_weight": "balance"}, "class_weight"),
            ({"callback": 3}, "callback"),
            ({"class_weight": {0: -1.0}}, "class_weight"),
            ({"class_weight": {0: np.nan}}, "class_weight"),
            ({"validation_fraction": 1.5, "early_stopping": True}, "validation_fraction"),
            ({"n_iter_no_change": 0}, "n_iter_no_change"),
        ]
    ],
    ("passive aggressive", {"C": 0}, "C"),
    ("passive aggressive", {"C": -1.0}, "C"),
    ("mira", {"C": np.nan}, "C"),
    ("passive aggressive", {"loss": "squared_hing"}, "(?i)did you mean.*squared_hinge"),
    ("perceptron", {"eta0": -1.0}, "eta0"),
    ("perceptron", {"penalty": "L2"}, "penalty.*l2"),
]


@pytest.mark.parametrize("name, options, match", PARAMETERS, ids=lambda value: str(value)[:50])
def test_parameters_that_cannot_be_are_refused_by_name(name, options, match):
    X, y = text_like()
    model = make(name, **options)
    for method in ("fit", "partial_fit"):
        with refused(model, match=match):
            getattr(model, method)(X, y)
    model = make(name).fit(X, y).set_params(**options)
    for method in ("fit", "partial_fit") if "random_state" not in options else ("fit",):  # drawn from once
        with refused(model, match=match):
            getattr(model, method)(X, y)
