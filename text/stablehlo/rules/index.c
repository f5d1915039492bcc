/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Rows at indices.
 */
#include "text/stablehlo/writer.h"

/* The axes of the part of a result, or of updates, that lie along axes of the table x, whose axis `axis` the indices
 * replace. */
static const char *row_axes(const gcut_hlo *w, const gcut_type *x, const gcut_type *i, int64_t axis)
{
    int64_t axes[GCUT_MAX_RANK];
    uint32_t n = 0;
    for (uint32_t d = 0; d < x->rank; d++)
        if (d != axis) axes[n++] = d < axis ? d : d - 1 + i->rank;
    return gcut_hlo_list(w, axes, n);
}

void gcut_hlo_take(gcut_hlo *w, const char *as)
{
    (void)as;
    gcut_type x = gcut_hlo_operand_type(w, 0), i = gcut_hlo_operand_type(w, 1),
              to = gcut_hlo_result_type(w, 0);
    const int64_t axis = gcut_hlo_axis(w);
    gcut_type row = x;
    row.dim[axis] = x.dim[axis] ? 1 : 0;
    gcut_hlo_let(
        w, gcut_hlo_own(w, 0),
        "\"stablehlo.gather\"(%s, %s) {dimension_numbers = #stablehlo.gather<offset_dims = [%s], "
        "collapsed_slice_dims = [%lld], start_index_map = [%lld], index_vector_dim = %u>, slice_sizes = "
        "array<i64: %s>, indices_are_sorted = false} : (%s, %s) -> %s",
        gcut_hlo_operand(w, 0), gcut_hlo_operand(w, 1), row_axes(w, &x, &i, axis), (long long)axis,
        (long long)axis, (unsigned)i.rank, gcut_hlo_list(w, row.dim, row.rank), gcut_hlo_type(w, &x),
        gcut_hlo_type(w, &i), gcut_hlo_type(w, &to));
}

void gcut_hlo_scatter_add(gcut_hlo *w, const char *as)
{
    (void)as;
    const gcut_type x = gcut_hlo_operand_type(w, 0), i = gcut_hlo_operand_type(w, 1),
                    u = gcut_hlo_operand_type(w, 2);
    const int64_t axis = gcut_hlo_axis(w);
    gcut_hlo_let(w, gcut_hlo_own(w, 0), "\"stablehlo.scatter\"(%s, %s, %s) ({", gcut_hlo_operand(w, 0),
                 gcut_hlo_operand(w, 1), gcut_hlo_operand(w, 2));
    gcut_hlo_combine(w, "stablehlo.add", x.dtype);
    gcut_hlo_line(
        w,
        "}) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [%s], "
        "inserted_window_dims = [%lld], scatter_dims_to_operand_dims = [%lld], index_vector_dim = %u>, "
        "indices_are_sorted = false, unique_indices = false} : (%s, %s, %s) -> %s",
        row_axes(w, &x, &i, axis), (long long)axis, (long long)axis, (unsigned)i.rank, gcut_hlo_type(w, &x),
        gcut_hlo_type(w, &i), gcut_hlo_type(w, &u), gcut_hlo_type(w, &x));
}
