"""svmlight's text to rows: `label qid:group index:value index:value … # comment`, one row a line.

A `Parser` collects the rows of one text after the other. It stops at the first token that is wrong, and forgets the row
which that belongs to; what went before stays. Nothing is allocated in the loop: a text has no more entries than colons,
no more rows than line ends. Lines end with \\n, \\r or both; blanks and tabs stand between tokens.
"""

import numpy as np

from cpython cimport array
from libc.math cimport isfinite
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from fastlin.engine.decimals cimport (
    farthest, known_digits, no_digits, read_digits, read_number, rounded, trailing_zeros,
)

# what is wrong with a text
SOUND, LABEL, LABELS, WEIGHT, GROUP, GROUPLESS, INDEX, RANGE, ORDER, VALUE, FINITE = range(11)
# rows with a group, "qid:": whatever there is, as the first row will say, none, all
ANY, UNKNOWN, NONE, ALL = range(4)

cdef enum Fault:
    sound
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


def powers():
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


cdef struct Place:                              # where reading stands, and what it found to be wrong there
    const uint8_t* p
    const uint8_t* end
    const uint64_t* powers
    Fault fault


cdef inline Fault number(Place* at, double* x, Fault fault) noexcept nogil:
    """A finite number, which some byte follows; or p stays where it is."""
    cdef const uint8_t* p = read_number(at.p, at.end, at.powers, x)
    if p == NULL:
        return fault
    if not isfinite(x[0]):
        return not_finite
    at.p = p
    return sound


cdef Fault one_group(Place* at, int64_t* value) noexcept nogil:
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
    return sound


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
    return NULL if doubtful else p + end


cdef inline Fault entries(
    Place* at, int64_t lowest, int64_t highest, int32_t* indices, double* values, Py_ssize_t* n
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
            return sound
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
        if fault == sound and not ends_token(at.p[0]):
            fault = bad_value
        if fault:
            at.p = first
            return fault
        indices[k] = <int32_t>w
        before = <int64_t>w
        k += 1


cdef class Parser:
    """Rows that grow text by text."""

    cdef array.array kept_labels, kept_weights, kept_groups, kept_ends, kept_indices, kept_values, kept_label_ends
    cdef const uint64_t[:, ::1] table
    cdef bint weighted, multilabel
    cdef readonly int grouping
    cdef int64_t lowest, highest
    cdef Py_ssize_t n, rows, n_labels

    def __cinit__(self, const uint64_t[:, ::1] table, int64_t lowest, int64_t highest, int grouping, bint weighted,
                  bint multilabel):
        """Indices lie between `lowest` and `highest`, which are below 2³¹. `table`: what `powers` returns.

        `weighted`: a label may be "label:weight". `multilabel`: it may be missing, or several with commas between.
        """
        if not (0 <= lowest and highest < 2**31 and table.shape[0] == 2 * farthest + 1 and table.shape[1] == 3):
            raise ValueError("bounds of indices or table of powers")
        self.table, self.lowest, self.highest = table, lowest, highest
        self.grouping, self.weighted, self.multilabel = grouping, weighted, multilabel
        self.forget()

    cdef void forget(self):
        self.kept_labels, self.kept_weights = array.array("d"), array.array("d")
        self.kept_groups, self.kept_ends = array.array("q"), array.array("q", [0])
        self.kept_indices, self.kept_values = array.array("i"), array.array("d")
        self.kept_label_ends = array.array("q", [0])
        self.n = self.rows = self.n_labels = 0

    def read(self, const uint8_t[::1] text, Py_ssize_t start):
        """Append the rows of a text that ends with a line end, from byte `start` on: (fault, the byte it is at)."""
        cdef Place at
        cdef Py_ssize_t lines, colons, commas, size = text.shape[0] - start
        if not (0 <= start < text.shape[0] and ends_line(text[text.shape[0] - 1])):
            raise ValueError("the text has no last line end, or nothing from the start on")
        at.p, at.end, at.powers, at.fault = &text[start], &text[0] + text.shape[0], &self.table[0, 0], sound
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
            cut(self.kept_labels, self.n_labels, np.float64),
            cut(self.kept_weights, self.rows if self.weighted else 0, np.float64),
            cut(self.kept_groups, grouped, np.int64),
            cut(self.kept_ends, self.rows + 1, np.int64),
            cut(self.kept_indices, self.n, np.int32),
            cut(self.kept_values, self.n, np.float64),
            cut(self.kept_label_ends, several, np.int64),
        )
        self.forget()
        return found

    cdef int reserve(self, Py_ssize_t rows, Py_ssize_t n, Py_ssize_t n_labels) except -1:
        """Room for so many in all."""
        need(self.kept_labels, n_labels)
        need(self.kept_weights, rows if self.weighted else 0)
        need(self.kept_groups, rows)
        need(self.kept_ends, rows + 1)
        need(self.kept_indices, n)
        need(self.kept_values, n)
        need(self.kept_label_ends, rows + 1 if self.multilabel else 0)
        return 0

    cdef void read_lines(self, Place* at) noexcept nogil:
        """Row after row, for as long as nothing is wrong."""
        cdef int32_t* indices = <int32_t*>self.kept_indices.data.as_ints
        cdef double* values = self.kept_values.data.as_doubles
        cdef int64_t* ends = <int64_t*>self.kept_ends.data.as_longlongs
        while at.p < at.end:
            at.p = skip_blanks(at.p)
            if not (ends_line(at.p[0]) or at.p[0] == c"#"):
                at.fault = self.head(at)
                if not at.fault:
                    at.fault = entries(at, self.lowest, self.highest, indices, values, &self.n)
                if at.fault:
                    self.n_labels = self.rows
                    if self.multilabel:
                        self.n_labels = <Py_ssize_t>self.kept_label_ends.data.as_longlongs[self.rows]
                    return
                self.rows += 1
                ends[self.rows] = self.n
                if self.multilabel:
                    self.kept_label_ends.data.as_longlongs[self.rows] = self.n_labels
            while not ends_line(at.p[0]):       # a comment
                at.p += 1
            at.p += 1

    cdef Fault head(self, Place* at) noexcept nogil:
        """The label or labels of a line, its weight and its group."""
        cdef double* weights = self.kept_weights.data.as_doubles
        cdef const uint8_t* first = at.p
        cdef Fault fault
        if self.weighted:
            weights[self.rows] = 1.0
        while True:
            fault = number(at, self.kept_labels.data.as_doubles + self.n_labels, bad_label)
            if fault:
                return fault
            self.n_labels += 1
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
            self.n_labels = <Py_ssize_t>self.kept_label_ends.data.as_longlongs[self.rows]
        elif not ends_token(at.p[0]):
            at.p = first
            return bad_label
        at.p = skip_blanks(at.p)
        return self.group(at)

    cdef Fault group(self, Place* at) noexcept nogil:
        """A "qid:", if there is one; whether there may be was settled by the first row."""
        cdef int64_t ignored
        cdef const uint8_t* p = at.p
        cdef bint here = at.end - p > 4 and p[0] == c"q" and p[1] == c"i" and p[2] == c"d" and p[3] == c":"
        if self.grouping == any_groups:
            return one_group(at, &ignored) if here else sound
        if self.grouping == unknown:
            self.grouping = all_groups if here else no_groups
        if here != (self.grouping == all_groups):
            return no_group
        return one_group(at, <int64_t*>self.kept_groups.data.as_longlongs + self.rows) if here else sound


cdef int need(array.array kept, Py_ssize_t n) except -1:
    """Room for n; what grows grows by a half at least."""
    if len(kept) < n:
        array.resize(kept, max(n, len(kept) + len(kept) // 2))
    return 0


cdef object cut(array.array kept, Py_ssize_t n, dtype):
    """The first n, the rest freed."""
    array.resize(kept, n)
    return np.frombuffer(kept, dtype) if n else np.empty(0, dtype)
