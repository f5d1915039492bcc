/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * `show --stage memory`: what its comments allocate never overlaps, the highest byte is the arena's and, with what is bound,
 * the plan's peak; all is freed; the text is that of the kernel stage, and reads back.
 */
#define _GNU_SOURCE
#include "harness.h"

#include "api.h"
#include "model_files.h"

enum { MOST = 20000 };

typedef struct block {
    long long offset, bytes;
    bool ends; /* after the launch that runs now: an epilogue may begin in its place */
    char name[200];
} block;

typedef struct replay {
    block live[MOST];
    int n;
    long long top, peak, bound, arena;
} replay;

/* The next frees are of this launch. */
static void mark_ends(replay *r, const char *text)
{
    for (const char *s = text; !strncmp(s, "//   - ", 7); s = strchr(s, '\n') + 1) {
        const long long offset = strtoll(s + 7, NULL, 10);
        for (int i = 0; i < r->n; i++) r->live[i].ends |= r->live[i].offset == offset;
    }
}

static void allocate(replay *r, const char *s, const char *behind)
{
    block b = {0};
    assert_int_equal(sscanf(s, "//   + %lld %lld %*s %199[^\n]", &b.offset, &b.bytes, b.name), 3);
    assert_true(b.offset % 64 == 0 && b.bytes > 0 && r->n < MOST);
    mark_ends(r, behind);
    for (int i = 0; i < r->n; i++)
        if (!r->live[i].ends && b.offset < r->live[i].offset + r->live[i].bytes &&
            r->live[i].offset < b.offset + b.bytes)
            fail_msg("%s and %s are in one place", b.name, r->live[i].name);
    if (b.offset + b.bytes > r->top) r->top = b.offset + b.bytes;
    r->live[r->n++] = b;
}

static void release(replay *r, const char *s)
{
    long long offset, bytes;
    char name[200];
    assert_int_equal(sscanf(s, "//   - %lld %lld %199[^\n]", &offset, &bytes, name), 3);
    for (int i = 0; i < r->n; i++) {
        if (r->live[i].offset != offset || r->live[i].bytes != bytes || strcmp(r->live[i].name, name) != 0)
            continue;
        r->live[i] = r->live[--r->n];
        return;
    }
    fail_msg("%s is freed, and was not allocated", name);
}

static const char *after(const char *line)
{
    return strchr(line, '\n') + 1;
}

static void check_model(gcut_ctx *ctx, const char *path, gcut_options o)
{
    static replay r;
    memset(&r, 0, sizeof r);
    gcut_graph *g = gcut_load(ctx, path, NULL);
    gcut_plan *plan = g ? gcut_plan_new(g, &o) : NULL;
    char *text = gcut_show(g, &o, GCUT_STAGE_MEMORY, true),
         *kernels = gcut_show(g, &o, GCUT_STAGE_KERNEL, true);
    if (!plan || !text || !kernels) fail_msg("%s", gcut_last_error(ctx));
    const char *s = strstr(text, ": peak ");
    int launch = -1, n;
    assert_int_equal(sscanf(s, ": peak %lld, bound %lld, arena %lld", &r.peak, &r.bound, &r.arena), 3);
    for (s = after(text); *s == '/'; s = after(s)) {
        const char *run = s;
        while (!strncmp(run, "//   + ", 7)) run = after(run);
        if (!strncmp(s, "//   + ", 7))
            allocate(&r, s, after(run));
        else if (!strncmp(s, "//   - ", 7))
            release(&r, s);
        else {
            assert_int_equal(sscanf(s, "// k%d", &n), 1);
            assert_true(n > launch);
            launch = n;
        }
    }
    assert_string_equal(s, kernels);
    assert_int_equal(r.n, 0);
    assert_true(r.top == r.arena);
    assert_true(r.bound + r.arena == r.peak && r.peak == gcut_plan_look(plan)->peak_bytes);
    gcut_graph *again = gcut_parse(ctx, text, GCUT_TO_NUL, "memory.gcut", NULL);
    if (!again) fail_msg("%s", gcut_last_error(ctx));
    gcut_graph_free(again);
    gcut_free(text);
    gcut_free(kernels);
    gcut_plan_free(plan);
    gcut_graph_free(g);
}

static void models(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    glob_t files = model_files();
    for (size_t i = 0; i < files.gl_pathc; i++) {
        gcut_options o = UNREFINED_OPTIONS, all = o;
        if (!in_turn(i, 4)) continue;
        TRY("%s", files.gl_pathv[i]);
        all.policy = "save-all";
        if (strstr(files.gl_pathv[i], "/models/")) all.optimizer = "adamw(lr=0.1)"; /* they have one loss */
        check_model(ctx, files.gl_pathv[i], o);
        check_model(ctx, files.gl_pathv[i], all);
    }
    globfree(&files);
    assert_null(gcut_stage_look(graph_from(ctx, "func @f(param %w: f32[4]) -> (out loss: f32[]) {\n"
                                                "  %loss = sum(%w)\n  return %loss\n}\n"),
                                NULL, GCUT_STAGE_MEMORY));
    assert_says(ctx, GCUT_EUSAGE, "there is no stage 4");
    gcut_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(models)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
