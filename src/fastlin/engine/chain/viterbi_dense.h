/* The step of Viterbi's algorithm, for label counts that the compiler knows.

   out[j] = s[j] + max_i a[i] + M[i, j]

   Only maxima: what attains them is found again on the best path alone, K sums a token (see `viterbi_dense.pxd`). So a step is
   an addition and a maximum for each number of M, where keeping track of places doubles the instructions. Widths are
   those of chain.h. Maxima are the machine's instructions, since gcc makes comparisons and masks of anything else. */
#ifndef FASTLIN_VITERBI_DENSE_H
#define FASTLIN_VITERBI_DENSE_H
#include "chain.h"

#if defined(__AVX512F__)
#include <immintrin.h>
#define FASTLIN_MAX(a, b) ((fastlin_lanes)_mm512_max_pd((__m512d)(a), (__m512d)(b)))
#elif defined(__AVX__)
#include <immintrin.h>
#define FASTLIN_MAX(a, b) ((fastlin_lanes)_mm256_max_pd((__m256d)(a), (__m256d)(b)))
#elif defined(__SSE2__)
#include <emmintrin.h>
#define FASTLIN_MAX(a, b) ((fastlin_lanes)_mm_max_pd((__m128d)(a), (__m128d)(b)))
#else
typedef long long fastlin_masks __attribute__((vector_size(sizeof(fastlin_lanes))));
static inline fastlin_lanes fastlin_max(fastlin_lanes a, fastlin_lanes b)
{
    const fastlin_masks first = (fastlin_masks)(a > b);
    return (fastlin_lanes)(((fastlin_masks)a & first) | ((fastlin_masks)b & ~first));
}
#define FASTLIN_MAX(a, b) fastlin_max(a, b)
#endif

/* Rows of M are `along` apart, and numbers of a `apart`. Up to four sets of maxima hide the latency. */
FASTLIN_CHAIN_INLINE void fastlin_max_plus_step_tile(
    const double *a, ptrdiff_t apart, const double *M, ptrdiff_t along, ptrdiff_t n_rows, const double *s, double *out,
    const int width)
{
    const int n = width / FASTLIN_CHAIN_LANES;
    const int sets = 4 * n <= FASTLIN_CHAIN_REGISTERS ? 4 : 2 * n <= FASTLIN_CHAIN_REGISTERS ? 2 : 1;
    fastlin_lanes best[4][32];
#pragma GCC unroll 4
    for (int set = 0; set < sets; set++)
#pragma GCC unroll 32
        for (int v = 0; v < n; v++)
            best[set][v] = (fastlin_lanes){0} - __builtin_inf();
    ptrdiff_t i = 0;
    for (; i + sets <= n_rows; i += sets)
#pragma GCC unroll 4
        for (int set = 0; set < sets; set++)
#pragma GCC unroll 32
            for (int v = 0; v < n; v++)
                best[set][v] = FASTLIN_MAX(
                    best[set][v], a[(i + set) * apart] + FASTLIN_LANES(M + (i + set) * along + v * FASTLIN_CHAIN_LANES));
    for (; i < n_rows; i++)
#pragma GCC unroll 32
        for (int v = 0; v < n; v++)
            best[0][v] =
                FASTLIN_MAX(best[0][v], a[i * apart] + FASTLIN_LANES(M + i * along + v * FASTLIN_CHAIN_LANES));
#pragma GCC unroll 4
    for (int set = 1; set < sets; set++)
#pragma GCC unroll 32
        for (int v = 0; v < n; v++)
            best[0][v] = FASTLIN_MAX(best[0][v], best[set][v]);
#pragma GCC unroll 32
    for (int v = 0; v < n; v++)
        FASTLIN_LANES(out + v * FASTLIN_CHAIN_LANES) = best[0][v] + FASTLIN_LANES((double *)s + v * FASTLIN_CHAIN_LANES);
}

/* The first i that attains max_i a[i] + b[i], of vectors of P numbers. */
static inline ptrdiff_t fastlin_argmax_sum(const double *a, const double *b, ptrdiff_t P)
{
    fastlin_lanes best = (fastlin_lanes){0} - __builtin_inf();
    for (ptrdiff_t i = 0; i < P; i += FASTLIN_CHAIN_LANES)
        best = FASTLIN_MAX(best, FASTLIN_LANES((double *)a + i) + FASTLIN_LANES((double *)b + i));
    double top = best[0];
    for (int lane = 1; lane < FASTLIN_CHAIN_LANES; lane++)
        top = best[lane] > top ? best[lane] : top;
    for (ptrdiff_t i = 0; i < P; i++)
        if (a[i] + b[i] == top)
            return i;
    return 0;
}

static inline void fastlin_max_plus_step(
    const double *a, ptrdiff_t apart, const double *M, ptrdiff_t along, ptrdiff_t n_rows, const double *s, double *out,
    ptrdiff_t P)
{
#define CALL(width) fastlin_max_plus_step_tile(a, apart, M + j, along, n_rows, s + j, out + j, width)
    for (ptrdiff_t j = 0; j < P; j += 64)
        FASTLIN_PADDED(P - j < 64 ? P - j : 64, CALL)
#undef CALL
}
#endif
