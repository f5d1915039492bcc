/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Calls are replaced by the ops of the functions called.
 *
 *   in:    any graph
 *   out:   the same stage without `call`, also in bodies of regions; gcut_inline_underived leaves calls
 *          with a custom derivative
 *   keeps: names, types, marks and locations of every value of the input graph
 *
 * The sizes of the function called are expressed in those of the caller; its
 * values are named "<result of the call>.<name>".
 */
#include "passes/inlining.h"

#include "base/map.h"
#include "graph/custom.h"
#include "graph/node_draft.h"
#include "graph/rewrite.h"
#include "passes/passes.h"

static gcut_dim size_in(const gcut_inliner *s, gcut_dim d)
{
    return gcut_dim_substitute(s->dst->module->dims, d, s->sizes.at, s->sizes.n,
                               gcut_loc_place(s->dst->module, s->loc));
}

gcut_type gcut_inline_type(const gcut_inliner *s, gcut_type t)
{
    return gcut_type_substitute(s->dst->module, t, s->sizes.at, s->sizes.n,
                                gcut_loc_place(s->dst->module, s->loc));
}

static gcut_attr attr_in(const gcut_inliner *s, gcut_attr a)
{
    if (a.kind == GCUT_ATTR_KIND_DIM) a.u.dim = size_in(s, a.u.dim);
    if (a.kind != GCUT_ATTR_KIND_DIMS) return a;
    gcut_dim *dims = gcut_calloc(s->dst->module->arena, a.n + 1u, sizeof *dims);
    for (uint32_t i = 0; i < a.n; i++) dims[i] = size_in(s, a.u.dims[i]);
    a.u.dims = dims;
    return a;
}

static const char *name_in(const gcut_inliner *s, gcut_ref v)
{
    const char *name = s->f->values.at[v].name;
    if (s->own && s->own[v]) return s->own[v];
    return s->prefix ? gcut_printf(s->dst->module->arena, "%s.%s", s->prefix, name) : name;
}

/* A copy of a body of f, with the caller's sizes. */
static gcut_graph *body_in(const gcut_inliner *s, const gcut_graph *body)
{
    gcut_graph *dst = gcut_body_new(s->dst);
    dst->outer = NULL; /* it captures nothing more */
    dst->loc = body->loc;
    gcut_inliner in = {
        .dst = dst, .f = body, .sizes = s->sizes, .calls = s->calls, .what = s->what, .loc = s->loc};
    in.map = gcut_calloc(dst->module->arena, body->values.n, sizeof *in.map);
    for (uint32_t i = 0; i < body->params.n; i++) {
        gcut_ref v = body->params.at[i].value;
        gcut_type t = gcut_inline_type(&in, *gcut_type_of(body, v));
        in.map[v] = gcut_param_new(dst, body->params.at[i].role, body->values.at[v].name, &t);
        dst->params.at[i].marks = body->params.at[i].marks;
    }
    gcut_inline_nodes(&in);
    for (uint32_t i = 0; i < body->results.n; i++) {
        const gcut_result *r = &body->results.at[i];
        gcut_result_new(dst, r->role, r->name, in.map[r->value]);
    }
    return dst;
}

static bool is_inlined(const gcut_inliner *s, const gcut_node *n)
{
    if (n->op != GCUT_OP_call || s->calls == GCUT_INLINE_NONE) return false;
    return s->calls == GCUT_INLINE_ALL || !gcut_node_vjp(s->f, n);
}

static void copy_node(gcut_inliner *s, uint32_t n)
{
    const gcut_graph *f = s->f;
    const gcut_node *node = gcut_node_at(f, n);
    s->loc = node->loc;
    gcut_draft d = gcut_draft_of(s->dst->module->arena, f, n, s->map, 0);
    for (uint32_t k = 0; k < node->nattrs; k++) d.attrs[k] = attr_in(s, d.attrs[k]);
    for (uint32_t k = 0; k < node->nres; k++) {
        d.types[k] = gcut_inline_type(s, d.types[k]);
        d.names[k] = name_in(s, node->res0 + k);
    }
    for (uint32_t k = 0; k < node->nregs; k++)
        if (d.regions[k].body->is_body) d.regions[k].body = body_in(s, d.regions[k].body);
    d.spec.name = d.names[0];
    if (is_inlined(s, node)) {
        gcut_inline_call(s->dst, &d.spec, s->calls == GCUT_INLINE_ALL, s->map + node->res0);
        return;
    }
    gcut_ref r = gcut_draft_make(s->dst, &d, s->map);
    for (uint32_t k = 0; k < node->nres; k++) s->map[node->res0 + k] = r + k;
    if (s->prefix) /* a gradient of the function called is no gradient of its caller */
        gcut_mark_remove(s->dst->module->arena, &s->dst->nodes.at[s->dst->nodes.n - 1].marks,
                         GCUT_MARK_cotan);
}

void gcut_inline_nodes(gcut_inliner *s)
{
    for (uint32_t n = 0; n < s->f->nodes.n; n++) copy_node(s, n);
    for (uint32_t i = 0; i < s->f->checks.n; i++) {
        const gcut_dim_check *c = &s->f->checks.at[i];
        s->loc = c->loc;
        gcut_dim_require(s->dst, size_in(s, c->a), size_in(s, c->b), c->loc, s->what);
    }
}

static gcut_inlined_calls calls_of(bool all)
{
    return all ? GCUT_INLINE_ALL : GCUT_INLINE_UNDERIVED;
}

/* A value that is a result gets the name of the call's result, unless it is an operand or has got the name
 * of another result. */
void gcut_inline_call(gcut_graph *dst, const gcut_node_spec *call, bool all, gcut_ref *out)
{
    gcut_inliner s = {
        .dst = dst, .f = call->regions[0].body, .calls = calls_of(all), .what = "call", .loc = call->loc};
    gcut_arena *a = dst->module->arena;
    s.prefix = call->name ? call->name : s.f->name;
    s.map = gcut_calloc(a, s.f->values.n, sizeof *s.map);
    s.own = gcut_calloc(a, s.f->values.n, sizeof *s.own);
    gcut_call_bind(dst, call, &s.sizes);
    for (uint32_t k = 0; k < s.f->params.n; k++) s.map[s.f->params.at[k].value] = call->args[k];
    for (uint32_t k = s.f->results.n; call->names && k-- > 0;)
        s.own[s.f->results.at[k].value] = call->names[k];
    gcut_inline_nodes(&s);
    for (uint32_t k = 0; k < s.f->results.n; k++) out[k] = s.map[s.f->results.at[k].value];
}

static gcut_graph *inlined(gcut_graph *g, const char *name, bool all)
{
    gcut_rewrite rw = gcut_rewrite_begin(g, name);
    gcut_inliner s = {.dst = rw.dst, .f = g, .map = rw.map, .calls = calls_of(all), .what = "call"};
    gcut_inline_nodes(&s);
    return gcut_rewrite_end(&rw);
}

gcut_graph *gcut_pass_inline(gcut_graph *g, const char *name)
{
    return inlined(g, name, true);
}

gcut_graph *gcut_inline_underived(gcut_graph *g, const char *name)
{
    return inlined(g, name, false);
}

/* ---- limits ---- */

/* Of the ops in the bodies and functions of a graph, and of levels of these.  Functions that call the one before twice
 * double the ops with each; passes recurse into bodies and functions. */
enum { MOST_INNER = 1 << 20, MOST_DEPTH = 1000 };

typedef struct extent {
    uint64_t inner; /* nodes of bodies and functions, each as often as it is named */
    uint32_t depth;
} extent;

typedef struct counting {
    gcut_arena *arena;
    const gcut_graph *whole;
    gcut_map index; /* of `known`, plus 1, by the address of a graph */
    GCUT_VEC(extent) known;
} counting;

static _Noreturn void refuse(const gcut_graph *g, const char *hint, const char *what)
{
    gcut_fail(g->module->env, GCUT_EUNSUPPORTED, gcut_loc_place(g->module, g->loc), hint,
              "@%s has more than %s", g->name, what);
}

static _Noreturn void refuse_depth(const gcut_graph *g)
{
    refuse(g, NULL, gcut_printf(g->module->arena, "%d calls and bodies within each other", MOST_DEPTH));
}

/* Of g with its bodies and functions, `above` levels below the whole. */
static extent extent_of(counting *c, const gcut_graph *g, uint32_t above)
{
    const uint32_t at = gcut_map_get(&c->index, gcut_map_key(g));
    if (at) return c->known.at[at - 1];
    extent e = {0};
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const gcut_node *n = gcut_node_at(g, i);
        for (uint32_t k = 0; k < n->nregs; k++) {
            if (above == MOST_DEPTH) refuse_depth(c->whole);
            const gcut_graph *body = gcut_region_at(g, n, k)->body;
            const extent x = extent_of(c, body, above + 1);
            e.inner += body->nodes.n + x.inner;
            if (x.depth + 1 > e.depth) e.depth = x.depth + 1;
        }
        if (e.inner > MOST_INNER)
            refuse(c->whole, "a function counts once for each call of it, also by those that are called",
                   gcut_printf(c->arena, "%d ops in bodies and functions", MOST_INNER));
    }
    *GCUT_PUSH(c->arena, &c->known) = e;
    *gcut_map_at(c->arena, &c->index, gcut_map_key(g)) = c->known.n;
    return e;
}

void gcut_inline_check(const gcut_graph *g)
{
    gcut_env *env = g->module->env;
    gcut_arena *scratch = gcut_arena_new(env, env->arena);
    counting c = {.arena = scratch, .whole = g};
    if (extent_of(&c, g, 0).depth > MOST_DEPTH) refuse_depth(g);
    gcut_arena_free(scratch);
}
