"""The next word's class after a context: a softmax over K classes, of dense scores and a few weights beside them.

    s(c) = D[r, c] + φ_u(c) + φ_i(c)      for a context i whose last word is u, and whose classes are the row r of D

Contexts stand by their last words, then by their rows: a group shares u and r, so that q = e^{D + φ_u} is one product
of two vectors, and a context differs from its group in the few classes that φ_i has:

    Z_i = Σ q + Σ_{c in φ_i} q_c (e^{φ_i(c)} − 1),      Σ_i n_i p_i = q Σ n_i/Z_i + the same few corrections

An evaluation costs K numbers a group and one a weight. D is what features of classes alone add up to, and what is
expected of it is the caller's to share out again.
"""

cimport cython
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free

from fastlin.engine.core.allocation cimport allocate, checked_product
from fastlin.engine.core.mathx cimport array_sum, logarithm

cdef double LOST = 1e-6                        # of Σ q: a difference that is smaller has no digits left


@cython.final
cdef class ClassFactors:
    """φ of some histories, as a CSR: the classes of each with e^φ and, along a direction, dφ (or none)."""

    cdef const int64_t[::1] starts
    cdef const int32_t[::1] classes
    cdef const double[::1] factors, slopes

    def __cinit__(self, const int64_t[::1] starts, const int32_t[::1] classes, const double[::1] factors,
                  const double[::1] slopes):
        if not classes.shape[0] == factors.shape[0] == starts[starts.shape[0] - 1]:
            raise ValueError(f"{classes.shape[0]} classes and {factors.shape[0]} factors are not "
                             f"{starts[starts.shape[0] - 1]}")
        if slopes.shape[0] not in (0, factors.shape[0]):
            raise ValueError(f"{slopes.shape[0]} slopes do not fit {factors.shape[0]} factors")
        self.starts, self.classes, self.factors, self.slopes = starts, classes, factors, slopes


@cython.final
cdef class ContextGroups:
    """The contexts: groups of the word u are [word_groups[u], word_groups[u + 1]), contexts of a group likewise.

    `rows` are the groups' rows of the table, `counts` how often each context was seen, perhaps never.
    """

    cdef const int64_t[::1] word_groups, group_contexts
    cdef const int32_t[::1] rows
    cdef const double[::1] counts

    def __cinit__(self, const int64_t[::1] word_groups, const int64_t[::1] group_contexts, const int32_t[::1] rows,
                  const double[::1] counts):
        if not rows.shape[0] == group_contexts.shape[0] - 1 == word_groups[word_groups.shape[0] - 1]:
            raise ValueError(f"{rows.shape[0]} rows do not fit {group_contexts.shape[0] - 1} groups")
        if group_contexts[rows.shape[0]] != counts.shape[0]:
            raise ValueError(f"{counts.shape[0]} counts do not fit {group_contexts[rows.shape[0]]} contexts")
        self.word_groups, self.group_contexts, self.rows, self.counts = word_groups, group_contexts, rows, counts


cdef struct Features:                          # ClassFactors, in a loop
    const int64_t* starts
    const int32_t* classes
    const double* factors                      # e^φ
    const double* slopes                       # dφ


cdef Features features_of(ClassFactors bound):
    cdef Features found
    found.starts = &bound.starts[0]
    found.classes = &bound.classes[0] if bound.classes.shape[0] else NULL
    found.factors = &bound.factors[0] if bound.factors.shape[0] else NULL
    found.slopes = &bound.slopes[0] if bound.slopes.shape[0] else NULL
    return found


cdef double* vectors(Py_ssize_t n, Py_ssize_t K) except NULL:
    """Room for n vectors of K numbers."""
    cdef double* room = <double*>allocate(checked_product(n, K), sizeof(double))
    if room == NULL:
        raise MemoryError
    return room


cdef inline double dense_sum(const double* q, const int32_t* classes, const double* own, Py_ssize_t n,
                             Py_ssize_t K) noexcept nogil:
    """Σ q, with the n numbers `own` in the places of their classes."""
    cdef Py_ssize_t k, j = 0
    cdef double total = 0
    for k in range(K):
        if j < n and classes[j] == k:
            total += own[j]
            j += 1
        else:
            total += q[k]
    return total


cdef inline void dense_add(double a, const double* q, const int32_t* classes, const double* own, Py_ssize_t n,
                           Py_ssize_t K, double* sums) noexcept nogil:
    """sums += a q, with the n numbers `own` in the places of their classes."""
    cdef Py_ssize_t k, j = 0
    for k in range(K):
        if j < n and classes[j] == k:
            sums[k] += a * own[j]
            j += 1
        else:
            sums[k] += a * q[k]


def expect(ContextGroups contexts not None, const double[:, ::1] table, const double[::1] tops,
           ClassFactors of_words not None, ClassFactors of_contexts not None, double[:, ::1] expected_table,
           double[::1] expected_words, double[::1] expected_contexts, Py_ssize_t first, Py_ssize_t last):
    """Expected counts of all features of the contexts of the words [first, last); returns Σ n log Σ e^s.

    table = e^{D − tops}; `expected_table` is added to.
    """
    cdef const int64_t[::1] word_groups = contexts.word_groups, group_contexts = contexts.group_contexts
    cdef const int32_t[::1] rows = contexts.rows
    cdef const double[::1] counts = contexts.counts
    cdef Py_ssize_t u, g, i, j, k, n, K = table.shape[1]
    cdef double whole, total, a, mass, loss = 0
    cdef Features word = features_of(of_words), context = features_of(of_contexts)
    cdef const int32_t* classes
    cdef double* room = vectors(4, K)
    cdef double* q = room
    cdef double* extra = q + K
    cdef double* factors = extra + K           # e^{φ_u}
    cdef double* of_word = factors + K
    cdef double* expected = &expected_contexts[0] if expected_contexts.shape[0] else NULL
    cdef double* own
    with nogil:
        for u in range(first, last):
            for k in range(K):
                of_word[k], factors[k] = 0, 1
            for j in range(word.starts[u], word.starts[u + 1]):
                factors[word.classes[j]] = word.factors[j]
            for g in range(word_groups[u], word_groups[u + 1]):
                mass = 0
                for i in range(group_contexts[g], group_contexts[g + 1]):
                    mass += counts[i]
                if mass == 0:
                    for j in range(context.starts[group_contexts[g]], context.starts[group_contexts[g + 1]]):
                        expected_contexts[j] = 0
                    continue
                for k in range(K):
                    q[k] = table[rows[g], k] * factors[k]
                    extra[k] = 0
                whole, mass = array_sum(q, K), 0
                for i in range(group_contexts[g], group_contexts[g + 1]):
                    n = context.starts[i + 1] - context.starts[i]
                    classes = context.classes + context.starts[i]
                    own = expected + context.starts[i]
                    if counts[i] == 0:
                        for j in range(n):
                            own[j] = 0
                        continue
                    total = whole
                    for j in range(n):
                        own[j] = q[classes[j]] * context.factors[context.starts[i] + j]
                        total += own[j] - q[classes[j]]
                    if total < LOST * whole:
                        total = dense_sum(q, classes, own, n, K)
                        dense_add(counts[i] / total, q, classes, own, n, K, extra)
                        a = counts[i] / total
                        for j in range(n):
                            own[j] *= a
                    else:
                        a = counts[i] / total
                        mass += a
                        for j in range(n):
                            own[j] *= a
                            extra[classes[j]] += own[j] - a * q[classes[j]]
                    loss += counts[i] * (logarithm(total) + tops[rows[g]])
                for k in range(K):
                    q[k] = q[k] * mass + extra[k]
                    of_word[k] += q[k]
                    expected_table[rows[g], k] += q[k]
            for j in range(word.starts[u], word.starts[u + 1]):
                expected_words[j] = of_word[word.classes[j]]
    free(room)
    return loss


def expect_along(ContextGroups contexts not None, const double[:, ::1] table, const double[:, ::1] table_slopes,
                 ClassFactors of_words not None, ClassFactors of_contexts not None, double[:, ::1] changed_table,
                 double[::1] changed_words, double[::1] changed_contexts, Py_ssize_t first, Py_ssize_t last):
    """The derivative of `expect` along a direction of the weights, which is `…_slopes` and the factors' slopes."""
    cdef const int64_t[::1] word_groups = contexts.word_groups, group_contexts = contexts.group_contexts
    cdef const int32_t[::1] rows = contexts.rows
    cdef const double[::1] counts = contexts.counts
    cdef Py_ssize_t u, g, i, j, k, n, K = table.shape[1]
    cdef double whole, whole_slope, total, slope, a, changed, mass, changed_mass
    cdef Features word = features_of(of_words), context = features_of(of_contexts)
    cdef const int32_t* classes
    cdef const double* own
    cdef const double* of_weights = context.slopes
    cdef const double* own_slopes
    cdef double* room = vectors(6, K)
    cdef double* q = room
    cdef double* slopes = q + K                # dq
    cdef double* extra = slopes + K
    cdef double* factors = extra + K
    cdef double* along = factors + K           # dφ_u
    cdef double* of_word = along + K
    with nogil:
        for u in range(first, last):
            for k in range(K):
                of_word[k], factors[k], along[k] = 0, 1, 0
            for j in range(word.starts[u], word.starts[u + 1]):
                factors[word.classes[j]] = word.factors[j]
                along[word.classes[j]] = word.slopes[j]
            for g in range(word_groups[u], word_groups[u + 1]):
                for k in range(K):
                    q[k] = table[rows[g], k] * factors[k]
                    slopes[k] = q[k] * (table_slopes[rows[g], k] + along[k])
                    extra[k] = 0
                whole, whole_slope, mass, changed_mass = array_sum(q, K), array_sum(slopes, K), 0, 0
                for i in range(group_contexts[g], group_contexts[g + 1]):
                    n = context.starts[i + 1] - context.starts[i]
                    classes = context.classes + context.starts[i]
                    own = context.factors + context.starts[i]
                    own_slopes = of_weights + context.starts[i]
                    total, slope = whole, whole_slope
                    for j in range(n):
                        k = classes[j]
                        total += q[k] * own[j] - q[k]
                        slope += (slopes[k] + q[k] * own_slopes[j]) * own[j] - slopes[k]
                    if total < LOST * whole:
                        total = slope = j = 0
                        for k in range(K):
                            if j < n and classes[j] == k:
                                total += q[k] * own[j]
                                slope += (slopes[k] + q[k] * own_slopes[j]) * own[j]
                                j += 1
                            else:
                                total += q[k]
                                slope += slopes[k]
                        a = counts[i] / total
                        changed = -a * slope / total
                        for k in range(K):
                            extra[k] += changed * q[k] + a * slopes[k]
                    else:
                        a = counts[i] / total
                        changed = -a * slope / total
                        mass += a
                        changed_mass += changed
                    for j in range(n):
                        k = classes[j]
                        slope = (changed * q[k] + a * (slopes[k] + q[k] * own_slopes[j])) * own[j]
                        changed_contexts[context.starts[i] + j] = slope
                        extra[k] += slope - changed * q[k] - a * slopes[k]
                for k in range(K):
                    q[k] = slopes[k] * mass + q[k] * changed_mass + extra[k]
                    of_word[k] += q[k]
                    changed_table[rows[g], k] += q[k]
            for j in range(word.starts[u], word.starts[u + 1]):
                changed_words[j] = of_word[word.classes[j]]
    free(room)
