"""Counts under labels as the other event models of naive Bayes read them.

The complement of a label has the counts of all others, Σ_{l ≠ k} c_jl: sums from the left and from the right, not the
total less the label's own, of which nothing is left where a label has all but a few of the counts.

The multi-variate model has p_kj = (c_kj + α_j)/(N_k + 2α_j), the share of the rows of a label that have a feature.
A row has log p − log(1 − p) for each of its features, and Σ_j log(1 − p_kj) for none. log(1 − p) is log1p(−p) for
p ≤ ½, else log((N − c + α)/(N + 2α)): log(1 − exp(log p)) has lost the digits of a small p, and of 1 − p beside 1.
Most counts of a text are 0, and features with one α share its logarithms.
"""

from libc.math cimport INFINITY, log, log1p


cdef struct Occurrence:
    double present       # log p
    double absent        # log(1 − p)


cdef inline Occurrence occurrence(double count, double rows, double pseudo) noexcept nogil:
    """The logarithms of a smoothed share; ½ where nothing is known."""
    cdef Occurrence found
    cdef double total = rows + 2 * pseudo
    cdef double present = count + pseudo
    cdef double absent = (rows - count if rows > count else 0.0) + pseudo
    if total <= 0:
        present = absent = 0.5
        total = 1.0
    found.present = log(present / total)
    found.absent = log1p(-present / total) if present <= absent else log(absent / total)
    return found


def complement_counts(const double[:, ::1] counts, double[:, ::1] complement):
    """complement[j, k] = Σ_{l ≠ k} counts[j, l]."""
    cdef Py_ssize_t j, k, K = counts.shape[1]
    cdef double total
    with nogil:
        for j in range(counts.shape[0]):
            total = 0
            for k in range(K):
                complement[j, k] = total
                total += counts[j, k]
            total = 0
            for k in range(K - 1, -1, -1):
                complement[j, k] += total
                total += counts[j, k]


def occurrence_logs(const double[:, ::1] counts, const double[::1] rows, const double[::1] pseudo,
                    double[:, ::1] logs, double[:, ::1] odds, double[::1] absent):
    """logs = log p, odds = log p − log(1 − p) [V, K], absent[k] += Σ_j log(1 − p_kj) over finite terms.

    Returns whether some p is 0 or 1, where the odds are infinite.
    """
    cdef Py_ssize_t j, k, K = counts.shape[1]
    cdef double[:, ::1] unseen = logs[:1].copy() if counts.shape[0] else None
    cdef double[:, ::1] unseen_absent = logs[:1].copy() if counts.shape[0] else None
    cdef Occurrence found
    cdef bint impossible = False
    with nogil:
        for j in range(counts.shape[0]):
            for k in range(K):
                if j == 0 or pseudo[j] != pseudo[j - 1]:
                    found = occurrence(0.0, rows[k], pseudo[j])
                    unseen[0, k] = found.present
                    unseen_absent[0, k] = found.absent
                if counts[j, k] == 0:
                    found.present = unseen[0, k]
                    found.absent = unseen_absent[0, k]
                else:
                    found = occurrence(counts[j, k], rows[k], pseudo[j])
                logs[j, k] = found.present
                odds[j, k] = found.present - found.absent
                if found.absent > -INFINITY:
                    absent[k] += found.absent
                impossible |= found.present == -INFINITY or found.absent == -INFINITY
    return impossible
