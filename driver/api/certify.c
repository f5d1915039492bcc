/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Plan files with a certificate: gcut_plan_certificate writes one, gcut_certify checks it.
 */
#include "driver/certificate/certificate.h"
#include "driver/pipeline/compile.h"
#include "driver/pipeline/given_pair.h"
#include "driver/pipeline/plan_info.h"
#include "report/report.h"

#define FILE_LIMIT ((size_t)1 << 30)

static void write_plan(void *arg, gcut_text *out)
{
    const gcut_plan *plan = arg;
    gcut_text t = {.arena = out->arena};
    gcut_json j = {.out = &t, .depth = 0};
    gcut_certificate_write(gcut_certificate_of(plan, out->arena), &j);
    gcut_write_plan_json(gcut_plan_info_of(plan), gcut_plan_validity_of(plan), t.at, out);
}

char *gcut_plan_certificate(const gcut_plan *plan)
{
    GCUT_NEED(NULL, plan, NULL);
    return gcut_string_by(plan->joint->module->env, write_plan, (void *)(uintptr_t)plan);
}

typedef struct job {
    gcut_env *env;
    gcut_graph *g;
    const gcut_options *opt; /* the caller's, of `size` bytes */
    size_t size;
} job;

/* The pipeline follows the plan file, so that a plan of another graph, and decisions that cannot be followed, are
 * refused as every command refuses them. */
static gcut_certified check(const job *j, const gcut_certificate *c, const gcut_settings *o, gcut_arena *a)
{
    gcut_given_refuse(j->g);
    const gcut_pipeline *p = gcut_pipeline_new(j->g, o, GCUT_STAGE_SPLIT, a);
    const char *hash = gcut_graph_hash(p->planned, a);
    if (strcmp(hash, c->graph_hash) != 0)
        return (gcut_certified){
            .fault =
                gcut_printf(a,
                            "graph_hash is %s, that of @%s is %s: the plan is of another graph, or of other "
                            "options such as --optimizer",
                            c->graph_hash, p->planned->name, hash),
            .member = "graph_hash"};
    return gcut_certificate_check(c, p->planned, a);
}

static void report_text(const gcut_certificate *c, const gcut_certified *found, gcut_text *out)
{
    if (found->said.n) gcut_text_add(out, "%s", found->said.at);
    if (found->fault)
        gcut_text_add(out, "refused: %s\n", found->fault);
    else
        gcut_text_add(
            out,
            "certified; taken as given: prices, times of kernels and what memory each uses, of the machine "
            "model %s (%s), and plans of iterations of loops\n",
            c->machine, c->machine_hash);
}

static void certify(void *arg, const gcut_made *m)
{
    const job *j = arg;
    gcut_check_report *out = m->object;
    gcut_settings o = gcut_settings_of(j->env, j->opt, j->size);
    if (!o.plan)
        gcut_fail(j->env, GCUT_EUSAGE, (gcut_place){0}, "set options.plan to the plan file",
                  "there is no certificate to check");
    o.forward_only = false;
    const gcut_certificate *c =
        gcut_certificate_read(m->scratch, gcut_json_read(m->scratch, o.plan, FILE_LIMIT));
    const gcut_certified found = check(j, c, &o, m->scratch);
    gcut_text text = {.arena = m->keep}, json = {.arena = m->keep};
    gcut_json w = {.out = &json};
    report_text(c, &found, &text);
    out->ok = !found.fault;
    out->culprit = found.fault ? gcut_keep(m->keep, found.fault) : NULL;
    out->worst = found.fault ? gcut_keep(m->keep, found.member) : NULL;
    gcut_json_object(&w);
    gcut_json_members(&w, "ok:b member:s fault:s peak_bytes:i step_ns:r lower_bound:r proved_ns:r", out->ok,
                      out->worst, out->culprit, c->peak_bytes, c->step_ns, c->bound_ns, c->proved_ns);
    gcut_json_end(&w);
    gcut_text_add(&json, "\n");
    out->text = text.at;
    out->json = json.at;
}

gcut_check_report *gcut_certify_sized(size_t size, gcut_graph *g, const gcut_options *opt)
{
    GCUT_NEED(NULL, g, NULL);
    return gcut_made_by(g->module->env, sizeof(gcut_check_report), certify,
                        &(job){g->module->env, g, opt, size});
}
