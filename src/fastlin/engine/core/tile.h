/* A sparse row against W[V, K], for one tile of labels whose width the compiler knows.

   scores:  out[k]  = sum_p x_p W[j_p, k]          add:  W[j_p, k] += x_p change[k]

   The only C of the engine, and it is C for one reason: gcc keeps an array of scalar accumulators in
   memory, and store forwarding then costs 4 ns a non-zero at K = 20 (float64). Accumulators of the
   machine's own vector size stay in registers: 1.3 ns; sizes above it are lowered through memory, 25 ns.
   Every K up to 32 has a build of its own, one switch a row; wider rows are cut into tiles.

   While a row is scored, weight rows are prefetched: for each non-zero the one FASTLIN_DISTANCE further on, in this row
   or at the beginning of the next (`ahead`), so that the loads in flight are spread over the arithmetic.

   Scatter stops at 32 bytes: K rows are seldom a multiple of 64 bytes, and a store across a cache line
   costs more than two within it (K = 20, float64: 1.65 against 1.30 ns).

   The file includes itself once for each type of weight (REAL) with each type of value (VALUE). */
#ifndef REAL
#ifndef FASTLIN_TILE_H
#define FASTLIN_TILE_H
#include <stddef.h>
#include <stdint.h>

#if defined(__AVX512F__)
#define FASTLIN_GATHER_BYTES 64
#elif defined(__AVX__)
#define FASTLIN_GATHER_BYTES 32
#else
#define FASTLIN_GATHER_BYTES 16
#endif
#define FASTLIN_SCATTER_BYTES (FASTLIN_GATHER_BYTES < 32 ? FASTLIN_GATHER_BYTES : 32)
#define FASTLIN_REGISTERS (FASTLIN_GATHER_BYTES == 64 ? 24 : 12) /* for sums; the others hold x and addresses */
#define FASTLIN_WIDEST 32
#define FASTLIN_LINE 64
#define FASTLIN_DISTANCE 96 /* non-zeros to prefetch ahead */
#define FASTLIN_INLINE static inline __attribute__((always_inline))

/* CALL(width) with a constant width, for any 1 <= width <= FASTLIN_WIDEST. */
#define FASTLIN_CASE(CALL, width) case width: CALL(width); break;
#define FASTLIN_EIGHT(CALL, first)                                       \
    FASTLIN_CASE(CALL, first + 0) FASTLIN_CASE(CALL, first + 1)          \
    FASTLIN_CASE(CALL, first + 2) FASTLIN_CASE(CALL, first + 3)          \
    FASTLIN_CASE(CALL, first + 4) FASTLIN_CASE(CALL, first + 5)          \
    FASTLIN_CASE(CALL, first + 6) FASTLIN_CASE(CALL, first + 7)
#define FASTLIN_CONSTANT_WIDTH(width, CALL)                              \
    switch (width) {                                                     \
        FASTLIN_EIGHT(CALL, 1) FASTLIN_EIGHT(CALL, 9)                    \
        FASTLIN_EIGHT(CALL, 17) FASTLIN_EIGHT(CALL, 25)                  \
    }

/* Always inline: gcc takes a function that only prefetches for one without effect, and drops its calls. */
FASTLIN_INLINE void fastlin_prefetch(const void *address) { __builtin_prefetch(address); }

FASTLIN_INLINE void fastlin_prefetch_range(const void *start, const void *end)
{
    for (const char *line = start; line < (const char *)end; line += FASTLIN_LINE)
        __builtin_prefetch(line);
}

/* The non-zeros p of a row in three stretches, each with the features to prefetch meanwhile, soon[p]: those `distance`
   further on in this row, those that the next row begins with, and, where that is short, none that are new. Stretches
   end at multiples of 4, the sums that take turns: which sum a term is added to must not depend on the next row. */
typedef struct {
    ptrdiff_t end[3];
    const int32_t *soon[3];
    ptrdiff_t left, next; /* of the next row, [left, next) is still to be fetched at the end */
} fastlin_stretches;

FASTLIN_INLINE fastlin_stretches fastlin_cut(
    const int32_t *indices, ptrdiff_t m, const int32_t *ahead, ptrdiff_t m_ahead, ptrdiff_t distance)
{
    const ptrdiff_t next = m_ahead < distance ? m_ahead : distance;
    const ptrdiff_t own = m > distance ? (m - distance) & ~(ptrdiff_t)3 : 0;
    const ptrdiff_t left = (m - own < next ? m - own : next) & ~(ptrdiff_t)3;
    return (fastlin_stretches){
        {own, own + left, m}, {indices + distance, ahead - own, indices}, left, next};
}

#define REAL float
#define VALUE float
#define NAME(stem) stem##_float_float
#include "tile.h"
#undef VALUE
#undef NAME
#define VALUE double
#define NAME(stem) stem##_float_double
#include "tile.h"
#undef REAL
#undef VALUE
#undef NAME
#define REAL double
#define VALUE float
#define NAME(stem) stem##_double_float
#include "tile.h"
#undef VALUE
#undef NAME
#define VALUE double
#define NAME(stem) stem##_double_double
#include "tile.h"
#undef REAL
#undef VALUE
#undef NAME
#endif
#else

#define VECTOR(bytes) __attribute__((vector_size(bytes), aligned(sizeof(REAL)), may_alias))
typedef REAL NAME(gather) VECTOR(FASTLIN_GATHER_BYTES);
typedef REAL NAME(scatter) VECTOR(FASTLIN_SCATTER_BYTES);
typedef REAL NAME(lanes8) VECTOR(8 * sizeof(REAL));
typedef REAL NAME(lanes4) VECTOR(4 * sizeof(REAL));
typedef REAL NAME(lanes2) VECTOR(2 * sizeof(REAL));
#undef VECTOR
#define AT(type, address) (*(NAME(type) *)(address))

FASTLIN_INLINE void NAME(prefetch_tile)(const REAL *w, const int width)
{
    for (int k = 0; k < width; k += FASTLIN_LINE / (int)sizeof(REAL))
        __builtin_prefetch(w + k, 1, 3);
    __builtin_prefetch(w + width - 1, 1, 3);
}

/* `sets` independent sums hide the latency of the additions, as far as the registers go. */
FASTLIN_INLINE void NAME(score_tile)(
    REAL *out, const REAL *W, ptrdiff_t K, const int32_t *indices, const VALUE *values, ptrdiff_t m,
    const int32_t *ahead, ptrdiff_t m_ahead, const int fetch, const int width)
{
    enum { lanes = FASTLIN_GATHER_BYTES / sizeof(REAL) };
    const int whole = width / lanes, registers = whole + (width % lanes ? 2 : 0);
    const int sets = registers * 4 <= FASTLIN_REGISTERS ? 4 : registers * 2 <= FASTLIN_REGISTERS ? 2 : 1;
    const fastlin_stretches row = fastlin_cut(indices, m, ahead, m_ahead, fetch ? FASTLIN_DISTANCE : 0);
    NAME(gather) sums[4][FASTLIN_WIDEST / 2];
    NAME(lanes8) sum8[4] = {{0}};
    NAME(lanes4) sum4[4] = {{0}};
    NAME(lanes2) sum2[4] = {{0}};
    REAL sum1[4] = {0};
#pragma GCC unroll 4
    for (int set = 0; set < sets; set++)
#pragma GCC unroll 16
        for (int v = 0; v < whole; v++)
            sums[set][v] = (NAME(gather)){0};
#define ADD(p, set)                                                                    \
    do {                                                                               \
        const REAL x = (REAL)values[p];                                                      \
        const REAL *w = W + indices[p] * K;                                            \
        if (fetch)                                                                     \
            NAME(prefetch_tile)(W + soon[p] * K, width);                               \
        _Pragma("GCC unroll 16") for (int v = 0; v < whole; v++, w += lanes)           \
            sums[set][v] += x * AT(gather, w);                                         \
        if (lanes > 8 && width & 8) sum8[set] += x * AT(lanes8, w), w += 8;            \
        if (lanes > 4 && width & 4) sum4[set] += x * AT(lanes4, w), w += 4;            \
        if (lanes > 2 && width & 2) sum2[set] += x * AT(lanes2, w), w += 2;            \
        if (width & 1) sum1[set] += x * *w;                                            \
    } while (0)
    ptrdiff_t p = 0;
    for (int stretch = fetch ? 0 : 2; stretch < 3; stretch++) {
        const int32_t *soon = row.soon[stretch];
        for (; p + sets <= row.end[stretch]; p += sets) {
            ADD(p, 0);
            if (sets > 1) ADD(p + 1, 1);
            if (sets > 2) ADD(p + 2, 2);
            if (sets > 2) ADD(p + 3, 3);
        }
        for (; p < row.end[stretch]; p++)
            ADD(p, 0);
    }
#undef ADD
    if (fetch)
        for (p = row.left; p < row.next; p++)
            NAME(prefetch_tile)(W + ahead[p] * K, width);
#pragma GCC unroll 4
    for (int set = 1; set < sets; set++) {
#pragma GCC unroll 16
        for (int v = 0; v < whole; v++)
            sums[0][v] += sums[set][v];
        sum8[0] += sum8[set], sum4[0] += sum4[set], sum2[0] += sum2[set], sum1[0] += sum1[set];
    }
#pragma GCC unroll 16
    for (int v = 0; v < whole; v++, out += lanes)
        AT(gather, out) = sums[0][v];
    if (lanes > 8 && width & 8) AT(lanes8, out) = sum8[0], out += 8;
    if (lanes > 4 && width & 4) AT(lanes4, out) = sum4[0], out += 4;
    if (lanes > 2 && width & 2) AT(lanes2, out) = sum2[0], out += 2;
    if (width & 1) *out = sum1[0];
}

/* `fetch` (a constant): the pass did not score the rows before, so that it has to prefetch. */
FASTLIN_INLINE void NAME(add_tile)(
    REAL *W, ptrdiff_t K, const int32_t *indices, const VALUE *values, ptrdiff_t m,
    const REAL *change, const int32_t *ahead, ptrdiff_t m_ahead, const int fetch, const int width)
{
    enum { lanes = FASTLIN_SCATTER_BYTES / sizeof(REAL) };
    REAL fixed[FASTLIN_WIDEST]; /* a copy that no store into W can alias */
#pragma GCC unroll 32
    for (int k = 0; k < width; k++)
        fixed[k] = change[k];
    const fastlin_stretches row = fastlin_cut(indices, m, ahead, m_ahead, fetch ? FASTLIN_DISTANCE : 0);
    ptrdiff_t p = 0;
    for (int stretch = fetch ? 0 : 2; stretch < 3; stretch++)
        for (; p < row.end[stretch]; p++) {
            const REAL x = (REAL)values[p];
            const REAL *c = fixed;
            REAL *w = W + indices[p] * K;
            if (fetch)
                NAME(prefetch_tile)(W + row.soon[stretch][p] * K, width);
#pragma GCC unroll 16
            for (int v = 0; v < width / lanes; v++, w += lanes, c += lanes)
                AT(scatter, w) += x * AT(scatter, c);
            if (lanes > 4 && width & 4) AT(lanes4, w) += x * AT(lanes4, c), w += 4, c += 4;
            if (lanes > 2 && width & 2) AT(lanes2, w) += x * AT(lanes2, c), w += 2, c += 2;
            if (width & 1) *w += x * *c;
        }
    if (fetch)
        for (p = row.left; p < row.next; p++)
            NAME(prefetch_tile)(W + ahead[p] * K, width);
}

/* One column: four sums hide the latency of the addition. */
static inline REAL NAME(dot)(const REAL *w, const int32_t *indices, const VALUE *values, ptrdiff_t m,
                             const int32_t *ahead, ptrdiff_t m_ahead)
{
    const fastlin_stretches row = fastlin_cut(indices, m, ahead, m_ahead, FASTLIN_DISTANCE);
    REAL sums[4] = {0, 0, 0, 0};
    ptrdiff_t p = 0;
    for (int stretch = 0; stretch < 3; stretch++) {
        const int32_t *soon = row.soon[stretch];
        for (; p + 4 <= row.end[stretch]; p += 4)
#pragma GCC unroll 4
            for (int lane = 0; lane < 4; lane++) {
                __builtin_prefetch(w + soon[p + lane], 1, 3);
                sums[lane] += (REAL)values[p + lane] * w[indices[p + lane]];
            }
        for (; p < row.end[stretch]; p++) {
            __builtin_prefetch(w + soon[p], 1, 3);
            sums[0] += (REAL)values[p] * w[indices[p]];
        }
    }
    for (p = row.left; p < row.next; p++)
        __builtin_prefetch(w + ahead[p], 1, 3);
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

static inline void NAME(fastlin_score)(
    REAL *out, const REAL *W, ptrdiff_t K, const int32_t *indices, const VALUE *values, ptrdiff_t m,
    const int32_t *ahead, ptrdiff_t m_ahead)
{
    if (K == 1) {
        *out = NAME(dot)(W, indices, values, m, ahead, m_ahead);
        return;
    }
#define CALL(width) NAME(score_tile)(out + k, W + k, K, indices, values, m, ahead, m_ahead, 1, width)
    for (ptrdiff_t k = 0; k < K; k += FASTLIN_WIDEST)
        FASTLIN_CONSTANT_WIDTH(K - k < FASTLIN_WIDEST ? K - k : FASTLIN_WIDEST, CALL)
#undef CALL
}

/* Of weights that are near: nothing is fetched, which of up to eight labels takes a twentieth to a tenth of the time. */
static inline void NAME(fastlin_score_near)(
    REAL *out, const REAL *W, ptrdiff_t K, const int32_t *indices, const VALUE *values, ptrdiff_t m)
{
    if (K > 8) {
        NAME(fastlin_score)(out, W, K, indices, values, m, indices, 0);
        return;
    }
#define CALL(width) NAME(score_tile)(out, W, K, indices, values, m, indices, 0, 0, width)
    switch (K) { FASTLIN_EIGHT(CALL, 1) }
#undef CALL
}

static inline void NAME(fastlin_add)(
    REAL *W, ptrdiff_t K, const int32_t *indices, const VALUE *values, ptrdiff_t m, const REAL *change)
{
#define CALL(width) NAME(add_tile)(W + k, K, indices, values, m, change + k, indices, 0, 0, width)
    for (ptrdiff_t k = 0; k < K; k += FASTLIN_WIDEST)
        FASTLIN_CONSTANT_WIDTH(K - k < FASTLIN_WIDEST ? K - k : FASTLIN_WIDEST, CALL)
#undef CALL
}

static inline void NAME(fastlin_fetch_add)(
    REAL *W, ptrdiff_t K, const int32_t *indices, const VALUE *values, ptrdiff_t m, const REAL *change,
    const int32_t *ahead, ptrdiff_t m_ahead)
{
#define CALL(width) NAME(add_tile)(W + k, K, indices, values, m, change + k, ahead, m_ahead, 1, width)
    for (ptrdiff_t k = 0; k < K; k += FASTLIN_WIDEST)
        FASTLIN_CONSTANT_WIDTH(K - k < FASTLIN_WIDEST ? K - k : FASTLIN_WIDEST, CALL)
#undef CALL
}
#undef AT
#endif
