/* Bytes of text, many at a time: which of 64 ASCII characters are members of tokens, keys and hashes of strings. */
#ifndef FASTLIN_TEXT_H
#define FASTLIN_TEXT_H
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#if defined(__SSE2__)
#include <immintrin.h>
#endif
#if defined(__linux__)
#include <sys/mman.h>
#endif

#define FASTLIN_BLOCK 64 /* characters that are classified together */
#define FASTLIN_PAGE ((size_t)2 << 20) /* a large one */
#define FASTLIN_SMALL_PAGE ((size_t)64 << 10) /* of any system */
#define FASTLIN_LARGE (2 * FASTLIN_PAGE)

/* As wide as the registers: of wider vectors gcc makes comparisons byte by byte, several times as slow. */
#if defined(__AVX512BW__)
#define FASTLIN_LANES 64
#elif defined(__AVX2__)
#define FASTLIN_LANES 32
#else
#define FASTLIN_LANES 16
#endif

typedef uint8_t fastlin_bytes __attribute__((vector_size(FASTLIN_LANES), aligned(1)));
typedef int8_t fastlin_truths __attribute__((vector_size(FASTLIN_LANES), aligned(1)));

/* Bit i: whether the i-th byte is true. There is no portable word for it. */
static inline uint64_t fastlin_mask(fastlin_truths truths)
{
#if defined(__AVX512BW__)
    return _mm512_movepi8_mask((__m512i)truths);
#elif defined(__AVX2__)
    return (uint32_t)_mm256_movemask_epi8((__m256i)truths);
#elif defined(__SSE2__)
    return (uint16_t)_mm_movemask_epi8((__m128i)truths);
#else
    uint64_t mask = 0;
    for (int i = 0; i < FASTLIN_LANES; i++)
        mask |= (uint64_t)(truths[i] & 1) << i;
    return mask;
#endif
}

/* As many ASCII characters as a vector has bytes: see `fastlin_members`. */
static inline uint64_t fastlin_members_of(const uint8_t *text, uint8_t *lower, int fold, int between_blanks)
{
    fastlin_bytes c, folded;
    fastlin_truths members;
    memcpy(&c, text, FASTLIN_LANES);
    folded = c | 32;
    fastlin_truths letters = (fastlin_truths)((fastlin_bytes)(folded - 'a') < 26);
    if (between_blanks) {
        members = ~((fastlin_truths)((fastlin_bytes)(c - 9) < 5) | (fastlin_truths)((fastlin_bytes)(c - 28) < 5));
        c = (c & (fastlin_bytes)members) | (~(fastlin_bytes)members & ' ');
    } else
        members = letters | (fastlin_truths)((fastlin_bytes)(c - '0') < 10) | (fastlin_truths)(c == '_');
    if (fold)
        c |= (fastlin_bytes)letters & 32;
    memcpy(lower, &c, FASTLIN_LANES);
    return fastlin_mask(members);
}

/* 64 ASCII characters, in lower case if `fold`: into `lower`. Returns which of them are letters, digits or _; or, of
   tokens that stand between blanks, which are no blanks; these all become spaces. */
static inline uint64_t fastlin_members(const uint8_t *text, uint8_t *lower, int fold, int between_blanks)
{
    uint64_t mask = 0;
    for (int i = 0; i < FASTLIN_BLOCK; i += FASTLIN_LANES)
        mask |= fastlin_members_of(text + i, lower + i, fold, between_blanks) << i;
    return mask;
}

/* Of the first n ≤ 64 bytes, of which 65 can be read: which are white space of ASCII (those behind them are, too), and
   which end a line: \n, and \r without a \n. */
static inline uint64_t fastlin_blanks(const uint8_t *text, int64_t n, int goes_on, uint64_t *line_ends)
{
    uint64_t inside = n < FASTLIN_BLOCK ? ~(~(uint64_t)0 << n) : ~(uint64_t)0;
    uint64_t blanks = 0, newlines = 0, returns = 0;
    for (int i = 0; i < FASTLIN_BLOCK; i += FASTLIN_LANES) {
        fastlin_bytes c;
        memcpy(&c, text + i, FASTLIN_LANES);
        blanks |= fastlin_mask((fastlin_truths)(c == ' ') | (fastlin_truths)((fastlin_bytes)(c - 9) < 5)) << i;
        newlines |= fastlin_mask((fastlin_truths)(c == '\n')) << i;
        returns |= fastlin_mask((fastlin_truths)(c == '\r')) << i;
    }
    newlines &= inside;
    *line_ends = newlines | (returns & inside & ~(newlines >> 1));
    if (goes_on && text[FASTLIN_BLOCK] == '\n')
        *line_ends &= ~((returns & ~newlines) >> 63 << 63);
    return blanks | ~inside;
}

/* Which of 64 characters are no digits. */
static inline uint64_t fastlin_no_digits(const uint8_t *text)
{
    uint64_t mask = 0;
    for (int i = 0; i < FASTLIN_BLOCK; i += FASTLIN_LANES) {
        fastlin_bytes c;
        memcpy(&c, text + i, FASTLIN_LANES);
        mask |= fastlin_mask((fastlin_truths)((fastlin_bytes)(c - '0') > 9)) << i;
    }
    return mask;
}

static inline uint64_t fastlin_eight(const char *text)
{
    uint64_t word;
    memcpy(&word, text, 8);
    return word;
}

static inline uint64_t fastlin_mix(uint64_t a, uint64_t b)
{
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* A string of up to eight bytes is its own key (eight bytes can be read); of longer ones a hash, a multiplication for
   each eight bytes. `seed` keeps those who choose the text from choosing what collides. */
static inline uint64_t fastlin_key(const char *text, int64_t length, uint64_t seed)
{
    uint64_t hash = seed ^ (uint64_t)length;
    int64_t i;
    if (length < 8)
        return fastlin_eight(text) & ~(~(uint64_t)0 << 8 * length);
    if (length == 8)
        return fastlin_eight(text);
    for (i = 0; i + 8 < length; i += 8)
        hash = fastlin_mix(hash ^ fastlin_eight(text + i), 0x9e3779b97f4a7c15u);
    return fastlin_mix(hash ^ fastlin_eight(text + length - 8), 0xd6e8feb86659fd93u);
}

/* Zeros; large ones on large pages, where the system has them: a lookup in a table of 64 MB misses the TLB else. */
static inline void *fastlin_zeros(size_t size)
{
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    if (size >= FASTLIN_LARGE) {
        void *memory = NULL;
        if (posix_memalign(&memory, FASTLIN_PAGE, size))
            return NULL;
        madvise(memory, size, MADV_HUGEPAGE);
        memset(memory, 0, size);
        return memory;
    }
#endif
    return calloc(size ? size : 1, 1);
}

/* Memory for what grows, `room` bytes of it: malloc's while it is small, then pages of its own, large ones, eight times
   as many as are wanted: those that nothing is written to cost nothing, and are given back in the end. */
static inline void fastlin_freed(void *memory, size_t room)
{
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    if (room >= FASTLIN_LARGE) {
        munmap(memory, room);
        return;
    }
#endif
    free(memory);
}

#if defined(__linux__) && defined(MADV_HUGEPAGE)
static inline char *fastlin_pages(size_t room)
{
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    char *memory = mmap(NULL, room + FASTLIN_PAGE, PROT_READ | PROT_WRITE, flags, -1, 0);
    size_t before;
    if (memory == MAP_FAILED)
        return NULL;
    before = -(uintptr_t)memory & (FASTLIN_PAGE - 1);
    if (before)
        munmap(memory, before);
    munmap(memory + before + room, FASTLIN_PAGE - before);
    madvise(memory + before, room, MADV_HUGEPAGE);
    return memory + before;
}
#endif

/* At least `wanted` bytes that begin with the `used` ones; NULL, and the old memory stays, if there are none. */
static inline void *fastlin_grown(void *memory, size_t used, size_t wanted, size_t *room)
{
    void *larger;
    if (wanted > SIZE_MAX / 16) /* its multiples would wrap */
        return NULL;
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    if (2 * wanted >= FASTLIN_LARGE) {
        size_t pages = (8 * wanted + FASTLIN_PAGE - 1) & ~(FASTLIN_PAGE - 1);
        if (!(larger = fastlin_pages(pages))) {
            pages = (wanted < FASTLIN_LARGE ? FASTLIN_LARGE : wanted + FASTLIN_PAGE - 1) & ~(FASTLIN_PAGE - 1);
            if (!(larger = fastlin_pages(pages)))
                return NULL;
        }
        if (used)
            memcpy(larger, memory, used);
        fastlin_freed(memory, *room);
        *room = pages;
        return larger;
    }
#endif
    larger = realloc(memory, 2 * wanted);
    if (larger)
        *room = 2 * wanted;
    return larger;
}

/* What will never be larger than `size` gives the rest back. */
static inline void fastlin_fitted(void *memory, size_t size, size_t *room)
{
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    size_t kept = (size + FASTLIN_SMALL_PAGE - 1) & ~(FASTLIN_SMALL_PAGE - 1);
    kept = kept < FASTLIN_LARGE ? FASTLIN_LARGE : kept; /* or it would be taken for malloc's */
    if (*room > kept) {
        munmap((char *)memory + kept, *room - kept);
        *room = kept;
    }
#else
    (void)memory, (void)size, (void)room;
#endif
}
#endif
