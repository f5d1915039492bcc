/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Names compared.
 */
#include "base/names.h"

#include <string.h>
#include <strings.h>

#define LONGEST 40

/* Levenshtein distance; LONGEST when either text is too long to be compared. */
static size_t distance(const char *a, const char *b)
{
    size_t row[LONGEST + 1], na = strlen(a), nb = strlen(b);
    if (na > LONGEST || nb > LONGEST) return LONGEST;
    for (size_t j = 0; j <= nb; j++) row[j] = j;
    for (size_t i = 1; i <= na; i++) {
        size_t corner = row[0];
        row[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            size_t swap = corner + (a[i - 1] != b[j - 1]),
                   skip = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            corner = row[j];
            row[j] = swap < skip ? swap : skip;
        }
    }
    return row[nb];
}

gcut_nearest gcut_nearest_start(const char *wanted)
{
    /* At most a third of the letters may differ: more is not a typing error. */
    return (gcut_nearest){.wanted = wanted, .distance = strlen(wanted) / 3 + 2};
}

void gcut_nearest_add(gcut_nearest *near, const char *name)
{
    size_t d = strcasecmp(near->wanted, name) ? distance(near->wanted, name) : 0; /* however short it is */
    if (d < near->distance && d < strlen(name)) {
        near->distance = d;
        near->best = name;
    }
}

bool gcut_name_matches(const char *pattern, const char *s)
{
    const char *star = NULL, *resume = NULL;
    while (*s) {
        if (*pattern == '*') {
            star = ++pattern;
            resume = s;
        } else if (*pattern == '?' || *pattern == *s) {
            pattern++;
            s++;
        } else if (star) {
            pattern = star;
            s = ++resume;
        } else {
            return false;
        }
    }
    while (*pattern == '*') pattern++;
    return *pattern == '\0';
}
