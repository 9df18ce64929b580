/* Which lines of a page's text are its main text: what the one pass of `_scan.c` notes for it, and
   the score that a small model gives to every line.

   While the page is read, only three things are noted: where lines of text begin and in which
   container, which bytes are text of links, and what containers there are (each once, when text is
   first seen in it). After the page, lines are counted, containers are summed up, and columns of
   features (one byte per line) go through the trees of `_main_model.h`. Everything is linear in the
   page and its numbers are whole, so that `main_text` gives the same scores in Python. */

#ifndef LYCOSA_BLOCKS_H
#define LYCOSA_BLOCKS_H

#include <stdint.h>
#include "_main_model.h"

#define BLOCKS_MAX 2048    /* lines with a score each; what follows is one more */
#define RECORDS_MAX 4096   /* containers; those beyond count as the one around them */
#define ITEMS_FIRST 256    /* room of a list at first */
#define HINT_ATTRIBUTES 24 /* of a tag that are looked at */
#define HINT_BYTES 256     /* of a class */
#define HINT_WORD 16       /* letters of a word that may be known */
#define KNOWN_BITS 6       /* of the number of values whose hints are remembered */
#define NEAR 250           /* size of text that makes a container worth comparing with */
#define FAR 1500           /* and that of a larger one */
#define LONG_LINE 80       /* from here on it is probably a sentence */
#define WINDOW 4           /* lines before and behind that are looked at together */
#define TITLE_ROOM 512     /* bytes of the title that are compared */
#define TITLE_LEAST 8      /* of a heading that may be the title */
#define PADDING 8          /* bytes around a column: neighbours of the first and the last line */

/* What a container is; bits of `path` are numbered by it. */
enum {
    IN_LINE,
    OTHER,
    PARAGRAPH,
    LIST_ITEM,
    H1,
    H2,
    H3,
    H4,
    DATA_CELL,
    HEAD_CELL,
    TABLES,
    LISTS,
    TERMS,
    NAV,
    HEADER,
    FOOTER,
    ASIDE,
    FORM,
    ARTICLE,
    MAIN,
    SECTION,
    QUOTE,
    FIGURE,
    PRESS,
    PREPARED,
    DETAILS,
    DIALOG,
    CONTACT,
    FIELDS,
    NO_SCRIPT,
    KINDS
};

typedef struct {
    int parent, near, far; /* records: around it; the nearest one with some text; with much */
    unsigned path;         /* kinds of this one and all around it */
    uint64_t own, hints;   /* what class and id say: its own, and with all around it */
    unsigned size, link, lines, marks, words, sentences; /* of the text in it */
    unsigned char kind, depth, good, bad, best, inner;   /* inner: there are containers in it */
} Record;

typedef struct {
    Py_ssize_t start;
    int record;
} Mark;

typedef struct {
    Py_ssize_t start, end;
} Span;

/* The hints of a value that was met before. */
typedef struct {
    const char *value; /* in the page */
    Py_ssize_t size;
    uint64_t hints;
} Known;

typedef struct {
    const char *page, *page_end;
    Py_ssize_t seen; /* bytes of text that marks and spans are about */
    Buffer marks, spans, records;
    Known known[1 << KNOWN_BITS];
    char title[TITLE_ROOM];
    Py_ssize_t title_size;
} Blocks;

/* A line of text, or the lines of preformatted text that follow each other in one container. */
typedef struct {
    Py_ssize_t start, end;
    int record, lines;
    unsigned size, words, link, chars, marks, digits;
    unsigned sentences, before; /* sizes: of what is probably a sentence, of the text before it */
    unsigned char last;
} Line;

#define ITEMS_OF(buffer, Type) ((Type *)(void *)(buffer).data)
#define COUNT_OF(buffer, Type) ((int)((buffer).size / (Py_ssize_t)sizeof(Type)))

#endif
