/* One pass over an HTML page: the text that a reader sees, and the tags that say something.

   Owns the tokenizer: what is a tag, a comment, an attribute, a character reference (WHATWG, the
   states that matter to text and links), which elements hide their text, break a line or keep their
   lines, and the few styles and attributes that change that. No tree is built, so nothing here is
   worse than linear: every byte is looked at a bounded number of times, on any page (S3). Knows
   nothing of URLs or of crawling.

   `html_scan` has the same rules in Python, for where this module could not be compiled; tests
   compare the two. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <string.h>
#include "../_buffer.h"
#include "_blocks.h"
#include "_utf8.h"

/* What an element is. `html_elements` has the same list in Python. */
enum {
    BLOCK = 1 << 0, /* breaks a line */
    HIDES = 1 << 1, /* its text is not seen; nor does it break a line */
    RAW = 1 << 2,   /* the same, and what looks like a tag in it is none */
    VOID = 1 << 3,  /* never open */
    ANCHOR = 1 << 4,
    NOTED = 1 << 5,        /* says something by its attributes */
    SPECIAL = 1 << 6,      /* end tags of elements around it do not reach through it */
    SCOPE = 1 << 7,        /* nor do those of blocks */
    CLOSES_P = 1 << 8,     /* its start tag ends a paragraph */
    FORMAT = 1 << 9,       /* a formatting element, which end tags take out of the middle */
    BREAKOUT = 1 << 10,    /* its start tag ends a drawing or a formula */
    IN_SCOPE = 1 << 11,    /* its end tag reaches through everything but SCOPE */
    PART = 1 << 12,        /* of a table */
    ODD = 1 << 13,         /* its start tag has rules of its own */
    TABLE_SCOPE = 1 << 14, /* end tags of a table's parts do not reach through it */
    BARRIER = 1 << 15,     /* no end tag does */
    HEADING = 1 << 16,
    DEFINITION = 1 << 17,  /* dd, dt */
    LIST = 1 << 18,        /* ol, ul: end tags of list items do not reach through it */
    BUTTON = 1 << 19,      /* those of paragraphs do not */
    BEFORE_ITEM = 1 << 20, /* a list item is looked for behind it, though it is special */
    ROW_PLACE = 1 << 21,   /* what a row is put in */
    CELL_PLACE = 1 << 22,  /* what a cell is put in */
    TABLE = 1 << 23,
    ITEM = 1 << 24,       /* li, dd, dt */
    POINT_SVG = 1 << 25,  /* HTML may begin in it, in a drawing */
    POINT_MATH = 1 << 26, /* the same in a formula */
    ENDS_SELECT = 1 << 27,
    REOPENS = 1 << 28, /* formatting elements that were closed with a block go on before it */
    MARKER = 1 << 29,  /* they do not go on in it */
    COUNTED = 1 << 30, /* opening and closing it takes a closer look */
};

/* How the text in an element looks: the first two go over to the elements in it. */
enum {
    PRE = 1 << 0,  /* its lines and spaces are kept */
    DARK = 1 << 1, /* it is not seen, but elements in it may be */
    FLEX = 1 << 2, /* each element in it stands alone */
    ROW = 1 << 3,  /* of a table */
};

/* What a style attribute asks for. `html_style` has the same list in Python. */
enum {
    NONE = 1 << 0,
    BLOCKED = 1 << 1,
    INLINED = 1 << 2,
    FLEXED = 1 << 3,
    AS_ROW = 1 << 4,
    AS_CELL = 1 << 5,
    DARKENED = 1 << 6,
    LIT = 1 << 7,
    KEPT = 1 << 8,
    FOLDED = 1 << 9,
};

#define NAME_SIZE 16     /* longer names are unknown */
#define ELEMENTS_MAX 192 /* checked when the table is filled */
#define TITLE_MAX 8192   /* bytes looked at */
#define HREF_MAX 8192    /* bytes: far above the longest URL that is ever crawled */
#define DEPTH_MAX 500    /* open elements; browsers have such a limit too */
#define WAITING_MAX 16   /* formatting elements that wait to go on */
#define WALK_MAX 50000   /* steps through the stack that one page may cost */
#define FIRST_ROOM 512   /* bytes of a buffer at first */
#define DATA_MAX 65536   /* bytes of JSON in scripts that are kept */

/* A name in lower case as two numbers, which are compared quickly. */
typedef struct {
    uint64_t begin, end;
} Key;

struct element {
    Key key;
    char name[NAME_SIZE];
    Py_ssize_t size;
    unsigned flags;
    struct element *next; /* with the same hash */
};

static struct element elements[ELEMENTS_MAX];
static int element_count;
static struct element *table[256]; /* by hash_of */
static const struct element unknown = {.flags = REOPENS};
/* Elements that are asked for by name. */
static const struct element *a_, *p_, *li_, *nobr_, *button_, *form_, *svg_, *math_, *table_,
    *tbody_, *tr_, *td_, *th_, *caption_, *col_, *select_, *frameset_, *frame_, *noframes_,
    *template_, *script_, *title_, *noscript_, *plaintext_, *option_, *optgroup_, *rb_, *rt_, *rp_,
    *rtc_, *br_, *font_, *annotation_, *mglyph_, *malignmark_, *note_, *dialog_, *textarea_, *xmp_,
    *pre_, *listing_, *input_, *time_, *meta_, *link_;

/* What a byte is, so that runs of ordinary ones are skipped quickly. */
enum {
    SPACE = 1,
    NAME_END = 2,
    TEXT_STOP = 4,
    TAG_STOP = 8,
    ALNUM = 16,
    ALPHA = 32,
    BLANK = 64,
    RARE = 128, /* begins a character that may be folded or left out */
};
static unsigned char class_of[256];

/* What references to the numbers 128 to 159 mean: characters of Windows-1252. */
static const unsigned short windows[32] = {
    0x20AC, 0x81,   0x201A, 0x192,  0x201E, 0x2026, 0x2020, 0x2021, 0x2C6,  0x2030, 0x160,
    0x2039, 0x152,  0x8D,   0x17D,  0x8F,   0x90,   0x2018, 0x2019, 0x201C, 0x201D, 0x2022,
    0x2013, 0x2014, 0x2DC,  0x2122, 0x161,  0x203A, 0x153,  0x9D,   0x17E,  0x178,
};

enum { HTML, SVG, MATH };                     /* name spaces */
enum { OUT, IN_TABLE, CELL, SELECT, FRAMES }; /* which insertion mode, roughly */
enum { NO_HTML, MOST_HTML, ALL_HTML }; /* what HTML may begin in an element that is not HTML */

/* What is written before the next character, beside `line` and `space`. */
typedef struct {
    int some;         /* one of the four that follow */
    int cells;        /* tabs between cells; -1 before the first cell of a row */
    int breaks;       /* line ends of text whose lines are kept */
    int tabs, blanks; /* and its indentation */
    int torn;         /* what is written of the row is more than one line */
    Py_ssize_t row;   /* how much text there was before it; -1 in no row */
} Due;

/* An element on the stack. */
typedef struct {
    const struct element *element;
    const char *name;     /* in the page */
    unsigned size, flags; /* none of the element's flags in a drawing or a formula */
    unsigned char name_space, point, mode;
    unsigned char look;
    unsigned char space, line; /* pending before it, if it hides what follows */
    Due due;
    Py_ssize_t text, items; /* and what there was */
    int record;             /* the container that it is, or is in, and 1; 0: not looked at yet */
} Open;

/* What is counted for labels; `signs` has the same in Python. */
enum { SIGNS = 12 };
static const char *const counted_names[SIGNS] = {
    "form", "script", "iframe", "p", "img", "article", "input", "li", "a", "h1", "h2", "h3"};
static unsigned char count_of[ELEMENTS_MAX]; /* which of them an element is, from 1; 0: none */

typedef struct {
    unsigned tags[SIGNS + 1];
    unsigned passwords, noscript_chars;
    Py_ssize_t script_bytes;
} Signs;

typedef struct {
    const char *at, *end;
    Buffer text;
    Py_ssize_t wanted; /* bytes of text */
    int space, line;   /* pending: written before the next character */
    Due due;
    PyObject *items;
    Py_ssize_t items_left, dropped;
    Open *stack; /* the first one is a barrier */
    Py_ssize_t depth;
    long walk; /* steps still to go */
    Py_ssize_t open_p, open_a, templates, markers;
    /* Formatting elements that were closed with a block and go on behind it. */
    struct {
        const struct element *element;
        Py_ssize_t markers; /* around it */
    } waiting[WAITING_MAX];
    int waiting_count;
    int form;     /* one is open: another one in it is ignored */
    int unclosed; /* there is no more </noscript> */
    Buffer value; /* of an attribute, or a title, decoded */
    Blocks blocks;
    Signs signs;
    Py_ssize_t data_left; /* bytes of JSON in scripts that may still be kept */
    int times;            /* <time> with what it says */
    int veiled, unveil;   /* attributes hide something; it is shown all the same */
} Scan;

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c; }

#define EACH_BYTE(byte) (0x0101010101010101u * (byte))

/* Up to eight letters as a number, in lower case, the first one lowest. */
static uint64_t few_letters(const char *p, Py_ssize_t size) {
    uint64_t letters = 0;
    for (Py_ssize_t i = 0; i < size && i < 8; i++)
        letters |= (uint64_t)(unsigned char)lower(p[i]) << 8 * i;
    return letters;
}

/* The same, of one to eight, all at once: there are eight bytes to read. */
static inline uint64_t eight_letters(const char *p, Py_ssize_t size) {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return few_letters(p, size);
#endif
    uint64_t eight;
    memcpy(&eight, p, 8);
    eight = eight << (64 - 8 * size) >> (64 - 8 * size);
    uint64_t seven = eight & EACH_BYTE(0x7F);
    uint64_t capital = (seven + EACH_BYTE(0x80 - 'A')) & ~(seven + EACH_BYTE(0x7F - 'Z')) & ~eight;
    return eight | (capital & EACH_BYTE(0x80)) >> 2;
}

/* `end` is that of what may be read. */
static inline Key key_of(const char *name, Py_ssize_t size, const char *end) {
    if (size <= 8 && end - name >= 8) return (Key){eight_letters(name, size), 0};
    return (Key){few_letters(name, size), size > 8 ? few_letters(name + 8, size - 8) : 0};
}

static unsigned hash_of(Key key) {
    return (unsigned)(((key.begin ^ key.end << 5) * 0x9E3779B97F4A7C15u) >> 56);
}

/* The element of a name in a page that ends at `page_end`. */
static const struct element *find_element(const char *begin, const char *end,
                                          const char *page_end) {
    Py_ssize_t size = end - begin;
    if (size > NAME_SIZE) return &unknown;
    Key key = key_of(begin, size, page_end);
    for (const struct element *e = table[hash_of(key)]; e != NULL; e = e->next)
        if (e->key.begin == key.begin && e->key.end == key.end && e->size == size) return e;
    return &unknown;
}

/* -- text that is kept ---------------------------------------------------------------------- */

static int add(Buffer *buffer, const char *data, Py_ssize_t size) {
    if (buffer_add(buffer, data, size, FIRST_ROOM) == 0) return 0;
    PyErr_NoMemory();
    return -1;
}

/* A block begins or ends here; spaces at the end of a line are none. */
static void break_line(Scan *scan) {
    scan->line = 1;
    if (scan->due.some) scan->due.tabs = scan->due.blanks = scan->due.breaks = 0;
}

static void begin_row(Scan *scan) {
    break_line(scan);
    scan->due = (Due){.cells = -1, .row = scan->text.size};
}

static void end_row(Scan *scan) {
    break_line(scan);
    scan->due = (Due){.row = -1};
}

/* A cell goes on in the line of its row, if the cells before it left the row in one line. */
static void begin_cell(Scan *scan) {
    Due *due = &scan->due;
    if (due->row < 0 || due->torn) {
        break_line(scan);
        return;
    }
    *due = (Due){.cells = due->cells + 1, .row = due->row};
    due->some = due->cells > 0;
    scan->space = 0;
}

/* A line end, or white space, where these are kept. */
static void keep_white(Scan *scan, char c) {
    Due *due = &scan->due;
    due->some = 1;
    if (c == '\n' || c == '\r') {
        due->breaks += !scan->line;
        due->tabs = due->blanks = scan->space = 0;
    } else if (c == '\t') {
        due->tabs++;
        due->blanks = 0; /* the tab stop takes them in */
    } else {
        due->blanks++;
    }
}

static int add_many(Buffer *buffer, const char *one, int count) {
    for (; count > 0; count--)
        if (add(buffer, one, 1) < 0) return -1;
    return 0;
}

/* Writes what is pending, if it is more than a single space or line end: 1 if that begins a line,
   -1 for an error. */
static int put_due(Scan *scan) {
    Buffer *text = &scan->text;
    Due *due = &scan->due;
    int goes_on = due->cells > 0 && text->size > due->row, indent = due->tabs + due->blanks;
    int lines = goes_on || text->size == 0 ? 0 : scan->line ? 1 : due->breaks;
    if (scan->space && !lines && !goes_on && !indent && due->cells <= 0 && text->size > 0)
        if (add(text, " ", 1) < 0) return -1;
    if (lines && text->size > due->row) due->torn = 1;
    if (add_many(text, "\n", lines) < 0 || add_many(text, "\t", due->cells) < 0 ||
        add_many(text, "\t", due->tabs) < 0 || add_many(text, " ", due->blanks) < 0)
        return -1;
    return lines > 0;
}

static int note_text(Scan *scan, Py_ssize_t before, Py_ssize_t start, int fresh);
static int note_link(Scan *scan, Py_ssize_t before, Py_ssize_t start);

/* Visible characters without white space, after what is pending. */
static int put(Scan *scan, const char *data, Py_ssize_t size) {
    Buffer *text = &scan->text;
    Py_ssize_t before = text->size;
    int fresh = before == 0; /* it begins a line */
    if (before >= scan->wanted) return 0;
    if (scan->due.some) {
        int begins = put_due(scan);
        if (begins < 0) return -1;
        fresh |= begins;
        scan->due.some = scan->due.breaks = scan->due.tabs = scan->due.blanks = 0;
    } else if (before > 0) {
        if (scan->line) {
            fresh = 1;
            if (before > scan->due.row) scan->due.torn = 1;
            if (add(text, "\n", 1) < 0) return -1;
        } else if (scan->space) {
            if (add(text, " ", 1) < 0) return -1;
        }
    }
    scan->line = scan->space = 0;
    scan->due.cells = 0;
    Py_ssize_t start = text->size;
    return add(text, data, size) < 0 ? -1 : note_text(scan, before, start, fresh);
}

/* -- character references ------------------------------------------------------------------ */

static int encode(unsigned long code, char *out) {
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (char)(0xC0 | code >> 6);
        out[1] = (char)(0x80 | (code & 63));
        return 2;
    }
    if (code < 0x10000) {
        out[0] = (char)(0xE0 | code >> 12);
        out[1] = (char)(0x80 | (code >> 6 & 63));
        out[2] = (char)(0x80 | (code & 63));
        return 3;
    }
    out[0] = (char)(0xF0 | code >> 18);
    out[1] = (char)(0x80 | (code >> 12 & 63));
    out[2] = (char)(0x80 | (code >> 6 & 63));
    out[3] = (char)(0x80 | (code & 63));
    return 4;
}

static int digit_of(char c, int base) {
    if (c >= '0' && c <= '9') return c - '0';
    c = lower(c);
    return base == 16 && c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* "&#...": where it ends, NULL if it is none; `out` has room for 16 bytes. */
static const char *numeric(const char *p, const char *end, int attribute, char *out, int *size) {
    int base = 10, digit;
    unsigned long code = 0;
    p += 2;
    if (p < end && (*p == 'x' || *p == 'X')) {
        base = 16;
        p++;
    }
    const char *digits = p;
    for (; p < end && (digit = digit_of(*p, base)) >= 0; p++)
        if (code < 0x110000) code = code * (unsigned)base + (unsigned)digit;
    if (p == digits) return NULL;
    if (code >= 0x80 && code < 0xA0) code = windows[code - 0x80];
    if (code == 0 || code >= 0x110000 || (code >= 0xD800 && code < 0xE000)) code = 0xFFFD;
    *size = encode(code, out);
    if (code < 32 && !attribute && !(class_of[code] & SPACE)) *size = 0; /* nothing to read */
    return p < end && *p == ';' ? p + 1 : p;
}

/* Names of references and their values, from html.entities.html5. */
#define REFERENCE_SLOTS 8192 /* a power of two, for some 2,200 names */
#define REFERENCE_SIZE 32    /* of the longest name, with its ';' */
#define OLD_SIZE 6           /* of the longest that does without */
static struct {
    unsigned char size, value_size;
    char name[REFERENCE_SIZE], value[8];
} references[REFERENCE_SLOTS];
static PyObject *references_of; /* the dictionary that they were read from */

static unsigned mix(unsigned hash, char c) { return (hash ^ (unsigned char)c) * 16777619u; }
#define MIX_START 2166136261u

static int add_reference(const char *name, Py_ssize_t size, const char *value,
                         Py_ssize_t value_size) {
    unsigned hash = MIX_START;
    if (size < 1 || size > REFERENCE_SIZE || value_size > 8) return 0; /* there is none so long */
    for (Py_ssize_t i = 0; i < size; i++) hash = mix(hash, name[i]);
    for (int tries = 0; tries < REFERENCE_SLOTS; tries++, hash++) {
        unsigned slot = hash & (REFERENCE_SLOTS - 1);
        if (references[slot].size) continue;
        references[slot].size = (unsigned char)size;
        references[slot].value_size = (unsigned char)value_size;
        memcpy(references[slot].name, name, (size_t)size);
        memcpy(references[slot].value, value, (size_t)value_size);
        return 0;
    }
    PyErr_SetString(PyExc_ValueError, "too many names of references");
    return -1;
}

static int read_references(PyObject *names) {
    PyObject *name, *value;
    Py_ssize_t at = 0;
    if (references_of == names) return 0;
    Py_CLEAR(references_of);
    memset(references, 0, sizeof references);
    while (PyDict_Next(names, &at, &name, &value)) {
        Py_ssize_t size, value_size;
        const char *key = PyUnicode_AsUTF8AndSize(name, &size);
        const char *utf8 = key == NULL ? NULL : PyUnicode_AsUTF8AndSize(value, &value_size);
        if (utf8 == NULL || add_reference(key, size, utf8, value_size) < 0) return -1;
    }
    references_of = Py_NewRef(names);
    return 0;
}

/* The value of a name with this hash: 1, or 0 if there is none. */
static int look_up(const char *name, Py_ssize_t size, unsigned hash, char *out, int *out_size) {
    for (;; hash++) {
        unsigned slot = hash & (REFERENCE_SLOTS - 1);
        if (references[slot].size == 0) return 0;
        if (references[slot].size == size &&
            memcmp(references[slot].name, name, (size_t)size) == 0) {
            memcpy(out, references[slot].value, references[slot].value_size);
            *out_size = references[slot].value_size;
            return 1;
        }
    }
}

/* "&name": the same. In attributes a name without ';' counts only where nothing follows it. */
static const char *named(const char *p, const char *end, int attribute, char *out, int *size) {
    unsigned hash = MIX_START, old[OLD_SIZE + 1] = {0};
    const char *name = p + 1, *stop = name;
    while (stop < end && stop - name < REFERENCE_SIZE && class_of[(unsigned char)*stop] & ALNUM) {
        hash = mix(hash, *stop++);
        if (stop - name <= OLD_SIZE) old[stop - name] = hash;
    }
    if (stop - name < 2) return NULL;
    if (stop < end && *stop == ';' && stop - name < REFERENCE_SIZE &&
        look_up(name, stop + 1 - name, mix(hash, ';'), out, size))
        return stop + 1;
    for (Py_ssize_t length = stop - name < OLD_SIZE ? stop - name : OLD_SIZE; length >= 2;
         length--) {
        const char *after = name + length;
        if (attribute && after < end && (class_of[(unsigned char)*after] & ALNUM || *after == '='))
            return NULL;
        if (look_up(name, length, old[length], out, size)) return after;
    }
    return NULL;
}

static const char *reference(const char *p, const char *end, int attribute, char *out, int *size) {
    if (end - p < 3) return NULL;
    if (p[1] == '#') return numeric(p, end, attribute, out, size);
    return class_of[(unsigned char)p[1]] & ALPHA ? named(p, end, attribute, out, size) : NULL;
}

/* -- text ---------------------------------------------------------------------------------- */

enum { ORDINARY, WHITE, NOTHING, JOINER };

/* What the character at `p` is, which begins with a RARE byte. All but ordinary ones have `size`
   bytes: spaces of Unicode and its line ends; what has no width; what only joins letters. */
static int rare_at(const char *p, const char *end, int *size) {
    unsigned char a = (unsigned char)p[0], b = end - p > 1 ? (unsigned char)p[1] : 0;
    if (a == 0xC2) {
        *size = 2;
        return b == 0xA0 || b == 0x85 ? WHITE : b == 0xAD ? NOTHING : ORDINARY;
    }
    unsigned char c = end - p > 2 ? (unsigned char)p[2] : 0;
    *size = 3;
    if (a == 0xE2 && b == 0x80) { /* U+2000 to U+203F */
        if ((c >= 0x80 && c <= 0x8A) || c == 0xA8 || c == 0xA9 || c == 0xAF) return WHITE;
        if (c == 0x8C || c == 0x8D) return JOINER;
        return c == 0x8B || c == 0x8E || c == 0x8F || (c >= 0xAA && c <= 0xAE) ? NOTHING : ORDINARY;
    }
    if (a == 0xE2 && b == 0x81)
        return c == 0x9F ? WHITE : c >= 0xA0 && c <= 0xAF ? NOTHING : ORDINARY;
    if (a == 0xE1 && b == 0x9A) return c == 0x80 ? WHITE : ORDINARY;
    if (a == 0xE1 && b == 0xA0) return c == 0x8E ? NOTHING : ORDINARY;
    if (a == 0xE3 && b == 0x80) return c == 0x80 ? WHITE : ORDINARY;
    return a == 0xEF && b == 0xBB && c == 0xBF ? NOTHING : ORDINARY;
}

/* Persian, Hindi and emojis are spelled with joiners; behind ASCII or a space they mean nothing. */
static int put_joiner(Scan *scan, const char *p) {
    Buffer *text = &scan->text;
    Py_ssize_t before = text->size;
    if (scan->line || scan->space || scan->due.some || before >= scan->wanted) return 0;
    if (before == 0 || !(text->data[before - 1] & 0x80)) return 0;
    return add(text, p, 3) < 0 ? -1 : note_link(scan, before, before);
}

static int visible_as(Scan *scan, const char *p, const char *end, int literal, int pre);

/* A character that is not simply copied: where it ends, NULL for an error. */
static const char *uncommon(Scan *scan, const char *p, const char *end, int literal, int pre) {
    unsigned char kind = class_of[(unsigned char)*p];
    int size = 1, white = kind & SPACE;
    if (kind & RARE) {
        int rare = rare_at(p, end, &size);
        if (rare == JOINER) return put_joiner(scan, p) < 0 ? NULL : p + size;
        white = rare == WHITE;
    }
    if (white && pre) {
        keep_white(scan, kind & SPACE ? *p : ' ');
        return p + size + (*p == '\r' && end - p > 1 && p[1] == '\n');
    }
    if (white) scan->space = 1;
    if (*p != '&') return p + size; /* or a control character, which is nothing to read */
    char out[16];
    const char *after = literal ? NULL : reference(p, end, 0, out, &size);
    if (after == NULL) return put(scan, p, 1) < 0 ? NULL : p + 1;
    return visible_as(scan, out, out + size, 1, pre) < 0 ? NULL : after;
}

/* Goes over ordinary ASCII, eight bytes at a time, as long as there is no '&', no control character
   and no blank behind another one (`blank`: one was before). Stops early rather than late. */
static const char *skip_plain(const char *p, const char *end, int blank) {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return p;
#endif
    uint64_t carried = blank ? 0x80 : 0;
    for (; end - p >= 8; p += 8) {
        uint64_t eight;
        memcpy(&eight, p, 8);
        uint64_t blanks = eight ^ EACH_BYTE(' '), marks = eight ^ EACH_BYTE('&');
        blanks = (blanks - EACH_BYTE(1)) & ~blanks & EACH_BYTE(0x80);
        marks = (marks - EACH_BYTE(1)) & ~marks;
        uint64_t others =
            eight | (eight - EACH_BYTE(' ')) | marks | (blanks & (blanks << 8 | carried));
        if (others & EACH_BYTE(0x80)) break;
        carried = blanks >> 56;
    }
    return p;
}

/* Text, with references replaced unless it is `literal`, and with its lines and spaces if `pre`. */
static int visible_as(Scan *scan, const char *p, const char *end, int literal, int pre) {
    int size;
    if (scan->text.size >= scan->wanted) return 0;
    while (p < end) {
        if (!pre && class_of[(unsigned char)*p] & SPACE) { /* mostly indentation */
            scan->space = 1;
            do p++;
            while (p < end && class_of[(unsigned char)*p] & SPACE);
            continue;
        }
        /* Words with single spaces between them are copied as they are. */
        const char *words = p, *again = p;
        unsigned char kind, before = BLANK;
        for (; p < end; p++, before = kind) {
            if (p >= again) { /* one byte at a time through eight that have something else */
                const char *plain = skip_plain(p, end, before & BLANK);
                if (plain > p) before = class_of[(unsigned char)plain[-1]];
                if ((p = plain) == end) break;
                again = p + 8;
            }
            kind = class_of[(unsigned char)*p];
            if (kind & (TEXT_STOP | RARE | (before & BLANK)) &&
                (!(kind & RARE) || rare_at(p, end, &size)))
                break;
        }
        if (p > words) {
            int blank = (before & BLANK) != 0; /* the last one: perhaps nothing follows */
            if (put(scan, words, p - words - blank) < 0) return -1;
            if (blank && pre)
                keep_white(scan, ' ');
            else
                scan->space = blank;
        }
        if (p < end && (p = uncommon(scan, p, end, literal, pre)) == NULL) return -1;
    }
    return 0;
}

/* Text, with references replaced unless it is `literal`. */
static int visible(Scan *scan, const char *p, const char *end, int literal) {
    unsigned look = scan->stack[scan->depth - 1].look;
    return look & DARK ? 0 : visible_as(scan, p, end, literal, look & PRE);
}

/* A value with its references replaced, as a string; a NUL becomes U+FFFD. */
static PyObject *decoded(Scan *scan, const char *p, const char *end, int attribute) {
    size_t size = (size_t)(end - p);
    if (memchr(p, '&', size) == NULL && memchr(p, 0, size) == NULL)
        return PyUnicode_DecodeUTF8(p, end - p, "replace");
    scan->value.size = 0;
    while (p < end) {
        const char *stop = p;
        while (stop < end && *stop != '&' && *stop != 0) stop++;
        if (add(&scan->value, p, stop - p) < 0) return NULL;
        if (stop == end) break;
        char out[16] = "\xEF\xBF\xBD";
        int written = 3;
        const char *after = *stop == 0 ? stop + 1 : reference(stop, end, attribute, out, &written);
        if (after == NULL ? add(&scan->value, stop, 1) < 0 : add(&scan->value, out, written) < 0)
            return NULL;
        p = after == NULL ? stop + 1 : after;
    }
    return PyUnicode_DecodeUTF8(scan->value.data, scan->value.size, "replace");
}

/* -- tags ---------------------------------------------------------------------------------- */

typedef struct {
    const char *name, *name_end, *value, *value_end;
} Attribute;

/* The next attribute of a tag: 1, 0 at the tag's end (then `*p` is behind the '>'), or -1 if the
   page ends in the tag, which then is none. */
static int next_attribute(const char **p, const char *end, Attribute *found) {
    const char *at = *p;
    while (at < end && (class_of[(unsigned char)*at] & SPACE || *at == '/')) at++;
    if (at >= end) return -1;
    if (*at == '>') {
        *p = at + 1;
        return 0;
    }
    found->name = at++;
    while (at < end && !(class_of[(unsigned char)*at] & NAME_END) && *at != '=') at++;
    found->name_end = at;
    found->value = found->value_end = at;
    while (at < end && class_of[(unsigned char)*at] & SPACE) at++;
    if (at < end && *at == '=') {
        at++;
        while (at < end && class_of[(unsigned char)*at] & SPACE) at++;
        if (at < end && (*at == '"' || *at == '\'')) {
            found->value = at + 1;
            at = memchr(at + 1, *at, (size_t)(end - at - 1));
            if (at == NULL) return -1;
            found->value_end = at++;
        } else {
            found->value = at;
            while (at < end && !(class_of[(unsigned char)*at] & SPACE) && *at != '>') at++;
            found->value_end = at;
        }
    }
    *p = at;
    return at < end ? 1 : -1;
}

/* The attributes of a start tag that say whether and how its text is seen. */
typedef struct {
    int hidden;
    const char *style, *style_end; /* NULL if there is none */
} Hints;

static int same_name(const char *begin, const char *end, const char *name) {
    for (; begin < end; begin++, name++)
        if (*name == 0 || lower(*begin) != *name) return 0;
    return *name == 0;
}

/* The name of an attribute: 1 if it is that of the style, which is still to be read. */
static int hint(Hints *hints, const char *name, const char *name_end) {
    switch (name_end - name) {
    case 5:
        return hints->style == NULL && same_name(name, name_end, "style");
    case 6:
        hints->hidden |= same_name(name, name_end, "hidden");
        return 0;
    case 7:
        hints->hidden |= same_name(name, name_end, "popover");
        return 0;
    }
    return 0;
}

/* The names between two values, of which the last may have one: 1 if it is a style. */
static int hints_in(Hints *hints, const char *p, const char *end) {
    int style = 0;
    while (p < end) {
        const char *name = p;
        while (p < end && !(class_of[(unsigned char)*p] & SPACE) && *p != '/') p++;
        if (p > name) {
            if (style) hints->style = hints->style_end = name; /* of a style without a value */
            style = hint(hints, name, p);
        }
        p++;
    }
    return style;
}

/* The same, and quick for names that are short and alone, as most are. */
static int hinted(Hints *hints, const char *p, const char *end) {
    char last = end[-1] & ~32; /* there is a name */
    if (end - p < 5 || (end - p < 8 && last != 'E' && last != 'N' && last != 'R')) return 0;
    return hints_in(hints, p, end);
}

/* Behind the '>' of a tag of whose attributes only the hints matter; NULL if the page ends in it.
   Whether it ended in "/>" goes to `closed`. `p` is behind its name. */
static const char *skip_tag(const char *p, const char *end, int *closed, Hints *hints) {
    const char *before = p; /* the end of the last value */
    for (;;) {
        while (p < end && !(class_of[(unsigned char)*p] & TAG_STOP)) p++;
        if (p >= end) return NULL;
        if (*p == '>') {
            *closed = p > before && p[-1] == '/';
            if (p - before > 5) hints_in(hints, before, p); /* a quote and "hidden" */
            return p + 1;
        }
        const char *name_end = p++; /* '=' */
        while (name_end > before && class_of[(unsigned char)name_end[-1]] & SPACE) name_end--;
        if (name_end == before || name_end[-1] == '/') { /* without a name it begins one */
            if (hints_in(hints, before, name_end)) hints->style = hints->style_end = name_end;
            before = p - 1;
            continue;
        }
        int style = hinted(hints, before, name_end);
        while (p < end && class_of[(unsigned char)*p] & SPACE) p++;
        if (p >= end) return NULL;
        const char *value = p, *value_end;
        if (*p == '"' || *p == '\'') {
            p = memchr(p + 1, *p, (size_t)(end - p - 1));
            if (p == NULL) return NULL;
            value++;
            value_end = p++;
        } else {
            while (p < end && !(class_of[(unsigned char)*p] & SPACE) && *p != '>') p++;
            value_end = p;
        }
        if (style) hints->style = value, hints->style_end = value_end;
        before = p;
    }
}

static struct element *element_of(const char *name, Py_ssize_t size);

#include "_lines.h"
#include "_main_text.h"

/* Where a text is cut to at most so many bytes, never inside a character. */
static const char *cut_at(const char *begin, const char *end, Py_ssize_t most) {
    if (end - begin <= most) return end;
    end = begin + most;
    while (end > begin && ((unsigned char)*end & 0xC0) == 0x80) end--;
    return end;
}

static int keep(Scan *scan, PyObject *item) {
    if (item == NULL) return -1;
    int failed = PyList_Append(scan->items, item);
    Py_DECREF(item);
    scan->items_left--;
    return failed;
}

#include "_tells.h"

typedef struct {
    Attribute href, rel;
} Link;

/* Reads the tag of a link: what is behind it, as `skip_tag`. */
static const char *read_link(const char *p, const char *end, int *closed, Link *link,
                             Hints *hints) {
    Attribute each;
    const char *before = p;
    int more;
    while ((more = next_attribute(&p, end, &each)) > 0) {
        before = p;
        if (link->href.name == NULL && same_name(each.name, each.name_end, "href"))
            link->href = each;
        if (link->rel.name == NULL && same_name(each.name, each.name_end, "rel")) link->rel = each;
        if (hint(hints, each.name, each.name_end))
            hints->style = each.value, hints->style_end = each.value_end;
    }
    if (more < 0) return NULL;
    *closed = p - 1 > before && p[-2] == '/';
    return p;
}

/* Whether an href is a link as it stands: nothing is to be trimmed, and it begins with no '#' and
   with no letter of the schemes that are not crawled ("mailto:"). */
static int is_plain(const char *p, const char *end) {
    unsigned char first = (unsigned char)*p, last = (unsigned char)end[-1];
    if (first <= ' ' || first >= 0x80 || last <= ' ' || last >= 0x80 || last == ';') return 0;
    return strchr("#&jmtdabsJMTDABS", first) == NULL;
}

/* Whether nothing is to be trimmed behind a link: a reference without ';' may be white space. */
static int ends_plain(PyObject *link) {
    Py_ssize_t size = PyUnicode_GetLength(link);
    Py_UCS4 last = size > 0 ? PyUnicode_ReadChar(link, size - 1) : 0;
    return last > ' ' && last < 0x80;
}

/* <a>: its href, or (href, rel) if that is not plain or its rel may forbid to follow it. */
static int anchor(Scan *scan, const Link *found) {
    Attribute href = found->href, rel = found->rel;
    if (href.name == NULL) return 0;
    while (href.value < href.value_end && class_of[(unsigned char)*href.value] & SPACE)
        href.value++;
    Py_ssize_t size = href.value_end - href.value;
    if (size == 0 || size > HREF_MAX || *href.value == '#') return 0;
    if (scan->items_left <= 0) {
        scan->dropped++;
        return 0;
    }
    PyObject *link = decoded(scan, href.value, href.value_end, 1);
    if (rel.name == NULL) rel.value = rel.value_end = "";
    const char *rel_end = cut_at(rel.value, rel.value_end, HREF_MAX);
    if (link != NULL && (!is_plain(href.value, href.value_end) || !ends_plain(link) ||
                         may_forbid(rel.value, rel_end))) {
        PyObject *wish = decoded(scan, rel.value, rel_end, 1);
        PyObject *pair = wish == NULL ? NULL : PyTuple_Pack(2, link, wish);
        Py_XDECREF(wish);
        Py_DECREF(link);
        link = pair;
    }
    return keep(scan, link);
}

/* The attributes of other tags that `html` looks at. */
static const char *const asked[] = {"href",     "src",      "rel",     "name", "content",
                                    "property", "itemprop", "lang",    "type", "http-equiv",
                                    "hreflang", "xml:lang", "datetime"};

static int is_asked(const Attribute *attribute) {
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++)
        if (same_name(attribute->name, attribute->name_end, asked[i])) return 1;
    return 0;
}

/* Adds an attribute, of which the first of its name counts. */
static int add_attribute(Scan *scan, PyObject *attributes, const Attribute *each) {
    char name[16]; /* those that are asked for are shorter */
    Py_ssize_t size = each->name_end - each->name;
    for (Py_ssize_t i = 0; i < size; i++) name[i] = lower(each->name[i]);
    PyObject *key = PyUnicode_DecodeUTF8(name, size, "replace");
    int known = key == NULL ? -1 : PyDict_Contains(attributes, key);
    if (known == 0) {
        PyObject *value = decoded(scan, each->value, each->value_end, 1);
        known = value == NULL ? -1 : PyDict_SetItem(attributes, key, value);
        Py_XDECREF(value);
    }
    Py_XDECREF(key);
    return known < 0 ? -1 : 0;
}

/* Any other tag that says something: (name, its attributes). The tag is whole. */
static int note(Scan *scan, const struct element *element, const char *p) {
    if (element == time_ && scan->times++ > 0) return 0; /* the first one says enough */
    if ((element == meta_ || element == link_) && !tells(scan, element, p)) return 0;
    if (scan->items_left <= 0) {
        scan->dropped++;
        return 0;
    }
    PyObject *attributes = PyDict_New();
    Attribute each;
    int failed = attributes == NULL;
    while (!failed && next_attribute(&p, scan->end, &each) > 0)
        if (each.value_end - each.value <= HREF_MAX && is_asked(&each))
            failed = add_attribute(scan, attributes, &each) < 0;
    if (!failed)
        failed = keep(scan, Py_BuildValue("(s#O)", element->name, element->size, attributes)) < 0;
    Py_XDECREF(attributes);
    return failed ? -1 : 0;
}

/* -- the stack of open elements ------------------------------------------------------------- */

static Open *top(Scan *scan) { return &scan->stack[scan->depth - 1]; }

static void push_barrier(Scan *scan) {
    scan->stack[scan->depth++] =
        (Open){.element = &unknown, .flags = SPECIAL | SCOPE | TABLE_SCOPE | BARRIER, .name = ""};
}

/* Opens an element, if there are not too many. */
static void push(Scan *scan, const struct element *element, const char *name, Py_ssize_t size,
                 unsigned flags, int name_space, int point, int mode) {
    if (scan->depth >= DEPTH_MAX) return;
    Open *open = &scan->stack[scan->depth++];
    open->element = element;
    open->name = name;
    open->size = (unsigned)size;
    open->flags = flags;
    open->name_space = (unsigned char)name_space;
    open->point = (unsigned char)point;
    open->mode = (unsigned char)mode;
    open->record = 0;
    unsigned around = open[-1].look;
    open->look = around & (PRE | DARK);
    if (flags & HIDES) {
        open->text = scan->text.size;
        open->items = PyList_Size(scan->items);
        open->space = (unsigned char)scan->space;
        open->line = (unsigned char)scan->line;
        open->due = scan->due;
    } else if (around & DARK) {
        open->flags &= ~(unsigned)BLOCK;
    } else if (around & FLEX) {
        open->flags |= BLOCK;
        break_line(scan);
    }
    if (flags & COUNTED) {
        scan->open_p += element == p_;
        scan->open_a += element == a_;
        if (element == template_) {
            scan->templates++;
            if (!(flags & HIDES)) scan->space = 1; /* a shadow stands in its line */
        }
        if (element == pre_ || element == listing_) open->look |= PRE;
        if (element == tr_) {
            open->look |= ROW;
            begin_row(scan);
        }
    }
    if (flags & MARKER) scan->markers++;
}

/* Closes the element at a depth and all in it, and forgets what they hide. */
static int cut(Scan *scan, Py_ssize_t depth) {
    while (scan->depth > depth) {
        const Open *open = &scan->stack[--scan->depth];
        if (open->flags & HIDES) {
            scan->text.size = open->text;
            scan->space = open->space;
            scan->line = open->line;
            scan->due = open->due;
            if (open->element == template_ && open->flags & COUNTED) {
                Py_ssize_t count = PyList_Size(scan->items);
                scan->items_left += count - open->items;
                if (PyList_SetSlice(scan->items, open->items, count, NULL) < 0) return -1;
            }
        } else if (open->look & ROW || open->flags & TABLE) {
            end_row(scan);
        } else if (open->flags & BLOCK) {
            break_line(scan);
        }
        if (open->flags & COUNTED) {
            scan->open_p -= open->element == p_;
            scan->open_a -= open->element == a_;
            if (open->element == template_) {
                scan->templates--;
                if (!(open->flags & HIDES)) scan->space = 1;
            }
        }
        if (open->flags & MARKER) {
            scan->markers--;
            while (scan->waiting_count > 0 &&
                   scan->waiting[scan->waiting_count - 1].markers > scan->markers)
                scan->waiting_count--;
        } else if (open->flags & FORMAT && scan->depth > depth &&
                   scan->waiting_count < WAITING_MAX) {
            scan->waiting[scan->waiting_count].element = open->element;
            scan->waiting[scan->waiting_count++].markers = scan->markers;
        }
    }
    return 0;
}

/* Formatting elements that were closed with a block around them go on. */
static void reopen(Scan *scan) {
    int mode = top(scan)->mode;
    if (mode >= SELECT || top(scan)->name_space != HTML) return;
    while (scan->waiting_count > 0 &&
           scan->waiting[scan->waiting_count - 1].markers == scan->markers) {
        const struct element *element = scan->waiting[--scan->waiting_count].element;
        push(scan, element, element->name, element->size, element->flags, HTML, NO_HTML, mode);
    }
}

/* An end tag of a formatting element that is not open: it does not go on. */
static void stop_waiting(Scan *scan, const struct element *element) {
    for (int i = scan->waiting_count - 1; i >= 0; i--) {
        if (scan->waiting[i].markers != scan->markers || scan->waiting[i].element != element)
            continue;
        scan->waiting_count--;
        memmove(scan->waiting + i, scan->waiting + i + 1,
                (size_t)(scan->waiting_count - i) * sizeof *scan->waiting);
        return;
    }
}

static int same_element(const Open *open, const struct element *element, const char *name,
                        Py_ssize_t size) {
    if (open->element != element) return 0;
    if (element != &unknown) return 1;
    if (open->size != (unsigned)size) return 0;
    for (Py_ssize_t i = 0; i < size; i++)
        if (lower(open->name[i]) != lower(name[i])) return 0;
    return 1;
}

/* An element that is looked for: one of a name, or (element NULL) one with such a flag. */
typedef struct {
    const struct element *element;
    const char *name;
    Py_ssize_t size;
    unsigned flag;
} Wanted;

/* How deep the nearest such HTML element is; 0 if something stops the search before. */
static Py_ssize_t find(Scan *scan, Wanted wanted, unsigned stops, unsigned also) {
    stops |= BARRIER;
    if (scan->walk <= 0) return 0;
    for (Py_ssize_t depth = scan->depth - 1; depth >= 0; depth--) {
        const Open *open = &scan->stack[depth];
        scan->walk--;
        if (open->name_space == HTML &&
            (wanted.element == NULL ? (open->flags & wanted.flag) != 0
                                    : same_element(open, wanted.element, wanted.name, wanted.size)))
            return depth;
        if (open->flags & stops || (open->name_space == HTML && open->flags & also)) return 0;
    }
    return 0;
}

#define KNOWN(e) ((Wanted){.element = (e)})
#define ANY_OF(bits) ((Wanted){.flag = (bits)})

static int close_nearest(Scan *scan, Wanted wanted, unsigned stops, unsigned also) {
    Py_ssize_t depth = find(scan, wanted, stops, also);
    return depth > 0 ? cut(scan, depth) : 0;
}

static int close_p(Scan *scan) {
    return scan->open_p > 0 ? close_nearest(scan, KNOWN(p_), SCOPE, BUTTON) : 0;
}

/* The end of a formatting element: it goes, and only blocks and formatting in it stay. That is what
   WHATWG's "adoption agency" leaves on the stack: up to the eighth block. */
static int take_out(Scan *scan, const struct element *element) {
    Py_ssize_t depth = find(scan, KNOWN(element), SCOPE, 0), last = depth, kept = depth;
    int blocks = 0;
    if (depth == 0) {
        stop_waiting(scan, element);
        return 0;
    }
    scan->walk -= scan->depth - depth;
    for (Py_ssize_t i = depth + 1; i < scan->depth && blocks < 8; i++)
        if (scan->stack[i].flags & SPECIAL) {
            blocks++;
            last = i;
        }
    if (blocks < 8 && cut(scan, blocks > 0 ? last + 1 : depth) < 0) return -1;
    if (blocks == 0) return 0;
    scan->open_a -= element == a_;
    for (Py_ssize_t i = depth + 1; i < scan->depth; i++)
        if (i > last || scan->stack[i].flags & (SPECIAL | FORMAT))
            scan->stack[kept++] = scan->stack[i];
    scan->depth = kept;
    return 0;
}

/* Leaves drawings and formulas, up to where HTML may be. */
static int leave_foreign(Scan *scan) {
    while (top(scan)->name_space != HTML && !top(scan)->point)
        if (cut(scan, scan->depth - 1) < 0) return -1;
    return 0;
}

/* -- raw text ------------------------------------------------------------------------------- */

/* Whether a tag with this name begins at the '<' at `p`, or ends there with `slash`. */
static int tag_at(const char *p, const char *end, const struct element *element, int slash) {
    Py_ssize_t size = element->size;
    p += 1 + slash;
    if (end - p < size || lower(*p) != element->name[0]) return 0;
    for (Py_ssize_t i = 0; i < size; i++)
        if (lower(p[i]) != element->name[i]) return 0;
    return end - p == size ? slash : (class_of[(unsigned char)p[size]] & NAME_END) != 0;
}

/* The '<' of the end tag of an element, from `p` on; NULL if there is none. */
static const char *find_end(const struct element *element, const char *p, const char *end) {
    while ((p = memchr(p, '<', (size_t)(end - p))) != NULL) {
        if (end - p >= 2 && p[1] == '/' && tag_at(p, end, element, 1)) return p;
        p++;
    }
    return NULL;
}

/* Where a script ends, which may have been hidden from old browsers by a comment. */
static const char *script_end(const char *p, const char *end) {
    int escaped = 0, doubled = 0;
    while (p < end) {
        const char *mark = memchr(p, '<', (size_t)(end - p));
        if (escaped) { /* does the comment end before? */
            const char *limit = mark == NULL ? end : mark;
            const char *dash = p;
            while ((dash = memchr(dash, '-', (size_t)(limit - dash))) != NULL) {
                if (end - dash >= 3 && dash[1] == '-' && dash[2] == '>') break;
                dash++;
            }
            if (dash != NULL) {
                escaped = doubled = 0;
                p = dash + 3;
                continue;
            }
        }
        if (mark == NULL) return NULL;
        p = mark + 1;
        if (end - mark >= 4 && memcmp(mark, "<!--", 4) == 0) {
            escaped = 1;
            p = mark + 2; /* its own dashes may be those of the end */
        } else if (end - mark >= 2 && mark[1] == '/' && tag_at(mark, end, script_, 1)) {
            if (!doubled) return mark;
            doubled = 0;
        } else if (escaped && tag_at(mark, end, script_, 0)) {
            doubled = 1;
        }
    }
    return NULL;
}

static int run(Scan *scan);

/* Runs no scripts, so <noscript> is markup: that of forums is often the whole page. No tag in it
   closes anything around it. */
static int no_script(Scan *scan, const char *stop) {
    const char *end = scan->end;
    Py_ssize_t depth = scan->depth, text = scan->text.size;
    unsigned char look = top(scan)->look & (PRE | DARK);
    push_barrier(scan);
    top(scan)->look = look;
    scan->unclosed = 1; /* there is none up to `stop` */
    scan->end = stop;
    int failed = run(scan);
    scan->end = end;
    scan->unclosed = 0;
    if (cut(scan, depth) < 0) failed = -1;
    if (scan->text.size > text) {
        Counts counts = {0};
        const unsigned char *data = (const unsigned char *)scan->text.data;
        count_bytes(data + text, data + scan->text.size, &counts);
        scan->signs.noscript_chars += counts.chars;
    }
    return failed;
}

/* Raw text that is seen, with its lines: stands alone, unless there is nothing in it. */
static int shown(Scan *scan, const struct element *element, const char *p, const char *end) {
    Py_ssize_t before = scan->text.size;
    int line = scan->line;
    Due due = scan->due;
    if (top(scan)->look & DARK) return 0;
    break_line(scan);
    int failed = visible_as(scan, p, end, element != textarea_, 1);
    if (scan->text.size > before || element != textarea_) {
        break_line(scan);
    } else {
        scan->line = line;
        scan->due = due;
    }
    return failed;
}

/* Raw text begins at `scan->at`: go to its end. */
static int raw_text(Scan *scan, const struct element *element, int hidden) {
    const char *begin = scan->at, *stop;
    if (element == plaintext_) {
        scan->at = scan->end;
        return hidden ? 0 : shown(scan, element, begin, scan->end);
    }
    if (element == noscript_ && scan->unclosed) return 0;
    stop = element == script_ ? script_end(begin, scan->end) : find_end(element, begin, scan->end);
    if (element == noscript_) {
        if (stop == NULL) scan->unclosed = 1;
        return stop == NULL ? 0 : no_script(scan, stop);
    }
    scan->at = stop == NULL ? scan->end : stop;
    if (element == title_ && scan->items_left > 0) {
        PyObject *title = decoded(scan, begin, cut_at(begin, scan->at, TITLE_MAX), 0);
        if (title == NULL) return -1;
        if (note_title(&scan->blocks, title) == 0)
            return keep(scan, Py_BuildValue("(ON)", Py_None, title));
        Py_DECREF(title);
        return -1;
    }
    if (hidden || (element != xmp_ && element != textarea_)) return 0;
    return shown(scan, element, begin, scan->at);
}

/* -- start tags ----------------------------------------------------------------------------- */

typedef struct {
    const struct element *element;
    const char *name, *name_end;
    int closed;       /* by "/>" */
    const Link *link; /* of an <a> */
    unsigned flags;   /* the element's, as its attributes change them */
    unsigned style;
} Tag;

static int has_attribute(const Scan *scan, const Tag *tag, const char *name, Attribute *found) {
    const char *p = tag->name_end;
    while (next_attribute(&p, scan->end, found) > 0)
        if (same_name(found->name, found->name_end, name)) return 1;
    return 0;
}

/* A script ended that began at `from`: its size, and what it says if it is JSON for readers. */
static int note_script(Scan *scan, const Tag *tag, const char *from) {
    Attribute type;
    scan->signs.script_bytes += scan->at - from;
    if (scan->data_left <= 0 || scan->items_left <= 0 || !has_attribute(scan, tag, "type", &type) ||
        !same_name(type.value, type.value_end, "application/ld+json"))
        return 0;
    const char *stop = cut_at(from, scan->at, scan->data_left);
    scan->data_left -= stop - from;
    PyObject *text = PyUnicode_DecodeUTF8(from, stop - from, "replace");
    return text == NULL ? -1 : keep(scan, Py_BuildValue("(s{sN})", "script", "content", text));
}

/* Counts a start tag. */
static void count_tag(Scan *scan, const Tag *tag) {
    Attribute type;
    scan->signs.tags[count_of[tag->element - elements]]++;
    if (tag->element == input_ && has_attribute(scan, tag, "type", &type))
        scan->signs.passwords += (unsigned)same_name(type.value, type.value_end, "password");
}

/* Whether a <font> is one of HTML. */
static int breaks_out(const Scan *scan, const Tag *tag) {
    Attribute found;
    return has_attribute(scan, tag, "color", &found) || has_attribute(scan, tag, "face", &found) ||
           has_attribute(scan, tag, "size", &found);
}

/* Whether an <annotation-xml> says that it holds HTML: 1 or 0, -1 for an error. */
static int holds_html(Scan *scan, const Tag *tag) {
    Attribute found;
    if (!has_attribute(scan, tag, "encoding", &found)) return 0;
    if (found.value_end - found.value > 256) return 0;
    PyObject *value = decoded(scan, found.value, found.value_end, 1);
    Py_ssize_t size;
    const char *text = value == NULL ? NULL : PyUnicode_AsUTF8AndSize(value, &size);
    int holds = text == NULL ? -1
                             : same_name(text, text + size, "text/html") ||
                                   same_name(text, text + size, "application/xhtml+xml");
    Py_XDECREF(value);
    return holds;
}

/* Whether a start tag in an element that is not HTML follows HTML's rules all the same. */
static int html_in(const Open *open, const Tag *tag) {
    if (open->point == ALL_HTML) return 1;
    if (open->point == MOST_HTML) return tag->element != mglyph_ && tag->element != malignmark_;
    return tag->element == svg_ && open->element == annotation_ && open->name_space == MATH;
}

/* A start tag in a drawing or a formula. */
static int foreign(Scan *scan, const Tag *tag) {
    const Open *open = top(scan);
    const struct element *element = tag->element;
    if (element == a_ && anchor(scan, tag->link) < 0) return -1;
    if (open->name_space == MATH) scan->space = 1; /* "x2" would be another number */
    if (scan->depth >= DEPTH_MAX || tag->closed) return 0;
    int point = NO_HTML;
    if (open->name_space == SVG)
        point = element->flags & POINT_SVG ? ALL_HTML : NO_HTML;
    else if (element->flags & POINT_MATH)
        point = MOST_HTML;
    else if (element == annotation_) {
        int holds = holds_html(scan, tag);
        if (holds < 0) return -1;
        point = holds ? ALL_HTML : NO_HTML;
    }
    unsigned flags = point || element == annotation_ ? SPECIAL | SCOPE : 0;
    if (open->name_space == MATH && (element == annotation_ || element == note_)) flags |= HIDES;
    push(scan, element, tag->name, tag->name_end - tag->name, flags, open->name_space, point,
         open->mode);
    return 0;
}

/* A start tag in a <select> or a <frameset>: 1 if it ends that or counts all the same, 0 if not,
   -1 for an error. */
static int within(Scan *scan, const Tag *tag) {
    const struct element *element = tag->element;
    Py_ssize_t depth = scan->depth - 1;
    if (top(scan)->mode == FRAMES)
        return element == frameset_ || element == frame_ || element == noframes_;
    if (element == script_ || element == template_) return 1;
    if (element == select_ || element->flags & ENDS_SELECT)
        return cut(scan, depth) < 0 ? -1 : element != select_;
    if (element->flags & (PART | TABLE)) {
        int around = scan->stack[depth - 1].mode;
        if (around != IN_TABLE && around != CELL) return 0;
        return cut(scan, depth) < 0 ? -1 : 1;
    }
    if (element == a_) return anchor(scan, tag->link);
    return element->flags & NOTED ? note(scan, element, tag->name_end) : 0;
}

/* <li>, <dd>, <dt>: closes the one before it, unless a list is between. */
static int item(Scan *scan, const struct element *element) {
    for (Py_ssize_t depth = scan->depth - 1; depth > 0 && scan->walk > 0; depth--) {
        const Open *open = &scan->stack[depth];
        int html = open->name_space == HTML;
        scan->walk--;
        if (html && (element == li_ ? open->element == li_ : (open->flags & DEFINITION) != 0)) {
            if (cut(scan, depth) < 0) return -1;
            break;
        }
        if (open->flags & SPECIAL && !(html && open->flags & BEFORE_ITEM)) break;
    }
    return close_p(scan);
}

/* Styles the element that was opened last. */
static void dress(Scan *scan, const Tag *tag) {
    Open *open = top(scan);
    unsigned style = tag->style;
    if (style & KEPT) open->look |= PRE;
    if (style & FOLDED) open->look &= ~PRE & 255;
    if (style & FLEXED) open->look |= FLEX;
    if (style & DARKENED) {
        open->look |= DARK;
        open->flags &= ~(unsigned)BLOCK;
    } else if (style & LIT) {
        open->look &= ~DARK & 255;
        open->flags |= tag->flags & BLOCK;
    }
    if (style & AS_CELL) begin_cell(scan);
    if (style & AS_ROW && !(open->look & ROW)) {
        open->look |= ROW;
        begin_row(scan);
    }
}

static void push_html(Scan *scan, const Tag *tag, int mode) {
    Py_ssize_t depth = scan->depth;
    push(scan, tag->element, tag->name, tag->name_end - tag->name, tag->flags, HTML, NO_HTML, mode);
    if (tag->style && scan->depth > depth) dress(scan, tag);
}

static void push_implied(Scan *scan, const struct element *element) {
    push(scan, element, element->name, element->size, element->flags, HTML, NO_HTML, IN_TABLE);
}

/* A part of a table, which closes all that is open in the table where it may not be. */
static int part(Scan *scan, const Tag *tag) {
    const struct element *element = tag->element;
    int cell = element == td_ || element == th_, mode = top(scan)->mode;
    if (mode != IN_TABLE && mode != CELL) return 0;
    unsigned place = cell ? CELL_PLACE : element == tr_ ? ROW_PLACE : TABLE;
    Py_ssize_t depth = find(scan, ANY_OF(place), TABLE_SCOPE, 0);
    if (depth == 0) return 0;
    if (cut(scan, depth + 1) < 0) return -1;
    if ((cell || element == tr_) && top(scan)->element == table_) push_implied(scan, tbody_);
    if (cell && top(scan)->element != tr_) push_implied(scan, tr_);
    if (element == col_) return 0;
    push_html(scan, tag, cell || element == caption_ ? CELL : IN_TABLE);
    if (top(scan)->flags & BLOCK)
        break_line(scan);
    else if (cell && !(tag->style & (INLINED | AS_CELL)))
        begin_cell(scan);
    return 0;
}

/* Whether the start tag of an option, a group of them or a part of a ruby closes this element. */
static int closed_by(const struct element *open, const struct element *next) {
    if (next == option_) return open == option_;
    if (next == optgroup_) return open == option_ || open == optgroup_;
    if (open == rtc_) return next == rb_ || next == rtc_;
    return open == rb_ || open == rt_ || open == rp_;
}

/* Closes the elements on top of the stack that the next of their kind closes. */
static int implied(Scan *scan, const struct element *element) {
    while (top(scan)->name_space == HTML && closed_by(top(scan)->element, element))
        if (cut(scan, scan->depth - 1) < 0) return -1;
    return 0;
}

/* Frames instead of a body, if there was nothing to read yet. */
static int frameset(Scan *scan, const Tag *tag) {
    if (top(scan)->mode != FRAMES) {
        if (scan->text.size > 0) return 0;
        if (cut(scan, 1) < 0) return -1;
    }
    push(scan, tag->element, tag->name, tag->name_end - tag->name, tag->element->flags | HIDES,
         HTML, NO_HTML, FRAMES);
    return 0;
}

/* A start tag with rules of its own. */
static int odd(Scan *scan, const Tag *tag) {
    const struct element *element = tag->element;
    unsigned flags = element->flags;
    int failed = 0;
    if (flags & RAW) {
        const char *from = scan->at;
        failed = raw_text(scan, element, (tag->flags & HIDES) != 0);
        return failed == 0 && element == script_ ? note_script(scan, tag, from) : failed;
    }
    if (flags & PART) return part(scan, tag);
    if (element == a_) {
        if (scan->open_a > 0 || scan->waiting_count > 0) {
            failed = take_out(scan, a_);
            reopen(scan);
        }
        if (failed == 0) failed = anchor(scan, tag->link);
    } else if (flags & ITEM) {
        failed = item(scan, element);
    } else if (flags & HEADING) {
        if (top(scan)->flags & HEADING && top(scan)->name_space == HTML)
            failed = cut(scan, scan->depth - 1);
    } else if (element == option_ || element == optgroup_ || element == rb_ || element == rt_ ||
               element == rp_ || element == rtc_) {
        failed = implied(scan, element);
    } else if (element == button_) {
        failed = close_nearest(scan, KNOWN(button_), SCOPE, 0);
    } else if (element == nobr_) {
        failed = take_out(scan, nobr_);
    } else if (element == form_) {
        if (scan->form && scan->templates == 0) return 0;
        scan->form = scan->templates == 0;
    } else if (element == svg_ || element == math_) {
        if (!tag->closed)
            push(scan, element, tag->name, tag->name_end - tag->name, tag->flags & HIDES,
                 element == svg_ ? SVG : MATH, NO_HTML, top(scan)->mode);
        return 0;
    } else if (element == table_) {
        if (top(scan)->mode == IN_TABLE) /* in a table, but in no cell of it */
            failed = close_nearest(scan, KNOWN(table_), TABLE_SCOPE, 0);
        push_html(scan, tag, IN_TABLE);
        return failed;
    } else if (element == select_) {
        push_html(scan, tag, SELECT);
        return 0;
    } else if (element == frameset_) {
        return frameset(scan, tag);
    }
    if (failed == 0 && !(flags & VOID)) push_html(scan, tag, top(scan)->mode);
    return failed;
}

/* A start tag where HTML's rules hold. */
static int html_start(Scan *scan, const Tag *tag) {
    unsigned flags = tag->element->flags;
    if (top(scan)->mode >= SELECT) {
        int counts = within(scan, tag);
        if (counts <= 0) return counts;
    }
    if (flags & NOTED && note(scan, tag->element, tag->name_end) < 0) return -1;
    if (flags & CLOSES_P && scan->open_p > 0 && !(flags & ITEM)) {
        if (close_p(scan) < 0) return -1;
    } else if (scan->waiting_count > 0 && flags & REOPENS && !(flags & ANCHOR)) {
        reopen(scan);
    }
    if (flags & ODD) return odd(scan, tag);
    if (!(flags & VOID)) push_html(scan, tag, tag->element == template_ ? OUT : top(scan)->mode);
    return 0;
}

/* A whole start tag. */
static int begin(Scan *scan, const Tag *tag) {
    if (tag->element != &unknown) count_tag(scan, tag);
    if (top(scan)->name_space != HTML && !html_in(top(scan), tag)) {
        if (!(tag->element->flags & BREAKOUT || (tag->element == font_ && breaks_out(scan, tag))))
            return foreign(scan, tag);
        if (leave_foreign(scan) < 0) return -1;
    }
    if (html_start(scan, tag) < 0) return -1;
    unsigned flags = tag->flags, look = top(scan)->look;
    int breaks = flags & BLOCK || (flags & VOID && look & FLEX && !(flags & HIDES));
    if (breaks && !(flags & (PART | RAW)) && !(look & DARK)) break_line(scan);
    return 0;
}

/* What can be asked for by a style, without spaces, and the property that it is of. */
static const struct {
    const char *text;
    unsigned char size, property;
    unsigned short style;
} styles[] = {
#define STYLE(text, property, style) {text, sizeof text - 1, property, style}
    STYLE("display:none", 0, NONE),
    STYLE("display:block", 0, BLOCKED),
    STYLE("display:inline", 0, INLINED),
    STYLE("display:inline-block", 0, INLINED),
    STYLE("display:flex", 0, BLOCKED | FLEXED),
    STYLE("display:grid", 0, BLOCKED | FLEXED),
    STYLE("display:-webkit-box", 0, BLOCKED | FLEXED),
    STYLE("display:inline-flex", 0, INLINED | FLEXED),
    STYLE("display:inline-grid", 0, INLINED | FLEXED),
    STYLE("display:flow-root", 0, BLOCKED),
    STYLE("display:list-item", 0, BLOCKED),
    STYLE("display:contents", 0, INLINED),
    STYLE("display:initial", 0, INLINED),
    STYLE("display:table", 0, BLOCKED),
    STYLE("display:inline-table", 0, INLINED),
    STYLE("display:table-row-group", 0, BLOCKED),
    STYLE("display:table-header-group", 0, BLOCKED),
    STYLE("display:table-footer-group", 0, BLOCKED),
    STYLE("display:table-caption", 0, BLOCKED),
    STYLE("display:table-row", 0, BLOCKED | AS_ROW),
    STYLE("display:table-cell", 0, INLINED | AS_CELL),
    STYLE("visibility:hidden", 1, DARKENED),
    STYLE("visibility:collapse", 1, DARKENED),
    STYLE("visibility:visible", 1, LIT),
    STYLE("white-space:pre", 2, KEPT),
    STYLE("white-space:pre-wrap", 2, KEPT),
    STYLE("white-space:pre-line", 2, KEPT),
    STYLE("white-space:break-spaces", 2, KEPT),
    STYLE("white-space:normal", 2, FOLDED),
    STYLE("white-space:nowrap", 2, FOLDED),
    STYLE("float:left", 3, BLOCKED),
    STYLE("float:right", 3, BLOCKED),
    STYLE("float:none", 3, 0),
    STYLE("position:absolute", 4, BLOCKED),
    STYLE("position:fixed", 4, BLOCKED),
    STYLE("position:static", 4, 0),
    STYLE("position:relative", 4, 0),
    STYLE("content-visibility:hidden", 5, NONE),
    STYLE("content-visibility:visible", 5, 0),
#undef STYLE
};
#define PROPERTIES 6
#define DECLARATION_MAX 40 /* bytes without spaces: longer ones are not asked for */

typedef struct {
    unsigned of[PROPERTIES];
    int important[PROPERTIES];
} Styles;

/* Takes a declaration, in lower case and without spaces. */
static void declare(Styles *found, const char *text, Py_ssize_t size) {
    const char mark[] = "!important";
    Py_ssize_t tail = (Py_ssize_t)sizeof mark - 1;
    int important = size > tail && memcmp(text + size - tail, mark, (size_t)tail) == 0;
    if (important) size -= tail;
    for (size_t i = 0; i < sizeof styles / sizeof *styles; i++) {
        int property = styles[i].property;
        if (styles[i].size != size || memcmp(styles[i].text, text, (size_t)size) != 0) continue;
        if (important || !found->important[property]) found->of[property] = styles[i].style;
        found->important[property] |= important;
    }
}

/* Behind a comment, a string or something in brackets in a style that begins at `p`; `p` if none
   does. */
static const char *skip_in_style(const char *p, const char *end) {
    char close = *p == '(' ? ')' : *p == '{' ? '}' : *p == '"' || *p == '\'' ? *p : 0;
    if (close) {
        p = memchr(p + 1, close, (size_t)(end - p - 1));
        return p == NULL ? end : p + 1;
    }
    if (*p != '/' || end - p < 2 || p[1] != '*') return p;
    for (p += 2; end - p >= 2; p++)
        if (p[0] == '*' && p[1] == '/') return p + 2;
    return end;
}

/* What a style attribute asks for. Character references in it are not replaced. */
static unsigned style_of(const char *p, const char *end) {
    Styles found = {{0}, {0}};
    char text[DECLARATION_MAX];
    Py_ssize_t size = 0;
    unsigned style = 0;
    while (p < end) {
        const char *after = skip_in_style(p, end);
        char c = after > p && *p != '/' ? '"' : lower(*p); /* a string is nothing that counts */
        if (after == p && c == ';') {
            if (size <= DECLARATION_MAX) declare(&found, text, size);
            size = 0;
        } else if (!(class_of[(unsigned char)c] & SPACE) && (after == p || c == '"')) {
            if (size < DECLARATION_MAX) text[size] = c;
            size++;
        }
        p = after > p ? after : p + 1;
    }
    if (size <= DECLARATION_MAX) declare(&found, text, size);
    for (int i = 0; i < PROPERTIES; i++) style |= found.of[i];
    return style;
}

/* What the attributes of a start tag make of its element. */
static void consider(Scan *scan, Tag *tag, const Hints *hints) {
    Attribute found;
    int hidden = hints->hidden;
    if (hints->style != NULL) tag->style = style_of(hints->style, hints->style_end);
    if (hidden || tag->style & (NONE | DARKENED)) scan->veiled = 1;
    if (scan->unveil) {
        hidden = 0;
        tag->style &= ~(unsigned)(NONE | DARKENED);
    }
    if (tag->element == dialog_ && !has_attribute(scan, tag, "open", &found)) hidden = 1;
    if (tag->element == template_ && has_attribute(scan, tag, "shadowrootmode", &found) &&
        (same_name(found.value, found.value_end, "open") ||
         same_name(found.value, found.value_end, "closed")))
        tag->flags &= ~(unsigned)HIDES;
    if (hidden || tag->style & NONE)
        tag->flags = (tag->flags & ~(unsigned)BLOCK) | HIDES;
    else if (tag->style & BLOCKED && !(tag->flags & HIDES))
        tag->flags |= BLOCK;
    else if (tag->style & INLINED)
        tag->flags &= ~(unsigned)BLOCK;
}

static int considers(const struct element *element, const Hints *hints) {
    return hints->hidden || hints->style != NULL || element == dialog_ || element == template_;
}

static int link_tag(Scan *scan, Tag *tag) {
    Link link = {0};
    Hints hints = {0};
    const char *after = read_link(tag->name_end, scan->end, &tag->closed, &link, &hints);
    scan->at = after == NULL ? scan->end : after;
    tag->link = &link;
    if (considers(tag->element, &hints)) consider(scan, tag, &hints);
    return after == NULL ? 0 : begin(scan, tag);
}

static int start_tag(Scan *scan, const char *name, const char *name_end) {
    Tag tag = {.name = name, .name_end = name_end};
    Hints hints = {0};
    tag.element = find_element(name, name_end, scan->end);
    tag.flags = tag.element->flags;
    if (tag.element == a_) return link_tag(scan, &tag);
    const char *after = skip_tag(name_end, scan->end, &tag.closed, &hints);
    scan->at = after == NULL ? scan->end : after;
    if (after != NULL && considers(tag.element, &hints)) consider(scan, &tag, &hints);
    return after == NULL ? 0 : begin(scan, &tag); /* or the page ends in a tag */
}

/* -- end tags ------------------------------------------------------------------------------- */

/* An end tag in a drawing or a formula: 0 if HTML's rules have to judge it, -1 for an error. */
static int end_foreign(Scan *scan, Wanted name) {
    if (name.element == br_ || name.element == p_) return leave_foreign(scan);
    for (Py_ssize_t depth = scan->depth - 1;
         scan->stack[depth].name_space != HTML && scan->walk > 0; depth--) {
        scan->walk--;
        if (same_element(&scan->stack[depth], name.element, name.name, name.size))
            return cut(scan, depth) < 0 ? -1 : 1;
    }
    return 0;
}

/* Only the form itself is closed, not what is open in it. */
static void end_form(Scan *scan) {
    if (!scan->form && scan->templates == 0) return;
    Py_ssize_t depth = find(scan, KNOWN(form_), SCOPE, 0);
    scan->form = scan->form && scan->templates > 0;
    if (depth == 0) return;
    scan->depth--;
    memmove(scan->stack + depth, scan->stack + depth + 1,
            (size_t)(scan->depth - depth) * sizeof *scan->stack);
}

/* An end tag that is not the current element's own. */
static int other_end(Scan *scan, Wanted name) {
    const struct element *element = name.element;
    unsigned flags = element->flags;
    if (top(scan)->name_space != HTML) {
        int done = end_foreign(scan, name);
        if (done) return done < 0 ? -1 : 0;
    }
    int mode = top(scan)->mode;
    if (mode == FRAMES) return 0;
    if (mode == SELECT && element != template_) {
        if (!(flags & (PART | TABLE)) || find(scan, name, TABLE_SCOPE, 0) == 0) return 0;
        if (cut(scan, scan->depth - 1) < 0) return -1;
    }
    if (element == br_ || (element == p_ && find(scan, name, SCOPE, BUTTON) == 0))
        break_line(scan); /* it makes an element all the same */
    if (flags & (VOID | RAW)) return 0;
    if (element == p_) return close_nearest(scan, name, SCOPE, BUTTON);
    if (flags & FORMAT) return take_out(scan, element);
    if (flags & IN_SCOPE) return close_nearest(scan, name, SCOPE, 0);
    if (flags & (PART | TABLE)) return close_nearest(scan, name, TABLE_SCOPE, 0);
    if (element == li_) return close_nearest(scan, name, SCOPE, LIST);
    if (flags & HEADING) return close_nearest(scan, ANY_OF(HEADING), SCOPE, 0);
    if (element == template_) return scan->templates > 0 ? close_nearest(scan, name, 0, 0) : 0;
    if (element != form_) return close_nearest(scan, name, SPECIAL, 0);
    end_form(scan);
    return 0;
}

static int end_tag(Scan *scan, const char *name, const char *name_end) {
    Py_ssize_t size = name_end - name;
    const Open *open = top(scan);
    const char *after = name_end + 1;
    if (name_end == scan->end || *name_end != '>') {
        int closed;
        Hints hints = {0};
        after = skip_tag(name_end, scan->end, &closed, &hints);
        if (after == NULL) { /* the page ends in a tag */
            scan->at = scan->end;
            return 0;
        }
    }
    scan->at = after;
    int html = open->name_space == HTML;
    if (html && open->size == (unsigned)size && memcmp(open->name, name, (size_t)size) == 0)
        return cut(scan, scan->depth - 1); /* mostly: then it need not be looked up */
    const struct element *element = find_element(name, name_end, scan->end);
    if (html && same_element(open, element, name, size) && !(open->flags & BARRIER))
        return cut(scan, scan->depth - 1);
    return other_end(scan, (Wanted){element, name, size, 0});
}

/* Behind a comment that begins with "<!--" at `p`. */
static const char *skip_comment(const char *p, const char *end) {
    p += 4;
    if (p < end && *p == '>') return p + 1;
    if (end - p >= 2 && p[0] == '-' && p[1] == '>') return p + 2;
    while ((p = memchr(p, '-', (size_t)(end - p))) != NULL) {
        if (end - p >= 3 && p[1] == '-' && p[2] == '>') return p + 3;
        if (end - p >= 4 && p[1] == '-' && p[2] == '!' && p[3] == '>') return p + 4;
        p++;
    }
    return end;
}

/* Text of a drawing or a formula that holds no tags, from `p` to "]]>". */
static int character_data(Scan *scan, const char *p) {
    const char *stop = p;
    while ((stop = memchr(stop, ']', (size_t)(scan->end - stop))) != NULL) {
        if (scan->end - stop >= 3 && stop[1] == ']' && stop[2] == '>') break;
        stop++;
    }
    scan->at = stop == NULL ? scan->end : stop + 3;
    return visible(scan, p, stop == NULL ? scan->end : stop, 1);
}

/* What begins with the '<' at `scan->at`. */
static int markup(Scan *scan) {
    const char *p = scan->at, *end = scan->end;
    if (end - p < 2 || (end - p == 2 && p[1] == '/')) {
        scan->at = end;
        if (scan->waiting_count > 0) reopen(scan);
        return visible(scan, p, end, 0);
    }
    int closing = p[1] == '/';
    const char *name = p + 1 + closing;
    if (name < end && class_of[(unsigned char)*name] & ALPHA) {
        const char *name_end = name;
        while (name_end < end && !(class_of[(unsigned char)*name_end] & NAME_END)) name_end++;
        return closing ? end_tag(scan, name, name_end) : start_tag(scan, name, name_end);
    }
    if (end - p >= 4 && memcmp(p, "<!--", 4) == 0) {
        scan->at = skip_comment(p, end);
        return 0;
    }
    if (end - p >= 9 && top(scan)->name_space != HTML && memcmp(p, "<![CDATA[", 9) == 0)
        return character_data(scan, p + 9);
    if (p[1] == '!' || p[1] == '?' || closing) { /* what is no tag and no comment ends at '>' */
        const char *stop = memchr(p, '>', (size_t)(end - p));
        scan->at = stop == NULL ? end : stop + 1;
        return 0;
    }
    scan->at = p + 1; /* just a character */
    if (scan->waiting_count > 0) reopen(scan);
    return visible(scan, p, p + 1, 1);
}

static int run(Scan *scan) {
    while (scan->at < scan->end) {
        const char *p = memchr(scan->at, '<', (size_t)(scan->end - scan->at));
        const char *stop = p == NULL ? scan->end : p;
        if (stop > scan->at) {
            if (scan->waiting_count > 0) reopen(scan);
            if (visible(scan, scan->at, stop, 0) < 0) return -1;
        }
        scan->at = stop;
        if (p != NULL && markup(scan) < 0) return -1;
    }
    return 0;
}

/* A buffer for text that was used before: fresh memory of that size costs more than filling it.
   Whoever takes it leaves none behind, so that nobody else writes to it at the same time. */
static Buffer spare;
#define SPARE_MAX (1 << 20)

static void take_spare(Buffer *buffer) {
    *buffer = spare;
    buffer->size = 0;
    spare = (Buffer){0};
}

static void give_back(Buffer *buffer) {
    if (spare.data == NULL && buffer->room <= SPARE_MAX)
        spare = *buffer;
    else
        buffer_free(buffer);
}

/* Reads a page; `scan` then has its text and items. */
static int read_page(Scan *scan, const Py_buffer *page, PyObject *names) {
    if (read_references(names) < 0) return -1;
    push_barrier(scan);
    take_spare(&scan->text);
    scan->at = page->buf;
    scan->end = scan->at + page->len;
    scan->items = PyList_New(0);
    if (scan->items == NULL || begin_blocks(scan) < 0) return -1;
    return page->len > 0 ? run(scan) : 0;
}

static void close_page(Scan *scan) {
    Py_XDECREF(scan->items);
    give_back(&scan->text);
    buffer_free(&scan->value);
    free_blocks(&scan->blocks);
}

#define UNVEILED_LEAST 500 /* bytes of hidden text that make a page worth reading once more */

/* Reads a page again as if its attributes hid nothing, and takes that if it is worth having. */
static int read_unveiled(Scan *scan, Scan *again, const Py_buffer *page, PyObject *names) {
    int failed = read_page(again, page, names);
    if (failed == 0 && again->text.size >= UNVEILED_LEAST) {
        Scan blank = *scan;
        *scan = *again;
        *again = blank;
    }
    close_page(again);
    return failed;
}

/* Reads a page; if it shows nothing, what a script would show of it. */
static int read_shown(Scan *scan, const Py_buffer *page, PyObject *names) {
    Py_ssize_t items = scan->items_left, data = scan->data_left;
    if (read_page(scan, page, names) < 0) return -1;
    if (scan->text.size > 0 || !scan->veiled) return 0;
    Scan again = {.stack = scan->stack,
                  .walk = WALK_MAX,
                  .due.row = -1,
                  .wanted = scan->wanted,
                  .items_left = items,
                  .data_left = data,
                  .unveil = 1};
    return read_unveiled(scan, &again, page, names);
}

static PyObject *decoded_buffer(const Buffer *buffer) {
    return PyUnicode_DecodeUTF8(buffer->size > 0 ? buffer->data : "", buffer->size, "replace");
}

/* What was counted, in the order of `signs.Signs`. */
static PyObject *signs_of(const Scan *scan, const Page *page) {
    const Record *records = records_of(page);
    Py_ssize_t all[SIGNS + 8] = {0};
    int links = 0;
    for (int i = 0; i < page->count; i++) {
        const Line *line = &page->lines[i];
        if (records[line->record].path >> LIST_ITEM & 1 && line->link * 10 >= line->size * 9)
            links += line->lines;
    }
    for (int i = 0; i < SIGNS; i++) all[i] = scan->signs.tags[i + 1];
    all[SIGNS] = scan->signs.passwords;
    all[SIGNS + 1] = scan->signs.script_bytes;
    all[SIGNS + 2] = scan->signs.noscript_chars;
    all[SIGNS + 3] = page->all;
    all[SIGNS + 4] = records[0].size;
    all[SIGNS + 5] = records[0].link;
    all[SIGNS + 6] = records[0].sentences;
    all[SIGNS + 7] = links;
    PyObject *tuple = PyTuple_New(SIGNS + 8);
    for (Py_ssize_t i = 0; tuple != NULL && i < SIGNS + 8; i++) {
        PyObject *number = PyLong_FromSsize_t(all[i]);
        if (number == NULL || PyTuple_SetItem(tuple, i, number) < 0) Py_CLEAR(tuple);
    }
    return tuple;
}

/* What `scan` answers: NULL for an error. */
static PyObject *answer(Scan *scan) {
    Page page = {0};
    Buffer lines = {0}, kept = {0};
    PyObject *scores = NULL, *text = NULL, *main = NULL, *result = NULL;
    int done = prepare(&page, &scan->blocks, &scan->text, &lines) == 0;
    if (done) scores = PyBytes_FromStringAndSize(NULL, page.all);
    if (scores != NULL) {
        unsigned char *each = (unsigned char *)PyBytes_AsString(scores);
        if (judge_lines(&page, each) == 0 && main_text(&page, each, &kept) == 0) {
            spread_scores(&page, each);
            text = decoded_buffer(&scan->text);
            main = text == NULL ? NULL : decoded_buffer(&kept);
        }
    }
    /* Its hash and its row in the archive need the UTF-8: from now on the text keeps it. */
    if (main != NULL && PyUnicode_AsUTF8AndSize(text, NULL) == NULL) Py_CLEAR(main);
    PyObject *signs = main == NULL ? NULL : signs_of(scan, &page);
    if (signs != NULL)
        result = Py_BuildValue("(OOnOON)", text, scan->items, scan->dropped, scores, main, signs);
    Py_XDECREF(scores);
    Py_XDECREF(text);
    Py_XDECREF(main);
    free_lines(&page, &lines);
    buffer_free(&kept);
    return result;
}

PyDoc_STRVAR(
    scan_doc,
    "scan(page, names, max_items, max_text)\n--\n\n"
    "The visible text of a page (UTF-8), what its tags say, how many were left out, the score "
    "of each line of the text, its main text, and what was counted (`signs.Signs`).\n\n"
    "What tags say: the href of an <a>, (href, rel) if one of them needs a look, (name, "
    "attributes) "
    "of others, (None, title). `names` are those of character references.");

static PyObject *scan(PyObject *Py_UNUSED(module), PyObject *args) {
    Py_buffer page;
    PyObject *names, *result = NULL;
    Open stack[DEPTH_MAX + 2]; /* barriers may be two more */
    Scan scan = {.stack = stack, .walk = WALK_MAX, .due.row = -1, .data_left = DATA_MAX};
    if (!PyArg_ParseTuple(args, "y*O!nn:scan", &page, &PyDict_Type, &names, &scan.items_left,
                          &scan.wanted))
        return NULL;
    if (read_shown(&scan, &page, names) == 0) result = answer(&scan);
    close_page(&scan);
    PyBuffer_Release(&page);
    return result;
}

/* All columns of a page one after the other. */
static PyObject *all_columns(Scan *scan, const Py_buffer *sums) {
    Page page = {0};
    Buffer lines = {0};
    PyObject *columns = NULL, *counts = NULL, *result = NULL;
    if (prepare(&page, &scan->blocks, &scan->text, &lines) == 0) {
        Py_ssize_t size = page.count * (Py_ssize_t)sizeof *page.sums;
        if (size > 0) memcpy(page.sums, sums->buf, (size_t)(sums->len < size ? sums->len : size));
        columns = PyBytes_FromStringAndSize(NULL, C_END * (Py_ssize_t)page.count);
        counts = PyTuple_New(page.count);
    }
    for (Py_ssize_t i = 0; counts != NULL && i < page.count; i++) {
        PyObject *number = PyLong_FromLong(page.lines[i].lines);
        if (number == NULL || PyTuple_SetItem(counts, i, number) < 0) Py_CLEAR(counts);
    }
    int made = columns != NULL && counts != NULL;
    if (made && sum_opinions(&page) == 0) {
        unsigned char *to = (unsigned char *)PyBytes_AsString(columns);
        for (int i = 0; i < C_END; i++) fill_column(&page, i, to + (size_t)i * (size_t)page.count);
        PyObject *text = decoded_buffer(&scan->text);
        if (text != NULL) result = Py_BuildValue("(NOO)", text, columns, counts);
    } else if (made) {
        PyErr_NoMemory();
    }
    Py_XDECREF(columns);
    Py_XDECREF(counts);
    free_lines(&page, &lines);
    return result;
}

PyDoc_STRVAR(features_doc,
             "features(page, names, sums)\n--\n\n"
             "For training: the text of a page, all columns of its lines one after the other, and "
             "of how many lines of the text each is. `sums` are those of the first trees, an int "
             "for each line.");

static PyObject *features(PyObject *Py_UNUSED(module), PyObject *args) {
    Py_buffer page, sums;
    PyObject *names, *result = NULL;
    Open stack[DEPTH_MAX + 2];
    Scan scan = {.stack = stack,
                 .walk = WALK_MAX,
                 .wanted = PY_SSIZE_T_MAX,
                 .due.row = -1,
                 .items_left = 1 << 16};
    if (!PyArg_ParseTuple(args, "y*O!y*:features", &page, &PyDict_Type, &names, &sums)) return NULL;
    if (read_shown(&scan, &page, names) == 0) result = all_columns(&scan, &sums);
    close_page(&scan);
    PyBuffer_Release(&page);
    PyBuffer_Release(&sums);
    return result;
}

#include "_small_words.h"

PyDoc_STRVAR(is_utf8_doc, "is_utf8(page)\n--\n\n"
                          "Whether bytes are UTF-8; a last character that is cut off is forgiven.");

static PyObject *is_utf8(PyObject *Py_UNUSED(module), PyObject *args) {
    Py_buffer page;
    if (!PyArg_ParseTuple(args, "y*:is_utf8", &page)) return NULL;
    const unsigned char *begin = page.buf;
    int found = all_utf8(begin, begin + page.len);
    PyBuffer_Release(&page);
    return PyBool_FromLong(found);
}

/* The element of a name, which is added if it is new. */
static struct element *element_of(const char *name, Py_ssize_t size) {
    Key key = key_of(name, size, name + size);
    struct element **slot = &table[hash_of(key)];
    for (struct element *e = *slot; e != NULL; e = e->next)
        if (e->size == size && memcmp(e->name, name, (size_t)size) == 0) return e;
    if (element_count == ELEMENTS_MAX || size > NAME_SIZE)
        Py_FatalError("lycosa.page._scan: the table of elements is too small");
    struct element *added = &elements[element_count++];
    memcpy(added->name, name, (size_t)size);
    added->key = key;
    added->size = size;
    added->flags = 0;
    added->next = *slot;
    return *slot = added;
}

/* Adds flags to some elements. */
static void mark(const char *names, unsigned flags) {
    while (*names) {
        size_t size = strcspn(names, " ");
        element_of(names, (Py_ssize_t)size)->flags |= flags;
        names += size + strspn(names + size, " ");
    }
}

static const struct element *by_name(const char *name) {
    return element_of(name, (Py_ssize_t)strlen(name));
}

static void fill_elements(void) {
    mark("address article aside blockquote br caption center dd details dialog dir div dl dt "
         "fieldset figcaption figure footer form frameset h1 h2 h3 h4 h5 h6 header hgroup hr "
         "legend li listing main menu nav ol optgroup option p plaintext pre search section "
         "summary table tbody tfoot thead tr ul xmp",
         BLOCK);
    mark("svg select object audio video canvas datalist template meter progress rp", HIDES);
    mark("script style textarea title iframe noframes noembed xmp noscript plaintext", RAW | ODD);
    mark("a", ANCHOR | ODD);
    mark("area frame link meta base html iframe time", NOTED);
    mark("area base basefont bgsound br col embed frame hr img image input keygen link "
         "meta param source track wbr html head body",
         VOID);
    mark("address applet area article aside base basefont bgsound blockquote body br "
         "button caption center col colgroup dd details dir div dl dt embed fieldset "
         "figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 head header "
         "hgroup hr html iframe img input keygen li link listing main marquee menu meta "
         "nav noembed noframes noscript object ol p param plaintext pre script search "
         "section select source style summary table tbody td template textarea tfoot th "
         "thead title tr track ul wbr xmp",
         SPECIAL);
    mark("table template", TABLE_SCOPE);
    mark("applet caption html table td th marquee object select template", SCOPE);
    mark("address article aside blockquote center details dialog dir div dl fieldset "
         "figcaption figure footer header hgroup main menu nav ol p search section summary "
         "ul pre listing form h1 h2 h3 h4 h5 h6 li dd dt plaintext xmp table hr",
         CLOSES_P);
    mark("a b big code em font i nobr s small strike strong tt u", FORMAT);
    mark("b big blockquote body br center code dd div dl dt em embed h1 h2 h3 h4 h5 h6 "
         "head hr i img li listing menu meta nobr ol p pre ruby s small span strong strike "
         "sub sup table tt u ul var",
         BREAKOUT);
    mark("address article aside blockquote button center details dialog dir div dl "
         "fieldset figcaption figure footer header hgroup listing main menu nav ol pre "
         "search section summary ul applet marquee object dd dt",
         IN_SCOPE);
    mark("caption col colgroup tbody tfoot thead tr td th", PART | ODD);
    mark("h1 h2 h3 h4 h5 h6", ODD);
    mark("li dd dt button nobr form svg math select table frameset frame option optgroup "
         "rb rt rtc rp input textarea",
         ODD);
    mark("h1 h2 h3 h4 h5 h6", HEADING);
    mark("dd dt", DEFINITION);
    mark("li dd dt", ITEM);
    mark("ol ul", LIST);
    mark("button", BUTTON);
    mark("address div p", BEFORE_ITEM);
    mark("tbody tfoot thead table", ROW_PLACE);
    mark("tr tbody tfoot thead table", CELL_PLACE);
    mark("table", TABLE);
    mark("input keygen textarea", ENDS_SELECT);
    mark("foreignobject desc title", POINT_SVG);
    mark("mi mo mn ms mtext", POINT_MATH);
    mark("applet caption marquee object td template th", MARKER);
    mark("a listing p pre template tr", COUNTED);
    a_ = by_name("a"), p_ = by_name("p"), li_ = by_name("li"), nobr_ = by_name("nobr");
    button_ = by_name("button"), form_ = by_name("form"), svg_ = by_name("svg");
    math_ = by_name("math"), table_ = by_name("table"), tbody_ = by_name("tbody");
    tr_ = by_name("tr"), td_ = by_name("td"), th_ = by_name("th"), caption_ = by_name("caption");
    col_ = by_name("col"), select_ = by_name("select"), frameset_ = by_name("frameset");
    frame_ = by_name("frame"), noframes_ = by_name("noframes"), template_ = by_name("template");
    script_ = by_name("script"), title_ = by_name("title"), noscript_ = by_name("noscript");
    plaintext_ = by_name("plaintext"), option_ = by_name("option"), optgroup_ = by_name("optgroup");
    rb_ = by_name("rb"), rt_ = by_name("rt"), rp_ = by_name("rp"), rtc_ = by_name("rtc");
    br_ = by_name("br"), font_ = by_name("font"), annotation_ = by_name("annotation-xml");
    mglyph_ = by_name("mglyph"), malignmark_ = by_name("malignmark");
    note_ = by_name("annotation"), dialog_ = by_name("dialog"), textarea_ = by_name("textarea");
    xmp_ = by_name("xmp"), pre_ = by_name("pre"), listing_ = by_name("listing");
    input_ = by_name("input"), time_ = by_name("time"), meta_ = by_name("meta");
    link_ = by_name("link");
    for (int i = 0; i < SIGNS; i++)
        count_of[by_name(counted_names[i]) - elements] = (unsigned char)(i + 1);
    for (int i = 0; i < element_count; i++)
        if (!(elements[i].flags & (CLOSES_P | RAW | PART | VOID))) elements[i].flags |= REOPENS;
    const char *stay[] = {"rb", "rt", "rtc", "rp", "template", "frameset"};
    for (size_t i = 0; i < sizeof stay / sizeof *stay; i++)
        element_of(stay[i], (Py_ssize_t)strlen(stay[i]))->flags &= ~(unsigned)REOPENS;
}

static void fill_classes(void) {
    for (const char *c = " \t\n\r\f"; *c; c++)
        class_of[(unsigned char)*c] |= SPACE | NAME_END | (*c == ' ' ? BLANK : TEXT_STOP);
    class_of['/'] |= NAME_END;
    class_of['>'] |= NAME_END | TAG_STOP;
    class_of['='] |= TAG_STOP;
    class_of['&'] |= TEXT_STOP;
    for (int c = 0; c < ' '; c++) class_of[c] |= TEXT_STOP; /* controls, and white space */
    class_of[0xC2] |= RARE, class_of[0xE1] |= RARE, class_of[0xE2] |= RARE;
    class_of[0xE3] |= RARE, class_of[0xEF] |= RARE;
    for (int c = '0'; c <= '9'; c++) class_of[c] |= ALNUM;
    for (int c = 'a'; c <= 'z'; c++) {
        class_of[c] |= ALNUM | ALPHA;
        class_of[c - 32] |= ALNUM | ALPHA;
    }
}

PyDoc_STRVAR(answer_to_doc, "answer_to(name)\n--\n\n"
                            "Keep a <meta> of that name, in lower case, from now on.");

static PyObject *answer_to(PyObject *Py_UNUSED(module), PyObject *args) {
    const char *name;
    Py_ssize_t size;
    if (!PyArg_ParseTuple(args, "s#:answer_to", &name, &size)) return NULL;
    if (size >= (Py_ssize_t)sizeof own_meta) {
        PyErr_SetString(PyExc_ValueError, "the name is too long");
        return NULL;
    }
    memcpy(own_meta, name, (size_t)size);
    own_meta[size] = 0;
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {{"scan", scan, METH_VARARGS, scan_doc},
                                {"answer_to", answer_to, METH_VARARGS, answer_to_doc},
                                {"is_utf8", is_utf8, METH_VARARGS, is_utf8_doc},
                                {"small_words", small_words, METH_VARARGS, small_words_doc},
                                {"features", features, METH_VARARGS, features_doc},
                                {NULL, NULL, 0, NULL}};

static struct PyModuleDef module = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "lycosa.page._scan",
    .m_doc = "One pass over an HTML page.",
    .m_size = -1,
    .m_methods = methods,
};

PyMODINIT_FUNC PyInit__scan(void) {
    if (element_count == 0) {
        fill_elements();
        fill_classes();
        fill_blocks();
    }
    return PyModule_Create(&module);
}
