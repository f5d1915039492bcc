/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Plan options from the user's options and a plan file.
 */
#include "driver/options/plan_options.h"

#include <string.h>

#include "gradcut/gradcut_rt.h"
#include "partition/policies/policy.h"

gcut_plan_options gcut_pipeline_plan_options(const gcut_pipeline *p)
{
    gcut_plan_options policy = {0};
    if (!gcut_policy_read(p->opt.policy, &policy))
        gcut_fail(p->env, GCUT_EUSAGE, (gcut_place){0},
                  gcut_printf(p->arena, "policies: %s", gcut_policy_list(p->arena)), "unknown policy '%s'",
                  p->opt.policy);
    bool mincut = policy.policy == GCUT_POLICY_MINCUT;
    const bool saved_limited = p->opt.saved_budget != 0;
    if (!mincut && p->opt.budget == GCUT_BUDGET_MIN)
        gcut_fail(p->env, GCUT_EUSAGE, (gcut_place){0}, "leave one of the two out",
                  "policy '%s' makes one plan: the smallest peak (GCUT_BUDGET_MIN, --budget min) is searched "
                  "for under mincut alone",
                  p->opt.policy);
    if (saved_limited && (!mincut || p->opt.budget || p->opt.plan))
        gcut_fail(p->env, GCUT_EUSAGE, (gcut_place){0}, NULL,
                  "a budget on saved bytes (saved_budget, --saved-budget) leaves no room for %s",
                  p->opt.plan ? "a plan file (plan, --plan)"
                  : mincut    ? "a budget on the peak (budget, --budget)"
                              : "another policy than mincut (policy, --policy)");
    if (p->opt.save_dtype && strcmp(p->opt.save_dtype, "bf16") != 0)
        gcut_fail(p->env, GCUT_EUSAGE, (gcut_place){0}, "bf16, or leave it out: every value as it is",
                  "values cannot be saved as '%s'", p->opt.save_dtype);
    return (gcut_plan_options){.policy = policy.policy,
                               .torch_budget = policy.torch_budget,
                               .lambda = gcut_settings_price(&p->opt),
                               .saved_limited = saved_limited,
                               .saved_budget =
                                   p->opt.saved_budget == GCUT_SAVE_NOTHING ? 0 : p->opt.saved_budget,
                               .at = p->at,
                               .nat = p->nat,
                               .machine = gcut_machine_at(p->machine, p->threads),
                               .packings = gcut_rt_gemm_packings,
                               .save = p->opt.save,
                               .recompute = p->opt.recompute,
                               .nsave = (uint32_t)p->opt.nsave,
                               .nrecompute = (uint32_t)p->opt.nrecompute,
                               .scans = gcut_calloc(p->module->arena, 1, sizeof(gcut_scan_plans)),
                               .file = p->file,
                               .apart = p->opt.apart,
                               .save_dtype = p->opt.save_dtype ? GCUT_BF16 : 0};
}

static bool is_given(const gcut_pipeline *p, const char *symbol)
{
    for (size_t i = 0; i < p->opt.nat; i++)
        if (!strcmp(p->opt.at[i].name, symbol)) return true;
    return false;
}

static bool is_allowed(const gcut_graph *g, const char *symbol, int64_t n)
{
    for (uint32_t i = 0; i < g->decls.n; i++) {
        const gcut_dim_decl *d = &g->decls.at[i];
        if (!strcmp(gcut_dim_symbol_name(g->module->dims, d->sym), symbol))
            return n >= d->lo && n <= d->hi && n % (d->mult > 1 ? d->mult : 1) == 0;
    }
    return false;
}

void gcut_pipeline_read_plan(gcut_pipeline *p, gcut_plan_file *file)
{
    if ((!p->opt.plan && !file) || p->opt.forward_only) return;
    if (p->opt.budget)
        gcut_fail(p->env, GCUT_EUSAGE, (gcut_place){.file = p->opt.plan}, "leave one of the two out",
                  "--plan and --budget both say what is saved");
    p->file = file ? file : gcut_plan_file_read(p->arena, p->opt.plan);
    p->opt.policy = p->file->head.policy;
    p->opt.lambda = p->file->head.lambda == 0 ? GCUT_LAMBDA_FASTEST : p->file->head.lambda;
    p->opt.save_dtype = p->file->save_dtype;
    gcut_size *at = gcut_calloc(p->arena, p->opt.nat + p->file->head.nat + 1, sizeof *at);
    if (p->opt.nat) memcpy(at, p->opt.at, p->opt.nat * sizeof *at);
    for (uint32_t i = 0; i < p->file->head.nat; i++) {
        const gcut_size *x = &p->file->head.at[i];
        if (!is_given(p, x->name) && is_allowed(p->primal, x->name, x->value)) at[p->opt.nat++] = *x;
        p->opt.at = at;
    }
}

const gcut_dim_binding *gcut_pipeline_planned_sizes(const gcut_pipeline *p)
{
    gcut_dim_binding *at = gcut_calloc(p->arena, p->nat + 1, sizeof *at);
    for (uint32_t i = 0; i < p->nat; i++) {
        const char *symbol = gcut_dim_symbol_name(p->module->dims, p->at[i].sym);
        at[i] = p->at[i];
        for (uint32_t k = 0; k < p->file->head.nat; k++) {
            const gcut_size *x = &p->file->head.at[k];
            if (!strcmp(x->name, symbol) && is_allowed(p->primal, symbol, x->value)) at[i].value = x->value;
        }
    }
    return at;
}
