"""Rows of a sparse matrix as kernels read them: the arrays are acquired and looked at once, not once a call.

What validation has proved of the rows is not proved again: that is its one pass over the non-zeros.
"""

cimport cython
from libc.stdint cimport int32_t, int64_t


@cython.final
cdef class CSRView:
    """The rows [start, stop) of a matrix with a proved `indptr`; `indices` and `values` begin at the first of them.

    Without `stop` they go to the end. There may be fewer values than indices where a kernel says what that means.
    """

    def __cinit__(self, const int64_t[::1] indptr, const int32_t[::1] indices, values, Py_ssize_t start=0, stop=None):
        self.start, self.stop = start, indptr.shape[0] - 1 if stop is None else stop
        if not 0 <= self.start <= self.stop < indptr.shape[0]:
            raise ValueError(f"rows {self.start} to {self.stop} are not among the {indptr.shape[0] - 1} of indptr")
        self._indptr, self._indices = indptr, indices
        self.n_indices = indices.shape[0]
        self.single = values.itemsize == sizeof(float)
        if self.single:
            self._floats = values
            self.n_values = self._floats.shape[0]
        else:
            self._doubles = values
            self.n_values = self._doubles.shape[0]
        if indptr[self.stop] - indptr[start] > self.n_indices:
            raise ValueError(f"there are {self.n_indices} indices for {indptr[self.stop] - indptr[start]} non-zeros")
        self.indptr = &indptr[0]
        self.indices = &indices[0] - indptr[start] if self.n_indices else NULL
        if self.n_values and self.single:
            self.values = &self._floats[0] - indptr[start]
        elif self.n_values:
            self.values = &self._doubles[0] - indptr[start]
