/* SPDX-License-Identifier: MIT
 *
 * Steps whose forward and backward graph are called apart: the block of saved values between the two.
 */
#include "gradcut/gradcut_rt.h"

enum { ALIGN = 64 };

/* The first line of a block; the saved values follow. */
typedef struct head {
    uint64_t magic, step, sizes;
    int64_t bytes;
    uint64_t state, updates;
    uint64_t zero[2];
} head;

_Static_assert(sizeof(head) == ALIGN, "values begin on a line");

static const uint64_t magic = UINT64_C(0x3144455641535447); /* GTSAVED1 */

enum { EMPTY = 1, FILLED, USED };

gcut_rt_apart gcut_rt_place_apart(const gcut_rt_slot *slot, gcut_rt_buffer *b, int n, int split)
{
    gcut_rt_apart all = {0, sizeof(head), 0, 0};
    for (int i = 0; i < n; i++)
        if (slot[i].saved) b[i].bytes = -b[i].bytes; /* takes no place in the arena */
    all.arena = gcut_rt_place(b, n);
    for (int i = 0; i < n; i++) {
        if (slot[i].saved) {
            b[i].bytes = -b[i].bytes;
            b[i].offset = -1 - all.saved;
            all.saved += gcut_rt_ceildiv(b[i].bytes, ALIGN) * ALIGN;
        } else {
            const int64_t end = b[i].offset + gcut_rt_ceildiv(b[i].bytes, ALIGN) * ALIGN;
            int64_t *top = b[i].birth < split ? &all.forward : &all.backward;
            if (b[i].bytes > 0 && end > *top) *top = end;
        }
    }
    return all;
}

void gcut_rt_slot_places(const int64_t *off, int n, void *arena, void *saved, void **at)
{
    for (int i = 0; i < n; i++) at[i] = off[i] < 0 ? (char *)saved + (-1 - off[i]) : (char *)arena + off[i];
}

/* As FNV-1a, 64 bits at a time, with the upper half mixed into the lower. */
uint64_t gcut_rt_sizes(const int64_t *size, int n)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (int i = 0; i < n; i++) {
        h = (h ^ (uint64_t)size[i]) * UINT64_C(0x100000001b3);
        h ^= h >> 32;
    }
    return h;
}

static gcut_rt_status refuse(gcut_rt_error *err, const char *why)
{
    return gcut_rt_fail(err, GCUT_RT_EBLOCK, why, "", 0, 0, 0);
}

gcut_rt_status gcut_rt_open_saved(const gcut_rt_plan *plan, void *saved, unsigned halves, gcut_rt_error *err)
{
    head h = {magic, plan->step, plan->sizes, plan->saved_bytes, EMPTY, plan->updates, {0}};
    if (!saved) return gcut_rt_fail(err, GCUT_RT_ENULL, "saved", "", 0, 0, 0);
    if ((uintptr_t)saved % ALIGN) return gcut_rt_fail(err, GCUT_RT_EALIGN, "saved", "", 0, 0, ALIGN);
    if (!(halves & 1)) {
        memcpy(&h, saved, sizeof h);
        if (h.magic != magic || h.state == EMPTY)
            return refuse(err, "of saved values was filled by no forward call");
        if (h.step != plan->step) return refuse(err, "of saved values was filled by another step");
        if (h.sizes != plan->sizes || h.bytes != plan->saved_bytes)
            return refuse(err, "of saved values was filled at other sizes");
        if (h.state != FILLED) return refuse(err, "of saved values was used by a backward call before");
        if (h.updates != plan->updates)
            return refuse(err, "of saved values was filled before parameters or states were updated");
        h.state = USED; /* results may be written over saved values */
    }
    memcpy(saved, &h, sizeof h);
    return GCUT_RT_OK;
}

void gcut_rt_close_saved(void *saved, unsigned halves, gcut_rt_status status)
{
    head h;
    memcpy(&h, saved, sizeof h);
    if (status == GCUT_RT_OK) h.state = halves == 1 ? FILLED : USED;
    memcpy(saved, &h, sizeof h);
}
