/* One pass over an HTML page: the text that a reader sees, and the tags that say something.

   Owns the tokenizer: what is a tag, a comment, an attribute, a character reference (WHATWG, the
   states that matter to text and links), and which elements hide their text or break a line. No
   tree is built, so nothing here is worse than linear: every byte is looked at a bounded number
   of times, whatever its author intended (S3). Knows nothing of URLs or of crawling.

   `parse` reads pages without this module, over a tree, where it could not be compiled. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <string.h>

enum kind {
    BLOCK,  /* breaks a line, as every element does that is not known */
    INLINE, /* does not */
    HIDDEN, /* its text is not seen; nor does it break a line */
    RAW,    /* the same, and what looks like a tag in it is none */
};
enum note { NOTHING, ANCHOR, NOTED, TITLE };

struct element {
    const char *name;
    Py_ssize_t size;
    unsigned char kind, note;
    struct element *next; /* with the same hash */
};

#define E(name, kind, note) {name, sizeof name - 1, kind, note, NULL}
static struct element elements[] = {
    E("a", INLINE, ANCHOR),       E("abbr", INLINE, NOTHING),    E("acronym", INLINE, NOTHING),
    E("b", INLINE, NOTHING),      E("bdi", INLINE, NOTHING),     E("bdo", INLINE, NOTHING),
    E("big", INLINE, NOTHING),    E("cite", INLINE, NOTHING),    E("code", INLINE, NOTHING),
    E("data", INLINE, NOTHING),   E("del", INLINE, NOTHING),     E("dfn", INLINE, NOTHING),
    E("em", INLINE, NOTHING),     E("font", INLINE, NOTHING),    E("i", INLINE, NOTHING),
    E("img", INLINE, NOTHING),    E("ins", INLINE, NOTHING),     E("kbd", INLINE, NOTHING),
    E("label", INLINE, NOTHING),  E("mark", INLINE, NOTHING),    E("nobr", INLINE, NOTHING),
    E("q", INLINE, NOTHING),      E("s", INLINE, NOTHING),       E("samp", INLINE, NOTHING),
    E("small", INLINE, NOTHING),  E("span", INLINE, NOTHING),    E("strike", INLINE, NOTHING),
    E("strong", INLINE, NOTHING), E("sub", INLINE, NOTHING),     E("sup", INLINE, NOTHING),
    E("time", INLINE, NOTHING),   E("tt", INLINE, NOTHING),      E("u", INLINE, NOTHING),
    E("var", INLINE, NOTHING),    E("wbr", INLINE, NOTHING),     E("picture", INLINE, NOTHING),
    E("source", INLINE, NOTHING), E("area", BLOCK, NOTED),       E("frame", BLOCK, NOTED),
    E("link", INLINE, NOTED),     E("meta", INLINE, NOTED),      E("base", INLINE, NOTED),
    E("html", BLOCK, NOTED),      E("noscript", HIDDEN, NOTHING), E("template", HIDDEN, NOTHING),
    E("svg", HIDDEN, NOTHING),    E("select", HIDDEN, NOTHING),  E("object", HIDDEN, NOTHING),
    E("audio", HIDDEN, NOTHING),  E("video", HIDDEN, NOTHING),   E("canvas", HIDDEN, NOTHING),
    E("datalist", HIDDEN, NOTHING), E("script", RAW, NOTHING),   E("style", RAW, NOTHING),
    E("textarea", RAW, NOTHING),  E("title", RAW, TITLE),        E("iframe", RAW, NOTED),
    E("noframes", RAW, NOTHING),  E("noembed", RAW, NOTHING),    E("xmp", RAW, NOTHING),
};
#define ELEMENTS ((int)(sizeof elements / sizeof *elements))
#define NAME_MAX_LEN 12   /* longer names are unknown */
#define REFERENCES_MAX 20000 /* names looked up for one page: up to seven times each */
#define TITLE_MAX 8192    /* bytes looked at */
#define SEPARATOR 0x1E    /* a control character that separates records, hence lines */
#define HREF_MAX 8192     /* bytes: far above the longest URL that is ever crawled */

static struct element *table[256];
static const struct element *template, *svg;
static const struct element unknown = E("", BLOCK, NOTHING);

/* What a byte is: for skipping quickly over what needs no thought. */
enum { SPACE = 1, NAME_END = 2, TEXT_STOP = 4, TAG_STOP = 8, ALNUM = 16, ALPHA = 32 };
static unsigned char class_of[256];

/* Windows-1252, where numbers of character references mean it. */
static const unsigned short windows[32] = {
    0x20AC, 0x81,   0x201A, 0x192,  0x201E, 0x2026, 0x2020, 0x2021, 0x2C6,  0x2030, 0x160,
    0x2039, 0x152,  0x8D,   0x17D,  0x8F,   0x90,   0x2018, 0x2019, 0x201C, 0x201D, 0x2022,
    0x2013, 0x2014, 0x2DC,  0x2122, 0x161,  0x203A, 0x153,  0x9D,   0x17E,  0x178,
};

typedef struct {
    char *data;
    Py_ssize_t size, room;
} Buffer;

typedef struct {
    const char *at, *end;
    Buffer text;
    Py_ssize_t wanted; /* bytes of text */
    int space, line;   /* pending: written before the next character */
    int references;    /* names still to be looked up */
    PyObject *names;   /* of character references: html.entities.html5 */
    PyObject *items;
    Py_ssize_t items_left, dropped;
    const struct element *hidden; /* the element that hides the text now, or NULL */
    long nesting;
    const struct element *endless[16]; /* elements that are not closed any more */
    int endless_count;
    Buffer value; /* of an attribute, or a title, decoded */
} Scan;

static unsigned hash_name(const char *name, Py_ssize_t size) {
    unsigned hash = (unsigned)size;
    for (Py_ssize_t i = 0; i < size; i++) hash = hash * 31 + (unsigned char)name[i];
    return hash & 255;
}

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c; }

static const struct element *find_element(const char *begin, const char *end) {
    char name[NAME_MAX_LEN];
    Py_ssize_t size = end - begin;
    if (size > NAME_MAX_LEN) return &unknown;
    for (Py_ssize_t i = 0; i < size; i++) name[i] = lower(begin[i]);
    for (struct element *e = table[hash_name(name, size)]; e != NULL; e = e->next)
        if (e->size == size && memcmp(e->name, name, (size_t)size) == 0) return e;
    return &unknown;
}

/* -- buffers ------------------------------------------------------------------------------- */

static int add(Buffer *buffer, const char *data, Py_ssize_t size) {
    if (size > buffer->room - buffer->size) {
        Py_ssize_t room = buffer->room + buffer->room / 2 + size + 256;
        char *grown = PyMem_Realloc(buffer->data, (size_t)room);
        if (grown == NULL) {
            PyErr_NoMemory();
            return -1;
        }
        buffer->data = grown;
        buffer->room = room;
    }
    if (size > 0) memcpy(buffer->data + buffer->size, data, (size_t)size);
    buffer->size += size;
    return 0;
}

/* Visible characters without white space, after what is pending. */
static int put(Scan *scan, const char *data, Py_ssize_t size) {
    Buffer *text = &scan->text;
    if (text->size >= scan->wanted) return 0;
    if (text->size > 0) {
        if (scan->line) {
            if (add(text, "\n", 1) < 0) return -1;
        } else if (scan->space) {
            if (add(text, " ", 1) < 0) return -1;
        }
    }
    scan->line = scan->space = 0;
    return add(text, data, size);
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
static const char *numeric(const char *p, const char *end, char *out, int *size) {
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
    *size = code < 32 && code != '\t' && code != '\n' && code != '\r' && code != '\f'
                ? 0 /* a control character is nothing to read */
                : encode(code, out);
    return p < end && *p == ';' ? p + 1 : p;
}

/* The value of a name, 0 if there is none, -1 on an error. */
static int look_up(Scan *scan, const char *name, Py_ssize_t length, char *out, int *size) {
    PyObject *key = PyUnicode_DecodeASCII(name, length, NULL);
    if (key == NULL) return -1;
    PyObject *value = PyDict_GetItemWithError(scan->names, key);
    Py_DECREF(key);
    if (value == NULL) return PyErr_Occurred() ? -1 : 0;
    Py_ssize_t bytes;
    const char *utf8 = PyUnicode_AsUTF8AndSize(value, &bytes);
    if (utf8 == NULL) return -1;
    if (bytes > 16) return 0; /* there is none so long */
    memcpy(out, utf8, (size_t)bytes);
    *size = (int)bytes;
    return 1;
}

/* "&name": the same. In attributes a name without ';' counts only where nothing follows it. */
static const char *named(Scan *scan, const char *p, const char *end, int attribute, char *out,
                         int *size, int *error) {
    const char *name = p + 1;
    const char *stop = name;
    while (stop < end && stop - name < 32 && class_of[(unsigned char)*stop] & ALNUM) stop++;
    if (stop - name < 2) return NULL;
    if (stop < end && *stop == ';') {
        int found = look_up(scan, name, stop + 1 - name, out, size);
        if (found < 0) *error = 1;
        if (found) return stop + 1;
    }
    /* Old names do without the ';', and none of them is longer than six letters. */
    for (Py_ssize_t length = stop - name < 6 ? stop - name : 6; length >= 2; length--) {
        const char *after = name + length;
        if (attribute && after < end && (class_of[(unsigned char)*after] & ALNUM || *after == '='))
            continue;
        int found = look_up(scan, name, length, out, size);
        if (found < 0) *error = 1;
        if (found) return after;
    }
    return NULL;
}

static const char *reference(Scan *scan, const char *p, const char *end, int attribute, char *out,
                             int *size, int *error) {
    if (end - p < 3) return NULL;
    if (p[1] == '#') return numeric(p, end, out, size);
    if (!(class_of[(unsigned char)p[1]] & ALPHA)) return NULL;
    if (end - p >= 5 && memcmp(p, "&amp;", 5) == 0) { /* the most frequent one */
        *out = '&';
        *size = 1;
        return p + 5;
    }
    if (scan->references <= 0) return NULL;
    scan->references--;
    return named(scan, p, end, attribute, out, size, error);
}

/* -- text ---------------------------------------------------------------------------------- */

/* Length of the white space at `p` if there is some; a no-break space counts. */
static int space_at(const char *p, const char *end) {
    if (class_of[(unsigned char)*p] & SPACE) return 1;
    return p + 1 < end && (unsigned char)p[0] == 0xC2 && (unsigned char)p[1] == 0xA0 ? 2 : 0;
}

static int put_decoded(Scan *scan, const char *out, int size) {
    if (size > 0 && space_at(out, out + size)) {
        scan->space = 1;
        return 0;
    }
    return size > 0 ? put(scan, out, size) : 0;
}

static int visible(Scan *scan, const char *p, const char *end) {
    if (scan->hidden != NULL || scan->text.size >= scan->wanted) return 0;
    while (p < end) {
        const char *word = p;
        while (p < end && !(class_of[(unsigned char)*p] & TEXT_STOP)) p++;
        if (p > word && put(scan, word, p - word) < 0) return -1;
        if (p == end) break;
        int space = space_at(p, end);
        if (space) {
            scan->space = 1;
            p += space;
        } else if (*p == '&') {
            char out[16];
            int size = 0, error = 0;
            const char *after = reference(scan, p, end, 0, out, &size, &error);
            if (error) return -1;
            if (after == NULL ? put(scan, p, 1) < 0 : put_decoded(scan, out, size) < 0) return -1;
            p = after == NULL ? p + 1 : after;
        } else {
            if (*p == SEPARATOR)
                scan->line = 1;
            else if (*p != 0 && put(scan, p, 1) < 0) /* 0xC2 of another character */
                return -1;
            p++;
        }
    }
    return 0;
}

/* A value with its references replaced, as a string. */
static PyObject *decoded(Scan *scan, const char *p, const char *end) {
    const char *amp = memchr(p, '&', (size_t)(end - p));
    if (amp == NULL) return PyUnicode_DecodeUTF8(p, end - p, "replace");
    scan->value.size = 0;
    while (p < end) {
        amp = memchr(p, '&', (size_t)(end - p));
        const char *stop = amp == NULL ? end : amp;
        if (add(&scan->value, p, stop - p) < 0) return NULL;
        if (amp == NULL) break;
        char out[16];
        int size = 0, error = 0;
        const char *after = reference(scan, amp, end, 1, out, &size, &error);
        if (error) return NULL;
        if (after == NULL ? add(&scan->value, amp, 1) < 0 : add(&scan->value, out, size) < 0)
            return NULL;
        p = after == NULL ? amp + 1 : after;
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

/* Behind the '>' of a tag whose attributes do not matter; NULL if the page ends in it. Whether it
   ended in "/>" goes to `closed`. */
static const char *skip_tag(const char *p, const char *end, int *closed) {
    for (;;) {
        while (p < end && !(class_of[(unsigned char)*p] & TAG_STOP)) p++;
        if (p >= end) return NULL;
        if (*p == '>') {
            *closed = p[-1] == '/';
            return p + 1;
        }
        p++; /* '=' */
        while (p < end && class_of[(unsigned char)*p] & SPACE) p++;
        if (p >= end) return NULL;
        if (*p == '"' || *p == '\'') {
            p = memchr(p + 1, *p, (size_t)(end - p - 1));
            if (p == NULL) return NULL;
            p++;
        } else {
            while (p < end && !(class_of[(unsigned char)*p] & SPACE) && *p != '>') p++;
        }
    }
}

static int same_name(const char *begin, const char *end, const char *name) {
    for (; begin < end; begin++, name++)
        if (*name == 0 || lower(*begin) != *name) return 0;
    return *name == 0;
}

static int keep(Scan *scan, PyObject *item) {
    if (item == NULL) return -1;
    if (scan->hidden == template) { /* not part of the page until a script takes it */
        Py_DECREF(item);
        return 0;
    }
    int failed = PyList_Append(scan->items, item);
    Py_DECREF(item);
    scan->items_left--;
    return failed;
}

/* <a>: its href, or (href, rel) if it has a rel. */
static const char *anchor(Scan *scan, const char *p, int *error) {
    Attribute each, href = {0}, rel = {0};
    int more;
    while ((more = next_attribute(&p, scan->end, &each)) > 0) {
        if (href.name == NULL && same_name(each.name, each.name_end, "href")) href = each;
        if (rel.name == NULL && same_name(each.name, each.name_end, "rel")) rel = each;
    }
    if (more < 0) return NULL;
    if (href.name == NULL) return p;
    while (href.value < href.value_end && class_of[(unsigned char)*href.value] & SPACE) href.value++;
    Py_ssize_t size = href.value_end - href.value;
    if (size == 0 || size > HREF_MAX || *href.value == '#') return p;
    if (scan->items_left <= 0) {
        scan->dropped++;
        return p;
    }
    PyObject *link = decoded(scan, href.value, href.value_end);
    if (link != NULL && rel.name != NULL) {
        if (rel.value_end - rel.value > HREF_MAX) rel.value_end = rel.value + HREF_MAX;
        PyObject *wish = decoded(scan, rel.value, rel.value_end);
        PyObject *pair = wish == NULL ? NULL : PyTuple_Pack(2, link, wish);
        Py_XDECREF(wish);
        Py_DECREF(link);
        link = pair;
    }
    if (keep(scan, link) < 0) *error = 1;
    return p;
}

/* What anybody asks of the attributes of other tags. */
static const char *const asked[] = {"href", "src",  "rel",      "name",       "content",
                                    "lang", "type", "xml:lang", "http-equiv", "hreflang"};

static int is_asked(const Attribute *attribute) {
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++)
        if (same_name(attribute->name, attribute->name_end, asked[i])) return 1;
    return 0;
}

/* Any other tag that says something: (name, its attributes). */
static const char *noted(Scan *scan, const struct element *element, const char *p, int *error) {
    if (scan->items_left <= 0 || scan->hidden == template) { /* nobody will read it */
        int closed;
        scan->dropped += scan->hidden != template;
        return skip_tag(p, scan->end, &closed);
    }
    PyObject *attributes = PyDict_New();
    Attribute each;
    int more;
    if (attributes == NULL) *error = 1;
    while ((more = next_attribute(&p, scan->end, &each)) > 0) {
        if (*error || each.value_end - each.value > HREF_MAX || !is_asked(&each)) continue;
        char name[16]; /* all of them are shorter */
        Py_ssize_t size = each.name_end - each.name;
        for (Py_ssize_t i = 0; i < size; i++) name[i] = lower(each.name[i]);
        PyObject *key = PyUnicode_DecodeUTF8(name, size, "replace");
        PyObject *value = key == NULL ? NULL : decoded(scan, each.value, each.value_end);
        if (value == NULL || PyDict_SetDefault(attributes, key, value) == NULL) *error = 1;
        Py_XDECREF(key);
        Py_XDECREF(value);
    }
    if (!*error && more == 0 &&
        keep(scan, Py_BuildValue("(sO)", element->name, attributes)) < 0)
        *error = 1;
    Py_XDECREF(attributes);
    return more == 0 ? p : NULL;
}

/* The '<' of the end tag of an element, from `p` on; NULL if there is none. */
static const char *find_end(const struct element *element, const char *p, const char *end) {
    Py_ssize_t size = element->size;
    while ((p = memchr(p, '<', (size_t)(end - p))) != NULL) {
        if (end - p >= size + 2 && p[1] == '/' && lower(p[2]) == element->name[0] &&
            same_name(p + 2, p + 2 + size, element->name) &&
            (end - p == size + 2 || class_of[(unsigned char)p[size + 2]] & NAME_END))
            return p;
        p++;
    }
    return NULL;
}

static int is_endless(Scan *scan, const struct element *element) {
    for (int i = 0; i < scan->endless_count; i++)
        if (scan->endless[i] == element) return 1;
    return 0;
}

/* Raw text begins at `scan->at`: go to its end. */
static int raw_text(Scan *scan, const struct element *element) {
    const char *stop = find_end(element, scan->at, scan->end);
    if (stop == NULL) stop = scan->end;
    if (element->note == TITLE && scan->hidden == NULL && scan->items_left > 0) {
        const char *cut = stop - scan->at > TITLE_MAX ? scan->at + TITLE_MAX : stop;
        PyObject *title = decoded(scan, scan->at, cut);
        if (title == NULL || keep(scan, Py_BuildValue("(ON)", Py_None, title)) < 0) return -1;
    }
    scan->at = stop;
    return 0;
}

/* An element that hides what is in it: only if it is closed, or it would hide the whole page. */
static void hide(Scan *scan, const struct element *element) {
    if (scan->hidden == element) {
        scan->nesting++;
    } else if (scan->hidden == NULL && !is_endless(scan, element)) {
        if (find_end(element, scan->at, scan->end) != NULL) {
            scan->hidden = element;
            scan->nesting = 1;
        } else if (scan->endless_count < (int)(sizeof scan->endless / sizeof *scan->endless)) {
            scan->endless[scan->endless_count++] = element;
        }
    }
}

static int start_tag(Scan *scan, const char *name, const char *name_end) {
    const struct element *element = find_element(name, name_end);
    const char *after;
    int closed = 0, error = 0;
    if (element->note == ANCHOR)
        after = anchor(scan, name_end, &error);
    else if (element->note == NOTED)
        after = noted(scan, element, name_end, &error);
    else
        after = skip_tag(name_end, scan->end, &closed);
    if (error) return -1;
    if (after == NULL) { /* the page ends in a tag */
        scan->at = scan->end;
        return 0;
    }
    scan->at = after;
    if (element->kind == BLOCK && scan->hidden == NULL) scan->line = 1;
    /* In a drawing "/>" closes an element, whatever its name. */
    if (element->kind == RAW && !(closed && scan->hidden == svg)) return raw_text(scan, element);
    if (element->kind == HIDDEN && !closed) hide(scan, element);
    return 0;
}

static void end_tag(Scan *scan, const char *name, const char *name_end) {
    const struct element *element = find_element(name, name_end);
    int closed;
    const char *after = skip_tag(name_end, scan->end, &closed);
    scan->at = after == NULL ? scan->end : after;
    if (scan->hidden == element && element->kind == HIDDEN) {
        if (--scan->nesting <= 0) scan->hidden = NULL;
    } else if (element->kind == BLOCK && scan->hidden == NULL) {
        scan->line = 1;
    }
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

/* What begins with the '<' at `scan->at`. */
static int markup(Scan *scan) {
    const char *p = scan->at, *end = scan->end;
    if (end - p < 2 || (end - p == 2 && p[1] == '/')) {
        scan->at = end;
        return visible(scan, p, end);
    }
    int closing = p[1] == '/';
    const char *name = p + 1 + closing;
    if (name < end && class_of[(unsigned char)*name] & ALPHA) {
        const char *name_end = name;
        while (name_end < end && !(class_of[(unsigned char)*name_end] & NAME_END)) name_end++;
        if (!closing) return start_tag(scan, name, name_end);
        end_tag(scan, name, name_end);
        return 0;
    }
    if (end - p >= 4 && memcmp(p, "<!--", 4) == 0) {
        scan->at = skip_comment(p, end);
        return 0;
    }
    if (p[1] == '!' || p[1] == '?' || closing) { /* what is no tag and no comment ends at '>' */
        const char *stop = memchr(p, '>', (size_t)(end - p));
        scan->at = stop == NULL ? end : stop + 1;
        return 0;
    }
    scan->at = p + 1; /* just a character */
    return visible(scan, p, p + 1);
}

static int run(Scan *scan) {
    while (scan->at < scan->end) {
        const char *p = memchr(scan->at, '<', (size_t)(scan->end - scan->at));
        const char *stop = p == NULL ? scan->end : p;
        if (stop > scan->at && visible(scan, scan->at, stop) < 0) return -1;
        scan->at = stop;
        if (p != NULL && markup(scan) < 0) return -1;
    }
    return 0;
}

PyDoc_STRVAR(scan_doc,
             "scan(page, names, max_items, max_text)\n--\n\n"
             "The visible text of a page (UTF-8), what its tags say, and how many were left out.\n\n"
             "What they say: the href of an <a>, (href, rel) if it has a rel, (name, attributes) "
             "of others, (None, title). `names` are those of character references.");

static PyObject *scan(PyObject *Py_UNUSED(module), PyObject *args) {
    Py_buffer page;
    Scan scan = {0};
    if (!PyArg_ParseTuple(args, "y*O!nn:scan", &page, &PyDict_Type, &scan.names, &scan.items_left,
                          &scan.wanted))
        return NULL;
    scan.at = page.buf;
    scan.end = scan.at + page.len;
    scan.references = REFERENCES_MAX;
    PyObject *result = NULL;
    scan.items = PyList_New(0);
    if (scan.items != NULL && page.len > 0 && run(&scan) == 0) {
        PyObject *text = PyUnicode_DecodeUTF8(scan.text.data, scan.text.size, "replace");
        if (text != NULL) result = Py_BuildValue("(NOn)", text, scan.items, scan.dropped);
    } else if (scan.items != NULL && page.len == 0) {
        result = Py_BuildValue("(sOn)", "", scan.items, scan.dropped);
    }
    Py_XDECREF(scan.items);
    PyMem_Free(scan.text.data);
    PyMem_Free(scan.value.data);
    PyBuffer_Release(&page);
    return result;
}

static void fill_tables(void) {
    memset(table, 0, sizeof table);
    for (int i = 0; i < ELEMENTS; i++) {
        struct element **slot = &table[hash_name(elements[i].name, elements[i].size)];
        elements[i].next = *slot;
        *slot = &elements[i];
    }
    template = find_element("template", "template" + 8);
    svg = find_element("svg", "svg" + 3);
    for (const char *c = " \t\n\r\f"; *c; c++)
        class_of[(unsigned char)*c] |= SPACE | NAME_END | TEXT_STOP;
    class_of['/'] |= NAME_END;
    class_of['>'] |= NAME_END | TAG_STOP;
    class_of['='] |= TAG_STOP;
    class_of['&'] |= TEXT_STOP;
    class_of[0] |= TEXT_STOP;
    class_of[SEPARATOR] |= TEXT_STOP;
    class_of[0xC2] |= TEXT_STOP;
    for (int c = '0'; c <= '9'; c++) class_of[c] |= ALNUM;
    for (int c = 'a'; c <= 'z'; c++) {
        class_of[c] |= ALNUM | ALPHA;
        class_of[c - 32] |= ALNUM | ALPHA;
    }
}

static PyMethodDef methods[] = {{"scan", scan, METH_VARARGS, scan_doc}, {NULL, NULL, 0, NULL}};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "lycosa._scan", "One pass over an HTML page.", -1, methods,
    NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__scan(void) {
    fill_tables();
    return PyModule_Create(&module);
}
