/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Copies of nodes that differ from them.
 */
#include "graph/node_draft.h"

gcut_draft gcut_draft_of(gcut_arena *a, const gcut_graph *src, uint32_t n, const gcut_ref *map, uint32_t more)
{
    const gcut_node *node = gcut_node_at(src, n);
    gcut_draft d = {.spec = gcut_node_spec_of(src, node), .src = src, .node = n};
    d.args = gcut_calloc(a, node->nargs + 1u, sizeof *d.args);
    d.attrs = gcut_calloc(a, node->nattrs + 2u, sizeof *d.attrs);
    d.regions = gcut_calloc(a, node->nregs + 1u, sizeof *d.regions);
    d.types = gcut_calloc(a, node->nres + more, sizeof *d.types);
    d.names = gcut_calloc(a, node->nres + more, sizeof *d.names);
    for (uint32_t k = 0; k < node->nargs; k++)
        d.args[k] = map ? map[gcut_arg(src, node, k)] : gcut_arg(src, node, k);
    for (uint32_t k = 0; k < node->nattrs; k++) d.attrs[k] = src->attrs.at[node->attr0 + k];
    for (uint32_t k = 0; k < node->nregs; k++) d.regions[k] = *gcut_region_at(src, node, k);
    for (uint32_t k = 0; k < node->nres; k++)
        gcut_draft_result(&d, *gcut_type_of(src, node->res0 + k), src->values.at[node->res0 + k].name);
    d.spec.args = d.args;
    d.spec.attrs = d.attrs;
    d.spec.regions = d.regions;
    d.spec.types = d.types;
    d.spec.names = d.names;
    return d;
}

void gcut_draft_set(gcut_draft *d, gcut_attr attr)
{
    uint32_t k = 0;
    while (k < d->spec.nattrs && d->attrs[k].key != attr.key) k++;
    GCUT_ASSERT(k < gcut_node_at(d->src, d->node)->nattrs + 2u);
    d->attrs[k] = attr;
    if (k == d->spec.nattrs) d->spec.nattrs++;
}

void gcut_draft_result(gcut_draft *d, gcut_type type, const char *name)
{
    d->types[d->spec.ntypes] = type;
    d->names[d->spec.ntypes++] = name;
}

void gcut_draft_keep(gcut_draft *d, const bool *operand, const bool *result)
{
    uint32_t nargs = d->spec.nargs, own = nargs - d->spec.ncaptured, nres = d->spec.ntypes;
    if (operand) d->spec.nargs = d->spec.ncaptured = 0;
    if (result) d->spec.ntypes = 0;
    for (uint32_t k = 0; operand && k < nargs; k++) {
        if (!operand[k]) continue;
        d->args[d->spec.nargs++] = d->args[k];
        d->spec.ncaptured += k >= own;
    }
    for (uint32_t k = 0; result && k < nres; k++)
        if (result[k]) gcut_draft_result(d, d->types[k], d->names[k]);
}

gcut_ref gcut_draft_make(gcut_graph *dst, const gcut_draft *d, const gcut_ref *map)
{
    gcut_marks marks = gcut_marks_carry(dst, d->src, &gcut_node_at(d->src, d->node)->marks, map);
    gcut_ref r = gcut_node_make(dst, &d->spec);
    dst->nodes.at[dst->nodes.n - 1].marks = marks;
    return r;
}
