/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The certificate of a plan, from the plan, its problem and its program.
 */
#include <math.h>
#include <string.h>

#include "driver/certificate/certificate.h"
#include "graph/ops/value_bytes.h"
#include "partition/cut/frontier.h"
#include "partition/cut/storage_format.h"
#include "text/text.h"

typedef struct making {
    const gcut_plan *plan;
    const gcut_pipeline *p;
    const gcut_graph *g;
    gcut_arena *a;
    gcut_certificate *c;
} making;

static const char *name_of(const making *m, gcut_ref v)
{
    return m->g->values.at[v].name;
}

/* ---- schedule ---- */

static void add_schedule(const making *m)
{
    const gcut_graph *g = m->g;
    for (uint32_t k = 0; k < m->plan->forward.n; k++)
        *GCUT_PUSH(m->a, &m->c->forward) = name_of(m, gcut_node_at(g, m->plan->forward.node[k])->res0);
    for (uint32_t k = 0; k < m->plan->backward.n; k++)
        *GCUT_PUSH(m->a, &m->c->backward) = name_of(m, gcut_node_at(g, m->plan->backward.node[k])->res0);
}

/* ---- bound ---- */

static gcut_claimed_arc_kind kind_of(gcut_arc_kind k)
{
    switch (k) {
    case GCUT_ARC_RECOMPUTE: return GCUT_CLAIMED_RECOMPUTE;
    case GCUT_ARC_SAVE: return GCUT_CLAIMED_SAVE;
    case GCUT_ARC_OPERAND: return GCUT_CLAIMED_OPERAND;
    case GCUT_ARC_READ: return GCUT_CLAIMED_READ;
    }
    GCUT_NEVER("every kind is above");
}

/* The network at the bound's lambda with a maximum flow. */
static double add_arcs(const making *m, const gcut_problem *at)
{
    gcut_network *net = gcut_problem_network(at, m->a);
    gcut_network_at(net, m->c->lambda);
    const double *flow = gcut_flow_of(net, m->a);
    double value = 0;
    for (uint32_t i = 0; i < net->arcs.n; i++) {
        const gcut_arc *x = &net->arcs.at[i];
        *GCUT_PUSH(m->a, &m->c->arcs) = (gcut_claimed_arc){.kind = kind_of(x->kind),
                                                           .from = x->from,
                                                           .to = x->to,
                                                           .value = name_of(m, x->value),
                                                           .ns = x->fixed,
                                                           .bytes = x->bytes,
                                                           .capacity = x->price,
                                                           .flow = flow[i]};
        if (x->from == GCUT_NET_SOURCE) value += flow[i];
    }
    return value;
}

/* What every plan pays for forced saves, each in its cheapest format at lambda. */
static double add_forced(const making *m, const gcut_problem *p)
{
    double sum = 0;
    for (gcut_ref v = 1; v < m->g->values.n; v++) {
        if (p->force[v] != GCUT_CONSTRAINT_SAVE) continue;
        const gcut_format f = gcut_format_of(p, v, m->c->lambda);
        const gcut_claimed_forced x = {name_of(m, v), gcut_saved_ns(p, v, f),
                                       gcut_value_saved_bytes(p, v, f)};
        *GCUT_PUSH(m->a, &m->c->forced) = x;
        sum += x.ns + m->c->lambda * (double)x.bytes;
    }
    return sum;
}

/* Under a limit on what crosses, the lambda whose minimum cut bounds best; else the plan's own. */
static void add_bound(const making *m)
{
    const gcut_plan *plan = m->plan;
    gcut_certificate *c = m->c;
    c->limit = -1;
    c->proved_ns = NAN;
    c->lambda = plan->options.lambda;
    if (isnan(plan->lower_bound_ns)) return;
    const gcut_problem *p = gcut_problem_of(m->a, plan);
    if (plan->options.saved_limited) c->limit = plan->options.saved_budget;
    if (plan->budget) c->limit = plan->budget - gcut_resident_bytes(m->p->joint, m->p->at, m->p->nat);
    if (c->limit >= 0) c->lambda = gcut_bound_proving_bytes(gcut_corners_of(p, m->a), c->limit)->lambda;
    const gcut_problem at = gcut_problem_at(p, m->a, c->lambda);
    c->proved_ns = add_arcs(m, &at) + add_forced(m, p);
    if (c->limit >= 0) c->proved_ns -= c->lambda * (double)c->limit;
}

/* ---- memory and time ---- */

/* The buffers of what crosses: parameters of the backward graph named as the value, or value.bf16 and value.bits. */
static void add_saved(const making *m, const int64_t *index)
{
    const gcut_graph *bwd = m->p->kbwd;
    for (gcut_ref v = 1; v < m->g->values.n; v++) {
        const gcut_decision *d = &m->plan->value[v];
        if (d->decision != GCUT_PLAN_SAVED || d->format == GCUT_FORMAT_GRAD) continue;
        const char *name = name_of(m, v);
        if (gcut_format_packs(d->format))
            name = gcut_printf(m->a, "%s.%s", name, gcut_format_name(d->format));
        const gcut_param *x = gcut_param_find(bwd, name);
        const uint32_t b =
            x ? gcut_program_place_of(m->p->program, GCUT_BACKWARD, x->value).buffer : GCUT_NONE;
        *GCUT_PUSH(m->a, &m->c->saved) = (gcut_claimed_saved){
            .value = name_of(m, v), .bytes = d->bytes, .buffer = b == GCUT_NONE ? -1 : index[b]};
    }
}

static void add_program(const making *m)
{
    const gcut_pipeline *p = m->p;
    uint32_t n;
    gcut_memory memory;
    const gcut_placed *b = gcut_program_placement(p->program, p->at, p->nat, p->threads, m->a, &n, &memory);
    int64_t *index = gcut_calloc(m->a, n + 1u, sizeof *index);
    for (uint32_t i = 0; i < n; i++) {
        index[i] = -1;
        if (b[i].offset < 0) continue;
        index[i] = m->c->buffers.n;
        *GCUT_PUSH(m->a, &m->c->buffers) = (gcut_claimed_buffer){.name = b[i].name,
                                                                 .block = b[i].in == GCUT_PLACED_BLOCK,
                                                                 .saved = b[i].saved,
                                                                 .bytes = b[i].bytes,
                                                                 .offset = b[i].offset,
                                                                 .first = b[i].birth,
                                                                 .last = b[i].death};
    }
    add_saved(m, index);
    const gcut_costs costs = gcut_program_touches(p->program, p->machine, p->at, p->nat, p->threads, m->a);
    for (uint32_t i = 0; i < costs.n; i++) {
        const gcut_cost *x = &costs.at[i];
        int64_t *uses = gcut_calloc(m->a, x->nbuffers + 1u, sizeof *uses);
        for (uint32_t k = 0; k < x->nbuffers; k++) uses[k] = index[x->buffer[k]];
        *GCUT_PUSH(m->a, &m->c->kernels) = (gcut_claimed_kernel){.launch = x->launch,
                                                                 .makes = x->value,
                                                                 .backward = x->graph != 0,
                                                                 .runs = x->times,
                                                                 .ns = x->ns,
                                                                 .uses = uses,
                                                                 .nuses = x->nbuffers};
    }
}

gcut_certificate *gcut_certificate_of(const gcut_plan *plan, gcut_arena *arena)
{
    GCUT_ASSERT(plan->pipeline && plan->pipeline->program);
    making m = {.plan = plan, .p = plan->pipeline, .g = plan->joint, .a = arena};
    m.c = gcut_calloc(arena, 1, sizeof *m.c);
    gcut_text graph = {.arena = arena};
    m.c->threads = m.p->threads;
    if (plan->joint != m.p->joint) {
        gcut_print_graph(plan->joint, &(gcut_print_options){.no_loc = true}, &graph);
        m.c->graph = graph.at;
    }
    add_schedule(&m);
    add_bound(&m);
    add_program(&m);
    return m.c;
}
