"""Scores of words and spans from the weights of their features, and the way back from counts to weights.

    scores[r] = Σ_t W[columns[r, t]]                              of a row r, −1 being no feature
    scores[i, j] = Σ_t W[joint[ij, t]] + left[i] + right[j]       of a span, left and right being scores of rows

What a span has of its first word, or of its last, is the same for all spans that share it: it is added up once. A row
of W is contiguous, and of one sentence's features alone: it stays in the cache.
"""

from libc.stdint cimport int32_t


cdef int check_rows(const int32_t[:, ::1] columns, const double[:, ::1] of_rows,
                    const double[:, ::1] of_columns) except -1:
    """Check that there is a row of labels for each row of columns, and for each column."""
    cdef Py_ssize_t r, t
    if columns.shape[0] != of_rows.shape[0] or of_rows.shape[1] != of_columns.shape[1]:
        raise ValueError(
            f"{columns.shape[0]} rows of columns and {of_rows.shape[0]} of labels, {of_rows.shape[1]} and "
            f"{of_columns.shape[1]} labels"
        )
    for r in range(columns.shape[0]):
        for t in range(columns.shape[1]):
            if not -1 <= columns[r, t] < of_columns.shape[0]:
                raise ValueError(f"columns must be from -1 to {of_columns.shape[0] - 1}, got {columns[r, t]}")
    return 0


cdef int check_ends(const double[:, ::1] left, const double[:, ::1] right, const double[:, ::1] spans) except -1:
    """Check that these are of words and of all their spans."""
    cdef Py_ssize_t n = left.shape[0], K = left.shape[1]
    if not (right.shape[0] == n and spans.shape[0] == n * (n + 1) // 2 and right.shape[1] == spans.shape[1] == K):
        raise ValueError(f"{n} and {right.shape[0]} words and {spans.shape[0]} spans are of no sentence")
    return 0


cdef inline void add_to(double* target, const double* source, Py_ssize_t K) noexcept nogil:
    cdef Py_ssize_t k
    for k in range(K):
        target[k] += source[k]


def score_rows(const int32_t[:, ::1] columns, const double[:, ::1] weights, double[:, ::1] scores):
    """Add the weights [columns, K] of the features of each row to its scores [rows, K]."""
    cdef Py_ssize_t r, t, K = weights.shape[1]
    check_rows(columns, scores, weights)
    if K == 0:
        return
    with nogil:
        for r in range(columns.shape[0]):
            for t in range(columns.shape[1]):
                if columns[r, t] >= 0:
                    add_to(&scores[r, 0], &weights[columns[r, t], 0], K)


def add_rows(const int32_t[:, ::1] columns, const double[:, ::1] counts, double[:, ::1] weights):
    """Add the counts of each row [rows, K] to the weights of its features."""
    cdef Py_ssize_t r, t, K = weights.shape[1]
    check_rows(columns, counts, weights)
    if K == 0:
        return
    with nogil:
        for r in range(columns.shape[0]):
            for t in range(columns.shape[1]):
                if columns[r, t] >= 0:
                    add_to(&weights[columns[r, t], 0], &counts[r, 0], K)


def spread_ends(const double[:, ::1] left, const double[:, ::1] right, double[:, ::1] spans):
    """Add the scores of its first word and of its last, [n, K], to those of each span, [n(n + 1) / 2, K]."""
    cdef Py_ssize_t i, j, K = left.shape[1]
    check_ends(left, right, spans)
    if K == 0:
        return
    with nogil:
        for j in range(left.shape[0]):
            for i in range(j + 1):
                add_to(&spans[j * (j + 1) // 2 + i, 0], &left[i, 0], K)
                add_to(&spans[j * (j + 1) // 2 + i, 0], &right[j, 0], K)


def gather_ends(const double[:, ::1] spans, double[:, ::1] left, double[:, ::1] right):
    """Add the counts of each span to those of its first word and of its last."""
    cdef Py_ssize_t i, j, K = left.shape[1]
    check_ends(left, right, spans)
    if K == 0:
        return
    with nogil:
        for j in range(left.shape[0]):
            for i in range(j + 1):
                add_to(&left[i, 0], &spans[j * (j + 1) // 2 + i, 0], K)
                add_to(&right[j, 0], &spans[j * (j + 1) // 2 + i, 0], K)
