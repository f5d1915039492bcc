/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The interpreted backends, slowest first: eager runs the joint graph as reverse mode makes it and keeps
 * every value; joint runs what folding, common subexpressions and dead code elimination leave of it; planned
 * runs the forward graph and the backward graph, which gets its parameters alone.
 *
 * Where forward and backward are separate calls, planned stores the results that the forward graph saves in
 * the block.  The others store the #transient parameters there, and run the whole joint graph in the backward
 * call.
 */
#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "driver/load/step.h"
#include "text/text.h"

/* ---- the block of saved values ---- */

/* An item of the block: a saved value for the planned backend; for the others a #transient parameter, which
 * the joint graph reads in the backward call. */
typedef struct item {
    gcut_type type;
    int64_t dim[GCUT_MAX_RANK];
    int64_t at, bytes;
    uint32_t index; /* of the forward graph's result, or of the slot */
} item;

typedef struct block {
    GCUT_VEC(item) items;
    int64_t bytes;
} block;

static bool is_planned(const gcut_step *s)
{
    return s->p->opt.backend == GCUT_BACKEND_PLANNED && s->p->bwd;
}

/* With options.f64, floats are computed and stored in f64. */
static gcut_dtype kept_dtype(const gcut_step *s, gcut_dtype t)
{
    return s->p->opt.f64 && gcut_dtype_is_float(t) ? GCUT_F64 : t;
}

static void add_item(const gcut_step *s, gcut_arena *a, block *b, const gcut_type *t, uint32_t index)
{
    item x = {.type = *t, .index = index, .at = b->bytes, .bytes = gcut_dtype_bytes(kept_dtype(s, t->dtype))};
    const char *file = s->p->module->file, *what = "the saved values";
    for (uint32_t d = 0; d < t->rank; d++) {
        if (!gcut_dim_eval(s->p->module->dims, t->dim[d], s->size, s->nsizes, &x.dim[d]))
            gcut_fail(s->env, GCUT_EDIM, (gcut_place){.file = file}, NULL, "%s have no size here", what);
        x.bytes = gcut_bytes_mul(s->env, file, what, x.bytes, x.dim[d]);
    }
    b->bytes = gcut_bytes_add(s->env, file, what, b->bytes, gcut_bytes_lines(s->env, file, what, x.bytes));
    *GCUT_PUSH(a, &b->items) = x;
}

static block block_of(const gcut_step *s, gcut_arena *a)
{
    block b = {.bytes = 64}; /* its header */
    const gcut_graph *fwd = s->p->fwd;
    for (uint32_t i = 0; is_planned(s) && i < fwd->results.n; i++)
        if (fwd->results.at[i].role == GCUT_ROLE_saved)
            add_item(s, a, &b, gcut_type_of(fwd, fwd->results.at[i].value), i);
    for (uint32_t k = 0; !is_planned(s) && k < s->nparams; k++)
        if (gcut_is_transient(s->slot[k].marks)) add_item(s, a, &b, &s->slot[k].type, k);
    return b;
}

gcut_rt_plan gcut_interpret_plan(const gcut_step *s)
{
    gcut_arena *a = gcut_arena_new(s->env, s->memory);
    unsigned char hash[GCUT_HASH_BYTES];
    gcut_text t = {.arena = a};
    gcut_hash h;
    gcut_rt_plan plan = {.saved_bytes = block_of(s, a).bytes};
    int64_t *dims = gcut_calloc(a, s->nsizes + 1, sizeof *dims);
    for (uint32_t i = 0; i < s->nsizes; i++) dims[i] = s->size[i].value;
    plan.sizes = gcut_rt_sizes(dims, (int)s->nsizes);
    gcut_print_graph(is_planned(s) ? s->p->bwd : s->p->joint, &(gcut_print_options){.no_loc = true}, &t);
    gcut_hash_begin(&h);
    gcut_hash_int(&h, s->p->opt.backend);
    gcut_hash_int(&h, s->p->opt.f64);
    gcut_hash_field(&h, t.at, t.n);
    gcut_hash_end(&h, hash);
    memcpy(&plan.step, hash, sizeof plan.step);
    gcut_arena_free(a);
    return plan;
}

/* Fills the block.  out: the results of the forward graph; NULL = store the #transient parameters. */
static void keep(const gcut_step *s, gcut_arena *a, const gcut_array *out, char *saved)
{
    block b = block_of(s, a);
    for (uint32_t i = 0; i < b.items.n; i++) {
        const item *x = &b.items.at[i];
        gcut_array v = out ? out[x->index]
                           : gcut_array_load(a, x->type.dtype, x->type.rank, x->dim, s->slot[x->index].at);
        v.dtype = kept_dtype(s, x->type.dtype);
        gcut_array_store(&v, saved + x->at);
    }
}

/* Reads the block: by result of the forward graph, or by slot. */
static gcut_array *kept(const gcut_step *s, gcut_arena *a, const char *saved)
{
    block b = block_of(s, a);
    size_t room = is_planned(s) ? s->p->fwd->results.n : s->nparams;
    gcut_array *all = gcut_calloc(a, room + 1, sizeof *all);
    for (uint32_t i = 0; i < b.items.n; i++) {
        const item *x = &b.items.at[i];
        all[x->index] = gcut_array_load(a, kept_dtype(s, x->type.dtype), x->type.rank, x->dim, saved + x->at);
        all[x->index].dtype = x->type.dtype;
    }
    return all;
}

/* ---- graphs ---- */

/* before: by slot, the #transient parameters as the block has them; NULL = read the slots as they are. */
static gcut_array load(const gcut_step *s, gcut_arena *a, const char *name, gcut_role role,
                       const gcut_array *before)
{
    for (uint32_t k = 0; k < s->nparams; k++) {
        const gcut_slot *x = &s->slot[k];
        if (x->role != role || strcmp(x->name, name) != 0) continue;
        return before && gcut_is_transient(x->marks)
                   ? before[k]
                   : gcut_array_load(a, x->type.dtype, x->type.rank, x->dim, x->at);
    }
    GCUT_NEVER("a parameter of the forward or backward graph is one of the joint graph");
    return (gcut_array){0};
}

/* Stores the results of that call, after all reads: a `next` result overwrites its parameter. */
static void store(gcut_step *s, int which, const gcut_graph *g, const gcut_array *out)
{
    for (uint32_t i = 0; i < g->results.n; i++) {
        const gcut_result *r = &g->results.at[i];
        if (s->p->bwd && !(which & (gcut_result_is_late(r) ? GCUT_RT_BACKWARD : GCUT_RT_FORWARD))) continue;
        for (uint32_t k = 0; k < s->nslots; k++) {
            const gcut_slot *x = &s->slot[k];
            bool own = r->role == x->role && (r->role == GCUT_ROLE_grad || r->role == GCUT_ROLE_out);
            bool next = r->role == GCUT_ROLE_next && k < s->nparams && x->updated;
            if ((own || next) && !strcmp(x->result, r->name)) gcut_array_store(&out[i], x->at);
        }
    }
}

gcut_array *gcut_step_interpret_graph(const gcut_step *s, gcut_arena *a, const gcut_interpreted *how,
                                      const gcut_graph *g, gcut_array **values)
{
    gcut_array *in = gcut_calloc(a, g->params.n + 1, sizeof *in);
    gcut_array *out = gcut_calloc(a, g->results.n + 1, sizeof *out);
    for (uint32_t i = 0; i < g->params.n; i++) {
        const char *name = g->values.at[g->params.at[i].value].name;
        const gcut_array *given = NULL;
        for (uint32_t k = 0;
             how->crossed && g->params.at[i].role == GCUT_ROLE_saved && k < how->fwd->results.n; k++)
            if (how->fwd->results.at[k].role == GCUT_ROLE_saved &&
                !strcmp(how->fwd->results.at[k].name, name))
                given = &how->crossed[k];
        in[i] = given ? *given : load(s, a, name, g->params.at[i].role, how->before);
    }
    if (values) *values = gcut_calloc(a, g->values.n, sizeof **values);
    gcut_interp_at(g, how->precision, a, in, how->at, how->nat, out, values ? *values : NULL);
    return out;
}

/* crossed: the saved values, by result of the forward graph; NULL unless g is the backward graph. */
static gcut_array *run(const gcut_step *s, gcut_arena *a, const gcut_graph *g, const gcut_array *crossed,
                       const gcut_array *before, gcut_array **values)
{
    const gcut_interpreted how = {.precision = s->p->opt.f64 ? GCUT_EXACT : GCUT_STATED,
                                  .at = s->size,
                                  .nat = s->nsizes,
                                  .fwd = s->p->fwd,
                                  .crossed = crossed,
                                  .before = before};
    return gcut_step_interpret_graph(s, a, &how, g, values);
}

/* Runs the forward graph, the backward graph, or both. */
static void run_pair(gcut_step *s, gcut_arena *a, int which, char *saved, gcut_array *values[2])
{
    gcut_array *out = NULL, *second = NULL;
    if (which & GCUT_RT_FORWARD) {
        out = run(s, a, s->p->fwd, NULL, NULL, values ? &values[0] : NULL);
        if (saved) keep(s, a, out, saved);
    }
    if (which & GCUT_RT_BACKWARD)
        second = run(s, a, s->p->bwd, saved ? kept(s, a, saved) : out, NULL, values ? &values[1] : NULL);
    if (out) store(s, which, s->p->fwd, out);
    if (second) store(s, which, s->p->bwd, second);
}

/* The graph of a forward call.  A joint graph that the user wrote has no forward function; its split has
 * one. */
static const gcut_graph *forward_of(const gcut_step *s)
{
    return s->p->raw == s->p->folded && s->p->bwd ? s->p->fwd : s->p->folded;
}

static void run_whole(gcut_step *s, gcut_arena *a, int which, char *saved, gcut_array *values[2])
{
    bool forward = which == GCUT_RT_FORWARD || !s->p->bwd;
    const gcut_graph *g = forward                                   ? forward_of(s)
                          : s->p->opt.backend == GCUT_BACKEND_EAGER ? s->p->raw
                                                                    : s->p->joint;
    if (saved && which & GCUT_RT_FORWARD) keep(s, a, NULL, saved);
    const gcut_array *before = saved && which == GCUT_RT_BACKWARD ? kept(s, a, saved) : NULL;
    store(s, which, g, run(s, a, g, NULL, before, values ? &values[0] : NULL));
}

void gcut_step_interpret(gcut_step *s, int which, char *saved, gcut_array *values[2])
{
    gcut_arena *a = gcut_arena_new(s->env, s->memory);
    (is_planned(s) ? run_pair : run_whole)(s, a, which, saved, values);
    if (!values) gcut_arena_free(a); /* otherwise the values stay until the sizes change */
}
