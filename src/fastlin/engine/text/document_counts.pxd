"""One document: cut into tokens or n-grams of characters, looked up or hashed, and counted.

The words of a document come first, then its pairs, its triples and so on: the order in which a vocabulary learns them.
Affixes ("un-", "-ing") follow the words of their piece.
"""

from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcmp, memcpy

from fastlin.engine.text.characters cimport utf8_width
from fastlin.engine.text.vectorizer_state cimport (
    CHARACTERS, CHUNK, WORDS, CountTarget, FeatureSpec, VectorizerBuffers, WordCache
)
from fastlin.engine.text.vectorizer_state cimport (
    clear_word_cache, check_memory, check_signals, append_slice, count_hashes, count_nodes, count_slices
)
from fastlin.engine.core.csr cimport prefetch
from fastlin.engine.text.murmur cimport bucket, murmur_padded
from fastlin.engine.text.string_table cimport make_trie, pairs, reserve, strings
from fastlin.engine.text.row_counter cimport count_number, append_count, reserve_cells, use_cells
from fastlin.engine.text.tokens cimport PIECE, Document, TokenSlices, reserve_slices, next_piece, next_text

cdef enum:
    MAX_CACHED = 1 << 24    # numbers that are kept for words
    PREFETCH_AHEAD = 6      # words whose numbers are on their way
    MAX_CACHED_BYTES = 64   # bytes of a word whose numbers are kept


# --- characters ------------------------------------------------------------------------------------------------------


cdef inline int64_t skip_characters(const char* text, int64_t p, int64_t end, int n) noexcept nogil:
    """n characters on, or the end."""
    while n > 0 and p < end:
        p += utf8_width(text[p])
        n -= 1
    return p if n == 0 else end + 1


cdef inline int count_character_ngrams(VectorizerBuffers* s, const FeatureSpec* spec, const CountTarget* target,
                                       const Document* document) except -1 nogil:
    """n-grams of the whole text: all of the shortest, then all of the next length."""
    cdef int64_t end = 0, a, b
    cdef Py_ssize_t p = 0
    cdef int n
    while p < document.n:
        p = next_text(&s.tokens, &spec.rules.tables, document, p, &end)
        check_memory(p >= 0)
        check_signals(s, PIECE)
    for n in range(spec.shortest, spec.longest + 1):
        a = 0
        b = skip_characters(s.tokens.text, 0, end, n)
        if b > end:
            break
        while True:
            append_slice(&s.grams, a, b - a)
            if s.grams.n == CHUNK:
                count_slices(s, target, s.tokens.text, &s.grams)
            if b == end:
                break
            a += utf8_width(s.tokens.text[a])
            b += utf8_width(s.tokens.text[b])
        count_slices(s, target, s.tokens.text, &s.grams)
    return 0


cdef inline int count_ngrams_of_word(VectorizerBuffers* s, const FeatureSpec* spec, const CountTarget* target,
                                     int64_t start, int64_t end, bint counted) except -1 nogil:
    """n-grams of a word and the blanks around it, [start, end); a word shorter than n counts once."""
    cdef const char* text = s.tokens.text
    cdef int64_t a, b
    cdef int n
    for n in range(spec.shortest, spec.longest + 1):
        a = start
        b = skip_characters(text, start, end, n)
        b = b if b <= end else end
        append_slice(&s.grams, a, b - a)
        while b < end:
            a += utf8_width(text[a])
            b += utf8_width(text[b])
            append_slice(&s.grams, a, b - a)
            if counted and s.grams.n >= CHUNK:
                count_slices(s, target, text, &s.grams)
        if a == start:
            break
    if counted:
        count_slices(s, target, text, &s.grams)
    return 0


cdef inline int cache_word(VectorizerBuffers* s, const FeatureSpec* spec, const CountTarget* target, int64_t start,
                           int64_t end) except -1 nogil:
    """Keep the numbers of the n-grams of a word that is new, [start, end) with the blanks around it."""
    cdef WordCache* known = &s.known
    cdef int64_t used = known.first[known.n]
    cdef Py_ssize_t i
    cdef int32_t number, sign
    count_ngrams_of_word(s, spec, target, start, end, False)
    check_memory(reserve(<void**>&known.numbers, &known.numbers_room, used + s.grams.n, sizeof(int32_t)))
    check_memory(reserve(<void**>&known.first, &known.first_room, known.n + 2, sizeof(int64_t)))
    if target.n_buckets == 0:
        check_memory(strings(target.trie, target.learn, s.tokens.text, s.grams.start, s.grams.length, s.grams.n,
                             known.numbers + used))
        if target.columns == NULL:
            check_memory(reserve_cells(&s.counter, target.trie.n))
    for i in range(s.grams.n):
        if target.n_buckets:
            number = <int32_t>murmur_padded(s.tokens.text + s.grams.start[i], s.grams.length[i], 0)
            bucket(number, target.n_buckets, &number, &sign)
            number = ~number if target.signs and sign < 0 else number
        else:
            number = known.numbers[known.first[known.n] + i]
            number = target.columns[number] if number >= 0 and target.columns != NULL else number
            if number < 0:
                continue
        known.numbers[used] = number
        used += 1
    s.grams.n = 0
    known.n += 1
    known.first[known.n] = used
    return 0


cdef inline Py_ssize_t count_cached_words(VectorizerBuffers* s, const FeatureSpec* spec, const CountTarget* target,
                                          Py_ssize_t i) except -1 nogil:
    """Count the n-grams of characters of the piece's words from the i-th to the next that is too long: where it is.

    Most words have been seen before, and have the numbers they had then.
    """
    cdef WordCache* known = &s.known
    cdef TokenSlices* tokens = &s.tokens
    cdef Py_ssize_t stop = i, k
    cdef int64_t q
    cdef int32_t number, sign
    if known.n == 0 or known.first[known.n] > MAX_CACHED or known.source != target.trie or (
            not target.learn and known.source_n != target.trie.n):
        clear_word_cache(known)
        known.source, known.source_n = target.trie, target.trie.n
        check_memory(make_trie(&known.trie, target.trie.strings.seed)
                     and reserve(<void**>&known.first, &known.first_room, 2, sizeof(int64_t)))
        known.first[0] = 0
    while stop < tokens.n and tokens.length[stop] <= MAX_CACHED_BYTES:
        stop += 1
    if not target.in_order:
        use_cells(&s.counter)
    check_signals(s, 8 * (stop - i))
    check_memory(reserve(<void**>&s.nodes, &s.nodes_room, stop - i, sizeof(int32_t)))
    check_memory(strings(&known.trie, True, tokens.text, tokens.start + i, tokens.length + i, stop - i, s.nodes))
    for k in range(stop - i):
        if k + PREFETCH_AHEAD < stop - i and s.nodes[k + PREFETCH_AHEAD] < known.n:
            q = known.first[s.nodes[k + PREFETCH_AHEAD]]
            prefetch(known.numbers + q)
            prefetch(known.numbers + q + 16)
        if s.nodes[k] == known.n:
            cache_word(s, spec, target, tokens.start[i + k] - 1, tokens.start[i + k] + tokens.length[i + k] + 1)
        for q in range(known.first[s.nodes[k]], known.first[s.nodes[k] + 1]):
            number = known.numbers[q]
            sign = number >> 31                         # 0 or −1
            if target.in_order:
                check_memory(append_count(&s.counter, number ^ sign, 1 | sign))
            else:
                count_number(&s.counter, number ^ sign, 1 | sign)
    return stop


# --- words -----------------------------------------------------------------------------------------------------------


cdef inline int append_affixes(VectorizerBuffers* s, const FeatureSpec* spec, int64_t start,
                               int64_t length) except -1 nogil:
    """The beginnings and ends of a word that is longer than they are, as un- and -ing; a mark is no part of it."""
    cdef bint marked = spec.rules.negation and length > 4 and memcmp(s.tokens.text + start, b"NOT_", 4) == 0
    cdef const char* text = s.tokens.text + start + 4 * marked
    cdef TokenSlices* out = &s.affixes
    cdef int64_t used = out.start[out.n - 1] + out.length[out.n - 1] if out.n else 0, p, characters = 0
    cdef int i
    length -= 4 * marked
    check_memory(reserve_slices(out, used + (spec.n_prefixes + spec.n_suffixes) * (length + 1), 0))
    p = 0
    while p < length:
        characters += 1
        p += utf8_width(text[p])
    for i in range(spec.n_prefixes):
        if characters > spec.prefixes[i]:
            p = skip_characters(text, 0, length, spec.prefixes[i])
            memcpy(out.text + used, text, p)
            out.text[used + p] = c"-"
            append_slice(out, used, p + 1)
            used += p + 1
    for i in range(spec.n_suffixes):
        if characters > spec.suffixes[i]:
            p = skip_characters(text, 0, length, <int>(characters - spec.suffixes[i]))
            out.text[used] = c"-"
            memcpy(out.text + used + 1, text + p, length - p)
            append_slice(out, used, length - p + 1)
            used += length - p + 1
    return 0


cdef inline int look_up_words(VectorizerBuffers* s, const CountTarget* target) except -1 nogil:
    """The nodes of the piece's words, without the stop words among them."""
    cdef TokenSlices* tokens = &s.tokens
    cdef Py_ssize_t i, kept = 0
    check_memory(reserve(<void**>&s.nodes, &s.nodes_room, tokens.n + 1, sizeof(int32_t)))
    check_memory(strings(target.trie, target.learn, tokens.text, tokens.start, tokens.length, tokens.n, s.nodes))
    if target.ignored:
        for i in range(tokens.n):
            tokens.start[kept] = tokens.start[i]
            tokens.length[kept] = tokens.length[i]
            s.nodes[kept] = s.nodes[i]
            kept += not 0 <= s.nodes[i] < target.ignored
        tokens.n = kept
    return 0


cdef inline int hash_word_ngrams(VectorizerBuffers* s, const FeatureSpec* spec, const CountTarget* target,
                                 Py_ssize_t* m) except -1 nogil:
    """Append the piece's words to the document's text, a blank between them, and hash the n-grams they end."""
    cdef TokenSlices* joined = &s.grams
    cdef int64_t used = s.begin[m[0]], length
    cdef Py_ssize_t i
    cdef int n
    for i in range(s.tokens.n):
        length = s.tokens.length[i]
        check_memory(reserve_slices(joined, used + length + 1, 0))
        memcpy(joined.text + used, s.tokens.text + s.tokens.start[i], length)
        joined.text[used + length] = c" "
        used += length
        m[0] += 1
        for n in range(spec.shortest, spec.longest + 1 if spec.longest < m[0] else <int>m[0] + 1):
            append_slice(joined, s.begin[m[0] - n], used - s.begin[m[0] - n])
        if joined.n >= CHUNK:
            count_slices(s, target, joined.text, joined)
        used += 1
        check_memory(reserve(<void**>&s.begin, &s.begin_room, m[0] + 1, sizeof(int64_t)))
        s.begin[m[0]] = used
    return count_slices(s, target, joined.text, joined)


cdef inline int count_word_ngrams(VectorizerBuffers* s, const FeatureSpec* spec, const CountTarget* target,
                                  Py_ssize_t m) except -1 nogil:
    """The n-grams of the document's m words: those of n words are pairs of one of n − 1 and the next word."""
    cdef Py_ssize_t first, size
    cdef int n
    check_memory(reserve(<void**>&s.series, &s.series_room, m, sizeof(int32_t)))
    memcpy(s.series, s.words, m * sizeof(int32_t))
    for n in range(2, spec.longest + 1 if spec.longest < m else <int>m + 1):
        first = 0
        while first <= m - n:
            size = min(m - n + 1 - first, CHUNK)
            check_signals(s, size)
            check_memory(pairs(target.trie, target.learn, s.series + first, s.words + first + n - 1, size,
                               s.series + first))
            if n >= spec.shortest:
                count_nodes(s, target, s.series + first, size)
            first += size
    return 0


cdef inline int count_words(VectorizerBuffers* s, const FeatureSpec* spec, const CountTarget* target,
                            const Document* document) except -1 nogil:
    """The words of a document, their affixes, and the n-grams of words."""
    cdef TokenSlices* tokens = &s.tokens
    cdef bint hashed = target.n_buckets > 0
    cdef Py_ssize_t p = 0, m = 0, i
    tokens.negated = False
    check_memory(reserve(<void**>&s.begin, &s.begin_room, 1, sizeof(int64_t)))
    s.begin[0] = 0
    while p < document.n:
        p = next_piece(tokens, &spec.rules, spec.negators, document, p)
        check_memory(p >= 0)
        check_signals(s, tokens.n + tokens.steps)
        if not hashed or target.ignored:
            look_up_words(s, target)
        if spec.n_prefixes + spec.n_suffixes:
            for i in range(tokens.n):
                append_affixes(s, spec, tokens.start[i], tokens.length[i])
        if hashed and spec.longest > 1:
            hash_word_ngrams(s, spec, target, &m)
        elif hashed:
            count_hashes(s, target, tokens.text, tokens)
        elif spec.shortest == 1:
            count_nodes(s, target, s.nodes, tokens.n)
        if not hashed and spec.longest > 1:
            check_memory(reserve(<void**>&s.words, &s.words_room, m + tokens.n + 1, sizeof(int32_t)))
            memcpy(s.words + m, s.nodes, tokens.n * sizeof(int32_t))
            m += tokens.n
        count_slices(s, target, s.affixes.text, &s.affixes)
    return count_word_ngrams(s, spec, target, m) if m and not hashed else 0


cdef inline int count_document(VectorizerBuffers* s, const FeatureSpec* spec, const CountTarget* target,
                               const Document* document) except -1 nogil:
    """Count the features of a document; what remains is to drain the tally."""
    cdef TokenSlices* tokens = &s.tokens
    cdef Py_ssize_t p = 0, i
    s.grams.n = 0
    s.affixes.n = 0
    if spec.unit == WORDS:
        return count_words(s, spec, target, document)
    if spec.unit == CHARACTERS:
        return count_character_ngrams(s, spec, target, document)
    tokens.negated = False
    while p < document.n:
        p = next_piece(tokens, &spec.rules, spec.negators, document, p)
        check_memory(p >= 0)
        i = 0
        while i < tokens.n:
            if tokens.length[i] > MAX_CACHED_BYTES:
                count_ngrams_of_word(s, spec, target, tokens.start[i] - 1, tokens.start[i] + tokens.length[i] + 1, True)
                i += 1
            else:
                i = count_cached_words(s, spec, target, i)
    return 0
