/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Pieces of text that several reports share.
 */
#include <string.h>

#include "report/report.h"

const char *gcut_decision_word(gcut_plan_decision d)
{
    static const char *const words[] = {"saved", "recomputed", "free", "unused", "backward"};
    return words[d];
}

const char *gcut_place_text(gcut_arena *a, const char *where)
{
    char *s = gcut_strndup(a, where, strlen(where));
    for (char *c = s; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127) *c = '?';
    return s;
}

void gcut_write_sizes(const gcut_size *at, size_t n, const char *first, gcut_text *out)
{
    for (size_t i = 0; i < n; i++)
        gcut_text_add(out, "%s%s=%lld", i ? ", " : first, at[i].name, (long long)at[i].value);
}

double gcut_plan_price(const gcut_plan_info *p)
{
    return p->lambda == GCUT_LAMBDA_FASTEST ? 0 : p->lambda;
}

int64_t gcut_plan_saved_limit(const gcut_plan_info *p)
{
    return p->saved_budget == GCUT_SAVE_NOTHING ? 0 : p->saved_budget ? p->saved_budget : -1;
}

void gcut_json_key_known(gcut_json *j, const char *key, int64_t n)
{
    gcut_json_key(j, key);
    if (n < 0)
        gcut_json_null(j);
    else
        gcut_json_int(j, n);
}
