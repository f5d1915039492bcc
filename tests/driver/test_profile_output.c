/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What gcut_profile_text, gcut_profile_trace and gcut_profile_svg make of a profile: every kernel, strictly nested events
 * that begin where the one before ends, and the bytes of gcut_memory_new.
 */
#define _GNU_SOURCE
#include "harness.h"

#include <jansson.h>

#include "api.h"
#include "gradcut/inspect.h"

enum { DEEP = 16 };

static double real_of(const json_t *j, const char *key)
{
    return json_number_value(json_object_get(j, key));
}

static const char *text_of(const json_t *j, const char *key)
{
    const char *s = json_string_value(json_object_get(j, key));
    return s ? s : "";
}

/* Events in the order in which a viewer nests them: each lies in the one around it. */
static void check_nesting(json_t *events)
{
    double end[DEEP], last = 0;
    int depth = 0;
    size_t i;
    json_t *e;
    json_array_foreach(events, i, e)
    {
        if (strcmp(text_of(e, "cat"), "step") && strcmp(text_of(e, "cat"), "graph") &&
            strcmp(text_of(e, "cat"), "scope"))
            continue;
        const double begin = real_of(e, "ts"), close = begin + real_of(e, "dur"), slack = 1e-6;
        assert_true(begin + slack >= last);
        last = begin;
        while (depth > 0 && end[depth - 1] <= begin + slack) depth--;
        if (depth > 0 && close > end[depth - 1] + slack) fail_msg("%s is not nested", text_of(e, "name"));
        assert_true(depth < DEEP);
        end[depth++] = close;
    }
}

/* One event for each kernel, one after the other, and one counter. */
static void check_kernels(json_t *events, const gcut_profile *p, const gcut_memory_profile *m)
{
    size_t i, kernels = 0, counters = 0, names = 0, others = 0, busy = 0;
    json_t *e;
    double at = 0;
    json_array_foreach(events, i, e)
    {
        const json_t *args = json_object_get(e, "args");
        if (!strcmp(text_of(e, "ph"), "C")) {
            const gcut_kernel_time *k = p->at[counters++];
            int64_t sum = 0, want = -1;
            for (int c = 0; c < GCUT_MEMORY_CLASSES; c++)
                sum +=
                    json_integer_value(json_object_get(args, gcut_memory_class_name((gcut_memory_class)c)));
            for (size_t n = 0; n < m->nevents; n++)
                if (m->event[n]->launch == k->launch) want = m->event[n]->bytes;
            assert_int_equal(sum, want);
        } else if (!strcmp(text_of(e, "ph"), "M")) {
            assert_string_equal(text_of(e, "name"), "thread_name");
            names++;
        } else if (json_integer_value(json_object_get(e, "tid")) > 1) {
            /* Another thread computes while the kernel that was written last runs. */
            const gcut_kernel_time *k = p->at[kernels - 1];
            const int64_t t = json_integer_value(json_object_get(e, "tid")) - 1;
            assert_true(t < p->threads);
            assert_string_equal(text_of(e, "name"), k->value);
            assert_true(fabs(real_of(e, "ts") - (at - k->measured_ns / 1e3)) < 1e-6 * (1 + at));
            assert_true(fabs(real_of(e, "dur") - k->busy_ns[t] / 1e3) < 1e-9 * (1 + k->busy_ns[t]));
            others++;
        } else if (args) {
            const gcut_kernel_time *k = p->at[kernels++];
            assert_string_equal(text_of(e, "name"), k->value);
            assert_int_equal(json_integer_value(json_object_get(args, "kernel")), k->launch);
            assert_true(fabs(real_of(e, "ts") - at) < 1e-6 * (1 + at));
            assert_true(fabs(real_of(e, "dur") - k->measured_ns / 1e3) < 1e-6 * (1 + k->measured_ns));
            at += k->measured_ns / 1e3;
        }
    }
    for (i = 0; i < p->n; i++)
        for (int t = 1; t < p->threads; t++) busy += p->at[i]->busy_ns[t] > 0;
    assert_int_equal(kernels, p->n);
    assert_int_equal(counters, p->n);
    assert_int_equal((int)names, p->threads);
    assert_int_equal(others, busy);
}

static void write_file(const char *name, const char *text)
{
    FILE *f = fopen(in_tmp(name), "w");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

static void refused(gcut_ctx *ctx, const char *text, const char *says)
{
    write_file("wrong.json", text);
    assert_null(gcut_profile_read(ctx, in_tmp("wrong.json")));
    assert_says(ctx, GCUT_ESYNTAX, says);
}

/* A copy of the text with `from` replaced. */
static char *with(const char *text, const char *from, const char *to)
{
    const char *at = strstr(text, from);
    char *out = NULL;
    if (!at) fail_msg("there is no %s", from);
    assert_true(asprintf(&out, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from)) > 0);
    return out;
}

/* What is written is read, and written again it is the same. */
static void read_back(gcut_ctx *ctx, const gcut_profile *p)
{
    static const char *const wrong[][3] = {
        {"\"threads\": 2", "\"threads\": -2", "threads: expected an integer from 0"},
        {"\"half\": \"forward\"", "\"half\": \"left\"",
         "kernels[0].half: expected \"forward\" or \"backward\""},
        {"\"kernels\": [", "\"kernels\": [7, ", "kernels[0]: expected an object"},
        {"\"machine\":", "\"engine\":", "the key 'machine' is missing"},
        {"\"limit_bytes_per_s\": ", "\"limit_bytes_per_s\": 0, \"x\": ",
         "limit_bytes_per_s: expected a number from 1"},
        {"\"limit_flops_per_s\": ", "\"limit_flops_per_s\": 5e-324, \"x\": ",
         "limit_flops_per_s: expected a number from 1"},
        {"\"threads\": 2", "\"threads\": 1073741824", "threads: expected a number from 1 to 4096"},
        {"\"runs\": 1", "\"runs\": null", "runs: expected a number"},
        {"\"measured_ns\": ", "\"measured_ns\": 1e300, \"x\": ",
         "measured_ns: expected a number from 0 to 1e+12"},
        {"\"busy_ns\": [", "\"busy_ns\": [0, ", "busy_ns: expected a number for each of 2 threads"},
        {"\"busy_ns\": [\n        ", "\"busy_ns\": [\n        -", "busy_ns[0]: expected a number from 0"},
    };
    char *text = gcut_profile_json(ctx, p);
    write_file("profile.json", text);
    gcut_profile *read = gcut_profile_read(ctx, in_tmp("profile.json"));
    if (!read) fail_msg("%s", gcut_last_error(ctx));
    char *again = gcut_profile_json(ctx, read);
    assert_string_equal(again, text);
    assert_true(fabs(read->flops - p->flops) <= 1e-9 * p->flops);
    assert_true(fabs(read->bytes - p->bytes) <= 1e-9 * p->bytes);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char *changed = with(text, wrong[i][0], wrong[i][1]);
        refused(ctx, changed, wrong[i][2]);
        free(changed);
    }
    char *hostile = with(text, "\"class\": \"", "\"class\": \"<b>\", \"x\": \"");
    write_file("hostile.json", hostile);
    gcut_profile *named = gcut_profile_read(ctx, in_tmp("hostile.json"));
    if (!named) fail_msg("%s", gcut_last_error(ctx));
    char *svg = gcut_profile_svg(ctx, named);
    assert_null(strstr(svg, "<b>"));
    assert_non_null(strstr(svg, "&lt;b&gt;"));
    gcut_free(svg);
    gcut_free(named);
    free(hostile);
    refused(ctx, "[]", "expected an object");
    refused(ctx, "{", "wrong.json:1:");
    assert_null(gcut_profile_read(ctx, in_tmp("none.json")));
    assert_null(gcut_profile_read(NULL, in_tmp("none.json")));
    assert_null(gcut_profile_json(ctx, NULL));
    gcut_free(read);
    gcut_free(again);
    gcut_free(text);
}

/* The widths of the parts of a row are at most that of the row above, and forward and backward are all there is. */
static void check_flame(gcut_ctx *ctx, const gcut_profile *p)
{
    enum { ROWS = 16 };
    char *svg = gcut_profile_flame(ctx, p);
    double row[ROWS] = {0}, all = 0;
    assert_non_null(svg);
    for (size_t i = 0; i < p->n; i++) all += p->at[i]->measured_ns;
    for (const char *s = svg; (s = strstr(s, "<rect class=\"flame-")); s++) {
        double y, w;
        assert_int_equal(sscanf(strstr(s, " y="), " y=\"%lf\" width=\"%lf\"", &y, &w), 2);
        const int r = (int)((y - 60) / 20);
        assert_true(r >= 0 && r < ROWS);
        row[r] += w;
    }
    assert_true(fabs(row[0] - 900) < 0.2);
    for (int r = 1; r < ROWS; r++) assert_true(row[r] <= row[r - 1] + 0.1 * (double)p->n);
    assert_true(row[2] > 300 && all > 0);
    assert_non_null(strstr(svg, "<title>block0: "));
    assert_null(gcut_profile_flame(ctx, NULL));
    gcut_free(svg);
}

static void a_profile(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_options o = TEST_OPTIONS;
    o.profile = true, o.threads = 2;
    gcut_graph *g = gcut_load(ctx, GCUT_SOURCE_DIR "/tests/models/gpt2.gcut", NULL);
    gcut_step *s = gcut_compile(g, &o);
    gcut_profile *p = gcut_step_profile(s, 5);
    gcut_memory_profile *m = gcut_memory_new(g, &o, NULL);
    if (!p || !m) fail_msg("%s", gcut_last_error(ctx));
    for (size_t i = 0; i < p->n; i++) {
        assert_true(p->at[i]->least_ns > 0 && p->at[i]->least_ns <= p->at[i]->lower_ns &&
                    p->at[i]->lower_ns <= p->at[i]->measured_ns &&
                    p->at[i]->measured_ns <= p->at[i]->upper_ns);
        for (int t = 0; t < 2; t++)
            assert_true(p->at[i]->busy_ns[t] >= 0 && p->at[i]->busy_ns[t] <= p->at[i]->measured_ns);
    }
    char *trace = gcut_profile_trace(ctx, p, m), *plain = gcut_profile_trace(ctx, p, NULL),
         *svg = gcut_profile_svg(ctx, p),
         *text = gcut_profile_text(ctx, p, &(gcut_table_options){.all = true});
    json_error_t at;
    json_t *j = json_loads(trace, 0, &at), *without = json_loads(plain, 0, NULL);
    if (!j) fail_msg("%s in line %d", at.text, at.line);
    check_nesting(json_object_get(j, "traceEvents"));
    check_kernels(json_object_get(j, "traceEvents"), p, m);
    assert_int_equal(json_array_size(json_object_get(j, "traceEvents")),
                     json_array_size(json_object_get(without, "traceEvents")) + p->n);
    assert_non_null(strstr(trace, "\"block0\""));
    size_t lines = 0, marks = 0, timed = 0;
    for (const char *c = text; *c; c++) lines += *c == '\n';
    assert_int_equal(lines, p->n + 4); /* three lines before the titles */
    for (const char *c = svg; (c = strstr(c, "<title>")); c++) marks++;
    for (size_t i = 0; i < p->n; i++) timed += p->at[i]->measured_ns > 0 && (p->at[i]->bytes > 0);
    assert_int_equal(marks, timed);
    assert_string_equal(svg + strlen(svg) - 7, "</svg>\n");
    check_flame(ctx, p);
    assert_null(gcut_profile_text(ctx, NULL, NULL));
    assert_null(gcut_profile_trace(ctx, NULL, NULL));
    assert_null(gcut_profile_svg(NULL, p));
    assert_null(gcut_profile_text(ctx, p, &(gcut_table_options){.top = -1}));
    read_back(ctx, p);
    json_decref(j);
    json_decref(without);
    gcut_free(trace);
    gcut_free(plain);
    gcut_free(svg);
    gcut_free(text);
    gcut_free(m);
    gcut_free(p);
    gcut_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_profile)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
