/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Marks: each is read where the table says it stands and nowhere else; every stage of every model reads back
 * to the same text; and what names a value names it still when passes copy, rename, inline or clone its
 * graph. What is refused, and with which words, is in tests/golden/errors/mark_*.
 */
#include "harness.h"
#include "public.h"

#include "autodiff/autodiff.h"
#include "model_files.h"
#include "passes/passes.h"
#include "text/text.h"
#include "graph/verify.h"

/* ---- the table ---- */

typedef struct job {
    gcut_env *env;
    const char *text;
    gcut_module *m;
} job;

static void read_text(void *arg)
{
    job *j = arg;
    j->m = gcut_parse_module(j->env, j->env->arena, "marks.gcut", j->text, strlen(j->text));
}

/* "(1, 2)", with a value and sizes of the module below. */
static const char *arguments(gcut_arena *a, const gcut_mark_row *row)
{
    gcut_text out = {.arena = a};
    gcut_text_add(&out, "#%s", row->name);
    for (uint32_t k = 0; row->args[k]; k++) {
        const char *sample = NULL;
        switch (row->args[k]) {
        case 'v': sample = "%s"; break;
        case 'i': sample = k ? "7" : "-3"; break;
        case 'd': sample = "4*N+1"; break;
        case 's': sample = "\"a \\\"b\\\"\""; break;
        case 'n': sample = "w.x"; break;
        case 'k': sample = "k12"; break;
        }
        assert_non_null(sample);
        gcut_text_add(&out, "%s%s", k ? ", " : "(", sample);
    }
    if (*row->args) gcut_text_add(&out, ")");
    return out.at;
}

/* A module with the text at one of the places, by bit. */
static const char *with_mark(gcut_arena *a, unsigned place, const char *mark)
{
    const char *at[6] = {"", "", "", "", "", ""};
    for (int k = 0; k < 6; k++)
        if (place >> k & 1) at[k] = gcut_printf(a, " %s", mark);
    return gcut_printf(
        a,
        "gcut 1\ndata @w.x: f32[2] = splat(1.0)%s\n"
        "func @f[N in 1..](param %%w.x: f32[2], input %%i: i32[N]%s) -> (saved s: f32[2], "
        "out k: i32[N]%s)%s {\n"
        "  %%s: f32[2] = scan(%%w.x, carries=1, length=3) body(%%c: f32[2]) {\n"
        "    %%d: f32[2] = tanh(%%c)\n    yield %%d\n  }\n"
        "  %%t: f32[2] = tanh(%%s)%s\n  return %%t, %%i\n}\n"
        "func @g(param %%w.x: f32[2]) -> (saved s: f32[2]) {\n  %%s: f32[2] = tanh(%%w.x)\n  return %%s\n}\n"
        "func @b(saved %%s: f32[2]) -> (grad w.x: f32[2]) {\n  return %%s\n}\n"
        "pair @p = (@g, @b)%s\n",
        at[5], at[0], at[1], at[3], at[2], at[4]);
}

static void table(void **state)
{
    (void)state;
    for (int name = 0; name < GCUT_NMARKS; name++)
        for (unsigned place = 1; place <= GCUT_MARK_ON_DATA; place *= 2) {
            const gcut_mark_row *row = gcut_mark_get((gcut_mark_name)name);
            job j = {.env = gcut_env_new(NULL, NULL)};
            gcut_arena *a = j.env->arena;
            const char *mark = arguments(a, row);
            j.text = with_mark(a, place, mark);
            gcut_status s = gcut_protect(j.env, read_text, &j);
            if ((s == GCUT_OK) != ((row->on & place) != 0))
                fail_msg("%s at place %u: status %d: %s\n%s", mark, place, (int)s,
                         j.env->ndiags ? j.env->diags[0].message : "accepted", j.text);
            if (s == GCUT_OK) {
                gcut_text t = {.arena = a};
                gcut_print_graphs(j.m->graphs.at, j.m->graphs.n, &(gcut_print_options){.no_loc = true}, &t);
                assert_string_equal(t.at, j.text);
            } else {
                assert_int_equal(j.env->ndiags, 1);
                assert_true(j.env->diags[0].at.line >= 2 && j.env->diags[0].at.col > 1);
            }
            gcut_env_free(j.env);
        }
}

/* ---- stages ---- */

/* The text reads, verifies, and prints as itself.  Without locations: a node that has none gets that of its
 * line. */
static void check_text(void *arg)
{
    job *j = arg;
    read_text(j);
    gcut_verify_module(j->m);
    gcut_text t = {.arena = j->env->arena};
    gcut_print_graphs(j->m->graphs.at, j->m->graphs.n, &(gcut_print_options){.no_loc = true}, &t);
    assert_string_equal(t.at, j->text);
}

static int check_stages(const char *path, const gcut_options *o)
{
    int n = 0;
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = gcut_load(ctx, path, NULL);
    for (int stage = GCUT_STAGE_PRIMAL; g && stage <= GCUT_STAGE_KERNEL; stage++) {
        char *text = gcut_show(g, o, (gcut_stage_name)stage, false);
        if (!text) break; /* half of a pair is no model */
        char *comments = strstr(text, "\n// ");
        if (comments) comments[1] = '\0';
        job j = {.env = gcut_env_new(NULL, NULL), .text = text};
        if (gcut_protect(j.env, check_text, &j) != GCUT_OK)
            fail_msg("%s, stage %d, %s: %s\n%s", path, stage, o->policy,
                     gcut_diag_text(j.env->arena, &j.env->diags[0]), text);
        gcut_env_free(j.env);
        n++;
    }
    gcut_ctx_free(ctx);
    return n;
}

static void stages(void **state)
{
    (void)state;
    glob_t files = model_files();
    int n = 0;
    assert_int_equal(glob(GCUT_SOURCE_DIR "/tests/corpus/*.gcut", GLOB_APPEND, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        n += check_stages(files.gl_pathv[i],
                          &(gcut_options){.policy = "mincut", .optimizer = "adamw", UNREFINED});
        n += check_stages(files.gl_pathv[i], &(gcut_options){.policy = "recompute-all"});
    }
    globfree(&files);
    assert_true(n > 150);
}

/* ---- values that marks name ---- */

static const char loop[] = "gcut 1\n"
                           "func @f(param %w: f32[2], input %x: f32[5, 2]) -> (out y: f32[2]) {\n"
                           "  %h, %hs = scan(%w, %x, carries=1) body(%c, %xi) {\n"
                           "    %z = mul(%c, %xi)\n    %d = tanh(%z)\n    yield %d, %z\n  }\n"
                           "  %y = add(%h, %h)\n"
                           "  %b, %bs = scan(%y, %hs, carries=1, reverse=true) body(%e, %yi) {\n"
                           "    %k = mul(%e, %yi)\n    yield %k, %e\n  } #adjoint(%h)\n"
                           "  return %b\n}\n"
                           "func @g(param %w: f32[2], input %x: f32[5, 2]) -> (out y: f32[2]) {\n"
                           "  %p = call(@f, %w, %x)\n  %q = call(@f, %p, %x)\n  return %q\n}\n";

/* Every backward scan of g names the scan that is the nearest before it; returns how many there are. */
static uint32_t check_named(const gcut_graph *g)
{
    uint32_t n = 0, forward = GCUT_NONE;
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const gcut_node *node = gcut_node_at(g, i);
        if (node->op != GCUT_OP_scan) continue;
        const gcut_mark *mark = gcut_mark_find(&node->marks, GCUT_MARK_adjoint);
        if (mark) {
            assert_int_not_equal(mark->arg[0].i, 0);
            assert_int_equal(g->values.at[mark->arg[0].i].def, forward);
            n++;
        } else {
            forward = i;
        }
    }
    return n;
}

static void check_values(void *arg)
{
    job *j = arg;
    j->text = loop;
    read_text(j);
    gcut_graph *f = gcut_module_find(j->m, "f"), *g = gcut_module_find(j->m, "g");
    assert_int_equal(check_named(f), 1);
    assert_int_equal(check_named(gcut_pass_inline(g, "two")), 2);
    assert_int_equal(check_named(gcut_module_clone(gcut_module_find(j->m, "two"), j->env->arena)), 2);
    gcut_graph *h = gcut_pass_dce(gcut_pass_fold(gcut_pass_cse(f, "c"), "d"), "e");
    assert_int_equal(check_named(h), 1);
    gcut_value_rename(h, gcut_graph_find(h, "h"), "renamed");
    assert_int_equal(check_named(h), 1);
    gcut_text t = {.arena = j->env->arena};
    gcut_print_graph(h, &(gcut_print_options){0}, &t);
    assert_non_null(strstr(t.at, "#adjoint(%renamed)"));
}

static void values(void **state)
{
    (void)state;
    job j = {.env = gcut_env_new(NULL, NULL)};
    must(j.env, check_values, &j);
    gcut_env_free(j.env);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(table), cmocka_unit_test(values),
                                       cmocka_unit_test(stages)};
    return cmocka_run_group_tests_name("marks", tests, NULL, NULL);
}
