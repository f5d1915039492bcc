/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Parameters find their initializers by the names that the import gives them.
 */
#include "driver/exchange/export_into.h"

#include <string.h>

#include "base/map.h"
#include "driver/exchange/matching.h"
#include "import/onnx/export/export.h"
#include "import/onnx/export/replaced_elements.h"
#include "import/onnx/import.h"

typedef struct initializers {
    gcut_onnx_parameter_names names;
    gcut_names known;
    gcut_map by_own; /* of a parameter's name: the place in names, + 1 */
} initializers;

static initializers list_initializers(gcut_arena *a, const gcut_onnx_file *f, const Onnx__GraphProto *p)
{
    initializers l = {.names = gcut_onnx_name_parameters(a, p), .known = {.arena = a}};
    gcut_names given = {.arena = a};
    for (uint32_t i = l.names.ninputs; i < l.names.n; i++) {
        const gcut_onnx_parameter_name *x = &l.names.at[i];
        const char *own = gcut_intern(&l.known, x->own, strlen(x->own));
        if (gcut_interned(&given, x->of, strlen(x->of)))
            gcut_fail(gcut_arena_env(a), GCUT_ETYPE, (gcut_place){.file = f->name}, NULL,
                      "two initializers of the model have the name '%s'", x->of);
        gcut_intern(&given, x->of, strlen(x->of));
        *gcut_map_at(a, &l.by_own, gcut_map_key(own)) = i + 1;
    }
    return l;
}

/* The place among the initializers; GCUT_NONE: there is none for that parameter. */
static uint32_t initializer_of(const initializers *l, const char *name)
{
    const char *own = gcut_interned(&l->known, name, strlen(name));
    const uint32_t i = own ? gcut_map_get(&l->by_own, gcut_map_key(own)) : 0;
    return i ? i - 1 - l->names.ninputs : GCUT_NONE;
}

static bool is_updated(const gcut_graph *g, const char *name)
{
    for (uint32_t i = 0; i < g->results.n; i++)
        if (g->results.at[i].role == GCUT_ROLE_next && !strcmp(g->results.at[i].name, name)) return true;
    return false;
}

/* Contents of a parameter as elements of its initializer, `to`, which is called `name`.  Where the parameter has symbolic
 * sizes, both may fit it and differ. */
static gcut_tensor as_elements(gcut_arena *a, const gcut_tensor *x, const gcut_tensor *to, const char *name)
{
    bool same = x->rank == to->rank;
    for (uint32_t r = 0; same && r < x->rank; r++) same = x->dim[r] == to->dim[r];
    if (!same)
        gcut_fail(gcut_arena_env(a), GCUT_ETYPE, (gcut_place){0}, NULL,
                  "the contents of %%%s are %s, its initializer is %s", x->name, gcut_tensor_type_text(a, x),
                  gcut_tensor_type_text(a, to));
    gcut_tensor out = gcut_tensor_as(a, NULL, x, to->dtype);
    out.name = name;
    return out;
}

static gcut_export_info describe(gcut_onnx_file *f, const Onnx__ModelProto *m, const initializers *l)
{
    gcut_export_info info = {.inputs = l->names.ninputs,
                             .outputs = m->graph->n_output,
                             .opset = gcut_onnx_opset(m->opset_import, m->n_opset_import, "")};
    const gcut_onnx_uses uses = gcut_onnx_ops_of(f, m);
    for (uint32_t i = 0; i < uses.n; i++) info.nodes += uses.at[i].nodes;
    return info;
}

gcut_export_info gcut_export_into(gcut_arena *a, const gcut_graph *g, const gcut_tensors *contents,
                                  const gcut_export_options *how, const char *path)
{
    gcut_env *env = gcut_arena_env(a);
    gcut_onnx_file *f = gcut_onnx_open(a, how->into);
    const Onnx__ModelProto *m = gcut_onnx_model(f);
    if (!m->graph)
        gcut_fail(env, GCUT_ESYNTAX, (gcut_place){.file = f->name}, NULL,
                  "the file has no graph: this is no ONNX model");
    const initializers l = list_initializers(a, f, m->graph);
    gcut_export_info info = describe(f, m, &l);
    gcut_tensor_file own = {.name = f->name}; /* the initializers, called as parameters */
    gcut_wanted *w = gcut_calloc(a, (size_t)g->params.n + 1, sizeof *w);
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->params.n; i++) {
        const gcut_param *p = &g->params.at[i];
        const char *name = g->values.at[p->value].name;
        if (p->role != GCUT_ROLE_param && p->role != GCUT_ROLE_state) continue;
        const uint32_t k = initializer_of(&l, name);
        w[n++] = (gcut_wanted){.name = name,
                               .type = gcut_type_of(g, p->value),
                               .required = p->role == GCUT_ROLE_param || is_updated(g, name)};
        if (k == GCUT_NONE) continue;
        gcut_tensor x = gcut_onnx_tensor(f, m->graph->initializer[k]);
        x.name = name;
        *GCUT_PUSH(a, &own.tensor) = x;
    }
    gcut_match_tensors(g, &own, &(gcut_load_options){.convert = how->convert}, false, w, n);
    gcut_tensors elements = {0};
    for (uint32_t i = 0; i < n; i++) {
        const gcut_param *p = gcut_param_find(g, w[i].name);
        const bool is_param = p->role == GCUT_ROLE_param;
        const gcut_tensor *x = is_param && !how->partial ? gcut_onnx_contents_of(g, contents, p->value)
                                                         : gcut_tensors_find(contents, w[i].name);
        if (!x || !w[i].found) continue;
        const char *name = l.names.at[l.names.ninputs + initializer_of(&l, w[i].name)].of;
        *GCUT_PUSH(a, &elements) = as_elements(a, x, w[i].found, name);
        info.initializers++;
        if (is_param) info.elements += x->n;
    }
    const gcut_onnx_replaced made = gcut_onnx_replace_elements(f, a, &elements, path);
    info.bytes = (int64_t)made.bytes;
    info.outside = made.outside != NULL;
    return info;
}
