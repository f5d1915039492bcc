/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Reductions, sums along an axis, and order.
 */
#include <string.h>

#include "text/stablehlo/writer.h"

/* sum, prod, max_reduce, min_reduce */
void gcut_hlo_fold(gcut_hlo *w, const char *as)
{
    const gcut_type t = gcut_hlo_operand_type(w, 0), to = gcut_hlo_result_type(w, 0),
                    scalar = gcut_hlo_scalar_type(t.dtype);
    const uint32_t mask = gcut_attr_axes(w->g, w->n);
    const bool keep = gcut_attr_flag(w->g, w->n, GCUT_KEY_keep);
    const char *init = !strcmp(as, "stablehlo.add") ? gcut_hlo_number(w, 0, &scalar)
                       : !strcmp(as, "stablehlo.multiply")
                           ? gcut_hlo_number(w, 1, &scalar)
                           : gcut_hlo_limit(w, !strcmp(as, "stablehlo.minimum"), t.dtype);
    const char *x =
        gcut_hlo_reduce(w, keep ? NULL : gcut_hlo_own(w, 0), as, init, gcut_hlo_operand(w, 0), &t, mask);
    gcut_type reduced = {.dtype = t.dtype};
    for (uint32_t d = 0; d < t.rank; d++)
        if (!(mask >> d & 1)) reduced.dim[reduced.rank++] = t.dim[d];
    if (keep) gcut_hlo_reshape(w, gcut_hlo_own(w, 0), x, &reduced, &to);
}

/* The sum over the window that ends, or begins, at each element. */
void gcut_hlo_cumsum(gcut_hlo *w, const char *as)
{
    (void)as;
    const gcut_type t = gcut_hlo_result_type(w, 0), scalar = gcut_hlo_scalar_type(t.dtype);
    const int64_t axis = gcut_hlo_axis(w), size = t.dim[axis];
    int64_t window[GCUT_MAX_RANK];
    const bool reverse = gcut_attr_flag(w->g, w->n, GCUT_KEY_reverse);
    gcut_text padding = {.arena = w->a};
    if (size == 0) {
        gcut_hlo_set(w, 0, gcut_hlo_operand(w, 0));
        return;
    }
    for (uint32_t d = 0; d < t.rank; d++) {
        window[d] = d == axis ? size : 1;
        const long long more = d == axis ? (long long)size - 1 : 0;
        gcut_text_add(&padding, "%s[%lld, %lld]", d ? ", " : "", reverse ? 0 : more, reverse ? more : 0);
    }
    const char *zero = gcut_hlo_number(w, 0, &scalar), *type = gcut_hlo_type(w, &t),
               *one = gcut_hlo_type(w, &scalar);
    gcut_hlo_let(w, gcut_hlo_own(w, 0), "\"stablehlo.reduce_window\"(%s, %s) ({", gcut_hlo_operand(w, 0),
                 zero);
    gcut_hlo_combine(w, "stablehlo.add", t.dtype);
    gcut_hlo_line(
        w,
        "}) {window_dimensions = array<i64: %s>, padding = dense<[%s]> : tensor<%ux2xi64>} : (%s, %s) -> %s",
        gcut_hlo_list(w, window, t.rank), padding.at, (unsigned)t.rank, type, one, type);
}

/* A stable sort of the elements with their places.  NaN is above all numbers. */
void gcut_hlo_argsort(gcut_hlo *w, const char *as)
{
    (void)as;
    const gcut_type t = gcut_hlo_operand_type(w, 0), to = gcut_hlo_result_type(w, 0),
                    element = gcut_hlo_scalar_type(t.dtype), place = gcut_hlo_scalar_type(to.dtype),
                    flag = gcut_hlo_scalar_type(GCUT_BOOL);
    const bool falling = gcut_attr_flag(w->g, w->n, GCUT_KEY_descending);
    const char *places = gcut_hlo_iota(w, NULL, (uint32_t)gcut_hlo_axis(w), &to),
               *sorted = gcut_hlo_fresh(w, "sorted"), *a = gcut_hlo_fresh(w, "a"),
               *b = gcut_hlo_fresh(w, "b"), *i = gcut_hlo_fresh(w, "i"), *k = gcut_hlo_fresh(w, "k");
    gcut_hlo_line(w, "%s:2 = \"stablehlo.sort\"(%s, %s) ({", sorted, gcut_hlo_operand(w, 0), places);
    const char *te = gcut_hlo_type(w, &element), *tp = gcut_hlo_type(w, &place);
    gcut_hlo_block(w, gcut_printf(w->a, "%s: %s, %s: %s, %s: %s, %s: %s", a, te, b, te, i, tp, k, tp));
    const char *low = falling ? b : a, *high = falling ? a : b,
               *p = gcut_hlo_compare(w, NULL, "LT", low, high, &element);
    if (gcut_dtype_is_float(t.dtype)) {
        const char *is_high = gcut_hlo_compare(w, NULL, "NE", high, high, &element),
                   *is_low = gcut_hlo_compare(w, NULL, "EQ", low, low, &element);
        p = gcut_hlo_binary(w, NULL, "stablehlo.or", p,
                            gcut_hlo_binary(w, NULL, "stablehlo.and", is_high, is_low, &flag), &flag);
    }
    gcut_hlo_line(w, "stablehlo.return %s : %s", p, gcut_hlo_type(w, &flag));
    w->depth--;
    const char *type = gcut_hlo_type(w, &t), *ito = gcut_hlo_type(w, &to);
    gcut_hlo_line(w, "}) {dimension = %lld : i64, is_stable = true} : (%s, %s) -> (%s, %s)",
                  (long long)gcut_hlo_axis(w), type, ito, type, ito);
    gcut_hlo_set(w, 0, gcut_printf(w->a, "%s#1", sorted));
}
