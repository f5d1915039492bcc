/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Ops of shapes and constants, and bits.
 */
#include "text/stablehlo/writer.h"

static const char *dims(gcut_hlo *w, gcut_attr_key key)
{
    int64_t x[GCUT_MAX_RANK];
    const gcut_attr *of = gcut_attr_get(w->g, w->n, key);
    gcut_hlo_sizes(w, of, x);
    return gcut_hlo_list(w, x, of->n);
}

void gcut_hlo_reshaped(gcut_hlo *w, const char *as)
{
    (void)as;
    const gcut_type from = gcut_hlo_operand_type(w, 0), to = gcut_hlo_result_type(w, 0);
    gcut_hlo_reshape(w, gcut_hlo_own(w, 0), gcut_hlo_operand(w, 0), &from, &to);
}

/* An operation with a list of axes, whose types are those of the node. */
static void put_axes(gcut_hlo *w, const char *op, const char *axes)
{
    const gcut_type from = gcut_hlo_operand_type(w, 0), to = gcut_hlo_result_type(w, 0);
    gcut_hlo_let(w, gcut_hlo_own(w, 0), "%s %s, dims = [%s] : (%s) -> %s", op, gcut_hlo_operand(w, 0), axes,
                 gcut_hlo_type(w, &from), gcut_hlo_type(w, &to));
}

void gcut_hlo_transpose(gcut_hlo *w, const char *as)
{
    (void)as;
    put_axes(w, "stablehlo.transpose", dims(w, GCUT_KEY_perm));
}

void gcut_hlo_broadcast(gcut_hlo *w, const char *as)
{
    (void)as;
    put_axes(w, "stablehlo.broadcast_in_dim", dims(w, GCUT_KEY_axes));
}

void gcut_hlo_flip(gcut_hlo *w, const char *as)
{
    (void)as;
    const gcut_type t = gcut_hlo_result_type(w, 0);
    gcut_hlo_let(w, gcut_hlo_own(w, 0), "stablehlo.reverse %s, dims = [%s] : %s", gcut_hlo_operand(w, 0),
                 dims(w, GCUT_KEY_axes), gcut_hlo_type(w, &t));
}

void gcut_hlo_slice(gcut_hlo *w, const char *as)
{
    (void)as;
    const gcut_type from = gcut_hlo_operand_type(w, 0), to = gcut_hlo_result_type(w, 0);
    const gcut_attr *step = gcut_attr_get(w->g, w->n, GCUT_KEY_step);
    int64_t start[GCUT_MAX_RANK], limit[GCUT_MAX_RANK], by[GCUT_MAX_RANK];
    gcut_hlo_sizes(w, gcut_attr_get(w->g, w->n, GCUT_KEY_start), start);
    gcut_hlo_sizes(w, gcut_attr_get(w->g, w->n, GCUT_KEY_limit), limit);
    if (step) gcut_hlo_sizes(w, step, by);
    gcut_text s = {.arena = w->a};
    gcut_text_add(&s, "%s", "");
    for (uint32_t d = 0; d < from.rank; d++)
        gcut_text_add(&s, "%s%lld:%lld:%lld", d ? ", " : "", (long long)start[d], (long long)limit[d],
                      step ? (long long)by[d] : 1ll);
    gcut_hlo_let(w, gcut_hlo_own(w, 0), "stablehlo.slice %s [%s] : (%s) -> %s", gcut_hlo_operand(w, 0), s.at,
                 gcut_hlo_type(w, &from), gcut_hlo_type(w, &to));
}

void gcut_hlo_pad(gcut_hlo *w, const char *as)
{
    (void)as;
    static const int64_t none[GCUT_MAX_RANK];
    const gcut_type from = gcut_hlo_operand_type(w, 0), to = gcut_hlo_result_type(w, 0),
                    scalar = gcut_hlo_scalar_type(from.dtype);
    const char *value = gcut_hlo_full(w, NULL, gcut_attr_get(w->g, w->n, GCUT_KEY_value)->u.num, &scalar);
    const char *interior = gcut_attr_get(w->g, w->n, GCUT_KEY_interior) ? dims(w, GCUT_KEY_interior)
                                                                        : gcut_hlo_list(w, none, from.rank);
    gcut_hlo_let(w, gcut_hlo_own(w, 0),
                 "stablehlo.pad %s, %s, low = [%s], high = [%s], interior = [%s] : (%s, %s) -> %s",
                 gcut_hlo_operand(w, 0), value, dims(w, GCUT_KEY_low), dims(w, GCUT_KEY_high), interior,
                 gcut_hlo_type(w, &from), gcut_hlo_type(w, &scalar), gcut_hlo_type(w, &to));
}

void gcut_hlo_concat(gcut_hlo *w, const char *as)
{
    (void)as;
    const gcut_type to = gcut_hlo_result_type(w, 0);
    gcut_text values = {.arena = w->a}, types = {.arena = w->a};
    for (uint32_t k = 0; k < w->n->nargs; k++) {
        const gcut_type t = gcut_hlo_operand_type(w, k);
        gcut_text_add(&values, "%s, ", gcut_hlo_operand(w, k));
        gcut_text_add(&types, "%s%s", k ? ", " : "", gcut_hlo_type(w, &t));
    }
    gcut_hlo_let(w, gcut_hlo_own(w, 0), "stablehlo.concatenate %sdim = %lld : (%s) -> %s", values.at,
                 (long long)gcut_hlo_axis(w), types.at, gcut_hlo_type(w, &to));
}

/* ---- constants ---- */

void gcut_hlo_dim(gcut_hlo *w, const char *as)
{
    (void)as;
    const gcut_type t = gcut_hlo_result_type(w, 0);
    const int64_t size = gcut_hlo_size(w, gcut_attr_get(w->g, w->n, GCUT_KEY_of)->u.dim);
    gcut_hlo_full(w, gcut_hlo_own(w, 0), (gcut_num){true, size, (double)size}, &t);
}

void gcut_hlo_filled(gcut_hlo *w, const char *as)
{
    (void)as;
    const gcut_type t = gcut_hlo_result_type(w, 0);
    gcut_hlo_full(w, gcut_hlo_own(w, 0), gcut_attr_get(w->g, w->n, GCUT_KEY_value)->u.num, &t);
}

void gcut_hlo_counted(gcut_hlo *w, const char *as)
{
    (void)as;
    const gcut_type t = gcut_hlo_result_type(w, 0);
    gcut_hlo_iota(w, gcut_hlo_own(w, 0), (uint32_t)gcut_hlo_axis(w), &t);
}

/* ---- bits: eight of a byte, the lowest first ---- */

void gcut_hlo_pack_bits(gcut_hlo *w, const char *as)
{
    (void)as;
    const gcut_type from = gcut_hlo_operand_type(w, 0), to = gcut_hlo_result_type(w, 0),
                    zero = gcut_hlo_scalar_type(GCUT_U8);
    const int64_t n = gcut_type_numel(w->g->module, &from), bytes = gcut_type_numel(w->g->module, &to);
    gcut_type flat = {.dtype = GCUT_BOOL, .rank = 1, .dim = {n}}, bits = {GCUT_U8, 1, {n}},
              whole = {GCUT_U8, 1, {8 * bytes}}, rows = {GCUT_U8, 2, {bytes, 8}};
    const char *x = gcut_hlo_reshape(w, NULL, gcut_hlo_operand(w, 0), &from, &flat),
               *nothing = gcut_hlo_number(w, 0, &zero);
    x = gcut_hlo_convert(w, NULL, x, &flat, &bits);
    x = gcut_hlo_let(w, NULL,
                     "stablehlo.pad %s, %s, low = [0], high = [%lld], interior = [0] : (%s, %s) -> %s", x,
                     nothing, (long long)(8 * bytes - n), gcut_hlo_type(w, &bits), gcut_hlo_type(w, &zero),
                     gcut_hlo_type(w, &whole));
    x = gcut_hlo_reshape(w, NULL, x, &whole, &rows);
    x = gcut_hlo_binary(w, NULL, "stablehlo.shift_left", x, gcut_hlo_iota(w, NULL, 1, &rows), &rows);
    gcut_hlo_reduce(w, gcut_hlo_own(w, 0), "stablehlo.or", nothing, x, &rows, 2);
}

void gcut_hlo_unpack_bits(gcut_hlo *w, const char *as)
{
    (void)as;
    const gcut_type from = gcut_hlo_operand_type(w, 0), to = gcut_hlo_result_type(w, 0);
    const int64_t n = gcut_type_numel(w->g->module, &to), bytes = gcut_type_numel(w->g->module, &from);
    const gcut_type rows = {GCUT_U8, 2, {bytes, 8}}, whole = {GCUT_U8, 1, {8 * bytes}},
                    bits = {GCUT_U8, 1, {n}}, flat = {GCUT_BOOL, 1, {n}};
    const char *x = gcut_hlo_let(w, NULL, "stablehlo.broadcast_in_dim %s, dims = [0] : (%s) -> %s",
                                 gcut_hlo_operand(w, 0), gcut_hlo_type(w, &from), gcut_hlo_type(w, &rows));
    x = gcut_hlo_binary(w, NULL, "stablehlo.shift_right_logical", x, gcut_hlo_iota(w, NULL, 1, &rows), &rows);
    x = gcut_hlo_binary(w, NULL, "stablehlo.and", x, gcut_hlo_number(w, 1, &rows), &rows);
    x = gcut_hlo_reshape(w, NULL, x, &rows, &whole);
    x = gcut_hlo_let(w, NULL, "stablehlo.slice %s [0:%lld:1] : (%s) -> %s", x, (long long)n,
                     gcut_hlo_type(w, &whole), gcut_hlo_type(w, &bits));
    x = gcut_hlo_convert(w, NULL, x, &bits, &flat);
    gcut_hlo_reshape(w, gcut_hlo_own(w, 0), x, &flat, &to);
}
