/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The difference of two plan files, as text and as JSON.
 */
#include <math.h>
#include <string.h>

#include "base/table.h"
#include "base/units.h"
#include "report/fold.h"
#include "report/report.h"

static int64_t line_bytes(const gcut_replay_line *l)
{
    return l && l->decision == GCUT_PLAN_SAVED ? l->bytes : 0;
}

/* ---- text ---- */

enum { COL_VALUE, COL_EACH, COL_OP, COL_A, COL_B, COL_BYTES_A, COL_BYTES_B, COL_NS_A, COL_NS_B, NCOLS };
static const char *const titles[NCOLS] = {"value",   "",        "op",     "A",     "B",
                                          "bytes A", "bytes B", "time A", "time B"};

static const char *decision_text(gcut_arena *a, const gcut_replay_line *l)
{
    if (!l) return "-";
    const char *word = gcut_decision_word(l->decision);
    if (l->storage && strcmp(l->storage, "plain") != 0) return gcut_printf(a, "%s as %s", word, l->storage);
    return l->nbefore ? gcut_printf(a, "%s %zu times", word, l->nbefore + 1) : word;
}

static const char *op_text(gcut_arena *a, const gcut_plan_difference *d)
{
    if (d->a && d->b && strcmp(d->a->op, d->b->op) != 0)
        return gcut_printf(a, "%s against %s", d->a->op, d->b->op);
    return (d->a ? d->a : d->b)->op;
}

/* The sum over a group: of a side that has no line, "-". */
static const char *side_ns(gcut_arena *a, const gcut_plan_diff *d, const gcut_row_group *g, bool second)
{
    double ns = 0;
    for (uint32_t i = 0; i < g->n; i++) {
        const gcut_plan_difference *x = d->difference[g->row[i]];
        const gcut_replay_line *l = second ? x->b : x->a;
        if (!l) return "-";
        ns += l->ns;
    }
    return gcut_time_text(a, ns);
}

static int64_t side_bytes(const gcut_plan_diff *d, const gcut_row_group *g, bool second)
{
    int64_t bytes = 0;
    for (uint32_t i = 0; i < g->n; i++) {
        const gcut_plan_difference *x = d->difference[g->row[i]];
        bytes += line_bytes(second ? x->b : x->a);
    }
    return bytes;
}

static void fill_row(gcut_arena *a, const gcut_plan_diff *d, const gcut_row_group *g, const char **cell)
{
    const gcut_plan_difference *x = d->difference[*g->row];
    cell[COL_VALUE] = x->loop ? gcut_printf(a, "%%%s in an iteration of %%%s", g->name, x->loop)
                              : gcut_printf(a, "%%%s", g->name);
    cell[COL_EACH] = g->n > 1 ? gcut_printf(a, "%u times", g->n) : NULL;
    cell[COL_OP] = op_text(a, x);
    cell[COL_A] = decision_text(a, x->a);
    cell[COL_B] = decision_text(a, x->b);
    cell[COL_BYTES_A] = gcut_count_text(a, side_bytes(d, g, false));
    cell[COL_BYTES_B] = gcut_count_text(a, side_bytes(d, g, true));
    cell[COL_NS_A] = side_ns(a, d, g, false);
    cell[COL_NS_B] = side_ns(a, d, g, true);
}

static void print_table(const gcut_plan_diff *d, const gcut_table_options *o, gcut_text *out)
{
    static const uint8_t last[] = {COL_NS_B, COL_NS_A, COL_OP};
    gcut_arena *a = out->arena;
    gcut_table t = {.arena = a,
                    .ncols = NCOLS,
                    .right = 1u << COL_BYTES_A | 1u << COL_BYTES_B | 1u << COL_NS_A | 1u << COL_NS_B,
                    .columns = o->columns,
                    .bold = o->bold,
                    .cut = 1u << COL_VALUE | 1u << COL_OP,
                    .last = last,
                    .nlast = sizeof last};
    gcut_row *row = gcut_calloc(a, d->n + 1, sizeof *row);
    for (size_t i = 0; i < d->n; i++) {
        const gcut_plan_difference *x = d->difference[i];
        row[i] = (gcut_row){(x->a ? x->a : x->b)->name,
                            gcut_printf(a, "%s %s %s %s", op_text(a, x), decision_text(a, x->a),
                                        decision_text(a, x->b), x->loop ? x->loop : ""),
                            line_bytes(x->a) + line_bytes(x->b)};
    }
    const gcut_folded f = gcut_fold(a, row, (uint32_t)d->n, o, false);
    gcut_table_row(&t, titles);
    for (uint32_t i = 0; i < f.n; i++) {
        const char *cell[NCOLS];
        fill_row(a, d, &f.at[i], cell);
        gcut_table_row(&t, cell);
    }
    t.left = gcut_left_text(a, &f, "value");
    gcut_table_print_all(&t, out);
}

static const char *objective_text(gcut_arena *a, const gcut_plan_side *s)
{
    if (s->budget >= 0) return gcut_printf(a, "budget %s", gcut_bytes_text(a, s->budget));
    if (s->saved_budget >= 0) return gcut_printf(a, "at most %s saved", gcut_bytes_text(a, s->saved_budget));
    return gcut_printf(a, "lambda %g ns/B", s->lambda);
}

static void print_head(const char *which, const gcut_plan_side *s, gcut_text *out)
{
    gcut_text_add(out, "%s: %s, %s, %s", which, s->file, s->policy, objective_text(out->arena, s));
    gcut_write_sizes(s->at, s->nat, ", at ", out);
    gcut_text_add(out, "\n");
}

static void print_bytes(const char *what, int64_t a, int64_t b, gcut_text *out)
{
    if (a < 0 || b < 0) return;
    gcut_text_add(out, "%s: %s, %s (%s%s)\n", what, gcut_count_text(out->arena, a),
                  gcut_count_text(out->arena, b), b < a ? "-" : "+",
                  gcut_count_text(out->arena, b < a ? a - b : b - a));
}

static void print_time(const char *what, double a, double b, gcut_text *out)
{
    if (isnan(a) || isnan(b)) return;
    gcut_text_add(out, "%s: %s, %s (%s%s)\n", what, gcut_time_text(out->arena, a),
                  gcut_time_text(out->arena, b), b < a ? "-" : "+", gcut_time_text(out->arena, fabs(b - a)));
}

/* unpriced: without the price of saved bytes, which a plan under a budget does not have. */
static double cost_of(const gcut_plan_side *s, bool unpriced)
{
    return s->cost_ns - (unpriced ? s->lambda * (double)s->saved_bytes : 0);
}

void gcut_write_diff_text(const gcut_plan_diff *d, const gcut_table_options *o, gcut_text *out)
{
    print_head("A", d->a, out);
    print_head("B", d->b, out);
    const char *a = d->a->machine_hash, *b = d->b->machine_hash;
    if (a && b && strcmp(a, b) != 0)
        gcut_text_add(out, "times of A are of the machine model %s (%s), those of B of %s (%s)\n",
                      d->a->machine, a, d->b->machine, b);
    if (!d->same_graph) gcut_text_add(out, "they are plans of different graphs\n");
    if (d->n == 0)
        gcut_text_add(out, "every value has the same decision\n");
    else
        gcut_text_add(out, "%zu value%s differ%s:\n", d->n, d->n == 1 ? "" : "s", d->n == 1 ? "s" : "");
    if (d->n) print_table(d, o, out);
    if (d->a->nless_workspace || d->b->nless_workspace)
        gcut_text_add(out, "less workspace: %zu, %zu convolutions%s\n", d->a->nless_workspace,
                      d->b->nless_workspace, d->n == 0 && !d->equal && d->same_graph ? ", not the same" : "");
    print_bytes("saved bytes", d->a->saved_bytes, d->b->saved_bytes, out);
    print_bytes("peak bytes", d->a->peak_bytes, d->b->peak_bytes, out);
    print_time("recompute", d->a->recompute_ns, d->b->recompute_ns, out);
    const bool unpriced = d->a->lambda != d->b->lambda;
    print_time(unpriced ? "cost without the price of saved bytes" : "cost", cost_of(d->a, unpriced),
               cost_of(d->b, unpriced), out);
    print_time("step", d->a->step_ns, d->b->step_ns, out);
}

/* ---- JSON ---- */

static void json_line(gcut_json *j, const char *key, const gcut_replay_line *l)
{
    gcut_json_key(j, key);
    if (!l) {
        gcut_json_null(j);
        return;
    }
    gcut_json_object(j);
    gcut_json_members(j, "fate:s form:s bytes:i ns:r copies:i", gcut_decision_word(l->decision), l->storage,
                      line_bytes(l), l->ns, l->decision == GCUT_PLAN_SAVED ? 0 : (int64_t)l->nbefore + 1);
    gcut_json_end(j);
}

static void json_side(gcut_json *j, const char *key, const gcut_plan_side *s)
{
    gcut_json_key_object(j, key);
    gcut_json_members(j,
                      "file:s policy:s lambda:r budget:k saved_budget:k saved_bytes:i peak_bytes:k "
                      "recompute_ns:r cost_ns:r "
                      "step_ns:r machine:s machine_hash:s",
                      s->file, s->policy, s->lambda, s->budget, s->saved_budget, s->saved_bytes,
                      s->peak_bytes, s->recompute_ns, s->cost_ns, s->step_ns, s->machine, s->machine_hash);
    if (s->nless_workspace) gcut_json_names(j, "less_workspace", s->less_workspace, s->nless_workspace);
    gcut_json_end(j);
}

void gcut_write_diff_json(const gcut_plan_diff *d, gcut_text *out)
{
    gcut_json j = {.out = out};
    gcut_json_object(&j);
    gcut_json_members(&j, "equal:b same_graph:b", d->equal, d->same_graph);
    json_side(&j, "a", d->a);
    json_side(&j, "b", d->b);
    gcut_json_key_array(&j, "values");
    for (size_t i = 0; i < d->n; i++) {
        const gcut_plan_difference *x = d->difference[i];
        gcut_json_object(&j);
        gcut_json_members(&j, "value:s op:s loop:s", (x->a ? x->a : x->b)->name, (x->a ? x->a : x->b)->op,
                          x->loop);
        json_line(&j, "a", x->a);
        json_line(&j, "b", x->b);
        gcut_json_end(&j);
    }
    gcut_json_end(&j);
    gcut_json_end(&j);
    gcut_text_add(out, "\n");
}
