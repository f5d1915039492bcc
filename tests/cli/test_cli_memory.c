/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Every command when memory runs out: each request of the command's context is refused in turn.  The command
 * then ends with a sentence and a code that is not 0, or prints all that it prints otherwise; every block is
 * given back; nothing crashes.
 *
 * The command's own main runs in a child process, with gcut_ctx_new replaced by test_ctx_new
 * (tests/CMakeLists.txt). By default some requests of each command are refused, as many as take a few
 * seconds, and fewer of those that run the C compiler; GCUT_ALLOCATIONS=all refuses each of them,
 * GCUT_ALLOCATIONS=K begins the sample at request K.
 */
#define _GNU_SOURCE
#include "cli.h"

#include <signal.h>

#include "gradcut/gradcut.h"

int test_cli_main(int argc, char **argv); /* cli/main.c */
gcut_ctx *test_ctx_new(const gcut_allocator *mem);

static struct {
    long calls, fail_at, blocks;
} memory = {.fail_at = -1};

static void *allocate(void *user, void *block, size_t size)
{
    (void)user;
    if (size == 0) {
        memory.blocks -= block != NULL;
        free(block);
        return NULL;
    }
    if (memory.calls++ == memory.fail_at) return NULL;
    void *p = realloc(block, size);
    memory.blocks += !block && p;
    return p;
}

gcut_ctx *test_ctx_new(const gcut_allocator *mem)
{
    assert_null(mem);
    return gcut_ctx_new(&(gcut_allocator){allocate, NULL});
}

/* ---- one run ---- */

enum { LEAKED = 99 };

/* In the child; how many requests there were goes to `count`. */
static void play(int argc, const char *const *argv, long fail_at, int count)
{
    static const int deadly[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}; /* cmocka catches them */
    char *own[16] = {0};
    for (size_t i = 0; i < sizeof deadly / sizeof *deadly; i++) signal(deadly[i], SIG_DFL);
    for (int i = 0; i < argc; i++) own[i] = strdup(argv[i]); /* options are split where they stand */
    if (!freopen("stdout.txt", "w", stdout) || !freopen("stderr.txt", "w", stderr)) _exit(98);
    memory.calls = memory.blocks = 0;
    memory.fail_at = fail_at;
    int code = test_cli_main(argc, own);
    fflush(stderr);
    if (write(count, &memory.calls, sizeof memory.calls) < 0) _exit(98);
    _exit(memory.blocks ? LEAKED : code);
}

static ran run_failing(const char *const *argv, long fail_at, long *calls)
{
    int argc = 0, status, count[2];
    while (argv[argc]) argc++;
    assert_int_equal(pipe(count), 0);
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) play(argc, argv, fail_at, count[1]);
    close(count[1]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (read(count[0], calls, sizeof *calls) != sizeof *calls) *calls = 0;
    close(count[0]);
    if (!WIFEXITED(status))
        fail_msg("gradcut %s, request %ld refused: signal %d\n%s", argv[1], fail_at, WTERMSIG(status),
                 slurp("stderr.txt"));
    return (ran){WEXITSTATUS(status), slurp("stdout.txt"), slurp("stderr.txt")};
}

/* ---- commands ---- */

#define SIX GCUT_SOURCE_DIR "/tests/plans/six.gcut"
#define LOOPS GCUT_SOURCE_DIR "/tests/corpus/loops.gcut"

/* What prints its results itself, and tells whether they arrived. */
static const char *const commands[][10] = {
    {"gradcut", "check", LOOPS},
    {"gradcut", "check", "two.gcut", "--json"},
    {"gradcut", "check", SIX, "--fix", "N=8"},
    {"gradcut", "show", SIX},
    {"gradcut", "show", SIX, "--stage", "split", "--json"},
    {"gradcut", "show", "small.gcut", "--stage", "kernel"},
    {"gradcut", "grad", LOOPS},
    {"gradcut", "why", SIX, "%h"},
    {"gradcut", "diff", "plan.json", "plan.json"},
    {"gradcut", "report", SIX},
    {"gradcut", "dot", SIX, "--depth", "1"},
    {"gradcut", "show", SIX, "--tree"},
    {"gradcut", "show", SIX, "--as", "c"},
    {"gradcut", "show", LOOPS, "--as", "c"},
    {"gradcut", "show", SIX, "--stage", "memory"},
    {"gradcut", "show", SIX, "--levels"},
    {"gradcut", "show", SIX, "--stage", "joint", "--as", "stablehlo"},
    {"gradcut", "plan", SIX, "--certificate", "--json"},
    {"gradcut", "plan", SIX, "--explain-cost", "%h"},
    {"gradcut", "certify", "certified.json", SIX},
    {"gradcut", "ops", "--model", "small.gcut"},
    {"gradcut", "compile", "small.gcut", "-o", "step"},
    {"gradcut", "run", "small.gcut", "--backend", "eager"},
    {"gradcut", "run", "small.gcut", "--backend", "planned", "--json"},
    {"gradcut", "gradcheck", "small.gcut"},
    {"gradcut", "frontier", "small.gcut"},
    {"gradcut", "fit", SIX, "--budget", "530000"},
    {"gradcut", "plan", SIX},
    {"gradcut", "saved", SIX, "--json"},
    {"gradcut", "crosscheck", SIX, "--passes", "--without", "cse"},
    {"gradcut", "plan", SIX, "--dump", "dumped"},
};

/* Those that run the C compiler, each of which takes longer than many of the others: a few requests of each,
 * from the middle of the first stretch on. */
static const char *const compiling[][10] = {
    {"gradcut", "run", "small.gcut", "--backend", "compiled"},
    {"gradcut", "compile", "small.gcut", "-o", "step", "--shared"},
    {"gradcut", "bench", "small.gcut", "--steps", "1"},
    {"gradcut", "bench", SIX, "--steps", "1", "--fix", "N=8"},
    {"gradcut", "bench", "small.gcut", "--steps", "1", "--compare", "eager,unfused,planned"},
    {"gradcut", "frontier", "small.gcut", "--measure", "--rounds", "1", "--points", "1"},
};

static size_t lines(const char *s)
{
    size_t n = 0;
    for (; *s; s++) n += *s == '\n';
    return n;
}

/* `run` ends with how long it took; of what prints measured times throughout, the lines are counted. */
static bool is_same(const char *const *argv, const char *x, const char *y)
{
    if (!strcmp(argv[1], "bench") || (argv[3] && !strcmp(argv[3], "--measure"))) return lines(x) == lines(y);
    const char *a = strcmp(argv[1], "run") ? NULL : strstr(x, "step"), *b = a ? strstr(y, "step") : NULL;
    return a && b ? a - x == b - y && !memcmp(x, y, (size_t)(a - x)) : !strcmp(x, y);
}

/* False: there was no request fail_at. */
static bool survives(const char *const *argv, long fail_at, const char *whole, const char *said)
{
    long calls;
    ran r = run_failing(argv, fail_at, &calls);
    bool reached = calls > fail_at;
    if (r.code == LEAKED)
        fail_msg("gradcut %s, request %ld refused: blocks are lost\n%s", argv[1], fail_at, r.err);
    if (r.code == 0 && (!is_same(argv, r.out, whole) || strcmp(r.err, said) != 0))
        fail_msg("gradcut %s, request %ld refused: exit code 0, and other output\n%s%s", argv[1], fail_at,
                 r.out, r.err);
    if (r.code != 0 && !strstr(r.err, "error: "))
        fail_msg("gradcut %s, request %ld refused: exit code %d without a sentence\n%s", argv[1], fail_at,
                 r.code, r.err);
    done(r);
    return reached;
}

/* About so many requests of the command are refused, in turn. */
static void sample(const char *const *argv, long samples, bool from_middle)
{
    const char *asked = getenv("GCUT_ALLOCATIONS");
    bool all = asked && !strcmp(asked, "all");
    long calls;
    ran whole = run_failing(argv, -1, &calls);
    if (whole.code != 0) fail_msg("gradcut %s: %s", argv[1], whole.err);
    assert_true(calls > 10);
    long step = all ? 1 : calls / samples + 1, first = asked && !all ? strtol(asked, NULL, 10) : 0;
    long k = (first + (from_middle ? step / 2 : 0)) % step;
    for (; survives(argv, k, whole.out, whole.err); k += step) continue;
    assert_true(k >= calls - step); /* up to the last request */
    done(whole);
}

static void every_request_may_be_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) sample(commands[i], SAMPLES, false);
}

static void every_request_while_compiling(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof compiling / sizeof *compiling; i++)
        sample(compiling[i], SAMPLES / 10, true);
}

static int prepare(void **state)
{
    static const char *const plan[][7] = {{"gradcut", "plan", SIX, "-o", "plan.json"},
                                          {"gradcut", "plan", SIX, "-o", "certified.json", "--certificate"}};
    long calls;
    int code = start(state) != 0 ? -1 : 0;
    for (size_t i = 0; i < 2 && code == 0; i++) {
        ran r = run_failing(plan[i], -1, &calls);
        code = r.code;
        done(r);
    }
    return code;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_request_may_be_refused),
        cmocka_unit_test(every_request_while_compiling),
    };
    return cmocka_run_group_tests(tests, prepare, finish);
}
