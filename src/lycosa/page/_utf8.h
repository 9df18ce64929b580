/* Whether bytes are UTF-8: what `charset.is_utf8` asks of every page. Decoding them to find out
   made a string of the whole page and threw it away. */

#ifndef LYCOSA_UTF8_H
#define LYCOSA_UTF8_H

#include <stdint.h>
#include <string.h>

/* The first byte that is not ASCII, or the end. */
static const unsigned char *ascii_end(const unsigned char *p, const unsigned char *end) {
    for (; end - p >= 32; p += 32) {
        uint64_t four[4];
        memcpy(four, p, sizeof four);
        if ((four[0] | four[1] | four[2] | four[3]) & 0x8080808080808080u) break;
    }
    while (p < end && *p < 0x80) p++;
    return p;
}

/* How many bytes follow the first one of a character, and between what the next one lies; -1 if
   none begins with it. */
static int bytes_behind(unsigned char first, unsigned char *low, unsigned char *high) {
    *low = 0x80;
    *high = 0xBF;
    if (first < 0xC2 || first > 0xF4) return -1;
    if (first < 0xE0) return 1;
    if (first == 0xE0) *low = 0xA0;
    if (first == 0xED) *high = 0x9F; /* no halves of pairs */
    if (first < 0xF0) return 2;
    if (first == 0xF0) *low = 0x90;
    if (first == 0xF4) *high = 0x8F;
    return 3;
}

/* Whether the bytes are UTF-8; a last character that is cut off is forgiven. */
static int all_utf8(const unsigned char *p, const unsigned char *end) {
    while ((p = ascii_end(p, end)) < end) {
        do {
            unsigned char low, high;
            int behind = bytes_behind(*p++, &low, &high);
            if (behind < 0) return 0;
            if (end - p == 1 && p[-1] == 0xED) high = 0xBF; /* Python's decoder waits for more */
            if (p < end && (*p < low || *p > high)) return 0;
            for (; behind > 0 && p < end; behind--, p++)
                if ((*p & 0xC0) != 0x80) return 0;
        } while (p < end && *p >= 0x80);
    }
    return 1;
}

#endif
