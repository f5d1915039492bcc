/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Types, names and lines of StableHLO.
 */
#include "text/stablehlo/writer.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "text/text.h"

/* ---- types ---- */

int64_t gcut_hlo_size(const gcut_hlo *w, gcut_dim d)
{
    const gcut_module *m = w->g->module;
    return gcut_dim_at(m->dims, d, w->at, w->nat, gcut_loc_place(m, w->n ? w->n->loc : w->g->loc));
}

gcut_type gcut_hlo_type_of(const gcut_hlo *w, gcut_ref v)
{
    gcut_type t = *gcut_type_of(w->g, v);
    for (uint32_t d = 0; d < t.rank; d++) t.dim[d] = gcut_hlo_size(w, t.dim[d]);
    return t;
}

gcut_type gcut_hlo_operand_type(const gcut_hlo *w, uint32_t k)
{
    return gcut_hlo_type_of(w, gcut_arg(w->g, w->n, k));
}

gcut_type gcut_hlo_result_type(const gcut_hlo *w, uint32_t k)
{
    return gcut_hlo_type_of(w, w->n->res0 + k);
}

const char *gcut_hlo_tensor(const gcut_hlo *w, const gcut_type *t, const char *element)
{
    gcut_text s = {.arena = w->a};
    gcut_text_add(&s, "tensor<");
    for (uint32_t d = 0; d < t->rank; d++) gcut_text_add(&s, "%lldx", (long long)t->dim[d]);
    gcut_text_add(&s, "%s>", element);
    return s.at;
}

const char *gcut_hlo_type(const gcut_hlo *w, const gcut_type *t)
{
    return gcut_hlo_tensor(w, t,
                           t->dtype == GCUT_BOOL ? "i1"
                           : t->dtype == GCUT_U8 ? "ui8"
                                                 : gcut_dtype_name(t->dtype));
}

const char *gcut_hlo_list(const gcut_hlo *w, const int64_t *x, uint32_t n)
{
    gcut_text s = {.arena = w->a};
    gcut_text_add(&s, "%s", "");
    for (uint32_t i = 0; i < n; i++) gcut_text_add(&s, "%s%lld", i ? ", " : "", (long long)x[i]);
    return s.at;
}

void gcut_hlo_sizes(const gcut_hlo *w, const gcut_attr *of, int64_t *out)
{
    for (uint32_t i = 0; i < of->n; i++) out[i] = gcut_hlo_size(w, of->u.dims[i]);
}

int64_t gcut_hlo_axis(const gcut_hlo *w)
{
    return gcut_hlo_size(w, gcut_attr_get(w->g, w->n, GCUT_KEY_axis)->u.dim);
}

/* ---- names ---- */

/* In MLIR a name that begins with a digit has digits alone. */
const char *gcut_hlo_fresh(gcut_hlo *w, const char *base)
{
    if (*base >= '0' && *base <= '9') base = gcut_printf(w->a, "v%s", base);
    return gcut_printf(w->a, "%%%s", gcut_name_set_add(&w->names, base));
}

/* ---- lines ---- */

static void put_line(gcut_hlo *w, const char *line)
{
    gcut_text_add(w->out, "%*s%s\n", (int)(4 + 2 * w->depth), "", line);
}

void gcut_hlo_line(gcut_hlo *w, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    put_line(w, gcut_vprintf(w->a, fmt, args));
    va_end(args);
}

const char *gcut_hlo_let(gcut_hlo *w, const char *name, const char *fmt, ...)
{
    va_list args;
    if (!name) name = gcut_hlo_fresh(w, w->base);
    va_start(args, fmt);
    put_line(w, gcut_printf(w->a, "%s = %s", name, gcut_vprintf(w->a, fmt, args)));
    va_end(args);
    return name;
}

void gcut_hlo_block(gcut_hlo *w, const char *arguments)
{
    put_line(w, gcut_printf(w->a, "^bb0(%s):", arguments));
    w->depth++;
}

void gcut_hlo_combine(gcut_hlo *w, const char *op, gcut_dtype t)
{
    const gcut_type scalar = gcut_hlo_scalar_type(t);
    const char *type = gcut_hlo_type(w, &scalar), *a = gcut_hlo_fresh(w, "a"), *b = gcut_hlo_fresh(w, "b");
    gcut_hlo_block(w, gcut_printf(w->a, "%s: %s, %s: %s", a, type, b, type));
    const char *y = gcut_hlo_binary(w, NULL, op, a, b, &scalar);
    gcut_hlo_line(w, "stablehlo.return %s : %s", y, type);
    w->depth--;
}

const char *gcut_hlo_unary(gcut_hlo *w, const char *name, const char *op, const char *x, const gcut_type *t)
{
    return gcut_hlo_let(w, name, "%s %s : %s", op, x, gcut_hlo_type(w, t));
}

const char *gcut_hlo_binary(gcut_hlo *w, const char *name, const char *op, const char *x, const char *y,
                            const gcut_type *t)
{
    return gcut_hlo_let(w, name, "%s %s, %s : %s", op, x, y, gcut_hlo_type(w, t));
}

const char *gcut_hlo_compare(gcut_hlo *w, const char *name, const char *direction, const char *x,
                             const char *y, const gcut_type *t)
{
    gcut_type to = *t;
    to.dtype = GCUT_BOOL;
    const char *how = gcut_dtype_is_float(t->dtype)                  ? "FLOAT"
                      : t->dtype == GCUT_BOOL || t->dtype == GCUT_U8 ? "UNSIGNED"
                                                                     : "SIGNED",
               *type = gcut_hlo_type(w, t);
    return gcut_hlo_let(w, name, "stablehlo.compare %s, %s, %s, %s : (%s, %s) -> %s", direction, x, y, how,
                        type, type, gcut_hlo_type(w, &to));
}

const char *gcut_hlo_select(gcut_hlo *w, const char *name, const char *p, const char *x, const char *y,
                            const gcut_type *t)
{
    gcut_type of = *t;
    of.dtype = GCUT_BOOL;
    return gcut_hlo_let(w, name, "stablehlo.select %s, %s, %s : %s, %s", p, x, y, gcut_hlo_type(w, &of),
                        gcut_hlo_type(w, t));
}

const char *gcut_hlo_convert(gcut_hlo *w, const char *name, const char *x, const gcut_type *from,
                             const gcut_type *to)
{
    return gcut_hlo_let(w, name, "stablehlo.convert %s : (%s) -> %s", x, gcut_hlo_type(w, from),
                        gcut_hlo_type(w, to));
}

const char *gcut_hlo_reshape(gcut_hlo *w, const char *name, const char *x, const gcut_type *from,
                             const gcut_type *to)
{
    return gcut_hlo_let(w, name, "stablehlo.reshape %s : (%s) -> %s", x, gcut_hlo_type(w, from),
                        gcut_hlo_type(w, to));
}

const char *gcut_hlo_iota(gcut_hlo *w, const char *name, uint32_t axis, const gcut_type *t)
{
    return gcut_hlo_let(w, name, "stablehlo.iota dim = %u : %s", (unsigned)axis, gcut_hlo_type(w, t));
}

/* ---- constants ---- */

/* The bits of an infinity or a NaN. */
static const char *special(double x, gcut_dtype t)
{
    static const char *const bits[][3] = {
        [GCUT_F16] = {"0x7C00", "0xFC00", "0x7E00"},
        [GCUT_BF16] = {"0x7F80", "0xFF80", "0x7FC0"},
        [GCUT_F32] = {"0x7F800000", "0xFF800000", "0x7FC00000"},
        [GCUT_F64] = {"0x7FF0000000000000", "0xFFF0000000000000", "0x7FF8000000000000"}};
    return bits[t][isnan(x) ? 2 : x < 0];
}

/* MLIR takes a number without a point for an integer. */
static const char *literal(const gcut_hlo *w, gcut_num x, gcut_dtype t)
{
    if (t == GCUT_BOOL) return (x.is_int ? x.i != 0 : x.f != 0) ? "true" : "false";
    if (!gcut_dtype_is_float(t)) return gcut_printf(w->a, "%lld", (long long)(x.is_int ? x.i : (int64_t)x.f));
    const double f = gcut_round_to(x.f, t);
    if (!isfinite(f)) return special(f, t);
    gcut_text s = {.arena = w->a};
    gcut_print_double(f, t, &s);
    const size_t digits = strcspn(s.at, "e");
    return memchr(s.at, '.', digits) ? s.at : gcut_printf(w->a, "%.*s.0%s", (int)digits, s.at, s.at + digits);
}

const char *gcut_hlo_full(gcut_hlo *w, const char *name, gcut_num x, const gcut_type *t)
{
    return gcut_hlo_let(w, name, "stablehlo.constant dense<%s> : %s", literal(w, x, t->dtype),
                        gcut_hlo_type(w, t));
}

const char *gcut_hlo_number(gcut_hlo *w, double x, const gcut_type *t)
{
    return gcut_hlo_full(w, NULL, (gcut_num){.f = x}, t);
}

const char *gcut_hlo_limit(gcut_hlo *w, bool highest, gcut_dtype t)
{
    int64_t lo, hi;
    const gcut_type scalar = gcut_hlo_scalar_type(t);
    if (gcut_dtype_is_float(t)) return gcut_hlo_number(w, highest ? INFINITY : -INFINITY, &scalar);
    gcut_dtype_bounds(t, &lo, &hi);
    return gcut_hlo_full(w, NULL, (gcut_num){true, highest ? hi : lo, 0}, &scalar);
}

const char *gcut_hlo_reduce(gcut_hlo *w, const char *name, const char *op, const char *init, const char *x,
                            const gcut_type *t, uint32_t mask)
{
    gcut_type to = {.dtype = t->dtype};
    const gcut_type scalar = gcut_hlo_scalar_type(t->dtype);
    int64_t axes[GCUT_MAX_RANK];
    uint32_t n = 0;
    for (uint32_t d = 0; d < t->rank; d++)
        if (mask >> d & 1)
            axes[n++] = d;
        else
            to.dim[to.rank++] = t->dim[d];
    return gcut_hlo_let(w, name,
                        "stablehlo.reduce(%s init: %s) applies %s across dimensions = [%s] : (%s, %s) -> %s",
                        x, init, op, gcut_hlo_list(w, axes, n), gcut_hlo_type(w, t),
                        gcut_hlo_type(w, &scalar), gcut_hlo_type(w, &to));
}
