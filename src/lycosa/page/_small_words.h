/* How many words of a text are small words of a language ("the", "of", "und"): what `language` asks
   of three places of each page. Included by `_scan.c`, where white space is known. */

#ifndef LYCOSA_SMALL_WORDS_H
#define LYCOSA_SMALL_WORDS_H

#define SMALL_SLOTS 128 /* of the table that `language` makes of the small words, as numbers */

/* White space at `p`, as Python's `split` has it: how many bytes; 0 if it is none. */
static int white_at(const char *p, const char *end) {
    unsigned char c = (unsigned char)*p;
    int size;
    if (c == ' ' || (c >= '\t' && c <= '\r') || (c >= 0x1C && c <= 0x1F)) return 1;
    return class_of[c] & RARE && rare_at(p, end, &size) == WHITE ? size : 0;
}

/* The slot of a word of up to eight bytes; -1 if it is no small word. */
static int slot_of(const uint64_t *table, uint64_t word) {
    unsigned slot = (unsigned)((word * 0x9E3779B97F4A7C15u) >> 57);
    for (int tries = 0; tries < SMALL_SLOTS && table[slot]; tries++) {
        if (table[slot] == word) return (int)slot;
        slot = (slot + 1) % SMALL_SLOTS;
    }
    return -1;
}

PyDoc_STRVAR(small_words_doc,
             "small_words(text, table)\n--\n\n"
             "The words of a text (UTF-8, in lower case), how many of them are in the table of "
             "small words, and how many different ones.");

static PyObject *small_words(PyObject *Py_UNUSED(module), PyObject *args) {
    const char *p, *bytes;
    Py_ssize_t size, room;
    uint64_t table[SMALL_SLOTS];
    unsigned char met[SMALL_SLOTS] = {0};
    int words = 0, small = 0, kinds = 0;
    if (!PyArg_ParseTuple(args, "y#y#:small_words", &p, &size, &bytes, &room)) return NULL;
    if (room != (Py_ssize_t)sizeof table)
        return PyErr_Format(PyExc_ValueError, "the table has %d numbers of 64 bits", SMALL_SLOTS);
    memcpy(table, bytes, sizeof table);
    for (const char *end = p + size; p < end;) {
        int white = white_at(p, end);
        if (white) {
            p += white;
            continue;
        }
        uint64_t word = 0;
        const char *begin = p;
        for (; p < end && !white_at(p, end); p++)
            if (p - begin < 8) word |= (uint64_t)(unsigned char)*p << 8 * (p - begin);
        words++;
        int slot = p - begin <= 8 && p[-1] ? slot_of(table, word) : -1; /* a NUL is not in `word` */
        if (slot < 0) continue;
        small++;
        kinds += !met[slot];
        met[slot] = 1;
    }
    return Py_BuildValue("(iii)", words, small, kinds);
}

#endif
