/* The order of a few different numbers without a branch: each goes to the place that says how many are smaller. */
#ifndef FASTLIN_RANKS_H
#define FASTLIN_RANKS_H
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* As wide as the registers: wider vectors are lowered through memory. */
#if defined(__AVX512F__)
#define FASTLIN_RANKED 16
#elif defined(__AVX2__)
#define FASTLIN_RANKED 8
#else
#define FASTLIN_RANKED 4
#endif

typedef int32_t fastlin_ranks __attribute__((vector_size(4 * FASTLIN_RANKED)));

/* `sorted` gets the n numbers of `row` in order; behind these, as many of `row` as a vector has are overwritten. */
static inline void fastlin_sort_different(int32_t *row, ptrdiff_t n, int32_t *sorted)
{
    int32_t places[FASTLIN_RANKED];
    for (ptrdiff_t i = 0; i < FASTLIN_RANKED; i++)
        row[n + i] = INT_MAX;
    for (ptrdiff_t i = 0; i < n; i += FASTLIN_RANKED) {
        fastlin_ranks these, ranks = {0};
        memcpy(&these, row + i, sizeof these);
        for (ptrdiff_t j = 0; j < n; j++)
            ranks -= these > row[j]; /* true is −1 */
        memcpy(places, &ranks, sizeof places);
        for (ptrdiff_t k = 0; k < FASTLIN_RANKED && i + k < n; k++)
            sorted[places[k]] = row[i + k];
    }
}
#endif
