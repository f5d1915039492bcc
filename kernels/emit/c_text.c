/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Pieces of C: types, names, numbers, expressions.
 */
#include "kernels/emit/c_text.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gradcut/gradcut_rt.h"
#include "machine/lower/kernel.h"

void gcut_c_add(gcut_text *t, const char *name, const char *fmt, ...)
{
    gcut_text named = {.arena = t->arena};
    for (size_t n; *fmt; fmt += n + (fmt[n] == '@')) {
        n = strcspn(fmt, "@");
        gcut_text_addn(&named, fmt, n);
        if (fmt[n]) gcut_text_addn(&named, name, strlen(name));
    }
    va_list ap;
    va_start(ap, fmt);
    const char *text = gcut_vprintf(t->arena, named.at, ap);
    va_end(ap);
    gcut_text_addn(t, text, strlen(text));
}

uint32_t gcut_string_number(gcut_arena *a, gcut_strings *all, const char *s)
{
    uint32_t k = 0;
    while (k < all->n && strcmp(all->at[k], s) != 0) k++;
    if (k == all->n) *GCUT_PUSH(a, all) = s;
    return k;
}

const char *gcut_c_type(gcut_dtype t)
{
    static const char *const names[GCUT_NDTYPES] = {
#define DTYPE(id, text, size, class, ctype, npy) [GCUT_##id] = #ctype,
#include "graph/ops/dtype.def"
#undef DTYPE
    };
    return names[t];
}

const char *gcut_c_local(gcut_dtype t)
{
    return t == GCUT_BOOL ? "int" : gcut_c_type(t);
}

/* Dots are the only characters of a name that C does not have. */
const char *gcut_c_name(gcut_arena *a, const char *name)
{
    char *s = gcut_strndup(a, name, strlen(name));
    for (char *c = s; *c; c++)
        if (!isalnum((unsigned char)*c)) *c = '_';
    return s;
}

const char *gcut_c_dim(gcut_module *m, gcut_dim d)
{
    gcut_text t = {.arena = m->arena};
    if (gcut_dim_known(d) && d <= INT32_MAX) return gcut_printf(m->arena, "%d", (int)d);
    gcut_dim_print_c(m->dims, d, "x->d_", &t);
    return t.at;
}

/* Between the marks of a number that a function is given. */
static const char *marked(gcut_module *m, const char *mark, gcut_dim d)
{
    const char *number = gcut_dim_known(d) ? gcut_printf(m->arena, "%lld", (long long)d) : gcut_c_dim(m, d);
    return gcut_printf(m->arena, "%s%s" GCUT_C_END, mark, number);
}

const char *gcut_c_size(gcut_module *m, gcut_dim d)
{
    return marked(m, GCUT_C_SIZE, d);
}

const char *gcut_c_offset(gcut_module *m, gcut_dim d)
{
    return d == 0 ? "0" : gcut_c_size(m, d);
}

const char *gcut_c_named(gcut_module *m, const char *name, gcut_dim d)
{
    return marked(m, gcut_printf(m->arena, GCUT_C_SIZE "%s:", name), d);
}

const char *gcut_c_divisor(gcut_module *m, gcut_dim d)
{
    return marked(m, GCUT_C_DIVISOR, d);
}

const char *gcut_c_kept(gcut_module *m, gcut_dim d)
{
    return gcut_dim_known(d) ? gcut_c_dim(m, d) : gcut_c_size(m, d);
}

const char *gcut_c_number(gcut_module *m, double x, gcut_dtype t)
{
    if (!gcut_dtype_is_float(t)) {
        if (x == (double)INT64_MIN) return "INT64_MIN";
        return gcut_printf(m->arena, t == GCUT_I64 ? "INT64_C(%lld)" : "%lld", (long long)x);
    }
    if (t == GCUT_F16) return gcut_printf(m->arena, "%#x", gcut_to_f16_f64(x));
    if (t == GCUT_BF16) return gcut_printf(m->arena, "%#x", gcut_to_bf16_f64(x));
    const char *suffix = t == GCUT_F32 ? "f" : "";
    if (isnan(x)) return "NAN";
    if (isinf(x) || (t == GCUT_F32 && isinf((float)x))) return x > 0 ? "INFINITY" : "-INFINITY";
    char buf[40];
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(buf, sizeof buf, "%.*g", digits, x);
        if (t == GCUT_F32 ? strtof(buf, NULL) == (float)x : strtod(buf, NULL) == x) break;
    }
    return gcut_printf(m->arena, "%s%s%s", buf, strpbrk(buf, ".e") ? "" : ".0", suffix);
}

const char *gcut_c_attr(const gcut_graph *g, const gcut_node *n, gcut_attr_key key, gcut_dtype t)
{
    const gcut_attr *a = gcut_attr_get(g, n, key);
    if (t == GCUT_I64 && a->u.num.is_int && a->u.num.i != INT64_MIN)
        return gcut_printf(g->module->arena, "INT64_C(%lld)", (long long)a->u.num.i);
    return gcut_c_number(g->module, a->u.num.f, t);
}

/* x between the bounds of an integer dtype, rounded up for a lower bound and down for an upper one. */
static int64_t saturated(const gcut_num *x, bool up, gcut_dtype t)
{
    double f = up ? ceil(x->f) : floor(x->f);
    int64_t i = x->is_int ? x->i : gcut_to_i64(f);
    switch (t) {
    case GCUT_I8: return gcut_clamp_i64(i, INT8_MIN, INT8_MAX);
    case GCUT_I16: return gcut_clamp_i64(i, INT16_MIN, INT16_MAX);
    case GCUT_I32: return gcut_clamp_i64(i, INT32_MIN, INT32_MAX);
    case GCUT_U8: return gcut_clamp_i64(i, 0, UINT8_MAX);
    default: return i;
    }
}

/* lo/hi of clamp; absent = the dtype's own bound. */
static const char *bound(const gcut_graph *g, const gcut_node *n, gcut_attr_key key, gcut_dtype t)
{
    const gcut_attr *a = gcut_attr_get(g, n, key);
    bool lo = key == GCUT_KEY_lo;
    if (gcut_dtype_is_float(t)) return a ? gcut_c_attr(g, n, key, t) : lo ? "-INFINITY" : "INFINITY";
    gcut_num none = {.is_int = true, .i = lo ? INT64_MIN : INT64_MAX};
    int64_t i = saturated(a ? &a->u.num : &none, lo, t);
    if (i == INT64_MIN) return "INT64_MIN";
    return gcut_printf(g->module->arena, "INT64_C(%lld)", (long long)i);
}

/* $key in the C column: a size, a number of dtype t, or which form of a function. */
static const char *attribute(const gcut_graph *g, const gcut_node *n, const char *name, size_t len,
                             gcut_dtype t)
{
    gcut_attr_key key;
    bool known = gcut_attr_parse(name, len, &key);
    GCUT_ASSERT(known);
    const gcut_attr *a = gcut_attr_get(g, n, key);
    if (a && a->kind == GCUT_ATTR_KIND_DIM) return gcut_c_kept(g->module, a->u.dim);
    if (a && a->kind == GCUT_ATTR_KIND_STR)
        return strcmp(a->u.str, "none") ? gcut_printf(g->module->arena, "_%s", a->u.str) : "";
    return key == GCUT_KEY_lo || key == GCUT_KEY_hi ? bound(g, n, key, t) : gcut_c_attr(g, n, key, t);
}

const char *gcut_c_const(const gcut_graph *g, gcut_ref root)
{
    const gcut_node *n = gcut_def(g, root);
    gcut_dtype t = gcut_type_of(g, root)->dtype;
    const char *key = gcut_op_of(n)->cexpr + 1; /* after its $ */
    return attribute(g, n, key, strlen(key), t);
}

/* x of dtype `from` in dtype `to`.  An f16 or bf16 is held as its bits, and goes by way of f32, which has all
 * of them; an integer of more than 16 bits goes to them by way of f64, rounded to odd if it has to be
 * rounded. */
static const char *conversion(gcut_arena *a, gcut_dtype from, gcut_dtype to, const char *x)
{
    if (from == to) return x;
    if (gcut_dtype_is_16bit_float(from)) {
        x = gcut_printf(a, "gcut_from_%s(%s)", gcut_dtype_name(from), x);
        from = GCUT_F32;
    }
    if (gcut_dtype_is_16bit_float(to)) {
        if (from == GCUT_I64) x = gcut_printf(a, "gcut_odd_f64(%s)", x);
        bool wide = from == GCUT_F64 || (!gcut_dtype_is_float(from) && gcut_dtype_bytes(from) > 2);
        return gcut_printf(a, "gcut_to_%s_%s((%s)(%s))", gcut_dtype_name(to), wide ? "f64" : "f32",
                           wide ? "double" : "float", x);
    }
    if (to == GCUT_BOOL) return gcut_printf(a, "(%s != 0)", x);
    if (gcut_dtype_is_float(from) && gcut_dtype_is_int(to))
        return gcut_printf(a, "gcut_to_%s(%s)", gcut_dtype_name(to), x);
    return gcut_printf(a, "((%s)(%s))", gcut_c_type(to), x);
}

const char *gcut_c_expr(const gcut_graph *g, const gcut_node *n, const char *const *arg)
{
    const gcut_op_info *info = gcut_op_of(n);
    gcut_text out = {.arena = g->module->arena};
    gcut_dtype to = gcut_type_of(g, n->res0)->dtype, from = gcut_type_of(g, gcut_arg(g, n, 0))->dtype;
    if (info->emit == GCUT_EMIT_VIEW) return arg[0]; /* a copy in row-major order */
    if (info->emit == GCUT_EMIT_CAST) return conversion(g->module->arena, from, to, arg[0]);
    for (const char *s = info->cexpr; *s; s++) {
        if (*s == '@') {
            gcut_text_add(&out, "_%s", gcut_dtype_name(from));
        } else if (*s != '$') {
            gcut_text_addn(&out, s, 1);
        } else if (isdigit((unsigned char)s[1])) {
            gcut_text_add(&out, "%s", arg[*++s - '0']);
        } else if (s[1] == 'T') {
            gcut_text_add(&out, "%s", gcut_c_type(to));
            s++;
        } else if (s[1] == 'D') {
            gcut_text_add(&out, "%s", gcut_dtype_name(to));
            s++;
        } else {
            size_t k = strspn(s + 1, "abcdefghijklmnopqrstuvwxyz_");
            gcut_text_add(&out, "%s", attribute(g, n, s + 1, k, from));
            s += k;
        }
    }
    return out.at;
}

const char *gcut_c_place(const gcut_graph *g, gcut_locid loc)
{
    gcut_place at = gcut_loc_place(g->module, loc);
    if (!at.file || !at.line) return "";
    gcut_text t = {.arena = g->module->arena};
    for (const char *s = at.file; *s; s++) /* goes into a string literal and a comment */
        gcut_text_addn(&t, isalnum((unsigned char)*s) || strchr("._-/+", *s) ? s : "_", 1);
    gcut_text_add(&t, ":%d:%d", at.line, at.col);
    return t.at;
}
