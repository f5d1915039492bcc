/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * sweep: the table to standard output, the picture to a file, progress to a terminal.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

static void progress(void *user, const char *doing, size_t done, size_t all)
{
    (void)user;
    fprintf(stderr, "\r\033[K");
    if (done < all) fprintf(stderr, "%s %zu of %zu", doing, done + 1, all);
    fflush(stderr);
}

static int write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    bool ok = f && fputs(text, f) >= 0;
    int why = errno;
    if (f && fclose(f) != 0 && ok) ok = false, why = errno;
    if (ok) return EXIT_FINE;
    gcut_cli_complain("%s cannot be written: %s", path, strerror(why));
    return EXIT_INPUT;
}

/* Every form, as NAME.txt, NAME.csv, NAME.json and NAME.svg. */
static int write_forms(const char *name, const gcut_sweep *s)
{
    const char *const suffix[] = {".txt", ".csv", ".json", ".svg"};
    const char *const text[] = {s->text, s->csv, s->json, s->svg};
    int code = EXIT_FINE;
    for (int i = 0; i < 4 && !code; i++) {
        char *path = gcut_cli_join(name, suffix[i], "");
        code = path ? write_file(path, text[i]) : EXIT_INPUT;
        free(path);
    }
    return code;
}

int gcut_cmd_sweep(gcut_ctx *ctx, const gcut_cli *c)
{
    if (c->json && c->csv) {
        gcut_cli_complain("sweep prints either --json or --csv");
        return EXIT_USAGE;
    }
    gcut_graph *g = gcut_cli_load(ctx, c);
    if (!g) return gcut_cli_failed(ctx);
    gcut_sweep_options how = {.points = (int)c->points,
                              .rounds = c->measure ? (int)c->rounds : 0,
                              .feed = c->feed,
                              .nfeed = c->nfeed,
                              .progress = isatty(2) ? progress : NULL};
    gcut_sweep s = gcut_sweep_of(g, &c->opt, &how);
    if (how.progress) fprintf(stderr, "\r\033[K");
    if (!s.text) return gcut_cli_failed(ctx);
    int code = c->svg ? write_file(c->svg, s.svg) : EXIT_FINE;
    if (!code && c->output) code = write_forms(c->output, &s);
    if (code) return code;
    fputs(c->json ? s.json : c->csv ? s.csv : s.text, stdout);
    return EXIT_FINE;
}
