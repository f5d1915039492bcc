/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Functions that more than one test records.
 */
#ifndef GCUT_TESTS_TRACED_H
#define GCUT_TESTS_TRACED_H

#include "gradcut/trace.h"

static int runs;

/* 2 x where sum(x) > 0, else x - 1. */
static inline void risky(void *user, gcut_graph *g, const gcut_val *in, gcut_val *out)
{
    (void)user;
    runs++;
    gcut_val zero = gcut_const(g, GCUT_F32, 0);
    if (gcut_cond(gcut_gt(gcut_sum(in[0]), zero)))
        out[0] = gcut_scale(in[0], 2);
    else
        out[0] = gcut_sub(in[0], gcut_const(g, GCUT_F32, 1));
}

static inline gcut_val written(gcut_graph *g, const char *name, const float *at, int64_t n)
{
    return gcut_write(gcut_input(g, name, GCUT_F32, GCUT_SHAPE(n)), at);
}

static inline gcut_jit_value vector(const float *at, int64_t n)
{
    return (gcut_jit_value){.at = (void *)(uintptr_t)at, .dtype = GCUT_F32, .rank = 1, .dim = {n}};
}

static inline const float *called(gcut_jit *jit, const gcut_jit_value *in, int nin, gcut_jit_value *out)
{
    if (gcut_jit_call(jit, in, nin, out, 1) != GCUT_OK) fail_msg("%s", gcut_last_error(NULL));
    return out->at;
}

static inline gcut_jit *new_jit(gcut_ctx *ctx, gcut_body *fn, const gcut_options *o,
                                const gcut_jit_options *how)
{
    static const gcut_options interpreted = {.backend = GCUT_BACKEND_EAGER};
    gcut_jit *jit = gcut_jit_new(ctx, "f", fn, NULL, o ? o : &interpreted, how);
    if (!jit) fail_msg("%s", gcut_last_error(ctx));
    return jit;
}

#endif
