/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The op table and the tables of dtypes, attributes and roles as data.
 */
#include "graph/ops/op_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A feval cell: whether the op is a composite. */
#define E(...) 0
#define T(fn) 0
#define D(fn) 1
#define NO 0
#define A(l, h) .lo = l, .hi = h
/* A cost cell: a number, or (number, counter of multiply-adds, way). */
#define M(rule, way, n) n, gcut_madds_##rule, GCUT_WAY_##way
#define COUNTER_(a, b, ...) b
#define COUNTER(...) COUNTER_(__VA_ARGS__)
#define MANY 255

/* An api cell: (name of the C function, its operands). */
#define API(...) "", #__VA_ARGS__
#define AS(other, ...) #other, #__VA_ARGS__
#define HAND NULL, "HAND"
#define INTERNAL NULL, "INTERNAL"

#define OP(id, operands, types, attr, shape, feval, ieval, vjp, cls, linearity, cost, emitter, c, meaning,   \
           api, fold)                                                                                        \
    [GCUT_OP_##id] = {.name = #id,                                                                           \
                      operands,                                                                              \
                      .dtypes = #types[0],                                                                   \
                      .composite = feval,                                                                    \
                      .pointwise = GCUT_CLASS_##cls == GCUT_CLASS_POINTWISE,                                 \
                      .attrs = attr,                                                                         \
                      .class = GCUT_CLASS_##cls,                                                             \
                      .linear = GCUT_LINEAR_##linearity,                                                     \
                      .cost_ps = cost,                                                                       \
                      .emit = GCUT_EMIT_##emitter,                                                           \
                      .cexpr = c,                                                                            \
                      .shape_rule = #shape,                                                                  \
                      .vjp_rule = #vjp,                                                                      \
                      .kernel = #emitter,                                                                    \
                      .doc = meaning,                                                                        \
                      .c_name = api},
static const gcut_op_info infos[GCUT_NOPS] = {
#include "graph/ops/ops.def"
};
#undef OP

const gcut_op_info *gcut_op_get(gcut_op op)
{
    return &infos[op];
}

const char *gcut_op_why_zero(const gcut_op_info *info)
{
    if (strcmp(info->vjp_rule, "zero") != 0) return NULL;
    if (info->hi == 0) return "a constant";
    if (info->dtypes == 'K') return "of a key";
    if (info->dtypes == 'B' || info->dtypes == 'I') return "of integers";
    if (!strcmp(info->shape_rule, "test")) return "a bool result";
    if (info->class == GCUT_CLASS_REDUCTION) return "an integer result";
    return info->class == GCUT_CLASS_VIEW ? "by definition" : "piecewise constant";
}

bool gcut_op_parse(const char *name, size_t n, gcut_op *out)
{
    for (int i = 0; i < GCUT_NOPS; i++)
        if (strlen(infos[i].name) == n && !memcmp(infos[i].name, name, n)) return *out = (gcut_op)i, true;
    return false;
}

static const struct {
    const char *name;
    gcut_attr_kind kind;
    gcut_attr_form form;
} keys[GCUT_NATTRS] = {
#define ATTR(id, k, form, asked) {#id, GCUT_ATTR_KIND_##k, GCUT_ATTR_FORM_##form},
#include "graph/ops/attrs.def"
#undef ATTR
};

gcut_attr_form gcut_attr_form_of(gcut_attr_key key)
{
    return keys[key].form;
}

gcut_attr_kind gcut_attr_kind_of(gcut_attr_key key)
{
    return keys[key].kind;
}
const char *gcut_attr_name(gcut_attr_key key)
{
    return keys[key].name;
}

bool gcut_attr_parse(const char *name, size_t n, gcut_attr_key *out)
{
    for (int i = 0; i < GCUT_NATTRS; i++)
        if (strlen(keys[i].name) == n && !memcmp(keys[i].name, name, n)) return *out = (gcut_attr_key)i, true;
    return false;
}

static const struct {
    const char *name;
    int bytes;
    char kind;
} dtypes[GCUT_NDTYPES] = {
#define DTYPE(id, text, size, class, ctype, npy) [GCUT_##id] = {text, size, #class[0]},
#include "graph/ops/dtype.def"
#undef DTYPE
};

enum {
#define DTYPE(id, ...) ROW_##id,
#include "graph/ops/dtype.def"
#undef DTYPE
    ROWS
};
#define DTYPE(id, ...)                                                                                       \
    _Static_assert((int)ROW_##id == (int)GCUT_##id, "graph/ops/dtype.def is in the order of "                \
                                                    "gradcut/dtype.h");
#include "graph/ops/dtype.def"
#undef DTYPE
_Static_assert(ROWS == GCUT_NDTYPES, "graph/ops/dtype.def has a row for each dtype");

const char *gcut_dtype_name(gcut_dtype t)
{
    return dtypes[t].name;
}
int64_t gcut_dtype_bytes(gcut_dtype t)
{
    return dtypes[t].bytes;
}
bool gcut_dtype_is_float(gcut_dtype t)
{
    return dtypes[t].kind == 'F';
}
bool gcut_dtype_is_16bit_float(gcut_dtype t)
{
    return gcut_dtype_is_float(t) && gcut_dtype_bytes(t) == 2;
}

bool gcut_dtype_is_int(gcut_dtype t)
{
    return dtypes[t].kind == 'I' || dtypes[t].kind == 'U';
}

bool gcut_dtype_parse(const char *s, gcut_dtype *out)
{
    for (int i = 0; i < GCUT_NDTYPES; i++)
        if (!strcmp(dtypes[i].name, s)) return *out = (gcut_dtype)i, true;
    return false;
}

const char *gcut_role_name(gcut_role r)
{
    static const char *const names[GCUT_NROLES] = {"param", "input", "state", "rng", "cotan",
                                                   "saved", "out",   "grad",  "next"};
    return names[r];
}

const char *gcut_data_kind_name(gcut_data_kind k)
{
    static const char *const names[GCUT_NDATA_KINDS] = {"splat", "dense", "file", "normal", "uniform"};
    return names[k];
}

/* [1,1]: numbers without blanks. */
static gcut_attr read_list(gcut_module *m, gcut_attr_key key, const char *s)
{
    gcut_dim d[GCUT_MAX_RANK];
    uint32_t n = 0;
    char *end = NULL;
    GCUT_ASSERT(*s == '[');
    for (; *s != ']'; s = end) {
        GCUT_ASSERT(n < GCUT_MAX_RANK);
        d[n++] = strtoll(s + 1, &end, 10);
    }
    return gcut_attr_dims(m, key, d, n);
}

/* One item of a spec string: key, then ?, =default or nothing. */
static const char *read_spec(gcut_module *m, const char *s, gcut_attr_spec *out)
{
    size_t n = strcspn(s, "?= ");
    GCUT_ASSERT(gcut_attr_parse(s, n, &out->key));
    s += n;
    out->required = *s == '\0' || *s == ' ';
    out->has_default = *s == '=';
    if (*s == '?') return s + 1;
    if (*s != '=') return s;
    n = strcspn(++s, " ");
    char *end = NULL;
    switch (gcut_attr_kind_of(out->key)) {
    case GCUT_ATTR_KIND_BOOL: out->value = gcut_attr_bool(out->key, *s == 't'); break;
    case GCUT_ATTR_KIND_DIM: out->value = gcut_attr_dim(out->key, strtoll(s, NULL, 10)); break;
    case GCUT_ATTR_KIND_NUM:
        out->value = gcut_attr_int(out->key, strtoll(s, &end, 10));
        if (end != s + n) out->value = gcut_attr_real(out->key, strtod(s, NULL));
        break;
    case GCUT_ATTR_KIND_STR:
        out->value = gcut_attr_str(m, out->key, gcut_strndup(m->arena, s + 1, n - 2));
        break;
    case GCUT_ATTR_KIND_DIMS: out->value = read_list(m, out->key, s); break;
    }
    return s + n;
}

gcut_op_spec *gcut_op_specs(gcut_module *m)
{
    gcut_op_spec *specs = gcut_calloc(m->arena, GCUT_NOPS, sizeof *specs);
    for (int op = 0; op < GCUT_NOPS; op++) {
        const char *s = infos[op].attrs;
        gcut_attr_spec item[GCUT_NATTRS];
        uint32_t n = 0;
        while (*s) {
            if (*s == ' ') {
                s++;
                continue;
            }
            s = read_spec(m, s, &item[n++]);
        }
        specs[op] = (gcut_op_spec){n, gcut_memdup(m->arena, item, n * sizeof *item)};
    }
    return specs;
}

/* ---- what a kernel fuses ---- */

gcut_axes_position gcut_axes_position_of(const gcut_type *t, uint32_t mask)
{
    bool some = false, kept_before = false, kept_after = false, broken = false, last = false;
    for (uint32_t d = 0; d < t->rank; d++) {
        if (t->dim[d] == 1) continue;
        bool red = mask >> d & 1;
        if (red && some && !last) broken = true;
        if (!red && !some) kept_before = true;
        if (!red && some) kept_after = true;
        some = some || red;
        last = red;
    }
    if (!kept_before && !kept_after) return GCUT_EVERY;
    if (broken || (kept_before && kept_after) || !some) return GCUT_MIDDLE;
    return kept_before ? GCUT_TRAILING : GCUT_LEADING;
}

bool gcut_node_takes_in(const gcut_graph *g, const gcut_node *n)
{
    const gcut_op_info *info = gcut_op_get((gcut_op)n->op);
    switch (info->emit) {
    case GCUT_EMIT_POINT:
    case GCUT_EMIT_CAST:
    case GCUT_EMIT_BOUNDED: return true;
    case GCUT_EMIT_REDUCE:
        return gcut_axes_position_of(gcut_type_of(g, gcut_arg(g, n, 0)), gcut_attr_axes(g, n)) != GCUT_MIDDLE;
    case GCUT_EMIT_EXPAND: /* its decomposition consists of such ops */
        return info->class == GCUT_CLASS_POINTWISE || info->class == GCUT_CLASS_REDUCTION;
    default: return false;
    }
}

/* Slices have a start, transpositions a permutation. */
bool gcut_view_keeps_order(const gcut_graph *g, const gcut_node *n)
{
    const gcut_type *t = gcut_type_of(g, n->res0);
    const gcut_attr *perm = gcut_attr_get(g, n, GCUT_KEY_perm);
    gcut_dim last = 0;
    if (gcut_attr_get(g, n, GCUT_KEY_start)) return false;
    for (uint32_t d = 0; perm && d < t->rank; d++) {
        if (t->dim[d] == 1) continue;
        if (perm->u.dims[d] < last) return false;
        last = perm->u.dims[d];
    }
    return true;
}

const char *gcut_maker_name(const gcut_graph *g, gcut_ref v)
{
    const gcut_node *n = gcut_def(g, v);
    return n ? gcut_op_get((gcut_op)n->op)->name : gcut_role_name(g->params.at[g->values.at[v].index].role);
}

gcut_dtype gcut_node_widest(const gcut_graph *g, const gcut_node *n)
{
    gcut_dtype t = gcut_type_of(g, n->res0)->dtype;
    for (uint32_t k = 0; k < n->nargs; k++) {
        gcut_dtype u = gcut_type_of(g, gcut_arg(g, n, k))->dtype;
        if (gcut_dtype_bytes(u) > gcut_dtype_bytes(t)) t = u;
    }
    return t;
}
