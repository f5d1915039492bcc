/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The statements of one row of a loop unit, phase by phase (see loop.h for phases).
 */
#include <ctype.h>
#include <string.h>

#include "kernels/loop.h"

#define W(l, ...) gcut_text_add((l)->out, __VA_ARGS__)

static const char *dim(const gcut_loop *l, gcut_dim d)
{
    return gcut_c_dim(l->m, d);
}

/* ---- statements ---- */

static const char *expression(const gcut_loop *l, const gcut_member *x)
{
    const gcut_node *n = gcut_node_at(l->g, x->node);
    const char *arg[3] = {0};
    for (uint32_t k = 0; k < n->nargs; k++) arg[k] = gcut_loop_operand(l, x, gcut_arg(l->g, n, k));
    if (!gcut_loop_is_bounded(n)) return gcut_c_expr(l->g, n, arg);
    const char *limit = dim(l, gcut_attr_get(l->g, n, GCUT_A_of)->u.dim);
    const char *where = x->level == GCUT_L_ROW ? "r" : l->u->flat ? "first + c" : "r * C + c";
    return gcut_printf(l->m->arena, "(%s)gcut_rt_bounded(%s, %s, %s, &fault%u)",
                       gcut_c_type(gcut_type_of(l->g, x->v)->dtype), arg[0], limit, where, x->v);
}

static const char *kept_at(const gcut_loop *l, const gcut_member *x)
{
    return x->keep == GCUT_SCRATCH ? gcut_printf(l->m->arena, "s%u[c]", x->v)
                                   : gcut_printf(l->m->arena, "o%u[c]", x->v);
}

/* Writes the variable of x and, first, of what it is computed from. */
static void compute(gcut_loop *l, gcut_member *x, int p)
{
    if (l->have[x - l->at]) return;
    l->have[x - l->at] = true;
    const char *type = gcut_c_local(gcut_type_of(l->g, x->v)->dtype);
    if (x->phase < p && x->keep != GCUT_RECOMPUTE) {
        W(l, "            const %s v%u = %s;\n", type, x->v, kept_at(l, x));
        return;
    }
    const gcut_node *n = gcut_node_at(l->g, x->node);
    for (uint32_t k = 0; k < n->nargs; k++)
        if (gcut_loop_access(l, x, gcut_arg(l->g, n, k)) == GCUT_X_FULL)
            compute(l, gcut_loop_member(l, gcut_arg(l->g, n, k)), p);
    W(l, "            const %s v%u = %s;\n", type, x->v, expression(l, x));
}

/* The operands that phase p reads element by element, each declared once per row; l->have: visited in this
 * phase. */
static void declare_reads(gcut_loop *l, gcut_member *x, int p, bool *seen)
{
    if (l->have[x - l->at]) return;
    l->have[x - l->at] = true;
    if (x->phase < p && x->keep != GCUT_RECOMPUTE && !x->reduces) return;
    const gcut_node *n = gcut_node_at(l->g, x->node);
    for (uint32_t k = 0; k < n->nargs; k++) {
        gcut_ref v = gcut_arg(l->g, n, k);
        gcut_access a = gcut_loop_access(l, x, v);
        if (a == GCUT_X_FULL) declare_reads(l, gcut_loop_member(l, v), p, seen);
        if ((a != GCUT_X_LOAD && a != GCUT_X_IOTA) || seen[v]) continue;
        seen[v] = true;
        gcut_loop_declare(l, v, a == GCUT_X_IOTA);
    }
}

/* The statements of one column: values, then what they feed. */
static void emit_column(gcut_loop *l, int p)
{
    memset(l->have, 0, l->n * sizeof *l->have);
    for (uint32_t i = 0; i < l->n; i++) {
        gcut_member *x = &l->at[i];
        if (!gcut_loop_sink(l, x, p)) continue;
        if (x->reduces) {
            gcut_ref v = gcut_arg(l->g, gcut_node_at(l->g, x->node), 0);
            if (gcut_loop_access(l, x, v) == GCUT_X_FULL) compute(l, gcut_loop_member(l, v), p);
        } else {
            compute(l, x, p);
        }
    }
    for (uint32_t i = 0; i < l->n; i++) {
        gcut_member *x = &l->at[i];
        const char *t = gcut_c_type(gcut_loop_dtype(l, x));
        if (!gcut_loop_sink(l, x, p)) continue;
        if (x->reduces) {
            gcut_loop_accumulate(l, x, "            ");
            continue;
        }
        if (l->h->buffer[x->v] != GCUT_NONE) W(l, "            o%u[c] = (%s)v%u;\n", x->v, t, x->v);
        if (x->keep == GCUT_SCRATCH) W(l, "            s%u[c] = (%s)v%u;\n", x->v, t, x->v);
    }
}

/* Does the text use the variable c? */
static bool uses_column(const char *s)
{
    for (bool inside = false; *s; s++) {
        bool letter = isalnum((unsigned char)*s) || *s == '_';
        if (*s == 'c' && !inside && !isalnum((unsigned char)s[1]) && s[1] != '_') return true;
        inside = letter;
    }
    return false;
}

/* "GCUT_RT_APART " before a loop whose iterations write no memory that another one reads or writes: compilers
 * give up on proving that for many pointers.  Index checks do: they share a note of the first fault. */
static const char *apart(const gcut_loop *l)
{
    for (uint32_t i = 0; i < l->n; i++)
        if (gcut_loop_is_bounded(gcut_node_at(l->g, l->at[i].node))) return "";
    return "GCUT_RT_APART ";
}

void gcut_loop_phase(gcut_loop *l, int p, bool *seen)
{
    bool lanes = false, any = false;
    const char *hint = apart(l);
    memset(l->have, 0, l->n * sizeof *l->have);
    for (uint32_t i = 0; i < l->n; i++) {
        gcut_member *x = &l->at[i];
        if (!gcut_loop_sink(l, x, p)) continue;
        any = true;
        lanes = lanes || gcut_loop_in_lanes(l, x);
        declare_reads(l, x, p, seen);
        if (x->reduces && x->level == GCUT_L_ROW) gcut_loop_declare_accumulator(l, x, "        ");
    }
    if (!any) return;
    gcut_text column = {.arena = l->m->arena}, *out = l->out;
    l->out = &column;
    emit_column(l, p);
    l->out = out;
    if (lanes) {
        bool whole = gcut_dim_known(l->u->inner) && l->u->inner % GCUT_LANES == 0 && !l->u->flat;
        W(l, "        for (int64_t c0 = 0; c0 < C; c0 += %d) {\n", GCUT_LANES);
        if (whole)
            W(l, "        %sfor (int l = 0; l < %d; l++) {\n", hint, GCUT_LANES);
        else
            W(l,
              "        const int n = C - c0 < %d ? (int)(C - c0) : %d;\n        %sfor (int l = 0; l < n; "
              "l++) "
              "{\n",
              GCUT_LANES, GCUT_LANES, hint);
        if (uses_column(column.at)) W(l, "            const int64_t c = c0 + l;\n");
    } else {
        W(l, "        %sfor (int64_t c = 0; c < C; c++) {\n", hint);
    }
    gcut_text_addn(l->out, column.at, column.n);
    W(l, lanes ? "        }\n        }\n" : "        }\n");
}

/* Arithmetic on values of the row that phase p completed (p = -1: that need no phase). */
void gcut_loop_row_values(gcut_loop *l, int p)
{
    for (uint32_t i = 0; i < l->n; i++) {
        gcut_member *x = &l->at[i];
        if (x->phase != p) continue;
        if (x->reduces && x->level == GCUT_L_ROW) {
            if (gcut_loop_in_lanes(l, x))
                W(l, "        const %s v%u = %s;\n", gcut_c_type(gcut_loop_dtype(l, x)), x->v,
                  gcut_loop_lanes_call(l, x));
            else
                W(l, "        const %s v%u = acc%u;\n", gcut_c_type(gcut_loop_dtype(l, x)), x->v, x->v);
        } else if (x->level == GCUT_L_ROW) {
            W(l, "        const %s v%u = %s;\n", gcut_c_local(gcut_loop_dtype(l, x)), x->v, expression(l, x));
        } else {
            continue;
        }
        if (l->h->buffer[x->v] != GCUT_NONE)
            W(l, "        %s[r] = (%s)v%u;\n", gcut_loop_pointer(l, x->v), gcut_c_type(gcut_loop_dtype(l, x)),
              x->v);
    }
}
