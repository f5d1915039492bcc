/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The cache: what it never loads, and that nothing about it can make a step fail.
 */
#define _GNU_SOURCE
#include "cache.h"
#include "nightly.h"

#include <sys/syscall.h>

#include "base/arena.h"
#include "driver/load/cache.h"

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
        TRY("length %zu", k);
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

/* Compiles and runs in a child that may write no longer files; its exit status. */
static int under_limit(int64_t bytes)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        const struct rlimit most = {(rlim_t)bytes, (rlim_t)bytes};
        gcut_ctx *ctx = gcut_ctx_new(NULL);
        gcut_graph *g = graph_from(ctx, graph_of(1)); /* by a file */
        setrlimit(RLIMIT_FSIZE, &most);
        gcut_step *s = compile_as(g, GCUT_BACKEND_COMPILED, "sgd(lr=0.1)");
        if (!s) _exit(gcut_error_count(ctx) == 1 ? 1 : 2);
        _exit(gcut_run(s) == GCUT_OK ? 0 : 3);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (!WIFEXITED(status))
        fail_msg("a limit of %lld bytes: ended by signal %d", (long long)bytes, WTERMSIG(status));
    return WEXITSTATUS(status);
}

/* The kernel answers files beyond the limit of their size by a signal that ends the process. */
static void survives_a_limit(void **state)
{
    (void)state;
    int count;
    expect(1, 1, "to learn sizes");
    const int64_t one = size_of(entry(".object")), all = bytes_of_all(&count);
    /* Objects are files too: of the first limit the object itself keeps free, but not with its trailer. */
    assert_int_equal(under_limit(one - 1), 0);
    assert_int_equal(under_limit(4096), 1);
    assert_int_equal(under_limit(0), 1);
    assert_int_equal(bytes_of_all(&count), all); /* what cannot be used stays */
    expect(1, 0, "still there");
    begin(NULL);
    assert_int_equal(under_limit(0), 1);
    assert_int_equal(under_limit(one - 1), 0);
    assert_null(entry(".object"));
}

/* Of the full file system, also after a failure. */
static int leave_file_system(void **state)
{
    (void)state;
    umount2(in_tmp("home"), MNT_DETACH);
    return 0;
}

/* As root, on a file system of its own that is too small for an object. */
static void survives_a_full_disk(void **state)
{
    (void)state;
    assert_int_equal(mkdir(in_tmp("home"), 0700), 0);
    if (mount("none", in_tmp("home"), "tmpfs", 0, "size=16k,mode=0700") != 0) {
        print_message("no file system of our own: %s\n", strerror(errno));
        skip();
    }
    expect(1, 1, "a full disk");
    assert_null(entry(".object"));
    expect(1, 1, "a full disk still");
}

/* ---- file systems without O_TMPFILE ---- */

static bool no_nameless_files;

/* The C library's, for gradcut. */
int openat(int folder_fd, const char *path, int flags, ...)
{
    va_list ap;
    va_start(ap, flags);
    const unsigned mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(ap, unsigned) : 0;
    va_end(ap);
    if (no_nameless_files && (flags & O_TMPFILE) == O_TMPFILE) {
        errno = EOPNOTSUPP;
        return -1;
    }
    return (int)syscall(SYS_openat, folder_fd, path, flags, mode);
}

static int leave_nameless_files(void **state)
{
    (void)state;
    no_nameless_files = false;
    return 0;
}

static int temporary_names(void)
{
    int n = 0;
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));) n += !strncmp(e->d_name, "new-", 4);
    if (d) closedir(d);
    return n;
}

/* As on NFS: an entry is not counted twice while it has its temporary name, which never stays. */
static void temporary_names_go(void **state)
{
    (void)state;
    int count, there;
    char limit[64], name[512];
    no_nameless_files = true;
    expect(1, 1, "to learn sizes");
    const int64_t all = bytes_of_all(&count);
    begin(NULL);
    snprintf(limit, sizeof limit, "%lld", (long long)all);
    setenv("GRADCUT_CACHE_SIZE", limit, 1);
    expect(1, 1, "just enough room");
    assert_int_equal(bytes_of_all(&there), all);
    assert_int_equal(there, count);
    expect(1, 0, "all are there");
    assert_int_equal(temporary_names(), 0);
    unsetenv("GRADCUT_CACHE_SIZE");
    snprintf(name, sizeof name, "%s", entry(".object"));
    assert_int_equal(unlink(name), 0);
    assert_int_equal(mkdir(name, 0700), 0); /* no file can have that name */
    expect(1, 1, "a folder in an entry's place");
    assert_int_equal(temporary_names(), 0);
    assert_int_equal(rmdir(name), 0);
    expect(1, 1, "not stored");
    expect(1, 0, "stored");
}

/* ---- locks ---- */

static long left; /* requests for memory that are granted */

static void *scarce(void *user, void *block, size_t size)
{
    (void)user;
    if (size) return left-- > 0 ? realloc(block, size) : NULL;
    free(block);
    return NULL;
}

static int locks_held(void)
{
    int n = 0;
    DIR *d = opendir("/proc/self/fd");
    for (struct dirent *e; d && (e = readdir(d));) {
        char target[512];
        ssize_t k = readlinkat(dirfd(d), e->d_name, target, sizeof target - 1);
        target[k < 0 ? 0 : k] = '\0';
        n += strstr(target, "/counters") != NULL;
    }
    if (d) closedir(d);
    return n;
}

/* Many files, so that the list of them takes memory while the lock is held. */
static void locks_do_not_outlive_a_failure(void **state)
{
    (void)state;
    expect(1, 1, "cold");
    for (int call = 0; call < 2; call++)
        for (long n = 0;; n++) {
            for (int i = 0; i < 60; i++) {
                char path[512];
                snprintf(path, sizeof path, "%s/new-%d-which-was-abandoned", folder, i);
                write_text(path, "", 0600);
            }
            left = 1000;
            gcut_ctx *ctx = gcut_ctx_new(&(gcut_allocator){scarce, NULL});
            left = n;
            int64_t removed;
            gcut_cache_info *info = call ? NULL : gcut_cache_look(ctx);
            const bool done = call ? gcut_cache_clear(ctx, &removed) == GCUT_OK : info != NULL;
            left = 1000;
            if (!done) assert_int_equal(gcut_last_status(ctx), GCUT_ENOMEM);
            if (locks_held()) fail_msg("call %d: the lock is held after %ld requests for memory", call, n);
            gcut_free(info);
            gcut_ctx_free(ctx);
            if (done) break;
            assert_true(n < 1000);
        }
}

/* ---- compilers that fail, and nobody hears of it ---- */

/* Like the compiler of all tests, but that it fails in the way that the file `mood` says. */
static void use_moody_compiler(const char *mood)
{
    char script[600];
    snprintf(script, sizeof script,
             "#!/bin/sh\n"
             "[ \"$1\" = --version ] && exec cc --version\n"
             "printf x >>%s/runs\n"
             "case $(cat %s/mood) in\n"
             "quiet) exit 1 ;;\n"
             "loud) cc \"$@\"; echo no licence >&2; exit 1 ;;\n"
             "esac\n"
             "exec cc \"$@\"\n",
             tmp, tmp);
    if (access(in_tmp("moody"), F_OK) != 0) write_text(in_tmp("moody"), script, 0700);
    write_text(in_tmp("mood"), mood, 0600);
    setenv("GRADCUT_CC", in_tmp("moody"), 1);
}

static int leave_moody_compiler(void **state)
{
    (void)state;
    signal(SIGCHLD, SIG_DFL);
    setenv("GRADCUT_CC", in_tmp("cc"), 1);
    return 0;
}

static void refused_step(const char *mood, const char *says)
{
    use_moody_compiler(mood);
    gcut_ctx *ctx = new_ctx();
    assert_null(compile_as(graph_from(ctx, graph_of(1)), GCUT_BACKEND_COMPILED, "sgd(lr=0.1)"));
    assert_says(ctx, GCUT_ETOOL, says);
    assert_int_equal(gcut_error_count(ctx), 1);
    assert_null(entry(".object"));
    assert_null(entry(".step"));
    gcut_ctx_free(ctx);
}

/* A program that ignores SIGCHLD cannot be told how its children end. */
static void no_news_of_children(void **state)
{
    (void)state;
    (void)expected(1);
    signal(SIGCHLD, SIG_IGN);
    refused_step("quiet", "it said nothing");
    refused_step("loud", "no licence");
    use_moody_compiler("fine");
    expect(1, 1, "a compiler that works");
    assert_non_null(entry(".object"));
    expect(1, 0, "its object");
}

/* An entry that is whole, but no object, as gradcut itself once stored. */
static void objects_that_do_not_load(void **state)
{
    (void)state;
    char path[512], *key;
    expect(1, 1, "cold");
    snprintf(path, sizeof path, "%s", entry(".object"));
    const int64_t size = size_of(path);
    assert_int_equal(unlink(path), 0);
    key = strrchr(path, '/') + 1;
    *strrchr(key, '.') = '\0';
    for (int n = 0; n < 2000; n += 1000) {
        static const char zeros[2000];
        gcut_env *env = gcut_env_new(NULL, NULL);
        gcut_cache *c = gcut_cache_open(env->arena, NULL, NULL);
        assert_non_null(c);
        gcut_cache_put(c, GCUT_CACHE_OBJECT, key, zeros, (size_t)n);
        gcut_env_free(env);
        assert_true(size_of(entry(".object")) < size);
        expect(1, 1, "no object");
        assert_int_equal(size_of(entry(".object")), size);
        expect(1, 0, "made again");
        assert_int_equal(unlink(entry(".object")), 0);
    }
}

/* The entry of a step whose object is gone does not make a failure of the compiler happen twice. */
static void failures_happen_once(void **state)
{
    (void)state;
    (void)expected(1);
    use_moody_compiler("quiet");
    int before = runs();
    refused_step("quiet", "exited with status 1");
    const int once = runs() - before;
    use_moody_compiler("fine");
    expect(1, 1, "cold");
    assert_int_equal(unlink(entry(".object")), 0);
    use_moody_compiler("quiet");
    before = runs();
    gcut_ctx *ctx = new_ctx();
    assert_null(compile_as(graph_from(ctx, graph_of(1)), GCUT_BACKEND_COMPILED, "sgd(lr=0.1)"));
    assert_says(ctx, GCUT_ETOOL, "exited with status 1");
    assert_int_equal(gcut_error_count(ctx), 1);
    gcut_ctx_free(ctx);
    assert_int_equal(runs() - before, once);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(drops_damaged_entries, begin),
        cmocka_unit_test_setup(knows_entries_by_their_contents, begin),
        cmocka_unit_test_setup(trusts_nobody_else, begin),
        cmocka_unit_test_setup(needs_no_folder, begin),
        cmocka_unit_test_setup(keeps_within_its_size, begin),
        cmocka_unit_test_setup(survives_a_limit, begin),
        cmocka_unit_test_setup_teardown(temporary_names_go, begin, leave_nameless_files),
        cmocka_unit_test_setup(locks_do_not_outlive_a_failure, begin),
        cmocka_unit_test_setup_teardown(no_news_of_children, begin, leave_moody_compiler),
        cmocka_unit_test_setup(objects_that_do_not_load, begin),
        cmocka_unit_test_setup_teardown(failures_happen_once, begin, leave_moody_compiler),
        cmocka_unit_test_setup_teardown(survives_a_full_disk, begin, leave_file_system),
    };
    return cmocka_run_group_tests(tests, make, remove_folder);
}
