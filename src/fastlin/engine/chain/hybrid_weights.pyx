"""Weights of tokens' features, bound and looked at once for many sequences."""

cimport cython
from libc.stdint cimport int32_t, int64_t


@cython.final
cdef class TokenWeights:
    """The table [D, K] of features seen with many labels, and θ of the few labels of the others.

    `starts` has the first weight of every feature, `labels` the labels of those behind the table; the features from
    `single` on have one.
    """

    def __cinit__(self, const double[:, ::1] table, const int64_t[::1] starts, Py_ssize_t single,
                  const int32_t[::1] labels, const double[::1] theta, Py_ssize_t K):
        cdef Py_ssize_t D = table.shape[0], n = starts.shape[0] - 1
        if not D <= single <= n or (D and table.shape[1] != K):
            raise ValueError(f"a table of shape ({D}, {table.shape[1]}) and {n - single} features of one label do not "
                             f"fit {n} features and {K} labels")
        if not labels.shape[0] == theta.shape[0] == starts[n] - starts[D]:
            raise ValueError(f"{theta.shape[0]} weights and {labels.shape[0]} labels, wanted {starts[n] - starts[D]}")
        self.table, self.starts, self.labels, self.theta = table, starts, labels, theta
        self.weights.K, self.weights.D, self.weights.single, self.weights.starts = K, D, single, &starts[0]
        if D:
            self.weights.table = &table[0, 0]
        if labels.shape[0]:
            self.weights.labels, self.weights.theta = &labels[0], &theta[0]
