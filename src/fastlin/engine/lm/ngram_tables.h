/* N-grams of an order by a hash of (history, word), where few words are asked for after many histories, or many after
   few. A bucket is a line of the cache and holds all that is asked of four n-grams, so a question costs one line; what
   n-grams of one more word call their history is the place here. */
#ifndef FASTLIN_NGRAM_TABLES_H
#define FASTLIN_NGRAM_TABLES_H
#include <stdint.h>
#include "backoff.h"
#include "text.h"

#define FASTLIN_SLOTS 4 /* of a bucket */
#define FASTLIN_SPILLED ((uint64_t)1 << 63) /* in one of a bucket's keys: some went on, see fastlin_goes_on */
#define FASTLIN_ASKED 128 /* n-grams whose buckets are on their way from memory, while a table is filled */
#define FASTLIN_WAITING (int64_t)16 /* questions whose buckets are */

typedef struct {
    uint64_t keys[FASTLIN_SLOTS]; /* history << 32 | word, which is never 0; 0: nothing here */
    float log_prob[FASTLIN_SLOTS];
    float backoff[FASTLIN_SLOTS];
} fastlin_bucket;

typedef struct {
    void *memory;
    fastlin_bucket *buckets; /* begin with lines of the cache */
    uint64_t n;
    uint64_t seed; /* keeps those who wrote a file from choosing what collides */
} fastlin_table;

static inline uint64_t fastlin_ngram(int32_t history, int32_t word)
{
    return (uint64_t)(uint32_t)history << 32 | (uint32_t)word;
}

static inline uint64_t fastlin_bucket_of(const fastlin_table *table, uint64_t key)
{
    return (fastlin_mix(key ^ table->seed, 0x9e3779b97f4a7c15u) >> 32) * table->n >> 32;
}

static inline uint64_t fastlin_next_bucket(const fastlin_table *table, uint64_t bucket)
{
    return bucket + 1 < table->n ? bucket + 1 : 0;
}

/* Which of a bucket's slots holds a key, bit by bit. */
static inline uint32_t fastlin_matches(const fastlin_bucket *bucket, uint64_t key)
{
#if defined(__AVX512VL__)
    __m256i keys = _mm256_maskz_and_epi64(15, _mm256_load_si256((const __m256i *)bucket->keys),
                                          _mm256_set1_epi64x((int64_t)~FASTLIN_SPILLED));
    return _mm256_cmpeq_epi64_mask(keys, _mm256_set1_epi64x((int64_t)key));
#else
    uint32_t found = 0;
    for (int i = 0; i < FASTLIN_SLOTS; i++)
        found |= (uint32_t)((bucket->keys[i] & ~FASTLIN_SPILLED) == key) << i;
    return found;
#endif
}

/* Whether a key that is not in its bucket may be in the next one. A full bucket has a mark for each quarter of the keys
   that went on, by two of their bits, so that who looks for what is nowhere seldom goes on: that line comes late. */
static inline uint32_t fastlin_goes_on(const fastlin_bucket *bucket, uint64_t key)
{
    return (uint32_t)(bucket->keys[key & (FASTLIN_SLOTS - 1)] >> 63);
}

/* The children of some histories into a table. `above` holds the places of the histories, NULL: their numbers;
   `places` will hold those of the children. */
static inline void fastlin_fill(const fastlin_table *table, const fastlin_level *level, int64_t first, int64_t stop,
                                const int32_t *above, int32_t *places)
{
    uint64_t keys[FASTLIN_ASKED], where[FASTLIN_ASKED];
    int64_t history = first, i = level->starts[first], end = level->starts[stop];
    while (i < end) {
        int64_t begin = i;
        for (int m = 0; m < FASTLIN_ASKED && i < end; m++, i++) {
            while (i >= level->starts[history + 1])
                history++;
            keys[m] = fastlin_ngram(above ? above[history] : (int32_t)history, level->words[i]);
            where[m] = fastlin_bucket_of(table, keys[m]);
            __builtin_prefetch(table->buckets + where[m], 1);
        }
        for (int64_t j = begin; j < i; j++) {
            uint64_t bucket = where[j - begin];
            uint32_t empty;
            while ((empty = fastlin_matches(table->buckets + bucket, 0)) == 0) {
                table->buckets[bucket].keys[keys[j - begin] & (FASTLIN_SLOTS - 1)] |= FASTLIN_SPILLED;
                bucket = fastlin_next_bucket(table, bucket);
            }
            int slot = __builtin_ctz(empty);
            table->buckets[bucket].keys[slot] = keys[j - begin];
            table->buckets[bucket].log_prob[slot] = fastlin_log_prob(level, j);
            table->buckets[bucket].backoff[slot] = level->backoff ? level->backoff[j] : 0;
            places[j] = (int32_t)(bucket * FASTLIN_SLOTS + (uint64_t)slot);
        }
    }
}

/* A question whose bucket is on its way from memory. */
typedef struct {
    uint64_t key;
    const fastlin_bucket *bucket;
    int32_t at;
    float weight;
} fastlin_waiting;

static inline int64_t fastlin_answer(const fastlin_table *table, const fastlin_waiting *asked, fastlin_questions *next,
                                     int64_t known, double *log_prob, int32_t *lengths, int32_t length)
{
    const fastlin_bucket *bucket = asked->bucket;
    uint32_t matches = fastlin_matches(bucket, asked->key);
    while ((matches == 0) & fastlin_goes_on(bucket, asked->key)) {
        bucket = table->buckets + fastlin_next_bucket(table, (uint64_t)(bucket - table->buckets));
        matches = fastlin_matches(bucket, asked->key);
    }
    uint32_t found = matches != 0, slot = (uint32_t)__builtin_ctz(matches | 1 << FASTLIN_SLOTS) & 3;
    double kept[2] = {log_prob[asked->at] + asked->weight, bucket->log_prob[slot]};
    log_prob[asked->at] = kept[found];
    lengths[asked->at] = found ? length : lengths[asked->at];
    next->at[known] = asked->at + 1;
    next->history[known] = (int32_t)((uint32_t)(bucket - table->buckets) * FASTLIN_SLOTS + slot);
    next->weight[known] = bucket->backoff[slot];
    return known + found;
}

/* What fastlin_score_level does, with places for histories, and their back-offs beside them. An answer follows as many
   questions later as memory takes, so that it is always asked and never waited for. */
static inline void fastlin_score_table(const fastlin_table *table, const int32_t *tokens,
                                       const fastlin_questions *asked, fastlin_questions *next, double *log_prob,
                                       int32_t *lengths, int32_t length)
{
    fastlin_waiting waiting[FASTLIN_WAITING];
    int64_t known = 0, n_asked = 0, answered = 0;
    for (int64_t i = 0; i < asked->n; i++) {
        fastlin_waiting *one = waiting + n_asked % FASTLIN_WAITING;
        int32_t token = tokens[asked->at[i]];
        one->key = fastlin_ngram(asked->history[i], token);
        one->bucket = table->buckets + fastlin_bucket_of(table, one->key);
        one->at = asked->at[i];
        one->weight = asked->weight[i];
        __builtin_prefetch(one->bucket);
        n_asked += token != 0;
        if (n_asked - answered == FASTLIN_WAITING) {
            known = fastlin_answer(table, waiting + answered % FASTLIN_WAITING, next, known, log_prob, lengths, length);
            answered++;
        }
    }
    for (; answered < n_asked; answered++)
        known = fastlin_answer(table, waiting + answered % FASTLIN_WAITING, next, known, log_prob, lengths, length);
    next->n = known;
}
#endif
