/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The output of every subcommand of `gradcut` against tests/golden/cli, as text and as JSON.  GCUT_BLESS=1 rewrites the
 * files.  Of outputs with measured times the shape is compared: text without words that have digits, JSON without values.
 */
#define _GNU_SOURCE
#include "cli.h"

#include <ctype.h>

#define TIMES GCUT_SOURCE_DIR "/tests/golden/times.json"
#define AT_32 "--at", "N=32", "--threads", "2"

static void golden_text(const char *name, const char *got)
{
    char path[512];
    snprintf(path, sizeof path, GCUT_SOURCE_DIR "/tests/golden/cli/%s", name);
    if (getenv("GCUT_BLESS")) write_text(path, got);
    char *want = slurp(path);
    if (!want) fail_msg("%s is missing", path);
    if (strcmp(got, want) != 0) fail_msg("%s is another one:\n%s", name, got);
    free(want);
}

static void golden(const char *name, const char *const *argv)
{
    char *got = fine(argv);
    golden_text(name, got);
    free(got);
}

/* A check that fails. */
static void golden_failed(const char *name, const char *const *argv)
{
    ran r = run_to(NULL, NULL, argv);
    expect(r, 1);
    golden_text(name, r.out);
    done(r);
}

/* A file that the command writes. */
static void golden_file(const char *name, const char *path)
{
    char *got = slurp(path);
    assert_non_null(got);
    golden_text(name, got);
    free(got);
}

static void predicted(void **state)
{
    (void)state;
    golden("help.txt", ARGV("--help"));
    golden("help_run.txt", ARGV("help", "run"));
    golden("plan.txt", ARGV("plan", MLP, AT_32));
    golden("saved.txt", ARGV("saved", MLP, AT_32));
    golden("check.txt", ARGV("check", MLP));
    golden("show_tree.txt", ARGV("show", MLP, "--tree"));
    golden("show_c.txt", ARGV("show", MLP, "--as", "c"));
    golden("show_levels.txt", ARGV("show", MLP, "--levels", AT_32));
    golden("dot.txt", ARGV("dot", MLP, AT_32));
    golden("mem.txt", ARGV("mem", MLP, AT_32));
    golden("mem_at_peak.txt", ARGV("mem", MLP, AT_32, "--at-peak"));
    golden("mem_map.txt", ARGV("mem", MLP, AT_32, "--map"));
    golden("fuse.txt", ARGV("fuse", MLP, AT_32));
    golden("fuse_why.txt", ARGV("fuse", MLP, AT_32, "--why", "%h2", "%z0"));
    golden("fuse.json", ARGV("fuse", MLP, AT_32, "--json"));
    golden_failed("lint.txt", ARGV("lint", MLP, AT_32));
    golden_failed("lint.json", ARGV("lint", MLP, AT_32, "--json"));
    golden("plan.json", ARGV("plan", MLP, AT_32, "--json"));
    golden("why.txt", ARGV("why", MLP, "%h2", AT_32));
    golden("why.json", ARGV("why", MLP, "%h2", AT_32, "--json"));
    golden("frontier.txt", ARGV("frontier", MLP, AT_32, "--points", "3"));
    golden("frontier.json", ARGV("frontier", MLP, AT_32, "--points", "2", "--json"));
    golden("fit.txt", ARGV("fit", MLP, "--budget", "1MiB", "--max", "N=64", "--threads", "2"));
    golden("fit.json", ARGV("fit", MLP, "--budget", "1MiB", "--max", "N=64", "--threads", "2", "--json"));
    golden("show_memory.txt", ARGV("show", MLP, "--stage", "memory", "--no-loc", AT_32));
    golden("mem.json", ARGV("mem", MLP, AT_32, "--json"));
    golden("ops.txt", ARGV("ops", "--model", MLP));
    golden("ops.json", ARGV("ops", "--model", MLP, "--json"));
}

static void plan_files(void **state)
{
    (void)state;
    free(fine(ARGV("plan", MLP, AT_32, "--certificate", "-o", "a.json")));
    free(fine(ARGV("plan", MLP, AT_32, "--policy", "recompute-all", "-o", "b.json")));
    golden_failed("diff.txt", ARGV("diff", "a.json", "b.json")); /* 1: they differ */
    golden_failed("diff.json", ARGV("diff", "a.json", "b.json", "--json"));
    golden("certify.txt", ARGV("certify", "a.json", MLP));
    golden("certify.json", ARGV("certify", "a.json", MLP, "--json"));
}

/* By the times of a file and the shipped machine model. */
static void profiles(void **state)
{
    (void)state;
    golden("prof.txt", ARGV("prof", MLP, AT_32, "--machine", "shipped", "--times", TIMES, "-o", "trace.json",
                            "--svg", "roofline.svg", "--flame", "flame.svg"));
    golden_file("prof_trace.json", "trace.json");
    golden_file("prof_roofline.svg", "roofline.svg");
    golden_file("prof_flame.svg", "flame.svg");
    golden("prof.json", ARGV("prof", MLP, AT_32, "--machine", "shipped", "--times", TIMES, "--json"));
}

/* ---- shapes ---- */

/* A number, a unit of time or a path: what another run or another machine has otherwise. */
static bool is_measured(const char *word, size_t n)
{
    static const char *const words[] = {"s", "ms", "us", "ns", "neon"};
    if (*word == '/') return true;
    for (size_t i = 0; i < n; i++)
        if (isdigit((unsigned char)word[i])) return true;
    while (n && strchr(",;:)", word[n - 1])) n--;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == n && !strncmp(word, words[i], n)) return true;
    return false;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The lines, each once and sorted, with # for words that are measured: rows are in the order of times.  Of a line the
 * first `most` words. */
static char *text_shape(const char *text, size_t most)
{
    enum { MOST = 400 };
    char *line[MOST], *out = NULL;
    size_t n = 0, size;
    while (*text) {
        FILE *f = open_memstream(&line[n], &size);
        size_t words = 0;
        for (; *text && *text != '\n'; text += strspn(text, " ")) {
            const size_t length = strcspn(text, " \n");
            if (length && words++ < most)
                fprintf(f, "%s%.*s", words > 1 ? " " : "", is_measured(text, length) ? 1 : (int)length,
                        is_measured(text, length) ? "#" : text);
            text += length;
        }
        fclose(f);
        text += *text == '\n';
        assert_true(++n < MOST);
    }
    qsort(line, n, sizeof *line, by_text);
    FILE *f = open_memstream(&out, &size);
    for (size_t i = 0; i < n; i++)
        if (!i || strcmp(line[i], line[i - 1]) != 0) fprintf(f, "%s\n", line[i]);
    fclose(f);
    for (size_t i = 0; i < n; i++) free(line[i]);
    return out;
}

/* Keys in their order, with the types of their values; of an array the shape of its first element. */
static void put_shape(const json_t *v, int depth, FILE *f)
{
    const char *key;
    json_t *x;
    if (json_is_object(v)) {
        fprintf(f, "{\n");
        json_object_foreach((json_t *)v, key, x)
        {
            fprintf(f, "%*s%s: ", 2 * depth + 2, "", key);
            put_shape(x, depth + 1, f);
        }
        fprintf(f, "%*s}\n", 2 * depth, "");
    } else if (json_is_array(v) && json_array_size(v)) {
        fprintf(f, "list of ");
        put_shape(json_array_get(v, 0), depth, f);
    } else {
        fprintf(f, "%s\n",
                json_is_array(v)     ? "list"
                : json_is_string(v)  ? "text"
                : json_is_boolean(v) ? "bool"
                : json_is_number(v)  ? "number"
                                     : "null");
    }
}

/* Up to the line that begins with `last`, NULL = all of it. */
static void text_like(const char *name, size_t words, const char *last, const char *const *argv)
{
    char *got = fine(argv), *end = last ? strstr(got, last) : NULL;
    if (last && !end) fail_msg("%s: no line '%s'", name, last + 1);
    if (end) end[strcspn(end + 1, "\n") + 1] = 0;
    char *shape = text_shape(got, words);
    golden_text(name, shape);
    free(shape);
    free(got);
}

static void json_like(const char *name, const char *const *argv)
{
    json_t *j = json_of(argv);
    char *shape = NULL;
    size_t size;
    FILE *f = open_memstream(&shape, &size);
    put_shape(j, 0, f);
    fclose(f);
    golden_text(name, shape);
    free(shape);
    json_decref(j);
}

static void measured(void **state)
{
    (void)state;
#define ALL SIZE_MAX
#define BRIEFLY AT_32, "--machine", "shipped", "--steps", "2"
    text_like("bench.shape.txt", ALL, "\nkernel ", ARGV("bench", MLP, BRIEFLY));
    json_like("bench.shape.json", ARGV("bench", MLP, BRIEFLY, "--json"));
    text_like("bench_compare.shape.txt", ALL, NULL,
              ARGV("bench", MLP, BRIEFLY, "--compare", "save-all,planned"));
    json_like("bench_compare.shape.json",
              ARGV("bench", MLP, BRIEFLY, "--compare", "save-all,planned", "--json"));
    text_like("prof.shape.txt", ALL, NULL, ARGV("prof", MLP, BRIEFLY));
    text_like("run.shape.txt", ALL, NULL, ARGV("run", MLP, AT_32));
    json_like("run.shape.json", ARGV("run", MLP, AT_32, "--json"));
    text_like("crosscheck.shape.txt", 3, NULL, ARGV("crosscheck", MLP, AT_32));
    json_like("crosscheck.shape.json", ARGV("crosscheck", MLP, AT_32, "--json"));
    text_like("gradcheck.shape.txt", ALL, NULL, ARGV("gradcheck", MLP));
    json_like("gradcheck.shape.json", ARGV("gradcheck", MLP, "--json"));
    /* A cache of this test's own. */
    unsetenv("GRADCUT_CACHE");
    setenv("XDG_CACHE_HOME", folder, 1);
    text_like("cache.shape.txt", 2, NULL, ARGV("cache"));
    json_like("cache.shape.json", ARGV("cache", "--json"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(predicted),
        cmocka_unit_test(plan_files),
        cmocka_unit_test(profiles),
        cmocka_unit_test(measured),
    };
    return cmocka_run_group_tests(tests, start, finish);
}
