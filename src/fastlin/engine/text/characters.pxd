"""Characters: their kinds, their lower case, and how UTF-8 writes them.

Tables serve the first 65,536 code points; beyond them Python's own are asked. One character becomes one in lower case
but for U+0130, which becomes two, and U+03A3, which depends on its neighbours: texts that hold these come in lower
case.
"""

from libc.stdint cimport uint8_t, uint16_t, uint32_t

ctypedef fused unit:
    uint8_t
    uint16_t
    uint32_t

cdef extern from "Python.h" nogil:
    bint Py_UNICODE_ISALNUM(Py_UCS4) noexcept
    bint Py_UNICODE_ISDECIMAL(Py_UCS4) noexcept
    bint Py_UNICODE_ISSPACE(Py_UCS4) noexcept
    Py_UCS4 Py_UNICODE_TOLOWER(Py_UCS4) noexcept

cdef enum Kind:
    WORD = 1        # \w of Python's re: letters, digits, numbers, _
    VISIBLE = 2     # \S: what str.split() does not cut at
    DIGIT = 4       # \d
    CLAUSE = 8      # ends the reach of a negation
    QUOTE = 16      # ' and its typographic form, as in don't

cdef struct CharacterTables:
    const uint8_t* kinds      # of the character, in lower case if `fold`
    const uint16_t* lower
    bint fold


cdef inline uint32_t lower_case(const CharacterTables* tables, uint32_t c) noexcept nogil:
    if c < 0x10000:
        return tables.lower[c]
    return Py_UNICODE_TOLOWER(c) if tables.fold else c


cdef inline int kind_beyond(uint32_t c) noexcept nogil:
    """The kinds of a character that no table holds."""
    return ((WORD if Py_UNICODE_ISALNUM(c) else 0) | (DIGIT if Py_UNICODE_ISDECIMAL(c) else 0)
            | (0 if Py_UNICODE_ISSPACE(c) else VISIBLE))


cdef inline int kind_of(const CharacterTables* tables, uint32_t c) noexcept nogil:
    """The kinds of a character, given as the text has it."""
    return tables.kinds[c] if c < 0x10000 else kind_beyond(lower_case(tables, c))


cdef inline Py_ssize_t write_utf8(char* text, uint32_t c) noexcept nogil:
    """c in UTF-8, lone surrogates like other characters: up to four bytes; how many."""
    if c < 0x80:
        text[0] = <char>c
        return 1
    if c < 0x800:
        text[0] = <char>(0xC0 | c >> 6)
        text[1] = <char>(0x80 | c & 0x3F)
        return 2
    if c < 0x10000:
        text[0] = <char>(0xE0 | c >> 12)
        text[1] = <char>(0x80 | c >> 6 & 0x3F)
        text[2] = <char>(0x80 | c & 0x3F)
        return 3
    text[0] = <char>(0xF0 | c >> 18)
    text[1] = <char>(0x80 | c >> 12 & 0x3F)
    text[2] = <char>(0x80 | c >> 6 & 0x3F)
    text[3] = <char>(0x80 | c & 0x3F)
    return 4


cdef inline Py_ssize_t utf8_width(char first) noexcept nogil:
    """How many bytes the character has that begins with this one."""
    cdef uint8_t byte = <uint8_t>first
    return 1 if byte < 0x80 else 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
