/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * libFuzzer entry of plan files: what is read compares equal with itself and can be followed, or not, on a
 * graph whose plan it may once have been; a refusal says what is wrong.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/arena.h"
#include "fuzz.h"
#include "gradcut/gradcut.h"
#include "partition/plan_file/plan_file.h"
#include "public.h"

typedef struct job {
    const input *in;
    bool equal;
} job;

static void read_plan(void *arg)
{
    job *j = arg;
    gcut_arena *a = j->in->env->arena;
    gcut_plan_file *f = gcut_plan_file_parse(a, "fuzz.json", j->in->data, j->in->size),
                   *again = gcut_plan_file_parse(a, "fuzz.json", j->in->data, j->in->size);
    gcut_plan_diff of;
    gcut_plan_files_compare(f, again, a, &of);
    j->equal = of.equal;
    for (uint32_t i = 0; i < f->whole.lines.n; i++) gcut_plan_file_flip(f, f->whole.lines.at[i]->name, a);
}

/* The same text as a file, followed on the graph of tests/plans. */
static void follow(const char *data, size_t size)
{
    char path[40];
    int fd = memfd_create("plan", 0);
    if (fd < 0) return;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (write(fd, data, size) == (ssize_t)size) {
        gcut_ctx *ctx = gcut_ctx_new(NULL);
        gcut_graph *g = gcut_load(ctx, GCUT_SOURCE_DIR "/tests/plans/six.gcut", NULL);
        gcut_options o = TEST_OPTIONS;
        o.plan = path;
        if (!gcut_plan_new(g, &o) && !gcut_error_count(ctx)) abort();
        gcut_ctx_free(ctx);
    }
    close(fd);
}

static void fuzz(input *in)
{
    job j = {.in = in};
    if (gcut_protect(in->env, read_plan, &j) == GCUT_OK) {
        GCUT_ASSERT(j.equal);
        follow(in->data, in->size);
    } else {
        check_refusal(in->env, UINT32_MAX);
    }
}
