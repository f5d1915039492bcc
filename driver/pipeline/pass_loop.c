/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The loop that runs the passes of a group: times, counts nodes, verifies, dumps.
 */
#include <string.h>
#include <time.h>

#include "driver/dump/dump.h"
#include "driver/pipeline/pipeline.h"

const char *gcut_passes_stage(gcut_pass_group group)
{
    static const char *const names[GCUT_NGROUPS] = {
        [GCUT_MAKES_PRIMAL] = "primal", [GCUT_MAKES_FOLDED] = "primal",  [GCUT_MAKES_RAW] = "joint",
        [GCUT_MAKES_JOINT] = "joint",   [GCUT_MAKES_PLANNED] = "joint",  [GCUT_MAKES_PLAN] = "joint",
        [GCUT_MAKES_SPLIT] = "split",   [GCUT_MAKES_KERNELS] = "kernel", [GCUT_MAKES_PROGRAM] = "kernel"};
    return names[group];
}

static uint64_t count_nodes(const gcut_graph *g)
{
    uint64_t n = g ? g->nodes.n : 0;
    for (uint32_t i = 0; g && i < g->nodes.n; i++)
        for (uint32_t k = 0; k < gcut_node_at(g, i)->nregs; k++)
            n += count_nodes(gcut_region_at(g, gcut_node_at(g, i), k)->body);
    return n;
}

int64_t gcut_passes_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void gcut_passes_tell(gcut_env *env, const char *function, const char *what, int64_t start)
{
    gcut_env_pass(env, &(gcut_pass_time){.function = function,
                                         .stage = "C",
                                         .pass = what,
                                         .ns = gcut_passes_clock() - start,
                                         .nodes_in = -1,
                                         .nodes_out = -1});
}

static void keep(gcut_pipeline *p, const gcut_pass_run *r)
{
    const gcut_graph *g = p->primal ? p->primal : r->out[0];
    *GCUT_PUSH(p->arena, &p->runs) = *r;
    gcut_dump_pass(p, r);
    gcut_env_pass(p->env, &(gcut_pass_time){.function = g->name,
                                            .stage = gcut_passes_stage(r->row->makes),
                                            .pass = r->row->name,
                                            .ns = r->ns,
                                            .nodes_in = (int64_t)r->nodes_in,
                                            .nodes_out = (int64_t)r->nodes_out});
}

static bool runs(const gcut_pipeline *p, const gcut_pass_row *row, gcut_graph *const g[2])
{
    return row->when(p, g[0]) || (row->each && g[1] && row->when(p, g[1]));
}

static void run(gcut_pipeline *p, const gcut_pass_row *row, gcut_graph *g[2])
{
    gcut_graph *const in[2] = {g[0], g[1]};
    if (row->run) row->run(p, g);
    for (int k = 0; row->each && k < 2 && g[k]; k++)
        if (row->when(p, g[k])) g[k] = row->each(g[k], gcut_module_unused(p->module, p->base, row->name));
    for (int k = 0; row->verify && k < 2 && g[k]; k++) {
        if (g[k] == in[k]) continue;
        gcut_bodies_canonical(g[k]);
        if (gcut_pipeline_verifies(p)) row->verify(g[k]);
    }
}

/* Frees intermediate graphs: the module lists the user's functions and the results of groups.  A search has
 * made the graph that it plans within the group. */
static void drop(gcut_pipeline *p, gcut_graph *const made[2], gcut_graph *const begin[2],
                 gcut_graph *const now[2])
{
    for (int k = 0; k < 2; k++) {
        if (!made[k] || made[k] == begin[k] || made[k] == now[0] || made[k] == now[1]) continue;
        if (p->graphs == GCUT_GRAPHS_OF_PASSES || made[k] == p->planned)
            gcut_module_unlist(p->module, made[k]);
        else
            gcut_graph_drop(made[k]);
    }
}

static bool is_left_out(const gcut_pipeline *p, const gcut_pass_row *row)
{
    for (size_t i = 0; row->optional && i < p->opt.nwithout; i++)
        if (!strcmp(p->opt.without[i], row->name)) return true;
    return false;
}

/* Did it run before the user's dump was written?  Passes that are not optional run again: the dump may have been
 * edited. */
static bool has_run(const gcut_pipeline *p, const gcut_pass_row *row)
{
    return row->optional && p->made_by && row < p->made_by;
}

static const gcut_pass_row *find(const gcut_pass_table *t, const char *name)
{
    for (uint32_t i = 0; i < t->n; i++)
        if (!strcmp(t->row[i].name, name)) return &t->row[i];
    return NULL;
}

/* A line for each optional pass. */
static const char *optional_text(const gcut_pipeline *p)
{
    gcut_text t = {.arena = p->arena};
    gcut_text_add(&t, "these may be left out:");
    for (uint32_t i = 0; i < p->passes.n; i++) {
        const gcut_pass_row *row = &p->passes.row[i];
        if (row->optional && find(&p->passes, row->name) == row)
            gcut_text_add(&t, "\n%-8s  %s", row->name, row->help);
    }
    return t.at;
}

void gcut_passes_check_without(const gcut_pipeline *p)
{
    for (size_t i = 0; i < p->opt.nwithout; i++) {
        const char *name = p->opt.without[i];
        const gcut_pass_row *row = find(&p->passes, name);
        if (row && row->optional) continue;
        gcut_fail(p->env, GCUT_EUSAGE, (gcut_place){0}, optional_text(p),
                  row ? "the pass '%s' cannot be left out" : "there is no pass '%s' to leave out", name);
    }
}

const gcut_pass_row *gcut_passes_named(const gcut_pipeline *p, gcut_pass_group from, const char *name)
{
    for (uint32_t i = 0; i < p->passes.n; i++)
        if (p->passes.row[i].makes >= from && !strcmp(p->passes.row[i].name, name)) return &p->passes.row[i];
    return NULL;
}

static void apply(gcut_pipeline *p, gcut_pass_group group, gcut_graph *g[2], bool recorded)
{
    gcut_graph *const begin[2] = {g[0], g[1]};
    for (uint32_t i = 0; i < p->passes.n; i++) {
        const gcut_pass_row *row = &p->passes.row[i];
        if (row->makes != group || is_left_out(p, row) || has_run(p, row) || !runs(p, row, g)) continue;
        gcut_pass_run r = {.row = row, .in = {g[0], g[1]}};
        const int64_t start = gcut_passes_clock();
        run(p, row, g);
        r.ns = gcut_passes_clock() - start;
        r.out[0] = g[0], r.out[1] = g[1];
        if (recorded) {
            r.nodes_in = count_nodes(r.in[0]) + count_nodes(r.in[1]);
            r.nodes_out = count_nodes(r.out[0]) + count_nodes(r.out[1]);
            keep(p, &r);
        }
        drop(p, r.in, begin, g);
    }
}

void gcut_passes_apply(gcut_pipeline *p, gcut_pass_group group, gcut_graph *g[2])
{
    apply(p, group, g, !p->nested);
}

void gcut_passes_apply_aside(gcut_pipeline *p, gcut_pass_group group, gcut_graph *g[2])
{
    apply(p, group, g, false);
}
