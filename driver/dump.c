/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Every stage as a file.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "driver/pipeline.h"
#include "graph/text.h"

void gcut_dump(const gcut_pipeline *p, const char *dir)
{
    static const struct {
        const char *file, *what;
        gcut_stage_name stage;
    } stages[] = {
        {"00.primal.gcut", "the graph as given, canonical", GCUT_STAGE_PRIMAL},
        {"20.joint.gcut", "differentiated, folded, without duplicates and dead nodes", GCUT_STAGE_JOINT},
        {"30.split.gcut", "forward and backward half: saved values are results of one and parameters of the other",
         GCUT_STAGE_SPLIT},
        {"50.kernels.gcut", "the halves without composites; #kernel(kN) says which kernel of the C file a node is in",
         GCUT_STAGE_KERNEL},
    };
    gcut_arena *a = gcut_arena_new(p->env, p->arena);
    gcut_text index = {.arena = a}, json = {.arena = a};
    if (mkdir(dir, 0777) != 0 && errno != EEXIST)
        gcut_fail(p->env, GCUT_EIO, (gcut_place){.file = dir}, NULL, "cannot create the folder: %s", strerror(errno));
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
        if (p->opt.forward_only && stages[i].stage == GCUT_STAGE_SPLIT) continue;
        gcut_text t = {.arena = a};
        gcut_stage_text(p, stages[i].stage, true, &t);
        gcut_file_write(p->env, gcut_printf(a, "%s/%s", dir, stages[i].file), t.at, t.n);
        gcut_text_add(&index, "%-18s %s\n", stages[i].file, stages[i].what);
    }
    gcut_text t = {.arena = a};
    gcut_print_graph(p->folded, &(gcut_print_options){0}, &t);
    gcut_file_write(p->env, gcut_printf(a, "%s/10.folded.gcut", dir), t.at, t.n);
    gcut_text_add(&index, "%-18s %s\n", "10.folded.gcut", "the same, folded, without duplicates and dead nodes");
    const char *base = gcut_printf(a, "%s/step", dir);
    gcut_write_c(p, base);
    gcut_text_add(&index, "%-18s %s\n%-18s %s\n", "step.c", "the emitted kernels and entry points", "step.h",
                  "what a caller includes");
    if (p->plan) {
        gcut_plan_json(p->plan, &json);
        gcut_file_write(p->env, gcut_printf(a, "%s/plan.json", dir), json.at, json.n);
        gcut_text_add(&index, "%-18s %s\n", "plan.json", "what is saved and recomputed, and why");
    }
    gcut_file_write(p->env, gcut_printf(a, "%s/index.txt", dir), index.at, index.n);
    gcut_arena_free(a);
}
