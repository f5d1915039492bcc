/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The public API of ONNX models.
 */
#include <string.h>

#include "base/json.h"
#include "driver/ctx.h"
#include "gradcut/train.h"
#include "graph/rewrite.h"
#include "graph/verify.h"
#include "import/onnx/import.h"
#include "import/tensor_file.h"
#include "passes/passes.h"
#include "text/text.h"

typedef struct job {
    gcut_env *env;
    const char *path;
    const gcut_import_options *given; /* the caller's, of `size` bytes */
    size_t size;
    gcut_import_info info;
    gcut_arena *a; /* of the module that is made */
    gcut_graph *g;
} job;

/* ---- the graph ---- */

static gcut_onnx_options options_of(const job *j, gcut_arena *a, const gcut_import_options *how)
{
    gcut_onnx_constant_input *c = gcut_calloc(a, how->nconstant + 1, sizeof *c);
    for (size_t i = 0; i < how->nconstant; i++) {
        gcut_tensor_file *f = gcut_tensor_file_open(a, how->constant[i].npy);
        const gcut_tensor *x = gcut_tensor_get(j->env, f, NULL);
        gcut_tensor_load(f, x);
        c[i] = (gcut_onnx_constant_input){how->constant[i].name, *x};
    }
    return (gcut_onnx_options){
        .train = how->train, .ntrain = how->ntrain, .constant = c, .nconstants = how->nconstant};
}

/* "resnet" of "models/resnet.onnx". */
static const char *stem(gcut_arena *a, const char *path)
{
    const char *slash = strrchr(path, '/');
    return gcut_without_ending(a, slash ? slash + 1 : path, ".onnx");
}

/* The loss becomes the only result; the running statistics stay. */
static void add_loss(gcut_graph *g, const char *text)
{
    uint32_t kept = 0;
    gcut_ref v = gcut_parse_expression(g, "the loss", text);
    const gcut_type *t = gcut_type_of(g, v);
    if (t->rank || !gcut_dtype_is_float(t->dtype))
        gcut_fail(g->module->env, GCUT_ETYPE, (gcut_place){.file = "the loss"}, "mean(x) of any x is one",
                  "expected a float scalar, found %s", gcut_type_text(g->module->arena, g->module, t));
    for (uint32_t i = 0; i < g->results.n; i++)
        if (g->results.at[i].role != GCUT_ROLE_out) g->results.at[kept++] = g->results.at[i];
    g->results.n = kept;
    gcut_result_new(g, GCUT_ROLE_out, "loss", v);
}

/* Without parameters that nothing reads, but for inputs. */
static gcut_graph *without_unread(gcut_graph *g, const char *name)
{
    gcut_module *m = g->module;
    gcut_arena *a = gcut_arena_new(m->env, m->arena);
    const uint32_t *uses = gcut_count_uses(g, a);
    gcut_graph *live = gcut_graph_shell(g, name);
    gcut_ref *map = gcut_calloc(a, g->values.n, sizeof *map);
    uint32_t data = 0;
    for (uint32_t i = 0; i < g->params.n; i++)
        if (g->params.at[i].role == GCUT_ROLE_input || uses[g->params.at[i].value])
            gcut_param_copy(live, g, i, map);
    for (uint32_t n = 0; n < g->nodes.n; n++) gcut_node_copy_to(live, g, n, map);
    for (uint32_t i = 0; i < g->results.n; i++) gcut_result_copy(live, g, i, map);
    gcut_checks_copy(live, g);
    for (uint32_t i = 0; i < m->data.n; i++)
        if (gcut_param_find(live, m->data.at[i].name)) m->data.at[data++] = m->data.at[i];
    m->data.n = data;
    gcut_arena_free(a);
    return live;
}

/* Each pass makes a graph of its own; the last one gets the name. */
static gcut_graph *run_passes(gcut_graph *g)
{
    static gcut_graph *(*const pass[])(gcut_graph *, const char *) = {
        gcut_pass_fold, gcut_pass_cse, gcut_pass_recognize, gcut_pass_fold, gcut_pass_dce, without_unread};
    gcut_module *m = g->module;
    const char *name = g->name;
    for (size_t i = 0; i < sizeof pass / sizeof *pass; i++) {
        gcut_graph *next = pass[i](g, gcut_module_unused(m, name, "import"));
        gcut_module_unlist(m, g);
        g = next;
    }
    gcut_names_renumber(g); /* an export and another import give the same names */
    g->name = name;
    return g;
}

static void describe(job *j, const gcut_onnx_import *made)
{
    gcut_import_info *info = &j->info;
    *info = (gcut_import_info){.model_nodes = made->nodes,
                               .nodes = j->g->nodes.n,
                               .batch_norms = made->batch_norms,
                               .dropouts = made->dropouts};
    for (uint32_t i = 0; i < j->g->params.n; i++) {
        const gcut_param *p = &j->g->params.at[i];
        info->params += p->role == GCUT_ROLE_param;
        info->states += p->role == GCUT_ROLE_state;
        info->inputs += p->role == GCUT_ROLE_input;
        if (p->role == GCUT_ROLE_param)
            info->elements += gcut_type_numel(j->g->module, gcut_type_of(j->g, p->value));
    }
}

static void make(void *arg)
{
    job *j = arg;
    gcut_import_options how = {0};
    GCUT_COPY_KNOWN(j->env, gcut_import_options, j->given, j->size, &how);
    gcut_arena *a = gcut_arena_new(j->env, j->env->arena);
    const gcut_onnx_options opt = options_of(j, a, &how);
    gcut_module *m = gcut_module_new(j->env, j->env->arena);
    j->a = m->arena;
    const gcut_onnx_import made =
        gcut_onnx_import_model(gcut_onnx_open(a, j->path), m, how.name ? how.name : stem(a, j->path), &opt);
    j->g = made.g;
    if (how.loss) add_loss(j->g, how.loss);
    j->g = run_passes(j->g);
    gcut_verify_module(j->g->module);
    describe(j, &made);
    for (size_t i = 0; i < how.nconstant; i++) j->info.constants += made.specialized[i];
    gcut_arena_free(a);
}

static void copy_info(void *arg, const gcut_made *m)
{
    memcpy(m->object, arg, sizeof(gcut_import_info));
}

gcut_graph *gcut_import_onnx_sized(size_t size, gcut_ctx *ctx, const char *path,
                                   const gcut_import_options *opt, gcut_import_info **info)
{
    GCUT_NEED(NULL, ctx, NULL);
    GCUT_NEED(ctx->env, path, NULL);
    job j = {.env = ctx->env, .path = path, .given = opt, .size = size};
    if (gcut_guard(ctx->env, make, &j) &&
        (!info || (*info = gcut_made_by(ctx->env, sizeof **info, copy_info, &j.info))))
        return j.g;
    if (info) *info = NULL;
    gcut_arena_free(j.a);
    return NULL;
}

/* ---- what of a model is supported ---- */

typedef struct ops_job {
    gcut_env *env;
    const char *path;
    bool json;
} ops_job;

static void write_ops(void *arg, gcut_text *out)
{
    const ops_job *j = arg;
    gcut_onnx_file *f = gcut_onnx_open(out->arena, j->path);
    const gcut_onnx_uses uses = gcut_onnx_ops_of(f, gcut_onnx_model(f));
    size_t missing = 0, width = strlen("op");
    for (uint32_t i = 0; i < uses.n; i++) {
        const gcut_onnx_use *u = &uses.at[i];
        const size_t n = strlen(u->op) + (*u->domain ? strlen(u->domain) + 1 : 0);
        missing += !u->supported;
        if (n > width) width = n;
    }
    if (j->json) {
        gcut_json w = {.out = out};
        gcut_json_object(&w);
        gcut_json_key_str(&w, "model", j->path);
        gcut_json_key_array(&w, "ops");
        for (uint32_t i = 0; i < uses.n; i++) {
            const gcut_onnx_use *u = &uses.at[i];
            gcut_json_object(&w);
            gcut_json_key_str(&w, "domain", u->domain);
            gcut_json_key_str(&w, "op", u->op);
            gcut_json_key_int(&w, "nodes", (int64_t)u->nodes);
            gcut_json_key_bool(&w, "supported", u->supported);
            gcut_json_key_str(&w, "first", u->first);
            gcut_json_end(&w);
        }
        gcut_json_end(&w);
        gcut_json_key_int(&w, "missing", (int64_t)missing);
        gcut_json_end(&w);
        gcut_text_add(out, "\n");
        return;
    }
    gcut_text_add(out, "%-*s  nodes  supported  first node\n", (int)width, "op");
    for (uint32_t i = 0; i < uses.n; i++) {
        const gcut_onnx_use *u = &uses.at[i];
        const char *name = gcut_printf(out->arena, "%s%s%s", u->domain, *u->domain ? "." : "", u->op);
        gcut_text_add(out, "%-*s  %5zu  %-9s  %s\n", (int)width, name, u->nodes, u->supported ? "yes" : "no",
                      u->first);
    }
    if (missing)
        gcut_text_add(out, "%zu of %u ops are missing\n", missing, uses.n);
    else
        gcut_text_add(out, "all %u ops can be imported\n", uses.n);
}

char *gcut_onnx_ops(gcut_ctx *ctx, const char *path, bool json)
{
    GCUT_NEED(NULL, ctx, NULL);
    GCUT_NEED(ctx->env, path, NULL);
    return gcut_string_by(ctx->env, write_ops, &(ops_job){ctx->env, path, json});
}
