/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Every stage as a file.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "driver/pipeline/initial_contents.h"
#include "driver/pipeline/pipeline.h"
#include "driver/pipeline/plan_info.h"
#include "text/text.h"

typedef struct dump {
    const gcut_pipeline *p;
    gcut_arena *a;
    const char *dir;
    gcut_text index;
} dump;

static void write_text(dump *d, const char *file, const gcut_text *t, const char *what)
{
    gcut_file_write(d->p->env, gcut_printf(d->a, "%s/%s", d->dir, file), t->at, t->n);
    gcut_text_add(&d->index, "%-16s  %s\n", file, what);
}

static void write_stage(dump *d, const char *file, gcut_stage_name stage, const char *what)
{
    gcut_text t = {.arena = d->a};
    gcut_stage_text(d->p, stage, true, &t);
    write_text(d, file, &t, what);
}

static void write_folded(dump *d)
{
    gcut_text t = {.arena = d->a};
    gcut_print_graph(d->p->folded, &(gcut_print_options){0}, &t);
    write_text(d, "10.folded.gcut", &t, "the same, folded, without duplicates and dead nodes");
}

static void write_plan(dump *d)
{
    gcut_text t = {.arena = d->a};
    gcut_plan_file_text(d->p->plan, &t);
    write_text(d, "plan.json", &t, "what is saved and recomputed, and why");
}

static void write_step(dump *d)
{
    gcut_text c = {.arena = d->a}, h = {.arena = d->a};
    gcut_emit_c(d->p->program, gcut_pipeline_contents(d->p, d->a), "step", d->p->opt.line, &c, &h);
    write_text(d, "step.c", &c, "the emitted kernels and entry points");
    write_text(d, "step.h", &h, "what a caller includes");
}

/* As far as the pipeline went. */
void gcut_dump(const gcut_pipeline *p, const char *dir)
{
    dump d = {.p = p, .a = gcut_arena_new(p->env, p->arena), .dir = dir};
    d.index.arena = d.a;
    if (mkdir(dir, 0777) != 0 && errno != EEXIST)
        gcut_fail(p->env, GCUT_EIO, (gcut_place){.file = dir}, NULL, "cannot create the folder: %s",
                  strerror(errno));
    write_stage(&d, "00.primal.gcut", GCUT_STAGE_PRIMAL, "the graph as given, canonical");
    if (p->folded) write_folded(&d);
    if (p->joint && !p->opt.forward_only)
        write_stage(&d, "20.joint.gcut", GCUT_STAGE_JOINT,
                    "differentiated, folded, without duplicates and dead nodes");
    if (p->bwd)
        write_stage(
            &d, "30.split.gcut", GCUT_STAGE_SPLIT,
            "forward and backward graph: saved values are results of one and parameters of the other");
    if (p->program)
        write_stage(
            &d, "50.kernels.gcut", GCUT_STAGE_KERNEL,
            "the same without composite ops; #kernel(kN) says which launch in step.c a node belongs to");
    if (p->program) write_step(&d);
    if (p->plan) write_plan(&d);
    gcut_file_write(p->env, gcut_printf(d.a, "%s/index.txt", dir), d.index.at, d.index.n);
    gcut_arena_free(d.a);
}
