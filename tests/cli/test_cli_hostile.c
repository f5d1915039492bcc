/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What an attacker tried from outside: names of files, sizes, lines, bytes that nobody writes by accident.
 */
#define _GNU_SOURCE
#include "cli.h"

/* ---- sizes ---- */

/* A size that only --at gives: `check` says so, and every backend takes it from there. */
static void test_size_of_no_parameter(void **state)
{
    (void)state;
    static const char *const backends[] = {"eager", "joint", "planned", "compiled"};
    const char *file = GCUT_SOURCE_DIR "/tests/regress/size_of_no_parameter.gcut";
    char *said = fine(ARGV("check", file)), *first = NULL;
    assert_non_null(strstr(said, "no parameter's shape determines M, give it by --at"));
    free(said);
    for (int i = 0; i < 4; i++) {
        json_t *j =
            json_of(ARGV("run", file, "--json", "--at", "N=2", "--at", "M=5", "--backend", backends[i]));
        json_t *loss = json_object_get(json_object_get(j, "results"), "loss");
        char text[32];
        assert_true(json_is_number(loss));
        snprintf(text, sizeof text, "%.4f", json_number_value(loss));
        if (!first) first = strdup(text);
        assert_string_equal(text, first);
        json_decref(j);
    }
    free(first);
    free(fine(ARGV("crosscheck", file, "--at", "M=3")));
    free(fine(ARGV("gradcheck", file, "--at", "M=3")));
}

/* What is too large to have a size is refused at once, whatever asks. */
static void test_huge_sizes(void **state)
{
    (void)state;
    static const char *const sizes[][2] = {{"N=1000000000", "M=1"},
                                           {"N=1000000000", "M=1000000000"},
                                           {"N=3037000500", "M=1"},
                                           {"N=4611686018427387904", "M=2"},
                                           {"N=9223372036854775807", "M=1"}};
    static const char *const ways[][3] = {
        {"plan", "--json"},     {"saved", "--json"},       {"why", "%s"},
        {"frontier", "--json"}, {"run", "--json"},         {"run", "--backend=eager"},
        {"compile", "-ohuge"},  {"plan", "--budget=1GiB"}, {"crosscheck", "--json"}};
    write_text("huge.gcut",
               "gcut 1\nfunc @f[N in 1.., M in 1..](param %w: f32[N, M], input %x: f32[M, N]) -> (out loss: "
               "f32[]) {\n"
               "  %y = matmul(%w, %x) %r = reshape(%y, shape=[N*N]) %s = tanh(%r) %loss = sum(%s)\n"
               "  return %loss\n}\n");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (size_t k = 0; k < sizeof ways / sizeof *ways; k++)
            refused(4, "huge.gcut|error: ",
                    ARGV(ways[k][0], "huge.gcut", ways[k][1], "--at", sizes[i][0], "--at", sizes[i][1]));
}

/* Forward steps, which no plan prices: memory of kernels that has no size, alone or together. */
static void test_huge_kernels(void **state)
{
    (void)state;
    static const char *const sizes[] = {"N=72057594037927936", "N=144115188075855872",
                                        "N=576460752303423488"};
    static const char *const ways[][2] = {{"show", "--stage=kernel"}, {"compile", "-ohuge"}};
    write_text("wide.gcut",
               "gcut 1\nfunc @f[N in 1..](param %w: f32[1, 8], param %u: f32[8, 8], input %x: f32[N, 1])"
               " -> (out loss: f32[]) {\n"
               "  %a = matmul(%x, %w) %b = matmul(%a, %u) %c = matmul(%b, %u) %d = matmul(%c, %u)\n"
               "  %e = mul(%a, %b) %f = mul(%c, %d) %g = mul(%e, %f) %loss = sum(%g)\n"
               "  return %loss\n}\n");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (size_t k = 0; k < sizeof ways / sizeof *ways; k++)
            refused(4, "would take more than 2^63 - 1 bytes",
                    ARGV(ways[k][0], "wide.gcut", ways[k][1], "--forward", "--at", sizes[i]));
}

/* ---- names of files ---- */

/* They end up in messages, tables, JSON, C, SVG: nothing there ends a string or a comment, runs, or reaches a
 * terminal as more than text. */
static void test_names_of_files(void **state)
{
    (void)state;
    static const char *const names[] = {
        "a\n#error \"b'c\\d*%s%n$(touch owned);`touch owned`<svg>&\x1b[31m?\?'\r.gcut",
        "\xff\xfe\x80*\xe2\x28.gcut", "--json", "-o", "tri?\?/n*"};
    static const char *const ways[][3] = {
        {"check", "--json"},        {"show", "--json"},          {"plan", "--json"},
        {"saved", "--json"},        {"plan", "--sym"},           {"why", "%h"},
        {"compile", "-ostep"},      {"frontier", "-oswept"},     {"run", "--json"},
        {"run", "--backend=eager"}, {"mem", "--json"},           {"mem", "--svg=memory.svg"},
        {"mem", "--at-peak"},       {"fuse", "--json"},          {"fuse", "--all"},
        {"lint", "--json"},         {"report", "--no-frontier"}, {"dot", "--json"},
        {"show", "--tree"},         {"show", "--as=c"}};
    char *six = slurp(GCUT_SOURCE_DIR "/tests/plans/six.gcut"), path[300];
    assert_int_equal(mkdir("tri?\?", 0700), 0); /* a folder: "??/" is a backslash in old C */
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "./%s", names[i]);
        write_text(path, six);
        for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
            char *out = fine(ARGV(ways[k][0], path, ways[k][1]));
            for (const char *c = out; *c; c++)
                if ((unsigned char)*c < ' ' && *c != '\n' && *c != '\t')
                    fail_msg("%s %s prints the control character %d", ways[k][0], ways[k][1], *c);
            json_t *j = strcmp(ways[k][1], "--json") ? NULL : json_loads(out, 0, NULL);
            if (!j && !strcmp(ways[k][1], "--json")) fail_msg("%s: no JSON: %s", ways[k][0], out);
            json_decref(j);
            free(out);
        }
        for (int line = 0; line < 2; line++) {
            if (line) free(fine(ARGV("compile", path, "-ostep", "--line")));
            assert_int_equal(
                system("${CC:-cc} -std=c17 -trigraphs -Wall -Wextra -Werror -Wno-unknown-pragmas "
                       "-I" GCUT_SOURCE_DIR "/include -fsyntax-only step.c"),
                0);
        }
        for (int k = 0; k < 2; k++) {
            char *svg = slurp(k ? "memory.svg" : "swept.svg");
            assert_non_null(svg);
            assert_null(strstr(svg, "<svg>"));
            free(svg);
        }
    }
    assert_int_not_equal(access("owned", F_OK), 0);
    free(six);
    char name[5000] = "";
    memset(name, 'n', sizeof name - 1);
    refused(4, "too long", ARGV("check", name));
    name[255] = 0; /* as long as one may be */
    write_text(
        name, "gcut 1\nfunc @f(param %x: f32[2]) -> (out loss: f32[]) {\n  %loss = sum(%x) return %loss }\n");
    free(fine(ARGV("plan", name)));
    free(fine(ARGV("run", name)));
}

/* ---- bytes ---- */

/* Eager and compiled code would disagree on what a bool of 2 is. */
static void test_bool_of_two(void **state)
{
    (void)state;
    static const unsigned char bytes[] = {1, 0, 2, 1};
    write_text("mask.gcut",
               "gcut 1\nfunc @f(param %w: f32[4], input %m: bool[4]) -> (out loss: f32[]) {\n"
               "  %c = cast(%m, to=\"f32\") %p = mul(%w, %c) %loss = sum(%p)\n  return %loss\n}\n");
    write_npy("two.npy", "|b1", "(4,)", bytes, 4);
    write_npy("one.npy", "|b1", "(4,)", bytes, 2); /* cut short */
    refused(4, "two.npy|element [2] is the byte 2|!= 0", ARGV("run", "mask.gcut", "--in", "m=two.npy"));
    refused(4, "one.npy|promises 4 bytes", ARGV("run", "mask.gcut", "--in", "m=one.npy"));
}

/* ---- lines ---- */

/* What is wrong in a line of megabytes is shown without the rest of them. */
static void test_long_line(void **state)
{
    (void)state;
    FILE *f = fopen("long.gcut", "wb");
    assert_non_null(f);
    fputs("gcut 1\nfunc @f(param %x: f32[2]) -> (out loss: f32[]) {", f);
    for (int i = 0; i < 300000; i++) fprintf(f, " %%a%d = exp(%%x)", i);
    fputs(" %loss = sum(%nobody) return %loss }\n", f);
    assert_int_equal(fclose(f), 0);
    ran r = run_to(NULL, NULL, ARGV("check", "long.gcut"));
    expect(r, 4);
    assert_true(strlen(r.err) < 1000);
    assert_non_null(strstr(r.err, "nobody"));
    assert_non_null(strstr(r.err, "sum(%nobody) return %loss }\n")); /* the end of the line */
    assert_non_null(strstr(r.err, "  ..."));
    done(r);
    f = fopen("long.gcut", "wb");
    assert_non_null(f);
    fputs("gcut 1\nfunc @f(param %x: f32[2]) -> (out loss: f32[]) { %loss = sum(%", f);
    for (int i = 0; i < 1000000; i++) fputc('n', f);
    fputs(") return %loss }\n", f);
    assert_int_equal(fclose(f), 0);
    r = run_to(NULL, NULL, ARGV("check", "long.gcut"));
    expect(r, 4);
    assert_true(strlen(r.err) < 6000);
    done(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_size_of_no_parameter), cmocka_unit_test(test_huge_sizes),
        cmocka_unit_test(test_huge_kernels),         cmocka_unit_test(test_names_of_files),
        cmocka_unit_test(test_bool_of_two),          cmocka_unit_test(test_long_line),
    };
    return cmocka_run_group_tests(tests, start, finish);
}
