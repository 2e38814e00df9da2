"""What a reader works with: the plan of the features, what they are counted into, scratch memory; and how to count."""

from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free
from libc.string cimport memset

from fastlin.engine.core.csr cimport prefetch
from fastlin.engine.text.murmur cimport bucket, murmur_padded
from fastlin.engine.text.string_table cimport LOOKUP_BATCH, NgramTrie, free_trie, reserve, strings
from fastlin.engine.text.row_counter cimport (
    MOST_NUMBERS, RowCounter, append_count, count_few, count_number, free_counter, reserve_cells, stays_short
)
from fastlin.engine.text.tokens cimport TokenRules, TokenSlices, free_slices, reserve_slices

cdef enum:
    CHUNK = 1024            # n-grams that are looked up together
    SIGNAL_INTERVAL = 1 << 20  # look-ups after which signals are noticed

cdef enum Unit:
    WORDS, CHARACTERS, IN_WORDS

cdef struct FeatureSpec:    # what a feature is
    TokenRules rules
    NgramTrie* negators
    int unit
    int shortest            # n-grams of so many words or characters
    int longest
    const int32_t* prefixes     # their lengths
    int n_prefixes
    const int32_t* suffixes
    int n_suffixes

cdef struct CountTarget:    # what is counted
    NgramTrie* trie
    bint learn
    int32_t ignored             # nodes below it are stop words
    const int32_t* columns      # of the nodes; NULL: the nodes themselves are counted
    int64_t n_buckets           # 0: the nodes of a lexicon
    bint signs                  # every other bucket counts down
    bint in_order               # hashes are not tallied, but written as they come

cdef struct WordCache:      # what the n-grams of characters of a word were, the last time
    NgramTrie trie              # the words
    int64_t* first              # [n + 1] where those of each word begin
    int64_t first_room
    int32_t* numbers            # what is tallied: the number, or ~number to count down
    int64_t numbers_room
    int64_t n                   # words
    const NgramTrie* source     # the lexicon the numbers are of, and how many nodes it had
    int64_t source_n

cdef struct VectorizerBuffers:
    TokenSlices tokens
    TokenSlices grams       # of characters: slices of the tokens' text; of words, when hashed: a text of their own
    TokenSlices affixes
    int32_t* nodes          # of a chunk
    int64_t nodes_room
    int32_t* words          # the nodes of the document's words
    int64_t words_room
    int32_t* series         # and of its n-grams so far, by their first word
    int64_t series_room
    int64_t* begin          # where each of them begins in the text of those that are hashed
    int64_t begin_room
    WordCache known
    RowCounter counter
    int64_t work            # look-ups since signals were noticed
    const int32_t* stop     # one: another thread has failed


cdef inline void clear_word_cache(WordCache* known) noexcept nogil:
    free_trie(&known.trie)
    free(known.first)
    free(known.numbers)
    memset(known, 0, sizeof(WordCache))


cdef inline void free_buffers(VectorizerBuffers* s) noexcept nogil:
    free_slices(&s.tokens)
    free_slices(&s.grams)
    free_slices(&s.affixes)
    free(s.nodes)
    free(s.words)
    free(s.series)
    free(s.begin)
    clear_word_cache(&s.known)
    free_counter(&s.counter)


cdef inline int check_memory(bint there) except -1 nogil:
    if not there:
        with gil:
            raise MemoryError("no memory for the vocabulary or the text of a document")
    return 0


cdef inline int check_signals(VectorizerBuffers* s, Py_ssize_t work) except -1 nogil:
    """Every million look-ups: is there a Ctrl-C, or has another thread failed?"""
    s.work += work
    if s.work > SIGNAL_INTERVAL:
        s.work = 0
        with gil:
            if s.stop != NULL and s.stop[0]:
                raise InterruptedError("another thread has failed")
            PyErr_CheckSignals()
    return 0


cdef inline int count_nodes(VectorizerBuffers* s, const CountTarget* target, const int32_t* nodes,
                            Py_ssize_t m) except -1 nogil:
    cdef Py_ssize_t i
    cdef int32_t node
    if target.columns == NULL:
        check_memory(reserve_cells(&s.counter, target.trie.n))
    for i in range(m):
        node = nodes[i]
        if node < 0:
            continue
        if target.columns != NULL:
            node = target.columns[node]
            if node < 0:
                continue
        count_number(&s.counter, node, 1)
    return 0


cdef inline int count_hashes(VectorizerBuffers* s, const CountTarget* target, const char* text,
                             const TokenSlices* slices) except -1 nogil:
    """A batch is hashed and its cells fetched before they are counted: a cell is a cache miss."""
    cdef int32_t[LOOKUP_BATCH] columns
    cdef int32_t[LOOKUP_BATCH] signs
    cdef Py_ssize_t first = 0, i, size
    if not target.in_order and target.n_buckets <= MOST_NUMBERS and stays_short(&s.counter, slices.n):
        for i in range(slices.n):
            bucket(<int32_t>murmur_padded(text + slices.start[i], slices.length[i], 0), target.n_buckets, &columns[0],
                   &signs[0])
            count_few(&s.counter, columns[0], signs[0] if target.signs else 1)
        return 0
    while first < slices.n:
        size = min(slices.n - first, LOOKUP_BATCH)
        for i in range(size):
            bucket(<int32_t>murmur_padded(text + slices.start[first + i], slices.length[first + i], 0),
                   target.n_buckets, &columns[i], &signs[i])
            if not target.in_order:
                prefetch(s.counter.cells + columns[i])
                prefetch(s.counter.bits + (columns[i] >> 6))
        for i in range(size):
            if target.in_order:
                check_memory(append_count(&s.counter, columns[i], signs[i] if target.signs else 1))
            else:
                count_number(&s.counter, columns[i], signs[i] if target.signs else 1)
        first += size
    return 0


cdef inline int count_slices(VectorizerBuffers* s, const CountTarget* target, const char* text,
                             TokenSlices* slices) except -1 nogil:
    """Count the slices of the text, and be ready for others."""
    check_signals(s, slices.n)
    if target.n_buckets:
        count_hashes(s, target, text, slices)
    else:
        check_memory(reserve(<void**>&s.nodes, &s.nodes_room, slices.n, sizeof(int32_t)))
        check_memory(strings(target.trie, target.learn, text, slices.start, slices.length, slices.n, s.nodes))
        count_nodes(s, target, s.nodes, slices.n)
    slices.n = 0
    return 0


cdef inline int append_slice(TokenSlices* slices, int64_t start, int64_t length) except -1 nogil:
    check_memory(reserve_slices(slices, 0, slices.n + 1))
    slices.start[slices.n] = start
    slices.length[slices.n] = <int32_t>length
    slices.n += 1
    return 0
