/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Recording: the function runs on a graph whose values are there when gcut_cond asks.
 */
#include "driver/trace/record.h"

#include "driver/builder/builder.h"
#include "driver/recording.h"

typedef struct run {
    gcut_record *r;
    gcut_computed *computed;
    gcut_val *in, *out;
    uintptr_t frame; /* of gcut_record_run */
    int number;      /* of the recording, in this thread */
    gcut_refused refused;
} run;

static void begin(void *arg)
{
    run *j = arg;
    gcut_record *r = j->r;
    gcut_module *m = r->m;
    gcut_graph *g = gcut_graph_create(
        m, gcut_module_find(m, r->name) ? gcut_module_unused(m, r->name, "again") : r->name);
    r->g = g;
    g->loc = gcut_loc_file(m, r->at.file, r->at.line, 0, NULL);
    for (uint32_t k = 0; k < r->ndecls; k++) gcut_decl_add(g, r->decls[k]);
    j->computed = gcut_computed_new(g, gcut_arena_new(m->env, m->arena));
    j->computed->recording = true;
    for (uint32_t k = 0; k < r->nbind; k++) *GCUT_PUSH(j->computed->arena, &j->computed->bind) = r->bind[k];
    j->computed->imposed = r->imposed, j->computed->nimposed = r->nimposed,
    j->computed->explores = r->explores;
    j->in = gcut_calloc(m->arena, (size_t)r->nin + 1, sizeof *j->in);
    j->out = gcut_calloc(m->arena, (size_t)r->nout + 1, sizeof *j->out);
    for (int k = 0; k < r->nin; k++) {
        gcut_ref v = gcut_param_new(g, r->in[k].role, r->in[k].name, &r->in[k].type);
        for (uint32_t i = 0; r->in[k].marks && i < r->in[k].marks->n; i++)
            gcut_mark_add(m->arena, &g->params.at[k].marks, r->in[k].marks->at[i]);
        if (r->in[k].at) gcut_computed_give(j->computed, v, r->in[k].at, false);
        j->in[k] = gcut_val_of(g, v);
    }
    j->number = gcut_recording_begin(m->env, g->name, j->frame);
}

/* Has the function given no result of a name that the recording needs? */
static void check_unused(const gcut_record *r, gcut_place at, const char *name)
{
    for (uint32_t k = 0; k < r->g->results.n; k++)
        if (r->g->results.at[k].role == GCUT_ROLE_out && !strcmp(r->g->results.at[k].name, name))
            gcut_fail(r->m->env, GCUT_EUSAGE, at, "call it something else",
                      "the function recorded as @%s has a result '%s' of its own", r->g->name, name);
}

static void end(void *arg)
{
    run *j = arg;
    gcut_record *r = j->r;
    gcut_env *env = r->m->env;
    const gcut_place at = {r->at.file, r->at.line, 0};
    if (*j->refused.what)
        gcut_fail(env, GCUT_EUSAGE, at, GCUT_OUTSIDE_RECORDING, "the function recorded as @%s %s", r->g->name,
                  j->refused.what);
    if (r->g->params.n != (uint32_t)r->nin)
        gcut_fail(env, GCUT_EUSAGE, at, "hand it in as an argument",
                  "the function recorded as @%s declares %%%s, for which no call gives contents", r->g->name,
                  r->g->values.at[r->g->params.at[r->nin].value].name);
    if (r->g->decls.n != r->ndecls)
        gcut_fail(env, GCUT_EUSAGE, at, "a size is a number, or one of an argument",
                  "the function recorded as @%s declares the size %s, which no call gives", r->g->name,
                  gcut_dim_symbol_name(r->m->dims, r->g->decls.at[r->ndecls].sym));
    for (int k = 0; k < r->nout; k++) {
        if (!j->out[k].id || !j->out[k].graph)
            gcut_fail(env, GCUT_EUSAGE, at, "it gives every out[k] a value, also where it returns early",
                      "the function recorded as @%s set no out[%d]", r->g->name, k);
        if (j->out[k].graph != r->g || !gcut_val_exists(j->out[k]))
            gcut_fail(env, GCUT_EUSAGE, at, "a result is a value of the graph that the function is given",
                      "the function recorded as @%s gave out[%d] a value of another graph, @%s", r->g->name,
                      k, j->out[k].graph->name);
        const char *name = r->nout == 1 ? "out" : gcut_printf(r->m->arena, "out%d", k);
        check_unused(r, at, name);
        gcut_result_new(r->g, GCUT_ROLE_out, name, j->out[k].id);
    }
    if (j->computed->branches.n) check_unused(r, at, "guard");
    r->branches =
        gcut_memdup(r->m->arena, j->computed->branches.at, j->computed->branches.n * sizeof *r->branches);
    r->nbranches = j->computed->branches.n;
}

/* The function has cleared the errors. */
static void say_failed(void *arg)
{
    const gcut_record *r = arg;
    gcut_fail(r->m->env, GCUT_EUSAGE, (gcut_place){r->at.file, r->at.line, 0}, NULL,
              "a call of the function recorded as @%s failed", r->g->name);
}

bool gcut_record_run(gcut_record *r)
{
    gcut_env *env = r->m->env;
    run j = {.r = r, .frame = (uintptr_t)__builtin_dwarf_cfa()};
    if (!gcut_guard(env, begin, &j)) return false;
    r->fn(r->user, r->g, j.in, j.out);
    j.refused = gcut_recording_end(j.number);
    gcut_module_unlist(r->m, r->g);
    const bool ok = !r->g->failed && gcut_guard(env, end, &j);
    if (r->g->failed && env->last_status == GCUT_OK) gcut_guard(env, say_failed, r);
    r->g->computed = NULL;
    gcut_arena_free(j.computed->arena);
    return ok;
}
