/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The C of one loop unit.
 *
 * A row is walked in phases.  A phase is one loop over the row's columns; it
 * ends where a row reduction is complete, and values that depend on the
 * reduction belong to a later phase.  What a later phase needs of an earlier
 * one it reads back from where it was stored, keeps in a row of scratch, or
 * computes again when that is cheaper than a store and a load of L1.  The same
 * expression on the same operands gives the same bits, so the choice is free.
 *
 * Sums do not depend on threads: a float reduction along the row uses
 * GCUT_LANES accumulators and a fixed tree, and a unit that reduces over rows
 * works in GCUT_BLOCKS blocks whose partial results are added in order.
 */
#include <string.h>

#include "kernels/lower.h"

#define CHEAP_PS 120      /* a chain up to this cost per element is computed again rather than kept */
#define SEQUENTIAL_MAX 16 /* a row of so few known elements is reduced one after the other */

typedef enum keep { RECOMPUTE, STORED, SCRATCH } keep;

typedef struct member {
    uint32_t node;
    gcut_ref v;       /* its value; the root of its storage when it has one */
    gcut_level level;
    bool reduces;
    gcut_level reads; /* reductions: the level of the operand, ROW or FULL (a load counts as FULL) */
    int phase;        /* FULL: its loop.  ROW: the loop after which it is known, -1 = before any.
                       * COLUMN, TOTAL: the loop that feeds it, or the ROW phase of its operand. */
    keep keep;
    bool crosses;     /* FULL and read by a later phase */
    int chain_ps;
} member;

typedef struct loop {
    gcut_emitter *e;
    const gcut_half *h;
    const gcut_graph *g;
    gcut_module *m;
    const gcut_unit *u;
    uint32_t unit;
    member *at;
    uint32_t n;
    uint32_t *index; /* value -> member + 1 */
    int phases;
    gcut_text *out;
    bool *have;      /* members whose variable exists in the scope being written */
} loop;

#define W(l, ...) gcut_text_add((l)->out, __VA_ARGS__)

/* ---- analysis ------------------------------------------------------------------------------------------ */

static member *member_of(const loop *l, gcut_ref v)
{
    uint32_t i = l->index[l->h->view[v].root];
    return i ? &l->at[i - 1] : NULL;
}

static gcut_access access_of(const loop *l, const member *user, gcut_ref v)
{
    gcut_level at = user->reduces ? user->reads : user->level == GCUT_L_ROW ? GCUT_L_ROW : GCUT_L_FULL;
    return gcut_unit_access(l->h, l->unit, v, at);
}

static void set_phase(loop *l, member *x)
{
    const gcut_node *n = gcut_node_at(l->g, x->node);
    bool full = x->level == GCUT_L_FULL || (x->reduces && x->reads == GCUT_L_FULL);
    x->phase = full ? 0 : -1;
    for (uint32_t k = 0; k < n->nargs; k++) {
        gcut_ref v = gcut_arg(l->g, n, k);
        gcut_access a = access_of(l, x, v);
        if (a != GCUT_X_FULL && a != GCUT_X_ROW) continue;
        const member *o = member_of(l, v);
        int p = a == GCUT_X_ROW && full ? o->phase + 1 : o->phase;
        if (p > x->phase) x->phase = p;
        if (a == GCUT_X_FULL) x->chain_ps += o->chain_ps;
    }
    x->chain_ps += gcut_op_get((gcut_op)n->op)->cost_ps;
    if (full && x->phase + 1 > l->phases) l->phases = x->phase + 1;
}

/* Marks FULL values of an earlier phase that phase p reads in the end, looking through recomputation. */
static void mark_crossing(loop *l, member *x, int p, bool *changed)
{
    const gcut_node *n = gcut_node_at(l->g, x->node);
    for (uint32_t k = 0; k < n->nargs; k++) {
        gcut_ref v = gcut_arg(l->g, n, k);
        if (access_of(l, x, v) != GCUT_X_FULL) continue;
        member *o = member_of(l, v);
        if (o->phase < p && !o->crosses) {
            o->crosses = *changed = true;
            o->keep = l->h->buffer[o->v] != GCUT_NONE ? STORED : o->chain_ps > CHEAP_PS ? SCRATCH : RECOMPUTE;
        }
        if (o->phase == p || o->keep == RECOMPUTE) mark_crossing(l, o, p, changed);
    }
}

static bool is_sink(const loop *l, const member *x, int p)
{
    if (x->phase != p) return false;
    if (x->reduces) return x->reads == GCUT_L_FULL;
    return x->level == GCUT_L_FULL && (l->h->buffer[x->v] != GCUT_NONE || x->keep == SCRATCH);
}

static loop analyse(gcut_arena *a, const gcut_half *h, uint32_t unit)
{
    loop l = {.h = h, .g = h->g, .m = h->g->module, .u = &h->units.at[unit], .unit = unit};
    l.n = l.u->nodes.n;
    l.at = gcut_calloc(a, l.n + 1, sizeof *l.at);
    l.have = gcut_calloc(a, l.n + 1, sizeof *l.have);
    l.index = gcut_calloc(a, h->g->values.n, sizeof *l.index);
    for (uint32_t i = 0; i < l.n; i++) {
        const gcut_node *n = gcut_node_at(h->g, l.u->nodes.at[i]);
        member *x = &l.at[i];
        *x = (member){.node = l.u->nodes.at[i], .v = n->res0, .level = h->level[n->res0], .keep = RECOMPUTE};
        x->reduces = gcut_op_get((gcut_op)n->op)->emit == GCUT_EMIT_REDUCE;
        x->reads = GCUT_L_FULL;
        gcut_ref r = x->reduces ? h->view[gcut_arg(h->g, n, 0)].root : 0;
        if (x->reduces && h->unit_of[r] == unit && h->level[r] == GCUT_L_ROW) x->reads = GCUT_L_ROW;
        l.index[x->v] = i + 1;
    }
    for (uint32_t i = 0; i < l.n; i++) set_phase(&l, &l.at[i]);
    bool changed = true;
    while (changed) {
        changed = false;
        for (uint32_t i = 0; i < l.n; i++)
            if (is_sink(&l, &l.at[i], l.at[i].phase)) mark_crossing(&l, &l.at[i], l.at[i].phase, &changed);
    }
    return l;
}

static int64_t local_bytes(const loop *l, gcut_ref v) { return gcut_dtype_bytes(gcut_type_of(l->g, v)->dtype); }

/* bytes of one row of v, in whole cache lines */
static gcut_dim row_bytes(const loop *l, gcut_ref v)
{
    gcut_dim n = gcut_dim_make(l->m->dims, GCUT_DIM_MUL, l->u->inner, local_bytes(l, v));
    return gcut_dim_make(l->m->dims, GCUT_DIM_MUL, gcut_dim_make(l->m->dims, GCUT_DIM_CEILDIV, n, 64), 64);
}

static bool uses_partial(const member *x) { return x->level == GCUT_L_COLUMN || x->level == GCUT_L_TOTAL; }

static gcut_dim partial_bytes(const loop *l, const member *x)
{
    gcut_dim one = x->level == GCUT_L_COLUMN ? row_bytes(l, x->v) : 64;
    return gcut_dim_make(l->m->dims, GCUT_DIM_MUL, one, GCUT_BLOCKS);
}

void gcut_loop_workspace(const gcut_half *h, uint32_t unit, gcut_dim *scratch, gcut_dim *partial, gcut_module *m)
{
    gcut_arena *a = gcut_arena_new(m->env, m->arena);
    loop l = analyse(a, h, unit);
    *scratch = *partial = 0;
    for (uint32_t i = 0; i < l.n; i++) {
        if (l.at[i].keep == SCRATCH)
            *scratch = gcut_dim_make(m->dims, GCUT_DIM_ADD, *scratch, row_bytes(&l, l.at[i].v));
        if (uses_partial(&l.at[i]))
            *partial = gcut_dim_make(m->dims, GCUT_DIM_ADD, *partial, partial_bytes(&l, &l.at[i]));
    }
    gcut_arena_free(a);
}

/* ---- addresses ------------------------------------------------------------------------------------------- */

static const char *dim(const loop *l, gcut_dim d) { return gcut_c_dim(l->m, d); }

/* The address of element number `at` (a C expression) of axes begin..end of v, taken row-major. */
static const char *address(const loop *l, gcut_ref v, uint32_t begin, uint32_t end, const char *at)
{
    const gcut_type *t = gcut_type_of(l->g, v);
    const gcut_view *w = &l->h->view[v];
    gcut_text s = {.arena = l->m->arena};
    gcut_dim below = 1;
    while (end > begin) {
        uint32_t from = end;
        gcut_dim size = 1, stride = 0;
        while (from > begin) {
            gcut_dim n, k;
            if (!gcut_view_collapse(l->m, t, w, from - 1, end, &n, &k)) break;
            size = n;
            stride = k;
            from--;
        }
        bool top = true;
        for (uint32_t d = begin; d < from; d++) top = top && t->dim[d] == 1;
        if (stride != 0 && size != 1) {
            const char *q = below == 1 ? at : gcut_printf(l->m->arena, "%s / (%s)", at, dim(l, below));
            if (!top) q = gcut_printf(l->m->arena, "(%s) %% (%s)", q, dim(l, size));
            gcut_text_add(&s, "%s(%s)%s%s", s.n ? " + " : "", q, stride == 1 ? "" : " * ",
                          stride == 1 ? "" : gcut_printf(l->m->arena, "(%s)", dim(l, stride)));
        }
        below = gcut_dim_make(l->m->dims, GCUT_DIM_MUL, below, size);
        end = from;
    }
    return s.n ? s.at : "0";
}

/* What stands before the column loop for an operand that is read element by element. */
typedef struct lane {
    const char *stride; /* NULL: not even, the address is computed per element */
    bool zero, one;
} lane;

static lane lane_of(const loop *l, gcut_ref v)
{
    const gcut_type *t = gcut_type_of(l->g, v);
    const gcut_view *w = &l->h->view[v];
    gcut_dim size, stride;
    uint32_t split = l->u->flat ? 0 : gcut_view_split(l->m, t, l->u->inner);
    if (split > t->rank || !gcut_view_collapse(l->m, t, w, split, t->rank, &size, &stride)) return (lane){0};
    return (lane){dim(l, stride), stride == 0, stride == 1};
}

/* The offset of the row's first element of v, over r (or first, the flat row's first element). */
static const char *row_offset(const loop *l, gcut_ref v, const lane *s)
{
    const gcut_type *t = gcut_type_of(l->g, v);
    const char *off = dim(l, l->h->view[v].offset);
    if (l->u->flat) return gcut_printf(l->m->arena, "%s + first * (%s)", off, s->stride);
    return gcut_printf(l->m->arena, "%s + %s", off, address(l, v, 0, gcut_view_split(l->m, t, l->u->inner), "r"));
}

/* ---- operands ----------------------------------------------------------------------------------------------- */

static const char *pointer(const loop *l, gcut_ref root)
{
    return gcut_printf(l->m->arena, "p%u", l->h->buffer[root]);
}

/* Declares, in the row's scope, what reading v per element needs: a<v> a pointer or scalar, i<v> an iota's start. */
static void declare_lane(const loop *l, gcut_ref v, bool iota)
{
    lane s = lane_of(l, v);
    gcut_ref root = l->h->view[v].root;
    gcut_dtype t = gcut_type_of(l->g, v)->dtype;
    if (!s.stride) return;
    if (iota)
        W(l, "        const %s a%u = (%s)(%s);\n", gcut_c_type(t), v, gcut_c_type(t), row_offset(l, v, &s));
    else if (s.zero)
        W(l, "        const %s a%u = %s[%s];\n", gcut_c_local(t), v, pointer(l, root), row_offset(l, v, &s));
    else
        W(l, "        const %s *const a%u = %s + (%s);\n", gcut_c_type(t), v, pointer(l, root), row_offset(l, v, &s));
}

static const char *lane_read(const loop *l, gcut_ref v, bool iota)
{
    lane s = lane_of(l, v);
    gcut_arena *a = l->m->arena;
    if (!s.stride) {
        const char *e = address(l, v, 0, gcut_type_of(l->g, v)->rank, l->u->flat ? "(first + c)" : "(r * C + c)");
        e = gcut_printf(a, "%s + %s", dim(l, l->h->view[v].offset), e);
        if (!iota) return gcut_printf(a, "%s[%s]", pointer(l, l->h->view[v].root), e);
        return gcut_printf(a, "(%s)(%s)", gcut_c_type(gcut_type_of(l->g, v)->dtype), e);
    }
    if (s.zero) return gcut_printf(a, "a%u", v);
    if (iota)
        return gcut_printf(a, "(a%u + (%s)(c%s%s))", v, gcut_c_type(gcut_type_of(l->g, v)->dtype), s.one ? "" : " * ",
                           s.one ? "" : s.stride);
    return s.one ? gcut_printf(a, "a%u[c]", v) : gcut_printf(a, "a%u[c * (%s)]", v, s.stride);
}

/* A value with one element per row, read from memory or computed from the row number. */
static const char *row_read(const loop *l, gcut_ref v, bool iota)
{
    const gcut_type *t = gcut_type_of(l->g, v);
    const char *e = gcut_printf(l->m->arena, "%s + %s", dim(l, l->h->view[v].offset), address(l, v, 0, t->rank, "r"));
    if (iota) return gcut_printf(l->m->arena, "(%s)(%s)", gcut_c_type(t->dtype), e);
    return gcut_printf(l->m->arena, "%s[%s]", pointer(l, l->h->view[v].root), e);
}

static const char *operand(const loop *l, const member *user, gcut_ref v)
{
    bool row = user->reduces ? user->reads == GCUT_L_ROW : user->level == GCUT_L_ROW;
    gcut_access a = access_of(l, user, v);
    gcut_dtype t = gcut_type_of(l->g, v)->dtype;
    switch (a) {
    case GCUT_X_CONST: return gcut_printf(l->m->arena, "(%s)(%s)", gcut_c_local(t), gcut_c_const(l->g, l->h->view[v].root));
    case GCUT_X_FULL:
    case GCUT_X_ROW: return gcut_printf(l->m->arena, "v%u", l->h->view[v].root);
    case GCUT_X_IOTA:
    case GCUT_X_LOAD: return row ? row_read(l, v, a == GCUT_X_IOTA) : lane_read(l, v, a == GCUT_X_IOTA);
    case GCUT_X_BLOCKED: break;
    }
    GCUT_ASSERT(!"a member reads what its unit cannot give");
    return "";
}

/* ---- statements ------------------------------------------------------------------------------------------------- */

static const char *expression(const loop *l, const member *x)
{
    const gcut_node *n = gcut_node_at(l->g, x->node);
    const char *arg[3] = {0};
    for (uint32_t k = 0; k < n->nargs; k++) arg[k] = operand(l, x, gcut_arg(l->g, n, k));
    if (n->op != GCUT_OP_bounded) return gcut_c_expr(l->g, n, arg);
    const char *limit = dim(l, gcut_attr_get(l->g, n, GCUT_A_of)->u.dim);
    const char *where = x->level == GCUT_L_ROW ? "r" : l->u->flat ? "first + c" : "r * C + c";
    return gcut_printf(l->m->arena, "(%s)gcut_rt_bounded(%s, %s, %s, &fault%u)",
                       gcut_c_type(gcut_type_of(l->g, x->v)->dtype), arg[0], limit, where, x->v);
}

static const char *kept_at(const loop *l, const member *x)
{
    return x->keep == SCRATCH ? gcut_printf(l->m->arena, "s%u[c]", x->v) : gcut_printf(l->m->arena, "o%u[c]", x->v);
}

/* Writes the variable of x and, first, of what it is computed from. */
static void compute(loop *l, member *x, int p)
{
    if (l->have[x - l->at]) return;
    l->have[x - l->at] = true;
    const char *type = gcut_c_local(gcut_type_of(l->g, x->v)->dtype);
    if (x->phase < p && x->keep != RECOMPUTE) {
        W(l, "            const %s v%u = %s;\n", type, x->v, kept_at(l, x));
        return;
    }
    const gcut_node *n = gcut_node_at(l->g, x->node);
    for (uint32_t k = 0; k < n->nargs; k++)
        if (access_of(l, x, gcut_arg(l->g, n, k)) == GCUT_X_FULL) compute(l, member_of(l, gcut_arg(l->g, n, k)), p);
    W(l, "            const %s v%u = %s;\n", type, x->v, expression(l, x));
}

static gcut_dtype dtype_of(const loop *l, const member *x) { return gcut_type_of(l->g, x->v)->dtype; }

/* Float reductions along a row that is long or of unknown length use lanes. */
static bool in_lanes(const loop *l, const member *x)
{
    if (!x->reduces || x->reads != GCUT_L_FULL || x->level == GCUT_L_COLUMN) return false;
    bool tiny = x->level == GCUT_L_ROW && gcut_dim_known(l->u->inner) && l->u->inner <= SEQUENTIAL_MAX;
    return gcut_dtype_is_float(dtype_of(l, x)) && !tiny;
}

static const char *combining(const loop *l, const member *x)
{
    return gcut_op_get((gcut_op)gcut_node_at(l->g, x->node)->op)->cexpr;
}

static const char *combine(const loop *l, const member *x, const char *a, const char *b)
{
    const char *how = combining(l, x);
    if (!strcmp(how, "add")) return gcut_printf(l->m->arena, "%s + %s", a, b);
    return gcut_printf(l->m->arena, "gcut_%s_%s(%s, %s)", how, gcut_dtype_name(dtype_of(l, x)), a, b);
}

static const char *neutral(const loop *l, const member *x)
{
    const char *how = combining(l, x);
    gcut_dtype t = dtype_of(l, x);
    if (!strcmp(how, "add")) return "0";
    bool max = !strcmp(how, "max");
    if (gcut_dtype_is_float(t)) return max ? "-INFINITY" : "INFINITY";
    if (t == GCUT_u8) return max ? "0" : "UINT8_MAX";
    const char *bits = gcut_dtype_name(t) + 1;
    return gcut_printf(l->m->arena, "INT%s_%s", bits, max ? "MIN" : "MAX");
}

/* `add` sums lanes with the function called sum. */
static const char *lanes_call(const loop *l, const member *x)
{
    const char *how = combining(l, x);
    return gcut_printf(l->m->arena, "gcut_rt_lanes_%s_%s(acc%u)", strcmp(how, "add") ? how : "sum",
                       gcut_dtype_name(dtype_of(l, x)), x->v);
}

static void declare_accumulator(loop *l, const member *x, const char *indent)
{
    const char *t = gcut_c_type(dtype_of(l, x));
    if (in_lanes(l, x))
        W(l, "%s%s acc%u[%d];\n%sfor (int l = 0; l < %d; l++) acc%u[l] = %s;\n", indent, t, x->v, GCUT_LANES, indent,
          GCUT_LANES, x->v, neutral(l, x));
    else if (x->level != GCUT_L_COLUMN)
        W(l, "%s%s acc%u = %s;\n", indent, x->level == GCUT_L_TOTAL && !strcmp(t, "float") ? "double" : t, x->v,
          neutral(l, x));
}

static void accumulate(loop *l, const member *x, const char *indent)
{
    const gcut_node *n = gcut_node_at(l->g, x->node);
    const char *value = operand(l, x, gcut_arg(l->g, n, 0));
    const char *acc = x->level == GCUT_L_COLUMN ? gcut_printf(l->m->arena, "q%u[c]", x->v)
                      : in_lanes(l, x)          ? gcut_printf(l->m->arena, "acc%u[l]", x->v)
                                                : gcut_printf(l->m->arena, "acc%u", x->v);
    W(l, "%s%s = %s;\n", indent, acc, combine(l, x, acc, value));
}

/* The operands that phase p reads element by element, each declared once per row. */
static void declare_reads(loop *l, member *x, int p, bool *seen)
{
    if (x->phase < p && x->keep != RECOMPUTE && !x->reduces) return;
    const gcut_node *n = gcut_node_at(l->g, x->node);
    for (uint32_t k = 0; k < n->nargs; k++) {
        gcut_ref v = gcut_arg(l->g, n, k);
        gcut_access a = access_of(l, x, v);
        if (a == GCUT_X_FULL) declare_reads(l, member_of(l, v), p, seen);
        if ((a != GCUT_X_LOAD && a != GCUT_X_IOTA) || seen[v]) continue;
        seen[v] = true;
        declare_lane(l, v, a == GCUT_X_IOTA);
    }
}

static void emit_phase(loop *l, int p, bool *seen)
{
    bool lanes = false, any = false;
    for (uint32_t i = 0; i < l->n; i++) {
        member *x = &l->at[i];
        if (!is_sink(l, x, p)) continue;
        any = true;
        lanes = lanes || in_lanes(l, x);
        declare_reads(l, x, p, seen);
        if (x->reduces && x->level == GCUT_L_ROW) declare_accumulator(l, x, "        ");
    }
    if (!any) return;
    memset(l->have, 0, l->n * sizeof *l->have);
    if (lanes) {
        bool whole = gcut_dim_known(l->u->inner) && l->u->inner % GCUT_LANES == 0 && !l->u->flat;
        W(l, "        for (int64_t c0 = 0; c0 < C; c0 += %d) {\n", GCUT_LANES);
        if (whole)
            W(l, "        for (int l = 0; l < %d; l++) {\n", GCUT_LANES);
        else
            W(l, "        const int n = C - c0 < %d ? (int)(C - c0) : %d;\n        for (int l = 0; l < n; l++) {\n",
              GCUT_LANES, GCUT_LANES);
        W(l, "            const int64_t c = c0 + l;\n");
    } else {
        W(l, "        for (int64_t c = 0; c < C; c++) {\n");
    }
    for (uint32_t i = 0; i < l->n; i++) {
        member *x = &l->at[i];
        if (!is_sink(l, x, p)) continue;
        if (x->reduces) {
            gcut_ref v = gcut_arg(l->g, gcut_node_at(l->g, x->node), 0);
            if (access_of(l, x, v) == GCUT_X_FULL) compute(l, member_of(l, v), p);
        } else {
            compute(l, x, p);
        }
    }
    for (uint32_t i = 0; i < l->n; i++) {
        member *x = &l->at[i];
        if (!is_sink(l, x, p)) continue;
        if (x->reduces)
            accumulate(l, x, "            ");
        else {
            const char *t = gcut_c_type(dtype_of(l, x));
            if (l->h->buffer[x->v] != GCUT_NONE) W(l, "            o%u[c] = (%s)v%u;\n", x->v, t, x->v);
            if (x->keep == SCRATCH) W(l, "            s%u[c] = (%s)v%u;\n", x->v, t, x->v);
        }
    }
    W(l, lanes ? "        }\n        }\n" : "        }\n");
}

/* Arithmetic on values of the row that phase p completed (p = -1: that need no phase). */
static void emit_row_values(loop *l, int p)
{
    for (uint32_t i = 0; i < l->n; i++) {
        member *x = &l->at[i];
        if (x->phase != p) continue;
        if (x->reduces && x->level == GCUT_L_ROW) {
            if (in_lanes(l, x))
                W(l, "        const %s v%u = %s;\n", gcut_c_type(dtype_of(l, x)), x->v, lanes_call(l, x));
            else
                W(l, "        const %s v%u = acc%u;\n", gcut_c_type(dtype_of(l, x)), x->v, x->v);
        } else if (x->level == GCUT_L_ROW) {
            W(l, "        const %s v%u = %s;\n", gcut_c_local(dtype_of(l, x)), x->v, expression(l, x));
        } else if (x->reduces && x->reads == GCUT_L_ROW) {
            accumulate(l, x, "        ");
            continue;
        } else {
            continue;
        }
        if (l->h->buffer[x->v] != GCUT_NONE)
            W(l, "        %s[r] = (%s)v%u;\n", pointer(l, x->v), gcut_c_type(dtype_of(l, x)), x->v);
    }
}

/* ---- the kernel ----------------------------------------------------------------------------------------------------- */

/* One restrict pointer per buffer, whatever reads and writes through it. */
static void declare_pointers(loop *l)
{
    gcut_arena *a = gcut_arena_new(l->m->env, l->m->arena);
    const gcut_program *p = l->e->p;
    uint8_t *use = gcut_calloc(a, p->buffers.n + 1, 1);
    for (uint32_t i = 0; i < l->n; i++) {
        const member *x = &l->at[i];
        const gcut_node *n = gcut_node_at(l->g, x->node);
        if (l->h->buffer[x->v] != GCUT_NONE && !uses_partial(x)) use[l->h->buffer[x->v]] |= 2;
        for (uint32_t k = 0; k < n->nargs; k++) {
            gcut_ref v = gcut_arg(l->g, n, k);
            if (access_of(l, x, v) == GCUT_X_LOAD) use[l->h->buffer[l->h->view[v].root]] |= 1;
        }
    }
    for (uint32_t b = 0; b < p->buffers.n; b++)
        if (use[b])
            W(l, "    %s%s *const restrict p%u = %s;\n", use[b] & 2 ? "" : "const ", gcut_c_type(p->buffers.at[b].dtype),
              b, gcut_c_buffer(p, b));
    gcut_arena_free(a);
}

static void declare_scratch(loop *l)
{
    gcut_dim off = 0;
    for (uint32_t i = 0; i < l->n; i++) {
        const member *x = &l->at[i];
        const char *t = gcut_c_type(dtype_of(l, x));
        if (x->keep != SCRATCH) continue;
        W(l, "    %s *const restrict s%u = (%s *)(x->arena + x->plan->off[%u] + t * (%s) + %s);\n", t, x->v, t,
          gcut_c_slot(l->e->p, l->u->scratch), dim(l, l->e->p->buffers.at[l->u->scratch].count), dim(l, off));
        off = gcut_dim_make(l->m->dims, GCUT_DIM_ADD, off, row_bytes(l, x->v));
    }
}

static void declare_partials(loop *l)
{
    gcut_dim off = 0;
    for (uint32_t i = 0; i < l->n; i++) {
        const member *x = &l->at[i];
        if (!uses_partial(x)) continue;
        W(l, "    char *const restrict part%u = x->arena + x->plan->off[%u] + %s;\n", x->v,
          gcut_c_slot(l->e->p, l->u->partial), dim(l, off));
        off = gcut_dim_make(l->m->dims, GCUT_DIM_ADD, off, partial_bytes(l, x));
    }
}

static void begin_block(loop *l)
{
    for (uint32_t i = 0; i < l->n; i++) {
        const member *x = &l->at[i];
        const char *t = gcut_c_type(dtype_of(l, x));
        if (x->level == GCUT_L_COLUMN)
            W(l,
              "    %s *const restrict q%u = (%s *)(part%u + b * (%s));\n"
              "    for (int64_t c = 0; c < C; c++) q%u[c] = %s;\n",
              t, x->v, t, x->v, dim(l, row_bytes(l, x->v)), x->v, neutral(l, x));
        if (x->level == GCUT_L_TOTAL) declare_accumulator(l, x, "    ");
    }
}

static const char *total_type(const loop *l, const member *x)
{
    return gcut_dtype_is_float(dtype_of(l, x)) ? "double" : gcut_c_type(dtype_of(l, x));
}

static void end_block(loop *l)
{
    for (uint32_t i = 0; i < l->n; i++) {
        const member *x = &l->at[i];
        if (x->level != GCUT_L_TOTAL) continue;
        W(l, "    *(%s *)(part%u + b * 64) = %s;\n", total_type(l, x), x->v,
          in_lanes(l, x) ? lanes_call(l, x) : gcut_printf(l->m->arena, "acc%u", x->v));
    }
}

static void emit_rows(loop *l)
{
    bool *seen = gcut_calloc(l->m->arena, l->g->values.n, sizeof *seen);
    W(l, "    for (int64_t r = r0; r < r1; r++) {\n");
    if (l->u->flat)
        W(l, "        const int64_t first = r * %d, C = gcut_rt_min(%d, E - first);\n", GCUT_CHUNK, GCUT_CHUNK);
    for (uint32_t i = 0; i < l->n; i++) {
        const member *x = &l->at[i];
        if (x->level == GCUT_L_FULL && l->h->buffer[x->v] != GCUT_NONE)
            W(l, "        %s *const o%u = %s + %s;\n", gcut_c_type(dtype_of(l, x)), x->v, pointer(l, x->v),
              l->u->flat ? "first" : "r * C");
    }
    emit_row_values(l, -1);
    for (int p = 0; p < l->phases; p++) {
        emit_phase(l, p, seen);
        emit_row_values(l, p);
    }
    W(l, "    }\n");
}

static void emit_faults(loop *l, bool declare)
{
    uint32_t number = *l->e->faults;
    for (uint32_t i = 0; i < l->n; i++) {
        if (gcut_node_at(l->g, l->at[i].node)->op != GCUT_OP_bounded) continue;
        if (declare)
            W(l, "    gcut_rt_fault fault%u = GCUT_RT_NO_FAULT;\n", l->at[i].v);
        else
            W(l, "    gcut_rt_note(&x->fault[%u], &fault%u);\n", number++, l->at[i].v);
    }
}

/* Adds the partial results of the blocks in their order. */
static void emit_join(loop *l)
{
    W(l, "static void %s_k%u_join(%s_call *x)\n{\n", l->e->prefix, l->e->number, l->e->prefix);
    declare_partials(l);
    for (uint32_t i = 0; i < l->n; i++) {
        const member *x = &l->at[i];
        if (!uses_partial(x)) continue;
        gcut_dtype dt = dtype_of(l, x);
        const char *t = gcut_c_type(dt), *buf = gcut_c_buffer(l->e->p, l->h->buffer[x->v]);
        if (x->level == GCUT_L_COLUMN) {
            const char *row = dim(l, row_bytes(l, x->v)), *columns = dim(l, l->u->inner);
            W(l, "    %s *const restrict o%u = %s;\n", t, x->v, buf);
            W(l, "    for (int64_t c = 0; c < %s; c++) o%u[c] = ((const %s *)part%u)[c];\n", columns, x->v, t, x->v);
            W(l, "    for (int b = 1; b < %d; b++) {\n        const %s *const q = (const %s *)(part%u + b * (%s));\n",
              GCUT_BLOCKS, t, t, x->v, row);
            W(l, "        for (int64_t c = 0; c < %s; c++) o%u[c] = (%s)(%s);\n    }\n", columns, x->v, t,
              combine(l, x, gcut_printf(l->m->arena, "o%u[c]", x->v), "q[c]"));
        } else {
            const char *w = total_type(l, x);
            bool sum = !strcmp(combining(l, x), "add");
            W(l, "    %s sum%u = *(const %s *)part%u;\n", w, x->v, w, x->v);
            const char *acc = gcut_printf(l->m->arena, "sum%u", x->v);
            const char *nxt = gcut_printf(l->m->arena, "*(const %s *)(part%u + b * 64)", w, x->v);
            const char *e = sum ? gcut_printf(l->m->arena, "%s + %s", acc, nxt)
                                : gcut_printf(l->m->arena, "gcut_%s_%s(%s, %s)", combining(l, x),
                                              gcut_dtype_is_float(dt) ? "f64" : gcut_dtype_name(dt), acc, nxt);
            W(l, "    for (int b = 1; b < %d; b++) sum%u = (%s)(%s);\n", GCUT_BLOCKS, x->v, w, e);
            W(l, "    *%s = (%s)sum%u;\n", buf, t, x->v);
        }
    }
    W(l, "}\n\n");
}

static int64_t cost_of(const loop *l)
{
    int64_t ps = 0;
    for (uint32_t i = 0; i < l->n; i++) {
        const gcut_node *n = gcut_node_at(l->g, l->at[i].node);
        ps += gcut_op_get((gcut_op)n->op)->cost_ps + 100; /* and its share of the traffic */
    }
    return ps;
}

static void emit_call(loop *l)
{
    const char *pre = l->e->prefix;
    gcut_text *c = l->e->call;
    gcut_text_add(c, "    gcut_rt_parallel(%s_k%u, x, gcut_rt_worth(x->plan->threads, %s, %lld));\n", pre, l->e->number,
                  dim(l, l->u->numel), (long long)cost_of(l));
    if (l->u->blocked) gcut_text_add(c, "    %s_k%u_join(x);\n", pre, l->e->number);
    for (uint32_t i = 0; i < l->n; i++) {
        const gcut_node *n = gcut_node_at(l->g, l->at[i].node);
        if (n->op == GCUT_OP_bounded) gcut_c_fault(l->e, n, gcut_attr_get(l->g, n, GCUT_A_of)->u.dim, gcut_arg(l->g, n, 0));
    }
}

static const char *row_count(const loop *l)
{
    return l->u->rows == GCUT_DIM_BAD ? "1" : dim(l, l->u->rows);
}

void gcut_emit_loop(gcut_emitter *e)
{
    gcut_arena *a = gcut_arena_new(e->p->module->env, e->p->module->arena);
    loop l = analyse(a, e->h, e->unit);
    l.e = e;
    l.out = e->c;
    gcut_c_comment(e, gcut_printf(a, l.u->flat ? "loop over %s elements" : "%s rows of %s",
                                  l.u->flat ? dim(&l, l.u->numel) : row_count(&l), dim(&l, l.u->inner)));
    W(&l, "static void %s_k%u(void *arg, int t, int nt)\n{\n    %s_call *const x = arg;\n", e->prefix, e->number, e->prefix);
    declare_pointers(&l);
    declare_scratch(&l);
    declare_partials(&l);
    emit_faults(&l, true);
    W(&l, "    const int64_t R = %s, %s = %s;\n    int64_t r0, r1;\n", row_count(&l), l.u->flat ? "E" : "C",
      dim(&l, l.u->flat ? l.u->numel : l.u->inner));
    if (l.u->blocked) {
        W(&l, "    for (int b = t; b < %d; b += nt) {\n    gcut_rt_share(R, 1, b, %d, &r0, &r1);\n", GCUT_BLOCKS, GCUT_BLOCKS);
        begin_block(&l);
    } else {
        W(&l, "    gcut_rt_share(R, 1, t, nt, &r0, &r1);\n");
    }
    emit_rows(&l);
    if (l.u->blocked) {
        end_block(&l);
        W(&l, "    }\n");
    }
    emit_faults(&l, false);
    W(&l, "}\n\n");
    if (l.u->blocked) emit_join(&l);
    emit_call(&l);
    gcut_arena_free(a);
}
