"""Documents in pieces: the tokens of a piece as slices of one text in UTF-8, in lower case if that is asked for.

ASCII is classified 64 characters at a time into a mask whose edges are the tokens' beginnings and ends; other texts go
character by character, and patterns of tokens by an automaton (`text/token_automaton.py`), whose state changes with
every character. A piece ends between tokens, and is as long as its longest token where that must be.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcmp, memcpy, memset

from fastlin.engine.text.characters cimport CLAUSE, DIGIT, QUOTE, VISIBLE, WORD
from fastlin.engine.text.characters cimport CharacterTables, kind_of, lower_case, unit, write_utf8
from fastlin.engine.text.string_table cimport PADDING, NgramTrie, reserve, strings
from fastlin.engine.text.row_counter cimport lowest_bit

cdef extern from "text.h" nogil:
    uint64_t members "fastlin_members"(const uint8_t*, uint8_t*, int fold, int between_blanks) noexcept

cdef enum:
    PIECE = 16384       # characters of a document that are cut into tokens together
    BLOCK = 64
    LONGEST_NEGATOR = 16
    MOST_STEPS = 1 << 20    # of an automaton in a piece: between two looks at signals

cdef struct Document:
    const void* text
    Py_ssize_t n            # characters
    int size                # bytes of a character: 1, 2 or 4
    bint ascii

cdef struct Automaton:      # which finds tokens; there is none without transitions
    const uint8_t* classes      # of a character as the text has it, below 65,536
    const uint8_t* classes_beyond   # of all characters, in lower case if `fold`
    const int32_t* transitions  # twice the place of the next state, and one more if a token may end before
    const uint8_t* words        # of a class: it is of words
    const uint8_t* first        # of a class: a token may begin with it
    bint runs                   # tokens are the runs of the characters that they may begin with
    uint8_t[128] member         # which of ASCII these are
    int n_classes               # without the end of the text
    int32_t[2] start            # the first state, behind what is no part of a word, and behind what is

cdef struct TokenRules:     # what a token is
    CharacterTables tables
    int member              # the kind of its characters: WORD or VISIBLE
    int shortest            # characters
    bint letter_first       # it does not begin with a digit
    bint negation           # what follows a negation is marked
    Automaton automaton     # in the place of all of these

cdef struct TokenSlices:
    char* text              # a blank before it; PADDING bytes behind it
    int64_t room
    uint32_t* edges
    int64_t edges_room
    int64_t* start
    int64_t start_room
    int32_t* length
    int64_t length_room
    Py_ssize_t n
    bint negated            # the next token stands under a negation
    Py_ssize_t steps        # of an automaton, for this piece


cdef inline bint reserve_slices(TokenSlices* slices, int64_t bytes, int64_t places) noexcept nogil:
    """Room for a text and its tokens; False: there is no memory for them."""
    cdef char* memory = slices.text - BLOCK if slices.text != NULL else NULL
    if slices.text == NULL or bytes > slices.room:
        if not reserve(<void**>&memory, &slices.room, bytes + BLOCK + PADDING, 1):
            return False
        slices.room -= BLOCK + PADDING
        slices.text = memory + BLOCK
        memory[BLOCK - 1] = c" "
    return (reserve(<void**>&slices.start, &slices.start_room, places, sizeof(int64_t))
            and reserve(<void**>&slices.length, &slices.length_room, places, sizeof(int32_t)))


cdef inline void free_slices(TokenSlices* slices) noexcept nogil:
    if slices.text != NULL:
        free(slices.text - BLOCK)
    free(slices.edges)
    free(slices.start)
    free(slices.length)


cdef inline uint64_t table_members(const TokenRules* rules, const uint8_t* text, Py_ssize_t n) noexcept nogil:
    """Which of 64 ASCII characters, or of the n that there are, are of a run."""
    cdef uint64_t mask = 0
    cdef Py_ssize_t i
    if n >= BLOCK:
        for i in range(BLOCK):
            mask |= <uint64_t>rules.automaton.member[text[i]] << i
        return mask
    for i in range(n):
        mask |= <uint64_t>rules.automaton.member[text[i]] << i
    return mask


cdef inline Py_ssize_t ascii_edges(TokenSlices* slices, const TokenRules* rules, const uint8_t* text,
                                   Py_ssize_t n) noexcept nogil:
    """Lower the text into the slices'; where tokens begin and end, in turn; an odd number: the last has not ended."""
    cdef uint8_t[BLOCK] rest
    cdef uint32_t* edge = slices.edges
    cdef uint64_t mask, edges, inside = 0
    cdef Py_ssize_t block, base
    cdef bint between_blanks = rules.member == VISIBLE
    for block in range((n + BLOCK - 1) // BLOCK):
        base = block * BLOCK
        if n - base >= BLOCK:
            mask = members(text + base, <uint8_t*>slices.text + base, rules.tables.fold, between_blanks)
        else:
            memset(rest, c" ", BLOCK)
            memcpy(rest, text + base, n - base)
            mask = members(rest, <uint8_t*>slices.text + base, rules.tables.fold, between_blanks)
        if rules.automaton.runs:
            mask = table_members(rules, text + base, n - base)
        edges = mask ^ (mask << 1 | inside)
        inside = mask >> 63
        while edges:
            edge[0] = <uint32_t>(base + lowest_bit(edges))
            edge += 1
            edges &= edges - 1
    return edge - slices.edges


cdef inline Py_ssize_t ascii_piece(TokenSlices* slices, const TokenRules* rules, const uint8_t* text, Py_ssize_t p,
                                   Py_ssize_t n) noexcept nogil:
    """Cut the ASCII text from p on into tokens; where the next piece begins, −1: no memory."""
    cdef Py_ssize_t size = PIECE, stop, m, i, kept = 0
    cdef int64_t start, length
    cdef bint keep
    while True:
        stop = n if n - p <= size else p + size
        if not (reserve_slices(slices, stop - p + BLOCK, (stop - p) // 2 + 2)
                and reserve(<void**>&slices.edges, &slices.edges_room, stop - p + 2 * BLOCK, sizeof(uint32_t))):
            return -1
        m = ascii_edges(slices, rules, text + p, stop - p)
        if m & 1 and stop == n:
            slices.edges[m] = <uint32_t>(n - p)
            m += 1
        elif m & 1 and slices.edges[m - 1] == 0:          # one token that is longer than the piece
            size *= 2
            continue
        elif m & 1:
            m -= 1
            stop = p + slices.edges[m]
        break
    slices.text[stop - p] = c" "
    for i in range(0, m, 2):
        start = slices.edges[i]
        length = slices.edges[i + 1] - start
        slices.start[kept] = start
        slices.length[kept] = <int32_t>length
        keep = length >= rules.shortest
        if rules.letter_first:
            keep &= not c"0" <= slices.text[start] <= c"9"
        kept += keep
    slices.n = kept
    return stop


cdef inline bint negates(const TokenSlices* slices, const TokenRules* rules, NgramTrie* negators, const unit* text,
                         Py_ssize_t p, Py_ssize_t n) noexcept nogil:
    """Whether the token that ends before text[p], the last of the slices, is a negator or ends in the n of n't."""
    cdef int64_t skipped = 4 if slices.negated else 0, length = slices.length[slices.n] - skipped, zero = 0, i
    cdef const char* token = slices.text + slices.start[slices.n] + skipped
    cdef char[LONGEST_NEGATOR + 8] lower
    cdef int32_t node, size = <int32_t>length
    if length <= LONGEST_NEGATOR:
        memset(lower, 0, sizeof(lower))
        for i in range(length):
            lower[i] = token[i] | 32 if c"A" <= token[i] <= c"Z" else token[i]
        strings(negators, False, lower, &zero, &size, 1, &node)
        if node >= 0:
            return True
    if length > 2 and token[length - 1] | 32 == c"t" and token[length - 3] | 32 == c"n" and token[length - 2] == c"'":
        return True
    if length > 4 and token[length - 1] | 32 == c"t" and token[length - 5] | 32 == c"n" and memcmp(
            token + length - 4, b"\xe2\x80\x99", 3) == 0:
        return True
    return (token[length - 1] | 32 == c"n" and p + 1 < n and kind_of(&rules.tables, text[p]) & QUOTE
            and (text[p + 1] == c"t" or text[p + 1] == c"T")
            and not (p + 2 < n and kind_of(&rules.tables, text[p + 2]) & WORD))


cdef inline Py_ssize_t piece_of(TokenSlices* slices, const TokenRules* rules, NgramTrie* negators, const unit* text,
                                Py_ssize_t p, Py_ssize_t n) noexcept nogil:
    """The same for any text, and for negations; the tokens stand between blanks."""
    cdef const CharacterTables* tables = &rules.tables
    cdef Py_ssize_t used = 0, first = -1, characters = 0
    cdef int kind, kinds = 0, leading = 0
    cdef uint32_t c
    cdef bint inside
    slices.n = 0
    while p <= n:
        c = text[p] if p < n else 0
        kind = kind_of(tables, c) if p < n else 0
        inside = kind & rules.member
        if inside and first < 0:
            if used > PIECE:
                return p
            leading = kind
            kinds = 0
            characters = 0
            first = used
            if not reserve_slices(slices, used + 16, slices.n + 1):
                return -1
            if slices.negated:
                memcpy(slices.text + used, b"NOT_", 4)
                used += 4
        if inside:
            if used + 8 > slices.room and not reserve_slices(slices, used + 8, 0):
                return -1
            used += write_utf8(slices.text + used, lower_case(tables, c))
            characters += 1
            kinds |= kind
        elif first >= 0:
            slices.start[slices.n] = first
            slices.length[slices.n] = <int32_t>(used - first)
            if characters >= rules.shortest and not (rules.letter_first and leading & DIGIT):
                if rules.negation and negates(slices, rules, negators, text, p, n):
                    slices.negated = True
                slices.n += 1
                slices.text[used] = c" "
                used += 1
            else:
                used = first
                if kinds & CLAUSE:
                    slices.negated = False
            first = -1
        if kind & CLAUSE and not inside:
            slices.negated = False
        p += 1
    return n


cdef inline int class_of(const TokenRules* rules, uint32_t c) noexcept nogil:
    if c < 0x10000:
        return rules.automaton.classes[c]
    return rules.automaton.classes_beyond[lower_case(&rules.tables, c)]


cdef inline Py_ssize_t match_end(const TokenRules* rules, const unit* text, Py_ssize_t p, Py_ssize_t n,
                                 TokenSlices* slices) noexcept nogil:
    """Where the token that begins at p ends; −1: none does."""
    cdef const Automaton* automaton = &rules.automaton
    cdef int32_t state = automaton.start[p > 0 and automaton.words[class_of(rules, text[p - 1])]], found
    cdef Py_ssize_t q = p, end = -1
    while state:
        found = automaton.transitions[state + (class_of(rules, text[q]) if q < n else automaton.n_classes)]
        end = q if found & 1 else end
        state = found >> 1
        q += 1
    slices.steps += q - p
    return end


cdef inline Py_ssize_t next_first(const TokenRules* rules, const unit* text, Py_ssize_t p, Py_ssize_t n) noexcept nogil:
    """The next character at which a token may begin."""
    while p < n and not rules.automaton.first[class_of(rules, text[p])]:
        p += 1
    return p


cdef inline Py_ssize_t matched_ascii_piece(TokenSlices* slices, const TokenRules* rules, const uint8_t* text,
                                           Py_ssize_t p, Py_ssize_t n) noexcept nogil:
    """The same of an automaton's tokens in ASCII, which keep their places in the text."""
    cdef Py_ssize_t start = p, lowered = p, limit = n if n - p < PIECE else p + PIECE, end
    cdef uint8_t[BLOCK] rest
    slices.n = slices.steps = 0
    while p < limit and slices.steps < MOST_STEPS:
        end = next_first(rules, text, p, limit)
        slices.steps += end - p
        p = end
        end = match_end(rules, text, p, n, slices) if p < limit else -1
        if end < 0:
            p += p < limit
            continue
        if not reserve_slices(slices, end - start + BLOCK, slices.n + 1):
            return -1
        while lowered < end:
            if n - lowered >= BLOCK:
                members(text + lowered, <uint8_t*>slices.text + (lowered - start), rules.tables.fold, False)
            else:
                memset(rest, c" ", BLOCK)
                memcpy(rest, text + lowered, n - lowered)
                members(rest, <uint8_t*>slices.text + (lowered - start), rules.tables.fold, False)
            lowered += BLOCK
        slices.start[slices.n] = p - start
        slices.length[slices.n] = <int32_t>(end - p)
        slices.n += 1
        p = end
    return p


cdef inline Py_ssize_t matched_piece(TokenSlices* slices, const TokenRules* rules, const unit* text, Py_ssize_t p,
                                     Py_ssize_t n) noexcept nogil:
    """The same of any text, in which they then stand between blanks."""
    cdef Py_ssize_t used = 0, end
    slices.n = slices.steps = 0
    while p < n and used <= PIECE and slices.steps < MOST_STEPS:
        end = match_end(rules, text, p, n, slices)
        if end < 0:
            p += 1
            continue
        if not reserve_slices(slices, used + 4 * (end - p) + 1, slices.n + 1):
            return -1
        slices.start[slices.n] = used
        while p < end:
            used += write_utf8(slices.text + used, lower_case(&rules.tables, text[p]))
            p += 1
        slices.length[slices.n] = <int32_t>(used - slices.start[slices.n])
        slices.n += 1
        slices.text[used] = c" "
        used += 1
    return p


cdef inline Py_ssize_t next_piece(TokenSlices* slices, const TokenRules* rules, NgramTrie* negators,
                                  const Document* document, Py_ssize_t p) noexcept nogil:
    """Cut the document from p on into tokens; where the next piece begins, −1: no memory."""
    if rules.automaton.transitions != NULL:
        if document.ascii and rules.automaton.runs:
            return ascii_piece(slices, rules, <const uint8_t*>document.text, p, document.n)
        if document.ascii:
            return matched_ascii_piece(slices, rules, <const uint8_t*>document.text, p, document.n)
        if document.size == 1:
            return matched_piece(slices, rules, <const uint8_t*>document.text, p, document.n)
        if document.size == 2:
            return matched_piece(slices, rules, <const uint16_t*>document.text, p, document.n)
        return matched_piece(slices, rules, <const uint32_t*>document.text, p, document.n)
    if document.ascii and not rules.negation:
        return ascii_piece(slices, rules, <const uint8_t*>document.text, p, document.n)
    if document.size == 1:
        return piece_of(slices, rules, negators, <const uint8_t*>document.text, p, document.n)
    if document.size == 2:
        return piece_of(slices, rules, negators, <const uint16_t*>document.text, p, document.n)
    return piece_of(slices, rules, negators, <const uint32_t*>document.text, p, document.n)


cdef inline Py_ssize_t text_from(TokenSlices* slices, const CharacterTables* tables, const unit* text, Py_ssize_t p,
                                 Py_ssize_t n, int64_t* used) noexcept nogil:
    """Append a piece of the document to the text, two or more blanks in a row being one space; like `next_piece`."""
    cdef Py_ssize_t after, stop = n if n - p < PIECE else p + PIECE
    cdef uint32_t c
    while p < stop:
        if used[0] + 8 > slices.room and not reserve_slices(slices, 2 * used[0] + PIECE, 0):
            return -1
        c = text[p]
        after = p + 1
        if not kind_of(tables, c) & VISIBLE:
            while after < n and not kind_of(tables, text[after]) & VISIBLE:
                after += 1
            c = c" " if after > p + 1 else c
        used[0] += write_utf8(slices.text + used[0], lower_case(tables, c))
        p = after
    return p


cdef inline Py_ssize_t next_text(TokenSlices* slices, const CharacterTables* tables, const Document* document,
                                 Py_ssize_t p, int64_t* used) noexcept nogil:
    if document.size == 1:
        return text_from(slices, tables, <const uint8_t*>document.text, p, document.n, used)
    if document.size == 2:
        return text_from(slices, tables, <const uint16_t*>document.text, p, document.n, used)
    return text_from(slices, tables, <const uint32_t*>document.text, p, document.n, used)
