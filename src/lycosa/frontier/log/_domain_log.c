/* The chunks of one domain: the compiled twin of `frontier/log/twin` and of `new_chunk`, whose
   rules and names it follows. The layout of a chunk is at the head of `format`.

   A table holds every fingerprint once, 16 bytes a slot. Most URLs have one copy, or a done mark
   that beats it: the slot says so. The few that have more to them (drops, waits, kills, reopened or
   second copies) have a list of events, and are judged by the rule when somebody asks. The texts of
   URLs stay packed; the last block that was read is kept.

   Blobs are foreign bytes: `parse` checks every count and length before anything is read. Who
   chooses URLs could choose their fingerprints: the table's order depends on a secret of the
   process.

   Work on more than 64 KB is done without the interpreter's lock; an index that is at it refuses
   all other calls. Owns no rule: tests compare the two. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <structmember.h>

#include "../../_buffer.h"

#define FORMAT 1
#define FULL_LEVEL 255
#define REOPENED 256
#define OWN_FLAGS 15
#define ERRAND_FLAG 8
#define KILL_FLAG 16
#define MAX_KILLS 3
#define MAX_TIME (((uint64_t)1 << 48) - 1)
#define MAX_COUNT 0xFFFFFFFFu
#define PER_BLOCK 64
#define MAX_URL 2000
#define CURRENT 1 /* the dictionary that `pack_block` packs with; as in `texts` */
#define HEAD_SIZE 36
#define CHECK_SIZE 8
#define GROUP_SIZE 16
#define WAIT_SIZE 24
#define SHORT_SIZE 16 /* of a kill and of a barrier */
#define ROOM_FOR_COUNTS 28
#define UNLOCKED (64 * 1024) /* bytes from which on the interpreter's lock is freed */
#define ROOM 256             /* bytes that a buffer begins with */
#define DEPTH_SHIFT 42       /* as in `frontier/states` */
#define MAX_DEPTH 65536
#define WAITING ((int64_t)1 << 61)

enum { COPIES = 1, DONES = 2, DROPS = 4, WAITS = 8, KILLS = 16, BARRIERS = 32 };
enum { IS_DONE_KIND = 1, IS_DROP_KIND = 2 }; /* of a barrier */
enum { UNKNOWN, QUEUED, IS_DONE };           /* states */
enum { EMPTY, COPY, MARK, MORE };            /* what a slot's value begins with */
enum { E_COPY, E_REOPENED, E_DONE, E_DROP, E_WAIT, E_KILL };

/* What Python lends: see `use`. */
static PyObject *hash_of, *fingerprint_of, *errand_of, *make_row, *unpack_block, *pack_block,
    *is_dictionary;
static uint64_t secret = 0x9E3779B97F4A7C15u, secret_too = 0xC2B2AE3D27D4EB4Fu;

/* --- numbers in bytes --- */

static uint32_t get2(const unsigned char *p) { return p[0] | (uint32_t)p[1] << 8; }
static uint32_t get4(const unsigned char *p) { return get2(p) | get2(p + 2) << 16; }
static uint64_t get6(const unsigned char *p) { return get4(p) | (uint64_t)get2(p + 4) << 32; }

static int64_t get8(const unsigned char *p) {
    uint64_t value;
    memcpy(&value, p, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    value = __builtin_bswap64(value);
#endif
    return (int64_t)value;
}

static void put(unsigned char *p, uint64_t value, int size) {
    for (int i = 0; i < size; i++) p[i] = (unsigned char)(value >> 8 * i);
}

/* --- arrays in buffers --- */

#define ITEMS(buffer, type) ((type *)(void *)(buffer).data)
#define COUNT(buffer, type) ((size_t)(buffer).size / sizeof(type))
#define PUSH(buffer, item) buffer_add(&(buffer), (const char *)&(item), sizeof(item), ROOM)

/* --- chunks --- */

typedef struct {
    int64_t seq;
    PyObject *blob; /* owned */
    const unsigned char *data;
    uint64_t stamp, done_stamp;
    int32_t responses, balance;
    uint32_t size, groups, copies, done, drops, waits, kills, barriers, blocks;
    /* where each section begins; the last: where the sizes of the blocks do */
    uint32_t at_groups, at_copies, at_done, at_drops, at_waits, at_kills, at_barriers, at_blocks;
    unsigned char level, dictionary, folded;
} Chunk;

typedef struct {
    uint64_t stamp;
    uint32_t depth, flags, begin, size, chunk;
} Group;

typedef struct {
    int64_t fp;
    uint64_t value; /* two bits of what it is; above them a place, a stamp or an index */
} Slot;

typedef struct {
    uint64_t stamp, what; /* the place of a copy, until when a wait lasts */
    uint32_t next;        /* 1 + index; 0: none */
    uint32_t number;      /* attempts, kills */
    int kind;
} Event;

/* A URL that has more to it than one copy or a mark. */
typedef struct {
    int64_t fp;
    int64_t base, done, drop; /* -1: none */
    uint64_t place;           /* of the copy by which it is queued */
    uint64_t until, wait_stamp;
    uint32_t first; /* event, 1 + index */
    uint32_t attempts, kills;
    unsigned char state, judged, waits, live, kept;
} Fate;

typedef struct {
    PyObject_HEAD int64_t domain_id, epoch_ms;
    PyObject *unreadable; /* dict: fp -> seq */
    Buffer chunks, groups, slots, fates, events, order;
    uint64_t mask;
    int shift;
    size_t used, plain_copies, plain_marks; /* slots; those that are a copy, a mark */
    size_t queued_fates, waiting_fates, done_fates;
    int stale;   /* the table is to be built anew */
    int judged;  /* all fates are, and the figures above are right */
    int ordered; /* `order` is */
    int busy;
    /* where `part` ended: the place in the line, and where it goes on */
    uint64_t cursor;
    size_t cursor_order;
    uint32_t cursor_index;
    /* the block that was read last */
    PyObject *raw; /* owned; NULL: it can't be read, or there is none */
    int64_t raw_chunk;
    uint32_t raw_block;
    uint32_t raw_start, raw_ends[PER_BLOCK + 1]; /* the common begin; where each rest ends */
} Index;

#define CHUNKS(index) ITEMS((index)->chunks, Chunk)
#define GROUPS(index) ITEMS((index)->groups, Group)
#define FATES(index) ITEMS((index)->fates, Fate)
#define EVENTS(index) ITEMS((index)->events, Event)
#define SLOTS(index) ITEMS((index)->slots, Slot)

static const char *FOREIGN = "foreign";

static int no_memory(void) {
    PyErr_NoMemory();
    return -1;
}

/* The checksum of bytes: 0, or -1 for an error. */
static int checksum(const unsigned char *data, size_t size, int64_t domain_id, uint64_t *sum) {
    PyObject *view = PyMemoryView_FromMemory((char *)data, (Py_ssize_t)size, PyBUF_READ);
    if (view == NULL) return -1;
    PyObject *found = PyObject_CallFunction(hash_of, "OK", view, (unsigned long long)domain_id);
    Py_DECREF(view);
    if (found == NULL) return -1;
    *sum = PyLong_AsUnsignedLongLong(found);
    Py_DECREF(found);
    return PyErr_Occurred() ? -1 : 0;
}

/* Finds the sections of a chunk: whether they fit. */
static int sections(Chunk *chunk, uint32_t bits) {
    const unsigned char *p = chunk->data + HEAD_SIZE;
    uint64_t end = chunk->size - CHECK_SIZE, at = HEAD_SIZE, wanted = bits & COPIES;
    uint32_t *counts[] = {&chunk->done, &chunk->drops, &chunk->waits, &chunk->kills,
                          &chunk->barriers};
    if (bits > 63) return 0;
    for (uint32_t left = bits; left; left >>= 1) wanted += left & 1;
    if (at + 4 * wanted > end) return 0;
    at += 4 * wanted;
    if (bits & COPIES) {
        chunk->groups = get4(p);
        chunk->copies = get4(p + 4);
        p += 8;
    }
    for (int i = 0; i < 5; i++)
        if (bits >> (i + 1) & 1) {
            *counts[i] = get4(p);
            p += 4;
        }
    chunk->blocks = chunk->copies / PER_BLOCK + (chunk->copies % PER_BLOCK != 0);
    uint64_t sizes[] = {(uint64_t)GROUP_SIZE * chunk->groups,
                        (uint64_t)8 * chunk->copies,
                        (uint64_t)8 * chunk->done,
                        (uint64_t)8 * chunk->drops,
                        (uint64_t)WAIT_SIZE * chunk->waits,
                        (uint64_t)SHORT_SIZE * chunk->kills,
                        (uint64_t)SHORT_SIZE * chunk->barriers};
    uint32_t *places[] = {&chunk->at_groups,  &chunk->at_copies, &chunk->at_done,
                          &chunk->at_drops,   &chunk->at_waits,  &chunk->at_kills,
                          &chunk->at_barriers};
    for (int i = 0; i < 7; i++) {
        *places[i] = (uint32_t)at;
        at += sizes[i];
        if (at > end) return 0;
    }
    chunk->at_blocks = (uint32_t)at;
    if (at + (uint64_t)4 * chunk->blocks > end) return 0;
    uint64_t copies = 0;
    for (uint32_t i = 0; i < chunk->groups; i++)
        copies += get4(chunk->data + chunk->at_groups + GROUP_SIZE * i + 12);
    if (copies != chunk->copies) return 0;
    for (uint32_t i = 0; i < chunk->barriers; i++) {
        uint32_t kind = get2(chunk->data + chunk->at_barriers + SHORT_SIZE * i + 14);
        if (kind != IS_DONE_KIND && kind != IS_DROP_KIND) return 0;
    }
    uint64_t block = at + (uint64_t)4 * chunk->blocks;
    for (uint32_t i = 0; i < chunk->blocks; i++) block += get4(chunk->data + at + 4 * i);
    return block == end;
}

/* Reads a chunk: what is wrong with it as an object, None if nothing is; NULL for an error. */
static PyObject *parse(Chunk *chunk, int64_t domain_id) {
    const unsigned char *p = chunk->data;
    uint64_t sum;
    if (chunk->size < HEAD_SIZE + CHECK_SIZE) return PyUnicode_FromString("too short");
    if (get4(p + 4) != chunk->size) return PyUnicode_FromString("its length is another one");
    int64_t ident = get8(p + 8);
    if (checksum(p, chunk->size - CHECK_SIZE, ident, &sum) < 0) return NULL;
    if ((uint64_t)get8(p + chunk->size - CHECK_SIZE) != sum)
        return PyUnicode_FromString("its checksum is another one");
    if (ident != domain_id) return PyUnicode_FromString(FOREIGN);
    if (p[0] != FORMAT) return PyUnicode_FromFormat("format %d is not known", p[0]);
    chunk->level = p[2];
    chunk->dictionary = p[3];
    if (chunk->dictionary != CURRENT && chunk->dictionary != 0) {
        PyObject *known = PyObject_CallFunction(is_dictionary, "i", chunk->dictionary);
        if (known == NULL) return NULL;
        int is = PyObject_IsTrue(known);
        Py_DECREF(known);
        if (is < 0) return NULL;
        if (!is) return PyUnicode_FromFormat("dictionary %d is not known", chunk->dictionary);
    }
    chunk->stamp = get6(p + 16);
    chunk->done_stamp = get6(p + 22);
    chunk->responses = (int32_t)get4(p + 28);
    chunk->balance = (int32_t)get4(p + 32);
    if (!sections(chunk, p[1])) return PyUnicode_FromString("its sections do not fit");
    Py_INCREF(Py_None);
    return Py_None;
}

/* --- the table --- */

static uint64_t slot_at(const Index *index, int64_t fp) {
    return ((uint64_t)fp ^ secret_too) * secret >> index->shift;
}

/* The slot of a fingerprint, or the empty one where it would be. */
static Slot *slot_of(const Index *index, int64_t fp) {
    Slot *slots = SLOTS(index);
    uint64_t at = slot_at(index, fp);
    while (slots[at].value && slots[at].fp != fp) at = (at + 1) & index->mask;
    return slots + at;
}

/* Makes room for so many more fingerprints: 0, or -1 if there is no memory. */
static int reserve(Index *index, size_t more) {
    size_t wanted = index->used + more, room = index->slots.size ? index->mask + 1 : 0;
    if (room && wanted <= room / 4 * 3) return 0;
    size_t bigger = 64;
    while (wanted > bigger / 4 * 3) bigger *= 2;
    Buffer old = index->slots;
    Buffer slots = {0};
    if (buffer_grow(&slots, (Py_ssize_t)(bigger * sizeof(Slot)), ROOM) < 0) return -1;
    slots.size = (Py_ssize_t)(bigger * sizeof(Slot));
    memset(slots.data, 0, (size_t)slots.size);
    index->slots = slots;
    index->mask = bigger - 1;
    index->shift = 64;
    for (size_t size = bigger; size > 1; size /= 2) index->shift--;
    const Slot *slot = ITEMS(old, Slot);
    for (size_t i = 0; i < room; i++)
        if (slot[i].value) *slot_of(index, slot[i].fp) = slot[i];
    buffer_free(&old);
    return 0;
}

static const Group *group_of(const Index *index, uint64_t place) {
    const Chunk *chunk = CHUNKS(index) + (place >> 32);
    /* at_groups of a chunk in the table is the index of its first group: see `insert` */
    const Group *groups = GROUPS(index) + chunk->at_groups;
    uint32_t at = (uint32_t)place, low = 0, high = chunk->groups;
    while (high - low > 1) { /* the last that begins at or before it */
        uint32_t middle = low + (high - low) / 2;
        if (groups[middle].begin <= at)
            low = middle;
        else
            high = middle;
    }
    return groups + low;
}

static int64_t fp_at(const Index *index, uint64_t place) {
    const Chunk *chunk = CHUNKS(index) + (place >> 32);
    return get8(chunk->data + chunk->at_copies + 8 * (place & MAX_COUNT));
}

static int add_event(Index *index, size_t fate, int kind, uint64_t stamp, uint64_t what,
                     uint32_t number) {
    Event event = {stamp, what, FATES(index)[fate].first, number, kind};
    if (PUSH(index->events, event) < 0) return -1;
    FATES(index)[fate].first = (uint32_t)COUNT(index->events, Event);
    FATES(index)[fate].judged = 0;
    return 0;
}

/* Gives a URL a list of events; what its slot said is the first: its index, or -1. */
static Py_ssize_t fate_of(Index *index, Slot *slot, int64_t fp) {
    uint64_t value = slot->value >> 2;
    if ((slot->value & 3) == MORE) return (Py_ssize_t)value;
    Fate fate = {.fp = fp, .done = -1, .drop = -1};
    size_t at = COUNT(index->fates, Fate);
    if (PUSH(index->fates, fate) < 0) return -1;
    int failed = 0;
    if ((slot->value & 3) == COPY) {
        failed = add_event(index, at, E_COPY, group_of(index, value)->stamp, value, 0);
        index->plain_copies--;
    } else if ((slot->value & 3) == MARK) {
        failed = add_event(index, at, E_DONE, value, 0, 0);
        index->plain_marks--;
    } else
        index->used++;
    *slot = (Slot){fp, (uint64_t)at << 2 | MORE};
    return failed < 0 ? -1 : (Py_ssize_t)at;
}

static int more_of(Index *index, int64_t fp, int kind, uint64_t stamp, uint64_t what,
                   uint32_t number) {
    Py_ssize_t fate = fate_of(index, slot_of(index, fp), fp);
    return fate < 0 ? -1 : add_event(index, (size_t)fate, kind, stamp, what, number);
}

static int take_copy(Index *index, int64_t fp, uint64_t place, uint64_t stamp) {
    Slot *slot = slot_of(index, fp);
    if (slot->value == 0) {
        *slot = (Slot){fp, place << 2 | COPY};
        index->used++;
        index->plain_copies++;
        return 0;
    }
    if ((slot->value & 3) == MARK && stamp <= slot->value >> 2) return 0; /* it is done */
    return more_of(index, fp, E_COPY, stamp, place, 0);
}

static int take_mark(Index *index, int64_t fp, uint64_t stamp) {
    Slot *slot = slot_of(index, fp);
    uint64_t value = slot->value >> 2;
    int kind = slot->value & 3;
    if (kind == MORE || (kind == COPY && group_of(index, value)->stamp > stamp))
        return more_of(index, fp, E_DONE, stamp, 0, 0);
    if (kind == MARK && value >= stamp) return 0;
    index->used += kind == EMPTY;
    index->plain_copies -= kind == COPY;
    index->plain_marks += kind != MARK;
    *slot = (Slot){fp, stamp << 2 | MARK};
    return 0;
}

/* The groups of a chunk, decoded: 0, or -1 if there is no memory. */
static int take_groups(Index *index, uint32_t number) {
    Chunk *chunk = CHUNKS(index) + number;
    const unsigned char *p = chunk->data + HEAD_SIZE;
    uint32_t begin = 0;
    for (uint32_t bits = chunk->data[1]; bits; bits >>= 1) p += 4 * (bits & 1);
    p += 4 * (chunk->data[1] & COPIES);
    size_t first = COUNT(index->groups, Group);
    for (uint32_t i = 0; i < chunk->groups; i++, p += GROUP_SIZE) {
        Group group = {get6(p + 6), get4(p), get2(p + 4), begin, get4(p + 12), number};
        if (PUSH(index->groups, group) < 0) return -1;
        begin += group.size;
    }
    if (first > MAX_COUNT) return -1;
    chunk->at_groups = (uint32_t)first;
    return 0;
}

static int take_copies(Index *index, uint32_t number) {
    const Chunk *chunk = CHUNKS(index) + number;
    const unsigned char *fps = chunk->data + chunk->at_copies;
    for (uint32_t i = 0; i < chunk->groups; i++) {
        Group group = GROUPS(index)[chunk->at_groups + i]; /* a copy: the buffer may move */
        for (uint32_t at = group.begin; at < group.begin + group.size; at++) {
            int64_t fp = get8(fps + 8 * (size_t)at);
            uint64_t place = (uint64_t)number << 32 | at;
            if (at + 8 < chunk->copies)
                __builtin_prefetch(SLOTS(index) + slot_at(index, get8(fps + 8 * (size_t)at + 64)));
            if (group.flags & REOPENED ? more_of(index, fp, E_REOPENED, group.stamp, place, 0) < 0
                                       : take_copy(index, fp, place, group.stamp) < 0)
                return -1;
        }
    }
    return 0;
}

/* Enters a chunk into the table: 0, or -1 if there is no memory. Needs no lock. */
static int insert(Index *index, uint32_t number) {
    if (take_groups(index, number) < 0) return -1;
    const Chunk *chunk = CHUNKS(index) + number;
    size_t more = (size_t)chunk->copies + chunk->done + chunk->drops + chunk->waits + chunk->kills +
                  chunk->barriers;
    if (reserve(index, more) < 0 || take_copies(index, number) < 0) return -1;
    const unsigned char *p = chunk->data + chunk->at_done;
    for (uint32_t i = 0; i < chunk->done; i++, p += 8) {
        if (i + 8 < chunk->done) __builtin_prefetch(SLOTS(index) + slot_at(index, get8(p + 64)));
        if (take_mark(index, get8(p), chunk->done_stamp) < 0) return -1;
    }
    p = chunk->data + chunk->at_drops;
    for (uint32_t i = 0; i < chunk->drops; i++, p += 8)
        if (more_of(index, get8(p), E_DROP, chunk->stamp, 0, 0) < 0) return -1;
    p = chunk->data + chunk->at_waits;
    for (uint32_t i = 0; i < chunk->waits; i++, p += WAIT_SIZE)
        if (more_of(index, get8(p), E_WAIT, get6(p + 14), get6(p + 8), get4(p + 20)) < 0) return -1;
    p = chunk->data + chunk->at_kills;
    for (uint32_t i = 0; i < chunk->kills; i++, p += SHORT_SIZE)
        if (more_of(index, get8(p), E_KILL, get6(p + 8), 0, get2(p + 14)) < 0) return -1;
    p = chunk->data + chunk->at_barriers;
    for (uint32_t i = 0; i < chunk->barriers; i++, p += SHORT_SIZE) {
        int done = get2(p + 14) == IS_DONE_KIND;
        if (done ? take_mark(index, get8(p), get6(p + 8)) < 0
                 : more_of(index, get8(p), E_DROP, get6(p + 8), 0, 0) < 0)
            return -1;
    }
    index->judged = index->ordered = 0;
    return 0;
}

static void forget_block(Index *index) {
    Py_CLEAR(index->raw);
    index->raw_chunk = -1;
}

/* Builds the table anew from all chunks. Needs no lock. */
static int build(Index *index) {
    buffer_free(&index->slots);
    index->groups.size = index->fates.size = index->events.size = index->order.size = 0;
    index->used = index->plain_copies = index->plain_marks = 0;
    size_t total = 0;
    for (size_t i = 0; i < COUNT(index->chunks, Chunk); i++)
        total += CHUNKS(index)[i].copies + (size_t)CHUNKS(index)[i].done;
    if (reserve(index, total) < 0) return -1;
    for (size_t i = 0; i < COUNT(index->chunks, Chunk); i++)
        if (insert(index, (uint32_t)i) < 0) return -1;
    index->stale = index->judged = index->ordered = 0;
    return 0;
}

/* --- the rule --- */

/* Whether one copy comes before another in the queue. */
static int before(const Index *index, uint64_t one, uint64_t other) {
    const Group *a = group_of(index, one), *b = group_of(index, other);
    if (a->depth != b->depth) return a->depth < b->depth;
    if (a->stamp != b->stamp) return a->stamp < b->stamp;
    int64_t s = CHUNKS(index)[one >> 32].seq, t = CHUNKS(index)[other >> 32].seq;
    return s != t ? s < t : (uint32_t)one < (uint32_t)other;
}

static void judge_extras(const Index *index, Fate *fate) {
    fate->waits = 0;
    fate->kills = 0;
    for (uint32_t at = fate->first; at;) {
        const Event *event = EVENTS(index) + at - 1;
        at = event->next;
        if ((int64_t)event->stamp < fate->base) continue;
        if (event->kind == E_KILL) {
            fate->kills += event->number < MAX_KILLS ? event->number : MAX_KILLS;
            if (fate->kills > MAX_KILLS) fate->kills = MAX_KILLS;
        } else if (event->kind == E_WAIT) {
            int newer = !fate->waits || event->stamp > fate->wait_stamp ||
                        (event->stamp == fate->wait_stamp &&
                         (event->what > fate->until ||
                          (event->what == fate->until && event->number > fate->attempts)));
            if (!newer) continue;
            fate->waits = 1;
            fate->until = event->what;
            fate->wait_stamp = event->stamp;
            fate->attempts = event->number;
        }
    }
}

/* What became of a URL: see `rule`. */
static void judge(const Index *index, Fate *fate) {
    const Event *reopened = NULL, *copy = NULL;
    fate->done = fate->drop = -1;
    fate->waits = 0;
    fate->kills = 0;
    for (uint32_t at = fate->first; at; at = EVENTS(index)[at - 1].next) {
        const Event *event = EVENTS(index) + at - 1;
        int64_t stamp = (int64_t)event->stamp;
        if (event->kind == E_DONE && stamp > fate->done) fate->done = stamp;
        if (event->kind == E_DROP && stamp > fate->drop) fate->drop = stamp;
        if (event->kind == E_REOPENED &&
            (reopened == NULL || event->stamp > reopened->stamp ||
             (event->stamp == reopened->stamp && before(index, event->what, reopened->what))))
            reopened = event;
    }
    fate->judged = 1;
    int64_t barrier = fate->done > fate->drop ? fate->done : fate->drop;
    if (reopened != NULL && (int64_t)reopened->stamp > barrier) {
        fate->state = QUEUED;
        fate->place = reopened->what;
        fate->base = (int64_t)reopened->stamp;
        judge_extras(index, fate);
        return;
    }
    fate->state = fate->done >= fate->drop && fate->done >= 0 ? IS_DONE : UNKNOWN;
    if (fate->state == IS_DONE) return;
    for (uint32_t at = fate->first; at; at = EVENTS(index)[at - 1].next) {
        const Event *event = EVENTS(index) + at - 1;
        if ((event->kind == E_COPY || event->kind == E_REOPENED) &&
            (int64_t)event->stamp > fate->drop &&
            (copy == NULL || before(index, event->what, copy->what)))
            copy = event;
    }
    if (copy == NULL) return;
    fate->state = QUEUED;
    fate->place = copy->what;
    fate->base = fate->drop + 1;
    judge_extras(index, fate);
}

static void judge_all(Index *index) {
    index->queued_fates = index->waiting_fates = index->done_fates = 0;
    for (size_t i = 0; i < COUNT(index->fates, Fate); i++) {
        Fate *fate = FATES(index) + i;
        if (!fate->judged) judge(index, fate);
        index->queued_fates += fate->state == QUEUED;
        index->waiting_fates += fate->state == QUEUED && fate->waits;
        index->done_fates += fate->state == IS_DONE;
    }
    index->judged = 1;
}

/* A group in the order of the queue. */
typedef struct {
    uint64_t stamp;
    int64_t seq;
    uint32_t depth, begin, group;
} Ordered;

static int by_order(const void *one, const void *other) {
    const Ordered *a = one, *b = other;
    if (a->depth != b->depth) return a->depth < b->depth ? -1 : 1;
    if (a->stamp != b->stamp) return a->stamp < b->stamp ? -1 : 1;
    if (a->seq != b->seq) return a->seq < b->seq ? -1 : 1;
    return a->group < b->group ? -1 : a->group > b->group;
}

static int put_in_order(Index *index) {
    index->order.size = 0;
    for (uint32_t i = 0; i < COUNT(index->groups, Group); i++) {
        const Group *group = GROUPS(index) + i;
        int64_t seq = CHUNKS(index)[group->chunk].seq;
        Ordered each = {group->stamp, seq, group->depth, group->begin, i};
        if (PUSH(index->order, each) < 0) return no_memory();
    }
    if (index->order.size)
        qsort(index->order.data, COUNT(index->order, Ordered), sizeof(Ordered), by_order);
    index->ordered = 1;
    index->cursor = 0;
    index->cursor_order = 0;
    index->cursor_index = 0;
    return 0;
}

static size_t bytes_of(const Index *index) {
    size_t total = 0;
    for (size_t i = 0; i < COUNT(index->chunks, Chunk); i++) total += CHUNKS(index)[i].size;
    return total;
}

/* Makes the index ready to be asked: 0, or -1 for an error. */
static int settle(Index *index) {
    int failed = 0;
    if (index->busy) {
        PyErr_SetString(PyExc_RuntimeError, "the log is in use by another thread");
        return -1;
    }
    if (index->stale) {
        forget_block(index);
        if (bytes_of(index) > UNLOCKED) {
            index->busy = 1;
            Py_BEGIN_ALLOW_THREADS;
            failed = build(index);
            Py_END_ALLOW_THREADS;
            index->busy = 0;
        } else
            failed = build(index);
    }
    if (failed < 0) return no_memory();
    if (!index->slots.size && reserve(index, 1) < 0) return no_memory();
    if (!index->judged) judge_all(index);
    return 0;
}

static int state_of(const Index *index, int64_t fp) {
    uint64_t value = slot_of(index, fp)->value;
    switch (value & 3) {
    case COPY:
        return QUEUED;
    case MARK:
        return IS_DONE;
    case MORE:
        return FATES(index)[value >> 2].state;
    }
    return UNKNOWN;
}

/* --- texts --- */

/* One length of a block: its bytes, or 0 if it is not there. */
static size_t length_at(const unsigned char *p, size_t left, size_t *length) {
    if (left == 0) return 0;
    *length = p[0] & 127;
    if (p[0] < 128) return 1;
    if (left < 2) return 0;
    *length |= (size_t)p[1] << 7;
    return 2;
}

/* Whether an unpacked block holds so many texts; notes where they are. */
static int good_block(Index *index, const unsigned char *data, size_t size, uint32_t count) {
    size_t at = 0, total = 0, length = 0;
    for (uint32_t i = 0; i <= count; i++) {
        size_t read = length_at(data + at, size - at, &length);
        if (read == 0) return 0;
        at += read;
        total += length;
        index->raw_ends[i] = (uint32_t)total;
    }
    index->raw_start = (uint32_t)at;
    return at + total == size;
}

/* Reads a block into `raw`: 1, 0 if it can't be read, -1 for an error. */
static int read_block(Index *index, uint64_t place) {
    uint32_t number = (uint32_t)(place >> 32), block = (uint32_t)place / PER_BLOCK;
    const Chunk *chunk = CHUNKS(index) + number;
    if (index->raw_chunk == number && index->raw_block == block) return index->raw != NULL;
    forget_block(index);
    const unsigned char *sizes = chunk->data + chunk->at_blocks;
    size_t at = chunk->at_blocks + (size_t)4 * chunk->blocks;
    for (uint32_t i = 0; i < block; i++) at += get4(sizes + 4 * (size_t)i);
    PyObject *found =
        PyObject_CallFunction(unpack_block, "y#i", (const char *)chunk->data + at,
                              (Py_ssize_t)get4(sizes + 4 * (size_t)block), (int)chunk->dictionary);
    if (found == NULL) return -1;
    uint32_t left = chunk->copies - block * PER_BLOCK;
    char *data;
    Py_ssize_t size;
    if (found != Py_None && PyBytes_AsStringAndSize(found, &data, &size) < 0) {
        Py_DECREF(found);
        return -1;
    }
    index->raw_chunk = number;
    index->raw_block = block;
    if (found == Py_None || !good_block(index, (const unsigned char *)data, (size_t)size,
                                        left < PER_BLOCK ? left : PER_BLOCK)) {
        Py_DECREF(found);
        return 0;
    }
    index->raw = found;
    return 1;
}

/* The text of a URL, in a place of MAX_TEXT bytes: its length; -1: it can't be read; -2: error. */
#define MAX_TEXT (2 * 32768)

static Py_ssize_t text_at(Index *index, uint64_t place, char *text) {
    int found = read_block(index, place);
    if (found <= 0) return found - 1;
    const char *data = PyBytes_AsString(index->raw) + index->raw_start;
    uint32_t at = (uint32_t)place % PER_BLOCK, start = index->raw_ends[0];
    uint32_t own = index->raw_ends[at + 1] - index->raw_ends[at];
    memcpy(text, data, start);
    memcpy(text + start, data + index->raw_ends[at], own);
    return (Py_ssize_t)(start + own);
}

/* Whether a text is ASCII without anything that its fingerprint leaves out. */
static int plain_text(const char *text, Py_ssize_t size) {
    for (Py_ssize_t i = 0; i < size; i++)
        if ((unsigned char)text[i] > 127 || text[i] == '?' || text[i] == ';') return 0;
    return 1;
}

/* The URL of a text, if it has this fingerprint: a str; None if it has not; NULL for an error. */
static PyObject *checked_url(const char *text, Py_ssize_t size, int64_t fp, uint32_t flags) {
    PyObject *url = PyUnicode_DecodeUTF8(text, size, "replace"), *found;
    if (url == NULL) return NULL;
    if (plain_text(text, size))
        found = PyObject_CallFunction(hash_of, "y#", text, size);
    else
        found = PyObject_CallFunctionObjArgs(fingerprint_of, url, NULL);
    if (found == NULL) {
        Py_DECREF(url);
        return NULL;
    }
    int64_t value = (int64_t)PyLong_AsUnsignedLongLongMask(found);
    Py_DECREF(found);
    if (value != fp && flags & ERRAND_FLAG && !PyErr_Occurred()) {
        found = PyObject_CallFunctionObjArgs(errand_of, url, NULL);
        if (found != NULL) value = (int64_t)PyLong_AsUnsignedLongLongMask(found);
        Py_XDECREF(found);
    }
    if (PyErr_Occurred()) Py_CLEAR(url);
    if (url == NULL || value == fp) return url;
    Py_DECREF(url);
    Py_INCREF(Py_None);
    return Py_None;
}

/* --- the queue --- */

/* The fate of a queued copy's URL; NULL if it has none. `queued`: whether it is queued by it. */
static const Fate *queued_by(const Index *index, uint64_t place, int64_t fp, int *queued) {
    const Slot *slot = slot_of(index, fp);
    const Fate *fate = (slot->value & 3) == MORE ? FATES(index) + (slot->value >> 2) : NULL;
    if (fate != NULL)
        *queued = fate->state == QUEUED && fate->place == place;
    else
        *queued = slot->value == (place << 2 | COPY);
    return fate;
}

/* Notes that a URL has no text. */
static int note_unreadable(Index *index, int64_t fp, int64_t seq) {
    PyObject *key = PyLong_FromLongLong(fp), *value = PyLong_FromLongLong(seq);
    int failed = key == NULL || value == NULL ? -1 : PyDict_SetItem(index->unreadable, key, value);
    Py_XDECREF(key);
    Py_XDECREF(value);
    return failed;
}

static int is_unreadable(Index *index, int64_t fp) {
    if (PyDict_Size(index->unreadable) == 0) return 0;
    PyObject *key = PyLong_FromLongLong(fp);
    int found = key == NULL ? -1 : PyDict_Contains(index->unreadable, key);
    Py_XDECREF(key);
    return found;
}

/* Appends a queued URL to rows: 1; 0 if its text can't be read, 2 if it is beyond the budget, -1
   for an error. */
static int add_row(Index *index, PyObject *rows, uint64_t place, int64_t *budget) {
    char text[MAX_TEXT];
    int64_t fp = fp_at(index, place);
    int unreadable = is_unreadable(index, fp), queued;
    if (unreadable) return unreadable < 0 ? -1 : 0;
    const Fate *fate = queued_by(index, place, fp, &queued);
    const Group *group = group_of(index, place);
    Py_ssize_t size = text_at(index, place, text);
    if (size == -2) return -1;
    PyObject *url = size < 0 ? Py_None : checked_url(text, size, fp, group->flags);
    if (url == NULL) return -1;
    if (url == Py_None) {
        if (size >= 0) Py_DECREF(url);
        return note_unreadable(index, fp, CHUNKS(index)[place >> 32].seq);
    }
    *budget -= PyUnicode_GetLength(url);
    if (*budget < 0 && PyList_Size(rows) > 0) {
        Py_DECREF(url);
        return 2;
    }
    int64_t depth = group->depth < MAX_DEPTH ? group->depth : MAX_DEPTH;
    int64_t order = depth << DEPTH_SHIFT | (index->epoch_ms + (int64_t)group->stamp);
    int64_t flags = group->flags & ~(uint32_t)REOPENED, attempts = 0;
    if (fate != NULL && fate->waits) {
        order = WAITING + index->epoch_ms + (int64_t)fate->until;
        attempts = fate->attempts;
    }
    if (fate != NULL) flags |= (int64_t)KILL_FLAG * fate->kills;
    PyObject *row =
        PyObject_CallFunction(make_row, "LNLLLL", (long long)fp, url, (long long)group->depth,
                              (long long)order, (long long)attempts, (long long)flags);
    int failed = row == NULL ? -1 : PyList_Append(rows, row);
    Py_XDECREF(row);
    return failed < 0 ? -1 : 1;
}

typedef struct {
    uint64_t until, stamp, place;
    int64_t seq;
    uint32_t depth;
} Waiting;

static int by_until(const void *one, const void *other) {
    const Waiting *a = one, *b = other;
    if (a->until != b->until) return a->until < b->until ? -1 : 1;
    if (a->depth != b->depth) return a->depth < b->depth ? -1 : 1;
    if (a->stamp != b->stamp) return a->stamp < b->stamp ? -1 : 1;
    if (a->seq != b->seq) return a->seq < b->seq ? -1 : 1;
    uint32_t i = (uint32_t)a->place, j = (uint32_t)b->place;
    return i != j ? (i < j ? -1 : 1) : 0;
}

/* Those that wait until `now` at most, in order: 0, or -1 for an error. */
static int waiting(const Index *index, uint64_t now, Buffer *found) {
    for (size_t i = 0; i < COUNT(index->fates, Fate) && index->waiting_fates; i++) {
        const Fate *fate = FATES(index) + i;
        if (fate->state != QUEUED || !fate->waits || fate->until > now) continue;
        const Group *group = group_of(index, fate->place);
        Waiting each = {fate->until, group->stamp, fate->place,
                        CHUNKS(index)[fate->place >> 32].seq, group->depth};
        if (PUSH(*found, each) < 0) return no_memory();
    }
    if (found->size) qsort(found->data, COUNT(*found, Waiting), sizeof(Waiting), by_until);
    return 0;
}

/* The next URL of the line from `order`, `at` on, both of which move behind it: 1, or 0 at its end.
 */
static int step(const Index *index, size_t *order, uint32_t *at, uint64_t *place) {
    for (; *order < COUNT(index->order, Ordered); (*order)++, *at = 0) {
        const Group *group = GROUPS(index) + ITEMS(index->order, Ordered)[*order].group;
        while (*at < group->size) {
            *place = (uint64_t)group->chunk << 32 | (group->begin + (*at)++);
            int queued;
            const Fate *fate = queued_by(index, *place, fp_at(index, *place), &queued);
            if (queued && (fate == NULL || !fate->waits)) return 1;
        }
    }
    return 0;
}

static PyObject *index_next(PyObject *self, PyObject *args) {
    Index *index = (Index *)self;
    long long now, limit, budget_given;
    if (!PyArg_ParseTuple(args, "LLL:next", &now, &limit, &budget_given)) return NULL;
    if (settle(index) < 0 || (!index->ordered && put_in_order(index) < 0)) return NULL;
    int64_t budget = budget_given;
    PyObject *rows = PyList_New(0);
    Buffer due = {0};
    if (rows == NULL) return NULL;
    int done = now < 0 ? 0 : waiting(index, (uint64_t)now, &due);
    for (size_t i = 0; done >= 0 && done < 2 && i < COUNT(due, Waiting); i++) {
        if (PyList_Size(rows) >= limit) break;
        done = add_row(index, rows, ITEMS(due, Waiting)[i].place, &budget);
    }
    size_t order = 0;
    uint32_t at = 0;
    uint64_t place;
    while (done >= 0 && done < 2 && PyList_Size(rows) < limit && step(index, &order, &at, &place))
        done = add_row(index, rows, place, &budget);
    buffer_free(&due);
    if (done < 0) Py_CLEAR(rows);
    return rows;
}

static PyObject *index_part(PyObject *self, PyObject *args) {
    Index *index = (Index *)self;
    long long begin, count;
    if (!PyArg_ParseTuple(args, "LL:part", &begin, &count)) return NULL;
    if (settle(index) < 0 || (!index->ordered && put_in_order(index) < 0)) return NULL;
    PyObject *rows = PyList_New(0);
    if (rows == NULL) return NULL;
    uint64_t line = index->plain_copies + index->queued_fates - index->waiting_fates, place;
    int64_t budget = INT64_MAX;
    int done = 0;
    if ((uint64_t)begin < index->cursor)
        index->cursor = index->cursor_order = index->cursor_index = 0;
    uint64_t at = index->cursor;
    while (at < (uint64_t)begin && step(index, &index->cursor_order, &index->cursor_index, &place))
        index->cursor = ++at;
    while (done >= 0 && count > 0 &&
           step(index, &index->cursor_order, &index->cursor_index, &place)) {
        index->cursor = ++at;
        count--;
        done = add_row(index, rows, place, &budget);
    }
    if (done >= 0 && count > 0) {
        Buffer all = {0};
        size_t first = (uint64_t)begin > line ? (size_t)((uint64_t)begin - line) : 0;
        done = waiting(index, UINT64_MAX, &all);
        for (size_t i = first; done >= 0 && count > 0 && i < COUNT(all, Waiting); i++, count--)
            done = add_row(index, rows, ITEMS(all, Waiting)[i].place, &budget);
        buffer_free(&all);
    }
    if (done < 0) Py_CLEAR(rows);
    return rows;
}

/* How many are ahead of a URL that is queued by `wanted`: -1 for an error. */
static Py_ssize_t ahead_of(Index *index, uint64_t wanted, int waits) {
    Py_ssize_t ahead = 0;
    if (waits) {
        Buffer all = {0};
        if (waiting(index, UINT64_MAX, &all) < 0) ahead = -1;
        for (size_t i = 0; ahead >= 0 && i < COUNT(all, Waiting); i++) {
            if (ITEMS(all, Waiting)[i].place == wanted) break;
            ahead++;
        }
        buffer_free(&all);
        size_t line = index->plain_copies + index->queued_fates - index->waiting_fates;
        return ahead < 0 ? ahead : ahead + (Py_ssize_t)line;
    }
    size_t order = 0;
    uint32_t at = 0;
    uint64_t place;
    while (step(index, &order, &at, &place) && place != wanted) ahead++;
    return ahead;
}

static PyObject *index_find(PyObject *self, PyObject *number) {
    Index *index = (Index *)self;
    int64_t fp = PyLong_AsLongLong(number), budget = INT64_MAX;
    if (PyErr_Occurred() || settle(index) < 0) return NULL;
    if (!index->ordered && put_in_order(index) < 0) return NULL;
    const Slot *slot = slot_of(index, fp);
    uint64_t place = slot->value >> 2;
    int waits = 0;
    if (state_of(index, fp) != QUEUED) return Py_BuildValue("(iO)", -1, Py_None);
    if ((slot->value & 3) == MORE) {
        waits = FATES(index)[place].waits;
        place = FATES(index)[place].place;
    }
    Py_ssize_t ahead = ahead_of(index, place, waits);
    PyObject *rows = ahead < 0 ? NULL : PyList_New(0), *found = NULL;
    if (rows != NULL && add_row(index, rows, place, &budget) >= 0)
        found = Py_BuildValue("(nO)", ahead, PyList_Size(rows) ? PyList_GetItem(rows, 0) : Py_None);
    Py_XDECREF(rows);
    return found;
}

/* --- questions --- */

/* The numbers of a sequence, in a buffer: 0, or -1 for an error. */
static int numbers(PyObject *sequence, Buffer *found) {
    PyObject *list = PyList_Check(sequence) ? Py_NewRef(sequence) : PySequence_List(sequence);
    if (list == NULL) return -1;
    Py_ssize_t count = PyList_Size(list);
    for (Py_ssize_t i = 0; i < count; i++) {
        int64_t value = PyLong_AsLongLong(PyList_GetItem(list, i));
        if ((value == -1 && PyErr_Occurred()) || PUSH(*found, value) < 0) {
            if (!PyErr_Occurred()) PyErr_NoMemory();
            Py_DECREF(list);
            return -1;
        }
    }
    Py_DECREF(list);
    return 0;
}

typedef PyObject *(*Answer)(const Index *, int64_t);

static PyObject *answers(PyObject *self, PyObject *sequence, Answer answer) {
    Index *index = (Index *)self;
    Buffer fps = {0};
    if (settle(index) < 0 || numbers(sequence, &fps) < 0) {
        buffer_free(&fps);
        return NULL;
    }
    Py_ssize_t count = (Py_ssize_t)COUNT(fps, int64_t);
    PyObject *list = PyList_New(count);
    for (Py_ssize_t i = 0; list != NULL && i < count; i++) {
        PyObject *each = answer(index, ITEMS(fps, int64_t)[i]);
        if (each == NULL || PyList_SetItem(list, i, each) < 0) Py_CLEAR(list);
    }
    buffer_free(&fps);
    return list;
}

static PyObject *state_answer(const Index *index, int64_t fp) {
    return PyLong_FromLong(state_of(index, fp));
}

static PyObject *waits_answer(const Index *index, int64_t fp) {
    const Slot *slot = slot_of(index, fp);
    const Fate *fate = (slot->value & 3) == MORE ? FATES(index) + (slot->value >> 2) : NULL;
    return PyBool_FromLong(fate != NULL && fate->state == QUEUED && fate->waits);
}

static PyObject *index_tell(PyObject *self, PyObject *fps) {
    return answers(self, fps, state_answer);
}

static PyObject *index_is_waiting(PyObject *self, PyObject *fps) {
    return answers(self, fps, waits_answer);
}

/* --- links: (domain id, fingerprint, URL, depth, domain, flags) --- */

enum { L_DOMAIN, L_FP, L_URL, L_DEPTH, L_NAME, L_FLAGS, L_SIZE };

static int is_link(PyObject *link) {
    if (PyTuple_Check(link) && PyTuple_Size(link) == L_SIZE) return 1;
    PyErr_Format(PyExc_TypeError, "a link is a tuple of %d", L_SIZE);
    return 0;
}

/* Puts a link under its fingerprint if nothing is known of its URL: 0, or -1 for an error. */
static int take_unseen(const Index *index, PyObject *link, PyObject *found) {
    if (!is_link(link)) return -1;
    PyObject *number = PyTuple_GetItem(link, L_FP);
    int64_t fp = PyLong_AsLongLong(number);
    if (fp == -1 && PyErr_Occurred()) return -1;
    if (state_of(index, fp) != UNKNOWN) return 0;
    int there = PyDict_Contains(found, number);
    return there ? there > 0 ? 0 : -1 : PyDict_SetItem(found, number, link);
}

static PyObject *index_unseen(PyObject *self, PyObject *links) {
    Index *index = (Index *)self;
    if (settle(index) < 0) return NULL;
    PyObject *list = PySequence_List(links);
    PyObject *found = list == NULL ? NULL : PyDict_New();
    for (Py_ssize_t i = 0; found != NULL && i < PyList_Size(list); i++)
        if (take_unseen(index, PyList_GetItem(list, i), found) < 0) Py_CLEAR(found);
    Py_XDECREF(list);
    return found;
}

/* The list of a domain, which is in `found`: borrowed; NULL for an error. */
static PyObject *links_of(PyObject *found, PyObject *domain) {
    PyObject *list = PyDict_GetItemWithError(found, domain);
    if (list != NULL || PyErr_Occurred()) return list;
    list = PyList_New(0);
    int failed = list == NULL ? -1 : PyDict_SetItem(found, domain, list);
    Py_XDECREF(list);
    return failed < 0 ? NULL : list;
}

/* Links of one domain mostly follow each other, and share the object that is its id. */
static PyObject *by_domain(PyObject *Py_UNUSED(self), PyObject *links) {
    PyObject *all = PySequence_List(links), *last = NULL, *list = NULL;
    PyObject *found = all == NULL ? NULL : PyDict_New();
    for (Py_ssize_t i = 0; found != NULL && i < PyList_Size(all); i++) {
        PyObject *link = PyList_GetItem(all, i);
        PyObject *domain = is_link(link) ? PyTuple_GetItem(link, L_DOMAIN) : NULL;
        if (domain != last) list = domain == NULL ? NULL : links_of(found, domain);
        last = domain;
        if (domain == NULL || list == NULL || PyList_Append(list, link) < 0) Py_CLEAR(found);
    }
    Py_XDECREF(all);
    return found;
}

/* URLs that are queued, copies by the store's account, URLs that are done, and responses; returns
   how many of the first do not wait. The index is settled. */
static Py_ssize_t count_all(const Index *index, long long counts[4]) {
    counts[0] = (long long)(index->plain_copies + index->queued_fates);
    counts[2] = (long long)(index->plain_marks + index->done_fates);
    counts[1] = counts[3] = 0;
    for (size_t i = 0; i < COUNT(index->chunks, Chunk); i++) {
        counts[1] += CHUNKS(index)[i].balance;
        counts[3] += CHUNKS(index)[i].responses;
    }
    return (Py_ssize_t)(index->plain_copies + index->queued_fates - index->waiting_fates);
}

static PyObject *index_counts(PyObject *self, PyObject *Py_UNUSED(unused)) {
    Index *index = (Index *)self;
    long long counts[4];
    if (settle(index) < 0) return NULL;
    count_all(index, counts);
    return Py_BuildValue("(LLLL)", counts[0], counts[1], counts[2], counts[3]);
}

static PyObject *index_lanes(PyObject *self, PyObject *Py_UNUSED(unused)) {
    Index *index = (Index *)self;
    if (settle(index) < 0) return NULL;
    size_t line = index->plain_copies + index->queued_fates - index->waiting_fates;
    return Py_BuildValue("(nn)", (Py_ssize_t)line, (Py_ssize_t)index->waiting_fates);
}

static PyObject *index_first_wait(PyObject *self, PyObject *without) {
    Index *index = (Index *)self;
    uint64_t first = 0;
    if (settle(index) < 0) return NULL;
    for (size_t i = 0; i < COUNT(index->fates, Fate) && index->waiting_fates; i++) {
        const Fate *fate = FATES(index) + i;
        if (fate->state != QUEUED || !fate->waits || (first && fate->until >= first)) continue;
        PyObject *key = PyLong_FromLongLong(fate->fp);
        int out = key == NULL ? -1 : PySequence_Contains(without, key);
        Py_XDECREF(key);
        if (out < 0) return NULL;
        if (!out) first = fate->until;
    }
    return PyLong_FromUnsignedLongLong(first);
}

static PyObject *index_newest_stamp(PyObject *self, PyObject *Py_UNUSED(unused)) {
    Index *index = (Index *)self;
    uint64_t newest = 0;
    for (size_t i = 0; i < COUNT(index->chunks, Chunk); i++)
        if (CHUNKS(index)[i].stamp > newest) newest = CHUNKS(index)[i].stamp;
    return PyLong_FromUnsignedLongLong(newest);
}

static PyObject *index_memory(PyObject *self, PyObject *Py_UNUSED(unused)) {
    Index *index = (Index *)self;
    Py_ssize_t total = (Py_ssize_t)(sizeof(Index) + bytes_of(index));
    const Buffer *all[] = {&index->chunks, &index->groups, &index->slots,
                           &index->fates,  &index->events, &index->order};
    for (int i = 0; i < 6; i++) total += all[i]->room;
    return PyLong_FromSsize_t(total);
}

/* --- chunks come and go --- */

static int known(const Index *index, int64_t seq) {
    for (size_t i = 0; i < COUNT(index->chunks, Chunk); i++)
        if (CHUNKS(index)[i].seq == seq) return 1;
    return 0;
}

/* Enters the newest chunk into the table, unless all are to be entered when somebody asks. */
static int enter(Index *index, uint32_t size) {
    int failed;
    uint32_t number = (uint32_t)COUNT(index->chunks, Chunk) - 1;
    if (index->stale) return 0;
    if (size > UNLOCKED) {
        index->busy = 1;
        Py_BEGIN_ALLOW_THREADS;
        failed = insert(index, number);
        Py_END_ALLOW_THREADS;
        index->busy = 0;
    } else
        failed = insert(index, number);
    if (failed < 0) index->stale = 1; /* half of it is in */
    return failed < 0 ? no_memory() : 0;
}

static PyObject *index_add(PyObject *self, PyObject *args) {
    Index *index = (Index *)self;
    long long seq;
    PyObject *blob;
    if (!PyArg_ParseTuple(args, "LO!:add", &seq, &PyBytes_Type, &blob)) return NULL;
    if (index->busy) return PyErr_Format(PyExc_RuntimeError, "the log is in use");
    if (known(index, seq)) return PyUnicode_FromString("");
    Chunk chunk = {.seq = seq, .blob = blob};
    Py_ssize_t size = PyBytes_Size(blob);
    if (size > (Py_ssize_t)MAX_COUNT) return PyUnicode_FromString("too long");
    chunk.data = (const unsigned char *)PyBytes_AsString(blob);
    chunk.size = (uint32_t)size;
    PyObject *fault = parse(&chunk, index->domain_id);
    if (fault != Py_None) return fault;
    Py_DECREF(fault);
    if (PUSH(index->chunks, chunk) < 0) return PyErr_NoMemory();
    Py_INCREF(blob);
    if (enter(index, chunk.size) < 0) return NULL;
    return PyUnicode_FromString("");
}

static PyObject *index_remove(PyObject *self, PyObject *seqs) {
    Index *index = (Index *)self;
    Buffer gone = {0};
    if (index->busy) return PyErr_Format(PyExc_RuntimeError, "the log is in use");
    if (numbers(seqs, &gone) < 0) {
        buffer_free(&gone);
        return NULL;
    }
    int missing = 0;
    for (size_t i = 0; i < COUNT(gone, int64_t); i++)
        missing |= !known(index, ITEMS(gone, int64_t)[i]);
    Chunk *chunks = CHUNKS(index);
    size_t kept = 0, count = COUNT(index->chunks, Chunk);
    for (size_t i = 0; !missing && i < count; i++) {
        int out = 0;
        for (size_t j = 0; j < COUNT(gone, int64_t); j++)
            out |= ITEMS(gone, int64_t)[j] == chunks[i].seq;
        if (out)
            Py_DECREF(chunks[i].blob);
        else
            chunks[kept++] = chunks[i];
    }
    if (!missing) index->chunks.size = (Py_ssize_t)(kept * sizeof(Chunk));
    if (kept < count && !missing) {
        index->stale = 1;
        forget_block(index);
    }
    buffer_free(&gone);
    if (missing) return PyErr_Format(PyExc_KeyError, "no such chunk");
    PyDict_Clear(index->unreadable);
    Py_RETURN_NONE;
}

static int by_seq(const void *one, const void *other) {
    int64_t a = ((const Chunk *)one)->seq, b = ((const Chunk *)other)->seq;
    return a < b ? -1 : a > b;
}

static PyObject *index_chunks(PyObject *self, PyObject *Py_UNUSED(unused)) {
    Index *index = (Index *)self;
    size_t count = COUNT(index->chunks, Chunk);
    Buffer sorted = {0};
    PyObject *list = NULL;
    if (buffer_add(&sorted, index->chunks.data, index->chunks.size, ROOM) < 0)
        return PyErr_NoMemory();
    if (count) qsort(sorted.data, count, sizeof(Chunk), by_seq);
    list = PyList_New((Py_ssize_t)count);
    for (size_t i = 0; list != NULL && i < count; i++) {
        const Chunk *chunk = ITEMS(sorted, Chunk) + i;
        PyObject *each = Py_BuildValue("(LiII)", (long long)chunk->seq, (int)chunk->level,
                                       chunk->size, chunk->copies);
        if (each == NULL || PyList_SetItem(list, (Py_ssize_t)i, each) < 0) Py_CLEAR(list);
    }
    buffer_free(&sorted);
    return list;
}

/* --- writing --- */

/* A copy that is to be written. */
typedef struct {
    int64_t fp;
    uint64_t stamp, alone; /* alone: the stamp that keeps it apart from others, or 0 */
    size_t text, number;   /* where its text begins; its place in the order */
    uint32_t length, depth, flags;
} Item;

typedef struct {
    uint64_t stamp;
    uint32_t depth, flags, size;
} NewGroup;

enum { W_DONE, W_DROPS, W_WAITS, W_KILLS, W_BARRIERS, W_SECTIONS };
static const size_t WIDTHS[] = {8, 8, WAIT_SIZE, SHORT_SIZE, SHORT_SIZE};

/* What is to be written into one chunk, or several if it is too much for one. */
typedef struct {
    int64_t domain_id;
    uint64_t stamp, done_stamp;
    int64_t responses, balance;
    int level;
    Buffer items, texts, groups;
    Buffer sections[W_SECTIONS]; /* as they are written */
    PyObject *blocks;            /* a list of bytes */
    /* how much of it is written */
    size_t items_done, blocks_done, group, in_group, done[W_SECTIONS];
} Writer;

static void writer_free(Writer *writer) {
    buffer_free(&writer->items);
    buffer_free(&writer->texts);
    buffer_free(&writer->groups);
    for (int i = 0; i < W_SECTIONS; i++) buffer_free(writer->sections + i);
    Py_CLEAR(writer->blocks);
}

static int put_fp(Buffer *section, int64_t fp) {
    unsigned char bytes[8];
    put(bytes, (uint64_t)fp, 8);
    return buffer_add(section, (const char *)bytes, 8, ROOM);
}

static int put_short(Buffer *section, int64_t fp, uint64_t stamp, uint32_t number) {
    unsigned char bytes[SHORT_SIZE];
    put(bytes, (uint64_t)fp, 8);
    put(bytes + 8, stamp, 6);
    put(bytes + 14, number, 2);
    return buffer_add(section, (const char *)bytes, SHORT_SIZE, ROOM);
}

static int put_wait(Buffer *section, int64_t fp, uint64_t until, uint64_t stamp, uint32_t tries) {
    unsigned char bytes[WAIT_SIZE];
    put(bytes, (uint64_t)fp, 8);
    put(bytes + 8, until, 6);
    put(bytes + 14, stamp, 6);
    put(bytes + 20, tries, 4);
    return buffer_add(section, (const char *)bytes, WAIT_SIZE, ROOM);
}

static int by_group(const void *one, const void *other) {
    const Item *a = one, *b = other;
    if (a->depth != b->depth) return a->depth < b->depth ? -1 : 1;
    if (a->flags != b->flags) return a->flags < b->flags ? -1 : 1;
    if (a->alone != b->alone) return a->alone < b->alone ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

static int same_group(const Item *a, const Item *b) {
    return a->depth == b->depth && a->flags == b->flags && a->alone == b->alone;
}

/* Puts copies of one kind together: 0, or -1 for an error. */
static int group_items(Writer *writer) {
    Item *items = ITEMS(writer->items, Item);
    size_t count = COUNT(writer->items, Item);
    int mixed = 0;
    for (size_t i = 1; i < count; i++) mixed |= !same_group(items, items + i);
    if (mixed) qsort(items, count, sizeof(Item), by_group);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || !same_group(items + i - 1, items + i)) {
            NewGroup group = {0, items[i].depth, items[i].flags, 0};
            if (PUSH(writer->groups, group) < 0) return no_memory();
        }
        NewGroup *last = ITEMS(writer->groups, NewGroup) + COUNT(writer->groups, NewGroup) - 1;
        last->size++;
        if (items[i].stamp > last->stamp) last->stamp = items[i].stamp;
    }
    return 0;
}

static int put_length(Buffer *raw, size_t length) {
    unsigned char bytes[2] = {(unsigned char)length, 0};
    if (length > 127) {
        bytes[0] = (unsigned char)(length & 127) | 128;
        bytes[1] = (unsigned char)(length >> 7);
    }
    return buffer_add(raw, (const char *)bytes, length > 127 ? 2 : 1, ROOM);
}

/* Joins the texts of a block, as `format.join_texts` does: 0, or -1 if there is no memory. */
static int join_texts(const Writer *writer, size_t first, size_t count, Buffer *raw) {
    const Item *items = ITEMS(writer->items, Item) + first;
    const char *texts = writer->texts.data, *start = texts + items->text;
    size_t cut = count > 1 ? items->length : 0;
    raw->size = 0;
    for (size_t i = 1; i < count; i++) {
        const char *text = texts + items[i].text;
        size_t same = 0;
        if (items[i].length < cut) cut = items[i].length;
        while (same < cut && text[same] == start[same]) same++;
        cut = same;
    }
    if (put_length(raw, cut) < 0) return -1;
    for (size_t i = 0; i < count; i++)
        if (put_length(raw, items[i].length - cut) < 0) return -1;
    if (buffer_add(raw, start, (Py_ssize_t)cut, ROOM) < 0) return -1;
    for (size_t i = 0; i < count; i++)
        if (buffer_add(raw, texts + items[i].text + cut, (Py_ssize_t)(items[i].length - cut),
                       ROOM) < 0)
            return -1;
    return 0;
}

/* Packs all texts: 0, or -1 for an error. */
static int pack_texts(Writer *writer) {
    Buffer raw = {0};
    size_t count = COUNT(writer->items, Item);
    writer->blocks = PyList_New(0);
    int failed = writer->blocks == NULL ? -1 : 0;
    for (size_t at = 0; failed == 0 && at < count; at += PER_BLOCK) {
        size_t size = count - at < PER_BLOCK ? count - at : PER_BLOCK;
        if (join_texts(writer, at, size, &raw) < 0) {
            failed = no_memory();
            break;
        }
        PyObject *packed = PyObject_CallFunction(pack_block, "y#", raw.data, raw.size);
        failed = -1;
        if (packed != NULL && !PyBytes_Check(packed))
            PyErr_SetString(PyExc_TypeError, "a packed block is bytes");
        else if (packed != NULL)
            failed = PyList_Append(writer->blocks, packed);
        Py_XDECREF(packed);
    }
    buffer_free(&raw);
    return failed;
}

static Py_ssize_t block_size(const Writer *writer, size_t block) {
    return PyBytes_Size(PyList_GetItem(writer->blocks, (Py_ssize_t)block));
}

/* What the next chunk holds: how many entries of each section, copies, groups and blocks. */
typedef struct {
    size_t sections[W_SECTIONS], copies, groups, blocks;
} Share;

/* How many groups the next so many copies belong to. */
static size_t groups_of(const Writer *writer, size_t copies) {
    size_t number = 0, covered = 0;
    for (size_t i = writer->group; i < COUNT(writer->groups, NewGroup) && covered < copies; i++) {
        covered +=
            ITEMS(writer->groups, NewGroup)[i].size - (i == writer->group ? writer->in_group : 0);
        number++;
    }
    return number;
}

/* What fits into the next chunk: at least one entry or block, so that it ends. */
static Share share_of(const Writer *writer, int64_t room) {
    Share share = {{0}, 0, 0, 0};
    int any = 0;
    for (int i = 0; i < W_SECTIONS; i++) {
        size_t left = (size_t)writer->sections[i].size / WIDTHS[i] - writer->done[i];
        size_t fit = room > 0 ? (size_t)room / WIDTHS[i] : 0;
        share.sections[i] = left < fit ? left : fit;
        any |= share.sections[i] > 0;
        room -= (int64_t)(share.sections[i] * WIDTHS[i]);
    }
    size_t blocks = (size_t)PyList_Size(writer->blocks), left;
    while (writer->blocks_done + share.blocks < blocks) {
        left = COUNT(writer->items, Item) - writer->items_done - share.copies;
        size_t more = left < PER_BLOCK ? left : PER_BLOCK;
        size_t groups = groups_of(writer, share.copies + more);
        room -= (int64_t)(8 * more + 4) + block_size(writer, writer->blocks_done + share.blocks);
        if ((int64_t)(groups * GROUP_SIZE) > room && (any || share.blocks)) break;
        share.copies += more;
        share.groups = groups;
        share.blocks++;
    }
    return share;
}

static int put_number(Buffer *out, uint64_t value, int size) {
    unsigned char bytes[8];
    put(bytes, value, size);
    return buffer_add(out, (const char *)bytes, size, ROOM);
}

/* The groups and fingerprints of a share; the writer moves on. */
static int put_copies(Writer *writer, const Share *share, Buffer *out) {
    size_t left = share->copies;
    while (left > 0) {
        const NewGroup *group = ITEMS(writer->groups, NewGroup) + writer->group;
        size_t size = group->size - writer->in_group;
        if (size > left) size = left;
        if (put_number(out, group->depth, 4) < 0 || put_number(out, group->flags, 2) < 0 ||
            put_number(out, group->stamp, 6) < 0 || put_number(out, size, 4) < 0)
            return -1;
        left -= size;
        writer->in_group += size;
        if (writer->in_group == group->size) {
            writer->group++;
            writer->in_group = 0;
        }
    }
    for (size_t i = 0; i < share->copies; i++)
        if (put_fp(out, ITEMS(writer->items, Item)[writer->items_done + i].fp) < 0) return -1;
    writer->items_done += share->copies;
    return 0;
}

static int put_blocks(Writer *writer, const Share *share, Buffer *out) {
    for (size_t i = 0; i < share->blocks; i++)
        if (put_number(out, (uint64_t)block_size(writer, writer->blocks_done + i), 4) < 0)
            return -1;
    for (size_t i = 0; i < share->blocks; i++) {
        PyObject *block = PyList_GetItem(writer->blocks, (Py_ssize_t)(writer->blocks_done + i));
        if (buffer_add(out, PyBytes_AsString(block), PyBytes_Size(block), ROOM) < 0) return -1;
    }
    writer->blocks_done += share->blocks;
    return 0;
}

static uint64_t bounded(int64_t value) {
    return (uint64_t)(value < INT32_MIN ? INT32_MIN : value > INT32_MAX ? INT32_MAX : value);
}

/* Writes a share into `out`, all but the checksum; the writer moves on. */
static int put_share(Writer *writer, const Share *share, int first, Buffer *out) {
    unsigned char head[HEAD_SIZE] = {FORMAT, 0, 0, share->blocks ? CURRENT : 0};
    if (share->copies) head[1] |= COPIES;
    for (int i = 0; i < W_SECTIONS; i++)
        if (share->sections[i]) head[1] |= (unsigned char)(DONES << i);
    put(head + 8, (uint64_t)writer->domain_id, 8);
    put(head + 16, writer->stamp, 6);
    put(head + 22, writer->done_stamp, 6);
    put(head + 28, first ? bounded(writer->responses) : 0, 4);
    put(head + 32, first ? bounded(writer->balance) : 0, 4);
    if (buffer_add(out, (const char *)head, HEAD_SIZE, 1024) < 0) return -1;
    if (share->copies &&
        (put_number(out, share->groups, 4) < 0 || put_number(out, share->copies, 4) < 0))
        return -1;
    for (int i = 0; i < W_SECTIONS; i++)
        if (share->sections[i] && put_number(out, share->sections[i], 4) < 0) return -1;
    if (put_copies(writer, share, out) < 0) return -1;
    for (int i = 0; i < W_SECTIONS; i++) {
        const char *begin = writer->sections[i].data;
        size_t size = share->sections[i] * WIDTHS[i];
        if (size &&
            buffer_add(out, begin + writer->done[i] * WIDTHS[i], (Py_ssize_t)size, ROOM) < 0)
            return -1;
        writer->done[i] += share->sections[i];
    }
    return put_blocks(writer, share, out);
}

static int nothing_left(const Writer *writer) {
    for (int i = 0; i < W_SECTIONS; i++)
        if (writer->done[i] * WIDTHS[i] < (size_t)writer->sections[i].size) return 0;
    return writer->items_done == COUNT(writer->items, Item);
}

/* The next chunk as bytes; NULL for an error. */
static PyObject *next_chunk(Writer *writer, int first, int64_t room) {
    Buffer out = {0};
    PyObject *blob = NULL;
    uint64_t sum;
    Share share = share_of(writer, room);
    if (put_share(writer, &share, first, &out) < 0) {
        PyErr_NoMemory();
        goto end;
    }
    unsigned char *data = (unsigned char *)out.data;
    data[2] = nothing_left(writer) ? (unsigned char)writer->level : FULL_LEVEL;
    put(data + 4, (uint64_t)out.size + CHECK_SIZE, 4);
    if (checksum(data, (size_t)out.size, writer->domain_id, &sum) < 0) goto end;
    if (put_number(&out, sum, CHECK_SIZE) < 0)
        PyErr_NoMemory();
    else
        blob = PyBytes_FromStringAndSize(out.data, out.size);
end:
    buffer_free(&out);
    return blob;
}

/* All chunks, as a list of bytes; NULL for an error. See `format.write`. */
static PyObject *written(Writer *writer, long long limit) {
    int64_t room = limit - HEAD_SIZE - CHECK_SIZE - ROOM_FOR_COUNTS;
    if (room < ROOM) room = ROOM;
    if (group_items(writer) < 0 || pack_texts(writer) < 0) return NULL;
    PyObject *list = PyList_New(0);
    do {
        PyObject *blob = list == NULL ? NULL : next_chunk(writer, PyList_Size(list) == 0, room);
        if (blob == NULL || PyList_Append(list, blob) < 0) Py_CLEAR(list);
        Py_XDECREF(blob);
    } while (list != NULL && !nothing_left(writer));
    return list;
}

static int add_item(Writer *writer, Item item, const char *text, Py_ssize_t size) {
    if (size > MAX_URL) {
        PyErr_Format(PyExc_ValueError, "a URL has at most %d bytes", MAX_URL);
        return -1;
    }
    item.text = (size_t)writer->texts.size;
    item.length = (uint32_t)size;
    item.number = COUNT(writer->items, Item);
    if (buffer_add(&writer->texts, text, size, 4096) < 0 || PUSH(writer->items, item) < 0)
        return no_memory();
    return 0;
}

/* --- new chunks --- */

/* One link of a new chunk. */
static int take_link(Writer *writer, PyObject *link) {
    if (!is_link(link)) return -1;
    long long fp = PyLong_AsLongLong(PyTuple_GetItem(link, L_FP));
    long long depth = PyLong_AsLongLong(PyTuple_GetItem(link, L_DEPTH));
    long long flags = PyLong_AsLongLong(PyTuple_GetItem(link, L_FLAGS));
    PyObject *url = PyTuple_GetItem(link, L_URL), *encoded = NULL;
    if (PyErr_Occurred()) return -1;
    Item item = {.fp = fp, .stamp = writer->stamp};
    item.depth = depth<0 ? 0 : depth>(long long) MAX_COUNT ? MAX_COUNT : (uint32_t)depth;
    item.flags = (uint32_t)flags & (OWN_FLAGS | REOPENED);
    uint32_t kills = ((uint32_t)flags & 255) / KILL_FLAG;
    if (kills > MAX_KILLS) kills = MAX_KILLS;
    if (kills && put_short(writer->sections + W_KILLS, fp, writer->stamp, kills) < 0)
        return no_memory();
    if (!PyUnicode_Check(url)) {
        PyErr_SetString(PyExc_TypeError, "a URL is a str");
        return -1;
    }
    Py_ssize_t size;
    const char *text = PyUnicode_AsUTF8AndSize(url, &size);
    if (text == NULL) { /* half a character */
        PyErr_Clear();
        encoded = PyUnicode_AsEncodedString(url, "utf-8", "surrogatepass");
        char *bytes;
        if (encoded == NULL || PyBytes_AsStringAndSize(encoded, &bytes, &size) < 0) {
            Py_XDECREF(encoded);
            return -1;
        }
        text = bytes;
    }
    int failed = add_item(writer, item, text, size);
    Py_XDECREF(encoded);
    return failed;
}

static int take_new_wait(Writer *writer, PyObject *wait) {
    long long fp;
    unsigned long long until, stamp;
    unsigned int tries;
    if (!PyTuple_Check(wait)) {
        PyErr_SetString(PyExc_TypeError, "a wait is a tuple");
        return -1;
    }
    if (!PyArg_ParseTuple(wait, "LKKI", &fp, &until, &stamp, &tries)) return -1;
    return put_wait(writer->sections + W_WAITS, fp, until, stamp, tries) < 0 ? no_memory() : 0;
}

static int take_new_kill(Writer *writer, PyObject *kill) {
    long long fp;
    unsigned long long stamp;
    unsigned int number;
    if (!PyTuple_Check(kill)) {
        PyErr_SetString(PyExc_TypeError, "a kill is a tuple");
        return -1;
    }
    if (!PyArg_ParseTuple(kill, "LKI", &fp, &stamp, &number)) return -1;
    return put_short(writer->sections + W_KILLS, fp, stamp, number) < 0 ? no_memory() : 0;
}

typedef int (*Take)(Writer *, PyObject *);

/* Takes each item of a sequence that is an attribute: 0, or -1 for an error. */
static int take_all(Writer *writer, PyObject *records, const char *name, Take take) {
    PyObject *sequence = PyObject_GetAttrString(records, name);
    if (sequence == NULL) return -1;
    PyObject *list = PyList_Check(sequence) ? Py_NewRef(sequence) : PySequence_List(sequence);
    Py_DECREF(sequence);
    if (list == NULL) return -1;
    int failed = 0;
    for (Py_ssize_t i = 0; failed == 0 && i < PyList_Size(list); i++)
        failed = take(writer, PyList_GetItem(list, i));
    Py_DECREF(list);
    return failed;
}

static int by_number(const void *one, const void *other) {
    int64_t a = *(const int64_t *)one, b = *(const int64_t *)other;
    return a < b ? -1 : a > b;
}

static int take_fps(Writer *writer, PyObject *records, const char *name, int section) {
    PyObject *sequence = PyObject_GetAttrString(records, name);
    Buffer fps = {0};
    int failed = sequence == NULL ? -1 : numbers(sequence, &fps);
    Py_XDECREF(sequence);
    if (fps.size) qsort(fps.data, COUNT(fps, int64_t), sizeof(int64_t), by_number);
    for (size_t i = 0; failed == 0 && i < COUNT(fps, int64_t); i++)
        if (put_fp(writer->sections + section, ITEMS(fps, int64_t)[i]) < 0) failed = no_memory();
    buffer_free(&fps);
    return failed;
}

static PyObject *new_chunks(PyObject *Py_UNUSED(self), PyObject *args) {
    long long domain_id, responses, balance, limit;
    unsigned long long stamp;
    PyObject *records, *list = NULL;
    if (!PyArg_ParseTuple(args, "LKLLOL:new_chunks", &domain_id, &stamp, &responses, &balance,
                          &records, &limit))
        return NULL;
    Writer writer = {.domain_id = domain_id, .stamp = stamp & MAX_TIME, .responses = responses};
    writer.balance = balance;
    writer.done_stamp = writer.stamp;
    if (take_all(&writer, records, "kills", take_new_kill) == 0 &&
        take_all(&writer, records, "links", take_link) == 0 &&
        take_fps(&writer, records, "done", W_DONE) == 0 &&
        take_fps(&writer, records, "drops", W_DROPS) == 0 &&
        take_all(&writer, records, "waits", take_new_wait) == 0)
        list = written(&writer, limit);
    writer_free(&writer);
    return list;
}

/* --- a visit: what nearly all commits do to a log, in one go --- */

/* Fingerprints that were met; most of all are distinct. */
typedef struct {
    Buffer fps; /* 0: none */
    uint64_t mask;
    int shift, zero; /* zero: the fingerprint 0 was met */
} Met;

typedef struct {
    const Index *index;
    Writer writer;
    Met met;
    PyObject *recorded;
    Py_ssize_t left, added, refused, room; /* room: for so many new URLs */
} Visit;

/* Makes room for so many fingerprints: 0, or -1 for an error. */
static int met_begin(Met *met, size_t count) {
    size_t room = 64;
    while (room / 2 < count) room *= 2;
    Py_ssize_t size = (Py_ssize_t)(room * sizeof(int64_t));
    if (buffer_grow(&met->fps, size, size) < 0) return no_memory();
    memset(met->fps.data, 0, (size_t)size);
    met->mask = room - 1;
    met->shift = 64;
    for (; room > 1; room /= 2) met->shift--;
    return 0;
}

/* Whether a fingerprint is met for the first time. */
static int is_first(Met *met, int64_t fp) {
    if (fp == 0) return met->zero ? 0 : (met->zero = 1);
    int64_t *fps = ITEMS(met->fps, int64_t);
    uint64_t at = ((uint64_t)fp ^ secret_too) * secret >> met->shift;
    for (; fps[at]; at = (at + 1) & met->mask)
        if (fps[at] == fp) return 0;
    fps[at] = fp;
    return 1;
}

/* One URL that is done, and whether there was a response: 0, or -1 for an error. */
static int visit_done(Visit *visit, PyObject *pair) {
    if (!PyTuple_Check(pair) || PyTuple_Size(pair) != 2) {
        PyErr_SetString(PyExc_TypeError, "what is done is a fingerprint and a truth");
        return -1;
    }
    int64_t fp = PyLong_AsLongLong(PyTuple_GetItem(pair, 0));
    int response = PyObject_IsTrue(PyTuple_GetItem(pair, 1));
    if (response < 0 || PyErr_Occurred()) return -1;
    int state = state_of(visit->index, fp);
    if (state == IS_DONE || !is_first(&visit->met, fp)) return 0;
    visit->left += state == QUEUED;
    visit->writer.responses += response;
    if (PUSH(visit->writer.sections[W_DONE], fp) < 0) return no_memory();
    return PyList_Append(visit->recorded, PyTuple_GetItem(pair, 0));
}

/* Whether the URL of a link is new, and there is room for it. */
static int visit_new(Visit *visit, int64_t fp) {
    if (state_of(visit->index, fp) != UNKNOWN || !is_first(&visit->met, fp)) return 0;
    int room = visit->added < visit->room;
    visit->added += room;
    visit->refused += !room;
    return room;
}

static int visit_link(Visit *visit, PyObject *link) {
    if (!is_link(link)) return -1;
    int64_t fp = PyLong_AsLongLong(PyTuple_GetItem(link, L_FP));
    if (fp == -1 && PyErr_Occurred()) return -1;
    return visit_new(visit, fp) ? take_link(&visit->writer, link) : 0;
}

/* Links that lie one behind the other; see `values.LinkBlock`. */
typedef struct {
    uint32_t depth;
    const char *data;
    Py_ssize_t size;
} Block;

#define LINK_HEAD 10 /* bytes before a URL: its fingerprint and its length */

/* The next link of a block, from `at` on: its URL, of which `size` are the bytes; NULL at the end,
   or where the block is not what it should be. */
static const char *next_link(const Block *block, Py_ssize_t *at, int64_t *fp, Py_ssize_t *size) {
    uint16_t length;
    if (block->size - *at < LINK_HEAD) return NULL;
    memcpy(fp, block->data + *at, 8);
    memcpy(&length, block->data + *at + 8, 2);
    if (block->size - *at - LINK_HEAD < length) return NULL;
    *at += LINK_HEAD + length;
    *size = length;
    return block->data + *at - length;
}

/* Opens a block: how many links it has, or -1 for an error. */
static Py_ssize_t open_block(PyObject *object, Block *block) {
    long long domain, depth, count;
    PyObject *name;
    int64_t fp;
    Py_ssize_t at = 0, size, found = 0;
    if (!PyTuple_Check(object)) {
        PyErr_SetString(PyExc_TypeError, "a block of links is a tuple");
        return -1;
    }
    if (!PyArg_ParseTuple(object, "LOLLy#", &domain, &name, &depth, &count, &block->data,
                          &block->size))
        return -1;
    block->depth = depth<0 ? 0 : depth>(long long) MAX_COUNT ? MAX_COUNT : (uint32_t)depth;
    while (next_link(block, &at, &fp, &size) != NULL) found++;
    if (at == block->size) return found;
    PyErr_SetString(PyExc_ValueError, "a block of links is cut off");
    return -1;
}

static int visit_block(Visit *visit, PyObject *object) {
    Block block;
    int64_t fp;
    Py_ssize_t at = 0, size;
    const char *text;
    if (open_block(object, &block) < 0) return -1;
    while ((text = next_link(&block, &at, &fp, &size)) != NULL) {
        if (!visit_new(visit, fp)) continue;
        Item item = {.fp = fp, .stamp = visit->writer.stamp, .depth = block.depth};
        if (add_item(&visit->writer, item, text, size) < 0) return -1;
    }
    return 0;
}

typedef int (*VisitEach)(Visit *, PyObject *);

static int visit_all(Visit *visit, PyObject *list, VisitEach each) {
    for (Py_ssize_t i = 0; i < PyList_Size(list); i++)
        if (each(visit, PyList_GetItem(list, i)) < 0) return -1;
    return 0;
}

/* How many fingerprints a visit may meet: -1 for an error. */
static Py_ssize_t visit_size(PyObject *done, PyObject *blocks, PyObject *links) {
    Py_ssize_t count = PyList_Size(done) + PyList_Size(links);
    for (Py_ssize_t i = 0; i < PyList_Size(blocks); i++) {
        Block block;
        Py_ssize_t more = open_block(PyList_GetItem(blocks, i), &block);
        if (more < 0) return -1;
        count += more;
    }
    return count;
}

/* The fingerprints of what is done, as a section holds them. */
static void put_done(Buffer *done) {
    int64_t *fps = ITEMS(*done, int64_t);
    size_t count = COUNT(*done, int64_t);
    if (count) qsort(fps, count, sizeof(int64_t), by_number);
    for (size_t i = 0; i < count; i++) put((unsigned char *)(fps + i), (uint64_t)fps[i], 8);
}

/* The fields of a `values.LogPlan`, and how many chunks there were before; None: the visit leaves
   nothing to be fetched at once, which `planning` looks at more closely; NULL for an error. */
static PyObject *visited(Visit *visit, const long long *counts, Py_ssize_t line, long long limit) {
    Writer *writer = &visit->writer;
    long long queued = counts[0], copies = counts[1], responses = counts[3];
    long long after = queued + visit->added - visit->left;
    if (line + visit->added <= visit->left) Py_RETURN_NONE;
    writer->balance = after - copies;
    put_done(writer->sections + W_DONE);
    int any = visit->added || writer->sections[W_DONE].size || writer->balance;
    PyObject *puts = any ? written(writer, limit) : PyList_New(0);
    if (puts == NULL) return NULL;
    /* without chunks to put nothing is gone, and nothing changes: the copies are those queued */
    return Py_BuildValue("((N[]Onn[][][]nLLLLOi)n)", puts, visit->recorded, visit->left,
                         visit->added, visit->refused, copies - queued, after - copies, after,
                         responses + writer->responses, Py_True, 0,
                         (Py_ssize_t)COUNT(visit->index->chunks, Chunk));
}

static PyObject *index_visit(PyObject *self, PyObject *args) {
    Index *index = (Index *)self;
    PyObject *given[3], *lists[3] = {NULL, NULL, NULL}, *found = NULL;
    long long max_urls, limit, counts[4];
    unsigned long long stamp;
    if (!PyArg_ParseTuple(args, "OOOLKL:visit", given, given + 1, given + 2, &max_urls, &stamp,
                          &limit) ||
        settle(index) < 0)
        return NULL;
    Py_ssize_t line = count_all(index, counts);
    Visit visit = {.index = index, .recorded = PyList_New(0)};
    visit.room = (Py_ssize_t)(max_urls - counts[0] - counts[2]);
    visit.writer.domain_id = index->domain_id;
    visit.writer.stamp = visit.writer.done_stamp = stamp & MAX_TIME;
    int failed = visit.recorded == NULL;
    for (int i = 0; i < 3 && !failed; i++) failed = (lists[i] = PySequence_List(given[i])) == NULL;
    Py_ssize_t size = failed ? -1 : visit_size(lists[0], lists[1], lists[2]);
    if (size >= 0 && met_begin(&visit.met, (size_t)size) == 0 &&
        visit_all(&visit, lists[0], visit_done) == 0 &&
        visit_all(&visit, lists[1], visit_block) == 0 &&
        visit_all(&visit, lists[2], visit_link) == 0)
        found = visited(&visit, counts, line, limit);
    for (int i = 0; i < 3; i++) Py_XDECREF(lists[i]);
    Py_XDECREF(visit.recorded);
    buffer_free(&visit.met.fps);
    writer_free(&visit.writer);
    return found;
}

/* --- folding --- */

/* Something that is said of a URL, to be sorted. */
typedef struct {
    int64_t fp;
    uint64_t stamp, until;
    uint32_t number;
} Said;

/* By fingerprint, the newest first. */
static int by_fp(const void *one, const void *other) {
    const Said *a = one, *b = other;
    if (a->fp != b->fp) return a->fp < b->fp ? -1 : 1;
    if (a->stamp != b->stamp) return a->stamp > b->stamp ? -1 : 1;
    if (a->until != b->until) return a->until > b->until ? -1 : 1;
    return a->number > b->number ? -1 : a->number < b->number;
}

static int say(Buffer *said, int64_t fp, uint64_t stamp, uint64_t until, uint32_t number) {
    Said each = {fp, stamp, until, number};
    return PUSH(*said, each);
}

/* The fate of a URL that has one; NULL if a copy or a mark is all. */
static Fate *told(const Index *index, int64_t fp) {
    const Slot *slot = slot_of(index, fp);
    return (slot->value & 3) == MORE ? FATES(index) + (slot->value >> 2) : NULL;
}

static int keep_mark(const Index *index, Buffer *marks, int64_t fp, uint64_t stamp) {
    const Fate *fate = told(index, fp);
    if (fate != NULL && (fate->state != IS_DONE || (int64_t)stamp != fate->done)) return 0;
    return say(marks, fp, stamp, 0, 0);
}

/* Marks of what is done, those up to `settled` as one section. */
static int fold_marks(const Index *index, Writer *writer, int64_t settled) {
    Buffer marks = {0};
    int failed = 0;
    for (size_t i = 0; i < COUNT(index->chunks, Chunk); i++) {
        const Chunk *chunk = CHUNKS(index) + i;
        if (!chunk->folded) continue;
        const unsigned char *p = chunk->data + chunk->at_done;
        for (uint32_t j = 0; j < chunk->done; j++, p += 8)
            failed |= keep_mark(index, &marks, get8(p), chunk->done_stamp);
        p = chunk->data + chunk->at_barriers;
        for (uint32_t j = 0; j < chunk->barriers; j++, p += SHORT_SIZE)
            if (get2(p + 14) == IS_DONE_KIND)
                failed |= keep_mark(index, &marks, get8(p), get6(p + 8));
    }
    const Said *mark = ITEMS(marks, Said);
    size_t count = COUNT(marks, Said);
    if (count) qsort(marks.data, count, sizeof(Said), by_fp);
    for (size_t i = 0; i < count && !failed; i++) {
        if (i > 0 && mark[i].fp == mark[i - 1].fp) continue;
        if ((int64_t)mark[i].stamp > settled) {
            failed =
                put_short(writer->sections + W_BARRIERS, mark[i].fp, mark[i].stamp, IS_DONE_KIND);
        } else {
            failed = put_fp(writer->sections + W_DONE, mark[i].fp);
            if (mark[i].stamp > writer->done_stamp) writer->done_stamp = mark[i].stamp;
        }
    }
    buffer_free(&marks);
    return failed;
}

/* Whether a URL that `outside` says something of has a drop in the fold: then the drop stays. */
static void keep_drop(const Index *index, int64_t fp) {
    Fate *fate = told(index, fp);
    if (fate != NULL && fate->live) fate->kept = 1;
}

static void keep_drops_for(const Index *index, const Chunk *chunk) {
    const unsigned char *p = chunk->data + chunk->at_copies;
    for (uint32_t i = 0; i < chunk->copies; i++, p += 8) keep_drop(index, get8(p));
    p = chunk->data + chunk->at_done;
    for (uint32_t i = 0; i < chunk->done; i++, p += 8) keep_drop(index, get8(p));
    p = chunk->data + chunk->at_waits;
    for (uint32_t i = 0; i < chunk->waits; i++, p += WAIT_SIZE) keep_drop(index, get8(p));
    p = chunk->data + chunk->at_kills;
    for (uint32_t i = 0; i < chunk->kills; i++, p += SHORT_SIZE) keep_drop(index, get8(p));
    p = chunk->data + chunk->at_barriers;
    for (uint32_t i = 0; i < chunk->barriers; i++, p += SHORT_SIZE)
        if (get2(p + 14) == IS_DONE_KIND) keep_drop(index, get8(p));
}

/* Marks a URL whose newest barrier is this drop. */
static int note_drop(const Index *index, int64_t fp, uint64_t stamp) {
    Fate *fate = told(index, fp);
    int64_t at = (int64_t)stamp;
    if (fate == NULL || at != fate->drop || at <= fate->done) return 0;
    if (fate->state != UNKNOWN && fate->base != at + 1) return 0;
    fate->live = 1;
    return 1;
}

/* Drops that still hide something in the chunks that are not folded. */
static int fold_drops(const Index *index, Writer *writer) {
    size_t count = COUNT(index->chunks, Chunk);
    int any = 0, failed = 0;
    for (size_t i = 0; i < count; i++) {
        const Chunk *chunk = CHUNKS(index) + i;
        if (!chunk->folded) continue;
        const unsigned char *p = chunk->data + chunk->at_drops;
        for (uint32_t j = 0; j < chunk->drops; j++, p += 8)
            any |= note_drop(index, get8(p), chunk->stamp);
        p = chunk->data + chunk->at_barriers;
        for (uint32_t j = 0; j < chunk->barriers; j++, p += SHORT_SIZE)
            if (get2(p + 14) == IS_DROP_KIND) any |= note_drop(index, get8(p), get6(p + 8));
    }
    for (size_t i = 0; any && i < count; i++)
        if (!CHUNKS(index)[i].folded) keep_drops_for(index, CHUNKS(index) + i);
    for (size_t i = 0; any && i < COUNT(index->fates, Fate); i++) {
        Fate *fate = FATES(index) + i;
        if (fate->kept)
            failed |= put_short(writer->sections + W_BARRIERS, fate->fp, (uint64_t)fate->drop,
                                IS_DROP_KIND);
        fate->live = fate->kept = 0;
    }
    return failed;
}

/* Whether a wait or kill counts, or will when a copy comes that is on its way. */
static int may_count(const Fate *fate, uint64_t stamp) {
    int64_t barrier = fate->done > fate->drop ? fate->done : fate->drop;
    return fate->state == QUEUED ? (int64_t)stamp >= fate->base : (int64_t)stamp > barrier;
}

static int fold_waits(const Index *index, Writer *writer) {
    Buffer waits = {0};
    int failed = 0;
    for (size_t i = 0; i < COUNT(index->chunks, Chunk); i++) {
        const Chunk *chunk = CHUNKS(index) + i;
        const unsigned char *p = chunk->data + chunk->at_waits;
        for (uint32_t j = 0; chunk->folded && j < chunk->waits; j++, p += WAIT_SIZE) {
            const Fate *fate = told(index, get8(p));
            uint64_t until = get6(p + 8), stamp = get6(p + 14);
            if (!may_count(fate, stamp)) continue;
            if (fate->state == QUEUED && fate->waits &&
                (until != fate->until || stamp != fate->wait_stamp ||
                 get4(p + 20) != fate->attempts))
                continue;
            failed |= say(&waits, get8(p), stamp, until, get4(p + 20));
        }
    }
    const Said *wait = ITEMS(waits, Said);
    size_t count = COUNT(waits, Said);
    if (count) qsort(waits.data, count, sizeof(Said), by_fp);
    for (size_t i = 0; i < count && !failed; i++)
        if (i == 0 || wait[i].fp != wait[i - 1].fp)
            failed = put_wait(writer->sections + W_WAITS, wait[i].fp, wait[i].until, wait[i].stamp,
                              wait[i].number);
    buffer_free(&waits);
    return failed;
}

static int fold_kills(const Index *index, Writer *writer) {
    Buffer kills = {0};
    int failed = 0;
    for (size_t i = 0; i < COUNT(index->chunks, Chunk); i++) {
        const Chunk *chunk = CHUNKS(index) + i;
        const unsigned char *p = chunk->data + chunk->at_kills;
        for (uint32_t j = 0; chunk->folded && j < chunk->kills; j++, p += SHORT_SIZE)
            if (may_count(told(index, get8(p)), get6(p + 8)))
                failed |= say(&kills, get8(p), get6(p + 8), 0, get2(p + 14));
    }
    const Said *kill = ITEMS(kills, Said);
    size_t count = COUNT(kills, Said);
    if (count) qsort(kills.data, count, sizeof(Said), by_fp);
    for (size_t i = 0, begin = 0; i < count && !failed; i++) {
        if (i + 1 < count && kill[i + 1].fp == kill[begin].fp) continue;
        uint32_t total = 0;
        for (size_t j = begin; j <= i && total < MAX_KILLS; j++) total += kill[j].number;
        if (total > MAX_KILLS) total = MAX_KILLS;
        failed = put_short(writer->sections + W_KILLS, kill[begin].fp, kill[begin].stamp, total);
        begin = i + 1;
    }
    buffer_free(&kills);
    return failed;
}

/* All but the copies. Needs no lock. */
static int fold_rest(const Index *index, Writer *writer, int64_t settled) {
    return fold_marks(index, writer, settled) < 0 || fold_drops(index, writer) < 0 ||
                   fold_waits(index, writer) < 0 || fold_kills(index, writer) < 0
               ? -1
               : 0;
}

/* One copy, if its URL is queued by it, and its text can be read: 0, or -1 for an error. */
static int fold_copy(Index *index, Writer *writer, const Group *group, uint64_t place) {
    char text[MAX_TEXT];
    int64_t fp = fp_at(index, place);
    int queued;
    queued_by(index, place, fp, &queued);
    if (!queued) return 0;
    Py_ssize_t size = text_at(index, place, text);
    if (size < 0) return size == -2 ? -1 : 0;
    if (size > MAX_URL) return 0;
    Item item = {.fp = fp, .stamp = group->stamp, .depth = group->depth, .flags = group->flags};
    if (group->flags & REOPENED) item.alone = group->stamp;
    return add_item(writer, item, text, size);
}

/* The copies by which URLs are queued, in the order of the queue: 0, or -1 for an error. */
static int fold_copies(Index *index, Writer *writer) {
    for (size_t i = 0; i < COUNT(index->order, Ordered); i++) {
        const Group *group = GROUPS(index) + ITEMS(index->order, Ordered)[i].group;
        if (!CHUNKS(index)[group->chunk].folded) continue;
        for (uint32_t at = group->begin; at < group->begin + group->size; at++)
            if (fold_copy(index, writer, group, (uint64_t)group->chunk << 32 | at) < 0) return -1;
    }
    return 0;
}

/* Marks the chunks that are folded, and sums up their heads: their bytes, or -1 for an error. */
static Py_ssize_t choose(Index *index, const Buffer *seqs, Writer *writer) {
    Py_ssize_t total = 0;
    size_t found = 0;
    for (size_t i = 0; i < COUNT(index->chunks, Chunk); i++) {
        Chunk *chunk = CHUNKS(index) + i;
        chunk->folded = 0;
        for (size_t j = 0; j < COUNT(*seqs, int64_t); j++)
            chunk->folded |= ITEMS(*seqs, int64_t)[j] == chunk->seq;
        if (!chunk->folded) continue;
        found++;
        total += chunk->size;
        if (chunk->stamp > writer->stamp) writer->stamp = chunk->stamp;
        writer->responses += chunk->responses;
        writer->balance += chunk->balance;
    }
    if (found == COUNT(*seqs, int64_t)) return total;
    PyErr_SetString(PyExc_KeyError, "no such chunk");
    return -1;
}

static int fold_unlocked(Index *index, Writer *writer, int64_t settled, Py_ssize_t size) {
    int failed;
    if (size > UNLOCKED) {
        index->busy = 1;
        Py_BEGIN_ALLOW_THREADS;
        failed = fold_rest(index, writer, settled);
        Py_END_ALLOW_THREADS;
        index->busy = 0;
    } else
        failed = fold_rest(index, writer, settled);
    return failed < 0 ? no_memory() : 0;
}

static PyObject *index_fold(PyObject *self, PyObject *args) {
    Index *index = (Index *)self;
    PyObject *sequence, *list = NULL;
    int level;
    long long settled, limit;
    Buffer seqs = {0};
    if (!PyArg_ParseTuple(args, "OiLL:fold", &sequence, &level, &settled, &limit)) return NULL;
    if (settle(index) < 0 || (!index->ordered && put_in_order(index) < 0)) return NULL;
    Writer writer = {.domain_id = index->domain_id};
    writer.level = level < FULL_LEVEL - 1 ? level : FULL_LEVEL - 1;
    if (numbers(sequence, &seqs) == 0) {
        Py_ssize_t size = choose(index, &seqs, &writer);
        if (size >= 0 && fold_unlocked(index, &writer, settled, size) == 0 &&
            fold_copies(index, &writer) == 0)
            list = written(&writer, limit);
    }
    buffer_free(&seqs);
    writer_free(&writer);
    return list;
}

/* --- the type --- */

static int index_init(PyObject *self, PyObject *args, PyObject *Py_UNUSED(words)) {
    Index *index = (Index *)self;
    long long domain_id, epoch_ms;
    if (!PyArg_ParseTuple(args, "LL:Index", &domain_id, &epoch_ms)) return -1;
    if (hash_of == NULL || index->unreadable != NULL) {
        PyErr_SetString(PyExc_RuntimeError, "use() comes first, and an index is made once");
        return -1;
    }
    index->domain_id = domain_id;
    index->epoch_ms = epoch_ms;
    index->raw_chunk = -1;
    index->stale = 1; /* the first chunks are entered together, into a table of the right size */
    index->unreadable = PyDict_New();
    return index->unreadable == NULL ? -1 : 0;
}

static void index_dealloc(PyObject *self) {
    Index *index = (Index *)self;
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    for (size_t i = 0; i < COUNT(index->chunks, Chunk); i++) Py_DECREF(CHUNKS(index)[i].blob);
    buffer_free(&index->chunks);
    buffer_free(&index->groups);
    buffer_free(&index->slots);
    buffer_free(&index->fates);
    buffer_free(&index->events);
    buffer_free(&index->order);
    Py_CLEAR(index->unreadable);
    Py_CLEAR(index->raw);
    release(self);
    Py_DECREF(type);
}

static PyMethodDef index_methods[] = {
    {"add", index_add, METH_VARARGS, NULL},
    {"remove", index_remove, METH_O, NULL},
    {"chunks", index_chunks, METH_NOARGS, NULL},
    {"newest_stamp", index_newest_stamp, METH_NOARGS, NULL},
    {"memory", index_memory, METH_NOARGS, NULL},
    {"tell", index_tell, METH_O, NULL},
    {"unseen", index_unseen, METH_O, NULL},
    {"counts", index_counts, METH_NOARGS, NULL},
    {"lanes", index_lanes, METH_NOARGS, NULL},
    {"first_wait", index_first_wait, METH_O, NULL},
    {"is_waiting", index_is_waiting, METH_O, NULL},
    {"next", index_next, METH_VARARGS, NULL},
    {"part", index_part, METH_VARARGS, NULL},
    {"find", index_find, METH_O, NULL},
    {"visit", index_visit, METH_VARARGS, NULL},
    {"fold", index_fold, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef index_members[] = {
    {"unreadable", T_OBJECT_EX, offsetof(Index, unreadable), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot index_slots[] = {
    {Py_tp_new, PyType_GenericNew}, {Py_tp_init, index_init},       {Py_tp_dealloc, index_dealloc},
    {Py_tp_methods, index_methods}, {Py_tp_members, index_members}, {0, NULL},
};

static PyType_Spec index_spec = {
    .name = "lycosa.frontier.log._domain_log.Index",
    .basicsize = sizeof(Index),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = index_slots,
};

static PyObject *use(PyObject *Py_UNUSED(self), PyObject *args) {
    PyObject *lent[7];
    PyObject **kept[] = {&hash_of,      &fingerprint_of, &errand_of,    &make_row,
                         &unpack_block, &pack_block,     &is_dictionary};
    long long number;
    if (!PyArg_ParseTuple(args, "OOOOOOOL:use", lent, lent + 1, lent + 2, lent + 3, lent + 4,
                          lent + 5, lent + 6, &number))
        return NULL;
    for (int i = 0; i < 7; i++) {
        PyObject *old = *kept[i];
        Py_INCREF(lent[i]);
        *kept[i] = lent[i];
        Py_XDECREF(old);
    }
    if (number) { /* once: tables that are there were made with it */
        secret = ((uint64_t)number * 0x9E3779B97F4A7C15u) | 1;
        secret_too = (uint64_t)number ^ 0xC2B2AE3D27D4EB4Fu;
    }
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"use", use, METH_VARARGS,
     "use(hash, fingerprint, errand_fingerprint, row, unpack_block, pack_block, known_dictionary, "
     "secret)\n\n"
     "Lends what is needed; comes before all else. secret: of this process; 0: as it is."},
    {"new_chunks", new_chunks, METH_VARARGS, "The compiled `new_chunk.chunks_in_python`."},
    {"by_domain", by_domain, METH_O, "The compiled `batches.by_domain_in_python`."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "lycosa.frontier.log._domain_log",
    .m_doc = "The chunks of one domain.",
    .m_size = -1,
    .m_methods = methods,
};

PyMODINIT_FUNC PyInit__domain_log(void) {
    PyObject *self = PyModule_Create(&module);
    if (self == NULL) return NULL;
    PyTypeObject *type = (PyTypeObject *)PyType_FromSpec(&index_spec);
    if (type == NULL || PyModule_AddType(self, type) < 0) Py_CLEAR(self);
    Py_XDECREF((PyObject *)type);
    return self;
}
