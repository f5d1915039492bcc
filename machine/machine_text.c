/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Machine models as a table.
 */
#include "machine/machine.h"

typedef struct table {
    const gcut_machine_model *model;
    gcut_text *out;
} table;

/* One line: a title, and f(section) for each. */
#define LINE(t, title, digits, x)                                                                            \
    do {                                                                                                     \
        gcut_text_add((t)->out, "  %-34s", title);                                                           \
        for (uint32_t i_ = 0; i_ < (t)->model->n; i_++) {                                                    \
            const gcut_machine *m = &(t)->model->at[i_];                                                     \
            gcut_text_add((t)->out, " %9.*f", digits, x);                                                    \
        }                                                                                                    \
        gcut_text_add((t)->out, "\n");                                                                       \
    } while (0)

static void memory(const table *t)
{
    static const char *const read[] = {"L2 read, GB/s", "L3 read, GB/s", "memory read, GB/s"};
    static const char *const write[] = {"L2 write, GB/s", "L3 write, GB/s", "memory write, GB/s"};
    for (int l = 0; l < GCUT_NLEVELS; l++) {
        LINE(t, read[l], 1, 1 / m->read_ns_per_byte[l]);
        LINE(t, write[l], 1, 1 / m->write_ns_per_byte[l]);
    }
    LINE(t, "one more kernel, ns", 0, m->kernel_ns);
    LINE(t, "one more product, ns", 0, m->call_ns);
    LINE(t, "round trip of a cache line, ns", 0, m->line_ns);
}

static void contractions(const table *t)
{
    static const double shapes[][3] = {{1024, 1024, 1024}, {256, 256, 256}, {64, 64, 64},    {16, 16, 16},
                                       {1024, 1024, 16},   {1024, 16, 256}, {16, 1024, 256}, {1, 1024, 1024}};
    static const char *const ways[] = {"forward", "to its operand", "to its weight"};
    gcut_arena *a = t->out->arena;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const double *s = shapes[i];
        LINE(t, gcut_printf(a, "product %g x %g x %g, GF/s", s[0], s[1], s[2]), 1,
             2 * s[0] * s[1] * s[2] / gcut_machine_gemm_ns(m, s[0], s[1], s[2]));
    }
    for (int w = 0; w < GCUT_NWINDOWS; w++)
        for (int way = 0; way < 3; way++)
            LINE(t, gcut_printf(a, "%s convolution, %s, GF/s", gcut_window_names[w], ways[way]), 1,
                 1 / m->conv_ns_per_flop[way][w]);
    LINE(t, "attention forward, GF/s", 1, 1 / m->attention_ns_per_flop[0]);
    LINE(t, "attention backward, GF/s", 1, 1 / m->attention_ns_per_flop[1]);
    LINE(t, "f64 takes times as long", 2, m->f64_factor);
}

static void ops(const table *t)
{
    gcut_arena *a = t->out->arena;
    gcut_text_add(t->out, "ps per element, f32 (f64)\n");
    for (int op = 0; op < GCUT_NOPS; op++) {
        if (!(t->model->at[0].op_ns[op][0] > 0)) continue;
        double f64 = t->model->at[0].op_ns[op][1];
        const char *name = gcut_op_get((gcut_op)op)->name;
        LINE(t, f64 > 0 ? gcut_printf(a, "%s (%.0f)", name, 1000 * f64) : name, 0, 1000 * m->op_ns[op][0]);
    }
    LINE(t, "others: the op table times", 2, m->op_scale);
}

/* In % of the median of a measurement. */
static void spread(const table *t)
{
    if (!t->model->nspread) return;
    gcut_text_add(t->out, "between rounds, typically and at worst\n");
    for (uint32_t i = 0; i < t->model->nspread; i++) {
        const gcut_machine_spread *s = &t->model->spread[i];
        gcut_text_add(t->out, "  %-34s %7.1f %% %7.1f %%  %s\n", s->class, 100 * s->typical, 100 * s->worst,
                      s->probe);
    }
}

void gcut_machine_table(const gcut_machine_model *model, gcut_text *out)
{
    table t = {model, out};
    gcut_text_add(out, "%s\n", model->made);
    LINE(&t, "threads", 0, m->threads);
    memory(&t);
    contractions(&t);
    ops(&t);
    spread(&t);
    if (model->note) gcut_text_add(out, "note: %s\n", model->note);
}
