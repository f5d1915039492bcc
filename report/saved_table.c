/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The table of saved values.
 */
#include <string.h>

#include "base/table.h"
#include "base/units.h"
#include "report/report.h"

enum { COL_BYTES, COL_SHARE, COL_VALUE, COL_TYPE, COL_OP, COL_AT, COL_READ, COL_FLIP, COL_INSTEAD, NCOLS };
static const char *const titles[NCOLS] = {
    "bytes", "share", "value", "type", "made by", "at", "read in backward by", "flips at", "instead"};

static const char *flop_text(gcut_arena *a, double flops)
{
    static const char *const unit[] = {"", "k", "M", "G", "T", "P"};
    int u = 0;
    while (flops >= 1000 && u < 5) flops /= 1000, u++;
    return gcut_printf(a, flops < 10 && u ? "%.1f %sflop" : "%.0f %sflop", flops, unit[u]);
}

/* The type, or bf16 of f32[32,256], or f32[32,256] in its gradient. */
static const char *stored_type(gcut_arena *a, const gcut_plan_value *v, bool symbolic)
{
    const char *plain = symbolic ? v->type_formula : v->type;
    if (!strcmp(v->storage, "grad")) return gcut_printf(a, "%s in its gradient", plain);
    return !strcmp(v->storage, "plain") ? plain : gcut_printf(a, "%s of %s", v->storage, plain);
}

const char *gcut_readers_text(gcut_arena *a, const gcut_plan_value *v)
{
    gcut_text t = {.arena = a};
    for (size_t i = 0; i < v->nreaders && i < 3; i++)
        gcut_text_add(&t, "%s%%%s%s %s", i ? ", " : "", v->readers[i].name,
                      v->readers[i].recomputed ? "'" : "", v->readers[i].op);
    if (v->nreaders > 3) gcut_text_add(&t, " +%zu", v->nreaders - 3);
    return t.at ? t.at : "-";
}

/* The slowest op of the recomputation that saving avoids, with its flops if it has any, else with the
 * total price. */
static const char *instead_text(gcut_arena *a, const gcut_plan_value *v)
{
    if (!v->instead_op) return v->forced ? "forced" : "-"; /* no op makes a parameter */
    return gcut_printf(a, "%s %s", v->instead_op,
                       v->instead_flops > 0 ? flop_text(a, v->instead_flops)
                                            : gcut_time_text(a, v->instead_ns));
}

static const char *flip_text(gcut_arena *a, const gcut_plan_value *v)
{
    gcut_text t = {.arena = a};
    if (v->forced) return "forced";
    if (v->nflips == 0) return v->flips_saved ? "never" : "0 ns/B";
    for (size_t i = 0; i < v->nflips; i++)
        gcut_text_add(&t, "%s%s%.2g", i ? ", " : "", (i % 2 == 0) != v->flips_saved ? "back " : "",
                      v->flips[i]);
    gcut_text_add(&t, " ns/B");
    return t.at;
}

static void fill_row(gcut_arena *a, const gcut_plan_info *p, const gcut_plan_value *v, bool symbolic,
                     const char **cell)
{
    int64_t all = p->saved_bytes;
    cell[COL_BYTES] = symbolic ? v->bytes_formula : gcut_count_text(a, v->bytes);
    cell[COL_SHARE] = gcut_printf(a, "%.1f%%", all ? 100.0 * (double)v->bytes / (double)all : 0.0);
    cell[COL_VALUE] = gcut_printf(a, "%%%s", v->name);
    cell[COL_TYPE] = stored_type(a, v, symbolic);
    cell[COL_OP] = v->op;
    cell[COL_AT] = gcut_place_text(a, v->where);
    cell[COL_READ] = gcut_readers_text(a, v);
    cell[COL_FLIP] = flip_text(a, v);
    cell[COL_INSTEAD] = instead_text(a, v);
}

/* "as bf16: 3 tensors, 5,120 bytes less, each element off by at most 2^-8 of itself" */
static void print_storage(const gcut_plan_info *p, const char *storage, const char *note, gcut_text *out)
{
    uint32_t n = 0;
    int64_t less = 0;
    for (size_t i = 0; i < p->n; i++) {
        const gcut_plan_value *v = p->value[i];
        if (v->decision != GCUT_PLAN_SAVED || strcmp(v->storage, storage) != 0) continue;
        n++;
        less += v->plain_bytes - v->bytes;
    }
    if (n)
        gcut_text_add(out, "as %s: %u tensor%s, %s less%s\n", storage, n, n == 1 ? "" : "s",
                      gcut_bytes_text(out->arena, less), note);
}

void gcut_write_saved_table(const gcut_plan_info *p, bool symbolic, gcut_text *out)
{
    gcut_arena *a = out->arena;
    gcut_table t = {.arena = a, .ncols = NCOLS, .right = 1u << COL_BYTES | 1u << COL_SHARE};
    uint32_t n = 0;
    gcut_table_row(&t, titles);
    for (size_t i = 0; i < p->n; i++) {
        const char *cell[NCOLS];
        if (p->value[i]->decision != GCUT_PLAN_SAVED) continue;
        fill_row(a, p, p->value[i], symbolic, cell);
        gcut_table_row(&t, cell);
        n++;
    }
    gcut_text_add(out, "saved for backward: %u tensor%s, %s", n, n == 1 ? "" : "s",
                  gcut_bytes_text(a, p->saved_bytes));
    if (p->saved_bytes_formula) gcut_text_add(out, "        %s", p->saved_bytes_formula);
    gcut_text_add(out, "\n");
    if (!n) return;
    gcut_table_print(&t, 0, t.nrows, "  ", out);
    print_storage(p, "bf16", ", each element off by at most 2^-8 of itself", out);
    print_storage(p, "bits", "", out);
    print_storage(p, "grad", ", in the memory of gradients that are results", out);
}
