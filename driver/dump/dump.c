/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Writes what every pass makes to a file NNx.STAGE.PASS.gcut, where NN counts the passes and x is the
 * pass's letter.
 */
#include "driver/dump/dump.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "driver/dump/changes.h"
#include "driver/pipeline/initial_contents.h"
#include "driver/pipeline/pipeline.h"
#include "driver/pipeline/plan_info.h"
#include "text/text.h"

typedef struct gcut_dump {
    gcut_arena *a;
    const char *dir;
    gcut_text index, changes;
} gcut_dump;

const char *gcut_dump_folder(const gcut_settings *opt)
{
    const char *dir = opt->dump ? opt->dump : getenv("GRADCUT_DUMP");
    return dir && *dir ? dir : NULL;
}

struct gcut_dump *gcut_dump_new(const gcut_pipeline *p)
{
    const char *dir = gcut_dump_folder(&p->opt);
    if (!dir) return NULL;
    gcut_dump *d = gcut_calloc(p->arena, 1, sizeof *d);
    *d = (gcut_dump){
        .a = p->arena, .dir = gcut_keep(p->arena, dir), .index.arena = p->arena, .changes.arena = p->arena};
    if (mkdir(dir, 0777) != 0 && errno != EEXIST)
        gcut_fail(p->env, GCUT_EIO, (gcut_place){.file = dir}, NULL, "cannot create the folder: %s",
                  strerror(errno));
    return d;
}

/* The index is complete after every file: if the compilation fails later, it lists what was made before. */
static void write_text(gcut_dump *d, const char *file, const gcut_text *t, const char *what)
{
    gcut_env *env = gcut_arena_env(d->a);
    gcut_file_write(env, gcut_printf(d->a, "%s/%s", d->dir, file), t->at, t->n);
    gcut_text_add(&d->index, "%-26s  %s\n", file, what);
    gcut_file_write(env, gcut_printf(d->a, "%s/index.txt", d->dir), d->index.at, d->index.n);
}

/* Adds what the pass changed to changes.txt, which the index names once. */
static void write_changes(gcut_dump *d, const char *file, const gcut_pass_run *r, const gcut_text *after)
{
    gcut_env *env = gcut_arena_env(d->a);
    gcut_arena *scratch = gcut_arena_new(env, d->a);
    gcut_text before = {.arena = scratch};
    const bool first = !d->changes.n;
    gcut_print_graphs(r->in, r->in[1] ? 2 : 1, &(gcut_print_options){0}, &before);
    gcut_text_add(&d->changes, "%s\n", file);
    gcut_write_changes(before.at, after->at, &d->changes);
    if (first)
        write_text(d, "changes.txt", &d->changes,
                   "what each pass removed (-), added (+) and made another way (~)");
    else
        gcut_file_write(env, gcut_printf(d->a, "%s/changes.txt", d->dir), d->changes.at, d->changes.n);
    gcut_arena_free(scratch);
}

void gcut_dump_pass(const gcut_pipeline *p, const gcut_pass_run *r)
{
    const bool changed = r->out[0] != r->in[0] || r->out[1] != r->in[1];
    if (!p->dump || (r->row->makes != GCUT_MAKES_PROGRAM && !changed)) return;
    gcut_arena *scratch = gcut_arena_new(p->env, p->arena);
    gcut_text t = {.arena = scratch};
    gcut_print_options named = {0};
    gcut_graph *g[2] = {r->out[0], r->out[1]};
    uint32_t n = g[1] ? 2 : 1;
    if (r->row->makes == GCUT_MAKES_PRIMAL) n = gcut_pair_graphs(r->out[0], g);
    gcut_pipeline_text_names(p, r->row, r->out[1] != NULL, &named);
    gcut_print_graphs(g, n, &named, &t);
    const char *file = gcut_printf(p->arena, "%02u%c.%s.%s.gcut", p->runs.n, r->row->letter,
                                   gcut_passes_stage(r->row->makes), r->row->name);
    write_text(p->dump, file, &t, r->row->help);
    write_changes(p->dump, file, r, &t);
    gcut_arena_free(scratch);
}

static void write_plan(const gcut_pipeline *p)
{
    gcut_text t = {.arena = p->arena};
    gcut_plan_file_text(p->plan, &t);
    write_text(p->dump, "plan.json", &t, "what is saved and recomputed, and why");
}

static void write_step(const gcut_pipeline *p)
{
    gcut_text c = {.arena = p->arena}, h = {.arena = p->arena};
    gcut_emit_c(p->program, gcut_pipeline_contents(p, p->arena), "step", p->opt.line, &c, &h);
    write_text(p->dump, "step.c", &c, "the emitted kernels and entry points");
    write_text(p->dump, "step.h", &h, "what a caller includes");
}

void gcut_dump_rest(const gcut_pipeline *p)
{
    if (p->dump && p->program) write_step(p);
    if (p->dump && p->plan) write_plan(p);
}
