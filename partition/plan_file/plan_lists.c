/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The lists `saved` and `recomputed` of a plan file, which are for readers.
 *
 * Decisions are read from `values` alone, so an edit of the lists would have no effect and is refused.  The
 * hash of the lists in the file tells such an edit from one of `values`, which only leaves the lists out of
 * date.
 */
#include "partition/plan_file/plan_file.h"

#include <string.h>

static void add_name(gcut_text *t, const char *name, bool forced)
{
    gcut_text_add(t, "%s%s\n", name, forced ? " forced" : "");
}

const char *gcut_plan_lists_hash(const gcut_graph *g, const gcut_refs *saved, const gcut_refs *recomputed,
                                 const gcut_decision *decision, gcut_arena *arena)
{
    gcut_text t = {.arena = arena};
    for (uint32_t i = 0; i < saved->n; i++)
        add_name(&t, g->values.at[saved->at[i]].name, decision[saved->at[i]].forced);
    gcut_text_add(&t, "\n");
    for (uint32_t i = 0; i < recomputed->n; i++) add_name(&t, g->values.at[recomputed->at[i]].name, false);
    return gcut_plan_hash(t.at, t.n, arena);
}

/* The hash of the file's lists; an absent list is empty. */
static const char *hash_of(const gcut_jnode *saved, const gcut_jnode *recomputed, gcut_arena *arena)
{
    gcut_text t = {.arena = arena};
    for (uint32_t i = 0, n = saved ? gcut_jcount(saved) : 0; i < n; i++) {
        const gcut_jnode *x = gcut_jat(saved, i), *forced = gcut_jget(x, "forced");
        add_name(&t, gcut_jstr(gcut_jneed(x, "value")), forced && gcut_jbool(forced));
    }
    gcut_text_add(&t, "\n");
    for (uint32_t i = 0, n = recomputed ? gcut_jcount(recomputed) : 0; i < n; i++)
        add_name(&t, gcut_jstr(gcut_jneed(gcut_jat(recomputed, i), "value")), false);
    return gcut_plan_hash(t.at, t.n, arena);
}

static const char hint[] =
    "edit the value's line in `values`; the lists `saved` and `recomputed` are made from it";

/* Every entry of the list has a line with that decision. */
static void check_entries(const gcut_jnode *list, const gcut_plan_part *part, gcut_plan_decision decision,
                          gcut_arena *arena)
{
    for (uint32_t i = 0, n = list ? gcut_jcount(list) : 0; i < n; i++) {
        const gcut_jnode *x = gcut_jat(list, i);
        const char *name = gcut_jstr(gcut_jneed(x, "value"));
        uint32_t k = 0;
        while (k < part->lines.n && strcmp(part->lines.at[k]->name, name) != 0) k++;
        if (k == part->lines.n) gcut_jfail(x, hint, "%%%s has no line in `values`", name);
        if (part->lines.at[k]->decision != decision)
            gcut_jfail(x, hint, "%%%s is %s here and %s in %s", name, gcut_decision_name(decision),
                       gcut_decision_name(part->lines.at[k]->decision), gcut_plan_line_path(part, k, arena));
    }
}

/* Every saved value is in the list. */
static void check_saved(const gcut_jnode *list, const gcut_plan_part *part, gcut_arena *arena)
{
    for (uint32_t k = 0; k < part->lines.n; k++) {
        const gcut_replay_line *l = part->lines.at[k];
        bool found = l->decision != GCUT_PLAN_SAVED;
        for (uint32_t i = 0, n = gcut_jcount(list); i < n && !found; i++)
            found = !strcmp(gcut_jstr(gcut_jneed(gcut_jat(list, i), "value")), l->name);
        if (!found)
            gcut_jfail(list, hint, "%%%s, saved in %s, is missing", l->name,
                       gcut_plan_line_path(part, k, arena));
    }
}

void gcut_plan_lists_check(const gcut_jnode *file, const gcut_plan_part *part, gcut_arena *arena)
{
    const gcut_jnode *saved = gcut_jget(file, "saved"), *recomputed = gcut_jget(file, "recomputed");
    const gcut_jnode *hash = gcut_jget(file, "lists_hash");
    if ((!saved && !recomputed) || (hash && !strcmp(gcut_jstr(hash), hash_of(saved, recomputed, arena))))
        return;
    check_entries(saved, part, GCUT_PLAN_SAVED, arena);
    check_entries(recomputed, part, GCUT_PLAN_RECOMPUTED, arena);
    if (saved) check_saved(saved, part, arena);
    if (hash) gcut_jfail(recomputed ? recomputed : saved, hint, "this list, or `saved`, was edited");
}
