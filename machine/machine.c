/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Times from the machine model.
 *
 * Products: the time of a flop is interpolated between the points of a grid, log-linearly in each
 * size, and taken from the grid's border outside of it.  Between two neighbours x < x' of an axis it has the
 * slope log(r'/r) / log(x'/x); the time of the product grows with x wherever that is at least -1, that is
 * where r' x' >= r x, which gcut_machine_parse demands.
 */
#include "machine/machine.h"

#include <math.h>
#include <string.h>

const double gcut_gemm_lo[GCUT_GEMM_LO] = {1, 4, 16, 32, 64, 256},
             gcut_gemm_hi[GCUT_GEMM_HI] = {16, 128, 1024}, gcut_gemm_k[GCUT_GEMM_K] = {4, 16, 64, 256, 1024};
const char *const gcut_window_names[GCUT_NWINDOWS] = {"point",  "plain",   "tiled",   "narrow",
                                                      "single", "strided", "patches", "depthwise"},
                  *const gcut_conv_names[3] = {"conv_y", "conv_x", "conv_w"},
                  *const gcut_attention_names[2] = {"attention", "attention_grad"},
                  *const gcut_level_names[GCUT_NLEVELS] = {"l2", "l3", "dram"};

/* clang-format off */
const gcut_measured_conv gcut_measured_convs[GCUT_NWINDOWS] = {
    [GCUT_WINDOW_point]     = { 4, 64,  28,  64,  1,  1,  1},
    [GCUT_WINDOW_plain]     = { 4, 32,  28,  32,  5,  1,  1},
    [GCUT_WINDOW_tiled]     = { 4, 96,  20,  96,  3,  1,  1},
    [GCUT_WINDOW_narrow]    = {32,  8,  28,  16,  3,  1,  1},
    [GCUT_WINDOW_single]    = {16,  1,  84,   8,  3,  1,  1},
    [GCUT_WINDOW_strided]   = { 4, 32,  56,  64,  3,  2,  1},
    [GCUT_WINDOW_patches]   = { 4,  3, 128, 192, 16, 16,  1},
    [GCUT_WINDOW_depthwise] = { 4, 64,  28,  64,  3,  1, 64}
};
/* clang-format on */

/* ---- sections ---- */

#define FIELDS (sizeof(gcut_machine) / sizeof(double))
_Static_assert(FIELDS * sizeof(double) == sizeof(gcut_machine), "a section is doubles alone");

/* a^(1-w) b^w; 0 (not measured) where one of them is 0. */
static gcut_machine mix(const gcut_machine *a, const gcut_machine *b, double w)
{
    double x[FIELDS], y[FIELDS];
    memcpy(x, a, sizeof x);
    memcpy(y, b, sizeof y);
    for (size_t i = 0; i < FIELDS; i++) {
        if (x[i] == y[i]) continue;
        x[i] = x[i] > 0 && y[i] > 0 ? exp2(log2(x[i]) + w * (log2(y[i]) - log2(x[i]))) : 0;
    }
    gcut_machine m;
    memcpy(&m, x, sizeof m);
    return m;
}

gcut_machine gcut_machine_at(const gcut_machine_model *model, int threads)
{
    double t = threads > 0 ? threads : model->default_threads;
    uint32_t i = 0;
    while (i + 1 < model->n && model->at[i + 1].threads <= t) i++;
    const gcut_machine *a = &model->at[i];
    if (i + 1 == model->n || t <= a->threads) return *a;
    gcut_machine m = mix(a, a + 1, log2(t / a->threads) / log2(a[1].threads / a->threads));
    m.threads = t;
    return m;
}

/* ---- contractions ---- */

static double f64_factor(const gcut_machine *m, gcut_dtype t)
{
    return gcut_dtype_bytes(t) > 4 ? m->f64_factor : 1;
}

/* The position of x on an axis: the point *i before it, and the fraction *w of the way to the next. */
static void locate(const double *axis, int n, double x, int *i, double *w)
{
    for (*i = 0; *i < n - 2 && x >= axis[*i + 1];) ++*i;
    *w = log2(x / axis[*i]) / log2(axis[*i + 1] / axis[*i]);
    *w = *w < 0 ? 0 : *w > 1 ? 1 : *w;
}

gcut_rate gcut_machine_gemm_rate(const gcut_machine *machine, gcut_dtype t, double m, double n, double k)
{
    double wl, wh, wk, rate = 0, lo = fmin(m, n), hi = fmax(m, n);
    int l, h, c;
    locate(gcut_gemm_lo, GCUT_GEMM_LO, lo, &l, &wl);
    locate(gcut_gemm_hi, GCUT_GEMM_HI, hi, &h, &wh);
    locate(gcut_gemm_k, GCUT_GEMM_K, k, &c, &wk);
    for (int i = 0; i < 8; i++) {
        double w = (i & 4 ? wl : 1 - wl) * (i & 2 ? wh : 1 - wh) * (i & 1 ? wk : 1 - wk);
        if (w > 0) rate += w * log2(machine->gemm_ns_per_flop[l + (i >> 2)][h + (i >> 1 & 1)][c + (i & 1)]);
    }
    return (gcut_rate){.ns = exp2(rate),
                       .factor = f64_factor(machine, t),
                       .key = "gemm.ns_per_flop",
                       .at = {lo, hi, k},
                       .grid = true};
}

double gcut_machine_gemm_ns(const gcut_machine *machine, double m, double n, double k)
{
    double flops = 2 * m * n * k;
    if (!(flops > 0)) return 0;
    const gcut_rate rate = gcut_machine_gemm_rate(machine, GCUT_F32, m, n, k);
    return gcut_rate_ns(&rate, flops);
}

gcut_rate gcut_machine_conv_rate(const gcut_machine *machine, gcut_way way, gcut_window window, gcut_dtype t)
{
    GCUT_ASSERT(way >= GCUT_WAY_conv_y && way <= GCUT_WAY_conv_w);
    return (gcut_rate){.ns = machine->conv_ns_per_flop[way - GCUT_WAY_conv_y][window],
                       .factor = f64_factor(machine, t),
                       .key = gcut_conv_names[way - GCUT_WAY_conv_y],
                       .sub = gcut_window_names[window]};
}

gcut_rate gcut_machine_attention_rate(const gcut_machine *machine, gcut_way way, gcut_dtype t)
{
    GCUT_ASSERT(way == GCUT_WAY_attention || way == GCUT_WAY_attention_grad);
    return (gcut_rate){.ns = machine->attention_ns_per_flop[way - GCUT_WAY_attention],
                       .factor = f64_factor(machine, t),
                       .key = gcut_attention_names[way - GCUT_WAY_attention]};
}

/* ---- memory ---- */

/* The share of traffic beyond a level: 0 up to half its capacity, 1 from twice its capacity on, smooth in
 * between. */
static double beyond(double working_set, double level_bytes)
{
    double x = (log2(working_set / level_bytes) + 1) / 2;
    x = !(x > 0) ? 0 : x > 1 ? 1 : x;
    return x * x * (3 - 2 * x);
}

static double at_level(const double ns[GCUT_NLEVELS], double l3, double dram)
{
    double near = ns[GCUT_L2] + l3 * (ns[GCUT_L3] - ns[GCUT_L2]);
    return near + dram * (ns[GCUT_DRAM] - near);
}

gcut_reach gcut_machine_reach(const gcut_machine *m, double working_set)
{
    double l3 = beyond(working_set, m->level_bytes[GCUT_L2]);
    double dram = beyond(working_set, m->level_bytes[GCUT_L3]);
    const double read = at_level(m->read_ns_per_byte, l3, dram),
                 write = at_level(m->write_ns_per_byte, l3, dram);
    return (gcut_reach){.share = {(1 - l3) * (1 - dram), l3 * (1 - dram), dram},
                        .read_ns = read,
                        .write_ns = write,
                        .rest_ns = fmax(0, write - read)};
}

double gcut_machine_move_ns(const gcut_machine *m, double read_bytes, double write_bytes, double working_set)
{
    const gcut_reach at = gcut_machine_reach(m, working_set);
    return read_bytes * at.read_ns + write_bytes * at.write_ns;
}

double gcut_machine_bring_ns(const gcut_machine *m, double read_bytes, double write_bytes, double working_set)
{
    double l3 = beyond(working_set, m->level_bytes[GCUT_L2]);
    return l3 * gcut_machine_move_ns(m, read_bytes, 0, working_set) +
           gcut_machine_move_ns(m, 0, write_bytes, working_set) - gcut_machine_move_ns(m, 0, write_bytes, 0);
}

double gcut_machine_past_bytes(const gcut_machine *m)
{
    return m->past_bytes > 0 ? m->past_bytes : m->level_bytes[GCUT_L3];
}

double gcut_machine_dram_trip_ns(const gcut_machine *m, double bytes)
{
    return bytes * (m->read_ns_per_byte[GCUT_DRAM] + m->write_ns_per_byte[GCUT_DRAM]);
}

/* ---- arithmetic ---- */

gcut_rate gcut_machine_table_rate(const gcut_machine *m, gcut_op op, gcut_dtype t)
{
    return (gcut_rate){.ns = gcut_op_get(op)->cost_ps / 1000.0 * m->op_scale,
                       .factor = gcut_dtype_bytes(t) > 4 ? 2 : 1,
                       .key = "op_scale"};
}

gcut_rate gcut_machine_op_rate(const gcut_machine *m, gcut_op op, gcut_dtype t)
{
    bool wide = gcut_dtype_bytes(t) > 4;
    const char *name = gcut_op_get(op)->name;
    if (wide && m->op_ns[op][1] > 0)
        return (gcut_rate){.ns = m->op_ns[op][1], .factor = 1, .key = "ops", .sub = name};
    if (m->op_ns[op][0] > 0)
        return (gcut_rate){.ns = m->op_ns[op][0], .factor = wide ? 2 : 1, .key = "ops", .sub = name};
    return gcut_machine_table_rate(m, op, t);
}

double gcut_machine_op_ns(const gcut_machine *m, gcut_op op, gcut_dtype t, double elements)
{
    const gcut_rate rate = gcut_machine_op_rate(m, op, t);
    return gcut_rate_ns(&rate, elements);
}

gcut_rate gcut_machine_row_rate(const gcut_machine *m)
{
    if (m->row_ns > 0) return (gcut_rate){.ns = m->row_ns, .factor = 1, .key = "row_ns"};
    return (gcut_rate){.ns = GCUT_ROW_NS, .factor = m->op_scale, .key = "op_scale"};
}

gcut_rate gcut_machine_kernel_rate(const gcut_machine *m)
{
    return (gcut_rate){.ns = m->kernel_ns, .factor = 1, .key = "kernel_ns"};
}

gcut_rate gcut_machine_call_rate(const gcut_machine *m)
{
    return (gcut_rate){.ns = m->call_ns, .factor = 1, .key = "call_ns"};
}

/* ---- rates ---- */

double gcut_rate_ns(const gcut_rate *rate, double units)
{
    return units * rate->ns * rate->factor;
}

const char *gcut_rate_text(const gcut_rate *rate, gcut_arena *a)
{
    if (rate->grid)
        return gcut_printf(a, "%s at lo=%g hi=%g k=%g", rate->key, rate->at[0], rate->at[1], rate->at[2]);
    return rate->sub ? gcut_printf(a, "%s.%s", rate->key, rate->sub) : rate->key;
}
