/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Names of the tensors of a file, as those of parameters.
 */
#include "driver/exchange/renamings.h"

#include <string.h>

static bool has_one_star_or_none(const char *s)
{
    const char *star = strchr(s, '*');
    return !star || !strchr(star + 1, '*');
}

gcut_renamings gcut_read_renamings(gcut_env *env, gcut_arena *a, const char *list)
{
    gcut_renamings out = {0};
    while (list && *list) {
        const size_t n = strcspn(list, ",");
        char *rule = gcut_strndup(a, list, n), *eq = strchr(rule, '=');
        list += n + (list[n] == ',');
        if (eq) *eq = '\0';
        const char *to = eq ? eq + 1 : "";
        if (!*rule || !*to || strchr(to, '=') || !has_one_star_or_none(rule) || !has_one_star_or_none(to) ||
            !strchr(rule, '*') != !strchr(to, '*'))
            gcut_fail(env, GCUT_EUSAGE, (gcut_place){0},
                      "write FILE'S=STEP'S, with one * on both sides or on none: 'model.*=*,lm_head=head.w'",
                      "cannot rename by '%s'", gcut_strndup(a, rule, n));
        *GCUT_PUSH(a, &out) = (gcut_renaming){rule, to};
    }
    return out;
}

const char *gcut_renamed(gcut_arena *a, const gcut_renamings *rules, const char *name)
{
    for (uint32_t i = 0; i < rules->n; i++) {
        const char *from = rules->at[i].from, *to = rules->at[i].to, *star = strchr(from, '*');
        if (!star) {
            if (!strcmp(from, name)) return to;
            continue;
        }
        const size_t head = (size_t)(star - from), tail = strlen(star + 1), n = strlen(name);
        if (n < head + tail || strncmp(from, name, head) != 0 || strcmp(name + n - tail, star + 1) != 0)
            continue;
        const char *hole = strchr(to, '*');
        return gcut_printf(a, "%.*s%.*s%s", (int)(hole - to), to, (int)(n - head - tail), name + head,
                           hole + 1);
    }
    return name;
}
