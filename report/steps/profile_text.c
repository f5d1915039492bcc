/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A profile kernel by kernel, as text.
 */
#include <math.h>
#include <string.h>

#include "base/units.h"
#include "report/fold.h"
#include "report/report.h"
#include "report/tables.h"

double gcut_kernel_flops_rate(const gcut_kernel_time *k)
{
    return k->measured_ns > 0 ? 1e9 * k->flops / k->measured_ns : 0;
}

double gcut_kernel_bytes_rate(const gcut_kernel_time *k)
{
    return k->measured_ns > 0 ? 1e9 * k->bytes / k->measured_ns : 0;
}

double gcut_kernel_share(const gcut_profile *p, const gcut_kernel_time *k)
{
    return fmax(gcut_kernel_flops_rate(k) / p->peak_flops_per_second,
                gcut_kernel_bytes_rate(k) / p->peak_bytes_per_second);
}

/* Sums over the kernels of a group. */
static gcut_kernel_time sum_of(const gcut_profile *p, const gcut_row_group *g)
{
    gcut_kernel_time sum = {0};
    for (uint32_t i = 0; i < g->n; i++) {
        const gcut_kernel_time *k = p->at[g->row[i]];
        sum.measured_ns += k->measured_ns;
        sum.predicted_ns += k->predicted_ns;
        sum.lower_ns += k->lower_ns;
        sum.upper_ns += k->upper_ns;
        sum.flops += k->flops;
        sum.bytes += k->bytes;
        sum.runs += k->runs;
    }
    return sum;
}

static const char *rate_text(gcut_arena *a, double per_second)
{
    return per_second > 0 ? gcut_three_digits(a, per_second / 1e9) : NULL;
}

/* "±3%": half the distance of the quartiles; NULL: there is none. */
static const char *spread_text(gcut_arena *a, const gcut_profile *p, const gcut_kernel_time *k)
{
    return k->measured_ns > 0 && !p->means
               ? gcut_printf(a, "±%.0f%%", 50 * (k->upper_ns - k->lower_ns) / k->measured_ns)
               : NULL;
}

/* How many threads compute at a time, over the kernels of a group; 0: not known. */
static double busy_of(const gcut_profile *p, const gcut_row_group *g)
{
    double busy = 0, ns = 0;
    for (uint32_t i = 0; i < g->n; i++) {
        const gcut_kernel_time *k = p->at[g->row[i]];
        for (int t = 0; k->busy_ns && t < p->threads; t++) busy += k->busy_ns[t];
        if (k->busy_ns) ns += k->measured_ns;
    }
    return ns > 0 ? busy / ns : 0;
}

/* What the kernels took, with the clock between them. */
static double kernels_ns(const gcut_profile *p)
{
    double sum = 0;
    for (size_t i = 0; i < p->n; i++) sum += p->at[i]->measured_ns;
    return sum;
}

gcut_table gcut_profile_table(const gcut_profile *p, const gcut_table_options *o, gcut_arena *a)
{
    enum { NS, EACH, SPREAD, SHARE, BUSY, PREDICTED, FLOPS, BYTES, LIMIT, CLASS, VALUE, AT, NCOLS };
    const char *const titles[NCOLS] = {
        "time",     "each",  "",      "share", p->threads > 1 ? "busy" : "", "predicted", "GFLOP/s", "GB/s",
        "of limit", "class", "makes", "at"};
    static const uint8_t last[] = {AT, PREDICTED, EACH, SPREAD, CLASS, BUSY};
    gcut_row *row = gcut_calloc(a, p->n + 1, sizeof *row);
    const char **at = gcut_calloc(a, p->n + 1, sizeof(*at));
    const double all = kernels_ns(p);
    for (size_t i = 0; i < p->n; i++) {
        const gcut_kernel_time *k = p->at[i];
        const char *slash = strrchr(k->where, '/');
        at[i] = gcut_place_text(a, slash ? slash + 1 : k->where);
        row[i] = (gcut_row){k->value, gcut_printf(a, "%s %s %d", k->family, k->op, k->backward),
                            (int64_t)k->measured_ns};
    }
    const gcut_folded f = gcut_fold(a, row, (uint32_t)p->n, o, true);
    gcut_table t = {.arena = a,
                    .ncols = NCOLS,
                    .right = ~(1u << CLASS | 1u << VALUE | 1u << AT),
                    .columns = o->columns,
                    .bold = o->bold,
                    .cut = 1u << VALUE | 1u << AT,
                    .last = last,
                    .nlast = sizeof last};
    gcut_table_row(&t, titles);
    for (uint32_t i = 0; i < f.n; i++) {
        const gcut_row_group *g = &f.at[i];
        const gcut_kernel_time *k = p->at[*g->row], sum = sum_of(p, g);
        const double busy = p->threads > 1 ? busy_of(p, g) : 0;
        gcut_table_row(&t,
                       (const char *[NCOLS]){
                           [NS] = gcut_time_text(a, sum.measured_ns),
                           [EACH] = sum.runs > 1 ? gcut_printf(a, "%.0f x %s", sum.runs,
                                                               gcut_time_text(a, sum.measured_ns / sum.runs))
                                                 : NULL,
                           [SPREAD] = g->n == 1 ? spread_text(a, p, &sum) : NULL,
                           [SHARE] = gcut_printf(a, "%.1f%%", all > 0 ? 100 * sum.measured_ns / all : 0),
                           [BUSY] = busy > 0 ? gcut_printf(a, "%.1f", busy) : NULL,
                           [PREDICTED] = gcut_time_text(a, sum.predicted_ns),
                           [FLOPS] = rate_text(a, gcut_kernel_flops_rate(&sum)),
                           [BYTES] = rate_text(a, gcut_kernel_bytes_rate(&sum)),
                           [LIMIT] = gcut_printf(a, "%.0f%%", 100 * gcut_kernel_share(p, &sum)),
                           [CLASS] = k->family,
                           [VALUE] = gcut_printf(a, "%%%s", g->name),
                           [AT] = gcut_group_text(a, g, at),
                       });
    }
    if (f.left)
        t.left = gcut_printf(a, "%u kernel%s, %s", f.left, f.left == 1 ? "" : "s",
                             gcut_time_text(a, (double)f.left_amount));
    return t;
}

void gcut_write_profile_text(const gcut_profile *p, const gcut_table_options *o, gcut_text *out)
{
    gcut_arena *a = out->arena;
    const gcut_table t = gcut_profile_table(p, o, a);
    gcut_text_add(out, "step: %s%s", gcut_time_text(a, p->median_ns),
                  p->means ? ", a mean with the clock between kernels" : "");
    if (!isnan(p->median_lo_ns))
        gcut_text_add(out, " (%s to %s)", gcut_time_text(a, p->median_lo_ns),
                      gcut_time_text(a, p->median_hi_ns));
    if (!p->means) gcut_text_add(out, ", best %s", gcut_time_text(a, p->best_ns));
    gcut_text_add(out, ", predicted %s, %d step%s, %d thread%s\n", gcut_time_text(a, p->predicted_ns),
                  p->steps, p->steps == 1 ? "" : "s", p->threads, p->threads == 1 ? "" : "s");
    gcut_text_add(out, "limits by the machine model of %s: %s GFLOP/s of large products, %s GB/s of memory\n",
                  p->machine, gcut_three_digits(a, p->peak_flops_per_second / 1e9),
                  gcut_three_digits(a, p->peak_bytes_per_second / 1e9));
    gcut_text_add(out, "kernels, with the clock between them: %s together\n",
                  gcut_time_text(a, kernels_ns(p)));
    gcut_table_print_all(&t, out);
}
