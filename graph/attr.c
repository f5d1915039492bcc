/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Attributes and types as values: made, compared, read, printed.
 */
#include <string.h>

#include "graph/graph.h"

/* ---- attributes ---- */

const gcut_attr_spec *gcut_attr_spec_of(const gcut_module *m, gcut_op op, gcut_attr_key key)
{
    const gcut_op_spec *spec = &m->specs[op];
    for (uint32_t i = 0; i < spec->n; i++)
        if (spec->at[i].key == key) return &spec->at[i];
    return NULL;
}

const gcut_attr *gcut_attr_among(const gcut_module *m, gcut_op op, const gcut_attr *at, uint32_t n,
                                 gcut_attr_key key)
{
    for (uint32_t i = 0; i < n; i++)
        if (at[i].key == key) return &at[i];
    const gcut_attr_spec *spec = gcut_attr_spec_of(m, op, key);
    return spec && spec->has_default ? &spec->value : NULL;
}

const gcut_attr *gcut_attr_get(const gcut_graph *g, const gcut_node *n, gcut_attr_key key)
{
    return gcut_attr_among(g->module, (gcut_op)n->op, n->nattrs ? g->attrs.at + n->attr0 : NULL, n->nattrs,
                           key);
}

bool gcut_attr_flag(const gcut_graph *g, const gcut_node *n, gcut_attr_key key)
{
    const gcut_attr *a = gcut_attr_get(g, n, key);
    return a && a->u.flag;
}

double gcut_attr_num(const gcut_graph *g, const gcut_node *n, gcut_attr_key key)
{
    const gcut_attr *a = gcut_attr_get(g, n, key);
    GCUT_ASSERT(a != NULL);
    return a->u.num.f;
}

uint32_t gcut_attr_axes(const gcut_graph *g, const gcut_node *n)
{
    const gcut_attr *a = gcut_attr_get(g, n, GCUT_KEY_axes);
    uint32_t mask = 0;
    if (!a) return (1u << gcut_type_of(g, gcut_arg(g, n, 0))->rank) - 1;
    for (uint32_t i = 0; i < a->n; i++) mask |= 1u << a->u.dims[i];
    return mask;
}

gcut_attr gcut_attr_dim(gcut_attr_key k, gcut_dim d)
{
    return (gcut_attr){.key = k, .kind = GCUT_ATTR_KIND_DIM, .u.dim = d};
}

gcut_attr gcut_attr_dims(gcut_module *m, gcut_attr_key k, const gcut_dim *d, uint32_t n)
{
    return (gcut_attr){
        .key = k, .kind = GCUT_ATTR_KIND_DIMS, .n = n, .u.dims = gcut_memdup(m->arena, d, n * sizeof *d)};
}

gcut_attr gcut_attr_bool(gcut_attr_key k, bool b)
{
    return (gcut_attr){.key = k, .kind = GCUT_ATTR_KIND_BOOL, .u.flag = b};
}

gcut_attr gcut_attr_real(gcut_attr_key k, double f)
{
    return (gcut_attr){.key = k, .kind = GCUT_ATTR_KIND_NUM, .u.num = {.f = f}};
}

gcut_attr gcut_attr_int(gcut_attr_key k, int64_t i)
{
    return (gcut_attr){
        .key = k, .kind = GCUT_ATTR_KIND_NUM, .u.num = {.is_int = true, .i = i, .f = (double)i}};
}

gcut_attr gcut_attr_str(gcut_module *m, gcut_attr_key k, const char *s)
{
    return (gcut_attr){.key = k, .kind = GCUT_ATTR_KIND_STR, .u.str = gcut_intern_name(m, s)};
}

/* Numbers are equal by bits (0.0 is not -0.0, a NaN equals itself), 2 and 2.0 are equal. */
static bool num_equal(const gcut_num *a, const gcut_num *b)
{
    if (a->is_int && b->is_int) return a->i == b->i;
    return memcmp(&a->f, &b->f, sizeof a->f) == 0;
}

bool gcut_attr_equal(const gcut_attr *a, const gcut_attr *b)
{
    if (a->key != b->key || a->kind != b->kind) return false;
    switch (a->kind) {
    case GCUT_ATTR_KIND_DIM: return a->u.dim == b->u.dim;
    case GCUT_ATTR_KIND_DIMS:
        return a->n == b->n && (a->n == 0 || !memcmp(a->u.dims, b->u.dims, a->n * sizeof *a->u.dims));
    case GCUT_ATTR_KIND_NUM: return num_equal(&a->u.num, &b->u.num);
    case GCUT_ATTR_KIND_BOOL: return a->u.flag == b->u.flag;
    case GCUT_ATTR_KIND_STR: return !strcmp(a->u.str, b->u.str);
    }
    return false;
}

bool gcut_attrs_equal(const gcut_graph *f, const gcut_node *a, const gcut_graph *g, const gcut_node *b)
{
    if (a->nattrs != b->nattrs) return false;
    for (uint32_t k = 0; k < a->nattrs; k++)
        if (!gcut_attr_equal(&f->attrs.at[a->attr0 + k], &g->attrs.at[b->attr0 + k])) return false;
    return true;
}

bool gcut_nodes_alike(const gcut_graph *f, const gcut_node *a, const gcut_graph *g, const gcut_node *b)
{
    if (a->op != b->op || a->nres != b->nres || !gcut_attrs_equal(f, a, g, b)) return false;
    for (uint32_t k = 0; k < a->nres; k++)
        if (!gcut_type_equal(gcut_type_of(f, a->res0 + k), gcut_type_of(g, b->res0 + k))) return false;
    return true;
}

/* ---- types ---- */

bool gcut_shape_equal(const gcut_type *a, const gcut_type *b)
{
    return a->rank == b->rank && !memcmp(a->dim, b->dim, a->rank * sizeof *a->dim);
}

bool gcut_type_equal(const gcut_type *a, const gcut_type *b)
{
    return a->dtype == b->dtype && gcut_shape_equal(a, b);
}

bool gcut_types_may_agree(const gcut_graph *g, const gcut_type *a, const gcut_type *b)
{
    if (a->dtype != b->dtype || a->rank != b->rank) return false;
    for (uint32_t d = 0; d < a->rank; d++)
        if (gcut_dims_differ(g, a->dim[d], b->dim[d])) return false;
    return true;
}

gcut_type gcut_type_substitute(gcut_module *m, gcut_type t, const gcut_dim_subst *s, uint32_t n,
                               gcut_place place)
{
    for (uint32_t d = 0; d < t.rank; d++) t.dim[d] = gcut_dim_substitute(m->dims, t.dim[d], s, n, place);
    return t;
}

gcut_dim gcut_type_numel(gcut_module *m, const gcut_type *t)
{
    gcut_dim n = 1;
    for (uint32_t i = 0; i < t->rank; i++) n = gcut_dim_make(m->dims, GCUT_DIM_MUL, n, t->dim[i]);
    return n;
}

void gcut_type_print(const gcut_module *m, const gcut_type *t, gcut_text *out)
{
    gcut_text_add(out, "%s[", gcut_dtype_name(t->dtype));
    for (uint32_t i = 0; i < t->rank; i++) {
        if (i) gcut_text_add(out, ", ");
        gcut_dim_print(m->dims, t->dim[i], out);
    }
    gcut_text_add(out, "]");
}

const char *gcut_type_text(gcut_arena *a, const gcut_module *m, const gcut_type *t)
{
    gcut_text text = {.arena = a};
    gcut_type_print(m, t, &text);
    return text.at;
}
