/* A text in 64 bits: the compiled twin of `page/simhash`, which says what it is for.

   One pass over the text's UTF-8. Each word is hashed, and its 64 bits are to be added to 64
   counters. Hashes wait until there are some hundred. The counters lie across eight planes, one for
   each bit of a counter, so that adding eight words takes some fifty operations and not 512. Before
   a counter runs over, the planes are emptied into real ones.

   Words of ASCII letters, most of them in most texts, are found 64 bytes at a time: arithmetic on
   eight bytes at once says which of them end a word, and then each word is hashed by eight bytes at
   a time. A branch for each letter, or for each word, would be foretold wrongly once a word.

   Owns no rule: the ranges and weights are those of `page/simhash`, and tests compare the two. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <string.h>

#define MAX_CHARS 16000
#define SHORT 3
#define CAP 8
#define SLOT_BITS 14
#define ALPHABETS_END 0x900
#define GROUP 8
#define PLANES 8
#define ROOM 512   /* hashes that may wait */
#define STRETCH 64 /* bytes in which words are looked for at a time */
#define START 0xCBF29CE484222325u
#define PRIME 0x100000001B3u
#define MIX 0xFF51AFD7ED558CCDu

enum { SEPARATOR, LETTER, UNSPACED };

typedef struct {
    uint32_t first, last;
    int kind;
} Range;

/* What is no letter, beyond ASCII, in order. */
static const Range RANGES[] = {
    {0x80, 0xBF, SEPARATOR},      {0xD7, 0xD7, SEPARATOR},     {0xF7, 0xF7, SEPARATOR},
    {0xE00, 0xEFF, UNSPACED},     {0x1000, 0x109F, UNSPACED},  {0x1780, 0x17FF, UNSPACED},
    {0x2000, 0x2BFF, SEPARATOR},  {0x2E00, 0x2E7F, SEPARATOR}, {0x3000, 0x3004, SEPARATOR},
    {0x3005, 0x3007, UNSPACED},   {0x3008, 0x3040, SEPARATOR}, {0x3041, 0x31FF, UNSPACED},
    {0x3400, 0x4DBF, UNSPACED},   {0x4E00, 0x9FFF, UNSPACED},  {0xD800, 0xDFFF, SEPARATOR},
    {0xF900, 0xFAFF, UNSPACED},   {0xFE00, 0xFE6F, SEPARATOR}, {0xFF00, 0xFF0F, SEPARATOR},
    {0xFF1A, 0xFF20, SEPARATOR},  {0xFF3B, 0xFF40, SEPARATOR}, {0xFF5B, 0xFF65, SEPARATOR},
    {0xFF66, 0xFF9D, UNSPACED},   {0xFFF0, 0xFFFF, SEPARATOR}, {0x1F000, 0x1FAFF, SEPARATOR},
    {0x20000, 0x3FFFF, UNSPACED},
};
#define RANGE_COUNT (sizeof RANGES / sizeof *RANGES)

static unsigned char ascii_folded[256]; /* 0: a separator, or not ASCII */

static void fill_table(void) {
    for (int c = '0'; c <= '9'; c++) ascii_folded[c] = (unsigned char)c;
    for (int c = 'a'; c <= 'z'; c++) {
        ascii_folded[c] = (unsigned char)c;
        ascii_folded[c - 32] = (unsigned char)c;
    }
}

static int kind_of(uint32_t c) {
    size_t low = 0, high = RANGE_COUNT;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (c > RANGES[middle].last)
            low = middle + 1;
        else
            high = middle;
    }
    return low < RANGE_COUNT && c >= RANGES[low].first ? RANGES[low].kind : LETTER;
}

/* The small letter of a letter beyond ASCII. */
static uint32_t folded(uint32_t c) {
    if ((c >= 0xC0 && c <= 0xDE) || (c >= 0x391 && c <= 0x3A9) || (c >= 0x410 && c <= 0x42F))
        return c + 32;
    return c >= 0x400 && c <= 0x40F ? c + 80 : c;
}

typedef struct {
    uint64_t waiting[ROOM + GROUP]; /* hashes that are not in the planes yet */
    int count;                      /* of them: never more than ROOM */
    uint64_t planes[PLANES];        /* bit i of counter b is bit b of planes[i] */
    int added;                      /* words in the planes: fewer than 1 << PLANES */
    uint32_t sums[64], total;
    uint64_t before; /* the hash of the word before */
    unsigned char counts[1 << SLOT_BITS];
} Sums;

static void empty_planes(Sums *sums) {
    for (int i = 0; i < PLANES; i++)
        for (int bit = 0; bit < 64; bit++)
            sums->sums[bit] += (uint32_t)(sums->planes[i] >> bit & 1) << i;
    memset(sums->planes, 0, sizeof sums->planes);
    sums->added = 0;
}

/* Adds two bits to the counters' bit in `plane`, 64 times at once; returns what is carried. */
static inline uint64_t add_two(uint64_t *plane, uint64_t one, uint64_t other) {
    uint64_t either = *plane ^ one, carried = (*plane & one) | (either & other);
    *plane = either ^ other;
    return carried;
}

/* Adds eight hashes to the planes. */
static void add_group(Sums *sums, const uint64_t *v) {
    uint64_t *planes = sums->planes, twos[4], fours[2];
    for (int i = 0; i < 4; i++) twos[i] = add_two(planes, v[2 * i], v[2 * i + 1]);
    for (int i = 0; i < 2; i++) fours[i] = add_two(planes + 1, twos[2 * i], twos[2 * i + 1]);
    uint64_t carried = add_two(planes + 2, fours[0], fours[1]);
    for (int i = 3; i < PLANES; i++) {
        uint64_t more = planes[i] & carried;
        planes[i] ^= carried;
        carried = more;
    }
    sums->added += GROUP;
    if (sums->added + GROUP >= 1 << PLANES) empty_planes(sums);
}

/* Adds all hashes that wait. */
static void add_waiting(Sums *sums) {
    memset(sums->waiting + sums->count, 0, sizeof *sums->waiting * GROUP);
    for (int i = 0; i < sums->count; i += GROUP) add_group(sums, sums->waiting + i);
    sums->total += (uint32_t)sums->count;
    sums->count = 0;
}

static inline uint64_t mixed(uint64_t value) {
    value = (value ^ value >> 33) * MIX;
    return value ^ value >> 33;
}

/* Lets a hash wait, unless it was there `cap` times before: how many wait then. */
static inline int add(Sums *sums, int waiting, uint64_t value, int cap) {
    unsigned char *count = sums->counts + (value >> (64 - SLOT_BITS));
    int counts = *count < cap; /* no branch: nobody could foretell which way it goes */
    *count = (unsigned char)(*count + counts);
    sums->waiting[waiting] = value;
    return waiting + counts;
}

/* The character at `p`, and in `size` its bytes. Python made the UTF-8: it is whole. */
static uint32_t decoded(const unsigned char *p, int *size) {
    if (*p < 0xE0) {
        *size = 2;
        return (*p & 0x1Fu) << 6 | (p[1] & 0x3Fu);
    }
    if (*p < 0xF0) {
        *size = 3;
        return (*p & 0xFu) << 12 | (p[1] & 0x3Fu) << 6 | (p[2] & 0x3Fu);
    }
    *size = 4;
    return (*p & 7u) << 18 | (p[1] & 0x3Fu) << 12 | (p[2] & 0x3Fu) << 6 | (p[3] & 0x3Fu);
}

/* The run that is being read: a word, or characters written without spaces. */
typedef struct {
    uint64_t hash;   /* of the word so far, without `chunk` */
    uint64_t chunk;  /* bytes of the word, in lower case, that are not hashed yet */
    int filled;      /* of its eight bytes */
    uint32_t first;  /* the first character of the word */
    uint32_t length; /* characters */
    uint64_t last;   /* of an unspaced run: the bytes of the last character, `last_size` of them */
    int last_size, kind;
} Run;

/* A word behind the word `before`: how many hashes wait then. */
static inline int add_word(Sums *sums, int waiting, uint64_t value, int is_short, uint64_t before) {
    waiting = add(sums, waiting, value, is_short ? 1 : CAP);
    int counts = (before != 0) & ((before + value) >> 62 == 0); /* one in four */
    return add(sums, waiting, mixed(before * PRIME ^ value), counts * CAP);
}

static void end_word(Sums *sums, uint64_t hash, int is_short) {
    uint64_t value = mixed(hash);
    if (sums->count > ROOM - 2) add_waiting(sums);
    sums->count = add_word(sums, sums->count, value, is_short, sums->before);
    sums->before = value;
}

/* A pair of characters that are written without spaces, or one that is alone. */
static void end_unspaced(Sums *sums, uint64_t bytes) {
    if (sums->count == ROOM) add_waiting(sums);
    sums->count = add(sums, sums->count, mixed(mixed(START ^ bytes)), CAP);
}

static void end_run(Sums *sums, Run *run) {
    if (run->kind == LETTER) {
        uint64_t hash = run->filled ? mixed(run->hash ^ run->chunk) : run->hash;
        end_word(sums, hash, run->length <= SHORT && run->first < ALPHABETS_END);
    } else if (run->kind == UNSPACED && run->length == 1)
        end_unspaced(sums, run->last);
    run->kind = SEPARATOR;
}

static void add_byte(Run *run, uint64_t byte) {
    run->chunk |= byte << 8 * run->filled;
    if (++run->filled == 8) {
        run->hash = mixed(run->hash ^ run->chunk);
        run->chunk = 0;
        run->filled = 0;
    }
}

/* The UTF-8 of a character as a number, its first byte lowest; in `size` how many there are. */
static uint64_t encoded(uint32_t c, int *size) {
    *size = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    if (*size == 1) return c;
    uint64_t bytes = *size == 2 ? 0xC0 | c >> 6 : *size == 3 ? 0xE0 | c >> 12 : 0xF0 | c >> 18;
    for (int i = 1; i < *size; i++)
        bytes |= (uint64_t)(0x80 | (c >> 6 * (*size - 1 - i) & 0x3F)) << 8 * i;
    return bytes;
}

static void take(Sums *sums, Run *run, uint32_t c, int kind) {
    int size;
    uint64_t bytes = encoded(c, &size);
    if (kind != run->kind) {
        end_run(sums, run);
        *run = (Run){.hash = START, .first = c, .kind = kind};
    } else if (kind == UNSPACED) {
        end_unspaced(sums, run->last | bytes << 8 * run->last_size);
    }
    run->last = bytes;
    run->last_size = size;
    run->length++;
    if (kind == LETTER)
        for (; size > 0; size--, bytes >>= 8) add_byte(run, bytes & 255);
}

/* Where the characters end that count: MAX_CHARS of them, of `chars` in all. */
static const unsigned char *end_of(const unsigned char *p, Py_ssize_t size, Py_ssize_t chars) {
    const unsigned char *end = p + size;
    if (chars <= MAX_CHARS) return end;
    if (chars == size) return p + MAX_CHARS;
    for (int left = MAX_CHARS; p < end; p++)
        if ((*p & 0xC0) != 0x80 && left-- == 0) break;
    return p;
}

#define EACH_BYTE(byte) (0x0101010101010101u * (byte))

static inline uint64_t eight_at(const unsigned char *p) {
    uint64_t eight;
    memcpy(&eight, p, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    eight = __builtin_bswap64(eight);
#endif
    return eight;
}

/* Which of eight bytes of ASCII are no letters or digits: a bit each. */
static inline uint64_t others_of(uint64_t eight) {
    uint64_t low = eight | EACH_BYTE(0x20);
    uint64_t letters = (low + EACH_BYTE(0x80 - 'a')) & ~(low + EACH_BYTE(0x7F - 'z'));
    uint64_t digits = (eight + EACH_BYTE(0x80 - '0')) & ~(eight + EACH_BYTE(0x7F - '9'));
    uint64_t high = ~(letters | digits) & EACH_BYTE(0x80);
    return (high >> 7) * 0x0102040810204080u >> 56; /* the lowest bits of the bytes side by side */
}

/* The hash of an ASCII word; there are eight bytes to read wherever it goes on. */
static inline uint64_t hash_of_word(const unsigned char *p, int size) {
    uint64_t hash = START;
    for (; size > 8; size -= 8, p += 8) hash = mixed(hash ^ (eight_at(p) | EACH_BYTE(0x20)));
    uint64_t last = (eight_at(p) | EACH_BYTE(0x20)) << (64 - 8 * size) >> (64 - 8 * size);
    return mixed(hash ^ last);
}

/* Takes the ASCII words that end in the next STRETCH bytes, before anything that is not ASCII:
   where it goes on, `p` itself if there is no end of such a word. No word goes on at `p`. */
static const unsigned char *take_words(Sums *sums, const unsigned char *p,
                                       const unsigned char *end) {
    uint64_t others = 0;
    int size = 0;
    if (end - p < STRETCH + 8) return p;
    for (; size < STRETCH; size += 8) {
        uint64_t eight = eight_at(p + size);
        if (eight & EACH_BYTE(0x80)) break;
        others |= others_of(eight) << size;
    }
    if (others == 0) return p;
    if (sums->count > ROOM - STRETCH) add_waiting(sums);
    uint64_t behind = others << 1 | 1, begins = ~others & behind, ends = others & ~behind;
    uint64_t before = sums->before;
    int waiting = sums->count;
    for (; ends; ends &= ends - 1, begins &= begins - 1) {
        int from = __builtin_ctzll(begins), letters = __builtin_ctzll(ends) - from;
        uint64_t value = mixed(hash_of_word(p + from, letters));
        waiting = add_word(sums, waiting, value, letters <= SHORT, before);
        before = value;
    }
    sums->before = before;
    sums->count = waiting;
    return p + 64 - __builtin_clzll(others);
}

static void read_text(Sums *sums, const unsigned char *p, const unsigned char *end) {
    Run run = {.kind = SEPARATOR};
    while (p < end) {
        if (run.kind == SEPARATOR) {
            const unsigned char *behind = take_words(sums, p, end);
            if (behind > p) {
                p = behind;
                continue;
            }
        }
        unsigned char c = ascii_folded[*p];
        if (c) {
            take(sums, &run, c, LETTER);
            p++;
        } else if (*p < 0x80) {
            end_run(sums, &run);
            p++;
        } else {
            int size;
            uint32_t wide = decoded(p, &size);
            int kind = kind_of(wide);
            if (kind == SEPARATOR)
                end_run(sums, &run);
            else
                take(sums, &run, folded(wide), kind);
            p += size;
        }
    }
    end_run(sums, &run);
}

static int64_t result(Sums *sums) {
    uint64_t value = 0;
    add_waiting(sums);
    empty_planes(sums);
    for (int bit = 0; bit < 64; bit++)
        if (2 * sums->sums[bit] > sums->total) value |= (uint64_t)1 << bit;
    if (value == 0 && sums->total) value = 1;
    return (int64_t)value;
}

static PyObject *simhash(PyObject *Py_UNUSED(self), PyObject *text) {
    Sums sums;
    Py_ssize_t size;
    PyObject *encoded = NULL;
    if (!PyUnicode_Check(text)) return PyErr_Format(PyExc_TypeError, "a text is a str");
    const char *data = PyUnicode_AsUTF8AndSize(text, &size);
    if (data == NULL) { /* half a character, which separates words like the '?' in its place */
        if (!PyErr_ExceptionMatches(PyExc_UnicodeError)) return NULL;
        PyErr_Clear();
        encoded = PyUnicode_AsEncodedString(text, "utf-8", "replace");
        char *bytes;
        if (encoded == NULL || PyBytes_AsStringAndSize(encoded, &bytes, &size) < 0) {
            Py_XDECREF(encoded);
            return NULL;
        }
        data = bytes;
    }
    memset(&sums, 0, sizeof sums);
    const unsigned char *begin = (const unsigned char *)data;
    read_text(&sums, begin, end_of(begin, size, PyUnicode_GetLength(text)));
    Py_XDECREF(encoded);
    return PyLong_FromLongLong(result(&sums));
}

static PyMethodDef methods[] = {
    {"simhash", simhash, METH_O, "simhash(text)\n\nSigned 64 bits; 0 for a text without words."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "lycosa.page._simhash",
    .m_doc = "A text in 64 bits.",
    .m_size = 0,
    .m_methods = methods,
};

PyMODINIT_FUNC PyInit__simhash(void) {
    fill_table();
    return PyModule_Create(&module);
}
