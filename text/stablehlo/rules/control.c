/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Conditionals and loops.  Regions of StableHLO read values around them, so captured values have their names inside.
 */
#include "text/stablehlo/writer.h"

/* What is written around a body. */
typedef struct around {
    const gcut_graph *g;
    const char **value;
    const gcut_node *n;
} around;

/* Goes on with region k of the node, whose parameters behind the first `given` are captured values. */
static around enter(gcut_hlo *w, uint32_t k, uint32_t given)
{
    const around out = {w->g, w->value, w->n};
    const gcut_graph *body = gcut_region_at(out.g, out.n, k)->body;
    gcut_hlo_name_values(w, body);
    for (uint32_t i = given; i < body->params.n; i++)
        w->value[body->params.at[i].value] =
            out.value[gcut_arg(out.g, out.n, gcut_region_operand(out.n, body, i))];
    w->depth++;
    return out;
}

static void leave(gcut_hlo *w, const around *out)
{
    w->g = out->g;
    w->value = out->value;
    w->n = out->n;
    w->depth--;
}

/* Lists of values and types, the items of two behind each other. */
typedef struct list {
    gcut_text values, types;
} list;

static list list_new(const gcut_hlo *w)
{
    return (list){{.arena = w->a}, {.arena = w->a}};
}

static void add(gcut_hlo *w, list *l, const char *value, const gcut_type *t)
{
    gcut_text_add(&l->values, "%s%s", l->values.n ? ", " : "", value);
    gcut_text_add(&l->types, "%s%s", l->types.n ? ", " : "", gcut_hlo_type(w, t));
}

static void put_return(gcut_hlo *w, const list *l)
{
    gcut_hlo_line(w, "stablehlo.return %s : %s", l->values.at, l->types.at);
}

/* "%a: tensor<f32>, …" for the arguments of a region. */
static void add_argument(gcut_hlo *w, gcut_text *s, const char *value, const gcut_type *t)
{
    gcut_text_add(s, "%s%s: %s", s->n ? ", " : "", value, gcut_hlo_type(w, t));
}

/* Results first.. of an operation that is called `name`. */
static void set_results(gcut_hlo *w, const char *name, uint32_t all, uint32_t first)
{
    for (uint32_t k = 0; k < w->n->nres; k++)
        gcut_hlo_set(w, k, all == 1 ? name : gcut_printf(w->a, "%s#%u", name, (unsigned)(first + k)));
}

/* "%name = " or "%name:2 = " */
static const char *definition(const gcut_hlo *w, const char *name, uint32_t n)
{
    return n == 1 ? name : gcut_printf(w->a, "%s:%u", name, (unsigned)n);
}

void gcut_hlo_if(gcut_hlo *w, const char *as)
{
    (void)as;
    const char *own = gcut_hlo_own(w, 0);
    gcut_hlo_line(w, "%s = \"stablehlo.if\"(%s) ({", definition(w, own, w->n->nres), gcut_hlo_operand(w, 0));
    for (uint32_t k = 0; k < 2; k++) {
        const around out = enter(w, k, 0);
        list l = list_new(w);
        gcut_hlo_write_nodes(w);
        for (uint32_t i = 0; i < w->g->results.n; i++) {
            const gcut_type t = gcut_hlo_type_of(w, w->g->results.at[i].value);
            add(w, &l, w->value[w->g->results.at[i].value], &t);
        }
        put_return(w, &l);
        leave(w, &out);
        gcut_hlo_line(w, k ? "}) : (tensor<i1>) -> (%s)" : "}, {", l.types.at);
    }
    set_results(w, own, w->n->nres, 0);
}

/* At most `bound` iterations are counted by a value of their own, the first one. */
void gcut_hlo_while(gcut_hlo *w, const char *as)
{
    (void)as;
    const uint32_t carries = w->n->nres;
    const gcut_attr *bound = gcut_attr_get(w->g, w->n, GCUT_KEY_bound);
    const gcut_type count = gcut_hlo_scalar_type(GCUT_I64), flag = gcut_hlo_scalar_type(GCUT_BOOL);
    const char *own = gcut_hlo_own(w, 0), *most = NULL;
    list in = list_new(w);
    if (bound) {
        const int64_t size = gcut_hlo_size(w, bound->u.dim);
        most = gcut_hlo_full(w, NULL, (gcut_num){true, size, (double)size}, &count);
        add(w, &in, gcut_hlo_number(w, 0, &count), &count);
    }
    for (uint32_t k = 0; k < carries; k++) {
        const gcut_type t = gcut_hlo_operand_type(w, k);
        add(w, &in, gcut_hlo_operand(w, k), &t);
    }
    gcut_hlo_line(w, "%s = \"stablehlo.while\"(%s) ({", definition(w, own, carries + (bound != NULL)),
                  in.values.at);
    for (uint32_t r = 0; r < 2; r++) {
        const around out = enter(w, r, carries);
        gcut_text arguments = {.arena = w->a};
        const char *i = bound ? gcut_hlo_fresh(w, "i") : NULL;
        list l = list_new(w);
        if (bound) add_argument(w, &arguments, i, &count);
        for (uint32_t k = 0; k < carries; k++) {
            const gcut_type t = gcut_hlo_type_of(w, w->g->params.at[k].value);
            add_argument(w, &arguments, w->value[w->g->params.at[k].value], &t);
        }
        w->depth--;
        gcut_hlo_line(w, "^bb0(%s):", arguments.at);
        w->depth++;
        gcut_hlo_write_nodes(w);
        if (r == 0) {
            const char *go = w->value[w->g->results.at[0].value];
            if (bound)
                go = gcut_hlo_binary(w, NULL, "stablehlo.and", go,
                                     gcut_hlo_compare(w, NULL, "LT", i, most, &count), &flag);
            add(w, &l, go, &flag);
        } else {
            if (bound)
                add(w, &l,
                    gcut_hlo_binary(w, NULL, "stablehlo.add", i, gcut_hlo_number(w, 1, &count), &count),
                    &count);
            for (uint32_t k = 0; k < carries; k++) {
                const gcut_type t = gcut_hlo_type_of(w, w->g->results.at[k].value);
                add(w, &l, w->value[w->g->results.at[k].value], &t);
            }
        }
        put_return(w, &l);
        leave(w, &out);
        if (r == 0) gcut_hlo_line(w, "}, {");
    }
    gcut_hlo_line(w, "}) : (%s) -> (%s)", in.types.at, in.types.at);
    set_results(w, own, carries + (bound != NULL), bound != NULL);
}

/* ---- scan ---- */

/* "%zero, %i, %zero": the first element of iteration i of a value with `rank` axes. */
static const char *start(const gcut_hlo *w, const char *zero, const char *i, uint32_t rank, int64_t axis)
{
    gcut_text s = {.arena = w->a};
    for (uint32_t d = 0; d < rank; d++) gcut_text_add(&s, ", %s", d == axis ? i : zero);
    return s.at;
}

static const char *index_types(const gcut_hlo *w, uint32_t rank)
{
    gcut_text s = {.arena = w->a};
    for (uint32_t d = 0; d < rank; d++) gcut_text_add(&s, ", tensor<i64>");
    return s.at;
}

/* The type of a value of the graph around. */
static gcut_type type_around(gcut_hlo *w, const around *out, gcut_ref v)
{
    const gcut_graph *body = w->g;
    w->g = out->g;
    const gcut_type t = gcut_hlo_type_of(w, v);
    w->g = body;
    return t;
}

static gcut_type one_along(gcut_type t, int64_t axis)
{
    t.dim[axis] = 1;
    return t;
}

/* A `while` over the number of the iteration, the carried values and what iterations yield, which begins as 0. */
void gcut_hlo_scan(gcut_hlo *w, const char *as)
{
    (void)as;
    const gcut_node *n = w->n;
    const uint32_t given = n->nargs - n->ncaptured, carries = gcut_node_carries(w->g, n), all = 1u + n->nres;
    const int64_t axis = gcut_hlo_axis(w), length = gcut_hlo_size(w, gcut_scan_length(w->g, n));
    const gcut_type count = gcut_hlo_scalar_type(GCUT_I64);
    const char *own = gcut_hlo_own(w, 0), *zero = gcut_hlo_number(w, 0, &count),
               *one = gcut_hlo_number(w, 1, &count),
               *end = gcut_hlo_full(w, NULL, (gcut_num){true, length, (double)length}, &count),
               *last = gcut_hlo_binary(w, NULL, "stablehlo.subtract", end, one, &count);
    list in = list_new(w);
    gcut_text tested = {.arena = w->a}, arguments = {.arena = w->a};
    const char *i = gcut_hlo_fresh(w, "i"), *at = i, **stack = gcut_calloc(w->a, n->nres + 1u, sizeof *stack);
    add(w, &in, zero, &count);
    add_argument(w, &tested, i, &count);
    for (uint32_t k = 0; k < n->nres; k++) {
        const gcut_type t = gcut_hlo_result_type(w, k);
        add(w, &in, k < carries ? gcut_hlo_operand(w, k) : gcut_hlo_number(w, 0, &t), &t);
        add_argument(w, &tested, gcut_hlo_fresh(w, "x"), &t);
    }
    gcut_hlo_line(w, "%s = \"stablehlo.while\"(%s) ({", definition(w, own, all), in.values.at);
    gcut_hlo_line(w, "^bb0(%s):", tested.at);
    w->depth++;
    gcut_hlo_line(w, "stablehlo.return %s : tensor<i1>", gcut_hlo_compare(w, NULL, "LT", i, end, &count));
    w->depth--;
    gcut_hlo_line(w, "}, {");
    const around out = enter(w, 0, given);
    i = gcut_hlo_fresh(w, "i");
    add_argument(w, &arguments, i, &count);
    for (uint32_t k = 0; k < carries; k++) {
        const gcut_type t = gcut_hlo_type_of(w, w->g->params.at[k].value);
        add_argument(w, &arguments, w->value[w->g->params.at[k].value], &t);
    }
    for (uint32_t k = carries; k < n->nres; k++) {
        const gcut_ref v = n->res0 + k;
        stack[k] = gcut_hlo_fresh(w, out.g->values.at[v].name);
        const gcut_type t = type_around(w, &out, v);
        add_argument(w, &arguments, stack[k], &t);
    }
    w->depth--;
    gcut_hlo_line(w, "^bb0(%s):", arguments.at);
    w->depth++;
    at = gcut_attr_flag(out.g, n, GCUT_KEY_reverse)
             ? gcut_hlo_binary(w, NULL, "stablehlo.subtract", last, i, &count)
             : i;
    for (uint32_t k = carries; k < given; k++) {
        const gcut_ref v = w->g->params.at[k].value, x = gcut_arg(out.g, n, k);
        const gcut_type to = gcut_hlo_type_of(w, v), t = type_around(w, &out, x), part = one_along(t, axis);
        const char *sliced =
            gcut_hlo_let(w, NULL, "stablehlo.dynamic_slice %s%s, sizes = [%s] : (%s%s) -> %s", out.value[x],
                         start(w, zero, at, t.rank, axis), gcut_hlo_list(w, part.dim, part.rank),
                         gcut_hlo_type(w, &t), index_types(w, t.rank), gcut_hlo_type(w, &part));
        gcut_hlo_reshape(w, w->value[v], sliced, &part, &to);
    }
    gcut_hlo_write_nodes(w);
    list l = list_new(w);
    add(w, &l, gcut_hlo_binary(w, NULL, "stablehlo.add", i, one, &count), &count);
    for (uint32_t k = 0; k < n->nres; k++) {
        const gcut_ref v = w->g->results.at[k].value;
        const gcut_type y = gcut_hlo_type_of(w, v);
        gcut_type t = y;
        const char *value = w->value[v];
        if (k >= carries) {
            t = type_around(w, &out, n->res0 + k);
            const gcut_type part = one_along(t, axis);
            value = gcut_hlo_reshape(w, NULL, value, &y, &part);
            value = gcut_hlo_let(w, NULL, "stablehlo.dynamic_update_slice %s, %s%s : (%s, %s%s) -> %s",
                                 stack[k], value, start(w, zero, at, t.rank, axis), gcut_hlo_type(w, &t),
                                 gcut_hlo_type(w, &part), index_types(w, t.rank), gcut_hlo_type(w, &t));
        }
        add(w, &l, value, &t);
    }
    put_return(w, &l);
    leave(w, &out);
    gcut_hlo_line(w, "}) : (%s) -> (%s)", in.types.at, in.types.at);
    set_results(w, own, all, 1);
}
