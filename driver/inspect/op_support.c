/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Supported ops: for every op of the table, or every op of a model, its kernel by dtype and its
 * derivatives.
 */
#include <string.h>

#include "base/json.h"
#include "base/table.h"
#include "driver/ctx.h"
#include "kernels/kernels.h"
#include "report/report.h"

/* ---- one op ---- */

/* Does the op take operands (or, without any, give results) of that dtype? */
static bool allows(const gcut_op_info *info, gcut_dtype t)
{
    bool real = gcut_dtype_is_float(t), whole = gcut_dtype_is_int(t);
    switch (info->dtypes) {
    case 'F': return real;
    case 'N': return real || whole;
    case 'B': return !real;
    case 'I': return whole;
    case 'K': return real;                                          /* of its result */
    case '-': return strstr(info->attrs, "dtype") || t == GCUT_I64; /* of its result */
    default: return true;
    }
}

/* The kind of kernel, in lower case.  f16 and bf16 are computed in f32; kernels that only move
 * them keep the dtype. */
static const char *kernel(gcut_arena *a, const gcut_op_info *info, gcut_dtype t)
{
    if (!allows(info, t)) return NULL;
    char *kind = gcut_strndup(a, info->kernel, strlen(info->kernel));
    for (char *c = kind; *c; c++)
        if (*c >= 'A' && *c <= 'Z') *c = (char)(*c - 'A' + 'a');
    bool wide = gcut_dtype_is_16bit_float(t) && gcut_widens(info->emit);
    return wide ? gcut_printf(a, "%s in %s", kind, info->emit == GCUT_EMIT_IOTA ? "i64" : "f32") : kind;
}

typedef struct derivative {
    const char *first, *second;
} derivative;

/* Rules consist of ops of this table, so an op with a rule has derivatives of any order. */
static derivative derivative_of(gcut_arena *a, const gcut_op_info *info)
{
    const char *zero = gcut_op_why_zero(info);
    if (zero) return (derivative){gcut_printf(a, "0: %s", zero), "0"};
    if (!strcmp(info->vjp_rule, "external")) return (derivative){"stated by a call", "stated"};
    return (derivative){!strcmp(info->vjp_rule, "meaning") ? "through its meaning" : "own rule", "yes"};
}

/* ---- the table ---- */

/* The dtype that stands for each column, whose dtypes have the same kernels. */
static const struct {
    const char *title;
    gcut_dtype dtype;
} columns[] = {{"f64 f32", GCUT_F32}, {"bf16 f16", GCUT_BF16}, {"integers", GCUT_I64}, {"bool", GCUT_BOOL}};
enum { NCOLUMNS = sizeof columns / sizeof *columns };

typedef struct use {
    uint32_t n;
    bool result[GCUT_NDTYPES]; /* dtypes of its results */
} use;

typedef struct report {
    const gcut_graph *model; /* NULL = the whole table */
    bool json;
    use of[GCUT_NOPS];
} report;

/* Counts bodies and called functions at each place that uses them. */
static void count(report *r, const gcut_graph *g)
{
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const gcut_node *n = gcut_node_at(g, i);
        r->of[n->op].n++;
        for (uint32_t k = 0; k < n->nres; k++)
            r->of[n->op].result[gcut_type_of(g, n->res0 + k)->dtype] = true;
        for (uint32_t k = 0; k < n->nregs; k++) count(r, gcut_region_at(g, n, k)->body);
    }
}

static const char *dtypes_of(gcut_arena *a, const report *r, int op)
{
    gcut_text t = {.arena = a};
    for (int d = 0; d < GCUT_NDTYPES; d++)
        if (r->of[op].result[d]) gcut_text_add(&t, "%s%s", t.n ? " " : "", gcut_dtype_name((gcut_dtype)d));
    return t.n ? t.at : "-";
}

static const char *or_none(const char *s)
{
    return s ? s : "-";
}

static void as_text(const report *r, gcut_text *out)
{
    enum { OP, NODES, RESULTS, KERNELS, GRADIENT = KERNELS + NCOLUMNS, SECOND, NCOLS };
    gcut_arena *a = out->arena;
    gcut_table t = {.arena = a, .ncols = NCOLS, .right = 1u << NODES};
    const char *cell[NCOLS] = {
        [OP] = "op",
        [NODES] = "nodes",
        [RESULTS] = "results",
        [GRADIENT] = "gradient",
        [SECOND] = "second order"
    };
    for (size_t k = 0; k < NCOLUMNS; k++) cell[KERNELS + k] = columns[k].title;
    gcut_table_row(&t, cell);
    for (int op = 0; op < GCUT_NOPS; op++) {
        const gcut_op_info *info = gcut_op_get((gcut_op)op);
        derivative d = derivative_of(a, info);
        if (r->model && !r->of[op].n) continue;
        cell[OP] = info->name;
        cell[NODES] = r->model ? gcut_printf(a, "%u", r->of[op].n) : NULL;
        cell[RESULTS] = r->model ? dtypes_of(a, r, op) : NULL;
        for (size_t k = 0; k < NCOLUMNS; k++) cell[KERNELS + k] = or_none(kernel(a, info, columns[k].dtype));
        cell[GRADIENT] = d.first;
        cell[SECOND] = d.second;
        gcut_table_row(&t, cell);
    }
    gcut_table_print(&t, 0, t.nrows, "", out);
}

static void as_json(const report *r, gcut_text *out)
{
    gcut_arena *a = out->arena;
    gcut_json j = {.out = out};
    gcut_json_object(&j);
    gcut_json_key_str(&j, "model", r->model ? r->model->name : NULL);
    gcut_json_key_array(&j, "ops");
    for (int op = 0; op < GCUT_NOPS; op++) {
        const gcut_op_info *info = gcut_op_get((gcut_op)op);
        derivative d = derivative_of(a, info);
        if (r->model && !r->of[op].n) continue;
        gcut_json_object(&j);
        gcut_json_members(&j, "op:s gradient:s second_order:s", info->name, d.first, d.second);
        if (r->model) gcut_json_key_int(&j, "nodes", r->of[op].n);
        gcut_json_key_object(&j, "kernel");
        for (int k = 0; k < GCUT_NDTYPES; k++) {
            gcut_json_key(&j, gcut_dtype_name((gcut_dtype)k));
            gcut_json_str(&j, kernel(a, info, (gcut_dtype)k));
        }
        gcut_json_end(&j);
        gcut_json_end(&j);
    }
    gcut_json_end(&j);
    gcut_json_end(&j);
    gcut_text_add(out, "\n");
}

static void write_report(void *arg, gcut_text *out)
{
    report *r = arg;
    if (r->model) count(r, r->model);
    (r->json ? as_json : as_text)(r, out);
}

char *gcut_ops(gcut_ctx *ctx, gcut_graph *model, bool json)
{
    GCUT_NEED(NULL, ctx, NULL);
    return gcut_string_by(ctx->env, write_report, &(report){.model = model, .json = json});
}
