/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Colour (ECMA-48), on a terminal alone, and not where the environment has NO_COLOR (no-color.org).
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

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
        size_t at = line, length = 0;
        int found = -1;
        for (int k = 0; k < 3; k++) {
            const char *s = strstr(text, words[k]);
            if (s && (size_t)(s - text) < at) at = (size_t)(s - text), length = strlen(words[k]), found = k;
        }
        fprintf(stderr, "%.*s", (int)at, text);
        if (found >= 0) fprintf(stderr, "%s%s\033[0m", colour[found], words[found]);
        fprintf(stderr, "%.*s", (int)(line - at - length), text + at + length);
        if (text[line]) fputc('\n', stderr);
        text += line + (text[line] != 0);
    }
}
