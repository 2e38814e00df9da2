/* N-grams of an order by a hash of (history, word), where few words are asked for after many histories, or many after
   few. A bucket is a line of the cache and holds all that is asked of four n-grams, so a question costs one line; what
   n-grams of one more word call their history is the place here. */
#ifndef FASTLIN_NGRAM_TABLES_H
#define FASTLIN_NGRAM_TABLES_H
#include <stdint.h>
#include "backoff.h"
#include "text.h"

#define FASTLIN_SLOTS 4 /* of a bucket */
#define FASTLIN_SPILLED ((uint64_t)1 << 63) /* in a bucket's last key: some went on to the next bucket */
#define FASTLIN_NO_KEY (~FASTLIN_SPILLED)
#define FASTLIN_ASKED 128 /* questions whose buckets are on their way from memory */

typedef struct {
    uint64_t keys[FASTLIN_SLOTS]; /* history << 32 | word, which is never 0; 0: nothing here */
    float log_prob[FASTLIN_SLOTS];
    float backoff[FASTLIN_SLOTS];
} fastlin_bucket;

typedef struct {
    void *memory;
    fastlin_bucket *buckets; /* begin with lines of the cache; one more than n, and nothing is in that one */
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
                                          _mm256_set1_epi64x((int64_t)FASTLIN_NO_KEY));
    return _mm256_cmpeq_epi64_mask(keys, _mm256_set1_epi64x((int64_t)key));
#else
    uint32_t found = 0;
    for (int i = 0; i < FASTLIN_SLOTS; i++)
        found |= (uint32_t)((bucket->keys[i] & FASTLIN_NO_KEY) == key) << i;
    return found;
#endif
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
                table->buckets[bucket].keys[FASTLIN_SLOTS - 1] |= FASTLIN_SPILLED;
                bucket = fastlin_next_bucket(table, bucket);
            }
            int slot = __builtin_ctz(empty);
            table->buckets[bucket].keys[slot] = keys[j - begin];
            table->buckets[bucket].log_prob[slot] = level->log_prob[j];
            table->buckets[bucket].backoff[slot] = level->backoff ? level->backoff[j] : 0;
            places[j] = (int32_t)(bucket * FASTLIN_SLOTS + (uint64_t)slot);
        }
    }
}

/* A number, or 0, without a branch. */
static inline float fastlin_if(uint32_t all_bits, float number)
{
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    bits &= all_bits;
    memcpy(&number, &bits, sizeof bits);
    return number;
}

/* What fastlin_score_level does, with places for nodes; `backoff` goes along with them. Both have one before the first:
   that of the token before. */
static inline void fastlin_score_table(const fastlin_table *table, const int32_t *tokens, int64_t n, int32_t *nodes,
                                       float *backoff, double *log_prob, int32_t *lengths, int32_t length)
{
    uint64_t keys[FASTLIN_ASKED];
    const fastlin_bucket *where[FASTLIN_ASKED];
    for (int64_t stop = n; stop > 0; stop -= FASTLIN_ASKED) {
        int64_t first = stop > FASTLIN_ASKED ? stop - FASTLIN_ASKED : 0;
        for (int64_t i = first; i < stop; i++) {
            int32_t history = nodes[i - 1];
            int asked = history >= 0 && tokens[i] != 0;
            uint64_t key = fastlin_ngram(history, tokens[i]), bucket = fastlin_bucket_of(table, key);
            keys[i - first] = asked ? key : FASTLIN_NO_KEY;
            where[i - first] = table->buckets + (asked ? bucket : table->n);
            __builtin_prefetch(where[i - first]);
        }
        for (int64_t i = stop - 1; i >= first; i--) {
            const fastlin_bucket *bucket = where[i - first];
            uint32_t matches = fastlin_matches(bucket, keys[i - first]);
            while (!matches && bucket->keys[FASTLIN_SLOTS - 1] & FASTLIN_SPILLED) {
                bucket = table->buckets + fastlin_next_bucket(table, (uint64_t)(bucket - table->buckets));
                matches = fastlin_matches(bucket, keys[i - first]);
            }
            uint32_t found = matches != 0, slot = (uint32_t)__builtin_ctz(matches | 1 << FASTLIN_SLOTS) & 3;
            double kept[2] = {log_prob[i] + fastlin_if((uint32_t)-(tokens[i] != 0), backoff[i - 1]),
                              bucket->log_prob[slot]};
            log_prob[i] = kept[found];
            lengths[i] = found ? length : lengths[i];
            backoff[i] = fastlin_if(-found, bucket->backoff[slot]);
            nodes[i] = (int32_t)((uint32_t)(bucket - table->buckets) * FASTLIN_SLOTS + slot) | (int32_t)(found - 1);
        }
    }
}
#endif
