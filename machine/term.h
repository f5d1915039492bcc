/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Terms of a predicted time, recorded where they are added up.
 *
 * What predicts a time is given a list, or NULL where nobody asks, and adds each term to it that it adds to the
 * time: one computation for both.
 */
#ifndef GCUT_MACHINE_TERM_H
#define GCUT_MACHINE_TERM_H

#include "machine/machine.h"

typedef enum gcut_term_kind {
    GCUT_TERM_WORK,    /* arithmetic */
    GCUT_TERM_TRAFFIC, /* bytes of one buffer */
    GCUT_TERM_FIXED    /* of the launch */
} gcut_term_kind;

typedef struct gcut_term {
    gcut_term_kind kind;
    const char *name, *what; /* the value or buffer that it is of, or NULL; the op, or a phrase */
    double units;            /* WORK, FIXED: how much of `unit` */
    const char *unit;        /* "flops", "elements", "rows" */
    gcut_rate rate;          /* of one unit; key NULL: there is no single rate */
    double times;            /* how often the units are counted */
    const char *why;         /* they are counted that often; NULL where that is once */
    uint32_t buffer;         /* TRAFFIC: of gcut_program_placement, */
    double read, written;    /* and bytes of it */
    double fetched;          /* bytes that take as long to write where each line is fetched first */
    double ago;       /* bytes moved since the last touch of its memory; INFINITY: never, NAN: unknown */
    double set;       /* bytes of the working set */
    gcut_reach reach; /* computed for `set`: where they come from, and what a byte of them takes */
    double ns;
    bool hidden; /* something that takes longer goes on meanwhile, and this adds nothing */
} gcut_term;

typedef struct gcut_terms {
    gcut_arena *arena;
    GCUT_VEC(gcut_term) list;
} gcut_terms;

/* Adds the term, if there is a list, and returns its ns. */
static inline double gcut_term_add(gcut_terms *to, gcut_term term)
{
    if (to) *GCUT_PUSH(to->arena, &to->list) = term;
    return term.ns;
}

/* So many units at that rate. */
static inline double gcut_term_rated(gcut_terms *to, gcut_term_kind kind, const char *name, const char *what,
                                     const gcut_rate *rate, double units, const char *unit)
{
    return gcut_term_add(to, (gcut_term){.kind = kind,
                                         .name = name,
                                         .what = what,
                                         .units = units,
                                         .unit = unit,
                                         .rate = *rate,
                                         .times = 1,
                                         .ns = gcut_rate_ns(rate, units)});
}

static inline uint32_t gcut_terms_count(const gcut_terms *of)
{
    return of ? of->list.n : 0;
}

/* The terms from `first` on count that many times. */
static inline double gcut_terms_scale(gcut_terms *of, uint32_t first, double times, const char *why)
{
    for (uint32_t i = first; i < gcut_terms_count(of); i++) {
        gcut_term *t = &of->list.at[i];
        t->times *= times;
        t->ns *= times;
        if (times != 1) t->why = why;
    }
    return times;
}

/* Of the terms first..middle-1, which are a ns together, and those from middle on, b ns, the longer ones count. */
static inline double gcut_terms_longer(gcut_terms *of, uint32_t first, uint32_t middle, double a, double b)
{
    for (uint32_t i = first; i < gcut_terms_count(of); i++)
        if (i < middle ? a < b : !(a < b)) of->list.at[i].hidden = true;
    return a < b ? b : a;
}

#endif
