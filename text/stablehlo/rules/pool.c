/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Pools and their gradients.
 */
#include "text/stablehlo/writer.h"

typedef struct pool {
    gcut_type x, scalar;
    int64_t window[2], stride[2], pad[4]; /* pad: top, left, bottom, right */
} pool;

/* x: the operand under the windows. */
static pool pool_of(const gcut_hlo *w, gcut_type x)
{
    pool p = {.x = x, .scalar = gcut_hlo_scalar_type(x.dtype)};
    const gcut_attr *stride = gcut_attr_get(w->g, w->n, GCUT_KEY_stride);
    gcut_hlo_sizes(w, gcut_attr_get(w->g, w->n, GCUT_KEY_window), p.window);
    gcut_hlo_sizes(w, stride ? stride : gcut_attr_get(w->g, w->n, GCUT_KEY_window), p.stride);
    gcut_hlo_sizes(w, gcut_attr_get(w->g, w->n, GCUT_KEY_pad), p.pad);
    return p;
}

/* The attributes of a window. */
static const char *window_of(const gcut_hlo *w, const pool *p)
{
    return gcut_printf(
        w->a,
        "{window_dimensions = array<i64: 1, 1, %s>, window_strides = array<i64: 1, 1, %s>, padding = "
        "dense<[[0, 0], [0, 0], [%lld, %lld], [%lld, %lld]]> : tensor<4x2xi64>}",
        gcut_hlo_list(w, p->window, 2), gcut_hlo_list(w, p->stride, 2), (long long)p->pad[0],
        (long long)p->pad[2], (long long)p->pad[1], (long long)p->pad[3]);
}

/* Each window folded by `op`. */
static const char *reduce_windows(gcut_hlo *w, const char *name, const char *op, const char *init,
                                  const char *x, const pool *p, const gcut_type *to)
{
    name = gcut_hlo_let(w, name, "\"stablehlo.reduce_window\"(%s, %s) ({", x, init);
    gcut_hlo_combine(w, op, p->x.dtype);
    gcut_hlo_line(w, "}) %s : (%s, %s) -> %s", window_of(w, p), gcut_hlo_type(w, &p->x),
                  gcut_hlo_type(w, &p->scalar), gcut_hlo_type(w, to));
    return name;
}

void gcut_hlo_max_pool(gcut_hlo *w, const char *as)
{
    (void)as;
    const pool p = pool_of(w, gcut_hlo_operand_type(w, 0));
    const gcut_type to = gcut_hlo_result_type(w, 0);
    reduce_windows(w, gcut_hlo_own(w, 0), "stablehlo.maximum", gcut_hlo_limit(w, false, p.x.dtype),
                   gcut_hlo_operand(w, 0), &p, &to);
}

/* The sum over each window, over the number of its elements. */
void gcut_hlo_avg_pool(gcut_hlo *w, const char *as)
{
    (void)as;
    const pool p = pool_of(w, gcut_hlo_operand_type(w, 0));
    const gcut_type to = gcut_hlo_result_type(w, 0);
    const char *sum = reduce_windows(w, NULL, "stablehlo.add", gcut_hlo_number(w, 0, &p.scalar),
                                     gcut_hlo_operand(w, 0), &p, &to);
    gcut_hlo_binary(w, gcut_hlo_own(w, 0), "stablehlo.divide", sum,
                    gcut_hlo_number(w, (double)(p.window[0] * p.window[1]), &to), &to);
}

/* Each element of x is the sum of those of y, apart by the stride, under a window whose last element is there. */
void gcut_hlo_avg_pool_grad(gcut_hlo *w, const char *as)
{
    (void)as;
    const gcut_type y = gcut_hlo_operand_type(w, 0), to = gcut_hlo_result_type(w, 0);
    const pool p = pool_of(w, to);
    pool sums = {.x = to, .scalar = p.scalar, .window = {p.window[0], p.window[1]}, .stride = {1, 1}};
    int64_t low[2], high[2];
    for (uint32_t k = 0; k < 2; k++) {
        low[k] = p.window[k] - 1 - p.pad[k];
        sums.x.dim[2 + k] = to.dim[2 + k] + p.window[k] - 1;
        high[k] = sums.x.dim[2 + k] - (y.dim[2 + k] - 1) * p.stride[k] - 1 - low[k];
    }
    const char *zero = gcut_hlo_number(w, 0, &p.scalar),
               *x = gcut_hlo_binary(w, NULL, "stablehlo.divide", gcut_hlo_operand(w, 0),
                                    gcut_hlo_number(w, (double)(p.window[0] * p.window[1]), &y), &y);
    x = gcut_hlo_let(w, NULL,
                     "stablehlo.pad %s, %s, low = [0, 0, %s], high = [0, 0, %s], interior = [0, 0, %lld, "
                     "%lld] : (%s, %s) -> %s",
                     x, zero, gcut_hlo_list(w, low, 2), gcut_hlo_list(w, high, 2), (long long)p.stride[0] - 1,
                     (long long)p.stride[1] - 1, gcut_hlo_type(w, &y), gcut_hlo_type(w, &p.scalar),
                     gcut_hlo_type(w, &sums.x));
    reduce_windows(w, gcut_hlo_own(w, 0), "stablehlo.add", zero, x, &sums, &to);
}

/* Is a, before b in its window, the larger one, or equal to it, or NaN? */
static const char *stays(gcut_hlo *w, const char *a, const char *b, const gcut_type *scalar)
{
    const gcut_type flag = gcut_hlo_scalar_type(GCUT_BOOL);
    const char *at_least = gcut_hlo_compare(w, NULL, "GE", a, b, scalar);
    return gcut_hlo_binary(w, NULL, "stablehlo.or", at_least, gcut_hlo_compare(w, NULL, "NE", a, a, scalar),
                           &flag);
}

void gcut_hlo_max_pool_grad(gcut_hlo *w, const char *as)
{
    (void)as;
    const pool p = pool_of(w, gcut_hlo_operand_type(w, 0));
    const gcut_type y = gcut_hlo_operand_type(w, 1);
    const char *zero = gcut_hlo_number(w, 0, &p.scalar), *t = gcut_hlo_type(w, &p.scalar),
               *a = gcut_hlo_fresh(w, "a"), *b = gcut_hlo_fresh(w, "b");
    gcut_hlo_let(w, gcut_hlo_own(w, 0), "\"stablehlo.select_and_scatter\"(%s, %s, %s) ({",
                 gcut_hlo_operand(w, 0), gcut_hlo_operand(w, 1), zero);
    gcut_hlo_block(w, gcut_printf(w->a, "%s: %s, %s: %s", a, t, b, t));
    gcut_hlo_line(w, "stablehlo.return %s : tensor<i1>", stays(w, a, b, &p.scalar));
    w->depth--;
    gcut_hlo_line(w, "}, {");
    gcut_hlo_combine(w, "stablehlo.add", p.x.dtype);
    gcut_hlo_line(w, "}) %s : (%s, %s, %s) -> %s", window_of(w, &p), gcut_hlo_type(w, &p.x),
                  gcut_hlo_type(w, &y), t, gcut_hlo_type(w, &p.x));
}

/* Windows are folded over triples: an element of x, that of t, and whether it is in the window rather than padding. */
void gcut_hlo_max_pool_take(gcut_hlo *w, const char *as)
{
    (void)as;
    const pool p = pool_of(w, gcut_hlo_operand_type(w, 0));
    const gcut_type to = gcut_hlo_result_type(w, 0), flag = gcut_hlo_scalar_type(GCUT_BOOL);
    gcut_type flags = p.x, flags_to = to;
    flags.dtype = flags_to.dtype = GCUT_BOOL;
    const char *low = gcut_hlo_limit(w, false, p.x.dtype), *zero = gcut_hlo_number(w, 0, &p.scalar),
               *none = gcut_hlo_number(w, 0, &flag), *all = gcut_hlo_number(w, 1, &flags),
               *t = gcut_hlo_type(w, &p.scalar), *a[3], *b[3], *out = gcut_hlo_fresh(w, "folded");
    for (uint32_t k = 0; k < 3; k++) a[k] = gcut_hlo_fresh(w, "a");
    for (uint32_t k = 0; k < 3; k++) b[k] = gcut_hlo_fresh(w, "b");
    gcut_hlo_line(w, "%s:3 = \"stablehlo.reduce_window\"(%s, %s, %s, %s, %s, %s) ({", out,
                  gcut_hlo_operand(w, 0), gcut_hlo_operand(w, 1), all, low, zero, none);
    gcut_hlo_block(w, gcut_printf(w->a, "%s: %s, %s: %s, %s: tensor<i1>, %s: %s, %s: %s, %s: tensor<i1>",
                                  a[0], t, a[1], t, a[2], b[0], t, b[1], t, b[2]));
    const char *first =
        gcut_hlo_binary(w, NULL, "stablehlo.and", stays(w, a[0], b[0], &p.scalar), a[2], &flag);
    first = gcut_hlo_binary(w, NULL, "stablehlo.or", first,
                            gcut_hlo_unary(w, NULL, "stablehlo.not", b[2], &flag), &flag);
    const char *x = gcut_hlo_select(w, NULL, first, a[0], b[0], &p.scalar),
               *y = gcut_hlo_select(w, NULL, first, a[1], b[1], &p.scalar),
               *any = gcut_hlo_binary(w, NULL, "stablehlo.or", a[2], b[2], &flag);
    gcut_hlo_line(w, "stablehlo.return %s, %s, %s : %s, %s, tensor<i1>", x, y, any, t, t);
    w->depth--;
    const char *tx = gcut_hlo_type(w, &p.x), *tf = gcut_hlo_type(w, &flags), *ty = gcut_hlo_type(w, &to);
    gcut_hlo_line(w, "}) %s : (%s, %s, %s, %s, %s, tensor<i1>) -> (%s, %s, %s)", window_of(w, &p), tx, tx, tf,
                  t, t, ty, ty, gcut_hlo_type(w, &flags_to));
    gcut_hlo_set(w, 0, gcut_printf(w->a, "%s#1", out));
}
