/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * An internal error (a failed assertion, an invalid memory access, an illegal instruction) writes a shell script that
 * replays it: the command line, and the model file.  The text of the script is prepared before the command runs, since a
 * signal handler may call few functions.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"

enum { MOST = 64 << 20 /* bytes of a model */ };
#define END "GRADCUT_END_OF_MODEL"

static char **words; /* of the command line, before it is parsed; NULL after them */
static char *script;
static size_t length;
static char path[64];

void gcut_cli_crash_begin(int argc, char **argv)
{
    words = calloc((size_t)argc + 1, sizeof *words);
    for (int i = 0; words && i < argc; i++)
        if (!(words[i] = strdup(argv[i]))) break;
}

void gcut_cli_crash_end(void)
{
    for (int i = 0; words && words[i]; i++) free(words[i]);
    free(words);
    free(script);
    words = NULL;
    script = NULL;
}

/* 'it'\''s' */
static void put_quoted(const char *s, FILE *out)
{
    fputc('\'', out);
    for (; *s; s++) fputs(*s == '\'' ? "'\\''" : (char[]){*s, 0}, out);
    fputc('\'', out);
}

/* Adds the model as a here-document.  One that is large, binary, or no regular file is named instead: a pipe can be read
 * only once, by the command. */
static void put_model(const char *file, FILE *out)
{
    struct stat about;
    const bool regular = stat(file, &about) == 0 && S_ISREG(about.st_mode);
    FILE *f = regular ? fopen(file, "r") : NULL;
    char *text = NULL;
    size_t room = 0;
    ssize_t n = f ? getdelim(&text, &room, 0, f) : -1;
    if (n > 0 && n < MOST && !strstr(text, END))
        fprintf(out, "cat >\"$0.gcut\" <<'" END "'\n%s%s" END "\n", text, text[n - 1] == '\n' ? "" : "\n");
    else
        fprintf(out, "cp "), put_quoted(file, out), fprintf(out, " \"$0.gcut\"\n");
    free(text);
    if (f) fclose(f);
}

static void put_all(const char *text, size_t n, int to)
{
    while (n > 0) {
        const ssize_t k = write(to, text, n);
        if (k <= 0) return;
        text += k;
        n -= (size_t)k;
    }
}

static void leave_script(int signal_number)
{
    static const char said[] = "gradcut: error: internal error; to replay it: sh ";
    const int to = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (to >= 0) {
        put_all(script, length, to);
        close(to);
        put_all(said, sizeof said - 1, 2);
        put_all(path, strlen(path), 2);
        put_all("\n", 1, 2);
    }
    raise(signal_number); /* which is as it was before */
}

void gcut_cli_crash_ready(const char *file)
{
    static const int faults[] = {
        SIGABRT,
#ifndef __SANITIZE_ADDRESS__ /* which reports these itself */
        SIGSEGV, SIGBUS, SIGFPE, SIGILL,
#endif
    };
    FILE *out = words ? open_memstream(&script, &length) : NULL;
    if (!out) return;
    fprintf(out, "#!/bin/sh\n# gradcut %s stopped in this command; it is here with its model.\n",
            gcut_version());
    if (file) put_model(file, out);
    fprintf(out, "exec \"${GRADCUT:-gradcut}\"");
    for (int i = 0; words[i]; i++) {
        fputc(' ', out);
        if (file && !strcmp(words[i], file))
            fputs("\"$0.gcut\"", out);
        else
            put_quoted(words[i], out);
    }
    fputc('\n', out);
    if (fclose(out) != 0 || !script) return;
    snprintf(path, sizeof path, "gradcut-crash-%ld.sh", (long)getpid());
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        struct sigaction act = {.sa_handler = leave_script, .sa_flags = (int)SA_RESETHAND | SA_NODEFER};
        sigaction(faults[i], &act, NULL);
    }
}
