/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The statements of one row of a loop kernel, phase by phase (loop_phases.h).
 *
 * A column's values are one chain of dependent instructions.  When it is longer than a processor looks ahead,
 * it runs at the latency of its instructions, and the next columns wait.  So a phase with several long
 * functions is cut into parts: each walks a strip of columns by itself, with little to wait for in a column,
 * and what a later part needs is kept in an array of a strip, which stays in L1.  All results are stored in
 * the last part: a result may lie over an operand, which parts before it read.  A phase also goes by strips to
 * unpack bits that it reads, to lay out what does not step evenly along the columns, and to prefetch the next strip of
 * its operands where its arithmetic is long: then fewer loads of later columns fit into a processor's reorder window
 * than memory needs in flight.
 */
#include <ctype.h>
#include <string.h>

#include "kernels/emit/emit_loop.h"

#define W(w, ...) gcut_text_add((w)->out, __VA_ARGS__)

enum {
    SHORT = 3,          /* what is no long function, as sqrt, costs that much more than it delays */
    STRIP = 256,        /* columns of a strip, a multiple of GCUT_LANES */
    FEW = 64,           /* columns that no strip pays for */
    PEELED = 16,        /* columns that GCC would unroll: its max-completely-peel-times */
    STRIP_BYTES = 16384 /* of its arrays, about */
};

typedef GCUT_VEC(gcut_ref) operands; /* of members, each once */

/* The values that a phase computes per column, in order, and the part that each belongs to. */
typedef struct column {
    int phase, parts, strip;
    uint32_t n, *line;   /* members */
    int *part;           /* by member */
    bool *kept;          /* by member: a later part reads it */
    operands laid;       /* that are laid out a strip at a time */
    operands prefetched; /* whose next strip is prefetched */
} column;

/* ---- statements ---- */

static const char *expression(const gcut_loop_writer *w, const gcut_loop_node *x)
{
    const gcut_node *n = x->n;
    const char *arg[3] = {0};
    for (uint32_t k = 0; k < n->nargs; k++) arg[k] = gcut_loop_operand(w, x, gcut_arg(w->l->g, n, k));
    if (!gcut_loop_is_bounded(x)) return gcut_c_expr(w->l->g, n, arg);
    const char *limit = gcut_c_size(w->l->m, gcut_attr_get(w->l->g, n, GCUT_KEY_of)->u.dim);
    const char *where = x->level == GCUT_LEVEL_ROW ? "r" : w->l->u->loop.flat ? "first + c" : "r * C + c";
    return gcut_printf(w->l->m->arena, "(%s)gcut_rt_bounded(%s, %s, %s, &fault%u)", gcut_c_type(x->dtype),
                       arg[0], limit, where, x->v);
}

/* An earlier phase left x where this one finds it. */
static bool is_found(const gcut_loop_node *x, int p)
{
    return x->phase < p && x->keep != GCUT_RECOMPUTE;
}

/* x and, first, what it is computed from become lines. */
static void schedule(gcut_loop_writer *w, column *c, gcut_loop_node *x)
{
    if (w->have[x - w->l->at]) return;
    w->have[x - w->l->at] = true;
    for (uint32_t k = 0; k < x->n->nargs && !is_found(x, c->phase); k++) {
        gcut_loop_node *from = gcut_loop_producer(w->l, x, k);
        if (from) schedule(w, c, from);
    }
    c->line[c->n++] = (uint32_t)(x - w->l->at);
}

/* The member that a sink of the phase takes its value from; NULL: it reads memory. */
static gcut_loop_node *source(const gcut_loop_writer *w, gcut_loop_node *x)
{
    return x->reduces ? gcut_loop_producer(w->l, x, 0) : x;
}

/* The part that sink x of the phase is written in: results in the last, reductions with their operand. */
static int part_of(const gcut_loop_writer *w, const column *c, gcut_loop_node *x)
{
    const gcut_loop_node *from = source(w, x);
    return x->reduces && from && !is_found(from, c->phase) ? c->part[from - w->l->at] : c->parts - 1;
}

/* Lines are dealt out in order, so that a part needs nothing of a later one. */
static void cut(gcut_loop_writer *w, column *c)
{
    const int most = w->l->h->thresholds->ps[GCUT_THRESHOLD_part];
    int load = 0;
    for (uint32_t i = 0; i < c->n; i++) {
        const gcut_loop_node *x = &w->l->at[c->line[i]];
        int ps = is_found(x, c->phase) ? 0 : gcut_op_ps(w->l->h, x->n);
        if (!gcut_op_is_long(w->l->h, x->n)) ps /= SHORT;
        if (load > 0 && load + ps > most) load = 0, c->parts++;
        load += ps;
        c->part[x - w->l->at] = c->parts - 1;
    }
}

/* x, NULL for none, is read in that part. */
static void keep(const gcut_loop_writer *w, column *c, const gcut_loop_node *x, int part)
{
    if (x && !is_found(x, c->phase) && c->part[x - w->l->at] < part) c->kept[x - w->l->at] = true;
}

/* What crosses from part to part, and how long strips are so that it fits. */
static void keep_crossing(gcut_loop_writer *w, column *c)
{
    int64_t bytes = 0;
    for (uint32_t i = 0; i < c->n; i++) {
        const gcut_loop_node *x = &w->l->at[c->line[i]];
        for (uint32_t k = 0; k < x->n->nargs && !is_found(x, c->phase); k++)
            keep(w, c, gcut_loop_producer(w->l, x, k), c->part[x - w->l->at]);
    }
    for (uint32_t i = 0; i < w->l->n; i++)
        if (gcut_loop_sink(w->l, &w->l->at[i], c->phase) && !w->l->at[i].reduces)
            keep(w, c, &w->l->at[i], c->parts - 1);
    for (uint32_t i = 0; i < w->l->n; i++)
        if (c->kept[i]) bytes += gcut_dtype_bytes(w->l->at[i].dtype);
    while (c->strip > GCUT_LANES && bytes * c->strip > STRIP_BYTES) c->strip /= 2;
}

static void add_once(const gcut_loop_writer *w, operands *all, gcut_ref v)
{
    for (uint32_t i = 0; i < all->n; i++)
        if (all->at[i] == v) return;
    *GCUT_PUSH(w->l->m->arena, all) = v;
}

/* The operands of x that are laid out. */
static void find_laid(gcut_loop_writer *w, column *c, const gcut_loop_node *x)
{
    for (uint32_t k = 0; k < x->n->nargs; k++) {
        const gcut_ref v = gcut_arg(w->l->g, x->n, k);
        const gcut_access a = gcut_loop_access(w->l, x, v);
        if ((a == GCUT_ACCESS_LOAD || a == GCUT_ACCESS_IOTA) && gcut_loop_lays_out(w, v))
            add_once(w, &c->laid, v);
    }
}

/* The operands of the phase that are read from memory column by column, where its arithmetic is long. */
static void find_prefetched(gcut_loop_writer *w, column *c)
{
    int ps = 0;
    if (w->l->prologue || w->columns) return;
    for (uint32_t i = 0; i < c->n; i++)
        if (!is_found(&w->l->at[c->line[i]], c->phase)) ps += gcut_op_ps(w->l->h, w->l->at[c->line[i]].n);
    if (ps < w->l->h->thresholds->ps[GCUT_THRESHOLD_prefetch]) return;
    for (uint32_t i = 0; i < c->n; i++) {
        const gcut_loop_node *x = &w->l->at[c->line[i]];
        for (uint32_t k = 0; k < x->n->nargs && !is_found(x, c->phase); k++) {
            const gcut_ref v = gcut_arg(w->l->g, x->n, k);
            if (gcut_loop_access(w->l, x, v) == GCUT_ACCESS_LOAD && gcut_loop_steps_by_one(w, v))
                add_once(w, &c->prefetched, v);
        }
    }
}

static bool has_strips(const column *c)
{
    return c->parts > 1 || c->laid.n || c->prefetched.n;
}

static column column_of(gcut_loop_writer *w, gcut_arena *a, int p)
{
    column c = {.phase = p, .parts = 1, .strip = STRIP};
    c.line = gcut_calloc(a, w->l->n, sizeof *c.line);
    c.part = gcut_calloc(a, w->l->n, sizeof *c.part);
    c.kept = gcut_calloc(a, w->l->n, sizeof *c.kept);
    memset(w->have, 0, w->l->n * sizeof *w->have);
    for (uint32_t i = 0; i < w->l->n; i++) {
        if (!gcut_loop_sink(w->l, &w->l->at[i], p)) continue;
        gcut_loop_node *x = source(w, &w->l->at[i]);
        if (x)
            schedule(w, &c, x);
        else
            find_laid(w, &c, &w->l->at[i]);
    }
    for (uint32_t i = 0; i < c.n; i++)
        if (!is_found(&w->l->at[c.line[i]], p)) find_laid(w, &c, &w->l->at[c.line[i]]);
    gcut_dim columns = w->l->u->loop.flat ? w->l->u->loop.numel : w->l->u->loop.inner;
    if (!gcut_dim_known(columns) || columns > FEW) cut(w, &c), find_prefetched(w, &c);
    if (c.parts > 1) keep_crossing(w, &c);
    return c;
}

/* Marks in w->have what part reads of parts before it or of phases before this. */
static void mark_needed(gcut_loop_writer *w, const column *c, int part)
{
    memset(w->have, 0, w->l->n * sizeof *w->have);
    for (uint32_t i = 0; i < c->n; i++) {
        const gcut_loop_node *x = &w->l->at[c->line[i]];
        if (c->part[x - w->l->at] != part || is_found(x, c->phase)) continue;
        for (uint32_t k = 0; k < x->n->nargs; k++) {
            const gcut_loop_node *from = gcut_loop_producer(w->l, x, k);
            if (from) w->have[from - w->l->at] = true;
        }
    }
    for (uint32_t i = 0; i < w->l->n; i++) {
        gcut_loop_node *x = &w->l->at[i], *from = gcut_loop_sink(w->l, x, c->phase) ? source(w, x) : NULL;
        if (from && part_of(w, c, x) == part) w->have[from - w->l->at] = true;
    }
}

/* The variables of a part. */
static void emit_values(gcut_loop_writer *w, const column *c, int part)
{
    mark_needed(w, c, part);
    for (uint32_t i = 0; i < c->n; i++) {
        const gcut_loop_node *x = &w->l->at[c->line[i]];
        const char *type = gcut_c_local(x->dtype);
        bool found = is_found(x, c->phase), here = !found && c->part[x - w->l->at] == part;
        if (!here && !w->have[x - w->l->at]) continue;
        if (found)
            W(w, "            const %s v%u = %c%u[c];\n", type, x->v, x->keep == GCUT_SCRATCH ? 's' : 'o',
              x->v);
        else if (!here)
            W(w, "            const %s v%u = w%u[c - c0];\n", type, x->v, x->v);
        else
            W(w, "%s            const %s v%u = %s;\n%s", gcut_c_line(w->e, x->n->loc), type, x->v,
              expression(w, x), gcut_c_line(w->e, 0));
        if (here && c->kept[x - w->l->at])
            W(w, "            w%u[c - c0] = (%s)v%u;\n", x->v, gcut_c_type(x->dtype), x->v);
    }
}

/* The operands that phase p reads element by element, each declared once per row; w->have: visited in this
 * phase. */
static void declare_reads(gcut_loop_writer *w, gcut_loop_node *x, int p)
{
    if (w->have[x - w->l->at]) return;
    w->have[x - w->l->at] = true;
    if (is_found(x, p) && !x->reduces) return;
    for (uint32_t k = 0; k < x->n->nargs; k++) {
        gcut_ref v = gcut_arg(w->l->g, x->n, k);
        gcut_access a = gcut_loop_access(w->l, x, v);
        if (a == GCUT_ACCESS_FULL) declare_reads(w, gcut_loop_member(w->l, v), p);
        if ((a != GCUT_ACCESS_LOAD && a != GCUT_ACCESS_IOTA) || w->seen[v]) continue;
        w->seen[v] = true;
        *GCUT_PUSH(w->l->m->arena, &w->declared) = v;
        gcut_loop_declare(w, v, a == GCUT_ACCESS_IOTA);
    }
}

/* The statements of one column: values, then what they feed. */
static void emit_column(gcut_loop_writer *w, const column *c, int part)
{
    emit_values(w, c, part);
    for (uint32_t i = 0; i < w->l->n; i++) {
        gcut_loop_node *x = &w->l->at[i];
        const char *t = gcut_c_type(x->dtype);
        if (!gcut_loop_sink(w->l, x, c->phase) || part_of(w, c, x) != part) continue;
        if (x->reduces) {
            W(w, "%s", gcut_c_line(w->e, x->n->loc));
            gcut_loop_accumulate(w, x, "            ");
            W(w, "%s", gcut_c_line(w->e, 0));
            continue;
        }
        if (w->lines && x->streams)
            W(w, "            y%u[l] = (%s)v%u;\n", x->v, t, x->v);
        else if (gcut_loop_stored(w->l, x) != GCUT_NONE)
            W(w, "            o%u[c%s] = (%s)v%u;\n", x->v, w->l->prologue ? " - j0" : "", t, x->v);
        if (x->keep == GCUT_SCRATCH) W(w, "            s%u[c] = (%s)v%u;\n", x->v, t, x->v);
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
static const char *independence(const gcut_loop_writer *w)
{
    const gcut_dim columns = w->l->u->loop.inner;
    const bool few = !w->l->u->loop.flat && !w->columns && gcut_dim_known(columns) && columns <= PEELED;
    for (uint32_t i = 0; i < w->l->n; i++)
        if (gcut_loop_is_bounded(&w->l->at[i])) return "";
    return few ? "GCUT_RT_APART_FEW " : "GCUT_RT_APART ";
}

/* From c0 to c1; the caller ends it. */
static void begin_strip(gcut_loop_writer *w, const column *c, const char *from, const char *to)
{
    W(w, "        for (int64_t c0 = %s; c0 < %s; c0 += %d) {\n", from, to, c->strip);
    W(w, "        const int64_t c1 = gcut_rt_min(c0 + %d, %s);\n", c->strip, to);
    for (uint32_t i = 0; i < w->l->n; i++)
        if (c->kept[i])
            W(w, "        %s w%u[%d];\n", gcut_c_type(w->l->at[i].dtype), w->l->at[i].v, c->strip);
    for (uint32_t i = 0; i < c->laid.n; i++) gcut_loop_lay_out(w, c->laid.at[i], c->strip, "c1 - c0");
    if (!c->prefetched.n) return;
    W(w, "        const int64_t ahead = gcut_rt_min(%d, %s - c1);\n", c->strip,
      w->l->u->loop.flat ? "E - first" : "C");
    for (uint32_t i = 0; i < c->prefetched.n; i++)
        W(w, "        gcut_rt_expect(a%u + c1, ahead * (int64_t)sizeof *a%u);\n", c->prefetched.at[i],
          c->prefetched.at[i]);
}

/* The loops of a phase whose results may go past the caches: whole lines of them, then the columns around. */
static void emit_lines(gcut_loop_writer *w, const column *c, int line)
{
    const int p = c->phase;
    const char *b = c->laid.n ? "g" : "c";
    gcut_loop_stream_bounds(w, p);
    W(w, "        for (int64_t c0 = h%d; c0 < e%d; c0 += %d) {\n", p, p, line);
    gcut_loop_stream_arrays(w, p);
    for (uint32_t i = 0; i < c->laid.n; i++)
        gcut_loop_lay_out(w, c->laid.at[i], line, gcut_printf(w->l->m->arena, "%d", line));
    W(w, "        GCUT_RT_APART_FEW for (int l = 0; l < %d; l++) {\n", line);
    W(w, "            const int64_t c = c0 + l;\n            (void)c;\n");
    w->lines = true;
    emit_column(w, c, 0);
    w->lines = false;
    W(w, "        }\n");
    gcut_loop_stream_lines(w, p);
    W(w, "        }\n        for (int64_t %s0 = 0, %s1 = h%d; %s0 < C; %s0 = %s1 < C ? e%d : C, %s1 = C) {\n",
      b, b, p, b, b, b, p, b);
    if (c->laid.n) begin_strip(w, c, "g0", "g1");
    W(w, "        GCUT_RT_APART for (int64_t c = c0; c < c1; c++) {\n");
    emit_column(w, c, 0);
    W(w, c->laid.n ? "        }\n        }\n        }\n" : "        }\n        }\n");
}

/* One loop over the columns from..to: of all, or of a strip. */
static void emit_part(gcut_loop_writer *w, const column *c, int part)
{
    bool lanes = false, strip = has_strips(c);
    const char *hint = independence(w), *b = strip ? "g" : "c0",
               *from = strip        ? "c0"
                       : w->columns ? "j0"
                                    : "0",
               *to = strip        ? "c1"
                     : w->columns ? "j1"
                                  : "C";
    for (uint32_t i = 0; i < w->l->n; i++)
        if (gcut_loop_sink(w->l, &w->l->at[i], c->phase) && part_of(w, c, &w->l->at[i]) == part)
            lanes = lanes || gcut_loop_in_lanes(w, &w->l->at[i]);
    gcut_text text = {.arena = w->l->m->arena}, *out = w->out;
    w->out = &text;
    emit_column(w, c, part);
    w->out = out;
    if (lanes) {
        bool whole = gcut_dim_known(w->l->u->loop.inner) && w->l->u->loop.inner % GCUT_LANES == 0 &&
                     !w->l->u->loop.flat;
        W(w, "        for (int64_t %s = %s; %s < %s; %s += %d) {\n", b, from, b, to, b, GCUT_LANES);
        if (!whole)
            W(w, "        const int n = %s - %s < %d ? (int)(%s - %s) : %d;\n", to, b, GCUT_LANES, to, b,
              GCUT_LANES);
        W(w, "        %sfor (int l = 0; l < %s; l++) {\n", hint,
          whole ? gcut_printf(w->l->m->arena, "%d", GCUT_LANES) : "n");
        if (uses_column(text.at)) W(w, "            const int64_t c = %s + l;\n", b);
    } else {
        W(w, "        %sfor (int64_t c = %s; c < %s; c++) {\n", hint, from, to);
    }
    gcut_text_addn(w->out, text.at, text.n);
    W(w, lanes ? "        }\n        }\n" : "        }\n");
}

/* Of rows that are constantly empty only the accumulators exist: an address in them would divide by 0. */
static void emit_no_columns(gcut_loop_writer *w, int p)
{
    for (uint32_t i = 0; i < w->l->n; i++)
        if (gcut_loop_sink(w->l, &w->l->at[i], p) && w->l->at[i].reduces &&
            w->l->at[i].level == GCUT_LEVEL_ROW)
            gcut_loop_declare_accumulator(w, &w->l->at[i], "        ");
}

void gcut_loop_phase(gcut_loop_writer *w, int p)
{
    if (w->l->u->loop.inner == 0) {
        emit_no_columns(w, p);
        return;
    }
    bool any = false;
    memset(w->have, 0, w->l->n * sizeof *w->have);
    for (uint32_t i = 0; i < w->l->n; i++) {
        gcut_loop_node *x = &w->l->at[i];
        if (!gcut_loop_sink(w->l, x, p)) continue;
        any = true;
        declare_reads(w, x, p);
        if (x->reduces && x->level == GCUT_LEVEL_ROW) gcut_loop_declare_accumulator(w, x, "        ");
    }
    if (!any) return;
    gcut_arena *a = gcut_arena_new(w->l->m->env, w->l->m->arena);
    column c = column_of(w, a, p);
    int line = gcut_loop_stream_line(w, p);
    GCUT_ASSERT(!line || c.parts == 1); /* no long function, and little of the rest */
    const bool strips = has_strips(&c) && !line;
    if (strips) begin_strip(w, &c, w->columns ? "j0" : "0", w->columns ? "j1" : "C");
    if (line) emit_lines(w, &c, line);
    for (int part = 0; part < c.parts && !line; part++) emit_part(w, &c, part);
    if (strips) W(w, "        }\n");
    gcut_arena_free(a);
}

/* Arithmetic on values of the row that phase p completed (p = -1: that need no phase). */
void gcut_loop_row_values(gcut_loop_writer *w, int p)
{
    for (uint32_t i = 0; i < w->l->n; i++) {
        gcut_loop_node *x = &w->l->at[i];
        if (x->phase != p || x->level != GCUT_LEVEL_ROW) continue;
        W(w, "%s", gcut_c_line(w->e, x->n->loc));
        if (x->reduces) {
            if (gcut_loop_in_array(w, x))
                gcut_loop_reduce_array(w, x);
            else if (gcut_loop_in_lanes(w, x))
                W(w, "        const %s v%u = %s;\n", gcut_c_type(x->dtype), x->v, gcut_loop_lanes_call(w, x));
            else
                W(w, "        const %s v%u = acc%u;\n", gcut_c_type(x->dtype), x->v, x->v);
        } else {
            W(w, "        const %s v%u = %s;\n", gcut_c_local(x->dtype), x->v, expression(w, x));
        }
        W(w, "%s", gcut_c_line(w->e, 0));
        if (gcut_loop_stored(w->l, x) != GCUT_NONE)
            W(w, "        %s[r] = (%s)v%u;\n", gcut_loop_pointer(w, x->v), gcut_c_type(x->dtype), x->v);
        else if (w->l->u->loop.inner == 0) /* no column reads it */
            W(w, "        (void)v%u;\n", x->v);
    }
}
