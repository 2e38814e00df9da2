/* Bytes of files, a vector at a time: where a field, a line or a string of JSON ends. */
#ifndef FASTLIN_SCAN_H
#define FASTLIN_SCAN_H
#include "text.h"

#define FASTLIN_FIRST_IN(found)                                                                                      \
    while (end - p >= FASTLIN_LANES) {                                                                                \
        fastlin_bytes c;                                                                                              \
        memcpy(&c, p, FASTLIN_LANES);                                                                                 \
        uint64_t mask = fastlin_mask((fastlin_truths)(found));                                                        \
        if (mask)                                                                                                     \
            return p + __builtin_ctzll(mask);                                                                         \
        p += FASTLIN_LANES;                                                                                           \
    }                                                                                                                 \
    for (; p < end; p++) {                                                                                            \
        uint8_t c = *p;                                                                                               \
        if (found)                                                                                                    \
            return p;                                                                                                 \
    }                                                                                                                 \
    return end;

/* The first \n, \r, a or b; the end if there is none. */
static inline const uint8_t *fastlin_end_of_field(const uint8_t *p, const uint8_t *end, uint8_t a, uint8_t b)
{
    FASTLIN_FIRST_IN((c == '\n') | (c == '\r') | (c == a) | (c == b))
}

/* The first byte that does not stand for itself in a string of JSON: a quote, a backslash, a control character. */
static inline const uint8_t *fastlin_end_of_plain(const uint8_t *p, const uint8_t *end)
{
    FASTLIN_FIRST_IN((c == '"') | (c == '\\') | (c < 32))
}

/* The first byte that is not of ASCII. */
static inline const uint8_t *fastlin_end_of_ascii(const uint8_t *p, const uint8_t *end)
{
    FASTLIN_FIRST_IN(c > 127)
}

#undef FASTLIN_FIRST_IN
#endif
