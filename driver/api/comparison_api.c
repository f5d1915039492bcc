/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Variants of one step beside each other: interpreted, without fusion, under other policies, and as planned.
 */
#include "driver/options/default_sizes.h"
#include "driver/api/comparison_counts.h"

#include <math.h>
#include <string.h>

#include "driver/api/timed.h"
#include "driver/options/options.h"
#include "partition/policies/policy.h"
#include "report/report.h"

enum { ROUNDS = 20 };

/* What a variant is: one of the words below, or else a policy. */
typedef enum variant_kind { EAGER, UNFUSED, PLANNED, POLICY } variant_kind;
static const char *const words[POLICY] = {[EAGER] = "eager", [UNFUSED] = "unfused", [PLANNED] = "planned"};

typedef struct job {
    gcut_env *env;
    gcut_graph *g;
    const gcut_options *opt; /* the caller's, of `size` bytes */
    size_t size;
    const gcut_compare_options *given; /* of `how_size` bytes */
    size_t how_size;
    gcut_compare_options how;
    gcut_settings settings;
    const gcut_timer *timer;
    gcut_arena *keep, *a; /* of the comparison; scratch */
    size_t n;             /* variants: those of the call, then `again` */
    size_t to;            /* the variant that the others are compared with, and that `again` repeats */
    variant_kind *kind;   /* by variant, like the next three */
    const char **name;
    gcut_step **step;
    gcut_variant *variant;
    gcut_comparison *out;
} job;

/* ---- variants ---- */

static const char *names(const job *j)
{
    return gcut_printf(j->a, "variants: %s, %s, %s, or a policy: %s", words[EAGER], words[UNFUSED],
                       words[PLANNED], gcut_policy_list(j->a));
}

static variant_kind kind_of(const char *name)
{
    int k = 0;
    while (k < POLICY && strcmp(name, words[k]) != 0) k++;
    return (variant_kind)k;
}

/* Throws for a list that cannot be compared. */
static void check_list(job *j)
{
    const char *const *v = j->how.variant;
    const gcut_place none = {0};
    if (!j->how.nvariants || !v)
        gcut_fail(j->env, GCUT_EUSAGE, none, names(j), "the list of variants to compare is empty");
    for (size_t i = 0; i < j->how.nvariants; i++) {
        if (!v[i]) gcut_fail(j->env, GCUT_EUSAGE, none, names(j), "how.variant[%zu] is NULL", i);
        if (kind_of(v[i]) == POLICY && !gcut_policy_read(v[i], &(gcut_plan_options){0}))
            gcut_fail(j->env, GCUT_EUSAGE, none, names(j), "there is no variant '%s' to compare", v[i]);
        for (size_t k = 0; k < i; k++)
            if (!strcmp(v[i], v[k]))
                gcut_fail(j->env, GCUT_EUSAGE, none, names(j), "the variant '%s' is listed twice", v[i]);
    }
    if (j->how.rounds < 0)
        gcut_fail(j->env, GCUT_EUSAGE, none, NULL, "gcut_compare: how.rounds is %d, less than 0",
                  j->how.rounds);
    if (j->how.nfeed && !j->how.feed)
        gcut_fail(j->env, GCUT_EUSAGE, none, NULL, "gcut_compare: how.feed is NULL, how.nfeed is %zu",
                  j->how.nfeed);
}

static void name_all(job *j)
{
    const size_t n = j->how.nvariants;
    j->n = n + 1;
    j->kind = gcut_calloc(j->a, n + 1, sizeof *j->kind);
    j->name = gcut_calloc(j->a, n + 1, sizeof *j->name);
    j->to = n - 1;
    for (size_t i = 0; i < n; i++) {
        j->name[i] = gcut_keep(j->keep, j->how.variant[i]);
        j->kind[i] = kind_of(j->name[i]);
        if (j->kind[i] == PLANNED) j->to = i;
    }
    j->name[n] = gcut_printf(j->keep, "%s again", j->name[j->to]);
    j->kind[n] = j->kind[j->to];
}

/* The interpreter follows no plan.  The unfused variant has the plan of save-all, so that it differs from
 * that in fusion alone. */
static gcut_settings settings_of(const job *j, size_t i)
{
    const variant_kind kind = j->kind[i];
    const char *policy = kind == POLICY ? j->how.variant[i] : gcut_policy_name(GCUT_POLICY_SAVE_ALL);
    gcut_settings o = kind == PLANNED ? j->settings : gcut_settings_plain(&j->settings, policy);
    o.backend = kind == EAGER ? GCUT_BACKEND_EAGER : GCUT_BACKEND_COMPILED;
    o.unfused = o.unfused || kind == UNFUSED;
    return o;
}

/* ---- results ---- */

static void describe(job *j, size_t i, const gcut_stats *stats, const gcut_measured *m)
{
    const gcut_step *s = j->step[i];
    const gcut_interval *median = &m->median_ns[i];
    gcut_variant_graph *of = gcut_calloc(j->keep, 2, sizeof *of);
    gcut_count_step(s, of, j->a);
    gcut_interval ratio = {NAN, NAN, NAN};
    if (i != j->to) ratio = gcut_bootstrap_ratio(&m->bootstrap, j->to, i);
    j->variant[i] =
        (gcut_variant){.name = j->name[i],
                       .policy = s->entry && s->p->bwd ? gcut_keep(j->keep, s->p->opt.policy) : NULL,
                       .forward = &of[0],
                       .backward = s->p->bwd ? &of[1] : NULL,
                       .saved_bytes = s->entry ? stats->saved_bytes : -1,
                       .peak_predicted = s->entry ? stats->predicted_bytes : -1,
                       .peak_measured = s->entry ? stats->peak_bytes : -1,
                       .step_ns_best = m->best_ns[i],
                       .step_ns_median = median->at,
                       .step_ns_lo = median->lo,
                       .step_ns_hi = median->hi,
                       .ratio = ratio.at,
                       .ratio_lo = ratio.lo,
                       .ratio_hi = ratio.hi,
                       .separable = gcut_separable(ratio)};
}

static void choose_two(const job *j)
{
    gcut_comparison *c = j->out;
    c->to = &j->variant[j->to];
    c->again = &j->variant[j->n - 1];
    if (j->n == 2) return;
    size_t from = j->to == 0;
    for (size_t i = 0; i < j->n - 1; i++)
        if (j->kind[i] == UNFUSED && i != j->to) from = i;
    c->from = &j->variant[from];
}

static void write_forms(job *j)
{
    gcut_text text = {.arena = j->keep}, json = text, samples = text;
    choose_two(j);
    j->out->sentence = gcut_comparison_sentence(j->keep, j->out);
    gcut_write_comparison_text(j->out, &text);
    gcut_write_comparison_json(j->out, &json);
    gcut_write_samples_csv(j->out->sample, j->out->nsamples, &samples);
    j->out->samples = samples.at;
    j->out->text = text.at;
    j->out->json = json.at;
}

/* Compiles the variant `planned` first: the others take the sizes of its plan file. */
static void make_all(job *j)
{
    size_t first = j->to, n = j->n;
    for (size_t k = 0; k < n; k++) {
        size_t i = k == 0 ? first : k <= first ? k - 1 : k;
        gcut_env_progress(j->env, "compiling", k, n);
        gcut_settings o = settings_of(j, i < j->how.nvariants ? i : j->to);
        j->step[i] = gcut_step_of_graph(j->g, &o, gcut_arena_new(j->env, j->a));
        if (k) continue;
        j->settings.at = j->step[i]->p->opt.at;
        j->settings.nat = j->step[i]->p->opt.nat;
    }
}

static void compare(void *arg, const gcut_made *m)
{
    job *j = arg;
    j->out = m->object;
    j->keep = m->keep;
    j->a = m->scratch;
    j->settings = gcut_settings_of(j->env, j->opt, j->size);
    j->settings.threads = gcut_rt_threads(j->settings.threads); /* as the plans are, so they are run */
    GCUT_COPY_KNOWN(j->env, gcut_compare_options, j->given, j->how_size, &j->how);
    check_list(j);
    name_all(j);
    const size_t n = j->n;
    j->step = gcut_calloc(j->a, n, sizeof *j->step);
    j->variant = gcut_calloc(j->keep, n, sizeof *j->variant);
    gcut_stats *stats = gcut_calloc(j->a, n, sizeof *stats);
    make_all(j);
    gcut_rounds r = {.step = j->step,
                     .name = j->name,
                     .n = n,
                     .feed = j->how.feed,
                     .nfeed = j->how.nfeed,
                     .rounds = j->how.rounds ? j->how.rounds : ROUNDS,
                     .seed = j->settings.seed,
                     .timer = j->timer};
    gcut_rounds_begin(&r, stats, j->a);
    gcut_measured measured = gcut_rounds_run(&r, j->keep, j->a);
    for (size_t i = 0; i < n; i++) describe(j, i, &stats[i], &measured);
    const gcut_step *s = j->step[0];
    *j->out = (gcut_comparison){.graph = gcut_keep(j->keep, j->g->name),
                                .at = gcut_sizes_named(j->keep, s->p->module, s->size, s->nsizes),
                                .nat = s->nsizes,
                                .threads = s->threads,
                                .rounds = r.rounds,
                                .n = n,
                                .seed = r.seed,
                                .sample = measured.sample,
                                .nsamples = measured.nsamples};
    GCUT_LIST(j->keep, j->out->variant, n, &j->variant[i]);
    write_forms(j);
}

#if defined(__LP64__)
GCUT_ENDS_WITH(gcut_compare_options, nfeed);
#endif

gcut_comparison *gcut_compare_timed(const gcut_timer *timer, size_t size, size_t how_size, gcut_graph *g,
                                    const gcut_options *opt, const gcut_compare_options *how)
{
    job j = {.env = g->module->env,
             .g = g,
             .opt = opt,
             .size = size,
             .given = how,
             .how_size = how_size,
             .timer = timer};
    return gcut_made_by(j.env, sizeof(gcut_comparison), compare, &j);
}

gcut_comparison *gcut_compare_sized(size_t size, size_t how_size, gcut_graph *g, const gcut_options *opt,
                                    const gcut_compare_options *how)
{
    GCUT_NEED(NULL, g, NULL);
    return gcut_compare_timed(NULL, size, how_size, g, opt, how);
}
