"""tf-idf: the weights of a row of counts, and in how many rows each column occurs.

    v_ij = tf(x_ij) · idf_j,        tf(x) = x   or, sublinear,   1 + log x for x ≠ 0 and 0 for x = 0,
    out_ij = v_ij / ‖v_i‖           with the l2 norm, the l1 norm or none.

One pass: a row is weighed and divided while it is in cache. Products and sums are float64 whatever comes in and goes
out. Most counts are small: the sublinear tf of 0, 1, 2, … is read from a table, and log is called beyond it.
Order and repetition of the indices in a row do not matter.
"""

from libc.math cimport fabs, log, sqrt
from libc.stdint cimport int32_t, int64_t

from fastlin.engine.core.csr cimport real

ctypedef fused count:
    int32_t
    int64_t
    float
    double

NONE, L1, L2 = range(3)

cdef enum:
    to_sum = 1
    to_root = 2


cdef inline double sublinear(double x, const double* levels, int64_t n_levels) noexcept nogil:
    """levels[x] for the whole numbers that the table has, else 1 + log x; x ≥ 0."""
    cdef int64_t whole = <int64_t>x if x < n_levels else 0
    if whole == x:
        return levels[whole]
    return 1.0 + log(x)


cdef inline double weight_row(const int32_t* indices, const count* counts, int64_t m, const double* idf,
                              const double* levels, int64_t n_levels, bint absolute, real* out) noexcept nogil:
    """out = tf · idf, and Σ v², or Σ |v|; no idf is NULL."""
    cdef double v, total = 0.0
    cdef int64_t p
    for p in range(m):
        v = <double>counts[p]
        if n_levels:
            v = sublinear(v, levels, n_levels)
        if idf:
            v *= idf[indices[p]]
        out[p] = <real>v
        total += fabs(v) if absolute else v * v
    return total


def tfidf_weights(const int64_t[::1] indptr, const int32_t[::1] indices, const count[::1] counts, int64_t start,
                  int64_t stop, const double[::1] idf, const double[::1] levels, int norm, real[::1] out):
    """Weigh the rows start to stop; `out` may be `counts`.

    `idf` of length 0 stands for ones, `levels`, the sublinear tf of 0, 1, 2, …, of length 0 for tf(x) = x.
    """
    cdef const double* frequencies = &idf[0] if idf.shape[0] else NULL
    cdef const double* table = &levels[0] if levels.shape[0] else NULL
    cdef int64_t i, p, first, last, n_levels = levels.shape[0]
    cdef double total
    if start >= stop or indptr[start] == indptr[stop]:
        return
    with nogil:
        for i in range(start, stop):
            first, last = indptr[i], indptr[i + 1]
            if first == last:
                continue
            total = weight_row(&indices[first], &counts[first], last - first, frequencies, table, n_levels,
                               norm == to_sum, &out[first])
            if norm and total > 0.0:
                if norm == to_root:
                    total = sqrt(total)
                for p in range(first, last):
                    out[p] = <real>(out[p] / total)


def document_frequencies(const int32_t[::1] indices, int64_t[::1] rows):
    """rows[j] += 1 for every j among the indices."""
    cdef int64_t p
    with nogil:
        for p in range(indices.shape[0]):
            rows[indices[p]] += 1
