/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One decision as JSON; the keys are stable.
 */
#include "report/report.h"

static void json_decision(const gcut_explanation *e, gcut_json *j)
{
    gcut_json_key_str(j, "value", e->asked);
    gcut_json_key_str(j, "base", e->name);
    gcut_json_key_str(j, "loop", e->loop);
    gcut_json_key_str(j, "state", gcut_decision_word(e->decision));
    gcut_json_key_str(j, "fixed", e->fixed);
    gcut_json_key_str(j, "reason", e->reason);
    gcut_json_key_str(j, "form", e->storage);
    gcut_json_key_int(j, "bytes", e->bytes);
    gcut_json_key_str(j, "type", e->type);
    gcut_json_key_str(j, "op", e->op);
    gcut_json_key_str(j, "loc", e->where);
    gcut_json_key_str(j, "forced", e->forced_by);
    gcut_json_key_str(j, "unforced", e->forced_by ? gcut_decision_word(e->unforced) : NULL);
    gcut_json_key_real(j, "save_ns", e->save_ns);
    gcut_json_key_real(j, "recompute_ns", e->recompute_ns);
    gcut_json_key_array(j, "flips_ns_per_byte");
    for (size_t i = 0; i < e->nflips; i++) gcut_json_real(j, e->flips[i]);
    gcut_json_end(j);
    gcut_json_key_real(j, "cost_ns", e->cost_ns);
}

static void json_other(const gcut_explained_other *o, gcut_json *j)
{
    gcut_json_key(j, "other");
    if (!o) {
        gcut_json_null(j);
        return;
    }
    gcut_json_object(j);
    gcut_json_key_str(j, "state", gcut_decision_word(o->decision));
    gcut_json_key_real(j, "cost_ns", o->cost_ns);
    gcut_json_key_int(j, "saved_bytes", o->saved_bytes);
    gcut_json_key_real(j, "recompute_ns", o->recompute_ns);
    gcut_json_key_array(j, "changes");
    for (size_t i = 0; i < o->nchanges; i++) {
        gcut_json_object(j);
        gcut_json_key_str(j, "value", o->change[i]->name);
        gcut_json_key_str(j, "from", gcut_decision_word(o->change[i]->from));
        gcut_json_key_str(j, "to", gcut_decision_word(o->change[i]->to));
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
        gcut_json_key_str(j, "value", e->chain[i]->name);
        gcut_json_key_str(j, "op", e->chain[i]->op);
        gcut_json_key_real(j, "ns", e->chain[i]->ns);
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
        gcut_json_key_str(j, "value", x->name);
        gcut_json_key_str(j, "op", x->op);
        gcut_json_key_bool(j, "recomputed", x->recomputed);
        gcut_json_key_str(j, "rule_of", x->rule_of);
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
    gcut_json_key_int(j, "peak_bytes", x->peak_bytes);
    gcut_json_key_int(j, "peak_change", x->peak_bytes - e->now->peak_bytes);
    gcut_json_key_int(j, "saved_bytes", x->saved_bytes);
    gcut_json_key_real(j, "time_change_ns", x->time_ns - e->now->time_ns);
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
