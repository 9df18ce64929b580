/* The lines of a text as spans of characters with their scores, in JSON: what `Parsed.blocks` has
   as numbers. A text row holds some two hundred of them, and making a list of each costs more than
   all scores together. */

#ifndef LYCOSA_SPANS_H
#define LYCOSA_SPANS_H

#include "_lines.h"

#define SPAN_ROOM 64 /* bytes of "[start,end,score]," at most */

static char *put_number(char *to, Py_ssize_t value) {
    char digits[24];
    int count = 0;
    do digits[count++] = (char)('0' + value % 10);
    while ((value /= 10) > 0);
    while (count > 0) *to++ = digits[--count];
    return to;
}

/* Characters of some UTF-8. */
static Py_ssize_t chars_of(const char *p, const char *end) {
    Py_ssize_t count = 0;
    for (; p < end; p++) count += (*p & 0xC0) != 0x80;
    return count;
}

/* Writes the spans of a text's lines that are not blank; those beyond BLOCKS_MAX are one. `plain`:
   every byte is a character. 0, or -1 for an error. */
static int put_spans(const char *text, Py_ssize_t size, int plain, const Py_buffer *scores,
                     Buffer *out) {
    const unsigned char *score = scores->buf, *last = score + scores->len;
    Py_ssize_t begin = 0; /* of the line, in characters */
    if (add(out, "[", 1) < 0) return -1;
    for (Line line = {0}; line.start < size && score < last; line.start = line.end + 1) {
        int more = score - (const unsigned char *)scores->buf < BLOCKS_MAX;
        const char *from = text + line.start, *stop = NULL;
        if (more) stop = memchr(from, '\n', (size_t)(size - line.start));
        line.end = stop == NULL ? size : stop - text;
        Py_ssize_t length = line.end - line.start;
        if (!plain) length = chars_of(from, text + line.end);
        if (seen_from(text, &line) < line.end) {
            char span[SPAN_ROOM], *to = span;
            if (out->size > 1) *to++ = ',';
            *to++ = '[';
            to = put_number(to, begin);
            *to++ = ',';
            to = put_number(to, begin + length);
            *to++ = ',';
            to = put_number(to, *score++);
            *to++ = ']';
            if (add(out, span, to - span) < 0) return -1;
        }
        begin += length + 1;
    }
    return add(out, "]", 1);
}

#endif
