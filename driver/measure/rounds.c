/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Runs several steps in turn.
 */
#include "driver/measure/rounds.h"

#include "driver/measure/quantile.h"
#include "driver/measure/step_stats.h"
#include "partition/budget/simulator.h"

static void share(gcut_step *s, const gcut_step *first)
{
    for (uint32_t i = 0; i < first->nslots; i++)
        gcut_step_bind(s, first->slot[i].name, first->slot[i].at, first->slot[i].type.rank,
                       first->slot[i].dim);
}

static void run(gcut_step *s)
{
    gcut_step_run(s, s->p->bwd ? GCUT_RT_STEP : GCUT_RT_FORWARD);
}

/* The largest arena at the sizes of the options; a step with larger fed arrays allocates its own. */
static int64_t most_bytes(const gcut_rounds *r)
{
    int64_t most = 0;
    for (size_t i = 0; i < r->n; i++) {
        const gcut_pipeline *p = r->step[i]->p;
        int64_t own = p->program ? p->peak_bytes - gcut_resident_bytes(p->joint, p->at, p->nat) : 0;
        if (own > most) most = own;
    }
    return most;
}

void gcut_rounds_begin(const gcut_rounds *r, gcut_stats *stats, gcut_arena *arena)
{
    gcut_env *env = gcut_arena_env(arena);
    int64_t bytes = most_bytes(r);
    char *lent = gcut_step_memory(arena, bytes);
    for (size_t i = 0; i < r->n; i++) {
        gcut_step *s = r->step[i];
        gcut_env_progress(env, "trying out", i, r->n);
        s->lent = lent;
        s->lent_bytes = bytes;
        for (size_t k = 0; i == 0 && k < r->nfeed; k++)
            gcut_step_bind_npy(s, r->feed[k].name, r->feed[k].npy);
        if (i) share(s, r->step[0]);
        gcut_step_prepare(s); /* it paints the arena; the run shows which part is touched */
        run(s);
        stats[i] = *gcut_step_measure(s);
    }
}

void gcut_rounds_run(const gcut_rounds *r, gcut_times *times, gcut_arena *arena)
{
    size_t rounds = (size_t)r->rounds;
    gcut_env *env = gcut_arena_env(arena);
    double *ns = gcut_calloc(arena, r->n * rounds + 1, sizeof *ns);
    for (size_t k = 0; k < rounds; k++) {
        gcut_env_progress(env, "measuring", k, rounds);
        for (size_t turn = 0; turn < r->n; turn++) {
            size_t i = (turn + k) % r->n;
            run(r->step[i]);
            ns[i * rounds + k] = (double)r->step[i]->step_ns;
        }
    }
    gcut_env_progress(env, "measuring", rounds, rounds);
    for (size_t i = 0; i < r->n; i++) {
        double *x = &ns[i * rounds];
        gcut_sort_reals(x, rounds);
        times[i] =
            (gcut_times){.best_ns = x[0],
                         .median_ns = gcut_quantile(x, rounds, 0.5),
                         .spread_ns = (gcut_quantile(x, rounds, 0.75) - gcut_quantile(x, rounds, 0.25)) / 2};
    }
}
