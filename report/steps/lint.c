/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Findings of lint as text and as JSON.
 */
#include <string.h>

#include "base/units.h"
#include "report/fold.h"
#include "report/report.h"
#include "report/tables.h"

gcut_table gcut_lint_table(const gcut_lint_report *r, size_t from, size_t to, const gcut_table_options *o,
                           gcut_arena *a)
{
    enum { VALUE, BYTES, EACH, SAYS, AT, NCOLS };
    static const char *const titles[NCOLS] = {"value", "bytes", "each", "that is", "at"};
    gcut_row *row = gcut_calloc(a, to - from + 1, sizeof *row);
    const char **at = gcut_calloc(a, to - from + 1, sizeof(*at));
    for (size_t i = from; i < to; i++) {
        const gcut_lint_finding *x = r->finding[i];
        at[i - from] = gcut_place_text(a, x->where);
        row[i - from] = (gcut_row){x->value, gcut_without_numbers(a, x->says), (int64_t)x->bytes};
    }
    const gcut_folded f = gcut_fold(a, row, (uint32_t)(to - from), o, false);
    gcut_table t = {.arena = a,
                    .ncols = NCOLS,
                    .right = 1u << BYTES | 1u << EACH,
                    .columns = o->columns,
                    .bold = o->bold,
                    .cut = 1u << VALUE | 1u << SAYS | 1u << AT};
    gcut_table_row(&t, titles);
    for (uint32_t i = 0; i < f.n; i++) {
        const gcut_row_group *g = &f.at[i];
        gcut_table_row(&t, (const char *[NCOLS]){
                               [VALUE] = gcut_printf(a, "%%%s", g->name),
                               [BYTES] = g->amount ? gcut_count_text(a, g->amount) : NULL,
                               [EACH] = g->amount  ? gcut_group_each(a, g, row)
                                        : g->n > 1 ? gcut_printf(a, "%u times", g->n)
                                                   : NULL,
                               [SAYS] = r->finding[from + *g->row]->says,
                               [AT] = gcut_group_text(a, g, at),
                           });
    }
    if (f.left) t.left = gcut_printf(a, "%u finding%s", f.left, f.left == 1 ? "" : "s");
    return t;
}

size_t gcut_lint_rule_end(const gcut_lint_report *r, size_t from)
{
    size_t to = from + 1;
    while (to < r->n && !strcmp(r->finding[to]->rule, r->finding[from]->rule)) to++;
    return to;
}

void gcut_write_lint_text(const gcut_lint_report *r, const gcut_table_options *o, gcut_text *out)
{
    gcut_text_add(out, "lint of @%s", r->graph);
    gcut_write_sizes(r->at, r->nat, ", at ", out);
    gcut_text_add(out, ": %zu finding%s\n", r->n, r->n == 1 ? "" : "s");
    for (size_t i = 0, end; i < r->n; i = end) {
        end = gcut_lint_rule_end(r, i);
        const gcut_table t = gcut_lint_table(r, i, end, o, out->arena);
        gcut_text_add(out, "%s: %s\n  instead: %s\n", r->finding[i]->rule, r->finding[i]->means,
                      r->finding[i]->instead);
        gcut_table_print_all(&t, out);
    }
}

void gcut_write_lint_json(const gcut_lint_report *r, gcut_text *out)
{
    gcut_json j = {.out = out};
    gcut_json_object(&j);
    gcut_json_members(&j, "ok:b graph:s", r->n == 0, r->graph);
    gcut_json_key_object(&j, "at");
    for (size_t i = 0; i < r->nat; i++) gcut_json_key_int(&j, r->at[i].name, r->at[i].value);
    gcut_json_end(&j);
    gcut_json_key_array(&j, "findings");
    for (size_t i = 0; i < r->n; i++) {
        const gcut_lint_finding *x = r->finding[i];
        gcut_json_object(&j);
        gcut_json_members(&j, "rule:s value:s loc:s says:s bytes:r means:s instead:s", x->rule, x->value,
                          x->where, x->says, x->bytes, x->means, x->instead);
        gcut_json_end(&j);
    }
    gcut_json_end(&j);
    gcut_json_end(&j);
    gcut_text_add(out, "\n");
}
