/* What comes in over one libcurl handle, kept without the interpreter. `receive` says what an Inbox
   does, and does the same in Python where this module could not be built.

   libcurl calls the three functions at the end while the engine has released the GIL. Headers and
   body are in memory of the C library, so that only the two questions to the receiver need it. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stddef.h>
#include <structmember.h>
#include "../_buffer.h"

#define HEAD_ROOM 2048        /* an ordinary response's headers */
#define HEAD_KEPT (16 * 1024) /* what an idle Inbox may hold on to */
#define BODY_ROOM (16 * 1024) /* the most that libcurl hands over at once */

/* Quota */

typedef struct {
    PyObject ob_base;
    Py_ssize_t limit, used;
} Quota;

static int quota_init(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"limit", NULL};
    Quota *quota = (Quota *)self;
    quota->used = 0;
    return PyArg_ParseTupleAndKeywords(args, kwargs, "n:Quota", names, &quota->limit) ? 0 : -1;
}

static PyMemberDef quota_members[] = {
    {"limit", T_PYSSIZET, offsetof(Quota, limit), 0, NULL},
    {"used", T_PYSSIZET, offsetof(Quota, used), READONLY, NULL},
    {NULL},
};

static PyType_Slot quota_slots[] = {
    {Py_tp_new, PyType_GenericNew},
    {Py_tp_init, quota_init},
    {Py_tp_members, quota_members},
    {0, NULL},
};

static PyType_Spec quota_spec = {
    .name = "lycosa.fetch._receive.Quota",
    .basicsize = sizeof(Quota),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = quota_slots,
};

static PyTypeObject *quota_type; /* made once, with the module */

/* Inbox */

typedef struct {
    PyObject ob_base;
    PyObject *receiver;
    Quota *quota;
    Buffer head, body;
    Py_ssize_t limit; /* of the body; 0 until its first piece has come */
    char cut, refused;
} Inbox;

static int inbox_init(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"receiver", "quota", NULL};
    Inbox *inbox = (Inbox *)self;
    PyObject *receiver, *quota;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO!:Inbox", names, &receiver, quota_type,
                                     &quota))
        return -1;
    PyObject *old_receiver = inbox->receiver, *old_quota = (PyObject *)inbox->quota;
    inbox->receiver = Py_NewRef(receiver);
    inbox->quota = (Quota *)Py_NewRef(quota);
    Py_XDECREF(old_receiver);
    Py_XDECREF(old_quota);
    return 0;
}

static void empty(Inbox *inbox) {
    if (inbox->quota != NULL) inbox->quota->used -= inbox->body.size;
    buffer_free(&inbox->body);
    if (inbox->head.room > HEAD_KEPT) buffer_free(&inbox->head);
    inbox->head.size = 0;
    inbox->limit = 0;
    inbox->cut = inbox->refused = 0;
}

static int inbox_traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(((Inbox *)self)->receiver);
    return 0;
}

static int inbox_clear_references(PyObject *self) {
    Py_CLEAR(((Inbox *)self)->receiver);
    return 0;
}

static void inbox_dealloc(PyObject *self) {
    Inbox *inbox = (Inbox *)self;
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    empty(inbox);
    buffer_free(&inbox->head);
    Py_CLEAR(inbox->receiver);
    Py_CLEAR(inbox->quota);
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

static PyObject *inbox_empty(PyObject *self, PyObject *Py_UNUSED(unused)) {
    empty((Inbox *)self);
    Py_RETURN_NONE;
}

static PyObject *inbox_head(PyObject *self, PyObject *Py_UNUSED(unused)) {
    Buffer *head = &((Inbox *)self)->head;
    return PyBytes_FromStringAndSize(head->data, head->size);
}

static PyObject *inbox_body(PyObject *self, PyObject *Py_UNUSED(unused)) {
    Buffer *body = &((Inbox *)self)->body;
    return PyBytes_FromStringAndSize(body->data, body->size);
}

static PyMethodDef inbox_methods[] = {
    {"empty", inbox_empty, METH_NOARGS, NULL},
    {"head", inbox_head, METH_NOARGS, NULL},
    {"body", inbox_body, METH_NOARGS, NULL},
    {NULL},
};

static PyMemberDef inbox_members[] = {
    {"heard", T_PYSSIZET, offsetof(Inbox, head.size), READONLY, NULL},
    {"size", T_PYSSIZET, offsetof(Inbox, body.size), READONLY, NULL},
    {"cut", T_BOOL, offsetof(Inbox, cut), READONLY, NULL},
    {"refused", T_BOOL, offsetof(Inbox, refused), READONLY, NULL},
    {NULL},
};

static PyType_Slot inbox_slots[] = {
    {Py_tp_new, PyType_GenericNew},        {Py_tp_init, inbox_init},
    {Py_tp_dealloc, inbox_dealloc},        {Py_tp_traverse, inbox_traverse},
    {Py_tp_clear, inbox_clear_references}, {Py_tp_methods, inbox_methods},
    {Py_tp_members, inbox_members},        {0, NULL},
};

static PyType_Spec inbox_spec = {
    .name = "lycosa.fetch._receive.Inbox",
    .basicsize = sizeof(Inbox),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = inbox_slots,
};

/* What libcurl calls. Anything but the number of bytes it gave ends the transfer. */

static size_t on_header(char *data, size_t size, size_t count, void *self) {
    Inbox *inbox = self;
    size_t given = size * count;
    if (buffer_add(&inbox->head, data, (Py_ssize_t)given, HEAD_ROOM) == 0) return given;
    inbox->refused = 1;
    return 0;
}

/* The receiver's answer to the first piece: how many bytes of the body it wants, 0 for none. */
static Py_ssize_t ask_limit(Inbox *inbox, const char *data, Py_ssize_t size) {
    Py_ssize_t limit = 0;
    PyGILState_STATE state = PyGILState_Ensure();
    PyObject *answer = PyObject_CallMethod(inbox->receiver, "on_body", "y#", data, size);
    if (answer != NULL) {
        limit = PyLong_AsSsize_t(answer);
        Py_DECREF(answer);
    }
    if (PyErr_Occurred()) PyErr_WriteUnraisable((PyObject *)inbox);
    PyGILState_Release(state);
    return limit > 0 ? limit : 0;
}

static size_t on_body(char *data, size_t size, size_t count, void *self) {
    Inbox *inbox = self;
    Py_ssize_t given = (Py_ssize_t)(size * count), wanted = given;
    if (given == 0) return 0;
    if (inbox->limit == 0 && (inbox->limit = ask_limit(inbox, data, given)) == 0) return 0;
    if (given > inbox->limit - inbox->body.size) {
        wanted = inbox->limit - inbox->body.size;
        inbox->cut = 1;
    }
    if (buffer_add(&inbox->body, data, wanted, BODY_ROOM) < 0) {
        inbox->refused = 1;
        return 0;
    }
    inbox->quota->used += wanted;
    inbox->refused = inbox->quota->used > inbox->quota->limit;
    return inbox->cut || inbox->refused ? 0 : (size_t)given;
}

static int on_connected(void *self, char *peer, char *local, int port, int local_port) {
    Inbox *inbox = self;
    int allowed = 0;
    (void)local, (void)port, (void)local_port;
    PyGILState_STATE state = PyGILState_Ensure();
    PyObject *answer = PyObject_CallMethod(inbox->receiver, "on_connected", "s", peer);
    if (answer != NULL) {
        allowed = PyObject_IsTrue(answer) == 1;
        Py_DECREF(answer);
    }
    if (PyErr_Occurred()) PyErr_WriteUnraisable((PyObject *)inbox);
    PyGILState_Release(state);
    return allowed ? 0 : 1;
}

static struct PyModuleDef module = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "lycosa.fetch._receive",
    .m_size = -1,
};

/* Adds a type: 0, or -1 for an error. Where it is stays in `type`. */
static int add_type(PyObject *self, PyType_Spec *spec, PyTypeObject **type) {
    *type = (PyTypeObject *)PyType_FromSpec(spec);
    return *type == NULL ? -1 : PyModule_AddType(self, *type);
}

static int add_address(PyObject *self, const char *name, void *function) {
    PyObject *number = PyLong_FromVoidPtr(function);
    int failed = number == NULL ? -1 : PyModule_AddObjectRef(self, name, number);
    Py_XDECREF(number);
    return failed;
}

PyMODINIT_FUNC PyInit__receive(void) {
    PyTypeObject *inbox_type = NULL;
    PyObject *self = PyModule_Create(&module);
    if (self == NULL) return NULL;
    if (add_type(self, &quota_spec, &quota_type) < 0 ||
        add_type(self, &inbox_spec, &inbox_type) < 0 ||
        add_address(self, "ON_HEADER", (void *)on_header) < 0 ||
        add_address(self, "ON_BODY", (void *)on_body) < 0 ||
        add_address(self, "ON_CONNECTED", (void *)on_connected) < 0)
        Py_CLEAR(self);
    Py_XDECREF((PyObject *)inbox_type);
    return self;
}
