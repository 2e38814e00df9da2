"""Strings and pairs of nodes, numbered in the order in which they come: open addressing, a slot of 16 bytes each.

A node is a string (a word, or an n-gram of characters) or a pair: the node of an n-gram's beginning and that of its
last word. A string of up to eight bytes is its own key, of a longer one the bytes in the arena decide. Lookups come in
batches, each slot being fetched while others are compared: what a table larger than the cache costs is its latency.
Words are short, so slots are; names of features are longer, and have the slots of `name_table`.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcmp, memcpy

from fastlin.engine.core.allocation cimport reallocate, checked_product
from fastlin.engine.core.csr cimport prefetch

cdef extern from "text.h" nogil:
    uint64_t mix "fastlin_mix"(uint64_t, uint64_t) noexcept
    uint64_t key_of "fastlin_key"(const char*, int64_t, uint64_t) noexcept
    void* zeros "fastlin_zeros"(size_t) noexcept

cdef enum:
    LOOKUP_BATCH = 64   # lookups in flight
    PADDING = 64        # bytes that may be read beyond a text
    MIN_SLOTS = 1024    # slots
    MAX_NODES = 2147483000  # nodes

cdef struct HashSlot:
    uint64_t key
    uint32_t number     # the node + 1; 0: nothing here
    int32_t length      # of the string in bytes; of a pair 0

cdef struct HashTable:
    HashSlot* slots
    uint64_t mask
    int64_t used
    uint64_t seed

cdef struct NgramTrie:
    HashTable strings
    HashTable pairs
    char* arena             # the strings, one behind the other
    int64_t arena_room
    int64_t* offsets        # [n_strings + 1] where they begin
    int64_t n_strings
    int64_t offsets_room
    int32_t* prefix         # [n] of a pair the node of all words but the last; −1: a string
    int32_t* last           # [n] of a pair the node of the last word; of a string its place among the strings
    int64_t n
    int64_t nodes_room


cdef inline bint reserve(void** memory, int64_t* room, int64_t wanted, size_t size) noexcept nogil:
    """Room for `wanted` items, doubling; False: there is no memory for them."""
    cdef int64_t larger
    cdef void* moved
    if wanted <= room[0]:
        return True
    larger = max(checked_product(2, room[0]), wanted)
    moved = reallocate(memory[0], larger, size)
    if moved == NULL:
        return False
    memory[0] = moved
    room[0] = larger
    return True


cdef inline HashSlot* slot_of(const HashTable* table, uint64_t key) noexcept nogil:
    return table.slots + (mix(key ^ table.seed, 0x9e3779b97f4a7c15ULL) & table.mask)


cdef inline HashSlot* next_slot(const HashTable* table, HashSlot* slot) noexcept nogil:
    slot += 1
    return table.slots if slot > table.slots + table.mask else slot


cdef inline bint reserve_slots(HashTable* table, int64_t more) noexcept nogil:
    """Room for `more` entries at a load below 3/4; False: there is no memory for them."""
    cdef uint64_t size = table.mask + 1 if table.slots != NULL else MIN_SLOTS, i
    cdef HashTable larger
    cdef HashSlot* slot
    while 4 * <uint64_t>(table.used + more) > 3 * size:
        size *= 2
    if table.slots != NULL and size == table.mask + 1:
        return True
    larger = table[0]
    larger.slots = <HashSlot*>zeros(size * sizeof(HashSlot))
    larger.mask = size - 1
    if larger.slots == NULL:
        return False
    if table.slots != NULL:
        for i in range(table.mask + 1):
            if table.slots[i].number:
                slot = slot_of(&larger, table.slots[i].key)
                while slot.number:
                    slot = next_slot(&larger, slot)
                slot[0] = table.slots[i]
        free(table.slots)
    table[0] = larger
    return True


cdef inline bint make_trie(NgramTrie* trie, uint64_t seed) noexcept nogil:
    """An empty one, of zeros before; False: there is no memory for it."""
    trie.strings.seed = seed
    trie.pairs.seed = seed * 3 + 1
    if not (reserve(<void**>&trie.offsets, &trie.offsets_room, 1, sizeof(int64_t))
            and reserve_slots(&trie.strings, 0) and reserve_slots(&trie.pairs, 0)):
        return False
    trie.offsets[0] = 0
    return True


cdef inline void free_trie(NgramTrie* trie) noexcept nogil:
    free(trie.strings.slots)
    free(trie.pairs.slots)
    free(trie.arena)
    free(trie.offsets)
    free(trie.prefix)
    free(trie.last)


cdef inline bint add_node(NgramTrie* trie, HashTable* table, HashSlot* slot, uint64_t key, int32_t length,
                          int32_t prefix, int32_t last) noexcept nogil:
    cdef int64_t room = trie.nodes_room
    if trie.n >= MAX_NODES or not reserve(<void**>&trie.prefix, &room, trie.n + 1, sizeof(int32_t)):
        return False
    if not reserve(<void**>&trie.last, &trie.nodes_room, trie.n + 1, sizeof(int32_t)):
        return False
    trie.prefix[trie.n] = prefix
    trie.last[trie.n] = last
    trie.n += 1
    slot.key = key
    slot.length = length
    slot.number = <uint32_t>trie.n
    table.used += 1
    return True


cdef inline bint add_string(NgramTrie* trie, HashSlot* slot, uint64_t key, const char* text,
                            int32_t length) noexcept nogil:
    cdef int64_t m = trie.n_strings, start = trie.offsets[m]
    if not reserve(<void**>&trie.arena, &trie.arena_room, start + length + PADDING, 1):
        return False
    if not reserve(<void**>&trie.offsets, &trie.offsets_room, m + 2, sizeof(int64_t)):
        return False
    if not add_node(trie, &trie.strings, slot, key, length, -1, <int32_t>m):
        return False
    memcpy(trie.arena + start, text, length)
    trie.offsets[m + 1] = start + length
    trie.n_strings = m + 1
    return True


cdef inline bint same_string(const NgramTrie* trie, const HashSlot* slot, const char* text) noexcept nogil:
    cdef int64_t place = trie.last[slot.number - 1]
    return memcmp(trie.arena + trie.offsets[place], text, slot.length) == 0


cdef inline bint strings(NgramTrie* trie, bint learn, const char* text, const int64_t* start, const int32_t* length,
                         Py_ssize_t m, int32_t* nodes) noexcept nogil:
    """The nodes of m strings; −1 for one that is not there, unless it is to be learnt. False: no memory."""
    cdef uint64_t[LOOKUP_BATCH] keys
    cdef HashTable* table = &trie.strings
    cdef Py_ssize_t first = 0, i, size
    cdef HashSlot* slot
    cdef uint64_t key
    while first < m:
        size = m - first if m - first < LOOKUP_BATCH else LOOKUP_BATCH
        if learn and not reserve_slots(table, size):
            return False
        for i in range(size):
            keys[i] = key_of(text + start[first + i], length[first + i], table.seed)
            prefetch(slot_of(table, keys[i]))
        for i in range(size):
            key = keys[i]
            slot = slot_of(table, key)
            while slot.number and not (slot.key == key and slot.length == length[first + i] and (
                    slot.length <= 8 or same_string(trie, slot, text + start[first + i]))):
                slot = next_slot(table, slot)
            if not slot.number and learn and not add_string(trie, slot, key, text + start[first + i],
                                                            length[first + i]):
                return False
            nodes[first + i] = <int32_t>slot.number - 1
        first += size
    return True


cdef inline bint strings_between(NgramTrie* trie, bint learn, const char* text, const int64_t* offsets, Py_ssize_t m,
                                 int32_t* nodes) noexcept nogil:
    """The nodes of m strings that stand one behind the other; −1 and False as above."""
    cdef int32_t[LOOKUP_BATCH] length
    cdef Py_ssize_t first = 0, i, size
    while first < m:
        size = m - first if m - first < LOOKUP_BATCH else LOOKUP_BATCH
        for i in range(size):
            length[i] = <int32_t>(offsets[first + i + 1] - offsets[first + i])
        if not strings(trie, learn, text, offsets + first, length, size, nodes + first):
            return False
        first += size
    return True


cdef inline bint pairs(NgramTrie* trie, bint learn, const int32_t* prefix, const int32_t* last, Py_ssize_t m,
                       int32_t* nodes) noexcept nogil:
    """The nodes of m pairs, −1 like above; a pair with a −1 in it is not there. `nodes` may be `prefix`."""
    cdef uint64_t[LOOKUP_BATCH] keys
    cdef HashTable* table = &trie.pairs
    cdef Py_ssize_t first = 0, i, size
    cdef HashSlot* slot
    cdef uint64_t key
    cdef int32_t a, b
    while first < m:
        size = m - first if m - first < LOOKUP_BATCH else LOOKUP_BATCH
        if learn and not reserve_slots(table, size):
            return False
        for i in range(size):
            keys[i] = <uint64_t><uint32_t>prefix[first + i] << 32 | <uint32_t>last[first + i]
            prefetch(slot_of(table, keys[i]))
        for i in range(size):
            key = keys[i]
            a = prefix[first + i]
            b = last[first + i]
            if a < 0 or b < 0:
                nodes[first + i] = -1
                continue
            slot = slot_of(table, key)
            while slot.number and slot.key != key:
                slot = next_slot(table, slot)
            if not slot.number and learn and not add_node(trie, table, slot, key, 0, a, b):
                return False
            nodes[first + i] = <int32_t>slot.number - 1
        first += size
    return True
