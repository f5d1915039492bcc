/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What `gradcut` shows on a terminal alone, progress and colour, and what it leaves when it stops by a fault of its own.
 */
#define _GNU_SOURCE
#include "cli.h"

/* On a terminal, the line of progress is removed before anything is printed after it; else there is none. */
static void test_progress(void **state)
{
    (void)state;
    static const char begin[] = "plan of @";
    assert_int_equal(system("NO_COLOR=1 script -qec '" GCUT_BINARY_DIR "/gradcut plan " GCUT_SOURCE_DIR
                            "/tests/models/mobilenet.gcut --budget min' terminal.txt >/dev/null 2>&1"),
                     0);
    char *said = slurp("terminal.txt"), *at = strstr(said, begin);
    assert_non_null(at);
    if (at[-1] != '\n' && (at[-1] != 'K' || at[-2] != '['))
        fail_msg("'%.*s' is before the plan", 40, at - 40);
    assert_null(strchr(at, '\033'));
    free(said);
}

/* How many escape sequences a command prints on a terminal with these variables. */
static int escapes(const char *variables, const char *arguments)
{
    char line[600];
    int n = 0;
    snprintf(line, sizeof line,
             "env -u NO_COLOR TERM=xterm %s script -qc '" GCUT_BINARY_DIR
             "/gradcut %s' terminal.txt >/dev/null 2>&1",
             variables, arguments);
    assert_int_not_equal(system(line), -1);
    char *said = slurp("terminal.txt");
    for (const char *c = strchr(said, '\n'); *c; c++) n += *c == '\033'; /* after the head of `script` */
    free(said);
    return n;
}

/* Titles of tables and the first word of messages, on a terminal alone; in a pipe test_goldens has none. */
static void test_colour(void **state)
{
    (void)state;
    assert_int_equal(escapes("", "saved " MLP), 2);
    assert_int_equal(escapes("", "saved none.gcut"), 2);
    assert_int_equal(escapes("NO_COLOR=", "saved " MLP), 2);
    assert_int_equal(escapes("NO_COLOR=1", "saved " MLP), 0);
    assert_int_equal(escapes("NO_COLOR=1", "saved none.gcut"), 0);
    assert_int_equal(escapes("TERM=dumb", "saved " MLP), 0);
    assert_int_equal(escapes("", "saved --json " MLP), 0);
}

/* A command that an abort stops writes a script that runs the same command. */
static void test_crash(void **state)
{
    (void)state;
    static const char run[] =
        "cp " GCUT_SOURCE_DIR "/tests/models/mobilenet.gcut \"it's.gcut\"; " GCUT_BINARY_DIR
        "/gradcut plan \"it's.gcut\" --budget min --at N=2 >/dev/null 2>crash.txt & pid=$!; "
        "sleep 0.5; kill -ABRT $pid; wait $pid; rm \"it's.gcut\"; ls gradcut-crash-*.sh >script.txt";
    assert_int_equal(system(run), 0);
    char *said = slurp("crash.txt"), *script = slurp("script.txt");
    script[strcspn(script, "\n")] = 0;
    assert_non_null(strstr(said, "internal error; to replay it: sh gradcut-crash-"));
    assert_non_null(strstr(said, script));
    char line[300];
    snprintf(line, sizeof line, "GRADCUT=" GCUT_BINARY_DIR "/gradcut sh %s >again.txt 2>&1", script);
    assert_int_equal(system(line), 0);
    char *again = slurp("again.txt"),
         *want = fine(
             ARGV("plan", GCUT_SOURCE_DIR "/tests/models/mobilenet.gcut", "--budget", "min", "--at", "N=2"));
    assert_int_equal(strncmp(again, want, strcspn(want, "\n")), 0);
    free(said);
    free(script);
    free(again);
    free(want);
    assert_int_equal(system("rm gradcut-crash-*"), 0);
}

/* A pipe is read once, by the command. */
static void test_pipe(void **state)
{
    (void)state;
    static const char run[] = "cat " MLP " | " GCUT_BINARY_DIR "/gradcut check /dev/stdin >pipe.txt 2>&1";
    const int code = system(run);
    char *said = slurp("pipe.txt");
    if (code) fail_msg("%s", said);
    free(said);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_progress), cmocka_unit_test(test_colour),
                                       cmocka_unit_test(test_crash), cmocka_unit_test(test_pipe)};
    return cmocka_run_group_tests(tests, start, finish);
}
