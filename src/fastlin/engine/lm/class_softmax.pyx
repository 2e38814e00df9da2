"""The next word's class after a context: a softmax over K classes, of dense scores and a few weights beside them.

    s(c) = D[r, c] + φ_u(c) + φ_i(c)      for a context i whose last word is u, and whose classes are the row r of D

Contexts stand by their last words, then by their rows: a group shares u and r, so that q = e^{D + φ_u} is one product
of two vectors, and a context differs from its group in the few classes that φ_i has:

    Z_i = Σ q + Σ_{c in φ_i} q_c (e^{φ_i(c)} − 1),      Σ_i n_i p_i = q Σ n_i/Z_i + the same few corrections

An evaluation costs K numbers a group and one a weight. D is what features of classes alone add up to, and what is
expected of it is the caller's to share out again.
"""

from libc.stdint cimport int32_t, int64_t

from fastlin.engine.core.mathx cimport array_sum, logarithm

cdef double LOST = 1e-6                        # of Σ q: a difference that is smaller has no digits left


cdef struct Features:                          # φ of some histories, as a CSR
    const int64_t* starts
    const int32_t* classes
    const double* factors                      # e^φ


cdef Features features_of(tuple arrays):
    cdef const int64_t[::1] starts = arrays[0]
    cdef const int32_t[::1] classes = arrays[1]
    cdef const double[::1] factors = arrays[2]
    cdef Features found
    found.starts = &starts[0]
    found.classes = &classes[0] if classes.shape[0] else NULL
    found.factors = &factors[0] if factors.shape[0] else NULL
    return found


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


def expect(const int64_t[::1] word_groups, const int64_t[::1] group_contexts, const int32_t[::1] rows,
           const double[::1] counts, const double[:, ::1] table, const double[::1] tops, tuple of_words,
           tuple of_contexts, double[:, ::1] expected_table, double[::1] expected_words, double[::1] expected_contexts,
           double[:, ::1] room, Py_ssize_t first, Py_ssize_t last):
    """Expected counts of all features of the contexts of the words [first, last); returns Σ n log Σ e^s.

    The groups of the word u are [word_groups[u], word_groups[u + 1]), the contexts of a group likewise; `rows` are the
    groups' rows of table = e^{D − tops}, `counts` how often each context was seen, perhaps never. `of_words` and
    `of_contexts` are e^φ as a CSR (starts, classes, e^φ). `expected_table` is added to. `room` is [4, K].
    """
    cdef Py_ssize_t u, g, i, j, k, n, K = table.shape[1]
    cdef double whole, total, a, mass, loss = 0
    cdef Features word = features_of(of_words), context = features_of(of_contexts)
    cdef const int32_t* classes
    cdef double* q = &room[0, 0]
    cdef double* extra = &room[1, 0]
    cdef double* factors = &room[2, 0]         # e^{φ_u}
    cdef double* of_word = &room[3, 0]
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
    return loss


def expect_along(const int64_t[::1] word_groups, const int64_t[::1] group_contexts, const int32_t[::1] rows,
                 const double[::1] counts, const double[:, ::1] table, const double[:, ::1] table_slopes,
                 tuple of_words, const double[::1] word_slopes, tuple of_contexts, const double[::1] context_slopes,
                 double[:, ::1] changed_table, double[::1] changed_words, double[::1] changed_contexts,
                 double[:, ::1] room, Py_ssize_t first, Py_ssize_t last):
    """The derivative of `expect` along a direction of the weights, which is `…_slopes`. `room` is [6, K]."""
    cdef Py_ssize_t u, g, i, j, k, n, K = table.shape[1]
    cdef double whole, whole_slope, total, slope, a, changed, mass, changed_mass
    cdef Features word = features_of(of_words), context = features_of(of_contexts)
    cdef const int32_t* classes
    cdef const double* own
    cdef const double* of_weights = &context_slopes[0] if context_slopes.shape[0] else NULL
    cdef const double* own_slopes
    cdef double* q = &room[0, 0]
    cdef double* slopes = &room[1, 0]          # dq
    cdef double* extra = &room[2, 0]
    cdef double* factors = &room[3, 0]
    cdef double* along = &room[4, 0]           # dφ_u
    cdef double* of_word = &room[5, 0]
    with nogil:
        for u in range(first, last):
            for k in range(K):
                of_word[k], factors[k], along[k] = 0, 1, 0
            for j in range(word.starts[u], word.starts[u + 1]):
                factors[word.classes[j]] = word.factors[j]
                along[word.classes[j]] = word_slopes[j]
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
