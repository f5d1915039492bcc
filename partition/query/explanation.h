/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One decision explained: what was decided, by which arc, against what.
 */
#ifndef GCUT_PARTITION_QUERY_EXPLANATION_H
#define GCUT_PARTITION_QUERY_EXPLANATION_H

#include "partition/query/plan_queries.h"

/* A value that the backward graph makes from v or a view of it. */
typedef struct gcut_why_reader {
    gcut_ref value;
    bool recomputed;  /* itself computed again there: a value of the forward graph, or of none */
    gcut_ref rule_of; /* else: its derivative rule asked for it; 0 = no rule did, or none that is known */
} gcut_why_reader;

typedef struct gcut_why {
    gcut_query r;      /* flips from 0 on */
    gcut_ref asked, v; /* v: the value whose storage `asked` is */
    const char *loop;  /* the loop whose iteration the plan is for; NULL = the whole graph's plan */
    GCUT_VEC(gcut_why_reader) readers;
    const char *forced_by; /* the mark or option that forced it, with its line; NULL = nobody */
    gcut_plan_decision
        unforced;     /* forced: what the minimum cut does without, or, if there is no `cut`, this plan */
    gcut_choice *now; /* this plan's decisions */
    gcut_choice
        *cut; /* the minimum cut at the plan's lambda, which flips may have changed; NULL: lambda did not
                         choose this plan */
    gcut_choice *other; /* the cheapest plan in which v has the other decision; under another policy or a plan
                           file: this plan with that one change.  NULL: see `fixed` */
    const char *fixed;  /* why there is no other decision */
    gcut_refs chain;    /* first results of what runs to compute v again, in order */
    double chain_ns;
} gcut_why;

/* `name` in the graph of plan, or in an iteration of one of its loops.  Throws GCUT_EPLAN when there is no such
 * value. Memory from `arena`. */
gcut_why *gcut_why_of(const gcut_plan *plan, const char *name, gcut_arena *arena);

/* The plan is a minimum cut, so its rival is one too. */
bool gcut_why_is_minimum(const gcut_plan *plan);
/* The decision that v does not have; RECOMPUTED for what is saved, SAVED for what is recomputed. */
gcut_plan_decision gcut_why_flip(const gcut_why *w);

/* Flips have changed what the minimum cut decides for v. */
bool gcut_why_is_changed(const gcut_why *w);

/* In the format in which it is saved, if it is. */
int64_t gcut_why_bytes(const gcut_why *w);
/* The price of its arc in the cut: of being saved, or of being recomputed. */
double gcut_why_arc(const gcut_why *w);
/* Values of the forward graph whose decision differs in the other plan, but for v itself.  Memory from the
 * arena. */
gcut_refs gcut_why_changes(const gcut_why *w);

#endif
