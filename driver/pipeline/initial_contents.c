/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the values of a compiled step hold before the first call, for a table in emitted C: as gcut_step
 * fills values that the caller does not bind (step.c), by the same rules.
 */
#include "driver/pipeline/initial_contents.h"

#include <stdlib.h>
#include <string.h>

const gcut_data *gcut_pipeline_data(const gcut_pipeline *p, const char *name)
{
    for (uint32_t i = 0; i < p->module->data.n; i++)
        if (!strcmp(p->module->data.at[i].name, name)) return &p->module->data.at[i];
    return NULL;
}

gcut_int_range gcut_marked_range(const gcut_marks *marks)
{
    const gcut_mark *m = gcut_mark_find(marks, GCUT_MARK_range);
    return m ? (gcut_int_range){m->arg[0].i, m->arg[1].i} : (gcut_int_range){0, 1};
}

/* Of a parameter of the joint graph. */
static gcut_int_range range_of(const gcut_pipeline *p, const char *name)
{
    const gcut_value *v = &p->joint->values.at[gcut_graph_find(p->joint, name)];
    return gcut_marked_range(&p->joint->params.at[v->index].marks);
}

static gcut_contents declared(const gcut_data *d)
{
    static const gcut_rt_contents kinds[GCUT_NDATA_KINDS] = {[GCUT_DATA_splat] = GCUT_RT_SPLAT,
                                                             [GCUT_DATA_dense] = GCUT_RT_DENSE,
                                                             [GCUT_DATA_file] = GCUT_RT_FILE,
                                                             [GCUT_DATA_normal] = GCUT_RT_NORMAL,
                                                             [GCUT_DATA_uniform] = GCUT_RT_UNIFORM};
    gcut_contents c = {.kind = kinds[d->kind], .file = d->file, .key = d->key};
    bool dense = d->kind == GCUT_DATA_dense;
    if (dense) c.list = d->nums, c.n = d->nnums;
    for (uint32_t k = 0; k < 3 && k < d->nnums && !dense; k++) c.number[k] = d->nums[k];
    return c;
}

static gcut_contents contents_of(const gcut_pipeline *p, const gcut_binding_info *b)
{
    const gcut_data *d = gcut_pipeline_data(p, b->name);
    bool ours = !gcut_graph_find(p->primal, b->name); /* added by the optimizer */
    gcut_contents c = {.kind = GCUT_RT_CALLER};
    gcut_int_range range;
    switch (b->role) {
    case GCUT_ROLE_param:
    case GCUT_ROLE_state:
        if (d) return declared(d);
        c.kind = ours ? GCUT_RT_SPLAT : GCUT_RT_DRAWN;
        if (ours) return c;
        range = range_of(p, b->name);
        c.number[0] = (double)range.lo;
        c.number[1] = b->type.dtype == GCUT_BOOL ? 2 : (double)range.hi;
        return c;
    case GCUT_ROLE_rng: return (gcut_contents){.kind = GCUT_RT_DRAWN, .number = {-0x1p63, 0x1p63}};
    case GCUT_ROLE_cotan: return b->type.rank ? c : (gcut_contents){.kind = GCUT_RT_SPLAT, .number = {1}};
    case GCUT_ROLE_input:
        if (ours) return (gcut_contents){.kind = GCUT_RT_SPLAT, .number = {p->optimizer.lr}};
        return c;
    default: return c;
    }
}

const gcut_contents *gcut_pipeline_contents(const gcut_pipeline *p, gcut_arena *a)
{
    uint32_t n;
    const gcut_binding_info *b = gcut_program_bindings(p->program, &n);
    gcut_contents *c = gcut_calloc(a, n + 1, sizeof *c);
    for (uint32_t i = 0; i < n; i++) c[i] = contents_of(p, &b[i]);
    return c;
}
