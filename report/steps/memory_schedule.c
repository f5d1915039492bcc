/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The schedule of a step's memory as comments of the text IR: the launches in running order, what is allocated before each,
 * "+ OFFSET BYTES CLASS NAME", and freed after it, "- OFFSET BYTES NAME".
 */
#include <stdlib.h>

#include "report/report.h"

typedef struct change {
    size_t event;
    const gcut_memory_buffer *b;
} change;

static int by_event(const void *a, const void *b)
{
    const change *x = a, *y = b;
    if (x->event != y->event) return x->event < y->event ? -1 : 1;
    return (x->b->offset > y->b->offset) - (x->b->offset < y->b->offset);
}

static const char *sign(const gcut_memory_buffer *b)
{
    return b->kind == GCUT_MEMORY_WORKSPACE ? "" : "%";
}

void gcut_write_memory_schedule(const gcut_memory_profile *m, gcut_text *out)
{
    gcut_arena *a = gcut_arena_new(gcut_arena_env(out->arena), out->arena);
    change *born = gcut_calloc(a, m->nbuffers + 1, sizeof *born),
           *dead = gcut_calloc(a, m->nbuffers + 1, sizeof *dead);
    size_t n = 0, i = 0, k = 0;
    for (size_t b = 0; b < m->nbuffers; b++) {
        if (m->buffer[b]->offset < 0 || !m->buffer[b]->bytes) continue;
        born[n] = (change){m->buffer[b]->first, m->buffer[b]};
        dead[n++] = (change){m->buffer[b]->last, m->buffer[b]};
    }
    if (n) qsort(born, n, sizeof *born, by_event);
    if (n) qsort(dead, n, sizeof *dead, by_event);
    gcut_text_add(out, "// memory of @%s", m->graph);
    gcut_write_sizes(m->at, m->nat, " at ", out);
    gcut_text_add(out, ", %d thread%s: peak %lld, bound %lld, arena %lld\n", m->threads,
                  m->threads == 1 ? "" : "s", (long long)m->peak_bytes,
                  (long long)(m->peak_bytes - m->arena_bytes), (long long)m->arena_bytes);
    for (size_t e = 0; e < m->nevents; e++) {
        const gcut_memory_event *x = m->event[e];
        for (; i < n && born[i].event == e; i++)
            gcut_text_add(out, "//   + %lld %lld %s %s%s\n", (long long)born[i].b->offset,
                          (long long)born[i].b->bytes, gcut_memory_word(born[i].b->kind), sign(born[i].b),
                          born[i].b->name);
        gcut_text_add(out, "// k%d %%%s %s\n", x->launch, x->value, x->op);
        for (; k < n && dead[k].event == e; k++)
            gcut_text_add(out, "//   - %lld %lld %s%s\n", (long long)dead[k].b->offset,
                          (long long)dead[k].b->bytes, sign(dead[k].b), dead[k].b->name);
    }
    gcut_arena_free(a);
}
