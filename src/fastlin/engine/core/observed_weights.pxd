"""Weights of observed pairs for a row at a time: see observed_weights.pyx."""

from libc.stdint cimport int32_t, int64_t


cdef void add_observed(const int32_t* indices, const double* values, int64_t m, const int64_t* starts,
                       const int32_t* labels, const double* theta, double* scores) noexcept nogil
