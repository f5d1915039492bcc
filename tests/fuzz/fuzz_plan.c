/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * libFuzzer entry of plan files: what is read compares equal with itself and can be followed, or not, on a
 * graph whose plan it may once have been; a refusal says what is wrong.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/arena.h"
#include "gradcut/gradcut.h"
#include "partition/plan_file/plan_file.h"
#include "public.h"

typedef struct job {
    gcut_env *env;
    const char *text;
    size_t size;
    bool equal;
} job;

static void read_plan(void *arg)
{
    job *j = arg;
    gcut_arena *a = j->env->arena;
    gcut_plan_file *f = gcut_plan_file_parse(a, "fuzz.json", j->text, j->size),
                   *again = gcut_plan_file_parse(a, "fuzz.json", j->text, j->size);
    gcut_plan_diff of;
    gcut_plan_files_compare(f, again, a, &of);
    j->equal = of.equal;
    for (uint32_t i = 0; i < f->whole.lines.n; i++) gcut_plan_file_flip(f, f->whole.lines.at[i]->name, a);
}

/* The same text as a file, followed on the graph of tests/plans. */
static void follow(const uint8_t *data, size_t size)
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gcut_env *env = gcut_env_new(NULL, NULL);
    if (!env) return 0;
    job j = {.env = env, .text = (const char *)data, .size = size};
    bool read = gcut_protect(env, read_plan, &j) == GCUT_OK;
    if (read) {
        GCUT_ASSERT(j.equal);
    } else {
        GCUT_ASSERT(env->ndiags >= 1);
        GCUT_ASSERT(gcut_diag_text(env->arena, &env->diags[0]) != NULL);
    }
    gcut_env_free(env);
    if (read) follow(data, size);
    return 0;
}
