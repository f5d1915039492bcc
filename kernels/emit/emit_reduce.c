/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The reductions of a loop kernel: accumulators, and the partial results of blocks of rows.
 *
 * Sums do not depend on threads: a float reduction along the row uses
 * GCUT_LANES accumulators and a fixed tree, and a kernel that reduces over rows
 * works in at most GCUT_BLOCKS blocks whose partial results are added in order.
 */
#include "kernels/emit/emit_loop.h"

#define SEQUENTIAL_MAX 16 /* a row of so few known elements is reduced one after the other, in order */

#define W(w, ...) gcut_text_add((w)->out, __VA_ARGS__)

static bool is_tiny(const gcut_loop_writer *w, const gcut_loop_node *x)
{
    return x->level == GCUT_LEVEL_ROW && gcut_dim_known(w->l->u->loop.inner) &&
           w->l->u->loop.inner <= SEQUENTIAL_MAX;
}

bool gcut_loop_in_lanes(const gcut_loop_writer *w, const gcut_loop_node *x)
{
    if (!x->reduces || x->level == GCUT_LEVEL_COLUMN) return false;
    return gcut_dtype_is_float(x->dtype) && !is_tiny(w, x);
}

bool gcut_loop_in_array(const gcut_loop_writer *w, const gcut_loop_node *x)
{
    return x->reduces && gcut_dtype_is_float(x->dtype) && is_tiny(w, x) && w->l->u->loop.inner > 0;
}

/* The name of the function that combines two elements. */
static const char *combining(const gcut_loop_node *x)
{
    return gcut_op_of(x->n)->cexpr;
}

static bool is_sum(const gcut_loop_node *x)
{
    return x->n->op == GCUT_OP_sum;
}

static const char *combine(const gcut_loop_writer *w, const gcut_loop_node *x, const char *a, const char *b)
{
    if (is_sum(x)) return gcut_printf(w->l->m->arena, "%s + %s", a, b);
    return gcut_printf(w->l->m->arena, "gcut_%s_%s(%s, %s)", combining(x), gcut_dtype_name(x->dtype), a, b);
}

static const char *neutral(const gcut_loop_writer *w, const gcut_loop_node *x)
{
    const gcut_dtype t = x->dtype;
    const bool max = x->n->op == GCUT_OP_max_reduce;
    if (is_sum(x)) return "0";
    if (x->n->op == GCUT_OP_prod) return "1";
    if (gcut_dtype_is_float(t)) return max ? "-INFINITY" : "INFINITY";
    if (t == GCUT_U8) return max ? "0" : "UINT8_MAX";
    const char *bits = gcut_dtype_name(t) + 1;
    return gcut_printf(w->l->m->arena, "INT%s_%s", bits, max ? "MIN" : "MAX");
}

void gcut_loop_reduce_array(gcut_loop_writer *w, const gcut_loop_node *x)
{
    gcut_arena *a = w->l->m->arena;
    const char *sum = gcut_printf(a, "s%u", x->v), *t = gcut_c_type(x->dtype);
    W(w, "        %s %s = %s;\n        for (int c = 0; c < %lld; c++) %s = %s;\n        const %s v%u = %s;\n",
      t, sum, neutral(w, x), (long long)w->l->u->loop.inner, sum,
      combine(w, x, sum, gcut_printf(a, "acc%u[c]", x->v)), t, x->v, sum);
}

/* `add` sums lanes with the function called sum. */
const char *gcut_loop_lanes_call(const gcut_loop_writer *w, const gcut_loop_node *x)
{
    return gcut_printf(w->l->m->arena, "gcut_rt_lanes_%s_%s(acc%u)", is_sum(x) ? "sum" : combining(x),
                       gcut_dtype_name(x->dtype), x->v);
}

void gcut_loop_declare_accumulator(gcut_loop_writer *w, const gcut_loop_node *x, const char *indent)
{
    const char *t = gcut_c_type(x->dtype);
    if (gcut_loop_in_array(w, x))
        W(w, "%s%s acc%u[%lld];\n", indent, t, x->v, (long long)w->l->u->loop.inner);
    else if (gcut_loop_in_lanes(w, x))
        W(w, "%s%s acc%u[%d];\n%sfor (int l = 0; l < %d; l++) acc%u[l] = %s;\n", indent, t, x->v, GCUT_LANES,
          indent, GCUT_LANES, x->v, neutral(w, x));
    else if (x->level != GCUT_LEVEL_COLUMN)
        W(w, "%s%s acc%u = %s;\n", indent,
          x->level == GCUT_LEVEL_TOTAL && x->dtype == GCUT_F32 ? "double" : t, x->v, neutral(w, x));
}

void gcut_loop_accumulate(gcut_loop_writer *w, const gcut_loop_node *x, const char *indent)
{
    const gcut_node *n = x->n;
    const char *value = gcut_loop_operand(w, x, gcut_arg(w->l->g, n, 0));
    if (gcut_loop_in_array(w, x)) {
        W(w, "%sacc%u[c] = %s;\n", indent, x->v, value);
        return;
    }
    const char *acc = x->level == GCUT_LEVEL_COLUMN ? gcut_printf(w->l->m->arena, "q%u[c]", x->v)
                      : gcut_loop_in_lanes(w, x)    ? gcut_printf(w->l->m->arena, "acc%u[l]", x->v)
                                                    : gcut_printf(w->l->m->arena, "acc%u", x->v);
    W(w, "%s%s = %s;\n", indent, acc, combine(w, x, acc, value));
}

/* ---- blocks of rows ---- */

void gcut_loop_declare_partials(gcut_loop_writer *w)
{
    gcut_dim off = 0;
    for (uint32_t i = 0; i < w->l->n; i++) {
        const gcut_loop_node *x = &w->l->at[i];
        if (!gcut_loop_partial(x)) continue;
        W(w, "    char *const restrict part%u = (char *)%s + %s;\n", x->v,
          gcut_c_arg(w->e, w->l->u->workspace_all), gcut_c_offset(w->l->m, off));
        off = gcut_dim_make(w->l->m->dims, GCUT_DIM_ADD, off, gcut_loop_partial_bytes(w->l, x));
    }
}

static const char *total_type(const gcut_loop_node *x)
{
    return gcut_dtype_is_float(x->dtype) ? "double" : gcut_c_type(x->dtype);
}

void gcut_loop_begin_block(gcut_loop_writer *w)
{
    for (uint32_t i = 0; i < w->l->n; i++) {
        const gcut_loop_node *x = &w->l->at[i];
        const char *t = gcut_c_type(x->dtype);
        if (x->level == GCUT_LEVEL_COLUMN)
            W(w,
              "    %s *const restrict q%u = (%s *)(part%u + k * (%s));\n"
              "    for (int64_t c = 0; c < C; c++) q%u[c] = %s;\n",
              t, x->v, t, x->v, gcut_c_offset(w->l->m, gcut_loop_row_bytes(w->l, x->dtype)), x->v,
              neutral(w, x));
        if (x->level == GCUT_LEVEL_TOTAL) gcut_loop_declare_accumulator(w, x, "    ");
    }
}

void gcut_loop_end_block(gcut_loop_writer *w)
{
    for (uint32_t i = 0; i < w->l->n; i++) {
        const gcut_loop_node *x = &w->l->at[i];
        if (x->level != GCUT_LEVEL_TOTAL) continue;
        W(w, "    *(%s *)(part%u + k * 64) = %s;\n", total_type(x), x->v,
          gcut_loop_in_lanes(w, x) ? gcut_loop_lanes_call(w, x) : gcut_printf(w->l->m->arena, "acc%u", x->v));
    }
}

/* Adds the partial results of the blocks in their order. */
void gcut_loop_join(gcut_loop_writer *w)
{
    gcut_loop_declare_partials(w);
    W(w, "    const int blocks = (int)%s;\n",
      gcut_c_named(w->l->m, "blocks", gcut_loop_blocks(w->l->m, w->l->u)));
    for (uint32_t i = 0; i < w->l->n; i++) {
        const gcut_loop_node *x = &w->l->at[i];
        if (!gcut_loop_partial(x)) continue;
        W(w, "%s", gcut_c_line(w->e, x->n->loc));
        gcut_dtype dt = x->dtype;
        const char *t = gcut_c_type(dt), *buf = gcut_c_arg(w->e, w->l->h->buffer[x->v]);
        if (x->level == GCUT_LEVEL_COLUMN) {
            const char *row = gcut_c_offset(w->l->m, gcut_loop_row_bytes(w->l, x->dtype)),
                       *columns = gcut_c_offset(w->l->m, w->l->u->loop.inner);
            W(w, "    %s *const restrict o%u = (%s *)%s;\n", t, x->v, t, buf);
            W(w, "    for (int64_t c = 0; c < %s; c++) o%u[c] = ((const %s *)part%u)[c];\n", columns, x->v, t,
              x->v);
            W(w,
              "    for (int k = 1; k < blocks; k++) {\n        const %s *const q = (const %s *)(part%u + k * "
              "(%s));\n",
              t, t, x->v, row);
            W(w, "        for (int64_t c = 0; c < %s; c++) o%u[c] = (%s)(%s);\n    }\n", columns, x->v, t,
              combine(w, x, gcut_printf(w->l->m->arena, "o%u[c]", x->v), "q[c]"));
        } else {
            const char *wide = total_type(x);
            W(w, "    %s sum%u = *(const %s *)part%u;\n", wide, x->v, wide, x->v);
            const char *acc = gcut_printf(w->l->m->arena, "sum%u", x->v);
            const char *nxt = gcut_printf(w->l->m->arena, "*(const %s *)(part%u + k * 64)", wide, x->v);
            const char *e =
                is_sum(x) ? gcut_printf(w->l->m->arena, "%s + %s", acc, nxt)
                          : gcut_printf(w->l->m->arena, "gcut_%s_%s(%s, %s)", combining(x),
                                        gcut_dtype_is_float(dt) ? "f64" : gcut_dtype_name(dt), acc, nxt);
            W(w, "    for (int k = 1; k < blocks; k++) sum%u = (%s)(%s);\n", x->v, wide, e);
            W(w, "    *(%s *)%s = (%s)sum%u;\n", t, buf, t, x->v);
        }
        W(w, "%s", gcut_c_line(w->e, 0));
    }
}
