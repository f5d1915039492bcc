/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Widen: f16 and bf16 are dtypes of storage.  What computes reads them as f32
 * and computes in f32, and each of its results is rounded once, to the dtype
 * that the graph states; so a value that is computed again has the bits of the
 * one that was not saved.  What only moves elements stays as it is.
 *
 * A value is widened twice at most: once for the readers that are loops, which
 * convert as they load, and once for those that read memory (a product), which
 * need f32 there.
 *
 * in: a graph.   out: the same values; f16 and bf16 only in casts, constants and
 * what moves data.   keeps: names, marks and locations.
 */
#include "graph/rewrite.h"
#include "machine/program.h"

enum { LOOPS, MEMORY, NREADERS };

typedef struct widener {
    gcut_rewrite rw;
    gcut_arena *scratch;
    gcut_ref *wide[NREADERS]; /* by value of the source: its f32 form in the result, 0 = none yet */
    bool *read;               /* by value of the source: something of it is a reader */
} widener;

static gcut_emit emit_of(const gcut_node *n)
{
    return gcut_op_get((gcut_op)n->op)->emit;
}

/* Not where elements are only copied, where the node is a conversion already, or where others compute: the
 * bodies of regions are widened by themselves. */
bool gcut_widens(gcut_emit e)
{
    switch (e) {
    case GCUT_EMIT_CAST:
    case GCUT_EMIT_VIEW:
    case GCUT_EMIT_CONST:
    case GCUT_EMIT_PAD:
    case GCUT_EMIT_CONCAT:
    case GCUT_EMIT_FLIP:
    case GCUT_EMIT_TAKE:
    case GCUT_EMIT_PACK:
    case GCUT_EMIT_UNPACK:
    case GCUT_EMIT_EXTERNAL:
    case GCUT_EMIT_REGION:
    case GCUT_EMIT_EXPAND: return false;
    default: return true;
    }
}

static bool is_half(const gcut_graph *g, gcut_ref v)
{
    return gcut_dtype_is_16bit_float(gcut_type_of(g, v)->dtype);
}

static bool touches_half(const gcut_graph *g, const gcut_node *n)
{
    for (uint32_t k = 0; k < n->nargs; k++)
        if (is_half(g, gcut_arg(g, n, k))) return true;
    for (uint32_t k = 0; k < n->nres; k++)
        if (is_half(g, n->res0 + k)) return true;
    return false;
}

static const char *named(const widener *w, const char *base, const char *suffix)
{
    return gcut_printf(w->scratch, "%s.%s", base, suffix);
}

/* A constant is rounded here, once and for all. */
static gcut_ref wide_constant(widener *w, gcut_ref v, const char *name)
{
    gcut_graph *dst = w->rw.dst;
    gcut_type t = *gcut_type_of(dst, v);
    const gcut_node *n = gcut_def(dst, v);
    const gcut_attr *value = gcut_attr_get(dst, n, GCUT_KEY_value);
    gcut_attr a[] = {gcut_attr_dims(dst->module, GCUT_KEY_shape, t.dim, t.rank),
                     gcut_attr_real(GCUT_KEY_value, gcut_round_to(value->u.num.f, t.dtype)),
                     gcut_attr_str(dst->module, GCUT_KEY_dtype, gcut_dtype_name(GCUT_F32))};
    return gcut_node_new(dst, (gcut_op)n->op, NULL, 0, a, 3, n->loc, name);
}

static gcut_ref cast(widener *w, gcut_ref v, gcut_dtype to, gcut_locid loc, const char *name)
{
    gcut_attr a = gcut_attr_str(w->rw.dst->module, GCUT_KEY_to, gcut_dtype_name(to));
    return gcut_node_new(w->rw.dst, GCUT_OP_cast, &v, 1, &a, 1, loc, name);
}

/* Value v of the source in f32. */
static gcut_ref widened(widener *w, gcut_ref v, int reader, gcut_locid loc)
{
    gcut_ref *out = &w->wide[reader][v], x = w->rw.map[v];
    if (*out) return *out;
    const gcut_node *def = gcut_def(w->rw.dst, x);
    const char *name = named(w, w->rw.src->values.at[v].name, "f32");
    if (def && emit_of(def) == GCUT_EMIT_CONST)
        *out = wide_constant(w, x, name);
    else
        *out = cast(w, x, GCUT_F32, loc, name);
    return *out;
}

/* The node's attributes, computing in `to` where they state a 16-bit float. */
static gcut_attr *attributes(const widener *w, const gcut_node *n, gcut_dtype to)
{
    const gcut_graph *g = w->rw.src;
    gcut_attr *a = gcut_calloc(w->scratch, n->nattrs + 1, sizeof *a);
    for (uint32_t k = 0; k < n->nattrs; k++) {
        gcut_dtype t;
        a[k] = g->attrs.at[n->attr0 + k];
        if (a[k].key == GCUT_KEY_dtype && gcut_dtype_parse(a[k].u.str, &t) && gcut_dtype_is_16bit_float(t))
            a[k] = gcut_attr_str(w->rw.dst->module, GCUT_KEY_dtype, gcut_dtype_name(to));
    }
    return a;
}

/* Marks are about the value, so they go to the node that makes it; but for the one that is about the kernel
 * of r. */
static void carry_marks(widener *w, const gcut_node *n, gcut_ref r)
{
    gcut_graph *dst = w->rw.dst;
    const gcut_marks marks = gcut_marks_carry(dst, w->rw.src, &n->marks, w->rw.map);
    for (uint32_t i = 0; i < marks.n; i++) {
        const bool of_kernel = marks.at[i].name == GCUT_MARK_less_workspace;
        const gcut_ref v = of_kernel ? r : w->rw.map[n->res0];
        gcut_mark_add(dst->module->arena, &dst->nodes.at[dst->values.at[v].def].marks, marks.at[i]);
    }
}

/* Node i in f32 (an index ramp in i64), and casts of its results to what they were.  A result that nobody
 * reads gets none: the cast would be a reader, for which the kernel would write what it may leave out. */
static void compute_wide(widener *w, uint32_t i)
{
    const gcut_graph *g = w->rw.src;
    const gcut_node *n = gcut_node_at(g, i);
    gcut_emit e = emit_of(n);
    int reader = e == GCUT_EMIT_POINT || e == GCUT_EMIT_REDUCE ? LOOPS : MEMORY;
    gcut_ref *args = gcut_calloc(w->scratch, n->nargs + 1, sizeof *args);
    for (uint32_t k = 0; k < n->nargs; k++) {
        gcut_ref v = gcut_arg(g, n, k);
        args[k] = is_half(g, v) ? widened(w, v, reader, n->loc) : w->rw.map[v];
    }
    const gcut_attr *attrs = attributes(w, n, e == GCUT_EMIT_IOTA ? GCUT_I64 : GCUT_F32);
    const char *name = g->values.at[n->res0].name;
    bool same = true;
    for (uint32_t k = 0; k < n->nres; k++) same = same && !is_half(g, n->res0 + k);
    gcut_ref r = gcut_node_new(w->rw.dst, (gcut_op)n->op, args, n->nargs, attrs, n->nattrs, n->loc,
                               same ? name : named(w, name, gcut_op_get((gcut_op)n->op)->name));
    for (uint32_t k = 0; k < n->nres; k++) {
        const gcut_value *v = &g->values.at[n->res0 + k];
        bool rounded = w->read[n->res0 + k] && gcut_dtype_is_16bit_float(v->type->dtype);
        w->rw.map[n->res0 + k] = rounded ? cast(w, r + k, v->type->dtype, n->loc, v->name) : r + k;
    }
    carry_marks(w, n, r);
}

static bool *read_values(const gcut_graph *g, gcut_arena *a)
{
    bool *read = gcut_calloc(a, g->values.n, sizeof *read);
    for (uint32_t i = 0; i < g->args.n; i++) read[g->args.at[i]] = true;
    for (uint32_t i = 0; i < g->results.n; i++) read[g->results.at[i].value] = true;
    return read;
}

gcut_graph *gcut_pass_widen(gcut_graph *g, const char *name)
{
    gcut_arena *a = gcut_arena_new(g->module->env, g->module->arena);
    widener w = {.rw = gcut_rewrite_begin(g, name), .scratch = a};
    w.rw.pass = gcut_pass_widen;
    w.read = read_values(g, a);
    for (int k = 0; k < NREADERS; k++) w.wide[k] = gcut_calloc(a, g->values.n, sizeof *w.wide[k]);
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const gcut_node *n = gcut_node_at(g, i);
        if (!gcut_widens(emit_of(n)) || !touches_half(g, n))
            gcut_rewrite_copy(&w.rw, i);
        else
            compute_wide(&w, i);
    }
    gcut_graph *out = gcut_rewrite_end(&w.rw);
    gcut_arena_free(a);
    return out;
}
