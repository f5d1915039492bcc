/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The public API of models that are written.
 */
#include <string.h>

#include "driver/ctx.h"
#include "driver/exchange/contents.h"
#include "driver/exchange/export_into.h"
#include "driver/exchange/matching.h"
#include "driver/load/weights.h"
#include "gradcut/train.h"
#include "import/onnx/export/export.h"
#include "passes/passes.h"

typedef struct job {
    gcut_graph *g;
    const char *path;
    const gcut_export_options *given; /* the caller's, of `size` bytes */
    size_t size;
    gcut_export_info info;
} job;

/* ---- the function ---- */

/* Each pass makes a graph of its own; the last one gets the name. */
static gcut_graph *prepared(gcut_graph *g)
{
    gcut_module *m = g->module;
    gcut_graph *made = gcut_pass_evaluation(g, gcut_module_unused(m, g->name, "eval"));
    made = gcut_pass_expand(made, gcut_module_unused(m, g->name, "expand"), gcut_onnx_expands);
    made = gcut_pass_cse(made, gcut_module_unused(m, g->name, "cse"));
    made = gcut_pass_dce(made, gcut_module_unused(m, g->name, "dce"));
    made->name = g->name;
    return made;
}

/* ---- weights ---- */

/* Contents for parameters, states and keys of g. */
static gcut_tensors read_weights(gcut_arena *a, const gcut_graph *g, const gcut_export_options *how)
{
    gcut_tensors out = {0};
    if (!how->weights) return out;
    gcut_tensor_file *f = gcut_tensor_file_open(a, how->weights);
    gcut_wanted *w = gcut_calloc(a, (size_t)g->params.n + 1, sizeof *w);
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->params.n; i++) {
        const gcut_param *p = &g->params.at[i];
        if (p->role != GCUT_ROLE_input)
            w[n++] = (gcut_wanted){.name = g->values.at[p->value].name,
                                   .type = gcut_type_of(g, p->value),
                                   .required = p->role == GCUT_ROLE_param};
    }
    const gcut_load_options load = {.rename = how->rename, .convert = how->convert, .partial = how->partial};
    gcut_match_tensors(g, f, &load, true, w, n);
    for (uint32_t i = 0; i < n; i++) {
        if (!w[i].found) continue;
        gcut_tensor x = gcut_tensor_as(a, f, w[i].found, w[i].type->dtype);
        x.name = w[i].name;
        *GCUT_PUSH(a, &out) = x;
    }
    return out;
}

/* Contents that the text declares, for what the file of weights lacks. */
static void add_declared(gcut_arena *a, const gcut_graph *g, gcut_open_files *open, gcut_tensors *x)
{
    const gcut_module *m = g->module;
    for (uint32_t i = 0; i < m->data.n; i++)
        if (gcut_data_is_of(&m->data.at[i], g) && !gcut_tensors_find(x, m->data.at[i].name))
            *GCUT_PUSH(a, x) = gcut_data_contents(a, m, &m->data.at[i], open);
}

/* ---- the call ---- */

static void describe(gcut_export_info *info, const gcut_onnx_export *made)
{
    *info = (gcut_export_info){.nodes = made->nodes,
                               .inputs = made->inputs,
                               .outputs = made->outputs,
                               .initializers = made->initializers,
                               .elements = made->elements,
                               .draws = made->draws,
                               .opset = made->opset,
                               .bytes = (int64_t)made->bytes,
                               .outside = made->outside != NULL};
}

static void write(void *arg)
{
    job *j = arg;
    gcut_env *env = j->g->module->env;
    gcut_export_options how = {0};
    GCUT_COPY_KNOWN(env, gcut_export_options, j->given, j->size, &how);
    gcut_arena *a = gcut_arena_new(env, env->arena); /* also of the copy of the module */
    gcut_graph *given = gcut_module_clone(j->g, a), *g = how.into ? given : prepared(given);
    gcut_open_files open = {0};
    gcut_tensors x = read_weights(a, given, &how);
    add_declared(a, g, &open, &x);
    if (how.into) {
        j->info = gcut_export_into(a, g, &x, &how, j->path);
    } else {
        const gcut_onnx_export made = gcut_onnx_export_model(g, a, &x, j->path, GCUT_ONNX_LARGEST);
        describe(&j->info, &made);
    }
    gcut_arena_free(a);
}

typedef struct step_job {
    gcut_step *s;
    const char *path;
} step_job;

static void write_step(void *arg)
{
    const step_job *j = arg;
    gcut_step_prepare(j->s);
    gcut_arena *a = gcut_arena_new(j->s->env, j->s->arena);
    gcut_graph *g = prepared(gcut_module_clone(j->s->p->primal, a));
    const gcut_tensors x = gcut_step_weights(j->s, a);
    gcut_onnx_export_model(g, a, &x, j->path, GCUT_ONNX_LARGEST);
    gcut_arena_free(a);
}

gcut_status gcut_export_step(gcut_step *step, const char *path)
{
    GCUT_NEED(NULL, step, GCUT_EUSAGE);
    GCUT_NEED(step->env, path, GCUT_EUSAGE);
    return gcut_protect(step->env, write_step, &(step_job){step, path});
}

static void copy_info(void *arg, const gcut_made *m)
{
    memcpy(m->object, arg, sizeof(gcut_export_info));
}

gcut_status gcut_export_onnx_sized(size_t size, gcut_graph *g, const char *path,
                                   const gcut_export_options *opt, gcut_export_info **info)
{
    if (info) *info = NULL;
    GCUT_NEED(NULL, g, GCUT_EUSAGE);
    gcut_env *env = g->module->env;
    GCUT_NEED(env, path, GCUT_EUSAGE);
    job j = {.g = g, .path = path, .given = opt, .size = size};
    const gcut_status status = gcut_protect(env, write, &j);
    if (status == GCUT_OK && info) {
        *info = gcut_made_by(env, sizeof **info, copy_info, &j.info);
        if (!*info) return GCUT_ENOMEM;
    }
    return status;
}
