/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * gcut_graph_c: what it prints compiles without warnings, and builds a graph of the same text.  All graphs are compiled
 * into one shared object, whose calls of the API go to this program.
 */
#define _GNU_SOURCE
#include "harness.h"

#include <dlfcn.h>
#include <unistd.h>

#include "api.h"
#include "base/file.h"
#include "driver/ctx.h"
#include "gradcut/inspect.h"
#include "graph_gen.h"
#include "model_files.h"

/* What the shared object calls and this program does not: a function of each file of the builder. */
typedef void some_function(void);
extern some_function *const builder[];
some_function *const builder[] = {(some_function *)gcut_graph_new, (some_function *)gcut_relu_at,
                                  (some_function *)gcut_scan_at,   (some_function *)gcut_matmul_at,
                                  (some_function *)gcut_range_at,  (some_function *)gcut_call_external_at};

#define MOST 512

static struct {
    gcut_ctx *ctx;
    size_t n;
    char *text[MOST];
} all;

/* ---- graphs ---- */

static void add(gcut_graph *g)
{
    char path[64], name[128];
    assert_true(all.n < MOST);
    char *c = gcut_graph_c(g, NULL), *text = gcut_show(g, NULL, GCUT_STAGE_PRIMAL, false);
    if (!c || !text) fail_msg("%s", gcut_last_error(all.ctx));
    const char *entry = strstr(c, "\ngcut_graph *build_");
    assert_non_null(entry);
    assert_int_equal(sscanf(entry, " gcut_graph *%120[A-Za-z0-9_](", name), 1);
    snprintf(path, sizeof path, "%zu.c", all.n);
    FILE *f = fopen(in_tmp(path), "w");
    assert_non_null(f);
    fprintf(f, "#define %s graph_%zu\n%s", name, all.n, c);
    assert_int_equal(fclose(f), 0);
    all.text[all.n++] = text;
    gcut_free(c);
}

static void add_text(const char *text)
{
    add(graph_from(all.ctx, text));
}

/* false: it is refused. */
static bool add_unless_refused(gcut_graph *g)
{
    char *c = gcut_graph_c(g, NULL);
    if (!c && gcut_last_status(all.ctx) == GCUT_EUNSUPPORTED) return false;
    gcut_free(c);
    add(g);
    return true;
}

/* Every function of the file; how many are refused. */
static size_t add_file(const char *path)
{
    gcut_graph *g = gcut_load(all.ctx, path, NULL), *each;
    size_t refused = 0;
    if (!g) fail_msg("%s", gcut_last_error(all.ctx));
    for (size_t i = 0; (each = gcut_graph_sibling(g, i)) != NULL; i++) refused += !add_unless_refused(each);
    return refused;
}

static void add_files(void **state)
{
    (void)state;
    glob_t files = model_files();
    assert_int_equal(glob(GCUT_SOURCE_DIR "/examples/*.gcut", GLOB_APPEND, NULL, &files), 0);
    assert_int_equal(glob(GCUT_SOURCE_DIR "/tests/corpus/*.gcut", GLOB_APPEND, NULL, &files), 0);
    size_t refused = 0;
    for (size_t i = 0; i < files.gl_pathc; i++) refused += add_file(files.gl_pathv[i]);
    assert_int_equal(refused, 5); /* #adjoint, #must_save, max in a type, both graphs of a pair */
    globfree(&files);
}

typedef struct seeded {
    gcut_graph *g;
    uint64_t seed;
} seeded;

static void make_random(void *arg)
{
    seeded *j = arg;
    graph_gen gen;
    gcut_module *m = gcut_module_new(all.ctx->env, all.ctx->env->arena);
    const gcut_op first[] = {(gcut_op)(2 * j->seed % GEN_OPS), (gcut_op)((2 * j->seed + 1) % GEN_OPS)};
    j->g = graph_random(&gen, m, "random", j->seed, 4 + (uint32_t)j->seed % 12, first, 2);
}

/* Graphs as the generator leaves them, whose bodies have names of their own, and as they are read again. */
static void add_random(void **state)
{
    (void)state;
    size_t refused = 0;
    for (uint64_t k = 0; k <= GEN_OPS / 2; k++) {
        seeded j = {NULL, 31000 + GEN_OPS * k + k};
        must(all.ctx->env, make_random, &j);
        if (!add_unless_refused(j.g))
            refused++;
        else if (k % 8 == 0)
            add_text(strchr(all.text[all.n - 1], '\n') + 1);
    }
    assert_in_range(refused, 0, 3); /* max in the size of a leaf */
}

static const char *const hostile[] = {
    /* names that C or the API has, and names that are one in C */
    "func @main[int in 2..64 mult 2, N in 1..7](param %g: f32[int], param %in: f32[int], input %0: "
    "f32[int],\n"
    "  input %gcut_val: f32[int*N+1], rng %NULL: i64[], state %linux: f32[int], input %out: i64[N] "
    "#range(-3, 9) "
    "#late)\n"
    "  -> (out while: f32[int] #late, next linux: f32[int], out a: f32[int] #transient, out b: f32[int] "
    "#transient) {\n"
    "  %a.b = add(%g, %in)\n  %a_b = mul(%a.b, %0)\n  %a.b.1 = sub(%a_b, %a.b)\n  %. = relu(%a.b.1)\n"
    "  %size_t = exp(%.)\n  %INT64_MAX = neg(%size_t)\n  %build_main = tanh(%INT64_MAX)\n  %return = "
    "abs(%build_main)\n"
    "  %user = sin(%return)\n  %M_PI = relu(%user)\n"
    "  return %M_PI, %a_b, %user, %user\n}\n",
    /* numbers that C has no literal for, or that a double would change; attributes that are their zero */
    "func @2.numbers(input %x: f32[4], input %i: i64[4]) -> (out y: f32[4], out j: i64[4], out s: "
    "f32[4]) {\n"
    "  %a = full(shape=[4], value=inf, dtype=\"f32\")\n  %b = full(shape=[4], value=-0.0, dtype=\"f32\")\n"
    "  %c = full(shape=[4], value=nan, dtype=\"f32\")\n  %d = clamp(%x, lo=-inf, hi=3)\n"
    "  %e = full(shape=[4], value=9007199254740993, dtype=\"i64\")\n  %f = full(shape=[4], value=-7, "
    "dtype=\"i64\")\n"
    "  %k = full(shape=[4], value=0.1, dtype=\"f32\")\n  %l = leaky_relu(%x, slope=0)\n  %m = cast(%x, "
    "to=\"f32\")\n"
    "  %n = pad(%x, low=[0], high=[0], value=0)\n  %s = sum(%x, axes=[])\n  %ab = add(%a, %b)\n"
    "  %cd = add(%c, %d)\n  %kl = add(%k, %l)\n  %mn = add(%m, %n)\n  %ef = add(%e, %f)\n  %j = add(%i, "
    "%ef)\n"
    "  %1 = add(%ab, %cd)\n  %2 = add(%kl, %mn)\n  %y = add(%1, %2)\n  return %y, %j, %s\n}\n",
    /* strings */
    "data @w: f32[2] = file(\"a\\\"b\\\\c\\n\\xff?\?/é.safetensors\", \"k\\\"%s\")\n"
    "func @f(param %w: f32[2]) -> (out y: f32[2]) {\n"
    "  %y: f32[2] = external(%w, kernel=\"my_kernel\", flops=3, pure=true)\n  return %y\n}\n",
    /* a list longer than a line */
    "data @w: f32[24] = dense([1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 1e-30, 2.5, 3.5, 4.5, 5.5, "
    "6.5, 7.5, 8.5,"
    "  -1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5])\n"
    "func @f(param %w: f32[24]) -> (out y: f32[24]) {\n  %y = neg(%w)\n  return %y\n}\n",
    /* what a body reads of two functions around it; a callee of a callee, and one that two others call */
    "func @a[N](input %x: f32[N]) -> (out y: f32[N]) {\n  %y = exp(%x)\n  return %y\n}\n"
    "func @a.vjp[N](input %y: f32[N], cotan %dy: f32[N]) -> (grad x: f32[N]) {\n  %d = mul(%y, %dy)\n  "
    "return %d\n}\n"
    "func @b[N](input %x: f32[N]) -> (out y: f32[N]) {\n  %z = call(@a, %x)\n  %y = call(@a, %z, "
    "vjp=@a.vjp)\n  return %y\n}\n"
    "func @f[N in 1.., T](input %x: f32[N], input %p: bool[], input %t: f32[T, N]) -> (out y: f32[N]) {\n"
    "  %c0 = call(@b, %x)\n"
    "  %c1 = scan(%c0, %t, carries=1) body(%c: f32[N], %e: f32[N]) {\n"
    "    %k: f32[2*N] = concat(%x, %e, axis=0)\n    %half = slice(%k, start=[0], limit=[N])\n"
    "    %m = sum(%c)\n    %zero = full(shape=[], value=0.0)\n    %q = gt(%m, %zero)\n"
    "    %r = if(%q) then {\n      %i = call(@a, %x)\n      %o = full(shape=[N], value=1.0)\n      %io = "
    "add(%i, %o)\n"
    "      yield %io\n    } else {\n      yield %half\n    }\n"
    "    yield %r\n  }\n"
    "  %y = if(%p) then {\n    %u = call(@b, %c1)\n    yield %u\n  } else {\n    yield %c1\n  }\n  return "
    "%y\n}\n",
    "func @f(input %x: f32[]) -> (out x: f32[], out y: f32[], grad x: f32[]) {\n  return %x, %x, "
    "%x\n}\n",
};

static void add_hostile(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) add_text(hostile[i]);
}

/* ---- compiling ---- */

static void builds_the_same(void **state)
{
    (void)state;
    char line[1024], name[32];
    snprintf(line, sizeof line,
             "cd %s && ${CC:-cc} -std=c99 -Wall -Wextra -Wshadow -Wpedantic -Werror -Wno-overlength-strings "
             "-Wno-trigraphs -O0 -fPIC -shared -I" GCUT_SOURCE_DIR "/include *.c -o all.so",
             tmp);
    if (system(line) != 0) fail_msg("%s", line);
    void *object = dlopen(in_tmp("all.so"), RTLD_NOW | RTLD_LOCAL);
    if (!object) fail_msg("%s", dlerror());
    for (size_t i = 0; i < all.n; i++) {
        gcut_graph *(*build)(gcut_ctx *);
        gcut_ctx *ctx = new_ctx();
        snprintf(name, sizeof name, "graph_%zu", i);
        *(void **)&build = dlsym(object, name);
        assert_non_null(build);
        gcut_graph *g = build(ctx);
        char *text = g ? gcut_show(g, NULL, GCUT_STAGE_PRIMAL, false) : NULL;
        if (!text) fail_msg("%s: %s%s", name, all.text[i], gcut_last_error(ctx));
        assert_string_equal(text, all.text[i]);
        gcut_free(text);
        gcut_ctx_free(ctx);
    }
    dlclose(object);
}

/* ---- the page ---- */

/* Copies what is between the first `open` after *at and the end of the block, and moves *at there. */
static char *block(const char **at, const char *open)
{
    const char *from = strstr(*at, open);
    assert_non_null(from);
    from += strlen(open);
    *at = strstr(from, "```");
    assert_non_null(*at);
    return strndup(from, (size_t)(*at - from));
}

/* The example of doc/ir.md. */
static void page_shows_it(void **state)
{
    (void)state;
    const char *page = gcut_file_read(all.ctx->env->arena, GCUT_SOURCE_DIR "/doc/ir.md", 1 << 20, NULL);
    const char *at = strstr(page, "\n## As C\n");
    assert_non_null(at);
    char *text = block(&at, "\n```gcut\n"), *want = block(&at, "\n```c\n");
    char *c = gcut_graph_c(graph_from(all.ctx, strchr(text, '\n') + 1), NULL);
    assert_string_equal(c, want);
    gcut_free(c);
    free(want);
    free(text);
}

/* ---- refused ---- */

static void refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } wrong[] = {
        {"func @f(input %x: f32[2]) -> (out y: f32[2]) {\n  %y = neg(%x) #must_save\n  return %y\n}\n",
         "%y of @f in C: the builder has no call for the mark #must_save"},
        {"func @f(param %x: f32[2] #note(\"n\")) -> (out y: f32[2]) {\n  %y = neg(%x)\n  return %y\n}\n",
         "%x of @f in C: the builder has no call for the mark #note"},
        {"func @f(input %x: f32[2]) -> (out y: f32[2] #note(\"n\")) {\n  %y = neg(%x)\n  return %y\n}\n",
         "#note"},
        {"func @f(input %x: f32[2]) -> (out y: f32[2]) #note(\"n\") {\n  %y = neg(%x)\n  return %y\n}\n",
         "@f in C: the builder has no call for the mark #note of a function"},
        {"data @x: f32[2] = splat(1) #note(\"n\")\n"
         "func @f(input %x: f32[2]) -> (out y: f32[2]) {\n  %y = neg(%x)\n  return %y\n}\n",
         "#note of data"},
        {"func @f(input %x: f32[2]) -> (out y: f32[2], out z: f32[2] #late) {\n  %y = neg(%x)\n  return %y, "
         "%y\n}\n",
         "marks of one of the results"},
        {"func @f[N](input %x: f32[N], input %z: f32[mod(N, 3)]) -> (out y: f32[N]) {\n"
         "  %y = neg(%x)\n  return %y\n}\n",
         "%z of @f in C: the builder has no call for the size mod(N,3)"},
        {"func @f(input %x: f32[2], rng %k: i64[3]) -> (out y: f32[2]) {\n  %y = neg(%x)\n  return %y\n}\n",
         "%k of @f in C: the builder has no call for a parameter of the role `rng` with axes"},
        {"func @f(input %x: f32[2]) -> (saved y: f32[2], out z: f32[2]) {\n"
         "  %y = neg(%x)\n  %z = neg(%y)\n  return %y, %z\n}\n",
         "a result of the role `saved`"},
        {"func @f(input %x: f32[3], input %p: bool[]) -> (out s: f32[]) {\n"
         "  %z = full(shape=[], value=0.0)\n  %s = scan(%z, %x, carries=1) body(%c: f32[], %e: f32[]) {\n"
         "    %r = if(%p) then {\n      yield %c\n    } else {\n      yield %e\n    }\n    yield %r\n  }\n  "
         "return %s\n}\n",
         "%r of @f in C: the builder has no call for an `if` in a body whose condition %p is computed "
         "outside"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        gcut_ctx *ctx = new_ctx();
        assert_null(gcut_graph_c(graph_from(ctx, wrong[i].text), NULL));
        assert_says(ctx, GCUT_EUNSUPPORTED, wrong[i].says);
        gcut_ctx_free(ctx);
    }
    assert_null(gcut_graph_c(NULL, NULL));
}

static int begin(void **state)
{
    (void)state;
    all.ctx = gcut_ctx_new(NULL);
    return all.ctx && mkdtemp(tmp) ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    char line[64];
    for (size_t i = 0; i < all.n; i++) gcut_free(all.text[i]);
    gcut_ctx_free(all.ctx);
    snprintf(line, sizeof line, "rm -r %s", tmp);
    return system(line);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(add_files),       cmocka_unit_test(add_random),    cmocka_unit_test(add_hostile),
        cmocka_unit_test(builds_the_same), cmocka_unit_test(page_shows_it), cmocka_unit_test(refused),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
