/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One decision in words and as JSON.
 */
#include "partition/why.h"

#include <math.h>
#include <string.h>

#include "base/json.h"

static const char *name_of(const gcut_why *w, gcut_ref v)
{
    return w->r.g->values.at[v].name;
}

static const gcut_decision *mine(const gcut_why *w)
{
    return &w->r.plan->value[w->v];
}

/* In the form in which it is saved, if it is. */
static int64_t stored_bytes(const gcut_why *w)
{
    const gcut_decision *d = mine(w);
    return gcut_saved_bytes(w->r.p, w->v, d->fate == GCUT_F_SAVED ? d->form : GCUT_FORM_PLAIN);
}

static double step_time(const gcut_plan *p)
{
    if (!isnan(p->step_ns)) return p->step_ns;
    return p->cost_ns - p->options.lambda * (double)p->saved_bytes;
}

/* Values of the forward half whose fate differs, but for v itself. */
static gcut_refs changed(const gcut_why *w)
{
    gcut_refs out = {0};
    for (gcut_ref v = 1; w->other && v < w->r.g->values.n; v++)
        if (v != w->v && w->now->fate[v] != w->other->fate[v] && !gcut_value_is(w->r.g, v, GCUT_CLASS_VIEW))
            *GCUT_PUSH(w->r.arena, &out) = v;
    return out;
}

/* ---- text ---- */

static void head(const gcut_why *w, gcut_text *out)
{
    const gcut_decision *d = mine(w);
    if (w->asked != w->v)
        gcut_text_add(out, "%%%s is a view: its storage is that of %%%s\n", name_of(w, w->asked),
                      name_of(w, w->v));
    if (w->loop) gcut_text_add(out, "in each step of %%%s:\n", w->loop);
    gcut_text_add(out, "%%%s: %s", name_of(w, w->v), gcut_fate_name(d->fate));
    if (d->fate == GCUT_F_SAVED && d->form != GCUT_FORM_PLAIN)
        gcut_text_add(out, " as %s", gcut_form_name(d->form));
    if (d->fate == GCUT_F_RECOMPUTED && d->copies > 1) gcut_text_add(out, ", %u times", d->copies);
    gcut_text_add(out, ", %s, %s, ", gcut_report_size(w->r.arena, stored_bytes(w)),
                  gcut_report_type(&w->r, w->v));
    if (gcut_def(w->r.g, w->v))
        gcut_text_add(out, "made by %s at %s\n", gcut_maker_name(w->r.g, w->v),
                      gcut_report_at_text(&w->r, w->v));
    else
        gcut_text_add(out, "%s of @%s\n", gcut_maker_name(w->r.g, w->v), w->r.g->name);
    if (w->fixed) gcut_text_add(out, "  %s\n", w->fixed);
    if (w->wish)
        gcut_text_add(out, "  forced by %s; without that wish it would be %s\n", w->wish,
                      gcut_fate_name(w->unforced));
}

static void flips(const gcut_why *w, gcut_text *out)
{
    const gcut_flips *f = &w->r.flips[w->v];
    if (w->fixed || w->wish) return;
    gcut_text_add(out, "flips: the minimum cut %s at %s", f->saved ? "saves it" : "does not save it",
                  f->n ? "0 ns/B" : "any price");
    for (uint32_t i = 0; i < f->n; i++)
        gcut_text_add(out, ", %s from %.4g on", (i % 2 == 0) == f->saved ? "not" : "again", f->at[i]);
    gcut_text_add(out, "\n");
}

static void steps(const gcut_why *w, gcut_text *out)
{
    if (!w->chain.n) return;
    gcut_text_add(out, "  to compute it again:");
    for (uint32_t i = 0; i < w->chain.n; i++) {
        double ns = w->r.p->price[w->chain.at[i]].recompute_ns;
        gcut_text_add(out, "%s %%%s %s %s", i ? "," : "", name_of(w, w->chain.at[i]),
                      gcut_maker_name(w->r.g, w->chain.at[i]), gcut_report_time(w->r.arena, ns));
    }
    gcut_text_add(out, "; %s in all\n", gcut_report_time(w->r.arena, w->chain_ns));
}

static void changes(const gcut_why *w, gcut_text *out)
{
    gcut_refs c = changed(w);
    for (uint32_t i = 0; i < c.n; i++)
        gcut_text_add(out, "%s %%%s %s -> %s", i ? "," : "  with it:", name_of(w, c.at[i]),
                      gcut_fate_name(w->now->fate[c.at[i]]), gcut_fate_name(w->other->fate[c.at[i]]));
    if (c.n) gcut_text_add(out, "\n");
}

static void against(const gcut_why *w, gcut_text *out)
{
    const gcut_decision *d = mine(w);
    gcut_arena *a = w->r.arena;
    bool saved = d->fate == GCUT_F_SAVED;
    if (w->fixed) return;
    double price = saved ? d->save_ns : d->recompute_ns, rival = saved ? d->recompute_ns : d->save_ns;
    if (isinf(price)) price = saved ? w->r.p->price[w->v].trip_ns : w->r.p->price[w->v].recompute_ns;
    gcut_text_add(out, "decided by: the arc %s, %s, is in the cut of %s\n",
                  saved ? "in -> out (save)" : "source -> in (recompute)", gcut_report_time(a, price),
                  gcut_report_time(a, w->now->cost_ns));
    if (d->reason && !w->wish) gcut_text_add(out, "  %s\n", d->reason);
    if (!isinf(rival))
        gcut_text_add(out, "  its own %s arc: %s\n", saved ? "recompute" : "save",
                      gcut_report_time(a, rival));
    if (!w->other) return;
    double more = w->other->cost_ns - w->now->cost_ns;
    gcut_text_add(out, "against: %s in which it is %s costs %s, %s %s\n",
                  gcut_why_is_minimum(w->r.plan) ? "the cheapest plan" : "this plan",
                  gcut_fate_name(gcut_why_flip(w)), gcut_report_time(a, w->other->cost_ns),
                  gcut_report_time(a, fabs(more)), more < 0 ? "less" : "more");
    gcut_text_add(out, "  saved bytes %+lld, recompute %s%s\n",
                  (long long)(w->other->saved_bytes - w->now->saved_bytes),
                  w->other->recompute_ns < w->now->recompute_ns ? "-" : "+",
                  gcut_report_time(a, fabs(w->other->recompute_ns - w->now->recompute_ns)));
    changes(w, out);
}

static void readers(const gcut_why *w, gcut_text *out)
{
    gcut_text_add(out, w->readers.n ? "read in the backward half by:\n"
                                    : "read in the backward half by: nothing\n");
    for (uint32_t i = 0; i < w->readers.n; i++) {
        const gcut_why_reader *x = &w->readers.at[i];
        gcut_text_add(out, "  %%%s %s", name_of(w, x->value), gcut_maker_name(w->r.g, x->value));
        if (x->rule_of)
            gcut_text_add(out, ", for the derivative of %%%s %s (%s)", name_of(w, x->rule_of),
                          gcut_maker_name(w->r.g, x->rule_of), gcut_report_at_text(&w->r, x->rule_of));
        else if (x->again)
            gcut_text_add(out, ", computed again there");
        gcut_text_add(out, "\n");
    }
}

static void effect(const gcut_why *w, const gcut_plan *plan, const gcut_plan *flipped, const char *refused,
                   gcut_text *out)
{
    gcut_arena *a = w->r.arena;
    if (w->fixed) return;
    const char *to = gcut_fate_name(gcut_why_flip(w));
    if (!flipped) {
        gcut_text_add(out, "if %s: %s\n", to, refused ? refused : "not solved");
        return;
    }
    double dt = step_time(flipped) - step_time(plan);
    gcut_text_add(out, "if %s: peak %+lld bytes, to %s; time %s%s\n", to,
                  (long long)(flipped->peak_bytes - plan->peak_bytes),
                  gcut_report_size(a, flipped->peak_bytes), dt < 0 ? "-" : "+",
                  gcut_report_time(a, fabs(dt)));
}

void gcut_why_text(const gcut_why *w, const gcut_plan *plan, const gcut_plan *flipped, const char *refused,
                   gcut_text *out)
{
    head(w, out);
    flips(w, out);
    against(w, out);
    steps(w, out);
    readers(w, out);
    effect(w, plan, flipped, refused, out);
}

/* ---- JSON ---- */

static void json_readers(const gcut_why *w, gcut_json *j)
{
    gcut_json_key(j, "readers");
    gcut_json_array(j);
    for (uint32_t i = 0; i < w->readers.n; i++) {
        const gcut_why_reader *x = &w->readers.at[i];
        gcut_json_object(j);
        gcut_json_key_str(j, "value", name_of(w, x->value));
        gcut_json_key_str(j, "op", gcut_maker_name(w->r.g, x->value));
        gcut_json_key_bool(j, "recomputed", x->again);
        gcut_json_key_str(j, "rule_of", x->rule_of ? name_of(w, x->rule_of) : NULL);
        gcut_json_end(j);
    }
    gcut_json_end(j);
}

static void json_other(const gcut_why *w, gcut_json *j)
{
    gcut_json_key(j, "other");
    if (!w->other) {
        gcut_json_null(j);
        return;
    }
    gcut_json_object(j);
    gcut_json_key_str(j, "state", gcut_fate_name(gcut_why_flip(w)));
    gcut_json_key_real(j, "cost_ns", w->other->cost_ns);
    gcut_json_key_int(j, "saved_bytes", w->other->saved_bytes);
    gcut_json_key_real(j, "recompute_ns", w->other->recompute_ns);
    gcut_json_key(j, "changes");
    gcut_json_array(j);
    gcut_refs c = changed(w);
    for (uint32_t i = 0; i < c.n; i++) {
        gcut_json_object(j);
        gcut_json_key_str(j, "value", name_of(w, c.at[i]));
        gcut_json_key_str(j, "from", gcut_fate_name(w->now->fate[c.at[i]]));
        gcut_json_key_str(j, "to", gcut_fate_name(w->other->fate[c.at[i]]));
        gcut_json_end(j);
    }
    gcut_json_end(j);
    gcut_json_end(j);
}

static void json_effect(const gcut_plan *plan, const gcut_plan *flipped, const char *refused, gcut_json *j)
{
    gcut_json_key(j, "flipped");
    if (!flipped) {
        gcut_json_str(j, refused);
        return;
    }
    gcut_json_object(j);
    gcut_json_key_int(j, "peak_bytes", flipped->peak_bytes);
    gcut_json_key_int(j, "peak_change", flipped->peak_bytes - plan->peak_bytes);
    gcut_json_key_int(j, "saved_bytes", flipped->saved_bytes);
    gcut_json_key_real(j, "time_change_ns", step_time(flipped) - step_time(plan));
    gcut_json_end(j);
}

static void json_chain(const gcut_why *w, gcut_json *j)
{
    gcut_json_key(j, "chain");
    gcut_json_array(j);
    for (uint32_t i = 0; i < w->chain.n; i++) {
        gcut_json_object(j);
        gcut_json_key_str(j, "value", name_of(w, w->chain.at[i]));
        gcut_json_key_str(j, "op", gcut_maker_name(w->r.g, w->chain.at[i]));
        gcut_json_key_real(j, "ns", w->r.p->price[w->chain.at[i]].recompute_ns);
        gcut_json_end(j);
    }
    gcut_json_end(j);
}

static void json_decision(const gcut_why *w, gcut_json *j)
{
    const gcut_decision *d = mine(w);
    const gcut_flips *f = &w->r.flips[w->v];
    gcut_json_key_str(j, "value", name_of(w, w->asked));
    gcut_json_key_str(j, "base", name_of(w, w->v));
    gcut_json_key_str(j, "loop", w->loop);
    gcut_json_key_str(j, "state", gcut_fate_name(d->fate));
    gcut_json_key_str(j, "fixed", w->fixed);
    gcut_json_key_str(j, "reason", d->reason);
    gcut_json_key_str(j, "form", d->fate == GCUT_F_SAVED ? gcut_form_name(d->form) : NULL);
    gcut_json_key_int(j, "bytes", stored_bytes(w));
    gcut_json_key_str(j, "type", gcut_report_type(&w->r, w->v));
    gcut_json_key_str(j, "op", gcut_maker_name(w->r.g, w->v));
    gcut_json_key_str(j, "loc", gcut_report_at(&w->r, w->v));
    gcut_json_key_str(j, "forced", w->wish);
    gcut_json_key_str(j, "unforced", w->wish ? gcut_fate_name(w->unforced) : NULL);
    gcut_json_key_real(j, "save_ns", d->save_ns);
    gcut_json_key_real(j, "recompute_ns", d->recompute_ns);
    gcut_json_key(j, "flips_ns_per_byte");
    gcut_json_array(j);
    for (uint32_t i = 0; i < f->n; i++) gcut_json_real(j, f->at[i]);
    gcut_json_end(j);
    gcut_json_key_real(j, "cost_ns", w->now->cost_ns);
}

void gcut_why_json(const gcut_why *w, const gcut_plan *plan, const gcut_plan *flipped, const char *refused,
                   gcut_text *out)
{
    gcut_json j = {.out = out};
    gcut_json_object(&j);
    json_decision(w, &j);
    json_other(w, &j);
    json_chain(w, &j);
    json_readers(w, &j);
    json_effect(plan, flipped, refused, &j);
    gcut_json_end(&j);
    gcut_text_add(out, "\n");
}
