/* SPDX-License-Identifier: MIT
 *
 * Offsets in the arena.  Finding the smallest arena is NP-hard; greedy best fit in a few orders is near the
 * lower bound (the most bytes alive at once) on the lifetimes of training steps; the first order to reach it
 * ends the search.
 *
 * Scratch memory is two fields of the buffers: b[i].order is the i-th entry of a permutation, b[i].link
 * threads the list of placed buffers by ascending offset.
 */
#include "gradcut/gradcut_rt.h"

typedef enum sorting { BY_BIRTH, BY_SIZE, BY_LENGTH, BY_AREA, NSORTINGS } sorting;

static int64_t rounded(const gcut_rt_buffer *b)
{
    return gcut_rt_ceildiv(b->bytes, GCUT_RT_LINE) * GCUT_RT_LINE;
}

/* Compares a and b: < 0 when a comes first; ties go by index, which makes every order total. */
static int before(const gcut_rt_buffer *b, sorting by, int32_t i, int32_t j)
{
    const gcut_rt_buffer *x = &b[i], *y = &b[j];
    int64_t lx = (int64_t)x->death - x->birth + 1, ly = (int64_t)y->death - y->birth + 1;
    double ax = (double)x->bytes * (double)lx, ay = (double)y->bytes * (double)ly;
    if (by == BY_AREA && ax != ay) return ax > ay;
    if (by == BY_LENGTH && lx != ly) return lx > ly;
    if (by == BY_BIRTH && x->birth != y->birth) return x->birth < y->birth;
    if (x->bytes != y->bytes) return x->bytes > y->bytes;
    if (lx != ly) return lx > ly;
    return i < j;
}

static void sift(gcut_rt_buffer *b, sorting by, int at, int n)
{
    int32_t x = b[at].order;
    for (int child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && before(b, by, b[child].order, b[child + 1].order)) child++;
        if (!before(b, by, x, b[child].order)) break;
        b[at].order = b[child].order;
    }
    b[at].order = x;
}

/* Heap sort of the permutation: no recursion and no memory. */
static void sort(gcut_rt_buffer *b, sorting by, int n)
{
    for (int i = 0; i < n; i++) b[i].order = i;
    for (int i = n / 2 - 1; i >= 0; i--) sift(b, by, i, n);
    for (int i = n - 1; i > 0; i--) {
        int32_t x = b[0].order;
        b[0].order = b[i].order;
        b[i].order = x;
        sift(b, by, 0, i);
    }
}

/* Where buffer x goes among those placed: the tightest gap between neighbours that live while it does, else
 * above them all.  With `drop`, x is born after all on the list, and those that died before it are unlinked
 * for good. */
static void insert(gcut_rt_buffer *b, int32_t *head, int32_t x, int drop)
{
    int64_t size = rounded(&b[x]), top = 0, best = -1, best_gap = INT64_MAX;
    /* The links that lead on from the last overlapping buffer below the gap, and below the end. */
    int32_t *under = head, *best_under = head;
    for (int32_t *at = head; *at >= 0;) {
        const gcut_rt_buffer *y = &b[*at];
        int dead = y->death < b[x].birth;
        if (drop && dead) {
            if (best_under == &y->link) best_under = at;
            *at = y->link;
            continue;
        }
        if (!dead && y->birth <= b[x].death) {
            int64_t gap = y->offset - top;
            if (gap >= size && gap < best_gap) {
                best_gap = gap;
                best = top;
                best_under = under;
            }
            top = gcut_rt_max(top, y->offset + rounded(y));
            under = &b[*at].link;
        }
        at = &b[*at].link;
    }
    b[x].offset = best >= 0 ? best : top;
    int32_t *at = best >= 0 ? best_under : under;
    while (*at >= 0 && b[*at].offset <= b[x].offset) at = &b[*at].link;
    b[x].link = *at;
    *at = x;
}

/* Places all buffers in the order of `by`; returns the bytes of the arena. */
static int64_t attempt(gcut_rt_buffer *b, int n, sorting by)
{
    int32_t head = -1;
    int64_t peak = 0;
    sort(b, by, n);
    for (int i = 0; i < n; i++) {
        int32_t x = b[i].order;
        b[x].offset = 0;
        if (b[x].bytes <= 0) continue;
        insert(b, &head, x, by == BY_BIRTH);
        peak = gcut_rt_max(peak, b[x].offset + rounded(&b[x]));
    }
    return peak;
}

/* The most bytes alive at once: a sweep over the births, with a list of the living by ascending death on
 * link. */
static int64_t lower_bound(gcut_rt_buffer *b, int n)
{
    int32_t head = -1;
    int64_t alive = 0, most = 0;
    sort(b, BY_BIRTH, n);
    for (int i = 0; i < n; i++) {
        int32_t x = b[i].order;
        if (b[x].bytes <= 0) continue;
        for (; head >= 0 && b[head].death < b[x].birth; head = b[head].link) alive -= rounded(&b[head]);
        int32_t *at = &head;
        while (*at >= 0 && b[*at].death < b[x].death) at = &b[*at].link;
        b[x].link = *at;
        *at = x;
        alive += rounded(&b[x]);
        most = gcut_rt_max(most, alive);
    }
    return most;
}

/* The order of birth costs n times the buffers alive, and comes first; any other n^2 / 2 steps of a few ns,
 * and is tried while any of GCUT_RT_PLACE_STEPS are left.  Steps are counted, not timed: the result is the
 * same on every machine. */
int64_t gcut_rt_place(gcut_rt_buffer *b, int n)
{
    int64_t bound = lower_bound(b, n), best = INT64_MAX, got = 0, work = GCUT_RT_PLACE_STEPS;
    int winner = BY_BIRTH, last = BY_BIRTH;
    for (int by = BY_BIRTH; by < NSORTINGS; by++) {
        if (by != BY_BIRTH && (work -= (int64_t)n * n / 2) < 0) break;
        got = attempt(b, n, (sorting)by);
        last = by;
        if (got < best) {
            best = got;
            winner = by;
        }
        if (got == bound) break;
    }
    return winner == last ? got : attempt(b, n, (sorting)winner);
}

int64_t gcut_rt_slots(const gcut_rt_slot *slot, int n, const int64_t *size, gcut_rt_buffer *b)
{
    int64_t saved = 0;
    for (int i = 0; i < n; i++) {
        b[i] = (gcut_rt_buffer){.bytes = size[slot[i].size], .birth = slot[i].birth, .death = slot[i].death};
        if (slot[i].saved) saved += b[i].bytes;
    }
    return saved;
}
