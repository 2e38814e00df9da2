"""Sparse vectors Δ_1 … Δ_n side by side: a table from places to rows of n numbers, and their products.

Rows are kept in the order in which their places came, so that sums over them do not depend on the table.
"""

from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memset

from fastlin.engine.core.allocation cimport allocate, checked_product

cdef struct SparseDifferences:
    Py_ssize_t n             # vectors
    Py_ssize_t most          # vectors that there may be
    int64_t used             # rows
    int64_t slots            # a power of 2, at least twice as many as there may be rows
    int64_t room             # slots that there is memory for
    int64_t* table           # [room]     1 + the row of a place, 0: free
    int64_t* places          # [room / 2]
    double* rows             # [used, n] of [room / 2, most]


cdef inline void free_differences(SparseDifferences* differences) noexcept nogil:
    free(differences.table)
    free(differences.places)
    free(differences.rows)
    differences.table = differences.places = NULL
    differences.rows, differences.room = NULL, 0


cdef inline bint clear_differences(SparseDifferences* differences, int64_t most) noexcept nogil:
    """No rows, and room for as many as there may be; False if there is no memory."""
    cdef int64_t slots = 64
    while slots < 2 * most:
        slots *= 2
    if slots > differences.room:
        free_differences(differences)
        differences.table = <int64_t*>allocate(slots, sizeof(int64_t))
        differences.places = <int64_t*>allocate(slots // 2, sizeof(int64_t))
        differences.rows = <double*>allocate(checked_product(slots // 2, differences.most), sizeof(double))
        if not (differences.table and differences.places and differences.rows):
            free_differences(differences)
            return False
        differences.room = slots
    differences.slots, differences.used = slots, 0
    memset(differences.table, 0, slots * sizeof(int64_t))
    return True


cdef inline void add_to_difference(SparseDifferences* differences, int64_t place, Py_ssize_t i,
                                   double change) noexcept nogil:
    """Δ_i(place) += change."""
    cdef int64_t mask = differences.slots - 1, slot = <int64_t>((<uint64_t>place * 0x9E3779B97F4A7C15u) >> 20) & mask
    cdef int64_t row
    cdef Py_ssize_t k
    while differences.table[slot] and differences.places[differences.table[slot] - 1] != place:
        slot = (slot + 1) & mask
    if differences.table[slot] == 0:
        row = differences.used
        differences.table[slot], differences.places[row] = row + 1, place
        for k in range(differences.n):
            differences.rows[row * differences.n + k] = 0
        differences.used += 1
    differences.rows[(differences.table[slot] - 1) * differences.n + i] += change


cdef inline void gram_matrix(const SparseDifferences* differences, double* G) noexcept nogil:
    """G[i, k] = Δ_i · Δ_k, [n, n]."""
    cdef Py_ssize_t i, k, n = differences.n
    cdef int64_t _row
    cdef const double* row = differences.rows
    memset(G, 0, n * n * sizeof(double))
    for _row in range(differences.used):
        for i in range(n):
            if row[i] != 0:
                for k in range(n):
                    G[i * n + k] += row[i] * row[k]
        row += n


cdef inline void solve_mira_dual(const double* G, const double* losses, Py_ssize_t n, double C,
                                 double* alpha) noexcept nogil:
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
