/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One decision explained: the plan, the value's place in it, and the whole step planned, lowered and placed
 * again with that value the other way.  And two plan files compared.
 */
#include <string.h>

#include "driver/options.h"
#include "driver/pipeline.h"
#include "partition/why.h"

typedef struct explaining {
    gcut_env *env;
    gcut_arena *arena;
    gcut_graph *g;
    const gcut_options *asked; /* the caller's, of `size` bytes */
    size_t size;
    gcut_options opt;
    const char *value;
    bool json;
    const gcut_plan *plan, *flipped;
    gcut_why *why;
    const char *refused;
    char *made;
    uint32_t ndiags; /* before the flip */
} explaining;

static void explain(void *arg)
{
    explaining *e = arg;
    e->opt = gcut_options_read(e->env, e->asked, e->size);
    e->opt.forward_only = false;
    e->plan = gcut_pipeline_new(e->g, &e->opt, GCUT_TO_KERNEL, e->arena)->plan;
    e->why = gcut_why_of(e->plan, e->value, e->arena);
}

static bool is_named(const char *name, const char *bare)
{
    return !strcmp(name + (name[0] == '%'), bare);
}

/* A wish for the other fate instead of whatever the options wish for this value. */
static void wish(const explaining *e, gcut_options *o, const char *name, gcut_fate to)
{
    const char **save = gcut_calloc(e->arena, o->nsave + 1, sizeof *save);
    const char **recompute = gcut_calloc(e->arena, o->nrecompute + 1, sizeof *recompute);
    size_t ns = 0, nr = 0;
    for (size_t i = 0; i < o->nsave; i++)
        if (!is_named(o->save[i], name)) save[ns++] = o->save[i];
    for (size_t i = 0; i < o->nrecompute; i++)
        if (!is_named(o->recompute[i], name)) recompute[nr++] = o->recompute[i];
    if (to == GCUT_F_SAVED)
        save[ns++] = name;
    else
        recompute[nr++] = name;
    o->save = save, o->nsave = ns;
    o->recompute = recompute, o->nrecompute = nr;
}

static void flip(void *arg)
{
    explaining *e = arg;
    gcut_options o = e->opt;
    const char *name = e->why->r.g->values.at[e->why->v].name;
    if (!o.plan) wish(e, &o, name, gcut_why_flip(e->why));
    e->flipped = gcut_pipeline_flipped(e->g, &o, GCUT_TO_KERNEL, e->arena, name)->plan;
}

/* What the failed flip said becomes part of the answer, and is no error of the call. */
static void take_refusal(explaining *e)
{
    gcut_env *env = e->env;
    e->refused =
        env->ndiags > e->ndiags ? gcut_printf(e->arena, "%s", env->diags[env->ndiags - 1].message) : NULL;
    env->ndiags = e->ndiags;
}

static void explain_and_print(void *arg)
{
    explaining *e = arg;
    explain(e);
    e->ndiags = e->env->ndiags;
    if (!e->why->fixed && !gcut_guard(e->env, flip, e)) {
        if (e->env->status == GCUT_ENOMEM || e->env->status == GCUT_ECANCELLED)
            gcut_throw(e->env, e->env->status);
        take_refusal(e);
    }
    gcut_text t = {.arena = e->arena};
    (e->json ? gcut_why_json : gcut_why_text)(e->why, e->plan, e->flipped, e->refused, &t);
    e->made = gcut_made_string(e->env, &t);
}

char *gcut_explain_sized(gcut_graph *g, const gcut_options *opt, size_t size, const char *value, bool json)
{
    GCUT_NEED(NULL, g, NULL);
    gcut_env *env = g->module->env;
    GCUT_NEED(env, value, NULL);
    explaining e = {.env = env, .g = g, .asked = opt, .size = size, .value = value, .json = json};
    bool fine = gcut_guard_in(env, &e.arena, explain_and_print, &e);
    gcut_arena_free(e.arena);
    return fine ? e.made : NULL;
}

/* ---- plan files ---- */

typedef struct comparing {
    gcut_env *env;
    gcut_arena *arena;
    const char *a, *b;
    bool json, equal;
    char *made;
} comparing;

static void compare(void *arg)
{
    comparing *c = arg;
    gcut_text t = {.arena = c->arena};
    c->equal = gcut_plan_files_compare(gcut_plan_file_read(c->arena, c->a),
                                       gcut_plan_file_read(c->arena, c->b), c->json, &t);
    c->made = gcut_made_string(c->env, &t);
}

char *gcut_diff_plans(gcut_ctx *ctx, const char *a, const char *b, bool json, bool *equal)
{
    if (equal) *equal = false;
    GCUT_NEED(NULL, ctx, NULL);
    GCUT_NEED(ctx->env, a, NULL);
    GCUT_NEED(ctx->env, b, NULL);
    comparing c = {.env = ctx->env, .a = a, .b = b, .json = json};
    bool fine = gcut_guard_in(ctx->env, &c.arena, compare, &c);
    gcut_arena_free(c.arena);
    if (!fine) return NULL;
    if (equal) *equal = c.equal;
    return c.made;
}
