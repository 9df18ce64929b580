/* Which <meta> and <link> say something: of some forty on a page three or four do, and only their
   attributes are made into strings. The same of the `rel` of an <a>. `html_found` has the same
   words. */

#ifndef LYCOSA_TELLS_H
#define LYCOSA_TELLS_H

/* What a <meta> must be called, and what a <link> must be related as, to say something. */
static const char *const telling_metas[] = {
    "robots",        "generator",        "refresh",
    "date",          "dc.date",          "dcterms.date",
    "datepublished", "pubdate",          "article:published_time",
    "og:site_name",  "application-name", "content-language"};
static const char *const telling_links[] = {"canonical", "alternate", "next", "prev"};

/* Our own name, in lower case: a <meta> of that name speaks to us. Set once, before pages are read.
 */
static char own_meta[65] = "lycosa";

/* A character for which a value has to be decoded before anybody can tell what it says. */
static int is_rare(char c) {
    return c == '&' || (unsigned char)c < ' ' || (unsigned char)c >= 0x80;
}

/* Whether a word, in lower case, is at `p`. */
static int word_at(const char *p, const char *end, const char *word) {
    for (; *word; p++, word++)
        if (p == end || lower(*p) != *word) return 0;
    return 1;
}

/* Whether a value may name a telling <meta>: one with references or rare characters may. */
static int names_meta(const char *p, const char *end) {
    while (p < end && *p == ' ') p++;
    while (p < end && end[-1] == ' ') end--;
    for (const char *each = p; each < end; each++)
        if (is_rare(*each)) return 1;
    if ((size_t)(end - p) == strlen(own_meta) && word_at(p, end, own_meta)) return 1;
    for (size_t i = 0; i < sizeof telling_metas / sizeof *telling_metas; i++)
        if ((size_t)(end - p) == strlen(telling_metas[i]) && word_at(p, end, telling_metas[i]))
            return 1;
    return 0;
}

/* Whether a `rel` may forbid to follow a link. */
static int may_forbid(const char *p, const char *end) {
    for (; p < end; p++)
        if (is_rare(*p) || (lower(*p) == 'n' && word_at(p, end, "nofollow"))) return 1;
    return 0;
}

/* Whether a `rel` may make a link of a <link>. */
static int relates(const char *p, const char *end) {
    for (; p < end; p++) {
        if (is_rare(*p)) return 1;
        char c = lower(*p);
        if (c != 'c' && c != 'a' && c != 'n' && c != 'p') continue;
        for (size_t i = 0; i < sizeof telling_links / sizeof *telling_links; i++)
            if (word_at(p, end, telling_links[i])) return 1;
    }
    return 0;
}

/* Whether a <meta> or <link> says something, as few do. */
static int tells(const Scan *scan, const struct element *element, const char *p) {
    Attribute each;
    while (next_attribute(&p, scan->end, &each) > 0) {
        const char *name = each.name, *end = each.name_end;
        if (element == link_) {
            if (same_name(name, end, "rel") && relates(each.value, each.value_end)) return 1;
        } else if ((same_name(name, end, "name") || same_name(name, end, "property") ||
                    same_name(name, end, "itemprop") || same_name(name, end, "http-equiv")) &&
                   names_meta(each.value, each.value_end))
            return 1;
    }
    return 0;
}

#endif
