/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the values of a step hold before the first call.  gcut_initial_of decides it; the step fills its own
 * memory by that (driver/load/step.c), and emitted C gets it as a table.
 */
#include "driver/pipeline/initial_contents.h"

#include <stdlib.h>
#include <string.h>

static const char *name_of(const gcut_pipeline *p, const gcut_param *param)
{
    return p->joint->values.at[param->value].name;
}

static const gcut_data *data_of(const gcut_pipeline *p, const gcut_param *param)
{
    for (uint32_t i = 0; i < p->module->data.n; i++)
        if (!strcmp(p->module->data.at[i].name, name_of(p, param)) &&
            gcut_data_is_of(&p->module->data.at[i], p->joint))
            return &p->module->data.at[i];
    return NULL;
}

bool gcut_caller_gives(const gcut_pipeline *p, const gcut_param *param)
{
    if (param->role == GCUT_ROLE_cotan) return gcut_type_of(p->joint, param->value)->rank > 0;
    return param->role == GCUT_ROLE_input && !data_of(p, param);
}

/* Integers begin in #range(lo, hi), else at 0: index 0 is always valid. */
static gcut_initial drawn(const gcut_pipeline *p, const gcut_param *param)
{
    const gcut_mark *m = gcut_mark_find(&param->marks, GCUT_MARK_range);
    if (gcut_type_of(p->joint, param->value)->dtype == GCUT_BOOL)
        return (gcut_initial){.drawn = true, .lo = 0, .hi = 2};
    return (gcut_initial){.drawn = true, .lo = m ? m->arg[0].i : 0, .hi = m ? m->arg[1].i : 1};
}

gcut_initial gcut_initial_of(const gcut_pipeline *p, const gcut_param *param)
{
    const gcut_data *data;
    switch (param->role) {
    case GCUT_ROLE_param:
    case GCUT_ROLE_input:
    case GCUT_ROLE_state:
        data = data_of(p, param);
        return data ? (gcut_initial){.declared = data} : drawn(p, param);
    case GCUT_ROLE_rng: return (gcut_initial){.drawn = true, .lo = INT64_MIN, .hi = INT64_MAX};
    case GCUT_ROLE_cotan: return (gcut_initial){.number = 1};
    default: return (gcut_initial){0};
    }
}

/* ---- the table of emitted C ---- */

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
    const gcut_param *param = gcut_param_find(p->joint, b->name);
    if (!param || param->role != b->role || gcut_caller_gives(p, param))
        return (gcut_contents){.kind = GCUT_RT_CALLER};
    const gcut_initial v = gcut_initial_of(p, param);
    if (v.declared) return declared(v.declared);
    if (v.drawn) return (gcut_contents){.kind = GCUT_RT_DRAWN, .number = {(double)v.lo, (double)v.hi}};
    return (gcut_contents){.kind = GCUT_RT_SPLAT, .number = {v.number}};
}

const gcut_contents *gcut_pipeline_contents(const gcut_pipeline *p, gcut_arena *a)
{
    uint32_t n;
    const gcut_binding_info *b = gcut_program_bindings(p->program, &n);
    gcut_contents *c = gcut_calloc(a, n + 1, sizeof *c);
    for (uint32_t i = 0; i < n; i++) c[i] = contents_of(p, &b[i]);
    return c;
}
