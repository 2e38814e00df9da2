"""scikit-learn's tests of ridge regression, on fastlin's."""

from support.peer_modules import tests_of

globals().update(tests_of("sklearn.linear_model.tests.test_ridge"))
