/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Runs several steps in rounds.
 */
#include "driver/measure/rounds.h"

#include "driver/measure/draw.h"
#include "driver/measure/step_stats.h"
#include "graph/ops/value_bytes.h"

static void share(gcut_step *s, const gcut_step *first)
{
    for (uint32_t i = 0; i < first->nslots; i++)
        gcut_step_bind(s, first->slot[i].name, first->slot[i].at, first->slot[i].type.rank,
                       first->slot[i].dim);
}

static void run(gcut_step *s)
{
    gcut_step_run(s, gcut_step_calls(s));
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

void gcut_round_order(uint64_t seed, size_t round, uint32_t *order, size_t n)
{
    for (size_t i = 0; i < n; i++) order[i] = (uint32_t)i;
    for (size_t i = n; i > 1; i--) {
        size_t k = gcut_draw(seed, GCUT_DRAW_ORDER, round, i, i);
        uint32_t last = order[i - 1];
        order[i - 1] = order[k];
        order[k] = last;
    }
}

/* The least of n >= 1 times. */
static double least(const double *ns, size_t n)
{
    double best = ns[0];
    for (size_t k = 1; k < n; k++)
        if (ns[k] < best) best = ns[k];
    return best;
}

gcut_measured gcut_rounds_run(const gcut_rounds *r, gcut_arena *keep, gcut_arena *arena)
{
    size_t rounds = (size_t)r->rounds;
    gcut_env *env = gcut_arena_env(arena);
    gcut_round_times t = {r->n, rounds, gcut_calloc(arena, r->n * rounds + 1, sizeof *t.ns)};
    uint32_t *order = gcut_calloc(arena, r->n + 1, sizeof *order);
    gcut_measured out = {.best_ns = gcut_calloc(arena, r->n + 1, sizeof *out.best_ns),
                         .median_ns = gcut_calloc(arena, r->n + 1, sizeof *out.median_ns)};
    gcut_sample *sample = gcut_calloc(keep, r->n * rounds + 1, sizeof *sample);
    for (size_t k = 0; k < rounds; k++) {
        gcut_env_progress(env, "measuring", k, rounds);
        gcut_round_order(r->seed, k, order, r->n);
        for (size_t turn = 0; turn < r->n; turn++) {
            size_t i = order[turn];
            run(r->step[i]);
            double ns = (double)r->step[i]->step_ns;
            if (r->timer) ns = r->timer->time(r->timer->user, i, r->name[i], k, ns);
            t.ns[i * rounds + k] = ns;
            sample[out.nsamples++] = (gcut_sample){(int)k, (int)turn, i, r->name[i], ns};
        }
    }
    gcut_env_progress(env, "measuring", rounds, rounds);
    out.bootstrap = gcut_bootstrap_of(&t, r->seed, arena);
    for (size_t i = 0; i < r->n; i++) {
        out.best_ns[i] = least(t.ns + i * rounds, rounds);
        out.median_ns[i] = gcut_bootstrap_median(&out.bootstrap, i);
    }
    GCUT_LIST(keep, out.sample, out.nsamples, &sample[i]);
    return out;
}
