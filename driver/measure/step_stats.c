/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The statistics of a step.
 */
#include "driver/measure/step_stats.h"

#include "gradcut/gradcut_rt.h"

/* The arena is painted when it is made; the end that still has the paint was never touched. */
static int64_t touched(const gcut_step *s)
{
    int64_t n = s->arena_bytes;
    while (n > 0) {
        bool clean = true;
        for (int64_t i = n - 64; i < n; i++)
            clean = clean && (unsigned char)s->kernel_arena[i] == GCUT_ARENA_PAINT;
        if (!clean) break;
        n -= 64;
    }
    return n;
}

/* Bytes in memory during each call: its values, the block of saved values, its part of the arena. */
static void count_calls(gcut_step *s, gcut_stats *st)
{
    const gcut_rt_plan *plan = gcut_step_block(s);
    st->forward_bytes = s->saved_bytes + plan->forward_bytes;
    st->backward_bytes = s->saved_bytes + plan->backward_bytes;
    for (uint32_t i = 0; i < s->nslots; i++) {
        const gcut_slot *x = &s->slot[i];
        if (gcut_in_call(x->role, x->marks, false)) st->forward_bytes += x->bytes;
        if (gcut_in_call(x->role, x->marks, true)) st->backward_bytes += x->bytes;
    }
}

const gcut_stats *gcut_step_measure(gcut_step *s)
{
    gcut_stats *st = &s->stats;
    *st = (gcut_stats){.step_ns = s->step_ns,
                       .threads = s->threads,
                       .blis = s->entry ? gcut_rt_blis_name() : "none",
                       .gemm = s->entry ? gcut_rt_gemm_name() : "none"};
    for (uint32_t i = 0; i < s->nslots; i++) st->peak_bytes += s->slot[i].bytes;
    if (s->p->opt.apart) count_calls(s, st);
    st->peak_bytes += s->saved_bytes;
    st->predicted_bytes = st->peak_bytes;
    st->saved_bytes = s->saved_bytes;
    if (!s->entry || !s->ready) return st;
    st->arena_bytes = s->arena_bytes;
    st->saved_bytes = ((const gcut_rt_plan *)s->plan)->saved_bytes;
    st->peak_bytes += touched(s);
    /* A step from the cache has no program, only the arena size of its emitted code. */
    st->predicted_bytes = s->p->program ? gcut_pipeline_peak(s->p, s->size, s->nsizes, s->threads)
                                        : st->predicted_bytes + st->arena_bytes;
    return st;
}
