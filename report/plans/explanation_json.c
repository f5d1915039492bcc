/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One decision as JSON; the keys are stable.
 */
#include "report/report.h"

static void json_decision(const gcut_explanation *e, gcut_json *j)
{
    gcut_json_members(j, "value:s base:s loop:s state:s fixed:s reason:s", e->asked, e->name, e->loop,
                      gcut_decision_word(e->decision), e->fixed, e->reason);
    gcut_json_members(j, "form:s bytes:i type:s op:s loc:s", e->storage, e->bytes, e->type, e->op, e->where);
    gcut_json_members(j, "forced:s unforced:s save_ns:r recompute_ns:r", e->forced_by,
                      e->forced_by ? gcut_decision_word(e->unforced) : NULL, e->save_ns, e->recompute_ns);
    gcut_json_key_array(j, "flips_ns_per_byte");
    for (size_t i = 0; i < e->nflips; i++) gcut_json_real(j, e->flips[i]);
    gcut_json_end(j);
    gcut_json_members(j, "cost_ns:r cut_ns:r cut_state:s", e->cost_ns, e->cut_ns,
                      e->changed ? gcut_decision_word(e->cut_decision) : NULL);
}

static void json_other(const gcut_explained_other *o, gcut_json *j)
{
    gcut_json_key(j, "other");
    if (!o) {
        gcut_json_null(j);
        return;
    }
    gcut_json_object(j);
    gcut_json_members(j, "state:s cost_ns:r saved_bytes:i recompute_ns:r", gcut_decision_word(o->decision),
                      o->cost_ns, o->saved_bytes, o->recompute_ns);
    gcut_json_key_array(j, "changes");
    for (size_t i = 0; i < o->nchanges; i++) {
        gcut_json_object(j);
        gcut_json_members(j, "value:s from:s to:s", o->change[i]->name,
                          gcut_decision_word(o->change[i]->from), gcut_decision_word(o->change[i]->to));
        gcut_json_end(j);
    }
    gcut_json_end(j);
    gcut_json_end(j);
}

static void json_chain(const gcut_explanation *e, gcut_json *j)
{
    gcut_json_key_array(j, "chain");
    for (size_t i = 0; i < e->nchain; i++) {
        gcut_json_object(j);
        gcut_json_members(j, "value:s op:s ns:r", e->chain[i]->name, e->chain[i]->op, e->chain[i]->ns);
        gcut_json_end(j);
    }
    gcut_json_end(j);
}

static void json_readers(const gcut_explanation *e, gcut_json *j)
{
    gcut_json_key_array(j, "readers");
    for (size_t i = 0; i < e->nreaders; i++) {
        const gcut_explained_reader *x = e->reader[i];
        gcut_json_object(j);
        gcut_json_members(j, "value:s op:s recomputed:b rule_of:s", x->name, x->op, x->recomputed,
                          x->rule_of);
        gcut_json_end(j);
    }
    gcut_json_end(j);
}

static void json_effect(const gcut_explanation *e, gcut_json *j)
{
    const gcut_explained_step *x = e->flipped;
    gcut_json_key(j, "flipped");
    if (!x) {
        gcut_json_str(j, e->refused);
        return;
    }
    gcut_json_object(j);
    gcut_json_members(j, "peak_bytes:i peak_change:i saved_bytes:i time_change_ns:r price_change_ns:r",
                      x->peak_bytes, x->peak_bytes - e->now->peak_bytes, x->saved_bytes,
                      x->time_ns - e->now->time_ns, e->flip_price_ns);
    gcut_json_key_array(j, "kernels");
    for (size_t i = 0; i < e->nkernels; i++) {
        const gcut_kernel_change *k = e->kernel[i];
        gcut_json_object(j);
        gcut_json_members(j, "graph:s family:s value:s op:s now_ns:r flipped_ns:r",
                          k->backward ? "backward" : "forward", k->family, k->value, k->op, k->now_ns,
                          k->flipped_ns);
        gcut_json_end(j);
    }
    gcut_json_end(j);
    gcut_json_end(j);
}

void gcut_write_explanation_json(const gcut_explanation *e, gcut_text *out)
{
    gcut_json j = {.out = out};
    gcut_json_object(&j);
    json_decision(e, &j);
    json_other(e->other, &j);
    json_chain(e, &j);
    json_readers(e, &j);
    json_effect(e, &j);
    gcut_json_end(&j);
    gcut_text_add(out, "\n");
}
