/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The completion scripts: the files of cli/completions are what the command prints (GCUT_BLESS=1 rewrites
 * them), every shell that is installed can read its own, and what bash and fish propose is what the command
 * takes.
 */
#define _GNU_SOURCE
#include "cli.h"

static const char *const shells[] = {"bash", "zsh", "fish"};

/* What a shell writes down of itself stays in the tests' folder. */
#define AT_HOME "HOME=$PWD XDG_CONFIG_HOME=$PWD XDG_DATA_HOME=$PWD "

static bool is_installed(const char *shell)
{
    char line[64];
    snprintf(line, sizeof line, "command -v %s >/dev/null 2>&1", shell);
    return system(line) == 0;
}

/* What a shell command prints; it must end well. */
static char *printed(const char *line)
{
    size_t n = 0, room = 1 << 16;
    char *text = malloc(room);
    FILE *f = popen(line, "r");
    assert_non_null(text);
    assert_non_null(f);
    while ((n += fread(text + n, 1, room - n - 1, f)) == room - 1) {
        text = realloc(text, room *= 2);
        assert_non_null(text);
    }
    text[n] = 0;
    int status = pclose(f);
    if (status != 0) fail_msg("status %d of: %s\n%s", status, line, text);
    return text;
}

/* What bash sets COMPREPLY to when the last of the words stands at the cursor: one a line.  words are in
 * bash's quoting. */
static char *completed(const char *words)
{
    char line[1024];
    snprintf(line, sizeof line,
             "bash --norc -c 'source %s/cli/completions/gradcut.bash; COMP_WORDS=(%s); "
             "COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _gradcut; "
             "((${#COMPREPLY[@]} == 0)) || printf \"%%s\\n\" \"${COMPREPLY[@]}\"'",
             GCUT_SOURCE_DIR, words);
    return printed(line);
}

static void completes(const char *words, const char *want)
{
    char *got = completed(words);
    if (strcmp(got, want) != 0) fail_msg("%s is completed to\n%snot\n%s", words, got, want);
    free(got);
}

static void test_files(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++) {
        char path[512];
        char *got = fine(ARGV("help", "--completion", shells[i]));
        snprintf(path, sizeof path, GCUT_SOURCE_DIR "/cli/completions/gradcut.%s", shells[i]);
        if (getenv("GCUT_BLESS")) write_text(path, got);
        char *want = slurp(path);
        if (!want) fail_msg("%s is missing", path);
        if (strcmp(got, want) != 0) fail_msg("%s is not what the tables say; GCUT_BLESS=1 rewrites it", path);
        free(want);
        free(got);
    }
    refused(2, "'tcsh'|bash, zsh or fish", ARGV("help", "--completion", "tcsh"));
    refused(2, "missing|bash, zsh or fish", ARGV("help", "--completion"));
}

static void test_syntax(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++) {
        TRY("shell %zu", i);
        char line[512];
        if (!is_installed(shells[i])) continue;
        snprintf(line, sizeof line, AT_HOME "%s -n %s/cli/completions/gradcut.%s 2>&1", shells[i],
                 GCUT_SOURCE_DIR, shells[i]);
        char *said = printed(line);
        assert_string_equal(said, "");
        free(said);
    }
}

static void test_bash(void **state)
{
    (void)state;
    if (!is_installed("bash")) skip();
    completes("gradcut pl", "plan\n");
    completes("gradcut help ch", "check\n");
    completes("gradcut plan x.gcut --bud", "--budget\n");
    completes("gradcut ops --bud", "");
    completes("gradcut show --stage \"\"", "primal\njoint\nsplit\nkernel\nmemory\n");
    completes("gradcut show --stage = \"\"", "primal\njoint\nsplit\nkernel\nmemory\n");
    completes("gradcut show --stage =", "primal\njoint\nsplit\nkernel\nmemory\n");
    completes("gradcut show --stage = s", "split\n");
    completes("gradcut plan --budget \"\"", "min\n");
    completes("gradcut run --at N = t", "");
}

/* In a folder with two models, a plan, a picture and a folder. */
static void test_bash_files(void **state)
{
    (void)state;
    if (!is_installed("bash")) skip();
    assert_int_equal(mkdir("files", 0700) | mkdir("files/inner", 0700), 0);
    write_text("files/a model.gcut", "");
    write_text("files/plan.json", "");
    write_text("files/view.svg", "");
    completes("gradcut plan files/", "files/a model.gcut\nfiles/inner\n");
    completes("gradcut why files/a", "files/a model.gcut\n");
    completes("gradcut diff files/plan.json files/p", "files/plan.json\n");
    completes("gradcut ops files/", "");
    completes("gradcut ops --model files/a", "files/a model.gcut\n");
    completes("gradcut plan --plan files/p", "files/plan.json\n");
    completes("gradcut plan -o files/p", "files/plan.json\n");
    completes("gradcut frontier --svg = files/v", "files/view.svg\n");
    completes("gradcut run --out files/", "files/inner\n");
}

/* Every proposal is one that the command takes: options as its help lists them, words of a choice by trying
 * each. */
static void test_bash_against_command(void **state)
{
    (void)state;
    if (!is_installed("bash")) skip();
    char *commands = completed("gradcut \"\""), *rest = commands;
    int tried = 0;
    for (char *cmd; (cmd = strsep(&rest, "\n")) && *cmd;) {
        char words[64], name[64];
        if (!strcmp(cmd, "help") || *cmd == '-') continue;
        char *help = fine(ARGV("help", cmd));
        int listed = 0, proposed = 0;
        for (const char *s = help; (s = strstr(s, "\n  ")); s++) listed += !strncmp(s + 7, "--", 2);
        snprintf(words, sizeof words, "gradcut %s --", cmd);
        char *options = completed(words);
        for (char *list = options, *o; (o = strsep(&list, "\n")) && *o; proposed++) {
            snprintf(name, sizeof name, " %s ", o);
            if (!strstr(help, name)) fail_msg("%s does not take %s", cmd, o);
        }
        if (listed != proposed) fail_msg("%s has %d options, %d are proposed", cmd, listed, proposed);
        tried += proposed;
        free(options);
        free(help);
    }
    assert_true(tried > 100);
    char *policies = completed("gradcut plan --policy \"\"");
    tried = 0;
    for (char *list = policies, *p; (p = strsep(&list, "\n")) && *p; tried++)
        free(fine(ARGV("plan", "small.gcut", "--policy", p)));
    assert_true(tried > 5);
    free(policies);
    free(commands);
}

static void test_fish(void **state)
{
    (void)state;
    static const struct {
        const char *line, *want; /* the first word of the first proposal */
    } cases[] = {{"gradcut pl", "plan"},
                 {"gradcut plan x.gcut --bud", "--budget"},
                 {"gradcut show --stage j", "joint"},
                 {"gradcut plan smal", "small.gcut"},
                 {"gradcut diff smal", ""},
                 {"gradcut cache smal", ""}};
    if (!is_installed("fish")) skip();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char line[512];
        snprintf(line, sizeof line,
                 AT_HOME "fish -N -c 'source "
                         "%s/cli/completions/gradcut.fish; "
                         "complete -C \"%s\"' 2>&1 </dev/null",
                 GCUT_SOURCE_DIR, cases[i].line);
        char *got = printed(line);
        got[strcspn(got, "\t\n")] = 0;
        if (strcmp(got, cases[i].want) != 0)
            fail_msg("'%s' is completed to '%s', not '%s'", cases[i].line, got, cases[i].want);
        free(got);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_syntax),
        cmocka_unit_test(test_bash),
        cmocka_unit_test(test_bash_files),
        cmocka_unit_test(test_bash_against_command),
        cmocka_unit_test(test_fish),
    };
    return cmocka_run_group_tests(tests, start, finish);
}
