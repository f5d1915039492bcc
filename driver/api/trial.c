/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the checks share.
 */
#include "driver/api/trial.h"

#include <math.h>

#include "driver/options/options.h"
#include "interp/initial_values.h"
#include "report/report.h"

/* Draws random cotangents, except that of a loss, which stays 1.  A cotangent of ones would miss errors,
 * such as permuted elements of a result. */
static void draw_cotangents(gcut_step *s)
{
    gcut_arena *scratch = gcut_arena_new(s->env, s->memory);
    for (uint32_t k = 0; k < s->nparams; k++) {
        const gcut_slot *x = &s->slot[k];
        if (x->role != GCUT_ROLE_cotan || x->bound || !x->type.rank) continue;
        const gcut_array v =
            gcut_random_array(scratch, x->type.dtype, x->type.rank, x->dim, s->p->opt.seed, x->name, 0, 1);
        gcut_array_store(&v, x->at);
    }
    gcut_arena_free(scratch);
}

gcut_step *gcut_trial_step(const gcut_trial *c, gcut_graph *g, const gcut_settings *opt)
{
    gcut_step *s = gcut_step_of_graph(g, opt, gcut_arena_new(c->env, c->a));
    for (size_t i = 0; i < c->nfeed; i++)
        if (gcut_slot_find(s, c->feed[i].name)) gcut_step_bind_npy(s, c->feed[i].name, c->feed[i].npy);
    for (size_t i = 0; i < c->ngiven; i++)
        gcut_step_set(s, c->given[i].name, c->given[i].at, c->given[i].rank, c->given[i].dim);
    gcut_step_prepare(s);
    draw_cotangents(s);
    return s;
}

gcut_settings gcut_trial_options(const gcut_trial *c, gcut_backend b)
{
    gcut_settings o = c->options;
    o.backend = b;
    o.f64 = b == GCUT_BACKEND_EAGER;
    o.dump = "";
    return o;
}

gcut_array gcut_trial_array(gcut_arena *a, const gcut_slot *x)
{
    return gcut_array_load(a, x->type.dtype, x->type.rank, x->dim, x->at);
}

void gcut_trial_worst(const gcut_trial *c, const char *value, double rel, int64_t index)
{
    if (c->out->worst && !(rel > c->out->max_rel_error)) return;
    c->out->worst = gcut_keep(c->keep, value);
    c->out->max_rel_error = rel;
    c->out->worst_index = index < 0 ? 0 : index;
}

void gcut_trial_json(const gcut_trial *c, gcut_json *j)
{
    gcut_json_object(j);
    gcut_json_members(j, "ok:b max_rel_error:r worst:s worst_index:i", c->out->ok, c->out->max_rel_error,
                      c->out->worst, c->out->worst_index);
}

void gcut_trial_tell_rewritten(const gcut_pipeline *p, gcut_text *out)
{
    const uint32_t n = p->rewritten.n;
    if (n)
        gcut_text_add(out,
                      "algebra applied %u identit%s of real numbers: rounding, infinities and NaN may differ "
                      "(--no-algebra)\n",
                      n, n == 1 ? "y" : "ies");
}

typedef struct report_job {
    gcut_trial *c;
    void (*body)(gcut_trial *c);
} report_job;

static void report(void *arg, const gcut_made *m)
{
    const report_job *j = arg;
    gcut_trial *c = j->c;
    c->out = m->object;
    c->keep = m->keep;
    c->a = m->scratch;
    c->options = gcut_settings_of(c->env, c->opt, c->size);
    c->options.unbound = GCUT_UNBOUND_RANDOM;
    if (isnan(c->tol) || c->tol < 0)
        gcut_fail(c->env, GCUT_EUSAGE, (gcut_place){0}, "0 chooses one by dtype", "a tolerance cannot be %g",
                  c->tol);
    j->body(c);
}

gcut_check_report *gcut_trial_report(const char *call, gcut_trial *c, void (*body)(gcut_trial *c))
{
    c->env = c->g ? c->g->module->env : NULL;
    if (!c->g || (c->nfeed && !c->feed)) {
        gcut_refuse_null(c->env, call, c->g ? "feed" : "g");
        return NULL;
    }
    return gcut_made_by(c->env, sizeof(gcut_check_report), report, &(report_job){c, body});
}
