/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A lower bound of the cuts of a network that save no more than some bytes.
 *
 * Every multiplier lambda >= 0 gives one: the minimum cut at lambda, less lambda times the bytes.  The best of them is
 * searched for, then the solutions are divided by what single saves are, cut or not, and each part is bounded alike.
 */
#ifndef GCUT_PARTITION_BOUNDS_BUDGETED_CUT_H
#define GCUT_PARTITION_BOUNDS_BUDGETED_CUT_H

#include "partition/cut/min_cut.h"

typedef struct gcut_budgeted_cut {
    gcut_arena *arena;
    uint64_t size;     /* of a network: what one minimum cut adds to `solved` */
    uint64_t solved;   /* so far */
    uint64_t most;     /* then neither further multipliers nor branches are tried */
    uint32_t branches; /* parts of the solutions at most */
    /* Called, if it is there, with the cuts that the bound of a part is of and their weights, which are 1 together. */
    void (*tell)(void *user, const gcut_network *net, const gcut_cut *cut, double weight);
    void *user;
} gcut_budgeted_cut;

/* Of the cost, at lambda 0, of each cut whose saves have at most `room` bytes; INFINITY: there is no such cut.  Changes
 * the prices of the network. */
double gcut_budgeted_cut_bound(gcut_budgeted_cut *s, gcut_network *net, int64_t room);

#endif
