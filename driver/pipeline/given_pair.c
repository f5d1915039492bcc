/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Steps that are compiled from a pair, such as a dump of the split or the kernel stage.
 */
#include "driver/pipeline/given_pair.h"

#include <string.h>

#include "graph/mark.h"
#include "partition/policies/policy.h"

static _Noreturn void refuse(const gcut_graph *bwd, const gcut_pair *pair, const char *what)
{
    gcut_fail(bwd->module->env, GCUT_EUSAGE, gcut_loc_place(bwd->module, bwd->loc),
              "name the function from which the pair was split, if there is one",
              "the pair @%s is compiled as it stands, without a plan: %s", pair->name, what);
}

/* Options of derivatives, of plans and of other graphs. */
void gcut_given_check(const gcut_graph *user, const gcut_settings *o)
{
    const bool minimum_cut = !strcmp(o->policy, gcut_policy_name(GCUT_POLICY_MINCUT)),
               updates = o->optimizer && strcmp(o->optimizer, "none") != 0;
    const struct {
        const char *name;
        bool given;
    } options[] = {{"wrt", o->nwrt},
                   {"loss", o->loss},
                   {"cotan", o->ncotan},
                   {"optimizer", updates},
                   {"keep-grads", o->keep_grads},
                   {"policy", !minimum_cut},
                   {"lambda", o->lambda != GCUT_LAMBDA_DEFAULT},
                   {"budget", o->budget},
                   {"thorough", o->thorough},
                   {"saved-budget", o->saved_budget},
                   {"plan", o->plan},
                   {"save-dtype", o->save_dtype},
                   {"save", o->nsave},
                   {"recompute", o->nrecompute},
                   {"fix", o->nfix},
                   {"eval", o->eval}};
    const gcut_pair *pair = o->forward_only && !o->eval ? NULL : gcut_pair_of(user);
    for (size_t i = 0; pair && i < sizeof options / sizeof *options; i++)
        if (options[i].given)
            refuse(user, pair, gcut_printf(user->module->arena, "it takes no option %s", options[i].name));
}

void gcut_given_take(gcut_pipeline *p)
{
    const gcut_pair *pair = p->opt.forward_only ? NULL : gcut_pair_of(p->primal);
    if (!pair) return;
    gcut_given_pair *given = gcut_calloc(p->arena, 1, sizeof *given);
    *given = (gcut_given_pair){*pair, gcut_module_find(p->module, pair->fwd), p->primal};
    GCUT_ASSERT(given->fwd);
    p->given = given;
    const gcut_mark *m = gcut_mark_find(&pair->marks, GCUT_MARK_pass);
    p->made_by = m ? gcut_passes_named(p, GCUT_MAKES_KERNELS, m->arg[0].text) : NULL;
    if (m && !p->made_by)
        gcut_fail(p->env, GCUT_EUSAGE, gcut_loc_place(p->module, p->primal->loc), NULL,
                  "the pair @%s is marked #pass(\"%s\"), which is no pass of the kernel stage", pair->name,
                  m->arg[0].text);
    p->base = gcut_without_ending(p->arena, pair->name, ".step");
    const char *name = gcut_module_find(p->module, pair->name)
                           ? gcut_module_unused(p->module, p->base, "joint")
                           : pair->name;
    p->primal = gcut_join(given->fwd, given->bwd, name);
}

void gcut_given_refuse(const gcut_graph *user)
{
    const gcut_pair *pair = gcut_pair_of(user);
    if (pair) refuse(user, pair, "there is no plan to show or to change");
}
