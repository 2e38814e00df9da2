# distutils: language = c++
"""How fast can this machine walk the weights that an epoch has to touch, when it does nothing else?

gather            for each row in order:  s_k = Σ_j x_j W_jk
gather + scatter  the same, then          W_jk += x_j c_k

An online learner cannot do less per instance than gather, nor less per step than gather + scatter.
Between the two it also has to turn s into c; here c is given, so no step waits for a score.

Everything that could slow the walk is taken out by hand: the number of labels is a constant (20 or
1), the scores live in vector registers, four non-zeros are added up independently of each other (the
latency of an addition would bound the small matrices), the weights are prefetched ``ahead``
non-zeros before their turn, running over into the next row of the order, and so are the indices and
values of the row after that. The best distance depends on the matrix: ask for several, keep the best.
"""

from libc.stdint cimport int32_t, int64_t

cdef extern from *:
    """
    #include <algorithm>
    #include <cstdint>

    static inline void fetch(const void *from, const void *to) {
        for (const char *line = (const char *)from; line < (const char *)to; line += 64)
            __builtin_prefetch(line);
    }

    template <typename real> struct One {  // the score of a single column
        enum { K = 1 };
        real a = 0;
        inline void add(const real *w, real x) { a += x * w[0]; }
        inline double sum() const { return a; }
        static inline void fetch_row(const real *w) { __builtin_prefetch(w); }
        inline void change(real *w, real x) const { w[0] += x * a; }
    };

    template <typename real> struct Twenty {  // the scores of twenty labels, eight + eight + four
        enum { K = 20 };
        typedef real eight __attribute__((vector_size(8 * sizeof(real)), aligned(sizeof(real)), may_alias));
        typedef real four __attribute__((vector_size(4 * sizeof(real)), aligned(sizeof(real)), may_alias));
        eight a = {}, b = {};
        four c = {};
        static inline eight &wide(const real *w) { return *(eight *)w; }
        static inline four &narrow(const real *w) { return *(four *)w; }
        inline void add(const real *w, real x) {
            a += x * wide(w);
            b += x * wide(w + 8);
            c += x * narrow(w + 16);
        }
        inline double sum() const {
            double total = 0;
            for (int k = 0; k < 8; k++) total += a[k] + b[k];
            for (int k = 0; k < 4; k++) total += c[k];
            return total;
        }
        static inline void fetch_row(const real *w) {
            fetch(w, w + K);
            __builtin_prefetch(w + K - 1);  // rows do not start on a cache line
        }
        inline void change(real *w, real x) const {
            wide(w) += x * a;
            wide(w + 8) += x * b;
            narrow(w + 16) += x * c;
        }
    };

    // Add up the non-zeros from … to - 1 of a row; soon[j] is the feature to fetch when j is read.
    template <typename real, typename Scores>
    static inline void gather(Scores *s, const int32_t *index, const real *x, int64_t from, int64_t to,
                              const int32_t *soon, const real *W) {
        const int64_t K = Scores::K;
        int64_t j = from;
        for (; j + 4 <= to; j += 4)
            for (int u = 0; u < 4; u++) {
                Scores::fetch_row(W + soon[j + u] * K);
                s[u].add(W + index[j + u] * K, x[j + u]);
            }
        for (; j < to; j++) {
            Scores::fetch_row(W + soon[j] * K);
            s[0].add(W + index[j] * K, x[j]);
        }
    }

    template <typename real, typename Scores, bool scatter>
    static double walk(const int64_t *indptr, const int32_t *indices, const real *values,
                       const int64_t *order, int64_t n, int64_t ahead, real *W, const real *c) {
        const int64_t K = Scores::K;
        double total = 0;
        Scores change;
        change.add(c, 1);
        for (int64_t i = 0; i < n; i++) {
            const int64_t next = order[std::min(i + 1, n - 1)], later = order[std::min(i + 2, n - 1)];
            const int32_t *index = indices + indptr[order[i]], *next_index = indices + indptr[next];
            const real *x = values + indptr[order[i]];
            const int64_t length = indptr[order[i] + 1] - indptr[order[i]];
            const int64_t next_length = indptr[next + 1] - indptr[next];
            const int64_t split = std::max<int64_t>(0, length - ahead);
            fetch(indices + indptr[later], indices + indptr[later + 1]);
            fetch(values + indptr[later], values + indptr[later + 1]);
            Scores s[4];
            gather(s, index, x, 0, split, index + ahead, W);
            gather(s, index, x, split, length, next_index - split, W);
            for (int64_t j = length - split; j < std::min(next_length, ahead); j++)
                Scores::fetch_row(W + next_index[j] * K);
            for (const Scores &part : s) total += part.sum();
            if (scatter)
                for (int64_t j = 0; j < length; j++) change.change(W + index[j] * K, x[j]);
        }
        return total;
    }

    template <typename real>
    static double walk_any(const int64_t *indptr, const int32_t *indices, const real *values,
                           const int64_t *order, int64_t n, int64_t ahead,
                           real *W, const real *c, int64_t K, bool scatter) {
        const auto pass = K == 1 ? (scatter ? walk<real, One<real>, true> : walk<real, One<real>, false>)
                                 : (scatter ? walk<real, Twenty<real>, true> : walk<real, Twenty<real>, false>);
        return pass(indptr, indices, values, order, n, ahead, W, c);
    }
    """
    double walk_any[real](
        const int64_t*, const int32_t*, const real*, const int64_t*, int64_t, int64_t, real*, const real*, int64_t, bint
    ) noexcept nogil

ctypedef fused real:
    float
    double


def walk(
    const int64_t[::1] indptr, const int32_t[::1] indices, const real[::1] values,
    const int64_t[::1] order, int64_t ahead, real[:, ::1] W, const real[::1] c, bint scatter,
) -> float:
    """One pass over the rows in ``order``; the total of all scores, so that none is left out.

    ``indices`` must go on (with anything valid) for ``ahead`` entries after the last non-zero.
    """
    if W.shape[1] not in (1, 20):
        raise ValueError(f"the floor is built for 1 and 20 labels, not for {W.shape[1]}")
    cdef double total
    with nogil:
        total = walk_any(
            &indptr[0], &indices[0], &values[0], &order[0], order.shape[0], ahead,
            &W[0, 0], &c[0], W.shape[1], scatter,
        )
    return total
