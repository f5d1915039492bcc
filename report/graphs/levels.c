/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Which kernels of a step could run side by side: kernels by the number of kernels in the longest chain before them, and
 * the longest chain by predicted time.  A kernel waits for those whose values it reads.  gradcut itself runs one kernel at
 * a time, with all threads.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/table.h"
#include "base/units.h"
#include "report/fold.h"
#include "report/graphs/graphs.h"
#include "report/report.h"

typedef struct step {
    const gcut_fused_kernel *k;
    uint32_t level;
    double begin;  /* ns: when all that it waits for has ended, however many run at a time */
    int64_t waits; /* for: its index, of the one that ends last; -1: for none */
} step;

typedef struct levels {
    gcut_arena *a;
    step *s;
    uint32_t n, nlevels, last; /* last: the one that ends last */
    uint32_t *copies, ncopies; /* kernels that copy a value */
    uint32_t *at;              /* by launch: an index, + 1 */
    int nlaunches;
} levels;

static uint32_t step_of(const levels *l, int launch)
{
    return launch >= 0 && launch < l->nlaunches ? l->at[launch] : 0;
}

static double end_of(const step *s)
{
    return s->begin + s->k->ns;
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

/* A copy waits for the last kernel before it that makes the value. */
static void wait_for_copied(levels *l, uint32_t i)
{
    for (uint32_t k = i; k-- > 0;)
        for (size_t n = 0; n < l->s[k].k->nmade; n++)
            if (!strcmp(l->s[k].k->made[n]->value, l->s[i].k->value)) {
                wait_for(l, i, k);
                return;
            }
}

/* Readers of a copied value wait for the copy, too. */
static void wait_for_copies(levels *l, uint32_t i, const char *value)
{
    for (uint32_t c = 0; c < l->ncopies; c++)
        if (l->copies[c] < i && !strcmp(l->s[l->copies[c]].k->value, value)) wait_for(l, i, l->copies[c]);
}

static int by_reader(const void *a, const void *b)
{
    const gcut_unfused *x = *(const gcut_unfused *const *)a, *y = *(const gcut_unfused *const *)b;
    if (x->to != y->to) return x->to < y->to ? -1 : 1;
    return (x->from > y->from) - (x->from < y->from);
}

static void find_levels(levels *l, const gcut_fusion *f)
{
    const gcut_unfused **pair = gcut_calloc(l->a, f->nunfused + 1, sizeof(*pair));
    uint32_t next = 0;
    memcpy(pair, f->unfused, f->nunfused * sizeof *pair);
    if (f->nunfused) qsort(pair, f->nunfused, sizeof *pair, by_reader);
    l->n = (uint32_t)f->nkernels;
    l->s = gcut_calloc(l->a, l->n + 1u, sizeof *l->s);
    l->copies = gcut_calloc(l->a, l->n + 1u, sizeof *l->copies);
    for (uint32_t i = 0; i < l->n; i++)
        if (f->kernel[i]->launch >= l->nlaunches) l->nlaunches = f->kernel[i]->launch + 1;
    l->at = gcut_calloc(l->a, (size_t)l->nlaunches + 1, sizeof *l->at);
    for (uint32_t i = 0; i < l->n; i++) l->at[f->kernel[i]->launch] = i + 1;
    for (uint32_t i = 0; i < l->n; i++) {
        const int launch = f->kernel[i]->launch;
        l->s[i] = (step){.k = f->kernel[i], .waits = -1};
        while (next < f->nunfused && pair[next]->to < launch) next++;
        for (; next < f->nunfused && pair[next]->to == launch; next++) {
            const uint32_t from = step_of(l, pair[next]->from);
            if (from) wait_for(l, i, from - 1);
            wait_for_copies(l, i, pair[next]->value);
        }
        if (!strcmp(f->kernel[i]->op, "copy")) {
            wait_for_copied(l, i);
            l->copies[l->ncopies++] = i;
        }
        if (l->s[i].level + 1 > l->nlevels) l->nlevels = l->s[i].level + 1;
        if (end_of(&l->s[i]) > end_of(&l->s[l->last])) l->last = i;
    }
}

/* A level with several kernels. */
typedef struct level {
    uint32_t n;
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
        x->ns += s->k->ns;
        x->longest = fmax(x->longest, s->k->ns);
        if (++x->n <= 4)
            gcut_text_add(&x->which, "%s%%%s", x->n > 1 ? ", " : "", s->k->value);
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
        row[n++] =
            (gcut_row){at[k].which.at, gcut_printf(a, "%u", at[k].n), (int64_t)(at[k].ns - at[k].longest)};
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
        const uint32_t each = at[of[*g->row]].n;
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
    uint32_t n = 0, k = 0;
    for (int64_t i = l->last; i >= 0 && l->n; i = l->s[i].waits) n++;
    const step **chain = gcut_calloc(a, n + 1u, sizeof(*chain));
    gcut_row *row = gcut_calloc(a, n + 1u, sizeof *row);
    for (int64_t i = l->last; i >= 0 && l->n; i = l->s[i].waits) chain[n - ++k] = &l->s[i];
    for (uint32_t i = 0; i < n; i++)
        row[i] = (gcut_row){chain[i]->k->value,
                            gcut_printf(a, "%s %d", chain[i]->k->family, chain[i]->k->backward),
                            (int64_t)chain[i]->k->ns};
    const gcut_folded f = gcut_fold(a, row, n, o, false);
    gcut_table t = {.arena = a,
                    .ncols = 4,
                    .right = 1u | 1u << 1,
                    .columns = o->columns,
                    .bold = o->bold,
                    .cut = 1u << 3};
    gcut_table_row(&t, (const char *[]){"time", "kernels", "class", "makes"});
    for (uint32_t i = 0; i < f.n; i++) {
        double ns = 0;
        for (uint32_t r = 0; r < f.at[i].n; r++) ns += chain[f.at[i].row[r]]->k->ns;
        gcut_table_row(&t, (const char *[]){gcut_time_text(a, ns), gcut_printf(a, "%u", f.at[i].n),
                                            chain[*f.at[i].row]->k->family,
                                            gcut_printf(a, "%%%s", f.at[i].name)});
    }
    if (f.left) t.left = gcut_printf(a, "%u kernel%s", f.left, f.left == 1 ? "" : "s");
    gcut_text_add(out, "the longest chain: %u kernel%s\n", n, n == 1 ? "" : "s");
    gcut_table_print_all(&t, out);
}

void gcut_write_levels(const gcut_fusion *f, const gcut_table_options *o, gcut_text *out)
{
    gcut_arena *a = gcut_arena_new(gcut_arena_env(out->arena), out->arena);
    gcut_text t = {.arena = a};
    levels l = {.a = a};
    double all = 0;
    find_levels(&l, f);
    for (size_t i = 0; i < f->nkernels; i++) all += f->kernel[i]->ns;
    const double chain = l.n ? end_of(&l.s[l.last]) : 0;
    gcut_text_add(&t, "levels of @%s, %s", f->graph, f->policy);
    gcut_write_sizes(f->at, f->nat, ", at ", &t);
    gcut_text_add(&t, ": %u kernel%s in %u level%s; %s, of which the longest chain is %s\n", l.n,
                  l.n == 1 ? "" : "s", l.nlevels, l.nlevels == 1 ? "" : "s", gcut_time_text(a, all),
                  gcut_time_text(a, chain));
    gcut_text_add(&t, "levels with several kernels, which do not depend on each other:\n");
    put_levels(&l, o, &t);
    put_chain(&l, o, &t);
    gcut_text_addn(out, t.at, t.n);
    gcut_arena_free(a);
}
