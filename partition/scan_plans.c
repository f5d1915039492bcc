/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Plans what each iteration of a scan saves for the backward scan.
 *   in:    JOINT.  #adjoint(%r) on a backward scan names the first result r of its forward scan
 *   out:   the same results.  The forward scan stacks what the plan of one iteration saves, the backward scan
 *          reads that and computes the rest again
 *   keeps: parameters, results, names, marks, locations, run-time checks
 *
 * Differentiation stacks the carried values of each iteration and recomputes the whole iteration.  Here the
 * two bodies become the joint graph of one iteration (iteration_graph.c), the planner decides on it as on any
 * joint graph, and the backward graph of its split becomes the new backward body.  Inner loops are planned
 * first.  A pair of scans stays as it is when a saved value cannot be stacked: it has the highest rank
 * already, or no axis at which the scan stacks.
 */
#include "partition/scan_plans.h"

#include "graph/rewrite.h"
#include "graph/regions/scan_stack.h"
#include "graph/ops/infer.h"
#include "partition/plan_file/plan_file.h"

/* A pair of scans and the split of its iteration. */
typedef struct decided {
    gcut_scan_pair pair;
    gcut_scan_joint joint;
    gcut_graph *bwd; /* the backward graph of an iteration */
} decided;

typedef struct scan_planner {
    const gcut_plan_options *opt;
    gcut_graph *g;
    gcut_arena *arena;
    bool *late;           /* by value of g */
    gcut_graph **body;    /* by region of g: its body with inner loops planned */
    GCUT_VEC(decided) of; /* in the order of their backward scans */
    gcut_stacks *stacks;  /* by node of g: what it is to stack, if it is a forward scan */
} scan_planner;

static bool has_pairs(const gcut_graph *g)
{
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const gcut_node *n = gcut_node_at(g, i);
        if (gcut_mark_find(&n->marks, GCUT_MARK_adjoint)) return true;
        for (uint32_t k = 0; k < n->nregs; k++)
            if (gcut_region_at(g, n, k)->body->is_body && has_pairs(gcut_region_at(g, n, k)->body))
                return true;
    }
    return false;
}

/* ---- inner loops ---- */

static gcut_graph *plan_graph(const gcut_plan_options *opt, gcut_graph *g, const char *name,
                              const bool *from);

/* By parameter of region k's body: it depends on a cotangent, through its operand or the previous iteration.
 */
static bool *late_params(const scan_planner *l, const gcut_node *n, uint32_t k)
{
    const gcut_graph *body = gcut_region_at(l->g, n, k)->body;
    uint32_t carries = n->op == GCUT_OP_if ? 0 : gcut_node_carries(l->g, n);
    bool *from = gcut_calloc(l->arena, body->params.n + 1u, sizeof *from);
    for (uint32_t i = 0; i < body->params.n; i++)
        from[i] = l->late[gcut_arg(l->g, n, gcut_region_operand(n, body, i))];
    for (bool more = body->results.n >= carries; more;) {
        const bool *t = gcut_scan_late(body, from, l->arena);
        more = false;
        for (uint32_t i = 0; i < carries; i++)
            if (!from[i] && t[body->results.at[i].value]) from[i] = more = true;
    }
    return from;
}

static void plan_bodies(scan_planner *l)
{
    for (uint32_t i = 0; i < l->g->nodes.n; i++) {
        const gcut_node *n = gcut_node_at(l->g, i);
        for (uint32_t k = 0; k < n->nregs; k++) {
            gcut_graph *body = gcut_region_at(l->g, n, k)->body;
            bool inside = body->is_body && has_pairs(body);
            l->body[n->reg0 + k] = inside ? plan_graph(l->opt, body, body->name, late_params(l, n, k)) : body;
        }
        if (n->op != GCUT_OP_scan) continue;
        l->stacks[i] = gcut_stacks_of(l->g, i);
        l->stacks[i].body = l->body[n->reg0];
    }
}

/* ---- pairs ---- */

static uint32_t axis_of(const gcut_graph *g, const gcut_node *n)
{
    return (uint32_t)gcut_attr_get(g, n, GCUT_KEY_axis)->u.dim;
}

/* The forward scan of backward scan `bwd`, or GCUT_NONE. */
static uint32_t forward_of(const gcut_graph *g, uint32_t bwd)
{
    const gcut_node *n = gcut_node_at(g, bwd);
    const gcut_mark *mark = gcut_mark_find(&n->marks, GCUT_MARK_adjoint);
    uint32_t def = mark && mark->arg[0].i ? g->values.at[mark->arg[0].i].def : GCUT_NONE;
    if (def == GCUT_NONE || def >= bwd) return GCUT_NONE;
    const gcut_node *f = gcut_node_at(g, def);
    bool fits = f->op == GCUT_OP_scan && axis_of(g, f) == axis_of(g, n) &&
                gcut_scan_length(g, f) == gcut_scan_length(g, n);
    return fits ? def : GCUT_NONE;
}

static gcut_ref forward_value(const decided *d, gcut_ref param)
{
    gcut_ref v = gcut_graph_find(d->joint.g, d->bwd->values.at[param].name);
    return d->joint.origin[v].forward;
}

/* True when every value that the backward graph takes as `saved` can be stacked. */
static bool can_stack(const scan_planner *l, const decided *d)
{
    const gcut_node *f = gcut_scan_fwd(&d->pair);
    uint32_t more = 0;
    for (uint32_t i = 0; i < d->bwd->params.n; i++) {
        const gcut_param *p = &d->bwd->params.at[i];
        if (p->role != GCUT_ROLE_saved) continue;
        uint8_t rank = gcut_type_of(d->bwd, p->value)->rank;
        if (!forward_value(d, p->value)) return false;
        if (rank == GCUT_MAX_RANK || axis_of(l->g, f) > rank) return false;
        more++;
    }
    return f->nres + l->stacks[d->pair.fwd].more.n + more <= GCUT_MAX_RESULTS;
}

static void request_stacks(scan_planner *l, const decided *d)
{
    for (uint32_t i = 0; i < d->bwd->params.n; i++) {
        const gcut_param *p = &d->bwd->params.at[i];
        if (p->role == GCUT_ROLE_saved)
            gcut_stack_add(&l->stacks[d->pair.fwd], l->arena, forward_value(d, p->value));
    }
}

/* Of the forced names, those that the iteration computes and the enclosing graph does not have. */
static const char *const *own_names(const scan_planner *l, const gcut_graph *joint, const char *const *all,
                                    uint32_t n, uint32_t *nown)
{
    const char **own = gcut_calloc(joint->module->arena, n + 1u, sizeof *own);
    *nown = 0;
    for (uint32_t i = 0; i < n; i++) {
        const char *bare = all[i] + (all[i][0] == '%');
        gcut_ref v = gcut_graph_find(joint, bare);
        if (v && gcut_def(joint, v) && !gcut_graph_find(l->g, bare)) own[(*nown)++] = all[i];
    }
    return own;
}

/* The name by which plan files and reports know a loop. */
static const char *loop_name(const scan_planner *l, const decided *d)
{
    return l->g->values.at[gcut_scan_fwd(&d->pair)->res0].name;
}

/* An iteration's plan, split: by the options' policy, or by the plan file; NULL when the file has none. */
static gcut_plan *plan_iteration(const scan_planner *l, const decided *d)
{
    gcut_graph *joint = d->joint.g;
    gcut_plan_options o = *l->opt;
    o.save = own_names(l, joint, l->opt->save, l->opt->nsave, &o.nsave);
    o.recompute = own_names(l, joint, l->opt->recompute, l->opt->nrecompute, &o.nrecompute);
    o.scans = NULL;
    o.saved_limited = false; /* a budget limits the whole graph's bytes, not an iteration's */
    const gcut_plan_part *part = o.file ? gcut_plan_file_iteration(o.file, loop_name(l, d)) : NULL;
    if (o.file && !part) return NULL;
    gcut_plan *plan = part ? gcut_plan_replay(joint, &o, part) : gcut_plan_make(joint, &o);
    gcut_split(plan, joint->name);
    return plan;
}

/* Keeps the plan for reports and plan files. */
static void add_record(const scan_planner *l, const decided *d, gcut_plan *plan)
{
    gcut_scan_plan one = {loop_name(l, d), plan};
    if (l->opt->scans) *GCUT_PUSH(l->g->module->arena, &l->opt->scans->all) = one;
}

static void decide_pairs(scan_planner *l)
{
    for (uint32_t i = 0; i < l->g->nodes.n; i++) {
        uint32_t f = forward_of(l->g, i);
        if (f == GCUT_NONE || l->late[gcut_node_at(l->g, f)->res0]) continue;
        if (!l->late[gcut_node_at(l->g, i)->res0]) continue; /* a gradient that is part of the function */
        decided d = {.pair = {l->g, f, i, l->body[gcut_node_at(l->g, f)->reg0],
                              l->body[gcut_node_at(l->g, i)->reg0], l->late}};
        d.joint = gcut_scan_joint_new(&d.pair, l->arena);
        gcut_plan *plan = plan_iteration(l, &d);
        if (!plan) continue;
        d.bwd = plan->bwd;
        if (!can_stack(l, &d)) continue;
        add_record(l, &d, plan);
        request_stacks(l, &d);
        *GCUT_PUSH(l->arena, &l->of) = d;
    }
}

/* ---- the new scans ---- */

/* Makes the draft of node i of l->g, a scan, and maps its results. */
static void make_scan(const scan_planner *l, gcut_rewrite *rw, uint32_t i, gcut_draft *d)
{
    const gcut_node *n = gcut_node_at(l->g, i);
    gcut_draft_set(d, gcut_attr_dim(GCUT_KEY_length, gcut_scan_length(l->g, n)));
    gcut_ref r = gcut_draft_make(rw->dst, d, rw->map);
    for (uint32_t k = 0; k < n->nres; k++) rw->map[n->res0 + k] = r + k;
}

/* The forward scan stacks what the plan saves under names "<first result>.<value>". */
static void make_forward(const scan_planner *l, gcut_rewrite *rw, uint32_t i)
{
    const gcut_stacks *s = &l->stacks[i];
    const gcut_node *n = gcut_node_at(l->g, i);
    gcut_draft d = gcut_draft_of(l->arena, l->g, i, rw->map, s->more.n);
    d.regions[0].body = gcut_stacks_body(s);
    for (uint32_t k = 0; k < s->more.n; k++) {
        gcut_ref v = s->more.at[k];
        gcut_draft_result(
            &d, gcut_stack_type(*gcut_type_of(s->body, v), axis_of(l->g, n), gcut_scan_length(l->g, n)),
            gcut_printf(rw->dst->module->arena, "%s.%s", d.names[0], s->body->values.at[v].name));
    }
    make_scan(l, rw, i, &d);
}

/* The stacked value of the new forward scan that parameter v of the backward graph stands for. */
static gcut_ref stack_of(const scan_planner *l, const gcut_rewrite *rw, const decided *d, gcut_ref v)
{
    uint32_t k = gcut_stack_find(&l->stacks[d->pair.fwd], forward_value(d, v));
    return rw->map[gcut_scan_fwd(&d->pair)->res0] + k;
}

/* The backward body and the operands of its node. */
typedef struct new_body {
    gcut_graph *g;
    gcut_ref *map; /* by value of the backward graph */
    gcut_ref *args;
    uint32_t nargs;
} new_body;

static void take(new_body *b, const decided *d, uint32_t i, gcut_ref operand)
{
    gcut_ref v = d->bwd->params.at[i].value;
    b->map[v] = gcut_param_new(b->g, GCUT_ROLE_input, d->bwd->values.at[v].name, gcut_type_of(d->bwd, v));
    b->args[b->nargs++] = operand;
}

static const gcut_scan_origin *origin_of(const decided *d, uint32_t i)
{
    const char *name = d->bwd->values.at[d->bwd->params.at[i].value].name;
    return &d->joint.origin[gcut_graph_find(d->joint.g, name)];
}

/* Takes carries in their order (the split keeps the order of parameters), slices and stacks, captured values.
 */
static uint32_t take_params(const scan_planner *l, const gcut_rewrite *rw, const decided *d, new_body *b)
{
    const gcut_node *n = gcut_scan_bwd(&d->pair);
    uint32_t captured = 0, carries = 0;
    for (uint32_t i = 0; i < d->bwd->params.n; i++)
        if (origin_of(d, i)->kind == GCUT_SCAN_CARRY) take(b, d, i, rw->map[gcut_arg(l->g, n, carries++)]);
    GCUT_ASSERT(carries == gcut_node_carries(l->g, n));
    for (uint32_t i = 0; i < d->bwd->params.n; i++) {
        const gcut_scan_origin *o = origin_of(d, i);
        if (d->bwd->params.at[i].role == GCUT_ROLE_saved)
            take(b, d, i, stack_of(l, rw, d, d->bwd->params.at[i].value));
        else if (o->kind == GCUT_SCAN_X)
            take(b, d, i, rw->map[o->operand]);
    }
    for (uint32_t i = 0; i < d->bwd->params.n; i++) {
        const gcut_scan_origin *o = origin_of(d, i);
        if (d->bwd->params.at[i].role == GCUT_ROLE_saved || o->kind != GCUT_SCAN_CAPTURED) continue;
        take(b, d, i, rw->map[o->operand]);
        captured++;
    }
    return captured;
}

static void fill_body(const scan_planner *l, const decided *d, new_body *b)
{
    gcut_graph *h = d->bwd;
    for (uint32_t i = 0; i < h->nodes.n; i++) {
        const gcut_node *n = gcut_node_at(h, i);
        gcut_ref *args = gcut_calloc(l->arena, n->nargs + 1u, sizeof *args);
        for (uint32_t k = 0; k < n->nargs; k++) args[k] = b->map[gcut_arg(h, n, k)];
        gcut_ref r = gcut_node_copy(b->g, h, i, args, b->map, n->loc, NULL);
        for (uint32_t k = 0; k < n->nres; k++) b->map[n->res0 + k] = r + k;
    }
    for (uint32_t i = 0; i < h->results.n; i++)
        gcut_result_new(b->g, GCUT_ROLE_out, d->pair.bbody->results.at[i].name,
                        b->map[h->results.at[i].value]);
}

static void make_backward(const scan_planner *l, gcut_rewrite *rw, const decided *d)
{
    gcut_graph *old = d->pair.bbody;
    new_body b = {.g = gcut_graph_like(old, old->name)};
    b.map = gcut_calloc(l->arena, d->bwd->values.n, sizeof *b.map);
    b.args = gcut_calloc(l->arena, d->bwd->params.n + 1u, sizeof *b.args);
    b.g->loc = old->loc;
    b.g->marks = old->marks;
    b.g->copy_of = d->bwd;
    gcut_decls_copy(b.g, old);
    gcut_draft scan = gcut_draft_of(l->arena, l->g, d->pair.bwd, rw->map, 0);
    scan.spec.ncaptured = take_params(l, rw, d, &b);
    fill_body(l, d, &b);
    scan.spec.args = b.args;
    scan.spec.nargs = b.nargs;
    scan.regions[0].body = b.g;
    make_scan(l, rw, d->pair.bwd, &scan);
}

static void make_other(const scan_planner *l, gcut_rewrite *rw, uint32_t i)
{
    const gcut_node *n = gcut_node_at(l->g, i);
    if (!n->nregs) {
        gcut_rewrite_copy(rw, i);
        return;
    }
    gcut_ref *args = gcut_calloc(l->arena, n->nargs + 1u, sizeof *args);
    gcut_region *regions = gcut_calloc(l->arena, n->nregs, sizeof *regions);
    for (uint32_t k = 0; k < n->nargs; k++) args[k] = gcut_rewrite_arg(rw, i, k);
    for (uint32_t k = 0; k < n->nregs; k++) regions[k] = (gcut_region){l->body[n->reg0 + k]};
    gcut_ref r = gcut_node_copy(rw->dst, l->g, i, args, rw->map, n->loc, NULL);
    gcut_rewrite_regions_of_last(rw->dst, regions);
    for (uint32_t k = 0; k < n->nres; k++) rw->map[n->res0 + k] = r + k;
}

static const decided *decided_for(const scan_planner *l, uint32_t bwd)
{
    for (uint32_t i = 0; i < l->of.n; i++)
        if (l->of.at[i].pair.bwd == bwd) return &l->of.at[i];
    return NULL;
}

static gcut_graph *plan_graph(const gcut_plan_options *opt, gcut_graph *g, const char *name, const bool *from)
{
    scan_planner l = {.opt = opt, .g = g, .arena = gcut_arena_new(g->module->env, g->module->arena)};
    l.late = gcut_scan_late(g, from, l.arena);
    l.body = gcut_calloc(l.arena, g->regions.n + 1u, sizeof(gcut_graph *));
    l.stacks = gcut_calloc(l.arena, g->nodes.n + 1u, sizeof *l.stacks);
    plan_bodies(&l);
    decide_pairs(&l);
    gcut_rewrite rw = gcut_rewrite_begin(g, name);
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const decided *d = decided_for(&l, i);
        if (d)
            make_backward(&l, &rw, d);
        else if (l.stacks[i].more.n)
            make_forward(&l, &rw, i);
        else
            make_other(&l, &rw, i);
    }
    gcut_graph *out = gcut_rewrite_end(&rw);
    gcut_arena_free(l.arena);
    return out;
}

gcut_graph *gcut_plan_scans(gcut_graph *joint, const gcut_plan_options *opt, const char *name)
{
    gcut_arena *a = gcut_arena_new(joint->module->env, joint->module->arena);
    bool *from = gcut_calloc(a, joint->params.n + 1u, sizeof *from);
    for (uint32_t i = 0; i < joint->params.n; i++) from[i] = gcut_param_is_late(&joint->params.at[i]);
    gcut_graph *out = has_pairs(joint) ? plan_graph(opt, joint, name, from) : joint;
    gcut_arena_free(a);
    return out;
}
