/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A function as a model.
 */
#include <string.h>

#include "import/onnx/export/writer.h"
#include "import/tensor_file.h"

/* ---- frames ---- */

gcut_onnx_frame *gcut_onnx_frame_new(gcut_onnx_writer *w, const gcut_graph *g, gcut_onnx_nodes *nodes)
{
    gcut_onnx_frame *f = gcut_calloc(w->a, 1, sizeof *f);
    f->g = g;
    f->nodes = nodes;
    f->view = gcut_calloc(w->a, g->values.n + 1u, sizeof *f->view);
    f->own = gcut_calloc(w->a, g->values.n + 1u, sizeof *f->own);
    if (w->top)
        for (gcut_ref v = 1; v < g->values.n; v++) f->own[v] = gcut_onnx_fresh(w, g->values.at[v].name);
    gcut_onnx_find_norms(w, f);
    return f;
}

/* A broadcast of a part of a norm is a part too. */
static bool is_absorbed(const gcut_onnx_frame *f, uint32_t n)
{
    const gcut_node *node = gcut_node_at(f->g, n);
    return f->absorbed[n] || (node->op == GCUT_OP_broadcast && !f->view[gcut_arg(f->g, node, 0)].name);
}

void gcut_onnx_write_nodes(gcut_onnx_writer *w, const bool *live)
{
    gcut_onnx_frame *f = w->here;
    for (uint32_t k = 0; k < f->g->nodes.n; k++) {
        const gcut_node *n = gcut_node_at(f->g, k);
        if ((live && !live[k]) || is_absorbed(f, k) || f->view[n->res0].name) continue;
        w->base = f->own[n->res0];
        w->loc = n->loc;
        if (f->norm[k])
            gcut_onnx_write_norm(w, n, f->norm[k]);
        else
            gcut_onnx_write_op(w, n);
    }
}

/* ---- what is exported ---- */

static bool is_draw(const gcut_node *n)
{
    return n->op == GCUT_OP_uniform || n->op == GCUT_OP_normal || n->op == GCUT_OP_random;
}

/* By node and by value: does an `out` result depend on it?  Not through a draw, which becomes an input. */
static void find_live(const gcut_graph *g, bool *node, bool *value)
{
    for (uint32_t i = 0; i < g->results.n; i++)
        if (g->results.at[i].role == GCUT_ROLE_out) value[g->results.at[i].value] = true;
    for (uint32_t k = g->nodes.n; k-- > 0;) {
        const gcut_node *n = gcut_node_at(g, k);
        node[k] = gcut_any_result(n, value);
        for (uint32_t i = 0; node[k] && !is_draw(n) && i < n->nargs; i++) value[gcut_arg(g, n, i)] = true;
    }
}

/* Parameters have their names, then results, whose values are called as they are, then values. */
static void name_values(gcut_onnx_writer *w, const char **out)
{
    const gcut_graph *g = w->g;
    const char **own = w->top->own;
    for (uint32_t i = 0; i < g->params.n; i++) {
        const gcut_ref v = g->params.at[i].value;
        own[v] = gcut_onnx_fresh(w, g->values.at[v].name);
    }
    for (uint32_t i = 0; i < g->results.n; i++) {
        const gcut_ref v = g->results.at[i].value;
        if (g->results.at[i].role != GCUT_ROLE_out) continue;
        out[i] = gcut_onnx_fresh(w, g->results.at[i].name);
        if (!own[v]) own[v] = out[i];
    }
    for (gcut_ref v = 1; v < g->values.n; v++)
        if (!own[v]) own[v] = gcut_onnx_fresh(w, g->values.at[v].name);
}

/* ---- inputs and initializers ---- */

static void add_whole(gcut_onnx_writer *w, gcut_ref v)
{
    w->top->view[v] = (gcut_onnx_view){
        .name = w->top->own[v], .rank = gcut_type_of(w->g, v)->rank, .whole = w->top->own[v]};
    *GCUT_PUSH(w->a, &w->sized) = v;
}

static void add_model_input(gcut_onnx_writer *w, gcut_ref v)
{
    *GCUT_PUSH(w->a, &w->inputs) = gcut_onnx_value_info(w, w->top->own[v], gcut_type_of(w->g, v));
    add_whole(w, v);
}

const gcut_tensor *gcut_onnx_contents_of(const gcut_graph *g, const gcut_tensors *contents, gcut_ref v)
{
    const char *name = g->values.at[v].name;
    const gcut_tensor *x = gcut_tensors_find(contents, name);
    if (x) return x;
    gcut_fail(g->module->env, GCUT_ETYPE, gcut_loc_place(g->module, g->loc),
              "declare them, or take them from a file (--weights)", "@%s: there are no contents for %%%s, %s",
              g->name, name, gcut_type_text(g->module->arena, g->module, gcut_type_of(g, v)));
}

static void add_contents(gcut_onnx_writer *w, const gcut_tensor *x, gcut_ref v)
{
    gcut_onnx_add_initializer(w, w->top->own[v], x->dtype, x->rank, x->dim, x->data,
                              (size_t)x->n * (size_t)gcut_dtype_bytes(x->dtype));
    add_whole(w, v);
}

/* Inputs stay when nothing reads them. */
static void add_params(gcut_onnx_writer *w, const gcut_tensors *contents, const bool *live,
                       gcut_onnx_export *info)
{
    for (uint32_t i = 0; i < w->g->params.n; i++) {
        const gcut_param *p = &w->g->params.at[i];
        if (p->role == GCUT_ROLE_input || (p->role == GCUT_ROLE_rng && live[p->value]) ||
            p->role == GCUT_ROLE_cotan || p->role == GCUT_ROLE_saved)
            add_model_input(w, p->value);
    }
    for (uint32_t k = 0; k < w->g->nodes.n; k++) {
        const gcut_node *n = gcut_node_at(w->g, k);
        if (!is_draw(n) || !live[n->res0]) continue;
        add_model_input(w, n->res0);
        w->draws++;
    }
    for (uint32_t i = 0; i < w->g->params.n; i++) {
        const gcut_param *p = &w->g->params.at[i];
        if ((p->role != GCUT_ROLE_param && p->role != GCUT_ROLE_state) || !live[p->value]) continue;
        const gcut_tensor *x = gcut_onnx_contents_of(w->g, contents, p->value);
        add_contents(w, x, p->value);
        info->initializers++;
        if (p->role == GCUT_ROLE_param) info->elements += x->n;
    }
}

/* ---- the model ---- */

/* An output is the value itself, or a copy where the value has another name. */
static void add_outputs(gcut_onnx_writer *w, Onnx__GraphProto *p, const char *const *out)
{
    const gcut_graph *g = w->g;
    p->output = gcut_calloc(w->a, g->results.n + 1u, sizeof *p->output);
    for (uint32_t i = 0; i < g->results.n; i++) {
        if (!out[i]) continue;
        const gcut_ref v = g->results.at[i].value;
        const char *name = gcut_onnx_whole(w, v);
        w->base = out[i];
        w->loc = 0;
        if (name != out[i]) gcut_onnx_put1(w, "Identity", out[i], name);
        p->output[p->n_output++] = gcut_onnx_value_info(w, out[i], gcut_type_of(g, v));
    }
}

/* Bitwise ops of integers are of opset 18. */
static bool has_bits(const gcut_graph *g)
{
    for (uint32_t k = 0; k < g->nodes.n; k++) {
        const gcut_node *n = gcut_node_at(g, k);
        const bool bits = n->op == GCUT_OP_and || n->op == GCUT_OP_or || n->op == GCUT_OP_xor;
        if (bits && gcut_type_of(g, n->res0)->dtype != GCUT_BOOL) return true;
        for (uint32_t r = 0; r < n->nregs; r++)
            if (has_bits(gcut_region_at(g, n, r)->body)) return true;
    }
    return false;
}

enum { OPSET = 17, OPSET_OF_BITS = 18, IR_VERSION = 8 };

gcut_onnx_export gcut_onnx_export_model(const gcut_graph *g, gcut_arena *a, const gcut_tensors *contents,
                                        const char *path, uint64_t largest)
{
    gcut_onnx_export info = {.opset = has_bits(g) ? OPSET_OF_BITS : OPSET};
    gcut_onnx_writer w = {.env = g->module->env,
                          .a = a,
                          .g = g,
                          .opset = info.opset,
                          .names = {.arena = a, .all = {.arena = a}},
                          .node_names = {.arena = a, .all = {.arena = a}}};
    gcut_onnx_nodes nodes = {0};
    bool *live = gcut_calloc(a, g->nodes.n + 1u, sizeof *live),
         *read = gcut_calloc(a, g->values.n + 1u, sizeof *read);
    const char **out = gcut_calloc(a, g->results.n + 1u, sizeof *out);
    w.here = gcut_onnx_frame_new(&w, g, &nodes);
    w.top = w.here;
    name_values(&w, out);
    find_live(g, live, read);
    add_params(&w, contents, read, &info);
    gcut_onnx_write_nodes(&w, live);
    Onnx__GraphProto *p = GCUT_ONNX_MESSAGE(&w, Onnx__GraphProto, ONNX__GRAPH_PROTO__INIT);
    Onnx__ModelProto *m = GCUT_ONNX_MESSAGE(&w, Onnx__ModelProto, ONNX__MODEL_PROTO__INIT);
    Onnx__OperatorSetIdProto *opset =
        GCUT_ONNX_MESSAGE(&w, Onnx__OperatorSetIdProto, ONNX__OPERATOR_SET_ID_PROTO__INIT);
    add_outputs(&w, p, out);
    p->name = (char *)(uintptr_t)g->name;
    p->input = w.inputs.at;
    p->n_input = w.inputs.n;
    p->node = nodes.at;
    p->n_node = nodes.n;
    gcut_onnx_drop_unused(&w, p);
    opset->domain = (char *)(uintptr_t) "";
    opset->has_version = 1;
    opset->version = info.opset;
    m->has_ir_version = 1;
    m->ir_version = IR_VERSION;
    m->producer_name = (char *)(uintptr_t) "gradcut";
    m->graph = p;
    m->n_opset_import = 1;
    m->opset_import = &opset;
    info.bytes = gcut_onnx_write_file(&w, m, path, largest, &info.outside);
    info.nodes = w.nodes;
    info.inputs = p->n_input;
    info.outputs = p->n_output;
    info.draws = w.draws;
    return info;
}
