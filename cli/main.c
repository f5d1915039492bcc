/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The `gradcut` command: finds the subcommand, runs it in a context of its own,
 * and returns its exit code (EXIT_*, exit_codes.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

void gcut_cli_complain(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    gcut_cli_progress_end();
    gcut_cli_say("gradcut: error: ");
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
}

char *gcut_cli_join(const char *a, const char *b, const char *c)
{
    size_t n = strlen(a) + strlen(b) + strlen(c) + 1;
    char *out = malloc(n);
    if (out)
        snprintf(out, n, "%s%s%s", a, b, c);
    else
        gcut_cli_complain("out of memory");
    return out;
}

static int code_of(gcut_status s)
{
    switch (s) {
    case GCUT_OK: return EXIT_FINE;
    case GCUT_ECHECK:
    case GCUT_EPLAN: return EXIT_CHECK;
    case GCUT_EUSAGE: return EXIT_USAGE;
    case GCUT_EUNSUPPORTED: return EXIT_UNSUPPORTED;
    default: return EXIT_INPUT;
    }
}

static void print_diagnostic(const char *text)
{
    size_t n = strlen(text);
    gcut_cli_say(text);
    if (!n || text[n - 1] != '\n') fputc('\n', stderr);
}

int gcut_cli_failed(gcut_ctx *ctx)
{
    gcut_cli_progress_end();
    if (gcut_error_count(ctx))
        print_diagnostic(gcut_last_error(ctx));
    else /* out of memory: there is no diagnostic */
        gcut_cli_complain("%s", gcut_last_error(ctx));
    return code_of(gcut_last_status(ctx));
}

int gcut_cli_print(const gcut_cli *c, void *made, const char *text, const char *json, int code)
{
    fputs(c->json ? json : text, stdout);
    gcut_free(made);
    return code;
}

/* Of a command that compares predicted with measured times: they are predicted by a model of this machine, which is
 * measured if there is none.  An exit code. */
static int choose_machine(gcut_ctx *ctx, gcut_cli *c, gcut_machine_report **out)
{
    *out = gcut_machine_here(ctx, c->opt.machine);
    if (!*out) return gcut_cli_failed(ctx);
    if ((*out)->said) gcut_cli_progress_end();
    if ((*out)->said) gcut_cli_say("note: "), fprintf(stderr, "%s\n", (*out)->said);
    c->opt.machine = (*out)->path;
    return EXIT_FINE;
}

/* Loads the function that the command line names, if the command works on one. */
static int run_in(gcut_ctx *ctx, gcut_cli *c)
{
    const gcut_operands has = c->cmd->operands;
    const bool loads = has != GCUT_OPERANDS_PLANS && has != GCUT_OPERANDS_NONE && has != GCUT_OPERANDS_ONNX;
    gcut_cli_crash_ready(loads ? c->file : NULL);
    gcut_graph *g = loads ? gcut_load(ctx, c->file, c->fn) : NULL;
    gcut_machine_report *machine = NULL;
    if (loads && !g) return gcut_cli_failed(ctx);
    const bool compares =
        c->cmd->run == gcut_cmd_bench || (c->cmd->run == gcut_cmd_prof && !c->times) || c->measure;
    int code = compares ? choose_machine(ctx, c, &machine) : EXIT_FINE;
    if (!code) code = c->cmd->run(ctx, c, g);
    gcut_free(machine);
    return code;
}

static int run_command(const gcut_cli_command *cmd, int argc, char **argv)
{
    gcut_cli c;
    gcut_cli_crash_begin(argc, argv);
    int code = gcut_cli_parse(&c, cmd, argc, argv);
    if (!code && c.help) {
        gcut_cli_help_command(stdout, cmd);
    } else if (!code) {
        gcut_ctx *ctx = gcut_ctx_new(NULL);
        if (ctx && c.time_passes)
            gcut_cli_times_begin(ctx); /* which prints lines to standard error, too */
        else if (ctx)
            gcut_cli_progress_begin(ctx);
        if (ctx)
            code = run_in(ctx, &c);
        else
            gcut_cli_complain("out of memory"), code = EXIT_INPUT;
        gcut_cli_progress_end();
        if (c.time_passes) gcut_cli_times_end();
        gcut_ctx_free(ctx);
    }
    gcut_cli_free(&c);
    gcut_cli_crash_end();
    return code;
}

/* NULL after an error message. */
static const gcut_cli_command *find_command(const char *name)
{
    const char *names[GCUT_NCOMMANDS];
    for (int i = 0; i < GCUT_NCOMMANDS; i++) {
        names[i] = gcut_commands[i].name;
        if (!strcmp(name, names[i])) return &gcut_commands[i];
    }
    const char *near = gcut_cli_nearest(name, names, GCUT_NCOMMANDS);
    gcut_cli_complain("there is no command '%s'%s%s%s; see 'gradcut --help'", name,
                      near ? ", did you mean " : "", near ? near : "", near ? "?" : "");
    return NULL;
}

/* Runs `gradcut help`, with a command, --completion and a shell, or nothing. */
static int help(char **argv)
{
    const char *about = argv[0];
    if (!about) {
        gcut_cli_help(stdout);
        return EXIT_FINE;
    }
    if (!strcmp(about, "--completion")) return gcut_cli_completion(stdout, argv[1]);
    const gcut_cli_command *cmd = find_command(about);
    if (!cmd) return EXIT_USAGE;
    gcut_cli_help_command(stdout, cmd);
    return EXIT_FINE;
}

static int dispatch(int argc, char **argv)
{
    if (argc < 2) {
        gcut_cli_help(stderr);
        return EXIT_USAGE;
    }
    const char *word = argv[1];
    if (!strcmp(word, "--help") || !strcmp(word, "-h")) return help(argv + argc);
    if (!strcmp(word, "help")) return help(argv + 2);
    if (!strcmp(word, "--version")) {
        printf("gradcut %s\n", gcut_version());
        return EXIT_FINE;
    }
    const gcut_cli_command *cmd = find_command(word);
    return cmd ? run_command(cmd, argc - 1, argv + 1) : EXIT_USAGE;
}

/* A file opened later must never get the descriptor of a standard stream that the caller closed: the stream's
 * text would go into that file.  The replacements are open in the wrong direction, so that using them is an
 * error. */
static void hold_standard_streams(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF) open("/dev/null", fd ? O_RDONLY : O_WRONLY);
}

/* Standard output that cannot be written makes the command fail. */
static int close_stdout(int code)
{
    bool failed = ferror(stdout) != 0;
    errno = 0;
    failed |= fclose(stdout) != 0;
    if (!failed) return code;
    gcut_cli_complain("standard output could not be written%s%s", errno ? ": " : "",
                      errno ? strerror(errno) : "");
    return EXIT_INPUT;
}

int main(int argc, char **argv)
{
    hold_standard_streams();
    /* What a command prints comes after its progress, whose line is removed first. */
    static char buffer[1 << 20]; /* glibc allocates none of a size that is asked for */
    if (isatty(STDOUT_FILENO)) setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
    /* Writing a file beyond RLIMIT_FSIZE is an error that the writer reports, not a fatal signal. */
    signal(SIGXFSZ, SIG_IGN);
    return close_stdout(dispatch(argc, argv));
}
