/* The innermost loop of a back-off model's queries, in C: whether a word is known after a history is as hard to foresee
   as the toss of a coin, and a branch on it costs as much as the search, so there is none. */
#ifndef FASTLIN_BACKOFF_H
#define FASTLIN_BACKOFF_H
#include <stdint.h>
#include <string.h>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
#define FASTLIN_TOGETHER 16
#else
#define FASTLIN_TOGETHER 8
#endif

/* Where a number stands among some that rise, −1: nowhere. Halves, until a vector holds what is left; nothing outside of
   [first, stop) is read. */
static inline int64_t fastlin_find(const int32_t *numbers, int64_t first, int64_t stop, int32_t number)
{
    int64_t n = stop - first;
    while (n > FASTLIN_TOGETHER) {
        int64_t half = n >> 1;
        first += numbers[first + half] <= number ? half : 0;
        n -= half;
    }
#if defined(__AVX512F__)
    __mmask16 there = (__mmask16)((1u << n) - 1);
    __m512i some = _mm512_maskz_loadu_epi32(there, numbers + first);
    uint32_t equal = _mm512_mask_cmpeq_epi32_mask(there, some, _mm512_set1_epi32(number));
    return equal ? first + __builtin_ctz(equal) : -1;
#elif defined(__AVX2__)
    __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    __m256i there = _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), lanes);
    __m256i equal = _mm256_cmpeq_epi32(_mm256_maskload_epi32(numbers + first, there), _mm256_set1_epi32(number));
    uint32_t mask = (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_and_si256(equal, there)));
    return mask ? first + __builtin_ctz(mask) : -1;
#else
    for (int64_t i = first; i < first + n; i++)
        if (numbers[i] == number)
            return i;
    return -1;
#endif
}

typedef struct {
    const int32_t *starts; /* of the children of each n-gram of the level above; of unigrams NULL */
    const int32_t *words;
    const float *log_prob;
    const float *backoff; /* of the highest level NULL */
    int64_t n;
} fastlin_level;

#define FASTLIN_FAR 64 /* tokens ahead: where children begin */
#define FASTLIN_NEAR 32 /* the children themselves */

/* From the nodes above to those of a level, last token first: each looks at the node one before it, and there is
   one before the first. Found, an n-gram's log_prob replaces what stood there, else the history's backoff is added. */
static inline void fastlin_score_level(const fastlin_level *level, const float *backoff, const int32_t *tokens,
                                       int64_t n, int32_t *nodes, double *log_prob, int32_t *lengths, int32_t length)
{
    const float *known = level->log_prob;
    if (level->n == 0) { /* nor need there be histories */
        for (int64_t i = n - 1; i >= 0; i--) {
            int32_t history = nodes[i - 1];
            log_prob[i] += history >= 0 && tokens[i] != 0 ? (double)backoff[history] : 0.0;
            nodes[i] = -1;
        }
        return;
    }
    for (int64_t i = n - 1; i >= 0; i--) {
        if (i > FASTLIN_FAR) {
            int32_t far = nodes[i - FASTLIN_FAR - 1], near = nodes[i - FASTLIN_NEAR - 1];
            far = far < 0 ? 0 : far;
            near = near < 0 ? 0 : near;
            __builtin_prefetch(level->starts + far);
            __builtin_prefetch(backoff + far);
            int64_t first = level->starts[near], stop = level->starts[near + 1];
            __builtin_prefetch(level->words + ((first + stop) >> 1));
            __builtin_prefetch(known + first);
        }
        int32_t history = nodes[i - 1];
        int64_t there = -(int64_t)(history >= 0 && tokens[i] != 0);
        int64_t h = history & there, first = level->starts[h];
        int64_t found = fastlin_find(level->words, first, first + ((level->starts[h + 1] - first) & there), tokens[i]);
        int64_t is = -(int64_t)(found >= 0);
        double kept[2] = {log_prob[i] + (there ? (double)backoff[h] : 0.0), known[found & is]};
        log_prob[i] = kept[is & 1];
        lengths[i] = is ? length : lengths[i];
        nodes[i] = (int32_t)found;
    }
}
#endif
