/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A step compiled ahead of time, linked with the kernels that it calls: loss = sum((w t)^6).
 */
#include <stdio.h>
#include <stdlib.h>

#include "cubes.h"

static int calls;

void cube(const gcut_rt_external *c)
{
    const float *x = (const float *)c->in[0].at;
    calls++;
    for (int64_t i = 0; i < c->out[0].dim[0]; i++) ((float *)c->out[0].at)[i] = x[i] * x[i] * x[i];
}

void cube_vjp(const gcut_rt_external *c)
{
    const float *x = (const float *)c->in[0].at, *dy = (const float *)c->in[1].at;
    for (int64_t i = 0; i < c->out[0].dim[0]; i++) ((float *)c->out[0].at)[i] = 3 * x[i] * x[i] * dy[i];
}

int main(void)
{
    float w[] = {2, 1, -1}, t[] = {1, 1, 2}, loss = 0, dw[3] = {0};
    const float want[] = {192, 6, -384};
    cubes_plan plan;
    gcut_rt_error err;
    if (cubes_init(&plan, 3, 2, &err) != GCUT_RT_OK) return 1;
    void *arena = aligned_alloc(64, (size_t)(plan.head.arena_bytes + 64) / 64 * 64);
    cubes_io io = {.w = w, .t = t, .loss = &loss, .grad_w = dw};
    gcut_rt_status status = arena ? cubes_step(&plan, &io, arena, &err) : GCUT_RT_ENULL;
    free(arena);
    if (status != GCUT_RT_OK || loss != 129 || calls != 1) {
        fprintf(stderr, "status %d, loss %g, %d calls\n", (int)status, (double)loss, calls);
        return 1;
    }
    for (int i = 0; i < 3; i++)
        if (dw[i] != want[i]) {
            fprintf(stderr, "dw[%d] is %g, expected %g\n", i, (double)dw[i], (double)want[i]);
            return 1;
        }
    return 0;
}
