"""Records of text files, TSV, CSV and JSON Lines, from UTF-8 to the strings of the columns that are wanted.

What is well formed is read here, from where a call is told to begin to the first record that is not, or whose meaning
takes more than is known here; that one is for the parsers in `data/readers`, which know all of the formats and say what
is wrong. So both give the same records, and these readers need no errors of their own.

    fields     a field without quotes ends at the first delimiter or line end, found a vector of bytes at a time; one in
               quotes at a quote that is not doubled, found by memchr
    objects    a string of JSON ends at the first quote, and stands as it is in the file up to the first backslash;
               values other than strings are handed on as JSON, and those that nobody wants are proved to be JSON
    labels     one string for all that are spelt alike: a table of the last ones, before a dict
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.list cimport PyList_GET_SIZE
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport free, realloc
from libc.string cimport memchr, memcmp, memcpy

cdef extern from "scan.h" nogil:
    const uint8_t* end_of_field "fastlin_end_of_field"(const uint8_t* p, const uint8_t* end, uint8_t a,
                                                       uint8_t b) noexcept
    const uint8_t* end_of_plain "fastlin_end_of_plain"(const uint8_t* p, const uint8_t* end) noexcept
    const uint8_t* end_of_ascii "fastlin_end_of_ascii"(const uint8_t* p, const uint8_t* end) noexcept

cdef enum:
    LABEL_SLOTS = 256
    MOST_LABELS = 1 << 16       # that are kept; of more, equal ones become strings of their own
    MOST_NUMBERED = (1 << 31) - 1  # if they are numbers
    MOST_NESTED = 64            # levels of a value of JSON: Python's own decoder gives up at some depth beyond
    MOST_DIGITS = 256           # bytes of a number, as long as Python reads whole ones without a limit


def skip_lines(bytes text, Py_ssize_t start, Py_ssize_t n):
    """Where the n-th line behind the one that begins at `start` begins: lines end with \\n, \\r or both."""
    cdef const uint8_t* base = <const uint8_t*>PyBytes_AS_STRING(text)
    cdef const uint8_t* end = base + PyBytes_GET_SIZE(text)
    cdef const uint8_t* p = base + start
    if not 0 <= start <= PyBytes_GET_SIZE(text):
        raise ValueError(f"a line cannot begin at {start}")
    while n > 0 and p < end:
        p = behind_line_end(end_of_field(p, end, c"\n", c"\r"), end)
        n -= 1
    return p - base


cdef inline const uint8_t* behind_line_end(const uint8_t* p, const uint8_t* end) noexcept nogil:
    """Where the next line begins, if this one ends at p."""
    if p == end:
        return p
    return p + 2 if p[0] == c"\r" and p + 1 < end and p[1] == c"\n" else p + 1


cdef inline bint ends_line(uint8_t c) noexcept nogil:
    return c == c"\n" or c == c"\r"


cdef object decoded(const uint8_t* start, const uint8_t* stop):
    """A string; UnicodeDecodeError: it is not UTF-8."""
    return PyUnicode_DecodeUTF8(<const char*>start, stop - start, NULL)


cdef bytes copied(const void* memory, Py_ssize_t size):
    return PyBytes_FromStringAndSize(<const char*>memory, size)


cdef class StringPool:
    """Equal strings as one, and with one number, the place in `strings`."""

    cdef list spelt             # of each slot the bytes
    cdef Py_ssize_t[LABEL_SLOTS] numbers    # and the number of the string that they are
    cdef readonly list strings
    cdef dict known

    def __cinit__(self):
        self.spelt, self.strings, self.known = [None] * LABEL_SLOTS, [], {}

    cdef Py_ssize_t number(self, const uint8_t* start, const uint8_t* stop, Py_ssize_t most) except -2:
        """The number of a string; −1: there are as many as are to be kept."""
        cdef Py_ssize_t n = stop - start
        cdef Py_ssize_t slot = 0 if n == 0 else (31 * n + 7 * start[0] + 3 * start[n - 1] + start[n // 2]) % LABEL_SLOTS
        spelt = self.spelt[slot]
        if (spelt is not None and PyBytes_GET_SIZE(spelt) == n
                and memcmp(PyBytes_AS_STRING(spelt), start, n) == 0):
            return self.numbers[slot]
        spelt = PyBytes_FromStringAndSize(<const char*>start, n)
        found = self.known.get(spelt)
        if found is None:
            if len(self.strings) >= most:
                return -1
            string, found = decoded(start, stop), len(self.strings)
            self.strings.append(string)
            self.known[spelt] = found
        self.spelt[slot], self.numbers[slot] = spelt, found
        return found

    cdef object find(self, const uint8_t* start, const uint8_t* stop):
        cdef Py_ssize_t number = self.number(start, stop, MOST_LABELS)
        return decoded(start, stop) if number < 0 else self.strings[number]


cdef class RecordReader:
    """What readers of records share: the columns that are read, and memory for strings that do not stand in the file.

    `columns` of a call are lists of the strings of each; records are whole in all of them.
    """

    cdef readonly Py_ssize_t n_columns
    cdef Py_ssize_t n_records       # of the last call
    cdef StringPool pool
    cdef Py_ssize_t pooled          # the column of labels; −1: none
    cdef uint8_t* scratch
    cdef Py_ssize_t room

    def __dealloc__(self):
        free(self.scratch)

    cdef int reserve(self, Py_ssize_t n) except -1:
        cdef void* moved
        if n > self.room:
            moved = realloc(self.scratch, 2 * n)
            if moved == NULL:
                raise MemoryError
            self.scratch, self.room = <uint8_t*>moved, 2 * n
        return 0

    cdef object string(self, Py_ssize_t column, const uint8_t* start, const uint8_t* stop):
        return self.pool.find(start, stop) if column == self.pooled >= 0 else decoded(start, stop)

    def read(self, bytes text, Py_ssize_t start):
        """Read records from `start` on: the columns, and where the first begins that is not read.

        That is the end of the text, or a record that is not well formed, or that may go on behind the end.
        """
        cdef list columns = [[] for _ in range(self.n_columns)]
        cdef Py_ssize_t n = 0, stop = start
        if not 0 <= start <= PyBytes_GET_SIZE(text):
            raise ValueError(f"records cannot begin at {start}")
        try:
            self.append(<const uint8_t*>PyBytes_AS_STRING(text), PyBytes_GET_SIZE(text), columns, &n, &stop)
        except ValueError:          # this record is not for here
            pass
        for column in columns:
            del column[n:]
        self.n_records = n
        return columns, stop

    cdef int append(self, const uint8_t* text, Py_ssize_t size, list columns, Py_ssize_t* n,
                    Py_ssize_t* stop) except -1:
        raise NotImplementedError


cdef class FieldReader(RecordReader):
    """Records of fields between delimiters; `column_of[i]` is the column that field i becomes, −1: nobody wants it.

    `quotes`: fields may be in quotes, as in CSV. `rest`: the last field is the rest of the line, delimiters and all.
    `empty`: an empty line is a record of an empty field. The strings of the column `sliced`, if it is none of −1, are
    left where they lie: instead of a list there are the bytes of int64 at which they start and stop, and
    {record: string} for those that are not of ASCII alone, or have doubled quotes. Then labels are numbers: the
    bytes of int32, and the list of all strings so far, in which they are the places.
    """

    cdef public Py_ssize_t sliced
    cdef list column_of
    cdef dict others
    cdef uint8_t delimiter
    cdef bint quotes, rest, empty
    cdef int64_t* places            # where the strings of a call start, and where they stop, in turn
    cdef int32_t* labels
    cdef Py_ssize_t records_room

    def __cinit__(self, int delimiter, list column_of, Py_ssize_t pooled, bint quotes, bint rest, bint empty):
        if not 0 <= delimiter < 128 or delimiter in b'"\r\n':
            raise ValueError("the delimiter must be one character of ASCII, neither a quote nor a line end")
        self.delimiter, self.column_of, self.pooled = delimiter, column_of, pooled
        self.quotes, self.rest, self.empty = quotes, rest, empty
        self.n_columns = 1 + max([-1] + column_of)
        if sorted(one for one in column_of if one >= 0) != list(range(self.n_columns)):
            raise ValueError("each column must be one field")
        self.pool, self.sliced, self.others = StringPool(), -1, {}

    def __dealloc__(self):
        free(self.places)
        free(self.labels)

    def read(self, bytes text, Py_ssize_t start):
        self.others = {}
        columns, stop = RecordReader.read(self, text, start)
        if self.sliced >= 0:
            self.others.pop(self.n_records, None)           # of a record that was not read to its end
            columns[self.sliced] = copied(self.places, 2 * self.n_records * sizeof(int64_t)), self.others
        if self.sliced >= 0 and self.pooled >= 0:
            columns[self.pooled] = copied(self.labels, self.n_records * sizeof(int32_t)), self.pool.strings
        return columns, stop

    cdef int reserve_records(self, Py_ssize_t n) except -1:
        cdef void* moved
        if n > self.records_room:
            moved = realloc(self.places, 2 * (2 * n * sizeof(int64_t)))
            if moved != NULL:
                self.places = <int64_t*>moved
                moved = realloc(self.labels, 2 * n * sizeof(int32_t))
            if moved == NULL:
                raise MemoryError
            self.labels, self.records_room = <int32_t*>moved, 2 * n
        return 0

    cdef int append_in_place(self, const uint8_t* text, Py_ssize_t column, Py_ssize_t record, const uint8_t* start,
                             const uint8_t* stop, bint doubled) except -1:
        """The string of a column as a slice of the text, or as a number."""
        cdef Py_ssize_t number
        cdef bytes spelt
        self.reserve_records(record + 1)
        if column == self.pooled:
            if doubled:
                spelt = self.undoubled(column, start, stop).encode()
                start = <const uint8_t*>PyBytes_AS_STRING(spelt)
                stop = start + PyBytes_GET_SIZE(spelt)
            number = self.pool.number(start, stop, MOST_NUMBERED)
            if number < 0:
                raise MemoryError
            self.labels[record] = <int32_t>number
        elif doubled or end_of_ascii(start, stop) < stop:
            self.others[record] = self.undoubled(column, start, stop) if doubled else decoded(start, stop)
            self.places[2 * record] = self.places[2 * record + 1] = 0
        else:
            self.places[2 * record] = start - text
            self.places[2 * record + 1] = stop - text
        return 0

    cdef int append(self, const uint8_t* text, Py_ssize_t size, list columns, Py_ssize_t* n,
                    Py_ssize_t* stop) except -1:
        cdef const uint8_t* p = text + stop[0]
        cdef const uint8_t* end = text + size
        cdef const uint8_t* start
        cdef const uint8_t* last
        cdef Py_ssize_t field, n_fields = PyList_GET_SIZE(self.column_of), column, doubled
        cdef uint8_t delimiter = self.delimiter, quote = c'"' if self.quotes else c"\n"
        while p < end:
            field = 0
            if ends_line(p[0]) and not self.empty:
                p = behind_line_end(p, end)
                stop[0] = p - text
                continue
            while True:
                doubled = 0
                if self.quotes and p < end and p[0] == c'"':
                    start = p + 1
                    last = start
                    while True:
                        last = <const uint8_t*>memchr(last, c'"', end - last)
                        if last == NULL:
                            return 0
                        if last + 1 == end or last[1] != c'"':
                            break
                        doubled += 1
                        last += 2
                    p = last + 1
                    if p == end or not (p[0] == delimiter or ends_line(p[0])):
                        return 0
                else:
                    start = p
                    if self.rest and field == n_fields - 1:
                        p = end_of_field(p, end, c"\n", c"\r")
                    else:
                        p = end_of_field(p, end, delimiter, quote)
                    last = p
                    if p == end or (self.quotes and p[0] == c'"'):
                        return 0
                if field == n_fields:
                    return 0
                column = self.column_of[field]
                if column >= 0 and self.sliced >= 0 and (column == self.sliced or column == self.pooled):
                    self.append_in_place(text, column, n[0], start, last, doubled > 0)
                elif column >= 0:
                    if doubled:
                        value = self.undoubled(column, start, last)
                    else:
                        value = self.string(column, start, last)
                    (<list>columns[column]).append(value)
                elif end_of_ascii(start, last) < last:
                    decoded(start, last)            # what nobody wants has to be text, too
                field += 1
                if ends_line(p[0]):
                    break
                p += 1
            if field != n_fields:
                return 0
            p = behind_line_end(p, end)
            n[0] += 1
            stop[0] = p - text
        return 0

    cdef object undoubled(self, Py_ssize_t column, const uint8_t* start, const uint8_t* stop):
        """A string in which quotes are doubled."""
        cdef uint8_t* out
        cdef const uint8_t* quote
        self.reserve(stop - start)
        out = self.scratch
        while True:
            quote = <const uint8_t*>memchr(start, c'"', stop - start)
            if quote == NULL:
                memcpy(out, start, stop - start)
                return self.string(column, self.scratch, out + (stop - start))
            memcpy(out, start, quote + 1 - start)
            out += quote + 1 - start
            start = quote + 2


cdef class ObjectReader(RecordReader):
    """Records of JSON Lines: of each object the fields `names`, in UTF-8, each in the column of its place.

    `others` make of the JSON of a value that is no string what stands in the column, `strings` say in which columns a
    string may. ValueError: it may not. `prove` raises it for what is no JSON. Lines of blanks are no records.
    """

    cdef list names, others, strings
    cdef object prove

    def __cinit__(self, list names, list others, list strings, prove, Py_ssize_t pooled):
        if not len(names) == len(others) == len(strings) == len(set(names)):
            raise ValueError("names must be different, and others and strings as many")
        self.names, self.others, self.strings, self.prove, self.pooled = names, others, strings, prove, pooled
        self.n_columns = len(names)
        self.pool = StringPool()

    cdef int append(self, const uint8_t* text, Py_ssize_t size, list columns, Py_ssize_t* n,
                    Py_ssize_t* stop) except -1:
        cdef const uint8_t* p = text + stop[0]
        cdef const uint8_t* end = text + size
        cdef list values = [None] * self.n_columns
        cdef Py_ssize_t column
        while p < end:
            p = skip_blanks(p, end)
            if p < end and not ends_line(p[0]):
                for column in range(self.n_columns):
                    values[column] = None
                p = self.read_object(p, end, values)
                p = skip_blanks(p, end) if p != NULL else NULL
                if p == NULL or p == end or not ends_line(p[0]):
                    return 0
                for column in range(self.n_columns):
                    if values[column] is None:
                        return 0
                for column in range(self.n_columns):
                    value = values[column]
                    (<list>columns[column]).append(value[0] if type(value) is tuple else value)
                n[0] += 1
            p = behind_line_end(p, end)
            stop[0] = p - text
        return 0

    cdef const uint8_t* read_object(self, const uint8_t* p, const uint8_t* end, list values) except? NULL:
        """Read the fields of an object into `values`, a string or a tuple of another value; what is behind it."""
        cdef const uint8_t* start
        cdef Py_ssize_t column
        if p[0] != c"{":
            return NULL
        p = skip_blanks(p + 1, end)
        if p < end and p[0] == c"}":
            return p + 1
        while p < end and p[0] == c'"':
            start = p + 1
            p = end_of_plain(start, end)
            if p == end or p[0] != c'"':
                return NULL
            column = self.column(start, p)
            p = skip_blanks(p + 1, end)
            if p == end or p[0] != c":":
                return NULL
            p = skip_blanks(p + 1, end)
            if p == end:
                return NULL
            p = self.read_value(p, end, column, values)
            if p == NULL:
                return NULL
            p = skip_blanks(p, end)
            if p == end or p[0] == c"}":
                return p + 1 if p < end else NULL
            if p[0] != c",":
                return NULL
            p = skip_blanks(p + 1, end)
        return NULL

    cdef Py_ssize_t column(self, const uint8_t* start, const uint8_t* stop) except -2:
        """The column of a field of this name; −1: nobody wants it."""
        cdef Py_ssize_t column
        cdef bytes name
        for column in range(self.n_columns):
            name = <bytes>self.names[column]
            if PyBytes_GET_SIZE(name) == stop - start and not memcmp(PyBytes_AS_STRING(name), start, stop - start):
                return column
        if end_of_ascii(start, stop) < stop:
            decoded(start, stop)
        return -1

    cdef const uint8_t* read_value(self, const uint8_t* p, const uint8_t* end, Py_ssize_t column,
                                   list values) except? NULL:
        """Read the value that begins at p; what is behind it."""
        cdef const uint8_t* start = p
        if p[0] != c'"':
            p = end_of_value(p, end)
            if p == NULL:
                return NULL
            if column >= 0:
                values[column] = (self.others[column](PyBytes_FromStringAndSize(<const char*>start, p - start)),)
            elif not is_literal(start, p):
                self.prove(PyBytes_FromStringAndSize(<const char*>start, p - start))
            return p
        p = end_of_string(p + 1, end)
        if p == NULL:
            return NULL
        value = self.unescaped(column, start + 1, p)
        if column >= 0:
            if not self.strings[column]:
                return NULL
            values[column] = value
        return p + 1

    cdef object unescaped(self, Py_ssize_t column, const uint8_t* start, const uint8_t* stop):
        """The string between two quotes; half of a surrogate pair is none."""
        cdef const uint8_t* p = end_of_plain(start, stop)
        cdef uint8_t* out
        cdef int32_t code, low
        if p == stop:
            return self.string(column, start, stop) if column >= 0 or end_of_ascii(start, stop) < stop else None
        self.reserve(stop - start)
        out = self.scratch
        while True:
            memcpy(out, start, p - start)
            out += p - start
            if p == stop:
                return self.string(column, self.scratch, out)
            if p[1] == c"u":
                code = four_digits(p + 2, stop)
                p += 6
                if 0xD800 <= code < 0xDC00:
                    low = four_digits(p + 2, stop) if stop - p >= 6 and p[0] == c"\\" and p[1] == c"u" else -1
                    code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00) if 0xDC00 <= low < 0xE000 else -1
                    p += 6
                elif 0xDC00 <= code < 0xE000:
                    code = -1
            else:
                code = escaped_character(p[1])
                p += 2
            if code < 0:
                raise ValueError("an escape that is none")
            out += write_utf8(out, code)
            start = p
            p = end_of_plain(start, stop)


cdef inline const uint8_t* skip_blanks(const uint8_t* p, const uint8_t* end) noexcept nogil:
    while p < end and (p[0] == c" " or p[0] == c"\t"):
        p += 1
    return p


cdef inline const uint8_t* end_of_string(const uint8_t* p, const uint8_t* end) noexcept nogil:
    """The quote that ends a string whose first character is at p; NULL: there is none before a control character."""
    while True:
        p = end_of_plain(p, end)
        if p < end and p[0] == c'"':
            return p
        if end - p < 2 or p[0] != c"\\":
            return NULL
        p += 2


cdef const uint8_t* end_of_value(const uint8_t* p, const uint8_t* end) noexcept nogil:
    """What is behind a value that is no string, if it is JSON; NULL: it is not, or too deep or long for here."""
    cdef const uint8_t* start = p
    cdef int depth = 0
    if p[0] != c"{" and p[0] != c"[":
        while p < end and p[0] > c" " and p[0] != c"," and p[0] != c"}" and p[0] != c"]":
            p += 1
        return p if 0 < p - start <= MOST_DIGITS else NULL
    while p < end and p[0] != c"\n" and p[0] != c"\r":
        if p[0] == c'"':
            p = end_of_string(p + 1, end)
            if p == NULL:
                return NULL
        elif p[0] == c"{" or p[0] == c"[":
            depth += 1
            if depth > MOST_NESTED:
                return NULL
        elif p[0] == c"}" or p[0] == c"]":
            depth -= 1
            if depth == 0:
                return p + 1
        p += 1
    return NULL


cdef bint is_literal(const uint8_t* p, const uint8_t* end) noexcept nogil:
    """Whether this is true, false, null or a number of JSON."""
    cdef Py_ssize_t n = end - p
    if n == 4 and (memcmp(p, b"true", 4) == 0 or memcmp(p, b"null", 4) == 0):
        return True
    if n == 5 and memcmp(p, b"false", 5) == 0:
        return True
    p += p < end and p[0] == c"-"
    if p == end or not is_digit(p[0]):
        return False
    p = p + 1 if p[0] == c"0" else behind_digits(p, end)
    if p < end and p[0] == c".":
        p += 1
        if p == end or not is_digit(p[0]):
            return False
        p = behind_digits(p, end)
    if p < end and (p[0] == c"e" or p[0] == c"E"):
        p += 1
        p += p < end and (p[0] == c"+" or p[0] == c"-")
        if p == end or not is_digit(p[0]):
            return False
        p = behind_digits(p, end)
    return p == end


cdef inline bint is_digit(uint8_t c) noexcept nogil:
    return c"0" <= c <= c"9"


cdef inline const uint8_t* behind_digits(const uint8_t* p, const uint8_t* end) noexcept nogil:
    while p < end and is_digit(p[0]):
        p += 1
    return p


cdef inline int32_t four_digits(const uint8_t* p, const uint8_t* end) noexcept nogil:
    """A number of four hexadecimal digits; −1: these are not."""
    cdef int32_t code = 0
    cdef int i
    cdef uint8_t c
    if end - p < 4:
        return -1
    for i in range(4):
        c = p[i] | 32 if p[i] >= c"A" else p[i]
        if not (is_digit(c) or c"a" <= c <= c"f"):
            return -1
        code = 16 * code + (c - c"0" if c <= c"9" else c - c"a" + 10)
    return code


cdef inline int32_t escaped_character(uint8_t c) noexcept nogil:
    """What a backslash and this character stand for; −1: nothing."""
    if c == c'"' or c == c"\\" or c == c"/":
        return c
    if c == c"n":
        return 10
    if c == c"t":
        return 9
    if c == c"r":
        return 13
    if c == c"b":
        return 8
    return 12 if c == c"f" else -1


cdef inline int write_utf8(uint8_t* out, int32_t code) noexcept nogil:
    """Write a character; its bytes are no more than those of its escape."""
    if code < 0x80:
        out[0] = <uint8_t>code
        return 1
    if code < 0x800:
        out[0], out[1] = <uint8_t>(0xC0 | code >> 6), <uint8_t>(0x80 | code & 63)
        return 2
    if code < 0x10000:
        out[0], out[1] = <uint8_t>(0xE0 | code >> 12), <uint8_t>(0x80 | code >> 6 & 63)
        out[2] = <uint8_t>(0x80 | code & 63)
        return 3
    out[0], out[1] = <uint8_t>(0xF0 | code >> 18), <uint8_t>(0x80 | code >> 12 & 63)
    out[2], out[3] = <uint8_t>(0x80 | code >> 6 & 63), <uint8_t>(0x80 | code & 63)
    return 4
