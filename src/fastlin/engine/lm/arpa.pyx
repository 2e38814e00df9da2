"""ARPA's format: lines of "log₁₀ p, words, log₁₀ back-off weight" to arrays, these to tries, and back.

A number is read as w/10^k with at most 18 digits of w, to the last bit but one of a double, and goes into a float. It
is written with seven digits behind the point, as SRILM does: a relative error of p of 1e-7.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport free, qsort
from libc.string cimport memcpy

from fastlin.engine.core.allocation cimport allocate_zeros, checked_product
from fastlin.engine.core.csr cimport prefetch

cdef extern from "backoff.h" nogil:
    int64_t find "fastlin_find"(const int32_t*, int64_t first, int64_t stop, int32_t) noexcept

cdef enum:
    DIGITS = 18             # of a number that count
    DEEPEST = 400           # exponent
    AHEAD = 16              # n-grams whose places are fetched before they are put there
    SHORT = 16              # children that are sorted by insertion

READ, NO_NUMBER, FEW_WORDS, MORE, ABOVE_ONE, UNBOUNDED, LONG_WORD = range(7)    # how a line is

cdef double LN_10 = 2.302585092994046
cdef double LARGEST = 1e9           # log₁₀: what is below is written as −99
cdef double ROUNDING = 1e-6         # a logarithm above 0 by this much is one of p = 1
cdef float NOTHING = -99 * LN_10    # p = 0, as SRILM has it
cdef float HIGHEST = 3.4028234e38   # float
cdef int64_t LONGEST = 2147483647   # bytes of a word

cdef struct Entry:                  # of a trie: four numbers of 32 bits
    int32_t word
    int32_t suffix
    float log_prob
    float backoff


cdef inline bint blank(uint8_t c) noexcept nogil:
    return c == 32 or <uint8_t>(c - 9) < 5


cdef inline const uint8_t* skip(const uint8_t* p) noexcept nogil:
    while p[0] != c"\n" and blank(p[0]):
        p += 1
    return p


cdef const uint8_t* decimal(const uint8_t* p, double* x) noexcept nogil:
    """The number at p; NULL: there is none. Something that is no digit ends the text."""
    cdef uint64_t w = 0
    cdef int digits = 0, exponent = 0, e = 0, _k
    cdef bint negative = p[0] == c"-", down, point = False, any_digit = False
    cdef double value
    if p[0] == c"-" or p[0] == c"+":
        p += 1
    if (p[0] | 32) == c"i" and (p[1] | 32) == c"n" and (p[2] | 32) == c"f":
        x[0] = -INFINITY if negative else INFINITY
        return p + 3
    while True:
        if <uint8_t>(p[0] - 48) < 10:
            any_digit = True
            if digits < DIGITS:
                w = 10 * w + (p[0] - 48)
                digits += w > 0
                exponent -= point
            else:
                exponent += not point
        elif p[0] == c"." and not point:
            point = True
        else:
            break
        p += 1
    if not any_digit:
        return NULL
    if (p[0] | 32) == c"e":
        p += 1
        down = p[0] == c"-"
        if p[0] == c"-" or p[0] == c"+":
            p += 1
        if <uint8_t>(p[0] - 48) >= 10:
            return NULL
        while <uint8_t>(p[0] - 48) < 10:
            if e < DEEPEST:
                e = 10 * e + (p[0] - 48)
            p += 1
        exponent += -e if down else e
    value = <double>w
    if exponent < -DEEPEST:
        exponent = -DEEPEST
    if exponent > DEEPEST:
        exponent = DEEPEST
    if -23 < exponent < 23:
        if exponent < 0:
            value /= power(-exponent)
        else:
            value *= power(exponent)
    else:
        for _k in range(exponent if exponent > 0 else -exponent):
            value = value * 10 if exponent > 0 else value / 10
    x[0] = -value if negative else value
    return p


cdef double[23] POWERS
for _power in range(23):
    POWERS[_power] = 10.0**_power


cdef inline double power(int k) noexcept nogil:
    return POWERS[k]


def parse(const uint8_t[::1] text, int64_t start, int64_t stop, int n, int64_t[::1] begins, int32_t[::1] lengths,
          float[::1] log_prob, float[::1] backoff):
    """Lines of n-grams up to one that begins with a backslash: (n-grams, bytes, lines, how the last line is).

    The text ends in a line end, and 64 bytes follow. Natural logarithms come out, finite ones; no back-off weight is 0.
    """
    cdef const uint8_t* p = &text[start]
    cdef const uint8_t* end = &text[0] + stop
    cdef const uint8_t* word
    cdef const uint8_t* line
    cdef int64_t m = 0, lines = 0, room = min(log_prob.shape[0], begins.shape[0] // max(n, 1))
    cdef int k, state = 0
    cdef double x
    if start < 0 or start >= stop or text.shape[0] < stop + 64 or text[stop - 1] != 10:
        raise ValueError("a text without its end")
    if n < 1 or lengths.shape[0] < room * n or backoff.shape[0] < room:
        raise ValueError("no room for words")
    with nogil:
        while p < end and m < room:
            line = p
            p = skip(p)
            if p[0] == c"\n":
                p += 1
                lines += 1
                continue
            if p[0] == c"\\":
                p = line
                break
            p = decimal(p, &x)
            if p == NULL or not blank(p[0]):
                state = 1
                break
            x *= LN_10
            if x > ROUNDING:
                state = 4
                break
            log_prob[m] = NOTHING if x < -HIGHEST else <float>x if x < 0 else 0
            for k in range(n):
                p = skip(p)
                word = p
                while not blank(p[0]):
                    p += 1
                if p == word:
                    state = 2
                    break
                if p - word > LONGEST:
                    state = 6
                    break
                begins[m * n + k] = word - &text[0]
                lengths[m * n + k] = <int32_t>(p - word)
            if state:
                break
            p = skip(p)
            x = 0
            if p[0] != c"\n":
                p = decimal(p, &x)
                if p == NULL or not blank(p[0]):
                    state = 1
                    break
                p = skip(p)
                if p[0] != c"\n":
                    state = 3
                    break
            x *= LN_10
            if x > HIGHEST:
                state = 5
                break
            backoff[m] = NOTHING if x < NOTHING else <float>x
            p += 1
            lines += 1
            m += 1
    return m, (line if state else p) - &text[start], lines, state


# --- tries -----------------------------------------------------------------------------------------------------------


def find_histories(list starts, list words, int64_t n_words, const int32_t[:, ::1] rows, int32_t[::1] histories):
    """The number of each row's words but the last in a trie of all shorter n-grams, −1: none; how many have none.

    What the words share with those of the row before is not looked up again.
    """
    cdef int n = rows.shape[1], k, shared
    cdef Py_ssize_t i
    cdef int64_t lost = 0
    cdef bint inside = True
    cdef const int32_t** children = <const int32_t**>allocate_zeros(checked_product(2, n), sizeof(int32_t*))
    cdef const int32_t** word = children + n
    cdef int64_t* nodes = <int64_t*>allocate_zeros(n, sizeof(int64_t))
    cdef const int32_t[::1] view
    try:
        if children == NULL or nodes == NULL:
            raise MemoryError
        if n < 2 or len(starts) != n - 1 or len(words) != n - 1 or histories.shape[0] != rows.shape[0]:
            raise ValueError("n-grams of an order that the trie does not have")
        for k in range(1, n - 1):
            view = starts[k]
            children[k] = &view[0]
            view = words[k]
            word[k] = &view[0] if view.shape[0] else NULL
        with nogil:
            for i in range(rows.shape[0]):
                shared = 0
                while i and shared < n - 1 and rows[i, shared] == rows[i - 1, shared]:
                    shared += 1
                for k in range(shared, n - 1):
                    if k == 0:
                        nodes[0] = rows[i, 0]
                        inside = inside and 0 <= nodes[0] < n_words
                        if not inside:
                            break
                    elif nodes[k - 1] < 0:
                        nodes[k] = -1
                    else:
                        nodes[k] = find(word[k], children[k][nodes[k - 1]], children[k][nodes[k - 1] + 1], rows[i, k])
                if not inside:
                    break
                histories[i] = <int32_t>nodes[n - 2]
                lost += nodes[n - 2] < 0
    finally:
        free(children)
        free(nodes)
    if not inside:
        raise ValueError("a word that the trie does not have")
    return lost


def find_suffixes(const int32_t[::1] suffix, const int32_t[::1] starts, const int32_t[::1] words,
                  const int32_t[::1] histories, const int32_t[:, ::1] rows, int32_t[::1] suffixes):
    """The number of each row without its first word: what follows its history's suffix; −1: it is not there.

    `suffix` are those of the histories, `starts` and `words` the n-grams of as many words as these.
    """
    cdef Py_ssize_t i, m = rows.shape[0], last = rows.shape[1] - 1
    cdef int64_t history, found
    if histories.shape[0] != m or suffixes.shape[0] != m or last < 2:
        raise ValueError("histories of other n-grams")
    with nogil:
        for i in range(m):
            if i + AHEAD < m:
                prefetch(&suffix[histories[i + AHEAD]])
            if i + AHEAD // 2 < m:
                history = suffix[histories[i + AHEAD // 2]]
                prefetch(&starts[history if history > 0 else 0])
            history = suffix[histories[i]]
            found = -1
            if history >= 0:
                found = find(&words[0], starts[history], starts[history + 1], rows[i, last])
            suffixes[i] = <int32_t>found


def count_children(const int32_t[::1] histories, int32_t[::1] starts):
    """Add the n-grams of each history, which is not −1, to what stands behind its place."""
    cdef Py_ssize_t i
    with nogil:
        for i in range(histories.shape[0]):
            starts[histories[i] + 1] += 1


def put_children(const int32_t[::1] histories, const int32_t[:, ::1] rows, const int32_t[::1] suffixes,
                 const float[::1] log_prob, const float[::1] backoff, int32_t[::1] places, int32_t[:, ::1] entries):
    """Put n-grams where the next child of each history has its place."""
    cdef Entry* to = <Entry*>&entries[0, 0] if entries.shape[0] else NULL
    cdef Entry* entry
    cdef Py_ssize_t i, m = rows.shape[0], last = rows.shape[1] - 1
    if not m == histories.shape[0] == suffixes.shape[0] == log_prob.shape[0] == backoff.shape[0]:
        raise ValueError("histories of other n-grams")
    if entries.shape[1] * sizeof(int32_t) != sizeof(Entry):
        raise ValueError("an entry is four numbers")
    with nogil:
        for i in range(m):
            if i + 2 * AHEAD < m:
                prefetch(&places[histories[i + 2 * AHEAD]])
            if i + AHEAD < m:
                prefetch(to + places[histories[i + AHEAD]])
            entry = to + places[histories[i]]
            places[histories[i]] += 1
            entry.word = rows[i, last]
            entry.suffix = suffixes[i]
            entry.log_prob = log_prob[i]
            entry.backoff = backoff[i]


cdef int by_word(const void* a, const void* b) noexcept nogil:
    cdef int32_t x = (<const Entry*>a).word, y = (<const Entry*>b).word
    return (x > y) - (x < y)


def sort_children(const int32_t[::1] starts, int32_t[:, ::1] entries, int64_t first, int64_t stop):
    """Sort the children of some histories by their words. False: two are one word."""
    cdef Entry* of = <Entry*>&entries[0, 0] if entries.shape[0] else NULL
    cdef Entry entry
    cdef int64_t h, i, k
    cdef bint distinct = True
    if not 0 <= first <= stop < starts.shape[0]:
        raise ValueError("histories that are not there")
    with nogil:
        for h in range(first, stop):
            i = starts[h] + 1
            while i < starts[h + 1] and of[i - 1].word < of[i].word:
                i += 1
            if i >= starts[h + 1]:
                continue
            if starts[h + 1] - starts[h] > SHORT:
                qsort(of + starts[h], starts[h + 1] - starts[h], sizeof(Entry), by_word)
            else:
                for i in range(starts[h] + 1, starts[h + 1]):
                    entry = of[i]
                    k = i
                    while k > starts[h] and of[k - 1].word > entry.word:
                        of[k] = of[k - 1]
                        k -= 1
                    of[k] = entry
            for i in range(starts[h] + 1, starts[h + 1]):
                distinct = distinct and of[i - 1].word < of[i].word
    return distinct


# --- writing ---------------------------------------------------------------------------------------------------------


cdef inline uint8_t* put_number(uint8_t* p, double x) noexcept nogil:
    """log₁₀ with seven digits behind the point, zeros at the end left out."""
    cdef uint64_t u, whole, rest
    cdef uint8_t[24] digits
    cdef int k = 0, width
    if not (-LARGEST < x < LARGEST):
        memcpy(p, b"-99", 3)
        return p + 3
    u = <uint64_t>((-x if x < 0 else x) * 1e7 + 0.5)
    if x < 0 and u:
        p[0] = c"-"
        p += 1
    whole = u // 10000000
    rest = u % 10000000
    while True:
        digits[k] = 48 + <uint8_t>(whole % 10)
        k += 1
        whole //= 10
        if whole == 0:
            break
    while k:
        k -= 1
        p[0] = digits[k]
        p += 1
    if rest:
        p[0] = c"."
        width = 7
        while rest % 10 == 0:
            rest //= 10
            width -= 1
        for k in range(width, 0, -1):
            p[k] = 48 + <uint8_t>(rest % 10)
            rest //= 10
        p += width + 1
    return p


def write(list starts, list words, const float[::1] log_prob, const float[::1] backoff, const uint8_t[::1] arena,
          const int64_t[::1] offsets, int64_t first, int64_t[::1] path, uint8_t[::1] out, int64_t longest):
    """Lines of an order from n-gram `first` on, while there is room: (the next n-gram, bytes).

    `path` [order] is the n-gram that was written last, level by level, at first zeros; `longest` bounds the bytes of a
    line. An n-gram without a back-off weight, or with one of 1, ends behind its words.
    """
    cdef int n = len(words), k
    cdef int64_t i = first, stop = log_prob.shape[0], history = -1
    cdef uint8_t* p = &out[0]
    cdef uint8_t* end = p + out.shape[0] - longest
    cdef uint8_t* before = p
    cdef int64_t size = 0
    cdef const int32_t** children = <const int32_t**>allocate_zeros(checked_product(2, n), sizeof(int32_t*))
    cdef const int32_t** word = children + n
    cdef const int32_t[::1] view
    if children == NULL:
        raise MemoryError
    try:
        for k in range(1, n):
            view = starts[k]
            children[k] = &view[0]
            view = words[k]
            word[k] = &view[0] if view.shape[0] else NULL
        with nogil:
            while i < stop and p < end:
                path[n - 1] = i
                for k in range(n - 2, -1, -1):
                    while children[k + 1][path[k] + 1] <= path[k + 1]:
                        path[k] += 1
                p = put_number(p, log_prob[i] / LN_10)
                p[0] = c"\t"
                p += 1
                if n > 1 and path[n - 2] == history:
                    memcpy(p, before, size)
                    before = p
                    p += size
                else:
                    before = p
                    for k in range(n - 1):
                        p = put_word(p, arena, offsets, path[0] if k == 0 else word[k][path[k]])
                        p[0] = c" "
                        p += 1
                    size = p - before
                    history = path[n - 2] if n > 1 else -1
                p = put_word(p, arena, offsets, i if n == 1 else word[n - 1][i])
                if backoff.shape[0] and backoff[i] != 0:
                    p[0] = c"\t"
                    p = put_number(p + 1, backoff[i] / LN_10)
                p[0] = c"\n"
                p += 1
                i += 1
    finally:
        free(children)
    return i, p - &out[0]


cdef inline uint8_t* put_word(uint8_t* p, const uint8_t[::1] arena, const int64_t[::1] offsets,
                              int64_t word) noexcept nogil:
    cdef int64_t size = offsets[word + 1] - offsets[word]
    memcpy(p, &arena[offsets[word]], size)
    return p + size
