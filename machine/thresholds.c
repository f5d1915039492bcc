/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Thresholds of decisions about kernels, from a machine model.
 *
 * in: a model.   out: picoseconds of one core.   keeps: with the shipped model, the numbers of thresholds.def
 * and of the op table.
 */
#include "machine/machine.h"

#include <math.h>

const char *const gcut_threshold_names[GCUT_NTHRESHOLDS] = {
#define THRESHOLD(id, ps, follows, what) #id,
#include "machine/thresholds.def"
#undef THRESHOLD
};

enum { MOST_PS = 100000 }; /* keeps picoseconds times elements within 64 bits */

/* A section of the model and the one of the shipped model that it is compared with. */
typedef struct pair {
    gcut_machine m, shipped;
    double
        teams; /* threads of m over those of shipped: rates are of all threads together, thresholds of one core */
} pair;

static int whole_ps(double ps)
{
    return (int)fmin(fmax(nearbyint(ps), 1), MOST_PS);
}

static double core(const pair *p)
{
    return p->teams * p->m.op_scale / p->shipped.op_scale;
}

static double read(const pair *p)
{
    return p->teams * p->m.read_ns_per_byte[GCUT_DRAM] / p->shipped.read_ns_per_byte[GCUT_DRAM];
}

static double write(const pair *p)
{
    return p->teams * p->m.write_ns_per_byte[GCUT_DRAM] / p->shipped.write_ns_per_byte[GCUT_DRAM];
}

static double threshold(const gcut_machine *m, gcut_threshold i, double shipped_ps, double times)
{
    return m->threshold_ps[i] > 0 ? m->threshold_ps[i] : shipped_ps * times;
}

/* Of an op that takes less than an addition the measured time is noise: it counts as one. */
static double ns_of(const gcut_machine *m, gcut_op op)
{
    return fmax(m->op_ns[op][0], m->op_ns[GCUT_OP_add][0]);
}

/* How much longer the op takes than on the shipped model's machine; as all ops together, where one of the two
 * has not measured it. */
static double op_times(const pair *p, gcut_op op)
{
    if (!(p->m.op_ns[op][0] > 0 && p->shipped.op_ns[op][0] > 0)) return core(p);
    return p->teams * ns_of(&p->m, op) / ns_of(&p->shipped, op);
}

gcut_thresholds gcut_machine_thresholds(const gcut_machine_model *model)
{
    pair p = {.m = gcut_machine_at(model, 1)};
    p.shipped = gcut_machine_at(gcut_machine_model_shipped(), (int)p.m.threads);
    p.teams = p.m.threads / p.shipped.threads;
    gcut_thresholds t = {.threads = model->default_threads};
#define THRESHOLD(id, shipped_ps, follows, what)                                                             \
    t.ps[GCUT_THRESHOLD_##id] = whole_ps(threshold(&p.m, GCUT_THRESHOLD_##id, shipped_ps, follows(&p)));
#include "machine/thresholds.def"
#undef THRESHOLD
    for (int op = 0; op < GCUT_NOPS; op++) {
        int ps = gcut_op_get((gcut_op)op)->cost_ps;
        t.op_ps[op] = ps > 0 ? whole_ps(ps * op_times(&p, (gcut_op)op)) : 0;
    }
    return t;
}
