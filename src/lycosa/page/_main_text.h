/* Features of the lines of a page, and the score that a small model makes of them.

   A feature is a column: one byte for each line. The trees of `_main_model.h` are of equal depth
   and ask the same question of all lines at a time, so the compiler makes vectors of them. A
   question may be about a line before or behind. Some columns come from the scores of the first
   trees: the second part of the trees looks at what the first one thinks of the lines around.

   `main_text` has the same columns in Python. */

#ifndef LYCOSA_MAIN_TEXT_H
#define LYCOSA_MAIN_TEXT_H

#include "_lines.h"

/* What there is in the whole page. */
typedef struct {
    unsigned size, link, lines, sentences, marks, words, paragraphs, items, cells, best_size;
    int title;                                             /* the line that is the title, or -1 */
    unsigned kinds;                                        /* of all containers with text */
    unsigned with_hint[PAGE_SHARES], by_hint[PAGE_COUNTS]; /* size of text, and lines */
} Facts;

/* What lines have of a container, in bytes that a column can take: sizes and shares of its text,
   then what it is. */
enum {
    Q_NONE,
    Q_SIZE,
    Q_LINK,
    Q_MEAN,
    Q_LINES,
    Q_MARKS,
    Q_LONG,
    Q_SHARE,
    Q_KIND,
    Q_DEPTH,
    Q_GOOD,
    Q_BAD,
    Q_BEST,
    Q_OPINION, /* what the first trees think of its text */
    Q_END
};

typedef struct {
    uint64_t hints, own; /* of all around; of the innermost two */
    unsigned path;
    unsigned char q[Q_END];
} Quick;

/* Containers of a line. */
enum { OF_OWN, OF_PARENT, OF_GRANDPARENT, OF_NEAR, OF_FAR, OF_PAGE };

typedef struct {
    const char *text;
    Blocks *blocks;
    Line *lines;
    int count, all; /* lines to be judged, and those of the text, of which some are joined */
    Facts facts;
    int *sums;        /* of the trees so far, a number for each line */
    Quick *quick;     /* of each container */
    int *of[OF_PAGE]; /* containers of each line */
} Page;

static Record *records_of(const Page *page) { return ITEMS_OF(page->blocks->records, Record); }

/* Text of a line, for all containers around it. */
static void sum_records(Page *page) {
    Record *records = records_of(page);
    for (int i = 0; i < page->count; i++) {
        const Line *line = &page->lines[i];
        Record *record = &records[line->record];
        record->size += line->size;
        record->link += line->link;
        record->lines++;
        record->marks += line->marks;
        record->words += line->words;
        record->sentences += line->sentences;
    }
    for (int i = COUNT_OF(page->blocks->records, Record) - 1; i > 0; i--) {
        Record *around = &records[records[i].parent];
        around->inner = 1;
        around->size += records[i].size;
        around->link += records[i].link;
        around->lines += records[i].lines;
        around->marks += records[i].marks;
        around->words += records[i].words;
        around->sentences += records[i].sentences;
    }
}

/* The container with most sentences in paragraphs of its own: where an article would be. */
static void find_best(Page *page) {
    Record *records = records_of(page);
    int count = COUNT_OF(page->blocks->records, Record), best = 0;
    unsigned *sentences = PyMem_Calloc((size_t)count, sizeof *sentences);
    if (sentences == NULL) return;
    for (int i = 0; i < page->count; i++) {
        const Line *line = &page->lines[i];
        if (line->sentences == 0) continue;
        int parent = records[line->record].parent;
        sentences[parent] += line->sentences;
        sentences[records[parent].parent] += line->sentences / 2;
    }
    for (int i = 0; i < count; i++)
        if (sentences[i] > sentences[best]) best = i;
    page->facts.best_size = sentences[best];
    records[best].best = 3;
    if (records[best].parent != best && records[records[best].parent].best == 0)
        records[records[best].parent].best = 2;
    PyMem_Free(sentences);
}

/* What all lines in a container have in common. */
static void judge_records(Page *page) {
    Record *records = records_of(page);
    unsigned whole = records[0].size;
    for (int i = 0, count = COUNT_OF(page->blocks->records, Record); i < count; i++) {
        Record *record = &records[i];
        const Record *around = &records[record->parent];
        Quick *quick = &page->quick[i];
        unsigned char *q = quick->q;
        record->near = record->size >= NEAR ? i : around->near;
        record->far = record->size >= FAR ? i : around->far;
        if (record->best < around->best) record->best = around->best;
        if (record->lines) page->facts.kinds |= record->path;
        quick->hints = record->hints;
        quick->own = record->own | around->own;
        quick->path = record->path;
        q[Q_KIND] = record->kind;
        q[Q_DEPTH] = record->depth;
        q[Q_GOOD] = record->good;
        q[Q_BAD] = record->bad;
        q[Q_BEST] = record->best;
        q[Q_SIZE] = steps(record->size);
        q[Q_LINES] = steps(record->lines);
        if (i > 0 && !record->inner && record->size < NEAR)
            continue; /* nobody's place but its own */
        q[Q_LINK] = share(record->link, record->size);
        q[Q_MEAN] = steps(record->lines ? record->size / record->lines : 0);
        q[Q_MARKS] = each_word(record->marks, record->words);
        q[Q_LONG] = share(record->sentences, record->size);
        q[Q_SHARE] = share(record->size, whole);
    }
}

static void place_lines(Page *page) {
    const Record *records = records_of(page);
    for (int i = 0; i < page->count; i++) {
        int own = page->lines[i].record, parent = records[own].parent;
        page->of[OF_OWN][i] = own;
        page->of[OF_PARENT][i] = parent;
        page->of[OF_GRANDPARENT][i] = records[parent].parent;
        page->of[OF_NEAR][i] = records[own].near;
        page->of[OF_FAR][i] = records[own].far;
    }
}

/* Whether a heading is in the title. */
static int in_title(const Blocks *blocks, const char *heading, Py_ssize_t size) {
    const char *p = blocks->title, *last = p + blocks->title_size - size;
    if (size < TITLE_LEAST || last < p) return 0;
    while (p <= last && (p = memchr(p, *heading, (size_t)(last - p + 1))) != NULL) {
        if (memcmp(p, heading, (size_t)size) == 0) return 1;
        p++;
    }
    return 0;
}

static void sum_lines(Page *page) {
    Facts *facts = &page->facts;
    const Record *records = records_of(page);
    facts->title = -1;
    for (int i = 0; i < page->count; i++) {
        Line *line = &page->lines[i];
        const Record *record = &records[line->record];
        line->before = facts->size;
        facts->size += line->size;
        uint64_t own = record->own | records[record->parent].own;
        for (int hint = 0; hint < PAGE_SHARES; hint++)
            if (record->hints >> page_shares[hint] & 1) facts->with_hint[hint] += line->size;
        for (int hint = 0; hint < PAGE_COUNTS; hint++)
            facts->by_hint[hint] += own >> page_counts[hint] & 1;
        if (record->kind == PARAGRAPH) facts->paragraphs += line->size;
        if (record->path & 1u << LIST_ITEM) facts->items += line->size;
        if (record->path & 1u << DATA_CELL) facts->cells += line->size;
        if (facts->title < 0 && record->kind >= H1 && record->kind <= H4 &&
            in_title(page->blocks, page->text + line->start, line->end - line->start))
            facts->title = i;
    }
    facts->lines = (unsigned)page->count;
    facts->link = records[0].link;
    facts->sentences = records[0].sentences;
    facts->marks = records[0].marks;
    facts->words = records[0].words;
}

/* Text around a line, together: columns of its size and the share of links. */
static void fill_window(const Page *page, unsigned char *column, int wide, int links) {
    unsigned size = 0, link = 0;
    int first = 0, behind = 0;
    for (int i = 0; i < page->count; i++) {
        for (; behind < page->count && behind <= i + wide; behind++) {
            size += page->lines[behind].size;
            link += page->lines[behind].link;
        }
        for (; first < i - wide; first++) {
            size -= page->lines[first].size;
            link -= page->lines[first].link;
        }
        column[i] = links ? share(link, size) : steps(size);
    }
}

/* The score so far as a byte: 16 steps for a factor of e in the odds. */
static unsigned char so_far(int sum) {
    int value = (sum + 128 * SUM_UNIT / 16) / (SUM_UNIT / 16);
    return (unsigned char)(value < 0 ? 0 : value > 255 ? 255 : value);
}

/* The scores so far of all text in each container, weighed by size: 0, or -1 without memory. */
static int sum_opinions(const Page *page) {
    const Record *records = records_of(page);
    int count = COUNT_OF(page->blocks->records, Record);
    uint64_t *sums = PyMem_Calloc((size_t)count, sizeof *sums);
    if (sums == NULL) return -1;
    for (int i = 0; i < page->count; i++)
        sums[page->lines[i].record] += (uint64_t)so_far(page->sums[i]) * page->lines[i].size;
    for (int i = count - 1; i >= 0; i--) {
        unsigned size = records[i].size;
        page->quick[i].q[Q_OPINION] = size ? (unsigned char)(sums[i] / size) : 0;
        if (i > 0) sums[records[i].parent] += sums[i];
    }
    PyMem_Free(sums);
    return 0;
}

/* Columns by number; those of bits come behind them. */
enum {
    C_SIZE,
    C_WORDS,
    C_LINK,
    C_MARKS,
    C_MARK_SHARE,
    C_DIGITS,
    C_LAST,
    C_WORD_SIZE,
    C_KIND,
    C_DEPTH,
    C_PLACE,
    C_INDEX,
    C_FROM_START,
    C_FROM_END,
    C_TITLE,
    C_FROM_TITLE,
    C_GOOD,
    C_BAD,
    C_BEST,
    C_HEADING,
    C_SINCE_HEADING,
    C_OWN, /* from here on of containers: `of_container` */
    C_WINDOW_SIZE = 53,
    C_WINDOW_LINK,
    C_WIDE_SIZE,
    C_WIDE_LINK,
    C_PAGE_SIZE,
    C_PAGE_LINES,
    C_PAGE_LINK,
    C_PAGE_LONG,
    C_PAGE_MARKS,
    C_PAGE_PARAGRAPHS,
    C_PAGE_ITEMS,
    C_PAGE_CELLS,
    C_PAGE_MEAN,
    C_PAGE_BEST,
    C_PAGE_ARTICLE,
    C_PAGE_MAIN,
    C_PAGE_H1,
    C_SCORE,
    C_SCORE_OWN,
    C_SCORE_PARENT,
    C_SCORE_GRAND,
    C_SCORE_NEAR,
    C_SCORE_FAR,
    C_SCORE_PAGE,
    C_PATH,                           /* one for each kind */
    C_HINTS = C_PATH + KINDS,         /* one for each hint, of any container around */
    C_OWN_HINTS = C_HINTS + 64,       /* the same of the innermost two */
    C_PAGE_SHARES = C_OWN_HINTS + 64, /* text with some hints */
    C_PAGE_COUNTS = C_PAGE_SHARES + PAGE_SHARES,
    C_END = C_PAGE_COUNTS + PAGE_COUNTS
};

#define EACH(value)                                                                                \
    do {                                                                                           \
        for (int i = 0; i < count; i++) {                                                          \
            const Line *line = &page->lines[i];                                                    \
            (void)line;                                                                            \
            column[i] = (unsigned char)(value);                                                    \
        }                                                                                          \
        return;                                                                                    \
    } while (0)
#define ALL(value)                                                                                 \
    do {                                                                                           \
        memset(column, (value), (size_t)count);                                                    \
        return;                                                                                    \
    } while (0)

/* Columns of containers: which one of a line, and what of it. */
static const unsigned char of_container[C_WINDOW_SIZE][2] = {
    [C_KIND] = {OF_OWN, Q_KIND},
    [C_DEPTH] = {OF_OWN, Q_DEPTH},
    [C_GOOD] = {OF_OWN, Q_GOOD},
    [C_BAD] = {OF_OWN, Q_BAD},
    [C_BEST] = {OF_OWN, Q_BEST},
    [C_OWN] = {OF_OWN, Q_SIZE},
    {OF_OWN, Q_LINES},
    {OF_PARENT, Q_SIZE},
    {OF_PARENT, Q_LINK},
    {OF_PARENT, Q_MEAN},
    {OF_PARENT, Q_LINES},
    {OF_PARENT, Q_MARKS},
    {OF_PARENT, Q_LONG},
    {OF_GRANDPARENT, Q_SIZE},
    {OF_GRANDPARENT, Q_LINK},
    {OF_GRANDPARENT, Q_MEAN},
    {OF_GRANDPARENT, Q_LINES},
    {OF_GRANDPARENT, Q_MARKS},
    {OF_GRANDPARENT, Q_LONG},
    {OF_NEAR, Q_SIZE},
    {OF_NEAR, Q_LINK},
    {OF_NEAR, Q_MEAN},
    {OF_NEAR, Q_LINES},
    {OF_NEAR, Q_MARKS},
    {OF_NEAR, Q_LONG},
    {OF_NEAR, Q_SHARE},
    {OF_FAR, Q_SIZE},
    {OF_FAR, Q_LINK},
    {OF_FAR, Q_MEAN},
    {OF_FAR, Q_LINES},
    {OF_FAR, Q_MARKS},
    {OF_FAR, Q_LONG},
    {OF_FAR, Q_SHARE},
    {OF_PARENT, Q_KIND},
    {OF_GRANDPARENT, Q_KIND},
    {OF_NEAR, Q_KIND},
    {OF_FAR, Q_KIND},
};

static void fill_headings(const Page *page, unsigned char *column, int since) {
    const Record *records = records_of(page);
    unsigned distance = 255, level = 0;
    for (int i = 0; i < page->count; i++) {
        int kind = records[page->lines[i].record].kind;
        if (kind >= H1 && kind <= H4) {
            level = (unsigned)(kind - H1 + 1);
            distance = 0;
        }
        column[i] = least(since ? distance : level, 255);
        if (distance < 255) distance++;
    }
}

static void fill_column(const Page *page, int number, unsigned char *column) {
    const Facts *facts = &page->facts;
    const Quick *quick = page->quick;
    const int *own = page->of[OF_OWN];
    int count = page->count, title = facts->title;
    if (number >= C_PAGE_COUNTS) ALL(least(facts->by_hint[number - C_PAGE_COUNTS], 255));
    if (number >= C_PAGE_SHARES) ALL(share(facts->with_hint[number - C_PAGE_SHARES], facts->size));
    if (number >= C_OWN_HINTS) EACH(quick[own[i]].own >> (number - C_OWN_HINTS) & 1);
    if (number >= C_HINTS) EACH(quick[own[i]].hints >> (number - C_HINTS) & 1);
    if (number >= C_PATH) EACH(quick[own[i]].path >> (number - C_PATH) & 1);
    if (number < C_WINDOW_SIZE && of_container[number][1]) {
        const int *of = page->of[of_container[number][0]];
        int what = of_container[number][1];
        EACH(quick[of[i]].q[what]);
    }
    switch (number) {
    case C_SIZE:
        EACH(steps(line->size));
    case C_WORDS:
        EACH(steps(line->words));
    case C_LINK:
        EACH(share(line->link, line->size));
    case C_MARKS:
        EACH(steps(line->marks));
    case C_MARK_SHARE:
        EACH(each_word(line->marks, line->words));
    case C_DIGITS:
        EACH(share(line->digits, line->chars));
    case C_LAST:
        EACH(line->last);
    case C_WORD_SIZE:
        EACH(least(line->size * 8 / line->words, 255));
    case C_PLACE:
        EACH(share(line->before, facts->size));
    case C_INDEX:
        EACH(share((unsigned)i, facts->lines));
    case C_FROM_START:
        EACH(steps((unsigned)i));
    case C_FROM_END:
        EACH(steps((unsigned)(count - 1 - i)));
    case C_TITLE:
        EACH(title < 0 ? 0 : i < title ? 1 : i == title ? 2 : 3);
    case C_FROM_TITLE:
        EACH(title < 0 || i < title ? 0 : 1 + least((unsigned)(i - title), 254));
    case C_HEADING:
        return fill_headings(page, column, 0);
    case C_SINCE_HEADING:
        return fill_headings(page, column, 1);
    case C_WINDOW_SIZE:
        return fill_window(page, column, WINDOW, 0);
    case C_WINDOW_LINK:
        return fill_window(page, column, WINDOW, 1);
    case C_WIDE_SIZE:
        return fill_window(page, column, 4 * WINDOW, 0);
    case C_WIDE_LINK:
        return fill_window(page, column, 4 * WINDOW, 1);
    case C_PAGE_SIZE:
        ALL(steps(facts->size));
    case C_PAGE_LINES:
        ALL(steps(facts->lines));
    case C_PAGE_LINK:
        ALL(share(facts->link, facts->size));
    case C_PAGE_LONG:
        ALL(share(facts->sentences, facts->size));
    case C_PAGE_MARKS:
        ALL(each_word(facts->marks, facts->words));
    case C_PAGE_PARAGRAPHS:
        ALL(share(facts->paragraphs, facts->size));
    case C_PAGE_ITEMS:
        ALL(share(facts->items, facts->size));
    case C_PAGE_CELLS:
        ALL(share(facts->cells, facts->size));
    case C_PAGE_MEAN:
        ALL(steps(facts->lines ? facts->size / facts->lines : 0));
    case C_PAGE_BEST:
        ALL(share(facts->best_size, facts->size));
    case C_PAGE_ARTICLE:
        ALL(facts->kinds >> ARTICLE & 1);
    case C_PAGE_MAIN:
        ALL(facts->kinds >> MAIN & 1);
    case C_PAGE_H1:
        ALL(facts->kinds >> H1 & 1);
    case C_SCORE:
        EACH(so_far(page->sums[i]));
    case C_SCORE_PAGE:
        ALL(quick[0].q[Q_OPINION]);
    default: {
        const int *of = page->of[number - C_SCORE_OWN];
        EACH(quick[of[i]].q[Q_OPINION]);
    }
    }
}

#undef EACH
#undef ALL

/* -- the model ------------------------------------------------------------------------------- */

/* Adds what some trees say of each line. `columns` are those of `model_columns`. */
static void ask_trees(const Page *page, const unsigned char *columns, size_t width, int from,
                      int to) {
    enum { SOME = 256 }; /* lines at a time */
    unsigned char leaf[SOME];
    for (int start = 0; start < page->count; start += SOME) {
        int some = page->count - start < SOME ? page->count - start : SOME;
        int *restrict sums = page->sums + start;
        for (int tree = from; tree < to; tree++) {
            const unsigned char *column[MODEL_DEPTH];
            const short *values = leaves[tree];
            for (int level = 0; level < MODEL_DEPTH; level++) {
                const Question *asked = &questions[tree][level];
                column[level] = columns + asked->column * width + PADDING + start + asked->offset;
            }
            for (int i = 0; i < some; i++) {
                unsigned char found = 0;
                for (int level = 0; level < MODEL_DEPTH; level++)
                    found |=
                        (unsigned char)((column[level][i] > questions[tree][level].more) << level);
                leaf[i] = found;
            }
            for (int i = 0; i < some; i++) sums[i] += values[leaf[i]];
        }
    }
}

/* Fills the columns from one number to another. */
static void fill_columns(const Page *page, unsigned char *columns, size_t width, int from, int to) {
    for (int i = from; i < to; i++)
        fill_column(page, model_columns[i], columns + (size_t)i * width + PADDING);
}

/* A sum as a score of 0 to 100. */
static unsigned char score_of(int sum) {
    int step = (sum + SCORE_RANGE) / SCORE_STEP;
    int most = (int)sizeof score_steps - 1;
    return score_steps[step < 0 ? 0 : step > most ? most : step];
}

/* Cuts a text into lines with all that columns need: 0, or -1 for an error. */
static int prepare(Page *page, Blocks *blocks, const Buffer *text, Buffer *lines) {
    page->text = text->data;
    page->blocks = blocks;
    if (blocks->seen > text->size) take_back(blocks, text->size);
    page->all = cut_lines(blocks, text->data, text->size, lines);
    if (page->all < 0) return -1;
    page->count = COUNT_OF(*lines, Line);
    page->lines = ITEMS_OF(*lines, Line);
    sum_records(page);
    sum_lines(page);
    find_best(page);
    size_t each = (size_t)page->count + 1; /* never none */
    page->sums = PyMem_Calloc(each * (1 + OF_PAGE), sizeof *page->sums);
    page->quick = PyMem_Calloc((size_t)COUNT_OF(blocks->records, Record), sizeof *page->quick);
    if (page->sums == NULL || page->quick == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (size_t i = 0; i < OF_PAGE; i++) page->of[i] = page->sums + (i + 1) * each;
    judge_records(page);
    place_lines(page);
    return 0;
}

/* Scores of lines to `scores`, which has room for all of the text: 0, or -1 if there is no memory.
 */
static int judge_lines(Page *page, unsigned char *scores) {
    size_t width = (size_t)page->count + 2 * PADDING;
    unsigned char *columns = PyMem_Calloc(MODEL_COLUMNS, width);
    int failed = columns == NULL;
    for (int i = 0; i < page->count; i++) page->sums[i] = MODEL_BIAS;
    if (!failed) {
        fill_columns(page, columns, width, 0, FIRST_COLUMNS);
        ask_trees(page, columns, width, 0, FIRST_TREES);
        failed = sum_opinions(page) < 0;
    }
    if (failed) {
        PyMem_Free(columns);
        PyErr_NoMemory();
        return -1;
    }
    fill_columns(page, columns, width, FIRST_COLUMNS, MODEL_COLUMNS);
    ask_trees(page, columns, width, FIRST_TREES, MODEL_TREES);
    for (int i = 0; i < page->count; i++) scores[i] = score_of(page->sums[i]);
    PyMem_Free(columns);
    return 0;
}

/* Scores of joined lines become those of each line of the text. */
static void spread_scores(const Page *page, unsigned char *scores) {
    int to = page->all;
    for (int i = page->count - 1; i >= 0 && to > i + 1; i--) {
        to -= page->lines[i].lines;
        memset(scores + to, scores[i], (size_t)page->lines[i].lines);
    }
}

static void free_lines(Page *page, Buffer *lines) {
    PyMem_Free(page->sums);
    PyMem_Free(page->quick);
    buffer_free(lines);
}

/* The lines with a good score, or with the best there is. */
static int main_text(const Page *page, const unsigned char *scores, Buffer *out) {
    unsigned char wanted = 0;
    for (int i = 0; i < page->count; i++)
        if (scores[i] > wanted) wanted = scores[i];
    if (wanted > MAIN_SCORE) wanted = MAIN_SCORE;
    for (int i = 0; i < page->count; i++) {
        if (scores[i] < wanted) continue;
        int last = i; /* lines that follow each other, with empty ones between if there are some */
        while (last + 1 < page->count && scores[last + 1] >= wanted) last++;
        Py_ssize_t start = page->lines[i].start, size = page->lines[last].end - start;
        if (out->size > 0 && add(out, "\n", 1) < 0) return -1;
        if (add(out, page->text + start, size) < 0) return -1;
        i = last;
    }
    return 0;
}

#endif
