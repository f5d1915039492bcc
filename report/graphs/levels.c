/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Which kernels of a step could run side by side.  The level of a kernel is the number of kernels in the longest chain of
 * dependences before it (gcut_kernel_dependence); the critical path is the chain that takes longest, as predicted.  The
 * kernels of a loop count as one.  Kernels without time are left out: they multiply by a cotangent, which is 1 here.
 * gradcut itself runs one kernel at a time, with all threads.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/table.h"
#include "base/units.h"
#include "report/fold.h"
#include "report/graphs/graphs.h"
#include "report/report.h"

/* A kernel, or all kernels of a loop or a branch. */
typedef struct step {
    const gcut_fused_kernel *k; /* the first one */
    uint32_t n;                 /* kernels */
    double ns;
    uint32_t level;
    double begin;  /* ns: when all that it waits for has ended, however many run at a time */
    int64_t waits; /* for: its index, of the one that ends last; -1: for none */
} step;

typedef struct levels {
    gcut_arena *a;
    step *s;
    uint32_t n, nlevels, last; /* last: the one that ends last */
    uint32_t *at;              /* by kernel: its step, + 1; 0: it takes no time */
} levels;

static double end_of(const step *s)
{
    return s->begin + s->ns;
}

static void wait_for(levels *l, uint32_t i, uint32_t before)
{
    step *x = &l->s[i];
    const step *y = &l->s[before];
    GCUT_ASSERT(before < i);
    if (y->level + 1 > x->level) x->level = y->level + 1;
    if (x->waits >= 0 && end_of(y) <= x->begin) return;
    x->begin = fmax(x->begin, end_of(y));
    x->waits = before;
}

static void find_steps(levels *l, const gcut_fusion *f)
{
    l->s = gcut_calloc(l->a, f->nkernels + 1, sizeof *l->s);
    l->at = gcut_calloc(l->a, f->nkernels + 1, sizeof *l->at);
    for (size_t i = 0; i < f->nkernels; i++) {
        const gcut_fused_kernel *k = f->kernel[i];
        if (k->ns == 0 && !k->loop) continue;
        if (k->first == i) l->s[l->n++] = (step){.k = k, .waits = -1};
        l->s[l->n - 1].n++;
        l->s[l->n - 1].ns += k->ns;
        l->at[i] = l->n;
    }
}

static void find_levels(levels *l, const gcut_fusion *f)
{
    size_t w = 0;
    find_steps(l, f);
    for (size_t i = 0; i < f->nkernels; i++) {
        const uint32_t x = l->at[i];
        for (; w < f->ndependences && f->dependence[w].kernel == i; w++) {
            const uint32_t before = l->at[f->dependence[w].on];
            if (x && before && before != x) wait_for(l, x - 1, before - 1);
        }
        if (!x) continue;
        const step *s = &l->s[x - 1];
        if (s->level + 1 > l->nlevels) l->nlevels = s->level + 1;
        if (end_of(s) > end_of(&l->s[l->last])) l->last = x - 1;
    }
}

/* What the kernel is called after; of a loop its first result. */
static const char *name_of(const step *s)
{
    return s->k->loop ? s->k->loop : s->k->value;
}

/* "%h", "%h (scan)" */
static const char *text_of(gcut_arena *a, const step *s)
{
    return s->k->loop ? gcut_printf(a, "%%%s (%s)", s->k->loop, s->k->loop_op)
                      : gcut_printf(a, "%%%s", s->k->value);
}

static const char *class_of(const step *s)
{
    return s->k->loop ? s->k->loop_op : s->k->family;
}

/* A level with several kernels. */
typedef struct level {
    uint32_t n, kernels; /* steps; kernels of these */
    double ns, longest;
    gcut_text which; /* "%dw, %dx" */
} level;

static level *list_levels(const levels *l)
{
    level *at = gcut_calloc(l->a, l->nlevels + 1u, sizeof *at);
    for (uint32_t i = 0; i < l->n; i++) {
        const step *s = &l->s[i];
        level *x = &at[s->level];
        x->which.arena = l->a;
        x->ns += s->ns;
        x->kernels += s->n;
        x->longest = fmax(x->longest, s->ns);
        if (++x->n <= 4)
            gcut_text_add(&x->which, "%s%s", x->n > 1 ? ", " : "", text_of(l->a, s));
        else if (x->n == 5)
            gcut_text_add(&x->which, ", ..");
    }
    return at;
}

static void put_levels(const levels *l, const gcut_table_options *o, gcut_text *out)
{
    enum { LEVEL, KERNELS, NS, LONGEST, WHICH, NCOLS };
    gcut_arena *a = l->a;
    const level *at = list_levels(l);
    gcut_row *row = gcut_calloc(a, l->nlevels + 1u, sizeof *row);
    const char **number = gcut_calloc(a, l->nlevels + 1u, sizeof(*number));
    uint32_t *of = gcut_calloc(a, l->nlevels + 1u, sizeof *of), n = 0;
    for (uint32_t k = 0; k < l->nlevels; k++) {
        if (at[k].n < 2) continue;
        of[n] = k;
        number[n] = gcut_printf(a, "%u", k);
        row[n++] = (gcut_row){at[k].which.at, gcut_printf(a, "%u %u", at[k].n, at[k].kernels),
                              (int64_t)(at[k].ns - at[k].longest)};
    }
    const gcut_folded f = gcut_fold(a, row, n, o, true);
    gcut_table t = {.arena = a,
                    .ncols = NCOLS,
                    .right = ~(1u << WHICH),
                    .columns = o->columns,
                    .bold = o->bold,
                    .cut = 1u << WHICH};
    gcut_table_row(&t, (const char *[NCOLS]){"level", "kernels", "time", "longest", "which"});
    for (uint32_t i = 0; i < f.n; i++) {
        const gcut_row_group *g = &f.at[i];
        double ns = 0, longest = 0;
        for (uint32_t r = 0; r < g->n; r++) ns += at[of[g->row[r]]].ns, longest += at[of[g->row[r]]].longest;
        const uint32_t each = at[of[*g->row]].kernels;
        gcut_table_row(
            &t, (const char *[NCOLS]){
                    [LEVEL] = gcut_group_text(a, g, number),
                    [KERNELS] = g->n > 1 ? gcut_printf(a, "%u x %u", g->n, each) : gcut_printf(a, "%u", each),
                    [NS] = gcut_time_text(a, ns),
                    [LONGEST] = gcut_time_text(a, longest),
                    [WHICH] = g->name,
                });
    }
    if (f.left) t.left = gcut_printf(a, "%u level%s", f.left, f.left == 1 ? "" : "s");
    gcut_table_print_all(&t, out);
}

static void put_chain(const levels *l, const gcut_table_options *o, gcut_text *out)
{
    gcut_arena *a = l->a;
    uint32_t n = 0, k = 0, all = 0;
    for (int64_t i = l->last; i >= 0 && l->n; i = l->s[i].waits) n++, all += l->s[i].n;
    const step **chain = gcut_calloc(a, n + 1u, sizeof(*chain));
    gcut_row *row = gcut_calloc(a, n + 1u, sizeof *row);
    for (int64_t i = l->last; i >= 0 && l->n; i = l->s[i].waits) chain[n - ++k] = &l->s[i];
    for (uint32_t i = 0; i < n; i++)
        row[i] =
            (gcut_row){name_of(chain[i]), gcut_printf(a, "%s %d", class_of(chain[i]), chain[i]->k->backward),
                       (int64_t)chain[i]->ns};
    const gcut_folded f = gcut_fold(a, row, n, o, false);
    gcut_table t = {.arena = a,
                    .ncols = 4,
                    .right = 1u | 1u << 1,
                    .columns = o->columns,
                    .bold = o->bold,
                    .cut = 1u << 3};
    gcut_table_row(&t, (const char *[]){"time", "kernels", "class", "makes"});
    for (uint32_t i = 0; i < f.n; i++) {
        const step *first = chain[*f.at[i].row];
        double ns = 0;
        uint32_t kernels = 0;
        for (uint32_t r = 0; r < f.at[i].n; r++)
            ns += chain[f.at[i].row[r]]->ns, kernels += chain[f.at[i].row[r]]->n;
        gcut_table_row(&t, (const char *[]){gcut_time_text(a, ns), gcut_printf(a, "%u", kernels),
                                            class_of(first), gcut_printf(a, "%%%s", f.at[i].name)});
    }
    if (f.left) t.left = gcut_printf(a, "%u row%s", f.left, f.left == 1 ? "" : "s");
    gcut_text_add(out, "the critical path: %u kernel%s\n", all, all == 1 ? "" : "s");
    gcut_table_print_all(&t, out);
}

void gcut_write_levels(const gcut_fusion *f, const gcut_table_options *o, gcut_text *out)
{
    gcut_arena *a = gcut_arena_new(gcut_arena_env(out->arena), out->arena);
    gcut_text t = {.arena = a};
    levels l = {.a = a};
    double all = 0;
    uint32_t kernels = 0, loops = 0;
    find_levels(&l, f);
    for (uint32_t i = 0; i < l.n; i++) all += l.s[i].ns, kernels += l.s[i].n, loops += l.s[i].k->loop != NULL;
    const double chain = l.n ? end_of(&l.s[l.last]) : 0;
    gcut_text_add(&t, "levels of @%s, %s", f->graph, f->policy);
    gcut_write_sizes(f->at, f->nat, ", at ", &t);
    gcut_text_add(&t, ": %u kernel%s", kernels, kernels == 1 ? "" : "s");
    if (loops) gcut_text_add(&t, ", those of %u loop%s as one each,", loops, loops == 1 ? "" : "s");
    gcut_text_add(&t, " in %u level%s; %s, of which the critical path is %s\n", l.nlevels,
                  l.nlevels == 1 ? "" : "s", gcut_time_text(a, all), gcut_time_text(a, chain));
    gcut_text_add(&t, "levels with several kernels, which do not depend on each other:\n");
    put_levels(&l, o, &t);
    put_chain(&l, o, &t);
    gcut_text_addn(out, t.at, t.n);
    gcut_arena_free(a);
}
