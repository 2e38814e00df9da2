"""What documents look like: one pass over the code points of a text that counts kinds of characters, words and runs.

`kinds` is a table from code points to the kinds below; everything a language or Unicode has to say is in it. A word is
a run of letters, digits and marks that begins with one of the former two; an apostrophe between two of these is part of
it. Of what the text has, a character is looked up once, and a word's own counts stay in registers.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t

(OTHER, UPPER, LOWER, LETTER, DIGIT, MARK, APOSTROPHE, EXCLAMATION, QUESTION, STOP, ELLIPSIS, COMMA, COLON, QUOTE,
 BRACKET, DASH, PUNCTUATION, SYMBOL) = range(18)
# what comes after a count for each kind
WORDS, IN_WORDS, ALL_CAPS, CAPITALISED, ELONGATED, REPEATED, CHARACTERS, COUNTS = range(18, 26)

cdef enum:
    upper = 1
    letter = 3
    digit = 4
    mark = 5
    apostrophe = 6
    exclamation = 7
    question = 8
    stop = 9
    ellipsis = 10
    quote = 13
    words = 18
    in_words = 19
    all_caps = 20
    capitalised = 21
    elongated = 22
    repeated = 23
    characters = 24


def describe_documents(const uint32_t[::1] codes, const int64_t[::1] bounds, const uint8_t[::1] kinds,
                       int64_t[:, ::1] counts):
    """counts[d] of the documents d, whose code points lie between `bounds`; it is zeros before.

    An apostrophe outside of words counts as a quotation mark, two full stops or more in a row as one ellipsis.
    """
    cdef Py_ssize_t d
    cdef int64_t p, q, end, letters, capitals, run
    cdef bint long_run, first_upper
    cdef uint8_t kind
    cdef int64_t* row
    with nogil:
        for d in range(bounds.shape[0] - 1):
            row = &counts[d, 0]
            p = bounds[d]
            end = bounds[d + 1]
            row[characters] = end - p
            while p < end:
                kind = kinds[codes[p]]
                q = p
                if upper <= kind <= digit:
                    letters = capitals = run = 0
                    long_run = False
                    first_upper = kind == upper
                    while True:
                        row[kind] += 1
                        letters += kind <= letter
                        capitals += kind == upper
                        run = run + 1 if kind <= letter and q > p and codes[q] == codes[q - 1] else 1
                        long_run |= run >= 3
                        q += 1
                        if q == end:
                            break
                        kind = kinds[codes[q]]
                        if kind == apostrophe and q + 1 < end and upper <= kinds[codes[q + 1]] <= digit:
                            row[apostrophe] += 1
                            q += 1
                            kind = kinds[codes[q]]
                        elif not upper <= kind <= mark:
                            break
                    row[words] += 1
                    row[in_words] += q - p
                    if letters >= 2 and capitals == letters:
                        row[all_caps] += 1
                    else:
                        row[capitalised] += first_upper
                    row[elongated] += long_run
                elif kind == stop:
                    while q < end and kinds[codes[q]] == stop:
                        q += 1
                    if q - p > 1:
                        row[ellipsis] += 1
                    else:
                        row[stop] += 1
                elif kind == exclamation or kind == question:
                    while q < end and exclamation <= kinds[codes[q]] <= question:
                        row[kinds[codes[q]]] += 1
                        q += 1
                    row[repeated] += q - p > 1
                else:
                    row[quote if kind == apostrophe else kind] += 1
                    q += 1
                p = q
