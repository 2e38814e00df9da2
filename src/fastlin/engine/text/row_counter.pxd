"""The counts of one row: a cell for each number, and bits that say which cells are in use, drained in order.

Draining three levels of bits costs less than sorting the numbers of the row (20 against 146 ms on 20 Newsgroups), but
for a row of a few: a cell is a cache miss, and these are sorted at the row's end, without a branch.
"""

from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy

from fastlin.engine.text.string_table cimport zeros

cdef extern from "text.h" nogil:
    void* grown "fastlin_grown"(void*, size_t used, size_t wanted, size_t* room) noexcept
    void freed "fastlin_freed"(void*, size_t room) noexcept

cdef extern from "ranks.h" nogil:
    void sort_different "fastlin_sort_different"(int32_t*, Py_ssize_t, int32_t*) noexcept

cdef extern from * nogil:
    int lowest_bit "__builtin_ctzll"(unsigned long long) noexcept

cdef enum:
    FEW = 32            # numbers of a short row
    FEW_BITS = 5        # of the place of one
    FEW_ROOM = FEW + 16  # the sort writes behind them
    MOST_NUMBERS = 1 << (31 - FEW_BITS)  # of which rows are taken for short: a number and a place are one int32

cdef struct Cell:
    int32_t count       # in this row
    int32_t rows        # how many rows had the number

cdef struct RowCounter:
    Cell* cells
    uint64_t* bits          # bit i: cell i is in use
    uint64_t* words         # bit i: a bit of word i above is set
    uint64_t* regions       # bit i: a bit of word i above is set
    int64_t room            # cells, a multiple of 2¹⁸
    int32_t* numbers        # what was drained: the rows one behind the other
    int32_t* counts         # with room for as many int64, which they may become
    int64_t n
    size_t numbers_room     # bytes
    size_t counts_room
    int32_t[FEW_ROOM] few   # the numbers of a row that is short so far, as they came, each with its place behind it
    int32_t[FEW] few_counts
    int n_few
    bint in_cells           # whether the row goes to the cells: it has got too long, or is not hashed word by word


cdef inline bint enlarge(void** memory, size_t old, size_t new) noexcept nogil:
    cdef void* larger = zeros(new)
    if larger == NULL:
        return False
    if memory[0] != NULL:
        memcpy(larger, memory[0], old)
        free(memory[0])
    memory[0] = larger
    return True


cdef inline bint reserve_cells(RowCounter* counter, int64_t wanted) noexcept nogil:
    """Cells for the numbers below `wanted`; False: there is no memory for them."""
    cdef int64_t room = counter.room
    if wanted <= room:
        return True
    wanted = (max(wanted, 2 * room) + (1 << 18) - 1) >> 18 << 18
    if not (enlarge(<void**>&counter.cells, room * sizeof(Cell), wanted * sizeof(Cell))
            and enlarge(<void**>&counter.bits, room >> 3, wanted >> 3)
            and enlarge(<void**>&counter.words, room >> 9, wanted >> 9)
            and enlarge(<void**>&counter.regions, room >> 15, wanted >> 15)):
        return False
    counter.room = wanted
    return True


cdef inline void count_number(RowCounter* counter, int32_t number, int32_t amount) noexcept nogil:
    counter.cells[number].count += amount
    counter.bits[number >> 6] |= <uint64_t>1 << (number & 63)
    counter.words[number >> 12] |= <uint64_t>1 << (number >> 6 & 63)
    counter.regions[number >> 18] |= <uint64_t>1 << (number >> 12 & 63)


cdef inline void use_cells(RowCounter* counter) noexcept nogil:
    """Let all numbers of a row go to the cells, those that it has already, too."""
    cdef int i
    for i in range(counter.n_few):
        count_number(counter, counter.few[i] >> FEW_BITS, counter.few_counts[i])
    counter.n_few, counter.in_cells = 0, True


cdef inline bint stays_short(RowCounter* counter, Py_ssize_t more) noexcept nogil:
    """Whether so many more numbers leave a row short; if not, it goes to the cells."""
    if not counter.in_cells and counter.n_few + more <= FEW:
        return True
    use_cells(counter)
    return False


cdef inline void count_few(RowCounter* counter, int32_t number, int32_t amount) noexcept nogil:
    """Count a number of a row that stays short, in how many rows it was aside."""
    counter.few[counter.n_few] = number << FEW_BITS | counter.n_few
    counter.few_counts[counter.n_few] = amount
    counter.n_few += 1


cdef inline void flush_few(RowCounter* counter) noexcept nogil:
    """Append the numbers of a short row to what was drained, where there is room for them."""
    cdef int32_t[FEW_ROOM] ordered
    cdef int32_t* numbers = counter.numbers + counter.n
    cdef int32_t* counts = counter.counts + counter.n
    cdef Py_ssize_t i, n = 0
    cdef int32_t number, last = -1
    sort_different(counter.few, counter.n_few, ordered)
    for i in range(counter.n_few):
        number = ordered[i] >> FEW_BITS
        if number == last:
            counts[n - 1] += counter.few_counts[ordered[i] & (FEW - 1)]
            continue
        numbers[n] = last = number
        counts[n] = counter.few_counts[ordered[i] & (FEW - 1)]
        n += 1
    counter.n += n
    counter.n_few = 0


cdef inline bint reserve_counts(RowCounter* counter, int64_t more) noexcept nogil:
    """Room for so many more numbers and counts; False: there is no memory for them."""
    cdef size_t used = counter.n * sizeof(int32_t), wanted = used + more * sizeof(int32_t)
    cdef void* memory
    if wanted > counter.numbers_room:
        memory = grown(counter.numbers, used, wanted, &counter.numbers_room)
        if memory == NULL:
            return False
        counter.numbers = <int32_t*>memory
    if 2 * wanted > counter.counts_room:
        memory = grown(counter.counts, used, 2 * wanted, &counter.counts_room)
        if memory == NULL:
            return False
        counter.counts = <int32_t*>memory
    return True


cdef inline bint append_count(RowCounter* counter, int32_t number, int32_t count) noexcept nogil:
    """Straight to what was drained; False: no memory."""
    if not reserve_counts(counter, 1):
        return False
    counter.numbers[counter.n] = number
    counter.counts[counter.n] = count
    counter.n += 1
    return True


cdef inline bint flush_row(RowCounter* counter) noexcept nogil:
    """Append the row to what was drained, its numbers ascending, and be empty again; False: no memory."""
    cdef int64_t r, w, b, number
    cdef uint64_t region, word, bits
    if counter.n_few:
        if not reserve_counts(counter, counter.n_few):
            return False
        flush_few(counter)
        return True
    counter.in_cells = False
    for r in range(counter.room >> 18):
        region = counter.regions[r]
        counter.regions[r] = 0
        while region:
            w = r << 6 | lowest_bit(region)
            region &= region - 1
            word = counter.words[w]
            counter.words[w] = 0
            if not reserve_counts(counter, 4096):
                return False
            while word:
                b = w << 6 | lowest_bit(word)
                word &= word - 1
                bits = counter.bits[b]
                counter.bits[b] = 0
                while bits:
                    number = b << 6 | lowest_bit(bits)
                    bits &= bits - 1
                    counter.numbers[counter.n] = <int32_t>number
                    counter.counts[counter.n] = counter.cells[number].count
                    counter.cells[number].count = 0
                    counter.cells[number].rows += 1
                    counter.n += 1
    return True


cdef inline void clear_row(RowCounter* counter) noexcept nogil:
    """Forget the row that was begun."""
    cdef int64_t r, w, b
    counter.n_few, counter.in_cells = 0, False
    for r in range(counter.room >> 18):
        counter.regions[r] = 0
    for w in range(counter.room >> 12):
        counter.words[w] = 0
    for b in range(counter.room >> 6):
        counter.bits[b] = 0
    for b in range(counter.room):
        counter.cells[b].count = 0


cdef inline void free_counter(RowCounter* counter) noexcept nogil:
    free(counter.cells)
    free(counter.bits)
    free(counter.words)
    free(counter.regions)
    freed(counter.numbers, counter.numbers_room)
    freed(counter.counts, counter.counts_room)
