/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * gcut_split: a decided joint graph becomes its forward and its backward graph.
 *
 * The forward graph is the nodes that it needs in the joint's order, the backward graph is the plan's
 * schedule.
 */
#include <string.h>

#include "partition/cut/storage_format.h"
#include "partition/policies/policy.h"
#include "partition/cut/schedule.h"

/* How a value crosses: in its form, under a name that neither graph has for anything else. */
typedef struct crossing {
    bool saved;
    gcut_format form;
    const char *name;
    gcut_type type;
    const char *grad; /* form GRAD: the name of the result */
} crossing;

typedef struct half {
    gcut_plan *plan;
    const crossing *by; /* by value of src */
    gcut_graph *src, *dst;
    bool *want;       /* by value of src, forward graph: to be computed here */
    gcut_ref *map;    /* by value of src: the latest value of dst, 0 = not there (yet) */
    gcut_ref *packed; /* by value of src: as it crosses, where that is not PLAIN */
    uint32_t *copied; /* by node of src: how often so far */
    bool backward;
} half;

static bool crosses(const gcut_plan *plan, gcut_ref v)
{
    return gcut_crosses(plan->joint, v, plan->value[v].decision);
}

/* ---- what each graph needs ---- */

/* Closes `want` over operands; the backward graph stops at what crosses. */
static void close_over(const gcut_plan *plan, bool *want, bool backward)
{
    const gcut_graph *g = plan->joint;
    for (uint32_t i = g->nodes.n; i-- > 0;) {
        const gcut_node *n = gcut_node_at(g, i);
        bool here = false;
        for (gcut_ref v = n->res0; v < n->res0 + n->nres; v++)
            here |= want[v] && !(backward && crosses(plan, v));
        for (uint32_t k = 0; here && k < n->nargs; k++) want[gcut_arg(g, n, k)] = true;
    }
}

static bool *wanted(const gcut_plan *plan, gcut_arena *arena, bool backward, const bool *saved)
{
    const gcut_graph *g = plan->joint;
    bool *want = gcut_calloc(arena, g->values.n, 1);
    for (uint32_t i = 0; i < g->results.n; i++)
        if ((g->results.at[i].role == GCUT_ROLE_out) != backward) want[g->results.at[i].value] = true;
    for (gcut_ref v = 1; saved && v < g->values.n; v++) want[v] |= saved[v];
    for (gcut_ref v = 1; v < g->values.n; v++)
        if (gcut_value_runs_once(g, v) && (plan->value[v].where == GCUT_SIDE_BACKWARD) == backward)
            want[v] = true;
    close_over(plan, want, backward);
    return want;
}

/* What crosses and is needed on the other side; a forced save crosses even when nothing reads it. */
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
        gcut_format form =
            plan->value[v].decision == GCUT_PLAN_SAVED ? plan->value[v].form : GCUT_FORMAT_PLAIN;
        const char *name = g->values.at[v].name;
        if (gcut_format_packs(form)) {
            const char *base = name = gcut_printf(arena, "%s.%s", name, gcut_format_name(form));
            for (uint32_t k = 1; gcut_graph_find(g, name); k++) name = gcut_printf(arena, "%s.%u", base, k);
        }
        const char *grad = form == GCUT_FORMAT_GRAD ? g->results.at[plan->value[v].grad].name : NULL;
        by[v] = (crossing){true, form, gcut_intern_name(m, name),
                           gcut_format_type(m, gcut_type_of(g, v), form), grad};
    }
    return by;
}

/* ---- parameters ---- */

static void take_param(half *h, gcut_role role, gcut_ref v, const gcut_marks *marks)
{
    h->map[v] = gcut_param_new(h->dst, role, h->src->values.at[v].name, gcut_type_of(h->src, v));
    if (marks) h->dst->params.at[h->dst->params.n - 1].marks = *marks;
}

static bool mentions(const gcut_graph *g, gcut_dim d, gcut_dim sym)
{
    gcut_dim syms[64];
    uint32_t n = gcut_dim_known(d) ? 0 : gcut_dim_symbols(g->module->dims, d, syms, 64);
    for (uint32_t i = 0; i < n && i < 64; i++)
        if (syms[i] == sym) return true;
    return false;
}

/* As a size of its own (bare), or anywhere. */
static bool type_has(const gcut_graph *g, gcut_ref v, gcut_dim sym, bool bare)
{
    const gcut_type *t = gcut_type_of(g, v);
    for (uint32_t i = 0; i < t->rank; i++)
        if (bare ? t->dim[i] == sym : mentions(g, t->dim[i], sym)) return true;
    return false;
}

static bool node_uses(const gcut_graph *g, const gcut_node *n, gcut_dim sym);

static bool body_uses(const gcut_graph *body, gcut_dim sym)
{
    for (gcut_ref v = 1; v < body->values.n; v++)
        if (type_has(body, v, sym, false)) return true;
    for (uint32_t i = 0; i < body->nodes.n; i++)
        if (node_uses(body, gcut_node_at(body, i), sym)) return true;
    return false;
}

/* In its attributes, or inside its bodies. */
static bool node_uses(const gcut_graph *g, const gcut_node *n, gcut_dim sym)
{
    for (uint32_t k = 0; k < n->nattrs; k++) {
        const gcut_attr *a = &g->attrs.at[n->attr0 + k];
        if (a->kind == GCUT_ATTR_KIND_DIM && mentions(g, a->u.dim, sym)) return true;
        for (uint32_t j = 0; a->kind == GCUT_ATTR_KIND_DIMS && j < a->n; j++)
            if (mentions(g, a->u.dims[j], sym)) return true;
    }
    for (uint32_t k = 0; k < n->nregs; k++)
        if (body_uses(gcut_region_at(g, n, k)->body, sym)) return true;
    return false;
}

static bool half_uses(const half *h, gcut_dim sym)
{
    const gcut_graph *g = h->src;
    for (gcut_ref v = 1; v < g->values.n; v++)
        if (h->want[v] && type_has(g, v, sym, false)) return true;
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const gcut_node *n = gcut_node_at(g, i);
        bool here = false;
        for (gcut_ref v = n->res0; v < n->res0 + n->nres; v++) here |= h->want[v];
        if (here && node_uses(g, n, sym)) return true;
    }
    return false;
}

/* Every symbol a graph uses must be bound by the shape of one of its own parameters: `take` also covers
 * parameters that are needed only for their size.  An iteration of a loop has the symbols of the graph
 * around. */
static void cover_symbols(const half *h, bool *take, const bool *given)
{
    const gcut_graph *g = h->src;
    if (g->is_body) return;
    for (uint32_t s = 0; s < g->decls.n; s++) {
        gcut_dim sym = g->decls.at[s].sym;
        bool bound = !half_uses(h, sym);
        for (gcut_ref v = 1; v < g->values.n && !bound; v++)
            bound = given && given[v] && h->by[v].form != GCUT_FORMAT_BITS && type_has(g, v, sym, true);
        for (uint32_t i = 0; i < g->params.n && !bound; i++)
            bound = take[i] && type_has(g, g->params.at[i].value, sym, true);
        for (int bare = 1; bare >= 0; bare--)
            for (uint32_t i = 0; i < g->params.n && !bound; i++)
                if (g->params.at[i].role != GCUT_ROLE_cotan &&
                    (h->backward || !gcut_param_is_late(&g->params.at[i])) &&
                    type_has(g, g->params.at[i].value, sym, bare))
                    take[i] = bound = true;
    }
}

static void take_named(const half *h, bool *take, const char *name)
{
    for (uint32_t i = 0; i < h->src->params.n; i++)
        if (h->src->values.at[h->src->params.at[i].value].name == name) take[i] = true;
}

/* What a result of the backward graph is about: `next w` is written in place of w, so w is given; `grad w`
 * needs it only where the forward graph, which does not read w either, cannot tell what w is. */
static void take_targets(const half *h, bool *take, const gcut_graph *fwd)
{
    for (uint32_t i = 0; i < h->src->results.n; i++) {
        const gcut_result *r = &h->src->results.at[i];
        bool known = r->role == GCUT_ROLE_grad && gcut_graph_find(fwd, r->name);
        if (r->role != GCUT_ROLE_out && !known) take_named(h, take, r->name);
    }
}

static void take_saved(half *h, gcut_ref v)
{
    const crossing *c = &h->by[v];
    gcut_ref r = gcut_param_new(h->dst, GCUT_ROLE_saved, c->name, &c->type);
    *(gcut_format_packs(c->form) ? &h->packed[v] : &h->map[v]) = r;
}

/* Parameters in the joint's order; cotangents last, and only in the backward graph, where fwd is the other
 * graph and `saved` what crosses. */
static void take_params(half *h, gcut_arena *arena, const gcut_graph *fwd, const bool *saved)
{
    const gcut_graph *g = h->src;
    bool *take = gcut_calloc(arena, (size_t)g->params.n + 1, 1);
    for (uint32_t i = 0; i < g->params.n; i++)
        take[i] = g->params.at[i].role == GCUT_ROLE_cotan ? h->backward : h->want[g->params.at[i].value];
    if (h->backward) take_targets(h, take, fwd);
    cover_symbols(h, take, saved);
    for (gcut_ref v = 1; saved && v < g->values.n; v++)
        if (saved[v]) take_saved(h, v);
    for (uint32_t i = 0; saved && i < g->params.n; i++) /* what a loop carries may be saved itself */
        if (saved[g->params.at[i].value]) take[i] = false;
    for (int cotan = 0; cotan < 2; cotan++)
        for (uint32_t i = 0; i < g->params.n; i++) {
            const gcut_param *p = &g->params.at[i];
            if (take[i] && (p->role == GCUT_ROLE_cotan) == (cotan != 0))
                take_param(h, p->role, p->value, &p->marks);
        }
}

/* ---- nodes ---- */

static gcut_locid location_of(const half *h, const gcut_node *n)
{
    bool again = h->backward && h->plan->value[n->res0].where == GCUT_SIDE_FORWARD;
    return again && n->loc ? gcut_loc_call(h->src->module, "remat", &n->loc, 1) : n->loc;
}

/* #recomputed, and for the k-th copy #recomputed(k), so that no pass takes two copies for one. */
static void mark_copy(const half *h, uint32_t i)
{
    const gcut_node *n = gcut_node_at(h->src, i);
    gcut_class c = gcut_node_class(n);
    bool again = h->backward && h->plan->value[n->res0].where == GCUT_SIDE_FORWARD;
    bool cheap = c == GCUT_CLASS_CONSTANT || c == GCUT_CLASS_VIEW;
    if (h->copied[i] < 2 && (!again || cheap)) return;
    gcut_mark mark = {GCUT_MARK_recomputed, h->copied[i] > 1, {{.i = h->copied[i] > 1 ? h->copied[i] : 0}}};
    gcut_mark_add(h->src->module->arena, &h->dst->nodes.at[h->dst->nodes.n - 1].marks, mark);
}

/* ---- forms ---- */

/* #saved(bytes) on the node that makes r, which is saved for v. */
static void mark_saved(const half *h, gcut_ref v, gcut_ref r)
{
    gcut_module *m = h->src->module;
    const gcut_dim bytes = gcut_format_bytes(m, gcut_type_of(h->src, v), h->by[v].form);
    gcut_mark_add(m->arena, &h->dst->nodes.at[h->dst->values.at[r].def].marks,
                  (gcut_mark){GCUT_MARK_saved, 1, {{.i = bytes}}});
}

/* Into another form, as soon as it is there: the value itself need not live on. */
static void pack(half *h, gcut_ref v)
{
    gcut_graph *dst = h->dst;
    const crossing *c = &h->by[v];
    if (h->backward || !c->saved || !gcut_format_packs(c->form)) return;
    gcut_locid loc = gcut_def(h->src, v)->loc;
    gcut_attr to = gcut_attr_str(dst->module, GCUT_KEY_to, gcut_dtype_name(c->type.dtype));
    if (c->form == GCUT_FORMAT_BITS)
        h->packed[v] = gcut_node_new(dst, GCUT_OP_pack_bits, &h->map[v], 1, NULL, 0, loc, c->name);
    else
        h->packed[v] = gcut_node_new(dst, GCUT_OP_cast, &h->map[v], 1, &to, 1, loc, c->name);
    mark_saved(h, v, h->packed[v]);
}

/* The value that node or result reads here: a packed one is unpacked when somebody asks for it first. */
static gcut_ref read_value(half *h, gcut_ref v)
{
    gcut_graph *dst = h->dst;
    if (h->map[v] || !h->packed[v]) return h->map[v];
    const gcut_type *t = gcut_type_of(h->src, v);
    const char *name = h->src->values.at[v].name;
    gcut_locid at = gcut_def(h->src, v)->loc, loc = at ? gcut_loc_call(dst->module, "saved", &at, 1) : 0;
    gcut_attr shape = gcut_attr_dims(dst->module, GCUT_KEY_shape, t->dim, t->rank);
    gcut_attr to = gcut_attr_str(dst->module, GCUT_KEY_to, gcut_dtype_name(t->dtype));
    if (h->by[v].form == GCUT_FORMAT_BITS)
        h->map[v] = gcut_node_new(dst, GCUT_OP_unpack_bits, &h->packed[v], 1, &shape, 1, loc, name);
    else
        h->map[v] = gcut_node_new(dst, GCUT_OP_cast, &h->packed[v], 1, &to, 1, loc, name);
    return h->map[v];
}

/* Copies node i, whose operands are there already; its results are from now on these. */
static void copy_node(half *h, gcut_arena *arena, uint32_t i)
{
    const gcut_node *n = gcut_node_at(h->src, i);
    gcut_ref *args = gcut_calloc(arena, (size_t)n->nargs + 1, sizeof *args);
    for (uint32_t k = 0; k < n->nargs; k++) {
        args[k] = read_value(h, gcut_arg(h->src, n, k));
        GCUT_ASSERT(args[k] != 0); /* a graph reads nothing that is not given to it */
    }
    h->copied[i]++;
    gcut_ref r = gcut_node_copy(h->dst, h->src, i, args, h->map, location_of(h, n), NULL);
    mark_copy(h, i);
    for (uint32_t k = 0; k < n->nres; k++) {
        bool given = h->backward && crosses(h->plan, n->res0 + k); /* a saved sibling keeps its parameter */
        if (!given || (!h->map[n->res0 + k] && !h->packed[n->res0 + k])) h->map[n->res0 + k] = r + k;
        pack(h, n->res0 + k);
    }
}

static void copy_forward(half *h, gcut_arena *arena)
{
    for (uint32_t i = 0; i < h->src->nodes.n; i++) {
        const gcut_node *n = gcut_node_at(h->src, i);
        bool here = false;
        for (gcut_ref v = n->res0; v < n->res0 + n->nres; v++) here |= h->want[v];
        if (here) copy_node(h, arena, i);
    }
}

static void copy_backward(half *h, gcut_arena *arena)
{
    const gcut_schedule *s = &h->plan->backward;
    for (uint32_t k = 0; k < s->n; k++) copy_node(h, arena, s->node[k]);
}

static void copy_results(half *h)
{
    const gcut_graph *g = h->src;
    for (uint32_t i = 0; i < g->results.n; i++) {
        const gcut_result *r = &g->results.at[i];
        if ((r->role == GCUT_ROLE_out) == h->backward) continue;
        gcut_ref v = read_value(h, r->value);
        GCUT_ASSERT(v != 0);
        gcut_result_new(h->dst, r->role, r->name, v);
        h->dst->results.at[h->dst->results.n - 1].marks = r->marks;
    }
}

static half half_new(gcut_plan *plan, const crossing *by, gcut_arena *arena, const char *base,
                     const char *suffix)
{
    gcut_graph *g = plan->joint;
    half h = {.plan = plan, .by = by, .src = g, .backward = !strcmp(suffix, "bwd")};
    h.dst = gcut_graph_like(g, gcut_printf(g->module->arena, "%s.%s", base, suffix));
    h.dst->loc = g->loc;
    h.map = gcut_calloc(arena, g->values.n, sizeof *h.map);
    h.packed = gcut_calloc(arena, g->values.n, sizeof *h.packed);
    h.copied = gcut_calloc(arena, (size_t)g->nodes.n + 1, sizeof *h.copied);
    gcut_decls_copy(h.dst, g);
    return h;
}

/* ---- the pair ---- */

/* `saved` results in the joint's order; what takes memory of its own is marked. */
static void return_saved(half *h)
{
    for (gcut_ref v = 1; v < h->src->values.n; v++) {
        if (!h->by[v].saved) continue;
        bool packs = gcut_format_packs(h->by[v].form);
        gcut_ref r = packs ? h->packed[v] : h->map[v];
        gcut_result_new(h->dst, GCUT_ROLE_saved, h->by[v].name, r);
        if (h->by[v].grad)
            gcut_mark_add(h->src->module->arena, &h->dst->results.at[h->dst->results.n - 1].marks,
                          (gcut_mark){GCUT_MARK_grad, 1, {{.text = h->by[v].grad}}});
        if (!packs && h->plan->value[v].decision == GCUT_PLAN_SAVED && gcut_def(h->dst, r))
            mark_saved(h, v, r);
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

/* Both sides list what crosses in one order, by equal name and type, and the forward graph knows no
 * cotangent and no late input.
 */
static void check_pair(const gcut_graph *fwd, const gcut_graph *bwd)
{
    uint32_t k = 0;
    for (uint32_t i = 0; i < fwd->results.n; i++) {
        const gcut_result *r = &fwd->results.at[i];
        if (r->role != GCUT_ROLE_saved) continue;
        GCUT_ASSERT(k < bwd->params.n && bwd->params.at[k].role == GCUT_ROLE_saved);
        const gcut_value *p = &bwd->values.at[bwd->params.at[k++].value];
        GCUT_ASSERT(r->name == p->name && gcut_type_equal(gcut_type_of(fwd, r->value), &p->type));
    }
    GCUT_ASSERT(k == bwd->params.n || bwd->params.at[k].role != GCUT_ROLE_saved);
    for (uint32_t i = 0; i < fwd->params.n; i++) GCUT_ASSERT(!gcut_param_is_late(&fwd->params.at[i]));
}

void gcut_split(gcut_plan *plan, const char *base)
{
    gcut_module *m = plan->joint->module;
    gcut_arena *scratch = gcut_arena_new(m->env, m->arena);
    bool *want = wanted(plan, scratch, true, NULL), *saved = saved_values(plan, scratch, want);
    const crossing *by = cross(plan, scratch, saved);
    half fwd = half_new(plan, by, scratch, base, "fwd");
    half bwd = half_new(plan, by, scratch, base, "bwd");
    bwd.want = want;
    fwd.want = wanted(plan, scratch, false, saved);

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
