/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Source lines of the model in emitted C.  The oracles are a reading of #line directives as the C standard
 * defines them, the C compiler, and gdb, which stops at a line of a model and prints the value computed
 * there: it must be what the interpreter computes.
 */
#define _GNU_SOURCE
#include "backends.h"

#include <dirent.h>
#include <ftw.h>
#include <glob.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/wait.h>

static char folder[] = "/tmp/gradcut-line-XXXXXX"; /* the working folder of all tests */

static char *slurp(const char *path)
{
    size_t n = 0, room = 1 << 16;
    FILE *f = fopen(path, "rb");
    if (!f) fail_msg("%s is not there", path);
    char *s = malloc(room);
    while (s && (n += fread(s + n, 1, room - n - 1, f)) == room - 1) s = realloc(s, room *= 2);
    fclose(f);
    assert_non_null(s);
    s[n] = 0;
    return s;
}

static void write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

static void emit(gcut_ctx *ctx, gcut_graph *g, const char *base, bool line)
{
    gcut_options o = TEST_OPTIONS;
    o.line = line;
    if (!g || gcut_emit_files(g, &o, base, false) != GCUT_OK) fail_msg("%s: %s", base, gcut_last_error(ctx));
}

/* ---- numbers ---- */

typedef struct counts {
    int own, theirs; /* lines of C in NAME.c's own numbering, and in another file's */
} counts;

/* C17, 6.10.4: the line after `#line N "FILE"` is line N of FILE, and lines count on from there. */
static counts count_lines(const char *text, const char *own)
{
    counts found = {0, 0};
    int physical = 1, presumed = 1;
    bool is_own = true;
    for (const char *s = text; *s; physical++) {
        size_t n = strcspn(s, "\n");
        if (!strncmp(s, "#line ", 6)) {
            char *end;
            presumed = (int)strtol(s + 6, &end, 10);
            assert_memory_equal(end, " \"", 2);
            assert_true(s[n - 1] == '"');
            is_own = (size_t)(s + n - 1 - (end + 2)) == strlen(own) && !memcmp(end + 2, own, strlen(own));
        } else {
            if (is_own && presumed != physical)
                fail_msg("%s: line %d is called line %d: %.*s", own, physical, presumed, (int)n, s);
            found.own += is_own;
            found.theirs += !is_own;
            presumed++;
        }
        s += n + (s[n] == '\n');
    }
    return found;
}

/* Lines are asked for, and counted, in every model; nobody else gets any. */
static void test_numbers(void **state)
{
    (void)state;
    static const char *const patterns[] = {"corpus", "models", "loops"};
    glob_t files = {0};
    int n = 0;
    for (size_t i = 0; i < 3; i++) {
        char pattern[300];
        snprintf(pattern, sizeof pattern, "%s/tests/%s/*.gcut", GCUT_SOURCE_DIR, patterns[i]);
        assert_int_equal(glob(pattern, i ? GLOB_APPEND : 0, NULL, &files), 0);
    }
    for (size_t i = 0; i < files.gl_pathc; i++) {
        gcut_ctx *ctx = gcut_ctx_new(NULL);
        gcut_graph *g = gcut_load(ctx, files.gl_pathv[i], NULL);
        gcut_options o = UNREFINED_OPTIONS;
        o.line = true;
        if (gcut_emit_files(g, &o, "model", false) == GCUT_OK) { /* some are no steps */
            char *text = slurp("model.c");
            counts c = count_lines(text, "model.c");
            if (c.own < 100 || c.theirs < 1)
                fail_msg("%s: %d lines of its own, %d of the model", files.gl_pathv[i], c.own, c.theirs);
            free(text);
            emit(ctx, g, "model", false);
            text = slurp("model.c");
            assert_null(strstr(text, "#line"));
            free(text);
            n++;
        }
        gcut_ctx_free(ctx);
    }
    assert_true(n > 20);
    globfree(&files);
}

/* The compiler counts so too: an error in a line after the last kernel has the number of that line. */
static void test_compiler_counts(void **state)
{
    (void)state;
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    int lines = 0;
    char want[100];
    emit(ctx, gcut_load(ctx, GCUT_SOURCE_DIR "/examples/mlp.gcut", NULL), "wrong", true);
    char *text = slurp("wrong.c");
    for (const char *s = text; *s; s++) lines += *s == '\n';
    FILE *f = fopen("wrong.c", "ab");
    assert_non_null(f);
    fputs("#error here\n", f);
    assert_int_equal(fclose(f), 0);
    assert_int_not_equal(
        system("${CC:-cc} -std=c17 -fsyntax-only -I" GCUT_SOURCE_DIR "/include wrong.c >errors 2>&1"), 0);
    snprintf(want, sizeof want, "wrong.c:%d:", lines + 1);
    char *errors = slurp("errors");
    if (!strstr(errors, want)) fail_msg("%s is not in: %s", want, errors);
    free(errors);
    free(text);
    gcut_ctx_free(ctx);
}

/* A graph built in C has the lines of the calls. */
static void test_lines_of_calls(void **state)
{
    (void)state;
    char want[300];
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = gcut_graph_new(ctx, "f");
    gcut_val x = gcut_param(g, "x", GCUT_F32, GCUT_SHAPE(8));
    int line = __LINE__ + 1;
    gcut_val h = gcut_tanh(x);
    gcut_output(g, "loss", gcut_sum(h));
    emit(ctx, g, "calls", true);
    char *text = slurp("calls.c");
    snprintf(want, sizeof want, "#line %d \"%s\"\n            const float v_", line, __FILE__);
    if (!strstr(text, want)) fail_msg("'%s' is not in:\n%s", want, text);
    free(text);
    gcut_ctx_free(ctx);
}

/* In process, header and C are one file: after the header, the numbers are those of step.c. */
static void test_in_process(void **state)
{
    (void)state;
    static const char include[] = "#include \"step.h\"\n";
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = gcut_load(ctx, GCUT_SOURCE_DIR "/examples/mlp.gcut", NULL);
    gcut_options o = TEST_OPTIONS;
    o.line = true;
    emit(ctx, g, "step", true);
    char *apart = slurp("step.c"), *behind = strstr(apart, include), want[60];
    assert_non_null(behind);
    int line = 2;
    for (const char *s = apart; s < behind; s++) line += *s == '\n';
    assert_int_equal(mkdir("kept", 0700), 0);
    setenv("GRADCUT_KEEP", "kept", 1);
    gcut_step *step = gcut_compile(g, &o);
    unsetenv("GRADCUT_KEEP");
    if (!step) fail_msg("%s", gcut_last_error(ctx));
    glob_t files;
    assert_int_equal(glob("kept/*.c", 0, NULL, &files), 0);
    char *together = slurp(files.gl_pathv[0]);
    snprintf(want, sizeof want, "#line %d \"step.c\"\n", line);
    const char *at = strstr(together, "#line");
    assert_non_null(at);
    assert_memory_equal(at, want, strlen(want));
    assert_string_equal(at + strlen(want), behind + strlen(include));
    globfree(&files);
    free(together);
    free(apart);

    o.line = false;
    gcut_step *plain = gcut_compile(g, &o);
    assert_ok(ctx, gcut_run(step));
    assert_ok(ctx, gcut_run(plain));
    for (size_t i = 0; i < gcut_step_value_count(step); i++) {
        const gcut_value_info *x = gcut_step_value_at(step, i), *y = gcut_step_value_at(plain, i);
        if (memcmp(x->at, y->at, (size_t)x->bytes) != 0) fail_msg("%s differs with lines", x->name);
    }
    gcut_ctx_free(ctx);
}

/* ---- names of files ---- */

/* What a compiler reads in the directive is the name of the file, byte for byte. */
static void test_file_names(void **state)
{
    (void)state;
    static const char *const names[] = {"a \"b\" c\\d.gcut",
                                        "line\nbreak\r\t.gcut",
                                        "tri?\?/\".gcut",
                                        "*/ // /*.gcut",
                                        "\x01\x7f\x1b[31m.gcut",
                                        "m\xc3\xa9m\xe2\x82\xac.gcut",
                                        "\xff\xc3(\xc0\x80\xed\xa0\x80\xc2\x85.gcut",
                                        "%s%n$(touch owned).gcut"};
    const char *body = "gcut 1\nfunc @f(param %x: f32[8]) -> (out loss: f32[]) {\n  %h = tanh(%x)\n"
                       "  %loss = sum(%h)\n  return %loss\n}\n";
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        gcut_ctx *ctx = gcut_ctx_new(NULL);
        emit(ctx, gcut_parse(ctx, body, GCUT_TO_NUL, names[i], NULL), "named", true);
        char *text = slurp("named.c"), *at = strstr(text, "#line 3 \""), program[600];
        if (!at) fail_msg("no line 3 of %s in:\n%s", names[i], text);
        at += strlen("#line 3 ");
        int n = (int)strcspn(at, "\n"); /* gcc 12 dies of __FILE__ where that has a newline */
        snprintf(program, sizeof program,
                 "#include <stdio.h>\nint main(void)\n{\n    fputs(%.*s, stdout);\n#line 3 %.*s\n"
                 "    return __LINE__ != 3;\n}\n",
                 n, at, n, at);
        write_text("show.c", program);
        assert_int_equal(
            system("${CC:-cc} -std=c17 -Wall -Wextra -pedantic -Werror show.c -o show && ./show >shown"), 0);
        char *shown = slurp("shown");
        assert_string_equal(shown, names[i]);
        assert_int_equal(system("${CC:-cc} -std=c17 -trigraphs -Wall -Wextra -pedantic -Werror -fsyntax-only "
                                "-Wno-trigraphs -I" GCUT_SOURCE_DIR "/include named.c"),
                         0);
        free(shown);
        free(text);
        gcut_ctx_free(ctx);
    }
    assert_int_not_equal(access("owned", F_OK), 0);
}

/* The folder and the name of a step that GRADCUT_KEEP keeps, as the line table of its object (DWARF 5) has
 * them. */
static void test_kept_paths(void **state)
{
    (void)state;
    static const char *const folders[] = {"a \"b\" c\\d", "line\nbreak", "tri?\?'", "m\xc3\xa9m", "\xff\x01"};
    char cwd[PATH_MAX], path[PATH_MAX + 300], name[300];
    assert_non_null(getcwd(cwd, sizeof cwd));
    setenv("GRADCUT_CC", "cc -g -gdwarf-5 -gz=none", 1);
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        assert_int_equal(mkdir(folders[i], 0700), 0);
        setenv("GRADCUT_KEEP", folders[i], 1);
        gcut_ctx *ctx = gcut_ctx_new(NULL);
        gcut_graph *g = gcut_load(ctx, GCUT_SOURCE_DIR "/examples/mlp.gcut", NULL);
        gcut_options o = TEST_OPTIONS;
        if (!gcut_compile(g, &o)) fail_msg("%s: %s", folders[i], gcut_last_error(ctx));
        gcut_ctx_free(ctx);
        DIR *d = opendir(folders[i]);
        assert_non_null(d);
        char *object = NULL;
        size_t n = 0;
        for (struct dirent *e; (e = readdir(d));) {
            size_t len = strlen(e->d_name);
            if (len < 3 || strcmp(e->d_name + len - 3, ".so") != 0) continue;
            snprintf(path, sizeof path, "%s/%s", folders[i], e->d_name);
            struct stat st;
            assert_int_equal(stat(path, &st), 0);
            n = (size_t)st.st_size;
            object = slurp(path);
            snprintf(path, sizeof path, "%s/%s", cwd, folders[i]);
            snprintf(name, sizeof name, "%.*s.c", (int)(len - 3), e->d_name);
        }
        closedir(d);
        assert_non_null(object);
        if (!memmem(object, n, path, strlen(path) + 1)) fail_msg("the object does not name %s", path);
        if (!memmem(object, n, name, strlen(name) + 1)) fail_msg("the object does not name %s", name);
        free(object);
    }
    unsetenv("GRADCUT_KEEP");
    unsetenv("GRADCUT_CC");
}

/* ---- the debugger ---- */

enum { ROWS = 2, IN = 4, OUT = 3 };

static const char head[] = "gcut 1\n" /* line 1 */
                           "func @f(param %w: f32[4, 3], input %x: f32[2, 4]) -> (out loss: f32[]";
static const char body[] = ") {\n"
                           "  %a = matmul(%x, %w)\n"        /* 3 */
                           "  %h = tanh(%a)\n"              /* 4 */
                           "  %g = mul(%h, %a)\n"           /* 5 */
                           "  %e.sum = sum(%g, axes=[1])\n" /* 6 */
                           "  %q = exp(%e.sum)\n"           /* 7 */
                           "  %loss = sum(%q)\n"            /* 8 */
                           "  return %loss";

static const char program[] = "#include \"debugged.h\"\n"
                              "#include <stdlib.h>\n"
                              "int main(void)\n{\n"
                              "    static float w[12], x[8], loss, grad_w[12];\n"
                              "    debugged_plan plan;\n    gcut_rt_error e;\n"
                              "    for (int i = 0; i < 12; i++) w[i] = (float)(i % 5 - 2) / 4;\n"
                              "    for (int i = 0; i < 8; i++) x[i] = (float)(i % 7 - 3) / 8;\n"
                              "    if (debugged_init(&plan, 1, &e) != GCUT_RT_OK) return 2;\n"
                              "    debugged_io io = {.w = w, .x = x, .loss = &loss, .grad_w = grad_w};\n"
                              "    void *arena = aligned_alloc(64, (size_t)plan.head.arena_bytes + 64);\n"
                              "    return debugged_step(&plan, &io, arena, &e) != GCUT_RT_OK;\n}\n";

/* What the interpreter computes for a value, `n` elements of it. */
static void interpret(gcut_step *step, const char *name, float *out, size_t n)
{
    gcut_value_info v;
    assert_true(value_of(step, name, &v));
    memcpy(out, v.at, n * sizeof *out);
}

/* The number after "$k = " in gdb's output. */
static float printed(const char *out, int k)
{
    char mark[20];
    snprintf(mark, sizeof mark, "$%d = ", k);
    const char *at = strstr(out, mark);
    if (!at) fail_msg("gdb prints no %s:\n%s", mark, out);
    return strtof(at + strlen(mark), NULL);
}

/* gdb's output after it stopped at a line of the model, went on to the next line, and printed n expressions.
 */
static char *debug(int line, const char *const *expressions, int n)
{
    char command[1000];
    int k = snprintf(
        command, sizeof command,
        "gdb -nx -batch -ex 'set debuginfod enabled off' -ex 'break model.gcut:%d' -ex run -ex 'info "
        "line' -ex next",
        line);
    for (int i = 0; i < n; i++)
        k += snprintf(command + k, sizeof command - (size_t)k, " -ex 'print %s'", expressions[i]);
    snprintf(command + k, sizeof command - (size_t)k, " ./debugged >said 2>&1 </dev/null");
    if (system(command)) {
    } /* what it said tells */
    return slurp("said");
}

static void test_debugger(void **state)
{
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); /* they do not run under a debugger */
#endif
    if (system("command -v gdb >/dev/null") != 0) {
        print_message("gdb is not installed\n");
        skip();
    }
    char text[1000];
    float w[IN * OUT], x[ROWS * IN], a[ROWS * OUT], h[ROWS * OUT], g[ROWS * OUT], q[ROWS];
    for (int i = 0; i < IN * OUT; i++) w[i] = (float)(i % 5 - 2) / 4;
    for (int i = 0; i < ROWS * IN; i++) x[i] = (float)(i % 7 - 3) / 8;
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    snprintf(text, sizeof text, "%s%s\n}\n", head, body);
    emit(ctx, gcut_parse(ctx, text, GCUT_TO_NUL, "model.gcut", NULL), "debugged", true);
    write_text("main.c", program);
    assert_int_equal(system("${CC:-cc} -std=c17 -Wall -Wextra -pedantic -Werror -g -O0 -I" GCUT_SOURCE_DIR
                            "/include debugged.c main.c " RT_LIBRARY " " BLIS_LIBRARY
                            " -lm -pthread -o debugged"),
                     0);
    snprintf(
        text, sizeof text,
        "%s, out a: f32[2, 3], out h: f32[2, 3], out g: f32[2, 3], out q: f32[2]%s, %%a, %%h, %%g, %%q\n}\n",
        head, body);
    gcut_graph *all = gcut_parse(ctx, text, GCUT_TO_NUL, "all.gcut", NULL);
    if (!all) fail_msg("%s", gcut_last_error(ctx));
    gcut_step *step = step_of(ctx, all, &backends[1], true, NULL);
    assert_ok(ctx, gcut_bind(step, "w", w, IN, OUT));
    assert_ok(ctx, gcut_bind(step, "x", x, ROWS, IN));
    assert_ok(ctx, gcut_run(step));
    interpret(step, "a", a, ROWS * OUT);
    interpret(step, "h", h, ROWS * OUT);
    interpret(step, "g", g, ROWS * OUT);
    interpret(step, "q", q, ROWS);

    char *out = debug(3, (const char *const[]){"o_a[0]", "o_a[5]"}, 2);
    if (strstr(out, "ptrace") || strstr(out, "not permitted")) {
        print_message("gdb may not run programs here\n");
        free(out);
        gcut_ctx_free(ctx);
        skip();
    }
    if (!strstr(out, "model.gcut:3")) fail_msg("not stopped at line 3:\n%s", out);
    assert_float_equal(printed(out, 1), a[0], 1e-6);
    assert_float_equal(printed(out, 2), a[5], 1e-6);
    free(out);
    const struct {
        int line;
        const char *name;
        float want;
    } values[] = {{4, "v_h", h[0]}, {5, "v_g", g[0]}, {7, "v_q", q[0]}};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        out = debug(values[i].line, &values[i].name, 1);
        float got = printed(out, 1);
        if (!(fabsf(got - values[i].want) <= 1e-6f))
            fail_msg("line %d: %s is %g, not %g\n%s", values[i].line, values[i].name, (double)got,
                     (double)values[i].want, out);
        free(out);
    }
    gcut_ctx_free(ctx);
}

/* ---- the folder ---- */

static int enter(void **state)
{
    (void)state;
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *f)
{
    (void)st, (void)type, (void)f;
    return remove(path);
}

static int leave(void **state)
{
    (void)state;
    return chdir("/") == 0 ? nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS) : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),        cmocka_unit_test(test_compiler_counts),
        cmocka_unit_test(test_lines_of_calls), cmocka_unit_test(test_file_names),
        cmocka_unit_test(test_in_process),     cmocka_unit_test(test_kept_paths),
        cmocka_unit_test(test_debugger),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}
