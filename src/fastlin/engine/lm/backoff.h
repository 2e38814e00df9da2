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
    const uint8_t *codes;  /* which of 256 numbers of log_prob an n-gram has; NULL: each has its own */
    const float *backoff;  /* of the highest level NULL */
    int64_t n;
} fastlin_level;

static inline float fastlin_log_prob(const fastlin_level *level, int64_t i)
{
    return level->log_prob[level->codes ? level->codes[i] : i];
}

/* The tokens whose n-gram of a level may be known, since their history is: all others have nothing to add. */
typedef struct {
    int32_t *at;      /* the token */
    int32_t *history; /* before it; the last of them is the token before */
    float *weight;    /* its back-off, where histories are places in a table */
    int64_t n;
} fastlin_questions;

#define FASTLIN_FAR 64 /* questions ahead: where children begin */
#define FASTLIN_NEAR 32 /* the children themselves */

/* Answer the questions of a level: a known n-gram's log_prob replaces what stood at its token, else the history's
   backoff is added. Known n-grams are the histories of the questions of the next level, one token on. */
static inline void fastlin_score_level(const fastlin_level *level, const float *backoff, const int32_t *tokens,
                                       const fastlin_questions *asked, fastlin_questions *next, double *log_prob,
                                       int32_t *lengths, int32_t length)
{
    const char *known = level->codes ? (const char *)level->codes : (const char *)level->log_prob;
    int64_t n = asked->n, m = 0, size = level->codes ? 1 : sizeof(float);
    for (int64_t i = 0; i < n; i++) {
        if (i + FASTLIN_FAR < n) {
            int32_t far = asked->history[i + FASTLIN_FAR], near = asked->history[i + FASTLIN_NEAR];
            __builtin_prefetch(level->starts + far);
            __builtin_prefetch(backoff + far);
            int64_t first = level->starts[near], stop = level->starts[near + 1];
            __builtin_prefetch(level->words + ((first + stop) >> 1));
            __builtin_prefetch(known + first * size);
        }
        int32_t at = asked->at[i], history = asked->history[i];
        int64_t there = -(int64_t)(tokens[at] != 0), first = level->starts[history];
        int64_t stop = first + ((level->starts[history + 1] - first) & there);
        int64_t found = level->n ? fastlin_find(level->words, first, stop, tokens[at]) : -1;
        int64_t is = -(int64_t)(found >= 0);
        double kept[2] = {log_prob[at] + (there ? (double)backoff[history] : 0.0),
                          level->n ? fastlin_log_prob(level, found & is) : 0.0};
        log_prob[at] = kept[is & 1];
        lengths[at] = is ? length : lengths[at];
        next->at[m] = at + 1;
        next->history[m] = (int32_t)found;
        m += is & 1;
    }
    next->n = m;
}
#endif
