/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * External kernels in the public API: their registration, and the op in the builder.
 */
#include <stddef.h>

#include "driver/builder/builder.h"
#include "graph/external.h"

/* ---- registration ---- */

typedef struct registration {
    gcut_env *env;
    const char *kernel;
    gcut_rt_external_fn *fn;
} registration;

static void enter(void *arg)
{
    const registration *r = arg;
    gcut_external_register(r->env, r->kernel, r->fn);
}

gcut_status gcut_external(gcut_ctx *ctx, const char *kernel, void (*fn)(const struct gcut_rt_external *))
{
    GCUT_NEED(NULL, ctx, GCUT_EUSAGE);
    GCUT_NEED(ctx->env, kernel, GCUT_EUSAGE);
    return gcut_protect(ctx->env, enter, &(registration){ctx->env, kernel, fn});
}

/* ---- the op ---- */

typedef struct external_job {
    gcut_here at;
    gcut_graph *g;
    const gcut_external_call *given; /* of `size` bytes */
    size_t size;
    gcut_external_call own;
    gcut_ref first;
} external_job;

#if defined(__LP64__)
GCUT_ENDS_WITH(gcut_external_call, bytes);
#endif

#define REFUSE(j, ...) WRONG(j, NULL, "gcut_call_external: " __VA_ARGS__)

static gcut_type result_type(const external_job *j, int k)
{
    const gcut_shape *s = &j->own.shapes[k];
    gcut_type t = {.dtype = j->own.dtypes[k], .rank = (uint8_t)s->rank};
    if (!is_dtype(t.dtype)) REFUSE(j, "result %d: %d is no dtype", k, (int)t.dtype);
    if (s->rank < 0 || s->rank > GCUT_MAX_RANK) REFUSE(j, "result %d: a rank of %d", k, s->rank);
    memcpy(t.dim, s->dim, sizeof t.dim);
    for (int d = 0; d < s->rank; d++) gcut_builder_check_size(j->g, j->at, "op", "external", t.dim[d]);
    return t;
}

static uint32_t attributes(const external_job *j, gcut_attr *out)
{
    gcut_module *m = j->g->module;
    uint32_t n = 0;
    out[n++] = gcut_attr_str(m, GCUT_KEY_kernel, j->own.kernel);
    gcut_builder_check_size(j->g, j->at, "op", "external", j->own.flops);
    gcut_builder_check_size(j->g, j->at, "op", "external", j->own.bytes);
    if (j->own.flops) out[n++] = gcut_attr_dim(GCUT_KEY_flops, j->own.flops);
    if (j->own.bytes) out[n++] = gcut_attr_dim(GCUT_KEY_bytes, j->own.bytes);
    out[n++] = gcut_attr_bool(GCUT_KEY_pure, j->own.pure);
    return n;
}

static void add_external(void *arg)
{
    external_job *j = arg;
    gcut_module *m = j->g->module;
    if (!j->given) REFUSE(j, "its argument `of` is NULL");
    GCUT_COPY_KNOWN(m->env, gcut_external_call, j->given, j->size, &j->own);
    const gcut_external_call *c = &j->own;
    if (!c->kernel) REFUSE(j, "the name of the kernel is NULL");
    if (c->nin < 0 || c->nout < 1 || (c->nin && !c->in) || !c->dtypes || !c->shapes)
        REFUSE(j, "nin is at least 0, nout at least 1; in, dtypes and shapes have that many members");
    if (!gcut_builder_sees(j->g, c->in, c->nin))
        REFUSE(j, "an operand is no value that @%s sees", j->g->name);
    gcut_attr attrs[4];
    gcut_type *types = gcut_calloc(m->arena, (size_t)c->nout, sizeof *types);
    for (int k = 0; k < c->nout; k++) types[k] = result_type(j, k);
    gcut_node_spec s = {.op = GCUT_OP_external,
                        .args = gcut_builder_refs(m->arena, j->g, c->in, c->nin),
                        .nargs = (uint32_t)c->nin,
                        .attrs = attrs,
                        .nattrs = attributes(j, attrs),
                        .loc = gcut_builder_loc(j->at, j->g),
                        .types = types,
                        .ntypes = (uint32_t)c->nout};
    j->first = gcut_node_make(j->g, &s);
}

void gcut_call_external_at(gcut_here at, gcut_graph *g, size_t size, const gcut_external_call *of,
                           gcut_val *out)
{
    external_job j = {.at = at, .g = g, .given = of, .size = size};
    GCUT_NEED_GRAPH(g, );
    int n = of && size > offsetof(gcut_external_call, nout) ? of->nout : 0;
    bool ok = gcut_guard_at(at, g, add_external, &j);
    for (int k = 0; k < n; k++) out[k] = ok ? gcut_val_of(g, j.first + (uint32_t)k) : (gcut_val){0};
}
