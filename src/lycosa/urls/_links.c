/* The plain links of a page, joined to its URL in one go, and the hosts that they lead to, counted.

   Most links need no parser: they begin with '/', a letter, './', '../' or the name of a host, and
   hold only characters that the URL standard leaves alone. `canonical` recognises them by patterns,
   this module by a table. It also decides what `scope` decides of most URLs (not too many segments,
   none too often, no file that can't be text), and passes over links that were sent lately. Which
   domain another host belongs to, and whether anything but the shape of its URLs matters, it asks
   Python once a page and host. Every href of which it is not certain is left over, and `harvest`
   gives it to Python; without this module it gives all.

   Most links lead to the page's own domain. They are packed, one behind the other: an object for
   each would cost as much as all else that is done to it, here and until the store has let it go.

   Owns no rule: tests compare each with the one in Python. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <string.h>

#include "../_buffer.h"
#include "../_xxh3.h"

#define MAX_URL 2000
#define LONGEST_ENDING 8 /* of the endings in `scope`; checked there */
#define LONGEST_LABEL 60 /* of a plain name, as in `canonical` */
#define MOST_DOTS 3
#define MOST_ORIGINS 64 /* of one page that are taken: all others are left over */
#define MOST_SEGMENTS 64
#define SUSPECTS_SIZE 4096 /* bytes of `fingerprint.SUSPECTS` */

/* NOTED: what a path is looked at more closely for. */
enum { PATH = 1, QUERY = 2, FIRST = 4, LABEL = 8, NOTED = 16 };
static unsigned char class_of[256];

static void fill_table(void) {
    const char *letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_~";
    for (const char *p = letters; *p; p++) class_of[(unsigned char)*p] = PATH | QUERY | FIRST;
    for (const char *p = ".!$&()*+,;=:@/%"; *p; p++) class_of[(unsigned char)*p] = PATH | QUERY;
    for (const char *p = "?[]|"; *p; p++) class_of[(unsigned char)*p] |= QUERY;
    for (const char *p = "abcdefghijklmnopqrstuvwxyz0123456789-_"; *p; p++)
        class_of[(unsigned char)*p] |= LABEL;
    for (const char *p = "/;:"; *p; p++) class_of[(unsigned char)*p] |= NOTED;
}

/* What is joined to an origin or to a directory: a path, perhaps with a query. */
typedef struct {
    const char *text;
    Py_ssize_t size;
    Py_ssize_t path;    /* bytes before '?' */
    Py_ssize_t slashes; /* in the path */
    int fold;           /* a query or a ';': the fingerprint is that of a folded URL */
} Href;

/* Whether the segment behind a '/' may be '.' or '..', however it is written. */
static int dots(const unsigned char *slash, const unsigned char *end) {
    const unsigned char *p = slash + 1;
    return p < end && (*p == '.' || (*p == '%' && p + 1 < end && p[1] == '2'));
}

/* Whether an href is plain, and begins as one of its kind does. */
static int plain(Href *href, int rooted) {
    const unsigned char *p = (const unsigned char *)href->text, *end = p + href->size;
    if (rooted ? href->size > 1 && p[1] == '/' : !(class_of[*p] & FIRST)) return 0;
    for (; p < end && class_of[*p] & PATH; p++) {
        if (!(class_of[*p] & NOTED)) continue;
        if (*p == '/' && dots(p, end)) return 0;
        if (*p == ':' && !rooted) return 0;
        href->slashes += *p == '/';
        href->fold |= *p == ';';
    }
    href->path = (const char *)p - href->text;
    if (p == end) return 1;
    if (*p != '?') return 0;
    href->fold = 1;
    for (; p < end && class_of[*p] & QUERY; p++)
        if (*p == '/' && dots(p, end)) return 0;
    return p == end;
}

/* Where a plain name of a host ends; NULL if it is none: a port, an address, another script. */
static const char *name_end(const char *p, const char *end) {
    for (int dots = 0; dots <= MOST_DOTS; dots++, p++) {
        const char *label = p;
        int letters = 1; /* as the last label is written */
        for (; p < end && class_of[(unsigned char)*p] & LABEL; p++) letters &= *p != '_';
        if (p == label || p - label > LONGEST_LABEL) return NULL;
        if (p - label >= 4 && memcmp(label, "xn--", 4) == 0) return NULL;
        if (p < end && *p == '.') continue;
        return letters && *label >= 'a' && *label <= 'z' ? p : NULL;
    }
    return NULL;
}

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c; }

/* An origin that links of the page lead to. */
typedef struct {
    const char *text; /* without its scheme: of an href, or of the page's own origin */
    Py_ssize_t size;
    int https;
    int own;         /* of the page's own domain */
    PyObject *place; /* (domain id, domain); None: its links are left over; owned */
    Py_ssize_t links;
} Origin;

/* What `join` was called with. */
typedef struct {
    PyObject *depth, *flags, *links;
    const char *suspects; /* a bit for how the names begin that fingerprints leave out */
    const char *origin, *directory;
    Py_ssize_t origin_size, directory_size;
    int64_t *slots;
    uint64_t mask;
    Py_ssize_t max_repeats, max_segments, max_query;
    PyObject *endings, *hash, *fingerprint, *place_of;
    Origin origins[MOST_ORIGINS]; /* the first one is the page's own */
    int count;
    Buffer own; /* links to the page's own domain: see `frontier.values.LinkBlock` */
    Py_ssize_t own_links;
    char ending[LONGEST_ENDING]; /* of the last path that was looked up: most end alike */
    Py_ssize_t ending_size;
    int ending_found;
} Page;

/* A URL on its way to the frontier. */
typedef struct {
    char text[MAX_URL];
    Py_ssize_t size;
    Origin *origin;
    int fold;
    int64_t fp;
} Joined;

/* Whether the path ends like a file that is not text: 1 or 0, -1 for an error. */
static int not_text(Page *page, const char *path, Py_ssize_t size) {
    char ending[LONGEST_ENDING];
    Py_ssize_t at = size;
    while (at > 0 && size - at < LONGEST_ENDING && path[at - 1] != '.') at--;
    if (at == 0 || path[at - 1] != '.') return 0;
    size -= at;
    for (Py_ssize_t i = 0; i < size; i++) ending[i] = lower(path[at + i]);
    if (size == page->ending_size && memcmp(ending, page->ending, (size_t)size) == 0)
        return page->ending_found;
    PyObject *word = PyUnicode_FromStringAndSize(ending, size);
    int found = word == NULL ? -1 : PySet_Contains(page->endings, word);
    Py_XDECREF(word);
    if (found >= 0) memcpy(page->ending, ending, (size_t)size);
    page->ending_size = found >= 0 ? size : -1;
    page->ending_found = found;
    return found;
}

/* Whether a parameter of a URL may be one that its fingerprint leaves out, by how it begins. */
static int suspicious(const Page *page, const Joined *joined) {
    const char *end = joined->text + joined->size;
    for (const char *p = joined->text; p + 3 < end; p++) {
        if (*p != '?' && *p != '&' && *p != ';') continue;
        int begin = (p[1] & 31) << 10 | (p[2] & 31) << 5 | (p[3] & 31);
        if (page->suspects[begin >> 3] >> (begin & 7) & 1) return 1;
    }
    return 0;
}

/* A number that Python makes of a URL: 0, or -1 for an error. */
static int ask(PyObject *function, PyObject *url, int64_t *value) {
    PyObject *found = url == NULL ? NULL : PyObject_CallFunctionObjArgs(function, url, NULL);
    Py_XDECREF(url);
    if (found != NULL) *value = (int64_t)PyLong_AsUnsignedLongLongMask(found);
    Py_XDECREF(found);
    return PyErr_Occurred() ? -1 : 0;
}

/* The number by which a URL is known: 0, or -1 for an error. */
static int fingerprint_of(const Page *page, const Joined *joined, int64_t *value) {
    const char *text = joined->text;
    if (joined->fold && suspicious(page, joined))
        return ask(page->fingerprint, PyUnicode_FromStringAndSize(text, joined->size), value);
    if (joined->size < XXH3_LEAST || joined->size > XXH3_MOST)
        return ask(page->hash, PyBytes_FromStringAndSize(text, joined->size), value);
    *value = (int64_t)xxh3_short(text, (size_t)joined->size);
    return 0;
}

/* Whether one segment of a path occurs too often, or there are too many to tell. */
static int repeats(const char *path, Py_ssize_t size, Py_ssize_t limit) {
    const char *begins[MOST_SEGMENTS], *end = path + size;
    Py_ssize_t sizes[MOST_SEGMENTS];
    int count = 0;
    for (const char *p = path + 1; p <= end; p += sizes[count++] + 1) {
        if (count == MOST_SEGMENTS) return 1;
        const char *slash = memchr(p, '/', (size_t)(end - p));
        begins[count] = p;
        sizes[count] = (slash == NULL ? end : slash) - p;
    }
    for (int i = 0; i < count; i++) {
        Py_ssize_t same = 0;
        for (int j = i; j < count; j++)
            same += sizes[i] == sizes[j] && memcmp(begins[i], begins[j], (size_t)sizes[i]) == 0;
        if (same > limit) return 1;
    }
    return 0;
}

/* Joins what is plain to what comes before it: 1, 0 if it is perhaps not wanted, -1 for an error.
   `root`: the bytes of `before` that are its origin. */
static int join_to(Page *page, const char *before, Py_ssize_t size, Py_ssize_t root,
                   const Href *href, Joined *joined) {
    Py_ssize_t slashes = href->slashes;
    if (size + href->size > MAX_URL || href->size - href->path - 1 > page->max_query) return 0;
    for (Py_ssize_t i = root; i < size; i++) slashes += before[i] == '/';
    if (slashes > page->max_segments) return 0;
    int refused = not_text(page, href->text, href->path);
    if (refused) return refused < 0 ? -1 : 0;
    memcpy(joined->text, before, (size_t)size);
    memcpy(joined->text + size, href->text, (size_t)href->size);
    joined->size = size + href->size;
    joined->fold = href->fold || memchr(before + root, ';', (size_t)(size - root)) != NULL;
    return slashes <= page->max_repeats ||
           !repeats(joined->text + root, size - root + href->path, page->max_repeats);
}

/* Whether a place is in the domain of the page: 1 or 0, -1 for an error. */
static int same_domain(const Page *page, PyObject *place) {
    PyObject *own = page->origins->place;
    return PyObject_RichCompareBool(PyTuple_GetItem(place, 0), PyTuple_GetItem(own, 0), Py_EQ);
}

/* The origin of a host that links lead to, which Python is asked for once; NULL if there are too
   many, or for an error. `name`: without the scheme, in an href; `whole`: with it. */
static Origin *origin_of(Page *page, const char *name, Py_ssize_t size, int https,
                         const char *whole) {
    for (int i = 0; i < page->count; i++) {
        Origin *known = page->origins + i;
        if (known->size == size && known->https == https &&
            memcmp(known->text, name, (size_t)size) == 0)
            return known;
    }
    if (page->count == MOST_ORIGINS) return NULL;
    PyObject *text = PyUnicode_FromStringAndSize(whole, size + 7 + https);
    if (text == NULL) return NULL;
    PyObject *place = PyObject_CallFunctionObjArgs(page->place_of, text, NULL);
    Py_DECREF(text);
    if (place == NULL) return NULL;
    if (place != Py_None && (!PyTuple_Check(place) || PyTuple_Size(place) != 2)) {
        Py_DECREF(place);
        PyErr_SetString(PyExc_TypeError, "a place is a domain id and a domain");
        return NULL;
    }
    int own = place == Py_None ? 0 : same_domain(page, place);
    if (own < 0) {
        Py_DECREF(place);
        return NULL;
    }
    page->origins[page->count] = (Origin){name, size, https, own, place, 0};
    return page->origins + page->count++;
}

/* An href that names its host: behind `//`. */
static int join_absolute(Page *page, const char *name, const char *end, int https, Joined *joined) {
    char before[8 + (MOST_DOTS + 1) * (LONGEST_LABEL + 1)];
    const char *behind = name_end(name, end);
    if (behind == NULL || (behind < end && *behind != '/')) return 0;
    Href href = {.text = behind, .size = end - behind};
    if (href.size == 0) href = (Href){.text = "/", .size = 1};
    if (!plain(&href, 1)) return 0;
    Py_ssize_t scheme = 7 + https, size = scheme + (behind - name);
    memcpy(before, https ? "https://" : "http://", (size_t)scheme);
    memcpy(before + scheme, name, (size_t)(behind - name));
    joined->origin = origin_of(page, name, behind - name, https, before);
    if (joined->origin == NULL) return PyErr_Occurred() ? -1 : 0;
    if (joined->origin->place == Py_None) return 0;
    return join_to(page, before, size, size, &href, joined);
}

/* An href that begins with a name, or climbs up from the page's directory before. */
static int join_relative(Page *page, const char *text, const char *end, Joined *joined) {
    Py_ssize_t size = page->directory_size;
    for (;;) {
        if (end - text >= 2 && memcmp(text, "./", 2) == 0) {
            text += 2;
        } else if (end - text >= 3 && memcmp(text, "../", 3) == 0) {
            text += 3;
            if (size > page->origin_size + 1) do
                    size--;
                while (page->directory[size - 1] != '/');
        } else
            break;
    }
    Href href = {.text = text, .size = end - text};
    if (href.size > 0 && !plain(&href, 0)) return 0;
    joined->origin = page->origins;
    return join_to(page, page->directory, size, page->origin_size, &href, joined);
}

/* Joins an href to the page's URL: 1, 0 if it is not plain or perhaps not wanted, -1 for an error.
 */
static int join_plain(Page *page, PyObject *object, Joined *joined) {
    Py_ssize_t size;
    if (!PyUnicode_Check(object)) return 0;
    const char *text = PyUnicode_AsUTF8AndSize(object, &size);
    if (text == NULL) { /* half a character, which Python replaces */
        if (!PyErr_ExceptionMatches(PyExc_UnicodeError)) return -1;
        PyErr_Clear();
        return 0;
    }
    if (size == 0 || size > MAX_URL || *text == '#') return 0;
    const char *fragment = memchr(text, '#', (size_t)size);
    const char *end = fragment == NULL ? text + size : fragment;
    if (end - text >= 4 && memcmp(text, "http", 4) == 0) {
        int https = text[4] == 's';
        const char *behind = text + 4 + https;
        if (end - behind < 4 || memcmp(behind, "://", 3) != 0) return 0;
        return join_absolute(page, behind + 3, end, https, joined);
    }
    if (end - text >= 2 && memcmp(text, "//", 2) == 0)
        return join_absolute(page, text + 2, end, page->origins->https, joined);
    if (*text != '/') return join_relative(page, text, end, joined);
    Href href = {.text = text, .size = end - text};
    if (!plain(&href, 1)) return 0;
    joined->origin = page->origins;
    return join_to(page, page->origin, page->origin_size, page->origin_size, &href, joined);
}

static int64_t *slot_of(const Page *page, int64_t fp) {
    return page->slots + ((uint64_t)fp & page->mask);
}

#define LINK_HEAD 10 /* bytes before a packed URL: its fingerprint and its length */

/* Appends a link to the page's own domain to those that are packed: 0, or -1 for an error. */
static int pack(Page *page, const Joined *joined) {
    char head[LINK_HEAD];
    uint16_t size = (uint16_t)joined->size;
    memcpy(head, &joined->fp, 8);
    memcpy(head + 8, &size, 2);
    if (buffer_add(&page->own, head, LINK_HEAD, 4096) < 0 ||
        buffer_add(&page->own, joined->text, joined->size, 4096) < 0) {
        PyErr_NoMemory();
        return -1;
    }
    page->own_links++;
    return 0;
}

/* Appends a URL to the links if it was not sent lately: 0, or -1 for an error. */
static int send(Page *page, const Joined *joined) {
    int64_t *slot = slot_of(page, joined->fp);
    if (*slot == joined->fp) return 0;
    if (joined->origin->own) {
        if (pack(page, joined) < 0) return -1;
        *slot = joined->fp;
        return 0;
    }
    PyObject *place = joined->origin->place, *link = NULL;
    PyObject *url = PyUnicode_FromStringAndSize(joined->text, joined->size);
    PyObject *number = url == NULL ? NULL : PyLong_FromLongLong(joined->fp);
    if (number != NULL)
        link = PyTuple_Pack(6, PyTuple_GetItem(place, 0), number, url, page->depth,
                            PyTuple_GetItem(place, 1), page->flags);
    int failed = link == NULL ? -1 : PyList_Append(page->links, link);
    if (failed == 0) *slot = joined->fp;
    /* Numbers and strings are in no cycle: the collector need not look at each link. */
    if (link != NULL) PyObject_GC_UnTrack(link);
    Py_XDECREF(link);
    Py_XDECREF(number);
    Py_XDECREF(url);
    return failed;
}

/* After an error nobody gets what is packed: it was not sent. */
static void take_back(Page *page) {
    uint16_t size;
    int64_t fp;
    for (const char *p = page->own.data, *end = p + page->own.size; p < end;
         p += LINK_HEAD + size) {
        memcpy(&fp, p, 8);
        memcpy(&size, p + 8, 2);
        int64_t *slot = slot_of(page, fp);
        if (*slot == fp) *slot = 0;
    }
}

/* Takes one href, all but sending it: 1; 0 if it is left over, -1 for an error. */
static int take(Page *page, PyObject *text, Joined *joined) {
    int done = join_plain(page, text, joined);
    if (done <= 0) return done;
    joined->origin->links++;
    if (fingerprint_of(page, joined, &joined->fp) < 0) return -1;
    __builtin_prefetch(slot_of(page, joined->fp));
    return 1;
}

/* Takes all hrefs; those that are left over, NULL for an error. Each URL is sent when the next is
   joined: by then its slot, which is anywhere in 8 MB, has come from memory. */
static PyObject *left_over(Page *page, PyObject *hrefs) {
    Joined two[2], *last = NULL;
    PyObject *left = PyList_New(0);
    for (Py_ssize_t i = 0; left != NULL && i < PyList_Size(hrefs); i++) {
        PyObject *href = PyList_GetItem(hrefs, i);
        Joined *joined = last == two ? two + 1 : two;
        int done = take(page, href, joined);
        int failed = done < 0 || (done == 0 && PyList_Append(left, href) < 0);
        if (done > 0) {
            failed = last != NULL && send(page, last) < 0;
            last = joined;
        }
        if (failed) Py_CLEAR(left);
    }
    if (left != NULL && last != NULL && send(page, last) < 0) Py_CLEAR(left);
    return left;
}

/* How many links were taken to each host: [(host, links)]; the same host may come twice. */
static PyObject *hosts(const Page *page) {
    PyObject *list = PyList_New(0);
    for (int i = 0; list != NULL && i < page->count; i++) {
        const Origin *origin = page->origins + i;
        if (origin->links == 0) continue;
        PyObject *pair = Py_BuildValue("(s#n)", origin->text, origin->size, origin->links);
        if (pair == NULL || PyList_Append(list, pair) < 0) Py_CLEAR(list);
        Py_XDECREF(pair);
    }
    return list;
}

static int ascii(const char *text, Py_ssize_t size) {
    for (Py_ssize_t i = 0; i < size; i++)
        if ((unsigned char)text[i] > 127) return 0;
    return 1;
}

/* The page's own origin is the first that its links lead to. */
static int own_origin(Page *page, PyObject *place) {
    int https = page->origin_size > 8 && page->origin[4] == 's';
    int scheme = https ? 8 : 7;
    if (page->origin_size <= scheme ||
        memcmp(page->origin, https ? "https://" : "http://", (size_t)scheme) != 0) {
        PyErr_SetString(PyExc_ValueError, "an origin begins with http:// or https://");
        return 0;
    }
    Py_INCREF(place);
    page->origins[0] =
        (Origin){page->origin + scheme, page->origin_size - scheme, https, 1, place, 0};
    page->count = 1;
    return 1;
}

/* Whether what `join` was called with is what it needs; says what is wrong if it is not. */
static int good(const Page *page, Py_ssize_t slots) {
    if (!ascii(page->origin, page->origin_size) || !ascii(page->directory, page->directory_size))
        PyErr_SetString(PyExc_ValueError, "a canonical URL is ASCII");
    else if (page->directory_size <= page->origin_size ||
             memcmp(page->origin, page->directory, (size_t)page->origin_size) != 0 ||
             page->directory[page->origin_size] != '/' ||
             page->directory[page->directory_size - 1] != '/')
        PyErr_SetString(PyExc_ValueError, "a directory begins with its origin and ends with '/'");
    else if (slots < 1 || slots & (slots - 1))
        PyErr_SetString(PyExc_ValueError, "slots must be a power of two");
    else
        return 1;
    return 0;
}

static PyObject *join(PyObject *Py_UNUSED(self), PyObject *args) {
    Page page;
    PyObject *hrefs, *origin, *directory, *place, *sent;
    Py_ssize_t suspects;
    if (!PyArg_ParseTuple(args, "O!UUO!OOO!O(nnnO!OOOy#):join", &PyList_Type, &hrefs, &origin,
                          &directory, &PyTuple_Type, &place, &page.depth, &page.flags, &PyList_Type,
                          &page.links, &sent, &page.max_repeats, &page.max_segments,
                          &page.max_query, &PyFrozenSet_Type, &page.endings, &page.hash,
                          &page.fingerprint, &page.place_of, &page.suspects, &suspects))
        return NULL;
    if (PyTuple_Size(place) != 2)
        return PyErr_Format(PyExc_TypeError, "a place is a domain id and a domain");
    if (suspects != SUSPECTS_SIZE)
        return PyErr_Format(PyExc_ValueError, "suspects are %d bytes", SUSPECTS_SIZE);
    page.origin = PyUnicode_AsUTF8AndSize(origin, &page.origin_size);
    page.directory = PyUnicode_AsUTF8AndSize(directory, &page.directory_size);
    if (page.origin == NULL || page.directory == NULL) return NULL;
    Py_buffer slots;
    if (PyObject_GetBuffer(sent, &slots, PyBUF_WRITABLE) < 0) return NULL;
    Py_ssize_t count = slots.len / (Py_ssize_t)sizeof(int64_t);
    PyObject *left = NULL, *counted = NULL, *found = NULL;
    page.count = 0;
    page.own = (Buffer){0};
    page.own_links = 0;
    page.ending_size = -1;
    if (good(&page, count) && own_origin(&page, place)) {
        page.slots = slots.buf;
        page.mask = (uint64_t)count - 1;
        left = left_over(&page, hrefs);
        if (left != NULL) counted = hosts(&page);
        if (counted != NULL)
            found = Py_BuildValue("(OOny#)", left, counted, page.own_links,
                                  page.own.size ? page.own.data : "", page.own.size);
    }
    if (found == NULL && page.own.size) take_back(&page);
    for (int i = 0; i < page.count; i++) Py_DECREF(page.origins[i].place);
    buffer_free(&page.own);
    Py_XDECREF(left);
    Py_XDECREF(counted);
    PyBuffer_Release(&slots);
    return found;
}

static PyMethodDef methods[] = {
    {"join", join, METH_VARARGS,
     "join(hrefs, origin, directory, place, depth, flags, links, sent, rules)\n\n"
     "Appends plain links to other domains that were not sent lately to `links`. Returns the "
     "other\n"
     "hrefs, how many of those that are done with lead to each host, and the number of links to\n"
     "the page's own domain that were not sent lately, and these as a `LinkBlock` holds them.\n"
     "rules: how often a segment may occur in a path, segments of a path, characters of a query,\n"
     "endings that are not text, the hash of a URL with nothing to fold, the fingerprint of one\n"
     "with, what gives the place of an origin, or None if its links are to be left over, and\n"
     "`fingerprint.SUSPECTS`."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "lycosa.urls._links",
    .m_doc = "The plain links of a page.",
    .m_size = 0,
    .m_methods = methods,
};

PyMODINIT_FUNC PyInit__links(void) {
    fill_table();
    return PyModule_Create(&module);
}
