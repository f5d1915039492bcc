/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Memory over a training step as JSON.
 */
#include "report/report.h"

static void write_live(gcut_json *j, const int64_t *live)
{
    gcut_json_key_object(j, "live");
    for (int k = 0; k < GCUT_MEMORY_CLASSES; k++)
        gcut_json_key_int(j, gcut_memory_word((gcut_memory_class)k), live[k]);
    gcut_json_end(j);
}

static void write_profile(gcut_json *j, const gcut_memory_profile *m)
{
    gcut_json_members(j, "graph:s policy:s", m->graph, m->policy);
    gcut_json_key_object(j, "at");
    for (size_t i = 0; i < m->nat; i++) gcut_json_key_int(j, m->at[i].name, m->at[i].value);
    gcut_json_end(j);
    gcut_json_members(j, "threads:i step_ns:r peak_bytes:i arena_bytes:i gap_bytes:i", (int64_t)m->threads,
                      m->step_ns, m->peak_bytes, m->arena_bytes, m->gap_bytes);
    if (m->nevents)
        gcut_json_key_int(j, "peak", (int64_t)m->peak);
    else
        gcut_json_key(j, "peak"), gcut_json_null(j);
    gcut_json_key_array(j, "events");
    for (size_t i = 0; i < m->nevents; i++) {
        const gcut_memory_event *e = m->event[i];
        gcut_json_object(j);
        gcut_json_members(j, "kernel:i half:s value:s op:s loc:s start_ns:r ns:r bytes:i", (int64_t)e->launch,
                          e->backward ? "backward" : "forward", e->value, e->op, e->where, e->start_ns, e->ns,
                          e->bytes);
        write_live(j, e->live);
        gcut_json_end(j);
    }
    gcut_json_end(j);
    gcut_json_key_array(j, "buffers");
    for (size_t i = 0; i < m->nbuffers; i++) {
        const gcut_memory_buffer *b = m->buffer[i];
        gcut_json_object(j);
        gcut_json_members(
            j,
            "value:s type:s class:s bytes:i offset:k first:i last:i at_peak:b op:s loc:s made_by:s "
            "last_read_by:s",
            b->name, b->type, gcut_memory_word(b->kind), b->bytes, b->offset, (int64_t)b->first,
            (int64_t)b->last, b->at_peak, b->op, b->where, b->made_by, b->last_read_by);
        gcut_json_end(j);
    }
    gcut_json_end(j);
}

void gcut_write_memory_json(const gcut_memory_profile *m, gcut_text *out)
{
    gcut_json j = {.out = out};
    gcut_json_object(&j);
    write_profile(&j, m);
    gcut_json_key(&j, "against");
    if (m->against) {
        gcut_json_object(&j);
        write_profile(&j, m->against);
        gcut_json_end(&j);
    } else {
        gcut_json_null(&j);
    }
    gcut_json_end(&j);
    gcut_text_add(out, "\n");
}
