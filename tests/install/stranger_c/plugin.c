/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A shared library around a step.
 */
#include "net_step.h"

__attribute__((visibility("default"))) int plugin_bytes(int64_t rows, int64_t *bytes)
{
    gcut_rt_error e;
    net_step_plan plan;
    gcut_rt_status s = net_step_init(&plan, rows, 0, &e);
    *bytes = s == GCUT_RT_OK ? plan.head.arena_bytes : 0;
    return s;
}
