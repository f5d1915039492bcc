/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The points of a sweep, measured: all of them compiled, then run in turn, so that whatever disturbs the
 * machine disturbs all of them alike.  They share the memory of the first: a model fits once, not a dozen
 * times.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "driver/quantile.h"
#include "driver/step.h"
#include "driver/frontier.h"

static void share(gcut_step *s, const gcut_step *first)
{
    for (uint32_t i = 0; i < first->nslots; i++)
        gcut_step_bind(s, first->slot[i].name, first->slot[i].at, first->slot[i].type.rank,
                       first->slot[i].dim);
}

/* Prepares, runs once, and reads the peak off the arena that was painted before. */
static void try_out(gcut_step *s, gcut_frontier_point *point)
{
    gcut_step_prepare(s);
    gcut_step_run(s, GCUT_RT_STEP);
    gcut_stats st = *gcut_step_measure(s);
    if (st.predicted_bytes != point->peak_predicted)
        gcut_fail(s->env, GCUT_EUSAGE, (gcut_place){0}, "give the sizes of the arrays with --at",
                  "the arrays have other sizes than the plans are made for");
    point->peak_measured = st.peak_bytes;
}

void gcut_frontier_measure(gcut_pipeline **p, gcut_frontier_point *point, size_t n,
                           const gcut_frontier_options *how, gcut_arena *arena)
{
    gcut_step **s = gcut_calloc(arena, n + 1, sizeof *s);
    size_t rounds = (size_t)how->rounds;
    gcut_env *env = gcut_arena_env(arena);
    int64_t arena_bytes = 0;
    for (size_t i = 0; i < n; i++) {
        gcut_env_progress(env, "compiling", i, n);
        s[i] = gcut_step_of(p[i], p[i]->arena);
        int64_t own = p[i]->peak_bytes - gcut_pipeline_resident(p[i], p[i]->at, p[i]->nat);
        if (own > arena_bytes) arena_bytes = own;
    }
    char *lent = gcut_step_memory(arena, arena_bytes);
    for (size_t i = 0; i < n; i++) {
        gcut_env_progress(env, "trying out", i, n);
        s[i]->lent = lent;
        s[i]->lent_bytes = arena_bytes;
        for (size_t k = 0; i == 0 && k < how->nfeed; k++)
            gcut_step_bind_npy(s[0], how->feed[k].name, how->feed[k].npy);
        if (i) share(s[i], s[0]);
        try_out(s[i], &point[i]);
    }
    double *ns = gcut_calloc(arena, n * rounds + 1, sizeof *ns);
    for (size_t r = 0; r < rounds; r++) {
        gcut_env_progress(env, "measuring", r, rounds);
        for (size_t k = 0; k < n; k++) {
            size_t i = (k + r) % n;
            gcut_step_run(s[i], GCUT_RT_STEP);
            ns[i * rounds + r] = (double)s[i]->step_ns;
        }
    }
    gcut_env_progress(env, "measuring", rounds, rounds);
    for (size_t i = 0; i < n; i++) {
        double *x = &ns[i * rounds];
        gcut_sort_reals(x, rounds);
        point[i].step_ns_best = x[0];
        point[i].step_ns_median = gcut_quantile(x, rounds, 0.5);
        point[i].step_ns_spread = (gcut_quantile(x, rounds, 0.75) - gcut_quantile(x, rounds, 0.25)) / 2;
    }
}
