/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The explanation of one decision as text.
 */
#include <math.h>
#include <string.h>

#include "base/table.h"
#include "base/units.h"
#include "report/report.h"

static void head(const gcut_explanation *e, gcut_text *out)
{
    gcut_arena *a = out->arena;
    if (strcmp(e->asked, e->name) != 0)
        gcut_text_add(out, "%%%s is a view: its storage is that of %%%s\n", e->asked, e->name);
    if (e->loop) gcut_text_add(out, "in each iteration of %%%s:\n", e->loop);
    gcut_text_add(out, "%%%s: %s", e->name, gcut_decision_word(e->decision));
    if (e->storage && strcmp(e->storage, "plain") != 0) gcut_text_add(out, " as %s", e->storage);
    if (e->copies > 1) gcut_text_add(out, ", %d times", e->copies);
    gcut_text_add(out, ", %s, %s, ", gcut_bytes_text(a, e->bytes), e->type);
    if (e->made)
        gcut_text_add(out, "made by %s at %s\n", e->op, gcut_place_text(a, e->where));
    else
        gcut_text_add(out, "%s of @%s\n", e->op, e->graph);
    if (e->fixed) gcut_text_add(out, "  %s\n", e->fixed);
    if (e->forced_by)
        gcut_text_add(out, "  forced by %s; without that constraint %s %s\n", e->forced_by,
                      isnan(e->cut_ns) ? "it would be" : "the minimum cut has it",
                      gcut_decision_word(e->unforced));
}

static void flips(const gcut_explanation *e, gcut_text *out)
{
    if (e->fixed || e->forced_by) return;
    gcut_text_add(out, "flips: the minimum cut %s at %s", e->flips_saved ? "saves it" : "does not save it",
                  e->nflips ? "0 ns/B" : "any price");
    for (size_t i = 0; i < e->nflips; i++)
        gcut_text_add(out, ", %s from %.4g on", (i % 2 == 0) == e->flips_saved ? "not" : "again",
                      e->flips[i]);
    gcut_text_add(out, "\n");
}

static void changes(const gcut_explained_other *o, gcut_text *out)
{
    for (size_t i = 0; i < o->nchanges; i++)
        gcut_text_add(out, "%s %%%s %s -> %s", i ? "," : "  with it:", o->change[i]->name,
                      gcut_decision_word(o->change[i]->from), gcut_decision_word(o->change[i]->to));
    if (o->nchanges) gcut_text_add(out, "\n");
}

static void against(const gcut_explanation *e, gcut_text *out)
{
    const gcut_explained_other *o = e->other;
    gcut_arena *a = out->arena;
    bool saved = e->decision == GCUT_PLAN_SAVED;
    double rival = saved ? e->recompute_ns : e->save_ns;
    if (e->fixed) return;
    if (e->changed)
        gcut_text_add(out,
                      "decided by: a flip that is better as lowered; in the minimum cut, of %s, it is %s\n",
                      gcut_time_text(a, e->cut_ns), gcut_decision_word(e->cut_decision));
    gcut_text_add(out, "%s the arc %s, %s, is in the cut of %s\n", e->changed ? "  so" : "decided by:",
                  saved ? "in -> out (save)" : "source -> in (recompute)", gcut_time_text(a, e->arc_ns),
                  gcut_time_text(a, e->cost_ns));
    if (e->reason && !e->forced_by) gcut_text_add(out, "  %s\n", e->reason);
    if (!isinf(rival))
        gcut_text_add(out, "  its own %s arc: %s\n", saved ? "recompute" : "save", gcut_time_text(a, rival));
    if (!o) return;
    double more = o->cost_ns - e->cost_ns, longer = o->recompute_ns - e->all_recompute_ns;
    gcut_text_add(out, "against: by prices, %s in which it is %s costs %s, %s %s\n",
                  e->minimum ? "the cheapest plan" : "this plan", gcut_decision_word(o->decision),
                  gcut_time_text(a, o->cost_ns), gcut_time_text(a, fabs(more)), more < 0 ? "less" : "more");
    gcut_text_add(out, "  saved bytes %+lld, recompute %s%s\n", (long long)(o->saved_bytes - e->saved_bytes),
                  longer < 0 ? "-" : "+", gcut_time_text(a, fabs(longer)));
    changes(o, out);
}

static void chain(const gcut_explanation *e, gcut_text *out)
{
    if (!e->nchain) return;
    gcut_text_add(out, "  to compute it again:");
    for (size_t i = 0; i < e->nchain; i++)
        gcut_text_add(out, "%s %%%s %s %s", i ? "," : "", e->chain[i]->name, e->chain[i]->op,
                      gcut_time_text(out->arena, e->chain[i]->ns));
    gcut_text_add(out, "; %s in all\n", gcut_time_text(out->arena, e->chain_ns));
}

static void readers(const gcut_explanation *e, gcut_text *out)
{
    gcut_text_add(out, e->nreaders ? "read in the backward graph by:\n"
                                   : "read in the backward graph by: nothing\n");
    for (size_t i = 0; i < e->nreaders; i++) {
        const gcut_explained_reader *x = e->reader[i];
        gcut_text_add(out, "  %%%s %s", x->name, x->op);
        if (x->rule_of)
            gcut_text_add(out, ", for the derivative of %%%s %s (%s)", x->rule_of, x->rule_op,
                          gcut_place_text(out->arena, x->rule_where));
        else if (x->recomputed)
            gcut_text_add(out, ", computed again there");
        gcut_text_add(out, "\n");
    }
}

static const char *change_text(gcut_arena *a, double ns)
{
    return gcut_printf(a, "%s%s", ns < 0 ? "-" : "+", gcut_time_text(a, fabs(ns)));
}

/* The step's time is the sum of its kernels' times. */
static void must_add_up(const gcut_explanation *e, double longer)
{
    double sum = 0;
    for (size_t i = 0; i < e->nkernels; i++) sum += e->kernel[i]->flipped_ns - e->kernel[i]->now_ns;
    GCUT_ASSERT(fabs(sum - longer) <= 1e-9 * (e->now->time_ns + e->flipped->time_ns));
}

enum { KERNELS_SHOWN = 6 };
static const double SHARE_SHOWN = 0.01; /* of the longest difference */

static void kernels(const gcut_explanation *e, gcut_text *out)
{
    gcut_arena *a = out->arena;
    gcut_table t = {.arena = a, .ncols = 3, .right = 1u};
    double shown = 0, all = e->flipped->time_ns - e->now->time_ns;
    size_t n = 0;
    for (; n < e->nkernels && n < KERNELS_SHOWN; n++) {
        const gcut_kernel_change *k = e->kernel[n], *longest = e->kernel[0];
        const double change = k->flipped_ns - k->now_ns;
        if (fabs(change) < SHARE_SHOWN * fabs(longest->flipped_ns - longest->now_ns)) break;
        gcut_table_row(&t, (const char *[]){change_text(a, change),
                                            k->now_ns == 0 ? "new"
                                            : k->flipped_ns == 0
                                                ? "gone"
                                                : gcut_printf(a, "%s -> %s", gcut_time_text(a, k->now_ns),
                                                              gcut_time_text(a, k->flipped_ns)),
                                            gcut_printf(a, "%s of %%%s %s, %s graph", k->family, k->value,
                                                        k->op, k->backward ? "backward" : "forward")});
        shown += change;
    }
    if (n < e->nkernels)
        gcut_table_row(&t, (const char *[]){change_text(a, all - shown), NULL,
                                            gcut_printf(a, "%zu other %s", e->nkernels - n,
                                                        e->nkernels - n == 1 ? "kernel" : "kernels")});
    gcut_table_print(&t, 0, t.nrows, "  ", out);
}

static void effect(const gcut_explanation *e, gcut_text *out)
{
    const gcut_explained_step *x = e->flipped;
    if (e->fixed) return;
    const char *to =
        gcut_decision_word(e->decision == GCUT_PLAN_SAVED ? GCUT_PLAN_RECOMPUTED : GCUT_PLAN_SAVED);
    if (!x) {
        gcut_text_add(out, "if %s: %s\n", to, e->refused ? e->refused : "not solved");
        return;
    }
    const double longer = x->time_ns - e->now->time_ns;
    must_add_up(e, longer);
    gcut_text_add(out, "if %s: peak %+lld bytes, to %s; time %s%s\n", to,
                  (long long)(x->peak_bytes - e->now->peak_bytes), gcut_bytes_text(out->arena, x->peak_bytes),
                  change_text(out->arena, longer), e->nkernels ? ", by kernels:" : "");
    kernels(e, out);
    if (e->budget > 0 && x->peak_bytes > e->budget)
        gcut_text_add(out, "  that is %s bytes more than the budget of %s\n",
                      gcut_count_text(out->arena, x->peak_bytes - e->budget),
                      gcut_bytes_text(out->arena, e->budget));
}

void gcut_write_explanation_text(const gcut_explanation *e, gcut_text *out)
{
    head(e, out);
    flips(e, out);
    against(e, out);
    chain(e, out);
    readers(e, out);
    effect(e, out);
}
