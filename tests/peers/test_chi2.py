"""scikit-learn's tests of the χ² statistic, on fastlin's."""

from support.peer_modules import tests_of

globals().update(tests_of("sklearn.feature_selection.tests.test_chi2"))
