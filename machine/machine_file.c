/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Machine models as JSON.
 */
#include "machine/machine.h"

#include <string.h>

#include "base/json.h"
#include "base/json_read.h"

#define FORMAT "gradcut machine 4"
#define MAX_FILE ((size_t)16 << 20)

/* ---- writing ---- */

static void real(gcut_json *j, const char *key, double x)
{
    gcut_json_key_real(j, key, x);
}

/* On one line. */
static void reals(gcut_json *j, const double *at, int n)
{
    bool was = j->compact;
    gcut_json_array(j);
    j->compact = true;
    for (int i = 0; i < n; i++) gcut_json_real(j, at[i]);
    gcut_json_end(j);
    j->compact = was;
}

static void memory_json(gcut_json *j, const gcut_machine *m)
{
    gcut_json_key_object(j, "memory");
    for (int i = 0; i < GCUT_NLEVELS; i++) {
        gcut_json_key_object(j, gcut_level_names[i]);
        if (i < GCUT_DRAM) real(j, "bytes", m->level_bytes[i]);
        real(j, "read_ns_per_byte", m->read_ns_per_byte[i]);
        real(j, "write_ns_per_byte", m->write_ns_per_byte[i]);
        gcut_json_end(j);
    }
    if (m->past_bytes > 0) real(j, "past_bytes", m->past_bytes);
    gcut_json_end(j);
}

static void gemm_json(gcut_json *j, const gcut_machine *m)
{
    gcut_json_key_object(j, "gemm");
    gcut_json_key(j, "lo"), reals(j, gcut_gemm_lo, GCUT_GEMM_LO);
    gcut_json_key(j, "hi"), reals(j, gcut_gemm_hi, GCUT_GEMM_HI);
    gcut_json_key(j, "k"), reals(j, gcut_gemm_k, GCUT_GEMM_K);
    gcut_json_key_array(j, "ns_per_flop");
    for (int l = 0; l < GCUT_GEMM_LO; l++) {
        gcut_json_array(j);
        for (int h = 0; h < GCUT_GEMM_HI; h++) reals(j, m->gemm_ns_per_flop[l][h], GCUT_GEMM_K);
        gcut_json_end(j);
    }
    gcut_json_end(j);
    gcut_json_end(j);
}

static void contractions_json(gcut_json *j, const gcut_machine *m)
{
    gemm_json(j, m);
    for (int w = 0; w < 3; w++) {
        gcut_json_key_object(j, gcut_conv_names[w]);
        for (int k = 0; k < GCUT_NWINDOWS; k++) real(j, gcut_window_names[k], m->conv_ns_per_flop[w][k]);
        gcut_json_end(j);
    }
    for (int w = 0; w < 2; w++) real(j, gcut_attention_names[w], m->attention_ns_per_flop[w]);
    real(j, "f64_factor", m->f64_factor);
}

/* What is not given follows from the rates and is not written. */
static void decisions_json(gcut_json *j, const gcut_machine *m)
{
    bool any = false;
    for (int i = 0; i < GCUT_NTHRESHOLDS; i++) any = any || m->threshold_ps[i] > 0;
    if (m->row_ns > 0) real(j, "row_ns", m->row_ns);
    if (!any) return;
    gcut_json_key_object(j, "thresholds_ps");
    for (int i = 0; i < GCUT_NTHRESHOLDS; i++)
        if (m->threshold_ps[i] > 0) real(j, gcut_threshold_names[i], m->threshold_ps[i]);
    gcut_json_end(j);
}

static void section_json(gcut_json *j, const gcut_machine *m)
{
    gcut_json_object(j);
    gcut_json_key_int(j, "threads", (int64_t)m->threads);
    real(j, "kernel_ns", m->kernel_ns);
    real(j, "call_ns", m->call_ns);
    real(j, "line_ns", m->line_ns);
    memory_json(j, m);
    contractions_json(j, m);
    real(j, "op_scale", m->op_scale);
    decisions_json(j, m);
    gcut_json_key_object(j, "ops");
    for (int op = 0; op < GCUT_NOPS; op++) {
        if (!(m->op_ns[op][0] > 0)) continue;
        gcut_json_key(j, gcut_op_get((gcut_op)op)->name);
        reals(j, m->op_ns[op], m->op_ns[op][1] > 0 ? 2 : 1);
    }
    gcut_json_end(j);
    gcut_json_end(j);
}

static void spread_json(gcut_json *j, const gcut_machine_model *model)
{
    gcut_json_key_array(j, "spread");
    for (uint32_t i = 0; i < model->nspread; i++) {
        const gcut_machine_spread *s = &model->spread[i];
        gcut_json_object(j);
        j->compact = true;
        gcut_json_key_str(j, "class", s->class);
        real(j, "typical", s->typical);
        real(j, "worst", s->worst);
        gcut_json_key_str(j, "probe", s->probe);
        gcut_json_end(j);
        j->compact = false;
    }
    gcut_json_end(j);
}

void gcut_machine_json(const gcut_machine_model *model, gcut_text *out)
{
    gcut_json j = {.out = out};
    gcut_json_object(&j);
    gcut_json_key_str(&j, "format", FORMAT);
    gcut_json_key_str(&j, "made", model->made);
    if (model->note) gcut_json_key_str(&j, "note", model->note);
    if (model->nspread) spread_json(&j, model);
    gcut_json_key_int(&j, "default_threads", model->default_threads);
    gcut_json_key_array(&j, "sections");
    for (uint32_t i = 0; i < model->n; i++) section_json(&j, &model->at[i]);
    gcut_json_end(&j);
    gcut_json_end(&j);
    gcut_text_add(out, "\n");
}

/* ---- reading ---- */

/* Times are of a few ps to a few ms; the bounds keep every sum of prices finite. */
static double positive(const gcut_jnode *v)
{
    double x = gcut_jreal(v);
    if (!(x >= 1e-9 && x <= 1e15)) gcut_jfail(v, NULL, "expected a number from 1e-9 to 1e15");
    return x;
}

static const gcut_jnode *array_of(const gcut_jnode *v, uint32_t n)
{
    if (gcut_jcount(v) != n) gcut_jfail(v, NULL, "expected %u items", n);
    return v;
}

static int threads_of(const gcut_jnode *v)
{
    int64_t n = gcut_jint(v);
    if (n < 1 || n > 4096) gcut_jfail(v, NULL, "expected a number of threads from 1 to 4096");
    return (int)n;
}

/* Each level is no faster than the one before: times must not fall as working sets grow. */
static void read_memory(const gcut_jnode *v, gcut_machine *m)
{
    const gcut_jnode *past = gcut_jget(v, "past_bytes");
    if (past) m->past_bytes = positive(past);
    for (int i = 0; i < GCUT_NLEVELS; i++) {
        const gcut_jnode *l = gcut_jneed(v, gcut_level_names[i]);
        const gcut_jnode *r = gcut_jneed(l, "read_ns_per_byte"), *w = gcut_jneed(l, "write_ns_per_byte");
        m->read_ns_per_byte[i] = positive(r);
        m->write_ns_per_byte[i] = positive(w);
        if (i > 0 && m->read_ns_per_byte[i] < m->read_ns_per_byte[i - 1])
            gcut_jfail(r, NULL, "less than that of %s", gcut_level_names[i - 1]);
        if (i > 0 && m->write_ns_per_byte[i] < m->write_ns_per_byte[i - 1])
            gcut_jfail(w, NULL, "less than that of %s", gcut_level_names[i - 1]);
        if (i == GCUT_DRAM) break;
        const gcut_jnode *bytes = gcut_jneed(l, "bytes");
        m->level_bytes[i] = positive(bytes);
        if (i > 0 && m->level_bytes[i] < m->level_bytes[i - 1])
            gcut_jfail(bytes, NULL, "less than that of %s", gcut_level_names[i - 1]);
    }
}

static void same_axis(const gcut_jnode *v, const double *axis, uint32_t n)
{
    array_of(v, n);
    for (uint32_t i = 0; i < n; i++)
        if (gcut_jreal(gcut_jat(v, i)) != axis[i])
            gcut_jfail(v, "calibrate again with this version",
                       "expected the sizes that this version measures");
}

/* The time of a product at a point of the grid, up to a constant factor. */
static double whole(const gcut_machine *m, int l, int h, int k)
{
    return m->gemm_ns_per_flop[l][h][k] * gcut_gemm_lo[l] * gcut_gemm_hi[h] * gcut_gemm_k[k];
}

static void read_gemm(const gcut_jnode *v, gcut_machine *m)
{
    same_axis(gcut_jneed(v, "lo"), gcut_gemm_lo, GCUT_GEMM_LO);
    same_axis(gcut_jneed(v, "hi"), gcut_gemm_hi, GCUT_GEMM_HI);
    same_axis(gcut_jneed(v, "k"), gcut_gemm_k, GCUT_GEMM_K);
    const gcut_jnode *rates = array_of(gcut_jneed(v, "ns_per_flop"), GCUT_GEMM_LO);
    for (int l = 0; l < GCUT_GEMM_LO; l++)
        for (int h = 0; h < GCUT_GEMM_HI; h++) {
            const gcut_jnode *plane = array_of(gcut_jat(rates, (uint32_t)l), GCUT_GEMM_HI);
            const gcut_jnode *row = array_of(gcut_jat(plane, (uint32_t)h), GCUT_GEMM_K);
            for (int k = 0; k < GCUT_GEMM_K; k++) {
                const gcut_jnode *at = gcut_jat(row, (uint32_t)k);
                m->gemm_ns_per_flop[l][h][k] = positive(at);
                double t = whole(m, l, h, k) * (1 + 1e-9); /* a part in 1e9 is rounding */
                if ((l && t < whole(m, l - 1, h, k)) || (h && t < whole(m, l, h - 1, k)) ||
                    (k && t < whole(m, l, h, k - 1)))
                    gcut_jfail(at, NULL, "a larger product would take less time");
            }
        }
}

static void read_contractions(const gcut_jnode *v, gcut_machine *m)
{
    read_gemm(gcut_jneed(v, "gemm"), m);
    for (int w = 0; w < 3; w++) {
        const gcut_jnode *way = gcut_jneed(v, gcut_conv_names[w]);
        for (int k = 0; k < GCUT_NWINDOWS; k++)
            m->conv_ns_per_flop[w][k] = positive(gcut_jneed(way, gcut_window_names[k]));
    }
    for (int w = 0; w < 2; w++)
        m->attention_ns_per_flop[w] = positive(gcut_jneed(v, gcut_attention_names[w]));
    m->f64_factor = positive(gcut_jneed(v, "f64_factor"));
}

/* Unknown op names, of other versions, are ignored. */
static void read_ops(const gcut_jnode *v, gcut_machine *m)
{
    gcut_jobject(v);
    for (uint32_t i = 0; i < v->n; i++) {
        const gcut_jnode *row = &v->u.item[i];
        gcut_op op;
        uint32_t n = gcut_jcount(row);
        if (n != 1 && n != 2) gcut_jfail(row, NULL, "expected ns per element: [f32] or [f32, f64]");
        double f32 = positive(gcut_jat(row, 0)), f64 = n == 2 ? positive(gcut_jat(row, 1)) : 0;
        if (!gcut_op_parse(row->key, strlen(row->key), &op)) continue;
        m->op_ns[op][0] = f32;
        m->op_ns[op][1] = f64;
    }
}

static void read_decisions(const gcut_jnode *v, gcut_machine *m)
{
    const gcut_jnode *row = gcut_jget(v, "row_ns"), *given = gcut_jget(v, "thresholds_ps");
    if (row) m->row_ns = positive(row);
    for (int i = 0; given && i < GCUT_NTHRESHOLDS; i++) {
        const gcut_jnode *ps = gcut_jget(given, gcut_threshold_names[i]);
        if (ps) m->threshold_ps[i] = positive(ps);
    }
}

static void read_section(const gcut_jnode *v, gcut_machine *m)
{
    m->threads = threads_of(gcut_jneed(v, "threads"));
    m->kernel_ns = positive(gcut_jneed(v, "kernel_ns"));
    m->call_ns = positive(gcut_jneed(v, "call_ns"));
    const gcut_jnode *line = gcut_jget(v, "line_ns");
    if (line && gcut_jreal(line) != 0) m->line_ns = positive(line);
    read_memory(gcut_jneed(v, "memory"), m);
    read_contractions(v, m);
    m->op_scale = positive(gcut_jneed(v, "op_scale"));
    read_decisions(v, m);
    read_ops(gcut_jneed(v, "ops"), m);
}

static double share(const gcut_jnode *v)
{
    double x = gcut_jreal(v);
    if (!(x >= 0 && x <= 1e15)) gcut_jfail(v, NULL, "expected a share, 0.05 for 5 %%");
    return x;
}

static void read_spread(gcut_arena *arena, const gcut_jnode *v, gcut_machine_model *model)
{
    model->nspread = gcut_jcount(v);
    gcut_machine_spread *at = gcut_calloc(arena, model->nspread + 1u, sizeof *at);
    for (uint32_t i = 0; i < model->nspread; i++) {
        const gcut_jnode *one = gcut_jat(v, i);
        at[i] = (gcut_machine_spread){.class = gcut_jstr(gcut_jneed(one, "class")),
                                      .typical = share(gcut_jneed(one, "typical")),
                                      .worst = share(gcut_jneed(one, "worst")),
                                      .probe = gcut_jstr(gcut_jneed(one, "probe"))};
    }
    model->spread = at;
}

static const gcut_machine_model *model_of(gcut_arena *arena, const gcut_jnode *v)
{
    gcut_machine_model *model = gcut_calloc(arena, 1, sizeof *model);
    const gcut_jnode *format = gcut_jneed(v, "format"), *sections = gcut_jneed(v, "sections");
    const gcut_jnode *note = gcut_jget(v, "note"), *spread = gcut_jget(v, "spread");
    if (strcmp(gcut_jstr(format), FORMAT) != 0)
        gcut_jfail(format, "`gradcut calibrate` writes one", "expected \"" FORMAT "\"");
    model->made = gcut_jstr(gcut_jneed(v, "made"));
    if (note) model->note = gcut_jstr(note);
    if (spread) read_spread(arena, spread, model);
    model->default_threads = threads_of(gcut_jneed(v, "default_threads"));
    model->n = gcut_jcount(sections);
    if (!model->n) gcut_jfail(sections, NULL, "expected at least one section");
    gcut_machine *at = gcut_calloc(arena, model->n, sizeof *at);
    for (uint32_t i = 0; i < model->n; i++) {
        const gcut_jnode *s = gcut_jat(sections, i);
        read_section(s, &at[i]);
        if (i && at[i].threads <= at[i - 1].threads)
            gcut_jfail(gcut_jneed(s, "threads"), NULL, "sections go by rising numbers of threads");
    }
    model->at = at;
    return model;
}

const gcut_machine_model *gcut_machine_parse(gcut_arena *arena, const char *name, const char *text, size_t n)
{
    return model_of(arena, gcut_json_parse(arena, name, text, n));
}

const gcut_machine_model *gcut_machine_read(gcut_arena *arena, const char *path)
{
    return model_of(arena, gcut_json_read(arena, path, MAX_FILE));
}
