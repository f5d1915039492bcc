/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The C of one loop unit (see loop.h for its phases).
 *
 * Sums do not depend on threads: a float reduction along the row uses
 * GCUT_LANES accumulators and a fixed tree, and a unit that reduces over rows
 * works in GCUT_BLOCKS blocks whose partial results are added in order.
 */
#include <ctype.h>
#include <string.h>

#include "kernels/loop.h"

#define SEQUENTIAL_MAX 16 /* a row of so few known elements is reduced one after the other */

#define W(l, ...) gcut_text_add((l)->out, __VA_ARGS__)

static const char *dim(const gcut_loop *l, gcut_dim d)
{
    return gcut_c_dim(l->m, d);
}

/* ---- statements ---- */

static bool is_bounded(const gcut_node *n)
{
    return gcut_op_get((gcut_op)n->op)->emit == GCUT_EMIT_BOUNDED;
}

static const char *expression(const gcut_loop *l, const gcut_member *x)
{
    const gcut_node *n = gcut_node_at(l->g, x->node);
    const char *arg[3] = {0};
    for (uint32_t k = 0; k < n->nargs; k++) arg[k] = gcut_loop_operand(l, x, gcut_arg(l->g, n, k));
    if (!is_bounded(n)) return gcut_c_expr(l->g, n, arg);
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

static gcut_dtype dtype_of(const gcut_loop *l, const gcut_member *x)
{
    return gcut_type_of(l->g, x->v)->dtype;
}

/* Float reductions along a row that is long or of unknown length use lanes. */
static bool in_lanes(const gcut_loop *l, const gcut_member *x)
{
    if (!x->reduces || x->level == GCUT_L_COLUMN) return false;
    bool tiny = x->level == GCUT_L_ROW && gcut_dim_known(l->u->inner) && l->u->inner <= SEQUENTIAL_MAX;
    return gcut_dtype_is_float(dtype_of(l, x)) && !tiny;
}

static const char *combining(const gcut_loop *l, const gcut_member *x)
{
    return gcut_op_get((gcut_op)gcut_node_at(l->g, x->node)->op)->cexpr;
}

static const char *combine(const gcut_loop *l, const gcut_member *x, const char *a, const char *b)
{
    const char *how = combining(l, x);
    if (!strcmp(how, "add")) return gcut_printf(l->m->arena, "%s + %s", a, b);
    return gcut_printf(l->m->arena, "gcut_%s_%s(%s, %s)", how, gcut_dtype_name(dtype_of(l, x)), a, b);
}

static const char *neutral(const gcut_loop *l, const gcut_member *x)
{
    const char *how = combining(l, x);
    gcut_dtype t = dtype_of(l, x);
    if (!strcmp(how, "add")) return "0";
    if (!strcmp(how, "mul")) return "1";
    bool max = !strcmp(how, "max");
    if (gcut_dtype_is_float(t)) return max ? "-INFINITY" : "INFINITY";
    if (t == GCUT_u8) return max ? "0" : "UINT8_MAX";
    const char *bits = gcut_dtype_name(t) + 1;
    return gcut_printf(l->m->arena, "INT%s_%s", bits, max ? "MIN" : "MAX");
}

/* `add` sums lanes with the function called sum. */
static const char *lanes_call(const gcut_loop *l, const gcut_member *x)
{
    const char *how = combining(l, x);
    return gcut_printf(l->m->arena, "gcut_rt_lanes_%s_%s(acc%u)", strcmp(how, "add") ? how : "sum",
                       gcut_dtype_name(dtype_of(l, x)), x->v);
}

static void declare_accumulator(gcut_loop *l, const gcut_member *x, const char *indent)
{
    const char *t = gcut_c_type(dtype_of(l, x));
    if (in_lanes(l, x))
        W(l, "%s%s acc%u[%d];\n%sfor (int l = 0; l < %d; l++) acc%u[l] = %s;\n", indent, t, x->v, GCUT_LANES,
          indent, GCUT_LANES, x->v, neutral(l, x));
    else if (x->level != GCUT_L_COLUMN)
        W(l, "%s%s acc%u = %s;\n", indent, x->level == GCUT_L_TOTAL && !strcmp(t, "float") ? "double" : t,
          x->v, neutral(l, x));
}

static void accumulate(gcut_loop *l, const gcut_member *x, const char *indent)
{
    const gcut_node *n = gcut_node_at(l->g, x->node);
    const char *value = gcut_loop_operand(l, x, gcut_arg(l->g, n, 0));
    const char *acc = x->level == GCUT_L_COLUMN ? gcut_printf(l->m->arena, "q%u[c]", x->v)
                      : in_lanes(l, x)          ? gcut_printf(l->m->arena, "acc%u[l]", x->v)
                                                : gcut_printf(l->m->arena, "acc%u", x->v);
    W(l, "%s%s = %s;\n", indent, acc, combine(l, x, acc, value));
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
        const char *t = gcut_c_type(dtype_of(l, x));
        if (!gcut_loop_sink(l, x, p)) continue;
        if (x->reduces) {
            accumulate(l, x, "            ");
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
        if (is_bounded(gcut_node_at(l->g, l->at[i].node))) return "";
    return "GCUT_RT_APART ";
}

static void emit_phase(gcut_loop *l, int p, bool *seen)
{
    bool lanes = false, any = false;
    const char *hint = apart(l);
    memset(l->have, 0, l->n * sizeof *l->have);
    for (uint32_t i = 0; i < l->n; i++) {
        gcut_member *x = &l->at[i];
        if (!gcut_loop_sink(l, x, p)) continue;
        any = true;
        lanes = lanes || in_lanes(l, x);
        declare_reads(l, x, p, seen);
        if (x->reduces && x->level == GCUT_L_ROW) declare_accumulator(l, x, "        ");
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
static void emit_row_values(gcut_loop *l, int p)
{
    for (uint32_t i = 0; i < l->n; i++) {
        gcut_member *x = &l->at[i];
        if (x->phase != p) continue;
        if (x->reduces && x->level == GCUT_L_ROW) {
            if (in_lanes(l, x))
                W(l, "        const %s v%u = %s;\n", gcut_c_type(dtype_of(l, x)), x->v, lanes_call(l, x));
            else
                W(l, "        const %s v%u = acc%u;\n", gcut_c_type(dtype_of(l, x)), x->v, x->v);
        } else if (x->level == GCUT_L_ROW) {
            W(l, "        const %s v%u = %s;\n", gcut_c_local(dtype_of(l, x)), x->v, expression(l, x));
        } else {
            continue;
        }
        if (l->h->buffer[x->v] != GCUT_NONE)
            W(l, "        %s[r] = (%s)v%u;\n", gcut_loop_pointer(l, x->v), gcut_c_type(dtype_of(l, x)), x->v);
    }
}

/* ---- the kernel ---- */

static void note_buffer(gcut_loop *l, uint32_t b, uint8_t how, uint8_t *use)
{
    gcut_loop_buffer(l, b);
    use[b] |= how;
}

/* One restrict pointer per buffer, whatever reads and writes through it; numbered in order of use. */
static void declare_pointers(gcut_loop *l)
{
    gcut_arena *a = gcut_arena_new(l->m->env, l->m->arena);
    const gcut_program *p = l->e->p;
    uint8_t *use = gcut_calloc(a, p->buffers.n + 1, 1);
    for (uint32_t i = 0; i < l->n; i++) {
        const gcut_member *x = &l->at[i];
        const gcut_node *n = gcut_node_at(l->g, x->node);
        for (uint32_t k = 0; k < n->nargs; k++) {
            gcut_ref v = gcut_arg(l->g, n, k);
            if (gcut_loop_access(l, x, v) == GCUT_X_LOAD)
                note_buffer(l, l->h->buffer[l->h->view[v].root], 1, use);
        }
        if (l->h->buffer[x->v] != GCUT_NONE && !gcut_loop_partial(x))
            note_buffer(l, l->h->buffer[x->v], 2, use);
    }
    for (uint32_t k = 1; k <= l->nbuffers; k++)
        for (uint32_t b = 0; b < p->buffers.n; b++)
            if (l->buffer[b] == k)
                W(l, "    %s%s *const restrict %s = %s;\n", use[b] & 2 ? "" : "const ",
                  gcut_c_type(p->buffers.at[b].dtype), gcut_loop_buffer(l, b), gcut_c_arg(l->e, b));
    gcut_arena_free(a);
}

static void declare_scratch(gcut_loop *l)
{
    gcut_dim off = 0;
    for (uint32_t i = 0; i < l->n; i++) {
        const gcut_member *x = &l->at[i];
        const char *t = gcut_c_type(dtype_of(l, x));
        if (x->keep != GCUT_SCRATCH) continue;
        W(l, "    %s *const restrict s%u = (%s *)((char *)%s + t * (%s) + %s);\n", t, x->v, t,
          gcut_c_arg(l->e, l->u->scratch), dim(l, l->e->p->buffers.at[l->u->scratch].count), dim(l, off));
        off = gcut_dim_make(l->m->dims, GCUT_DIM_ADD, off, gcut_loop_row_bytes(l, x->v));
    }
}

static void declare_partials(gcut_loop *l)
{
    gcut_dim off = 0;
    for (uint32_t i = 0; i < l->n; i++) {
        const gcut_member *x = &l->at[i];
        if (!gcut_loop_partial(x)) continue;
        W(l, "    char *const restrict part%u = (char *)%s + %s;\n", x->v, gcut_c_arg(l->e, l->u->partial),
          dim(l, off));
        off = gcut_dim_make(l->m->dims, GCUT_DIM_ADD, off, gcut_loop_partial_bytes(l, x));
    }
}

static void begin_block(gcut_loop *l)
{
    for (uint32_t i = 0; i < l->n; i++) {
        const gcut_member *x = &l->at[i];
        const char *t = gcut_c_type(dtype_of(l, x));
        if (x->level == GCUT_L_COLUMN)
            W(l,
              "    %s *const restrict q%u = (%s *)(part%u + k * (%s));\n"
              "    for (int64_t c = 0; c < C; c++) q%u[c] = %s;\n",
              t, x->v, t, x->v, dim(l, gcut_loop_row_bytes(l, x->v)), x->v, neutral(l, x));
        if (x->level == GCUT_L_TOTAL) declare_accumulator(l, x, "    ");
    }
}

static const char *total_type(const gcut_loop *l, const gcut_member *x)
{
    return gcut_dtype_is_float(dtype_of(l, x)) ? "double" : gcut_c_type(dtype_of(l, x));
}

static void end_block(gcut_loop *l)
{
    for (uint32_t i = 0; i < l->n; i++) {
        const gcut_member *x = &l->at[i];
        if (x->level != GCUT_L_TOTAL) continue;
        W(l, "    *(%s *)(part%u + k * 64) = %s;\n", total_type(l, x), x->v,
          in_lanes(l, x) ? lanes_call(l, x) : gcut_printf(l->m->arena, "acc%u", x->v));
    }
}

static void emit_rows(gcut_loop *l)
{
    bool *seen = gcut_calloc(l->m->arena, l->g->values.n, sizeof *seen);
    W(l, "    for (int64_t r = r0; r < r1; r++) {\n");
    if (l->u->flat)
        W(l, "        const int64_t first = r * %d, C = gcut_rt_min(%d, E - first);\n", GCUT_CHUNK,
          GCUT_CHUNK);
    for (uint32_t i = 0; i < l->n; i++) {
        const gcut_member *x = &l->at[i];
        if (x->level == GCUT_L_FULL && l->h->buffer[x->v] != GCUT_NONE)
            W(l, "        %s *const o%u = %s + %s;\n", gcut_c_type(dtype_of(l, x)), x->v,
              gcut_loop_pointer(l, x->v), l->u->flat ? "first" : "r * C");
    }
    emit_row_values(l, -1);
    for (int p = 0; p < l->phases; p++) {
        emit_phase(l, p, seen);
        emit_row_values(l, p);
    }
    W(l, "    }\n");
}

static void emit_faults(gcut_loop *l, bool declare)
{
    uint32_t number = 0;
    for (uint32_t i = 0; i < l->n; i++) {
        if (!is_bounded(gcut_node_at(l->g, l->at[i].node))) continue;
        if (declare)
            W(l, "    gcut_rt_fault fault%u = GCUT_RT_NO_FAULT;\n", l->at[i].v);
        else
            W(l, "    gcut_rt_note(&x->fault[args->fault + %u], &fault%u);\n", number++, l->at[i].v);
    }
}

/* "static void NAME_f<number><suffix>(…) {" with the call and the buffers at hand. */
static void begin_function(gcut_loop *l, const char *suffix, const char *arguments)
{
    W(l,
      "static void %s_f\1%s(%s)\n{\n    %s_call *const x = args->x;\n    void *const *const b = args->b;\n   "
      " (void)x;\n",
      l->e->prefix, suffix, arguments, l->e->prefix);
}

/* Adds the partial results of the blocks in their order. */
static void emit_join(gcut_loop *l)
{
    begin_function(l, "_join", gcut_printf(l->m->arena, "const %s_args *args", l->e->prefix));
    declare_partials(l);
    for (uint32_t i = 0; i < l->n; i++) {
        const gcut_member *x = &l->at[i];
        if (!gcut_loop_partial(x)) continue;
        gcut_dtype dt = dtype_of(l, x);
        const char *t = gcut_c_type(dt), *buf = gcut_c_arg(l->e, l->h->buffer[x->v]);
        if (x->level == GCUT_L_COLUMN) {
            const char *row = dim(l, gcut_loop_row_bytes(l, x->v)), *columns = dim(l, l->u->inner);
            W(l, "    %s *const restrict o%u = %s;\n", t, x->v, buf);
            W(l, "    for (int64_t c = 0; c < %s; c++) o%u[c] = ((const %s *)part%u)[c];\n", columns, x->v, t,
              x->v);
            W(l,
              "    for (int k = 1; k < %d; k++) {\n        const %s *const q = (const %s *)(part%u + k * "
              "(%s));\n",
              GCUT_BLOCKS, t, t, x->v, row);
            W(l, "        for (int64_t c = 0; c < %s; c++) o%u[c] = (%s)(%s);\n    }\n", columns, x->v, t,
              combine(l, x, gcut_printf(l->m->arena, "o%u[c]", x->v), "q[c]"));
        } else {
            const char *w = total_type(l, x);
            bool sum = !strcmp(combining(l, x), "add");
            W(l, "    %s sum%u = *(const %s *)part%u;\n", w, x->v, w, x->v);
            const char *acc = gcut_printf(l->m->arena, "sum%u", x->v);
            const char *nxt = gcut_printf(l->m->arena, "*(const %s *)(part%u + k * 64)", w, x->v);
            const char *e =
                sum ? gcut_printf(l->m->arena, "%s + %s", acc, nxt)
                    : gcut_printf(l->m->arena, "gcut_%s_%s(%s, %s)", combining(l, x),
                                  gcut_dtype_is_float(dt) ? "f64" : gcut_dtype_name(dt), acc, nxt);
            W(l, "    for (int k = 1; k < %d; k++) sum%u = (%s)(%s);\n", GCUT_BLOCKS, x->v, w, e);
            W(l, "    *(%s *)%s = (%s)sum%u;\n", t, buf, t, x->v);
        }
    }
    W(l, "}\n\n");
}

static const char *row_count(const gcut_loop *l)
{
    return dim(l, l->u->rows);
}

/* Everything a range of rows needs, and the walk over them. */
static void emit_body(gcut_loop *l)
{
    declare_pointers(l);
    declare_scratch(l);
    declare_partials(l);
    emit_faults(l, true);
    W(l, "    const int64_t %s = %s;\n", l->u->flat ? "E" : "C",
      dim(l, l->u->flat ? l->u->numel : l->u->inner));
    if (l->u->blocked) {
        W(l,
          "    for (int k = t; k < %d; k += nt) {\n    int64_t r0, r1;\n    gcut_rt_share(%s, 1, k, %d, &r0, "
          "&r1);\n",
          GCUT_BLOCKS, row_count(l), GCUT_BLOCKS);
        begin_block(l);
    }
    emit_rows(l);
    if (l->u->blocked) {
        end_block(l);
        W(l, "    }\n");
    }
    emit_faults(l, false);
    W(l, "}\n\n");
}

gcut_loop gcut_emit_loop(gcut_emitter *e, gcut_arena *a, uint32_t *function)
{
    gcut_loop l = gcut_loop_analyse(a, e->h, e->unit);
    const char *any = gcut_printf(a, "    const %s_args *const args = arg;\n", e->prefix);
    l.e = e;
    l.out = e->body;
    l.buffer = gcut_calloc(a, e->p->buffers.n + 1, sizeof *l.buffer);
    if (l.u->blocked) {
        W(&l, "static void %s_f\1(void *arg, int t, int nt)\n{\n%s", e->prefix, any);
        W(&l, "    %s_call *const x = args->x;\n    void *const *const b = args->b;\n    (void)x;\n",
          e->prefix);
        emit_body(&l);
        emit_join(&l);
    } else {
        begin_function(&l, "_rows",
                       gcut_printf(a, "const %s_args *args, int t, int64_t r0, int64_t r1", e->prefix));
        W(&l, "    (void)t;\n");
        emit_body(&l);
        W(&l,
          "static void %s_f\1(void *arg, int t, int nt)\n{\n%s    %s_call *const x = args->x;\n    int64_t "
          "r0, r1;\n",
          e->prefix, any, e->prefix);
        W(&l,
          "    (void)x;\n    gcut_rt_share(%s, 1, t, nt, &r0, &r1);\n    %s_f\1_rows(args, t, r0, "
          "r1);\n}\n\n",
          row_count(&l), e->prefix);
    }
    *function = gcut_c_function(e);
    return l;
}

static void emit_launch(const gcut_loop *l, uint32_t function, const char *args, const char *indent)
{
    gcut_crew crew = gcut_loop_crew(l->h, l->unit);
    crew.tiled = false; /* the tiled launch is written by its caller */
    gcut_text_add(l->e->call, "%sgcut_rt_parallel(%s_f%u, (void *)%s, %s);\n", indent, l->e->prefix, function,
                  args, gcut_crew_c(l->m, &crew));
}

static void emit_fault_checks(const gcut_loop *l)
{
    for (uint32_t i = 0; i < l->n; i++) {
        const gcut_node *node = gcut_node_at(l->g, l->at[i].node);
        if (is_bounded(node)) gcut_c_fault(l->e, node, gcut_attr_get(l->g, node, GCUT_A_of)->u.dim);
    }
}

void gcut_emit_loop_call(const gcut_loop *l, uint32_t function)
{
    gcut_text *c = l->e->call;
    gcut_c_comment(l->e, gcut_printf(l->m->arena, l->u->flat ? "loop over %s elements" : "%s rows of %s",
                                     l->u->flat ? dim(l, l->u->numel) : row_count(l), dim(l, l->u->inner)));
    gcut_text_add(c, "    {\n        void *const b[] = %s;\n        const %s_args args = {x, b, %u};\n",
                  gcut_c_args(l->e), l->e->prefix, *l->e->faults);
    emit_launch(l, function, "&args", "        ");
    if (l->u->blocked) gcut_text_add(c, "        %s_f%u_join(&args);\n", l->e->prefix, function);
    gcut_text_add(c, "    }\n");
    emit_fault_checks(l);
}

void gcut_emit_tiled_call(const gcut_loop *l, const gcut_tiles *t)
{
    const char *pre = l->e->prefix;
    gcut_text *c = l->e->call;
    gcut_c_comment(t->product, "matrix product");
    gcut_c_comment(l->e, "its epilogue: on tiles of rows in cache when there are enough of them");
    gcut_text_add(c, "    {\n        void *const b0[] = %s;\n        void *const b1[] = %s;\n",
                  gcut_c_args(t->product), gcut_c_args(l->e));
    gcut_text_add(c, "        const %s_args args[] = {{x, b0, 0}, {x, b1, %u}};\n", pre, *l->e->faults);
    gcut_text_add(c,
                  "        if (gcut_rt_tiles(%s, nt)) {\n            %s_f%u(args);\n        } else {\n"
                  "            %s_f%u(args);\n",
                  row_count(l), pre, t->tiles, pre, t->plain);
    emit_launch(l, t->loop, "&args[1]", "            ");
    gcut_text_add(c, "        }\n    }\n");
    emit_fault_checks(l);
}
