/* Bytes that grow at their end: shared by the compiled modules, which have no buffer of their own.

   Overflow: a size never exceeds PY_SSIZE_T_MAX; what would is treated as out of memory.
   Out of memory: `buffer_add` returns -1, and the buffer is as it was. No exception is set, because
   libcurl calls `_receive` without the GIL: who holds the GIL raises MemoryError.
   Memory is the C library's for the same reason; the interpreter's own (PyMem_Raw*) needs no GIL
   either, but is not in the limited API of Python 3.11. `scripts/fuzz` compiles with it all the
   same, because it can be made to fail.

   A buffer begins as {0}. Who owns it calls `buffer_free`, after which it is {0} again. */

#ifndef LYCOSA_BUFFER_H
#define LYCOSA_BUFFER_H

#include <Python.h>
#include <stdlib.h>
#include <string.h>

#ifndef BUFFER_REALLOC
#define BUFFER_REALLOC realloc
#define BUFFER_RELEASE free
#endif

typedef struct {
    char *data; /* NULL while room is 0 */
    Py_ssize_t size, room;
} Buffer;

/* Makes room for more bytes, by doubling from `first` on, so that each byte is moved twice at most
   on average: 0, or -1 if there is no memory. */
static int buffer_grow(Buffer *buffer, Py_ssize_t more, Py_ssize_t first) {
    if (more > PY_SSIZE_T_MAX - buffer->size) return -1;
    Py_ssize_t needed = buffer->size + more, room = buffer->room ? buffer->room : first;
    while (room < needed) room = room > PY_SSIZE_T_MAX / 2 ? needed : room * 2;
    char *moved = BUFFER_REALLOC(buffer->data, (size_t)room);
    if (moved == NULL) return -1;
    buffer->data = moved;
    buffer->room = room;
    return 0;
}

/* Appends bytes; `first` is the room of a buffer that had none: 0, or -1 if there is no memory. */
static inline int buffer_add(Buffer *buffer, const char *data, Py_ssize_t size, Py_ssize_t first) {
    if (size > buffer->room - buffer->size && buffer_grow(buffer, size, first) < 0) return -1;
    if (size > 0)
        memcpy(buffer->data + buffer->size, data, (size_t)size); /* never from or to NULL */
    buffer->size += size;
    return 0;
}

static inline void buffer_free(Buffer *buffer) {
    BUFFER_RELEASE(buffer->data);
    *buffer = (Buffer){0};
}

#endif
