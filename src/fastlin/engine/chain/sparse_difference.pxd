"""Sparse vectors Δ_1 … Δ_n side by side: a table from places to rows of n numbers, and their products.

Rows are kept in the order in which their places came, so that sums over them do not depend on the table.
"""

from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memset

from fastlin.engine.core.allocation cimport allocate, checked_product

cdef struct Difference:
    Py_ssize_t n             # vectors
    Py_ssize_t most          # vectors that there may be
    int64_t used             # rows
    int64_t slots            # a power of 2, at least twice as many as there may be rows
    int64_t room             # slots that there is memory for
    int64_t* table           # [room]     1 + the row of a place, 0: free
    int64_t* places          # [room / 2]
    double* rows             # [used, n] of [room / 2, most]


cdef inline void close_difference(Difference* these) noexcept nogil:
    free(these.table)
    free(these.places)
    free(these.rows)
    these.table = these.places = NULL
    these.rows, these.room = NULL, 0


cdef inline bint clear(Difference* these, int64_t most) noexcept nogil:
    """No rows, and room for as many as there may be; False if there is no memory."""
    cdef int64_t slots = 64
    while slots < 2 * most:
        slots *= 2
    if slots > these.room:
        close_difference(these)
        these.table = <int64_t*>allocate(slots, sizeof(int64_t))
        these.places = <int64_t*>allocate(slots // 2, sizeof(int64_t))
        these.rows = <double*>allocate(checked_product(slots // 2, these.most), sizeof(double))
        if not (these.table and these.places and these.rows):
            close_difference(these)
            return False
        these.room = slots
    these.slots, these.used = slots, 0
    memset(these.table, 0, slots * sizeof(int64_t))
    return True


cdef inline void add(Difference* these, int64_t place, Py_ssize_t i, double change) noexcept nogil:
    """Δ_i(place) += change."""
    cdef int64_t mask = these.slots - 1, slot = <int64_t>((<uint64_t>place * 0x9E3779B97F4A7C15u) >> 20) & mask
    cdef int64_t row
    cdef Py_ssize_t k
    while these.table[slot] and these.places[these.table[slot] - 1] != place:
        slot = (slot + 1) & mask
    if these.table[slot] == 0:
        row = these.used
        these.table[slot], these.places[row] = row + 1, place
        for k in range(these.n):
            these.rows[row * these.n + k] = 0
        these.used += 1
    these.rows[(these.table[slot] - 1) * these.n + i] += change


cdef inline void products(const Difference* these, double* G) noexcept nogil:
    """G[i, k] = Δ_i · Δ_k, [n, n]."""
    cdef Py_ssize_t i, k, n = these.n
    cdef int64_t _row
    cdef const double* row = these.rows
    memset(G, 0, n * n * sizeof(double))
    for _row in range(these.used):
        for i in range(n):
            if row[i] != 0:
                for k in range(n):
                    G[i * n + k] += row[i] * row[k]
        row += n


cdef inline void solve(const double* G, const double* losses, Py_ssize_t n, double C, double* alpha) noexcept nogil:
    """Maximise α·ℓ − ½ αᵀGα over 0 ≤ α ≤ C, coordinate by coordinate (Hildreth 1957)."""
    cdef Py_ssize_t _turn, i, k
    cdef double slope, better, moved, largest = 0
    for i in range(n):
        alpha[i] = 0
        largest = max(largest, losses[i])
    for _turn in range(1000):
        moved = 0
        for i in range(n):
            if G[i * n + i] == 0:
                continue
            slope = losses[i]
            for k in range(n):
                slope -= G[i * n + k] * alpha[k]
            better = min(max(alpha[i] + slope / G[i * n + i], 0.0), C)
            moved = max(moved, abs(better - alpha[i]) * G[i * n + i])
            alpha[i] = better
        if moved <= 1e-12 * largest:
            return
