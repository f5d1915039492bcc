/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * gcut_trace.
 */
#include "driver/builder/builder.h"
#include "driver/trace/tree.h"
#include "gradcut/trace.h"

typedef struct trace_job {
    gcut_here at;
    gcut_ctx *ctx;
    const gcut_val *in;
    size_t size;
    const gcut_trace_options *given;
    gcut_trace_options opt;
    gcut_record r;
    gcut_path *tree;
    gcut_record numbers; /* the last recording, at the sizes of the eager graph */
    uint32_t paths;
    bool more;
    gcut_graph *g;
} trace_job;

#define REFUSE(j, hint, ...)                                                                                 \
    gcut_fail((j)->ctx->env, GCUT_EUSAGE, (gcut_place){(j)->at.file, (j)->at.line, 0}, hint, __VA_ARGS__)

/* The eager graph of the arguments; NULL where there are none. */
static const gcut_graph *source(const trace_job *j)
{
    const gcut_graph *g = NULL;
    if (j->r.nin < 0 || j->r.nout < 0) REFUSE(j, NULL, "gcut_trace: a negative number of values");
    if (j->r.nin && !j->in) REFUSE(j, NULL, "gcut_trace: its argument `in` is NULL");
    for (int k = 0; k < j->r.nin; k++) {
        const gcut_graph *own = j->in[k].graph;
        if (!gcut_val_exists(j->in[k]))
            REFUSE(j, "a value that was never set, or that gcut_forget has removed",
                   "gcut_trace: in[%d] is null", k);
        if (!own->computed || own->computed->recording || own->module->env != j->ctx->env)
            REFUSE(j, "gcut_eager makes a graph whose parameters have contents",
                   "gcut_trace: in[%d], %%%s of @%s, is not of an eager graph of this context", k,
                   own->values.at[j->in[k].id].name, own->name);
        if (g && own != g) REFUSE(j, NULL, "gcut_trace: in[%d] is of another graph than in[0]", k);
        g = own;
    }
    return g;
}

static gcut_dim moved_symbol(gcut_module *to, const gcut_graph *from, gcut_dim symbol)
{
    return gcut_dim_symbol(to->dims, gcut_dim_symbol_name(from->module->dims, symbol));
}

/* The type of in[k] in another module. */
static gcut_type moved(const trace_job *j, int k, const gcut_graph *from)
{
    gcut_type t = *gcut_type_of(from, j->in[k].id);
    for (uint32_t d = 0; d < t.rank; d++) {
        if (gcut_dim_known(t.dim[d])) continue;
        if (!gcut_decl_find(from, t.dim[d]))
            REFUSE(j, "declare a symbol for it: gcut_dim_now",
                   "gcut_trace: in[%d] %s: a size is an expression", k, gcut_builder_show(from, j->in[k].id));
        t.dim[d] = moved_symbol(j->r.m, from, t.dim[d]);
    }
    return t;
}

static void begin(void *arg)
{
    trace_job *j = arg;
    gcut_env *env = j->ctx->env;
    GCUT_COPY_KNOWN(env, gcut_trace_options, j->given, j->size, &j->opt);
    const char *name = j->opt.name ? j->opt.name : "traced";
    if (!is_name(name)) REFUSE(j, NULL, "gcut_trace: '%s': a name is made of letters, digits, _ and .", name);
    const gcut_graph *from = source(j);
    gcut_module *m = gcut_module_new(env, env->arena);
    j->r.m = m;
    /* Until the trace gets this name, no copy of a function that is called does. */
    gcut_graph_create(m, name);
    gcut_arena *a = m->arena;
    gcut_recorded_input *in = gcut_calloc(a, (size_t)j->r.nin + 1, sizeof *in);
    gcut_dim_decl *decls = gcut_calloc(a, from ? from->decls.n + 1 : 1, sizeof *decls);
    gcut_dim_binding *bind = gcut_calloc(a, from ? from->computed->bind.n + 1 : 1, sizeof *bind);
    j->r.name = gcut_printf(a, "%s.1", name);
    j->r.in = in, j->r.decls = decls, j->r.bind = bind, j->r.at = j->at;
    for (uint32_t k = 0; from && k < from->decls.n; k++) {
        decls[k] = from->decls.at[k];
        decls[k].sym = moved_symbol(m, from, decls[k].sym);
        j->r.ndecls++;
    }
    for (uint32_t k = 0; from && k < from->computed->bind.n; k++) {
        bind[k] = from->computed->bind.at[k];
        bind[k].sym = moved_symbol(m, from, bind[k].sym);
        j->r.nbind++;
    }
    for (int k = 0; k < j->r.nin; k++) {
        gcut_ref v = j->in[k].id;
        const gcut_value *x = &from->values.at[v];
        if (x->def != GCUT_NONE)
            REFUSE(j, "give it the parameters that the value is computed from, or write it to an input",
                   "gcut_trace: in[%d], %%%s, is no parameter", k, x->name);
        const gcut_param *p = &from->params.at[x->index];
        in[k] =
            (gcut_recorded_input){.name = gcut_intern_name(m, x->name),
                                  .role = p->role,
                                  .type = moved(j, k, from),
                                  .at = v < from->computed->values.n ? from->computed->values.at[v].at : NULL,
                                  .marks = &p->marks};
    }
}

static void add(void *arg)
{
    trace_job *j = arg;
    j->paths += gcut_tree_add(&j->tree, &j->r);
}

/* Can the recording be compared with one at numbers?  Sizes below GCUT_SYMBOL_LEAST broadcast, or are empty. */
static bool has_numbers(const trace_job *j)
{
    bool may = j->r.nbind > 0;
    for (uint32_t k = 0; k < j->r.nbind; k++) may = may && j->r.bind[k].value >= GCUT_SYMBOL_LEAST;
    return may;
}

/* The last recording along its outcomes, at numbers and without contents. */
static void prepare_numbers(void *arg)
{
    trace_job *j = arg;
    gcut_module *m = j->r.m;
    gcut_recorded_input *in = gcut_memdup(m->arena, j->r.in, (size_t)j->r.nin * sizeof *in);
    bool *outcomes = gcut_calloc(m->arena, j->r.nbranches + 1, sizeof *outcomes);
    for (uint32_t k = 0; k < j->r.nbranches; k++) outcomes[k] = j->r.branches[k].taken;
    for (int k = 0; k < j->r.nin; k++) {
        in[k].at = NULL;
        for (uint32_t d = 0; d < in[k].type.rank; d++)
            in[k].type.dim[d] =
                gcut_dim_at(m->dims, in[k].type.dim[d], j->r.bind, j->r.nbind, (gcut_place){0});
    }
    j->numbers = j->r;
    j->numbers.in = in;
    j->numbers.imposed = outcomes, j->numbers.nimposed = j->r.nbranches;
    j->numbers.ndecls = j->numbers.nbind = 0;
    j->numbers.explores = false;
}

/* C code that computes with a size sees the symbol, and must not: what it records at numbers tells. */
static void compare_numbers(void *arg)
{
    trace_job *j = arg;
    gcut_module *m = j->r.m;
    const char *differs = gcut_tree_differs(j->tree, &j->numbers, j->r.bind, j->r.nbind, m->arena);
    if (differs)
        REFUSE(j,
               "C code cannot compute with a symbol: give the arguments sizes that are numbers, or loop by "
               "gcut_scan",
               "gcut_trace: with symbols the function does something else than at the sizes there are: %s",
               differs);
    gcut_graph_drop(j->numbers.g);
}

static bool check_numbers(trace_job *j)
{
    gcut_env *env = j->ctx->env;
    return !has_numbers(j) || (gcut_guard(env, prepare_numbers, j) && gcut_record_run(&j->numbers) &&
                               gcut_guard(env, compare_numbers, j));
}

/* Which path is recorded next. */
static void choose_path(void *arg)
{
    trace_job *j = arg;
    gcut_module *m = j->r.m;
    j->more = false;
    if (!j->opt.branches) return;
    j->r.imposed = gcut_tree_missing(j->tree, m->arena, &j->r.nimposed);
    j->r.explores = j->more = j->r.imposed != NULL;
    if (j->more && j->paths == GCUT_MOST_PATHS)
        REFUSE(j, "gcut_while makes a loop whose length depends on values",
               "gcut_trace: the function has more than %d paths through its gcut_cond", GCUT_MOST_PATHS);
}

static void finish(void *arg)
{
    trace_job *j = arg;
    gcut_module *m = j->r.m;
    bool guarded;
    const char *name = j->opt.name ? j->opt.name : "traced";
    gcut_module_unlist(m, gcut_module_find(m, name));
    j->g = gcut_tree_graph(j->tree, name, &guarded);
}

gcut_graph *gcut_trace_sized(size_t size, gcut_here at, gcut_ctx *ctx, gcut_body *fn, void *user,
                             const gcut_val *in, int nin, int nout, const gcut_trace_options *opt)
{
    GCUT_NEED(NULL, ctx, NULL);
    GCUT_NEED(ctx->env, fn, NULL);
    trace_job j = {.at = at,
                   .ctx = ctx,
                   .in = in,
                   .size = size,
                   .given = opt,
                   .r = {.fn = fn, .user = user, .nin = nin, .nout = nout}};
    bool ok = gcut_guard(ctx->env, begin, &j);
    do {
        ok = ok && gcut_record_run(&j.r) && gcut_guard(ctx->env, add, &j) && check_numbers(&j) &&
             gcut_guard(ctx->env, choose_path, &j);
    } while (ok && j.more);
    ok = ok && gcut_guard(ctx->env, finish, &j);
    if (!ok && j.r.m) gcut_arena_free(j.r.m->arena);
    return ok ? j.g : NULL;
}
