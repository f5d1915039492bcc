/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The public API of evaluation.
 */
#include "driver/ctx.h"
#include "driver/load/weights.h"
#include "graph/verify.h"
#include "passes/passes.h"

typedef struct job {
    gcut_graph *g;
    gcut_step *step, *training;
    gcut_arena *a; /* of the module that is made */
} job;

static void make(void *arg)
{
    job *j = arg;
    gcut_graph *own = gcut_module_clone(j->g, j->g->module->env->arena);
    gcut_module *m = own->module;
    j->a = m->arena;
    j->g = gcut_pass_evaluation(own, gcut_module_unused(m, own->name, "eval"));
    gcut_module_unlist(m, own);
    j->g->name = own->name;
    gcut_verify_module(m);
}

gcut_graph *gcut_eval(gcut_graph *g)
{
    GCUT_NEED(NULL, g, NULL);
    job j = {.g = g};
    if (gcut_guard(g->module->env, make, &j)) return j.g;
    gcut_arena_free(j.a);
    return NULL;
}

static void share(void *arg)
{
    const job *j = arg;
    if (j->step == j->training)
        gcut_fail(j->step->env, GCUT_EUSAGE, (gcut_place){0}, NULL,
                  "gcut_share: a step cannot read its own values");
    if (j->step->env != j->training->env)
        gcut_fail(j->step->env, GCUT_EUSAGE, (gcut_place){0}, "compile both in one context",
                  "gcut_share: the two steps are of different contexts");
    gcut_step_share(j->step, j->training);
}

gcut_status gcut_share(gcut_step *training, gcut_step *step)
{
    GCUT_NEED(NULL, training, GCUT_EUSAGE);
    GCUT_NEED(training->env, step, GCUT_EUSAGE);
    return gcut_protect(step->env, share, &(job){.step = step, .training = training});
}
