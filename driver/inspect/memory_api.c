/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Memory over a training step: gcut_memory_new.
 *
 * The program has a timeline of steps, each buffer its first and last.  An event is a launch; the steps up to the next
 * launch, of epilogues and what belongs to loops, are part of it.  So the largest sum of the events is the largest of
 * the steps.
 */
#include "gradcut/inspect.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "driver/inspect/of_pipeline.h"
#include "driver/inspect/table_text.h"
#include "driver/options/default_sizes.h"
#include "driver/options/options.h"
#include "graph/ops/value_bytes.h"
#include "partition/policies/policy.h"
#include "partition/query/plan_queries.h"
#include "report/report.h"

typedef struct profiling {
    gcut_env *env;
    gcut_graph *g;
    const gcut_options *given; /* of `size` bytes */
    size_t size, how_size;
    const gcut_memory_options *how_given; /* of `how_size` bytes */
} profiling;

/* The steps of the timeline in which a buffer is alive. */
typedef struct span {
    gcut_memory_buffer *of;
    uint32_t first, last;
} span;

/* One step's profile. */
typedef struct making {
    gcut_arena *keep, *a;
    const gcut_pipeline *p;
    const gcut_graph *joint;
    gcut_costs costs;
    uint32_t nsteps;
    uint32_t *event;                      /* by step of the timeline: the event that it is part of */
    int64_t (*live)[GCUT_MEMORY_CLASSES]; /* by step */
    gcut_memory_event **at;               /* by event */
    GCUT_VEC(span) buffers;
    uint32_t peak_step;
    gcut_memory_profile *out;
} making;

/* ---- buffers ---- */

static void add(making *m, gcut_memory_buffer *b, uint32_t first, uint32_t last)
{
    *GCUT_PUSH(m->a, &m->buffers) = (span){b, first, last};
    m->live[first][b->kind] += b->bytes;
    m->live[last + 1][b->kind] -= b->bytes;
}

/* Of a value; "" for the unknown one. */
static const char *known_line(const making *m, const gcut_graph *g, gcut_ref v)
{
    const gcut_node *n = gcut_def(g, v);
    const char *line = gcut_query_line(m->a, g->module, n ? n->loc : 0);
    return strcmp(line, "-") ? gcut_keep(m->keep, line) : "";
}

static const char *made_at(const making *m, size_t event)
{
    const gcut_memory_event *e = m->at[event];
    return gcut_printf(m->keep, "%%%s %s", e->value, e->op);
}

static gcut_memory_class class_of_role(gcut_role r)
{
    switch (r) {
    case GCUT_ROLE_param: return GCUT_MEMORY_PARAMETERS;
    case GCUT_ROLE_state: return GCUT_MEMORY_STATES;
    case GCUT_ROLE_grad: return GCUT_MEMORY_GRADIENTS;
    case GCUT_ROLE_out: return GCUT_MEMORY_RESULTS;
    default: return GCUT_MEMORY_INPUTS;
    }
}

static const char *type_of(const making *m, const gcut_graph *g, gcut_ref v)
{
    return gcut_query_type_at(m->keep, g, v, m->p->at, m->p->nat);
}

/* What the caller binds is there from the first to the last event. */
static void add_bound(making *m, gcut_role role, const char *name, gcut_ref v)
{
    const gcut_pipeline *p = m->p;
    gcut_memory_buffer *b = GCUT_NEW(m->keep, gcut_memory_buffer, .name = gcut_keep(m->keep, name),
                                     .type = type_of(m, m->joint, v), .kind = class_of_role(role),
                                     .bytes = gcut_value_bytes(m->joint, v, p->at, p->nat), .offset = -1,
                                     .op = gcut_role_name(role), .where = known_line(m, m->joint, v),
                                     .last = m->costs.n ? m->costs.n - 1 : 0);
    add(m, b, 0, m->nsteps - 1);
}

static void add_all_bound(making *m)
{
    const gcut_graph *g = m->joint;
    for (uint32_t i = 0; i < g->params.n; i++)
        add_bound(m, g->params.at[i].role, g->values.at[g->params.at[i].value].name, g->params.at[i].value);
    for (uint32_t i = 0; i < g->results.n; i++)
        if (g->results.at[i].role != GCUT_ROLE_next) /* it is in the memory of what it replaces */
            add_bound(m, g->results.at[i].role, g->results.at[i].name, g->results.at[i].value);
}

/* A parameter's gradient, which an optimizer reads: the reverse pass names it so. */
static bool is_gradient(const gcut_graph *g, const char *name)
{
    const gcut_param *x = *name == 'd' ? gcut_param_find(g, name + 1) : NULL;
    return x && x->role == GCUT_ROLE_param;
}

/* Does the backward graph recompute the value of that name?  The split has marked its node. */
static bool is_recomputed(const making *m, const char *name)
{
    const gcut_graph *bwd = m->p->kbwd;
    const gcut_ref v = gcut_graph_find(bwd, name);
    const gcut_node *n = v ? gcut_def(bwd, v) : NULL;
    return n && gcut_mark_find(&n->marks, GCUT_MARK_recomputed);
}

static gcut_memory_class class_of(const making *m, const gcut_placed *b)
{
    if (b->workspace) return GCUT_MEMORY_WORKSPACE;
    if (b->saved) return GCUT_MEMORY_SAVED;
    if (!m->at[m->event[b->birth]]->backward) return GCUT_MEMORY_TEMPORARIES;
    if (is_recomputed(m, b->name)) return GCUT_MEMORY_RECOMPUTED;
    return is_gradient(m->joint, b->name) ? GCUT_MEMORY_GRADIENTS : GCUT_MEMORY_TEMPORARIES;
}

/* A value, and the graph that it is in; v 0: none. */
typedef struct found_value {
    const gcut_graph *g;
    gcut_ref v;
} found_value;

/* The value of that name in g, or in bodies of its nodes, whose names are of one value each. */
static found_value find_in(const gcut_graph *g, const char *name)
{
    found_value x = {g, gcut_graph_find(g, name)};
    for (uint32_t i = 0; !x.v && i < g->regions.n; i++) x = find_in(g->regions.at[i].body, name);
    return x;
}

/* The value that the buffer holds: of the joint graph, else, as in the body of a loop, of a lowered graph. */
static found_value held_in(const making *m, const gcut_placed *b, gcut_ref saved)
{
    if (saved) return (found_value){m->joint, saved};
    if (b->workspace) return (found_value){m->joint, 0};
    const gcut_ref v = gcut_graph_find(m->joint, b->name);
    if (v) return (found_value){m->joint, v};
    return find_in(m->at[m->event[b->birth]]->backward ? m->p->kbwd : m->p->kfwd, b->name);
}

/* saved: the value of the joint graph that crosses in it; 0: none does. */
static void add_placed(making *m, const gcut_placed *b, gcut_ref saved)
{
    const found_value x = held_in(m, b, saved);
    const bool block = b->in == GCUT_PLACED_BLOCK;
    const uint32_t first = block ? 0 : (uint32_t)b->birth, last = block ? m->nsteps - 1 : (uint32_t)b->death;
    const gcut_memory_event *maker = m->at[m->event[b->birth]];
    gcut_memory_buffer *out =
        GCUT_NEW(m->keep, gcut_memory_buffer,
                 .name = gcut_keep(m->keep, saved ? m->joint->values.at[saved].name : b->name),
                 .type = x.v ? type_of(m, x.g, x.v) : NULL, .kind = class_of(m, b),
                 .bytes = gcut_bytes_lines(m->p->env, m->p->module->file, b->name, b->bytes),
                 .offset = block ? -1 : b->offset, .first = m->event[first], .last = m->event[last],
                 .op = x.v ? gcut_maker_name(x.g, x.v) : maker->op,
                 .where = x.v ? known_line(m, x.g, x.v) : maker->where,
                 .made_by = made_at(m, m->event[b->birth]), .last_read_by = made_at(m, m->event[b->death]));
    add(m, out, first, last);
}

static int by_first(const void *a, const void *b)
{
    const gcut_memory_buffer *x = ((const span *)a)->of, *y = ((const span *)b)->of;
    if (x->first != y->first) return x->first < y->first ? -1 : 1;
    if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* By buffer, n of them: the value that crosses in it.  The buffer may be named after what was in it before. */
static const gcut_ref *saved_values(const making *m, uint32_t n)
{
    const gcut_graph *g = m->joint, *bwd = m->p->kbwd;
    gcut_ref *out = gcut_calloc(m->a, n + 1u, sizeof *out);
    for (uint32_t i = 0; bwd && i < bwd->params.n; i++) {
        const gcut_param *x = &bwd->params.at[i];
        if (x->role != GCUT_ROLE_saved) continue;
        const uint32_t b = gcut_program_place_of(m->p->program, GCUT_BACKWARD, x->value).buffer;
        const gcut_ref v = gcut_graph_find(g, bwd->values.at[x->value].name);
        if (b < n && !out[b]) out[b] = v;
    }
    return out;
}

static void add_arena(making *m)
{
    const gcut_pipeline *p = m->p;
    const uint32_t bound = m->buffers.n;
    uint32_t n;
    gcut_memory memory;
    const gcut_placed *b = gcut_program_placement(p->program, p->at, p->nat, p->threads, m->a, &n, &memory);
    const gcut_ref *saved = saved_values(m, n);
    for (uint32_t i = 0; i < n; i++)
        if ((b[i].in == GCUT_PLACED_ARENA || b[i].in == GCUT_PLACED_BLOCK) && b[i].birth >= 0)
            add_placed(m, &b[i], saved[i]);
    if (m->buffers.n > bound)
        qsort(m->buffers.at + bound, m->buffers.n - bound, sizeof *m->buffers.at, by_first);
}

/* ---- events ---- */

/* As of values, where the launch is named after one of the joint graph. */
static const char *line_of(const making *m, const gcut_cost *c)
{
    const gcut_ref v = gcut_graph_find(m->joint, c->value);
    if (v) return known_line(m, m->joint, v);
    return c->place.file && c->place.line ? gcut_printf(m->keep, "%s:%d", c->place.file, c->place.line) : "";
}

static void list_events(making *m)
{
    double at = 0;
    m->at = gcut_calloc(m->keep, m->costs.n + 1u, sizeof(*m->at));
    for (uint32_t i = 0; i < m->costs.n; i++) {
        const gcut_cost *c = &m->costs.at[i];
        m->at[i] = GCUT_NEW(m->keep, gcut_memory_event, .launch = c->launch, .backward = c->graph != 0,
                            .value = gcut_keep(m->keep, c->value), .op = c->op, .where = line_of(m, c),
                            .start_ns = at, .ns = c->ns);
        at += c->ns;
    }
    m->event = gcut_calloc(m->a, m->nsteps + 1u, sizeof *m->event);
    for (uint32_t s = 0, i = 0; s < m->nsteps; s++) {
        while (i + 1 < m->costs.n && m->costs.at[i + 1].launch <= (int)s) i++;
        m->event[s] = i;
    }
}

/* The bytes of each event are those of its fullest step. */
static void fill_live(making *m)
{
    gcut_memory_profile *out = m->out;
    int64_t now[GCUT_MEMORY_CLASSES] = {0}, most = 0;
    for (uint32_t s = 0; s < m->nsteps && m->costs.n; s++) {
        gcut_memory_event *e = m->at[m->event[s]];
        int64_t sum = 0;
        for (int k = 0; k < GCUT_MEMORY_CLASSES; k++) sum += now[k] += m->live[s][k];
        if (sum > most) most = sum, m->peak_step = s;
        if (sum <= e->bytes) continue;
        e->bytes = sum;
        memcpy(e->live, now, sizeof now);
    }
    for (uint32_t i = 1; i < m->costs.n; i++)
        if (m->at[i]->bytes > m->at[out->peak]->bytes) out->peak = i;
}

/* ---- a profile ---- */

static void fill_totals(making *m)
{
    const gcut_pipeline *p = m->p;
    gcut_memory_profile *out = m->out;
    int64_t most = out->nevents ? out->event[out->peak]->bytes : 0, resident = 0;
    for (uint32_t i = 0; i < m->buffers.n; i++) {
        const span *x = &m->buffers.at[i];
        x->of->at_peak = x->first <= m->peak_step && m->peak_step <= x->last;
        if (!x->of->made_by) resident += x->of->bytes;
    }
    GCUT_ASSERT(resident == gcut_resident_bytes(p->joint, p->at, p->nat));
    if (!out->nevents) most = resident;
    out->peak_bytes = p->peak_bytes;
    out->arena_bytes = p->peak_bytes - resident;
    out->gap_bytes = p->peak_bytes - most;
    GCUT_ASSERT(out->gap_bytes >= 0);
}

void gcut_memory_of(const gcut_pipeline *p, gcut_arena *keep, gcut_arena *scratch, gcut_memory_profile *out)
{
    making m = {.keep = keep, .a = scratch, .p = p, .joint = p->plan ? p->plan->joint : p->joint, .out = out};
    m.costs = gcut_program_costs(p->program, p->machine, p->at, p->nat, p->threads, scratch);
    int steps;
    (void)gcut_program_launches(p->program, scratch, &steps);
    m.nsteps = steps > 0 ? (uint32_t)steps : 1;
    m.live = gcut_calloc(scratch, m.nsteps + 1u, sizeof *m.live);
    list_events(&m);
    out->event = (const gcut_memory_event *const *)m.at;
    out->nevents = m.costs.n;
    add_all_bound(&m);
    add_arena(&m);
    fill_live(&m);
    out->graph = gcut_keep(keep, p->primal->name);
    out->policy = gcut_policy_of(p, keep);
    out->at = gcut_sizes_named(keep, p->module, p->at, p->nat);
    out->nat = p->nat;
    out->threads = p->threads;
    out->step_ns = m.costs.ns;
    GCUT_LIST(keep, out->buffer, m.buffers.n, m.buffers.at[i].of);
    out->nbuffers = m.buffers.n;
    fill_totals(&m);
}

void gcut_memory_add_against(gcut_graph *g, const gcut_settings *opt, const char *plan, gcut_arena *keep,
                             gcut_arena *scratch, gcut_memory_profile *out)
{
    gcut_settings other = gcut_settings_plain(opt, opt->policy);
    gcut_memory_profile *against = gcut_calloc(keep, 1, sizeof *against);
    other.plan = plan;
    other.at = out->at, other.nat = out->nat; /* not those of the file */
    gcut_memory_of(gcut_pipeline_of_plan(g, &other, scratch), keep, scratch, against);
    out->against = against;
}

static void make(void *arg, const gcut_made *made)
{
    profiling *j = arg;
    gcut_memory_profile *out = made->object;
    gcut_memory_options how;
    gcut_settings opt = gcut_settings_of(j->env, j->given, j->size);
    GCUT_COPY_KNOWN(j->env, gcut_memory_options, j->how_given, j->how_size, &how);
    opt.forward_only = false;
    gcut_memory_of(gcut_pipeline_new(j->g, &opt, GCUT_STAGE_KERNEL, made->scratch), made->keep, made->scratch,
                   out);
    if (how.against) gcut_memory_add_against(j->g, &opt, how.against, made->keep, made->scratch, out);
    gcut_text json = {.arena = made->keep}, svg = json;
    gcut_write_memory_json(out, &json);
    gcut_write_memory_svg(out, false, &svg);
    out->json = json.at;
    out->svg = svg.at;
}

#if defined(__LP64__)
GCUT_ENDS_WITH(gcut_memory_options, against);
#endif

gcut_memory_profile *gcut_memory_new_sized(size_t size, size_t how_size, gcut_graph *g,
                                           const gcut_options *opt, const gcut_memory_options *how)
{
    GCUT_NEED(NULL, g, NULL);
    profiling j = {
        .env = g->module->env, .g = g, .given = opt, .size = size, .how_given = how, .how_size = how_size};
    return gcut_made_by(j.env, sizeof(gcut_memory_profile), make, &j);
}

/* ---- text ---- */

typedef struct asked_part {
    const gcut_memory_profile *m;
    gcut_memory_part part;
} asked_part;

static void write_part(const void *what, const gcut_table_options *o, gcut_text *out)
{
    const asked_part *j = what;
    if ((unsigned)j->part > GCUT_MEMORY_MAP)
        gcut_fail(gcut_arena_env(out->arena), GCUT_EUSAGE, (gcut_place){0}, NULL,
                  "gcut_memory_text: there is no part %d", (int)j->part);
    gcut_write_memory_text(j->m, j->part, o, out);
}

char *gcut_memory_text_sized(size_t size, gcut_ctx *ctx, const gcut_memory_profile *m, gcut_memory_part part,
                             const gcut_table_options *table)
{
    GCUT_NEED(NULL, ctx, NULL);
    GCUT_NEED(ctx->env, m, NULL);
    return gcut_table_text(ctx->env, write_part, &(asked_part){m, part}, table, size);
}

const char *gcut_memory_class_name(gcut_memory_class c)
{
    return gcut_memory_word(c);
}
