"""The two steps of EM for naive Bayes with components: what documents say of components, and components of words.

Every label has components of its own, side by side: `component_offsets[y]` is the first of label y's, and the last
entry their number. A document of label y can come from these only, one of label −1 from any component.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free
from libc.string cimport memcpy

cdef extern from * nogil:
    """
    #include <stddef.h>
    #include <stdint.h>
    #include <string.h>
    #ifdef __SSE2__
    #include <emmintrin.h>
    /* past the caches: the other core may have read what was here, and would have to give it back first */
    static inline void fastlin_stream(double *to, const double *from, ptrdiff_t n)
    {
        ptrdiff_t i = 0;
        if (n && (uintptr_t)to % 16)
            to[0] = from[0], i = 1;
        for (; i + 2 <= n; i += 2)
            _mm_stream_pd(to + i, _mm_loadu_pd(from + i));
        if (i < n)
            to[i] = from[i];
    }
    #define fastlin_streamed _mm_sfence
    #else
    static inline void fastlin_stream(double *to, const double *from, ptrdiff_t n)
    {
        memcpy(to, from, n * sizeof *to);
    }
    static inline void fastlin_streamed(void) {}
    #endif
    """
    void stream "fastlin_stream"(double*, const double*, Py_ssize_t) noexcept
    void streamed "fastlin_streamed"() noexcept

from fastlin.engine.core.allocation cimport allocate_zeros, checked_product
from fastlin.engine.core.csr cimport number, score_rows
from fastlin.engine.core.csr_view cimport CSRView
from fastlin.engine.core.mathx cimport exponentials, array_max, logarithm, logarithms


cdef enum:
    VECTOR_GAP = 16          # doubles: loops over vectors that lie nearer are not vectorised


def posterior(double[:, ::1] scores, const int32_t[::1] codes, const double[::1] weights,
              const int64_t[::1] component_offsets, const double[::1] log_masses, const double[::1] lengths,
              double[:, ::1] shares, double[::1] masses, double[::1] words):
    """shares = w p(c | x) from scores log p(c, x), which may be overwritten; returns Σ w log p(x).

    masses[c] += w p(c | x) and words[c] += w p(c | x) · length. No weights stand for ones. A document that no
    component can produce gets the prior, `log_masses`.
    """
    cdef Py_ssize_t i, k, first, size, M = scores.shape[1]
    cdef double total, top, w = 1, likelihood = 0
    cdef double* s
    cdef double* share
    with nogil:
        for i in range(scores.shape[0]):
            first = 0 if codes[i] < 0 else component_offsets[codes[i]]
            size = (M if codes[i] < 0 else component_offsets[codes[i] + 1]) - first
            if weights.shape[0]:
                w = weights[i]
            s = &scores[i, 0]
            share = &shares[i, 0]
            top = array_max(s + first, size)
            if top == -INFINITY:
                likelihood -= INFINITY
                for k in range(first, first + size):
                    s[k] = log_masses[k]
                top = array_max(s + first, size)
                top = top if top > -INFINITY else 0.0
            total = exponentials(s + first, size, top, share + first)
            if total > 0:
                likelihood += w * (logarithm(total) + top)
                total = w / total
                for k in range(first, first + size):
                    share[k] *= total
            else:                              # nor has any of the label's components
                for k in range(first, first + size):
                    share[k] = w / size
            for k in range(first):
                share[k] = 0
            for k in range(first + size, M):
                share[k] = 0
            for k in range(first, first + size):
                masses[k] += share[k]
                words[k] += share[k] * lengths[i]
    return likelihood


def maximise(CSRView columns not None, const double[:, ::1] shares, double alpha, const double[:, ::1] extra,
             const double[:, ::1] log_totals, bint more, double[:, ::1] counts, double[:, ::1] logs,
             double[:, ::1] prior):
    """logs[j − start] = log φ_j for φ = (alpha + extra + Xᵀ shares)/totals, of the columns start … stop − 1.

    `counts` and `logs` begin at column `start`, `extra` at the first of all; `extra` and `counts` may be empty. `more`:
    `logs` hold a part of the counts already. `counts` get Xᵀ shares.

    The work goes in stretches of as many columns as `log_totals` repeats its one row, so that counts stay in cache
    until their logarithms are taken, in loops that do not mind how many components there are.
    prior[j mod stretch, c] += (alpha + extra) log φ, where 0 · log 0 is 0.
    """
    cdef Py_ssize_t n = columns.stop - columns.start, M = shares.shape[1], stretch = log_totals.shape[0]
    cdef double* room
    if logs.shape[0] != n or counts.shape[0] not in (0, n) or (extra.shape[0] and extra.shape[0] < columns.stop):
        raise ValueError(f"logarithms, counts or extra counts do not fit {n} columns")
    if not (logs.shape[1] == log_totals.shape[1] == prior.shape[1] == M and prior.shape[0] >= stretch):
        raise ValueError(f"logarithms, their totals or the prior do not fit {M} components")
    room = <double*>allocate_zeros(checked_product(stretch + 2, M + VECTOR_GAP), sizeof(double))
    if room == NULL:
        raise MemoryError
    with nogil:
        if columns.single:
            maximise_columns(columns, <const float*>columns.values, &shares[0, 0], M, alpha, extra, log_totals, more,
                             counts, logs, &prior[0, 0], room)
        else:
            maximise_columns(columns, <const double*>columns.values, &shares[0, 0], M, alpha, extra, log_totals, more,
                             counts, logs, &prior[0, 0], room)
    free(room)


cdef void maximise_columns(CSRView columns, const number* values, const double* shares, Py_ssize_t M, double alpha,
                           const double[:, ::1] extra, const double[:, ::1] log_totals, bint more,
                           double[:, ::1] counts, double[:, ::1] logs, double* sums, double* room) noexcept nogil:
    """`maximise` over values of a type; `room` are zeros for a stretch and for two vectors of M, VECTOR_GAP apart."""
    cdef Py_ssize_t i, j = 0, n = columns.stop - columns.start, stretch = log_totals.shape[0], size
    cdef const int64_t* indptr = columns.indptr + columns.start
    cdef double weight
    cdef double* x = room
    cdef const double* nothing = room + stretch * M + VECTOR_GAP
    cdef double* raw = room + stretch * M + M + 2 * VECTOR_GAP
    cdef const double* totals = &log_totals[0, 0]
    cdef const double* own = NULL
    cdef bint given = extra.shape[0] > 0, kept = counts.shape[0] > 0
    while j < n:
        stretch = stretch if j + stretch < n else n - j
        size = stretch * M
        if more:
            memcpy(x, &logs[j, 0], size * sizeof(double))
        score_rows(indptr + j, columns.indices + indptr[j], values + indptr[j], stretch, shares, M, nothing, raw, x,
                   more)
        if kept:
            stream(&counts[j, 0], x, size)
        if given:
            own = &extra[columns.start + j, 0]
            for i in range(size):
                x[i] += alpha + own[i]
        else:
            for i in range(size):
                x[i] += alpha
        if logarithms(x, size):                # some φ are 0
            for i in range(size):
                x[i] -= totals[i]
                weight = alpha + (own[i] if given else 0.0)
                sums[i] += weight * x[i] if weight > 0 else 0.0
        elif given:
            for i in range(size):
                x[i] -= totals[i]
                sums[i] += (alpha + own[i]) * x[i]
        else:
            for i in range(size):
                x[i] -= totals[i]
                sums[i] += alpha * x[i]
        stream(&logs[j, 0], x, size)
        j += stretch
    streamed()
