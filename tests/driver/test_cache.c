/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The cache: what it spares, what its keys tell apart, what comes back from it, and what the command says of
 * it.
 */
#define _GNU_SOURCE
#include "cache.h"
#include "nightly.h"

#include <limits.h>

static void spares_the_compiler(void **state)
{
    (void)state;
    expect(1, 1, "cold");
    expect(1, 0, "warm");
    expect(2, 1, "another graph");
    expect(1, 0, "warm still");
    setenv("GRADCUT_CACHE", "off", 1);
    expect(1, 1, "off");
    unsetenv("GRADCUT_CACHE");
    setenv("GRADCUT_STEP_FLAGS", "-O0 -fno-plt", 1);
    expect(1, 1, "other flags");
    setenv("GRADCUT_STEP_FLAGS", "-O0", 1);
    setenv("GRADCUT_CACHE_PROCESSOR", "another", 1);
    expect(1, 1, "another processor");
    unsetenv("GRADCUT_CACHE_PROCESSOR");
    expect(1, 0, "this processor");
    struct stat st;
    assert_int_equal(stat(folder, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
}

static void copy_file(const char *from, const char *to, const char *more)
{
    char command[1000];
    snprintf(command, sizeof command, "cp '%s' '%s' && printf '%%s' '%s' >>'%s'", from, to, more, to);
    assert_int_equal(system(command), 0);
}

/* What a new version of something would change. */
static void knows_what_it_was_made_of(void **state)
{
    (void)state;
    char command[1000];
    snprintf(command, sizeof command, "cp -r %s/include %s/include", GCUT_SOURCE_DIR, tmp);
    assert_int_equal(system(command), 0);
    copy_file(GCUT_BINARY_DIR "/libgradcut_rt.a", in_tmp("librt.a"), "");
    setenv("GRADCUT_INCLUDE_DIR", in_tmp("include"), 1);
    setenv("GRADCUT_RT_LIBRARY", in_tmp("librt.a"), 1);
    expect(1, 1, "cold");
    copy_file(GCUT_BINARY_DIR "/libgradcut_rt.a", in_tmp("librt.a"), "");
    expect(1, 0, "the same library, written again");
    copy_file(GCUT_BINARY_DIR "/libgradcut_rt.a", in_tmp("librt.a"), "\n");
    expect(1, 1, "another library");
    copy_file(GCUT_SOURCE_DIR "/include/gradcut/rt_bits.h", in_tmp("include/gradcut/rt_bits.h"), "/* new */");
    expect(1, 1, "another header");
    char script[400];
    snprintf(script, sizeof script,
             "#!/bin/sh\n[ \"$1\" = --version ] && echo 2 || printf x >>%s/runs\nexec cc \"$@\"\n", tmp);
    write_text(in_tmp("cc2"), script, 0700);
    setenv("GRADCUT_CC", in_tmp("cc2"), 1);
    expect(1, 1, "another compiler");
    expect(1, 0, "warm");
    setenv("GRADCUT_CC", in_tmp("cc"), 1);
    unsetenv("GRADCUT_INCLUDE_DIR");
    unsetenv("GRADCUT_RT_LIBRARY");
}

static int entries_of(const char *suffix)
{
    int n = 0;
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));) n += strstr(e->d_name, suffix) != NULL;
    if (d) closedir(d);
    return n;
}

/* GRADCUT_CC may be several words: a wrapper, what it runs, and flags. */
static void knows_every_word_of_the_compiler(void **state)
{
    (void)state;
    char command[300];
    (void)expected(1);
    write_text(in_tmp("wrapper"), "#!/bin/sh\n[ \"$1\" = --version ] && exec echo wrapper\nexec \"$@\"\n",
               0700);
    write_text(in_tmp("inner"),
               "#!/bin/sh\n"
               "for w; do [ \"$w\" = --version ] && exec cat ${0%/*}/version; done\n"
               "printf x >>${0%/*}/runs\n"
               "exec cc \"$@\"\n",
               0700);
    write_text(in_tmp("version"), "inner 1", 0600);
    snprintf(command, sizeof command, "%s/wrapper %s/inner -g0", tmp, tmp);
    setenv("GRADCUT_CC", command, 1);
    expect(1, 1, "inner 1");
    expect(1, 0, "inner 1 again");
    write_text(in_tmp("version"), "inner 2", 0600);
    expect(1, 1, "inner 2");
    expect(1, 0, "inner 2 again");
    write_text(in_tmp("version"), "inner 1", 0600);
    expect(1, 0, "inner 1 is still there");
    setenv("GRADCUT_CC", in_tmp("cc"), 1);
}

/* None is left out of a command. */
static void takes_many_flags(void **state)
{
    (void)state;
    char flags[4000] = "-O0";
    (void)expected(1);
    for (int i = 0; i < 300; i++) snprintf(flags + strlen(flags), 16, " -DX%d", i);
    setenv("GRADCUT_STEP_FLAGS", flags, 1);
    expect(1, 1, "300 flags");
    strcat(flags, " -DX300");
    setenv("GRADCUT_STEP_FLAGS", flags, 1);
    expect(1, 1, "one more");
    expect(1, 0, "the same ones");
    setenv("GRADCUT_STEP_FLAGS", "-O0", 1);
}

static void compile_with(gcut_graph *g, const gcut_options *o, int more, const char *what)
{
    const int before = entries_of(".step");
    gcut_step *s = gcut_compile(g, o);
    assert_non_null(s);
    gcut_step_free(s);
    if (entries_of(".step") - before != more)
        fail_msg("%s: %d new entries, not %d", what, entries_of(".step") - before, more);
}

static void count_pass(void *user, const gcut_pass_time *t)
{
    int *n = user;
    n[!strcmp(t->stage, "C")]++;
}

/* Passes are timed by doing the work: neither the step nor its object comes from the cache, or goes there. */
static void timed_passes_run(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = graph_from(ctx, graph_of(1));
    gcut_options o = TEST_OPTIONS;
    int n[2] = {0, 0};
    gcut_step_free(gcut_compile(g, &o));
    gcut_ctx_set_hooks(ctx, &(gcut_hooks){.pass = count_pass, .user = n});
    compile_with(g, &o, 0, "timed");
    assert_true(n[0] > 10);
    assert_int_equal(n[1], 3); /* emit, cc, load */
    gcut_ctx_free(ctx);
}

/* Whatever changes plan or code is part of the key of a step; what does not is not. */
static void plans_have_keys(void **state)
{
    (void)state;
    static const char *const w[] = {"w"}, *const p[] = {"p"}, *const loss[] = {"loss"};
    static const gcut_size at[] = {{"N", 64}};
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = graph_from(ctx, graph_of(1));
    gcut_options o = TEST_OPTIONS, plain = o;
    compile_with(g, &o, 1, "cold");
    compile_with(g, &o, 0, "warm");
    compile_with(g, NULL, 0, "defaults");
    /* Each option is below, but for two of the interpreter and the machine model, whose contents count.  Of
     * the struct's size alone a new flag may not show: it fits into the padding. */
    static const char *const options[] = {
#define OPTION(member, ...) #member,
#include "gradcut/options.def"
#undef OPTION
    };
    assert_int_equal(sizeof options / sizeof *options, 29);
    assert_int_equal(gcut_emit_files(g, &o, in_tmp("emitted"), false), GCUT_OK);
#define OTHER(member, value)                                                                                 \
    o = plain, o.member = (value);                                                                           \
    compile_with(g, &o, 1, #member);                                                                         \
    compile_with(g, &o, 0, #member " again")
    OTHER(policy, "save-all");
    OTHER(lambda, 0.25);
    OTHER(budget, 1 << 20);
    OTHER(thorough, true);
    OTHER(saved_budget, 1 << 20);
    OTHER(saved_budget, GCUT_SAVE_NOTHING);
    OTHER(save_dtype, "bf16");
    OTHER(optimizer, "sgd(lr=0.1)");
    OTHER(optimizer, "sgd(lr=0.2)");
    OTHER(loss, "loss");
    OTHER(threads, 3);
    OTHER(forward_only, true);
    OTHER(eval, true);
    OTHER(line, true);
    OTHER(unfused, true);
    OTHER(no_algebra, true);
    OTHER(apart, true);
    o = plain, o.wrt = w, o.nwrt = 1;
    compile_with(g, &o, 1, "wrt");
    o = plain, o.cotan = loss, o.ncotan = 1;
    compile_with(g, &o, 1, "cotan");
    o = plain, o.at = at, o.nat = 1;
    compile_with(g, &o, 1, "at");
    o = plain, o.fix = at, o.nfix = 1;
    compile_with(g, &o, 1, "fix");
    o = plain, o.save = p, o.nsave = 1;
    compile_with(g, &o, 1, "save");
    o = plain, o.recompute = p, o.nrecompute = 1;
    compile_with(g, &o, 1, "recompute");
    static const char *const cse[] = {"cse"};
    o = plain, o.without = cse, o.nwithout = 1;
    compile_with(g, &o, 1, "without");
    compile_with(g, &o, 0, "without again");
    o = plain, o.optimizer = "sgd(lr=0.1)", o.keep_grads = true;
    compile_with(g, &o, 1, "keep_grads");
    o = plain, o.seed = 7;
    compile_with(g, &o, 0, "seed");
    o = plain, o.dump = in_tmp("dump");
    compile_with(g, &o, 0, "dump");
    assert_int_equal(access(in_tmp("dump/plan.json"), R_OK), 0);
    o = plain, o.plan = in_tmp("dump/plan.json");
    compile_with(g, &o, 1, "plan");
    char command[600];
    snprintf(command, sizeof command, "sed -i 's/\"lambda\": 0.05/\"lambda\": 0.06/' %s/dump/plan.json", tmp);
    assert_int_equal(system(command), 0);
    compile_with(g, &o, 1, "another plan of that name");
    /* A line that only moves the graph: messages name lines. */
    char text[1200];
    snprintf(text, sizeof text, "\n%s", graph_of(1));
    g = graph_from(ctx, text);
    compile_with(g, NULL, 1, "a line");
    gcut_ctx_free(ctx);
}

static char *plan_text(gcut_step *s)
{
    char *text = NULL;
    size_t n;
    FILE *f = open_memstream(&text, &n);
    assert_non_null(f);
    print_text(f, gcut_plan_text(gcut_step_plan(s), NULL));
    print_text(f, gcut_plan_saved_text(gcut_step_plan(s), NULL));
    print_text(f, gcut_plan_json(gcut_step_plan(s)));
    fclose(f);
    assert_true(n > 0);
    return text;
}

/* A step from the cache is planned again for its plan, by the file that it was made with or not at all. */
static void plans_are_of_the_step(void **state)
{
    (void)state;
    char old[600], command[1300];
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = gcut_load(ctx, GCUT_SOURCE_DIR "/tests/plans/six.gcut", NULL);
    gcut_options o = {.dump = in_tmp("six"), .policy = "save-all"};
    assert_non_null(gcut_plan_new(g, &o));
    o = (gcut_options){.dump = in_tmp("none"), .policy = "recompute-all"};
    assert_non_null(gcut_plan_new(g, &o));
    snprintf(old, sizeof old, "%s", in_tmp("six/plan.json"));
    o = (gcut_options){.plan = old};
    gcut_step *made = gcut_compile(g, &o), *s = gcut_compile(g, &o), *t = gcut_compile(g, &o);
    assert_true(made);
    assert_true(s);
    assert_true(t);
    char *x = plan_text(made), *y = plan_text(s);
    assert_string_equal(x, y);
    free(x), free(y);
    snprintf(command, sizeof command, "cp %s %s", in_tmp("none/plan.json"), old);
    assert_int_equal(system(command), 0);
    assert_non_null(gcut_step_plan(s)); /* it is known */
    assert_null(gcut_step_plan(t));
    assert_int_equal(gcut_last_status(ctx), GCUT_EPLAN);
    assert_non_null(strstr(gcut_last_error(ctx), "has changed since"));
    unlink(old);
    assert_null(gcut_step_plan(t));
    assert_int_equal(gcut_last_status(ctx), GCUT_EIO);
    gcut_ctx_free(ctx);
}

/* Everything that can be seen of two steps. */
static void assert_same(const char *path, gcut_step *a, gcut_step *b)
{
    size_t n[2];
    assert_int_equal(gcut_step_value_count(a), gcut_step_value_count(b));
    for (size_t i = 0; i < gcut_step_value_count(a); i++) {
        gcut_value_info x = *gcut_step_value_at(a, i), y = *gcut_step_value_at(b, i);
        assert_string_equal(x.name, y.name);
        assert_string_equal(x.role, y.role);
        assert_int_equal(x.dtype, y.dtype);
        assert_int_equal(x.rank, y.rank);
        assert_int_equal(x.updated, y.updated);
        assert_memory_equal(x.dim, y.dim, (size_t)x.rank * sizeof *x.dim);
    }
    unsigned char *x = result_bytes(a, &n[0]), *y = result_bytes(b, &n[1]);
    assert_int_equal(n[0], n[1]);
    if (memcmp(x, y, n[0]) != 0) fail_msg("%s: other results", path);
    free(x), free(y);
    gcut_stats s = *gcut_step_stats(a), t = *gcut_step_stats(b);
    assert_int_equal(s.arena_bytes, t.arena_bytes);
    assert_int_equal(s.saved_bytes, t.saved_bytes);
    assert_int_equal(s.peak_bytes, t.peak_bytes);
    assert_int_equal(s.predicted_bytes, t.predicted_bytes);
    char *p = plan_text(a), *q = plan_text(b);
    assert_string_equal(p, q);
    free(p), free(q);
}

static gcut_step *compile_and_run(gcut_ctx *ctx, const char *path, int from_cache)
{
    gcut_options o = TEST_OPTIONS;
    o.optimizer = "adamw(lr=0.01)";
    const int before = runs(), steps = entries_of(".step");
    gcut_graph *g = gcut_load(ctx, path, NULL);
    gcut_step *s = g ? gcut_compile(g, &o) : NULL;
    for (int i = 0; i < 2; i++) must_run(ctx, s);
    if (from_cache ? runs() != before : runs() - before < RUNS) /* one more for each part */
        fail_msg("%s: %d runs of the compiler", path, runs() - before);
    assert_int_equal(entries_of(".step") - steps, !from_cache);
    return s;
}

/* The zoo: a step from the cache is in nothing to be told from one that was made. */
static void steps_come_back_whole(void **state)
{
    (void)state;
    glob_t files;
    assert_int_equal(glob(GCUT_SOURCE_DIR "/tests/models/*.gcut", 0, NULL, &files), 0);
    assert_true(files.gl_pathc > 10);
    for (size_t k = 0; k < files.gl_pathc; k++) {
        const char *path = files.gl_pathv[k];
        if (!in_turn(k, 4)) continue;
        gcut_ctx *cold = new_ctx(), *warm = new_ctx();
        gcut_step *a = compile_and_run(cold, path, 0), *b = compile_and_run(warm, path, 1);
        assert_same(path, a, b);
        gcut_ctx_free(cold);
        gcut_ctx_free(warm);
    }
    globfree(&files);
}

/* Cold, all at once; then each finds what one of them made. */
static void processes_agree(void **state)
{
    (void)state;
    enum { N = 8 };
    int go[2];
    pid_t pid[N];
    size_t n;
    unsigned char *want = run_step(1, &n);
    begin(NULL);
    assert_int_equal(pipe(go), 0);
    for (int k = 0; k < N; k++) {
        pid[k] = fork();
        assert_true(pid[k] >= 0);
        if (pid[k] == 0) {
            char byte;
            close(go[1]);
            if (read(go[0], &byte, 1) != 0) _exit(9);
            gcut_ctx *ctx = gcut_ctx_new(NULL);
            gcut_graph *g = gcut_load(ctx, in_tmp("graph.gcut"), NULL);
            gcut_step *s = g ? compile_as(g, GCUT_BACKEND_COMPILED, "sgd(lr=0.1)") : NULL;
            size_t size = 0;
            unsigned char *got = s && gcut_run(s) == GCUT_OK ? result_bytes(s, &size) : NULL;
            _exit(got && size == n && !memcmp(got, want, n) ? 0 : 1);
        }
    }
    close(go[0]);
    close(go[1]);
    for (int k = 0; k < N; k++) {
        int status;
        assert_int_equal(waitpid(pid[k], &status, 0), pid[k]);
        assert_int_equal(status, 0);
    }
    free(want);
    assert_non_null(entry(".object"));
    expect(1, 0, "after all of them");
}

/* What the command prints, all of it. */
static const char *command(const char *arguments)
{
    static char text[2000];
    char line[600];
    snprintf(line, sizeof line, "%s/gradcut cache %s 2>&1", GCUT_BINARY_DIR, arguments);
    FILE *f = popen(line, "r");
    assert_non_null(f);
    size_t n = fread(text, 1, sizeof text - 1, f);
    text[n] = '\0';
    assert_int_equal(pclose(f), 0);
    return text;
}

static void assert_has(const char *text, const char *what)
{
    if (!strstr(text, what)) fail_msg("expected '%s' in: %s", what, text);
}

static void can_be_looked_at(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    int64_t removed = -1;
    gcut_cache_info *i = gcut_cache_look(ctx);
    assert_non_null(i);
    assert_string_equal(i->folder, folder);
    assert_null(i->unused);
    assert_int_equal(i->steps + i->objects + i->bytes + i->hits + i->misses, 0);
    assert_int_equal(i->limit, 1 << 30);
    expect(1, 1, "cold");
    expect(1, 0, "warm");
    int count;
    const int64_t bytes = bytes_of_all(&count);
    gcut_free(i);
    i = gcut_cache_look(ctx);
    assert_non_null(i);
    assert_int_equal(i->steps, 1);
    assert_int_equal(i->objects, 1);
    assert_int_equal(i->bytes, bytes);
    assert_int_equal(i->hits, 2);
    assert_int_equal(i->misses, 2);
    assert_has(command(""), "1 steps, 1 objects");
    assert_has(command("--json"), "\"hits\": 2, \"misses\": 2}");
    char want[64];
    snprintf(want, sizeof want, "{\"removed\": %d}", count);
    assert_has(command("--clear --json"), want);
    gcut_free(i);
    i = gcut_cache_look(ctx);
    assert_non_null(i);
    assert_int_equal(i->steps + i->objects + i->bytes + i->hits + i->misses, 0);
    expect(1, 1, "emptied");
    char counters[200]; /* that somebody else wrote */
    snprintf(counters, sizeof counters, "%s/counters", folder);
    FILE *f = fopen(counters, "w");
    assert_non_null(f);
    fprintf(f, "%lld -1\n", LLONG_MAX);
    assert_int_equal(fclose(f), 0);
    expect(1, 0, "counted anew");
    gcut_free(i);
    i = gcut_cache_look(ctx);
    assert_non_null(i);
    assert_int_equal(i->hits, 2);
    assert_int_equal(i->misses, 0);
    assert_int_equal(gcut_cache_clear(ctx, &removed), GCUT_OK);
    assert_int_equal(removed, count);
    setenv("GRADCUT_CACHE", "off", 1);
    assert_has(command(""), "not used: GRADCUT_CACHE is off");
    assert_int_equal(gcut_cache_clear(ctx, &removed), GCUT_EIO);
    assert_int_equal(removed, 0);
    unsetenv("GRADCUT_CACHE");
    assert_int_equal(chmod(folder, 0777), 0);
    assert_has(command(""), "its mode is 0777");
    assert_int_equal(chmod(folder, 0700), 0);

    /* Whatever cannot be made says why. */
    char was[512], file[600], why[700];
    snprintf(was, sizeof was, "%s", getenv("XDG_CACHE_HOME"));
    snprintf(file, sizeof file, "%s/a-file", was);
    write_text(file, "", 0600);
    setenv("XDG_CACHE_HOME", file, 1);
    snprintf(why, sizeof why, "cannot make %s/gradcut: Not a directory", file);
    assert_has(command(""), why);
    if (geteuid() != 0) {
        assert_int_equal(chmod(was, 0500), 0);
        snprintf(file, sizeof file, "%s/new", was);
        setenv("XDG_CACHE_HOME", file, 1);
        snprintf(why, sizeof why, "cannot make %s: Permission denied", file);
        assert_has(command(""), why);
        assert_int_equal(chmod(was, 0700), 0);
    }
    setenv("XDG_CACHE_HOME", was, 1);
    gcut_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(spares_the_compiler, begin),
        cmocka_unit_test_setup(knows_what_it_was_made_of, begin),
        cmocka_unit_test_setup(knows_every_word_of_the_compiler, begin),
        cmocka_unit_test_setup(takes_many_flags, begin),
        cmocka_unit_test_setup(plans_have_keys, begin),
        cmocka_unit_test_setup(timed_passes_run, begin),
        cmocka_unit_test_setup(steps_come_back_whole, begin),
        cmocka_unit_test_setup(plans_are_of_the_step, begin),
        cmocka_unit_test_setup(can_be_looked_at, begin),
        cmocka_unit_test_setup(processes_agree, begin),
    };
    return cmocka_run_group_tests(tests, make, remove_folder);
}
