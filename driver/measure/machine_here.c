/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The model by which predicted times are compared with measured ones: the one that options.machine finds or, on a
 * machine of which there is none, one that is measured briefly and kept in the cache.
 *
 * Nothing else reads that entry of the cache: plans and emitted C are the same with and without it.
 */
#include "driver/ctx.h"
#include "driver/load/cache.h"
#include "driver/load/unnamed_files.h"
#include "driver/measure/calibrate.h"
#include "driver/measure/host.h"
#include "driver/options/machine_choice.h"
#include "gradcut/gradcut_rt.h"

#include <string.h>

typedef struct call {
    gcut_env *env;
    const char *machine;
} call;

/* Processor, cores, and this build of gradcut: kernels differ from one to the next. */
const char *gcut_machine_here_key(gcut_arena *a)
{
    gcut_hash h;
    gcut_hash_begin(&h);
    gcut_hash_text(&h, "machine model");
    gcut_hash_text(&h, gcut_host_name(a));
    gcut_hash_int(&h, gcut_rt_threads(0));
    gcut_hash_text(&h, gcut_version());
    gcut_hash_text(&h, gcut_build_id);
    return gcut_hash_hex(&h, a);
}

/* Measures the model into m, and stores it in the cache unless the machine was busy.  Returns the predicate of a sentence:
 * whether the model was stored. */
static const char *measure(const call *j, gcut_cache *cache, const char *key, const gcut_made *m)
{
    gcut_machine_report *out = m->object;
    gcut_calibrate_briefly(j->env, m);
    if (out->busy) return gcut_printf(m->scratch, "is not kept, since the machine was busy: %s", out->busy);
    gcut_cache_put(cache, GCUT_CACHE_MACHINE, key, out->json, strlen(out->json));
    return cache ? "is kept in the cache" : "is not kept, as there is no cache";
}

static void find(void *arg, const gcut_made *m)
{
    const call *j = arg;
    gcut_machine_report *out = m->object;
    out->path = gcut_keep(m->keep, gcut_machine_path(m->scratch, j->machine));
    if (out->path) return;
    gcut_cache *cache = gcut_cache_open(m->scratch, NULL, NULL);
    const char *key = gcut_machine_here_key(m->scratch), *kept = "is from the cache";
    size_t n;
    out->json = gcut_cache_get(cache, GCUT_CACHE_MACHINE, key, m->keep, &n);
    if (!out->json) kept = measure(j, cache, key, m);
    int fd = gcut_unnamed_new(m->keep, "gradcut-machine");
    gcut_unnamed_write(j->env, fd, out->json, strlen(out->json));
    out->path = gcut_unnamed_path(m->keep, fd);
    const gcut_machine_model *model = gcut_machine_read(m->scratch, out->path);
    if (!out->text) {
        gcut_text table = {.arena = m->keep};
        gcut_machine_table(model, &table);
        out->text = table.at;
    }
    out->said = gcut_printf(m->keep,
                            "there is no model of this machine: a brief measurement of it (%s), which %s, "
                            "predicts times and chooses the plan; `gradcut calibrate` makes a model for plan "
                            "and compile, too, which use the shipped one until then",
                            model->made, kept);
}

gcut_machine_report *gcut_machine_here(gcut_ctx *ctx, const char *machine)
{
    GCUT_NEED(NULL, ctx, NULL);
    gcut_hook *hook = &ctx->env->hook;
    void (*pass)(void *, const gcut_pass_time *) = hook->pass;
    hook->pass = NULL; /* the passes of probes are nobody's */
    gcut_machine_report *out = gcut_made_by(ctx->env, sizeof *out, find, &(call){ctx->env, machine});
    hook->pass = pass;
    return out;
}
