/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Conditionals and loops.
 */
#include "import/onnx/rules.h"

#include <string.h>

#include "import/onnx/scope.h"

static const Onnx__GraphProto *subgraph(const gcut_onnx_node *n, const char *name)
{
    const Onnx__AttributeProto *a = gcut_onnx_attr(n, name);
    if (!a || !a->g) GCUT_ONNX_WRONG(n, "expected a graph for the attribute '%s'", name);
    return a->g;
}

/* ---- If ---- */

/* Of a constant condition only the branch that is taken becomes ops. */
void gcut_onnx_if(gcut_onnx_node *n)
{
    const gcut_array *cond = gcut_onnx_maybe(n, 0);
    const Onnx__GraphProto *branch[] = {subgraph(n, "then_branch"), subgraph(n, "else_branch")};
    const uint32_t count = (uint32_t)n->p->n_output;
    gcut_ref *out = gcut_calloc(n->b.g->module->arena, count + 1, sizeof *out);
    for (uint32_t k = 0; k < 2; k++)
        if (branch[k]->n_output != count)
            GCUT_ONNX_WRONG(n, "a branch has %zu outputs, the node %u", branch[k]->n_output, (unsigned)count);
    if (cond) {
        const bool holds = cond->n == 1 && cond->u.i[0];
        const Onnx__GraphProto *taken = branch[holds ? 0 : 1];
        gcut_onnx_scope *s = gcut_onnx_body(n, taken, n->b.g, NULL, 0, NULL, NULL);
        for (uint32_t k = 0; k < count; k++)
            if (gcut_onnx_wants(n, k))
                gcut_onnx_define_as(
                    n->o, n->scope, n->p->output[k],
                    gcut_onnx_find(n->o, s, taken->output[k]->name ? taken->output[k]->name : ""));
        return;
    }
    gcut_graph *body[2];
    for (uint32_t b = 0; b < 2; b++) {
        body[b] = gcut_body_new(n->b.g);
        gcut_onnx_body(n, branch[b], body[b], NULL, 0, NULL, out);
        for (uint32_t k = 0; k < count; k++) gcut_body_yield(body[b], out[k]);
    }
    gcut_ref p = gcut_onnx_reshape(n, gcut_onnx_in(n, 0), NULL, 0);
    gcut_ref y = gcut_bregion_node(&n->b, GCUT_OP_if, &p, 1, body, 2, NULL, 0);
    for (uint32_t k = 0; k < count; k++) gcut_onnx_set(n, k, y + k);
}

/* ---- Loop ---- */

/* A parameter of the body for each of these values, of its type. */
static void carry(const gcut_onnx_node *n, gcut_graph *body, const gcut_ref *v, uint32_t count,
                  gcut_ref *inside)
{
    for (uint32_t k = 0; k < count; k++) {
        const gcut_type t = gcut_onnx_type(n, v[k]);
        inside[k] = gcut_param_new(body, GCUT_ROLE_input, gcut_name_fresh(body, "v"), &t);
    }
}

/* Does it go on at every iteration? */
static bool always_goes_on(const gcut_onnx_node *n, const Onnx__GraphProto *p, const gcut_onnx_scope *s)
{
    const gcut_onnx_value *v = gcut_onnx_find_here(n->o, s, p->output[0]->name ? p->output[0]->name : "");
    return v && v->known && v->known->n == 1 && v->known->u.i[0];
}

/* Whether the iteration after i takes place, for a `while`, whose first body gets what the second one gets: the carried
 * values, i and the condition. */
static gcut_graph *test_of(gcut_onnx_node *n, const gcut_ref *v, uint32_t all)
{
    gcut_onnx_node test = *n;
    test.b.g = gcut_body_new(n->b.g);
    gcut_ref *in = gcut_calloc(n->b.g->module->arena, all, sizeof *in);
    carry(n, test.b.g, v, all, in);
    gcut_ref goes_on = in[all - 1];
    if (gcut_onnx_has(n, 0)) {
        gcut_ref limit = gcut_body_capture(test.b.g, gcut_onnx_reshape(n, gcut_onnx_in(n, 0), NULL, 0));
        goes_on = gcut_b2(&test.b, GCUT_OP_and, goes_on, gcut_b2(&test.b, GCUT_OP_lt, in[all - 2], limit));
    }
    gcut_body_yield(test.b.g, goes_on);
    return test.b.g;
}

/* Where the number of iterations is known and the condition always holds, a scan, which can be differentiated; any other loop
 * is a `while`.  Both carry values and have the iteration i, which a `while` carries, too, with the condition: within an
 * iteration it holds. */
void gcut_onnx_loop(gcut_onnx_node *n)
{
    const Onnx__GraphProto *p = subgraph(n, "body");
    const uint32_t given = gcut_onnx_inputs(n), carries = given - 2, all = given;
    const gcut_array *most = NULL, *cond = NULL;
    if (given < 2 || p->n_output < carries + 1)
        GCUT_ONNX_WRONG(
            n, "expected two inputs or more, and a body with an output for each of them but the first");
    if (gcut_onnx_has(n, 0)) most = gcut_onnx_maybe(n, 0);
    if (gcut_onnx_has(n, 1)) cond = gcut_onnx_maybe(n, 1);
    const bool holds = !gcut_onnx_has(n, 1) || (cond && cond->n == 1 && cond->u.i[0]);
    if (most && (most->n != 1 || (most->u.i[0] < 0 && !gcut_onnx_is_symbolic(most->u.i[0])))) most = NULL;
    gcut_module *m = n->b.g->module;
    const uint32_t yields = (uint32_t)p->n_output - 1;
    gcut_graph *body[] = {NULL, gcut_body_new(n->b.g)};
    gcut_ref *v = gcut_calloc(m->arena, all, sizeof *v), *in = gcut_calloc(m->arena, all + 1, sizeof *in),
             *out = gcut_calloc(m->arena, yields + 2, sizeof *out), y;
    for (uint32_t k = 0; k < carries; k++) v[k] = gcut_onnx_in(n, 2 + k);
    carry(n, body[1], v, carries, in + 2);
    in[0] = gcut_param_new(body[1], GCUT_ROLE_input, gcut_name_fresh(body[1], "i"),
                           &(gcut_type){.dtype = GCUT_I64});
    const gcut_onnx_scope *s = gcut_onnx_body(n, p, body[1], in, all, &in[0], out);
    for (uint32_t k = 0; k < carries; k++) gcut_body_yield(body[1], out[1 + k]);
    if (most && holds && always_goes_on(n, p, s)) {
        for (uint32_t k = carries; k < yields; k++) gcut_body_yield(body[1], out[1 + k]);
        const gcut_attr a = gcut_attr_dim(GCUT_KEY_carries, carries);
        v[carries] = gcut_onnx_iota(n, &(gcut_type){GCUT_I64, 1, {most->u.i[0]}}, 0);
        y = gcut_bregion_node(&n->b, GCUT_OP_scan, v, carries + 1, &body[1], 1, &a, 1);
    } else {
        if (yields != carries)
            GCUT_ONNX_UNSUPPORTED(
                n, "a loop whose number of iterations is not known cannot stack a value of each");
        gcut_onnx_node inside = *n;
        inside.b.g = body[1];
        v[carries] = gcut_onnx_number(n, GCUT_I64, NULL, 0);
        v[carries + 1] = gcut_onnx_has(n, 1) ? gcut_onnx_reshape(n, gcut_onnx_in(n, 1), NULL, 0)
                                             : gcut_onnx_number(n, GCUT_BOOL, NULL, 1);
        body[0] = test_of(n, v, all);
        carry(n, body[1], v + carries + 1, 1, &in[1]);
        gcut_body_yield(body[1], gcut_baddc(&inside.b, in[0], 1));
        gcut_body_yield(body[1], gcut_onnx_reshape(&inside, out[0], NULL, 0));
        const gcut_attr bound = gcut_attr_dim(GCUT_KEY_bound, most ? most->u.i[0] : 0);
        y = gcut_bregion_node(&n->b, GCUT_OP_while, v, all, body, 2, &bound, most ? 1 : 0);
    }
    for (uint32_t k = 0; k < yields; k++) gcut_onnx_set(n, k, y + k);
}

/* ---- Scan ---- */

/* Before version 9 operands have an axis of a batch, and their lengths are an input. */
static gcut_ref scanned(gcut_onnx_node *n, uint32_t i, bool batched)
{
    gcut_ref x = gcut_onnx_in(n, i);
    const gcut_type t = gcut_onnx_type(n, x);
    if (!batched) return x;
    if (t.rank < 1 || t.dim[0] != 1)
        GCUT_ONNX_UNSUPPORTED(n, "a scan of version 8 over a batch of more than one");
    return gcut_onnx_remove_axis(n, x, 0);
}

void gcut_onnx_scan(gcut_onnx_node *n)
{
    const bool batched = n->opset < 9;
    const Onnx__GraphProto *p = subgraph(n, "body");
    const uint32_t first = batched ? 1 : 0, all = gcut_onnx_inputs(n) - first;
    const int64_t given = gcut_onnx_int(n, "num_scan_inputs", 0);
    if (given < 1 || given > all || p->n_input != all || p->n_output < all - (uint32_t)given)
        GCUT_ONNX_WRONG(n, "'num_scan_inputs', the inputs and the body contradict each other");
    if (batched && gcut_onnx_has(n, 0))
        GCUT_ONNX_UNSUPPORTED(n, "a scan over sequences of different lengths");
    const uint32_t carries = all - (uint32_t)given, yields = (uint32_t)p->n_output;
    uint32_t args = all;
    const gcut_onnx_list axes = gcut_onnx_ints(n, "scan_input_axes"),
                         out_axes = gcut_onnx_ints(n, "scan_output_axes"),
                         back = gcut_onnx_ints(n, batched ? "directions" : "scan_input_directions"),
                         out_back = gcut_onnx_ints(n, "scan_output_directions");
    gcut_module *m = n->b.g->module;
    gcut_graph *body = gcut_body_new(n->b.g);
    gcut_ref *v = gcut_calloc(m->arena, all + 2, sizeof *v), *in = gcut_calloc(m->arena, all + 1, sizeof *in),
             *out = gcut_calloc(m->arena, yields + 1, sizeof *out);
    for (uint32_t k = 0; k < all; k++) {
        v[k] = scanned(n, first + k, batched);
        gcut_type t = gcut_onnx_type(n, v[k]);
        if (k >= carries) {
            const uint32_t axis = gcut_onnx_axis(n, gcut_onnx_item(axes, k - carries, 0), t.rank);
            v[k] = gcut_baxis_first(&n->b, v[k], axis, false);
            if (gcut_onnx_item(back, k - carries, 0)) v[k] = gcut_onnx_flip(n, v[k], 0);
            t = gcut_onnx_type(n, v[k]);
            memmove(t.dim, t.dim + 1, (t.rank - 1u) * sizeof *t.dim);
            t.rank--;
        }
        in[k] = gcut_param_new(body, GCUT_ROLE_input, gcut_name_fresh(body, k < carries ? "v" : "x"), &t);
    }
    gcut_ref iteration = 0;
    gcut_onnx_body(n, p, body, in, all, &iteration, out);
    if (iteration)
        v[args++] = gcut_onnx_iota(n, &(gcut_type){GCUT_I64, 1, {gcut_onnx_type(n, v[carries]).dim[0]}}, 0);
    for (uint32_t k = 0; k < yields; k++) gcut_body_yield(body, out[k]);
    const gcut_attr a = gcut_attr_dim(GCUT_KEY_carries, carries);
    gcut_ref y = gcut_bregion_node(&n->b, GCUT_OP_scan, v, args, &body, 1, &a, 1);
    for (uint32_t k = 0; k < yields; k++) {
        gcut_ref z = y + k;
        if (k >= carries && gcut_onnx_item(out_back, k - carries, 0)) z = gcut_onnx_flip(n, z, 0);
        if (k >= carries && gcut_onnx_item(out_axes, k - carries, 0))
            z = gcut_baxis_first(
                &n->b, z,
                gcut_onnx_axis(n, gcut_onnx_item(out_axes, k - carries, 0), gcut_onnx_type(n, z).rank), true);
        gcut_onnx_set(n, k, batched ? gcut_onnx_insert_axis(n, z, 0) : z);
    }
}
