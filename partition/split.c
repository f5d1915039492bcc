/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * gcut_split: makes the forward and the backward graph from a joint graph and its plan.
 *
 * The forward graph has the nodes that it needs in the joint graph's order; the backward graph has the nodes
 * of the plan's schedule.
 */
#include <string.h>

#include "partition/cut/storage_format.h"
#include "graph/ops/node_facts.h"
#include "partition/policies/policy.h"
#include "partition/cut/schedule.h"

/* How a value crosses: its storage format, and a name that is unique in both graphs. */
typedef struct crossing {
    bool saved;
    gcut_format format;
    const char *name;
    gcut_type type;
    const char *grad; /* format GRAD: the name of the result */
} crossing;

typedef struct builder {
    gcut_plan *plan;
    const crossing *by; /* by value of src */
    gcut_graph *src, *dst;
    bool *needed;     /* by value of src, forward graph: it is to be computed */
    gcut_ref *map;    /* by value of src: its latest copy in dst, 0 = none so far */
    gcut_ref *packed; /* by value of src: its packed value in dst, for formats other than PLAIN */
    uint32_t *copied; /* by node of src: the number of copies so far */
    bool backward;
} builder;

static bool crosses(const gcut_plan *plan, gcut_ref v)
{
    return gcut_crosses(plan->joint, v, plan->value[v].decision);
}

/* ---- what each graph needs ---- */

/* By value: the graph computes it or, of the backward graph, gets it. */
static bool *wanted(const gcut_plan *plan, gcut_arena *arena, bool backward, const bool *saved)
{
    const gcut_graph *g = plan->joint;
    bool *needed = gcut_calloc(arena, g->values.n, 1), *given = gcut_calloc(arena, g->values.n, 1);
    for (uint32_t i = 0; i < g->results.n; i++)
        if (gcut_result_is_late(&g->results.at[i]) == backward) needed[g->results.at[i].value] = true;
    for (gcut_ref v = 1; v < g->values.n; v++) {
        bool once = gcut_value_runs_once(g, v) && (plan->value[v].side == GCUT_SIDE_BACKWARD) == backward;
        needed[v] |= once || (saved && saved[v]);
        given[v] = backward && crosses(plan, v);
    }
    gcut_needed_nodes(arena, g, needed, given);
    return needed;
}

/* By value: it crosses and the backward graph needs it; a forced save crosses even when nothing reads it. */
static bool *saved_values(const gcut_plan *plan, gcut_arena *arena, const bool *bwd_wants)
{
    const gcut_graph *g = plan->joint;
    bool *saved = gcut_calloc(arena, g->values.n, 1);
    for (gcut_ref v = 1; v < g->values.n; v++)
        saved[v] = plan->value[v].decision == GCUT_PLAN_SAVED || (bwd_wants[v] && crosses(plan, v));
    return saved;
}

static crossing *cross(const gcut_plan *plan, gcut_arena *arena, const bool *saved)
{
    const gcut_graph *g = plan->joint;
    gcut_module *m = g->module;
    crossing *by = gcut_calloc(arena, g->values.n, sizeof *by);
    for (gcut_ref v = 1; v < g->values.n; v++) {
        if (!saved[v]) continue;
        gcut_format format =
            plan->value[v].decision == GCUT_PLAN_SAVED ? plan->value[v].format : GCUT_FORMAT_PLAIN;
        const char *name = g->values.at[v].name;
        if (gcut_format_packs(format)) {
            const char *base = name = gcut_printf(arena, "%s.%s", name, gcut_format_name(format));
            for (uint32_t k = 1; gcut_graph_find(g, name); k++) name = gcut_printf(arena, "%s.%u", base, k);
        }
        const char *grad = format == GCUT_FORMAT_GRAD ? g->results.at[plan->value[v].grad].name : NULL;
        by[v] = (crossing){true, format, gcut_intern_name(m, name),
                           gcut_format_type(m, gcut_type_of(g, v), format), grad};
    }
    return by;
}

/* ---- parameters ---- */

static void take_param(builder *b, gcut_role role, gcut_ref v, const gcut_marks *marks)
{
    b->map[v] = gcut_param_new(b->dst, role, b->src->values.at[v].name, gcut_type_of(b->src, v));
    if (marks) b->dst->params.at[b->dst->params.n - 1].marks = *marks;
}

/* What binds a symbol: by declaration of the source graph. */
typedef struct binding {
    bool used, bound;
    uint32_t bare, within; /* the first parameter that may be taken and has it as a size, or in a size; + 1 */
} binding;

typedef struct cover {
    const gcut_graph *g;
    binding *of;
} cover;

/* The binding of a declared symbol, NULL: it is not declared. */
static binding *binding_of(const cover *c, gcut_dim sym)
{
    const gcut_dim_decl *d = gcut_decl_find(c->g, sym);
    return d ? &c->of[d - c->g->decls.at] : NULL;
}

static void use_size(const cover *c, gcut_dim d)
{
    gcut_dim sym[GCUT_DIM_MAX_SYMBOLS];
    for (uint32_t n = gcut_dim_symbols(c->g->module->dims, d, sym); n--;) {
        binding *b = binding_of(c, sym[n]);
        if (b) b->used = true;
    }
}

static void use_graph(const cover *c, const gcut_graph *g, const bool *needed);

/* The sizes in the attributes and bodies of n. */
static void use_node(const cover *c, const gcut_graph *g, const gcut_node *n)
{
    for (uint32_t k = 0; k < n->nattrs; k++) {
        const gcut_attr *a = &g->attrs.at[n->attr0 + k];
        const gcut_dim *d = a->kind == GCUT_ATTR_KIND_DIMS ? a->u.dims : &a->u.dim;
        uint32_t sizes = a->kind == GCUT_ATTR_KIND_DIMS ? a->n : a->kind == GCUT_ATTR_KIND_DIM;
        for (uint32_t j = 0; j < sizes; j++) use_size(c, d[j]);
    }
    for (uint32_t k = 0; k < n->nregs; k++) use_graph(c, gcut_region_at(g, n, k)->body, NULL);
}

/* Sets `used` for what occurs in a type of `needed`, by value, or in a node that makes one; NULL: in all of g. */
static void use_graph(const cover *c, const gcut_graph *g, const bool *needed)
{
    for (gcut_ref v = 1; v < g->values.n; v++)
        for (uint32_t i = 0; (!needed || needed[v]) && i < gcut_type_of(g, v)->rank; i++)
            use_size(c, gcut_type_of(g, v)->dim[i]);
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const gcut_node *n = gcut_node_at(g, i);
        if (!needed || gcut_any_result(n, needed)) use_node(c, g, n);
    }
}

/* Sets `bound` for the symbols that are sizes of v. */
static void bind_sizes(const cover *c, gcut_ref v)
{
    const gcut_type *t = gcut_type_of(c->g, v);
    for (uint32_t i = 0; i < t->rank; i++) {
        binding *b = t->dim[i] < 0 ? binding_of(c, t->dim[i]) : NULL;
        if (b) b->bound = true;
    }
}

/* Notes that parameter i may bind the symbols of its sizes. */
static void offer(const cover *c, uint32_t i)
{
    const gcut_type *t = gcut_type_of(c->g, c->g->params.at[i].value);
    gcut_dim sym[GCUT_DIM_MAX_SYMBOLS];
    for (uint32_t k = 0; k < t->rank; k++) {
        gcut_dim d = t->dim[k];
        for (uint32_t n = gcut_dim_symbols(c->g->module->dims, d, sym); n--;) {
            binding *b = binding_of(c, sym[n]);
            if (b && !b->within) b->within = i + 1;
            if (b && !b->bare && sym[n] == d) b->bare = i + 1;
        }
    }
}

/* Every symbol that a graph uses must be bound by the shape of one of its parameters: adds to `take` the
 * parameters that are needed only for their sizes.  A loop iteration has its enclosing graph's symbols. */
static void cover_symbols(const builder *b, gcut_arena *arena, bool *take, const bool *given)
{
    const gcut_graph *g = b->src;
    if (g->is_body || !g->decls.n) return;
    cover c = {g, gcut_calloc(arena, g->decls.n, sizeof *c.of)};
    use_graph(&c, g, b->needed);
    for (gcut_ref v = 1; given && v < g->values.n; v++)
        if (given[v] && b->by[v].format != GCUT_FORMAT_BITS) bind_sizes(&c, v);
    for (uint32_t i = 0; i < g->params.n; i++) {
        const gcut_param *p = &g->params.at[i];
        if (take[i]) bind_sizes(&c, p->value);
        if (p->role != GCUT_ROLE_cotan && (b->backward || !gcut_param_is_late(p))) offer(&c, i);
    }
    for (uint32_t s = 0; s < g->decls.n; s++) {
        const uint32_t from = c.of[s].bare ? c.of[s].bare : c.of[s].within;
        if (!c.of[s].used || c.of[s].bound || !from) continue;
        take[from - 1] = true;
        bind_sizes(&c, g->params.at[from - 1].value);
    }
}

static void take_named(const builder *b, bool *take, const char *name)
{
    const gcut_param *p = gcut_param_find(b->src, name);
    if (p) take[p - b->src->params.at] = true;
}

/* Takes the parameter w that a result refers to: `next w` overwrites w, so w must be a parameter; `grad w`
 * needs w only where the forward graph does not have it either. */
static void take_targets(const builder *b, bool *take, const gcut_graph *fwd)
{
    for (uint32_t i = 0; i < b->src->results.n; i++) {
        const gcut_result *r = &b->src->results.at[i];
        bool known = r->role == GCUT_ROLE_grad && gcut_graph_find(fwd, r->name);
        if (r->role != GCUT_ROLE_out && !known) take_named(b, take, r->name);
    }
}

static void take_saved(builder *b, gcut_ref v)
{
    const crossing *c = &b->by[v];
    gcut_ref r = gcut_param_new(b->dst, GCUT_ROLE_saved, c->name, &c->type);
    *(gcut_format_packs(c->format) ? &b->packed[v] : &b->map[v]) = r;
}

/* Makes the parameters in the joint graph's order, cotangents last.  Of the backward graph, fwd is the other
 * graph and `saved` marks the values that cross; of the forward graph both are NULL. */
static void take_params(builder *b, gcut_arena *arena, const gcut_graph *fwd, const bool *saved)
{
    const gcut_graph *g = b->src;
    bool *take = gcut_calloc(arena, (size_t)g->params.n + 1, 1);
    for (uint32_t i = 0; i < g->params.n; i++)
        take[i] = g->params.at[i].role == GCUT_ROLE_cotan ? b->backward : b->needed[g->params.at[i].value];
    if (b->backward) take_targets(b, take, fwd);
    cover_symbols(b, arena, take, saved);
    for (gcut_ref v = 1; saved && v < g->values.n; v++)
        if (saved[v]) take_saved(b, v);
    for (uint32_t i = 0; saved && i < g->params.n; i++) /* a loop's carried value may itself be saved */
        if (saved[g->params.at[i].value]) take[i] = false;
    for (int cotan = 0; cotan < 2; cotan++)
        for (uint32_t i = 0; i < g->params.n; i++) {
            const gcut_param *p = &g->params.at[i];
            if (take[i] && (p->role == GCUT_ROLE_cotan) == (cotan != 0))
                take_param(b, p->role, p->value, &p->marks);
        }
}

/* ---- nodes ---- */

static gcut_locid location_of(const builder *b, const gcut_node *n)
{
    bool recomputed = b->backward && b->plan->value[n->res0].side == GCUT_SIDE_FORWARD;
    return recomputed && n->loc ? gcut_loc_call(b->src->module, "remat", &n->loc, 1) : n->loc;
}

/* Marks a copy #recomputed, the k-th one #recomputed(k), so that CSE does not merge copies. */
static void mark_copy(const builder *b, uint32_t i)
{
    const gcut_node *n = gcut_node_at(b->src, i);
    gcut_class c = gcut_node_class(n);
    bool recomputed = b->backward && b->plan->value[n->res0].side == GCUT_SIDE_FORWARD;
    bool cheap = c == GCUT_CLASS_CONSTANT || c == GCUT_CLASS_VIEW;
    if (b->copied[i] < 2 && (!recomputed || cheap)) return;
    gcut_mark mark = {GCUT_MARK_recomputed, b->copied[i] > 1, {{.i = b->copied[i] > 1 ? b->copied[i] : 0}}};
    gcut_mark_add(b->src->module->arena, &b->dst->nodes.at[b->dst->nodes.n - 1].marks, mark);
}

/* Every copy gets it: a recomputed value has the bits of the one that the forward graph computed. */
static void mark_workspace(const builder *b, const gcut_node *n)
{
    const gcut_mark mark = {.name = GCUT_MARK_less_workspace};
    if (!n->nres || !b->plan->value[n->res0].less_workspace || gcut_mark_find(&n->marks, mark.name)) return;
    gcut_mark_add(b->src->module->arena, &b->dst->nodes.at[b->dst->nodes.n - 1].marks, mark);
}

/* ---- storage formats ---- */

/* Puts #saved(bytes) on the node that makes r, the value that is saved for v. */
static void mark_saved(const builder *b, gcut_ref v, gcut_ref r)
{
    gcut_module *m = b->src->module;
    const gcut_dim bytes = gcut_format_bytes(m, gcut_type_of(b->src, v), b->by[v].format);
    gcut_mark_add(m->arena, &b->dst->nodes.at[b->dst->values.at[r].def].marks,
                  (gcut_mark){GCUT_MARK_saved, 1, {{.i = bytes}}});
}

/* Packs v right after its node, so that v itself need not stay alive. */
static void pack(builder *b, gcut_ref v)
{
    gcut_graph *dst = b->dst;
    const crossing *c = &b->by[v];
    if (b->backward || !c->saved || !gcut_format_packs(c->format)) return;
    gcut_locid loc = gcut_def(b->src, v)->loc;
    gcut_attr to = gcut_attr_str(dst->module, GCUT_KEY_to, gcut_dtype_name(c->type.dtype));
    if (c->format == GCUT_FORMAT_BITS)
        b->packed[v] = gcut_node_new(dst, GCUT_OP_pack_bits, &b->map[v], 1, NULL, 0, loc, c->name);
    else
        b->packed[v] = gcut_node_new(dst, GCUT_OP_cast, &b->map[v], 1, &to, 1, loc, c->name);
    mark_saved(b, v, b->packed[v]);
}

/* The value of dst that a reader of v gets; unpacks a packed value before its first reader. */
static gcut_ref read_value(builder *b, gcut_ref v)
{
    gcut_graph *dst = b->dst;
    if (b->map[v] || !b->packed[v]) return b->map[v];
    const gcut_type *t = gcut_type_of(b->src, v);
    const char *name = b->src->values.at[v].name;
    gcut_locid at = gcut_def(b->src, v)->loc, loc = at ? gcut_loc_call(dst->module, "saved", &at, 1) : 0;
    gcut_attr shape = gcut_attr_dims(dst->module, GCUT_KEY_shape, t->dim, t->rank);
    gcut_attr to = gcut_attr_str(dst->module, GCUT_KEY_to, gcut_dtype_name(t->dtype));
    if (b->by[v].format == GCUT_FORMAT_BITS)
        b->map[v] = gcut_node_new(dst, GCUT_OP_unpack_bits, &b->packed[v], 1, &shape, 1, loc, name);
    else
        b->map[v] = gcut_node_new(dst, GCUT_OP_cast, &b->packed[v], 1, &to, 1, loc, name);
    return b->map[v];
}

/* Copies node i, whose operands dst has already; later readers get the results of this copy. */
static void copy_node(builder *b, gcut_arena *arena, uint32_t i)
{
    const gcut_node *n = gcut_node_at(b->src, i);
    gcut_ref *args = gcut_calloc(arena, (size_t)n->nargs + 1, sizeof *args);
    for (uint32_t k = 0; k < n->nargs; k++) {
        args[k] = read_value(b, gcut_arg(b->src, n, k));
        GCUT_ASSERT(args[k] != 0); /* every operand is a parameter or was computed before */
    }
    b->copied[i]++;
    gcut_ref r = gcut_node_copy(b->dst, b->src, i, args, b->map, location_of(b, n), NULL);
    mark_copy(b, i);
    mark_workspace(b, n);
    for (uint32_t k = 0; k < n->nres; k++) {
        bool given = b->backward && crosses(b->plan, n->res0 + k); /* a saved sibling keeps its parameter */
        if (!given || (!b->map[n->res0 + k] && !b->packed[n->res0 + k])) b->map[n->res0 + k] = r + k;
        pack(b, n->res0 + k);
    }
}

static void copy_forward(builder *b, gcut_arena *arena)
{
    const uint32_t n = b->src->nodes.n;
    uint32_t *run = gcut_alloc(arena, ((size_t)n + 1) * sizeof *run);
    gcut_schedule *forward = &b->plan->forward;
    forward->n = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (!gcut_any_result(gcut_node_at(b->src, i), b->needed)) continue;
        copy_node(b, arena, i);
        run[forward->n++] = i;
    }
    forward->node = gcut_memdup(b->src->module->arena, run, forward->n * sizeof *run);
}

static void copy_backward(builder *b, gcut_arena *arena)
{
    const gcut_schedule *s = &b->plan->backward;
    for (uint32_t k = 0; k < s->n; k++) copy_node(b, arena, s->node[k]);
}

static void copy_results(builder *b)
{
    const gcut_graph *g = b->src;
    for (uint32_t i = 0; i < g->results.n; i++) {
        const gcut_result *r = &g->results.at[i];
        if (gcut_result_is_late(r) != b->backward) continue;
        gcut_ref v = read_value(b, r->value);
        GCUT_ASSERT(v != 0);
        gcut_result_new(b->dst, r->role, r->name, v);
        b->dst->results.at[b->dst->results.n - 1].marks = r->marks;
    }
}

static builder begin(gcut_plan *plan, const crossing *by, gcut_arena *arena, const char *base,
                     const char *suffix)
{
    gcut_graph *g = plan->joint;
    builder b = {.plan = plan, .by = by, .src = g, .backward = !strcmp(suffix, "bwd")};
    b.dst = gcut_graph_like(g, gcut_printf(g->module->arena, "%s.%s", base, suffix));
    b.dst->loc = g->loc;
    b.map = gcut_calloc(arena, g->values.n, sizeof *b.map);
    b.packed = gcut_calloc(arena, g->values.n, sizeof *b.packed);
    b.copied = gcut_calloc(arena, (size_t)g->nodes.n + 1, sizeof *b.copied);
    gcut_decls_copy(b.dst, g);
    return b;
}

/* ---- the pair ---- */

/* Adds the `saved` results in the joint graph's order and marks those that take memory of their own. */
static void return_saved(builder *b)
{
    for (gcut_ref v = 1; v < b->src->values.n; v++) {
        if (!b->by[v].saved) continue;
        bool packs = gcut_format_packs(b->by[v].format);
        gcut_ref r = packs ? b->packed[v] : b->map[v];
        gcut_result_new(b->dst, GCUT_ROLE_saved, b->by[v].name, r);
        if (b->by[v].grad)
            gcut_mark_add(b->src->module->arena, &b->dst->results.at[b->dst->results.n - 1].marks,
                          (gcut_mark){GCUT_MARK_grad, 1, {{.text = b->by[v].grad}}});
        if (!packs && b->plan->value[v].decision == GCUT_PLAN_SAVED && gcut_def(b->dst, r))
            mark_saved(b, v, r);
    }
}

static void add_pair(gcut_plan *plan, const char *base)
{
    gcut_module *m = plan->joint->module;
    gcut_mark_add(m->arena, &plan->fwd->marks, (gcut_mark){.name = GCUT_MARK_fwd});
    gcut_mark_add(m->arena, &plan->bwd->marks, (gcut_mark){.name = GCUT_MARK_bwd});
    gcut_pair pair = {.name = gcut_intern_name(m, gcut_printf(m->arena, "%s.step", base)),
                      .fwd = plan->fwd->name,
                      .bwd = plan->bwd->name};
    const char *policy = gcut_intern_name(m, gcut_policy_text(m->arena, &plan->options));
    gcut_mark_add(m->arena, &pair.marks, (gcut_mark){GCUT_MARK_policy, 1, {{.text = policy}}});
    gcut_mark_add(m->arena, &pair.marks,
                  (gcut_mark){GCUT_MARK_saved_bytes, 1, {{.i = plan->saved_bytes_sym}}});
    *GCUT_PUSH(m->arena, &m->pairs) = pair;
}

/* Asserts that both graphs list the saved values in one order with equal names and types, and that the
 * forward graph has no cotangent and no #late input. */
static void check_pair(const gcut_graph *fwd, const gcut_graph *bwd)
{
    uint32_t k = 0;
    for (uint32_t i = 0; i < fwd->results.n; i++) {
        const gcut_result *r = &fwd->results.at[i];
        if (r->role != GCUT_ROLE_saved) continue;
        GCUT_ASSERT(k < bwd->params.n && bwd->params.at[k].role == GCUT_ROLE_saved);
        const gcut_value *p = &bwd->values.at[bwd->params.at[k++].value];
        GCUT_ASSERT(r->name == p->name && gcut_type_equal(gcut_type_of(fwd, r->value), p->type));
    }
    GCUT_ASSERT(k == bwd->params.n || bwd->params.at[k].role != GCUT_ROLE_saved);
    for (uint32_t i = 0; i < fwd->params.n; i++) GCUT_ASSERT(!gcut_param_is_late(&fwd->params.at[i]));
}

void gcut_split(gcut_plan *plan, const char *base)
{
    gcut_module *m = plan->joint->module;
    gcut_arena *scratch = gcut_arena_new(m->env, m->arena);
    bool *needed = wanted(plan, scratch, true, NULL), *saved = saved_values(plan, scratch, needed);
    const crossing *by = cross(plan, scratch, saved);
    builder fwd = begin(plan, by, scratch, base, "fwd");
    builder bwd = begin(plan, by, scratch, base, "bwd");
    bwd.needed = needed;
    fwd.needed = wanted(plan, scratch, false, saved);

    take_params(&fwd, scratch, NULL, NULL);
    copy_forward(&fwd, scratch);
    copy_results(&fwd);
    return_saved(&fwd);
    take_params(&bwd, scratch, fwd.dst, saved);
    copy_backward(&bwd, scratch);
    copy_results(&bwd);

    plan->fwd = fwd.dst;
    plan->bwd = bwd.dst;
    check_pair(plan->fwd, plan->bwd);
    if (!plan->joint->is_body) add_pair(plan, base);
    gcut_arena_free(scratch);
}
