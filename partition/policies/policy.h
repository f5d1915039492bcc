/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Who decides what is saved: the minimum cut, and the rules of others to compare it with.  All of them see
 * the same values, prices and constraints of the user, and end as a gcut_choice like any plan.
 */
#ifndef GCUT_PARTITION_POLICIES_POLICY_H
#define GCUT_PARTITION_POLICIES_POLICY_H

#include "partition/cut/decisions.h"

typedef struct gcut_policy_info {
    const char *name;      /* of `--policy` */
    const char *doc;       /* one line */
    gcut_policy_fn *saved; /* NULL: the minimum cut of the prices */
} gcut_policy_info;

const gcut_policy_info *gcut_policy_get(gcut_policy p);

/* The names, in the order of the table: "mincut, save-all, …". */
const char *gcut_policy_list(gcut_arena *arena);
/* What `--policy` says, a budget of torch included, into opt->policy and opt->torch_budget. */
bool gcut_policy_read(const char *s, gcut_plan_options *opt);
/* The other way round. */
const char *gcut_policy_text(gcut_arena *arena, const gcut_plan_options *opt);

/* policy_segments.c: the square root rule */
gcut_policy_fn gcut_policy_sqrt;
/* policy_torch.c, policy_knapsack.c */
gcut_policy_fn gcut_policy_torch, gcut_policy_torch_budget;

#endif
