/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Recording: the function runs on a graph whose values are there when gcut_cond asks.
 *
 * The function may leave by longjmp or an exception, past gcut_record_run.  What this thread notes of the recording is then
 * stale, which the stack tells: the frame of gcut_record_run is no longer on it.  The notes point to nothing that may have
 * been freed meanwhile.
 */
#include "driver/trace/record.h"

#include <stdio.h>
#include <unwind.h>

#include "driver/builder/builder.h"

#define MOST_UNROLLED 8
#define MOST_NESTED 16

/* The recordings of this thread, the innermost last. */
typedef struct recorder {
    const gcut_env *env;
    uintptr_t frame; /* of gcut_record_run: its canonical frame address */
    char name[64];   /* of the graph */
} recorder;
static _Thread_local recorder recorders[MOST_NESTED];
static _Thread_local int nested;

typedef struct search {
    uintptr_t frame;
    bool found;
} search;

static _Unwind_Reason_Code compare_frame(struct _Unwind_Context *at, void *arg)
{
    search *s = arg;
    s->found = _Unwind_GetCFA(at) == s->frame;
    return s->found ? _URC_END_OF_STACK : _URC_NO_REASON;
}

static bool on_stack(const recorder *r)
{
    search s = {.frame = r->frame};
    _Unwind_Backtrace(compare_frame, &s);
    return s.found;
}

/* Forgets what was left. */
static void settle(void)
{
    while (nested && !on_stack(&recorders[nested - 1])) nested--;
}

bool gcut_is_recording(const gcut_env *env)
{
    settle();
    for (int k = 0; k < nested; k++)
        if (recorders[k].env == env) return true;
    return false;
}

void gcut_refuse_recording(gcut_env *env, const char *what)
{
    if (nested) settle();
    if (!nested) return;
    gcut_fail(env, GCUT_EUSAGE, (gcut_place){0}, "do it before or after gcut_trace or gcut_jit_call",
              "the function that is recorded as @%s %s", recorders[nested - 1].name, what);
}

typedef struct run {
    gcut_record *r;
    gcut_live *live;
    gcut_val *in, *out;
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
    j->live = gcut_live_new(g, gcut_arena_new(m->env, m->arena));
    j->live->recording = true;
    for (uint32_t k = 0; k < r->nbind; k++) *GCUT_PUSH(j->live->arena, &j->live->bind) = r->bind[k];
    j->live->imposed = r->imposed, j->live->nimposed = r->nimposed, j->live->explores = r->explores;
    j->in = gcut_calloc(m->arena, (size_t)r->nin + 1, sizeof *j->in);
    j->out = gcut_calloc(m->arena, (size_t)r->nout + 1, sizeof *j->out);
    for (int k = 0; k < r->nin; k++) {
        gcut_ref v = gcut_param_new(g, r->in[k].role, r->in[k].name, &r->in[k].type);
        for (uint32_t i = 0; r->in[k].marks && i < r->in[k].marks->n; i++)
            gcut_mark_add(m->arena, &g->params.at[k].marks, r->in[k].marks->at[i]);
        if (r->in[k].at) gcut_live_give(j->live, v, r->in[k].at, false);
        j->in[k] = (gcut_val){g, v};
    }
    settle();
    if (nested == MOST_NESTED)
        gcut_fail(m->env, GCUT_EUNSUPPORTED, (gcut_place){0}, NULL,
                  "%d functions are recorded inside each other", nested);
}

/* Says where a C loop was unrolled: the line of the op that was recorded most often, if that is more than MOST_UNROLLED. */
static void advise(const gcut_record *r)
{
    const gcut_graph *g = r->g;
    gcut_module *m = r->m;
    gcut_arena *a = gcut_arena_new(m->env, m->arena);
    uint32_t *count = gcut_calloc(a, (size_t)m->locs.n * GCUT_NOPS, sizeof *count), most = 0, at = 0;
    for (uint32_t n = 0; n < g->nodes.n; n++) {
        const gcut_node *node = gcut_node_at(g, n);
        uint32_t *c = &count[(size_t)node->loc * GCUT_NOPS + node->op];
        if (node->loc && ++*c > most) most = *c, at = n;
    }
    if (most > MOST_UNROLLED) {
        const gcut_place place = gcut_loc_place(m, g->nodes.at[at].loc);
        gcut_env_log(m->env, "%s:%d: '%s' was recorded %u times in @%s: gcut_scan makes one body of a loop",
                     place.file, place.line, gcut_op_get((gcut_op)g->nodes.at[at].op)->name, (unsigned)most,
                     g->name);
    }
    gcut_arena_free(a);
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
    if (r->g->params.n != (uint32_t)r->nin)
        gcut_fail(env, GCUT_EUSAGE, at, "hand it in as an argument",
                  "the function recorded as @%s declares %%%s, for which no call gives contents", r->g->name,
                  r->g->values.at[r->g->params.at[r->nin].value].name);
    for (int k = 0; k < r->nout; k++) {
        if (!j->out[k].id || !j->out[k].graph)
            gcut_fail(env, GCUT_EUSAGE, at, "it gives every out[k] a value, also where it returns early",
                      "the function recorded as @%s set no out[%d]", r->g->name, k);
        if (j->out[k].graph != r->g || j->out[k].id >= r->g->values.n)
            gcut_fail(env, GCUT_EUSAGE, at, "a result is a value of the graph that the function is given",
                      "the function recorded as @%s gave out[%d] a value of another graph, @%s", r->g->name,
                      k, j->out[k].graph->name);
        const char *name = r->nout == 1 ? "out" : gcut_printf(r->m->arena, "out%d", k);
        check_unused(r, at, name);
        gcut_result_new(r->g, GCUT_ROLE_out, name, j->out[k].id);
    }
    if (j->live->branches.n) check_unused(r, at, "guard");
    r->branches = gcut_memdup(r->m->arena, j->live->branches.at, j->live->branches.n * sizeof *r->branches);
    r->nbranches = j->live->branches.n;
    if (env->hook.log) advise(r);
}

bool gcut_record_run(gcut_record *r)
{
    gcut_env *env = r->m->env;
    run j = {.r = r};
    if (!gcut_guard(env, begin, &j)) return false;
    recorder *own = &recorders[nested++];
    *own = (recorder){.env = env, .frame = (uintptr_t)__builtin_dwarf_cfa()};
    snprintf(own->name, sizeof own->name, "%s", r->g->name);
    r->fn(r->user, r->g, j.in, j.out);
    nested = (int)(own - recorders);
    const bool ok = !r->g->failed && gcut_guard(env, end, &j);
    r->g->live = NULL;
    gcut_arena_free(j.live->arena);
    return ok;
}
