"""Rows of a sparse matrix as kernels read them: bound once, by whoever reads them again and again."""

from libc.stdint cimport int32_t, int64_t


cdef class CSRView:
    """Some rows, or columns; see `csr_view.pyx`."""

    cdef const int64_t* indptr
    cdef const int32_t* indices      # both where those of row 0 would be,
    cdef const void* values          # whose first is that of row `start`
    cdef bint single                 # the values are float32, else float64
    cdef Py_ssize_t start, stop      # rows
    cdef int64_t n_indices, n_values
    cdef const int64_t[::1] _indptr
    cdef const int32_t[::1] _indices
    cdef const float[::1] _floats
    cdef const double[::1] _doubles
