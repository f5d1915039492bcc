/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Commands about this machine: `gradcut cache` lists or empties the cache of compiled steps, `gradcut calibrate` measures
 * the machine and writes its model.
 */
#include <inttypes.h>
#include <stdio.h>

#include "cli/cli.h"

/* ---- cache ---- */

static int clear(gcut_ctx *ctx, const gcut_cli *c)
{
    int64_t n;
    if (gcut_cache_clear(ctx, &n) != GCUT_OK) return gcut_cli_failed(ctx);
    printf(c->json ? "{\"removed\": %" PRId64 "}\n" : "%" PRId64 " entries removed\n", n);
    return EXIT_FINE;
}

static void print_json(const gcut_cache_info *i)
{
    gcut_cli_json(
        "{\"folder\": $s, \"unused\": $s, \"steps\": $i, \"objects\": $i, \"models\": $i, \"bytes\": $i, "
        "\"limit\": $i, \"hits\": $i, \"misses\": $i}\n",
        i->folder, i->unused, i->steps, i->objects, i->models, i->bytes, i->limit, i->hits, i->misses);
}

static void print_text(const gcut_cache_info *i)
{
    printf("folder   %s\n", i->folder ? i->folder : "none");
    if (i->unused) {
        printf("not used: %s\n", i->unused);
        return;
    }
    printf("entries  %" PRId64 " steps, %" PRId64 " objects, %" PRId64 " machine models\nbytes    ", i->steps,
           i->objects, i->models);
    gcut_cli_bytes(stdout, i->bytes);
    fputs("\nlimit    ", stdout);
    gcut_cli_bytes(stdout, i->limit);
    printf("\nlook-ups %" PRId64 " found, %" PRId64 " not\n", i->hits, i->misses);
}

int gcut_cmd_cache(gcut_ctx *ctx, const gcut_cli *c, gcut_graph *g)
{
    (void)g;
    if (c->clear) return clear(ctx, c);
    gcut_cache_info *i = gcut_cache_look(ctx);
    if (!i) return gcut_cli_failed(ctx);
    (c->json ? print_json : print_text)(i);
    gcut_free(i);
    return EXIT_FINE;
}

/* ---- calibrate ---- */

int gcut_cmd_calibrate(gcut_ctx *ctx, const gcut_cli *c, gcut_graph *g)
{
    (void)g;
    gcut_calibrate_options opt = {
        .threads = c->opt.threads, .path = c->output, .seconds = c->seconds, .force = c->force};
    gcut_machine_report *r = gcut_calibrate(ctx, &opt);
    return r ? gcut_cli_print(c, r, r->text, r->json, EXIT_FINE) : gcut_cli_failed(ctx);
}
