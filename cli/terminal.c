/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a terminal alone shows: how far what takes long is, on a line of standard error, and colour (ECMA-48), unless the
 * environment has NO_COLOR (no-color.org).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"

/* ---- progress ---- */

#define QUIET_S 1.0 /* a command that is quicker says nothing, */
#define SURE_S 1.0  /* and a phase that has just begun does not know its end */
enum { BAR = 20 };

/* Of the command that runs. */
static struct {
    double begun, phase; /* s: of the command, of what it does now */
    char what[64];
    size_t first; /* parts that were done as the phase began */
    bool shown;
} at;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* "measuring [########............] 40 %, 12 s left" */
static void print(size_t done, size_t total, double elapsed)
{
    const size_t n = total ? BAR * done / total : 0;
    fprintf(stderr, "\r\033[K%s", at.what);
    if (total) {
        fputs(" [", stderr);
        for (size_t i = 0; i < BAR; i++) fputc(i < n ? '#' : '.', stderr);
        fprintf(stderr, "] %zu %%", 100 * done / total);
    } else if (done) {
        fprintf(stderr, ", %zu so far", done);
    }
    if (done > at.first && total && elapsed >= SURE_S)
        fprintf(stderr, ", %.0f s left", ceil(elapsed * (double)(total - done) / (double)(done - at.first)));
    fflush(stderr);
    at.shown = true;
}

static bool show(void *user, const char *doing, size_t done, size_t total)
{
    const double t = now();
    (void)user;
    if (strncmp(at.what, doing, sizeof at.what - 1) != 0) {
        snprintf(at.what, sizeof at.what, "%s", doing);
        at.phase = t;
        at.first = done;
    }
    if (t - at.begun >= QUIET_S && (!total || done <= total)) print(done, total, t - at.phase);
    return false;
}

void gcut_cli_progress_begin(gcut_ctx *ctx)
{
    if (!isatty(STDERR_FILENO)) return;
    at.begun = now();
    gcut_cli_hooks.progress = show;
    gcut_ctx_set_hooks(ctx, &gcut_cli_hooks);
}

void gcut_cli_progress_end(void)
{
    if (at.shown) fputs("\r\033[K", stderr);
    at.shown = false;
}

/* ---- colour ---- */

bool gcut_cli_coloured(FILE *to)
{
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    return !(no && *no) && term && strcmp(term, "dumb") != 0 && isatty(fileno(to));
}

void gcut_cli_say(const char *text)
{
    static const char *const words[] = {"error:", "hint:", "note:"};
    static const char *const colour[] = {"\033[1;31m", "\033[36m", "\033[36m"};
    if (!gcut_cli_coloured(stderr)) {
        fputs(text, stderr);
        return;
    }
    while (*text) { /* the first of them in each line */
        const size_t line = strcspn(text, "\n");
        size_t from = line, length = 0;
        int found = -1;
        for (int k = 0; k < 3; k++) {
            const char *s = strstr(text, words[k]);
            if (s && (size_t)(s - text) < from)
                from = (size_t)(s - text), length = strlen(words[k]), found = k;
        }
        fprintf(stderr, "%.*s", (int)from, text);
        if (found >= 0) fprintf(stderr, "%s%s\033[0m", colour[found], words[found]);
        fprintf(stderr, "%.*s", (int)(line - from - length), text + from + length);
        if (text[line]) fputc('\n', stderr);
        text += line + (text[line] != 0);
    }
}
