/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The cache: what it spares, what it never loads, and that nothing about it can make a step fail.
 *
 * The compiler is a script that counts its runs, but for those that ask for its version.
 */
#define _GNU_SOURCE
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "api.h"
#include "public.h"

#define RUNS 2 /* of the compiler for one step: it compiles, it links */

static char folder[160]; /* of the cache */

/* ---- surroundings ---- */

static void write_text(const char *path, const char *text, mode_t mode)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(chmod(path, mode), 0);
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *f)
{
    (void)st, (void)flag, (void)f;
    return remove(path);
}

static void remove_tree(const char *path)
{
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static int make(void **state)
{
    if (make_folder(state) != 0) return -1;
    char script[400];
    snprintf(script, sizeof script,
             "#!/bin/sh\n[ \"$1\" = --version ] || printf x >>%s/runs\nexec cc \"$@\"\n", tmp);
    write_text(in_tmp("cc"), script, 0700);
    setenv("GRADCUT_CC", in_tmp("cc"), 1);
    setenv("GRADCUT_STEP_FLAGS", "-O0", 1);
    setenv("XDG_CACHE_HOME", in_tmp("home"), 1);
    snprintf(folder, sizeof folder, "%s/home/gradcut", tmp);
    return 0;
}

/* Each test begins with an empty cache, in use. */
static int begin(void **state)
{
    (void)state;
    remove_tree(in_tmp("home"));
    unsetenv("GRADCUT_CACHE");
    unsetenv("GRADCUT_CACHE_SIZE");
    unsetenv("GRADCUT_CACHE_PROCESSOR");
    return 0;
}

static int runs(void)
{
    struct stat st;
    return stat(in_tmp("runs"), &st) == 0 ? (int)st.st_size : 0;
}

/* ---- steps ---- */

/* least squares with a factor of its own, so that steps can differ */
static const char *graph_of(double factor)
{
    static char text[1000];
    snprintf(
        text, sizeof text,
        "func @line[N in 1..64](param %%w: f32[3], input %%x: f32[N, 3], input %%y: f32[N]) -> (out loss: "
        "f32[]) {\n"
        "  %%w2 = reshape(%%w, shape=[3, 1])\n"
        "  %%p = matmul(%%x, %%w2)\n"
        "  %%q = reshape(%%p, shape=[N])\n"
        "  %%c = full(shape=[N], value=%.6f)\n"
        "  %%s = mul(%%q, %%c)\n"
        "  %%loss = mse(%%s, %%y)\n"
        "  return %%loss\n"
        "}\n",
        factor);
    return text;
}

/* Compiles, runs, and returns the bytes of all results, to be freed. */
static unsigned char *run_step(double factor, size_t *n)
{
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = graph_from(ctx, graph_of(factor));
    gcut_step *s = compile_as(g, GCUT_BACKEND_COMPILED, "sgd(lr=0.1)");
    must_run(ctx, s);
    assert_int_equal(gcut_error_count(ctx), 0);
    unsigned char *all = result_bytes(s, n);
    gcut_ctx_free(ctx);
    return all;
}

typedef struct result {
    unsigned char *at;
    size_t n;
} result;

/* Without a cache; factors are 0 to 9. */
static result expected(int factor)
{
    static result all[10];
    if (all[factor].at) return all[factor];
    const char *mode = getenv("GRADCUT_CACHE");
    assert_true(!mode || !strcmp(mode, "off"));
    setenv("GRADCUT_CACHE", "off", 1);
    all[factor].at = run_step(factor, &all[factor].n);
    if (!mode) unsetenv("GRADCUT_CACHE");
    return all[factor];
}

/* The same bits as without a cache, after so many runs of the compiler. */
static void expect(int factor, int compilations, const char *what)
{
    const result want = expected(factor);
    const int before = runs();
    result got;
    got.at = run_step(factor, &got.n);
    if (runs() - before != compilations * RUNS)
        fail_msg("%s: the compiler ran %d times, not %d", what, runs() - before, compilations * RUNS);
    assert_int_equal(want.n, got.n);
    if (memcmp(want.at, got.at, got.n) != 0) fail_msg("%s: other results", what);
    free(got.at);
}

/* ---- entries ---- */

/* The only entry of a kind; NULL when there is none. */
static char *entry(const char *suffix)
{
    static char path[512];
    int found = 0;
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));) {
        size_t n = strlen(e->d_name), k = strlen(suffix);
        if (n <= k || strcmp(e->d_name + n - k, suffix) != 0) continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        found++;
    }
    if (d) closedir(d);
    assert_true(found <= 1);
    return found ? path : NULL;
}

static int64_t bytes_of_all(int *count)
{
    int64_t sum = 0;
    DIR *d = opendir(folder);
    *count = 0;
    for (struct dirent *e; d && (e = readdir(d));) {
        struct stat st;
        if (*e->d_name == '.' || !strcmp(e->d_name, "counters")) continue;
        assert_int_equal(fstatat(dirfd(d), e->d_name, &st, 0), 0);
        assert_int_equal(st.st_mode & 07777, 0600);
        sum += st.st_size;
        ++*count;
    }
    if (d) closedir(d);
    return sum;
}

static int64_t size_of(const char *path)
{
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return st.st_size;
}

static void flip(const char *path, int64_t at)
{
    unsigned char byte;
    int fd = open(path, O_RDWR);
    assert_true(fd >= 0);
    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte ^= 0x10;
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    close(fd);
}

/* ---- tests ---- */

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

static void compile_with(gcut_graph *g, const gcut_options *o, int more, const char *what)
{
    const int before = entries_of(".step");
    gcut_step *s = gcut_compile(g, o);
    assert_non_null(s);
    gcut_step_free(s);
    if (entries_of(".step") - before != more)
        fail_msg("%s: %d new entries, not %d", what, entries_of(".step") - before, more);
}

/* Whatever changes plan or code is part of the key of a step; what does not is not. */
static void plans_have_keys(void **state)
{
    (void)state;
    static const char *const w[] = {"w"}, *const p[] = {"p"};
    static const gcut_size at[] = {{"N", 64}};
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = graph_from(ctx, graph_of(1));
    gcut_options o = TEST_OPTIONS, plain = o;
    compile_with(g, &o, 1, "cold");
    compile_with(g, &o, 0, "warm");
    compile_with(g, NULL, 0, "defaults");
    assert_int_equal(gcut_emit_files(g, &o, in_tmp("emitted"), false), GCUT_OK);
#define OTHER(member, value)                                                                                 \
    o = plain, o.member = (value);                                                                           \
    compile_with(g, &o, 1, #member);                                                                         \
    compile_with(g, &o, 0, #member " again")
    OTHER(policy, "save-all");
    OTHER(lambda, 0.25);
    OTHER(budget, 1 << 20);
    OTHER(saved_budget, 1 << 20);
    OTHER(save_dtype, "bf16");
    OTHER(optimizer, "sgd(lr=0.1)");
    OTHER(optimizer, "sgd(lr=0.2)");
    OTHER(loss, "loss");
    OTHER(threads, 3);
    OTHER(forward_only, true);
    o = plain, o.wrt = w, o.nwrt = 1;
    compile_with(g, &o, 1, "wrt");
    o = plain, o.at = at, o.nat = 1;
    compile_with(g, &o, 1, "at");
    o = plain, o.save = p, o.nsave = 1;
    compile_with(g, &o, 1, "save");
    o = plain, o.recompute = p, o.nrecompute = 1;
    compile_with(g, &o, 1, "recompute");
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
    print_text(f, gcut_plan_text(gcut_step_plan(s), false));
    print_text(f, gcut_plan_saved_text(gcut_step_plan(s), false));
    print_text(f, gcut_plan_json(gcut_step_plan(s)));
    fclose(f);
    assert_true(n > 0);
    return text;
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
    if (runs() - before != (from_cache ? 0 : RUNS))
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
        gcut_ctx *cold = new_ctx(), *warm = new_ctx();
        gcut_step *a = compile_and_run(cold, path, 0), *b = compile_and_run(warm, path, 1);
        assert_same(path, a, b);
        gcut_ctx_free(cold);
        gcut_ctx_free(warm);
    }
    globfree(&files);
}

/* Whatever a crash or a disk did to an entry, it is dropped and made again. */
static void drops_damaged_entries(void **state)
{
    (void)state;
    expect(1, 1, "cold");
    const int64_t size = size_of(entry(".object"));
    for (int k = 0; k < 10; k++) { /* one bit, from the first byte to the last of the trailer */
        flip(entry(".object"), (size - 1) * k / 9);
        expect(1, 1, "a bit flipped");
        expect(1, 0, "made again");
    }
    const int64_t lengths[] = {0, 1, 47, 48, size / 2, size - 49, size - 1, size + 1};
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
        assert_int_equal(truncate(entry(".object"), lengths[k]), 0);
        expect(1, 1, "truncated");
    }
    expect(1, 0, "made again");
    const int64_t step = size_of(entry(".step"));
    for (int k = 0; k < 10; k++) { /* the object is still there */
        flip(entry(".step"), (step - 1) * k / 9);
        expect(1, 0, "a bit of the step flipped");
        assert_int_equal(size_of(entry(".step")), step);
        assert_int_equal(truncate(entry(".step"), step * k / 10), 0);
        expect(1, 0, "the step truncated");
        assert_int_equal(size_of(entry(".step")), step);
    }
    for (int k = 0; k < 4; k++) {
        DIR *d = opendir(folder);
        for (struct dirent *e; (e = readdir(d));)
            if (strstr(e->d_name, ".digest") || !strcmp(e->d_name, "counters")) {
                char path[512];
                snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
                if (k < 3)
                    flip(path, (size_of(path) - 1) * k / 2);
                else
                    assert_int_equal(truncate(path, 0), 0);
            }
        closedir(d);
        expect(1, 0, "other files damaged");
    }
}

/* An entry under another's name is not taken for it. */
static void knows_entries_by_their_contents(void **state)
{
    (void)state;
    char one[512];
    expect(1, 1, "one");
    snprintf(one, sizeof one, "%s", entry(".object"));
    assert_int_equal(rename(one, in_tmp("one")), 0);
    expect(2, 1, "two");
    assert_int_equal(rename(in_tmp("one"), entry(".object")), 0);
    expect(2, 1, "one as two");
}

static void trusts_nobody_else(void **state)
{
    (void)state;
    expect(1, 1, "cold");
    assert_int_equal(chmod(folder, 0755), 0);
    expect(1, 1, "a folder that others read");
    assert_int_equal(chmod(folder, 0770), 0);
    expect(1, 1, "a folder that others write");
    assert_int_equal(chmod(folder, 0700), 0);
    expect(1, 0, "a private folder");
    assert_int_equal(chmod(entry(".object"), 0620), 0);
    expect(1, 1, "an entry that others write");
    char path[512], kept[512];
    snprintf(path, sizeof path, "%s", entry(".object"));
    snprintf(kept, sizeof kept, "%s/elsewhere", tmp);
    assert_int_equal(rename(path, kept), 0);
    assert_int_equal(symlink(kept, path), 0);
    expect(1, 1, "a link instead of an entry");
    expect(1, 0, "made again");
    snprintf(kept, sizeof kept, "%s/elsewhere-too", tmp);
    assert_int_equal(rename(folder, kept), 0);
    assert_int_equal(symlink(kept, folder), 0);
    expect(1, 1, "a link instead of the folder");
    assert_int_equal(unlink(folder), 0);
    write_text(folder, "", 0600);
    expect(1, 1, "a file instead of the folder");
    assert_int_equal(unlink(folder), 0);
    assert_int_equal(rename(kept, folder), 0);
    if (geteuid() != 0) return;
    assert_int_equal(chown(entry(".object"), 65534, 65534), 0);
    expect(1, 1, "an entry of another user");
    assert_int_equal(chown(folder, 65534, 65534), 0);
    expect(1, 1, "a folder of another user");
    assert_int_equal(chown(folder, 0, 0), 0);
}

static void needs_no_folder(void **state)
{
    (void)state;
    setenv("XDG_CACHE_HOME", "/proc/no/such/folder", 1);
    expect(1, 1, "a folder that cannot be made");
    setenv("XDG_CACHE_HOME", "relative", 1);
    setenv("HOME", in_tmp("home"), 1); /* made with .cache by the next line, were it not for its parent */
    expect(1, 1, "no home");
    assert_int_equal(mkdir(in_tmp("home"), 0700), 0);
    expect(1, 1, "a new home");
    expect(1, 0, "that home");
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    expect(1, 1, "nowhere");
    setenv("XDG_CACHE_HOME", in_tmp("home"), 1);
}

/* Least recently used first, and never more bytes than the limit. */
static void keeps_within_its_size(void **state)
{
    (void)state;
    int count;
    char limit[64];
    expect(1, 1, "one");
    const int64_t one = size_of(entry(".object"));
    expect(2, 1, "two");
    const int64_t two = bytes_of_all(&count);
    snprintf(limit, sizeof limit, "%lld", (long long)(two + one / 2)); /* two fit, three do not */
    setenv("GRADCUT_CACHE_SIZE", limit, 1);
    nanosleep(&(struct timespec){0, 20000000}, NULL); /* times of files have a grain */
    expect(1, 0, "one is used");
    nanosleep(&(struct timespec){0, 20000000}, NULL);
    expect(3, 1, "three takes the place of two");
    assert_true(bytes_of_all(&count) <= two + one / 2);
    expect(1, 0, "one stayed");
    expect(3, 0, "three is there");
    expect(2, 1, "two had to go");
    assert_true(bytes_of_all(&count) <= two + one / 2);
    setenv("GRADCUT_CACHE_SIZE", "1KiB", 1);
    expect(4, 1, "too small for any object");
    expect(4, 1, "too small still");
    assert_true(bytes_of_all(&count) <= two + one / 2);
    setenv("GRADCUT_CACHE_SIZE", "0", 1);
    expect(5, 1, "nothing is stored");
}

/* A file size limit, which answers by a signal, in a child. */
static void survives_a_limit(void **state)
{
    (void)state;
    int count;
    expect(1, 1, "to learn sizes");
    const int64_t one = size_of(entry(".object"));
    begin(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        /* Objects are files too: of this limit the object itself keeps free, but not with its trailer. */
        const struct rlimit most = {(rlim_t)one - 1, (rlim_t)one - 1};
        setrlimit(RLIMIT_FSIZE, &most);
        gcut_ctx *ctx = gcut_ctx_new(NULL);
        gcut_step *s = compile_as(graph_from(ctx, graph_of(1)), GCUT_BACKEND_COMPILED, "sgd(lr=0.1)");
        _exit(s && gcut_run(s) == GCUT_OK ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_null(entry(".object"));
    (void)bytes_of_all(&count);
}

/* Of the full file system, also after a failure. */
static int leave_file_system(void **state)
{
    (void)state;
    umount2(in_tmp("home"), MNT_DETACH);
    return 0;
}

/* As root, on a file system of 1 MiB of its own. */
static void survives_a_full_disk(void **state)
{
    (void)state;
    assert_int_equal(mkdir(in_tmp("home"), 0700), 0);
    if (mount("none", in_tmp("home"), "tmpfs", 0, "size=1m,mode=0700") != 0) {
        print_message("no file system of our own: %s\n", strerror(errno));
        skip();
    }
    expect(1, 1, "a full disk");
    assert_null(entry(".object"));
    expect(1, 1, "a full disk still");
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
    gcut_cache_info i;
    int64_t removed = -1;
    assert_int_equal(gcut_cache_look(ctx, &i), GCUT_OK);
    assert_string_equal(i.folder, folder);
    assert_null(i.unused);
    assert_int_equal(i.steps + i.objects + i.bytes + i.hits + i.misses, 0);
    assert_int_equal(i.limit, 1 << 30);
    expect(1, 1, "cold");
    expect(1, 0, "warm");
    int count;
    const int64_t bytes = bytes_of_all(&count);
    assert_int_equal(gcut_cache_look(ctx, &i), GCUT_OK);
    assert_int_equal(i.steps, 1);
    assert_int_equal(i.objects, 1);
    assert_int_equal(i.bytes, bytes);
    assert_int_equal(i.hits, 2);
    assert_int_equal(i.misses, 2);
    assert_has(command(""), "1 steps, 1 objects");
    assert_has(command("--json"), "\"hits\": 2, \"misses\": 2}");
    char want[64];
    snprintf(want, sizeof want, "{\"removed\": %d}", count);
    assert_has(command("--clear --json"), want);
    assert_int_equal(gcut_cache_look(ctx, &i), GCUT_OK);
    assert_int_equal(i.steps + i.objects + i.bytes + i.hits + i.misses, 0);
    expect(1, 1, "emptied");
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
    gcut_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(spares_the_compiler, begin),
        cmocka_unit_test_setup(knows_what_it_was_made_of, begin),
        cmocka_unit_test_setup(plans_have_keys, begin),
        cmocka_unit_test_setup(steps_come_back_whole, begin),
        cmocka_unit_test_setup(can_be_looked_at, begin),
        cmocka_unit_test_setup(drops_damaged_entries, begin),
        cmocka_unit_test_setup(knows_entries_by_their_contents, begin),
        cmocka_unit_test_setup(trusts_nobody_else, begin),
        cmocka_unit_test_setup(needs_no_folder, begin),
        cmocka_unit_test_setup(keeps_within_its_size, begin),
        cmocka_unit_test_setup(survives_a_limit, begin),
        cmocka_unit_test_setup_teardown(survives_a_full_disk, begin, leave_file_system),
        cmocka_unit_test_setup(processes_agree, begin),
    };
    return cmocka_run_group_tests(tests, make, remove_folder);
}
