/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Variants of a training step compared: a table and one sentence, and JSON.
 */
#include <math.h>

#include "base/table.h"
#include "base/units.h"
#include "report/report.h"

/* ---- the table ---- */

enum { VARIANT, OPS, KERNELS, LAUNCHES, FORWARD, BACKWARD, SAVED, PEAK, MEASURED, STEP, RATIO, NCOLS };

/* Launches of the arms of an `if` count half. */
static const char *number_text(gcut_arena *a, double x)
{
    return x == floor(x) ? gcut_count_text(a, (int64_t)x) : gcut_printf(a, "%.1f", x);
}

/* "12 + 19": of the forward and of the backward graph. */
static const char *both(gcut_arena *a, double forward, double backward, bool trains)
{
    const char *one = number_text(a, forward);
    return trains ? gcut_printf(a, "%s + %s", one, number_text(a, backward)) : one;
}

static const char *known(gcut_arena *a, int64_t n)
{
    return n < 0 ? NULL : gcut_count_text(a, n);
}

static void add_row(gcut_table *t, const gcut_variant *v)
{
    static const gcut_variant_graph nothing;
    gcut_arena *a = t->arena;
    const gcut_variant_graph *f = v->forward, *b = v->backward ? v->backward : &nothing;
    bool trains = v->backward != NULL;
    gcut_table_row(t, (const char *[NCOLS]){
                          [VARIANT] = v->name,
                          [OPS] = both(a, (double)f->ops, (double)b->ops, trains),
                          [KERNELS] = both(a, (double)f->kernels, (double)b->kernels, trains),
                          [LAUNCHES] = both(a, f->launches, b->launches, trains),
                          [FORWARD] = number_text(a, f->bytes),
                          [BACKWARD] = trains ? number_text(a, b->bytes) : NULL,
                          [SAVED] = trains ? known(a, v->saved_bytes) : NULL,
                          [PEAK] = known(a, v->peak_predicted),
                          [MEASURED] = known(a, v->peak_measured),
                          [STEP] = gcut_median_text(a, v->step_ns_median, v->step_ns_lo, v->step_ns_hi),
                          [RATIO] = gcut_ratio_text(a, v->ratio, v->ratio_lo, v->ratio_hi, v->separable)});
}

void gcut_write_comparison_text(const gcut_comparison *c, gcut_text *out)
{
    gcut_arena *a = gcut_arena_new(gcut_arena_env(out->arena), out->arena);
    gcut_table t = {.arena = a, .ncols = NCOLS, .right = ~1u};
    gcut_table_row(&t, (const char *[NCOLS]){[VARIANT] = "variant",
                                             [OPS] = "ops",
                                             [KERNELS] = "kernels",
                                             [LAUNCHES] = "launches",
                                             [FORWARD] = "moved forward",
                                             [BACKWARD] = "moved backward",
                                             [SAVED] = "saved",
                                             [PEAK] = "peak",
                                             [MEASURED] = "measured",
                                             [STEP] = "step, median",
                                             [RATIO] = gcut_printf(a, "%s over this", c->to->name)});
    for (size_t i = 0; i < c->n; i++) add_row(&t, c->variant[i]);
    gcut_text_add(out, "variants of @%s", c->graph);
    gcut_write_sizes(c->at, c->nat, " at ", out);
    gcut_text_add(out, ", %d thread%s\n", c->threads, c->threads == 1 ? "" : "s");
    gcut_table_print(&t, 0, t.nrows, "", out);
    gcut_write_rounds(c->rounds, c->seed, out);
    gcut_write_again(c->to->name, c->again->separable, out);
    if (*c->sentence) gcut_text_add(out, "%s\n", c->sentence);
    gcut_arena_free(a);
}

/* ---- the sentence ---- */

/* "; WHAT 64.0 MiB -> 48.0 MiB" */
static void add_bytes(gcut_text *t, const char *before, const char *what, double from, double to)
{
    gcut_text_add(t, "%s%s %s -> %s", before, what, gcut_bytes_short(t->arena, from),
                  gcut_bytes_short(t->arena, to));
}

/* The ratio of the table the other way round. */
static void add_speed(gcut_text *t, const gcut_variant *from)
{
    gcut_text_add(t, "; %s times as fast",
                  gcut_ratio_text(t->arena, 1 / from->ratio, 1 / from->ratio_hi, 1 / from->ratio_lo, true));
    if (!from->separable) gcut_text_add(t, ", not separable");
}

static int64_t total(int64_t forward, const gcut_variant *v, bool kernels)
{
    if (!v->backward) return forward;
    return forward + (kernels ? v->backward->kernels : v->backward->ops);
}

const char *gcut_comparison_sentence(gcut_arena *a, const gcut_comparison *c)
{
    const gcut_variant *from = c->from, *to = c->to;
    gcut_text t = {.arena = a};
    if (!from) return "";
    gcut_text_add(&t, "%s -> %s: %s ops -> %s kernels", from->name, to->name,
                  gcut_count_text(a, total(from->forward->ops, from, false)),
                  gcut_count_text(a, total(to->forward->kernels, to, true)));
    add_bytes(&t, "; moved ", "forward", from->forward->bytes, to->forward->bytes);
    if (from->backward && to->backward)
        add_bytes(&t, ", ", "backward", from->backward->bytes, to->backward->bytes);
    if (from->backward && from->saved_bytes >= 0 && to->saved_bytes >= 0)
        add_bytes(&t, "; ", "saved", (double)from->saved_bytes, (double)to->saved_bytes);
    if (from->peak_measured >= 0 && to->peak_measured >= 0)
        add_bytes(&t, "; ", "peak", (double)from->peak_measured, (double)to->peak_measured);
    add_speed(&t, from);
    return t.at;
}

/* ---- JSON ---- */

static void json_graph(gcut_json *j, const char *key, const gcut_variant_graph *g)
{
    gcut_json_key(j, key);
    if (!g) {
        gcut_json_null(j);
        return;
    }
    gcut_json_object(j);
    gcut_json_members(j, "ops:i kernels:i launches:r bytes:r", g->ops, g->kernels, g->launches, g->bytes);
    gcut_json_end(j);
}

static void json_variant(gcut_json *j, const gcut_variant *v)
{
    gcut_json_object(j);
    gcut_json_members(j, "name:s policy:s", v->name, v->policy);
    json_graph(j, "forward", v->forward);
    json_graph(j, "backward", v->backward);
    gcut_json_members(j,
                      "saved_bytes:k peak_predicted:k peak_measured:k step_ns_best:r step_ns_median:r "
                      "step_ns_lo:r step_ns_hi:r",
                      v->saved_bytes, v->peak_predicted, v->peak_measured, v->step_ns_best, v->step_ns_median,
                      v->step_ns_lo, v->step_ns_hi);
    gcut_json_members(j, "ratio:r ratio_lo:r ratio_hi:r separable:b", v->ratio, v->ratio_lo, v->ratio_hi,
                      v->separable);
    gcut_json_end(j);
}

void gcut_write_comparison_json(const gcut_comparison *c, gcut_text *out)
{
    gcut_json j = {.out = out};
    gcut_text at = {.arena = out->arena};
    gcut_write_sizes(c->at, c->nat, "", &at);
    gcut_json_object(&j);
    gcut_json_members(&j, "graph:s at:s threads:i rounds:i seed:i", c->graph, at.at ? at.at : "",
                      (int64_t)c->threads, (int64_t)c->rounds, (int64_t)c->seed);
    gcut_json_key_array(&j, "variants");
    for (size_t i = 0; i < c->n; i++) json_variant(&j, c->variant[i]);
    gcut_json_end(&j);
    gcut_json_members(&j, "from:s to:s again:s sentence:s", c->from ? c->from->name : NULL, c->to->name,
                      c->again->name, c->sentence);
    gcut_json_samples(&j, c->sample, c->nsamples);
    gcut_json_end(&j);
    gcut_text_add(out, "\n");
}
