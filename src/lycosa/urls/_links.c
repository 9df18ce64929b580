/* The plain links of a page, joined to its URL in one go.

   Most links lead to the page's own origin and need no parser: they begin with '/' or a letter and
   hold only characters that the URL standard leaves alone. `canonical` recognises them by patterns,
   this module by a table. It also decides what `scope` decides of most URLs (not too many segments,
   no file that can't be text), and passes over links that were sent lately. Every href of which it
   is not certain is left over, and `harvest` gives it to Python; without this module it gives all.

   Owns no rule: tests compare each with the one in Python. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <string.h>

#define MAX_URL 2000
#define LONGEST_ENDING 8 /* of the endings in `scope`; checked there */

enum { PATH = 1, QUERY = 2, FIRST = 4 };
static unsigned char class_of[256];

static void fill_table(void) {
    const char *letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_~";
    for (const char *p = letters; *p; p++) class_of[(unsigned char)*p] = PATH | QUERY | FIRST;
    for (const char *p = ".!$&()*+,;=:@/%"; *p; p++) class_of[(unsigned char)*p] = PATH | QUERY;
    for (const char *p = "?[]|"; *p; p++) class_of[(unsigned char)*p] |= QUERY;
}

typedef struct {
    const char *text;
    Py_ssize_t size;
    Py_ssize_t path;    /* bytes before '?' */
    Py_ssize_t slashes; /* in the path */
    int fold;           /* a query or a ';': the fingerprint is that of a folded URL */
} Href;

/* Whether an href is plain, and begins as `begins` wants it. */
static int plain(Href *href, int rooted) {
    const unsigned char *p = (const unsigned char *)href->text, *end = p + href->size;
    unsigned char before = 0;
    if (rooted ? href->size > 1 && p[1] == '/' : !(class_of[*p] & FIRST)) return 0;
    for (; p < end && class_of[*p] & PATH; before = *p++) {
        if (before == '/' && (*p == '.' || (*p == '%' && p + 1 < end && p[1] == '2'))) return 0;
        if (*p == '/') href->slashes++;
        if (*p == ';') href->fold = 1;
        if (*p == ':' && !rooted) return 0;
    }
    href->path = (const char *)p - href->text;
    if (p == end) return 1;
    if (*p != '?') return 0;
    href->fold = 1;
    for (; p < end && class_of[*p] & QUERY; before = *p++)
        if (before == '/' && (*p == '.' || (*p == '%' && p + 1 < end && p[1] == '2'))) return 0;
    return p == end;
}

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c; }

/* Whether the path ends like a file that is not text: 1 or 0, -1 for an error. */
static int not_text(const char *path, Py_ssize_t size, PyObject *endings) {
    char ending[LONGEST_ENDING];
    Py_ssize_t at = size;
    while (at > 0 && size - at < LONGEST_ENDING && path[at - 1] != '.') at--;
    if (at == 0 || path[at - 1] != '.') return 0;
    for (Py_ssize_t i = at; i < size; i++) ending[i - at] = lower(path[i]);
    PyObject *word = PyUnicode_FromStringAndSize(ending, size - at);
    int found = word == NULL ? -1 : PySet_Contains(endings, word);
    Py_XDECREF(word);
    return found;
}

/* What `join` was called with. */
typedef struct {
    PyObject *ident, *domain, *depth, *flags, *links;
    const char *origin, *directory;
    Py_ssize_t origin_size, directory_size, directory_slashes;
    int64_t *slots;
    uint64_t mask;
    Py_ssize_t max_slashes, max_query;
    PyObject *endings, *hash, *fingerprint;
} Page;

/* A URL on its way to the frontier. */
typedef struct {
    char text[MAX_URL];
    Py_ssize_t size;
    int fold;
} Joined;

/* The number by which a URL is known, as it is and as an object; NULL for an error. */
static PyObject *fingerprint_of(const Page *page, const Joined *joined, PyObject *url,
                                int64_t *value) {
    PyObject *found;
    if (joined->fold) {
        found = PyObject_CallFunctionObjArgs(page->fingerprint, url, NULL);
        if (found != NULL) *value = PyLong_AsLongLong(found);
    } else {
        PyObject *bytes = PyBytes_FromStringAndSize(joined->text, joined->size);
        if (bytes == NULL) return NULL;
        found = PyObject_CallFunctionObjArgs(page->hash, bytes, NULL);
        Py_DECREF(bytes);
        if (found != NULL) *value = (int64_t)PyLong_AsUnsignedLongLong(found);
        if (found != NULL && *value < 0) { /* as signed_hash does */
            Py_DECREF(found);
            found = PyLong_FromLongLong(*value);
        }
    }
    if (PyErr_Occurred()) Py_CLEAR(found);
    return found;
}

/* Joins an href to the page's URL: 1, 0 if it is not plain or perhaps not wanted, -1 for an error.
 */
static int join_plain(const Page *page, PyObject *text, Joined *joined) {
    Href href = {0};
    if (!PyUnicode_Check(text)) return 0;
    href.text = PyUnicode_AsUTF8AndSize(text, &href.size);
    if (href.text == NULL) { /* half a character, which Python replaces */
        if (!PyErr_ExceptionMatches(PyExc_UnicodeError)) return -1;
        PyErr_Clear();
        return 0;
    }
    if (href.size == 0 || href.size > MAX_URL) return 0;
    int rooted = href.text[0] == '/';
    if (!rooted && href.size >= 4 && memcmp(href.text, "http", 4) == 0) return 0;
    if (!plain(&href, rooted)) return 0;
    const char *before = rooted ? page->origin : page->directory;
    Py_ssize_t size = rooted ? page->origin_size : page->directory_size;
    if (size + href.size > MAX_URL || href.size - href.path - 1 > page->max_query) return 0;
    if (href.slashes + (rooted ? 0 : page->directory_slashes) > page->max_slashes) return 0;
    int refused = not_text(href.text, href.path, page->endings);
    if (refused) return refused < 0 ? -1 : 0;
    memcpy(joined->text, before, (size_t)size);
    memcpy(joined->text + size, href.text, (size_t)href.size);
    joined->size = size + href.size;
    joined->fold = href.fold || (!rooted && memchr(before, ';', (size_t)size) != NULL);
    return 1;
}

/* Takes one href: 1 if it is done with, 0 if it is left over, -1 for an error. */
static int take(const Page *page, PyObject *text) {
    Joined joined;
    int64_t value = 0;
    int done = join_plain(page, text, &joined);
    if (done <= 0) return done;
    PyObject *url = PyUnicode_FromStringAndSize(joined.text, joined.size);
    if (url == NULL) return -1;
    PyObject *number = fingerprint_of(page, &joined, url, &value);
    if (number == NULL) {
        Py_DECREF(url);
        return -1;
    }
    int64_t *slot = page->slots + ((uint64_t)value & page->mask);
    if (*slot != value) {
        *slot = value;
        PyObject *link =
            PyTuple_Pack(6, page->ident, number, url, page->depth, page->domain, page->flags);
        if (link == NULL || PyList_Append(page->links, link) < 0) done = -1;
        Py_XDECREF(link);
    }
    Py_DECREF(number);
    Py_DECREF(url);
    return done;
}

static PyObject *left_over(Page *page, PyObject *hrefs) {
    PyObject *left = PyList_New(0);
    for (Py_ssize_t i = 0; left != NULL && i < PyList_Size(hrefs); i++) {
        PyObject *href = PyList_GetItem(hrefs, i);
        int done = take(page, href);
        if (done < 0 || (done == 0 && PyList_Append(left, href) < 0)) Py_CLEAR(left);
    }
    return left;
}

static int ascii(const char *text, Py_ssize_t size) {
    for (Py_ssize_t i = 0; i < size; i++)
        if ((unsigned char)text[i] > 127) return 0;
    return 1;
}

static PyObject *join(PyObject *Py_UNUSED(self), PyObject *args) {
    Page page = {0};
    PyObject *hrefs, *origin, *directory, *sent;
    if (!PyArg_ParseTuple(args, "O!UUOOOOO!O(nnO!OO):join", &PyList_Type, &hrefs, &origin,
                          &directory, &page.ident, &page.domain, &page.depth, &page.flags,
                          &PyList_Type, &page.links, &sent, &page.max_slashes, &page.max_query,
                          &PyFrozenSet_Type, &page.endings, &page.hash, &page.fingerprint))
        return NULL;
    page.origin = PyUnicode_AsUTF8AndSize(origin, &page.origin_size);
    page.directory = PyUnicode_AsUTF8AndSize(directory, &page.directory_size);
    if (page.origin == NULL || page.directory == NULL) return NULL;
    for (Py_ssize_t i = page.origin_size; i < page.directory_size; i++)
        page.directory_slashes += page.directory[i] == '/';
    Py_buffer slots;
    if (PyObject_GetBuffer(sent, &slots, PyBUF_WRITABLE) < 0) return NULL;
    Py_ssize_t count = slots.len / (Py_ssize_t)sizeof(int64_t);
    PyObject *left = NULL;
    if (!ascii(page.origin, page.origin_size) || !ascii(page.directory, page.directory_size))
        PyErr_SetString(PyExc_ValueError, "a canonical URL is ASCII");
    else if (count < 1 || count & (count - 1))
        PyErr_SetString(PyExc_ValueError, "slots must be a power of two");
    else {
        page.slots = slots.buf;
        page.mask = (uint64_t)count - 1;
        left = left_over(&page, hrefs);
    }
    PyBuffer_Release(&slots);
    return left;
}

static PyMethodDef methods[] = {
    {"join", join, METH_VARARGS,
     "join(hrefs, origin, directory, ident, domain, depth, flags, links, sent, rules)\n\n"
     "Appends plain links that were not sent lately to `links`; returns the other hrefs.\n"
     "rules: slashes allowed in a path, characters in a query, endings that are not text, the hash "
     "of a URL with nothing to fold, the fingerprint of one with."},
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
