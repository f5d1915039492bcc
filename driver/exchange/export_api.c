/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The public API of models that are written.
 */
#include <string.h>

#include "driver/ctx.h"
#include "driver/exchange/contents.h"
#include "driver/exchange/renamings.h"
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

typedef struct weights {
    const gcut_graph *g; /* the function as it was given */
    const gcut_export_options *how;
    gcut_arena *a;
    gcut_tensor_file *f;
    gcut_tensors out; /* what the function gets */
    gcut_text lines;  /* what does not fit */
    uint32_t problems;
} weights;

enum { LISTED = 100 }; /* lines of one message */

static void add_line(weights *w, const char *what, const char *name, const char *found, const char *wanted)
{
    if (++w->problems <= LISTED)
        gcut_text_add(&w->lines, "%s%-14s %s, %s%s%s", w->lines.n ? "\n" : "", what, name, found,
                      wanted ? ", not " : "", wanted ? wanted : "");
    if (w->problems == LISTED + 1) gcut_text_add(&w->lines, "\nand more");
}

static const gcut_tensor *find(const gcut_tensors *x, const char *name)
{
    for (uint32_t i = 0; i < x->n; i++)
        if (!strcmp(x->at[i].name, name)) return &x->at[i];
    return NULL;
}

static bool same_shape(const gcut_type *t, const gcut_tensor *x)
{
    bool same = t->rank == x->rank;
    for (uint32_t r = 0; same && r < x->rank; r++)
        same = !gcut_dim_known(t->dim[r]) || t->dim[r] == x->dim[r];
    return same;
}

static void take(weights *w, const char *name, const gcut_tensor *x)
{
    const gcut_param *p = gcut_param_find(w->g, name);
    const char *found = gcut_tensor_type_text(w->a, x);
    if (!p || p->role == GCUT_ROLE_input) {
        if (!w->how->partial) add_line(w, "left over", name, found, NULL);
        return;
    }
    const gcut_type *t = gcut_type_of(w->g, p->value);
    const char *wanted = gcut_type_text(w->a, w->g->module, t);
    if (find(&w->out, name)) {
        add_line(w, "twice", name, found, NULL);
    } else if (!same_shape(t, x)) {
        add_line(w, "another shape", name, found, wanted);
    } else if (x->dtype != t->dtype && !(w->how->convert && gcut_tensor_converts(x, t->dtype))) {
        add_line(w, "another dtype", name, found, wanted);
    } else {
        gcut_tensor own = *x;
        own.name = name;
        gcut_tensor_load(w->f, x);
        own.data = x->data;
        if (x->dtype != t->dtype) {
            void *at = gcut_calloc(w->a, (size_t)x->n + 1, (size_t)gcut_dtype_bytes(t->dtype));
            gcut_tensor_copy(w->g->module->env, w->f, x, t->dtype, at);
            own.dtype = t->dtype;
            own.data = at;
        }
        *GCUT_PUSH(w->a, &w->out) = own;
    }
}

/* Every param must be in the file, states and keys need not be. */
static gcut_tensors read_weights(gcut_arena *a, const gcut_graph *g, const gcut_export_options *how)
{
    gcut_env *env = g->module->env;
    weights w = {.g = g, .how = how, .a = a, .lines = {.arena = a}};
    if (!how->weights) return w.out;
    w.f = gcut_tensor_file_open(a, how->weights);
    const gcut_renamings rules = gcut_read_renamings(env, a, how->rename);
    for (uint32_t i = 0; i < w.f->tensor.n; i++)
        take(&w, gcut_renamed(a, &rules, w.f->tensor.at[i].name), &w.f->tensor.at[i]);
    for (uint32_t i = 0; i < g->params.n && !how->partial && !w.problems; i++) {
        const gcut_ref v = g->params.at[i].value;
        const char *name = g->values.at[v].name;
        if (g->params.at[i].role == GCUT_ROLE_param && !find(&w.out, name))
            add_line(&w, "missing", name, gcut_type_text(a, g->module, gcut_type_of(g, v)), NULL);
    }
    if (w.problems)
        gcut_fail(env, GCUT_ETYPE, (gcut_place){.file = how->weights}, w.lines.at,
                  "the weights in '%s' do not fit @%s: %u problem%s", how->weights, g->name, w.problems,
                  w.problems == 1 ? "" : "s");
    return w.out;
}

/* Contents that the text declares, of what no file has. */
static void add_declared(gcut_arena *a, const gcut_graph *g, gcut_open_files *open, gcut_tensors *x)
{
    const gcut_module *m = g->module;
    for (uint32_t i = 0; i < m->data.n; i++)
        if (gcut_data_is_of(&m->data.at[i], g) && !find(x, m->data.at[i].name))
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
    gcut_graph *given = gcut_module_clone(j->g, a), *g = prepared(given);
    gcut_open_files open = {0};
    gcut_tensors x = read_weights(a, given, &how);
    add_declared(a, g, &open, &x);
    const gcut_onnx_export made = gcut_onnx_export_model(g, a, &x, j->path, GCUT_ONNX_LARGEST);
    describe(&j->info, &made);
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
