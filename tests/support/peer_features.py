"""What the installed scikit-learn has: comparisons with what came later are left out where it has not come yet."""

import inspect

import pytest
import sklearn
from sklearn import linear_model

VERSION = tuple(map(int, sklearn.__version__.split(".")[:2]))
SHAPES = "use_legacy_attributes" in inspect.signature(linear_model.LogisticRegressionCV).parameters
STEPS_OF_MARGINS = VERSION >= (1, 8)  # SGD's "pa1" and "pa2", of which eta0 is the C

with_shapes = pytest.mark.skipif(not SHAPES, reason="of the shapes of searches that scikit-learn 1.8 has")
with_weighed_scores = pytest.mark.skipif(VERSION < (1, 7), reason="of labels of scores, of scikit-learn 1.7")
