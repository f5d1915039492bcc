/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Runs the `gradcut` command from outside, in a folder of its own, with small models in it.
 */
#ifndef GCUT_TESTS_CLI_H
#define GCUT_TESTS_CLI_H

#include "harness.h"

#include <fcntl.h>
#include <ftw.h>
#include <jansson.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

#define MLP GCUT_SOURCE_DIR "/examples/mlp.gcut"
#define ARGV(...) ((const char *const[]){"gradcut", __VA_ARGS__, NULL})

/* ---- running it ---- */

static char folder[] = "/tmp/gradcut-cli-XXXXXX"; /* the tests' own; also the command's working folder */

typedef struct ran {
    int code;
    char *out, *err;
} ran;

static inline char *slurp(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    size_t n = 0, room = 1 << 16;
    char *s = malloc(room);
    while (s && (n += fread(s + n, 1, room - n - 1, f)) == room - 1) s = realloc(s, room *= 2);
    fclose(f);
    assert_non_null(s);
    s[n] = 0;
    return s;
}

/* Standard output goes to `to` when that is given, else it is returned; "" = it is closed. */
static inline ran run_to(const char *to, const char *from, const char *const *argv)
{
    posix_spawn_file_actions_t io;
    pid_t pid;
    int status;
    posix_spawn_file_actions_init(&io);
    posix_spawn_file_actions_addopen(&io, 0, from ? from : "/dev/null", O_RDONLY, 0);
    if (to && !*to)
        posix_spawn_file_actions_addclose(&io, 1);
    else
        posix_spawn_file_actions_addopen(&io, 1, to ? to : "stdout.txt",
                                         O_WRONLY | (to ? 0 : O_CREAT | O_TRUNC), 0600);
    posix_spawn_file_actions_addopen(&io, 2, "stderr.txt", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_int_equal(posix_spawn(&pid, GCUT_BINARY_DIR "/gradcut", &io, NULL, (char *const *)argv, environ),
                     0);
    posix_spawn_file_actions_destroy(&io);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (!WIFEXITED(status)) fail_msg("gradcut %s ended with signal %d", argv[1], WTERMSIG(status));
    return (ran){WEXITSTATUS(status), to ? strdup("") : slurp("stdout.txt"), slurp("stderr.txt")};
}

static inline void done(ran r)
{
    free(r.out);
    free(r.err);
}

static inline void begins(const char *text, const char *with)
{
    if (strncmp(text, with, strlen(with)) != 0) fail_msg("does not begin with '%s':\n%s", with, text);
}

static inline void expect(ran r, int code)
{
    if (r.code != code) fail_msg("exit code %d, not %d\n%s%s", r.code, code, r.out, r.err);
}

/* Runs well, says nothing to stderr. */
static inline char *fine(const char *const *argv)
{
    ran r = run_to(NULL, NULL, argv);
    expect(r, 0);
    assert_string_equal(r.err, "");
    free(r.err);
    return r.out;
}

static inline json_t *json_of(const char *const *argv)
{
    json_error_t e;
    char *out = fine(argv);
    json_t *j = json_loads(out, 0, &e);
    if (!j) fail_msg("%s at line %d:\n%s", e.text, e.line, out);
    free(out);
    return j;
}

static inline void has_keys(json_t *j, const char *words)
{
    char *list = strdup(words), *rest = list;
    for (char *w; (w = strsep(&rest, " "));)
        if (!json_object_get(j, w)) fail_msg("the key %s is missing", w);
    free(list);
}

/* Ends with the code and a sentence that contains every word of `words` (separated by '|'), nothing on
 * stdout. */
static inline void refused(int code, const char *words, const char *const *argv)
{
    char *list = strdup(words), *rest = list;
    ran r = run_to(NULL, NULL, argv);
    expect(r, code);
    assert_string_equal(r.out, "");
    for (char *w; (w = strsep(&rest, "|"));)
        if (!strstr(r.err, w)) fail_msg("'%s' is not in: %s", w, r.err);
    assert_non_null(strstr(r.err, "error: "));
    free(list);
    done(r);
}

static inline void write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

/* shape as in Python: "(2, 3)" */
static inline void write_npy(const char *path, const char *descr, const char *shape, const void *data,
                             size_t bytes)
{
    char head[118];
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    snprintf(head, sizeof head, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }", descr, shape);
    fprintf(f, "\x93NUMPY\x01%c\x76%c%-117s\n", 0, 0, head); /* 0x76 = 118: the whole head is 128 bytes */
    fwrite(data, 1, bytes, f);
    assert_int_equal(fclose(f), 0);
}

static inline void read_npy_f32(const char *path, float *x, size_t n)
{
    unsigned char head[10];
    FILE *f = fopen(path, "rb");
    if (!f) fail_msg("%s is not there", path);
    assert_int_equal(fread(head, 1, 10, f), 10);
    assert_memory_equal(head, "\x93NUMPY\x01", 7);
    assert_int_equal(fseek(f, 10 + head[8] + 256 * head[9], SEEK_SET), 0);
    assert_int_equal(fread(x, sizeof *x, n, f), n);
    assert_int_equal(fgetc(f), EOF);
    fclose(f);
}

/* loss = sum(w*x), so grad.w = x; k counts the steps; bad is not a number. */
static const char tiny_text[] = "gcut 1\n"
                                "func @tiny[N in 1..](param %w: f32[N], input %x: f32[N], state %k: f32[])\n"
                                "    -> (out loss: f32[], out bad: f32[], next k: f32[]) {\n"
                                "  %p = mul(%w, %x)\n"
                                "  %loss: f32[] = sum(%p)\n"
                                "  %one: f32[] = full(shape=[], value=1.0)\n"
                                "  %k1 = add(%k, %one)\n"
                                "  %minus = neg(%one)\n"
                                "  %bad = log(%minus)\n"
                                "  return %loss, %bad, %k1\n"
                                "}\n";
static const char two_text[] =
    "gcut 1\n"
    "func @first(input %x: f32[2]) -> (out y: f32[2]) {\n  %y = neg(%x)\n  return %y\n}\n"
    "func @second(input %x: f32[3]) -> (out y: f32[3]) {\n  %y = exp(%x)\n  return %y\n}\n";

/* ---- the tests' folder ---- */

static inline int start(void **state)
{
    (void)state;
    if (!mkdtemp(folder) || chdir(folder) != 0) return -1;
    unsetenv("GRADCUT_DUMP");
    write_text("tiny.gcut", tiny_text);
    write_text("two.gcut", two_text);
    write_text("small.gcut",
               "gcut 1\n"
               "func @small(param %w: f32[4, 3], input %x: f32[2, 4]) -> (out loss: f32[]) {\n"
               "  %h = matmul(%x, %w)\n  %a = tanh(%h)\n  %loss: f32[] = sum(%a)\n  return %loss\n}\n");
    return 0;
}

static inline int erase(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st, (void)kind, (void)at;
    return remove(path);
}

static inline int finish(void **state)
{
    (void)state;
    return chdir("/") || nftw(folder, erase, 16, FTW_DEPTH | FTW_PHYS);
}

#endif
