/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What programs that were compiled with 1.0 rely on: the numbers of statuses, the layout of frozen
 * structures, and that the rule at the head of gradcut.h says of every structure whether it may grow.
 */
#include "harness.h"

#include <ctype.h>

#include "base/file.h"
#include "gradcut/fit.h"
#include "gradcut/inspect.h"
#include "gradcut/gradcut.h"
#include "gradcut/trace.h"
#include "gradcut/train.h"

/* ---- statuses ---- */

static void status_numbers_stay(void **state)
{
    (void)state;
    /* Written out a second time: a row that is added in between, or moved, differs from this. */
    static const int number[] = {GCUT_OK,    GCUT_ENOMEM,       GCUT_ESYNTAX, GCUT_ETYPE,     GCUT_EGRAD,
                                 GCUT_EPLAN, GCUT_EUNSUPPORTED, GCUT_EIO,     GCUT_ETOOL,     GCUT_EUSAGE,
                                 GCUT_EDIM,  GCUT_EINDEX,       GCUT_ECHECK,  GCUT_ECANCELLED};
    for (int i = 0; i < (int)(sizeof number / sizeof *number); i++) {
        assert_int_equal(number[i], i);
        assert_string_not_equal(gcut_status_text((gcut_status)i), "unknown status");
    }
    assert_string_equal(gcut_status_text(GCUT_EDIM), "a size does not fit its declaration");
}

/* ---- structures ---- */

#if defined(__LP64__)
#define FROZEN(type, size) _Static_assert(sizeof(type) == (size), #type " is frozen in 1.x")
FROZEN(gcut_allocator, 16);
FROZEN(gcut_feed, 16);
FROZEN(gcut_size, 16);
FROZEN(gcut_shape, 72);
FROZEN(gcut_val, 16);
FROZEN(gcut_here, 16);
FROZEN(gcut_conv, 88);
FROZEN(gcut_pool, 64);
FROZEN(gcut_pad_options, 80);
FROZEN(gcut_cross_entropy_options, 16);
FROZEN(gcut_attention_options, 32);
FROZEN(gcut_var_options, 16);
FROZEN(gcut_std_options, 16);
FROZEN(gcut_resize_options, 16);
FROZEN(gcut_conv_nd_options, 224);
FROZEN(gcut_conv_transpose_nd_options, 296);
FROZEN(gcut_max_pool_nd_options, 152);
FROZEN(gcut_avg_pool_nd_options, 152);
FROZEN(gcut_plan_reader, 24);
FROZEN(gcut_plan_op, 16);
FROZEN(gcut_jit_value, 80);
#endif

typedef struct rule {
    gcut_env *env;
    const char *head, *part[4]; /* where each of its three paragraphs begins, and the last ends */
    char *text;                 /* of all headers that a program includes by gradcut.h */
} rule;

static const char *find(const char *text, const char *what)
{
    const char *at = strstr(text, what);
    if (!at) fail_msg("gradcut.h does not say '%s'", what);
    return at;
}

static void read_headers(void *arg)
{
    rule *r = arg;
    static const char *const header[] = {"gradcut.h", "nodes.h",     "plan.h",    "value.h",
                                         "fit.h",     "train.h",     "inspect.h", "ops.h",
                                         "dtype.h",   "shorthand.h", "trace.h",   "explanation.h"};
    gcut_text all = {.arena = r->env->arena};
    for (size_t i = 0; i < sizeof header / sizeof *header; i++) {
        size_t n;
        const char *path = gcut_printf(r->env->arena, "%s/include/gradcut/%s", GCUT_SOURCE_DIR, header[i]);
        const char *s = gcut_file_read(r->env->arena, path, 1 << 20, &n);
        if (i == 0) r->head = s;
        gcut_text_addn(&all, s, n);
    }
    r->text = all.at;
    r->part[0] = find(r->head, "The caller fills these");
    r->part[1] = find(r->head, "The library fills these");
    r->part[2] = find(r->head, "passed by value, or listed by value");
    r->part[3] = find(r->part[2], "Threads.");
}

/* Which paragraph lists the structure; -1: none, or several. */
static int listed(const rule *r, const char *name)
{
    int found = -1;
    for (int p = 0; p < 3; p++)
        for (const char *s = r->part[p]; (s = strstr(s, name)) && s < r->part[p + 1]; s++) {
            char before = s[-1], behind = s[strlen(name)];
            if (before != ' ' || (behind != ',' && behind != '.')) continue;
            if (found >= 0) return -1;
            found = p;
        }
    return found;
}

/* No structure has one that may grow as a member, nor a list of such by value, which "at" and "n" would be.
 */
static void is_held_by_pointer(const rule *r, const char *name)
{
    char member[96];
    static const char *const form[] = {"\n    %s ", "\n    const %s "};
    for (size_t i = 0; i < 2; i++) {
        snprintf(member, sizeof member, form[i], name);
        for (const char *s = r->text; (s = strstr(s, member)); s++)
            if (s[strlen(member)] != '*') fail_msg("a structure has a %s as a member", name);
    }
}

static void every_structure_has_a_rule(void **state)
{
    rule *r = *state;
    must(r->env, read_headers, r);
    static const char begin[] = "\ntypedef struct ";
    int n[3] = {0};
    for (const char *s = r->text; (s = strstr(s, begin));) {
        char name[64];
        size_t k = 0;
        for (s += sizeof begin - 1; (isalnum((unsigned char)s[k]) || s[k] == '_') && k < sizeof name - 1; k++)
            name[k] = s[k];
        name[k] = '\0';
        if (strncmp(s + k, " {", 2) != 0) continue; /* opaque */
        int where = listed(r, name);
        if (where < 0) fail_msg("gradcut.h has to say once whether %s may grow", name);
        if (where == 1) is_held_by_pointer(r, name);
        n[where]++;
    }
    assert_int_equal(n[0], 16); /* those that gcut_copy_known reads */
    assert_that(n[1], >=, 25);
    assert_that(n[2], >=, 13);
}

/* ---- structures that the caller fills, of another version ---- */

static bool never(void *user, const char *what, size_t done, size_t total)
{
    (void)user, (void)what, (void)done, (void)total;
    return false;
}

#define LONGER(type)                                                                                         \
    struct {                                                                                                 \
        type known;                                                                                          \
        int64_t later;                                                                                       \
    }

static void says(const gcut_ctx *ctx, const char *what)
{
    if (!strstr(gcut_last_error(ctx), what)) fail_msg("'%s' is not in: %s", what, gcut_last_error(ctx));
    assert_int_equal(gcut_last_status(ctx), GCUT_EUSAGE);
}

static void stop(void *user, gcut_graph *body, const gcut_val *in, gcut_val *out)
{
    (void)user, (void)body;
    out[0] = gcut_relu(in[0]);
}

/* A member that this library does not know is refused where it is set, and nothing where it is zero. */
static void later_members_are_refused(void **state)
{
    (void)state;
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    LONGER(gcut_hooks) hooks = {.known.progress = never};
    assert_int_equal(gcut_ctx_set_hooks_sized(sizeof hooks, ctx, &hooks.known), GCUT_OK);
    hooks.later = 1;
    assert_int_equal(gcut_ctx_set_hooks_sized(sizeof hooks, ctx, &hooks.known), GCUT_EUSAGE);
    says(ctx, "gcut_hooks: a member that gradcut");
    assert_int_equal(gcut_ctx_set_hooks(ctx, NULL), GCUT_OK);

    gcut_graph *g = gcut_graph_new(ctx, "f");
    gcut_val x = gcut_param(g, "x", GCUT_F32, GCUT_SHAPE(4)), out = {0};
    LONGER(gcut_loop) loop = {.known = {.carry = &x, .ncarry = 1, .length = 2, .body = stop}};
    gcut_scan_at(GCUT_HERE, g, sizeof loop, &loop.known, &out);
    assert_true(out.id != 0);
    gcut_output(g, "y", gcut_sum(out));
    const gcut_dtype dtype = GCUT_F32;
    const gcut_shape shape = GCUT_SHAPE(4);
    LONGER(gcut_external_call)
    kernel = {.known = {.kernel = "k", .in = &x, .nin = 1, .dtypes = &dtype, .shapes = &shape, .nout = 1}};
    gcut_call_external_at(GCUT_HERE, g, sizeof kernel, &kernel.known, &out);
    assert_true(out.id != 0);
    LONGER(gcut_frontier_options) how = {.later = 1};
    assert_null(gcut_frontier_new_sized(0, sizeof how, g, NULL, &how.known));
    says(ctx, "gcut_frontier_options: a member that gradcut");
    LONGER(gcut_compare_options) beside = {.later = 1};
    assert_null(gcut_compare_sized(0, sizeof beside, g, NULL, &beside.known));
    says(ctx, "gcut_compare_options: a member that gradcut");
    LONGER(gcut_fit_options) fit = {.later = 1};
    assert_null(gcut_fit_sized(0, sizeof fit, g, NULL, &fit.known));
    says(ctx, "gcut_fit_options: a member that gradcut");
    LONGER(gcut_trace_options) trace = {.later = 1};
    assert_null(gcut_trace_sized(sizeof trace, GCUT_HERE, ctx, stop, NULL, NULL, 0, 1, &trace.known));
    says(ctx, "gcut_trace_options: a member that gradcut");
    LONGER(gcut_jit_options) jit = {.later = 1};
    assert_null(gcut_jit_new_sized(0, sizeof jit, GCUT_HERE, ctx, "f", stop, NULL, NULL, &jit.known));
    says(ctx, "gcut_jit_options: a member that gradcut");
    LONGER(gcut_calibrate_options) calibrate = {.later = 1};
    assert_null(gcut_calibrate_sized(sizeof calibrate, ctx, &calibrate.known));
    says(ctx, "gcut_calibrate_options: a member that gradcut");
    LONGER(gcut_table_options) table = {.later = 1};
    gcut_graph *planned = gcut_graph_new(ctx, "planned");
    gcut_output(planned, "y", gcut_sum(gcut_tanh(gcut_param(planned, "x", GCUT_F32, GCUT_SHAPE(4)))));
    gcut_plan *plan = gcut_plan_new(planned, NULL);
    assert_non_null(plan);
    LONGER(gcut_memory_options) memory = {.later = 1};
    assert_null(gcut_memory_new_sized(0, sizeof memory, planned, NULL, &memory.known));
    says(ctx, "gcut_memory_options: a member that gradcut");
    LONGER(gcut_report_options) report = {.later = 1};
    assert_null(gcut_report_html_sized(0, sizeof report, planned, NULL, &report.known));
    says(ctx, "gcut_report_options: a member that gradcut");
    assert_null(gcut_plan_text_sized(sizeof table, plan, &table.known));
    says(ctx, "gcut_table_options: a member that gradcut");
    gcut_plan_free(plan);
    gcut_options reserved = {.reserved = {0, 1}};
    assert_null(gcut_plan_new(g, &reserved));
    says(ctx, "options.reserved[1] is 1, not 0");
    loop.later = 1;
    gcut_while_at(GCUT_HERE, g, sizeof loop, &loop.known, &out);
    says(ctx, "gcut_loop: a member that gradcut");
    says(ctx, "test_interface.c:");
    assert_int_equal(out.id, 0);
    kernel.later = 1;
    g = gcut_graph_new(ctx, "h");
    x = gcut_param(g, "x", GCUT_F32, GCUT_SHAPE(4));
    gcut_call_external_at(GCUT_HERE, g, sizeof kernel, &kernel.known, &out);
    says(ctx, "gcut_external_call: a member that gradcut");
    assert_int_equal(out.id, 0);
    gcut_ctx_free(ctx);
}

FIXTURE(rule)

/* The macros take what functions take: a compound literal, with its commas, too. */
static void options_may_be_literals(void **state)
{
    (void)state;
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = gcut_graph_new(ctx, "f");
    gcut_output(g, "y", gcut_sum(gcut_param(g, "x", GCUT_F32, GCUT_SHAPE(4))));
    gcut_step *step = gcut_compile(g, &(gcut_options){.backend = GCUT_BACKEND_JOINT, .threads = 1});
    assert_non_null(step);
    char *text = gcut_show(g, &(gcut_options){.optimizer = "sgd", .threads = 1}, GCUT_STAGE_JOINT, false);
    assert_non_null(strstr(text, "next x"));
    gcut_plan *plan = gcut_plan_new(g, &(gcut_options){.policy = "save-all", .threads = 1});
    assert_non_null(plan);
    gcut_free(text);
    gcut_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(status_numbers_stay),
        WITH_FIXTURE(every_structure_has_a_rule),
        cmocka_unit_test(later_members_are_refused),
        cmocka_unit_test(options_may_be_literals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
