"""What is known of the labels of tokens to learn from: one label, one of several, or nothing; weights of sequences.

A code from 0 to K − 1 is a label, −1 any label, and −2 − m one of those of the set m.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, uint8_t

cdef struct TokenLabelSets:
    Py_ssize_t K, n          # labels, sets
    const uint8_t* members   # [n, K]


cdef class TokenLabels:
    """Such codes, bound once for as long as a fit; see `token_labels.pyx`."""

    cdef const int32_t[::1] codes
    cdef const uint8_t[:, ::1] members
    cdef TokenLabelSets sets
    cdef Py_ssize_t n
    cdef bint partial        # whether some label is not known
    cdef const int32_t* y    # [n], or NULL
    cdef const double[::1] weights
    cdef Py_ssize_t n_sequences
    cdef const double* w     # [n_sequences] of the sequences, or NULL: all are 1


cdef inline bint all_known(const int32_t* y, Py_ssize_t T) noexcept nogil:
    """Whether each of T tokens has one label."""
    cdef Py_ssize_t t
    cdef int32_t least = 0
    for t in range(T):
        least = min(least, y[t])
    return least >= 0


cdef inline void restrict_scores(const TokenLabelSets* sets, const int32_t* y, Py_ssize_t T, Py_ssize_t P,
                                 const double* S, double* out) noexcept nogil:
    """The scores S [T, P], with −∞ for the labels that tokens cannot have."""
    cdef Py_ssize_t t, k
    cdef const uint8_t* member
    for t in range(T):
        if y[t] >= 0:
            for k in range(P):
                out[t * P + k] = S[t * P + k] if k == y[t] else -INFINITY
        elif y[t] == -1:
            for k in range(P):
                out[t * P + k] = S[t * P + k]
        else:
            member = sets.members + (-2 - y[t]) * sets.K
            for k in range(P):
                out[t * P + k] = S[t * P + k] if k < sets.K and member[k] else -INFINITY
