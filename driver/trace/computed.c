/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Values of a graph under construction: small ones by the interpreter at their dtype, large ones by steps of one op.
 */
#include "driver/trace/computed.h"

#include <string.h>

#include "driver/load/step.h"
#include "driver/options/options.h"
#include "graph/ops/infer.h"
#include "graph/ops/node_facts.h"
#include "text/text.h"

/* Work above which a node has a step of its own, in elements and multiply-adds. */
#define LARGE (1 << 20)
#define MOST_STEPS 256 /* later ops are interpreted */

gcut_computed *gcut_computed_new(gcut_graph *g, gcut_arena *a)
{
    gcut_computed *l = gcut_calloc(a, 1, sizeof *l);
    l->g = g;
    l->arena = a;
    l->made = gcut_arena_new(g->module->env, a);
    l->thread = pthread_self();
    g->computed = l;
    return l;
}

void gcut_computed_check(const gcut_computed *l)
{
    if (!l->recording || pthread_equal(l->thread, pthread_self())) return;
    gcut_fail(l->g->module->env, GCUT_EUSAGE, (gcut_place){0},
              "start threads before or after the recording; ops run on all cores by themselves",
              "@%s is recorded on another thread", l->g->name);
}

/* ---- memory ---- */

static gcut_computed_value *slot(gcut_computed *l, gcut_ref v)
{
    while (l->values.n <= v) *GCUT_PUSH(l->arena, &l->values) = (gcut_computed_value){0};
    return &l->values.at[v];
}

/* Sets the sizes and bytes of v. */
static void measure(gcut_computed *l, gcut_ref v, gcut_computed_value *x)
{
    const gcut_type *t = gcut_type_of(l->g, v);
    x->bytes = gcut_dtype_bytes(t->dtype);
    for (uint32_t d = 0; d < t->rank; d++) {
        x->dim[d] = gcut_dim_at(l->g->module->dims, t->dim[d], l->bind.at, l->bind.n, gcut_where_of(l->g, v));
        if (__builtin_mul_overflow(x->bytes, x->dim[d], &x->bytes))
            gcut_fail(l->g->module->env, GCUT_EDIM, gcut_where_of(l->g, v), NULL,
                      "%%%s %s is larger than memory", l->g->values.at[v].name,
                      gcut_type_text(l->g->module->arena, l->g->module, t));
    }
}

static void *allocate(gcut_computed *l, gcut_ref v)
{
    gcut_computed_value *x = slot(l, v);
    measure(l, v, x);
    /* What gcut_forget removes is freed by it. */
    const bool removed = l->g->nodes.n && v >= l->g->nodes.at[0].res0;
    return gcut_step_memory(removed ? l->made : l->arena, x->bytes ? x->bytes : 1);
}

void gcut_computed_give(gcut_computed *l, gcut_ref v, const void *at, bool copies)
{
    const void *own = at;
    if (copies) {
        void *to = slot(l, v)->at ? (void *)(uintptr_t)slot(l, v)->at : allocate(l, v);
        if (slot(l, v)->bytes) memcpy(to, at, (size_t)slot(l, v)->bytes);
        own = to;
    } else {
        measure(l, v, slot(l, v));
    }
    slot(l, v)->at = own;
}

static gcut_array loaded(gcut_computed *l, gcut_ref v, gcut_arena *a)
{
    const gcut_type *t = gcut_type_of(l->g, v);
    const gcut_computed_value *x = slot(l, v);
    return gcut_array_load(a, t->dtype, t->rank, x->dim, x->at);
}

/* ---- one node ---- */

static double work(gcut_computed *l, const gcut_node *n)
{
    double w = gcut_node_flops(l->g, n, l->bind.at, l->bind.n) / 2;
    for (uint32_t k = 0; k < n->nargs; k++) w += (double)slot(l, gcut_arg(l->g, n, k))->bytes / 4;
    return w;
}

static void interpret(gcut_computed *l, uint32_t n)
{
    const gcut_node node = *gcut_node_at(l->g, n);
    gcut_arena *a = gcut_arena_new(l->g->module->env, l->arena);
    gcut_array *arg = gcut_calloc(a, node.nargs + 1, sizeof *arg), out[GCUT_MAX_RESULTS];
    for (uint32_t k = 0; k < node.nargs; k++) arg[k] = loaded(l, gcut_arg(l->g, &node, k), a);
    gcut_interp_node(l->g, n, GCUT_STATED, a, l->bind.at, l->bind.n, arg, out);
    for (uint32_t k = 0; k < node.nres; k++) {
        void *to = allocate(l, node.res0 + k);
        gcut_array_store(&out[k], to);
        slot(l, node.res0 + k)->at = to;
    }
    gcut_arena_free(a);
}

/* The graph of node n alone: operand k is input xk, result k is output yk.  Its text has no name of g. */
static gcut_graph *alone(const gcut_graph *g, uint32_t n, gcut_arena *a)
{
    const gcut_node *node = gcut_node_at(g, n);
    gcut_graph *one = gcut_graph_create(g->module, gcut_module_unused(g->module, g->name, "op"));
    gcut_ref *arg = gcut_calloc(a, node->nargs + 1, sizeof *arg);
    gcut_ref *map = gcut_calloc(a, g->values.n, sizeof *map);
    gcut_decls_copy(one, g);
    for (uint32_t k = 0; k < node->nargs; k++) {
        gcut_ref v = gcut_arg(g, node, k);
        arg[k] = map[v] =
            gcut_param_new(one, GCUT_ROLE_input, gcut_printf(a, "x%u", (unsigned)k), gcut_type_of(g, v));
    }
    gcut_ref r = gcut_node_copy(one, g, n, arg, map, node->loc, "y");
    for (uint32_t k = 0; k < node->nres; k++)
        gcut_result_new(one, GCUT_ROLE_out, gcut_printf(a, "y%u", (unsigned)k), r + k);
    return one;
}

typedef struct step_job {
    gcut_graph *one;
    gcut_arena *a;
    gcut_step *step;
} step_job;

static void make_step(void *arg)
{
    step_job *j = arg;
    const gcut_options o = {.forward_only = true};
    gcut_settings s = gcut_settings_of(j->one->module->env, &o, sizeof o);
    j->step = gcut_step_cached(j->one, &s, j->a);
}

/* NULL: there are too many, or it cannot be compiled here. */
static gcut_step *step_of(gcut_computed *l, uint32_t n, gcut_arena *a)
{
    gcut_graph *one = alone(l->g, n, a);
    gcut_text text = {.arena = a};
    gcut_print_graph(one, &(gcut_print_options){.no_loc = true, .name = "op"}, &text);
    uint32_t k = 0;
    while (k < l->steps.n && strcmp(l->steps.at[k].text, text.at) != 0) k++;
    if (k == l->steps.n && k < MOST_STEPS) {
        gcut_env *env = l->g->module->env;
        const uint32_t before = env->ndiags;
        step_job j = {one, gcut_arena_new(env, l->arena), NULL};
        if (!gcut_guard(env, make_step, &j)) gcut_diags_drop(env, before);
        *GCUT_PUSH(l->arena, &l->steps) = (gcut_op_step){gcut_keep(l->arena, text.at), j.step};
    }
    gcut_graph_drop(one);
    return k < l->steps.n ? l->steps.at[k].step : NULL;
}

static bool compiled(gcut_computed *l, uint32_t n)
{
    const gcut_node node = *gcut_node_at(l->g, n);
    gcut_arena *a = gcut_arena_new(l->g->module->env, l->arena);
    gcut_step *s = step_of(l, n, a);
    for (uint32_t k = 0; s && k < node.nargs; k++) {
        gcut_ref v = gcut_arg(l->g, &node, k);
        gcut_step_bind(s, gcut_printf(a, "x%u", (unsigned)k), (void *)(uintptr_t)slot(l, v)->at,
                       gcut_type_of(l->g, v)->rank, slot(l, v)->dim);
    }
    for (uint32_t k = 0; s && k < node.nres; k++) {
        gcut_ref v = node.res0 + k;
        void *to = allocate(l, v);
        gcut_step_bind(s, gcut_printf(a, "y%u", (unsigned)k), to, gcut_type_of(l->g, v)->rank,
                       slot(l, v)->dim);
        slot(l, v)->at = to;
    }
    if (s) {
        gcut_step_prepare(s);
        gcut_step_run(s, GCUT_RT_FORWARD);
    }
    gcut_arena_free(a);
    return s != NULL;
}

static void compute(gcut_computed *l, uint32_t n)
{
    const gcut_node *node = gcut_node_at(l->g, n);
    if (work(l, node) < LARGE || !compiled(l, n)) interpret(l, n);
}

/* ---- values ---- */

static void need_contents(gcut_computed *l, gcut_ref v)
{
    if (slot(l, v)->at || gcut_def(l->g, v)) return;
    gcut_fail(l->g->module->env, GCUT_EUSAGE, (gcut_place){0}, "gcut_write gives it some",
              "%%%s has no contents", l->g->values.at[v].name);
}

void gcut_computed_catch_up(gcut_computed *l)
{
    for (; !l->recording && l->done < l->g->nodes.n; l->done++) {
        const gcut_node *n = gcut_node_at(l->g, l->done);
        for (uint32_t k = 0; k < n->nargs; k++) need_contents(l, gcut_arg(l->g, n, k));
        compute(l, l->done);
    }
}

const gcut_computed_value *gcut_computed_value_of(gcut_computed *l, gcut_ref v)
{
    const gcut_graph *g = l->g;
    if (slot(l, v)->at) return slot(l, v);
    gcut_arena *a = gcut_arena_new(g->module->env, l->arena);
    bool *in = gcut_calloc(a, g->values.n, sizeof *in);
    in[v] = true;
    gcut_add_dependences(g, in);
    for (gcut_ref x = 1; x < g->values.n; x++)
        if (in[x]) need_contents(l, x);
    for (uint32_t n = 0; n < g->nodes.n; n++)
        if (gcut_any_result(gcut_node_at(g, n), in) && !slot(l, gcut_node_at(g, n)->res0)->at) compute(l, n);
    gcut_arena_free(a);
    return slot(l, v);
}

bool gcut_computed_branch(gcut_computed *l, gcut_ref v, gcut_locid loc)
{
    const gcut_type *t = gcut_type_of(l->g, v);
    if (t->dtype != GCUT_BOOL || t->rank)
        gcut_fail(l->g->module->env, GCUT_ETYPE, gcut_loc_place(l->g->module, loc),
                  "compare scalars, as in gcut_lt(gcut_const(g, GCUT_F32, 0), gcut_sum(x))",
                  "gcut_cond: %%%s is %s, not a bool scalar", l->g->values.at[v].name,
                  gcut_type_text(l->g->module->arena, l->g->module, t));
    const uint32_t k = l->branches.n;
    bool taken = k < l->nimposed ? l->imposed[k]
                 : l->explores   ? false
                                 : *(const unsigned char *)gcut_computed_value_of(l, v)->at;
    if (l->recording) *GCUT_PUSH(l->arena, &l->branches) = (gcut_branch){l->g->nodes.n, v, taken, loc};
    return taken;
}
