/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Certificates of plans: gcut_certify and tests/certify/certify.py, which share no code, accept those of models and
 * loops, and refuse each kind of corruption with a sentence that names its place.
 */
#define _GNU_SOURCE
#include "nightly.h"
#include "runs.h"

#include <jansson.h>

static char plan_path[64], joint_path[64];
static bool python; /* is there one? */

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

/* The next plan file is the k-th. */
static void set_plan(size_t k)
{
    snprintf(plan_path, sizeof plan_path, "%s/%zu.json", tmp, k);
}

/* ---- both checkers ---- */

typedef struct verdict {
    bool ok;
    char *said; /* the caller's */
} verdict;

static verdict of_library(gcut_ctx *ctx, gcut_graph *g, const gcut_options *asked)
{
    gcut_options o = *asked;
    o.plan = plan_path;
    o.budget = o.saved_budget = 0;
    gcut_clear_errors(ctx);
    gcut_check_report *r = gcut_certify(g, &o);
    verdict v = {r && r->ok, strdup(!r ? gcut_last_error(ctx) : r->ok ? r->text : r->culprit)};
    if (r && !r->ok) assert_true(r->worst && *r->worst && strstr(r->text, "refused: "));
    gcut_free(r);
    return v;
}

/* What the script prints of n plans, in order; the caller's. */
static char *script(size_t n, int *code)
{
    char command[16384], *said = calloc(1, 1 << 20);
    int at = snprintf(command, sizeof command, "python3 %s/tests/certify/certify.py %s", GCUT_SOURCE_DIR,
                      joint_path);
    assert_non_null(said);
    for (size_t i = 0; i < n; i++)
        at += snprintf(command + at, sizeof command - (size_t)at, " %s/%zu.json", tmp, i);
    assert_true((size_t)at < sizeof command);
    FILE *f = popen(command, "r");
    assert_non_null(f);
    said[fread(said, 1, (1 << 20) - 1, f)] = 0;
    const int status = pclose(f);
    assert_true(WIFEXITED(status));
    *code = WEXITSTATUS(status);
    return said;
}

/* ---- plans of a model ---- */

typedef struct model {
    gcut_ctx *ctx;
    gcut_graph *g;
    gcut_options o;
    char *text; /* the plan file with its certificate */
} model;

static model made(const char *path, int64_t budget, const char *optimizer)
{
    model m = {.ctx = gcut_ctx_new(NULL)};
    m.g = gcut_load(m.ctx, path, NULL);
    if (!m.g) fail_msg("%s", gcut_last_error(m.ctx));
    m.o = (gcut_options){.budget = budget, .optimizer = optimizer, .threads = 2};
    gcut_plan *plan = gcut_plan_new(m.g, &m.o);
    if (!plan) fail_msg("%s", gcut_last_error(m.ctx));
    char *text = gcut_plan_certificate(plan), *joint = gcut_show(m.g, &m.o, GCUT_STAGE_JOINT, false);
    if (!text || !joint) fail_msg("%s", gcut_last_error(m.ctx));
    m.text = strdup(text);
    write_file(plan_path, text);
    write_file(joint_path, joint);
    gcut_free(text);
    gcut_free(joint);
    gcut_plan_free(plan);
    return m;
}

static void done(model *m)
{
    free(m->text);
    gcut_ctx_free(m->ctx);
}

static void accepted(const model *m, const char *path)
{
    verdict v = of_library(m->ctx, m->g, &m->o);
    if (!v.ok) fail_msg("%s is refused: %s", path, v.said);
    assert_non_null(strstr(v.said, "schedule: "));
    assert_non_null(strstr(v.said, "memory: "));
    assert_non_null(strstr(v.said, "time: "));
    assert_non_null(strstr(v.said, "bound: "));
    free(v.said);
    if (!python) return;
    int code;
    char *said = script(1, &code);
    if (code != 0) fail_msg("certify.py: %s: %s", path, said);
    free(said);
}

static void models_are_certified(void **state)
{
    (void)state;
    glob_t files;
    assert_int_equal(glob(GCUT_SOURCE_DIR "/tests/models/*.gcut", 0, NULL, &files), 0);
    assert_int_equal(glob(GCUT_SOURCE_DIR "/tests/loops/*.gcut", GLOB_APPEND, NULL, &files), 0);
    assert_true(files.gl_pathc > 20);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        if (i % 6 && !nightly()) continue;
        const bool several =
            strstr(files.gl_pathv[i], "second.gcut") != NULL; /* scalar results: no optimizer */
        for (int k = 0; k < 2; k++) {
            model m =
                made(files.gl_pathv[i], k ? GCUT_BUDGET_MIN : 0, k && !several ? "adamw(lr=1e-3)" : NULL);
            accepted(&m, files.gl_pathv[i]);
            done(&m);
        }
    }
    globfree(&files);
}

/* A replayed plan, a limit on saved bytes, rounded values, separate calls, forced values and another policy have
 * certificates too. */
static void kinds_of_plans(void **state)
{
    (void)state;
    static const char path[] = GCUT_SOURCE_DIR "/examples/mlp.gcut";
    static const char *const h1[] = {"h1"}, *const z1[] = {"z1"}; /* the backward graph does not read %z1 */
    const gcut_options kinds[] = {
        {.saved_budget = 2000},
        {.apart = true},
        {.save_dtype = "bf16", .lambda = 1},
        {.policy = "torch"},
        {.lambda = GCUT_LAMBDA_FASTEST},
        {.save = h1, .nsave = 1},
        {.save = z1, .nsave = 1},
        {.recompute = h1, .nrecompute = 1},
        {.fix = &(gcut_size){"N", 64}, .nfix = 1},
        {.at = &(gcut_size){"N", 4096}, .nat = 1},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        model m = made(path, 0, NULL);
        m.o = kinds[i];
        gcut_plan *plan = gcut_plan_new(m.g, &m.o);
        if (!plan) fail_msg("%s", gcut_last_error(m.ctx));
        char *text = gcut_plan_certificate(plan), *joint = gcut_show(m.g, &m.o, GCUT_STAGE_JOINT, false);
        assert_true(text && joint);
        write_file(plan_path, text);
        write_file(joint_path, joint);
        m.o.policy = m.o.save_dtype = NULL; /* the file says them */
        m.o.lambda = 0;
        m.o.saved_budget = 0;
        m.o.at = NULL, m.o.nat = 0;
        accepted(&m, text);
        gcut_options again = m.o;
        again.plan = plan_path;
        gcut_plan *replayed = gcut_plan_new(m.g, &again);
        if (!replayed) fail_msg("%s", gcut_last_error(m.ctx));
        gcut_free(text);
        text = gcut_plan_certificate(replayed);
        assert_non_null(text);
        write_file(plan_path, text);
        accepted(&m, "replayed");
        gcut_free(text);
        gcut_free(joint);
        done(&m);
    }
}

/* ---- corruptions ---- */

static json_t *member(json_t *j, const char *path)
{
    char *names = strdup(path);
    for (char *s = names, *name; (name = strsep(&s, "."));) j = json_object_get(j, name);
    free(names);
    if (!j) fail_msg("there is no %s", path);
    return j;
}

static double real(json_t *j, const char *key)
{
    return json_number_value(json_object_get(j, key));
}

/* The item of a list with the largest number under that key, of finite ones. */
static json_t *most(json_t *list, const char *key)
{
    json_t *item, *best = NULL;
    size_t i;
    json_array_foreach(list, i, item) if (json_is_number(json_object_get(item, key)) &&
                                          (!best || real(item, key) > real(best, key))) best = item;
    assert_non_null(best);
    return best;
}

static void scale(json_t *item, const char *key, double by)
{
    assert_true(real(item, key) > 0);
    json_object_set_new(item, key, json_real(real(item, key) * by));
}

static void add(json_t *item, const char *key, int64_t more)
{
    json_object_set_new(item, key, json_integer(json_integer_value(json_object_get(item, key)) + more));
}

#define ARCS member(j, "certificate.bound.arcs")
#define BUFFERS member(j, "certificate.buffers")
#define KERNELS member(j, "certificate.kernels")
#define BACKWARD member(j, "certificate.backward")

static void less_flow(json_t *j)
{
    scale(most(ARCS, "flow"), "flow", 0.9);
}
static void much_flow(json_t *j)
{
    json_t *x = most(ARCS, "capacity");
    json_object_set_new(x, "flow", json_real(1.5 * real(x, "capacity")));
}
static void more_capacity(json_t *j)
{
    scale(most(ARCS, "capacity"), "capacity", 1.001);
}
static void better_proof(json_t *j)
{
    scale(member(j, "certificate.bound"), "proved_ns", 1.001);
}
static void better_bound(json_t *j)
{
    scale(j, "cost_ns", 2), scale(j, "lower_bound", 1.01);
}
static void bound_above_cost(json_t *j)
{
    scale(j, "lower_bound", 100);
}
static void another_cost(json_t *j)
{
    scale(j, "cost_ns", 1.01);
    json_object_set_new(j, "gap", json_real(real(j, "cost_ns") - real(j, "lower_bound")));
}
static void another_gap(json_t *j)
{
    json_object_set_new(j, "gap", json_real(real(j, "gap") + 1));
}
static void another_lambda(json_t *j)
{
    scale(member(j, "certificate.bound"), "lambda", 1.5);
}
static void a_limit(json_t *j)
{
    json_object_set_new(member(j, "certificate.bound"), "limit", json_integer(7));
}
static void slower(json_t *j)
{
    scale(most(KERNELS, "ns"), "ns", 1.0001);
}
/* The buffer at the top grows. */
static void larger(json_t *j)
{
    json_t *b, *top = NULL;
    size_t i;
    json_array_foreach(BUFFERS, i, b) if (!top || real(b, "offset") + real(b, "bytes") >
                                                      real(top, "offset") + real(top, "bytes")) top = b;
    add(top, "bytes", 64);
}
static void unaligned(json_t *j)
{
    add(most(BUFFERS, "offset"), "offset", 8);
}
static void smaller_saved(json_t *j)
{
    const int64_t k = json_integer_value(member(json_array_get(member(j, "certificate.saved"), 0), "buffer"));
    add(json_array_get(BUFFERS, (size_t)k), "bytes", -1);
}

static void nowhere_saved(json_t *j)
{
    json_array_remove(member(j, "certificate.saved"), 0);
}

static void higher_peak(json_t *j)
{
    add(j, "peak_bytes", 64);
}
static void lower_peak(json_t *j)
{
    add(j, "peak_bytes", -64);
}
static void fewer_saved(json_t *j)
{
    add(j, "saved_bytes", -4);
}
static void another_graph(json_t *j)
{
    json_object_set_new(j, "graph_hash", json_string("0123456789abcdef"));
}
static void another_format(json_t *j)
{
    json_object_set_new(j, "format", json_integer(2));
}
static void no_certificate(json_t *j)
{
    json_object_del(j, "certificate");
}
static void no_arcs(json_t *j)
{
    json_object_del(member(j, "certificate.bound"), "arcs");
}
static void no_kernels(json_t *j)
{
    json_array_clear(KERNELS);
}
static void far_offset(json_t *j)
{
    json_object_set_new(json_array_get(BUFFERS, 0), "offset", json_integer(INT64_MAX - 63));
}
static void many_bytes(json_t *j)
{
    json_object_set_new(json_array_get(BUFFERS, 0), "bytes", json_integer(INT64_C(1) << 60));
}
static void huge_flow(json_t *j)
{
    json_object_set_new(json_array_get(ARCS, 0), "flow", json_real(1e308));
}
static void huge_vertex(json_t *j)
{
    json_object_set_new(json_array_get(ARCS, 0), "to", json_integer(4000000000));
}
static void negative_flow(json_t *j)
{
    json_object_set_new(json_array_get(ARCS, 0), "flow", json_real(-1));
}
static void wrong_use(json_t *j)
{
    json_array_append_new(member(json_array_get(KERNELS, 0), "uses"), json_integer(1 << 30));
}

/* Two buffers that are in use together get one place. */
static void overlapping(json_t *j)
{
    json_t *x, *y;
    size_t i, k;
    json_array_foreach(BUFFERS, i, x) json_array_foreach(BUFFERS, k, y)
    {
        const bool together = real(x, "first") <= real(y, "last") && real(y, "first") <= real(x, "last");
        if (x == y || !together || real(x, "bytes") == 0 || real(y, "bytes") == 0) continue;
        json_object_set(x, "offset", json_object_get(y, "offset"));
        return;
    }
    fail();
}

/* A buffer ends with its first kernel, and others use it. */
static void short_lived(json_t *j)
{
    json_t *b;
    size_t i;
    json_array_foreach(BUFFERS, i, b)
    {
        if (!json_is_true(json_object_get(b, "saved"))) continue;
        json_object_set(b, "last", json_object_get(b, "first"));
        json_object_set_new(b, "saved", json_false());
        return;
    }
    fail();
}

/* Drops the copies of a value that the plan recomputes. */
static void not_recomputed(json_t *j)
{
    const char *name = json_string_value(member(json_array_get(member(j, "recomputed"), 0), "value"));
    const size_t before = json_array_size(BACKWARD);
    for (size_t n = before; n-- > 0;)
        if (!strcmp(json_string_value(json_array_get(BACKWARD, n)), name)) json_array_remove(BACKWARD, n);
    assert_that(json_array_size(BACKWARD), <, before);
}

static void reversed(json_t *j)
{
    json_t *list = json_array(), *x;
    size_t i;
    json_array_foreach(BACKWARD, i, x) json_array_insert(list, 0, x);
    json_object_set_new(member(j, "certificate"), "backward", list);
}

static void without_result(json_t *j)
{
    json_array_remove(BACKWARD, json_array_size(BACKWARD) - 1);
}
static void twice_forward(json_t *j)
{
    json_array_insert(member(j, "certificate.forward"), 1,
                      json_array_get(member(j, "certificate.forward"), 0));
}

/* The last operand arc that has a flow comes from another value. */
static void wrong_operand(json_t *j)
{
    json_t *x, *found = NULL;
    size_t i;
    json_array_foreach(ARCS, i, x) if (!strcmp(json_string_value(member(x, "kind")), "operand")) found = x;
    assert_non_null(found);
    json_object_set_new(found, "from", json_integer(3)); /* out of the first value */
}

/* A read that no node asks for. */
static void needless_read(json_t *j)
{
    json_t *x, *y;
    size_t i, k;
    json_array_foreach(ARCS, i, x)
    {
        bool is_read = false;
        if (strcmp(json_string_value(member(x, "kind")), "save") != 0) continue;
        json_array_foreach(ARCS, k, y) is_read |= !strcmp(json_string_value(member(y, "kind")), "read") &&
                                                  json_equal(member(y, "value"), member(x, "value"));
        if (is_read) continue;
        json_t *arc = json_deep_copy(x);
        json_object_set_new(arc, "kind", json_string("read"));
        json_object_set(arc, "from", member(x, "to"));
        json_object_set_new(arc, "to", json_integer(1));
        json_object_set_new(arc, "bytes", json_integer(0));
        json_array_append_new(ARCS, arc);
        return;
    }
    fail();
}

static const struct corruption {
    void (*make)(json_t *j);
    const char *says; /* what both sentences have */
} corruptions[] = {
    {less_flow, "certificate.bound.arcs: "},
    {much_flow, "is more than its capacity"},
    {more_capacity, "its capacity is"},
    {better_proof, "certificate.bound.proved_ns is"},
    {better_bound, "lower_bound is"},
    {bound_above_cost, "lower_bound is"},
    {another_cost, "cost_ns is"},
    {another_gap, "gap is"},
    {another_lambda, "certificate.bound.lambda is"},
    {a_limit, "certificate.bound.limit is 7"},
    {negative_flow, "certificate.bound.arcs[0].flow"},
    {huge_flow, "certificate.bound.arcs"},
    {huge_vertex, "certificate.bound.arcs[0]"},
    {wrong_operand, "is no operand of"},
    {needless_read, "nothing in the backward graph reads"},
    {no_arcs, "arcs"},
    {slower, "certificate.kernels: their times add up to"},
    {no_kernels, "certificate.kernels: their times add up to"},
    {wrong_use, "certificate.kernels[0].uses["},
    {overlapping, "overlap"},
    {short_lived, "uses "},
    {larger, "bytes"},
    {unaligned, "is no multiple of 64"},
    {smaller_saved, "certificate.saved: %"},
    {nowhere_saved, "certificate.saved names no buffer of %"},
    {higher_peak, "peak_bytes is"},
    {lower_peak, "peak_bytes is"},
    {far_offset, "certificate.buffers[0].offset"},
    {many_bytes, "bytes"},
    {fewer_saved, "saved_bytes is"},
    {not_recomputed, "certificate.backward"},
    {reversed, "certificate.backward[0]"},
    {without_result, "certificate.backward"},
    {twice_forward, "certificate.forward[1]: %"},
    {another_graph, "graph_hash is 0123456789abcdef"},
    {another_format, "format: "},
    {no_certificate, "certificate"},
};

/* What was refused by the library, for the script: plan files 0 to n - 1. */
typedef struct queue {
    size_t n;
    const char *says[64];
} queue;

static void refuse(const model *m, queue *q, const char *text, const char *says)
{
    assert_true(q->n < 64);
    set_plan(q->n);
    write_file(plan_path, text);
    verdict v = of_library(m->ctx, m->g, &m->o);
    if (v.ok || !strstr(v.said, says)) fail_msg("corruption %zu, '%s': gcut_certify: %s", q->n, says, v.said);
    free(v.said);
    q->says[q->n++] = says;
}

static void script_refuses(const queue *q)
{
    int code;
    char head[160];
    if (!python) return;
    char *said = script(q->n, &code), *rest = said;
    for (size_t i = 0; i < q->n; i++) {
        char *line = strsep(&rest, "\n");
        snprintf(head, sizeof head, "%s/%zu.json: refused: ", tmp, i);
        if (!line || strncmp(line, head, strlen(head)) != 0 || !strstr(line, q->says[i]))
            fail_msg("corruption %zu, '%s': certify.py: %s", i, q->says[i], line ? line : "nothing");
    }
    assert_int_equal(code, 1);
    free(said);
}

static void corruptions_are_refused(void **state)
{
    (void)state;
    static const char *const models[] = {GCUT_SOURCE_DIR "/examples/mlp.gcut",
                                         GCUT_SOURCE_DIR "/tests/models/vit.gcut"};
    for (size_t k = 0; k < 2; k++) {
        model m = made(models[k], 0, NULL);
        queue q = {0};
        for (size_t i = 0; i < sizeof corruptions / sizeof *corruptions; i++) {
            json_t *j = json_loads(m.text, 0, NULL);
            assert_non_null(j);
            corruptions[i].make(j);
            char *text = json_dumps(j, JSON_REAL_PRECISION(17));
            refuse(&m, &q, text, corruptions[i].says);
            free(text);
            json_decref(j);
        }
        script_refuses(&q);
        set_plan(0);
        done(&m);
    }
}

/* Pieces of a file, texts that are no plan, and a graph whose values depend on each other. */
static void hostile_files(void **state)
{
    (void)state;
    model m = made(GCUT_SOURCE_DIR "/tests/loops/lstm.gcut", 0, NULL);
    queue q = {0};
    for (size_t k = 1; k < 8; k++) {
        char *part = strndup(m.text, strlen(m.text) * k / 8);
        refuse(&m, &q, part, "");
        free(part);
    }
    static const char *const texts[] = {"",
                                        "{}",
                                        "[]",
                                        "null",
                                        "{\"certificate\": 3}",
                                        "{\"certificate\": {}}",
                                        "{\"certificate\": {\"format\": 1e999}}"};
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) refuse(&m, &q, texts[k], "");
    char *deep = calloc(200001, 1);
    memset(deep, '[', 200000);
    refuse(&m, &q, deep, "");
    free(deep);
    script_refuses(&q);
    /* The text of the graph that the certificate carries, which the library does not read: a node that reads its
     * own result. */
    json_t *j = json_loads(m.text, 0, NULL);
    const char *graph = json_string_value(member(j, "certificate.graph"));
    const char *sum = graph ? strstr(graph, "= mul(%hs") : NULL;
    assert_non_null(sum);
    char *cycle = NULL;
    assert_true(asprintf(&cycle, "%.*s= mul(%%sq%s", (int)(sum - graph), graph, sum + strlen("= mul(%hs")) >
                0);
    json_object_set_new(member(j, "certificate"), "graph", json_string(cycle));
    char *text = json_dumps(j, 0);
    set_plan(0);
    write_file(plan_path, text);
    if (python) {
        int code;
        char *said = script(1, &code);
        if (code != 1 || !strstr(said, "refused: the graph's text: line")) fail_msg("certify.py: %s", said);
        free(said);
    }
    free(text);
    free(cycle);
    json_decref(j);
    done(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_are_certified),
        cmocka_unit_test(kinds_of_plans),
        cmocka_unit_test(corruptions_are_refused),
        cmocka_unit_test(hostile_files),
    };
    if (!begin_runs()) return 1;
    set_plan(0);
    snprintf(joint_path, sizeof joint_path, "%s/joint.gcut", tmp);
    python = have("python3");
    if (!python) fputs("there is no python3: certify.py is not tested\n", stderr);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    end_runs();
    return failed;
}
