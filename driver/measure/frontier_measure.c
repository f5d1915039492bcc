/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Measures the points of a frontier: compiles all of them, then runs them in turn.
 */
#include "driver/measure/frontier_measure.h"
#include "driver/measure/rounds.h"

void gcut_frontier_measure(gcut_pipeline **p, gcut_frontier_point *point, size_t n,
                           const gcut_frontier_options *how, gcut_arena *arena)
{
    gcut_env *env = gcut_arena_env(arena);
    gcut_rounds r = {.step = gcut_calloc(arena, n + 1, sizeof *r.step),
                     .n = n,
                     .feed = how->feed,
                     .nfeed = how->nfeed,
                     .rounds = how->rounds};
    gcut_stats *stats = gcut_calloc(arena, n + 1, sizeof *stats);
    gcut_times *times = gcut_calloc(arena, n + 1, sizeof *times);
    for (size_t i = 0; i < n; i++) {
        gcut_env_progress(env, "compiling", i, n);
        r.step[i] = gcut_step_of(p[i], p[i]->arena);
    }
    gcut_rounds_begin(&r, stats, arena);
    for (size_t i = 0; i < n; i++)
        if (stats[i].predicted_bytes != point[i].peak_predicted)
            gcut_fail(env, GCUT_EUSAGE, (gcut_place){0}, "give the sizes of the arrays with --at",
                      "the arrays have other sizes than the plans are made for");
    gcut_rounds_run(&r, times, arena);
    for (size_t i = 0; i < n; i++) {
        point[i].peak_measured = stats[i].peak_bytes;
        point[i].step_ns_best = times[i].best_ns;
        point[i].step_ns_median = times[i].median_ns;
        point[i].step_ns_spread = times[i].spread_ns;
    }
}
