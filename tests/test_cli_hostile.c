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
    free(fine(ARGV("ladder", file, "--at", "M=3")));
    free(fine(ARGV("gradcheck", file, "--at", "M=3")));
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
        cmocka_unit_test(test_size_of_no_parameter),
        cmocka_unit_test(test_bool_of_two),
        cmocka_unit_test(test_long_line),
    };
    return cmocka_run_group_tests(tests, start, finish);
}
