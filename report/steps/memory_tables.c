/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Memory over a training step as tables.
 */
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "report/fold.h"
#include "report/report.h"
#include "report/tables.h"
#include "report/value_names.h"

static const char *share_text(gcut_arena *a, int64_t part, int64_t all)
{
    return gcut_printf(a, "%.1f%%", all ? 100.0 * (double)part / (double)all : 0.0);
}

/* "%h"; workspace is no value. */
static const char *name_text(gcut_arena *a, gcut_memory_class kind, const char *name)
{
    return kind == GCUT_MEMORY_WORKSPACE ? name : gcut_printf(a, "%%%s", name);
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

const char gcut_memory_letters[GCUT_MEMORY_CLASSES + 1] = "PGAIOsrtw";

/* By class; with a second plan, its bytes at its own peak. */
gcut_table gcut_memory_classes(const gcut_memory_profile *m, gcut_arena *a)
{
    gcut_table t = {.arena = a, .ncols = 5, .right = 1u | 1u << 1 | 1u << 4};
    const gcut_memory_profile *o = m->against;
    gcut_table_row(&t, (const char *[]){"bytes", "share", NULL, "at the peak", "of the other plan"});
    for (int k = 0; k < GCUT_MEMORY_CLASSES; k++)
        if (at_peak(m, k) || (o && at_peak(o, k)))
            add_class(&t, m, gcut_memory_word((gcut_memory_class)k), gcut_memory_letters[k], at_peak(m, k),
                      o ? at_peak(o, k) : 0);
    if (m->gap_bytes || (o && o->gap_bytes))
        add_class(&t, m, "gaps between buffers", '\0', m->gap_bytes, o ? o->gap_bytes : 0);
    add_class(&t, m, "together", '\0', m->peak_bytes, o ? o->peak_bytes : 0);
    return t;
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
    const char *own; /* of one buffer */
    const char *key; /* what those that are added up have in common */
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

/* What is alive at the peak, added up by a text of each buffer, without its numbers where `alike`. */
static gcut_table totals(const gcut_memory_profile *m, const char *what,
                         const char *(*text)(gcut_arena *, const gcut_memory_buffer *), bool alike,
                         const gcut_table_options *o, gcut_arena *a)
{
    total *x = gcut_calloc(a, m->nbuffers + 1, sizeof *x);
    uint32_t n = 0, k = 0;
    for (size_t i = 0; i < m->nbuffers; i++)
        if (m->buffer[i]->at_peak && m->buffer[i]->bytes) {
            const char *own = text(a, m->buffer[i]);
            x[n] = (total){own, alike ? gcut_without_numbers(a, own) : own, m->buffer[i]->bytes, 1, n};
            n++;
        }
    if (n) qsort(x, n, sizeof *x, by_key);
    for (uint32_t i = 0; i < n; i++) {
        if (i && !strcmp(x[i].key, x[k - 1].key)) {
            if (strcmp(x[i].own, x[k - 1].own) != 0) x[k - 1].own = x[i].key;
            x[k - 1].bytes += x[i].bytes, x[k - 1].n++;
        } else {
            x[k++] = x[i];
        }
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
                                                gcut_printf(a, "%u", x[i].n), x[i].own});
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

static const char *scope_of(gcut_arena *a, const gcut_memory_buffer *b)
{
    const size_t n = gcut_scope_length(b->name, strlen(b->name));
    if (!n || b->kind == GCUT_MEMORY_WORKSPACE) return "without a scope";
    return gcut_strndup(a, b->name, n);
}

gcut_table gcut_memory_totals(const gcut_memory_profile *m, int by, const gcut_table_options *o,
                              gcut_arena *a)
{
    static const struct {
        const char *title;
        const char *(*text)(gcut_arena *, const gcut_memory_buffer *);
        bool alike; /* block3.mlp and those like it are one row */
    } form[GCUT_MEMORY_TOTALS] = {
        {"by op", op_of, false}, {"by scope", scope_of, true}, {"by source line", place_of, false}};
    return totals(m, form[by].title, form[by].text, form[by].alike, o, a);
}

/* ---- the arena ---- */

gcut_table gcut_memory_map(const gcut_memory_profile *m, const gcut_table_options *o, gcut_arena *a)
{
    static const uint8_t last[] = {7, 6};
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
    return t;
}

/* ---- events ---- */

gcut_table gcut_memory_events(const gcut_memory_profile *m, const gcut_table_options *o, gcut_arena *a)
{
    enum { KERNEL, START, ALL, CLASS, VALUE = CLASS + GCUT_MEMORY_CLASSES, NCOLS };
    const char *cell[NCOLS] = {
        [KERNEL] = "kernel", [START] = "begins at", [ALL] = "alive", [VALUE] = "makes"};
    gcut_table_options whole = *o;
    gcut_row *row = gcut_calloc(a, m->nevents + 1, sizeof *row);
    gcut_table t = {
        .arena = a, .ncols = NCOLS, .right = ~(1u << VALUE), .columns = o->columns, .bold = o->bold};
    whole.all = true; /* each has a time of its own */
    for (size_t i = 0; i < m->nevents; i++) row[i] = (gcut_row){m->event[i]->value, "", m->event[i]->bytes};
    const gcut_folded f = gcut_fold(a, row, (uint32_t)m->nevents, &whole, false);
    for (int k = 0; k < GCUT_MEMORY_CLASSES; k++) cell[CLASS + k] = gcut_memory_word((gcut_memory_class)k);
    gcut_table_row(&t, cell);
    for (uint32_t i = 0; i < f.n; i++) {
        const gcut_memory_event *e = m->event[*f.at[i].row];
        cell[KERNEL] = gcut_printf(a, "k%d", e->launch);
        cell[START] = gcut_time_text(a, e->start_ns);
        cell[ALL] = gcut_count_text(a, e->bytes);
        for (int k = 0; k < GCUT_MEMORY_CLASSES; k++)
            cell[CLASS + k] = e->live[k] ? gcut_count_text(a, e->live[k]) : NULL;
        cell[VALUE] = gcut_printf(a, "%%%s %s", e->value, e->op);
        gcut_table_row(&t, cell);
    }
    if (f.left) t.left = gcut_printf(a, "%u kernel%s", f.left, f.left == 1 ? "" : "s");
    return t;
}
