/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How the members of a loop kernel read their operands: addresses over symbolic
 * sizes, and the declarations that stand before the column loop.
 */
#include <string.h>

#include "kernels/emit/emit_loop.h"

#define W(w, ...) gcut_text_add((w)->out, __VA_ARGS__)

/* at / below % size */
static const char *coordinate(const gcut_loop_writer *w, const char *at, gcut_dim below, bool top,
                              gcut_dim size)
{
    gcut_arena *a = w->l->m->arena;
    if (below != 1) at = gcut_printf(a, "gcut_rt_quotient(%s, %s)", at, gcut_c_divisor(w->l->m, below));
    if (top) return at;
    return gcut_printf(a, "gcut_rt_remainder(%s, %s)", at, gcut_c_divisor(w->l->m, size));
}

/* The last axes of begin..end of v, end > begin, that are one axis: the first of them, its size and its stride. */
static uint32_t last_axis(const gcut_loop_writer *w, gcut_ref v, uint32_t begin, uint32_t end, gcut_dim *size,
                          gcut_dim *stride)
{
    const gcut_type *t = gcut_type_of(w->l->g, v);
    uint32_t from = end;
    gcut_dim n, k;
    while (from > begin && gcut_view_collapse(w->l->m, t, &w->l->h->view[v], from - 1, end, &n, &k))
        from--, *size = n, *stride = k;
    return from;
}

/* The address of element number `at` (a C expression) of axes begin..end of v, taken row-major. */
static const char *address(const gcut_loop_writer *w, gcut_ref v, uint32_t begin, uint32_t end,
                           const char *at)
{
    const gcut_type *t = gcut_type_of(w->l->g, v);
    gcut_text s = {.arena = w->l->m->arena};
    gcut_dim below = 1;
    while (end > begin) {
        gcut_dim size = 1, stride = 0;
        const uint32_t from = last_axis(w, v, begin, end, &size, &stride);
        bool top = true;
        for (uint32_t d = begin; d < from; d++) top = top && t->dim[d] == 1;
        if (stride != 0 && size != 1) {
            const char *q = coordinate(w, at, below, top, size);
            gcut_text_add(&s, "%s(%s)%s%s", s.n ? " + " : "", q, stride == 1 ? "" : " * ",
                          stride == 1 ? ""
                                      : gcut_printf(w->l->m->arena, "(%s)", gcut_c_size(w->l->m, stride)));
        }
        below = gcut_dim_times(w->l->m, below, size);
        end = from;
    }
    return s.n ? s.at : "0";
}

/* What stands before the column loop for an operand that is read element by element. */
typedef struct lane {
    const char *stride; /* NULL: not even, the elements are laid out a strip at a time */
    bool zero, one;
} lane;

static lane lane_of(const gcut_loop_writer *w, gcut_ref v)
{
    const gcut_type *t = gcut_type_of(w->l->g, v);
    const gcut_view *view = &w->l->h->view[v];
    gcut_dim size, stride;
    uint32_t split = w->l->u->loop.flat ? 0 : gcut_view_split(w->l->m, t, w->l->u->loop.inner);
    if (split > t->rank || !gcut_view_collapse(w->l->m, t, view, split, t->rank, &size, &stride))
        return (lane){0};
    return (lane){gcut_c_kept(w->l->m, stride), stride == 0, stride == 1};
}

/* The offset of the first element of v in a row, or of the flat row's first element. */
static const char *offset_in(const gcut_loop_writer *w, gcut_ref v, const lane *s, const char *row)
{
    const gcut_type *t = gcut_type_of(w->l->g, v);
    const char *off = gcut_c_offset(w->l->m, w->l->h->view[v].offset);
    if (w->l->u->loop.flat) return gcut_printf(w->l->m->arena, "%s + first * (%s)", off, s->stride);
    return gcut_printf(w->l->m->arena, "%s + %s", off,
                       address(w, v, 0, gcut_view_split(w->l->m, t, w->l->u->loop.inner), row));
}

static const char *row_offset(const gcut_loop_writer *w, gcut_ref v, const lane *s)
{
    return offset_in(w, v, s, "r");
}

/* What is read for a packing are short parts of rows, which a processor does not see coming: the next row is
 * asked for while this one is computed. */
static void expect_next(const gcut_loop_writer *w, gcut_ref v, const lane *s)
{
    const char *next = offset_in(w, v, s, "(r + 1)");
    if (!w->l->prologue || !s->one || !strcmp(next, row_offset(w, v, s))) return;
    const char *p = gcut_loop_pointer(w, w->l->h->view[v].root);
    W(w, "        if (r + 1 < %s) gcut_rt_expect(&%s[%s + j0], (j1 - j0) * (int64_t)sizeof *%s);\n",
      gcut_c_named(w->l->m, "rows", w->l->u->loop.rows), p, next, p);
}

const char *gcut_loop_store_at(const gcut_loop_writer *w, gcut_ref v)
{
    if (gcut_view_identity(w->l->g, gcut_type_of(w->l->g, v), &w->l->h->view[v]))
        return w->l->u->loop.flat ? "first" : "r * C";
    lane s = lane_of(w, v);
    return row_offset(w, v, &s);
}

/* ---- operands ---- */

static bool is_numbered(const gcut_loop_writer *w, uint32_t buffer)
{
    const uint32_t k = w->number[buffer];
    return k < w->numbered.n && w->numbered.at[k] == buffer;
}

const char *gcut_loop_buffer(gcut_loop_writer *w, uint32_t buffer)
{
    if (!is_numbered(w, buffer)) {
        w->number[buffer] = w->numbered.n;
        *GCUT_PUSH(w->l->m->arena, &w->numbered) = buffer;
    }
    return gcut_printf(w->l->m->arena, "p%u", w->number[buffer]);
}

const char *gcut_loop_pointer(const gcut_loop_writer *w, gcut_ref root)
{
    const uint32_t buffer = w->l->h->buffer[root];
    GCUT_ASSERT(is_numbered(w, buffer));
    return gcut_printf(w->l->m->arena, "p%u", w->number[buffer]);
}

/* Element e, a C expression, of the storage of v. */
static const char *element(const gcut_loop_writer *w, gcut_ref v, const char *e)
{
    const gcut_ref root = w->l->h->view[v].root;
    if (gcut_root_is_iota(w->l->h, root))
        return gcut_printf(w->l->m->arena, "(%s)(%s)", gcut_c_type(gcut_type_of(w->l->g, v)->dtype), e);
    const char *p = gcut_loop_pointer(w, root);
    return gcut_printf(w->l->m->arena, w->l->h->view[v].bits ? "gcut_rt_bit(%s, %s)" : "%s[%s]", p, e);
}

/* Bits side by side are unpacked before the loop over the columns, so that it vectorises: for a whole row where it
 * is known to be short, else for a strip of its columns (emit_phase.c).  Others are read one at a time, at a<v> and
 * the column.  What does not step evenly along the columns is laid out a strip at a time, too: copied stretch by
 * stretch of its last axis. */
static bool unpacks_row(const gcut_loop_writer *w)
{
    return w->l->u->loop.flat || (gcut_dim_known(w->l->u->loop.inner) && w->l->u->loop.inner <= GCUT_CHUNK);
}

bool gcut_loop_lays_out(const gcut_loop_writer *w, gcut_ref v)
{
    const lane s = lane_of(w, v);
    return !s.stride || (w->l->h->view[v].bits && s.one && !unpacks_row(w));
}

void gcut_loop_lay_out(const gcut_loop_writer *w, gcut_ref v, int columns, const char *n)
{
    gcut_module *m = w->l->m;
    const gcut_ref root = w->l->h->view[v].root;
    W(w, "        %s w%u[%d];\n", gcut_c_type(gcut_type_of(w->l->g, root)->dtype), v, columns);
    if (lane_of(w, v).stride) {
        W(w, "        gcut_rt_bits(%s, a%u + c0, %s, w%u);\n", gcut_loop_pointer(w, root), v, n, v);
        return;
    }
    gcut_dim size = 1, stride = 0;
    const uint32_t last = last_axis(w, v, 0, gcut_type_of(w->l->g, v)->rank, &size, &stride);
    const char *length = gcut_c_named(m, "stretch", size), *step = gcut_c_kept(m, stride);
    W(w, "        for (int64_t i = 0, end; i < %s; i = end) {\n", n);
    W(w,
      "            const int64_t at = %s + c0 + i, row = gcut_rt_quotient(at, %s), gone = at - row * (%s);\n",
      w->l->u->loop.flat ? "first" : "r * C", gcut_c_divisor(m, size), length);
    W(w, "            const int64_t e = %s + %s + (gone - i) * (%s);\n",
      gcut_c_offset(m, w->l->h->view[v].offset), address(w, v, 0, last, "row"), step);
    W(w, "            end = gcut_rt_min(%s, i + (%s) - gone);\n", n, length);
    W(w, "            for (int64_t c = i; c < end; c++) w%u[c] = %s;\n        }\n", v,
      element(w, v, gcut_printf(m->arena, "e + c * (%s)", step)));
}

static void declare_bits(const gcut_loop_writer *w, gcut_ref v, const lane *s)
{
    const char *p = gcut_loop_pointer(w, w->l->h->view[v].root), *off = row_offset(w, v, s);
    if (s->zero)
        W(w, "        const int a%u = gcut_rt_bit(%s, %s);\n", v, p, off);
    else if (s->one && unpacks_row(w))
        W(w,
          w->columns ? "        uint8_t a%u[%lld];\n        gcut_rt_bits(%s, %s + j0, j1 - j0, a%u + j0);\n"
                     : "        uint8_t a%u[%lld];\n        gcut_rt_bits(%s, %s, C, a%u);\n",
          v, w->l->u->loop.flat ? (long long)GCUT_CHUNK : (long long)w->l->u->loop.inner, p, off, v);
    else
        W(w, "        const int64_t a%u = %s;\n", v, off);
}

void gcut_loop_declare(const gcut_loop_writer *w, gcut_ref v, bool iota)
{
    lane s = lane_of(w, v);
    gcut_ref root = w->l->h->view[v].root;
    gcut_dtype t = gcut_type_of(w->l->g, root)->dtype; /* as stored */
    if (!s.stride) return;
    if (iota)
        W(w, "        const %s a%u = (%s)(%s);\n", gcut_c_type(t), v, gcut_c_type(t), row_offset(w, v, &s));
    else if (w->l->h->view[v].bits)
        declare_bits(w, v, &s);
    else if (s.zero)
        W(w, "        const %s a%u = %s[%s];\n", gcut_c_local(t), v, gcut_loop_pointer(w, root),
          row_offset(w, v, &s));
    else {
        W(w, "        const %s *const a%u = %s + (%s);\n", gcut_c_type(t), v, gcut_loop_pointer(w, root),
          row_offset(w, v, &s));
        expect_next(w, v, &s);
    }
}

static const char *lane_read(const gcut_loop_writer *w, gcut_ref v, bool iota)
{
    lane s = lane_of(w, v);
    gcut_arena *a = w->l->m->arena;
    if (gcut_loop_lays_out(w, v)) return gcut_printf(a, "w%u[c - c0]", v);
    if (s.zero) return gcut_printf(a, "a%u", v);
    if (iota)
        return gcut_printf(a, "(a%u + (%s)(c%s%s))", v, gcut_c_type(gcut_type_of(w->l->g, v)->dtype),
                           s.one ? "" : " * ", s.one ? "" : s.stride);
    if (w->l->h->view[v].bits && !s.one) return element(w, v, gcut_printf(a, "a%u + c * (%s)", v, s.stride));
    return s.one ? gcut_printf(a, "a%u[c]", v) : gcut_printf(a, "a%u[c * (%s)]", v, s.stride);
}

/* A value with one element per row, read from memory or computed from the row number. */
static const char *row_read(const gcut_loop_writer *w, gcut_ref v)
{
    const gcut_type *t = gcut_type_of(w->l->g, v);
    const char *e = gcut_printf(w->l->m->arena, "%s + %s", gcut_c_offset(w->l->m, w->l->h->view[v].offset),
                                address(w, v, 0, t->rank, "r"));
    return element(w, v, e);
}

/* The value as it is stored, or as another member holds it. */
static const char *stored(const gcut_loop_writer *w, const gcut_loop_node *user, gcut_ref v)
{
    bool row = user->level == GCUT_LEVEL_ROW && !user->reduces;
    gcut_access a = gcut_loop_access(w->l, user, v);
    gcut_dtype t = gcut_type_of(w->l->g, v)->dtype;
    switch (a) {
    case GCUT_ACCESS_CONST:
        return gcut_printf(w->l->m->arena, "(%s)(%s)", gcut_c_local(t),
                           gcut_c_const(w->l->g, w->l->h->view[v].root));
    case GCUT_ACCESS_FULL:
    case GCUT_ACCESS_ROW: return gcut_printf(w->l->m->arena, "v%u", w->l->h->view[v].root);
    case GCUT_ACCESS_IOTA:
    case GCUT_ACCESS_LOAD: return row ? row_read(w, v) : lane_read(w, v, a == GCUT_ACCESS_IOTA);
    case GCUT_ACCESS_BLOCKED: break;
    }
    GCUT_NEVER("a member reads what its kernel cannot give");
    return "";
}

bool gcut_loop_steps_by_one(const gcut_loop_writer *w, gcut_ref v)
{
    return lane_of(w, v).one && !w->l->h->view[v].bits;
}

const char *gcut_loop_operand(const gcut_loop_writer *w, const gcut_loop_node *user, gcut_ref v)
{
    const gcut_view *view = &w->l->h->view[v];
    const char *e = stored(w, user, v);
    if (!view->widens) return e;
    return gcut_printf(w->l->m->arena, "gcut_from_%s(%s)",
                       gcut_dtype_name(gcut_type_of(w->l->g, view->root)->dtype), e);
}
