"""svmlight's text to rows: `label qid:group index:value index:value … # comment`, one row a line.

A `SvmlightParser` collects the rows of one text after the other. It stops at the first token that is wrong, and
forgets the row which that belongs to; what went before stays. Nothing is allocated in the loop: a text has no more
entries than colons, no more rows than line ends. Lines end with \\n, \\r or both; blanks and tabs stand between tokens.
"""

import numpy as np

from cpython.buffer cimport PyBuffer_FillInfo
from libc.math cimport isfinite
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from fastlin.engine.text.decimals cimport (
    farthest, known_digits, no_digits, read_digits, read_number, rounded, trailing_zeros,
)

cdef extern from "text.h" nogil:
    void* grown "fastlin_grown"(void*, size_t used, size_t wanted, size_t* room) noexcept
    void fitted "fastlin_fitted"(void*, size_t size, size_t* room) noexcept
    void freed "fastlin_freed"(void*, size_t room) noexcept

FLOAT, LONG, INT = np.dtype(np.float64), np.dtype(np.int64), np.dtype(np.int32)

# what is wrong with a text
VALID, LABEL, LABELS, WEIGHT, GROUP, GROUPLESS, INDEX, RANGE, ORDER, VALUE, FINITE = range(11)
# rows with a group, "qid:": whatever there is, as the first row will say, none, all
ANY, UNKNOWN, NONE, ALL = range(4)

cdef enum Fault:
    valid
    bad_label
    several_labels
    bad_weight
    bad_group
    no_group
    bad_index
    out_of_range
    out_of_order
    bad_value
    not_finite

cdef enum Grouping:
    any_groups
    unknown
    no_groups
    all_groups


def powers_of_ten():
    """Of every 10^q, −`farthest` ≤ q ≤ `farthest`: its first 128 bits as two numbers, and e for 10^q ≈ bits · 2^e."""
    table = np.empty((2 * farthest + 1, 3), np.uint64)
    for q in range(-farthest, farthest + 1):
        whole = 10**q if q >= 0 else (1 << 1200) // 10**-q      # 10^farthest has 931 bits
        e = whole.bit_length() - 128
        bits = whole >> e if e >= 0 else whole << -e
        table[q + farthest] = bits >> 64, bits & (2**64 - 1), (e if q >= 0 else e - 1200) % 2**64
    return table


cdef Py_ssize_t occurrences(const uint8_t* text, Py_ssize_t n, uint8_t byte) noexcept nogil:
    cdef Py_ssize_t i, start, found = 0
    cdef uint8_t few
    for start in range(0, n, 128):              # as many as a byte can count
        few = 0
        for i in range(start, min(start + 128, n)):
            few += text[i] == byte
        found += few
    return found


def count_lines(const uint8_t[::1] text):
    """How many line ends a text has: \\n, \\r, or both in this order."""
    cdef Py_ssize_t i, start, n = text.shape[0], lines = 0
    cdef uint8_t few
    with nogil:
        for start in range(0, n - 1, 128):
            few = 0
            for i in range(start, min(start + 128, n - 1)):
                few += (text[i] == c"\n") | ((text[i] == c"\r") & (text[i + 1] != c"\n"))
            lines += few
        if n:
            lines += ends_line(text[n - 1])
    return lines


cdef inline bint ends_line(uint8_t byte) noexcept nogil:
    return byte == c"\n" or byte == c"\r"


cdef inline bint ends_token(uint8_t byte) noexcept nogil:
    return byte == c" " or byte == c"\t" or ends_line(byte) or byte == c"#"


cdef inline const uint8_t* skip_blanks(const uint8_t* p) noexcept nogil:
    while p[0] == c" " or p[0] == c"\t":
        p += 1
    return p


cdef struct Cursor:                             # where reading stands, and what it found to be wrong there
    const uint8_t* p
    const uint8_t* end
    const uint64_t* powers
    Fault fault


cdef inline Fault number(Cursor* at, double* x, Fault fault) noexcept nogil:
    """A finite number, which some byte follows; or p stays where it is."""
    cdef const uint8_t* p = read_number(at.p, at.end, at.powers, x)
    if p == NULL:
        return fault
    if not isfinite(x[0]):
        return not_finite
    at.p = p
    return valid


cdef Fault one_group(Cursor* at, int64_t* value) noexcept nogil:
    """The whole number of a "qid:", of at most 18 digits."""
    cdef const uint8_t* p = at.p + 4
    cdef bint negative = p[0] == c"-"
    cdef const uint8_t* first = p + (negative or p[0] == c"+")
    cdef uint64_t w = 0
    p = read_digits(first, at.end, &w)
    if p == first or p - first > 18 or not ends_token(p[0]):
        return bad_group
    value[0] = -<int64_t>w if negative else <int64_t>w
    at.p = p
    return valid


cdef inline const uint8_t* usual_entry(
    const uint8_t* p, const uint64_t* powers, uint64_t* index, double* value
) noexcept nogil:
    """An "8797:0.0681" or "8797:3" at p, whose next 64 bytes are there; NULL if it is of another kind.

    Where its parts end is seen in one look at all of the bytes. Reading them one after the other takes three times as
    long: each has to wait until the end of the one before is known.
    """
    cdef uint64_t others = no_digits(p), w
    cdef int colon = trailing_zeros(others | 1ULL << 63), dot, end, digits
    cdef bint doubtful = False
    others &= others - 1
    dot = trailing_zeros(others | 1ULL << 63)
    if not (1 <= colon <= 8 and p[colon] == c":"):
        return NULL
    if p[dot] == c".":
        others &= others - 1
        end = trailing_zeros(others | 1ULL << 63)
        digits = end - colon - 2
        if dot == colon + 2:
            w = p[dot - 1] - c"0"
        else:
            w = known_digits(p + colon + 1, dot - colon - 1, 0)
        w = known_digits(p + dot + 1, end - dot - 1, w)
    else:
        end = dot
        digits = end - colon - 1
        w = known_digits(p + colon + 1, digits, 0)
    if not (1 <= digits <= 19 and ends_token(p[end])):
        return NULL
    index[0] = known_digits(p, colon, 0)
    value[0] = rounded(w, dot + 1 - end if end > dot else 0, powers, &doubtful) if w else 0.0
    if doubtful:
        return NULL
    return p + end


cdef inline Fault entries(
    Cursor* at, int64_t lowest, int64_t highest, int32_t* indices, double* values, Py_ssize_t* n
) noexcept nogil:
    """The index:value that are left of a line."""
    cdef const uint8_t* p
    cdef const uint8_t* first
    cdef Py_ssize_t k = n[0]
    cdef int64_t before = -1
    cdef uint64_t w
    cdef Fault fault
    while True:
        first = at.p = skip_blanks(at.p)
        if ends_line(first[0]) or first[0] == c"#":
            n[0] = k
            return valid
        p = usual_entry(first, at.powers, &w, values + k) if at.end - first >= 96 else NULL
        if p != NULL and lowest <= <int64_t>w <= highest and <int64_t>w > before:
            at.p = p
            indices[k] = <int32_t>w
            before = <int64_t>w
            k += 1
            continue
        w = 0
        p = read_digits(first, at.end, &w)
        if p == first or p[0] != c":":
            return bad_index
        while p - first > 10 and first[0] == c"0":
            first += 1
        if p - first > 10 or not lowest <= <int64_t>w <= highest:
            return out_of_range
        if <int64_t>w <= before:
            return out_of_order
        at.p = p + 1
        fault = number(at, values + k, bad_value)
        if fault == valid and not ends_token(at.p[0]):
            fault = bad_value
        if fault:
            at.p = first
            return fault
        indices[k] = <int32_t>w
        before = <int64_t>w
        k += 1


cdef class GrowingBuffer:
    """A column that grows without an end being known, in large pages where there is much of it."""

    cdef char* data
    cdef size_t room
    cdef Py_ssize_t size

    def __dealloc__(self):
        freed(self.data, self.room)

    def __getbuffer__(self, Py_buffer* buffer, int flags):
        PyBuffer_FillInfo(buffer, self, self.data, self.size, 0, flags)

    cdef int need(self, size_t used, size_t wanted) except -1:
        """Room for so many bytes, the used ones kept."""
        cdef void* larger
        if wanted > self.room:
            larger = grown(self.data, used, wanted, &self.room)
            if larger == NULL:
                raise MemoryError(f"no memory for {wanted} bytes of rows")
            self.data = <char*>larger
        return 0

    cdef object array(self, Py_ssize_t n, dtype):
        """The first n values, which own the memory from now on; the rest of it is given back."""
        if n == 0:
            return np.empty(0, dtype)
        self.size = n * dtype.itemsize
        fitted(self.data, self.size, &self.room)
        return np.frombuffer(self, dtype)


cdef class SvmlightParser:
    """Rows that grow text by text."""

    cdef GrowingBuffer labels, weights, groups, ends, indices, values, label_ends
    cdef const uint64_t[:, ::1] table
    cdef bint weighted, multilabel
    cdef readonly int grouping
    cdef int64_t lowest, highest
    cdef Py_ssize_t n, rows, n_labels

    def __cinit__(self, const uint64_t[:, ::1] table, int64_t lowest, int64_t highest, int grouping, bint weighted,
                  bint multilabel):
        """Indices lie between `lowest` and `highest`, which are below 2³¹. `table`: what `powers_of_ten` returns.

        `weighted`: a label may be "label:weight". `multilabel`: it may be missing, or several with commas between.
        """
        if not (0 <= lowest and highest < 2**31 and table.shape[0] == 2 * farthest + 1 and table.shape[1] == 3):
            raise ValueError("bounds of indices or table of powers")
        self.table, self.lowest, self.highest = table, lowest, highest
        self.grouping, self.weighted, self.multilabel = grouping, weighted, multilabel
        self.forget()

    cdef int forget(self) except -1:
        self.labels, self.weights = GrowingBuffer(), GrowingBuffer()
        self.groups, self.ends = GrowingBuffer(), GrowingBuffer()
        self.indices, self.values, self.label_ends = GrowingBuffer(), GrowingBuffer(), GrowingBuffer()
        self.n = self.rows = self.n_labels = 0
        self.reserve(0, 0, 0)
        (<int64_t*>self.ends.data)[0] = 0
        if self.multilabel:
            (<int64_t*>self.label_ends.data)[0] = 0
        return 0

    def read(self, const uint8_t[::1] text, Py_ssize_t start):
        """Append the rows of a text that ends with a line end, from byte `start` on: (fault, the byte it is at)."""
        cdef Cursor at
        cdef Py_ssize_t lines, colons, commas, size = text.shape[0] - start
        if not (0 <= start < text.shape[0] and ends_line(text[text.shape[0] - 1])):
            raise ValueError("the text has no last line end, or nothing from the start on")
        at.p, at.end, at.powers, at.fault = &text[start], &text[0] + text.shape[0], &self.table[0, 0], valid
        with nogil:
            lines = occurrences(at.p, size, c"\n") + occurrences(at.p, size, c"\r")
            colons = occurrences(at.p, size, c":")
            commas = occurrences(at.p, size, c",") if self.multilabel else 0
        self.reserve(self.rows + lines, self.n + colons, self.n_labels + lines + commas)
        with nogil:
            self.read_lines(&at)
        return at.fault, at.p - &text[0]

    def take(self):
        """The rows, which are forgotten: labels, weights, groups, indptr, indices, values, and where labels end."""
        cdef Py_ssize_t grouped = self.rows if self.grouping == all_groups else 0
        cdef Py_ssize_t several = self.rows + 1 if self.multilabel else 0
        found = (
            self.labels.array(self.n_labels, FLOAT),
            self.weights.array(self.rows if self.weighted else 0, FLOAT),
            self.groups.array(grouped, LONG),
            self.ends.array(self.rows + 1, LONG),
            self.indices.array(self.n, INT),
            self.values.array(self.n, FLOAT),
            self.label_ends.array(several, LONG),
        )
        self.forget()
        return found

    cdef int reserve(self, Py_ssize_t rows, Py_ssize_t n, Py_ssize_t n_labels) except -1:
        """Room for so many in all."""
        self.labels.need(8 * self.n_labels, 8 * n_labels)
        self.weights.need(8 * self.rows, 8 * rows if self.weighted else 0)
        self.groups.need(8 * self.rows, 8 * rows if self.grouping != any_groups else 0)
        self.ends.need(8 * self.rows + 8, 8 * rows + 8)
        self.indices.need(4 * self.n, 4 * n)
        self.values.need(8 * self.n, 8 * n)
        self.label_ends.need(8 * self.rows + 8, 8 * rows + 8 if self.multilabel else 0)
        return 0

    cdef void read_lines(self, Cursor* at) noexcept nogil:
        """Row after row, for as long as nothing is wrong."""
        cdef int32_t* indices = <int32_t*>self.indices.data
        cdef double* values = <double*>self.values.data
        cdef int64_t* ends = <int64_t*>self.ends.data
        while at.p < at.end:
            at.p = skip_blanks(at.p)
            if not (ends_line(at.p[0]) or at.p[0] == c"#"):
                at.fault = self.head(at)
                if not at.fault:
                    at.fault = entries(at, self.lowest, self.highest, indices, values, &self.n)
                if at.fault:
                    self.n_labels = self.rows
                    if self.multilabel:
                        self.n_labels = <Py_ssize_t>(<int64_t*>self.label_ends.data)[self.rows]
                    return
                self.rows = self.rows + 1
                ends[self.rows] = self.n
                if self.multilabel:
                    (<int64_t*>self.label_ends.data)[self.rows] = self.n_labels
            while not ends_line(at.p[0]):       # a comment
                at.p += 1
            at.p += 1

    cdef Fault head(self, Cursor* at) noexcept nogil:
        """The label or labels of a line, its weight and its group."""
        cdef double* weights = <double*>self.weights.data
        cdef const uint8_t* first = at.p
        cdef Fault fault
        if self.weighted:
            weights[self.rows] = 1.0
        while True:
            fault = number(at, <double*>self.labels.data + self.n_labels, bad_label)
            if fault:
                return fault
            self.n_labels = self.n_labels + 1
            if at.p[0] != c",":
                break
            if not self.multilabel:
                return several_labels
            at.p += 1
        if at.p[0] == c":" and self.weighted:
            at.p += 1
            fault = number(at, weights + self.rows, bad_weight)
            if fault or weights[self.rows] < 0 or not ends_token(at.p[0]):
                return bad_weight
        elif at.p[0] == c":" and self.multilabel:
            at.p = first                        # there is no label
            self.n_labels = <Py_ssize_t>(<int64_t*>self.label_ends.data)[self.rows]
        elif not ends_token(at.p[0]):
            at.p = first
            return bad_label
        at.p = skip_blanks(at.p)
        return self.group(at)

    cdef Fault group(self, Cursor* at) noexcept nogil:
        """A "qid:", if there is one; whether there may be was settled by the first row."""
        cdef int64_t ignored
        cdef const uint8_t* p = at.p
        cdef bint here = at.end - p > 4 and p[0] == c"q" and p[1] == c"i" and p[2] == c"d" and p[3] == c":"
        if self.grouping == any_groups:
            return one_group(at, &ignored) if here else valid
        if self.grouping == unknown:
            self.grouping = all_groups if here else no_groups
        if here != (self.grouping == all_groups):
            return no_group
        return one_group(at, <int64_t*>self.groups.data + self.rows) if here else valid
