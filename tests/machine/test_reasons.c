/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Why nodes do not share a kernel: of every model of tests/models and tests/loops and of random graphs, each
 * pair of a node and the maker of one of its operands either runs in one launch, by the launches that the
 * program states, or has exactly one reason for it; and small graphs, each with the reason that it was
 * written for.
 */
#include "harness.h"

#include "base/file.h"
#include "driver/pipeline/compile.h"
#include "graph_gen.h"
#include "machine/lower/fusion/reason.h"
#include "machine/lower/memory/concat.h"
#include "model_files.h"
#include "public.h"

enum { GRAPHS = 60 };

typedef struct job {
    gcut_env *env;
    const char *path, *text;
    bool forward; /* no derivative: `next` results are then in the forward graph */
    uint64_t seed;
    uint32_t pairs, apart;
    bool seen[GCUT_NREASONS], memory[GCUT_NREASONS]; /* reasons of pairs; of values, about memory */
} job;

/* The kernel that a node is in, GCUT_NONE for views, constants and iotas. */
static uint32_t kernel_of(const gcut_lowered *h, const gcut_node *n)
{
    return n->nres && h->view[n->res0].root ? h->kernel_of[n->res0] : GCUT_NONE;
}

/* Is operand k made by a node in a kernel, and the consumer in one, so that there is a pair to speak of? */
static bool is_pair(const gcut_lowered *h, const gcut_node *n, uint32_t k)
{
    return kernel_of(h, n) != GCUT_NONE && gcut_kernel_source(h, gcut_arg(h->g, n, k)) != GCUT_NONE;
}

/* Why the producer of operand k is not in the node's kernel: GCUT_REASON_fused where it is, or where one launch
 * runs both kernels. */
static gcut_reason reason_of(const gcut_lowered *h, const gcut_node *n, uint32_t k)
{
    const uint32_t to = kernel_of(h, n), from = gcut_kernel_source(h, gcut_arg(h->g, n, k));
    const gcut_kernel *u = &h->kernels.at[to];
    if (from == to || (u->kind == GCUT_KERNEL_LOOP && u->loop.product == from)) return GCUT_REASON_fused;
    return gcut_concat_has(h, to, k) ? GCUT_REASON_fused : (gcut_reason)h->reason[n->arg0 + k];
}

static void check_pair(job *j, const gcut_lowered *h, const int *launch, uint32_t node, uint32_t k)
{
    const gcut_node *n = gcut_node_at(h->g, node);
    const gcut_ref x = gcut_arg(h->g, n, k);
    const uint32_t to = h->kernel_of[n->res0], from = gcut_kernel_source(h, x);
    const gcut_reason r = reason_of(h, n, k);
    const bool one =
        launch[h->kernels.at[to].step] == launch[h->kernels.at[from].step] || gcut_concat_has(h, to, k);
    j->pairs++;
    j->apart += !one;
    j->seen[r] = true;
    if ((r == GCUT_REASON_fused) != one)
        fail_msg("%s, seed %llu: %%%s (k%d) and its operand %%%s (k%d): '%s'", j->path,
                 (unsigned long long)j->seed, h->g->values.at[n->res0].name, h->kernels.at[to].step,
                 h->g->values.at[x].name, h->kernels.at[from].step, gcut_reasons[r].code);
}

static void check_program(job *j, const gcut_program *p, gcut_arena *a)
{
    int n;
    const int *launch = gcut_program_launches(p, a, &n);
    for (uint32_t i = 0; i < p->lowered.n; i++) {
        const gcut_lowered *h = p->lowered.at[i];
        for (gcut_ref v = 1; h->g && v < h->g->values.n; v++) j->memory[h->memory_reason[v]] = true;
        for (uint32_t node = 0; h->g && node < h->g->nodes.n; node++)
            for (uint32_t k = 0; k < gcut_node_at(h->g, node)->nargs; k++)
                if (is_pair(h, gcut_node_at(h->g, node), k)) check_pair(j, h, launch, node, k);
    }
}

/* Without flips, which change what is saved, so stored. */
static gcut_settings settings(const job *j)
{
    const gcut_options o = {UNREFINED, .forward_only = j->forward};
    return gcut_settings_of(j->env, &o, sizeof o);
}

static void lower_file(void *arg)
{
    job *j = arg;
    gcut_arena *a = gcut_arena_new(j->env, NULL);
    size_t size;
    const char *text = j->text ? j->text : gcut_file_read(a, j->path, 1 << 20, &size);
    gcut_module *m = gcut_parse_module(j->env, a, j->path, text, strlen(text));
    gcut_settings opt = settings(j);
    check_program(j, gcut_pipeline_new(m->graphs.at[m->graphs.n - 1], &opt, GCUT_STAGE_KERNEL, a)->program,
                  a);
    gcut_arena_free(a);
}

static void models(void **state)
{
    (void)state;
    gcut_env *env = gcut_env_new(NULL, NULL);
    job j = {.env = env};
    glob_t files = model_files();
    for (size_t i = 0; i < files.gl_pathc; i++) {
        j.path = files.gl_pathv[i];
        must(env, lower_file, &j);
    }
    globfree(&files);
    assert_that(j.pairs, >, 1000);
    assert_that(j.apart, >, 500);
    assert_that(j.apart, <, j.pairs);
    gcut_env_free(env);
}

static void lower_random(void *arg)
{
    job *j = arg;
    static graph_gen gen;
    gcut_arena *a = gcut_arena_new(j->env, NULL);
    gcut_graph *g =
        graph_random(&gen, gcut_module_new(j->env, a), "f", j->seed, 4 + (uint32_t)(j->seed % 37), NULL, 0);
    gcut_settings opt = settings(j);
    check_program(j, gcut_pipeline_new(g, &opt, GCUT_STAGE_KERNEL, a)->program, a);
    gcut_arena_free(a);
}

static void random_graphs(void **state)
{
    (void)state;
    gcut_env *env = gcut_env_new(NULL, NULL);
    job j = {.env = env, .path = "random"};
    for (j.seed = 31000; j.seed < 31000 + GRAPHS; j.seed++) must(env, lower_random, &j);
    gcut_env_free(env);
}

/* ---- one reason each ---- */

static void has_reason(gcut_reason want, const char *signature, const char *body)
{
    char text[2048];
    gcut_env *env = gcut_env_new(NULL, NULL);
    job j = {.env = env, .path = gcut_reasons[want].code, .text = text};
    snprintf(text, sizeof text, "gcut 1\nfunc @f(%s {\n%s}\n", signature, body);
    must(env, lower_file, &j);
    if (!j.seen[want]) fail_msg("no pair has the reason '%s'", gcut_reasons[want].code);
    gcut_env_free(env);
}

static void has_memory_reason(gcut_reason want, const char *signature, const char *body)
{
    char text[2048];
    gcut_env *env = gcut_env_new(NULL, NULL);
    job j = {.env = env, .forward = true, .path = gcut_reasons[want].code, .text = text};
    snprintf(text, sizeof text, "gcut 1\nfunc @f(%s {\n%s}\n", signature, body);
    must(env, lower_file, &j);
    if (!j.memory[want]) fail_msg("no value has the reason '%s'", gcut_reasons[want].code);
    gcut_env_free(env);
}

static void each_its_own(void **state)
{
    (void)state;
    has_reason(GCUT_REASON_consumer_reads_memory, "input %x: f32[8, 9]) -> (out y: f32[8, 9])",
               "  %a = exp(%x)\n  %y = cumsum(%a, axis=1)\n  return %y\n");
    has_reason(GCUT_REASON_producer_stores, "input %x: f32[8, 9]) -> (out y: f32[8, 9])",
               "  %a = cumsum(%x, axis=1)\n  %y = exp(%a)\n  return %y\n");
    has_reason(GCUT_REASON_middle_axes, "input %x: f32[8, 9, 7]) -> (out y: f32[8, 7])",
               "  %a = exp(%x)\n  %y = sum(%a, axes=[1])\n  return %y\n");
    has_reason(
        GCUT_REASON_elements, "input %x: f32[8], input %w: f32[8, 9]) -> (out y: f32[8, 9])",
        "  %a = exp(%x)\n  %b = broadcast(%a, shape=[8, 9], axes=[0])\n  %y = mul(%b, %w)\n  return %y\n");
    has_reason(GCUT_REASON_rows, "input %x: f32[8, 6]) -> (out y: f32[8], out z: f32[6])",
               "  %a = exp(%x)\n  %b = reshape(%a, shape=[6, 8])\n  %y = sum(%a, axes=[1])\n"
               "  %z = sum(%b, axes=[1])\n  return %y, %z\n");
    has_reason(GCUT_REASON_other_elements, "input %x: f32[8, 8]) -> (out y: f32[8, 8])",
               "  %a = exp(%x)\n  %b = transpose(%a, perm=[1, 0])\n  %y = add(%a, %b)\n  return %y\n");
    has_reason(GCUT_REASON_other_readers,
               "input %x: f32[2048, 256], param %w: f32[256, 1024]) -> (out y: f32[2048, 1024], out a: "
               "f32[2048, 256])",
               "  %a = exp(%x)\n  %y = matmul(%a, %w)\n  return %y, %a\n");
    has_reason(GCUT_REASON_not_packed, "input %x: f32[4, 64], param %w: f32[64, 4]) -> (out y: f32[4, 4])",
               "  %a = exp(%x)\n  %y = matmul(%a, %w)\n  return %y\n");
    has_reason(
        GCUT_REASON_stored_anyway,
        "input %x: f32[2048, 256], param %w: f32[256, 1024]) -> (out y: f32[2048, 1024], out z: f32[2048])",
        "  %m = max_reduce(%x, axes=[1])\n  %b = broadcast(%m, shape=[2048, 256], axes=[0])\n"
        "  %a = sub(%x, %b)\n  %y = matmul(%a, %w)\n  return %y, %m\n");
    has_reason(GCUT_REASON_short_rows, "input %x: f32[64, 64], param %w: f32[64, 8]) -> (out y: f32[64, 8])",
               "  %a = matmul(%x, %w)\n  %y = exp(%a)\n  return %y\n");
    has_reason(GCUT_REASON_blocked, "input %x: f32[64, 64], param %w: f32[64, 80]) -> (out y: f32[80])",
               "  %a = matmul(%x, %w)\n  %b = exp(%a)\n  %y = sum(%b, axes=[0])\n  return %y\n");
    has_reason(GCUT_REASON_not_adjacent,
               "input %x: f32[64, 64], param %w: f32[64, 80]) -> (out y: f32[64, 80], out z: f32[64, 80])",
               "  %a = matmul(%x, %w)\n  %b = cumsum(%a, axis=1)\n  %y = mul(%a, %b)\n  %z = neg(%b)\n  "
               "return %y, %z\n");
}

static void about_memory(void **state)
{
    (void)state;
    has_reason(GCUT_REASON_concat_in_use, "input %x: f32[8, 9], input %z: f32[8, 9]) -> (out y: f32[16, 9])",
               "  %a = exp(%x)\n  %b = exp(%z)\n  %y = concat(%a, %b, axis=0)\n  return %y\n");
    has_memory_reason(GCUT_REASON_read_later, "state %w: f32[8]) -> (next w: f32[8], out y: f32[8])",
                      "  %u = exp(%w)\n  %c = cumsum(%u, axis=0)\n  %y = mul(%c, %w)\n  return %u, %y\n");
    has_memory_reason(GCUT_REASON_no_storage,
                      "param %w: f32[8], param %v: f32[8]) -> (next w: f32[8], next v: f32[8])",
                      "  return %v, %w\n");
    has_memory_reason(GCUT_REASON_reads_elsewhere, "state %w: f32[8, 8]) -> (next w: f32[8, 8])",
                      "  %t = transpose(%w, perm=[1, 0])\n  %u = add(%w, %t)\n  return %u\n");
    has_memory_reason(GCUT_REASON_no_product, "input %x: f32[8, 9]) -> (out y: f32[9])",
                      "  %y = sum(%x, axes=[0])\n  return %y\n");
    has_memory_reason(GCUT_REASON_other_sums, "input %x: f32[8, 9]) -> (out y: f32[9])",
                      "  %y = max_reduce(%x, axes=[0])\n  return %y\n");
    has_memory_reason(GCUT_REASON_sum_read_first,
                      "input %x: f32[64, 32], input %d: f32[64, 48]) -> (out g: f32[32, 48])",
                      "  %s = sum(%d, axes=[0])\n  %b = broadcast(%s, shape=[64, 48], axes=[1])\n"
                      "  %c = slice(%b, start=[0, 0], limit=[64, 32])\n  %e = add(%c, %x)\n"
                      "  %g = matmul(%e, %d, ta=true)\n  return %g\n");
}

/* Each has a name and a sentence. */
static void are_said(void **state)
{
    (void)state;
    for (gcut_reason r = 0; r < GCUT_NREASONS; r++) {
        assert_that(strlen(gcut_reasons[r].code), >, 2);
        assert_that(strlen(gcut_reasons[r].sentence), >=, 20);
        for (gcut_reason other = 0; other < r; other++)
            assert_string_not_equal(gcut_reasons[r].sentence, gcut_reasons[other].sentence);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(models), cmocka_unit_test(random_graphs),
                                       cmocka_unit_test(each_its_own), cmocka_unit_test(about_memory),
                                       cmocka_unit_test(are_said)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
