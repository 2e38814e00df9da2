"""scikit-learn's tests of k-means, on fastlin's."""

from support.peer_modules import tests_of

globals().update(tests_of("sklearn.cluster.tests.test_k_means", "_init_size", "_n_init"))
