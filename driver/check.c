/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the checks share.
 */
#include "driver/check.h"

gcut_step *gcut_trial_step(const gcut_trial *c, gcut_graph *g, const gcut_options *opt)
{
    gcut_step *s = gcut_step_make(g, opt);
    for (size_t i = 0; i < c->nfeed; i++)
        if (gcut_slot_find(s, c->feed[i].name)) gcut_step_bind_npy(s, c->feed[i].name, c->feed[i].npy);
    gcut_step_prepare(s);
    return s;
}

gcut_options gcut_trial_options(const gcut_trial *c, gcut_backend b)
{
    gcut_options o = c->opt ? *c->opt : GCUT_OPTIONS_DEFAULT;
    o.backend = b;
    o.exact = b == GCUT_EAGER;
    o.dump = "";
    return o;
}

gcut_array gcut_trial_array(gcut_arena *a, const gcut_slot *x)
{
    return gcut_array_load(a, x->type.dtype, x->type.rank, x->dim, x->at);
}

gcut_check_report gcut_trial_report(gcut_graph *g, const gcut_options *opt, const gcut_feed *feed,
                                    size_t nfeed, double tol, void (*body)(void *))
{
    gcut_check_report out = {0};
    if (!g) return out;
    gcut_trial c = {
        .g = g, .opt = opt, .feed = feed, .nfeed = nfeed, .tol = tol, .out = &out, .env = g->module->env};
    if (!gcut_guard(c.env, body, &c)) return (gcut_check_report){0};
    return out;
}
