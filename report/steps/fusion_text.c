/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Kernels and what is in them, and why ops are not in one, as text.
 */
#include <math.h>
#include <string.h>

#include "base/units.h"
#include "report/fold.h"
#include "report/report.h"
#include "report/tables.h"

bool gcut_launch_makes(const gcut_fusion *f, int launch, const char *value)
{
    for (size_t i = 0; i < f->nkernels; i++)
        for (size_t k = 0; f->kernel[i]->launch == launch && k < f->kernel[i]->nmade; k++)
            if (!strcmp(f->kernel[i]->made[k]->value, value)) return true;
    return false;
}

/* ---- what is in a kernel ---- */

/* The part of a kernel as ops: "add gelu", "3 mul add"; nothing where it has none. */
static void add_part(const gcut_fused_kernel *k, const char *part, const char *before, gcut_text *out)
{
    size_t n = 0, i = 0;
    while (i < k->nmade) {
        const gcut_fused_op *x = k->made[i];
        size_t same = 1;
        if (strcmp(x->part, part) != 0) {
            i++;
            continue;
        }
        while (i + same < k->nmade && !strcmp(k->made[i + same]->op, x->op) &&
               !strcmp(k->made[i + same]->part, part))
            same++;
        gcut_text_add(out, "%s", n ? " " : before);
        if (same > 1) gcut_text_add(out, "%zu ", same);
        gcut_text_add(out, "%s", x->op);
        i += same;
        n += same;
    }
}

/* "mul add > matmul > add gelu, sum of an operand": prologue, kernel, epilogue. */
static const char *content_text(gcut_arena *a, const gcut_fused_kernel *k)
{
    gcut_text t = {.arena = a};
    add_part(k, "prologue", "", &t);
    if (t.n) gcut_text_add(&t, " > ");
    const size_t before = t.n;
    add_part(k, "", "", &t);
    if (t.n == before) gcut_text_add(&t, "%s", k->op); /* "copy" */
    add_part(k, "sum", " and ", &t);
    add_part(k, "epilogue", " > ", &t);
    return t.at;
}

/* "12 x 1.2 ms", "19 x 99 us to 1.2 ms" */
static const char *each_text(gcut_arena *a, const gcut_fusion *f, const gcut_row_group *g)
{
    double least = INFINITY, most = 0;
    if (g->n == 1) return NULL;
    for (uint32_t i = 0; i < g->n; i++) {
        least = fmin(least, f->kernel[g->row[i]]->ns);
        most = fmax(most, f->kernel[g->row[i]]->ns);
    }
    const char *longest = gcut_time_text(a, most);
    if (most <= 1.02 * least) return gcut_printf(a, "%u x %s", g->n, longest);
    return gcut_printf(a, "%u x %s to %s", g->n, gcut_time_text(a, least), longest);
}

gcut_table gcut_fused_table(const gcut_fusion *f, const gcut_table_options *o, gcut_arena *a)
{
    enum { LAUNCH, NS, EACH, CLASS, VALUE, CONTENT, UNSTORED, AT, NCOLS };
    static const char *const titles[NCOLS] = {"kernel", "time", "each",       "class",
                                              "makes",  "of",   "not stored", "at"};
    static const uint8_t last[] = {AT, UNSTORED, CLASS};
    gcut_row *row = gcut_calloc(a, f->nkernels + 1, sizeof *row);
    const char **at = gcut_calloc(a, f->nkernels + 1, sizeof(*at)),
               **launch = gcut_calloc(a, f->nkernels + 1, sizeof(*launch));
    for (size_t i = 0; i < f->nkernels; i++) {
        const gcut_fused_kernel *k = f->kernel[i];
        at[i] = gcut_place_text(a, k->where);
        launch[i] = gcut_printf(a, "k%d", k->launch);
        row[i] = (gcut_row){k->value, gcut_printf(a, "%s %s %d", k->family, content_text(a, k), k->backward),
                            (int64_t)k->unstored_bytes};
    }
    const gcut_folded g = gcut_fold(a, row, (uint32_t)f->nkernels, o, false);
    gcut_table t = {.arena = a,
                    .ncols = NCOLS,
                    .right = 1u << NS | 1u << EACH | 1u << UNSTORED,
                    .columns = o->columns,
                    .bold = o->bold,
                    .cut = 1u << VALUE | 1u << CONTENT | 1u << AT,
                    .last = last,
                    .nlast = sizeof last};
    gcut_table_row(&t, titles);
    for (uint32_t i = 0; i < g.n; i++) {
        const gcut_row_group *x = &g.at[i];
        const gcut_fused_kernel *k = f->kernel[*x->row];
        double ns = 0;
        for (uint32_t r = 0; r < x->n; r++) ns += f->kernel[x->row[r]]->ns;
        gcut_table_row(&t, (const char *[NCOLS]){
                               [LAUNCH] = gcut_group_text(a, x, launch),
                               [NS] = gcut_time_text(a, ns),
                               [EACH] = each_text(a, f, x),
                               [CLASS] = k->family,
                               [VALUE] = gcut_printf(a, "%%%s", x->name),
                               [CONTENT] = content_text(a, k),
                               [UNSTORED] = x->amount ? gcut_count_text(a, x->amount) : NULL,
                               [AT] = gcut_group_text(a, x, at),
                           });
    }
    if (g.left) t.left = gcut_printf(a, "%u kernel%s", g.left, g.left == 1 ? "" : "s");
    return t;
}

/* ---- pairs ---- */

/* The sentences of the codes that the table has. */
static gcut_table reason_table(const gcut_unfused *const *x, const gcut_folded *f, gcut_arena *a)
{
    gcut_table t = {.arena = a, .ncols = 2};
    gcut_table_row(&t, (const char *[]){"why", "that is"});
    for (uint32_t i = 0; i < f->n; i++) {
        bool seen = false;
        for (uint32_t k = 0; k < i && !seen; k++) seen = x[*f->at[k].row]->code == x[*f->at[i].row]->code;
        if (!seen) gcut_table_row(&t, (const char *[]){x[*f->at[i].row]->code, x[*f->at[i].row]->reason});
    }
    return t;
}

static const char *launch_text(gcut_arena *a, int launch)
{
    return launch < 0 ? "a loop" : gcut_printf(a, "k%d", launch);
}

/* The texts of the columns by pair. */
typedef struct pair_texts {
    const char **at, **read, **reader, **from, **to;
} pair_texts;

static uint32_t list_pairs(const gcut_fusion *f, gcut_arena *a, const gcut_unfused **pair, gcut_row *row,
                           pair_texts *t)
{
    const char ***list[] = {&t->at, &t->read, &t->reader, &t->from, &t->to};
    uint32_t n = 0;
    for (size_t k = 0; k < sizeof list / sizeof *list; k++)
        *list[k] = gcut_calloc(a, f->nunfused + 1, sizeof **list[k]);
    for (size_t i = 0; i < f->nunfused; i++) {
        const gcut_unfused *x = f->unfused[i];
        if (x->again) continue;
        t->at[n] = gcut_place_text(a, x->where);
        t->read[n] = gcut_place_text(a, x->reader_where);
        t->reader[n] = gcut_printf(a, "%%%s %s", x->reader, x->reader_op);
        t->from[n] = launch_text(a, x->from);
        t->to[n] = launch_text(a, x->to);
        pair[n] = x;
        row[n++] = (gcut_row){x->value,
                              gcut_printf(a, "%s %s %s %s %d", x->op, gcut_without_numbers(a, x->reader),
                                          x->reader_op, x->code, x->backward),
                              (int64_t)x->bytes};
    }
    return n;
}

gcut_table gcut_unfused_table(const gcut_fusion *f, const gcut_table_options *o, gcut_arena *a,
                              gcut_table *reasons, uint32_t *pairs)
{
    enum { BYTES, EACH, NS, VALUE, READER, FROM, TO, CODE, AT, READ_AT, NCOLS };
    static const char *const titles[NCOLS] = {"bytes", "each", "time", "value", "read by",
                                              "from",  "to",   "why",  "at",    "read at"};
    static const uint8_t last[] = {READ_AT, AT, TO, FROM, EACH};
    gcut_row *row = gcut_calloc(a, f->nunfused + 1, sizeof *row);
    const gcut_unfused **pair = gcut_calloc(a, f->nunfused + 1, sizeof(*pair));
    pair_texts texts;
    const uint32_t n = list_pairs(f, a, pair, row, &texts);
    const gcut_folded g = gcut_fold(a, row, n, o, true);
    gcut_table t = {.arena = a,
                    .ncols = NCOLS,
                    .right = 1u << NS | 1u << BYTES | 1u << EACH,
                    .columns = o->columns,
                    .bold = o->bold,
                    .cut = 1u << VALUE | 1u << READER | 1u << AT | 1u << READ_AT,
                    .last = last,
                    .nlast = sizeof last};
    gcut_table_row(&t, titles);
    for (uint32_t i = 0; i < g.n; i++) {
        const gcut_row_group *x = &g.at[i];
        double ns = 0;
        for (uint32_t r = 0; r < x->n; r++) ns += pair[x->row[r]]->ns;
        gcut_table_row(&t, (const char *[NCOLS]){
                               [BYTES] = gcut_count_text(a, x->amount),
                               [EACH] = gcut_group_each(a, x, row),
                               [NS] = gcut_time_text(a, ns),
                               [VALUE] = gcut_printf(a, "%%%s", x->name),
                               [READER] = gcut_group_name(a, x, texts.reader),
                               [FROM] = gcut_group_text(a, x, texts.from),
                               [TO] = gcut_group_text(a, x, texts.to),
                               [CODE] = pair[*x->row]->code,
                               [AT] = gcut_group_text(a, x, texts.at),
                               [READ_AT] = gcut_group_text(a, x, texts.read),
                           });
    }
    t.left = gcut_left_text(a, &g, "pair");
    *reasons = reason_table(pair, &g, a);
    *pairs = n;
    return t;
}

void gcut_write_fusion_text(const gcut_fusion *f, const gcut_table_options *o, gcut_text *out)
{
    gcut_arena *a = out->arena;
    size_t backward = 0;
    double unstored = 0;
    for (size_t i = 0; i < f->nkernels; i++)
        backward += f->kernel[i]->backward, unstored += f->kernel[i]->unstored_bytes;
    gcut_text_add(out, "kernels of @%s, %s", f->graph, f->policy);
    gcut_write_sizes(f->at, f->nat, ", at ", out);
    gcut_text_add(out, ": %zu, %zu of them backward; %s, predicted with %d thread%s of %s\n", f->nkernels,
                  backward, gcut_time_text(a, f->step_ns), f->threads, f->threads == 1 ? "" : "s",
                  f->machine);
    gcut_text_add(out, "results that are never in memory: %s\n", gcut_bytes_text(a, (int64_t)unstored));
    gcut_table reasons;
    uint32_t n;
    const gcut_table kernels = gcut_fused_table(f, o, a), pairs = gcut_unfused_table(f, o, a, &reasons, &n);
    gcut_table_print_all(&kernels, out);
    gcut_text_add(out, "read from memory that another kernel wrote: %u pair%s of a value and a kernel\n", n,
                  n == 1 ? "" : "s");
    gcut_table_print_all(&pairs, out);
    gcut_table_print_all(&reasons, out);
}

void gcut_write_unfused(const gcut_unfused *x, gcut_text *out)
{
    gcut_arena *a = out->arena;
    gcut_text_add(out, "%%%s %s (%s, %s)\n", x->value, x->op, launch_text(a, x->from),
                  *x->where ? gcut_place_text(a, x->where) : "no line");
    gcut_text_add(out, "  is read from memory by %%%s %s (k%d, %s)\n", x->reader, x->reader_op, x->to,
                  *x->reader_where ? gcut_place_text(a, x->reader_where) : "no line");
    gcut_text_add(out, "  because %s (%s)\n", x->reason, x->code);
    if (x->again)
        gcut_text_add(out, "  another op of k%d reads it, too, which counts the bytes", x->to);
    else
        gcut_text_add(out, "  that costs %s %s, %s by itself", gcut_bytes_text(a, (int64_t)x->bytes),
                      x->anyway ? "to read" : "to write and read", gcut_time_text(a, x->ns));
    if (x->anyway) gcut_text_add(out, "; it is stored anyway: %s", x->anyway);
    gcut_text_add(out, "\n");
}
