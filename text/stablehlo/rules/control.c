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

/* Makes region k of the node the graph that is written; its parameters after the first `given` are captured values. */
static around enter(gcut_hlo *w, uint32_t k, uint32_t given)
{
    const around out = {w->g, w->value, w->n};
    const gcut_graph *body = gcut_region_at(out.g, out.n, k)->body;
    gcut_hlo_name_values(w, body);
    for (uint32_t i = given; i < body->params.n; i++)
        w->value[body->params.at[i].value] =
            out.value[gcut_arg(out.g, out.n, gcut_region_operand(out.n, body, i))];
    return out;
}

/* Ends the block of the body, too. */
static void leave(gcut_hlo *w, const around *out)
{
    w->g = out->g;
    w->value = out->value;
    w->n = out->n;
    w->depth--;
}

/* Values and their types, separated by commas. */
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

/* Result k of the body that is written. */
static void add_result(gcut_hlo *w, list *l, uint32_t k)
{
    const gcut_ref v = w->g->results.at[k].value;
    const gcut_type t = gcut_hlo_type_of(w, v);
    add(w, l, w->value[v], &t);
}

static void put_return(gcut_hlo *w, const list *l)
{
    gcut_hlo_line(w, "stablehlo.return %s : %s", l->values.at, l->types.at);
}

/* An argument of a block: "%a: tensor<f32>". */
static void add_argument(gcut_hlo *w, gcut_text *s, const char *value, const gcut_type *t)
{
    gcut_text_add(s, "%s%s: %s", s->n ? ", " : "", value, gcut_hlo_type(w, t));
}

/* The first n parameters of the body that is written. */
static void add_params(gcut_hlo *w, gcut_text *s, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++) {
        const gcut_ref v = w->g->params.at[k].value;
        const gcut_type t = gcut_hlo_type_of(w, v);
        add_argument(w, s, w->value[v], &t);
    }
}

/* The results of the node are those of an operation called `name` from `first` on, of which there are `all`. */
static void set_results(gcut_hlo *w, const char *name, uint32_t all, uint32_t first)
{
    for (uint32_t k = 0; k < w->n->nres; k++)
        gcut_hlo_set(w, k, all == 1 ? name : gcut_printf(w->a, "%s#%u", name, (unsigned)(first + k)));
}

/* How an operation with n results is named: "%name", or "%name:2". */
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
        w->depth++;
        gcut_hlo_write_nodes(w);
        for (uint32_t i = 0; i < w->g->results.n; i++) add_result(w, &l, i);
        put_return(w, &l);
        leave(w, &out);
        gcut_hlo_line(w, k ? "}) : (tensor<i1>) -> (%s)" : "}, {", l.types.at);
    }
    set_results(w, own, w->n->nres, 0);
}

/* Where there is a bound, the first carried value counts the iterations. */
void gcut_hlo_while(gcut_hlo *w, const char *as)
{
    (void)as;
    const gcut_attr *bound = gcut_attr_get(w->g, w->n, GCUT_KEY_bound);
    const uint32_t carries = w->n->nres, counted = bound != NULL;
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
    gcut_hlo_line(w, "%s = \"stablehlo.while\"(%s) ({", definition(w, own, carries + counted), in.values.at);
    for (uint32_t r = 0; r < 2; r++) {
        const around out = enter(w, r, carries);
        gcut_text arguments = {.arena = w->a};
        const char *i = bound ? gcut_hlo_fresh(w, "i") : NULL;
        list l = list_new(w);
        if (bound) add_argument(w, &arguments, i, &count);
        add_params(w, &arguments, carries);
        gcut_hlo_block(w, arguments.at);
        gcut_hlo_write_nodes(w);
        if (r == 0 && bound) {
            const char *left = gcut_hlo_compare(w, NULL, "LT", i, most, &count),
                       *go = w->value[w->g->results.at[0].value];
            add(w, &l, gcut_hlo_binary(w, NULL, "stablehlo.and", go, left, &flag), &flag);
        } else {
            if (bound) {
                const char *one = gcut_hlo_number(w, 1, &count);
                add(w, &l, gcut_hlo_binary(w, NULL, "stablehlo.add", i, one, &count), &count);
            }
            for (uint32_t k = 0; k < w->g->results.n; k++) add_result(w, &l, k);
        }
        put_return(w, &l);
        leave(w, &out);
        gcut_hlo_line(w, r ? "}) : (%s) -> (%s)" : "}, {", in.types.at, in.types.at);
    }
    set_results(w, own, carries + counted, counted);
}

/* ---- scan ---- */

/* The iteration that is written. */
typedef struct iteration {
    const around *out;
    int64_t axis;
    const char *zero, *at; /* 0, and where its elements are along the axis */
} iteration;

/* The type of a value of the graph around. */
static gcut_type type_around(gcut_hlo *w, const around *out, gcut_ref v)
{
    const gcut_graph *body = w->g;
    w->g = out->g;
    const gcut_type t = gcut_hlo_type_of(w, v);
    w->g = body;
    return t;
}

/* The places of the first element of the iteration along all axes, and their types. */
static list start(gcut_hlo *w, const iteration *it, uint32_t rank)
{
    const gcut_type index = gcut_hlo_scalar_type(GCUT_I64);
    list l = list_new(w);
    for (uint32_t d = 0; d < rank; d++) add(w, &l, d == it->axis ? it->at : it->zero, &index);
    return l;
}

static gcut_type one_along(gcut_type t, int64_t axis)
{
    t.dim[axis] = 1;
    return t;
}

/* The slice of operand k, as the parameter of the body. */
static void put_slice(gcut_hlo *w, const iteration *it, const gcut_node *n, uint32_t k)
{
    const gcut_ref v = w->g->params.at[k].value, x = gcut_arg(it->out->g, n, k);
    const gcut_type to = gcut_hlo_type_of(w, v), t = type_around(w, it->out, x),
                    part = one_along(t, it->axis);
    const list at = start(w, it, t.rank);
    const char *sliced =
        gcut_hlo_let(w, NULL, "stablehlo.dynamic_slice %s, %s, sizes = [%s] : (%s, %s) -> %s",
                     it->out->value[x], at.values.at, gcut_hlo_list(w, part.dim, part.rank),
                     gcut_hlo_type(w, &t), at.types.at, gcut_hlo_type(w, &part));
    gcut_hlo_reshape(w, w->value[v], sliced, &part, &to);
}

/* `stack`, of what iterations yield, with result k of the body in its place. */
static void add_stacked(gcut_hlo *w, list *l, const iteration *it, const gcut_node *n, uint32_t k,
                        const char *stack)
{
    const gcut_ref v = w->g->results.at[k].value;
    const gcut_type y = gcut_hlo_type_of(w, v), t = type_around(w, it->out, n->res0 + k),
                    part = one_along(t, it->axis);
    const list at = start(w, it, t.rank);
    const char *x = gcut_hlo_reshape(w, NULL, w->value[v], &y, &part), *type = gcut_hlo_type(w, &t);
    x = gcut_hlo_let(w, NULL, "stablehlo.dynamic_update_slice %s, %s, %s : (%s, %s, %s) -> %s", stack, x,
                     at.values.at, type, gcut_hlo_type(w, &part), at.types.at, type);
    add(w, l, x, &t);
}

/* A `while` over the number of the iteration, the carried values and what iterations yield, which begins as 0. */
void gcut_hlo_scan(gcut_hlo *w, const char *as)
{
    (void)as;
    const gcut_node *n = w->n;
    const uint32_t given = n->nargs - n->ncaptured, carries = gcut_node_carries(w->g, n), all = 1u + n->nres;
    const int64_t length = gcut_hlo_size(w, gcut_scan_length(w->g, n));
    const bool reverse = gcut_attr_flag(w->g, n, GCUT_KEY_reverse);
    const gcut_type count = gcut_hlo_scalar_type(GCUT_I64);
    const char *own = gcut_hlo_own(w, 0), *i = gcut_hlo_fresh(w, "i"), *one = gcut_hlo_number(w, 1, &count),
               *end = gcut_hlo_full(w, NULL, (gcut_num){true, length, (double)length}, &count),
               *last = gcut_hlo_binary(w, NULL, "stablehlo.subtract", end, one, &count),
               **stack = gcut_calloc(w->a, n->nres + 1u, sizeof *stack);
    iteration it = {.axis = gcut_hlo_axis(w), .zero = gcut_hlo_number(w, 0, &count)};
    list in = list_new(w), next = list_new(w);
    gcut_text tested = {.arena = w->a}, arguments = {.arena = w->a};
    add(w, &in, it.zero, &count);
    add_argument(w, &tested, i, &count);
    for (uint32_t k = 0; k < n->nres; k++) {
        const gcut_type t = gcut_hlo_result_type(w, k);
        add(w, &in, k < carries ? gcut_hlo_operand(w, k) : gcut_hlo_number(w, 0, &t), &t);
        add_argument(w, &tested, gcut_hlo_fresh(w, "x"), &t);
    }
    gcut_hlo_line(w, "%s = \"stablehlo.while\"(%s) ({", definition(w, own, all), in.values.at);
    gcut_hlo_block(w, tested.at);
    gcut_hlo_line(w, "stablehlo.return %s : tensor<i1>", gcut_hlo_compare(w, NULL, "LT", i, end, &count));
    w->depth--;
    gcut_hlo_line(w, "}, {");
    const around out = enter(w, 0, given);
    it.out = &out;
    i = gcut_hlo_fresh(w, "i");
    add_argument(w, &arguments, i, &count);
    add_params(w, &arguments, carries);
    for (uint32_t k = carries; k < n->nres; k++) {
        const gcut_type t = type_around(w, &out, n->res0 + k);
        stack[k] = gcut_hlo_fresh(w, out.g->values.at[n->res0 + k].name);
        add_argument(w, &arguments, stack[k], &t);
    }
    gcut_hlo_block(w, arguments.at);
    it.at = reverse ? gcut_hlo_binary(w, NULL, "stablehlo.subtract", last, i, &count) : i;
    for (uint32_t k = carries; k < given; k++) put_slice(w, &it, n, k);
    gcut_hlo_write_nodes(w);
    add(w, &next, gcut_hlo_binary(w, NULL, "stablehlo.add", i, one, &count), &count);
    for (uint32_t k = 0; k < carries; k++) add_result(w, &next, k);
    for (uint32_t k = carries; k < n->nres; k++) add_stacked(w, &next, &it, n, k, stack[k]);
    put_return(w, &next);
    leave(w, &out);
    gcut_hlo_line(w, "}) : (%s) -> (%s)", in.types.at, in.types.at);
    set_results(w, own, all, 1);
}
