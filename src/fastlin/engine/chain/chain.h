/* Products of one chain's vectors and its K x K transitions, for label counts that the compiler knows.

   step:   out[j] = sum_i a[i] M[i, j]              outer:  Q[i, j] += sum_t A[t, i] V[t, j]

   Vectors have P numbers, K rounded up to a multiple of 8, the rest zeros. Up to 64 labels every P has a build of its
   own, whose sums stay in registers; more labels are cut into tiles of at most 64 columns. */
#ifndef FASTLIN_CHAIN_H
#define FASTLIN_CHAIN_H
#include <stddef.h>

#if defined(__AVX512F__)
#define FASTLIN_CHAIN_LANES 8
#define FASTLIN_CHAIN_REGISTERS 24
#elif defined(__AVX__)
#define FASTLIN_CHAIN_LANES 4
#define FASTLIN_CHAIN_REGISTERS 12
#else
#define FASTLIN_CHAIN_LANES 2
#define FASTLIN_CHAIN_REGISTERS 12
#endif

#define FASTLIN_FAR 1e250

typedef double fastlin_lanes
    __attribute__((vector_size(FASTLIN_CHAIN_LANES * sizeof(double)), aligned(sizeof(double)), may_alias));
#define FASTLIN_LANES(address) (*(fastlin_lanes *)(address))

#define FASTLIN_CHAIN_INLINE static inline __attribute__((always_inline))
#define FASTLIN_PADDED_CASE(CALL, width) case width: CALL(width); break;
#define FASTLIN_PADDED(width, CALL)                                                              \
    switch (width) {                                                                             \
        FASTLIN_PADDED_CASE(CALL, 8) FASTLIN_PADDED_CASE(CALL, 16) FASTLIN_PADDED_CASE(CALL, 24) \
        FASTLIN_PADDED_CASE(CALL, 32) FASTLIN_PADDED_CASE(CALL, 40) FASTLIN_PADDED_CASE(CALL, 48) \
        FASTLIN_PADDED_CASE(CALL, 56) FASTLIN_PADDED_CASE(CALL, 64)                              \
    }

/* Two sets of sums hide the latency of the additions, as far as the registers go. */
FASTLIN_CHAIN_INLINE void fastlin_step_tile(
    const double *a, const double *M, ptrdiff_t stride, ptrdiff_t K, double *out, const int width)
{
    const int n = width / FASTLIN_CHAIN_LANES, sets = 2 * n <= FASTLIN_CHAIN_REGISTERS ? 2 : 1;
    fastlin_lanes sums[2][32];
#pragma GCC unroll 2
    for (int set = 0; set < 2; set++)
#pragma GCC unroll 32
        for (int v = 0; v < n; v++)
            sums[set][v] = (fastlin_lanes){0};
    ptrdiff_t i = 0;
    for (; i + sets <= K; i += sets)
#pragma GCC unroll 2
        for (int set = 0; set < sets; set++)
#pragma GCC unroll 32
            for (int v = 0; v < n; v++)
                sums[set][v] += a[i + set] * FASTLIN_LANES(M + (i + set) * stride + v * FASTLIN_CHAIN_LANES);
    for (; i < K; i++)
#pragma GCC unroll 32
        for (int v = 0; v < n; v++)
            sums[0][v] += a[i] * FASTLIN_LANES(M + i * stride + v * FASTLIN_CHAIN_LANES);
#pragma GCC unroll 32
    for (int v = 0; v < n; v++)
        FASTLIN_LANES(out + v * FASTLIN_CHAIN_LANES) = sums[0][v] + sums[1][v];
}

static inline void fastlin_step(const double *a, const double *M, ptrdiff_t K, ptrdiff_t P, double *out)
{
#define CALL(width) fastlin_step_tile(a, M + j, P, K, out + j, width)
    for (ptrdiff_t j = 0; j < P; j += 64)
        FASTLIN_PADDED(P - j < 64 ? P - j : 64, CALL)
#undef CALL
}

/* Four rows of Q at a time where their sums fit into the registers. */
FASTLIN_CHAIN_INLINE void fastlin_outer_tile(
    const double *A, const double *V, ptrdiff_t stride, ptrdiff_t n_tokens, double *Q, const int rows, const int width)
{
    const int n = width / FASTLIN_CHAIN_LANES;
    fastlin_lanes sums[4][32];
#pragma GCC unroll 4
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 32
        for (int v = 0; v < n; v++)
            sums[r][v] = FASTLIN_LANES(Q + r * stride + v * FASTLIN_CHAIN_LANES);
    for (ptrdiff_t t = 0; t < n_tokens; t++, A += stride, V += stride)
#pragma GCC unroll 4
        for (int r = 0; r < rows; r++)
#pragma GCC unroll 32
            for (int v = 0; v < n; v++)
                sums[r][v] += A[r] * FASTLIN_LANES(V + v * FASTLIN_CHAIN_LANES);
#pragma GCC unroll 4
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 32
        for (int v = 0; v < n; v++)
            FASTLIN_LANES(Q + r * stride + v * FASTLIN_CHAIN_LANES) = sums[r][v];
}

static inline void fastlin_outer(
    const double *A, const double *V, ptrdiff_t n_tokens, ptrdiff_t P, double *Q)
{
#define CALL(width)                                                                                          \
    do {                                                                                                     \
        const int rows = width / FASTLIN_CHAIN_LANES * 4 <= FASTLIN_CHAIN_REGISTERS ? 4                      \
                         : width / FASTLIN_CHAIN_LANES * 2 <= FASTLIN_CHAIN_REGISTERS ? 2 : 1;               \
        for (ptrdiff_t i = 0; i < P; i += rows)                                                              \
            fastlin_outer_tile(A + i, V + j, P, n_tokens, Q + i * P + j, rows, width);                       \
    } while (0)
    for (ptrdiff_t j = 0; j < P; j += 64)
        FASTLIN_PADDED(P - j < 64 ? P - j : 64, CALL)
#undef CALL
}
#endif
