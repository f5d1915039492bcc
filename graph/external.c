/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * External kernels: their names, their effects, their cost.
 */
#include "graph/external.h"

#include <string.h>

#include "graph/ops/shape_rule.h"

/* ---- effects ---- */

/* Bodies of loops and branches have no effects (graph/ops/shape_region.c), and this node does not call the
 * custom derivative.
 */
bool gcut_node_has_effects(const gcut_graph *g, const gcut_node *n)
{
    if (n->op == GCUT_OP_external) return !gcut_attr_flag(g, n, GCUT_KEY_pure);
    return n->op == GCUT_OP_call && gcut_graph_has_effects(gcut_region_at(g, n, 0)->body);
}

bool gcut_graph_has_effects(const gcut_graph *g)
{
    for (uint32_t i = 0; i < g->nodes.n; i++)
        if (gcut_node_has_effects(g, gcut_node_at(g, i))) return true;
    return false;
}

/* ---- names ---- */

struct gcut_external {
    const char *kernel;
    gcut_rt_external_fn *fn;
    struct gcut_external *next;
};

static struct gcut_external *find(const gcut_env *env, const char *kernel)
{
    struct gcut_external *x = env->externals;
    while (x && strcmp(x->kernel, kernel) != 0) x = x->next;
    return x;
}

void gcut_external_register(gcut_env *env, const char *kernel, gcut_rt_external_fn *fn)
{
    struct gcut_external *x = find(env, kernel);
    if (!x) {
        x = gcut_calloc(env->arena, 1, sizeof *x);
        x->kernel = gcut_strndup(env->arena, kernel, strlen(kernel));
        x->next = env->externals;
        env->externals = x;
    }
    x->fn = fn;
}

gcut_rt_external_fn *gcut_external_find(const gcut_env *env, const char *kernel)
{
    const struct gcut_external *x = find(env, kernel);
    return x ? x->fn : NULL;
}

void gcut_external_registered(const gcut_env *env,
                              void (*seen)(void *arg, const char *kernel, gcut_rt_external_fn *fn), void *arg)
{
    for (const struct gcut_external *x = env->externals; x; x = x->next)
        if (x->fn) seen(arg, x->kernel, x->fn);
}

void gcut_external_each(const gcut_graph *g, void (*seen)(void *arg, const gcut_graph *g, const gcut_node *n),
                        void *arg)
{
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const gcut_node *n = gcut_node_at(g, i);
        if (n->op == GCUT_OP_external) seen(arg, g, n);
        for (uint32_t k = 0; k < n->nregs; k++) gcut_external_each(gcut_region_at(g, n, k)->body, seen, arg);
    }
}

static void require_one(void *arg, const gcut_graph *g, const gcut_node *n)
{
    gcut_module *m = g->module;
    const char *kernel = gcut_external_kernel(g, n);
    (void)arg;
    if (gcut_external_find(m->env, kernel)) return;
    gcut_fail(m->env, GCUT_EUSAGE, gcut_loc_place(m, n->loc),
              gcut_printf(
                  m->arena,
                  "register it before: gcut_external(ctx, \"%s\", %s); the command line cannot, but writes C "
                  "that is linked with it (gradcut compile)",
                  kernel, kernel),
              "'external': the kernel '%s' is not registered", kernel);
}

void gcut_external_require(const gcut_graph *g)
{
    gcut_external_each(g, require_one, NULL);
}

/* ---- types ---- */

static bool is_function_name(const char *s)
{
    const char *letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
    return *s && !(*s >= '0' && *s <= '9') && strspn(s, letters) == strlen(s);
}

/* The result types are those stated in the graph. */
void gcut_shape_external(infer *s)
{
    gcut_module *m = s->g->module;
    const char *kernel = attr(s, GCUT_KEY_kernel)->u.str;
    gcut_place at = gcut_loc_place(m, s->spec->loc);
    if (!is_function_name(kernel))
        gcut_fail(m->env, GCUT_ETYPE, at, "letters, digits and _ alone, such as kernel=\"my_kernel\"",
                  "'external': \"%s\" is not the name of a C function", kernel);
    if (!s->spec->types || !s->spec->ntypes)
        gcut_fail(m->env, GCUT_ETYPE, at,
                  gcut_printf(m->arena, "write them: %%y: f32[N] = external(…, kernel=\"%s\")", kernel),
                  "'external': the types of its results cannot be inferred");
    if (s->spec->ntypes > 8) BAD(s, "'external' has at most 8 results, not %u", s->spec->ntypes);
    for (uint32_t k = 0; k < s->spec->ntypes; k++) s->out[k] = s->spec->types[k];
    s->n = s->spec->ntypes;
}

/* ---- cost ---- */

static bool add_bytes(const gcut_graph *g, gcut_ref v, const gcut_dim_binding *at, uint32_t nat,
                      double *bytes)
{
    const gcut_type *t = gcut_type_of(g, v);
    double n = (double)gcut_dtype_bytes(t->dtype);
    for (uint32_t d = 0; d < t->rank; d++) {
        int64_t size;
        if (!gcut_dim_eval(g->module->dims, t->dim[d], at, nat, &size)) return false;
        n *= (double)size;
    }
    *bytes += n;
    return true;
}

/* Values above 2^63 are clamped to it: plans are also priced at sizes far above their own. */
static void declared(const gcut_graph *g, const gcut_node *n, gcut_attr_key key, const gcut_dim_binding *at,
                     uint32_t nat, double *out)
{
    const gcut_attr *a = gcut_attr_get(g, n, key);
    int64_t value = 0;
    *out = !a || gcut_dim_eval(g->module->dims, a->u.dim, at, nat, &value) ? (double)value : 0x1p63;
}

bool gcut_external_cost(const gcut_graph *g, const gcut_node *n, const gcut_dim_binding *at, uint32_t nat,
                        double *flops, double *bytes)
{
    declared(g, n, GCUT_KEY_flops, at, nat, flops);
    declared(g, n, GCUT_KEY_bytes, at, nat, bytes);
    if (gcut_attr_get(g, n, GCUT_KEY_bytes)) return true;
    for (uint32_t k = 0; k < n->nargs; k++)
        if (!add_bytes(g, gcut_arg(g, n, k), at, nat, bytes)) return false;
    for (uint32_t k = 0; k < n->nres; k++)
        if (!add_bytes(g, n->res0 + k, at, nat, bytes)) return false;
    return true;
}
