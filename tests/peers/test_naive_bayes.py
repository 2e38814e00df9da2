"""scikit-learn's tests of naive Bayes, on fastlin's."""

from support.peer_modules import tests_of

globals().update(tests_of("sklearn.tests.test_naive_bayes"))
