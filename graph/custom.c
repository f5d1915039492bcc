/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Checks the custom derivative of a call against the signature of the function called.
 */
#include "graph/custom.h"

#include <string.h>

/* ---- names ---- */

static const char *param_name(const gcut_graph *f, uint32_t k)
{
    return f->values.at[f->params.at[k].value].name;
}

static uint32_t find_param(const gcut_graph *f, const char *name)
{
    for (uint32_t k = 0; k < f->params.n; k++)
        if (!strcmp(param_name(f, k), name)) return k;
    return GCUT_NONE;
}

static uint32_t find_result(const gcut_graph *f, const char *name)
{
    for (uint32_t k = 0; k < f->results.n; k++)
        if (!strcmp(f->results.at[k].name, name)) return k;
    return GCUT_NONE;
}

bool gcut_vjp_source_of(const gcut_graph *f, const gcut_graph *vjp, uint32_t k, gcut_vjp_source *out)
{
    const char *name = param_name(vjp, k);
    if (vjp->params.at[k].role == GCUT_ROLE_cotan) {
        *out = (gcut_vjp_source){GCUT_VJP_COTANGENT, *name == 'd' ? find_result(f, name + 1) : GCUT_NONE};
        return out->index != GCUT_NONE;
    }
    *out = (gcut_vjp_source){GCUT_VJP_OPERAND, find_param(f, name)};
    if (out->index == GCUT_NONE) *out = (gcut_vjp_source){GCUT_VJP_RESULT, find_result(f, name)};
    return out->index != GCUT_NONE;
}

uint32_t gcut_vjp_target_of(const gcut_graph *f, const gcut_graph *vjp, uint32_t r)
{
    return find_param(f, vjp->results.at[r].name);
}

bool gcut_vjp_gives(const gcut_graph *g, const gcut_node *n, uint32_t k)
{
    const gcut_graph *f = gcut_region_at(g, n, 0)->body, *vjp = gcut_node_vjp(g, n);
    return find_result(vjp, param_name(f, k)) != GCUT_NONE;
}

bool gcut_vjp_takes(const gcut_graph *g, const gcut_node *n, uint32_t k)
{
    const gcut_graph *f = gcut_region_at(g, n, 0)->body, *vjp = gcut_node_vjp(g, n);
    gcut_vjp_source s;
    for (uint32_t i = 0; i < vjp->params.n; i++)
        if (vjp->params.at[i].role == GCUT_ROLE_cotan && gcut_vjp_source_of(f, vjp, i, &s) && s.index == k)
            return true;
    return false;
}

bool gcut_is_derivative(const gcut_graph *g)
{
    bool cotangent = false;
    for (uint32_t k = 0; k < g->params.n; k++)
        cotangent = cotangent || g->params.at[k].role == GCUT_ROLE_cotan;
    for (uint32_t k = 0; k < g->results.n; k++)
        if (g->results.at[k].role != GCUT_ROLE_grad) return false;
    return cotangent && g->results.n;
}

/* ---- the comparison ---- */

typedef struct comparison {
    gcut_graph *g;
    const gcut_node_spec *s;
    const gcut_graph *f, *vjp;
    const gcut_call_sizes *sizes; /* of f */
    gcut_arena *a;
} comparison;

#define BAD(c, hint, ...)                                                                                    \
    gcut_fail((c)->g->module->env, GCUT_ETYPE, gcut_loc_place((c)->g->module, (c)->s->loc), hint, __VA_ARGS__)

static const char *show(const comparison *c, const gcut_type *t)
{
    return gcut_type_text(c->a, c->g->module, t);
}

/* "%x: f32[N]" with its role, as in a signature. */
static const char *declaration(const comparison *c, const char *role, const char *prefix, const char *name,
                               const gcut_type *t)
{
    return gcut_printf(c->a, "`%s %s%s: %s`", role, prefix, name, show(c, t));
}

/* The declarations of the cotangents that the derivative may take, or of the gradients that it may give. */
static const char *choices(const comparison *c, bool gradients)
{
    gcut_text t = {.arena = c->a};
    const gcut_graph *f = c->f;
    for (uint32_t k = 0; k < (gradients ? f->params.n : f->results.n); k++) {
        gcut_ref v = gradients ? f->params.at[k].value : f->results.at[k].value;
        const gcut_type *type = gcut_type_of(f, v);
        if (!gcut_dtype_is_float(type->dtype)) continue;
        gcut_text_add(&t, "%s%s", t.n ? ", " : "",
                      gradients ? declaration(c, "grad", "", param_name(f, k), type)
                                : declaration(c, "cotan", "%d", f->results.at[k].name, type));
    }
    return t.n ? t.at : "none";
}

static _Noreturn void refuse_unknown(const comparison *c, uint32_t k)
{
    const char *name = param_name(c->vjp, k);
    bool cotan = c->vjp->params.at[k].role == GCUT_ROLE_cotan;
    uint32_t of = *name == 'd' ? find_result(c->f, name + 1) : GCUT_NONE;
    if (cotan)
        BAD(c,
            gcut_printf(c->a, "a cotangent is named after a result of @%s: %s", c->f->name,
                        choices(c, false)),
            "'call': cotan %%%s of @%s is the cotangent of no result of @%s", name, c->vjp->name, c->f->name);
    BAD(c,
        of != GCUT_NONE
            ? gcut_printf(
                  c->a, "declare it %s",
                  declaration(c, "cotan", "%d", name + 1, gcut_type_of(c->f, c->f->results.at[of].value)))
            : gcut_printf(c->a, "what a derivative saves is named after parameters and results of @%s",
                          c->f->name),
        "'call': @%s takes %%%s, but @%s has no parameter or result of that name", c->vjp->name, name,
        c->f->name);
}

/* A type of a function, its symbols replaced by the sizes of the call. */
static gcut_type in_call(const comparison *c, const gcut_type *t, const gcut_call_sizes *sizes)
{
    return gcut_type_substitute(c->g->module, *t, sizes->at, sizes->n,
                                gcut_loc_place(c->g->module, c->s->loc));
}

/* The argument of parameter k of the derivative: its type as @f declares it, and at the call. */
typedef struct given {
    gcut_vjp_source source;
    gcut_type declared, actual;
} given;

static given given_to(const comparison *c, uint32_t k)
{
    given x;
    if (!gcut_vjp_source_of(c->f, c->vjp, k, &x.source)) refuse_unknown(c, k);
    bool operand = x.source.kind == GCUT_VJP_OPERAND;
    gcut_ref v = operand ? c->f->params.at[x.source.index].value : c->f->results.at[x.source.index].value;
    x.declared = *gcut_type_of(c->f, v);
    x.actual = in_call(c, &x.declared, c->sizes);
    if (operand) x.actual = *gcut_type_of(c->g, c->s->args[x.source.index]);
    return x;
}

static const char *described(const comparison *c, const given *x)
{
    return x->source.kind == GCUT_VJP_OPERAND
               ? gcut_printf(c->a, "the parameter %%%s", param_name(c->f, x->source.index))
               : gcut_printf(c->a, "the result %s", c->f->results.at[x->source.index].name);
}

static given check_param(const comparison *c, uint32_t k)
{
    gcut_role role = c->vjp->params.at[k].role;
    const char *name = param_name(c->vjp, k), *word = gcut_role_name(role);
    const gcut_type *have = gcut_type_of(c->vjp, c->vjp->params.at[k].value);
    given x = given_to(c, k);
    if (role == GCUT_ROLE_saved)
        BAD(c, gcut_printf(c->a, "declare it %s", declaration(c, "input", "%", name, &x.declared)),
            "'call': %%%s of @%s is declared `saved`, which is for parameters of backward graphs", name,
            c->vjp->name);
    if (role == GCUT_ROLE_cotan && !gcut_dtype_is_float(x.declared.dtype))
        BAD(c, gcut_printf(c->a, "only float results have cotangents: remove %%%s", name),
            "'call': cotan %%%s of @%s is of %s of @%s, which is %s", name, c->vjp->name, described(c, &x),
            c->f->name, show(c, &x.declared));
    if (have->dtype != x.declared.dtype || have->rank != x.declared.rank)
        BAD(c, gcut_printf(c->a, "declare it %s", declaration(c, word, "%", name, &x.declared)),
            "'call': %s %%%s of @%s is %s, but %s of @%s is %s", word, name, c->vjp->name, show(c, have),
            described(c, &x), c->f->name, show(c, &x.declared));
    return x;
}

static void check_params(const comparison *c, gcut_call_sizes *own)
{
    const gcut_graph *vjp = c->vjp;
    gcut_type *types = gcut_calloc(c->a, vjp->params.n + 1u, sizeof *types);
    bool cotangent = false;
    for (uint32_t k = 0; k < vjp->params.n; k++) {
        types[k] = check_param(c, k).actual;
        cotangent = cotangent || vjp->params.at[k].role == GCUT_ROLE_cotan;
    }
    if (!cotangent)
        BAD(c, gcut_printf(c->a, "it takes at least one of: %s", choices(c, false)),
            "'call': @%s is given as the derivative of @%s, but takes the cotangent of none of its results",
            vjp->name, c->f->name);
    gcut_call_symbols(c->g, c->s->loc, vjp, types, own);
    for (uint32_t k = 0; k < vjp->params.n; k++) {
        const gcut_type *t = gcut_type_of(vjp, vjp->params.at[k].value);
        gcut_type want = in_call(c, t, own);
        given x = given_to(c, k);
        if (!gcut_types_may_agree(c->g, &want, &types[k]))
            BAD(c,
                gcut_printf(c->a, "the other parameters of @%s determine its sizes so; %s of @%s is %s",
                            vjp->name, described(c, &x), c->f->name, show(c, &x.declared)),
                "'call': %%%s of @%s is %s, here %s, but the call has %s", param_name(vjp, k), vjp->name,
                show(c, t), show(c, &want), show(c, &types[k]));
    }
    gcut_call_checks(c->g, c->s->loc, vjp, types, own);
}

static void check_result(const comparison *c, uint32_t r, const gcut_call_sizes *own)
{
    const gcut_result *result = &c->vjp->results.at[r];
    const gcut_type *have = gcut_type_of(c->vjp, result->value);
    if (result->role != GCUT_ROLE_grad)
        BAD(c, gcut_printf(c->a, "return some of: %s", choices(c, true)),
            "'call': @%s is given as the derivative of @%s, but has the result '%s %s', which is no gradient",
            c->vjp->name, c->f->name, gcut_role_name(result->role), result->name);
    uint32_t k = gcut_vjp_target_of(c->f, c->vjp, r);
    if (k == GCUT_NONE)
        BAD(c,
            gcut_printf(c->a, "a gradient is named after a parameter of @%s: %s", c->f->name,
                        choices(c, true)),
            "'call': 'grad %s' of @%s is of no parameter of @%s", result->name, c->vjp->name, c->f->name);
    const gcut_type *of = gcut_type_of(c->f, c->f->params.at[k].value);
    const gcut_type *x = gcut_type_of(c->g, c->s->args[k]);
    gcut_type here = in_call(c, have, own);
    if (!gcut_dtype_is_float(of->dtype))
        BAD(c, gcut_printf(c->a, "only float parameters have gradients: remove 'grad %s'", result->name),
            "'call': 'grad %s' of @%s is of the parameter %%%s of @%s, which is %s", result->name,
            c->vjp->name, result->name, c->f->name, show(c, of));
    if (!gcut_types_may_agree(c->g, &here, x))
        BAD(c, gcut_printf(c->a, "return it as %s", declaration(c, "grad", "", result->name, of)),
            "'call': 'grad %s' of @%s is %s, but the parameter %%%s of @%s is %s", result->name, c->vjp->name,
            show(c, have), result->name, c->f->name, show(c, of));
    for (uint32_t d = 0; d < x->rank; d++) gcut_dim_require(c->g, x->dim[d], here.dim[d], c->s->loc, "call");
}

void gcut_check_vjp(gcut_graph *g, const gcut_node_spec *s, const gcut_call_sizes *sizes)
{
    comparison c = {g, s, s->regions[0].body, s->regions[1].body, sizes, g->module->arena};
    gcut_call_sizes own = {0};
    check_params(&c, &own);
    if (!c.vjp->results.n)
        BAD(&c, gcut_printf(c.a, "return some of: %s", choices(&c, true)),
            "'call': @%s is given as the derivative of @%s, but gives no gradient", c.vjp->name, c.f->name);
    for (uint32_t r = 0; r < c.vjp->results.n; r++) check_result(&c, r, &own);
}
