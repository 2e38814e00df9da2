"""Models in skops files: the types to trust are those that the documentation lists."""

import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

import fastlin
from support.model_files import (
    ANSWERS,
    CENTROIDS,
    CLUSTERS,
    CODES,
    COUNTED,
    DICTS,
    FEW,
    LEARNERS,
    OF_DICTS,
    REGRESSORS,
    SEMI_SUPERVISED,
    SOME,
    TARGETS,
    TEXTS,
    TRANSFORMERS,
    VECTORISERS,
    X,
    fitted,
)

pytestmark = pytest.mark.peer("skops")
PAGE = Path(__file__).parents[2] / "docs" / "model-files.md"
LISTED = set(re.findall(r"^(fastlin\.\S+|builtins\.\S+|numpy\.\S+)$", PAGE.read_text(), flags=re.MULTILINE))
CASES = {
    **{name: (model, (X, CODES)) for name, model in (LEARNERS | COUNTED | CENTROIDS | TRANSFORMERS).items()},
    **{name: (model, (X, TARGETS)) for name, model in REGRESSORS.items()},
    **{name: (model, (X, SOME)) for name, model in SEMI_SUPERVISED.items()},
    **{name: (model, (X,)) for name, model in CLUSTERS.items()},
    **{name: (model, (TEXTS,)) for name, model in VECTORISERS.items()},
    **{name: (model, (DICTS,)) for name, model in OF_DICTS.items()},
    "a pattern of Python's": (fastlin.CountVectorizer(token_pattern=r"(?=\w)\w+"), (TEXTS,)),
    "texts": (make_pipeline(fastlin.TfidfVectorizer(), fastlin.SGDClassifier(**FEW)), (TEXTS, ANSWERS)),
}
FOREIGN = {"best", "our best", "percentile"}  # whose scores of scikit-learn's are functions, which skops asks about


def types_of(model):
    import skops.io

    return set(skops.io.get_untrusted_types(data=skops.io.dumps(model)))


@pytest.mark.parametrize("name", CASES)
def test_a_model_comes_back_with_the_types_that_are_listed(name):
    import skops.io

    model = fitted(CASES[name][0], *CASES[name][1])
    wanted = types_of(model)
    assert wanted - LISTED <= (
        {kind for kind in wanted if "chi2" in kind or "f_classif" in kind} if name in FOREIGN else set()
    )
    loaded = skops.io.loads(skops.io.dumps(model), trusted=sorted(wanted))
    for method in ("predict", "transform"):
        if hasattr(model, method):
            found, told = getattr(loaded, method)(CASES[name][1][0]), getattr(model, method)(CASES[name][1][0])
            if hasattr(told, "toarray"):
                found, told = found.toarray(), told.toarray()
            np.testing.assert_array_equal(found, told)


def test_no_type_is_listed_in_vain():
    needed = set().union(*(types_of(fitted(model, *data)) for model, data in CASES.values()))
    assert needed >= LISTED
