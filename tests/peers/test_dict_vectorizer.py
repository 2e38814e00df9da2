"""scikit-learn's tests of the vectoriser of dicts, on fastlin's."""

from support.peer_modules import tests_of

globals().update(tests_of("sklearn.feature_extraction.tests.test_dict_vectorizer"))
