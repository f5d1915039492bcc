/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * gcut_memory_new: its peak is the plan's, its buffers are those of the plan's certificate, its classes add up, and
 * nothing that is alive at one time is in one place.
 */
#define _GNU_SOURCE
#include "harness.h"

#include <jansson.h>

#include "api.h"
#include "gradcut/inspect.h"
#include "model_files.h"

static int64_t int_of(const json_t *j, const char *key)
{
    return json_integer_value(json_object_get(j, key));
}

/* That buffer in the certificate. */
static void certified(json_t *all, const gcut_memory_buffer *b)
{
    size_t i;
    json_t *x;
    json_array_foreach(all, i, x)
    {
        const bool same = int_of(x, "offset") == b->offset &&
                          (int_of(x, "bytes") + 63) / 64 * 64 == b->bytes &&
                          json_boolean_value(json_object_get(x, "saved")) == (b->kind == GCUT_MEMORY_SAVED);
        if (same) return;
    }
    fail_msg("%s at %lld is not in the certificate", b->name, (long long)b->offset);
}

/* Of those alive during the event. */
static void check_event(const gcut_memory_profile *m, size_t k)
{
    const gcut_memory_event *e = m->event[k];
    int64_t most[GCUT_MEMORY_CLASSES] = {0}, sum = 0;
    for (size_t i = 0; i < m->nbuffers; i++)
        if (m->buffer[i]->first <= k && k <= m->buffer[i]->last)
            most[m->buffer[i]->kind] += m->buffer[i]->bytes;
    for (int c = 0; c < GCUT_MEMORY_CLASSES; c++) {
        assert_true(e->live[c] >= 0 && e->live[c] <= most[c]);
        sum += e->live[c];
    }
    assert_true(sum == e->bytes && sum <= m->event[m->peak]->bytes);
    if (k) assert_true(e->start_ns == m->event[k - 1]->start_ns + m->event[k - 1]->ns);
    if (k) assert_true(e->launch > m->event[k - 1]->launch && e->backward >= m->event[k - 1]->backward);
}

/* Whoever begins as another ends may be in its place: an epilogue, after its product. */
static void check_places(const gcut_memory_profile *m)
{
    for (size_t i = 0; i < m->nbuffers; i++) {
        const gcut_memory_buffer *a = m->buffer[i];
        assert_true(a->first <= a->last && (!m->nevents || a->last < m->nevents));
        if (a->offset < 0) continue;
        assert_true(a->offset % 64 == 0 && a->bytes % 64 == 0 && a->offset + a->bytes <= m->arena_bytes);
        for (size_t k = i + 1; k < m->nbuffers; k++) {
            const gcut_memory_buffer *b = m->buffer[k];
            if (b->offset < 0 || b->first >= a->last || a->first >= b->last) continue;
            if (a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes)
                fail_msg("%s and %s are in one place", a->name, b->name);
        }
    }
}

static void check_json(const gcut_memory_profile *m)
{
    json_error_t at;
    json_t *j = json_loads(m->json, 0, &at), *events = json_object_get(j, "events");
    if (!j) fail_msg("%s in line %d", at.text, at.line);
    assert_int_equal(int_of(j, "peak_bytes"), m->peak_bytes);
    assert_int_equal(json_array_size(events), m->nevents);
    assert_int_equal(json_array_size(json_object_get(j, "buffers")), m->nbuffers);
    if (m->nevents) {
        const json_t *peak = json_array_get(events, m->peak);
        const char *key;
        json_t *x;
        int64_t sum = int_of(j, "gap_bytes");
        json_object_foreach(json_object_get(peak, "live"), key, x) sum += json_integer_value(x);
        assert_int_equal(sum, m->peak_bytes);
    }
    json_decref(j);
}

static void check_model(gcut_ctx *ctx, gcut_graph *g, const char *file_name, const gcut_options *o)
{
    gcut_plan *plan = gcut_plan_new(g, o);
    gcut_memory_profile *m = gcut_memory_new(g, o, NULL);
    if (!plan || !m) fail_msg("%s: %s", file_name, gcut_last_error(ctx));
    const gcut_plan_info *info = gcut_plan_look(plan);
    char *file = gcut_plan_certificate(plan);
    json_t *j = json_loads(file, 0, NULL),
           *buffers = json_object_get(json_object_get(j, "certificate"), "buffers");
    assert_non_null(buffers);
    assert_int_equal(m->peak_bytes, info->peak_bytes);
    assert_true(fabs(m->step_ns - info->step_ns) <= 1e-12 * info->step_ns);
    int64_t bound = 0, alive = 0;
    size_t placed = 0;
    for (size_t i = 0; i < m->nbuffers; i++) {
        const gcut_memory_buffer *b = m->buffer[i];
        if (!b->made_by) bound += b->bytes;
        if (b->at_peak) alive += b->bytes;
        assert_true(!b->at_peak || (b->first <= m->peak && m->peak <= b->last));
        if (b->offset < 0) continue;
        certified(buffers, b);
        placed++;
    }
    if (!o->apart) assert_int_equal(placed, json_array_size(buffers));
    assert_int_equal(bound + m->arena_bytes, m->peak_bytes);
    if (m->nevents) assert_int_equal(m->event[m->peak]->bytes + m->gap_bytes, m->peak_bytes);
    assert_int_equal(alive + m->gap_bytes, m->peak_bytes); /* those that the tables list */
    for (size_t k = 0; k < m->nevents; k++) check_event(m, k);
    if (!o->apart) check_places(m);
    check_json(m);
    json_decref(j);
    gcut_free(file);
    gcut_free(m);
    gcut_plan_free(plan);
}

static void models(void **state)
{
    (void)state;
    glob_t files = model_files();
    for (size_t i = 0; i < files.gl_pathc; i++) {
        /* Searches under a budget take long: of some models. */
        static const gcut_options ways[] = {
            {.apart = true}, {.policy = "save-all"}, {0}, {.budget = GCUT_BUDGET_MIN}};
        for (size_t k = 0; k < sizeof ways / sizeof *ways - (i % 5 != 0); k++) {
            gcut_ctx *ctx = new_ctx();
            gcut_options o = ways[k];
            o.threads = 2, o.without = refine_pass, o.nwithout = 1;
            if (strstr(files.gl_pathv[i], "/models/") && k % 2) o.optimizer = "adamw";
            gcut_graph *g = gcut_load(ctx, files.gl_pathv[i], NULL);
            assert_non_null(g);
            check_model(ctx, g, files.gl_pathv[i], &o);
            gcut_ctx_free(ctx);
        }
    }
    globfree(&files);
}

/* Two values that are recomputed for the backward graph, and a gradient that an optimizer reads. */
static const char text[] =
    "func @f[N in 1..](param %w: f32[64, 64], param %v: f32[64, 64], input %x: f32[N, 64])\n"
    "    -> (out loss: f32[]) {\n"
    "  %p = matmul(%x, %w)\n"
    "  %h = tanh(%p)\n"
    "  %q = matmul(%h, %v)\n"
    "  %y = tanh(%q)\n"
    "  %loss = mean(%y, axes=[0, 1])\n"
    "  return %loss\n}\n";

static const gcut_memory_buffer *find(const gcut_memory_profile *m, const char *name, gcut_memory_class kind)
{
    for (size_t i = 0; i < m->nbuffers; i++)
        if (!strcmp(m->buffer[i]->name, name) && m->buffer[i]->kind == kind) return m->buffer[i];
    return NULL;
}

static void classes(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = graph_from(ctx, text);
    const gcut_size at = {"N", 256};
    static const char *const recompute[] = {"p", "h"};
    gcut_options o = {.at = &at, .nat = 1, .threads = 2, .policy = "save-all"};
    gcut_memory_profile *m = gcut_memory_new(g, &o, NULL);
    assert_non_null(find(m, "w", GCUT_MEMORY_PARAMETERS));
    assert_non_null(find(m, "w", GCUT_MEMORY_GRADIENTS));
    assert_non_null(find(m, "x", GCUT_MEMORY_INPUTS));
    assert_non_null(find(m, "loss", GCUT_MEMORY_RESULTS));
    assert_int_equal(find(m, "x", GCUT_MEMORY_INPUTS)->bytes, 256 * 64 * 4);
    assert_string_equal(find(m, "x", GCUT_MEMORY_INPUTS)->type, "f32[256,64]");
    gcut_free(m);

    o = (gcut_options){.at = &at, .nat = 1, .threads = 2, .optimizer = "momentum", .unfused = true};
    o.recompute = recompute, o.nrecompute = 2;
    m = gcut_memory_new(g, &o, NULL);
    assert_non_null(m);
    assert_non_null(find(m, "w.m", GCUT_MEMORY_STATES));
    assert_non_null(find(m, "h", GCUT_MEMORY_RECOMPUTED));
    assert_non_null(find(m, "h", GCUT_MEMORY_TEMPORARIES)); /* of the forward graph */
    assert_non_null(find(m, "dv", GCUT_MEMORY_GRADIENTS));
    assert_null(find(m, "h", GCUT_MEMORY_SAVED));
    gcut_free(m);
    gcut_ctx_free(ctx);
}

/* The step beside it is what a call for that plan gives. */
static void against(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = graph_from(ctx, text);
    const gcut_size at = {"N", 256};
    gcut_options o = {.at = &at, .nat = 1, .threads = 2}, all = o;
    all.policy = "recompute-all";
    gcut_plan *plan = gcut_plan_new(g, &all);
    FILE *f = fopen(in_tmp("all.json"), "w");
    assert_non_null(f);
    print_text(f, gcut_plan_json(plan));
    assert_int_equal(fclose(f), 0);
    gcut_memory_profile *m = gcut_memory_new(g, &o, &(gcut_memory_options){.against = in_tmp("all.json")}),
                        *other = gcut_memory_new(g, &all, NULL);
    assert_true(m && other && m->against);
    assert_int_equal(m->against->peak_bytes, other->peak_bytes);
    assert_int_equal(m->against->nevents, other->nevents);
    assert_true(m->against->peak_bytes != m->peak_bytes);
    for (size_t i = 0; i < other->nevents; i++)
        assert_int_equal(m->against->event[i]->bytes, other->event[i]->bytes);
    char *said = gcut_memory_text(ctx, m, GCUT_MEMORY_SUMMARY, NULL);
    assert_non_null(strstr(said, "of the other plan"));
    assert_non_null(strstr(m->svg, "<title>the other plan</title>"));
    gcut_free(said);
    assert_null(gcut_memory_new(g, &o, &(gcut_memory_options){.against = in_tmp("none.json")}));
    assert_non_null(strstr(gcut_last_error(ctx), "none.json"));
    assert_null(gcut_memory_text(ctx, m, (gcut_memory_part)7, NULL));
    assert_says(ctx, GCUT_EUSAGE, "there is no part 7");
    gcut_free(m);
    gcut_free(other);
    gcut_plan_free(plan);
    gcut_ctx_free(ctx);
}

/* Where most of the memory is alive whatever is saved, the picture's axis is cut below what a plan decides. */
static void cut_axes(void **state)
{
    (void)state;
    static const int64_t sizes[] = {1, 8, 64, 1024, 65536};
    bool with = false, without = false;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = gcut_load(ctx, GCUT_SOURCE_DIR "/examples/mlp.gcut", NULL);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const gcut_size at = {"N", sizes[i]};
        gcut_memory_profile *m = gcut_memory_new(g, &(gcut_options){.at = &at, .nat = 1, .threads = 2}, NULL);
        if (!m) fail_msg("%s", gcut_last_error(ctx));
        int64_t least = m->peak_bytes;
        for (size_t k = 0; k < m->nevents; k++) {
            int64_t sum = 0;
            for (int c = 0; c < GCUT_MEMORY_SAVED; c++) sum += m->event[k]->live[c];
            if (sum < least) least = sum;
        }
        const char *cut = strstr(m->svg, "axis cut at ");
        double at_bytes = 0;
        char unit[8] = "";
        if (cut) assert_int_equal(sscanf(cut, "axis cut at %lf %7[a-zA-Z]", &at_bytes, unit), 2);
        for (const char *c = "KMGT", *u = c; *u; u++)
            if (*unit == *u) at_bytes *= (double)(INT64_C(1) << (10 * (u - c + 1)));
        if (cut && !(at_bytes > 0 && at_bytes <= (double)least))
            fail_msg("cut at %g, of %lld", at_bytes, (long long)least);
        if (2 * least < m->peak_bytes) assert_null(cut);
        assert_int_equal(cut != NULL, strstr(m->svg, "the axis is cut") != NULL);
        with |= cut != NULL, without |= !cut;
        gcut_free(m);
    }
    assert_true(with && without);
    gcut_ctx_free(ctx);
}

/* A graph without ops: nothing runs, and everything is the caller's. */
static void nothing_runs(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = graph_from(ctx, "func @f(param %w: f32[]) -> (out loss: f32[]) {\n  return %w\n}\n");
    gcut_memory_profile *m = gcut_memory_new(g, NULL, NULL);
    if (!m) fail_msg("%s", gcut_last_error(ctx));
    for (int part = GCUT_MEMORY_SUMMARY; part <= GCUT_MEMORY_MAP; part++) {
        char *said = gcut_memory_text(ctx, m, (gcut_memory_part)part, NULL);
        assert_non_null(said);
        gcut_free(said);
    }
    check_json(m);
    gcut_free(m);
    gcut_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models),   cmocka_unit_test(classes),      cmocka_unit_test(against),
        cmocka_unit_test(cut_axes), cmocka_unit_test(nothing_runs),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
