"""The next word's class after a context: a softmax over K classes, of dense scores and a few weights beside them.

    s(c) = D[r, c] + φ_u(c) + φ_i(c)      for a context i whose last word is u, and whose classes are the row r of D

Contexts stand by their last words, so that what is expected of φ_u is added up in K numbers; D is what features of
classes alone add up to, and what is expected of it is the caller's to share out again.
"""

from libc.stdint cimport int32_t, int64_t

from fastlin.engine.core.mathx cimport exponentials, highest, logarithm


def expect(const int64_t[::1] word_contexts, const int32_t[::1] rows, const double[::1] counts,
           const double[:, ::1] table, tuple of_words, tuple of_contexts, double[:, ::1] expected_table,
           double[::1] expected_words, double[::1] expected_contexts, double[:, ::1] room):
    """Expected counts of all features of the contexts of some words; returns Σ n log Σ e^s.

    The contexts of the word u are [word_contexts[u], word_contexts[u + 1]); `rows` are their rows of `table`, `counts`
    how often each was seen. `of_words` and `of_contexts` are weights φ as a CSR (starts, classes, weights), which begin
    with the first of these words and with its first context. `expected_table` is added to. `room` is [3, K].
    """
    cdef Py_ssize_t u, i, j, k, K = table.shape[1]
    cdef double top, total, loss = 0
    cdef const int64_t[::1] word_starts = of_words[0], starts = of_contexts[0]
    cdef const int32_t[::1] word_classes = of_words[1], classes = of_contexts[1]
    cdef const double[::1] word_weights = of_words[2], weights = of_contexts[2]
    cdef int64_t first = word_contexts[0]
    cdef double* s = &room[0, 0]
    cdef double* p = &room[1, 0]
    cdef double* of_word = &room[2, 0]
    with nogil:
        for u in range(word_contexts.shape[0] - 1):
            for k in range(K):
                of_word[k] = 0
            for i in range(word_contexts[u] - first, word_contexts[u + 1] - first):
                for k in range(K):
                    s[k] = table[rows[i], k]
                for j in range(word_starts[u], word_starts[u + 1]):
                    s[word_classes[j]] += word_weights[j]
                for j in range(starts[i], starts[i + 1]):
                    s[classes[j]] += weights[j]
                top = highest(s, K)
                total = exponentials(s, K, top, p)
                loss += counts[i] * (logarithm(total) + top)
                total = counts[i] / total
                for k in range(K):
                    p[k] *= total
                    of_word[k] += p[k]
                    expected_table[rows[i], k] += p[k]
                for j in range(starts[i], starts[i + 1]):
                    expected_contexts[j] = p[classes[j]]
            for j in range(word_starts[u], word_starts[u + 1]):
                expected_words[j] = of_word[word_classes[j]]
    return loss
