/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A profile read from its JSON (report/steps/profile_json.c).
 */
#include <math.h>
#include <string.h>

#include "base/json_read.h"
#include "driver/ctx.h"
#include "gradcut/inspect.h"

enum { MOST_BYTES = 64 << 20, MOST_COUNT = 1 << 30, MOST_THREADS = 4096 };

typedef struct reading {
    gcut_env *env;
    const char *path;
} reading;

/* null: not known. */
static double real_of(const gcut_jnode *object, const char *key)
{
    const gcut_jnode *v = gcut_jneed(object, key);
    return v->kind == GCUT_JSON_NULL ? NAN : gcut_jreal(v);
}

/* What is known, and not so large that sums of it could overflow. */
static double amount_up_to(const gcut_jnode *v, double most)
{
    const double x = gcut_jreal(v);
    if (!(x >= 0 && x <= most)) gcut_jfail(v, NULL, "expected a number from 0 to %g", most);
    return x;
}

static double amount_of(const gcut_jnode *object, const char *key)
{
    return amount_up_to(gcut_jneed(object, key), 1e18);
}

#define MOST_NS 1e12 /* a quarter of an hour */
#define LEAST_NS 1e-3

/* 0 or not so small that a rate is infinite. */
static double time_of(const gcut_jnode *object, const char *key)
{
    const double ns = amount_up_to(gcut_jneed(object, key), MOST_NS);
    return ns < LEAST_NS ? 0 : ns;
}

static int count_of(const gcut_jnode *object, const char *key)
{
    const gcut_jnode *v = gcut_jneed(object, key);
    const int64_t x = gcut_jint(v);
    if (x < 0 || x > MOST_COUNT) gcut_jfail(v, NULL, "expected an integer from 0 to %d", (int)MOST_COUNT);
    return (int)x;
}

static const char *text_of(gcut_arena *keep, const gcut_jnode *object, const char *key)
{
    return gcut_keep(keep, gcut_jstr(gcut_jneed(object, key)));
}

/* How long each thread computed; NULL: the file does not say. */
static const double *busy_of(gcut_arena *keep, const gcut_jnode *kernel, int threads, double measured_ns)
{
    const gcut_jnode *list = gcut_jget(kernel, "busy_ns");
    if (!list) return NULL;
    if (gcut_jcount(list) != (uint32_t)threads)
        gcut_jfail(list, NULL, "expected a number for each of %d threads", threads);
    double *ns = gcut_calloc(keep, (size_t)threads + 1, sizeof *ns);
    for (int t = 0; t < threads; t++) ns[t] = amount_up_to(gcut_jat(list, (uint32_t)t), measured_ns);
    return ns;
}

static const gcut_kernel_time *kernel_of(gcut_arena *keep, const gcut_jnode *k, int threads)
{
    const gcut_jnode *half = gcut_jneed(k, "half");
    const bool backward = !strcmp(gcut_jstr(half), "backward");
    if (!backward && strcmp(gcut_jstr(half), "forward") != 0)
        gcut_jfail(half, NULL, "expected \"forward\" or \"backward\"");
    return GCUT_NEW(keep, gcut_kernel_time, .family = text_of(keep, k, "class"),
                    .value = text_of(keep, k, "value"), .op = text_of(keep, k, "op"),
                    .where = text_of(keep, k, "loc"), .backward = backward, .launch = count_of(k, "kernel"),
                    .runs = amount_of(k, "runs"), .predicted_ns = time_of(k, "predicted_ns"),
                    .measured_ns = time_of(k, "measured_ns"), .flops = amount_of(k, "flops"),
                    .bytes = amount_of(k, "bytes"), .least_ns = time_of(k, "least_ns"),
                    .lower_ns = time_of(k, "lower_ns"), .upper_ns = time_of(k, "upper_ns"),
                    .busy_ns = busy_of(keep, k, threads, time_of(k, "measured_ns")));
}

/* Not so small that a rate is infinite, or so large that a list of threads fills the memory. */
static void require(const gcut_jnode *root, const char *key, double x, double least, double most)
{
    if (!(x >= least && x <= most))
        gcut_jfail(gcut_jneed(root, key), NULL, "expected a number from %g to %g", least, most);
}

/* The sizes of the steps; each is a member. */
static void read_sizes(gcut_arena *keep, const gcut_jnode *at, gcut_profile *out)
{
    gcut_jobject(at);
    gcut_size *size = gcut_calloc(keep, at->n + 1u, sizeof *size);
    for (uint32_t i = 0; i < at->n; i++)
        size[i] = (gcut_size){gcut_keep(keep, at->u.item[i].key), gcut_jint(&at->u.item[i])};
    out->sizes = size;
    out->nsizes = at->n;
}

static void read_profile(void *arg, const gcut_made *m)
{
    const reading *j = arg;
    const gcut_jnode *root = gcut_json_read(m->scratch, j->path, MOST_BYTES), *list;
    gcut_profile *out = m->object;
    gcut_jobject(root);
    const gcut_jnode *means = gcut_jget(root, "means");
    *out = (gcut_profile){.predicted_ns = time_of(root, "predicted_ns"),
                          .best_ns = time_of(root, "step_ns_best"),
                          .median_ns = time_of(root, "step_ns"),
                          .p90_ns = time_of(root, "step_ns_p90"),
                          .peak_flops_per_second = amount_of(root, "limit_flops_per_s"),
                          .peak_bytes_per_second = amount_of(root, "limit_bytes_per_s"),
                          .threads = count_of(root, "threads"),
                          .steps = count_of(root, "steps"),
                          .median_lo_ns = real_of(root, "step_ns_lo"),
                          .median_hi_ns = real_of(root, "step_ns_hi"),
                          .samples = "",
                          .line_ratio = NAN,
                          .means = means && gcut_jbool(means),
                          .priced_threads = count_of(root, "priced_threads"),
                          .graph = text_of(m->keep, root, "graph"),
                          .joint_hash = text_of(m->keep, root, "joint_hash"),
                          .machine = text_of(m->keep, root, "machine")};
    require(root, "step_ns", out->median_ns, LEAST_NS, MOST_NS);
    require(root, "threads", out->threads, 1, MOST_THREADS);
    require(root, "steps", out->steps, 1, MOST_COUNT);
    read_sizes(m->keep, gcut_jneed(root, "at"), out);
    require(root, "limit_flops_per_s", out->peak_flops_per_second, 1, 1e18);
    require(root, "limit_bytes_per_s", out->peak_bytes_per_second, 1, 1e18);
    list = gcut_jneed(root, "kernels");
    out->n = gcut_jcount(list);
    GCUT_LIST(m->keep, out->at, out->n, kernel_of(m->keep, gcut_jat(list, i), out->threads));
    out->sample = gcut_calloc(m->keep, 1, sizeof(*out->sample));
    for (size_t i = 0; i < out->n; i++) out->flops += out->at[i]->flops, out->bytes += out->at[i]->bytes;
}

gcut_profile *gcut_profile_read(gcut_ctx *ctx, const char *path)
{
    GCUT_NEED(NULL, ctx, NULL);
    GCUT_NEED(ctx->env, path, NULL);
    reading j = {ctx->env, path};
    return gcut_made_by(ctx->env, sizeof(gcut_profile), read_profile, &j);
}
