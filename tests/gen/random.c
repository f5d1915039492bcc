/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Random graphs: random bits and what is drawn from them.
 */
#include "gen/gen.h"

/* A key: a leaf, whose bound makes it an integer from 0 to 8. */
static gcut_ref key(graph_gen *r)
{
    return gen_new_leaf(r, &(gcut_type){.dtype = GCUT_I64}, 0, 9);
}

void make_random(graph_gen *r, gcut_op op)
{
    static const char *const to[] = {"f32", "f64", "i64"};
    uint32_t i = gen_value(r, GCUT_I64, 0, true), k = gen_matching(r, i, true), t = gen_draw(r, 3);
    gcut_attr a = gcut_attr_str(gen_module_of(r), GCUT_KEY_dtype, to[t]);
    gcut_ref in[2] = {gen_use(r, k), gen_use(r, i)};
    gen_keep(r, gen_node(r, op, in, 2, &a, 1), t == 2 ? 0x1p63 : 1, t == 2);
}

void make_draw(graph_gen *r, gcut_op op)
{
    gcut_type t = gen_any_type(r, r->real, 0);
    gcut_attr a[4] = {gen_dims(r, GCUT_KEY_shape, t.dim, t.rank),
                      gcut_attr_str(gen_module_of(r), GCUT_KEY_dtype, gcut_dtype_name(t.dtype))};
    uint32_t n = 2;
    bool uniform = op == GCUT_OP_uniform;
    if (gen_coin(r)) a[n++] = gcut_attr_real(uniform ? GCUT_KEY_lo : GCUT_KEY_mean, uniform ? -1 : 0.25);
    if (gen_coin(r)) a[n++] = gcut_attr_real(uniform ? GCUT_KEY_hi : GCUT_KEY_std, 1.5);
    gcut_ref in = key(r);
    gen_keep(r, gen_node(r, op, &in, 1, a, n), uniform ? 2 : 6, false);
}

void make_key_split(graph_gen *r, gcut_op op)
{
    gcut_attr a = gcut_attr_dim(GCUT_KEY_n, gen_any_dim(r, 64));
    gcut_ref in = key(r);
    gen_keep(r, gen_node(r, op, &in, 1, &a, 1), 0x1p63, true);
}

void make_dropout(graph_gen *r, gcut_op op)
{
    uint32_t x = gen_operand(r, gcut_op_get(op)->dtypes, 0, false);
    gcut_attr a = gcut_attr_real(GCUT_KEY_p, gen_draw(r, 4) ? 0.25 : 0);
    gcut_ref in[2] = {gen_use(r, x), key(r)};
    gen_keep(r, gen_node(r, op, in, 2, &a, 1), 2 * r->item[x].mag, false);
}
