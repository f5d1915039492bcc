/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * `gradcut prof`: the measured time of each kernel, as a table, a trace and a picture.
 */
#include <stdio.h>

#include "cli/cli.h"
#include "gradcut/inspect.h"

/* Writes what the library made, and frees it. */
static int write_made(gcut_ctx *ctx, const char *path, char *text)
{
    if (!text) return gcut_cli_failed(ctx);
    const int code = gcut_cli_write(path, text);
    gcut_free(text);
    return code;
}

/* With the bytes alive, where there is a backward graph: memory is that of a training step. */
static int write_trace(gcut_ctx *ctx, const gcut_cli *c, gcut_graph *g, const gcut_options *opt,
                       const gcut_profile *p)
{
    gcut_memory_profile *m = opt->forward_only ? NULL : gcut_memory_new(g, opt, NULL);
    if (!m && !opt->forward_only) return gcut_cli_failed(ctx);
    const int code = write_made(ctx, c->output, gcut_profile_trace(ctx, p, m));
    gcut_free(m);
    return code;
}

static void print_json(const gcut_profile *p)
{
    gcut_cli_json("{\"step_ns\": $x, \"step_ns_lo\": $x, \"step_ns_hi\": $x, \"step_ns_best\": $x, "
                  "\"predicted_ns\": $x, ",
                  p->median_ns, p->median_lo_ns, p->median_hi_ns, p->best_ns, p->predicted_ns);
    gcut_cli_json("\"steps\": $i, \"threads\": $i, \"limit_flops_per_s\": $x, \"limit_bytes_per_s\": $x, "
                  "\"kernels\": [",
                  (int64_t)p->steps, (int64_t)p->threads, p->peak_flops_per_second, p->peak_bytes_per_second);
    for (size_t i = 0; i < p->n; i++) {
        const gcut_kernel_time *k = p->at[i];
        gcut_cli_json(
            i ? ",\n{\"kernel\": $i, \"class\": $s, \"value\": $s, \"op\": $s, \"loc\": $s, \"half\": $s, "
              : "\n{\"kernel\": $i, \"class\": $s, \"value\": $s, \"op\": $s, \"loc\": $s, \"half\": $s, ",
            (int64_t)k->launch, k->family, k->value, k->op, k->where, k->backward ? "backward" : "forward");
        gcut_cli_json(
            "\"runs\": $x, \"measured_ns\": $x, \"lower_ns\": $x, \"upper_ns\": $x, \"predicted_ns\": $x, "
            "\"flops\": $x, \"bytes\": $x}",
            k->runs, k->measured_ns, k->lower_ns, k->upper_ns, k->predicted_ns, k->flops, k->bytes);
    }
    puts("]}");
}

int gcut_cmd_prof(gcut_ctx *ctx, const gcut_cli *c, gcut_graph *g)
{
    gcut_options opt = c->opt;
    const gcut_table_options table = gcut_cli_table(c);
    opt.profile = true;
    gcut_step *step = gcut_compile(g, &opt);
    if (!step || gcut_step_feed(step, c->feed, c->nfeed) != GCUT_OK) return gcut_cli_failed(ctx);
    gcut_profile *p = gcut_step_profile(step, (int)c->steps);
    if (!p) return gcut_cli_failed(ctx);
    int code = c->output ? write_trace(ctx, c, g, &opt, p) : EXIT_FINE;
    if (!code && c->svg) code = write_made(ctx, c->svg, gcut_profile_svg(ctx, p));
    char *text = code || c->json ? NULL : gcut_profile_text(ctx, p, &table);
    if (!code && c->json)
        print_json(p);
    else if (!code && !text)
        code = gcut_cli_failed(ctx);
    else if (text)
        fputs(text, stdout);
    gcut_free(text);
    gcut_free(p);
    return code;
}
