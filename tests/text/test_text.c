/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The text IR: print after parse is a fixed point, malformed inputs say what is
 * wrong, and no mutation of a valid text breaks either.
 */
#include "harness.h"

#include <dirent.h>
#include <inttypes.h>
#include <sys/stat.h>

#include "base/file.h"
#include "op_samples.h"

#define LIMIT ((size_t)1 << 24)

typedef struct round_trip {
    gcut_env *env;
    const char *file, *text;
    size_t size;
    gcut_text first, second; /* printed once, and printed again from what the first print parses to */
    gcut_print_options opt;
} round_trip;

static void parse_print(void *arg)
{
    round_trip *r = arg;
    gcut_module *m = gcut_parse_module(r->env, r->env->arena, r->file, r->text, r->size);
    gcut_print_graphs(m->graphs.at, m->graphs.n, &r->opt, &r->first);
}

static void again(void *arg)
{
    round_trip *r = arg;
    gcut_module *m = gcut_parse_module(r->env, r->env->arena, r->file, r->first.at, r->first.n);
    gcut_print_graphs(m->graphs.at, m->graphs.n, &r->opt, &r->second);
}

static round_trip start(gcut_env *env, const char *file, const char *text, size_t size, bool no_loc)
{
    round_trip r = {.env = env, .file = file, .text = text, .size = size, .opt = {.no_loc = no_loc}};
    r.first.arena = r.second.arena = env->arena;
    return r;
}

static void fixed_point(gcut_env *env, const char *file, const char *text, size_t size)
{
    for (int no_loc = 0; no_loc < 2; no_loc++) {
        round_trip r = start(env, file, text, size, no_loc);
        must(env, parse_print, &r);
        must(env, again, &r);
        assert_string_equal(r.first.at, r.second.at);
        if (no_loc) assert_null(strstr(r.first.at, "\nloc !"));
    }
}

/* print(parse(text)) of a text that is expected to be accepted. */
static const char *printed(gcut_env *env, const char *text)
{
    round_trip r = start(env, "t.gcut", text, strlen(text), true);
    must(env, parse_print, &r);
    return r.first.at;
}

/* ---- every .gcut file ---- */

typedef void (*visit_fn)(gcut_env *env, const char *path);

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), k = strlen(end);
    return n >= k && !strcmp(s + n - k, end);
}

/* Names in sorted order, so that failures repeat; golden/ holds malformed files. */
static int walk(const char *folder, visit_fn visit)
{
    struct dirent **list;
    int n = scandir(folder, &list, NULL, alphasort), count = 0;
    for (int i = 0; i < n; i++) {
        char path[4096];
        struct stat st;
        snprintf(path, sizeof path, "%s/%s", folder, list[i]->d_name);
        bool hidden = list[i]->d_name[0] == '.' || !strcmp(list[i]->d_name, "golden");
        free(list[i]);
        if (hidden || stat(path, &st) != 0) continue;
        if (S_ISDIR(st.st_mode)) {
            count += walk(path, visit);
        } else if (ends_with(path, ".gcut")) {
            gcut_env *env = gcut_env_new(NULL, NULL);
            visit(env, path);
            gcut_env_free(env);
            count++;
        }
    }
    if (n >= 0) free(list);
    return count;
}

typedef struct read_job {
    gcut_env *env;
    const char *path;
    char *text;
    size_t size;
} read_job;

static void read_it(void *arg)
{
    read_job *j = arg;
    j->text = gcut_file_read(j->env->arena, j->path, LIMIT, &j->size);
}

static read_job read_all(gcut_env *env, const char *path)
{
    read_job j = {.env = env, .path = path};
    must(env, read_it, &j);
    return j;
}

static void visit_fixed_point(gcut_env *env, const char *path)
{
    read_job j = read_all(env, path);
    fixed_point(env, path, j.text, j.size);
}

static void every_file_is_a_fixed_point(void **state)
{
    (void)state;
    assert_true(walk(GCUT_SOURCE_DIR "/tests", visit_fixed_point) >= 6);
    assert_true(walk(GCUT_SOURCE_DIR "/examples", visit_fixed_point) >= 1);
}

/* One graph printed alone is a module of its own, with its data, its locations and, before it, what it calls.
 */
typedef struct graph_job {
    gcut_env *env;
    read_job in;
} graph_job;

static void print_graphs(void *arg)
{
    graph_job *j = arg;
    gcut_module *m = gcut_parse_module(j->env, j->env->arena, j->in.path, j->in.text, j->in.size);
    for (uint32_t i = 0; i < m->graphs.n; i++) {
        gcut_text one = {.arena = j->env->arena}, two = {.arena = j->env->arena};
        gcut_print_graph(m->graphs.at[i], NULL, &one);
        gcut_module *alone = gcut_parse_module(j->env, j->env->arena, j->in.path, one.at, one.n);
        const gcut_graph *g = alone->graphs.at[alone->graphs.n - 1];
        assert_true(alone->graphs.n == 1 || m->graphs.at[i]->regions.n > 0);
        assert_string_equal(g->name, m->graphs.at[i]->name);
        assert_int_equal(g->nodes.n, m->graphs.at[i]->nodes.n);
        if (m->graphs.n == 1) assert_int_equal(alone->data.n, m->data.n);
        gcut_print_graphs(alone->graphs.at, alone->graphs.n, NULL, &two);
        assert_string_equal(one.at, two.at);
        for (uint32_t n = 0; n < g->nodes.n; n++) {
            if (gcut_node_at(g, n)->nregs) continue; /* its line leaves the bodies out */
            gcut_text line = {.arena = j->env->arena};
            gcut_print_node(m->graphs.at[i], n, &line);
            assert_non_null(strstr(one.at, line.at));
        }
    }
}

static void visit_graphs(gcut_env *env, const char *path)
{
    graph_job j = {env, read_all(env, path)};
    must(env, print_graphs, &j);
}

static void every_graph_prints_alone(void **state)
{
    (void)state;
    assert_true(walk(GCUT_SOURCE_DIR "/tests/corpus", visit_graphs) >= 6);
}

/* ---- memory ---- */

/* Counts down allocations and fails every one from the last on. */
static void *stingy(void *user, void *block, size_t size)
{
    long *left = user;
    if (size == 0) {
        free(block);
        return NULL;
    }
    return (*left)-- > 0 ? realloc(block, size) : NULL;
}

/* Whichever allocation fails, parsing reports it and nothing leaks (which the sanitizer checks). */
static void out_of_memory(void **state)
{
    (void)state;
    gcut_env *env = gcut_env_new(NULL, NULL);
    read_job in = read_all(env, GCUT_SOURCE_DIR "/tests/corpus/split.gcut");
    bool done = false;
    for (long n = 0; !done; n++) {
        long left = n;
        gcut_env *poor = gcut_env_new(stingy, &left);
        if (!poor) continue;
        round_trip r = start(poor, "split.gcut", in.text, in.size, false);
        gcut_status s = gcut_protect(poor, parse_print, &r);
        done = s == GCUT_OK;
        if (!done) assert_int_equal(s, GCUT_ENOMEM);
        gcut_env_free(poor);
        assert_true(n < 100000);
    }
    gcut_env_free(env);
}

/* The example of the documentation is canonical already: it prints as itself, byte by byte. */
static void the_example_is_canonical(void **state)
{
    (void)state;
    gcut_env *env = gcut_env_new(NULL, NULL);
    read_job j = read_all(env, GCUT_SOURCE_DIR "/examples/mlp.gcut");
    round_trip r = start(env, "mlp.gcut", j.text, j.size, false);
    must(env, parse_print, &r);
    assert_string_equal(r.first.at, j.text);
    gcut_env_free(env);
}

/* ---- every op ---- */

#define A(lo, hi) lo
#define MANY 255
#define OP(id, operands, types, attrs, rule, ...) {#id, operands, #types[0], #rule, SAMPLE_##rule},
static const struct {
    const char *name;
    int operands;
    char dtypes;
    const char *rule, *sample;
} ops[GCUT_NOPS] = {
#include "graph/ops/ops.def"
};
#undef OP

/* Elementwise ops: operands of the dtype the table asks for, every attribute with a value of its kind. */
static void put_sample(const gcut_module *m, int op, gcut_text *out)
{
    const gcut_op_spec *spec = &m->specs[op];
    if (!strcmp(ops[op].rule, "recurrent")) {
        const char *g = ops[op].operands == 7 ? "4" : !strcmp(ops[op].name, "gru") ? "3" : "1";
        gcut_text_add(out, "%%xt, %%ht, %s%%wx%s, %%wh%s, %%bt%s, %%bt%s, reverse=true",
                      *g == '4' ? "%ht, " : "", g, g, g, g);
    } else if (!strcmp(ops[op].rule, "norm")) {
        gcut_text_add(out, ops[op].operands == 3 ? "%%f, %%s, %%s, eps=0.001" : "%%f, %%s, eps=0.001");
    } else if (!strcmp(ops[op].rule, "pool")) {
        gcut_text_add(out, ops[op].operands == 2 ? "%%q, %%q, window=[2, 3]"
                                                 : "%%q, window=[3, 2], pad=[1, 0, 0, 1]");
    } else if (ops[op].sample) {
        gcut_text_add(out, "%s", ops[op].sample);
        if (!strcmp(ops[op].name, "group_norm")) gcut_text_add(out, ", groups=3");
        if (!strcmp(ops[op].name, "full")) gcut_text_add(out, ", value=-9223372036854775808");
        if (!strcmp(ops[op].name, "iota")) gcut_text_add(out, ", axis=1");
    } else {
        for (int k = 0; k < ops[op].operands; k++)
            gcut_text_add(out, "%s%s", k ? ", " : "",
                          ops[op].dtypes == 'B'   ? "%p"
                          : ops[op].dtypes == 'I' ? "%i"
                          : k                     ? "%g"
                                                  : "%f");
        for (uint32_t i = 0; i < spec->n; i++) {
            const gcut_attr_key key = spec->at[i].key;
            const gcut_attr_kind kind = gcut_attr_kind_of(key);
            assert_true(kind == GCUT_ATTR_KIND_NUM || kind == GCUT_ATTR_KIND_DIM || key == GCUT_KEY_approx);
            gcut_text_add(out, ", %s=%s", gcut_attr_name(key),
                          kind == GCUT_ATTR_KIND_NUM   ? "0.5"
                          : kind == GCUT_ATTR_KIND_DIM ? "2*N"
                                                       : "\"tanh\"");
        }
    }
}

/* Of the sample. */
static int results_of(int op)
{
    switch (op) {
    case GCUT_OP_attention_grad: return 4;
    case GCUT_OP_batch_norm:
    case GCUT_OP_lstm: return 3;
    case GCUT_OP_topk:
    case GCUT_OP_rnn:
    case GCUT_OP_gru: return 2;
    default: return 1;
    }
}

typedef struct op_job {
    gcut_env *env;
    int op;
    gcut_text text;
} op_job;

static void make_op_text(void *arg)
{
    op_job *j = arg;
    gcut_module *m = gcut_module_new(j->env, j->env->arena);
    j->text.arena = j->env->arena;
    gcut_text_add(
        &j->text,
        "gcut 1\nfunc @f[N in 1..](input %%f: f32[6, N], input %%g: f32[6, N], input %%p: bool[6, N],"
        " input %%i: i32[N], input %%j: i64[N], input %%bits: u8[ceildiv(6*N, 8)], rng %%key: i64[], input "
        "%%c: f32[6], input %%u: f32[6, N], "
        "input %%s: f32[N], input %%along: i32[6, 3], "
        "input %%l: i64[6], input %%v: f32[6, 6, N], input %%xt: f32[N, 5, 2], input %%ht: f32[5, 3], "
        "input %%wx1: f32[3, 2], input %%wh1: f32[3, 3], input %%bt1: f32[3], input %%wx3: f32[9, 2], input "
        "%%wh3: f32[9, 3], "
        "input %%bt3: f32[9], input %%wx4: f32[12, 2], input %%wh4: f32[12, 3], input %%bt4: f32[12],  input "
        "%%three: f32[6, 3], input %%place: i64[N, 4, 2], input %%rows: i32[7, 2], "
        "input %%uq: f32[7, 5, 8],"
        " input %%q: f32[N, 6, 5, 8], input %%k: f32[N, 2, 7, 8],"
        " input %%bias: f32[N, 6, 5, 7], input %%w: f32[6, 3, 2, 4], input %%h: f32[N, 6, 5, 5]) -> () {\n  "
        "%%r");
    for (int k = 1; k < results_of(j->op); k++) gcut_text_add(&j->text, ", %%r%d", k);
    gcut_text_add(&j->text, " = %s(", ops[j->op].name);
    put_sample(m, j->op, &j->text);
    gcut_text_add(&j->text, ")\n  return\n}\n");
}

static void every_op_is_a_fixed_point(void **state)
{
    (void)state;
    for (int op = 0; op < GCUT_NOPS; op++) {
        if (gcut_op_get((gcut_op)op)->emit == GCUT_EMIT_REGION) continue; /* test_control */
        if (op == GCUT_OP_external) continue;                             /* test_external */
        op_job j = {.env = gcut_env_new(NULL, NULL), .op = op};
        must(j.env, make_op_text, &j);
        fixed_point(j.env, ops[op].name, j.text.at, j.text.n);
        gcut_env_free(j.env);
    }
}

/* ---- single rules ---- */

static const char head[] = "gcut 1\nfunc @f[N](input %x: f32[N, 2], input %k: i32[N]) -> () {\n";

static void canonical_forms(void **state)
{
    static const struct {
        const char *body, *canonical;
    } cases[] = {
        /* defaults are dropped, attributes in the order of the op table, inferred types shown */
        {"%y = sum(%x, keep=false, axes=[1])\n", "  %y: f32[N] = sum(%x, axes=[1])\n"},
        {"%y = full(value=2, dtype=i32, shape=[])", "  %y: i32[] = full(shape=[], value=2, dtype=\"i32\")\n"},
        {"%y = full(value=0x10, dtype=\"i32\", shape=[])",
         "  %y: i32[] = full(shape=[], value=16, dtype=\"i32\")\n"},
        {"%y = full(value=0x1.8p1, shape=[])", "  %y: f32[] = full(shape=[], value=3.0)\n"},
        {"%y = full(value=1.5:f64, shape=[N])", "  %y: f64[N] = full(shape=[N], value=1.5, dtype=\"f64\")\n"},
        {"%y = full(value=-1e-5, shape=[])", "  %y: f32[] = full(shape=[], value=-1e-5)\n"},
        {"%y = clamp(%x, hi=inf, lo=-inf)", "  %y: f32[N, 2] = clamp(%x, lo=-inf, hi=inf)\n"},
        {"%y = leaky_relu(%x, slope=nan)", "  %y: f32[N, 2] = leaky_relu(%x, slope=nan)\n"},
        /* literals take the shape of the first value operand, and names nobody else has, also not below */
        {"%y = mul(2:f32, %x)\n%c1 = neg(%y)",
         "  %c2: f32[N, 2] = full(shape=[N, 2], value=2.0)\n  %y: f32[N, 2] = mul(%c2, %x)\n"
         "  %c1: f32[N, 2] = neg(%y)\n"},
        {"%y = concat(%k, %k, axis=0)\n%z = add(%y, -3:i32)",
         "  %y: i32[2*N] = concat(%k, %k, axis=0)\n"
         "  %c1: i32[2*N] = full(shape=[2*N], value=-3, dtype=\"i32\")\n  %z: i32[2*N] = add(%y, %c1)\n"},
        /* arguments of marks are read, and written in one way */
        {"%y = neg(%x) #must_save #saved(8 * N+2) #recomputed( 2 )\n #note(\"x  \\x79\")",
         "  %y: f32[N, 2] = neg(%x) #must_save #saved(8*N+2) #recomputed(2) #note(\"x  y\")\n"},
        /* sizes by normal form */
        {"%y = dim(of=2-5+N+4)", "  %y: i64[] = dim(of=N+1)\n"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        TRY("case %zu", i);
        char text[1024], want[1024];
        gcut_env *env = gcut_env_new(NULL, NULL);
        snprintf(text, sizeof text, "%s%s\n  return\n}\n", head, cases[i].body);
        snprintf(want, sizeof want, "%s%s  return\n}\n", head, cases[i].canonical);
        assert_string_equal(printed(env, text), want);
        fixed_point(env, "t.gcut", text, strlen(text));
        gcut_env_free(env);
    }
}

static void declarations(void **state)
{
    static const char text[] =
        "gcut 1\nfunc @f[N, M in 1.., K in 2..9 mult 3, d1 in 0..](input %x: f32[?, N, ?]) -> () {\n"
        "  return\n}\n";
    static const char want[] =
        "gcut 1\nfunc @f[N, M in 1.., K in 2..9 mult 3, d1, d2, d3](input %x: f32[d2, N, d3]) -> () {\n"
        "  return\n}\n";
    (void)state;
    gcut_env *env = gcut_env_new(NULL, NULL);
    assert_string_equal(printed(env, text), want);
    gcut_env_free(env);
}

/* Nodes without a location get their own line; equal locations print once; a call comes after its arguments.
 */
static void locations(void **state)
{
    static const char text[] = "gcut 1\nloc !7 = \"a.c\":1\nloc !3 = grad(!7)\nloc !9 = \"a.c\":1\n"
                               "func @f(input %x: f32[]) -> () !9 {\n  %a = neg(%x) !3\n  %b =\n    neg(%x)\n"
                               "  %c = neg(%x) !7\n  return\n}\n";
    static const char want[] = "gcut 1\nfunc @f(input %x: f32[]) -> () !1 {\n  %a: f32[] = neg(%x) !2\n"
                               "  %b: f32[] = neg(%x) !3\n  %c: f32[] = neg(%x) !1\n  return\n}\n"
                               "loc !1 = \"a.c\":1\nloc !2 = grad(!1)\nloc !3 = \"t.gcut\":8:5\n";
    (void)state;
    gcut_env *env = gcut_env_new(NULL, NULL);
    round_trip r = start(env, "t.gcut", text, strlen(text), false);
    must(env, parse_print, &r);
    assert_string_equal(r.first.at, want);
    gcut_env_free(env);
}

/* A chain as long as a file may write it must not cost stack. */
static void long_chain_body(void *arg)
{
    gcut_env *env = arg;
    gcut_text text = {.arena = env->arena}, out = {.arena = env->arena};
    gcut_text_add(
        &text,
        "gcut 1\nfunc @f(input %%x: f32[]) -> () {\n %%a = neg(%%x) !200000\n return\n}\nloc !1 = \"a\":1\n");
    for (int i = 2; i <= 200000; i++) gcut_text_add(&text, "loc !%d = grad(!%d)\n", i, i - 1);
    gcut_module *m = gcut_parse_module(env, env->arena, "t.gcut", text.at, text.n);
    gcut_print_graphs(m->graphs.at, m->graphs.n, NULL, &out);
    assert_non_null(strstr(out.at, "loc !200000 = grad(!199999)\n"));
}

static void long_chain_of_locations(void **state)
{
    (void)state;
    gcut_env *env = gcut_env_new(NULL, NULL);
    must(env, long_chain_body, env);
    gcut_env_free(env);
}

/* ---- floats ---- */

static uint64_t next_random(uint64_t *s)
{
    *s ^= *s << 13;
    *s ^= *s >> 7;
    return *s ^= *s << 17;
}

static void shortest_body(void *arg)
{
    gcut_env *env = arg;
    static const struct {
        double x;
        gcut_dtype t;
        const char *text;
    } cases[] = {{0.1, GCUT_F64, "0.1"},
                 {(double)0.1f, GCUT_F32, "0.1"},
                 {0.1, GCUT_F16, "0.1"},
                 {0.1, GCUT_BF16, "0.1"},
                 {(double)0.1f, GCUT_F64, "0.10000000149011612"},
                 {1, GCUT_F32, "1.0"},
                 {-0.0, GCUT_F32, "-0.0"},
                 {1e-5, GCUT_F32, "1e-5"},
                 {0.0001, GCUT_F64, "0.0001"},
                 {1e15, GCUT_F64, "1000000000000000.0"},
                 {1e16, GCUT_F64, "1e16"},
                 {1.25e16, GCUT_F64, "1.25e16"},
                 {123456.5, GCUT_F64, "123456.5"},
                 {65504, GCUT_F16, "65500.0"},
                 {65520, GCUT_F16, "inf"},
                 {-1e300, GCUT_F32, "-inf"},
                 {(double)NAN, GCUT_F32, "nan"},
                 {5e-324, GCUT_F64, "5e-324"},
                 {1e-45, GCUT_F32, "1e-45"},
                 {6e-8, GCUT_F16, "6e-8"},
                 {0x1.fep127, GCUT_BF16, "3.39e38"},
                 {-7, GCUT_I32, "-7"},
                 {1, GCUT_BOOL, "1"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        TRY("case %zu", i);
        gcut_text t = {.arena = env->arena};
        gcut_print_double(cases[i].x, cases[i].t, &t);
        assert_string_equal(t.at, cases[i].text);
    }
    /* The compiler's own strtof and strtod are the oracle: the text reads back, and one digit less does not.
     */
    uint64_t seed = 1;
    for (int i = 0; i < 20000; i++) {
        uint64_t bits = next_random(&seed);
        double d;
        float f;
        char shorter[40];
        gcut_text td = {.arena = env->arena}, tf = {.arena = env->arena};
        memcpy(&d, &bits, sizeof d);
        memcpy(&f, &bits, sizeof f);
        if (!isfinite(d) || !isfinite(f)) continue;
        gcut_print_double(d, GCUT_F64, &td);
        gcut_print_double((double)f, GCUT_F32, &tf);
        assert_true(strtod(td.at, NULL) == d);
        assert_true(strtof(tf.at, NULL) == f);
        int digits = 0;
        for (const char *s = tf.at; *s && *s != 'e'; s++) digits += *s >= '0' && *s <= '9';
        if (digits < 3 || strchr(tf.at, 'e') == NULL) continue;
        snprintf(shorter, sizeof shorter, "%.*e", digits - 2, (double)f);
        assert_false(strtof(shorter, NULL) == f);
    }
}

static void floats_are_shortest(void **state)
{
    (void)state;
    gcut_env *env = gcut_env_new(NULL, NULL);
    must(env, shortest_body, env);
    gcut_env_free(env);
}

/* ---- diagnostics ---- */

typedef struct bless_job {
    gcut_env *env;
    const char *path, *text;
} bless_job;

static void write_golden(void *arg)
{
    bless_job *j = arg;
    gcut_file_write(j->env, j->path, j->text, strlen(j->text));
}

static int golden_error(const char *folder, const char *name, bool bless)
{
    char path[4096], golden[4096];
    gcut_env *env = gcut_env_new(NULL, NULL);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    snprintf(golden, sizeof golden, "%.*s.err", (int)(strlen(path) - 5), path);
    read_job in = read_all(env, path);
    round_trip r = start(env, name, in.text, in.size, false);
    gcut_status status = gcut_protect(env, parse_print, &r);
    int bad = 0;
    if (status == GCUT_OK || env->ndiags != 1) {
        print_error("%s: status %d with %u diagnostics, expected one error\n", name, (int)status,
                    env->ndiags);
        bad = 1;
    } else {
        const char *got = gcut_diag_text(env->arena, &env->diags[0]);
        if (bless) {
            bless_job b = {env, golden, got};
            must(env, write_golden, &b);
        }
        read_job want = read_all(env, golden);
        bad = strcmp(want.text, got) != 0 || env->diags[0].at.line < 1 || env->diags[0].at.col < 1;
        if (bad) print_error("%s: expected\n%sgot\n%s", name, want.text, got);
    }
    gcut_env_free(env);
    return bad;
}

static void malformed_inputs(void **state)
{
    (void)state;
    const char *folder = GCUT_SOURCE_DIR "/tests/golden/errors";
    struct dirent **list;
    int n = scandir(folder, &list, NULL, alphasort), count = 0, bad = 0;
    assert_true(n > 0);
    for (int i = 0; i < n; i++) {
        if (ends_with(list[i]->d_name, ".gcut")) {
            bad += golden_error(folder, list[i]->d_name, getenv("GCUT_BLESS") != NULL);
            count++;
        }
        free(list[i]);
    }
    free(list);
    assert_int_equal(bad, 0);
    assert_true(count >= 35);
}

static void read_missing(void *arg)
{
    gcut_parse_file(arg, NULL, "/nonexistent/x.gcut");
}

static void files(void **state)
{
    (void)state;
    gcut_env *env = gcut_env_new(NULL, NULL);
    assert_int_equal(gcut_protect(env, read_missing, env), GCUT_EIO);
    assert_int_equal(env->ndiags, 1);
    gcut_env_free(env);
}

/* ---- mutations ---- */

#define ROUNDS 400

/* One to four edits: a byte changed, a piece deleted, a piece copied elsewhere. */
static size_t mutate(char *text, size_t n, size_t room, uint64_t *seed)
{
    static const char bytes[] = "()[]{},:=+-*?.%@#!\"\\/ \n0123456789abcxNMe\xff";
    for (uint64_t k = next_random(seed) % 4 + 1; k-- && n;) {
        size_t at = next_random(seed) % n, len = next_random(seed) % 24, to = next_random(seed) % n;
        if (len > n - at) len = n - at;
        switch (next_random(seed) % 3) {
        case 0: text[at] = bytes[next_random(seed) % (sizeof bytes - 1)]; break;
        case 1:
            memmove(text + at, text + at + len, n - at - len);
            n -= len;
            break;
        default:
            if (n + len > room) break;
            char piece[24];
            memcpy(piece, text + at, len);
            memmove(text + to + len, text + to, n - to);
            memcpy(text + to, piece, len);
            n += len;
        }
    }
    return n;
}

static void visit_mutations(gcut_env *env, const char *path)
{
    read_job j = read_all(env, path);
    uint64_t seed = 0x9E3779B97F4A7C15u ^ j.size;
    char *text = malloc(2 * j.size + 64);
    assert_non_null(text);
    for (int i = 0; i < ROUNDS; i++) {
        memcpy(text, j.text, j.size);
        size_t n = mutate(text, j.size, 2 * j.size + 64, &seed);
        gcut_env *inner = gcut_env_new(NULL, NULL);
        round_trip r = start(inner, "m.gcut", text, n, false);
        gcut_status s = gcut_protect(inner, parse_print, &r);
        if (s == GCUT_OK) {
            must(inner, again, &r);
            assert_string_equal(r.first.at, r.second.at);
        } else {
            assert_int_equal(inner->ndiags, 1);
            assert_true(s == GCUT_ESYNTAX || s == GCUT_ETYPE);
            assert_that(inner->diags[0].at.line, >=, 1);
            assert_that(inner->diags[0].at.col, >=, 1);
            assert_null(strchr(inner->diags[0].message, '\n'));
        }
        gcut_env_free(inner);
    }
    free(text);
}

static void mutations(void **state)
{
    (void)state;
    assert_true(walk(GCUT_SOURCE_DIR "/tests/corpus", visit_mutations) >= 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_file_is_a_fixed_point),
        cmocka_unit_test(every_graph_prints_alone),
        cmocka_unit_test(out_of_memory),
        cmocka_unit_test(the_example_is_canonical),
        cmocka_unit_test(every_op_is_a_fixed_point),
        cmocka_unit_test(canonical_forms),
        cmocka_unit_test(declarations),
        cmocka_unit_test(locations),
        cmocka_unit_test(long_chain_of_locations),
        cmocka_unit_test(floats_are_shortest),
        cmocka_unit_test(malformed_inputs),
        cmocka_unit_test(files),
        cmocka_unit_test(mutations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
