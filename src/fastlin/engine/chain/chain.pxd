"""Inference on one chain of T tokens with K labels, order 1 or 2.

    s(y) = Σ_t S[t, y_t] + start[y_0] + Σ_{t≥1} (A[c_t, y_t] + edges[t, y_{t−1}, y_t] + offsets[t, c_t]) + end[c_T]

c_t is the history of token t, a state of t − 1: the label i, or for order 2 the pair (h, i), with h = K where there is
no label before. A step leads from the state (h, i) to (i, j), so with the states of one i side by side both orders are
one loop: the vector of the labels j that follow is contiguous, at `next_states(c)`.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free
from libc.string cimport memset

from fastlin.engine.core.allocation cimport allocate, checked_product
from fastlin.engine.core.mathx cimport exponential

cdef enum:
    LANES = 8            # vectors of labels are padded to a multiple of it

cdef struct Chain:
    Py_ssize_t K, P      # labels; numbers in a vector of labels: the rest are −∞ or, not logarithms, 0
    Py_ssize_t rows      # 1, or for order 2 K + 1 labels before the last
    Py_ssize_t size      # numbers in a vector of states, rows · P
    const double* start  # [P]
    const double* A      # [size, P]
    const double* M      # [size, P]  exp(A − shift)
    const double* MT     # [P, P]     its transpose, for order 1
    const double* end    # [size]
    double shift         # the largest of A

cdef struct Trellis:     # of one thread, for a chain of up to so many tokens
    double* S            # [T, P]     scores
    double* p            # [T, P]     e, then the marginals
    double* alpha        # [T, size]
    double* V            # [T, size]  e β / z
    double* beta         # [2, size]
    double* z            # [T + 1]
    double* factors      # [T, size]  exp of the offsets, or NULL
    double* steps        # [T, P, P]  M ∘ exp of the edges, or NULL
    double* Q            # [size, P]  Σ_t α_t v_{t+1}ᵀ, to be multiplied by M
    bint logs            # whether α has logarithms


# --- what kernels begin and end with ---------------------------------------------------------------------------------


cdef inline Chain chain_from_arrays(tuple padded, Py_ssize_t K) except *:
    """A chain of arrays start [P], A and M [size, P], Mᵀ [P, P], end [size] and a shift, which have to live as long.

    They are proved to be those of K labels: the scores of a model never meet the chain of another.
    """
    cdef const double[::1] start = padded[0], end = padded[4]
    cdef const double[:, ::1] A = padded[1], M = padded[2], MT = padded[3]
    cdef Py_ssize_t P = (K + LANES - 1) // LANES * LANES, rows = A.shape[0] // P if K > 0 else 0
    if not (K > 0 and start.shape[0] == P and (rows == 1 or rows == K + 1) and A.shape[0] == end.shape[0] == rows * P
            and A.shape[1] == P and M.shape[0] == A.shape[0] and M.shape[1] == P
            and (rows > 1 or MT.shape[0] == MT.shape[1] == P)):
        raise ValueError(f"scores of {K} labels do not fit the chain")
    return Chain(K, P, rows, rows * P, &start[0], &A[0, 0], &M[0, 0], &MT[0, 0], &end[0], padded[5])


cdef inline Py_ssize_t longest_sequence(const int64_t[::1] starts, Py_ssize_t first, Py_ssize_t last) noexcept nogil:
    cdef Py_ssize_t s, most = 0
    for s in range(first, last):
        most = max(most, starts[s + 1] - starts[s])
    return most


cdef inline int check_starts(const int64_t[::1] starts, Py_ssize_t first, Py_ssize_t last, Py_ssize_t n) except -1:
    """The sequences first … last − 1 are there, one behind the other, and their tokens are among n."""
    cdef Py_ssize_t s
    cdef bint sound = 0 <= first <= last < starts.shape[0] and 0 <= starts[first] and starts[last] <= n
    for s in range(first, last if sound else first):
        sound = sound and starts[s] <= starts[s + 1]
    if not sound:
        raise ValueError(f"the sequences do not fit {n} tokens")
    return 0


cdef inline double* allocate_doubles(int64_t n) except NULL:
    cdef double* numbers = <double*>allocate(n, sizeof(double))
    if not numbers:
        raise MemoryError
    return numbers


cdef inline int allocate_trellis(Trellis* trellis, const Chain* chain, Py_ssize_t T, bint offsets,
                                 bint edges) except -1:
    """Memory for the sums over the paths of chains of up to T tokens; to be closed even if this fails."""
    cdef Py_ssize_t P = chain.P, size = chain.size
    memset(trellis, 0, sizeof(Trellis))
    trellis.p = allocate_doubles(checked_product(T, P))
    trellis.alpha = allocate_doubles(checked_product(T, size))
    trellis.V = allocate_doubles(checked_product(T + 1, size))
    trellis.beta = allocate_doubles(2 * size)
    trellis.z = allocate_doubles(T + 1)
    trellis.factors = allocate_doubles(checked_product(T, size)) if offsets else NULL
    trellis.steps = allocate_doubles(checked_product(T, P * P)) if edges else NULL
    trellis.Q = allocate_doubles(checked_product(size, P))
    memset(trellis.Q, 0, size * P * sizeof(double))
    return 0


cdef inline void free_trellis(Trellis* trellis) noexcept:
    """All but S, which is the caller's."""
    free(trellis.p)
    free(trellis.alpha)
    free(trellis.V)
    free(trellis.beta)
    free(trellis.z)
    free(trellis.factors)
    free(trellis.steps)
    free(trellis.Q)


# --- parts -----------------------------------------------------------------------------------------------------------


cdef inline Py_ssize_t next_states(const Chain* chain, Py_ssize_t i) noexcept nogil:
    """Where the states that follow a state (h, i) begin."""
    return i * chain.P if chain.rows > 1 else 0


cdef inline double vector_max(const double* x, Py_ssize_t n) noexcept nogil:
    """max x; in lanes, or each comparison would wait for the one before."""
    cdef double lanes[LANES]
    cdef double top
    cdef Py_ssize_t j = 0, lane
    for lane in range(LANES):
        lanes[lane] = -INFINITY
    while j + LANES <= n:
        for lane in range(LANES):
            lanes[lane] = x[j + lane] if x[j + lane] > lanes[lane] else lanes[lane]
        j += LANES
    for lane in range(4):
        lanes[lane] = lanes[lane + 4] if lanes[lane + 4] > lanes[lane] else lanes[lane]
    top = max(max(lanes[0], lanes[1]), max(lanes[2], lanes[3]))
    while j < n:
        top = x[j] if x[j] > top else top
        j += 1
    return top


cdef inline double vector_sum(const double* x, Py_ssize_t n) noexcept nogil:
    """Σ x, of a multiple of 8 numbers."""
    cdef double lanes[LANES]
    cdef Py_ssize_t j, lane
    for lane in range(LANES):
        lanes[lane] = 0
    j = 0
    while j < n:
        for lane in range(LANES):
            lanes[lane] += x[j + lane]
        j += LANES
    return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]))


cdef inline double relative_exponentials(const double* x, Py_ssize_t n, double* out) noexcept nogil:
    """out = exp(x − max x); returns the maximum, −∞ where no number is larger."""
    cdef double top = vector_max(x, n)
    cdef Py_ssize_t j
    if top == -INFINITY:
        return top
    for j in range(n):
        out[j] = exponential(x[j] - top)
    return top


cdef inline double path_score(const Chain* chain, const double* S, Py_ssize_t T, const double* edges,
                              const double* offsets, const int32_t* y) noexcept nogil:
    """s(y)."""
    cdef Py_ssize_t t, h, state
    cdef double value
    if T == 0:
        return 0.0
    state = (chain.rows - 1) * chain.P + y[0]
    value = chain.start[y[0]] + S[y[0]]
    for t in range(1, T):
        value += S[t * chain.P + y[t]] + chain.A[state * chain.P + y[t]]
        if edges:
            value += edges[(t * chain.K + y[t - 1]) * chain.K + y[t]]
        if offsets:
            value += offsets[t * chain.size + state]
        h = y[t - 1] if chain.rows > 1 else 0
        state = h * chain.P + y[t]
    return value + chain.end[state]
