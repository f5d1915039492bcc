/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Memory over a training step as text.
 */
#include <math.h>
#include <string.h>

#include "base/units.h"
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

/* "k412, backward graph: %dh matmul at mlp.c:42" */
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
        if (k >= 0) line[c] = gcut_memory_letters[k];
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
    gcut_text_add(out, "arena over the step (not drawn: %s that the caller binds):\n",
                  gcut_bytes_text(a, bound_bytes(m)));
    for (int r = LINES - 1; r >= 0; r--) put_line(&p, r);
    put_axis(&p);
}

void gcut_write_memory_text(const gcut_memory_profile *m, gcut_memory_part part, const gcut_table_options *o,
                            gcut_text *out)
{
    gcut_arena *a = out->arena;
    gcut_table_options few = *o;
    write_head(m, out);
    if (part == GCUT_MEMORY_MAP) {
        const gcut_table map = gcut_memory_map(m, o, a);
        gcut_text_add(out, "arena: %s\n", gcut_bytes_text(a, m->arena_bytes));
        gcut_table_print_all(&map, out);
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
