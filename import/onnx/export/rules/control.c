/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Conditionals and loops.  A body reads captured values under the names that they have outside.
 */
#include "import/onnx/export/writer.h"

/* A subgraph under construction. */
typedef struct body {
    gcut_onnx_nodes nodes;
    Onnx__GraphProto *p;
    gcut_onnx_frame *before;
} body;

static void open_body(gcut_onnx_writer *w, body *b, const gcut_graph *g, size_t inputs, const char *name)
{
    *b = (body){.p = GCUT_ONNX_MESSAGE(w, Onnx__GraphProto, ONNX__GRAPH_PROTO__INIT), .before = w->here};
    b->p->name = (char *)(uintptr_t)name;
    b->p->input = gcut_calloc(w->a, inputs + 1, sizeof *b->p->input);
    w->here = gcut_onnx_frame_new(w, g, &b->nodes);
}

static void add_input(gcut_onnx_writer *w, body *b, const char *name, const gcut_type *t)
{
    b->p->input[b->p->n_input++] = gcut_onnx_value_info(w, name, t);
}

static void bind_whole(gcut_onnx_writer *w, gcut_ref v, const char *name)
{
    w->here->view[v] =
        (gcut_onnx_view){.name = name, .rank = gcut_type_of(w->here->g, v)->rank, .whole = name};
}

/* The first `given` parameters are inputs of the body, the others what n captures. */
static void bind_params(gcut_onnx_writer *w, body *b, const gcut_node *n, uint32_t given)
{
    const gcut_graph *g = w->here->g;
    for (uint32_t i = 0; i < g->params.n; i++) {
        const gcut_ref v = g->params.at[i].value;
        if (i < given) {
            add_input(w, b, w->here->own[v], gcut_type_of(g, v));
            bind_whole(w, v, w->here->own[v]);
        } else {
            w->here->view[v] = b->before->view[gcut_arg(b->before->g, n, gcut_region_operand(n, g, i))];
        }
    }
}

static bool is_made_here(const gcut_onnx_nodes *nodes, const char *name)
{
    for (uint32_t i = nodes->n; i-- > 0;)
        for (size_t k = 0; k < nodes->at[i]->n_output; k++)
            if (nodes->at[i]->output[k] == name) return true;
    return false;
}

/* One more output, which a node of the body must make, and no other output be. */
static void add_output(gcut_onnx_writer *w, body *b, const char *name, const gcut_type *t)
{
    Onnx__ValueInfoProto **all = gcut_calloc(w->a, b->p->n_output + 1, sizeof *all);
    bool again = !is_made_here(&b->nodes, name);
    for (size_t k = 0; k < b->p->n_output; k++) {
        all[k] = b->p->output[k];
        again |= all[k]->name == name;
    }
    if (again) {
        w->base = name;
        name = gcut_onnx_put1(w, "Identity", NULL, name);
    }
    all[b->p->n_output++] = gcut_onnx_value_info(w, name, t);
    b->p->output = all;
}

/* Result k of the frame as a tensor. */
static const char *result(gcut_onnx_writer *w, uint32_t k)
{
    return gcut_onnx_whole(w, w->here->g->results.at[k].value);
}

static void add_results(gcut_onnx_writer *w, body *b)
{
    const gcut_graph *g = w->here->g;
    for (uint32_t k = 0; k < g->results.n; k++) {
        const char *name = result(w, k);
        add_output(w, b, name, gcut_type_of(g, g->results.at[k].value));
    }
}

static Onnx__GraphProto *close_body(gcut_onnx_writer *w, body *b)
{
    b->p->node = b->nodes.at;
    b->p->n_node = b->nodes.n;
    w->here = b->before;
    return b->p;
}

/* ONNX's node, with an output for each result. */
static void put_node(gcut_onnx_writer *w, const gcut_node *n, const char *as, const char *const *in,
                     uint32_t nin, gcut_locid loc)
{
    w->loc = loc;
    for (uint32_t k = 0; k < n->nres; k++) {
        const char *own = gcut_onnx_own(w, n, k);
        if (k)
            gcut_onnx_put_output(w, own);
        else
            gcut_onnx_put(w, as, own, in, nin);
        gcut_onnx_set_whole(w, n, k, own);
    }
}

void gcut_export_if(gcut_onnx_writer *w, const gcut_node *n, const char *as)
{
    (void)as;
    static const char *const key[] = {"then_branch", "else_branch"};
    const char *cond = gcut_onnx_operand(w, n, 0);
    Onnx__GraphProto *branch[2];
    for (uint32_t k = 0; k < 2; k++) {
        body b;
        open_body(w, &b, gcut_region_at(w->here->g, n, k)->body, 0, k ? "else" : "then");
        bind_params(w, &b, n, 0);
        gcut_onnx_write_nodes(w, NULL);
        add_results(w, &b);
        branch[k] = close_body(w, &b);
    }
    put_node(w, n, "If", &cond, 1, n->loc);
    for (uint32_t k = 0; k < 2; k++) gcut_onnx_put_graph(w, key[k], branch[k]);
}

/* The condition of a `while` for the carried tensors x: its nodes go where w->here writes. */
static const char *condition(gcut_onnx_writer *w, const gcut_node *n, const gcut_onnx_frame *around,
                             const char *const *x, uint32_t carries)
{
    gcut_onnx_frame *here = w->here;
    const gcut_graph *g = gcut_region_at(around->g, n, 0)->body;
    w->here = gcut_onnx_frame_new(w, g, here->nodes);
    for (uint32_t i = 0; i < g->params.n; i++) {
        const gcut_ref v = g->params.at[i].value;
        if (i < carries)
            bind_whole(w, v, x[i]);
        else
            w->here->view[v] = around->view[gcut_arg(around->g, n, gcut_region_operand(n, g, i))];
    }
    gcut_onnx_write_nodes(w, NULL);
    const char *name = result(w, 0);
    w->here = here;
    return name;
}

/* Loop tests the condition after an iteration, so the body ends with it, and the first test is in front of the loop. */
void gcut_export_while(gcut_onnx_writer *w, const gcut_node *n, const char *as)
{
    (void)as;
    const uint32_t carries = n->nargs - n->ncaptured;
    const gcut_attr *bound = gcut_attr_get(w->here->g, n, GCUT_KEY_bound);
    const gcut_type count = {.dtype = GCUT_I64}, flag = {.dtype = GCUT_BOOL};
    const char **in = gcut_calloc(w->a, carries + 2u, sizeof *in),
               **next = gcut_calloc(w->a, carries + 1u, sizeof *next);
    for (uint32_t k = 0; k < carries; k++) in[2 + k] = gcut_onnx_operand(w, n, k);
    in[0] = "";
    if (bound) in[0] = gcut_onnx_put_size_scalar(w, bound->u.dim);
    in[1] = condition(w, n, w->here, in + 2, carries);
    body b;
    open_body(w, &b, gcut_region_at(w->here->g, n, 1)->body, carries + 2u, "body");
    add_input(w, &b, gcut_onnx_fresh(w, "iteration"), &count);
    add_input(w, &b, gcut_onnx_fresh(w, "condition"), &flag);
    bind_params(w, &b, n, carries);
    gcut_onnx_write_nodes(w, NULL);
    for (uint32_t k = 0; k < carries; k++) next[k] = result(w, k);
    add_output(w, &b, condition(w, n, b.before, next, carries), &flag);
    for (uint32_t k = 0; k < carries; k++)
        add_output(w, &b, next[k], gcut_type_of(w->here->g, w->here->g->results.at[k].value));
    Onnx__GraphProto *p = close_body(w, &b);
    put_node(w, n, "Loop", in, carries + 2, n->loc);
    gcut_onnx_put_graph(w, "body", p);
}

static void put_copies(gcut_onnx_writer *w, const char *key, int64_t x, uint32_t n)
{
    int64_t *all = gcut_calloc(w->a, n + 1u, sizeof *all);
    for (uint32_t k = 0; k < n; k++) all[k] = x;
    if (x && n) gcut_onnx_put_ints(w, key, all, n);
}

/* A scan over no operands counts its iterations in one that the body does not read. */
void gcut_export_scan(gcut_onnx_writer *w, const gcut_node *n, const char *as)
{
    (void)as;
    const gcut_graph *g = w->here->g;
    const uint32_t given = n->nargs - n->ncaptured, carries = gcut_node_carries(g, n);
    const uint32_t counted = given == carries, slices = given - carries + counted, stacks = n->nres - carries;
    const int64_t axis = gcut_attr_get(g, n, GCUT_KEY_axis)->u.dim;
    const bool reverse = gcut_attr_flag(g, n, GCUT_KEY_reverse);
    const char **in = gcut_calloc(w->a, given + 2u, sizeof *in);
    for (uint32_t k = 0; k < given; k++) in[k] = gcut_onnx_operand(w, n, k);
    if (counted) {
        in[given] = gcut_onnx_put1(w, "ConstantOfShape", NULL, gcut_onnx_put_size(w, gcut_scan_length(g, n)));
    }
    body b;
    open_body(w, &b, gcut_region_at(g, n, 0)->body, given + 1u, "body");
    bind_params(w, &b, n, given);
    if (counted) add_input(w, &b, gcut_onnx_fresh(w, "iteration"), &(gcut_type){.dtype = GCUT_F32});
    gcut_onnx_write_nodes(w, NULL);
    add_results(w, &b);
    Onnx__GraphProto *p = close_body(w, &b);
    put_node(w, n, "Scan", in, given + counted, n->loc);
    gcut_onnx_put_int(w, "num_scan_inputs", slices);
    put_copies(w, "scan_input_axes", counted ? 0 : axis, slices);
    put_copies(w, "scan_input_directions", reverse, slices);
    put_copies(w, "scan_output_axes", axis, stacks);
    put_copies(w, "scan_output_directions", reverse, stacks);
    gcut_onnx_put_graph(w, "body", p);
}
