/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The table of values that the backward graph computes again.
 */
#include "base/units.h"
#include "report/fold.h"
#include "report/report.h"
#include "report/tables.h"

gcut_table gcut_recomputed_table(const gcut_plan_info *p, const gcut_table_options *o, gcut_arena *a)
{
    enum { NS, TIMES, VALUE, TYPE, OP, FOR, AT, NCOLS };
    static const char *const titles[NCOLS] = {"time", "times", "value", "type", "made by", "read by", "at"};
    gcut_table t = {
        .arena = a, .ncols = NCOLS, .right = 1u << NS | 1u << TIMES, .columns = o->columns, .bold = o->bold};
    gcut_row *row = gcut_calloc(a, p->n + 1, sizeof *row);
    const gcut_plan_value **value = gcut_calloc(a, p->n + 1, sizeof(*value));
    const char **at = gcut_calloc(a, p->n + 1, sizeof(*at));
    uint32_t n = 0;
    for (size_t i = 0; i < p->n; i++) {
        const gcut_plan_value *v = p->value[i];
        if (v->decision != GCUT_PLAN_RECOMPUTED) continue;
        value[n] = v;
        at[n] = gcut_place_text(a, v->where);
        row[n++] =
            (gcut_row){v->name, gcut_printf(a, "%s %s %s", v->type, v->op, gcut_readers_text(a, v, true)),
                       (int64_t)(v->recompute_ns * v->copies)};
    }
    const gcut_folded f = gcut_fold(a, row, n, o, true);
    gcut_table_row(&t, titles);
    for (uint32_t i = 0; i < f.n; i++) {
        const gcut_row_group *g = &f.at[i];
        const gcut_plan_value *v = value[*g->row];
        double ns = 0;
        int copies = 0;
        for (uint32_t k = 0; k < g->n; k++) {
            ns += value[g->row[k]]->recompute_ns * value[g->row[k]]->copies;
            copies += value[g->row[k]]->copies;
        }
        gcut_table_row(
            &t, (const char *[NCOLS]) {
                [NS] = gcut_time_text(a, ns), [TIMES] = gcut_printf(a, "%d", copies),
                [VALUE] = gcut_printf(a, "%%%s", g->name), [TYPE] = v->type, [OP] = v->op,
                [FOR] = gcut_readers_text(a, v, g->n > 1), [AT] = gcut_group_text(a, g, at),
            });
    }
    if (f.left)
        t.left = gcut_printf(a, "%u value%s, %s", f.left, f.left == 1 ? "" : "s",
                             gcut_time_text(a, (double)f.left_amount));
    return t;
}
