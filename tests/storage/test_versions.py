"""Files that earlier versions wrote are read for ever; what later ones write is refused in words."""

from pathlib import Path

import numpy as np
import pytest

import fastlin
from support.model_files import X

FILES = Path(__file__).parent / "files"


@pytest.mark.parametrize("mmap", [True, False])
def test_a_pipeline_of_version_1(mmap):
    model = fastlin.load(FILES / "v1-texts.fastlin", mmap=mmap)
    probabilities = model.predict_proba(["a good cast", "boring é bom", "nothing"])
    expected = [[0.19398, 0.80602], [0.806581, 0.193419], [0.512916, 0.487084]]
    np.testing.assert_allclose(probabilities, expected, atol=1e-6)
    assert model.classes_.tolist() == ["down", "up"]
    assert model[0].get_feature_names_out().tolist()[:5] == ["and", "and long", "bad", "bad film", "bom"]
    assert model.fit(["up", "down"], [0, 1]).predict(["up"]).tolist() == [0]


def test_a_quantised_model_of_version_1():
    model = fastlin.load(FILES / "v1-rows-int8.fastlin")
    assert model.predict(X)[:8].tolist() == ["ß", "ß", "\U0001f600", "a", "ß", "\U0001f600", "a", "\U0001f600"]
    assert model.coef_.dtype == np.float32
