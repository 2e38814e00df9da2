"""EM for the aggregate Markov model: p(w | v) = Σ_c p(c | v) p(w | c) (Pereira; Saul & Pereira 1997).

For each bigram (v, w) seen n times, with d = Σ_c p(c | v) p(w | c), the expected counts are

    (v, c)   p(c | v) Σ_w n/d · p(w | c)          (c, w)   p(w | c) Σ_v n/d · p(c | v)

so that both steps are one dot product and two axpys a bigram; the factors before the sums wait for the M-step. Classes
are padded with zeros to a multiple of 8.
"""

from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

from fastlin.engine.core.mathx cimport logarithm

cdef enum:
    AHEAD = 4                                  # bigrams: rows fetched before they are needed

cdef extern from * nogil:
    """
    #include <stddef.h>
    /* eight sums, so that gcc may add in vectors; n is a multiple of 8 */
    static inline double fastlin_dot8(const double *a, const double *b, ptrdiff_t n)
    {
        double s[8] = {0};
        for (ptrdiff_t i = 0; i < n; i += 8)
            for (int k = 0; k < 8; k++)
                s[k] += a[i + k] * b[i + k];
        return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
    }
    static inline void fastlin_fetch_row(const double *row, ptrdiff_t n)
    {
        for (ptrdiff_t i = 0; i < n; i += 8)
            __builtin_prefetch(row + i);
    }
    /* sums += x · a and other_sums += x · b */
    static inline void fastlin_two_axpys(double x, const double *restrict a, const double *restrict b,
                                         double *restrict sums, double *restrict other_sums, ptrdiff_t n)
    {
        for (ptrdiff_t i = 0; i < n; i++) {
            sums[i] += x * a[i];
            other_sums[i] += x * b[i];
        }
    }
    """
    double dot8 "fastlin_dot8"(const double*, const double*, Py_ssize_t) noexcept
    void fetch_row "fastlin_fetch_row"(const double*, Py_ssize_t) noexcept
    void two_axpys "fastlin_two_axpys"(double, const double*, const double*, double*, double*, Py_ssize_t) noexcept


def expect(const int64_t[::1] indptr, const int32_t[::1] words, const double[::1] counts, Py_ssize_t start,
           Py_ssize_t stop, const double[:, ::1] class_given, const double[:, ::1] word_given,
           double[:, ::1] class_sums, double[:, ::1] word_sums):
    """Add the sums of both expected counts over the histories [start, stop); returns Σ n log d."""
    cdef Py_ssize_t v, j, w, K = class_given.shape[1]
    cdef double d, likelihood = 0
    cdef const double* own
    cdef double* sums
    with nogil:
        for v in range(start, stop):
            own = &class_given[v, 0]
            sums = &class_sums[v, 0]
            memset(sums, 0, K * sizeof(double))
            for j in range(indptr[v], indptr[v + 1]):
                w = words[j]
                if j + AHEAD < words.shape[0]:
                    fetch_row(&word_given[words[j + AHEAD], 0], K)
                    fetch_row(&word_sums[words[j + AHEAD], 0], K)
                d = dot8(own, &word_given[w, 0], K)
                likelihood += counts[j] * logarithm(d)
                two_axpys(counts[j] / d, &word_given[w, 0], own, sums, &word_sums[w, 0], K)
    return likelihood


def mixture_log_proba(const int32_t[::1] histories, const int32_t[::1] words, const double[:, ::1] class_given,
                      const double[:, ::1] word_given, double[::1] out):
    """out[i] = log Σ_c p(c | histories[i]) p(words[i] | c)."""
    cdef Py_ssize_t i, K = class_given.shape[1]
    with nogil:
        for i in range(out.shape[0]):
            out[i] = logarithm(dot8(&class_given[histories[i], 0], &word_given[words[i], 0], K))
