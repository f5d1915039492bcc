/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The table of saved values.
 */
#include <string.h>

#include "base/units.h"
#include "report/fold.h"
#include "report/report.h"
#include "report/tables.h"

enum {
    COL_BYTES,
    COL_EACH,
    COL_SHARE,
    COL_VALUE,
    COL_TYPE,
    COL_OP,
    COL_AT,
    COL_READ,
    COL_FLIP,
    COL_INSTEAD,
    NCOLS
};
static const char *const titles[NCOLS] = {
    "bytes", "each", "share", "value", "type", "made by", "at", "read in backward by", "flips at", "instead"};

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

/* "%h2' relu"; of a group of values without numbers. */
static const char *reader_text(gcut_arena *a, const gcut_plan_reader *r, bool folded)
{
    return gcut_printf(a, "%%%s%s %s", folded ? gcut_without_numbers(a, r->name) : r->name,
                       r->recomputed ? "'" : "", r->op);
}

const char *gcut_readers_text(gcut_arena *a, const gcut_plan_value *v, bool folded)
{
    enum { SHOWN = 3 };
    gcut_text t = {.arena = a};
    size_t i = 0;
    for (int k = 0; k < SHOWN && i < v->nreaders; k++) {
        const char *text = reader_text(a, &v->readers[i], folded);
        size_t n = 1;
        while (folded && i + n < v->nreaders && !strcmp(text, reader_text(a, &v->readers[i + n], true))) n++;
        if (k) gcut_text_add(&t, ", ");
        if (n > 1) gcut_text_add(&t, "%zu x ", n);
        gcut_text_add(&t, "%s", text);
        i += n;
    }
    if (i < v->nreaders) gcut_text_add(&t, " +%zu", v->nreaders - i);
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
        gcut_text_add(&t, "%s%s%s", i ? ", " : "", (i % 2 == 0) != v->flips_saved ? "back " : "",
                      gcut_short_real(a, v->flips[i]));
    gcut_text_add(&t, " ns/B");
    return t.at;
}

/* The columns of a value that rows of the same kind may differ in. */
typedef struct texts {
    const char **at, **flip, **instead; /* by value */
} texts;

static void fill_row(gcut_arena *a, const gcut_plan_info *p, const gcut_row_group *g, const gcut_row *row,
                     const texts *t, bool symbolic, const char **cell)
{
    const gcut_plan_value *v = p->value[*g->row];
    const int64_t all = p->saved_bytes;
    cell[COL_BYTES] = symbolic ? v->bytes_formula : gcut_count_text(a, g->amount);
    cell[COL_EACH] = symbolic && g->n > 1 ? gcut_printf(a, "%u times", g->n) : gcut_group_each(a, g, row);
    cell[COL_SHARE] = gcut_printf(a, "%.1f%%", all ? 100.0 * (double)g->amount / (double)all : 0.0);
    cell[COL_VALUE] = gcut_printf(a, "%%%s", g->name);
    cell[COL_TYPE] = stored_type(a, v, symbolic);
    cell[COL_OP] = v->op;
    cell[COL_AT] = gcut_group_text(a, g, t->at);
    cell[COL_READ] = gcut_readers_text(a, v, g->n > 1);
    cell[COL_FLIP] = gcut_group_text(a, g, t->flip);
    cell[COL_INSTEAD] = gcut_group_text(a, g, t->instead);
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

/* Values that are saved, in `row`, and their texts.  Rows fold if they say the same but for places and prices. */
static uint32_t list_rows(gcut_arena *a, const gcut_plan_info *p, bool symbolic, gcut_row *row, texts *t)
{
    uint32_t n = 0;
    const char ***list[] = {&t->at, &t->flip, &t->instead};
    for (size_t k = 0; k < sizeof list / sizeof *list; k++)
        *list[k] = gcut_calloc(a, p->n + 1, sizeof **list[k]);
    for (size_t i = 0; i < p->n; i++) {
        const gcut_plan_value *v = p->value[i];
        if (v->decision != GCUT_PLAN_SAVED) continue;
        GCUT_ASSERT(i == n); /* gcut_plan_info.value has these first */
        t->at[n] = gcut_place_text(a, v->where);
        t->flip[n] = flip_text(a, v);
        t->instead[n] = instead_text(a, v);
        row[n++] = (gcut_row){.name = v->name,
                              .like = gcut_printf(a, "%s %s %s", stored_type(a, v, symbolic), v->op,
                                                  gcut_readers_text(a, v, true)),
                              .amount = v->bytes};
    }
    return n;
}

gcut_table gcut_saved_table(const gcut_plan_info *p, const gcut_table_options *o, gcut_arena *a)
{
    static const uint8_t last[] = {COL_READ, COL_INSTEAD, COL_AT, COL_TYPE};
    gcut_table t = {.arena = a,
                    .ncols = NCOLS,
                    .right = 1u << COL_BYTES | 1u << COL_EACH | 1u << COL_SHARE,
                    .columns = o->columns,
                    .bold = o->bold,
                    .cut =
                        1u << COL_VALUE | 1u << COL_TYPE | 1u << COL_AT | 1u << COL_READ | 1u << COL_INSTEAD,
                    .last = last,
                    .nlast = sizeof last};
    texts say;
    gcut_row *row = gcut_calloc(a, p->n + 1, sizeof *row);
    const uint32_t n = list_rows(a, p, o->symbolic, row, &say);
    const gcut_folded f = gcut_fold(a, row, n, o, true);
    gcut_table_row(&t, titles);
    for (uint32_t i = 0; i < f.n; i++) {
        const char *cell[NCOLS];
        fill_row(a, p, &f.at[i], row, &say, o->symbolic, cell);
        gcut_table_row(&t, cell);
    }
    t.left = gcut_left_text(a, &f, "tensor");
    return t;
}

void gcut_write_saved_values(const gcut_plan_info *p, const gcut_table_options *o, gcut_text *out)
{
    gcut_arena *a = out->arena;
    const gcut_table t = gcut_saved_table(p, o, a);
    size_t n = 0;
    while (n < p->n && p->value[n]->decision == GCUT_PLAN_SAVED) n++;
    gcut_text_add(out, "saved for backward: %zu tensor%s, %s", n, n == 1 ? "" : "s",
                  gcut_bytes_text(a, p->saved_bytes));
    if (p->saved_bytes_formula) gcut_text_add(out, "        %s", p->saved_bytes_formula);
    gcut_text_add(out, "\n");
    if (!n) return;
    gcut_table_print_all(&t, out);
    print_storage(p, "bf16", ", each element off by at most 2^-8 of itself", out);
    print_storage(p, "bits", "", out);
    print_storage(p, "grad", ", in the memory of gradients that are results", out);
}
