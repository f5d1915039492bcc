/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The functions of operands that a matrix product computes as it packs them.
 */
#include "kernels/loop.h"

void gcut_emit_chains(gcut_emitter *e)
{
    gcut_arena *a = gcut_arena_new(e->p->module->env, e->p->module->arena);
    for (uint32_t k = 0; k < 2; k++) {
        const gcut_chain *c = e->h->units.at[e->unit].chain[k];
        if (!c) continue;
        gcut_text body = {.arena = a};
        gcut_emitter fill = *e;
        gcut_half h = gcut_chain_half(e->h, c, a, &fill.unit);
        fill.h = &h;
        fill.body = &body;
        fill.args.at = NULL;
        fill.args.n = fill.args.cap = 0;
        e->fill[k].function = gcut_emit_fill(&fill, a);
        e->fill[k].args = gcut_launch_args(&fill);
    }
    gcut_arena_free(a);
}

uint32_t gcut_chains(const gcut_emitter *e)
{
    const gcut_unit *u = &e->h->units.at[e->unit];
    return (u->chain[0] != NULL) + (u->chain[1] != NULL);
}
