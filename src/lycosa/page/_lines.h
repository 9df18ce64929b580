/* What one pass over a page notes of its text for the main text, and the lines that come of it.

   Included by `_scan.c` where tags and attributes are known. `blocks` has the same in Python. */

#ifndef LYCOSA_LINES_H
#define LYCOSA_LINES_H

#include "_blocks.h"

static unsigned char kind_of[ELEMENTS_MAX]; /* by the element's place in the table */
static uint64_t weight_of[256];             /* what a byte adds to the counts of a line */
static struct {
    char word[HINT_WORD];
    unsigned char size, bit;
} hint_words[HINT_SLOTS];

/* -- while the page is read ----------------------------------------------------------------- */

/* The hints in the words of a class or an id. */
static uint64_t hints_in_words(const char *p, const char *end) {
    uint64_t found = 0;
    if (end - p > HINT_BYTES) end = p + HINT_BYTES;
    while (p < end) {
        char word[HINT_WORD];
        unsigned size = 0, hash = 0;
        int small = 0;
        while (p < end && !(class_of[(unsigned char)*p] & ALPHA)) p++;
        for (; p < end && class_of[(unsigned char)*p] & ALPHA; p++, size++) {
            char c = *p;
            if (c <= 'Z') {
                if (small) break; /* twoWords */
                c = (char)(c + 32);
            } else {
                small = 1;
            }
            if (size < HINT_WORD) word[size] = c;
            hash = hash * 33 + (unsigned char)c;
        }
        if (size < 2 || size > HINT_WORD) continue;
        for (unsigned slot = hash & (HINT_SLOTS - 1); hint_words[slot].size;
             slot = (slot + 1) & (HINT_SLOTS - 1))
            if (hint_words[slot].size == size && memcmp(hint_words[slot].word, word, size) == 0) {
                found |= (uint64_t)1 << hint_words[slot].bit;
                break;
            }
    }
    return found;
}

/* The same, remembered: most classes of a page are there many times. */
static uint64_t hints_in_value(Blocks *blocks, const char *p, const char *end) {
    Py_ssize_t size = end - p;
    uint64_t first, last;
    if (size < 8) return hints_in_words(p, end);
    memcpy(&first, p, 8);
    memcpy(&last, end - 8, 8);
    uint64_t hash = (first ^ (last << 1 | last >> 63) ^ (uint64_t)size) * 0x9E3779B97F4A7C15u;
    Known *known = &blocks->known[hash >> (64 - KNOWN_BITS)];
    if (known->size != size || memcmp(known->value, p, (size_t)size) != 0)
        *known = (Known){p, size, hints_in_words(p, end)};
    return known->hints;
}

/* What a tag says of its element by class, id, role and itemprop; `p` is behind its name. */
static uint64_t hints_of(Blocks *blocks, const char *p, const char *end) {
    uint64_t found = 0;
    Attribute each;
    for (int i = 0; i < HINT_ATTRIBUTES && next_attribute(&p, end, &each) > 0; i++) {
        Py_ssize_t size = each.name_end - each.name;
        if ((size == 5 && same_name(each.name, each.name_end, "class")) ||
            (size == 2 && same_name(each.name, each.name_end, "id")) ||
            (size == 4 && same_name(each.name, each.name_end, "role")) ||
            (size == 8 && same_name(each.name, each.name_end, "itemprop")))
            found |= hints_in_value(blocks, each.value, each.value_end);
    }
    return found;
}

static int popcount(uint64_t bits) {
    int count = 0;
    for (; bits; bits &= bits - 1) count++;
    return count;
}

static unsigned char least(unsigned value, unsigned most) {
    return (unsigned char)(value < most ? value : most);
}

static int kind_of_open(const Open *open) {
    if (open->flags & BARRIER) return NO_SCRIPT;
    if (open->name_space != HTML) return IN_LINE;
    return open->element == &unknown ? OTHER : kind_of[open->element - elements];
}

/* Room for one more item: 0, or -1 if there is no memory. */
static int make_room(Buffer *buffer, Py_ssize_t size) {
    if (buffer->room - buffer->size >= size) return 0;
    if (buffer_grow(buffer, size, ITEMS_FIRST * size) == 0) return 0;
    PyErr_NoMemory();
    return -1;
}

/* A record for an open element in the one of its parent: its number, -1 for an error. */
static int new_record(Blocks *blocks, const Open *open, int kind, int parent) {
    int number = COUNT_OF(blocks->records, Record);
    if (number >= RECORDS_MAX) return parent;
    if (make_room(&blocks->records, sizeof(Record)) < 0) return -1;
    Record *made = &ITEMS_OF(blocks->records, Record)[number];
    const Record *around = &ITEMS_OF(blocks->records, Record)[parent];
    *made = (Record){.parent = parent, .kind = (unsigned char)kind};
    made->path = around->path | 1u << kind;
    made->depth = least(around->depth + 1u, 255);
    if (open->name >= blocks->page && open->name < blocks->page_end)
        made->own = hints_of(blocks, open->name + open->size, blocks->page_end);
    made->hints = around->hints | made->own;
    made->good = least(around->good + (unsigned)popcount(made->own & GOOD_HINTS), 255);
    made->bad = least(around->bad + (unsigned)popcount(made->own & BAD_HINTS), 255);
    blocks->records.size += (Py_ssize_t)sizeof(Record);
    return number;
}

/* The record of the innermost container. Each element is looked at once. */
static int record_here(Scan *scan, Blocks *blocks) {
    Py_ssize_t depth = scan->depth - 1;
    while (depth > 0 && scan->stack[depth].record == 0) depth--;
    int record = depth > 0 ? scan->stack[depth].record - 1 : 0;
    while (++depth < scan->depth) {
        Open *open = &scan->stack[depth];
        int kind = kind_of_open(open);
        if (kind != IN_LINE) {
            record = new_record(blocks, open, kind, record);
            if (record < 0) return -1;
        }
        open->record = record + 1;
    }
    return record;
}

/* Text from here on was hidden after all. */
static void take_back(Blocks *blocks, Py_ssize_t size) {
    int count = COUNT_OF(blocks->marks, Mark);
    while (count > 0 && ITEMS_OF(blocks->marks, Mark)[count - 1].start >= size) count--;
    blocks->marks.size = count * (Py_ssize_t)sizeof(Mark);
    count = COUNT_OF(blocks->spans, Span);
    while (count > 0 && ITEMS_OF(blocks->spans, Span)[count - 1].start >= size) count--;
    blocks->spans.size = count * (Py_ssize_t)sizeof(Span);
    if (count > 0 && ITEMS_OF(blocks->spans, Span)[count - 1].end > size)
        ITEMS_OF(blocks->spans, Span)[count - 1].end = size;
    blocks->seen = size;
}

/* Bytes of text were added behind `before` others and what separates them: are they of a link? */
static int note_link(Scan *scan, Py_ssize_t before, Py_ssize_t start) {
    Blocks *blocks = &scan->blocks;
    if (before < blocks->seen) take_back(blocks, before);
    blocks->seen = scan->text.size;
    if (scan->open_a == 0) return 0;
    int count = COUNT_OF(blocks->spans, Span);
    Span *last = count > 0 ? &ITEMS_OF(blocks->spans, Span)[count - 1] : NULL;
    if (last != NULL && last->end == before) {
        last->end = scan->text.size; /* space between is not counted */
        return 0;
    }
    Span span = {start, scan->text.size};
    return add(&blocks->spans, (const char *)&span, sizeof span);
}

/* The same, of characters that are seen: what they are in, and where a line begins (`fresh`). */
static int note_text(Scan *scan, Py_ssize_t before, Py_ssize_t start, int fresh) {
    Blocks *blocks = &scan->blocks;
    int record = scan->stack[scan->depth - 1].record - 1;
    if (before < blocks->seen) take_back(blocks, before);
    if (record < 0 && (record = record_here(scan, blocks)) < 0) return -1;
    if (fresh) {
        if (make_room(&blocks->marks, sizeof(Mark)) < 0) return -1;
        *(Mark *)(void *)(blocks->marks.data + blocks->marks.size) = (Mark){start, record};
        blocks->marks.size += (Py_ssize_t)sizeof(Mark);
    }
    return note_link(scan, before, start);
}

/* The title, with single spaces, of which the first counts: 0, or -1 for an error. */
static int note_title(Blocks *blocks, PyObject *title) {
    Py_ssize_t size;
    const char *p = PyUnicode_AsUTF8AndSize(title, &size);
    int space = 0;
    if (p == NULL) return -1;
    if (blocks->title_size > 0) return 0;
    for (const char *end = p + size; p < end && blocks->title_size < TITLE_ROOM - 1; p++) {
        if (class_of[(unsigned char)*p] & SPACE) {
            space = blocks->title_size > 0;
            continue;
        }
        if (space) blocks->title[blocks->title_size++] = ' ';
        blocks->title[blocks->title_size++] = *p;
        space = 0;
    }
    return 0;
}

static int begin_blocks(Scan *scan) {
    Record root = {.kind = OTHER};
    scan->blocks.page = scan->at;
    scan->blocks.page_end = scan->end;
    return add(&scan->blocks.records, (const char *)&root, sizeof root);
}

static void free_blocks(Blocks *blocks) {
    buffer_free(&blocks->marks);
    buffer_free(&blocks->spans);
    buffer_free(&blocks->records);
}

/* -- numbers that fit in a byte -------------------------------------------------------------- */

/* Up to 15 the number itself, then eight steps for each power of two. */
static unsigned char steps(unsigned value) {
    if (value < 16) return (unsigned char)value;
    int top = 31 - __builtin_clz(value);
    return (unsigned char)(16 + (top - 4) * 8 + (int)(value >> (top - 3) & 7));
}

/* A share as 0 to 255. */
static unsigned char share(unsigned part, unsigned whole) {
    if (whole == 0) return 0;
    if (part < 1 << 24) return least(part * 255 / whole, 255); /* quicker */
    return least((unsigned)((uint64_t)part * 255 / whole), 255);
}

/* How many of something there are for a word, in 64ths. */
static unsigned char each_word(unsigned count, unsigned words) {
    if (words == 0) return 0;
    if (count < 1 << 24) return least(count * 64 / words, 255);
    return least((unsigned)((uint64_t)count * 64 / words), 255);
}

/* -- lines ----------------------------------------------------------------------------------- */

typedef struct {
    unsigned chars, blanks, cjk, marks, digits;
} Counts;

/* Counts of some bytes, in fields of 12 bits that a number of bytes cannot fill. */
static void count_bytes(const unsigned char *p, const unsigned char *end, Counts *counts) {
    while (p < end) {
        const unsigned char *stop = end - p > 4095 ? p + 4095 : end;
        uint64_t sum = 0, other = 0;
        for (; stop - p >= 8; p += 8) {
            uint64_t eight;
            memcpy(&eight, p, 8); /* one load is quicker than eight */
            sum += weight_of[eight & 255];
            other += weight_of[eight >> 8 & 255];
            sum += weight_of[eight >> 16 & 255];
            other += weight_of[eight >> 24 & 255];
            sum += weight_of[eight >> 32 & 255];
            other += weight_of[eight >> 40 & 255];
            sum += weight_of[eight >> 48 & 255];
            other += weight_of[eight >> 56];
        }
        for (; p < stop; p++) sum += weight_of[*p];
        sum += other;
        counts->chars += sum & 4095;
        counts->blanks += sum >> 12 & 4095;
        counts->cjk += sum >> 24 & 4095;
        counts->marks += sum >> 36 & 4095;
        counts->digits += sum >> 48 & 4095;
    }
}

/* How a line ends: 3 as a sentence does, 2 as one that goes on, 1 in another mark, 0 in none. */
static unsigned char last_of(const unsigned char *begin, const unsigned char *end) {
    Py_ssize_t size = end - begin;
    unsigned char c = end[-1];
    if (c < 0x80) {
        if (c == '"' || c == ')') c = size > 1 ? end[-2] : c;
        if (c == '.' || c == '!' || c == '?') return 3;
        if (c == ':' || c == ',' || c == ';') return 2;
        return c == '"' || c == ')' || c == '>' || c == '|';
    }
    if (size < 3) return 0;
    if (end[-3] == 0xE3 && end[-2] == 0x80 && c == 0x82) return 3; /* ideographic full stop */
    if (end[-3] == 0xEF && end[-2] == 0xBC && (c == 0x81 || c == 0x9F)) return 3; /* ! ? */
    if (end[-3] == 0xEF && end[-2] == 0xBC && (c == 0x9A || c == 0x8C)) return 2; /* : , */
    return end[-3] == 0xE2 && end[-2] == 0x80;                                    /* quotes, dots */
}

/* Marks between ideographs, which no single byte shows. */
static unsigned far_marks(const unsigned char *p, const unsigned char *end) {
    unsigned count = 0;
    for (; end - p >= 3; p++)
        count += p[0] == 0xE3 && p[1] == 0x80 && (p[2] == 0x81 || p[2] == 0x82);
    return count;
}

/* An ideograph is about half a word, and as much as three letters. */
static unsigned size_of(const Counts *counts) { return counts->chars + 2 * counts->cjk; }

/* Counts a line; `span` goes on to the first span of links that ends behind it. */
static void measure(const char *text, const Blocks *blocks, int *span, Line *line) {
    const unsigned char *base = (const unsigned char *)text;
    const Span *spans = ITEMS_OF(blocks->spans, Span);
    int count = COUNT_OF(blocks->spans, Span);
    Counts all = {0}, links = {0};
    Py_ssize_t at = line->start;
    while (*span < count && spans[*span].end <= at) ++*span;
    while (at < line->end && *span < count && spans[*span].start < line->end) {
        Py_ssize_t from = spans[*span].start > at ? spans[*span].start : at;
        Py_ssize_t to = spans[*span].end < line->end ? spans[*span].end : line->end;
        count_bytes(base + at, base + from, &all);
        count_bytes(base + from, base + to, &links);
        at = to;
        if (spans[*span].end > line->end) break;
        ++*span;
    }
    if (at < line->end) count_bytes(base + at, base + line->end, &all);
    line->link = size_of(&links);
    all.chars += links.chars;
    all.blanks += links.blanks;
    all.cjk += links.cjk;
    all.marks += links.marks;
    all.digits += links.digits;
    line->chars = all.chars;
    line->size = size_of(&all);
    line->words = all.blanks + 1 + all.cjk / 2;
    line->marks = all.marks + (all.cjk ? far_marks(base + line->start, base + line->end) : 0);
    line->digits = all.digits;
    line->last = last_of(base + line->start, base + line->end);
    line->sentences = line->size >= LONG_LINE && line->link * 2 < line->size ? line->size : 0;
}

/* Where a line has its first character that is no white space; its end if it is blank. */
static Py_ssize_t seen_from(const char *text, const Line *line) {
    Py_ssize_t at = line->start;
    while (at < line->end && class_of[(unsigned char)text[at]] & SPACE) at++;
    return at;
}

/* Adds a line to the one before it. */
static void join(Line *line, const Line *next) {
    line->end = next->end;
    line->lines++;
    line->size += next->size;
    line->words += next->words;
    line->link += next->link;
    line->chars += next->chars;
    line->marks += next->marks;
    line->digits += next->digits;
    line->sentences += next->sentences;
    line->last = next->last;
}

/* Cuts the text into lines that are not blank, and measures them; those of preformatted text are
   one. Returns how many there were in the text, -1 for an error. */
static int cut_lines(const Blocks *blocks, const char *text, Py_ssize_t size, Buffer *out) {
    const Mark *marks = ITEMS_OF(blocks->marks, Mark);
    const Record *records = ITEMS_OF(blocks->records, Record);
    int mark = 0, count = 0, span = 0, marked = COUNT_OF(blocks->marks, Mark);
    Py_ssize_t at = 0;
    while (at < size) {
        const char *stop = count < BLOCKS_MAX ? memchr(text + at, '\n', (size_t)(size - at)) : NULL;
        if (make_room(out, sizeof(Line)) < 0) return -1;
        Line *line = (Line *)(void *)(out->data + out->size);
        line->start = at;
        line->end = stop == NULL ? size : stop - text;
        at = line->end + 1;
        Py_ssize_t seen = seen_from(text, line);
        if (seen == line->end) continue; /* as some are in preformatted text */
        while (mark + 1 < marked && marks[mark + 1].start <= seen) mark++;
        line->record = marked > 0 ? marks[mark].record : 0;
        line->lines = 1;
        measure(text, blocks, &span, line);
        if (out->size > 0 && line->record == line[-1].record &&
            records[line->record].kind == PREPARED && count < BLOCKS_MAX)
            join(line - 1, line);
        else
            out->size += (Py_ssize_t)sizeof(Line);
        count++;
    }
    return count;
}

/* Says of every element what kind of container it is. Those that are not in the table yet behave
   as unknown ones do. */
static void fill_kinds(void) {
    static const char *const names[KINDS] = {
        [IN_LINE] = "a abbr acronym b bdi bdo big cite code data del dfn em font i img ins kbd "
                    "label mark nobr optgroup option picture q rb rp rt rtc ruby s samp small "
                    "source span strike strong sub sup time tt u var wbr",
        [PARAGRAPH] = "p",
        [LIST_ITEM] = "li",
        [H1] = "h1",
        [H2] = "h2",
        [H3] = "h3",
        [H4] = "h4 h5 h6",
        [DATA_CELL] = "td",
        [HEAD_CELL] = "th",
        [TABLES] = "table tbody thead tfoot tr caption colgroup",
        [LISTS] = "ul ol menu dir",
        [TERMS] = "dl dt dd",
        [NAV] = "nav",
        [HEADER] = "header hgroup",
        [FOOTER] = "footer",
        [ASIDE] = "aside",
        [FORM] = "form search",
        [ARTICLE] = "article",
        [MAIN] = "main",
        [SECTION] = "section",
        [QUOTE] = "blockquote",
        [FIGURE] = "figure figcaption",
        [PRESS] = "button",
        [PREPARED] = "pre listing xmp plaintext",
        [DETAILS] = "details summary",
        [DIALOG] = "dialog",
        [CONTACT] = "address",
        [FIELDS] = "fieldset legend"};
    memset(kind_of, OTHER, sizeof kind_of);
    for (int kind = 0; kind < KINDS; kind++)
        for (const char *p = names[kind]; p != NULL && *p;) {
            size_t size = strcspn(p, " ");
            int before = element_count;
            struct element *element = element_of(p, (Py_ssize_t)size);
            if (element_count > before) element->flags = unknown.flags;
            kind_of[element - elements] = (unsigned char)kind;
            p += size + strspn(p + size, " ");
        }
}

static void add_hint(const char *word, size_t size, unsigned bit) {
    unsigned hash = 0;
    for (size_t i = 0; i < size; i++) hash = hash * 33 + (unsigned char)word[i];
    unsigned slot = hash & (HINT_SLOTS - 1);
    while (hint_words[slot].size) slot = (slot + 1) & (HINT_SLOTS - 1);
    memcpy(hint_words[slot].word, word, size);
    hint_words[slot].size = (unsigned char)size;
    hint_words[slot].bit = (unsigned char)bit;
}

static void fill_weights(void) {
    for (int c = 0; c < 256; c++) {
        uint64_t *weight = &weight_of[c];
        if (class_of[c] & SPACE)
            *weight = (uint64_t)1 << 12;
        else if (c < 0x80 || c >= 0xC0)
            *weight = 1;
        if (c >= 0xE3 && c <= 0xED) *weight += (uint64_t)1 << 24;
        if ((c > 0 && c < 0x80 && strchr(".,;:!?", c) != NULL) || c == 0xEF)
            *weight += (uint64_t)1 << 36;
        if (c >= '0' && c <= '9') *weight += (uint64_t)1 << 48;
    }
}

static void fill_blocks(void) {
    fill_kinds();
    for (unsigned bit = 0; bit < sizeof hint_names / sizeof *hint_names; bit++)
        for (const char *p = hint_names[bit]; *p;) {
            size_t size = strcspn(p, " ");
            add_hint(p, size, bit);
            p += size + strspn(p + size, " ");
        }
    fill_weights();
}

#endif
