"""scikit-learn's tests of vectorisers of texts, on fastlin's."""

from support.peer_modules import tests_of

globals().update(tests_of("sklearn.feature_extraction.tests.test_text"))
