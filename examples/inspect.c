/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * inspect FILE [SYM=SIZE…]: what a plan holds and why, from the structures that `gradcut mem`, `fuse` and `why` print.
 * Fails unless what it prints adds up.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "die.h"
#include "gradcut/inspect.h"

enum { SIZES = 8 };

/* The bytes alive at the peak by class, and the largest buffers, which are the holders. */
static void print_holders(const gcut_memory_profile *m)
{
    int64_t sum = m->gap_bytes;
    for (size_t i = 0; i < m->nbuffers; i++) sum += m->buffer[i]->at_peak ? m->buffer[i]->bytes : 0;
    printf("peak %lld bytes, while %%%s %s runs\n", (long long)m->peak_bytes, m->event[m->peak]->value,
           m->event[m->peak]->op);
    for (int c = 0; c < GCUT_MEMORY_CLASSES; c++)
        if (m->event[m->peak]->live[c])
            printf("  %-11s %12lld\n", gcut_memory_class_name((gcut_memory_class)c),
                   (long long)m->event[m->peak]->live[c]);
    for (size_t i = 0; i < m->nbuffers; i++)
        if (m->buffer[i]->at_peak && m->buffer[i]->bytes > m->peak_bytes / 20)
            printf("  %%%s, %s: %lld bytes, %s\n", m->buffer[i]->name,
                   gcut_memory_class_name(m->buffer[i]->kind), (long long)m->buffer[i]->bytes,
                   *m->buffer[i]->where ? m->buffer[i]->where : "no line");
    if (sum != m->peak_bytes) die("the holders are not the peak");
}

/* Why the largest saved values are saved, and what saving them costs or spares. */
static void print_reasons(gcut_ctx *ctx, gcut_graph *g, const gcut_options *opt, const gcut_plan_info *p)
{
    for (size_t i = 0; i < p->n && i < 3 && p->value[i]->decision == GCUT_PLAN_SAVED; i++) {
        gcut_explanation *e = gcut_explain(g, opt, p->value[i]->name);
        if (!e) die("%s", gcut_last_error(ctx));
        printf("%%%s is saved: %lld bytes, made by %s at %s\n", e->name, (long long)e->bytes, e->op,
               e->where);
        if (e->forced_by) printf("  forced by %s\n", e->forced_by);
        if (e->flipped)
            printf("  recomputed instead, the step would take %+.3g ms and peak at %+lld bytes\n",
                   (e->flipped->time_ns - e->now->time_ns) / 1e6,
                   (long long)(e->flipped->peak_bytes - e->now->peak_bytes));
        gcut_free(e);
    }
}

/* The value that crosses most dearly from one kernel to another, and the reason. */
static void print_boundary(const gcut_fusion *f)
{
    const gcut_unfused *most = NULL;
    for (size_t i = 0; i < f->nunfused; i++)
        if (!most || f->unfused[i]->bytes > most->bytes) most = f->unfused[i];
    printf("%zu kernels", f->nkernels);
    if (most)
        printf("; %%%s %s and %%%s %s are not in one: %s", most->value, most->op, most->reader,
               most->reader_op, most->reason);
    printf("\n");
}

int main(int argc, char **argv)
{
    static gcut_size at[SIZES];
    size_t n = 0;
    if (argc < 2) die("usage: inspect FILE [SYM=SIZE...]");
    for (int i = 2; i < argc && n < SIZES; i++) {
        char *eq = strchr(argv[i], '=');
        if (!eq) die("expected SYM=SIZE");
        *eq = 0;
        at[n++] = (gcut_size){argv[i], atoll(eq + 1)};
    }
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = gcut_load(ctx, argv[1], NULL);
    gcut_options opt = {.at = at, .nat = n, .threads = 2, .machine = "shipped"};
    gcut_plan *plan = g ? gcut_plan_new(g, &opt) : NULL;
    gcut_memory_profile *m = plan ? gcut_memory_new(g, &opt, NULL) : NULL;
    gcut_fusion *f = m ? gcut_fusion_new(g, &opt) : NULL;
    if (!f) die("%s", gcut_last_error(ctx));
    print_holders(m);
    print_reasons(ctx, g, &opt, gcut_plan_look(plan));
    print_boundary(f);
    gcut_free(f);
    gcut_free(m);
    gcut_plan_free(plan);
    gcut_ctx_free(ctx);
    return 0;
}
