"""A table from names, as bytes, to numbers: open addressing with linear probing, at most three quarters full.

Names of up to 20 bytes lie in their slots, half a cache line each, so that finding one touches no other memory; longer
ones lie one behind the other in an arena. Features of tokens are names of 9 to 20 bytes: by `string_table`, which
compares a string of more than eight bytes behind two more loads, reading them from among 200,000 takes 1.2 to 1.6 times
as long. Strings that n-grams are made of, and that are given back in order, are in that table.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcmp, memcpy

from fastlin.engine.core.allocation cimport allocate_zeros, reallocate

cdef enum:
    IN_PLACE = 20

cdef struct NameSlot:
    uint32_t hash
    uint32_t length
    int32_t number  # + 1; 0: a free slot
    char text[IN_PLACE]  # or where in the arena it starts

cdef struct NameTable:
    NameSlot* slots
    int64_t mask, used
    char* arena
    int64_t filled, room


cdef inline uint32_t name_hash(const char* text, uint32_t n) noexcept nogil:
    """Eight bytes k at a time, h ← M·(h ⊕ k) with its halves mixed; the last eight may overlap those before.

    MurmurHash3 takes four at a time and reading a seventh longer; no hash of this table is ever seen outside.
    """
    cdef uint64_t h = 0x9E3779B97F4A7C15U * (n + 1), k = 0
    cdef uint32_t p = 0, low, high
    if n >= 8:
        while p + 8 < n:
            memcpy(&k, text + p, 8)
            h = (h ^ k) * 0xD6E8FEB86659FD93U
            h ^= h >> 32
            p += 8
        memcpy(&k, text + n - 8, 8)
    elif n >= 4:
        memcpy(&low, text, 4)
        memcpy(&high, text + n - 4, 4)
        k = (<uint64_t>high << 32) | low
    elif n:
        k = <uint8_t>text[0] | <uint32_t><uint8_t>text[n >> 1] << 8 | <uint32_t><uint8_t>text[n - 1] << 16
    h = (h ^ k) * 0xD6E8FEB86659FD93U
    h = (h ^ (h >> 32)) * 0xD6E8FEB86659FD93U
    return <uint32_t>(h >> 32)


cdef inline const char* text_of(const NameTable* table, const NameSlot* slot) noexcept nogil:
    cdef int64_t start
    if slot.length <= IN_PLACE:
        return slot.text
    memcpy(&start, slot.text, sizeof(start))
    return table.arena + start


cdef inline int32_t find(const NameTable* table, const char* text, uint32_t n, uint32_t h) noexcept nogil:
    """The number of a name of hash h, or −1."""
    cdef int64_t place = h & table.mask
    cdef const NameSlot* slot
    if not table.slots:
        return -1
    while True:
        slot = &table.slots[place]
        if not slot.number:
            return -1
        if slot.hash == h and slot.length == n and memcmp(text_of(table, slot), text, n) == 0:
            return slot.number - 1
        place = (place + 1) & table.mask


cdef inline int32_t find_among(const NameTable* table, const char* text, uint32_t n, uint32_t h,
                               int64_t known) noexcept nogil:
    """The number of a name among the first so many, or −1, beside a thread that enters others.

    These lie behind the known ones, in slots that were free, and nothing of them is looked at but their number.
    """
    cdef int64_t place = h & table.mask
    cdef const NameSlot* slot
    cdef int32_t number
    if not table.slots:
        return -1
    while True:
        slot = &table.slots[place]
        number = slot.number
        if not number:
            return -1
        if number <= known and slot.hash == h and slot.length == n and memcmp(text_of(table, slot), text, n) == 0:
            return number - 1
        place = (place + 1) & table.mask


cdef inline bint needs_slots(const NameTable* table) noexcept nogil:
    return not table.slots or 4 * table.used > 3 * table.mask


cdef inline bint needs_arena(const NameTable* table, uint32_t n) noexcept nogil:
    """Whether a name of n bytes has no room behind the others."""
    return n > IN_PLACE and table.filled + n > table.room


cdef inline bint double_slots(NameTable* table) noexcept nogil:
    """Have twice as many slots; those before are the caller's to free. False if there is no memory."""
    cdef int64_t size = 2 * (table.mask + 1) if table.slots else 256, p, place
    cdef NameSlot* slots = <NameSlot*>allocate_zeros(size, sizeof(NameSlot))
    if not slots:
        return False
    if table.slots:
        for p in range(table.mask + 1):
            if table.slots[p].number:
                place = table.slots[p].hash & (size - 1)
                while slots[place].number:
                    place = (place + 1) & (size - 1)
                slots[place] = table.slots[p]
    table.slots, table.mask = slots, size - 1
    return True


cdef inline bint insert(NameTable* table, const char* text, uint32_t n, uint32_t h, int32_t number) noexcept nogil:
    """Enter a name that is not there; false if there is no memory."""
    cdef int64_t place, room
    cdef char* arena
    cdef NameSlot* slot
    cdef NameSlot* outgrown = table.slots
    if needs_slots(table):
        if not double_slots(table):
            return False
        free(outgrown)
    if needs_arena(table, n):
        room = 2 * (table.room + n)
        arena = <char*>reallocate(table.arena, room, 1)
        if not arena:
            return False
        table.arena, table.room = arena, room
    place = h & table.mask
    while table.slots[place].number:
        place = (place + 1) & table.mask
    slot = &table.slots[place]
    slot.hash, slot.length, slot.number = h, n, number + 1
    if n <= IN_PLACE:
        memcpy(slot.text, text, n)
    else:
        memcpy(slot.text, &table.filled, sizeof(table.filled))
        memcpy(table.arena + table.filled, text, n)
        table.filled += n
    table.used += 1
    return True


cdef inline void clear(NameTable* table) noexcept nogil:
    free(table.slots)
    free(table.arena)
