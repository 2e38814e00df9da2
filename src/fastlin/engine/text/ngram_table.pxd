"""Whole tries: n-grams of a given vocabulary, copies, what one takes over from another, names."""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport free
from libc.string cimport memcpy

from fastlin.engine.text.string_table cimport (
    LOOKUP_BATCH, PADDING, HashSlot, HashTable, NgramTrie, pairs, strings, zeros
)


cdef inline bint node_of(NgramTrie* trie, const char* text, int64_t start, int64_t end, int shortest, int longest,
                         int32_t* node) noexcept nogil:
    """The node of the words in text[start, end); False: no memory."""
    cdef int64_t p, first = start
    cdef int32_t length, word
    cdef int n = 1
    node[0] = -1
    for p in range(start, end):
        n += text[p] == c" "
        if text[p] == c" " and (p == start or p + 1 == end or text[p + 1] == c" "):
            return True
    if not shortest <= n <= longest or start == end:
        return True
    for p in range(start, end + 1):
        if p == end or text[p] == c" ":
            length = <int32_t>(p - first)
            if not strings(trie, True, text, &first, &length, 1, &word):
                return False
            if node[0] < 0:
                node[0] = word
            elif not pairs(trie, True, node, &word, 1, node):
                return False
            first = p + 1
    return True


cdef inline void* copied(const void* source, size_t size) noexcept nogil:
    """The same bytes in memory like that of tables, and as many behind them as may be read."""
    cdef void* copy = zeros(size + PADDING)
    if copy != NULL and source != NULL:
        memcpy(copy, source, size)
    return copy


cdef inline bint copy_table(HashTable* to, const HashTable* table) noexcept nogil:
    free(to.slots)
    to[0] = table[0]
    to.slots = <HashSlot*>copied(table.slots, (table.mask + 1) * sizeof(HashSlot))
    return to.slots != NULL


cdef inline bint copy_trie(NgramTrie* to, const NgramTrie* trie) noexcept nogil:
    cdef int64_t used = trie.offsets[trie.n_strings]
    cdef bint done = copy_table(&to.strings, &trie.strings)
    done = copy_table(&to.pairs, &trie.pairs) and done
    free(to.offsets)
    to.arena = <char*>copied(trie.arena, used)
    to.offsets = <int64_t*>copied(trie.offsets, (trie.n_strings + 1) * sizeof(int64_t))
    to.prefix = <int32_t*>copied(trie.prefix, trie.n * sizeof(int32_t))
    to.last = <int32_t*>copied(trie.last, trie.n * sizeof(int32_t))
    if not done or to.arena == NULL or to.offsets == NULL or to.prefix == NULL or to.last == NULL:
        return False
    to.arena_room, to.offsets_room, to.nodes_room = used + PADDING, trie.n_strings + 1, trie.n
    to.n_strings, to.n = trie.n_strings, trie.n
    return True


cdef inline bint take_over(NgramTrie* to, const NgramTrie* other, Py_ssize_t low, Py_ssize_t high, int32_t* nodes,
                           const uint8_t* wanted) noexcept nogil:
    """Runs of strings and runs of pairs in turn, a batch at a time: what a pair is made of is taken over before it."""
    cdef int64_t[LOOKUP_BATCH] start
    cdef int32_t[LOOKUP_BATCH] length
    cdef int32_t[LOOKUP_BATCH] prefix
    cdef int32_t[LOOKUP_BATCH] last
    cdef int32_t[LOOKUP_BATCH] source
    cdef int32_t[LOOKUP_BATCH] found
    cdef Py_ssize_t i = low, m, k, batch
    cdef int64_t place
    cdef bint done, are_pairs
    while i < high:
        m = 0
        batch = i
        are_pairs = other.prefix[i] >= 0
        while i < high and m < LOOKUP_BATCH and (other.prefix[i] >= 0) == are_pairs:
            if are_pairs and (other.prefix[i] >= batch or other.last[i] >= batch):
                break
            source[m] = <int32_t>i
            if are_pairs:
                prefix[m] = nodes[other.prefix[i]]
                last[m] = nodes[other.last[i]]
            else:
                place = other.last[i]
                start[m] = other.offsets[place]
                length[m] = <int32_t>(other.offsets[place + 1] - other.offsets[place])
            m += 1 if wanted == NULL or wanted[i] else 0
            i += 1
        if are_pairs:
            done = pairs(to, True, prefix, last, m, found)
        else:
            done = strings(to, True, other.arena, start, length, m, found)
        if not done:
            return False
        for k in range(m):
            nodes[source[k]] = found[k]
    return True


cdef inline int64_t string_of(const NgramTrie* trie, int32_t node, int64_t* start) noexcept nogil:
    """Where the string of a node begins in the arena, and its length."""
    start[0] = trie.offsets[trie.last[node]]
    return trie.offsets[trie.last[node] + 1] - start[0]


cdef inline int64_t length_of(const NgramTrie* trie, int32_t node) noexcept nogil:
    """Bytes of an n-gram's words with a blank between them."""
    cdef int64_t start, length = 0
    while trie.prefix[node] >= 0:
        length += string_of(trie, trie.last[node], &start) + 1
        node = trie.prefix[node]
    return length + string_of(trie, node, &start)


cdef inline void write_name(const NgramTrie* trie, int32_t node, char* end) noexcept nogil:
    """The words of an n-gram, from the last to the first, so that the text ends there."""
    cdef int64_t start, length
    while trie.prefix[node] >= 0:
        length = string_of(trie, trie.last[node], &start)
        end -= length + 1
        end[0] = c" "
        memcpy(end + 1, trie.arena + start, length)
        node = trie.prefix[node]
    length = string_of(trie, node, &start)
    memcpy(end - length, trie.arena + start, length)
