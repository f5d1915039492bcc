/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Rules write what a value may need; this removes nodes and constants that nothing reads.
 */
#include <string.h>

#include "import/onnx/export/writer.h"

static bool is_used(const gcut_names *used, const char *name)
{
    return gcut_interned(used, name, strlen(name)) != NULL;
}

static void use(gcut_names *used, const char *name)
{
    if (*name) gcut_intern(used, name, strlen(name));
}

static size_t keep_used(gcut_names *used, Onnx__NodeProto **node, size_t n)
{
    size_t first = n;
    for (size_t i = n; i-- > 0;) {
        Onnx__NodeProto *p = node[i];
        bool wanted = false;
        for (size_t k = 0; k < p->n_output; k++) wanted |= is_used(used, p->output[k]);
        if (!wanted) continue;
        for (size_t k = 0; k < p->n_input; k++) use(used, p->input[k]);
        for (size_t k = 0; k < p->n_attribute; k++) {
            Onnx__GraphProto *g = p->attribute[k]->g;
            for (size_t o = 0; g && o < g->n_output; o++) use(used, g->output[o]->name);
            if (g) g->n_node = keep_used(used, g->node, g->n_node);
        }
        node[--first] = p;
    }
    memmove(node, node + first, (n - first) * sizeof *node);
    return n - first;
}

static size_t count(const Onnx__GraphProto *g)
{
    size_t n = g->n_node;
    for (size_t i = 0; i < g->n_node; i++)
        for (size_t k = 0; k < g->node[i]->n_attribute; k++)
            if (g->node[i]->attribute[k]->g) n += count(g->node[i]->attribute[k]->g);
    return n;
}

void gcut_onnx_drop_unused(gcut_onnx_writer *w, Onnx__GraphProto *g)
{
    gcut_names used = {.arena = w->a};
    uint32_t kept = 0;
    for (size_t k = 0; k < g->n_output; k++) use(&used, g->output[k]->name);
    if (g->n_node) g->n_node = keep_used(&used, g->node, g->n_node);
    for (uint32_t i = 0; i < w->initializers.n; i++) {
        if (!is_used(&used, w->initializers.at[i]->name)) continue;
        w->initializers.at[kept] = w->initializers.at[i];
        w->data.at[kept++] = w->data.at[i];
    }
    w->initializers.n = w->data.n = kept;
    w->nodes = count(g);
}
