/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * compile_once COMPILER [ARGUMENT…]: runs COMPILER, but what has been compiled before is copied.
 *
 * As GRADCUT_CC of tests it compiles a step once for all the tests, and for both builds of scripts/test.sh:
 * emitted C is the same in an optimised and in a sanitized build, and is instrumented in neither.
 *
 * Objects are kept in the folder GCUT_TEST_OBJECTS, named by a hash of the command line without its output,
 * and of the source, which comes by standard input. Everything else counts as unchanged (the compiler, the
 * headers below include/), so the folder is for one run of scripts/test.sh. Commands that do not compile
 * standard input, that leave the working folder's name in the object (-g), or that fail are run as they are,
 * as is every command without GCUT_TEST_OBJECTS.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/hash.h"

typedef struct bytes {
    char *at;
    size_t n;
} bytes;

static _Noreturn void give_up(const char *what)
{
    perror(what);
    exit(126);
}

/* The output of a command that may be kept; NULL = there is none. */
static const char *output_of(char **argv)
{
    const char *output = NULL;
    bool object = false, reads_stdin = false;
    for (int i = 0; argv[i]; i++) {
        if (!strncmp(argv[i], "-g", 2)) return NULL;
        if (!strcmp(argv[i], "-")) reads_stdin = true;
        if (!strcmp(argv[i], "-c")) object = true;
        if (!strcmp(argv[i], "-o") && argv[i + 1]) output = argv[++i];
    }
    return object && reads_stdin ? output : NULL;
}

static bool read_all(int fd, bytes *b)
{
    size_t room = 0;
    for (;;) {
        if (b->n == room) {
            room = room ? 2 * room : 1 << 16;
            b->at = realloc(b->at, room);
            if (!b->at) give_up("compile_once");
        }
        ssize_t got = read(fd, b->at + b->n, room - b->n);
        if (got < 0) return false;
        if (got == 0) return true;
        b->n += (size_t)got;
    }
}

static bool write_all(int fd, const bytes *b)
{
    for (size_t done = 0; done < b->n;) {
        ssize_t put = write(fd, b->at + done, b->n - done);
        if (put <= 0) return false;
        done += (size_t)put;
    }
    return true;
}

static bool read_file(const char *path, bytes *b)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool ok = fd >= 0 && read_all(fd, b);
    if (fd >= 0) close(fd);
    return ok;
}

static void name_of(char **argv, const char *output, const bytes *source, char *hex)
{
    unsigned char hash[GCUT_HASH_BYTES];
    gcut_hash h;
    gcut_hash_begin(&h);
    for (int i = 0; argv[i]; i++)
        if (argv[i] != output) gcut_hash_field(&h, argv[i], strlen(argv[i]));
    gcut_hash_field(&h, source->at, source->n);
    gcut_hash_end(&h, hash);
    for (int i = 0; i < GCUT_HASH_BYTES; i++) sprintf(hex + 2 * i, "%02x", hash[i]);
}

/* Runs the compiler on the source that was read; its exit status. */
static int compile(char **argv, const bytes *source)
{
    int in = memfd_create("source", 0), status;
    if (in < 0 || !write_all(in, source) || lseek(in, 0, SEEK_SET) < 0) give_up("compile_once: source");
    pid_t pid = fork();
    if (pid < 0) give_up("compile_once: fork");
    if (pid == 0) {
        dup2(in, 0);
        execvp(argv[0], argv);
        _exit(127);
    }
    if (waitpid(pid, &status, 0) != pid) give_up("compile_once: waitpid");
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Under its name at once: several compile the same at the same time. */
static void keep(const char *path, const bytes *object)
{
    char fresh[4200];
    snprintf(fresh, sizeof fresh, "%s.XXXXXX", path);
    int fd = mkstemp(fresh);
    if (fd < 0) return;
    bool ok = write_all(fd, object);
    close(fd);
    if (!ok || rename(fresh, path) != 0) unlink(fresh);
}

int main(int argc, char **argv)
{
    const char *folder = getenv("GCUT_TEST_OBJECTS"), *output = output_of(argv);
    if (argc < 2) return fprintf(stderr, "usage: compile_once COMPILER [ARGUMENT...]\n"), 2;
    argv++;
    if (!folder || !*folder || !output) {
        execvp(argv[0], argv);
        give_up(argv[0]);
    }
    bytes source = {0}, object = {0};
    char hex[2 * GCUT_HASH_BYTES + 1], path[4100];
    if (!read_all(0, &source)) give_up("compile_once: standard input");
    name_of(argv, output, &source, hex);
    snprintf(path, sizeof path, "%s/%s", folder, hex);
    if (read_file(path, &object)) {
        int fd = open(output, O_WRONLY | O_CREAT | O_TRUNC, 0666);
        if (fd < 0 || !write_all(fd, &object)) give_up(output);
        return 0;
    }
    object.n = 0;
    int status = compile(argv, &source);
    if (status == 0 && read_file(output, &object)) keep(path, &object);
    return status;
}
