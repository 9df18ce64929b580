/* The plain links of a page, joined to its URL in one go.

   Most links lead to the page's own origin and need no parser: they begin with '/' or a letter and
   hold only characters that the URL standard leaves alone. What `urls` recognises by patterns is
   recognised here by a table; what `scope` says of most URLs (not too many segments, no file that
   can't be text) is said here, and SentLinks asked. Whatever is not certain stays with Python:
   these are left over, and `harvest` takes the long way with them. Without this module all links go
   that way.

   Owns no rule: each is tested against the one in Python. */

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

/* Whether the path ends like a file that is not text: 1 or 0, -1 for an error. */
static int not_text(const char *path, Py_ssize_t size, PyObject *endings) {
    char ending[LONGEST_ENDING];
    Py_ssize_t at = size;
    while (at > 0 && size - at < LONGEST_ENDING && path[at - 1] != '.') at--;
    if (at == 0 || path[at - 1] != '.') return 0;
    for (Py_ssize_t i = at; i < size; i++) ending[i - at] = (char)Py_TOLOWER(Py_CHARMASK(path[i]));
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

static int fingerprint_of(const Page *page, PyObject *url, int fold, PyObject **number,
                          int64_t *value) {
    PyObject *bytes = fold ? Py_NewRef(url) : PyUnicode_AsASCIIString(url);
    if (bytes == NULL) return -1;
    PyObject *found = PyObject_CallOneArg(fold ? page->fingerprint : page->hash, bytes);
    Py_DECREF(bytes);
    if (found == NULL) return -1;
    if (fold) {
        *value = PyLong_AsLongLong(found);
    } else {
        *value = (int64_t)PyLong_AsUnsignedLongLong(found);
        if (*value < 0) Py_SETREF(found, PyLong_FromLongLong(*value)); /* as signed_hash does */
    }
    *number = found;
    if (found == NULL || PyErr_Occurred()) {
        Py_XDECREF(found);
        return -1;
    }
    return 0;
}

/* Takes one href: 1 if it is done with, 0 if it is left over, -1 for an error. */
static int take(const Page *page, PyObject *text) {
    if (!PyUnicode_Check(text) || PyUnicode_READY(text) < 0 || !PyUnicode_IS_ASCII(text)) return 0;
    Href href = {.text = (const char *)PyUnicode_1BYTE_DATA(text),
                 .size = PyUnicode_GET_LENGTH(text)};
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

    PyObject *url = PyUnicode_New(size + href.size, 127);
    if (url == NULL) return -1;
    memcpy(PyUnicode_1BYTE_DATA(url), before, (size_t)size);
    memcpy(PyUnicode_1BYTE_DATA(url) + size, href.text, (size_t)href.size);
    if (!rooted && memchr(before, ';', (size_t)size) != NULL) href.fold = 1;
    PyObject *number;
    int64_t value;
    if (fingerprint_of(page, url, href.fold, &number, &value) < 0) {
        Py_DECREF(url);
        return -1;
    }
    int done = 1;
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
    for (Py_ssize_t i = 0; left != NULL && i < PyList_GET_SIZE(hrefs); i++) {
        PyObject *href = PyList_GET_ITEM(hrefs, i);
        int done = take(page, href);
        if (done < 0 || (done == 0 && PyList_Append(left, href) < 0)) Py_CLEAR(left);
    }
    return left;
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
    if (!PyUnicode_IS_ASCII(origin) || !PyUnicode_IS_ASCII(directory))
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
