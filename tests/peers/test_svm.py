"""scikit-learn's tests of the linear machine, on fastlin's."""

from support.peer_modules import tests_of

globals().update(tests_of("sklearn.svm.tests.test_svm"))
