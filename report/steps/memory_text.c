/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Memory over a training step as text.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "report/fold.h"
#include "report/report.h"
#include "report/tables.h"

enum { HOLDERS = 12 /* of the summary, unless --top says */ };

const char *gcut_memory_word(gcut_memory_class c)
{
    static const char *const name[GCUT_MEMORY_CLASSES] = {"parameters", "gradients",   "states",
                                                          "inputs",     "results",     "saved",
                                                          "recomputed", "temporaries", "workspace"};
    return (unsigned)c < GCUT_MEMORY_CLASSES ? name[c] : "";
}

static const char *share_text(gcut_arena *a, int64_t part, int64_t all)
{
    return gcut_printf(a, "%.1f%%", all ? 100.0 * (double)part / (double)all : 0.0);
}

/* "%h"; workspace is no value. */
static const char *name_text(gcut_arena *a, gcut_memory_class kind, const char *name)
{
    return kind == GCUT_MEMORY_WORKSPACE ? name : gcut_printf(a, "%%%s", name);
}

/* "k412 of 700, backward graph: %dh matmul at mlp.c:42" */
static const char *event_text(gcut_arena *a, const gcut_memory_profile *m, size_t i)
{
    const gcut_memory_event *e = m->event[i];
    return gcut_printf(a, "k%d, %s graph: %%%s %s%s%s", e->launch, e->backward ? "backward" : "forward",
                       e->value, e->op, *e->where ? " at " : "", gcut_place_text(a, e->where));
}

static void write_head(const gcut_memory_profile *m, gcut_text *out)
{
    gcut_arena *a = out->arena;
    gcut_text_add(out, "memory of @%s, %s", m->graph, m->policy);
    gcut_write_sizes(m->at, m->nat, ", at ", out);
    gcut_text_add(out, ", %d thread%s\n", m->threads, m->threads == 1 ? "" : "s");
    gcut_text_add(out, "peak: %s", gcut_bytes_text(a, m->peak_bytes));
    if (m->nevents) gcut_text_add(out, ", held while %s runs", event_text(a, m, m->peak));
    gcut_text_add(out, "\n");
    if (!m->against) return;
    gcut_text_add(out, "the other plan: %s, peak: %s", m->against->policy,
                  gcut_bytes_text(a, m->against->peak_bytes));
    if (m->against->nevents)
        gcut_text_add(out, ", held while %s runs", event_text(a, m->against, m->against->peak));
    gcut_text_add(out, "\n");
}

/* ---- classes ---- */

static int64_t at_peak(const gcut_memory_profile *m, int class)
{
    int64_t sum = 0;
    if (m->nevents) return m->event[m->peak]->live[class];
    for (size_t i = 0; i < m->nbuffers; i++)
        if (m->buffer[i]->kind == (gcut_memory_class) class) sum += m->buffer[i]->bytes;
    return sum;
}

static void add_class(gcut_table *t, const gcut_memory_profile *m, const char *name, char letter,
                      int64_t bytes, int64_t other)
{
    gcut_arena *a = t->arena;
    gcut_table_row(t, (const char *[]){gcut_count_text(a, bytes), share_text(a, bytes, m->peak_bytes),
                                       letter ? gcut_printf(a, "%c", letter) : NULL, name,
                                       m->against ? gcut_count_text(a, other) : NULL});
}

/* By class; with a second plan, its bytes at its own peak. */
static const char letters[GCUT_MEMORY_CLASSES + 1] = "PGAIOsrtw";

gcut_table gcut_memory_classes(const gcut_memory_profile *m, gcut_arena *a)
{
    gcut_table t = {.arena = a, .ncols = 5, .right = 1u | 1u << 1 | 1u << 4};
    const gcut_memory_profile *o = m->against;
    gcut_table_row(&t, (const char *[]){"bytes", "share", NULL, "at the peak", "of the other plan"});
    for (int k = 0; k < GCUT_MEMORY_CLASSES; k++)
        if (at_peak(m, k) || (o && at_peak(o, k)))
            add_class(&t, m, gcut_memory_word((gcut_memory_class)k), letters[k], at_peak(m, k),
                      o ? at_peak(o, k) : 0);
    if (m->gap_bytes || (o && o->gap_bytes))
        add_class(&t, m, "gaps between buffers", '\0', m->gap_bytes, o ? o->gap_bytes : 0);
    add_class(&t, m, "together", '\0', m->peak_bytes, o ? o->peak_bytes : 0);
    return t;
}

/* ---- the picture ---- */

enum { LINES = 10, MARGIN = 13, COLUMNS = 96, FEWEST = 24 };

double gcut_memory_end_ns(const gcut_memory_profile *m)
{
    const gcut_memory_event *e = m->nevents ? m->event[m->nevents - 1] : NULL;
    return e ? e->start_ns + e->ns : 0;
}

const gcut_memory_event *gcut_memory_fullest(const gcut_memory_profile *m, int c, int n, double all,
                                             size_t *from)
{
    const double begin = all * c / n, end = all * (c + 1) / n;
    const gcut_memory_event *most = NULL;
    while (*from + 1 < m->nevents && m->event[*from]->start_ns + m->event[*from]->ns <= begin) (*from)++;
    for (size_t i = *from; i < m->nevents && (i == *from || m->event[i]->start_ns < end); i++) {
        const gcut_memory_event *e = m->event[i];
        if (e->start_ns + e->ns > begin && (!most || e->bytes > most->bytes)) most = e;
    }
    return most;
}

static int64_t bound_bytes(const gcut_memory_profile *m)
{
    return m->peak_bytes - m->arena_bytes;
}

typedef struct picture {
    const gcut_memory_profile *m;
    int n;                                  /* columns */
    double all;                             /* ns */
    double each;                            /* bytes of a line */
    const gcut_memory_event **at, **beside; /* by column; beside: of the other plan */
    int64_t bound[GCUT_MEMORY_CLASSES];     /* the caller's: alive throughout, below the picture */
    gcut_text *out;
} picture;

/* The class with the most bytes between two heights above what the caller binds; -1: less than half of that is used. */
static int class_between(const picture *p, const gcut_memory_event *e, double lo, double hi)
{
    int64_t sum = 0;
    double most = 0, all = 0;
    int found = -1;
    for (int k = 0; k < GCUT_MEMORY_CLASSES; k++) {
        const int64_t own = e->live[k] - p->bound[k];
        const double part = fmin(hi, (double)(sum + own)) - fmax(lo, (double)sum);
        sum += own;
        if (part <= 0) continue;
        all += part;
        if (part > most) most = part, found = k;
    }
    return all < (hi - lo) / 2 ? -1 : found;
}

static char *blank(const picture *p, char c)
{
    char *line = gcut_calloc(p->out->arena, (size_t)p->n + 1, 1);
    memset(line, c, (size_t)p->n);
    return line;
}

static const char *trimmed(char *line, int n)
{
    while (n > 0 && line[n - 1] == ' ') line[--n] = 0;
    return line;
}

static void put_line(const picture *p, int r)
{
    char *line = blank(p, ' ');
    for (int c = 0; c < p->n; c++) {
        const int k = p->at[c] ? class_between(p, p->at[c], r * p->each, (r + 1) * p->each) : -1;
        const double height = p->beside[c] ? (double)(p->beside[c]->bytes - bound_bytes(p->m->against)) : 0;
        if (k >= 0) line[c] = letters[k];
        if (height > (r + 0.5) * p->each && height <= (r + 1.5) * p->each) line[c] = '-';
    }
    gcut_text_add(p->out, "%11s |%s\n", gcut_bytes_short(p->out->arena, (r + 1) * p->each),
                  trimmed(line, p->n));
}

static void put_axis(const picture *p)
{
    gcut_text *out = p->out;
    char *mark = blank(p, ' ');
    int turn = -1;
    for (int c = 0; c < p->n; c++) {
        if (turn < 0 && p->at[c] && p->at[c]->backward) turn = c;
        if (p->at[c] == p->m->event[p->m->peak]) mark[c] = '^';
    }
    gcut_text_add(out, "%11s +%s\n%11s  %s\n%11s  0", "", blank(p, '-'), "peak", trimmed(mark, p->n), "time");
    if (turn > 1) gcut_text_add(out, "%*s| backward", turn - 1, "");
    gcut_text_add(out, "   (%s, predicted)\n", gcut_time_text(out->arena, p->all));
    if (p->m->against) gcut_text_add(out, "%11s  - the height of the other plan\n", "");
}

/* A column is a part of the step's predicted time, and shows the fullest launch in it. */
static void write_picture(const gcut_memory_profile *m, const gcut_table_options *o, gcut_text *out)
{
    gcut_arena *a = out->arena;
    const gcut_memory_profile *other = m->against;
    const int room = o->columns ? (int)o->columns - MARGIN : COLUMNS;
    picture p = {.m = m, .n = room < FEWEST ? FEWEST : room > COLUMNS ? COLUMNS : room, .out = out};
    p.all = fmax(gcut_memory_end_ns(m), other ? gcut_memory_end_ns(other) : 0);
    p.each = fmax((double)m->arena_bytes, other ? (double)other->arena_bytes : 0) / LINES;
    if (!m->nevents || !(p.all > 0) || !(p.each > 0)) return;
    for (size_t i = 0; i < m->nbuffers; i++)
        if (!m->buffer[i]->made_by) p.bound[m->buffer[i]->kind] += m->buffer[i]->bytes;
    p.at = gcut_calloc(a, (size_t)p.n, sizeof(*p.at));
    p.beside = gcut_calloc(a, (size_t)p.n, sizeof(*p.beside));
    for (size_t c = 0, from = 0, beside = 0; c < (size_t)p.n; c++) {
        p.at[c] = gcut_memory_fullest(m, (int)c, p.n, p.all, &from);
        if (other) p.beside[c] = gcut_memory_fullest(other, (int)c, p.n, p.all, &beside);
    }
    gcut_text_add(out, "over the step, above what the caller binds, %s:\n",
                  gcut_bytes_text(a, bound_bytes(m)));
    for (int r = LINES - 1; r >= 0; r--) put_line(&p, r);
    put_axis(&p);
}

/* ---- holders ---- */

enum { H_BYTES, H_EACH, H_SHARE, H_VALUE, H_CLASS, H_TYPE, H_OP, H_AT, H_MADE, H_READ, NHOLDER };

gcut_table gcut_memory_holders(const gcut_memory_profile *m, const gcut_table_options *o, gcut_arena *a)
{
    static const char *const titles[NHOLDER] = {"bytes", "each",    "share", "value",      "class",
                                                "type",  "made by", "at",    "alive from", "to"};
    static const uint8_t last[] = {H_READ, H_MADE, H_AT, H_TYPE};
    gcut_row *row = gcut_calloc(a, m->nbuffers + 1, sizeof *row);
    const gcut_memory_buffer **b = gcut_calloc(a, m->nbuffers + 1, sizeof(*b));
    const char **at = gcut_calloc(a, m->nbuffers + 1, sizeof(*at)),
               **made = gcut_calloc(a, m->nbuffers + 1, sizeof(*made)),
               **read = gcut_calloc(a, m->nbuffers + 1, sizeof(*read));
    uint32_t n = 0;
    for (size_t i = 0; i < m->nbuffers; i++) {
        const gcut_memory_buffer *x = m->buffer[i];
        if (!x->at_peak || !x->bytes) continue;
        b[n] = x;
        at[n] = gcut_place_text(a, x->where);
        made[n] = x->made_by ? x->made_by : "the caller's";
        read[n] = x->last_read_by;
        row[n++] = (gcut_row){
            x->name, gcut_printf(a, "%d %s %s", (int)x->kind, x->type ? x->type : "", x->op), x->bytes};
    }
    const gcut_folded f = gcut_fold(a, row, n, o, true);
    gcut_table t = {.arena = a,
                    .ncols = NHOLDER,
                    .right = 1u << H_BYTES | 1u << H_EACH | 1u << H_SHARE,
                    .cut = 1u << H_VALUE | 1u << H_TYPE | 1u << H_AT | 1u << H_MADE | 1u << H_READ,
                    .columns = o->columns,
                    .bold = o->bold,
                    .last = last,
                    .nlast = sizeof last};
    gcut_table_row(&t, titles);
    for (uint32_t i = 0; i < f.n; i++) {
        const gcut_row_group *g = &f.at[i];
        const gcut_memory_buffer *x = b[*g->row];
        gcut_table_row(&t, (const char *[NHOLDER]){
                               [H_BYTES] = gcut_count_text(a, g->amount),
                               [H_EACH] = gcut_group_each(a, g, row),
                               [H_SHARE] = share_text(a, g->amount, m->peak_bytes),
                               [H_VALUE] = name_text(a, x->kind, g->name),
                               [H_CLASS] = gcut_memory_word(x->kind),
                               [H_TYPE] = x->type,
                               [H_OP] = x->op,
                               [H_AT] = gcut_group_text(a, g, at),
                               [H_MADE] = gcut_group_name(a, g, made),
                               [H_READ] = gcut_group_name(a, g, read),
                           });
    }
    t.left = gcut_left_text(a, &f, "buffer");
    return t;
}

typedef struct total {
    const char *key;
    int64_t bytes;
    uint32_t n, first;
} total;

static int by_key(const void *a, const void *b)
{
    const total *x = a, *y = b;
    const int order = strcmp(x->key, y->key);
    return order ? order : (x->first > y->first) - (x->first < y->first);
}

static int by_bytes(const void *a, const void *b)
{
    const total *x = a, *y = b;
    if (x->bytes != y->bytes) return x->bytes > y->bytes ? -1 : 1;
    return (x->first > y->first) - (x->first < y->first);
}

/* What is alive at the peak, added up by a text of each buffer. */
static gcut_table totals(const gcut_memory_profile *m, const char *what,
                         const char *(*key)(gcut_arena *, const gcut_memory_buffer *),
                         const gcut_table_options *o, gcut_arena *a)
{
    total *x = gcut_calloc(a, m->nbuffers + 1, sizeof *x);
    uint32_t n = 0, k = 0;
    for (size_t i = 0; i < m->nbuffers; i++)
        if (m->buffer[i]->at_peak && m->buffer[i]->bytes)
            x[n] = (total){key(a, m->buffer[i]), m->buffer[i]->bytes, 1, n}, n++;
    if (n) qsort(x, n, sizeof *x, by_key);
    for (uint32_t i = 0; i < n; i++) {
        if (i && !strcmp(x[i].key, x[k - 1].key))
            x[k - 1].bytes += x[i].bytes, x[k - 1].n++;
        else
            x[k++] = x[i];
    }
    if (k) qsort(x, k, sizeof *x, by_bytes);
    const uint32_t most = o->top ? (uint32_t)o->top : k, shown = most < k ? most : k;
    gcut_table t = {.arena = a,
                    .ncols = 4,
                    .right = 1u | 1u << 1 | 1u << 2,
                    .columns = o->columns,
                    .bold = o->bold,
                    .cut = 1u << 3};
    gcut_table_row(&t, (const char *[]){"bytes", "share", "buffers", what});
    int64_t left = 0;
    for (uint32_t i = 0; i < k; i++) {
        if (i < shown)
            gcut_table_row(&t, (const char *[]){gcut_count_text(a, x[i].bytes),
                                                share_text(a, x[i].bytes, m->peak_bytes),
                                                gcut_printf(a, "%u", x[i].n), x[i].key});
        else
            left += x[i].bytes;
    }
    if (shown < k)
        t.left =
            gcut_printf(a, "%u row%s, %s", k - shown, k - shown == 1 ? "" : "s", gcut_bytes_text(a, left));
    return t;
}

static const char *op_of(gcut_arena *a, const gcut_memory_buffer *b)
{
    return gcut_printf(a, "%s%s", b->op, b->kind == GCUT_MEMORY_WORKSPACE ? " (workspace)" : "");
}

static const char *place_of(gcut_arena *a, const gcut_memory_buffer *b)
{
    return *b->where ? gcut_place_text(a, b->where) : "without a line";
}

/* "block*.mlp" of block3.mlp.fc.add: what a scope and those like it hold. */
static const char *scope_of(gcut_arena *a, const gcut_memory_buffer *b)
{
    const char *dot = strrchr(b->name, '.');
    if (!dot || b->kind == GCUT_MEMORY_WORKSPACE) return "without a scope";
    return gcut_without_numbers(a, gcut_strndup(a, b->name, (size_t)(dot - b->name)));
}

gcut_table gcut_memory_totals(const gcut_memory_profile *m, int by, const gcut_table_options *o,
                              gcut_arena *a)
{
    static const struct {
        const char *title;
        const char *(*key)(gcut_arena *, const gcut_memory_buffer *);
    } form[GCUT_MEMORY_TOTALS] = {{"by op", op_of}, {"by scope", scope_of}, {"by source line", place_of}};
    return totals(m, form[by].title, form[by].key, o, a);
}

/* ---- the arena ---- */

static void write_map(const gcut_memory_profile *m, const gcut_table_options *o, gcut_text *out)
{
    static const uint8_t last[] = {7, 6};
    gcut_arena *a = out->arena;
    gcut_row *row = gcut_calloc(a, m->nbuffers + 1, sizeof *row);
    const gcut_memory_buffer **b = gcut_calloc(a, m->nbuffers + 1, sizeof(*b));
    gcut_table_options whole = *o;
    uint32_t n = 0;
    whole.all = true; /* each has an offset of its own */
    for (size_t i = 0; i < m->nbuffers; i++) {
        const gcut_memory_buffer *x = m->buffer[i];
        if (x->offset < 0) continue;
        b[n] = x;
        row[n++] = (gcut_row){x->name, "", x->bytes};
    }
    const gcut_folded f = gcut_fold(a, row, n, &whole, false);
    gcut_table t = {.arena = a,
                    .ncols = 8,
                    .right = 1u | 1u << 1 | 1u << 2 | 1u << 3,
                    .columns = o->columns,
                    .bold = o->bold,
                    .cut = 1u << 4 | 1u << 6 | 1u << 7,
                    .last = last,
                    .nlast = sizeof last};
    gcut_text_add(out, "arena: %s\n", gcut_bytes_text(a, m->arena_bytes));
    gcut_table_row(
        &t, (const char *[]){"offset", "bytes", "from", "to", "value", "class", "made by", "last read by"});
    for (uint32_t i = 0; i < f.n; i++) {
        const gcut_memory_buffer *x = b[*f.at[i].row];
        gcut_table_row(&t, (const char *[]){gcut_count_text(a, x->offset), gcut_count_text(a, x->bytes),
                                            gcut_printf(a, "k%d", m->event[x->first]->launch),
                                            gcut_printf(a, "k%d", m->event[x->last]->launch),
                                            name_text(a, x->kind, x->name), gcut_memory_word(x->kind),
                                            x->made_by, x->last_read_by});
    }
    t.left = gcut_left_text(a, &f, "buffer");
    gcut_table_print_all(&t, out);
}

void gcut_write_memory_text(const gcut_memory_profile *m, gcut_memory_part part, const gcut_table_options *o,
                            gcut_text *out)
{
    gcut_arena *a = out->arena;
    gcut_table_options few = *o;
    write_head(m, out);
    if (part == GCUT_MEMORY_MAP) {
        write_map(m, o, out);
        return;
    }
    gcut_table t = gcut_memory_classes(m, a);
    gcut_table_print_all(&t, out);
    if (part == GCUT_MEMORY_AT_PEAK) {
        for (int by = 0; by < GCUT_MEMORY_TOTALS; by++) {
            t = gcut_memory_totals(m, by, o, a);
            gcut_table_print_all(&t, out);
        }
    } else {
        write_picture(m, o, out);
        if (!few.top) few.top = HOLDERS;
    }
    gcut_text_add(out, "alive at the peak:\n");
    t = gcut_memory_holders(m, &few, a);
    gcut_table_print_all(&t, out);
}
