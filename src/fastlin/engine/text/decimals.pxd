"""Decimal numbers to doubles: the bits of Python's float(), at the speed of a few multiplications.

A number is ±w·10^q with an integer w. Where w < 2⁶⁴ and |q| ≤ `farthest`, both factors are known to 128 bits: w' is w
with its highest bit moved to the top, and T the first 128 bits of 10^q, cut off. The product's first 53 bits are the
double, rounded by the bits that follow. That the product is a little too small matters only if these are
just below or at one half: then the lower half of T is added, and if it is still open (a tie, as a rule), or if the
number has more digits or a larger exponent, Python itself is asked, which costs a microsecond and the GIL.

The text must end in a line end: a loop that stops at what is no digit stops there.
"""

from cpython.object cimport PyObject
from libc.math cimport NAN
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcpy

cdef extern from "Python.h":
    double PyOS_string_to_double(const char*, char** end, PyObject* overflow) except? -1

cdef extern from "text.h":
    pass

cdef extern from * nogil:
    """
    static inline uint64_t fastlin_eight_digits(uint64_t x) {
        x = (x * 10 + (x >> 8)) & 0x00FF00FF00FF00FFULL;
        x = (x * 100 + (x >> 16)) & 0x0000FFFF0000FFFFULL;
        return (x * 10000 + (x >> 32)) & 0xFFFFFFFFULL;
    }
    static inline uint64_t fastlin_sixteen_digits(const uint8_t* text) {
        uint64_t x[2];
    #if defined(__SSE4_1__)
        __m128i n = _mm_sub_epi8(_mm_loadu_si128((const __m128i*)text), _mm_set1_epi8('0'));
        n = _mm_madd_epi16(_mm_maddubs_epi16(n, _mm_set1_epi16(1 << 8 | 10)), _mm_set1_epi32(1 << 16 | 100));
        n = _mm_madd_epi16(_mm_packus_epi32(n, n), _mm_set1_epi32(1 << 16 | 10000));
        x[0] = (uint64_t)_mm_cvtsi128_si64(n);
        return (x[0] & 0xFFFFFFFFULL) * 100000000ULL + (x[0] >> 32);
    #else
        memcpy(x, text, 16);
        return fastlin_eight_digits(x[0] ^ 0x3030303030303030ULL) * 100000000ULL
            + fastlin_eight_digits(x[1] ^ 0x3030303030303030ULL);
    #endif
    }
    static const uint64_t fastlin_tens[8] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000};
    static inline uint64_t fastlin_product(uint64_t a, uint64_t b, uint64_t* low) {
        unsigned __int128 product = (unsigned __int128)a * b;
        *low = (uint64_t)product;
        return (uint64_t)(product >> 64);
    }
    static inline double fastlin_of_bits(uint64_t bits) { double x; memcpy(&x, &bits, 8); return x; }
    """
    uint64_t no_digits "fastlin_no_digits"(const uint8_t*) noexcept     # bit i: byte i of 64 is no digit
    # the number that eight digits less "0" are, the first in the lowest byte: by pairs, fours, eights; and sixteen
    uint64_t eight_digits "fastlin_eight_digits"(uint64_t) noexcept
    uint64_t sixteen_digits "fastlin_sixteen_digits"(const uint8_t*) noexcept
    const uint64_t* tens "fastlin_tens"
    uint64_t product "fastlin_product"(uint64_t, uint64_t, uint64_t* low) noexcept
    double of_bits "fastlin_of_bits"(uint64_t) noexcept
    int leading_zeros "__builtin_clzll"(uint64_t) noexcept
    int trailing_zeros "__builtin_ctzll"(uint64_t) noexcept

cdef enum:
    farthest = 280          # every w·10^q with 1 ≤ w < 2⁶⁴ is a normal double


cdef inline uint64_t next_eight(const uint8_t* p, const uint8_t* end) noexcept nogil:
    """Eight bytes, those behind the end 0."""
    cdef uint64_t x = 0
    if end - p >= 8:
        memcpy(&x, p, 8)
    else:
        memcpy(&x, p, end - p)
    return x


cdef inline uint64_t known_digits(const uint8_t* p, Py_ssize_t n, uint64_t w) noexcept nogil:
    """10ⁿw + the number that the n digits from p on are; eight bytes from the last eight on are read."""
    cdef uint64_t x
    if n >= 16:
        w = w * 10000000000000000ULL + sixteen_digits(p)
        p += 16
        n -= 16
    while n >= 8:
        memcpy(&x, p, 8)
        w = w * 100000000ULL + eight_digits(x ^ 0x3030303030303030ULL)
        p += 8
        n -= 8
    memcpy(&x, p, 8)
    return w * tens[n] + eight_digits((x ^ 0x3030303030303030ULL) << (8 * (7 - n)) << 8)


cdef inline const uint8_t* read_digits(const uint8_t* p, const uint8_t* end, uint64_t* w) noexcept nogil:
    """w ← 10ⁿw + the number that the next n digits are, modulo 2⁶⁴; the first byte that is none.

    Eight at a time, without a branch for how many of them are digits: their number varies from token to token.
    """
    cdef uint64_t x, other
    cdef int n
    while True:
        x = next_eight(p, end) ^ 0x3030303030303030ULL              # digits become 0 … 9
        other = ((x + 0x7676767676767676ULL) | x) & 0x8080808080808080ULL  # up to the first other byte it is exact
        if other == 0:
            n = 8
            w[0] *= 100000000ULL
        else:
            n = trailing_zeros(other) >> 3
            if n == 0:
                return p
            x <<= 64 - 8 * n
            w[0] *= tens[n]
        w[0] += eight_digits(x)
        p += n
        if n < 8:
            return p


cdef inline double rounded(uint64_t w, int64_t q, const uint64_t* powers, bint* doubtful) noexcept nogil:
    """w·10^q for w > 0, |q| ≤ `farthest`. `powers`: of each q the two halves of T, and e for 10^q ≈ T·2^e."""
    cdef const uint64_t* power = powers + 3 * (q + farthest)
    cdef int zeros = leading_zeros(w), shift
    cdef uint64_t high, low, rest, half, added, ignored
    w <<= zeros
    high = product(w, power[0], &low)                               # too small by less than 1 in `high`
    shift = 10 + <int>(high >> 63)
    half = 1ULL << (shift - 1)
    rest = high & (2 * half - 1)
    if rest == half - 1 or (rest == half and low == 0):
        added = product(w, power[1], &ignored)
        low += added
        high += low < added                                         # too small by less than 2 in `low`
        shift = 10 + <int>(high >> 63)
        half = 1ULL << (shift - 1)
        rest = high & (2 * half - 1)
        doubtful[0] = (rest == half and low == 0) or (rest == half - 1 and low >= <uint64_t>-2)
    return of_bits((<uint64_t>(<int64_t>power[2] + 128 + 1074 + shift - zeros) << 52)
                   + (high >> shift) + (rest >= half))


cdef inline double exactly(const uint8_t* p) noexcept nogil:
    """What Python makes of a number of the right syntax: ∞ where it is too large, NaN for want of memory."""
    cdef char* end
    with gil:
        try:
            return PyOS_string_to_double(<const char*>p, &end, NULL)
        except Exception:
            return NAN


cdef inline const uint8_t* read_number(
    const uint8_t* p, const uint8_t* end, const uint64_t* powers, double* x
) noexcept nogil:
    """The number that starts at p, which Python's float() would take but for blanks, underscores, "nan" and "inf".

    Returns the first byte behind it, or NULL if there is no number.
    """
    cdef const uint8_t* start = p
    cdef const uint8_t* first
    cdef const uint8_t* part
    cdef uint64_t w = 0, exponent = 0
    cdef int64_t q = 0, digits
    cdef bint negative = p[0] == c"-", below, doubtful = False
    p += negative or p[0] == c"+"
    first = p
    p = read_digits(p, end, &w)
    digits = p - first
    if p[0] == c".":
        part = p + 1
        p = read_digits(part, end, &w)
        q = part - p
        digits -= q
    if digits == 0:
        return NULL
    if p[0] | 32 == c"e":
        part = p + 1
        below = part[0] == c"-"
        part += below or part[0] == c"+"
        p = read_digits(part, end, &exponent)
        if p == part:
            return NULL
        if p - part > 9:
            exponent = 1000000000
        q += -<int64_t>exponent if below else <int64_t>exponent
    if digits > 19:
        while first[0] == c"0" or first[0] == c".":
            digits -= first[0] == c"0"
            first += 1
    if digits > 19:
        doubtful = True
    elif w == 0:
        x[0] = -0.0 if negative else 0.0
        return p
    elif q < -farthest or q > farthest:
        doubtful = True
    else:
        x[0] = rounded(w, q, powers, &doubtful)
        x[0] = -x[0] if negative else x[0]
    if doubtful:
        x[0] = exactly(start)
    return p
